"""Lists too long to keep: what is left of them is what all of them say."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.candidates import Candidates
from pandora_regret.candidates.reading import LongTable
from pandora_regret.candidates.searched import SearchedOrders
from pandora_regret.files import Layout, read_models_argument
from pandora_regret.files.ranked.layout import ListLayout
from pandora_regret.files.ranked.models import read_ranked

FIELDS = ("lengths", "n_true", "whole_costs", "is_missed", "n_repeated", "is_priced")
PLACES = ("found", "top1", "top3", "reciprocal_rank", "exam")


def table_of(rng, n_rows, is_grouped, may_repeat, is_priced):
    """A long table of 6 cases, of which some may have no rows, in random order or each in one piece."""
    case = rng.integers(0, 6, n_rows)
    if is_grouped:
        case = np.sort(case)
    codes = rng.integers(0, 5, n_rows)
    if not may_repeat:
        for number in range(6):
            rows = np.flatnonzero(case == number)
            codes[rows] = -1
            codes[rows[:5]] = rng.permutation(5)[: len(rows)]
    codes[rng.random(n_rows) < 0.1] = -1
    prices = rng.integers(1, 4, n_rows).astype(float) if is_priced else np.ones(n_rows)
    return LongTable(
        ids=tuple(f"case {number}" for number in range(6)),
        case=case,
        names=tuple("abcde"),
        codes=codes,
        values=rng.integers(0, 3, n_rows).astype(float),
        prices=prices,
        is_true=rng.random(n_rows) < 0.3,
        has_probabilities=False,
    )


def check(searched, candidates):
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(searched, field), getattr(candidates, field), err_msg=field)
    for until in ("first", "all"):
        for miss in (0.0, 7.5):
            np.testing.assert_allclose(searched.costs(miss, until), candidates.costs(miss, until), rtol=1e-12)
            np.testing.assert_allclose(searched.looks(miss, until), candidates.looks(miss, until), rtol=1e-12)
            expected = candidates.least_costs(miss, until)
            np.testing.assert_allclose(searched.least_costs(miss, until), expected, rtol=1e-12)
    for field in PLACES:
        expected = getattr(candidates.places(), field)
        np.testing.assert_allclose(getattr(searched.places(), field), expected, rtol=1e-12, err_msg=field)
    assert [sorted(names) for names in searched.true_names()] == [
        sorted(names) for names in candidates.true_names()
    ]
    if candidates.is_priced:
        assert searched.mean_prices("abcde") == pytest.approx(candidates.mean_prices("abcde"), rel=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 25), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_searches_without_sorting_find_what_searches_of_sorted_rows_do(
    seed, n_rows, is_grouped, may_repeat, is_priced, by_price
):
    table = table_of(np.random.default_rng(seed), n_rows, is_grouped, may_repeat, is_priced)
    candidates = Candidates(**table.fields()).checked(by_price=by_price)
    check(SearchedOrders.of_table(table, by_price), candidates)
    check(SearchedOrders.of(candidates), candidates)


@pytest.mark.parametrize("is_grouped", [True, False])
@pytest.mark.parametrize("hits", [bool, int, str])
def test_a_file_that_is_searched_as_it_is_read_says_what_the_whole_file_does(
    tmp_path, monkeypatch, is_grouped, hits
):
    rng = np.random.default_rng(3)
    case = np.repeat(np.arange(40), rng.integers(1, 9, 40))
    if not is_grouped:
        rng.shuffle(case)
    n_rows = len(case)
    columns = {
        "bug": [f"b{number}" for number in case],
        "method": [f"m{number}" for number in rng.permutation(n_rows)],
        "score": np.round(rng.random(n_rows), 1),
        "lines": rng.integers(1, 30, n_rows),
        "hit": [hits(is_true) for is_true in rng.random(n_rows) < 0.2],
        "site": [f"s{number % 3}" for number in case],
    }
    pyarrow.parquet.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=50)
    layout = ListLayout(id="bug", candidate="method", score="score", price="lines", hit="hit", by=("site",))
    files = read_models_argument([str(tmp_path / "a.parquet")], Layout())
    whole = read_ranked(files, layout)
    monkeypatch.setattr("pandora_regret.files.ranked.reading.MOST_KEPT", 10)
    monkeypatch.setattr("pandora_regret.files.ranked.reading.ROWS_OF_PART", 16)
    streamed = read_ranked(files, layout)
    assert type(streamed.models["a"]) is (SearchedOrders if is_grouped else Candidates)
    assert (streamed.ids, streamed.truths, streamed.facts) == (whole.ids, whole.truths, whole.facts)
    np.testing.assert_allclose(streamed.models["a"].costs(500.0), whole.models["a"].costs(500.0), rtol=1e-12)

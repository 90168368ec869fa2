"""Lists of candidates against the reference, brute force over orders of ties, and dense forecasts."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    Candidates,
    Exponential,
    Gamma,
    InputError,
    Uniform,
    expected_search_cost,
    pandora_regret,
    search_cost,
)
from pandora_regret.candidates import constant_list
from pandora_regret.candidates.reference import Candidate, mean_cost_over_ties, stops, tied_blocks

PRICES = st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0])
SCORED = st.builds(Candidate, st.sampled_from([0.0, 1.0, 2.0, -1.5]), PRICES, st.booleans())
LISTS_OF_SCORES = st.lists(SCORED, max_size=6)
MISSES = st.sampled_from([0.0, 0.4, 3.0, 50.0])
UNTIL = st.sampled_from(["first", "all"])


@st.composite
def lists_of_probabilities(draw, most_true=6):
    """Parts of a whole, of which one may be left for elsewhere."""
    parts = draw(st.lists(st.integers(0, 4), min_size=1, max_size=6))
    left = draw(st.integers(0, 3))
    whole = sum(parts) + left or 1
    marks = draw(st.lists(st.booleans(), min_size=len(parts), max_size=len(parts)))
    if sum(marks) > most_true:
        marks = [number == marks.index(True) for number in range(len(marks))]
    return [Candidate(part / whole, draw(PRICES), mark) for part, mark in zip(parts, marks, strict=True)]


def candidates_of(cases, has_probabilities):
    flat = [candidate for case in cases for candidate in case]
    lengths = [len(case) for case in cases]
    return Candidates(
        ids=tuple(map(str, range(len(cases)))),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp),
        names=tuple(map(str, range(len(flat)))),
        codes=np.arange(len(flat)),
        values=np.array([candidate.value for candidate in flat], dtype=float),
        prices=np.array([candidate.price for candidate in flat], dtype=float),
        is_true=np.array([candidate.is_true for candidate in flat], dtype=bool),
        has_probabilities=has_probabilities,
    )


def orders_of(blocks):
    """Every order of the stops that ties allow."""
    for parts in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield list(itertools.chain.from_iterable(parts))


def paid(route, until):
    """What one search pays that looks at stops in this order."""
    left = 1 if until == "first" else sum(stop.is_true for stop in route)
    cost = 0.0
    for stop in route:
        cost += stop.price
        left -= stop.is_true
        if left == 0:
            return cost
    raise AssertionError("some stop is true")


def by_brute_force(case, miss, has_probabilities, until):
    blocks = tied_blocks(stops(case, miss, has_probabilities), has_probabilities)
    costs = [paid(route, until) for route in orders_of(blocks)]
    return sum(costs) / len(costs)


@given(LISTS_OF_SCORES, MISSES, UNTIL)
def test_the_reference_is_the_mean_over_all_orders_of_ties(case, miss, until):
    assert mean_cost_over_ties(case, miss, False, until) == pytest.approx(by_brute_force(case, miss, False, until))


@given(lists_of_probabilities(), MISSES, UNTIL)
def test_with_probabilities_too(case, miss, until):
    assert mean_cost_over_ties(case, miss, True, until) == pytest.approx(by_brute_force(case, miss, True, until))


@given(st.lists(LISTS_OF_SCORES, min_size=1, max_size=5), MISSES, UNTIL)
def test_all_cases_at_once_are_the_reference(cases, miss, until):
    costs = candidates_of(cases, has_probabilities=False).costs(miss, until)
    assert costs == pytest.approx([mean_cost_over_ties(case, miss, False, until) for case in cases], rel=1e-12)


@given(st.lists(lists_of_probabilities(), min_size=1, max_size=5), MISSES, UNTIL)
def test_all_cases_at_once_are_the_reference_with_probabilities(cases, miss, until):
    costs = candidates_of(cases, has_probabilities=True).costs(miss, until)
    assert costs == pytest.approx([mean_cost_over_ties(case, miss, True, until) for case in cases], rel=1e-12)


@given(st.lists(LISTS_OF_SCORES, min_size=1, max_size=4))
def test_places_are_means_over_orders(cases):
    places = candidates_of(cases, has_probabilities=False).places()
    for number, case in enumerate(cases):
        ranks = []
        ranked = [Candidate(candidate.value, 1.0, candidate.is_true) for candidate in case]
        for route in orders_of(tied_blocks(stops(ranked, 1.0, False), False)):
            hits = [stop.is_true for stop in route]
            ranks.append(hits.index(True) + 1 if any(candidate.is_true for candidate in case) else math.inf)
        ranks = np.array(ranks)
        assert places.found[number] == np.isfinite(ranks).all()
        assert places.top1[number] == pytest.approx((ranks <= 1).mean())
        assert places.top3[number] == pytest.approx((ranks <= 3).mean())
        assert places.reciprocal_rank[number] == pytest.approx((1 / ranks).mean())
        share = np.where(np.isfinite(ranks), ranks / max(len(case), 1), 1.0).mean()
        assert places.exam[number] == pytest.approx(share)


def dense(rng, n=40, k=6):
    """Forecasts with zeros and ties, and unequal costs."""
    parts = rng.integers(0, 5, (n, k)).astype(float)
    parts[:, 0] += 1
    truth = rng.integers(0, k, n)
    truth[parts[np.arange(n), truth] == 0] = 0
    return truth, parts / parts.sum(axis=1, keepdims=True), rng.choice([1.0, 2.0, 3.0, 5.5], k)


def listed(truth, proba, costs, shuffled=None):
    names = [f"c{column}" for column in range(proba.shape[1])]
    columns = range(proba.shape[1]) if shuffled is None else shuffled
    lists = [{names[column]: row[column] for column in columns} for row in proba]
    prices = dict(zip(names, costs, strict=True))
    return Candidates.from_lists(lists, [names[column] for column in truth], prices=prices)


@pytest.mark.parametrize("seed", range(3))
def test_a_list_of_all_classes_has_the_scores_of_the_dense_forecast(seed):
    rng = np.random.default_rng(seed)
    truth, proba, costs = dense(rng)
    lists = listed(truth, proba, costs, rng.permutation(proba.shape[1]))
    realised = search_cost(truth, proba, costs, ties="average", per_instance=True)
    np.testing.assert_allclose(lists.costs(), realised, rtol=1e-12)
    np.testing.assert_allclose(lists.costs(miss=2.5), realised, rtol=1e-12)
    for prior in (Uniform(), Exponential(), Gamma(2.0)):
        expected = expected_search_cost(truth, proba, prior=prior, costs=costs, per_instance=True)
        np.testing.assert_allclose(lists.expected_costs(prior=prior), expected, rtol=1e-12)
    for alpha in (0.0, 0.7, 1.0, math.inf):
        regret = pandora_regret(truth, proba, alpha=alpha, per_instance=True)
        np.testing.assert_allclose(lists.pandora_regret(alpha), regret, rtol=1e-12, atol=1e-15)


def test_a_list_with_elsewhere_has_the_scores_of_a_forecast_with_such_a_class():
    rng = np.random.default_rng(3)
    truth, proba, costs = dense(rng, k=5)
    proba[:, -1] += 0.3
    proba /= proba.sum(axis=1, keepdims=True)
    miss = float(costs[-1])
    names = [f"c{column}" for column in range(5)]
    lists = Candidates.from_lists(
        [dict(zip(names[:-1], row[:-1], strict=True)) for row in proba],
        [names[column] for column in truth],
        prices=dict(zip(names, costs, strict=True)),
    )
    np.testing.assert_allclose(
        lists.costs(miss), search_cost(truth, proba, costs, ties="average", per_instance=True), rtol=1e-12
    )
    np.testing.assert_allclose(
        lists.expected_costs(miss), expected_search_cost(truth, proba, costs=costs, per_instance=True), rtol=1e-12
    )
    np.testing.assert_allclose(
        lists.pandora_regret(), pandora_regret(truth, proba, per_instance=True), rtol=1e-12, atol=1e-15
    )


def expected_of_report(reported, likely, miss):
    """What a forecaster pays on average whose report of one candidate is this, where it is true so often."""
    lists = Candidates.from_lists([{"a": reported}] * 2, ["a", "b"])
    cost = lists.costs(miss)
    return likely * cost[0] + (1 - likely) * cost[1]


@pytest.mark.parametrize("miss", [0.3, 1.2, 5.0])
def test_no_report_is_cheaper_than_the_honest_one(miss):
    grid = np.linspace(0.02, 0.98, 49)
    for likely in (0.1, 0.5, 0.9):
        honest = expected_of_report(likely, likely, miss)
        assert min(expected_of_report(report, likely, miss) for report in grid) >= honest - 1e-12


def test_probability_zero_stays_zero():
    lists = Candidates.from_lists([{"a": 1.0, "b": 0.0}], ["b"])
    assert lists.log_losses()[0] == math.inf
    assert lists.costs()[0] == 2.0


def test_the_first_of_several_truths_ends_the_search_or_the_last():
    lists = Candidates.from_lists([["a", "b", "c", "d"]], [["b", "d", "unlisted"]])
    assert lists.costs(until="first").tolist() == [2.0]
    assert lists.costs(until="all").tolist() == [4.0]


def test_an_empty_list_pays_the_miss_at_once():
    lists = Candidates.from_lists([[], ["a"]], ["a", "a"])
    assert lists.costs(miss=30.0).tolist() == [30.0, 1.0]
    assert lists.places().exam.tolist() == [1.0, 1.0]
    with pytest.raises(InputError) as caught:
        lists.costs()
    assert (caught.value.argument, caught.value.row) == ("miss", 0)


def test_least_costs_are_those_of_somebody_who_knows():
    prices = {"a": 5.0, "b": 2.0, "other": 1.0}
    lists = Candidates.from_lists([["a", "b"], ["c"]], [["a", "b"], "z"], prices=prices)
    assert lists.least_costs(miss=9.0).tolist() == [2.0, 9.0]
    assert lists.least_costs(miss=9.0, until="all").tolist() == [7.0, 9.0]


LONG = {
    "bug": [2, 2, 1, 1, 1, 3],
    "method": ["f", "g", "f", "g", "h", "f"],
    "score": [0.5, 0.5, 0.1, 0.3, 0.2, 1.0],
    "lines": [10.0, 20.0, 1.0, 2.0, 3.0, 5.0],
    "is_bug": [1, 0, 1, 0, 1, 0],
}


@pytest.mark.parametrize("frame", [pd.DataFrame(LONG), pl.DataFrame(LONG)], ids=["pandas", "polars"])
def test_a_long_table_is_read(frame):
    lists = Candidates.from_frame(frame, id="bug", candidate="method", score="score", price="lines", hit="is_bug")
    assert lists.ids == ("2", "1", "3")
    assert lists.costs(miss=500.0).tolist() == [10 + 20 / 2, 2 + 3, 5 + 500]
    assert lists.of_cases(["3", "1"]).costs(miss=500.0).tolist() == [505.0, 5.0]


def test_ranks_order_from_the_lowest():
    frame = pd.DataFrame({"id": ["x", "x"], "name": ["a", "b"], "rank": [2, 1], "hit": ["false", "True"]})
    lists = Candidates.from_frame(frame, id="id", candidate="name", rank="rank", hit="hit")
    assert lists.costs().tolist() == [1.0]


def test_scores_are_divided_by_prices_where_asked():
    frame = pd.DataFrame({"id": ["x", "x"], "name": ["a", "b"], "s": [2.0, 1.0], "p": [10.0, 1.0], "hit": [0, 1]})
    columns = {"id": "id", "candidate": "name", "score": "s", "price": "p", "hit": "hit"}
    assert Candidates.from_frame(frame, **columns).costs().tolist() == [11.0]
    assert Candidates.from_frame(frame, **columns, by_price=True).costs().tolist() == [1.0]


def test_a_candidate_named_twice_counts_at_its_first_place():
    frame = pd.DataFrame(
        {"id": [1] * 4, "name": ["a", "b", "a", "c"], "s": [1.0, 2.0, 3.0, 0.5], "hit": [0, 0, 0, 1]}
    )
    lists = Candidates.from_frame(frame, id="id", candidate="name", score="s", hit="hit")
    assert (lists.n_repeated, len(lists.values)) == (1, 3)
    assert lists.costs().tolist() == [3.0]


def test_truths_by_name_are_matched_as_names_are():
    frame = pd.DataFrame({"id": [1, 1, 2], "name": ["Crohn's disease", "flu", "cold"], "rank": [1, 2, 1]})
    truth = {"1": ["crohn's-disease", "FLU"], "2": "gout", "3": "gout"}
    lists = Candidates.from_frame(frame, id="id", candidate="name", rank="rank", truth=truth)
    assert lists.is_true.tolist() == [True, True, False]
    assert lists.ids == ("1", "2", "3")
    assert lists.is_missed.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("change", "argument", "row"),
    [
        ({"score": [0.5, None, 0.1, 0.3, 0.2, 1.0]}, "score", 1),
        ({"lines": [10.0, 20.0, 1.0, -2.0, 3.0, 5.0]}, "price", 3),
        ({"is_bug": [1, 0, 1, 0, 2, 0]}, "hit", 4),
        ({"bug": [2, 2, None, 1, 1, 3]}, "id", 2),
    ],
)
def test_what_is_wrong_in_a_long_table_is_named(change, argument, row):
    frame = pd.DataFrame(LONG | change)
    with pytest.raises(InputError) as caught:
        Candidates.from_frame(frame, id="bug", candidate="method", score="score", price="lines", hit="is_bug")
    assert (caught.value.argument, caught.value.row) == (argument, row)


def test_probabilities_sum_to_one_at_most():
    with pytest.raises(InputError) as caught:
        Candidates.from_lists([{"a": 0.5}, {"a": 0.7, "b": 0.4}], ["a", "a"])
    assert (caught.value.argument, caught.value.row, round(caught.value.value, 6)) == ("probability", 1, 1.1)


def test_a_score_of_probabilities_is_of_one_truth():
    with pytest.raises(InputError):
        Candidates.from_lists([{"a": 0.5, "b": 0.5}], [["a", "b"]]).pandora_regret()
    with pytest.raises(InputError):
        Candidates.from_lists([["a", "b"]], ["a"]).expected_costs()


@given(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=2), min_size=2, max_size=8), st.integers(1, 4)
)
def test_the_constant_list_leaves_its_own_case_out(truths, length):
    lists = Candidates.from_lists([["a"]] * len(truths), truths)
    constant = constant_list(lists, truths, length)
    for number in range(len(truths)):
        counts = {}
        for other, names in enumerate(truths):
            for name in set(names) if other != number else ():
                counts[name] = counts.get(name, 0) + 1
        ranked = sorted(counts, key=lambda name: (-counts[name], name))[:length]
        rows = slice(constant.offsets[number], constant.offsets[number + 1])
        assert [constant.names[code] for code in constant.codes[rows]] == ranked


def test_the_constant_list_finds_what_a_list_made_of_other_cases_would_and_in_any_order_of_cases():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(100):
        truths = [[f"name {number}"] for number in rng.integers(0, 60, 300)]
        ids = [f"case {case}" for case in range(300)]
        lists = Candidates.from_lists([["x"]] * 300, truths, ids=ids)
        constant = constant_list(lists, truths, 4)
        found.append(constant.places().found.mean())
    assert np.mean(found) == pytest.approx(4 / 60, abs=0.01)
    assert np.std(found) < 0.029  # more where single cases are left out
    order = rng.permutation(300)
    moved = constant_list(lists.of_cases([ids[case] for case in order]), [truths[case] for case in order], 4)
    np.testing.assert_array_equal(moved.places().found, constant.places().found[order])

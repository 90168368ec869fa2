"""Bootstrap weights: true Poisson draws, that know their seed, their replicate and their row, and nothing else."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from refusals import refused
from scipy import stats

from pandora_regret.core.kernels import engine
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights

ROWS, REPLICATES = 20_000, 50
KEYS = {
    "row numbers": keys_of(range(ROWS)),
    "every thousandth number": keys_of(range(0, 1000 * ROWS, 1000)),
    "names": keys_of([f"patient {row}" for row in range(ROWS)]),
    "powers of two apart": keys_of(np.arange(ROWS) << 40),
}


@pytest.fixture(scope="module", params=KEYS)
def keys(request):
    return KEYS[request.param]


def test_the_draws_have_the_frequencies_of_poisson_one(keys):
    drawn = poisson_weights(keys, REPLICATES, seed=3)
    observed = np.bincount(drawn.ravel(), minlength=9)
    observed = np.append(observed[:8], observed[8:].sum())
    expected = np.append(stats.poisson.pmf(range(8), 1), stats.poisson.sf(7, 1)) * drawn.size
    assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_neighbouring_rows_replicates_and_seeds_are_uncorrelated(keys):
    one, other = (poisson_weights(keys, REPLICATES, seed).astype(float) - 1 for seed in (0, 1))
    bound = 5 / math.sqrt(one.size)
    for left, right in ((one[:, 1:], one[:, :-1]), (one[1:], one[:-1]), (one, other), (one[1:], other[:-1])):
        assert abs((left * right).mean()) < bound
    assert abs((one[:, 1:] ** 2 * one[:, :-1] ** 2).mean() - 1) < 12 / math.sqrt(one.size)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32), st.permutations(range(12)), st.integers(0, 12))
def test_order_and_batches_change_no_draw(start, seed, order, cut):
    keys = keys_of(np.arange(12, dtype=np.uint64) + np.uint64(start))
    whole = poisson_weights(keys, 5, seed)
    assert_array_equal(poisson_weights(keys[order], 5, seed), whole[:, order])
    parts = [poisson_weights(part, 5, seed) for part in (keys[:cut], keys[cut:])]
    assert_array_equal(np.concatenate(parts, axis=1), whole)
    assert_array_equal(poisson_weights(keys, range(2, 4), seed), whole[2:4])


def test_compiled_and_plain_draws_are_the_same_bits(keys, monkeypatch):
    monkeypatch.setattr(engine, "WORTH_COMPILING", 1)
    compiled = poisson_weights(keys, REPLICATES, seed=9)
    monkeypatch.setattr(engine, "WORTH_COMPILING", 10**12)
    assert_array_equal(compiled, poisson_weights(keys, REPLICATES, seed=9))


def test_the_generator_is_frozen():
    """A release that changed these would change every published interval."""
    assert poisson_weights(keys_of(range(10)), 2, seed=1).tolist() == [
        [0, 2, 1, 2, 1, 0, 4, 4, 2, 0],
        [3, 2, 2, 2, 1, 0, 0, 1, 2, 1],
    ]
    assert keys_of(["ann", "bob"]).tolist() == [11957940740637538957, 10566683571197309812]


@pytest.mark.parametrize(
    "listed",
    [np.array(["ann", "bob"]), np.array(["ann", "bob"], dtype=object), pd.Series(["ann", "bob"]), ("ann", "bob")],
    ids=["fixed width", "objects", "pandas", "tuple"],
)
def test_a_name_has_one_key_however_it_is_stored(listed):
    assert_array_equal(keys_of(listed), keys_of(["ann", "bob"]))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=repr)
def test_a_missing_name_is_an_error_that_says_where(missing):
    with refused(argument="groups", row=1):
        keys_of(np.array(["ann", missing], dtype=object), "groups")

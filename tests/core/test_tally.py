"""Tallies: any order, any batching, any tree of merges, the same answer; and honest standard errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import Gamma, expected_search_cost, pair_costs, search_cost
from pandora_regret.core.scores import search_tally
from pandora_regret.core.tally import Means

many_magnitudes = st.builds(
    lambda digits, exponent: digits * 10.0**exponent, st.floats(1, 10), st.integers(-12, 12)
)
values_and_weights = st.lists(st.tuples(many_magnitudes, many_magnitudes), min_size=2, max_size=40)


def exact_mean(values, weights):
    total = sum(Fraction(w) * Fraction(x) for x, w in zip(values, weights, strict=True))
    return float(total / sum(map(Fraction, weights)))


def linearised_error(values, weights):
    """``sqrt(sum w^2 (x - mean)^2 / ((sum w)^2 - sum w^2))``, in exact arithmetic up to the root."""
    x, w = list(map(Fraction, values)), list(map(Fraction, weights))
    mean = sum(a * b for a, b in zip(x, w, strict=True)) / sum(w)
    spread = sum((b * (a - mean)) ** 2 for a, b in zip(x, w, strict=True))
    return math.sqrt(spread / (sum(w) ** 2 - sum(b**2 for b in w)))


def merged(parts, rng):
    """The parts merged pairwise in a random tree."""
    while len(parts) > 1:
        left, right = rng.choice(len(parts), 2, replace=False)
        parts[left].merge(parts[right])
        del parts[right]
    return parts[0]


def batches(n_rows, rng):
    """A random split of shuffled row numbers into batches, some of them empty."""
    return np.split(rng.permutation(n_rows), np.sort(rng.integers(0, n_rows + 1, rng.integers(1, 8))))


@given(values_and_weights, st.integers(0, 10**6))
def test_any_order_batching_and_merge_tree_give_the_exact_mean(rows, seed):
    values, weights = map(np.array, zip(*rows, strict=True))
    rng = np.random.default_rng(seed)
    tree = merged([Means.of(values[rows], weights[rows]) for rows in batches(len(values), rng)], rng)
    stream = Means()
    for rows in batches(len(values), rng):
        stream.add(values[rows], weights[rows])
    expected = exact_mean(values, weights)
    for tally in (tree, stream, Means.of(values, weights)):
        assert tally.count == len(values)
        assert tally.mean == pytest.approx(expected, rel=1e-12, abs=0)


@given(values_and_weights, st.integers(0, 10**6))
def test_any_order_batching_and_merge_tree_give_the_same_standard_error(rows, seed):
    values, weights = map(np.array, zip(*rows, strict=True))
    weights = weights**0.25  # where one row has all the weight there is no standard error
    rng = np.random.default_rng(seed)
    tree = merged([Means.of(values[rows], weights[rows]) for rows in batches(len(values), rng)], rng)
    expected = linearised_error(values, weights)
    for tally in (tree, Means.of(values, weights)):
        lost = 1e-15 / (1 - 1 / tally.effective_count)
        assert tally.standard_error == pytest.approx(expected, rel=1e-12 + lost, abs=1e-15 * tally.mean)


def test_tiny_variance_around_a_large_mean_survives_merging():
    noise = np.random.default_rng(5).normal(size=1000)
    values = 1e9 + 1e-4 * noise
    tally = Means()
    for batch in np.split(values, 50):
        tally.add(batch)
    seen = values - 1e9  # exact, with what rounding left of the noise
    assert tally.standard_error == pytest.approx(seen.std(ddof=1) / np.sqrt(1000), rel=1e-5)


def test_rows_of_zero_weight_are_absent():
    values, weights = np.array([1.0, 2.0, 4.0, np.inf]), np.array([1.0, 0.5, 2.0, 0.0])
    tally, without = Means.of(values, weights), Means.of(values[:3], weights[:3])
    assert (tally.count, tally.mean, tally.standard_error) == (3, without.mean, without.standard_error)


def test_infinite_scores_give_an_infinite_mean_whenever_they_come():
    finite, infinite = np.array([1.0, 2.0]), np.array([3.0, np.inf])
    for parts in ([finite, infinite], [infinite, finite], [infinite, infinite], [finite, infinite, finite]):
        tally = Means()
        for values in parts:
            tally.add(values)
        assert tally.mean == np.inf
        assert not np.isfinite(tally.standard_error)


def test_merging_nothing_changes_nothing():
    tally, empty = Means.of(np.array([3.0, 5.0])), Means()
    tally.merge(Means())
    tally.add(np.array([]))
    tally.add(np.array([7.0]), np.array([0.0]))
    empty.merge(tally)
    for each in (tally, empty):
        assert (each.count, each.mean, each.standard_error) == (2, 4, 1)


def example(n_rows=200, n_classes=5, seed=6):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n_rows) * rng.uniform(0.5, 2, n_rows)
    return rng.integers(0, n_classes - 1, n_rows), rng.dirichlet(np.ones(n_classes), n_rows), weights


OPTIONS = {"prior": Gamma(2.0), "costs": np.array([1.0, 300.0, 0.5, 2.0, 9.0])}


@given(st.integers(0, 10**6))
def test_merged_tallies_of_batches_are_the_tally_of_the_whole(seed):
    (truth, forecasts, weights), rng = example(), np.random.default_rng(seed)
    rows = [r for r in batches(len(truth), rng) if weights[r].any()]
    parts = [search_tally(truth[r], forecasts[r], sample_weight=weights[r], **OPTIONS) for r in rows]
    tree = merged(parts, rng)
    whole = search_tally(truth, forecasts, sample_weight=weights, **OPTIONS)
    assert tree.cost.count == whole.cost.count == (weights > 0).sum()
    for part in ("mean", "standard_error", "pair_costs"):
        assert getattr(tree, part) == pytest.approx(getattr(whole, part), rel=1e-12, abs=0)
    assert tree.realised.mean == pytest.approx(whole.realised.mean, rel=1e-12, abs=0)


def test_tally_holds_what_the_scores_say():
    truth, forecasts, weights = example()
    tally = search_tally(truth, forecasts, sample_weight=weights, **OPTIONS)
    options = {"sample_weight": weights, **OPTIONS}
    each = expected_search_cost(truth, forecasts, per_instance=True, **OPTIONS)
    assert tally.mean == pytest.approx(expected_search_cost(truth, forecasts, **options), rel=1e-13)
    assert tally.standard_error == pytest.approx(Means.of(each, weights).standard_error, rel=1e-13)
    assert tally.pair_costs == pytest.approx(pair_costs(truth, forecasts, **options), rel=1e-13)
    realised = search_cost(truth, forecasts, OPTIONS["costs"], sample_weight=weights)
    assert tally.realised.mean == pytest.approx(realised, rel=1e-13)

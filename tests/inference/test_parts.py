"""Means of parts of a sample: the textbook's formulas where there are no weights and no clusters."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from pandora_regret.inference.intervals import interval_of_mean
from pandora_regret.inference.parts import WholeSample

N = 80


def halves(seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 50.0, (N, 2)), rng.random(N) < 0.4


def against_rest(table, weights, units, inside):
    whole = WholeSample(table.T, weights, units)
    return whole.against_rest(whole.part(np.flatnonzero(inside)), weights[inside].sum() / weights.sum())


@given(st.integers(0, 10_000))
def test_a_part_against_the_rest_is_welchs_test(seed):
    table, inside = halves(seed)
    difference = against_rest(table, np.ones(N), np.arange(N), inside)
    expected = stats.ttest_ind(table[inside], table[~inside], equal_var=False)
    assert_allclose(difference.p_values(np.ones(2)), expected.pvalue, rtol=1e-9)
    low, high = expected.confidence_interval(0.9)
    for column in range(2):
        found = difference.estimate(column, 0.9)
        assert_allclose((found.low, found.high), (low[column], high[column]), rtol=1e-9)


@given(st.integers(0, 10_000), st.booleans())
def test_the_rest_is_as_if_it_were_looked_at_alone(seed, straddling):
    """With weights and clusters: variances add up, but for what clusters with rows in both move together."""
    table, inside = halves(seed)
    units = np.arange(N) // 4
    inside = inside if straddling else inside[units]
    assume(0 < inside.sum() < N and len(set(units[inside])) > 1 and len(set(units[~inside])) > 1)
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, N)
    whole = WholeSample(table.T, weights, units)
    ours, theirs = (whole.part(np.flatnonzero(rows)) for rows in (inside, ~inside))
    free = [1 - (part.shares**2).sum() for part in (ours, theirs)]
    _, here, there = np.intersect1d(ours.units, theirs.units, return_indices=True)
    shared = (ours.influence[:, here] * theirs.influence[:, there]).sum(axis=-1) / np.sqrt(free[0] * free[1])
    found = against_rest(table, weights, units, inside)
    assert_allclose(found.value, ours.value - theirs.value, rtol=1e-9)
    expected = ours.means.error**2 + theirs.means.error**2 - 2 * shared
    assert_allclose(found.error**2, expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("clustered", [False, True])
def test_a_parts_interval_is_that_of_its_rows_alone(clustered):
    table, inside = halves()
    weights = np.random.default_rng(1).uniform(0.1, 3.0, N)
    units = np.arange(N) // (4 if clustered else 1)
    part = WholeSample(table.T, weights, units).part(np.flatnonzero(inside))
    _, groups = np.unique(units[inside], return_inverse=True)
    for column in range(2):
        mean, low, high = interval_of_mean(table[inside, column], weights[inside], groups, 0.95)
        found = part.means.estimate(column, 0.95)
        assert_allclose((found.value, found.low, found.high), (mean, low, high), rtol=1e-12)


def test_clusters_with_rows_in_both_parts_are_paired():
    """Half of each pair of equal rows is inside: the parts' means always agree, and that is known for certain."""
    values = np.random.default_rng(2).normal(size=40)
    table, units, ones = np.repeat(values, 2)[:, None], np.repeat(np.arange(40), 2), np.ones(80)
    inside = np.arange(80) % 2 == 0
    paired, alone = against_rest(table, ones, units, inside), against_rest(table, ones, np.arange(80), inside)
    assert paired.error[0] == pytest.approx(0, abs=1e-7)
    assert alone.error[0] > 0.1


def test_a_part_whose_rows_are_all_alike_is_taken_to_vary_like_the_rest():
    table, inside = halves()
    table[inside] = 120.0
    found = against_rest(table, np.ones(N), np.arange(N), inside)
    spread = table[~inside].std(axis=0, ddof=1)
    assert_allclose(found.error, spread * np.sqrt(1 / inside.sum() + 1 / (~inside).sum()), rtol=0.03)

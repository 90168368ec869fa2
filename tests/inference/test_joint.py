"""Means of a sample and of its parts by the textbook, how many cases carry an estimate, and Holm's adjustment."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from pandora_regret.inference.joint import Figure, contrast, holm

N = 80


def carriers_of(values):
    return Figure.of_mean(values, np.ones(len(values))).carriers(0.0)


@given(st.integers(1, 20), st.floats(0.1, 1e6))
def test_cases_that_differ_equally_from_the_rest_are_counted(m, amount):
    values = np.zeros(60)
    values[:m] = amount
    carriers = carriers_of(values)
    assert carriers.number == pytest.approx(m)
    assert (carriers.largest, carriers.units) == (m, 60)
    assert carriers.share == pytest.approx(1)
    assert carriers.few == (m < 11)


@pytest.mark.parametrize(("m", "few"), [(4, True), (5, False), (6, False)])
def test_of_few_units_a_quarter_is_not_few(m, few):
    """Small samples as such are a matter of Student's t."""
    values = np.zeros(20)
    values[:m] = 1.0
    assert carriers_of(values).few == few


@pytest.mark.parametrize(("units", "is_skewed"), [(1 << 16, True), ((1 << 16) + 1, False)])
def test_the_mean_of_very_many_units_is_not_skewed(units, is_skewed):
    values = np.zeros(units)
    values[:100] = 1.0
    assert (Figure.of_mean(values, np.ones(units)).acceleration > 0) == is_skewed


def test_normal_and_skewed_values_have_many_carriers():
    rng = np.random.default_rng(0)
    for draw in (rng.normal, rng.exponential, rng.uniform):
        few = [carriers_of(draw(size=60)).few for _ in range(300)]
        assert np.mean(few) < 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_by_its_definition(p_values):
    adjusted, m = holm(p_values), len(p_values)
    for p, ours in zip(p_values, adjusted, strict=True):
        smaller = sorted(p_values)[: sorted(p_values).index(p) + 1]
        expected = min(1.0, max((m - at) * q for at, q in enumerate(smaller)))
        assert ours == pytest.approx(expected)


def halves(seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(1.0, 50.0, N), rng.random(N) < 0.4


def part_less_rest(values, weights, units, inside):
    """The mean of a part of the rows, and how it differs from that of the others."""
    here, rest = (Figure.of_mean(values, weights * rows, units) for rows in (inside, ~inside))
    return here, contrast(here, rest)


def stretched(limits, t, skewness):
    """The limits of a t-test, whose longer side is that of Johnson (1978) for an estimate of this skewness."""
    half, a = (limits.high - limits.low) / 2, np.clip(skewness / 6, -0.15, 0.15)
    further = half / t * abs(a) * (2 * t**2 + 1)
    return limits.low - further * (a < 0), limits.high + further * (a > 0)


def test_without_weights_a_mean_has_the_interval_of_the_t_test_stretched_by_its_skewness():
    values, groups = halves()[0], np.arange(N) // 4
    figure, limits = (
        Figure.of_mean(values, np.full(N, 3.0)),
        stats.ttest_1samp(values, 0.0).confidence_interval(0.9),
    )
    assert figure.value == pytest.approx(values.mean())
    expected = stretched(limits, stats.t.ppf(0.95, N - 1), stats.skew(values) / np.sqrt(N))
    assert figure.limits(0.9) == pytest.approx(expected)
    assert figure.limits(0.9, is_mean=False) == pytest.approx((limits.low, limits.high))
    even_sided = np.concatenate([values, -values]) + 9.0
    assert Figure.of_mean(even_sided, np.ones(2 * N)).p_value(1.0) == pytest.approx(
        stats.ttest_1samp(even_sided, 0.0).pvalue
    )
    by_group = Figure.of_mean(values.reshape(-1, 4).mean(axis=1), np.ones(N // 4))
    assert Figure.of_mean(values, np.ones(N), groups).limits(0.95) == pytest.approx(by_group.limits(0.95))
    assert Figure.of_mean(np.arange(3.0), np.array([1.0, 1e-3, 1e-3])).limits(0.95) == (None, None)


@given(st.integers(0, 10_000), st.floats(0.5, 0.999), st.sampled_from([-1, 1]))
def test_a_p_value_is_one_less_the_level_at_which_the_interval_reaches_zero(seed, level, sign):
    values, inside = halves(seed)
    for at in Figure.of_mean(values, np.ones(N)).limits(level):
        assert Figure.of_mean(sign * (values - at), np.ones(N)).p_value(1.0) == pytest.approx(1 - level)
    _, difference = part_less_rest(sign * values, np.ones(N), None, inside)
    for at in difference.limits(level):
        _, moved = part_less_rest(sign * values - at * inside, np.ones(N), None, inside)
        assert moved.p_value(1.0) == pytest.approx(1 - level)


def test_means_of_few_skewed_values_hold_the_truth():
    """Student's interval of them covers 0.90."""
    rng, held = np.random.default_rng(4), []
    for _ in range(3000):
        low, high = Figure.of_mean(rng.gamma(0.4, 1 / 0.4, 30), np.ones(30)).limits(0.95)
        held.append(low <= 1 <= high)
    assert np.mean(held) > 0.93


def test_very_unequal_weights_hold_the_truth():
    rng, held = np.random.default_rng(2), []
    for _ in range(1500):
        weights = np.minimum(rng.lognormal(0, 1.5, 60), 50.0)
        low, high = Figure.of_mean(rng.normal(size=60), weights).limits(0.95)
        held.append(low <= 0 <= high)
    assert 0.94 <= np.mean(held) <= 0.985


@given(st.integers(0, 10_000))
def test_a_part_against_the_rest_is_welchs_test(seed):
    values, inside = halves(seed)
    _, difference = part_less_rest(values, np.ones(N), None, inside)
    expected = stats.ttest_ind(values[inside], values[~inside], equal_var=False)
    limits, t = expected.confidence_interval(0.9), stats.t.ppf(0.95, expected.df)
    moments = [
        [stats.moment(x, order) / len(x) ** (order - 1) for order in (2, 3)]
        for x in (values[inside], values[~inside])
    ]
    skewness = (moments[0][1] - moments[1][1]) / (moments[0][0] + moments[1][0]) ** 1.5
    assert_allclose(difference.limits(0.9), stretched(limits, t, skewness), rtol=1e-9)


@given(st.integers(0, 10_000), st.booleans())
def test_a_part_and_the_rest_are_as_if_each_were_looked_at_alone(seed, straddling):
    """With weights and clusters: variances add up, but for what clusters with rows in both move together."""
    values, inside = halves(seed)
    units, weights = np.arange(N) // 4, np.random.default_rng(seed).uniform(0.1, 3.0, N)
    inside = inside if straddling else inside[units]
    assume(0 < inside.sum() < N and len(set(units[inside])) > 1 and len(set(units[~inside])) > 1)
    here, difference = part_less_rest(values, weights, units, inside)
    rest, _ = part_less_rest(values, weights, units, ~inside)
    free, variances = [], []
    for figure, rows in ((here, inside), (rest, ~inside)):
        alone = Figure.of_mean(values[rows], weights[rows], np.unique(units[rows], return_inverse=True)[1])
        assert_allclose((figure.value, *figure.limits(0.95)), (alone.value, *alone.limits(0.95)), rtol=1e-9)
        assert figure.carriers(1.0).number == pytest.approx(alone.carriers(1.0).number)
        free.append(1 - (alone.shares**2).sum())
        variances.append(alone.error**2)
    assert difference.value == pytest.approx(here.value - rest.value)
    shared = (here.influence * rest.influence).sum() / np.sqrt(free[0] * free[1])
    assert_allclose(difference.error**2, sum(variances) - 2 * shared, rtol=1e-7, atol=1e-12)


def test_a_part_whose_rows_are_all_alike_is_taken_to_vary_like_the_rest():
    values, inside = halves()
    values[inside] = 120.0
    _, difference = part_less_rest(values, np.ones(N), None, inside)
    spread = values[~inside].std(ddof=1)
    expected = spread * np.sqrt(1 / inside.sum() + 1 / (~inside).sum())
    assert difference.error == pytest.approx(expected, rel=0.03)

"""Intervals of one estimate: textbook values, and how often they hold the truth."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pandora_regret.inference.intervals import (
    corrected_interval,
    corrected_p_value,
    interval_around,
    interval_by_classes,
    interval_by_forecast,
    student_p_value,
    suitable_interval,
)
from pandora_regret.inference.joint import Figure
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights
from pandora_regret.metrics import METRICS


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).exponential(size=40)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (1, 10), (59, 60), (60, 60), (30, 60)])
def test_the_score_interval_is_wilsons_with_t(right, n):
    share, t = right / n, stats.t.ppf(0.975, n - 1)
    low, high = suitable_interval(share, math.sqrt(share * (1 - share) / (n - 1)), n, 0.95, is_proportion=True)
    for end in {low, high} - {0.0, 1.0}:  # where the score test is just significant
        assert abs(share - end) == pytest.approx(t * math.sqrt(end * (1 - end) / n))


def replicates_of(values, n=2000):
    drawn = poisson_weights(keys_of(range(len(values))), n).astype(float)
    return drawn @ values / drawn.sum(axis=1)


def test_corrected_percentiles_of_a_skewed_mean_lie_further_out_on_the_long_side(values):
    mean, acceleration = values.mean(), Figure.of_mean(values, np.ones(40)).acceleration
    low, high = corrected_interval(replicates_of(values), mean, 40, 0.95, acceleration)
    assert high - mean > mean - low
    plain = np.quantile(replicates_of(values), [0.025, 0.975])
    assert low > plain[0] - 0.02
    assert high > plain[1]


def test_a_bootstrap_interval_is_never_narrower_than_students(values):
    student = Figure.of_mean(values, np.ones(40))
    low, high = replace(student, replicates=replicates_of(values)).limits(0.95)
    assert low <= student.limits(0.95)[0]
    assert high >= student.limits(0.95)[1]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_p_values_are_one_less_the_level_at_which_the_interval_reaches_zero(level, values):
    mean, acceleration = values.mean(), Figure.of_mean(values, np.ones(40)).acceleration
    drawn = replicates_of(values, 8000)
    for end in corrected_interval(drawn, mean, 40, level, acceleration):
        p = corrected_p_value(drawn - end, mean - end, 40, acceleration)
        assert p == pytest.approx(1 - level, abs=0.005)


def test_class_counts_of_two_classes_give_the_score_interval_of_the_overlap():
    """Only class 0 can move: class 1 is neither true nor predicted."""
    counts = [np.array([count, 0.0]) for count in (30.0, 30.0, 20.0)]
    low, high = interval_by_classes(METRICS["macro_f1"].counts, counts, 30.0, 0.95)
    n, t = 40.0, stats.t.ppf(0.975, 29)
    wilson = [0.5 + sign * t * math.sqrt((0.25 + t**2 / 4 / n) / n) / (1 + t**2 / n) for sign in (-1, 1)]
    assert (low, high) == pytest.approx(tuple(2 * end / (1 + end) for end in wilson))


def test_where_every_row_had_luck_the_forecast_says_how_far_the_mean_may_be_off():
    low, high = interval_by_forecast(1.0, predicted=1.2, variance=0.01, least=1.0, effective=20.0, level=0.95)
    assert low == pytest.approx(1.0)
    assert high > 1.2
    t = stats.t.ppf(0.975, 19)
    assert high - 1.0 == pytest.approx(t * math.sqrt(0.01 / 0.2 * (high - 1.0)))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("skew", "counted"), [(0.1, 0.1), (0.15, 0.15), (0.2, 0.15), (3.0, 0.15)])
def test_skewness_stretches_the_longer_side_up_to_a_limit(skew, counted, sign):
    """Johnson's correction, which beyond 0.15 would make matters worse."""
    low, high = suitable_interval(10.0, 2.0, 30.0, 0.95, acceleration=sign * skew)
    t = stats.t.ppf(0.975, 29)
    shorter, longer = (10 - low, high - 10) if sign > 0 else (high - 10, 10 - low)
    assert shorter == pytest.approx(2 * t)
    assert longer == pytest.approx(2 * (t + counted * (2 * t**2 + 1)))


def test_a_spread_that_rounding_makes_is_none():
    """Relative to what is added up: 1e-12 of it and less."""
    assert student_p_value(1e-12, 0.9e-12, 50.0, scale=1.0) is None
    assert student_p_value(0.0, 0.9e-12, 50.0, scale=1.0) == 1.0
    assert student_p_value(1e-12, 1.1e-12, 50.0, scale=1.0) == pytest.approx(2 * stats.t.sf(1 / 1.1, 49))


def test_an_interval_around_an_estimate_counts_the_bias_of_its_replicates_three_times():
    estimate = np.array([0.5])
    replicates = np.array([[0.2], [0.4]])  # their mean is 0.2 too low, their standard deviation 0.1
    low, high = interval_around(estimate, replicates, 12, 0.95, tied=np.array([0.01]))
    reach = stats.t.ppf(0.975, 11) * math.sqrt(0.1**2 + 3 * 0.2**2) + 0.01
    assert (low, high) == (pytest.approx(0.5 - reach), pytest.approx(0.5 + reach))

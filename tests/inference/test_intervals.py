"""Intervals of one estimate: textbook values, and how often they hold the truth."""

import math

import numpy as np
import pytest
from scipy import stats

from pandora_regret.inference.intervals import (
    acceleration_of,
    corrected_interval,
    corrected_p_value,
    influence_of_mean,
    interval_by_classes,
    interval_by_forecast,
    interval_of_mean,
    score_interval,
    standard_error,
    student_interval,
    student_p_values,
    suitable_interval,
)
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import poisson_weights
from pandora_regret.metrics import METRICS


@pytest.fixture(scope="module")
def values():
    return np.random.default_rng(0).exponential(size=40)


def test_without_weights_the_interval_is_that_of_the_t_test(values):
    mean, low, high = interval_of_mean(values, np.full(40, 3.0), None, 0.9)
    by_hand = stats.ttest_1samp(values, 0.0)
    limits = by_hand.confidence_interval(0.9)
    assert mean == pytest.approx(values.mean())
    assert (low, high) == pytest.approx((limits.low, limits.high))
    error = standard_error(influence_of_mean(values, np.ones(40), mean), np.full(40, 1 / 40))
    assert float(student_p_values(mean, error, 40, 1.0)) == pytest.approx(by_hand.pvalue)


def test_rows_of_one_group_are_one_unit(values):
    groups = np.arange(40) // 4
    by_group = interval_of_mean(values.reshape(10, 4).mean(axis=1), np.ones(10), None, 0.95)
    assert interval_of_mean(values, np.ones(40), groups, 0.95) == pytest.approx(by_group)


def test_where_one_row_has_all_the_weight_there_is_no_interval():
    weights = np.array([1.0, 1e-3, 1e-3])
    assert interval_of_mean(np.arange(3.0), weights, None, 0.95)[1:] == (None, None)
    assert score_interval(1.0, 0.0, 1.0, 0.95) == (None, None)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (1, 10), (59, 60), (60, 60), (30, 60)])
def test_the_score_interval_is_wilsons_with_t(right, n):
    share, t = right / n, stats.t.ppf(0.975, n - 1)
    low, high = score_interval(share, math.sqrt(share * (1 - share) / (n - 1)), n, 0.95)
    for end in {low, high} - {0.0, 1.0}:  # where the score test is just significant
        assert abs(share - end) == pytest.approx(t * math.sqrt(end * (1 - end) / n))


def test_score_intervals_of_rare_errors_hold_the_truth():
    right = np.random.default_rng(1).binomial(60, 0.98, 4000)
    held = []
    for share in right / 60:
        low, high = score_interval(share, math.sqrt(share * (1 - share) / 59), 60, 0.95)
        held.append(low <= 0.98 <= high)
    assert 0.93 <= np.mean(held) <= 0.98


def test_very_unequal_weights_hold_the_truth():
    rng, held = np.random.default_rng(2), []
    for _ in range(1500):
        weights = np.minimum(rng.lognormal(0, 1.5, 60), 50.0)
        _, low, high = interval_of_mean(rng.normal(size=60), weights, None, 0.95)
        held.append(low <= 0 <= high)
    assert 0.94 <= np.mean(held) <= 0.985


def replicates_of(values, n=2000):
    drawn = poisson_weights(keys_of(range(len(values))), n).astype(float)
    return drawn @ values / drawn.sum(axis=1)


def test_corrected_percentiles_of_a_skewed_mean_lie_further_out_on_the_long_side(values):
    mean, influence = values.mean(), (values - values.mean()) / 40
    low, high = corrected_interval(replicates_of(values), mean, 40, 0.95, acceleration_of(influence))
    assert high - mean > mean - low
    plain = np.quantile(replicates_of(values), [0.025, 0.975])
    assert low > plain[0] - 0.02
    assert high > plain[1]


def test_a_bootstrap_interval_is_never_narrower_than_students(values):
    mean, error = values.mean(), standard_error((values - values.mean()) / 40, np.full(40, 1 / 40))
    student = student_interval(mean, error, 40, 0.95)
    low, high = suitable_interval(mean, error, 40, 0.95, replicates=replicates_of(values))
    assert low <= student[0]
    assert high >= student[1]


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_p_values_are_one_less_the_level_at_which_the_interval_reaches_zero(level, values):
    mean, acceleration = values.mean(), acceleration_of((values - values.mean()) / 40)
    drawn = replicates_of(values, 8000)
    for end in corrected_interval(drawn, mean, 40, level, acceleration):
        p = corrected_p_value(drawn - end, mean - end, 40, acceleration)
        assert p == pytest.approx(1 - level, abs=0.005)


def test_class_counts_of_two_classes_give_the_score_interval_of_the_overlap():
    """Only class 0 can move: class 1 is neither true nor predicted."""
    occurs, named, right = (np.array([count, 0.0]) for count in (30.0, 30.0, 20.0))
    low, high = interval_by_classes(METRICS["macro_f1"].counts, occurs, named, right, 30.0, 0.95)
    n, t = 40.0, stats.t.ppf(0.975, 29)
    ends = score_interval(0.5, math.sqrt(0.25 / (n - 1)), n, 0.95)
    wilson = [0.5 + sign * t * math.sqrt((0.25 + t**2 / 4 / n) / n) / (1 + t**2 / n) for sign in (-1, 1)]
    assert (low, high) == pytest.approx(tuple(2 * end / (1 + end) for end in wilson))
    assert ends == pytest.approx(wilson, abs=0.01)


def test_where_every_row_had_luck_the_forecast_says_how_far_the_mean_may_be_off():
    low, high = interval_by_forecast(1.0, predicted=1.2, variance=0.01, least=1.0, effective=20.0, level=0.95)
    assert low == pytest.approx(1.0)
    assert high > 1.2
    t = stats.t.ppf(0.975, 19)
    assert high - 1.0 == pytest.approx(t * math.sqrt(0.01 / 0.2 * (high - 1.0)))

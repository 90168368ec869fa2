"""What recalibrating saves: its interval holds, also where cases are few and prices uneven."""

import numpy as np
import pytest
from scipy.special import softmax

from pandora_regret import Uniform, compare, expected_search_cost
from pandora_regret.calibrate import recalibrate
from pandora_regret.calibrate.maps import probabilities_of
from pandora_regret.calibrate.recalibration import (
    dependence_within_units,
    out_of_fold,
    predicted_moments,
    predicted_savings,
)
from pandora_regret.core.inputs import read_forecast
from pandora_regret.core.scores import priced

PRICES = [300.0, 40.0, 10.0]


def bold(rng, n):
    """Truths, and forecasts that are twice too bold on the scale of logits."""
    signal = 1.5 * rng.normal(size=(n, 3))
    chances = softmax(signal, axis=1)
    truth = np.array([rng.choice(3, p=p) for p in chances])
    return truth, softmax(2 * signal, axis=1)


def test_the_interval_holds_for_forty_cases_at_uneven_prices():
    """It held in four of five such samples while it knew no more than the spread of the sample."""
    truth, table = bold(np.random.default_rng(0), 5000)
    as_they_are = expected_search_cost(truth, table, costs=PRICES)
    intervals, savings = [], []
    for seed in range(100):
        result = recalibrate(*bold(np.random.default_rng([1, seed]), 40), costs=PRICES)
        intervals.append((result.saved.low, result.saved.high))
        later = result.map.predict_proba(table)
        savings.append(as_they_are - expected_search_cost(truth, later, costs=PRICES))
    low, high = np.transpose(intervals)
    mean = np.mean(savings)
    assert np.mean((low <= mean) & (mean <= high)) >= 0.93


@pytest.mark.parametrize("size", [1, 3])
def test_moments_are_those_of_truths_drawn_from_the_recalibrated_forecasts(size):
    rng = np.random.default_rng(4)
    truth, table = bold(rng, 30)
    units = None if size == 1 else np.arange(30) // size
    weights = rng.uniform(0.5, 2.0, 30)
    prior, forecast = priced(read_forecast(truth, table, sample_weight=weights), Uniform(), PRICES)
    later, _ = out_of_fold(forecast, "temperature", None, 10, 0, units)
    savings = predicted_savings(forecast, later, prior)
    second, third = predicted_moments(forecast, savings, 2.0, units, dependence=0.0)
    q = probabilities_of(later.values.T)
    every = [
        expected_search_cost(np.full(30, k), table, costs=PRICES, per_instance=True)
        - expected_search_cost(np.full(30, k), q, costs=PRICES, per_instance=True)
        for k in range(3)
    ]
    draws = (q.cumsum(axis=1)[None] < rng.random((100_000, 30, 1))).sum(axis=2).clip(max=2)
    added = weights / weights.sum() * (np.array(every)[draws, np.arange(30)] - 2.0)
    of_units = added.reshape(len(draws), -1, size).sum(axis=2)
    assert second == pytest.approx((of_units**2).sum(axis=1).mean(), rel=0.02)
    assert third == pytest.approx((of_units**3).sum(axis=1).mean(), rel=0.05)


def test_copies_of_cases_in_groups_have_the_interval_of_the_cases():
    """The copies of a case once counted as if their truths had been drawn one by one."""
    truth, table = bold(np.random.default_rng(2), 40)
    groups = np.repeat(np.arange(40), 3)
    truths = truth.repeat(3)
    tables = table.repeat(3, axis=0)
    once = recalibrate(truth, table, costs=PRICES).saved
    thrice = recalibrate(truths, tables, costs=PRICES, groups=groups).saved
    compared = compare(truths, {"m": tables}, costs=PRICES, groups=groups).best.recalibrated.saved
    for saved in (thrice, compared):
        assert (saved.value, saved.low, saved.high) == pytest.approx((once.value, once.low, once.high), rel=1e-6)


@pytest.mark.parametrize(
    ("copies", "apart", "low", "high"), [(1, 3, 0.0, 0.15), (3, 3, 0.3, 0.9), (3, 1, 1.0, 1.0)]
)
def test_cases_of_a_unit_count_as_one_as_far_as_they_move_together(copies, apart, low, high):
    """Units of so many different cases, drawn by chance, and so many copies of each."""
    rng = np.random.default_rng(6)
    truth, table = bold(rng, 300)
    units = np.repeat(rng.permutation(300) // apart, copies)
    of_copies = read_forecast(truth.repeat(copies), table.repeat(copies, axis=0))
    prior, forecast = priced(of_copies, Uniform(), PRICES)
    later, _ = out_of_fold(forecast, "temperature", None, 10, 0, units)
    before = expected_search_cost(forecast.truth, forecast.values, costs=PRICES, per_instance=True)
    after = expected_search_cost(forecast.truth, later.values, costs=PRICES, logits=True, per_instance=True)
    savings = predicted_savings(forecast, later, prior)
    dependence = dependence_within_units(before - after, forecast, savings, units)
    assert low - 1e-9 <= dependence <= high

"""Losses with several valleys: the lowest is found, whatever the order of the rows."""

import numpy as np
import pytest
from scipy.special import softmax

import pandora_regret as pr
from pandora_regret.calibrate.objectives import SearchCost
from pandora_regret.calibrate.rows import rows_of
from pandora_regret.calibrate.scaling import (
    Map,
    Penalties,
    _descend,
    _flat,
    _strengths,
    matrix_map,
    temperature_map,
    vector_map,
)
from pandora_regret.calibrate.temperature import best_inverse_temperature
from pandora_regret.inputs import read_forecast

pytest.importorskip("sklearn")

from pandora_regret.calibrate import TemperatureScaling


def few_odd_forecasts(seed):
    """Forecasts that know nothing, at prices far apart: the loss has several valleys along the temperature."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 6)), int(rng.integers(3, 30))
    forecasts = np.maximum(rng.dirichlet(np.full(k, rng.choice([0.1, 0.3, 1.0])), size=n), 1e-9)
    truth, costs = rng.integers(0, k, n), np.exp(rng.normal(0, 1.5, k))
    priors = [pr.Beta(0.5), pr.Uniform(), pr.Beta(3.0), pr.Gamma(2.0), pr.LogNormal(0.5)]
    forecast = read_forecast(truth, forecasts / forecasts.sum(axis=1, keepdims=True)).with_costs(costs)
    return rows_of(forecast)[0], SearchCost(rng.choice(priors))


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 224, 292])
def test_the_best_temperature_is_the_best_of_all(seed):
    """A scan of half decades followed by one descent missed it for 224 and 292, by 5 and 4 %."""
    rows, objective = few_odd_forecasts(seed)
    least = min(objective.along(rows, x).loss for x in np.logspace(-3, 3, 1001))
    assert objective.along(rows, best_inverse_temperature(rows, objective)).loss <= least * (1 + 1e-9)


def skewed_forecasts(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 5)), int(rng.integers(20, 80))
    right = softmax(rng.normal(0, rng.choice([0.5, 1.5]), (n, k)), axis=1)
    truth = (rng.random((n, 1)) > right.cumsum(axis=1)[:, :-1]).sum(axis=1)
    skewed = right ** rng.choice([0.5, 2, 4]) * np.exp(rng.normal(0, 1, k))
    costs = np.exp(rng.normal(0, 1, k))
    priors = [pr.Uniform(), pr.Beta(3.0), pr.Gamma(2.0), pr.LogNormal(0.5)]
    objective = SearchCost(priors[int(rng.integers(4))])
    forecast = read_forecast(truth, skewed / skewed.sum(axis=1, keepdims=True)).with_costs(costs)
    return rows_of(forecast)[0], objective, Penalties(*[float(rng.choice([1.0, 10.0]))] * 3)


@pytest.mark.parametrize(
    ("seed", "fit"), [(0, vector_map), (50, vector_map), (19, matrix_map), (50, matrix_map), (52, matrix_map)]
)
def test_the_best_map_is_the_best_of_many_starts(seed, fit):
    """Two starts, the best temperature and the map for log loss, missed it for all but the first."""
    rows, objective, penalties = skewed_forecasts(seed)
    plain = temperature_map(rows, objective)
    middle = (rows.scores @ rows.weights / rows.weights.sum())[:, None]
    factors = plain.factors if fit is vector_map else np.diag(plain.factors)
    centre = Map(factors, plain(middle)[:, 0])
    best = fit(rows, objective, penalties)
    distance = _flat(Map(best.factors, best(middle)[:, 0])) - _flat(centre)
    pull = _strengths(centre, penalties) @ distance**2 / (2 * rows.weights.sum())
    loss = objective.gradient(rows, best(rows.scores))[0] + pull
    centred, rng = rows.shifted(-middle), np.random.default_rng(1)
    for spread in np.tile([1.0, 2.0, 3.0], 6):
        moved, shifts = rng.normal(0, spread, (2, rows.n_classes))
        moved = moved if fit is vector_map else np.diag(moved)
        start = Map(centre.factors + moved, centre.shifts + shifts)
        assert loss <= _descend(start, centre, centred, objective, penalties)[1] * (1 + 1e-6)


def test_a_period_in_the_file_does_not_change_the_temperature():
    """Every 16th row, a case's first crop, is calm and the others far too bold: the calm ones gave T = 1."""
    rng = np.random.default_rng(0)
    n, k = 1 << 17, 6
    logits = rng.normal(0, 1.5, (n, k))
    truth = (rng.random((n, 1)) > softmax(logits, axis=1).cumsum(axis=1)[:, :-1]).sum(axis=1)
    logits[np.arange(n) % 16 > 0] *= 6
    order = rng.permutation(n)
    periodic, shuffled = (
        TemperatureScaling(logits=True).fit(logits[rows], truth[rows]).temperature_
        for rows in (slice(None), order)
    )
    assert periodic > 3
    assert periodic == pytest.approx(shuffled, rel=1e-6)

"""Recalibration: derivatives, the best temperature, vector and matrix scaling, and what degenerate data get."""

import numpy as np
import pytest
from bold_forecasts import simulated
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy.optimize import check_grad, minimize_scalar
from scipy.special import softmax

import pandora_regret as pr
from pandora_regret.calibrate.maps import (
    Map,
    _log_loss,
    best_inverse_temperature,
    derivatives,
    log_probabilities,
    one_factor,
    out_of_fold_inverse_temperatures,
    pick_rows,
    search_inverse_temperature,
)
from pandora_regret.calibrate.recalibration import deal
from pandora_regret.core.inputs import read_forecast

pytest.importorskip("sklearn")


from pandora_regret.calibrate import MatrixScaling, TemperatureScaling, VectorScaling

SMOOTH = [pr.Beta(0.37), pr.Uniform(), pr.Beta(4.0), pr.Exponential(), pr.Gamma(2.5)]
COSTS = np.array([1.0, 3.0, 0.5, 2.0])
every_scaling = pytest.mark.parametrize("scaling", [TemperatureScaling, VectorScaling, MatrixScaling])
every_objective = pytest.mark.parametrize("objective", ["log_loss", "search"])


def rows(n=300, k=4, seed=0, power=1.7, costs=None):
    truth, forecasts = simulated(n, k, power, seed)
    weights = np.random.default_rng(seed + 1).uniform(0.5, 2, n)
    forecast = read_forecast(truth, forecasts, sample_weight=weights)
    return log_probabilities(forecast.with_costs(costs))[0]


def log_loss(some, inverse_temperature):
    return _log_loss(one_factor(inverse_temperature, some.n_classes), some)[0]


@given(st.integers(0, 99), st.floats(0.01, 30.0))
def test_derivatives_along_the_temperature(seed, at):
    some, step = rows(30, seed=seed), 1e-4 * at
    slopes, curvatures = derivatives(some, at)
    numerical = (log_loss(some, at + step) - log_loss(some, at - step)) / (2 * step)
    assert slopes.sum() / some.each_weight.sum() == pytest.approx(numerical, rel=1e-5, abs=1e-6)
    below, above = (derivatives(some, at + shift)[0] for shift in (-step, step))
    np.testing.assert_allclose(curvatures, (above - below) / (2 * step), rtol=1e-3, atol=1e-5)


def test_derivatives_are_the_same_in_blocks(monkeypatch):
    some = rows(700)
    whole = derivatives(some, 0.7)
    monkeypatch.setattr("pandora_regret.core.inputs.tables.BLOCK_ELEMENTS", 1)
    np.testing.assert_array_equal(derivatives(some, 0.7), whole)


@pytest.mark.parametrize("shape", [(4,), (4, 4)])
def test_the_gradient_is_the_derivative_in_the_map(shape):
    some, rng = rows(5000), np.random.default_rng(0)
    start = rng.normal(size=int(np.prod(shape)) + 4)

    def at(parameters):
        return _log_loss(Map(parameters[:-4].reshape(shape), parameters[-4:]), some)

    def gradient(parameters):
        slope = at(parameters)[1]
        return np.concatenate([slope.factors.ravel(), slope.shifts])

    assert check_grad(lambda parameters: at(parameters)[0], gradient, start) < 1e-5


@given(power=st.floats(0.2, 6), seed=st.integers(0, 50), k=st.integers(2, 5))
def test_log_loss_temperature_is_the_minimum(power, seed, k):
    some = rows(120, k, seed, power)
    best = minimize_scalar(lambda at: log_loss(some, at), bounds=(1e-3, 40), method="bounded")
    assert log_loss(some, best_inverse_temperature(some)) <= best.fun + 1e-12


@pytest.mark.parametrize("n_rows", [12, 300, 3000])
@pytest.mark.parametrize("power", [0.2, 1.0, 4.0])
def test_each_fold_gets_the_temperature_of_the_other_folds(n_rows, power):
    some = rows(n_rows, 3, power=power)
    fold = deal(some.truth, 10)
    inverse = out_of_fold_inverse_temperatures(some, fold)
    for number in range(10):
        alone = best_inverse_temperature(pick_rows(some, np.flatnonzero(fold != number)))
        np.testing.assert_allclose(inverse[fold == number], alone, rtol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 224, 292])
def test_the_search_temperature_of_few_odd_forecasts_is_the_best_of_all(seed):
    """Forecasts that know nothing, at prices far apart: the cost has several valleys along the temperature."""
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(2, 6)), int(rng.integers(3, 30))
    forecasts = np.maximum(rng.dirichlet(np.full(k, rng.choice([0.1, 0.3, 1.0])), size=n), 1e-9)
    truth, costs = rng.integers(0, k, n), np.exp(rng.normal(0, 1.5, k))
    forecast = read_forecast(truth, forecasts / forecasts.sum(axis=1, keepdims=True)).with_costs(costs)
    some = log_probabilities(forecast)[0]
    for prior in SMOOTH:

        def cost(at, prior=prior):
            about = {"prior": prior, "max_costs": costs, "logits": True}
            return pr.expected_search_cost(truth, at * np.log(forecast.values), **about)

        grid = min(map(cost, np.geomspace(1e-3, 1e3, 2000)))
        assert cost(search_inverse_temperature(some, prior)) <= grid * (1 + 1e-5)


def test_rows_that_say_nothing_teach_nothing():
    """The map of a fold is that of the other folds alone: here of one row, which is the same for both classes."""
    result = pr.calibrate.recalibrate([0, 1], [[0.5, 0.5], [0.4, 0.6]])
    assert result.saved.value == 0


def test_a_period_in_the_file_does_not_change_the_temperature():
    """Every 16th row, a case's first crop, is calm and the others far too bold: the calm ones gave T = 1."""
    rng = np.random.default_rng(0)
    n, k = 1 << 17, 6
    logits = rng.normal(0, 1.5, (n, k))
    truth = (rng.random((n, 1)) > softmax(logits, axis=1).cumsum(axis=1)[:, :-1]).sum(axis=1)
    logits[np.arange(n) % 16 > 0] *= 6
    order = rng.permutation(n)
    for objective in ("log_loss", "search"):
        scaling = TemperatureScaling(logits=True, objective=objective)
        periodic, shuffled = (
            scaling.fit(logits[chosen], truth[chosen]).temperature_ for chosen in (slice(None), order)
        )
        assert periodic > 3
        assert periodic == pytest.approx(shuffled, rel=1e-4)


@every_scaling
def test_logits_of_any_offset_and_probabilities_are_recalibrated_alike(scaling):
    truth, forecasts = simulated(200, power=2)
    logits = np.log(forecasts) + np.arange(200)[:, None]
    plain = scaling().fit(forecasts, truth).predict_proba(forecasts)
    shifted = scaling(logits=True).fit(logits, truth).predict_proba(logits)
    np.testing.assert_allclose(shifted, plain, atol=1e-6)


def test_matrix_scaling_finds_classes_that_have_been_confused():
    truth, forecasts = simulated(5000, k=3)
    swapped = forecasts[:, [1, 0, 2]]
    found = MatrixScaling(off_diagonal=1.0, diagonal=1.0).fit(swapped, truth)
    np.testing.assert_allclose(found.predict_proba(swapped), forecasts, atol=0.05)


@every_objective
@pytest.mark.parametrize(
    ("forecasts", "truth", "temperature"),
    [
        ([[0.8, 0.2], [0.3, 0.7]], [0, 1], 1e-3),  # separable
        ([[0.8, 0.2], [0.3, 0.7]], [1, 0], 1e3),  # worse than guessing
        ([[0.25] * 4] * 5, [0, 1, 2, 3, 0], 1.0),  # no class is favoured
    ],
)
def test_the_temperature_of_degenerate_forecasts(objective, forecasts, truth, temperature):
    scaled = TemperatureScaling(objective=objective).fit(forecasts, truth)
    assert scaled.temperature_ == pytest.approx(temperature)


@pytest.mark.parametrize(
    "scaling",
    [TemperatureScaling(), TemperatureScaling(objective="search"), VectorScaling(), MatrixScaling()],
    ids=repr,
)
@pytest.mark.parametrize(
    ("forecasts", "truth"),
    [
        ([[0.5, 0.3, 0.2]], [1]),  # one row
        ([[0.5, 0.3, 0.2]] * 9, [0, 1, 2, 0, 0, 1, 0, 0, 0]),  # one forecast
        ([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]] * 4, [0, 1] * 4),  # a class never seen, and separable
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]] * 4, [0, 1, 2, 1, 0, 0, 0, 1]),  # hard forecasts, some impossible
    ],
    ids=["one row", "one forecast", "class never seen", "hard forecasts"],
)
def test_every_degenerate_case_ends_in_forecasts(scaling, forecasts, truth):
    proba = scaling.fit(forecasts, truth).predict_proba([*forecasts, [0.0, 0.0, 1.0]])
    assert scaling.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_impossible_logits_count_as_half_the_smallest_probability():
    logits = np.log([[0.8, 0.2], [0.4, 0.6], [0.6, 0.4]])
    scaled = TemperatureScaling(logits=True).fit(logits, [0, 1, 1])
    impossible, half = scaled.predict_proba([[0.0, -np.inf], [0.0, np.log(0.1)]])
    np.testing.assert_allclose(impossible, half)


@pytest.mark.parametrize(
    ("scaling", "argument", "row", "value"),
    [
        (TemperatureScaling(objective="brier"), "objective", None, "brier"),
        (TemperatureScaling(objective="search", costs=[1.0, 2.0]), "costs", None, (2,)),
        (VectorScaling(penalty=0.0), "penalty", None, 0.0),
        (VectorScaling(labels=[4, 5, 6]), "y_true", 0, 1),
    ],
    ids=repr,
)
def test_wrong_parameters_are_named(scaling, argument, row, value):
    with refused(argument=argument, row=row, value=value):
        scaling.fit(*simulated(20, k=3)[::-1])


def test_an_impossible_class_stays_behind_a_possible_one_however_improbable():
    scaled = TemperatureScaling().fit([[0.9, 0.1, 0.0]] * 3 + [[0.1, 0.9, 0.0]], [0, 0, 1, 1])
    [proba] = scaled.predict_proba([[1.0, 1e-12, 0.0]])
    assert proba[1] > proba[2] > 0

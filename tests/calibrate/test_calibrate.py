"""Recalibration: derivatives, the best temperature, vector and matrix scaling, and what degenerate data get."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import softmax

import pandora_regret as pr
from pandora_regret.calibrate.objectives import LogLoss, SearchCost
from pandora_regret.calibrate.rows import deal, rows_of
from pandora_regret.calibrate.scaling import Penalties, matrix_map, vector_map
from pandora_regret.calibrate.temperature import best_inverse_temperature
from pandora_regret.inputs import read_forecast

pytest.importorskip("sklearn")


from pandora_regret.calibrate import MatrixScaling, TemperatureScaling, VectorScaling

SMOOTH = [
    pr.Beta(0.0),
    pr.Beta(0.37),
    pr.Uniform(),
    pr.Beta(4.0),
    pr.Exponential(),
    pr.Gamma(2.5),
    pr.LogNormal([0.3, 0.5, 0.9, 0.4], correlation=0.2),
]
OBJECTIVES = [LogLoss(), *(SearchCost(prior) for prior in SMOOTH)]


def simulated(n=1000, k=4, power=1.0, seed=0, spread=1.5):
    """Forecasts `power` times as bold as the truth, and labels drawn from the truth."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, (n, k))
    truth = (rng.random((n, 1)) > softmax(logits, axis=1).cumsum(axis=1)[:, :-1]).sum(axis=1)
    return softmax(power * logits, axis=1), truth


def rows(n=300, k=4, seed=0, power=1.7, costs=None):
    forecasts, truth = simulated(n, k, power, seed)
    weights = np.random.default_rng(seed + 1).uniform(0.5, 2, n)
    forecast = read_forecast(truth, forecasts, sample_weight=weights)
    return rows_of(forecast if costs is None else forecast.with_costs(costs))[0]


COSTS = np.array([1.0, 3.0, 0.5, 2.0])


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_slope_and_curvature_along_the_temperature_are_derivatives(objective):
    some, step = rows(costs=COSTS), 1e-6
    for at in (0.3, 1.1):
        below, here, above = (objective.along(some, at + shift) for shift in (-step, 0, step))
        assert here.slope == pytest.approx((above.loss - below.loss) / (2 * step), rel=1e-5, abs=1e-8)
        assert here.curvature == pytest.approx((above.slope - below.slope) / (2 * step), rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
def test_the_gradient_is_the_derivative_in_every_score(objective):
    some, step = rows(n=5, costs=COSTS), 1e-6
    _, slopes = objective.gradient(some, some.scores)
    numerical = np.empty_like(slopes)
    for place in np.ndindex(*slopes.shape):
        shift = np.zeros_like(slopes)
        shift[place] = step
        ends = [objective.gradient(some, some.scores + sign * shift)[0] for sign in (1, -1)]
        numerical[place] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(slopes, numerical, atol=1e-8)


def test_an_unknown_prior_gets_its_curvature_from_its_slopes():
    scipy_stats = pytest.importorskip("scipy.stats")
    some = rows(n=100)
    by_difference = SearchCost(pr.FromScipy(scipy_stats.expon())).along(some, 0.8)
    np.testing.assert_allclose(by_difference, SearchCost(pr.Exponential()).along(some, 0.8), rtol=1e-4)


@given(
    alpha=st.sampled_from([None, 0.0, 0.37, 1.0, 20.0]),
    at=st.floats(1e-3, 1e3),
    n=st.integers(1, 1100),
    k=st.integers(2, 6),
    seed=st.integers(0, 99),
)
def test_compiled_loops_are_the_reference(alpha, at, n, k, seed):
    pytest.importorskip("numba")
    costs = np.random.default_rng(seed).uniform(0.2, 5, k)
    some = rows(n, k, seed, costs=costs)
    objective = LogLoss() if alpha is None else SearchCost(pr.Beta(alpha))
    many = replace(some, many=True)
    plain, fast = objective.along(some, at), objective.along(many, at)
    np.testing.assert_allclose(fast, plain, rtol=1e-9, atol=1e-9 * (1 + abs(np.array(plain)).max()))
    (loss, slopes), (fast_loss, fast_slopes) = (objective.gradient(r, at * some.scores) for r in (some, many))
    assert fast_loss == pytest.approx(loss, rel=1e-11)
    np.testing.assert_allclose(fast_slopes, slopes, rtol=1e-9, atol=1e-14)


@given(power=st.floats(0.2, 6), seed=st.integers(0, 50), k=st.integers(2, 5))
def test_log_loss_temperature_is_the_minimum(power, seed, k):
    some = rows(120, k, seed, power)
    found = best_inverse_temperature(some, LogLoss())
    best = minimize_scalar(lambda at: LogLoss().along(some, at).loss, bounds=(1e-3, 40), method="bounded")
    assert LogLoss().along(some, found).loss <= best.fun + 1e-12
    inside = 1e-3 < found < 1e3
    assert not inside or abs(LogLoss().along(some, found).slope) < 1e-7


@pytest.mark.parametrize("prior", [*SMOOTH[:5], pr.Fixed()], ids=repr)
@pytest.mark.parametrize("power", [0.4, 3.0])
def test_search_temperature_is_no_worse_than_any_of_a_fine_grid(prior, power):
    objective = SearchCost(prior)
    some = rows(150, seed=3, power=power, costs=COSTS)
    found = objective.along(some, best_inverse_temperature(some, objective)).loss
    grid = min(objective.along(some, at).loss for at in np.geomspace(1e-3, 1e3, 400))
    assert found <= grid + (5e-3 if objective.stepped else 1e-9)


def test_many_rows_give_the_same_temperature_as_the_plain_method():
    pytest.importorskip("numba")
    some = rows(5000, power=2.3)
    for objective in OBJECTIVES[:4]:
        plain, fast = (best_inverse_temperature(replace(some, many=many), objective) for many in (False, True))
        assert fast == pytest.approx(plain, rel=1e-8)


@pytest.mark.parametrize("objective", ["search", "log_loss"])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_temperature_scaling_undoes_a_temperature(objective, power):
    forecasts, truth = simulated(20000, power=power)
    found = TemperatureScaling(objective=objective).fit(forecasts, truth).temperature_
    assert found == pytest.approx(power, rel=0.05)


def test_the_temperature_is_scikit_learns():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.naive_bayes import GaussianNB

    forecasts, truth = simulated(600)
    model = GaussianNB().fit(forecasts, truth)
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature").fit(forecasts, truth)
    ours = TemperatureScaling(objective="log_loss").fit(model.predict_proba(forecasts), truth)
    beta = float(theirs.calibrated_classifiers_[0].calibrators[0].beta_)
    assert 1 / ours.temperature_ == pytest.approx(beta, rel=1e-6)


@pytest.mark.parametrize("scaling", [TemperatureScaling, VectorScaling, MatrixScaling])
def test_logits_of_any_offset_and_probabilities_are_recalibrated_alike(scaling):
    forecasts, truth = simulated(200, power=2)
    logits = np.log(forecasts) + np.arange(200)[:, None]
    plain = scaling().fit(forecasts, truth).predict_proba(forecasts)
    shifted = scaling(logits=True).fit(logits, truth).predict_proba(logits)
    np.testing.assert_allclose(shifted, plain, atol=1e-6)


@pytest.mark.parametrize("scaling", [TemperatureScaling, VectorScaling, MatrixScaling])
def test_the_currency_of_costs_changes_nothing(scaling):
    forecasts, truth = simulated(200, power=2)
    one, other = (
        scaling(typical_costs=unit * COSTS).fit(forecasts, truth).predict_proba(forecasts) for unit in (1.0, 90.0)
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_the_logarithmic_limit_is_the_limit():
    forecasts, truth = simulated(300, power=2)
    limit, near = (
        VectorScaling(prior=pr.Beta(alpha), typical_costs=COSTS).fit(forecasts, truth).predict_proba(forecasts)
        for alpha in (0.0, 1e-7)
    )
    np.testing.assert_allclose(limit, near, atol=1e-4)


@pytest.mark.parametrize("scaling", [TemperatureScaling, VectorScaling, MatrixScaling])
def test_recalibrated_for_search_the_fitted_rows_cost_no_more(scaling):
    forecasts, truth = simulated(500, power=3, seed=5)
    after = scaling(costs=COSTS).fit(forecasts, truth).predict_proba(forecasts)
    before = pr.expected_search_cost(truth, forecasts, costs=COSTS)
    assert pr.expected_search_cost(truth, after, costs=COSTS) < before


def test_vector_scaling_finds_a_class_that_is_forecast_too_often():
    forecasts, truth = simulated(5000, k=3)
    biased = forecasts * [3.0, 1.0, 1.0]
    biased /= biased.sum(axis=1, keepdims=True)
    scaled = VectorScaling(objective="log_loss").fit(biased, truth)
    np.testing.assert_allclose(scaled.predict_proba(biased), forecasts, atol=0.05)
    assert scaled.shifts_[0] - scaled.shifts_[1] == pytest.approx(-np.log(3), abs=0.15)


def test_matrix_scaling_finds_classes_that_have_been_confused():
    forecasts, truth = simulated(5000, k=3)
    swapped = forecasts[:, [1, 0, 2]]
    found = MatrixScaling(objective="log_loss", off_diagonal=1.0, diagonal=1.0).fit(swapped, truth)
    np.testing.assert_allclose(found.predict_proba(swapped), forecasts, atol=0.05)


@pytest.mark.parametrize("fit", [vector_map, matrix_map])
def test_a_heavy_penalty_leaves_the_best_temperature(fit):
    some = rows(400, power=2.0)
    found = fit(some, LogLoss(), Penalties(1e9, 1e9, 1e9))
    factors = found.factors if found.factors.ndim == 2 else np.diag(found.factors)
    np.testing.assert_allclose(factors, np.eye(4) * best_inverse_temperature(some, LogLoss()), atol=1e-5)
    np.testing.assert_allclose(found.shifts, 0, atol=1e-5)


# What degenerate data get


def test_separable_forecasts_get_the_lowest_temperature():
    for objective in ("log_loss", "search"):
        scaled = TemperatureScaling(objective=objective).fit([[0.8, 0.2], [0.3, 0.7]], [0, 1])
        assert scaled.temperature_ == pytest.approx(1e-3)


def test_forecasts_worse_than_guessing_get_the_highest_temperature():
    for objective in ("log_loss", "search"):
        scaled = TemperatureScaling(objective=objective).fit([[0.8, 0.2], [0.3, 0.7]], [1, 0])
        assert scaled.temperature_ == pytest.approx(1e3)


@pytest.mark.parametrize("objective", ["log_loss", "search"])
def test_forecasts_that_favour_no_class_keep_their_temperature(objective):
    scaled = TemperatureScaling(objective=objective).fit(np.full((5, 4), 0.25), [0, 1, 2, 3, 0])
    assert scaled.temperature_ == 1


@pytest.mark.parametrize("objective", ["log_loss", "search"])
@pytest.mark.parametrize("scaling", [TemperatureScaling, VectorScaling, MatrixScaling])
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
def test_every_degenerate_case_ends_in_forecasts(scaling, objective, forecasts, truth):
    scaled = scaling(objective=objective).fit(forecasts, truth)
    proba = scaled.predict_proba([*forecasts, [0.0, 0.0, 1.0]])
    assert scaled.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_hard_forecasts_become_as_sure_as_they_are_right():
    hard, truth = np.eye(2)[[0] * 8 + [1] * 8], [0] * 6 + [1] * 2 + [1] * 6 + [0] * 2
    scaled = TemperatureScaling(objective="log_loss").fit(hard, truth)
    np.testing.assert_allclose(scaled.predict_proba(hard).max(axis=1), 0.75, atol=1e-6)


def test_impossible_logits_count_as_half_the_smallest_probability():
    logits = np.log([[0.8, 0.2], [0.4, 0.6], [0.6, 0.4]])
    scaled = TemperatureScaling(logits=True, objective="log_loss").fit(logits, [0, 1, 1])
    impossible, half = scaled.predict_proba([[0.0, -np.inf], [0.0, np.log(0.1)]])
    np.testing.assert_allclose(impossible, half)


@pytest.mark.parametrize(
    "prior", [pr.Fixed(), pr.Empirical([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 1.0, 1.0]])], ids=repr
)
def test_known_costs_have_a_temperature_but_no_slopes_for_more(prior):
    forecasts, truth = simulated(300, power=4)
    scaled = TemperatureScaling(prior=prior, costs=COSTS).fit(forecasts, truth).predict_proba(forecasts)
    before, after = (
        pr.expected_search_cost(truth, table, prior=prior, costs=COSTS) for table in (forecasts, scaled)
    )
    assert after <= before
    with pytest.raises(pr.InputError, match=r"flat between steps.*objective='log_loss'"):
        VectorScaling(prior=prior).fit(forecasts, truth)


def test_costs_of_each_row_are_taken():
    forecasts, truth = simulated(200, power=3)
    costs = np.random.default_rng(0).uniform(1, 9, forecasts.shape)
    after = VectorScaling(costs=costs).fit(forecasts, truth).predict_proba(forecasts)
    before = pr.expected_search_cost(truth, forecasts, costs=costs)
    assert pr.expected_search_cost(truth, after, costs=costs) < before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "brier"}, "objective is 'brier': pass one of 'search'"),
        ({"penalty": 0.0}, "penalty is 0: it must be positive"),
        ({"costs": [1.0, 2.0]}, "costs has shape"),
        ({"labels": [4, 5, 6]}, "y_true row 0"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    forecasts, truth = simulated(20, k=3)
    with pytest.raises(ValueError, match=message):
        VectorScaling(**options).fit(forecasts, truth)


def test_columns_that_nobody_named_are_asked_for():
    with pytest.raises(pr.InputError, match=r"y has names, \['cat', 'dog'\], and nothing says which column"):
        TemperatureScaling().fit([[0.2, 0.3, 0.5]] * 2, ["cat", "dog"])


# Frames, labels, folds


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_frames_columns_are_matched_by_name(library):
    frames = pytest.importorskip(library)
    forecasts, truth = simulated(100, k=3)
    names = np.array(["ant", "bee", "cow"])
    plain = VectorScaling(labels=names).fit(forecasts, names[truth])
    frame = frames.DataFrame({name: forecasts[:, at] for at, name in reversed(list(enumerate(names)))})
    framed = VectorScaling(labels=names, costs={"cow": 1.0, "ant": 1.0, "bee": 1.0}).fit(frame, names[truth])
    np.testing.assert_allclose(framed.predict_proba(frame), plain.predict_proba(forecasts), atol=1e-8)
    assert set(framed.predict(frame)) <= set(names)
    own = VectorScaling().fit(frame, names[truth])
    assert own.classes_.tolist() == ["cow", "bee", "ant"]


@given(folds=st.integers(2, 7), seed=st.none() | st.integers(0, 9), truth=st.lists(st.integers(0, 4), min_size=7))
def test_folds_share_every_class_evenly(folds, seed, truth):
    truth = np.array(truth)
    fold = deal(truth, folds, seed)
    for members in (fold, *(fold[truth == k] for k in range(5))):
        counts = np.bincount(members, minlength=folds)
        assert counts.max() - counts.min() <= 1


def test_an_impossible_class_stays_behind_a_possible_one_however_improbable():
    scaled = TemperatureScaling(objective="log_loss").fit([[0.9, 0.1, 0.0]] * 3 + [[0.1, 0.9, 0.0]], [0, 0, 1, 1])
    [proba] = scaled.predict_proba([[1.0, 1e-12, 0.0]])
    assert proba[1] > proba[2] > 0

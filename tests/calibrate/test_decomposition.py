"""score = miscalibration - discrimination + uncertainty, in the costs' currency."""

from dataclasses import astuple
from functools import partial

import numpy as np
import pytest
from bold_forecasts import simulated
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refused

import pandora_regret as pr
from pandora_regret import ComparisonOptions, compare
from pandora_regret.calibrate import decompose, recalibrate
from pandora_regret.calibrate.maps import fitted_map, log_probabilities, probabilities_of
from pandora_regret.calibrate.recalibration import (
    cross_fit,
    deal,
    folds_of_cases,
    out_of_fold,
    predicted_limits,
    predicted_savings,
)
from pandora_regret.core.inputs import read_forecast
from pandora_regret.core.scores import priced
from pandora_regret.inference.joint import Figure

COSTS = [100.0, 250.0, 80.0, 120.0]


def total(parts):
    return parts.miscalibration.value - parts.discrimination.value + parts.uncertainty.value


PRIORS = [None, pr.Beta(0.2), pr.Fixed(), pr.Gamma(2.0), pr.LogNormal(0.5)]


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 40),
    k=st.integers(2, 4),
    folds=st.integers(2, 12),
    seed=st.integers(0, 1000),
    prior=st.sampled_from(PRIORS),
    method=st.sampled_from(["auto", "temperature", "vector", "matrix"]),
)
def test_terms_sum_to_the_score_for_any_prior_and_costs(n, k, folds, seed, prior, method):
    truth, forecasts = simulated(n, k, 1.5, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 4, n)
    given = {"prior": prior, "costs": COSTS[:k], "sample_weight": weights}
    parts = decompose(truth, forecasts, method=method, folds=folds, seed=seed, **given)
    assert parts.score.value == pytest.approx(pr.expected_search_cost(truth, forecasts, **given), rel=1e-13)
    assert total(parts) == pytest.approx(parts.score.value, rel=1e-12)


def test_calibrated_forecasts_have_hardly_any_miscalibration():
    covered = 0
    for seed in range(20):
        truth, forecasts = simulated(600, seed=seed)
        parts = decompose(truth, forecasts, costs=COSTS)
        covered += parts.miscalibration.low <= 1e-9 and parts.miscalibration.high >= -1e-9
        assert abs(parts.miscalibration.value) < 0.02 * parts.score.value
    assert covered >= 17


@pytest.mark.parametrize("power", [0.3, 3.0])
def test_forecasts_too_bold_or_too_meek_are_miscalibrated(power):
    truth, forecasts = simulated(power=power)
    calm = simulated()[1]
    parts = decompose(truth, forecasts, costs=COSTS)
    assert parts.miscalibration.low > 0
    to_gain = parts.score.value - pr.expected_search_cost(truth, calm, costs=COSTS)
    assert parts.miscalibration.value == pytest.approx(to_gain, rel=0.2)


def test_class_frequencies_have_neither_miscalibration_nor_discrimination():
    truth, _ = simulated(2000)
    parts = decompose(truth, np.full((2000, 4), 0.25), costs=COSTS)
    assert parts.discrimination.value == parts.discrimination.low == parts.discrimination.high == 0
    assert abs(parts.miscalibration.value) < 0.005 * parts.score.value
    assert parts.uncertainty.value == pytest.approx(parts.score.value, rel=0.001)


def test_forecasts_that_know_nothing_do_not_discriminate():
    truth, forecasts = simulated()
    parts = decompose(np.random.default_rng(3).permutation(truth), forecasts)
    assert abs(parts.discrimination.value) < 0.01 * parts.uncertainty.value
    assert parts.miscalibration.low > 0


def test_uncertainty_is_the_cost_of_searching_by_the_class_frequencies_of_other_folds():
    truth, forecasts = simulated(300)
    fold = folds(truth, forecasts)
    others = np.stack([np.bincount(truth[fold != one]) / (fold != one).sum() for one in fold])
    parts = decompose(truth, forecasts, costs=COSTS)
    expected = pr.expected_search_cost(truth, others, costs=COSTS)
    assert parts.uncertainty.value == pytest.approx(expected, rel=1e-12)


def exactly_calibrated_patients():
    """60 of them, whose classes occur exactly as often as their forecasts say."""
    truth = np.repeat([0, 1, 2, 0, 1, 2], [18, 9, 3, 3, 9, 18])
    return truth, np.repeat([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], 30, axis=0)


def with_ten_images_each(truth, forecasts):
    return *(np.repeat(rows, 10, axis=0) for rows in (truth, forecasts)), np.repeat(np.arange(len(truth)), 10)


@pytest.mark.parametrize(
    "patients", [exactly_calibrated_patients(), simulated(60, power=2)], ids=["right", "bold"]
)
def test_ten_identical_images_of_each_patient_say_what_one_does(patients):
    """With groups that leaked, calibrated patients showed a miscalibration of 7.40 [2.74, 12.07] instead of 0."""
    truth, forecasts, groups = with_ten_images_each(*patients)
    one, ten = decompose(*patients), decompose(truth, forecasts, groups=groups)
    for name in ("score", "miscalibration", "discrimination", "uncertainty"):
        mine, theirs = (astuple(getattr(parts, name))[:3] for parts in (one, ten))
        np.testing.assert_allclose(theirs, mine, atol=1e-6)


def folds(truth, forecasts):
    forecast = read_forecast(truth, forecasts)
    return folds_of_cases(log_probabilities(forecast)[0], 10, 0, None)


@pytest.mark.parametrize("method", ["temperature", "vector"])
def test_neither_the_order_of_rows_nor_that_of_columns_makes_a_difference(method):
    truth, forecasts = simulated(120, power=2.0)
    rows, columns = np.random.default_rng(1).permutation(120), [2, 0, 3, 1]
    costs = dict(zip("abcd", COSTS, strict=True))
    names = np.array(list("abcd"))
    tables = [
        (names[truth], forecasts, list("abcd")),
        (names[truth][rows], forecasts[rows][:, columns], list(names[columns])),
    ]
    for by in (recalibrate, decompose):
        one, other = (by(y, p, labels=labels, costs=costs, method=method) for y, p, labels in tables)
        for term in ("saved", "cost") if by is recalibrate else ("miscalibration", "uncertainty"):
            assert getattr(one, term).value == pytest.approx(getattr(other, term).value, rel=1e-6, abs=1e-6)
    one, other = (
        compare(y, {"m": p}, labels=labels, options=ComparisonOptions(recalibrate=method)).best.recalibrated
        for y, p, labels in tables
    )
    assert one.saved.value == pytest.approx(other.saved.value, rel=1e-6, abs=1e-6)


def test_copies_of_a_case_share_a_fold_unless_forecasts_are_coarse():
    truth, forecasts = simulated(60)
    five = np.tile(np.arange(60), 5)
    fold = folds(truth[five], forecasts[five])
    assert (fold.reshape(5, 60) == fold[:60]).all()
    assert np.bincount(folds(truth, np.full((60, 4), 0.25))).tolist() == [6] * 10


def test_folds_are_dealt_by_chance_not_class_by_class():
    """Folds of the same class frequencies would tell a map those of the cases that it is tried on."""
    truth, forecasts = simulated(400)
    fold = folds(truth, forecasts)
    counts = [np.bincount(fold[truth == k], minlength=10) for k in range(4)]
    assert 2 < np.std(counts, axis=1).mean() < 4.5  # by chance 2.9


def test_the_interval_of_a_saving_holds_those_of_rows_of_folds_and_of_what_forecasts_predict():
    truth, forecasts = simulated(60, power=2)
    forecast, fold = read_forecast(truth, forecasts), folds(truth, forecasts)
    table = np.empty((60, 4))
    for inside, map_ in cross_fit(log_probabilities(forecast)[0], fold, partial(fitted_map, "temperature")):
        table[inside] = probabilities_of(map_(log_probabilities(forecast)[0].values[inside].T))
    cost, later = (pr.expected_search_cost(truth, p, costs=COSTS, per_instance=True) for p in (forecasts, table))
    figures = [Figure.of_mean(cost - later, np.ones(60), units) for units in (None, fold)]
    ends = [figure.limits(0.95) for figure in figures]
    prior, priced_forecast = priced(forecast, None, COSTS)
    recalibrated, _ = out_of_fold(priced_forecast, "temperature", None, 10, 0, None)
    savings = predicted_savings(priced_forecast, recalibrated, prior)
    ends.append(predicted_limits(cost - later, priced_forecast, savings, None, 0.95))
    saved = recalibrate(truth, forecasts, costs=COSTS).saved
    assert saved.value == pytest.approx((cost - later).mean())
    assert (saved.low, saved.high) == pytest.approx((min(low for low, _ in ends), max(high for _, high in ends)))
    assert len(set(ends)) == 3


@pytest.mark.slow
def test_the_interval_of_a_saving_holds_that_of_the_procedure():
    savings, limits = [], []
    truth, forecasts = simulated(4000, power=2, seed=1)
    cost = pr.expected_search_cost(truth, forecasts, costs=COSTS)
    for seed in range(150):
        result = recalibrate(*simulated(60, power=2, seed=100 + seed), costs=COSTS, labels=range(4))
        limits.append((result.saved.low, result.saved.high))
        savings.append(cost - pr.expected_search_cost(truth, result.map.predict_proba(forecasts), costs=COSTS))
    low, high = np.transpose(limits)
    assert np.mean((low <= np.mean(savings)) & (np.mean(savings) <= high)) >= 0.92 - 2 * 0.022


@given(st.data())
def test_groups_stay_whole_when_folds_are_dealt(data):
    groups = data.draw(hnp.arrays(int, st.integers(5, 60), elements=st.integers(0, 9)))
    groups = np.unique(groups, return_inverse=True)[1]
    truth = data.draw(hnp.arrays(int, len(groups), elements=st.integers(0, 3)))
    folds = data.draw(st.integers(2, 5))
    fold = deal(truth, folds, groups)
    of_group = [set(fold[groups == group]) for group in range(groups.max() + 1)]
    assert all(len(folds_of_one) == 1 for folds_of_one in of_group)
    counts = np.bincount([min(one) for one in of_group], minlength=folds)
    assert counts.max() - counts.min() <= 1


def test_intervals_cover_what_many_rows_say():
    truth, forecasts = simulated(60000, power=2, seed=9)
    large = decompose(truth, forecasts, method="temperature", folds=2)
    covered = {"score": 0, "miscalibration": 0, "discrimination": 0, "uncertainty": 0}
    for seed in range(40):
        parts = decompose(*simulated(500, power=2, seed=seed), method="temperature", folds=3, level=0.9)
        for name in covered:
            term = getattr(parts, name)
            covered[name] += term.low <= getattr(large, name).value <= term.high
    assert min(covered.values()) >= 28  # of 40, 36 are expected; uncertainty leans low, by K / n


def test_weights_count_like_rows_and_their_unit_does_not():
    truth, forecasts = simulated(200, power=2)
    weights = np.random.default_rng(0).uniform(0.5, 2, 200)
    one, other = (decompose(truth, forecasts, sample_weight=unit * weights) for unit in (1.0, 64.0))
    assert one == other


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        ({"level": 1.0}, {"argument": "level", "value": 1.0}),
        ({"folds": 1}, {"argument": "folds", "value": 1}),
        ({"method": "isotonic"}, {"argument": "method", "value": "isotonic"}),
        ({"prior": pr.Beta(0.0)}, {"argument": "prior", "says": "mean cost 0"}),
        ({"sample_weight": [0.0, 1.0, 0.0]}, {"argument": "y_true", "says": "one fold"}),
    ],
)
def test_wrong_arguments_are_named(options, fields):
    with refused(**fields):
        decompose([0, 1, 0], [[0.7, 0.3], [0.2, 0.8], [0.6, 0.4]], **options)

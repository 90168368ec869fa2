"""Calibrators of classes that have names: nothing about the order of columns is guessed."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import pandora_regret as pr

pytest.importorskip("sklearn")

from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

from pandora_regret.calibrate import CalibratedSearch, MatrixScaling, PriorShift, TemperatureScaling, VectorScaling
from pandora_regret.integrations.sklearn import search_cost_scorer

NAMES = ["melanoma", "nevus", "keratosis"]  # not in alphabetical order
PRICES = {"nevus": 120.0, "melanoma": 380.0, "keratosis": 90.0}
every_calibrator = pytest.mark.parametrize("make", [TemperatureScaling, VectorScaling, MatrixScaling, PriorShift])


@pytest.fixture(scope="module")
def skin():
    """Forecasts that are too bold, and names of the true classes."""
    rng = np.random.default_rng(0)
    calm = rng.dirichlet([1.0, 3.0, 2.0], size=240)
    truth = np.array([rng.choice(NAMES, p=p) for p in calm])
    bold = calm**2 / (calm**2).sum(axis=1, keepdims=True)
    return bold, truth


@every_calibrator
def test_names_beside_an_array_are_an_error_that_asks_for_labels(make, skin):
    forecasts, truth = skin
    message = (
        r"y has names, .*'keratosis', .* nothing says which column of X .*: "
        r"pass labels=\[\.\.\.\] in column order, .* VectorScaling\(labels="
    )
    with pytest.raises(pr.InputError, match=message):
        make().fit(forecasts, truth)


@every_calibrator
@pytest.mark.parametrize("as_frame", [True, False], ids=["frame", "labels"])
def test_cross_val_predict_encodes_names_and_gets_sorted_columns(make, as_frame, skin):
    forecasts, truth = skin
    calibrator, X = (
        (make(), pd.DataFrame(forecasts, columns=NAMES)) if as_frame else (make(labels=NAMES), forecasts)
    )
    folds = StratifiedKFold(4)
    table = cross_val_predict(calibrator, X, truth, cv=folds, method="predict_proba")
    by_hand = np.empty_like(table)
    for train, test in folds.split(forecasts, truth):
        fitted = make(labels=NAMES).fit(forecasts[train], truth[train])
        by_hand[test] = fitted.predict_proba(forecasts[test])[:, np.argsort(NAMES)]
    np.testing.assert_allclose(table, by_hand, rtol=1e-9)
    assert pr.pandora_regret(truth, table, labels=sorted(NAMES)) < pr.pandora_regret(truth, table, labels=NAMES)


def test_numbers_of_which_the_last_never_occurs_are_no_codes(skin):
    forecasts, _ = skin
    with refused(says="numbers [0, 1]"):
        VectorScaling(labels=NAMES).fit(forecasts, np.arange(240) % 2)


def test_costs_without_names_ask_for_them(skin):
    forecasts, truth = skin
    prices = {"costs": [380.0, 120.0, 90.0]}
    with refused(argument="costs"):
        TemperatureScaling(**prices).fit(pd.DataFrame(forecasts, columns=NAMES), truth)
    with refused(argument="costs"):
        CalibratedSearch(GaussianNB(), **prices).fit(forecasts, truth)
    with refused(argument="costs"):
        search_cost_scorer(**prices)(GaussianNB().fit(forecasts, truth), forecasts, truth)
    named = {"costs": PRICES}
    by_labels, by_names = (
        TemperatureScaling(labels=NAMES, objective="search", **each).fit(forecasts, truth)
        for each in (prices, named)
    )
    assert by_labels.temperature_ == by_names.temperature_

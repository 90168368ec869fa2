"""Calibrators as scikit-learn estimators, and CalibratedSearch around any classifier."""

import sys

import numpy as np
import pytest

import pandora_regret as pr

pytest.importorskip("sklearn")

from sklearn.datasets import load_wine, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GroupKFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from pandora_regret import calibrate
from pandora_regret.calibrate import CalibratedSearch, MatrixScaling, PriorShift, TemperatureScaling, VectorScaling

FEWER_COLUMNS = "its features are forecasts, one column per class; this check has three classes in two columns"
BY_NAME = "a frame's columns are classes, matched by name; this check's frame names others"
PROPORTIONS = (
    "weights are proportions: a penalty counts rows, and two copies of a row are more than one of weight 2"
)
REPEATED = {"check_sample_weight_equivalence_on_dense_data": PROPORTIONS}
REPEATED_SPARSE = {"check_sample_weight_equivalence_on_sparse_data": PROPORTIONS}
EXPECTED = {
    "check_estimators_overwrite_params": FEWER_COLUMNS,
    "check_estimators_fit_returns_self": FEWER_COLUMNS,
    "check_readonly_memmap_input": FEWER_COLUMNS,
    "check_classifiers_classes": FEWER_COLUMNS,
    "check_classifiers_train": FEWER_COLUMNS,
    "check_sample_weights_pandas_series": BY_NAME,
    "check_classifier_data_not_an_array": BY_NAME,
    "check_estimators_nan_inf": "a logit of -inf is a class held to be impossible",
}


@pytest.fixture(scope="module")
def wine():
    return train_test_split(*load_wine(return_X_y=True), random_state=0)


@pytest.mark.parametrize(
    "calibrator",
    [
        TemperatureScaling(logits=True),
        VectorScaling(logits=True),
        MatrixScaling(logits=True),
        PriorShift(logits=True),
    ],
    ids=lambda calibrator: type(calibrator).__name__,
)
def test_calibrators_pass_the_checks_that_fit_forecasts(calibrator):
    expected = EXPECTED | (REPEATED if isinstance(calibrator, VectorScaling | MatrixScaling) else {})
    checks = check_estimator(calibrator, expected_failed_checks=expected, on_skip=None)
    assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(expected)


@pytest.mark.slow
def test_the_wrapper_passes_every_check():
    repeated = REPEATED | REPEATED_SPARSE
    checks = check_estimator(CalibratedSearch(LogisticRegression()), expected_failed_checks=repeated, on_skip=None)
    assert {check["check_name"] for check in checks if check["status"] == "xfail"} == set(repeated)
    assert {check["status"] for check in checks} <= {"passed", "skipped", "xfail"}


@pytest.mark.parametrize(
    ("method", "objective"),
    [("temperature", "log_loss"), ("temperature", "search"), ("vector", "log_loss"), ("matrix", "log_loss")],
)
def test_a_bold_classifier_searches_better_on_new_rows(method, objective):
    X, y = make_classification(1200, 20, n_informative=6, n_classes=4, n_redundant=10, random_state=1)
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    costs = [100.0, 250.0, 80.0, 120.0]
    plain = GaussianNB().fit(train, y_train)
    calibrated = CalibratedSearch(GaussianNB(), method=method, objective=objective, costs=costs)
    before, after = (
        pr.expected_search_cost(y_test, model.predict_proba(test), costs=costs)
        for model in (plain, calibrated.fit(train, y_train))
    )
    assert after < before


def test_the_calibrator_learns_from_rows_the_classifier_has_not_seen(wine):
    train, test, y_train, _ = wine
    folds = StratifiedKFold(4)
    model = CalibratedSearch(GaussianNB(), method="temperature", cv=folds).fit(train, y_train)
    forecasts = cross_val_predict(GaussianNB(), train, y_train, cv=folds, method="predict_proba")
    by_hand = TemperatureScaling().fit(forecasts, y_train)
    assert model.calibrator_.temperature_ == pytest.approx(by_hand.temperature_, rel=1e-4)
    whole = GaussianNB().fit(train, y_train).predict_proba(test)
    np.testing.assert_allclose(model.predict_proba(test), model.calibrator_.predict_proba(whole))


def test_a_frozen_classifier_is_only_calibrated(wine):
    train, test, y_train, y_test = wine
    fitted = GaussianNB().fit(train, y_train)
    some = y_test != 2  # the calibration rows lack a class
    model = CalibratedSearch(FrozenEstimator(fitted), method="temperature").fit(test[some], y_test[some])
    assert model.classes_.tolist() == [0, 1, 2]
    by_hand = TemperatureScaling().fit(fitted.predict_proba(test[some]), y_test[some])
    np.testing.assert_allclose(model.predict_proba(test), by_hand.predict_proba(fitted.predict_proba(test)))


@pytest.mark.parametrize("k", [2, 3])
def test_decision_functions_are_read_as_logits(wine, k):
    train, test, y_train, y_test = wine
    model = make_pipeline(StandardScaler(), CalibratedSearch(LinearSVC(), cv=3))
    model.fit(train[y_train < k], y_train[y_train < k])
    kept = test[y_test < k]
    assert pr.pandora_regret(y_test[y_test < k], model.predict_proba(kept)) < 0.1
    np.testing.assert_array_equal(model.predict(kept), model.classes_[model.predict_proba(kept).argmax(axis=1)])


def test_a_class_of_one_row_and_names_of_classes_reach_the_folds(wine):
    train, test, y_train, _ = wine
    names = np.array(["a", "b", "c"], dtype=object)[y_train % 2]
    names[0] = "c"  # some fold has two classes only
    for classifier in (LinearSVC(), LogisticRegression(max_iter=5000, class_weight={"a": 2, "b": 1, "c": 1})):
        forecasts = (
            CalibratedSearch(make_pipeline(StandardScaler(), classifier)).fit(train, names).predict_proba(test)
        )
        assert forecasts.shape == (len(test), 3)
        assert (forecasts.argmax(axis=1) < 2).all()


def test_weights_reach_the_classifier_that_takes_them(wine):
    train, test, y_train, _ = wine
    weights = np.where(y_train == 0, 5.0, 1.0)
    weighed = CalibratedSearch(GaussianNB()).fit(train, y_train, sample_weight=weights)
    assert weighed.estimator_.class_prior_[0] > 0.6
    neighbours = CalibratedSearch(KNeighborsClassifier()).fit(train, y_train, sample_weight=weights)
    assert not np.allclose(
        neighbours.predict_proba(test),
        CalibratedSearch(KNeighborsClassifier()).fit(train, y_train).predict_proba(test),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "isotonic"}, r"method is 'isotonic': "),
        ({"cv": 1}, "cv is 1"),
        ({"objective": "search"}, "'search' and .*'vector'"),
    ],
)
def test_wrong_parameters_are_named(wine, options, message):
    with pytest.raises(pr.InputError, match=message):
        CalibratedSearch(GaussianNB(), **options).fit(wine[0], wine[2])


def test_without_scikit_learn_one_line_says_what_to_install(monkeypatch):
    monkeypatch.delattr(calibrate, "TemperatureScaling", raising=False)  # kept since it was first asked for
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"'pandora-regret\[zoo\]'"):
        calibrate.TemperatureScaling  # noqa: B018
    assert callable(calibrate.decompose)


class Remembers(DummyClassifier):
    """A classifier that is sure of any row it has seen, and knows nothing of others."""

    def fit(self, X, y):
        super().fit(X, y)
        self.seen_ = {tuple(row): label for row, label in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X):
        known = [self.seen_.get(tuple(row)) for row in X]
        return np.array([[0.5, 0.5] if label is None else np.eye(2)[label] for label in known])


@pytest.mark.parametrize("cv", [5, GroupKFold(5)])
def test_no_row_is_calibrated_by_a_model_that_saw_its_group(cv):
    """Two identical images per patient: a model that remembers them looks perfect unless patients stay whole."""
    rng = np.random.default_rng(0)
    patients, truth = np.repeat(np.arange(40), 2), np.repeat(rng.integers(0, 2, 40), 2)
    images = np.repeat(rng.normal(size=(40, 2)), 2, axis=0)
    model = CalibratedSearch(Remembers(), method="temperature", cv=cv)
    assert model.fit(images, truth, groups=patients).calibrator_.temperature_ == 1
    if cv == 5:
        assert model.fit(images, truth).calibrator_.temperature_ < 0.1

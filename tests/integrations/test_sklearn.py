"""Scorers in scikit-learn's own hands: folds that lack a class, weights with and without routing, many metrics."""

import pickle

import numpy as np
import pytest
from refusals import refused

import pandora_regret as pr
from pandora_regret.core.inputs import InputError

pytest.importorskip("sklearn")

from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    PredefinedSplit,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pandora_regret.integrations.sklearn import (
    neg_pandora_regret_scorer,
    pandora_regret_scorer,
    search_cost_scorer,
)

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
PRICES = {"virginica": 400.0, "setosa": 100.0, "versicolor": 200.0}


@pytest.fixture(scope="module")
def model():
    return GaussianNB().fit(X[::2], NAMES[Y[::2]])


def test_a_scorer_is_minus_the_score(model):
    proba, truth = model.predict_proba(X), NAMES[Y]
    assert neg_pandora_regret_scorer(model, X, truth) == -pr.pandora_regret(truth, proba, labels=NAMES)
    half = pandora_regret_scorer(alpha=0.5)(model, X, truth)
    assert half == -pr.pandora_regret(truth, proba, labels=NAMES, alpha=0.5)
    cost = pr.expected_search_cost(truth, proba, labels=NAMES, costs=PRICES, prior=pr.Gamma(2.0))
    assert search_cost_scorer(costs=PRICES, prior=pr.Gamma(2.0))(model, X, truth) == -cost


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_and_text_labels(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({f"f{at}": X[:, at] for at in range(4)})
    labels = frames.Series(NAMES[Y].tolist())
    model = make_pipeline(StandardScaler(), LogisticRegression())
    scorer = search_cost_scorer(costs=PRICES)
    scores = cross_val_score(model, frame, labels, scoring=scorer, error_score="raise")
    plain = cross_val_score(model, X, NAMES[Y], scoring=scorer)
    np.testing.assert_allclose(scores, plain)


def test_a_class_the_training_fold_lacks_is_impossible_to_the_estimator():
    fold = np.where(Y == 2, 0, np.arange(len(Y)) % 2)  # class 2 stands in fold 0 alone
    scores = cross_val_score(
        GaussianNB(), X, Y, cv=PredefinedSplit(fold), scoring=neg_pandora_regret_scorer, error_score="raise"
    )
    lacking = GaussianNB().fit(X[fold == 1], Y[fold == 1])
    table = np.column_stack([lacking.predict_proba(X[fold == 0]), np.zeros((fold == 0).sum())])
    assert scores[0] == pytest.approx(-pr.pandora_regret(Y[fold == 0], table))
    assert np.isfinite(scores).all()


def test_classes_that_costs_name_exist_in_every_fold():
    few = GaussianNB().fit(X[Y < 2], NAMES[Y[Y < 2]])
    proba = np.column_stack([few.predict_proba(X), np.zeros(len(X))])
    cost = pr.expected_search_cost(NAMES[Y], proba, labels=NAMES, costs=PRICES)
    assert search_cost_scorer(costs=PRICES)(few, X, NAMES[Y]) == pytest.approx(-cost)
    only = X[Y == 0], NAMES[Y[Y == 0]]
    labels = pandora_regret_scorer(labels=NAMES)
    assert labels(few, *only) == pytest.approx(-pr.pandora_regret(only[1], proba[Y == 0], labels=NAMES))


def test_a_class_that_labels_leave_out_is_named(model):
    with refused(says="['virginica']"):
        search_cost_scorer(labels=["setosa", "versicolor"])(model, X, NAMES[Y])


def test_several_metrics_share_one_forecast(monkeypatch):
    calls = []
    forecast = KNeighborsClassifier.predict_proba

    def predict_proba(self, X):
        calls.append(len(X))
        return forecast(self, X)

    monkeypatch.setattr(KNeighborsClassifier, "predict_proba", predict_proba)
    scoring = {"regret": neg_pandora_regret_scorer, "cost": search_cost_scorer(), "log": "neg_log_loss"}
    scores = cross_validate(KNeighborsClassifier(15), X, Y, scoring=scoring, cv=StratifiedKFold(3))
    assert len(calls) == 3
    np.testing.assert_allclose(-scores["test_cost"], (1 - 2 * scores["test_regret"]) / 2)


def test_grid_search():
    scorer = search_cost_scorer(costs=PRICES)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 40]}, scoring=scorer, cv=3).fit(X, NAMES[Y])
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() < -233
    assert clone(search).scoring(search.best_estimator_, X, NAMES[Y]) == search.score(X, NAMES[Y])


def test_weights_with_routing():
    weights = np.where(Y == 2, 30.0, 1.0)
    cv = StratifiedKFold(3)
    with config_context(enable_metadata_routing=True):
        scorer = pandora_regret_scorer().set_score_request(sample_weight=True)
        model = GaussianNB().set_fit_request(sample_weight=False)
        weighed = cross_val_score(model, X, Y, scoring=scorer, cv=cv, params={"sample_weight": weights})
        other = search_cost_scorer().set_score_request(sample_weight=False)
        several = cross_validate(
            model, X, Y, scoring={"weighed": scorer, "plain": other}, cv=cv, params={"sample_weight": weights}
        )
    by_hand = []
    for train, test in cv.split(X, Y):
        proba = GaussianNB().fit(X[train], Y[train]).predict_proba(X[test])
        by_hand.append(-pr.pandora_regret(Y[test], proba, sample_weight=weights[test]))
    np.testing.assert_allclose(weighed, by_hand)
    np.testing.assert_allclose(several["test_weighed"], by_hand)
    np.testing.assert_allclose(
        several["test_plain"], cross_val_score(GaussianNB(), X, Y, scoring=search_cost_scorer(), cv=cv)
    )


def test_scorers_are_picklable_and_say_what_they_score(model):
    scorer = search_cost_scorer(costs=PRICES, prior=pr.Gamma(2.0))
    again = pickle.loads(pickle.dumps(scorer))
    assert again(model, X, NAMES[Y]) == scorer(model, X, NAMES[Y])
    assert "expected_search_cost" in repr(scorer)
    assert "Gamma(shape=2.0)" in repr(scorer)
    assert get_scorer(neg_pandora_regret_scorer) is neg_pandora_regret_scorer


@pytest.mark.parametrize("makes_scorers", [pandora_regret_scorer, search_cost_scorer])
def test_what_makes_scorers_says_so_where_it_is_taken_for_one_and_scores(makes_scorers):
    """An error would become a score of NaN: scikit-learn swallows it."""
    with pytest.warns(UserWarning, match=rf"scoring={makes_scorers.__name__}\(\)"):
        scores = cross_val_score(GaussianNB(), X, Y, scoring=makes_scorers)
    np.testing.assert_array_equal(scores, cross_val_score(GaussianNB(), X, Y, scoring=makes_scorers()))
    with pytest.raises(TypeError):
        makes_scorers(0.5)


@pytest.mark.parametrize("labels", [None, NAMES])
def test_a_class_without_a_price_is_named(labels):
    scorer = search_cost_scorer(costs={"setosa": 100.0, "virginica": 400.0}, labels=labels)
    with pytest.raises(InputError) as caught:
        scorer(GaussianNB().fit(X, NAMES[Y]), X, NAMES[Y])
    assert (caught.value.argument, caught.value.value) == ("costs", ["versicolor"])
    with pytest.warns(UserWarning, match="versicolor"):
        scores = cross_val_score(GaussianNB(), X, NAMES[Y], scoring=scorer)
    assert np.isnan(scores).all()

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import train_test_split

from pandora_regret import expected_search_cost, pandora_regret
from pandora_regret.integrations.boosting import (
    LightGBMMetric,
    SearchObjective,
    XGBoostMetric,
    predict_proba,
)

xgb = pytest.importorskip("xgboost", reason="XGBoost is not installed")
lgb = pytest.importorskip("lightgbm", reason="LightGBM is not installed")

QUIET = {"nthread": 1, "verbosity": 0, "min_child_weight": 0.1, "max_depth": 3}
SILENT = {"num_threads": 1, "verbose": -1, "min_data_in_leaf": 5}


def wine():
    X, y = load_wine(return_X_y=True)
    return train_test_split(X, y, random_state=0, stratify=y)


# XGBoost


def xgb_booster(X, y, rounds=30, weight=None, params=(), **options):
    params = QUIET | {"num_class": int(max(y)) + 1, "disable_default_eval_metric": 1} | dict(params)
    return xgb.train(params, xgb.DMatrix(X, y, weight=weight), rounds, verbose_eval=False, **options)


def test_xgboost_stops_early_by_search_cost_and_predictions_use_the_best_round():
    X, X_test, y, y_test = wine()
    X = np.random.default_rng(0).permuted(X, axis=1)  # hardly anything to learn
    data = xgb.DMatrix(X_test, y_test)
    model = xgb_booster(
        X, y, 200, obj=SearchObjective(), custom_metric=XGBoostMetric(), evals=[(data, "test")],
        early_stopping_rounds=5,
    )  # fmt: skip
    assert model.best_iteration < 190
    assert model.num_boosted_rounds() == model.best_iteration + 6
    forecast = predict_proba(model, X_test)
    assert expected_search_cost(y_test, forecast) == pytest.approx(model.best_score, rel=1e-6)
    np.testing.assert_array_equal(forecast, predict_proba(model, data))


def test_xgboost_classifier_takes_objective_and_metric_and_forecasts_by_softmax():
    X, X_test, y, y_test = wine()
    model = xgb.XGBClassifier(
        objective=SearchObjective(alpha=0.5), eval_metric=XGBoostMetric(), n_estimators=30,
        disable_default_eval_metric=1, **QUIET,
    )  # fmt: skip
    model.fit(X, y, eval_set=[(X_test, y_test)], verbose=False)
    forecast = model.predict_proba(X_test)
    np.testing.assert_allclose(predict_proba(model, X_test), forecast, atol=1e-6)
    assert model.evals_result()["validation_0"]["search_cost"][-1] == pytest.approx(
        expected_search_cost(y_test, forecast), rel=1e-5
    )
    assert (model.predict(X_test) == y_test).mean() > 0.9
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X_test), forecast)


# LightGBM


def lgb_booster(X, y, rounds=30, weight=None, objective=None, params=(), **options):
    params = SILENT | {"num_class": int(max(y)) + 1, "objective": objective, "metric": "None"} | dict(params)
    return lgb.train(params, lgb.Dataset(X, y, weight=weight), rounds, **options)


def test_lightgbm_stops_early_by_search_cost_and_predictions_use_the_best_round():
    X, X_test, y, y_test = wine()
    X = np.random.default_rng(0).permuted(X, axis=1)
    model = lgb_booster(
        X, y, 300, objective=SearchObjective(), feval=LightGBMMetric(), valid_sets=[lgb.Dataset(X_test, y_test)],
        callbacks=[lgb.early_stopping(5, verbose=False)],
    )  # fmt: skip
    assert model.best_iteration < 290
    cost = expected_search_cost(y_test, predict_proba(model, X_test))
    assert cost == pytest.approx(model.best_score["valid_0"]["search_cost"], rel=1e-6)


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")  # its successor is newer than 4.0
def test_lightgbm_classifier_takes_names_and_predict_proba_applies_the_softmax():
    X, X_test, y, y_test = wine()
    names = np.array(["barolo", "grignolino", "barbera"])
    model = lgb.LGBMClassifier(objective=SearchObjective(alpha=0.5), n_estimators=40, n_jobs=1, verbose=-1)
    model.fit(X, names[y], eval_set=[(X_test, names[y_test])], eval_metric=LightGBMMetric())
    forecast = predict_proba(model, X_test)
    np.testing.assert_allclose(forecast.sum(axis=1), 1)
    assert (model.classes_[forecast.argmax(axis=1)] == names[y_test]).mean() > 0.9
    last = model.evals_result_["valid_0"]["search_cost"][-1]
    assert last == pytest.approx(expected_search_cost(names[y_test], forecast, labels=model.classes_), rel=1e-6)


# Both


def blurred():
    """Classes that overlap, so that no two splits are equally good."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    return X, (X[:, :1] + rng.normal(0, 1, (300, 3)) * [0.5, 1, 2]).argmax(axis=1)


def forecasts_of_both(X, y, rounds, weight=None, rows=slice(None), *, penalty=1.0, **options):
    """Forecasts of both libraries, without what depends on how many rows there are; penalties times a factor."""
    objective = SearchObjective(**options)
    train = (X[rows], y[rows])
    penalties = {"max_bin": 512, "min_child_weight": 5 * penalty, "lambda": penalty}
    yield predict_proba(xgb_booster(*train, rounds, weight, penalties, obj=objective), X)
    exact = {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 5 * penalty, "max_bin": 512}
    yield predict_proba(lgb_booster(*train, rounds, weight, objective, exact | {"num_leaves": 6}), X)


def test_a_weight_of_three_counts_as_three_rows():
    X, y = blurred()
    weight = np.random.default_rng(1).integers(1, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    as_weights = forecasts_of_both(
        X, y, 3, weight, penalty=len(y) / len(rows)
    )  # weights count relative to their mean
    as_rows = forecasts_of_both(X, y, 3, rows=rows)
    for weighted, repeated in zip(as_weights, as_rows, strict=True):
        np.testing.assert_allclose(weighted, repeated, atol=1e-5)


@pytest.mark.parametrize("native", [True, False])
def test_two_classes_are_trained_by_two_scores_or_by_one(native):
    X, X_test, y, y_test = train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)
    options = {"objective": SearchObjective(), "n_estimators": 40, "n_jobs": 1}
    if native:
        models = [
            xgb_booster(X, y, 40, obj=SearchObjective()),
            lgb_booster(X, y, 60, objective=SearchObjective()),
        ]
    else:
        models = [
            xgb.XGBClassifier(**options, max_depth=3, eval_metric=XGBoostMetric(), disable_default_eval_metric=1),
            lgb.LGBMClassifier(**options, verbose=-1),
        ]
        models = [model.fit(X, y) for model in models]
    for model in models:
        forecast = predict_proba(model, X_test)
        assert forecast.shape == (len(y_test), 2)
        assert pandora_regret(y_test, forecast) < 0.1

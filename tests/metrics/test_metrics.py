"""The study's metrics against scikit-learn, by hand where it has none, and resamples against duplicated rows."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from refusals import refused

from pandora_regret import Exponential, InputError, Uniform, expected_search_cost, pandora_regret
from pandora_regret.core.decisions import ClassCounts
from pandora_regret.core.inputs import InputTypeError, read_forecast
from pandora_regret.core.kernels import engine
from pandora_regret.metrics import (
    METRICS,
    Metric,
    read_metric,
    read_metrics,
    registry,
    rows_of_metrics,
)

COSTS = [3.0, 1.0, 2.0]


@st.composite
def samples(draw, ties=None):
    """True classes, forecasts (with ties if asked for) and whole weights, every class among those that count."""
    n, k = draw(st.integers(6, 40)), 3
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    coarse = draw(st.booleans()) if ties is None else ties
    odds = rng.integers(1, 4, (n, k)).astype(float) if coarse else rng.exponential(size=(n, k))
    truth, weights = rng.integers(0, k, n), rng.integers(0, 4, n).astype(float)
    truth[:k], weights[:k] = np.arange(k), 1.0
    return truth, odds / odds.sum(axis=1, keepdims=True), weights


def with_sklearn(key):
    """The same metric in scikit-learn."""
    from sklearn import metrics

    def labels(score, **given):
        return lambda truth, proba, weights: score(truth, proba.argmax(1), sample_weight=weights, **given)

    def probabilities(score, **given):
        return lambda truth, proba, weights: score(truth, proba, sample_weight=weights, **given)

    def auroc(truth, proba, weights):
        areas = [metrics.roc_auc_score(truth == k, proba[:, k], sample_weight=weights) for k in range(3)]
        return np.mean(areas)

    return {
        "log_loss": probabilities(metrics.log_loss, labels=[0, 1, 2]),
        "accuracy": labels(metrics.accuracy_score),
        "macro_f1": labels(partial(metrics.f1_score, average="macro", zero_division=0.0)),
        "auroc": auroc,
    }[key]


@pytest.mark.parametrize("key", ["log_loss", "accuracy", "macro_f1", "auroc"])
@given(sample=samples())
def test_metrics_are_those_of_scikit_learn(key, sample):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    truth, proba, weights = sample
    ours = METRICS[key](truth, proba, sample_weight=weights)
    kept = weights > 0  # scikit-learn's F1 counts a class that is only predicted with weight 0
    assert_allclose(ours, with_sklearn(key)(truth[kept], proba[kept], weights[kept]), rtol=1e-12)


@given(samples())
def test_scores_of_search_are_the_librarys_own(sample):
    truth, proba, weights = sample
    for key, alpha in [("pandora_regret", 1.0), ("beta_0", 0.0), ("beta_0.3", 0.3), ("beta_inf", np.inf)]:
        expected = pandora_regret(truth, proba, alpha=alpha, sample_weight=weights)
        assert_allclose(METRICS[key](truth, proba, sample_weight=weights), expected, rtol=1e-12)
    pairwise = expected_search_cost(truth, proba, prior=Exponential(), sample_weight=weights)
    assert_allclose(METRICS["pairwise_brier"](truth, proba, sample_weight=weights), pairwise, rtol=1e-12)
    priced = expected_search_cost(truth, proba, costs=COSTS, sample_weight=weights)
    assert_allclose(METRICS["cost_weighted"](truth, proba, costs=COSTS, sample_weight=weights), priced, rtol=1e-12)


@given(samples())
def test_metrics_of_rows_are_those_of_each_alone(sample):
    truth, proba, weights = sample
    forecast = read_forecast(truth, proba, sample_weight=weights).check().with_costs(np.array(COSTS))
    metrics = [metric for metric in METRICS.values() if metric.is_mean]
    together = rows_of_metrics(METRICS.values(), forecast, Uniform())
    assert list(together) == [metric.key for metric in metrics]
    for metric in metrics:
        assert_allclose(together[metric.key], metric.of_rows(forecast, Uniform()), rtol=1e-15)


def test_the_excess_burden_takes_no_second_pass(monkeypatch):
    passes = []
    monkeypatch.setattr(registry, "total_losses", lambda *given: passes.append(1) or engine.total_losses(*given))
    forecast = read_forecast([0, 2], [[0.5, 0.25, 0.25]] * 2).check()
    rows = rows_of_metrics([METRICS["pandora_regret"], METRICS["excess_burden"]], forecast, Uniform())
    assert passes == [1]
    assert_allclose(rows["excess_burden"], 2 * rows["pandora_regret"])


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("brier", (0.25 + 0.09 + 0.04 + 0.36 + 0.36 + 0) / 2),
        ("spherical", (0.5 / np.sqrt(0.38) + 0.4 / np.sqrt(0.52)) / 2),
        ("ranked_probability", (0.25 / 2 + 0.04 / 2 + 0.36 / 2) / 2),
        ("mrr", (1 + 1 / 2) / 2),
        ("top_2", 1.0),
        ("ece", 0.5 / 2 + 0.6 / 2),
    ],
)
def test_metrics_by_hand(key, expected):
    truth, proba = [0, 1], [[0.5, 0.3, 0.2], [0.6, 0.4, 0.0]]
    assert_allclose(METRICS[key](truth, proba), expected, rtol=1e-12)


def test_log_loss_with_a_floor_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    truth = np.array([0, 1, 2, 2])
    proba = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.5, 0.5 - 1e-300, 1e-300]])
    assert METRICS["log_loss"](truth, proba) == np.inf
    assert_allclose(METRICS["clipped_log_loss"](truth, proba), metrics.log_loss(truth, proba), rtol=1e-12)
    raised = np.maximum(proba[np.arange(4), truth], 0.01)
    by_hand = -np.log(np.minimum(raised, 0.99)).mean()
    assert_allclose(read_metric("clipped_log_loss_0.01")(truth, proba), by_hand, rtol=1e-12)
    with pytest.raises(InputError, match="clipped_log_loss_<floor>"):
        read_metric("clipped_log_loss_0.5")


def test_macro_f1_over_all_classes_counts_those_that_are_neither_true_nor_named():
    truth, proba = np.array([0, 0, 1]), np.array([[0.7, 0.3, 0, 0], [0.6, 0.4, 0, 0], [0.2, 0.3, 0.5, 0]])
    assert_allclose(METRICS["macro_f1"](truth, proba), (1 + 0 + 0) / 3)  # the third is named, the fourth is not
    assert_allclose(METRICS["macro_f1_all"](truth, proba), (1 + 0 + 0 + 0) / 4)
    assert_allclose(METRICS["macro_f1_all"](truth, proba), ClassCounts.of(truth, proba).all_class_f1)


def test_classes_absent_from_a_resample_are_left_out():
    truth, proba = np.array([0, 1, 2]), np.array([[0.6, 0.2, 0.2], [0.5, 0.4, 0.1], [0.1, 0.2, 0.7]])
    two = np.array([[1.0, 1.0, 0.0]])
    assert_allclose(METRICS["auroc"].of_models(truth, proba[None], two), [[1.0]])
    assert_allclose(METRICS["macro_f1"].of_models(truth, proba[None], two), [[(2 / 3 + 0) / 2]])
    one = np.array([[0.0, 0.0, 1.0]])
    assert METRICS["auroc"].of_models(truth, proba[None], one) == 0.5  # nothing to tell apart
    assert METRICS["macro_f1"].of_models(truth, proba[None], one) == 1


@pytest.mark.slow
@pytest.mark.parametrize("key", list(METRICS))
@given(sample=samples(), compiled=st.booleans())
def test_a_resample_by_weights_is_one_of_duplicated_rows(key, sample, compiled):
    truth, proba, weights = sample
    again, metric = np.repeat(np.arange(len(truth)), weights.astype(int)), METRICS[key]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_COMPILING", 0 if compiled else np.inf)
        resampled = np.stack([np.ones(len(truth)), weights])
        values = metric.of_models(truth, np.stack([proba, proba[::-1]]), resampled, np.array(COSTS))
        assert values.shape == (2, 2)
        assert_allclose(values[0, 0], metric(truth, proba, costs=COSTS), rtol=1e-12, atol=1e-15)
        duplicated = metric(truth[again], proba[again], costs=COSTS)
        assert_allclose(values[0, 1], duplicated, rtol=1e-12, atol=1e-15)
        reversed_rows = metric(truth, proba[::-1], costs=COSTS)
        assert_allclose(values[1, 0], reversed_rows, rtol=1e-12, atol=1e-15)


def surprise(truth, proba):
    return 1 - proba[np.arange(len(truth)), truth]


MINE = Metric("mine", "Mine", "lower", rows=surprise)


def test_metrics_are_read_from_keys_names_and_tables(monkeypatch):
    import sys
    from types import ModuleType

    module = ModuleType("metrics_of_mine")
    module.MINE, module.surprise = MINE, surprise
    monkeypatch.setitem(sys.modules, "metrics_of_mine", module)
    assert read_metric("metrics_of_mine:MINE") is MINE
    table = {"key": "mine", "title": "Mine", "better": "lower", "rows": "metrics_of_mine:surprise"}
    assert read_metric(table) == MINE
    assert read_metric("accuracy") is METRICS["accuracy"]
    expected = pandora_regret([0], [[0.2, 0.8]], alpha=0.7)
    assert read_metric("beta_0.7")([0], [[0.2, 0.8]]) == expected
    assert read_metric("top_4").key == "top_4"


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        ("acuracy", {"argument": "metric", "value": "acuracy"}),
        ("beta_x", {"argument": "metric", "value": "beta_x"}),
        ("top_0", {"argument": "metric", "value": "top_0"}),
        ("no_such_module:metric", {"argument": "metric", "says": "No module"}),
        ("math:no_such_name", {"argument": "metric", "value": "math:no_such_name"}),
        ("math:pi", {"kind": InputTypeError, "argument": "metric"}),
        ({"key": "mine", "rows": "math:pi"}, {"argument": "metric", "value": ["key", "rows"]}),
        ({"key": "m", "title": "M", "better": "lower"}, {"argument": "rows", "place": "metric 'm'"}),
        (
            {"key": "m", "title": "M", "better": "lower", "rows": "math:pi"},
            {"argument": "rows", "place": "metric 'm'"},
        ),
        (
            {"key": "m", "title": "M", "better": "more", "rows": "math:sin"},
            {"argument": "better", "value": "more"},
        ),
    ],
)
def test_a_metric_that_makes_no_sense_is_explained(wrong, fields):
    with refused(**fields):
        read_metric(wrong)


def test_what_a_metric_gives_is_checked():
    with refused(InputTypeError, argument="metrics", value="accuracy"):
        read_metrics("accuracy")
    with pytest.raises(InputError, match="'accuracy' twice"):
        read_metrics(["accuracy", "accuracy"])
    with refused(argument="rows", value=(2, 2)):
        Metric("m", "M", "lower", rows=lambda truth, proba: proba)([0, 1], [[0.5, 0.5]] * 2)
    with pytest.raises(InputError, match="'m' NaN"):
        Metric("m", "M", "lower", rows=lambda truth, proba: np.array([0.0, np.nan]))([0, 1], [[0.5, 0.5]] * 2)
    with refused(argument="values", says="NaN"):
        Metric("m", "M", "lower", values=lambda truth, proba, w: np.full(len(w), np.nan))([0], [[0.5, 0.5]])

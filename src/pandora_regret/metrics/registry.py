"""The metrics: their formulas, and below these all of them by key, reported of a model or to rank models by.

To add one, put it into `METRICS`; ``shown_in`` says whether comparisons, studies or both show it.

Ties: costs and numbers of tests are means over the orders of tests that tie, so that the order of columns does
not matter. The class of highest probability (accuracy, macro-F1, calibration error) and the rank of the truth
(top-k, MRR) go by column among equals, as in scikit-learn: so accuracy is top-1, and top-k and MRR see the same
ranks.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.decisions.label_metrics import place_of_truth
from pandora_regret.core.inputs import (
    LEAST_NORMAL,
    Fields,
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    read_alpha,
    read_labels,
)
from pandora_regret.core.kernels.engine import (
    in_threads,
    realised_costs,
    search_costs,
    total_losses,
    worth_compiling,
)
from pandora_regret.core.kernels.reference import BROKEN_AT_RANDOM, at_mean_costs, at_truth, rank_odds
from pandora_regret.core.priors import Exponential, Prior
from pandora_regret.metrics.base import FORMS, Metric

if TYPE_CHECKING:
    from pandora_regret.workup import Workup

BASELINE = "pandora_regret"  # what every other metric is compared with
STUDIED_ALPHAS = (0.0, 0.3, 3.0, np.inf)
LOG_LOSS_FLOOR = float(np.finfo(np.float64).eps)  # below which scikit-learn's log loss lets no probability fall
CONFIDENCE_BINS = 15  # of the calibration error
NO_SKILL = 0.5  # where only one class is left, and there is nothing to tell apart


def beta_score(alpha: float, forecast: Forecast, prior: Prior) -> FloatArray:
    """``S_alpha``, the mean loss per wrong class under uniform costs; Pandora's Regret at alpha 1."""
    return _values_of_rows(total_losses(forecast.with_costs(None), alpha)) / (3 * (forecast.n_classes - 1))


def excess_burden(forecast: Forecast, prior: Prior) -> FloatArray:
    """``(K - 1) S_1``: what is expected to be spent on wrong tests, as a share of what an oracle pays.

    Under uniform costs up to 1 an oracle pays 1/2, so this is twice the waste: 0.25 where 0.125 is wasted.
    """
    return beta_score(1.0, forecast, prior) * (forecast.n_classes - 1)


def expected_cost(forecast: Forecast, prior: Prior) -> FloatArray:
    """What the search is expected to cost."""
    return _values_of_rows(search_costs(forecast, prior))


def pairwise_brier(forecast: Forecast, prior: Prior) -> FloatArray:
    """The expected cost of a search under exponential costs."""
    return expected_cost(forecast.with_costs(None), Exponential())


def realised_cost(forecast: Forecast, prior: Prior) -> FloatArray:
    """What the search at the mean costs pays, on average over the orders of tests that tie."""
    forecast, unit = at_mean_costs(forecast, prior)
    return unit * _values_of_rows(realised_costs(forecast, BROKEN_AT_RANDOM))


def number_of_tests(forecast: Forecast, prior: Prior) -> FloatArray:
    """How many tests the search at the mean costs makes, on average over the orders of tests that tie."""
    places = []
    for block in at_mean_costs(forecast, prior)[0].blocks():
        odds = rank_odds(block)
        ties = (odds == 0).sum(axis=1) - 1  # without the truth itself
        places.append(1.0 + (odds < 0).sum(axis=1) + ties / 2)
    return np.concatenate(places)


def log_loss(forecast: Forecast, prior: Prior) -> FloatArray:
    """``-ln p_i``; infinite where the truth was held to be impossible: nothing is clipped.

    From logits without their softmax, which may underflow.
    """
    losses = []
    for block in forecast.blocks():
        if block.logits:
            from scipy.special import log_softmax

            logs = at_truth(block, log_softmax(block.values, axis=1))
        else:
            of_truth = at_truth(block, block.values)
            is_possible = of_truth > LEAST_NORMAL  # which stands for a 0 that a list of candidates names
            with np.errstate(divide="ignore"):
                logs = np.log(np.where(is_possible, of_truth, 0.0))
        losses.append(0.0 - logs)
    return np.concatenate(losses)


def clipped_log_loss(floor: float, truth: IntArray, proba: FloatArray) -> FloatArray:
    """``-ln p_i`` with p_i between `floor` and ``1 - floor``: never infinite.

    With the floor 2.2e-16 it is what scikit-learn's ``log_loss`` computes in double precision.
    """
    of_truth = proba[np.arange(len(truth)), truth]
    return np.asarray(-np.log(np.clip(of_truth, floor, 1 - floor)))


def accuracy(forecast: Forecast, prior: Prior) -> FloatArray:
    """Whether the likeliest class is the truth."""
    return np.asarray(forecast.values.argmax(axis=1) == forecast.truth, dtype=np.float64)


def brier(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (p_k - 1(k = i))^2``."""
    errors = proba.copy()
    errors[np.arange(len(truth)), truth] -= 1
    return np.asarray((errors**2).sum(axis=1))


def _values_of_rows(scored: Iterable[tuple[Forecast, FloatArray]]) -> FloatArray:
    """The values of all rows, (N,), from rows and their values, some at a time."""
    return np.concatenate([values for _, values in scored])


def spherical(truth: IntArray, proba: FloatArray) -> FloatArray:
    """The share of the truth in the forecast's length, ``p_i / |p|``, (N,)."""
    return np.asarray(proba[np.arange(len(truth)), truth] / np.sqrt((proba**2).sum(axis=1)))


def ranked_probability(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (P_k - 1(k >= i))^2 / (K - 1)``, P the cumulative forecast: classes in column order."""
    n_classes = proba.shape[1]
    steps = np.arange(n_classes - 1) >= truth[:, None]
    return np.asarray(((np.cumsum(proba[:, :-1], axis=1) - steps) ** 2).sum(axis=1) / (n_classes - 1))


def reciprocal_rank(truth: IntArray, proba: FloatArray) -> FloatArray:
    """One over the place of the truth."""
    return 1 / place_of_truth(truth, proba)


def found_in_top(k: int, truth: IntArray, proba: FloatArray) -> FloatArray:
    """Whether the truth is among the k classes of highest probability."""
    return np.asarray(place_of_truth(truth, proba) <= k, dtype=np.float64)


def macro_f1(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """scikit-learn's ``f1_score(average="macro")``: ``2 right / (occurs + named)``, averaged over classes.

    A class that neither occurs nor is predicted does not count, so models that name different classes are averaged
    over different numbers of classes.
    """
    counted = occurs + named > 0
    return np.asarray(class_f1(occurs, named, right).sum(axis=-1) / counted.sum(axis=-1))


def macro_f1_of_all(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """The paper's macro-F1: the F1 of each class, averaged over all K; 0 for one that is not true or named."""
    return np.asarray(class_f1(occurs, named, right).mean(axis=-1))


def class_f1(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """``2 right / (occurs + named)`` of each class, (..., K), and 0 where there is nothing to divide by."""
    size = occurs + named
    return np.divide(2 * right, size, out=np.zeros(size.shape), where=size > 0)


def macro_f1_gradient(occurs: FloatArray, named: FloatArray, right: FloatArray) -> FloatArray:
    """Derivatives by `occurs`, `named` and `right`, (3, K), while the classes that count stay the same."""
    size = np.where(occurs + named > 0, occurs + named, np.inf)
    counted = (occurs + named > 0).sum()
    loss = -2 * right / size**2
    return np.asarray(np.stack([loss, loss, 2 / size]) / counted)


def top_label_errors(truth: IntArray, proba: FloatArray) -> FloatArray:
    """Right or not minus confidence, in the column of the confidence's bin: [0, 1/15), ..., [14/15, 1]."""
    confidence = proba.max(axis=1)
    predicted = proba.argmax(axis=1)
    bins = np.minimum((confidence * CONFIDENCE_BINS).astype(np.intp), CONFIDENCE_BINS - 1)
    return np.asarray(np.eye(CONFIDENCE_BINS)[bins] * ((predicted == truth) - confidence)[:, None])


def calibration_error(means: FloatArray) -> FloatArray:
    """``sum_b |mean of bin b's errors|``: each bin weighted by how many instances it holds."""
    return np.asarray(np.abs(means).sum(axis=-1))


def macro_auroc(truth: IntArray, proba: FloatArray, weights: FloatArray) -> FloatArray:
    """The chance that a class's instance scores higher than another's, averaged over classes; a tie is one half.

    Under every row of weights, (R, N): (R,). The average is over classes that have both instances and others, and
    1/2 if there are none. Instances are sorted once, their weights summed along the way.
    """
    order = np.argsort(proba.T, axis=1)
    scores = np.take_along_axis(proba.T, order, axis=1)
    areas = np.zeros(len(weights))
    defined = np.zeros(len(weights))  # classes that have instances and others
    if worth_compiling(order.size * len(weights)):
        from pandora_regret.metrics.auroc_loops import add_aurocs

        def add(part: slice) -> None:
            add_aurocs(order, scores, truth, weights[part], areas[part], defined[part])

        in_threads(add, len(areas), order.size * len(areas))
    else:
        for k in range(len(order)):
            is_k = truth[order[k]] == k
            right, pairs = _ordered_pairs(scores[k], is_k, weights[:, order[k]])
            areas += np.divide(right, pairs, out=np.zeros_like(right), where=pairs > 0)
            defined += pairs > 0
    return np.asarray(np.divide(areas, defined, out=np.full(len(weights), NO_SKILL), where=defined > 0))


def _ordered_pairs(
    scores: FloatArray, is_of_class: NDArray[np.bool_], weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Pairs of an instance of a class and one of another: in how many the former scores higher, and how many.

    Both (R,), from sorted scores, (N,), and the instances' weights, (R, N). A tie is half a pair.
    """
    own = weights * is_of_class
    others = weights - own
    others_up_to = np.insert(np.cumsum(others, axis=1), 0, 0.0, axis=1)  # (R, N + 1): among the first n instances
    first_equal = np.searchsorted(scores, scores, "left")
    after_equal = np.searchsorted(scores, scores, "right")
    others_below = (others_up_to[:, first_equal] + others_up_to[:, after_equal]) / 2
    return (own * others_below).sum(axis=1), own.sum(axis=1) * others.sum(axis=1)


_lower_is_better = partial(Metric, bounds=(0.0, np.inf))
_share = partial(Metric, unit="share", bounds=(0.0, 1.0))
_cost = partial(Metric, unit="money", bounds=(0.0, np.inf), priced=True)
EVERYWHERE = ("comparison", "study")
COMPARISON = ("comparison",)


def _beta(alpha: float) -> Metric:
    """The Beta score of an alpha, as a metric."""
    rows = partial(beta_score, alpha)
    return _lower_is_better(f"beta_{alpha:g}", f"Beta score, α = {alpha:g}", "lower", of_forecast=rows)


def _clipped(floor: float, key: str = "", title: str = "") -> Metric:
    """The log loss of probabilities that are raised to a floor, as a metric."""
    rows = partial(clipped_log_loss, floor)
    key = key or f"clipped_log_loss_{floor:g}"
    return _lower_is_better(key, title or f"Log loss, clipped at {floor:g}", "lower", rows)


def _top(k: int) -> Metric:
    """The share of truths among the k likeliest classes, as a metric."""
    return _share(f"top_{k}", f"Top-{k} accuracy", "higher", partial(found_in_top, k))


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        replace(
            _beta(1.0), key=BASELINE, title="Pandora's Regret", wording="a search at equal prices",
            shown_in=EVERYWHERE,
        ),
        _lower_is_better(
            "excess_burden", "Excess search burden", "lower", of_forecast=excess_burden, unit="share",
            wording="the excess search burden", ranks_as=BASELINE, shown_in=COMPARISON,
        ),
        _cost(
            "expected_cost", "Expected search cost", "lower", of_forecast=expected_cost,
            wording="expected search cost", by_order=True, shown_in=COMPARISON,
        ),
        _cost(
            "realised_cost", "Realised cost", "lower", of_forecast=realised_cost,
            wording="realised cost", by_order=True, shown_in=COMPARISON,
        ),
        _cost(
            "tests", "Number of tests", "lower", of_forecast=number_of_tests, unit="tests",
            bounds=(1.0, np.inf), wording="the number of tests", by_order=True, shown_in=COMPARISON,
        ),
        *map(_beta, STUDIED_ALPHAS),
        _cost("cost_weighted", "Cost-weighted regret", "lower", of_forecast=expected_cost),
        _lower_is_better("pairwise_brier", "Pairwise Brier", "lower", of_forecast=pairwise_brier),
        _lower_is_better(
            "log_loss", "Log loss", "lower", of_forecast=log_loss,
            wording="log loss", shown_in=EVERYWHERE,
        ),
        _clipped(LOG_LOSS_FLOOR, "clipped_log_loss", "Log loss, clipped"),
        _lower_is_better(
            "brier", "Brier score", "lower", brier,
            wording="the Brier score", shown_in=EVERYWHERE,
        ),
        _lower_is_better("spherical", "Spherical score", "higher", spherical),
        _lower_is_better("ranked_probability", "Ranked probability", "lower", ranked_probability),
        _share(
            "accuracy", "Accuracy", "higher", of_forecast=accuracy,
            wording="accuracy", by_order=True, shown_in=EVERYWHERE,
        ),
        _top(2),
        _top(3),
        _share(
            "macro_f1", "Macro-F1", "higher", counts=macro_f1, gradient=macro_f1_gradient,
            wording="macro-F1", by_order=True, shown_in=EVERYWHERE,
        ),
        _share("macro_f1_all", "Macro-F1, all classes", "higher", counts=macro_f1_of_all),
        _lower_is_better("mrr", "Mean reciprocal rank", "higher", reciprocal_rank, wording="MRR"),
        _share("auroc", "AUROC (macro, one-vs-rest)", "higher", values=macro_auroc),
        _share(
            "ece", "Calibration error (ECE)", "lower", top_label_errors,
            combine=calibration_error,
        ),
    )
}  # fmt: skip


def _only_of_lists(truth: IntArray, proba: FloatArray) -> FloatArray:
    """A metric of ranked lists of candidates, of which a table of classes knows nothing."""
    fix = "compare lists of candidates, or choose another metric"
    raise InputError("is about ranked lists", argument="metric", place="this metric", fix=fix)


LIST_METRICS: dict[str, Metric] = {  # what is reported of ranked lists, beside the cost: numbers that people know
    metric.key: metric
    for metric in (
        replace(METRICS["expected_cost"], title="Search cost", wording="the search cost"),
        replace(
            METRICS["tests"], title="Looked at", rows=_only_of_lists, of_forecast=None, bounds=(0.0, np.inf),
            wording="the number of looks", shown_in=(),
        ),
        _share("found", "Found", "higher", _only_of_lists, wording="how often the truth is found", shown_in=()),
        _share("top_1", "Top-1", "higher", _only_of_lists, wording="Top-1", shown_in=()),
        replace(METRICS["top_3"], title="Top-3", wording="Top-3"),
        replace(METRICS["mrr"], title="MRR", wording="MRR", bounds=(0.0, 1.0)),
        _share("exam", "EXAM", "lower", _only_of_lists, wording="EXAM", shown_in=()),
    )
}  # fmt: skip
REPORTED: Mapping[str, Metric] = ChainMap(METRICS, LIST_METRICS)  # all of a comparison; METRICS may grow


def list_metrics() -> tuple[Metric, ...]:
    """What is reported of models whose forecasts are ranked lists of candidates."""
    return tuple(LIST_METRICS.values())


def rows_of_metrics(metrics: Iterable[Metric], forecast: Forecast, prior: Prior) -> dict[str, FloatArray]:
    """Each case's value of every metric that is a mean, (n_cases,), by the metrics' keys.

    The excess burden is a multiple of Pandora's Regret: where both are asked for, losses are computed once.

    Parameters
    ----------
    metrics
        In any order; those that are no means of rows are passed over.
    forecast, prior
        As in `Metric.of_rows`.
    """
    rows: dict[str, FloatArray] = {}
    for metric in metrics:
        if not metric.is_mean:
            continue
        if metric.of_forecast is excess_burden and BASELINE in rows:
            rows[metric.key] = rows[BASELINE] * (forecast.n_classes - 1)
        else:
            rows[metric.key] = metric.of_rows(forecast, prior)
    return rows


def comparison_metrics(order_only: bool = False) -> tuple[Metric, ...]:
    """What compare, score and the report show of every model, also where only orders are known."""
    shown = (metric for metric in METRICS.values() if "comparison" in metric.shown_in)
    return tuple(metric for metric in shown if metric.by_order or not order_only)


def workup_metrics(workup: Workup, prior: Prior | None = None) -> tuple[Metric, ...]:
    """What is reported of models by a work-up: what it costs, in place of all that is about costs of tests.

    Costs are as it says, or vary around that by a prior.
    """
    costs = partial(_workup_costs, workup, prior)
    wording = "the cost of the work-up"
    cost = replace(METRICS["expected_cost"], title="Work-up cost", of_forecast=costs, wording=wording)
    return (cost, *(metric for metric in comparison_metrics() if not metric.priced))


def _workup_costs(workup: Workup, prior: Prior | None, forecast: Forecast, _: Prior) -> FloatArray:
    """What the work-up of each row costs, (N,); the comparison's own prior is about tests of a search."""
    from pandora_regret.workup.scores import WorkupRows

    return _values_of_rows(WorkupRows(workup, forecast, prior).costs())


def default_metrics(n_classes: int, *, priced: bool) -> tuple[Metric, ...]:
    """What a study ranks models by: what says something of so many classes; priced metrics if there are costs.

    Parameters
    ----------
    n_classes
        K.
    priced
        Whether there are costs.

    Returns
    -------
    tuple of Metric
        In the order of tables.
    """
    trivial = {f"top_{k}" for k in (2, 3) if k >= n_classes}
    shown = (metric for metric in METRICS.values() if "study" in metric.shown_in and metric.key not in trivial)
    return tuple(metric for metric in shown if priced or not metric.priced)


def read_metrics(metrics: Iterable[object]) -> tuple[Metric, ...]:
    """Metrics, Pandora's Regret among them (added in front where it is missing), each once."""
    if isinstance(metrics, (str, Mapping, Metric)):
        raise InputTypeError(f"must be a list of metrics, got {metrics!r}", argument="metrics", value=metrics)
    read = [read_metric(metric) for metric in metrics]
    keys = read_labels([metric.key for metric in read], "metrics")
    return tuple(read if BASELINE in keys else [METRICS[BASELINE], *read])


def read_metric(metric: object) -> Metric:
    """A metric, its key, "module:name" of a `Metric`, or a table whose functions are "module:function".

    Keys may carry a number: ``beta_0.5`` is the Beta score at alpha 0.5, ``top_4`` top-4 accuracy,
    ``clipped_log_loss_0.001`` log loss of probabilities that are raised to 0.001.

    Parameters
    ----------
    metric
        A metric in any of these forms.

    Returns
    -------
    Metric
        The metric, checked.

    Examples
    --------
    >>> read_metric("beta_0.5").title
    'Beta score, α = 0.5'
    >>> read_metric({"key": "mine", "title": "Mine", "better": "lower", "rows": "my_package.metrics:rows"})
    Traceback (most recent call last):
    pandora_regret.core.inputs.errors.InputError: rows is 'my_package.metrics:rows': No module named 'my_package'.
    """
    if isinstance(metric, Mapping):
        return _metric_of_table(dict(metric))
    if isinstance(metric, str) and ":" in metric:
        metric = _import_object(metric, "metric")
    elif isinstance(metric, str):
        metric = METRICS.get(metric) or _metric_of_family(metric)
    if not isinstance(metric, Metric):
        problem = f"must be a Metric, a key or a table, got {metric!r}"
        raise InputTypeError(problem, argument="metric", value=metric, place="a metric")
    return metric


def _metric_of_table(table: Fields) -> Metric:
    """The metric of a table, whose functions are named "module:function"."""
    for name in (*FORMS, "combine", "gradient"):
        if isinstance(table.get(name), str):
            table[name] = _import_object(table[name], name)
    try:
        return Metric(**table)
    except TypeError:  # a key too few, or one too many
        fix = "give key, title, better and rows or values"
        given = sorted(table)
        raise InputError(f"has {given}", argument="metric", value=given, place="metric table", fix=fix) from None


def _import_object(path: str, argument: str) -> object:
    """What stands at "module:name"; `argument` says what it is for."""
    module, _, name = path.partition(":")
    try:
        found: object = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(argument=argument, value=path, fix=str(error)) from None
    return found


def _metric_of_family(key: str) -> Metric:
    """The metric ``beta_<alpha>``, ``top_<k>`` or ``clipped_log_loss_<floor>``."""
    family, _, number = key.rpartition("_")
    try:
        if family == "beta":
            return _beta(read_alpha(float(number)))
        if family == "top" and int(number) > 0:
            return _top(int(number))
        if family == "clipped_log_loss" and 0 < float(number) < 0.5:
            return _clipped(float(number))
    except ValueError:
        pass
    families = "beta_<alpha>, top_<k>, clipped_log_loss_<floor>"
    fix = f"pass one of {', '.join(METRICS)}, {families}, or a Metric"
    raise InputError(argument="metric", value=key, fix=fix)

"""The metrics by key, and how a study's file names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray, read_alpha
from pandora_regret.metrics import formulas as rows
from pandora_regret.metrics.auroc import macro_auroc
from pandora_regret.metrics.base import Metric
from pandora_regret.priors import Exponential
from pandora_regret.scores import expected_search_cost, pandora_regret

BASELINE = "pandora_regret"  # what every other metric is compared with
ALPHAS = (0.0, 0.3, 3.0, np.inf)


def _beta_rows(alpha: float, truth: IntArray, proba: FloatArray) -> FloatArray:
    return pandora_regret(truth, proba, alpha=alpha, per_instance=True)


def _pairwise_brier(truth: IntArray, proba: FloatArray) -> FloatArray:
    return expected_search_cost(truth, proba, prior=Exponential(), per_instance=True)


def _cost_weighted(truth: IntArray, proba: FloatArray, costs: FloatArray) -> FloatArray:
    return expected_search_cost(truth, proba, typical_costs=costs, per_instance=True)


def _beta(alpha: float) -> Metric:
    return Metric(f"beta_{alpha:g}", f"Beta score, α = {alpha:g}", "lower", partial(_beta_rows, alpha))


def _top(k: int) -> Metric:
    return Metric(f"top_{k}", f"Top-{k} accuracy", "higher", partial(rows.found_in_top, k))


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        Metric(BASELINE, "Pandora's Regret", "lower", partial(_beta_rows, 1.0)),
        *map(_beta, ALPHAS),
        Metric("cost_weighted", "Cost-weighted regret", "lower", _cost_weighted, priced=True),
        Metric("pairwise_brier", "Pairwise Brier", "lower", _pairwise_brier),
        Metric("log_loss", "Log loss", "lower", rows.log_loss),
        Metric("brier", "Brier score", "lower", rows.brier),
        Metric("spherical", "Spherical score", "higher", rows.spherical),
        Metric("ranked_probability", "Ranked probability", "lower", rows.ranked_probability),
        Metric("accuracy", "Accuracy", "higher", partial(rows.found_in_top, 1)),
        _top(2),
        _top(3),
        Metric("macro_f1", "F1 (macro)", "higher", rows.confusion, rows.macro_f1),
        Metric("mrr", "Mean reciprocal rank", "higher", rows.reciprocal_rank),
        Metric("auroc", "AUROC (macro, one-vs-rest)", "higher", values=macro_auroc),
        Metric("ece", "Calibration error (ECE)", "lower", rows.top_label_errors, rows.calibration_error),
    )
}


def default_metrics(n_classes: int, *, priced: bool) -> tuple[Metric, ...]:
    """Every metric that says something of so many classes; those that need costs only if there are any."""
    trivial = {f"top_{k}" for k in (2, 3) if k >= n_classes}
    return tuple(m for m in METRICS.values() if m.key not in trivial and (priced or not m.priced))


def read_metrics(metrics: Iterable[Any]) -> tuple[Metric, ...]:
    """Metrics, Pandora's Regret among them (added in front where it is missing), each once."""
    if isinstance(metrics, (str, Mapping, Metric)):
        raise InputTypeError(f"metrics must be a list of metrics, got {metrics!r}.")
    read = [read_metric(metric) for metric in metrics]
    keys = [metric.key for metric in read]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise InputError(f"metrics contain {twice[0]!r} twice: each needs its own key.")
    return tuple(read if BASELINE in keys else [METRICS[BASELINE], *read])


def read_metric(metric: Any) -> Metric:
    """A metric, its key, "module:name" of a `Metric`, or a table whose functions are "module:function".

    Keys may carry a number: ``beta_0.5`` is the Beta score at alpha 0.5, ``top_4`` top-4 accuracy.

    Examples
    --------
    >>> read_metric("beta_0.5").title
    'Beta score, α = 0.5'
    >>> read_metric({"key": "mine", "title": "Mine", "better": "lower", "rows": "my_package.metrics:rows"})
    Traceback (most recent call last):
    pandora_regret.inputs.numbers.InputError: rows is 'my_package.metrics:rows': No module named 'my_package'.
    """
    if isinstance(metric, Mapping):
        return _from_table(dict(metric))
    if isinstance(metric, str):
        metric = _named(metric, "metric") if ":" in metric else METRICS.get(metric) or _numbered(metric)
    if not isinstance(metric, Metric):
        raise InputTypeError(f"a metric must be a Metric, a key or a table, got {metric!r}.")
    return metric


def _from_table(table: dict[str, Any]) -> Metric:
    """A metric from the plain values of a file."""
    if set(table) == {"key"}:
        return read_metric(table["key"])
    known = {field.name for field in fields(Metric)}
    if not {"key", "title", "better"} <= set(table) <= known:
        raise InputError(f"metric table has {sorted(table)}: give key, title, better and rows or values.")
    for name in ("rows", "combine", "values"):
        if isinstance(table.get(name), str):
            table[name] = _named(table[name], name)
    return Metric(**table)


def _named(path: str, what: str) -> Any:
    """What stands at "module:name"."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{what} is {path!r}: {error}.") from None


def _numbered(key: str) -> Metric:
    """``beta_<alpha>`` and ``top_<k>``."""
    family, _, number = key.rpartition("_")
    try:
        if family == "beta":
            return _beta(read_alpha(float(number)))
        if family == "top" and int(number) > 0:
            return _top(int(number))
    except ValueError:
        pass
    raise InputError(f"metric is {key!r}: pass one of {', '.join(METRICS)}, beta_<alpha>, top_<k>, or a Metric.")

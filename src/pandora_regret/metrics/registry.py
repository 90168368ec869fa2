"""The metrics by key: all that any part of the package reports of a model, or ranks models by.

To add one, put it into `METRICS`; ``shown_in`` says whether comparisons, studies or both show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast, InputError, InputTypeError, read_alpha
from pandora_regret.inputs.labels import read_labels
from pandora_regret.metrics import formulas
from pandora_regret.metrics.base import FORMS, Metric
from pandora_regret.priors import Prior

if TYPE_CHECKING:
    from pandora_regret.workup import Workup

BASELINE = "pandora_regret"  # what every other metric is compared with
ALPHAS = (0.0, 0.3, 3.0, np.inf)

_score = partial(Metric, bounds=(0.0, np.inf))
_share = partial(Metric, unit="share", bounds=(0.0, 1.0))
_cost = partial(Metric, unit="money", bounds=(0.0, np.inf), priced=True)
EVERYWHERE, COMPARISON = ("comparison", "study"), ("comparison",)


def _beta(alpha: float) -> Metric:
    rows = partial(formulas.beta_score, alpha)
    return _score(f"beta_{alpha:g}", f"Beta score, α = {alpha:g}", "lower", of_forecast=rows)


def _top(k: int) -> Metric:
    return _share(f"top_{k}", f"Top-{k} accuracy", "higher", partial(formulas.found_in_top, k))


METRICS: dict[str, Metric] = {
    metric.key: metric
    for metric in (
        replace(
            _beta(1.0), key=BASELINE, title="Pandora's Regret", wording="a search at equal prices",
            shown_in=EVERYWHERE,
        ),
        _score(
            "excess_burden", "Excess search burden", "lower", of_forecast=formulas.excess_burden, unit="share",
            wording="the excess search burden", ranks_as=BASELINE, shown_in=COMPARISON,
        ),
        _cost(
            "expected_cost", "Expected search cost", "lower", of_forecast=formulas.expected_cost,
            wording="expected search cost", by_order=True, shown_in=COMPARISON,
        ),
        _cost(
            "realised_cost", "Realised cost", "lower", of_forecast=formulas.realised_cost,
            wording="realised cost", by_order=True, shown_in=COMPARISON,
        ),
        _cost(
            "tests", "Number of tests", "lower", of_forecast=formulas.number_of_tests, unit="tests",
            bounds=(1.0, np.inf), wording="the number of tests", by_order=True, shown_in=COMPARISON,
        ),
        *map(_beta, ALPHAS),
        _cost("cost_weighted", "Cost-weighted regret", "lower", of_forecast=formulas.expected_cost),
        _score("pairwise_brier", "Pairwise Brier", "lower", of_forecast=formulas.pairwise_brier),
        _score(
            "log_loss", "Log loss", "lower", of_forecast=formulas.log_loss,
            wording="log loss", shown_in=EVERYWHERE,
        ),
        _score(
            "brier", "Brier score", "lower", formulas.brier,
            wording="the Brier score", shown_in=EVERYWHERE,
        ),
        _score("spherical", "Spherical score", "higher", formulas.spherical),
        _score("ranked_probability", "Ranked probability", "lower", formulas.ranked_probability),
        _share(
            "accuracy", "Accuracy", "higher", of_forecast=formulas.accuracy,
            wording="accuracy", by_order=True, shown_in=EVERYWHERE,
        ),
        _top(2),
        _top(3),
        _share(
            "macro_f1", "Macro-F1", "higher", counts=formulas.macro_f1, gradient=formulas.macro_f1_gradient,
            wording="macro-F1", by_order=True, shown_in=EVERYWHERE,
        ),
        _score("mrr", "Mean reciprocal rank", "higher", formulas.reciprocal_rank),
        _share("auroc", "AUROC (macro, one-vs-rest)", "higher", values=formulas.macro_auroc),
        _share(
            "ece", "Calibration error (ECE)", "lower", formulas.top_label_errors,
            combine=formulas.calibration_error,
        ),
    )
}  # fmt: skip


def shown_in(place: str) -> tuple[Metric, ...]:
    """The metrics that are shown in a "comparison", by compare, score and the report, or in a "study"."""
    return tuple(metric for metric in METRICS.values() if place in metric.shown_in)


def comparison_metrics(order_only: bool = False) -> tuple[Metric, ...]:
    """What compare, score and the report show of every model, also where only orders are known."""
    return tuple(metric for metric in shown_in("comparison") if metric.by_order or not order_only)


def workup_metrics(workup: Workup, prior: Prior | None = None) -> tuple[Metric, ...]:
    """What is reported of models by a work-up: what it costs, in place of all that is about costs of tests.

    Costs are as it says, or vary around that by a prior.
    """
    costs, wording = partial(_workup_costs, workup, prior), "the cost of the work-up"
    cost = replace(METRICS["expected_cost"], title="Work-up cost", of_forecast=costs, wording=wording)
    return (cost, *(metric for metric in comparison_metrics() if not metric.priced))


def _workup_costs(workup: Workup, prior: Prior | None, forecast: Forecast, _: Prior) -> FloatArray:
    """Of each row, (N,); the comparison's own prior is about tests of a search."""
    from pandora_regret.workup.scores import WorkupRows

    return np.concatenate([costs for _, costs in WorkupRows(workup, forecast, prior).costs()])


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
    return tuple(m for m in shown_in("study") if m.key not in trivial and (priced or not m.priced))


def ranks_as_another(key: str) -> bool:
    """Whether another metric ranks all models alike; not of a metric that is unknown here, as in an old file."""
    return key in METRICS and METRICS[key].ranks_as is not None


def read_metrics(metrics: Iterable[Any]) -> tuple[Metric, ...]:
    """Metrics, Pandora's Regret among them (added in front where it is missing), each once."""
    if isinstance(metrics, (str, Mapping, Metric)):
        raise InputTypeError(f"metrics must be a list of metrics, got {metrics!r}.")
    read = [read_metric(metric) for metric in metrics]
    keys = read_labels([metric.key for metric in read], "metrics")
    return tuple(read if BASELINE in keys else [METRICS[BASELINE], *read])


def read_metric(metric: Any) -> Metric:
    """A metric, its key, "module:name" of a `Metric`, or a table whose functions are "module:function".

    Keys may carry a number: ``beta_0.5`` is the Beta score at alpha 0.5, ``top_4`` top-4 accuracy.

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
    pandora_regret.inputs.errors.InputError: rows is 'my_package.metrics:rows': No module named 'my_package'.
    """
    if isinstance(metric, Mapping):
        table = dict(metric)
        if set(table) == {"key"}:
            return read_metric(table["key"])
        known = {field.name for field in fields(Metric)}
        if not {"key", "title", "better"} <= set(table) <= known:
            raise InputError(f"metric table has {sorted(table)}: give key, title, better and rows or values.")
        for name in (*FORMS, "combine", "gradient"):
            if isinstance(table.get(name), str):
                table[name] = _named(table[name], name)
        return Metric(**table)
    if isinstance(metric, str):
        metric = _named(metric, "metric") if ":" in metric else METRICS.get(metric) or _numbered(metric)
    if not isinstance(metric, Metric):
        raise InputTypeError(f"a metric must be a Metric, a key or a table, got {metric!r}.")
    return metric


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

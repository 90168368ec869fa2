"""MLflow: a comparison as metrics, JSON and page of a run; scores as metrics of `mlflow.models.evaluate`."""

import re
from collections.abc import Callable, Iterable, Sequence
from inspect import Parameter, Signature
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.comparison.result import Comparison
from pandora_regret.core.inputs import ByClass, FloatArray, InputError, read_level
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import expected_search_cost, pandora_regret
from pandora_regret.inference.joint import Figure
from pandora_regret.optional import import_optional
from pandora_regret.report import render_report

RowScores: TypeAlias = Callable[[ArrayLike, FloatArray], FloatArray]  # of true classes and forecasts

NOT_ALLOWED = re.compile(r"[^\w\-. :/]", re.ASCII)  # in the name of a metric


def log_comparison(comparison: Comparison, *, folder: str = "pandora", page: bool = True) -> None:
    """Log a comparison to the active MLflow run, or to a new one.

    Every metric of every model becomes ``<model>/<metric>``, with ``_low`` and ``_high`` beside it; the comparison
    goes to ``<folder>/comparison.json``, its page to ``<folder>/report.html`` unless `page` is False, and the
    verdict becomes a tag.

    Parameters
    ----------
    comparison
        From `compare`.
    folder
        A folder among the run's artifacts.
    page
        Whether to log the HTML page, too.

    Examples
    --------
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_comparison(compare(y_true, {"forest": forest, "net": net}, costs=prices))
    """
    mlflow = import_optional("mlflow", extra="mlflow")
    names: list[str] = []
    for row in comparison.table():
        name = NOT_ALLOWED.sub("_", row.pop("model"))
        rank = row.pop("rank")
        names.append(f"{name} {rank}" if name in names else name)  # names made alike are told apart by rank
        mlflow.log_metrics({f"{names[-1]}/{key}": value for key, value in row.items() if value is not None})
    mlflow.set_tag("pandora.verdict", comparison.verdict.sentences[0])
    mlflow.log_dict(comparison.to_dict(), f"{folder}/comparison.json")
    if page:
        mlflow.log_text(render_report(comparison), f"{folder}/report.html")


def make_metrics(
    classes: Sequence[str],
    *,
    prior: Prior | None = None,
    costs: ByClass | None = None,
    alpha: float = 1.0,
    level: float = 0.95,
) -> list[object]:
    """Pandora's Regret and expected search cost for the `extra_metrics` of `mlflow.models.evaluate`.

    Probabilities come from the evaluation data's columns named like the classes, or, where there are none, from
    the predictions themselves: a model, or a column, that gives a list of probabilities per row. Each metric has
    its mean, the limits of its interval (`low`, `high`), and the score of every row.

    Parameters
    ----------
    classes
        The names of the classes, in the order of the probabilities. MLflow looks columns up by the names of
        parameters; for classes that cannot be one, such as "no fault", pass ``evaluator_config={"col_mapping":
        column_mapping(classes)}`` too.
    prior, costs
        As in `expected_search_cost`.
    alpha
        As in `pandora_regret`.
    level
        Of the intervals.

    Returns
    -------
    list
        Metrics as MLflow takes them.
    """
    mlflow = import_optional("mlflow", extra="mlflow")
    labels = list(classes)
    level = read_level(level)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter(name, kind) for name in ("predictions", "targets")]
    parameters += [Parameter(name, kind, default=None) for name in column_mapping(classes)]

    def metric(name: str, scores_of: RowScores) -> object:
        def evaluate(predictions: Iterable[ArrayLike], targets: ArrayLike, *columns: ArrayLike | None) -> object:
            rows = scores_of(np.asarray(targets), _forecasts(predictions, columns))
            mean = Figure.of_mean(rows, np.ones(len(rows))).estimate(level)
            limits = {"low": mean.low, "high": mean.high} if mean.low is not None else {}
            return mlflow.metrics.MetricValue(
                scores=rows.tolist(), aggregate_results={"mean": mean.value, **limits}
            )

        evaluate.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        return mlflow.models.make_metric(eval_fn=evaluate, greater_is_better=False, name=name)

    def regrets(y_true: ArrayLike, y_proba: FloatArray) -> FloatArray:
        return pandora_regret(y_true, y_proba, alpha=alpha, labels=labels, per_instance=True)

    def search_costs(y_true: ArrayLike, y_proba: FloatArray) -> FloatArray:
        return expected_search_cost(y_true, y_proba, prior=prior, costs=costs, labels=labels, per_instance=True)

    return [metric("pandora_regret", regrets), metric("expected_search_cost", search_costs)]


def column_mapping(classes: Sequence[str]) -> dict[str, str]:
    """The `col_mapping` of `mlflow.models.evaluate` for classes whose names cannot be those of parameters.

    Parameters
    ----------
    classes
        The names of the classes.

    Returns
    -------
    dict
        From names of parameters to names of columns.
    """
    return {name if name.isidentifier() else f"class_{k}": name for k, name in enumerate(classes)}


def _forecasts(predictions: Iterable[ArrayLike], columns: Sequence[ArrayLike | None]) -> FloatArray:
    """Forecasts, (N, K), from columns if there are some, else from rows that are lists."""
    present = [np.asarray(column, dtype=np.float64) for column in columns if column is not None]
    if present:
        return np.stack(present, axis=1)
    rows = list(predictions)
    if not rows or np.ndim(rows[0]) != 1:
        problem = "the evaluation data have no columns of probabilities, and predictions are not lists of them"
        raise InputError(problem, fix="add one column per class, or let the model return predict_proba's rows")
    return np.array(rows, dtype=np.float64)

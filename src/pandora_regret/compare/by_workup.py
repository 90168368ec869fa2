"""Models compared by what a whole work-up costs, instead of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pandora_regret.compare.measure import Measured, predicted_costs, sums_by_class
from pandora_regret.compare.result import StepSpending, WorkupPart
from pandora_regret.inputs import FloatArray, Forecast, InputError
from pandora_regret.metrics import METRICS, Metric, comparison_metrics
from pandora_regret.metrics.by_workup import workup_metric
from pandora_regret.priors import Prior, Uniform
from pandora_regret.scores import mean_or_rows
from pandora_regret.workup import PlanNode, Workup, plan_workup
from pandora_regret.workup.scores import WorkupRows


def workup_metrics() -> tuple[Metric, ...]:
    """What is reported of models then: metrics that know no costs, and what the work-up costs."""
    cost = replace(METRICS["expected_cost"], title="Work-up cost", wording="the cost of the work-up")
    return (cost, *(metric for metric in comparison_metrics() if not metric.priced))


def check_alone(**options: Any) -> None:
    """A work-up says what steps cost; what else is about the costs of tests cannot stand beside it."""
    for name, value in options.items():
        if value is not None and value is not False:
            fix = "leave one of them out: the work-up says what its steps cost"
            raise InputError(f"stands beside a work-up, and is about the tests of a search: {fix}", argument=name)


def measure_workup(
    name: str,
    forecast: Forecast,
    workup: Workup,
    prior: Prior | None,
    metrics: Sequence[Metric],
    recalibrated: Forecast | None = None,
) -> Measured:
    """All about one forecast."""
    forecast = forecast.check()
    rows = WorkupRows(workup, forecast, prior)
    costs = np.asarray(mean_or_rows(forecast, rows.costs(), per_instance=True))
    values = {"expected_cost": METRICS["expected_cost"].checked_rows(costs, forecast.by_case())}
    for metric in metrics:
        if metric.is_mean and metric.key not in values:
            values[metric.key] = metric.of_rows(forecast, Uniform())
    values["predicted_cost"], variance, least = predicted_costs(
        WorkupRows(workup, forecast.by_case(), prior).costs_for_every_truth()
    )
    if recalibrated is not None:
        later = WorkupRows(workup, recalibrated, prior)
        values["recalibrated_cost"] = np.asarray(mean_or_rows(recalibrated, later.costs(), per_instance=True))
    unavoidable = float(np.average(rows.least()[forecast.truth], weights=forecast.weights))
    predicted = np.asarray(forecast.by_case().values.argmax(axis=1))
    cost = replace(workup_metric(workup, prior), key="expected_cost")
    by_class = sums_by_class(forecast, Uniform(), (cost, *metrics[1:]))
    return Measured(name, values, predicted, variance, least, unavoidable, np.empty((0, 0)), (), (), by_class)


def typical_case(workup: Workup, classes: Sequence[str], weights: FloatArray) -> WorkupPart:
    """What is done with a case of which only the frequencies of classes are known, and what that is spent on.

    Of a work-up with too many states to list there is no picture and no list of steps.
    """
    title = workup.title or "a work-up"
    try:
        plan = plan_workup(dict(zip(classes, (weights / weights.sum()).tolist(), strict=True)), workup)
    except InputError:  # too many states
        return WorkupPart(title, (), "")
    spending: dict[str, list[float]] = {}
    if plan.tree is not None:
        _add_up(plan.tree, spending)
    steps = sorted(spending.items(), key=lambda item: -item[1][1])
    return WorkupPart(title, tuple(StepSpending(name, *parts) for name, parts in steps), plan.to_svg())


def _add_up(node: PlanNode, spending: dict[str, list[float]]) -> None:
    """How often each step is made, or stopped at, and what it costs per case on average."""
    if node.kind != "done":
        name = node.name if node.kind == "step" else f"stop: {node.name}"
        entry = spending.setdefault(name, [0.0, 0.0])
        entry[0] += node.chance
        entry[1] += node.chance * node.cost
    for child in node.branches.values():
        _add_up(child, spending)

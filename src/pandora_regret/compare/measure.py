"""What is known of one model on the sample: a value per row and metric, what is predicted, where money goes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pandora_regret.calibrate.maps import fitted_map, out_of_fold_inverse_temperatures
from pandora_regret.calibrate.rows import cross_fit, folds_of_cases, rows_of
from pandora_regret.compare.result import StepSpending, WorkupPart
from pandora_regret.compare.sample import Sample
from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.kernels.engine import search_costs, wasted_pairs
from pandora_regret.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows, row_costs
from pandora_regret.tally import Mean, Sum
from pandora_regret.workup import Workup, plan_workup
from pandora_regret.workup.scores import WorkupRows

FOLDS = 10


@dataclass(frozen=True)
class Measured:
    """One model on the sample."""

    name: str
    rows: dict[str, FloatArray]  # (N,) by the key of each metric that is a mean; predicted and recalibrated_cost
    predicted: IntArray  # (N,) the likeliest class; ties go to the lower column number
    predicted_variance: FloatArray  # (N,) of its cost, as each forecast predicts it
    least_cost: FloatArray  # (N,) that there can be
    unavoidable: float  # the mean cost of testing the truth itself
    pairs: FloatArray  # (K, K), or (0, 0)
    scenarios: tuple[float, ...] = ()
    order_only: bool = False  # whether forecasts are orders, which predict no cost of their own


@dataclass(frozen=True)
class Charge:
    """What models are charged for: the tests of a search, at the forecasts' base costs, or a whole work-up."""

    prior: Prior  # of the search, and of metrics that know no costs
    workup: Workup | None = None
    varying: Prior | None = None  # how the work-up's costs vary, unless they are known

    def by_workup(self, forecast: Forecast) -> WorkupRows | None:
        """The rows as a work-up sees them; None by a search."""
        return None if self.workup is None else WorkupRows(self.workup, forecast, self.varying)

    def costs(self, forecast: Forecast) -> FloatArray:
        """Of each row, (N,)."""
        if (rows := self.by_workup(forecast)) is None:
            return row_costs(forecast, self.prior)
        return np.concatenate([costs for _, costs in rows.costs()])


def measure(
    name: str,
    forecast: Forecast,
    charge: Charge,
    metrics: Sequence[Metric],
    recalibrated: Forecast | None = None,
    scenarios: Iterable[Forecast] = (),
) -> Measured:
    """All about one priced forecast; `scenarios` are the same forecast under other costs."""
    forecast, prior, pairs = forecast.check(), charge.prior, np.empty((0, 0))
    if (seen := charge.by_workup(forecast)) is None:
        costs, unavoidable, pairs = _spent_on_search(forecast, prior)
        every_truth: Any = ((block, costs_for_every_truth(block, prior)) for block in forecast.blocks())
    else:
        costs, every_truth = charge.costs(forecast), seen.costs_for_every_truth()
        unavoidable = float(np.average(seen.least()[forecast.truth], weights=forecast.weights))
    rows = {"expected_cost": METRICS["expected_cost"].checked_rows(costs, forecast)}
    for metric in metrics:
        if metric.is_mean and metric.key not in rows:
            rows[metric.key] = metric.of_rows(forecast, prior)
    predicted = []
    for block, each in every_truth:
        p = probabilities(block)
        mean = (p * each).sum(axis=1)
        predicted.append([mean, (p * (each - mean[:, None]) ** 2).sum(axis=1), each.min(axis=1)])
    rows["predicted_cost"], variance, least = np.concatenate(predicted, axis=1)
    if recalibrated is not None:
        rows["recalibrated_cost"] = charge.costs(recalibrated)
    likeliest = np.asarray(forecast.values.argmax(axis=1))
    under = tuple(float(mean_or_rows(each, search_costs(each, prior), False)) for each in scenarios)
    return Measured(name, rows, likeliest, variance, least, unavoidable, pairs, under, forecast.order_only)


def _spent_on_search(forecast: Forecast, prior: Prior) -> tuple[FloatArray, float, FloatArray]:
    """The cost of each row, (N,); what nothing can save; on which tests the rest goes, (K, K)."""
    pairs, parts = Sum((forecast.n_classes, forecast.n_classes)), []
    for rows, waste, classes, sums in wasted_pairs(forecast, prior):
        parts.append([unavoidable_costs(rows, prior), waste])
        pairs.add(sums, index=classes)
    own, wasted = np.concatenate(parts, axis=1)
    return own + wasted, Mean.of(own, forecast.weights).mean, pairs.value / forecast.each_weight.sum()


def recalibrated(forecast: Forecast, sample: Sample, method: str | None, seed: int) -> Forecast | None:
    """The rows of the sample's cases as logits, each by a map that rows of other folds fitted for log loss.

    None where no method is named, or there is one case, or one group, and nothing to learn from.
    """
    if method is None or len(sample.keys) < 2:
        return None
    rows, _ = rows_of(forecast)
    fold = forecast.per_row(folds_of_cases(forecast, rows, FOLDS, seed, sample.groups))
    if method == "temperature":
        scores = rows.scores * out_of_fold_inverse_temperatures(rows, fold)
    else:
        scores = np.empty_like(rows.scores)
        for inside, map_ in cross_fit(rows, fold, lambda others: fitted_map(method, others)):
            scores[:, inside] = map_(rows.scores[:, inside])
    read_as = forecast.read_as or forecast.values.dtype
    as_logits = replace(forecast, values=scores.T, logits=True, checked=True, read_as=read_as)
    return replace(as_logits, cluster=None, shares=None)


def typical_case(workup: Workup, classes: Sequence[str], weights: FloatArray) -> WorkupPart:
    """What is done with a case of which only the frequencies of classes are known, and what that is spent on.

    Of a work-up with too many states to list there is no picture and no list of steps.
    """
    title = workup.title or "a work-up"
    try:
        plan = plan_workup(dict(zip(classes, (weights / weights.sum()).tolist(), strict=True)), workup)
    except InputError:  # too many states
        return WorkupPart(title, (), "")
    spending, nodes = dict[str, Any](), [] if plan.tree is None else [plan.tree]
    for node in nodes:
        nodes += node.branches.values()
        if node.kind != "done":
            name = node.name if node.kind == "step" else f"stop: {node.name}"
            spending[name] = spending.get(name, 0) + np.array([node.chance, node.chance * node.cost])
    steps = sorted(spending.items(), key=lambda item: -item[1][1])
    return WorkupPart(title, tuple(StepSpending(name, *map(float, sums)) for name, sums in steps), plan.draw())

"""What is known of one model on the sample: a value per row and metric, what is predicted, where money goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

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
from pandora_regret.priors import Prior, Uniform
from pandora_regret.scores import mean_or_rows, row_costs
from pandora_regret.tally import Mean, Tally
from pandora_regret.workup import PlanNode, Workup, plan_workup
from pandora_regret.workup.scores import WorkupRows

Blocks: TypeAlias = Iterable[tuple[Forecast, FloatArray]]  # rows, some at a time, and (n, K): a value per class

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
class BySearch:
    """Models are charged for the tests of a search, under a prior; forecasts hold its base costs."""

    prior: Prior

    def spending(self, forecast: Forecast) -> tuple[dict[str, FloatArray], float, FloatArray]:
        """Costs and the excess burden of each row, (N,); what nothing can save; on which tests it goes, (K, K).

        The excess burden, what is wasted as a share of what someone who knew the truth would pay, is a ratio of
        means: the rows have it as their mean, and spread about it as the ratio does.
        """
        tally, own_parts, wasted_parts = Tally(forecast.n_classes), [], []
        for rows, waste, classes, sums in wasted_pairs(forecast, self.prior):
            own_parts.append(unavoidable_costs(rows, self.prior))
            wasted_parts.append(waste)
            tally.cost.add(own_parts[-1] + waste, rows.weights)
            tally.pairs.add(sums, index=classes)
        own, wasted = np.concatenate(own_parts), np.concatenate(wasted_parts)
        unavoidable = Mean.of(own, forecast.weights).mean
        ratio = Mean.of(wasted, forecast.weights).mean / unavoidable
        burden = ratio + (wasted - ratio * own) / unavoidable
        return {"expected_cost": own + wasted, "excess_burden": burden}, unavoidable, tally.pair_costs

    def costs(self, forecast: Forecast) -> FloatArray:
        """Of each row, (N,)."""
        return row_costs(forecast, self.prior)

    def for_every_truth(self, forecast: Forecast) -> Blocks:
        """What each row costs if each class is its truth."""
        return ((block, costs_for_every_truth(block, self.prior)) for block in forecast.blocks())


@dataclass(frozen=True)
class ByWorkup:
    """Models are charged for a whole work-up, whose costs are known, or vary by a prior."""

    workup: Workup
    given_prior: Prior | None
    prior = Uniform()  # of the metrics that know no costs

    def spending(self, forecast: Forecast) -> tuple[dict[str, FloatArray], float, FloatArray]:
        """Costs of each row, (N,), what nothing can save, and no table of tests."""
        unavoidable = float(np.average(self.least_costs(forecast)[forecast.truth], weights=forecast.weights))
        return {"expected_cost": self.costs(forecast)}, unavoidable, np.empty((0, 0))

    def costs(self, forecast: Forecast) -> FloatArray:
        """Of each row, (N,)."""
        return np.concatenate([costs for _, costs in self._rows(forecast).costs()])

    def for_every_truth(self, forecast: Forecast) -> Blocks:
        """What each row costs if each class is its truth."""
        return self._rows(forecast).costs_for_every_truth()

    def least_costs(self, forecast: Forecast) -> FloatArray:
        """What someone who knew the truth would pay, for each class in the order of columns, (K,)."""
        return self._rows(forecast).least()

    def _rows(self, forecast: Forecast) -> WorkupRows:
        return WorkupRows(self.workup, forecast, self.given_prior)


def measure(
    name: str,
    forecast: Forecast,
    way: BySearch | ByWorkup,
    metrics: Sequence[Metric],
    recalibrated: Forecast | None = None,
    scenarios: Iterable[Forecast] = (),
) -> Measured:
    """All about one priced forecast; `scenarios` are the same forecast under other costs."""
    forecast = forecast.check()
    rows, unavoidable, pairs = way.spending(forecast)
    METRICS["expected_cost"].checked_rows(rows["expected_cost"], forecast)
    for metric in metrics:
        if metric.is_mean and metric.key not in rows:
            rows[metric.key] = metric.of_rows(forecast, way.prior)
    rows["predicted_cost"], variance, least = predicted_costs(way.for_every_truth(forecast))
    if recalibrated is not None:
        rows["recalibrated_cost"] = way.costs(recalibrated)
    return Measured(
        name,
        rows,
        np.asarray(forecast.values.argmax(axis=1)),
        variance,
        least,
        unavoidable,
        pairs,
        tuple(float(mean_or_rows(each, search_costs(each, way.prior), False)) for each in scenarios),
        forecast.order_only,
    )


def predicted_costs(blocks: Blocks) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What each forecast expects its case to cost: mean, variance, and the least it may be, (N,) each."""
    means, variances, least = [], [], []
    for block, costs in blocks:
        p = probabilities(block)
        means.append((p * costs).sum(axis=1))
        variances.append((p * (costs - means[-1][:, None]) ** 2).sum(axis=1))
        least.append(costs.min(axis=1))
    return np.concatenate(means), np.concatenate(variances), np.concatenate(least)


def recalibrated(forecast: Forecast, sample: Sample, method: str | None, seed: int) -> Forecast | None:
    """The rows of the sample's cases as logits, each by a map that rows of other folds fitted for log loss.

    None where no method is named, or there is one case, or one group, and nothing to learn from.
    """
    if method is None or len(sample.keys) < 2:
        return None
    rows, _ = rows_of(forecast)
    fold = folds_of_cases(forecast, rows, FOLDS, seed, sample.groups)
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
    spending: dict[str, Any] = {}
    for node in _nodes(plan.tree) if plan.tree is not None else ():
        if node.kind != "done":
            name = node.name if node.kind == "step" else f"stop: {node.name}"
            spending[name] = spending.get(name, 0) + np.array([node.chance, node.chance * node.cost])
    steps = sorted(spending.items(), key=lambda item: -item[1][1])
    return WorkupPart(title, tuple(StepSpending(name, *map(float, sums)) for name, sums in steps), plan.to_svg())


def _nodes(node: PlanNode) -> Iterator[PlanNode]:
    """A plan and all that may follow."""
    yield node
    for child in node.branches.values():
        yield from _nodes(child)

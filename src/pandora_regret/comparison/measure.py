"""Each model on the sample: its cost, and every metric, case by case, by a search or by a work-up.

Every way to measure is a function from a model and the request to a `Measurement`, the one value that all later
steps know a model by: what it holds of forecasts, and of classes, is None or empty where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret import workup as workups
from pandora_regret.calibrate import recalibration
from pandora_regret.calibrate.maps import log_probabilities
from pandora_regret.calibrate.recalibration import FoldMaps, PredictedSavings
from pandora_regret.comparison.parts import STATED
from pandora_regret.comparison.request import ListRequest, Request
from pandora_regret.core.inputs import FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.engine import Rows, costs_for_every_truth, search_costs, wasted_pairs
from pandora_regret.core.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import mean_or_rows
from pandora_regret.core.tally import Means, Sum
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import Limits
from pandora_regret.metrics import METRICS, rows_of_metrics

if TYPE_CHECKING:
    from pandora_regret.candidates.searched import CaseLists

FOLDS = 10
COST = "expected_cost"  # the key of the metric that every model has


@dataclass(frozen=True)
class CostPrediction:
    """What forecasts themselves say of their costs, (N,) each."""

    mean: FloatArray
    variance: FloatArray
    least: FloatArray  # whichever class is the truth


@dataclass(frozen=True)
class RecalibratedCosts:
    """What a model costs once each row is recalibrated by a map that other rows fitted."""

    costs: FloatArray  # (N,)
    saved: Limits  # what that saves on average, on new cases and by a map from another sample of the size
    maps: FoldMaps


@dataclass(frozen=True)
class Measurement:
    """One model on the N rows of the sample."""

    name: str
    rows: Mapping[str, FloatArray]  # (N,) by the key of each metric that is a mean; `COST` is always there
    unavoidable: float  # the mean cost that nobody could save: of testing the truth itself
    named: IntArray | None = None  # (N,) the likeliest class, of equals the first; None where no class is named
    predicted: CostPrediction | None = None  # None where there are no probabilities to predict a cost by
    recalibrated: RecalibratedCosts | None = None  # None where forecasts were not recalibrated
    # (K, K) mean costs of testing one class in rows of another; None where not kept
    pairs: FloatArray | None = None
    scenarios: tuple[float, ...] = ()  # the mean cost under each scenario's prices
    decomposition: Mapping[str, Estimate] | None = None  # of the cost, by the term's name; None if not asked for

    @property
    def cost(self) -> FloatArray:
        """What each row costs, (N,)."""
        return self.rows[COST]


def measure(request: Request) -> tuple[Measurement, ...]:
    """Every model on the sample, the cheapest first; `progress` is called after each."""
    measurements = []
    if request.lists is not None:
        for name, candidates in request.lists.models.items():
            measurements.append(measure_candidates(name, candidates, request, request.lists))
            request.progress()
    for name, forecast in request.forecasts.items():
        if request.charge.workup is None:
            measurement = measure_search(name, forecast, request)
        else:
            measurement = measure_workup(name, forecast, request, request.charge.workup)
        measurements.append(measurement)
        request.progress()
    weights = request.sample.weights
    measurements.sort(key=lambda measurement: float((weights * measurement.cost).sum()))
    return tuple(measurements)


def measure_search(name: str, forecast: Forecast, request: Request) -> Measurement:
    """One model by a search for each case's class, one test per class.

    Parameters
    ----------
    name
        The model's.
    forecast
        Its forecasts as they were handed in, with the base costs of tests.
    request
        What else was asked.
    """
    prior = request.charge.prior
    rows = request.sample.of(forecast).check()
    spending = _spend(rows, prior)
    cost = METRICS[COST].checked_rows(spending.costs, rows)
    recalibrated = _recalibrate(forecast, request)
    prediction = _PredictedCosts(None, None)
    if not rows.order_only:
        prediction = _predict(rows, recalibrated, request, lambda later: costs_for_every_truth(later, prior))
    scenario_costs = []
    for scenario, typical in request.charge.scenarios.items():
        repriced = rows
        costs: Rows = iter([(rows, cost)])
        if scenario != STATED:
            repriced = request.sample.of(forecast.with_costs(typical / prior.mean))
            costs = search_costs(repriced, prior)
        scenario_costs.append(mean_or_rows(repriced, costs, per_instance=False))
    return Measurement(
        name=name,
        rows={COST: cost} | _metric_rows(rows, request, besides=COST),
        unavoidable=spending.unavoidable,
        named=rows.values.argmax(axis=1),
        predicted=prediction.costs,
        recalibrated=_recalibrated_costs(cost, forecast, recalibrated, prediction, request),
        pairs=spending.pairs,
        scenarios=tuple(scenario_costs),
        decomposition=_decomposition(forecast, request),
    )


def measure_workup(name: str, forecast: Forecast, request: Request, workup: workups.Workup) -> Measurement:
    """One model by a whole work-up; the other parameters are those of `measure_search`."""
    charge = request.charge
    rows = request.sample.of(forecast).check()
    by_metric = _metric_rows(rows, request)
    recalibrated = _recalibrate(forecast, request)

    def costs_of_workup(later: Forecast) -> Rows:
        from pandora_regret.workup.scores import WorkupRows

        return WorkupRows(workup, later, charge.varying).costs_for_every_truth()

    prediction = _predict(rows, recalibrated, request, costs_of_workup)
    return Measurement(
        name=name,
        rows=by_metric,
        unavoidable=float(np.average(charge.typical[rows.truth], weights=rows.weights)),
        named=rows.values.argmax(axis=1),
        predicted=prediction.costs,
        recalibrated=_recalibrated_costs(by_metric[COST], forecast, recalibrated, prediction, request),
    )


def measure_candidates(name: str, candidates: CaseLists, request: Request, asked: ListRequest) -> Measurement:
    """One model by searches along its lists.

    Parameters
    ----------
    name
        The model's.
    candidates
        Its lists, of the cases of the sample in their order.
    request
        What else was asked.
    asked
        What a miss costs, and until when a search goes on.
    """
    cost = candidates.costs(asked.miss, asked.until)
    if asked.prior is not None:
        cost = candidates.expected_costs(asked.miss, asked.prior)
    places = candidates.places()
    return Measurement(
        name=name,
        rows={
            COST: cost,
            "tests": candidates.looks(asked.miss, asked.until),
            "found": places.found,
            "top_1": places.top1,
            "top_3": places.top3,
            "mrr": places.reciprocal_rank,
            "exam": places.exam,
        },
        unavoidable=float(
            np.average(candidates.least_costs(asked.miss, asked.until), weights=request.sample.weights)
        ),
    )


def _metric_rows(rows: Forecast, request: Request, besides: str | None = None) -> dict[str, FloatArray]:
    """The metrics that are means of rows, (N,) each, by their keys, but for one that is known already."""
    others = [metric for metric in request.charge.metrics if metric.key != besides]
    return rows_of_metrics(others, rows, request.charge.prior)


@dataclass(frozen=True)
class Spending:
    """What searches spend, and on what."""

    costs: FloatArray  # (N,)
    unavoidable: float  # on average, on testing the truth itself
    pairs: FloatArray  # (K, K) on average, on testing one class in rows of another


def _spend(rows: Forecast, prior: Prior) -> Spending:
    """What the search of each row spends, and on which tests."""
    pairs = Sum((rows.n_classes, rows.n_classes))
    own_parts = []
    wasted_parts = []
    for block, wasted, classes, sums in wasted_pairs(rows, prior):
        own_parts.append(unavoidable_costs(block, prior))
        wasted_parts.append(wasted)
        pairs.add(sums, index=classes)
    own = np.concatenate(own_parts)
    costs = own + np.concatenate(wasted_parts)
    unavoidable = Means.of(own, rows.weights).mean
    return Spending(costs, unavoidable, pairs.value / rows.each_weight.sum())


@dataclass(frozen=True)
class RecalibratedRows:
    """The rows of the sample, each recalibrated by a map that other rows fitted."""

    rows: Forecast
    maps: FoldMaps


def _recalibrate(forecast: Forecast, request: Request) -> RecalibratedRows | None:
    """A model's forecasts, recalibrated as was asked; None where it was not."""
    if request.recalibration is None:
        return None
    rows, _ = log_probabilities(forecast.cases(request.sample.cases))
    seed = request.interval.seed
    groups = request.sample.groups
    maps = recalibration.maps_out_of_fold(rows, request.recalibration, None, FOLDS, seed, groups)
    return RecalibratedRows(_without_clusters(maps.apply(rows)), maps)


def recalibrate_again(forecast: Forecast, maps: FoldMaps, request: Request) -> Forecast:
    """A model's forecasts, recalibrated by maps that were fitted before."""
    rows, _ = log_probabilities(forecast.cases(request.sample.cases))
    return _without_clusters(maps.apply(rows))


def _without_clusters(rows: Forecast) -> Forecast:
    """Rows of which each stands for itself, whatever cluster it was in."""
    return replace(rows, cluster=None, shares=None)


@dataclass(frozen=True)
class _PredictedCosts:
    """What forecasts say of themselves."""

    costs: CostPrediction | None
    savings: PredictedSavings | None  # by recalibrating; None where it is not predicted


def _predict(
    rows: Forecast,
    recalibrated: RecalibratedRows | None,
    request: Request,
    costs_for_truths: Callable[[Forecast], Rows],
) -> _PredictedCosts:
    """Predicted costs, and savings where there are so few units that these do not show how they vary.

    `costs_for_truths` gives, for some rows, what each costs if each class is the truth, (n, K), block by block.
    """
    predicts_savings = len(request.sample.keys) <= recalibration.ENOUGH_UNITS
    later: Rows | None = None
    if recalibrated is not None and predicts_savings:
        later = costs_for_truths(recalibrated.rows)
    means = []
    variances = []
    least = []
    savings = []
    for block, costs in costs_for_truths(rows):
        p = probabilities(block)
        mean = (p * costs).sum(axis=1)
        means.append(mean)
        variances.append((p * (costs - mean[:, None]) ** 2).sum(axis=1))
        least.append(costs.min(axis=1))
        if later is not None:
            later_block, later_costs = next(later)
            savings.append(PredictedSavings.of_block(later_block, costs, later_costs))
    predicted = CostPrediction(np.concatenate(means), np.concatenate(variances), np.concatenate(least))
    return _PredictedCosts(predicted, PredictedSavings.joined(savings) if savings else None)


def _recalibrated_costs(
    cost: FloatArray,
    forecast: Forecast,
    recalibrated: RecalibratedRows | None,
    prediction: _PredictedCosts,
    request: Request,
) -> RecalibratedCosts | None:
    """What each row costs once it is recalibrated, (N,); None where that was not asked for."""
    if recalibrated is None:
        return None
    sample = request.sample
    metric = next(metric for metric in request.charge.metrics if metric.key == COST)
    costs = metric.of_rows(recalibrated.rows, request.charge.prior)
    cases = forecast.cases(sample.cases)
    limits = recalibration.limits_of_saving(
        cases.per_case(cost - costs),
        recalibrated.maps.fold,
        cases,
        prediction.savings,
        sample.groups,
        request.interval.level,
    )
    return RecalibratedCosts(costs, limits, recalibrated.maps)


def _decomposition(forecast: Forecast, request: Request) -> dict[str, Estimate] | None:
    """The terms that a model's cost is made of, by their names; None where they were not asked for."""
    if not request.decomposes:
        return None
    parts = recalibration.decompose(
        None,
        forecast.cases(request.sample.cases),
        prior=request.charge.prior,
        groups=request.sample.groups,
        folds=FOLDS,
        seed=request.interval.seed,
        level=request.interval.level,
    )
    return {
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
        "uncertainty": parts.uncertainty,
    }

"""From forecasts to estimates: a value per row and metric of each model, by a search or a work-up.

And every number of every model with its interval, differences, ranks, bins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, repeat

import numpy as np

from pandora_regret.calibrate.recalibration import PredictedSavings
from pandora_regret.comparison.charge import Charge
from pandora_regret.comparison.doubts import DO_NOT_TRUST, Background, few_carriers
from pandora_regret.comparison.judge import UNSEEN
from pandora_regret.comparison.result import (
    Bin,
    ClassResult,
    Difference,
    IntervalMethod,
    ModelResult,
    Recalibrated,
    StepSpending,
    WorkupPart,
)
from pandora_regret.core.entropy import costs_for_every_truth
from pandora_regret.core.inputs import Fields, FloatArray, Forecast, InputError, IntArray, Labels
from pandora_regret.core.kernels.engine import Rows, search_costs, wasted_pairs
from pandora_regret.core.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import mean_or_rows
from pandora_regret.core.tally import Means, Sum
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, Limits, hull, interval_by_forecast
from pandora_regret.inference.joint import Figure, chances_of_least, holm, rounded, within
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inference.resampling import Counts, weighted_sums, weights_in_parts
from pandora_regret.metrics import METRICS
from pandora_regret.workup import Workup, plan_workup
from pandora_regret.workup.scores import WorkupRows
from pandora_regret.workup.tree import PlanNode

FOLDS = 10
NO_PREDICTION = Estimate(None, warning="an order without probabilities predicts no cost")
# keys of figures, beside those of metrics
COST = "expected_cost"
PAID = "realised_cost"
RECALIBRATED = "recalibrated_cost"
PREDICTED = "predicted_cost"
MOST_BINS = 10
LEAST_CASES = 10  # per bin, on average


@dataclass(frozen=True)
class Sample:
    """The rows that all models are compared on: those of positive weight, in the order of their cases' keys.

    So a permutation of the cases, with their ids, changes not a single bit; and a cluster's rows stand together.
    """

    cases: slice | IntArray  # which of those that were handed in
    truth: IntArray  # (N,)
    weights: FloatArray  # (N,)
    case_of: IntArray  # (N,) the number of each row's case, rising
    cluster_of: IntArray  # (N,) the number of each row's cluster, rising: its group, or else its case
    keys: Keys  # (G,) what the bootstrap tells clusters apart by
    grouped: bool

    @property
    def n_cases(self) -> int:
        """How many cases there are; some have several rows, one for each class that is true to some extent."""
        return int(self.case_of[-1]) + 1

    @property
    def weighted(self) -> bool:
        """Whether some cases count more than others."""
        weights = np.bincount(self.case_of, self.weights)
        return bool(np.ptp(weights) > ROUNDING * weights.max())

    @property
    def groups(self) -> IntArray | None:
        """The number of each case's group, (n_cases,)."""
        return self.cluster_of[np.flatnonzero(np.diff(self.case_of, prepend=-1))] if self.grouped else None

    @property
    def units(self) -> str:
        """What is independent of each other, in words."""
        return "clusters" if self.grouped else "cases"

    def of(self, forecast: Forecast) -> Forecast:
        """A model's forecasts of these rows, each of which stands for itself."""
        return replace(forecast.cases(self.cases), cluster=None, shares=None)


def read_sample(forecast: Forecast, ids: Labels | None, groups: Labels | None) -> Sample:
    """Which cases there are, and which of them belong together.

    Parameters
    ----------
    forecast
        Of any model: it has the truth and the weights of all.
    ids, groups
        The name, and the group, of each case, (n_cases,); None where there are none.
    """
    n_cases = forecast.n_cases
    case_keys = np.arange(n_cases, dtype=np.uint64)
    if ids is not None:
        case_keys = keys_of(ids, "ids", n_cases)
    cluster_keys = case_keys if groups is None else keys_of(groups, "groups", n_cases)
    _, first = np.unique(case_keys, return_index=True)
    if len(first) < n_cases:
        row = int(np.setdiff1d(np.arange(n_cases), first)[0])
        twice = np.asarray(ids).tolist()[row]
        fix = "give each row its own id, and say with groups which rows belong together"
        raise InputError(f"ids row {row} is {twice!r}, which occurred before: {fix}.")
    order = np.lexsort((case_keys, cluster_keys))
    if forecast.case_weights is not None:
        order = order[forecast.case_weights[order] > 0]
    is_as_handed_in = np.array_equal(order, np.arange(n_cases))
    cases = slice(None) if is_as_handed_in else order
    rows = forecast.cases(cases)
    case_of = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    distinct_keys, cluster_of_case = np.unique(cluster_keys[order], return_inverse=True)
    return Sample(
        cases=cases,
        truth=rows.truth,
        weights=rows.each_weight,
        case_of=case_of,
        cluster_of=cluster_of_case[case_of],
        keys=distinct_keys,
        grouped=groups is not None,
    )


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
    scenarios: tuple[float, ...]
    order_only: bool  # whether forecasts are orders, which predict no cost of their own
    savings: PredictedSavings | None = None  # what recalibrating saves, (N,) each; None where it is not predicted
    saved: Limits | None = None  # within which that lies on average, by all but the replicates


def measure(
    name: str,
    forecast: Forecast,
    charge: Charge,
    recalibrated: Forecast | None = None,
    scenarios: Iterable[Forecast] = (),
    predicts_savings: bool = False,
) -> Measured:
    """All about one model.

    Parameters
    ----------
    name
        The model's.
    forecast
        Of the sample, with base costs.
    charge
        What it is charged for.
    recalibrated
        The same forecast, recalibrated.
    scenarios
        The same forecast under other costs.
    predicts_savings
        Whether recalibrated forecasts say what recalibrating saves.
    """
    forecast = forecast.check()
    prior = charge.prior
    rows = dict[str, FloatArray]()
    if charge.workup is None:
        costs, unavoidable, pairs = _spent_on_search(forecast, prior)
        rows[COST] = METRICS[COST].checked_rows(costs, forecast)
    else:
        unavoidable = float(np.average(charge.typical[forecast.truth], weights=forecast.weights))
        pairs = np.empty((0, 0))
    for metric in charge.metrics:
        if metric.is_mean and metric.key not in rows:
            rows[metric.key] = metric.of_rows(forecast, prior)
        if metric.key == COST and recalibrated is not None:
            rows[RECALIBRATED] = metric.of_rows(recalibrated, prior)
    recalibrated_truths = None
    if recalibrated is not None and predicts_savings:
        recalibrated_truths = _costs_for_every_truth(recalibrated, charge)
    prediction = _predict(_costs_for_every_truth(forecast, charge), recalibrated_truths)
    rows[PREDICTED] = prediction.mean
    scenario_costs = []
    for repriced in scenarios:
        mean = mean_or_rows(repriced, search_costs(repriced, prior), per_instance=False)
        scenario_costs.append(float(mean))
    return Measured(
        name=name,
        rows=rows,
        predicted=forecast.values.argmax(axis=1),
        predicted_variance=prediction.variance,
        least_cost=prediction.least,
        unavoidable=unavoidable,
        pairs=pairs,
        scenarios=tuple(scenario_costs),
        order_only=forecast.order_only,
        savings=prediction.savings,
    )


def _spent_on_search(forecast: Forecast, prior: Prior) -> tuple[FloatArray, float, FloatArray]:
    """The cost of each row, (N,); what nothing can save; on which tests the rest goes, (K, K)."""
    pairs = Sum((forecast.n_classes, forecast.n_classes))
    own_parts = []
    wasted_parts = []
    for rows, wasted, classes, sums in wasted_pairs(forecast, prior):
        own_parts.append(unavoidable_costs(rows, prior))
        wasted_parts.append(wasted)
        pairs.add(sums, index=classes)
    own = np.concatenate(own_parts)
    costs = own + np.concatenate(wasted_parts)
    unavoidable = Means.of(own, forecast.weights).mean
    return costs, unavoidable, pairs.value / forecast.each_weight.sum()


def _costs_for_every_truth(forecast: Forecast, charge: Charge) -> Rows:
    """Rows, and what the search or the work-up of each costs if each class is the truth, (n, K)."""
    if charge.workup is not None:
        yield from WorkupRows(charge.workup, forecast, charge.varying).costs_for_every_truth()
        return
    for block in forecast.blocks():
        yield block, costs_for_every_truth(block, charge.prior)


@dataclass(frozen=True)
class CostPrediction:
    """What forecasts themselves say of their costs, (N,) each."""

    mean: FloatArray
    variance: FloatArray
    least: FloatArray  # whichever class is the truth
    savings: PredictedSavings | None  # by recalibrating


def _predict(every_truth: Rows, recalibrated: Rows | None) -> CostPrediction:
    """Predicted costs, from blocks of rows and their costs for every truth, (n, K); and of what is saved.

    The recalibrated rows come in the same blocks.
    """
    means = []
    variances = []
    least = []
    savings = []
    for block, costs in every_truth:
        p = probabilities(block)
        mean = (p * costs).sum(axis=1)
        means.append(mean)
        variances.append((p * (costs - mean[:, None]) ** 2).sum(axis=1))
        least.append(costs.min(axis=1))
        if recalibrated is not None:
            later_block, later_costs = next(recalibrated)
            savings.append(PredictedSavings.of_block(later_block, costs, later_costs))
    return CostPrediction(
        mean=np.concatenate(means),
        variance=np.concatenate(variances),
        least=np.concatenate(least),
        savings=PredictedSavings.joined(savings) if savings else None,
    )


def typical_case(workup: Workup, classes: Sequence[str], weights: FloatArray) -> WorkupPart:
    """What is done with a case of which only the frequencies of classes are known, and what that is spent on.

    Of a work-up with too many states to list there is no picture and no list of steps.
    """
    title = workup.title or "a work-up"
    try:
        plan = plan_workup(dict(zip(classes, (weights / weights.sum()).tolist(), strict=True)), workup)
    except InputError:  # too many states
        return WorkupPart(title, (), "")
    chances = dict[str, float]()
    costs = dict[str, float]()
    for node in _nodes(plan.tree):
        if node.kind == "done":
            continue
        name = node.name if node.kind == "step" else f"stop: {node.name}"
        chances[name] = chances.get(name, 0.0) + float(node.chance)
        costs[name] = costs.get(name, 0.0) + float(node.chance * node.cost)
    steps = [StepSpending(name, chance, costs[name]) for name, chance in chances.items()]
    steps.sort(key=lambda step: -step.cost)
    return WorkupPart(title, tuple(steps), plan.draw())


def _nodes(tree: PlanNode | None) -> list[PlanNode]:
    """All nodes of a tree, level by level; none of no tree."""
    nodes = [] if tree is None else [tree]
    for node in nodes:  # which grows meanwhile
        nodes.extend(node.branches.values())
    return nodes


@dataclass(frozen=True)
class CountMetric:
    """A metric that is a function of class counts (occurs, named, right), (..., K) each."""

    key: str
    value: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # (...)
    gradient: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # (3, K)


@dataclass(frozen=True)
class Measurements:
    """All models on one sample, the cheapest first."""

    models: Sequence[Measured]
    sample: Sample
    charge: Charge
    classes: tuple[str, ...]
    interval: IntervalMethod
    recalibration: str | None = None  # the method
    is_recalibrated: bool = False  # whether costs are those of recalibrated forecasts

    @property
    def typical(self) -> FloatArray:
        """What testing each class costs, on average over instances, (K,)."""
        return np.asarray(np.atleast_2d(self.charge.typical).mean(axis=0))

    def _seen_as(self, model: Measured) -> list[tuple[IntArray, FloatArray]]:
        """A class and a weight of each row, (N,): the true class, the predicted one, the rightly predicted one."""
        truth = self.sample.truth
        weights = self.sample.weights
        predicted = model.predicted
        return [(truth, weights), (predicted, weights), (predicted, weights * (predicted == truth))]

    @cached_property
    def counts(self) -> FloatArray:
        """The weight of each class that occurs, is predicted, and is rightly predicted, (models, 3, K)."""
        n_classes = len(self.classes)
        counts = np.empty((len(self.models), 3, n_classes))
        for index, model in enumerate(self.models):
            for role, (classes, weights) in enumerate(self._seen_as(model)):
                counts[index, role] = np.bincount(classes, weights, n_classes)
        return counts

    @property
    def class_weights(self) -> FloatArray:
        """The weight of the rows of each class, (K,)."""
        return np.asarray(self.counts[0, 0])

    @cached_property
    def figures(self) -> list[dict[str, Figure]]:
        """Of every model, by key: means over rows, then functions of counts."""
        weights = self.sample.weights
        units = self.sample.cluster_of
        replicates: Iterator[FloatArray | None] = repeat(None)
        if self.interval.replicates:
            replicates = iter(self._replicates())
        figures_of_models = []
        for model, counts in zip(self.models, self.counts, strict=True):
            figures = dict[str, Figure]()
            for key, rows in model.rows.items():
                figures[key] = Figure.of_mean(rows, weights, units, next(replicates))
            for metric in self._count_metrics:
                value = float(metric.value(*counts))
                influence = self._influence(metric, model, counts)
                figures[metric.key] = Figure(value, influence, figures[COST].shares, next(replicates))
            figures_of_models.append(figures)
        return figures_of_models

    @property
    def _count_metrics(self) -> list[CountMetric]:
        """The metrics that are functions of class counts."""
        metrics = []
        for metric in self.charge.metrics:
            if metric.is_mean:
                continue
            if metric.counts is not None and metric.gradient is not None:
                metrics.append(CountMetric(metric.key, metric.counts, metric.gradient))
        return metrics

    def _influence(self, metric: CountMetric, model: Measured, counts: FloatArray) -> FloatArray:
        """What each unit adds to a metric of a model's class counts, (3, K), to first order, (G,)."""
        slopes = metric.gradient(*counts)
        by_role = []
        for slope, (classes, weights) in zip(slopes, self._seen_as(model), strict=True):
            by_role.append(slope[classes] * weights)
        return within(np.sum(by_role, axis=0), self.sample.cluster_of)

    def _replicates(self) -> FloatArray:
        """Every figure again, in every replicate that drew anything, (models * figures, R)."""
        sums = self._sums_of_clusters()
        seen = [classes_and_weights for model in self.models for classes_and_weights in self._seen_as(model)]
        parts = []
        for _, times_drawn in weights_in_parts(self.sample.keys, self.interval.replicates, self.interval.seed):
            drawn = times_drawn[(times_drawn > 0).any(axis=1)]
            totals = weighted_sums(drawn, sums)
            means = (totals[:, 1:] / totals[:, :1]).reshape(len(drawn), len(self.models), -1)
            figures = np.concatenate([means, *self._count_metrics_again(drawn, seen)], axis=2)
            parts.append(figures.reshape(len(drawn), -1))
        return np.concatenate(parts).T

    def _sums_of_clusters(self) -> FloatArray:
        """The sums over each cluster of weights, and of weighted rows of all models, (G, 1 + models * means)."""
        rows = [np.ones(len(self.sample.truth))]
        for model in self.models:
            rows += model.rows.values()
        columns = []
        for values in rows:
            is_finite = np.isfinite(values).all()
            finite = values if is_finite else np.zeros(len(values))  # an infinite mean has no interval
            columns.append(within(self.sample.weights * finite, self.sample.cluster_of))
        return np.stack(columns, axis=1)

    def _count_metrics_again(self, drawn: Counts, seen: list[tuple[IntArray, FloatArray]]) -> list[FloatArray]:
        """The metrics of class counts, (R, models, 1) each, in replicates.

        Parameters
        ----------
        drawn
            How often each replicate drew each cluster, (R, G).
        seen
            `_seen_as` of all models, one after the other.
        """
        n_classes = len(self.classes)
        counts: FloatArray = np.empty((len(drawn), len(seen), n_classes))
        for replicate, times_drawn in enumerate(drawn[:, self.sample.cluster_of]):
            for number, (classes, weights) in enumerate(seen):
                counts[replicate, number] = np.bincount(classes, weights * times_drawn, n_classes)
        counts = counts.reshape(len(drawn), len(self.models), 3, n_classes)
        occurs = counts[:, :, 0]
        named = counts[:, :, 1]
        right = counts[:, :, 2]
        return [metric.value(occurs, named, right)[:, :, None] for metric in self._count_metrics]

    @cached_property
    def background(self) -> Background:
        """What `Background.score` holds every estimate against."""
        return Background(
            self.classes,
            self.class_weights,
            self.typical,
            self.charge.costs.currency,
            self.sample.units,
            self._costs[0].effective,
            self.interval.level,
        )

    @cached_property
    def _costs(self) -> list[Figure]:
        return [figures[COST] for figures in self.figures]

    def results(self, decompositions: Mapping[str, dict[str, Estimate]]) -> tuple[ModelResult, ...]:
        """All that is reported of each model."""
        results = []
        for index, (model, own, chance) in enumerate(zip(self.models, self._costs, self._chances[0], strict=True)):
            scores = {metric.key: self.score(index, metric.key) for metric in self.charge.metrics}
            result = ModelResult(
                name=model.name,
                scores=scores,
                unavoidable=model.unavoidable,
                predicted_cost=NO_PREDICTION if model.order_only else self.score(index, PREDICTED),
                calibration=() if model.order_only else calibration_bins(model, self.sample, self.interval.level),
                probability_best=chance,
                rank=1 + sum(other.value < own.value * (1 - ROUNDING) for other in self._costs),
                by_class=self._by_class(model),
                pair_costs=tuple(map(tuple, model.pairs.tolist())),
                scenarios=model.scenarios,
                decomposition=decompositions.get(model.name),
                recalibrated=self._recalibrated_result(index),
                at_stated_prices=scores.get(PAID),
            )
            results.append(result)
        return tuple(results)

    def _recalibrated_result(self, index: int) -> Recalibrated | None:
        """What recalibration does for a model; None where models were not recalibrated."""
        if self.recalibration is None or not self._recalibrated:
            return None
        recalibrated = self._recalibrated[index]
        least = min(self._recalibrated, key=lambda figure: figure.value)
        return Recalibrated(
            self.recalibration,
            self.score(index, RECALIBRATED),
            self._saved(index),
            self.gap(recalibrated, least),
        )

    def _saved(self, index: int) -> Estimate:
        """What recalibrating saves a model, on new cases and by a map from another sample of the size."""
        own = self._costs[index]
        recalibrated = self._recalibrated[index]
        saved = self.gap(own, recalibrated)
        limits = self.models[index].saved
        if saved.low is None or limits is None:
            return saved
        low, high = hull((saved.low, saved.high), limits)
        return rounded(replace(saved, low=low, high=high), max(own.value, recalibrated.value))

    def score(self, index: int, key: str) -> Estimate:
        """One of a model's numbers, with its interval."""
        figure = self.figures[index][key]
        if not np.isfinite(figure.value):
            infinite = len(np.unique(self.sample.case_of[np.isinf(self.models[index].rows[key])]))
            reason = f"{infinite} of {self.sample.n_cases} true classes were given probability 0"
            return Estimate(None, warning=f"infinite: {reason}")
        metric = METRICS[COST if key in (PREDICTED, RECALIBRATED) else key]
        limits = figure.limits(self.interval.level, metric.is_proportion, metric.is_mean)
        plain = metric.is_proportion or metric.counts is not None
        carriers = None if plain else figure.carriers(abs(figure.value))
        return self.background.score(metric, figure.value, limits, self.counts[index], carriers)

    def gap(self, first: Figure, second: Figure) -> Estimate:
        """One figure less another, paired; rounding is no difference."""
        gap = first - second
        scale = max(first.value, second.value)
        estimate = gap.estimate(self.interval.level, scale)
        carriers = gap.carriers(scale)
        if not carriers.few or estimate.low is None:
            return estimate
        units = self.sample.units
        if carriers.number > 0 or not estimate.value:
            return replace(estimate, warning=few_carriers(carriers, "the difference", units))
        size = abs(estimate.value)  # in all units; the few that may differ could make up for it
        is_little = size <= UNSEEN / gap.effective * (self.typical.sum() + size)
        if not is_little:
            return replace(estimate, warning=None)
        same = f"all {carriers.units} {units} differ by the same amount, which says little about others"
        return replace(estimate, warning=f"{same}: {DO_NOT_TRUST}")

    @cached_property
    def _chances(self) -> tuple[list[float | None], float | None]:
        """Of each model, that it is the cheapest; and what the first costs more than the cheapest on average."""
        least = chances_of_least(self._costs, self.interval.seed)
        if least is not None:
            return least[0].tolist(), least[1]
        if len(self.models) == 1:
            return [1.0], None
        return [None] * len(self.models), None

    @property
    def outlook(self) -> Fields:
        """What a verdict is to know of the first model beside its cost."""
        chances, stake = self._chances
        return {"chance": chances[0], "stake": stake, "recalibrated": self.is_recalibrated}

    @cached_property
    def _recalibrated(self) -> list[Figure]:
        """Of every model its recalibrated cost; nothing where they were not recalibrated."""
        return [figures[RECALIBRATED] for figures in self.figures if RECALIBRATED in figures]

    def basis(self, margin: float) -> Measurements:
        """What a verdict is about: models as they are, or all of them recalibrated.

        The latter where it changes who is cheapest by more than the margin, beyond doubt: another model is then
        cheaper than the leader, as that is and recalibrated, too.
        """
        recalibrated = self._recalibrated
        if not recalibrated:
            return self
        least = min(recalibrated, key=lambda figure: figure.value)
        gaps = [self.gap(leader, least) for leader in (self._costs[0], recalibrated[0])]
        if not all(gap.exceeds(margin) for gap in gaps):
            return self
        order = np.argsort([figure.value for figure in recalibrated], kind="stable")
        models = []
        for index in order:
            model = self.models[index]
            models.append(replace(model, rows=model.rows | {COST: model.rows[RECALIBRATED]}))
        return replace(self, models=models, is_recalibrated=True)

    def _by_class(self, model: Measured) -> tuple[ClassResult, ...]:
        """Means over the rows of each class; None where there are no such rows, or no such metric."""
        regret = self._means_by_class(model, "pandora_regret")
        expected = self._means_by_class(model, COST)
        realised = self._means_by_class(model, PAID)
        tests = self._means_by_class(model, "tests")
        accuracy = self._means_by_class(model, "accuracy")
        weights = self.class_weights.tolist()
        results = []
        for k, label in enumerate(self.classes):
            results.append(
                ClassResult(
                    label=label,
                    weight=weights[k],
                    pandora_regret=regret[k],
                    expected_cost=expected[k],
                    realised_cost=realised[k],
                    tests=tests[k],
                    accuracy=accuracy[k],
                )
            )
        return tuple(results)

    def _means_by_class(self, model: Measured, key: str) -> list[float | None]:
        """One metric's mean over the rows of each class, [K]; None where there are no rows, or no such metric."""
        if key not in model.rows:
            return [None] * len(self.classes)
        weights = self.class_weights
        totals = np.bincount(self.sample.truth, self.sample.weights * model.rows[key], len(weights))
        means = totals / np.where(weights > 0, weights, np.nan)
        return [None if np.isnan(mean) else mean for mean in means.tolist()]

    def differences(self) -> tuple[Difference, ...]:
        """Between all pairs of models, the cheaper first."""
        pairs = combinations(range(len(self.models)), 2)
        differences = [self._difference(cheaper, dearer) for cheaper, dearer in pairs]
        adjusted = holm([difference.p_value for difference in differences])
        return tuple(replace(difference, p_holm=p) for difference, p in zip(differences, adjusted, strict=True))

    def _difference(self, cheaper: int, dearer: int) -> Difference:
        """Between two models by their places; its p-value is not adjusted yet."""
        figures = self.figures[cheaper]
        dearer_figures = self.figures[dearer]
        cost = figures[COST]
        dearer_cost = dearer_figures[COST]
        paid = PAID if PAID in figures else COST
        gap = self.gap(dearer_cost, cost).turned
        value = gap.value or 0.0
        return Difference(
            model=self.models[cheaper].name,
            against=self.models[dearer].name,
            difference=value,
            low=gap.low,
            high=gap.high,
            p_value=(cost - dearer_cost).p_value(max(cost.value, dearer_cost.value)),
            p_holm=None,
            savings_per_1000=1000 * max(-value, 0.0),
            realised=self.gap(figures[paid], dearer_figures[paid]),
            warning=gap.warning,
        )

    def ranks(self) -> dict[str, tuple[float, ...]]:
        """Each model's place by each metric; equal models share the mean place, infinite ones the last."""
        ranks = {}
        for metric in self.charge.metrics:
            values = np.array([figures[metric.key].value for figures in self.figures])
            values *= 1 if metric.better == "lower" else -1
            same = np.isclose(values[:, None], values, rtol=ROUNDING, atol=0)
            ahead = (values < values[:, None]) & ~same
            ranks[metric.key] = tuple((1 + ahead.sum(axis=1) + (same.sum(axis=1) - 1) / 2).tolist())
        return ranks


def calibration_bins(model: Measured, sample: Sample, level: float) -> tuple[Bin, ...]:
    """What forecasts predict their searches will cost, against what they cost, in bins of about equal weight.

    Equal predictions stay together. Intervals of observed means are Student's, also where others come from a
    bootstrap, stretched to what forecasts predict of their own spread: a bin's few rows may all have been lucky.
    """
    predicted = model.rows[PREDICTED]
    n_bins = min(MOST_BINS, max(1, sample.n_cases // LEAST_CASES))
    order = np.argsort(predicted, kind="stable")
    shares_up_to = np.cumsum(sample.weights[order]) / sample.weights.sum()
    edges = predicted[order][np.searchsorted(shares_up_to, np.arange(1, n_bins) / n_bins - ROUNDING)]
    bin_of = np.searchsorted(np.unique(edges), predicted)
    rows_of_bins = [np.flatnonzero(bin_of == number) for number in np.unique(bin_of)]
    return tuple(_calibration_bin(model, sample, rows, level) for rows in rows_of_bins)


def _calibration_bin(model: Measured, sample: Sample, rows: IntArray, level: float) -> Bin:
    """Predicted and observed cost of the rows of one bin, given by their numbers, (n,)."""
    weights = sample.weights[rows]
    shares = weights / weights.sum()
    _, units = np.unique(sample.cluster_of[rows], return_inverse=True)
    observed = Figure.of_mean(model.rows[COST][rows], weights, units)
    expected = float(shares @ model.rows[PREDICTED][rows])
    least = float(shares @ model.least_cost[rows])
    errors = within(shares * np.sqrt(model.predicted_variance[rows]), units)
    variance = float(errors @ errors)
    by_forecast = interval_by_forecast(observed.value, expected, variance, least, observed.effective, level)
    low, high = hull(observed.limits(level), by_forecast)
    if low is not None:
        low = max(0.0, low)
    return Bin(expected, observed.value, low, high, float(weights.sum()))

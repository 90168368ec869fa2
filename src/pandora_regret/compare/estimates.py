"""From forecasts to estimates: a value per row and metric of each model, by a search or a work-up.

And every number of every model with its interval, differences, ranks, bins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, repeat
from typing import Any

import numpy as np

from pandora_regret.compare.charge import Charge
from pandora_regret.compare.doubts import DO_NOT_TRUST, Background, few_carriers
from pandora_regret.compare.judge import UNSEEN
from pandora_regret.compare.result import (
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
from pandora_regret.core.inputs import Fields, FloatArray, Forecast, InputError, IntArray
from pandora_regret.core.kernels.engine import search_costs, wasted_pairs
from pandora_regret.core.kernels.reference import probabilities, unavoidable_costs
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import mean_or_rows
from pandora_regret.core.tally import Means, Sum
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, hull, interval_by_forecast
from pandora_regret.inference.joint import Figure, chances_of_least, holm, within
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.metrics import METRICS
from pandora_regret.workup import Workup, plan_workup
from pandora_regret.workup.scores import WorkupRows

FOLDS = 10
NO_PREDICTION = Estimate(None, warning="an order without probabilities predicts no cost")
COST, PAID, RECALIBRATED = "expected_cost", "realised_cost", "recalibrated_cost"  # keys of figures
BY_CLASS = ("pandora_regret", COST, PAID, "tests", "accuracy")
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


def read_sample(forecast: Forecast, ids: Any, groups: Any) -> Sample:
    """Which cases there are, and which of them belong together."""
    n, case_weights = forecast.n_cases, forecast.case_weights
    case_keys = np.arange(n, dtype=np.uint64) if ids is None else keys_of(ids, "ids", n)
    keys = case_keys if groups is None else keys_of(groups, "groups", n)
    _, first = np.unique(case_keys, return_index=True)
    if len(first) < n:
        row = int(np.setdiff1d(np.arange(n), first)[0])
        twice = np.asarray(ids).tolist()[row]
        fix = "give each row its own id, and say with groups which rows belong together"
        raise InputError(f"ids row {row} is {twice!r}, which occurred before: {fix}.")
    order = np.lexsort((case_keys, keys))
    if case_weights is not None:
        order = order[case_weights[order] > 0]
    cases = slice(None) if np.array_equal(order, np.arange(n)) else order
    rows = forecast.cases(cases)
    case_of = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    distinct, cluster = np.unique(keys[order], return_inverse=True)
    return Sample(cases, rows.truth, rows.each_weight, case_of, cluster[case_of], distinct, groups is not None)


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


def measure(
    name: str,
    forecast: Forecast,
    charge: Charge,
    recalibrated: Forecast | None = None,
    scenarios: Iterable[Forecast] = (),
) -> Measured:
    """All about one priced forecast; `scenarios` are the same forecast under other costs."""
    forecast, prior, pairs, rows = forecast.check(), charge.prior, np.empty((0, 0)), dict[str, FloatArray]()
    if charge.workup is None:
        costs, unavoidable, pairs = _spent_on_search(forecast, prior)
        rows[COST] = METRICS[COST].checked_rows(costs, forecast)
        every_truth: Any = ((block, costs_for_every_truth(block, prior)) for block in forecast.blocks())
    else:
        unavoidable = float(np.average(charge.typical[forecast.truth], weights=forecast.weights))
        every_truth = WorkupRows(charge.workup, forecast, charge.varying).costs_for_every_truth()
    for metric in charge.metrics:
        if metric.is_mean and metric.key not in rows:
            rows[metric.key] = metric.of_rows(forecast, prior)
        if metric.key == COST and recalibrated is not None:
            rows[RECALIBRATED] = metric.of_rows(recalibrated, prior)
    predicted = []
    for block, each in every_truth:
        p = probabilities(block)
        mean = (p * each).sum(axis=1)
        predicted.append([mean, (p * (each - mean[:, None]) ** 2).sum(axis=1), each.min(axis=1)])
    rows["predicted_cost"], variance, least = np.concatenate(predicted, axis=1)
    likeliest = forecast.values.argmax(axis=1)
    under = tuple(float(mean_or_rows(each, search_costs(each, prior), per_instance=False)) for each in scenarios)
    return Measured(name, rows, likeliest, variance, least, unavoidable, pairs, under, forecast.order_only)


def _spent_on_search(forecast: Forecast, prior: Prior) -> tuple[FloatArray, float, FloatArray]:
    """The cost of each row, (N,); what nothing can save; on which tests the rest goes, (K, K)."""
    pairs, parts = Sum((forecast.n_classes, forecast.n_classes)), []
    for rows, waste, classes, sums in wasted_pairs(forecast, prior):
        parts.append([unavoidable_costs(rows, prior), waste])
        pairs.add(sums, index=classes)
    own, wasted = np.concatenate(parts, axis=1)
    return own + wasted, Means.of(own, forecast.weights).mean, pairs.value / forecast.each_weight.sum()


def typical_case(workup: Workup, classes: Sequence[str], weights: FloatArray) -> WorkupPart:
    """What is done with a case of which only the frequencies of classes are known, and what that is spent on.

    Of a work-up with too many states to list there is no picture and no list of steps.
    """
    title = workup.title or "a work-up"
    try:
        plan = plan_workup(dict(zip(classes, (weights / weights.sum()).tolist(), strict=True)), workup)
    except InputError:  # too many states
        return WorkupPart(title, (), "")
    spending, nodes = Fields(), [] if plan.tree is None else [plan.tree]
    for node in nodes:
        nodes += node.branches.values()
        if node.kind != "done":
            name = node.name if node.kind == "step" else f"stop: {node.name}"
            spending[name] = spending.get(name, 0) + np.array([node.chance, node.chance * node.cost])
    steps = sorted(spending.items(), key=lambda item: -item[1][1])
    return WorkupPart(title, tuple(StepSpending(name, *map(float, sums)) for name, sums in steps), plan.draw())


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
        truth, weights, predicted = self.sample.truth, self.sample.weights, model.predicted
        return [(truth, weights), (predicted, weights), (predicted, weights * (predicted == truth))]

    @cached_property
    def counts(self) -> FloatArray:
        """The weight of each class that occurs, is predicted, and is rightly predicted, (models, 3, K)."""
        k = len(self.classes)
        return np.array([[np.bincount(*seen, k) for seen in self._seen_as(model)] for model in self.models])

    @property
    def class_weights(self) -> FloatArray:
        """The weight of the rows of each class, (K,)."""
        return np.asarray(self.counts[0, 0])

    @cached_property
    def figures(self) -> list[dict[str, Figure]]:
        """Of every model, by key: means over rows, then functions of counts."""
        weights, units, tables = self.sample.weights, self.sample.cluster_of, []
        drawn: Iterator[Any] = iter(self._replicates()) if self.interval.replicates else repeat(None)
        for model, counts in zip(self.models, self.counts, strict=True):
            figures = {key: Figure.of_mean(rows, weights, units, next(drawn)) for key, rows in model.rows.items()}
            for metric in self._of_counts:
                slope = metric.gradient(*counts)  # in each row's weight, times that weight
                seen = zip(slope, self._seen_as(model), strict=True)
                influence = within(np.sum([each[of] * by for each, (of, by) in seen], axis=0), units)
                value, shares = float(metric.counts(*counts)), figures[COST].shares
                figures[metric.key] = Figure(value, influence, shares, next(drawn))
            tables.append(figures)
        return tables

    @property
    def _of_counts(self) -> list[Any]:
        return [metric for metric in self.charge.metrics if not metric.is_mean]

    def _replicates(self) -> FloatArray:
        """Every figure again, in every replicate that drew anything, (models * figures, R)."""
        sample, n_models, k = self.sample, len(self.models), len(self.classes)
        rows = [np.ones(len(sample.truth)), *(of for model in self.models for of in model.rows.values())]
        finite = (of if np.isfinite(of).all() else np.zeros(len(of)) for of in rows)  # an infinite mean has none
        sums = np.stack([within(sample.weights * of, sample.cluster_of) for of in finite], axis=1)
        seen = [each for model in self.models for each in self._seen_as(model)]
        parts = []
        for _, drawn in weights_in_parts(sample.keys, self.interval.replicates, self.interval.seed):
            drawn = drawn[(drawn > 0).any(axis=1)]
            totals = weighted_sums(drawn, sums)
            means = (totals[:, 1:] / totals[:, :1]).reshape(len(drawn), n_models, -1)
            of_rows = drawn[:, sample.cluster_of]
            counts = np.array([[np.bincount(of, by * often, k) for of, by in seen] for often in of_rows])
            counts = counts.reshape(len(drawn), n_models, 3, k).transpose(2, 0, 1, 3)
            of_counts = [metric.counts(*counts)[:, :, None] for metric in self._of_counts]
            parts.append(np.concatenate([means, *of_counts], axis=2).reshape(len(drawn), -1))
        return np.concatenate(parts).T

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
        results, again = [], self._recalibrated
        for index, (model, own, chance) in enumerate(zip(self.models, self._costs, self._chances[0], strict=True)):
            recalibrated = None
            if self.recalibration is not None and again:
                later, least = again[index], min(again, key=lambda figure: figure.value)
                cost = self.score(index, RECALIBRATED)
                recalibrated = Recalibrated(self.recalibration, cost, self.gap(own, later), self.gap(later, least))
            scores = {metric.key: self.score(index, metric.key) for metric in self.charge.metrics}
            result = ModelResult(
                name=model.name,
                scores=scores,
                unavoidable=model.unavoidable,
                predicted_cost=NO_PREDICTION if model.order_only else self.score(index, "predicted_cost"),
                calibration=() if model.order_only else calibration_bins(model, self.sample, self.interval.level),
                probability_best=chance,
                rank=1 + sum(other.value < own.value * (1 - ROUNDING) for other in self._costs),
                by_class=self._by_class(model),
                pair_costs=tuple(map(tuple, model.pairs.tolist())),
                scenarios=model.scenarios,
                decomposition=decompositions.get(model.name),
                recalibrated=recalibrated,
                at_stated_prices=scores.get(PAID),
            )
            results.append(result)
        return tuple(results)

    def score(self, index: int, key: str) -> Estimate:
        """One of a model's numbers, with its interval."""
        figure, model = self.figures[index][key], self.models[index]
        if not np.isfinite(figure.value):
            infinite = len(np.unique(self.sample.case_of[np.isinf(model.rows[key])]))
            reason = f"{infinite} of {self.sample.n_cases} true classes were given probability 0"
            return Estimate(None, warning=f"infinite: {reason}")
        metric = METRICS[COST if key in ("predicted_cost", RECALIBRATED) else key]
        limits = figure.limits(self.interval.level, metric.is_proportion, metric.is_mean)
        plain = metric.is_proportion or metric.counts is not None
        carriers = None if plain else figure.carriers(abs(figure.value))
        return self.background.score(metric, figure.value, limits, self.counts[index], carriers)

    def gap(self, first: Figure, second: Figure) -> Estimate:
        """One figure less another, paired; rounding is no difference."""
        gap, scale = first - second, max(first.value, second.value)
        estimate, carriers = gap.estimate(self.interval.level, scale), gap.carriers(scale)
        if not carriers.few or estimate.low is None:
            return estimate
        warning, units = few_carriers(carriers, "the difference", self.sample.units), self.sample.units
        if carriers.number == 0 and estimate.value:  # in all units; the few that may differ could make up for it
            size = abs(estimate.value)
            is_little = size <= UNSEEN / gap.effective * (self.typical.sum() + size)
            same = f"all {carriers.units} {units} differ by the same amount, which says little about others"
            warning = f"{same}: {DO_NOT_TRUST}" if is_little else None
        return replace(estimate, warning=warning)

    @cached_property
    def _chances(self) -> tuple[list[Any], float | None]:
        """Of each model, that it is the cheapest; and what the first costs more than the cheapest on average."""
        least = chances_of_least(self._costs, self.interval.seed)
        if least is None:  # of several models, nothing is known
            return [1.0] if len(self.models) == 1 else [None] * len(self.models), None
        return least[0].tolist(), least[1]

    @property
    def outlook(self) -> Fields:
        """What a verdict is to know of the first model beside its cost."""
        (chance, *_), stake = self._chances
        return {"chance": chance, "stake": stake, "recalibrated": self.is_recalibrated}

    @cached_property
    def _recalibrated(self) -> list[Figure]:
        """Of every model its recalibrated cost; nothing where they were not recalibrated."""
        return [figures[RECALIBRATED] for figures in self.figures if RECALIBRATED in figures]

    def basis(self, margin: float) -> Measurements:
        """What a verdict is about: models as they are, or all of them recalibrated.

        The latter where it changes who is cheapest by more than the margin, beyond doubt: another model is then
        cheaper than the leader, as that is and recalibrated, too.
        """
        if not (again := self._recalibrated):
            return self
        least = min(again, key=lambda figure: figure.value)
        gaps = [self.gap(leader, least) for leader in (self._costs[0], again[0])]
        if not all(gap.exceeds(margin) for gap in gaps):
            return self
        order = np.argsort([figure.value for figure in again], kind="stable")
        models = [self.models[index] for index in order]
        models = [replace(each, rows=each.rows | {COST: each.rows[RECALIBRATED]}) for each in models]
        return replace(self, models=models, is_recalibrated=True)

    def _by_class(self, model: Measured) -> tuple[ClassResult, ...]:
        """Means over the rows of each class; None where there are no such rows, or no such metric."""
        sample, weights, columns = self.sample, self.class_weights, []
        for rows in map(model.rows.get, BY_CLASS):
            totals = np.bincount(sample.truth, sample.weights * (np.nan if rows is None else rows), len(weights))
            means = totals / np.where(weights > 0, weights, np.nan)
            columns.append([None if np.isnan(mean) else mean for mean in means.tolist()])
        return tuple(map(ClassResult, self.classes, weights.tolist(), *columns))

    def differences(self) -> tuple[Difference, ...]:
        """Between all pairs of models, the cheaper first."""
        paid, pairs = PAID if PAID in self.figures[0] else COST, []
        for (one, ours), (other, theirs) in combinations(zip(self.models, self.figures, strict=True), 2):
            gap, realised = self.gap(theirs[COST], ours[COST]).turned, self.gap(ours[paid], theirs[paid])
            p_value = (ours[COST] - theirs[COST]).p_value(max(ours[COST].value, theirs[COST].value))
            value = gap.value or 0.0
            saved = 1000 * max(-value, 0.0)
            limits = (gap.low, gap.high)
            pairs.append(
                Difference(one.name, other.name, value, *limits, p_value, None, saved, realised, gap.warning)
            )
        adjusted = holm([each.p_value for each in pairs])
        return tuple(replace(each, p_holm=p) for each, p in zip(pairs, adjusted, strict=True))

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
    predicted, n_bins = model.rows["predicted_cost"], min(MOST_BINS, max(1, sample.n_cases // LEAST_CASES))
    order = np.argsort(predicted, kind="stable")
    shares = np.cumsum(sample.weights[order]) / sample.weights.sum()
    edges = predicted[order][np.searchsorted(shares, np.arange(1, n_bins) / n_bins - ROUNDING)]
    numbers, bins = np.searchsorted(np.unique(edges), predicted), []
    for rows in (np.flatnonzero(numbers == number) for number in np.unique(numbers)):
        weights, (_, units) = sample.weights[rows], np.unique(sample.cluster_of[rows], return_inverse=True)
        observed, shares = Figure.of_mean(model.rows[COST][rows], weights, units), weights / weights.sum()
        expected, least = (float(shares @ of[rows]) for of in (predicted, model.least_cost))
        errors = within(shares * np.sqrt(model.predicted_variance[rows]), units)
        variance = float(errors @ errors)
        by_forecast = interval_by_forecast(observed.value, expected, variance, least, observed.effective, level)
        low, high = hull(observed.limits(level), by_forecast)
        low = None if low is None else max(0.0, low)
        bins.append(Bin(expected, observed.value, low, high, float(weights.sum())))
    return tuple(bins)

"""From values per row to estimates: every number of every model with its interval, differences, ranks, bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import (
    Bin,
    ClassResult,
    Difference,
    IntervalMethod,
    ModelResult,
    Recalibrated,
)
from pandora_regret.compare.sample import Sample
from pandora_regret.compare.verdict import Background, Standing
from pandora_regret.compare.words import few_carriers, same_in_all
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, hull, interval_by_forecast
from pandora_regret.inference.joint import Figure, at_stake, chances_of_least, draws_of, holm, within
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.metrics import METRICS, Metric

NO_PREDICTION = Estimate(None, warning="an order without probabilities predicts no cost")
COST, PAID, RECALIBRATED = "expected_cost", "realised_cost", "recalibrated_cost"  # keys of figures
BY_CLASS = ("pandora_regret", COST, PAID, "tests", "accuracy")
MOST_BINS = 10
LEAST_CASES = 10  # per bin, on average


@dataclass(frozen=True)
class Measurements:
    """All models on one sample, the cheapest first."""

    models: Sequence[Measured]
    sample: Sample
    metrics: tuple[Metric, ...]
    classes: tuple[str, ...]
    interval: IntervalMethod
    typical: FloatArray  # (K,) what testing each class costs, on average over instances
    currency: str | None
    recalibration: str | None  # the method
    is_recalibrated: bool = False  # whether costs are those of recalibrated forecasts

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
        sample, units, tables = self.sample, self.sample.unit_of, []
        for index, model in enumerate(self.models):
            drawn = [None] * (len(model.rows) + len(self._of_counts))
            drawn = drawn if self._replicates is None else list(self._replicates[:, index].T)
            figures = {
                key: Figure.of_mean(rows, sample.weights, units, column)
                for (key, rows), column in zip(model.rows.items(), drawn, strict=False)
            }
            for metric, column in zip(self._of_counts, drawn[len(figures) :], strict=True):
                assert metric.counts is not None
                assert metric.gradient is not None
                value = float(metric.counts(*self.counts[index]))
                slope = metric.gradient(*self.counts[index])  # in each row's weight, times that weight
                seen = zip(slope, self._seen_as(model), strict=True)
                influence = np.sum([each[classes] * weights for each, (classes, weights) in seen], axis=0)
                figures[metric.key] = Figure(value, within(influence, units), figures[COST].shares, column)
            tables.append(figures)
        return tables

    @cached_property
    def _of_counts(self) -> list[Metric]:
        return [metric for metric in self.metrics if not metric.is_mean]

    @cached_property
    def _replicates(self) -> FloatArray | None:
        """Every figure again, in every replicate that drew anything, (R, models, figures)."""
        if not self.interval.replicates:
            return None
        from scipy.sparse import csr_array

        sample, n_models, k = self.sample, len(self.models), len(self.classes)
        rows = [np.ones(len(sample.truth)), *(of for model in self.models for of in model.rows.values())]
        rows = [
            of if np.isfinite(of).all() else np.zeros(len(of)) for of in rows
        ]  # no interval of an infinite mean
        sums = np.stack([within(sample.weights * of, sample.unit_of) for of in rows], axis=1)
        seen = [each for model in self.models for each in self._seen_as(model)]
        places = np.concatenate([at * k + classes for at, (classes, _) in enumerate(seen)])
        weights, clusters = np.concatenate([weights for _, weights in seen]), np.tile(sample.cluster_of, len(seen))
        indicators: Any = csr_array((weights, (clusters, places)), shape=(len(sample.keys), len(seen) * k))
        parts = []
        for _, drawn in weights_in_parts(sample.keys, self.interval.replicates, self.interval.seed):
            drawn = drawn[(drawn > 0).any(axis=1)]
            totals = weighted_sums(drawn, sums)
            means = (totals[:, 1:] / totals[:, :1]).reshape(len(drawn), n_models, -1)
            counts = (drawn @ indicators).reshape(len(drawn), n_models, 3, k).transpose(2, 0, 1, 3)
            of_counts = [metric.counts(*counts)[:, :, None] for metric in self._of_counts if metric.counts]
            parts.append(np.concatenate([means, *of_counts], axis=2))
        return np.concatenate(parts)

    @cached_property
    def background(self) -> Background:
        """What estimates are judged by."""
        about = (self.classes, self.class_weights, self.typical, self.currency, self.sample.units)
        return Background(*about, self.figures[0][COST].effective, self.interval.level)

    def results(self, decompositions: Mapping[str, dict[str, Estimate] | None]) -> tuple[ModelResult, ...]:
        """All that is reported of each model."""
        costs, results, again = [figures[COST] for figures in self.figures], [], self._recalibrated
        for index, chance in enumerate(self._chances):
            model, own, recalibrated = self.models[index], costs[index], None
            if self.recalibration is not None and again:
                later, least = again[index], min(again, key=lambda figure: figure.value)
                gaps = (self.gap(own, later), self.gap(later, least))
                recalibrated = Recalibrated(self.recalibration, self.score(index, RECALIBRATED), *gaps)
            result = ModelResult(
                name=model.name,
                scores={metric.key: self.score(index, metric.key) for metric in self.metrics},
                unavoidable=model.unavoidable,
                predicted_cost=NO_PREDICTION if model.order_only else self.score(index, "predicted_cost"),
                calibration=() if model.order_only else calibration_bins(model, self.sample, self.interval.level),
                probability_best=chance,
                rank=1 + sum(other.value < own.value * (1 - ROUNDING) for other in costs),
                by_class=self._by_class(model),
                pair_costs=tuple(map(tuple, model.pairs.tolist())),
                scenarios=model.scenarios,
                decomposition=decompositions.get(model.name),
                recalibrated=recalibrated,
                at_stated_prices=self.score(index, PAID) if PAID in model.rows else None,
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
        estimate = gap.estimate(self.interval.level).mapped(lambda x: x if abs(x) > ROUNDING * scale else 0.0)
        carriers, units = gap.carriers(scale), self.sample.units
        if not carriers.few or estimate.low is None:
            return estimate
        warning = few_carriers(carriers, "the difference", units)
        if carriers.number == 0 and estimate.value:
            all_tests = float(self.typical.sum())
            warning = same_in_all(estimate.value, carriers, units, self.background.effective, all_tests)
        return replace(estimate, warning=warning)

    @cached_property
    def _draws(self) -> FloatArray | None:
        """What all costs might as well have been."""
        return draws_of([figures[COST] for figures in self.figures], self.interval.seed)

    @property
    def _chances(self) -> list[float] | list[None]:
        """Of each model, that it is the cheapest."""
        if len(self.models) == 1:
            return [1.0]
        return [None] * len(self.models) if self._draws is None else chances_of_least(self._draws)

    @property
    def standing(self) -> Standing:
        """What a verdict rests on."""
        costs = [figures[COST] for figures in self.figures]
        named = zip((model.name for model in self.models), costs, strict=True)
        values = {model.name: cost.value for model, cost in zip(self.models, costs, strict=True)}
        gaps = {name: self.gap(cost, costs[0]) for name, cost in named if cost is not costs[0]}
        stake = None if self._draws is None else at_stake(self._draws)
        return Standing(values, gaps, self._chances[0], stake, self.is_recalibrated)

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
        gaps = [self.gap(leader, least) for leader in (self.figures[0][COST], again[0])]
        if not all(gap.is_above_zero and (gap.value or 0.0) > margin for gap in gaps):
            return self
        order = np.argsort([figure.value for figure in again], kind="stable")
        models = [self.models[index] for index in order]
        models = [replace(each, rows=each.rows | {COST: each.rows[RECALIBRATED]}) for each in models]
        return replace(self, models=models, is_recalibrated=True)

    def _by_class(self, model: Measured) -> tuple[ClassResult, ...]:
        """None where there are no such rows, or no such metric."""
        sample, k, columns = self.sample, len(self.classes), []
        for rows in map(model.rows.get, BY_CLASS):
            totals = np.zeros(k) if rows is None else np.bincount(sample.truth, sample.weights * rows, k)
            pairs = zip(totals.tolist(), self.class_weights.tolist(), strict=True)
            columns.append([total / weight if weight and rows is not None else None for total, weight in pairs])
        return tuple(map(ClassResult, self.classes, self.class_weights.tolist(), *columns))

    def differences(self) -> tuple[Difference, ...]:
        """Between all pairs of models, the cheaper first."""
        paid, pairs = PAID if PAID in self.figures[0] else COST, []
        for (one, ours), (other, theirs) in combinations(zip(self.models, self.figures, strict=True), 2):
            gap, realised = self.gap(ours[COST], theirs[COST]), self.gap(ours[paid], theirs[paid])
            p_value = (ours[COST] - theirs[COST]).p_value(max(ours[COST].value, theirs[COST].value))
            value = gap.value or 0.0
            about = (value, gap.low, gap.high, p_value, None, 1000 * max(-value, 0.0), realised, gap.warning)
            pairs.append(Difference(one.name, other.name, *about))
        adjusted = holm([each.p_value for each in pairs])
        return tuple(replace(each, p_holm=p) for each, p in zip(pairs, adjusted, strict=True))

    def ranks(self) -> dict[str, tuple[float, ...]]:
        """Each model's place by each metric; equal models share the mean place, infinite ones the last."""
        ranks = {}
        for metric in self.metrics:
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
        about = (expected, float(errors @ errors), least, observed.effective, level)
        low, high = hull(observed.limits(level), interval_by_forecast(observed.value, *about))
        low = None if low is None else max(0.0, low)
        bins.append(Bin(expected, observed.value, low, high, float(weights.sum())))
    return tuple(bins)

"""From values per row to estimates: every number of every model with its interval, differences, ranks, bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from pandora_regret.compare.conclusion import Background, Counts
from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import (
    Bin,
    ClassResult,
    Data,
    Difference,
    IntervalMethod,
    ModelResult,
    Recalibrated,
)
from pandora_regret.compare.sample import Sample
from pandora_regret.compare.words import few_carriers, same_in_all
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import (
    ROUNDING,
    effective_number,
    hull,
    influence_of_mean,
    interval_by_forecast,
    interval_of_mean,
    within_groups,
)
from pandora_regret.inference.joint import Joint, Pick, holm
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.metrics import METRICS, Metric

NO_PREDICTION = Estimate(None, warning="an order without probabilities predicts no cost")
PAID, RECALIBRATED = "realised_cost", "recalibrated_cost"  # keys of estimates
BY_CLASS = ("pandora_regret", "expected_cost", PAID, "tests", "accuracy")
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

    @cached_property
    def columns(self) -> dict[str, int]:
        """Where each estimate stands in the tables below: means over rows first, then functions of counts."""
        keys = [*self.models[0].rows, *(metric.key for metric in self._of_counts)]
        return {key: column for column, key in enumerate(keys)}

    @property
    def _of_counts(self) -> list[Metric]:
        return [metric for metric in self.metrics if not metric.is_mean]

    @cached_property
    def class_weights(self) -> FloatArray:
        """The weight of the rows of each class, (K,)."""
        return self.sample.by_class(self.sample.truth, 1.0, len(self.classes))

    @cached_property
    def counts(self) -> list[Counts]:
        """Of every model, the weight of each class that occurs, is predicted, and is rightly predicted."""
        sample, k = self.sample, len(self.classes)
        predicted = [model.predicted for model in self.models]
        named = [sample.by_class(each, 1.0, k) for each in predicted]
        right = [sample.by_class(each, each == sample.truth, k) for each in predicted]
        return [(self.class_weights, *both) for both in zip(named, right, strict=True)]

    @cached_property
    def values(self) -> FloatArray:
        """Every estimate of every model, (models, columns)."""
        table = []
        for model, counts in zip(self.models, self.counts, strict=True):
            means = [self.sample.mean(rows) for rows in model.rows.values()]
            table.append([*means, *(float(metric.counts(*counts)) for metric in self._of_counts if metric.counts)])
        return np.array(table)

    @cached_property
    def joint(self) -> Joint:
        """Influences of every model's estimates, summed within clusters, and the estimates in every replicate."""
        tables = [self.sample.within_clusters(self._influences(index)) for index in range(len(self.models))]
        interval = self.interval
        replicates = self._replicates() if interval.replicates else None
        return Joint(np.stack(tables, axis=1), self.sample.shares, interval.level, interval.seed, replicates)

    def _influences(self, index: int) -> FloatArray:
        """One row per row of the sample, one column per estimate."""
        model, truth = self.models[index], self.sample.truth
        columns = [
            influence_of_mean(rows, self.sample.weights, mean)
            for rows, mean in zip(model.rows.values(), self.values[index], strict=False)
        ]
        for metric in self._of_counts:  # the derivative in each row's weight, times that weight
            assert metric.gradient is not None
            occurs, named, right = metric.gradient(*self.counts[index])
            slope = occurs[truth] + named[model.predicted] + right[truth] * (model.predicted == truth)
            columns.append(self.sample.weights * slope)
        return np.stack(columns, axis=1)

    def _replicates(self) -> FloatArray:
        """Every estimate again, in every replicate that drew anything, (R, models, columns)."""
        rows = np.stack([np.ones(len(self.sample.truth)), *(of for m in self.models for of in m.rows.values())], 1)
        rows[:, ~np.isfinite(rows).all(axis=0)] = 0.0  # an infinite mean has no interval
        sums = self.sample.within_clusters(np.ascontiguousarray(self.sample.weights[:, None] * rows))
        counts, parts = self._class_indicators(), []
        for _, drawn in weights_in_parts(self.sample.keys, self.interval.replicates, self.interval.seed):
            drawn = drawn[(drawn > 0).any(axis=1)]
            totals, by_class = weighted_sums(drawn, sums), drawn @ counts
            by_class = by_class.reshape(-1, 1 + 2 * len(self.models), len(self.classes))
            means = (totals[:, 1:] / totals[:, :1]).reshape(len(drawn), len(self.models), -1)
            occurs, named, right = by_class[:, :1], by_class[:, 1::2], by_class[:, 2::2]
            of_counts = [metric.counts(occurs, named, right) for metric in self._of_counts if metric.counts]
            parts.append(np.concatenate([means, *(estimates[:, :, None] for estimates in of_counts)], axis=2))
        return np.concatenate(parts)

    def _class_indicators(self) -> Any:
        """By cluster, weight of each true class; then for each model of each class named, and rightly named."""
        from scipy.sparse import csr_array

        sample, columns, weights = self.sample, [self.sample.truth], [self.sample.weights]
        for model in self.models:
            offset = len(self.classes) * len(columns)
            columns += [offset + model.predicted, offset + len(self.classes) + model.predicted]
            weights += [sample.weights, sample.weights * (model.predicted == sample.truth)]
        places = np.tile(sample.cluster_of, len(columns)), np.concatenate(columns)
        shape = len(sample.keys), len(self.classes) * len(columns)
        return csr_array((np.concatenate(weights), places), shape=shape)

    @cached_property
    def background(self) -> Background:
        """What estimates are judged by."""
        about = (self.classes, self.class_weights, self.typical, self.currency, self.sample.units)
        return Background(*about, self.joint.effective, self.interval.level)

    @property
    def data(self) -> Data:
        """What there was."""
        weight, by_class = float(self.sample.weights.sum()), _floats(self.class_weights)
        return Data(self.sample.n_cases, weight, self.classes, by_class, self.sample.clusters)

    def results(self) -> tuple[ModelResult, ...]:
        """All that is reported of each model."""
        column = self.columns["expected_cost"]
        chances = self.joint.probability_best(self.values[:, column], lambda table: table[:, :, column])
        return tuple(self._model(index, chance) for index, chance in enumerate(chances))

    def _model(self, index: int, chance: float | None) -> ModelResult:
        model, costs = self.models[index], self.values[:, self.columns["expected_cost"]]
        return ModelResult(
            name=model.name,
            scores={metric.key: self.score(index, metric.key) for metric in self.metrics},
            unavoidable=model.unavoidable,
            predicted_cost=NO_PREDICTION if model.order_only else self.score(index, "predicted_cost"),
            calibration=() if model.order_only else calibration_bins(model, self.sample, self.interval.level),
            probability_best=chance,
            rank=1 + int((costs < costs[index] * (1 - ROUNDING)).sum()),
            by_class=self._by_class(model),
            pair_costs=tuple(map(tuple, model.pairs.tolist())),
            scenarios=model.scenarios,
            recalibrated=self._recalibrated(index),
            at_stated_prices=self.score(index, PAID) if PAID in model.rows else None,
        )

    def score(self, index: int, key: str) -> Estimate:
        """One of a model's numbers, with its interval."""
        column, model = self.columns[key], self.models[index]
        value = float(self.values[index, column])
        if not np.isfinite(value):
            infinite = len(np.unique(self.sample.case_of[np.isinf(model.rows[key])]))
            reason = f"{infinite} of {self.sample.n_cases} true classes were given probability 0"
            return Estimate(None, warning=f"infinite: {reason}")
        metric = METRICS["expected_cost" if key in ("predicted_cost", RECALIBRATED) else key]

        def pick(table: FloatArray) -> FloatArray:
            return np.asarray(table[:, index, column])

        limits = self.joint.interval(value, pick, metric.is_proportion)
        plain = metric.is_proportion or metric.counts is not None
        carriers = None if plain else self.joint.carriers(pick, scale=abs(value))
        return self.background.score(metric, value, limits, self.counts[index], carriers)

    def gap(self, first: tuple[int, str], second: tuple[int, str]) -> Estimate:
        """One estimate less another, each of a model's number and a key, paired; rounding is no difference."""
        value, scale, pick = self._paired(first, second)
        gap = Estimate(value, *self.joint.interval(value, pick))
        gap = gap.mapped(lambda part: part if abs(part) > ROUNDING * scale else 0.0)
        carriers, units = self.joint.carriers(pick, scale), self.sample.units
        if not carriers.few or gap.low is None:
            return gap
        if carriers.number == 0 and gap.value:
            all_tests = float(self.typical.sum())
            return replace(gap, warning=same_in_all(gap.value, carriers, units, self.joint.effective, all_tests))
        return replace(gap, warning=few_carriers(carriers, "the difference", units))

    def _paired(self, first: tuple[int, str], second: tuple[int, str]) -> tuple[float, float, Pick]:
        """A difference, the scale of what is compared, and where it stands in a table."""
        (a, one), (b, other) = ((index, self.columns[key]) for index, key in (first, second))
        ours, theirs = float(self.values[a, one]), float(self.values[b, other])
        return ours - theirs, max(ours, theirs), lambda table: np.asarray(table[:, a, one] - table[:, b, other])

    def _recalibrated(self, index: int) -> Recalibrated | None:
        if self.recalibration is None or RECALIBRATED not in self.columns:
            return None
        own, later = (index, "expected_cost"), (index, RECALIBRATED)
        saved, against_leader = self.gap(own, later), self.gap(later, (0, "expected_cost"))
        return Recalibrated(self.recalibration, self.score(index, RECALIBRATED), saved, against_leader)

    def both_recalibrated(self) -> dict[str, Estimate]:
        """By how much each model costs more than the leader if both are recalibrated."""
        if RECALIBRATED not in self.columns:
            return {}
        leader = (0, RECALIBRATED)
        return {model.name: self.gap((index, RECALIBRATED), leader) for index, model in enumerate(self.models)}

    def _by_class(self, model: Measured) -> tuple[ClassResult, ...]:
        means = [self._means_by_class(model.rows.get(key)) for key in BY_CLASS]
        return tuple(map(ClassResult, self.classes, _floats(self.class_weights), *means))

    def _means_by_class(self, rows: FloatArray | None) -> list[float | None]:
        """One per class; None where there are no such rows, or no such metric."""
        if rows is None:
            return [None] * len(self.classes)
        totals = self.sample.by_class(self.sample.truth, rows, len(self.classes))
        pairs = zip(totals, self.class_weights, strict=True)
        return [float(total / weight) if weight else None for total, weight in pairs]

    def differences(self) -> tuple[Difference, ...]:
        """Between all pairs of models, the cheaper first."""
        pairs = [self._difference(a, b) for a, b in combinations(range(len(self.models)), 2)]
        adjusted = holm([each.p_value for each in pairs])
        return tuple(replace(each, p_holm=p) for each, p in zip(pairs, adjusted, strict=True))

    def _difference(self, a: int, b: int) -> Difference:
        first, second = (a, "expected_cost"), (b, "expected_cost")
        paid = PAID if PAID in self.columns else "expected_cost"
        gap, realised = self.gap(first, second), self.gap((a, paid), (b, paid))
        difference, (_, scale, pick) = gap.value or 0.0, self._paired(first, second)
        p_value = self.joint.p_value(difference, pick, scale)
        saved = 1000 * max(-difference, 0.0)
        names = self.models[a].name, self.models[b].name
        return Difference(*names, difference, gap.low, gap.high, p_value, None, saved, realised, gap.warning)

    def ranks(self) -> dict[str, tuple[float, ...]]:
        """Each model's place by each metric; equal models share the mean place, infinite ones the last."""
        ranks = {}
        for metric in self.metrics:
            values = self.values[:, self.columns[metric.key]] * (1 if metric.better == "lower" else -1)
            same = np.isclose(values[:, None], values, rtol=ROUNDING, atol=0)
            ahead = (values < values[:, None]) & ~same
            ranks[metric.key] = _floats(1 + ahead.sum(axis=1) + (same.sum(axis=1) - 1) / 2)
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
    numbers = np.searchsorted(np.unique(edges), predicted)
    return tuple(_bin(model, sample, np.flatnonzero(numbers == number), level) for number in np.unique(numbers))


def _bin(model: Measured, sample: Sample, rows: IntArray, level: float) -> Bin:
    weights, observed = sample.weights[rows], model.rows["expected_cost"][rows]
    _, groups = np.unique(sample.cluster_of[rows], return_inverse=True)
    mean, *student = interval_of_mean(observed, weights, groups, level)
    shares = weights / weights.sum()
    predicted, least = (float(shares @ of[rows]) for of in (model.rows["predicted_cost"], model.least_cost))
    errors = within_groups(shares * np.sqrt(model.predicted_variance[rows]), groups)
    effective = effective_number(within_groups(shares, groups))
    by_forecast = interval_by_forecast(mean, predicted, float(errors @ errors), least, effective, level)
    low, high = hull((student[0], student[1]), by_forecast)
    return Bin(predicted, mean, low if low is None else max(0.0, low), high, float(weights.sum()))


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)

"""Every number of every model with what each independent unit adds to it, and its bootstrap replicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from pandora_regret.comparison.measure import COST, Measurement
from pandora_regret.comparison.parts import IntervalMethod
from pandora_regret.comparison.request import Request
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.inference.joint import Figure, within
from pandora_regret.inference.resampling import DrawCounts, weighted_sums, weights_in_parts
from pandora_regret.metrics import Metric

# keys of figures, beside those of metrics
RECALIBRATED = "recalibrated_cost"
PREDICTED = "predicted_cost"


@dataclass(frozen=True)
class ModelFigures:
    """One model: its measurement, its numbers, and the counts of classes that some of them are made of."""

    measurement: Measurement
    by_key: Mapping[str, Figure]  # of every metric; `RECALIBRATED` and `PREDICTED` where there are such costs
    counts: FloatArray  # (3, K) weight of each class that occurs, is predicted, and is rightly predicted

    @property
    def name(self) -> str:
        """The model's name."""
        return self.measurement.name

    @property
    def cost(self) -> Figure:
        """The mean cost of a case."""
        return self.by_key[COST]

    @property
    def recalibrated(self) -> Figure | None:
        """The mean cost of a case once forecasts are recalibrated."""
        return self.by_key.get(RECALIBRATED)


@dataclass(frozen=True)
class _CountMetric:
    """A metric that is a function of class counts (occurs, named, right), (..., K) each."""

    key: str
    value: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # (...)
    gradient: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # (3, K)


@dataclass(frozen=True)
class _ClassesOfRows:
    """A class and a weight of each row, (N,)."""

    classes: IntArray
    weights: FloatArray

    def counts(self, n_classes: int) -> FloatArray:
        """The weight of each class, (K,)."""
        return np.asarray(np.bincount(self.classes, self.weights, n_classes), dtype=np.float64)


def figures_of(measurements: Sequence[Measurement], request: Request) -> tuple[ModelFigures, ...]:
    """All numbers of the models, in their order."""
    return figures_on(measurements, request.sample, request.charge.metrics, len(request.classes), request.interval)


def figures_on(
    measurements: Sequence[Measurement],
    sample: Sample,
    metrics: Sequence[Metric],
    n_classes: int,
    interval: IntervalMethod,
) -> tuple[ModelFigures, ...]:
    """The figures of a model on a sample: means over rows, then functions of counts."""
    of_counts = _metrics_of_counts(metrics)
    replicates: Iterator[FloatArray | None] = repeat(None)
    if interval.replicates:
        replicates = iter(_replicates(measurements, sample, of_counts, n_classes, interval))
    figures = []
    for measurement in measurements:
        by_key = {}
        for key, values in _means(measurement).items():
            by_key[key] = Figure.of_mean(values, sample.weights, sample.cluster_of, next(replicates))
        roles = _classes_of_rows(measurement, sample)
        counts = np.stack([role.counts(n_classes) for role in roles])
        for metric in of_counts:
            value = float(metric.value(*counts))
            influence = _influence(metric, roles, counts, sample)
            by_key[metric.key] = Figure(value, influence, by_key[COST].shares, next(replicates))
        figures.append(ModelFigures(measurement, by_key, counts))
    return tuple(figures)


def _means(measurement: Measurement) -> dict[str, FloatArray]:
    """The values of rows, (N,), whose means are numbers of a model, by their keys."""
    rows = dict(measurement.rows)
    if measurement.recalibrated is not None:
        rows[RECALIBRATED] = measurement.recalibrated.costs
    if measurement.predicted is not None:
        rows[PREDICTED] = measurement.predicted.mean
    return rows


def _metrics_of_counts(metrics: Sequence[Metric]) -> list[_CountMetric]:
    """Those that are functions of class counts."""
    return [
        _CountMetric(metric.key, metric.counts, metric.gradient)
        for metric in metrics
        if not metric.is_mean and metric.counts is not None and metric.gradient is not None
    ]


def _classes_of_rows(measurement: Measurement, sample: Sample) -> tuple[_ClassesOfRows, ...]:
    """The true class of rows, the predicted one, and the rightly predicted one; no weight where none is named."""
    named = sample.truth
    weights = np.zeros(len(named))
    if measurement.named is not None:
        named = measurement.named
        weights = sample.weights
    return (
        _ClassesOfRows(sample.truth, sample.weights),
        _ClassesOfRows(named, weights),
        _ClassesOfRows(named, weights * (named == sample.truth)),
    )


def _influence(
    metric: _CountMetric, roles: Sequence[_ClassesOfRows], counts: FloatArray, sample: Sample
) -> FloatArray:
    """What each unit adds to a metric of a model's class counts, (3, K), to first order, (G,)."""
    by_role = []
    for slope, role in zip(metric.gradient(*counts), roles, strict=True):
        by_role.append(slope[role.classes] * role.weights)
    return within(np.sum(by_role, axis=0), sample.cluster_of)


def _replicates(
    measurements: Sequence[Measurement],
    sample: Sample,
    of_counts: Sequence[_CountMetric],
    n_classes: int,
    interval: IntervalMethod,
) -> FloatArray:
    """Every figure again, in every replicate that drew anything, (models * figures, R)."""
    sums = _sums_of_clusters(measurements, sample)
    roles = [role for measurement in measurements for role in _classes_of_rows(measurement, sample)]
    parts = []
    for _, times_drawn in weights_in_parts(sample.keys, interval.replicates, interval.seed):
        drawn = times_drawn[(times_drawn > 0).any(axis=1)]
        totals = weighted_sums(drawn, sums)
        figures = (totals[:, 1:] / totals[:, :1]).reshape(len(drawn), len(measurements), -1)
        if of_counts:
            counts = _counts_again(drawn[:, sample.cluster_of], roles, n_classes)
            values = [metric.value(counts[:, :, 0], counts[:, :, 1], counts[:, :, 2]) for metric in of_counts]
            figures = np.concatenate([figures, np.stack(values, axis=2)], axis=2)
        parts.append(figures.reshape(len(drawn), -1))
    return np.concatenate(parts).T


def _sums_of_clusters(measurements: Sequence[Measurement], sample: Sample) -> FloatArray:
    """The sums over each cluster of weights, and of weighted rows of all models, (G, 1 + models * means)."""
    columns = [within(sample.weights, sample.cluster_of)]
    for measurement in measurements:
        for values in _means(measurement).values():
            is_finite = np.isfinite(values).all()
            finite = values if is_finite else np.zeros(len(values))  # an infinite mean has no interval
            columns.append(within(sample.weights * finite, sample.cluster_of))
    return np.stack(columns, axis=1)


def _counts_again(times_drawn: DrawCounts, roles: Sequence[_ClassesOfRows], n_classes: int) -> FloatArray:
    """The class counts of all models in replicates that drew each row so many times, (R, N): (R, models, 3, K)."""
    counts: FloatArray = np.empty((len(times_drawn), len(roles), n_classes))
    for replicate, times in enumerate(times_drawn):
        for number, role in enumerate(roles):
            counts[replicate, number] = np.bincount(role.classes, role.weights * times, n_classes)
    return counts.reshape(len(times_drawn), -1, 3, n_classes)

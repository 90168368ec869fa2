"""Every estimate's influences, and every estimate again in each bootstrap replicate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import IntervalMethod
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.intervals import influence_of_mean
from pandora_regret.inference.joint import Joint
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.metrics import Metric


def columns(models: Sequence[Measured], metrics: Sequence[Metric]) -> dict[str, int]:
    """Where each estimate stands in the tables below: means over instances first, then functions of counts."""
    keys = [*models[0].rows, *(metric.key for metric in metrics if not metric.is_mean)]
    return {key: column for column, key in enumerate(keys)}


def values(models: Sequence[Measured], sample: Sample, metrics: Sequence[Metric], n_classes: int) -> FloatArray:
    """Every estimate of every model, (models, columns)."""
    table = []
    for model in models:
        counts = class_counts(model.predicted, sample, n_classes)
        of_counts = [float(metric.counts(*counts)) for metric in metrics if metric.counts is not None]
        table.append([*(sample.mean(rows) for rows in model.rows.values()), *of_counts])
    return np.array(table)


def linearised(
    models: Sequence[Measured],
    sample: Sample,
    metrics: Sequence[Metric],
    n_classes: int,
    interval: IntervalMethod,
) -> Joint:
    """Influences of every model's estimates, summed within clusters."""
    table = [sample.within_clusters(_influences(model, sample, metrics, n_classes)) for model in models]
    return Joint(np.stack(table, axis=1), sample.shares, interval.level, interval.seed)


def _influences(model: Measured, sample: Sample, metrics: Sequence[Metric], n_classes: int) -> FloatArray:
    """One row per instance, one column per estimate."""
    of_means = [influence_of_mean(rows, sample.weights, sample.mean(rows)) for rows in model.rows.values()]
    of_counts = [influence_of_counts(m, model.predicted, sample, n_classes) for m in metrics if not m.is_mean]
    return np.stack([*of_means, *of_counts], axis=1)


def influence_of_counts(metric: Metric, predicted: IntArray, sample: Sample, n_classes: int) -> FloatArray:
    """The derivative of the metric in each instance's weight, times that weight; sums to zero."""
    assert metric.gradient is not None
    occurs, named, right = metric.gradient(*class_counts(predicted, sample, n_classes))
    truth = occurs[sample.truth] if sample.votes is None else sample.votes @ occurs
    return np.asarray(sample.weights * (truth + named[predicted] + right[predicted] * sample.agreement(predicted)))


def class_counts(predicted: IntArray, sample: Sample, n_classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weight of the instances of each class, of those taken for it, and of those rightly so, (K,) each."""
    right, named = (sample.by_class(predicted, of, n_classes) for of in (sample.agreement(predicted), 1.0))
    return sample.class_weights(n_classes), named, right


def bootstrapped(
    models: Sequence[Measured],
    sample: Sample,
    metrics: Sequence[Metric],
    n_classes: int,
    interval: IntervalMethod,
) -> Joint:
    """Every estimate again, in every replicate, beside its influences."""
    of_means = [rows for model in models for rows in model.rows.values()]
    rows = np.stack([np.ones(len(sample.truth)), *of_means], axis=1)
    rows[:, ~np.isfinite(rows).all(axis=0)] = 0.0  # an infinite mean has no interval
    sums = sample.within_clusters(np.ascontiguousarray(sample.weights[:, None] * rows))
    counts = _class_indicators(models, sample, n_classes)
    parts = [
        _estimates(weighted_sums(drawn, sums), drawn @ counts, len(models), metrics, n_classes)
        for _, drawn in weights_in_parts(sample.keys, interval.replicates, interval.seed)
    ]
    plain = linearised(models, sample, metrics, n_classes, interval)
    return replace(plain, replicates=np.concatenate(parts))


def _estimates(
    sums: FloatArray, counts: FloatArray, n_models: int, metrics: Sequence[Metric], n_classes: int
) -> FloatArray:
    """All estimates in some replicates; one in which nothing was drawn is left out."""
    something = sums[:, 0] > 0
    sums, by_class = sums[something], counts[something].reshape(-1, 1 + 2 * n_models, n_classes)
    means = (sums[:, 1:] / sums[:, :1]).reshape(len(sums), n_models, -1)
    occurs, named, right = by_class[:, :1], by_class[:, 1::2], by_class[:, 2::2]
    of_counts = [metric.counts(occurs, named, right) for metric in metrics if metric.counts is not None]
    return np.concatenate([means, *(estimates[:, :, None] for estimates in of_counts)], axis=2)


def _class_indicators(models: Sequence[Measured], sample: Sample, n_classes: int) -> Any:
    """By cluster, weight of each true class; then for each model weight of each class named, and rightly named."""
    from scipy.sparse import csr_array

    case, truth = (
        (np.arange(len(sample.truth)), sample.truth) if sample.votes is None else np.nonzero(sample.votes)
    )
    shares = 1.0 if sample.votes is None else sample.votes[case, truth]
    cases, columns, weights = [case], [truth], [sample.weights[case] * shares]
    for model in models:
        offset = n_classes * len(columns)
        cases += 2 * [np.arange(len(sample.truth))]
        columns += [offset + model.predicted, offset + n_classes + model.predicted]
        weights += [sample.weights, sample.weights * sample.agreement(model.predicted)]
    places = sample.cluster_of[np.concatenate(cases)], np.concatenate(columns)
    return csr_array((np.concatenate(weights), places), shape=(len(sample.keys), n_classes * len(columns)))

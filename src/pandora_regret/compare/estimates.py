"""Every estimate's influences, and every estimate again in each bootstrap replicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pandora_regret.compare.inference import Analytic, Bootstrapped
from pandora_regret.compare.measure import COLUMN, MEANS, Measured
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.metrics.batches import macro_f1, or_one
from pandora_regret.tally import Mean


def analytic(models: Sequence[Measured], sample: Sample, n_classes: int, level: float, seed: int) -> Analytic:
    """Influences of every model's means and macro-F1, summed within clusters."""
    table = np.empty((len(sample.keys), len(models), len(COLUMN)))
    for m, model in enumerate(models):
        for key in MEANS:
            table[:, m, COLUMN[key]] = sample.within_clusters(influence_of_mean(model.of(key), sample.weights))
        of_f1 = influence_of_macro_f1(model.predicted, sample, n_classes)
        table[:, m, COLUMN["macro_f1"]] = sample.within_clusters(of_f1)
    return Analytic(table, level, seed)


def influence_of_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """``w (x - mean) / sum w``; of an infinite mean there is none."""
    mean = Mean.of(values, weights)
    with np.errstate(invalid="ignore"):
        return np.asarray(weights * (values - mean.mean) / mean.weight.value)


def influence_of_macro_f1(predicted: IntArray, sample: Sample, n_classes: int) -> FloatArray:
    """The derivative of ``mean_k 2 TP_k / D_k`` in each instance's weight, times that weight; sums to zero."""
    truth, weights = sample.truth, sample.weights
    found, size = f1_counts(predicted, sample, n_classes)
    gain, loss = 2 / or_one(size), 2 * found / or_one(size) ** 2
    return np.asarray(weights * (gain[truth] * (predicted == truth) - loss[truth] - loss[predicted]) / n_classes)


def f1_counts(predicted: IntArray, sample: Sample, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """True positives TP and ``D = 2 TP + FP + FN`` of each class, by weight."""
    right = predicted == sample.truth
    occurs, named = (sample.by_class(classes, 1.0, n_classes) for classes in (sample.truth, predicted))
    return sample.by_class(predicted, right.astype(np.float64), n_classes), occurs + named


def bootstrapped(
    models: Sequence[Measured], sample: Sample, n_classes: int, level: float, n_replicates: int, seed: int
) -> Bootstrapped:
    """Every estimate again, in every replicate."""
    rows = np.concatenate([np.ones((len(sample.truth), 1)), *(model.rows for model in models)], axis=1)
    rows[:, ~np.isfinite(rows).all(axis=0)] = 0.0  # an infinite mean has no interval
    sums = sample.within_clusters(np.ascontiguousarray(sample.weights[:, None] * rows))
    counts = _class_indicators(models, sample, n_classes)
    parts = [
        _estimates(weighted_sums(drawn, sums), drawn @ counts, len(models), n_classes)
        for _, drawn in weights_in_parts(sample.keys, n_replicates, seed)
    ]
    return Bootstrapped(np.concatenate(parts), level, len(sample.keys))


def _estimates(sums: FloatArray, counts: FloatArray, n_models: int, n_classes: int) -> FloatArray:
    """All models' means and macro-F1 in some replicates; one in which nothing was drawn is left out."""
    something = sums[:, 0] > 0
    sums, by_class = sums[something], counts[something].reshape(-1, 1 + 2 * n_models, n_classes)
    occurs, named, found = by_class[:, :1], by_class[:, 1::2], by_class[:, 2::2]
    means = (sums[:, 1:] / sums[:, :1]).reshape(-1, n_models, len(MEANS))
    return np.concatenate([means, macro_f1(found, occurs + named)[:, :, None]], axis=2)


def _class_indicators(models: Sequence[Measured], sample: Sample, n_classes: int) -> Any:
    """By cluster, weight of each true class; then for each model weight of each class named, and rightly named."""
    from scipy.sparse import csr_array

    columns, weights = [sample.truth], [sample.weights]
    for model in models:
        offset = n_classes * len(columns)
        columns += [offset + model.predicted, offset + n_classes + model.predicted]
        weights += [sample.weights, sample.weights * (model.predicted == sample.truth)]
    at = np.tile(sample.cluster_of, len(columns)), np.concatenate(columns)
    return csr_array((np.concatenate(weights), at), shape=(len(sample.keys), n_classes * len(columns)))

"""Cost calibration: what forecasts predict their searches will cost, against what they cost."""

from __future__ import annotations

import numpy as np

from pandora_regret.compare.result import Bin
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.intervals import (
    effective_number,
    influence_of_mean,
    standard_error,
    student_interval,
)
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.tally import Mean

MOST_BINS = 10
LEAST_ROWS = 10  # a bin, in the mean


def calibration_bins(predicted: FloatArray, observed: FloatArray, sample: Sample, level: float) -> tuple[Bin, ...]:
    """Instances by predicted cost, in bins of about equal weight; equal predictions stay together.

    The intervals of observed means are by linearisation, also where others come from a bootstrap.
    """
    number = _bin_numbers(predicted, sample.weights)
    cluster = sample.cluster_of
    return tuple(
        _bin(predicted[rows], observed[rows], sample.weights[rows], cluster[rows], level)
        for rows in (np.flatnonzero(number == at) for at in np.unique(number))
    )


def _bin_numbers(predicted: FloatArray, weights: FloatArray) -> IntArray:
    n_bins = min(MOST_BINS, max(1, len(predicted) // LEAST_ROWS))
    order = np.argsort(predicted, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    edges = predicted[order][np.searchsorted(shares, np.arange(1, n_bins) / n_bins)]
    return np.searchsorted(np.unique(edges), predicted).astype(np.intp)


def _bin(predicted: FloatArray, observed: FloatArray, weights: FloatArray, cluster: IntArray, level: float) -> Bin:
    _, starts = np.unique(cluster, return_index=True)  # sorted: a cluster's rows stand together
    mean = Mean.of(observed, weights).mean
    influence = np.add.reduceat(influence_of_mean(observed, weights, mean), starts)
    effective = effective_number(np.add.reduceat(weights, starts) / weights.sum())
    low, high = student_interval(mean, standard_error(influence, effective), effective, level)
    at_least_zero = low if low is None else max(0.0, low)
    return Bin(Mean.of(predicted, weights).mean, mean, at_least_zero, high, float(weights.sum()))

"""Cost calibration: what forecasts predict their searches will cost, against what they cost."""

from __future__ import annotations

import numpy as np

from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import Bin
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.intervals import (
    effective_number,
    hull,
    interval_by_forecast,
    interval_of_mean,
    within_groups,
)
from pandora_regret.inputs import FloatArray, IntArray

MOST_BINS = 10
LEAST_ROWS = 10  # a bin, in the mean


def calibration_bins(model: Measured, sample: Sample, level: float) -> tuple[Bin, ...]:
    """Instances by predicted cost, in bins of about equal weight; equal predictions stay together.

    Intervals of observed means are Student's, also where others come from a bootstrap, stretched to what forecasts
    predict of their own spread: a bin's few rows may all have been lucky.
    """
    numbers = _bin_numbers(model.rows["predicted_cost"], sample.weights)
    return tuple(_bin(model, sample, np.flatnonzero(numbers == number), level) for number in np.unique(numbers))


def _bin_numbers(predicted: FloatArray, weights: FloatArray) -> IntArray:
    n_bins = min(MOST_BINS, max(1, len(predicted) // LEAST_ROWS))
    order = np.argsort(predicted, kind="stable")
    shares = np.cumsum(weights[order]) / weights.sum()
    edges = predicted[order][np.searchsorted(shares, np.arange(1, n_bins) / n_bins)]
    return np.searchsorted(np.unique(edges), predicted).astype(np.intp)


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

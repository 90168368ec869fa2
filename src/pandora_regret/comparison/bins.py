"""What forecasts predict their searches will cost, against what they cost, in bins of similar predictions."""

import numpy as np

from pandora_regret.comparison.measure import CostPrediction
from pandora_regret.comparison.result import Bin
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.inference.intervals import ROUNDING, hull, interval_by_forecast
from pandora_regret.inference.joint import Figure, within

MOST_BINS = 10
LEAST_CASES = 10  # per bin, on average


def calibration_bins(
    costs: FloatArray, predicted: CostPrediction, sample: Sample, level: float
) -> tuple[Bin, ...]:
    """Costs, (N,), and what was predicted of them, in bins of about equal weight.

    Equal predictions stay together. Intervals of observed means are Student's, also where others come from a
    bootstrap, stretched to what forecasts predict of their own spread: a bin's few rows may all have been lucky.
    """
    n_bins = min(MOST_BINS, max(1, sample.n_cases // LEAST_CASES))
    order = np.argsort(predicted.mean, kind="stable")
    shares_up_to = np.cumsum(sample.weights[order]) / sample.weights.sum()
    places = np.searchsorted(shares_up_to, np.arange(1, n_bins) / n_bins - ROUNDING)
    edges = predicted.mean[order][places]
    bin_of = np.searchsorted(np.unique(edges), predicted.mean)
    rows_of_bins = [np.flatnonzero(bin_of == number) for number in np.unique(bin_of)]
    return tuple(_calibration_bin(costs, predicted, sample, rows, level) for rows in rows_of_bins)


def _calibration_bin(
    costs: FloatArray, predicted: CostPrediction, sample: Sample, rows: IntArray, level: float
) -> Bin:
    """Predicted and observed cost of the rows of one bin, given by their numbers, (n,)."""
    weights = sample.weights[rows]
    shares = weights / weights.sum()
    _, units = np.unique(sample.cluster_of[rows], return_inverse=True)
    observed = Figure.of_mean(costs[rows], weights, units)
    expected = float(shares @ predicted.mean[rows])
    least = float(shares @ predicted.least[rows])
    errors = within(shares * np.sqrt(predicted.variance[rows]), units)
    variance = float(errors @ errors)
    by_forecast = interval_by_forecast(observed.value, expected, variance, least, observed.effective, level)
    low, high = hull(observed.limits(level), by_forecast)
    if low is not None:
        low = max(0.0, low)
    return Bin(expected, observed.value, low, high, float(weights.sum()))

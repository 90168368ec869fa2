"""What forecasts predict their searches will cost, against what they cost, in bins of similar predictions."""

import numpy as np

from pandora_regret.comparison.measure import CostPrediction
from pandora_regret.comparison.parts import Bin
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

    Equal predictions stay together, also where their sums were rounded in another order of columns. Intervals of
    observed means are Student's, also where others come from a bootstrap, stretched to what forecasts predict of
    their own spread: a bin's few rows may all have been lucky.
    """
    n_bins = min(MOST_BINS, max(1, sample.n_cases // LEAST_CASES))
    levels = levels_of(predicted.mean)
    order = np.argsort(levels, kind="stable")
    shares_up_to = np.cumsum(sample.weights[order]) / sample.weights.sum()
    places = np.searchsorted(shares_up_to, np.arange(1, n_bins) / n_bins - ROUNDING)
    edges = levels[order][places]
    bin_of = np.searchsorted(np.unique(edges), levels)
    rows_of_bins = [np.flatnonzero(bin_of == number) for number in np.unique(bin_of)]
    return tuple(_calibration_bin(costs, predicted, sample, rows, level) for rows in rows_of_bins)


def levels_of(values: FloatArray) -> IntArray:
    """The rank of each value, (N,), from 0 on; values that only rounding parts have one rank."""
    order = np.argsort(values)
    rising = values[order]
    is_higher = np.diff(rising) > ROUNDING * np.abs(rising[1:])
    levels = np.zeros(len(values), np.intp)
    levels[order[1:]] = np.cumsum(is_higher)
    return levels


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

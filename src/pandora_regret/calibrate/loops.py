"""The one loop of calibration, compiled by numba: a fused pass over the scores, instances innermost.

Scores come turned, (K, N), so that the innermost loop runs along instances and becomes vector code however few
the classes are. It handles the instances from `start` to `stop`, so that all cores may share them.
"""

import numpy as np

from pandora_regret.kernels.jit import FAST, exp_parts, njit

LANES = 512  # instances at a time, so that their running sums stay in the cache


@njit(**FAST)
def log_loss_derivatives(scores, truth, inverse_temperature, start, stop, slopes, curvatures):
    """The first two derivatives in 1 / T of each row's log loss of ``scores / T``: cumulants."""
    highest, s0, s1, s2 = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        highest[: last - first] = scores[0, first:last]
        s0[:], s1[:], s2[:] = 0.0, 0.0, 0.0
        for k in range(1, len(scores)):
            row = scores[k, first:last]
            for r in range(len(row)):
                highest[r] = row[r] if row[r] > highest[r] else highest[r]
        for k in range(len(scores)):
            row = scores[k, first:last]
            for r in range(len(row)):
                gap = row[r] - highest[r]
                s, m = exp_parts(inverse_temperature * gap)
                odds = s + s * m
                s0[r] += odds
                s1[r] += odds * gap
                s2[r] += odds * gap * gap
        for r in range(last - first):
            mean = s1[r] / s0[r]
            slopes[first + r] = mean - (scores[truth[first + r], first + r] - highest[r])
            curvatures[first + r] = s2[r] / s0[r] - mean * mean

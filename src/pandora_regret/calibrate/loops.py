"""The one loop of calibration, compiled by numba: a fused pass over the scores, instances innermost.

Scores come turned, (K, N), so that the innermost loop runs along instances and becomes vector code however few
the classes are. The compiled function handles the instances from `start` to `stop`; the one in front of it has all
cores do so, and adds up their sums.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.engine import in_threads
from pandora_regret.kernels.jit import FAST, INLINE, exp_parts, njit

LANES = 512  # instances at a time, so that their running sums stay in the cache


def log_loss_derivatives(rows: LabelledScores, inverse_temperature: float, fold: IntArray) -> FloatArray:
    """The first three derivatives in 1 / T of the log loss of ``scores / T``, summed over each fold, (F, 3)."""
    data, n_folds = (rows.scores, rows.truth, rows.weights), int(fold.max()) + 1

    def sums_of(part: slice) -> FloatArray:
        return np.asarray(_derivatives(*data, inverse_temperature, fold, n_folds, part.start, part.stop))

    return np.asarray(np.sum(in_threads(sums_of, len(rows), rows.scores.size), axis=0))


@njit(**FAST)
def _derivatives(scores, truth, weights, inverse_temperature, fold, n_folds, start, stop):
    """Weighted sums, for each fold, of slope, curvature and third derivative: the cumulants of the scores."""
    sums = np.zeros((n_folds, 3))
    highest, s0, s1, s2, s3 = np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for first in range(start, stop, LANES):
        last = min(first + LANES, stop)
        _highest(scores, first, last, highest)
        s0[:], s1[:], s2[:], s3[:] = 0.0, 0.0, 0.0, 0.0
        for k in range(len(scores)):
            row = scores[k, first:last]
            for r in range(len(row)):
                gap = row[r] - highest[r]
                s, m = exp_parts(inverse_temperature * gap)
                odds = s + s * m
                s0[r] += odds
                s1[r] += odds * gap
                s2[r] += odds * gap * gap
                s3[r] += odds * gap * gap * gap
        for r in range(last - first):
            n = first + r
            mean, square, cube = s1[r] / s0[r], s2[r] / s0[r], s3[r] / s0[r]
            sums[fold[n], 0] += weights[n] * (mean - (scores[truth[n], n] - highest[r]))
            sums[fold[n], 1] += weights[n] * (square - mean * mean)
            sums[fold[n], 2] += weights[n] * (cube - 3 * mean * square + 2 * mean * mean * mean)
    return sums


@njit(**INLINE)
def _highest(scores, first, last, out):
    out[: last - first] = scores[0, first:last]
    for k in range(1, len(scores)):
        row = scores[k, first:last]
        for r in range(len(row)):
            out[r] = row[r] if row[r] > out[r] else out[r]

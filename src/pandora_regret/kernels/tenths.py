"""Losses at many alphas in one pass, compiled by numba: at whole tenths they are powers of one root.

``r^alpha`` is the tenth root of r to the power of 10 alpha, which takes a few multiplications. As in `cpu`, a row
that is not beyond doubt is left NaN, and goes to the reference.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pandora_regret.kernels.cpu import LEAST_RATIO, LEAST_TRUTH, below_one
from pandora_regret.kernels.jit import njit
from pandora_regret.kernels.vector import FAST, exp_parts, log_normal

BITS = 7  # of the largest number of tenths: alpha up to 12.7


@njit(**FAST)
def total_losses(values, truth, tenths, tolerance, out):
    """``sum_j L_alpha(p_i / p_j)`` of every row, in a column for each alpha of so many tenths."""
    n_classes = values.shape[1]
    squares, power = np.empty((BITS, n_classes)), np.empty(n_classes)
    leads, logs = np.empty(n_classes), np.empty(n_classes)
    for n in range(len(values)):
        if not _roots(values[n], truth[n], tolerance, squares[0], leads, logs):
            out[n] = np.nan
            continue
        for b in range(1, BITS):
            _multiply(squares[b - 1], squares[b - 1], squares[b])
        for a in range(len(tenths)):
            power[:] = 1.0
            for b in range(BITS):
                if (tenths[a] >> b) & 1:
                    _multiply(power, squares[b], power)
            out[n, a] = _sum(power, squares, leads, logs, tenths[a]) - 1.0  # the truth, tied with itself


@njit(**FAST)
def _roots(row, i, tolerance, root, leads, logs):
    """Tenth roots of the smaller over the larger probability, who leads the truth, and logarithms; if sound."""
    ours, total, bad = types.float64(row[i]), 0.0, 0
    for j in range(row.size):
        theirs = types.float64(row[j])
        total += theirs
        bad += not theirs >= 0
        ratio = below_one(theirs, ours)
        logs[j] = log_normal(ratio if ratio > LEAST_RATIO else LEAST_RATIO)
        s, m = exp_parts(0.1 * logs[j])
        root[j] = s + s * m if ratio > LEAST_RATIO else 0.0
        leads[j] = 1.0 if theirs > ours else 0.0
    return bad == 0 and abs(total - 1) <= tolerance and ours > LEAST_TRUTH


@njit(**FAST)
def _multiply(first, second, out):
    for j in range(len(out)):
        out[j] = first[j] * second[j]


@njit(**FAST)
def _sum(power, squares, leads, logs, tenths):
    """Rivals that lead add ``1 + (1 + 1/alpha)(1 - r^alpha)``, those behind ``r^-(alpha + 1)``."""
    total, slope = 0.0, 0.0 if tenths == 0 else 1 + 10 / tenths
    for j in range(len(power)):
        rise = -logs[j] if tenths == 0 else slope * (1 - power[j])
        total += leads[j] * (1 + rise) + (1 - leads[j]) * power[j] * squares[1, j] * squares[3, j]
    return total

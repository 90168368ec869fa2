"""What each forecast may cost and what it promises: one compiled pass over the rows.

As in `kernels.cpu`, a row is done here only if it is beyond doubt, and left NaN otherwise.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pandora_regret.kernels.cpu import LEAST_TRUTH, UNIFORM, kind_of, pair_of_probabilities
from pandora_regret.kernels.jit import FAST, njit

TIE_WORTH = 1.0  # of a pair at alpha = inf, where a tie is broken at random


@njit(**FAST)
def row_costs(values, base, mean, share, alpha, tie, tolerance, costs, promised):
    """What each row's search costs if class k is the truth, (n, K), and what it costs by its own forecast, (n,).

    `base` are costs (K,), `mean` is the prior's, and `share` turns L_alpha into a share of it.
    """
    kind, k = kind_of(alpha), values.shape[1]
    quotients, wasted = np.empty(k), np.empty(k)
    for n in range(len(values)):
        total, bad = 0.0, 0
        for i in range(k):
            p = types.float64(values[n, i])
            total += p
            quotients[i], wasted[i] = p / base[i], 0.0
            bad += not p >= 0 or (kind != UNIFORM and quotients[i] <= LEAST_TRUTH)
        if bad > 0 or not abs(total - 1) <= tolerance:
            costs[n], promised[n] = np.nan, np.nan
            continue
        for i in range(k):
            for j in range(i):
                _add_pair(quotients[i], quotients[j], base, i, j, alpha, kind, tie, wasted)
        expected = 0.0
        for i in range(k):
            costs[n, i] = mean * (base[i] + share * wasted[i])
            expected += values[n, i] * costs[n, i]
        promised[n] = expected / total  # a row may sum to 1 only nearly


@njit(**FAST)
def _add_pair(a, b, base, i, j, alpha, kind, tie, wasted):
    """What two classes waste on each other."""
    if a == 0 and b == 0:  # equally likely: their costs decide
        a, b = 1 / base[i], 1 / base[j]
    if kind == UNIFORM:
        ratio = a / b if a < b else b / a
        behind, ahead = 3 - 2 * ratio, ratio * ratio
        wasted[i] += base[j] * (behind if a < b else ahead)
        wasted[j] += base[i] * (ahead if a < b else behind)
    else:
        wasted[i] += base[j] * pair_of_probabilities(b, a, alpha, kind, tie, TIE_WORTH)
        wasted[j] += base[i] * pair_of_probabilities(a, b, alpha, kind, tie, TIE_WORTH)

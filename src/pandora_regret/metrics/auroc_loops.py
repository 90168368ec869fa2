"""AUROC of many replicates, compiled by numba; `formulas.macro_auroc` says what it must compute.

It releases the interpreter's lock, so that slices of the work run in threads.
"""

import numpy as np
from numba import types

from pandora_regret.kernels.jit import FAST, njit

LANES = 256  # replicates at a time: their running sums stay in the cache, and their weights are read in long rows


@njit(**FAST)
def add_aurocs(order, scores, truth, weights, first, last, areas, defined):
    """Add to `areas` the AUROC of every class against the rest, and count those that are defined.

    Instances are sorted by each class's score, (K, N); their weights in all replicates, (N, R), lie side by side,
    and so do the lanes of the loops, which do the replicates from `first` to `last`. Sums are kept in the weights'
    own precision.
    """
    for start in range(first, last, LANES):
        stop = min(start + LANES, last)
        for k in range(len(order)):
            right, above, below = _right_pairs(order[k], scores[k], truth, k, weights, start, stop)
            for r in range(stop - start):
                pairs = types.float64(above[r]) * types.float64(below[r])
                areas[start + r] += types.float64(right[r]) / pairs if pairs > 0 else 0.0
                defined[start + r] += pairs > 0


@njit(**FAST)
def _right_pairs(order, scores, truth, k, weights, start, stop):
    """The weight of pairs in the right order, ties one half; of all of class k; and of all others."""
    right = np.zeros(stop - start, weights.dtype)  # three arrays: rows of one might overlap, and be no vector code
    above, below = np.zeros_like(right), np.zeros_like(right)
    n = 0
    while n < len(order):
        end = n + 1
        while end < len(order) and scores[end] == scores[n]:
            end += 1
        if end > n + 1:
            _add_run(order[n:end], truth, k, weights[:, start:stop], below, above, right)
        elif truth[order[n]] == k:
            _add_positive(weights[order[n], start:stop], below, above, right)
        else:
            _add(weights[order[n], start:stop], below)
        n = end
    return right, above, below


@njit(**FAST)
def _add_run(instances, truth, k, weights, below, above, right):
    """Instances of equal scores: their negatives are worth one half to their positives."""
    tied = np.zeros_like(below)
    for n in instances:
        if truth[n] != k:
            _add(weights[n], tied)
    for n in instances:
        if truth[n] == k:
            _add_positive(weights[n], below, above, right)
            _add_half(weights[n], tied, right)
    _add(tied, below)


# Below, loops run over slices that start at 0, since an index that might be negative is no vector code; and they
# are functions of their own, which LLVM inlines once they are vector code.


@njit(**FAST)
def _add(weight, total):
    for r in range(len(total)):
        total[r] += weight[r]


@njit(**FAST)
def _add_positive(weight, below, above, right):
    for r in range(len(right)):
        right[r] += weight[r] * below[r]
        above[r] += weight[r]


@njit(**FAST)
def _add_half(weight, tied, right):
    for r in range(len(right)):
        right[r] += weight[r] * tied[r] / 2

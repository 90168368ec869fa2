"""The loops of `cpu` for few classes: rows lie side by side, so that the innermost loop runs over them.

A loop over three or seven classes is too short to become vector code. So a lane of rows is turned, classes by
rows, into a buffer that stays in the fastest cache, and every class passes by all rows of the lane at once. What
is scored, what is left NaN, and all formulas of pairs are those of `cpu`.

Each step is a function of its own that reads and writes few arrays: with more, LLVM would have to ask of too many
pairs of arrays whether they overlap, and would not make vector code.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pandora_regret.kernels.cpu import (
    EDGE_OF_TIE,
    LEAST_TRUTH,
    RANKS,
    kind_of,
    pair_of_logits,
    pair_of_probabilities,
    size_of_logit,
)
from pandora_regret.kernels.jit import njit
from pandora_regret.kernels.vector import EXACT, FAST, log_normal

MOST_CLASSES = 10  # with more, a loop over classes is as fast
MOST_LANES, BUFFERED = 256, 768  # rows of a lane, and numbers, about, that stay in the fastest cache
SPACING = 16  # between columns, which would share few places in the cache if they were a power of two apart
AT_ONCE = 8  # rows that are turned together: as many reads are under way before the first is written


@njit(**FAST)
def total_losses(values, logits, truth, costs, alpha, tie, worth, tolerance, out):
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row beyond doubt, else NaN; how many are not.

    Arguments as in `cpu.total_losses`, but costs are None or (1, K), the same for all rows.
    """
    n_rows, k = values.shape
    lanes = min(MOST_LANES, BUFFERED // k // AT_ONCE * AT_ONCE)
    turned, flat, kind = np.empty((k, lanes + SPACING), values.dtype), values.reshape(-1), kind_of(alpha)
    ours, total, loss = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    own, doubtful = None if costs is None else np.empty(lanes), 0  # the truth's cost, or its logarithm
    for low in range(0, n_rows, lanes):
        n = min(lanes, n_rows - low)
        rows, label = flat[low * k : (low + n) * k], truth[low : low + n]
        turn(rows, turned)
        _look_up(rows, label, ours)
        if costs is not None:
            _look_up_costs(costs[0], label, logits, ours, own)
        total[:], loss[:], bad = 0.0, 0.0, 0
        for j in range(k):
            cost = None if costs is None else costs[0, j]
            if logits:
                bad += _count_bad_logits(turned, j, n)
                log_cost = None if costs is None else log_normal(costs[0, j])
                _add_logits(turned, j, label, cost, log_cost, alpha, kind, tie, worth, ours, own, loss)
                if kind == RANKS and costs is not None:
                    _doubt_edges(turned, j, label, log_cost, tie, ours, own, loss)
            elif costs is None:
                bad += _add_probabilities(turned, j, label, alpha, kind, tie, worth, ours, total, loss)
            else:
                bad += _add_to_sums(turned, j, n, total)
                _add_quotients(turned, j, label, cost, alpha, kind, tie, worth, ours, loss)
        if logits:
            doubtful += _keep_logits(ours, loss, bad, out[low : low + n])
        else:
            doubtful += _keep_probabilities(ours, total, loss, tolerance if bad == 0 else -1.0, out[low : low + n])
    return doubtful


@njit(**FAST)
def turn(rows, turned):
    """Rows that lie one after another, (n K,), into columns, (K, n or more)."""
    k = len(turned)
    n = len(rows) // k
    whole = n - n % AT_ONCE
    for first in range(0, whole, AT_ONCE):
        block = rows[first * k : (first + AT_ONCE) * k]
        for j in range(k):
            column = turned[j, first : first + AT_ONCE]
            for r in range(AT_ONCE):
                column[r] = block[j + r * k]
    for r in range(whole, n):
        for j in range(k):
            turned[j, r] = rows[j + r * k]


@njit(**FAST)
def _look_up(rows, label, ours):
    """The truth's own number."""
    k = len(rows) // len(label)
    for r in range(len(label)):
        ours[r] = rows[r * k + label[r]]


@njit(**EXACT)
def _look_up_costs(costs, label, logits, ours, own):
    """The truth's cost, by which its probability is divided, or the logarithm of it."""
    for r in range(len(label)):
        own[r] = costs[label[r]]
    for r in range(len(label)):
        ours[r] = ours[r] if logits else ours[r] / own[r]
    if logits:
        for r in range(len(label)):
            own[r] = log_normal(own[r])


@njit(**EXACT)
def _add_probabilities(turned, j, label, alpha, kind, tie, worth, ours, total, loss):
    """Add a class to each row's sum and losses, where all costs are 1; how many are no probabilities."""
    bad = 0
    for r in range(len(label)):
        theirs, of_tie = types.float64(turned[j, r]), worth[0] if j < label[r] else worth[1]
        total[r] += theirs
        bad += not theirs >= 0
        pair = pair_of_probabilities(theirs, ours[r], alpha, kind, tie, of_tie)
        loss[r] += pair if label[r] != j else 0.0
    return bad


@njit(**FAST)
def _add_to_sums(turned, j, n, total):
    """Add a class to each row's sum; how many of its numbers are no probabilities."""
    bad = 0
    for r in range(n):
        total[r] += types.float64(turned[j, r])
        bad += not turned[j, r] >= 0
    return bad


@njit(**EXACT)
def _add_quotients(turned, j, label, cost, alpha, kind, tie, worth, ours, loss):
    """Add a class of a certain cost to each row's losses."""
    for r in range(len(label)):
        theirs, of_tie = types.float64(turned[j, r]) / cost, worth[0] if j < label[r] else worth[1]
        pair = pair_of_probabilities(theirs, ours[r], alpha, kind, tie, of_tie)
        loss[r] += cost * pair if label[r] != j else 0.0


@njit(**FAST)
def _count_bad_logits(turned, j, n):
    """How many are NaN or +inf."""
    bad = 0
    for r in range(n):
        bad += not turned[j, r] < np.inf
    return bad


@njit(**EXACT)
def _add_logits(turned, j, label, cost, log_cost, alpha, kind, tie, worth, ours, own, loss):
    """Add a class to each row's losses."""
    for r in range(len(label)):
        theirs = types.float64(turned[j, r])
        gap = ours[r] - theirs if cost is None else (ours[r] - theirs) + (log_cost - own[r])
        size = 1 + size_of_logit(ours[r]) + size_of_logit(theirs) if kind == RANKS else 1.0
        pair = pair_of_logits(gap, size, alpha, kind, tie, worth[0] if j < label[r] else worth[1])
        loss[r] += (pair if cost is None else cost * pair) if label[r] != j else 0.0


@njit(**EXACT)
def _doubt_edges(turned, j, label, log_cost, tie, ours, own, loss):
    """NaN for rows at the edge of a tie: logarithms of costs are not the reference's to the last digit."""
    for r in range(len(label)):
        theirs = types.float64(turned[j, r])
        gap, size = (ours[r] - theirs) + (log_cost - own[r]), 1 + size_of_logit(ours[r]) + size_of_logit(theirs)
        near = (abs(abs(gap) - tie * size) <= EDGE_OF_TIE * size) & (label[r] != j)
        loss[r] = np.nan if near else loss[r]


@njit(**FAST)
def _keep_probabilities(ours, total, loss, tolerance, out):
    """Losses of sound rows, else NaN; how many are not sound, as a sum that is NaN never is."""
    doubtful = 0
    for r in range(len(out)):
        sure = (abs(total[r] - 1) <= tolerance) & (ours[r] > LEAST_TRUTH)
        out[r] = loss[r] if sure else np.nan
        doubtful += not sure
    return doubtful


@njit(**FAST)
def _keep_logits(ours, loss, bad, out):
    """Losses of sound rows, else NaN: the truth's logit is finite, and none of the lane is NaN or +inf."""
    doubtful = 0
    for r in range(len(out)):
        out[r] = loss[r] if bad == 0 and abs(ours[r]) < np.inf else np.nan
        doubtful += np.isnan(out[r])
    return doubtful

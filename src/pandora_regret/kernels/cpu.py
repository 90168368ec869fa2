"""The hot loops, compiled by numba: one fused pass over the forecasts, no (N, K) temporary.

A row is scored here only if it is beyond doubt: valid, and with a truth that is not (nearly) impossible. Every
other row is left NaN and goes to the reference, which explains what is wrong with it or scores it.

Costs are a (1, K) or (N, K) array, or None, which compiles to code without costs. Comparisons of alpha with 1
and inf stand inside the loops; LLVM takes them out.
"""

from __future__ import annotations

import numpy as np
from numba import njit, types

from pandora_regret.kernels.vector import FAST, INLINE, SMALLEST, exp_parts, log_normal

LEAST_TRUTH = 1e-150  # below this p / C, ratios to other classes may leave the normal floats
SMALLEST_COST = 2.2250738585072014e-308  # where a product underflows: p / c stays finite
LEAST_RATIO = 1e-300  # a rival this far behind costs nothing


UNIFORM, RANKS, POWER = 1, 2, 3  # alpha = 1, alpha = inf, and any other


@njit(**INLINE)
def kind_of(alpha):
    """Which formula alpha asks for, as an integer, so that LLVM takes the question out of the loop."""
    return UNIFORM if alpha == 1 else (RANKS if alpha == np.inf else POWER)


@njit(**INLINE)
def loss_of_log_odds(gap, alpha):
    """L_alpha at ``ln r = gap``, for finite alpha, from one exponential."""
    exponent = -(alpha + 1) * gap if gap > 0 else alpha * gap
    s, m = exp_parts(exponent)
    decay = s + s * m if exponent > SMALLEST else 0.0
    rise = -gap if alpha == 0 else (1 + 1 / alpha) * ((1 - s) - s * m)
    return decay if gap > 0 else 1 + rise


@njit(**INLINE)
def below_one(a, b):
    """The smaller over the larger, by one division."""
    smaller, larger = (a, b) if a < b else (b, a)
    return smaller / larger


@njit(**INLINE)
def loss_of_odds(theirs, ours, alpha):
    """L_alpha at ``r = ours / theirs``, for finite alpha and ours not near 0."""
    ratio = below_one(theirs, ours)
    gap = log_normal(ratio)
    loss = loss_of_log_odds(-gap if theirs < ours else gap, alpha)
    return loss if ratio > LEAST_RATIO else 0.0


@njit(**INLINE)
def loss_of_uniform_odds(theirs, ours):
    """L_1 at ``r = ours / theirs``: neither exp nor log."""
    ratio = below_one(theirs, ours)
    return ratio * ratio if theirs < ours else 3 - 2 * ratio


@njit(**INLINE)
def loss_of_ranks(theirs, ours, tie):
    """L_inf: 2 behind, 0 ahead, and in a tie what the tie is worth (1 if broken at random)."""
    return 2 * types.float64(theirs > ours) + tie * types.float64(theirs == ours)


@njit(**FAST)
def _sum_probabilities(theirs, costs, ours, alpha, kind, tie):
    """``sum_j C_j L(r_ij)`` over some classes, the sum of their p_j, and how many p_j are no probability."""
    loss, total, bad = 0.0, 0.0, 0
    for j in range(theirs.size):
        p = types.float64(theirs[j])
        total += p
        bad += not p >= 0
        q = p if costs is None else p / costs[j]
        if kind == UNIFORM:
            pair = loss_of_uniform_odds(q, ours)
        elif kind == RANKS:
            pair = loss_of_ranks(q, ours, tie)
        else:
            pair = loss_of_odds(q, ours, alpha)
        loss += pair if costs is None else costs[j] * pair
    return loss, total, bad


@njit(**FAST)
def _sum_logits(theirs, costs, ours, our_cost, alpha, kind, tie):
    """``sum_j C_j L(r_ij)`` over some classes, and how many logits are NaN or +inf."""
    loss, bad = 0.0, 0
    for j in range(theirs.size):
        z = types.float64(theirs[j])
        bad += not z < np.inf
        gap = ours - z if costs is None else (ours - z) + log_normal(costs[j] / our_cost)
        pair = loss_of_ranks(0.0, gap, tie) if kind == RANKS else loss_of_log_odds(gap, alpha)
        loss += pair if costs is None else costs[j] * pair
    return loss, bad


@njit(**FAST)
def _row_of_probabilities(row, costs, i, alpha, ties, tolerance):
    p, kind = types.float64(row[i]), kind_of(alpha)
    ours = p if costs is None else p / costs[i]
    below, above = (None, None) if costs is None else (costs[:i], costs[i + 1 :])
    left, left_total, left_bad = _sum_probabilities(row[:i], below, ours, alpha, kind, ties[0])
    right, right_total, right_bad = _sum_probabilities(row[i + 1 :], above, ours, alpha, kind, ties[1])
    valid = left_bad + right_bad == 0 and abs(left_total + p + right_total - 1) <= tolerance
    return left + right if valid and ours > LEAST_TRUTH else np.nan


@njit(**FAST)
def _row_of_logits(row, costs, i, alpha, ties):
    z, kind = types.float64(row[i]), kind_of(alpha)
    our_cost = 1.0 if costs is None else costs[i]
    below, above = (None, None) if costs is None else (costs[:i], costs[i + 1 :])
    left, left_bad = _sum_logits(row[:i], below, z, our_cost, alpha, kind, ties[0])
    right, right_bad = _sum_logits(row[i + 1 :], above, z, our_cost, alpha, kind, ties[1])
    return left + right if left_bad + right_bad == 0 and np.isfinite(z) else np.nan


@njit(**FAST)
def total_losses(values, logits, truth, costs, alpha, ties, tolerance, out):
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row whose validity and score are beyond doubt, else NaN.

    `ties` is what a tie is worth at alpha = inf, with a class of lower and of higher number.
    """
    for n in range(len(values)):
        of_row = None if costs is None else costs[n if len(costs) > 1 else 0]
        if logits:
            out[n] = _row_of_logits(values[n], of_row, truth[n], alpha, ties)
        else:
            out[n] = _row_of_probabilities(values[n], of_row, truth[n], alpha, ties, tolerance)


@njit(**FAST)
def pair_sums(values, logits, truth, costs, alpha, weights, totals, pairs):
    """Add ``w C_j L_alpha(q_i / q_j)`` to ``pairs[i, j]`` for every row that `total_losses` vouched for."""
    kind = kind_of(alpha)
    for n in range(len(values)):
        if np.isnan(totals[n]):
            continue
        of_row = None if costs is None else costs[n if len(costs) > 1 else 0]
        _add_pairs(values[n], logits, truth[n], of_row, alpha, kind, 1.0 if weights is None else weights[n], pairs)


@njit(**FAST)
def _add_pairs(row, logits, i, costs, alpha, kind, weight, pairs):
    value, our_cost = types.float64(row[i]), 1.0 if costs is None else costs[i]
    for j in range(row.size):
        theirs, cost = types.float64(row[j]), 1.0 if costs is None else costs[j]
        if logits:
            gap = value - theirs if costs is None else (value - theirs) + log_normal(cost / our_cost)
            loss = loss_of_ranks(0.0, gap, 1.0) if kind == RANKS else loss_of_log_odds(gap, alpha)
        elif kind == UNIFORM:
            loss = loss_of_uniform_odds(theirs / cost, value / our_cost)
        elif kind == RANKS:
            loss = loss_of_ranks(theirs / cost, value / our_cost, 1.0)
        else:
            loss = loss_of_odds(theirs / cost, value / our_cost, alpha)
        pairs[i, j] += weight * cost * loss if j != i else 0.0


@njit(**FAST)
def simulate(values, logits, truth, weights, costs, unit_costs, totals):
    """The weighted total cost of all rows' searches under each drawn cost vector; random ties in the mean."""
    for d in range(len(unit_costs)):
        total = 0.0
        for n in range(len(values)):
            of_row = None if costs is None else costs[n if len(costs) > 1 else 0]
            spent = _search(values[n], logits, truth[n], of_row, unit_costs[d])
            total += spent if weights is None else weights[n] * spent
        totals[d] = total


@njit(**FAST)
def _search(row, logits, i, costs, unit_costs):
    """``c_i`` and ``c_j`` of every class j that is tested before i, found by comparison; a tie pays half."""
    value, our_cost = types.float64(row[i]), _cost(costs, unit_costs, i)
    ours = _merit(value, value, our_cost, our_cost, logits)
    spent = 0.5 * our_cost  # the truth ties with itself in the loop, which pays the other half
    for j in range(row.size):
        cost = _cost(costs, unit_costs, j)
        theirs = _merit(types.float64(row[j]), value, cost, our_cost, logits)
        spent += 0.5 * cost * loss_of_ranks(theirs, ours, 1.0)
    return spent


@njit(**INLINE)
def _cost(costs, unit_costs, j):
    cost = unit_costs[j] if costs is None else unit_costs[j] * costs[j]
    return cost if cost > SMALLEST_COST else SMALLEST_COST


@njit(**INLINE)
def _merit(value, of_truth, cost, our_cost, logits):
    """What the search sorts by: ``p / c`` or its logarithm; below all that, impossible classes, cheapest first."""
    if logits:
        return (0.0 if value == of_truth else value - of_truth) - log_normal(cost / our_cost)
    return value / cost if value > 0 else -cost

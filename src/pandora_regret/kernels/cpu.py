"""The hot loops, compiled by numba: one fused pass over the forecasts, no (N, K) temporary.

A row is scored here only if it is beyond doubt: valid, and with a truth that is not (nearly) impossible. Every
other row is left NaN and goes to the reference, which explains what is wrong with it or scores it.

Costs are a (1, K) or (N, K) array, or None, which compiles to code without costs. Comparisons of alpha with 1
and inf stand inside the loops; LLVM takes them out.
"""

import numpy as np
from numba import types

from pandora_regret.kernels.jit import EXACT, FAST, INLINE, SMALLEST, exp_parts, log_normal, njit
from pandora_regret.kernels.reference import SMALLEST_COST

LEAST_TRUTH = 1e-150  # below this p / C, ratios to other classes may leave the normal floats
LEAST_RATIO = 1e-300  # a rival this far behind costs nothing
UNIFORM, RANKS, POWER = 1, 2, 3  # alpha = 1, alpha = inf, and any other


@njit(**INLINE)
def kind_of(alpha):
    """Which formula alpha asks for, as an integer, so that LLVM takes the question out of the loop."""
    return UNIFORM if alpha == 1 else (RANKS if alpha == np.inf else POWER)


@njit(**INLINE)
def loss_of_log_odds(gap, alpha):
    """L_alpha at ``ln r = gap``, for finite alpha, from one exponential."""
    ahead = gap > 0
    exponent = (-(alpha + 1) if ahead else alpha) * gap
    s, m = exp_parts(exponent)
    small = s * m
    decay = s + small if exponent > SMALLEST else 0.0
    rise = -gap if alpha == 0 else (1 + 1 / alpha) * ((1 - s) - small)
    return decay if ahead else 1 + rise


@njit(**INLINE)
def below_one(a, b):
    """The smaller over the larger, by one division."""
    smaller, larger = (a, b) if a < b else (b, a)
    return smaller / larger


@njit(**INLINE)
def loss_of_uniform_odds(theirs, ours):
    """L_1 at ``r = ours / theirs``: neither exp nor log."""
    ratio = below_one(theirs, ours)
    return ratio * ratio if theirs < ours else 3 - 2 * ratio


@njit(**INLINE)
def loss_of_ranks(lead, width, worth):
    """L_inf: 2 where the rival leads, 0 where the truth does, and what a tie is worth (1 if broken at random).

    The truth and its rival tie if they are at most `width` apart; see `reference.tie_widths`.
    """
    return 2 * types.float64(lead > width) + worth * types.float64(abs(lead) <= width)


@njit(**INLINE)
def pair_of_probabilities(theirs, ours, alpha, kind, tie, worth):
    """L_alpha of a pair of quotients ``p / C``; a tie at alpha = inf reaches as far as `tie`, relatively."""
    if kind == UNIFORM:
        pair = loss_of_uniform_odds(theirs, ours)
    elif kind == RANKS:
        pair = loss_of_ranks(theirs - ours, tie * ours, worth)
    else:
        ratio = below_one(theirs, ours)
        gap = log_normal(ratio)
        loss = loss_of_log_odds(-gap if theirs < ours else gap, alpha)
        pair = loss if ratio > LEAST_RATIO else 0.0
    return pair


@njit(**INLINE)
def size_of_logit(logit):
    """What a logit adds to the width of a tie: an impossible class's, nothing."""
    return abs(logit) if logit > -np.inf else 0.0


@njit(**INLINE)
def priced_pair(merit, theirs, own, cost, logits, alpha, kind, tie, worth):
    """``C_j L_alpha(q_i / q_j)`` of a rival's p or logit; `merit` is the truth's p / C, or its logit.

    Costs are the truth's own and the rival's, or None.
    """
    if logits:
        gap = merit - theirs if cost is None else (merit - theirs) + log_normal(cost / own)
        if kind == RANKS:
            pair = loss_of_ranks(-gap, tie * (1 + size_of_logit(merit) + size_of_logit(theirs)), worth)
        else:
            pair = loss_of_log_odds(gap, alpha)
    else:
        pair = pair_of_probabilities(theirs if cost is None else theirs / cost, merit, alpha, kind, tie, worth)
    return pair if cost is None else cost * pair


@njit(**FAST)
def _total(values, n, costs, c, i, logits, alpha, tie, worth, tolerance, weight, pairs):
    """``sum_j C_j L(r_ij)``, or NaN if the row is no forecast, or its truth nearly impossible."""
    ours, kind = types.float64(values[n, i]), kind_of(alpha)
    own = None if costs is None else costs[c, i]
    merit = ours if logits or costs is None else ours / costs[c, i]
    loss, total, bad = 0.0, 0.0, 0
    for j in range(values.shape[1]):
        theirs, cost = types.float64(values[n, j]), None if costs is None else costs[c, j]
        total += theirs
        bad += not (theirs < np.inf if logits else theirs >= 0)
        of_tie = worth[0] if j < i else worth[1]
        pair = priced_pair(merit, theirs, own, cost, logits, alpha, kind, tie, of_tie)
        loss += pair if j != i else 0.0
        if pairs is not None:
            pairs[i, j] += weight * pair if j != i else 0.0
    sure = np.isfinite(ours) if logits else abs(total - 1) <= tolerance and merit > LEAST_TRUTH
    return loss if bad == 0 and sure else np.nan


@njit(**FAST)
def total_losses(values, logits, truth, costs, alpha, tie, worth, tolerance, out, weights, pairs):
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row beyond doubt, else NaN; how many rows are not.

    `tie` is how far apart, relatively, quotients may be in a tie at alpha = inf, and `worth` what a tie is worth
    with a class of lower and of higher number. For logits at alpha = inf there are no costs: their logarithm is
    not the reference's to the last digit, which decides ties. Where `pairs`, (K, K), is not None, the sure rows'
    weighted pairs are added to it. Steps get a table and the number of a row: a view of the row would be counted
    as a reference to the table, and threads would wait for each other at the counter.
    """
    doubtful, of_each = 0, costs is not None and len(costs) > 1
    for n in range(len(values)):
        c, i = n if of_each else 0, truth[n]
        out[n] = _total(values, n, costs, c, i, logits, alpha, tie, worth, tolerance, 0.0, None)
        if np.isnan(out[n]):
            doubtful += 1
        elif pairs is not None:
            weight = 1.0 if weights is None else weights[n]
            _total(values, n, costs, c, i, logits, alpha, tie, worth, tolerance, weight, pairs)
    return doubtful


@njit(**EXACT)
def sweep(costs, keep_before, add_before, keep_after):
    """The sweeps of `reference.swept`, row by row."""
    out = np.empty(costs.shape)
    for n in range(len(costs)):
        before, risen, after = 0.0, 0.0, 0.0
        out[n, 0] = 0.0
        for b in range(keep_after.shape[1]):
            before += costs[n, b]
            risen = keep_before[n, b] * risen + add_before[n, b] * before
            out[n, b + 1] = before + risen
        for b in range(keep_after.shape[1] - 1, -1, -1):
            after = keep_after[n, b] * (after + costs[n, b + 1])
            out[n, b] += after
    return out


@njit(**FAST)
def simulate(values, logits, truth, weights, costs, tie, unit_costs, totals):
    """Add to `totals` the weighted cost of all rows' searches under each drawn cost vector, (K, D).

    Nothing is sorted: the cost of a search is that of all classes which beat the truth, found by comparison; a tie
    pays half. The innermost loop runs over draws and becomes vector code however few the classes are.
    """
    merit = np.empty(len(totals))
    for n in range(len(values)):
        i, ours = truth[n], types.float64(values[n, truth[n]])
        weight, c = 0.5 if weights is None else 0.5 * weights[n], n if costs is not None and len(costs) > 1 else 0
        base = 1.0 if costs is None else costs[c, i]
        _begin_searches(1.0 if logits else ours, base, unit_costs[i], weight, merit, totals)
        for j in range(values.shape[1]):
            theirs, width, base = types.float64(values[n, j]), tie, 1.0 if costs is None else costs[c, j]
            if logits:  # p_j / p_i; two impossible classes tie
                width = tie * (1 + size_of_logit(ours) + size_of_logit(theirs))
                theirs = 1.0 if theirs == ours else np.exp(theirs - ours)
            _add_searches(theirs, base, unit_costs[j], width, weight, merit, totals)


@njit(**FAST)
def _begin_searches(ours, base, unit_costs, weight, merit, totals):
    """The truth's merit, and half of its cost: it ties with itself, which pays the other half."""
    for d in range(len(totals)):
        cost = max(base * unit_costs[d], SMALLEST_COST)
        merit[d] = _merit(ours, cost)
        totals[d] += weight * cost


@njit(**FAST)
def _add_searches(theirs, base, unit_costs, width, weight, merit, totals):
    """Add the cost of a class wherever it is tested before the truth."""
    for d in range(len(totals)):
        cost = max(base * unit_costs[d], SMALLEST_COST)
        lead = _merit(theirs, cost) - merit[d]
        totals[d] += weight * cost * loss_of_ranks(lead, width * abs(merit[d]), 1.0)


@njit(**INLINE)
def _merit(p, cost):
    """What the search sorts by: ``p / c``; below all that, impossible classes, cheapest first."""
    return p / cost if p > 0 else -cost

"""Simulated searches, compiled by numba."""

import numpy as np
from numba import types

from pandora_regret.core.kernels.jit import FAST, INLINE, njit
from pandora_regret.core.kernels.lanes import loss_of_ranks, size_of_logit
from pandora_regret.core.kernels.reference import SMALLEST_COST


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

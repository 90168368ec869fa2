"""The study's hot loops, compiled by numba: searches of many cost draws, tau of many replicates.

Each releases the interpreter's lock, so that slices of the work run in threads, and each has a plain NumPy twin
that says what it must compute.
"""

from __future__ import annotations

import numpy as np
from numba import types

from pandora_regret.kernels.cpu import classes_by_rows, merit_of
from pandora_regret.kernels.jit import FAST, njit

ROWS = 512  # rows of a search at a time, so that what is turned stays in the cache


@njit(**FAST)
def search_bills(values, truth, costs, merit_costs, tie, out):
    """What the search of every row costs under every cost vector, (D, n); ties go by class number.

    `merit_costs` are the costs counted in a power of two: the same order, and no quotient underflows. `tie` is how
    far apart, relatively, quotients may be in a tie.
    """
    for start in range(0, len(values), ROWS):
        stop = min(start + ROWS, len(values))
        turned, _ = classes_by_rows(values[start:stop], truth[start:stop], False, tie)
        for d in range(len(costs)):
            out[d, start:stop] = _bills_of_rows(turned, truth[start:stop], costs[d], merit_costs[d], tie)


@njit(**FAST)
def _bills_of_rows(turned, truth, costs, merit_costs, tie):
    ours, spent = np.empty(len(truth)), np.empty(len(truth))
    for n in range(len(truth)):
        ours[n] = merit_of(turned[truth[n], n], merit_costs[truth[n]], False)
        spent[n] = costs[truth[n]]
    for j in range(len(turned)):
        cost, merit_cost, values = costs[j], merit_costs[j], turned[j]
        for n in range(len(truth)):
            lead, width = merit_of(values[n], merit_cost, False) - ours[n], tie * abs(ours[n])
            first = (lead > width) | ((lead >= -width) & (j < truth[n]))
            spent[n] += cost * types.float64(first)
    return spent


@njit(**FAST)
def replicate_taus(metrics, costs, counts, taus):
    """Kendall's tau-b of every metric with the costs of every replicate, averaged over cost draws.

    `metrics` (Q, M, R), `costs` (M, R, D), `counts` (R, M): how often each model was drawn; `taus` (R, Q). The
    first two have one entry for R where all replicates have the same instances.
    """
    for r in range(len(counts)):
        case = r % metrics.shape[2]
        drawn = np.flatnonzero(counts[r])
        x = np.empty((metrics.shape[0], len(drawn)))
        y = np.empty((costs.shape[2], len(drawn)))
        weight = np.empty(len(drawn))
        for i in range(len(drawn)):
            weight[i] = counts[r, drawn[i]]
            for q in range(len(x)):
                x[q, i] = metrics[q, drawn[i], case]
            for d in range(len(y)):
                y[d, i] = costs[drawn[i], case, d]
        mean_taus(x, y, weight, taus[r])


@njit(**FAST)
def mean_taus(x, y, weight, taus):
    """tau-b of each row of x with the rows of y, averaged over the latter; 0 with a constant row.

    What all pairs (a, b) of models say about costs is summed over draws once, a row of pairs at a time, and then
    weighed with what each metric says: (D + Q) n^2 / 2 comparisons instead of D Q n^2 / 2.
    """
    scale = np.zeros(len(y))
    for d in range(len(y)):
        untied = _untied(y[d], weight)
        scale[d] = 1 / (len(y) * np.sqrt(untied)) if untied > 0 else 0.0
    taus[:], untied_metrics = 0.0, np.zeros(len(x))
    for a in range(len(weight) - 1):
        verdicts = _verdicts(y, a, scale)
        for b in range(len(verdicts)):
            verdicts[b] *= weight[a] * weight[a + 1 + b]
        for q in range(len(x)):
            agreeing, others = _agreeing(x[q, a], x[q, a + 1 :], verdicts, weight[a + 1 :])
            taus[q] += agreeing
            untied_metrics[q] += weight[a] * others
    for q in range(len(x)):
        taus[q] = taus[q] / np.sqrt(untied_metrics[q]) if untied_metrics[q] > 0 else 0.0


@njit(**FAST)
def _untied(values, weight):
    """How many pairs of drawn models differ."""
    total = 0.0
    for a in range(len(values) - 1):
        total += weight[a] * _others(values[a], values[a + 1 :], weight[a + 1 :])
    return total


@njit(**FAST)
def _others(own, values, weight):
    total = 0.0
    for b in range(len(values)):
        total += weight[b] if values[b] != own else 0.0
    return total


@njit(**FAST)
def _verdicts(y, a, scale):
    """By how much, over all draws, model a costs more than each model after it."""
    verdicts = np.zeros(y.shape[1] - a - 1)
    for d in range(len(y)):
        _add_signs(y[d, a], y[d, a + 1 :], scale[d], verdicts)
    return verdicts


@njit(**FAST)
def _add_signs(own, values, scale, verdicts):
    for b in range(len(values)):
        more = verdicts[b] + scale if own > values[b] else verdicts[b]
        verdicts[b] = more - scale if own < values[b] else more


@njit(**FAST)
def _agreeing(own, values, verdicts, weight):
    """The verdicts that a metric shares, less those that it contradicts; and how many models it tells apart."""
    total, others = 0.0, 0.0
    for b in range(len(values)):
        total += (verdicts[b] if own > values[b] else 0.0) - (verdicts[b] if own < values[b] else 0.0)
        others += weight[b] if own != values[b] else 0.0
    return total, others

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
    """Kendall's tau-b of every metric with the costs of every replicate, averaged over cost draws; 0 if constant.

    `metrics` (Q, M, R), `costs` (M, R, D), `counts` (R, M): how often each model was drawn; `taus` (R, Q). The
    first two have one entry for R where all replicates have the same instances. What all pairs (a, b) of models
    say about costs is summed over draws once, a row of pairs at a time, and then weighed with what each metric
    says: (D + Q) n^2 / 2 comparisons instead of D Q n^2 / 2.
    """
    for r in range(len(counts)):
        case, drawn = r % metrics.shape[2], np.flatnonzero(counts[r])
        x, y, weight = metrics[:, :, case][:, drawn], costs[:, case][drawn].T.copy(), counts[r][drawn]
        scale, untied = np.zeros(len(y)), np.zeros(len(x))
        for d in range(len(y)):
            for a in range(len(weight)):
                scale[d] += weight[a] * _compared(y[d, a], y[d, a + 1 :], weight[a + 1 :], weight[a + 1 :])[1]
        scale = 1 / (len(y) * np.sqrt(np.maximum(scale, 1.0)))  # where all tie, whatever it is
        taus[r] = 0.0
        for a in range(len(weight)):
            verdicts = np.zeros(len(weight) - a - 1)  # by how much model a costs more than each after it
            for d in range(len(y)):
                own, values, step = y[d, a], y[d, a + 1 :], scale[d]
                for b in range(len(values)):
                    more = verdicts[b] + step if own > values[b] else verdicts[b]
                    verdicts[b] = more - step if own < values[b] else more
            verdicts *= weight[a] * weight[a + 1 :]
            for q in range(len(x)):
                agreeing, others = _compared(x[q, a], x[q, a + 1 :], weight[a + 1 :], verdicts)
                taus[r, q] += agreeing
                untied[q] += weight[a] * others
        taus[r] /= np.sqrt(np.maximum(untied, 1.0))


@njit(**FAST)
def _compared(own, values, weight, verdicts):
    """The verdicts that a ranking shares, less those that it contradicts; and how many models it tells apart."""
    total, others = 0.0, 0.0
    for b in range(len(values)):
        total += (verdicts[b] if own > values[b] else 0.0) - (verdicts[b] if own < values[b] else 0.0)
        others += weight[b] if own != values[b] else 0.0
    return total, others

"""Kendall's tau of many replicates, compiled by numba; `ranking.replicate_taus` says what it must compute.

It releases the interpreter's lock, so that slices of the work run in threads.
"""

import numpy as np

from pandora_regret.kernels.jit import FAST, njit


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

"""Kendall's tau of many replicates, compiled by numba, as `ranking_agreement.replicate_taus` defines it.

It releases the interpreter's lock, so that slices of the work run in threads.
"""

import numpy as np

from pandora_regret.core.kernels.numba_cache import FAST, INLINE, njit


@njit(**INLINE)
def _sign(one, other):
    """1 if the first number is larger, -1 if the second is, 0 if neither, as with a NaN."""
    return (1.0 if one > other else 0.0) - (1.0 if one < other else 0.0)


@njit(**FAST)
def _taus(x, y, weight):
    """The taus (Q,) of metrics x, (n, Q), with costs y, (n, D), of models that were drawn `weight` times each."""
    scale = np.zeros(y.shape[1])
    untied = np.zeros(x.shape[1])
    agreeing = np.zeros(x.shape[1])
    for a in range(len(y)):
        for b in range(a):
            for d in range(len(scale)):
                scale[d] += weight[a] * weight[b] * abs(_sign(y[a, d], y[b, d]))
    scale = 1 / (len(scale) * np.sqrt(np.maximum(scale, 1.0)))  # where all tie, whatever it is
    for a in range(len(x)):
        for b in range(a):
            pairs = weight[a] * weight[b]
            verdict = 0.0  # by how much model a costs more
            for d in range(len(scale)):
                verdict += scale[d] * _sign(y[a, d], y[b, d])
            for q in range(len(untied)):
                sign = _sign(x[a, q], x[b, q])
                agreeing[q] += pairs * verdict * sign
                untied[q] += pairs * abs(sign)
    return agreeing / np.sqrt(np.maximum(untied, 1.0))


@njit(**FAST)
def replicate_taus(metrics, costs, counts, taus):
    """Kendall's tau-b of every metric with the costs of every replicate, averaged over cost draws; 0 if constant.

    `metrics` (Q, M, R), `costs` (M, R, D), `counts` (R, M): how often each model was drawn; `taus` (R, Q). The
    first two have one entry for R where all replicates have the same instances. What two models say about costs
    is summed over draws once, and then weighed with what each metric says: (D + Q) n^2 / 2 comparisons instead of
    D Q n^2 / 2.
    """
    for r in range(len(counts)):
        case = r % metrics.shape[2]
        drawn = np.flatnonzero(counts[r])
        taus[r] = _taus(metrics[:, :, case][:, drawn].T.copy(), costs[:, case][drawn], counts[r][drawn])

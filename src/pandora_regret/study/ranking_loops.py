"""Kendall's tau of many replicates, compiled by numba; `ranking_agreement.replicate_taus` defines what it computes.

It releases the interpreter's lock, so that slices of the work run in threads.
"""

import numpy as np

from pandora_regret.kernels.jit import FAST, INLINE, njit


@njit(**INLINE)
def _sign(one, other):
    return (1.0 if one > other else 0.0) - (1.0 if one < other else 0.0)


@njit(**FAST)
def replicate_taus(metrics, costs, counts, taus):
    """Kendall's tau-b of every metric with the costs of every replicate, averaged over cost draws; 0 if constant.

    `metrics` (Q, M, R), `costs` (M, R, D), `counts` (R, M): how often each model was drawn; `taus` (R, Q). The
    first two have one entry for R where all replicates have the same instances. What a pair (a, b) of models
    says about costs is summed over draws once, and then weighed with what each metric says: (D + Q) n^2 / 2
    comparisons instead of D Q n^2 / 2.
    """
    for r in range(len(counts)):
        case, drawn = r % metrics.shape[2], np.flatnonzero(counts[r])
        x, y, weight = metrics[:, :, case][:, drawn].T.copy(), costs[:, case][drawn], counts[r][drawn]
        n_models, n_metrics, n_draws = len(drawn), x.shape[1], y.shape[1]
        scale, untied, agreeing = np.zeros(n_draws), np.zeros(n_metrics), np.zeros(n_metrics)
        for a in range(n_models):
            for b in range(a):
                pairs = weight[a] * weight[b]
                for d in range(n_draws):
                    scale[d] += pairs if y[a, d] != y[b, d] else 0.0
        scale = 1 / (n_draws * np.sqrt(np.maximum(scale, 1.0)))  # where all tie, whatever it is
        for a in range(n_models):
            for b in range(a):
                pairs, verdict = weight[a] * weight[b], 0.0  # by how much model a costs more
                for d in range(n_draws):
                    verdict += scale[d] * _sign(y[a, d], y[b, d])
                for q in range(n_metrics):
                    sign = _sign(x[a, q], x[b, q])
                    agreeing[q] += pairs * verdict * sign
                    untied[q] += pairs * sign * sign
        taus[r] = agreeing / np.sqrt(np.maximum(untied, 1.0))

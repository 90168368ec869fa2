"""Kendall's tau-b between rankings of models, for every bootstrap replicate, metric and cost draw at once."""

from __future__ import annotations

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.kernels.engine import worth_compiling


def replicate_taus(metrics: FloatArray, costs: FloatArray, counts: FloatArray) -> FloatArray:
    """tau-b of every metric with the costs in every replicate, averaged over cost draws: (R, Q).

    A model that a replicate drew twice is two models that tie with each other. Infinite values tie with each
    other. A metric, or a draw's costs, that tells no two models apart has tau 0.

    Parameters
    ----------
    metrics
        Every metric of every model in every replicate, (Q, M, R), none of them NaN; or in all of them, (Q, M, 1).
    costs
        What every model's search costs, in every replicate and draw, (M, R, D); or in all replicates, (M, 1, D).
    counts
        How often each replicate drew each model, (R, M).

    Examples
    --------
    >>> costs = np.array([10.0, 20.0, 30.0])[:, None, None]
    >>> metrics = np.array([[0.1, 0.3, 0.2], [0.9, 0.8, 0.7], [0.5, 0.5, 0.5]])[:, :, None]
    >>> replicate_taus(metrics, costs, np.ones((1, 3))).round(3)
    array([[ 0.333, -1.   ,  0.   ]])
    """
    n_metrics, n_models, n_cases = metrics.shape
    n_replicates = len(counts)
    n_compared = (n_metrics + costs.shape[2]) * n_models**2 // 2 * n_replicates
    if not worth_compiling(n_compared):
        arguments = [(metrics[:, :, r % n_cases], costs[:, r % n_cases], counts[r]) for r in range(n_replicates)]
        return np.stack([_mean_taus(*of_replicate) for of_replicate in arguments])
    from pandora_regret.kernels.compiled import in_threads
    from pandora_regret.study.ranking import loops

    taus = np.empty((n_replicates, n_metrics))

    def compare(replicates: slice) -> None:
        cases = replicates if n_cases > 1 else slice(None)
        loops.replicate_taus(metrics[:, :, cases], costs[:, cases], counts[replicates], taus[replicates])

    in_threads(compare, n_replicates, n_compared)
    return taus


def _mean_taus(metrics: FloatArray, costs: FloatArray, counts: FloatArray) -> FloatArray:
    """The definition, for one replicate: metrics (Q, M), costs (M, D), counts (M,)."""
    pairs = np.outer(counts, counts)
    of_draws = np.mean([_signs(cost, pairs) for cost in costs.T], axis=0)
    return np.array([(pairs * _signs(metric, pairs) * of_draws).sum() for metric in metrics])


def _signs(values: FloatArray, pairs: FloatArray) -> FloatArray:
    """Which of two models has the larger value, divided so that a ranking's tau with itself is 1."""
    signs = np.greater.outer(values, values).astype(np.float64) - np.less.outer(values, values)
    untied = (pairs * np.abs(signs)).sum()
    return signs / np.sqrt(untied) if untied else signs

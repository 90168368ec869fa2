"""Rankings of models: Kendall's tau-b between them, and the regret of choosing by one of them.

In each replicate a metric picks among the models drawn, by the instances drawn. What that model costs is paid on
the instances that were left out. The best model must not be picked on the instances that it is paid on either, or
it would be flattered by their chance: the left-out instances are dealt into parts, and on each part the model pays
that is cheapest on all other instances. So the reference is what whoever knew the costs of all these instances
would have deployed. Where no instance was left out, all are the population, and all are paid. Where costs are
drawn, they are averaged: one model is deployed, whatever tests will cost.
"""

from collections.abc import Sequence

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.engine import in_threads, worth_compiling
from pandora_regret.metrics import Metric, weighted_means

PARTS = 5  # into which the instances that a replicate left out are dealt


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
    taus, n_compared = np.empty((len(counts), n_metrics)), len(counts) * (n_metrics + costs.shape[2]) * n_models**2
    if worth_compiling(n_compared // 2):
        from pandora_regret.study import ranking_loops

        def compare(replicates: slice) -> None:
            cases = replicates if n_cases > 1 else slice(None)
            of_cases = metrics[:, :, cases], costs[:, cases]
            ranking_loops.replicate_taus(*of_cases, counts[replicates], taus[replicates])

        in_threads(compare, len(counts), n_compared // 2)
        return taus
    for r, drawn in enumerate(counts):  # the definition: which of two models is ahead, in all rankings
        rankings, pairs = np.vstack([metrics[:, :, r % n_cases], costs[:, r % n_cases].T]), np.outer(drawn, drawn)
        signs = np.where(rankings[:, :, None] > rankings[:, None], 1.0, 0.0)
        signs -= signs.transpose(0, 2, 1)
        untied = (pairs * np.abs(signs)).sum(axis=(1, 2), keepdims=True)
        signs /= np.sqrt(np.maximum(untied, 1))  # a ranking's tau with itself is 1
        taus[r] = (pairs * signs[:n_metrics] * signs[n_metrics:].mean(axis=0)).sum(axis=(1, 2))
    return taus


def regrets_of_choosing(
    metrics: Sequence[Metric], values: FloatArray, excess: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, list[IntArray]]:
    """The excess cost of the models that each metric picks among those drawn, (R, Q); and who they are at first.

    Values are (Q, M, R); where several models tie for best, it is their mean.
    """
    regrets, picked = [], []
    for metric, value in zip(metrics, values, strict=True):
        losses = np.where(drawn > 0, value.T if metric.better == "lower" else -value.T, np.inf)
        best = (losses == losses.min(axis=1, keepdims=True)) & (drawn > 0)
        spent = np.multiply(best * drawn, excess, out=np.zeros_like(excess), where=best)
        regrets.append(spent.sum(axis=1) / (best * drawn).sum(axis=1))
        picked.append(np.flatnonzero(best[0]))
    return np.stack(regrets, axis=1), picked


def excess_costs(
    rows: FloatArray, base: FloatArray, counts: FloatArray, drawn: FloatArray, groups: IntArray
) -> FloatArray:
    """By how much every model costs more than the best one drawn, in every replicate, (R, M).

    `rows` is what each model's search costs each instance, (M, N), `base` how much instances count, (N,),
    `counts` how often each replicate drew them, (R, N), `drawn` how often it drew each model, (R, M), and `groups`
    which instances belong together, (N,): they are dealt into parts as a whole.
    """
    left_out = (counts == 0) * base
    some = left_out.any(axis=1)
    paid = weighted_means(rows[:, :, None], np.where(some[:, None], left_out, base))[:, :, 0].T  # (R, M) or (1, M)
    best = np.asarray(np.where(drawn > 0, paid, np.inf).min(axis=1))
    if some.any():
        best[some] = 0.0
        for part in range(PARTS):
            ours = left_out[some] * (groups % PARTS == part)
            others = weighted_means(rows[:, :, None], base - ours)[:, :, 0].T
            models = np.where(drawn[some] > 0, others, np.inf).argmin(axis=1)
            best[some] += [rows[model, w > 0] @ w[w > 0] for model, w in zip(models, ours, strict=True)]
        best[some] /= left_out[some].sum(axis=1)
    differ = paid != best[:, None]  # infinite both: no excess
    return np.asarray(np.subtract(paid, best[:, None], out=np.zeros(drawn.shape), where=differ))

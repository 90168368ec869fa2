"""The regret of choosing: how much more the model that a metric picks will cost than the best of the zoo.

In each replicate a metric picks among the models drawn, by the instances drawn. What that model costs is paid on
the instances that were left out. The best model must not be picked on the instances that it is paid on either, or
it would be flattered by their chance: the left-out instances are dealt into parts, and on each part the model pays
that is cheapest on all other instances. So the reference is what whoever knew the costs of all these instances
would have deployed. Where no instance was left out, all are the population, and all are paid. Where costs are
drawn, they are averaged: one model is deployed, whatever tests will cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.metrics import Metric, weighted_means

PARTS = 5  # into which the instances that a replicate left out are dealt


def picked_models(metric: Metric, values: FloatArray, drawn: FloatArray) -> NDArray[np.bool_]:
    """Which of the models drawn, (R, M), a metric of values (M, R) holds to be best; several if they tie."""
    losses = np.where(drawn > 0, values.T if metric.better == "lower" else -values.T, np.inf)
    return np.asarray((losses == losses.min(axis=1, keepdims=True)) & (drawn > 0))


def excess_costs(
    rows: FloatArray, base: FloatArray, counts: FloatArray, drawn: FloatArray, groups: IntArray
) -> FloatArray:
    """What every model costs more than the best one drawn, in every replicate, (R, M).

    `rows` is what each model's search costs each instance, (M, N), `base` how much instances count, (N,),
    `counts` how often each replicate drew them, (R, N), `drawn` how often it drew each model, (R, M), and `groups`
    which instances belong together, (N,): they are dealt into parts as a whole.
    """
    left_out = (counts == 0) * base
    weights = np.where(left_out.any(axis=1, keepdims=True), left_out, base)
    paid = weighted_means(rows[:, :, None], weights)[:, :, 0].T  # (R, M), or (1, M) where all have the same
    best = _cost_of_best(rows, base, left_out, paid, drawn, groups % PARTS)[:, None]
    return np.subtract(paid, best, out=np.zeros(drawn.shape), where=paid != best)  # inf and inf: no excess


def _cost_of_best(
    rows: FloatArray, base: FloatArray, left_out: FloatArray, paid: FloatArray, drawn: FloatArray, parts: IntArray
) -> FloatArray:
    """What the best model drawn costs the instances left out, part by part, (R,)."""
    some = left_out.any(axis=1)
    cost = np.asarray(np.where(drawn > 0, paid, np.inf).min(axis=1))
    if not some.any():
        return cost
    total, weight = np.zeros(some.sum()), left_out[some].sum(axis=1)
    for part in range(PARTS):
        ours = left_out[some] * (parts == part)
        others = weighted_means(rows[:, :, None], base - ours)[:, :, 0].T
        best = np.where(drawn[some] > 0, others, np.inf).argmin(axis=1)
        total += _paid_by(rows, best, ours)
    cost[some] = total / weight
    return cost


def _paid_by(rows: FloatArray, models: NDArray[np.intp], weights: FloatArray) -> FloatArray:
    """The weighted sum of one model's costs for each row of weights, (R,); what weighs nothing costs nothing."""
    return np.array([rows[model, w > 0] @ w[w > 0] for model, w in zip(models, weights, strict=True)])


def regret_of(picked: NDArray[np.bool_], excess: FloatArray, drawn: FloatArray) -> FloatArray:
    """The excess cost of the picked models, their mean where several tie: (R,)."""
    weight = picked * drawn
    spent = np.multiply(weight, excess, out=np.zeros_like(excess), where=picked)
    return np.asarray(spent.sum(axis=1) / weight.sum(axis=1))

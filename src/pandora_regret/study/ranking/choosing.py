"""The regret of choosing: how much more the model that a metric picks will cost than the best of the zoo.

In each replicate a metric picks among the models drawn, by the instances drawn. What that model costs is paid on
the instances that were left out; if none were, on all. The best model is, of those drawn, the one that is cheapest
on all instances, paid on the same instances as the picked one. So the picked model gains nothing from having been
picked by chance. Where costs are drawn, they are averaged: one model is deployed, whatever tests will cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray
from pandora_regret.metrics import Metric, weighted_means


def picked_models(metric: Metric, values: FloatArray, drawn: FloatArray) -> NDArray[np.bool_]:
    """Which of the models drawn, (R, M), a metric of values (M, R) holds to be best; several if they tie."""
    losses = np.where(drawn > 0, values.T if metric.better == "lower" else -values.T, np.inf)
    return np.asarray((losses == losses.min(axis=1, keepdims=True)) & (drawn > 0))


def excess_costs(rows: FloatArray, base: FloatArray, counts: FloatArray, drawn: FloatArray) -> FloatArray:
    """What every model costs more than the best one drawn, in every replicate, (R, M).

    `rows` is what each model's search costs each instance, (M, N), `base` how much instances count, (N,),
    `counts` how often each replicate drew them, (R, N), and `drawn` how often it drew each model, (R, M).
    """
    of_all = weighted_means(rows[:, :, None], base[None])[:, 0, 0]
    best = np.where(drawn > 0, of_all, np.inf).argmin(axis=1)
    paid = of_all[None] + np.zeros_like(drawn)
    left_out = (counts == 0) * base
    some = left_out.any(axis=1)
    if some.any():
        paid[some] = weighted_means(rows[:, :, None], left_out[some])[:, :, 0].T
    reference = np.take_along_axis(paid, best[:, None], axis=1)
    return np.subtract(paid, reference, out=np.zeros_like(paid), where=paid != reference)  # inf and inf: no excess


def regret_of(picked: NDArray[np.bool_], excess: FloatArray, drawn: FloatArray) -> FloatArray:
    """The excess cost of the picked models, their mean where several tie: (R,)."""
    weight = picked * drawn
    spent = np.multiply(weight, excess, out=np.zeros_like(excess), where=picked)
    return np.asarray(spent.sum(axis=1) / weight.sum(axis=1))

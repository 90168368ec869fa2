"""What a search wastes for every class that might be the truth: what entropies and divergences average over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast
from pandora_regret.kernels.reference import mean_waste, rank
from pandora_regret.priors import Beta, Prior
from pandora_regret.priors.beta import decay, power, rise


def wasted_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """``sum_j C_j L(r_ij)`` in column i, as if i were the truth: O(K log K) per row in the Beta family."""
    if isinstance(prior, Beta):
        return prior.mean * (prior.loss_to_share * _by_sorting(block, prior.alpha))
    return np.stack([_if_true(block, i, prior) for i in range(block.n_classes)], axis=1)


def _if_true(block: Forecast, i: int, prior: Prior) -> FloatArray:
    truth = np.full(len(block), i, dtype=np.intp)
    return np.asarray(mean_waste(replace(block, truth=truth), prior).sum(axis=1))


def _by_sorting(block: Forecast, alpha: float) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)`` in column i, (n, K), without K^2 pairs.

    In search order the losses of one class follow from those of its neighbour: a step down by x multiplies every
    ``r^alpha`` by ``e^(alpha x)``. So one sweep down sums over the classes tested before each, and one sweep up
    over those after it; all terms are positive, so nothing cancels.
    """
    order, costs, step, tied = rank(block)
    step = np.where(tied, 0.0, step) if alpha == np.inf else step
    waste = _tested_before(step.T, costs.T, alpha) + _tested_after(step.T, costs.T, alpha)
    unsorted = np.empty_like(costs)
    np.put_along_axis(unsorted, order, waste.T, axis=1)
    return unsorted


def _tested_before(step: FloatArray, costs: FloatArray, alpha: float) -> FloatArray:
    """``sum_j C_j [1 + (1 + 1/alpha)(1 - r^alpha)]`` over the classes j before each; all terms positive.

    With ``R = sum_j C_j rise(r_ij)``, a step down by x turns it into ``e^(alpha x) R + rise(x) sum_j C_j``.
    """
    keep, add = power(step, alpha), rise(step, alpha)
    before, risen = np.zeros_like(costs), np.zeros_like(costs)
    for b in range(len(step)):
        before[b + 1] = before[b] + costs[b]
        risen[b + 1] = keep[b] * risen[b] + add[b] * before[b + 1]
    return before + risen


def _tested_after(step: FloatArray, costs: FloatArray, alpha: float) -> FloatArray:
    """``sum_j C_j r^-(alpha + 1)`` over the classes j after each, from the last one up."""
    keep = decay(-step, alpha)
    after = np.zeros_like(costs)
    for b in reversed(range(len(step))):
        after[b] = keep[b] * (after[b + 1] + costs[b + 1])
    return after

"""What a search costs for every class that might be the truth, which entropies, divergences and votes average."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.reference import (
    BROKEN_BY_INDEX,
    Ties,
    by_quotient,
    costs_of,
    mean_waste,
    rank,
    search_order,
)
from pandora_regret.priors import Beta, Prior
from pandora_regret.priors.beta import decay, power, rise

BLOCKS = 4  # rows come in blocks, and a full one is one of many: so many times its size decide whether to compile


def wasted_for_every_truth(block: Forecast, prior: Prior) -> FloatArray:
    """``sum_j C_j L(r_ij)`` in column i, as if i were the truth: O(K log K) per row in the Beta family.

    Parameters
    ----------
    block, prior
        As in `mean_waste`.

    Returns
    -------
    array
        Shape (n, K).
    """
    if isinstance(prior, Beta):
        return prior.mean * (prior.loss_to_share * losses_for_every_truth(block, prior.alpha))
    return np.stack([_if_true(block, i, prior) for i in range(block.n_classes)], axis=1)


def _if_true(block: Forecast, i: int, prior: Prior) -> FloatArray:
    truth = np.full(len(block), i, dtype=np.intp)
    return np.asarray(mean_waste(replace(block, truth=truth), prior).sum(axis=1))


def realised_for_every_truth(block: Forecast, ties: Ties) -> FloatArray:
    """What the search costs at known costs if i is the truth, in column i, (n, K)."""
    if ties != BROKEN_BY_INDEX:
        return np.asarray(costs_of(block) + losses_for_every_truth(block, np.inf) / 2)
    order = search_order(block)
    spent = np.cumsum(np.take_along_axis(costs_of(block), order, axis=1), axis=1)
    return np.take_along_axis(spent, _inverse(order), axis=1)


def place_of_every_truth(block: Forecast) -> IntArray:
    """How many tests the search makes if i is the truth, in column i, (n, K); ties by index."""
    return _inverse(search_order(block)) + 1


def _inverse(order: IntArray) -> IntArray:
    """Where each class stands in its row's order."""
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(order.shape[1])[None, :], axis=1)
    return place


def losses_for_every_truth(block: Forecast, alpha: float) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)`` in column i, (n, K), without K^2 pairs.

    In search order the losses of one class follow from those of its neighbour: a step down by x multiplies every
    ``r^alpha`` by ``e^(alpha x)``. So one sweep down sums over the classes tested before each, and one sweep up
    over those after it; all terms are positive, so nothing cancels.
    """
    from pandora_regret.kernels.engine import worth_compiling

    if 0 < alpha < np.inf and worth_compiling(BLOCKS * block.values.size, alpha):
        losses = _compiled_sweeps(block, alpha)
        rows = np.flatnonzero(np.isnan(losses[:, 0]))
        losses[rows] = _sweeps(block.rows(rows), alpha) if len(rows) else losses[rows]
        return losses
    return _sweeps(block, alpha)


def _compiled_sweeps(block: Forecast, alpha: float) -> FloatArray:
    from pandora_regret.kernels.compiled import in_threads
    from pandora_regret.kernels.every_truth_loops import sweep

    costs = np.ones(block.n_classes) if block.costs is None else block.costs
    values, out = np.ascontiguousarray(block.values, dtype=np.float64), np.empty(block.values.shape)
    tables = values, block.logits, np.ascontiguousarray(np.atleast_2d(costs)), by_quotient(block)

    def job(rows: slice) -> None:
        sweep(*tables, float(alpha), rows.start, rows.stop, out)

    in_threads(job, len(block), BLOCKS * block.values.size)
    return out


def _sweeps(block: Forecast, alpha: float) -> FloatArray:
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

"""The paper's formulas in plain NumPy, one block of rows at a time: the specification of every faster kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.priors import Prior
from pandora_regret.priors.base import log_quotient
from pandora_regret.priors.beta import beta_loss

SMALLEST_COST = float(np.finfo(np.float64).tiny)  # where a product underflows: p / c stays finite

Ties: TypeAlias = tuple[float, float]  # L_inf of a tie with a class of lower, and of higher number
BROKEN_AT_RANDOM: Ties = (1.0, 1.0)
BROKEN_BY_INDEX: Ties = (2.0, 0.0)  # the lower class number is tested first

PairLoss: TypeAlias = Callable[[FloatArray, Any, Any], FloatArray]  # of (ln r, i, j)


def costs_of(block: Forecast) -> FloatArray:
    """C_k of every row: (n, K)."""
    costs = np.ones(block.n_classes) if block.costs is None else block.costs
    return np.broadcast_to(costs, block.values.shape)


def of_class(table: NDArray[Any], column: IntArray) -> NDArray[Any]:
    """The entry of each row in the given column, as an (n, 1) table."""
    return np.take_along_axis(table, column[:, None], axis=1)


def log_odds(block: Forecast) -> FloatArray:
    """``ln r_ij`` of the truth i of each row against every class j, ``r_ij = (p_i / C_i) / (p_j / C_j)``."""
    costs = costs_of(block)
    ours, our_cost = of_class(block.values, block.truth), of_class(costs, block.truth)
    return log_ratio(ours, block.values, our_cost, costs, logits=block.logits)


def log_ratio(
    ours: FloatArray, theirs: FloatArray, our_cost: FloatArray, their_cost: FloatArray, *, logits: bool
) -> FloatArray:
    """``ln((p_a / C_a) / (p_b / C_b))`` from probabilities or from logits.

    Two classes of probability zero count as equally likely, so their costs alone decide.
    The sign is exact: it is zero if, and only if, the two quotients are the same float.
    """
    if logits:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(ours == theirs, 0.0, ours - theirs) + log_quotient(their_cost, our_cost)
    both_zero = (ours == 0) & (theirs == 0)
    unit = unit_near(max(our_cost.max(), their_cost.max()))
    a = np.where(both_zero, 1.0, ours) / (our_cost / unit)
    b = np.where(both_zero, 1.0, theirs) / (their_cost / unit)
    return log_quotient(a, b)


def unit_near(largest_cost: float) -> float:
    """A power of two in which to count costs: exact, and ``p / C`` does not underflow where costs are large."""
    return float(np.exp2(np.frexp(largest_cost)[1] - 1.0))


def wasted_costs(block: Forecast, loss: PairLoss) -> FloatArray:
    """``C_j L(r_ij)``: what each row spends on testing the wrong class j before its truth i; zero at j = i."""
    spent = costs_of(block) * loss(log_odds(block), block.truth[:, None], np.arange(block.n_classes))
    np.put_along_axis(spent, block.truth[:, None], 0.0, axis=1)
    return spent


def mean_waste(block: Forecast, prior: Prior) -> FloatArray:
    """``C_j E[u_j 1(j before i)]``: the mean spend on each wrong test under a prior."""
    return wasted_costs(block, prior.share) * prior.mean


def pair_losses(block: Forecast, alpha: float) -> FloatArray:
    """``C_j L_alpha(q_i / q_j)``, zero at j = i."""
    return wasted_costs(block, lambda odds, i, j: beta_loss(odds, alpha))


def total_losses(block: Forecast, alpha: float) -> FloatArray:
    """``sum_j C_j L_alpha(q_i / q_j)``."""
    return np.asarray(pair_losses(block, alpha).sum(axis=1))


def own_costs(block: Forecast) -> FloatArray:
    """``C_i`` of each row's truth."""
    return np.asarray(of_class(costs_of(block), block.truth)[:, 0])


def unavoidable_costs(block: Forecast, prior: Prior) -> FloatArray:
    """``C_i E[u_i]``: what testing the truth itself costs."""
    return np.asarray(own_costs(block) * prior.mean_of(block.truth))


def sums_by_truth(block: Forecast, table: FloatArray) -> tuple[IntArray, FloatArray]:
    """The classes that occur as truth, and for each the weighted sum of its rows of an (n, K) table."""
    weighted = table if block.weights is None else table * block.weights[:, None]
    order = np.argsort(block.truth, kind="stable")
    classes, starts = np.unique(block.truth[order], return_index=True)
    return classes, np.add.reduceat(weighted[order], starts, axis=0)


def realised_costs(block: Forecast, ties: Ties) -> FloatArray:
    """``c_i`` plus ``c_j`` of every class j with ``p_j / c_j > p_i / c_i``; of a tied j, half its tie's worth."""
    costs, truth, other = costs_of(block), block.truth[:, None], np.arange(block.n_classes)
    odds, tie = log_odds(block), np.where(other < truth, *ties) / 2
    before = np.where(odds == 0, tie, odds < 0)
    np.put_along_axis(before, truth, 1.0, axis=1)
    return np.asarray((costs * before).sum(axis=1))


def simulated_costs(block: Forecast, unit_costs: FloatArray) -> FloatArray:
    """The cost of every row's search under every drawn cost vector, found by comparison with the truth."""
    costs = np.maximum(costs_of(block) * unit_costs[:, None, :], SMALLEST_COST)  # (draws, rows, K)
    truth = np.broadcast_to(block.truth[None, :, None], (*costs.shape[:2], 1))
    our_cost = np.take_along_axis(costs, truth, axis=2)
    merit = _merit(block, costs, our_cost)
    ours = np.take_along_axis(merit, truth, axis=2)
    before = (merit > ours) + 0.5 * (merit == ours)  # the truth ties with itself: half of its cost
    return np.asarray((costs * before).sum(axis=2) + our_cost[:, :, 0] / 2)


def _merit(block: Forecast, costs: FloatArray, our_cost: FloatArray) -> FloatArray:
    """What the search sorts by: ``p / c`` or its logarithm; below all that, impossible classes, cheapest first."""
    if block.logits:
        return -log_ratio(of_class(block.values, block.truth), block.values, our_cost, costs, logits=True)
    return np.where(block.values > 0, block.values / costs, -costs)


def search_order(block: Forecast) -> IntArray:
    """Classes by falling ``p_k / C_k``; among the impossible ones the cheapest first; then by index."""
    costs = costs_of(block)
    impossible = block.values == (-np.inf if block.logits else 0.0)
    merit = _log_merit(block.values, costs) if block.logits else block.values / (costs / unit_near(costs.max()))
    return np.lexsort((np.where(impossible, costs, 0.0), -merit), axis=1)


def _log_merit(logits: FloatArray, costs: FloatArray) -> FloatArray:
    """``ln(p / C)`` up to a constant of the row; under equal costs the logits themselves, so no digit is lost."""
    equal_costs = (costs == costs[:, :1]).all(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        merit = logits - logits.max(axis=1, keepdims=True) - np.log(costs)
    return np.where(equal_costs, logits, merit)


def probabilities(block: Forecast) -> FloatArray:
    """The p_k themselves, needed only for an expectation over the forecast; elsewhere ratios are enough."""
    if not block.logits:
        return block.values
    unnormalised = np.exp(block.values - block.values.max(axis=1, keepdims=True))
    return np.asarray(unnormalised / unnormalised.sum(axis=1, keepdims=True))

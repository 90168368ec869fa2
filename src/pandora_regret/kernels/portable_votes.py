"""Rows whose truth is votes, on arrays of any library: what every class would cost as the truth, in O(K log K).

The sums of `pandora_regret.integrations.torch.soft_targets`, without changing an array in place and with automatic
differentiation left to the library: what a class has gathered from the d classes next to it in falling order of
merit, it passes on to the class d places further, shrunk by the quotient of their merits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pandora_regret.kernels.portable import (
    Array,
    Namespace,
    costs_of,
    finite_size,
    limit_of,
    log_quotient,
    power,
    rise,
    settle_ties,
    tie_of,
)
from pandora_regret.priors import Beta


class VoteLadder(NamedTuple):
    """The classes of every row in falling order of merit, (N, K) each."""

    values: Array  # probabilities, or logits
    votes: Array
    costs: Array
    logits: bool


def search_cost_of_votes(
    votes: Array, values: Array, xp: Namespace, prior: Beta, *, costs: Any = None, logits: bool = False
) -> Array:
    """The expected search cost of every row in the mean over its votes, (N,)."""
    wasted = total_loss_of_votes(votes, values, xp, prior.alpha, costs=costs, logits=logits) * prior.loss_to_share
    costs = costs_of(values, costs, xp)
    return prior.mean * (wasted + (1.0 if costs is None else xp.sum(votes * costs, axis=1)))


def total_loss_of_votes(
    votes: Array, values: Array, xp: Namespace, alpha: float, *, costs: Any = None, logits: bool = False
) -> Array:
    """``sum_i votes_i sum_j C_j L_alpha(q_i / q_j)`` of every row, (N,); votes sum to 1."""
    alpha, costs = limit_of(alpha), costs_of(values, costs, xp)
    with np.errstate(all="ignore"):
        ladder = _descend(votes, values, costs, logits, xp)
        losses = _losses(ladder, alpha, xp)
        return xp.sum(ladder.votes * xp.where(ladder.votes == 0, 0.0, losses), axis=1)


def _descend(votes: Array, values: Array, costs: Array | None, logits: bool, xp: Namespace) -> VoteLadder:
    """Sort the classes of every row; among the impossible ones the cheapest comes first."""
    if costs is None:
        order = xp.argsort(values, axis=1, descending=True, stable=True)
        costs = xp.ones_like(values)
    else:
        cheapest = xp.argsort(costs, axis=1, stable=True)
        merit = values - xp.max(values, axis=1, keepdims=True) - xp.log(costs) if logits else values / costs
        by_merit = xp.argsort(xp.take_along_axis(merit, cheapest, axis=1), axis=1, descending=True, stable=True)
        order = xp.take_along_axis(cheapest, by_merit, axis=1)
    values, votes, costs = (xp.take_along_axis(table, order, axis=1) for table in (values, votes, costs))
    return VoteLadder(values, votes, costs, logits)


def _losses(ladder: VoteLadder, alpha: float, xp: Namespace) -> Array:
    """The loss of each class, were it the truth, (N, K): see `soft_targets._losses`."""
    before, risen, below = ladder.costs, xp.zeros_like(ladder.costs), ladder.costs
    distance = 1
    while distance < ladder.values.shape[1]:
        d, drop = distance, _drop(ladder, distance, alpha, xp)
        gathered = power(drop, alpha, xp) * risen[:, :-d] + rise(drop, alpha, xp) * before[:, :-d]
        risen = risen + _further(gathered, d, xp)
        before = before + _further(before[:, :-d], d, xp)
        below = below + _nearer(power(drop, alpha + 1, xp) * below[:, d:], d, xp)
        distance *= 2
    after = power(_drop(ladder, 1, alpha, xp), alpha + 1, xp) * below[:, 1:]
    return risen + _further(before[:, :-1], 1, xp) + _nearer(after, 1, xp)


def _drop(ladder: VoteLadder, distance: int, alpha: float, xp: Namespace) -> Array:
    """``ln(q_b / q_a) <= 0`` of each class b to the class a that stands `distance` places above it, (N, K - d)."""
    above, below = ladder.values[:, :-distance], ladder.values[:, distance:]
    dear, cheap = ladder.costs[:, distance:], ladder.costs[:, :-distance]
    impossible = -float("inf") if ladder.logits else 0.0
    both = (above == impossible) & (below == impossible)
    above, below = xp.where(both, 1.0, above), xp.where(both, 1.0, below)
    if ladder.logits:
        drop = below - above + log_quotient(cheap, dear, xp)
        width: Any = tie_of(drop.dtype, xp) * (1 + finite_size(above, xp) + finite_size(below, xp))
    else:
        drop, width = log_quotient(below / dear, above / cheap, xp), tie_of(above.dtype, xp)
    drop = settle_ties(drop, width, xp) if alpha == float("inf") else drop
    return xp.where(drop <= 0, drop, 0.0)  # rounding may rise above 0; a tie keeps its slope


def _further(table: Array, distance: int, xp: Namespace) -> Array:
    """The same, so many places further down; nothing comes to those at the top."""
    return xp.concat([_nothing(table, distance, xp), table], axis=1)


def _nearer(table: Array, distance: int, xp: Namespace) -> Array:
    """The same, so many places further up; nothing comes to those at the bottom."""
    return xp.concat([table, _nothing(table, distance, xp)], axis=1)


def _nothing(like: Array, columns: int, xp: Namespace) -> Array:
    return xp.zeros_like(xp.broadcast_to(like[:, :1], (like.shape[0], columns)))

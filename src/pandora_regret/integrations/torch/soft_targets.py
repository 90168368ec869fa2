"""Rows whose target is a distribution over the classes (soft targets, label smoothing), in O(K log K) per row.

With merits ``q_k = p_k / C_k`` in falling order, the loss of a class sums a falling exponential over the classes
above it, and another over those below. Such sums grow by doubling: what a class has gathered from the d classes
next to it, it passes on to the class d places further, shrunk by the quotient of their merits. Every term is
positive and every factor at most 1, so that nothing cancels or overflows, at any alpha.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import torch

from pandora_regret.kernels.portable import finite_size, power, rise, settle_ties, tie_of

LossAndGradient: TypeAlias = tuple[torch.Tensor, torch.Tensor | None]  # (n,), and (n, K) if it is wanted


class Ladder(NamedTuple):
    """The classes of every row in falling order of merit."""

    order: torch.Tensor  # (n, K) class numbers
    logits: torch.Tensor  # (n, K)
    costs: torch.Tensor  # (n, K)
    priced: bool  # whether costs differ from 1
    jumps: bool  # whether the loss jumps at a tie, so that what is one has to be decided

    def steps(self) -> Iterator[tuple[int, torch.Tensor]]:
        """Distances 1, 2, 4, ... below K, and the drop from each class to the one as far below it."""
        return ((1 << bit, self.drop(1 << bit)) for bit in range((self.logits.shape[1] - 1).bit_length()))

    def drop(self, distance: int) -> torch.Tensor:
        """``ln(q_b / q_a) <= 0`` of each class b to the class a that stands `distance` places above it."""
        above, below = self.logits[:, :-distance], self.logits[:, distance:]
        drop = torch.where(above == below, 0.0, below - above)  # two impossible classes are equally likely
        if self.priced:
            drop += (self.costs[:, :-distance] / self.costs[:, distance:]).log_()
        if self.jumps:
            size = 1 + finite_size(above, torch) + finite_size(below, torch)
            drop = settle_ties(drop, tie_of(drop.dtype, torch) * size, torch)
        return drop.clamp_(max=0.0)


def loss_of_soft_targets(
    logits: torch.Tensor, truth: torch.Tensor, alpha: float, costs: torch.Tensor | None, *, want_grad: bool
) -> LossAndGradient:
    """``sum_i truth_i sum_j C_j L_alpha(q_i / q_j)`` of every row, (n,), and its gradient in the logits, (n, K).

    An impossible class, of logit -inf, has gradient 0.
    """
    ladder = _descend(logits, costs, jumps=alpha == torch.inf)
    truth = truth.gather(1, ladder.order)
    losses = _losses(ladder, alpha)
    total = torch.where(truth == 0, 0.0, truth * losses).sum(dim=1)  # an infinite loss of no weight counts 0
    if not want_grad:
        return total, None
    slopes = _slopes(ladder, truth, alpha).masked_fill_(ladder.logits == -torch.inf, 0.0)
    return total, torch.empty_like(slopes).scatter_(1, ladder.order, slopes)


def _descend(logits: torch.Tensor, costs: torch.Tensor | None, *, jumps: bool) -> Ladder:
    """Sort the classes of every row; among the impossible ones the cheapest comes first."""
    if costs is None:
        values, order = logits.sort(dim=1, descending=True)
        return Ladder(order, values, torch.ones_like(values), False, jumps)
    cheapest = costs.argsort()
    merit = logits - logits.amax(dim=1, keepdim=True) - costs.log()
    order = cheapest[merit[:, cheapest].argsort(dim=1, descending=True, stable=True)]
    return Ladder(order, logits.gather(1, order), costs[order], True, jumps)


def _losses(ladder: Ladder, alpha: float) -> torch.Tensor:
    """The loss of each class, were it the truth, (n, K).

    Of the classes above, with ``W = sum_j C_j`` and ``R = sum_j C_j rise(r)``, a drop by x turns R into
    ``e^(alpha x) R + rise(x) W``.
    """
    cost, risen, below = ladder.costs.clone(), torch.zeros_like(ladder.costs), ladder.costs.clone()
    for d, drop in ladder.steps():
        risen[:, d:] += power(drop, alpha, torch) * risen[:, :-d] + rise(drop, alpha, torch) * cost[:, :-d]
        cost[:, d:] = cost[:, d:] + cost[:, :-d]
        below[:, :-d] += power(drop, alpha + 1, torch) * below[:, d:]
    risen[:, 1:] += cost[:, :-1]
    risen[:, :-1] += power(ladder.drop(1), alpha + 1, torch) * below[:, 1:]
    return risen


def _slopes(ladder: Ladder, truth: torch.Tensor, alpha: float) -> torch.Tensor:
    """What each class is pushed up as a rival of the others, less what it is pulled down as the truth, (n, K)."""
    if alpha == torch.inf:
        return torch.zeros_like(truth)
    sources = torch.stack([truth, ladder.costs])
    above, below = sources.clone(), sources.clone()
    for d, drop in ladder.steps():
        down, up = _factors(drop, alpha)
        above[..., d:] += down * above[..., :-d]
        below[..., :-d] += up * below[..., d:]
    down, up = _factors(ladder.drop(1), alpha)
    from_others = torch.zeros_like(sources)
    from_others[..., 1:] += down * above[..., :-1]
    from_others[..., :-1] += up * below[..., 1:]
    return (alpha + 1) * (ladder.costs * from_others[0] - truth * from_others[1])


def _factors(drop: torch.Tensor, alpha: float) -> tuple[torch.Tensor, torch.Tensor]:
    """How what truths and what costs pass on shrinks on the way down, and on the way up: each (2, n, K - d)."""
    fast, slow = power(drop, alpha + 1, torch), power(drop, alpha, torch)
    return torch.stack([fast, slow]), torch.stack([slow, fast])

"""The loss of rows of one truth each, as a compiler reads it: plain operations, which it fuses as it likes.

An operator of our own would be opaque to the compiler: every step would pass through the dispatcher and Python
twice, which takes the host longer than the whole of a compiled cross-entropy. Written out, the forward becomes one
reduction over the logits and the backward one pass that reads them and writes the gradient.

With ``P_j = r_j^-(alpha + 1)`` where the truth is ahead of class j and ``P_j = r_j^alpha`` where it is behind,

    L_alpha(r_j) = P_j + (2 + 1 / alpha) max(0, 1 - r_j^alpha),        -dL_alpha / d ln r_j = (alpha + 1) P_j,

so that the sum of all ``P_j``, which the loss needs, is also what the backward needs for the truth's own gradient.
(A sum that the loss did not need would be left to the backward, which would then read the logits twice.)

Alpha is a 0-d tensor on the CPU, whose value is no part of the graph: an alpha that changes compiles nothing anew.
It meets tensors of the logits' device only, one at a time, and so becomes an argument of their kernels: two alphas
that met first would need a kernel on the CPU. The limits at 0 and infinity have graphs of their own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from pandora_regret.core.inputs import InputError
from pandora_regret.core.kernels.portable import tie_of

LEAST_LOGIT = -3.0e38  # stands for -inf, so that two impossible classes tie instead of giving NaN


def precision_of(logits: Tensor) -> torch.dtype:
    """What is computed in, and returned: half precision is too coarse for sums."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


class Context(Protocol):
    """What autograd hands to a forward, and then to its backward."""

    saved_tensors: tuple[Any, ...]  # tensors, and None where there was none
    needs_input_grad: tuple[bool, ...]

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the backward."""


ZERO = "zero"
POSITIVE = "positive"
INFINITE = "infinite"


class GraphAlpha(NamedTuple):
    """An alpha as graphs take it: its value, (), and which formula of L_alpha holds for it."""

    value: Tensor
    kind: str


def alpha_for_graphs(alpha: float) -> GraphAlpha:
    """Alpha on the CPU, where compiled code reads it anew at every step."""
    if alpha == 0:
        kind = ZERO
    elif alpha == math.inf:
        kind = INFINITE
    else:
        kind = POSITIVE
    return GraphAlpha(torch.full((), alpha, dtype=torch.float64), kind)


class RowsContext(Context, Protocol):
    """What the backward of `LossOfRows` knows."""

    kind: str
    ignore_index: int


class LossOfRows(torch.autograd.Function):
    """Losses (N,) of logits (N, K), targets (N,), costs (K,) or None, alpha (), its kind, the class to ignore."""

    @staticmethod
    def forward(
        ctx: RowsContext,
        logits: Tensor,
        target: Tensor,
        costs: Tensor | None,
        alpha: Tensor,
        kind: str,
        ignore_index: int,
    ) -> Tensor:
        gaps = log_odds(logits, target, costs)
        rivals = rival_columns(logits, target)
        if kind == INFINITE:
            power_sums = logits.new_zeros(logits.shape[0], dtype=gaps.dtype)
            loss_sums = sum_over_rivals(loss_by_rank(gaps, tie_width(logits, target)), rivals, costs)
        else:
            exponent = exponents(gaps, alpha, kind)
            powers = exponent.exp()
            power_sums = sum_over_rivals(powers, rivals, costs)
            lost_sums = sum_over_rivals(power_lost_behind(gaps, exponent, powers, kind), rivals, costs)
            weighted_lost_sums = lost_sums if kind == ZERO else 2 * lost_sums + lost_sums / alpha
            loss_sums = power_sums + weighted_lost_sums
        losses = loss_sums * share_of_pair(logits)
        is_class = (target >= 0) & (target < logits.shape[1])
        losses = torch.where(is_class, losses, torch.nan)  # as on a device: raising would mean waiting
        ctx.save_for_backward(logits, target, costs, alpha, power_sums)
        ctx.kind = kind
        ctx.ignore_index = ignore_index
        return torch.where(target == ignore_index, 0.0, losses)

    @staticmethod
    def backward(ctx: RowsContext, *factors: Tensor) -> tuple[Tensor | None, ...]:
        logits, target, costs, alpha, power_sums = ctx.saved_tensors
        if ctx.kind == INFINITE:
            return torch.zeros_like(logits), None, None, None, None, None
        powers = exponents(log_odds(logits, target, costs), alpha, ctx.kind).exp()
        if costs is not None:
            powers = powers * costs
        truth_is_possible = logit_of_truth(logits, target) > LEAST_LOGIT
        of_truth = torch.where(truth_is_possible, -power_sums.unsqueeze(1), 0.0)
        slopes = torch.where(rival_columns(logits, target), powers, of_truth)
        slopes = torch.where(logits == -torch.inf, 0.0, slopes)
        counted = (target != ctx.ignore_index) & (target >= 0) & (target < logits.shape[1])
        weights = factors[0] * share_of_pair(logits)
        weights = torch.where(counted, weights * alpha + weights, 0.0).unsqueeze(1)
        gradient = torch.where(weights == 0, 0.0, slopes * weights)  # ignored rows may hold any logits
        return gradient.to(logits.dtype), None, None, None, None, None


def share_of_pair(logits: Tensor) -> float:
    """What the loss of a pair is multiplied by in the loss of its row."""
    return 1 / (3 * (logits.shape[1] - 1))


def sum_over_rivals(terms: Tensor, rivals: Tensor, costs: Tensor | None) -> Tensor:
    """The sum of a row's terms, (N,), each times its class's cost, without the truth's own."""
    if costs is not None:
        terms = terms * costs
    return torch.where(rivals, terms, 0.0).sum(dim=1)


def rival_columns(logits: Tensor, target: Tensor) -> Tensor:
    """Where the classes stand that are not the truth, (N, K)."""
    columns = torch.arange(logits.shape[1], dtype=torch.int32, device=logits.device)
    return columns != column_of_truth(logits, target).to(torch.int32)


def possible(logits: Tensor) -> Tensor:
    """Logits in the precision of the loss, -inf as `LEAST_LOGIT`; NaN stays NaN."""
    values = logits.to(precision_of(logits))
    return torch.where(values == -torch.inf, LEAST_LOGIT, values)


def column_of_truth(logits: Tensor, target: Tensor) -> Tensor:
    """The truth's column in every row, (N, 1); any other for a target that is no class."""
    return target.clamp(0, logits.shape[1] - 1).unsqueeze(1)


def logit_of_truth(logits: Tensor, target: Tensor) -> Tensor:
    """The truth's logit in every row, (N, 1)."""
    return possible(logits.gather(1, column_of_truth(logits, target)))


def log_odds(logits: Tensor, target: Tensor, costs: Tensor | None) -> Tensor:
    """``ln r`` of the truth against every class, (N, K)."""
    gaps = logit_of_truth(logits, target) - possible(logits)
    if costs is None:
        return gaps
    return gaps + (costs / costs[column_of_truth(logits, target)]).log()


def tie_width(logits: Tensor, target: Tensor) -> Tensor:
    """How far from 0 a gap may be and count as a tie at alpha = inf, (N, K): it grows with the logits' size."""
    values = possible(logits)
    sizes = torch.where(values > LEAST_LOGIT, values.abs(), 0.0)
    truth_logit = logit_of_truth(logits, target)
    size_of_truth = torch.where(truth_logit > LEAST_LOGIT, truth_logit.abs(), 0.0)
    return tie_of(logits.dtype, torch) * (1 + sizes + size_of_truth)


def exponents(gaps: Tensor, alpha: Tensor, kind: str) -> Tensor:
    """What e is raised to in ``P_j``: ``-(alpha + 1) ln r`` ahead, ``alpha ln r`` behind, (N, K)."""
    if kind == ZERO:
        return -gaps.clamp(min=0.0)
    scaled = gaps * alpha
    return torch.where(gaps > 0, -scaled - gaps, scaled)


def one_minus_exp(exponent: Tensor, power: Tensor) -> Tensor:
    """``1 - e^y``, precise near 0, where `power` is ``e^y``.

    The compiler's own `expm1` of float32 has lost its digits there; a series takes fewer instructions, too. It
    multiplies by reciprocals, since a device divides at a sixteenth of the speed.
    """
    if exponent.dtype == torch.float64:
        return -exponent.expm1()
    y = exponent
    series = -y * (1 + y * (1 / 2 + y * (1 / 6 + y * (1 / 24 + y * (1 / 120 + y * (1 / 720))))))
    return torch.where(y > -0.3, series, 1 - power)


def power_lost_behind(gaps: Tensor, exponent: Tensor, powers: Tensor, kind: str) -> Tensor:
    """``1 - r_j^alpha`` where the truth is behind, else 0, (N, K); at 0 its quotient by alpha, ``-ln r_j``."""
    if kind == ZERO:
        lost = torch.where(gaps < LEAST_LOGIT / 2, torch.inf, -gaps)
    else:
        lost = one_minus_exp(exponent, powers)
    return torch.where(gaps > 0, 0.0, lost)


def loss_by_rank(gaps: Tensor, width: Tensor) -> Tensor:
    """The limit of L_alpha at infinity, (N, K): 0 ahead, 1 in a tie, 2 behind; NaN stays NaN."""
    by_rank = torch.where(gaps > width, 0.0, torch.where(gaps < -width, 2.0, 1.0))
    return torch.where(gaps.isnan(), gaps, by_rank)


def costs_in_graph(costs: Tensor | None, logits: Tensor) -> Tensor | None:
    """Costs (K,) where and in the precision in which the loss is computed."""
    if costs is None:
        return None
    if costs.shape != logits.shape[1:]:
        problem = f"has shape {tuple(costs.shape)} but there are {logits.shape[1]} classes"
        raise InputError(problem, argument="costs", value=tuple(costs.shape), fix="pass one per class")
    return costs.to(logits.device, precision_of(logits))

"""The loss of rows of one truth each, as a compiler reads it: plain operations, which it fuses as it likes.

An operator of our own would be opaque to the compiler: every step would pass through the dispatcher and Python
twice, which takes the host longer than the whole of a compiled cross-entropy. Written out, the forward becomes one
reduction over the logits and the backward one pass that reads them and writes the gradient.

Alpha is a 0-d tensor on the CPU, whose value is no part of the graph: an alpha that changes compiles nothing anew.
So all cases of alpha are in the graph, and `torch.where` chooses among them.
"""

from __future__ import annotations

from typing import Any, Protocol

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


class RowsContext(Context, Protocol):
    """What the backward of `LossOfRows` knows."""

    ignore_index: int


class LossOfRows(torch.autograd.Function):
    """Losses (N,) of logits (N, K), targets (N,), costs (K,) or None, alpha () and the class to ignore.

    The backward needs of the forward only `pulls`, (N,): what the truth's gradient is the negative of.
    """

    @staticmethod
    def forward(
        ctx: RowsContext,
        logits: Tensor,
        target: Tensor,
        costs: Tensor | None,
        alpha: Tensor,
        ignore_index: int,
    ) -> Tensor:
        rivals = rival_columns(logits, target)
        gaps = log_odds(logits, target, costs)
        losses = loss_of_pairs(gaps, alpha, tie_width(logits, target))
        slopes = slope_of_pairs(gaps, alpha)
        if costs is not None:
            losses = losses * costs
            slopes = slopes * costs
        share = 1 / (3 * (logits.shape[1] - 1))
        row_losses = torch.where(rivals, losses, 0.0).sum(dim=1) * share
        pulls = torch.where(rivals, slopes, 0.0).sum(dim=1) * share
        ignored = target == ignore_index
        is_class = (target >= 0) & (target < logits.shape[1])
        row_losses = torch.where(is_class, row_losses, torch.nan)  # as on a device: raising would mean waiting
        ctx.save_for_backward(logits, target, costs, alpha, pulls)
        ctx.ignore_index = ignore_index
        return torch.where(ignored, 0.0, row_losses)

    @staticmethod
    def backward(ctx: RowsContext, *factors: Tensor) -> tuple[Tensor | None, ...]:
        logits, target, costs, alpha, pulls = ctx.saved_tensors
        n_classes = logits.shape[1]
        slopes = slope_of_pairs(log_odds(logits, target, costs), alpha)
        if costs is not None:
            slopes = slopes * costs
        rivals = rival_columns(logits, target)
        truth_is_possible = logit_of_truth(logits, target) > LEAST_LOGIT
        truth_slope = torch.where(truth_is_possible, -pulls.unsqueeze(1), 0.0)
        gradient = torch.where(rivals, slopes / (3 * (n_classes - 1)), truth_slope)
        gradient = torch.where(logits == -torch.inf, 0.0, gradient)
        counted = (target != ctx.ignore_index) & (target >= 0) & (target < n_classes)
        weights = torch.where(counted, factors[0], 0.0).unsqueeze(1)
        gradient = torch.where(weights == 0, 0.0, gradient * weights)  # ignored rows may hold any logits
        return gradient.to(logits.dtype), None, None, None, None


def rival_columns(logits: Tensor, target: Tensor) -> Tensor:
    """Where the classes stand that are not the truth, (N, K)."""
    columns = torch.arange(logits.shape[1], device=logits.device)
    return columns != target.unsqueeze(1)


def possible(logits: Tensor) -> Tensor:
    """Logits in the precision of the loss, -inf as `LEAST_LOGIT`; NaN stays NaN."""
    return logits.to(precision_of(logits)).clamp(min=LEAST_LOGIT)


def column_of_truth(logits: Tensor, target: Tensor) -> Tensor:
    """The truth's column in every row, (N, 1); any other for a target that is no class."""
    return target.clamp(0, logits.shape[1] - 1).unsqueeze(1)


def logit_of_truth(logits: Tensor, target: Tensor) -> Tensor:
    """The truth's logit in every row, (N, 1)."""
    return possible(logits.gather(1, column_of_truth(logits, target)))


def log_odds(logits: Tensor, target: Tensor, costs: Tensor | None) -> Tensor:
    """``ln r`` of the truth against every class, (N, K), finite: 0 times it is 0."""
    gaps = (logit_of_truth(logits, target) - possible(logits)).clamp(min=LEAST_LOGIT)
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


def beside_gaps(alpha: Tensor, gaps: Tensor) -> Tensor:
    """Alpha on the device of the gaps and in their precision, (N, 1): part of their kernel, not one of its own."""
    return gaps.new_zeros((gaps.shape[0], 1)) + alpha


def exponents(gaps: Tensor, alpha: Tensor) -> Tensor:
    """What e is raised to in L_alpha and in its slope: ``-(alpha + 1) ln r`` ahead, ``alpha ln r`` behind, (N, K).

    At alpha = inf, where neither is needed, those of alpha = 0: they are finite.
    """
    finite = torch.where(alpha < torch.inf, alpha, 0.0)
    return torch.where(gaps > 0, -(finite + 1), finite) * gaps


def one_minus_exp(exponent: Tensor, power: Tensor) -> Tensor:
    """``1 - e^y``, precise near 0, where `power` is ``e^y``.

    The compiler's own `expm1` of float32 has lost its digits there; a series takes fewer instructions, too.
    """
    if exponent.dtype == torch.float64:
        return -exponent.expm1()
    y = exponent
    series = -y * (1 + y / 2 * (1 + y / 3 * (1 + y / 4 * (1 + y / 5 * (1 + y / 6)))))
    return torch.where(y > -0.3, series, 1 - power)


def loss_of_pairs(gaps: Tensor, alpha: Tensor, width: Tensor) -> Tensor:
    """L_alpha at ``ln r = gaps``; see `pandora_regret.core.priors.beta`."""
    alpha = beside_gaps(alpha, gaps)
    exponent = exponents(gaps, alpha)
    power = exponent.exp()
    positive = torch.where(alpha > 0, alpha, 1.0)
    behind = 1 + (1 + 1 / positive) * one_minus_exp(exponent, power)
    behind_at_0 = torch.where(gaps < LEAST_LOGIT / 2, torch.inf, 1 - gaps)
    behind = torch.where(alpha == 0, behind_at_0, behind)
    by_rank = torch.where(gaps > width, 0.0, torch.where(gaps < -width, 2.0, 1.0))
    by_rank = torch.where(gaps.isnan(), gaps, by_rank)
    return torch.where(alpha == torch.inf, by_rank, torch.where(gaps > 0, power, behind))


def slope_of_pairs(gaps: Tensor, alpha: Tensor) -> Tensor:
    """``-dL_alpha / d ln r`` at ``ln r = gaps``: at alpha = inf there is none."""
    alpha = beside_gaps(alpha, gaps)
    slopes = (alpha + 1) * exponents(gaps, alpha).exp()
    return torch.where(alpha < torch.inf, slopes, 0.0)


def costs_in_graph(costs: Tensor | None, logits: Tensor) -> Tensor | None:
    """Costs (K,) where and in the precision in which the loss is computed."""
    if costs is None:
        return None
    if costs.shape != logits.shape[1:]:
        raise InputError(
            f"costs has shape {tuple(costs.shape)} but there are {logits.shape[1]} classes: pass one per class."
        )
    return costs.to(logits.device, precision_of(logits))

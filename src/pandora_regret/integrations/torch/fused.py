"""Loss and gradient from one pass: the forward writes the gradient, the backward only scales it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import torch

from pandora_regret.integrations.torch.reading import Reduction, blocks_of
from pandora_regret.integrations.torch.soft_targets import LossAndGradient, loss_of_soft_targets
from pandora_regret.kernels.portable import finite_size, settle_ties, tie_of

SMALL_ALPHA = 0.1  # below this, 1 - r^alpha loses digits that 1/alpha magnifies


@dataclass(frozen=True)
class Rule:
    """All that turns logits and targets into a loss."""

    alpha: float
    costs: torch.Tensor | None  # (K,), beside the logits
    reduction: Reduction
    label_smoothing: float
    ignore_index: int


def fused_loss(logits: torch.Tensor, target: torch.Tensor, rule: Rule) -> torch.Tensor:
    """The reduced loss of rows (N, K), differentiable once."""
    want_grad = torch.is_grad_enabled() and logits.requires_grad
    loss: torch.Tensor = FusedPandoraLoss.apply(logits, target, rule, want_grad)  # type: ignore[no-untyped-call]
    return loss


class FusedPandoraLoss(torch.autograd.Function):
    """The loss as autograd sees it: logits (N, K) -> loss, with the gradient made ahead by the forward pass."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, target: torch.Tensor, rule: Rule, want_grad: bool) -> torch.Tensor:
        share = 1 / (3 * (logits.shape[1] - 1))
        count = _count(logits, target, rule)
        each = share / count  # inf where all rows are ignored, whose mean is nan, as cross_entropy's is
        scale = each.clamp(max=share)
        # float16 waits for the backward: before a GradScaler's factor is known, gradients this small underflow.
        early = want_grad and logits.dtype != torch.float16
        losses, ctx.grad = _loss_rows(logits, target, rule, scale, want_grad=early)
        ctx.rule = rule
        ctx.save_for_backward(logits, target, scale, rule.costs)  # costs, too, must not change until then
        return each * (losses if rule.reduction == "none" else losses.sum())

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (factor,) = grad_outputs
        with torch.no_grad():
            grad = _computed_now(ctx, factor) if ctx.grad is None else _scaled(ctx.grad, factor)
        ctx.grad = None  # handed over: a second backward computes its own
        if torch.is_grad_enabled():
            grad = _NoSecondDerivative.apply(grad, ctx.saved_tensors[0], factor)  # type: ignore[no-untyped-call]
        return grad, None, None, None


class _NoSecondDerivative(torch.autograd.Function):
    """The gradient of the loss, as a tensor that says so when it is differentiated in turn."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, *made_from: torch.Tensor) -> torch.Tensor:
        return grad.view_as(grad)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(
            "PandoraLoss has no second derivative: its gradient is computed ahead, in the forward pass, and "
            "cannot be differentiated; use pandora_regret.array_api.pandora_regret where you need one."
        )


def _count(logits: torch.Tensor, target: torch.Tensor, rule: Rule) -> torch.Tensor:
    """What a sum of rows is divided by, as a tensor: how many are not ignored is known on the device only."""
    dtype, kernels = precision_of(logits), _kernels_for(logits)
    if rule.reduction != "mean" or target.ndim == 2:
        return torch.full((), len(target) if rule.reduction == "mean" else 1, dtype=dtype, device=logits.device)
    if kernels is None:
        return (target != rule.ignore_index).sum(dtype=dtype)
    count: torch.Tensor = kernels.count_valid(target, rule.ignore_index)
    return count


def _scaled(grad: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    if factor.ndim:
        return grad.mul_(factor[:, None])
    kernels = _kernels_for(grad)
    return grad.mul_(factor) if kernels is None else kernels.scale_(grad, factor)


def _computed_now(ctx: Any, factor: torch.Tensor) -> torch.Tensor:
    """The gradient at its final size; where every row has its own factor, first at the size of the largest."""
    logits, target, scale, _ = ctx.saved_tensors
    peak = factor.abs().amax() if factor.ndim and len(factor) else factor.sum()
    grad = _loss_rows(logits, target, ctx.rule, scale * peak, want_grad=True)[1]
    assert grad is not None
    return grad.mul_((factor / peak).nan_to_num(0.0)[:, None]) if factor.ndim else grad


def _loss_rows(
    logits: torch.Tensor, target: torch.Tensor, rule: Rule, scale: torch.Tensor, *, want_grad: bool
) -> LossAndGradient:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, (N,), and `scale` times its gradient, (N, K).

    Where rows are to be summed anyway, partial sums may come instead of rows.
    """
    kernels = _kernels_for(logits)
    if kernels is None or target.ndim == 2 or rule.label_smoothing:
        return _by_torch(logits, target, rule, scale, want_grad=want_grad)
    rows: LossAndGradient = kernels.beta_loss_rows(
        logits,
        target,
        alpha=rule.alpha,
        costs=rule.costs,
        ignore_index=rule.ignore_index,
        scale=scale,
        want_grad=want_grad,
        summed=rule.reduction != "none",
    )
    return rows


def _by_torch(
    logits: torch.Tensor, target: torch.Tensor, rule: Rule, scale: torch.Tensor, *, want_grad: bool
) -> LossAndGradient:
    """`_loss_rows` in plain PyTorch, a block of rows at a time, so that temporaries stay small."""
    losses = torch.empty(len(logits), dtype=scale.dtype, device=logits.device)
    grad = torch.empty(logits.shape, dtype=logits.dtype, device=logits.device) if want_grad else None
    for rows in blocks_of(logits):
        block = logits[rows].to(scale.dtype)
        losses[rows], slope = _block(block, target[rows], rule, want_grad=want_grad)
        if grad is not None and slope is not None:
            grad[rows] = slope.mul_(scale)
    return losses, grad


def _block(logits: torch.Tensor, target: torch.Tensor, rule: Rule, *, want_grad: bool) -> LossAndGradient:
    """Losses and gradients of a few rows; those of ignored rows are zero, whatever their logits are."""
    if target.ndim == 2:
        truth = target.to(logits.dtype).lerp(_evenly(logits), rule.label_smoothing)
        return loss_of_soft_targets(logits, truth, rule.alpha, rule.costs, want_grad=want_grad)
    kept = target != rule.ignore_index
    target = target.where(kept, 0)
    if rule.label_smoothing:
        sure = torch.zeros_like(logits).scatter_(1, target[:, None], 1.0)
        truth = sure.lerp_(_evenly(logits), rule.label_smoothing)
        losses, grad = loss_of_soft_targets(logits, truth, rule.alpha, rule.costs, want_grad=want_grad)
    else:
        losses, grad = loss_of_one_truth(logits, target, rule.alpha, rule.costs, want_grad=want_grad)
    if losses.is_cpu and kept.all():  # spares a pass; elsewhere asking would mean waiting
        return losses, grad
    return losses.where(kept, 0.0), None if grad is None else grad.where(kept[:, None], 0.0)


def loss_of_one_truth(
    logits: torch.Tensor, truth: torch.Tensor, alpha: float, costs: torch.Tensor | None, *, want_grad: bool
) -> LossAndGradient:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, (n,), and its gradient in the logits, (n, K).

    An impossible class, of logit -inf, has gradient 0.
    """
    truth = truth[:, None]
    ours = logits.gather(1, truth)
    odds = ours - logits
    impossible = (logits == -torch.inf) if (ours == -torch.inf).any() else None  # elsewhere formulas see to it
    if impossible is not None:
        odds.masked_fill_(impossible & impossible.gather(1, truth), 0.0)
    if costs is not None:
        odds += (costs / costs[truth]).log_()  # of the quotient: a difference of logarithms could part a tie
    if alpha == torch.inf:
        size = finite_size(logits, torch)
        odds = settle_ties(odds, tie_of(logits.dtype, torch) * (1 + size + size.gather(1, truth)), torch)
    losses, slopes = (_of_rivals(terms, truth, costs) for terms in _pair_loss(odds, alpha))
    if not want_grad:
        return losses.sum(dim=1), None
    slopes.scatter_(1, truth, -slopes.sum(dim=1, keepdim=True))
    return losses.sum(dim=1), slopes if impossible is None else slopes.masked_fill_(impossible, 0.0)


def _of_rivals(terms: torch.Tensor, truth: torch.Tensor, costs: torch.Tensor | None) -> torch.Tensor:
    """Terms (n, K) times costs, in place, and zero for the truth."""
    if costs is not None:
        terms *= costs
    return terms.scatter_(1, truth, 0.0)


def _pair_loss(odds: torch.Tensor, alpha: float) -> tuple[torch.Tensor, torch.Tensor]:
    """L_alpha and ``-dL_alpha / d ln r`` at ``ln r``, which is overwritten; see `pandora_regret.priors.beta`."""
    if alpha == torch.inf:
        return 1 - odds.sign(), torch.zeros_like(odds)
    behind = odds.clamp(max=0.0)
    left = odds.clamp_(min=0.0).mul_(-(alpha + 1)).exp_()
    if alpha == 0:
        return left - behind, left
    kept = behind.mul_(alpha).exp()
    risen = 1 - kept if alpha > SMALL_ALPHA else behind.expm1_().neg_()
    return risen.mul_(1 + 1 / alpha).add_(left), kept.mul_(left).mul_(alpha + 1)


def _evenly(logits: torch.Tensor) -> torch.Tensor:
    return torch.full_like(logits[:1], 1 / logits.shape[1])


def precision_of(logits: torch.Tensor) -> torch.dtype:
    """What is computed in, and returned: half precision is too coarse for sums."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _kernels_for(tensor: torch.Tensor) -> ModuleType | None:
    """The Triton kernels, where the device runs them and the precision is theirs."""
    return _triton_kernels() if tensor.is_cuda and tensor.dtype != torch.float64 else None


@cache
def _triton_kernels() -> ModuleType | None:
    if find_spec("triton") is None:
        return None
    from pandora_regret.kernels import gpu

    return gpu

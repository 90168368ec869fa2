"""Loss and gradient from one pass: the forward writes the gradient, the backward only scales it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

import torch

from pandora_regret.integrations.torch.reading import Reduction, beside, blocks_of, check_classes
from pandora_regret.integrations.torch.soft_targets import LossAndGradient, loss_of_soft_targets
from pandora_regret.kernels.portable import finite_size, settle_ties, tie_of

SMALL_ALPHA = 0.1  # below this, 1 - r^alpha loses digits that 1/alpha magnifies


class Rule(NamedTuple):
    """All that turns logits and targets into losses of rows."""

    alpha: float
    costs: torch.Tensor | None  # (K,), anywhere
    label_smoothing: float
    ignore_index: int


def fused_loss(logits: torch.Tensor, target: torch.Tensor, rule: Rule, reduction: Reduction) -> torch.Tensor:
    """The reduced loss of rows (N, K), differentiable once."""
    if not (logits.requires_grad and torch.is_grad_enabled()):
        return reduced_loss(logits, target, rule, reduction, want_grad=False)[0]
    loss: torch.Tensor = FusedPandoraLoss.apply(logits, target, rule, reduction)  # type: ignore[no-untyped-call]
    return loss


class FusedPandoraLoss(torch.autograd.Function):
    """The loss as autograd sees it: logits (N, K) -> loss, with the gradient made ahead by the forward pass."""

    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, target: torch.Tensor, rule: Rule, reduction: Reduction
    ) -> torch.Tensor:
        # float16 waits for the backward: before a GradScaler's factor is known, gradients this small underflow.
        early = logits.dtype != torch.float16
        loss, ctx.grad = reduced_loss(logits, target, rule, reduction, want_grad=early)
        ctx.rule, ctx.reduction = rule, reduction
        ctx.save_for_backward(logits, target, rule.costs)  # costs, too, must not change until then
        return loss

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (factor,) = grad_outputs
        if not torch.is_grad_enabled():
            return _handed_over(ctx, factor), None, None, None
        with torch.no_grad():
            grad = _handed_over(ctx, factor)
        grad = _NoSecondDerivative.apply(grad, ctx.saved_tensors[0], factor)  # type: ignore[no-untyped-call]
        return grad, None, None, None


class _NoSecondDerivative(torch.autograd.Function):
    """The gradient of the loss, as a tensor that says so when it is differentiated in turn."""

    @staticmethod
    def forward(ctx: Any, grad: torch.Tensor, *made_from: torch.Tensor) -> torch.Tensor:
        return grad.view_as(grad)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        refuse_second_derivative()


def refuse_second_derivative() -> NoReturn:
    """Say why there is none, and where there is one."""
    raise RuntimeError(
        "PandoraLoss has no second derivative: its gradient is computed by a kernel of its own, which cannot be "
        "differentiated; use pandora_regret.array_api.pandora_regret where you need one."
    )


def _handed_over(ctx: Any, factor: torch.Tensor) -> torch.Tensor:
    """The gradient that the forward pass has made, scaled; a second backward computes its own."""
    grad, ctx.grad = ctx.grad, None
    return _computed_now(ctx, factor) if grad is None else _scaled(grad, factor)


def _scaled(grad: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    if factor.ndim:
        return grad.mul_(factor[:, None])
    kernels = _kernels_for(grad)
    return grad.mul_(factor) if kernels is None else kernels.scale_(grad, factor)


def _computed_now(ctx: Any, factor: torch.Tensor) -> torch.Tensor:
    logits, target, _ = ctx.saved_tensors
    if ctx.reduction == "mean":
        factor = factor / count_rows(target, ctx.rule.ignore_index)
    return row_gradients(logits, target, ctx.rule, factor)


def count_rows(target: torch.Tensor, ignore_index: int) -> torch.Tensor | int:
    """What the sum over rows is divided by for their mean: how many are not ignored, known on the device only."""
    return len(target) if target.ndim == 2 else (target != ignore_index).sum()


def reduced_loss(
    logits: torch.Tensor, target: torch.Tensor, rule: Rule, reduction: Reduction, *, want_grad: bool
) -> LossAndGradient:
    """The loss of a batch, () or (N,), and the gradient (N, K) of its sum, if it is wanted."""
    kernels = _kernels_for_rows(logits, target, rule)
    if kernels is not None:
        loss_and_grad: LossAndGradient = kernels.reduced_loss(
            _kernel_rows(kernels, logits, target, rule), reduction, want_grad=want_grad
        )
        return loss_and_grad
    weight = torch.ones((), dtype=precision_of(logits), device=logits.device)
    if reduction == "mean":
        weight = weight / count_rows(target, rule.ignore_index)  # inf if all are ignored: their mean is NaN
    losses, grad = _by_torch(logits, target, rule, weight if want_grad else None)
    return losses if reduction == "none" else losses.sum() * weight, grad


def row_losses(logits: torch.Tensor, target: torch.Tensor, rule: Rule) -> torch.Tensor:
    """The loss of every row, (N,)."""
    return reduced_loss(logits, target, rule, "none", want_grad=False)[0]


def row_gradients(logits: torch.Tensor, target: torch.Tensor, rule: Rule, weights: torch.Tensor) -> torch.Tensor:
    """The gradient of every row's loss times its weight, (N,), or that of all, (): a table (N, K)."""
    kernels = _kernels_for_rows(logits, target, rule)
    if kernels is not None:
        table: torch.Tensor = kernels.row_gradients(_kernel_rows(kernels, logits, target, rule), weights)
        return table
    grad = _by_torch(logits, target, rule, weights)[1]
    assert grad is not None
    return grad


def _by_torch(
    logits: torch.Tensor, target: torch.Tensor, rule: Rule, weights: torch.Tensor | None
) -> LossAndGradient:
    """Losses and weighted gradients of rows in plain PyTorch, by blocks of rows; temporaries stay small."""
    if logits.is_cpu and target.ndim == 1:
        check_classes(target, logits.shape[1], rule.ignore_index)
    dtype, share = precision_of(logits), 1 / (3 * (logits.shape[1] - 1))
    rule = rule._replace(costs=beside(rule.costs, logits.device, dtype))
    losses = torch.empty(len(logits), dtype=dtype, device=logits.device)
    grad = None if weights is None else torch.empty(logits.shape, dtype=logits.dtype, device=logits.device)
    for rows in blocks_of(logits):
        block, truths = logits[rows].to(dtype), target[rows]
        losses[rows], slopes = _block(block, truths, rule, want_grad=grad is not None)
        if grad is not None and weights is not None and slopes is not None:
            slopes *= (weights[rows, None] if weights.ndim else weights) * share
            grad[rows] = slopes if truths.ndim == 2 else _unless_ignored(slopes, truths[:, None], rule)
    return losses.mul_(share), grad


def _block(logits: torch.Tensor, target: torch.Tensor, rule: Rule, *, want_grad: bool) -> LossAndGradient:
    """Losses, and gradients before ignored rows are blanked, of a few rows."""
    if target.ndim == 2:
        truth = target.to(logits.dtype).lerp(_evenly(logits), rule.label_smoothing)
        return loss_of_soft_targets(logits, truth, rule.alpha, rule.costs, want_grad=want_grad)
    truth = target.where(target != rule.ignore_index, 0)
    if rule.label_smoothing:
        sure = torch.zeros_like(logits).scatter_(1, truth[:, None], 1.0)
        spread = sure.lerp_(_evenly(logits), rule.label_smoothing)
        losses, grad = loss_of_soft_targets(logits, spread, rule.alpha, rule.costs, want_grad=want_grad)
    else:
        losses, grad = loss_of_one_truth(logits, truth, rule.alpha, rule.costs, want_grad=want_grad)
    return _unless_ignored(losses, target, rule), grad


def _unless_ignored(values: torch.Tensor, target: torch.Tensor, rule: Rule) -> torch.Tensor:
    """Zeros in ignored rows, whatever their logits are."""
    kept = target != rule.ignore_index
    if values.is_cpu and kept.all():  # spares a pass; elsewhere asking would mean waiting
        return values
    return values.where(kept, 0.0)


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


def _kernels_for_rows(logits: torch.Tensor, target: torch.Tensor, rule: Rule) -> ModuleType | None:
    """The Triton kernels, if there are rows, of one truth each."""
    one_truth = target.ndim == 1 and not rule.label_smoothing
    return _kernels_for(logits) if one_truth and target.shape[0] else None


def _kernel_rows(kernels: ModuleType, logits: torch.Tensor, target: torch.Tensor, rule: Rule) -> Any:
    costs = beside(rule.costs, logits.device, torch.float32)
    return kernels.LogitRows(logits, target, rule.alpha, costs, rule.ignore_index)


@cache
def _triton_kernels() -> ModuleType | None:
    if find_spec("triton") is None:
        return None
    from pandora_regret.kernels import gpu

    return gpu

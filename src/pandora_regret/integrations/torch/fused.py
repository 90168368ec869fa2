"""Loss and gradient of rows, as autograd, compilers and torch.func see them.

In eager mode one pass is enough: the forward writes the gradient, the backward only scales it.

``pandora_regret::row_losses`` and ``pandora_regret::row_gradients`` are operators, opaque to a compiler, which
knows their shapes and derivatives. No gradient is computed ahead there, as a graph may not scale it in place: the
forward reads the logits, the backward reads them again and writes the gradient. Operators don't work under
`torch.func.grad`, which wants autograd functions: these are there for it, and call the operators.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, TypeAlias

import torch

from pandora_regret.inputs import InputError
from pandora_regret.integrations.torch.tensors import Reduction, beside, blocks_of, check_classes
from pandora_regret.kernels.portable import finite_size, limit_of, settle_ties, tie_of

LossAndGradient: TypeAlias = tuple[torch.Tensor, torch.Tensor | None]  # (n,), and (n, K) if it is wanted

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
    if grad is None:
        logits, target, _ = ctx.saved_tensors
        weights = factor / count_rows(target, ctx.rule.ignore_index) if ctx.reduction == "mean" else factor
        return gradients_of_rows(logits, target, ctx.rule, weights)
    if factor.ndim:
        return grad.mul_(factor[:, None])  # type: ignore[no-any-return]
    kernels = _kernels_for(grad)
    return grad.mul_(factor) if kernels is None else kernels.scale_(grad, factor)  # type: ignore[no-any-return]


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


def gradients_of_rows(
    logits: torch.Tensor, target: torch.Tensor, rule: Rule, weights: torch.Tensor
) -> torch.Tensor:
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
    truths_per_row = logits.shape[1] if target.ndim == 2 or rule.label_smoothing else 1
    for rows in blocks_of(logits, truths_per_row):
        block, truths = logits[rows].to(dtype), target[rows]
        losses[rows], slopes = _block(block, truths, rule, want_grad=grad is not None)
        if grad is not None and weights is not None and slopes is not None:
            slopes *= (weights[rows, None] if weights.ndim else weights) * share
            grad[rows] = slopes if truths.ndim == 2 else _unless_ignored(slopes, truths[:, None], rule)
    return losses.mul_(share), grad


def _block(logits: torch.Tensor, target: torch.Tensor, rule: Rule, *, want_grad: bool) -> LossAndGradient:
    """Losses, and gradients before ignored rows are blanked, of a few rows."""
    evenly = torch.full_like(logits[:1], 1 / logits.shape[1])
    if target.ndim == 2:
        shares = target.to(logits.dtype).lerp(evenly, rule.label_smoothing)
        return _of_weighted_rows(logits, shares, rule, want_grad=want_grad)
    truth = target.where(target != rule.ignore_index, 0)
    if rule.label_smoothing:
        sure = torch.zeros_like(logits).scatter_(1, truth[:, None], 1.0)
        shares = sure.lerp_(evenly, rule.label_smoothing)
        losses, grad = _of_weighted_rows(logits, shares, rule, want_grad=want_grad)
    else:
        losses, grad = loss_of_one_truth(logits, truth, rule.alpha, rule.costs, want_grad=want_grad)
    return _unless_ignored(losses, target, rule), grad


def _of_weighted_rows(
    logits: torch.Tensor, shares: torch.Tensor, rule: Rule, *, want_grad: bool
) -> LossAndGradient:
    """Where the target is a distribution, (n, K): one row per class, weighted by its share.

    Rows of no weight are not left out: to ask the device which these are would mean waiting.
    """
    n, k = logits.shape
    rows = logits[:, None].expand(n, k, k).reshape(n * k, k)
    truth = torch.arange(k, device=logits.device).repeat(n)
    losses, slopes = loss_of_one_truth(rows, truth, rule.alpha, rule.costs, want_grad=want_grad)
    weighted = torch.where(shares == 0, 0.0, shares * losses.view(n, k))  # an infinite loss of no weight counts 0
    grad = None if slopes is None else slopes.view(n, k, k).mul_(shares[:, :, None]).sum(dim=1)
    return weighted.sum(dim=1), grad


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
    spared = logits.is_cpu and not (ours == -torch.inf).any()  # elsewhere asking would mean waiting
    impossible = None if spared else logits == -torch.inf
    if impossible is not None:
        odds.masked_fill_(impossible & impossible.gather(1, truth), 0.0)
    if costs is not None:
        odds += (costs / costs[truth]).log_()  # of the quotient: a difference of logarithms could part a tie
    if alpha == torch.inf:
        size = finite_size(logits, torch)
        odds = settle_ties(odds, tie_of(logits.dtype, torch) * (1 + size + size.gather(1, truth)), torch)
    losses, slopes = _pair_loss(odds, alpha)
    for terms in (losses, slopes):
        if costs is not None:
            terms *= costs
        terms.scatter_(1, truth, 0.0)
    if not want_grad:
        return losses.sum(dim=1), None
    slopes.scatter_(1, truth, -slopes.sum(dim=1, keepdim=True))
    return losses.sum(dim=1), slopes if impossible is None else slopes.masked_fill_(impossible, 0.0)


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


RULE = "Tensor? costs, Tensor alpha, float label_smoothing, int ignore_index"


def _rule_of(costs: torch.Tensor | None, alpha: torch.Tensor, label_smoothing: float, ignore_index: int) -> Rule:
    return Rule(limit_of(alpha.item()), costs, label_smoothing, ignore_index)


@torch.library.custom_op(
    "pandora_regret::row_losses", mutates_args=(), schema=f"(Tensor logits, Tensor target, {RULE}) -> Tensor"
)
def row_losses(logits: torch.Tensor, target: torch.Tensor, *rule: Any) -> torch.Tensor:
    """The loss of every row, (N,). Alpha is a tensor on the CPU, whose value is no part of a compiled graph."""
    return reduced_loss(logits, target, _rule_of(*rule), "none", want_grad=False)[0]


@torch.library.custom_op(
    "pandora_regret::row_gradients",
    mutates_args=(),
    schema=f"(Tensor weights, Tensor logits, Tensor target, {RULE}) -> Tensor",
)
def row_gradients(weights: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, *rule: Any) -> torch.Tensor:
    """The gradient of every row's loss times the row's weight, (N, K)."""
    return gradients_of_rows(logits, target, _rule_of(*rule), weights)


@row_losses.register_fake
def _(logits: torch.Tensor, *_rest: Any) -> torch.Tensor:
    return logits.new_empty(logits.shape[0], dtype=precision_of(logits))


@row_gradients.register_fake
def _(_weights: torch.Tensor, logits: torch.Tensor, *_rest: Any) -> torch.Tensor:
    return logits.new_empty(logits.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    *tensors, ctx.label_smoothing, ctx.ignore_index = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, *grad_outputs: torch.Tensor) -> tuple[Any, ...]:
    gradient = row_gradients(grad_outputs[0], *ctx.saved_tensors, ctx.label_smoothing, ctx.ignore_index)
    return gradient, None, None, None, None, None


def _refuse(ctx: Any, *grad_outputs: torch.Tensor) -> None:
    refuse_second_derivative()


row_losses.register_autograd(_differentiate, setup_context=_keep)
row_gradients.register_autograd(_refuse)


def _over_batches(of_rows: Any, n_tables: int) -> Any:
    """How vmap calls a function of rows, whose first arguments are tables: once, with the rows of all batches."""

    def of_batches(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[torch.Tensor, int]:
        if any(dim is not None for dim in in_dims[n_tables:]):
            raise InputError("costs and alpha must be the same for all: vmap over logits and targets only.")
        tables = (
            table.expand(info.batch_size, *table.shape) if dim is None else table.movedim(dim, 0)
            for table, dim in zip(inputs[:n_tables], in_dims[:n_tables], strict=True)
        )
        result = of_rows(*(table.flatten(0, 1) for table in tables), *inputs[n_tables:])
        return result.unflatten(0, (info.batch_size, -1)), 0

    return of_batches


if hasattr(torch.library, "register_vmap"):  # since 2.5
    row_losses.register_vmap(_over_batches(row_losses, 2))
    row_gradients.register_vmap(_over_batches(row_gradients, 3))


class RowLosses(torch.autograd.Function):
    """`row_losses` for torch.func."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        return row_losses(*inputs)

    setup_context = staticmethod(_keep)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        rule = (ctx.label_smoothing, ctx.ignore_index)
        gradient = RowGradients.apply(grad_outputs[0], *ctx.saved_tensors, *rule)  # type: ignore[no-untyped-call]
        return gradient, None, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return _over_batches(RowLosses.apply, 2)(info, in_dims, *inputs)


class RowGradients(torch.autograd.Function):
    """`row_gradients` for torch.func."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        return row_gradients(*inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        pass

    backward = staticmethod(_refuse)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> Any:
        return _over_batches(RowGradients.apply, 3)(info, in_dims, *inputs)


def traced_loss(
    logits: torch.Tensor,
    target: torch.Tensor,
    costs: torch.Tensor | None,
    alpha: torch.Tensor,
    reduction: Reduction,
    label_smoothing: float,
    ignore_index: int,
) -> torch.Tensor:
    """The reduced loss of rows (N, K), by the operators."""
    rule = (costs, alpha, label_smoothing, ignore_index)
    losses: torch.Tensor
    if torch.compiler.is_compiling():
        losses = row_losses(logits, target, *rule)
    else:
        losses = RowLosses.apply(logits, target, *rule)  # type: ignore[no-untyped-call]
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / count_rows(target, ignore_index)

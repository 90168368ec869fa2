"""The training loss, as a module and as a function, and as autograd, compilers and torch.func see it.

In eager mode one pass is enough: the forward writes the gradient, the backward only scales it.

``pandora_regret::row_losses`` and ``pandora_regret::row_gradients`` are operators, opaque to a compiler, which
knows their shapes and derivatives. No gradient is computed ahead there, as a graph may not scale it in place: the
forward reads the logits, the backward reads them again and writes the gradient. Operators don't work under
`torch.func.grad`, which wants autograd functions: these are there for it, and call the operators.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol, TypeAlias

import torch
from torch import Tensor

from pandora_regret.core.inputs import InputError, read_alpha
from pandora_regret.core.kernels.portable import finite_size, limit_of, settle_ties, tie_of
from pandora_regret.integrations.torch.graphs import (
    Context,
    GraphAlpha,
    LossOfRows,
    alpha_for_graphs,
    costs_in_graph,
    precision_of,
)
from pandora_regret.integrations.torch.tensors import (
    Reduction,
    TensorLike,
    check_targets,
    costs_on,
    read_class_costs,
    read_reduction,
    read_smoothing,
    read_tensors,
    refuse_gradient,
    row_blocks,
)

if TYPE_CHECKING:
    from pandora_regret.core.kernels.gpu import LogitRows

LossAndGradient: TypeAlias = tuple[Tensor, Tensor | None]  # (n,), and (n, K) if it is wanted

MANY_LOGITS = 1 << 27  # beyond this, our kernels gain more on the device than operators cost the host
SMALL_ALPHA = 0.1  # below this, 1 - r^alpha loses digits that 1/alpha magnifies
HAS_TRITON = find_spec("triton") is not None


class LossRule(NamedTuple):
    """All that turns logits and targets into losses of rows."""

    costs: Tensor | None  # (K,), anywhere
    alpha: float
    label_smoothing: float
    ignore_index: int


class FusedContext(Context, Protocol):
    """What the backward of `FusedPandoraLoss` knows."""

    grad: Tensor | None  # made ahead; None once it was handed on
    rule: LossRule
    reduction: Reduction


class FusedPandoraLoss(torch.autograd.Function):
    """The loss as autograd sees it: logits (N, K) -> loss, with the gradient made ahead by the forward pass."""

    @staticmethod
    def forward(ctx: FusedContext, logits: Tensor, target: Tensor, rule: LossRule, reduction: Reduction) -> Tensor:
        # float16 waits for the backward: before a GradScaler's factor is known, gradients this small underflow.
        early = logits.dtype != torch.float16
        loss, ctx.grad = reduced_loss(logits, target, rule, reduction, want_grad=early)
        ctx.rule = rule
        ctx.reduction = reduction
        ctx.save_for_backward(logits, target, rule.costs)  # costs, too, must not change until then
        return loss

    @staticmethod
    def backward(ctx: FusedContext, *factors: Tensor) -> tuple[Tensor | None, ...]:
        [factor] = factors
        logits, target, _ = ctx.saved_tensors
        rule = ctx.rule
        grad = ctx.grad
        ctx.grad = None
        if torch.is_grad_enabled():  # the gradient may be differentiated in turn
            refuse_second_derivative()
        if grad is None:  # or in a second backward
            weights = factor / count_rows(target, rule.ignore_index) if ctx.reduction == "mean" else factor
            alpha = torch.tensor(rule.alpha, dtype=torch.float64)
            grad = apply(
                RowGradients,
                weights.expand(len(logits)),
                logits,
                target,
                rule.costs,
                alpha,
                rule.label_smoothing,
                rule.ignore_index,
            )
        elif factor.ndim:
            grad = grad.mul_(factor[:, None])
        else:
            grad = scale_gradient(grad, factor)
        return grad, None, None, None


def apply(function: type[torch.autograd.Function], *arguments: object) -> Tensor:
    """What an autograd function makes of its arguments."""
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


def scale_gradient(grad: Tensor, factor: Tensor) -> Tensor:
    """A gradient of our own, multiplied by a 0-d tensor in place."""
    kernels = kernels_for(grad)
    if kernels is None:
        return grad.mul_(factor)
    product: Tensor = kernels.scale_(grad, factor)
    return product


def count_rows(target: Tensor, ignore_index: int) -> Tensor | int:
    """What the sum over rows is divided by for their mean: how many are not ignored, known on the device only."""
    return len(target) if target.ndim == 2 else (target != ignore_index).sum()


def reduced_loss(
    logits: Tensor, target: Tensor, rule: LossRule, reduction: Reduction, *, want_grad: bool
) -> LossAndGradient:
    """The loss of a batch, () or (N,), and the gradient (N, K) of its sum, if it is wanted."""
    kernels = _kernels_for_rows(logits, target, rule)
    if kernels is not None:
        made: LossAndGradient = kernels.reduced_loss(
            _rows_for_kernels(logits, target, rule), reduction, want_grad=want_grad
        )
        return made
    weight = torch.ones((), dtype=precision_of(logits), device=logits.device)
    if reduction == "mean":
        weight = weight / count_rows(target, rule.ignore_index)  # inf if all are ignored: their mean is NaN
    losses, grad = _by_torch(logits, target, rule, weight if want_grad else None)
    return losses if reduction == "none" else losses.sum() * weight, grad


def _kernels_for_rows(logits: Tensor, target: Tensor, rule: LossRule) -> ModuleType | None:
    """The Triton kernels, where the device runs them and there are rows, of one truth each."""
    if target.ndim != 1 or len(target) == 0 or rule.label_smoothing:
        return None
    return kernels_for(logits)


def _rows_for_kernels(logits: Tensor, target: Tensor, rule: LossRule) -> LogitRows:
    """What the Triton kernels read."""
    from pandora_regret.core.kernels.gpu import LogitRows

    costs = costs_on(rule.costs, logits.shape[1], logits.device, torch.float32)
    return LogitRows(logits, target, rule.alpha, costs, rule.ignore_index)


def kernels_for(tensor: Tensor) -> ModuleType | None:
    """The Triton kernels, where the device runs them and the precision is theirs."""
    if not HAS_TRITON or not tensor.is_cuda or tensor.dtype == torch.float64:
        return None
    from pandora_regret.core.kernels import gpu

    return gpu


def _by_torch(logits: Tensor, target: Tensor, rule: LossRule, weights: Tensor | None) -> LossAndGradient:
    """Losses and weighted gradients of rows in plain PyTorch, by blocks of rows; temporaries stay small."""
    n, k = logits.shape
    dtype = precision_of(logits)
    hard = target.ndim == 1
    if logits.is_cpu and hard:
        check_targets(target, k, rule.ignore_index)
    costs = costs_on(rule.costs, k, logits.device, dtype)
    share = 1 / (3 * (k - 1))
    losses = torch.empty(n, dtype=dtype, device=logits.device)
    grad = None if weights is None else torch.empty(logits.shape, dtype=logits.dtype, device=logits.device)
    for rows in row_blocks(logits, 1 if hard and not rule.label_smoothing else k):
        truths = target[rows]
        terms, slopes = _block(logits[rows].to(dtype), truths, rule, costs)
        ignored = truths == rule.ignore_index if hard else torch.zeros_like(terms, dtype=torch.bool)
        losses[rows] = terms.masked_fill_(ignored, 0.0)  # whatever the logits are
        if grad is not None and weights is not None:
            slopes *= (weights[rows, None] if weights.ndim else weights) * share
            grad[rows] = slopes.masked_fill_(ignored[:, None], 0.0)
    return losses.mul_(share), grad


def _block(logits: Tensor, target: Tensor, rule: LossRule, costs: Tensor | None) -> tuple[Tensor, Tensor]:
    """Losses and gradients of a few rows, ignored ones included.

    Where the target is a distribution, (n, K), there is one row per class, weighted by its share. Rows of no
    weight are not left out: to ask the device which these are would mean waiting.
    """
    n, k = logits.shape
    hard = target.ndim == 1
    truth = target.where(target != rule.ignore_index, 0) if hard else target
    if hard and not rule.label_smoothing:
        return loss_of_one_truth(logits, truth, rule.alpha, costs)
    certain = torch.zeros_like(logits).scatter_(1, truth[:, None], 1.0) if hard else target.to(logits.dtype)
    shares = certain.lerp(torch.full_like(logits[:1], 1 / k), rule.label_smoothing)
    copies = logits[:, None].expand(n, k, k).reshape(n * k, k)  # each row once for each class as its truth
    truths = torch.arange(k, device=logits.device).repeat(n)
    losses, slopes = loss_of_one_truth(copies, truths, rule.alpha, costs)
    weighted = torch.where(shares == 0, 0.0, shares * losses.view(n, k))  # an infinite loss of no weight counts 0
    return weighted.sum(dim=1), slopes.view(n, k, k).mul_(shares[:, :, None]).sum(dim=1)


def loss_of_one_truth(logits: Tensor, truth: Tensor, alpha: float, costs: Tensor | None) -> tuple[Tensor, Tensor]:
    """``sum_j C_j L_alpha(q_i / q_j)`` of every row, (n,), and its gradient in the logits, (n, K).

    An impossible class, of logit -inf, has gradient 0.
    """
    truth = truth[:, None]
    truth_logits = logits.gather(1, truth)
    odds = truth_logits - logits
    all_possible = logits.is_cpu and not (truth_logits == -torch.inf).any()  # elsewhere asking would mean waiting
    impossible = None if all_possible else logits == -torch.inf
    if impossible is not None:
        odds.masked_fill_(impossible & impossible.gather(1, truth), 0.0)
    if costs is not None:
        odds += (costs / costs[truth]).log_()  # of the quotient: a difference of logarithms could part a tie
    if alpha == torch.inf:
        size = finite_size(logits, torch)
        odds = settle_ties(odds, tie_of(logits.dtype, torch) * (1 + size + size.gather(1, truth)), torch)
    losses, slopes = pair_loss(odds, alpha)
    for terms in (losses, slopes):
        if costs is not None:
            terms *= costs
        terms.scatter_(1, truth, 0.0)
    slopes.scatter_(1, truth, -slopes.sum(dim=1, keepdim=True))
    return losses.sum(dim=1), slopes if impossible is None else slopes.masked_fill_(impossible, 0.0)


def pair_loss(odds: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """L_alpha and ``-dL_alpha / d ln r`` at ``ln r``, overwritten; see `pandora_regret.core.priors.beta`."""
    if alpha == torch.inf:
        return 1 - odds.sign(), torch.zeros_like(odds)
    behind = odds.clamp(max=0.0)
    ahead = odds.clamp_(min=0.0).mul_(-(alpha + 1)).exp_()  # r^-(alpha + 1), 1 for r <= 1
    if alpha == 0:
        return ahead - behind, ahead
    power = behind.mul_(alpha).exp()  # r^alpha, 1 for r > 1
    one_less_power = 1 - power if alpha > SMALL_ALPHA else behind.expm1_().neg_()
    return one_less_power.mul_(1 + 1 / alpha).add_(ahead), power.mul_(ahead).mul_(alpha + 1)


RULE = "Tensor? costs, Tensor alpha, float label_smoothing, int ignore_index"


def _rule_of(costs: Tensor | None, alpha: Tensor, label_smoothing: float, ignore_index: int) -> LossRule:
    """A rule of the arguments of an operator, whose alpha is a tensor."""
    return LossRule(costs, limit_of(alpha.item()), label_smoothing, ignore_index)


@torch.library.custom_op(
    "pandora_regret::row_losses", mutates_args=(), schema=f"(Tensor logits, Tensor target, {RULE}) -> Tensor"
)
def row_losses(
    logits: Tensor,
    target: Tensor,
    costs: Tensor | None,
    alpha: Tensor,
    label_smoothing: float,
    ignore_index: int,
) -> Tensor:
    """The loss of every row, (N,). Alpha is a tensor on the CPU, whose value is no part of a compiled graph."""
    rule = _rule_of(costs, alpha, label_smoothing, ignore_index)
    return reduced_loss(logits, target, rule, "none", want_grad=False)[0]


@torch.library.custom_op(
    "pandora_regret::row_gradients",
    mutates_args=(),
    schema=f"(Tensor weights, Tensor logits, Tensor target, {RULE}) -> Tensor",
)
def row_gradients(
    weights: Tensor,
    logits: Tensor,
    target: Tensor,
    costs: Tensor | None,
    alpha: Tensor,
    label_smoothing: float,
    ignore_index: int,
) -> Tensor:
    """The gradient of every row's loss times the row's weight, (N, K)."""
    rule = _rule_of(costs, alpha, label_smoothing, ignore_index)
    kernels = _kernels_for_rows(logits, target, rule)
    if kernels is not None:
        from_kernels: Tensor = kernels.row_gradients(_rows_for_kernels(logits, target, rule), weights)
        return from_kernels
    gradients = _by_torch(logits, target, rule, weights)[1]
    assert gradients is not None
    return gradients


@row_losses.register_fake
def _shape_of_losses(logits: Tensor, *_rule: object) -> Tensor:
    return logits.new_empty(logits.shape[0], dtype=precision_of(logits))


@row_gradients.register_fake
def _shape_of_gradients(_weights: Tensor, logits: Tensor, *_rule: object) -> Tensor:
    return logits.new_empty(logits.shape)


class OperatorContext(Context, Protocol):
    """What the backward of an operator knows."""

    label_smoothing: float
    ignore_index: int


class Backward(Protocol):
    """The backward of an operator: from the gradient of its result to those of its arguments."""

    def __call__(self, ctx: OperatorContext, factors: Tensor, /) -> tuple[Tensor | None, ...]:
        """One gradient for each argument, None for those that have none."""


class Operator(Protocol):
    """An operator of PyTorch, as `torch.library.custom_op` makes it."""

    def __call__(self, *arguments: object) -> Tensor:
        """What the operator makes of its arguments."""

    def register_autograd(self, backward: Backward, /, *, setup_context: Callable[..., None]) -> None:
        """Say how it is differentiated."""


class VmapInfo(Protocol):
    """What vmap says of a batch."""

    batch_size: int


def refuse_second_derivative(*_arguments: object) -> NoReturn:
    """The backward of a gradient."""
    raise RuntimeError(
        "PandoraLoss has no second derivative: its gradient is computed by a kernel of its own, which cannot be "
        "differentiated; use pandora_regret.core.array_api.pandora_regret where you need one."
    )


def _as_function(operator: Operator, n_tables: int, differentiated: Backward) -> type[torch.autograd.Function]:
    """An operator of tables and a rule as a function for torch.func; vmap calls it once, with the rows of all."""

    def keep(ctx: OperatorContext, inputs: tuple[Any, ...], output: Tensor) -> None:
        *tensors, ctx.label_smoothing, ctx.ignore_index = inputs
        ctx.save_for_backward(*tensors)

    def batched(info: VmapInfo, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[Tensor, int]:
        if any(dim is not None for dim in in_dims[n_tables:]):
            fix = "vmap over logits and targets only"
            raise InputError("must be the same for all", argument="costs", place="costs and alpha", fix=fix)
        tables = []
        for table, dim in zip(inputs[:n_tables], in_dims, strict=False):
            whole = table.expand(info.batch_size, *table.shape) if dim is None else table.movedim(dim, 0)
            tables.append(whole.flatten(0, 1))
        result = apply(OperatorFunction, *tables, *inputs[n_tables:])
        return result.unflatten(0, (info.batch_size, -1)), 0  # type: ignore[no-untyped-call]

    class OperatorFunction(torch.autograd.Function):
        forward = staticmethod(lambda *inputs: operator(*inputs))
        setup_context = staticmethod(keep)
        vmap = staticmethod(batched)

        @staticmethod
        def backward(ctx: OperatorContext, *factors: Tensor) -> tuple[Tensor | None, ...]:
            return differentiated(ctx, *factors)

    operator.register_autograd(differentiated, setup_context=keep)
    return OperatorFunction


def _backward_of_losses(ctx: OperatorContext, factors: Tensor) -> tuple[Tensor | None, ...]:
    """The gradients of the losses of rows: that in the logits; the other five arguments have none."""
    gradient = apply(RowGradients, factors, *ctx.saved_tensors, ctx.label_smoothing, ctx.ignore_index)
    return gradient, None, None, None, None, None


RowGradients = _as_function(row_gradients, 3, refuse_second_derivative)
RowLosses = _as_function(row_losses, 2, _backward_of_losses)


def loss_of_batch(
    logits: Tensor,
    target: Tensor,
    alpha: float | GraphAlpha,
    costs: Tensor | None,
    reduction: Reduction,
    label_smoothing: float,
    ignore_index: int,
) -> Tensor:
    """The loss, with options that have been read: fused if alpha is a number, else as compilers see it."""
    refuse_gradient(target, "target")
    values, flat, shape = read_tensors(logits, target)
    if isinstance(alpha, GraphAlpha):
        loss = _losses_in_graph(values, flat, costs, alpha, label_smoothing, ignore_index)
        if reduction == "mean":
            loss = loss.sum() / count_rows(flat, ignore_index)
        elif reduction == "sum":
            loss = loss.sum()
    else:
        rule = LossRule(costs, limit_of(alpha), label_smoothing, ignore_index)
        if values.requires_grad and torch.is_grad_enabled():
            loss = apply(FusedPandoraLoss, values, flat, rule, reduction)
        else:
            loss = reduced_loss(values, flat, rule, reduction, want_grad=False)[0]
    return loss.reshape(shape) if reduction == "none" else loss


def _losses_in_graph(
    values: Tensor,
    flat: Tensor,
    costs: Tensor | None,
    alpha: GraphAlpha,
    label_smoothing: float,
    ignore_index: int,
) -> Tensor:
    """The losses of rows, (N,), as compilers and torch.func see them."""
    if not torch.compiler.is_compiling():
        return apply(RowLosses, values, flat, costs, alpha.value, label_smoothing, ignore_index)
    if flat.ndim == 2 or label_smoothing or values.numel() > MANY_LOGITS:
        losses: Tensor = row_losses(values, flat, costs, alpha.value, label_smoothing, ignore_index)
        return losses
    prices = costs_in_graph(costs, values)
    return apply(LossOfRows, values, flat, prices, alpha.value, alpha.kind, ignore_index)


class PandoraLoss(torch.nn.Module):
    """Pandora's Regret as a training loss, a drop-in for `torch.nn.CrossEntropyLoss`.

    The loss of a row is ``1 / (3 (K - 1)) sum_j c_j L_alpha(q_i / q_j)``: without costs, exactly
    ``pandora_regret(target, logits, alpha=alpha, logits=True)``. It needs no softmax, so that loss and gradient
    come from one pass over the logits.

    Parameters
    ----------
    alpha
        From 0 to inf; it may be set anew at any step. At 0 the loss is convex in the logits and does not saturate,
        which is what makes training from scratch work: let an alpha above 0 rise from there. At inf it has no
        gradient.
    costs
        What a test of each class typically costs, c_k, shape (K,); all 1 unless given. At alpha 1 the loss is then
        what the search is expected to waste, divided by K - 1.
    reduction
        "mean" over the rows that are not ignored, "sum", or "none" for one value per row.
    label_smoothing
        The share of each row's target that is spread evenly over all classes, in [0, 1].
    ignore_index
        Rows with this class as their target add neither loss nor gradient.

    Shapes are those of `torch.nn.CrossEntropyLoss`: logits (K,), (N, K) or (N, K, d1, ...), where -inf marks an
    impossible class; targets are class numbers, without the dimension K, or probabilities, with it. Half precision
    is computed, and the loss returned, in float32.

    ``torch.compile(fullgraph=True)`` works, and an alpha that changes compiles nothing anew (0 and inf have graphs
    of their own); ``torch.func.grad`` and ``torch.vmap`` work, too. A second derivative is refused. The same input
    gives the same bits, also on GPUs.

    Examples
    --------
    >>> logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]], requires_grad=True)
    >>> loss = PandoraLoss()(logits, torch.tensor([0, 2]))
    >>> loss.backward()
    >>> round(loss.item(), 6), logits.grad[1].tolist()
    (0.179471, [0.1666666716337204, 0.1666666716337204, -0.3333333432674408])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        costs: TensorLike | None = None,
        reduction: Reduction = "mean",
        label_smoothing: float = 0.0,
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.reduction = read_reduction(reduction)
        self.label_smoothing = read_smoothing(label_smoothing)
        self.ignore_index = ignore_index
        self.costs = read_class_costs(costs)

    @property
    def alpha(self) -> float:
        """The alpha of the next batch."""
        return self._alpha

    @alpha.setter
    def alpha(self, alpha: float) -> None:
        self._alpha = alpha
        self._alpha_in_graphs = alpha_for_graphs(limit_of(read_alpha(alpha)))

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """The loss of a batch."""
        alpha = float(self._alpha) if _is_eager(logits) else self._alpha_in_graphs
        return loss_of_batch(
            logits, target, alpha, self.costs, self.reduction, self.label_smoothing, self.ignore_index
        )

    def extra_repr(self) -> str:
        """The arguments, for `print`."""
        return (
            f"alpha={self.alpha}, costs={self.costs}, reduction={self.reduction!r}, "
            f"label_smoothing={self.label_smoothing}, ignore_index={self.ignore_index}"
        )


def pandora_loss(
    logits: Tensor,
    target: Tensor,
    *,
    alpha: float = 1.0,
    costs: TensorLike | None = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
) -> Tensor:
    """Pandora's Regret of logits, with its gradient.

    A list, an array or a CPU tensor of costs is checked and moved at every call, `PandoraLoss` does so once.

    Parameters
    ----------
    logits, target, alpha, costs, reduction, label_smoothing, ignore_index
        As in `PandoraLoss`.

    Returns
    -------
    Tensor
        The mean, the sum, or one loss per row, as `reduction` says.

    See Also
    --------
    PandoraLoss : The same as a module.

    References
    ----------
    Flores et al. (2026), Corollary A.7 [flores26]_.

    Examples
    --------
    >>> pandora_loss(torch.zeros(4, 3), torch.tensor([0, 1, 2, -100]), reduction="none")
    tensor([0.3333, 0.3333, 0.3333, 0.0000])
    >>> pandora_loss(torch.zeros(2, 3), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    tensor(0.3333)
    """
    value = read_alpha(alpha) if _is_eager(logits) else alpha_for_graphs(limit_of(read_alpha(alpha)))
    reduction = read_reduction(reduction)
    label_smoothing = read_smoothing(label_smoothing)
    return loss_of_batch(logits, target, value, read_class_costs(costs), reduction, label_smoothing, ignore_index)


def _is_eager(logits: Tensor) -> bool:
    """Whether operations run as they are called, on tensors that hold numbers."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    return type(logits) is Tensor or type(logits) is torch.nn.Parameter

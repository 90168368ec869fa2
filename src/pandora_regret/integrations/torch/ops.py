"""The loss as operators that torch.compile and torch.func know.

``pandora_regret::row_losses`` and ``pandora_regret::row_gradients`` are opaque to a compiler, which knows their
shapes and derivatives. No gradient is computed ahead, as a graph may not scale it in place: the forward reads the
logits, the backward reads them again and writes the gradient. Operators don't work under `torch.func.grad`, which
wants autograd functions: these are there for it, and call the operators.
"""

from __future__ import annotations

from typing import Any

import torch

from pandora_regret.inputs import InputError
from pandora_regret.integrations.torch import fused
from pandora_regret.integrations.torch.reading import Reduction
from pandora_regret.kernels.portable import limit_of

RULE = "Tensor? costs, Tensor alpha, float label_smoothing, int ignore_index"


def _rule(
    costs: torch.Tensor | None, alpha: torch.Tensor, label_smoothing: float, ignore_index: int
) -> fused.Rule:
    return fused.Rule(limit_of(alpha.item()), costs, label_smoothing, ignore_index)


@torch.library.custom_op(
    "pandora_regret::row_losses", mutates_args=(), schema=f"(Tensor logits, Tensor target, {RULE}) -> Tensor"
)
def row_losses(logits: torch.Tensor, target: torch.Tensor, *rule: Any) -> torch.Tensor:
    """The loss of every row, (N,). Alpha is a tensor on the CPU, whose value is no part of a compiled graph."""
    return fused.row_losses(logits, target, _rule(*rule))


@torch.library.custom_op(
    "pandora_regret::row_gradients",
    mutates_args=(),
    schema=f"(Tensor weights, Tensor logits, Tensor target, {RULE}) -> Tensor",
)
def row_gradients(weights: torch.Tensor, logits: torch.Tensor, target: torch.Tensor, *rule: Any) -> torch.Tensor:
    """The gradient of every row's loss times the row's weight, (N, K)."""
    return fused.row_gradients(logits, target, _rule(*rule), weights)


@row_losses.register_fake
def _(logits: torch.Tensor, *_rest: Any) -> torch.Tensor:
    return logits.new_empty(logits.shape[0], dtype=fused.precision_of(logits))


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
    fused.refuse_second_derivative()


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
    return losses.sum() if reduction == "sum" else losses.sum() / fused.count_rows(target, ignore_index)

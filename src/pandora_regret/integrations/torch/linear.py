"""The loss of a linear layer's logits, without the logits.

A pair of classes needs the true class's logit alone, ``h.w_y``, and no normaliser. So one pass over tiles of
classes gives the loss and both gradients with three matrix products, ``Z = H W'``, ``dH += Z W``, ``dW = Z' H``:
a tile of Z is overwritten by its gradient in between. Cross-entropy in tiles needs four: its normaliser first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from pandora_regret.core.inputs import InputError, check_shape, read_alpha
from pandora_regret.core.kernels.portable import limit_of
from pandora_regret.integrations.torch.graphs import LEAST_LOGIT, Context, precision_of
from pandora_regret.integrations.torch.loss import (
    apply,
    kernels_for,
    pair_loss,
    refuse_second_derivative,
    scale_gradient,
)
from pandora_regret.integrations.torch.tensors import (
    Reduction,
    TensorLike,
    check_targets,
    costs_on,
    read_class_costs,
    read_reduction,
    refuse_gradient,
    row_blocks,
)

TILE_BYTES = 1 << 28  # of one tile of logits: larger ones gain nothing, smaller products are slower


class LinearPandoraLoss(torch.nn.Module):
    """`linear_pandora_loss` as a module: called with features, the layer's weight, targets and its bias.

    Parameters
    ----------
    alpha, costs, reduction, ignore_index
        As in `linear_pandora_loss`.

    Examples
    --------
    >>> layer, features = torch.nn.Linear(4, 3), torch.ones(2, 4)
    >>> loss = LinearPandoraLoss()(features, layer.weight, torch.tensor([0, 2]), layer.bias)
    >>> loss.backward()
    >>> layer.weight.grad.shape
    torch.Size([3, 4])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        costs: TensorLike | None = None,
        reduction: Reduction = "mean",
        ignore_index: int = -100,
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.costs = read_class_costs(costs)
        self.reduction = read_reduction(reduction)
        self.ignore_index = ignore_index

    def forward(
        self,
        features: Tensor,
        weight: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch."""
        loss: Tensor = linear_pandora_loss(
            features,
            weight,
            target,
            bias,
            alpha=self.alpha,
            costs=self.costs,
            sample_weight=sample_weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
        )
        return loss

    def extra_repr(self) -> str:
        """The arguments, for `print`."""
        return (
            f"alpha={self.alpha!r}, costs={self.costs!r}, reduction={self.reduction!r}, "
            f"ignore_index={self.ignore_index!r}"
        )


@torch.compiler.disable  # type: ignore[untyped-decorator]
def linear_pandora_loss(
    features: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    *,
    alpha: float = 1.0,
    costs: TensorLike | None = None,
    sample_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """``pandora_loss(features @ weight.T + bias, target)`` with its gradients, in tiles of classes.

    No more than one tile of logits, 256 MiB, is held at a time.

    Parameters
    ----------
    features
        What the layer reads, (N, D) or (..., D).
    weight
        Of the layer, (K, D), of the features' precision and device.
    target
        Class numbers, (N,) or (...).
    bias
        Of the layer, (K,), or none.
    alpha
        As in `PandoraLoss`, and finite: at inf the loss has no gradient.
    costs, ignore_index
        As in `PandoraLoss`.
    sample_weight
        Weights of the rows, in the shape of `target`.
    reduction
        "mean" over the rows that are not ignored, weighted; "sum"; or "none", one weighted loss per row.

    Returns
    -------
    Tensor
        The loss in float32, or in float64 where features are.

    See Also
    --------
    PandoraLoss : Of logits that are there already; takes distributions as targets, too.

    Examples
    --------
    >>> features, weight = torch.ones(2, 4), torch.zeros(3, 4)
    >>> linear_pandora_loss(features, weight, torch.tensor([0, 2]))
    tensor(0.3333)
    """
    if torch.is_autocast_enabled(features.device.type):
        dtype = torch.get_autocast_dtype(features.device.type)
        features = features.to(dtype)
        weight = weight.to(dtype)
        bias = None if bias is None else bias.to(dtype)
    if target.shape != features.shape[:-1] or target.is_floating_point():
        problem = f"has shape {tuple(target.shape)} and dtype {target.dtype}"
        fix = f"pass class numbers of shape {tuple(features.shape[:-1])}, one for each row of features"
        raise InputError(problem, argument="target", fix=fix)
    alpha_or_limit = limit_of(read_alpha(alpha))
    if alpha_or_limit == torch.inf:
        fix = "from 1e20 on the loss has no gradient, as at inf: choose less, or measure logits by PandoraLoss"
        raise InputError(argument="alpha", value=alpha, fix=fix)
    flat = target.reshape(-1).long()
    if flat.is_cpu:
        check_targets(flat, len(weight), ignore_index)
    kept = flat != ignore_index
    truth = flat.where(kept, 0)
    scales = kept.double()  # what the loss of each row is multiplied by
    if sample_weight is not None:
        refuse_gradient(sample_weight, "sample_weight")
        check_shape(sample_weight, "sample_weight", "pass one per target", tuple(target.shape))
        scales = scales * sample_weight.reshape(-1)
    scales = scales / scales.sum() if read_reduction(reduction) == "mean" else scales
    scales = scales.to(precision_of(features))
    losses = apply(
        _LossOfLayer,
        features.reshape(-1, features.shape[-1]),
        weight,
        bias,
        truth,
        scales,
        costs_on(read_class_costs(costs), len(weight), features.device, scales.dtype),
        alpha_or_limit,
        reduction == "none",
        torch.is_grad_enabled(),
    )
    return losses.view(target.shape) if reduction == "none" else losses


class Layer(NamedTuple):
    """What makes the logits; or the gradients in it, None where one is not wanted."""

    features: Tensor | None  # (N, D)
    weight: Tensor | None  # (K, D)
    bias: Tensor | None  # (K,)


class LayerContext(Context, Protocol):
    """What the backward of `_LossOfLayer` knows."""

    alpha: float
    gradients: Layer | None  # made ahead; None once they were handed on


class _LossOfLayer(torch.autograd.Function):
    """The sum of rows' losses times their scales, or each of them; gradients are made ahead where they can be."""

    @staticmethod
    def forward(
        ctx: LayerContext,
        features: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        truth: Tensor,
        scales: Tensor,
        costs: Tensor | None,
        alpha: float,
        each_row: bool,
        with_gradients: bool,
    ) -> Tensor:
        # each row's factor is not known yet, nor is a GradScaler's, without which float16 underflows
        ahead = with_gradients and not each_row and features.dtype != torch.float16
        wanted = ctx.needs_input_grad[:3] if ahead else (False, False, False)
        losses, gradients = _one_pass(features, weight, bias, truth, scales, costs, alpha, wanted)
        ctx.alpha = alpha
        ctx.gradients = gradients if ahead else None
        ctx.save_for_backward(features, weight, bias, truth, scales, costs)
        return losses if each_row else losses.sum()

    @staticmethod
    def backward(ctx: LayerContext, *factors: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled():  # the gradient may be differentiated in turn
            refuse_second_derivative()
        [factor] = factors
        features, weight, bias, truth, scales, costs = ctx.saved_tensors
        gradients = ctx.gradients
        ctx.gradients = None
        if gradients is None:  # or in a second backward
            wanted = ctx.needs_input_grad[:3]
            _, gradients = _one_pass(features, weight, bias, truth, scales * factor, costs, ctx.alpha, wanted)
        else:
            gradients = Layer(*(None if part is None else scale_gradient(part, factor) for part in gradients))
        return *gradients, None, None, None, None, None, None


def _one_pass(
    features: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    truth: Tensor,
    scales: Tensor,
    costs: Tensor | None,
    alpha: float,
    wanted: Sequence[bool],
) -> tuple[Tensor, Layer]:
    """Losses of rows times their scales, (N,), and those gradients of their sum that are wanted."""
    scales = scales / (3 * (len(weight) - 1))
    truth_logits = torch.empty_like(scales)
    for rows in row_blocks(features):
        truth_logits[rows] = (features[rows].to(scales.dtype) * weight[truth[rows]]).sum(dim=1)
    if bias is not None:
        truth_logits = truth_logits + bias[truth]
    truth_logits = truth_logits.clamp(min=LEAST_LOGIT)
    slopes = scales.where(truth_logits > LEAST_LOGIT, 0.0)  # an impossible truth has no gradient
    losses = torch.zeros_like(scales)
    pulls = torch.zeros_like(scales)
    gradients = Layer(
        features=torch.empty_like(features) if wanted[0] else None,
        weight=torch.empty_like(weight) if wanted[1] else None,
        bias=torch.empty_like(bias) if wanted[2] and bias is not None else None,
    )
    width = max(128, TILE_BYTES // (max(1, len(features)) * features.element_size()) // 128 * 128)
    for start in range(0, len(weight), width):
        columns = slice(start, start + width)
        part = weight[columns]
        logits = torch.nn.functional.linear(features, part, None if bias is None else bias[columns])
        prices = None if costs is None else (costs[columns], costs[truth])
        _add_tile(logits, truth_logits, truth - start, prices, alpha, slopes, losses, pulls)
        if gradients.features is not None:
            gradients.features.addmm_(logits, part, beta=float(start > 0))  # at 0 what is there does not count
        if gradients.weight is not None:
            torch.mm(logits.T, features, out=gradients.weight[columns])
        if gradients.bias is not None:
            gradients.bias[columns] = logits.sum(dim=0)
        del logits  # before the next tile is made
    _add_truths(gradients, features, weight, truth, (-pulls * slopes).to(features.dtype))
    return torch.where(scales == 0, 0.0, losses * scales), gradients


def _add_truths(gradients: Layer, features: Tensor, weight: Tensor, truth: Tensor, pull: Tensor) -> None:
    """Add what the true classes' logits, of gradients `pull`, (N,), contribute."""
    if gradients.features is not None:
        gradients.features.addcmul_(pull[:, None], weight[truth])
    if gradients.weight is not None:
        gradients.weight.index_put_((truth,), pull[:, None] * features, accumulate=True)
    if gradients.bias is not None:
        gradients.bias.index_put_((truth,), pull, accumulate=True)


def _add_tile(
    logits: Tensor,
    truth_logits: Tensor,
    truth_columns: Tensor,
    prices: tuple[Tensor, Tensor] | None,
    alpha: float,
    slopes: Tensor,
    losses: Tensor,
    pulls: Tensor,
) -> None:
    """Add the losses and slopes of one tile's pairs, and overwrite its logits by their gradient.

    The truth of each row stands in column `truth_columns`, if in this tile at all. Prices are those of the tile's
    columns and of the truths.
    """
    kernels = kernels_for(logits) if len(logits) else None
    if kernels is not None:
        kernels.add_tile(logits, truth_logits, truth_columns, prices, alpha, slopes, losses, pulls)
        return
    columns = torch.arange(logits.shape[1], device=logits.device)
    odds = truth_logits[:, None] - logits.to(truth_logits.dtype).clamp_(min=LEAST_LOGIT)
    if prices is not None:
        odds += (prices[0] / prices[1][:, None]).log_()
    pairs, slope = pair_loss(odds, alpha)
    for terms in (pairs, slope):
        if prices is not None:
            terms *= prices[0]
        terms.masked_fill_(columns == truth_columns[:, None], 0.0)
    losses += pairs.sum(dim=1)
    pulls += slope.sum(dim=1)
    logits.copy_(slope.mul_(slopes[:, None]))

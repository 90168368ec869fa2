"""The loss of a linear layer's logits, without the logits.

A pair of classes needs the true class's logit alone, ``h.w_y``, and no normaliser. So one pass over tiles of
classes gives the loss and both gradients with three matrix products, ``Z = H W'``, ``dH += Z W``, ``dW = Z' H``:
a tile of Z is overwritten by its gradient in between. Cross-entropy in tiles needs four: its normaliser first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pandora_regret.core.inputs import InputError, check_shape, read_alpha
from pandora_regret.core.kernels.portable import limit_of
from pandora_regret.integrations.torch.graphs import LEAST_LOGIT, precision_of
from pandora_regret.integrations.torch.loss import (
    kernels_for,
    pair_loss,
    refuse_second_derivative,
    scaled,
)
from pandora_regret.integrations.torch.tensors import (
    Reduction,
    beside,
    blocks_of,
    check_classes,
    read_class_costs,
    read_reduction,
    refuse_gradient,
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
        self, alpha: float = 1.0, costs: Any = None, reduction: Reduction = "mean", ignore_index: int = -100
    ) -> None:
        super().__init__()
        costs = read_class_costs(costs)
        reduction = read_reduction(reduction)
        self.options: dict[str, Any] = {
            "alpha": alpha, "costs": costs, "reduction": reduction, "ignore_index": ignore_index
        }  # fmt: skip

    def forward(
        self,
        features: Tensor,
        weight: Tensor,
        target: Tensor,
        bias: Tensor | None = None,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch."""
        layer = features, weight, target, bias
        return linear_pandora_loss(*layer, sample_weight=sample_weight, **self.options)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        """The arguments, for `print`."""
        return ", ".join(f"{name}={value!r}" for name, value in self.options.items())


@torch.compiler.disable  # type: ignore[untyped-decorator]
def linear_pandora_loss(
    features: Tensor,
    weight: Tensor,
    target: Tensor,
    bias: Tensor | None = None,
    *,
    alpha: float = 1.0,
    costs: Any = None,
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
        check_classes(flat, len(weight), ignore_index)
    kept = flat != ignore_index
    truth = flat.where(kept, 0)  # what the loss of each row is multiplied by
    scales = kept.double()
    if sample_weight is not None:
        refuse_gradient(sample_weight, "sample_weight")
        check_shape(sample_weight, "sample_weight", "pass one per target", tuple(target.shape))
        scales = scales * sample_weight.reshape(-1)
    scales = scales / scales.sum() if read_reduction(reduction) == "mean" else scales
    scales = scales.to(precision_of(features))
    table = beside(read_class_costs(costs), len(weight), features.device, scales.dtype)
    layer = features.reshape(-1, features.shape[-1]), weight, bias
    how = alpha_or_limit, reduction == "none", torch.is_grad_enabled()
    losses: Tensor = _OfLayer.apply(*layer, truth, scales, table, *how)  # type: ignore[no-untyped-call]
    return losses.view(target.shape) if reduction == "none" else losses


class _OfLayer(torch.autograd.Function):
    """The sum of rows' losses times their scales, or each of them; gradients are made ahead where they can be."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        truth, scales, costs, ctx.alpha, each_row, early = inputs[3:]
        # each row's factor is not known yet, nor is a GradScaler's, without which float16 underflows
        early &= not each_row and inputs[0].dtype != torch.float16
        wanted = ctx.needs_input_grad[:3] if early else [False] * 3
        losses, grads = _one_pass(inputs[:3], truth, scales, costs, ctx.alpha, wanted)
        ctx.grads = grads if early else None
        ctx.save_for_backward(*inputs[:6])
        return losses if each_row else losses.sum()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        if torch.is_grad_enabled():  # the gradient may be differentiated in turn
            refuse_second_derivative()
        [factor] = grad_outputs
        *layer, truth, scales, costs = ctx.saved_tensors
        grads = ctx.grads
        ctx.grads = None
        if grads is None:  # or in a second backward
            grads = _one_pass(layer, truth, scales * factor, costs, ctx.alpha, ctx.needs_input_grad[:3])[1]
        else:
            grads = [None if grad is None else scaled(grad, factor) for grad in grads]
        return *grads, *[None] * 6


def _one_pass(
    layer: Sequence[Any],
    truth: Tensor,
    scales: Tensor,
    costs: Tensor | None,
    alpha: float,
    wanted: Sequence[bool],
) -> tuple[Tensor, list[Tensor | None]]:
    """Losses of rows times their scales, (N,), and the gradients of their sum in features, weight and bias."""
    features, weight, bias = layer
    scales = scales / (3 * (len(weight) - 1))
    ours = torch.empty_like(scales)
    for some in blocks_of(features):
        ours[some] = (features[some].to(scales.dtype) * weight[truth[some]]).sum(dim=1)
    ours = (ours if bias is None else ours + bias[truth]).clamp(min=LEAST_LOGIT)
    slopes = scales.where(ours > LEAST_LOGIT, 0.0)  # an impossible truth has no gradient
    losses = torch.zeros_like(scales)
    pulls = torch.zeros_like(scales)
    grads = [torch.empty_like(one) if want else None for one, want in zip(layer, wanted, strict=True)]
    of_features, of_weight, of_bias = grads
    width = max(128, TILE_BYTES // (max(1, len(features)) * features.element_size()) // 128 * 128)
    for start in range(0, len(weight), width):
        columns = slice(start, start + width)
        part = weight[columns]
        logits = torch.nn.functional.linear(features, part, None if bias is None else bias[columns])
        prices = None if costs is None else (costs[columns], costs[truth])
        _add_tile(logits, ours, truth - start, prices, alpha, slopes, losses, pulls)
        if of_features is not None:
            of_features.addmm_(logits, part, beta=float(start > 0))  # at 0 what is there does not count
        if of_weight is not None:
            torch.mm(logits.T, features, out=of_weight[columns])
        if of_bias is not None:
            of_bias[columns] = logits.sum(dim=0)
        del logits  # before the next tile is made
    _add_truths(grads, features, weight, truth, (-pulls * slopes).to(features.dtype))
    return torch.where(scales == 0, 0.0, losses * scales), grads


def _add_truths(grads: Any, features: Tensor, weight: Tensor, truth: Tensor, pull: Tensor) -> None:
    """Add what the true classes' logits, of gradients `pull`, (N,), contribute."""
    of_features, of_weight, of_bias = grads
    if of_features is not None:
        of_features.addcmul_(pull[:, None], weight[truth])
    if of_weight is not None:
        of_weight.index_put_((truth,), pull[:, None] * features, accumulate=True)
    if of_bias is not None:
        of_bias.index_put_((truth,), pull, accumulate=True)


def _add_tile(
    logits: Tensor,
    ours: Tensor,
    own: Tensor,
    prices: tuple[Tensor, Tensor] | None,
    alpha: float,
    slopes: Tensor,
    losses: Tensor,
    pulls: Tensor,
) -> None:
    """Add the losses and slopes of one tile's pairs, and overwrite its logits by their gradient.

    The truth stands in column `own`, if in this tile at all. Prices are those of the columns and of the truths.
    """
    kernels = kernels_for(logits) if len(logits) else None
    if kernels is not None:
        kernels.add_tile(logits, ours, own, prices, alpha, slopes, losses, pulls)
        return
    columns = torch.arange(logits.shape[1], device=logits.device)
    odds = ours[:, None] - logits.to(ours.dtype).clamp_(min=LEAST_LOGIT)
    if prices is not None:
        odds += (prices[0] / prices[1][:, None]).log_()
    pairs, slope = pair_loss(odds, alpha)
    for terms in (pairs, slope):
        if prices is not None:
            terms *= prices[0]
        terms.masked_fill_(columns == own[:, None], 0.0)
    losses += pairs.sum(dim=1)
    pulls += slope.sum(dim=1)
    logits.copy_(slope.mul_(slopes[:, None]))

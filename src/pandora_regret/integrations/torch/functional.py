"""The loss as a function."""

from __future__ import annotations

from typing import Any

import torch

from pandora_regret.array_api import settled
from pandora_regret.inputs import read_alpha
from pandora_regret.integrations.torch.fused import Rule, fused_loss, precision_of
from pandora_regret.integrations.torch.reading import (
    Reduction,
    check_classes,
    costs_beside,
    read_reduction,
    read_rows,
    read_smoothing,
    refuse_gradient,
)
from pandora_regret.integrations.torch.schedule import AlphaSchedule

NO_CLASS = -(2**31)  # what a row is ignored by, where the class that is to be ignored is one of the columns


def pandora_loss(
    logits: torch.Tensor,
    target: torch.Tensor,
    *,
    alpha: float | AlphaSchedule = 1.0,
    costs: Any = None,
    reduction: Reduction = "mean",
    label_smoothing: float = 0.0,
    ignore_index: int = -100,
) -> torch.Tensor:
    """Pandora's Regret of logits, with its gradient; parameters and shapes as in `PandoraLoss`.

    A list, an array or a CPU tensor of costs is checked and moved at every call, `PandoraLoss` does so once.

    Examples
    --------
    >>> pandora_loss(torch.zeros(4, 3), torch.tensor([0, 1, 2, -100]), reduction="none")
    tensor([0.3333, 0.3333, 0.3333, 0.0000])
    >>> pandora_loss(torch.zeros(2, 3), torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]))
    tensor(0.3333)
    """
    loss: torch.Tensor = _pandora_loss(logits, target, alpha, costs, reduction, label_smoothing, ignore_index)
    return loss


def _read_and_run(
    logits: torch.Tensor,
    target: torch.Tensor,
    alpha: float | AlphaSchedule,
    costs: Any,
    reduction: Reduction,
    label_smoothing: float,
    ignore_index: int,
) -> torch.Tensor:
    refuse_gradient(target, "target")
    values, flat, shape = read_rows(logits, target)
    if flat.ndim == 1 and flat.device.type == "cpu":
        check_classes(flat, values.shape[1], ignore_index)
    if flat.ndim == 1 and 0 <= ignore_index < values.shape[1]:
        flat, ignore_index = flat.where(flat != ignore_index, NO_CLASS), NO_CLASS
    alpha = settled(read_alpha(alpha))
    rule = Rule(alpha, read_reduction(reduction), read_smoothing(label_smoothing), ignore_index)
    table = costs_beside(costs, values.shape[1], values.device, precision_of(values))
    losses = fused_loss(values, flat, table, rule)
    return losses.reshape(shape) if rule.reduction == "none" else losses


# Compiled code steps out here and back in: the fused kernel has nothing left to fuse, and an alpha that anneals
# would have it compiled anew at every step.
_pandora_loss = torch.compiler.disable(_read_and_run)  # type: ignore[no-untyped-call]

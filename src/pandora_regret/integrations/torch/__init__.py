"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ImportError(
        "pandora_regret.integrations.torch needs PyTorch: pip install 'pandora-regret[torch]'"
    ) from None

from pandora_regret.integrations.torch.functional import pandora_loss
from pandora_regret.integrations.torch.loss import PandoraLoss
from pandora_regret.integrations.torch.schedule import AlphaSchedule

if TYPE_CHECKING:
    from pandora_regret.integrations.torch.metrics import ExpectedSearchCost, PandoraRegret

__all__ = ["AlphaSchedule", "ExpectedSearchCost", "PandoraLoss", "PandoraRegret", "pandora_loss"]


def __getattr__(name: str) -> Any:
    """The metrics load when first asked for: the loss does not need torchmetrics."""
    if name not in ("ExpectedSearchCost", "PandoraRegret"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pandora_regret.integrations.torch import metrics

    return getattr(metrics, name)

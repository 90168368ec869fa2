"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics."""

from __future__ import annotations

from importlib import import_module
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
    from pandora_regret.integrations.torch.trainer import SearchProbe

__all__ = ["AlphaSchedule", "ExpectedSearchCost", "PandoraLoss", "PandoraRegret", "SearchProbe", "pandora_loss"]

_ROOM_OF = {"ExpectedSearchCost": "metrics", "PandoraRegret": "metrics", "SearchProbe": "trainer"}


def __getattr__(name: str) -> Any:
    """Metrics and trainer load when first asked for: the loss needs neither torchmetrics nor scikit-learn."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)

"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ImportError(
        "pandora_regret.integrations.torch needs PyTorch: pip install 'pandora-regret[torch]'"
    ) from None

from pandora_regret.integrations.torch.loss import PandoraLoss, pandora_loss
from pandora_regret.integrations.torch.schedule import AlphaSchedule
from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.integrations.torch.metrics import ExpectedSearchCost, PandoraRegret
    from pandora_regret.integrations.torch.trainer import SearchProbe

__all__ = ["AlphaSchedule", "ExpectedSearchCost", "PandoraLoss", "PandoraRegret", "SearchProbe", "pandora_loss"]

# The loss needs neither torchmetrics nor scikit-learn.
_MODULE_OF = {"ExpectedSearchCost": "metrics", "PandoraRegret": "metrics", "SearchProbe": "trainer"}

__getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF)

"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import torch  # noqa: F401
except ModuleNotFoundError:
    raise ImportError(
        "pandora_regret.integrations.torch needs PyTorch: pip install 'pandora-regret[torch]'"
    ) from None

from pandora_regret.integrations.torch.loss import PandoraLoss as PandoraLoss
from pandora_regret.integrations.torch.loss import pandora_loss as pandora_loss
from pandora_regret.integrations.torch.schedule import AlphaSchedule as AlphaSchedule
from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.integrations.torch.metrics import ExpectedSearchCost as ExpectedSearchCost
    from pandora_regret.integrations.torch.metrics import PandoraRegret as PandoraRegret
    from pandora_regret.integrations.torch.trainer import SearchProbe as SearchProbe

# The loss needs neither torchmetrics nor scikit-learn.
__all__, __getattr__, __dir__ = lazy_exports(
    __name__, {"metrics": ("ExpectedSearchCost", "PandoraRegret"), "trainer": ("SearchProbe",)}
)
__all__ += ["AlphaSchedule", "PandoraLoss", "pandora_loss"]

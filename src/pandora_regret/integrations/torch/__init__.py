"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics.

Names load when first asked for: the loss does not need torchmetrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports
from pandora_regret.optional import check_installed

if TYPE_CHECKING:
    from pandora_regret.integrations.torch.loss import AlphaSchedule as AlphaSchedule
    from pandora_regret.integrations.torch.loss import PandoraLoss as PandoraLoss
    from pandora_regret.integrations.torch.loss import pandora_loss as pandora_loss
    from pandora_regret.integrations.torch.metrics import ExpectedSearchCost as ExpectedSearchCost
    from pandora_regret.integrations.torch.metrics import PandoraRegret as PandoraRegret

check_installed("torch", extra="torch")

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "loss": ("AlphaSchedule", "PandoraLoss", "pandora_loss"),
        "metrics": ("ExpectedSearchCost", "PandoraRegret"),
    },
    {"metrics": ("torchmetrics", "torch")},
)

"""Pandora's Regret in PyTorch: a training loss that costs one pass over the logits, and torchmetrics metrics.

Names load when first asked for: the loss does not need torchmetrics.
"""

from pandora_regret.lazy import lazy_exports
from pandora_regret.optional import import_optional

import_optional("torch", extra="torch")

__all__, __getattr__, __dir__ = lazy_exports(__name__, {"metrics": ("torchmetrics", "torch")})

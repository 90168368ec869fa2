"""What a metric decides: log loss, accuracy and F1 as decision problems, and the desiderata of a search."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

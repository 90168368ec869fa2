"""Figures, by what they show; matplotlib is imported when one is drawn."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

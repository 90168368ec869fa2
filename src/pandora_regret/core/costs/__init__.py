"""Diagnostic pathways as data: fee items and probabilities in a TOML file become what testing each class costs."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

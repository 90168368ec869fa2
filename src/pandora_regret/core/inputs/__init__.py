"""The door: what a user hands in becomes plain, checked arrays here, once."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

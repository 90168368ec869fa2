"""Work-ups: tests that inform about several classes, hierarchies, shared visits, and ways to stop."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

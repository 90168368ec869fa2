"""Tests that miss, and tests that raise false alarms: the right order of tests and the right bill."""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

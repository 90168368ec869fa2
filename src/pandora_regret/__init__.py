"""Pandora's Regret: score forecasts by what the search they order will cost.

Public names load when they are first asked for (PEP 562), so that importing the package costs next to nothing.
"""

from pandora_regret._version import __version__ as __version__
from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__)

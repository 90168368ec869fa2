"""Pandora's Regret: score forecasts by what the search they order will cost.

Public names load when they are first asked for (PEP 562), so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pandora_regret._version import __version__

if TYPE_CHECKING:
    from pandora_regret.entropy import search_divergence, search_entropy
    from pandora_regret.inputs import InputError, InputTypeError
    from pandora_regret.priors import (
        Beta,
        Empirical,
        Exponential,
        Fixed,
        FromScipy,
        Gamma,
        LogNormal,
        Prior,
        Uniform,
    )
    from pandora_regret.scores import (
        beta_score,
        excess_search_burden,
        expected_search_cost,
        pair_costs,
        pandora_regret,
        search_tally,
    )
    from pandora_regret.search import search_cost, search_order, simulate_search
    from pandora_regret.tally import Tally

__all__ = [
    "Beta",
    "Empirical",
    "Exponential",
    "Fixed",
    "FromScipy",
    "Gamma",
    "InputError",
    "InputTypeError",
    "LogNormal",
    "Prior",
    "Tally",
    "Uniform",
    "__version__",
    "beta_score",
    "excess_search_burden",
    "expected_search_cost",
    "pair_costs",
    "pandora_regret",
    "search_cost",
    "search_divergence",
    "search_entropy",
    "search_order",
    "search_tally",
    "simulate_search",
]

_ROOM_OF = {
    "search_divergence": "entropy",
    "search_entropy": "entropy",
    "InputError": "inputs",
    "InputTypeError": "inputs",
    "Beta": "priors",
    "Empirical": "priors",
    "Exponential": "priors",
    "Fixed": "priors",
    "FromScipy": "priors",
    "Gamma": "priors",
    "LogNormal": "priors",
    "Prior": "priors",
    "Uniform": "priors",
    "beta_score": "scores",
    "excess_search_burden": "scores",
    "expected_search_cost": "scores",
    "pair_costs": "scores",
    "pandora_regret": "scores",
    "search_tally": "scores",
    "search_cost": "search",
    "search_order": "search",
    "simulate_search": "search",
    "Tally": "tally",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

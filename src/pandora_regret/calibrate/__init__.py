"""Forecasts that search better: recalibration for search cost, and how much of a cost it would save.

`decompose` needs no more than the scores do; the estimators need scikit-learn. Names load when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pandora_regret.optional import needs

if TYPE_CHECKING:
    from pandora_regret.calibrate.decomposition import Decomposition, Term, decompose
    from pandora_regret.calibrate.estimators import MatrixScaling, TemperatureScaling, VectorScaling
    from pandora_regret.calibrate.prior_shift import PriorShift
    from pandora_regret.calibrate.wrapper import CalibratedSearch

__all__ = [
    "CalibratedSearch",
    "Decomposition",
    "MatrixScaling",
    "PriorShift",
    "TemperatureScaling",
    "Term",
    "VectorScaling",
    "decompose",
]

_ROOM_OF = {
    "CalibratedSearch": "wrapper",
    "Decomposition": "decomposition",
    "MatrixScaling": "estimators",
    "PriorShift": "prior_shift",
    "TemperatureScaling": "estimators",
    "Term": "decomposition",
    "VectorScaling": "estimators",
    "decompose": "decomposition",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _ROOM_OF[name] != "decomposition":
        needs("sklearn", extra="zoo")
    return getattr(import_module(f"{__name__}.{_ROOM_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

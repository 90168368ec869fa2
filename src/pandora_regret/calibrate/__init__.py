"""Forecasts that search better: recalibration for search cost, and how much of a cost it would save.

`decompose` needs no more than the scores do; the estimators need scikit-learn. Names load when first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

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

_MODULE_OF = {
    "CalibratedSearch": "wrapper",
    "Decomposition": "decomposition",
    "MatrixScaling": "estimators",
    "PriorShift": "prior_shift",
    "TemperatureScaling": "estimators",
    "Term": "decomposition",
    "VectorScaling": "estimators",
    "decompose": "decomposition",
}

_NEEDING = dict.fromkeys(("estimators", "prior_shift", "wrapper"), ("sklearn", "zoo"))

__getattr__, __dir__ = lazy_exports(__name__, _MODULE_OF, _NEEDING)

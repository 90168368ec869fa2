"""Forecasts that search better: recalibration for search cost, and how much of a cost it would save.

`decompose` and `recalibrate` need no more than the scores do; the estimators need scikit-learn. Names load when
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.calibrate.decomposition import Decomposition as Decomposition
    from pandora_regret.calibrate.decomposition import Term as Term
    from pandora_regret.calibrate.decomposition import decompose as decompose
    from pandora_regret.calibrate.estimators import MatrixScaling as MatrixScaling
    from pandora_regret.calibrate.estimators import TemperatureScaling as TemperatureScaling
    from pandora_regret.calibrate.estimators import VectorScaling as VectorScaling
    from pandora_regret.calibrate.prior_shift import PriorShift as PriorShift
    from pandora_regret.calibrate.recalibration import Recalibration as Recalibration
    from pandora_regret.calibrate.recalibration import recalibrate as recalibrate
    from pandora_regret.calibrate.saved_map import RecalibrationMap as RecalibrationMap
    from pandora_regret.calibrate.saved_map import load_map as load_map
    from pandora_regret.calibrate.wrapper import CalibratedSearch as CalibratedSearch

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "decomposition": ("Decomposition", "Term", "decompose"),
        "estimators": ("MatrixScaling", "TemperatureScaling", "VectorScaling"),
        "prior_shift": ("PriorShift",),
        "recalibration": ("Recalibration", "recalibrate"),
        "saved_map": ("RecalibrationMap", "load_map"),
        "wrapper": ("CalibratedSearch",),
    },
    dict.fromkeys(("estimators", "prior_shift", "wrapper"), ("sklearn", "zoo")),
)

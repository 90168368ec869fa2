"""Forecasts that search better: recalibration, and how much of a search's cost it would save.

`decompose` and `recalibrate` need no more than the scores do; the estimators need scikit-learn. Names load when
first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pandora_regret.lazy import lazy_exports

if TYPE_CHECKING:
    from pandora_regret.calibrate.decomposition import Decomposition as Decomposition
    from pandora_regret.calibrate.decomposition import decompose as decompose
    from pandora_regret.calibrate.estimators import MatrixScaling as MatrixScaling
    from pandora_regret.calibrate.estimators import PriorShift as PriorShift
    from pandora_regret.calibrate.estimators import TemperatureScaling as TemperatureScaling
    from pandora_regret.calibrate.estimators import VectorScaling as VectorScaling
    from pandora_regret.calibrate.recalibration import Recalibration as Recalibration
    from pandora_regret.calibrate.recalibration import RecalibrationMap as RecalibrationMap
    from pandora_regret.calibrate.recalibration import load_map as load_map
    from pandora_regret.calibrate.recalibration import recalibrate as recalibrate
    from pandora_regret.calibrate.wrapper import CalibratedSearch as CalibratedSearch

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "decomposition": ("Decomposition", "decompose"),
        "estimators": ("MatrixScaling", "PriorShift", "TemperatureScaling", "VectorScaling"),
        "recalibration": ("Recalibration", "RecalibrationMap", "load_map", "recalibrate"),
        "wrapper": ("CalibratedSearch",),
    },
    dict.fromkeys(("estimators", "wrapper"), ("sklearn", "zoo")),
)

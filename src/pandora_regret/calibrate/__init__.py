"""Forecasts that search better: recalibration, and how much of a search's cost it would save.

`decompose` and `recalibrate` need no more than the scores do; the estimators need scikit-learn. Names load when
first asked for.
"""

from pandora_regret.lazy import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(__name__, {"estimators": ("sklearn", "zoo")})

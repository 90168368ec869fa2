"""Student's t and the normal distribution, without scipy, whose import takes longer than scoring a small file."""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from pandora_regret.core.inputs import FloatArray

NORMAL = NormalDist()
MOST_STEPS = 100
CLOSE = 1e-14  # relative

_NODES = np.arange(-4.0, 5.2, 1 / 16)
_STEPS = np.exp(np.pi / 2 * np.sinh(_NODES))  # x = t + exp(pi/2 sinh(u)): whatever the scale, few u are enough
_WIDTHS = _STEPS * np.pi / 2 * np.cosh(_NODES) / 16


def student_tail(freedom: float, t: float) -> float:
    """How likely Student's t with such degrees of freedom is to exceed `t` >= 0.

    The area beyond t by exp-sinh quadrature, over that beyond 0, so that no constant of the density is needed:
    right to 1e-13, relatively, wherever it is not 0 as a float.
    """
    return _area(freedom, t) / _area(freedom, 0.0) / 2


def _area(freedom: float, t: float) -> float:
    """The area under ``(1 + x^2 / v)^(-(v + 1) / 2)`` from t on."""
    return float((_WIDTHS * _heights(freedom, t + _STEPS)).sum())


def _heights(v: float, x: FloatArray | float) -> FloatArray:
    """The density of t with v degrees of freedom at x, but for a factor."""
    return np.asarray(np.exp(-(v + 1) / 2 * np.log1p(x * x / v)))


@lru_cache(maxsize=1024)
def student_quantile(freedom: float, share: float) -> float:
    """What Student's t stays below with probability `share`, from 0.5 to below 1.

    By Newton's method from 0: the tail is convex, so that no step goes too far.
    """
    t = 0.0
    unit = _area(freedom, 0.0)
    for _ in range(MOST_STEPS):
        excess = _area(freedom, t) / unit / 2 - (1 - share)
        step = 2 * unit * excess / float(_heights(freedom, t))
        t += step
        if abs(step) <= CLOSE * t:
            break
    return t

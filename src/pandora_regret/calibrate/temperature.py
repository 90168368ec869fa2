"""One number that makes forecasts bolder or meeker: the best temperature, by a safeguarded Newton method."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pandora_regret.calibrate.objectives import Along, Objective
from pandora_regret.calibrate.rows import LabelledScores

COLDEST, HOTTEST = 1e-3, 1e3  # temperatures; separable data would ask for 0, useless forecasts for infinity
LAST_STEP = 1e-5  # relative; where steps square, what is left after it is 1e-10
ONE_IN = 16  # where instances are many, one in so many finds where to start
MOST_PASSES = 100
NOT_SHRINKING = 0.9  # a Newton step this long beside the one before creeps towards a minimum at infinity
HALF_DECADES = np.logspace(-3, 3, 13)
FINE_STEPS = 33

Curve = Callable[[float], Along]


def best_inverse_temperature(rows: LabelledScores, objective: Objective) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean loss.

    Log loss is convex in 1 / T, so Newton's method starts at 1, inside a bracket that every slope narrows.
    The search cost of alpha > 0 is not: a scan of half decades finds the valley first, and what Newton finds there
    is kept only if it beats leaving the forecasts alone. A loss that moves in steps is scanned twice.
    Where there are many rows, a part of them finds the neighbourhood.
    """
    curve = _curve(rows, objective)
    sample = _curve(rows.some(np.arange(0, len(rows), ONE_IN)), objective) if rows.many else curve
    low, start, high = (1 / HOTTEST, 1.0, 1 / COLDEST) if objective.convex else _valley(sample)
    if objective.stepped:
        candidates: list[float] = [1.0, *np.geomspace(low, high, FINE_STEPS).tolist()]
        return min(candidates, key=lambda at: curve(at).loss)
    near = _newton(sample, low, start, high) if rows.many else start
    found = _newton(curve, low, near, high)
    return found if objective.convex else min(found, 1.0, key=lambda at: curve(at).loss)


def _curve(rows: LabelledScores, objective: Objective) -> Curve:
    return lambda inverse_temperature: objective.along(rows, inverse_temperature)


def _valley(curve: Curve) -> tuple[float, float, float]:
    """The best half decade and its neighbours; of equal ones, the nearest to 1."""
    losses = [(curve(at).loss, abs(np.log(at)), number) for number, at in enumerate(HALF_DECADES)]
    best = min(losses)[2]
    return tuple(HALF_DECADES[np.clip([best - 1, best, best + 1], 0, len(HALF_DECADES) - 1)].tolist())


def _newton(curve: Curve, low: float, start: float, high: float) -> float:
    """Where the slope turns from falling to rising between low and high; the end it falls towards if nowhere.

    A step that leaves the bracket, goes uphill or does not shrink is replaced by the bracket's geometric middle.
    """
    at, last, ends = start, np.inf, (low, high)
    for passes in range(MOST_PASSES):
        _, slope, curvature = curve(at)
        if passes == 0 and slope == curvature == 0:
            return start  # every row says the same of all classes: nothing to scale
        low, high = (low, at) if slope > 0 else (at, high)
        target = at - slope / curvature if curvature > 0 else np.inf
        if not low <= target <= high or abs(target - at) > NOT_SHRINKING * last:
            target = float(np.sqrt(low * high))
        last, at = abs(target - at), target
        if last <= LAST_STEP * at:
            break
    return next((end for end in ends if abs(at - end) <= 2 * LAST_STEP * end), at)

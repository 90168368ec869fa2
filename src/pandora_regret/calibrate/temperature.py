"""One number that makes forecasts bolder or meeker: the best temperature, by a safeguarded Newton method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pandora_regret.calibrate.objectives import Along, LogLoss, Objective
from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray, IntArray

COLDEST, HOTTEST = 1e-3, 1e3  # temperatures; separable data would ask for 0, useless forecasts for infinity
LAST_STEP = 1e-5  # relative; where steps square, what is left after it is 1e-10
ONE_IN, FEWEST = 16, 4096  # where instances are many, one in so many finds where to start, but no fewer than these
MOST_PASSES = 100
NOT_SHRINKING = 0.9  # a Newton step this long beside the one before creeps towards a minimum at infinity
SMALL_STEP = 0.01  # relative; what is left after it is 1e-6
GRID = np.logspace(-3, 3, 49)  # eight steps per decade: a loss of odds cannot turn twice in less
MOST_VALLEYS = 4
FINE_STEPS = 33

Curve = Callable[[float], Along]
Bracket = tuple[float, float, float]


def best_inverse_temperature(rows: LabelledScores, objective: Objective) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean loss.

    Log loss is convex in 1 / T, so Newton's method starts at 1, inside a bracket that every slope narrows.
    The search cost of alpha > 0 is not, and may have several valleys: a scan finds them, Newton's method goes down
    each, and the lowest is kept if it beats leaving the forecasts alone. A loss that moves in steps is scanned
    twice. Where there are many rows, a part of them, drawn by chance, finds the valleys; which one is lowest, and
    where its bottom is, all rows decide.
    """
    curve: Curve = partial(objective.along, rows)
    some = rows.at_most(max(len(rows) // ONE_IN, FEWEST)) if rows.many else rows
    sample: Curve = partial(objective.along, some)
    if objective.convex:
        everywhere = (1 / HOTTEST, 1.0, 1 / COLDEST)
        return _newton(curve, everywhere if some is rows else _from_sample(sample, everywhere))
    valleys = _valleys(sample)
    if objective.stepped:
        candidates = [x for low, _, high in valleys for x in np.geomspace(low, high, FINE_STEPS).tolist()]
        return _lowest(curve, [1.0, *candidates])
    if rows.many:
        valleys = sorted((_from_sample(sample, valley) for valley in valleys), key=lambda v: curve(v[1]).loss)[:1]
    return _lowest(curve, [1.0, *(_newton(curve, valley) for valley in valleys)])


def out_of_fold_inverse_temperatures(rows: LabelledScores, fold: IntArray) -> FloatArray:
    """For each row, (N,), the 1 / T of least log loss of the rows in other folds than its own, (N,).

    That is near the best one for all rows, where one pass finds three derivatives of every fold. A step by them is
    off by the cube of its length, relatively: where it is not small, the fold is searched by itself.
    """
    objective = LogLoss()
    start = best_inverse_temperature(rows, objective)
    inverse = np.clip(start + _steps(objective.derivatives_by_fold(rows, start, fold)), 1 / HOTTEST, 1 / COLDEST)
    for number in np.flatnonzero(~(np.abs(inverse / start - 1) < SMALL_STEP)):
        others = replace(rows, weights=np.where(fold == number, 0.0, rows.weights))
        inverse[number] = _newton(partial(objective.along, others), (1 / HOTTEST, start, 1 / COLDEST))
    return np.asarray(inverse[fold])


def _steps(sums: FloatArray) -> FloatArray:
    """From a point to where the slope of the rows outside each fold is zero, (F,); NaN where that is not near.

    `sums` are the first three derivatives there, of the rows in each fold, (F, 3).
    """
    slope, curvature, third = (sums.sum(axis=0) - sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(-2 * slope / (curvature + np.sqrt(curvature**2 - 2 * slope * third)))


def _lowest(curve: Curve, candidates: Sequence[float]) -> float:
    """The candidate of least loss; of equal ones, the first."""
    return min(candidates, key=lambda candidate: curve(candidate).loss)


def _from_sample(sample: Curve, valley: Bracket) -> Bracket:
    """The same bracket, with a start that a part of the rows has found."""
    return valley[0], _newton(sample, valley), valley[2]


def _valleys(curve: Curve) -> list[Bracket]:
    """Grid points below their neighbours, between these, the lowest first; of a plain, the furthest from 1."""
    losses = np.array([curve(x).loss for x in GRID])
    lowest = min(range(len(GRID)), key=lambda i: (losses[i], -abs(np.log(GRID[i]))))
    padded = np.pad(losses, 1, constant_values=np.inf)
    bottoms = np.flatnonzero((losses < padded[:-2]) & (losses < padded[2:]))
    ranked = sorted(set(bottoms.tolist()) - {lowest}, key=lambda i: losses[i])
    return [_around(i) for i in [lowest, *ranked][:MOST_VALLEYS]]


def _around(i: int) -> Bracket:
    low, start, high = GRID[np.clip([i - 1, i, i + 1], 0, len(GRID) - 1)].tolist()
    return low, start, high


def _newton(curve: Curve, bracket: Bracket) -> float:
    """Where the slope turns from falling to rising in the bracket; the end it falls towards if nowhere.

    A step that leaves the bracket, goes uphill or does not shrink is replaced by the bracket's geometric middle.
    """
    low, start, high = bracket
    x, last, ends = start, np.inf, (low, high)
    for passes in range(MOST_PASSES):
        _, slope, curvature = curve(x)
        if passes == 0 and slope == curvature == 0:
            return start  # every row says the same of all classes: nothing to scale
        low, high = (low, x) if slope > 0 else (x, high)
        target = x - slope / curvature if curvature > 0 else np.inf
        if not low <= target <= high or abs(target - x) > NOT_SHRINKING * last:
            target = float(np.sqrt(low * high))
        last, x = abs(target - x), target
        if last <= LAST_STEP * x:
            break
    return next((end for end in ends if abs(x - end) <= 2 * LAST_STEP * end), x)

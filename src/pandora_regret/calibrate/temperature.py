"""One number that makes forecasts bolder or more timid: the temperature of least log loss or search cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_choice
from pandora_regret.kernels.engine import search_costs, worth_compiling
from pandora_regret.priors import Prior
from pandora_regret.scores import mean_or_rows

COLDEST, HOTTEST = 1e-3, 1e3  # temperatures; separable data would ask for 0, useless forecasts for infinity
LAST_STEP = 1e-5  # relative; where steps square, what is left after it is 1e-10
ONE_IN, FEWEST = 16, 4096  # where rows are many, one in so many finds where to start, but no fewer than these
MOST_PASSES = 100
NOT_SHRINKING = 0.9  # a Newton step this long beside the one before creeps towards a minimum at infinity
SMALL_STEP = 0.01  # relative; what is left after it is 1e-6
GRID = np.logspace(-3, 3, 49)  # eight steps per decade: a loss of odds cannot turn twice in less


OBJECTIVES = {"log_loss": "the logarithmic score", "search": "the expected search cost; of a temperature only"}


def read_objective(objective: Any, method: str) -> str:
    """What a map is fitted for: one of OBJECTIVES that suits the method."""
    chosen = read_choice(objective, "objective", OBJECTIVES)
    if chosen == "search" and method != "temperature":
        fix = "fit vector and matrix maps for log loss, which does as well, or choose method='temperature'"
        raise InputError(f"is 'search' and method is {method!r}", argument="objective", value=chosen, fix=fix)
    return chosen


def best_inverse_temperature(rows: LabelledScores) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean log loss, which is convex in it.

    Newton's method starts at 1; where there are many rows, at what a part of them, drawn by chance, asks for.
    """
    many = worth_compiling(rows.scores.size)
    start = _newton(_sample(rows), 1.0, many) if many else 1.0
    return _newton(rows, start, many)


def out_of_fold_inverse_temperatures(rows: LabelledScores, fold: IntArray) -> FloatArray:
    """For each row, (N,), the 1 / T of least log loss of the rows in other folds than its own, (N,).

    That is near the best one for all rows, where one pass finds three derivatives of every fold. A step by them is
    off by the cube of its length, relatively: where it is not small, the fold is searched by itself.
    """
    start = best_inverse_temperature(rows)
    many = worth_compiling(rows.scores.size)
    sums = derivatives(rows, start, fold, many)
    slope, curvature, third = (sums.sum(axis=0) - sums).T
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = -2 * slope / (curvature + np.sqrt(curvature**2 - 2 * slope * third))
    inverse = np.clip(start + steps, 1 / HOTTEST, 1 / COLDEST)
    for number in np.flatnonzero(~(np.abs(inverse / start - 1) < SMALL_STEP)):
        others = replace(rows, weights=np.where(fold == number, 0.0, rows.weights))
        inverse[number] = _newton(others, start, many)
    return np.asarray(inverse[fold])


def search_inverse_temperature(rows: LabelledScores, prior: Prior) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean search cost under a prior, at the rows' costs.

    That cost may have several valleys, and may move in steps. A part of the rows, drawn by chance, finds the
    deepest on a grid, the furthest from 1 of a plain; Brent's method on all rows then looks for its bottom. It is
    kept if it beats leaving the forecasts alone.
    """
    from scipy.optimize import minimize_scalar

    scan, cost = (_search_cost(some, prior) for some in (_sample(rows), rows))
    grid = GRID.tolist()
    lowest = min(range(len(grid)), key=lambda i: (scan(grid[i]), -abs(np.log(grid[i]))))
    bounds = grid[max(lowest - 1, 0)], grid[min(lowest + 1, len(grid) - 1)]
    bottom = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-6 * grid[lowest]})
    candidates: tuple[float, ...] = (1.0, grid[lowest], float(bottom.x))
    return min(candidates, key=cost)


def derivatives(rows: LabelledScores, inverse_temperature: float, fold: IntArray, many: bool) -> FloatArray:
    """The first three derivatives in 1 / T of the log loss, summed over the rows of each fold, (F, 3).

    They are cumulants of the scores under the forecast, by a compiled loop where rows, or those of which these are
    a part, are many.
    """
    if many:
        from pandora_regret.calibrate import loops

        return loops.log_loss_derivatives(rows, inverse_temperature, fold)
    gaps = rows.scores - rows.scores[rows.truth, np.arange(len(rows))]
    odds = np.exp(inverse_temperature * (gaps - gaps.max(axis=0)))
    odds /= odds.sum(axis=0)
    mean = (odds * gaps).sum(axis=0)
    spread = gaps - mean
    squares = odds * spread * spread
    cumulants = (mean, squares.sum(axis=0), (squares * spread).sum(axis=0))
    return np.stack([np.bincount(fold, rows.weights * each) for each in cumulants], axis=1)


def _sample(rows: LabelledScores) -> LabelledScores:
    return rows.at_most(max(len(rows) // ONE_IN, FEWEST))


def _search_cost(rows: LabelledScores, prior: Prior) -> Callable[[float], float]:
    """The mean search cost of ``scores / T`` as a function of 1 / T."""
    scores = np.ascontiguousarray(rows.scores.T)
    columns, numbers = range(rows.n_classes), range(len(rows))

    def mean_cost(inverse_temperature: float) -> float:
        forecast = Forecast(inverse_temperature * scores, True, columns, rows.truth, numbers, 0.0, checked=True)
        priced = replace(forecast, weights=rows.weights, costs=rows.costs)
        return float(mean_or_rows(priced, search_costs(priced, prior), per_instance=False))

    return mean_cost


def _newton(rows: LabelledScores, start: float, many: bool) -> float:
    """Where the slope turns from falling to rising; the end of the range it falls towards if nowhere.

    Every slope narrows a bracket. A step that leaves it, goes uphill or does not shrink is replaced by the
    bracket's geometric middle.
    """
    one_fold = np.zeros(len(rows), dtype=np.intp)
    low, high = ends = 1 / HOTTEST, 1 / COLDEST
    x, last = start, np.inf
    for passes in range(MOST_PASSES):
        slope, curvature, _ = derivatives(rows, x, one_fold, many)[0].tolist()
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

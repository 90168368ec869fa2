"""Maps of log-probabilities that are linear: one factor, one factor and one shift per class, or a whole matrix.

They are fitted for log loss, which is convex in them, and nested: vector scaling starts from the best temperature
and is drawn towards it, and so is matrix scaling. How strongly is said in penalties that count like rows: with n
rows a penalty weighs 1 / n, so that a few rows hardly move the map, and many decide alone. A temperature may be
fitted for the search cost instead.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pandora_regret.core.inputs import (
    LEAST_NORMAL,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    block_slices,
    read_choice,
)
from pandora_regret.core.kernels.engine import search_costs
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.priors import Prior
from pandora_regret.core.scores import mean_or_rows

MOST_ITERATIONS = 500
ROWS_PER_PASS = 4096  # rows, so that temporaries stay in the cache
MANY_CLASSES = 30  # beyond so many a matrix is slow to fit, and has little to gain
EM_TOLERANCE = 1e-8
MOST_ROUNDS = 1000
LOG_OF_LEAST = float(np.log(LEAST_NORMAL))
COLDEST = 1e-3  # temperatures; separable data would ask for 0, useless forecasts for infinity
HOTTEST = 1e3
LAST_STEP = 1e-5  # relative; where steps square, what is left after it is 1e-10
SHORT_STEP = 0.02  # relative; what is left after it is some 1e-6
ONE_IN = 16  # where rows are many, one in so many finds where to start, but no fewer than these
FEWEST_ROWS = 4096
MOST_PASSES = 100
HALF_A_ROW = 0.5  # what a class that never is the truth counts as, so that its frequency has a logarithm
NOT_SHRINKING = 0.9  # a Newton step this long beside the one before creeps towards a minimum at infinity
GRID = np.logspace(-3, 3, 49).tolist()  # eight steps per decade: a loss of odds cannot turn twice in less

MAP_METHODS = {
    "temperature": "one factor",
    "vector": "one factor and one shift per class",
    "matrix": "every class may weigh in on every other",
}
OBJECTIVES = {"log_loss": "the logarithmic score", "search": "the expected search cost; of a temperature only"}


def read_objective(objective: object, method: str) -> str:
    """What a map is fitted for: one of OBJECTIVES that suits the method."""
    chosen = read_choice(objective, "objective", OBJECTIVES)
    if chosen == "search" and method != "temperature":
        fix = "fit vector and matrix maps for log loss, which does as well, or choose the method temperature"
        raise InputError(f"is 'search' and method is {method!r}", argument="objective", value=chosen, fix=fix)
    return chosen


def log_probabilities(forecast: Forecast, level: float | None = None) -> tuple[Forecast, float]:
    """Forecasts as finite log-probabilities, and the level at which a probability of zero counts.

    Zero has no logarithm, and no scaling could ever repair it. It counts as half the smallest positive
    probability among these forecasts, unless a level was learned from others before; and never as more than half
    the smallest of its own row, so that an impossible class stays behind the possible ones. Columns of the result
    lie together, so that loops run along instances.
    """
    values = np.array(forecast.values.T, dtype=np.float64, order="C")
    replace(forecast, values=values.T).check()  # of columns that lie together, which is faster
    if forecast.logits:
        values -= values.max(axis=0)
        scores = values - np.log(np.exp(values).sum(axis=0))
    else:
        with np.errstate(divide="ignore"):
            scores = np.log(values, out=values)
    possible = scores > (-np.inf if forecast.logits else LOG_OF_LEAST)  # stands for a 0 on a list
    lowest = np.min(scores, axis=0, where=possible, initial=np.inf)
    level = float(lowest.min() - np.log(2)) if level is None else level
    if not possible.all():
        scores = np.where(possible, scores, np.minimum(level, lowest - np.log(2)))
    read_as = forecast.read_as or forecast.values.dtype  # faster to take from
    numbers = np.arange(len(forecast))
    scored = replace(forecast, values=scores.T, logits=True, checked=True, read_as=read_as, numbers=numbers)
    return scored, level


def pick_rows(rows: Forecast, index: IntArray) -> Forecast:
    """The rows of these numbers, stored column by column, so that loops run along instances."""
    chosen = rows.rows(index)
    return replace(chosen, values=np.asfortranarray(chosen.values))


def draw_rows(rows: Forecast, most: int) -> Forecast:
    """All rows where there are at most so many, else so many of them: drawn by chance, since files have periods.

    The seed is fixed, so that they are always the same.
    """
    if len(rows) <= most:
        return rows
    drawn = np.random.default_rng(0).choice(len(rows), most, replace=False, shuffle=False)
    return pick_rows(rows, np.sort(drawn))


def frequencies_in(rows: Forecast) -> FloatArray:
    """What share of the rows has each class as its truth, (K,); a class counts as half a row at least."""
    counts = np.bincount(rows.truth, rows.each_weight, rows.n_classes)
    counts = np.maximum(counts, HALF_A_ROW)
    return np.asarray(counts / counts.sum())


def probabilities_of(scores: FloatArray) -> FloatArray:
    """The forecasts of (K, N) log-probabilities up to a constant of each instance, as an (N, K) table."""
    unnormalised = np.exp(scores - scores.max(axis=0))
    return np.ascontiguousarray((unnormalised / unnormalised.sum(axis=0)).T)


def probability_table(forecast: Forecast) -> FloatArray:
    """The probabilities of a forecast, (N, K), also where it was given as logits."""
    return np.concatenate([probabilities(block) for block in forecast.blocks()])


@dataclass(frozen=True)
class Map:
    """``factors @ scores + shifts``; factors of shape (K,) are a diagonal."""

    factors: FloatArray  # (K,) or (K, K)
    shifts: FloatArray  # (K,)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Scores of the recalibrated forecasts, (K, N), up to a constant of each row."""
        diagonal = self.factors.ndim == 1
        scaled = self.factors[:, None] * scores if diagonal else self.factors @ scores
        return scaled + self.shifts[:, None]

    @property
    def flat(self) -> FloatArray:
        """All parameters in a row."""
        return np.concatenate([self.factors.ravel(), self.shifts])


class Penalties(NamedTuple):
    """How strongly a map is drawn to the best temperature: weights of squared distances from it."""

    diagonal: float  # of factors on the diagonal
    off_diagonal: float  # of factors off the diagonal
    intercept: float  # of shifts


DEFAULT_PENALTIES = Penalties(10.0, 100.0, 10.0)  # the cheapest out of fold for six models on five sets


def frequency_map(rows: Forecast) -> Map:
    """The class frequencies, whatever the forecasts say."""
    return Map(np.zeros(rows.n_classes), np.log(frequencies_in(rows)))


def one_factor(inverse_temperature: float, n_classes: int) -> Map:
    """The map that multiplies all log-probabilities by 1 / T."""
    return Map(np.full(n_classes, inverse_temperature), np.zeros(n_classes))


def fitted_map(
    method: str, rows: Forecast, penalties: Penalties = DEFAULT_PENALTIES, prior: Prior | None = None
) -> Map:
    """The map of least log loss, drawn to the best temperature; `method` is one of MAP_METHODS.

    With a prior that temperature is the one of least search cost. By L-BFGS with closed-form gradients. Scores are
    measured from their class's mean, so that a shift is one of the average forecast, and the optimiser need not
    trade shifts for factors.
    """
    inverse = best_inverse_temperature(rows) if prior is None else search_inverse_temperature(rows, prior)
    temperature_map = one_factor(inverse, rows.n_classes)
    if method == "temperature":
        return temperature_map
    if method == "matrix":
        temperature_map = replace(temperature_map, factors=np.diag(temperature_map.factors))
    total_weight = rows.each_weight.sum()
    mean_scores = (rows.values.T @ rows.each_weight / total_weight)[:, None]  # (K, 1)
    centred = replace(rows, values=rows.values - mean_scores.T)
    start = Map(temperature_map.factors, temperature_map(mean_scores)[:, 0])
    best = _least_log_loss(centred, start, _penalty_weights(start, penalties) / total_weight)
    return Map(best.factors, best(-mean_scores)[:, 0])


def _penalty_weights(start: Map, penalties: Penalties) -> FloatArray:
    """The penalty of each parameter of a map, in the order of `Map.flat`."""
    factors = np.full(start.factors.shape, penalties.off_diagonal)
    if factors.ndim == 1:
        factors[:] = penalties.diagonal
    else:
        np.fill_diagonal(factors, penalties.diagonal)
    shifts = np.full(start.shifts.shape, penalties.intercept)
    return Map(factors, shifts).flat


def _least_log_loss(rows: Forecast, start: Map, penalty_weights: FloatArray) -> Map:
    """The map of least log loss and penalty: half the weighted squared distance of its parameters from `start`."""
    from scipy.optimize import minimize

    def as_map(parameters: FloatArray) -> Map:
        factors, shifts = np.split(parameters, [start.factors.size])
        return Map(factors.reshape(start.factors.shape), shifts)

    def penalised_loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient."""
        loss, slope = _log_loss(as_map(parameters), rows)
        distance = parameters - start.flat
        pull = penalty_weights * distance
        return loss + float(pull @ distance) / 2, slope.flat + pull

    result = minimize(
        penalised_loss,
        start.flat,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_ITERATIONS, "ftol": 1e-13, "gtol": 1e-8},
    )
    return as_map(result.x)


def warranted_map(rows: Forecast) -> Map:
    """The map of least AIC: none, the class frequencies, or one of the three methods.

    Only what the rows give reason for: fitted to calibrated forecasts, a map of many parameters would do harm on
    other rows, and look like it. The weights' sum says how many independent rows there are.
    """
    k = rows.n_classes
    candidates = [  # the number of parameters, and the map
        (0, one_factor(1.0, k)),
        (1, fitted_map("temperature", rows)),
        (k - 1, frequency_map(rows)),
        (2 * k - 1, fitted_map("vector", rows)),
    ]
    if k <= MANY_CLASSES:
        candidates.append((k * k - 1, fitted_map("matrix", rows)))
    total_weight = float(rows.each_weight.sum())
    criteria = []
    for n_parameters, candidate in candidates:
        mean_loss, _ = _log_loss(candidate, rows)
        criteria.append(n_parameters + total_weight * mean_loss)  # half of Akaike's
    return candidates[int(np.argmin(criteria))][1]


def _log_loss(map_: Map, rows: Forecast) -> tuple[float, Map]:
    """The mean log loss of the mapped scores, and its derivative in the map."""
    loss = 0.0
    factors = np.zeros_like(map_.factors)
    shifts = np.zeros_like(map_.shifts)
    all_weights = rows.each_weight
    for first in range(0, len(rows), ROWS_PER_PASS):
        part = slice(first, first + ROWS_PER_PASS)
        scores = rows.values.T[:, part]
        truth = rows.truth[part]
        weights = all_weights[part]
        of_truth = (truth, np.arange(len(truth)))
        mapped = map_(scores)
        mapped -= mapped.max(axis=0)
        slopes = np.exp(mapped)
        total = slopes.sum(axis=0)
        loss += float(weights @ (np.log(total) - mapped[of_truth]))
        slopes *= weights / total
        slopes[of_truth] -= weights
        factors += (slopes * scores).sum(axis=1) if factors.ndim == 1 else slopes @ scores.T
        shifts += slopes.sum(axis=1)
    total_weight = float(all_weights.sum())
    return loss / total_weight, Map(factors / total_weight, shifts / total_weight)


def find_frequencies(
    table: FloatArray,
    source: FloatArray,
    weights: FloatArray | None = None,
    tolerance: float = EM_TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[FloatArray, int]:
    """The class frequencies, (K,), under which forecasts, (N, K), made at `source`, (K,), are most likely.

    And how many rounds it took. EM (Saerens and others, 2002): adjust the forecasts to the frequencies, take their
    mean as the frequencies.
    """
    target = source
    rounds = 0
    moved = np.inf
    while moved > tolerance and rounds < most_rounds:
        mean = np.average(adjust_to_frequencies(table, source, target), axis=0, weights=weights)
        moved = float(np.abs(mean - target).max())
        target = mean
        rounds += 1
    return target, rounds


def adjust_to_frequencies(table: FloatArray, source: FloatArray, target: FloatArray) -> FloatArray:
    """Forecasts times the ratio of frequencies, new over old, normalised; impossible rows are left as they are."""
    occurs = source > 0
    scaled = table * np.divide(target, source, out=np.ones(len(occurs)), where=occurs)
    total = scaled.sum(axis=1, keepdims=True)
    return np.where(total > 0, scaled / np.where(total > 0, total, 1.0), table)


def best_inverse_temperature(rows: Forecast) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean log loss, which is convex in it.

    Newton's method starts at 1; where there are many rows, at what a part of them, drawn by chance, asks for.
    """
    part = _part(rows)
    start = 1.0 if len(part) == len(rows) else _newton(part, 1.0)
    return _newton(rows, start)


def out_of_fold_inverse_temperatures(rows: Forecast, fold: IntArray) -> FloatArray:
    """For each row, (N,), the 1 / T of least log loss of the rows in other folds than its own.

    From the best of all rows that is mostly a short way, for which one step of Newton's method will do, with the
    curvature half way.
    """
    folds = np.unique(fold)
    start = best_inverse_temperature(rows)
    further = (1 + SHORT_STEP) * start
    slopes, curvatures = _without_each_fold(derivatives(rows, start), fold)
    _, further_curvatures = _without_each_fold(derivatives(rows, further), fold)
    if (np.abs(slopes) <= SHORT_STEP * start * curvatures).all() and curvatures.all():
        change = (further_curvatures - curvatures) / (further - start)
        half_way = curvatures - slopes / curvatures / 2 * change
        inverse = np.clip(start - slopes / half_way, 1 / HOTTEST, 1 / COLDEST)
    else:
        found = []
        for number in folds:
            weights = np.where(fold == number, 0.0, rows.each_weight)
            found.append(_newton(replace(rows, weights=weights), start))
        inverse = np.array(found)
    return np.asarray(inverse[np.searchsorted(folds, fold)])


def _without_each_fold(values: FloatArray, fold: IntArray) -> list[FloatArray]:
    """The sums of two or more values of each row, (M, N), over all rows but those of a fold: M arrays (folds,)."""
    folds = np.unique(fold)
    return [numbers.sum() - np.bincount(fold, numbers)[folds] for numbers in values]


def search_inverse_temperature(rows: Forecast, prior: Prior) -> float:
    """The 1 / T in [1e-3, 1e3] of least mean search cost under a prior, at the rows' costs.

    That cost may have several valleys, and may move in steps. A part of the rows, drawn by chance, finds the
    deepest on a grid, and where lowest points lie level the one furthest from 1. Brent's method on all rows
    then looks for the bottom of that valley, which is kept if it beats leaving the forecasts alone.
    """
    from scipy.optimize import minimize_scalar

    def cost(inverse: float, of_rows: Forecast = rows) -> float:
        scaled = replace(of_rows, values=inverse * of_rows.values)
        return mean_or_rows(scaled, search_costs(scaled, prior), per_instance=False)

    part = _part(rows)
    costs_on_grid = [cost(inverse, part) for inverse in GRID]
    least = min(costs_on_grid)
    plateau = [number for number in range(len(GRID)) if costs_on_grid[number] == least]
    lowest = max(plateau, key=lambda number: abs(np.log(GRID[number])))
    bounds = (GRID[max(lowest - 1, 0)], GRID[min(lowest + 1, len(GRID) - 1)])
    bottom = minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-6 * GRID[lowest]})
    return float(min(1.0, GRID[lowest], bottom.x, key=cost))


def _part(rows: Forecast) -> Forecast:
    """The rows that find where to start."""
    return draw_rows(rows, max(len(rows) // ONE_IN, FEWEST_ROWS))


def derivatives(rows: Forecast, inverse_temperature: float) -> FloatArray:
    """The first two derivatives in 1 / T of each row's log loss, (2, N): cumulants under the forecast."""
    both = np.empty((2, len(rows)))
    for part in block_slices(*rows.values.shape):
        scores = rows.values.T[:, part]
        truth = rows.truth[part]
        gaps = scores - scores.max(axis=0)
        odds = np.exp(inverse_temperature * gaps)
        total = odds.sum(axis=0)
        weighted = np.multiply(odds, gaps, out=odds)  # a table of its own would take as long as the sums
        mean = weighted.sum(axis=0) / total
        both[0, part] = mean - gaps[truth, np.arange(len(truth))]
        weighted *= gaps
        both[1, part] = weighted.sum(axis=0) / total - mean * mean
    return rows.each_weight * both


def _newton(rows: Forecast, start: float) -> float:
    """The 1 / T of least log loss: where its slope turns from falling to rising.

    An end of the range where it falls towards that. Every slope narrows a bracket. A step that leaves it, goes
    uphill or does not shrink is replaced by the bracket's geometric middle.
    """
    least = 1 / HOTTEST
    most = 1 / COLDEST
    low = least
    high = most
    x = start
    last_step = np.inf
    for passes in range(MOST_PASSES):
        slopes, curvatures = derivatives(rows, x)
        slope = float(slopes.sum())
        curvature = float(curvatures.sum())
        if passes == 0 and slope == curvature == 0:
            return 1.0  # every row says the same of all classes: nothing to scale
        if slope > 0:
            high = x
        else:
            low = x
        target = x - slope / curvature if curvature > 0 else np.inf
        if not low <= target <= high or abs(target - x) > NOT_SHRINKING * last_step:
            target = float(np.sqrt(low * high))
        last_step = abs(target - x)
        x = target
        if last_step <= LAST_STEP * x:
            break
    for end in (least, most):
        if abs(x - end) <= 2 * LAST_STEP * end:
            return end
    return x

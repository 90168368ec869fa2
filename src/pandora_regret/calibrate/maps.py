"""Maps of log-probabilities that are linear: one factor, one factor and one shift per class, or a whole matrix.

They are fitted for log loss, which is convex in them, and nested: vector scaling starts from the best temperature
and is drawn towards it, and so is matrix scaling. How strongly is said in penalties that count like rows: with n
rows a penalty weighs 1 / n, so that a few rows hardly move the map, and many decide alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.calibrate.temperature import best_inverse_temperature
from pandora_regret.inputs import FloatArray

MOST_ITERATIONS = 500
AT_ONCE = 4096  # rows, so that temporaries stay in the cache
MANY_CLASSES = 30  # beyond so many a matrix is slow to fit, and has little to gain
TOLERANCE, MOST_ROUNDS = 1e-8, 1000  # of EM

METHODS = {
    "temperature": "one factor",
    "vector": "one factor and one shift per class",
    "matrix": "every class may weigh in on every other",
}


@dataclass(frozen=True)
class Map:
    """``factors @ scores + shifts``; factors of shape (K,) are a diagonal."""

    factors: FloatArray  # (K,) or (K, K)
    shifts: FloatArray  # (K,)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Scores of the recalibrated forecasts, (K, N), up to a constant of each row."""
        diagonal = self.factors.ndim == 1
        scaled = self.factors[:, None] * scores if diagonal else self.factors @ scores
        return np.asarray(scaled + self.shifts[:, None])


class Penalties(NamedTuple):
    """Of factors on the diagonal, off it, and of shifts, as squared distances from the best temperature."""

    diagonal: float
    off_diagonal: float
    intercept: float


DEFAULT_PENALTIES = Penalties(10.0, 100.0, 10.0)  # the cheapest out of fold for six models on five sets


def frequency_map(rows: LabelledScores) -> Map:
    """The class frequencies, whatever the forecasts say."""
    return Map(np.zeros(rows.n_classes), np.log(rows.frequencies))


def one_factor(inverse_temperature: float, n_classes: int) -> Map:
    """The map of a temperature."""
    return Map(np.full(n_classes, inverse_temperature), np.zeros(n_classes))


def fitted_map(method: str, rows: LabelledScores, penalties: Penalties = DEFAULT_PENALTIES) -> Map:
    """The map of least log loss, drawn to the best temperature; `method` is one of METHODS."""
    plain = one_factor(best_inverse_temperature(rows), rows.n_classes)
    if method == "temperature":
        return plain
    if method == "matrix":
        plain = replace(plain, factors=np.diag(plain.factors))
    return _best_near(plain, rows, penalties)


def warranted_map(rows: LabelledScores) -> Map:
    """Of no map, the class frequencies and the three methods, the one of least AIC.

    Only what the rows give reason for: fitted to calibrated forecasts, a map of many parameters would do harm on
    other rows, and look like it. The weights' sum says how many independent rows there are.
    """
    k = rows.n_classes
    maps = [
        (0, one_factor(1.0, k)),
        (1, fitted_map("temperature", rows)),
        (k - 1, frequency_map(rows)),
        (2 * k - 1, fitted_map("vector", rows)),
    ]
    if k <= MANY_CLASSES:
        maps.append((k * k - 1, fitted_map("matrix", rows)))

    def criterion(candidate: tuple[int, Map]) -> float:
        parameters, map_ = candidate
        return parameters + _log_loss(map_, rows)[0] * float(rows.weights.sum())

    return min(maps, key=criterion)[1]


def _best_near(plain: Map, rows: LabelledScores, penalties: Penalties) -> Map:
    """The map of least penalised log loss, by L-BFGS with closed-form gradients.

    Scores are measured from their class's mean, so that a shift is one of the average forecast, and the
    optimiser need not trade shifts for factors.
    """
    from scipy.optimize import minimize

    middle = (rows.scores @ rows.weights / rows.weights.sum())[:, None]
    centred, centre = replace(rows, scores=rows.scores - middle), Map(plain.factors, plain(middle)[:, 0])
    strengths = np.full(centre.factors.shape, penalties.off_diagonal)
    strengths[np.diag_indices(rows.n_classes) if strengths.ndim == 2 else slice(None)] = penalties.diagonal
    of_shifts = np.full(rows.n_classes, penalties.intercept)
    start, strength = _flat(centre), _flat(Map(strengths, of_shifts)) / rows.weights.sum()

    def as_map(parameters: FloatArray) -> Map:
        factors, shifts = np.split(parameters, [centre.factors.size])
        return Map(factors.reshape(centre.factors.shape), shifts)

    def penalised(parameters: FloatArray) -> tuple[float, FloatArray]:
        loss, slope = _log_loss(as_map(parameters), centred)
        distance = parameters - start
        pull = strength * distance
        return loss + float(pull @ distance) / 2, _flat(slope) + pull

    result = minimize(
        penalised,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_ITERATIONS, "ftol": 1e-13, "gtol": 1e-8},
    )
    best = as_map(result.x)
    return Map(best.factors, best(-middle)[:, 0])


def _log_loss(map_: Map, rows: LabelledScores) -> tuple[float, Map]:
    """The mean log loss of the mapped scores, and its derivative in the map."""
    loss, factors, shifts = 0.0, np.zeros_like(map_.factors), np.zeros_like(map_.shifts)
    for first in range(0, len(rows), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        scores, truth, weights = rows.scores[:, part], rows.truth[part], rows.weights[part]
        own = truth, np.arange(len(truth))
        mapped = map_(scores)
        mapped -= mapped.max(axis=0)
        slopes = np.exp(mapped)
        total = slopes.sum(axis=0)
        loss += float(weights @ (np.log(total) - mapped[own]))
        slopes *= weights / total
        slopes[own] -= weights
        factors += (slopes * scores).sum(axis=1) if factors.ndim == 1 else slopes @ scores.T
        shifts += slopes.sum(axis=1)
    whole = float(rows.weights.sum())
    return loss / whole, Map(factors / whole, shifts / whole)


def _flat(map_: Map) -> FloatArray:
    return np.concatenate([map_.factors.ravel(), map_.shifts])


def adjusted_frequencies(
    table: FloatArray,
    source: FloatArray,
    weights: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[FloatArray, int]:
    """The frequencies under which forecasts, (N, K), made at other frequencies, (K,), are most likely; and rounds.

    EM (Saerens and others, 2002): adjust the forecasts to the frequencies, take their mean as the frequencies.
    """
    target, rounds, moved = source, 0, np.inf
    while moved > tolerance and rounds < most_rounds:
        mean = np.average(adjusted(table, source, target), axis=0, weights=weights)
        moved, target, rounds = float(np.abs(mean - target).max()), mean, rounds + 1
    return target, rounds


def adjusted(table: FloatArray, source: FloatArray, target: FloatArray) -> FloatArray:
    """Forecasts times the ratio of frequencies, new over old, normalised; impossible rows are left as they are."""
    occurs = source > 0
    scaled = table * np.divide(target, source, out=np.ones(len(occurs)), where=occurs)
    total = scaled.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, scaled / np.where(total > 0, total, 1.0), table))

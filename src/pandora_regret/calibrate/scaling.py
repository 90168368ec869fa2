"""Maps of log-probabilities that are linear: one factor, one factor and one shift per class, or a whole matrix.

They are nested: vector scaling starts from the best temperature and is drawn towards it, and so is matrix
scaling. How strongly is said in penalties that count like rows: with n rows a penalty weighs 1 / n, so that a
few rows hardly move the map, and many decide alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pandora_regret.calibrate.objectives import LogLoss, Objective
from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.calibrate.temperature import best_inverse_temperature
from pandora_regret.inputs import FloatArray, InputError

MOST_ITERATIONS = 500
SCOUTS, RANDOM_STARTS = 1024, 12  # rows that look for valleys, and starts by chance that they look from
DIAGONAL, OFF_DIAGONAL, INTERCEPT = 10.0, 100.0, 10.0  # the cheapest out of fold for six models on five sets
MANY_CLASSES = 30  # beyond so many a matrix is slow to fit, and has little to gain

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
        """Scores of the recalibrated forecasts, (K, N), up to a constant of each instance."""
        diagonal = self.factors.ndim == 1
        scaled = self.factors[:, None] * scores if diagonal else self.factors @ scores
        return np.asarray(scaled + self.shifts[:, None])

    @property
    def changes_nothing(self) -> bool:
        """Whether recalibrated forecasts are the forecasts themselves."""
        return self.factors.ndim == 1 and bool((self.factors == 1).all() and not self.shifts.any())

    @property
    def forgets_everything(self) -> bool:
        """Whether recalibrated forecasts are the same whatever the forecasts say."""
        return not self.factors.any()

    def pulled_back(self, scores: FloatArray, slopes: FloatArray) -> Map:
        """The derivative of a loss in the map, from its derivative in the mapped scores."""
        diagonal = self.factors.ndim == 1
        factors = np.einsum("kn,kn->k", slopes, scores) if diagonal else slopes @ scores.T
        return Map(factors, slopes.sum(axis=1))


class Penalties(NamedTuple):
    """Of factors on the diagonal, off it, and of shifts, as squared distances from the best temperature."""

    diagonal: float
    off_diagonal: float
    intercept: float


def temperature_map(rows: LabelledScores, objective: Objective) -> Map:
    """One factor for all classes: 1 / T."""
    return Map(np.full(rows.n_classes, best_inverse_temperature(rows, objective)), np.zeros(rows.n_classes))


def frequency_map(rows: LabelledScores) -> Map:
    """The class frequencies, whatever the forecasts say."""
    return Map(np.zeros(rows.n_classes), np.log(rows.frequencies))


def vector_map(rows: LabelledScores, objective: Objective, penalties: Penalties) -> Map:
    """One factor and one shift per class."""
    return _best_near(temperature_map(rows, objective), rows, objective, penalties)


def matrix_map(rows: LabelledScores, objective: Objective, penalties: Penalties) -> Map:
    """Every class may weigh in on every other."""
    plain = temperature_map(rows, objective)
    return _best_near(Map(np.diag(plain.factors), plain.shifts), rows, objective, penalties)


def default_map(method: str, rows: LabelledScores, objective: Objective) -> Map:
    """The map of a method, drawn to the best temperature as strongly as by default."""
    if method == "temperature":
        return temperature_map(rows, objective)
    fit = {"vector": vector_map, "matrix": matrix_map}[method]
    return fit(rows, objective, Penalties(DIAGONAL, OFF_DIAGONAL, INTERCEPT))


def warranted_map(rows: LabelledScores) -> Map:
    """Of no map, the class frequencies and the three methods, for log loss, the one of least AIC.

    Only what the rows give reason for: fitted to calibrated forecasts, a map of many parameters would do harm on
    other rows, and look like it. The weights' sum says how many independent rows there are.
    """
    k = rows.n_classes
    maps = [
        (0, Map(np.ones(k), np.zeros(k))),
        (1, temperature_map(rows, LogLoss())),
        (k - 1, frequency_map(rows)),
        (2 * k - 1, default_map("vector", rows, LogLoss())),
    ]
    if k <= MANY_CLASSES:
        maps.append((k * k - 1, default_map("matrix", rows, LogLoss())))

    def criterion(candidate: tuple[int, Map]) -> float:
        parameters, map_ = candidate
        loss, _ = LogLoss().gradient(rows, map_(rows.scores))
        return parameters + loss * float(rows.weights.sum())

    return min(maps, key=criterion)[1]


def _best_near(plain: Map, rows: LabelledScores, objective: Objective, penalties: Penalties) -> Map:
    """The map of least penalised loss. Where a part of the rows chose the start, all rows try the plain map too.

    Scores are measured from their class's mean, so that a shift is one of the average forecast, and the
    optimiser need not trade shifts for factors.
    """
    if objective.stepped:
        raise InputError(
            f"{objective!r} is flat between steps, so no slope leads to a better map: use temperature scaling, "
            "objective='log_loss', or a smooth prior such as Uniform() or LogNormal(0.5)."
        )
    middle = (rows.scores @ rows.weights / rows.weights.sum())[:, None]
    rows, plain = rows.shifted(-middle), Map(plain.factors, plain(middle)[:, 0])
    starts = [plain] if objective.convex or len(rows) > SCOUTS else []
    if not objective.convex:
        starts.append(_scouted(plain, rows, objective, penalties))
    ends = (_descend(start, plain, rows, objective, penalties) for start in starts)
    best = min(ends, key=lambda end: end[1])[0]
    return Map(best.factors, best(-middle)[:, 0])


def _scouted(plain: Map, rows: LabelledScores, objective: Objective, penalties: Penalties) -> Map:
    """Where to start on a loss with several valleys: of many starts on a part of the rows, the lowest end.

    One start is the plain map, one is what log loss would choose, and the others lie at random around the plain
    map, near and far: each finds the lowest of valleys that the first two miss about one time in four.
    """
    scouts = rows.at_most(SCOUTS)
    scouts = replace(scouts, weights=scouts.weights * (rows.weights.sum() / scouts.weights.sum()))
    starts = [plain, _descend(plain, plain, scouts, LogLoss(), penalties)[0]]
    rng = np.random.default_rng(0)
    for spread in np.tile([1.0, 2.0], RANDOM_STARTS // 2):
        factors, shifts = rng.normal(0, spread, (2, rows.n_classes))
        diagonal = factors if plain.factors.ndim == 1 else np.diag(factors)
        starts.append(Map(plain.factors + diagonal, plain.shifts + shifts))
    ends = (_descend(start, plain, scouts, objective, penalties) for start in starts)
    return min(ends, key=lambda end: end[1])[0]


def _descend(
    start: Map, plain: Map, rows: LabelledScores, objective: Objective, penalties: Penalties
) -> tuple[Map, float]:
    """The nearest minimum, by L-BFGS with closed-form gradients, and the penalised loss there."""
    from scipy.optimize import minimize

    centre, strength = _flat(plain), _strengths(plain, penalties) / rows.weights.sum()

    def penalised(parameters: FloatArray) -> tuple[float, FloatArray]:
        candidate, distance = _unflat(parameters, plain), parameters - centre
        loss, slopes = objective.gradient(rows, candidate(rows.scores))
        pull = strength * distance
        return loss + float(pull @ distance) / 2, _flat(candidate.pulled_back(rows.scores, slopes)) + pull

    result = minimize(
        penalised,
        _flat(start),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MOST_ITERATIONS, "ftol": 1e-13, "gtol": 1e-8},
    )
    return _unflat(result.x, plain), float(result.fun)


def _strengths(like: Map, penalties: Penalties) -> FloatArray:
    factors = np.full(like.factors.shape, penalties.diagonal)
    if factors.ndim == 2:
        factors = np.where(np.eye(len(factors), dtype=bool), penalties.diagonal, penalties.off_diagonal)
    return _flat(Map(factors, np.full(like.shifts.shape, penalties.intercept)))


def _flat(map_: Map) -> FloatArray:
    return np.concatenate([map_.factors.ravel(), map_.shifts])


def _unflat(parameters: FloatArray, like: Map) -> Map:
    cut = like.factors.size
    return Map(parameters[:cut].reshape(like.factors.shape), parameters[cut:])

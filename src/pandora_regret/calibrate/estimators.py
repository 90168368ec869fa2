"""Calibrators as scikit-learn estimators: temperature, vector and matrix scaling.

Their features are forecasts, one column per class: probabilities, or logits with ``logits=True``. A probability of
zero counts as half the smallest positive one seen in `fit`, since no scaling could ever repair it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pandora_regret.calibrate.objectives import DEFAULT_OBJECTIVE, Objective, read_objective
from pandora_regret.calibrate.reading import ReadsForecasts
from pandora_regret.calibrate.rows import LabelledScores, probabilities_of, rows_of, turned
from pandora_regret.calibrate.scaling import (
    DIAGONAL,
    INTERCEPT,
    OFF_DIAGONAL,
    Map,
    Penalties,
    matrix_map,
    temperature_map,
    vector_map,
)
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.costs import check_named
from pandora_regret.inputs.numbers import read_number
from pandora_regret.priors import Prior


@dataclass(eq=False, repr=False, kw_only=True)
class Scaling(ReadsForecasts):
    """A linear map of log-probabilities, fitted to labels; scikit-learn's parameters are its fields."""

    objective: str = DEFAULT_OBJECTIVE
    prior: Prior | None = None
    costs: Any = None
    typical_costs: Any = None
    logits: bool = False
    labels: Any = None
    normalise: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the map to forecasts X, (N, K), and the true classes y, (N,), or votes, (N, K)."""
        forecast = self._labelled(X, y, sample_weight)
        if self.labels is None:
            check_named(forecast.labels, costs=self.costs, typical_costs=self.typical_costs)
        objective, forecast = read_objective(self.objective, self.prior, self.costs, self.typical_costs, forecast)
        rows, self._level = rows_of(forecast)
        self._map = self._fitted_map(rows, objective)
        self._keep(self._map)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """The recalibrated forecasts, (N, K)."""
        scores, _ = turned(self._unlabelled(X), self._level)
        return self._in_class_order(probabilities_of(self._map(scores)))

    def _fitted_map(self, rows: LabelledScores, objective: Objective) -> Map:
        raise NotImplementedError

    def _keep(self, fitted: Map) -> None:
        """What a user may want to look at."""
        self.factors_, self.shifts_ = fitted.factors, fitted.shifts


class TemperatureScaling(Scaling):
    """One temperature for all forecasts, ``softmax(ln p / T)``: it changes how bold they are, not their order.

    Found by Newton's method with closed-form derivatives inside a bracket. The log loss is convex in 1 / T; the
    search cost of alpha > 0 is not, so a scan finds its valleys first. T stays in [0.001, 1000]:
    forecasts that always favour the truth would ask for 0, and get 0.001; forecasts that are worse than guessing
    would ask for infinity, and get 1000; forecasts that favour no class in any row keep T = 1.

    Parameters
    ----------
    objective
        "search", the expected search cost under `prior` and `costs`, or "log_loss".
    prior, costs, typical_costs
        As in `expected_search_cost`; costs may be named by class. `Beta(0.0)` is taken as its logarithmic limit.
    logits
        Whether forecasts come as logits.
    labels
        What the columns stand for, in column order, such as a classifier's `classes_`. Unless given: a frame's
        column names; sorted numbers, if there are as many as columns; else column numbers. Classes that are names
        need one of the first two.
    normalise
        Whether rows of probabilities whose sum is off 1 by at most 1 % are divided by it.

    Attributes
    ----------
    temperature_
        T.
    classes_
        What the columns stand for; a class that never occurs among the labels is fine. Whole numbers as labels of
        columns that have names are read as scikit-learn encodes names, by their place in the sorted ones, as
        `cross_val_predict` does; forecasts then come in that order, too.

    See Also
    --------
    recalibrate : What a map saves, and whether that is worth it.
    CalibratedSearch : A classifier and its calibrator in one.

    References
    ----------
    Guo et al. (2017) [guo17]_.

    Examples
    --------
    >>> import numpy as np
    >>> bold = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> calibrator = TemperatureScaling(objective="log_loss").fit(bold, [0, 0, 1, 1])
    >>> calibrator.predict_proba(bold).round(3)
    array([[0.75, 0.25],
           [0.75, 0.25],
           [0.75, 0.25],
           [0.25, 0.75]])
    """

    def _fitted_map(self, rows: LabelledScores, objective: Objective) -> Map:
        return temperature_map(rows, objective)

    def _keep(self, fitted: Map) -> None:
        self.temperature_ = float(1 / fitted.factors[0])


@dataclass(eq=False, repr=False, kw_only=True)
class VectorScaling(Scaling):
    """One factor and one shift per class: ``softmax(w_k ln p_k + b_k)``.

    The map is drawn towards the best temperature by `penalty`, so that a single row, separable data and a class
    that never occurs have a finite answer. The search cost is minimised from several starts, since it is not
    convex for alpha > 0.

    Parameters
    ----------
    penalty
        How strongly: of the squared distances, over twice the number of rows (the sum of the weights).

    Other parameters as in `TemperatureScaling`.

    Attributes
    ----------
    factors_, shifts_
        w and b, both (K,).

    References
    ----------
    Guo et al. (2017) [guo17]_.

    Examples
    --------
    >>> calibrator = VectorScaling().fit([[0.5, 0.5]] * 40, [0] * 30 + [1] * 10)
    >>> bool(calibrator.predict_proba([[0.5, 0.5]])[0, 0] > 0.6)
    True
    """

    penalty: float = DIAGONAL

    def _fitted_map(self, rows: LabelledScores, objective: Objective) -> Map:
        penalty = _read_penalty(self.penalty, "penalty")
        return vector_map(rows, objective, Penalties(penalty, penalty, penalty))


@dataclass(eq=False, repr=False, kw_only=True)
class MatrixScaling(Scaling):
    """Dirichlet calibration, ``softmax(W ln p + b)``: every class may weigh in on every other.

    Drawn towards the best temperature as `VectorScaling` is, with a penalty of its own for entries off the
    diagonal, of which there are most, and for shifts.

    Parameters
    ----------
    off_diagonal, intercept, diagonal
        Penalties of the squared distances, over twice the number of rows (the sum of the weights).

    Other parameters as in `TemperatureScaling`.

    Attributes
    ----------
    factors_, shifts_
        W, (K, K), and b, (K,).

    References
    ----------
    Kull et al. (2019) [kull19]_.

    Examples
    --------
    >>> calibrator = MatrixScaling().fit([[0.6, 0.4], [0.3, 0.7]] * 20, [0, 1] * 20)
    >>> calibrator.factors_.shape
    (2, 2)
    """

    off_diagonal: float = OFF_DIAGONAL
    intercept: float = INTERCEPT
    diagonal: float = DIAGONAL

    def _fitted_map(self, rows: LabelledScores, objective: Objective) -> Map:
        strengths = (_read_penalty(getattr(self, name), name) for name in Penalties._fields)
        return matrix_map(rows, objective, Penalties(*strengths))


def _read_penalty(value: Any, name: str) -> float:
    """A finite number above zero: without a penalty separable data have no best map."""
    number = read_number(value, name)
    if not 0 < number < np.inf:
        raise InputError(f"{name} is {number:g}: it must be positive and finite, such as 10.")
    return number

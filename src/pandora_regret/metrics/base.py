"""A metric, and its values for many models and many resamples of the instances at once.

A resample is a vector of weights, one per instance. Nearly every metric is a weighted mean of rows, or a function
of a few such means, so all resamples of all models are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray, read_choice, read_forecast
from pandora_regret.inputs.costs import read_costs

LARGEST_SLIM = 2.0**12  # a sum of weights; a quarter of its square, and halves of that, are exact in float32

BETTER = {"lower": "the smaller, the better the model", "higher": "the larger, the better the model"}

Rows: TypeAlias = Callable[..., FloatArray]
Values: TypeAlias = Callable[[IntArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Metric:
    """Something to rank models by: `rows` or `values` says how.

    Parameters
    ----------
    key
        A short name, for tables and files.
    title
        A name for people.
    better
        "lower" or "higher".
    rows
        ``rows(truth, proba)``: a value per row, (n,), whose weighted mean is the metric, or several, (n, J), whose
        weighted means `combine` turns into it. Each row is judged alone: rows of many models come at once.
    combine
        ``combine(means)``: from (..., J) to (...).
    values
        ``values(truth, proba, weights)``: for a metric that is no function of means, its values under each row of
        weights, from (R, N) to (R,).
    priced
        Whether `rows` takes a third argument: the typical cost of testing each class, (K,).

    Examples
    --------
    >>> def surprise(truth, proba):
    ...     return 1 - proba[np.arange(len(truth)), truth]
    >>> metric = Metric("surprise", "Surprise", "lower", rows=surprise)
    >>> metric([0, 1], [[0.75, 0.25], [0.5, 0.5]])
    0.375
    """

    key: str
    title: str
    better: Literal["lower", "higher"]
    rows: Rows | None = None
    combine: Callable[[FloatArray], FloatArray] | None = None
    values: Values | None = None
    priced: bool = False

    def __post_init__(self) -> None:
        read_choice(self.better, "better", BETTER)
        if (self.rows is None) == (self.values is None):
            raise InputError(f"metric {self.key!r} needs rows=... or values=..., one of the two.")
        for name in ("rows", "combine", "values"):
            if not (getattr(self, name) is None or callable(getattr(self, name))):
                raise InputTypeError(
                    f"{name} of metric {self.key!r} must be a function, got {getattr(self, name)!r}."
                )

    def __call__(
        self, y_true: Any, y_proba: Any, *, costs: Any = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric of one model."""
        forecast = read_forecast(y_true, y_proba, sample_weight=sample_weight).check()
        weights = np.ones(len(forecast)) if forecast.weights is None else forecast.weights
        priced = None if costs is None else read_costs(costs, forecast)
        table = forecast.values.astype(np.float64)[None]
        return float(self.of_models(forecast.truth, table, weights[None], priced)[0, 0])

    def of_models(
        self, truth: IntArray, proba: FloatArray, weights: FloatArray, costs: FloatArray | None = None
    ) -> FloatArray:
        """The metric of every model, proba (B, N, K), under every row of weights, (R, N): (B, R)."""
        if self.values is not None:
            slim = _slim(weights)
            of_each = [np.asarray(self.values(truth, table, slim), dtype=np.float64) for table in proba]
            return np.stack([self._shaped(values, (len(weights),), "values") for values in of_each])
        means = weighted_means(self._rows(truth, proba, costs), weights)
        return means[..., 0] if self.combine is None else np.asarray(self.combine(means))

    def _rows(self, truth: IntArray, proba: FloatArray, costs: FloatArray | None) -> FloatArray:
        """One row per instance and model, (B, N, J)."""
        assert self.rows is not None
        n_models, n_rows, n_classes = proba.shape
        given = (np.tile(truth, n_models), proba.reshape(-1, n_classes))
        rows = np.asarray(self.rows(*given, costs) if self.priced else self.rows(*given), dtype=np.float64)
        columns = rows.shape[1:] if self.combine is not None else ()
        return self._shaped(rows, (n_models * n_rows, *columns), "rows").reshape(n_models, n_rows, -1)

    def _shaped(self, array: FloatArray, shape: tuple[int, ...], what: str) -> FloatArray:
        if array.shape != shape:
            raise InputError(f"{what} of metric {self.key!r} gave shape {array.shape}: it must be {shape}.")
        if np.isnan(array).any():
            raise InputError(f"{what} of metric {self.key!r} gave NaN: define the metric there; inf is allowed.")
        return array


def _slim(weights: FloatArray) -> NDArray[Any]:
    """Whole weights in float32, if it also holds their sums and the products of these: half as much to read."""
    exact = weights.sum(axis=1).max() <= LARGEST_SLIM and (weights == np.rint(weights)).all()
    return weights.astype(np.float32) if exact else weights


def weighted_means(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean of the rows of every model, (B, N, J), under every row of weights, (R, N): (B, R, J).

    An infinite row makes infinite the means that give it weight, and no others.
    """
    finite = np.isfinite(rows)
    if finite.all():
        return np.asarray(_weighted_sums(rows, weights) / weights.sum(axis=1)[:, None])
    means = weighted_means(np.where(finite, rows, 0.0), weights)
    for infinity in (np.inf, -np.inf):
        means[_weighted_sums(rows == infinity, weights) > 0] = infinity
    return means


def _weighted_sums(rows: NDArray[Any], weights: FloatArray) -> FloatArray:
    """One matrix product for all models, so that the weights are read once."""
    n_models, n_rows, n_columns = rows.shape
    by_instance = rows.transpose(1, 0, 2).reshape(n_rows, n_models * n_columns).astype(np.float64, copy=False)
    return (weights @ by_instance).reshape(len(weights), n_models, n_columns).transpose(1, 0, 2)

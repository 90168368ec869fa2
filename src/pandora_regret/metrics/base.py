"""A metric, and its values for many models and many resamples of the instances at once.

A resample is a vector of weights, one per instance. Nearly every metric is a weighted mean of rows, or a function
of a few such means, so all resamples of all models are one matrix product.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    read_choice,
    read_costs,
    read_forecast,
    read_labelled,
)
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.priors import Prior, Uniform
from pandora_regret.inference.intervals import CountsFunction

METRIC_DIRECTIONS = {"lower": "the smaller, the better the model", "higher": "the larger, the better the model"}
METRIC_UNITS = {
    "score": "a number without a unit",
    "share": "a fraction, shown in percent",
    "money": "an amount in the currency of the costs",
    "tests": "a number of tests",
}
PLACES = {
    "comparison": "compare, score and the report",
    "study": "the metrics that a study ranks models by unless it names others",
}
FORMS = ("rows", "of_forecast", "counts", "values")

RowsFunction: TypeAlias = Callable[..., FloatArray]
ValuesFunction: TypeAlias = Callable[[IntArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Metric:
    """Something to report of models, and to rank them by: `rows`, `of_forecast`, `counts` or `values` says how.

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
        Whether costs matter; `rows` then takes a third argument: the typical cost of testing each class, (K,), or
        (n, K) where each row has its own.
    of_forecast
        ``of_forecast(forecast, prior)``: like `rows`, for a metric that asks for more than probabilities: a
        `Forecast`, which may hold logits and base costs, and a prior; from N rows to (N,).
    counts
        ``counts(occurs, named, right)``: for a metric that knows only how often each class occurs, is predicted,
        and is rightly predicted, three (..., K), its value, (...). The scale of the counts must not matter.
    gradient
        ``gradient(occurs, named, right)``: the derivatives of `counts`, (3, K), for standard errors.
    wording
        How the metric reads within a sentence; the title unless given.
    unit
        "score", "share", "money" or "tests".
    bounds
        Between which numbers its values lie.
    by_order
        Whether only the order of a forecast's classes matters, at known costs, not how likely they are.
    ranks_as
        The key of a metric that ranks all models alike, where repeating the ranks would say nothing new.
    shown_in
        Where it is shown unless other metrics are asked for: "comparison", "study" or both. A comparison shows
        means of rows and functions of counts, which come with standard errors.

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
    rows: RowsFunction | None = None
    combine: Callable[[FloatArray], FloatArray] | None = None
    values: ValuesFunction | None = None
    priced: bool = False
    of_forecast: Callable[[Forecast, Prior], FloatArray] | None = None
    counts: CountsFunction | None = None
    gradient: CountsFunction | None = None
    wording: str = ""
    unit: Literal["score", "share", "money", "tests"] = "score"
    bounds: tuple[float, float] = (-np.inf, np.inf)
    by_order: bool = False
    ranks_as: str | None = None
    shown_in: tuple[str, ...] = ("study",)

    def __post_init__(self) -> None:
        read_choice(self.better, "better", METRIC_DIRECTIONS)
        read_choice(self.unit, "unit", METRIC_UNITS)
        for place in self.shown_in:
            read_choice(place, "shown_in", PLACES)
        forms = [self.rows, self.of_forecast, self.counts, self.values]
        stated = [form for form in forms if form is not None]
        if len(stated) != 1 or not callable(stated[0]):
            problem = f"needs one function as {'=..., '.join(FORMS)}=..."
            raise InputError(problem, argument="rows", place=self._place)
        if "comparison" in self.shown_in and not (self.is_mean or (self.counts and self.gradient)):
            raise InputError(
                "has no standard error",
                argument="shown_in",
                value=self.shown_in,
                place=self._place,
                fix="a comparison shows means of rows, or counts=... with gradient=...; "
                "leave 'comparison' out of shown_in",
            )

    @property
    def _place(self) -> str:
        """What errors call the metric."""
        return f"metric {self.key!r}"

    @property
    def in_sentence(self) -> str:
        """How the metric reads within a sentence."""
        return self.wording or self.title

    @property
    def is_mean(self) -> bool:
        """Whether the metric is the weighted mean of one value per row."""
        return self.of_forecast is not None or (self.rows is not None and self.combine is None)

    @property
    def is_proportion(self) -> bool:
        """Whether the metric is the mean of shares from 0 to 1, as accuracy is."""
        return self.is_mean and self.unit == "share" and self.bounds == (0.0, 1.0)

    def within_bounds(self, value: float, low: float, high: float) -> tuple[float, float]:
        """An interval that ends where the metric does, and still holds the value."""
        least, most = self.bounds
        low, high = np.clip((low, high), min(least, value), max(most, value)).tolist()
        return low, high

    def __call__(
        self,
        y_true: Labels,
        y_proba: Table,
        *,
        costs: ByClass | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The metric of one model."""
        forecast = read_forecast(y_true, y_proba, sample_weight=sample_weight).check()
        if costs is not None:
            forecast = forecast.with_costs(read_costs(costs, forecast.labels, forecast.n_cases))
        if forecast.cluster is not None and self.values is not None:
            problem = f"has cases of several true classes, and metric {self.key!r} needs one of each"
            raise InputError(problem, argument="y_true", fix="pass one label per row")
        table = forecast.values.astype(np.float64)[None]
        return float(self.of_models(forecast.truth, table, forecast.each_weight[None], forecast.costs)[0, 0])

    def of_models(
        self, truth: IntArray, proba: FloatArray, weights: FloatArray, costs: FloatArray | None = None
    ) -> FloatArray:
        """The metric of every model, proba (B, N, K), under every row of weights, (R, N): (B, R)."""
        n_models, n_rows, n_classes = proba.shape
        if self.values is not None:
            by_model = np.stack([self.values(truth, table, weights) for table in proba])
            self._check_shape(by_model, (n_models, len(weights)), "values")
            if np.isnan(by_model).any():
                place = f"values of {self._place}"
                raise InputError("gave NaN", argument="values", place=place, fix="define it there; inf is allowed")
            return by_model
        if self.counts is not None:
            classes = np.arange(n_classes)
            true = truth[:, None] == classes
            predicted = proba.argmax(axis=2)[..., None] == classes
            occurs = weighted_means(true[None], weights)
            named = weighted_means(predicted, weights)
            return self.counts(occurs, named, weighted_means(true * predicted, weights))
        stacked = read_labelled(np.tile(truth, n_models), proba.reshape(-1, n_classes))
        numbers = np.tile(np.arange(n_rows), n_models)
        base = None if costs is None else costs / Uniform().mean
        rows = self.of_rows(replace(stacked, numbers=numbers, costs=base, checked=True), Uniform())
        means = weighted_means(rows.reshape(n_models, n_rows, -1), weights)
        return means[..., 0] if self.combine is None else np.asarray(self.combine(means))

    def of_rows(self, forecast: Forecast, prior: Prior) -> FloatArray:
        """Each case's value, (n_cases,), or where there is `combine` its values, (n_cases, J); NaN is an error."""
        if self.of_forecast is not None:
            rows = self.of_forecast(forecast, prior)
        else:
            assert self.rows is not None
            parts = []
            for block in forecast.blocks():
                base = np.ones(block.n_classes) if block.costs is None else block.costs
                typical_costs = (base * prior.mean,) if self.priced else ()
                parts.append(np.atleast_1d(self.rows(block.truth, probabilities(block), *typical_costs)))
            rows = np.concatenate(parts)
        return forecast.per_case(self.checked_rows(np.asarray(rows, np.float64), forecast))

    def checked_rows(self, rows: FloatArray, forecast: Forecast) -> FloatArray:
        """A metric's values of rows, once they are as many as the forecast has rows and none is NaN."""
        columns = rows.shape[1:] if self.combine is not None else ()
        self._check_shape(rows, (len(forecast), *columns), "rows")
        if np.isnan(rows).any():
            row = forecast.numbers[int(np.argwhere(np.isnan(rows))[0, 0])]
            problem = f"makes metric {self.key!r} NaN"
            fix = "define the metric there; inf is allowed"
            raise InputError(problem, argument=forecast.name, row=int(row), fix=fix)
        return rows

    def _check_shape(self, array: FloatArray, shape: tuple[int, ...], function: str) -> None:
        """That a function of the metric has given as much as it must."""
        if array.shape != shape:
            place = f"{function} of {self._place}"
            problem = f"gave shape {array.shape}"
            fix = f"it must be {shape}"
            raise InputError(problem, argument=function, value=array.shape, place=place, fix=fix)


def weighted_means(rows: NDArray[np.floating | np.bool_], weights: FloatArray) -> FloatArray:
    """The mean of the rows of every model, (B, N, J), under every row of weights, (R, N): (B, R, J).

    An infinite row makes infinite the means that give it weight, and no others. All models are one matrix product,
    so that the weights are read once.
    """
    finite = np.isfinite(rows)
    if finite.all():
        sums = np.tensordot(weights, rows.astype(np.float64, copy=False), (1, 1))  # (R, B, J)
        return np.asarray(sums.transpose(1, 0, 2) / weights.sum(axis=1)[:, None])
    means = weighted_means(np.where(finite, rows, 0.0), weights)
    for infinity in (np.inf, -np.inf):
        means[weighted_means(rows == infinity, weights) > 0] = infinity
    return means

"""Forecasts and the labels they are scored on, past the door: plain arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs.errors import InputError
from pandora_regret.core.inputs.kinds import Labels, Table, has_names
from pandora_regret.core.inputs.labels import (
    are_votes,
    check_row_order,
    read_labels,
    read_truth,
    read_votes,
)
from pandora_regret.core.inputs.numbers import (
    FloatArray,
    IntArray,
    read_flag,
    read_floats,
    read_weights,
    relative_weights,
)
from pandora_regret.core.inputs.tables import (
    NOTHING_RESCALED,
    RescaledRows,
    as_float_table,
    block_slices,
    by_name,
    check_rows,
    rescale_rows,
)

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True)
class Forecast:
    """Forecasts of N rows over K classes; some of its rows are a Forecast too.

    A row is an instance, or where several classes are true of one to some extent, as annotators' votes say, one
    of these: the rows of a case stand together, and share its weight.

    Everything has been checked at the door but the numbers themselves, which are checked as they are read: by
    `blocks`, or by a compiled kernel on its one pass over them.
    """

    values: NDArray[Any]  # (N, K) float16, float32 or float64 (that in `blocks`): probabilities, or logits
    logits: bool
    labels: Sequence[object]  # (K,) what each column stands for
    truth: IntArray  # (N,) the true class as a column number; empty where no truth is known
    numbers: Sequence[int] | IntArray  # (N,) the rows' numbers in the table that was handed in
    tolerance: float  # how far a row of probabilities may be off 1
    name: str = "y_proba"
    weights: FloatArray | None = None  # (N,) their mean is 1 but where these rows are some of many
    costs: FloatArray | None = None  # (K,) or (N, K); None means that every test costs 1
    checked: bool = False
    read_as: np.dtype[np.floating] | None = None  # the type in which the values came, where they were converted
    cluster: IntArray | None = None  # (N,) the number of each row's case; None: every row is a case of its own
    shares: FloatArray | None = None  # (N,) of its case, beside `cluster`: they sum to 1 over the rows of a case
    rescaled: RescaledRows = NOTHING_RESCALED  # rows that were divided by their sums, as was asked for
    order_only: bool = False  # whether only the order of the options is known, not how likely they are
    alike: int = 1  # how many tables of this size are scored together, for which loops may be worth compiling

    def __len__(self) -> int:
        return len(self.values)

    @property
    def n_classes(self) -> int:
        """How many classes there are, K."""
        return int(self.values.shape[1])

    @cached_property
    def _starts(self) -> IntArray:
        """Where each case begins, beside `cluster`."""
        assert self.cluster is not None
        return np.flatnonzero(np.diff(self.cluster, prepend=-1))

    @property
    def n_cases(self) -> int:
        """How many instances there are."""
        return len(self) if self.cluster is None else len(self._starts)

    @property
    def each_weight(self) -> FloatArray:
        """The weight of each row, (N,): 1 unless there are others."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @property
    def case_weights(self) -> FloatArray | None:
        """The weight of each instance, (n_cases,)."""
        if self.weights is None or self.shares is None:
            return self.weights
        return self.weights[self._starts] / self.shares[self._starts]

    def per_case(self, values: FloatArray) -> FloatArray:
        """From one value per row, or several, (N, ...), to their mean over each case's rows, (n_cases, ...)."""
        if self.shares is None:
            return values
        shares = self.shares.reshape(-1, *(1,) * (values.ndim - 1))
        return np.add.reduceat(shares * values, self._starts, axis=0)

    def per_row(self, values: NDArray[Scalar]) -> NDArray[Scalar]:
        """From one value per case, or several, (n_cases, ...), to the same for each of its rows, (N, ...)."""
        if self.cluster is None:
            return values
        return np.repeat(values, np.diff(self._starts, append=len(self)), axis=0)

    def cases(self, index: slice | IntArray) -> Forecast:
        """All rows of some of the cases, in this order."""
        if self.cluster is None:
            return self.rows(index)
        starts = self._starts[index]
        sizes = np.diff(self._starts, append=len(self))[index]
        place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # of each row in its case
        rows = self.rows(np.repeat(starts, sizes) + place)
        return replace(rows, cluster=np.repeat(np.arange(len(starts)), sizes))

    def with_costs(self, costs: FloatArray | None) -> Forecast:
        """These forecasts under other costs: (K,), or (N, K) of all rows, or (n_cases, K)."""
        if costs is not None and costs.ndim == 2 and len(costs) == self.n_cases:
            costs = self.per_row(costs)
        return replace(self, costs=costs)

    def with_weights(self, weights: FloatArray) -> Forecast:
        """These forecasts with other weights of the cases, (n_cases,)."""
        row_weights = self.per_row(weights)
        return replace(self, weights=row_weights if self.shares is None else self.shares * row_weights)

    def with_votes(self, shares: FloatArray) -> Forecast:
        """One row for each class that has votes, weighted by its share of them, (N, K), in each case.

        Votes that are all for one class in every row are labels.
        """
        case, truth = np.nonzero(shares)
        if len(case) == len(self):
            return replace(self, truth=truth)
        share = shares[case, truth]
        rows = replace(self.rows(case), truth=truth, cluster=case, shares=share)
        return replace(rows, weights=share if rows.weights is None else share * rows.weights)

    def rows(self, index: slice | IntArray) -> Forecast:
        """The rows of these numbers, their values not yet checked."""
        has_own_costs = self.costs is not None and self.costs.ndim == 2
        return replace(
            self,
            values=self.values[index],
            truth=self.truth[index] if len(self.truth) else self.truth,
            numbers=self.numbers[index] if isinstance(index, slice) else np.asarray(self.numbers)[index],
            weights=_some(self.weights, index),
            costs=_some(self.costs, index) if has_own_costs else self.costs,
            cluster=_some(self.cluster, index),
            shares=_some(self.shares, index),
        )

    def blocks(self) -> Iterator[Forecast]:
        """Consecutive rows in float64, checked, few enough at a time that temporaries stay small."""
        for index in block_slices(*self.values.shape):
            rows = self.rows(index)
            values = rows.values.astype(np.float64, copy=False)
            if not self.checked:
                check_rows(values, self.name, self.tolerance, self.logits, rows.numbers)
            yield replace(rows, values=values, read_as=self.read_as or self.values.dtype, checked=True)

    def check(self) -> Forecast:
        """These forecasts, all numbers checked, for whoever reads them more than once."""
        for _ in self.blocks():
            pass
        return replace(self, checked=True)


def _some(part: NDArray[Scalar] | None, index: slice | IntArray) -> NDArray[Scalar] | None:
    """Some rows of what each row has, if it has that."""
    return None if part is None else part[index]


def read_forecast(
    y_true: Labels | None,
    y_proba: Table | Forecast,
    labels: object = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    votes: bool = True,
) -> Forecast:
    """Forecasts and the truth of the same instances, checked: labels, (N,), or perhaps votes, (N, K).

    A Forecast was read before, with its truth and all else; `y_true` is None then.
    """
    if isinstance(y_proba, Forecast):
        return y_proba
    check_row_order(y_proba=y_proba, y_true=y_true, sample_weight=sample_weight)
    forecast = read_probabilities(y_proba, labels, sample_weight, logits, normalise)
    return with_truth(forecast, y_true, forecast.labels, votes)


read_labelled = partial(read_forecast, votes=False)  # one label of each instance


def with_truth(forecast: Forecast, y_true: object, labels: Sequence[object], votes: bool = True) -> Forecast:
    """The forecasts with the truth of the same instances: labels, (N,), or perhaps votes, (N, K).

    `labels` say what the truth calls the columns; those of a frame of votes are matched by name.
    """
    if votes and are_votes(y_true):
        return forecast.with_votes(read_votes(by_name(y_true, labels, "y_true"), labels, len(forecast)))
    return replace(forecast, truth=read_truth(y_true, labels, len(forecast)))


def read_probabilities(
    y_proba: object,
    labels: object = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    name: str = "y_proba",
) -> Forecast:
    """Forecasts whose labels are not known, checked; `normalise` rescales rows that are off by at most 1 %."""
    if read_flag(logits, "logits") & read_flag(normalise, "normalise"):
        fix = "leave one of them out: logits have no sum to be made 1"
        raise InputError("is True and logits is too", argument="normalise", value=True, fix=fix)
    values, columns, tolerance = as_float_table(y_proba, None if labels is None else read_labels(labels), name)
    values, rescaled = rescale_rows(values, tolerance) if normalise else (values, NOTHING_RESCALED)
    weights = None if sample_weight is None else relative_weights(read_weights(sample_weight, len(values)))
    truth = np.empty(0, np.intp)
    numbers = range(len(values))
    return Forecast(values, logits, columns, truth, numbers, tolerance, name, weights, rescaled=rescaled)


def read_case(y_proba: object, labels: object, logits: bool, normalise: bool) -> Forecast:
    """A forecast of one case, (K,), as a checked `Forecast` of one row without a truth."""
    case = np.asarray(y_proba)
    if has_names(y_proba) and case.ndim < 2:  # a mapping, or a row of a pandas frame
        names = list(y_proba.keys()) if labels is None else read_labels(labels)
        case = read_floats(by_name(y_proba, names, "y_proba"), "y_proba")
        labels = names
    if case.ndim != 1:
        fix = "pass one forecast, shape (K,), such as y_proba[0]"
        raise InputError(f"has shape {case.shape}", argument="y_proba", value=case.shape, fix=fix)
    return read_probabilities(case[None], labels=labels, logits=logits, normalise=normalise).check()

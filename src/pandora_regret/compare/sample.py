"""The door of a comparison: models and instances become forecasts whose rows agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    read_forecast,
)
from pandora_regret.inputs.labels import check_row_order
from pandora_regret.inputs.tables import is_frame
from pandora_regret.tally import Mean


@dataclass(frozen=True)
class Sample:
    """The instances that all models are compared on: those of positive weight, in the order of their keys.

    So a permutation of the rows, with their ids, changes not a single bit; and a cluster's rows stand together.
    """

    rows: slice | IntArray  # which of those that were handed in
    truth: IntArray  # (N,) the true class, or the one of most votes
    weights: FloatArray  # (N,)
    starts: IntArray  # (G,) where each cluster begins; every row is one of its own unless groups were given
    keys: Keys  # (G,) what the bootstrap tells clusters apart by
    clustered: bool
    votes: FloatArray | None = None  # (N, K) each class's share of a case's votes, instead of one true class

    def mean(self, values: FloatArray) -> float:
        """The weighted mean."""
        return Mean.of(values, self.weights).mean

    def within_clusters(self, table: FloatArray) -> FloatArray:
        """The sums of a table's rows over each cluster."""
        return np.add.reduceat(table, self.starts, axis=0) if self.clustered else table

    def by_class(self, classes: IntArray, values: FloatArray | float, n_classes: int) -> FloatArray:
        """The weighted sums of values over the rows of each class, (K,)."""
        return np.asarray(np.bincount(classes, self.weights * values, n_classes), dtype=np.float64)

    def class_weights(self, n_classes: int) -> FloatArray:
        """The weight of each true class, (K,)."""
        return self.by_class(self.truth, 1.0, n_classes) if self.votes is None else self.weights @ self.votes

    def agreement(self, predicted: IntArray) -> FloatArray:
        """Whether each case is of the class that was predicted of it, or that class's share of its votes, (N,)."""
        if self.votes is None:
            return np.asarray(predicted == self.truth, dtype=np.float64)
        return np.asarray(self.votes[np.arange(len(predicted)), predicted])

    @property
    def shares(self) -> FloatArray:
        """Each cluster's share of all weight, (G,)."""
        return np.asarray(self.within_clusters(self.weights) / self.weights.sum())

    @property
    def cluster_of(self) -> IntArray:
        """The number of each row's cluster, (N,)."""
        sizes = np.diff(self.starts, append=len(self.truth))
        return np.repeat(np.arange(len(self.starts)), sizes)


def read_models(
    y_true: Labels,
    models: Any,
    labels: Any,
    sample_weight: ArrayLike | None,
    logits: bool,
    normalise: bool = False,
) -> dict[str, Forecast]:
    """Every model's forecasts, their columns in the same order; an error names the model."""
    _check_models(models, labels)
    forecasts: dict[str, Forecast] = {}
    for name, table in models.items():
        with _naming(name):
            forecast = read_forecast(
                y_true, table, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
            )
        forecasts[str(name)] = forecast
        if labels is None and is_frame(table):
            labels = forecast.labels  # the first frame's columns; those that follow are matched by name
    return forecasts


def check_same_order(models: Mapping[Any, Any], by: Any = None, **arguments: Any) -> None:
    """An error if pandas indices say that two of them have the same rows in different orders."""
    tables = {f"models[{name!r}]": table for name, table in models.items()}
    columns = {f"by[{name!r}]": values for name, values in by.items()} if isinstance(by, Mapping) else {"by": by}
    check_row_order(**arguments, **tables, **columns)


def check_forecasts(forecasts: Mapping[str, Forecast]) -> dict[str, Forecast]:
    """The same forecasts, their numbers checked, all of the same classes; an error names the model."""
    checked = {}
    for name, forecast in forecasts.items():
        with _naming(name):
            checked[name] = forecast.check()
    _check_same_classes(checked)
    return checked


def all_as_orders(forecasts: dict[str, Forecast], workup: Any) -> tuple[dict[str, Forecast], bool]:
    """Forecasts of which only orders can be compared because one of them is nothing else, and whether it is so."""
    orders = [name for name, forecast in forecasts.items() if forecast.order_only]
    if not orders:
        return forecasts, False
    if workup is not None:
        problem = f"model {orders[0]!r} forecasts an order without probabilities, which a work-up needs"
        raise InputError(
            problem, argument="workup", place="", fix="compare by a search, or forecast probabilities"
        )
    return {name: replace(forecast, order_only=True) for name, forecast in forecasts.items()}, True


def read_sample(forecast: Forecast, ids: Any, groups: Any) -> Sample:
    """Which rows there are, and which of them belong together."""
    n, case_weights = forecast.n_cases, forecast.case_weights
    row_keys = np.arange(n, dtype=np.uint64) if ids is None else _read_keys(ids, "ids", n)
    keys = row_keys if groups is None else _read_keys(groups, "groups", n)
    if ids is not None:
        _check_each_once(row_keys, ids)
    order = np.lexsort((row_keys, keys))
    if case_weights is not None:
        order = order[case_weights[order] > 0]
    rows = slice(None) if np.array_equal(order, np.arange(n)) else order
    weights = np.ones(len(order)) if case_weights is None else case_weights[rows]
    distinct, starts = np.unique(keys[rows], return_index=True)
    votes = None if forecast.cluster is None else forecast.shares_by_class()[rows]
    truth = forecast.by_case().truth[rows]
    return Sample(rows, truth, weights, starts, distinct, groups is not None, votes)


@contextmanager
def _naming(model: Any) -> Iterator[None]:
    """Errors say which model they are about."""
    try:
        yield
    except (InputError, InputTypeError) as error:
        raise error.within(f"model {str(model)!r}") from None


def _check_models(models: Any, labels: Any) -> None:
    if not isinstance(models, Mapping):
        raise InputTypeError(
            f"models must map names to forecasts, {{'resnet': y_proba, ...}}, got a {type(models).__name__}."
        )
    if not models:
        raise InputError("models is empty: pass at least one, {'name': y_proba}.")
    names = [str(name) for name in models]
    if len(set(names)) < len(names):
        raise InputError(f"models has the names {names}, two of which read the same: give each its own name.")
    if labels is None and len({is_frame(table) for table in models.values()}) == 2:
        raise InputError("models holds both frames and arrays: say the arrays' column order with labels=[...].")


def _check_same_classes(forecasts: dict[str, Forecast]) -> None:
    (first, one), *others = forecasts.items()
    for name, other in others:
        if other.n_classes != one.n_classes:
            raise InputError(
                f"model {name!r} has {other.n_classes} classes but model {first!r} has {one.n_classes}: "
                "compare models of the same classes."
            )


def _read_keys(values: Any, name: str, n_rows: int) -> Keys:
    keys = keys_of(values, name)
    if len(keys) != n_rows:
        raise InputError(
            f"{name} has {len(keys)} entries but there are {n_rows} instances: pass one per instance."
        )
    return keys


def _check_each_once(keys: Keys, ids: Any) -> None:
    _, first = np.unique(keys, return_index=True)
    if len(first) < len(keys):
        row = int(np.setdiff1d(np.arange(len(keys)), first)[0])
        twice = np.asarray(ids).tolist()[row]
        raise InputError(
            f"ids row {row} is {twice!r}, which occurred before: give each row its own id, "
            "and say with groups which rows belong together."
        )

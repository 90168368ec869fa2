"""The rows that models are compared on: which there are, in which order, and which of them belong together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from pandora_regret.core.inputs import FloatArray, Forecast, InputError, IntArray, Labels, relative_weights
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.keyed import Keys, keys_of

Unit: TypeAlias = Literal["cases", "clusters"]  # what is independent of each other


@dataclass(frozen=True)
class Sample:
    """The rows that all models are compared on: those of positive weight, in the order of their cases' keys.

    So a permutation of the cases, with their ids, changes not a single bit; and a cluster's rows stand together.
    """

    cases: slice | IntArray  # which of those that were handed in
    truth: IntArray  # (N,)
    weights: FloatArray  # (N,)
    case_of: IntArray  # (N,) the number of each row's case, rising
    cluster_of: IntArray  # (N,) the number of each row's cluster, rising: its group, or else its case
    keys: Keys  # (G,) what the bootstrap tells clusters apart by
    grouped: bool

    @property
    def n_cases(self) -> int:
        """How many cases there are; some have several rows, one for each class that is true to some extent."""
        return int(self.case_of[-1]) + 1

    def case_numbers(self, n_cases: int) -> list[int]:
        """Which of so many cases that were handed in there are, in their order here."""
        numbers: list[int] = np.arange(n_cases)[self.cases].tolist()
        return numbers

    @property
    def weighted(self) -> bool:
        """Whether some cases count more than others."""
        weights = np.bincount(self.case_of, self.weights)
        return bool(np.ptp(weights) > ROUNDING * weights.max())

    @property
    def groups(self) -> IntArray | None:
        """The number of each case's group, (n_cases,)."""
        return self.cluster_of[np.flatnonzero(np.diff(self.case_of, prepend=-1))] if self.grouped else None

    @property
    def unit(self) -> Unit:
        """What is independent of each other: cases, or clusters of them."""
        return "clusters" if self.grouped else "cases"

    def of(self, forecast: Forecast) -> Forecast:
        """A model's forecasts of these rows, each of which stands for itself."""
        return replace(forecast.cases(self.cases), cluster=None, shares=None)


@dataclass(frozen=True)
class OrderedCases:
    """The cases of positive weight in the order of their keys, clusters together."""

    cases: slice | IntArray  # which of those that were handed in, (n_cases,)
    cluster_of: IntArray  # (n_cases,) the number of each one's cluster, rising
    keys: Keys  # (G,) of the clusters


def order_cases(
    n_cases: int, weights: FloatArray | None, ids: Labels | None, groups: Labels | None
) -> OrderedCases:
    """Put cases in the order of their keys.

    Parameters
    ----------
    n_cases
        How many were handed in.
    weights
        Theirs, (n_cases,); None where all count the same.
    ids, groups
        The name, and the group, of each case, (n_cases,); None where there are none.
    """
    case_keys = np.arange(n_cases, dtype=np.uint64)
    if ids is not None:
        case_keys = keys_of(ids, "ids", n_cases)
        _check_ids(ids, case_keys)
    cluster_keys = case_keys if groups is None else keys_of(groups, "groups", n_cases)
    order = np.lexsort((case_keys, cluster_keys))
    if weights is not None:
        order = order[weights[order] > 0]
    is_as_handed_in = np.array_equal(order, np.arange(n_cases))
    keys, cluster_of = np.unique(cluster_keys[order], return_inverse=True)
    return OrderedCases(slice(None) if is_as_handed_in else order, cluster_of, keys)


def _check_ids(ids: Labels, keys: Keys) -> None:
    """An error if an id, or its key, (n_cases,), occurs twice."""
    _, first = np.unique(keys, return_index=True)
    if len(first) == len(keys):
        return
    row = int(np.setdiff1d(np.arange(len(keys)), first)[0])
    name = np.asarray(ids).tolist()[row]
    fix = "give each row its own id, and say with groups which rows belong together"
    problem = f"is {name!r}, which occurred before"
    raise InputError(problem, argument="ids", row=row, value=name, fix=fix)


def read_cases(n_cases: int, weights: FloatArray | None, ids: Labels | None, groups: Labels | None) -> Sample:
    """The cases of forecasts that have no classes in common, each of them a row; arguments as of `order_cases`."""
    ordered = order_cases(n_cases, weights, ids, groups)
    n_rows = len(ordered.cluster_of)
    return Sample(
        cases=ordered.cases,
        truth=np.zeros(n_rows, dtype=np.intp),
        weights=np.ones(n_rows) if weights is None else relative_weights(weights)[ordered.cases],
        case_of=np.arange(n_rows),
        cluster_of=ordered.cluster_of,
        keys=ordered.keys,
        grouped=groups is not None,
    )


def read_sample(forecast: Forecast, ids: Labels | None, groups: Labels | None) -> Sample:
    """Which cases there are, and which of them belong together.

    Parameters
    ----------
    forecast
        Of any model: it has the truth and the weights of all.
    ids, groups
        The name, and the group, of each case, (n_cases,); None where there are none.
    """
    ordered = order_cases(forecast.n_cases, forecast.case_weights, ids, groups)
    rows = forecast.cases(ordered.cases)
    case_of = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    return Sample(
        cases=ordered.cases,
        truth=rows.truth,
        weights=rows.each_weight,
        case_of=case_of,
        cluster_of=ordered.cluster_of[case_of],
        keys=ordered.keys,
        grouped=groups is not None,
    )

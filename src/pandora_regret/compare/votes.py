"""What a model costs by true class, where a case's truth is votes: each class has its share of the case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.every_truth import (
    losses_for_every_truth,
    place_of_every_truth,
    realised_for_every_truth,
)
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, at_mean_costs
from pandora_regret.metrics.formulas import one_hot
from pandora_regret.priors import Prior

EveryTruth: TypeAlias = Callable[
    [Forecast], FloatArray
]  # of some rows: a value for each class, were it true, (n, K)


class Votes(NamedTuple):
    """Cases with one row and one label for every class that has votes; where truths are labels, one per case."""

    forecast: Forecast  # (M, K)
    cases: IntArray  # (M,) the number of the case that each row is of
    shares: FloatArray  # (M,) of its case's votes

    def mean_of_cases(self, values: FloatArray) -> FloatArray:
        """From one value per row to the mean over each case's votes, (N,)."""
        if self.cases[-1] + 1 == len(values):
            return values
        return np.add.reduceat(self.shares * values, np.flatnonzero(np.diff(self.cases, prepend=-1)))


def one_row_per_vote(forecast: Forecast) -> Votes:
    """A forecast whose truths are labels; its rows weigh as much as their shares of the votes."""
    if forecast.votes is None:
        return Votes(forecast, np.arange(len(forecast)), np.ones(len(forecast)))
    cases, labels = np.nonzero(forecast.votes)
    shares = forecast.votes[cases, labels]
    weights = shares if forecast.weights is None else shares * forecast.weights[cases]
    return Votes(replace(forecast.rows(cases), truth=labels, votes=None, weights=weights), cases, shares)


def sums_by_class(forecast: Forecast, tables: Mapping[str, EveryTruth]) -> dict[str, FloatArray]:
    """Weighted sums of some values over the votes for each class, (K,) by key; empty where there are no votes."""
    if forecast.votes is None:
        return {}
    sums = {key: np.zeros(forecast.n_classes) for key in tables}
    for block in forecast.blocks():
        assert block.votes is not None
        weights = block.votes if block.weights is None else block.votes * block.weights[:, None]
        for key, table in tables.items():
            sums[key] += np.multiply(weights, table(block), out=np.zeros(weights.shape), where=weights > 0).sum(
                axis=0
            )
    return sums


def tables_of_search(prior: Prior) -> dict[str, EveryTruth]:
    """What is reported by class of a model that orders a search."""

    def realised(block: Forecast) -> FloatArray:
        at_means, unit = at_mean_costs(block, prior)
        return unit * realised_for_every_truth(at_means, BROKEN_BY_INDEX)

    return {
        **tables_without_costs(),
        "expected_cost": lambda block: costs_for_every_truth(block, prior),
        "realised_cost": realised,
        "tests": lambda block: place_of_every_truth(at_mean_costs(block, prior)[0]).astype(np.float64),
    }


def tables_without_costs() -> dict[str, EveryTruth]:
    """What is reported by class whatever tests cost."""
    return {
        "pandora_regret": _regret,
        "accuracy": lambda block: one_hot(block.values.argmax(axis=1), block.n_classes),
    }


def _regret(block: Forecast) -> FloatArray:
    return losses_for_every_truth(block.with_costs(None), 1.0) / (3 * (block.n_classes - 1))

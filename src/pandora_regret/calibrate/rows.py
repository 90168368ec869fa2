"""Labelled forecasts for calibration, and how they are dealt into folds.

Forecasts come as logarithms, one row per class, so that loops run along instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inference.keyed import keys_of
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.kernels.engine import worth_compiling


@dataclass(frozen=True)
class LabelledScores:
    """N labelled forecasts over K classes, turned."""

    scores: FloatArray  # (K, N) finite log-probabilities
    truth: IntArray  # (N,) the true class as a column number, or the one of most votes
    weights: FloatArray  # (N,)
    costs: FloatArray  # (K, 1), or (K, N) where each instance has its own
    many: bool  # enough for compiled loops to pay, also on a part of them; they know no votes
    votes: FloatArray | None = None  # (K, N) each class's share of an instance's votes, instead of one true class

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.scores)

    def some(self, rows: IntArray) -> LabelledScores:
        """Some of the instances."""
        costs = self.costs[:, rows] if self.costs.shape[1] > 1 else self.costs
        return replace(
            self,
            scores=np.ascontiguousarray(self.scores[:, rows]),
            truth=self.truth[rows],
            weights=self.weights[rows],
            costs=costs,
            votes=None if self.votes is None else self.votes[:, rows],
        )

    def by_class(self) -> Iterator[tuple[IntArray, LabelledScores]]:
        """For every class that has votes: the instances, (n,), and these with it as their true class.

        Each weighs as much as its share of the votes.
        """
        assert self.votes is not None
        for k, shares in enumerate(self.votes):
            if len(rows := np.flatnonzero(shares)):
                truth, weights = np.full(len(rows), k, dtype=np.intp), self.weights[rows] * shares[rows]
                yield rows, replace(self.some(rows), truth=truth, weights=weights, votes=None)

    def at_most(self, n_rows: int) -> LabelledScores:
        """So many of the instances, or all: always the same, but drawn by chance, since files have periods."""
        if len(self) <= n_rows:
            return self
        drawn = np.random.default_rng(0).choice(len(self), n_rows, replace=False, shuffle=False)
        return self.some(np.sort(drawn))

    def shifted(self, by: FloatArray) -> LabelledScores:
        """The same instances with other scores, by so much more, (K, 1)."""
        return replace(self, scores=self.scores + by)

    def of_truth(self, table: FloatArray) -> FloatArray:
        """The entry of each instance's truth, or their mean over its votes, in a (K, N) or (K, 1) table; (N,)."""
        if self.votes is not None:
            return np.asarray((self.votes * table).sum(axis=0))
        return np.asarray(table[self.truth, 0] if table.shape[1] == 1 else table[self.truth, np.arange(len(self))])

    def mean(self, values: FloatArray) -> float:
        """The weighted mean of one value per instance."""
        return float((self.weights * values).sum() / self.weights.sum())

    @property
    def frequencies(self) -> FloatArray:
        """How often each class is the truth, (K,); one that never is counts as half a row of weight 1."""
        counted = np.bincount(self.truth, self.weights, self.n_classes)
        counts = np.maximum(counted if self.votes is None else self.votes @ self.weights, 0.5)
        return np.asarray(counts / counts.sum())


def turned(forecast: Forecast, level: float | None = None) -> tuple[FloatArray, float]:
    """Log-probabilities (K, N), and the level at which a probability of zero counts.

    Zero has no logarithm, and no scaling could ever repair it. It counts as half the smallest positive
    probability among these forecasts, unless a level was learned from others before; and never as more than half
    the smallest of its own row, so that an impossible class stays behind the possible ones.
    """
    values = np.array(forecast.values.T, dtype=np.float64, order="C")
    replace(forecast, values=values.T).check()  # of columns that lie together, which is faster
    scores = _normalised(values) if forecast.logits else _logarithms(values)
    possible = scores > -np.inf
    if possible.all():
        return scores, float(scores.min() - np.log(2)) if level is None else level
    lowest = np.min(scores, axis=0, where=possible, initial=np.inf)
    level = float(lowest.min() - np.log(2)) if level is None else level
    return np.where(possible, scores, np.minimum(level, lowest - np.log(2))), level


def rows_of(forecast: Forecast) -> tuple[LabelledScores, float]:
    """Labelled forecasts, turned, and the level at which zero counts."""
    cases = forecast.by_case()
    scores, level = turned(cases)
    weights = np.ones(len(cases)) if cases.weights is None else cases.weights
    costs = np.atleast_2d(np.ones(cases.n_classes) if cases.costs is None else cases.costs).T
    if forecast.cluster is None:
        return LabelledScores(scores, cases.truth, weights, costs, worth_compiling(scores.size)), level
    votes = np.ascontiguousarray(forecast.shares_by_class().T)
    return LabelledScores(scores, cases.truth, weights, costs, False, votes), level


def probabilities_of(scores: FloatArray) -> FloatArray:
    """The forecasts of (K, N) log-probabilities up to a constant of each instance, as an (N, K) table."""
    unnormalised = np.exp(scores - scores.max(axis=0))
    return np.ascontiguousarray((unnormalised / unnormalised.sum(axis=0)).T)


def _logarithms(values: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values, out=values))


def _normalised(logits: FloatArray) -> FloatArray:
    logits -= logits.max(axis=0)
    logits -= np.log(np.exp(logits).sum(axis=0))
    return logits


def read_groups(groups: Any, n_rows: int) -> IntArray | None:
    """The number of each row's group, (N,), from 0; None where every row stands for itself."""
    if groups is None:
        return None
    keys = keys_of(groups, "groups")
    if len(keys) != n_rows:
        raise InputError(f"groups has {len(keys)} entries but there are {n_rows} rows: pass one per row.")
    return np.unique(keys, return_inverse=True)[1]


def deal(truth: IntArray, folds: int, seed: int | None = None, groups: IntArray | None = None) -> IntArray:
    """The fold of each row, (N,): those of every class are dealt out in turn, so that folds differ by one at most.

    With groups, numbered from 0, whole groups are dealt, each as a row of its most frequent class. With a seed
    they are shuffled first.
    """
    if groups is not None:
        return deal(_most_frequent(truth, groups), folds, seed)[groups]
    order = np.arange(len(truth)) if seed is None else np.random.default_rng(seed).permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    fold = np.empty(len(truth), dtype=np.intp)
    fold[order] = np.arange(len(truth)) % folds
    return fold


def _most_frequent(truth: IntArray, groups: IntArray) -> IntArray:
    """The class that most rows of each group have, (G,); of several, the lowest."""
    pairs, counts = np.unique(np.stack([groups, truth]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -counts, pairs[0]))
    _, first = np.unique(pairs[0][order], return_index=True)
    return np.asarray(pairs[1][order][first])


def cross_fit(
    rows: LabelledScores, fold: IntArray, fit: Callable[[LabelledScores], Any]
) -> Iterator[tuple[NDArray[np.bool_], Any]]:
    """For each fold, which rows are in it, (N,), and what the rows of the other folds fitted."""
    for number in np.unique(fold):
        inside = fold == number
        if not rows.weights[~inside].any():
            raise InputError(
                f"outside fold {number} no row has a positive weight: cross-fitting needs at least two rows, or "
                "groups; pass more of them, or fewer folds."
            )
        yield inside, fit(rows.some(np.flatnonzero(~inside)))

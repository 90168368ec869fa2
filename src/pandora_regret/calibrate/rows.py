"""Labelled forecasts for calibration, and how they are dealt into folds.

Forecasts come as logarithms, one row per class, so that loops run along instances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inference.keyed import keys_of
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_count
from pandora_regret.kernels.reference import probabilities

DIGITS = 9  # to which forecasts are told apart


@dataclass(frozen=True)
class LabelledScores:
    """N labelled forecasts over K classes, turned."""

    scores: FloatArray  # (K, N) finite log-probabilities
    truth: IntArray  # (N,) the true class as a column number
    weights: FloatArray  # (N,)
    costs: FloatArray | None  # (K,), or (N, K) where each row has its own

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.scores)

    def some(self, rows: IntArray) -> LabelledScores:
        """Some of the rows."""
        costs = self.costs[rows] if self.costs is not None and self.costs.ndim == 2 else self.costs
        scores = np.ascontiguousarray(self.scores[:, rows])
        return LabelledScores(scores, self.truth[rows], self.weights[rows], costs)

    def at_most(self, n_rows: int) -> LabelledScores:
        """So many of the rows, or all: always the same, but drawn by chance, since files have periods."""
        if len(self) <= n_rows:
            return self
        drawn = np.random.default_rng(0).choice(len(self), n_rows, replace=False, shuffle=False)
        return self.some(np.sort(drawn))

    @property
    def frequencies(self) -> FloatArray:
        """How often each class is the truth, (K,); one that never is counts as half a row of weight 1."""
        counts = np.maximum(np.bincount(self.truth, self.weights, self.n_classes), 0.5)
        return np.asarray(counts / counts.sum())


def turned(forecast: Forecast, level: float | None = None) -> tuple[FloatArray, float]:
    """Log-probabilities (K, N), and the level at which a probability of zero counts.

    Zero has no logarithm, and no scaling could ever repair it. It counts as half the smallest positive
    probability among these forecasts, unless a level was learned from others before; and never as more than half
    the smallest of its own row, so that an impossible class stays behind the possible ones.
    """
    values = np.array(forecast.values.T, dtype=np.float64, order="C")
    replace(forecast, values=values.T).check()  # of columns that lie together, which is faster
    if forecast.logits:
        values -= values.max(axis=0)
        scores = values - np.log(np.exp(values).sum(axis=0))
    else:
        with np.errstate(divide="ignore"):
            scores = np.log(values, out=values)
    possible = scores > -np.inf
    lowest = np.min(scores, axis=0, where=possible, initial=np.inf)
    level = float(lowest.min() - np.log(2)) if level is None else level
    if possible.all():
        return scores, level
    return np.where(possible, scores, np.minimum(level, lowest - np.log(2))), level


def rows_of(forecast: Forecast) -> tuple[LabelledScores, float]:
    """Labelled forecasts, turned, and the level at which zero counts."""
    scores, level = turned(forecast)
    return LabelledScores(scores, forecast.truth, forecast.each_weight, forecast.costs), level


def probabilities_of(scores: FloatArray) -> FloatArray:
    """The forecasts of (K, N) log-probabilities up to a constant of each instance, as an (N, K) table."""
    unnormalised = np.exp(scores - scores.max(axis=0))
    return np.ascontiguousarray((unnormalised / unnormalised.sum(axis=0)).T)


def table_of(forecast: Forecast) -> FloatArray:
    """Its probabilities, (N, K), however they were given."""
    return np.concatenate([probabilities(block) for block in forecast.blocks()])


def weights_of(forecast: Forecast) -> FloatArray:
    """What each case weighs, (n_cases,)."""
    return np.ones(forecast.n_cases) if forecast.case_weights is None else forecast.case_weights


def read_groups(groups: Any, n_rows: int) -> IntArray | None:
    """The number of each row's group, (N,), from 0; None where every row stands for itself."""
    if groups is None:
        return None
    keys = keys_of(groups, "groups")
    if len(keys) != n_rows:
        raise InputError(f"groups has {len(keys)} entries but there are {n_rows} rows: pass one per row.")
    return np.unique(keys, return_inverse=True)[1]


def deal(truth: IntArray, folds: int, groups: IntArray | None = None) -> IntArray:
    """The fold of each row, (N,): those of every class are dealt out in turn, so that folds differ by one at most.

    With groups, numbered from 0, whole groups are dealt, each as its first row.
    """
    if groups is not None:
        return deal(truth[np.unique(groups, return_index=True)[1]], folds)[groups]
    fold = np.empty(len(truth), dtype=np.intp)
    fold[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % folds
    return fold


def folds_of_cases(
    forecast: Forecast, rows: LabelledScores, folds: Any, seed: int, groups: IntArray | None
) -> IntArray:
    """The fold of each case, (n_cases,): cases, or groups of them, are dealt by chance, each as a whole.

    Not class by class, from which a map would learn the class frequencies of the fold that it is tried on. Cases
    are told apart by what was said of them and their truth, so that neither the order of rows nor that of columns
    makes a difference, and copies of a case stay in one fold; unless so many are alike, more than a fold holds,
    that forecasts are merely coarse.
    """
    own, share = rows.scores[rows.truth, np.arange(len(rows))], rows.frequencies[rows.truth]
    keys = np.round(forecast.per_case(own + math.pi * (rows.scores**2).mean(axis=0) + math.e * share), DIGITS)
    available = len(keys) if groups is None else int(groups.max()) + 1
    if (n_folds := min(read_count(folds, "folds", least=2), available)) < 2:
        argument, unit = ("y_true", "row") if groups is None else ("groups", "group")
        fix = f"recalibrating a {unit} takes another to learn from; pass at least two"
        raise InputError(f"has 1 {unit}", argument=argument, fix=fix)
    if groups is not None:
        first = np.full(available, np.inf)
        np.minimum.at(first, groups, keys)
        units = np.argsort(np.argsort(first, kind="stable"))[groups]
    else:
        _, units, copies = np.unique(keys, return_inverse=True, return_counts=True)
        if copies.max() > len(keys) / n_folds:
            units = np.argsort(np.lexsort((weights_of(forecast), keys)))
    shuffled = np.random.default_rng(seed).permutation(int(units.max()) + 1)
    fold = shuffled[units] % n_folds
    if np.count_nonzero(np.bincount(fold, weights_of(forecast))) < 2:
        fix = "cross-fitting needs at least two rows, or groups; pass more of them, or fewer folds"
        raise InputError("outside one of the folds no row has a positive weight", fix=fix)
    return np.asarray(fold)


def cross_fit(
    rows: LabelledScores, fold: IntArray, fit: Callable[[LabelledScores], Any]
) -> Iterator[tuple[NDArray[np.bool_], Any]]:
    """For each fold, which rows are in it, (N,), and what the rows of the other folds fitted."""
    for number in np.unique(fold):
        inside = fold == number
        yield inside, fit(rows.some(np.flatnonzero(~inside)))

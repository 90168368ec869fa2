"""Labelled forecasts as logarithms, for calibration, and how they are dealt into folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inference.keyed import keys_of
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_count
from pandora_regret.kernels.reference import probabilities

DIGITS = 9  # to which forecasts are told apart


def log_probabilities(forecast: Forecast, level: float | None = None) -> tuple[Forecast, float]:
    """The same forecasts as finite log-probabilities, and the level at which a probability of zero counts.

    Zero has no logarithm, and no scaling could ever repair it. It counts as half the smallest positive
    probability among these forecasts, unless a level was learned from others before; and never as more than half
    the smallest of its own row, so that an impossible class stays behind the possible ones. Columns of the result
    lie together, so that loops run along instances.
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
    if not possible.all():
        scores = np.where(possible, scores, np.minimum(level, lowest - np.log(2)))
    read_as, numbers = forecast.read_as or forecast.values.dtype, np.arange(len(forecast))  # faster to take from
    scored = replace(forecast, values=scores.T, logits=True, checked=True, read_as=read_as, numbers=numbers)
    return scored, level


def some_of(rows: Forecast, index: IntArray) -> Forecast:
    """Some of the rows, whose columns lie together."""
    chosen = rows.rows(index)
    return replace(chosen, values=np.asfortranarray(chosen.values))


def at_most(n_rows: int, rows: Forecast) -> Forecast:
    """So many of the rows, or all: always the same, but drawn by chance, since files have periods."""
    if len(rows) <= n_rows:
        return rows
    drawn = np.random.default_rng(0).choice(len(rows), n_rows, replace=False, shuffle=False)
    return some_of(rows, np.sort(drawn))


def frequencies_in(rows: Forecast) -> FloatArray:
    """How often each class is the truth, (K,); one that never is counts as half a row of weight 1."""
    counts = np.maximum(np.bincount(rows.truth, rows.each_weight, rows.n_classes), 0.5)
    return np.asarray(counts / counts.sum())


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
    return None if groups is None else np.unique(keys_of(groups, "groups", n_rows), return_inverse=True)[1]


def deal(truth: IntArray, folds: int, groups: IntArray | None = None) -> IntArray:
    """The fold of each row, (N,): those of every class are dealt out in turn, so that folds differ by one at most.

    With groups, numbered from 0, whole groups are dealt, each as its first row.
    """
    if groups is not None:
        return deal(truth[np.unique(groups, return_index=True)[1]], folds)[groups]
    fold = np.empty(len(truth), dtype=np.intp)
    fold[np.argsort(truth, kind="stable")] = np.arange(len(truth)) % folds
    return fold


def folds_of_cases(rows: Forecast, folds: Any, seed: int, groups: IntArray | None) -> IntArray:
    """The fold of each case, (n_cases,): cases, or groups of them, are dealt by chance, each as a whole.

    Not class by class, from which a map would learn the class frequencies of the fold that it is tried on. Cases
    are told apart by what was said of them and their truth, so that neither the order of rows nor that of columns
    makes a difference, and copies of a case stay in one fold; unless so many are alike, more than a fold holds,
    that forecasts are merely coarse.
    """
    own, share = rows.values[np.arange(len(rows)), rows.truth], frequencies_in(rows)[rows.truth]
    keys = np.round(rows.per_case(own + math.pi * (rows.values.T**2).mean(axis=0) + math.e * share), DIGITS)
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
            units = np.argsort(np.lexsort((weights_of(rows), keys)))
    shuffled = np.random.default_rng(seed).permutation(int(units.max()) + 1)
    fold = shuffled[units] % n_folds
    if np.count_nonzero(np.bincount(fold, weights_of(rows))) < 2:
        fix = "cross-fitting needs at least two rows, or groups; pass more of them, or fewer folds"
        raise InputError("outside one of the folds no row has a positive weight", fix=fix)
    return fold


def cross_fit(
    rows: Forecast, fold: IntArray, fit: Callable[[Forecast], Any]
) -> Iterator[tuple[NDArray[np.bool_], Any]]:
    """For each fold, which rows are in it, (N,), and what the rows of the other folds fitted."""
    for number in np.unique(fold):
        inside = fold == number
        yield inside, fit(some_of(rows, np.flatnonzero(~inside)))

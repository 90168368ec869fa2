"""Out of fold: every row is recalibrated by a map that never saw it, nor any row of its group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inference.resampling import keys_of
from pandora_regret.inputs import InputError, IntArray


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

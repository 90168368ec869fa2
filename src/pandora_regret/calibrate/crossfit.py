"""Out of fold: every row is recalibrated by a map that never saw it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pandora_regret.calibrate.rows import Rows
from pandora_regret.calibrate.scaling import Map
from pandora_regret.inputs import FloatArray, InputError, IntArray


def deal(truth: IntArray, folds: int, seed: int | None = None) -> IntArray:
    """The fold of each row: those of every class are dealt out in turn, so that folds differ by one row at most.

    With a seed the rows are shuffled first.
    """
    order = np.arange(len(truth)) if seed is None else np.random.default_rng(seed).permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    fold = np.empty(len(truth), dtype=np.intp)
    fold[order] = np.arange(len(truth)) % folds
    return fold


def cross_fitted(rows: Rows, fold: IntArray, fit: Callable[[Rows], Map]) -> FloatArray:
    """Recalibrated scores (K, N), those of each fold by the map that the other folds fitted."""
    recalibrated = np.empty_like(rows.scores)
    for one in np.unique(fold):
        inside = fold == one
        if not rows.weights[~inside].any():
            raise InputError(
                f"outside fold {one} no row has a positive weight: cross-fitting needs at least two rows; "
                "pass more of them, or fewer folds."
            )
        recalibrated[:, inside] = fit(rows.some(np.flatnonzero(~inside)))(rows.scores[:, inside])
    return recalibrated

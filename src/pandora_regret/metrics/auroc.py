"""Macro one-vs-rest AUROC of many resamples: instances are sorted once, their weights summed along the way."""

from __future__ import annotations

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.engine import in_threads, worth_compiling

NO_SKILL = 0.5  # where only one class is left, and there is nothing to tell apart


def macro_auroc(truth: IntArray, proba: FloatArray, weights: FloatArray) -> FloatArray:
    """The chance that a class's instance scores higher than another's, averaged over classes; a tie is one half.

    The average is over classes that have both instances and others in the resample; 1/2 if there are none.
    """
    order = np.argsort(proba.T, axis=1)
    scores = np.take_along_axis(proba.T, order, axis=1)
    sums = _compiled_sums if worth_compiling(order.size * len(weights)) else _sums
    areas, defined = sums(order, scores, truth, np.ascontiguousarray(weights.T))
    return np.asarray(np.divide(areas, defined, out=np.full(len(weights), NO_SKILL), where=defined > 0))


def _compiled_sums(
    order: IntArray, scores: FloatArray, truth: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    from pandora_regret.metrics import auroc_loops

    areas, defined = np.zeros((2, weights.shape[1]))

    def add(blocks: slice) -> None:
        first, last = blocks.start * auroc_loops.LANES, min(blocks.stop * auroc_loops.LANES, len(areas))
        auroc_loops.add_aurocs(order, scores, truth, weights, first, last, areas, defined)

    in_threads(add, -(-len(areas) // auroc_loops.LANES), order.size * len(areas))
    return areas, defined


def _sums(
    order: IntArray, scores: FloatArray, truth: IntArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sum of the classes' areas, and how many have one, under every column of weights, (N, R)."""
    areas, defined = np.zeros((2, weights.shape[1]))
    for k, (instances, values) in enumerate(zip(order, scores, strict=True)):
        positive = (truth[instances] == k)[:, None]
        starts = np.flatnonzero(np.diff(values, prepend=-1.0))  # of runs of equal scores
        above = np.add.reduceat(weights[instances] * positive, starts, dtype=np.float64)
        beside = np.add.reduceat(weights[instances] * ~positive, starts, dtype=np.float64)
        right = (above * (np.cumsum(beside, axis=0) - beside / 2)).sum(axis=0)
        pairs = above.sum(axis=0) * beside.sum(axis=0)
        areas += np.divide(right, pairs, out=np.zeros_like(right), where=pairs > 0)
        defined += pairs > 0
    return areas, defined

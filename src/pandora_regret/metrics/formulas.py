"""The metrics' formulas: one value per row, or the few columns whose means they are made of.

Ties: the class of highest probability, and the rank of the truth, go by class number among equals, as NumPy's
argmax and the paper's simulator do. So accuracy is top-1, and top-k and MRR see the same ranks.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray

BINS = 15  # of the calibration error


def of_truth(truth: IntArray, proba: FloatArray) -> FloatArray:
    """p_i of each row's truth i."""
    return np.asarray(proba[np.arange(len(truth)), truth])


def one_hot(classes: IntArray, n_classes: int) -> FloatArray:
    """1 in each row's class, 0 elsewhere."""
    return np.asarray(classes[:, None] == np.arange(n_classes), dtype=np.float64)


def log_loss(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``-ln p_i``; infinite where the truth was held to be impossible: nothing is clipped."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(of_truth(truth, proba)))


def brier(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (p_k - 1(k = i))^2``."""
    return np.asarray(((proba - one_hot(truth, proba.shape[1])) ** 2).sum(axis=1))


def spherical(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``p_i / |p|``."""
    return np.asarray(of_truth(truth, proba) / np.sqrt((proba**2).sum(axis=1)))


def ranked_probability(truth: IntArray, proba: FloatArray) -> FloatArray:
    """``sum_k (P_k - 1(k >= i))^2 / (K - 1)``, P the cumulative forecast: classes in column order."""
    n_classes = proba.shape[1]
    steps = np.arange(n_classes - 1) >= truth[:, None]
    return np.asarray(((np.cumsum(proba[:, :-1], axis=1) - steps) ** 2).sum(axis=1) / (n_classes - 1))


def rank_of_truth(truth: IntArray, proba: FloatArray) -> IntArray:
    """1 for the class of highest probability; among equals the lower class number first."""
    ours = of_truth(truth, proba)[:, None]
    before = (proba > ours) | ((proba == ours) & (np.arange(proba.shape[1]) < truth[:, None]))
    return np.asarray(1 + before.sum(axis=1))


def reciprocal_rank(truth: IntArray, proba: FloatArray) -> FloatArray:
    """One over the rank of the truth."""
    return 1 / rank_of_truth(truth, proba)


def found_in_top(k: int, truth: IntArray, proba: FloatArray) -> FloatArray:
    """Whether the truth is among the k classes of highest probability."""
    return np.asarray(rank_of_truth(truth, proba) <= k, dtype=np.float64)


def confusion(truth: IntArray, proba: FloatArray) -> FloatArray:
    """Of each class: whether it was rightly predicted, and how often it is truth or prediction, (n, 2K)."""
    true, predicted = one_hot(truth, proba.shape[1]), one_hot(proba.argmax(axis=1), proba.shape[1])
    return np.concatenate([true * predicted, true + predicted], axis=1)


def macro_f1(means: FloatArray) -> FloatArray:
    """``2 TP / (true + predicted)``, averaged over the classes that are truth or prediction somewhere."""
    right, named = np.split(means, 2, axis=-1)
    f1 = np.divide(2 * right, named, out=np.zeros_like(right), where=named > 0)
    return np.asarray(f1.sum(axis=-1) / (named > 0).sum(axis=-1))


def top_label_errors(truth: IntArray, proba: FloatArray) -> FloatArray:
    """Right or not minus confidence, in the column of the confidence's bin: [0, 1/15), ..., [14/15, 1]."""
    confidence, predicted = proba.max(axis=1), proba.argmax(axis=1)
    which = np.minimum((confidence * BINS).astype(np.intp), BINS - 1)
    return np.asarray(one_hot(which, BINS) * ((predicted == truth) - confidence)[:, None])


def calibration_error(means: FloatArray) -> FloatArray:
    """``sum_b |mean of bin b's errors|``: each bin weighted by how many instances it holds."""
    return np.asarray(np.abs(means).sum(axis=-1))

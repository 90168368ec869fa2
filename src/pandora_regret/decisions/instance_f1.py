"""Instance-F1 as a decision problem: each instance reports a set of classes, of which at most one is right."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.inputs import (
    FloatArray,
    InputError,
    Labels,
    Table,
    read_labelled,
    read_probabilities,
)
from pandora_regret.inputs.numbers import read_number
from pandora_regret.kernels.reference import probabilities
from pandora_regret.scores import mean_or_rows


def instance_f1(
    y_true: Labels,
    y_proba: Table,
    *,
    threshold: float | None = None,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """The F1 of the set of classes that each forecast reports, against its one true class: higher is better.

    A set of m classes has precision 1/m and recall 1 if it holds the truth, so its F1 is ``2 / (m + 1)``;
    otherwise it is 0. The order of the classes in the set does not count, nor does what testing them costs.

    Whether it is proper depends on how a forecast becomes a set. With the set of highest expected F1, the default,
    it is, but not strictly. With the classes above a `threshold`, it is not.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    threshold
        Report the classes of at least this probability, in (0, 1]; an empty set scores 0. Unless given, the set of
        `instance_f1_decision`.

    Returns
    -------
    float or array
        The weighted mean, or one F1 per instance, shape (N,), if `per_instance`.

    References
    ----------
    Flores et al. (2026), Appendix C.2.1 [flores26]_.

    Examples
    --------
    >>> forecast = [0.4, 0.35, 0.15, 0.1]
    >>> instance_f1([0, 1, 2], [forecast] * 3, per_instance=True).round(3)
    array([0.667, 0.667, 0.   ])
    >>> instance_f1([0, 1, 2], [forecast] * 3, threshold=0.5)
    0.0
    """
    limit = None if threshold is None else _read_threshold(threshold)
    forecast = read_labelled(
        y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    rows = ((block, _f1(_reported(probabilities(block), limit), block.truth)) for block in forecast.blocks())
    return mean_or_rows(forecast, rows, per_instance)


def instance_f1_decision(
    y_proba: Table, *, labels: ArrayLike | None = None, logits: bool = False, normalise: bool = False
) -> NDArray[np.bool_]:
    """The set of classes with the highest expected instance-F1, if a forecast is right: shape (N, K).

    It holds the m likeliest classes, where m maximises ``2 (p_1 + ... + p_m) / (m + 1)``: one more class is
    reported as long as its probability exceeds half the set's expected F1. Among equals, the smaller set and the
    lower column number win.

    Parameters
    ----------
    y_proba, labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    array
        Which classes are reported, true or false, shape (N, K).

    References
    ----------
    Flores et al. (2026), Appendix C.2.1 [flores26]_.

    Examples
    --------
    >>> instance_f1_decision([[0.4, 0.35, 0.15, 0.1], [0.7, 0.1, 0.1, 0.1]])
    array([[ True,  True, False, False],
           [ True, False, False, False]])
    """
    forecast = read_probabilities(y_proba, labels=labels, logits=logits, normalise=normalise)
    return np.concatenate([_best_sets(probabilities(block)) for block in forecast.blocks()])


def _reported(p: FloatArray, threshold: float | None) -> NDArray[np.bool_]:
    return _best_sets(p) if threshold is None else p >= threshold


def _best_sets(p: FloatArray) -> NDArray[np.bool_]:
    order = np.argsort(-p, axis=1, kind="stable")
    sizes = np.arange(1, p.shape[1] + 1)
    expected = 2 * np.cumsum(np.take_along_axis(p, order, axis=1), axis=1) / (sizes + 1)
    best = expected.argmax(axis=1)[:, None]
    place = np.argsort(order, axis=1)
    return np.asarray(place <= best)


def _f1(reported: NDArray[np.bool_], truth: NDArray[np.intp]) -> FloatArray:
    """``2 TP / (2 TP + FP + FN)`` of each row, (N,): FN is 1 - TP, since one class is true."""
    found = reported[np.arange(len(truth)), truth]
    return np.asarray(2.0 * found / (reported.sum(axis=1) + 1))


def _read_threshold(threshold: float) -> float:
    value = read_number(threshold, "threshold")
    if not 0 < value <= 1:
        fix = "it is a probability above 0 and at most 1; leave it out for the set of highest expected F1"
        raise InputError(argument="threshold", value=value, fix=fix)
    return value

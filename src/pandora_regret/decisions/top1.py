"""Accuracy and macro-F1 as decision problems: one final choice, and a choice priced by all other instances."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Labels,
    Table,
    read_labelled,
    read_probabilities,
)
from pandora_regret.inputs.numbers import read_floats
from pandora_regret.scores import mean_or_rows


def single_shot_cost(
    y_true: Labels,
    y_proba: Table,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """Accuracy as a decision: choose the likeliest class, pay 1 if it is wrong, and never look again.

    The mean is one minus accuracy. Ties go to the lower column number.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.

    Returns
    -------
    float or array
        The weighted mean, or 0 or 1 per instance, shape (N,), if `per_instance`.

    References
    ----------
    Flores et al. (2026), Appendix C.1 [flores26]_.

    Examples
    --------
    >>> single_shot_cost([0, 1], [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]])
    0.5
    """
    forecast = read_labelled(
        y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    rows = (
        (block, (block.values.argmax(axis=1) != block.truth).astype(np.float64)) for block in forecast.blocks()
    )
    return mean_or_rows(forecast, rows, per_instance)


@dataclass(frozen=True)
class ClassCounts:
    """How often each class was found, falsely reported and missed: all that macro-F1 knows of a set of instances.

    The F1 of a class that neither occurs nor is predicted is 0, and it takes part in the mean over all K classes.

    Examples
    --------
    >>> counts = ClassCounts(true_positives=[6, 1, 0], false_positives=[2, 1, 0], false_negatives=[1, 2, 0])
    >>> counts.f1
    array([0.8, 0.4, 0. ])
    >>> counts.true_positive_reward, counts.false_positive_penalty
    (array([0.02352941, 0.17142857, 1.        ]), array([0.05      , 0.06666667, 0.        ]))
    """

    true_positives: FloatArray  # (K,)
    false_positives: FloatArray
    false_negatives: FloatArray

    def __post_init__(self) -> None:
        for field in fields(self):
            counts = read_floats(getattr(self, field.name), field.name)
            _check_counts(counts, field.name)
            object.__setattr__(self, field.name, counts)
        if not self.true_positives.shape == self.false_positives.shape == self.false_negatives.shape:
            shapes = [getattr(self, field.name).shape for field in fields(self)]
            fix = "pass one count per class in each"
            raise InputError(f"the counts have shapes {shapes}", value=shapes, fix=fix)

    @classmethod
    def of(cls, y_true: Labels, y_proba: Table, *, labels: ArrayLike | None = None) -> ClassCounts:
        """The counts when each forecast's likeliest class is predicted; parameters as in `pandora_regret`."""
        forecast = read_labelled(y_true, y_proba, labels=labels)
        predicted, k = forecast.values.argmax(axis=1), forecast.n_classes
        right = predicted == forecast.truth
        groups = (predicted[right], predicted[~right], forecast.truth[~right])
        return cls(*(np.bincount(group, minlength=k).astype(np.float64) for group in groups))

    @property
    def denominator(self) -> FloatArray:
        """D of each class, ``2 TP + FP + FN``."""
        return 2 * self.true_positives + self.false_positives + self.false_negatives

    @property
    def f1(self) -> FloatArray:
        """``2 TP / D``, or 0 where D is 0."""
        return 2 * self.true_positives / _or_one(self.denominator)

    @property
    def macro_f1(self) -> float:
        """The mean F1 over classes."""
        return float(self.f1.mean())

    @property
    def true_positive_reward(self) -> FloatArray:
        """How much one more true positive raises the F1 of each class; all the way to 1 where D is 0."""
        d, wrong = self.denominator, self.false_positives + self.false_negatives
        return np.where(d > 0, 2 * wrong / (_or_one(d) * (d + 2)), 1.0)

    @property
    def false_positive_penalty(self) -> FloatArray:
        """How much one more false positive, or false negative, lowers the F1 of each class; 0 where D is 0."""
        d = self.denominator
        return 2 * self.true_positives / (_or_one(d) * (d + 1))


def macro_f1_gains(y_proba: Table, counts: ClassCounts, *, labels: ArrayLike | None = None) -> FloatArray:
    """By how much macro-F1 is expected to change if one more instance is predicted as class k, (N, K).

    Each row of `y_proba` is the true distribution of one such instance, considered on its own; `counts` are of
    the instances judged already.

    Parameters
    ----------
    y_proba
        True distributions of single instances, shape (N, K).
    counts
        Counts of the instances judged already.
    labels
        As in `pandora_regret`.

    Returns
    -------
    array
        Shape (N, K).

    References
    ----------
    Flores et al. (2026), Proposition C.1 [flores26]_.

    Examples
    --------
    >>> counts = ClassCounts([80, 5], [10, 10], [10, 10])
    >>> macro_f1_gains([[0.7, 0.3]], counts).round(5)
    array([[-0.00192,  0.00077]])
    """
    p = _read_true_distributions(y_proba, counts, labels)
    missed = (p * counts.false_positive_penalty).sum(axis=1, keepdims=True)  # a false negative costs the same
    return np.asarray((_rewards(p, counts) - missed) / p.shape[1])


def macro_f1_decision(
    y_proba: Table, counts: ClassCounts, *, large_counts: bool = False, labels: ArrayLike | None = None
) -> IntArray:
    """The class that macro-F1 wants predicted for one more instance, by column number, (N,).

    It is the k of largest ``p_k (reward_k + 2 penalty_k) - penalty_k``, whose prices are the confusion counts of
    other instances; with `large_counts`, the k of largest ``(p_k - F1_k / 2) / D_k``, to which this tends as the
    counts grow.

    Parameters
    ----------
    y_proba, counts, labels
        As in `macro_f1_gains`.
    large_counts
        Whether to use the limit of many instances.

    Returns
    -------
    array
        Class numbers, shape (N,).

    References
    ----------
    Flores et al. (2026), Proposition C.1 [flores26]_.

    Examples
    --------
    The same instance, after a class was predicted badly and after it was predicted well:

    >>> macro_f1_decision([[0.7, 0.3]], ClassCounts([80, 5], [10, 10], [10, 10]))
    array([1])
    >>> macro_f1_decision([[0.7, 0.3]], ClassCounts([80, 80], [10, 10], [10, 10]))
    array([0])
    """
    p = _read_true_distributions(y_proba, counts, labels)
    merit = _rewards_of_large_counts(p, counts) if large_counts else _rewards(p, counts)
    return np.asarray(merit.argmax(axis=1), dtype=np.intp)


def _or_one(denominator: FloatArray) -> FloatArray:
    """A denominator to divide zero by."""
    return np.where(denominator > 0, denominator, 1.0)


def _rewards(p: FloatArray, counts: ClassCounts) -> FloatArray:
    """The bracket of Proposition prop:f1_decision."""
    reward, penalty = counts.true_positive_reward, counts.false_positive_penalty
    return np.asarray(p * (reward + 2 * penalty) - penalty)


def _rewards_of_large_counts(p: FloatArray, counts: ClassCounts) -> FloatArray:
    unseen = counts.denominator == 0
    if unseen.any():
        column = int(np.argmax(unseen))
        raise InputError(
            "neither occurs nor is predicted in counts, so they are not large",
            argument="counts",
            column=column,
            place=f"class {column}",
            fix="pass large_counts=False for the exact rule",
        )
    return np.asarray((p - counts.f1 / 2) / counts.denominator)


def _read_true_distributions(y_proba: Table, counts: ClassCounts, labels: ArrayLike | None) -> FloatArray:
    forecast = read_probabilities(y_proba, labels=labels)
    n_counted = len(counts.true_positives)
    if n_counted != forecast.n_classes:
        problem = f"are of {n_counted} classes but y_proba has {forecast.n_classes} columns"
        raise InputError(problem, argument="counts", value=n_counted, fix="count every column")
    return forecast.values.astype(np.float64)


def _check_counts(counts: FloatArray, name: str) -> None:
    if counts.ndim != 1:
        fix = "pass one count per class, shape (K,)"
        raise InputError(f"has shape {counts.shape}", argument=name, value=counts.shape, fix=fix)
    bad = ~(np.isfinite(counts) & (counts >= 0))
    if bad.any():
        column, fix = int(np.argmax(bad)), "a count is a finite number and not negative"
        value, place = counts[column], f"{name}[{column}]"
        raise InputError(argument=name, column=column, value=value, place=place, fix=fix)

"""Accuracy, ranks, macro-F1 and instance-F1 as decisions: one choice, a place, one priced by all others, a set."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    check_each,
    check_shape,
    read_floats,
    read_labelled,
    read_number,
    read_probabilities,
)
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.scores import Score, ScoreOptions, mean_or_rows


@overload
def single_shot_cost(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[False] = ..., **options: Unpack[ScoreOptions]
) -> float: ...
@overload
def single_shot_cost(
    y_true: Labels, y_proba: Table, *, per_instance: Literal[True], **options: Unpack[ScoreOptions]
) -> FloatArray: ...
@overload
def single_shot_cost(
    y_true: Labels, y_proba: Table, *, per_instance: bool, **options: Unpack[ScoreOptions]
) -> Score: ...
def single_shot_cost(
    y_true: Labels,
    y_proba: Table,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
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
    return ranking_cost(
        y_true,
        y_proba,
        lambda place: place > 1,
        labels=labels,
        sample_weight=sample_weight,
        logits=logits,
        normalise=normalise,
        per_instance=per_instance,
    )


@overload
def ranking_cost(
    y_true: Labels,
    y_proba: Table,
    cost_of_place: Callable[[IntArray], ArrayLike],
    *,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def ranking_cost(
    y_true: Labels,
    y_proba: Table,
    cost_of_place: Callable[[IntArray], ArrayLike],
    *,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def ranking_cost(
    y_true: Labels,
    y_proba: Table,
    cost_of_place: Callable[[IntArray], ArrayLike],
    *,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
def ranking_cost(
    y_true: Labels,
    y_proba: Table,
    cost_of_place: Callable[[IntArray], ArrayLike],
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    per_instance: bool = False,
) -> Score:
    """Ranking metrics as a decision: search by falling probability, and pay by the place of the truth.

    What single tests cost plays no part. ``lambda place: place`` is the mean rank, the number of tests;
    ``lambda place: 1 - 1 / place`` one minus the mean reciprocal rank; ``lambda place: place > 3`` a search that
    gives up after three tests, one minus top-3 accuracy. A cost that rises with the place is proper, since the
    best order is by probability, but not strictly: probabilities that keep the order cost the same.

    Parameters
    ----------
    y_true, y_proba, labels, sample_weight, logits, normalise, per_instance
        As in `pandora_regret`.
    cost_of_place
        From places, (n,), 1 for the likeliest class and the lower class number first among equals, to costs.

    Returns
    -------
    float or array
        The weighted mean, or one cost per instance, shape (N,), if `per_instance`.

    References
    ----------
    Flores et al. (2026), Section 4, full ranking metrics [flores26]_.

    Examples
    --------
    >>> ranking_cost([0, 2], [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]], lambda place: 1 - 1 / place, per_instance=True)
    array([0.        , 0.66666667])
    """
    forecast = read_labelled(y_true, y_proba, labels, sample_weight, logits, normalise)

    def cost(block: Forecast) -> FloatArray:
        return np.asarray(cost_of_place(place_of_truth(block.truth, block.values)), np.float64)

    return mean_or_rows(forecast, ((block, cost(block)) for block in forecast.blocks()), per_instance)


def place_of_truth(truth: IntArray, proba: FloatArray) -> IntArray:
    """1 for the class of highest probability, or logit; among equals the lower class number first."""
    ours = proba[np.arange(len(truth)), truth][:, None]
    before = (proba > ours) | ((proba == ours) & (np.arange(proba.shape[1]) < truth[:, None]))
    return np.asarray(1 + before.sum(axis=1))


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

    def __init__(self, true_positives: ArrayLike, false_positives: ArrayLike, false_negatives: ArrayLike) -> None:
        n_classes = read_floats(true_positives, "true_positives").size
        self.true_positives = _read_counts(true_positives, "true_positives", n_classes)
        self.false_positives = _read_counts(false_positives, "false_positives", n_classes)
        self.false_negatives = _read_counts(false_negatives, "false_negatives", n_classes)

    def __repr__(self) -> str:
        counts = (self.true_positives.tolist(), self.false_positives.tolist(), self.false_negatives.tolist())
        return f"ClassCounts{counts}"

    @classmethod
    def of(cls, y_true: Labels, y_proba: Table, *, labels: ArrayLike | None = None) -> ClassCounts:
        """The counts when each forecast's likeliest class is predicted; parameters as in `pandora_regret`."""
        forecast = read_labelled(y_true, y_proba, labels=labels)
        predicted = forecast.values.argmax(axis=1)
        k = forecast.n_classes
        right = predicted == forecast.truth
        return cls(
            true_positives=np.bincount(predicted[right], minlength=k),
            false_positives=np.bincount(predicted[~right], minlength=k),
            false_negatives=np.bincount(forecast.truth[~right], minlength=k),
        )

    @property
    def denominator(self) -> FloatArray:
        """D of each class, ``2 TP + FP + FN``."""
        return 2 * self.true_positives + self.false_positives + self.false_negatives

    @property
    def f1(self) -> FloatArray:
        """``2 TP / D``, or 0 where D is 0."""
        return 2 * self.true_positives / _or_one(self.denominator)

    @property
    def all_class_f1(self) -> float:
        """The mean F1 over all K classes: the paper's macro-F1.

        scikit-learn's, which is the metric `macro_f1`, leaves out classes that neither occur nor are predicted.
        """
        return float(self.f1.mean())

    @property
    def true_positive_reward(self) -> FloatArray:
        """How much one more true positive raises the F1 of each class; all the way to 1 where D is 0."""
        d = self.denominator
        wrong = self.false_positives + self.false_negatives
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
    reward = counts.true_positive_reward
    penalty = counts.false_positive_penalty
    missed = (p * penalty).sum(axis=1, keepdims=True)  # a false negative costs the same
    return np.asarray((p * (reward + 2 * penalty) - penalty - missed) / p.shape[1])


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
    if not large_counts:
        return np.asarray(macro_f1_gains(y_proba, counts, labels=labels).argmax(axis=1))
    p = _read_true_distributions(y_proba, counts, labels)
    unseen = counts.denominator == 0
    if unseen.any():
        column = int(np.argmax(unseen))
        fix = "pass large_counts=False for the exact rule"
        problem = "neither occurs nor is predicted in counts, so they are not large"
        raise InputError(problem, argument="counts", column=column, place=f"class {column}", fix=fix)
    return np.asarray(((p - counts.f1 / 2) / counts.denominator).argmax(axis=1))


def _read_counts(values: ArrayLike, name: str, n_classes: int) -> FloatArray:
    """One count per class, (K,)."""
    counts = read_floats(values, name)
    check_shape(counts, name, f"pass one count per class in each, shape ({n_classes},)", (n_classes,))
    fix = "a count is a finite number and not negative"
    check_each((counts >= 0) & (counts < np.inf), counts, name, fix)
    return counts


def _or_one(denominator: FloatArray) -> FloatArray:
    """A denominator to divide zero by."""
    return np.where(denominator > 0, denominator, 1.0)


def _read_true_distributions(y_proba: Table, counts: ClassCounts, labels: ArrayLike | None) -> FloatArray:
    """The distributions of the truth, (N, K), as float64; they must have the classes that were counted."""
    forecast = read_probabilities(y_proba, labels=labels)
    n_counted = len(counts.true_positives)
    if n_counted != forecast.n_classes:
        problem = f"are of {n_counted} classes but y_proba has {forecast.n_classes} columns"
        raise InputError(problem, argument="counts", value=n_counted, fix="count every column")
    return forecast.values.astype(np.float64)


@overload
def instance_f1(
    y_true: Labels,
    y_proba: Table,
    *,
    threshold: float | None = ...,
    per_instance: Literal[False] = ...,
    **options: Unpack[ScoreOptions],
) -> float: ...
@overload
def instance_f1(
    y_true: Labels,
    y_proba: Table,
    *,
    threshold: float | None = ...,
    per_instance: Literal[True],
    **options: Unpack[ScoreOptions],
) -> FloatArray: ...
@overload
def instance_f1(
    y_true: Labels,
    y_proba: Table,
    *,
    threshold: float | None = ...,
    per_instance: bool,
    **options: Unpack[ScoreOptions],
) -> Score: ...
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
) -> Score:
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
    if threshold is not None:
        fix = "it is a probability above 0 and at most 1; leave it out for the set of highest expected F1"
        read_number(threshold, "threshold", lambda share: 0 < share <= 1, fix)
    forecast = read_labelled(y_true, y_proba, labels, sample_weight, logits, normalise)

    def f1(block: Forecast) -> FloatArray:
        """``2 TP / (2 TP + FP + FN)``: FN is 1 - TP, since one class is true."""
        p = probabilities(block)
        reported = _best_sets(p) if threshold is None else p >= threshold
        return np.asarray(2.0 * reported[np.arange(len(p)), block.truth] / (reported.sum(axis=1) + 1))

    return mean_or_rows(forecast, ((block, f1(block)) for block in forecast.blocks()), per_instance)


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


def _best_sets(p: FloatArray) -> NDArray[np.bool_]:
    """Which classes to name in each row, (N, K), so that the expected F1 with the truth is greatest.

    The best set of m classes is that of the m likeliest, P of the probability: its F1 is ``2 P / (m + 1)``.
    """
    order = np.argsort(-p, axis=1, kind="stable")
    sizes = np.arange(1, p.shape[1] + 1)
    expected = 2 * np.cumsum(np.take_along_axis(p, order, axis=1), axis=1) / (sizes + 1)
    best = expected.argmax(axis=1)[:, None]
    place = np.argsort(order, axis=1)
    return np.asarray(place <= best)

"""Log loss as the two decision problems it secretly is: parallel treatment, and search in a fixed order.

In both, what a forecast pays for wrong classes cancels, and only the probability of the truth is left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.core.inputs import (
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    check_shape,
    read_floats,
    read_labelled,
    read_number,
    read_positive,
)


def parallel_costs(y_true: Labels, y_proba: Table, *, labels: ArrayLike | None = None) -> FloatArray:
    """What K simultaneous decisions cost, class by class, (N, K): each row sums to ``1 - ln p_i``.

    Treating class k costs c, leaving the true class untreated costs 1, so the best policy treats where
    ``p_k / c > 1``. Over costs of density ``1/c`` on (0, 1], treatment costs p_k for every class, which sums to
    1 whatever the forecast, and missing the truth i adds ``-ln p_i``.

    Parameters
    ----------
    y_true, y_proba, labels
        As in `pandora_regret`.

    Returns
    -------
    array
        Shape (N, K).

    References
    ----------
    Flores et al. (2026), Theorems 4.1 and B.5 [flores26]_.

    Examples
    --------
    >>> parallel_costs([0], [[0.5, 0.3, 0.2]])
    array([[1.19314718, 0.3       , 0.2       ]])
    """
    forecast = read_labelled(y_true, y_proba, labels=labels)
    costs = forecast.values.astype(np.float64)
    at_truth = np.arange(len(costs)), forecast.truth
    costs[at_truth] += _minus_log(costs[at_truth])
    return costs


def fixed_order_regrets(
    y_true: Labels,
    y_proba: Table,
    order: ArrayLike,
    *,
    cheap: float = 1.0,
    dear: float = 1.0,
    labels: ArrayLike | None = None,
) -> FloatArray:
    """What each step of a search in a fixed order regrets, (N, K); with equal weights a row sums to ``-ln p_i``.

    Step t meets the class that has probability h_t among those not yet tested. Acting on it costs c, passing
    over the truth costs 1, so the policy acts where ``h_t >= c``. A step before the truth regrets acting, the
    step at the truth regrets not acting, and no step follows. The regrets are integrated over costs of density
    ``cheap / c + dear / (1 - c)``; equal weights are the Haldane measure ``1 / (c (1 - c))``.

    Parameters
    ----------
    y_true, y_proba, labels
        As in `pandora_regret`.
    order
        Column numbers, first tested first: (K,), or (N, K) where each instance has its own order.
    cheap, dear
        Positive weights of cheap and of expensive tests.

    Returns
    -------
    array
        Shape (N, K).

    References
    ----------
    Flores et al. (2026), Proposition 4.2, Theorem B.1 [flores26]_.
    Haldane (1932), on the measure of costs [haldane32]_.

    Examples
    --------
    Whatever the order, the sum is ``-ln 0.2``:

    >>> steps = [fixed_order_regrets([2], [[0.5, 0.3, 0.2]], order) for order in ([0, 1, 2], [1, 2, 0])]
    >>> np.concatenate(steps).round(3)
    array([[0.693, 0.916, 0.   ],
           [0.357, 1.253, 0.   ]])
    >>> np.concatenate(steps).sum(axis=1).round(3)
    array([1.609, 1.609])
    """
    cheap = read_positive(cheap, "cheap")
    dear = read_positive(dear, "dear")
    search = FixedOrderSearch.of(y_true, y_proba, order, labels)
    acting = (cheap - dear) * search.hazard + dear * _minus_log(search.survival)
    passing = cheap * _minus_log(search.hazard) - (cheap - dear) * search.survival
    return search.paid(before_truth=acting, at_truth=passing)


def fixed_order_residuals(
    y_true: Labels,
    y_proba: Table,
    order: ArrayLike,
    *,
    cheap: float,
    dear: float,
    labels: ArrayLike | None = None,
) -> FloatArray:
    """What unequal weights add, step by step, to `dear` times the Haldane regrets, (N, K).

    ``(cheap - dear) h_t`` before the truth, and ``(cheap - dear) (h_t - 1 - ln h_t)`` at the truth. These do not
    cancel, so the sum depends on the order, unless ``cheap == dear``.

    Parameters
    ----------
    y_true, y_proba, order, cheap, dear, labels
        As in `fixed_order_regrets`.

    Returns
    -------
    array
        Shape (N, K).

    References
    ----------
    Flores et al. (2026), Remark B.3 [flores26]_.

    Examples
    --------
    >>> fixed_order_residuals([2], [[0.5, 0.3, 0.2]], [0, 1, 2], cheap=3.0, dear=1.0)
    array([[1. , 1.2, 0. ]])
    """
    cheap = read_positive(cheap, "cheap")
    dear = read_positive(dear, "dear")
    search = FixedOrderSearch.of(y_true, y_proba, order, labels)
    if cheap == dear:
        return np.zeros_like(search.hazard)  # also where the logarithm is infinite
    passing = _minus_log(search.hazard) - search.survival
    return (cheap - dear) * search.paid(before_truth=search.hazard, at_truth=passing)


def fixed_order_costs(
    y_true: Labels, y_proba: Table, order: ArrayLike, *, epsilon: float, labels: ArrayLike | None = None
) -> FloatArray:
    """What each step of the same search costs, not only regrets, (N, K), over Haldane costs up to 1 - epsilon.

    The truth must be paid for in any case, which is infinitely expensive near ``c = 1``; hence `epsilon`. A row's
    sum less `fixed_order_baseline`, which no order changes, tends to ``-ln p_i`` as `epsilon` tends to 0; it is
    equal already where every h_t up to the truth is at most ``1 - epsilon``.

    Parameters
    ----------
    y_true, y_proba, order, labels
        As in `fixed_order_regrets`.
    epsilon
        How close to 1 costs come, between 0 and 1.

    Returns
    -------
    array
        Shape (N, K).

    Examples
    --------
    >>> costs = fixed_order_costs([2], [[0.5, 0.3, 0.2]], [1, 2, 0], epsilon=1e-3)
    >>> (costs.sum(axis=1) - fixed_order_baseline(1e-3)).round(3)
    array([1.609])
    """
    baseline = fixed_order_baseline(epsilon)
    search = FixedOrderSearch.of(y_true, y_proba, order, labels)
    acting = _minus_log(np.maximum(search.survival, epsilon))
    finding = baseline + _minus_log(np.minimum(search.hazard, 1 - epsilon))
    return search.paid(before_truth=acting, at_truth=finding)


def fixed_order_baseline(epsilon: float) -> float:
    """``ln(1 - epsilon) - ln(epsilon)``: what the truth costs in every order of `fixed_order_costs`.

    Parameters
    ----------
    epsilon
        As in `fixed_order_costs`.

    Returns
    -------
    float
        In the unit of `fixed_order_costs`.

    Examples
    --------
    >>> round(fixed_order_baseline(0.001), 4)
    6.9068
    """
    fix = "it must lie between 0 and 1, and near 0 to mean anything"
    read_number(epsilon, "epsilon", lambda share: 0 < share < 1, fix)
    return float(np.log1p(-epsilon) - np.log(epsilon))


@dataclass(frozen=True)
class FixedOrderSearch:
    """Searches that test the classes in a fixed order, step by step, (N, K) each."""

    # h_t, the share of the probability of all classes not yet tested that this step's class has
    hazard: FloatArray
    survival: FloatArray  # 1 - h_t
    is_truth: NDArray[np.bool_]  # whether the step tests the truth

    @classmethod
    def of(cls, y_true: Labels, y_proba: Table, order: ArrayLike, labels: ArrayLike | None) -> FixedOrderSearch:
        """The searches of some rows, in one order or in one for each row."""
        forecast = read_labelled(y_true, y_proba, labels)
        steps = _read_order(order, forecast)
        p = np.take_along_axis(forecast.values.astype(np.float64), steps, axis=1)
        left = np.cumsum(p[:, ::-1], axis=1)[:, ::-1]  # the probability of the classes not tested before a step
        left_after = np.pad(left[:, 1:], ((0, 0), (0, 1)))
        is_exhausted = left == 0  # all that is left is held to be impossible: nothing is acted on
        denominator = np.where(is_exhausted, 1.0, left)
        survival = np.where(is_exhausted, 1.0, left_after / denominator)  # from sums, not by subtraction from 1
        return cls(p / denominator, survival, steps == forecast.truth[:, None])

    def paid(self, *, before_truth: FloatArray, at_truth: FloatArray) -> FloatArray:
        """What each step pays, (N, K): one amount before the truth, another at it, and nothing after it."""
        is_before = np.cumsum(self.is_truth, axis=1) == 0
        return np.where(is_before, before_truth, np.where(self.is_truth, at_truth, 0.0))


def _read_order(order: ArrayLike, forecast: Forecast) -> IntArray:
    """Each row a permutation of the column numbers: (N, K)."""
    shape = forecast.values.shape
    orders = read_floats(order, "order")
    fix = f"pass one order for all, shape ({forecast.n_classes},), or one per instance, shape {shape}"
    check_shape(orders, "order", fix, (forecast.n_classes,), shape)
    steps = np.broadcast_to(orders, shape)
    complete = (np.sort(steps, axis=1) == np.arange(forecast.n_classes)).all(axis=1)
    if not complete.all():
        row = int(np.argmin(complete))
        value = np.broadcast_to(order, shape)[row].tolist()
        fix = f"list every column number from 0 to {forecast.n_classes - 1} once, first tested first"
        raise InputError(argument="order", row=row, value=value, fix=fix)
    return steps.astype(np.intp)


def _minus_log(values: FloatArray) -> FloatArray:
    """``-ln p`` of each value, infinite where it is 0."""
    with np.errstate(divide="ignore"):
        return -np.log(values) + 0.0  # no negative zero

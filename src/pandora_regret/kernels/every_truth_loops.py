"""The sweeps of `every_truth`, compiled by numba; `every_truth._sweeps` says what they must compute.

Rows with an impossible class, or nearly so, are left NaN, and go to the plain sweeps.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.kernels.cpu import LEAST_TRUTH, UNIFORM, kind_of
from pandora_regret.kernels.jit import njit
from pandora_regret.kernels.vector import FAST, SMALLEST, exp_parts, log_normal


@njit(**FAST)
def sweep(values, logits, costs, order, alpha, start, stop, out):
    """``sum_j C_j L_alpha(q_i / q_j)`` in column i of the rows from `start` to `stop`, given their orders."""
    n_classes, kind = values.shape[1], kind_of(alpha)
    price, step, up, down = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    for n in range(start, stop):
        row, places, of_row = values[n], order[n], costs[n if len(costs) > 1 else 0]
        for b in range(n_classes):
            price[b] = of_row[places[b]]
        if not _steps(row, logits, places, price, step):
            out[n] = np.nan
            continue
        for b in range(n_classes - 1):
            up[b], down[b] = _powers(step[b], alpha, kind, logits)
        _down(price, up, alpha, places, out[n])
        _up(price, down, places, out[n])


@njit(**FAST)
def _steps(row, logits, places, price, step):
    """The quotient of each class over the one before it, of logits its logarithm; and whether all are sound."""
    sound = True
    for b in range(len(places) - 1):
        ours, theirs = row[places[b + 1]], row[places[b]]
        if logits:
            step[b] = min(0.0, ours - theirs - log_normal(price[b + 1] / price[b]))
            sound &= ours > -np.inf
        else:
            sound &= ours / price[b + 1] > LEAST_TRUTH
            step[b] = min(1.0, (ours / price[b + 1]) / (theirs / price[b]))
    return sound


@njit(**FAST)
def _powers(step, alpha, kind, logits):
    """``r^alpha`` and ``r^(alpha + 1)`` of a step down."""
    if kind == UNIFORM and not logits:
        return step, step * step
    gap = step if logits else log_normal(step)
    return _power(alpha * gap), _power((alpha + 1) * gap)


@njit(**FAST)
def _power(exponent):
    s, m = exp_parts(exponent)
    return s + s * m if exponent > SMALLEST else 0.0


@njit(**FAST)
def _down(price, keep, alpha, places, out):
    """What is spent on the classes before each, and more the further each is behind them."""
    before, risen = 0.0, 0.0
    out[places[0]] = 0.0
    for b in range(len(places) - 1):
        before += price[b]
        risen = keep[b] * risen + (1 + 1 / alpha) * (1 - keep[b]) * before
        out[places[b + 1]] = before + risen


@njit(**FAST)
def _up(price, keep, places, out):
    """What is spent on the classes after each."""
    after = 0.0
    for b in range(len(places) - 2, -1, -1):
        after = keep[b] * (after + price[b + 1])
        out[places[b]] += after

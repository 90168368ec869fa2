"""The loops of sequential inference, compiled by numba: one increment after the other, states changed in place.

Increments come as `x` with bounds `low` <= x <= `high` that were known before x was. Nothing is reassociated along
the stream, so that it gives the same digits however it is cut into calls.
"""

from __future__ import annotations

from math import log, log1p
from typing import Any

import numpy as np

try:
    from pandora_regret.kernels.jit import njit
except Exception:  # where there is no numba, or a broken one, the same loops run as they stand

    def njit(**options: Any) -> Any:
        """Leave a function as it is."""
        return lambda function: function


STRICT: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
VECTOR: dict[str, Any] = {**STRICT, "fastmath": {"reassoc", "contract"}}  # over bets, not over increments
BOLDEST = 0.9  # of the largest bet that cannot end in debt: what a gambler who may lose it all keeps
FROM_THE_BEGINNING = 0.9  # the share of wealth that plays from there; the rest waits for changes
DECAY, OF_ALL_STARTS = 1.25, 4.595111825  # shares of starts fall as k^-1.25, and that is their sum
STEP, LOG_STEP = 2.0**300, 300 * log(2.0)  # wealth beyond it, or below its inverse, is counted in such steps
NEVER = -1
HALVINGS, NEARLY_NONE = 50, 1e-5
START, WEIGHT, COUNT, TOTAL, TOTAL_LOW, TOTAL_HIGH = range(6)  # entries of a window


@njit(**STRICT)
def bet(
    rows, scale, first, every, fractions, stakes,
    wealth, steps, slopes, curves, steepest, windows, noticed, enough,
):  # fmt: skip
    """Bet on increments whose mean is 0 unless something is wrong; `first` is the number of the first of them.

    `wealth` and what follows are (windows, 2, J): the capital of each constant bet on a mean above and below 0,
    with the power of STEP that it is a multiple of; and the sum, the sum of squares and the maximum of
    ``a = b / (1 + b x)``, by which it would differ were the mean not 0. The last window is the present block of
    `every` increments; the others take in whole blocks, so that a stream gives the same digits however it is cut.
    """
    x, low, high = rows[0], rows[1], rows[2]
    block = len(windows) - 1
    richest = _richest(wealth, steps, stakes, windows)
    for t in range(len(x)):
        number = first + t
        if number and number % every == 0:
            fold(wealth, slopes, curves, steepest, windows)
            _restart(number, number // every, wealth, steps, slopes, curves, steepest, windows)
            richest = _richest(wealth, steps, stakes, windows)
        windows[block, COUNT] += 1
        windows[block, TOTAL] += x[t]
        windows[block, TOTAL_LOW] += low[t]
        windows[block, TOTAL_HIGH] += high[t]
        for side in range(2):
            room, gain = (-low[t], x[t]) if side == 0 else (high[t], -x[t])
            most = BOLDEST / room if room > 0 else np.inf
            gained = _play(fractions, 1 / scale[t], most, gain, side, wealth, slopes, curves, steepest)
            if noticed[side] == NEVER and gained * richest[side] >= enough:
                most = evidence(wealth, steps, stakes, windows)[:, side].max()
                noticed[side] = number if most >= enough else NEVER


@njit(**VECTOR)
def _play(fractions, per, most, gain, side, wealth, slopes, curves, steepest):
    """One increment, with every bet on a side; the largest factor of their wealth in this block."""
    block, largest = len(wealth) - 1, 0.0
    for j in range(len(fractions)):
        b = min(fractions[j] * per, most)
        factor = 1 + b * gain
        lean = b / factor
        wealth[block, side, j] *= factor
        slopes[block, side, j] += lean
        curves[block, side, j] += lean * lean
        steepest[block, side, j] = max(steepest[block, side, j], lean)
        largest = max(largest, wealth[block, side, j])
    return largest


@njit(**STRICT)
def fold(wealth, slopes, curves, steepest, windows):
    """Take the present block into the other windows, and begin the next one."""
    block = len(windows) - 1
    wealth[:block] *= wealth[block]
    slopes[:block] += slopes[block]
    curves[:block] += curves[block]
    steepest[:block] = np.maximum(steepest[:block], steepest[block])
    windows[:block, COUNT:] += windows[block, COUNT:]
    wealth[block], slopes[block], curves[block], steepest[block], windows[block] = 1.0, 0.0, 0.0, 0.0, 0.0


@njit(**STRICT)
def _restart(number, k, wealth, steps, slopes, curves, steepest, windows):
    """Begin anew the windows of bets that have less left than a new gambler would bring at the k-th start."""
    share, n_bets = (1 - FROM_THE_BEGINNING) / OF_ALL_STARTS * k**-DECAY, wealth.shape[2]
    for w in range(len(windows) - 1):
        for side in range(2):
            for j in range(n_bets):
                if wealth[w, side, j] > STEP:
                    wealth[w, side, j] /= STEP
                    steps[w, side, j] += 1
                elif wealth[w, side, j] < 1 / STEP:
                    wealth[w, side, j] *= STEP
                    steps[w, side, j] -= 1
        if w == 0:
            continue
        side, j = (w - 1) // n_bets, (w - 1) % n_bets
        left = windows[w, WEIGHT] * wealth[w, side, j]
        if steps[w, side, j] < 0 or (steps[w, side, j] == 0 and left < share):
            wealth[w], steps[w], slopes[w], curves[w], steepest[w], windows[w] = 1.0, 0, 0.0, 0.0, 0.0, 0.0
            windows[w, START], windows[w, WEIGHT] = number, share


@njit(**STRICT)
def _richest(wealth, steps, stakes, windows):
    """The most that a window has before this block, on each side."""
    most = np.zeros(2)
    for w in range(len(windows) - 1):
        for side in range(2):
            most[side] = max(most[side], windows[w, WEIGHT] * _total(wealth[w, side], steps[w, side], stakes))
    return most


@njit(**STRICT)
def _total(wealth, steps, stakes):
    """Of all bets; beyond a step it is said to be one."""
    total = 0.0
    for j in range(len(stakes)):
        if steps[j] >= 0:
            total += stakes[j] * (wealth[j] if steps[j] == 0 else STEP)
    return total


@njit(**STRICT)
def evidence(wealth, steps, stakes, windows):
    """What each window has on each side, (windows, 2); at most 1 where its mean is on the other side."""
    block = len(windows) - 1
    capital = np.zeros((block, 2))
    for w in range(block):
        total = windows[w, TOTAL] + windows[block, TOTAL]
        for side in range(2):
            now = wealth[w, side] * wealth[block, side]
            capital[w, side] = windows[w, WEIGHT] * _total(now, steps[w, side], stakes)
            if (total if side == 0 else -total) < 0:
                capital[w, side] = min(capital[w, side], 1.0)
    return capital


@njit(**STRICT)
def end(mean, furthest, wealth, steps, slopes, curves, steepest, stakes, enough):
    """The largest m below the mean, by at most `furthest`, that increments of that mean exclude, by bisection."""
    low, high = mean - furthest, mean
    if _log_evidence(low, wealth, steps, slopes, curves, steepest, stakes) < enough:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _log_evidence(middle, wealth, steps, slopes, curves, steepest, stakes) < enough:
            high = middle
        else:
            low = middle
    return low


@njit(**STRICT)
def _log_evidence(m, wealth, steps, slopes, curves, steepest, stakes):
    """The logarithm of the wealth of bets on ``x - m``, at least.

    A bet's ``log(1 + b (x - m))`` is ``log(1 + b x) + log(1 - a m)`` with ``a = b / (1 + b x)``. The sum of the
    second part is bounded from below by the sums of a and of its square, and by its maximum.
    """
    logs, largest = np.full(len(stakes), -np.inf), -np.inf
    for j in range(len(stakes)):
        share = steepest[j] * m
        if m <= 0:
            shift = min(-m, slopes[j] / curves[j] if curves[j] > 0 else 0.0)
            gained = slopes[j] * shift - curves[j] * shift**2 / 2
        elif share < 1:
            beyond = 0.5 + share / 3 if share < NEARLY_NONE else (-log1p(-share) - share) / share**2
            gained = -slopes[j] * m - curves[j] * m**2 * beyond
        else:
            continue
        if stakes[j] * wealth[j] > 0:
            logs[j] = log(stakes[j] * wealth[j]) + steps[j] * LOG_STEP + gained
        largest = max(largest, logs[j])
    return largest + log(np.exp(logs - largest).sum()) if largest > -np.inf else largest


@njit(**STRICT)
def rank(values, scale, tree, n, breaks, shares):
    """The rank of each value among all so far as a number in (0, 1), ties broken at random.

    Values from 0 to `scale` fall into bins, and values of one bin are ties. `tree` is a Fenwick tree of how many
    fell into each, of a power of two of bins, its entry 0 unused; `n` is how many values there were before. Ties
    of a value are broken by its entry in `breaks`, a number in (0, 1).
    """
    n_bins = len(tree) - 1
    for t in range(len(values)):
        b = min(max(int(values[t] / scale * n_bins), 0), n_bins - 1)
        below, here = _count_up_to(tree, b), 1
        here += _count_up_to(tree, b + 1) - below
        k = b + 1
        while k <= n_bins:
            tree[k] += 1
            k += k & -k
        shares[t] = (below + here * breaks[t]) / (n + t + 1)


@njit(**STRICT)
def _count_up_to(tree, k):
    """How many values lie in the first k bins."""
    total = 0
    while k > 0:
        total += tree[k]
        k -= k & -k
    return total

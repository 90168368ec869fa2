"""The loops of sequential inference, compiled by numba: one increment after the other, states changed in place.

Increments come as `x` with bounds `low` <= x <= `high` that were known before x was. Nothing is reassociated along
the stream, so that it gives the same digits however it is cut into calls.
"""

from math import exp, log, log1p, log2
from typing import Any

import numpy as np

try:
    from pandora_regret.core.kernels.numba_cache import njit
except Exception:  # where there is no numba, or a broken one, the same loops run as they stand

    def njit(**options: Any) -> Any:
        """Leave a function as it is."""
        return lambda function: function


STRICT: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy"}
BOLDEST = 0.9  # of the largest bet that cannot end in debt: what a gambler who may lose it all keeps
FROM_THE_BEGINNING = 0.9  # the share of wealth that plays from there; the rest waits for changes
DECAY, OF_ALL_STARTS = 1.25, 4.595111825  # shares of starts fall as k^-1.25, and that is their sum
MOST_LOG = 230.0  # wealth beyond 1e100 is said to be that
NEVER = -1
HALVINGS, NEARLY_NONE = 50, 1e-5
PER_OCTAVE, LEAST = 32, 1e-300  # bins of ranks between a value and its double
START, WEIGHT, COUNT, TOTAL, TOTAL_LOW, TOTAL_HIGH = range(6)  # entries of a window
WEALTH, SLOPE, CURVE, STEEPEST = range(4)  # entries of a bet


@njit(**STRICT)
def bet(rows, scale, first, every, fractions, stakes, bets, windows, noticed, enough):
    """Bet on increments whose mean is 0 unless something is wrong; `first` is the number of the first of them.

    `bets` is (windows, 2, 4, J): of each constant bet on a mean above and below 0, the logarithm of its capital;
    and the sum, the sum of squares and the maximum of ``a = b / (1 + b x)``, by which it would differ were the
    mean not 0. The last window is the present block of `every` increments, whose capital is no logarithm; the
    others take in whole blocks, so that a stream gives the same digits however it is cut.
    """
    t, block = 0, len(windows) - 1
    while t < len(scale):
        number = first + t
        if number and number % every == 0:
            fold(bets, windows)
            _restart(number, number // every, bets, windows)
        end = min(len(scale), t + every - number % every)
        played, is_close = _play(
            rows[:, t:end], scale[t:end], fractions, _richest(bets, windows, noticed), enough, bets[block]
        )
        for number in range(t, t + played):
            windows[block, COUNT] += 1
            for row in range(3):
                windows[block, TOTAL + row] += rows[row, number]
        t += played
        if is_close:
            capital = evidence(bets, stakes, windows)
            for side in range(2):
                if noticed[side] == NEVER and capital[:, side].max() >= enough:
                    noticed[side] = first + t - 1


@njit(**STRICT)
def _richest(bets, windows, noticed):
    """More than any window has before this block, on each side; 0 on one whose evidence was noticed before."""
    most = np.zeros(2)
    for side in range(2):
        for w in range(len(windows) - 1 if noticed[side] == NEVER else 0):
            largest = exp(min(bets[w, side, WEALTH].max(), MOST_LOG))
            most[side] = max(most[side], windows[w, WEIGHT] * largest)
    return most


@njit(**STRICT)
def _play(rows, scale, fractions, richest, enough, bets):
    """Play increments of one block with every bet until there may be evidence enough: how many, and whether."""
    for t in range(len(scale)):
        per, is_close = 1 / scale[t], False
        for side in range(2):
            room, gain = (-rows[1, t], rows[0, t]) if side == 0 else (rows[2, t], -rows[0, t])
            most = BOLDEST / room if room > 0 else np.inf
            wealth, slope, curve, steepest = bets[side]
            for j in range(len(fractions)):
                b = min(fractions[j] * per, most)
                factor = 1 + b * gain
                lean = b / factor
                wealth[j] *= factor
                slope[j] += lean
                curve[j] += lean * lean
                steepest[j] = max(steepest[j], lean)
                is_close |= wealth[j] * richest[side] >= enough
        if is_close:
            return t + 1, True
    return len(scale), False


@njit(**STRICT)
def fold(bets, windows):
    """Take the present block into the other windows, and begin the next one."""
    n_bets, block = bets.shape[3], len(windows) - 1
    bets[block, :, WEALTH] = np.log(bets[block, :, WEALTH])
    for w in range(block):
        windows[w, COUNT:] += windows[block, COUNT:]
        for side in range(2):
            for j in range(n_bets):
                steepest = max(bets[w, side, STEEPEST, j], bets[block, side, STEEPEST, j])
                for entry in range(STEEPEST):
                    bets[w, side, entry, j] += bets[block, side, entry, j]
                bets[w, side, STEEPEST, j] = steepest
    bets[block], windows[block] = 0.0, 0.0
    bets[block, :, WEALTH] = 1.0


@njit(**STRICT)
def _restart(number, k, bets, windows):
    """Begin anew the windows of bets that have less left than a new gambler would bring at the k-th start."""
    share, n_bets = (1 - FROM_THE_BEGINNING) / OF_ALL_STARTS * k**-DECAY, bets.shape[3]
    for w in range(1, len(windows) - 1):
        own = bets[w, (w - 1) // n_bets, WEALTH, (w - 1) % n_bets]
        if windows[w, WEIGHT] * exp(min(own, MOST_LOG)) < share:
            bets[w], windows[w] = 0.0, 0.0
            windows[w, START], windows[w, WEIGHT] = number, share


@njit(**STRICT)
def evidence(bets, stakes, windows):
    """What each window has on each side, (windows, 2); at most 1 where its mean is on the other side."""
    block = len(windows) - 1
    before = np.exp(np.minimum(bets[:block, :, WEALTH], MOST_LOG))
    capital = (stakes * before * bets[block, :, WEALTH]).sum(axis=2)
    for w in range(block):
        capital[w] *= windows[w, WEIGHT]
        total = windows[w, TOTAL] + windows[block, TOTAL]
        if total != 0:
            other = int(total > 0)
            capital[w, other] = min(capital[w, other], 1.0)
    return capital


@njit(**STRICT)
def end(mean, furthest, bets, log_stakes, enough):
    """The largest m below the mean, by at most `furthest`, that increments of that mean exclude, by bisection."""
    low, high = mean - furthest, mean
    if _log_evidence(low, bets, log_stakes) < enough:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _log_evidence(middle, bets, log_stakes) < enough:
            high = middle
        else:
            low = middle
    return low


@njit(**STRICT)
def _log_evidence(m, bets, log_stakes):
    """The logarithm of the wealth of bets on ``x - m``, at least, on one side of a window, (4, J).

    A bet's ``log(1 + b (x - m))`` is ``log(1 + b x) + log(1 - a m)`` with ``a = b / (1 + b x)``. The sum of the
    second part is bounded from below by the sums of a and of its square, and by its maximum.
    """
    logs = log_stakes + bets[WEALTH]
    for j in range(len(logs)):
        slope, curve, share = bets[SLOPE, j], bets[CURVE, j], bets[STEEPEST, j] * m
        if m <= 0:
            shift = min(-m, slope / curve if curve > 0 else 0.0)
            logs[j] += slope * shift - curve * shift**2 / 2
        elif share < 1:
            beyond = 0.5 + share / 3 if share < NEARLY_NONE else (-log1p(-share) - share) / share**2
            logs[j] -= slope * m + curve * m**2 * beyond
        else:
            logs[j] = -np.inf
    largest = logs.max()
    return largest + log(np.exp(logs - largest).sum()) if largest > -np.inf else largest


@njit(**STRICT)
def rank(values, scale, tree, n, breaks, shares):
    """The rank of each value among all so far as a number in (0, 1), ties broken at random.

    Values fall into bins by their logarithm, `scale` into the middle one, and values of one bin are ties. `tree`
    is a Fenwick tree of how many fell into each, of a power of two of bins, its entry 0 unused; `n` is how many
    values there were before. Ties of a value are broken by its entry in `breaks`, a number in (0, 1).
    """
    n_bins = len(tree) - 1
    for t in range(len(values)):
        place = n_bins / 2 + PER_OCTAVE * log2(max(values[t] / scale, LEAST))
        b = int(min(max(place, 0), n_bins - 1))
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

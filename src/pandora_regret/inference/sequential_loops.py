"""The loops of sequential inference, compiled by numba: one increment after the other, states changed in place.

Increments come as `x` with bounds `low` <= x <= `high` that were known before x was. They belong to periods: a
change may begin, and evidence is looked at, only between periods, so that within one the order does not matter.
Nothing is reassociated along the stream: it gives the same digits however it is cut into calls.
"""

from collections.abc import Callable
from math import exp, log, log1p, log2
from typing import TypeVar

import numpy as np

Loop = TypeVar("Loop")


def run_as_it_stands(**options: object) -> Callable[[Loop], Loop]:
    """In place of `njit`: leave a function as it is."""
    return lambda function: function


try:
    from pandora_regret.core.kernels.numba_cache import njit
except Exception:  # there is no numba, or a broken one
    njit = run_as_it_stands


STRICT: dict[str, bool | str] = {"nogil": True, "cache": True, "error_model": "numpy"}
BOLDEST = 0.9  # of the largest bet that cannot end in debt: what a gambler who may lose it all keeps
FROM_THE_BEGINNING = 0.75  # the share of wealth that plays from there; the rest waits for changes
DECAY = 1.25  # the share of the k-th later start falls as k^-1.25
OF_ALL_STARTS = 4.595111825  # the sum of k^-1.25 over all k
MOST_LOG = 230.0  # wealth beyond 1e100 is said to be that
NO_WEALTH = -1e300  # its logarithm
NEVER = -1
HALVINGS = 50
NEARLY_NONE = 1e-5
PER_OCTAVE = 32  # bins of ranks between a value and its double
LEAST = 1e-300

START, WEIGHT, COUNT, TOTAL, TOTAL_LOW, TOTAL_HIGH = range(6)  # entries of a window
WEALTH, SLOPE, CURVE, STEEPEST, LATER, LATER_SLOPE, LATER_CURVE = range(7)  # entries of a bet
STARTS, LAST_START, PERIOD_IS_OPEN = range(3)  # entries of the clock


@njit(**STRICT)
def bet(rows, scale, ends_period, first, every, fractions, stakes, bets, windows, clock, noticed, enough):
    r"""Bet on increments whose mean is 0 unless something is wrong; `first` is the number of the first of them.

    Parameters
    ----------
    rows
        Increments, and their lower and upper bounds, (3, n).
    scale
        What a bet is a fraction of 1 / of, (n,).
    ends_period
        Whether an increment is the last of its period, (n,).
    every
        How many increments there are between two starts, at least.
    bets
        (windows, 2, entries, J): of each constant bet on a mean above and below 0. `WEALTH` is the logarithm of
        its capital if it began with 1 when the window did. `SLOPE`, `CURVE` and `STEEPEST` are the sum, the sum of
        squares and the maximum of :math:`a = b / (1 + b x)`, by which it would differ were the mean not 0.
        `LATER` is the logarithm of the capital of all starts after the window's own, each with its share; of
        these, `LATER_SLOPE` and `LATER_CURVE` are the means of the sums of a and of its square, by capital.
    windows
        (windows, entries): the first increment, the share of wealth that began there, and the number and the
        sums of increments and bounds. The last one is the present block of at most `every` increments, whose
        `WEALTH` is no logarithm; the others take in whole blocks.
    clock
        How many starts there were, the increment of the last one, and whether a period is open.
    noticed
        The increment at which evidence on a side first was enough, (2,), or `NEVER`.
    """
    block = len(windows) - 1
    t = 0
    while t < len(scale):
        _begin(first + t, every, bets, windows, clock)
        room = every - int(windows[block, COUNT])
        to_start = every - (first + t - clock[LAST_START])
        end = _end(t, room, to_start, ends_period)
        richest = _richest(bets, windows, noticed)
        played, is_close = _play(
            rows[:, t:end], scale[t:end], ends_period[t:end], fractions, richest, enough, bets[block]
        )
        for row in range(t, t + played):
            windows[block, COUNT] += 1
            for entry in range(3):
                windows[block, TOTAL + entry] += rows[entry, row]
        t += played
        clock[PERIOD_IS_OPEN] = not ends_period[t - 1]
        if is_close:
            capital = evidence(bets, stakes, windows)
            for side in range(2):
                if noticed[side] == NEVER and capital[:, side].max() >= enough:
                    noticed[side] = first + t - 1


@njit(**STRICT)
def _begin(number, every, bets, windows, clock):
    """Before the increment of this number: a start between periods if it is time for one, and an empty block."""
    if not clock[PERIOD_IS_OPEN] and number - clock[LAST_START] >= every:
        fold(bets, windows)
        clock[STARTS] += 1
        clock[LAST_START] = number
        _start(number, clock[STARTS], bets, windows)
    elif windows[-1, COUNT] >= every:
        fold(bets, windows)


@njit(**STRICT)
def _end(t, room, to_start, ends_period):
    """How far rows from t on can be played: until the block is full, or a period ends and a start is due."""
    end = min(len(ends_period), t + room)
    for row in range(t, end):
        if ends_period[row] and row + 1 - t >= to_start:
            return row + 1
    return end


@njit(**STRICT)
def _richest(bets, windows, noticed):
    """The most that a bet of any window has before this block, on each side; 0 where evidence was noticed."""
    most = np.zeros(2)
    for side in range(2):
        if noticed[side] != NEVER:
            continue
        for w in range(len(windows) - 1):
            for j in range(bets.shape[3]):
                first = windows[w, WEIGHT] * exp(min(bets[w, side, WEALTH, j], MOST_LOG))
                later = exp(min(bets[w, side, LATER, j], MOST_LOG))
                most[side] = max(most[side], first + later)
    return most


@njit(**STRICT)
def _play(rows, scale, ends_period, fractions, richest, enough, bets):
    """Play increments of one block with every bet until there may be evidence enough: how many, and whether."""
    for t in range(len(scale)):
        per = 1 / scale[t]
        is_close = False
        for side in range(2):
            room, gain = (-rows[1, t], rows[0, t]) if side == 0 else (rows[2, t], -rows[0, t])
            most = BOLDEST / room if room > 0 else np.inf
            wealth = bets[side, WEALTH]
            slope = bets[side, SLOPE]
            curve = bets[side, CURVE]
            steepest = bets[side, STEEPEST]
            for j in range(len(fractions)):
                b = min(fractions[j] * per, most)
                factor = 1 + b * gain
                lean = b / factor
                wealth[j] *= factor
                slope[j] += lean
                curve[j] += lean * lean
                steepest[j] = max(steepest[j], lean)
                is_close |= wealth[j] * richest[side] >= enough
        if is_close and ends_period[t]:
            return t + 1, True
    return len(scale), False


@njit(**STRICT)
def fold(bets, windows):
    """Take the present block into the other windows, and begin the next one."""
    block = len(windows) - 1
    for w in range(block):
        windows[w, COUNT:] += windows[block, COUNT:]
    for side in range(2):
        for j in range(bets.shape[3]):
            gain = log(bets[block, side, WEALTH, j])
            slope = bets[block, side, SLOPE, j]
            curve = bets[block, side, CURVE, j]
            steepest = bets[block, side, STEEPEST, j]
            for w in range(block):
                bets[w, side, WEALTH, j] += gain
                bets[w, side, LATER, j] += gain
                bets[w, side, SLOPE, j] += slope
                bets[w, side, LATER_SLOPE, j] += slope
                bets[w, side, CURVE, j] += curve
                bets[w, side, LATER_CURVE, j] += curve
                bets[w, side, STEEPEST, j] = max(bets[w, side, STEEPEST, j], steepest)
    bets[block] = 0.0
    bets[block, :, WEALTH] = 1.0
    windows[block] = 0.0


@njit(**STRICT)
def _start(number, k, bets, windows):
    """Begin to play the share of wealth that waits for the k-th start, at this increment.

    It joins the later starts of every window. But a window whose own bet has less left than the newcomer brings
    begins anew with it: so each bet remembers the start since which it did best, as in a CUSUM.
    """
    n_bets = bets.shape[3]
    share = (1 - FROM_THE_BEGINNING) / OF_ALL_STARTS * k**-DECAY
    for w in range(len(windows) - 1):
        left = bets[w, (w - 1) // n_bets, WEALTH, (w - 1) % n_bets]
        if w > 0 and windows[w, WEIGHT] * exp(min(left, MOST_LOG)) < share:
            bets[w] = 0.0
            bets[w, :, LATER] = NO_WEALTH
            windows[w] = 0.0
            windows[w, START] = number
            windows[w, WEIGHT] = share
        else:
            _join(share, bets[w])


@njit(**STRICT)
def _join(share, bets):
    """Add a start to the later ones of a window, (2, entries, J), whose means by capital shrink."""
    log_share = log(share)
    for side in range(2):
        for j in range(bets.shape[2]):
            before = bets[side, LATER, j]
            if before >= log_share:
                ratio = exp(log_share - before)
                bets[side, LATER, j] = before + log1p(ratio)
                kept = 1 / (1 + ratio)
            else:
                ratio = exp(before - log_share)
                bets[side, LATER, j] = log_share + log1p(ratio)
                kept = ratio / (1 + ratio)
            bets[side, LATER_SLOPE, j] *= kept
            bets[side, LATER_CURVE, j] *= kept


@njit(**STRICT)
def evidence(bets, stakes, windows):
    """The capital of each window, its later starts included, on each side, (windows, 2).

    It is at most 1 where the mean is on the other side.
    """
    block = len(windows) - 1
    capital = np.zeros((block, 2))
    for w in range(block):
        for side in range(2):
            for j in range(bets.shape[3]):
                first = windows[w, WEIGHT] * exp(min(bets[w, side, WEALTH, j], MOST_LOG))
                later = exp(min(bets[w, side, LATER, j], MOST_LOG))
                capital[w, side] += stakes[j] * (first + later) * bets[block, side, WEALTH, j]
        total = windows[w, TOTAL] + windows[block, TOTAL]
        if total != 0:
            far_side = int(total > 0)
            capital[w, far_side] = min(capital[w, far_side], 1.0)
    return capital


@njit(**STRICT)
def end(mean, furthest, bets, log_stakes, log_weight, enough):
    """The largest m below the mean, by at most `furthest`, that increments of that mean exclude, by bisection."""
    low = mean - furthest
    high = mean
    if _log_evidence(low, bets, log_stakes, log_weight) < enough:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _log_evidence(middle, bets, log_stakes, log_weight) < enough:
            high = middle
        else:
            low = middle
    return low


@njit(**STRICT)
def _log_evidence(m, bets, log_stakes, log_weight):
    r"""The logarithm of the wealth of bets on ``x - m``, at least, on one side of a window, (entries, J).

    A bet's :math:`\log(1 + b (x - m))` is :math:`\log(1 + b x) + \log(1 - a m)` with :math:`a = b / (1 + b x)`.
    The sum of the second part is bounded from below by the sums of a and of its square, and by the largest a. For
    the later starts together, whose capital is a sum, the mean of that bound by capital will do: the logarithm of
    a mean is at least the mean of logarithms.
    """
    n_bets = len(log_stakes)
    logs = np.empty(2 * n_bets)
    for j in range(n_bets):
        steepest = bets[STEEPEST, j]
        first = _log_shift(m, bets[SLOPE, j], bets[CURVE, j], steepest)
        later = _log_shift(m, bets[LATER_SLOPE, j], bets[LATER_CURVE, j], steepest)
        logs[j] = log_stakes[j] + log_weight + bets[WEALTH, j] + first
        logs[n_bets + j] = log_stakes[j] + bets[LATER, j] + later
    largest = logs.max()
    return largest + log(np.exp(logs - largest).sum()) if largest > -np.inf else largest


@njit(**STRICT)
def _log_shift(m, slope, curve, steepest):
    """A lower bound of the sum of ``log(1 - a m)``, from the sums of a and of its square, and the largest a."""
    if m <= 0:
        shift = min(-m, slope / curve if curve > 0 else 0.0)
        return slope * shift - curve * shift**2 / 2
    share = steepest * m
    if share >= 1:
        return -np.inf
    beyond = 0.5 + share / 3 if share < NEARLY_NONE else (-log1p(-share) - share) / share**2
    return -slope * m - curve * m**2 * beyond


@njit(**STRICT)
def ranks_so_far(values, scale, tree, n, breaks, shares):
    """The rank of each value among all so far as a number in (0, 1), ties broken at random.

    Values fall into bins by their logarithm, `scale` into the middle one, and values of one bin are ties. `tree`
    is a Fenwick tree of how many fell into each, of a power of two of bins, its entry 0 unused; `n` is how many
    values there were before. Ties of a value are broken by its entry in `breaks`, a number in (0, 1).
    """
    n_bins = len(tree) - 1
    for t in range(len(values)):
        place = n_bins / 2 + PER_OCTAVE * log2(max(values[t] / scale, LEAST))
        b = int(min(max(place, 0), n_bins - 1))
        below = _count_up_to(tree, b)
        here = 1 + _count_up_to(tree, b + 1) - below
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

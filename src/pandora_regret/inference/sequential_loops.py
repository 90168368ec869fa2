"""The loops of sequential inference, compiled by numba: one increment after the other, states changed in place.

Increments come as `x` with bounds `low` <= x <= `high` that were known before x was. Nothing is reassociated along
the stream, so that it gives the same digits however it is cut into calls.
"""

from __future__ import annotations

from math import log2
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
LARGEST = 1e250  # wealth beyond it is cut, which only takes evidence away
SMALLEST = 1e-250  # wealth below it is gone
BINS_PER_OCTAVE = 4
NEVER = -1
ALARM, ALARM_SIDE, CHANGE, CHANGE_SIDE, CHANGE_BEGAN = range(5)  # entries of `events`
COUNT, TOTAL, TOTAL_LOW, TOTAL_HIGH = range(4)  # entries of `sums`


@njit(**STRICT)
def bet(x, low, high, first, bets, wealth, sums, runs, began, evidence, events, alarm_at, change_at, history):
    """Bet on increments whose mean is 0 unless something is wrong; `first` is the number of the first of them.

    `wealth`, `sums`, `runs` and `began` are (lanes, 2, J): the capital of each constant bet on a mean above and
    below 0, the Shiryaev-Roberts sum and the CUSUM of the same bets, and where the CUSUM's present run began.
    `evidence` is (lanes,), the mixture's wealth; `history` gets its largest, shared out among lanes, after each x.
    """
    lanes, n_bets = wealth.shape[0], wealth.shape[2]
    for t in range(len(x)):
        lane = (first + t) % lanes
        above = _bet_on_one_side(x[t], -low[t], first + t, bets, lane, 0, wealth, sums, runs, began)
        below = _bet_on_one_side(-x[t], high[t], first + t, bets, lane, 1, wealth, sums, runs, began)
        evidence[lane] = (above[0] + below[0]) / (2 * n_bets)
        history[t] = evidence.max() / lanes
        if events[ALARM] == NEVER and evidence[lane] >= alarm_at:
            events[ALARM], events[ALARM_SIDE] = first + t, int(below[0] > above[0])
        if events[CHANGE] == NEVER and (above[1] + below[1]) / (2 * n_bets) >= change_at:
            side = int(below[1] > above[1])
            events[CHANGE], events[CHANGE_SIDE] = first + t, side
            events[CHANGE_BEGAN] = began[lane, side, np.argmax(runs[lane, side])]


@njit(**VECTOR)
def _bet_on_one_side(gain, room, number, bets, lane, side, wealth, sums, runs, began):
    """Play one increment with every bet that it leaves affordable; total wealth, and total of the restarted."""
    wealth, sums, runs, began = wealth[lane, side], sums[lane, side], runs[lane, side], began[lane, side]
    most = BOLDEST / room if room > 0 else np.inf
    capital, restarted = 0.0, 0.0
    for j in range(len(bets)):
        factor = 1 + (bets[j] if bets[j] < most else most) * gain
        wealth[j] = _kept(wealth[j] * factor)
        sums[j] = _kept((sums[j] + 1) * factor)
        began[j] = number if runs[j] <= 1 else began[j]
        runs[j] = _kept((1.0 if runs[j] <= 1 else runs[j]) * factor)
        capital += wealth[j]
        restarted += sums[j]
    return capital, restarted


@njit(**STRICT)
def _kept(wealth):
    cut = LARGEST if wealth > LARGEST else wealth
    return cut if cut > SMALLEST else 0.0


@njit(**STRICT)
def gather(x, low, high, first, scale, squares, widest, sums):
    """Add increments to what a confidence sequence of their mean needs.

    `squares` is (lanes, 2, bins): the squared distances from the mean so far, by how far below (above) it the
    increment might have been; bin b holds those of at most ``scale 2^(-b / BINS_PER_OCTAVE)``. `widest` is
    (lanes, 2), the lowest bin in use, and `sums` is (lanes, 4): count and totals of x, low and high.
    """
    lanes, n_bins = len(sums), squares.shape[2]
    for t in range(len(x)):
        lane = (first + t) % lanes
        centre = sums[lane, TOTAL] / (sums[lane, COUNT] + 1)
        centre = min(max(centre, low[t]), high[t])
        for side in range(2):
            room = centre - low[t] if side == 0 else high[t] - centre
            share = room / scale
            b = n_bins - 1
            if share > 0:
                b = min(max(int(-BINS_PER_OCTAVE * log2(share)), 0), b)
            squares[lane, side, b] += (x[t] - centre) ** 2
            widest[lane, side] = min(widest[lane, side], b)
        sums[lane, COUNT] += 1
        sums[lane, TOTAL] += x[t]
        sums[lane, TOTAL_LOW] += low[t]
        sums[lane, TOTAL_HIGH] += high[t]


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

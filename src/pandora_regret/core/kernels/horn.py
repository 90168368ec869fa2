"""The search whose tests share steps, and may be given up: Horn's blocks, written for lists and for numba."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np

ListOrArray: TypeAlias = Any  # a list, with which Python is faster, or an array, which numba takes

POSSIBLE_LEAD = 1e200  # so much likelier is what is possible than what is not
LEAST_POSSIBLE = 1e10  # less than this is the mass of what is not
BLOCK_TIE = 1 + 1e-13  # blocks of steps that rounding cannot tell apart are equally good
WAITING = -1  # a block that has joined another has the number of that one instead
EMITTED = -2
CLEARLY_LESS = 1 - 1e-13  # what costs less than this times the best so far is better by more than rounding


def forest_costs(
    masses: ListOrArray,
    parents: ListOrArray,
    costs: ListOrArray,
    loss: float,
    finished: ListOrArray,
    scratch: ListOrArray,
) -> None:
    """What has been spent when each step of one forecast is done or given up, into `finished`, (M + 1,).

    Masses of steps, and last the mass that nothing finds. Of the forests, (orders, M), the cheapest counts: with R
    the mass that is still open before a step, ``V_s = min(R_s loss, cost_s R_s + V_{s+1})``, from the last step to
    the first; where giving up is as cheap as going on, all that follows is given up. Of forests that cost the
    same, that one counts in which the steps that are held to be impossible, which come last, cost least.
    """
    least = np.inf
    least_of_impossible = np.inf
    for number in range(len(parents)):
        order = _order(masses, parents[number], costs, scratch)
        still_open = masses[len(costs)]
        n_made = len(order)
        value = still_open * loss
        value_of_impossible = value if still_open < LEAST_POSSIBLE else 0.0
        for place in range(len(order) - 1, -1, -1):
            still_open += masses[order[place]]
            going_on = costs[order[place]] * still_open + value
            value = still_open * loss
            if going_on < value * CLEARLY_LESS:
                value = going_on
            else:
                n_made = place
            if still_open < LEAST_POSSIBLE:
                value_of_impossible = value
        is_less = value < least * CLEARLY_LESS
        is_level = value * CLEARLY_LESS <= least
        if is_less or (is_level and value_of_impossible < least_of_impossible * CLEARLY_LESS):
            least = value
            least_of_impossible = value_of_impossible
            _fill_finished(order, n_made, costs, loss, finished)


def _fill_finished(
    order: ListOrArray, n_made: int, costs: ListOrArray, loss: float, finished: ListOrArray
) -> None:
    """What has been spent when each step is done, or when those after the first `n_made` are given up."""
    spent = 0.0
    finished[:] = -1.0
    for step in order[:n_made]:
        spent += costs[step]
        finished[step] = spent
    for step in range(len(finished)):
        if finished[step] < 0:
            finished[step] = spent + loss


def _order(masses: ListOrArray, parents: ListOrArray, costs: ListOrArray, scratch: ListOrArray) -> ListOrArray:
    """Horn's algorithm (1972): steps in blocks that stick together.

    The block with the most probability per cost comes first: if the step it needs has not been made, it joins the
    block of that step, for nothing better can stand between the two; otherwise it is next. A block has the number
    of its first step.
    """
    n = len(costs)
    size = 0
    order, following, last, joined, mass, cost = scratch
    for step in range(n):
        following[step] = -1
        last[step] = step
        joined[step] = WAITING
        mass[step] = masses[step]
        cost[step] = costs[step]
    for _ in range(n):
        best = -1
        for step in range(n):
            if joined[step] != WAITING:
                continue
            if best < 0 or mass[step] * cost[best] > mass[best] * cost[step] * BLOCK_TIE:
                best = step
        into = parents[best]
        while into >= 0 and joined[into] >= 0:
            into = joined[into]
        if into >= 0 and joined[into] == WAITING:
            joined[best] = into
            following[last[into]] = best
            last[into] = last[best]
            mass[into] += mass[best]
            cost[into] += cost[best]
            continue
        joined[best] = EMITTED
        while best >= 0:
            order[size] = best
            size += 1
            best = following[best]
    return order


def _rows(
    masses: ListOrArray, parents: ListOrArray, costs: ListOrArray, loss: float, finished: ListOrArray
) -> None:
    """Fill `finished`, (N, K), with the `forest_costs` of each row of `masses`."""
    n = len(costs)
    numbers = (np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.intp))
    scratch = (*numbers, np.empty(n), np.empty(n))
    for row in range(len(masses)):
        forest_costs(masses[row], parents, costs, loss, finished[row], scratch)


@cache
def compiled_forest() -> Callable[..., None]:
    """`forest_costs` of many forecasts, compiled."""
    from numba.extending import register_jitable

    from pandora_regret.core.kernels.numba_cache import FAST, njit

    for part in (_order, _fill_finished, forest_costs):
        register_jitable(part)
    return njit(**FAST)(_rows)

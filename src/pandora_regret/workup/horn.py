"""Definitive tests that share steps, and one loss of giving up: Horn's blocks, written for lists and for numba."""

from functools import cache
from typing import Any

import numpy as np

from pandora_regret.workup.graph import BETTER

FIRST = 1e200  # so much likelier is what is possible than what is not
POSSIBLE = 1e10  # less than this is the mass of what is not
TIE = 1 + 1e-13  # blocks of steps that rounding cannot tell apart are equally good
WAITING, EMITTED = -1, -2  # a block that has joined another has the number of that one instead


def forest_costs(masses: Any, parents: Any, costs: Any, loss: float, finished: Any, scratch: Any) -> None:
    """What has been spent when each step of one forecast is done or given up, into `finished`, (M + 1,).

    Masses of steps, and last the mass that nothing finds. Of the forests, (orders, M), the cheapest counts.
    """
    least, least_rest = np.inf, np.inf
    for order in range(len(parents)):
        n_blocks = _blocks(masses, parents[order], costs, scratch)
        value, rest, made = _prefix(masses[len(costs)], loss, n_blocks, scratch)
        if value < least * BETTER or (value * BETTER <= least and rest < least_rest * BETTER):
            least, least_rest = value, rest
            _write(costs, loss, made, scratch, finished)


def _blocks(masses: Any, parents: Any, costs: Any, scratch: Any) -> int:
    """Horn's algorithm (1972): blocks of steps that stick together, in the order of `heads`; how many there are.

    The block with the most probability per cost comes first: if the step it needs has not been made, it joins the
    block of that step, for nothing better can stand between the two; otherwise it is next. A block has the number
    of its first step; `inner` sums what is spent in it up to each step, times the probability of ending there.
    """
    heads, following, last, joined, mass, cost, inner = scratch
    for step in range(len(costs)):
        following[step], last[step], joined[step] = -1, step, WAITING
        mass[step], cost[step], inner[step] = masses[step], costs[step], masses[step] * costs[step]
    n_blocks = 0
    for _ in range(len(costs)):
        best = -1
        for step in range(len(costs)):
            if joined[step] == WAITING and (best < 0 or mass[step] * cost[best] > mass[best] * cost[step] * TIE):
                best = step
        into = parents[best]
        while into >= 0 and joined[into] >= 0:
            into = joined[into]
        if into < 0 or joined[into] == EMITTED:
            joined[best], heads[n_blocks] = EMITTED, best
            n_blocks += 1
            continue
        joined[best], following[last[into]], last[into] = into, best, last[best]
        inner[into] += inner[best] + cost[into] * mass[best]
        mass[into] += mass[best]
        cost[into] += cost[best]
    return n_blocks


def _prefix(nowhere: float, loss: float, n_blocks: int, scratch: Any) -> Any:
    """What the best prefix of whole blocks costs with giving up; of that the impossible part; how many blocks.

    With R the mass that is still open, ``V_b = min(R_b loss, inner_b + cost_b R_{b+1} + V_{b+1})``.
    """
    heads, _, _, _, mass, cost, inner = scratch
    left, value, made = nowhere, nowhere * loss, n_blocks
    rest = value if left < POSSIBLE else 0.0
    for block in range(n_blocks - 1, -1, -1):
        head = heads[block]
        go_on = inner[head] + cost[head] * left + value
        left += mass[head]
        value = left * loss
        if go_on < value * BETTER:
            value = go_on
        else:
            made = block
        if left < POSSIBLE:
            rest = value
    return value, rest, made


def _write(costs: Any, loss: float, made: int, scratch: Any, finished: Any) -> None:
    """What the first blocks and then giving up have spent at each step."""
    heads, following, spent = scratch[0], scratch[1], 0.0
    for step in range(len(costs)):
        finished[step] = -1.0
    for block in range(made):
        step = heads[block]
        while step >= 0:
            spent += costs[step]
            finished[step] = spent
            step = following[step]
    finished[len(costs)] = spent + loss
    for step in range(len(costs)):
        if finished[step] < 0:
            finished[step] = spent + loss


def _rows(masses: Any, parents: Any, costs: Any, loss: float, finished: Any) -> None:
    n = len(costs)
    numbers = (np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n, np.intp))
    scratch = (*numbers, np.empty(n), np.empty(n), np.empty(n))
    for row in range(len(masses)):
        forest_costs(masses[row], parents, costs, loss, finished[row], scratch)


@cache
def compiled_forest() -> Any:
    """`forest_costs` of many forecasts, compiled."""
    from numba.extending import register_jitable

    from pandora_regret.kernels.jit import FAST, njit

    for part in (_blocks, _prefix, _write, forest_costs):
        register_jitable(part)
    return njit(**FAST)(_rows)

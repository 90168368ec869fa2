"""One test that answers for several classes: in which order to test groups, and what the search costs.

A test of a group tells whether the truth is one of its classes, and if so which. The greedy order tests next the
group with the most probability per cost among its classes that are still open. It is optimal where groups do not
overlap, and an approximation where they do: at most four times the optimum, in expectation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.inputs.tables import row_slices
from pandora_regret.inputs.tests import Groups, Method, read_groups
from pandora_regret.kernels.reference import probabilities, relative_tie, unit_near

PLAN_SHARE = 16  # plans are made for this many times as many numbers at once as other temporaries hold

Choice: TypeAlias = Callable[[NDArray[np.bool_]], IntArray]  # of groups made so far, (n, G): the next one, (n,)


def grouped_orders(forecast: Forecast, costs: Any, groups: Any, method: Method) -> Iterator[IntArray]:
    """The order in which to test groups of classes, some rows at a time: group numbers, best first."""
    checked = read_groups(groups, costs, forecast, method)
    return (_orders(block, checked, method) for block in forecast.blocks())


def grouped_costs(
    forecast: Forecast, costs: Any, groups: Any, method: Method
) -> Iterator[tuple[Forecast, FloatArray]]:
    """What each row's search costs, some rows at a time; it ends with the first group that holds the truth."""
    checked = read_groups(groups, costs, forecast, method)
    return ((block, _realised(block, checked, method)) for block in forecast.blocks())


def _realised(block: Forecast, groups: Groups, method: Method) -> FloatArray:
    """The cost of all groups up to the first that holds the truth."""
    order = _orders(block, groups, method)
    last = np.argmax(groups.members[order, block.truth[:, None]], axis=1)
    spent = np.cumsum(groups.costs[order], axis=1)
    return np.asarray(spent[np.arange(len(block)), last])


def _orders(block: Forecast, groups: Groups, method: Method) -> IntArray:
    p, tie = probabilities(block), relative_tie(block)
    if method == "greedy":
        return _follow(lambda made: _greedy(p, groups, made, tie), len(p), len(groups))
    parts = [p[rows] for rows in row_slices(len(p), 2 ** len(groups) // PLAN_SHARE + 1)]
    return np.concatenate([_exact_orders(part, groups, tie) for part in parts])


def _follow(choose: Choice, n_rows: int, n_groups: int) -> IntArray:
    """Every group once, each chosen in the light of those before it."""
    made, order = np.zeros((n_rows, n_groups), dtype=bool), np.empty((n_rows, n_groups), dtype=np.intp)
    for step in range(n_groups):
        order[:, step] = choose(made)
        made[np.arange(n_rows), order[:, step]] = True
    return order


def _greedy(p: FloatArray, groups: Groups, made: NDArray[np.bool_], tie: float) -> IntArray:
    """The group of most open probability per cost; among impossible ones the cheapest; ties by number."""
    still_open = ~(made @ groups.members)
    mass = (p * still_open) @ groups.members.T
    useful = ~made & (still_open @ groups.members.T)
    options = np.where(useful.any(axis=1, keepdims=True), useful, ~made)
    price = groups.costs / unit_near(groups.costs.max())
    merit = np.where(options, np.where(mass > 0, mass / price, -price), -np.inf)
    best = merit.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(merit >= best - tie * np.abs(best), axis=1))


def _exact_orders(p: FloatArray, groups: Groups, tie: float) -> IntArray:
    """By the plan while any probability is left to find; then as the greedy search goes on."""
    sets = _subsets(len(groups))
    left = ~(sets @ groups.members) @ p.T  # (2^G, n): probability still open after each set of groups
    plan, rows = _plan(left, groups.costs), np.arange(len(p))

    def choose(made: NDArray[np.bool_]) -> IntArray:
        number = made @ (1 << np.arange(len(groups)))
        greedy = _greedy(p, groups, made, tie)
        return np.asarray(np.where(left[number, rows] > 0, plan[number, rows], greedy), dtype=np.intp)

    return _follow(choose, len(p), len(groups))


def _plan(left: FloatArray, costs: FloatArray) -> NDArray[np.int8]:
    """The best next group after every set of groups, (2^G, n), from the full set down (dynamic programming).

    A group is paid for by all who are still open when its turn comes.
    """
    cost_to_go, plan = np.zeros_like(left), np.zeros(left.shape, dtype=np.int8)
    for made in reversed(range(len(left) - 1)):
        groups = np.array([g for g in range(len(costs)) if not made >> g & 1])
        options = costs[groups, None] * left[made] + cost_to_go[made | 1 << groups]
        plan[made] = groups[options.argmin(axis=0)]
        cost_to_go[made] = options.min(axis=0)
    return plan


def _subsets(n: int) -> NDArray[np.bool_]:
    """All subsets of n things, (2^n, n), numbered by their bits."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)

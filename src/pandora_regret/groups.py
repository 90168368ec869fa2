"""One test that answers for several classes: in which order to test groups, and what the search costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pandora_regret.inputs import FloatArray, Forecast, IntArray, Labels, Table, read_forecast, read_probabilities
from pandora_regret.inputs.tables import row_slices
from pandora_regret.inputs.tests import Groups, Method, read_groups
from pandora_regret.kernels.reference import probabilities, unit_near
from pandora_regret.scores import mean_or_rows

PLAN_SHARE = 16  # plans are made for this many times as many numbers at once as other temporaries hold

Choice: TypeAlias = Callable[[NDArray[np.bool_]], IntArray]  # of groups made so far, (n, G): the next one, (n,)


def grouped_search_order(
    y_proba: Table,
    group_costs: Any,
    groups: Any,
    *,
    method: Method = "greedy",
    labels: ArrayLike | None = None,
    logits: bool = False,
) -> IntArray:
    """The order in which to test groups of classes: group numbers, best first.

    A test of a group tells whether the truth is one of its classes, and if so which. "greedy" always tests next
    the group with the most probability per cost among its classes that are still open; groups without open
    classes come last. Parameters as in `grouped_search_cost`; `y_proba` may be a single forecast, (K,).

    Examples
    --------
    >>> grouped_search_order([0.4, 0.3, 0.3], [10.0, 15.0, 10.0], [[0], [1, 2], [2]])
    array([0, 1, 2])
    """
    single = np.ndim(y_proba) == 1
    forecast = read_probabilities(np.asarray(y_proba)[None] if single else y_proba, labels=labels, logits=logits)
    checked = read_groups(groups, group_costs, forecast, method)
    orders = np.concatenate([_orders(block, checked, method) for block in forecast.blocks()])
    return orders[0] if single else orders


def grouped_search_cost(
    y_true: Labels,
    y_proba: Table,
    group_costs: Any,
    groups: Any,
    *,
    method: Method = "greedy",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    per_instance: bool = False,
) -> float | FloatArray:
    """What a search costs whose tests each answer for a group of classes, as one biopsy does.

    A group is paid for once and settles all its classes; the search ends with the first group that holds the
    truth. With groups of one class each this is `search_cost`.

    Parameters
    ----------
    group_costs
        Costs of the groups' tests, shape (G,), or named by group.
    groups
        The labels of each group's classes: a list of lists, or a mapping from names of groups. Groups may overlap;
        together they must hold every class.
    method
        "greedy": by falling probability per cost of the classes still open. Optimal if groups do not overlap, an
        approximation otherwise, whose expected cost is at most four times the optimum. "exact": the order of
        least expected cost, from all subsets of at most 10 groups.

    Other parameters as in `pandora_regret`.

    Examples
    --------
    >>> biopsy_or_blood = {"biopsy": ["melanoma", "nevus"], "blood": ["infection"]}
    >>> grouped_search_cost(
    ...     ["nevus", "infection"],
    ...     [[0.3, 0.3, 0.4], [0.3, 0.3, 0.4]],
    ...     {"biopsy": 200.0, "blood": 150.0},
    ...     biopsy_or_blood,
    ...     labels=["melanoma", "nevus", "infection"],
    ...     per_instance=True,
    ... )
    array([200., 350.])
    """
    forecast = read_forecast(y_true, y_proba, labels=labels, sample_weight=sample_weight, logits=logits)
    checked = read_groups(groups, group_costs, forecast, method)
    rows = ((block, _realised(block, checked, method)) for block in forecast.blocks())
    return mean_or_rows(rows, per_instance)


def _realised(block: Forecast, groups: Groups, method: Method) -> FloatArray:
    """The cost of all groups up to the first that holds the truth."""
    order = _orders(block, groups, method)
    last = np.argmax(groups.members[order, block.truth[:, None]], axis=1)
    spent = np.cumsum(groups.costs[order], axis=1)
    return np.asarray(spent[np.arange(len(block)), last])


def _orders(block: Forecast, groups: Groups, method: Method) -> IntArray:
    p = probabilities(block)
    if method == "greedy":
        return _follow(lambda made: _greedy(p, groups, made), len(p), len(groups))
    parts = [p[rows] for rows in row_slices(len(p), 2 ** len(groups) // PLAN_SHARE + 1)]
    return np.concatenate([_exact_orders(part, groups) for part in parts])


def _follow(choose: Choice, n_rows: int, n_groups: int) -> IntArray:
    """Every group once, each chosen in the light of those before it."""
    made, order = np.zeros((n_rows, n_groups), dtype=bool), np.empty((n_rows, n_groups), dtype=np.intp)
    for step in range(n_groups):
        order[:, step] = choose(made)
        made[np.arange(n_rows), order[:, step]] = True
    return order


def _greedy(p: FloatArray, groups: Groups, made: NDArray[np.bool_]) -> IntArray:
    """The group of most open probability per cost; among impossible ones the cheapest, then by number."""
    still_open = ~(made @ groups.members)
    mass = (p * still_open) @ groups.members.T
    useless = ~(still_open @ groups.members.T)
    dear, merit = np.where(mass > 0, 0.0, groups.costs), mass / (groups.costs / unit_near(groups.costs.max()))
    return np.asarray(np.lexsort((dear, -merit, useless, made), axis=1)[:, 0])


def _exact_orders(p: FloatArray, groups: Groups) -> IntArray:
    """By the plan while any probability is left to find; then as the greedy search goes on."""
    sets = _subsets(len(groups))
    left = ~(sets @ groups.members) @ p.T  # (2^G, n): probability still open after each set of groups
    plan, rows = _plan(left, groups.costs), np.arange(len(p))

    def choose(made: NDArray[np.bool_]) -> IntArray:
        at = made @ (1 << np.arange(len(groups)))
        return np.asarray(np.where(left[at, rows] > 0, plan[at, rows], _greedy(p, groups, made)), dtype=np.intp)

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

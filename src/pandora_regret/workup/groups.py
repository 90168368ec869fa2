"""One test that answers for several classes, as `search_cost` and `search_order` take them: a small work-up.

A test of a group tells whether the truth is one of its classes, and if so which. Next comes, by the greedy rule,
the group with the most probability per cost among its classes that are still open. It is optimal where groups do
not overlap; where they do it costs at most four times the optimum, and is advice, not a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_choice
from pandora_regret.inputs.tables import row_slices
from pandora_regret.inputs.tests import Groups, read_groups
from pandora_regret.kernels.reference import probabilities, relative_tie, unit_near
from pandora_regret.workup import reference
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import GraphPolicy
from pandora_regret.workup.policies import Pairs

Method: TypeAlias = Literal["exact", "greedy"]
METHODS = {"exact": "the order of least expected cost", "greedy": "by probability per cost, advice only"}

Choice: TypeAlias = Callable[[NDArray[np.bool_]], IntArray]  # of groups made so far, (n, G): the next one, (n,)


def grouped_costs(
    forecast: Forecast, costs: Any, groups: Any, method: Method
) -> Iterator[tuple[Forecast, FloatArray]]:
    """What each row's best search costs, some rows at a time; it ends with a group that holds the truth."""
    if read_choice(method, "method", METHODS) == "greedy":
        fix = "use method='exact', or search_order(..., method='greedy') for advice"
        raise InputError("is 'greedy', which is not a proper score", argument="method", value=method, fix=fix)
    checked = read_groups(groups, costs, forecast)
    policy = _as_workup(checked).policy
    for block in forecast.blocks():
        yield block, policy.paid(probabilities(block), Pairs.of_labels(block.truth), checked.costs)


def grouped_orders(forecast: Forecast, costs: Any, groups: Any, method: Method) -> Iterator[IntArray]:
    """The order in which to test groups of classes, some rows at a time: group numbers, best first."""
    read_choice(method, "method", METHODS)
    checked = read_groups(groups, costs, forecast)
    policy = _as_workup(checked).policy
    for block in forecast.blocks():
        p, tie = probabilities(block), relative_tie(block)
        if method == "greedy" or not isinstance(policy, GraphPolicy):
            yield _follow(lambda made, p=p, tie=tie: _greedy(p, checked, made, tie), len(p), len(checked))  # type: ignore[misc]
            continue
        for rows in row_slices(len(p), len(policy.graph)):
            yield _best_orders(p[rows], checked, policy, tie)


def _as_workup(groups: Groups) -> Workup:
    """Groups and classes under their numbers."""
    steps = {
        str(number): {"cost": cost, "tells_apart": [str(k) for k in np.flatnonzero(members)]}
        for number, (cost, members) in enumerate(zip(groups.costs.tolist(), groups.members, strict=True))
    }
    return Workup([str(k) for k in range(groups.members.shape[1])], steps)


def _best_orders(p: FloatArray, groups: Groups, policy: GraphPolicy, tie: float) -> IntArray:
    """What the best policy does as long as nothing is found; then as the greedy search goes on."""
    graph, rows = policy.graph, np.arange(len(p))
    choice = reference.sweep(graph, p, graph.edge_costs(groups.costs))[1]
    state = np.zeros(len(p), dtype=np.intp)

    def choose(made: NDArray[np.bool_]) -> IntArray:
        greedy, inside = _greedy(p, groups, made, tie), np.minimum(state, len(graph) - 1)
        option = choice[inside, rows]
        planned = (state < len(graph)) & (option >= 0)
        edge = np.where(planned, graph.edges[inside] + option, 0)
        state[:] = np.where(planned, graph.children[edge, 0], len(graph))
        return np.asarray(np.where(planned, graph.actions[edge], greedy), dtype=np.intp)

    return _follow(choose, len(p), len(groups))


def _follow(choose: Choice, n_rows: int, n_groups: int) -> IntArray:
    """Every group once, each chosen in the light of those before it."""
    made, order = np.zeros((n_rows, n_groups), dtype=bool), np.empty((n_rows, n_groups), dtype=np.intp)
    for step in range(n_groups):
        order[:, step] = choose(made)
        made[np.arange(n_rows), order[:, step]] = True
    return order


def _greedy(p: FloatArray, groups: Groups, made: NDArray[np.bool_], tie: float) -> IntArray:
    """The group of most open probability per cost; of impossible ones the most open classes; ties by number."""
    still_open = ~(made @ groups.members)
    mass, count = (p * still_open) @ groups.members.T, still_open.astype(int) @ groups.members.T
    useful = ~made & (count > 0)
    options = np.where(useful.any(axis=1, keepdims=True), useful, ~made)
    price = groups.costs / unit_near(groups.costs.max())
    merit = np.where(options, np.where(mass > 0, mass / price, -price / np.maximum(count, 1)), -np.inf)
    best = merit.max(axis=1, keepdims=True)
    return np.asarray(np.argmax(merit >= best - tie * np.abs(best), axis=1))

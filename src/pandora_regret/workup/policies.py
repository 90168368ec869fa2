"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method.

One convention for truths that a forecast holds to be impossible, in all of them: once nothing else is left, the
forecast acts as if the classes still possible were equally likely.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray, row_slices
from pandora_regret.core.kernels import engine
from pandora_regret.core.kernels.horn import FIRST, compiled_forest, forest_costs
from pandora_regret.core.kernels.reference import BROKEN_BY_INDEX, search_order
from pandora_regret.core.priors import Prior
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import compile_graph, sweep

NO_WAY_OUT = 1e80  # the loss of giving up where that is impossible
FREE = 1e-100  # what a step costs that costs nothing, or has been made


@lru_cache(4)
def exact_policy(workup: Workup) -> Policy:
    """The fastest exact method that applies, ready to be used."""
    kinds: dict[str, Any] = {"forest": Forest, "graph": GraphPolicy}
    return kinds.get(workup.method, Nested)(workup)  # type: ignore[no-any-return]


class Policy:
    """The best policy of every forecast, for one work-up."""

    work_per_row = 0  # about how many times a number is read for each row, where loops of this package do that

    def __init__(self, workup: Workup) -> None:
        self.workup, self.loops_are_ready = workup, False

    def worth_loops(self, n_rows: int) -> bool:
        """Whether so many rows are worth compiled loops, or these are ready since an earlier call."""
        self.loops_are_ready |= engine.worth_compiling(n_rows * self.work_per_row)
        return self.loops_are_ready

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What the policy of each row of p, (n, K), costs under each of its truths, (n, T), if steps cost (M,)."""
        raise NotImplementedError


class Nested(Policy):
    """A search on every level of a hierarchy: closed form for every prior, by the chain rule.

    What follows when a test has answered does not depend on the order of its siblings, so every level is the
    paper's search over the masses of its tests.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.work_per_row = len(workup.classes)
        self.levels: Any = [  # of siblings their steps, (C,), and which classes lie below each, (C, K)
            (
                np.array(list(level)),
                np.array([[k in some for k in range(self.work_per_row)] for some in level.values()]),
            )
            for level in workup.structure.levels
        ]

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray, prior: Prior | None = None) -> FloatArray:
        """The costs of tests up to the one that answers, on all levels; or their mean over a prior of costs."""
        paid, alike = np.zeros(truths.size), engine.WORTH_COMPILING if self.worth_loops(truths.size) else 1
        for steps, members in self.levels:
            counts, below = members.sum(axis=1), np.flatnonzero(members.any(axis=0)[truths])
            rows, truth = below // truths.shape[1], members.argmax(axis=0)[truths.ravel()[below]]
            if not len(truth):
                continue
            if counts.max() == 1:
                masses = p.take(rows, axis=0)[:, members.argmax(axis=1)]
            else:  # tests of nothing but impossible classes come last, as if these were alike
                masses = (p @ members.T.astype(np.float64)).take(rows, axis=0)
                impossible = masses[np.arange(len(truth)), truth] == 0
                masses[impossible] = np.where(masses[impossible] > 0, FIRST * masses[impossible], counts)
            level = as_forecast(masses, truth, costs[steps])
            if prior is None:
                of_rows = engine.realised_costs(level, BROKEN_BY_INDEX, alike)
            else:
                of_rows = engine.search_costs(level, prior, steps)
            paid[below] += np.concatenate([values for _, values in of_rows])
        return paid.reshape(truths.shape)

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """Of one forecast, (K,), after some steps: every level's search, one after the other."""
        nobody, orders = np.empty(0, np.intp), list[int]()
        for steps, members in self.levels:
            level = as_forecast(p[None] @ members.T, nobody, costs[steps])
            orders += steps[search_order(level)[0] if len(steps) > 1 else [0]].tolist()
        return orders


def as_forecast(masses: FloatArray, truth: IntArray, costs: FloatArray) -> Forecast:
    """Masses that need not sum to 1 as a forecast: a search looks at their ratios only."""
    n_rows, n_columns = masses.shape
    return Forecast(masses, False, range(n_columns), truth, range(n_rows), np.inf, costs=costs, checked=True)


class Forest(Policy):
    """Definitive tests, steps that they share, and perhaps one constant loss of giving up: Horn's blocks.

    Where a step needs two others that do not need each other, there is a forest for each order of these. The best
    policy makes whole blocks of one forest and then gives up.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.parents = np.array(workup.structure.parents, dtype=np.intp)  # (orders, M)
        settled = np.array([[k in step.settles for k in range(len(workup.classes))] for step in workup.steps])
        self.members = np.vstack([settled, ~settled.any(axis=0)]).astype(np.float64)  # last: those nothing finds
        self.loss = min((stop.losses[0] for stop in workup.stops), default=NO_WAY_OUT)
        self.work_per_row = 4 * self.parents.size * len(settled)  # every step with every other, in Python

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done, or on giving up."""
        return np.take_along_axis(self.finished(p, costs), self.members.argmax(axis=0)[truths], axis=1)

    def finished(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What has been spent when each step is done, and in the last column on giving up, (n, M + 1).

        What is possible is so much likelier than what is not that it alone decides as long as any of it is left.
        """
        masses = p @ self.members.T
        masses = np.where(masses > 0, FIRST * masses, self.members.sum(axis=1))
        prices, finished = np.maximum(costs, FREE), np.empty_like(masses)
        if self.worth_loops(len(p)):
            loop, work = compiled_forest(), masses.size * self.parents.size
            about = (self.parents, prices, self.loss)
            engine.in_threads(lambda some: loop(masses[some], *about, finished[some]), len(p), work)
        else:
            plain, scratch = (
                (self.parents.tolist(), prices.tolist(), self.loss),
                [[0] * len(costs) for _ in range(6)],
            )
            for row, spent in zip(masses.tolist(), finished, strict=True):
                forest_costs(row, *plain, spent, scratch)
        return finished

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """As steps are done; without those that are not worth it."""
        *finished, given_up = self.finished(p[None], costs)[0].tolist()
        return sorted((s for s, spent in enumerate(finished) if spent < given_up), key=finished.__getitem__)


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.graph = compile_graph(workup)
        self.work_per_row = max(1, len(self.graph.actions) // 4)  # every edge, by NumPy many rows at a time

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        arrays, edge_costs, paid = self.graph.arrays, self.graph.edge_costs(costs), np.empty(truths.shape)
        if self.worth_loops(len(p)):
            from pandora_regret.workup.loops import graph_costs

            table, asked = np.ascontiguousarray(p), np.ascontiguousarray(truths)
            engine.in_threads(
                lambda some: graph_costs(table[some], asked[some], arrays, edge_costs, paid[some]),
                len(p),
                len(p) * len(edge_costs),
            )
        else:
            for some in row_slices(len(p), len(arrays.likelihood)):
                paid[some] = sweep(p[some], truths[some], arrays, edge_costs)[2][-2]
        return paid

"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method.

One convention for truths that a forecast holds to be impossible, in all of them: once nothing else is left, the
forecast acts as if the classes still possible were equally likely.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray, row_slices
from pandora_regret.core.kernels import engine
from pandora_regret.core.kernels.horn import POSSIBLE_LEAD, compiled_forest, forest_costs
from pandora_regret.core.kernels.reference import BROKEN_BY_INDEX, search_order
from pandora_regret.core.priors import Prior
from pandora_regret.workup.data import FREE
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import compile_graph, sweep

NO_WAY_OUT = 1e80  # the loss of giving up where that is impossible


class Policy:
    """The best policy of every forecast, for one work-up."""

    work_per_row = 0  # about how many times a number is read for each row, where loops of this package do that

    def __init__(self, workup: Workup) -> None:
        self.workup = workup
        self.loops_are_ready = False

    def worth_loops(self, n_rows: int) -> bool:
        """Whether so many rows are worth compiled loops, or these are ready since an earlier call."""
        if engine.worth_compiling(n_rows * self.work_per_row):
            self.loops_are_ready = True
        return self.loops_are_ready

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What the policy of each row of p, (n, K), costs under each of its truths, (n, T), if steps cost (M,)."""
        raise NotImplementedError


class SearchLevel(NamedTuple):
    """The siblings of one level of a hierarchy: C tests, one after the other until one answers."""

    steps: IntArray  # (C,) their numbers
    members: NDArray[np.bool_]  # (C, K) which classes each answers for


class HierarchySearch(Policy):
    """A search on every level of a hierarchy: closed form for every prior, by the chain rule.

    What follows when a test has answered does not depend on the order of its siblings, so every level is the
    paper's search over the masses of its tests.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.work_per_row = len(workup.classes)
        self.levels = list[SearchLevel]()
        for level in workup.structure.levels:
            members = np.zeros((len(level), len(workup.classes)), bool)
            for sibling, classes in enumerate(level.values()):
                members[sibling, list(classes)] = True
            self.levels.append(SearchLevel(np.array(list(level)), members))

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray, prior: Prior | None = None) -> FloatArray:
        """The costs of tests up to the one that answers, on all levels; or their mean over a prior of costs."""
        paid = np.zeros(truths.size)
        alike = engine.WORTH_COMPILING if self.worth_loops(truths.size) else 1
        for level in self.levels:
            is_below = np.asarray(level.members.any(axis=0))  # (K,) the classes that this level is searched for
            below = np.flatnonzero(is_below[truths])
            if len(below) == 0:
                continue
            rows = below // truths.shape[1]
            answering = level.members.argmax(axis=0)[truths.ravel()[below]]
            masses = self._masses(level, p, rows, answering)
            forecast = replace(as_forecast(masses, answering, costs[level.steps]), alike=alike)
            if prior is None:
                costs_of_blocks = engine.realised_costs(forecast, BROKEN_BY_INDEX)
            else:
                costs_of_blocks = engine.search_costs(forecast, prior, level.steps)
            paid[below] += np.concatenate([values for _, values in costs_of_blocks])
        return paid.reshape(truths.shape)

    def _masses(self, level: SearchLevel, p: FloatArray, rows: IntArray, answering: IntArray) -> FloatArray:
        """What each sibling answers for, in some rows of p, (n, C); the one that will answer is known.

        Where that has no mass, tests of nothing but impossible classes come last, as if these were alike.
        """
        counts = level.members.sum(axis=1)
        if counts.max() == 1:
            return p.take(rows, axis=0)[:, level.members.argmax(axis=1)]
        masses = (p @ level.members.T.astype(np.float64)).take(rows, axis=0)
        impossible = masses[np.arange(len(answering)), answering] == 0
        masses[impossible] = np.where(masses[impossible] > 0, POSSIBLE_LEAD * masses[impossible], counts)
        return masses

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """The steps of one forecast, (K,), after those made: every level's search, one after the other."""
        no_truths = np.empty(0, np.intp)
        order = list[int]()
        for level in self.levels:
            if len(level.steps) == 1:
                order += level.steps.tolist()
                continue
            forecast = as_forecast(p[None] @ level.members.T, no_truths, costs[level.steps])
            order += level.steps[search_order(forecast)[0]].tolist()
        return order


def as_forecast(masses: FloatArray, truth: IntArray, costs: FloatArray) -> Forecast:
    """Masses that need not sum to 1, (n, C), as a forecast: a search looks at their ratios only."""
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
        settled = np.zeros((len(workup.steps), len(workup.classes)))
        for number, step in enumerate(workup.steps):
            settled[number, list(step.settles)] = 1.0
        found_by_nothing = ~settled.any(axis=0)
        self.members: FloatArray = np.vstack([settled, found_by_nothing])  # (M + 1, K) what each step settles
        self.loss = min((stop.losses[0] for stop in workup.stops), default=NO_WAY_OUT)
        self.work_per_row = 4 * self.parents.size * len(settled)  # every step with every other, in Python

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done, or on giving up."""
        settling = self.members.argmax(axis=0)
        return np.take_along_axis(self.finished(p, costs), settling[truths], axis=1)

    def finished(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What has been spent when each step is done, and in the last column on giving up, (n, M + 1).

        What is possible is so much likelier than what is not that it alone decides as long as any of it is left.
        """
        masses = p @ self.members.T
        masses = np.where(masses > 0, POSSIBLE_LEAD * masses, self.members.sum(axis=1))
        prices = np.maximum(costs, FREE)
        finished = np.empty(masses.shape)
        if self.worth_loops(len(p)):
            loop = compiled_forest()
            engine.in_threads(
                lambda rows: loop(masses[rows], self.parents, prices, self.loss, finished[rows]),
                len(p),
                masses.size * self.parents.size,
            )
            return finished
        parents = self.parents.tolist()
        plain_prices = prices.tolist()
        scratch = [[0] * len(costs) for _ in range(6)]
        for row, spent in zip(masses.tolist(), finished, strict=True):
            forest_costs(row, parents, plain_prices, self.loss, spent, scratch)
        return finished

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """The steps of one forecast, (K,), as they are done, without those that are not worth it."""
        *finished, given_up = self.finished(p[None], costs)[0].tolist()
        worth_it = [step for step, spent in enumerate(finished) if spent < given_up]
        return sorted(worth_it, key=finished.__getitem__)


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.graph = compile_graph(workup)
        self.work_per_row = max(1, len(self.graph.actions) // 4)  # every edge, by NumPy many rows at a time

    def paid(self, p: FloatArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        arrays = self.graph.arrays
        edge_costs = self.graph.edge_costs(costs)
        paid = np.empty(truths.shape)
        if not self.worth_loops(len(p)):
            for rows in row_slices(len(p), len(arrays.likelihood)):
                _, _, paid_from_states = sweep(p[rows], truths[rows], arrays, edge_costs)
                paid[rows] = paid_from_states[-2]  # from the start, which is the last state
            return paid
        from pandora_regret.workup.loops import graph_costs

        table = np.ascontiguousarray(p)
        wanted = np.ascontiguousarray(truths)
        engine.in_threads(
            lambda rows: graph_costs(table[rows], wanted[rows], arrays, edge_costs, paid[rows]),
            len(p),
            len(p) * len(edge_costs),
        )
        return paid


@lru_cache(4)
def exact_policy(workup: Workup) -> Policy:
    """The fastest exact method that applies, ready to be used."""
    match workup.method:
        case "search" | "hierarchy":
            return HierarchySearch(workup)
        case "forest":
            return Forest(workup)
        case "graph":
            return GraphPolicy(workup)

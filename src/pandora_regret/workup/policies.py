"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method.

One convention for truths that a forecast holds to be impossible, in all of them: once nothing else is left, the
forecast acts as if the classes still possible were equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.inputs.tables import row_slices
from pandora_regret.kernels import engine
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, search_order
from pandora_regret.priors import Prior
from pandora_regret.workup.description import Node, Workup
from pandora_regret.workup.graph import BETTER, compile_graph, graph_costs

FIRST = 1e200  # so much likelier is what is possible than what is not
TIE = 1 + 1e-13  # blocks of steps that rounding cannot tell apart are equally good


@lru_cache(4)
def exact_policy(workup: Workup) -> Policy:
    """The fastest exact method that applies, ready to be used."""
    return POLICIES[workup.method](workup)


class Policy:
    """The best policy of every forecast, for one work-up."""

    work_per_row = 0  # about how many times a number is read for each row, where loops of this package do that

    def __init__(self, workup: Workup) -> None:
        self.workup, self.loops_are_ready = workup, False

    def worth_loops(self, n_rows: int) -> bool:
        """Whether so many rows are worth compiled loops, or these are ready since an earlier call."""
        self.loops_are_ready |= engine.worth_compiling(n_rows * self.work_per_row)
        return self.loops_are_ready

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What the policies of these rows of p cost if these truths hold, (P,); steps cost so much, (M,).

        Rows may repeat, in rising order.
        """
        raise NotImplementedError

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What each row expects its own policy to cost, (n,)."""
        return expected(p, lambda rows, truths: self.paid(p, rows, truths, costs))

    def order(self, p: FloatArray, costs: FloatArray) -> Sequence[int]:
        """For one forecast, (K,), of which some steps may have been made: which step comes before which.

        Steps that are not to be made are left out. Where there is a graph, it knows better.
        """
        raise NotImplementedError


def expected(p: FloatArray, paid: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """The mean over what each row of p believes, (n,), of what is paid in rows and truths."""
    rows, truths = np.nonzero(p)
    return np.asarray(np.bincount(rows, p[rows, truths] * paid(rows, truths), len(p)), np.float64)


class Nested(Policy):
    """A search on every level of a hierarchy: closed form for every prior, by the chain rule.

    What follows when a test has answered does not depend on the order of its siblings, so every level is the
    paper's search over the masses of its tests.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.work_per_row = len(workup.classes)
        self.levels = list(_levels(workup.structure[1], len(workup.classes)))

    def paid(
        self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray, prior: Prior | None = None
    ) -> FloatArray:
        """The costs of tests up to the one that answers, on all levels; or their mean over a prior of costs."""
        paid, alike = np.zeros(len(rows)), engine.WORTH_COMPILING if self.worth_loops(len(rows)) else 1
        for steps, members in self.levels:
            counts, below = members.sum(axis=1), np.flatnonzero(np.asarray(members.any(axis=0))[truths])
            truth = members.argmax(axis=0)[truths[below]]
            if not len(truth):
                continue
            if counts.max() == 1:
                masses = p[np.ix_(rows[below], members.argmax(axis=1))]
            else:  # tests of nothing but impossible classes come last, as if these were alike
                masses = p[rows[below]] @ members.T.astype(np.float64)
                impossible = masses[np.arange(len(truth)), truth] == 0
                masses[impossible] = np.where(masses[impossible] > 0, FIRST * masses[impossible], counts)
            level = as_forecast(masses, truth, costs[steps])
            if prior is None:
                of_rows = engine.realised_costs(level, BROKEN_BY_INDEX, alike)
            else:
                of_rows = engine.search_costs(level, prior, steps)
            paid[below] += np.concatenate([values for _, values in of_rows])
        return paid

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """Every level's search, one after the other."""
        orders = [steps[_orders(p[None] @ members.T, costs[steps])[0]] for steps, members in self.levels]
        return [int(step) for step in np.concatenate(orders)]


def _levels(nodes: Sequence[Node], n_classes: int) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
    """For every set of siblings their steps, (C,), and which classes lie below each, (C, K)."""
    members = np.array([[k in node.classes for k in range(n_classes)] for node in nodes])
    yield np.array([node.step for node in nodes]), members
    for node in nodes:
        if node.children:
            yield from _levels(node.children, n_classes)


def as_forecast(masses: FloatArray, truth: IntArray, costs: FloatArray) -> Forecast:
    """Masses that need not sum to 1 as a forecast: a search looks at their ratios only."""
    n_rows, n_columns = masses.shape
    empty = Forecast(masses, False, range(n_columns), truth, range(n_rows), np.inf, checked=True)
    return empty.with_costs(costs)


def _orders(masses: FloatArray, costs: FloatArray) -> IntArray:
    """Tests by falling mass per cost, of each row."""
    if len(costs) == 1:
        return np.zeros(masses.shape, np.intp)
    return np.asarray(search_order(as_forecast(masses, np.empty(0, np.intp), costs)))


class Forest(Policy):
    """Steps that need at most one other before them, and settle disjoint sets of classes: Horn's algorithm."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.parents = np.array(workup.structure[1], dtype=np.intp)
        self.members = np.array([[k in step.settles for k in range(len(workup.classes))] for step in workup.steps])
        self.work_per_row = 8 * len(self.parents) ** 2  # every step with every other, in Python

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done."""
        return np.asarray(self.finished(p, costs)[rows, self.members.argmax(axis=0)[truths]])

    def finished(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What has been spent when each step is done, (n, M)."""
        masses, counts = np.asarray(p @ self.members.T, np.float64), self.members.sum(axis=1).astype(np.float64)
        finished = np.empty_like(masses)
        if not self.worth_loops(len(p)):
            forest_costs(masses, counts, self.parents, costs, finished)
            return finished
        loop, work = _compiled_forest(), masses.size * len(costs)
        engine.in_threads(
            lambda rows: loop(masses[rows], counts, self.parents, costs, finished[rows]), len(p), work
        )
        return finished

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """As steps are done."""
        return [int(step) for step in np.argsort(self.finished(p[None], costs)[0], kind="stable")]


def forest_costs(
    masses: FloatArray, counts: FloatArray, parents: IntArray, costs: FloatArray, finished: FloatArray
) -> None:
    """What has been spent when each step of each row is done, by Horn's algorithm (1972), into `finished`, (n, M).

    Blocks of steps stick together; each has the number of its first step. The block with the most probability per
    cost comes first: if the step it needs has not been made, it joins the block of that step, for nothing better
    can stand between the two; otherwise it is next. Blocks that cannot end the work-up go by the number of classes
    that they settle.
    """
    mass, count, cost = np.empty_like(costs), np.empty_like(costs), np.empty_like(costs)  # of each block
    waiting, block_of = np.empty(len(costs), np.bool_), np.empty(len(costs), np.intp)
    for row in range(len(masses)):
        for step in range(len(costs)):
            mass[step], count[step], cost[step] = masses[row, step], counts[step], costs[step]
            finished[row, step], waiting[step], block_of[step] = costs[step], True, step
        spent = 0.0
        for _ in range(len(costs)):
            best = _best_block(mass, count, cost, waiting)
            waiting[best] = False
            into = block_of[parents[best]] if parents[best] >= 0 else best
            before = cost[into] if waiting[into] else spent
            for step in range(len(costs)):
                if block_of[step] == best:  # what is spent within the block is counted by now
                    finished[row, step] += before
                    block_of[step] = into if waiting[into] else best
            if waiting[into]:
                mass[into] += mass[best]
                count[into] += count[best]
                cost[into] += cost[best]
            else:
                spent += cost[best]


def _best_block(mass: FloatArray, count: FloatArray, cost: FloatArray, waiting: NDArray[np.bool_]) -> int:
    """The waiting block with the most probability per cost; among impossible ones the most classes per cost."""
    best = -1
    for block in range(len(waiting)):
        if waiting[block]:
            impossible = mass[block] == 0 and mass[best] == 0
            ours, theirs = (count[block], count[best]) if impossible else (mass[block], mass[best])
            if best < 0 or ours * cost[best] > theirs * cost[block] * TIE:
                best = block
    return best


@cache
def _compiled_forest() -> Any:
    from numba.extending import register_jitable

    from pandora_regret.kernels.jit import FAST, njit

    register_jitable(_best_block)
    return njit(**FAST)(forest_costs)


class Prefix(Policy):
    """A search that may be given up at one loss for all classes: the best prefix of the p/c order.

    With ``R`` the mass that is still open after m tests, ``V_m = min(R_m loss, R_m c_m + V_{m+1})``.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        [(self.steps, self.members)] = _levels(workup.structure[1], len(workup.classes))
        self.loss = min(stop.losses[0] for stop in workup.stops)

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """Up to the step of the truth, or to the end of the prefix and the loss."""
        orders, tests = self._prefixes(p, costs[self.steps])
        order, made, pairs = orders[rows], tests[rows], np.arange(len(rows))
        place = np.argmax(order == self.members.argmax(axis=0)[truths][:, None], axis=1)
        spent = np.cumsum(np.pad(costs[self.steps][order], ((0, 0), (1, 0))), axis=1)
        return np.where(place < made, spent[pairs, place + 1], spent[pairs, made] + self.loss)

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """The tests of the prefix."""
        [order], [made] = self._prefixes(p[None], costs[self.steps])
        return [int(step) for step in self.steps[order[:made]]]

    def _prefixes(self, p: FloatArray, costs: FloatArray) -> tuple[IntArray, IntArray]:
        """The order of tests, and how many to make.

        What is possible is so much likelier than what is not that it alone decides as long as any of it is left.
        """
        masses = p @ self.members.T
        masses = np.where(masses > 0, FIRST * masses, self.members.sum(axis=1))
        order = _orders(masses, costs)
        mass = np.take_along_axis(masses, order, axis=1)
        left = np.pad(np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))  # after 0, 1, ... tests
        value, made = left[:, -1] * self.loss, np.full(len(p), len(costs))
        for tests in reversed(range(len(costs))):
            go_on = left[:, tests] * costs[order[:, tests]] + value
            stop = left[:, tests] * self.loss
            stops = ~(go_on < stop * BETTER)
            value, made = np.where(stops, stop, go_on), np.where(stops, tests, made)
        return order, made


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.graph = compile_graph(workup)
        self.work_per_row = max(1, len(self.graph.actions) // 4)  # every edge, by NumPy many rows at a time

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        return self.predicted_and_paid(p, rows, truths, costs)[1]

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The value of the start."""
        nothing = np.empty(0, np.intp)
        return self.predicted_and_paid(p, nothing, nothing, costs)[0]

    def predicted_and_paid(
        self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Both, by compiled loops or by NumPy."""
        arrays, edge_costs = self.graph.arrays, self.graph.edge_costs(costs)
        starts = np.searchsorted(rows, np.arange(len(p) + 1))  # of the truths of each row
        values, paid = np.empty(len(p)), np.empty(len(truths))
        if not self.worth_loops(len(p)):
            for some in row_slices(len(p), len(self.graph.states) + 1):
                pairs = slice(starts[some.start], starts[some.stop])
                here = (p[some], rows[pairs] - some.start, truths[pairs])
                values[some], paid[pairs] = graph_costs(*here, arrays, edge_costs)
            return values, paid
        from pandora_regret.workup import loops

        fallback, table = loops.solve(np.ones(p.shape[1]), arrays, edge_costs)[1], np.ascontiguousarray(p)

        def search(some: slice) -> None:
            first, last = starts[some.start], starts[some.stop]
            here = (table[some], starts[some.start : some.stop + 1] - first, truths[first:last])
            loops.graph_costs(*here, arrays, edge_costs, fallback, values[some], paid[first:last])

        engine.in_threads(search, len(p), len(p) * len(self.graph.actions))
        return values, paid


POLICIES: dict[str, Callable[[Workup], Policy]] = {
    "search": Nested,
    "hierarchy": Nested,
    "forest": Forest,
    "prefix": Prefix,
    "graph": GraphPolicy,
}

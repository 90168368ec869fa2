"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method.

One convention for truths that a forecast holds to be impossible, in all of them: once nothing else is left, the
forecast acts as if the classes still possible were equally likely.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
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


class Policy(ABC):
    """The best policy of every forecast, for one work-up."""

    work_per_row = 0  # about how many times a number is read for each row, where loops of this package do that

    def __init__(self, workup: Workup) -> None:
        self.workup = workup
        self.loops_are_ready = False  # compiled for an earlier call

    def prepare(self, n_rows: int) -> None:
        """Compile loops if so many rows make it worth while, in this call or in all that follow."""
        self.loops_are_ready |= engine.worth_compiling(n_rows * self.work_per_row)

    @abstractmethod
    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What the policies of these rows of p cost if these truths hold, (P,); steps cost so much, (M,).

        Rows may repeat, in rising order.
        """

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What each row expects its own policy to cost, (n,)."""
        return expected(p, lambda rows, truths: self.paid(p, rows, truths, costs))

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
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

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """The costs of tests up to the one that answers, on all levels."""
        self.prepare(len(rows))
        if not self.loops_are_ready:
            return self.by_levels(p, rows, truths, costs)
        paid = self.by_loops(p, rows, truths, costs)
        doubtful = np.flatnonzero(np.isnan(paid))
        if len(doubtful):
            paid[doubtful] = self.by_levels(p, rows[doubtful], truths[doubtful], costs)
        return paid

    def by_loops(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """The same by compiled loops, NaN where quotients are too close for them to tell."""
        from pandora_regret.kernels.compiled import in_threads
        from pandora_regret.workup import loops

        paid, (steps, *tree) = np.empty(len(rows)), self._arrays
        by_test = costs[steps]

        def search(part: slice) -> None:
            loops.nested_costs(p, rows[part], truths[part], tuple(tree), by_test, paid[part])

        in_threads(search, len(paid), len(paid) * len(tree[-1]))
        return paid

    @cached_property
    def _arrays(self) -> tuple[IntArray, ...]:
        """Tests level by level: their steps; the tests above each class; siblings; the classes below each test."""
        steps, members = (np.concatenate(parts) for parts in zip(*self.levels, strict=True))
        ends = np.cumsum([len(level) for level, _ in self.levels])
        siblings = [
            (end - len(level), end) for (level, _), end in zip(self.levels, ends, strict=True) for _ in level
        ]
        return steps, *_listed(members.T), np.array(siblings), *_listed(members)

    def by_levels(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """The same by the search of every level, ties by number."""

        def search(level: Forecast, _: IntArray) -> Iterator[tuple[Any, FloatArray]]:
            return engine.realised_costs(level, BROKEN_BY_INDEX)

        return self._over_levels(p, rows, truths, costs, search)

    def paid_on_average(self, p: FloatArray, rows: IntArray, truths: IntArray, prior: Prior) -> FloatArray:
        """What is paid over a prior of costs, which vary around those of the work-up: a closed form."""

        def search(level: Forecast, steps: IntArray) -> Iterator[tuple[Any, FloatArray]]:
            return engine.search_costs(level, prior if prior.n_classes is None else _OfSteps(prior, steps))

        return self._over_levels(p, rows, truths, self.workup.costs / prior.mean, search)

    def _over_levels(
        self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray, search: Callable[..., Any]
    ) -> FloatArray:
        paid = np.zeros(len(rows))
        for steps, members in self.levels:
            below = np.flatnonzero(np.asarray(members.any(axis=0))[truths])
            masses, truth = (p @ members.T)[rows[below]], members.argmax(axis=0)[truths[below]]
            if len(truth):
                level = as_forecast(_told_apart(masses, truth, members.sum(axis=1)), truth, costs[steps])
                paid[below] += np.concatenate([values for _, values in search(level, steps)])
        return paid

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """Every level's search, one after the other."""
        by_level = [(steps, _order(p @ members.T, costs[steps])) for steps, members in self.levels]
        return [int(step) for steps, order in by_level for step in steps[order]]


def _levels(nodes: Sequence[Node], n_classes: int) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
    """For every set of siblings their steps, (C,), and which classes lie below each, (C, K)."""
    members = np.array([[k in node.classes for k in range(n_classes)] for node in nodes])
    yield np.array([node.step for node in nodes]), members
    for node in nodes:
        if node.children:
            yield from _levels(node.children, n_classes)


def _listed(table: NDArray[np.bool_]) -> tuple[IntArray, IntArray]:
    """The true entries of each row: where each row's begin, and their columns."""
    rows, columns = np.nonzero(table)
    return np.searchsorted(rows, np.arange(len(table) + 1)), columns


def _told_apart(masses: FloatArray, truth: IntArray, counts: IntArray) -> FloatArray:
    """Masses, where tests of nothing but impossible classes come last, as if all of these were equally likely."""
    impossible = masses[np.arange(len(truth)), truth] == 0
    if impossible.any() and (counts > 1).any():
        masses = masses.copy()
        masses[impossible] = np.where(masses[impossible] > 0, FIRST * masses[impossible], counts)
    return masses


def as_forecast(masses: FloatArray, truth: IntArray, costs: FloatArray) -> Forecast:
    """Masses that need not sum to 1 as a forecast: a search looks at their ratios only."""
    n_rows, n_columns = masses.shape
    empty = Forecast(masses, False, range(n_columns), truth, range(n_rows), np.inf, checked=True)
    return empty.with_costs(costs)


def _order(masses: FloatArray, costs: FloatArray) -> IntArray:
    """Tests by falling mass per cost, for one row or for each."""
    table = np.atleast_2d(masses)
    if len(costs) == 1:
        return np.zeros(masses.shape, np.intp)
    orders = np.asarray(search_order(as_forecast(table, np.empty(0, np.intp), costs)))
    return orders[0] if masses.ndim == 1 else orders


class _OfSteps(Prior):
    """A prior that tells steps apart, seen from some of them."""

    strictly_proper = False  # nobody asks

    def __init__(self, prior: Prior, steps: IntArray) -> None:
        self.prior, self.steps = prior, steps

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self.prior.mean_of(self.steps))

    def share(self, log_odds: FloatArray, i: Any = 0, j: Any = 1) -> FloatArray:
        return self.prior.share(log_odds, self.steps[i], self.steps[j])

    def share_with_ties(self, log_odds: FloatArray, i: Any, j: Any, width: FloatArray | float) -> FloatArray:
        return self.prior.share_with_ties(log_odds, self.steps[i], self.steps[j], width)

    def share_slope(self, log_odds: FloatArray, i: Any = 0, j: Any = 1) -> FloatArray:
        return self.prior.share_slope(log_odds, self.steps[i], self.steps[j])

    def draw(self, n_draws: int, n_classes: int, rng: np.random.Generator) -> FloatArray:
        return self.prior.draw(n_draws, int(self.steps.max()) + 1, rng)[:, self.steps]


class Forest(Policy):
    """Steps that need at most one other before them, and settle disjoint sets of classes: Horn's algorithm."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.parents = np.array(workup.structure[1], dtype=np.intp)
        self.members = np.array([[k in step.settles for k in range(len(workup.classes))] for step in workup.steps])
        self.counts = self.members.sum(axis=1).astype(np.float64)
        self.work_per_row = 8 * len(self.parents) ** 2  # every step with every other, in Python

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done."""
        self.prepare(len(p))
        finished = (self.by_loops if self.loops_are_ready else self.by_order)(p, costs)
        return np.asarray(finished[rows, self.members.argmax(axis=0)[truths]])

    def by_loops(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What has been spent when each step is done, (n, M)."""
        from pandora_regret.kernels.compiled import in_threads
        from pandora_regret.workup import loops

        masses = np.asarray(p @ self.members.T, np.float64)
        finished = np.empty_like(masses)

        def search(rows: slice) -> None:
            loops.forest_costs(masses[rows], self.counts, self.parents, costs, finished[rows])

        in_threads(search, len(masses), masses.size * len(costs))
        return finished

    def by_order(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The same in plain Python."""
        finished = np.empty((len(p), len(costs)))
        for row, chances in zip(finished, p, strict=True):
            order = self.order(chances, costs)
            row[order] = np.cumsum(costs[order])
        return finished

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """Horn's algorithm (1972): the best order of one row's steps, where each may need one other before it.

        Blocks of steps stick together. The block with the most probability per cost comes first: if the step it
        needs has not been made, it joins the block of that step, for nothing better can stand between the two;
        otherwise it is next. Blocks that cannot end the work-up go by the number of classes that they settle.
        """
        masses = self.members @ p
        blocks, order = {step: [step] for step in range(len(costs))}, list[int]()
        while blocks:
            best, *others = blocks
            for other in others:
                best = other if self._comes_before(blocks[other], blocks[best], masses, costs) else best
            steps = blocks.pop(best)
            parent = self.parents[steps[0]]
            if parent >= 0 and parent not in order:
                next(block for block in blocks.values() if parent in block).extend(steps)
            else:
                order += steps
        return order

    def _comes_before(self, block: list[int], other: list[int], masses: FloatArray, costs: FloatArray) -> bool:
        impossible = masses[block].sum() == 0 and masses[other].sum() == 0
        merit = self.counts if impossible else masses
        ours, theirs = merit[block].sum() * costs[other].sum(), merit[other].sum() * costs[block].sum()
        return bool(ours > theirs * TIE)


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
        orders, tests, _ = self._prefixes(p, costs[self.steps])
        order, made, pairs = orders[rows], tests[rows], np.arange(len(rows))
        place = np.argmax(order == self.members.argmax(axis=0)[truths][:, None], axis=1)
        spent = np.cumsum(np.pad(costs[self.steps][order], ((0, 0), (1, 0))), axis=1)
        return np.where(place < made, spent[pairs, place + 1], spent[pairs, made] + self.loss)

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The least of all prefixes."""
        return self._prefixes(p, costs[self.steps])[2]

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """The tests of the prefix."""
        [order], [made], _ = self._prefixes(p[None], costs[self.steps])
        return [int(step) for step in self.steps[order[:made]]]

    def _prefixes(self, p: FloatArray, costs: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """The order of tests, how many to make, and what that is expected to cost.

        What is possible is so much likelier than what is not that it alone decides as long as any of it is left.
        """
        masses = p @ self.members.T
        masses = np.where(masses > 0, FIRST * masses, self.members.sum(axis=1))
        order = _order(masses, costs)
        mass = np.take_along_axis(masses, order, axis=1)
        left = np.pad(np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1)))  # after 0, 1, ... tests
        value, made = left[:, -1] * self.loss, np.full(len(p), len(costs))
        for tests in reversed(range(len(costs))):
            go_on = left[:, tests] * costs[order[:, tests]] + value
            stop = left[:, tests] * self.loss
            stops = ~(go_on < stop * BETTER)
            value, made = np.where(stops, stop, go_on), np.where(stops, tests, made)
        return order, made, value / FIRST


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.graph = compile_graph(workup)
        self.work_per_row = max(1, len(self.graph.actions) // 4)  # every edge, by NumPy many rows at a time

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        return self._costs(p, rows, truths, costs)[1]

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The value of the start."""
        nothing = np.empty(0, np.intp)
        return self._costs(p, nothing, nothing, costs)[0]

    def _costs(
        self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        edge_costs, starts = self.graph.edge_costs(costs), np.searchsorted(rows, np.arange(len(p) + 1))
        self.prepare(len(p))
        if self.loops_are_ready:
            return self.by_loops(p, starts, truths, edge_costs)
        parts = []
        for some in row_slices(len(p), len(self.graph.states) + 1):
            pairs = slice(starts[some.start], starts[some.stop])
            here = (p[some], rows[pairs] - some.start, truths[pairs])
            parts.append(graph_costs(*here, self.graph.arrays, edge_costs))
        return np.concatenate([values for values, _ in parts]), np.concatenate([paid for _, paid in parts])

    def by_loops(
        self, p: FloatArray, starts: IntArray, truths: IntArray, edge_costs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Predicted and paid costs by compiled loops; the truths of row n begin at ``starts[n]``."""
        from pandora_regret.kernels.compiled import in_threads
        from pandora_regret.workup import loops

        arrays = self.graph.arrays
        fallback = loops.solve(np.ones(p.shape[1]), arrays, edge_costs)[1]
        values, paid = np.empty(len(p)), np.empty(len(truths))
        p = np.ascontiguousarray(p)

        def search(rows: slice) -> None:
            first, last = starts[rows.start], starts[rows.stop]
            here = (p[rows], starts[rows.start : rows.stop + 1] - first, truths[first:last])
            loops.graph_costs(*here, arrays, edge_costs, fallback, values[rows], paid[first:last])

        in_threads(search, len(p), len(p) * len(self.graph.actions))
        return values, paid


POLICIES: dict[str, Callable[[Workup], Policy]] = {
    "search": Nested,
    "hierarchy": Nested,
    "forest": Forest,
    "prefix": Prefix,
    "graph": GraphPolicy,
}

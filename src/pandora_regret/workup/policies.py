"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method.

One convention for truths that a forecast holds to be impossible, in all of them: once nothing else is left, the
forecast acts as if the classes still possible were equally likely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels import engine
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, search_order
from pandora_regret.priors import Prior
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import BETTER, NOTHING, compile_graph

NO_WAY_OUT = 1e80  # the loss of giving up where that is impossible
FREE = 1e-100  # what a step costs that costs nothing, or has been made
FIRST = 1e200  # so much likelier is what is possible than what is not
POSSIBLE = 1e10  # less than this is the mass of what is not
TIE = 1 + 1e-13  # blocks of steps that rounding cannot tell apart are equally good
WAITING, EMITTED = -1, -2  # a block that has joined another has the number of that one instead


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
        self.levels = [  # of siblings their steps, (C,), and which classes lie below each, (C, K)
            (
                np.array(list(level)),
                np.array([[k in some for k in range(self.work_per_row)] for some in level.values()]),
            )
            for level in workup.structure[1]
        ]

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
        nobody, orders = np.empty(0, np.intp), list[int]()
        for steps, members in self.levels:
            level = as_forecast(p[None] @ members.T, nobody, costs[steps])
            orders += steps[search_order(level)[0] if len(steps) > 1 else [0]].tolist()
        return orders


def as_forecast(masses: FloatArray, truth: IntArray, costs: FloatArray) -> Forecast:
    """Masses that need not sum to 1 as a forecast: a search looks at their ratios only."""
    n_rows, n_columns = masses.shape
    empty = Forecast(masses, False, range(n_columns), truth, range(n_rows), np.inf, checked=True)
    return empty.with_costs(costs)


class Forest(Policy):
    """Definitive tests, steps that they share, and perhaps one constant loss of giving up: Horn's blocks.

    Where a step needs two others that do not need each other, there is a forest for each order of these. The best
    policy makes whole blocks of one forest and then gives up.
    """

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.parents = np.array(workup.structure[1], dtype=np.intp)  # (orders, M)
        settled = np.array([[k in step.settles for k in range(len(workup.classes))] for step in workup.steps])
        self.members = np.vstack([settled, ~settled.any(axis=0)]).astype(np.float64)  # last: those nothing finds
        self.loss = min((stop.losses[0] for stop in workup.stops), default=NO_WAY_OUT)
        self.work_per_row = 4 * self.parents.size * len(settled)  # every step with every other, in Python

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done, or on giving up."""
        return np.asarray(self.finished(p, costs)[rows, self.members.argmax(axis=0)[truths]])

    def finished(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What has been spent when each step is done, and in the last column on giving up, (n, M + 1).

        What is possible is so much likelier than what is not that it alone decides as long as any of it is left.
        """
        masses = np.asarray(p @ self.members.T, np.float64)
        masses = np.where(masses > 0, FIRST * masses, self.members.sum(axis=1))
        prices, finished = np.maximum(costs, FREE), np.empty_like(masses)
        if self.worth_loops(len(p)):
            loop, work = compiled_forest(), masses.size * self.parents.size
            about = (self.parents, prices, self.loss)
            engine.in_threads(lambda some: loop(masses[some], *about, finished[some]), len(p), work)
        else:
            plain = (self.parents.tolist(), prices.tolist(), self.loss)
            for row, spent in zip(masses.tolist(), finished, strict=True):
                forest_costs(row, *plain, spent)
        return finished

    def order(self, p: FloatArray, costs: FloatArray) -> list[int]:
        """As steps are done; without those that are not worth it."""
        *finished, given_up = self.finished(p[None], costs)[0].tolist()
        return sorted((s for s, spent in enumerate(finished) if spent < given_up), key=finished.__getitem__)


# Horn's blocks, written for lists and for numba.


def forest_costs(masses: Any, parents: Any, costs: Any, loss: float, finished: Any) -> None:
    """What has been spent when each step of one forecast is done or given up, into `finished`, (M + 1,).

    Masses of steps, and last the mass that nothing finds. Of the forests, (orders, M), the cheapest counts. With R
    the mass that is still open, ``V_s = min(R_s loss, cost_s R_s + V_{s+1})``: a best prefix ends with a block.
    """
    least, least_rest = np.inf, np.inf
    for number in range(len(parents)):
        order = _order(masses, parents[number], costs)
        left, made = masses[len(costs)], len(order)
        value = left * loss
        rest = value if left < POSSIBLE else 0.0  # the impossible part
        for place in range(len(order) - 1, -1, -1):
            left += masses[order[place]]
            go_on = costs[order[place]] * left + value
            value = left * loss
            if go_on < value * BETTER:
                value = go_on
            else:
                made = place
            rest = value if left < POSSIBLE else rest
        if value < least * BETTER or (value * BETTER <= least and rest < least_rest * BETTER):
            least, least_rest, spent = value, rest, 0.0
            finished[:] = -1.0
            for step in order[:made]:
                spent += costs[step]
                finished[step] = spent
            for step in range(len(finished)):
                if finished[step] < 0:
                    finished[step] = spent + loss


def _order(masses: Any, parents: Any, costs: Any) -> Any:
    """Horn's algorithm (1972): steps in blocks that stick together.

    The block with the most probability per cost comes first: if the step it needs has not been made, it joins the
    block of that step, for nothing better can stand between the two; otherwise it is next. A block has the number
    of its first step.
    """
    n = len(costs)
    mass, cost = [masses[step] for step in range(n)], [costs[step] for step in range(n)]
    order, size, following, last, joined = [0] * n, 0, [-1] * n, list(range(n)), [WAITING] * n
    for _ in range(n):
        best = -1
        for step in range(n):
            if joined[step] == WAITING and (best < 0 or mass[step] * cost[best] > mass[best] * cost[step] * TIE):
                best = step
        into = parents[best]
        while into >= 0 and joined[into] >= 0:
            into = joined[into]
        if into >= 0 and joined[into] == WAITING:
            joined[best], following[last[into]], last[into] = into, best, last[best]
            mass[into] += mass[best]
            cost[into] += cost[best]
            continue
        joined[best] = EMITTED
        while best >= 0:
            order[size], size, best = best, size + 1, following[best]
    return order


def _rows(masses: Any, parents: Any, costs: Any, loss: float, finished: Any) -> None:
    for row in range(len(masses)):
        forest_costs(masses[row], parents, costs, loss, finished[row])


@cache
def compiled_forest() -> Any:
    """`forest_costs` of many forecasts, compiled."""
    from numba.extending import register_jitable

    from pandora_regret.kernels.jit import FAST, njit

    for part in (_order, forest_costs):
        register_jitable(part)
    return njit(**FAST)(_rows)


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    def __init__(self, workup: Workup) -> None:
        super().__init__(workup)
        self.graph = compile_graph(workup)
        self.work_per_row = max(1, len(self.graph.actions) // 4)  # every edge, by NumPy many rows at a time

    def paid(self, p: FloatArray, rows: IntArray, truths: IntArray, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        return self.graph.costs(p, rows, truths, costs, self.worth_loops(len(p)))[1]

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The value of the start."""
        return self.graph.costs(p, NOTHING, NOTHING, costs, self.worth_loops(len(p)))[0]


POLICIES: dict[str, Callable[[Workup], Policy]] = {
    "search": Nested,
    "hierarchy": Nested,
    "forest": Forest,
    "graph": GraphPolicy,
}

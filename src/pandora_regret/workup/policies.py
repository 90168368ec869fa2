"""The exact policies: what a forecast's best policy costs if a class is the truth, each by its fastest method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels import engine
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, search_order
from pandora_regret.priors import Prior
from pandora_regret.workup import reference

if TYPE_CHECKING:
    from pandora_regret.workup.description import Workup
    from pandora_regret.workup.recognise import Node


FIRST = 1e200  # so much likelier is what is possible than what is not


class Pairs(NamedTuple):
    """Rows of forecasts, and for each the classes that may be its truth."""

    starts: IntArray  # (n + 1,) where the classes of each row begin
    rows: IntArray  # (P,)
    truths: IntArray  # (P,)

    @classmethod
    def of_table(cls, votes: Any) -> Pairs:
        """The classes that have any weight in each row, (n, K)."""
        rows, truths = np.nonzero(votes)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(votes)))])
        return cls(starts.astype(np.intp), rows, truths)

    @classmethod
    def of_labels(cls, truth: IntArray) -> Pairs:
        """One class per row."""
        return cls(np.arange(len(truth) + 1), np.arange(len(truth)), truth)


class Policy(ABC):
    """The best policy of every forecast, for one work-up."""

    method: str
    title: str
    has_closed_form = False  # of the average over a prior of costs

    def __init__(self, workup: Workup) -> None:
        self.workup = workup
        self.loops_are_ready = False  # compiled for an earlier call

    def prepare(self, n_rows: int) -> None:
        """Compile loops if so many rows make it worth while, in this call or in all that follow."""
        self.loops_are_ready |= engine.worth_compiling(n_rows * self.work_per_row)

    @property
    def work_per_row(self) -> int:
        """About how many times a number is read for each row, where that is done by loops of this package."""
        return 0

    def __str__(self) -> str:
        return self.title

    @abstractmethod
    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """What the policy of each row costs if each of its truths holds, (P,); steps cost so much, (M,)."""

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """What each row expects its own policy to cost, (n,)."""
        return self._mean(p, lambda pairs: self.paid(p, pairs, costs))

    def paid_on_average(self, p: FloatArray, pairs: Pairs, prior: Prior) -> FloatArray:
        """The same over a prior of costs, which vary around those of the work-up; where there is a closed form."""
        raise NotImplementedError

    def predicted_on_average(self, p: FloatArray, prior: Prior) -> FloatArray:
        """What each row expects over a prior of costs, where there is a closed form."""
        return self._mean(p, lambda pairs: self.paid_on_average(p, pairs, prior))

    def _mean(self, p: FloatArray, paid: Callable[[Pairs], Any]) -> FloatArray:
        pairs = Pairs.of_table(p)
        return np.asarray(np.bincount(pairs.rows, p[pairs.rows, pairs.truths] * paid(pairs), len(p)), np.float64)


class Nested(Policy):
    """A search on every level of a hierarchy: closed form for every prior, by the chain rule.

    What follows when a test has answered does not depend on the order of its siblings, so every level is the
    paper's search over the masses of its tests.
    """

    has_closed_form = True

    def __init__(self, workup: Workup, tree: tuple[Node, ...]) -> None:
        super().__init__(workup)
        self.levels = list(_levels(tree))
        nested = len(self.levels) > 1
        self.method, self.title = ("hierarchy", "levels of search") if nested else ("search", "search")

    @property
    def work_per_row(self) -> int:
        """Every class is looked at once on every level."""
        return len(self.workup.classes)

    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """The costs of tests up to the one that answers, on all levels."""
        self.prepare(len(pairs.rows))
        if not self.loops_are_ready:
            return self._realised(p, pairs, costs)
        paid = self._compiled(p, pairs, costs)
        doubtful = np.flatnonzero(np.isnan(paid))
        if len(doubtful):
            some = Pairs(pairs.starts, pairs.rows[doubtful], pairs.truths[doubtful])
            paid[doubtful] = self._realised(p, some, costs)
        return paid

    def _compiled(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """The same by compiled loops, NaN where quotients are too close for them to tell."""
        from pandora_regret.kernels.compiled import in_threads
        from pandora_regret.workup import loops

        paid, (steps, *tree) = np.empty(len(pairs.rows)), self._arrays
        by_test = costs[steps]

        def search(part: slice) -> None:
            loops.nested_costs(p, pairs.rows[part], pairs.truths[part], tuple(tree), by_test, paid[part])

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
        above, below = Pairs.of_table(members.T), Pairs.of_table(members)
        return steps, above.starts, above.truths, np.array(siblings), below.starts, below.truths

    def _realised(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        return self._over_levels(p, pairs, costs, lambda level, _: engine.realised_costs(level, BROKEN_BY_INDEX))

    def paid_on_average(self, p: FloatArray, pairs: Pairs, prior: Prior) -> FloatArray:
        """The closed form of every level's search."""
        base = self.workup.costs / prior.mean
        return self._over_levels(
            p, pairs, base, lambda level, steps: engine.search_costs(level, _OfSteps(prior, steps))
        )

    def _over_levels(
        self, p: FloatArray, pairs: Pairs, costs: FloatArray, search: Callable[[Forecast, IntArray], Any]
    ) -> FloatArray:
        paid = np.zeros(len(pairs.rows))
        for steps, members in self.levels:
            below = np.asarray(members.any(axis=0))
            chosen = np.flatnonzero(below[pairs.truths]) if len(self.levels) > 1 else slice(None)
            masses, truth = (p @ members.T)[pairs.rows[chosen]], members.argmax(axis=0)[pairs.truths[chosen]]
            masses = _told_apart(masses, truth, members.sum(axis=1))
            if len(truth):
                level = as_forecast(masses, truth, costs[steps])
                paid[chosen] += np.concatenate([values for _, values in search(level, steps)])
        return paid


def _told_apart(masses: FloatArray, truth: IntArray, counts: IntArray) -> FloatArray:
    """Masses, where tests of nothing but impossible classes come last, as if all of these were equally likely."""
    impossible = masses[np.arange(len(truth)), truth] == 0
    if impossible.any() and (counts > 1).any():
        masses = masses.copy()
        masses[impossible] = np.where(masses[impossible] > 0, FIRST * masses[impossible], counts)
    return masses


def _levels(nodes: Sequence[Node], n_classes: int | None = None) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
    """For every set of siblings their steps, (C,), and which classes lie below each, (C, K)."""
    n_classes = n_classes or sum(len(node.classes) for node in nodes)
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


class _OfSteps(Prior):
    """A prior of all steps, seen from some of them."""

    def __init__(self, prior: Prior, steps: IntArray) -> None:
        self.prior, self.steps, self.strictly_proper = prior, steps, prior.strictly_proper

    strictly_proper = False

    @property
    def mean(self) -> Any:
        return self.prior.mean[self.steps] if isinstance(self.prior.mean, np.ndarray) else self.prior.mean

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

    method, title = "forest", "the best order of shared steps"

    def __init__(self, workup: Workup, parents: tuple[int, ...]) -> None:
        super().__init__(workup)
        self.parents = np.array(parents, dtype=np.intp)
        self.members = np.array([[k in step.settles for k in range(len(workup.classes))] for step in workup.steps])

    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """What has been spent when the step of the truth is done."""
        masses, counts = p @ self.members.T, self.members.sum(axis=1).astype(np.float64)
        finished = self._finished(masses, counts, costs)
        return np.asarray(finished[pairs.rows, self.members.argmax(axis=0)[pairs.truths]])

    @property
    def work_per_row(self) -> int:
        """Every step is compared with every other; in Python that takes long."""
        return 8 * len(self.parents) ** 2

    def _finished(self, masses: FloatArray, counts: FloatArray, costs: FloatArray) -> FloatArray:
        finished = np.empty_like(masses)
        self.prepare(len(masses))
        if self.loops_are_ready:
            from pandora_regret.kernels.compiled import in_threads
            from pandora_regret.workup import loops

            def search(rows: slice) -> None:
                loops.forest_costs(masses[rows], counts, self.parents, costs, finished[rows])

            in_threads(search, len(masses), masses.size * len(costs))
            return finished
        for row, mass in enumerate(masses):
            order = reference.forest_order(mass, counts, self.parents.tolist(), costs)
            finished[row, order] = np.cumsum(costs[order])
        return finished


class Prefix(Policy):
    """A search that may be given up at one loss for all classes: the best prefix of the p/c order."""

    method, title = "prefix", "the best moment to give up a search"

    def __init__(self, workup: Workup, tree: tuple[Node, ...]) -> None:
        super().__init__(workup)
        [(self.steps, self.members)] = _levels(tree)
        self.loss = min(stop.losses[0] for stop in workup.stops)

    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """Up to the step of the truth, or to the end of the prefix and the loss."""
        order, spent, tests, _ = self._prefixes(p, costs)
        place = np.argsort(order, axis=1)[pairs.rows, self.members.argmax(axis=0)[pairs.truths]]
        made = tests[pairs.rows]
        return np.where(place < made, spent[pairs.rows, place + 1], spent[pairs.rows, made] + self.loss)

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The least of all prefixes."""
        return self._prefixes(p, costs)[3]

    def _prefixes(self, p: FloatArray, costs: FloatArray) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
        """The order of tests, what 0, 1, ... of them cost, how many to make, and what that is expected to cost."""
        masses, costs = p @ self.members.T, costs[self.steps]
        order = search_order(as_forecast(masses, np.empty(0, np.intp), costs))
        spent = np.cumsum(np.pad(costs[order], ((0, 0), (1, 0))), axis=1)
        mass = np.take_along_axis(masses, order, axis=1)
        left = np.pad(
            np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], ((0, 0), (0, 1))
        )  # still open after 0, 1, ... tests
        found = np.cumsum(np.pad(mass * spent[:, 1:], ((0, 0), (1, 0))), axis=1)
        totals = found + left * (spent + self.loss)
        best = totals.min(axis=1)
        return order, spent, np.argmax(totals <= best[:, None] * reference.AS_GOOD, axis=1), best

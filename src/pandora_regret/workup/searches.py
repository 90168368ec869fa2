"""What the best search by definitive tests costs from any belief: a closed form, and so an upper bound.

Whoever stops to diagnose can still look: make the definitive tests one after the other, with the steps that
they share, and give up where that is cheaper. With one loss of giving up, Horn's order and the best place to
end it are optimal among such searches (docs/theory/workups.md). With other ways to stop, the same order is a
plan whose cost is exact, and the best place to end it is found among all. Many beliefs are looked at
together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.workup.data import FREE, Pair
from pandora_regret.workup.states import UNUSED, OutcomeArray, StateSpace
from pandora_regret.workup.structure import chained_parents, is_definitive

NEVER_FOUND = 1e200  # what has been spent when a class is found that no test can find
MOST_ORDERS = 24  # of shared steps that a test needs together, which are tried


class Search(NamedTuple):
    """A search: definitive tests and what they need, in their order; and how it ends if none of them answers."""

    steps: list[int]
    stop: int  # the number of the way to stop; -1 where the search finds every class


class BestSearches(NamedTuple):
    """The best searches from R beliefs."""

    cost: FloatArray  # (R,) times the belief's weight
    order: IntArray  # (R, n) the places of steps, as they are made
    spent: FloatArray  # (R, K) what has been spent when each class is found
    n_found: IntArray  # (R,) how many classes are looked for
    classes: IntArray  # (R, K) in the order in which they are found

    def or_cheaper(self, other: BestSearches) -> BestSearches:
        """Of each belief the cheaper of two searches; the first of equals."""
        is_cheaper = other.cost < self.cost
        in_row = is_cheaper[:, None]
        return BestSearches(
            np.where(is_cheaper, other.cost, self.cost),
            np.where(in_row, other.order, self.order),
            np.where(in_row, other.spent, self.spent),
            np.where(is_cheaper, other.n_found, self.n_found),
            np.where(in_row, other.classes, self.classes),
        )


@dataclass(frozen=True)
class StepForest:
    """Which step comes before which, in one order of the steps that are shared."""

    roots: list[int]  # the places of steps that need no other
    children: list[list[int]]  # of each step, the places of those that need it
    inner: list[int]  # the places of steps that others need, each after all below it


class Searches:
    """The definitive tests of a work-up, with the visits that they need, and what searches by them cost.

    n is how many of these steps there are, and a place is a number from 0 to n - 1 among them.
    """

    def __init__(self, space: StateSpace) -> None:
        workup = space.workup
        self.workup = workup
        taking_part = self._taking_part() if workup.confirm and workup.budget is None else []
        self.steps: IntArray = np.array(taking_part, np.intp)  # (n,)
        self.costs = workup.costs[self.steps] + workup.fee  # (n,)
        self.members = np.zeros((len(taking_part), len(workup.classes)))  # (n, K) which classes each test settles
        for place, step in enumerate(taking_part):
            if is_definitive(workup.steps[step]):
                self.members[place, list(workup.steps[step].settles)] = 1.0
        self.can_search = bool(self.members.any())
        place_of = {step: place for place, step in enumerate(taking_part)}
        self.before = list[set[int]]()  # (n,) the places that each needs, directly or not
        self.conditions = list[list[Pair]]()  # (n,) outcomes of other steps that must have come about
        for step in taking_part:
            before = workup.before[step]
            self.before.append({place_of[earlier] for earlier, _ in before if earlier in place_of})
            self.conditions.append([pair for pair in before if pair[0] not in place_of])
        orders = islice(chained_parents(self.before), MOST_ORDERS)
        self.forests = [as_forest(parents) for parents in orders]
        self.tests_of_class = self._tests_of_class()
        self.losses = np.array([stop.losses for stop in workup.stops]).reshape(-1, len(workup.classes))
        self.names_class = [stop.names_class for stop in workup.stops]

    def _taking_part(self) -> list[int]:
        """Definitive tests, and visits; what needs another outcome of these than "go on" can be no part of it."""
        steps = self.workup.steps

        is_simple = [len(step.outcomes) == 1 or is_definitive(step) for step in steps]

        def can_come_about(pair: Pair) -> bool:
            """Whether a search brings this result about, if it makes that step and goes on; or waits for it."""
            earlier, wanted = pair
            return not is_simple[earlier] or wanted is None or steps[earlier].confirmed[wanted] is None

        taking_part = list[int]()
        for number, before in enumerate(self.workup.before):
            if is_simple[number] and all(map(can_come_about, before)):
                taking_part.append(number)
        return taking_part

    def _tests_of_class(self) -> IntArray:
        """The places of the tests of each class, (most, K); n where a class has fewer tests."""
        n_steps = len(self.steps)
        tests = [np.flatnonzero(column).tolist() for column in self.members.T]
        most = max([1, *map(len, tests)])
        padded = [[*places, *[n_steps] * (most - len(places))] for places in tests]
        return np.array(padded, np.intp).T

    def costs_from(self, w: FloatArray, outcomes: OutcomeArray) -> FloatArray:
        """What the best search costs from each belief, times its weight, (R,); inf where there is none.

        Parameters
        ----------
        w
            Weights of the classes, shape (R, K).
        outcomes
            What steps have shown, shape (R, M), or UNUSED.
        """
        if not self.can_search:
            return np.full(len(w), np.inf)
        return self._best(w, outcomes).cost

    def search_from(self, w: FloatArray, outcomes: OutcomeArray) -> Search:
        """The best search from one belief, (K,), after these outcomes, (M,)."""
        best = self._best(w[None], outcomes[None])
        n_found = int(best.n_found[0])
        if n_found == 0:
            return Search([], self._stop_after(w))
        classes = best.classes[0]
        is_left = np.ones(len(w), bool)
        is_left[classes[:n_found]] = False
        last = best.spent[0, classes[n_found - 1]]
        made = outcomes[self.steps] != UNUSED
        total = 0.0
        line = list[int]()
        for place in best.order[0]:
            total += FREE if made[place] else self.costs[place]
            if total > last:
                break
            if not made[place]:
                line.append(int(self.steps[place]))
        stop = self._stop_after(w * is_left) if (w * is_left).any() else -1
        return Search(line, stop)

    def _stop_after(self, w: FloatArray) -> int:
        """The number of the cheapest way to stop."""
        terms = self.losses * w
        lost = terms.sum(axis=1) - np.where(self.names_class, terms.max(axis=1), 0.0)
        return int(lost.argmin())

    def _best(self, w: FloatArray, outcomes: OutcomeArray) -> BestSearches:
        """The best search from each belief, (R, K), after outcomes, (R, M)."""
        available = self._available(outcomes)
        masses = (w @ self.members.T) * available
        made = outcomes[:, self.steps] != UNUSED
        costs = np.where(made, FREE, np.maximum(self.costs, FREE))
        best = self._best_along(self.forests[0], w, masses, costs, available)
        for forest in self.forests[1:]:
            best = best.or_cheaper(self._best_along(forest, w, masses, costs, available))
        return best

    def _available(self, outcomes: OutcomeArray) -> NDArray[np.bool_]:
        """Whether each step can be made in a search, or has been, (R, n)."""
        available = np.ones((len(outcomes), len(self.steps)), bool)
        for place, conditions in enumerate(self.conditions):
            for earlier, wanted in conditions:
                shown = outcomes[:, earlier]
                available[:, place] &= (shown != UNUSED) if wanted is None else (shown == wanted)
        for place, before in enumerate(self.before):
            for earlier_place in before:
                available[:, place] &= available[:, earlier_place]
        return available

    def _best_along(
        self,
        forest: StepForest,
        w: FloatArray,
        masses: FloatArray,
        costs: FloatArray,
        available: NDArray[np.bool_],
    ) -> BestSearches:
        """The best search from each belief in Horn's order of one forest, ended where that is best.

        Parameters
        ----------
        forest
            Which step comes before which.
        w
            Weights of the classes, (R, K).
        masses, costs, available
            Of each step the weight of the classes that it settles, its cost, and whether it can be made, (R, n).
        """
        order = horn_order(masses, costs, forest)
        spent = self._spent_on_classes(order, costs, available)
        classes = spent.argsort(axis=1, kind="stable")
        in_order = np.take_along_axis(w, classes, axis=1)
        spent_in_order = np.take_along_axis(spent, classes, axis=1)
        found = np.cumsum(in_order * spent_in_order, axis=1)
        left = after_each(in_order)
        going_on = found + left * spent_in_order
        lost = self._lost_after(w, classes)
        totals = np.hstack([lost[:, :1], going_on + lost[:, 1:]])
        n_found = totals.argmin(axis=1)
        least = np.take_along_axis(totals, n_found[:, None], axis=1)[:, 0]
        least = np.where(least < NEVER_FOUND * 1e-50 * w.sum(axis=1), least, np.inf)
        return BestSearches(least, order, spent, n_found, classes)

    def _spent_on_classes(self, order: IntArray, costs: FloatArray, available: NDArray[np.bool_]) -> FloatArray:
        """What has been spent when each class is found, (R, K), by steps in this order; else NEVER_FOUND."""
        n_rows, n_steps = order.shape
        total = np.cumsum(np.take_along_axis(costs, order, axis=1), axis=1)
        finished = np.full((n_rows, n_steps + 1), NEVER_FOUND)  # the last place stands for no test
        np.put_along_axis(finished, order, total, axis=1)
        finished[:, :-1][~available] = NEVER_FOUND
        spent = finished[:, self.tests_of_class[0]]
        for tests in self.tests_of_class[1:]:
            spent = np.minimum(spent, finished[:, tests])
        return np.asarray(spent)

    def _lost_after(self, w: FloatArray, classes: IntArray) -> FloatArray:
        """What the cheapest way to stop loses once the first 0, 1, ..., K classes are ruled out, (R, K + 1)."""
        n_rows, n_classes = w.shape
        least = np.full((n_rows, n_classes + 1), np.inf)
        if not len(self.losses):
            in_order = np.take_along_axis(w, classes, axis=1)
            any_left = np.hstack([w.sum(axis=1)[:, None], after_each(in_order)]) > 0
            return np.where(any_left, np.inf, 0.0)
        for losses, names_class in zip(self.losses, self.names_class, strict=True):
            terms = np.take_along_axis(w * losses, classes, axis=1)
            lost = np.hstack([terms.sum(axis=1)[:, None], after_each(terms)])
            if names_class:
                largest = np.maximum.accumulate(terms[:, ::-1], axis=1)[:, ::-1]
                lost[:, :-1] -= largest
            least = np.minimum(least, lost)
        return np.maximum(least, 0.0)


def after_each(values: FloatArray) -> FloatArray:
    """The sum of all values that come later in a row, without rounding below 0."""
    sums = np.zeros_like(values)
    sums[:, :-1] = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return sums


def as_forest(parents: list[int]) -> StepForest:
    """The forest in which each place comes after its parent, -1 for none."""
    children: list[list[int]] = [[] for _ in parents]
    roots = list[int]()
    for place, parent in enumerate(parents):
        if parent < 0:
            roots.append(place)
        else:
            children[parent].append(place)

    def below(place: int) -> Iterator[int]:
        for child in children[place]:
            yield from below(child)
        if children[place]:
            yield place

    inner = [place for root in roots for place in below(root)]
    return StepForest(roots, children, inner)


def horn_order(masses: FloatArray, costs: FloatArray, forest: StepForest) -> IntArray:
    """Horn's order of many beliefs at once, as places, (R, n).

    From the leaves up: what stands below a step is a list by falling mass per cost of its blocks. The step takes
    the beginning of this list into its own block that makes the block's mass per cost largest; what remains of the
    list follows. Every step carries the ratio of its block, so that lists of brothers are merged by one sorting.

    Parameters
    ----------
    masses, costs
        Of each step, in each belief: shape (R, n).
    forest
        Which step comes before which.
    """
    n_rows = len(masses)
    ratios = masses / costs
    lists = dict[int, IntArray]()  # of each inner step, itself and all below it, in order
    for inner in forest.inner:
        below = _merged(forest.children[inner], lists, ratios)
        block_mass = np.cumsum(np.hstack([masses[:, [inner]], np.take_along_axis(masses, below, axis=1)]), axis=1)
        block_cost = np.cumsum(np.hstack([costs[:, [inner]], np.take_along_axis(costs, below, axis=1)]), axis=1)
        block_ratio = block_mass / block_cost
        length = block_ratio.argmax(axis=1)[:, None]
        whole = np.hstack([np.full((n_rows, 1), inner), below])
        old = np.take_along_axis(ratios, whole, axis=1)
        joins = np.arange(whole.shape[1]) <= length
        new = np.where(joins, np.take_along_axis(block_ratio, length, axis=1), old)
        np.put_along_axis(ratios, whole, new, axis=1)
        lists[inner] = whole
    return _merged(forest.roots, lists, ratios)


def _merged(places: list[int], lists: dict[int, IntArray], ratios: FloatArray) -> IntArray:
    """The lists of some brothers as one, by falling ratio; a step without a list stands for itself."""
    n_rows = len(ratios)
    parts = [lists.pop(place) if place in lists else np.full((n_rows, 1), place) for place in places]
    joined = np.hstack(parts)
    by_ratio = (-np.take_along_axis(ratios, joined, axis=1)).argsort(axis=1, kind="stable")
    return np.take_along_axis(joined, by_ratio, axis=1)

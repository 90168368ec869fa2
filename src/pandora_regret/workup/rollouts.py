"""What simple rules cost, exactly: many beliefs at once, from the start to where each rule ends.

A rule says for every belief which step comes next. Its tree is written out level by level, all beliefs of a
level in one batch of arrays; then its cost is summed from the leaves up. A belief ends the tree where the
rule makes no step, or where it is so unlikely that it is not worth one; what is paid there is the cheapest
ending: to stop, or the best search by definitive tests. On the way back every belief keeps the cheaper of
ending there and going on.

N is the number of beliefs of a batch, M that of steps, and R that of all results of single steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.core.kernels.horn import CLEARLY_LESS
from pandora_regret.workup.bounds import Bounds, n_log_n
from pandora_regret.workup.searches import Searches
from pandora_regret.workup.states import UNUSED, OutcomeArray

ENDS = -1  # no step: the cheapest ending
PRODUCT = 1 << 18  # multiplications in a product of matrices: with more, libraries start threads of their own
NEGLIGIBLE = 1e-12  # so little of a belief's weight, or of its entropy, is nothing
SEARCHES_AT_ONCE = 400  # that are priced together
MOST_IN_PAIRS = 10  # steps that are tried two at a time
MOST_LEAVES = 2_000  # of a fixed set of steps, all made


class Beliefs(NamedTuple):
    """What may be believed of a case, and what has been done by then."""

    w: FloatArray  # (N, K) how likely it is that a class is the truth and the case comes here
    outcomes: OutcomeArray  # (N, M) what steps have shown, or UNUSED
    possible: NDArray[np.bool_]  # (N, K) the classes that can have shown this, whatever was believed at first

    def at(self, index: IntArray | NDArray[np.bool_] | slice) -> Beliefs:
        """The beliefs at these places, or where this is true."""
        return Beliefs(self.w[index], self.outcomes[index], self.possible[index])


class Branches(NamedTuple):
    """What follows when each belief of a batch takes a step; results that end the work-up are left out."""

    beliefs: Beliefs
    parents: IntArray  # (N,) the places, in the batch, of the beliefs from which these follow
    rows: IntArray  # (N,) the result that leads to each


@dataclass
class Level:
    """The beliefs that are reached after so many steps, and what a rule does there."""

    branches: Branches
    actions: IntArray  # (N,) the step that is made, or ENDS
    endings: FloatArray  # (N,) what the cheapest ending costs, times the chance of coming there
    values: FloatArray  # (N,) as much of what is paid from there on
    is_forced: bool = False  # whether the steps are made whatever they cost

    @cached_property
    def by_parent(self) -> IntArray:
        """The places of the beliefs, those that follow from the same one together."""
        return self.branches.parents.argsort(kind="stable")

    def following(self, parent: int) -> dict[int, int]:
        """The places of the beliefs that follow from one of the level before, by the results that lead to them."""
        in_order = self.branches.parents[self.by_parent]
        first, last = np.searchsorted(in_order, [parent, parent + 1])
        places = self.by_parent[first:last]
        return dict(zip(self.branches.rows[places].tolist(), places.tolist(), strict=True))


@dataclass(frozen=True)
class WrittenPlan:
    """Where a plan has been written out: a belief of a tree."""

    levels: list[Level]
    depth: int
    place: int

    @property
    def value(self) -> float:
        """What is paid from there on, times the chance of coming there."""
        return float(self.levels[self.depth].values[self.place])

    @property
    def action(self) -> int:
        """The step that is made, or ENDS."""
        return int(self.levels[self.depth].actions[self.place])

    def following(self) -> dict[int, WrittenPlan]:
        """The beliefs that follow, by the results that lead to them."""
        if self.action == ENDS:
            return {}
        places = self.levels[self.depth + 1].following(self.place) if self.depth + 1 < len(self.levels) else {}
        return {row: WrittenPlan(self.levels, self.depth + 1, place) for row, place in places.items()}


Rule = Callable[[Beliefs], IntArray]  # the step that each belief takes, (N,), or ENDS


class Rollouts:
    """Rules for the beliefs of one work-up, and what they cost."""

    def __init__(self, bounds: Bounds, searches: Searches) -> None:
        space = bounds.space
        workup = space.workup
        n_steps = len(workup.steps)
        n_rows = space.first[n_steps]
        self.workup = workup
        self.bounds = bounds
        self.searches = searches
        self.first = space.first[: n_steps + 1]  # the results of each step begin there
        self.n_results = np.diff(self.first)  # (M,)
        self.step_of_row: IntArray = np.repeat(np.arange(n_steps), self.n_results)
        self.outcome_of_row = np.array([space.results[row][0][1] for row in range(1, n_rows)])
        self.rows = space.rows[:n_rows]  # (R + 1, K), and so are the following
        self.columns = np.ascontiguousarray(self.rows.T)
        self.possible_rows = self.rows > 0
        self.logs = np.ascontiguousarray(bounds.logs[:n_rows].T)
        self.confirms = np.array(space.confirms[:n_rows])
        self.costs = space.action_costs[:n_steps]  # (M,)
        direct = {step: list(dict(pairs)) for step, pairs in enumerate(workup.requires)}
        self.in_order = list(TopologicalSorter(direct).static_order())
        self.before = [dict(pairs) for pairs in workup.before]
        searched = set(searches.steps.tolist())
        tests = [step for step in range(n_steps) if len(workup.steps[step].outcomes) > 1]
        # steps that may be worth more than their place in a search
        self.diagnostics = [step for step in tests if not searches.can_search or step not in searched]
        self.is_diagnostic = np.isin(np.arange(n_steps), self.diagnostics)
        self.n_evaluated = 0  # beliefs, of all rules

    def endings(self, beliefs: Beliefs) -> FloatArray:
        """What the cheapest ending costs, (N,): to stop, or the best search by definitive tests."""
        least = np.full(len(beliefs.w), np.inf)
        if self.workup.stops:
            least = self._stopped(beliefs.w)
        if self.searches.can_search:
            least = np.minimum(least, self._searched(beliefs.w, beliefs.outcomes))
        return least

    def _stopped(self, w: FloatArray) -> FloatArray:
        """What the cheapest way to stop loses at each belief, (N,)."""
        least = np.full(len(w), np.inf)
        for losses, names_class in zip(self.bounds.losses, self.bounds.names, strict=True):
            terms = w * losses
            lost = terms.sum(axis=1)
            if names_class:
                lost -= terms.max(axis=1)
            least = np.minimum(least, lost)
        return np.asarray(np.maximum(least, 0.0))

    def _searched(self, w: FloatArray, outcomes: OutcomeArray) -> FloatArray:
        """What the best search costs from each belief, (N,)."""
        batches = [slice(begin, begin + SEARCHES_AT_ONCE) for begin in range(0, len(w), SEARCHES_AT_ONCE)]
        costs = [self.searches.costs_from(w[batch], outcomes[batch]) for batch in batches]
        return np.concatenate([np.empty(0), *costs])

    # What a rule costs

    def evaluate(
        self,
        rule: Rule,
        beliefs: Beliefs,
        likely: float,
        may_go_on: Callable[[], bool] = lambda: True,
        *,
        first: IntArray | None = None,
    ) -> list[Level]:
        """The tree of a rule from some beliefs on, with what it costs.

        Parameters
        ----------
        rule
            Which step is made in each belief.
        beliefs
            Where the tree begins.
        likely
            Less likely beliefs end the tree.
        may_go_on
            Whether there is time for another level; where there is none, its beliefs end the tree.
        first
            The steps that are made first, shape (N,), whatever the rule says and whatever they cost.

        Returns
        -------
        list of Level
            The first holds the beliefs where the tree begins.
        """
        nowhere = np.full(len(beliefs.w), -1)
        branches = Branches(beliefs, nowhere, np.zeros(len(beliefs.w), np.intp))
        levels = list[Level]()
        if first is not None:
            endings = self.endings(beliefs)
            levels.append(Level(branches, first, endings, endings, is_forced=True))
            branches = self.branches(beliefs, first)
        while len(branches.parents):
            level = self._level(rule, branches, likely if may_go_on() else np.inf)
            levels.append(level)
            branches = self.branches(branches.beliefs, level.actions)
        if first is not None and len(levels) == 1:  # the steps end the work-up
            levels[0].values = self.costs[first] * beliefs.w.sum(axis=1)
        for level, after in zip(levels[-2::-1], levels[:0:-1], strict=True):
            self._sum_up(level, after)
        return levels

    def _level(self, rule: Rule, branches: Branches, likely: float) -> Level:
        """What a rule does in some beliefs; it is asked where going on may pay."""
        beliefs = branches.beliefs
        masses = beliefs.w.sum(axis=1)
        endings = self.endings(beliefs)
        actions = np.full(len(masses), ENDS)
        asked = np.flatnonzero((masses >= likely) & (endings > self.costs.min() * masses))
        self.n_evaluated += len(asked)
        chosen = [rule(part) for part in self._batches(beliefs.at(asked))]
        if chosen:
            actions[asked] = np.concatenate(chosen)
        return Level(branches, actions, endings, endings)

    def _batches(self, beliefs: Beliefs) -> Iterator[Beliefs]:
        """Parts of a batch that are small enough for the cache, and for products of matrices in one thread."""
        n_together = max(1, PRODUCT // self.rows.size)
        for begin in range(0, len(beliefs.w), n_together):
            yield beliefs.at(slice(begin, begin + n_together))

    def branches(self, beliefs: Beliefs, actions: IntArray) -> Branches:
        """What follows where each belief takes its step: those that follow from the same one are together."""
        going_on = np.flatnonzero(actions != ENDS)
        steps = actions[going_on]
        n_results = self.n_results[steps]
        parents = np.repeat(going_on, n_results)
        first_places = np.repeat(np.cumsum(n_results) - n_results, n_results)
        rows = np.repeat(np.array(self.first)[steps], n_results) + np.arange(len(parents)) - first_places
        w = beliefs.w[parents] * self.rows[rows]
        possible = beliefs.possible[parents] & self.possible_rows[rows]
        may_go_on = np.flatnonzero(w.any(axis=1) & ~self._ends(possible, rows))
        parents = parents[may_go_on]
        rows = rows[may_go_on]
        outcomes = beliefs.outcomes[parents]
        outcomes[np.arange(len(rows)), self.step_of_row[rows - 1]] = self.outcome_of_row[rows - 1]
        return Branches(Beliefs(w[may_go_on], outcomes, possible[may_go_on]), parents, rows)

    def _after(self, beliefs: Beliefs, row: int) -> Beliefs:
        """What is believed after a result."""
        outcomes = beliefs.outcomes.copy()
        outcomes[:, self.step_of_row[row - 1]] = self.outcome_of_row[row - 1]
        return Beliefs(beliefs.w * self.rows[row], outcomes, beliefs.possible & self.possible_rows[row])

    def _ends(self, possible: NDArray[np.bool_], rows: IntArray | int) -> NDArray[np.bool_]:
        """Whether the work-up ends with a result, one for all or one for each, that leaves these classes, (N,)."""
        if self.workup.confirm:
            return np.broadcast_to(self.confirms[rows], len(possible))
        return np.asarray(possible.sum(axis=1) == 1)

    def _sum_up(self, level: Level, after: Level) -> None:
        """What is paid from a level on, where the next one is known; ending there counts where it is no dearer."""
        beliefs = level.branches.beliefs
        goes_on = level.actions != ENDS
        paid = np.bincount(after.branches.parents, after.values, len(level.values))
        paid += np.where(goes_on, self.costs[level.actions], 0.0) * beliefs.w.sum(axis=1)
        is_worth_it = goes_on & (level.is_forced | (paid < level.endings * CLEARLY_LESS))
        level.values = np.where(is_worth_it, paid, level.values)
        level.actions = np.where(is_worth_it, level.actions, ENDS)

    # Rules

    def by_ending(self, beliefs: Beliefs) -> IntArray:
        """The step after which the cheapest ending costs least, with the step; two, where none alone pays."""
        now = self.endings(beliefs)
        costs, usable = self._step_costs(beliefs)
        totals = costs * beliefs.w.sum(axis=1)[:, None]
        totals += self._summed(self._endings_after(beliefs, self.diagnostics))
        totals[~(usable & self.is_diagnostic)] = np.inf
        actions = totals.argmin(axis=1)
        pays = np.take_along_axis(totals, actions[:, None], axis=1)[:, 0] < now * CLEARLY_LESS
        open_ones = np.flatnonzero(~pays)
        if len(open_ones) and len(self.diagnostics) > 1:
            by_pair = self._first_of_pair(beliefs.at(open_ones), now[open_ones], costs[open_ones])
            actions[open_ones] = by_pair
            pays[open_ones] = by_pair != ENDS
        return np.where(pays, self._first_needed(beliefs, actions), ENDS)

    def by_value(self, beliefs: Beliefs) -> IntArray:
        """One step's value of information per cost: what it saves at the cheapest ending, if it pays."""
        now = self.endings(beliefs)
        masses = beliefs.w.sum(axis=1)
        costs, usable = self._step_costs(beliefs)
        saved = now[:, None] - self._summed(self._endings_after(beliefs, self.diagnostics))
        pays = usable & self.is_diagnostic & (saved > costs * masses[:, None])
        ratio = np.where(pays, saved / np.maximum(costs, NEGLIGIBLE), -np.inf)
        actions = ratio.argmax(axis=1)
        return np.where(pays.any(axis=1), self._first_needed(beliefs, actions), ENDS)

    def by_information(self, beliefs: Beliefs) -> IntArray:
        """The step that tells most, in nats per cost."""
        masses, entropies = self._entropies(beliefs.w)
        costs, usable = self._step_costs(beliefs)
        gains = entropies[:, :1] - self._summed(entropies)
        usable &= gains > NEGLIGIBLE * masses[:, :1]
        ratio = np.where(usable, gains / np.maximum(costs, NEGLIGIBLE), -np.inf)
        actions = ratio.argmax(axis=1)
        return np.where(usable.any(axis=1), self._first_needed(beliefs, actions), ENDS)

    def by_price(self, price: float) -> Rule:
        """The rule of the step that costs least if the entropy that it leaves has a price per nat."""

        def rule(beliefs: Beliefs) -> IntArray:
            masses, entropies = self._entropies(beliefs.w)
            costs, usable = self._step_costs(beliefs)
            left = price * entropies + (beliefs.w * self.bounds.spared) @ self.columns
            rows = np.arange(1, len(self.rows))
            if self.workup.stops:
                left[:, 1:] = np.minimum(left[:, 1:], self._stops_after(beliefs.w, rows.tolist()))
            if self.searches.can_search:
                is_known = self.is_diagnostic[self.step_of_row]
                endings = self._endings_after(beliefs, self.diagnostics)
                left[:, rows[is_known]] = np.minimum(left, endings)[:, rows[is_known]]
            if self.workup.confirm:
                left[:, self.confirms] = 0.0
            usable &= entropies[:, :1] - self._summed(entropies) > NEGLIGIBLE * masses[:, :1]
            totals = np.where(usable, costs * masses[:, :1] + self._summed(left), np.inf)
            return np.where(usable.any(axis=1), self._first_needed(beliefs, totals.argmin(axis=1)), ENDS)

        return rule

    def by_list(self, steps: list[int]) -> Rule:
        """The rule that makes the same steps in every case, one after the other."""

        def rule(beliefs: Beliefs) -> IntArray:
            actions = np.full(len(beliefs.w), ENDS)
            for step in reversed(steps):
                is_open = beliefs.outcomes[:, step] == UNUSED
                actions = np.where(is_open, step, actions)
            return actions

        return rule

    def candidates(self, beliefs: Beliefs, most: int) -> IntArray:
        """The steps that are worth a try in one belief: all that tell anything, or those that seem best."""
        masses, entropies = self._entropies(beliefs.w)
        costs, usable = self._step_costs(beliefs)
        gains = (entropies[:, :1] - self._summed(entropies))[0]
        usable = usable[0] & (gains > NEGLIGIBLE * masses[0, 0])
        if usable.sum() > most:
            by_information = np.where(usable, -gains / np.maximum(costs[0], NEGLIGIBLE), np.inf)
            totals = costs * masses[:, :1] + self._summed(self._endings_after(beliefs, self.diagnostics))
            by_ending = np.where(usable & self.is_diagnostic, totals[0], np.inf)
            half = most // 2
            best = np.concatenate([by_information.argsort()[:half], by_ending.argsort()[:half]])
            usable &= np.isin(np.arange(len(usable)), best)
        repeated = beliefs.at(np.zeros(usable.sum(), np.intp))
        return np.unique(self._first_needed(repeated, np.flatnonzero(usable)))

    def battery(self, beliefs: Beliefs) -> list[int]:
        """Steps that are best made in every case: one is added as long as that pays on average.

        One belief only; steps that need others are left out.
        """
        chosen = list[int]()
        least = float(self.endings(beliefs)[0])
        spent = 0.0
        mass = float(beliefs.w.sum())
        leaves = beliefs
        while len(leaves.w) <= MOST_LEAVES:
            best = None
            for step in self.diagnostics:
                if step in chosen or self.before[step] or beliefs.outcomes[0, step] != UNUSED:
                    continue  # made, or not to be made yet
                after = self.branches(leaves, np.full(len(leaves.w), step)).beliefs
                cost = spent + self.costs[step] * mass + float(self.endings(after).sum())
                if cost < least * CLEARLY_LESS:
                    least = cost
                    best = (step, after)
            if best is None:
                break
            step, leaves = best
            chosen.append(step)
            spent += float(self.costs[step]) * mass
        return chosen

    # What rules look at

    def _entropies(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses and entropies, times the masses, of each belief and after every result, (N, R + 1)."""
        masses = w @ self.columns
        entropies = n_log_n(masses) - n_log_n(w) @ self.columns - w @ self.logs
        return masses, np.maximum(entropies, 0.0)

    def _summed(self, values: FloatArray) -> FloatArray:
        """Sums over the results of each step, (N, M)."""
        return np.asarray(np.add.reduceat(values[:, 1:], np.array(self.first[:-1]) - 1, axis=1))

    def _endings_after(self, beliefs: Beliefs, steps: list[int]) -> FloatArray:
        """What the cheapest ending costs after every result of some steps, (N, R + 1); 0 after those of others."""
        left = np.zeros((len(beliefs.w), len(self.rows)))
        rows = [row for step in steps for row in range(self.first[step], self.first[step + 1])]
        if not rows:
            return left
        if self.workup.stops:
            left[:, rows] = self._stops_after(beliefs.w, rows)
        else:
            left[:, rows] = np.inf
        if self.searches.can_search:
            after = [self._after(beliefs, row) for row in rows]
            w = np.concatenate([part.w for part in after])
            outcomes = np.concatenate([part.outcomes for part in after])
            by_row = self._searched(w, outcomes).reshape(len(rows), -1).T
            left[:, rows] = np.minimum(left[:, rows], by_row)
        for row in rows:
            ends = self._ends(beliefs.possible & self.possible_rows[row], row)
            left[ends, row] = 0.0
        return left

    def _stops_after(self, w: FloatArray, rows: list[int]) -> FloatArray:
        """What the cheapest way to stop loses after some results, (N, rows)."""
        columns = self.columns[:, rows]
        least = np.full((len(w), len(rows)), np.inf)
        for losses, names_class in zip(self.bounds.losses, self.bounds.names, strict=True):
            terms = w * losses
            lost = terms @ columns
            if names_class:
                largest = np.zeros_like(lost)
                for k in np.flatnonzero(terms.any(axis=0)):
                    np.maximum(largest, terms[:, [k]] * columns[k], out=largest)
                lost -= largest
            least = np.minimum(least, lost)
        return np.asarray(np.maximum(least, 0.0))

    def _step_costs(self, beliefs: Beliefs) -> tuple[FloatArray, NDArray[np.bool_]]:
        """What each step costs with all that it needs and that has not been made, and whether it can be made."""
        unmade = beliefs.outcomes == UNUSED
        if not any(self.before):
            return np.broadcast_to(self.costs, unmade.shape), unmade
        costs = np.tile(self.costs, (len(beliefs.w), 1))
        usable = unmade.copy()
        for step, before in enumerate(self.before):
            for earlier, wanted in before.items():
                costs[:, step] += np.where(unmade[:, earlier], self.costs[earlier], 0.0)
                if wanted is not None:
                    usable[:, step] &= beliefs.outcomes[:, earlier] == wanted
        return costs, usable

    def _first_needed(self, beliefs: Beliefs, actions: IntArray) -> IntArray:
        """Each step, or the first of those that it needs which has not been made."""
        if not any(self.before):
            return actions
        first = actions.copy()
        for action in np.unique(actions).tolist():
            needed = [step for step in self.in_order if step in self.before[action]]
            asked = actions == action
            for step in reversed(needed):
                first[asked & (beliefs.outcomes[:, step] == UNUSED)] = step
        return first

    def _first_of_pair(self, beliefs: Beliefs, now: FloatArray, costs: FloatArray) -> IntArray:
        """The first step of the pair after which the cheapest ending costs least; ENDS where no pair pays."""
        masses = beliefs.w.sum(axis=1)
        actions = np.full(len(masses), ENDS)
        least = now * CLEARLY_LESS
        steps = self._most_telling(beliefs)
        for step, other in combinations(steps, 2):
            is_open = (beliefs.outcomes[:, step] == UNUSED) & (beliefs.outcomes[:, other] == UNUSED)
            total = (costs[:, step] + costs[:, other]) * masses
            for row in range(self.first[step], self.first[step + 1]):
                after_one = self._after(beliefs, row)
                total += self._summed(self._endings_after(after_one, [other]))[:, other]
            is_better = is_open & (total < least)
            actions = np.where(is_better, step, actions)
            least = np.where(is_better, total, least)
        return actions

    def _most_telling(self, beliefs: Beliefs) -> list[int]:
        """Of the diagnostics that need no other: those that tell most per cost, on average over some beliefs."""
        steps = [step for step in self.diagnostics if not self.before[step]]
        if len(steps) <= MOST_IN_PAIRS:
            return steps
        _, entropies = self._entropies(beliefs.w)
        gains = (entropies[:, :1] - self._summed(entropies)).sum(axis=0) / np.maximum(self.costs, NEGLIGIBLE)
        return sorted(steps, key=lambda step: -gains[step])[:MOST_IN_PAIRS]

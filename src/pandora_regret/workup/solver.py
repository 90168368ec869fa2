"""The solvers of one case: what each does in a state, and the tree that follows from that."""

from dataclasses import dataclass, replace
from math import inf, nan
from typing import Literal

import numpy as np

from pandora_regret.core.inputs import FloatArray, InputError, Names
from pandora_regret.workup.data import FREE
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import MOST_STATES, compile_graph, sweep
from pandora_regret.workup.policies import Forest, HierarchySearch, exact_policy
from pandora_regret.workup.searches import Search
from pandora_regret.workup.states import UNUSED, Findings, State, StateSpace
from pandora_regret.workup.tree import PlanNode


@dataclass(frozen=True)
class OutcomeChance:
    """What an action may show."""

    name: str
    chance: float
    posterior: dict[str, float]  # of every class, after it


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """Something that can be done now."""

    name: str
    kind: Literal["step", "stop"]
    steps: Names = ()  # of a step: one, or several in a round
    stop: str | None = None  # of a stop: which one
    cost: float  # of the action itself; of a stop what it is expected to lose
    expected_cost: float  # of the action and the best that is known to follow
    extra: float  # beyond the best
    outcomes: tuple[OutcomeChance, ...]

    def begins(self, tree: PlanNode) -> bool:
        """Whether this is what a tree begins with."""
        return (self.kind, self.steps, self.stop) == (tree.kind, tree.steps, tree.stop)


@dataclass(frozen=True)
class Ending:
    """A way to stop, for what is believed."""

    name: str  # with the class that it names
    stop: str
    named: str | None
    loss: float  # expected


class Solver:
    """A policy for one forecast: what it does in each state, and the tree that follows from that."""

    name = "rule"

    def __init__(
        self, workup: Workup, p: FloatArray, found: Findings, seconds: float = 1.0, *, limit: int | None = None
    ) -> None:
        self.workup = workup
        self.p = p
        self.found = found
        self.seconds = seconds
        self.limit = limit
        self.space = StateSpace(workup)
        self.start, self.likelihood = self.space.start(found)
        self.mass = float(p @ self.likelihood)
        self.action_costs = self.space.action_costs.tolist()
        if not (p * self.likelihood).any():
            fix = "the forecast holds this to be impossible"
            raise InputError(argument="found", value=dict(found), fix=fix)
        self.prepare()

    def prepare(self) -> None:
        """Do what is done once, in so much time or with so many states."""

    def option(self, state: State, likelihood: FloatArray) -> int:
        """The action to take, or a way to stop: from -1 down."""
        raise NotImplementedError

    def search(self, state: State, likelihood: FloatArray) -> Search | None:
        """The search by definitive tests in which the plan ends there, if that is what it does."""
        return None

    def value(self, state: State, likelihood: FloatArray) -> float:
        """What is expected to be paid from a state on, times the probability of being there."""
        raise NotImplementedError

    def least(self, cost: float) -> float:
        """What no plan can beat, where this one is expected to cost so much."""
        return cost

    def believed(self, likelihood: FloatArray) -> dict[str, float]:
        """How likely each class is after findings of this likelihood."""
        terms = self.p * likelihood
        return dict(zip(self.workup.classes, (terms / terms.sum()).tolist(), strict=True))

    def grow(self, state: State | None, likelihood: FloatArray) -> PlanNode:
        """The tree from a state on, without branches that the forecast holds to be impossible."""
        chance = float(self.p @ likelihood) / self.mass
        posterior = self.believed(likelihood)
        if state is None or state.done:
            return _done(chance, posterior)
        search = self.search(state, likelihood)
        if search is not None:
            return self.grow_search(search, likelihood)
        option = self.option(state, likelihood)
        if option < 0:
            return self._stopped(-1 - option, chance, posterior)
        branches = dict[str, PlanNode]()
        for row, after in self.space.branches(state, option):
            likelihood_after = likelihood * self.space.rows[row]
            if (self.p * likelihood_after).any():
                branches[self.space.outcome_name(row)] = self.grow(after, likelihood_after)
        return self._action_node(option, chance, posterior, branches)

    def grow_search(self, search: Search, likelihood: FloatArray) -> PlanNode:
        """The tree of a search: every step goes on to the next one, unless it confirms a class."""
        chance = float(self.p @ likelihood) / self.mass
        posterior = self.believed(likelihood)
        if not search.steps:
            return self._stopped(search.stop, chance, posterior)
        step = search.steps[0]
        rest = search._replace(steps=search.steps[1:])
        branches = dict[str, PlanNode]()
        for row in range(self.space.first[step], self.space.first[step + 1]):
            likelihood_after = likelihood * self.space.rows[row]
            if not (self.p * likelihood_after).any():
                continue
            if self.space.confirms[row]:
                chance_after = float(self.p @ likelihood_after) / self.mass
                node = _done(chance_after, self.believed(likelihood_after))
            else:
                node = self.grow_search(rest, likelihood_after)
            branches[self.space.outcome_name(row)] = node
        return self._action_node(step, chance, posterior, branches)

    def _action_node(
        self, action: int, chance: float, posterior: dict[str, float], branches: dict[str, PlanNode]
    ) -> PlanNode:
        """An action, where that is done and what follows."""
        cost = self.action_costs[action]
        cost_after = sum(node.chance * node.expected_cost for node in branches.values()) / chance
        return PlanNode(
            name=self.space.action_name(action),
            kind="step",
            steps=self.space.step_names(action),
            cost=cost,
            chance=chance,
            expected_cost=cost + cost_after,
            posterior=posterior,
            branches=branches,
        )

    def _stopped(self, number: int, chance: float, posterior: dict[str, float]) -> PlanNode:
        """The end of a branch in a way to stop."""
        ending = self.ending(number, posterior)
        return PlanNode(
            name=ending.name,
            kind="stop",
            stop=ending.stop,
            named=ending.named,
            cost=ending.loss,
            chance=chance,
            expected_cost=ending.loss,
            posterior=posterior,
            branches={},
        )

    def alternatives(self, tree: PlanNode) -> list[Alternative]:
        """Everything that can be done at the start: what this tree begins with, then all else by rising cost."""
        options = [self._stop_alternative(number) for number in range(len(self.workup.stops))]
        options += [self._action_alternative(action) for action in self.space.open_actions(self.start)]
        best = tree.expected_cost
        compared = list[Alternative]()
        for option in options:
            if option.begins(tree):
                compared.append(replace(option, expected_cost=best, extra=0.0))
            elif option.expected_cost < inf:  # or no plan that begins with it was found
                extra = max(option.expected_cost - best, 0.0)  # below 0 it is rounding
                compared.append(replace(option, extra=extra))
        return sorted(compared, key=lambda option: (not option.begins(tree), option.expected_cost))

    def _stop_alternative(self, number: int) -> Alternative:
        """A way to stop at the start, without what it costs beyond the best."""
        ending = self.ending(number, self.believed(self.likelihood))
        return Alternative(
            name=ending.name,
            kind="stop",
            stop=ending.stop,
            cost=ending.loss,
            expected_cost=ending.loss,
            extra=nan,
            outcomes=(),
        )

    def _action_alternative(self, action: int) -> Alternative:
        """An action at the start, what it may show, and what it costs with the best that is known to follow.

        What it costs beyond the best is left open.
        """
        cost = self.action_costs[action]
        expected = cost
        outcomes = list[OutcomeChance]()
        for row, state in self.space.branches(self.start, action):
            likelihood = self.likelihood * self.space.rows[row]
            chance = float(self.p @ likelihood) / self.mass
            if chance > 0:
                if state is not None:
                    expected += self.value(state, likelihood) / self.mass
                outcomes.append(OutcomeChance(self.space.outcome_name(row), chance, self.believed(likelihood)))
        return Alternative(
            name=self.space.action_name(action),
            kind="step",
            steps=self.space.step_names(action),
            cost=cost,
            expected_cost=expected,
            extra=nan,
            outcomes=tuple(outcomes),
        )

    def ending(self, number: int, believed: dict[str, float]) -> Ending:
        """A way to stop, with the class that it names, and what it is expected to lose."""
        stop = self.workup.endings[number]
        terms = np.multiply(list(believed.values()), stop.losses)
        if not stop.names_class:
            return Ending(stop.name, stop.name, None, float(terms.sum()))
        named = int(terms.argmax())  # most would be lost by not naming it
        terms[named] = 0.0
        class_name = self.workup.classes[named]
        return Ending(f"{stop.name} {class_name}", stop.name, class_name, float(terms.sum()))


def _done(chance: float, posterior: dict[str, float]) -> PlanNode:
    """The end of a branch in which a class is confirmed."""
    return PlanNode(
        name="done", kind="done", cost=0.0, chance=chance, expected_cost=0.0, posterior=posterior, branches={}
    )


class GraphSolver(Solver):
    """By the state graph that begins with the findings."""

    name = "graph"

    def prepare(self) -> None:
        """Every state, swept for the forecast."""
        self.graph = compile_graph(self.workup, self.found, self.limit or MOST_STATES)
        edge_costs = self.graph.edge_costs(self.workup.costs)
        no_truths = np.empty((1, 0), np.intp)
        self.values, self.choices, _ = sweep(self.p[None], no_truths, self.graph.arrays, edge_costs)

    def option(self, state: State, likelihood: FloatArray) -> int:
        """The action that the sweep chose in a state."""
        choice = int(self.choices[self.graph.states[state], 0])
        return choice if choice < 0 else int(self.graph.actions[choice])

    def value(self, state: State, likelihood: FloatArray) -> float:
        """The cost from a state on that the sweep found, times the chance of coming there."""
        return float(self.values[self.graph.states[state], 0])


class ClosedSolver(Solver):
    """By a closed form: what is left to do is a work-up of the same kind, and its order is known."""

    def prepare(self) -> None:
        """The policy, and which way to stop there may be."""
        policy = exact_policy(self.workup)
        if not isinstance(policy, HierarchySearch | Forest):
            raise TypeError(f"{self.workup!r} has no closed form.")
        self.policy = policy
        self.name = self.workup.method
        self.stop = -1 - int(np.argmin([stop.losses[0] for stop in self.workup.endings]))

    def option(self, state: State, likelihood: FloatArray) -> int:
        """The first step of the order that can be made."""
        possible = set(self.space.open_actions(state))
        order = self.policy.order(self.p * likelihood, self._costs_left(state))
        return next((step for step in order if step in possible), self.stop)

    def value(self, state: State, likelihood: FloatArray) -> float:
        """The cost of the work-up that is left."""
        terms = (self.p * likelihood)[None]
        truths = np.arange(terms.size)[None]
        return float((terms * self.policy.paid(terms, truths, self._costs_left(state))).sum())

    def _costs_left(self, state: State) -> FloatArray:
        """What steps cost now, (M,): next to nothing where they have been made."""
        return np.where(np.array(state.outcomes) != UNUSED, FREE, self.workup.costs)

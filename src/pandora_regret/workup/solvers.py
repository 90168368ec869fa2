"""Policies for one case: what each does in every state, and so the tree of what may follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.kernels import engine
from pandora_regret.workup import reference
from pandora_regret.workup.advice import Myopic, stop_loss
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import Graph, compile_graph
from pandora_regret.workup.states import UNUSED, Branch, State, StateSpace

FREE = 1e-200  # the cost of a step that has been made


@dataclass(frozen=True)
class OutcomeChance:
    """What an action may show."""

    name: str
    chance: float
    posterior: dict[str, float]  # of every class, after it


@dataclass(frozen=True)
class Alternative:
    """Something that can be done now."""

    name: str
    kind: Literal["step", "stop"]
    cost: float  # of the action itself; of a stop what it is expected to lose
    expected_cost: float  # of the action and all that follows
    extra: float  # beyond the best
    outcomes: tuple[OutcomeChance, ...]


@dataclass(frozen=True)
class PlanNode:
    """What to do at one point of the tree, and what may follow."""

    name: str
    kind: Literal["step", "stop", "done"]
    cost: float
    chance: float  # of coming here
    expected_cost: float  # from here on
    posterior: dict[str, float]
    branches: dict[str, PlanNode]

    def to_protocol(self) -> dict[str, Any]:
        """The tree as `Workup.menu` reads it; rounds of several steps cannot be written so."""
        if self.kind != "step":
            return {"stop": self.name}
        open_ = {outcome: node.to_protocol() for outcome, node in self.branches.items() if node.kind != "done"}
        return {"step": self.name} | ({"then": open_} if open_ else {})


class Solver:
    """A policy for one forecast: what it does in each state, and what follows from that."""

    def __init__(self, space: StateSpace, p: FloatArray, found: Mapping[str, str | None]) -> None:
        self.space, self.p, self.workup = space, p, space.workup
        self.start, self.likelihood = space.start(found)

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        """The action to take and its branches, or None to stop."""
        raise NotImplementedError

    def value(self, state: State, likelihood: FloatArray) -> float:
        """What is expected to be paid from a state on, times the probability of being there."""
        return self.grow(state, likelihood, 0.0)[0].expected_cost * float(self.p @ likelihood)

    def grow(self, state: State, likelihood: FloatArray, chance: float) -> tuple[PlanNode, FloatArray]:
        """The tree from a state on, and what it costs if each class is the truth; NaN for those it excludes."""
        if state.done:
            return self._done(likelihood, chance)
        option = self.option(state, likelihood)
        if option is None:
            name, lost = self._stop(likelihood)
            cost = self._mean(lost, likelihood)
            return PlanNode(name, "stop", cost, chance, cost, self._posterior(likelihood), {}), _if_possible(
                lost, likelihood
            )
        action, branches = option
        cost = self._action_cost(action)
        costs, nodes = np.full(len(self.p), cost), {}
        for branch in branches:
            given = self.space.chance(action, branch)
            node, below = self._after(branch, likelihood * given, chance * self._mean(given, likelihood))
            costs += np.where(given > 0, given * np.nan_to_num(below), 0.0)
            if node.chance > 0 or chance == 0:
                nodes[self._outcome_name(action, branch)] = node
        name, posterior = self.space.action_name(action), self._posterior(likelihood)
        expected = self._mean(costs, likelihood)
        return PlanNode(name, "step", cost, chance, expected, posterior, nodes), _if_possible(costs, likelihood)

    def _after(self, branch: Branch, likelihood: FloatArray, chance: float) -> tuple[PlanNode, FloatArray]:
        return (
            self._done(likelihood, chance) if branch.state is None else self.grow(branch.state, likelihood, chance)
        )

    def _done(self, likelihood: FloatArray, chance: float) -> tuple[PlanNode, FloatArray]:
        done = PlanNode("done", "done", 0.0, chance, 0.0, self._posterior(likelihood), {})
        return done, _if_possible(np.zeros(len(self.p)), likelihood)

    def alternatives(self) -> Iterator[Alternative]:
        """Everything that can be done at the start."""
        mass, best = float(self.p @ self.likelihood), self.value(self.start, self.likelihood)
        for stop in self.workup.stops:
            lost = stop_loss(self.p * self.likelihood, stop.losses, stop.names_class) / mass
            yield Alternative(self._stop_name(stop, self.likelihood), "stop", lost, lost, lost - best / mass, ())
        for action, branches in self.space.moves(self.start):
            cost, outcomes, total = self._action_cost(action), [], 0.0
            for branch in branches:
                after = self.likelihood * self.space.chance(action, branch)
                chance = float(self.p @ after) / mass
                if chance > 0:
                    total += 0.0 if branch.state is None else self.value(branch.state, after)
                    outcomes.append(
                        OutcomeChance(self._outcome_name(action, branch), chance, self._posterior(after))
                    )
            name, expected = self.space.action_name(action), cost + total / mass
            yield Alternative(name, "step", cost, expected, expected - best / mass, tuple(outcomes))

    def _action_cost(self, action: int) -> float:
        return float(self.space.uses[action] @ self.workup.costs + self.workup.fee)

    def _outcome_name(self, action: int, branch: Branch) -> str:
        pairs = zip(self.space.actions[action], branch.outcomes, strict=True)
        return " + ".join(self.workup.steps[step].outcomes[outcome] for step, outcome in pairs)

    def _stop(self, likelihood: FloatArray) -> tuple[str, FloatArray]:
        """The name of the best way to stop, and what it loses if each class is the truth."""
        if not self.workup.stops:
            return "unresolved", np.array(self.workup.unresolved)
        terms = self._terms(likelihood)
        stop = min(self.workup.stops, key=lambda one: stop_loss(terms, one.losses, one.names_class))
        lost = np.array(stop.losses)
        if stop.names_class:
            lost[int(np.argmax(terms * lost))] = 0.0
        return self._stop_name(stop, likelihood), lost

    def _stop_name(self, stop: Any, likelihood: FloatArray) -> str:
        named = int(np.argmax(self._terms(likelihood) * np.array(stop.losses)))
        return f"{stop.name} {self.workup.classes[named]}" if stop.names_class else str(stop.name)

    def _terms(self, likelihood: FloatArray) -> FloatArray:
        """What is believed; where that is impossible, as if all classes were alike."""
        terms = self.p * likelihood
        return terms if terms.any() else likelihood

    def _mean(self, values: FloatArray, likelihood: FloatArray) -> float:
        terms = self._terms(likelihood)
        return float(terms @ np.nan_to_num(values) / terms.sum())

    def _posterior(self, likelihood: FloatArray) -> dict[str, float]:
        terms = self._terms(likelihood)
        return dict(zip(self.workup.classes, (terms / terms.sum()).tolist(), strict=True))


def _if_possible(costs: FloatArray, likelihood: FloatArray) -> FloatArray:
    return np.where(likelihood > 0, costs, np.nan)


def optimal_solver(workup: Workup, p: FloatArray, found: Mapping[str, str | None], limit: int) -> Solver:
    """By the state graph, unless it may be too large and there is a closed form."""
    space = StateSpace(workup)
    closed_form = workup.method != "graph" and space.most_states() > limit
    return ClosedForm(space, p, found) if closed_form else Optimal(workup, p, found, limit)


class ClosedForm(Solver):
    """The policy of least expected cost by a closed form: what is left to do is a work-up of the same kind."""

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        terms = self._terms(likelihood)
        moves = list(self.space.moves(state))
        totals = [self._total(terms, likelihood, *move) for move in moves]
        stops = [stop_loss(terms, stop.losses, stop.names_class) for stop in self.workup.stops]
        least = min([*stops, *totals], default=0.0) * reference.AS_GOOD
        if not moves or any(loss <= least for loss in stops):
            return None
        return next(move for move, total in zip(moves, totals, strict=True) if total <= least)

    def _total(self, terms: FloatArray, likelihood: FloatArray, action: int, branches: list[Branch]) -> float:
        after = ((branch.state, likelihood * self.space.chance(action, branch)) for branch in branches)
        behind = sum(self.value(state, chance) for state, chance in after if state is not None)
        return self._action_cost(action) * float(terms.sum()) + behind

    def value(self, state: State, likelihood: FloatArray) -> float:
        made = np.array(state.outcomes) != UNUSED
        costs = np.where(made, FREE, self.workup.costs)
        return float(self.workup.policy.predicted(self._terms(likelihood)[None], costs)[0])


class Optimal(Solver):
    """The policy of least expected cost, from the state graph that begins with the findings."""

    def __init__(self, workup: Workup, p: FloatArray, found: Mapping[str, str | None], limit: int) -> None:
        graph = compile_graph(workup, found, limit)
        super().__init__(graph.space, p, found)
        self.graph, edge_costs = graph, graph.edge_costs(workup.costs)
        self.number = {state: index for index, state in enumerate(graph.states)}
        self.values, self.choices = _solve(graph, p, edge_costs)
        self.fallback = _solve(graph, np.ones(len(p)), edge_costs)[1]

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        number = self.number[state]
        choice = (self.choices if (self.p * likelihood).any() else self.fallback)[number]
        if choice < 0:
            return None
        action = int(self.graph.actions[self.graph.edges[number] + choice])
        return action, next(branches for other, branches in self.space.moves(state) if other == action)

    def value(self, state: State, likelihood: FloatArray) -> float:
        return float(self.values[self.number[state]])


def _solve(graph: Graph, p: FloatArray, edge_costs: FloatArray) -> tuple[FloatArray, Any]:
    """The value of every state for one forecast, and what it does there."""
    if engine.worth_compiling(16 * len(graph.actions)):
        from pandora_regret.workup import loops

        values, choices = loops.solve(p, graph.arrays, edge_costs)
        return np.asarray(values), choices
    table, options = reference.sweep(graph, p[None], edge_costs)
    return table[:, 0], options[:, 0]


class Advised(Solver):
    """A rule that looks one step ahead."""

    def __init__(self, workup: Workup, p: FloatArray, found: Mapping[str, str | None], rule: str) -> None:
        super().__init__(StateSpace(workup), p, found)
        self.rule = Myopic(self.space, p, rule)

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        return self.rule.option(state, likelihood)

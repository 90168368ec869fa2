"""One case: what to do next, why, and the whole tree of what may follow."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, InputError, read_choice, read_probabilities
from pandora_regret.kernels import engine
from pandora_regret.kernels.reference import probabilities
from pandora_regret.workup import reference
from pandora_regret.workup.advice import Myopic, stop_loss
from pandora_regret.workup.description import MOST_STATES, Workup
from pandora_regret.workup.scores import class_columns
from pandora_regret.workup.states import Branch, State, StateSpace, compile_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = {
    "optimal": "least expected cost",
    "greedy": "one step ahead by chance of being done",
    "information": "one step ahead by entropy",
}


@dataclass(frozen=True)
class Outcome:
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
    outcomes: tuple[Outcome, ...]


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


@dataclass(frozen=True)
class WorkupPlan:
    """What to do next for one case, what else could be done, and the tree of what may follow."""

    next: str
    expected_cost: float
    alternatives: tuple[Alternative, ...]  # the best first
    tree: PlanNode
    cost_by_class: dict[str, float]  # what the plan costs if a class is the truth
    found: dict[str, str | None]
    currency: str | None
    method: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def to_text(self) -> str:
        """A few lines for people."""
        from pandora_regret.workup.drawing import as_text

        return as_text(self)

    def to_svg(self) -> str:
        """The tree as a picture that needs no other file."""
        from pandora_regret.workup.drawing import as_svg

        return as_svg(self)

    def draw(self, ax: Axes | None = None) -> Axes:
        """The tree in matplotlib, on the current axes unless others are given."""
        from pandora_regret.workup.drawing import draw_tree

        return draw_tree(self, ax)

    def save_svg(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture of the tree to a file."""
        from pandora_regret.atomic import write_atomically

        return write_atomically(path, lambda file: file.write(self.to_svg().encode()))


def plan_workup(
    y_proba: Any,
    workup: Workup,
    found: Mapping[str, str | None] | None = None,
    *,
    method: Literal["optimal", "greedy", "information"] = "optimal",
    labels: ArrayLike | None = None,
    logits: bool = False,
    limit: int = MOST_STATES,
) -> WorkupPlan:
    """What to do next for one case, and why.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities. It is what was
        believed before the findings.
    workup
        What can be done, and what it costs.
    found
        Outcomes of steps made so far: ``{"dermoscopy": "suspicious"}``; a visit has the outcome None. What these
        steps require counts as done too.
    method
        "optimal" costs least. "greedy" and "information" look one step ahead, for comparison: advice for one
        case, not a proper score (a greedy search of the groups {0, 1}, {0, 2}, {1, 3} costs 1.75 with the honest
        uniform forecast, and 1.50 with (.2, .2, .3, .3)).
    limit
        The most states to look at.

    Examples
    --------
    >>> workup = Workup(
    ...     ["melanoma", "nevus"],
    ...     {"dermoscopy": {"cost": 50, "positive_for": ["melanoma"], "sensitivity": 0.9, "specificity": 0.8},
    ...      "biopsy": {"cost": 400, "tells_apart": "all"}},
    ...     stops={"watch": {"loss": {"melanoma": 9000, "nevus": 0}}},
    ... )
    >>> plan = plan_workup({"melanoma": 0.2, "nevus": 0.8}, workup)
    >>> plan.next, round(plan.expected_cost, 1)
    ('dermoscopy', 366.0)
    >>> plan_workup({"melanoma": 0.2, "nevus": 0.8}, workup, {"dermoscopy": "positive"}).next
    'biopsy'
    """
    read_choice(method, "method", METHODS)
    p, found = _read_case(y_proba, workup, labels, logits), dict(found or {})
    solver = _Optimal(workup, p, found, limit) if method == "optimal" else _Advised(workup, p, found, method)
    if not (p * solver.likelihood).any():
        raise InputError(f"found is {found}: the forecast holds this to be impossible.")
    tree, costs = solver.grow(solver.start, solver.likelihood, 1.0)
    alternatives = (
        []
        if tree.kind == "done"
        else sorted(solver.alternatives(), key=lambda one: (one.expected_cost, one.name != tree.name))
    )
    by_class = {name: float(cost) for name, cost in zip(workup.classes, costs, strict=True) if np.isfinite(cost)}
    return WorkupPlan(
        tree.name, tree.expected_cost, tuple(alternatives), tree, by_class, found, workup.currency or None, method
    )


def _read_case(y_proba: Any, workup: Workup, labels: Any, logits: bool) -> FloatArray:
    if hasattr(y_proba, "keys") and np.ndim(y_proba) < 2:  # a mapping, or a row of a pandas frame
        y_proba, labels = [chance for _, chance in y_proba.items()], list(y_proba.keys())
    if np.ndim(y_proba) != 1:
        raise InputError(
            f"y_proba has shape {np.shape(y_proba)}: pass one forecast, shape (K,), such as y_proba[0]."
        )
    forecast = read_probabilities(np.asarray(y_proba, dtype=float)[None], labels=labels, logits=logits)
    return np.asarray(probabilities(next(forecast.blocks()))[0, class_columns(forecast, workup)])


class _Solver:
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
                    outcomes.append(Outcome(self._outcome_name(action, branch), chance, self._posterior(after)))
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


class _Optimal(_Solver):
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


def _solve(graph: Any, p: FloatArray, edge_costs: FloatArray) -> tuple[FloatArray, Any]:
    """The value of every state for one forecast, and what it does there."""
    if engine.worth_compiling(16 * len(graph.actions)):
        from pandora_regret.workup import loops

        values, choices = loops.solve(p, graph.arrays, edge_costs)
        return np.asarray(values), choices
    table, options = reference.sweep(graph, p[None], edge_costs)
    return table[:, 0], options[:, 0]


class _Advised(_Solver):
    """A rule that looks one step ahead."""

    def __init__(self, workup: Workup, p: FloatArray, found: Mapping[str, str | None], rule: str) -> None:
        super().__init__(StateSpace(workup), p, found)
        self.rule = Myopic(self.space, p, rule)

    def option(self, state: State, likelihood: FloatArray) -> tuple[int, list[Branch]] | None:
        return self.rule.option(state, likelihood)

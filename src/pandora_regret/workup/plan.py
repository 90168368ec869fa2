"""One case: what to do next, why, and what may follow; in a work-up, or in a search with one test per class."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.imperfect import imperfect_order, predicted_expenditure
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.forecast import read_probabilities
from pandora_regret.inputs.tests import SearchName, Tests, read_tests
from pandora_regret.kernels import engine
from pandora_regret.kernels.reference import probabilities
from pandora_regret.text import Shown, Table, money, percent
from pandora_regret.workup.description import Workup
from pandora_regret.workup.graph import MOST_STATES, compile_graph, sweep
from pandora_regret.workup.policies import exact_policy
from pandora_regret.workup.scores import check_workup, class_columns
from pandora_regret.workup.states import UNUSED, State, StateSpace
from pandora_regret.workup.tree import PlanNode, as_svg

MOST_STEPS = 10  # in a notebook
FREE = 1e-200  # the cost of a step that has been made


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan, as long as there is only one way to go on."""

    test: Any  # the step, or the class that is tested
    probability: float  # of a search: that it is the truth by now; of a work-up: that it ends here
    cost: float  # of this step; of a search with the work-up of the false alarms it raises
    total_cost: float  # of all steps up to here, if the case comes this far
    done: float  # the chance that the case has ended by now


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


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """What to do next for one case, and what may follow.

    `plan_workup` and `plan_search` both make one. A search is a line, its `steps`; a work-up has a `tree` and
    alternatives, and its `steps` lead up to where the tree branches.
    """

    next: Any  # the first step, the class to test for, a way to stop, or "done"
    expected_cost: float
    steps: tuple[PlanStep, ...]
    alternatives: tuple[Alternative, ...] = ()  # the best first
    tree: PlanNode | None = None
    cost_by_class: dict[str, float] | None = None  # what the plan costs if a class is the truth
    found: dict[str, str | None] | None = None
    currency: str = ""  # where the work-up has one
    method: str = "search"  # how it was found: the exact method of a work-up, or the kind of search

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def __repr__(self) -> str:
        return f"Plan(next={self.next!r}, expected_cost={self.expected_cost:.6g})"

    def __str__(self) -> str:
        return super().__str__() if self.tree is None else self.to_text()

    def _table(self) -> Table:
        if self.tree is None:
            more = [f"and {len(self.steps) - MOST_STEPS:,} more"] if len(self.steps) > MOST_STEPS else []
            header = ["Test for", "Probability now", "Cost", "Total so far", "Done by then"]
            return Table(header, [self._cells(step) for step in self.steps[:MOST_STEPS]], [self.to_text()], more)
        rows = [
            (one.name, money(one.cost, self.currency), money(one.expected_cost, self.currency))
            for one in self.alternatives
        ]
        header = ["What can be done now", "It costs", "Expected cost from here"]
        return Table(header, rows, self.to_text().splitlines())

    def _cells(self, step: PlanStep) -> tuple[str, ...]:
        chance, done = (f"{100 * share:.1f} %" for share in (step.probability, step.done))
        return str(step.test), chance, money(step.cost, ""), money(step.total_cost, ""), done

    def _frame(self) -> list[dict[str, Any]]:
        """The steps of a search, the alternatives of a work-up."""
        if self.tree is None:
            return [asdict(step) for step in self.steps]
        columns = ("name", "kind", "cost", "expected_cost", "extra")
        return [{key: getattr(one, key) for key in columns} for one in self.alternatives]

    def to_text(self) -> str:
        """What to do next, what may come of it, and what else could be done."""
        if self.tree is None:
            return f"Expected cost: {money(self.expected_cost, self.currency)}."
        node, first = self.tree, self.tree.in_words(self.currency)
        while len(node.branches) == 1:  # a visit tells nothing: what comes after it does
            [node] = node.branches.values()
            first += f", then {node.in_words(self.currency)}"
        lines = [f"Next: {first}."]
        width = max((len(outcome) for outcome in node.branches), default=0)
        for outcome, after in node.branches.items():
            ends = after.kind == "step" and all(one.kind == "done" for one in after.branches.values())
            words = f"{after.in_words(self.currency)}{', then done' if ends else ''}"
            lines.append(f"  {outcome:{width}} ({percent(after.chance / node.chance)}) -> {words}")
        lines.append(f"Expected cost from here: {money(self.expected_cost, self.currency)}.")
        others = [self._compared(one) for one in self.alternatives if one.name != self.next][:4]
        return "\n".join([*lines, f"Alternatives: {', '.join(others)}."] if others else lines)

    def _compared(self, one: Alternative) -> str:
        return f"{one.name} {money(one.expected_cost, self.currency)} (+{money(one.extra, self.currency)})"

    def to_svg(self) -> str:
        """The tree as a picture that needs no other file."""
        if self.tree is None:
            fix = "plot_search_trace draws it"
            raise InputError("the plan of a search is a line, not a tree", argument="plan", place="", fix=fix)
        return as_svg(self.tree, self.currency)

    def save_svg(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture of the tree to a file."""
        from pandora_regret.atomic import write_atomically

        return write_atomically(path, lambda file: file.write(self.to_svg().encode()))


def plan_search(
    y_proba: Any,
    costs: Any = None,
    *,
    tests: Tests | None = None,
    search: SearchName = "single_pass",
    steps: int | None = None,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
) -> Plan:
    """The optimal order of tests for one forecast, step by step.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities.
    costs
        What the test of each class costs, shape (K,) or named by class.
    tests
        Instead of `costs`: tests that may miss their class or raise false alarms.
    search
        What happens when no test finds the truth, as in `imperfect_order`; perfect tests need one pass.
    steps
        How many tests to list: K, one pass, unless given.
    labels, logits, normalise
        As in `pandora_regret`.

    Returns
    -------
    Plan
        The steps, and what they are expected to cost in all; `print` shows a table.

    See Also
    --------
    plan_workup : For tests that tell about several classes.
    plot_search_trace : As a picture.

    Examples
    --------
    >>> plan = plan_search({"melanoma": 0.2, "nevus": 0.8}, costs={"melanoma": 384.0, "nevus": 75.0})
    >>> [(step.test, step.total_cost, step.done) for step in plan.steps]
    [('nevus', 75.0, 0.8), ('melanoma', 459.0, 1.0)]
    >>> plan.expected_cost
    151.8
    """
    forecast = _read_case(y_proba, labels, logits, normalise)
    if (costs is None) == (tests is None):
        problem = "pass either costs, for tests that are always right, or tests, and not both"
        raise InputError(problem, argument="tests", place="")
    used = read_tests(Tests(cost=costs, labels=forecast.labels) if tests is None else tests, forecast)
    how: dict[str, Any] = {"search": search, "labels": forecast.labels, "logits": logits}
    order = imperfect_order(forecast.values, used, steps=steps, **how)[0]
    line = tuple(_along(probabilities(next(forecast.blocks()))[0], order, used, forecast.labels))
    expected = float(predicted_expenditure(forecast.values, used, **how))
    return Plan(line[0].test, expected, line, method=search)


def _read_case(y_proba: Any, labels: Any, logits: bool, normalise: bool) -> Forecast:
    """One forecast, checked."""
    if hasattr(y_proba, "keys") and np.ndim(y_proba) < 2:  # a mapping, or a row of a pandas frame
        y_proba, labels = [chance for _, chance in y_proba.items()], list(y_proba.keys())
    if np.ndim(y_proba) != 1:
        shape, fix = np.shape(y_proba), "pass one forecast, shape (K,), such as y_proba[0]"
        raise InputError(f"has shape {shape}", argument="y_proba", value=shape, fix=fix)
    table = np.asarray(y_proba)[None]
    return read_probabilities(table, labels=labels, logits=logits, normalise=normalise).check()


def _along(p: FloatArray, order: IntArray, tests: Tests, labels: Sequence[Any]) -> Iterator[PlanStep]:
    """Bayes' rule along the order: a test that found nothing makes its class less likely, and others more."""
    missed, before = p.copy(), np.empty(len(order))
    for step, k in enumerate(order):
        before[step] = missed[k]
        missed[k] *= 1 - tests.sensitivity[k]
    caught = before * tests.sensitivity[order]  # the chance that this step finds the truth
    left = np.append(caught, missed.sum())[::-1].cumsum()[::-1]  # that no step before did: added from the end,
    # where the terms are small, since what is left of 1 after many subtractions is rounding
    now = np.divide(before, left[:-1], out=np.zeros(len(order)), where=left[:-1] > 0)
    costs = tests.fruitless_cost[order]
    columns = (now, costs, costs.cumsum(), np.clip(1 - left[1:], 0.0, None))
    for k, values in zip(order, zip(*(column.tolist() for column in columns), strict=True), strict=True):
        yield PlanStep(labels[k], *values)


def plan_workup(
    y_proba: Any,
    workup: Workup,
    found: Mapping[str, str | None] | None = None,
    *,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    limit: int = MOST_STATES,
) -> Plan:
    """The plan of least expected cost for one case, and what may follow.

    Parameters
    ----------
    y_proba
        One forecast: probabilities of K classes, or a mapping from classes to probabilities.
    workup
        What can be done, and what it costs.
    found
        Outcomes of steps made so far: ``{"dermoscopy": "suspicious"}``; a visit has the outcome None. What these
        steps require counts as done too.
    labels, logits, normalise
        As in `pandora_regret`.
    limit
        The most states to look at.

    Returns
    -------
    Plan
        The best step, what it costs from here, alternatives, and the tree of what may follow; `print` shows it.

    See Also
    --------
    workup_cost : The score of many forecasts.
    plan_search : Where each test tells about one class.

    References
    ----------
    Horn (1972), on steps that must come before others [horn72]_.

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
    space, found = StateSpace(check_workup(workup)), dict(found or {})
    forecast = _read_case(y_proba, labels, logits, normalise)
    p = np.asarray(probabilities(next(forecast.blocks()))[0, class_columns(forecast, workup)], np.float64)
    closed_form = workup.method != "graph" and space.most_states() > limit
    solver: Solver = ByOrder(space, p, found) if closed_form else ByGraph(space, p, found, limit)
    if not (p * solver.likelihood).any():
        raise InputError(f"found is {found}: the forecast holds this to be impossible.")
    tree, costs = solver.grow(solver.start, solver.likelihood, 1.0)
    alternatives = [] if tree.kind == "done" else list(solver.alternatives(tree.expected_cost))
    alternatives.sort(key=lambda one: (one.expected_cost, one.name != tree.name))
    by_class = {name: float(cost) for name, cost in zip(workup.classes, costs, strict=True) if np.isfinite(cost)}
    return Plan(
        tree.name,
        tree.expected_cost,
        tuple(_down(tree)),
        tuple(alternatives),
        tree,
        by_class,
        found,
        workup.currency,
        workup.method,
    )


def _down(node: PlanNode) -> Iterator[PlanStep]:
    """The steps of a tree as long as only one of their outcomes goes on."""
    total = 0.0
    while node.kind == "step":
        open_ = [child for child in node.branches.values() if child.kind != "done"]
        going_on, total = sum(child.chance for child in open_), total + node.cost
        yield PlanStep(node.name, 1 - going_on / node.chance, node.cost, total, 1 - going_on)
        if len(open_) != 1:
            return
        [node] = open_


class Solver:
    """A policy for one forecast: what it does in each state, and the tree that follows from that."""

    def __init__(self, space: StateSpace, p: FloatArray, found: Mapping[str, str | None]) -> None:
        self.space, self.p, self.workup = space, p, space.workup
        self.start, self.likelihood = space.start(found)

    def option(self, state: State, likelihood: FloatArray) -> int:
        """The action to take, or a way to stop: from -1 down."""
        raise NotImplementedError

    def value(self, state: State, likelihood: FloatArray) -> float:
        """What is expected to be paid from a state on, times the probability of being there."""
        raise NotImplementedError

    def grow(self, state: State | None, likelihood: FloatArray, chance: float) -> tuple[PlanNode, FloatArray]:
        """The tree from a state on, and what it costs if each class is the truth; NaN for those it excludes.

        Of what the forecast holds to be impossible, branches are left out unless nothing else is left.
        """
        excluded, posterior = np.where(likelihood > 0, 0.0, np.nan), self._posterior(likelihood)
        if state is None or state.done:
            return PlanNode("done", "done", 0.0, chance, 0.0, posterior, {}), excluded
        option = self.option(state, likelihood)
        if option < 0:
            name, losses = self._stop(-1 - option, likelihood)
            cost = self._mean(losses, likelihood)
            return PlanNode(name, "stop", cost, chance, cost, posterior, {}), losses + excluded
        cost = self._action_cost(option)
        costs, nodes = np.full(len(self.p), cost), {}
        branches = next(branches for action, branches in self.space.moves(state) if action == option)
        for branch in branches:
            given = self.space.chance(option, branch)
            here = chance * self._mean(given, likelihood)
            node, below = self.grow(branch.state, likelihood * given, here)
            costs += np.where(given > 0, given * np.nan_to_num(below), 0.0)
            if here > 0 or chance == 0:
                nodes[self.space.outcome_name(option, branch)] = node
        expected, name = self._mean(costs, likelihood), self.space.action_name(option)
        return PlanNode(name, "step", cost, chance, expected, posterior, nodes), costs + excluded

    def alternatives(self, best: float) -> Iterator[Alternative]:
        """Everything that can be done at the start."""
        mass = float(self.p @ self.likelihood)
        for number in range(len(self.workup.stops)):
            name, losses = self._stop(number, self.likelihood)
            lost = self._mean(losses, self.likelihood)
            yield Alternative(name, "stop", lost, lost, lost - best, ())
        for action, branches in self.space.moves(self.start):
            cost, outcomes = self._action_cost(action), []
            expected = cost
            for branch in branches:
                after = self.likelihood * self.space.chance(action, branch)
                chance = float(self.p @ after) / mass
                if chance > 0:
                    expected += 0.0 if branch.state is None else self.value(branch.state, after) / mass
                    name = self.space.outcome_name(action, branch)
                    outcomes.append(OutcomeChance(name, chance, self._posterior(after)))
            name = self.space.action_name(action)
            yield Alternative(name, "step", cost, expected, expected - best, tuple(outcomes))

    def _action_cost(self, action: int) -> float:
        return float(self.space.uses[action] @ self.workup.costs + self.workup.fee)

    def _stop(self, number: int, likelihood: FloatArray) -> tuple[str, FloatArray]:
        """The name of a way to stop, and what it loses if each class is the truth."""
        if not self.workup.stops:
            return "unresolved", np.array(self.workup.unresolved)
        stop = self.workup.stops[number]
        losses = np.array(stop.losses)
        if not stop.names_class:
            return stop.name, losses
        named = int(np.argmax(self._terms(likelihood) * losses))
        losses[named] = 0.0
        return f"{stop.name} {self.workup.classes[named]}", losses

    def _terms(self, likelihood: FloatArray) -> FloatArray:
        """What is believed; where that is impossible, as if all classes were alike."""
        terms = self.p * likelihood
        return terms if terms.any() else likelihood

    def _mean(self, values: FloatArray, likelihood: FloatArray) -> float:
        terms = self._terms(likelihood)
        return float(terms @ values / terms.sum())

    def _posterior(self, likelihood: FloatArray) -> dict[str, float]:
        terms = self._terms(likelihood)
        return dict(zip(self.workup.classes, (terms / terms.sum()).tolist(), strict=True))


class ByOrder(Solver):
    """By a closed form: what is left to do is a work-up of the same kind, and its order is known."""

    def option(self, state: State, likelihood: FloatArray) -> int:
        possible = {action for action, _ in self.space.moves(state)}
        policy, costs = exact_policy(self.workup), self._costs(state)
        for step in policy.order(self._terms(likelihood), costs):  # actions begin with the steps by themselves
            if step in possible:
                return step
        return -1 - int(np.argmin([stop.losses[0] for stop in self.workup.stops] or [0]))

    def value(self, state: State, likelihood: FloatArray) -> float:
        return float(exact_policy(self.workup).predicted((self.p * likelihood)[None], self._costs(state))[0])

    def _costs(self, state: State) -> FloatArray:
        return np.where(np.array(state.outcomes) != UNUSED, FREE, self.workup.costs)


class ByGraph(Solver):
    """By the state graph that begins with the findings."""

    def __init__(self, space: StateSpace, p: FloatArray, found: Mapping[str, str | None], limit: int) -> None:
        super().__init__(space, p, found)
        self.graph = compile_graph(self.workup, found, limit)
        self.number = {state: index for index, state in enumerate(self.graph.states)}
        self.values, self.choices = self._solve(p)
        self.fallback = self._solve(np.ones(len(p)))[1]

    def _solve(self, p: FloatArray) -> tuple[FloatArray, IntArray]:
        """The value of every state for one forecast, and what it does there."""
        arrays, edge_costs = self.graph.arrays, self.graph.edge_costs(self.workup.costs)
        if engine.worth_compiling(16 * len(self.graph.actions)):
            from pandora_regret.workup import loops

            values, choices = loops.solve(p, arrays, edge_costs)
            return values, choices
        table, options, _ = sweep(p[None], arrays, edge_costs)
        return table[:, 0], options[:, 0]

    def option(self, state: State, likelihood: FloatArray) -> int:
        number = self.number[state]
        choice = (self.choices if (self.p * likelihood).any() else self.fallback)[number]
        return int(choice if choice < 0 else self.graph.actions[self.graph.arrays.edges[number] + choice])

    def value(self, state: State, likelihood: FloatArray) -> float:
        return float(self.values[self.number[state]])

"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.workup.description import MOST_STATES, Workup

UNUSED = -1
MOST_TOGETHER = 8  # steps of one round: all their subsets are actions
ROUNDING = 1e-9
NOWHERE = 2**32 - 1
AFFORDABLE = 1 + 1e-12  # a budget is not exceeded by rounding


class State(NamedTuple):
    """What is known of a case."""

    possible: int  # one bit per class
    outcomes: tuple[int, ...]  # (M,) of the steps that are kept track of: the outcome's number, or UNUSED
    rounds: int = 0  # counted where they are paid out of a budget
    done: bool = False  # only of a start: the findings have already ended the work-up


class GraphArrays(NamedTuple):
    """A graph as the compiled loops read it; see `Graph`."""

    likelihood: FloatArray
    may_stop: IntArray
    edges: IntArray
    more_edges: IntArray
    children: Any
    more: Any
    behind: Any
    ended: FloatArray
    losses: FloatArray
    weighted_losses: FloatArray  # (stops S, K): of one stop after the other
    names_class: IntArray
    constant: IntArray


class Branch(NamedTuple):
    """One result of an action."""

    outcomes: tuple[int, ...]  # one per step of the action
    state: State | None  # None where the work-up ends


class StateSpace:
    """What can be done in each state, and where it leads."""

    def __init__(self, workup: Workup) -> None:
        self.workup, self.n_classes = workup, len(workup.classes)
        self.chances = [np.array(step.chances) for step in workup.steps]
        self.masks = [[_bits(row > 0) for row in table] for table in self.chances]
        index = workup.step_index
        self.requires = [
            [(index[one.step], _outcome_index(workup, one)) for one in step.requires] for step in workup.steps
        ]
        required = {before for pairs in self.requires for before, _ in pairs}
        self.tracked = [
            workup.budget is not None or not step.is_certain or number in required
            for number, step in enumerate(workup.steps)
        ]
        self.actions = self._actions()
        self._tells: dict[tuple[int, int], bool] = {}

    def _actions(self) -> list[tuple[int, ...]]:
        """Every step by itself, then every set of steps that can be ordered together."""
        together = [self.workup.step_index[name] for name in self.workup.together]
        if len(together) > MOST_TOGETHER:
            raise InputError(
                f"rounds.together lists {len(together)} steps: at most {MOST_TOGETHER} fit into one round."
            )
        sets = [set_ for size in range(2, len(together) + 1) for set_ in combinations(together, size)]
        return [(step,) for step in range(len(self.workup.steps))] + sets

    @cached_property
    def uses(self) -> FloatArray:
        """Which steps each action makes, (A, M)."""
        table = np.zeros((len(self.actions), len(self.workup.steps)))
        for action, steps in enumerate(self.actions):
            table[action, list(steps)] = 1
        return table

    def action_name(self, action: int) -> str:
        """The steps of an action, in words."""
        return " + ".join(self.workup.steps[step].name for step in self.actions[action])

    def start(self, found: Mapping[str, str | None] | None = None) -> tuple[State, FloatArray]:
        """The state after some findings, and how likely they are for each class; prerequisites count as made."""
        outcomes, likelihood = [UNUSED] * len(self.tracked), np.ones(self.n_classes)
        findings = self._findings(found or {})
        for step, outcome in findings.items():
            likelihood = likelihood * self.chances[step][outcome]
            outcomes[step] = outcome if self.tracked[step] else UNUSED
        if not likelihood.any():
            raise InputError(f"found is {dict(found or {})}: no class can have all of these outcomes.")
        possible = _bits(likelihood > 0)
        done = bool(findings) and self._ends(possible, tuple(findings), tuple(findings.values()))
        return State(possible, tuple(outcomes), done=done), likelihood

    def _findings(self, found: Mapping[str, str | None]) -> dict[int, int]:
        findings: dict[int, int] = {}
        for name, outcome in found.items():
            self._add_finding(findings, _step_index(self.workup, name), _read_outcome(self.workup, name, outcome))
        return findings

    def _add_finding(self, findings: dict[int, int], step: int, outcome: int) -> None:
        findings[step] = outcome
        for before, wanted in self.requires[step]:
            bare = len(self.masks[before]) == 1
            if before not in findings and (bare or wanted is not None):
                self._add_finding(findings, before, wanted or 0)

    def moves(self, state: State) -> Iterator[tuple[int, list[Branch]]]:
        """Every action that is possible and of any use, and its branches."""
        for action, steps in enumerate(() if state.done else self.actions):
            if all(self._available(state, step) for step in steps) and self._affordable(state, steps):
                yield action, list(self._branches(state, steps))

    def _available(self, state: State, step: int) -> bool:
        return state.outcomes[step] == UNUSED and self._allowed(state, step) and self._useful(state, step)

    def _allowed(self, state: State, step: int) -> bool:
        """Whether all that the step requires has come about."""
        for before, wanted in self.requires[step]:
            made = state.outcomes[before]
            if made == UNUSED or (wanted is not None and made != wanted):
                return False
        return True

    def _useful(self, state: State, step: int) -> bool:
        """Whether the step can tell anything, or lead to one that can."""
        if state.outcomes[step] != UNUSED:
            return False
        if self._informative(state.possible, step):
            return True
        for other, pairs in enumerate(self.requires):
            for before, wanted in pairs:
                possible = before == step and (wanted is None or self.masks[step][wanted] & state.possible)
                if possible and self._useful(state, other):
                    return True
        return False

    def _informative(self, possible: int, step: int) -> bool:
        """Whether some outcome confirms a class, or is likelier for one possible class than for another."""
        key = (possible, step)
        if key not in self._tells:
            confirmed = self.workup.steps[step].confirmed if self.workup.confirm else ()
            confirms = any(k is not None and possible >> k & 1 for k in confirmed)
            table = self.chances[step][:, _classes(possible, self.n_classes)]
            self._tells[key] = confirms or bool((table != table[:, :1]).any())
        return self._tells[key]

    def _affordable(self, state: State, steps: tuple[int, ...]) -> bool:
        budget = self.workup.budget
        if budget is None:
            return True
        made = [step for step, outcome in enumerate(state.outcomes) if outcome != UNUSED]
        spent = self.workup.costs[[*made, *steps]].sum() + (state.rounds + 1) * self.workup.fee
        return bool(spent <= budget * AFFORDABLE)

    def _branches(self, state: State, steps: tuple[int, ...]) -> Iterator[Branch]:
        counted = self.workup.budget is not None and self.workup.fee > 0
        for results in product(*(range(len(self.masks[step])) for step in steps)):
            possible, outcomes = state.possible, list(state.outcomes)
            for step, result in zip(steps, results, strict=True):
                possible &= self.masks[step][result]
                outcomes[step] = result if self.tracked[step] else UNUSED
            if possible:
                after = State(possible, tuple(outcomes), state.rounds + counted)
                yield Branch(results, None if self._ends(possible, steps, results) else after)

    def _ends(self, possible: int, steps: tuple[int, ...], results: tuple[int, ...]) -> bool:
        if not self.workup.confirm:
            return possible.bit_count() == 1
        pairs = zip(steps, results, strict=True)
        return any(self.workup.steps[step].confirmed[result] is not None for step, result in pairs)

    def chance(self, action: int, branch: Branch) -> FloatArray:
        """How likely a branch is for each class, (K,)."""
        pairs = zip(self.actions[action], branch.outcomes, strict=True)
        return np.asarray(
            prod((self.chances[step][result] for step, result in pairs), start=np.ones(self.n_classes))
        )

    def most_states(self) -> int:
        """A bound on the number of states."""
        kept = prod(len(masks) + 1 for masks, tracked in zip(self.masks, self.tracked, strict=True) if tracked)
        return kept * (1 if all(self.tracked) else 2**self.n_classes)


@dataclass(frozen=True, eq=False)
class Graph:
    """All states that can be reached, each before those it leads to, as arrays.

    Branches that end the work-up cost nothing more and are left out; of the others the first two of every edge
    stand in `children` (padded by a last state of value zero), further ones in `more`.
    """

    space: StateSpace
    states: tuple[State, ...]
    likelihood: FloatArray  # (S, K)
    may_stop: IntArray  # (S,) whether the ways to stop are open
    edges: IntArray  # (S + 1,) where the edges of each state begin
    actions: IntArray  # (E,)
    children: IntArray  # (E, 2)
    more_edges: IntArray  # (E + 1,) where the further children of each edge begin
    more: IntArray
    losses: FloatArray  # (stops, K)
    names_class: IntArray  # (stops,)
    constant: IntArray  # (stops,) whether the loss is the same whatever the truth is

    @cached_property
    def arrays(self) -> GraphArrays:
        """What the compiled loops read."""
        masses, ended = self._masses()
        children, more, behind = (
            np.ascontiguousarray(one, np.uint32) for one in (self.children, self.more, masses)
        )
        weighted = (self.losses[:, None, :] * self.likelihood).reshape(-1, self.likelihood.shape[1])
        shape = (self.likelihood, self.may_stop, self.edges, self.more_edges, children, more, behind, ended)
        return GraphArrays(*shape, self.losses, weighted, self.names_class, self.constant)

    def _masses(self) -> tuple[IntArray, FloatArray]:
        """Why a state is as likely as it is: two states behind it, (S, 3), and a class that ends there, (S,).

        Summing over all classes is dearer, and left to states with no edge that has at most two children and at
        most one class that ends; their first entry is `NOWHERE`. Unsigned, for numba would else look for negative
        indices in every loop.
        """
        behind, ended = np.full((len(self), 3), NOWHERE), np.zeros(len(self))
        rows = np.vstack([self.likelihood, np.zeros(self.likelihood.shape[1])])
        for state in range(len(self)):
            for edge in range(*self.edges[state : state + 2]):
                rest = rows[state] - rows[self.children[edge]].sum(axis=0)
                classes = np.flatnonzero(rest > ROUNDING * rows[state])
                if len(classes) <= 1 and self.more_edges[edge] == self.more_edges[edge + 1]:
                    k = classes[0] if len(classes) else 0
                    behind[state], ended[state] = (*self.children[edge], k), rest[k] if len(classes) else 0.0
                    break
        return behind, ended

    def edge_costs(self, step_costs: FloatArray) -> FloatArray:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        costs = self.space.uses @ step_costs + self.space.workup.fee
        return np.asarray(costs[self.actions])

    def __len__(self) -> int:
        return len(self.states)


def compile_graph(
    workup: Workup, found: Mapping[str, str | None] | None = None, limit: int = MOST_STATES
) -> Graph:
    """The graph of all states that can be reached from a start."""
    space = StateSpace(workup)
    state, likelihood = space.start(found)
    rows, moves = {state: likelihood}, {}
    queue = [state]
    for state in queue:  # grows as new states are found
        moves[state] = list(space.moves(state))
        for action, branches in moves[state]:
            for branch in branches:
                if branch.state is not None and branch.state not in rows:
                    rows[branch.state] = rows[state] * space.chance(action, branch)
                    queue.append(branch.state)
        if len(queue) > limit:
            raise InputError(
                f"the work-up has more than {limit:,} states (perhaps {space.most_states():.3g}): use fewer noisy "
                "steps or outcomes, a hierarchy, or Workup.menu with protocols that people follow."
            )
    queue.sort(key=lambda state: _depth(state, space.n_classes))
    return _as_arrays(space, queue, rows, moves)


def _depth(state: State, n_classes: int) -> int:
    """Grows along every edge: more steps made, or fewer classes possible."""
    made = sum(outcome != UNUSED for outcome in state.outcomes)
    return made * (n_classes + 1) + n_classes - state.possible.bit_count()


def _as_arrays(
    space: StateSpace, states: list[State], rows: dict[State, FloatArray], moves: dict[State, Any]
) -> Graph:
    number, workup = {state: index for index, state in enumerate(states)}, space.workup
    edges, actions, children, more_edges, more = [0], [], [], [0], []
    for state in states:
        for action, branches in moves[state]:
            after = [number[branch.state] for branch in branches if branch.state is not None]
            first = [*after[:2], len(states), len(states)][:2]
            actions.append(action)
            children.append(first)
            more += after[2:]
            more_edges.append(len(more))
        edges.append(len(actions))
    stops = [(stop.losses, stop.names_class) for stop in workup.stops] or [(workup.unresolved, False)]
    can_go_on = np.diff(edges) > 0
    return Graph(
        space,
        tuple(states),
        np.array([rows[state] for state in states]),
        np.asarray(np.ones(len(states)) if workup.stops else ~can_go_on, dtype=np.intp),
        np.array(edges, dtype=np.intp),
        np.array(actions, dtype=np.intp),
        np.array(children, dtype=np.intp).reshape(-1, 2),
        np.array(more_edges, dtype=np.intp),
        np.array(more, dtype=np.intp),
        np.array([losses for losses, _ in stops]),
        np.array([names for _, names in stops], dtype=np.intp),
        np.array([len(set(losses)) == 1 and not names for losses, names in stops], dtype=np.intp),
    )


def _bits(possible: Any) -> int:
    return sum(1 << k for k, value in enumerate(possible) if value)


def _classes(possible: int, n_classes: int) -> list[int]:
    return [k for k in range(n_classes) if possible >> k & 1]


def _outcome_index(workup: Workup, one: Any) -> int | None:
    step = workup.steps[workup.step_index[one.step]]
    return None if one.outcome is None else step.outcomes.index(one.outcome)


def _step_index(workup: Workup, name: str) -> int:
    if name not in workup.step_index:
        raise InputError(f"found contains {name!r}, which is no step: choose from {', '.join(workup.step_index)}.")
    return workup.step_index[name]


def _read_outcome(workup: Workup, name: str, outcome: str | None) -> int:
    outcomes = workup.steps[workup.step_index[name]].outcomes
    if outcome is None and len(outcomes) == 1:
        return 0
    if outcome not in outcomes:
        raise InputError(f"found says {name}={outcome}, but its outcomes are {', '.join(outcomes)}.")
    return outcomes.index(outcome)

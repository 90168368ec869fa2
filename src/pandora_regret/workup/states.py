"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.workup.description import Workup

UNUSED = -1
MOST_TOGETHER = 8  # steps of one round: all their subsets are actions
ROUNDING = 1e-9
AFFORDABLE = 1 + 1e-12  # a budget is not exceeded by rounding


class State(NamedTuple):
    """What is known of a case."""

    possible: int  # one bit per class
    outcomes: tuple[int, ...]  # (M,) of the steps that are kept track of: the outcome's number, or UNUSED
    rounds: int = 0  # counted where they are paid out of a budget
    done: bool = False  # only of a start: the findings have already ended the work-up


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

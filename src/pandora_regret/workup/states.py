"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.workup.description import Workup
from pandora_regret.workup.steps import requirements

UNUSED = -1
MOST_TOGETHER = 8  # steps of one round: all their subsets are actions
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
        steps = {step.name: step for step in workup.steps}
        self.requires = [self._numbered(step.requires) for step in workup.steps]
        self.before = [self._numbered(requirements(step, steps)) for step in workup.steps]  # directly or not
        self.after = [
            [other for other, pairs in enumerate(self.before) if step in dict(pairs)] for step in range(len(steps))
        ]
        self.tracked = [
            workup.budget is not None or not step.is_certain or bool(self.after[number])
            for number, step in enumerate(workup.steps)
        ]
        self.actions = self._actions()
        self._tells: dict[tuple[int, int], bool] = {}

    def _numbered(self, required: Iterable[Any]) -> list[tuple[int, int | None]]:
        """Numbers of steps, and of their outcomes."""
        pairs = [(self.workup.step_index[one.step], one.outcome) for one in required]
        return [(k, None if text is None else self.workup.steps[k].outcomes.index(text)) for k, text in pairs]

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

    def outcome_name(self, action: int, branch: Branch) -> str:
        """What an action has shown, in words."""
        pairs = zip(self.actions[action], branch.outcomes, strict=True)
        return " + ".join(self.workup.steps[step].outcomes[outcome] for step, outcome in pairs)

    def start(self, found: Mapping[str, str | None] | None = None) -> tuple[State, FloatArray]:
        """The state after some findings, and how likely they are for each class.

        What their steps require counts as made, and each step as a round of its own.
        """
        outcomes, likelihood = [UNUSED] * len(self.tracked), np.ones(self.n_classes)
        findings = self._findings(found or {})
        for step, outcome in findings.items():
            likelihood = likelihood * self.chances[step][outcome]
            outcomes[step] = outcome if self.tracked[step] else UNUSED
        if not likelihood.any():
            raise InputError(f"found is {dict(found or {})}: no class can have all of these outcomes.")
        possible = _bits(likelihood > 0)
        done = bool(findings) and self._ends(possible, tuple(findings), tuple(findings.values()))
        return State(possible, tuple(outcomes), len(findings) if self._counts_rounds else 0, done), likelihood

    def _findings(self, found: Mapping[str, str | None]) -> dict[int, int]:
        """The outcomes of steps by number: those found, and those that must have come before."""
        findings = dict(_read_finding(self.workup, *pair) for pair in found.items())
        for step in tuple(findings):
            for before, wanted in self.before[step]:
                only = 0 if len(self.masks[before]) == 1 else wanted
                if only is not None and findings.setdefault(before, only) != only:
                    one, other = self.workup.steps[step], self.workup.steps[before]
                    raise InputError(
                        f"found says {other.name}={other.outcomes[findings[before]]}, but {one.name} "
                        f"requires {other.name}={other.outcomes[only]}: correct one of the two."
                    )
        return findings

    @property
    def _counts_rounds(self) -> bool:
        return self.workup.budget is not None and self.workup.fee > 0

    def moves(self, state: State) -> Iterator[tuple[int, list[Branch]]]:
        """Every action that is possible and of any use, and its branches."""
        if state.done or not self._can_end_well(state):
            return
        for action, steps in enumerate(self.actions):
            if all(self._available(state, step) for step in steps) and self._affordable(state, steps):
                yield action, list(self._branches(state, steps))

    def _can_end_well(self, state: State) -> bool:
        """Whether a class may still be confirmed, where there is no other way to end."""
        return (
            not self.workup.confirm
            or bool(self.workup.stops)
            or any(
                state.outcomes[number] == UNUSED
                and any(k is not None and state.possible >> k & 1 for k in step.confirmed)
                and self._can_be_made(state, number)
                for number, step in enumerate(self.workup.steps)
            )
        )

    def _can_be_made(self, state: State, step: int) -> bool:
        """Whether all that a step requires has come about, or may still."""
        missing = []
        for before, wanted in self.before[step]:
            made = state.outcomes[before]
            if made == UNUSED:
                missing.append(before)
                possible = wanted is None or self.masks[before][wanted] & state.possible
            else:
                possible = wanted in (None, made)
            if not possible:
                return False
        return self._affordable(state, (step, *dict.fromkeys(missing)))

    def _available(self, state: State, step: int) -> bool:
        """Whether a step has not been made, may be made now, and tells anything or leads to a step that does."""
        if state.outcomes[step] != UNUSED:
            return False
        for before, wanted in self.requires[step]:
            made = state.outcomes[before]
            if made == UNUSED or wanted not in (None, made):
                return False
        return self._informative(state.possible, step) or any(
            state.outcomes[other] == UNUSED
            and self._informative(state.possible, other)
            and self._can_be_made(state, other)
            for other in self.after[step]
        )

    def _informative(self, possible: int, step: int) -> bool:
        """Whether some outcome confirms a class, or is likelier for one possible class than for another."""
        key = (possible, step)
        if key not in self._tells:
            confirmed = self.workup.steps[step].confirmed if self.workup.confirm else ()
            confirms = any(k is not None and possible >> k & 1 for k in confirmed)
            table = self.chances[step][:, [k for k in range(self.n_classes) if possible >> k & 1]]
            self._tells[key] = confirms or bool((table != table[:, :1]).any())
        return self._tells[key]

    def _affordable(self, state: State, steps: tuple[int, ...]) -> bool:
        if self.workup.budget is None:
            return True
        made = [step for step, outcome in enumerate(state.outcomes) if outcome != UNUSED]
        spent = self.workup.costs[[*made, *steps]].sum() + (state.rounds + 1) * self.workup.fee
        return bool(spent <= self.workup.budget * AFFORDABLE)

    def _branches(self, state: State, steps: tuple[int, ...]) -> Iterator[Branch]:
        for results in product(*(range(len(self.masks[step])) for step in steps)):
            possible, outcomes = state.possible, list(state.outcomes)
            for step, result in zip(steps, results, strict=True):
                possible &= self.masks[step][result]
                outcomes[step] = result if self.tracked[step] else UNUSED
            if possible:
                after = State(possible, tuple(outcomes), state.rounds + self._counts_rounds)
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


def _read_finding(workup: Workup, name: str, outcome: str | None) -> tuple[int, int]:
    """The numbers of a step and of its outcome; a visit has the outcome None."""
    if name not in workup.step_index:
        raise InputError(f"found contains {name!r}, which is no step: choose from {', '.join(workup.step_index)}.")
    number = workup.step_index[name]
    outcomes = workup.steps[number].outcomes
    if outcome is None and len(outcomes) == 1:
        return number, 0
    if outcome not in outcomes:
        raise InputError(f"found says {name}={outcome}, but its outcomes are {', '.join(outcomes)}.")
    return number, outcomes.index(outcome)

"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import requirements

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
        self.workup, self.n_classes, n_steps = workup, len(workup.classes), len(workup.steps)
        self.chances = [np.array(step.chances) for step in workup.steps]
        self.masks = [[_bits(row > 0) for row in table] for table in self.chances]
        steps = {step.name: step for step in workup.steps}
        self.requires = [self._numbered(step.requires) for step in workup.steps]
        self.before = [self._numbered(requirements(step, steps)) for step in workup.steps]  # directly or not
        self.after = [
            [other for other in range(n_steps) if step in dict(self.before[other])] for step in range(n_steps)
        ]
        self.tracked = [
            workup.budget is not None or not step.is_certain or bool(after)
            for step, after in zip(workup.steps, self.after, strict=True)
        ]
        self.counts_rounds = workup.budget is not None and workup.fee > 0
        together = [workup.step_index[name] for name in workup.together]
        if len(together) > MOST_TOGETHER:
            raise InputError(
                f"rounds.together lists {len(together)} steps: at most {MOST_TOGETHER} fit into one round."
            )
        sets = (combinations(together, size) for size in range(2, len(together) + 1))
        self.actions = [*((step,) for step in range(n_steps)), *chain(*sets)]  # steps by themselves come first
        self.uses = np.array([np.isin(range(n_steps), steps) for steps in self.actions], np.float64)  # (A, M)
        self._tells: dict[tuple[int, int], bool] = {}

    def _numbered(self, required: Iterable[Any]) -> list[tuple[int, int | None]]:
        """Numbers of steps, and of their outcomes."""
        pairs = [(self.workup.step_index[one.step], one.outcome) for one in required]
        return [(k, None if text is None else self.workup.steps[k].outcomes.index(text)) for k, text in pairs]

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
        findings = dict(self._finding(*pair) for pair in (found or {}).items())
        for step in tuple(findings):
            for before, wanted in self.before[step]:
                only = 0 if len(self.masks[before]) == 1 else wanted
                if only is not None and findings.setdefault(before, only) != only:
                    one, other = self.workup.steps[step], self.workup.steps[before]
                    raise InputError(
                        f"found says {other.name}={other.outcomes[findings[before]]}, but {one.name} "
                        f"requires {other.name}={other.outcomes[only]}: correct one of the two."
                    )
        outcomes, likelihood = [UNUSED] * len(self.tracked), np.ones(self.n_classes)
        for step, outcome in findings.items():
            likelihood = likelihood * self.chances[step][outcome]
            outcomes[step] = outcome if self.tracked[step] else UNUSED
        if not likelihood.any():
            raise InputError(f"found is {dict(found or {})}: no class can have all of these outcomes.")
        possible = _bits(likelihood > 0)
        done = bool(findings) and self._ends(possible, findings.items())
        return State(possible, tuple(outcomes), len(findings) if self.counts_rounds else 0, done), likelihood

    def _finding(self, name: str, outcome: str | None) -> tuple[int, int]:
        """The numbers of a step and of its outcome; a visit has the outcome None."""
        index = self.workup.step_index
        if name not in index:
            raise InputError(f"found contains {name!r}, which is no step: choose from {', '.join(index)}.")
        step = self.workup.steps[index[name]]
        number = 0 if outcome is None and len(step.outcomes) == 1 else step.outcome(outcome)
        if number is None:
            raise InputError(f"found says {name}={outcome}, but its outcomes are {', '.join(step.outcomes)}.")
        return index[name], number

    def moves(self, state: State) -> Iterator[tuple[int, list[Branch]]]:
        """Every action that is possible and of any use, and its branches."""
        can_end_well = (  # where there is no other way to end, a class may still be confirmed
            not self.workup.confirm
            or bool(self.workup.stops)
            or any(
                any(k is not None and state.possible >> k & 1 for k in step.confirmed)
                and self._can_be_made(state, number)
                for number, step in enumerate(self.workup.steps)
            )
        )
        for action, steps in enumerate(() if state.done or not can_end_well else self.actions):
            if all(self._available(state, step) for step in steps) and self._affordable(state, steps):
                results = product(*(range(len(self.masks[step])) for step in steps))
                branches = (self._branch(state, steps, result) for result in results)
                yield action, [branch for branch in branches if branch is not None]

    def _branch(self, state: State, steps: tuple[int, ...], results: tuple[int, ...]) -> Branch | None:
        """Where some outcomes lead; None if no class can have them."""
        possible, outcomes = state.possible, list(state.outcomes)
        for step, result in zip(steps, results, strict=True):
            possible &= self.masks[step][result]
            outcomes[step] = result if self.tracked[step] else UNUSED
        if not possible:
            return None
        after = State(possible, tuple(outcomes), state.rounds + self.counts_rounds)
        return Branch(results, None if self._ends(possible, zip(steps, results, strict=True)) else after)

    def _can_be_made(self, state: State, step: int) -> bool:
        """Whether a step has not been made, and all that it requires has come about or may still."""
        if state.outcomes[step] != UNUSED:
            return False
        missing = []
        for before, wanted in self.before[step]:
            made = state.outcomes[before]
            missing += [before] if made == UNUSED else []
            if wanted not in (None, made) and not (made == UNUSED and self.masks[before][wanted] & state.possible):
                return False
        return self._affordable(state, (step, *dict.fromkeys(missing)))

    def _available(self, state: State, step: int) -> bool:
        """Whether a step has not been made, may be made now, and tells anything or leads to a step that does."""
        made = [(state.outcomes[before], wanted) for before, wanted in self.requires[step]]
        if state.outcomes[step] != UNUSED or any(o == UNUSED or wanted not in (None, o) for o, wanted in made):
            return False
        return self._informative(state.possible, step) or any(
            self._informative(state.possible, other) and self._can_be_made(state, other)
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

    def _ends(self, possible: int, results: Iterable[tuple[int, int]]) -> bool:
        """Whether a class is confirmed by what steps have shown, or is the only one left where that is enough."""
        if not self.workup.confirm:
            return possible.bit_count() == 1
        return any(self.workup.steps[step].confirmed[result] is not None for step, result in results)

    def chance(self, action: int, branch: Branch) -> FloatArray:
        """How likely a branch is for each class, (K,)."""
        pairs = zip(self.actions[action], branch.outcomes, strict=True)
        return np.prod([self.chances[step][result] for step, result in pairs], axis=0)  # type: ignore[no-any-return]

    def most_states(self) -> int:
        """A bound on the number of states."""
        kept = prod(len(masks) + 1 for masks, tracked in zip(self.masks, self.tracked, strict=True) if tracked)
        return kept * (1 if all(self.tracked) else 2**self.n_classes)


def _bits(possible: Any) -> int:
    return sum(1 << k for k, value in enumerate(possible) if value)

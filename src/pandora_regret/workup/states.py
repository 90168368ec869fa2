"""The state graph: what can have been observed, what can be done then, and where that leads; one for all rows.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.text import counted
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
        self.linked = {step for step in range(n_steps) if self.before[step] or self.after[step]}
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
        self.table = np.concatenate(self.chances)  # of all steps' outcomes, (rows, K)
        sizes = [len(masks) for masks in self.masks]
        self.first_rows = np.cumsum([0, *sizes[:-1]])
        confirmed = [k for step in workup.steps for k in step.confirmed]
        self.confirming = np.array([[workup.confirm and k == c for k in range(self.n_classes)] for c in confirmed])
        self._tells: dict[int, list[bool]] = {}

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
        return ((action, self.branches(state, action)) for action in self.open_actions(state))

    def open_actions(self, state: State) -> list[int]:
        """Every action that is possible and of any use."""
        can_end_well = (  # where there is no other way to end, a class may still be confirmed
            not self.workup.confirm
            or bool(self.workup.stops)
            or any(
                any(k is not None and state.possible >> k & 1 for k in step.confirmed)
                and self.can_be_made(state, number)
                for number, step in enumerate(self.workup.steps)
            )
        )
        if state.done or not can_end_well:
            return []
        told = self.informative(state.possible)
        unmade = [step for step, outcome in enumerate(state.outcomes) if outcome == UNUSED]
        ready = [
            step
            for step in unmade
            if (told[step] if step not in self.linked else self._may_be_made(state, step, told))
        ]
        if len(self.actions) > len(self.masks):
            together = range(len(self.masks), len(self.actions))
            ready += [action for action in together if {*self.actions[action]} <= {*ready}]
        return [action for action in ready if self._affordable(state, self.actions[action])]

    def branches(self, state: State, action: int) -> list[Branch]:
        """Where an action may lead."""
        steps = self.actions[action]
        results = product(*(range(len(self.masks[step])) for step in steps))
        branches = (self._branch(state, steps, result) for result in results)
        return [branch for branch in branches if branch is not None]

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

    def can_be_made(self, state: State, step: int) -> bool:
        """Whether a step has not been made, and all that it requires has come about or may still."""
        if state.outcomes[step] != UNUSED:
            return False
        for before, wanted in self.before[step]:
            made = state.outcomes[before]
            if wanted not in (None, made) and not (made == UNUSED and self.masks[before][wanted] & state.possible):
                return False
        return self._affordable(state, (step, *self.missing(state, step)))

    def missing(self, state: State, step: int) -> list[int]:
        """What a step requires, directly or not, and has not been made."""
        return [before for before in dict(self.before[step]) if state.outcomes[before] == UNUSED]

    def _may_be_made(self, state: State, step: int, told: Sequence[bool]) -> bool:
        """Whether a step may be made now, and tells anything or leads to a step that does."""
        for before, wanted in self.requires[step]:
            made = state.outcomes[before]
            if made == UNUSED or wanted not in (None, made):
                return False
        return told[step] or any(told[other] and self.can_be_made(state, other) for other in self.after[step])

    def informative(self, possible: int) -> list[bool]:
        """Of each step whether an outcome confirms a class, or is likelier for one possible class than another."""
        if possible not in self._tells:
            is_open = np.array([possible >> k & 1 for k in range(self.n_classes)], np.bool_)
            some = self.table[:, is_open]
            tells = (some != some[:, :1]).any(axis=1) | (self.confirming & is_open).any(axis=1)
            self._tells[possible] = np.logical_or.reduceat(tells, self.first_rows).tolist()
        return self._tells[possible]

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

    def most_states(self, start: State, limit: int) -> int:
        """A bound on how many states can be reached, by counting; it is not counted on beyond a limit.

        What has been made is one number, with some bits for the outcome of each step.
        """
        sizes = [len(masks).bit_length() for masks in self.masks]
        shifts, costs = np.cumsum([0, *sizes]).tolist(), (self.workup.costs + self.workup.fee).tolist()
        fields = [((1 << size) - 1) << shift for size, shift in zip(sizes, shifts, strict=False)]
        most = np.inf if self.workup.budget is None else self.workup.budget * AFFORDABLE
        given = [(step, outcome) for step, outcome in enumerate(start.outcomes) if outcome != UNUSED]
        made = sum((outcome + 1) << shifts[step] for step, outcome in given)
        states = {(start.possible, made): sum(costs[step] for step, _ in given)}
        for step in sorted(range(len(sizes)), key=lambda step: len(self.before[step])):
            needed = [(fields[b], None if o is None else (o + 1) << shifts[b]) for b, o in self.requires[step]]
            ends = [self.workup.confirm and k is not None for k in self.workup.steps[step].confirmed]
            results = [
                (mask, (result + 1) << shifts[step] if self.tracked[step] else 0)
                for result, mask in enumerate(self.masks[step])
                if not ends[result]
            ]
            for (possible, made), spent in list(states.items()):
                if made & fields[step] or spent + costs[step] > most:
                    continue
                if needed and not all(made & field and code in (None, made & field) for field, code in needed):
                    continue
                for mask, code in results:
                    if possible & mask and (self.workup.confirm or (possible & mask).bit_count() > 1):
                        states[possible & mask, made | code] = spent + costs[step]
                if len(states) > limit:
                    return len(states)
        return len(states)

    def too_many(self, limit: int) -> InputError:
        """What is wrong with a work-up that has more states than this, and what would help."""
        kept = [step.name for step, is_kept in zip(self.workup.steps, self.tracked, strict=True) if is_kept]
        why = f"{self.n_classes} classes can be ruled out in any combination"
        if kept:
            some = f"{', '.join(kept[:3])}{' and so on' * (len(kept) > 3)}"
            why = f"each of {counted(len(kept), 'step')} ({some}) may have been made or not, with any outcome"
        return InputError(
            f"the work-up has more than {limit:,} states, too many for this: {why}. Use fewer noisy steps or "
            "outcomes, definitive tests with one loss of giving up, or a hierarchy. One case can be planned all "
            "the same, by plan_workup or pandora next."
        )


def _bits(possible: Any) -> int:
    return sum(1 << k for k, value in enumerate(possible) if value)

"""What can have been observed of a case, what can be done then, and where that leads.

A state is what a case is known to be by now: the classes still possible, and the outcomes of those steps whose
outcome the possible classes do not tell (noisy ones, ones that others require, and all under a budget). A class
that is merely left over is not confirmed: its test is still to be made, unless the work-up says otherwise.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, InputError, Names, did_you_mean
from pandora_regret.core.inputs.names import matched
from pandora_regret.text import counted
from pandora_regret.workup.data import Pair, WorkupData
from pandora_regret.workup.description import Workup

UNUSED = -1
MOST_TOGETHER = 8  # steps of one round: all their subsets are actions
MOST_SEARCHED = 2_000  # states that are looked through to see whether a work-up without stops can end
AFFORDABLE = 1 + 1e-12  # a budget is not exceeded by rounding

OutcomeArray: TypeAlias = NDArray[np.int16]  # the numbers of outcomes that steps have shown, or UNUSED
Findings: TypeAlias = Mapping[str, str | None]  # outcomes of steps made so far, by name; None for a visit
ShownOutcomes: TypeAlias = tuple[
    tuple[int, int], ...
]  # the numbers of steps, and of the outcome that each has shown


class State(NamedTuple):
    """What is known of a case."""

    possible: int  # one bit per class
    outcomes: tuple[int, ...]  # (M,) of the steps that are kept track of: the outcome's number, or UNUSED
    rounds: int = 0  # counted where they are paid out of a budget
    done: bool = False  # only of a start: the findings have already ended the work-up


class StateSpace:
    """What can be done in each state, and where it leads.

    Actions are steps, and sets of steps that can be ordered together. What an action may show are its results,
    which are numbered as rows of tables: row 0 for nothing, then those of each action from `first[action]` on.
    """

    def __init__(self, workup: Workup) -> None:
        n_steps = len(workup.steps)
        self.workup = workup
        self.before = workup.before
        self.after = steps_after(workup)
        self.tracked = [
            workup.budget is not None or not step.is_certain or bool(after)
            for step, after in zip(workup.steps, self.after, strict=True)
        ]
        self.counts_rounds = workup.budget is not None and workup.fee > 0
        self.actions = list_actions(workup)
        self.uses = np.array([np.isin(range(n_steps), steps) for steps in self.actions], np.float64)  # (A, M)
        self.action_costs = self.uses @ workup.costs + workup.fee
        results_by_action = [list_results(workup, steps) for steps in self.actions]
        self.first = np.cumsum([1, *map(len, results_by_action)]).tolist()
        self.results: list[ShownOutcomes] = [()]
        for results in results_by_action:
            self.results += results
        self.rows = np.array([workup.likelihood(result) for result in self.results])  # (rows, K)
        self.masks = [as_bits(row > 0) for row in self.rows]  # of each result the classes that may have it
        self.confirms = [self._confirms(result) for result in self.results]
        self.losses = np.array([end.losses for end in workup.endings])  # (stops, K)
        self.names_class = np.array([end.names_class for end in workup.endings], np.intp)  # (stops,)
        self._tells: dict[int, list[bool]] = {}  # remembered by `informative`
        self._can_end: dict[State, bool] = {}  # remembered by `can_end`

    def step_names(self, action: int) -> Names:
        """The names of the steps of an action: one, or several that are made in one round."""
        return tuple(self.workup.steps[step].name for step in self.actions[action])

    def action_name(self, action: int) -> str:
        """The steps of an action, in words."""
        return " + ".join(self.step_names(action))

    def outcome_name(self, row: int) -> str:
        """What an action has shown, in words."""
        return result_in_words(self.workup, self.results[row])

    # Where a case starts

    def start(self, found: Findings | None = None) -> tuple[State, FloatArray]:
        """The state after some findings, and how likely they are for each class, (K,).

        What their steps require counts as made, and each step as a round of its own. A visit has the outcome None.
        """
        findings = self._read_findings(found or {})
        self._add_required(findings)
        likelihood = self.workup.likelihood(findings.items())
        if not likelihood.any():
            fix = "no class can have all of these outcomes"
            raise InputError(argument="found", value=dict(found or {}), fix=fix)
        outcomes = tuple(
            findings.get(step, UNUSED) if is_tracked else UNUSED for step, is_tracked in enumerate(self.tracked)
        )
        possible = as_bits(likelihood > 0)
        done = self._ends(possible, self._confirms(findings.items()))
        rounds = len(findings) if self.counts_rounds else 0
        return State(possible, outcomes, rounds, done), likelihood

    def _read_findings(self, found: Findings) -> dict[int, int]:
        """The numbers of steps, and of the outcomes that they have shown."""
        findings = dict[int, int]()
        for name, value in match_findings(self.workup, found).items():
            number = self.workup.step_index[name]
            outcome = self.workup.steps[number].outcome(value)
            if outcome is not None:
                findings[number] = outcome
        return findings

    def _add_required(self, findings: dict[int, int]) -> None:
        """Add what the steps found require, where only one outcome of that can have come about."""
        steps = self.workup.steps
        for made in tuple(findings):
            for earlier, wanted in self.before[made]:
                name = steps[earlier].name
                outcome = steps[earlier].outcome(None) if wanted is None else wanted
                if outcome is None:
                    continue
                shown = findings.setdefault(earlier, outcome)
                if shown != outcome:
                    says = f"says {name}={steps[earlier].outcomes[shown]}"
                    requires = f"{steps[made].name} requires {name}={steps[earlier].outcomes[outcome]}"
                    raise InputError(
                        f"{says}, but {requires}",
                        argument="found",
                        value=steps[earlier].outcomes[shown],
                        fix="correct one of the two",
                    )

    # What can be done

    def open_actions(self, state: State) -> list[int]:
        """Every action that is possible and of any use; none where the work-up can no longer end as it should.

        Where there are ways to stop, it always can. Where there are none, nothing is worth doing once no class
        can be confirmed any more (or be the only one left, where that is enough): it ends there, unresolved.
        """
        if state.done or not (self.workup.stops or self.can_end(state)):
            return []
        return self._useful_actions(state)

    def _useful_actions(self, state: State) -> list[int]:
        """Every action that can be taken now and paid for, and tells anything, or leads to a step that does."""
        tells = self.informative(state.possible)
        useful = set[int]()
        for step, after in enumerate(self.after):
            if self.is_ready(state, step):
                leads_on = any(tells[later] and self.can_be_made(state, later) for later in after)
                if tells[step] or leads_on:
                    useful.add(step)
        actions = [action for action, steps in enumerate(self.actions) if useful.issuperset(steps)]
        return [action for action in actions if self._affordable(state, self.actions[action])]

    def branches(self, state: State, action: int) -> Iterator[tuple[int, State | None]]:
        """Where an action may lead, by the rows of its results; to None where the work-up ends."""
        rounds = state.rounds + self.counts_rounds
        for row in range(self.first[action], self.first[action + 1]):
            possible = state.possible & self.masks[row]
            if not possible:
                continue
            if self._ends(possible, self.confirms[row]):
                yield row, None
                continue
            outcomes = list(state.outcomes)
            for step, outcome in self.results[row]:
                outcomes[step] = outcome if self.tracked[step] else UNUSED
            yield row, State(possible, tuple(outcomes), rounds)

    def can_be_made(self, state: State, step: int, classes: int | None = None) -> bool:
        """Whether a step has not been made, and all that it requires has come about or may still.

        It may if one of these classes is the truth, one bit per class: those still possible, unless given.
        """
        if state.outcomes[step] != UNUSED:
            return False
        classes = state.possible if classes is None else classes
        for earlier, wanted in self.before[step]:
            shown = state.outcomes[earlier]
            if wanted is None or shown == wanted:
                continue
            may_come_about = self.masks[self.first[earlier] + wanted] & classes
            if shown != UNUSED or not may_come_about:
                return False
        return self._affordable(state, (step, *self.missing(state, step)))

    def missing(self, state: State, step: int) -> list[int]:
        """What a step requires, directly or not, and has not been made."""
        return [earlier for earlier in dict(self.before[step]) if state.outcomes[earlier] == UNUSED]

    def is_ready(self, state: State, step: int) -> bool:
        """Whether a step has not been made, and what it requires has, with the outcome that it asks for.

        What that required in turn must have been made too, though its outcome may not have been reported.
        """
        if state.outcomes[step] != UNUSED:
            return False
        for earlier, wanted in self.workup.requires[step]:
            shown = state.outcomes[earlier]
            if shown == UNUSED or wanted not in (None, shown):
                return False
        return True

    def informative(self, possible: int) -> list[bool]:
        """Whether a result of each action confirms a class, or is likelier for one class than for another."""
        if possible not in self._tells:
            rows = self.rows[:, bits_of(possible)]
            differs = (rows != rows[:, :1]).any(axis=1)
            confirms = np.array(self.confirms) & rows.any(axis=1)
            self._tells[possible] = np.logical_or.reduceat(differs | confirms, self.first[:-1]).tolist()
        return self._tells[possible]

    def _affordable(self, state: State, steps: tuple[int, ...]) -> bool:
        """Whether these steps can be paid for in one more round, after all that has been made."""
        if self.workup.budget is None:
            return True
        made = [step for step, outcome in enumerate(state.outcomes) if outcome != UNUSED]
        spent = self.workup.costs[[*made, *steps]].sum() + (state.rounds + 1) * self.workup.fee
        return bool(spent <= self.workup.budget * AFFORDABLE)

    # When a work-up ends

    def _confirms(self, result: Iterable[Pair]) -> bool:
        """Whether one of these outcomes of steps confirms a class."""
        steps = self.workup.steps
        return any(outcome is not None and steps[step].confirmed[outcome] is not None for step, outcome in result)

    def _ends(self, possible: int, confirms: bool) -> bool:
        """Whether a class is confirmed, or is the only one left where that is enough."""
        return confirms if self.workup.confirm else possible.bit_count() == 1

    def can_end(self, state: State) -> bool:
        """Whether what can still be done may confirm a class, or leave only one where that is enough.

        Single steps tell where a confirming step is all that is needed. Where several may have to work together,
        or to be paid out of a budget, the states behind this one are searched; after MOST_SEARCHED of them the
        answer is yes, so that the work-up goes on.
        """
        if state not in self._can_end:
            if not self._may_end(state):
                self._can_end[state] = False
            elif self.workup.confirm and self.workup.budget is None:
                self._can_end[state] = True
            elif len(self._can_end) >= MOST_SEARCHED:
                return True
            else:
                self._can_end[state] = self._some_action_ends(state)
        return self._can_end[state]

    def _some_action_ends(self, state: State) -> bool:
        """Whether an action may end the work-up, or lead to a state in which it can end; small states first."""
        states = list[State]()
        for action in self._useful_actions(state):
            for _, after in self.branches(state, action):
                if after is None:
                    return True
                states.append(after)
        states.sort(key=lambda after: after.possible.bit_count())
        return any(self.can_end(after) for after in states)

    def _may_end(self, state: State) -> bool:
        """Whether single steps rule out that the work-up can end: False if they do."""
        may_be_found = self._may_be_confirmed if self.workup.confirm else self._may_be_left_over
        return any(may_be_found(state, k) for k in bits_of(state.possible))

    def _may_be_confirmed(self, state: State, k: int) -> bool:
        """Whether a step that can still be made if class k is the truth confirms it."""
        steps = enumerate(self.workup.steps)
        return any(k in step.confirmed and self.can_be_made(state, number, 1 << k) for number, step in steps)

    def _may_be_left_over(self, state: State, k: int) -> bool:
        """Whether for every other class some outcome that class k can still have excludes it."""
        left = state.possible
        for step in range(len(self.before)):
            if self.can_be_made(state, step, 1 << k):
                for mask in self.masks[self.first[step] : self.first[step + 1]]:
                    if mask >> k & 1:
                        left &= mask
        return left == 1 << k

    # How many states there are

    def most_states(self, start: State, limit: int) -> int:
        """A bound on how many states can be reached, by counting; it is not counted on beyond a limit."""
        states = {start}
        steps = sorted(range(len(self.before)), key=lambda step: len(self.before[step]))
        for step in steps:  # each set of steps in one order only
            for state in states.copy():
                if self.is_ready(state, step) and self._affordable(state, (step,)):
                    states.update(after for _, after in self.branches(state, step) if after is not None)
                if len(states) > limit:
                    return len(states)
        return len(states)

    def too_many(self, limit: int) -> InputError:
        """What is wrong with a work-up that has more states than this, and what would help."""
        why = f"{len(self.workup.classes)} classes can be ruled out in any combination"
        tracked = [
            step.name for step, is_tracked in zip(self.workup.steps, self.tracked, strict=True) if is_tracked
        ]
        if tracked:
            names = ", ".join(tracked[:3]) + (" and so on" if len(tracked) > 3 else "")
            why = f"each of {counted(len(tracked), 'step')} ({names}) may have been made or not, with any outcome"
        fix = (
            f"{why}. Use fewer noisy steps or outcomes, definitive tests with one loss of giving up, or a "
            "hierarchy. One case can be planned all the same, by plan_workup or pandora next"
        )
        problem = f"has more than {limit:,} states, too many for this"
        return InputError(problem, argument="workup", place="the work-up", value=limit, fix=fix)


def match_findings(workup: Workup, found: Findings) -> dict[str, str | None]:
    """Findings with the names that the work-up has for steps and outcomes, which may be written in other ways.

    A value that lies in a range stays as it is.
    """
    findings = dict[str, str | None]()
    step_names = matched(found, workup.step_index)
    for name, value in found.items():
        if name not in step_names:
            fix = did_you_mean(name, workup.step_index)
            raise InputError(f"contains {name!r}, which is no step", argument="found", value=name, fix=fix)
        step = workup.steps[workup.step_index[step_names[name]]]
        if step.name in findings:
            fix = "say once what each step has shown"
            raise InputError(f"names {step.name!r} twice", argument="found", value=name, fix=fix)
        text = None if value is None else str(value)
        if text is not None:
            text = matched([text], step.outcomes).get(text, text)
        if step.outcome(text) is None:
            says = f"says {name} without an outcome" if value is None else f"says {name}={value}"
            fix = f"its outcomes are {', '.join(step.outcomes)}"
            raise InputError(says, argument="found", value=value, fix=fix)
        findings[step.name] = text
    return findings


def steps_after(workup: Workup) -> list[list[int]]:
    """For each step those that require it, directly or not."""
    after: list[list[int]] = [[] for _ in workup.steps]
    for step, before in enumerate(workup.before):
        for earlier in dict(before):
            after[earlier].append(step)
    return after


def list_actions(workup: Workup) -> list[tuple[int, ...]]:
    """The steps of every action: first each step by itself, then the sets that can be ordered in one round."""
    together = [workup.step_index[name] for name in workup.together]
    if len(together) > MOST_TOGETHER:
        problem = f"lists {len(together)} steps"
        fix = f"at most {MOST_TOGETHER} fit into one round"
        place = "rounds.together"
        raise InputError(problem, argument="rounds", place=place, value=list(workup.together), fix=fix)
    actions: list[tuple[int, ...]] = [(step,) for step in range(len(workup.steps))]
    for size in range(2, len(together) + 1):
        actions += combinations(together, size)
    return actions


def list_results(workup: WorkupData, steps: Sequence[int]) -> list[ShownOutcomes]:
    """All that some steps may show together: every combination of an outcome of each."""
    outcomes = [range(len(workup.steps[step].outcomes)) for step in steps]
    return [tuple(zip(steps, combination, strict=True)) for combination in product(*outcomes)]


def result_in_words(workup: WorkupData, result: ShownOutcomes) -> str:
    """What some steps have shown together."""
    return " + ".join(workup.steps[step].outcomes[outcome] for step, outcome in result)


def as_bits(flags: Iterable[bool]) -> int:
    """Classes as one number, with a bit for each."""
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def bits_of(classes: int) -> list[int]:
    """The numbers of the classes whose bits are set."""
    return [k for k in range(classes.bit_length()) if classes >> k & 1]

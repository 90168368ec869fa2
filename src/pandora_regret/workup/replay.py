"""A plan, followed by cases that it was not learned from; and a stop loss under which few of them are misnamed."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    IntArray,
    Names,
    PastCases,
    did_you_mean,
    read_number,
    read_records,
)
from pandora_regret.inference.dependence import displaced
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure
from pandora_regret.text import counted, money, money_between
from pandora_regret.workup.description import Workup
from pandora_regret.workup.follow import cost_interval, follow
from pandora_regret.workup.plan import plan_workup

VISIBLE = 0.05  # share of cases that are elsewhere than if two tests were independent given the class
DOUBLINGS = range(10, -8, -1)  # of what all steps cost together: the stop losses that are tried, in this order
NOT_MADE = -1


@dataclass(frozen=True)
class Replay:
    """What a plan promised per case, and what cases would have paid that it was not made from."""

    promised: Estimate
    paid: Estimate
    spent: float  # of it on steps
    dependent: Names  # the two tests that depend most on each other given the class, if any do
    currency: str
    cases: int = 0
    named: int = 0  # of them ended with the name of a class
    wrong: int = 0  # of these are of another class
    left_out: int = 0  # cases in which a test was not made that the plan asks for

    def to_text(self) -> str:
        """What was promised and paid, how many were named wrongly, and what speaks against the promise."""
        promised = self._amount(self.promised)
        paid = self._amount(self.paid)
        wrong_share = self.wrong / max(self.named, 1)
        lines = [
            f"Promised {promised} per case; {counted(self.cases, 'case')} would have paid {paid}.",
            f"Steps cost {money(self.spent, self.currency)}; {self.wrong:,} of {self.named:,} named wrongly "
            f"({wrong_share:.1%}).",
        ]
        if self.left_out:
            cases = counted(self.left_out, "case")
            lines.append(f"{cases} left out: a test that the plan asks for was not made.")
        if self.dependent:
            pair = " and ".join(self.dependent)
            lines.append(
                f"Warning: {pair} depend on each other given the class. Trust what was paid, not the promise."
            )
        return "\n".join(lines)

    def _amount(self, estimate: Estimate) -> str:
        """An estimate with its interval, as money."""
        return money_between(estimate.value or 0.0, estimate.low, estimate.high, self.currency)


class RecordedOutcomes:
    """What the steps of a work-up have shown in cases whose class is known."""

    def __init__(self, workup: Workup, columns: Mapping[str, list[str]], truth: IntArray) -> None:
        self.workup = workup
        self.columns = columns
        self.truth = truth  # (n,)
        self.by_step: dict[int, IntArray] = {}  # (n,) outcomes of the steps that were asked for, or NOT_MADE

    def outcomes(self, number: int) -> IntArray:
        """The outcome of a step in each case, (n,); of a step without a column, what the truth alone decides."""
        if number not in self.by_step:
            self.by_step[number] = self._read(number)
        return self.by_step[number]

    def _read(self, number: int) -> IntArray:
        """As `outcomes`, from the column of the step."""
        step = self.workup.steps[number]
        if step.name not in self.columns and step.is_certain:
            return np.asarray(np.argmax(step.chances, axis=0)[self.truth])
        shown = map(step.outcome, self.columns.get(step.name, [""] * len(self.truth)))
        return np.array([NOT_MADE if outcome is None else outcome for outcome in shown])

    def table(self, number: int) -> FloatArray:
        """The chances of a step's outcomes in each case, (n, O, 1): 1 for what it has shown, if it was made."""
        outcomes = np.arange(len(self.workup.steps[number].outcomes))
        return np.asarray(outcomes[:, None] == self.outcomes(number)[:, None, None], np.float64)

    def dependent_tests(self) -> Names:
        """Of the tests that were asked for, the two that depend most on each other given the class, if any do."""
        steps = self.workup.steps
        tests = [number for number in sorted(self.by_step) if not steps[number].is_certain]
        most_moved = VISIBLE
        dependent = Names()
        for first, second in combinations(tests, 2):
            moved = displaced(self._joint_counts(first, second))
            if moved > most_moved:
                most_moved = moved
                dependent = (steps[first].name, steps[second].name)
        return dependent

    def _joint_counts(self, first: int, second: int) -> FloatArray:
        """How many cases of each class had which outcomes of two tests, (K, O, O)."""
        steps = self.workup.steps
        counts = np.zeros((len(self.workup.classes), len(steps[first].outcomes), len(steps[second].outcomes)))
        shown_first = self.by_step[first]
        shown_second = self.by_step[second]
        both = (shown_first != NOT_MADE) & (shown_second != NOT_MADE)
        np.add.at(counts, (self.truth[both], shown_first[both], shown_second[both]), 1.0)
        return counts


def replay_workup(
    workup: Workup, records: PastCases, label: str, *, level: float = 0.95, **planning: Any
) -> Replay:
    """What the plan of a learned work-up would have cost other cases, whose outcomes are known.

    Parameters
    ----------
    workup
        Learned by `learn_workup`, or with the `cases` of each class stated. The plan is for these.
    records
        One row per case, as `learn_workup` takes them. A column for every test that the plan asks for; those that
        are certain given the class need none.
    label
        The column of classes.
    level
        Of the intervals.
    **planning
        As in `plan_workup`, such as `seconds`.

    Returns
    -------
    Replay
        What was promised and paid, with intervals; `to_text` says it in words. The promise holds on average if
        tests are independent given the class: there is a warning if they visibly are not.

    Examples
    --------
    >>> past = {"fault": ["pump"] * 8 + ["valve"] * 8, "noise": ["yes"] * 7 + ["no"] * 9}
    >>> workup = Workup.learn(past, "fault", {"noise": 1.0}, wrong=10.0)
    >>> others = {"fault": ["pump", "valve", "valve"], "noise": ["yes", "no", "yes"]}
    >>> result = replay_workup(workup, others, "fault")
    >>> result.wrong, result.paid.value, round(result.promised.value, 2)
    (1, 4.333..., 2.11)
    """
    columns, names = read_records(records, label)
    for name in sorted(set(names) - set(workup.classes)):
        fix = did_you_mean(name, workup.classes)
        raise InputError(f"holds {name!r}, which is no class of the work-up", place=f"column {label!r}", fix=fix)
    truth = np.array([workup.classes.index(name) for name in names])
    recorded = RecordedOutcomes(workup, columns, truth)
    tree: Any = plan_workup(None, workup, **planning).tree
    by_class = np.broadcast_to(follow(workup, tree, recorded.table), (len(truth), 5, len(workup.classes)))
    spent, lost, done, named, wrong = by_class[np.arange(len(truth)), :, truth].T  # (n,) each
    if not done.any():
        fix = f"it begins with {tree.name}"
        raise InputError("hold no case with all tests that the plan asks for", place="the records", fix=fix)
    low, high = cost_interval(workup, tree, None, {}, level)
    return Replay(
        promised=Estimate(tree.expected_cost, low, high),
        paid=Figure.of_mean(spent + lost, done).estimate(level),
        spent=float(spent @ done / done.sum()),
        dependent=recorded.dependent_tests(),
        currency=workup.currency,
        cases=int(done.sum()),
        named=int(named.sum()),
        wrong=int(wrong.sum()),
        left_out=int((1 - done).sum()),
    )


def find_stop_loss(
    workup: Workup, records: PastCases, label: str, at_most_wrong: float, *, level: float = 0.95, **planning: Any
) -> tuple[Workup, Replay] | None:
    """The smallest loss of naming a wrong class at which few of the cases that are named are named wrongly.

    With probability `level`, of new cases like these at most the share `at_most_wrong` is named wrongly. Losses
    are tried in an order that does not depend on the cases, from the largest down, each by the exact binomial
    test, until one fails (fixed-sequence testing, "Learn then Test").

    Parameters
    ----------
    workup
        With one way to stop that names a class.
    records, label, level, **planning
        As in `replay_workup`; the cases must be others than those that the work-up was learned from.
    at_most_wrong
        The share.

    Returns
    -------
    tuple of Workup and Replay, or None
        The work-up with this loss, and what it costs; None if no loss will do.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan and Lei (2021) [angelopoulos21]_.
    """
    from scipy.special import bdtr

    read_number(
        at_most_wrong, "at_most_wrong", lambda share: 0 < share < 1, "it is a share between 0 and 1, such as 0.05"
    )
    naming = [stop.name for stop in workup.stops if stop.names_class]
    if len(naming) != 1:
        fix = "describe one, such as [stops.'call it'] with the loss of a wrong name"
        raise InputError(f"has {len(naming)} ways to stop that name a class", argument="workup", fix=fix)
    best = None
    for doublings in DOUBLINGS:
        loss = float(workup.costs.sum()) * 2.0**doublings
        stops = workup.document["stops"] | {naming[0]: {"wrong": loss}}
        trial = Workup(**{**workup.document, "stops": stops})
        result = replay_workup(trial, records, label, level=level, **planning)
        if result.named == 0 or bdtr(result.wrong, result.named, at_most_wrong) > 1 - level:
            break
        best = (trial, result)
    return best

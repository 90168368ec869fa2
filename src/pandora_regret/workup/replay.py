"""A plan, followed by cases that it was not learned from; and a stop loss under which few of them are misnamed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from pandora_regret.workup.follow import cost_interval, end_of, results_by_name, steps_of
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.tree import PlanNode

VISIBLE = 0.05  # share of cases that are elsewhere than if two tests were independent given the class
DOUBLINGS = range(10, -8, -1)  # of what all steps cost together: the stop losses that are tried, in this order
NOT_MADE = -1


FEWEST_COMPLETE = 30  # cases: with fewer, and others that lack an outcome, nothing can be told
LARGEST_WEIGHT = 20.0  # a case that stands for more than this cannot be relied on
CARRIED = 0.1  # of all weight: so much of it on such cases is too much
CANNOT_BE_TOLD = "cannot be told from these records"


@dataclass(frozen=True)
class Replay:
    """What a plan promised per case, and what cases would have paid that it was not made from.

    Where a test that the plan asks of a case was not made, the case is incomplete: what it would have paid is not
    known. Long searches are incomplete more often, so that the others pay less than all would. Each complete case
    therefore stands for as many as its inverse chance of being complete: one over the product, along its path, of
    how often each test was made in cases of its class. This is right on average if outcomes are blank at random,
    given the class.
    """

    promised: Estimate
    paid: Estimate  # without a value where it cannot be told from these records
    spent: float | None  # of it on steps
    wrong_share: float | None  # of those that are named; None where nothing is named, or nothing can be told
    dependent: Names  # the two tests that depend most on each other given the class, if any do
    currency: str
    cases: int = 0  # complete ones
    named: int = 0  # of them ended with the name of a class
    wrong: int = 0  # of these are of another class
    incomplete: int = 0  # cases in which a test was not made that the plan asks for
    largest_weight: float = 1.0  # how many cases the one stands for that stands for most

    @property
    def can_be_told(self) -> bool:
        """Whether the records say what would have been paid."""
        return self.paid.value is not None

    def to_text(self) -> str:
        """What was promised and paid, how many were named wrongly, and what speaks against the promise."""
        promised = f"Promised {self._amount(self.promised)} per case"
        lines = list[str]()
        if self.can_be_told:
            paid = self._amount(self.paid)
            lines.append(f"{promised}; {counted(self.cases + self.incomplete, 'case')} would have paid {paid}.")
            steps = f"Steps cost {money(self.spent or 0.0, self.currency)}"
            if self.wrong_share is not None:
                steps += f"; {self.wrong:,} of {self.named:,} named wrongly ({100 * self.wrong_share:.1f} %)"
            lines.append(f"{steps}.")
        else:
            lines.append(f"{promised}; what would have been paid {CANNOT_BE_TOLD}.")
        if self.incomplete:
            lines.append(self._incomplete_in_words())
        if self.dependent:
            pair = " and ".join(self.dependent)
            lines.append(
                f"Warning: {pair} depend on each other given the class. Trust what was paid, not the promise."
            )
        return "\n".join(lines)

    def _incomplete_in_words(self) -> str:
        """How many cases the figures rest on, and what that assumes."""
        n_cases = self.cases + self.incomplete
        rests = f"{self.cases:,} of {counted(n_cases, 'case')} have all tests that the plan asks of them"
        if not self.can_be_told:
            if self.cases < FEWEST_COMPLETE:
                return f"Only {rests}; {FEWEST_COMPLETE} are needed."
            return f"{rests}, but few of them stand for most: one for {self.largest_weight:,.0f}."
        return (
            f"{rests}; each stands for up to {self.largest_weight:,.1f} like it. This holds if outcomes are blank "
            "at random, given the class."
        )

    def _amount(self, estimate: Estimate) -> str:
        """An estimate with its interval, as money."""
        return money_between(estimate.value or 0.0, estimate.low, estimate.high, self.currency)


@dataclass
class TreePayments:
    """What each of n cases pays that follows a tree; complete ones only."""

    spent: FloatArray  # (n,) on steps
    lost: FloatArray  # (n,) at the end
    weight: FloatArray  # (n,) how many cases each stands for; 0 where a test was not made
    named: NDArray[np.bool_]  # (n,) whether a class is named at the end
    wrong: NDArray[np.bool_]  # (n,) whether another class than the truth is

    @property
    def complete(self) -> NDArray[np.bool_]:
        """(n,) whether all tests were made that the tree asks for."""
        return np.asarray(self.weight > 0)


class RecordedOutcomes:
    """What the steps of a work-up have shown in cases whose class is known."""

    def __init__(self, workup: Workup, columns: Mapping[str, list[str]], truth: IntArray) -> None:
        self.workup = workup
        self.columns = columns
        self.truth = truth  # (n,)
        self.by_step: dict[int, IntArray] = {}  # (n,) outcomes of the steps that were asked for, or NOT_MADE
        self.shares: dict[int, FloatArray] = {}  # (n,) remembered by `share_made`

    def outcomes(self, number: int) -> IntArray:
        """The outcome of a step in each case, (n,); of a step without a column, what the truth alone decides."""
        if number not in self.by_step:
            self.by_step[number] = self._read(number)
        return self.by_step[number]

    def _read(self, number: int) -> IntArray:
        """As `outcomes`, from the column of the step; where that is blank, what the truth alone decides."""
        step = self.workup.steps[number]
        shown = map(step.outcome, self.columns.get(step.name, [""] * len(self.truth)))
        recorded = np.array([NOT_MADE if outcome is None else outcome for outcome in shown])
        if step.is_certain:
            certain = np.argmax(step.chances, axis=0)[self.truth]
            recorded = np.where(recorded == NOT_MADE, certain, recorded)
        return recorded

    def share_made(self, number: int) -> FloatArray:
        """How often a step was made in cases of each case's class, (n,).

        A class of few cases is drawn towards all: as if one case more had been made as often as those of others.
        """
        if number not in self.shares:
            was_made = self.outcomes(number) != NOT_MADE
            n_classes = len(self.workup.classes)
            cases = np.bincount(self.truth, minlength=n_classes)
            made = np.bincount(self.truth, was_made, n_classes)
            shares = (made + was_made.mean()) / (cases + 1)
            self.shares[number] = shares[self.truth]
        return self.shares[number]

    def walk(self, tree: PlanNode) -> TreePayments:
        """What each case pays that follows a tree."""
        n_cases = len(self.truth)
        payments = TreePayments(
            spent=np.zeros(n_cases),
            lost=np.zeros(n_cases),
            weight=np.zeros(n_cases),
            named=np.zeros(n_cases, bool),
            wrong=np.zeros(n_cases, bool),
        )
        self._walk(tree, np.arange(n_cases), np.zeros(n_cases), np.ones(n_cases), payments)
        return payments

    def _walk(
        self, node: PlanNode, cases: IntArray, spent: FloatArray, weight: FloatArray, payments: TreePayments
    ) -> None:
        """Go on with some cases, (m,), that have spent so much by now and stand for so many, into `payments`."""
        if len(cases) == 0:
            return
        if not node.branches:
            _, lost, _, named, wrong = end_of(self.workup, node)
            truth = self.truth[cases]
            payments.spent[cases] = spent
            payments.lost[cases] = lost[truth]
            payments.weight[cases] = weight
            payments.named[cases] = named[truth] > 0
            payments.wrong[cases] = wrong[truth] > 0
            return
        steps = steps_of(self.workup, node)
        chance = np.prod([self.share_made(step)[cases] for step in steps], axis=0)
        results = results_by_name(self.workup, steps)
        for text, child in node.branches.items():
            goes_there = np.ones(len(cases), bool)
            for step, outcome in results[text]:
                goes_there &= self.outcomes(step)[cases] == outcome
            weight_there = weight[goes_there] / chance[goes_there]
            self._walk(child, cases[goes_there], (spent + node.cost)[goes_there], weight_there, payments)

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
        tests are independent given the class: there is a warning if they visibly are not. Cases that lack a test
        which the plan asks for are made up for by others of their class, as long as these are not too few.

    Examples
    --------
    >>> from pandora_regret import learn_workup
    >>> past = {"fault": ["pump"] * 8 + ["valve"] * 8, "noise": ["yes"] * 7 + ["no"] * 9}
    >>> workup = learn_workup(past, "fault", {"noise": 1.0}, wrong=10.0)
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
    plan = plan_workup(None, workup, **planning)
    if plan.tree is None:
        raise TypeError("the plan of a work-up has a tree")
    return replay_tree(recorded, plan.tree, level)


def replay_tree(recorded: RecordedOutcomes, tree: PlanNode, level: float) -> Replay:
    """As `replay_workup`, of a plan that has been made."""
    workup = recorded.workup
    payments = recorded.walk(tree)
    complete = payments.complete
    if not complete.any():
        fix = f"it begins with {tree.name}"
        raise InputError("hold no case with all tests that the plan asks for", place="the records", fix=fix)
    weight = payments.weight
    named_weight = weight @ payments.named
    low, high = cost_interval(workup, tree, None, {}, level)
    result = Replay(
        promised=Estimate(tree.expected_cost, low, high),
        paid=Figure.of_mean(payments.spent + payments.lost, weight).estimate(level),
        spent=float(payments.spent @ weight / weight.sum()),
        wrong_share=float(weight @ payments.wrong / named_weight) if named_weight > 0 else None,
        dependent=recorded.dependent_tests(),
        currency=workup.currency,
        cases=int(complete.sum()),
        named=int(payments.named.sum()),
        wrong=int(payments.wrong.sum()),
        incomplete=int((~complete).sum()),
        largest_weight=float(weight.max()),
    )
    carried = weight[weight > LARGEST_WEIGHT].sum() / weight.sum()
    if result.incomplete and (result.cases < FEWEST_COMPLETE or carried > CARRIED):
        return replace(result, paid=Estimate(None, warning=CANNOT_BE_TOLD), spent=None, wrong_share=None)
    return result


def find_stop_loss(
    workup: Workup, records: PastCases, label: str, at_most_wrong: float, *, level: float = 0.95, **planning: Any
) -> tuple[Workup, Replay] | None:
    """The smallest loss of naming a wrong class at which few of the cases that are named are named wrongly.

    With probability `level`, of new cases like these at most the share `at_most_wrong` is named wrongly. Losses
    are tried in an order that does not depend on the cases, from the largest down, each by the exact binomial
    test, until one fails (fixed-sequence testing, "Learn then Test"). A case that lacks a test that the plan asks
    for counts as named wrongly.

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
        # an incomplete case counts as one that is named wrongly: so the promise holds whatever it lacks
        wrong = result.wrong + result.incomplete
        if result.named == 0 or bdtr(wrong, result.named + result.incomplete, at_most_wrong) > 1 - level:
            break
        best = (trial, result)
    return best

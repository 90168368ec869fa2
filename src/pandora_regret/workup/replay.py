"""A plan, followed by cases that it was not learned from; and a stop loss under which few of them are misnamed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure
from pandora_regret.inputs import InputError, IntArray, Table
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.text import counted, money, money_between
from pandora_regret.workup.description import Workup
from pandora_regret.workup.learn import SURPRISE, association, read_records
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.walk import Walk, cost_interval

VISIBLE = 0.05  # share of cases that are elsewhere than if two tests were independent given the class
DOUBLINGS = range(10, -8, -1)  # of what all steps cost together: the stop losses that are tried, in this order


@dataclass(frozen=True)
class Replay:
    """What a plan promised per case, and what cases would have paid that it was not made from."""

    promised: Estimate
    paid: Estimate
    spent: float  # of it on steps
    cases: int
    named: int  # of them ended with the name of a class
    wrong: int  # of these are of another class
    left_out: int  # cases in which a test was not made that the plan asks for
    dependent: tuple[str, ...]  # the two tests that depend most on each other given the class, if any do
    currency: str

    def to_text(self) -> str:
        """For people."""
        promised, paid = (
            money_between(one.value or 0.0, one.low, one.high, self.currency) for one in (self.promised, self.paid)
        )
        lines = [f"Promised {promised} per case; {counted(self.cases, 'case')} would have paid {paid}."]
        spent = f"Steps cost {money(self.spent, self.currency)}"
        lines += [
            f"{spent}; {self.wrong:,} of {self.named:,} named wrongly ({self.wrong / max(self.named, 1):.1%})."
        ]
        if self.left_out:
            lines += [f"{counted(self.left_out, 'case')} left out: a test that the plan asks for was not made."]
        if self.dependent:
            pair = " and ".join(self.dependent)
            lines += [
                f"Warning: {pair} depend on each other given the class. Trust what was paid, not the promise."
            ]
        return "\n".join(lines)


def replay_workup(workup: Workup, records: Table, label: str, *, level: float = 0.95, **planning: Any) -> Replay:
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
    outcomes, truth = _read(workup, records, label)
    return _followed(workup, outcomes, truth, level, planning)


def find_stop_loss(
    workup: Workup, records: Table, label: str, at_most_wrong: float, *, level: float = 0.95, **planning: Any
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

    names, best = [stop.name for stop in workup.stops if stop.names_class], None
    if len(names) != 1 or not 0 < at_most_wrong < 1:
        fix = "describe one way to stop that names a class, and a share between 0 and 1"
        raise InputError(f"there are {len(names)} such ways, and the share is {at_most_wrong:g}", fix=fix)
    outcomes, truth = _read(workup, records, label)
    for doublings in DOUBLINGS:
        stops = workup.document["stops"] | {names[0]: {"wrong": float(workup.costs.sum()) * 2.0**doublings}}
        tried = Workup(**workup.document | {"stops": stops})
        result = _followed(tried, outcomes, truth, level, planning)
        if not result.named or bdtr(result.wrong, result.named, at_most_wrong) > 1 - level:
            break
        best = tried, result
    return best


def _read(workup: Workup, records: Any, label: str) -> tuple[IntArray, IntArray]:
    """The outcome of every step, (N, M), -1 where it is not known, and the class, (N,), of each case."""
    columns, classes = read_records(records, label)
    for name in set(classes) - set(workup.classes):
        fix = did_you_mean(name, workup.classes)
        raise InputError(f"holds {name!r}, which is no class of the work-up", place=f"column {label!r}", fix=fix)
    truth = np.array([workup.classes.index(name) for name in classes])
    outcomes = np.full((len(truth), len(workup.steps)), -1)
    for number, step in enumerate(workup.steps):
        if step.name in columns:
            shown = map(step.outcome, columns[step.name])
            outcomes[:, number] = [-1 if outcome is None else outcome for outcome in shown]
        elif step.is_certain:
            outcomes[:, number] = np.argmax(step.chances, axis=0)[truth]
    return outcomes, truth


def _followed(workup: Workup, outcomes: IntArray, truth: IntArray, level: float, planning: Any) -> Replay:
    tree: Any = plan_workup(None, workup, **planning).tree
    walk, spent, lost, named = Walk(workup), *np.full((2, len(truth)), np.nan), np.full(len(truth), -1)
    tests = set[int]()
    for end, cases, cost, made in walk.ends(tree, outcomes, np.arange(len(truth))):
        spent[cases], named[cases] = cost, walk.named.get(end.name, -1)
        lost[cases] = walk.losses[end.name][truth[cases]] if end.kind == "stop" else 0.0
        tests.update(made)
    done = np.isfinite(spent)
    if not done.any():
        fix = f"it begins with {tree.name}"
        raise InputError("hold no case with all tests that the plan asks for", place="the records", fix=fix)
    return Replay(
        Estimate(tree.expected_cost, *cost_interval(workup, tree, None, {}, level)),
        Figure.of_mean((spent + lost)[done], np.ones(done.sum())).estimate(level),
        float(spent[done].mean()),
        int(done.sum()),
        int((named >= 0).sum()),
        int(((named >= 0) & (named != truth)).sum()),
        int((~done).sum()),
        _dependent(workup, tests, outcomes, truth),
        workup.currency,
    )


def _dependent(workup: Workup, tests: set[int], outcomes: IntArray, truth: IntArray) -> tuple[str, ...]:
    """Of the tests of a plan, the two that depend most on each other given the class, if any visibly do."""
    most, dependent, steps = VISIBLE, tuple[str, ...](), workup.steps
    pairs = list(combinations(sorted(test for test in tests if not steps[test].is_certain), 2))
    for pair in pairs:
        table = np.zeros((len(workup.classes), *(len(steps[test].outcomes) for test in pair)))
        shown = outcomes[:, pair]
        both = (shown >= 0).all(axis=1)
        np.add.at(table, (truth[both], *shown[both].T), 1.0)
        chance, moved = association(table)
        if chance < SURPRISE / len(pairs) and moved > most:
            most, dependent = moved, tuple(steps[test].name for test in pair)
    return dependent

"""A plan, followed by cases that it was not learned from; and a stop loss under which few of them are misnamed."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from pandora_regret.inference.dependence import displaced
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure
from pandora_regret.inputs import FloatArray, InputError, IntArray, Table
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.inputs.past_cases import read_records
from pandora_regret.text import counted, money, money_between
from pandora_regret.workup.description import Workup
from pandora_regret.workup.plan import plan_workup
from pandora_regret.workup.tree import cost_interval, follow

VISIBLE = 0.05  # share of cases that are elsewhere than if two tests were independent given the class
DOUBLINGS = range(10, -8, -1)  # of what all steps cost together: the stop losses that are tried, in this order


@dataclass(frozen=True)
class Replay:
    """What a plan promised per case, and what cases would have paid that it was not made from."""

    promised: Estimate
    paid: Estimate
    spent: float  # of it on steps
    dependent: tuple[str, ...]  # the two tests that depend most on each other given the class, if any do
    currency: str
    cases: int = 0
    named: int = 0  # of them ended with the name of a class
    wrong: int = 0  # of these are of another class
    left_out: int = 0  # cases in which a test was not made that the plan asks for

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
    columns, names = read_records(records, label)
    for name in set(names) - set(workup.classes):
        fix = did_you_mean(name, workup.classes)
        raise InputError(f"holds {name!r}, which is no class of the work-up", place=f"column {label!r}", fix=fix)
    truth, outcomes = np.array([workup.classes.index(name) for name in names]), dict[int, IntArray]()

    def table(number: int) -> FloatArray:
        """For each case, what the step has shown for certain; nothing where it was not made."""
        step = workup.steps[number]
        if number not in outcomes:
            shown = map(step.outcome, columns.get(step.name, [""] * len(truth)))
            outcomes[number] = np.array([-1 if outcome is None else outcome for outcome in shown])
            if step.name not in columns and step.is_certain:
                outcomes[number] = np.argmax(step.chances, axis=0)[truth]
        return np.asarray(np.arange(len(step.outcomes))[:, None] == outcomes[number][:, None, None], np.float64)

    tree: Any = plan_workup(None, workup, **planning).tree
    each = np.broadcast_to(follow(workup, tree, table), (len(truth), 5, len(workup.classes)))
    spent, lost, done, named, wrong = each[np.arange(len(truth)), :, truth].T
    if not done.any():
        fix = f"it begins with {tree.name}"
        raise InputError("hold no case with all tests that the plan asks for", place="the records", fix=fix)
    return Replay(
        Estimate(tree.expected_cost, *cost_interval(workup, tree, None, {}, level)),
        Figure.of_mean(spent + lost, done).estimate(level),
        float(spent @ done / done.sum()),
        _dependent(workup, outcomes, truth),
        workup.currency,
        *(int(chances.sum()) for chances in (done, named, wrong, 1 - done)),
    )


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
    for doublings in DOUBLINGS:
        stops = workup.document["stops"] | {names[0]: {"wrong": float(workup.costs.sum()) * 2.0**doublings}}
        tried = Workup(**workup.document | {"stops": stops})
        result = replay_workup(tried, records, label, level=level, **planning)
        if not result.named or bdtr(result.wrong, result.named, at_most_wrong) > 1 - level:
            break
        best = tried, result
    return best


def _dependent(workup: Workup, outcomes: dict[int, IntArray], truth: IntArray) -> tuple[str, ...]:
    """Of the tests of a plan, the two that depend most on each other given the class, if any visibly do."""
    most, dependent, steps = VISIBLE, tuple[str, ...](), workup.steps
    for pair in combinations([test for test in sorted(outcomes) if not steps[test].is_certain], 2):
        table = np.zeros((len(workup.classes), *(len(steps[test].outcomes) for test in pair)))
        shown = np.array([outcomes[test] for test in pair])
        both = (shown >= 0).all(axis=0)
        np.add.at(table, (truth[both], *shown[:, both]), 1.0)
        moved = displaced(table)
        if moved > most:
            most, dependent = moved, tuple(steps[test].name for test in pair)
    return dependent

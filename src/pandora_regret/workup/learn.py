"""Work-ups learned from records of past cases, and what their plans would have cost others.

With independent Dirichlet(1/2, ..., 1/2) priors of each test's outcomes given each class, and every test made at
most once per case, the expected cost of a plan is linear in each of these distributions. So the plan that is best
on average over the posterior is the one that is best at the posterior means.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, compress, pairwise
from typing import Any

import numpy as np

from pandora_regret.core.inputs import (
    Fields,
    FloatArray,
    InputError,
    IntArray,
    Names,
    Table,
    did_you_mean,
    read_number,
    read_records,
)
from pandora_regret.inference.dependence import displaced
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure
from pandora_regret.text import count, counted, listed, money, money_between, percent, typed
from pandora_regret.workup.data import WorkupStep
from pandora_regret.workup.description import Workup
from pandora_regret.workup.follow import cost_interval, follow
from pandora_regret.workup.plan import plan_workup

BINS = 5
MOST_VALUES = 8  # of a column whose values are outcomes as they are
TIMES_ALL_TESTS = 10  # what naming a wrong class loses, unless it is said
FEW = 10  # cases
MOST_LISTED = 12
VISIBLE = 0.05  # share of cases that are elsewhere than if two tests were independent given the class
DOUBLINGS = range(10, -8, -1)  # of what all steps cost together: the stop losses that are tried, in this order


def learn_workup(
    records: Table | Mapping[str, Any],
    label: str,
    costs: Mapping[str, float] | None = None,
    *,
    wrong: float | None = None,
    bins: int = BINS,
    cuts: Mapping[str, Sequence[float]] | None = None,
    combine: Sequence[Sequence[str]] = (),
    unit: str | None = None,
    update: Workup | None = None,
) -> Workup:
    """A work-up whose rates are those of past cases, and whose file holds their counts.

    Parameters
    ----------
    records
        One row per case, as a frame or a mapping of columns: its class, and what each test has shown; blank
        where it was not made.
    label
        The column of classes.
    costs
        What each test costs, by column; columns without a cost are no tests. Unless given, all columns are
        tests that cost 1.
    wrong
        What naming a wrong class loses; unless given, ten times what all tests cost together.
    bins
        Into how many ranges numbers of more than eight values are cut: at quantiles, where each class has
        the same weight.
    cuts
        Where to cut the numbers of some columns instead.
    combine
        Sets of causes that may be at work at once. Their cases, such as "pump and valve", say how often that
        is; their rates are those of the causes, combined.
    unit
        What costs are in: "USD", "minutes".
    update
        A work-up that was learned before, to which these cases are added.

    Returns
    -------
    Workup
        Rates are posterior means under Jeffreys' prior: of n cases of a class, m with this of O outcomes, they
        are (m + 1/2) / (n + O/2).

    See Also
    --------
    replay_workup : What its plan would have cost other cases.

    Examples
    --------
    >>> past = {"fault": ["pump", "pump", "valve"], "noise": ["yes", "yes", "no"], "leak": ["no", "", "yes"]}
    >>> workup = learn_workup(past, "fault", {"noise": 1, "leak": 2}, wrong=50)
    >>> workup.steps[0].outcomes, workup.steps[0].chances[1]
    (('no', 'yes'), (0.833..., 0.25))
    """
    old = {} if update is None else update.document
    if update is not None:
        combine = combine or [[update.classes[k] for k in causes] for _, causes in update.sets]
    sets = {frozenset(causes): " and ".join(causes) for causes in combine}
    columns, names = read_records(records, label)
    truth = [sets.get(frozenset(name.split(" and ")), name) for name in names]
    steps = dict(old.get("steps", {}))
    before = {name: step["cost"] for name, step in steps.items() if "counts" in step}
    fees = costs or before or dict.fromkeys(columns, 1.0)
    for name, cost in fees.items():
        step = {"cuts": (cuts or {}).get(name)} | steps.get(name, {}) | {"cost": cost}
        if name in columns:
            step |= _counted(step, columns[name], truth, bins, set(sets.values()))
            if len(step["counts"]) < 2:
                continue
        elif name not in steps:
            fix = did_you_mean(name, columns)
            raise InputError(f"has {name!r}, which is no column of the records", argument="costs", fix=fix)
        steps[name] = step
    loss = TIMES_ALL_TESTS * sum(step["cost"] for step in steps.values()) if not old and wrong is None else wrong
    causes = dict.fromkeys([*old.get("classes", ()), *chain(*combine), *sorted(set(truth))])
    if len(causes) < 2:
        problem = f"hold one class, {listed(list(causes))}"
        raise InputError(problem, argument="records", fix="a work-up tells two at least apart")
    unused = [name for name in columns if name not in steps]
    document = {
        "classes": [name for name in causes if name not in sets.values()],
        "combine": combine,
        "cases": Counter(old.get("cases", {})) + Counter(truth),
        "unit": unit,
        "notes": unused and f"Not used as tests: {listed(unused, MOST_LISTED)}.",
        "stops": old.get("stops", {}) | ({"call it": {"wrong": loss}} if loss is not None else {}),
        "steps": steps,
    }
    return Workup(**old | {key: value for key, value in document.items() if value})


def _counted(step: Fields, values: list[str], truth: list[str], bins: int, sets: set[str]) -> Fields:
    """The outcomes of a step and how many cases had them, with these added; no outcomes where they are too many.

    Cases of a set of causes say nothing about the rates of each.
    """
    cuts, old = step["cuts"] or _quantile_cuts(values, truth, bins), step.get("counts", {})
    texts = sorted({*values} - {""})
    if cuts:
        ends = [typed(float(cut)) for cut in cuts]
        texts = [f"below {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)), f"from {ends[-1]}"]
    names = tuple(dict.fromkeys([*old, *(() if old and cuts else texts)]))
    read = WorkupStep("", 0.0, names, (), (), cuts=tuple(cuts)).outcome
    times = Counter(zip(map(read, values), truth, strict=True))
    counts = {
        name: Counter(old.get(name)) + Counter({k: times[number, k] for k in sorted(set(truth) - sets)})
        for number, name in enumerate(names if cuts or len(names) <= MOST_VALUES else ())
    }
    usual = max(counts, key=lambda name: counts[name].total(), default=None) if sets else None
    return {"cuts": cuts or None, "normal": step.get("normal", usual), "counts": counts}


def _quantile_cuts(values: list[str], truth: list[str], bins: int) -> list[float]:
    """Where numbers of many values are cut; nowhere if they are few, or texts.

    Each class has the same weight: else all cuts would lie among the values of the most frequent one.
    """
    try:
        pairs = sorted((float(value), name) for value, name in zip(values, truth, strict=True) if value)
    except ValueError:
        return []
    if len(dict(pairs)) <= MOST_VALUES:
        return []
    times = Counter(name for _, name in pairs)
    share = np.cumsum([1 / times[name] for _, name in pairs]) / len(times)
    cuts = {pairs[place][0] for place in np.searchsorted(share, np.arange(1, bins) / bins)}
    return sorted(cut for cut in cuts if cut > pairs[0][0])


def what_was_learned(workup: Workup) -> Iterator[str]:
    """How many cases there were, how often each test was made, and what rests on few cases; a sentence each."""
    cases, steps = np.array(workup.cases), [step for step in workup.steps if step.counts]
    shown = listed([f"{workup.classes[k]} {count(cases[k])}" for k in np.argsort(-cases)])
    yield f"{counted(len(steps), 'test')} learned from {counted(float(cases.sum()), 'case')}: {shown}."
    every = [k for k in range(len(cases)) if cases[k] and k not in dict(workup.sets)]
    names, few = [workup.classes[k] for k in every], list[str]()
    for step in steps:
        made, of = np.sum(step.counts, axis=0)[every], cases[every]
        few += [f"{step.name} for {name} ({count(n)})" for name, n in zip(names, made, strict=True) if n < FEW]
        if made.sum() < of.sum():
            share = made / of
            least, most = (f"{names[k]} ({percent(share[k])})" for k in (share.argmin(), share.argmax()))
            differs = displaced(np.array([[made, of - made]]))
            doubt = f", less often for {least} than for {most}: its rates may be off" if differs else ""
            yield f"{step.name} was made in {percent(made.sum() / of.sum())} of cases{doubt}."
    if all(np.sum(step.counts) == cases[every].sum() for step in steps):
        yield "Every test was made in every case."
    if few:
        yield f"Fewer than {FEW} cases: {listed(few, MOST_LISTED)}."


# A plan, followed by cases that it was not learned from; and a stop loss under which few of them are misnamed.


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
        """For people."""
        promised, paid = (
            money_between(one.value or 0.0, one.low, one.high, self.currency) for one in (self.promised, self.paid)
        )
        spent, pair = money(self.spent, self.currency), " and ".join(self.dependent)
        lines = [
            f"Promised {promised} per case; {counted(self.cases, 'case')} would have paid {paid}.",
            f"Steps cost {spent}; {self.wrong:,} of {self.named:,} named wrongly "
            f"({self.wrong / max(self.named, 1):.1%}).",
            f"{counted(self.left_out, 'case')} left out: a test that the plan asks for was not made.",
            f"Warning: {pair} depend on each other given the class. Trust what was paid, not the promise.",
        ]
        return "\n".join(compress(lines, [True, True, self.left_out, self.dependent]))


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
    read_number(
        at_most_wrong, "at_most_wrong", lambda share: 0 < share < 1, "it is a share between 0 and 1, such as 0.05"
    )
    if len(names) != 1:
        fix = "describe one, such as [stops.'call it'] with the loss of a wrong name"
        raise InputError(f"has {len(names)} ways to stop that name a class", argument="workup", fix=fix)
    for doublings in DOUBLINGS:
        stops = workup.document["stops"] | {names[0]: {"wrong": float(workup.costs.sum()) * 2.0**doublings}}
        tried = Workup(**workup.document | {"stops": stops})
        result = replay_workup(tried, records, label, level=level, **planning)
        if not result.named or bdtr(result.wrong, result.named, at_most_wrong) > 1 - level:
            break
        best = tried, result
    return best


def _dependent(workup: Workup, outcomes: dict[int, IntArray], truth: IntArray) -> Names:
    """Of the tests of a plan, the two that depend most on each other given the class, if any visibly do."""
    most, dependent, steps = VISIBLE, Names(), workup.steps
    for pair in combinations([test for test in sorted(outcomes) if not steps[test].is_certain], 2):
        table = np.zeros((len(workup.classes), *(len(steps[test].outcomes) for test in pair)))
        shown = np.array([outcomes[test] for test in pair])
        both = (shown >= 0).all(axis=0)
        np.add.at(table, (truth[both], *shown[:, both]), 1.0)
        moved = displaced(table)
        if moved > most:
            most, dependent = moved, tuple(steps[test].name for test in pair)
    return dependent

"""Work-ups learned from records of past cases: a table of counts for every test, by class.

With independent Dirichlet(1/2, ..., 1/2) priors of each test's outcomes given each class, and every test made at
most once per case, the expected cost of a plan is linear in each of these distributions. So the plan that is best
on average over the posterior is the one that is best at the posterior means.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from pandora_regret.core.inputs import Fields, FloatArray, InputError, Names, PastCases, did_you_mean, read_records
from pandora_regret.inference.dependence import displaced
from pandora_regret.text import listed, typed
from pandora_regret.workup.data import WorkupStep
from pandora_regret.workup.description import Workup

USUAL_NUMBER_OF_BINS = 5
FEWEST_NUMBERED = 20  # cases: with fewer, nothing tells a number of the case from a measurement
DISTINCT = 0.95  # of the values of a column that numbers cases
MOST_VALUES = 8  # of a column whose values are outcomes as they are
TIMES_ALL_TESTS = 10  # what naming a wrong class loses, unless it is said
MOST_LISTED = 12
STOP = "call it"  # the way to stop that names a class


def learn_workup(
    records: PastCases,
    label: str,
    costs: Mapping[str, float] | None = None,
    *,
    wrong: float | None = None,
    bins: int = USUAL_NUMBER_OF_BINS,
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
        tests that cost 1, but for those that number the cases.
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
    combine = combine or _combined_before(update)
    set_names = {frozenset(causes): " and ".join(causes) for causes in combine}
    columns, names = read_records(records, label)
    truth = [set_names.get(frozenset(name.split(" and ")), name) for name in names]
    causes = sorted(set(truth) - set(set_names.values()))
    steps = _learn_steps(
        columns,
        truth,
        fees=_fees(costs, old, columns),
        old_steps=old.get("steps", {}),
        causes=causes,
        reading=_OutcomeReading(bins, dict(cuts or {}), has_sets=bool(combine)),
    )
    unused = [name for name in columns if name not in steps]
    learned = {
        "classes": _all_classes(old, combine, causes),
        "combine": combine,
        "cases": Counter(old.get("cases", {})) + Counter(truth),
        "unit": unit,
        "notes": f"Not used as tests: {listed(unused, MOST_LISTED)}." if unused else "",
        "stops": _stops(old, steps, wrong),
        "steps": steps,
    }
    stated = {key: value for key, value in learned.items() if value}
    return Workup(**{**old, **stated})


def _combined_before(update: Workup | None) -> list[tuple[str, ...]]:
    """The sets of causes that a work-up combines; none where there is no work-up yet."""
    if update is None:
        return []
    sets = [members for _, members in update.sets]
    return [tuple(update.classes[k] for k in members) for members in sets]


def _all_classes(old: Fields, combine: Sequence[Sequence[str]], causes: list[str]) -> list[str]:
    """The classes there were, those of sets, and those that cases had, each once."""
    classes = list(dict.fromkeys([*old.get("classes", ()), *chain.from_iterable(combine), *causes]))
    if len(classes) < 2:
        problem = f"hold one class, {listed(classes)}"
        raise InputError(problem, argument="records", fix="a work-up tells two at least apart")
    return classes


def _stops(old: Fields, steps: Fields, wrong: float | None) -> Fields:
    """The ways to stop there were, and naming a class; unless its loss is said, ten times what all tests cost."""
    stops = dict(old.get("stops", {}))
    if wrong is None and not old:
        wrong = TIMES_ALL_TESTS * sum(step["cost"] for step in steps.values())
    if wrong is not None:
        stops[STOP] = {"wrong": wrong}
    return stops


def _fees(costs: Mapping[str, float] | None, old: Fields, columns: Mapping[str, Any]) -> Mapping[str, float]:
    """What each test costs: as said, as for those that were learned before, or 1 for every column."""
    if costs:
        return costs
    learned_before = {name: step["cost"] for name, step in old.get("steps", {}).items() if "counts" in step}
    if learned_before:
        return learned_before
    return {name: 1.0 for name, values in columns.items() if not hardly_repeats(values)}


def hardly_repeats(values: Sequence[str]) -> bool:
    """Whether a column numbers its cases rather than tells about them: whole numbers, hardly one of them twice.

    Texts of so many values are no test anyway, and measurements with decimals need not repeat.
    """
    stated = [value for value in values if value]
    if len(stated) < FEWEST_NUMBERED or len(set(stated)) < DISTINCT * len(stated):
        return False
    return all(value.lstrip("-").isdecimal() for value in stated)


@dataclass(frozen=True)
class _OutcomeReading:
    """How the values of columns become outcomes."""

    bins: int  # into how many ranges numbers are cut
    cuts: Mapping[str, Sequence[float]]  # where to cut the numbers of some columns instead
    has_sets: bool  # whether causes may be at work at once, so that an outcome is the normal one


def _learn_steps(
    columns: Mapping[str, list[str]],
    truth: list[str],
    *,
    fees: Mapping[str, float],
    old_steps: Fields,
    causes: list[str],
    reading: _OutcomeReading,
) -> Fields:
    """The tables of all steps: those there were, with the outcomes in these records added.

    Parameters
    ----------
    columns
        What each test has shown, one text per case; blank where it was not made.
    truth
        The class of each case.
    fees
        What each test costs, by its column.
    old_steps
        The tables of steps that were learned or described before.
    causes
        The classes that are no sets of others. Cases of a set say nothing about the rates of each cause.
    reading
        How values become outcomes.
    """
    steps = dict(old_steps)
    for name, cost in fees.items():
        step = {"cuts": reading.cuts.get(name)} | steps.get(name, {}) | {"cost": cost}
        if name in columns:
            step |= _count_outcomes(step, columns[name], truth, causes, reading)
            if len(step["counts"]) < 2:
                continue  # a column of one value, or of too many, is no test
        elif name not in steps:
            fix = did_you_mean(name, columns)
            raise InputError(f"has {name!r}, which is no column of the records", argument="costs", fix=fix)
        steps[name] = step
    return steps


def _count_outcomes(
    step: Fields, values: list[str], truth: list[str], causes: list[str], reading: _OutcomeReading
) -> Fields:
    """The keys of a step that say how many cases of each cause had each outcome, with these cases added.

    There are no outcomes where they are too many.
    """
    old_counts = step.get("counts", {})
    cuts = step["cuts"] or _quantile_cuts(values, truth, reading.bins)
    if not cuts:
        names = list(dict.fromkeys([*old_counts, *sorted(set(values) - {""})]))
    elif old_counts:
        names = list(old_counts)
    else:
        names = _range_names(cuts)
    as_step = WorkupStep("", 0.0, tuple(names), (), (), cuts=tuple(cuts))
    times = Counter(zip(map(as_step.outcome, values), truth, strict=True))
    counts = dict[str, Counter[str]]()
    if cuts or len(names) <= MOST_VALUES:
        for number, name in enumerate(names):
            new = Counter({cause: times[number, cause] for cause in causes})
            counts[name] = Counter(old_counts.get(name)) + new
    usual = None  # the outcome that most cases had, which is then the normal one
    if reading.has_sets:
        usual = max(counts, key=lambda name: counts[name].total(), default=None)
    return {"cuts": cuts or None, "normal": step.get("normal", usual), "counts": counts}


def _range_names(cuts: Sequence[float]) -> list[str]:
    """The names of the ranges between cuts."""
    ends = [typed(float(cut)) for cut in cuts]
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"below {ends[0]}", *between, f"from {ends[-1]}"]


def _quantile_cuts(values: list[str], truth: list[str], bins: int) -> list[float]:
    """Where numbers of many values are cut; nowhere if they are few, or texts.

    Each class has the same weight: else all cuts would lie among the values of the most frequent one.
    """
    try:
        pairs = sorted((float(value), name) for value, name in zip(values, truth, strict=True) if value)
    except ValueError:
        return []
    numbers = [number for number, _ in pairs]
    if len(set(numbers)) <= MOST_VALUES:
        return []
    times = Counter(name for _, name in pairs)
    share_below = np.cumsum([1 / times[name] for _, name in pairs]) / len(times)
    places = np.searchsorted(share_below, np.arange(1, bins) / bins)
    cuts = {numbers[place] for place in places}
    return sorted(cut for cut in cuts if cut > numbers[0])


@dataclass(frozen=True)
class UseOfTest:
    """How often a test was made, among the cases of each cause."""

    name: str
    made: FloatArray  # (causes,) in how many cases
    for_a_reason: bool  # whether that depends on the class by more than chance


@dataclass(frozen=True)
class RecordCounts:
    """The records that a work-up was learned from."""

    causes: Names  # the classes that occurred, without sets of them
    cases: FloatArray  # (causes,) how many there were
    tests: tuple[UseOfTest, ...]


def records_of(workup: Workup) -> RecordCounts:
    """How many cases a work-up was learned from, and how often each test was made."""
    sets = dict(workup.sets)
    numbers = [k for k, n_cases in enumerate(workup.cases) if n_cases and k not in sets]
    cases = np.array(workup.cases)[numbers]
    tests = list[UseOfTest]()
    for step in workup.steps:
        if step.counts:
            made = np.sum(step.counts, axis=0)[numbers]
            is_dependent = made.sum() < cases.sum() and displaced(np.array([[made, cases - made]])) > 0
            tests.append(UseOfTest(step.name, made, is_dependent))
    return RecordCounts(tuple(workup.classes[k] for k in numbers), cases, tuple(tests))

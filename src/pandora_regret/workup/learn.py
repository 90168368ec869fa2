"""Work-ups learned from records of past cases: what their file says, and what is to be said of it.

With independent Dirichlet(1/2, ..., 1/2) priors of each test's outcomes given each class, and every test made at
most once per case, the expected cost of a plan is linear in each of these distributions. So the plan that is best
on average over the posterior is the one that is best at the posterior means.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from pandora_regret.inference.dependence import displaced
from pandora_regret.inputs import InputError, Table
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.inputs.past_cases import read_records
from pandora_regret.text import count, counted, listed, percent, typed
from pandora_regret.workup.description import Workup
from pandora_regret.workup.format import WorkupStep

BINS = 5
MOST_VALUES = 8  # of a column whose values are outcomes as they are
TIMES_ALL_TESTS = 10  # what naming a wrong class loses, unless it is said
FEW = 10  # cases
MOST_LISTED = 12


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
    unused = [name for name in columns if name not in steps]
    document = {
        "classes": [name for name in causes if name not in sets.values()],
        "combine": combine,
        "cases": Counter(old.get("cases", {})) + Counter(truth),
        "unit": unit,
        "notes": unused and f"No tests: {listed(unused, MOST_LISTED)}.",
        "stops": old.get("stops", {}) | ({"call it": {"wrong": loss}} if loss is not None else {}),
        "steps": steps,
    }
    return Workup(**old | {key: value for key, value in document.items() if value})


def _counted(
    step: dict[str, Any], values: list[str], truth: list[str], bins: int, sets: set[str]
) -> dict[str, Any]:
    """The outcomes of a step and how many cases had them, with these added; no outcomes where they are too many.

    Cases of a set of causes say nothing about the rates of each.
    """
    cuts, old = step["cuts"] or _quantile_cuts(values, truth, bins), step.get("counts", {})
    texts = set() if cuts else {*values} - {""}
    names = tuple(dict.fromkeys([*(old or _ranges(cuts)), *sorted(texts)]))
    read = WorkupStep("", 0.0, names, (), (), cuts=tuple(cuts)).outcome
    times = Counter(zip(map(read, values), truth, strict=True))
    counts = {
        name: Counter(old.get(name)) + Counter({k: times[number, k] for k in sorted(set(truth) - sets)})
        for number, name in enumerate(names if cuts or len(names) <= MOST_VALUES else ())
    }
    usual = max(counts, key=lambda name: counts[name].total(), default=None) if sets else None
    return {"cuts": cuts or None, "normal": step.get("normal", usual), "counts": counts}


def _ranges(cuts: Sequence[float]) -> list[str]:
    """What the ranges between cuts are called."""
    ends = [typed(float(cut)) for cut in cuts]
    return (
        [f"below {ends[0]}", *(f"{low} to {high}" for low, high in pairwise(ends)), f"from {ends[-1]}"]
        if cuts
        else []
    )


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

"""From a work-up's file to its data: names become numbers, rates become probabilities, fees become costs.

`read_workup` goes through the file once: classes; tables of steps, those of a hierarchy written out; each step
with the probabilities of its outcomes; what steps require; ways to stop. Whatever does not fit is an `InputError`
whose place is the path of the key.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from pandora_regret.core.costs.pathways import Item, check_payments, read_version_1, round_money
from pandora_regret.core.inputs import Fields, FloatArray, Names, did_you_mean
from pandora_regret.core.records import as_written, fail, from_plain, path
from pandora_regret.text import unit_named
from pandora_regret.workup.data import HALF, ROUNDING, Pair, Stop, WorkupStep, noisy_or
from pandora_regret.workup.format import NumberOrTable, StepTable, StopTable, Texts, WorkupFile

REST = "otherwise"  # an outcome that has all the probability that the others leave
OTHERS = "others"  # the classes that a table does not name
NONE_OF_THESE = "none of these"
FEES = ("cost", "items")

Value = TypeVar("Value")
Outcomes = dict[str, FloatArray | None]  # (K,) probabilities of each outcome; None for all that the others leave


def read_workup(document: Mapping[str, object]) -> Fields:
    """The fields of a `WorkupData`, checked, from what a work-up's file says; steps of a hierarchy come last."""
    plain = as_written(document)
    file: WorkupFile = read_version_1(WorkupFile, plain)
    classes = read_classes(file)
    tables = step_tables(file, classes)
    steps = tuple(read_step(table, classes, file.items) for table in tables)
    requires = read_requirements(tables, steps)
    step_numbers = {step.name: number for number, step in enumerate(steps)}
    choose(file.rounds.together, step_numbers, "rounds.together", "step")
    return {
        "classes": classes.names,
        "sets": tuple(classes.sets.items()),
        "cases": tuple(classes.values(file.cases, "cases").tolist()),
        "steps": steps,
        "requires": requires,
        "stops": tuple(read_stop(name, table, classes) for name, table in file.stops.items()),
        "confirm": file.confirm,
        "budget": file.budget,
        "unresolved": tuple(classes.values(file.unresolved, "unresolved", classes.numbers).tolist()),
        "fee": file.rounds.fee,
        "together": as_texts(file.rounds.together),
        "title": file.title,
        "notes": file.notes,
        "currency": unit_named(file.currency or file.unit),
        "source": file.source,
        "document": plain,
    }


def as_texts(value: Texts) -> Names:
    """A text, or several, as texts; column numbers may be names."""
    if isinstance(value, tuple):
        return tuple(str(entry) for entry in value)
    return (str(value),)


def choose(names: Texts, options: Mapping[str, Value], place: str, kind: str) -> list[Value]:
    """What each name stands for among the options; an error calls these a kind of thing, such as "step"."""
    for name in as_texts(names):
        if name not in options:
            fail(place, f"contains {name!r}, which is no {kind}", did_you_mean(name, options))
    return [options[name] for name in as_texts(names)]


# Classes, and what is said by class


@dataclass(frozen=True)
class Classes:
    """The classes of a file: those that it lists, then the sets of causes that may act at once."""

    names: Names
    sets: dict[int, tuple[int, ...]]  # numbers of classes that are sets, and of the causes in them

    @property
    def numbers(self) -> range:
        """The number of every class."""
        return range(len(self.names))

    def joined(self, members: Iterable[int]) -> str:
        """The name of a set of classes."""
        return " and ".join(self.names[k] for k in members)

    def members(self, value: Texts, place: str) -> list[int]:
        """The numbers of the classes that are listed, each once; "all" stands for every class."""
        if value == "all" and "all" not in self.names:
            return list(self.numbers)
        members = choose(value, {name: k for k, name in enumerate(self.names)}, place, "class")
        if not members or len(set(members)) < len(members):
            fail(place, "lists no class, or one twice", 'list each class once, or write "all"')
        return members

    def values(self, value: NumberOrTable | None, place: str, required: Iterable[int] = ()) -> FloatArray:
        """One number for all classes, or a table by class in which `others` stands for those not named, as (K,).

        Classes that a table without `others` does not name have 0; an error if a required one is not named.
        """
        if value is None:
            fail(place, "is missing", "a step with positive_for has both rates")
        if not isinstance(value, dict):
            return np.full(len(self.names), float(value))
        for name in value:
            if name not in self.names and name != OTHERS:
                fail(path(place, name), "is no class", did_you_mean(name, self.names))
        for_others = None if OTHERS in self.names else value.get(OTHERS)
        for k in required:
            if self.names[k] not in value and for_others is None:
                fix = f"add it, or {OTHERS} = ... for all that are not named"
                fail(place, f"says nothing about {self.names[k]!r}", fix)
        return np.array([float(value.get(name, for_others or 0.0)) for name in self.names])


def read_classes(file: WorkupFile) -> Classes:
    """The classes that a file lists, and the sets that it combines of them: a list of sets, or one set."""
    listed = Classes(as_texts(file.classes), {})
    is_list_of_sets = all(isinstance(entry, tuple) for entry in file.combine)
    combined = file.combine if is_list_of_sets else (file.combine,)
    sets = [listed.members(causes, "combine") for causes in combined if causes]  # type: ignore[arg-type]
    set_names = [listed.joined(causes) for causes in sets]
    numbered = {len(listed.names) + number: tuple(causes) for number, causes in enumerate(sets)}
    return Classes((*listed.names, *set_names), numbered)


# The tables of steps


@dataclass(frozen=True)
class PlacedTable:
    """A step's table, its name, and where it stands in the file."""

    name: str
    place: str
    table: StepTable


def step_tables(file: WorkupFile, classes: Classes) -> list[PlacedTable]:
    """The tables of all steps: those of ``[steps]``, then those of the hierarchy, from the top down."""
    tables = [PlacedTable(name, path("steps", name), table) for name, table in file.steps.items()]
    tables += hierarchy_tables(file.hierarchy, "hierarchy", (), classes.names)
    names = set[str]()
    for table in tables:
        if table.name in names:
            fail("hierarchy", f"contains {table.name!r}, which is already a step", "rename one")
        names.add(table.name)
    return tables


def hierarchy_tables(level: Fields, place: str, requires: Texts, classes: Names) -> Iterator[PlacedTable]:
    """One level of a hierarchy as tables of steps, each followed by those below it.

    A test with classes below it says whether the truth is one of them; these are then looked for. One with nothing
    below it confirms its class.
    """
    for name, value in level.items():
        if name in FEES:
            continue
        here = path(place, name)
        node = value if isinstance(value, dict) else {"cost": value}
        below = list(hierarchy_tables(node, here, f"{name}=yes", classes))
        classes_below = [inner.table.confirms for inner in below if inner.table.confirms is not None]
        if len(classes_below) < 2 and (below or name not in classes):
            fail(here, "is no class, and has less than two below it", did_you_mean(name, classes))
        fees = from_plain(StepTable, {key: node[key] for key in FEES if key in node}, here)
        if below:
            inside: NumberOrTable = {str(class_name): 1.0 for class_name in classes_below}
            table = replace(fees, requires=requires, outcomes={"yes": inside, "no": REST})
        else:
            table = replace(fees, requires=requires, confirms=name)
        yield PlacedTable(name, here, table)
        yield from below


def read_requirements(tables: list[PlacedTable], steps: tuple[WorkupStep, ...]) -> tuple[tuple[Pair, ...], ...]:
    """For each step the numbers of the steps that it requires, and of their outcomes."""
    pairs = dict[str, Pair]()
    for number, step in enumerate(steps):
        for index, outcome in enumerate(step.outcomes):
            pairs[f"{step.name}={outcome}"] = (number, index)
    for number, step in enumerate(steps):
        pairs[step.name] = (number, None)
    return tuple(
        tuple(choose(placed.table.requires, pairs, f"{placed.place}.requires", "step or outcome of one"))
        for placed in tables
    )


# One step


def read_step(placed: PlacedTable, classes: Classes, items: Mapping[str, Item]) -> WorkupStep:
    """A step, with the probability of each of its outcomes, (O, K), and what it costs."""
    table = placed.table
    outcomes = read_outcomes(table, placed.place, classes)
    chances = fill_rest(outcomes, len(classes.names))
    normal = -1
    if classes.sets and table.tells_apart is None and len(outcomes) > 1:
        normal = normal_outcome(table, outcomes, placed.place)
        combine_causes(chances, normal, table, classes)
    check_chances(chances, list(outcomes), classes.names, placed.place)
    counts = [classes.values(row, placed.place) for row in (table.counts or {}).values()]
    return WorkupStep(
        name=placed.name,
        cost=read_cost(table, placed.place, items),
        outcomes=tuple(outcomes),
        chances=tuple(map(tuple, chances.tolist())),
        confirmed=read_confirmed(table, placed.place, outcomes, chances),
        requires=as_texts(table.requires),
        counts=tuple(tuple(row.tolist()) for row in counts),
        cuts=table.cuts,
        normal=normal,
    )


def read_cost(table: StepTable, place: str, items: Mapping[str, Item]) -> float:
    """What a step costs: as stated, or the sum of its payments for fee items."""
    if table.cost is not None:
        return table.cost
    payments = table.items or ()
    check_payments(payments, f"{place}.items", items, ())
    fees = 0.0
    for step in payments:
        for payment, times in step.paid(step.chance):
            fees += times * items[payment.name].amount
    return round_money(fees)


def read_outcomes(table: StepTable, place: str, classes: Classes) -> Outcomes:
    """What a step may show, and how likely that is under each class."""
    if table.confirms is not None:
        return confirming_outcomes(table, place, classes)
    if table.tells_apart is not None:
        return panel_outcomes(table.tells_apart, place, classes)
    if table.positive_for is not None:
        return binary_outcomes(table, place, classes)
    if table.outcomes is not None:
        return stated_outcomes(table, place, classes)
    if table.counts is not None:
        return counted_outcomes(table, place, classes)
    return {"done": np.ones(len(classes.names))}  # a visit


def confirming_outcomes(table: StepTable, place: str, classes: Classes) -> Outcomes:
    """The outcomes of a test that says yes to one class alone, as often as its sensitivity."""
    [k] = classes.members((table.confirms or "",), f"{place}.confirms")
    rate = 1.0 if table.sensitivity is None else table.sensitivity
    sensitivity = classes.values(rate, f"{place}.sensitivity", [k])
    return {"yes": np.eye(len(classes.names))[k] * sensitivity, "no": None}


def panel_outcomes(listed: Texts, place: str, classes: Classes) -> Outcomes:
    """The outcomes of a test that says which of the listed classes it is, or that it is none of them."""
    members = classes.members(listed, f"{place}.tells_apart")
    certain = np.eye(len(classes.names))
    outcomes: Outcomes = {classes.names[k]: certain[k] for k in members}
    if len(members) < len(classes.names):
        outcomes[NONE_OF_THESE] = None
    return outcomes


def binary_outcomes(table: StepTable, place: str, classes: Classes) -> Outcomes:
    """The outcomes of a test that is positive for some classes, with its two rates."""
    members = classes.members(table.positive_for or (), f"{place}.positive_for")
    without = [k for k in classes.numbers if k not in members and k not in classes.sets]
    positive = 1 - classes.values(table.specificity, f"{place}.specificity", without)
    sensitivity = classes.values(table.sensitivity, f"{place}.sensitivity", members)
    positive[members] = sensitivity[members]
    return {"positive": positive, "negative": None}


def stated_outcomes(table: StepTable, place: str, classes: Classes) -> Outcomes:
    """The outcomes of a test that are written with their probabilities; one may be "otherwise"."""
    stated = table.outcomes or {}
    here = f"{place}.outcomes"
    check_cuts(table, stated, here)
    outcomes: Outcomes = {}
    for name, value in stated.items():
        if value == REST:
            outcomes[name] = None
        elif isinstance(value, str):
            fail(path(here, name), f"is {value!r}", f"give probabilities, or {REST!r} for one outcome")
        else:
            outcomes[name] = classes.values(value, path(here, name))
    return outcomes


def counted_outcomes(table: StepTable, place: str, classes: Classes) -> Outcomes:
    """The outcomes of a learned test: posterior means under Jeffreys' prior, from the cases with each outcome."""
    counts = table.counts or {}
    here = f"{place}.counts"
    check_cuts(table, counts, here)
    cases = np.array([classes.values(row, path(here, name)) for name, row in counts.items()]) + HALF
    return dict(zip(counts, cases / cases.sum(axis=0), strict=True))


def check_cuts(table: StepTable, outcomes: Collection[str], place: str) -> None:
    """That there are two outcomes at least, and where a number is cut, rising cuts between all of them."""
    are_too_few = len(outcomes) < 2
    do_not_fit = bool(table.cuts) and len(table.cuts) != len(outcomes) - 1
    if are_too_few or do_not_fit or any(np.diff(table.cuts) <= 0):
        fail(place, "must have at least two outcomes, and rising cuts between all of them if any")


def fill_rest(outcomes: Outcomes, n_classes: int) -> FloatArray:
    """Probabilities of all outcomes, (O, K), in which one may have all that the others leave."""
    stated = np.zeros(n_classes)
    for row in outcomes.values():
        if row is not None:
            stated = stated + row
    rest = 1 - stated
    rest[np.abs(rest) < ROUNDING] = 0.0  # rounding in the last digit is no probability
    return np.array([rest if row is None else row for row in outcomes.values()])


def normal_outcome(table: StepTable, outcomes: Outcomes, place: str) -> int:
    """The number of the outcome that no cause brings about: as stated, or the one that has what is left."""
    rest = [name for name, row in outcomes.items() if row is None]
    name = table.normal or "".join(rest)
    numbers = {outcome: number for number, outcome in enumerate(outcomes)}
    kind = "outcome: name the one that no cause brings about"
    [number] = choose(name, numbers, f"{place}.normal", kind)
    return number


def combine_causes(chances: FloatArray, normal: int, table: StepTable, classes: Classes) -> None:
    """Fill in the probabilities, (O, K), of those sets of causes that the step's table does not name."""
    stated = set[str]()
    for value in (table.outcomes or {}).values():
        if isinstance(value, dict):
            stated.update(value)
    for k, causes in classes.sets.items():
        if classes.names[k] not in stated:
            chances[:, k] = noisy_or(chances, normal, causes)


def check_chances(chances: FloatArray, outcomes: list[str], classes: Names, place: str) -> None:
    """That under each class the probabilities of outcomes, (O, K), lie in [0, 1] and sum to 1."""
    is_wrong = (chances < 0).any(axis=0) | (np.abs(chances.sum(axis=0) - 1) > ROUNDING)
    for k in np.flatnonzero(is_wrong):
        rates = ", ".join(f"{name} {rate:g}" for name, rate in zip(outcomes, chances[:, k], strict=True))
        problem = f"have the probabilities {rates} if the truth is {classes[k]!r}"
        fix = f'they must lie in [0, 1] and sum to 1; one outcome may be "{REST}"'
        fail(f"{place}.outcomes", problem, fix)


def read_confirmed(
    table: StepTable, place: str, outcomes: Outcomes, chances: FloatArray
) -> tuple[int | None, ...]:
    """For each outcome the class that it confirms, if any.

    Only an outcome that one class alone can have may confirm it. Those do that the table lists; unless it does,
    all whose probabilities are stated.
    """
    only_class = dict[str, int]()
    for name, row in zip(outcomes, chances, strict=True):
        if np.count_nonzero(row) == 1:
            only_class[name] = int(row.argmax())
    confirming: Collection[str] = [name for name, row in outcomes.items() if row is not None]
    if table.confirming is not None:
        confirming = as_texts(table.confirming)
        choose(confirming, only_class, f"{place}.confirming", "outcome that exactly one class can have")
    return tuple(only_class.get(name) if name in confirming else None for name in outcomes)


# Ways to stop


def read_stop(name: str, table: StopTable, classes: Classes) -> Stop:
    """A way to stop, with what it loses under each class; `wrong` is lost unless the right class is named."""
    place = path("stops", name)
    if table.loss is None:
        losses = classes.values(table.wrong, f"{place}.wrong", classes.numbers)
    else:
        losses = classes.values(table.loss, f"{place}.loss", classes.numbers)
    return Stop(name, tuple(losses.tolist()), names_class=table.loss is None)

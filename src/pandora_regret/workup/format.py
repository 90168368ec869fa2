"""Format version 1 of a work-up: what a TOML file or Python may say, and what is wrong with anything else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta

from pandora_regret.costs.pathway_file import check_payments, check_version
from pandora_regret.costs.pathways import Item, Step, Year, rounded
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.labels import is_missing
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.records import check_keys, fail, from_plain, path
from pandora_regret.text import typed, unit_named

REST, OTHERS, NONE = "otherwise", "others", "none of these"
ROUNDING = 1e-9  # how far probabilities may be off 1, as 1/3 written with ten digits is
SHAPES = ("confirms", "tells_apart", "positive_for", "outcomes", "counts")
TINY = 1e-300
HALF = 0.5  # a case of every outcome, before any was seen
RATES = {"confirms": ["sensitivity"], "positive_for": ["sensitivity", "specificity"], "outcomes": ["confirming"]}

Amount = Annotated[float, Meta(ge=0, le=1e50)]
PerClass = Amount | dict[str, Amount]  # one number for all classes, or a table in which `others` may stand
Text = str | int
Texts = Text | tuple[Text, ...]


class Requirement(NamedTuple):
    """A step that must have been made before another, perhaps with a certain outcome."""

    step: str
    outcome: str | None = None

    def __str__(self) -> str:
        return self.step if self.outcome is None else f"{self.step}={self.outcome}"


def as_outcome(value: Any) -> str:
    """A value as the name of an outcome or a class: texts as they are, 1.0 as "1", and "" where it is blank."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return "" if is_missing(value) else typed(float(value)) if is_number else str(value).strip()


@dataclass(frozen=True)
class WorkupStep:
    """Something that can be done once: a test, a visit, a question."""

    name: str
    cost: float
    outcomes: tuple[str, ...]
    chances: tuple[tuple[float, ...], ...]  # (outcomes, K): how likely each outcome is if a class is the truth
    confirmed: tuple[int | None, ...]  # (outcomes,): the class that an outcome confirms
    requires: tuple[Requirement, ...] = ()
    counts: tuple[tuple[float, ...], ...] = ()  # (outcomes, K) where chances were learned: cases that had each
    cuts: tuple[float, ...] = ()  # of a number: between the outcomes, which are then ranges in rising order
    normal: int = -1  # the outcome that is shown where no cause of a set is at work

    @property
    def is_certain(self) -> bool:
        """Whether the truth alone decides the outcome."""
        return all(chance in (0, 1) for row in self.chances for chance in row)

    @property
    def settles(self) -> frozenset[int]:
        """The classes that the step is certain to confirm where they are the truth."""
        pairs = zip(self.confirmed, self.chances, strict=True)
        return frozenset(k for k, row in pairs if k is not None and row[k] == 1)

    def outcome(self, value: Any) -> int | None:
        """The number of the outcome that a value is: its name, or a number in its range; None where it is none."""
        name = as_outcome(value)
        try:
            ranges = self.cuts and name not in self.outcomes
            return int(np.searchsorted(self.cuts, float(name), "right")) if ranges else self.outcomes.index(name)
        except ValueError:
            return None


@dataclass(frozen=True)
class Stop:
    """A way to end without a confirmed class: what that loses if a class is the truth.

    Where the class is named on stopping (the one that loses least is), nothing is lost if the name is right.
    """

    name: str
    losses: tuple[float, ...]  # (K,)
    names_class: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether stopping loses the same whatever the truth is."""
        return not self.names_class and len(set(self.losses)) == 1


def noisy_or(chances: FloatArray, normal: int, causes: Sequence[int]) -> FloatArray:
    """How likely outcomes are, (..., O), if several causes are at work, from those of each class, (..., O, K).

    Each cause brings about what it would alone, independently of the others. The outcome is normal if none of them
    shows; else it is one that some cause shows, the likelier the more these make it so. With two outcomes this is
    Pearl's noisy-OR.
    """
    alone = chances[..., list(causes)]
    shown, nothing = alone.sum(axis=-1), alone[..., normal, :].prod(axis=-1)
    shown[..., normal] = 0.0
    shown *= ((1 - nothing) / np.maximum(shown.sum(axis=-1), TINY))[..., None]
    shown[..., normal] = nothing
    return np.asarray(shown)


def requirements(step: WorkupStep, steps: Mapping[str, WorkupStep]) -> set[Requirement]:
    """Everything that must have come before a step, directly or not."""
    needed: set[Requirement] = set()
    for one in step.requires:
        needed |= {one} | requirements(steps[one.step], steps)
    return needed


@dataclass(frozen=True)
class StepTable:
    """A ``[steps.NAME]`` table."""

    cost: Amount | None = None
    items: tuple[Step, ...] | None = None
    requires: Texts = ()
    confirms: Text | None = None
    tells_apart: Texts | None = None
    positive_for: Texts | None = None
    outcomes: dict[str, PerClass | str] | None = None
    sensitivity: PerClass | None = None
    specificity: PerClass | None = None
    confirming: Texts | None = None
    counts: dict[str, dict[str, Amount]] | None = None
    cuts: tuple[float, ...] = ()
    normal: str | None = None

    def __post_init__(self) -> None:
        if (self.cost is None) == (self.items is None):
            problem = "is missing, and so is items" if self.cost is None else "stands beside items"
            raise InputError(problem, argument="cost", fix="state one of the two")
        shapes = [key for key in SHAPES if getattr(self, key) is not None]
        if len(shapes) > 1:
            fix = "say in one way what the step tells"
            raise InputError(f"stands beside {shapes[0]}", argument=shapes[1], fix=fix)
        told = f"a step with {shapes[0]}" if shapes else "a step that tells nothing"
        for key in ("sensitivity", "specificity", "confirming"):
            if getattr(self, key) is not None and key not in RATES.get("".join(shapes), []):
                fix = "take it out, or describe the step by positive_for"
                raise InputError(f"says nothing about {told}", argument=key, fix=fix)


@dataclass(frozen=True)
class StopTable:
    """A ``[stops.NAME]`` table."""

    loss: PerClass | None = None
    wrong: PerClass | None = None

    def __post_init__(self) -> None:
        if (self.loss is None) == (self.wrong is None):
            raise InputError("and wrong", argument="loss", fix="state exactly one of the two")


@dataclass(frozen=True)
class Rounds:
    """The ``[rounds]`` table."""

    fee: Amount
    together: Texts = ()


@dataclass(frozen=True)
class WorkupFile:
    """The file, as it is written."""

    classes: tuple[Text, ...]
    format_version: Literal[1] = 1
    title: str = ""
    setting: str = ""
    notes: str = ""
    currency: str = ""
    unit: str = ""
    source: str = ""
    year: Year | None = None
    cases: dict[str, Amount] = field(default_factory=dict)
    combine: tuple[Texts, ...] = ()
    items: dict[str, Item] = field(default_factory=dict)
    confirm: bool = True
    budget: Amount | None = None
    unresolved: PerClass = 0.0
    steps: dict[str, StepTable] = field(default_factory=dict)
    hierarchy: dict[str, Any] = field(default_factory=dict)
    stops: dict[str, StopTable] = field(default_factory=dict)
    rounds: Rounds = field(default_factory=lambda: Rounds(0.0))

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError("must list at least two classes, each once", argument="classes")
        if self.currency and self.unit:
            raise InputError("stands beside currency", argument="unit", fix="costs are in one of them")
        if not self.steps and not self.hierarchy:
            raise InputError("is missing", argument="steps", fix="describe at least one step, or a hierarchy")


def read_workup(document: Mapping[str, Any], file: str) -> dict[str, Any]:
    """The fields of a Workup, checked, from what its file says; `file` is what error messages call it."""
    try:
        plain = _plain(document)
        check_version(plain)
        check_keys(WorkupFile, plain, "")
        return _Reader(from_plain(WorkupFile, plain, "")).read() | {"document": plain}
    except InputError as error:
        raise error.within(file) from None


def _plain(value: Any) -> Any:
    """Python's and NumPy's values as the TOML reader would give them: lists, dictionaries, numbers, text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _texts(value: Any) -> tuple[str, ...]:
    """A text, or a list of texts; column numbers may be names."""
    return tuple(str(entry) for entry in value) if isinstance(value, tuple) else (str(value),)


class _Reader:
    """Reads the tables of a file in the light of the classes and fee items that it lists."""

    def __init__(self, file: WorkupFile) -> None:
        self.classes = causes = _texts(file.classes)
        lists = file.combine if any(isinstance(one, tuple) for one in file.combine) else (file.combine,)
        members = [self._members(one, "combine") for one in lists if one]
        self.classes += tuple(" and ".join(causes[k] for k in some) for some in members)
        self.sets = {len(causes) + number: tuple(some) for number, some in enumerate(members)}
        self.file = replace(file, classes=self.classes)

    def read(self) -> dict[str, Any]:
        """The fields of a Workup; the steps of a hierarchy come last."""
        file, tables = self.file, {name: (path("steps", name), table) for name, table in self.file.steps.items()}
        for place, name, table in self._level(file.hierarchy, "hierarchy", ()):
            if name in tables:
                fail("hierarchy", f"contains {name!r}, which is already a step", "rename one")
            tables[name] = (place, table)
        steps = {name: self._step(name, table, place) for name, (place, table) in tables.items()}
        for name, (place, table) in tables.items():
            requires = tuple(_requirement(f"{place}.requires", text, steps) for text in _texts(table.requires))
            steps[name] = replace(steps[name], requires=requires)
        stops, every = [], range(len(self.classes))
        for name, stop in file.stops.items():
            key = "wrong" if stop.loss is None else "loss"
            losses = self._per_class(getattr(stop, key), f"{path('stops', name)}.{key}", every)
            stops.append(Stop(name, tuple(losses.tolist()), key == "wrong"))
        about = ("title", "setting", "notes", "source", "year", "confirm", "budget")
        _check_possible(file, steps)
        return {key: getattr(file, key) for key in about} | {
            "classes": self.classes,
            "sets": tuple(self.sets.items()),
            "cases": tuple(self._per_class(file.cases, "cases").tolist()),
            "currency": unit_named(file.currency or file.unit),
            "steps": tuple(steps.values()),
            "stops": tuple(stops),
            "unresolved": tuple(self._per_class(file.unresolved, "unresolved", every).tolist()),
            "fee": file.rounds.fee,
            "together": _texts(file.rounds.together),
        }

    def _level(self, table: dict[str, Any], place: str, requires: Texts) -> Iterator[tuple[str, str, StepTable]]:
        """One level of a hierarchy as tables of steps, each followed by those below it."""
        for name, value in table.items():
            if name in ("cost", "items"):
                continue
            here, node = path(place, name), value if isinstance(value, dict) else {"cost": value}
            below = list(self._level(node, here, f"{name}=yes"))
            inside = [one.confirms for _, _, one in below if one.confirms is not None]
            if not below and name not in self.classes:
                fail(here, "is no class and has nothing below it", did_you_mean(name, self.classes))
            if below and len(set(inside)) < 2:
                fail(here, "has one class below it", "put that class in its place")
            fees = from_plain(StepTable, {key: node[key] for key in ("cost", "items") if key in node}, here)
            parts: dict[str, Any] = {"yes": dict.fromkeys(inside, 1.0), "no": REST}
            told: dict[str, Any] = {"outcomes": parts} if below else {"confirms": name}
            yield here, name, replace(fees, requires=requires, **told)
            yield from below

    def _step(self, name: str, table: StepTable, place: str) -> WorkupStep:
        told = self._told(table, place)
        rest = 1 - np.sum([row for row in told.values() if row is not None], axis=0)
        rest = np.where(np.abs(rest) < ROUNDING, 0.0, rest)  # rounding in the last digit is no probability
        chances = np.array([rest if row is None else row for row in told.values()])
        normal = self._combine(told, table, chances, place) if self.sets else -1
        _check_chances(tuple(told), chances, self.classes, f"{place}.outcomes")
        only = [row.nonzero()[0] for row in chances]  # the classes that can have each outcome
        confirming = None if table.confirming is None else _texts(table.confirming)
        for outcome in confirming or ():
            if outcome not in told or len(only[list(told).index(outcome)]) != 1:
                problem = f"names {outcome!r}, which is no outcome that exactly one class can have"
                fail(f"{place}.confirming", problem)
        confirms = [row is not None if confirming is None else name in confirming for name, row in told.items()]
        confirmed = [int(k[0]) if can and len(k) == 1 else None for can, k in zip(confirms, only, strict=True)]
        items = table.items or ()
        check_payments(items, f"{place}.items", self.file.items, ())
        paid = [pair for step in items for pair in step.paid(step.chance)]
        fees = sum(times * self.file.items[payment.name].amount for payment, times in paid)
        rows = tuple(tuple(row) for row in chances.tolist())
        cost = rounded(fees) if table.cost is None else table.cost
        counts = [self._per_class(row, place) for row in (table.counts or {}).values()]
        about = (tuple(tuple(row.tolist()) for row in counts), table.cuts, normal)
        return WorkupStep(name, cost, tuple(told), rows, tuple(confirmed), (), *about)

    def _combine(self, told: Mapping[str, Any], table: StepTable, chances: FloatArray, place: str) -> int:
        """Fill in the chances of sets of causes that the step does not name; the number of its normal outcome."""
        if table.tells_apart is not None or len(told) == 1:
            return -1
        names, rest = list(told), [name for name, row in told.items() if row is None]
        normal = table.normal or "".join(rest)
        if normal not in names:
            fix = f"name the outcome that no cause brings about: {', '.join(names)}"
            fail(f"{place}.normal", f"is {normal!r}", fix)
        number = names.index(normal)
        stated = {name for value in (table.outcomes or {}).values() if isinstance(value, dict) for name in value}
        for k, causes in self.sets.items():
            if self.classes[k] not in stated:
                chances[:, k] = noisy_or(chances, number, causes)
        return number

    def _told(self, table: StepTable, place: str) -> dict[str, FloatArray | None]:
        """What a step may show, and how likely that is for each class; None for all that is left."""
        certain, everyone = np.eye(len(self.classes)), list(range(len(self.classes)))
        if table.confirms is not None:
            [index] = self._members(table.confirms, f"{place}.confirms")
            rate = 1.0 if table.sensitivity is None else table.sensitivity
            return {"yes": certain[index] * self._per_class(rate, f"{place}.sensitivity", [index]), "no": None}
        if table.tells_apart is not None:
            members = self._members(table.tells_apart, f"{place}.tells_apart")
            rest: dict[str, Any] = {} if len(members) == len(everyone) else {NONE: None}
            return {self.classes[k]: certain[k] for k in members} | rest
        if table.positive_for is not None:
            members = self._members(table.positive_for, f"{place}.positive_for")
            others = [k for k in everyone if k not in members and k not in self.sets]
            positive = 1 - self._per_class(table.specificity, f"{place}.specificity", others)
            positive[members] = self._per_class(table.sensitivity, f"{place}.sensitivity", members)[members]
            return {"positive": positive, "negative": None}
        if table.counts is not None:
            return self._learned(table.counts, table.cuts, place)
        if table.outcomes is None:
            return {"done": np.ones(len(everyone))}
        place, rates = f"{place}.outcomes", table.outcomes
        left = [name for name, value in rates.items() if isinstance(value, str)]
        if len(rates) < 2:
            fail(place, "lists fewer than two outcomes", "list all there are, or leave it out")
        if len(left) > 1 or any(rates[name] != REST for name in left):
            fix = f"give probabilities, or {REST!r} for one outcome"
            fail(path(place, left[-1]), f"is {rates[left[-1]]!r}", fix)
        return {
            name: None if name in left else self._per_class(value, path(place, name))
            for name, value in rates.items()
        }

    def _learned(
        self, counts: Mapping[str, Any], cuts: tuple[float, ...], place: str
    ) -> dict[str, FloatArray | None]:
        """The posterior means of the chances of each outcome, if half a case had each before any was seen."""
        if len(counts) < 2 or (cuts and len(cuts) != len(counts) - 1) or any(np.diff(cuts) <= 0):
            fail(f"{place}.counts", "must have at least two outcomes, and rising cuts between all of them if any")
        cases = np.array([self._per_class(row, path(f"{place}.counts", name)) for name, row in counts.items()])
        means = (cases + HALF) / (cases + HALF).sum(axis=0)
        return dict(zip(counts, means, strict=True))

    def _members(self, value: Any, place: str) -> list[int]:
        if value == "all" and "all" not in self.classes:
            return list(range(len(self.classes)))
        names = _texts(value)
        for name in names:
            if name not in self.classes:
                fail(place, f"contains {name!r}, no class", did_you_mean(name, self.classes))
        if not names or len(set(names)) < len(names):
            fail(place, "lists no class, or one twice", 'list each class once, or write "all"')
        return [self.classes.index(name) for name in names]

    def _per_class(self, value: Any, place: str, needed: Sequence[int] = ()) -> FloatArray:
        """One number for all classes, or a table by class in which `others` stands for those not named.

        Without `others` they have 0, but for those that the table needs to name.
        """
        if value is None:
            fail(place, "is missing", "a step with positive_for has both rates")
        if not isinstance(value, dict):
            return np.full(len(self.classes), float(value))
        for name in value:
            if name not in self.classes and name != OTHERS:
                fail(path(place, name), "is no class", did_you_mean(name, self.classes))
        others: Any = None if OTHERS in self.classes else value.get(OTHERS)
        for k in needed:
            if self.classes[k] not in value and others is None:
                fix = f"add it, or {OTHERS} = ... for all that are not named"
                fail(place, f"says nothing about {self.classes[k]!r}", fix)
        return np.array([float(value.get(name, others or 0.0)) for name in self.classes])


def _requirement(place: str, text: str, steps: Mapping[str, WorkupStep]) -> Requirement:
    """STEP or STEP=OUTCOME, where names may hold an equals sign, too."""
    parts = text.split("=")
    cuts = (("=".join(parts[:n]).strip(), "=".join(parts[n:]).strip() or None) for n in range(len(parts), 0, -1))
    ways = list(cuts)
    name, outcome = next((way for way in ways if way[0] in steps), ways[-1])
    if name not in steps:
        fail(place, f"is {text!r}, and {name!r} is no step", did_you_mean(name, steps))
    if outcome is not None and outcome not in steps[name].outcomes:
        fix = did_you_mean(outcome, steps[name].outcomes)
        fail(place, f"is {text!r}, and {outcome!r} is no outcome of {name}", fix)
    return Requirement(name, outcome)


def _check_chances(outcomes: tuple[str, ...], table: FloatArray, classes: tuple[str, ...], place: str) -> None:
    """Every probability in [0, 1], and for every class a sum of 1."""
    for outcome, k in np.argwhere((table < -ROUNDING) | (table > 1 + ROUNDING)):
        problem = (
            f"give {outcomes[outcome]!r} the probability {table[outcome, k]:g} if the truth is {classes[k]!r}"
        )
        fail(place, problem, "it must lie in [0, 1]")
    for k in np.flatnonzero(np.abs(table.sum(axis=0) - 1) > ROUNDING):
        problem = f"have probabilities that sum to {table[:, k].sum():g} if the truth is {classes[k]!r}"
        fail(place, problem, f'make it 1, or let one outcome be "{REST}"')


# What makes a work-up impossible: circles, steps that can never be made, classes that nothing can confirm.


def _check_possible(file: WorkupFile, steps: dict[str, WorkupStep]) -> None:
    try:
        list(TopologicalSorter({n: [one.step for one in s.requires] for n, s in steps.items()}).static_order())
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        problem = f"requires itself ({' -> '.join(circle)}), so it can never be made"
        fail(f"{path('steps', circle[0])}.requires", problem, "take one of these out")
    for name in _texts(file.rounds.together):
        if name not in steps:
            fail("rounds.together", f"contains {name!r}, which is no step", did_you_mean(name, steps))
    reach = {name: _check_reachable(step, steps, file) for name, step in steps.items()}
    for k, name in enumerate(_texts(file.classes) if file.confirm and not file.stops else ()):
        if not any(k in step.confirmed and reach[step.name][k] > 0 for step in steps.values()):
            fix = "add a step that confirms it, a way to stop, or confirm = false"
            fail("classes", f"contains {name!r}, which nothing can ever confirm", fix)


def _check_reachable(step: WorkupStep, steps: dict[str, WorkupStep], file: WorkupFile) -> FloatArray:
    """For each class, how likely it is that what the step requires comes about, if it is the truth."""
    needed, place, problem = requirements(step, steps), path("steps", step.name), ""
    asked = [(steps[one.step], one.outcome) for one in needed if one.outcome is not None]
    numbers = [(before, before.outcomes.index(outcome)) for before, outcome in asked]
    rows = [(1.0,) * len(file.classes), *(before.chances[number] for before, number in numbers)]
    chances = np.prod(rows, axis=0)
    if not chances.any():
        problem = "asks for outcomes that no class can have"
    if len({before.name for before, _ in asked}) < len(asked):
        problem = "asks a step for two outcomes at once"
    if file.confirm and any(before.confirmed[number] is not None for before, number in numbers):
        problem = "asks for an outcome that confirms a class and ends the work-up"
    if problem:
        fail(f"{place}.requires", f"{problem}, so the step can never be made")
    least = sum(steps[name].cost for name in {step.name, *(one.step for one in needed)}) + file.rounds.fee
    if file.budget is not None and least > file.budget:
        problem = f"costs {least:g} with all that it requires, more than the budget of {file.budget:g}"
        fail(f"{place}.cost", problem, "the step can never be made")
    return np.asarray(chances)

"""Format version 1 of a work-up: what a TOML file or Python may say, and what is wrong with anything else."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from pandora_regret.core.costs.pathways import Item, Step, Year, check_payments, read_version_1, rounded
from pandora_regret.core.inputs import Fields, FloatArray, InputError, Names, as_outcome, did_you_mean
from pandora_regret.core.records import as_written, check_one_of, fail, from_plain, path
from pandora_regret.text import unit_named

REST, OTHERS, NONE = "otherwise", "others", "none of these"
FEES = ("cost", "items")
ROUNDING = 1e-9  # how far probabilities may be off 1, as 1/3 written with ten digits is
TINY = 1e-300
HALF = 0.5  # a case of every outcome, before any was seen
RATES = {  # the ways to say what a step tells, and what goes with each
    "confirms": ("sensitivity",),
    "tells_apart": (),
    "positive_for": ("sensitivity", "specificity"),
    "outcomes": ("confirming",),
    "counts": (),
}

Amount = Annotated[float, Meta(ge=0, le=1e50)]
PerClass = Amount | dict[str, Amount]  # one number for all classes, or a table in which `others` may stand
Text = str | int
Texts = Text | tuple[Text, ...]
Pair = tuple[int, int | None]  # numbers of steps and of their outcomes; None for any outcome


@dataclass(frozen=True)
class WorkupStep:
    """Something that can be done once: a test, a visit, a question."""

    name: str
    cost: float
    outcomes: Names
    chances: tuple[tuple[float, ...], ...]  # (outcomes, K): how likely each outcome is if a class is the truth
    confirmed: tuple[int | None, ...]  # (outcomes,): the class that an outcome confirms
    requires: Names = ()  # other steps, perhaps with an outcome: "dermoscopy=suspicious"
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
        """The number of the outcome that a value is: its name, or a number in its range; None where it is none.

        A visit has one outcome, which None is too.
        """
        name = self.outcomes[0] if value is None and len(self.outcomes) == 1 else as_outcome(value)
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


def noisy_or(chances: FloatArray, normal: int, causes: Sequence[int]) -> Any:
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
    return shown


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
        check_one_of(self, "cost", "items")
        shapes = [key for key in RATES if getattr(self, key) is not None] or ["nothing"]
        if len(shapes) > 1:
            fix = "say in one way what the step tells"
            raise InputError(f"stands beside {shapes[0]}", argument=shapes[1], fix=fix)
        for key in ("sensitivity", "specificity", "confirming"):
            if getattr(self, key) is not None and key not in RATES.get(shapes[0], ()):
                fix = "take it out, or describe the step by positive_for"
                raise InputError(f"says nothing about a step with {shapes[0]}", argument=key, fix=fix)


@dataclass(frozen=True)
class StopTable:
    """A ``[stops.NAME]`` table."""

    loss: PerClass | None = None
    wrong: PerClass | None = None

    def __post_init__(self) -> None:
        check_one_of(self, "loss", "wrong")


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
    hierarchy: Fields = field(default_factory=dict)
    stops: dict[str, StopTable] = field(default_factory=dict)
    rounds: Rounds = Rounds(0.0)

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(map(str, self.classes))) < len(self.classes):
            raise InputError("must list at least two classes, each once", argument="classes")
        if self.currency and self.unit:
            raise InputError("stands beside currency", argument="unit", fix="costs are in one of them")
        if not self.steps and not self.hierarchy:
            raise InputError("is missing", argument="steps", fix="describe at least one step, or a hierarchy")


def read_workup(document: Mapping[str, Any]) -> Fields:
    """The fields of a Workup, checked, from what its file says."""
    plain = as_written(document)
    return _Reader(read_version_1(WorkupFile, plain)).read() | {"document": plain}


def _texts(value: Any) -> Any:
    """A text, or a list of texts; column numbers may be names."""
    return tuple(str(entry) for entry in value) if isinstance(value, tuple) else (str(value),)


def _chosen(value: Any, among: Mapping[str, Any], place: str, what: str) -> list[Any]:
    """What some names stand for, each of them among these."""
    for name in _texts(value):
        if name not in among:
            fail(place, f"contains {name!r}, which is no {what}", did_you_mean(name, among))
    return [among[name] for name in _texts(value)]


class _Reader:
    """Reads the tables of a file in the light of the classes and fee items that it lists."""

    def __init__(self, file: WorkupFile) -> None:
        self.file, self.classes = file, _texts(file.classes)
        causes, lists = self.classes, file.combine if {*map(type, file.combine)} == {tuple} else (file.combine,)
        members = [self._members(one, "combine") for one in lists if one]
        self.classes += tuple(" and ".join(causes[k] for k in some) for some in members)
        self.sets = {len(causes) + number: tuple(some) for number, some in enumerate(members)}

    def read(self) -> Fields:
        """The fields of a Workup; the steps of a hierarchy come last."""
        file, every, tables, stops = self.file, range(len(self.classes)), dict[str, tuple[str, StepTable]](), []
        stated = ((path("steps", name), name, table) for name, table in file.steps.items())
        for place, name, table in chain(stated, self._level(file.hierarchy, "hierarchy", ())):
            if name in tables:
                fail("hierarchy", f"contains {name!r}, which is already a step", "rename one")
            tables[name] = (place, table)
        steps = {name: self._step(name, table, place) for name, (place, table) in tables.items()}
        alone: dict[str, Pair] = {name: (n, None) for n, name in enumerate(steps)}
        requirements = {
            f"{step.name}={outcome}": (n, o)
            for n, step in enumerate(steps.values())
            for o, outcome in enumerate(step.outcomes)
        } | alone
        requires = (
            _chosen(table.requires, requirements, f"{place}.requires", "step or outcome of one")
            for place, table in tables.values()
        )
        _chosen(file.rounds.together, alone, "rounds.together", "step")
        for name, stop in file.stops.items():
            key = "wrong" if stop.loss is None else "loss"
            losses = self._per_class(getattr(stop, key), f"{path('stops', name)}.{key}", every)
            stops.append(Stop(name, tuple(losses.tolist()), key == "wrong"))
        about = ("title", "notes", "source", "confirm", "budget")
        return {key: getattr(file, key) for key in about} | {
            "classes": self.classes,
            "sets": tuple(self.sets.items()),
            "cases": tuple(self._per_class(file.cases, "cases").tolist()),
            "currency": unit_named(file.currency or file.unit),
            "steps": tuple(steps.values()),
            "requires": tuple(map(tuple, requires)),
            "stops": tuple(stops),
            "unresolved": tuple(self._per_class(file.unresolved, "unresolved", every).tolist()),
            "fee": file.rounds.fee,
            "together": _texts(file.rounds.together),
        }

    def _level(self, table: Fields, place: str, requires: Texts) -> Iterator[tuple[str, str, StepTable]]:
        """One level of a hierarchy as tables of steps, each followed by those below it."""
        for name, value in table.items():
            if name in FEES:
                continue
            here, node = path(place, name), value if isinstance(value, dict) else {"cost": value}
            below = list(self._level(node, here, f"{name}=yes"))
            inside = {one.confirms: 1.0 for _, _, one in below if one.confirms is not None}
            if len(inside) < 2 and (below or name not in self.classes):
                fail(here, "is no class, and has less than two below it", did_you_mean(name, self.classes))
            fees = from_plain(StepTable, {key: node[key] for key in FEES if key in node}, here)
            told: Any = {"outcomes": {"yes": inside, "no": REST}} if below else {"confirms": name}
            yield here, name, replace(fees, requires=requires, **told)
            yield from below

    def _step(self, name: str, table: StepTable, place: str) -> WorkupStep:
        outcomes = self._chances(table, place)
        rest = 1 - sum(row for row in outcomes.values() if row is not None)
        rest[np.abs(rest) < ROUNDING] = 0.0  # rounding in the last digit is no probability
        chances = np.array([rest if row is None else row for row in outcomes.values()])
        normal = self._combine(outcomes, table, chances, place) if self.sets else -1
        for k in np.flatnonzero((chances < 0).any(axis=0) | (np.abs(chances.sum(axis=0) - 1) > ROUNDING)):
            rates = ", ".join(f"{o} {rate:g}" for o, rate in zip(outcomes, chances[:, k], strict=True))
            problem = f"have the probabilities {rates} if the truth is {self.classes[k]!r}"
            fix = f'they must lie in [0, 1] and sum to 1; one outcome may be "{REST}"'
            fail(f"{place}.outcomes", problem, fix)
        of_one = {
            o: int(row.argmax()) for o, row in zip(outcomes, chances, strict=True) if np.count_nonzero(row) == 1
        }
        confirming: Iterable[str] = [o for o, row in outcomes.items() if row is not None]
        if table.confirming is not None:
            confirming = _texts(table.confirming)
            _chosen(table.confirming, of_one, f"{place}.confirming", "outcome that exactly one class can have")
        check_payments(table.items or (), f"{place}.items", self.file.items, ())
        paid = [pair for step in table.items or () for pair in step.paid(step.chance)]
        fees = sum(times * self.file.items[payment.name].amount for payment, times in paid)
        return WorkupStep(
            name,
            rounded(fees) if table.cost is None else table.cost,
            tuple(outcomes),
            tuple(map(tuple, chances.tolist())),
            tuple(of_one.get(o) if o in confirming else None for o in outcomes),
            _texts(table.requires),
            tuple(tuple(self._per_class(row, place).tolist()) for row in (table.counts or {}).values()),
            table.cuts,
            normal,
        )

    def _combine(self, outcomes: Mapping[str, Any], table: StepTable, chances: FloatArray, place: str) -> Any:
        """Fill in the chances of sets of causes that the step does not name; the number of its normal outcome."""
        if table.tells_apart is not None or len(outcomes) == 1:
            return -1
        numbers = {name: number for number, name in enumerate(outcomes)}
        normal = table.normal or "".join(name for name, row in outcomes.items() if row is None)
        [number] = _chosen(normal, numbers, f"{place}.normal", "outcome: name the one that no cause brings about")
        stated = {name for value in (table.outcomes or {}).values() if isinstance(value, dict) for name in value}
        for k, causes in self.sets.items():
            if self.classes[k] not in stated:
                chances[:, k] = noisy_or(chances, number, causes)
        return number

    def _chances(self, table: StepTable, place: str) -> Fields:
        """What a step may show, and how likely that is for each class; None for all that is left."""
        certain, everyone = np.eye(len(self.classes)), range(len(self.classes))
        if table.confirms is not None:
            [index] = self._members((table.confirms,), f"{place}.confirms")
            rate = 1.0 if table.sensitivity is None else table.sensitivity
            return {"yes": certain[index] * self._per_class(rate, f"{place}.sensitivity", [index]), "no": None}
        if table.tells_apart is not None:
            members = self._members(table.tells_apart, f"{place}.tells_apart")
            rest = {} if len(members) == len(everyone) else {NONE: None}
            return {self.classes[k]: certain[k] for k in members} | rest
        if table.positive_for is not None:
            members = self._members(table.positive_for, f"{place}.positive_for")
            others = [k for k in everyone if k not in members and k not in self.sets]
            positive = 1 - self._per_class(table.specificity, f"{place}.specificity", others)
            positive[members] = self._per_class(table.sensitivity, f"{place}.sensitivity", members)[members]
            return {"positive": positive, "negative": None}
        key = "outcomes" if table.counts is None else "counts"
        here, rates = f"{place}.{key}", getattr(table, key)
        if rates is None:
            return {"done": np.ones(len(everyone))}
        if len(rates) < 2 or (table.cuts and len(table.cuts) != len(rates) - 1) or any(np.diff(table.cuts) <= 0):
            fail(here, "must have at least two outcomes, and rising cuts between all of them if any")
        rows = {
            name: None if value == REST else self._per_class(value, path(here, name))
            for name, value in rates.items()
        }
        if key == "outcomes":
            return rows
        cases = np.array(list(rows.values()), np.float64) + HALF
        return dict(zip(rows, cases / cases.sum(axis=0), strict=True))  # the posterior means

    def _members(self, value: Any, place: str) -> list[int]:
        if value == "all" and "all" not in self.classes:
            return list(range(len(self.classes)))
        members = _chosen(value, {name: k for k, name in enumerate(self.classes)}, place, "class")
        if not members or len(set(members)) < len(members):
            fail(place, "lists no class, or one twice", 'list each class once, or write "all"')
        return members

    def _per_class(self, value: Any, place: str, needed: Iterable[int] = ()) -> FloatArray:
        """One number for all classes, or a table by class in which `others` stands for those not named.

        Without `others` they have 0, but for those that the table needs to name.
        """
        if value is None:
            fail(place, "is missing", "a step with positive_for has both rates")
        if isinstance(value, str):
            fail(place, f"is {value!r}", f"give probabilities, or {REST!r} for one outcome")
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

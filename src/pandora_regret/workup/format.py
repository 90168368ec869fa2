"""Format version 1 of a work-up file: what it may say, and what is wrong with one that says something else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from pandora_regret.costs.format import read_items, read_step, read_year
from pandora_regret.costs.section import Section, shown
from pandora_regret.records import did_you_mean
from pandora_regret.workup.checks import check_workup
from pandora_regret.workup.description import Requirement, Stop, WorkupStep

FORMAT_VERSION = 1
ABOUT_KEYS = ("title", "setting", "notes", "currency", "source")
FILE_KEYS = (
    "format_version",
    *ABOUT_KEYS,
    "year",
    "items",
    "classes",
    "confirm",
    "budget",
    "unresolved",
    "steps",
    "hierarchy",
    "stops",
    "rounds",
)
SHAPES = ("confirms", "tells_apart", "positive_for", "outcomes")
STEP_KEYS = ("cost", "items", "requires", *SHAPES, "sensitivity", "specificity", "confirming")
REST, OTHERS, NONE = "otherwise", "others", "none of these"
ROUNDING = 1e-9  # how far probabilities may be off 1, as 1/3 written with ten digits is

Shape = tuple[
    tuple[str, ...], list[tuple[float, ...]], list[int | None]
]  # outcomes, their chances, what they confirm


def read_workup(document: Mapping[str, Any], file: str) -> dict[str, Any]:
    """The fields of a Workup, checked, from what its file says."""
    root = Section(file, "", _plain(document))
    if root.number("format_version", FORMAT_VERSION) != FORMAT_VERSION:
        problem = f"is {shown(root.entries['format_version'])}"
        root.fail("format_version", f"{problem}: this release reads version {FORMAT_VERSION} only.")
    root.check_keys(FILE_KEYS)
    reader = _Reader(root)
    described = {
        "classes": reader.classes,
        "steps": tuple(reader.steps()),
        "stops": tuple(reader.stops()),
        "confirm": _truth_value(root, "confirm"),
        "budget": float(root.number("budget")) if "budget" in root else None,
        "unresolved": reader.per_class(root, "unresolved", 0),
        **reader.rounds(),
        **{key: root.text(key, "") for key in ABOUT_KEYS},
        "year": read_year(root),
    }
    check_workup(root, described)
    return described


class _Reader:
    """Reads tables in the light of the classes and fee items that the file lists."""

    def __init__(self, root: Section) -> None:
        self.root = root
        self.classes = _read_classes(root)
        self.items = {item.key: item for item in read_items(root)} if "items" in root else {}

    def steps(self) -> Iterator[WorkupStep]:
        if "steps" not in self.root and "hierarchy" not in self.root:
            self.root.fail("steps", "is missing: describe at least one step, or a hierarchy.")
        tables = self.root.section("steps") if "steps" in self.root else Section(self.root.file, "steps", {})
        named = {name: self._step(name, tables.section(name)) for name in tables}
        if "hierarchy" in self.root:
            for step in self._level(self.root.section("hierarchy"), ()):
                if step.name in named:
                    self.root.fail("hierarchy", f"contains {step.name!r}, which is already a step: rename one.")
                named[step.name] = step
        for step in named.values():
            yield replace(step, requires=tuple(self._requirement(step, one, named) for one in step.requires))

    def _step(self, name: str, section: Section) -> WorkupStep:
        section.check_keys(STEP_KEYS)
        shapes = [key for key in SHAPES if key in section]
        if len(shapes) > 1:
            section.fail(shapes[1], f"stands beside {shapes[0]}: say in one way what the step tells.")
        outcomes, chances, confirmed = self._shape(section, shapes[0]) if shapes else self._visit(section)
        _check_chances(section, outcomes, chances, self.classes)
        requires = tuple(Requirement(text) for text in _texts(section, "requires"))
        return WorkupStep(name, self._cost(section), outcomes, tuple(chances), tuple(confirmed), requires)

    def _shape(self, section: Section, key: str) -> Shape:
        allowed = {"confirms": ("sensitivity",), "positive_for": ("sensitivity", "specificity")}.get(key, ())
        self._refuse(section, [*allowed, *(["confirming"] if key == "outcomes" else [])], f"a step with {key}")
        return {
            "confirms": self._confirms,
            "tells_apart": self._tells_apart,
            "positive_for": self._positive_for,
            "outcomes": self._outcomes,
        }[key](section)

    def _visit(self, section: Section) -> Shape:
        self._refuse(section, [], "a step that tells nothing")
        return ("done",), [(1.0,) * len(self.classes)], [None]

    def _refuse(self, section: Section, allowed: list[str], what: str) -> None:
        for key in ("sensitivity", "specificity", "confirming"):
            if key in section and key not in allowed:
                section.fail(key, f"says nothing about {what}: take it out, or describe the step by positive_for.")

    def _confirms(self, section: Section) -> Shape:
        index = self.classes.index(section.name_among("confirms", self.classes, "classes"))
        sensitivity = self.per_class(section, "sensitivity", 1)[index]
        found = tuple(sensitivity * (k == index) for k in range(len(self.classes)))
        return ("yes", "no"), [found, _rest([found])], [index, None]

    def _tells_apart(self, section: Section) -> Shape:
        members = self._members(section, "tells_apart")
        rows = [tuple(float(k == index) for k in range(len(self.classes))) for index in members]
        names = [self.classes[index] for index in members]
        confirmed: list[int | None] = list(members)
        if len(members) < len(self.classes):
            names, rows, confirmed = [*names, NONE], [*rows, _rest(rows)], [*confirmed, None]
        return tuple(names), rows, confirmed

    def _positive_for(self, section: Section) -> Shape:
        members = self._members(section, "positive_for")
        sensitivity, specificity = (self.per_class(section, key) for key in ("sensitivity", "specificity"))
        row = tuple(sensitivity[k] if k in members else 1 - specificity[k] for k in range(len(self.classes)))
        return ("positive", "negative"), [row, _rest([row])], [_only_class(row), None]

    def _outcomes(self, section: Section) -> Shape:
        table = section.section("outcomes")
        if len(table.entries) < 2:
            section.fail("outcomes", "lists fewer than two outcomes: list all there are, or leave it out.")
        rest = [name for name in table if table.entries[name] == REST]
        if len(rest) > 1:
            table.fail(rest[1], f"is {REST!r} too: only one outcome can be what is left.")
        rows = {name: self.per_class(table, name) for name in table if name not in rest}
        rows = {name: rows[name] if name in rows else _rest(list(rows.values())) for name in table}
        confirmed = {name: None if name in rest else _only_class(row) for name, row in rows.items()}
        if "confirming" in section:
            confirmed = dict.fromkeys(rows) | {
                name: self._only(section, name, rows) for name in _texts(section, "confirming")
            }
        return tuple(rows), list(rows.values()), list(confirmed.values())

    def _only(self, section: Section, name: str, rows: dict[str, tuple[float, ...]]) -> int:
        if name not in rows or _only_class(rows[name]) is None:
            section.fail("confirming", f"names {name!r}, which is no outcome that exactly one class can have.")
        return int(np.flatnonzero(rows[name])[0])

    def _members(self, section: Section, key: str) -> list[int]:
        if section.entries[key] == "all":
            return list(range(len(self.classes)))
        names = _texts(section, key)
        for name in names:
            if name not in self.classes:
                section.fail(key, f"contains {name!r}, no class: {did_you_mean(name, self.classes)}")
        if not names or len(set(names)) < len(names):
            section.fail(key, 'lists no class, or one twice: list each class once, or write "all".')
        return [self.classes.index(name) for name in names]

    def _level(self, table: Section, above: tuple[str, ...]) -> Iterator[WorkupStep]:
        """The steps of one level of a hierarchy, each followed by those below it."""
        for name in table:
            if name in ("cost", "items"):
                continue
            value = table.entries[name]
            node = (
                table.section(name)
                if isinstance(value, dict)
                else Section(table.file, table.path(name), {"cost": value})
            )
            below = list(self._level(node, (name,)))
            inside = sorted({k for step in below for k in step.settles})
            if not below and name not in self.classes:
                table.fail(name, f"is no class and has nothing below it: {did_you_mean(name, self.classes)}")
            if below and len(inside) < 2:
                table.fail(name, "has one class below it: put that class in its place.")
            index = self.classes.index(name) if not below else None
            row = tuple(float(k in inside or k == index) for k in range(len(self.classes)))
            requires = tuple(Requirement(parent, "yes") for parent in above)
            yield WorkupStep(name, self._cost(node), ("yes", "no"), (row, _rest([row])), (index, None), requires)
            yield from below

    def _requirement(self, step: WorkupStep, one: Requirement, named: dict[str, WorkupStep]) -> Requirement:
        where = Section(self.root.file, f"steps.{step.name}", {})
        name, outcome = one.step, one.outcome
        if outcome is None and name not in named and "=" in name:
            name, outcome = (part.strip() for part in name.split("=", 1))
        if name not in named:
            where.fail("requires", f"is {str(one)!r}, and {name!r} is no step: {did_you_mean(name, named)}")
        if outcome is not None and outcome not in named[name].outcomes:
            problem = f"is {str(one)!r}, and {outcome!r} is no outcome of {name}"
            where.fail("requires", f"{problem}: {did_you_mean(outcome, named[name].outcomes)}")
        return Requirement(name, outcome)

    def _cost(self, section: Section) -> float:
        if ("cost" in section) == ("items" in section):
            problem = "stands beside items" if "cost" in section else "is missing, and so is items"
            section.fail("cost", f"{problem}: state one of the two.")
        cost = section.number("cost") if "cost" in section else self._bill(section)
        if not 0 <= cost <= Decimal("1e50"):
            section.fail("cost", f"is {shown(cost)}: it must be a number from 0 to 1e50.")
        return float(cost)

    def _bill(self, section: Section) -> Decimal:
        paid = [read_step(entry, self.items, ()) for entry in section.sections("items")]
        payments = [payment for step in paid for payment in step.paid(step.chance.probability, Decimal)]
        return sum((times * self.items[payment.name].amount for payment, times in payments), Decimal(0))

    def stops(self) -> Iterator[Stop]:
        if "stops" not in self.root:
            return
        tables = self.root.section("stops")
        for name in tables:
            section = tables.section(name)
            section.check_keys(("loss", "wrong"))
            if ("loss" in section) == ("wrong" in section):
                section.fail("loss", "and wrong: state exactly one of the two.")
            key = "loss" if "loss" in section else "wrong"
            yield Stop(name, self.per_class(section, key), key == "wrong")

    def rounds(self) -> dict[str, Any]:
        if "rounds" not in self.root:
            return {"fee": 0.0, "together": ()}
        section = self.root.section("rounds")
        section.check_keys(("fee", "together"))
        fee = section.number("fee")
        if fee < 0:
            section.fail("fee", f"is {shown(fee)}: it cannot be negative.")
        return {"fee": float(fee), "together": _texts(section, "together")}

    def per_class(self, section: Section, key: str, default: int | None = None) -> tuple[float, ...]:
        """One number for all classes, or a table by class in which `others` stands for those not named."""
        if not isinstance(section.entries.get(key), dict):
            return (_not_negative(section, key, default),) * len(self.classes)
        table = section.section(key)
        for name in table:
            if name not in self.classes and name != OTHERS:
                table.fail(name, f"is no class: {did_you_mean(name, self.classes)}")
        others = _not_negative(table, OTHERS, 0) if OTHERS not in self.classes else 0.0
        return tuple(_not_negative(table, name) if name in table else others for name in self.classes)


def _read_classes(root: Section) -> tuple[str, ...]:
    classes = tuple(str(name) for name in _texts(root, "classes"))
    if len(classes) < 2 or len(set(classes)) < len(classes):
        root.fail("classes", "must list at least two classes, each once.")
    return classes


def _texts(section: Section, key: str) -> tuple[str, ...]:
    """A text, or a list of texts; none where the key is missing."""
    value = section.entries.get(key, [])
    listed = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, (str, int)) and not isinstance(entry, bool) for entry in listed):
        section.fail(key, f"is {shown(value)}: it must be text in quotes, or a list of texts.")
    return tuple(str(entry) for entry in listed)


def _truth_value(section: Section, key: str) -> bool:
    value = section.entries.get(key, True)
    if not isinstance(value, bool):
        section.fail(key, f"is {shown(value)}: it must be true or false.")
    return value


def _not_negative(section: Section, key: str, default: int | None = None) -> float:
    number = section.number(key, default)
    if not 0 <= number <= Decimal("1e50"):
        section.fail(key, f"is {shown(number)}: it must be a number from 0 to 1e50.")
    return float(number)


def _check_chances(
    section: Section, outcomes: tuple[str, ...], chances: list[tuple[float, ...]], classes: tuple[str, ...]
) -> None:
    """Every probability in [0, 1], and for every class a sum of 1."""
    table = np.array(chances)
    if table.min() < -ROUNDING or table.max() > 1 + ROUNDING:
        outcome, k = np.argwhere((table < -ROUNDING) | (table > 1 + ROUNDING))[0]
        problem = (
            f"give {outcomes[outcome]!r} the probability {table[outcome, k]:g} if the truth is {classes[k]!r}"
        )
        section.fail("outcomes", f"{problem}: it must lie in [0, 1].")
    off = np.abs(table.sum(axis=0) - 1) > ROUNDING
    if off.any():
        k = int(np.argmax(off))
        problem = f"have probabilities that sum to {table[:, k].sum():g} if the truth is {classes[k]!r}"
        section.fail("outcomes", f'{problem}: make it 1, or let one outcome be "{REST}".')


def _rest(rows: list[tuple[float, ...]]) -> tuple[float, ...]:
    """What the other outcomes leave; rounding in the last digit is no probability."""
    left = 1 - np.sum(rows, axis=0)
    return tuple(np.where(np.abs(left) < ROUNDING, 0.0, left).tolist())


def _only_class(row: tuple[float, ...]) -> int | None:
    """The class that alone can have this outcome."""
    possible = np.flatnonzero(row)
    return int(possible[0]) if len(possible) == 1 else None


def _plain(value: Any) -> Any:
    """Python's and NumPy's values as the TOML reader would give them: exact decimals, lists, dictionaries."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(entry) for entry in value]
    value = value.item() if isinstance(value, np.generic) else value
    return Decimal(repr(value)) if isinstance(value, float) else value

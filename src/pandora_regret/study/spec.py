"""A study as one TOML file: data sets with their zoos and costs, conditions, metrics, bootstrap, seed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np

from pandora_regret.costs import load_costs
from pandora_regret.costs.section import Section, parse_toml, shown
from pandora_regret.inputs import FloatArray, InputError, read_choice
from pandora_regret.inputs.costs import check_costs
from pandora_regret.inputs.numbers import read_floats
from pandora_regret.inputs.tables import by_name
from pandora_regret.study.agreement import Resample
from pandora_regret.study.metrics import Metric, read_metrics
from pandora_regret.study.perturbations import PAPER, Condition, read_conditions
from pandora_regret.study.prediction import Zoo
from pandora_regret.study.replicates import RESAMPLE
from pandora_regret.study.zoos import ROOMS, zoo_class

STUDY_KEYS = ("title", "seed", "metrics", "replicates", "resample", "level", "data", "conditions")
DATA_KEYS = ("name", "costs", "currency", "zoo")
PATHS = ("images", "weights", "cache", "data", "folder", "paths")  # options of a zoo that may name files


@dataclass(frozen=True)
class DataSet:
    """One data set of a study: its models, and what its tests cost."""

    name: str
    zoo: Zoo
    costs: Mapping[str, float] | None  # by class; None where every test costs the same
    currency: str | None

    def costs_of(self, classes: Sequence[str]) -> FloatArray:
        """In the order of the classes, matched by name."""
        if self.costs is None:
            return np.ones(len(classes))
        what = f"costs of data set {self.name!r}"
        return check_costs(read_floats(by_name(self.costs, classes, what), what), what, classes)


@dataclass(frozen=True)
class Study:
    """What a study file says."""

    title: str
    seed: int
    metrics: tuple[Metric, ...] | None  # None: all that apply
    replicates: int
    resample: Resample
    level: float
    data: tuple[DataSet, ...]
    conditions: tuple[Condition, ...]
    text: bytes  # the file itself, to be copied into the output


def read_study(path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> Study:
    """Read a study file and check it; paths in it are relative to `folder`, the file's own unless given."""
    file = Path(path)
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{str(file)!r} is not a file that can be read ({error.strerror}).") from None
    root = Section(file.name, "", parse_toml(text, file.name))
    root.check_keys(STUDY_KEYS)
    base = Path(folder) if folder is not None else file.parent
    data = tuple(_read_data(section, base) for section in root.sections("data"))
    _check_distinct(root, [one.name for one in data])
    return Study(
        title=root.text("title"),
        seed=root.whole("seed", 0, 2**32 - 1, default=42),
        metrics=read_metrics(_list(root, "metrics")) if "metrics" in root else None,
        replicates=root.whole("replicates", 1, 1_000_000, default=1000),
        resample=_resample(root),
        level=float(root.number("level")) if "level" in root else 0.95,
        data=data,
        conditions=read_conditions(_list(root, "conditions") if "conditions" in root else PAPER),
        text=text,
    )


def _read_data(section: Section, base: Path) -> DataSet:
    section.check_keys(DATA_KEYS)
    costs, currency = _read_costs(section, base)
    return DataSet(
        name=section.text("name"),
        zoo=_read_zoo(section.section("zoo"), base),
        costs=costs,
        currency=section.text("currency") if "currency" in section else currency,
    )


def _read_costs(section: Section, base: Path) -> tuple[Mapping[str, float] | None, str | None]:
    """By class, and their currency: of a pathway file, as published where it says so, or as they stand here."""
    if "costs" not in section:
        return None, None
    if isinstance(section.entries["costs"], dict):
        table = section.section("costs")
        return {name: float(table.number(name)) for name in table}, None
    name = section.text("costs")
    local = base / name
    pathways = load_costs(local if local.is_file() else name)
    return pathways.published or pathways.costs, pathways.currency


def _read_zoo(section: Section, base: Path) -> Zoo:
    made: type = zoo_class(section.name_among("kind", ROOMS, "kinds of zoo"))
    options = {key: value for key, value in section.entries.items() if key != "kind"}
    Section(section.file, section.key, options).check_keys([field.name for field in fields(made)])
    zoo: Zoo = made(**{key: _placed(key, plain(value), base) for key, value in options.items()})
    return zoo


def _placed(key: str, value: Any, base: Path) -> Any:
    """A path relative to the study file; what names no file there is left as it is."""
    if key not in PATHS:
        return value
    if isinstance(value, tuple):
        return tuple(_placed(key, entry, base) for entry in value)
    placed = base / str(value)
    return str(placed.resolve()) if placed.exists() or os.sep in str(value) else value


def plain(value: Any) -> Any:
    """Floats for decimals and tuples for lists, at any depth."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return tuple(plain(entry) for entry in value)
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    return value


def _resample(root: Section) -> Resample:
    given = root.text("resample", "both")
    return cast("Resample", read_choice(given, f"{root.file}: resample", RESAMPLE))


def _list(root: Section, key: str) -> Sequence[Any]:
    """Names or tables."""
    value = root.entries[key]
    if not isinstance(value, list) or not value:
        root.fail(key, f"is {shown(value)}: it must be a list of names in quotes, or of tables.")
    entries: tuple[Any, ...] = plain(value)
    return entries


def _check_distinct(root: Section, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            root.fail("data", f"has two data sets named {name!r}: give each a name of its own.")
        if name in (".", "..") or any(mark in name for mark in "/\\\0:"):
            root.fail("data", f"has a data set named {name!r}, which cannot be the name of a folder.")

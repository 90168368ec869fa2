"""A study as one TOML file: data sets with their zoos and costs, conditions, metrics, bootstrap, seed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from pandora_regret.costs import load_costs
from pandora_regret.costs.section import Section, parse_toml, shown
from pandora_regret.inputs import FloatArray, InputError, read_choice
from pandora_regret.inputs.costs import read_costs
from pandora_regret.inputs.numbers import read_level
from pandora_regret.metrics import Metric, read_metrics
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.predicting import Zoo
from pandora_regret.study.ranking_agreement import RESAMPLE, Resample
from pandora_regret.study.zoos import ZOO_CLASSES, zoo_class

STUDY_KEYS = ("title", "seed", "metrics", "replicates", "resample", "level", "timeout", "data", "conditions")
DATA_KEYS = ("name", "costs", "currency", "zoo", "leave_out")
PATHS = ("cache", "folder", "model_list", "paths")  # options of a zoo that name files
NAMES = ("data", "images", "weights")  # options that name a file, or something that is known by name
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a table"}
LISTED = {"text": "texts", "a whole number": "whole numbers", "a number": "numbers", "a table": "tables"}
TRUST = "trust=True, or --trust to the command"
LONGEST_TIMEOUT = 31 * 86400.0  # seconds
TAKEN = ("study.toml", "origin.json", "results.json")  # what else lies in the output folder


@dataclass(frozen=True)
class DataSet:
    """One data set of a study: its models, and what its tests cost."""

    name: str
    zoo: Zoo
    costs: Mapping[str, float] | None  # by class; None where every test costs the same
    currency: str | None
    leave_out: tuple[str, ...] = ()  # names of models, or patterns, that are neither run nor ranked

    def costs_of(self, classes: Sequence[str]) -> FloatArray:
        """In the order of the classes, matched by name."""
        if self.costs is None:
            return np.ones(len(classes))
        return read_costs(self.costs, classes, argument=f"costs of data set {self.name!r}")


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
    timeout: float | None  # seconds that one model may take
    text: bytes  # the file itself, to be copied into the output


def read_study(
    path: str | os.PathLike[str], folder: str | os.PathLike[str] | None = None, *, trust: bool = False
) -> Study:
    """Read a study file and check it; paths in it are relative to `folder`, the file's own unless given.

    A file can name metrics as ``"module:name"``, which runs that module; only a file that you `trust` may.

    Parameters
    ----------
    path
        The study's TOML file.
    folder
        What paths in it are relative to; the file's own folder unless given.
    trust
        Whether the file may name metrics that are code.

    Returns
    -------
    Study
        What the file says.
    """
    root, text = _read_file(Path(path))
    base = Path(path).parent if folder is None else Path(folder)
    metrics = _list(root, "metrics") if "metrics" in root else None
    if metrics is not None and not trust:
        _check_no_code(root, metrics)
    return Study(
        title=root.text("title"),
        seed=root.whole("seed", 0, 2**32 - 1, default=42),
        metrics=None if metrics is None else read_metrics(metrics),
        replicates=root.whole("replicates", 1, 1_000_000, default=1000),
        resample=_resample(root),
        level=read_level(float(root.number("level")) if "level" in root else 0.95),
        data=_data_sets(root, base),
        conditions=_conditions(root, base),
        timeout=_timeout(root),
        text=text,
    )


def read_data_sets(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> tuple[DataSet, ...]:
    """The data sets of a study file; its metrics are not looked at, so that no code of theirs runs."""
    return _data_sets(_read_file(Path(path))[0], Path(folder))


def _read_file(file: Path) -> tuple[Section, bytes]:
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{str(file)!r} is not a file that can be read ({error.strerror}).") from None
    root = Section(file.name, "", parse_toml(text, file.name))
    root.check_keys(STUDY_KEYS)
    return root, text


def _conditions(root: Section, base: Path) -> tuple[Condition, ...]:
    """Names and tables; the paths of work-ups are relative to the study file, too."""

    def placed(workup: Any) -> Any:
        if isinstance(workup, Mapping):
            return {name: placed(path) for name, path in workup.items()}
        return str((base / workup).resolve()) if isinstance(workup, str) and (base / workup).is_file() else workup

    def with_place(condition: Any) -> Any:
        has_workup = isinstance(condition, Mapping) and "workup" in condition
        return {**condition, "workup": placed(condition["workup"])} if has_workup else condition

    asked = _list(root, "conditions") if "conditions" in root else PAPER_CONDITIONS
    return read_conditions(map(with_place, asked))


def _check_no_code(root: Section, metrics: Sequence[Any]) -> None:
    for metric in metrics:
        entries = metric.values() if isinstance(metric, Mapping) else [metric]
        code = [entry for entry in entries if isinstance(entry, str) and ":" in entry]
        if code:
            root.fail("metrics", f"names {code[0]!r}, which is code: if you trust the file, pass {TRUST}.")


def _data_sets(root: Section, base: Path) -> tuple[DataSet, ...]:
    data = tuple(_read_data(section, base) for section in root.sections("data"))
    _check_distinct(root, [one.name for one in data])
    return data


def _read_data(section: Section, base: Path) -> DataSet:
    section.check_keys(DATA_KEYS)
    costs, currency = _price_list(section, base)
    return DataSet(
        name=section.text("name"),
        zoo=_read_zoo(section.section("zoo"), base),
        costs=costs,
        currency=section.text("currency") if "currency" in section else currency,
        leave_out=_names(section, "leave_out"),
    )


def _price_list(section: Section, base: Path) -> tuple[Mapping[str, float] | None, str | None]:
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
    made: type = zoo_class(section.name_among("kind", ZOO_CLASSES, "kinds of zoo"))
    options = {key: value for key, value in section.entries.items() if key != "kind"}
    known = [field for field in fields(made) if field.init]
    Section(section.file, section.key, options).check_keys([field.name for field in known])
    for field in known:
        if field.name not in options and field.default is MISSING and field.default_factory is MISSING:
            section.fail(field.name, f"is missing: a zoo of kind {section.entries['kind']!r} needs it.")
    values = {key: plain(value) for key, value in options.items()}
    hints = get_type_hints(made)
    for key, value in values.items():
        if not _is_a(value, hints[key]):
            kinds = ", ".join(_kinds(hints[key]))
            section.fail(key, f"is {shown(options[key])}: it must be {kinds}.")
    zoo: Zoo = made(**{key: _placed(key, value, base) for key, value in values.items()})
    return zoo


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value of a file is what an option's type says; lists have become tuples, at any depth."""
    parts = get_args(hint)
    if get_origin(hint) in (UnionType, Union):
        return any(_is_a(value, part) for part in parts)
    if get_origin(hint) in (list, tuple, Sequence):
        return isinstance(value, tuple) and all(_is_a(entry, parts[0]) for entry in value)
    if get_origin(hint) is dict:
        return isinstance(value, dict)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def _kinds(hint: Any) -> list[str]:
    """The same in words."""
    parts = get_args(hint)
    if get_origin(hint) in (UnionType, Union):
        return [kind for part in parts if part is not NoneType for kind in _kinds(part)]
    if get_origin(hint) in (list, tuple, Sequence):
        return [f"a list of {' and '.join(LISTED[kind] for kind in _kinds(parts[0]))}"]
    return [KINDS[get_origin(hint) or hint]]


def _placed(key: str, value: Any, base: Path) -> Any:
    """A path relative to the study file; a name that is no file there is left as it is."""
    if isinstance(value, tuple):
        return tuple(_placed(key, entry, base) for entry in value)
    if key not in PATHS + NAMES or not isinstance(value, str) or not value:
        return value
    is_path = key in PATHS or len(Path(value).parts) > 1 or (base / value).exists()
    return str((base / value).resolve()) if is_path else value


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
    return cast("Resample", read_choice(root.text("resample", "both"), f"{root.file}: resample", RESAMPLE))


def _timeout(root: Section) -> float | None:
    if "timeout" not in root:
        return None
    seconds = float(root.number("timeout"))
    if not 0 < seconds <= LONGEST_TIMEOUT:
        root.fail("timeout", f"is {seconds:g}: it must be a number of seconds above 0, a month at most.")
    return seconds


def _names(section: Section, key: str) -> tuple[str, ...]:
    """A list of names, or of patterns; empty where the key is missing."""
    names = section.entries.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        section.fail(key, f"is {shown(names)}: it must be a list of names in quotes.")
    return tuple(names)


def _list(root: Section, key: str) -> Sequence[Any]:
    """Names or tables."""
    value = root.entries[key]
    if not isinstance(value, list) or not value:
        root.fail(key, f"is {shown(value)}: it must be a list of names in quotes, or of tables.")
    entries: tuple[Any, ...] = plain(value)
    return entries


def _check_distinct(root: Section, names: list[str]) -> None:
    folders = [name.casefold() for name in names]  # Windows and macOS take a and A for the same
    for name, folder in zip(names, folders, strict=True):
        if folders.count(folder) > 1:
            root.fail("data", f"has two data sets named {name!r}: give each a name of its own, in other letters.")
        if FORBIDDEN.search(name) or folder in TAKEN:
            root.fail("data", f"has a data set named {name!r}, which cannot be the name of a folder everywhere.")

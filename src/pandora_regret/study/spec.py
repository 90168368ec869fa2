"""A study as one TOML file: data sets with their zoos and costs, conditions, metrics, bootstrap, seed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from pandora_regret.costs import load_costs
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.costs import read_costs
from pandora_regret.metrics import Metric, read_metrics
from pandora_regret.records import check_keys, did_you_mean, from_plain, parse_toml
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.predicting import Zoo
from pandora_regret.study.ranking_agreement import Resample
from pandora_regret.study.store import Names, Place, Plain
from pandora_regret.study.zoos import ZOO_CLASSES, zoo_class

PATHS = ("cache", "folder", "paths")  # options of a zoo that name files
NAMES = ("data", "images", "weights", "workup")  # options that name a file, or something that is known by name
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
TAKEN = ("study.toml", "origin.json", "results.json")  # what else lies in the output folder
TRUST = "trust=True, or --trust to the command"
A_MONTH = 31 * 86400  # in seconds


@dataclass(frozen=True)
class DataEntry:
    """One data set as a study file states it."""

    name: str
    zoo: Plain
    costs: str | dict[str, float] | None = None
    currency: str | None = None
    leave_out: Names = ()

    def __post_init__(self) -> None:
        if FORBIDDEN.search(self.name) or self.name.casefold() in TAKEN:
            fix = "it must be a name that a folder can have everywhere"
            raise InputError(argument="name", value=self.name, fix=fix)


@dataclass(frozen=True)
class StudyEntries:
    """What a study file may say, and what holds where it does not."""

    title: str
    data: Annotated[tuple[DataEntry, ...], Meta(min_length=1)]
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 42
    metrics: Annotated[tuple[str | Plain, ...], Meta(min_length=1)] | None = None
    replicates: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    resample: Resample = "both"
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    timeout: Annotated[float, Meta(gt=0, le=A_MONTH)] | None = None
    conditions: Annotated[tuple[str | Plain, ...], Meta(min_length=1)] = PAPER_CONDITIONS

    def __post_init__(self) -> None:
        folders = [data.name.casefold() for data in self.data]  # Windows and macOS take a and A for the same
        for data, folder in zip(self.data, folders, strict=True):
            if folders.count(folder) > 1:
                fix = "give each a name of its own, in other letters"
                raise InputError(f"has two data sets named {data.name!r}", argument="data", fix=fix)


@dataclass(frozen=True)
class DataSet:
    """One data set of a study: its models, and what its tests cost."""

    name: str
    zoo: Zoo
    costs: Mapping[str, float] | None  # by class; None where every test costs the same
    currency: str | None
    leave_out: Names = ()  # names of models, or patterns, that are neither run nor ranked

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


def read_study(path: Place, folder: Place | None = None, *, trust: bool = False) -> Study:
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
    entries, text = read_entries(Path(path))
    base = Path(path).parent if folder is None else Path(folder)
    for metric in () if trust else entries.metrics or ():
        parts = metric.values() if isinstance(metric, Mapping) else [metric]
        code = [part for part in parts if isinstance(part, str) and ":" in part]
        if code:
            raise InputError(f"metrics names {code[0]!r}, which is code: if you trust the file, pass {TRUST}.")
    data = [_data_set(data, f"{Path(path).name}: data[{n}]", base) for n, data in enumerate(entries.data)]
    made: Plain = {
        "metrics": None if entries.metrics is None else read_metrics(entries.metrics),
        "data": tuple(data),
        "conditions": read_conditions(
            condition if isinstance(condition, str) else _placed(condition, base)
            for condition in entries.conditions
        ),
    }
    return Study(**{field.name: getattr(entries, field.name) for field in fields(entries)} | made, text=text)


def read_entries(file: Path) -> tuple[StudyEntries, bytes]:
    """What a study file says, and its text; no code of metrics runs, and no zoo is made."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{str(file)!r} is not a file that can be read ({error.strerror}).") from None
    plain = parse_toml(text, file.name)
    try:
        check_keys(StudyEntries, plain, "")
        return from_plain(StudyEntries, plain, ""), text
    except InputError as error:
        raise error.within(file.name) from None


def _data_set(data: DataEntry, place: str, base: Path) -> DataSet:
    """With its zoo; costs by class, of a pathway file as published where it says so, or as they stand here."""
    kind, costs, currency = str(data.zoo.get("kind")), data.costs, data.currency
    if kind not in ZOO_CLASSES:
        raise InputError(place=f"{place}.zoo.kind", value=kind, fix=did_you_mean(kind, ZOO_CLASSES))
    options = _placed({key: value for key, value in data.zoo.items() if key != "kind"}, base)
    check_keys(zoo_class(kind), options, f"{place}.zoo")
    zoo: Zoo = from_plain(zoo_class(kind), options, f"{place}.zoo")
    if isinstance(costs, str):
        pathways = load_costs(base / costs if (base / costs).is_file() else costs)
        costs, currency = pathways.published or pathways.costs, currency or pathways.currency
    return DataSet(data.name, zoo, costs, currency, data.leave_out)


def _placed(value: Any, base: Path, key: str = "") -> Any:
    """A table whose paths are relative to the study file; a name that is no file there is left as it is."""
    if isinstance(value, Mapping):  # the work-ups of data sets have the data sets' names as keys
        return {name: _placed(part, base, key if key == "workup" else name) for name, part in value.items()}
    if isinstance(value, list):
        return [_placed(part, base, key) for part in value]
    if key not in PATHS + NAMES or not isinstance(value, str) or not value:
        return value
    is_path = key in PATHS or len(Path(value).parts) > 1 or (base / value).exists()
    return str((base / value).resolve()) if is_path else value

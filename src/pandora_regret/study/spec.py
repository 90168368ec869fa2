"""A study as one TOML file: data sets with their zoos and costs, conditions, metrics, bootstrap, seed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from pandora_regret.atomic import Place
from pandora_regret.costs import load_costs
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.costs import read_costs
from pandora_regret.inputs.labels import read_labels
from pandora_regret.inputs.names import did_you_mean
from pandora_regret.metrics import read_metrics
from pandora_regret.records import check_keys, from_plain, parse_toml
from pandora_regret.study.conditions import PAPER_CONDITIONS, read_conditions
from pandora_regret.study.predicting import Zoo
from pandora_regret.study.ranking_agreement import Resample
from pandora_regret.study.store import Names
from pandora_regret.study.zoos import ZOO_CLASSES, zoo_class

PATHS = ("folder", "paths", "truth")  # options of a zoo that name files
NAMES = ("data", "images", "weights", "workup")  # options that name a file, or something that is known by name
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
TAKEN = ("study.toml", "origin.txt", "results.json")  # what else lies in the output folder


@dataclass(frozen=True)
class DataSet:
    """One data set of a study: its models, and what its tests cost."""

    name: str
    zoo: Any  # a `Zoo`; as a file states it, the table that describes one
    costs: str | dict[str, float] | None = None  # by class, or of a pathway file; None: every test costs the same
    currency: str | None = None
    leave_out: Names = ()  # names of models, or patterns, that are neither run nor ranked

    def __post_init__(self) -> None:
        if FORBIDDEN.search(self.name) or self.name.casefold() in TAKEN:
            fix = "it must be a name that a folder can have everywhere"
            raise InputError(argument="name", value=self.name, fix=fix)

    def costs_of(self, classes: Sequence[str]) -> FloatArray:
        """In the order of the classes, matched by name."""
        if self.costs is None:
            return np.ones(len(classes))
        return read_costs(self.costs, classes, argument=f"costs of data set {self.name!r}")


@dataclass(frozen=True)
class Study:
    """What a study file may say, and what holds where it does not."""

    title: str
    data: Annotated[tuple[DataSet, ...], Meta(min_length=1)]
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 42
    metrics: Annotated[tuple[Any, ...], Meta(min_length=1)] | None = None  # None: all that apply
    replicates: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    resample: Resample = "both"
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    timeout: Annotated[float, Meta(gt=0, le=31 * 86400)] | None = None  # seconds that one model may take
    conditions: Annotated[tuple[Any, ...], Meta(min_length=1)] = PAPER_CONDITIONS

    def __post_init__(self) -> None:
        read_labels([data.name.casefold() for data in self.data], "data")  # Windows and macOS take a and A for one


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
    file = Path(path)
    study, base = read_entries(file), Path(folder or file.parent)
    for metric in () if trust else study.metrics or ():
        for part in metric.values() if isinstance(metric, Mapping) else [metric]:
            if isinstance(part, str) and ":" in part:
                raise InputError(
                    f"metrics names {part!r}, which is code: if you trust the file, pass trust=True, or --trust."
                )
    return replace(
        study,
        metrics=None if study.metrics is None else read_metrics(study.metrics),
        data=tuple(_with_zoo(data, f"{file.name}: data[{n}]", base) for n, data in enumerate(study.data)),
        conditions=read_conditions(_placed(condition, base) for condition in study.conditions),
    )


def read_entries(file: Path) -> Study:
    """What a study file says; no code of metrics runs, and no zoo is made."""
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError(f"{str(file)!r} is not a file that can be read ({error.strerror}).") from None
    plain = parse_toml(text, file.name)
    try:
        check_keys(Study, plain, "")
        return from_plain(Study, plain, "")
    except InputError as error:
        raise error.within(file.name) from None


def _with_zoo(data: DataSet, place: str, base: Path) -> DataSet:
    """With its zoo; costs by class, of a pathway file as published where it says so, or as they stand here."""
    options, costs, currency = from_plain(dict[str, Any], data.zoo, f"{place}.zoo"), data.costs, data.currency
    kind = str(options.pop("kind", None))
    if kind not in ZOO_CLASSES:
        raise InputError(place=f"{place}.zoo.kind", value=kind, fix=did_you_mean(kind, ZOO_CLASSES))
    options = _placed(options, base)
    check_keys(zoo_class(kind), options, f"{place}.zoo")
    if kind == "files":  # what is left out is not even opened
        options["leave_out"] = list(data.leave_out)
    zoo: Zoo = from_plain(zoo_class(kind), options, f"{place}.zoo")
    if isinstance(costs, str):
        pathways = load_costs(base / costs if (base / costs).is_file() else costs)
        costs, currency = pathways.published or pathways.costs, currency or pathways.currency
    return replace(data, zoo=zoo, costs=costs, currency=currency)


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

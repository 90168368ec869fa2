"""A study's file: TOML with data sets, their zoos and costs, conditions, metrics, bootstrap and seed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from pandora_regret.core.atomic import Place
from pandora_regret.core.costs import load_costs
from pandora_regret.core.inputs import InputError, Names, did_you_mean, read_labels
from pandora_regret.core.records import check_keys, from_plain, read_toml
from pandora_regret.files.prices import read_price_list
from pandora_regret.metrics import Metric, read_metrics
from pandora_regret.study.conditions import PAPER_CONDITIONS, Condition, read_conditions
from pandora_regret.study.ranking_agreement import Resample
from pandora_regret.study.store import Plain
from pandora_regret.study.zoo import DataSet, Zoo, check_folder_name
from pandora_regret.study.zoos import ZOO_CLASSES

PATH_OPTIONS = ("folder", "paths", "truth")  # options of a zoo that name files
NAMED_OPTIONS = ("data", "images", "weights", "workup")  # which name a file, or something known by name


@dataclass(frozen=True)
class DataEntry:
    """What a study file says of one data set."""

    name: str
    zoo: Plain  # its kind, and options
    costs: str | dict[str, float] | None = None  # by class, or a price list or pathway file, as for --costs
    currency: str | None = None
    leave_out: Names = ()

    def __post_init__(self) -> None:
        check_folder_name(self.name)


@dataclass(frozen=True)
class StudyFile:
    """What a study file may say, and what holds where it does not."""

    title: str
    data: Annotated[tuple[DataEntry, ...], Meta(min_length=1)]
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 42
    metrics: Annotated[tuple[object, ...], Meta(min_length=1)] | None = None  # keys and tables
    replicates: Annotated[int, Meta(ge=1, le=1_000_000)] = 1000
    resample: Resample = "both"
    level: Annotated[float, Meta(gt=0, lt=1)] = 0.95
    timeout: Annotated[float, Meta(gt=0, le=31 * 86400)] | None = None
    conditions: Annotated[tuple[object, ...], Meta(min_length=1)] = PAPER_CONDITIONS  # names and tables

    def __post_init__(self) -> None:
        check_data_set_names(self.data)

    @property
    def fixed_part(self) -> "StudyFile":
        """What predictions and results depend on: all but the timeout and what is left out."""
        data = tuple(replace(entry, leave_out=()) for entry in self.data)
        return replace(self, timeout=None, data=data)


@dataclass(frozen=True)
class Study:
    """What is compared, and how: a study file, read and checked."""

    title: str
    data: tuple[DataSet, ...]
    seed: int = 42
    metrics: tuple[Metric, ...] | None = None  # None: all that apply
    replicates: int = 1000
    resample: Resample = "both"
    level: float = 0.95
    timeout: float | None = None  # seconds that one model may take
    conditions: tuple[Condition, ...] = field(default_factory=lambda: read_conditions(PAPER_CONDITIONS))

    def __post_init__(self) -> None:
        check_data_set_names(self.data)


def check_data_set_names(data: Sequence[DataEntry] | Sequence[DataSet]) -> None:
    """An error unless every data set has a name of its own, also on Windows and macOS, where a and A are one."""
    read_labels([part.name.casefold() for part in data], "data")


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
    base = Path(folder or file.parent)
    entries = read_entries(file)
    if not trust:
        _check_no_code(entries)
    metrics = None if entries.metrics is None else read_metrics(entries.metrics)
    data = [_data_set(entry, f"{file.name}: data[{n}]", base) for n, entry in enumerate(entries.data)]
    conditions = read_conditions(_placed(condition, base) for condition in entries.conditions)
    return Study(
        title=entries.title,
        data=tuple(data),
        seed=entries.seed,
        metrics=metrics,
        replicates=entries.replicates,
        resample=entries.resample,
        level=entries.level,
        timeout=entries.timeout,
        conditions=conditions,
    )


def read_entries(file: Path) -> StudyFile:
    """What a study file says; no code of metrics runs, and no zoo is made."""
    plain = read_toml(file, "name a study's TOML file")
    try:
        check_keys(StudyFile, plain, "")
        return from_plain(StudyFile, plain, "")
    except InputError as error:
        raise error.within(file.name) from None


def _check_no_code(entries: StudyFile) -> None:
    """Refuse a file that names a metric as ``"module:name"``."""
    for metric in entries.metrics or ():
        parts = metric.values() if isinstance(metric, Mapping) else [metric]
        for part in parts:
            if ":" in str(part):
                fix = "if you trust the file, pass trust=True, or --trust"
                raise InputError(f"names {part!r}, which is code", argument="metrics", value=part, fix=fix)


def _data_set(entry: DataEntry, place: str, base: Path) -> DataSet:
    """With its zoo; costs as they stand here, as a price list says, or a pathway file, published ones first."""
    zoo = _zoo(entry, place, base)
    if not isinstance(entry.costs, str):
        return DataSet(entry.name, zoo, entry.costs, entry.currency, entry.leave_out)
    file, *_ = re.split("[:#]", entry.costs)  # columns and a sheet may follow
    text = str(base / entry.costs) if (base / file).is_file() else entry.costs
    if Path(file).suffix.lower() in ("", ".toml") and "=" not in file:
        pathways = load_costs(text)
        costs = pathways.published or pathways.costs
        return DataSet(entry.name, zoo, costs, entry.currency or pathways.currency, entry.leave_out)
    prices = read_price_list(text, entry.currency or "")
    return DataSet(entry.name, zoo, prices, prices.unit or None, entry.leave_out)


def _zoo(entry: DataEntry, place: str, base: Path) -> Zoo:
    """The zoo of a data set, from its kind and options."""
    options = dict(entry.zoo)
    kind = str(options.pop("kind", None))
    if kind not in ZOO_CLASSES:
        raise InputError(place=f"{place}.zoo.kind", value=kind, fix=did_you_mean(kind, ZOO_CLASSES))
    zoo_class = ZOO_CLASSES[kind]()
    options = {name: _placed(value, base, name) for name, value in options.items()}
    check_keys(zoo_class, options, f"{place}.zoo")
    if kind == "files":  # what is left out is not even opened
        options["leave_out"] = list(entry.leave_out)
    return from_plain(zoo_class, options, f"{place}.zoo")


def _placed(value: object, base: Path, key: str = "") -> object:
    """A table whose paths are relative to the study file; a name that is no file there is left as it is."""
    if isinstance(value, Mapping):
        if key == "workup":  # the work-ups of data sets have the data sets' names as keys
            return {name: _placed(part, base, key) for name, part in value.items()}
        return {name: _placed(part, base, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_placed(part, base, key) for part in value]
    if key not in PATH_OPTIONS + NAMED_OPTIONS or not isinstance(value, str) or not value:
        return value
    is_path = key in PATH_OPTIONS or len(Path(value).parts) > 1 or (base / value).exists()
    return str((base / value).resolve()) if is_path else value

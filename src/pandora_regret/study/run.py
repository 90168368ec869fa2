"""A study from its file to its results: what the file says, what it takes, and the run.

The file is TOML: data sets with their zoos and costs, conditions, metrics, bootstrap, seed. Every zoo predicts,
every metric is held against the search. The output folder holds a copy of the file, one prediction store per data
set, and results.json. Whatever was finished before an interruption stays finished.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

from pandora_regret._version import __version__
from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.costs import load_costs
from pandora_regret.core.inputs import FloatArray, InputError, Names, did_you_mean, read_costs, read_labels
from pandora_regret.core.records import check_keys, from_plain, read_toml
from pandora_regret.metrics import read_metrics
from pandora_regret.study.conditions import PAPER_CONDITIONS, read_conditions
from pandora_regret.study.predicting import NOBODY, Watcher, Zoo, kept_models, predict_all
from pandora_regret.study.ranking_agreement import Resample, agreement
from pandora_regret.study.results import RESULTS, STUDY_SCHEMA
from pandora_regret.study.store import Plain, Store
from pandora_regret.study.zoos import ZOO_CLASSES, zoo_class
from pandora_regret.study.zoos.image_zoos import LISTED, count_parameters, listed_encoders, official
from pandora_regret.text.table import DisplayTable

STUDY = "study.toml"  # in the output folder, a copy of the study's file
ORIGIN = "origin.txt"  # and the folder in which that file lay
PATHS = ("folder", "paths", "truth")  # options of a zoo that name files
NAMES = ("data", "images", "weights", "workup")  # options that name a file, or something that is known by name
FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
TAKEN = (STUDY, ORIGIN, RESULTS)  # what else lies in the output folder


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
    base = Path(folder or file.parent)
    study = read_entries(file)
    if not trust:
        _check_no_code(study)
    metrics = None if study.metrics is None else read_metrics(study.metrics)
    data = tuple(_with_zoo(entry, f"{file.name}: data[{n}]", base) for n, entry in enumerate(study.data))
    conditions = read_conditions(_placed(condition, base) for condition in study.conditions)
    return replace(study, metrics=metrics, data=data, conditions=conditions)


def _check_no_code(study: Study) -> None:
    """Refuse a file that names a metric as ``"module:name"``."""
    for metric in study.metrics or ():
        parts = metric.values() if isinstance(metric, Mapping) else [metric]
        for part in parts:
            if ":" in str(part):
                raise InputError(
                    f"metrics names {part!r}, which is code: if you trust the file, pass trust=True, or --trust."
                )


def read_entries(file: Path) -> Study:
    """What a study file says; no code of metrics runs, and no zoo is made."""
    plain = read_toml(file, "name a study's TOML file")
    try:
        check_keys(Study, plain, "")
        return from_plain(Study, plain, "")
    except InputError as error:
        raise error.within(file.name) from None


def _with_zoo(data: DataSet, place: str, base: Path) -> DataSet:
    """With its zoo; costs by class, of a pathway file as published where it says so, or as they stand here."""
    options = from_plain(Plain, data.zoo, f"{place}.zoo")
    kind = str(options.pop("kind", None))
    if kind not in ZOO_CLASSES:
        raise InputError(place=f"{place}.zoo.kind", value=kind, fix=did_you_mean(kind, ZOO_CLASSES))
    options = _placed(options, base)
    check_keys(zoo_class(kind), options, f"{place}.zoo")
    if kind == "files":  # what is left out is not even opened
        options["leave_out"] = list(data.leave_out)
    zoo: Zoo = from_plain(zoo_class(kind), options, f"{place}.zoo")
    if not isinstance(data.costs, str):
        return replace(data, zoo=zoo)
    file = base / data.costs
    pathways = load_costs(file if file.is_file() else data.costs)
    costs = pathways.published or pathways.costs
    return replace(data, zoo=zoo, costs=costs, currency=data.currency or pathways.currency)


def _placed(value: Any, base: Path, key: str = "") -> Any:
    """A table whose paths are relative to the study file; a name that is no file there is left as it is."""
    if isinstance(value, Mapping):
        if key == "workup":  # the work-ups of data sets have the data sets' names as keys
            return {name: _placed(part, base, key) for name, part in value.items()}
        return {name: _placed(part, base, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_placed(part, base, key) for part in value]
    if key not in PATHS + NAMES or not isinstance(value, str) or not value:
        return value
    is_path = key in PATHS or len(Path(value).parts) > 1 or (base / value).exists()
    return str((base / value).resolve()) if is_path else value


class ImageCounts(NamedTuple):
    """Of an official data set: images of each split, channels of an image, classes."""

    training: int
    validation: int
    test: int
    channels: int
    classes: int


@dataclass(frozen=True)
class ZooSize:
    """What a zoo has to do, and what it has to download for that."""

    models: int
    learned: int  # images to learn from
    predicted: int  # instances to predict
    classes: int
    looks: int = 0  # how often an encoder looks at an image
    weights: Mapping[str, int] = field(default_factory=dict)  # bytes to download, by encoder
    images: int = 0  # bytes to download


MEDMNIST = {  # the paper's two: needs no package
    "dermamnist": ImageCounts(7_007, 1_003, 2_005, 3, 7),
    "octmnist": ImageCounts(97_477, 10_832, 1_000, 1, 4),
}
# images per second: one H200, the mean of 36 of timm's encoders, building included (benchmarks/zoo.py)
PACE = 4_038
HEADER = ("Data", "Models", "Learned from", "Predicted", "Classes", "Hours", "Weights", "Images", "Predictions")


def study_plan(study: Study) -> DisplayTable:
    """How many models, images and hours a study takes, and what must be downloaded; nothing is.

    Parameters
    ----------
    study
        From `read_study`.

    Returns
    -------
    DisplayTable
        A row per data set, and how the figures were found.
    """
    sizes = [_size(data.zoo) for data in study.data]
    rows = [_plan_row(data.name, size) for data, size in zip(study.data, sizes, strict=True)]
    below = ["", f"{len(study.conditions)} conditions, {study.replicates} replicates of the bootstrap."]
    if any(hasattr(data.zoo, "recipes") for data in study.data):
        weights: dict[str, int] = {}  # of every encoder once, for it is downloaded once
        for size in sizes:
            weights |= size.weights
        to_download = sum(weights.values()) + sum(size.images for size in sizes)
        below += [
            f"To download: {_gigabytes(to_download)} at most: the weights of {len(weights)} "
            "encoders (float32, once) and images as bytes before compression. This plan downloaded nothing.",
            f"Hours: every encoder looks at every image once, {PACE:,} images per second on one NVIDIA H200, as "
            "benchmarks/zoo.py measured, downloads and probes not counted. The paper took about a day of a GPU.",
            f"Encoders of the hub are those that timm {LISTED} has, whichever version is installed.",
        ]
    return DisplayTable(HEADER, rows, below=below)


def _plan_row(name: str, size: ZooSize) -> list[str]:
    """The cells of one data set, in the order of `HEADER`."""
    return [
        name,
        f"{size.models:,}",
        f"{size.learned:,}",
        f"{size.predicted:,}",
        f"{size.classes:,}",
        f"{size.looks / PACE / 3600:.2f}",
        _gigabytes(sum(size.weights.values())),
        _gigabytes(size.images),
        _gigabytes(size.models * size.predicted * size.classes * 4),  # float32
    ]


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _official_counts(name: str) -> ImageCounts:
    """The counts that the package medmnist states of one of its data sets."""
    info = official(name)
    training, validation, test = info["n_samples"].values()
    return ImageCounts(training, validation, test, info["n_channels"], len(info["label"]))


def _size(zoo: Any) -> ZooSize:
    """What a zoo has to do and to download, as far as can be said without downloading."""
    if not hasattr(zoo, "recipes"):
        target = zoo.target()
        return ZooSize(len(zoo.names()), learned=0, predicted=len(target.truth), classes=len(target.classes))
    recipes = zoo.recipes()
    if zoo.images.endswith(".npz"):
        data = zoo.data()
        learned = data.n_train
        predicted = len(data.truth)
        classes = len(data.classes)
        image_bytes = 0
    else:
        counts = MEDMNIST.get(zoo.images) or _official_counts(zoo.images)
        learned = min(counts.training, zoo.train_cap)
        predicted = counts.test
        classes = counts.classes
        n_images = counts.training + counts.validation + counts.test
        image_bytes = n_images * counts.channels * zoo.size**2
    encoders = {encoder for encoder, _ in recipes.values()}
    return ZooSize(
        models=len(recipes),
        learned=learned,
        predicted=predicted,
        classes=classes,
        looks=len(encoders) * (learned + predicted),
        weights=_weight_bytes(encoders) if zoo.weights == "hub" else {},
        images=image_bytes,
    )


def _weight_bytes(encoders: Iterable[str]) -> dict[str, int]:
    """The float32 weights of encoders of the hub, in bytes, by name without the resolution after "@"."""
    names = {encoder.partition("@")[0] for encoder in encoders}
    return {name: 4 * (listed_encoders().get(name) or count_parameters(name)) for name in names}


def begin(study_file: Place, folder: Place, *, trust: bool = False) -> Study:
    """Read a study, check it, and make its output folder; one that exists must be of the same study.

    Parameters
    ----------
    study_file
        The study's TOML file.
    folder
        The study's output folder.
    trust
        As in `read_study`.

    Returns
    -------
    Study
        What the file says.
    """
    study = read_study(study_file, trust=trust)
    file = Path(study_file)
    out = Path(folder)
    copy = out / STUDY
    begun = copy.exists() and any(Store.exists(entry) for entry in out.iterdir())
    if begun and _fixed_part(copy) != _fixed_part(file):
        raise InputError(
            f"{str(out)!r} holds another study: choose another folder, or go on with that one by resume. "
            "In a study that has begun, timeout and leave_out may be changed."
        )
    for data in study.data:
        _check(study, data, out / data.name)
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / ORIGIN, str(file.resolve().parent).encode())
    write_atomically(copy, file.read_bytes())
    return study


def _check(study: Study, data: DataSet, folder: Path) -> None:
    """Say what is wrong with a data set, its models, costs and conditions before hours of predicting."""
    if Store.exists(folder):
        target = Store.open(folder).target
    else:
        target = data.zoo.target()
        data.zoo.names()  # these two raise what they would raise later
        data.zoo.about()
    costs = data.costs_of(target.classes)
    for stated in study.conditions:
        condition = stated.of_data(data.name)
        condition.cost_draws(costs, target.classes, study.seed)
        condition.typical_costs(costs, target.classes)
        condition.weights(target.truth, target.classes)


def _fixed_part(file: Path) -> Study:
    """What a study's file says about all that predictions and results depend on."""
    study = read_entries(file)
    data = tuple(replace(entry, leave_out=()) for entry in study.data)
    return replace(study, timeout=None, data=data)


def reopen(folder: Place, *, trust: bool = False) -> Study:
    """The study of an output folder.

    Parameters
    ----------
    folder
        The study's output folder.
    trust
        As in `read_study`.

    Returns
    -------
    Study
        What its file said when it began.
    """
    file = _study_file(folder)
    origin = Path(folder) / ORIGIN  # where the study file lay, which is what its paths are relative to
    lay_in = origin.read_text(encoding="utf-8") if origin.exists() else folder
    return read_study(file, lay_in, trust=trust)


def _study_file(folder: Place) -> Path:
    file = Path(folder) / STUDY
    if not file.is_file():
        raise InputError(f"{str(folder)!r} holds no study: start one with pandora study run FILE --out {folder}.")
    return file


def run_study(
    study: Study,
    folder: Place,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher = NOBODY,
) -> Plain:
    """Predict what is not predicted yet, then measure agreement; the results, which are also written down.

    Parameters
    ----------
    study
        The study, from `begin` or `reopen`.
    folder
        The study's output folder.
    jobs, cluster
        As in `run_all`.
    watcher
        Is told about the progress.

    Returns
    -------
    dict
        Plain values, as in results.json.
    """
    out = Path(folder)
    parts = []
    for data in study.data:
        store = predict_all(
            data, out / data.name, jobs=jobs, cluster=cluster, timeout=study.timeout, watcher=watcher
        )
        parts.append(agreement_of(study, data, store, watcher))
    library = f"pandora-regret {__version__}"
    results = {"schema": STUDY_SCHEMA, "library": library, "title": study.title, "data": parts}
    write_atomically(out / RESULTS, json.dumps(results, indent=1).encode())
    return results


def agreement_of(study: Study, data: DataSet, store: Store, watcher: Watcher = NOBODY) -> Plain:
    """The part of the results that is about one data set.

    Parameters
    ----------
    study
        What says how to measure it.
    data
        One of its data sets.
    store
        Where its predictions are.
    watcher
        Is told about the progress.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    failures = _failures(data, store)
    models = kept_models(data, store.models)
    if len(models) < 2:
        raise InputError(
            f"data set {data.name!r} has {len(models)} models that predicted and {len(failures)} that "
            "failed: a ranking needs two at least."
        )

    def advance(done: int, total: int, what: str) -> None:
        if done == 1:
            watcher.start(f"{data.name}: agreement", total)
        watcher.advance(note=what)

    result = agreement(
        store.truth,
        store.probabilities(models),
        models=models,
        classes=store.classes,
        groups=store.groups,
        costs=data.costs_of(store.classes),
        conditions=[condition.of_data(data.name) for condition in study.conditions],
        metrics=study.metrics,
        replicates=study.replicates,
        resample=study.resample,
        level=study.level,
        seed=study.seed,
        progress=advance,
    )
    return {"name": data.name, "currency": data.currency, "failures": failures, "agreement": result.to_dict()}


def _failures(data: DataSet, store: Store) -> dict[str, str]:
    """The models that failed, and why, without those that the study file leaves out."""
    return {name: reason for name, reason in store.failures.items() if kept_models(data, [name])}


class Standing(NamedTuple):
    """How far one data set of a study is."""

    name: str
    models: int | None  # to be done in all; None before the zoo was listed
    done: int
    failures: Mapping[str, str]


def standing(folder: Place) -> tuple[list[Standing], bool]:
    """How far each data set is, and whether there are results; only looks, and disturbs no run under way.

    Parameters
    ----------
    folder
        The study's output folder.

    Returns
    -------
    tuple
        How far each data set is, and whether there are results.
    """
    parts = []
    for data in read_entries(_study_file(folder)).data:
        place = Path(folder) / data.name
        if not Store.exists(place):
            parts.append(Standing(data.name, None, 0, {}))
            continue
        store = Store.open(place)
        listed = kept_models(data, store.about["models"])
        done = kept_models(data, store.models)
        parts.append(Standing(data.name, len(listed), len(done), _failures(data, store)))
    return parts, (Path(folder) / RESULTS).is_file()


def forget_failures(study: Study, folder: Place) -> None:
    """Let models that failed be tried again.

    Parameters
    ----------
    study
        The study, from `begin` or `reopen`.
    folder
        The study's output folder.
    """
    for data in study.data:
        place = Path(folder) / data.name
        if Store.exists(place):
            Store.open(place).forget_failures()

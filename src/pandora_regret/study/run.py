"""A study from its file to its results: what the file says, what it takes, and the run.

The file is TOML: data sets with their zoos and costs, conditions, metrics, bootstrap, seed. Every zoo predicts,
every metric is held against the search. The output folder holds a copy of the file, one prediction store per data
set, and results.json. Whatever was finished before an interruption stays finished.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from pandora_regret.text.table import Table

STUDY, ORIGIN = "study.toml", "origin.txt"
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
    study, base = read_entries(file), Path(folder or file.parent)
    for metric in () if trust else study.metrics or ():
        for part in metric.values() if isinstance(metric, Mapping) else [metric]:
            if ":" in str(part):
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
    plain = read_toml(file, "name a study's TOML file")
    try:
        check_keys(Study, plain, "")
        return from_plain(Study, plain, "")
    except InputError as error:
        raise error.within(file.name) from None


def _with_zoo(data: DataSet, place: str, base: Path) -> DataSet:
    """With its zoo; costs by class, of a pathway file as published where it says so, or as they stand here."""
    options, costs, currency = from_plain(Plain, data.zoo, f"{place}.zoo"), data.costs, data.currency
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


MEDMNIST = {  # training, validation and test images, channels and classes of the paper's two: needs no package
    "dermamnist": (7_007, 1_003, 2_005, 3, 7),
    "octmnist": (97_477, 10_832, 1_000, 1, 4),
}
PACE = (
    4_038  # images per second: one H200, the mean of 36 of timm's encoders, building included (benchmarks/zoo.py)
)
HEADER = ("Data", "Models", "Learned from", "Predicted", "Classes", "Hours", "Weights", "Images", "Predictions")


def study_plan(study: Study) -> Table:
    """How many models, images and hours a study takes, and what must be downloaded; nothing is.

    Parameters
    ----------
    study
        From `read_study`.

    Returns
    -------
    Table
        A row per data set, and how the figures were found.
    """
    rows, weights, images = [], dict[str, int](), 0
    for data in study.data:
        models, learned, predicted, classes, looks, of_encoders, to_fetch = _sizes(data.zoo)
        hours, stored = f"{looks / PACE / 3600:.2f}", models * predicted * classes * 4  # float32
        sizes = map(_gigabytes, (sum(of_encoders.values()), to_fetch, stored))
        rows.append([data.name, *(f"{count:,}" for count in (models, learned, predicted, classes)), hours, *sizes])
        weights |= of_encoders  # which are downloaded once
        images += to_fetch
    below = ["", f"{len(study.conditions)} conditions, {study.replicates} replicates of the bootstrap."]
    if any(hasattr(data.zoo, "recipes") for data in study.data):
        below += [
            f"To download: {_gigabytes(sum(weights.values()) + images)} at most: the weights of {len(weights)} "
            "encoders (float32, once) and images as bytes before compression. This plan downloaded nothing.",
            f"Hours: every encoder looks at every image once, {PACE:,} images per second on one NVIDIA H200, as "
            "benchmarks/zoo.py measured, downloads and probes not counted. The paper took about a day of a GPU.",
            f"Encoders of the hub are those that timm {LISTED} has, whichever version is installed.",
        ]
    return Table(HEADER, rows, below=below)


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"


def _official(name: str) -> Any:
    info = official(name)
    return *info["n_samples"].values(), info["n_channels"], len(info["label"])


def _sizes(zoo: Any) -> Any:
    """Models, images to learn from, instances to predict, classes.

    And of images: how often an encoder looks at one; bytes to download, of weights by encoder, and of images.
    """
    if not hasattr(zoo, "recipes"):
        target = zoo.target()
        return len(zoo.names()), 0, len(target.truth), len(target.classes), 0, {}, 0
    recipes, to_fetch, weights = zoo.recipes(), 0, {}
    if zoo.images.endswith(".npz"):
        data = zoo.data()
        learned, predicted, classes = data.n_train, len(data.truth), len(data.classes)
    else:
        train, others, predicted, channels, classes = MEDMNIST.get(zoo.images) or _official(zoo.images)
        learned, to_fetch = min(train, zoo.train_cap), (train + others + predicted) * channels * zoo.size**2
    encoders = {encoder for encoder, _ in recipes.values()}
    if zoo.weights == "hub":
        names = {encoder.partition("@")[0] for encoder in encoders}
        weights = {name: 4 * (listed_encoders().get(name) or count_parameters(name)) for name in names}
    return len(recipes), learned, predicted, classes, len(encoders) * (learned + predicted), weights, to_fetch


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
    study, file, out = read_study(study_file, trust=trust), Path(study_file), Path(folder)
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
        target, _, _ = data.zoo.target(), data.zoo.names(), data.zoo.about()
    costs = data.costs_of(target.classes)
    for condition in (condition.of_data(data.name) for condition in study.conditions):
        condition.cost_draws(costs, target.classes, study.seed)
        condition.typical_costs(costs, target.classes)
        condition.weights(target.truth, target.classes)


def _fixed_part(file: Path) -> Study:
    """What a study's file says about all that predictions and results depend on."""
    study = read_entries(file)
    return replace(study, timeout=None, data=tuple(replace(data, leave_out=()) for data in study.data))


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
    out, library = Path(folder), f"pandora-regret {__version__}"
    how: Plain = {"jobs": jobs, "cluster": cluster, "timeout": study.timeout, "watcher": watcher}
    parts = [agreement_of(study, data, predict_all(data, out / data.name, **how), watcher) for data in study.data]
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
    failures, models = _failures(data, store), kept_models(data, store.models)
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
        parts.append(Standing(data.name, None, 0, {}))
        if Store.exists(place := Path(folder) / data.name):
            store = Store.open(place)
            listed, done = (len(kept_models(data, names)) for names in (store.about["models"], store.models))
            parts[-1] = Standing(data.name, listed, done, _failures(data, store))
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
        if Store.exists(Path(folder) / data.name):
            Store.open(Path(folder) / data.name).forget_failures()

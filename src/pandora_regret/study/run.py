"""A study from its file to its results.

Every zoo predicts, every metric is held against the search. The output folder holds a copy of the study file, one
prediction store per data set, and results.json. Whatever was finished before an interruption stays finished.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.core.atomic import Place, write_atomically
from pandora_regret.core.inputs import InputError
from pandora_regret.study.predicting import NOBODY, Watcher, predict_all
from pandora_regret.study.ranking_agreement import agreement
from pandora_regret.study.results import STUDY_SCHEMA, DataSetResult, StudyResults
from pandora_regret.study.store import Store
from pandora_regret.study.study_file import DataEntry, Study, read_entries, read_study
from pandora_regret.study.zoo import ORIGIN, RESULTS, STUDY, DataSet, kept_models


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
    if begun and read_entries(copy).fixed_part != read_entries(file).fixed_part:
        fix = (
            "choose another folder, or go on with that one by resume. "
            "In a study that has begun, timeout and leave_out may be changed"
        )
        place = repr(str(out))
        raise InputError("holds another study", argument="folder", place=place, value=str(out), fix=fix)
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
        draws = condition.cost_draws(costs, target.classes, study.seed)
        condition.typical_costs(costs, target.classes)
        condition.weights(target.truth, target.classes)
        even = np.full((1, len(target.classes)), 1 / len(target.classes))
        condition.bills(target.truth[:1], even, draws, target.classes)  # reads a work-up, too


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
    """Where the study file of a folder lies; an InputError if the folder holds none."""
    file = Path(folder) / STUDY
    if not file.is_file():
        fix = f"start one with pandora study run FILE --out {folder}"
        place = repr(str(folder))
        raise InputError("holds no study", argument="folder", place=place, value=str(folder), fix=fix)
    return file


def run_study(
    study: Study,
    folder: Place,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher = NOBODY,
) -> StudyResults:
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
    StudyResults
        As `read_results` reads them from results.json.
    """
    out = Path(folder)
    parts = []
    for data in study.data:
        store = predict_all(
            data, out / data.name, jobs=jobs, cluster=cluster, timeout=study.timeout, watcher=watcher
        )
        parts.append(agreement_of(study, data, store, watcher))
    results = StudyResults(STUDY_SCHEMA, f"pandora-regret {__version__}", study.title, tuple(parts))
    write_atomically(out / RESULTS, json.dumps(results.to_dict(), indent=1).encode())
    return results


def agreement_of(study: Study, data: DataSet, store: Store, watcher: Watcher = NOBODY) -> DataSetResult:
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
    DataSetResult
        What was compared, which models failed, and how well metrics rank.
    """
    failures = _failures(data, store)
    models = kept_models(store.models, data.leave_out)
    if len(models) < 2:
        problem = f"has {len(models)} models that predicted and {len(failures)} that failed"
        place = f"data set {data.name!r}"
        raise InputError(
            problem, argument="data", place=place, value=len(models), fix="a ranking needs two at least"
        )

    def advance(done: int, total: int, condition: str) -> None:
        if done == 1:
            watcher.start(f"{data.name}: agreement", total)
        watcher.advance(note=condition)

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
    return DataSetResult(data.name, data.currency, failures, result)


def _failures(data: DataSet | DataEntry, store: Store) -> dict[str, str]:
    """The models that failed, and why, without those that the study file leaves out."""
    failures = store.failures
    return {name: failures[name] for name in kept_models(failures, data.leave_out)}


class DataSetProgress(NamedTuple):
    """How far one data set of a study is."""

    name: str
    models: int | None  # to be done in all; None before the zoo was listed
    done: int
    failures: Mapping[str, str]


def study_progress(folder: Place) -> tuple[list[DataSetProgress], bool]:
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
            parts.append(DataSetProgress(data.name, None, 0, {}))
            continue
        store = Store.open(place)
        listed = kept_models(store.about["models"], data.leave_out)
        done = kept_models(store.models, data.leave_out)
        parts.append(DataSetProgress(data.name, len(listed), len(done), _failures(data, store)))
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

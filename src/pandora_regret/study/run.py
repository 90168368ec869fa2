"""A study from its file to its results: every zoo predicts, every metric is held against the search.

The output folder holds a copy of the study file, one prediction store a data set, and results.json. Whatever was
finished before an interruption stays finished.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pandora_regret._version import __version__
from pandora_regret.atomic import Place, write_atomically
from pandora_regret.inputs import InputError
from pandora_regret.study.predicting import NOBODY, Watcher, kept_models, predict_all
from pandora_regret.study.ranking_agreement import agreement
from pandora_regret.study.results import RESULTS, STUDY_SCHEMA
from pandora_regret.study.spec import DataSet, Study, read_entries, read_study
from pandora_regret.study.store import Plain, Store

STUDY, ORIGIN = "study.toml", "origin.txt"


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
    begun = copy.exists() and any(entry.is_dir() for entry in out.iterdir())
    if begun and _fixed_part(copy) != _fixed_part(file):
        raise InputError(
            f"{str(out)!r} holds another study: choose another folder, or go on with that one by resume. "
            "In a study that has begun, timeout and leave_out may be changed."
        )
    for data in study.data:
        _check(study, data, out / data.name)
    out.mkdir(parents=True, exist_ok=True)
    origin = str(file.resolve().parent).encode()
    write_atomically(out / ORIGIN, lambda opened: opened.write(origin))
    write_atomically(copy, lambda opened: opened.write(file.read_bytes()))
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
    out = Path(folder)
    how: Plain = {"jobs": jobs, "cluster": cluster, "timeout": study.timeout, "watcher": watcher}
    parts = [agreement_of(study, data, predict_all(data, out / data.name, **how), watcher) for data in study.data]
    results = {
        "schema": STUDY_SCHEMA,
        "library": f"pandora-regret {__version__}",
        "title": study.title,
        "data": parts,
    }
    write_atomically(out / RESULTS, lambda file: file.write(json.dumps(results, indent=1).encode()))
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
    task = f"{data.name}: agreement"

    def advance(done: int, total: int, what: str) -> None:
        if done == 1:
            watcher.start(task, total)
        watcher.advance(task, note=what)

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


@dataclass(frozen=True)
class Standing:
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
    out = Path(folder)
    parts = []
    for data in read_entries(_study_file(folder)).data:
        if Store.exists(out / data.name):
            store = Store.open(out / data.name)
            listed, done = (len(kept_models(data, names)) for names in (store.about["models"], store.models))
            parts.append(Standing(data.name, listed, done, _failures(data, store)))
        else:
            parts.append(Standing(data.name, None, 0, {}))
    return parts, (out / RESULTS).is_file()


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

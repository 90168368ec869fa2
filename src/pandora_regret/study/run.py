"""A study from its file to its results: every zoo predicts, every metric is held against the search.

The output folder holds a copy of the study file, one prediction store a data set, and results.json. Whatever was
finished before an interruption stays finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from pandora_regret._version import __version__
from pandora_regret.atomic import write_atomically
from pandora_regret.inputs import InputError, InputTypeError
from pandora_regret.study.prediction import Outcome, Target, Zoo
from pandora_regret.study.ranking.agreement import agreement
from pandora_regret.study.spec import DataSet, Study, read_study
from pandora_regret.study.store.folder import Store
from pandora_regret.study.store.labels import check_same
from pandora_regret.work import run_all

SCHEMA = "pandora-study/1"
STUDY, ORIGIN, RESULTS = "study.toml", "origin.json", "results.json"


class Watcher(Protocol):
    """Whoever wants to know how far the work is."""

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A task of so many steps begins, some of them done."""

    def advance(self, task: str, steps: int = 1, note: str = "") -> None:
        """Some steps further."""

    def say(self, message: str) -> None:
        """Something worth a line."""


class Nobody:
    """A watcher that does not look."""

    def start(self, task: str, total: int, done: int = 0) -> None:
        """Not looked at."""

    def advance(self, task: str, steps: int = 1, note: str = "") -> None:
        """Not looked at."""

    def say(self, message: str) -> None:
        """Not heard."""


def begin(study_file: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Study:
    """Read a study, and make its output folder; one that exists must be of the same study."""
    study, out = read_study(study_file), Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    copy = out / STUDY
    if copy.exists() and copy.read_bytes() != study.text and any(entry.is_dir() for entry in out.iterdir()):
        raise InputError(
            f"{str(out)!r} holds another study: choose another folder, or go on with that one by resume."
        )
    origin = json.dumps({"folder": str(Path(study_file).resolve().parent)})
    write_atomically(out / ORIGIN, lambda file: file.write(origin.encode()))
    write_atomically(copy, lambda file: file.write(study.text))
    return study


def reopen(folder: str | os.PathLike[str]) -> Study:
    """The study of an output folder."""
    out = Path(folder)
    if not (out / STUDY).is_file():
        raise InputError(f"{str(out)!r} holds no study: start one with pandora study run FILE --out {out}.")
    return read_study(out / STUDY, _origin(out))


def _origin(out: Path) -> Path:
    """Where the study file lay, which is what its paths are relative to."""
    try:
        return Path(json.loads((out / ORIGIN).read_text(encoding="utf-8"))["folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return out


def run_study(
    study: Study,
    folder: str | os.PathLike[str],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher | None = None,
) -> dict[str, Any]:
    """Predict what is not predicted yet, then measure agreement; the results, which are also written down."""
    watcher, out = watcher or Nobody(), Path(folder)
    for data in study.data:  # what is wrong with costs and conditions is said before hours of predicting
        _check_fit(study, data, _open_store(data.zoo, out / data.name)[0])
    found = []
    for data in study.data:
        with predict_all(data, out / data.name, jobs=jobs, cluster=cluster, watcher=watcher) as store:
            found.append(agreement_of(study, data, store, watcher))
    results = {
        "schema": SCHEMA,
        "library": f"pandora-regret {__version__}",
        "title": study.title,
        "data": found,
    }
    write_atomically(out / RESULTS, lambda file: file.write(json.dumps(results, indent=1).encode()))
    return results


def _check_fit(study: Study, data: DataSet, store: Store) -> None:
    """Costs and conditions must be about these classes."""
    costs = data.costs_of(store.classes)
    for condition in study.conditions:
        condition.cost_draws(costs, store.classes, study.seed)
        condition.typical_costs(costs, store.classes)
        condition.weights(store.truth, store.classes)


def predict_all(
    data: DataSet,
    folder: Path,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    watcher: Watcher | None = None,
) -> Store:
    """The store of a data set, filled: models that are neither stored nor known to fail make their predictions."""
    watcher, zoo = watcher or Nobody(), data.zoo
    store, names = _open_store(zoo, folder)
    missing = store.unfinished(names)
    if missing:
        _check_same_data(store, zoo)
    task = f"{data.name}: models"
    watcher.start(task, len(names), done=len(names) - len(missing))
    for outcome in _outcomes(zoo, missing, jobs, cluster):
        failure = _keep(store, outcome)
        if failure:
            watcher.say(f"{data.name}: left out {outcome.name}: {failure}")
        watcher.advance(task, note=_speed(outcome))
    return store


def _open_store(zoo: Zoo, folder: Path) -> tuple[Store, list[str]]:
    """The store and the models it is to hold: listed once, so that an upgraded library resumes the same list."""
    if Store.exists(folder):
        store = Store.open(folder)
        return store, list(store.about["models"])
    names, target = zoo.names(), zoo.target()
    about = {"zoo": zoo.about(), "models": names}
    return Store.create(folder, target.truth, target.classes, about=about), names


def _check_same_data(store: Store, zoo: Zoo) -> None:
    """The data may have changed since the store was begun; then its models would not predict the same."""
    check_same(Target(store.truth, store.classes), zoo.target(), store.folder)
    before, now = store.about["zoo"].get("sha256"), zoo.about().get("sha256")
    if before != now:
        raise InputError(
            f"{store.folder} was begun with other data (sha256 {before}, now {now}): restore the file, "
            "or start again in another folder."
        )


def _outcomes(zoo: Zoo, names: Sequence[str], jobs: int, cluster: str | None) -> Iterator[Outcome]:
    if not names:  # then the zoo need not even be there
        return
    batches = zoo.batches(names)
    if zoo.in_one_process and cluster is None:
        yield from zoo.predict([name for batch in batches for name in batch])
        return
    for _, outcomes in run_all(partial(_predict, zoo), batches, jobs=jobs, cluster=cluster):
        yield from outcomes


def _predict(zoo: Zoo, names: Sequence[str]) -> list[Outcome]:
    return list(zoo.predict(names))


def _keep(store: Store, outcome: Outcome) -> str | None:
    """Store the prediction, or the reason why there is none, which is returned."""
    failure = outcome.failure
    if outcome.prediction is not None:
        try:
            store.save(
                outcome.name,
                outcome.prediction.values,
                logits=outcome.prediction.logits,
                metadata=outcome.prediction.metadata,
            )
        except (InputError, InputTypeError) as error:  # such as a model that answers NaN
            failure = str(error)
    if failure is not None:
        store.record_failure(outcome.name, failure)
    return failure


def _speed(outcome: Outcome) -> str:
    rate = outcome.prediction.metadata.get("images_per_second") if outcome.prediction else None
    return f"{rate:,.0f} images/s" if rate else ""


def agreement_of(study: Study, data: DataSet, store: Store, watcher: Watcher) -> dict[str, Any]:
    """The part of the results that is about one data set."""
    if len(store.models) < 2:
        raise InputError(
            f"data set {data.name!r} has {len(store.models)} models that predicted and {len(store.failures)} that "
            "failed: a ranking needs two at least."
        )
    result = agreement(
        store.truth,
        store.probabilities(store.models),
        models=store.models,
        classes=store.classes,
        costs=data.costs_of(store.classes),
        conditions=study.conditions,
        metrics=study.metrics,
        replicates=study.replicates,
        resample=study.resample,
        level=study.level,
        seed=study.seed,
        progress=_Forwarded(watcher, f"{data.name}: agreement"),
    )
    known = {"name": data.name, "currency": data.currency, "failures": store.failures}
    return {**known, "agreement": result.to_dict()}


class _Forwarded:
    """Progress as the agreement reports it (done so far, of how many), as a watcher wants it."""

    def __init__(self, watcher: Watcher, task: str) -> None:
        self.watcher, self.task, self.done = watcher, task, -1

    def __call__(self, done: int, total: int, what: str) -> None:
        if self.done < 0:
            self.watcher.start(self.task, total)
            self.done = 0
        self.watcher.advance(self.task, done - self.done, note=what)
        self.done = done


@dataclass(frozen=True)
class Standing:
    """How far one data set of a study is."""

    name: str
    models: int | None  # to be done in all; None before the zoo was listed
    done: int
    failures: Mapping[str, str]


def standing(folder: str | os.PathLike[str]) -> tuple[list[Standing], bool]:
    """How far each data set is, and whether there are results; only looks, and disturbs no run under way."""
    study, out = reopen(folder), Path(folder)
    return [_standing_of(data.name, out / data.name) for data in study.data], (out / RESULTS).is_file()


def _standing_of(name: str, folder: Path) -> Standing:
    if not Store.exists(folder):
        return Standing(name, None, 0, {})
    store = Store.open(folder)
    return Standing(name, len(store.about["models"]), len(store.models), store.failures)


def forget_failures(study: Study, folder: str | os.PathLike[str]) -> None:
    """Let models that failed be tried again."""
    for data in study.data:
        if Store.exists(Path(folder) / data.name):
            with Store.open(Path(folder) / data.name) as store:
                store.forget_failures()


def read_results(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """What a study found."""
    path = Path(folder) / RESULTS
    try:
        results = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{str(folder)!r} has no results yet: pandora study resume {folder}.") from None
    except ValueError:
        raise InputError(f"{str(path)!r} is corrupt: pandora study resume {folder} makes it again.") from None
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        raise InputError(f"{str(path)!r} is not of the kind {SCHEMA}, which is what this release reads.")
    return results

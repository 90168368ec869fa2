"""Every model of a zoo makes its predictions, in processes that may crash or hang without ending the study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pandora_regret.core.inputs import InputError, InputTypeError
from pandora_regret.study.store import Plain, Prediction, Store, Target
from pandora_regret.work import Death, run_all

if TYPE_CHECKING:
    from pandora_regret.study.run import DataSet

TOGETHER = 8  # batches that the one process of a zoo does in a row, before it says how far it is


@dataclass(frozen=True)
class Outcome:
    """What became of one model: a prediction, or the reason why there is none."""

    name: str
    prediction: Prediction | None = None
    failure: str | None = None


class Zoo(Protocol):
    """Models that predict the same instances."""

    most_jobs: int | None  # processes that may predict at once: 0 is this one, None as many as asked for

    def target(self) -> Target:
        """The instances that every model predicts."""

    def names(self) -> list[str]:
        """The models, always in the same order."""

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """The names split into those that one process should do together; not asked where `most_jobs` is 0."""

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The outcome of each model; one that fails does not stop the others."""

    def about(self) -> Plain:
        """Settings and library versions, to be kept with the predictions."""


class Watcher(Protocol):
    """Whoever wants to know how far the work is."""

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A task of so many steps begins, some of them done."""
        return

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps further."""
        return

    def say(self, message: str) -> None:
        """Something worth a line."""
        return


class Nobody(Watcher):
    """A watcher that does not look."""


NOBODY = Nobody()


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these, or fits one of these patterns."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def predict_all(
    data: DataSet,
    folder: Path,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    timeout: float | None = None,
    watcher: Watcher = NOBODY,
) -> Store:
    """The store of a data set, filled: models that are neither stored nor known to fail make their predictions.

    A model that raises, crashes its process, or takes longer than `timeout` seconds is recorded with the reason,
    and the others go on.

    Parameters
    ----------
    data
        A data set, with its zoo.
    folder
        The store's folder.
    jobs, cluster
        As in `run_all`.
    timeout
        Seconds that one model may take; models that a process does together may take as many times that.
    watcher
        Is told about the progress.

    Returns
    -------
    Store
        Every prediction that could be made.
    """
    zoo = data.zoo
    if not Store.exists(folder):  # models are listed once, so that an upgraded library resumes the same list
        target = zoo.target()
        metadata = {"zoo": zoo.about(), "models": zoo.names()}
        Store.create(folder, target.truth, target.classes, groups=target.groups, about=metadata)
    store = Store.open(folder)
    names = kept_models(data, store.about["models"])
    missing = store.unfinished(names)
    if missing:
        store.check_same(zoo.target())  # it may have changed since the store was begun
        before = store.about["zoo"].get("sha256")
        now = zoo.about().get("sha256")
        if before != now:
            raise InputError(
                f"{store.folder} was begun with other data (sha256 {before}, now {now}): restore the file, "
                "or start again in another folder."
            )
    watcher.start(f"{data.name}: models", len(names), done=len(names) - len(missing))
    if not missing:
        return store
    for name in _finished(store, zoo, missing, jobs, cluster, timeout):
        failure = store.failure(name)
        if failure is not None:
            watcher.say(f"{data.name}: left out {name}: {failure}")
        watcher.advance()
    return store


def kept_models(data: DataSet, names: Iterable[str]) -> list[str]:
    """The models that the study file does not leave out."""
    return [name for name in names if not matches(name, data.leave_out)]


def _finished(
    store: Store, zoo: Zoo, names: list[str], jobs: int, cluster: str | None, timeout: float | None
) -> Iterator[str]:
    """The models' names, each as soon as the store holds what became of it.

    If the process of a batch dies, the models that it had finished count. Of the rest, the first is tried alone,
    for it is the likeliest culprit, and the others go on together; so every death settles one model at least, and
    only a model that dies alone is said to have failed.
    """
    if zoo.most_jobs == 0:
        for outcome in zoo.predict(names):
            _keep(store, outcome)
            yield outcome.name
        return
    batches = zoo.batches(names)
    if zoo.most_jobs == 1 and not cluster:  # some in a row, so that it prepares one while it does another
        parts = (batches[start : start + TOGETHER] for start in range(0, len(batches), TOGETHER))
        batches = [list(chain.from_iterable(part)) for part in parts]
    folder = None if cluster else store.folder  # another machine need not see it
    predict = partial(_predicted, zoo, folder)

    def seconds(batch: list[str]) -> float | None:
        return timeout and timeout * len(batch)

    while batches:
        tried = batches
        batches = []  # to be tried next, once all of these are done
        for batch, result in run_all(
            predict, tried, jobs=zoo.most_jobs or jobs, cluster=cluster, apart=True, timeout=seconds
        ):
            if isinstance(result, Death):
                left = store.unfinished(batch)
                if left == batch and len(batch) == 1:
                    store.record_failure(batch[0], result.reason)
                    left = []
                batches += [part for part in (left[:1], left[1:]) if part]
            else:
                for outcome in result:
                    _keep(store, outcome)
                left = store.unfinished(batch)
            for name in batch:
                if name not in left:
                    yield name


def _predicted(zoo: Zoo, folder: Path | None, names: Sequence[str]) -> list[Outcome]:
    """In another process: outcomes, stored one by one where there is a folder, else handed back."""
    if folder is None:
        return list(zoo.predict(names))
    store = Store.open(folder)
    for outcome in zoo.predict(names):
        _keep(store, outcome)
    return []


def _keep(store: Store, outcome: Outcome) -> None:
    """Store a model's prediction, or the reason why there is none."""
    prediction = outcome.prediction
    failure = outcome.failure
    if prediction is not None:
        try:
            store.save(outcome.name, prediction.values, logits=prediction.logits, metadata=prediction.metadata)
        except (InputError, InputTypeError) as error:  # such as a model that answers NaN
            failure = str(error)
    if failure is not None:
        store.record_failure(outcome.name, failure)

"""Every model of a zoo makes its predictions, in processes that may crash or hang without ending the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

from pandora_regret.core.inputs import InputError, InputTypeError
from pandora_regret.study.store import Store
from pandora_regret.study.zoo import DataSet, Outcome, Zoo, kept_models
from pandora_regret.work import Death, run_all

BATCHES_TOGETHER = 8  # batches that the one process of a zoo does in a row, before it says how far it is


class Watcher(Protocol):
    """Whoever wants to know how far the work is."""

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A task of so many steps begins, some of them done."""
        return

    def advance(self, steps: int = 1, note: str = "") -> None:
        """So many more steps are done; `note` says of which."""
        return

    def say(self, message: str) -> None:
        """Something worth a line."""
        return


class Nobody(Watcher):
    """A watcher that does not look."""


NOBODY = Nobody()


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
    names = kept_models(store.about["models"], data.leave_out)
    missing = store.unfinished(names)
    if missing:
        store.check_same(zoo.target())  # it may have changed since the store was begun
        before = store.about["zoo"].get("sha256")
        now = zoo.about().get("sha256")
        if before != now:
            problem = f"was begun with other data (sha256 {before}, now {now})"
            fix = "restore the file, or start again in another folder"
            raise InputError(problem, argument="folder", place=str(store.folder), value=now, fix=fix)
    watcher.start(f"{data.name}: models", len(names), done=len(names) - len(missing))
    if not missing:
        return store
    for name in _finished(store, zoo, missing, jobs, cluster, timeout):
        failure = store.failure(name)
        if failure is not None:
            watcher.say(f"{data.name}: left out {name}: {failure}")
        watcher.advance()
    return store


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
        parts = (batches[start : start + BATCHES_TOGETHER] for start in range(0, len(batches), BATCHES_TOGETHER))
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

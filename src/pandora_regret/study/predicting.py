"""Every model of a zoo makes its predictions, in processes that may crash or hang without ending the study."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from pandora_regret.inputs import InputError, InputTypeError
from pandora_regret.study.prediction import Outcome, Target, Zoo, matches
from pandora_regret.study.spec import DataSet
from pandora_regret.study.store.folder import Store
from pandora_regret.study.store.labels import check_same
from pandora_regret.work import Death, run_apart


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

    def start(self, task: str, total: int, done: int = 0) -> None: ...
    def advance(self, task: str, steps: int = 1, note: str = "") -> None: ...
    def say(self, message: str) -> None: ...


def predict_all(
    data: DataSet,
    folder: Path,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    timeout: float | None = None,
    watcher: Watcher | None = None,
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
        Seconds that one model may take.
    watcher
        Is told about the progress.

    Returns
    -------
    Store
        Every prediction that could be made.
    """
    watcher = watcher or Nobody()
    store, names = open_store(data, folder)
    missing = store.unfinished(names)
    if missing:
        _check_same_data(store, data.zoo)
    task = f"{data.name}: models"
    watcher.start(task, len(names), done=len(names) - len(missing))
    for outcome in outcomes(data.zoo, missing, jobs=jobs, cluster=cluster, timeout=timeout):
        failure = _keep(store, outcome)
        if failure:
            watcher.say(f"{data.name}: left out {outcome.name}: {failure}")
        watcher.advance(task, note=_speed(outcome))
    return store


def open_store(data: DataSet, folder: Path) -> tuple[Store, list[str]]:
    """The store and the models it is to hold: listed once, so that an upgraded library resumes the same list."""
    if Store.exists(folder):
        store = Store.open(folder)
        return store, kept_models(data, store.about["models"])
    names, target = data.zoo.names(), data.zoo.target()
    about = {"zoo": data.zoo.about(), "models": names}
    return Store.create(folder, target.truth, target.classes, groups=target.groups, about=about), kept_models(
        data, names
    )


def kept_models(data: DataSet, names: Sequence[str]) -> list[str]:
    """The models that the study file does not leave out."""
    return [name for name in names if not matches(name, data.leave_out)]


def outcomes(
    zoo: Zoo, names: Sequence[str], *, jobs: int = 1, cluster: str | None = None, timeout: float | None = None
) -> Iterator[Outcome]:
    """What became of each model, in any order.

    If the process of a batch dies, the models that it had finished count. Of the rest, the first is tried alone,
    for it is the likeliest culprit, and the others go on together; so every death settles one model at least, and
    only a model that dies alone is said to have failed.
    """
    if not names:  # then the zoo need not even be there
        return
    if getattr(zoo, "only_reads", False):
        yield from zoo.predict(names)
        return
    batches: list[list[str]] = zoo.batches(names)
    if zoo.in_one_process and cluster is None:
        batches = [[name for batch in batches for name in batch]]
    while batches:
        batches = yield from _attempt(zoo, batches, jobs=jobs, cluster=cluster, timeout=timeout)


def _attempt(zoo: Zoo, batches: list[list[str]], **how: Any) -> Generator[Outcome, None, list[list[str]]]:
    """What became of models in one try of some batches; in the end, what is to be tried in smaller ones."""
    again: list[list[str]] = []
    unfinished = {tuple(batch): dict.fromkeys(batch) for batch in batches}
    for batch, result in run_apart(zoo.predict, batches, **how):
        left = unfinished[tuple(batch)]
        if not isinstance(result, Death):
            left.pop(result.name, None)
            yield result
        elif len(batch) > 1:
            first, others = list(left)[:1], list(left)[1:]
            again += [part for part in (first, others) if part]
        elif left:
            yield Outcome(batch[0], failure=result.reason)
    return again


def _check_same_data(store: Store, zoo: Zoo) -> None:
    """The data may have changed since the store was begun; then its models would not predict the same."""
    check_same(Target(store.truth, store.classes, store.groups), zoo.target(), store.folder)
    before, now = store.about["zoo"].get("sha256"), zoo.about().get("sha256")
    if before != now:
        raise InputError(
            f"{store.folder} was begun with other data (sha256 {before}, now {now}): restore the file, "
            "or start again in another folder."
        )


def _keep(store: Store, outcome: Outcome) -> str | None:
    """Store the prediction, or the reason why there is none, which is returned."""
    made, failure = outcome.prediction, outcome.failure
    if made is not None:
        try:
            store.save(outcome.name, made.values, logits=made.logits, metadata=made.metadata)
        except (InputError, InputTypeError) as error:  # such as a model that answers NaN
            failure = str(error)
    if failure is not None:
        store.record_failure(outcome.name, failure)
    return failure


def _speed(outcome: Outcome) -> str:
    rate = outcome.prediction.metadata.get("images_per_second") if outcome.prediction else None
    return f"{rate:,.0f} images/s" if rate else ""

"""Models that have already predicted: in a store, or in files of whatever produced them, LLMs included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from tempfile import TemporaryDirectory
from typing import Any

from pandora_regret.files import Layout
from pandora_regret.inputs import InputError
from pandora_regret.study.prediction import Outcome, Target
from pandora_regret.study.store.folder import Store
from pandora_regret.study.store.imports import import_predictions


class _Stored:
    """What a zoo that is already a store answers."""

    in_one_process = True

    @property
    def store(self) -> Store:
        """Where the predictions are."""
        raise NotImplementedError

    def target(self) -> Target:
        """The instances of the store."""
        return Target(self.store.truth, self.store.classes)

    def names(self) -> list[str]:
        """The models of the store."""
        return list(self.store.models)

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        """Reading is cheap: one by one."""
        return [[name] for name in names]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The predictions as they are."""
        for name in names:
            try:
                yield Outcome(name, self.store.load(name))
            except InputError as error:
                yield Outcome(name, failure=str(error))

    def about(self) -> dict[str, Any]:
        """What the store says of itself."""
        return dict(self.store.about)


@dataclass(frozen=True)
class StoreZoo(_Stored):
    """The models of a prediction store."""

    folder: str

    @property
    def store(self) -> Store:
        """The store, opened to read."""
        return Store.open(self.folder)


@dataclass(frozen=True)
class FilesZoo(_Stored):
    """The models whose predictions lie in files, or folders of files; the columns' names are as in `Layout`."""

    paths: str | tuple[str, ...]
    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    model: str | None = None
    logits: bool = False
    classes: tuple[str, ...] | None = None

    @property
    def store(self) -> Store:
        """The predictions, read and aligned once a process."""
        return _imported(self)[1]


@cache
def _imported(zoo: FilesZoo) -> tuple[TemporaryDirectory[str], Store]:
    """A store in a folder that lives as long as this process."""
    folder = TemporaryDirectory(ignore_cleanup_errors=True)
    options = {field.name: getattr(zoo, field.name) for field in fields(zoo) if field.name != "paths"}
    return folder, import_predictions(zoo.paths, folder.name, layout=Layout(**options))

"""Models that have already predicted: in a store, or in files of whatever produced them, LLMs included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, ClassVar

from pandora_regret.files import Layout
from pandora_regret.inputs import InputError
from pandora_regret.study.prediction import Outcome, Target
from pandora_regret.study.store.folder import Store
from pandora_regret.study.store.imports import PredictionFiles


@dataclass(frozen=True)
class _Existing:
    """What zoos share whose predictions are only read: that is cheap, cannot crash, and is done here."""

    in_one_process: ClassVar[bool] = True
    only_reads: ClassVar[bool] = True

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        return [[name] for name in names]


@dataclass(frozen=True)
class StoreZoo(_Existing):
    """The models of a prediction store."""

    folder: str

    @property
    def store(self) -> Store:
        return Store.open(self.folder)

    def target(self) -> Target:
        return Target(self.store.truth, self.store.classes, self.store.groups)

    def names(self) -> list[str]:
        return list(self.store.models)

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        for name in names:
            try:
                yield Outcome(name, self.store.load(name))
            except InputError as error:
                yield Outcome(name, failure=str(error))

    def about(self) -> dict[str, Any]:
        return dict(self.store.about)


@dataclass(frozen=True)
class FilesZoo(_Existing):
    """The models whose predictions lie in files; the columns' names are as in `Layout`.

    `paths` are files, folders of files, or patterns such as ``"runs/*.csv"``.
    """

    paths: str | tuple[str, ...]
    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    group: str | None = None
    model: str | None = None
    logits: bool = False
    classes: tuple[str, ...] | None = None

    def target(self) -> Target:
        """The instances of the first model, to which the others are matched."""
        return _opened(self).target

    def names(self) -> list[str]:
        return [model.name for model in _opened(self).models]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The predictions as they are; every file is read once, and none of them again until they are all done."""
        files, wanted = _opened(self), set(names)
        _opened.cache_clear()  # whoever asks again begins at the first file
        yield from (Outcome(name, made) for name, made in files.predictions() if name in wanted)

    def about(self) -> dict[str, Any]:
        return {"zoo": "files", "files": sorted({model.path for model in _opened(self).models})}


@cache
def _opened(zoo: FilesZoo) -> PredictionFiles:
    options = {field.name: getattr(zoo, field.name) for field in fields(zoo) if field.name != "paths"}
    return PredictionFiles(zoo.paths, Layout(**options))

"""Models that have already predicted: in a store, or in files of whatever produced them, LLMs included."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from glob import glob, has_magic
from itertools import chain, groupby
from pathlib import Path
from typing import ClassVar

from pandora_regret.files import (
    Batch,
    Layout,
    ModelFiles,
    Predictions,
    align,
    common_rows,
    open_models,
    read_models,
)
from pandora_regret.files.formats import FORMATS, stem_of
from pandora_regret.files.text import COMPRESSED
from pandora_regret.inputs import InputError
from pandora_regret.study.predicting import Outcome, matches
from pandora_regret.study.store import Names, Plain, Prediction, Store, Target, read_groups


class _Existing:
    """What zoos share whose predictions are only read: that is cheap, cannot crash, and is done here."""

    most_jobs: ClassVar[int | None] = 0

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        return [list(names)]


@dataclass(frozen=True)
class StoreZoo(_Existing):
    """The models of a prediction store."""

    folder: str

    def target(self) -> Target:
        return Store.open(self.folder).target

    def names(self) -> list[str]:
        return list(Store.open(self.folder).models)

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        store = Store.open(self.folder)
        for name in names:
            try:
                yield Outcome(name, store.load(name))
            except InputError as error:
                yield Outcome(name, failure=str(error))

    def about(self) -> Plain:
        return dict(Store.open(self.folder).about)


@dataclass(frozen=True)
class FilesZoo(_Existing):
    """The models whose predictions lie in files; the columns' names are as in `Layout`.

    `paths` are files, folders of files, or patterns such as ``"runs/*.csv"``.
    """

    paths: str | Names
    label: str | None = None
    proba_prefix: str | None = None
    id: str | None = None
    group: str | None = None
    model: str | None = None
    logits: bool = False
    classes: Names | None = None
    truth: str | None = None
    ids_as_numbers: bool = False
    missing_class_zero: bool = False
    common_rows: bool = False
    leave_out: Names = ()  # names of models, or patterns; a file of such a name is not opened

    def target(self) -> Target:
        """The instances of the first model that can be read, to which the others are matched."""
        return _opened(self).target

    def names(self) -> list[str]:
        files = _opened(self)
        return list(dict.fromkeys((*(model.name for model in files.models), *files.failures, *files.skipped)))

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The predictions as they are; every file is read once, and none of them again until they are all done."""
        files = _opened(self)
        _opened.cache_clear()  # whoever asks again begins at the first file
        yield from (Outcome(name, made) for name, made in files.predictions() if name in names)
        yield from (Outcome(name, failure=why) for name, why in files.failures.items() if name in names)

    def about(self) -> Plain:
        return {"zoo": "files", "files": sorted({model.path for model in _opened(self).models})}


class PredictionFiles:
    """Models in files, opened together and read one after the other; a file that models share is read once.

    Files that cannot be read are `failures`, with their reasons, and the others go on.
    """

    def __init__(self, zoo: FilesZoo) -> None:
        options = {name: option for name, option in vars(zoo).items() if name not in ("paths", "leave_out")}
        layout = Layout(**options)
        stems, self.failures = {file: stem_of(file.name) for file in _files(zoo.paths)}, dict[str, str]()
        self.skipped = [stem for stem in stems.values() if matches(stem, zoo.leave_out)]
        kept = [ModelFiles((str(file),), layout) for file, stem in stems.items() if stem not in self.skipped]
        self.models, path_of = open_models(kept, failures=self.failures), dict[str, str]()
        for model in self.models:
            if model.name in path_of:
                both = f"{path_of[model.name]} and {model.path}"
                raise InputError(f"{both} both hold a model called {model.name!r}: rename one of them.")
            if model.columns.weight is not None:  # they would have to be those of the search, too
                raise InputError(
                    f"{model.path} has sample weights, column {model.columns.weight!r}: a study counts every row "
                    "alike; drop or rename the column."
                )
            path_of[model.name] = model.path
        self._read = self._in_common() if layout.common_rows else self._all()
        try:
            self._first = next(self._read)
        except StopIteration:
            reasons = "; ".join(self.failures.values())
            raise InputError(f"no file of predictions can be read: {reasons}") from None
        first = self._first[1]
        groups = read_groups(first.groups, len(first.truth))
        self.target = Target(first.truth, tuple(map(str, first.classes)), groups)

    def _all(self) -> Iterator[tuple[Predictions, Batch]]:
        """The models that can be read."""
        for _, sharing in groupby(self.models, key=lambda model: model.sources):
            models = list(sharing)
            try:
                yield from zip(models, list(read_models(models)), strict=True)
            except InputError as error:
                self.failures |= dict.fromkeys((model.name for model in models), str(error))

    def _in_common(self) -> Iterator[tuple[Predictions, Batch]]:
        """The same on the rows that all have."""
        models, batches = zip(*self._all(), strict=True)
        yield from zip(models, common_rows(batches, [model.name for model in models])[0], strict=True)

    def predictions(self) -> Iterator[tuple[str, Prediction]]:
        """The models' names and predictions, rows and classes as in the first; they can be walked through once."""
        (first, pattern), others = self._first, self._read
        for model, batch in chain([self._first], others):
            try:
                *_, aligned = align([pattern, batch], [first.name, model.name])
            except InputError as error:
                self.failures[model.name] = str(error)
            else:
                yield model.name, Prediction(aligned.values, model.logits, {"file": model.path})


_opened = cache(PredictionFiles)


def _files(paths: str | Names) -> list[Path]:
    """Files, those that patterns match, and those in folders whose names say that they may be predictions."""
    files: list[Path] = []
    for path in [paths] if isinstance(paths, str) else paths:
        matching = [path] if os.path.exists(path) or not has_magic(path) else sorted(glob(path, recursive=True))
        before = len(files)
        for match in map(Path, matching):
            files += filter(_may_be_predictions, sorted(match.iterdir())) if match.is_dir() else [match]
        if len(files) == before:
            raise InputError(f"{path} holds no file of predictions: they end in {', '.join(FORMATS)}.")
    if not files:
        raise InputError("no file of predictions: pass at least one path.")
    return files


def _may_be_predictions(file: Path) -> bool:
    name = file.with_suffix("") if file.suffix in COMPRESSED else file
    return name.suffix in FORMATS and not file.name.startswith(".") and file.is_file()

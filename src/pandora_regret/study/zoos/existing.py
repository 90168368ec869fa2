"""Models that have already predicted: in a store, or in files of whatever produced them, LLMs included."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from glob import glob, has_magic
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from pandora_regret.core.inputs import InputError, Names
from pandora_regret.files import (
    Batch,
    Layout,
    ModelFiles,
    Predictions,
    align,
    common_rows,
    open_models,
    read_all_models,
)
from pandora_regret.files.formats import ENDING, FORMATS, stem_of
from pandora_regret.study.store import Plain, Prediction, Store, Target, number_resampled_groups
from pandora_regret.study.zoo import Outcome, matches


@dataclass(frozen=True)
class StoreZoo:
    """The models of a prediction store."""

    folder: str

    most_jobs: ClassVar[int | None] = 0  # what is only read is cheap, cannot crash, and is done here

    def target(self) -> Target:
        return Store.open(self.folder).target

    def names(self) -> list[str]:
        return list(Store.open(self.folder).models)

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        return [list(names)]

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
class FilesZoo:
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

    most_jobs: ClassVar[int | None] = 0

    def target(self) -> Target:
        """The instances of the first model that can be read, to which the others are matched."""
        target, _ = _aligned_files(self)
        return target

    def names(self) -> list[str]:
        _, outcomes = _aligned_files(self)
        return [outcome.name for outcome in outcomes]

    def batches(self, names: Sequence[str]) -> list[list[str]]:
        return [list(names)]

    def predict(self, names: Sequence[str]) -> Iterator[Outcome]:
        """The predictions as they are; every file is read once, and none of them again until they are all done."""
        _, outcomes = _aligned_files(self)
        _aligned_files.cache_clear()  # whoever asks again reads the files again
        yield from (outcome for outcome in outcomes if outcome.name in names)

    def about(self) -> Plain:
        return {"zoo": "files", "files": sorted(map(str, _files(self.paths)))}


@cache
def _aligned_files(zoo: FilesZoo) -> tuple[Target, list[Outcome]]:
    """The instances, and what became of each model.

    Files that cannot be read, or do not fit the first that can, are failures with their reasons.
    """
    failures = dict[str, str]()
    readable = _readable(_opened(zoo, failures), failures)
    if not readable:
        problem = f"no file of predictions can be read: {'; '.join(failures.values())}"
        raise InputError(problem, argument="paths", place="", value=zoo.paths)
    names = [model.name for model, _ in readable]
    batches = [batch for _, batch in readable]
    if zoo.common_rows:
        batches = common_rows(batches, names, readable[0][0].truth)[0]
    first = batches[0]
    outcomes = []
    for (model, _), batch in zip(readable, batches, strict=True):
        try:
            *_, aligned = align([first, batch], [names[0], model.name])
        except InputError as error:
            failures[model.name] = str(error)
        else:
            prediction = Prediction(aligned.values, model.logits, {"file": model.path})
            outcomes.append(Outcome(model.name, prediction))
    outcomes += [Outcome(name, failure=reason) for name, reason in failures.items()]
    groups = number_resampled_groups(first.groups, len(first.truth))
    return Target(first.truth, tuple(map(str, first.classes)), groups), outcomes


def _readable(models: Sequence[Predictions], failures: dict[str, str]) -> list[tuple[Predictions, Batch]]:
    """The models whose files can be read, with all of their rows; a file that models share is read once.

    Of the others, reasons are added to the failures.
    """
    readable = list[tuple[Predictions, Batch]]()
    for _, sharing in groupby(models, key=lambda model: model.sources):
        of_one_file = list(sharing)
        try:
            readable += zip(of_one_file, list(read_all_models(of_one_file)), strict=True)
        except InputError as error:
            failures |= dict.fromkeys((model.name for model in of_one_file), str(error))
    return readable


def _opened(zoo: FilesZoo, failures: dict[str, str]) -> list[Predictions]:
    """The models in the files, each of a name of its own."""
    layout = Layout(
        label=zoo.label,
        proba_prefix=zoo.proba_prefix,
        id=zoo.id,
        group=zoo.group,
        model=zoo.model,
        logits=zoo.logits,
        classes=zoo.classes,
        truth=zoo.truth,
        ids_as_numbers=zoo.ids_as_numbers,
        missing_class_zero=zoo.missing_class_zero,
        common_rows=zoo.common_rows,
    )
    files = _files(zoo.paths)
    path_of = dict[str, str]()
    failures |= {stem: "it is left out" for stem in files.values() if matches(stem, zoo.leave_out)}
    kept = [ModelFiles((str(file),), layout) for file, stem in files.items() if stem not in failures]
    models = open_models(kept, failures=failures)
    for model in models:
        if path_of.setdefault(model.name, model.path) != model.path:
            both = f"{path_of[model.name]} and {model.path}"
            problem = f"both hold a model called {model.name!r}"
            raise InputError(problem, argument="paths", place=both, value=model.name, fix="rename one of them")
        if model.columns.weight is not None:  # they would have to be those of the search, too
            column = model.columns.weight
            problem = f"has sample weights, column {column!r}"
            fix = "a study counts every row alike; drop or rename the column"
            raise InputError(problem, argument="weight", column=column, place=model.path, fix=fix)
    return models


def _files(paths: str | Names) -> dict[Path, str]:
    """Files, those that patterns match, and those in folders that may be predictions; and what they are called."""
    files: list[Path] = []
    for path in [paths] if isinstance(paths, str) else paths:
        matching = [path] if os.path.exists(path) or not has_magic(path) else sorted(glob(path, recursive=True))
        before = len(files)
        for match in map(Path, matching):
            if match.is_dir():
                shown = sorted(match.glob("[!.]*"))
                files += [file for file in shown if ENDING.search(file.name) and file.is_file()]
            else:
                files.append(match)
        if len(files) == before:
            fix = f"they end in .{', .'.join(FORMATS)}"
            raise InputError("holds no file of predictions", argument="paths", place=path, value=path, fix=fix)
    return {file: stem_of(file.name) for file in files}

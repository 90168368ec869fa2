"""Predictions of one model, streamed: walk through files in batches, cut them into fragments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from pandora_regret.files.batch import (
    MOST_NAMED,
    Batch,
    Changes,
    RowNumbers,
    check_ids,
    concatenated,
    spelled_otherwise,
)
from pandora_regret.files.classes import Columns
from pandora_regret.files.columns import Rows, regrouped, texts_of
from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import RAISED, Fields, FileError, Names, Problems, Source
from pandora_regret.files.truth import Truth
from pandora_regret.inputs import Done
from pandora_regret.text import listed

ROWS, ELEMENTS = 1 << 19, 11 << 19  # half a usual row group of Parquet: whole ones take 80 MB more

INDEX = re.compile("|__index_level_.*")  # what pandas calls the numbers of rows, in CSV or in Parquet


@dataclass(frozen=True)
class Predictions:
    """What one model predicts, in one file or several parts of one; made by `open_predictions`."""

    name: str
    sources: tuple[Source, ...]
    columns: Columns
    logits: bool = False
    normalise: bool = False  # whether rows that are off 1 by at most 1 % are divided by their sums
    only: str | None = None  # the value of the model column, where models share a file
    first_row: int = 0  # the number of the first row among those of this model
    is_named: bool = False  # by the caller, so that it must hold one model
    watched: str | None = None  # a column of ids that are only to be told apart, as `Batch.id_column`
    truth: Truth | None = field(default=None, compare=False, repr=False)  # where it has a file of its own
    percent: bool = False  # whether the forecasts are percentages
    ids_as_numbers: bool = False
    missing_class_zero: bool = False  # whether a class without forecasts has probability 0
    problems: Problems = field(default=RAISED, compare=False, repr=False)  # who is told what is wrong

    @property
    def classes(self) -> Names:
        """The classes' names, in the order of the file's columns."""
        return self.columns.classes

    @property
    def labels_apart(self) -> Names:
        """The true classes in a file of their own."""
        return () if self.truth is None else self.truth.rows.classes

    @property
    def grouped(self) -> bool:
        """Whether rows belong together."""
        return self.columns.group is not None or (self.truth is not None and self.truth.rows.groups is not None)

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.sources[0].path

    @property
    def done(self) -> tuple[Done, ...]:
        """What was recognised in the files, or left out of them, as far as their heads tell."""
        done = [] if self.truth is None else [*self.truth.done]
        done += [each for source in self.sources for each in source.done]
        if votes := self.columns.votes:
            sentence = f"truths read as votes (columns {listed(votes, MOST_NAMED)})"
            done.append(Done("votes", len(votes), sentence))
        done += spelled_otherwise(self.columns.spelled, "name", self.path)
        wanted, kinds = set(self.columns.wanted), self.sources[0].kinds
        if self.percent or any(kinds.get(name) == "percent" for name in self.columns.forecasts):
            done.append(Done("percentages", 1, f"percentages of {self.path} divided by 100", self.path))
        numbers = [name for name in kinds if kinds[name] == "number" or INDEX.fullmatch(name)]
        ignored = [name or "without a name" for name in numbers if name not in wanted]
        if ignored:
            name = self.name if self.only is None else self.path
            columns = f"column{'s' * (len(ignored) > 1)} {listed(ignored, MOST_NAMED)}"
            done.append(Done("columns ignored", len(ignored), f"{columns} of {name} ignored", name))
        return tuple(done)

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source in self.sources)

    def ids(self) -> Iterator[tuple[Source, RowNumbers, Any]]:
        """The watched ids: file, numbers of rows in it, a column."""
        for _, rows in own_rows([self], [self.watched or ""]):
            yield rows.source, rows.numbers, rows.records.column(self.watched)

    def no_rows(self) -> FileError:
        """The error for files without any row."""
        paths = " and ".join(source.path for source in self.sources[:3])
        return FileError("has no rows", paths, "there is nothing to score")

    def batches(self, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, at most so many at a time; some tens of megabytes of them unless said."""
        number = self.first_row
        wanted = [*self.columns.wanted, *filter(None, [self.watched])]
        for _, some_rows in own_rows([self], wanted, rows):
            yield self.batch(some_rows, number)
            number += len(some_rows.numbers)

    def batch(self, rows: Rows, first_row: int) -> Batch:
        """Rows of a table as arrays, rescaled where that was asked for; what is missing or no label is told."""
        columns = self.columns
        named = ((role, columns.of(role)) for role in KEPT)
        fields: Fields = {role.field: getattr(rows, role.reads)(*names) for role, names in named if names}
        if self.truth is not None:
            fields |= self.truth.of(fields["ids"], rows)
        if "votes" in fields:
            fields["truth"] = fields["votes"].argmax(axis=1)
        fields.setdefault("truth", np.full(len(rows.numbers), -1))
        truth = rows.source.settled_truth(fields["truth"], rows)
        other = rows.source.other
        outside = 0 if other is None else int((truth == columns.classes.index(other)).sum())
        about: Fields = {"outside": outside, "other": other or ""}
        fields |= {"truth": truth, "changes": Changes(spelled=frozenset(rows.spelled.items()), **about)}
        forecasts = rows.forecasts(columns.forecasts, -np.inf if self.logits else 0.0)
        forecasts = tuple(column / column.dtype.type(100) for column in forecasts) if self.percent else forecasts
        fields["id_column"] = rows.records.column(self.watched) if self.watched else None
        fields |= {"columns": forecasts, "origins": ((rows.source, rows.numbers),), "percent": self.percent}
        batch = Batch(columns.classes, first_row=first_row, **fields)
        return batch.normalised() if (self.normalise or self.percent) and not self.logits else batch

    def walk(self, columns: Sequence[str], rows: int | None = None) -> Iterator[Rows]:
        """Some columns, each once."""
        columns = list(dict.fromkeys(filter(None, columns)))
        rows = rows or max(1, min(ROWS, ELEMENTS // len(columns)))
        about: Fields = {"unlabelled": self.columns.unlabelled, "ids_as_numbers": self.ids_as_numbers}
        for source in self.sources:
            start = source.first
            numbers = frozenset(
                name for name in self.columns.numbers & {*columns} if source.kinds[name] != "percent"
            )
            for records in regrouped(source.read(columns, numbers, rows), rows):
                of_file = range(start, start + len(records))
                yield Rows(source, of_file, records, self.classes, problems=self.problems, **about)
                start += len(records)

    def fragments(self, n: int) -> list[Predictions]:
        """About n pieces that can be tallied apart, in other processes too; each knows its first row's number."""
        share = max(1, n // len(self.sources))
        pieces = [replace(self, sources=(part,)) for source in self.sources for part in source.pieces(share)]
        starts = accumulate((piece.count() for piece in pieces[:-1]), initial=self.first_row)
        return [replace(piece, first_row=start) for piece, start in zip(pieces, starts, strict=True)]

    def count(self) -> int:
        """How many rows there are."""
        if self.only is None:
            return sum(source.count() for source in self.sources)
        return sum(len(rows.numbers) for _, rows in own_rows([self], []))


def own_rows(
    models: Sequence[Predictions], columns: Sequence[str], rows: int | None = None
) -> Iterator[tuple[Predictions, Rows]]:
    """The rows of models that share their files, read once, and whose they are."""
    first, place = models[0], {model.only: number for number, model in enumerate(models)}
    shared = [] if first.only is None else [first.columns.model or ""]
    for block in first.walk([*columns, *shared], rows):
        if not shared:
            yield first, block
            continue
        owners = np.array([place.get(name, -1) for name in texts_of(block.records.column(shared[0])).tolist()])
        for number in np.unique(owners[owners >= 0]).tolist():
            yield models[number], block.take(np.flatnonzero(owners == number))


def read_all(predictions: Predictions) -> Batch:
    """All rows of a file at once, checked: forecasts that can be scored, no id twice.

    Errors name the file, the row and the column.

    Parameters
    ----------
    predictions
        From `open_predictions`.

    Returns
    -------
    Batch
        All rows.
    """
    return next(read_models([predictions]))


def read_models(opened: Sequence[Predictions]) -> Iterator[Batch]:
    """All rows of each of several models, one after the other; a file that they share is read once.

    Errors are as in `read_all`.

    Parameters
    ----------
    opened
        From `open_predictions` or `open_models`.

    Returns
    -------
    iterator of Batch
        One for each model.
    """
    for _, sharing in groupby(opened, key=lambda model: id(model) if model.only is None else model.sources):
        models = list(sharing)
        parts = {model.only: list[Batch]() for model in models}
        for model, batch in checked_batches(models):
            parts[model.only].append(batch)
        yield from (concatenated(parts.pop(model.only)) for model in models)


def checked_batches(models: Sequence[Predictions]) -> Iterator[tuple[Predictions, Batch]]:
    """All rows of models that share their files, read once: who predicted them, and a batch.

    Forecasts can be scored, no id occurs twice, and there are rows and weights, or it is told.
    """
    first, problems = models[0], models[0].problems
    ids, has_weight = {model.only: list[Any]() for model in models}, dict[str | None, bool]()
    for model, rows in own_rows(models, first.columns.wanted):
        batch = model.batch(rows, model.first_row)
        batch.check(first.logits, problems)
        check_ids(batch, ids[model.only], problems)
        weighty = batch.weights is None or bool((batch.weights > 0).any())
        has_weight[model.only] = weighty or has_weight.get(model.only, False)
        yield model, batch
    if not has_weight:
        problems.in_file("rows", first.no_rows())
    elif not all(has_weight.values()):
        error = FileError(
            "has weights that add up to nothing", first.path, "give at least one row a positive weight"
        )
        problems.in_file("weight", error)

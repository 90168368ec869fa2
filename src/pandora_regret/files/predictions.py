"""Predictions of one model, streamed: open files, walk through them in batches, cut them into fragments."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from pandora_regret.files.arrow import regrouped, texts_of
from pandora_regret.files.batch import Batch, RowNumbers, concatenated
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import sources_of_parts
from pandora_regret.files.known_classes import ModelTable, with_known_classes
from pandora_regret.files.label_checks import check_labels, reader_of
from pandora_regret.files.layout import (
    Columns,
    Layout,
    check_same_columns,
    find_columns,
    some,
)
from pandora_regret.files.models_file import ModelFiles
from pandora_regret.files.reading import batch_of
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import Done, InputError, IntArray
from pandora_regret.text import listed

ROWS, ELEMENTS = 1 << 20, 11 << 20  # the usual row group of a Parquet file: cut smaller, it takes longer to read

MOST_NAMED = 5  # of columns that are ignored
OWN = frozenset({"label", "id", "proba_prefix", "classes"})  # what a file of its own kind may call otherwise
DESCRIBE = "where files call these differently, describe each in a models.toml"


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
    watched: str | None = None  # a column of ids that are only to be told apart, as `Batch.id_column`

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes' names, in the order of the file's columns."""
        return self.columns.classes

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return tuple(source.path for source in self.sources)

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.sources[0].path

    @property
    def done(self) -> tuple[Done, ...]:
        """What was recognised in the files, or left out of them, as far as their heads tell."""
        recognised = tuple(done for source in self.sources for done in source.done) + self._votes
        used, first = set(self.columns.wanted), self.sources[0]
        left = {name: kind for name, kind in first.kinds.items() if name not in used}
        ignored = [name or "without a name" for name, kind in left.items() if kind == "number" or _is_index(name)]
        if not ignored:
            return recognised
        name = self.name if self.only is None else self.path
        columns = f"column{'s' * (len(ignored) > 1)} {listed(ignored, MOST_NAMED)}"
        return (*recognised, Done("columns ignored", len(ignored), f"{columns} of {name} ignored", name))

    @property
    def _votes(self) -> tuple[Done, ...]:
        votes = self.columns.votes
        if not votes:
            return ()
        return (Done("votes", len(votes), f"truths read as votes (columns {listed(votes, MOST_NAMED)})"),)

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source in self.sources)

    def watching(self) -> Predictions:
        """The same, each batch with its ids as the file has them, to be told apart."""
        return replace(self, watched=self.columns.id)

    def ids(self) -> Iterator[tuple[Source, RowNumbers, Any]]:
        """The watched ids: file, numbers of rows in it, a column."""
        assert self.watched is not None
        columns = [self.watched] if self.columns.model is None else [self.watched, self.columns.model]
        for source, file_row, records in self.walk(list(dict.fromkeys(columns))):
            kept, numbers = self.kept(records, file_row)
            yield source, numbers, kept.column(self.watched)

    def no_rows(self) -> FileError:
        """The error for files without any row."""
        return FileError("has no rows", path=" and ".join(self.paths[:3]), fix="there is nothing to score")

    def batches(self, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, at most so many at a time; some tens of megabytes of them unless said."""
        rows = rows or max(1, min(ROWS, ELEMENTS // len(self.classes)))
        number = self.first_row
        wanted = [*self.columns.wanted, *([self.watched] if self.watched else [])]
        for source, file_row, records in self.walk(list(dict.fromkeys(wanted)), rows):
            kept, numbers = self.kept(records, file_row)
            if len(kept):
                yield self.batch(kept, source, numbers, number)
            number += len(kept)

    def batch(self, records: Records, source: Source, numbers: RowNumbers, first_row: int) -> Batch:
        """Rows of a table that has the columns as arrays, rescaled where that was asked for."""
        batch = batch_of(records, self.columns, source, numbers, first_row)
        batch = replace(batch, id_column=records.column(self.watched)) if self.watched else batch
        return batch.normalised() if self.normalise and not self.logits else batch

    def walk(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[tuple[Source, int, Records]]:
        """Some columns: file, number in it of the first row, rows."""
        numbers = self.columns.numbers & frozenset(columns)
        for source in self.sources:
            file_row = source.first
            for records in regrouped(source.read(columns, numbers, rows), rows):
                yield source, file_row, records
                file_row += len(records)

    def fragments(self, n: int) -> list[Predictions]:
        """About n pieces that can be tallied apart, in other processes too; each knows its first row's number."""
        share = max(1, n // len(self.sources))
        pieces, number = [], self.first_row
        for part in [part for source in self.sources for part in source.pieces(share)]:
            piece = replace(self, sources=(part,), first_row=number)
            pieces.append(piece)
            number += piece.count()
        return pieces

    def count(self) -> int:
        """How many rows there are."""
        if self.only is None:
            return sum(source.count() for source in self.sources)
        assert self.columns.model is not None
        return sum(len(self.kept(records, 0)[0]) for _, _, records in self.walk([self.columns.model]))

    def kept(self, records: Records, file_row: int) -> tuple[Records, Any]:
        """The rows of this model, and their numbers in the file."""
        if self.only is None:
            return records, range(file_row, file_row + len(records))
        rows = np.flatnonzero(texts_of(records.column(self.columns.model)) == self.only)
        return records.take(rows), rows + file_row


def _is_index(name: str) -> bool:
    """Whether pandas calls the numbers of rows so, in Parquet or in CSV."""
    return not name or name.startswith("__index_level_")


def open_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], layout: Layout | None = None
) -> list[Predictions]:
    """The predictions in a file, of each of its models; nothing but column names and a few rows is read yet.

    Parameters
    ----------
    path
        A CSV, TSV, JSONL, Parquet, Arrow (Feather), NPZ or Excel file: a label column and one column of forecasts
        for each class; or JSON lines whose rows have options of their own. Text may be compressed; ``-`` is
        standard input. A list of files is read one after the other, as parts of one.
    layout
        Which column is what, where names do not tell.

    Returns
    -------
    list of Predictions
        One for each model in the file.

    See Also
    --------
    read_all : All rows at once.
    score_stream : A score in one pass.

    Examples
    --------
    >>> open_predictions("predictions.csv")  # doctest: +SKIP
    [Predictions(name='predictions', ...)]
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InputError("no file of predictions: pass at least one path.", argument="path")
    return open_models([ModelFiles(tuple(os.fspath(each) for each in paths), layout or Layout())])


def open_models(files: Sequence[ModelFiles], priced: Collection[str] | None = None) -> list[Predictions]:
    """The predictions of models that go together.

    Their classes are known from the first of: the layouts, the names in a price list (`priced`), the columns that
    all files share. Other columns of numbers are ignored then, which `Predictions.done` counts.

    Parameters
    ----------
    files
        From `read_models_argument`.
    priced
        The names in a price list.

    Returns
    -------
    list of Predictions
        One for each model.
    """
    try:
        return _open_models(files, priced)
    except FileError as error:
        alike = len(files) > 1 and all(one.layout == files[0].layout for one in files)
        if not alike or error.argument not in OWN:
            raise
        fix = "; ".join(filter(None, (error.fix, DESCRIBE)))
        raise error.replace(fix=fix) from None


def _open_models(files: Sequence[ModelFiles], priced: Collection[str] | None) -> list[Predictions]:
    tables: list[ModelTable] = []
    files_of: list[ModelFiles] = []
    for one in files:
        parts = list(sources_of_parts(one.paths, one.layout.classes, one.layout.dialect))
        _check_one_model(one, [name for name, _ in parts])
        tables += [ModelTable(name, sources, one.layout) for name, sources in parts]
        files_of += [one] * len(parts)
    pairs = zip(files_of, with_known_classes(tables, priced), strict=True)
    return [model for one, table in pairs for model in _named(one, models_of(table))]


def _named(files: ModelFiles, models: list[Predictions]) -> list[Predictions]:
    _check_one_model(files, [model.name for model in models])
    return models if files.name is None else [replace(models[0], name=files.name)]


def _check_one_model(files: ModelFiles, models: Sequence[str]) -> None:
    """A file that holds several models names them itself."""
    if files.name is not None and len(models) > 1:
        fix = f"pass the file without the name {files.name!r}"
        raise FileError(f"holds the models {some(models)}", path=files.paths[0], value=list(models), fix=fix)


def models_of(table: ModelTable) -> list[Predictions]:
    """The models in a table, which may be cut into several files."""
    layout, sources = table.layout, table.sources
    logits = any(source.in_layout(layout).logits for source in sources)
    model = Predictions(table.name, sources, _columns_of(sources, layout), logits, layout.normalise)
    check_labels(model, layout)
    return _each_model(model)


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
    return _whole(predictions, [batch.checked(predictions.logits) for batch in predictions.batches()])


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
    for _, sharing in groupby(opened, key=attrgetter("sources")):
        models = list(sharing)
        if len(models) == 1 or models[0].only is None:
            yield from map(read_all, models)
        else:
            parts = _read_long(models)
            yield from (_whole(model, parts.pop(model.only)) for model in models)


def _read_long(models: Sequence[Predictions]) -> dict[str | None, list[Batch]]:
    """The rows of each model in a table of several."""
    first, parts = models[0], {model.only: list[Batch]() for model in models}
    columns = first.columns
    for source, file_row, records in first.walk(columns.wanted):
        for name, rows in _rows_by_name(records.column(columns.model)):
            batch = first.batch(records.take(rows), source, rows + file_row, 0)
            parts[name].append(batch.checked(first.logits))
    return parts


def _rows_by_name(column: Any) -> Iterator[tuple[str, IntArray]]:
    """Each name in a column of text, and the numbers of its rows."""
    names, numbers = np.unique(texts_of(column), return_inverse=True)
    rows = np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers))[:-1])
    return zip(names.tolist(), rows, strict=True)


def _whole(predictions: Predictions, batches: list[Batch]) -> Batch:
    if not batches:
        raise predictions.no_rows()
    return concatenated(batches)


def _columns_of(sources: tuple[Source, ...], layout: Layout) -> Columns:
    """Of the first part; the others must have the same."""
    parts = [find_columns(source.in_layout(layout), source.kinds, source.path) for source in sources]
    for source, columns in zip(sources[1:], parts[1:], strict=True):
        check_same_columns(parts[0], columns, sources[0].path, source.path)
    return parts[0]


def _each_model(model: Predictions) -> list[Predictions]:
    """One for every value of the model column, in order of appearance."""
    column = model.columns.model
    if column is None:
        return [model]
    names: dict[str, None] = {}
    for source, row, records in model.walk([column]):
        distinct = texts_of(records.column(column).unique()).tolist()
        if any(not name or "\0" in name for name in distinct):
            reader_of(model, source, row, records).names(column)
        names |= dict.fromkeys(distinct)
    return [replace(model, name=name, only=name) for name in names]

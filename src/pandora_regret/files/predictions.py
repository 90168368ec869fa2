"""Predictions of one model, streamed: open files, walk through them in batches, cut them into fragments."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

from pandora_regret.files.batch import Batch, batch_of, concatenated, texts_of
from pandora_regret.files.formats import sources_of_parts
from pandora_regret.files.layout import Classes, Columns, Layout, find_columns, same_columns, too_few, unlabelled
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import InputError, IntArray
from pandora_regret.optional import import_optional

ROWS, ELEMENTS = 1 << 20, 11 << 20  # the usual row group of a Parquet file: cut smaller, it takes longer to read
SAMPLE_ROWS = 1 << 12


@dataclass(frozen=True)
class Predictions:
    """What one model predicts, in one file or several parts of one; made by `open_predictions`."""

    name: str
    sources: tuple[Source, ...]
    columns: Columns
    logits: bool = False
    single: bool = False  # numbers in text that add up to 1 in single precision only
    only: str | None = None  # the value of the model column, where models share a file
    first_row: int = 0  # the number of the first row among those of this model

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
    def has_ids(self) -> bool:
        """Whether rows have ids."""
        return self.columns.id is not None

    def batches(self, rows: int | None = None) -> Iterator[Batch]:
        """The rows in order, at most so many at a time; some tens of megabytes of them unless said."""
        rows = rows or max(1, min(ROWS, ELEMENTS // len(self.classes)))
        number = self.first_row
        for source, file_row, records in self._walk(self.columns.wanted, rows):
            kept, numbers = self._kept(records, file_row)
            if len(kept):
                yield batch_of(kept, self.columns, source, numbers, number, self.single)
            number += len(kept)

    def _walk(self, columns: Sequence[str], rows: int = ROWS) -> Iterator[tuple[Source, int, Records]]:
        """Some columns: file, number in it of the first row, rows."""
        numbers = self.columns.numbers & frozenset(columns)
        for source in self.sources:
            file_row = source.first
            for records in _regrouped(source.read(columns, numbers, rows), rows):
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
        return sum(len(self._kept(records, 0)[0]) for _, _, records in self._walk([self.columns.model]))

    def _kept(self, records: Records, file_row: int) -> tuple[Records, Any]:
        """The rows of this model, and their numbers in the file."""
        if self.only is None:
            return records, range(file_row, file_row + len(records))
        which = np.flatnonzero(texts_of(records.column(self.columns.model)) == self.only)
        return records.take(which), which + file_row


def open_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], layout: Layout | None = None
) -> list[Predictions]:
    """The predictions in a file, of each of its models; nothing but column names and a few rows is read yet.

    Parameters
    ----------
    path
        A CSV, TSV, JSONL, Parquet, Arrow (Feather) or NPZ file: a label column and one column of forecasts for
        each class. Text may be compressed. A list of files is read one after the other, as parts of one.
    layout
        Which column is what, where names do not tell.

    Examples
    --------
    >>> open_predictions("predictions.csv")  # doctest: +SKIP
    [Predictions(name='predictions', ...)]
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InputError("no file of predictions: pass at least one path.")
    found = []
    for name, sources in sources_of_parts(paths):
        columns = _columns_of(sources, layout or Layout())
        one = Predictions(name, sources, columns, (layout or Layout()).logits)
        if not columns.certain:
            _check_every_class_occurs(one)
        found += _each_model(replace(one, single=_is_single(one)))
    return found


def read_all(predictions: Predictions) -> Batch:
    """All rows of a file at once, checked: forecasts that can be scored, no id twice.

    Errors name the file, the row and the column.
    """
    return _whole(predictions, [_checked(batch, predictions.logits) for batch in predictions.batches()])


def read_models(opened: Sequence[Predictions]) -> Iterator[Batch]:
    """All rows of each of several models, one after the other; a file that they share is read once.

    Errors are as in `read_all`.
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
    for source, file_row, records in first._walk(columns.wanted):
        for name, which in _rows_by_name(records.column(columns.model)):
            batch = batch_of(records.take(which), columns, source, which + file_row, 0, first.single)
            parts[name].append(_checked(batch, first.logits))
    return parts


def _rows_by_name(column: Any) -> Iterator[tuple[str, IntArray]]:
    """Each name in a column of text, and the numbers of its rows."""
    names, which = np.unique(texts_of(column).astype(np.str_), return_inverse=True)
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    return zip(names.tolist(), rows, strict=True)


def _checked(batch: Batch, logits: bool) -> Batch:
    """Forecasts that can be scored, or an error that says where they are not."""
    with batch.blamed():
        batch.forecast(logits).check()
    return batch


def _whole(predictions: Predictions, batches: list[Batch]) -> Batch:
    if not batches:
        raise InputError(no_rows(predictions))
    whole = concatenated(batches)
    return whole if predictions.logits else whole.as_precise_as_written()


def no_rows(predictions: Predictions) -> str:
    """The sentence for files without any row."""
    return f"{' and '.join(predictions.paths[:3])} has no rows: there is nothing to score."


def _columns_of(sources: tuple[Source, ...], layout: Layout) -> Columns:
    """Of the first part; the others must have the same."""
    found = [find_columns(one.in_layout(layout), one.kinds(), one.path) for one in sources]
    for source, columns in zip(sources[1:], found[1:], strict=True):
        same_columns(found[0], columns, sources[0].path, source.path)
    return found[0]


def _check_every_class_occurs(one: Predictions) -> None:
    """Columns of numbers are classes only if they occur as labels; it is read until all have been seen."""
    seen: set[int] = set()
    n_rows = 0
    for source, row, records in one._walk([one.columns.label]):
        seen |= _classes_in(one, source, row, records)
        n_rows += len(records)
        if len(seen) == len(one.classes) > 1:
            return
    if not n_rows:
        raise InputError(no_rows(one))
    if len(one.classes) < 2:
        raise InputError(too_few(one.classes, one.sources[0].kinds(), one.path, " of numbers"))
    unseen = [name for at, name in enumerate(one.classes) if at not in seen]
    raise InputError(unlabelled(one.columns, unseen, one.path))


def _classes_in(one: Predictions, source: Source, row: int, records: Records) -> set[int]:
    """Which classes occur."""
    classes, found = Classes(one.classes), set()
    for label in records.column(one.columns.label).unique().to_pylist():
        at = classes.number_of(label)
        if at is None:
            raise InputError(_without_column(one, source, row, records, label))
        found.add(at)
    return found


def _without_column(one: Predictions, source: Source, row: int, records: Records, label: Any) -> str:
    """The sentence for a label that no column of numbers is called by; perhaps a column of text is."""
    if label is not None and str(label) in source.kinds():
        for _ in source.read([str(label)], frozenset((str(label),)), ROWS):
            pass  # a text file says on which line it holds what
        return f"{source.path}: column {str(label)!r} holds no numbers: it must, being the forecasts of a class."
    columns = replace(one.columns, id=None, weight=None, group=None, model=None, forecasts=(), costs=())
    batch_of(records, columns, source, range(row, row + len(records)), row, False)
    return f"{source.path}: label {label!r} has no forecast column."


def _is_single(one: Predictions) -> bool:
    """Whether rows of numbers in text add up to 1 only as single precision does, which wrote them."""
    if one.logits or not any(source.is_text for source in one.sources):
        return False
    batch = next(one.batches(SAMPLE_ROWS), None)
    return batch is not None and batch.as_precise_as_written().dtype == np.float32


def _each_model(one: Predictions) -> list[Predictions]:
    """One for every value of the model column, in order of appearance."""
    if one.columns.model is None:
        return [one]
    names: dict[str, None] = {}
    for _, _, records in one._walk([one.columns.model]):
        column = records.column(one.columns.model)
        if column.null_count:
            raise InputError(
                f"{one.path}: column {one.columns.model!r} has rows without a model: name it in each."
            )
        names |= dict.fromkeys(texts_of(column.unique()).tolist())
    return [replace(one, name=name, only=name) for name in names]


def _regrouped(batches: Iterator[Records], rows: int) -> Iterator[Records]:
    """Tables of at most so many rows, and of at least half as many but for the last."""
    arrow = import_optional("pyarrow", extra="cli")
    pending: list[Any] = []
    for batch in batches:
        table = arrow.Table.from_batches([batch]) if isinstance(batch, arrow.RecordBatch) else batch
        for start in range(0, len(table), rows):
            pending.append(table.slice(start, rows))
            if sum(map(len, pending)) > rows:
                yield arrow.concat_tables(pending[:-1])
                pending = pending[-1:]
            if 2 * sum(map(len, pending)) >= rows:
                yield arrow.concat_tables(pending)
                pending = []
    if pending:
        yield arrow.concat_tables(pending)

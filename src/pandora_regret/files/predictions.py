"""Predictions of one model, streamed: open files, walk through them in batches, cut them into fragments."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Any

import numpy as np

from pandora_regret.files.batch import Batch, RowNumbers, check_ids, concatenated
from pandora_regret.files.classes import Columns, find_columns, settled, with_known_classes
from pandora_regret.files.columns import Rows, is_missing, regrouped, texts_of
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import Layout, ModelFiles, some
from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import RAISED, Fields, FileError, Names, Problems, Source
from pandora_regret.inputs import Done, InputError
from pandora_regret.text import listed

ROWS, ELEMENTS = 1 << 20, 11 << 20  # the usual row group of a Parquet file: cut smaller, it takes longer to read

MOST_NAMED = 5  # of columns that are ignored
INDEX = re.compile("|__index_level_.*")  # what pandas calls the numbers of rows, in CSV or in Parquet
OWN = frozenset({"label", "id", "proba_prefix", "classes"})  # what a file of its own kind may call otherwise
DESCRIBE = "where files call these differently, describe each in a models.toml"
PARTS = "parts need the same; if these are two models: use compare"


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
    problems: Problems = field(default=RAISED, compare=False, repr=False)  # who is told what is wrong

    @property
    def classes(self) -> Names:
        """The classes' names, in the order of the file's columns."""
        return self.columns.classes

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.sources[0].path

    @property
    def done(self) -> tuple[Done, ...]:
        """What was recognised in the files, or left out of them, as far as their heads tell."""
        done = [each for source in self.sources for each in source.done]
        if votes := self.columns.votes:
            sentence = f"truths read as votes (columns {listed(votes, MOST_NAMED)})"
            done.append(Done("votes", len(votes), sentence))
        wanted, kinds = set(self.columns.wanted), self.sources[0].kinds
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
        if columns.votes:
            fields["truth"] = fields["votes"].argmax(axis=1)
        fields.setdefault("truth", np.full(len(rows.numbers), -1))
        fields["id_column"] = rows.records.column(self.watched) if self.watched else None
        fields |= {"columns": rows.forecasts(columns.forecasts), "origins": ((rows.source, rows.numbers),)}
        batch = Batch(columns.classes, first_row=first_row, **fields)
        return batch.normalised() if self.normalise and not self.logits else batch

    def walk(self, columns: Sequence[str], rows: int | None = None) -> Iterator[Rows]:
        """Some columns, each once."""
        columns = list(dict.fromkeys(columns))
        rows = rows or max(1, min(ROWS, ELEMENTS // len(columns)))
        numbers = self.columns.numbers & frozenset(columns)
        for source in self.sources:
            start = source.first
            for records in regrouped(source.read(columns, numbers, rows), rows):
                of_file = range(start, start + len(records))
                yield Rows(source, of_file, records, self.classes, self.columns.unlabelled, self.problems)
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


def open_predictions(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], layout: Layout | None = None
) -> list[Predictions]:
    """The predictions in a file, of each of its models; nothing but column names and a few rows is read yet.

    Parameters
    ----------
    path
        A CSV, TSV, JSONL, Parquet, Arrow (Feather), NPZ or Excel file: a label column and one column of forecasts
        for each class; or JSON lines whose rows have lists of their own. Text may be compressed; ``-`` is
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
        tables = with_known_classes([table for one in files for table in tables_of(one)], priced)
        return [model for table in tables for model in models_of(table)]
    except FileError as error:
        alike = len(files) > 1 and all(one.layout == files[0].layout for one in files)
        if not alike or error.argument not in OWN:
            raise
        fix = "; ".join(filter(None, (error.fix, DESCRIBE)))
        raise error.replace(fix=fix) from None


def tables_of(files: ModelFiles) -> list[Predictions]:
    """The tables in the files of a model, as far as names of columns tell what they are."""
    layout, tables = files.layout, list[Predictions]()
    parts = [open_sources(path, layout.classes, layout.dialect) for path in files.paths]
    _check_one_model(files.name, list(parts[0]), files.paths[0])
    for name in parts[0]:
        sources = tuple(of.get(name) or next(iter(of.values())) for of in parts)
        for path, of in zip(files.paths, parts, strict=True):
            if len(parts[0]) * len(of) > 1 and name not in of:
                problem = f"has no model {name!r} but {files.paths[0]} has"
                raise FileError(problem, path, "parts need the same models")
        first, *others = (find_columns(layout, source) for source in sources)
        for source, columns in zip(sources[1:], others, strict=True):
            differ = sorted(set(first.forecasts) ^ set(columns.forecasts))
            missing = sorted(set(first.wanted) - set(columns.wanted))
            if differ or missing:
                lacks = f"lacks the columns {some(missing)} that {sources[0].path} has"
                problem = f"and {sources[0].path} differ in the columns {some(differ)}" if differ else lacks
                raise FileError(problem, source.path, PARTS)
        logits = any(source.in_layout(layout).logits for source in sources)
        about: Fields = {"logits": logits, "normalise": layout.normalise}
        tables.append(Predictions(files.name or name, sources, first, is_named=files.name is not None, **about))
    return tables


def _check_one_model(name: str | None, models: Sequence[str], path: str) -> None:
    """A file that holds several models names them itself."""
    if name is not None and len(models) > 1:
        raise FileError(f"holds the models {some(models)}", path, f"pass the file without the name {name!r}")


def models_of(table: Predictions) -> list[Predictions]:
    """The models in a table: one for every value of the model column, in order of appearance."""
    model = settled(table)
    column = model.columns.model
    names: dict[str, None] = {}
    for rows in replace(model, problems=RAISED).walk([column]) if column else ():
        distinct = texts_of(rows.records.column(column).unique()).tolist()
        if any(is_missing(name) or "\0" in name for name in distinct):
            rows.names(column or "")
        names |= dict.fromkeys(distinct)
    if not names:
        return [model]
    if model.is_named:
        _check_one_model(model.name, list(names), model.path)
    return [replace(model, name=model.name if model.is_named else name, only=name) for name in names]


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

"""Models in files, opened, inspected, read together, or one row of one: what their columns and classes are."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Forecast, InputError, Names, noted, quoted
from pandora_regret.files.alignment import align, common_rows
from pandora_regret.files.batch import Batch, ModelFacts, blamed
from pandora_regret.files.classes import Columns, find_columns
from pandora_regret.files.columns import texts_of, with_labels
from pandora_regret.files.formats import open_source, stem_of
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.models import labels_of, over_all_options, scaled, settled, with_known_classes
from pandora_regret.files.predictions import Predictions, read_all, read_models
from pandora_regret.files.prices import PriceList
from pandora_regret.files.source import (
    RAISED,
    ROWS_AT_ONCE,
    AllDone,
    AnyPath,
    Collected,
    FileError,
    Problem,
    Problems,
)
from pandora_regret.text import counted, listed

PARTS = "parts need the same; if these are two models: use compare"


def open_predictions(path: AnyPath | Sequence[AnyPath], layout: Layout | None = None) -> list[Predictions]:
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
    names = tuple(os.fspath(name) for name in paths)
    return open_models([ModelFiles(names, layout or Layout())])


def open_models(
    files: Sequence[ModelFiles], priced: Collection[str] | None = None, failures: dict[str, str] | None = None
) -> list[Predictions]:
    """The predictions of models that go together.

    Their classes are known from the first of: the layouts, the names in a price list (`priced`), the columns that
    all files share. Other columns of numbers are ignored then, which `Predictions.done` counts.

    Parameters
    ----------
    files
        From `read_models_argument`.
    priced
        The names in a price list.
    failures
        Takes the reasons why files cannot be read, by their models' names; else the first is raised.

    Returns
    -------
    list of Predictions
        One for each model.
    """
    models = list[Predictions]()
    listeners: list[Problems] = [RAISED] * len(files)
    if failures is not None:
        listeners = [_Failed(failures, model.name or stem_of(str(model.paths[0]))) for model in files]
    for table in _understood(files, priced, listeners):
        with table.problems.noting():
            models += models_of(replace(table, problems=RAISED))
    return models


@dataclass
class _Failed(Problems):
    """Files that cannot be read are left out."""

    failures: dict[str, str]
    name: str

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        self.failures[self.name] = str(error)


def _understood(
    files: Sequence[ModelFiles], priced: Collection[str] | None, listeners: Sequence[Problems]
) -> list[Predictions]:
    """The tables of files that go together; each of the listeners is told what is wrong with its own."""
    tables = list[Predictions]()
    understood = list[Predictions]()
    layout = files[0].layout if files else Layout()
    truth = None if layout.truth is None else read_truth(layout)
    for model_files, problems in zip(files, listeners, strict=True):
        with problems.noting():
            tables.append(replace(table_of(model_files), truth=truth, problems=problems))
    for table in with_known_classes(tables, priced):
        with table.problems.noting():
            understood.append(settled(table))
    return over_all_options(understood)


def table_of(files: ModelFiles) -> Predictions:
    """The table in the files of a model, as far as names of columns tell what it is."""
    layout = files.layout
    sources = tuple(open_source(path, layout.classes, layout.dialect) for path in files.paths)
    source, *parts = sources
    columns = find_columns(layout, source)
    for part in parts:
        columns_of_part = find_columns(layout, part)
        lacking = set(columns.wanted) - set(columns_of_part.wanted)
        differ = sorted(set(columns.forecasts) ^ set(columns_of_part.forecasts) | lacking)
        if differ:
            raise FileError(f"and {source.path} differ in the columns {quoted(differ)}", part.path, PARTS)
    of_format = replace(layout, logits=any(layout.of_format(part).logits for part in sources))
    name = files.name or stem_of(source.path)
    return Predictions(name, sources, columns, of_format, is_named=files.name is not None)


def models_of(model: Predictions) -> list[Predictions]:
    """The models in a table: one for every value of the model column, in order of appearance."""
    column = model.columns.model or ""
    names = dict[str, None]()
    for rows in model.walk([column]) if column else ():
        distinct = texts_of(rows.column(column).unique()).tolist()
        if None in distinct:
            rows.groups(column)
        names |= dict.fromkeys(distinct)
    if model.is_named and len(names) > 1:
        fix = f"pass the file without the name {model.name!r}"
        raise FileError(f"holds the models {quoted(names)}", model.path, fix)
    return [replace(model, name=model.name if model.is_named else name, only=name) for name in names] or [model]


def read_truth(layout: Layout, classes: Names | None = None) -> Batch:
    """The truth of a layout that names a file of its own for it; `classes` are all that may be true, if given."""
    source = open_source(layout.truth or "", dialect=layout.dialect)
    columns = find_columns(layout, source, is_truth=True)
    model = Predictions(source.path, (source,), columns, layout)
    if not columns.votes:
        names = classes or with_labels(layout.classes or (), labels_of(model))
        model = replace(model, columns=replace(columns, classes=names))
    return read_all(model)


class Inspected(Collected):
    """What was understood of a table, and what is wrong with it."""

    columns: Columns | None = None
    rows = 0
    unused: Sequence[str] = ()
    done: AllDone = ()  # what was recognised in the file, or left out of it

    def __init__(self, path: str, name: str) -> None:
        super().__init__()
        self.path = path
        self.name = name
        self.read = list[Batch]()  # all rows of each model
        self.models = Counter[str]()  # rows of each model
        self.labels = Counter[str]()  # rows of each class

    @property
    def fine(self) -> bool:
        """Whether it can be scored."""
        return not self.problems

    def add(self, table: Predictions) -> None:
        """Read a table as for a score."""
        wanted = set(table.columns.wanted)
        self.columns = table.columns
        self.done = table.done
        self.unused = [name for name in table.sources[0].kinds if name not in wanted]
        for batch in read_models(models_of(table)):
            self.read.append(batch)
            self.rows += len(batch)
            if batch.model.only is not None:
                self.models[batch.model.only] = len(batch)
            if batch.votes is None:
                self.labels.update(batch.classes[k] for k in batch.truth[batch.truth >= 0].tolist())
            self.done += batch.changes.done(batch.model.name)


def inspect_models(
    files: Sequence[ModelFiles], prices: PriceList | None = None, progress: Callable[[], object] = lambda: None
) -> tuple[list[Inspected], list[Problem]]:
    """What is in the files of models, table by table, and what keeps those that are fine from going together.

    Parameters
    ----------
    files
        From `read_models_argument`.
    prices
        What the classes cost, to be checked against theirs.
    progress
        Called after each file.

    Returns
    -------
    tuple
        What is in each table, and what keeps tables from going together.
    """
    results = [Inspected(str(model.paths[0]), model.name or str(model.paths[0])) for model in files]
    together = Collected()
    layout = files[0].layout
    with together.noting():
        for table in _understood(files, None if prices is None else prices.costs.keys(), results):
            assert isinstance(table.problems, Inspected)
            with table.problems.noting():
                table.problems.add(table)
            progress()
    batches = [batch for result in results if result.fine for batch in result.read]
    with together.noting("prices", () if prices is None else (prices.source,)):
        if prices is not None and batches:
            prices.for_classes(list(dict.fromkeys(chain.from_iterable(batch.classes for batch in batches))))
    with together.noting():
        names = unique_names([batch.model for batch in batches])
        if layout.common_rows:
            batches, _ = common_rows(batches, names)
        if batches:
            align(batches, names, together)
    return results, together.problems


@dataclass(frozen=True)
class Together:
    """Models on the same rows."""

    names: list[str]
    batches: list[Batch]
    done: AllDone  # what was done to the files

    def of_rows(self, what: str) -> Any:
        """What any of the files says of the rows; where several do, they say the same."""
        for batch in self.batches:
            values = getattr(batch, what)
            if values is not None:
                return values
        return None

    @property
    def by(self) -> dict[str, Any]:
        """The values to break results down by; a column may stand in any of the files."""
        return {name: values for batch in reversed(self.batches) for name, values in (batch.by or {}).items()}

    def forecasts(self) -> dict[str, Forecast]:
        """The models' forecasts, all with the weights of the rows."""
        weights = self.of_rows("weights")
        forecasts = {}
        for name, batch in zip(self.names, self.batches, strict=True):
            forecasts[name] = replace(batch, weights=weights).with_relative_weights().forecast()
        return forecasts


def read_together(
    opened: Sequence[Predictions], common: bool = False, progress: Callable[[], object] = lambda: None
) -> Together:
    """All rows of models on the same rows and classes, and what was done to get there.

    Parameters
    ----------
    opened
        From `open_models`.
    common
        Whether rows that not all have are left out.
    progress
        Called after each model.

    Returns
    -------
    Together
        The models by their names, and their rows.
    """
    names = unique_names(opened)
    batches = list[Batch]()
    truth = opened[0].truth
    for batch in read_models(opened):
        batches.append(batch)
        progress()
    done = () if truth is None else _truths_left_out(truth, batches)
    if common:
        batches, left_out = common_rows(batches, names)
        done += left_out
    batches = align(batches, names)
    orders = [name for name, model in zip(names, opened, strict=True) if model.order_only]
    with_probabilities = [name for name in names if name not in orders]
    if orders and with_probabilities:
        why = f"because {listed(orders)} {'has' if len(orders) == 1 else 'have'} no probabilities"
        sentence = f"{listed(with_probabilities)} scored by order alone, too, {why}"
        done += noted("order only", len(with_probabilities), sentence)
    done += tuple(dict.fromkeys(chain.from_iterable(model.done for model in opened)))
    for name, model, batch in zip(names, opened, batches, strict=True):
        done += (*batch.changes.done(name), *_zeros(name, model, batch))
    return Together(names, batches, done)


def _truths_left_out(truth: Batch, batches: Sequence[Batch]) -> AllDone:
    """How many cases of the truth's own file no model forecasts."""
    forecast = {name for batch in batches for name in np.asarray(batch.ids).tolist()}
    n = len(set(np.asarray(truth.ids).tolist()) - forecast)
    sentence = f"{counted(n, 'case')} of {truth.path} that no model forecasts left out"
    return noted("truths left out", n, sentence, truth.path)


def unique_names(opened: Sequence[Predictions | ModelFacts]) -> list[str]:
    """Each model's own name; those that two files share are told apart by their files."""
    times = Counter(model.name for model in opened)
    names = []
    for model in opened:
        if times[model.name] == 1:
            names.append(model.name)
        elif model.only is None:
            names.append(model.path)
        else:
            names.append(f"{model.name} ({model.path})")
    for name, n in Counter(names).items():
        if n > 1:
            raise InputError(f"{name} is given twice: give each file once.")
    return names


def _zeros(name: str, model: Predictions, batch: Batch) -> AllDone:
    """The classes that were taken as probability 0 because a file lacks them, and how often they are true."""
    absent = [name for name, column in model.columns.column_of.items() if not column and not model.is_list]
    n = int(np.isin(batch.truth, [batch.classes.index(label) for label in absent]).sum())
    sentence = f"{name} has no {listed(absent)}: taken as probability 0, the truth of {counted(n, 'case')}"
    return noted("classes taken as 0", len(absent), sentence, name)


@dataclass(frozen=True)
class OneRow:
    """A row of a file of forecasts."""

    classes: Names
    forecast: NDArray[Any]  # (K,) probabilities or logits
    place: str  # file and line
    costs: FloatArray | None = None  # (K,) of this row alone
    done: AllDone = ()  # what was recognised, changed or left out

    def blamed(self) -> Any:
        """Errors about the forecast say where it stands, and what was taken for it."""
        return blamed(lambda _: f"{self.place} ({', '.join(self.classes)})")


def read_row(
    path: AnyPath,
    row: int | None,
    layout: Layout,
    priced: Collection[str] | None = None,
    case: str | None = None,
) -> OneRow:
    """A row of a file, by its number or id; it needs no label: who knows the truth does not ask for an order.

    Parameters
    ----------
    path
        The file.
    row
        Its number, counted from 1.
    layout
        Which column is what, where names do not tell.
    priced
        The names in a price list, which say which columns are classes.
    case
        Its id, instead of the number.

    Returns
    -------
    OneRow
        The forecast, and its classes.
    """
    layout = replace(layout, unlabelled=True, truth=None)
    [table] = with_known_classes([table_of(ModelFiles((os.fspath(path),), layout))], priced)
    model = scaled(table)
    column = None if case is None else table.columns.id
    if not model.classes:
        raise FileError("has no columns of numbers", model.path, "write one per class, its probability")
    if row is None and case is None:
        raise FileError(
            "is a file", model.path, "say which of its rows with --row (from 1) or --case", argument="row"
        )
    if model.order_only:
        raise FileError("lists options in order only", model.path, "look in this order")
    if case is not None and not column:
        raise FileError(
            "has no column of ids", model.path, "say which one names the rows with --id", argument="ids"
        )
    columns = Columns(model.classes, model.columns.forecasts, costs=model.columns.costs, id=column)
    wanted = str(row) if case is None else case
    rows = _rows_called(wanted, replace(model, columns=columns))
    if len(rows) != 1:
        problem = f"has {len(rows) or 'no'} row{'s' * (len(rows) > 1)} whose {column or 'number'} is {wanted!r}"
        places = " or ".join(str(1 + found.places[0]) for found in rows)
        fix = f"say which with --row: {places}" if rows else None
        raise FileError(problem, model.path, fix, argument="row" if case is None else "ids", value=wanted)
    [batch] = rows
    forecast = batch.values[0]
    classes = np.array(model.classes, dtype=object)
    place = batch.place(0)
    own = slice(None)
    if model.is_list:  # the options that it has itself
        own = forecast > (-np.inf if model.logits else 0)
    costs = None if batch.costs is None else batch.costs[0, own]
    return OneRow((*classes[own],), forecast[own], place, costs, (*model.done, *batch.changes.done(place)))


def _rows_called(wanted: str, model: Predictions) -> list[Batch]:
    """The rows of this id; without ids, the one of this number."""
    batches = list[Batch]()
    column = model.columns.id
    for rows in model.walk(model.columns.wanted, ROWS_AT_ONCE):
        names = rows.ids(column) if column else 1 + rows.numbers
        batches += [model.batch(rows.some(at)) for at in np.flatnonzero(names.astype(str) == wanted).tolist()]
        if batches and not column:
            break
    return batches

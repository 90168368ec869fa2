"""Models in files, opened: their columns are found, and their classes known; or one table that is no model."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pandora_regret.core.inputs import InputError, Names, quoted
from pandora_regret.files.arrow_columns import texts_of
from pandora_regret.files.batch import Batch
from pandora_regret.files.columns import check_several, find_columns
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.file_errors import FileError, NoRowsError, explained
from pandora_regret.files.formats import open_source, stem_of
from pandora_regret.files.labels import with_labels
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.models import labels_of, over_all_options, scaled, settled, with_known_classes
from pandora_regret.files.predictions import Predictions, read_all
from pandora_regret.files.problems import RAISED, Problems
from pandora_regret.files.rows import read_group_column
from pandora_regret.files.source import AnyPath
from pandora_regret.files.table import blocks_of

SAME_COLUMNS = "parts need the same; if these are two models: use compare"


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
    all files share. Other columns of numbers are ignored then, which `Predictions.remarks` counts.

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
        listeners = [_Failures(failures, model.name or stem_of(str(model.paths[0]))) for model in files]
    for table in understood_tables(files, priced, listeners):
        with table.problems.noting():
            models += models_of(replace(table, problems=RAISED))
    return models


@dataclass
class _Failures(Problems):
    """Files that cannot be read are left out."""

    failures: dict[str, str]
    name: str

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        """Remember why the model is left out."""
        self.failures[self.name] = str(error)


def understood_tables(
    files: Sequence[ModelFiles],
    priced: Collection[str] | None,
    listeners: Sequence[Problems],
    shared_problems: Problems = RAISED,
) -> list[Predictions]:
    """The tables of files that go together; each of the listeners is told what is wrong with its own.

    `shared_problems` is told what is wrong with the truth's own file; forecasts are then read without it.
    """
    tables = list[Predictions]()
    understood = list[Predictions]()
    files = _ids_read_alike(files)
    layout = files[0].truth_layout if files else Layout()
    truth = None
    if layout.truth is not None:
        with shared_problems.noting(paths=(str(layout.truth),)):
            truth = read_truth_file(layout)
    lacks_truth = truth is None and layout.truth is not None
    if lacks_truth:
        files = [_without_truth(model) for model in files]
    for model_files, problems in zip(files, listeners, strict=True):
        with problems.noting():
            tables.append(replace(table_of(model_files), truth=truth, problems=problems))
    for table in with_known_classes(tables, priced):
        with table.problems.noting():
            understood.append(_without_labels(table) if lacks_truth else settled(table))
    return over_all_options(understood)


def _without_truth(model: ModelFiles) -> ModelFiles:
    """The files of a model, of which forecasts are read alone."""
    return replace(model, layout=replace(model.layout, truth=None, label=None, unlabelled=True))


def _without_labels(table: Predictions) -> Predictions:
    """The table whose columns of numbers are all classes, as there are no labels to tell."""
    check_several(table.columns.forecasts, table.sources[0], " of numbers")
    return scaled(table)


def _ids_read_alike(files: Sequence[ModelFiles]) -> list[ModelFiles]:
    """The files, whose ids are all read as numbers if those of one are: else they could not be matched."""
    if not any(model.layout.ids_as_numbers for model in files):
        return list(files)
    alike = []
    for model in files:
        of_all = replace(model.of_all or model.layout, ids_as_numbers=True)
        alike.append(replace(model, layout=replace(model.layout, ids_as_numbers=True), of_all=of_all))
    return alike


def table_of(files: ModelFiles) -> Predictions:
    """The table in the files of a model, as far as names of columns tell what it is."""
    layout = files.layout
    sources = tuple(open_source(path, layout.classes, layout.dialect) for path in files.paths)
    source, *parts = sources
    columns = find_columns(layout, source)
    for part in parts:
        columns_of_part = find_columns(layout, part)
        lacking = set(columns.names) - set(columns_of_part.names)
        differ = sorted(set(columns.forecasts) ^ set(columns_of_part.forecasts) | lacking)
        if differ:
            raise FileError(f"and {source.path} differ in the columns {quoted(differ)}", part.path, SAME_COLUMNS)
    of_format = replace(layout, logits=any(layout.of_format(part).logits for part in sources))
    name = files.name or stem_of(source.path)
    return Predictions(name, sources, columns, of_format, is_named=files.name is not None)


def models_of(model: Predictions) -> list[Predictions]:
    """The models in a table: one for every value of the model column, in order of appearance."""
    column = model.columns.model or ""
    names = dict[str, None]()
    for block in model.blocks([column]) if column else ():
        distinct = texts_of(block.column(column).unique()).tolist()
        if None in distinct:
            read_group_column(block, column, model.reading)  # says where the name is missing
        names |= dict.fromkeys(distinct)
    if model.is_named and len(names) > 1:
        fix = f"pass the file without the name {model.name!r}"
        raise FileError(f"holds the models {quoted(names)}", model.path, fix)
    return [replace(model, name=model.name if model.is_named else name, only=name) for name in names] or [model]


def read_truth_file(layout: Layout, classes: Names | None = None) -> Batch:
    """The truth of a layout that names a file of its own for it; `classes` are all that may be true, if given."""
    source = open_source(layout.truth or "", dialect=layout.dialect)
    columns = find_columns(layout, source, is_truth=True)
    model = Predictions(source.path, (source,), columns, layout)
    if not columns.votes:
        names = classes or with_labels(layout.classes or (), labels_of(model))
        model = replace(model, columns=replace(columns, classes=names))
    return read_all(model)


def read_table(path: AnyPath, dialect: Dialect = RECOGNISED) -> pa.Table:
    """All rows and columns of a file of any format, as one Arrow table: numbers as numbers, all else as text.

    For whoever wants a table that holds no predictions, such as the features of a data set. Errors name the file
    and the line.
    """
    source = open_source(path, dialect=dialect)
    numbers = [name for name, kind in source.kinds.items() if kind == "number"]
    parts: list[pa.Table] = []
    held = 0
    with explained(source.path, "a table"):
        for block in blocks_of([source], source.kinds, numbers):
            parts.append(block.records)
            held += block.records.nbytes
            source.check_held(held)
        if not parts:
            raise NoRowsError("has no rows", source.path, "there is nothing to score")
        return pa.concat_tables(parts)

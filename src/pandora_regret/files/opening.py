"""Models in files, opened: what their columns and classes are, before more than a few rows are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pandora_regret.files.batch import Batch, check_ids, concatenated, spelled_otherwise
from pandora_regret.files.classes import (
    Columns,
    find_column,
    find_columns,
    labels_of,
    over_all_options,
    settled,
    with_known_classes,
    with_labels,
)
from pandora_regret.files.columns import is_missing, texts_of
from pandora_regret.files.formats import only_source, open_sources, stem_of
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.roles import ID, LABEL, MODEL, SINGLE
from pandora_regret.files.source import RAISED, Fields, FileError
from pandora_regret.files.truth import Truth
from pandora_regret.inputs import InputError
from pandora_regret.inputs.names import matched, quoted

OWN = frozenset({"label", "id", "proba_prefix", "classes"})  # what a file of its own kind may call otherwise
DESCRIBE = "where files call these differently, describe each in a models.toml"
PARTS = "parts need the same; if these are two models: use compare"


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

    def those_that_can(make: Callable[[Any], list[Predictions]], of: Iterable[Any]) -> Iterator[Predictions]:
        for one in of:
            try:
                yield from make(one)
            except InputError as error:
                if failures is None:
                    raise
                failures[one.name or stem_of(str(one.paths[0]))] = str(error)

    truth = read_truth(files[0].layout) if files else None
    try:
        tables = [replace(table, truth=truth) for table in those_that_can(tables_of, files)]
        known = list(those_that_can(lambda table: [settled(table)], with_known_classes(tables, priced)))
        return list(those_that_can(models_of, over_all_options(known)))
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
    paths = [next(iter(of.values())).path for of in parts]
    _check_one_model(files.name, list(parts[0]), paths[0])
    for name in parts[0]:
        sources = tuple(of.get(name) or next(iter(of.values())) for of in parts)
        for path, of in zip(paths, parts, strict=True):
            if len(parts[0]) * len(of) > 1 and name not in of:
                problem = f"has no model {name!r} but {paths[0]} has"
                raise FileError(problem, path, "parts need the same models")
        first, *others = (find_columns(layout, source) for source in sources)
        for source, columns in zip(sources[1:], others, strict=True):
            differ = sorted(set(first.forecasts) ^ set(columns.forecasts))
            missing = sorted(set(first.wanted) - set(columns.wanted))
            if differ or missing:
                lacks = f"lacks the columns {quoted(missing)} that {sources[0].path} has"
                problem = f"and {sources[0].path} differ in the columns {quoted(differ)}" if differ else lacks
                raise FileError(problem, source.path, PARTS)
        logits = any(source.in_layout(layout).logits for source in sources)
        asked = ("normalise", "ids_as_numbers", "missing_class_zero")
        about: Fields = {"logits": logits, "is_named": files.name is not None}
        about |= {each: getattr(layout, each) for each in asked}
        tables.append(Predictions(files.name or name, sources, first, **about))
    return tables


def _check_one_model(name: str | None, models: Sequence[str], path: str) -> None:
    """A file that holds several models names them itself."""
    if name is not None and len(models) > 1:
        raise FileError(f"holds the models {quoted(models)}", path, f"pass the file without the name {name!r}")


def models_of(model: Predictions) -> list[Predictions]:
    """The models in a table: one for every value of the model column, in order of appearance."""
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


def read_truth(layout: Layout) -> Truth | None:
    """The truth of a layout that names a file of its own for it."""
    if layout.truth is None:
        return None
    source, prefix, listed = only_source(layout.truth, layout.dialect), layout.votes_prefix, layout.classes
    layout = replace(layout, proba_prefix=None, classes=None, columns=None)
    needed = (ID,) if prefix else (ID, LABEL)
    names = ((role, find_column(role, layout, source, role in needed)) for role in SINGLE if role is not MODEL)
    about: Fields = {LABEL.name: ""} | {role.name: name for role, name in names if name}
    about["by"] = tuple(matched(layout.by, source.kinds).values())
    if prefix:
        about |= {LABEL.name: "", "votes": tuple(name for name in source.kinds if name.startswith(prefix))}
    classes = tuple(name.removeprefix(prefix or "") for name in about.get("votes", ()))
    columns = Columns(classes=classes or listed or (), forecasts=(), **about)
    read = Predictions(source.path, (source,), columns, ids_as_numbers=layout.ids_as_numbers)
    if not prefix:
        columns = replace(columns, classes=with_labels(columns.classes, labels_of(read)))
    seen, batches = list[Any](), list[Batch]()
    for batch in replace(read, columns=columns).batches():
        check_ids(batch, seen, RAISED)
        batches.append(batch)
    if not batches:
        raise read.no_rows()
    asked = ((about.get(role.name), getattr(layout, role.name)) for role in SINGLE)
    spelled = spelled_otherwise([(a, b) for a, b in asked if a and b and a != b], "name", source.path)
    return Truth(concatenated(batches), layout.common_rows, (*source.done, *spelled))

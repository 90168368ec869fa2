"""One row of a file of forecasts, by its number or its id."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Names, did_you_mean
from pandora_regret.files.batch import Batch, errors_with_places
from pandora_regret.files.columns import Columns
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.models import scaled, with_known_classes
from pandora_regret.files.opening import table_of
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.rows import read_ids
from pandora_regret.files.source import ROWS_AT_ONCE, AnyPath


@dataclass(frozen=True)
class OneRow:
    """A row of a file of forecasts."""

    classes: Names
    forecast: NDArray[np.floating]  # (K,) probabilities or logits
    place: str  # file and line
    costs: FloatArray | None = None  # (K,) of this row alone
    remarks: Remarks = ()  # what was recognised, changed or left out

    def errors_with_its_place(self) -> AbstractContextManager[None]:
        """Within this, errors about the forecast say where it stands, and what was taken for it."""
        return errors_with_places(lambda _: f"{self.place} ({', '.join(self.classes)})")


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
    model = _open_unlabelled(path, layout, priced)
    if row is None and case is None:
        fix = "say which of its rows with --row (from 1) or --case"
        raise FileError("is a file", model.path, fix, argument="row")
    if model.order_only:
        raise FileError("lists options in order only", model.path, "look in this order")
    id_column = None if case is None else model.columns.id
    if case is not None and id_column is None:
        fix = "say which one names the rows with --id"
        raise FileError("has no column of ids", model.path, fix, argument="ids")
    columns = Columns(model.classes, model.columns.forecasts, costs=model.columns.costs, id=id_column)
    batch = _only_row_called(str(row) if case is None else case, replace(model, columns=columns))
    forecast = batch.values[0]
    listed = np.ones(len(forecast), bool)
    if model.is_list:  # the options that the row has itself
        listed = forecast > (-np.inf if model.logits else 0)
    place = batch.place(0)
    return OneRow(
        tuple(name for name, is_listed in zip(model.classes, listed, strict=True) if is_listed),
        forecast[listed],
        place,
        costs=None if batch.costs is None else batch.costs[0, listed],
        remarks=(*model.remarks, *batch.changes.remarks(place)),
    )


def read_listed_case(path: str, row: int | None, case: str | None, id_key: str | None = None) -> OneRow:
    """The list of one case in JSON lines, by its number or its id: probabilities of candidates, without a truth.

    Parameters
    ----------
    path
        The file.
    row
        The number of the case, counted from 1.
    case
        Its id, instead of the number.
    id_key
        What ids are called, where that is not one of their usual names.

    Returns
    -------
    OneRow
        The candidates, each once, and the prices that the list holds.
    """
    from pandora_regret.candidates.reading import first_places
    from pandora_regret.files.ranked.layout import ListLayout
    from pandora_regret.files.ranked.reading import read_rows

    (rows,) = read_rows(path, ListLayout(id=id_key))
    if case is not None and case not in rows.ids:
        fix = did_you_mean(case, rows.ids)
        raise FileError(f"has no case {case!r}", path, fix, argument="id", value=case)
    if case is None and row is None:
        fix = "say which of its rows with --row (from 1) or --case"
        raise FileError("is a file", path, fix, argument="row")
    if case is None and row is not None and row > len(rows.ids):
        fix = f"choose one from 1 to {len(rows.ids)}"
        raise FileError(f"has no row {row}", path, fix, argument="row", value=row)
    number = rows.ids.index(case) if case is not None else (row or 1) - 1
    listed = np.flatnonzero(rows.case == number)
    if not len(listed):
        problem = f"lists nothing for case {rows.ids[number]!r}"
        raise FileError(problem, path, "give up at once", argument="id", value=rows.ids[number])
    if not rows.has_probabilities:
        raise FileError("lists candidates without probabilities", path, "look in this order")
    listed = listed[first_places(rows.codes[listed], rows.values[listed])]
    return OneRow(
        classes=tuple(rows.names[code] for code in rows.codes[listed].tolist()),
        forecast=rows.values[listed],
        place=f"{path} case {rows.ids[number]}",
        costs=None if rows.prices is None else rows.prices[listed],
        remarks=rows.remarks,
    )


def _open_unlabelled(path: AnyPath, layout: Layout, priced: Collection[str] | None) -> Predictions:
    """The table in a file that needs no labels, with its classes."""
    layout = replace(layout, unlabelled=True, truth=None)
    [table] = with_known_classes([table_of(ModelFiles((os.fspath(path),), layout))], priced)
    model = scaled(table)
    if not model.classes:
        raise FileError("has no columns of numbers", model.path, "write one per class, its probability")
    return model


def _only_row_called(wanted: str, model: Predictions) -> Batch:
    """The only row of this id; without ids, the one of this number."""
    batches = _rows_called(wanted, model)
    if len(batches) == 1:
        return batches[0]
    id_column = model.columns.id
    fix = None
    if batches:
        fix = f"say which with --row: {' or '.join(str(1 + batch.places[0]) for batch in batches)}"
    problem = (
        f"has {len(batches) or 'no'} row{'s' * (len(batches) > 1)} whose {id_column or 'number'} is {wanted!r}"
    )
    raise FileError(problem, model.path, fix, argument="row" if id_column is None else "ids", value=wanted)


def _rows_called(wanted: str, model: Predictions) -> list[Batch]:
    """The rows of this id; without ids, the one of this number."""
    batches = list[Batch]()
    column = model.columns.id
    for block in model.blocks(model.columns.names, ROWS_AT_ONCE):
        names = read_ids(block, column, model.reading) if column else 1 + block.numbers
        for index in np.flatnonzero(names.astype(str) == wanted).tolist():
            batches.append(model.batch(block.row(index)))
        if batches and not column:
            break
    return batches

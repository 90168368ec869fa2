"""One row of a file of forecasts, by its number or its id."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, Names
from pandora_regret.files.batch import Batch, blamed
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
    done: Remarks = ()  # what was recognised, changed or left out

    def blamed(self) -> AbstractContextManager[None]:
        """Within this, errors about the forecast say where it stands, and what was taken for it."""
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
    for block in model.blocks(model.columns.wanted, ROWS_AT_ONCE):
        names = read_ids(block, column, model.reading) if column else 1 + block.numbers
        for index in np.flatnonzero(names.astype(str) == wanted).tolist():
            batches.append(model.batch(block.row(index)))
        if batches and not column:
            break
    return batches

"""Single cases: one forecast of a file, by its number or id; and labels that come after their forecasts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.files.candidates import ListedRows
from pandora_regret.files.classes import scaled, with_known_classes
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.opening import tables_of
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.source import ROWS_AT_ONCE, AllDone, AnyPath, FileError, Names
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.inputs.names import quoted
from pandora_regret.inputs.tables import rescale_rows, row_sum_tolerance


@dataclass(frozen=True)
class OneRow:
    """A row of a file of forecasts."""

    classes: Names
    forecast: NDArray[Any]  # (K,) probabilities or logits
    place: str  # file and line
    costs: FloatArray | None = None  # (K,) of this row alone
    done: AllDone = ()  # what was recognised, changed or left out

    def normalised(self) -> OneRow:
        """The same row divided by its sum, where that is off 1 by at most 1 %."""
        table, rescaled = rescale_rows(self.forecast[None], row_sum_tolerance(self.forecast.dtype))
        return replace(self, forecast=table[0], done=(*self.done, *rescaled.done(self.place)))

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors about the forecast say where it stands, and what was taken for it."""
        try:
            yield
        except InputError as error:
            if error.argument != "y_proba" or error.row is None:
                raise
            raise error.replace(place=f"{self.place} ({', '.join(self.classes)})") from None


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
    layout = replace(layout, unlabelled=True, truth=None, normalise=False)
    models = with_known_classes(tables_of(ModelFiles((os.fspath(path),), layout)), priced)
    model, where = scaled(models[0]), models[0].path
    if len(models) > 1:
        problem = f"holds the models {quoted([model.name for model in models])}"
        raise FileError(problem, where, "save the one that is asked about by itself")
    if not model.classes:
        raise FileError("has no columns of numbers", where, "write one per class, its probability")
    if row is None and case is None:
        fix = "say which of its rows with --row, counted from 1, or with --case"
        raise FileError("is a file", where, fix, argument="row")
    if model.order_only:
        raise FileError("lists options in order only", where, "look in this order")
    batch = _one_of(model, row, case)
    forecast, own = batch.values[0], np.arange(len(model.classes))
    if isinstance(model.sources[0], ListedRows):  # the options that it has itself, and their probabilities
        own = np.flatnonzero(forecast > (-np.inf if model.logits else 0))
        if model.logits and not layout.logits:
            forecast = np.exp(forecast - forecast.max())
            forecast /= forecast.sum()
    costs = None if batch.costs is None else batch.costs[0, own]
    return OneRow(tuple(model.classes[k] for k in own), forecast[own], batch.place(0), costs, model.done)


def _one_of(model: Predictions, row: int | None, case: str | None) -> Batch:
    """The row of this number or id."""
    column = None if case is None else model.columns.id
    if case is not None and column is None:
        fix = "say which column names the rows with --id"
        raise FileError("has no column of ids", model.path, fix, argument="ids")
    columns = replace(model.columns, label="", id=column, weight=None, group=None, model=None, votes=(), by=())
    wanted, rows = str(row) if case is None else case, dict[int, Batch]()  # by their numbers
    for batch in replace(model, columns=columns).batches(ROWS_AT_ONCE):
        numbers = range(batch.first_row + 1, batch.first_row + len(batch) + 1)
        names = zip(numbers, numbers if batch.ids is None else batch.ids.tolist(), strict=True)
        rows |= {k: batch.take(np.array([k - numbers[0]])) for k, name in names if str(name) == wanted}
        if case is None and rows:
            break
    if len(rows) == 1:
        return rows.popitem()[1]
    if case is None:
        problem = f"has {model.count()} rows: --row {row} is not among them"
        raise FileError(problem, model.path, argument="row", value=row)
    problem = f"has {len(rows) or 'no'} row{'s' * (len(rows) > 1)} whose {column} is {case!r}"
    which = f"say which with --row: {' or '.join(map(str, rows))}" if rows else None
    raise FileError(problem, model.path, which, argument="ids", value=case)

"""One forecast: a row of a file, with its own costs where the file has them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.arrow import common_dtype
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import open_sources
from pandora_regret.files.known_classes import ModelTable, with_known_classes
from pandora_regret.files.layout import Columns, Layout, find_columns
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.reading import NO_VALUE
from pandora_regret.files.source import ROWS_AT_ONCE, Source
from pandora_regret.inputs import Done, FloatArray, InputError, IntArray
from pandora_regret.inputs.tables import rescale_rows, row_sum_tolerance


@dataclass(frozen=True)
class OneRow:
    """A row of a file of forecasts."""

    classes: tuple[str, ...]
    forecast: NDArray[Any]  # (K,) probabilities or logits
    place: str  # file and line
    costs: FloatArray | None = None  # (K,) of this row alone
    done: tuple[Done, ...] = ()  # what was recognised, changed or left out

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
            names = ", ".join(self.classes[:8]) + (", ..." if len(self.classes) > 8 else "")
            raise error.replace(place=f"{self.place} ({names})") from None


def find_row(path: str | os.PathLike[str], case: str, layout: Layout) -> int:
    """The one row with this id, counted from 1."""
    source = _only_table(os.fspath(path), layout).sources[0]
    column = find_columns(source.in_layout(replace(layout, unlabelled=True)), source.kinds, source.path).id
    if column is None:
        fix = "say which column names the rows with --id-column"
        raise FileError("has no column of ids", path=source.path, argument="ids", fix=fix)
    blocks = source.read([column], frozenset(), ROWS_AT_ONCE)
    names = (str(name) for records in blocks for name in records.column(column).to_pylist())
    rows = [number for number, name in enumerate(names, 1) if name == case]
    if not rows:
        raise FileError(f"has no row whose {column} is {case!r}", path=source.path, argument="ids", value=case)
    if len(rows) > 1:
        problem, fix = (
            f"has {len(rows)} rows whose {column} is {case!r}",
            f"say which with --row: {rows[0]} or {rows[1]}",
        )
        raise FileError(problem, path=source.path, argument="ids", value=case, fix=fix)
    return rows[0]


def read_row(
    path: str | os.PathLike[str], row: int | None, layout: Layout, priced: Collection[str] | None = None
) -> OneRow:
    """A row of a file, counted from 1; it needs no label: who knows the truth does not ask for an order.

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

    Returns
    -------
    OneRow
        The forecast, and its classes.
    """
    table = _only_table(os.fspath(path), replace(layout, unlabelled=True))
    source = table.sources[0]
    if row is None:
        fix = "say which of its rows with --row, counted from 1, or with --id"
        raise FileError("is a file", path=source.path, argument="row", fix=fix)
    [table] = with_known_classes([table], priced)
    columns = table.columns()
    numbers = _numbers_in_row(source, columns, row - 1)
    k = len(columns.classes)
    costs = numbers[k:].astype(np.float64) if columns.costs else None
    done = Predictions(table.name, table.sources, columns).done
    one = OneRow(columns.classes, numbers[:k], f"{source.path}{source.place(row - 1)}", costs, done)
    lacking = source.lacks(range(row - 1, row))
    if lacking is None:
        return one
    as_probabilities = source.in_layout(layout).logits and not layout.logits
    return _with_own_options(one, source, np.flatnonzero(~lacking[0]), as_probabilities)


def _with_own_options(one: OneRow, source: Source, own: IntArray, as_probabilities: bool) -> OneRow:
    """The row with only the options that it has itself."""
    if source.order_only:
        raise FileError("lists options in order only", path=source.path, fix="look in this order")
    forecast = one.forecast[own]
    if as_probabilities:
        forecast = np.exp(forecast - forecast.max())
        forecast /= forecast.sum()
    costs = None if one.costs is None else one.costs[own]
    return replace(one, classes=tuple(one.classes[k] for k in own), forecast=forecast, costs=costs)


def _only_table(path: str, layout: Layout) -> ModelTable:
    tables = open_sources(path, layout.classes, layout.dialect)
    if len(tables) > 1:
        fix = "save the one that is asked about by itself"
        raise FileError(f"holds the models {list(tables)[:8]}", path=path, fix=fix)
    [(name, source)] = tables.items()
    return ModelTable(name, (source,), layout)


def _numbers_in_row(source: Source, columns: Columns, row: int) -> NDArray[Any]:
    """Forecasts, then costs, in the precision of the file."""
    names, before = [*columns.forecasts, *columns.costs], 0
    for records in source.read(names, frozenset(names), ROWS_AT_ONCE):
        if row < before + len(records):
            values = [records.column(name)[row - before].as_py() for name in names]
            if None in values:
                raise source.error(row, column=names[values.index(None)], **NO_VALUE)
            return np.array(values, dtype=common_dtype(records.column(name).type for name in names))
        before += len(records)
    problem = f"has {before} rows: --row {row + 1} is not among them"
    raise FileError(problem, path=source.path, argument="row", value=row + 1)

"""Single cases: one forecast of a file, by its number or id; and labels that come after their forecasts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.candidates import ListedRows
from pandora_regret.files.classes import Columns, find_column, no_column, with_known_classes
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import Layout, ModelFiles, some
from pandora_regret.files.predictions import Predictions, tables_of
from pandora_regret.files.roles import ID, LABEL
from pandora_regret.files.source import ROWS_AT_ONCE, FileError, Source
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
    source = _only_source(os.fspath(path), layout)
    column = find_column(ID, layout, source.kinds, source.path)
    if column is None:
        fix = "say which column names the rows with --id-column"
        raise FileError("has no column of ids", path=source.path, argument="ids", fix=fix)
    blocks = source.read([column], frozenset(), ROWS_AT_ONCE)
    names = (str(name) for records in blocks for name in records.column(column).to_pylist())
    rows = [number for number, name in enumerate(names, 1) if name == case]
    if len(rows) == 1:
        return rows[0]
    problem = f"has {len(rows) or 'no'} row{'s' * (len(rows) > 1)} whose {column} is {case!r}"
    which = f"say which with --row: {rows[0]} or {rows[1]}" if rows else None
    raise FileError(problem, path=source.path, argument="ids", value=case, fix=which)


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
    models = tables_of(ModelFiles((os.fspath(path),), replace(layout, unlabelled=True)))
    if len(models) > 1:
        names = [model.name for model in models]
        raise _several(names, models[0].path)
    [model] = with_known_classes(models, priced)
    if row is None:
        fix = "say which of its rows with --row, counted from 1, or with --id"
        raise FileError("is a file", path=model.path, argument="row", fix=fix)
    if model.order_only:
        raise FileError("lists options in order only", path=model.path, fix="look in this order")
    columns = replace(model.columns, label="", id=None, weight=None, group=None, model=None, votes=(), by=())
    batch, before = None, 0
    for batch in replace(model, columns=columns, normalise=False).batches(ROWS_AT_ONCE):
        if row <= before + len(batch):
            break
        before += len(batch)
    else:
        problem = f"has {before} rows: --row {row} is not among them"
        raise FileError(problem, path=model.path, argument="row", value=row)
    index = row - 1 - before
    costs = None if batch.costs is None else batch.costs[index]
    one = OneRow(model.classes, batch.values[index], batch.place(index), costs, model.done)
    return _with_own_options(one, model, layout) if isinstance(model.sources[0], ListedRows) else one


def _with_own_options(one: OneRow, model: Predictions, layout: Layout) -> OneRow:
    """The row with only the options that it has itself, and their probabilities."""
    own = np.flatnonzero(one.forecast > (-np.inf if model.logits else 0))
    forecast = one.forecast[own]
    if model.logits and not layout.logits:
        forecast = np.exp(forecast - forecast.max())
        forecast /= forecast.sum()
    costs = None if one.costs is None else one.costs[own]
    return replace(one, classes=tuple(one.classes[k] for k in own), forecast=forecast, costs=costs)


def _several(models: Collection[str], path: str) -> FileError:
    return FileError(
        f"holds the models {some(models)}", path=path, fix="save the one that is asked about by itself"
    )


def _only_source(path: str, layout: Layout) -> Source:
    sources = open_sources(path, layout.classes, layout.dialect)
    if len(sources) > 1:
        raise _several(sources, path)
    return next(iter(sources.values()))


def read_label_table(path: str, classes: list[str], layout: Layout) -> tuple[Any, IntArray, Any]:
    """Ids (n,), column numbers of their true classes (n,), and their groups (n,) or None if they have none."""
    source = _only_source(path, replace(layout, classes=None))
    names = {role.name: find_column(role, layout, source.kinds, source.path) for role in (ID, LABEL)}
    for role in (ID, LABEL):
        if names[role.name] is None:
            raise no_column(role, source.kinds, source.path)
    about: dict[str, Any] = names | {"group": layout.group if layout.group in source.kinds else None}
    batches = list(Predictions(path, (source,), Columns(classes=tuple(classes), forecasts=(), **about)).batches())
    if not batches:
        raise FileError("has no rows", path=path, fix="there is no label to read")
    groups = [batch.groups for batch in batches if batch.groups is not None]
    ids, truth = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("ids", "truth"))
    return ids, truth, np.concatenate(groups) if groups else None

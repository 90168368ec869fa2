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
from pandora_regret.files.classes import Columns, find_column, scaled, with_known_classes
from pandora_regret.files.formats import only_source
from pandora_regret.files.layout import Layout, ModelFiles
from pandora_regret.files.opening import tables_of
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.roles import ID, LABEL
from pandora_regret.files.source import ROWS_AT_ONCE, Fields, FileError, Names
from pandora_regret.inputs import Done, FloatArray, InputError, IntArray
from pandora_regret.inputs.names import quoted
from pandora_regret.inputs.tables import rescale_rows, row_sum_tolerance


@dataclass(frozen=True)
class OneRow:
    """A row of a file of forecasts."""

    classes: Names
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
            raise error.replace(place=f"{self.place} ({', '.join(self.classes)})") from None


def read_row(
    path: str | os.PathLike[str],
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
    models = tables_of(ModelFiles((os.fspath(path),), replace(layout, unlabelled=True, truth=None)))
    if len(models) > 1:
        problem = f"holds the models {quoted([model.name for model in models])}"
        raise FileError(problem, models[0].path, "save the one that is asked about by itself")
    model = scaled(with_known_classes(models, priced)[0])
    if not model.classes:
        raise FileError("has no columns of numbers", model.path, "write one per class, its probability")
    if row is None and case is None:
        fix = "say which of its rows with --row, counted from 1, or with --case"
        raise FileError("is a file", model.path, fix, argument="row")
    if model.order_only:
        raise FileError("lists options in order only", model.path, "look in this order")
    batch, index = _one_of(model, row, case)
    costs, forecast = None if batch.costs is None else batch.costs[index], batch.values[index]
    own: Any = slice(None)
    if isinstance(model.sources[0], ListedRows):  # the options that it has itself, and their probabilities
        own = np.flatnonzero(forecast > (-np.inf if model.logits else 0))
        if model.logits and not layout.logits:
            forecast = np.exp(forecast - forecast.max())
            forecast /= forecast.sum()
    classes = tuple(np.array(model.classes, dtype=object)[own])
    return OneRow(classes, forecast[own], batch.place(index), None if costs is None else costs[own], model.done)


def _one_of(model: Predictions, row: int | None, case: str | None) -> tuple[Batch, int]:
    """The rows around the one of this number or id, and its place among them."""
    column = None if case is None else model.columns.id
    if case is not None and column is None:
        fix = "say which column names the rows with --id"
        raise FileError("has no column of ids", model.path, fix, argument="ids")
    columns = replace(model.columns, label="", id=column, weight=None, group=None, model=None, votes=(), by=())
    before, places = 0, list[tuple[Batch, int]]()
    for batch in replace(model, columns=columns, normalise=False).batches(ROWS_AT_ONCE):
        names = range(before + 1, before + len(batch) + 1) if batch.ids is None else map(str, batch.ids.tolist())
        wanted = row if case is None else case
        places += [(batch, index) for index, name in enumerate(names) if name == wanted]
        before += len(batch)
        if case is None and places:
            break
    if len(places) == 1:
        return places[0]
    if case is None:
        raise FileError(f"has {before} rows: --row {row} is not among them", model.path, argument="row", value=row)
    numbers = [batch.first_row + index + 1 for batch, index in places]
    problem = f"has {len(places) or 'no'} row{'s' * (len(places) > 1)} whose {column} is {case!r}"
    which = f"say which with --row: {numbers[0]} or {numbers[1]}" if places else None
    raise FileError(problem, model.path, which, argument="ids", value=case)


def read_label_table(path: str, classes: list[str], layout: Layout) -> tuple[Any, IntArray]:
    """Ids, (n,), and column numbers of their true classes, (n,), -1 where there is none yet."""
    source, layout = only_source(path, layout.dialect), replace(layout, classes=None)
    names: Fields = {role.name: find_column(role, layout, source, needed=True) for role in (ID, LABEL)}
    columns = Columns(classes=tuple(classes), forecasts=(), unlabelled=True, **names)
    batches = list(Predictions(path, (source,), columns).batches())
    if not batches:
        raise FileError("has no rows", path, "there is no label to read")
    ids, truth = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("ids", "truth"))
    return ids, np.asarray(truth)

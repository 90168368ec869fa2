"""Some rows of predictions as plain arrays, checked but for the forecasts' own numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.errors import FileError
from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import Source
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.done import NOTHING_RESCALED, Rescaled
from pandora_regret.inputs.tables import rescalable, row_sum_tolerance

RowNumbers: TypeAlias = range | IntArray


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one model's predictions."""

    classes: tuple[str, ...]
    truth: IntArray  # (n,) column numbers; the class of most votes where there are votes
    columns: tuple[NDArray[Any], ...]  # K arrays (n,), all float16, float32 or float64, contiguous
    first_row: int  # the number of the first row among those of the model
    origins: tuple[tuple[Source, RowNumbers], ...]  # the files, and the rows' numbers in each, counted from 0
    ids: NDArray[Any] | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NDArray[Any] | None = None  # (n,)
    votes: FloatArray | None = None  # (n, K) each class's share of a row's votes
    costs: FloatArray | None = None  # (n, K) typical costs of each row's tests
    by: Mapping[str, NDArray[Any]] | None = None  # (n,) each: columns that results are broken down by
    rescaled: Rescaled = NOTHING_RESCALED  # rows that were divided by their sums
    absent: NDArray[np.bool_] | None = None  # (n, K) options that a row does not have, where rows have their own
    id_column: Any = None  # ids as the file has them, where they are only to be told apart
    positions: IntArray | None = None  # (n,) where the rows stand among those of `origins`; None: in their order

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the forecasts."""
        return self.columns[0].dtype

    @cached_property
    def values(self) -> NDArray[Any]:
        """Forecasts, (n, K), C-contiguous."""
        return np.stack(self.columns, axis=1)

    @property
    def path(self) -> str:
        """The file, or the first of them."""
        return self.origins[0][0].path

    def origin(self, index: int) -> tuple[Source, int]:
        """The file in which a row stands, and its number there, counted from 0."""
        index = index if self.positions is None else int(self.positions[index])
        for source, numbers in self.origins:
            if index < len(numbers):
                return source, int(numbers[index])
            index -= len(numbers)
        raise IndexError(index)

    def place(self, index: int) -> str:
        """Where a row stands, in the words of an error message: a file, and a line or row of it."""
        source, row = self.origin(index)
        return f"{source.path}{source.place(row)}"

    @property
    def tolerance(self) -> float:
        """How far a row of probabilities may be off 1."""
        return row_sum_tolerance(self.dtype)

    def normalised(self) -> Batch:
        """The same with rows divided by their sums where these are off 1 by at most 1 %, and counted."""
        sums = np.zeros(len(self))
        for column in self.columns:
            sums += column
        rows = rescalable(sums, self.tolerance)
        if not len(rows):
            return self
        divisors = np.ones(len(sums))
        divisors[rows] = sums[rows]
        columns = tuple((column / divisors).astype(self.dtype) for column in self.columns)
        return replace(self, columns=columns, rescaled=Rescaled.of(sums[rows]))

    def forecast(self, logits: bool, rows: IntArray | None = None) -> Forecast:
        """All rows, or some, as the kernels take them; `blamed` makes their errors name the file."""
        labels, some = list(self.classes), self if rows is None else self.take(rows)
        numbers = range(len(self)) if rows is None else rows
        values = some.values
        if logits and some.absent is not None:
            values = np.where(some.absent, -np.inf, values)
        about: dict[str, Any] = {"weights": some.weights, "rescaled": some.rescaled}
        about |= {"absent": some.absent, "order_only": self.order_only}
        forecast = Forecast(values, logits, labels, some.truth, numbers, self.tolerance, **about)
        return forecast if some.votes is None else forecast.with_votes(some.votes)

    def take(self, rows: IntArray) -> Batch:
        """Some of the rows, in this order."""
        fields = {role.field: getattr(self, role.field) for role in KEPT}
        some: dict[str, Any] = {name: _rows_of(part, rows) for name, part in fields.items() if part is not None}
        absent = None if self.absent is None else self.absent[rows]
        positions = rows if self.positions is None else self.positions[rows]
        columns = tuple(column[rows] for column in self.columns)
        return replace(self, columns=columns, absent=absent, positions=positions, **some)

    @property
    def order_only(self) -> bool:
        """Whether forecasts say in which order to look, not how likely anything is."""
        return any(source.order_only for source, _ in self.origins)

    def with_classes(self, classes: tuple[str, ...]) -> Batch:
        """The same rows with further classes, which no row has as an option; in the order of `classes`."""
        assert self.absent is not None
        column = dict(zip(self.classes, self.columns, strict=True))
        lacking = dict(zip(self.classes, self.absent.T, strict=True))
        nothing, everywhere = np.zeros(len(self), self.dtype), np.ones(len(self), dtype=bool)
        position = np.array([classes.index(name) for name in self.classes])
        return replace(
            self,
            classes=classes,
            truth=position[self.truth],
            columns=tuple(column.get(name, nothing) for name in classes),
            absent=np.stack([lacking.get(name, everywhere) for name in classes], axis=1),
        )

    def checked(self, logits: bool) -> Batch:
        """The same batch, whose forecasts can be scored, or an error that says where they cannot."""
        with self.blamed():
            self.forecast(logits).check()
        return self

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors about rows of this batch's `forecast` name file, line and, where it is one number, column."""
        try:
            yield
        except InputError as error:
            if error.argument != "y_proba" or error.row is None:
                raise
            raise self._located(error, error.row) from None

    def _located(self, error: InputError, index: int) -> FileError:
        source, row = self.origin(index)
        where = source.place(row)
        about: dict[str, Any] = {name: getattr(error, name) for name in ("problem", "value", "fix", "command_fix")}
        nan = next((name for name, x in zip(self.classes, self.columns, strict=True) if np.isnan(x[index])), None)
        if nan is not None:
            where = f"{where}, class {nan!r}"
            about = {"problem": "is nan", "column": nan, "fix": "drop or repair the row before scoring"}
        return FileError(path=source.path, where=where, row=row, **about)


def _rows_of(part: Any, rows: IntArray) -> Any:
    """Some rows of an array, or of several by name."""
    return {name: array[rows] for name, array in part.items()} if isinstance(part, Mapping) else part[rows]


def _joined(parts: Sequence[Any]) -> Any:
    """Arrays one after the other, or several by name."""
    if not isinstance(parts[0], Mapping):
        return np.concatenate(parts)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Batches one after the other, as one; no id may occur twice."""
    parts = {role.field: [getattr(batch, role.field) for batch in batches] for role in KEPT}
    fields: dict[str, Any] = {name: _joined(of) for name, of in parts.items() if of[0] is not None}
    coarsest = min((batch.dtype for batch in batches), key=lambda dtype: dtype.itemsize)
    columns = (np.concatenate(of) for of in zip(*(batch.columns for batch in batches), strict=True))
    lacking = [batch.absent for batch in batches if batch.absent is not None]
    whole = replace(
        batches[0],
        absent=np.concatenate(lacking) if lacking else None,
        columns=tuple(column.astype(coarsest, copy=False) for column in columns),  # how far sums may be off
        rescaled=sum((batch.rescaled for batch in batches), NOTHING_RESCALED),
        origins=tuple(origin for batch in batches for origin in batch.origins),
        **fields,
    )
    _check_each_id_once(whole)
    return whole


def _check_each_id_once(batch: Batch) -> None:
    first: dict[Any, int] = {}
    for index, name in enumerate([] if batch.ids is None else batch.ids.tolist()):
        if (other := first.setdefault(name, index)) != index:
            raise twice(name, batch.place(other), *batch.origin(index))


def twice(name: Any, before: str, source: Source, row: int) -> FileError:
    """The error for an id that a row has although one before has it."""
    fix = "each row needs its own id; say which column it is (--id), or drop the second row"
    about = {"row": row, "argument": "id", "value": name, "fix": fix}
    problem = f"id {name!r} occurred before ({before})"
    return FileError(problem, path=source.path, where=f"{source.place(row)}:", **about)

"""Some rows of predictions as plain arrays, checked but for the forecasts' own numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.layout import Classes, Columns
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.numbers import LARGEST, SMALLEST, out_of_range
from pandora_regret.inputs.tables import _row_sum_tolerance
from pandora_regret.optional import import_optional

Numbers: TypeAlias = range | IntArray

NOTHING = ", column {!r} has no value: fill it in, or drop the row."
MOST_NUMBERS = 1 << 16  # of labels that are looked up in a table


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one model's predictions."""

    classes: tuple[str, ...]
    truth: IntArray  # (n,) column numbers
    columns: tuple[NDArray[Any], ...]  # K arrays (n,), all float16, float32 or float64, contiguous
    first_row: int  # the number of the first row among those of the model
    origins: tuple[tuple[Source, Numbers], ...]  # the files, and the rows' numbers in each, counted from 0
    ids: NDArray[Any] | None = None  # (n,)
    weights: FloatArray | None = None  # (n,)
    groups: NDArray[Any] | None = None  # (n,)
    costs: FloatArray | None = None  # (n, K) typical costs of each row's tests

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

    def place(self, at: int) -> str:
        """Where a row stands, in the words of an error message: a file, and a line or row of it."""
        for source, numbers in self.origins:
            if at < len(numbers):
                return source.place(int(numbers[at]))
            at -= len(numbers)
        raise IndexError(at)

    @property
    def tolerance(self) -> float:
        """How far a row of probabilities may be off 1; text may have been written by single precision."""
        return _tolerance(np.float32 if self._is_text and self.dtype == np.float64 else self.dtype)

    @property
    def _is_text(self) -> bool:
        return any(source.is_text for source, _ in self.origins)

    def as_precise_as_written(self) -> Batch:
        """Probabilities in text that add up to 1 only as single precision does, in single precision."""
        if not self._is_text or self.dtype != np.float64:
            return self
        off = np.abs(self.values.sum(axis=1) - 1).max()
        if not _tolerance(np.float64) < off <= _tolerance(np.float32):
            return self
        return replace(self, columns=tuple(column.astype(np.float32) for column in self.columns))

    def forecast(self, logits: bool, which: IntArray | None = None) -> Forecast:
        """All rows, or some, as the kernels take them; `blamed` makes their errors name the file."""
        labels = list(self.classes)
        if which is None:
            rows = range(len(self))
            return Forecast(self.values, logits, labels, self.truth, rows, self.tolerance, weights=self.weights)
        values, truth = np.stack([column[which] for column in self.columns], axis=1), self.truth[which]
        weights = None if self.weights is None else self.weights[which]
        return Forecast(values, logits, labels, truth, which, self.tolerance, weights=weights)

    def take(self, which: IntArray) -> Batch:
        """Some of the rows, in this order; where they stood is forgotten."""

        def some(array: Any) -> Any:
            return None if array is None else array[which]

        return replace(
            self,
            truth=self.truth[which],
            columns=tuple(column[which] for column in self.columns),
            ids=some(self.ids),
            weights=some(self.weights),
            groups=some(self.groups),
            costs=some(self.costs),
        )

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Errors about rows of this batch's `forecast` name file, line and, where it is one number, column."""
        try:
            yield
        except InputError as error:
            if error.argument != "y_proba" or error.row is None:
                raise
            raise self._in_file(error, error.row) from None

    def _in_file(self, error: InputError, row: int) -> InputError:
        missing = [name for name, column in zip(self.classes, self.columns, strict=True) if np.isnan(column[row])]
        if not missing:
            return error.replace(place=self.place(row))
        place = f"{self.place(row)}, class {missing[0]!r}"
        return error.replace(place=place, column=missing[0], problem="is nan")


def _tolerance(dtype: Any) -> float:
    return _row_sum_tolerance(np.dtype(dtype))


def batch_of(
    records: Records, columns: Columns, source: Source, numbers: Numbers, first_row: int, single: bool
) -> Batch:
    """Rows of a table as arrays; whatever is missing or no label is an error that says where."""
    at = _Reader(records, source, numbers)
    batch = Batch(
        columns.classes,
        at.truth(columns),
        at.table(columns.forecasts, single),
        first_row,
        ((source, numbers),),
        at.names(columns.id),
        at.weights(columns.weight),
        at.names(columns.group),
    )
    return replace(batch, costs=at.costs(columns.costs)) if columns.costs else batch


class _Reader:
    """Columns of a table, each as an array of the kind that its role needs."""

    def __init__(self, records: Records, source: Source, numbers: Numbers) -> None:
        self.records, self.source, self.numbers = records, source, numbers

    def truth(self, columns: Columns) -> IntArray:
        """The column number of each row's label."""
        classes, label = Classes(columns.classes), columns.label
        types, encoded = import_optional("pyarrow", extra="cli").types, self.records.column(label)
        self._check_nothing_missing(encoded, label)
        if types.is_integer(encoded.type):
            truth = _by_number(_array(encoded), classes)
            if truth is not None:
                return self._checked(truth, columns)
        if not types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        parts = [_by_dictionary(chunk, classes) for chunk in encoded.chunks]
        return self._checked(parts[0] if len(parts) == 1 else np.concatenate(parts), columns)

    def _checked(self, truth: IntArray, columns: Columns) -> IntArray:
        if len(truth) and truth.min() < 0:
            self._fail_label(int(np.argmin(truth)), columns)
        return truth

    def table(self, names: Sequence[str], single: bool) -> tuple[NDArray[Any], ...]:
        """Columns of numbers of one type; not copied where they lie in one piece."""
        types = {self.records.schema.field(name).type for name in names}
        dtype = np.float32 if single else common_dtype(types)
        return tuple(self._numbers(name).astype(dtype, copy=False) for name in names)

    def weights(self, name: str | None) -> FloatArray | None:
        """One weight per row, none of them negative."""
        if name is None:
            return None
        weights = self._numbers(name).astype(np.float64)
        self._check_all(~out_of_range(weights) | (weights == 0), weights, name, "0, or a positive number")
        return weights

    def costs(self, names: Sequence[str]) -> FloatArray:
        """What each row's tests cost, (n, K)."""
        costs = [self._numbers(name).astype(np.float64, copy=False) for name in names]
        for column, name in zip(costs, names, strict=True):
            self._check_all(~out_of_range(column), column, name, "a positive number")
        return np.stack(costs, axis=1)

    def names(self, name: str | None) -> NDArray[Any] | None:
        """Ids or groups: whole numbers, also where they are written as text, or text."""
        if name is None:
            return None
        arrow, column = import_optional("pyarrow", extra="cli"), self.records.column(name)
        self._check_nothing_missing(column, name)
        if arrow.types.is_integer(column.type):
            return _array(column)
        texts = texts_of(column)
        if "" in texts:
            self._fail(int(np.argmax(texts == "")), NOTHING.format(name))
        return _whole_numbers(texts)

    def _numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers, contiguous."""
        arrow, column = import_optional("pyarrow", extra="cli"), self.records.column(name)
        self._check_nothing_missing(column, name)
        if not arrow.types.is_floating(column.type):
            column = self._cast(column, name)
        array = _array(column)
        return array if array.flags.aligned else array.copy()

    def _cast(self, column: Any, name: str) -> Any:
        arrow = import_optional("pyarrow", extra="cli")
        try:
            return column.cast(arrow.float64())
        except arrow.ArrowException:
            text = next(text for text in texts_of(column) if not _is_number(text))
            at = int(np.argmax(texts_of(column) == text))
            self._fail(at, f", column {name!r} holds {text!r}: write a number.")

    def _check_nothing_missing(self, column: Any, name: str) -> None:
        empty = import_optional("pyarrow.compute", extra="cli").is_null(column) if column.null_count else None
        if empty is None:
            return
        at = empty.index(True).as_py()
        self._fail(at, NOTHING.format(name))

    def _check_all(self, good: NDArray[np.bool_], values: FloatArray, name: str, rule: str) -> None:
        if not good.all():
            at = int(np.argmin(good))
            limits = f"from {SMALLEST:g} to {LARGEST:g}"
            self._fail(at, f", column {name!r} is {values[at]:g}: it must be {rule} {limits}.")

    def _fail_label(self, at: int, columns: Columns) -> NoReturn:
        label = self.records.column(columns.label)[at].as_py()
        listed = f"{list(columns.classes[:8])}{'...' if len(columns.classes) > 8 else ''}"
        self._fail(
            at,
            f", label {label!r} in column {columns.label!r} has no forecast column: the classes are {listed}; "
            "correct the label, add the column, or say what the forecasts' names begin with (--proba-prefix).",
        )

    def _fail(self, at: int, complaint: str) -> NoReturn:
        raise InputError(f"{self.source.place(int(self.numbers[at]))}{complaint}")


def _array(column: Any) -> NDArray[Any]:
    """A column of numbers, none missing, not copied where it lies in one piece.

    Arrow's own way would import pandas wherever that is installed.
    """
    return np.from_dlpack(column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def _by_number(given: NDArray[Any], classes: Classes) -> IntArray | None:
    """Labels that are whole numbers of a narrow range, looked up in a table; -1 where there is no class."""
    lowest, highest = (int(given.min()), int(given.max())) if len(given) else (0, 0)
    if highest - lowest >= MOST_NUMBERS:
        return None
    table = _numbers_of(range(lowest, highest + 1), classes)
    if table[0] == lowest and (np.diff(table) == 1).all():  # they are column numbers already
        return given.astype(np.intp)
    return np.asarray(table[given - lowest])


def _by_dictionary(chunk: Any, classes: Classes) -> IntArray:
    """Any other labels, each different one looked up once."""
    return np.asarray(_numbers_of(chunk.dictionary.to_pylist(), classes)[np.from_dlpack(chunk.indices)])


def _numbers_of(labels: Iterable[Any], classes: Classes) -> IntArray:
    found = [classes.number_of(label) for label in labels]
    return np.array([-1 if number is None else number for number in found], dtype=np.intp)


def common_dtype(types: set[Any]) -> Any:
    """The one float type that all columns have, else double precision."""
    arrow = import_optional("pyarrow", extra="cli")
    known = {arrow.float16(): np.float16, arrow.float32(): np.float32}
    return known.get(next(iter(types)), np.float64) if len(types) == 1 else np.float64


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def texts_of(column: Any) -> NDArray[Any]:
    """A column as text, whatever its type."""
    arrow = import_optional("pyarrow", extra="cli")
    return np.array(column.cast(arrow.string()).to_pylist(), dtype=object)


def _whole_numbers(texts: NDArray[Any]) -> NDArray[Any]:
    """Text that spells whole numbers as such, value by value, so that an id is the same id in every format."""
    listed = [int(text) if _is_whole(text) else text for text in texts]
    if listed and all(isinstance(value, int) for value in listed):
        return np.array(listed, dtype=np.int64)
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and (digits == "0" or digits[0] != "0")


def concatenated(batches: Sequence[Batch]) -> Batch:
    """Batches one after the other, as one; no id may occur twice."""
    first = batches[0]

    def all_of(name: str) -> Any:
        parts = [getattr(batch, name) for batch in batches]
        return None if parts[0] is None else np.concatenate(parts)

    coarsest = min((batch.dtype for batch in batches), key=lambda dtype: dtype.itemsize)
    columns = (np.concatenate(parts) for parts in zip(*(batch.columns for batch in batches), strict=True))
    whole = replace(
        first,
        truth=all_of("truth"),
        columns=tuple(column.astype(coarsest, copy=False) for column in columns),  # how far sums may be off
        origins=tuple(origin for batch in batches for origin in batch.origins),
        ids=all_of("ids"),
        weights=all_of("weights"),
        groups=all_of("groups"),
        costs=all_of("costs"),
    )
    _check_each_id_once(whole)
    return whole


def _check_each_id_once(batch: Batch) -> None:
    first: dict[Any, int] = {}
    for at, name in enumerate([] if batch.ids is None else batch.ids.tolist()):
        if first.setdefault(name, at) != at:
            raise InputError(
                f"{batch.place(at)}: id {name!r} occurred before ({batch.place(first[name])}): "
                "each row needs its own id; say which column it is (--id), or drop the second row."
            )

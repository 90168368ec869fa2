"""Columns of Arrow tables as the arrays that their roles need; what is wrong is said with its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandora_regret.files.arrow import common_dtype, distinct, plain_array, texts_of
from pandora_regret.files.batch import Batch, RowNumbers
from pandora_regret.files.layout import Classes, Columns, some
from pandora_regret.files.roles import KEPT
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.inputs.numbers import LARGEST, SMALLEST, out_of_range

NO_VALUE = {"problem": "has no value", "fix": "fill it in, or drop the row"}
NO_LABEL = np.intp(-1)
MOST_NUMBERS = 1 << 16  # of labels that are looked up in a table


def batch_of(records: Records, columns: Columns, source: Source, numbers: RowNumbers, first_row: int) -> Batch:
    """Rows of a table as arrays; whatever is missing or no label is an error that says where."""
    reader = ColumnReader(records, source, numbers, Classes(columns.classes), columns.unlabelled)
    fields: dict[str, Any] = {
        role.field: reader.read(role.reads, columns.of(role)) for role in KEPT if columns.of(role)
    }
    if columns.votes:
        fields["truth"] = fields["votes"].argmax(axis=1)
    fields.setdefault("truth", np.full(len(records), NO_LABEL))
    forecasts = reader.table(columns.forecasts)
    return Batch(
        classes=columns.classes,
        columns=forecasts,
        first_row=first_row,
        origins=((source, numbers),),
        absent=source.lacks(numbers),
        **fields,
    )


class ColumnReader:
    """Columns of a table, each as an array of the kind that its role needs."""

    def __init__(
        self, records: Records, source: Source, numbers: RowNumbers, classes: Classes, unlabelled: bool = False
    ) -> None:
        self.records, self.source, self.numbers, self.classes = records, source, numbers, classes
        self.unlabelled = unlabelled

    def read(self, how: str, names: Sequence[str]) -> Any:
        """Columns by what their role reads: one array of a column, one of all `costs`, or `values` by name."""
        if how == "values":
            return {name: self.values(name) for name in names}
        return getattr(self, how)(names if how in ("votes", "costs") else names[0])

    def labels(self, name: str) -> IntArray:
        """The column number of each row's label; where labels may be missing, `NO_LABEL` of those that are."""
        if self.unlabelled:
            return self._labels_or_none(name)
        encoded = self.records.column(name)
        self._check_nothing_missing(encoded, name)
        truth = _by_number(plain_array(encoded), self.classes) if pa.types.is_integer(encoded.type) else None
        if truth is None:
            labels, codes = distinct(encoded)
            truth = _numbers_of(labels, self.classes)[codes]
        if len(truth) and truth.min() < 0:
            self._fail_label(int(np.argmin(truth)), name)
        return truth

    def _labels_or_none(self, name: str) -> IntArray:
        """Missing ones are null, or empty in a file of text."""
        texts = texts_of(self.records.column(name))
        known = np.array([index for index, text in enumerate(texts) if text], dtype=np.intp)
        truth = np.full(len(texts), NO_LABEL)
        truth[known] = _numbers_of(texts[known], self.classes)
        wrong = known[truth[known] < 0]
        if len(wrong):
            self._fail_label(int(wrong[0]), name)
        return truth

    def table(self, names: Sequence[str]) -> tuple[NDArray[Any], ...]:
        """Columns of numbers of one type; not copied where they lie in one piece."""
        dtype = common_dtype(self.records.column(name).type for name in names)
        return tuple(self._numbers(name).astype(dtype, copy=False) for name in names)

    def weights(self, name: str) -> FloatArray:
        """One weight per row, none of them negative."""
        weights = self._numbers(name).astype(np.float64)
        self._check_all(~out_of_range(weights) | (weights == 0), weights, name, "0, or a positive number")
        return weights

    def votes(self, names: Sequence[str]) -> FloatArray:
        """Each class's share of a row's votes, (n, K); none is negative, and every row has one."""
        votes = [self._numbers(name).astype(np.float64, copy=False) for name in names]
        for column, name in zip(votes, names, strict=True):
            self._check_all(~out_of_range(column) | (column == 0), column, name, "0, or a positive number")
        table = np.stack(votes, axis=1)
        if not (total := table.sum(axis=1, keepdims=True)).all():
            self._fail(int(np.argmin(total)), "has no votes", fix="drop the row, or count a vote")
        return np.asarray(table / total)

    def costs(self, names: Sequence[str]) -> FloatArray:
        """What each row's tests cost, (n, K)."""
        costs = [self._numbers(name).astype(np.float64, copy=False) for name in names]
        for column, name in zip(costs, names, strict=True):
            self._check_all(~out_of_range(column), column, name, "a positive number")
        return np.stack(costs, axis=1)

    def names(self, name: str) -> NDArray[Any]:
        """Ids or groups: whole numbers, also where they are written as text, or text."""
        column = self.records.column(name)
        self._check_nothing_missing(column, name)
        if pa.types.is_integer(column.type):
            return plain_array(column)
        texts = texts_of(column)
        if "" in texts:
            self._fail(int(np.argmax(texts == "")), column=name, **NO_VALUE)
        if "\0" in "".join(texts):
            index = next(index for index, text in enumerate(texts) if "\0" in text)
            about = {"column": name, "value": texts[index], "fix": "write the text without it"}
            self._fail(index, "holds a null character", **about)
        return _whole_numbers(texts)

    def values(self, name: str) -> NDArray[Any]:
        """Any text, and None where there is nothing; a number is the same text in every format."""
        column = self.records.column(name)
        texts = texts_of(column)
        if pa.types.is_floating(column.type):
            texts[texts == "nan"] = None
        return texts

    def _numbers(self, name: str) -> NDArray[Any]:
        """A column of numbers, contiguous."""
        column = self.records.column(name)
        self._check_nothing_missing(column, name)
        if not pa.types.is_floating(column.type):
            column = self._cast(column, name)
        array = plain_array(column)
        return array if array.flags.aligned else array.copy()

    def _cast(self, column: Any, name: str) -> Any:
        try:
            return column.cast(pa.float64())
        except pa.ArrowException:
            texts = texts_of(column)
            index = next((index for index, text in enumerate(texts) if not is_number(text)), 0)
            self._fail(index, **no_number(texts[index], name))

    def _check_nothing_missing(self, column: Any, name: str) -> None:
        if column.null_count:
            self._fail(pc.is_null(column).index(True).as_py(), column=name, **NO_VALUE)

    def _check_all(self, good: NDArray[np.bool_], values: FloatArray, name: str, rule: str) -> None:
        if not good.all():
            index = int(np.argmin(good))
            fix = f"it must be {rule} from {SMALLEST:g} to {LARGEST:g}"
            self._fail(index, f"is {values[index]:g}", column=name, value=float(values[index]), fix=fix)

    def _fail_label(self, index: int, name: str) -> NoReturn:
        label = self.records.column(name)[index].as_py()
        label = label if isinstance(label, (str, int, float)) else str(label)
        problem = f"holds the label {label!r}, which has no forecast column"
        fix = (
            f"the classes are {some(self.classes.names)}; correct the label, add the column, or say what the "
            "forecasts' names begin with (--proba-prefix)"
        )
        self._fail(index, problem, argument="proba_prefix", column=name, value=label, fix=fix)

    def _fail(self, index: int, problem: str, **attributes: Any) -> NoReturn:
        raise self.source.error(int(self.numbers[index]), problem, **attributes)


def _by_number(labels: NDArray[Any], classes: Classes) -> IntArray | None:
    """Labels that are whole numbers of a narrow range, looked up in a table; -1 where there is no class."""
    lowest, highest = (int(labels.min()), int(labels.max())) if len(labels) else (0, 0)
    if highest - lowest >= MOST_NUMBERS or highest > np.iinfo(np.int64).max:
        return None
    table = _numbers_of(range(lowest, highest + 1), classes)
    if table[0] == lowest and (np.diff(table) == 1).all():  # they are column numbers already
        return labels.astype(np.intp)
    return np.asarray(table[labels.astype(np.int64) - lowest])  # in int8, 100 - -100 would be -56


def _numbers_of(labels: Iterable[Any], classes: Classes) -> IntArray:
    numbers = map(classes.number_of, labels)
    return np.array([-1 if number is None else number for number in numbers], dtype=np.intp)


def is_number(text: Any) -> bool:
    """Whether Python reads it as one; an empty place is a missing value, which has a sentence of its own."""
    try:
        float(text)
    except (TypeError, ValueError):
        return text is None or not str(text).strip()
    return True


def number_hint(text: Any) -> str:
    """What to write instead of a text that is no number."""
    comma = is_number(str(text).replace(",", ".", 1))
    return "write a number with a decimal point" if comma else "write a number"


def no_number(value: Any, column: str) -> dict[str, Any]:
    """What a `FileError` says of a value that is no number."""
    return {"problem": f"holds {value!r:.80}", "column": column, "value": value, "fix": number_hint(value)}


def _whole_numbers(texts: NDArray[Any]) -> NDArray[Any]:
    """Text that spells whole numbers as such, value by value, so that an id is the same id in every format."""
    values = np.array([int(text) if _is_whole(text) else text for text in texts], dtype=object)
    are_whole = len(values) and all(isinstance(value, int) for value in values)
    return values.astype(np.int64) if are_whole else values


def _is_whole(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and (digits == "0" or digits[0] != "0")

"""Columns of Arrow tables as the plain arrays that their roles need; what is wrong is told with its place."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.types as types
from numpy.typing import NDArray

from pandora_regret.core.inputs import (
    LARGEST,
    SMALLEST,
    Fields,
    FloatArray,
    IntArray,
    Names,
    did_you_mean,
    folded,
    in_range,
    matched,
)
from pandora_regret.files.batch import PADDED, WHOLE, Batch, ids_written_otherwise, with_numbers
from pandora_regret.files.source import FileError, Kind, Problems, Records, Source, Tables

NO_VALUE = {"problem": "has no value", "fix": "fill it in, or drop the row"}
FEW_ROWS = 1 << 13
FEW_COLUMNS = 64
KINDS: dict[Kind, str] = {  # by how Arrow writes their types
    "number": "u?int|halffloat|float|double|decimal",
    "nested": "(large_|fixed_size_)?list|struct|map|.*union",
    "text": "(large_)?(string|binary)",
}
COMMA_NUMBER = re.compile(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$")
LOOKED_AT = 1000  # cells of a column, to tell what it holds
WHOLE_LABEL = re.compile(r"(-?[0-9]+)(?:\.0+)?")
MISSING_NUMBERS = frozenset(arrow_csv.ConvertOptions().null_values)  # what Arrow takes for none


def kinds_of(sample: Any) -> dict[str, Kind]:
    """What the columns of a schema, or of some rows, hold; texts such as 45,3 % are numbers.

    An index that pandas wrote along is no column of numbers that anybody meant.
    """
    schema = getattr(sample, "schema", sample)
    indices = (schema.pandas_metadata or {}).get("index_columns", ())
    aside = {"", *(index for index in indices if isinstance(index, str))}
    kinds = {field.name: "other" if field.name.strip() in aside else _kind_of(field.type) for field in schema}
    for name in (name for name, kind in kinds.items() if kind == "text" and sample is not schema):
        if kind_of_texts(texts_of(sample.column(name)[:LOOKED_AT])) == "percent":
            kinds[name] = "percent"
    return kinds


def kind_of_texts(texts: Iterable[str | None], decimal: str = ".") -> Kind:
    """What cells of text hold: percentages, numbers, or text; nothing if there is none."""
    kind: Kind = "other"
    for text in texts:
        number = number_in(text, decimal)
        if number is None:
            return "text"
        if number == number:  # else it is missing
            kind = "percent" if kind == "percent" or "%" in str(text) else "number"
    return kind


def _kind_of(arrow_type: Any) -> Kind:
    if types.is_dictionary(arrow_type):
        return _kind_of(arrow_type.value_type)
    return next((kind for kind, pattern in KINDS.items() if re.match(pattern, str(arrow_type))), "other")


@contextmanager
def explained(path: str, format_name: str, *further: type[Exception]) -> Iterator[None]:
    """A library's complaint about a file's bytes, as one sentence; `further` errors are its own."""
    try:
        yield
    except FileError:  # is a sentence already
        raise
    except (pa.ArrowException, EOFError, UnicodeError, OSError, *further) as error:
        if isinstance(error, OSError) and error.strerror:
            raise FileError(f"cannot be read: {error.strerror}", path) from None
        reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
        advice = "It may be incomplete or damaged; write it again"
        if isinstance(error, UnicodeError):
            advice = "It may have another encoding, which --encoding names, or be damaged"
        raise FileError(f"cannot be read as {format_name}: {reason}. {advice}", path) from None


def plain_array(column: Any) -> NDArray[Any]:
    """A column of numbers, none missing, not copied. Arrow's own way would import pandas if that is installed."""
    return np.from_dlpack(column)


def texts_of(column: Any) -> NDArray[Any]:
    """A column as text, whatever its type; None where there is nothing, however a format says so."""
    try:
        is_plain = types.is_string(column.type) or types.is_integer(column.type)  # what casts takes long to import
        values = (column if is_plain else column.cast(pa.string())).to_pylist()
    except pa.ArrowException:  # bytes that are no UTF-8
        values = column.to_pylist()
    missing = ("", "nan" if types.is_floating(column.type) else "")
    texts = ("" if value is None else str(value) for value in values)
    return np.array([None if text in missing or text.isspace() else text for text in texts], dtype=object)


def regrouped(blocks: Iterable[Records], rows: int) -> Tables:
    """Tables of at most so many rows; small blocks of one type are put together."""
    tables = (pa.Table.from_batches([block]) if isinstance(block, pa.RecordBatch) else block for block in blocks)
    total = 0

    def group(table: Any) -> tuple[Any, int]:
        nonlocal total
        total += len(table)
        return table.schema, total // rows

    for _, alike in groupby(tables, group):
        whole = pa.concat_tables(alike)
        yield from (whole.slice(start, rows) for start in range(0, len(whole), rows))


def valid_rows(batches: Iterable[Records], skipped: int = 0) -> Tables:
    """The rows, perhaps without the first; offsets lie within batches and text is UTF-8, which Arrow believes."""
    for batch in batches:
        batch.validate(full=True)
        kept = batch.slice(min(skipped, len(batch)))
        skipped -= len(batch) - len(kept)
        if len(kept):
            yield kept


def coded(column: Any) -> tuple[list[Any], IntArray]:
    """The distinct values of a column as text, None if one is missing; and which of them each row has.

    Few are counted here: Arrow's functions take longer to import.
    """
    if len(column) <= FEW_ROWS:
        texts = texts_of(column).tolist()
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        return list(numbers), np.array([numbers[text] for text in texts], dtype=np.intp)
    if types.is_integer(column.type) and not column.null_count:
        array = plain_array(column).astype(np.int64, copy=False)
        low = int(array.min())
        high = int(array.max())
        if high - low < FEW_ROWS:  # several times as fast as a dictionary
            return [*map(str, range(low, high + 1))], array - low if low else array
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    texts = texts_of(encoded.dictionary).tolist()
    codes = encoded.indices
    if codes.null_count:
        codes = codes.fill_null(len(texts))
        texts.append(None)
    return texts, plain_array(codes)


@dataclass(frozen=True)
class Reading:
    """How the rows of a model are read and checked."""

    classes: Names  # that labels are looked up among
    logits: bool  # whether the forecasts are logits
    unlabelled: bool  # whether labels may be missing
    ids_as_numbers: bool  # whether 007 and 7.0 are 7
    common_rows: bool | None  # whether rows that another file lacks are left out; None: nobody could say so
    truth_path: str  # of the file that holds the truth; empty where the rows hold it themselves
    problems: Problems  # who is told what is wrong


@dataclass(frozen=True)
class Rows:
    """Some rows of a model, each column as an array of the kind that its role needs."""

    reading: Reading
    source: Source
    numbers: IntArray  # in the file, counted from 0
    records: Records
    spelled: dict[str, str] = field(default_factory=dict)  # labels that are classes but for their spelling

    def column(self, name: str) -> Any:
        """A column as one Arrow array."""
        chunks = self.records.column(name).chunks
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

    def some(self, start: int, length: int = 1) -> Rows:
        """Consecutive ones of these rows."""
        numbers = self.numbers[start : start + length]
        return Rows(self.reading, self.source, numbers, self.records.slice(start, length))

    def labels(self, name: str) -> IntArray:
        """The column number of each row's label; -1 where there is none that is a class."""
        texts, codes = coded(self.column(name))
        numbers = self.class_numbers(texts)
        if np.array_equal(numbers, np.arange(len(texts))):
            return codes.astype(np.intp, copy=False)  # as they are
        truth = numbers[codes]
        if truth.min(initial=0) < 0:
            labels = np.array(texts, dtype=object)[codes]
            missing = ~labels.astype(bool)
            self.tell("missing", missing & (not self.reading.unlabelled), name, **NO_VALUE)
            self.no_such_class((truth < 0) & ~missing, name, labels)
        return truth

    def class_numbers(self, labels: Sequence[str | None], by_place: bool = True) -> IntArray:
        """As `numbers_of`; what is no class may be one of those that lists of candidates do not name."""
        classes = self.reading.classes
        other = self.source.other
        numbers = numbers_of(labels, classes, by_place)
        for place, label in enumerate(labels):
            if numbers[place] < 0 and other is not None and label is not None:
                numbers[place] = classes.index(other)
            name = classes[numbers[place]]
            if label not in (name, None) and numbers[place] >= 0 and folded(name) == folded(label):
                self.spelled[label] = name
        return numbers

    def known_apart(self, truth: Batch, ids: Any) -> Fields:
        """What a file of its own says of these rows, by the fields of `Batch`; cases that it lacks are told."""
        place = truth.rows_of(ids)
        common = self.reading.common_rows
        option = "" if common is None else " (--common-rows)"  # `score` has no such option
        advice: Fields = {"fix": f"complete it, or leave such rows out{option}", "argument": "id"}
        lacking = (place < 0) & (not common)
        if lacking.any():
            advice |= ids_written_otherwise(ids, truth.ids, self.source.path)
        self.tell("id", lacking, None, "has the id {!r}, which {} lacks", values=ids, **advice)
        cases = truth.take(place)
        fields: Fields = {"weights": cases.weights, "groups": cases.groups, "costs": cases.costs, "by": cases.by}
        numbers = np.append(self.class_numbers(truth.classes, by_place=False), -1)
        true_class = cases.truth
        fields["votes"] = None
        if cases.votes is not None:  # a class that only the forecasts have got none
            fields["votes"] = cases.votes @ (numbers[:-1, None] == np.arange(len(self.reading.classes)))
            lost = cases.votes * (numbers[:-1] < 0)
            true_class = np.where(lost.any(axis=1), lost.argmax(axis=1), true_class)
        numbers = np.where(place < 0, -1, numbers[true_class])
        unknown = (numbers < 0) & (place >= 0) & (true_class >= 0)
        self.no_such_class(unknown, None, np.array((*truth.classes, None), dtype=object)[true_class])
        return fields | {"truth": numbers, "ids": ids}

    def no_such_class(self, unknown: NDArray[np.bool_], column: str | None, labels: Any) -> None:
        """Rows have labels that are no class of the forecasts, if any have."""
        nearest = did_you_mean(str(labels[unknown.argmax()]), self.reading.classes) if unknown.any() else ""
        fix = (
            f"{nearest}; correct the label, add the column, say what the forecasts' names begin with "
            "(--proba-prefix), or take the class as probability 0 (--missing-class-zero)"
        )
        problem = "holds the label {!r}, which has no forecast column"
        self.tell("label", unknown, column, problem, fix, labels, argument="proba_prefix")

    def forecasts(self, names: Sequence[str], absent: float = 0.0) -> Any:
        """Columns of numbers, K of (n,), of the one float type that all have or else double.

        Few are not copied; many come as one table, because Python takes its time for each. A class without a
        column has an empty name, and the forecasts `absent`; beside NaN, others may be missing.
        """
        may_lack = bool(np.isnan(absent))
        if len(names) > FEW_COLUMNS and "" not in names:
            chosen = self.records.select(names)
            if all(map(types.is_floating, set(chosen.schema.types))):
                parts = [part.to_tensor(null_to_nan=True).to_numpy() for part in chosen.to_batches()]
                table = parts[0] if len(parts) == 1 else np.concatenate(parts)
                if not may_lack:
                    for k in np.flatnonzero(np.isnan(table.min(axis=0))).tolist():
                        self.tell("missing", np.isnan(table[:, k]), names[k], **NO_VALUE)
                return table.T
        columns = {name: self._numbers(name, may_lack) for name in names if name}
        dtype = np.result_type(np.float16, *columns.values())
        none = np.full(len(self.numbers), absent, dtype)
        return tuple(columns[name].astype(dtype, copy=False) if name else none for name in names)

    def weights(self, name: str, may_be_zero: bool = True) -> FloatArray:
        """Numbers that are positive and of sensible size, or perhaps 0."""
        numbers = self._numbers(name).astype(np.float64, copy=False)
        bad = ~(in_range(numbers) | np.isnan(numbers) | (may_be_zero & (numbers == 0)))
        fix = f"it must be {'0, or ' * may_be_zero}a positive number from {SMALLEST:g} to {LARGEST:g}"
        self.tell("value", bad, name, "is {:g}", fix, numbers)
        return numbers

    def votes(self, *names: str) -> FloatArray:
        """Each class's share of a row's votes, (n, K); none is negative, and every row has one."""
        table = np.stack([self.weights(name) for name in names], axis=1)
        total = table.sum(axis=1, keepdims=True)
        self.tell("value", total[:, 0] == 0, None, "has no votes", "drop the row, or count a vote")
        return table / np.where(total == 0, 1.0, total)

    def costs(self, *names: str) -> FloatArray:
        """What each row's tests cost, (n, K)."""
        return np.stack([self.weights(name, may_be_zero=False) for name in names], axis=1)

    def ids(self, name: str) -> NDArray[Any]:
        """As `groups`; perhaps as numbers, however they are written."""
        return self.groups(name, PADDED if self.reading.ids_as_numbers else WHOLE)

    def id_texts(self, name: str) -> Any:
        """Ids as an Arrow column of text, whatever the type of theirs, for whoever only tells them apart."""
        column = self.column(name)
        if self.reading.ids_as_numbers:
            ids = with_numbers(texts_of(column), PADDED).tolist()
            return pa.array([None if id_ is None else str(id_) for id_ in ids], pa.string())
        if types.is_string(column.type) or types.is_large_string(column.type):
            return column
        if types.is_integer(column.type) and len(column) > FEW_ROWS:
            return column.cast(pa.string())
        if types.is_dictionary(column.type) and types.is_string(column.type.value_type):
            return column.cast(pa.string())
        return pa.array(texts_of(column).tolist(), pa.string())

    def groups(self, name: str, numbers: re.Pattern[str] = WHOLE) -> NDArray[Any]:
        """Names: text, or whole numbers, also where these are written as text, as some formats do."""
        column = self.column(name)
        if types.is_integer(column.type) and not column.null_count:
            return plain_array(column)
        texts = texts_of(column)
        self.tell("missing", ~texts.astype(bool), name, **NO_VALUE)
        return with_numbers(texts, numbers)

    def values(self, *names: str) -> dict[str, NDArray[Any]]:
        """Any text, and None where there is nothing; a number is the same text in every format."""
        columns = {name: texts_of(self.column(name)) for name in names}
        for texts in columns.values() if self.source.decimal == "," else ():
            texts[:] = [text and COMMA_NUMBER.sub(r"\1.\2", text) for text in texts]
        return columns

    def _numbers(self, name: str, may_lack: bool = False) -> NDArray[Any]:
        """A column of numbers, contiguous; perhaps none may be missing."""
        column = self.column(name)
        is_text = np.zeros(1, bool)
        if not types.is_floating(column.type):
            column, is_text = self._cast(column, name)
        if column.null_count:
            column = column.fill_null(np.nan)
        array = np.require(plain_array(column), None, "A")
        if not may_lack and np.isnan(array.min(initial=0)):
            self.tell("missing", np.isnan(array) & ~is_text, name, **NO_VALUE)
        return array

    def _cast(self, column: Any, name: str) -> tuple[Any, NDArray[np.bool_]]:
        """Numbers that are written as text, or of another type; and which rows were told to hold none, if any."""
        decimal = self.source.decimal
        other_sign = "," if decimal == "." else "."
        with suppress(pa.ArrowException):
            if decimal == ".":
                return column.cast(pa.float64()), np.zeros(1, bool)
        texts = texts_of(column)
        read = [number_in(text, decimal) for text in texts]
        bad = np.array([number is None for number in read], bool)
        if bad.any():
            sign = f" with a decimal {'point' if decimal == '.' else 'comma'}, or say which sign it is (--decimal)"
            has_other_sign = number_in(texts[bad.argmax()], other_sign) is not None
            fix = f"write a number{sign if has_other_sign else ''}"
            self.tell("number", bad, name, "holds {!r:.80}", fix, texts)
        return pa.array(read, pa.float64()), bad

    def tell(
        self, kind: str, bad: Any, column: str | None, problem: str, fix: str, values: Any = None, **details: Any
    ) -> None:
        """The rows that have a problem; what is said is about the value of the first."""
        rows = np.flatnonzero(bad)
        if len(rows):
            value = None if values is None else values[rows[:1]].tolist()[0]
            problem = problem.format(value, self.reading.truth_path)
            details |= {"column": column, "problem": problem, "value": value, "fix": fix}
            self.reading.problems.in_rows(kind, self.source, self.numbers[rows].tolist(), **details)


def number_in(text: str | None, decimal: str) -> float | None:
    """The number, nan if it is missing as Arrow understands that, None if it is no number."""
    digits = (text or "").strip().rstrip("%")  # percentages are known by their sums
    if digits in MISSING_NUMBERS:
        return float("nan")
    try:
        return float(digits if decimal == "." else digits.replace(".", "?").replace(",", "."))
    except ValueError:
        return None


def numbers_of(labels: Collection[str | None], names: Sequence[str], by_place: bool = True) -> IntArray:
    """The columns of labels: by name, or by number where no class is named by a number; -1 where there is none.

    A name may be spelled otherwise, as `matched` understands that. Without `by_place`, numbers are names only.

    Examples
    --------
    >>> numbers_of(["dog", "1", "cow", None], ("cat", "dog")).tolist()
    [1, 1, -1, -1]
    >>> numbers_of(["1", "1.0", "0"], ("1", "2")).tolist()
    [0, 0, -1]
    """
    places = _places(tuple(names), by_place)
    spelled = {label: label if label in places else _plain(label) for label in filter(None, labels)}
    unknown = [label for label, text in spelled.items() if text not in places]
    spelled |= matched(unknown, names) if unknown else {}
    return np.array([places.get(spelled.get(label or "", ""), -1) for label in labels], np.intp)


@lru_cache(4)  # asked for by every batch
def _places(names: Names, by_place: bool) -> dict[str, int]:
    """The number of each class by what may be said of it: its number, the number that it is, its name."""
    places = {} if not by_place or any_number(names) else {str(index): index for index in range(len(names))}
    places |= {_plain(name): index for index, name in enumerate(names)}
    return places | {name: index for index, name in enumerate(names)}


def with_labels(classes: Names, labels: Iterable[str | None]) -> Names:
    """Classes, and those labels that are none of them."""
    texts = list(filter(None, labels))
    numbers = numbers_of(texts, classes).tolist()
    return (*classes, *(label for label, number in zip(texts, numbers, strict=True) if number < 0))


def any_number(names: Iterable[str]) -> bool:
    """Whether a class is named by a whole number, however it is written."""
    return any(WHOLE_LABEL.fullmatch(_plain(name)) for name in names)


def _plain(label: str) -> str:
    """1.0 as 1, and True as 1."""
    match = WHOLE_LABEL.fullmatch(label)
    return match[1] if match else {"true": "1", "false": "0"}.get(label.lower(), label)

"""What the columns of Arrow tables hold: their kinds, and their cells as texts, numbers and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.types as types
from numpy.typing import NDArray

from pandora_regret.core.inputs import Fields, IntArray
from pandora_regret.files.recognise import Kind

NumberArray: TypeAlias = NDArray[np.floating | np.integer]
TextArray: TypeAlias = NDArray[np.object_]  # str, or None where there is nothing
RecordsT = TypeVar("RecordsT", pa.RecordBatch, pa.Table)

FEW_ROWS = 1 << 13
MOST_TEXTS_KEPT = 1 << 16  # of a dictionary
ARROW_TYPES_OF_KIND: dict[Kind, str] = {  # by how Arrow writes their types
    "number": "u?int|halffloat|float|double|decimal",
    "nested": "(large_|fixed_size_)?list|struct|map|.*union",
    "text": "(large_)?(string|binary)",
}
LOOKED_AT = 1000  # cells of a column, to tell what it holds
MISSING_NUMBERS = frozenset(arrow_csv.ConvertOptions().null_values)  # what Arrow takes for none


def kinds_of_schema(schema: pa.Schema) -> dict[str, Kind]:
    """What the columns of a schema hold, as their types tell.

    An index that pandas wrote along is no column of numbers that anybody meant.
    """
    indices = (schema.pandas_metadata or {}).get("index_columns", ())
    aside = {"", *(index for index in indices if isinstance(index, str))}
    return {field.name: "other" if field.name.strip() in aside else _kind_of(field.type) for field in schema}


def kinds_of(table: pa.Table) -> dict[str, Kind]:
    """What the columns of a table hold; texts such as 45,3 % are numbers."""
    kinds = kinds_of_schema(table.schema)
    for name, kind in kinds.items():
        if kind == "text" and kind_of_texts(texts_of(table.column(name)[:LOOKED_AT])) == "percent":
            kinds[name] = "percent"
    return kinds


def kind_of_texts(texts: Iterable[str | None], decimal: str = ".") -> Kind:
    """What cells of text hold: percentages, numbers, or text; "other" if there is nothing in them."""
    kind: Kind = "other"
    for text in texts:
        number = number_in(text, decimal)
        if number is None:
            return "text"
        if number == number:  # else it is missing
            kind = "percent" if kind == "percent" or "%" in str(text) else "number"
    return kind


def _kind_of(arrow_type: pa.DataType) -> Kind:
    """What a column of this type holds."""
    if types.is_dictionary(arrow_type):
        return _kind_of(arrow_type.value_type)
    return next(
        (kind for kind, pattern in ARROW_TYPES_OF_KIND.items() if re.match(pattern, str(arrow_type))), "other"
    )


def number_in(text: str | None, decimal: str) -> float | None:
    """The number, nan if it is missing as Arrow understands that, None if it is no number."""
    digits = (text or "").strip().rstrip("%")  # percentages are known by their sums
    if digits in MISSING_NUMBERS:
        return float("nan")
    try:
        return float(digits if decimal == "." else digits.replace(".", "?").replace(",", "."))
    except ValueError:
        return None


def numbers_in(column: pa.Array) -> NumberArray:
    """A column of numbers, none missing, not copied, (n,).

    Arrow's own way would import pandas if that is installed.
    """
    return cast(NumberArray, np.from_dlpack(column))


def whole_numbers_in(column: pa.Array) -> NDArray[np.integer]:
    """A column of whole numbers, none missing, not copied, (n,)."""
    return cast(NDArray[np.integer], np.from_dlpack(column))


def texts_of(column: pa.Array | pa.ChunkedArray) -> TextArray:
    """A column as text, whatever its type, (n,); None where there is nothing, however a format says so."""
    try:
        is_plain = types.is_string(column.type) or types.is_integer(column.type)  # what casts takes long to import
        values = (column if is_plain else column.cast(pa.string())).to_pylist()
    except pa.ArrowException:  # bytes that are no UTF-8
        values = column.to_pylist()
    if types.is_string(column.type):
        return np.array([text if text and not text.isspace() else None for text in values], dtype=object)
    missing = ("", "nan" if types.is_floating(column.type) else "")
    texts = ("" if value is None else str(value) for value in values)
    return np.array([None if text in missing or text.isspace() else text for text in texts], dtype=object)


class DictionaryTexts:
    """The texts of dictionaries; those of the last one are kept, as a file's next rows mostly have the same."""

    def __init__(self) -> None:
        self._last: tuple[pa.Array, list[str | None]] | None = None

    def of(self, dictionary: pa.Array) -> list[str | None]:
        """Its values as text, as `texts_of` tells them, in a list of the caller's own."""
        last = self._last  # once, as another thread may put another one in its place
        if last is not None and last[0].equals(dictionary):
            return list(last[1])
        texts: list[str | None] = texts_of(dictionary).tolist()
        if len(texts) <= MOST_TEXTS_KEPT:
            self._last = (dictionary, texts)
        return list(texts)


_DICTIONARIES = DictionaryTexts()


def coded(column: pa.Array) -> tuple[list[str | None], IntArray]:
    """The distinct values of a column as text, None if one is missing; and which of them each row has, (n,).

    Few are counted here: Arrow's functions take longer to import.
    """
    if len(column) <= FEW_ROWS:
        texts = texts_of(column).tolist()
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        return list(numbers), np.array([numbers[text] for text in texts], dtype=np.intp)
    if types.is_integer(column.type) and not column.null_count:
        array = whole_numbers_in(column).astype(np.intp, copy=False)
        low = int(array.min())
        high = int(array.max())
        if high - low < FEW_ROWS:  # several times as fast as a dictionary
            return [*map(str, range(low, high + 1))], array - low if low else array
    encoded = column if types.is_dictionary(column.type) else column.dictionary_encode()
    texts = _DICTIONARIES.of(encoded.dictionary)
    codes = encoded.indices
    if codes.null_count:
        codes = codes.fill_null(len(texts))
        texts.append(None)
    return texts, whole_numbers_in(codes).astype(np.intp, copy=False)


def valid_rows(batches: Iterable[RecordsT], skipped: int = 0) -> Iterator[RecordsT]:
    """Batches without empty ones, and without the first rows; each is checked, as Arrow believes what files say.

    Offsets lie within batches, and text is UTF-8.
    """
    for batch in batches:
        batch.validate(full=True)
        remaining = batch.slice(min(skipped, len(batch)))
        skipped -= len(batch) - len(remaining)
        if len(remaining):
            yield remaining


def most_text_bytes(records: pa.RecordBatch) -> int:
    """What `text_bytes` cannot exceed, without a look at each row: as if all had the longest text."""
    size = 0
    for column in records.columns:
        if types.is_dictionary(column.type):
            size += len(column) * longest_in_dictionary(column)
        elif _is_text(column.type):
            size += int(_lengths_of(column).sum())
    return size


def text_bytes(records: pa.RecordBatch | pa.Table) -> int:
    """How many bytes all text in records takes where each row has its own, as in a dictionary it has not."""
    size = 0
    for column in records.columns:
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            if types.is_dictionary(chunk.type) and _is_text(chunk.type.value_type):
                lengths = _lengths_of(chunk.dictionary)
                indices = whole_numbers_in(chunk.indices.drop_null() if chunk.null_count else chunk.indices)
                size += int(lengths[indices].sum())
            elif _is_text(chunk.type):
                size += int(_lengths_of(chunk).sum())
    return size


def longest_in_dictionary(column: pa.Array) -> int:
    """The length in bytes of the longest text in a column's dictionary; 0 where it has none."""
    if not types.is_dictionary(column.type) or not _is_text(column.type.value_type):
        return 0
    return int(_lengths_of(column.dictionary).max(initial=0))


def _is_text(arrow_type: pa.DataType) -> bool:
    """Whether values are bytes, one after the other in a buffer, between offsets."""
    return str(arrow_type) in ("string", "large_string", "binary", "large_binary")


def _lengths_of(texts: pa.Array) -> NDArray[np.int64]:
    """The length of each text in bytes, (n,)."""
    if len(texts) == 0:
        return np.zeros(0, np.int64)
    _, offsets_buffer, _ = texts.buffers()
    size = np.int64 if str(texts.type).startswith("large") else np.int32
    offsets = np.frombuffer(offsets_buffer, size)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    return np.asarray(offsets[1:] - offsets[:-1])


def arrow_table(rows: Sequence[Fields], names: Iterable[str]) -> pa.Table:
    """Values by name as an Arrow table: of one type in each column, or else as text."""
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):
            columns[name] = pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.table(columns)

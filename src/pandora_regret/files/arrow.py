"""Arrow columns as plain arrays, and Arrow's complaints as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as types
from numpy.typing import NDArray

from pandora_regret.files.errors import FileError
from pandora_regret.files.layout import Kind
from pandora_regret.files.source import unreadable

TEXTS = (types.is_string, types.is_large_string, types.is_string_view, types.is_binary, types.is_large_binary)


def kinds_of(schema: Any) -> dict[str, Kind]:
    """What the columns hold; an index that pandas wrote along is no column of numbers that anybody meant."""
    indices = (schema.pandas_metadata or {}).get("index_columns", ())
    aside = {"", *(index for index in indices if isinstance(index, str))}
    return {field.name: "other" if field.name.strip() in aside else kind_of(field.type) for field in schema}


def kind_of(arrow_type: Any) -> Kind:
    """What a column of this type holds."""
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_floating(arrow_type) or types.is_integer(arrow_type) or types.is_decimal(arrow_type):
        return "number"
    if types.is_nested(arrow_type):
        return "nested"
    return "text" if any(is_kind(arrow_type) for is_kind in TEXTS) else "other"


@contextmanager
def explained(path: str, format_name: str) -> Iterator[None]:
    """A library's complaint about a file's bytes, as one sentence."""
    try:
        yield
    except OSError as error:
        if error.strerror:
            raise FileError(f"cannot be read: {error.strerror}", path=path) from None
        raise unreadable(path, format_name, error) from None
    except (pa.ArrowException, EOFError, UnicodeError) as error:
        raise unreadable(path, format_name, error) from None


def plain_array(column: Any) -> NDArray[Any]:
    """A column of numbers, none missing, not copied where it lies in one piece.

    Arrow's own way would import pandas wherever that is installed.
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return np.from_dlpack(column)


def texts_of(column: Any) -> NDArray[Any]:
    """A column as text, whatever its type; None where there is nothing."""
    try:
        listed = column.cast(pa.string()).to_pylist()
    except pa.ArrowException:  # bytes that are no UTF-8
        listed = [value if value is None else str(value) for value in column.to_pylist()]
    return np.array(listed, dtype=object)


def distinct(column: Any) -> tuple[list[Any], NDArray[np.intp]]:
    """Each value once, and then None for those that are missing; and which of them every row has."""
    encoded = (column if types.is_dictionary(column.type) else column.dictionary_encode()).unify_dictionaries()
    known = encoded.chunk(0).dictionary.to_pylist() if encoded.num_chunks else []
    codes = [plain_array(_filled(chunk.indices, len(known))) for chunk in encoded.chunks]
    return [*known, None], np.concatenate([np.empty(0, np.intp), *codes]).astype(np.intp)


def _filled(numbers: Any, value: int) -> Any:
    """Numbers with a value where they are missing; asked for none, Arrow would import pandas all the same."""
    return numbers.fill_null(value) if numbers.null_count else numbers


def common_dtype(arrow_types: Iterable[Any]) -> Any:
    """The one float type that all columns have, else double precision."""
    distinct = set(arrow_types)
    known = {pa.float16(): np.float16, pa.float32(): np.float32}
    return known.get(distinct.pop(), np.float64) if len(distinct) == 1 else np.float64


def regrouped(batches: Iterable[Any], rows: int) -> Iterator[Any]:
    """Tables of at most so many rows, and of at least half as many but for the last."""
    pending: list[Any] = []
    n_pending = 0
    for batch in batches:
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        for start in range(0, len(table), rows):
            part = table.slice(start, rows)
            if n_pending + len(part) > rows:
                yield pa.concat_tables(pending)
                pending, n_pending = [], 0
            pending.append(part)
            n_pending += len(part)
            if 2 * n_pending >= rows:
                yield pa.concat_tables(pending)
                pending, n_pending = [], 0
    if pending:
        yield pa.concat_tables(pending)

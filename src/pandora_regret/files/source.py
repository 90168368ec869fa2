"""One file of predictions, whatever its format: its columns, its rows in batches, its rows by name."""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

from pandora_regret.files.layout import Kind, Layout
from pandora_regret.inputs import InputError
from pandora_regret.optional import import_optional

Records: TypeAlias = Any  # a pyarrow.RecordBatch or Table

SAMPLE_BYTES = 1 << 20  # of a text file, from which the kinds of its columns are told


@dataclass(frozen=True)
class Source(ABC):
    """A file, or consecutive rows of one; plain data, so that it travels to other processes."""

    path: str
    first: int = 0  # the number in the file of the first row, counted from 0
    n_rows: int | None = None  # None: all there are

    is_text = False  # numbers in text have as many digits as were written, whatever their type

    @abstractmethod
    def kinds(self) -> dict[str, Kind]:
        """The columns, in file order, and what they hold."""

    @abstractmethod
    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """The rows in order, about so many at a time, these columns only; `numbers` must hold numbers."""

    @abstractmethod
    def pieces(self, n: int) -> list[Source]:
        """Consecutive parts that together are all rows: at most n of them, fewer where a file cannot be cut."""

    def in_layout(self, layout: Layout) -> Layout:
        """The layout, where the format leaves a choice."""
        return layout

    def count(self) -> int:
        """How many rows there are."""
        if self.n_rows is not None:
            return self.n_rows
        smallest = next(iter(self.kinds()))
        return sum(len(records) for records in self.read([smallest], frozenset(), 1 << 16))

    def place(self, row: int) -> str:
        """A row of the file (counted from 0) in the words of an error message."""
        return f"{self.path} row {row + 1}"

    def part(self, start: int, stop: int) -> Any:
        """Some of the rows."""
        return replace(self, first=self.first + start, n_rows=stop - start)


def even_cuts(n_rows: int, n: int) -> list[tuple[int, int]]:
    """At most n ranges of nearly equal length that cover so many rows; one at least."""
    n = max(1, min(n, n_rows))
    ends = [n_rows * at // n for at in range(n + 1)]
    return list(pairwise(ends))


def check_names(names: Sequence[str], path: str) -> None:
    """Every column has a name of its own, but that the first may have none: the row numbers that pandas writes."""
    seen: set[str] = set()
    for at, name in enumerate(names):
        if at and not name.strip():
            raise InputError(f"{path}: column {at + 1} has no name: name every column.")
        if name in seen:
            raise InputError(f"{path}: column {name!r} occurs twice: each column needs its own name.")
        seen.add(name)


def kinds_of(schema: Any) -> dict[str, Kind]:
    """What the columns hold; an index that pandas wrote along is no column of numbers that anybody meant."""
    indices = (schema.pandas_metadata or {}).get("index_columns", ())
    aside = {"", *(index for index in indices if isinstance(index, str))}
    return {field.name: "other" if field.name.strip() in aside else kind_of(field.type) for field in schema}


def kind_of(arrow_type: Any) -> Kind:
    """What a column of this type holds."""
    types = import_optional("pyarrow", extra="cli").types
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_floating(arrow_type) or types.is_integer(arrow_type) or types.is_decimal(arrow_type):
        return "number"
    texts = (types.is_string, types.is_large_string, getattr(types, "is_string_view", types.is_string))
    return "text" if any(is_kind(arrow_type) for is_kind in texts) else "other"


@contextmanager
def explained(path: str, what: str) -> Iterator[None]:
    """A library's complaint about a file's bytes, as one sentence."""
    arrow = import_optional("pyarrow", extra="cli")
    try:
        yield
    except OSError as error:
        if error.strerror:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        raise InputError(unreadable(path, what, error)) from None
    except (arrow.ArrowException, EOFError, UnicodeDecodeError) as error:
        raise InputError(unreadable(path, what, error)) from None


def unreadable(path: str, what: str, error: BaseException) -> str:
    """The sentence for bytes that are not what they should be."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
    return f"{path} cannot be read as {what}: {reason}. It may be incomplete or damaged; write it again."


def check_readable(path: str) -> None:
    """A file that is there, may be read, and holds something."""
    try:
        path.encode()
    except UnicodeEncodeError:  # libraries that read files know names in UTF-8 only
        raise InputError(f"the file name {path!r} is not UTF-8 text: rename the file.") from None
    if os.path.isdir(path):
        raise InputError(f"{path} is a directory: pass a file of predictions.")
    try:
        with open(path, "rb") as file:
            empty = not file.read(1)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read: {reason}.") from None
    if empty:
        raise InputError(f"{path} is empty (0 bytes): write the predictions again.")


def first_bytes(path: str, n: int) -> bytes:
    """The beginning of a file, decompressed where its name says that it is compressed."""
    arrow = import_optional("pyarrow", extra="cli")
    with explained(path, "a compressed file"), arrow.input_stream(path, compression="detect") as stream:
        return bytes(stream.read(n))


def lines_of(path: str) -> Iterator[bytes]:
    """A text file line by line, to find what is wrong with it."""
    arrow = import_optional("pyarrow", extra="cli")
    with arrow.input_stream(path, compression="detect") as stream:
        yield from io.BufferedReader(stream)

"""One file of predictions, whatever its format: its columns, its rows in batches, its rows by name."""

from __future__ import annotations

import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Self, TypeAlias

from pandora_regret.files.layout import Kind, Layout
from pandora_regret.files.problems import FileError
from pandora_regret.inputs import Done, InputError

Records: TypeAlias = Any  # a pyarrow.RecordBatch or Table

ROWS_AT_ONCE = 1 << 16  # of a few columns
HEAD_BYTES = 1 << 20  # of a file, from which its format and the kinds of its columns are told


@dataclass(frozen=True)
class Source(ABC):
    """A file whose head has been read, or consecutive rows of one; plain data that other processes can take."""

    path: str
    kinds: Mapping[str, Kind] = field(compare=False, repr=False)  # the columns, in file order
    first: int = 0  # the number in the file of the first row, counted from 0
    n_rows: int | None = None  # None: all there are
    done: tuple[Done, ...] = field(default=(), compare=False)  # what was recognised, where it is not plain

    names_classes = True  # whether the columns of forecasts are called by the classes
    order_only = False  # whether forecasts say in which order to look, not how likely anything is
    decimal = "."  # of numbers that are read as text
    other: str | None = None  # the class of truths that a row's own list does not name

    @abstractmethod
    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """The rows in order, about so many at a time, these columns only; `numbers` must hold numbers."""

    def pieces(self, n: int) -> list[Source]:
        """Consecutive parts that together are all rows: at most n of them, fewer where a file cannot be cut."""
        return [self.part(*cut) for cut in even_cuts(self.count(), n)]

    def in_layout(self, layout: Layout) -> Layout:
        """The layout, where the format leaves a choice."""
        return layout

    def over(self, options: tuple[str, ...]) -> Source:
        """The same rows over these options, where rows have lists of their own."""
        return self

    def count(self) -> int:
        """How many rows there are."""
        return self._count() if self.n_rows is None else self.n_rows

    def expected_rows(self) -> int:
        """About how many there are, in next to no time, for whoever watches progress."""
        return self.count()

    def _count(self) -> int:
        first_column = next(iter(self.kinds))
        return sum(len(records) for records in self.read([first_column], frozenset(), ROWS_AT_ONCE))

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """Where rows of the file (counted from 0) stand, as it follows the path in a message."""
        return {row: f" row {row + 1}" for row in rows}

    def place(self, row: int) -> str:
        """Where one row stands."""
        return self.places([row])[row]

    def error(self, row: int, problem: str, column: str | None = None, **attributes: Any) -> FileError:
        """What is wrong with a row (counted from 0), or with its value in a column."""
        where = self.place(row) + ("" if column is None else f", column {column!r}")
        return FileError(problem, path=self.path, where=where, row=row, column=column, **attributes)

    def part(self, start: int, stop: int) -> Self:
        """Some of the rows."""
        return replace(self, first=self.first + start, n_rows=stop - start)


@dataclass(frozen=True)
class TableInMemory(Source):
    """All rows of a file that had to be read whole to be understood, as an Arrow table."""

    table: Any = field(default=None, compare=False, repr=False)  # pyarrow.Table
    row_places: Sequence[str] = field(default=(), compare=False, repr=False)  # of each row: " line 3"

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """All at once; text where numbers must be is found by who reads it."""
        yield self.table.select(list(columns)).slice(self.first, self.n_rows)

    def _count(self) -> int:
        return len(self.table)

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """As the file's own format counts."""
        return {row: self.row_places[row] for row in rows}


def even_cuts(n_rows: int, n: int) -> list[tuple[int, int]]:
    """At most n ranges of nearly equal length that cover so many rows; one at least."""
    n = max(1, min(n, n_rows))
    return list(pairwise(n_rows * index // n for index in range(n + 1)))


def check_names(names: Sequence[str], path: str) -> None:
    """Every column has a name of its own, but that the first may have none: the row numbers that pandas writes."""
    for index, name in enumerate(names):
        if index and not name.strip():
            raise FileError("has no name", path=path, where=f": column {index + 1}", fix="name every column")
    if len(set(names)) < len(names):
        twice = next(name for index, name in enumerate(names) if name in names[:index])
        fix = "each column needs its own name"
        raise FileError("occurs twice", path=path, where=f": column {twice!r}", column=twice, fix=fix)


def head_of(path: str, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file that may be read and holds something; no pipe or device, which may never end."""
    try:
        path.encode()
    except UnicodeEncodeError:  # libraries that read files know names in UTF-8 only
        raise InputError(f"the file name {path!r} is not UTF-8 text", fix="rename the file") from None
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise FileError("is a directory", path=path, fix="pass a file of predictions")
        if not stat.S_ISREG(mode):
            fix = "pipe it into the command and pass -, or save it as a file"
            raise FileError("is a pipe or a device", path=path, fix=fix)
        with open(path, "rb") as file:
            head = file.read(size)
    except InputError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"cannot be read: {reason}", path=path) from None
    if not head:
        raise FileError("is empty (0 bytes)", path=path, fix="write the predictions again")
    return head


def check_readable(path: str) -> None:
    """A file that is there, may be read, and holds something."""
    head_of(path, 1)


def unreadable(path: str, format_name: str, error: BaseException, where: str = "") -> FileError:
    """The error for bytes that are not what they should be."""
    reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
    advice = "It may be incomplete or damaged; write it again"
    if isinstance(error, UnicodeError):
        advice = "It may have another encoding, which --encoding names, or be damaged"
    return FileError(f"cannot be read as {format_name}: {reason}. {advice}", path=path, where=where)

"""One file of predictions, whatever its format: what its columns are called and hold, and its rows in batches."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pandora_regret.core.inputs import Fields, InputError, Names
from pandora_regret.files.file_errors import Complaint, FileError
from pandora_regret.files.limits import Limit
from pandora_regret.files.recognise import Kind, Remarks

if TYPE_CHECKING:
    import pyarrow as pa

Records: TypeAlias = "pa.RecordBatch | pa.Table"
AnyPath: TypeAlias = str | os.PathLike[str]

ROWS_AT_ONCE = 1 << 16  # of a few columns
HEAD_BYTES = 1 << 20  # of a file, from which its format and the kinds of its columns are told

_kept_heads: dict[tuple[str, int, int], bytes] = {}  # by path, time and size: of files that somebody peeked into


@dataclass(frozen=True)
class Source:
    """A file whose head has been read, or consecutive rows of one; plain data that other processes can take."""

    path: str
    kinds: Mapping[str, Kind] = field(compare=False, repr=False)  # the columns, in file order
    first: int = 0  # the number in the file of the first row, counted from 0
    n_rows: int | None = None  # None: all there are
    remarks: Remarks = field(default=(), compare=False)  # what was recognised, where it is not plain
    layout: Fields = field(default_factory=dict, compare=False)  # what the format settles of `Layout`
    names_classes: bool = True  # whether the columns of forecasts are called by the classes
    order_only: bool = False  # whether forecasts say in which order to look, not how likely anything is
    decimal: str = "."  # of numbers that are read as text
    other: str | None = None  # the class of truths that a row's own list does not name
    named: Names | None = None  # the options that rows list, where they have lists of their own
    limit: Limit | None = field(default=None, compare=False, repr=False)  # None: it is in memory already

    @property
    def has_lists(self) -> bool:
        """Whether rows have lists of their own, as a table of all options: NaN where a row does not list one."""
        return self.named is not None

    def check_held(self, size: float) -> None:
        """Raise a FileError if so many bytes are more than may be held of the file at once."""
        if self.limit is not None:
            self.limit.check(size)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """The rows in order, about so many at a time, these columns only; `numbers` must hold numbers."""
        raise NotImplementedError

    def pieces(self) -> list[Source]:
        """Consecutive parts that together are all rows; one where a file is not quick to cut."""
        return [self]

    def count(self) -> int:
        """How many rows there are."""
        if self.n_rows is not None:
            return self.n_rows
        return sum(map(len, self.read([next(iter(self.kinds))], frozenset(), ROWS_AT_ONCE)))

    def expected_rows(self) -> int:
        """About how many there are, in next to no time, for whoever watches progress."""
        return self.count()

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """Where rows of the file (counted from 0) stand, as it follows the path in a message."""
        return {row: f" row {row + 1}" for row in rows}

    def place(self, row: int) -> str:
        """Where one row stands."""
        return self.places([row])[row]

    def error(self, row: int, complaint: Complaint, column: str | None = None) -> FileError:
        """What is wrong with a row (counted from 0), or with its value in a column."""
        where = self.place(row)
        if column is not None:
            where += f", column {column!r}"
        return FileError(path=self.path, where=where, row=row, column=column, **complaint)


@dataclass(frozen=True)
class SourceInMemory(Source):
    """Rows that had to be read whole to be understood, or a frame, as an Arrow table."""

    table: pa.Table = field(default=None, compare=False, repr=False)
    row_places: Sequence[str] = field(default=(), compare=False, repr=False)  # of each row of the file: " line 3"

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """All at once; text where numbers must be is found by who reads it."""
        yield self.table.select(list(columns))

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """Where rows stand, as the file's own format counts."""
        return {row: self.row_places[row] for row in rows} if self.row_places else super().places(rows)


def check_column_names(names: Sequence[str], path: str) -> None:
    """Raise a FileError unless every column has a name of its own.

    The first may have none: it holds the row numbers that pandas writes.
    """
    for number, name in enumerate(names[1:], 2):
        if not name.strip():
            raise FileError("has no name", path, "name every column", f": column {number}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        fix = "each column needs its own name"
        raise FileError("occurs twice", path, fix, f": column {twice!r}", column=twice)


def head_of(path: str, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file that may be read and holds something; no pipe or device, which may never end."""
    try:
        path.encode()
        status = os.stat(path)
        mode = status.st_mode
        if stat.S_ISREG(mode):
            kept = _kept_heads.pop((path, status.st_mtime_ns, status.st_size), None)
            head = kept[:size] if kept is not None else _first_bytes(path, size)
    except UnicodeEncodeError:  # libraries that read files know names in UTF-8 only
        problem = f"the file name {path!r} is not UTF-8 text"
        raise InputError(problem, argument="files", place="", value=path, fix="rename the file") from None
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", path) from None
    except ValueError as error:  # a null character in the path
        raise FileError(f"cannot be read: {error}", path) from None
    if stat.S_ISDIR(mode):
        raise FileError("is a directory", path, "pass a file of predictions")
    if not stat.S_ISREG(mode):
        fix = "pipe it into the command and pass -, or save it as a file"
        raise FileError("is a pipe or a device", path, fix)
    if not head:
        raise FileError("is empty (0 bytes)", path, "write the file again")
    return head


def _first_bytes(path: str, size: int) -> bytes:
    """The first bytes of a file."""
    with open(path, "rb") as file:
        return file.read(size)


def peek(path: str) -> bytes:
    """The first bytes of a file that is opened next, kept, so that `head_of` need not read them again."""
    head = head_of(path)
    status = os.stat(path)
    _kept_heads[(path, status.st_mtime_ns, status.st_size)] = head
    return head


def check_readable(path: str) -> None:
    """Raise an InputError unless the file is there, may be read, and holds something."""
    head_of(path, 1)

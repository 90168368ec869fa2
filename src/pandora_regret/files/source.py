"""One file of predictions, whatever its format: columns, rows in batches, errors that name the place."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias

from pandora_regret.core.inputs import Done, Fields, InputError, Names
from pandora_regret.files.limits import LEAST, TIMES_SIZE, size_in_words, suggested

Kind: TypeAlias = Literal["number", "percent", "text", "nested", "other"]
Records: TypeAlias = Any  # a pyarrow.RecordBatch or Table
Tables: TypeAlias = Iterator[Records]
AllDone: TypeAlias = tuple[Done, ...]
AnyPath: TypeAlias = str | os.PathLike[str]

ROWS_AT_ONCE = 1 << 16  # of a few columns
HEAD_BYTES = 1 << 20  # of a file, from which its format and the kinds of its columns are told
NAMED_ROWS = 3  # of each problem
NAMED_COLUMNS = 20  # of each kind of problem


class FileError(InputError):
    """What is wrong with a file.

    Parameters
    ----------
    problem
        What is wrong: the sentence that follows the place.
    path
        The file.
    fix
        What to do about it.
    where
        The place in it, as it follows the path: ``" line 3, column 'a'"``; empty for the file as a whole.

    Examples
    --------
    >>> error = FileError("holds 'x'", "p.csv", "write a number", " line 3, column 'a'", column="a")
    >>> print(error)
    p.csv line 3, column 'a' holds 'x': write a number.
    >>> error.within_file
    "line 3, column 'a' holds 'x': write a number."
    """

    def __init__(
        self,
        problem: str = "",
        path: str = "",
        fix: str | None = None,
        where: str = "",
        **attributes: Any,
    ) -> None:
        super().__init__(problem, place=f"{path}{where}", fix=fix, **attributes)
        self.path = path
        self.where = where

    def _unfilled(self) -> Self:
        """A new error about the same place of the same file."""
        error = super()._unfilled()
        error.path = self.path
        error.where = self.where
        return error

    @property
    def within_file(self) -> str:
        """The sentence for someone who knows which file it is about."""
        return self.replace(place=self.where.lstrip(" :") or None, argument=None).sentence({})


@dataclass(frozen=True)
class Limit:
    """What a file may unfold to: small files can take more memory than any machine has.

    A stream holds a batch at a time and may go on for ever; the limit is about what is held at once.
    """

    path: str
    file_bytes: int
    max_memory: int | None = None  # bytes, where somebody says how many

    @property
    def most_bytes(self) -> int:
        """So many bytes may be held of it at once."""
        if self.max_memory is not None:
            return self.max_memory
        return max(LEAST, TIMES_SIZE * self.file_bytes)

    def check(self, held: float) -> None:
        """An error if so many bytes are more than may be held."""
        if held <= self.most_bytes:
            return
        problem = (
            f"has {size_in_words(self.file_bytes)} but takes {size_in_words(held)} or more in memory, "
            f"of which {size_in_words(self.most_bytes)} may be used"
        )
        fix = f"if the file is what you expect, allow more (--max-memory {suggested(held)})"
        raise FileError(problem, self.path, fix, argument="max_memory", value=int(held))


class NoRowsError(FileError):
    """A file that has names of columns at most."""


class Problems:
    """Who is told what is wrong with a file while it is read. This one raises the first problem."""

    def in_rows(self, kind: str, source: Source, rows: Sequence[int], **details: Any) -> None:
        """Rows of a file, numbered from 0, have a problem; `details` of the error are about the first of them."""
        raise source.error(int(rows[0]), **details)

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        """A file has a problem as a whole, or several files do; `count` says how many things have it."""
        raise error

    @contextmanager
    def noting(self, kind: str = "file", paths: Names = ()) -> Iterator[None]:
        """Whatever is raised is a problem of the file, after those that were told."""
        try:
            yield
        except InputError as error:
            self.in_file(kind, error, paths=paths)


RAISED = Problems()


@dataclass
class Problem:
    """One kind of thing that is wrong, in all rows that have it."""

    kind: str
    message: str
    count: int = 1
    rows: list[int] = field(default_factory=list)  # the first few, counted from 0
    places: list[str] = field(default_factory=list)  # the same in words: "line 12"
    paths: Names = ()  # of several files that do not go together
    column: str | None = None


class Collected(Problems):
    """All problems in the order in which they are met, each kind once for each column."""

    def __init__(self) -> None:
        self.problems = list[Problem]()

    def in_rows(self, kind: str, source: Source, rows: Sequence[int], **details: Any) -> None:
        """Add rows to the problem of this kind in this column, or begin one."""
        alike = {problem.column: problem for problem in self.problems if problem.kind == kind}
        column = details.get("column")
        if column not in alike and len(alike) >= NAMED_COLUMNS:
            column = None
            details = {"problem": "further columns have the same problem"}
        if column not in alike:
            message = FileError(where="" if column is None else f"column {column!r}", **details).within_file
            alike[column] = Problem(kind, message, count=0, column=column)
            self.problems.append(alike[column])
        problem = alike[column]
        first = rows[: NAMED_ROWS - len(problem.rows)]
        places = source.places(first) if first else {}
        problem.count += len(rows)
        problem.rows += first
        problem.places += [places[row].strip() for row in first]

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        message = error.within_file if isinstance(error, FileError) and not paths else error.sentence({})
        self.problems.append(Problem(kind, message, count, paths=paths))


@dataclass(frozen=True)
class Source:
    """A file whose head has been read, or consecutive rows of one; plain data that other processes can take."""

    path: str
    kinds: Mapping[str, Kind] = field(compare=False, repr=False)  # the columns, in file order
    first: int = 0  # the number in the file of the first row, counted from 0
    n_rows: int | None = None  # None: all there are
    done: AllDone = field(default=(), compare=False)  # what was recognised, where it is not plain
    layout: Fields = field(default_factory=dict, compare=False)  # what the format settles of `Layout`
    names_classes: bool = True  # whether the columns of forecasts are called by the classes
    order_only: bool = False  # whether forecasts say in which order to look, not how likely anything is
    decimal: str = "."  # of numbers that are read as text
    other: str | None = None  # the class of truths that a row's own list does not name
    limit: Limit | None = field(default=None, compare=False, repr=False)  # None: it is in memory already

    def check_held(self, size: float) -> None:
        """An error if so many bytes are more than may be held of the file at once."""
        if self.limit is not None:
            self.limit.check(size)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
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

    def error(self, row: int, problem: str, column: str | None = None, **attributes: Any) -> FileError:
        """What is wrong with a row (counted from 0), or with its value in a column."""
        where = self.place(row) + ("" if column is None else f", column {column!r}")
        return FileError(problem, self.path, where=where, row=row, column=column, **attributes)


@dataclass(frozen=True)
class TableInMemory(Source):
    """Rows of a file that had to be read whole to be understood, as an Arrow table."""

    table: Any = field(default=None, compare=False, repr=False)  # pyarrow.Table
    row_places: Sequence[str] = field(default=(), compare=False, repr=False)  # of each row of the file: " line 3"

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
        """All at once; text where numbers must be is found by who reads it."""
        yield self.table.select(list(columns))

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """As the file's own format counts."""
        return {row: self.row_places[row] for row in rows} if self.row_places else super().places(rows)


def check_names(names: Sequence[str], path: str) -> None:
    """Every column has a name of its own, but that the first may have none: the row numbers that pandas writes."""
    if blank := next((number for number, name in enumerate(names[1:], 2) if not name.strip()), None):
        raise FileError("has no name", path, "name every column", f": column {blank}")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        fix = "each column needs its own name"
        raise FileError("occurs twice", path, fix, f": column {twice!r}", column=twice)


def head_of(path: str, size: int = HEAD_BYTES) -> bytes:
    """The first bytes of a file that may be read and holds something; no pipe or device, which may never end."""
    try:
        path.encode()
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb") as file:
                head = file.read(size)
    except UnicodeEncodeError:  # libraries that read files know names in UTF-8 only
        raise InputError(f"the file name {path!r} is not UTF-8 text", fix="rename the file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise FileError(f"cannot be read: {getattr(error, 'strerror', None) or error}", path) from None
    if stat.S_ISDIR(mode):
        raise FileError("is a directory", path, "pass a file of predictions")
    if not stat.S_ISREG(mode):
        fix = "pipe it into the command and pass -, or save it as a file"
        raise FileError("is a pipe or a device", path, fix)
    if not head:
        raise FileError("is empty (0 bytes)", path, "write the file again")
    return head


def check_readable(path: str) -> None:
    """A file that is there, may be read, and holds something."""
    head_of(path, 1)

"""Who is told what is wrong with a file while it is read: the first problem is raised, or all are collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pandora_regret.core.inputs import InputError, Names
from pandora_regret.files.file_errors import Complaint, FileError
from pandora_regret.files.source import Source

NAMED_ROWS = 3  # of each problem
NAMED_COLUMNS = 20  # of each kind of problem


class Problems:
    """Who is told what is wrong with a file while it is read. This one raises the first problem."""

    def in_rows(
        self, kind: str, source: Source, rows: Sequence[int], complaint: Complaint, column: str | None = None
    ) -> None:
        """Rows of a file, numbered from 0, have a problem, perhaps in a column; `complaint` is about the first."""
        raise source.error(int(rows[0]), complaint, column)

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        """A file has a problem as a whole, or several files do; `count` says how many things have it."""
        raise error

    def in_places(
        self, error: InputError, places: Sequence[str], count: int = 1, rows: Sequence[int] = ()
    ) -> None:
        """Places of a file of lists have a problem, `count` in all; the error is about the first of them."""
        raise error

    @contextmanager
    def noting(self, kind: str = "file", paths: Names = ()) -> Iterator[None]:
        """Whatever is raised within this is a problem of the file, after those that were told."""
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


class CollectedProblems(Problems):
    """All problems in the order in which they are met, each kind once for each column."""

    def __init__(self) -> None:
        self.problems = list[Problem]()
        self._by_fix: dict[tuple[str, str | None], Problem] = {}  # those in places, by argument and fix

    def in_rows(
        self, kind: str, source: Source, rows: Sequence[int], complaint: Complaint, column: str | None = None
    ) -> None:
        """Add rows to the problem of this kind in this column, or begin one."""
        alike = {problem.column: problem for problem in self.problems if problem.kind == kind}
        if column not in alike and len(alike) >= NAMED_COLUMNS:
            column = None
            complaint = {"problem": "further columns have the same problem"}
        if column not in alike:
            message = FileError(where="" if column is None else f"column {column!r}", **complaint).within_file
            alike[column] = Problem(kind, message, count=0, column=column)
            self.problems.append(alike[column])
        problem = alike[column]
        first = rows[: NAMED_ROWS - len(problem.rows)]
        places = source.places(first) if first else {}
        problem.count += len(rows)
        problem.rows += first
        problem.places += [places[row].strip() for row in first]

    def in_places(
        self, error: InputError, places: Sequence[str], count: int = 1, rows: Sequence[int] = ()
    ) -> None:
        """Add places to the problem of the same argument that is mended in the same way, or begin one."""
        kind = error.argument or "lines"
        problem = self._by_fix.get((kind, error.fix))
        if problem is None:
            stated = error.replace(contexts=(), row=None)
            if isinstance(error, FileError):
                stated = error.replace(place="", argument=None)
            message = stated.sentence({})
            problem = Problem(kind, message, count=0)
            self._by_fix[(kind, error.fix)] = problem
            self.problems.append(problem)
        n_more = NAMED_ROWS - len(problem.places)
        problem.count += count
        problem.places += places[:n_more]
        problem.rows += rows[:n_more]

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: Names = ()) -> None:
        """Add a problem of the file, or of several files."""
        message = error.within_file if isinstance(error, FileError) and not paths else error.sentence({})
        if all(problem.message != message for problem in self.problems):  # several steps may meet the same
            self.problems.append(Problem(kind, message, count, paths=paths))

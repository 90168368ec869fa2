"""What is wrong with files: errors that name the place, and who is told: raised at the first, or collected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pandora_regret.inputs import InputError

if TYPE_CHECKING:
    from pandora_regret.files.source import Source

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
    where
        The place in it, as it follows the path: ``" line 3, column 'a'"``; empty for the file as a whole.

    Examples
    --------
    >>> error = FileError("holds 'x'", path="p.csv", where=" line 3, column 'a'", column="a", fix="write a number")
    >>> print(error)
    p.csv line 3, column 'a' holds 'x': write a number.
    >>> error.within_file
    "line 3, column 'a' holds 'x': write a number."
    """

    def __init__(self, problem: str | None = None, *, path: str = "", where: str = "", **attributes: Any) -> None:
        super().__init__(problem, place=f"{path}{where}", **attributes)
        self.path, self.where = path, where

    @property
    def within_file(self) -> str:
        """The sentence for someone who knows which file it is about."""
        return self.replace(place=self.where.lstrip(" :") or None, argument=None).sentence({})


class Problems:
    """Who is told what is wrong with a file while it is read. This one raises the first problem."""

    def in_rows(self, kind: str, source: Source, rows: Sequence[int], **about: Any) -> None:
        """Rows of a file, numbered from 0, have a problem; what is said of it is about the first of them."""
        raise source.error(int(rows[0]), **about)

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: tuple[str, ...] = ()) -> None:
        """A file has a problem as a whole, or several files do; `count` says how many things have it."""
        raise error


RAISED = Problems()


@dataclass
class Problem:
    """One kind of thing that is wrong, in all rows that have it."""

    kind: str
    message: str
    count: int = 1
    rows: list[int] = field(default_factory=list)  # the first few, counted from 0
    places: list[str] = field(default_factory=list)  # the same in words: "line 12"
    paths: tuple[str, ...] = ()  # of several files that do not go together


class Collected(Problems):
    """All problems, each kind once for each column."""

    def __init__(self) -> None:
        self._problems: dict[tuple[str, str | None], Problem] = {}
        self._rows: list[tuple[Problem, Source, int]] = []  # the first few of each problem

    def in_rows(self, kind: str, source: Source, rows: Sequence[int], **about: Any) -> None:
        column = about.get("column")
        if (kind, column) not in self._problems:
            if sum(other == kind for other, _ in self._problems) >= NAMED_COLUMNS:
                column, about = None, {"problem": "further columns have the same problem"}
            message = FileError(where="" if column is None else f"column {column!r}", **about).within_file
            self._problems.setdefault((kind, column), Problem(kind, message, count=0))
        noted = self._problems[kind, column]
        first = [int(row) for row in rows[: NAMED_ROWS - len(noted.rows)]]
        noted.count, noted.rows = noted.count + len(rows), noted.rows + first
        self._rows += [(noted, source, row) for row in first]

    def in_file(self, kind: str, error: InputError, count: int = 1, paths: tuple[str, ...] = ()) -> None:
        alone = isinstance(error, FileError) and not paths
        message = error.within_file if alone else error.sentence({})  # type: ignore[attr-defined]
        self._problems[kind, message] = Problem(kind, message, count, paths=paths)

    def settled(self) -> list[Problem]:
        """The problems in the order in which they were met, with their places, found in one pass over a file."""
        sources = {id(source): source for _, source, _ in self._rows}
        places = {
            key: source.places({row for _, of, row in self._rows if of is source})
            for key, source in sources.items()
        }
        for problem, source, row in self._rows:
            problem.places.append(places[id(source)][row].strip())
        self._rows = []
        return list(self._problems.values())

"""What is wrong with a file, as an error that names the file and the place in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self, TypedDict

from pandora_regret.core.inputs import InputError


class Complaint(TypedDict, total=False):
    """What is wrong with a value, by the fields of the error that says so."""

    problem: str
    fix: str | None
    command_fix: str | None
    argument: str
    value: object


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
    argument, row, column, value, command_fix
        As of every `InputError`; rows are counted from 0.

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
        *,
        argument: str | None = None,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
        command_fix: str | None = None,
    ) -> None:
        super().__init__(
            problem,
            argument=argument,
            place=f"{path}{where}",
            row=row,
            column=column,
            value=value,
            fix=fix,
            command_fix=command_fix,
        )
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


class NoRowsError(FileError):
    """A file that has names of columns at most."""


@contextmanager
def explained(path: str, format_name: str, *further: type[Exception]) -> Iterator[None]:
    """Within this, a library's complaint about the bytes of a file is raised as a FileError of one sentence.

    Complaints are errors of pyarrow, of the system and of encodings, and the library's own (`further`).
    """
    from pyarrow import ArrowException

    try:
        yield
    except FileError:  # is a sentence already
        raise
    except (ArrowException, EOFError, UnicodeError, OSError, *further) as error:
        if isinstance(error, OSError) and error.strerror:
            raise FileError(f"cannot be read: {error.strerror}", path) from None
        reason = str(error).strip().split("\n")[0].rstrip(".")[:200]
        advice = "It may be incomplete or damaged; write it again"
        if isinstance(error, UnicodeError):
            advice = "It may have another encoding, which --encoding names, or be damaged"
        raise FileError(f"cannot be read as {format_name}: {reason}. {advice}", path) from None

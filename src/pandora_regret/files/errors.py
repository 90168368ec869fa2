"""Errors about files: the sentence names the file, and the place in it."""

from __future__ import annotations

from typing import Any

from pandora_regret.inputs import InputError


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
        return self.replace(place=self.where.lstrip(" :") or None, argument=None).sentence()

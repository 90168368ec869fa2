"""Errors about what was handed in: values with attributes, whose sentence is made when somebody reads it."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Self, TypedDict, Unpack

import numpy as np


class ErrorParts(TypedDict, total=False):
    """Attributes of an error; see `InputError`."""

    problem: str
    argument: str | None
    row: int | None
    column: object
    value: object
    fix: str | None
    command_fix: str | None
    place: str | None
    contexts: tuple[str, ...]


@dataclass(eq=False, repr=False)
class _ExplainedError(Exception):
    """What is wrong, where, and what to do about it.

    Parameters
    ----------
    problem
        What is wrong: a whole sentence, or what follows the place in one, "sums to 1.2"; if left out, "is 1.2".
    argument, row, column
        Where: an argument's name, a row or entry of it counted from 0, the label of a class or column.
    value
        The value that is wrong.
    fix
        What to do about it.
    command_fix
        The same for a person who typed a command and knows no arguments of functions.
    place
        Argument, row and column in words, where the usual ones do not fit.

    Examples
    --------
    >>> error = InputError(argument="sample_weight", row=3, value=-1.0, fix="it must not be negative")
    >>> str(error)
    'sample_weight row 3 is -1: it must not be negative.'
    >>> str(error.replace(place="cases.csv line 5"))
    'cases.csv line 5 is -1: it must not be negative.'
    >>> error.within("model 'forest'").sentence({"sample_weight": "--weight"})
    "model 'forest': --weight row 3 is -1: it must not be negative."
    """

    problem: str = ""
    _: KW_ONLY
    argument: str | None = None
    row: int | None = None
    column: object = None
    value: object = None
    fix: str | None = None
    command_fix: str | None = None
    place: str | None = None
    contexts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.problem:
            is_float = isinstance(self.value, (float, np.floating))
            self.problem = f"is {self.value:g}" if is_float else f"is {self.value!r:.200}"

    def replace(self, **changes: Unpack[ErrorParts]) -> Self:
        """A copy of the error with some attributes changed: a place in a file instead of a row, another fix."""
        parts: ErrorParts = {
            "problem": self.problem,
            "argument": self.argument,
            "row": self.row,
            "column": self.column,
            "value": self.value,
            "fix": self.fix,
            "command_fix": self.command_fix,
            "place": self.place,
            "contexts": self.contexts,
        }
        parts.update(changes)
        changed = self._unfilled()
        _ExplainedError.__init__(changed, **parts)
        return changed

    def _unfilled(self) -> Self:
        """A new error of this class, whose parts `replace` sets; a subclass adds what it has besides."""
        return type(self).__new__(type(self), *self.args)

    def within(self, context: str) -> Self:
        """A copy of the error that says of what it is a part: a model's name or a file stands in front of it."""
        return self.replace(contexts=(context, *self.contexts))

    def sentence(self, options: Mapping[str, str] | None = None) -> str:
        """The error in words; for a user of the command, `options` says what arguments are called there."""
        fix = self.fix if options is None or self.command_fix is None else self.command_fix
        place = self.place
        if place is None and self.argument is not None:
            place = (options or {}).get(self.argument, self.argument)
            place += "" if self.row is None else f" row {self.row}"
            if self.column is not None:
                column = f"class {self.column!r}"
                place += f" of {column}" if self.row is None else f", {column},"
        sentence = " ".join(filter(None, (place, self.problem)))
        sentence = ": ".join(filter(None, (*self.contexts, sentence, fix)))
        return sentence if sentence.endswith((".", "?")) else f"{sentence}."

    __str__ = sentence


class InputError(_ExplainedError, ValueError):
    """A value that cannot be scored; carries argument, row, column, value and fix."""


class InputTypeError(_ExplainedError, TypeError):
    """An argument of the wrong kind; carries argument, row, column, value and fix."""

"""What callers say of how a file is written: its separator, decimal sign, encoding, sheet."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from pandora_regret.core.inputs import InputError
from pandora_regret.files.limits import read_bytes

UTF_8 = "utf-8"
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
NO_LETTER = r"[^a-zA-Z0-9\"\n\r.\0\x80-\U0010ffff]"  # what can stand between values
SEPARATOR_WORDS = {word: mark for mark, word in SEPARATORS.items()} | {"\\t": "\t"}
DECIMAL_WORDS = {"point": ".", "comma": ","}


@dataclass(frozen=True)
class Dialect:
    """How a file is to be read; None: as it is recognised.

    Parameters
    ----------
    separator
        What stands between values: ``,``, ``;``, ``|`` or another character, or ``comma``, ``semicolon``, ``tab``
        or ``pipe`` in words.
    decimal
        The decimal sign of numbers in text, ``.`` or ``,``, or ``point`` or ``comma`` in words.
    encoding
        Of text, such as ``utf-16`` or ``latin-1``.
    sheet
        Of a spreadsheet: its name, or its number counted from 1; the first unless said.
    other
        The class that stands for everything that a row's list of candidates does not name.
    max_memory
        How many bytes a file may take in memory, as a number or such as ``16GB``; unless said, a hundred times its
        size, and 2 GB at least.

    Examples
    --------
    >>> dialect = Dialect(separator="semicolon", decimal="comma", encoding="Latin1")
    >>> dialect.separator_mark, dialect.decimal_mark, dialect.codec
    (';', ',', 'iso8859-1')
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    other: str | None = None
    max_memory: int | str | None = None

    def __post_init__(self) -> None:
        mark = self.separator_mark
        if mark and not re.fullmatch(NO_LETTER, mark):
            fix = "write one character, such as ; or |, or one of the words comma, semicolon, tab and pipe"
            raise InputError(argument="separator", value=self.separator, fix=fix)
        if self.decimal_mark not in (None, *DECIMAL_WORDS.values()):
            raise InputError(argument="decimal", value=self.decimal, fix="write . or , (or point or comma)")
        if mark is not None and mark == self.decimal_mark:
            problem = f"is {mark!r} and so is the decimal sign"
            raise InputError(problem, argument="separator", value=mark, fix="they must differ")
        try:
            "".encode(self.encoding or UTF_8)  # refuses names that are no encodings of text
        except (LookupError, ValueError):
            fix = "write such as utf-8, utf-16 or latin-1"
            raise InputError(argument="encoding", value=self.encoding, fix=fix) from None
        if self.max_memory is not None:
            read_bytes(self.max_memory)

    @property
    def separator_mark(self) -> str | None:
        """The character between values, where that is said."""
        return SEPARATOR_WORDS.get(self.separator or "", self.separator)

    @property
    def decimal_mark(self) -> str | None:
        """The sign before decimals, where that is said."""
        return DECIMAL_WORDS.get(self.decimal or "", self.decimal)

    @property
    def codec(self) -> str | None:
        """Python's name of the encoding, where that is said."""
        if self.encoding is None:
            return None
        return codecs.lookup(self.encoding).name.replace("utf-8-sig", UTF_8)

    @property
    def most_bytes(self) -> int | None:
        """How many bytes a file may take in memory, where that is said."""
        return None if self.max_memory is None else read_bytes(self.max_memory)


RECOGNISED = Dialect()

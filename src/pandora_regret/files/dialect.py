"""How text is written: encoding, separator and decimal sign, said by the caller or recognised."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pandora_regret.files.problems import FileError
from pandora_regret.inputs import Done, InputError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
NO_LETTER = r"[^a-zA-Z0-9\"\n\r.\0\x80-\U0010ffff]"  # what can stand between values
DECIMALS = {".": "point", ",": "comma"}
SEPARATOR_WORDS = {word: mark for mark, word in SEPARATORS.items()} | {"\\t": "\t"}
DECIMAL_WORDS = {word: mark for mark, word in DECIMALS.items()}
MARKS = {  # what a file begins with that says its encoding; longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
TITLES = {"iso8859-1": "Latin-1", "cp1252": "Windows-1252"}  # what people call encodings
LOOKED_AT = 1 << 16  # bytes from which separator and decimal sign are recognised
SEPARATOR_LINE = re.compile(rb"sep=([,;\t|])\r?\n")  # how Excel is told, above the header
UTF_8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
NUMBER = r"[+-]?\d*{}\d+(?:[eE][+-]?\d+)?"
WITH_COMMA, WITH_POINT = (re.compile(NUMBER.format(mark)) for mark in (",", r"\."))


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

    Examples
    --------
    >>> Dialect(separator="semicolon", decimal="comma", encoding="Latin1")
    Dialect(separator=';', decimal=',', encoding='iso8859-1', sheet=None, other=None)
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        separator = SEPARATOR_WORDS.get(self.separator or "", self.separator)
        decimal = DECIMAL_WORDS.get(self.decimal or "", self.decimal)
        if separator and not re.fullmatch(NO_LETTER, separator):
            fix = "write one character, such as ; or |, or one of the words comma, semicolon, tab and pipe"
            raise InputError(argument="separator", value=self.separator, fix=fix)
        if decimal not in (None, *DECIMALS):
            raise InputError(argument="decimal", value=decimal, fix="write . or , (or point or comma)")
        if separator is not None and separator == decimal:
            problem = f"is {separator!r} and so is the decimal sign"
            raise InputError(problem, argument="separator", value=separator, fix="they must differ")
        read = {"separator": separator, "decimal": decimal, "encoding": _read_encoding(self.encoding)}
        for name, value in read.items():
            object.__setattr__(self, name, value)


def _read_encoding(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        "".encode(text)  # refuses names that are no encodings of text
    except (LookupError, ValueError):
        fix = "write such as utf-8, utf-16 or latin-1"
        raise InputError(argument="encoding", value=text, fix=fix) from None
    return codecs.lookup(text).name.replace("utf-8-sig", "utf-8")


RECOGNISED = Dialect()


def recognise_encoding(beginning: bytes, path: str) -> str:
    """The encoding of text that begins like this: by its mark, else UTF-8, else Latin-1 or Windows-1252."""
    for mark, encoding in MARKS.items():
        if beginning.startswith(mark):
            return encoding
    if b"\0" in beginning[:64]:
        return _without_mark(beginning[:64], path)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # which may end within a letter
    except UnicodeDecodeError as error:
        if UTF_8_LETTER.search(beginning):
            line = beginning.count(b"\n", 0, error.start) + 1
            fix = "save the file with encoding UTF-8, or name its encoding (--encoding)"
            raise FileError(
                "is not UTF-8 text but other letters are", path=path, where=f" line {line}", fix=fix
            ) from None
        return "cp1252" if re.search(rb"[\x80-\x9f]", beginning) else "iso8859-1"
    return "utf-8"


def _without_mark(beginning: bytes, path: str) -> str:
    """UTF-16 without a byte order mark has a zero in every other byte of plain letters."""
    even, odd = beginning[::2].count(0), beginning[1::2].count(0)
    if min(even, odd) == 0 and 4 * max(even, odd) > len(beginning):
        return "utf-16-le" if odd else "utf-16-be"
    fix = "if it is text, name its encoding (--encoding); else name the file after its format"
    raise FileError("begins with null bytes, as no text does", path=path, fix=fix)


def written_otherwise(path: str, encoding: str, separator: str = "", decimal: str = ".") -> tuple[Done, ...]:
    """What is to be said of a file that is not plain text; nothing of UTF-8, the usual separator and points."""
    said = [
        f"{SEPARATORS.get(separator, repr(separator))}s between values" if separator else "",
        "decimal commas" if decimal == "," else "",
        f"the encoding {TITLES.get(encoding, encoding.upper())}" if encoding != "utf-8" else "",
    ]
    said = [each for each in said if each]
    return (Done("dialect", 1, f"{path} read with {' and '.join(said)}", path),) if said else ()


def recognise_marks(sample: bytes, said: Dialect, usual: str, path: str) -> tuple[str, str, frozenset[int]]:
    """Separator and decimal sign of whole lines of UTF-8 text, as said or as recognised; `usual` for the name.

    The columns, by number, in which numbers with a decimal comma occur come along.
    """
    hint = SEPARATOR_LINE.match(sample)
    text = _first_lines(sample[hint.end() :] if hint else sample)
    separator = said.separator or (hint[1].decode() if hint else _separator(text, usual, path))
    rows = _parsed(text, separator)[1:]
    commas, points = (_columns_with(pattern, rows) for pattern in (WITH_COMMA, WITH_POINT))
    decimal = said.decimal or (_decimal(separator, commas, points, path) if commas else ".")
    return separator, decimal, frozenset(commas if decimal == "," else ())


def _first_lines(sample: bytes) -> str:
    """As many whole lines as are looked at, three at least."""
    end = LOOKED_AT
    if len(sample) > end:
        lines = sample.split(b"\n", 3)
        end = max(sample.rfind(b"\n", 0, end) + 1, len(sample) - (len(lines[3]) if len(lines) > 3 else 0))
    return sample[:end].decode("utf-8", "replace")


def _parsed(text: str, separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:  # what is wrong is said by who reads the file
        return []


def _separator(text: str, usual: str, path: str) -> str:
    """The one that the header holds; of several, the one by which most rows have as many values as the header."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    tables = {mark: rows for mark in SEPARATORS if mark in header and (rows := _parsed(text, mark))}
    tables = {mark: rows for mark, rows in tables.items() if len(rows[0]) > 1}
    fits = {mark: sum(len(row) == len(rows[0]) for row in rows[1:]) for mark, rows in tables.items()}
    best = [mark for mark in fits if fits[mark] == max(fits.values())] or [usual]
    if len(best) > 1 and any(len(rows) > 1 for rows in tables.values()):
        problem = f"fits {' and '.join(map(repr, best))} as separators equally well"
        words = " or ".join(SEPARATORS[mark] for mark in best)
        raise FileError(problem, path=path, argument="separator", fix=f"say which (--separator {words})")
    return usual if usual in best else best[0]


def _columns_with(pattern: re.Pattern[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """The columns, by number, in which some value has this form."""
    return sorted({number for row in rows for number, value in enumerate(row) if pattern.fullmatch(value.strip())})


def _decimal(separator: str, commas: list[int], points: list[int], path: str) -> str:
    """A comma if no number has a point; where there are both, commas between values settle it."""
    if not points:
        return ","
    if separator == ",":
        return "."
    problem = (
        f"has numbers with a decimal comma (column {commas[0] + 1}) and with a point (column {points[0] + 1})"
    )
    raise FileError(problem, path=path, argument="decimal", fix="say which is meant (--decimal comma or point)")

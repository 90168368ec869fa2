"""How a file is written, recognised from its beginning; and what is said of what was recognised.

Each function that decides something returns it; who opens the file keeps the sentences in `Source.remarks`.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from pandora_regret.core.inputs import Remark, remark_on, two_readings
from pandora_regret.files.dialect import SEPARATORS, UTF_8, Dialect
from pandora_regret.files.file_errors import FileError
from pandora_regret.text import listed

Kind: TypeAlias = Literal["number", "percent", "text", "nested", "other"]  # what a column holds
Remarks: TypeAlias = tuple[Remark, ...]

NOT_UTF_8 = "is not UTF-8 text"
NAME_ENCODING = "save the file with encoding UTF-8, or name its encoding (--encoding)"
ENCODING_OF_MARK = {  # what a file begins with that says its encoding; longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
TITLES = {"iso8859-1": "Latin-1", "cp1252": "Windows-1252"}  # what people call encodings
LINES_LOOKED_AT = 1000  # to recognise separator and decimal sign
CELLS_LOOKED_AT = 1 << 13  # to recognise kinds of columns
UTF_8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")  # letters and signs in Windows-1252, controls in Latin-1
WITH_COMMA = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?\s*%?")
WITH_POINT = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*%?")
MOST_NAMED = 5  # of what was done to a file


def recognise_encoding(beginning: bytes, path: str) -> str:
    """The encoding of text that begins like this: by its mark, else UTF-8, else Latin-1 or Windows-1252."""
    for mark, encoding in ENCODING_OF_MARK.items():
        if beginning.startswith(mark):
            return encoding
    if b"\0" in beginning[:64]:
        fix = "if it is text, name its encoding (--encoding); else name the file after its format"
        raise FileError("begins with null bytes, as no text does", path, fix)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # which may end within a letter
    except UnicodeDecodeError as error:
        if UTF_8_LETTER.search(beginning):
            line = beginning.count(b"\n", 0, error.start) + 1
            raise FileError(f"{NOT_UTF_8} but other letters are", path, NAME_ENCODING, f" line {line}") from None
        return "cp1252" if ONLY_WINDOWS.search(beginning) else "iso8859-1"
    return UTF_8


def recognise_marks(sample: bytes, dialect: Dialect, usual: str, path: str) -> tuple[str, str]:
    """The separator and the decimal sign of a text, as said or as recognised.

    Parameters
    ----------
    sample
        Whole lines of UTF-8 text.
    dialect
        What callers say.
    usual
        The separator that the file's name promises.
    path
        What to call the file in an error.

    Returns
    -------
    tuple of str
        The separator is one that the header holds; of several, the one by which most rows are as long as the
        header.
    """
    n_lines = min(LINES_LOOKED_AT, 2 + CELLS_LOOKED_AT // (2 + sample.find(b"\n")))
    text = b"\n".join(sample.split(b"\n", n_lines)[:n_lines]).decode("utf-8", "replace")
    separator, rows = _recognise_separator(text, dialect, usual, path)
    return separator, _recognise_decimal(rows, separator, dialect, path)


def _recognise_separator(text: str, dialect: Dialect, usual: str, path: str) -> tuple[str, list[list[str]]]:
    """The separator of lines of text, and their values."""
    candidates = [dialect.separator_mark] if dialect.separator_mark else list(SEPARATORS)
    tables = {mark: _values(text, mark) for mark in candidates}
    best = _best_separators(tables) or [dialect.separator_mark or usual]
    has_rows = any(len(tables[mark]) > 1 for mark in best)
    if len(best) > 1 and has_rows:
        problem = f"fits {' and '.join(map(repr, best))} as separators equally well"
        fix = f"say which (--separator {' or '.join(SEPARATORS[mark] for mark in best)})"
        raise FileError(problem, path, fix, argument="separator")
    separator = usual if usual in best else best[0]
    return separator, tables[separator]


def _best_separators(tables: Mapping[str, list[list[str]]]) -> list[str]:
    """The marks that the header holds by which most rows are as long as that; `tables` are values by mark."""
    in_header = [mark for mark, rows in tables.items() if rows and len(rows[0]) > 1]
    n_fitting = {mark: _rows_like_header(tables[mark]) for mark in in_header}
    most = max(n_fitting.values(), default=0)
    return [mark for mark in in_header if n_fitting[mark] == most]


def _rows_like_header(rows: list[list[str]]) -> int:
    """How many rows below the header have as many values as that."""
    return sum(len(row) == len(rows[0]) for row in rows[1:])


def _values(text: str, separator: str) -> list[list[str]]:
    """The values of each line that is not empty; none at all where the text is malformed."""
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:  # what is wrong is said by who reads the file
        return []


def _recognise_decimal(rows: list[list[str]], separator: str, dialect: Dialect, path: str) -> str:
    """The decimal sign of the values below a header.

    Where all numbers with a sign can be read in two ways, as 1,250 can, that is an error; a point between values
    that are separated by commas stands before decimals.
    """
    if dialect.decimal_mark is not None:
        return dialect.decimal_mark
    values = [value.strip() for value in chain.from_iterable(rows[1:])]
    with_comma = [value for value in values if WITH_COMMA.fullmatch(value)]
    with_point = [value for value in values if WITH_POINT.fullmatch(value)]
    if with_point and separator == ",":
        return "."
    if with_comma and with_point:  # commas between values would settle it
        problem = f"has numbers such as {with_comma[0]} and {with_point[0]}"
        raise FileError(problem, path, "say which is meant (--decimal comma or point)", argument="decimal")
    if with_comma:
        _check_one_reading(with_comma, path)
        return ","
    if with_point and separator == ";":  # as where commas are usual before decimals
        _check_one_reading(with_point, path)
    return "."


def _check_one_reading(numbers: Sequence[str], path: str) -> None:
    """Raise a FileError with both readings if each of some numbers with one sign has two."""
    readings = [two_readings(number) for number in numbers]
    first = readings[0]
    if first is None or None in readings:
        return
    problem = f"has numbers such as {numbers[0]}, which {first.in_words}"
    fix = "say which is meant (--decimal comma or point)"
    raise FileError(problem, path, f"{fix}, or {first.fix}", argument="decimal", value=numbers[0])


def dialect_recognised(path: str, encoding: str, separator: str = "", decimal: str = ".") -> Remarks:
    """What is to be said of how a file is written: its encoding, separator ("" if it is usual) and decimal sign.

    Nothing is said of UTF-8, the usual separator and points.
    """
    words = []
    if separator:
        words.append(f"{SEPARATORS.get(separator, repr(separator))}s between values")
    if decimal == ",":
        words.append("decimal commas")
    if encoding != UTF_8:
        words.append(f"the encoding {TITLES.get(encoding, encoding.upper())}")
    return remark_on("dialect", int(bool(words)), f"{path} read with {' and '.join(words)}", path)


def names_matched(pairs: Sequence[tuple[str, str]], what: str, where: str) -> Remarks:
    """What is to be said of names that are spelled otherwise: each, and what it was taken for.

    `what` they are: "name" (of a column), "label" or "price"; `where` they stand: a file or model.
    """
    words = listed([f"{written!r} as {meant!r}" for written, meant in pairs], MOST_NAMED)
    return remark_on(f"{what}s matched", len(pairs), f"{what}s of {where} read {words}", where)

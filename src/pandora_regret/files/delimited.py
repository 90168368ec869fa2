"""CSV and TSV files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from pandora_regret.files.columns import is_number, kinds_of, no_number
from pandora_regret.files.dialect import (
    DECIMALS,
    RECOGNISED,
    SEPARATOR_LINE,
    Dialect,
    recognise_marks,
    written_otherwise,
)
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import Records, check_names
from pandora_regret.files.text import BYTE_ORDER_MARK, LONGEST_LINE, TextFile

COMMA_NUMBER = r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$"
UNCLOSED = {
    "problem": "opens a quotation mark that is never closed",
    "fix": "close it, or double it within a value",
}


@dataclass(frozen=True)
class DelimitedFile(TextFile):
    """A header and a row per line; values that hold line ends are quoted."""

    delimiter: str = ","
    decimal: str = "."
    decimals: frozenset[str] = frozenset()  # columns that hold numbers with a decimal comma
    header_lines: int = 1  # up to the end of the header: empty lines may stand before it
    broken_lines: bool = False  # whether values may hold line ends; reading them costs speed
    has_rows: bool = True

    starts_with_header = True

    @classmethod
    def open(
        cls, path: str, head: bytes, said: Dialect = RECOGNISED, usual: str = ",", location: str = ""
    ) -> Self:
        """Its head is read: how it is written, names, and from the first lines what the columns hold.

        `usual` is the separator that its name promises.
        """
        file, sample, complete = cls.begun(path, head, said.encoding, 2, location)
        separator, decimal, with_commas = recognise_marks(sample, said, usual, path)
        file = replace(file, delimiter=separator, decimal=decimal)._with_header(sample, complete)
        decimals = frozenset(name for number, name in enumerate(file.kinds) if number in with_commas)
        done = written_otherwise(path, file.encoding, separator if separator != usual else "", decimal)
        file = replace(file, decimals=decimals, done=done)
        options = arrow_csv.ReadOptions(
            column_names=list(file.kinds), skip_rows=file.header_lines, block_size=len(sample) + 1
        )
        conversion = arrow_csv.ConvertOptions(decimal_point=file.decimal)
        try:
            table = arrow_csv.read_csv(io.BytesIO(sample), options, file._parse_options(), conversion)
        except pa.ArrowException as error:
            file.explain(error, frozenset())
        return replace(file, kinds=kinds_of(table.schema))

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows, nor is the one that tells Excel the separator."""
        return super().is_row(line) and not SEPARATOR_LINE.fullmatch(line.removeprefix(BYTE_ORDER_MARK))

    def _with_header(self, sample: bytes, complete: bool) -> Self:
        """The same file with the names of its columns, nothing being known yet of what they hold."""
        lines = [(number, line) for number, line in self.numbered(io.BytesIO(sample)) if self.is_row(line)]
        if not lines:
            raise FileError("has no header", path=self.path, fix="name the columns on the first line")
        header_line, header = lines[0]
        if complete and self._is_open(lines[-1][1]):
            raise FileError(path=self.path, where=f" line {lines[-1][0]}", **UNCLOSED)
        try:
            names = next(csv.reader([header.decode("utf-8").rstrip("\r\n")], delimiter=self.delimiter), [])
        except (UnicodeError, csv.Error) as error:
            self.explain(error, frozenset())
        if len(names) == 1:
            problem = f"has a single column, {names[0][:80]!r}, if values are separated by {self.delimiter!r}"
            fix = "say what separates them (--separator)"
            raise FileError(problem, path=self.path, argument="separator", fix=fix)
        check_names(names, self.path)
        return replace(
            self,
            kinds=dict.fromkeys(names, "other"),
            longest_line=max(len(line) for _, line in lines),
            header_lines=header_line + header.count(b"\n") - header.endswith(b"\n"),
            broken_lines=any(line.count(b"\n") > 1 for _, line in lines),
            has_rows=len(lines) > 1 or not complete,
        )

    def numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Lines that end within quotes go on in the next; each is looked at once, however long a row is."""
        begun, parts, length = 0, list[bytes](), 0
        for number, line in enumerate(lines, 1):
            begun, length = (begun if parts else number), length + len(line)
            goes_on = self._is_open(b'"' + line if parts else line)  # within quotes as after an opening quote
            parts.append(line)
            if not goes_on or length > LONGEST_LINE:
                yield begun, b"".join(parts)
                parts, length = [], 0
        if parts:
            yield begun, b"".join(parts)

    def _is_open(self, line: bytes) -> bool:
        """Whether it ends within quotes."""
        return b'"' in line and _open_quote(self.delimiter).match(line) is not None

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Numbers as numbers, all else as it is written, but that decimal commas of numbers become points."""
        if not self.has_rows:
            return
        types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        skipped = self.header_lines if self.span is None else 0
        options = arrow_csv.ReadOptions(
            column_names=list(self.kinds), skip_rows=skipped, block_size=self.block_bytes
        )
        conversion = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(columns), decimal_point=self.decimal
        )
        good_rows = self.first
        try:
            with self.opened() as stream:
                counting = _CountingStream(stream)
                for records in arrow_csv.open_csv(counting, options, self._parse_options(), conversion):
                    yield self._with_points(records, numbers)
                    good_rows += len(records)
        except (pa.ArrowException, UnicodeError, OSError) as error:
            self.explain(error, numbers, good_rows)
        if good_rows - self.first != counting.lines - skipped:
            self._check_last_quote()

    def _with_points(self, records: Records, numbers: frozenset[str]) -> Records:
        """The same rows; numbers that are read as text have decimal points, as they have in every other format."""
        for name in self.decimals & set(records.schema.names) - numbers:
            texts = pc.replace_substring_regex(records.column(name), COMMA_NUMBER, r"\1.\2")
            records = records.set_column(records.schema.get_field_index(name), name, texts)
        return records

    def _check_last_quote(self) -> None:
        """Arrow takes the rest of a file for one value where a quote is opened in the last column."""
        row, line = 0, b""
        for row, _, _, line in self._rows():  # noqa: B007
            pass
        if self._is_open(line):
            raise self.error(row, **UNCLOSED)

    def _parse_options(self) -> Any:
        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self.broken_lines)

    def problem(self, text: str, row: int, numbers: frozenset[str]) -> dict[str, Any] | None:
        """A quote that is never closed, too few or too many values, or text for a number."""
        if self._is_open(text.encode()):
            return UNCLOSED
        values = next(csv.reader(text.splitlines(keepends=True), delimiter=self.delimiter), [])
        if row >= 0 and len(values) != len(self.kinds):
            fix = "quote values that contain the separator, or complete the line"
            problem = f"has {len(values)} values but the header names {len(self.kinds)} columns"
            return {"problem": problem, "value": len(values), "fix": fix}
        pairs = zip(self.kinds, values, strict=False) if row >= 0 else ()
        bad = (self._no_number(value, name) for name, value in pairs if name in numbers)
        return next(filter(None, bad), None)

    def _no_number(self, value: str, name: str) -> dict[str, Any] | None:
        """What is wrong with a value, if anything; the decimal sign may be."""
        other = {".": ",", ",": "."}[self.decimal]
        if is_number(value if self.decimal == "." else value.replace(".", "?").replace(",", ".")):
            return None
        if not is_number(value.replace(other, ".", 1)):
            return no_number(value) | {"column": name}
        words = f"write a number with a decimal {DECIMALS[self.decimal]}"
        fix = f"{words}, or say that the file has {DECIMALS[other]}s (--decimal {DECIMALS[other]})"
        return no_number(value) | {"column": name, "fix": fix}


class _CountingStream:
    """A stream of bytes, as Arrow reads it, whose ends of lines are counted along the way."""

    def __init__(self, stream: Any) -> None:
        self._stream, self._last, self._ends = stream, b"", 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        block: bytes = self._stream.read(size)
        self._ends += block.count(b"\n")
        self._last = block[-1:] or self._last
        return block

    @property
    def lines(self) -> int:
        """Read up to now; the last may have no end."""
        return self._ends + (self._last not in (b"", b"\n"))


@cache
def _open_quote(delimiter: str) -> re.Pattern[bytes]:
    """Whole fields, quoted or not, and then a quote that is not closed again."""
    mark = re.escape(delimiter)
    inside = '(?:[^"]|"")*+'
    field = f'(?:"{inside}"[^{mark}]*+|[^"{mark}][^{mark}]*+|)'
    return re.compile(f'(?:{field}{mark})*+"{inside}$'.encode())

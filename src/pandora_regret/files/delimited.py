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
import pyarrow.csv as arrow_csv

from pandora_regret.files.arrow import kinds_of, lines_of
from pandora_regret.files.errors import FileError
from pandora_regret.files.reading import is_number, no_number
from pandora_regret.files.source import Records, check_names
from pandora_regret.files.text import LONGEST_LINE, TextFile, read_sample

SEPARATORS = (",", ";", "\t", "|")
UNCLOSED = {
    "problem": "opens a quotation mark that is never closed",
    "fix": "close it, or double it within a value",
}


@dataclass(frozen=True)
class DelimitedFile(TextFile):
    """A header and a row per line; values that hold line ends are quoted."""

    delimiter: str = ","
    header_lines: int = 1  # up to the end of the header: empty lines may stand before it
    broken_lines: bool = False  # whether values may hold line ends; reading them costs speed
    has_rows: bool = True

    starts_with_header = True

    @classmethod
    def open(cls, path: str, delimiter: str = ",") -> Self:
        """Its head is read: names, and from the first lines what the columns hold."""
        sample, complete = read_sample(path)
        file = cls(path, {}, delimiter=delimiter)._with_header(sample, complete)
        options = arrow_csv.ReadOptions(
            column_names=list(file.kinds), skip_rows=file.header_lines, block_size=len(sample) + 1
        )
        try:
            table = arrow_csv.read_csv(io.BytesIO(sample), options, file._parse_options())
        except pa.ArrowException as error:
            file.explain(error, frozenset())
        return replace(file, kinds=kinds_of(table.schema))

    def _with_header(self, sample: bytes, complete: bool) -> Self:
        """The same file with the names of its columns, nothing being known yet of what they hold."""
        lines = [(number, line) for number, line in self._joined(io.BytesIO(sample)) if self.is_row(line)]
        if not lines:
            raise FileError("has no header", path=self.path, fix="name the columns on the first line")
        header_line, header = lines[0]
        if complete and self._is_open(lines[-1][1]):
            raise FileError(path=self.path, where=f" line {lines[-1][0]}", **UNCLOSED)
        try:
            names = next(csv.reader([header.decode("utf-8").rstrip("\r\n")], delimiter=self.delimiter), [])
        except (UnicodeDecodeError, csv.Error) as error:
            self.explain(error, frozenset())
        self._check_delimiter(names)
        check_names(names, self.path)
        return replace(
            self,
            kinds=dict.fromkeys(names, "other"),
            longest_line=max(len(line) for _, line in lines),
            header_lines=header_line + header.count(b"\n") - header.endswith(b"\n"),
            broken_lines=any(line.count(b"\n") > 1 for _, line in lines),
            has_rows=len(lines) > 1 or not complete,
        )

    def _check_delimiter(self, names: list[str]) -> None:
        if len(names) == 1:
            others = [mark for mark in SEPARATORS if mark != self.delimiter and mark in names[0]]
            hint = f": it looks separated by {others[0]!r}" if others else ""
            problem = f"has a single column, {names[0][:80]!r}{hint}; separate columns by {self.delimiter!r}"
            raise FileError(f"{problem} (.csv: commas, .tsv: tabs)", path=self.path)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines that end within quotes go on in the next."""
        return self._joined(lines_of(self.path))

    def _joined(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Each row's first line number, and its lines; every line is looked at once, however long a row is."""
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
        """Numbers as numbers, all else as it is written."""
        if not self.has_rows:
            return
        types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        skipped = self.header_lines if self.span is None else 0
        options = arrow_csv.ReadOptions(
            column_names=list(self.kinds), skip_rows=skipped, block_size=self.block_bytes
        )
        conversion = arrow_csv.ConvertOptions(column_types=types, include_columns=list(columns))
        good_rows = self.first
        try:
            with self.opened() as stream:
                counting = _CountingStream(stream)
                for records in arrow_csv.open_csv(counting, options, self._parse_options(), conversion):
                    yield records
                    good_rows += len(records)
        except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
            self.explain(error, numbers, good_rows)
        if good_rows - self.first != counting.lines - skipped:
            self._check_last_quote()

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
        bad = (no_number(value, name) for name, value in pairs if name in numbers and not is_number(value))
        return next(bad, None)


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

"""CSV, TSV and JSON lines: text, read a block at a time; what is wrong with it is found by reading it again."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NoReturn

from pandora_regret.files.layout import Kind
from pandora_regret.files.source import (
    SAMPLE_BYTES,
    Records,
    Source,
    check_names,
    even_cuts,
    first_bytes,
    kinds_of,
    lines_of,
    unreadable,
)
from pandora_regret.inputs import InputError
from pandora_regret.optional import import_optional

BLOCK_BYTES = 1 << 23
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
CHANGED = re.compile(r"Column\(/(.+)\) changed from (\w+) to (\w+) in row (\d+)")
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")


@dataclass(frozen=True)
class TextFile(Source):
    """Lines of text, or those between two places of the file."""

    span: tuple[int, int] | None = None  # bytes, from and up to but not with

    is_text = True
    starts_with_header = False

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip(b"\r\n"))

    def place(self, row: int) -> str:
        """The line on which a row stands."""
        row += self.starts_with_header
        for number, line in self.lines():
            row -= self.is_row(line)
            if row < 0:
                return f"{self.path} line {number}"
        return f"{self.path} row {row + 1}"

    def count(self) -> int:
        """By counting lines."""
        if self.n_rows is not None:
            return self.n_rows
        return sum(self.is_row(line) for _, line in self.lines()) - self.starts_with_header

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The file line by line, each with its number, to count them or to find what is wrong with one."""
        return enumerate(lines_of(self.path), 1)

    def pieces(self, n: int) -> list[Source]:
        """About as many rows each; a compressed file stays in one piece."""
        if self.path.endswith(COMPRESSED):
            return [self.part(0, self.count())]
        cuts = even_cuts(self.count(), n)
        starts, end = self._offsets([self.first + self.starts_with_header + low for low, _ in cuts])
        ends = [*starts[1:], end if self.span is None else self.span[1]]
        return [
            replace(self.part(*cut), span=span)
            for cut, span in zip(cuts, zip(starts, ends, strict=True), strict=True)
        ]

    def _offsets(self, rows: list[int]) -> tuple[list[int], int]:
        """Where these rows (in rising order) begin, and where the file ends."""
        offsets, offset, row, wanted = [], 0, 0, set(rows)
        for _, line in self.lines():
            if self.is_row(line):
                if row in wanted:
                    offsets.append(offset)
                row += 1
            offset += len(line)
        return offsets, offset

    def opened(self) -> Any:
        """The bytes of this piece."""
        arrow = import_optional("pyarrow", extra="cli")
        if self.span is None:
            return arrow.input_stream(self.path, compression="detect")
        return arrow.OSFile(self.path).get_stream(self.span[0], self.span[1] - self.span[0])

    def sample(self) -> bytes:
        """Whole lines from the beginning of the file."""
        content = first_bytes(self.path, SAMPLE_BYTES)
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{self.path} is UTF-16 text: save it with encoding UTF-8.")
        whole = content if len(content) < SAMPLE_BYTES else content[: content.rfind(b"\n") + 1]
        return (whole or content).removeprefix(BYTE_ORDER_MARK)

    def explain(self, error: BaseException, numbers: frozenset[str]) -> NoReturn:
        """What is wrong with the first line that is wrong."""
        for number, line in self.lines():
            where = f"{self.path} line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError(f"{where} is not UTF-8 text: save the file with encoding UTF-8.") from None
            if self.is_row(line) and (problem := self.problem(text, number, numbers)):
                raise InputError(f"{where}{problem}")
        raise InputError(unreadable(self.path, "text", error)) from None

    def problem(self, text: str, number: int, numbers: frozenset[str]) -> str | None:
        """What is wrong with a line, as the rest of a sentence."""
        raise NotImplementedError


@dataclass(frozen=True)
class DelimitedFile(TextFile):
    """CSV or TSV."""

    delimiter: str = ","

    starts_with_header = True

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines that end within quotes go on in the next."""
        begun, whole = 0, b""
        for number, line in super().lines():
            begun, whole = (begun, whole + line) if whole else (number, line)
            if not self._goes_on(whole):
                yield begun, whole
                whole = b""
        if whole:
            yield begun, whole

    def _goes_on(self, line: bytes) -> bool:
        return b'"' in line and _open_quote(self.delimiter).match(line) is not None

    def header(self) -> list[str]:
        """The names of the columns."""
        first = self.sample().split(b"\n")[self._header_lines() - 1]
        try:
            names = next(csv.reader([first.decode("utf-8")], delimiter=self.delimiter), [])
        except (UnicodeDecodeError, csv.Error) as error:
            self.explain(error, frozenset())
        self._check_delimiter(names)
        check_names(names, self.path)
        return names

    def _header_lines(self) -> int:
        """Up to the end of the header: empty lines may stand before it."""
        lines = self.sample().split(b"\n")
        return next((at for at, line in enumerate(lines, 1) if self.is_row(line)), 1)

    def _check_delimiter(self, names: list[str]) -> None:
        if len(names) == 1:
            others = [mark for mark in (",", ";", "\t", "|") if mark != self.delimiter and mark in names[0]]
            found = f": it looks separated by {others[0]!r}" if others else ""
            raise InputError(
                f"{self.path} has a single column, {names[0][:80]!r}{found}; separate columns by "
                f"{self.delimiter!r} (.csv: commas, .tsv: tabs)."
            )

    def kinds(self) -> dict[str, Kind]:
        """Told from the first lines; a column without any value there may hold anything."""
        arrow, reader = import_optional("pyarrow", extra="cli"), import_optional("pyarrow.csv", extra="cli")
        options = reader.ReadOptions(column_names=self.header(), skip_rows=self._header_lines())
        try:
            table = reader.read_csv(io.BytesIO(self.sample()), options, self._parsing())
        except arrow.ArrowException as error:
            self.explain(error, frozenset())
        return kinds_of(table.schema)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Numbers as numbers, all else as it is written."""
        arrow, reader = import_optional("pyarrow", extra="cli"), import_optional("pyarrow.csv", extra="cli")
        types = {name: arrow.float64() if name in numbers else arrow.string() for name in columns}
        conversion = reader.ConvertOptions(column_types=types, include_columns=list(columns))
        skipped = self._header_lines() if self.span is None else 0
        options = reader.ReadOptions(column_names=self.header(), skip_rows=skipped, block_size=BLOCK_BYTES)
        try:
            with self.opened() as stream:
                yield from reader.open_csv(stream, options, self._parsing(), conversion)
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            if not _is_about_nothing(error):
                self.explain(error, numbers)

    def _parsing(self) -> Any:
        """Values that hold line ends cost speed, so they are allowed only where a file begins with some."""
        broken = any(map(self._goes_on, self.sample().splitlines(keepends=True)))
        parse_options = import_optional("pyarrow.csv", extra="cli").ParseOptions
        return parse_options(delimiter=self.delimiter, newlines_in_values=broken)

    def problem(self, text: str, number: int, numbers: frozenset[str]) -> str | None:
        """A line with too few or too many values, or with text for a number."""
        names = self.header() if number > 1 else []
        values = next(csv.reader(text.splitlines(keepends=True), delimiter=self.delimiter), [])
        if names and len(values) != len(names):
            return (
                f" has {len(values)} values but the header names {len(names)} columns: "
                "quote values that contain the separator, or complete the line."
            )
        pairs = [(name, value) for name, value in zip(names, values, strict=False) if name in numbers]
        bad = next(((name, value) for name, value in pairs if not _is_number(value)), None)
        return bad and f", column {bad[0]!r} holds {bad[1]!r}: write a number."


@cache
def _open_quote(delimiter: str) -> re.Pattern[bytes]:
    """Whole fields, quoted or not, and then a quote that is not closed again."""
    mark = re.escape(delimiter)
    inside = '(?:[^"]|"")*+'
    field = f'(?:"{inside}"[^{mark}]*+|[^"{mark}][^{mark}]*+|)'
    return re.compile(f'(?:{field}{mark})*+"{inside}$'.encode())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return not text.strip()  # an empty place is a missing value, which has a sentence of its own
    return True


@dataclass(frozen=True)
class JsonLines(TextFile):
    """One JSON object a line."""

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows, nor are those of spaces."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip())

    def kinds(self) -> dict[str, Kind]:
        """Told from the first lines."""
        return kinds_of(self._schema())

    def _schema(self) -> Any:
        table = self._parsed(self.sample(), frozenset())
        if not table.schema.names:
            raise InputError(f"{self.path} has no rows: write one object per line.")
        check_names(table.schema.names, self.path)
        return table.schema

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Blocks of lines, the columns in the types that the first lines have."""
        arrow, reader = import_optional("pyarrow", extra="cli"), import_optional("pyarrow.json", extra="cli")
        types = {field.name: field.type for field in self._schema()}
        fields = [(name, arrow.float64() if name in numbers else types[name]) for name in columns]
        options = reader.ParseOptions(explicit_schema=arrow.schema(fields), unexpected_field_behavior="ignore")
        with self.opened() as stream:
            for block in _blocks(stream):
                yield self._parsed(block.removeprefix(BYTE_ORDER_MARK), numbers, options).select(list(columns))

    def _parsed(self, block: bytes, numbers: frozenset[str], options: Any = None) -> Any:
        arrow, reader = import_optional("pyarrow", extra="cli"), import_optional("pyarrow.json", extra="cli")
        reading = reader.ReadOptions(block_size=len(block) + 1)
        try:
            return reader.read_json(io.BytesIO(block), reading, options)
        except arrow.ArrowException as error:
            self.explain(error, numbers)

    def explain(self, error: BaseException, numbers: frozenset[str]) -> NoReturn:
        """A column that is now this, now that, is told by Arrow; its rows count from the block's first."""
        changed = CHANGED.search(str(error))
        if changed and changed[1] not in numbers:
            where = self.path if numbers else self.place(int(changed[4]))
            raise InputError(
                f"{where}, column {changed[1]!r} holds a {changed[3]} where other lines hold a {changed[2]}: "
                "write the same kind on every line."
            )
        super().explain(error, numbers)

    def problem(self, text: str, number: int, numbers: frozenset[str]) -> str | None:
        """A line that is no object, or with text for a number."""
        try:
            row = json.loads(text)
        except ValueError:
            return f" is not JSON ({text.strip()[:40]!r}): write one object per line."
        if not isinstance(row, dict):
            return f' holds {text.strip()[:40]!r}: write one object per line, {{"y_true": ..., ...}}.'
        kinds = (int, float, type(None))
        bad = next((name for name in numbers if not isinstance(row.get(name), kinds)), None)
        return bad and f", column {bad!r} holds {row[bad]!r}: write a number."


def _blocks(stream: Any) -> Iterator[bytes]:
    """Whole lines, a few megabytes at a time."""
    rest = b""
    while block := stream.read(BLOCK_BYTES):
        whole, newline, rest = (rest + bytes(block)).rpartition(b"\n")
        if whole.strip():
            yield whole + newline
    if rest.strip():
        yield rest


def _is_about_nothing(error: BaseException) -> bool:
    """A header without any row."""
    return "Empty CSV file" in str(error)

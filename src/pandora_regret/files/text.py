"""Text files, read a block at a time: CSV, TSV and JSON lines, in any dialect and encoding."""

import codecs
import csv
import io
import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any, ClassVar, Self

import pyarrow as pa
import pyarrow.csv as arrow_csv

from pandora_regret.core.inputs import Fields, InputError, noted
from pandora_regret.files.columns import explained, kind_of_texts, valid_rows
from pandora_regret.files.layout import SEPARATORS, Dialect
from pandora_regret.files.limits import size_in_words
from pandora_regret.files.source import (
    HEAD_BYTES,
    ROWS_AT_ONCE,
    AllDone,
    FileError,
    Kind,
    Source,
    Tables,
    check_names,
)

SAMPLE_BYTES = 1 << 20  # from which the kinds of the columns are told
LONGEST_LINE = 1 << 28
BLOCK_BYTES = 1 << 20
WIDE_BLOCK_BYTES = 1 << 24  # of lines with so many values that a block of the usual size holds few of them
BLOCK_OF_OBJECTS = 1 << 25  # bytes of JSON lines that are held as objects at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_8 = "utf-8"
NOT_UTF_8 = ("is not UTF-8 text", "save the file with encoding UTF-8, or name its encoding (--encoding)")
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
MARKS = {  # what a file begins with that says its encoding; longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
TITLES = {"iso8859-1": "Latin-1", "cp1252": "Windows-1252"}  # what people call encodings
LINES_LOOKED_AT = 1000  # to recognise separator and decimal sign
CELLS_LOOKED_AT = 1 << 13  # to recognise kinds of columns
UTF_8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
NUMBER = r"[+-]?\d*{}\d+(?:[eE][+-]?\d+)?\s*%?"
WITH_COMMA, WITH_POINT = (re.compile(NUMBER.format(mark)) for mark in (",", r"\."))
NO_ROWS: tuple[list[str], ...] = ([], ["sep=", ""])
ONE_PER_LINE = "write one object per line"
LINE_ENDS = b"\r\n"

csv.field_size_limit(LONGEST_LINE)


@dataclass(frozen=True)
class TextFile(Source):
    """Rows of text; all that is read of it is UTF-8."""

    location: str = ""  # where the bytes lie, if not at `path`, as it is called
    compression: str | None = None
    encoding: str = UTF_8  # of the file
    content: bytes | None = field(default=None, compare=False, repr=False)  # all of a small file

    header_rows: ClassVar[int] = 0

    @classmethod
    def begun(cls, path: str, head: bytes, dialect: Dialect, location: str) -> tuple[Self, bytes, bool]:
        """The file as far as its encoding tells, said or recognised.

        And whole lines from the beginning, a header and a row at least, and whether they are all there are.
        """
        content = head if len(head) < HEAD_BYTES else None
        codec = next((COMPRESSED[mark] for mark in COMPRESSED if head.startswith(mark)), None)
        file = cls(path, {}, location=location, compression=codec, content=content)
        with explained(path, "text"):
            with file.stream() as stream:
                encoding = dialect.encoding or recognise_encoding(stream.read(SAMPLE_BYTES), path)
            file = replace(file, encoding=encoding)
            with file.lines() as lines:
                sample = lines.read(SAMPLE_BYTES) + lines.readline(LONGEST_LINE) + lines.readline(LONGEST_LINE)
                complete = not lines.peek(1)
        return file, sample.removeprefix(BYTE_ORDER_MARK), complete

    def stream(self, raw: Any = None) -> Any:
        """The whole file, decompressed and in UTF-8."""
        source = raw or (self.location if self.content is None else pa.BufferReader(self.content))
        stream = pa.input_stream(source, compression=self.compression)
        return stream if self.encoding == UTF_8 else pa.transcoding_input_stream(stream, self.encoding, UTF_8)

    def lines(self) -> io.BufferedReader:
        """The same, line by line."""
        return io.BufferedReader(self.stream(), SAMPLE_BYTES)

    def expected_rows(self) -> int:
        """By the size of the file: as if all rows were like the first, and all compressed as well."""
        with (
            io.BytesIO(self.content) if self.content else open(self.location, "rb") as raw,
            self.stream(raw) as text,
        ):
            lines = int(text.read(SAMPLE_BYTES).count(b"\n"))
            bytes_read = raw.tell()
            size = raw.seek(0, os.SEEK_END)
            return round(lines * size / bytes_read) - self.header_rows

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, Any]]:
        """The rows of lines: number of the first line, and content; `whole`: there are no lines after these."""
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[int, tuple[int, Any]]]:
        """The same of the file, each with the number of the row before it; the header's is -1."""
        with explained(self.path, "text"), self.lines() as lines:
            yield from enumerate(self.records(self._whole_lines(lines)), -self.header_rows)

    def _whole_lines(self, lines: io.BufferedReader) -> Iterator[bytes]:
        """Line by line; one that is too long to be held is an error."""
        for number in count(1):
            line = lines.readline(LONGEST_LINE)
            if not line:
                return
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                problem = f"has more than {size_in_words(LONGEST_LINE)}"
                raise FileError(problem, self.path, "end lines with \\n", f" line {number}")
            yield line

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """The lines on which rows stand, found in one pass."""
        wanted = set(rows)
        lines = ((row, f" line {number}") for row, (number, _) in self.rows() if row in wanted)
        return super().places(wanted) | dict(islice(lines, len(wanted)))


@dataclass(frozen=True)
class DelimitedFile(TextFile):
    """A header and a row per line; values that hold line ends are quoted."""

    delimiter: str = ","
    header_lines: int = 1  # up to the end of the header: empty lines may stand before it
    longest_line: int = 0  # of the first ones, in bytes

    header_rows: ClassVar[int] = 1

    @classmethod
    def open(cls, path: str, head: bytes, dialect: Dialect, usual: str, location: str) -> Self:
        """Its head is read: how it is written, names, and from the first lines what the columns hold.

        `usual` is the separator that its name promises.
        """
        file, sample, complete = cls.begun(path, head, dialect, location)
        if not complete and not sample.lstrip(LINE_ENDS).partition(b"\n")[2].strip(LINE_ENDS):
            problem = f"has nothing but empty lines for {size_in_words(SAMPLE_BYTES)}, or more"
            raise FileError(problem, path, "delete the empty lines")
        separator, decimal = recognise_marks(sample, dialect, usual, path)
        file = replace(file, delimiter=separator, decimal=decimal)
        lines = file.records(io.BytesIO(sample), complete)
        line, names = next(lines, (1, []))
        rows = [values for _, values in islice(lines, 1 + CELLS_LOOKED_AT // (8 * max(1, len(names))))]
        if not names:
            raise FileError("has no header", path, "name the columns on the first line")
        if len(names) == 1:
            problem = f"has a single column, {names[0][:80]!r}, if values are separated by {separator!r}"
            raise FileError(problem, path, "say what separates them (--separator)", argument="separator")
        check_names(names, path)
        kinds: dict[str, Kind] = dict.fromkeys(names, "other")
        for name, cells in zip(names, zip(*rows, strict=False), strict=False):
            if name.strip():  # else it holds the row numbers that pandas writes
                kinds[name] = kind_of_texts(cells, decimal)
        return replace(
            file,
            kinds=kinds,
            header_lines=line + "".join(names).count("\n"),
            longest_line=max(map(len, sample.split(b"\n"))),
            n_rows=None if rows or not complete else 0,
            done=written_otherwise(path, file.encoding, separator if separator != usual else "", decimal),
        )

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, Any]]:
        """Values; empty lines are no rows, nor is the one that tells Excel the separator."""
        reader = csv.reader(self._decoded(lines), delimiter=self.delimiter, strict=True)
        number = 1
        try:
            for values in reader:
                if values not in NO_ROWS:
                    yield number, values
                number = reader.line_num + 1
        except csv.Error as error:
            if "unexpected end" not in str(error):
                problem = f"cannot be read ({error})"
                fix = "double quotation marks within values; end lines with \\n"
            elif whole:
                problem = "opens a quotation mark that is never closed"
                fix = "close it, or double it within a value"
            else:  # further lines close it
                return
            raise FileError(problem, self.path, fix, f" line {number}") from None

    def _decoded(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Lines as text."""
        for number, line in enumerate(lines, 1):
            try:
                yield line.removeprefix(BYTE_ORDER_MARK).decode()
            except UnicodeError:
                raise FileError(NOT_UTF_8[0], self.path, NOT_UTF_8[1], f" line {number}") from None

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int, skipped: int = 0) -> Tables:
        """Numbers as numbers, all else as it is written.

        From the first block on in which some are no numbers, they come as text: whoever reads it says where.
        """
        with explained(self.path, "text"):
            try:
                for records in valid_rows(self._parsed(columns, numbers, rows), skipped):
                    yield records
                    skipped += len(records)
            except (pa.ArrowException, UnicodeError, OSError):
                self._check_lines()
                if not numbers:
                    raise
                yield from self.read(columns, frozenset(), rows, skipped)

    def _parsed(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
        if self.n_rows == 0:
            return
        names = list(self.kinds)
        block_bytes = min(BLOCK_BYTES, rows * self.longest_line)
        types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        types.setdefault(names[-1], pa.string())
        options: Any = (
            arrow_csv.ReadOptions(
                column_names=names,
                block_size=max(block_bytes, 4 * self.longest_line, min(64 * self.longest_line, WIDE_BLOCK_BYTES)),
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(column_types=types, include_columns=list(types), decimal_point=self.decimal),
        )
        tail = [""]
        with self.stream() as stream:  # Arrow's own: its threads read ahead, also when Python has ended
            skip(stream, self._first_row())
            for records in arrow_csv.open_csv(stream, *options):
                yield records.select(list(columns))
                tail = records.column(names[-1])[-1:].to_pylist()
        if any("\n" in str(value) for value in tail):
            deque(self.rows(), maxlen=0)  # Arrow takes all after an open quote for one value, the last

    def _first_row(self) -> int:
        """How many bytes stand before the first row: a header, and empty lines.

        Arrow's reader calls itself for every block in which it finds no first row yet, so that some ten thousand
        blocks of empty lines overflow its stack: it never sees those.
        """
        with self.lines() as lines:
            size = sum(len(lines.readline()) for _ in range(self.header_lines))
            while block := lines.read(BLOCK_BYTES):
                rest = block.lstrip(LINE_ENDS)
                size += len(block) - len(rest)
                if rest:
                    break
        return size

    def _check_lines(self) -> None:
        """No line is wrong in itself."""
        for row, (number, values) in self.rows():
            if len(values) != len(self.kinds):
                problem = f"has {len(values)} values but the header names {len(self.kinds)} columns"
                fix = "quote values that contain the separator, or complete the line"
                raise FileError(problem, self.path, fix, f" line {number}", row=row, value=len(values))


@dataclass(frozen=True)
class JsonLines(TextFile):
    """One JSON object per line; a column is what its values are, or text where they are now this, now that."""

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, Any]]:
        """Lines; empty ones are no rows, nor are those of spaces."""
        for number, line in enumerate(lines, 1):
            if content := line.removeprefix(BYTE_ORDER_MARK).strip():
                yield number, content

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
        """Text where numbers must be is found by who reads it."""
        for lines in self._blocks(min(rows, ROWS_AT_ONCE)):
            yield arrow_table([values for _, values in self.objects(lines)], columns)

    def _blocks(self, rows: int) -> Iterator[list[tuple[int, bytes]]]:
        """Numbered lines, so many at a time, or fewer where these are long."""
        block: list[tuple[int, bytes]] = []
        size = 0
        for _, (number, line) in self.rows():
            block.append((number, line))
            size += len(line)
            if len(block) == rows or size > BLOCK_OF_OBJECTS:
                yield block
                block = []
                size = 0
        if block:
            yield block

    def objects(self, records: Iterable[tuple[int, bytes]], each_once: bool = False) -> Iterator[tuple[int, Any]]:
        """Rows with the numbers of their lines as objects, which perhaps name nothing twice."""
        from msgspec.json import decode

        for number, line in records:
            values = None
            problem = "is no JSON object"
            fix = ONE_PER_LINE
            try:
                values = json.loads(line, object_pairs_hook=_each_once) if each_once else decode(line)
            except InputError as error:
                problem = error.problem
                fix = "name each once"
            except UnicodeDecodeError:
                problem, fix = NOT_UTF_8
            except (ValueError, RecursionError):
                problem = f"is no JSON object ({line.decode('utf-8', 'replace')[:40]!r})"
            if not isinstance(values, dict):
                raise FileError(problem, self.path, fix, f" line {number}")
            yield number, values


def _each_once(pairs: list[tuple[str, Any]]) -> Fields:
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"names {max(names, key=names.count)!r:.80} twice")
    return dict(pairs)


def arrow_table(rows: Sequence[Fields], names: Iterable[str]) -> Any:
    """Values by name as an Arrow table: of one type in each column, or else as text."""
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):
            columns[name] = pa.array([None if value is None else str(value) for value in values], pa.string())
    return pa.table(columns)


def skip(stream: Any, size: int) -> None:
    """Read on by so many bytes, of which no more than a block is held."""
    while size > 0:
        block = stream.read(min(size, BLOCK_BYTES))
        if not block:
            return
        size -= len(block)


def recognise_encoding(beginning: bytes, path: str) -> str:
    """The encoding of text that begins like this: by its mark, else UTF-8, else Latin-1 or Windows-1252."""
    if marked := next((MARKS[mark] for mark in MARKS if beginning.startswith(mark)), None):
        return marked
    if b"\0" in beginning[:64]:
        fix = "if it is text, name its encoding (--encoding); else name the file after its format"
        raise FileError("begins with null bytes, as no text does", path, fix)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # which may end within a letter
    except UnicodeDecodeError as error:
        if UTF_8_LETTER.search(beginning):
            line = beginning.count(b"\n", 0, error.start) + 1
            problem = f"{NOT_UTF_8[0]} but other letters are"
            raise FileError(problem, path, NOT_UTF_8[1], f" line {line}") from None
        return "cp1252" if re.search(rb"[\x80-\x9f]", beginning) else "iso8859-1"
    return UTF_8


def written_otherwise(path: str, encoding: str, separator: str = "", decimal: str = ".") -> AllDone:
    """What is to be said of a file that is not plain text; nothing of UTF-8, the usual separator and points."""
    words = []
    if separator:
        words.append(f"{SEPARATORS.get(separator, repr(separator))}s between values")
    if decimal == ",":
        words.append("decimal commas")
    if encoding != UTF_8:
        words.append(f"the encoding {TITLES.get(encoding, encoding.upper())}")
    return noted("dialect", int(bool(words)), f"{path} read with {' and '.join(words)}", path)


def recognise_marks(sample: bytes, dialect: Dialect, usual: str, path: str) -> tuple[str, str]:
    """Separator and decimal sign of whole lines of UTF-8 text, as said or as recognised; `usual` for the name.

    The separator is one that the header holds; of several, the one by which most rows are as long as the header.
    """
    n_lines = min(LINES_LOOKED_AT, 2 + CELLS_LOOKED_AT // (2 + sample.find(b"\n")))
    text = b"\n".join(sample.split(b"\n", n_lines)[:n_lines]).decode("utf-8", "replace")
    separator, rows = recognise_separator(text, dialect, usual, path)
    return separator, recognise_decimal(rows, separator, dialect, path)


def recognise_separator(text: str, dialect: Dialect, usual: str, path: str) -> tuple[str, list[list[str]]]:
    """The separator of lines of text, and their values."""
    candidates = [dialect.separator] if dialect.separator else list(SEPARATORS)
    tables = {mark: _values(text, mark) for mark in candidates}
    fitting: dict[str, int] = {}  # rows that are as long as the header, by the mark that it holds
    has_rows = False
    for mark, rows in tables.items():
        if rows and len(rows[0]) > 1:
            fitting[mark] = sum(len(row) == len(rows[0]) for row in rows[1:])
            has_rows = has_rows or len(rows) > 1
    best = [mark for mark in fitting if fitting[mark] == max(fitting.values())] or [dialect.separator or usual]
    if len(best) > 1 and has_rows:
        problem = f"fits {' and '.join(map(repr, best))} as separators equally well"
        fix = f"say which (--separator {' or '.join(SEPARATORS[mark] for mark in best)})"
        raise FileError(problem, path, fix, argument="separator")
    separator = usual if usual in best else best[0]
    return separator, tables[separator]


def recognise_decimal(rows: list[list[str]], separator: str, dialect: Dialect, path: str) -> str:
    """The decimal sign of the values below a header."""
    if dialect.decimal is not None:
        return dialect.decimal
    values = [value.strip() for row in rows[1:] for value in row]
    with_comma = next(filter(WITH_COMMA.fullmatch, values), None)
    with_point = next(filter(WITH_POINT.fullmatch, values), None)
    if with_comma is None or (with_point is not None and separator == ","):
        return "."
    if with_point is not None:  # commas between values would settle it
        problem = f"has numbers such as {with_comma} and {with_point}"
        raise FileError(problem, path, "say which is meant (--decimal comma or point)", argument="decimal")
    return ","


def _values(text: str, separator: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:  # what is wrong is said by who reads the file
        return []

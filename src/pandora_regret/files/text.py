"""Text files, read a block at a time: CSV, TSV and JSON lines, in any dialect and encoding."""

from __future__ import annotations

import csv
import io
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import BinaryIO, ClassVar, Generic, Self, TypeVar

import pyarrow as pa
import pyarrow.csv as arrow_csv

from pandora_regret.core.inputs import Fields, InputError
from pandora_regret.files.arrow_columns import arrow_table, kind_of_texts, valid_rows
from pandora_regret.files.dialect import UTF_8, Dialect
from pandora_regret.files.file_errors import FileError, explained
from pandora_regret.files.limits import size_in_words
from pandora_regret.files.recognise import (
    CELLS_LOOKED_AT,
    NAME_ENCODING,
    NOT_UTF_8,
    Kind,
    dialect_recognised,
    recognise_encoding,
    recognise_marks,
)
from pandora_regret.files.source import HEAD_BYTES, ROWS_AT_ONCE, Records, Source, check_column_names

SAMPLE_BYTES = 1 << 20  # from which the kinds of the columns are told
LONGEST_LINE = 1 << 26  # bytes: a million forecasts take less; some copies of it are held
BLOCK_BYTES = 1 << 20
WIDE_BLOCK_BYTES = 1 << 24  # of lines with so many values that a block of the usual size holds few of them
BLOCK_OF_OBJECTS = 1 << 25  # bytes of JSON lines that are held as objects at a time
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
NO_ROWS: tuple[list[str], ...] = ([], ["sep=", ""])
ONE_PER_LINE = "write one object per line"
LINE_ENDS = b"\r\n"

RowT = TypeVar("RowT", list[str], bytes)  # the values of a row, or the line that holds an object

csv.field_size_limit(LONGEST_LINE)


@dataclass(frozen=True)
class TextFile(Source, Generic[RowT]):
    """Rows of text; all that is read of it is UTF-8."""

    location: str = ""  # where the bytes lie, if not at `path`, as it is called
    compression: str | None = None
    encoding: str = UTF_8  # of the file
    content: bytes | None = field(default=None, compare=False, repr=False)  # all of a small file

    header_rows: ClassVar[int] = 0

    @classmethod
    def begun(cls, path: str, head: bytes, dialect: Dialect, location: str) -> tuple[Self, bytes, bool]:
        """The file as far as its encoding tells, which `dialect` says or its `head` shows.

        Parameters
        ----------
        path
            What to call the file.
        head
            Its first bytes.
        dialect
            What callers say of how it is written.
        location
            Where its bytes lie.

        Returns
        -------
        tuple
            The file; whole lines from its beginning, a header and a row at least; whether they are all there are.
        """
        content = head if len(head) < HEAD_BYTES else None
        compression = next((name for mark, name in COMPRESSED.items() if head.startswith(mark)), None)
        file = cls(path, {}, location=location, compression=compression, content=content)
        with explained(path, "text"):
            with file.stream() as stream:
                encoding = dialect.codec or recognise_encoding(stream.read(SAMPLE_BYTES), path)
            file = replace(file, encoding=encoding)
            with file.lines() as lines:
                sample = lines.read(SAMPLE_BYTES)
                for _ in range(2):  # the rest of a line, and one more
                    sample += file._next_line(lines, 1 + sample.count(b"\n"))
                complete = not lines.peek(1)
        return file, sample.removeprefix(BYTE_ORDER_MARK), complete

    def stream(self, raw: BinaryIO | None = None) -> pa.NativeFile:
        """The whole file, decompressed and in UTF-8; from its beginning, or read from `raw`."""
        source: BinaryIO | str | pa.BufferReader = self.location
        if raw is not None:
            source = raw
        elif self.content is not None:
            source = pa.BufferReader(self.content)
        stream = pa.input_stream(source, compression=self.compression)
        return stream if self.encoding == UTF_8 else pa.transcoding_input_stream(stream, self.encoding, UTF_8)

    def lines(self) -> io.BufferedReader:
        """The whole file in UTF-8, as something to read lines from."""
        return io.BufferedReader(self.stream(), SAMPLE_BYTES)

    def expected_rows(self) -> int:
        """By the size of the file: as if all rows were like the first, and all compressed as well."""
        with (
            open(self.location, "rb") if self.content is None else io.BytesIO(self.content) as raw,
            self.stream(raw) as text,
        ):
            lines = int(text.read(SAMPLE_BYTES).count(b"\n"))
            bytes_read = raw.tell()
            size = raw.seek(0, os.SEEK_END)
            if bytes_read == 0:  # the file was emptied after it was opened: whoever reads it says so
                return 0
            return round(lines * size / bytes_read) - self.header_rows

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, RowT]]:
        """The rows of lines, each with the number of its first line; `whole`: there are no lines after these."""
        raise NotImplementedError

    def rows(self) -> Iterator[tuple[int, tuple[int, RowT]]]:
        """The number of each row (the header's is -1), the number of its first line, and what it holds."""
        with explained(self.path, "text"), self.lines() as lines:
            yield from enumerate(self.records(self._whole_lines(lines)), -self.header_rows)

    def _whole_lines(self, lines: io.BufferedReader) -> Iterator[bytes]:
        """Line by line; one that is too long to be held is an error."""
        for number in count(1):
            line = self._next_line(lines, number)
            if not line:
                return
            yield line

    def _next_line(self, lines: io.BufferedReader, number: int) -> bytes:
        """The next line, of this number; b"" where there is none, an error where it is too long to be held."""
        line = lines.readline(LONGEST_LINE)
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            problem = f"has more than {size_in_words(LONGEST_LINE)}"
            raise FileError(problem, self.path, "end lines with \\n", f" line {number}")
        return line

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """The lines on which rows stand, found in one pass."""
        wanted = set(rows)
        lines = ((row, f" line {number}") for row, (number, _) in self.rows() if row in wanted)
        return super().places(wanted) | dict(islice(lines, len(wanted)))


@dataclass(frozen=True)
class DelimitedFile(TextFile[list[str]]):
    """A header and a row per line; values that hold line ends are quoted."""

    delimiter: str = ","
    header_lines: int = 1  # up to the end of the header: empty lines may stand before it
    longest_line: int = 0  # of the first ones, in bytes

    header_rows: ClassVar[int] = 1

    @classmethod
    def open(cls, path: str, head: bytes, dialect: Dialect, usual: str, location: str) -> Self:
        """The file, of which the head is read: how it is written, names, and what the columns hold.

        `usual` is the separator that its name promises.
        """
        file, sample, complete = cls.begun(path, head, dialect, location)
        if not complete and not sample.lstrip(LINE_ENDS).partition(b"\n")[2].strip(LINE_ENDS):
            problem = f"has nothing but empty lines for {size_in_words(SAMPLE_BYTES)}, or more"
            raise FileError(problem, path, "delete the empty lines")
        separator, decimal = recognise_marks(sample, dialect, usual, path)
        file = replace(file, delimiter=separator, decimal=decimal)
        header_line, names, rows = file._first_rows(sample, complete)
        return replace(
            file,
            kinds=_kinds_of_columns(names, rows, decimal),
            header_lines=header_line + "".join(names).count("\n"),
            longest_line=max(map(len, sample.split(b"\n"))),
            n_rows=None if rows or not complete else 0,
            remarks=dialect_recognised(path, file.encoding, separator if separator != usual else "", decimal),
        )

    def _first_rows(self, sample: bytes, complete: bool) -> tuple[int, list[str], list[list[str]]]:
        """The line of the header, the names on it, and some rows below; `complete`: nothing follows the sample."""
        lines = self.records(io.BytesIO(sample), complete)
        header_line, names = next(lines, (1, []))
        _check_header(names, self.delimiter, self.path)
        n_rows = 1 + CELLS_LOOKED_AT // (8 * len(names))
        return header_line, names, [values for _, values in islice(lines, n_rows)]

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, list[str]]]:
        """The values of each row; empty lines are no rows, nor is the one that tells Excel the separator."""
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
        """Lines decoded from UTF-8, without byte order marks; a FileError names the first that cannot be."""
        for number, line in enumerate(lines, 1):
            try:
                yield line.removeprefix(BYTE_ORDER_MARK).decode()
            except UnicodeError:
                raise FileError(NOT_UTF_8, self.path, NAME_ENCODING, f" line {number}") from None

    def read(
        self, columns: Sequence[str], numbers: frozenset[str], rows: int, skipped: int = 0
    ) -> Iterator[Records]:
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

    def _parsed(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The columns as Arrow reads them; an error of Arrow's own where it cannot."""
        if self.n_rows == 0:
            return
        names = list(self.kinds)
        types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
        types.setdefault(names[-1], pa.string())
        how_to_read = arrow_csv.ReadOptions(column_names=names, block_size=self._block_size(rows))
        how_to_parse = arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        how_to_convert = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), decimal_point=self.decimal
        )
        tail = [""]
        with self.stream() as stream:  # Arrow's own: its threads read ahead, also when Python has ended
            skip(stream, self._first_row())
            for records in arrow_csv.open_csv(stream, how_to_read, how_to_parse, how_to_convert):
                yield records.select(list(columns))
                tail = records.column(names[-1])[-1:].to_pylist()
        if any("\n" in str(value) for value in tail):
            deque(self.rows(), maxlen=0)  # Arrow takes all after an open quote for one value, the last

    def _block_size(self, rows: int) -> int:
        """How many bytes Arrow parses at once for so many rows: several lines at least."""
        block_bytes = min(BLOCK_BYTES, rows * self.longest_line)
        return max(block_bytes, 4 * self.longest_line, min(64 * self.longest_line, WIDE_BLOCK_BYTES))

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


def _check_header(names: Sequence[str], separator: str, path: str) -> None:
    """Raise a FileError unless a header names several columns, each of its own name."""
    if not names:
        raise FileError("has no header", path, "name the columns on the first line")
    if len(names) == 1:
        problem = f"has a single column, {names[0][:80]!r}, if values are separated by {separator!r}"
        raise FileError(problem, path, "say what separates them (--separator)", argument="separator")
    check_column_names(names, path)


def _kinds_of_columns(names: Sequence[str], rows: Sequence[Sequence[str]], decimal: str) -> dict[str, Kind]:
    """What columns hold, by their first rows; one without a name holds the row numbers that pandas writes."""
    kinds: dict[str, Kind] = dict.fromkeys(names, "other")
    for name, cells in zip(names, zip(*rows, strict=False), strict=False):
        if name.strip():
            kinds[name] = kind_of_texts(cells, decimal)
    return kinds


@dataclass(frozen=True)
class JsonLines(TextFile[bytes]):
    """One JSON object per line; a column is what its values are, or text where they are now this, now that."""

    def records(self, lines: Iterable[bytes], whole: bool = True) -> Iterator[tuple[int, bytes]]:
        """The line of each row; empty ones are no rows, nor are those of spaces."""
        for number, line in enumerate(lines, 1):
            if content := line.removeprefix(BYTE_ORDER_MARK).strip():
                yield number, content

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
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

    def objects(self, lines: Iterable[tuple[int, bytes]], each_once: bool = False) -> Iterator[tuple[int, Fields]]:
        """The objects on numbered lines, with these numbers; with `each_once`, none names anything twice."""
        from msgspec.json import decode

        for number, line in lines:
            where = f" line {number}"
            try:
                values = json.loads(line, object_pairs_hook=_each_once) if each_once else decode(line)
            except InputError as error:
                column = str(error.column)
                raise FileError(error.problem, self.path, "name each once", where, column=column) from None
            except UnicodeDecodeError:
                raise FileError(NOT_UTF_8, self.path, NAME_ENCODING, where) from None
            except (ValueError, RecursionError):
                problem = f"is no JSON object ({line.decode('utf-8', 'replace')[:40]!r})"
                raise FileError(problem, self.path, ONE_PER_LINE, where) from None
            if not isinstance(values, dict):
                raise FileError("is no JSON object", self.path, ONE_PER_LINE, where)
            yield number, values


def _each_once(pairs: list[tuple[str, object]]) -> Fields:
    """An object of JSON from its names and values; an InputError if a name occurs twice."""
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        twice = max(names, key=names.count)
        raise InputError(f"names {twice!r:.80} twice", column=twice)
    return dict(pairs)


def skip(stream: pa.NativeFile, size: int) -> None:
    """Read on by so many bytes, of which no more than a block is held."""
    while size > 0:
        block = stream.read(min(size, BLOCK_BYTES))
        if not block:
            return
        size -= len(block)

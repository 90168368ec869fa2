"""Text files, read a block at a time: any lines of text, and CSV and TSV files."""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from pandora_regret.files.columns import explained, kinds_of, rows_within
from pandora_regret.files.layout import SEPARATORS, Dialect
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import HEAD_BYTES, Records, Source, check_names, even_cuts, unreadable
from pandora_regret.inputs import Done

SAMPLE_BYTES = 1 << 20  # from which the kinds of the columns are told
LONGEST_LINE = 1 << 28
BLOCK_BYTES = 1 << 23
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_8 = "utf-8"
NOT_UTF_8 = "save the file with encoding UTF-8, or name its encoding (--encoding)"
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")
COMMA_NUMBER = r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$"
UNCLOSED = {
    "problem": "opens a quotation mark that is never closed",
    "fix": "close it, or double it within a value",
}
MARKS = {  # what a file begins with that says its encoding; longer ones first
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
TITLES = {"iso8859-1": "Latin-1", "cp1252": "Windows-1252"}  # what people call encodings
LOOKED_AT = 1000  # lines from which separator and decimal sign are recognised
SEPARATOR_LINE = re.compile(rb"sep=([,;\t|])\r?\n")  # how Excel is told, above the header
UTF_8_LETTER = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
NUMBER = r"[+-]?\d*{}\d+(?:[eE][+-]?\d+)?"
WITH_COMMA, WITH_POINT = (re.compile(NUMBER.format(mark)) for mark in (",", r"\."))


@dataclass(frozen=True)
class TextFile(Source):
    """Lines of text, or those between two places of the file; all that is read of it is UTF-8."""

    span: tuple[int, int] | None = None  # bytes, from and up to but not with
    longest_line: int = 0  # of the first lines
    location: str = ""  # where the bytes lie, if not at `path`, as it is called
    encoding: str = UTF_8  # of the file
    content: bytes | None = field(default=None, compare=False, repr=False)  # all of a small file

    starts_with_header = False

    @classmethod
    def begun(
        cls, path: str, head: bytes, encoding: str | None, least_lines: int, location: str = ""
    ) -> tuple[Self, bytes, bool]:
        """The file as far as its encoding tells, said or recognised; whole lines, and whether they are all."""
        file = cls(path, {}, location=location or path, content=head if len(head) < HEAD_BYTES else None)
        with explained(path, "text"), file.stream() as stream:
            beginning = stream.read(SAMPLE_BYTES)
        file = replace(file, encoding=encoding or recognise_encoding(beginning, path))
        sample, complete = file.sample(least_lines)
        return replace(file, longest_line=max(map(len, sample.split(b"\n")))), sample, complete

    def stream(self) -> Any:
        """The whole file, decompressed and in UTF-8."""
        compression = pa.Codec.detect(self.location).name if self.location.endswith(COMPRESSED) else None
        source = self.location if self.content is None else pa.BufferReader(self.content)
        stream = pa.input_stream(source, compression=compression)
        return stream if self.encoding == UTF_8 else pa.transcoding_input_stream(stream, self.encoding, UTF_8)

    def sample(self, least_lines: int = 2) -> tuple[bytes, bool]:
        """Whole lines from the beginning, at least so many, and whether they are all there are."""
        content, size = b"", SAMPLE_BYTES
        with explained(self.path, "text"), self.stream() as stream:
            while len(content) < size:
                block = stream.read(size - len(content))
                content += block
                if not block:
                    return content.removeprefix(BYTE_ORDER_MARK), True
                if len(content) == size and content.count(b"\n") < least_lines and size < LONGEST_LINE:
                    size *= 4
        if b"\n" not in content:
            fix = "write one row per line"
            raise FileError(f"begins with a line of more than {size >> 20} megabytes", path=self.path, fix=fix)
        return content[: content.rfind(b"\n") + 1].removeprefix(BYTE_ORDER_MARK), False

    def expected_rows(self) -> int:
        """By the size of the file, as if all rows were like the first, and all compressed as well."""
        sample, complete = self.sample()
        rows, path = sample.count(b"\n") - self.starts_with_header, self.location
        if complete or self.n_rows is not None:
            return rows if self.n_rows is None else self.n_rows
        stored = sample if self.encoding == UTF_8 else sample.decode().encode(self.encoding)
        size = len(stored)
        if path.endswith(COMPRESSED):
            sink = pa.BufferOutputStream()
            with pa.CompressedOutputStream(sink, pa.Codec.detect(path).name) as stream:
                stream.write(stored)
            size = len(sink.getvalue())
        return round(rows * os.path.getsize(path) / size)

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip(b"\r\n"))

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The file line by line, each with its number, to count them or to find what is wrong with one."""
        with explained(self.path, "text"), self.stream() as stream:
            yield from self.numbered(io.BufferedReader(stream, 1 << 20))

    def numbered(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Each row's first line number, and its lines."""
        return iter(enumerate(lines, 1))

    def _rows(self) -> Iterator[tuple[int, int, int, bytes]]:
        """The file's rows: number of the row (the header's is -1), number of its line, where it begins, line."""
        row, offset = -self.starts_with_header, 0
        for number, line in self.lines():
            if self.is_row(line):
                yield row, number, offset, line
                row += 1
            offset += len(line)

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """The lines on which rows stand, found in one pass."""
        wanted, places = set(rows), dict[int, str]()
        for row, number, _, _ in self._rows():
            if row in wanted:
                places[row] = f" line {number}"
                if len(places) == len(wanted):
                    break
        return super().places(wanted) | places

    def _count(self) -> int:
        return sum(row >= 0 for row, *_ in self._rows())

    def pieces(self, n: int) -> list[Source]:
        """About as many rows each; a compressed file, or one in another encoding, stays in one piece."""
        n_rows = self.count()
        cannot_be_cut = self.location.endswith(COMPRESSED) or self.encoding != UTF_8
        if cannot_be_cut or not n_rows:
            return [self.part(0, n_rows)]
        cuts = even_cuts(n_rows, n)
        firsts = {self.first + low for low, _ in cuts}
        starts = [offset for row, _, offset, _ in self._rows() if row in firsts]
        ends = [*starts[1:], os.path.getsize(self.location) if self.span is None else self.span[1]]
        spans = zip(starts, ends, strict=True)
        return [replace(self.part(*cut), span=span) for cut, span in zip(cuts, spans, strict=True)]

    def opened(self) -> Any:
        """The bytes of this piece."""
        if self.span is None:
            return self.stream()
        source = pa.OSFile(self.location) if self.content is None else pa.BufferReader(self.content)
        return source.get_stream(self.span[0], self.span[1] - self.span[0])


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
    def open(cls, path: str, head: bytes, said: Dialect, usual: str = ",", location: str = "") -> Self:
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
            file._check_lines(0)
            raise unreadable(path, "text", error) from None
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
            self._check_lines(0)
            raise unreadable(self.path, "text", error) from None
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
        """Numbers as numbers, all else as it is written, but that decimal commas of numbers become points.

        From the first block on in which some are no numbers, they come as text: whoever reads it says where.
        """
        good_rows = 0
        try:
            for records in self._parsed(columns, numbers, numbers):
                yield records
                good_rows += len(records)
        except (pa.ArrowException, UnicodeError, OSError) as error:
            self._check_lines(self.first + good_rows)
            if not numbers:
                raise unreadable(self.path, "text", error) from None
            with explained(self.path, "text"):
                yield from rows_within(self._parsed(columns, frozenset(), numbers), good_rows, None)

    def _parsed(self, columns: Sequence[str], typed: frozenset[str], numbers: frozenset[str]) -> Iterator[Records]:
        if not self.has_rows:
            return
        types = {name: pa.float64() if name in typed else pa.string() for name in columns}
        skipped, n_rows = self.header_lines if self.span is None else 0, 0
        options = arrow_csv.ReadOptions(
            column_names=list(self.kinds), skip_rows=skipped, block_size=max(BLOCK_BYTES, 4 * self.longest_line)
        )
        conversion = arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(columns), decimal_point=self.decimal
        )
        with self.opened() as stream:
            counting = _CountingStream(stream)
            for records in arrow_csv.open_csv(counting, options, self._parse_options(), conversion):
                for name in self.decimals & set(columns) - numbers:  # points, as in every other format
                    texts = pc.replace_substring_regex(records.column(name), COMMA_NUMBER, r"\1.\2")
                    records = records.set_column(records.schema.get_field_index(name), name, texts)
                yield records
                n_rows += len(records)
        if n_rows != counting.lines - skipped:  # Arrow takes all after an open quote for one value
            row, _, _, line = deque(self._rows(), maxlen=1).pop()
            if self._is_open(line):
                raise self.error(row, **UNCLOSED)

    def _parse_options(self) -> Any:
        return arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=self.broken_lines)

    def _check_lines(self, good_rows: int) -> None:
        """No line is wrong in itself; so many rows at the beginning are known to be good."""
        for row, number, _, line in self._rows():
            if row < good_rows and good_rows:
                continue
            about: dict[str, Any] = {"path": self.path, "where": f" line {number}", "row": row}
            try:
                lines = line.decode("utf-8-sig").splitlines(keepends=True)
            except UnicodeError:
                raise FileError("is not UTF-8 text", fix=NOT_UTF_8, **about) from None
            if self._is_open(line):
                raise FileError(**UNCLOSED, **about)
            n_values = len(next(csv.reader(lines, delimiter=self.delimiter), []))
            if row >= 0 and n_values != len(self.kinds):
                fix = "quote values that contain the separator, or complete the line"
                problem = f"has {n_values} values but the header names {len(self.kinds)} columns"
                raise FileError(problem, value=n_values, fix=fix, **about)


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
    lines = sample[hint.end() if hint else 0 :].split(b"\n", LOOKED_AT)[:LOOKED_AT]
    text = b"\n".join(lines).decode("utf-8", "replace")
    separator = said.separator or (hint[1].decode() if hint else _separator(text, usual, path))
    rows = _parsed(text, separator)[1:]
    commas, points = (
        sorted({number for row in rows for number, value in enumerate(row) if pattern.fullmatch(value.strip())})
        for pattern in (WITH_COMMA, WITH_POINT)
    )
    decimal = said.decimal or (_decimal(separator, commas, points, path) if commas else ".")
    return separator, decimal, frozenset(commas if decimal == "," else ())


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

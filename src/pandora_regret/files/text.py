"""Text files, read a block at a time; what is wrong with a block is found by reading its lines again."""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Self

import pyarrow as pa

from pandora_regret.files.columns import explained
from pandora_regret.files.dialect import recognise_encoding
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import HEAD_BYTES, Source, even_cuts, unreadable

SAMPLE_BYTES = 1 << 20  # from which the kinds of the columns are told
LONGEST_LINE = 1 << 28
BLOCK_BYTES = 1 << 23
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_8 = "utf-8"
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4", ".br")


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

    @property
    def block_bytes(self) -> int:
        """How much is parsed at once: several lines, however long they are."""
        return max(BLOCK_BYTES, 4 * self.longest_line)

    @property
    def in_one_piece(self) -> bool:
        """Whether it cannot be read from the middle."""
        return self.location.endswith(COMPRESSED) or self.encoding != UTF_8

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
        if self.in_one_piece or not n_rows:
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

    def explain(self, error: BaseException, numbers: frozenset[str], good_rows: int = 0) -> NoReturn:
        """What is wrong with the first line that is wrong; so many rows at the beginning are known to be good."""
        for row, number, _, line in self._rows():
            if good_rows and row < good_rows:
                continue
            attributes: dict[str, Any] = {"path": self.path, "where": f" line {number}", "row": row}
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeError:
                fix = "save the file with encoding UTF-8, or name its encoding (--encoding)"
                raise FileError("is not UTF-8 text", fix=fix, **attributes) from None
            if problem := self.problem(text, row, numbers):
                column = problem.get("column")
                attributes["where"] += "" if column is None else f", column {column!r}"
                raise FileError(**attributes, **problem) from None
        if good_rows:
            self.explain(error, numbers)
        raise unreadable(self.path, "text", error) from None

    @abstractmethod
    def problem(self, text: str, row: int, numbers: frozenset[str]) -> dict[str, Any] | None:
        """What is wrong with a line, if anything: attributes of a `FileError`."""

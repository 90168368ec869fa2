"""JSON lines: one object per line."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import msgspec
import pyarrow as pa

from pandora_regret.files.columns import explained, kinds_of
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import ROWS_AT_ONCE, Records, check_names
from pandora_regret.files.text import BYTE_ORDER_MARK, NOT_UTF_8, TextFile

ONE_PER_LINE = "write one object per line"


@dataclass(frozen=True)
class JsonLines(TextFile):
    """One JSON object per line; a column is what its values are, or text where they are now this, now that."""

    def with_kinds(self, sample: bytes) -> Self:
        """The same file with names and kinds from its first lines."""
        rows = [values for _, values in self._decoded(io.BytesIO(sample))]
        names = list(dict.fromkeys(name for row in rows for name in row))
        if not names:
            raise FileError("has no rows", path=self.path, fix=ONE_PER_LINE)
        check_names(names, self.path)
        return replace(self, kinds=kinds_of(_table(rows, names).schema))

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows, nor are those of spaces."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip())

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Text where numbers must be is found by who reads it."""
        with explained(self.path, "text"), self.opened() as stream:
            decoded = self._decoded(io.BufferedReader(stream, 1 << 20))
            while block := [values for _, values in islice(decoded, min(rows, ROWS_AT_ONCE))]:
                yield _table(block, columns)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The lines that are rows, each with its number, as objects that name nothing twice."""
        with explained(self.path, "text"), self.stream() as stream:
            yield from self._decoded(io.BufferedReader(stream, 1 << 20), once=True)

    def _decoded(self, lines: Any, once: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
        row = self.first
        for number, line in enumerate(lines, 1):
            if self.is_row(line):
                try:
                    yield number, _object(line.removeprefix(BYTE_ORDER_MARK), once)
                except LineError as error:
                    raise self.error(row, error.args[0], fix=error.args[1]) from None
                row += 1


class LineError(ValueError):
    """What is wrong with a line, and what to do about it."""

    def at(self, file: TextFile, line: int) -> FileError:
        """The error that says where."""
        problem, fix = self.args
        return FileError(problem, path=file.path, where=f" line {line}", fix=fix)


def _object(line: bytes, once: bool) -> dict[str, Any]:
    try:
        values = msgspec.json.decode(line)
        if once:
            json.loads(line, object_pairs_hook=_each_once)
    except LineError:
        raise
    except RecursionError:
        raise LineError("holds lists within lists, too many to read", "flatten them") from None
    except UnicodeDecodeError:
        raise LineError("is not UTF-8 text", NOT_UTF_8) from None
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise LineError(f"is no JSON object ({line.decode('utf-8', 'replace').strip()[:40]!r})", ONE_PER_LINE)
    return values


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise LineError(f"names {twice!r:.80} twice", "name each once")
    return values


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Records:
    return pa.table({name: as_column([row.get(name) for row in rows]) for name in names})


def as_column(values: Sequence[Any]) -> Any:
    """Values of one type, or else as text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def first_object(sample: bytes) -> dict[str, Any]:
    """The first line as an object; empty where it is none."""
    try:
        first = msgspec.json.decode(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}

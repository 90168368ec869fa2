"""JSON lines: one object per line."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from pandora_regret.files.columns import explained, kinds_of, no_number
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import Records, check_names
from pandora_regret.files.text import BYTE_ORDER_MARK, TextFile

DEEPEST = 100  # lists within lists; Arrow's parser takes a stack frame for each
OBJECT = re.compile(rb"\s*\{")
STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"')
DEPTHS = np.zeros(256, dtype=np.int64)
DEPTHS[[ord("["), ord("{")]], DEPTHS[[ord("]"), ord("}")]] = 1, -1
JSON_KINDS = {
    str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "an array", dict: "an object"
}  # fmt: skip


@dataclass(frozen=True)
class JsonLines(TextFile):
    """One JSON object per line, the columns in the types that the first lines have."""

    schema: Any = field(default=None, compare=False, repr=False)

    def with_schema(self, sample: bytes) -> Self:
        """The same file with names and types from its first lines."""
        file = self
        first_line, *others = sample.strip().split(b"\n", 1)
        for block in (first_line, sample)[: 1 + len(others)]:  # the first line says what the others should hold
            schema = file._parsed(block, frozenset(), 0).schema if block else pa.schema([])
            file = replace(file, kinds=kinds_of(schema), schema=schema)
        if not schema.names:
            raise FileError("has no rows", path=self.path, fix="write one object per line")
        check_names(schema.names, self.path)
        return file

    def is_row(self, line: bytes) -> bool:
        """Empty lines are no rows, nor are those of spaces."""
        return bool(line.removeprefix(BYTE_ORDER_MARK).strip())

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        types = {name: pa.float64() if name in numbers else self.schema.field(name).type for name in columns}
        options = arrow_json.ParseOptions(
            explicit_schema=pa.schema(list(types.items())), unexpected_field_behavior="ignore"
        )
        good_rows = self.first
        with explained(self.path, "text"), self.opened() as stream:
            for block in _blocks(stream, self.block_bytes):
                table = self._parsed(block.removeprefix(BYTE_ORDER_MARK), numbers, good_rows, options)
                yield table.select(list(columns))
                good_rows += len(table)

    def _parsed(self, block: bytes, numbers: frozenset[str], good_rows: int, options: Any = None) -> Any:
        if not OBJECT.match(block):  # Arrow crashes on a block that begins with null
            self.explain(ValueError("the first line holds no object"), numbers, good_rows)
        if _may_be_deep(block):
            self._check_depth(block, good_rows)
        try:
            reading = arrow_json.ReadOptions(block_size=len(block) + 1)
            return arrow_json.read_json(io.BytesIO(block), reading, options)
        except pa.ArrowException as error:
            self.explain(error, numbers, good_rows)

    def _check_depth(self, block: bytes, good_rows: int) -> None:
        row = good_rows
        for line in block.splitlines():
            if _may_be_deep(line) and _depth(line) > DEEPEST:
                raise self.error(row, f"holds lists within lists, more than {DEEPEST} deep", fix="flatten them")
            row += self.is_row(line)

    def problem(self, text: str, row: int, numbers: frozenset[str]) -> dict[str, Any] | None:
        """A line that is no object, a value that is no number, or a column that is now this, now that."""
        try:
            values = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return {"problem": f"is not JSON ({text.strip()[:40]!r})", "fix": "write one object per line"}
        if not isinstance(values, dict):
            fix = 'write one object per line, {"y_true": ..., ...}'
            return {"problem": f"holds {text.strip()[:40]!r}", "fix": fix}
        problems = (self._kind_problem(name, value, numbers) for name, value in values.items())
        return next(filter(None, problems), None)

    def _kind_problem(self, name: str, value: Any, numbers: frozenset[str]) -> dict[str, Any] | None:
        usual = "a number" if name in numbers else self._usual_kinds.get(name)
        kind = JSON_KINDS.get(type(value))
        if kind is None or usual is None or kind == usual:
            return None
        if name in numbers:
            return no_number(value) | {"column": name}
        problem, fix = f"holds {kind} where other lines hold {usual}", "write the same kind on every line"
        return {"problem": problem, "column": name, "value": value, "fix": fix}

    @cached_property
    def _usual_kinds(self) -> dict[str, str]:
        """What JSON calls the values of each column, where the first lines tell."""
        known = {"number": "a number", "text": "a string"}
        kinds = {name: known.get(kind) for name, kind in self.kinds.items()}
        kinds |= {each.name: "a boolean" for each in self.schema or () if pa.types.is_boolean(each.type)}
        return {name: kind for name, kind in kinds.items() if kind}


def first_object(sample: bytes) -> dict[str, Any]:
    """The first line as an object; empty where it is none."""
    try:
        first = json.loads(sample.lstrip().split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return {}
    return first if isinstance(first, dict) else {}


def _refuse(constant: str) -> None:
    raise ValueError(f"JSON knows no {constant}")


def _may_be_deep(block: bytes) -> bool:
    """Whether more brackets are opened than lines and a few lists explain, wherever they stand."""
    return block.count(b"[") + block.count(b"{") > block.count(b"\n") + DEEPEST


def _depth(line: bytes) -> int:
    """Of lists and objects within each other, those in strings left out."""
    bare = STRING.sub(b"", line)
    return int(np.cumsum(DEPTHS[np.frombuffer(bare, np.uint8)]).max(initial=0))


def _blocks(stream: Any, size: int) -> Iterator[bytes]:
    """Whole lines, a few megabytes at a time."""
    rest = b""
    while block := stream.read(size):
        whole, newline, rest = (rest + bytes(block)).rpartition(b"\n")
        if whole.strip():
            yield whole + newline
    if rest.strip():
        yield rest

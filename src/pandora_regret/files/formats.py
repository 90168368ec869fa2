"""Which format a file has: said by its name, checked against its first bytes. `open_source` opens them all."""

from __future__ import annotations

import atexit
import io
import os
import re
import shutil
import sys
import tempfile
from ast import literal_eval
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from pandora_regret.files.binary import ArrowFile, ParquetFile, open_archive, open_sheet
from pandora_regret.files.candidates import field_of_lists, open_json, read_lists
from pandora_regret.files.columns import explained, kinds_of, regrouped
from pandora_regret.files.layout import RECOGNISED, Dialect
from pandora_regret.files.source import (
    ROWS_AT_ONCE,
    AnyPath,
    Fields,
    FileError,
    Source,
    TableInMemory,
    check_names,
    head_of,
)
from pandora_regret.files.text import COMPRESSED, DelimitedFile, JsonLines

STANDARD_INPUT, NAME = "-", "standard input"
Open = Callable[[str, bytes, Dialect, Sequence[str] | None], Source]

FORMATS: dict[str, tuple[str, Open]] = {
    ending: (name, opened)
    for name, endings, opened in (
        ("text", ".csv", DelimitedFile.open),
        ("text", ".tsv", partial(DelimitedFile.open, usual="\t")),
        ("text", ".jsonl .ndjson", open_json),
        ("Parquet", ".parquet .pq", ParquetFile.open),
        ("Arrow", ".arrow .arrows .feather .ipc", ArrowFile.open),
        ("Excel", ".xlsx .xlsm", open_sheet),
        ("NPZ", ".npz", open_archive),
    )
    for ending in endings.split()
}
BEGINNINGS = {
    b"PAR1": ("Parquet", ".parquet"),
    b"ARROW1": ("Arrow", ".arrow"),
    b"\xff\xff\xff\xff": ("Arrow", ".arrow"),  # a stream
    b"PK\x03\x04": ("NPZ", ".npz"),  # or Excel
    b"PK\x05\x06": ("NPZ", ".npz"),  # an archive of nothing
    b"\x1f\x8b": ("gzip", ".csv.gz"),
    b"\x28\xb5\x2f\xfd": ("zstd", ".csv.zst"),
}
EXCEL = re.compile(rb"xl/work|\[Content_Types\]")  # names of what is in a workbook
NEVER_TEXT = ("Parquet", "NPZ", "Excel")  # which begin as nothing else does


def open_source(
    path: AnyPath | Source, classes: Sequence[str] | None = None, said: Dialect = RECOGNISED
) -> Source:
    """The table of a file; `classes` name the columns of an archive that does not, and `-` is standard input."""
    if isinstance(path, Source):
        return path
    path = os.fspath(path)
    if path == STANDARD_INPUT:
        return _with_lists(_open_standard_input(said, classes), said, classes)
    head, compression = head_of(path), _compression_of(path)
    ending = os.path.splitext(path[: len(path) - len(compression)])[1].lower()
    format_name, open_table = FORMATS.get(ending, ("", None))
    real, called = _format_of(head)
    if open_table is None or (compression and format_name != "text"):
        hint = f"; it holds {real}, so call it {called}" if real else ""
        formats = f"{', '.join(FORMATS)}, text also compressed ({', '.join(COMPRESSED)})"
        problem, fix = f"has the ending {Path(path).suffix!r}", f"predictions are read from {formats}{hint}"
        raise FileError(problem, path, fix)
    if not compression and real != format_name and (real or format_name in NEVER_TEXT):
        problem = f"is called {ending} but {f'holds {real}' if real else f'does not begin as {format_name} does'}"
        fix = "it may be incomplete or damaged; write it again, or rename it to what it is"
        raise FileError(problem, path, f"rename it to end in {called}" if real else fix)
    return _with_lists(open_table(path, head, said, classes), said, classes)


def _compression_of(path: str) -> str:
    return next((ending for ending in COMPRESSED if path.lower().endswith(ending)), "")


def stem_of(path: str) -> str:
    """A file's name without what says its format, by which its model is called."""
    name = os.path.basename(path)
    return os.path.splitext(name[: len(name) - len(_compression_of(name))])[0]


def _with_lists(source: Source, said: Dialect, classes: Sequence[str] | None) -> Source:
    """The source; its rows as lists of candidates, where cells of a column are such lists, or the text of such."""
    columns, kinds = list(source.kinds), list(source.kinds.values())
    if "nested" not in kinds and kinds.count("number") > 1:
        return source
    with explained(source.path, "a table"):
        first: Any = next((part[:1].to_pylist() for part in source.read(columns, frozenset(), 1)), [])
        if not any(field_of_lists(_unwritten(row)) for row in first):
            return source
        parts = source.read(columns, frozenset(), ROWS_AT_ONCE)
        rows = [_unwritten(row) for part in parts for row in part.to_pylist()]
    return read_lists(source, {f" row {n}": row for n, row in enumerate(rows, 1)}, said.other, classes or ())


def _unwritten(row: Fields) -> Fields:
    """The row, with lists of candidates that were written out as text, by JSON or by Python, as lists."""
    for name, value in row.items():
        if isinstance(value, str) and value.startswith("[{"):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                row[name] = literal_eval(value)
    return row


def source_of(frame: Any, name: str) -> Source:
    """A frame (pandas, polars, pyarrow) as if it were a file of this name."""
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True).to_arrow()
    check_names(table.column_names, name)
    return TableInMemory(name, kinds_of(table), table=table)


def read_table(path: AnyPath, said: Dialect = RECOGNISED) -> Any:
    """All rows and columns of a file of any format, as one Arrow table: numbers as numbers, all else as text.

    For whoever wants a table that holds no predictions, such as the features of a data set. Errors name the file
    and the line.
    """
    import pyarrow as pa

    source = open_source(path, said=said)
    columns = list(source.kinds)
    numbers = frozenset(name for name, kind in source.kinds.items() if kind == "number")
    with explained(source.path, "a table"):
        return pa.Table.from_batches(regrouped(source.read(columns, numbers, ROWS_AT_ONCE), ROWS_AT_ONCE))


def _format_of(head: bytes) -> tuple[str, str]:
    """What the first bytes tell: a format, and what such a file is called."""
    real = next((real for mark, real in BEGINNINGS.items() if head.startswith(mark)), ("", ""))
    return ("Excel", ".xlsx") if real[0] == "NPZ" and EXCEL.search(head) else real


def _open_standard_input(said: Dialect, classes: Sequence[str] | None) -> Source:
    """CSV or JSON lines, as its content tells."""
    location = _spooled(sys.stdin)
    try:
        head = head_of(location)
    except FileError:
        raise FileError("is empty (0 bytes)", NAME, "pipe predictions into the command") from None
    real, ending = _format_of(head)
    if real not in ("", "gzip"):
        raise FileError(f"holds {real}", NAME, f"save it as a file that ends in {ending}, and pass that")
    _, sample, _ = JsonLines.begun(NAME, head, said, location)
    opened = open_json if sample.lstrip().startswith(b"{") else DelimitedFile.open
    return opened(NAME, head, said, classes, location=location)


@cache
def _spooled(stdin: Any) -> str:
    """A file that holds all of standard input, kept while the program runs, because files are read repeatedly."""
    folder, content = tempfile.mkdtemp(prefix="pandora-"), io.BytesIO() if stdin is None else stdin.buffer
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    beginning = content.read(2)
    path = os.path.join(folder, "input.gz" if beginning == b"\x1f\x8b" else "input")
    with open(path, "wb") as file:
        file.write(beginning)
        shutil.copyfileobj(content, file)
    return path

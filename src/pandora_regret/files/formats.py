"""Every format of files: told by its first bytes, and between kinds of text by its name."""

from __future__ import annotations

import atexit
import io
import os
import re
import shutil
import sys
import tempfile
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TextIO

from pandora_regret.core.inputs import Fields
from pandora_regret.files.archives import open_archive
from pandora_regret.files.arrow_columns import kinds_of
from pandora_regret.files.columnar import ArrowFile, ParquetFile
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.file_errors import FileError, explained
from pandora_regret.files.json_lines import open_json
from pandora_regret.files.limits import Limit
from pandora_regret.files.lists import field_of_lists, table_of_lists
from pandora_regret.files.sheets import open_sheet
from pandora_regret.files.source import ROWS_AT_ONCE, AnyPath, Source, SourceInMemory, check_column_names, head_of
from pandora_regret.files.text import DelimitedFile

if TYPE_CHECKING:
    from narwhals.stable.v1.typing import IntoDataFrame

STANDARD_INPUT = "-"
NAME = "standard input"
FORMATS = (
    "csv",
    "tsv",
    "jsonl",
    "ndjson",
    "parquet",
    "pq",
    "arrow",
    "arrows",
    "feather",
    "ipc",
    "xlsx",
    "xlsm",
    "npz",
)
ENDING = re.compile(rf"\.({'|'.join(FORMATS)})(\.(gz|bz2|zst|lz4))?$", re.IGNORECASE)
BEGINNING_OF_JSON = re.compile(rb"(\xef\xbb\xbf)?\s*\{")
PARQUET = re.compile(rb"PAR1")
ARROW = re.compile(rb"ARROW1|\xff\xff\xff\xff")
WORKBOOK = re.compile(rb"PK\x03\x04.*(xl/work|\[Content_Types\])", re.DOTALL)
ARCHIVE = re.compile(rb"PK(\x03\x04|\x05\x06)")
BINARY = re.compile(b"|".join([PARQUET.pattern, ARROW.pattern, ARCHIVE.pattern]))
OBJECTS_PER_BYTE = 10  # bytes of Python's objects for one of an Arrow table


def open_source(
    path: AnyPath | Source, classes: Sequence[str] | None = None, dialect: Dialect = RECOGNISED
) -> Source:
    """The table in a file, of which nothing but the head is read, where its format allows that.

    Parameters
    ----------
    path
        The file; ``-`` is standard input. A source is handed back.
    classes
        What the columns of an archive are called that does not say so itself, and the first options of lists.
    dialect
        How the file is written, where that is said.

    Returns
    -------
    Source
        What its columns are called and hold, and, in `remarks`, what was recognised.
    """
    if isinstance(path, Source):
        return path
    name = os.fspath(path)
    location = name
    if name == STANDARD_INPUT:
        name = NAME
        location = _spooled(sys.stdin)
    head = head_of(location)
    limit = Limit(name, os.path.getsize(location), dialect.most_bytes)
    if name == NAME and BINARY.match(head):
        raise FileError("is no text", NAME, "save it as a file, and pass that")
    source = _of_binary_format(name, head, classes, dialect, limit)
    if source is None:
        source = _of_text(name, location, head, classes, dialect, limit)
    source = replace(source, limit=limit)
    kinds = list(source.kinds.values())
    may_hold_lists = "nested" in kinds or kinds.count("number") < 2
    return _as_list_table(source, dialect, classes) if may_hold_lists else source


def _of_binary_format(
    name: str, head: bytes, classes: Sequence[str] | None, dialect: Dialect, limit: Limit
) -> Source | None:
    """The table in a file that begins as those of a binary format; None where it begins otherwise."""
    if PARQUET.match(head):
        return ParquetFile.open(name, limit)
    if ARROW.match(head):
        return ArrowFile.open(name, head, limit)
    if WORKBOOK.match(head):
        return open_sheet(name, dialect, limit)
    if ARCHIVE.match(head):
        return open_archive(name, classes, limit)
    return None


def _of_text(
    name: str, location: str, head: bytes, classes: Sequence[str] | None, dialect: Dialect, limit: Limit
) -> Source:
    """The table in a text file: lines of JSON if its name or first character says so, else separated values."""
    lower_name = name.lower()
    if ".jsonl" in lower_name or ".ndjson" in lower_name or BEGINNING_OF_JSON.match(head):
        return open_json(name, head, dialect, classes, location, limit)
    usual_separator = "\t" if ".tsv" in lower_name else ","
    return DelimitedFile.open(name, head, dialect, usual_separator, location)


def _as_list_table(source: Source, dialect: Dialect, classes: Sequence[str] | None) -> Source:
    """The source; its rows as lists of candidates, where cells of a column are such lists, or the text of such."""
    with explained(source.path, "a table"):
        columns = list(source.kinds)
        first: list[Fields] = []
        for part in source.read(columns, frozenset(), 1):
            first = part.slice(0, 1).to_pylist()
            break
        if not any(field_of_lists(_unwritten(row)) for row in first):
            return source
        records: dict[str, Fields] = {}
        held = 0
        for part in source.read(columns, frozenset(), ROWS_AT_ONCE):
            held += OBJECTS_PER_BYTE * part.nbytes
            source.check_held(held)
            for row in part.to_pylist():
                records[f" row {len(records) + 1}"] = _unwritten(row)
    return table_of_lists(source, records, dialect.other, classes or ())


def _unwritten(row: Fields) -> Fields:
    """The row, with lists of candidates that were written out as text, by JSON or by Python, as lists."""
    for name, value in row.items():
        if isinstance(value, str) and value.startswith("[{"):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                row[name] = literal_eval(value)
    return row


def stem_of(path: str) -> str:
    """A file's name without what says its format, by which its model is called."""
    return ENDING.sub("", os.path.basename(path))


@cache
def _spooled(stdin: TextIO | None) -> str:
    """A file that holds all of standard input, kept while the program runs, because files are read repeatedly."""
    folder = tempfile.mkdtemp(prefix="pandora-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "input")
    with open(path, "wb") as file:
        shutil.copyfileobj(io.BytesIO() if stdin is None else stdin.buffer, file)
    if not os.path.getsize(path):
        raise FileError("is empty (0 bytes)", NAME, "pipe predictions into the command")
    return path


def source_of(frame: IntoDataFrame, name: str) -> Source:
    """A frame (pandas, polars, pyarrow) as if it were a file of this name."""
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True).to_arrow()
    check_column_names(table.column_names, name)
    return SourceInMemory(name, kinds_of(table), table=table)

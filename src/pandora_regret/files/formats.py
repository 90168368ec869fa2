"""Every format of files: told by their first bytes, and between kinds of text by their names.

Programs write Parquet and Arrow, read here a batch at a time, NPZ archives, and sheets of workbooks.
"""

import atexit
import io
import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from ast import literal_eval
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from itertools import accumulate
from tokenize import TokenError
from typing import IO, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
from numpy.typing import NDArray

from pandora_regret.core.inputs import Fields, matched, noted, quoted
from pandora_regret.files.arrow_sizes import batch_sizes
from pandora_regret.files.candidates import field_of_lists, open_json, read_lists
from pandora_regret.files.classes import Columns
from pandora_regret.files.columns import explained, kinds_of, valid_rows
from pandora_regret.files.layout import RECOGNISED, Dialect
from pandora_regret.files.predictions import Predictions
from pandora_regret.files.roles import ROLES
from pandora_regret.files.source import (
    ROWS_AT_ONCE,
    AnyPath,
    FileError,
    Limit,
    Source,
    TableInMemory,
    Tables,
    check_names,
    head_of,
)
from pandora_regret.files.text import DelimitedFile, arrow_table
from pandora_regret.optional import import_optional
from pandora_regret.text import counted

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
JSON = re.compile(rb"(\xef\xbb\xbf)?\s*\{")
BYTES_IN_DICTIONARY = 6  # of a row whose text is written as its number in a dictionary, at most
BUFFER_BYTES = 1 << 20  # of each Parquet column: a huge row group is not read at once
FORECASTS = "y_proba"
CLASSES = "classes"
USUAL_NAMES = frozenset(name for role in ROLES for name in role.usual)
PLAIN = "USbiuf"  # kinds of arrays that are text or numbers
BAD_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError)
BAD_ARCHIVE = (*BAD_ZIP, SyntaxError, TokenError, MemoryError, KeyError, OverflowError)  # headers are literals
CELL = re.compile(
    rb'\br="([A-Z]{1,3})([0-9]{1,7})"|\bt="s"[^<>]{0,20}><v>([0-9]{1,9})</v>'
)  # a text by its number
TEXTS = "xl/sharedStrings.xml"
SMALL = 1 << 24  # places in a sheet
SPARSEST = 100  # places in a sheet for each of its cells
BYTES_PER_CELL = 250  # of a sheet while it is read, as measured
OBJECTS_PER_BYTE = 10  # bytes of Python's objects for one of an Arrow table
COPIES = 2  # of an archive's arrays while they are brought into order
LONGEST_MATCH = 64  # bytes
WHOLE = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number


def open_source(
    path: AnyPath | Source, classes: Sequence[str] | None = None, dialect: Dialect = RECOGNISED
) -> Source:
    """The table of a file; `classes` name the columns of an archive that does not, and `-` is standard input."""
    if isinstance(path, Source):
        return path
    name = os.fspath(path)
    location = name
    if name == STANDARD_INPUT:
        name = NAME
        location = _spooled(sys.stdin)
    head = head_of(location)
    limit = Limit(name, os.path.getsize(location), dialect.most_bytes)
    opening = next((opening for mark, opening in BEGINNINGS.items() if re.match(mark, head, re.DOTALL)), None)
    if opening is not None:
        if name == NAME:
            raise FileError("is no text", NAME, "save it as a file, and pass that")
        source: Source = opening(name, head, dialect, classes, limit)
    elif ".jsonl" in name.lower() or ".ndjson" in name.lower() or JSON.match(head):
        source = open_json(name, head, dialect, classes, location, limit)
    else:
        source = DelimitedFile.open(name, head, dialect, "\t" if ".tsv" in name.lower() else ",", location)
    source = replace(source, limit=limit)
    kinds = list(source.kinds.values())
    return source if "nested" not in kinds and kinds.count("number") > 1 else _with_lists(source, dialect, classes)


def _with_lists(source: Source, dialect: Dialect, classes: Sequence[str] | None) -> Source:
    """The source; its rows as lists of candidates, where cells of a column are such lists, or the text of such."""
    with explained(source.path, "a table"):
        columns = list(source.kinds)
        first: Any = next((part.slice(0, 1).to_pylist() for part in source.read(columns, frozenset(), 1)), [])
        if not any(field_of_lists(_unwritten(row)) for row in first):
            return source
        records: dict[str, Fields] = {}
        held = 0
        for part in source.read(columns, frozenset(), ROWS_AT_ONCE):
            held += OBJECTS_PER_BYTE * part.nbytes
            source.check_held(held)
            for row in part.to_pylist():
                records[f" row {len(records) + 1}"] = _unwritten(row)
    return read_lists(source, records, dialect.other, classes or ())


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
def _spooled(stdin: Any) -> str:
    """A file that holds all of standard input, kept while the program runs, because files are read repeatedly."""
    folder = tempfile.mkdtemp(prefix="pandora-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "input")
    with open(path, "wb") as file:
        shutil.copyfileobj(io.BytesIO() if stdin is None else stdin.buffer, file)
    if not os.path.getsize(path):
        raise FileError("is empty (0 bytes)", NAME, "pipe predictions into the command")
    return path


def source_of(frame: Any, name: str) -> Source:
    """A frame (pandas, polars, pyarrow) as if it were a file of this name."""
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True).to_arrow()
    check_names(table.column_names, name)
    return TableInMemory(name, kinds_of(table), table=table)


def read_table(path: AnyPath, dialect: Dialect = RECOGNISED) -> Any:
    """All rows and columns of a file of any format, as one Arrow table: numbers as numbers, all else as text.

    For whoever wants a table that holds no predictions, such as the features of a data set. Errors name the file
    and the line.
    """
    source = open_source(path, dialect=dialect)
    numbers = tuple(name for name, kind in source.kinds.items() if kind == "number")
    model = Predictions(source.path, (source,), Columns(numbers, numbers))
    with explained(source.path, "a table"):
        parts = []
        held = 0
        for rows in model.walk(list(source.kinds)):
            parts.append(rows.records)
            held += parts[-1].nbytes
            source.check_held(held)
        if not parts:
            raise model.no_rows()
        return pa.concat_tables(parts)


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file, or some of its row groups."""

    groups: tuple[tuple[int, int], ...] = ()  # their numbers and lengths
    repeating: frozenset[str] = frozenset()  # columns of text that is written as numbers in a dictionary

    @classmethod
    def open(cls, path: str, _: bytes, __: Dialect, ___: Sequence[str] | None, limit: Limit) -> Self:
        """Columns that take very little room are written as a dictionary; ids, each another, are not."""
        import pyarrow.parquet as pq  # with what other systems' files need: no text asks for that

        with explained(path, "Parquet"), pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            metadata = file.metadata
            groups = tuple((index, metadata.row_group(index).num_rows) for index in range(metadata.num_row_groups))
            chunks = [metadata.row_group(0).column(index) for index in range(metadata.num_columns) if groups]
            for number, _rows in groups:
                group = metadata.row_group(number)
                for index in range(group.num_columns):
                    limit.check(group.column(index).total_uncompressed_size)
        check_names(schema.names, path)
        repeating = frozenset(
            chunk.path_in_schema
            for chunk in chunks
            if chunk.total_uncompressed_size < BYTES_IN_DICTIONARY * chunk.num_values
        )
        return cls(path, kinds_of(schema), n_rows=metadata.num_rows, groups=groups, repeating=repeating)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
        """Only the columns' own pages are read; text that repeats comes as a dictionary, as it lies there."""
        import pyarrow.parquet as pq

        options: Fields = {"read_dictionary": list(self.repeating.intersection(columns) - numbers)}
        options |= {"buffer_size": BUFFER_BYTES, "pre_buffer": False}  # a file read ahead would stay in memory
        with explained(self.path, "Parquet"), pq.ParquetFile(self.path, **options) as file:
            groups = [index for index, _ in self.groups]
            yield from valid_rows(file.iter_batches(rows, columns=list(columns), row_groups=groups))

    def pieces(self) -> list[Source]:
        """Row groups."""
        starts = accumulate((rows for _, rows in self.groups), initial=0)
        pieces: list[Source] = []
        for group, first in zip(self.groups, starts, strict=False):
            pieces.append(replace(self, groups=(group,), first=first, n_rows=group[1]))
        return pieces or [self]


@dataclass(frozen=True)
class ArrowFile(Source):
    """An Arrow IPC file (or Feather, which is the same), or a stream of the kind that has no table of contents."""

    is_stream: bool = False

    @classmethod
    def open(cls, path: str, head: bytes, _: Dialect, __: Sequence[str] | None, limit: Limit) -> Self:
        """Its schema is read, and how large its record batches are, which are read whole."""
        file = cls(path, {}, is_stream=not head.startswith(b"ARROW1"))
        for size in batch_sizes(path, file.is_stream):
            limit.check(size)
        with explained(path, "Arrow"), file._reader() as reader:
            schema = reader.schema
        check_names(schema.names, path)
        return replace(file, kinds=kinds_of(schema))

    def _reader(self, **options: Any) -> Any:
        return (ipc.open_stream if self.is_stream else ipc.open_file)(self.path, **options)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Tables:
        """Record batches as they were written."""
        position = {name: index for index, name in enumerate(self.kinds)}
        options = ipc.IpcReadOptions(included_fields=[position[name] for name in columns])
        with explained(self.path, "Arrow"), self._reader(options=options) as reader:
            batches = reader if self.is_stream else map(reader.get_batch, range(reader.num_record_batches))
            yield from valid_rows(batches)


def open_archive(path: str, _: bytes, __: Dialect, classes: Sequence[str] | None, limit: Limit) -> TableInMemory:
    """The forecasts in `y_proba`, columns ``y_proba:cat``; arrays of one value per row are columns, too.

    The archive's `classes` name those of forecasts, or the `classes` that were asked for, else numbers do.
    """
    with (
        explained(path, "NPZ", *BAD_ARCHIVE),
        open(path, "rb") as file,  # which NumPy would leave open after an error
        np.load(file, allow_pickle=False) as archive,
    ):
        limit.check(COPIES * sum(member.file_size for member in archive.zip.infolist()))
        arrays = {key: np.asarray(array) for key, array in archive.items()}
    if FORECASTS not in arrays or arrays[FORECASTS].ndim != 2:
        problem = f"holds the arrays {quoted(sorted(arrays))}"
        raise FileError(problem, path, "save the forecasts as y_proba, shape (rows, classes)")
    forecasts = np.ascontiguousarray(_plain(arrays.pop(FORECASTS), path, FORECASTS).T)
    titles = arrays.pop(CLASSES, None)
    if titles is not None:
        classes = _classes_of_archive(titles, len(forecasts), path)
    names: Sequence[str] = list(map(str, range(len(forecasts))))
    if classes and len(classes) == len(forecasts):
        names = classes
    columns: dict[str, NDArray[Any]] = {}
    for name, forecast in zip(names, forecasts, strict=True):
        columns[f"{FORECASTS}:{name}"] = forecast
    for key, array in arrays.items():
        if array.shape == forecasts.shape[1:] and (key in USUAL_NAMES or array.dtype.kind in PLAIN):
            columns[key] = _plain(array, path, key)
        elif key in USUAL_NAMES:
            problem = f"has shape {array.shape} but there are {forecasts.shape[1]} forecasts"
            raise FileError(problem, path, "write one entry per forecast", f": {key}", column=key)
    table = pa.table(columns)
    return TableInMemory(
        path,
        kinds_of(table.schema),
        layout={"proba_prefix": f"{FORECASTS}:"},
        names_classes=classes is not None,
        table=table,
    )


def _classes_of_archive(titles: NDArray[Any], n: int, path: str) -> list[str]:
    """The names of an archive's `n` columns of forecasts, from its array of them."""
    classes = [str(name) for name in _plain(titles.ravel(), path, CLASSES).tolist()]
    if not len(set(classes)) == len(classes) == n:
        problem = f"holds {quoted(classes)} but {FORECASTS} has {n} columns"
        raise FileError(problem, path, "name each column once", f": {CLASSES}")
    return classes


def _plain(array: NDArray[Any], path: str, key: str) -> NDArray[Any]:
    """In this machine's byte order and a precision that Arrow knows; text as Python's."""
    kind = array.dtype.kind
    problem = f"holds {array.dtype}"
    try:
        if kind in "US":
            return (np.char.decode(array, "utf-8") if kind == "S" else array).astype(object)
        if kind in PLAIN:
            dtype = np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
            return array.astype(dtype, copy=False)
    except (UnicodeError, ValueError, SystemError):  # SystemError: beyond the last character of Unicode
        problem = "holds bytes that are no text"
    raise FileError(problem, path, "save UTF-8 text or numbers", f": array {key!r}", column=key)


def open_sheet(path: str, _: bytes, dialect: Dialect, __: Sequence[str] | None, limit: Limit) -> TableInMemory:
    """One sheet: the names of the columns in its first row that names them all, and the rows below."""
    calamine = import_optional("python_calamine", extra="excel")
    _check_extent(path, limit)
    with explained(path, "Excel", calamine.CalamineError), calamine.CalamineWorkbook.from_path(path) as book:
        titles = book.sheet_names
        number = _sheet_number(str(dialect.sheet or 1), titles, path)
        cells = book.get_sheet_by_index(number).to_python(skip_empty_area=False)
    rows = dict[int, list[Any]]()  # those that are not empty, by their numbers in the sheet
    for row_number, row in enumerate(cells, 1):
        if any(map(str, row)):
            rows[row_number] = [_value(cell) for cell in row]
    width = max((_filled_width(row) for row in rows.values()), default=0)
    if width == 0:
        raise FileError("has an empty sheet", path, "name another (--sheet), or fill it")
    wide = [row[:width] for row in rows.values()]
    above = _rows_above_names(wide, width)
    names = ["" if cell is None else str(cell) for cell in wide[above]]
    check_names(names, path)
    table = arrow_table([dict(zip(names, row, strict=True)) for row in wide[above + 1 :]], names)
    words = list[str]()
    if len(titles) > 1:
        words.append(f"sheet {titles[number]!r} read, of {len(titles)}")
    if above:
        words.append(f"{counted(above, 'row')} above the names of columns left out")
    done = noted("sheet", len(words), f"{path}: {'; '.join(words)}", path)
    places = [f" row {row_number}" for row_number in rows][above + 1 :]
    return TableInMemory(path, kinds_of(table), done=done, table=table, row_places=places)


def _filled_width(row: Sequence[Any]) -> int:
    """How many columns a row has, up to its last cell that holds something."""
    return max((column for column, cell in enumerate(row, 1) if cell is not None), default=0)


def _rows_above_names(rows: Sequence[list[Any]], width: int) -> int:
    """How many rows, such as titles, stand above the first that names all columns (the first may have no name)."""
    for number, row in enumerate(rows):
        if None not in row[min(1, width - 1) :]:
            return number
    return 0


def _value(cell: Any) -> Any:
    """As people see it: nothing, text, or a number, 1 rather than 1.0."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return str(cell).strip() or None
    return int(cell) if cell == int(cell) and abs(cell) < WHOLE else cell


def _check_extent(path: str, limit: Limit) -> None:
    """No sheet that takes too much memory, nor a cell far away from all others.

    A sheet is held whole, from its first cell to its last. What the archive says of sizes is not believed: its
    members are read, a part at a time.
    """
    with explained(path, "Excel", *BAD_ZIP), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if re.fullmatch(r"xl/.*\.(xml|bin)", name)]
        sheets = [name for name in members if name.startswith("xl/worksheets/")]
        for name in set(members).difference(sheets):
            with archive.open(name) as content:
                for size in accumulate(map(len, iter(partial(content.read, BUFFER_BYTES), b""))):
                    limit.check(size)
        lengths = [len(text) for text in archive.read(TEXTS).split(b"<si")[1:]] if TEXTS in members else []
        for name in sheets:
            with archive.open(name) as content:
                extent = _read_extent(content, lengths, limit)
            places = extent.rows * extent.columns
            if places > max(SMALL, SPARSEST * extent.cells):
                area = f"{extent.rows:,} rows and {extent.columns:,} columns"
                problem = f"has a sheet of {extent.cells:,} cells in {area}"
                raise FileError(problem, path, "delete cells that lie far away from the table")
            limit.check(BYTES_PER_CELL * places + extent.text)


class _Extent(NamedTuple):
    """How large a sheet is."""

    cells: int
    rows: int
    columns: int
    text: int  # bytes in cells that refer to the workbook's list of texts


def _read_extent(content: IO[bytes], lengths: Sequence[int], limit: Limit) -> _Extent:
    """The extent of a sheet, which is read a part at a time; `lengths` are those of the workbook's texts."""
    cells = 0
    rows = 0
    columns = 0
    text = 0
    size = 0
    rest = b""
    while part := content.read(BUFFER_BYTES):
        size += len(part)
        limit.check(size)
        window = rest + part
        end = 0
        for match in CELL.finditer(window):
            end = match.end()
            if match[3] is None:
                cells += 1
                rows = max(rows, int(match[2]))
                columns = max(columns, _column_number(match[1]))
            elif int(match[3]) < len(lengths):
                text += lengths[int(match[3])]
        rest = window[max(end, len(window) - LONGEST_MATCH) :]
    return _Extent(cells, rows, columns, text)


@cache
def _column_number(letters: bytes) -> int:
    """Of a column of a sheet: A is 1, AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("@"), letters, 0)


def _sheet_number(sheet: str, names: Sequence[str], path: str) -> int:
    """Which sheet is asked for, by its name or its number from 1, counted from 0."""
    if meant := matched([sheet], names):
        return names.index(meant[sheet])
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1
    problem = f"has no sheet {sheet!r} among {quoted(names)}"
    raise FileError(problem, path, "name one, or its number (--sheet)", argument="sheet")


BEGINNINGS: dict[bytes, Any] = {
    rb"PAR1": ParquetFile.open,
    rb"ARROW1|\xff\xff\xff\xff": ArrowFile.open,
    rb"PK\x03\x04.*(xl/work|\[Content_Types\])": open_sheet,
    rb"PK(\x03\x04|\x05\x06)": open_archive,
}

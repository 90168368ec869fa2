"""Files that programs write: Parquet and Arrow, read a batch at a time; NPZ archives; sheets of workbooks."""

from __future__ import annotations

import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import accumulate
from tokenize import TokenError
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pandora_regret.files.columns import explained, kinds_of, rows_within
from pandora_regret.files.layout import Kind, Layout, some
from pandora_regret.files.problems import FileError
from pandora_regret.files.roles import ROLES
from pandora_regret.files.source import Records, Source, TableInMemory, check_names, even_cuts, unreadable
from pandora_regret.inputs import Done
from pandora_regret.optional import import_optional

BYTES_IN_DICTIONARY = 6  # of a row whose text is written as its number in a dictionary, at most
BUFFER_BYTES = 1 << 20  # of each Parquet column: a huge row group is not read at once
FORECASTS, COSTS, CLASSES = "y_proba", "costs", "classes"
USUAL_NAMES = frozenset(name for role in ROLES for name in role.usual)
DENSEST = 1032  # bytes that a byte of a deflated file can stand for
BAD_ZIP = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError, RuntimeError, NotImplementedError)
BAD_ARRAY = (ValueError, SyntaxError, TokenError, RecursionError, MemoryError, KeyError)  # headers are literals
KINDS: Mapping[str, Kind] = {**dict.fromkeys("fiu", "number"), **dict.fromkeys("US", "text")}
CELL = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
SMALL, SPARSEST = 1 << 24, 100  # places in a sheet; places for each cell
WHOLE = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file, or some of its row groups."""

    groups: tuple[int, int] | None = None  # from, and up to but not with
    lengths: tuple[int, ...] = ()  # of the row groups
    repeating: frozenset[str] = frozenset()  # columns of text that is written as numbers in a dictionary

    @classmethod
    def open(cls, path: str) -> Self:
        with explained(path, "Parquet"), pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            lengths = tuple(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
            repeating = _repeating(metadata) if lengths else frozenset()
        check_names(schema.names, path)
        return cls(path, kinds_of(schema), lengths=lengths, repeating=repeating)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Only the columns' own pages are read; text that repeats comes as a dictionary, as it lies there."""
        options: dict[str, Any] = {
            "read_dictionary": [name for name in columns if name in self.repeating - numbers]
        }
        options |= {"buffer_size": BUFFER_BYTES, "pre_buffer": False}  # a file read ahead would stay in memory
        with explained(self.path, "Parquet"), pq.ParquetFile(self.path, **options) as file:
            groups = range(*self.groups) if self.groups else None
            yield from _valid(file.iter_batches(rows, columns=list(columns), row_groups=groups))

    def pieces(self, n: int) -> list[Source]:
        """Whole row groups."""
        start, stop = self.groups or (0, len(self.lengths))
        ends = list(accumulate(self.lengths[start:stop], initial=0))
        return [
            replace(self.part(ends[low], ends[high]), groups=(start + low, start + high))
            for low, high in even_cuts(stop - start, n)
        ]

    def _count(self) -> int:
        return sum(self.lengths)


def _repeating(metadata: Any) -> frozenset[str]:
    """Columns that take so little room that they are written as a dictionary; ids, each another, are not."""
    group = metadata.row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    return frozenset(
        chunk.path_in_schema
        for chunk in chunks
        if chunk.total_uncompressed_size < BYTES_IN_DICTIONARY * chunk.num_values
    )


@dataclass(frozen=True)
class ArrowFile(Source):
    """An Arrow IPC file (or Feather, which is the same), or a stream of the kind that has no table of contents."""

    @classmethod
    def open(cls, path: str) -> Self:
        with explained(path, "Arrow"), _open_arrow(path) as reader:
            schema = reader.schema
        check_names(schema.names, path)
        return cls(path, kinds_of(schema))

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Record batches as they were written, cut to this source's rows."""
        position = {name: index for index, name in enumerate(self.kinds)}
        options = ipc.IpcReadOptions(included_fields=[position[name] for name in columns])
        with explained(self.path, "Arrow"), _open_arrow(self.path, options=options) as reader:
            yield from rows_within(_valid(_batches(reader)), self.first, self.n_rows)


def _open_arrow(path: str, **options: Any) -> Any:
    with open(path, "rb") as file:
        has_contents = file.read(6) == b"ARROW1"
    return (ipc.open_file if has_contents else ipc.open_stream)(path, **options)


def _batches(reader: Any) -> Iterator[Records]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _valid(batches: Iterator[Records]) -> Iterator[Records]:
    """Batches whose offsets lie within them and whose text is UTF-8, as Arrow believes without looking."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


@dataclass(frozen=True)
class NpzFile(Source):
    """One model's forecasts in an NPZ archive, and the arrays beside them, as if they were columns.

    An array of one value per row is a column; the forecasts' columns are ``y_proba:cat``, after the array and
    the class, and those of an array of costs ``costs:cat``.
    """

    model: str = FORECASTS
    length: int = 0
    classes: tuple[str, ...] = ()
    names_classes: bool = True

    def in_layout(self, layout: Layout) -> Layout:
        """Which columns are forecasts is no question here."""
        costs = f"{COSTS}:" if f"{COSTS}:{self.classes[0]}" in self.kinds else None
        return replace(layout, proba_prefix=f"{self.model}:", cost_prefix=costs)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Some rows of each array at a time."""
        arrays, place = _arrays_of(self.path), {name: k for k, name in enumerate(self.classes)}
        end = self.first + self.count()
        for start in range(self.first, end, rows):
            cut = slice(start, min(start + rows, end))
            parts = {}
            for name in columns:
                key, _, label = name.partition(":")
                array = arrays[name][cut] if name in arrays else arrays[key][cut, place[label]]
                parts[name] = pa.array(_plain(array, self.path, name))
            yield pa.record_batch(parts)

    def _count(self) -> int:
        return self.length


def _plain(array: NDArray[Any], path: str, key: str) -> NDArray[Any]:
    """In this machine's byte order and a precision that Arrow knows; text as Python's."""
    if array.dtype.kind in "US":
        try:
            return (np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array).astype(object)
        except (UnicodeError, ValueError, SystemError):  # SystemError: beyond the last character of Unicode
            raise _array_error(path, key, "holds bytes that are no text", "save UTF-8 text") from None
    if array.dtype.kind not in "biuf":
        raise _array_error(path, key, f"holds {array.dtype}", "save text or numbers")
    dtype = np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
    return np.ascontiguousarray(array, dtype=dtype)


def open_archive(path: str, classes: Sequence[str] | None) -> dict[str, Source]:
    """The tables of forecasts by name: `y_proba`, which needs none, or every other table of numbers.

    `classes` name the columns where the archive does not, else numbers do.
    """
    arrays = _arrays_of(path)
    tables = [key for key, array in arrays.items() if array.ndim == 2]
    models = [FORECASTS] if FORECASTS in tables else [key for key in tables if key != COSTS] or tables
    if not models:
        fix = "save the forecasts as y_proba, shape (rows, classes)"
        raise FileError(f"holds the arrays {some(sorted(arrays))}", path=path, fix=fix)
    return {"" if key == FORECASTS else key: _open_model(path, key, arrays, classes) for key in models}


def _open_model(
    path: str, model: str, arrays: Mapping[str, NDArray[Any]], classes: Sequence[str] | None
) -> NpzFile:
    n_rows, n_classes = shape = arrays[model].shape
    columns = [key for key, array in arrays.items() if array.shape == (n_rows,) or key in USUAL_NAMES]
    columns = [key for key in columns if key not in (CLASSES, model, COSTS)]
    tables = [key for key in dict.fromkeys((model, COSTS)) if key in arrays]
    for key in (*columns, *tables):
        if arrays[key].shape != (shape if key in tables else shape[:1]):
            problem = f"has shape {arrays[key].shape} but {model} has shape {shape}"
            fix = f"every array needs one entry per row, shape ({n_rows},), and costs one per class too"
            raise FileError(problem, path=path, where=f": {key}", column=key, value=arrays[key].shape, fix=fix)
    named = _class_names(path, model, arrays) if CLASSES in arrays else classes
    names = tuple(map(str, range(n_classes)) if named is None or len(named) != n_classes else named)
    kinds: dict[str, Kind] = {key: KINDS.get(arrays[key].dtype.kind, "other") for key in columns}
    kinds |= {f"{key}:{name}": KINDS.get(arrays[key].dtype.kind, "other") for key in tables for name in names}
    return NpzFile(path, kinds, model=model, length=n_rows, classes=names, names_classes=named is not None)


def _class_names(path: str, model: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The array `classes`."""
    n_classes = arrays[model].shape[1]
    names = tuple(map(str, _plain(arrays[CLASSES].ravel(), path, CLASSES).tolist()))
    if len(names) != n_classes or len(set(names)) != n_classes:
        problem = f"holds {some(names)} but {model} has {n_classes} columns"
        raise FileError(problem, path=path, where=f": {CLASSES}", value=names, fix="name each column once")
    return names


def _arrays_of(path: str) -> dict[str, NDArray[Any]]:
    """All arrays; those of the last archive are kept, as it is asked for again at once."""
    return _load(path, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=1)
def _load(path: str, changed: int) -> dict[str, NDArray[Any]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
            return {info.filename.removesuffix(".npy"): _array(archive, path, info) for info in members}
    except BAD_ZIP as error:
        raise unreadable(path, "NPZ", error) from None


def _array(archive: zipfile.ZipFile, path: str, info: zipfile.ZipInfo) -> NDArray[Any]:
    """An array whose header claims no more than the file can hold: memory is taken for what it claims."""
    key = info.filename.removesuffix(".npy")
    densest = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DENSEST}.get(info.compress_type, np.inf)
    try:
        with archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            reads = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
            shape, _, dtype = reads.get(version, reads[2, 0])(member)
            n_bytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
            if not 0 <= n_bytes <= min(info.file_size, densest * (info.compress_size + 1)):
                raise ValueError(f"it claims to hold {n_bytes:,} bytes, more than the file has")
            if dtype.hasobject:
                raise ValueError("it holds Python objects, which are not read for safety; save text or numbers")
        with archive.open(info) as member:
            return np.lib.format.read_array(member, allow_pickle=False)
    except BAD_ARRAY as error:
        raise unreadable(path, "an array", error, where=f": array {key!r}") from None


def _array_error(path: str, key: str, problem: str, fix: str) -> FileError:
    return FileError(problem, path=path, where=f": array {key!r}", column=key, fix=fix)


def open_sheet(path: str, sheet: str | int | None = None) -> TableInMemory:
    """One sheet: the names of the columns in its first row that is not empty, and the rows below."""
    calamine = import_optional("python_calamine", extra="excel")
    _check_extent(path)
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            number, titles = _sheet_number(sheet, book.sheet_names, path), book.sheet_names
            cells = book.get_sheet_by_index(number).to_python(skip_empty_area=False)
    except (calamine.CalamineError, OSError) as error:
        raise unreadable(path, "Excel", error) from None
    rows = {number: row for number, row in enumerate(cells, 1) if any(cell != "" for cell in row)}
    if not rows:
        raise FileError("has an empty sheet", path=path, fix="name another (--sheet), or fill it")
    header, *body = rows.values()
    width = max(index for row in rows.values() for index, cell in enumerate(row, 1) if cell != "")
    names = [_text(cell) or "" for cell in header[:width]]
    check_names(names, path)
    table = pa.table({name: _column(row[index] for row in body) for index, name in enumerate(names)})
    sentence = f"{path}: sheet {titles[number]!r} read, of {len(titles)}"
    done = (Done("sheet", len(titles) - 1, sentence, path),) if len(titles) > 1 else ()
    places = [f" row {number}" for number in list(rows)[1:]]
    return TableInMemory(path, kinds_of(table.schema), done=done, table=table, row_places=places)


def _check_extent(path: str) -> None:
    """No cell far away from all others: a sheet is held whole, from its first cell to its last."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/.*\.xml", name)]
            sheets = [CELL.findall(archive.read(name)) for name in names]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise unreadable(path, "Excel", error) from None
    for cells in sheets:
        rows = max((int(row) for _, row in cells), default=0)
        columns = max(map(_column_number, {letters for letters, _ in cells}), default=0)
        if rows * columns > max(SMALL, SPARSEST * len(cells)):
            problem = f"has a sheet of {len(cells):,} cells in {rows:,} rows and {columns:,} columns"
            raise FileError(problem, path=path, fix="delete cells that lie far away from the table")


def _column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("A") + 1, letters, 0)


def _sheet_number(sheet: str | int | None, names: Sequence[str], path: str) -> int:
    """Which sheet is asked for, by its name or its number from 1, counted from 0."""
    if sheet is None and names:
        return 0
    if sheet in names:
        return names.index(str(sheet))
    if str(sheet).isdecimal() and 1 <= int(str(sheet)) <= len(names):
        return int(str(sheet)) - 1
    problem = f"has the sheets {some(names)}" if sheet is None else f"has no sheet {sheet!r} among {some(names)}"
    raise FileError(problem, path=path, argument="sheet", value=sheet, fix="name one, or its number (--sheet)")


def _column(cells: Iterable[Any]) -> Any:
    """Whole numbers, numbers, or text; nothing where a cell is empty."""
    values = [None if cell == "" else cell for cell in cells]
    present = [value for value in values if value is not None]
    if not present or any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in present):
        return pa.array([_text(value) for value in values], pa.string())
    whole = all(value == int(value) and abs(value) < WHOLE for value in present)
    return pa.array(values, pa.float64()).cast(pa.int64()) if whole else pa.array(values, pa.float64())


def _text(cell: Any) -> str | None:
    """As people see it: 1, not 1.0."""
    if isinstance(cell, float) and cell == int(cell) and abs(cell) < WHOLE:
        return str(int(cell))
    return None if cell is None else str(cell).strip()

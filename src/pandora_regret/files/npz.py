"""NPZ archives: arrays that are streamed out of the zip file, never unpickled."""

from __future__ import annotations

import lzma
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from tokenize import TokenError
from typing import Any, BinaryIO, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pandora_regret.files.errors import FileError
from pandora_regret.files.layout import Kind, Layout, some
from pandora_regret.files.roles import ROLES
from pandora_regret.files.source import Records, Source, unreadable
from pandora_regret.inputs import InputError

FORECASTS, COSTS, CLASSES = "y_proba", "costs", "classes"
USUAL_NAMES = frozenset(name for role in ROLES for name in role.usual)
DENSEST = 1032  # bytes that a byte of a deflated file can stand for
BAD_HEADER = (ValueError, SyntaxError, TokenError, RecursionError, MemoryError)  # read as Python literals
DAMAGED = "the file may be incomplete or damaged; write it again"
UNREADABLE = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True)
class Header:
    """What an array's header says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool


@dataclass(frozen=True)
class NpzFile(Source):
    """One model's forecasts in an NPZ archive, and the arrays beside them, as if they were columns.

    An array of one value per row is a column; the forecasts' columns are ``y_proba:cat``, after the array and
    the class, and those of an array of costs ``costs:cat``.
    """

    model: str = FORECASTS
    headers: Mapping[str, Header] = field(default_factory=dict, compare=False, repr=False)
    classes: tuple[str, ...] = ()
    names_classes: bool = True

    @classmethod
    def open(cls, path: str, model: str, headers: Mapping[str, Header], classes: Sequence[str] | None) -> Self:
        """One table of the archive; `classes` name its columns where the archive does not, else numbers do."""
        n_classes = headers[model].shape[1]
        kept = _arrays_of(path, model, headers)
        named = _class_names(path, model, headers) if CLASSES in headers else classes
        names = tuple(map(str, range(n_classes)) if named is None or len(named) != n_classes else named)
        kinds = {key: _kind(header.dtype) for key, header in kept.items() if len(header.shape) == 1}
        tables = [key for key in (model, COSTS) if key in kept]
        kinds |= {f"{key}:{name}": _kind(kept[key].dtype) for key in tables for name in names}
        return cls(path, kinds, model=model, headers=kept, classes=names, names_classes=named is not None)

    def in_layout(self, layout: Layout) -> Layout:
        """Which columns are forecasts is no question here."""
        costs = f"{COSTS}:" if COSTS in self.headers else None
        return replace(layout, proba_prefix=f"{self.model}:", cost_prefix=costs)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Each array is read along, so many rows at a time."""
        wanted = {name if name in self.headers else name.split(":")[0] for name in columns}
        n_rows = self.count()
        with _archive(self.path) as archive, ExitStack() as stack:
            readers = {key: _ArrayRows(archive, self.path, key, self.first, stack) for key in sorted(wanted)}
            for start in range(0, n_rows, rows):
                n = min(rows, n_rows - start)
                arrays = self._columns({key: reader.next(n) for key, reader in readers.items()})
                yield pa.record_batch({name: pa.array(self._plain(arrays[name], name)) for name in columns})

    def _columns(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        columns = {key: array for key, array in arrays.items() if array.ndim == 1}
        tables = {key: array.T for key, array in arrays.items() if array.ndim == 2}
        return columns | {f"{key}:{name}": tables[key][k] for key in tables for k, name in enumerate(self.classes)}

    def _plain(self, array: NDArray[Any], name: str) -> NDArray[Any]:
        """In this machine's byte order and a precision that Arrow knows; text as Python's."""
        if array.dtype.kind in "US":
            return _texts(array, self.path, name)
        if array.dtype.kind not in "biuf":
            raise _array_error(self.path, name, f"holds {array.dtype}", "save text or numbers")
        dtype = np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
        return np.ascontiguousarray(array, dtype=dtype)

    def _count(self) -> int:
        return self.headers[self.model].shape[0]


def _arrays_of(path: str, model: str, headers: Mapping[str, Header]) -> dict[str, Header]:
    """The arrays that go with a model; each must have as many rows as the forecasts."""
    table = headers[model].shape
    kept = {key: of for key, of in headers.items() if of.shape == table[:1] or key in USUAL_NAMES}
    kept |= {key: headers[key] for key in (model, COSTS) if key in headers}
    kept.pop(CLASSES, None)
    for key, header in kept.items():
        if header.shape not in (table[:1], table):
            problem = f"has shape {header.shape} but {model} has shape {table}"
            fix = f"every array needs one entry per row, shape ({table[0]},), and costs one per class too"
            raise FileError(problem, path=path, where=f": {key}", column=key, value=header.shape, fix=fix)
    return kept


def _class_names(path: str, model: str, headers: Mapping[str, Header]) -> tuple[str, ...]:
    """The array `classes`."""
    n_classes = headers[model].shape[1]
    with _archive(path) as archive, ExitStack() as stack:
        array = _ArrayRows(archive, path, CLASSES, 0, stack).next(math.prod(headers[CLASSES].shape[:1])).ravel()
    names = tuple(map(str, _texts(array, path, CLASSES) if array.dtype.kind in "US" else array.tolist()))
    if len(names) != n_classes or len(set(names)) != n_classes:
        problem = f"holds {some(names)} but {model} has {n_classes} columns"
        raise FileError(problem, path=path, where=f": {CLASSES}", value=names, fix="name each column once")
    return names


def _texts(array: NDArray[Any], path: str, key: str) -> NDArray[Any]:
    try:
        return (np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array).astype(object)
    except (UnicodeError, ValueError, SystemError):  # SystemError: beyond the last character of Unicode
        raise _array_error(path, key, "holds bytes that are no text", "save UTF-8 text") from None


def models_of(path: str, headers: Mapping[str, Header]) -> list[str]:
    """The arrays that hold forecasts: `y_proba`, or every other table of numbers, each a model of its own."""
    tables = [key for key, header in headers.items() if len(header.shape) == 2 and key != COSTS]
    models = [FORECASTS] if FORECASTS in tables else tables
    if not models:
        fix = "save the forecasts as y_proba, shape (rows, classes)"
        raise FileError(f"holds the arrays {some(sorted(headers))}", path=path, fix=fix)
    return models


def headers_of(path: str) -> dict[str, Header]:
    """Every array's shape and type, without reading the arrays."""
    with _archive(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        return {info.filename.removesuffix(".npy"): _checked_header(archive, path, info) for info in members}


@contextmanager
def _archive(path: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except InputError:
        raise
    except UNREADABLE as error:
        raise unreadable(path, "NPZ", error) from None


def _checked_header(archive: zipfile.ZipFile, path: str, info: zipfile.ZipInfo) -> Header:
    """An array's header, which may claim no more than the file can hold: memory is taken for what it claims."""
    key = info.filename.removesuffix(".npy")
    with archive.open(info) as member:
        header = _header(member, path, key)
    densest = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: DENSEST}.get(info.compress_type, math.inf)
    n_bytes = math.prod(header.shape) * header.dtype.itemsize
    if n_bytes > min(info.file_size, densest * (info.compress_size + 1)):
        raise _array_error(path, key, f"claims to hold {n_bytes:,} bytes, more than the file has", DAMAGED)
    return header


def _array_error(path: str, key: str, problem: str, fix: str) -> FileError:
    return FileError(problem, path=path, where=f": array {key!r}", column=key, fix=fix)


def _header(member: Any, path: str, key: str) -> Header:
    """Read past an array's header; arrays of Python objects are pickles, and refused."""
    try:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, dtype = read(member)
    except BAD_HEADER as error:
        raise unreadable(path, "an array", error, where=f": array {key!r}") from None
    if min(shape, default=0) < 0:
        raise _array_error(path, key, f"has shape {shape}", DAMAGED)
    if dtype.hasobject:
        problem = "holds Python objects, which are not read for safety"
        raise _array_error(path, key, problem, "save text or numbers")
    return Header(shape, dtype, fortran and len(shape) > 1)


class _ArrayRows:
    """An array's rows, one stretch after the other."""

    def __init__(self, archive: zipfile.ZipFile, path: str, key: str, first: int, stack: ExitStack) -> None:
        self._file: BinaryIO = stack.enter_context(archive.open(f"{key}.npy"))  # type: ignore[assignment]
        self._path, self._key = path, key
        self._header = _header(self._file, path, key)
        self._whole: NDArray[Any] | None = None
        if self._header.fortran:  # its rows lie scattered
            self._whole = self._take(self._header.shape[::-1]).T[first:]
        else:
            row_bytes = math.prod(self._header.shape[1:]) * self._header.dtype.itemsize
            self._file.seek(self._file.tell() + first * row_bytes)

    def next(self, n: int) -> NDArray[Any]:
        if self._whole is None:
            return self._take((n, *self._header.shape[1:]))
        taken, self._whole = self._whole[:n], self._whole[n:]
        return taken

    def _take(self, shape: tuple[int, ...]) -> NDArray[Any]:
        wanted = math.prod(shape) * self._header.dtype.itemsize
        content = self._file.read(wanted)
        if len(content) < wanted:
            raise _array_error(self._path, self._key, "ends too early", DAMAGED)
        return np.frombuffer(content, self._header.dtype, math.prod(shape)).reshape(shape)


def _kind(dtype: np.dtype[Any]) -> Kind:
    return "number" if dtype.kind in "fiu" else ("text" if dtype.kind in "US" else "other")

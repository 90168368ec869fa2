"""NPZ archives: arrays by name, never unpickled."""

from __future__ import annotations

import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from tokenize import TokenError
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pandora_regret.files.layout import Kind, Layout, some
from pandora_regret.files.problems import FileError
from pandora_regret.files.roles import ROLES
from pandora_regret.files.source import Records, Source, unreadable

FORECASTS, COSTS, CLASSES = "y_proba", "costs", "classes"
USUAL_NAMES = frozenset(name for role in ROLES for name in role.usual)
DENSEST = 1032  # bytes that a byte of a deflated file can stand for
BAD_ZIP = (zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, OSError, RuntimeError, NotImplementedError)
BAD_ARRAY = (ValueError, SyntaxError, TokenError, RecursionError, MemoryError, KeyError)  # headers are literals
KINDS: Mapping[str, Kind] = {**dict.fromkeys("fiu", "number"), **dict.fromkeys("US", "text")}


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

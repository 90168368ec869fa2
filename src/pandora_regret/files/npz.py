"""NPZ archives: arrays that are streamed out of the zip file, never unpickled."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.layout import USUAL_NAMES, Kind, Layout
from pandora_regret.files.source import Records, Source, even_cuts, unreadable
from pandora_regret.inputs import InputError
from pandora_regret.optional import import_optional

FORECASTS, COSTS, CLASSES = "y_proba", "costs", "classes"


@dataclass(frozen=True)
class Shape:
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

    def in_layout(self, layout: Layout) -> Layout:
        """Which columns are forecasts is no question here."""
        costs = f"{COSTS}:" if COSTS in shapes_of(self.path) else None
        return replace(layout, proba_prefix=f"{self.model}:", cost_prefix=costs)

    def kinds(self) -> dict[str, Kind]:
        """The arrays of one value per row, then the classes, then what tests cost."""
        shapes, classes = self._shapes(), self.classes()
        kinds = {key: _kind(shape.dtype) for key, shape in shapes.items() if len(shape.shape) == 1}
        tables = [key for key in (self.model, COSTS) if key in shapes]
        return kinds | {f"{key}:{name}": _kind(shapes[key].dtype) for key in tables for name in classes}

    def classes(self) -> tuple[str, ...]:
        """The array `classes`, or column numbers."""
        shapes = shapes_of(self.path)
        n_classes = shapes[self.model].shape[1]
        if CLASSES not in shapes:
            return tuple(str(at) for at in range(n_classes))
        with _archive(self.path) as archive, ExitStack() as stack:
            reader = _Rows(archive, self.path, CLASSES, 0, stack)
            listed = tuple(str(name) for name in reader.next(shapes[CLASSES].shape[0]))
        if len(listed) != n_classes or len(set(listed)) != n_classes:
            raise InputError(
                f"{self.path}: classes holds {list(listed)[:8]} but {self.model} has {n_classes} columns: "
                "name each column once."
            )
        return listed

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Each array is read along, so many rows at a time."""
        arrow, names = import_optional("pyarrow", extra="cli"), self.classes()
        wanted = {name if name in self._shapes() else name.split(":")[0] for name in columns}
        with _archive(self.path) as archive, ExitStack() as stack:
            readers = {key: _Rows(archive, self.path, key, self.first, stack) for key in sorted(wanted)}
            for start in range(0, self.count(), rows):
                n = min(rows, self.count() - start)
                found = _columns({key: reader.next(n) for key, reader in readers.items()}, names)
                yield arrow.record_batch({name: arrow.array(_plain(found[name])) for name in columns})

    def pieces(self, n: int) -> list[Source]:
        """Rows in equal parts."""
        return [self.part(*cut) for cut in even_cuts(self.count(), n)]

    def count(self) -> int:
        """From the header."""
        return shapes_of(self.path)[self.model].shape[0] if self.n_rows is None else self.n_rows

    def _shapes(self) -> dict[str, Shape]:
        """The arrays that go with this model; each must have as many rows as the forecasts."""
        shapes = shapes_of(self.path)
        table = shapes[self.model].shape
        usual = {name for names in USUAL_NAMES.values() for name in names}
        kept = {key: of for key, of in shapes.items() if of.shape == table[:1] or key in usual}
        kept |= {key: shapes[key] for key in (self.model, COSTS) if key in shapes}
        kept.pop(CLASSES, None)
        for key, of in kept.items():
            if of.shape not in (table[:1], table):
                raise InputError(
                    f"{self.path}: {key} has shape {of.shape} but {self.model} has shape {table}: "
                    f"every array needs one entry per row, shape ({table[0]},), and costs one per class too."
                )
        return kept


def models_of(path: str) -> list[str]:
    """The arrays that hold forecasts: `y_proba`, or every other table of numbers, each a model of its own."""
    shapes = shapes_of(path)
    tables = [key for key, of in shapes.items() if len(of.shape) == 2 and key != COSTS]
    models = [FORECASTS] if FORECASTS in tables else tables
    if not models:
        raise InputError(
            f"{path} holds the arrays {sorted(shapes)}: save the forecasts as y_proba, shape (rows, classes)."
        )
    return models


def shapes_of(path: str) -> dict[str, Shape]:
    """Every array's shape and type, without reading the arrays."""
    with _archive(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        return {name.removesuffix(".npy"): _shape(archive, path, name) for name in names}


@contextmanager
def _archive(path: str) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise InputError(unreadable(path, "NPZ", error)) from None


def _shape(archive: zipfile.ZipFile, path: str, name: str) -> Shape:
    with archive.open(name) as member:
        return _header(member, f"{path}: array {name.removesuffix('.npy')!r}")


def _header(member: Any, what: str) -> Shape:
    """Read past an array's header; arrays of Python objects are pickles, and refused."""
    form = np.lib.format
    try:
        version = form.read_magic(member)
        header = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, fortran, dtype = header(member)
    except ValueError as error:
        raise InputError(unreadable(what, "an array", error)) from None
    if dtype.hasobject:
        raise InputError(f"{what} holds Python objects, which are not read for safety: save text or numbers.")
    return Shape(shape, dtype, fortran and len(shape) > 1)


class _Rows:
    """An array's rows, one stretch after the other."""

    def __init__(self, archive: zipfile.ZipFile, path: str, key: str, first: int, stack: ExitStack) -> None:
        self._file: BinaryIO = stack.enter_context(archive.open(f"{key}.npy"))  # type: ignore[assignment]
        self._what = f"{path}: array {key!r}"
        self._shape = _header(self._file, self._what)
        self._whole: NDArray[Any] | None = None
        if self._shape.fortran:  # its rows lie scattered
            self._whole = self._take(self._shape.shape[::-1]).T[first:]
        else:
            self._file.seek(self._file.tell() + first * self._row_bytes)

    @property
    def _row_bytes(self) -> int:
        return int(np.prod(self._shape.shape[1:], dtype=np.int64)) * self._shape.dtype.itemsize

    def next(self, n: int) -> NDArray[Any]:
        """The next rows."""
        if self._whole is None:
            return self._take((n, *self._shape.shape[1:]))
        taken, self._whole = self._whole[:n], self._whole[n:]
        return taken

    def _take(self, shape: tuple[int, ...]) -> NDArray[Any]:
        wanted = int(np.prod(shape, dtype=np.int64)) * self._shape.dtype.itemsize
        content = self._file.read(wanted)
        if len(content) < wanted:
            raise InputError(f"{self._what} ends too early: the file may be incomplete; write it again.")
        return np.frombuffer(content, self._shape.dtype).reshape(shape)


def _columns(arrays: dict[str, NDArray[Any]], classes: Sequence[str]) -> dict[str, NDArray[Any]]:
    columns = {key: array for key, array in arrays.items() if array.ndim == 1}
    for key, table in arrays.items():
        if table.ndim == 2:
            columns |= {f"{key}:{name}": column for name, column in zip(classes, table.T, strict=True)}
    return columns


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """In this machine's byte order, and text as Arrow knows it."""
    if array.dtype.kind in "US":
        return array.astype(np.str_).astype(object)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def _kind(dtype: np.dtype[Any]) -> Kind:
    return "number" if dtype.kind in "fiu" else ("text" if dtype.kind in "US" else "other")

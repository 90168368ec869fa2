"""NPZ archives of NumPy as sources."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import chain
from tokenize import TokenError

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pandora_regret.core.inputs import quoted
from pandora_regret.files.arrow_columns import kinds_of_schema
from pandora_regret.files.file_errors import FileError, explained
from pandora_regret.files.limits import Limit
from pandora_regret.files.roles import ROLES
from pandora_regret.files.source import SourceInMemory

FORECASTS = "y_proba"
CLASSES = "classes"
USUAL_NAMES = frozenset(chain.from_iterable(role.usual for role in ROLES))
PLAIN_KINDS = "USbiuf"  # kinds of arrays that are text or numbers
BAD_ZIP = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError, ValueError)
BAD_ARCHIVE = (*BAD_ZIP, SyntaxError, TokenError, MemoryError, KeyError, OverflowError)  # headers are literals
COPIES = 2  # of an archive's arrays while they are brought into order


def open_archive(path: str, classes: Sequence[str] | None, limit: Limit) -> SourceInMemory:
    """The forecasts in `y_proba`, columns ``y_proba:cat``; arrays of one value per row are columns, too.

    The archive's `classes` name those of forecasts, or the `classes` that were asked for, else numbers do.
    """
    arrays = _read_arrays(path, limit)
    if FORECASTS not in arrays or arrays[FORECASTS].ndim != 2:
        problem = f"holds the arrays {quoted(sorted(arrays))}"
        raise FileError(problem, path, "save the forecasts as y_proba, shape (rows, classes)")
    forecasts = np.ascontiguousarray(_native(arrays.pop(FORECASTS), path, FORECASTS).T)  # (K, n)
    titles = arrays.pop(CLASSES, None)
    if titles is not None:
        classes = _classes_of_archive(titles, len(forecasts), path)
    names: Sequence[str] = list(map(str, range(len(forecasts))))
    if classes and len(classes) == len(forecasts):
        names = classes
    columns: dict[str, NDArray[np.generic]] = {}
    for name, forecast in zip(names, forecasts, strict=True):
        columns[f"{FORECASTS}:{name}"] = forecast
    table = pa.table(columns | _columns_of_rows(arrays, forecasts.shape[1], path))
    return SourceInMemory(
        path,
        kinds_of_schema(table.schema),
        layout={"proba_prefix": f"{FORECASTS}:"},
        names_classes=classes is not None,
        table=table,
    )


def _read_arrays(path: str, limit: Limit) -> dict[str, NDArray[np.generic]]:
    """The arrays of an archive, by name."""
    with (
        explained(path, "NPZ", *BAD_ARCHIVE),
        open(path, "rb") as file,  # which NumPy would leave open after an error
        np.load(file, allow_pickle=False) as archive,
    ):
        limit.check(COPIES * sum(member.file_size for member in archive.zip.infolist()))
        return {key: np.asarray(array) for key, array in archive.items()}


def _columns_of_rows(
    arrays: Mapping[str, NDArray[np.generic]], n_rows: int, path: str
) -> dict[str, NDArray[np.generic]]:
    """The arrays that have one value for each row; one of a usual name must have."""
    columns: dict[str, NDArray[np.generic]] = {}
    for key, array in arrays.items():
        if array.shape == (n_rows,) and (key in USUAL_NAMES or array.dtype.kind in PLAIN_KINDS):
            columns[key] = _native(array, path, key)
        elif key in USUAL_NAMES:
            problem = f"has shape {array.shape} but there are {n_rows} forecasts"
            raise FileError(problem, path, "write one entry per forecast", f": {key}", column=key)
    return columns


def _classes_of_archive(titles: NDArray[np.generic], n: int, path: str) -> list[str]:
    """The names of an archive's `n` columns of forecasts, from its array of them."""
    classes = [str(name) for name in _native(titles.ravel(), path, CLASSES).tolist()]
    if not len(set(classes)) == len(classes) == n:
        problem = f"holds {quoted(classes)} but {FORECASTS} has {n} columns"
        raise FileError(problem, path, "name each column once", f": {CLASSES}")
    return classes


def _native(array: NDArray[np.generic], path: str, key: str) -> NDArray[np.generic]:
    """In this machine's byte order and a precision that Arrow knows; text as Python's."""
    kind = array.dtype.kind
    problem = f"holds {array.dtype}"
    try:
        if kind in "US":
            return (np.char.decode(array.astype(np.bytes_), "utf-8") if kind == "S" else array).astype(object)
        if kind in PLAIN_KINDS:
            dtype = np.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
            return array.astype(dtype, copy=False)
    except (UnicodeError, ValueError, SystemError):  # SystemError: beyond the last character of Unicode
        problem = "holds bytes that are no text"
    raise FileError(problem, path, "save UTF-8 text or numbers", f": array {key!r}", column=key)

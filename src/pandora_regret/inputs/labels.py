"""Class labels: what the columns stand for, and which column is the truth of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs.numbers import InputError, IntArray, read_array

Labels: TypeAlias = Any  # array-like (N,), or a pandas / polars series


def read_labels(labels: Any, name: str = "labels") -> Sequence[Any]:
    """The columns' labels, in column order, each once."""
    listed = np.asarray(labels, dtype=object)
    if listed.ndim != 1:
        raise InputError(
            f"{name} must be a flat list with one label per column, got {labels!r:.200}; join tuples into text."
        )
    seen: set[Any] = set()
    for at, label in enumerate(listed):
        if not _is_label(label):
            raise InputError(f"{name} entry {at} is {label!r}, which is no label: name every column.")
        if label in seen or str(label) in seen:  # 1 and '1' are the same name
            raise InputError(f"{name} contain {label!r} twice: each column needs its own label.")
        seen |= {label, str(label)}
    return list(listed)


def _is_label(value: Any) -> bool:
    """Not None, NaN, NaT or pandas.NA (told by name since pandas need not be installed), and no list."""
    missing = type(value).__name__ in ("NoneType", "NAType", "NaTType") or (
        isinstance(value, float) and value != value
    )
    return not missing and type(value).__hash__ is not None


def read_truth(y_true: Labels, labels: Sequence[Any], n_rows: int) -> IntArray:
    """The column of each instance's true class."""
    given = read_array(y_true, "y_true")
    if given.dtype.kind in "US" and not isinstance(y_true, np.ndarray):
        given = np.asarray(y_true, dtype=object)  # in a list, NumPy turns what stands beside text into text
    _check_one_label_a_row(given, labels, n_rows)
    _check_nothing_missing(given)
    return _numbers(given, labels) if isinstance(labels, range) else _positions(given, labels)


def _check_one_label_a_row(given: NDArray[Any], labels: Sequence[Any], n_rows: int) -> None:
    if given.ndim != 1:
        what = f"{given.item()!r:.80}" if given.ndim == 0 else f"shape {given.shape}"
        raise InputError(f"y_true must be 1-D, one label per instance, got {what}{_hint(given.shape, labels)}.")
    if len(given) != n_rows:
        raise InputError(f"y_true has {len(given)} entries but y_proba has {n_rows} rows: pass one label per row.")


def _hint(shape: tuple[int, ...], labels: Sequence[Any]) -> str:
    """How to get one label per row out of a column, or out of a one-hot table."""
    if shape[1:] == (1,):
        return ": pass np.ravel(y_true)"
    if shape[1:] == (len(labels),):
        columns = "np.argmax(y_true, axis=1)"
        return (
            f"; if it is one-hot, pass {columns if isinstance(labels, range) else f'np.take(labels, {columns})'}"
        )
    return ""


def _check_nothing_missing(given: NDArray[Any]) -> None:
    if given.dtype.kind not in "biuUS":
        listed = given.tolist()
        row = next((row for row, label in enumerate(listed) if not _is_label(label)), None)
        if row is not None:
            raise InputError(
                f"y_true row {row} is {listed[row]!r}, which is no label: drop the row, or give it one label."
            )


def _numbers(given: NDArray[Any], columns: range) -> IntArray:
    """Without names, labels are column numbers."""
    if given.dtype.kind not in "biu":
        listed = given.tolist()
        row = next((row for row, label in enumerate(listed) if not isinstance(label, (int, np.integer))), None)
        if row is not None:
            raise InputError(
                f"y_true row {row} is {listed[row]!r}, which is not a column number: "
                f"say the column order with labels=[...], or pass integers from 0 to {len(columns) - 1}, "
                "y_true.astype(int) if that is what they are."
            )
    if given.min() < 0 or given.max() >= len(columns):
        unknown = (given < 0) | (given >= len(columns))
        _fail_unknown(given, unknown, f"the column numbers 0 to {len(columns) - 1}")
    return given.astype(np.intp, copy=False)


def _positions(given: NDArray[Any], labels: Sequence[Any]) -> IntArray:
    """With names, labels are looked up; 1 and '1' are the same name only where no label matches as it is."""
    column = {label: at for at, label in enumerate(labels)}
    distinct, inverse = _distinct(given)
    if not any(label in column for label in distinct):
        column = {str(label): at for label, at in column.items()}
        distinct = [str(label) for label in distinct]
    found = np.array([column.get(label, -1) for label in distinct], dtype=np.intp)[inverse]
    if (found < 0).any():
        _fail_unknown(given, found < 0, f"the labels {list(labels)[:8]}{'...' if len(labels) > 8 else ''}")
    return found


def _distinct(given: NDArray[Any]) -> tuple[list[Any], IntArray]:
    """Each label once, and which of them every row has; objects need not be sortable."""
    if given.dtype.kind != "O":
        distinct, inverse = np.unique(given, return_inverse=True)
        return distinct.tolist(), inverse
    number: dict[Any, int] = {}
    rows = [number.setdefault(label, len(number)) for label in given]
    return list(number), np.array(rows, dtype=np.intp)


def _fail_unknown(given: NDArray[Any], unknown: NDArray[np.bool_], among: str) -> NoReturn:
    row = int(np.argmax(unknown))
    raise InputError(
        f"y_true row {row} is {given.tolist()[row]!r}, which is not among {among}: "
        "correct it, or pass labels=[...] with every class in column order."
    )

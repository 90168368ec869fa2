"""Class labels: what the columns stand for, and which column is the truth of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs.errors import InputError
from pandora_regret.inputs.numbers import IntArray, read_array

Labels: TypeAlias = Any  # array-like (N,), or a pandas / polars series; or votes, (N, K), an array or a frame


def read_labels(labels: Any, argument: str = "labels", place: str | None = None) -> Sequence[Any]:
    """The columns' labels, in column order, each once; `place` says in words where the argument has them."""
    listed, place = np.asarray(labels, dtype=object), place or argument
    if listed.ndim != 1:
        problem = f"must be a flat list with one label per column, got {labels!r:.200}; join tuples into text"
        raise InputError(problem, argument=argument, value=labels, place=place)
    seen: set[Any] = set()
    for index, label in enumerate(listed):
        if not _is_label(label):
            problem, entry = f"is {label!r}, which is no label", f"{place} entry {index}"
            raise InputError(problem, argument=argument, row=index, place=entry, fix="name every column")
        if label in seen or str(label) in seen:  # 1 and '1' are the same name
            fix = "each column needs its own label"
            raise InputError(f"contain {label!r} twice", argument=argument, value=label, place=place, fix=fix)
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
    truth = read_array(y_true, "y_true")
    if truth.dtype.kind in "US" and not isinstance(y_true, np.ndarray):
        truth = np.asarray(y_true, dtype=object)  # in a list, NumPy turns what stands beside text into text
    _check_one_label_per_row(truth, labels, n_rows)
    _check_nothing_missing(truth)
    return _column_numbers(truth, labels) if isinstance(labels, range) else _positions(truth, labels)


def _check_one_label_per_row(truth: NDArray[Any], labels: Sequence[Any], n_rows: int) -> None:
    if truth.ndim != 1:
        shape = f"{truth.item()!r:.80}" if truth.ndim == 0 else f"shape {truth.shape}"
        problem = f"must be 1-D, one label per instance, got {shape}"
        raise InputError(problem, argument="y_true", value=truth.shape, fix=_one_dimensional(truth.shape, labels))
    if len(truth) != n_rows:
        problem = f"has {len(truth)} entries but y_proba has {n_rows} rows"
        raise InputError(problem, argument="y_true", value=len(truth), fix="pass one label per row")


def _one_dimensional(shape: tuple[int, ...], labels: Sequence[Any]) -> str | None:
    """How to get one label per row out of a column, or out of a one-hot table."""
    if shape[1:] == (1,):
        return "pass np.ravel(y_true)"
    if shape[1:] == (len(labels),):
        columns = "np.argmax(y_true, axis=1)"
        return f"if it is one-hot, pass {columns if isinstance(labels, range) else f'np.take(labels, {columns})'}"
    return None


def _check_nothing_missing(truth: NDArray[Any]) -> None:
    if truth.dtype.kind not in "biuUS":
        listed = truth.tolist()
        row = next((row for row, label in enumerate(listed) if not _is_label(label)), None)
        if row is not None:
            problem, fix = f"is {listed[row]!r}, which is no label", "drop the row, or give it one label"
            raise InputError(problem, argument="y_true", row=row, value=listed[row], fix=fix)


def _column_numbers(truth: NDArray[Any], columns: range) -> IntArray:
    """Without names, labels are column numbers."""
    if truth.dtype.kind not in "biu":
        listed = truth.tolist()
        row = next((row for row, label in enumerate(listed) if not isinstance(label, (int, np.integer))), None)
        if row is not None:
            fix = (
                f"say the column order with labels=[...], or pass integers from 0 to {len(columns) - 1}, "
                "y_true.astype(int) if that is what they are"
            )
            problem = f"is {listed[row]!r}, which is not a column number"
            raise InputError(problem, argument="y_true", row=row, value=listed[row], fix=fix)
    if _any_outside(truth, len(columns)):
        unknown = (truth < 0) | (truth >= len(columns))
        _fail_unknown(truth, unknown, f"the column numbers 0 to {len(columns) - 1}")
    return truth.astype(np.intp, copy=False)


def _any_outside(truth: NDArray[Any], n_columns: int) -> bool:
    """Whether a number is below 0 or too high; one pass is enough, since below 0 is high as an unsigned number."""
    if truth.dtype != np.intp:
        return bool(truth.min() < 0 or truth.max() >= n_columns)
    return bool(truth.view(np.uintp).max() >= n_columns)


def _positions(truth: NDArray[Any], labels: Sequence[Any]) -> IntArray:
    """With names, labels are looked up; 1 and '1' are the same name only where no label matches as it is."""
    column = {label: index for index, label in enumerate(labels)}
    distinct, inverse = _distinct(truth)
    if not any(label in column for label in distinct):
        column = {str(label): index for label, index in column.items()}
        distinct = [str(label) for label in distinct]
    positions = np.array([column.get(label, -1) for label in distinct], dtype=np.intp)[inverse]
    if (positions < 0).any():
        _fail_unknown(truth, positions < 0, f"the labels {list(labels)[:8]}{'...' if len(labels) > 8 else ''}")
    return positions


def _distinct(truth: NDArray[Any]) -> tuple[list[Any], IntArray]:
    """Each label once, and which of them every row has; objects need not be sortable."""
    if truth.dtype.kind != "O":
        distinct, inverse = np.unique(truth, return_inverse=True)
        return distinct.tolist(), inverse
    number: dict[Any, int] = {}
    rows = [number.setdefault(label, len(number)) for label in truth]
    return list(number), np.array(rows, dtype=np.intp)


def _fail_unknown(truth: NDArray[Any], unknown: NDArray[np.bool_], known: str) -> NoReturn:
    row = int(np.argmax(unknown))
    label = truth.tolist()[row]
    fix = "correct it, or pass labels=[...] with every class in column order"
    raise InputError(f"is {label!r}, which is not among {known}", argument="y_true", row=row, value=label, fix=fix)

"""Class labels: what the columns stand for, and which column is the truth of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs.numbers import InputError, IntArray

Labels: TypeAlias = Any  # array-like (N,), or a pandas / polars series


def read_labels(labels: Any, name: str = "labels") -> Sequence[Any]:
    """The columns' labels, in column order, each once."""
    listed = np.asarray(labels, dtype=object)
    if listed.ndim != 1:
        raise InputError(f"{name} must be one-dimensional, got shape {listed.shape}: list one label a column.")
    seen: set[Any] = set()
    for label in listed:
        if label in seen:
            raise InputError(f"{name} contain {label!r} twice: each column needs its own label.")
        seen.add(label)
    return list(listed)


def read_truth(y_true: Labels, labels: Sequence[Any], n_rows: int) -> IntArray:
    """The column of each instance's true class."""
    given = np.asarray(y_true)
    _check_one_label_a_row(given, n_rows)
    _check_nothing_missing(given)
    return _numbers(given, labels) if isinstance(labels, range) else _positions(given, labels)


def _check_one_label_a_row(given: NDArray[Any], n_rows: int) -> None:
    if given.ndim != 1:
        fix = "y_true.ravel()" if given.shape[1:] == (1,) else "y_true.argmax(axis=1) if it is one-hot"
        raise InputError(f"y_true must be 1-D (one label an instance), got shape {given.shape}: pass {fix}.")
    if len(given) != n_rows:
        raise InputError(f"y_true has {len(given)} entries but y_proba has {n_rows} rows: pass one label a row.")


def _check_nothing_missing(given: NDArray[Any]) -> None:
    if given.dtype.kind in "fO":
        missing = np.array([_is_missing(value) for value in given.tolist()])
        if missing.any():
            row = int(np.argmax(missing))
            raise InputError(f"y_true row {row} is missing ({given[row]}): drop the row or label it first.")


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT and pandas.NA, told by name since pandas need not be installed."""
    return type(value).__name__ in ("NoneType", "NAType", "NaTType") or (
        isinstance(value, float) and value != value
    )


def _numbers(given: NDArray[Any], columns: range) -> IntArray:
    """Without names, labels are column numbers."""
    if given.dtype.kind == "O" and all(isinstance(value, (int, np.integer)) for value in given):
        given = given.astype(np.int64)
    if given.dtype.kind not in "biu":
        raise InputError(
            f"y_true row 0 is {given.tolist()[0]!r} (dtype {given.dtype}), which is not a column number: "
            "say the column order with labels=[...], or pass integers from 0 to K - 1."
        )
    unknown = (given < 0) | (given >= len(columns))
    if unknown.any():
        _fail_unknown(given, unknown, f"the column numbers 0 to {len(columns) - 1}")
    return given.astype(np.intp)


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

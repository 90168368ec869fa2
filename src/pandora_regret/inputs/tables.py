"""Tables of forecasts or costs: arrays and frames of any float type, columns in the order of the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs.labels import read_labels
from pandora_regret.inputs.numbers import FloatArray, InputError, InputTypeError

Table: TypeAlias = Any  # array-like (N, K), or a pandas / polars / pyarrow frame

BLOCK_ELEMENTS = 1 << 18  # rows are handled in blocks of about this many numbers, so no (N, K) temporary exists


def row_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Consecutive row ranges that cover a table in blocks of bounded size."""
    step = max(1, BLOCK_ELEMENTS // n_columns)
    yield from (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def is_frame(table: Table) -> bool:
    """Whether columns have names (pandas, polars, pyarrow)."""
    return hasattr(table, "columns") and not isinstance(table, np.ndarray)


def read_table(table: Table, labels: Sequence[Any] | None, name: str) -> tuple[NDArray[Any], Sequence[Any]]:
    """A (N, K) float array with its columns in the order of the labels, and the labels."""
    if is_frame(table):
        return _read_frame(table, labels, name)
    values = _as_floats(table, name)
    _check_shape(values, name)
    if labels is not None and len(labels) != values.shape[1]:
        raise InputError(
            f"labels has {len(labels)} entries but {name} has {values.shape[1]} columns: "
            "labels must name every column, in column order."
        )
    return values, labels if labels is not None else range(values.shape[1])


def _read_frame(frame: Any, labels: Sequence[Any] | None, name: str) -> tuple[NDArray[Any], Sequence[Any]]:
    """Columns are matched to labels by name, never by position."""
    import narwhals.stable.v1 as nw

    table = nw.from_native(frame, eager_only=True)
    if labels is None:
        labels = read_labels(table.columns, f"{name}'s columns")
    order = match_names(table.columns, labels, f"{name}'s columns")
    for column, kind in table.schema.items():
        if not kind.is_float():
            raise InputTypeError(
                f"{name}'s column {column!r} has dtype {kind}: forecasts must be floating point; "
                "select the probability columns and cast them to float."
            )
    values = table.to_numpy()
    _check_shape(values, name)
    return values[:, order], labels


def match_names(given: Sequence[Any], labels: Sequence[Any], what: str) -> list[int]:
    """Where each label stands among the given names; 1 and '1' are the same name."""
    position = {str(name): at for at, name in enumerate(given)}
    if len(position) < len(given):
        raise InputError(f"{what} name a class more than once: {[str(name) for name in given][:8]}.")
    wanted = [str(label) for label in labels]
    missing = [name for name in wanted if name not in position]
    extra = [name for name in position if name not in set(wanted)]
    if missing or extra:
        raise InputError(
            f"{what} do not match the labels: missing {missing[:5]}, unexpected {extra[:5]}; "
            "there must be exactly one for each label."
        )
    return [position[name] for name in wanted]


def _as_floats(table: Table, name: str) -> NDArray[Any]:
    if isinstance(table, np.ma.MaskedArray):
        raise InputTypeError(f"{name} is a masked array: drop or fill the masked rows first.")
    try:
        values = np.asarray(table)
    except ValueError as error:
        raise InputError(f"{name} is not a rectangular table of numbers ({error}).") from error
    if values.dtype.name == "bfloat16":
        return values.astype(np.float32)
    if values.dtype.kind != "f":
        raise InputTypeError(
            f"{name} has dtype {values.dtype}: forecasts must be floating point "
            f"(for hard 0/1 forecasts say so with {name}.astype(float))."
        )
    return values.astype(np.float64) if values.dtype.itemsize > 8 else values


def _check_shape(values: NDArray[Any], name: str) -> None:
    if values.ndim != 2:
        hint = f"; for two classes pass np.column_stack([1 - {name}, {name}])" if values.ndim == 1 else ""
        raise InputError(
            f"{name} must be 2-D (instances, classes), got {values.ndim}-D with shape {values.shape}{hint}."
        )
    if len(values) == 0:
        raise InputError(f"{name} is empty (shape {values.shape}): pass at least one row.")
    if values.shape[1] < 2:
        raise InputError(f"{name} has {values.shape[1]} column(s): a search needs at least two classes.")


def check_probabilities(values: NDArray[Any], name: str, tolerance: float) -> None:
    """Every row a probability vector, or an error that names the first row that is not."""
    for rows in row_slices(*values.shape):
        block = values[rows].astype(np.float64, copy=False)
        off_by = np.abs(block.sum(axis=1) - 1)
        good = (off_by <= tolerance) & (block.min(axis=1) >= 0)  # NaN compares false
        if not good.all():
            row = int(np.argmin(good))
            _fail_probabilities(block[row], f"{name} row {rows.start + row}", tolerance)


def _fail_probabilities(row: FloatArray, where: str, tolerance: float) -> NoReturn:
    if not np.isfinite(row).all():
        value = row[~np.isfinite(row)][0]
        raise InputError(f"{where} contains {value}: remove or repair the row before scoring.")
    if abs(row.sum() - 100) < 1 and row.min() >= 0:
        raise InputError(f"{where} sums to {row.sum():.9g}: these look like percentages, divide by 100.")
    if row.min() < 0:
        problem = f"contains the negative value {row.min():g}"
    elif row.max() > 1 + tolerance:
        problem = f"contains {row.max():g}, which is more than 1"
    else:
        raise InputError(
            f"{where} sums to {row.sum():.9g}, not to 1 within {tolerance:.1g}: normalise each row, "
            "p / p.sum(axis=1, keepdims=True), if that is what the numbers mean; nothing is renormalised here."
        )
    raise InputError(f"{where} {problem}: probabilities lie in [0, 1]; pass logits=True if these are logits.")


def check_logits(values: NDArray[Any], name: str) -> None:
    """Logits are finite, or -inf for a class held to be impossible; one class at least must be possible."""
    for rows in row_slices(*values.shape):
        largest = values[rows].max(axis=1)  # NaN and +inf survive the maximum
        good = np.isfinite(largest)
        if not good.all():
            row = int(np.argmin(good))
            raise InputError(
                f"{name} row {rows.start + row} has {largest[row]} as its largest logit: logits must be finite "
                "(-inf is allowed for impossible classes, but not for all of them)."
            )

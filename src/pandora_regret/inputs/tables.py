"""Tables of forecasts or costs: arrays and frames of any float type, columns in the order of the labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs.labels import read_labels
from pandora_regret.inputs.numbers import FloatArray, InputError, InputTypeError, IntArray, read_array

Table: TypeAlias = Any  # array-like (N, K), or a pandas / polars / pyarrow frame

BLOCK_ELEMENTS = 1 << 18  # rows are handled in blocks of about this many numbers, so no (N, K) temporary exists
EVERY_ROW = range(sys.maxsize)  # a row's number is its position


def row_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Consecutive row ranges that cover a table in blocks of bounded size."""
    step = max(1, BLOCK_ELEMENTS // n_columns)
    yield from (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


class ReadTable(NamedTuple):
    """A table past the door."""

    values: NDArray[Any]  # (N, K) float16, float32 or float64
    labels: Sequence[Any]  # (K,)
    tolerance: float  # how far a row of probabilities may be off 1: what rounding in its own precision explains


def is_frame(table: Table) -> bool:
    """Whether columns have names (pandas, polars, pyarrow); asked of the type, as a lazy frame is slow to say."""
    return hasattr(type(table), "columns")


def read_table(table: Table, labels: Sequence[Any] | None, name: str) -> ReadTable:
    """A (N, K) float array with its columns in the order of the labels."""
    if is_frame(table):
        return _read_frame(table, labels, name)
    given = read_array(table, name)
    _check_shape(given.shape, name)
    if labels is not None and len(labels) != given.shape[1]:
        raise InputError(
            f"labels has {len(labels)} entries but {name} has {given.shape[1]} columns: "
            "labels must name every column, in column order."
        )
    names = range(given.shape[1]) if labels is None else labels
    return ReadTable(_as_floats(given, name), names, _row_sum_tolerance(given.dtype))


def read_one_or_many(table: Table, labels: Any) -> tuple[Table, bool]:
    """A table of forecasts, and whether it was handed in as a single one, with or without class names."""
    if is_frame(table) or not hasattr(table, "keys"):
        single = not is_frame(table) and read_array(table, "y_proba").ndim == 1
        return (read_array(table, "y_proba")[None] if single else table), single
    names = list(table.keys()) if labels is None else read_labels(labels)
    return np.array([by_name(table, names, "y_proba")], dtype=np.float64), True


def _read_frame(frame: Any, labels: Sequence[Any] | None, name: str) -> ReadTable:
    columns, labels = read_columns(frame, labels, name)
    _check_shape((len(columns[0]) if columns else 0, len(columns)), name)
    named = zip(columns, labels, strict=True)
    values = np.stack([_as_floats(column, f"{name}'s column {label!r}") for column, label in named], axis=1)
    return ReadTable(values, labels, max(_row_sum_tolerance(column.dtype) for column in columns))


def read_columns(frame: Any, labels: Sequence[Any] | None, name: str) -> tuple[list[NDArray[Any]], Sequence[Any]]:
    """A frame's columns, matched to labels by name, never by position; its own names are the default labels."""
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise InputTypeError(
            f"{name} is a {type(frame).__name__}, whose rows are not at hand: "
            "collect it into a pandas, polars or pyarrow frame first."
        ) from None
    except ValueError as error:  # names that occur twice
        raise InputError(f"{name}'s columns need a name each: {' '.join(str(error).split())}.") from None
    names, columns = table.columns, [column.to_numpy() for column in table.iter_columns()]
    if labels is None:
        return columns, read_labels(names, f"{name}'s columns")
    return [columns[at] for at in match_names(names, labels, f"{name}'s columns")], labels


def match_names(given: Sequence[Any], labels: Sequence[Any], what: str) -> list[int]:
    """Where each label stands among the given names; 1 and '1' are the same name."""
    position = {str(name): at for at, name in enumerate(read_labels(given, what))}
    wanted = [str(label) for label in labels]
    missing = [name for name in wanted if name not in position]
    unexpected = [name for name in position if name not in set(wanted)]
    if missing or unexpected:
        found = [
            f"{kind} {names[:8]}" for kind, names in (("missing", missing), ("unexpected", unexpected)) if names
        ]
        raise InputError(f"{what} do not match the labels: {', '.join(found)}; there must be one for each label.")
    return [position[name] for name in wanted]


def by_name(values: Any, names: Sequence[Any] | None, what: str) -> Any:
    """Values that carry names (a mapping, a pandas series), in the order of the names; others as they are."""
    if names is None or not hasattr(values, "keys"):
        return values
    given, listed = zip(*values.items(), strict=True) if len(values) else ((), ())
    return [listed[at] for at in match_names(given, names, f"the names of {what}")]


def _as_floats(values: NDArray[Any], name: str) -> NDArray[Any]:
    if values.dtype.name == "bfloat16":
        return values.astype(np.float32)
    if values.dtype.kind != "f":
        raise InputTypeError(
            f"{name} has dtype {values.dtype}: forecasts must be floating point; "
            "if the numbers are right, say so with astype(float)."
        )
    native = np.float64 if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
    return values.astype(native, copy=False)


def _row_sum_tolerance(dtype: np.dtype[Any]) -> float:
    if dtype.itemsize == 2:  # float16 and bfloat16
        return 1e-2
    return float(np.sqrt(np.finfo(np.float32 if dtype.itemsize == 4 else np.float64).eps))


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if 0 in shape:
        raise InputError(f"{name} is empty (shape {shape}): pass at least one row and two columns.")
    hint = f"; for two classes pass np.column_stack([1 - {name}, {name}]), for a single forecast [{name}]"
    if len(shape) != 2:
        raise InputError(
            f"{name} must be 2-D (instances, classes), got {len(shape)}-D with shape {shape}"
            f"{hint if len(shape) == 1 else ''}."
        )
    if shape[1] < 2:
        raise InputError(f"{name} has 1 column, but a search needs at least two classes{hint}.")


def check_probabilities(
    values: FloatArray, name: str, tolerance: float, numbers: Sequence[int] | IntArray = EVERY_ROW
) -> None:
    """Every row a probability vector, or an error that names the first row that is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        off_by = np.abs(values.sum(axis=1) - 1)
    good = (off_by <= tolerance) & (values.min(axis=1) >= 0)  # NaN compares false
    if not good.all():
        row = int(np.argmin(good))
        _fail_probabilities(values[row], f"{name} row {numbers[row]}", tolerance)


def _fail_probabilities(row: FloatArray, where: str, tolerance: float) -> NoReturn:
    if not np.isfinite(row).all():
        raise InputError(f"{where} contains {row[~np.isfinite(row)][0]}: drop or repair the row before scoring.")
    lowest, highest, total = row.min(), row.max(), sum(row.tolist())
    if lowest >= 0 and highest > 1 and abs(total - 100) < 1:
        raise InputError(f"{where} sums to {total:.10g}: these look like percentages, divide by 100.")
    if lowest < 0 or highest > 1 + tolerance:
        problem = f"the negative value {lowest:g}" if lowest < 0 else f"{highest:g}, which is more than 1"
        raise InputError(
            f"{where} contains {problem}: probabilities lie in [0, 1]; pass logits=True if these are logits."
        )
    raise InputError(
        f"{where} sums to {total:.10g}, not to 1 within {tolerance:.2g}: normalise each row, "
        "p / p.sum(axis=1, keepdims=True), if that is what the numbers mean; nothing is renormalised here."
    )


def check_logits(values: FloatArray, name: str, numbers: Sequence[int] | IntArray = EVERY_ROW) -> None:
    """Logits are finite, or -inf for a class held to be impossible; one class at least must be possible."""
    largest = values.max(axis=1)  # NaN and +inf survive the maximum
    good = np.isfinite(largest)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(
            f"{name} row {numbers[row]} has {largest[row]} as its largest logit: logits must be finite "
            "(-inf is allowed for impossible classes, but not for all of them)."
        )

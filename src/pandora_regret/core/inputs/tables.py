"""Tables of forecasts or costs: arrays and frames of any float type, columns in the order of the labels."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs.errors import InputError, InputTypeError
from pandora_regret.core.inputs.kinds import Frame, has_names, is_frame
from pandora_regret.core.inputs.labels import read_labels
from pandora_regret.core.inputs.names import quoted
from pandora_regret.core.inputs.numbers import FloatArray, IntArray, read_array
from pandora_regret.text import counted

TOLERANCE = float(np.sqrt(np.finfo(np.float32).eps))  # 3.5e-4: see `row_sum_tolerance`
HALF_TOLERANCE = 1e-2  # of float16 and bfloat16
RESCALED_WITHIN = 1e-2 + 1e-6  # how far a row's sum may be off 1 and be rescaled, where that is asked for: 1 %
BLOCK_ELEMENTS = 1 << 18  # rows are handled in blocks of about this many numbers, so no (N, K) temporary exists
EVERY_ROW = range(sys.maxsize)  # a row's number is its position


@dataclass(frozen=True)
class Remark:
    """One thing that was changed or left out: nothing unless asked for, and all of it counted.

    Whatever is read carries a tuple `remarks` of these: a file's table (`Source.remarks`, such as the separator
    that was recognised), all rows of a model (`Predictions.remarks`), a price list. Whoever puts parts together
    joins the tuples, and the result (`Comparison.remarks`, the JSON of the commands under "remarks") has them all.
    """

    what: str  # "rows left out", "rows rescaled", "columns ignored", "prices not used", "separator", ...
    count: int
    sentence: str  # a clause for people: "left out 30 rows that are missing from at least one file"
    model: str | None = field(default=None, metadata={"optional": True})  # or file, where it is about one


CLASSES_TAKEN_AS_0 = "classes taken as 0"  # what a remark is about that explains what a model costs
UNLABELLED = "unlabelled"  # and one about cases that do not count


def remark_on(what: str, count: int, sentence: str, model: str | None = None) -> tuple[Remark, ...]:
    """What was done, unless that is nothing."""
    return (Remark(what, count, sentence, model),) if count else ()


@dataclass(frozen=True)
class RescaledRows:
    """Rows that were divided by their sums: how many, and what the sums were."""

    rows: int = 0
    low: float = inf
    high: float = -inf

    def __add__(self, other: RescaledRows) -> RescaledRows:
        return RescaledRows(self.rows + other.rows, min(self.low, other.low), max(self.high, other.high))

    def remarks(self, model: str) -> tuple[Remark, ...]:
        """What was rescaled, in words; nothing where no row was."""
        sums = " to ".join(dict.fromkeys(f"{end:.4g}" for end in (self.low, self.high)))
        sentence = f"{counted(self.rows, 'row')} of {model} rescaled (sums {sums})"
        return remark_on("rows rescaled", self.rows, sentence, model)


NOTHING_RESCALED = RescaledRows()


def row_slices(n_rows: int, n_columns: int, elements: int | None = None) -> Iterator[slice]:
    """Consecutive row ranges that cover a table in blocks of bounded size."""
    step = max(1, (elements or BLOCK_ELEMENTS) // n_columns)
    yield from (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))


def block_slices(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Row ranges of blocks that are scored at once: a dozen temporary copies of one stay in the cache."""
    return row_slices(n_rows, n_columns, BLOCK_ELEMENTS // 4)


def as_float_table(
    table: object, labels: Sequence[object] | None, name: str
) -> tuple[NDArray[np.floating], Sequence[object], float]:
    """A (N, K) float array, its columns in the order of the labels; these; how far sums of rows may be off 1."""
    values: NDArray[np.floating]
    if is_frame(table):
        columns, labels = read_columns(table, labels, name)
        floats = [_as_floats(column, name, label) for column, label in zip(columns, labels, strict=True)]
        values = np.stack(floats, axis=1) if floats else np.empty((0, 0))
    else:
        columns = [read_array(table, name)]
        values = _as_floats(columns[0], name)
    shape = values.shape
    tolerance = max((row_sum_tolerance(column.dtype.itemsize) for column in columns), default=0.0)
    if len(shape) != 2 or shape[0] < 1 or shape[1] < 2:
        problem = f"must be 2-D (instances, classes) with a row and two columns at least, got shape {shape}"
        fix = f"for two classes pass np.column_stack([1 - {name}, {name}]), for a single forecast [{name}]"
        raise InputError(problem, argument=name, value=shape, fix=fix)
    if labels is not None and len(labels) != shape[1]:
        problem = f"has {len(labels)} entries but {name} has {shape[1]} columns"
        fix = "labels must name every column, in column order"
        raise InputError(problem, argument="labels", value=len(labels), fix=fix)
    return values, range(shape[1]) if labels is None else labels, tolerance


def read_columns(
    frame: Frame, labels: Sequence[object] | None, name: str
) -> tuple[list[NDArray[np.generic]], Sequence[object]]:
    """A frame's columns, matched to labels by name, never by position; its own names are the default labels."""
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        problem = f"is a {type(frame).__name__}, whose rows are not at hand"
        fix = "collect it into a pandas, polars or pyarrow frame first"
        raise InputTypeError(problem, argument=name, fix=fix) from None
    except ValueError as error:  # names that occur twice
        problem = f"need a name each: {' '.join(str(error).split())}"
        raise InputError(problem, argument=name, place=f"{name}'s columns") from None
    columns = [column.to_numpy() for column in table.iter_columns()]
    place = f"{name}'s columns"
    if labels is None:
        return columns, read_labels(table.columns, name, place)
    return [columns[index] for index in match_names(table.columns, labels, name, place)], labels


def match_names(names: object, labels: Iterable[object], argument: str, place: str | None = None) -> list[int]:
    """Where each label stands among the names of an argument's parts; 1 and '1' are the same name."""
    position = {str(name): index for index, name in enumerate(read_labels(names, argument, place))}
    wanted = {str(label): None for label in labels}
    missing = [name for name in wanted if name not in position]
    unexpected = [name for name in position if name not in wanted]
    if missing or unexpected:
        kinds = (("missing", missing), ("unexpected", unexpected))
        differ = ", ".join(f"{kind} {quoted(some)}" for kind, some in kinds if some)
        problem = f"do not match the labels: {differ}; there must be one for each label"
        raise InputError(problem, argument=argument, value=missing or unexpected, place=place)
    return [position[str(label)] for label in labels]


def by_name(values: object, labels: Sequence[object] | None, argument: str) -> object:
    """Values that carry names (a mapping, a series, a frame), in the order of the labels; others as they are."""
    if is_frame(values):
        return np.stack(read_columns(values, labels, argument)[0], axis=1)
    if labels is None or not has_names(values):
        return values
    pairs = list(values.items())
    names = [name for name, _ in pairs]
    numbers = [number for _, number in pairs]
    return [numbers[index] for index in match_names(names, labels, argument, f"the names of {argument}")]


def _as_floats(values: NDArray[np.generic], name: str, column: object = None) -> NDArray[np.floating]:
    """Numbers in half, single or double precision, in the byte order of this machine; bfloat16 becomes single."""
    if values.dtype.name == "bfloat16":
        return values.astype(np.float32)
    if values.dtype.kind != "f":
        place = name if column is None else f"{name}'s column {column!r}"
        fix = "forecasts must be floating point; if the numbers are right, say so with astype(float)"
        raise InputTypeError(f"has dtype {values.dtype}", argument=name, column=column, place=place, fix=fix)
    native = np.float64 if values.dtype.itemsize > 8 else values.dtype.newbyteorder("=")
    return values.astype(native, copy=False)


def row_sum_tolerance(bytes_per_number: int) -> float:
    """How far a row of probabilities may be off 1: what rounding in single precision explains.

    It is the same for double precision, which does not tell who wrote the numbers: a network's forecasts come
    through a CSV file as doubles that add up to 1 in single precision only. Searches depend on quotients of
    probabilities alone, which no common factor changes; a log loss moves by 3.5e-4 at most.
    """
    return HALF_TOLERANCE if bytes_per_number == 2 else TOLERANCE


def rescale_rows(values: NDArray[np.floating], tolerance: float) -> tuple[NDArray[np.floating], RescaledRows]:
    """Table with rows divided by their sums, where these are off by more than the tolerance, at most 1 %."""
    sums = values.sum(axis=1, dtype=np.float64)
    off_by = np.abs(sums - 1)
    rows = np.flatnonzero((off_by > tolerance) & (off_by <= RESCALED_WITHIN))
    if not len(rows):
        return values, NOTHING_RESCALED
    values = values.copy()
    values[rows] /= sums[rows, None]
    return values, RescaledRows(len(rows), float(sums[rows].min()), float(sums[rows].max()))


def check_rows(
    values: FloatArray,
    name: str,
    tolerance: float,
    logits: bool = False,
    numbers: Sequence[int] | IntArray = EVERY_ROW,
) -> None:
    """Every row a probability vector, or logits, or an error that names the first row that is not.

    Logits are finite, or -inf for a class held to be impossible; one class at least must be possible.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if logits:
            good = np.isfinite(values.max(axis=1))  # NaN and +inf survive the maximum
        else:
            good = np.abs(values @ np.ones(values.shape[1]) - 1) <= tolerance  # NaN compares false
            if np.min(values, initial=0.0) < 0:  # along short rows a sum or minimum takes ten times as long
                good &= values.min(axis=1) >= 0
    if not good.all():
        row = int(np.argmin(good))
        raise refusal(values[row], tolerance, logits).replace(argument=name, row=int(numbers[row]))


def refusal(row: FloatArray, tolerance: float, logits: bool) -> InputError:
    """What keeps a row from being logits, or a probability vector."""
    lowest = float(row.min())
    highest = float(row.max())
    total = sum(row.tolist())
    if logits:
        fix = "logits must be finite (-inf is allowed for impossible classes, but not for all of them)"
        return InputError(f"has {highest} as its largest logit", value=highest, fix=fix)
    if not np.isfinite(row).all():
        value = float(row[~np.isfinite(row)][0])
        return InputError(f"contains {value}", value=value, fix="drop or repair the row before scoring")
    if lowest >= 0 and highest > 1 and abs(total - 100) < 1:
        fix = "these look like percentages, divide by 100"
        return InputError(f"sums to {total:.10g}", value=total, fix=fix)
    if lowest < 0 or highest > 1 + tolerance:
        value = lowest if lowest < 0 else highest
        return InputError(
            f"contains the negative value {value:g}" if value < 0 else f"contains {value:g}, which is more than 1",
            value=value,
            fix="probabilities lie in [0, 1]; pass logits=True if these are logits",
            command_fix="probabilities lie in [0, 1]; add --logits if these are logits",
        )
    fix = "normalise each row, p / p.sum(axis=1, keepdims=True), if that is what the numbers mean"
    command_fix = "divide the probabilities by their sum if that is what they mean"
    if abs(total - 1) <= RESCALED_WITHIN:
        fix += "; with normalise=True, scores, compare and calibrators do so for rows that are off by at most 1 %"
        command_fix = "--normalise divides rows that are off by at most 1 % by their sum"
    problem = f"sums to {total:.10g}, not to 1 within {tolerance:.2g}"
    return InputError(problem, value=total, fix=fix, command_fix=command_fix)

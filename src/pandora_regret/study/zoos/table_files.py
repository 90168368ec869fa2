"""Tables with a class to predict: scikit-learn's bundled data sets, CSV and ARFF files, and what `files` reads."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files import read_table
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.optional import import_optional

BUNDLED = ("digits", "wine", "iris", "breast_cancer")
TEXT = (".csv", ".tsv", ".data", ".txt", ".arff")
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
Columns = dict[str, NDArray[Any]]  # float64, NaN where missing; or names as objects, None where missing

DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?(e[+-]?\d+)?", re.IGNORECASE)
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(\{.*\}|\S+)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Features and the class of each row. Names are held as numbers, which mean nothing but which name it is."""

    features: FloatArray  # (N, P), NaN where missing
    named: NDArray[np.bool_]  # (P,) whether a column holds names rather than numbers
    truth: IntArray  # (N,) the class as a position in `classes`
    classes: tuple[str, ...]  # (K,)

    def __len__(self) -> int:
        return len(self.truth)

    def take(self, rows: IntArray) -> LabelledTable:
        """Some of the rows; the classes stay as they are."""
        return LabelledTable(self.features[rows], self.named, self.truth[rows], self.classes)


def read_labelled(
    data: str, label: str | int | None = None, *, header: bool | None = None, without: Sequence[str | int] = ()
) -> LabelledTable:
    """A table with a class to predict.

    Parameters
    ----------
    data
        A data set that scikit-learn brings (digits, wine, iris, breast_cancer), or a file: CSV (with commas,
        semicolons, tabs or spaces), ARFF, or any that predictions may be in, such as Parquet. Empty cells and
        question marks are missing values.
    label
        The column of the class, by name or by number (negative from the end); the last one if None.
    header
        Whether a CSV begins with the columns' names; if None, it does when no cell of its first row is a number or
        is found again below itself. Columns without names are called 0, 1, 2, ...
    without
        Columns to leave out, by name or number.

    Returns
    -------
    LabelledTable
        Features, classes and their names.

    Examples
    --------
    >>> wine = read_labelled("wine")
    >>> wine.features.shape, wine.classes
    ((178, 13), ('class_0', 'class_1', 'class_2'))
    """
    if data in BUNDLED and label is not None:
        raise InputError(f"label is {label!r}, but the class of the bundled {data!r} is known: leave label out.")
    columns = _bundled(data) if data in BUNDLED else _read_file(Path(data), header)
    target = _find(columns, -1 if label is None else label, "label")
    left_out = {target, *(_find(columns, column, "without") for column in without)}
    truth, classes = _encode_labels(columns[target], target)
    return LabelledTable(*_encode_features(columns, left_out), truth, classes)


def sample_rows(table: LabelledTable, max_rows: int, seed: int) -> LabelledTable:
    """At most so many rows, drawn at random, of every class its share and at least one if there is room."""
    order = np.random.default_rng(seed).permutation(len(table))
    truth = table.truth[order]
    rank = np.empty(len(table))  # of each row among those of its class
    for k in range(len(table.classes)):
        rank[truth == k] = np.arange(np.sum(truth == k))
    share = rank / np.bincount(truth, minlength=len(table.classes))[truth]
    return table.take(np.sort(order[np.argsort(share, kind="stable")[:max_rows]]))


def add_noise(table: LabelledTable, noise: float, seed: int) -> LabelledTable:
    """Every number blurred by normal noise of `noise` standard deviations of its column; names stay."""
    features = table.features.copy()
    numbers = features[:, ~table.named]
    spread = np.ma.masked_invalid(numbers).std(axis=0).filled(0.0)
    features[:, ~table.named] += noise * spread * np.random.default_rng(seed).standard_normal(numbers.shape)
    return LabelledTable(features, table.named, table.truth, table.classes)


def _bundled(data: str) -> Columns:
    """A data set that scikit-learn brings, its class last."""
    bundle = getattr(import_optional("sklearn.datasets", extra="zoo"), f"load_{data}")()
    columns = {str(name): bundle.data[:, j].astype(np.float64) for j, name in enumerate(bundle.feature_names)}
    return {**columns, "class": np.array([str(name) for name in bundle.target_names], object)[bundle.target]}


def _read_file(path: Path, header: bool | None) -> Columns:
    """The columns of a file, by what its name ends in."""
    if not path.is_file():
        raise InputError(
            f"data is {str(path)!r}, which is no file: correct the path, or name a bundled data set "
            f"({', '.join(BUNDLED)})."
        )
    if path.suffix.lower() not in TEXT:
        table = read_table(path)
        return {name: _of_arrow(table[name], f"{path} column {name!r}") for name in table.column_names}
    try:
        lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error}): save it as such.") from None
    names, rows, kinds = _read_arff(lines, path) if path.suffix.lower() == ".arff" else _read_csv(lines, header)
    for problem, wrong in (("has no rows", not rows), ("has two columns of one name", len({*names}) < len(names))):
        if wrong:
            raise InputError(f"{path} {problem}: it must hold a table, each column with a name of its own.")
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"{path} row {number} has {len(row)} values, but there are {len(names)} columns.")
    cells = zip(*([value.strip() for value in row] for row in rows), strict=True)
    return {
        name: _column(column, kind, f"{path} column {name!r}")
        for name, kind, column in zip(names, kinds, cells, strict=True)
    }


def _of_arrow(values: Any, place: str) -> NDArray[Any]:
    """Numbers in float64, anything else as names."""
    kind = str(values.type)
    if kind.startswith(("int", "uint", "half", "float", "double", "decimal", "null")):
        return np.asarray(values.cast("float64").to_numpy(), np.float64)
    if "string" not in kind:
        raise InputError(f"{place} holds {kind}: it must hold numbers or names.")
    return np.asarray(values.to_numpy(), object)


def _read_csv(lines: Sequence[str], header: bool | None) -> tuple[list[str], list[list[str]], list[Any]]:
    """Names, rows, and that nothing is said of the columns' kinds."""
    separator = max(",;\t", key=lines[0].count) if lines else ","
    spaced = bool(lines) and separator not in lines[0]  # columns set apart by spaces
    rows = [line.split() for line in lines] if spaced else list(csv.reader(lines, delimiter=separator))
    first = [cell.strip() for cell in rows[0]] if rows else []
    if header is None:
        header = not any(map(_is_value, first)) and not _found_below(first, rows[1:])
    names = first if header else [str(number) for number in range(len(first))]
    return names, rows[1:] if header else rows, [None] * len(names)


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or stands for a missing one, which no column is called."""
    try:
        float(cell)
    except ValueError:
        return cell == "?"
    return True


def _found_below(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether any cell of the first row is found again in its own column: then it is no name."""
    return any(cell.strip() == name for row in rows for name, cell in zip(first, row, strict=False))


def _read_arff(lines: Sequence[str], path: Path) -> tuple[list[str], list[list[str]], list[Any]]:
    """Names, rows and kinds: attributes in braces, strings and dates are names, the others numbers."""
    lines = [line.strip() for line in lines if not line.lstrip().startswith("%")]
    start = next((row for row, line in enumerate(lines) if line.lower().startswith("@data")), len(lines))
    attributes = [match for line in lines[:start] if (match := ATTRIBUTE.match(line))]
    cells = lines[start + 1 :]
    if not attributes or (cells and cells[0].startswith("{")):
        raise InputError(f"{path} is no ARFF file of full rows below @attribute lines: save the table as CSV.")
    quote = '"' if any('"' in line for line in cells) else "'"
    rows = list(csv.reader(cells, quotechar=quote, skipinitialspace=True, escapechar="\\"))
    kinds = [float if match[2].lower() in ("numeric", "real", "integer") else str for match in attributes]
    return [match[1].strip("'\"") for match in attributes], rows, kinds


def _column(cells: Sequence[str], kind: Any, place: str) -> NDArray[Any]:
    """Numbers in float64 where all cells are numbers or missing, unless it is said that they are names."""
    names = np.array([None if cell in MISSING else cell for cell in cells], object)
    if kind is not str:
        try:
            return names.astype(np.float64)  # None becomes NaN
        except ValueError as error:
            if kind is float:
                raise InputError(f"{place} must hold numbers: {error}.") from None
    known = [name for name in names if name is not None]
    if any("\0" in name for name in known):
        raise InputError(f"{place} holds the character NUL: the file is damaged.")
    commas = [name for name in known if "," in name]
    if commas and all(DECIMAL_COMMA.fullmatch(name) for name in known):
        raise InputError(f"{place} holds numbers with decimal commas, {commas[0]!r} for one: write points.")
    return names


def _find(columns: Columns, wanted: str | int, argument: str) -> str:
    """The name of a column, from its name or its number."""
    names = list(columns)
    if isinstance(wanted, str) and wanted in columns:
        return wanted
    if isinstance(wanted, int) and not isinstance(wanted, bool) and -len(names) <= wanted < len(names):
        return names[wanted]
    raise InputError(
        f"{argument} is {wanted!r}: pass the name of a column or its number below {len(names)}; "
        f"the columns are {', '.join(map(repr, names)):.300}."
    )


def _encode_labels(values: NDArray[Any], column: str) -> tuple[IntArray, tuple[str, ...]]:
    """The classes in their natural order, and which one each row has."""
    missing = _is_missing(values)
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(f"label column {column!r} is missing in row {row}: drop that row, or give it a class.")
    classes, truth = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"label column {column!r} holds one class only, {classes[0]!r}: name another with label=..."
        )
    return truth.astype(np.intp), tuple(_label(value) for value in classes)


def _label(value: Any) -> str:
    """A class as it is written: whole numbers without a decimal point."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(float(value))
    return str(value)


def _encode_features(columns: Columns, left_out: set[str]) -> tuple[FloatArray, NDArray[np.bool_]]:
    """One table of numbers, and which of its columns hold names."""
    kept = {name: values for name, values in columns.items() if name not in left_out}
    if not kept:
        raise InputError("without leaves no column to predict from: leave fewer out.")
    for name, values in kept.items():
        if values.dtype != object and np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise InputError(f"column {name!r} is infinite in row {row}: correct it, or leave the cell empty.")
    features = np.column_stack([_codes(values) for values in kept.values()])
    return features, np.array([values.dtype == object for values in kept.values()])


def _codes(values: NDArray[Any]) -> FloatArray:
    """Numbers as they are, names as numbers of their own; NaN where missing."""
    if values.dtype != object:
        return values
    codes = np.full(len(values), np.nan)
    known = ~_is_missing(values)
    codes[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
    return codes


def _is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype == object:
        return np.array([value is None for value in values])
    return np.asarray(np.isnan(values), np.bool_)

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
from pandora_regret.files.layout import RECOGNISED
from pandora_regret.files.text import recognise_encoding, recognise_marks
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.optional import import_optional

BUNDLED = ("digits", "wine", "iris", "breast_cancer")
TEXT = (".csv", ".tsv", ".data", ".txt")
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
NUMERIC = ("numeric", "real", "integer")  # kinds of an ARFF file's attributes
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(\{.*\}|\S+)", re.IGNORECASE)
Columns = dict[str, NDArray[Any]]  # float64, NaN where missing; or names as objects, None where missing


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
    if path.suffix.lower() == ".arff":
        return _read_arff(path)
    if path.suffix.lower() in TEXT:
        return _read_csv(path, header)
    table = read_table(path)
    return {name: _of_arrow(table[name], f"{path} column {name!r}") for name in table.column_names}


def _read_arff(path: Path) -> Columns:
    """Attributes in braces, strings and dates are names, the others numbers."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next((row for row, line in enumerate(lines) if line.lower().startswith("@data")), len(lines))
    attributes = [match for line in lines[:start] if (match := ATTRIBUTE.match(line))]
    quote = '"' if any('"' in line for line in lines[start:]) else "'"
    rows = list(csv.reader(lines[start + 1 :], quotechar=quote, skipinitialspace=True, escapechar="\\"))
    if not rows or rows[0][0].startswith("{") or any(len(row) != len(attributes) for row in rows):
        raise InputError(f"{path} is no ARFF file of full rows below @attribute lines: save the table as CSV.")
    return {
        match[1].strip("'\""): _column([cell.strip() for cell in cells], ".", match[2].lower() not in NUMERIC)
        for match, *cells in zip(attributes, *rows, strict=True)
    }


def _of_arrow(values: Any, place: str) -> NDArray[Any]:
    """Numbers in float64, anything else as names."""
    kind = str(values.type)
    if kind.startswith(("int", "uint", "half", "float", "double", "decimal", "null")):
        return np.asarray(values.cast("float64").to_numpy(), np.float64)
    if "string" not in kind:
        raise InputError(f"{place} holds {kind}: it must hold numbers or names.")
    return np.asarray(values.to_numpy(), object)


def _read_csv(path: Path, header: bool | None) -> Columns:
    """Text as `files` recognises it, or columns set apart by spaces; with or without names in the first row."""
    content = path.read_bytes()
    text = content.decode(recognise_encoding(content, str(path))).removeprefix("\ufeff")
    separator, decimal, _ = recognise_marks(text.encode(), RECOGNISED, ",", str(path))
    lines = [line for line in text.splitlines() if line.strip()]
    spaced = bool(lines) and separator not in lines[0]
    rows = [line.split() for line in lines] if spaced else list(csv.reader(lines, delimiter=separator))
    rows = [[cell.strip() for cell in row] for row in rows]
    first = rows[0] if rows else []
    if header is None:  # no column is called by a number, nor by what is found again below
        below = any(cell == name for row in rows[1:] for name, cell in zip(first, row, strict=False))
        header = not below and all(map(np.isnan, map(_number, first))) and "?" not in first
    names, rows = (first, rows[1:]) if header else ([str(number) for number in range(len(first))], rows)
    if not rows or len({*names}) < len(names):
        raise InputError(f"{path} has no rows, or two columns of one name: it must hold a table.")
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"{path} row {number} has {len(row)} values, but there are {len(names)} columns.")
    return {name: _column(cells, decimal) for name, *cells in zip(names, *rows, strict=True)}


def _number(cell: str, decimal: str = ".") -> float:
    """NaN where it is none."""
    try:
        return float(cell.replace(decimal, "."))
    except ValueError:
        return np.nan


def _column(cells: Sequence[str], decimal: str, named: bool = False) -> NDArray[Any]:
    """Numbers where all cells are numbers or missing, else names; names where that is said."""
    numbers = np.array([_number(cell, decimal) for cell in cells])
    names = np.array([None if cell in MISSING else cell for cell in cells], object)
    return names if named or (np.isnan(numbers) & ~_is_missing(names)).any() else numbers


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

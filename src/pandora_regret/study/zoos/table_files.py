"""Tables with a class to predict: scikit-learn's bundled data sets, CSV and ARFF files, and what `files` reads."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
TEXT = (".csv", ".tsv", ".data", ".txt", ".arff")
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None")
NUMERIC = ("NUMERIC", "REAL", "INTEGER")  # kinds of an ARFF file's attributes
NUMBERS = ("int", "uint", "half", "float", "double", "decimal", "null")  # how Arrow's types of numbers begin
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
    kept = {name: values for name, values in columns.items() if name not in left_out}
    if not kept:
        raise InputError("without leaves no column to predict from: leave fewer out.")
    named = np.array([values.dtype == object for values in kept.values()])
    features = np.column_stack([_numbered(v)[0] if v.dtype == object else v for v in kept.values()])
    if np.isinf(features).any():
        row, column = np.argwhere(np.isinf(features))[0]
        place = f"column {list(kept)[column]!r} is infinite in row {row}"
        raise InputError(f"{place}: correct it, or leave the cell empty.")
    codes, classes = _numbered(columns[target])
    if np.isnan(codes).any():
        row = int(np.argmax(np.isnan(codes)))
        raise InputError(f"label column {target!r} is missing in row {row}: drop that row, or give it a class.")
    if len(classes) < 2:
        raise InputError(
            f"label column {target!r} holds one class only, {classes[0]!r}: name another with label=..."
        )
    names = (  # numbers as people write them
        str(name).removesuffix(".0") if isinstance(name, float) else str(name) for name in classes.tolist()
    )
    return LabelledTable(features, named, codes.astype(np.intp), tuple(names))


def sample_rows(table: LabelledTable, max_rows: int, seed: int) -> LabelledTable:
    """At most so many rows, drawn at random, of every class its share and at least one if there is room."""
    order = np.random.default_rng(seed).permutation(len(table))
    share = np.empty(len(table))  # of its class that comes before each row
    for k in range(len(table.classes)):
        ours = table.truth[order] == k
        share[ours] = np.arange(ours.sum()) / ours.sum()
    rows = np.sort(order[np.argsort(share, kind="stable")[:max_rows]])
    return replace(table, features=table.features[rows], truth=table.truth[rows])


def add_noise(table: LabelledTable, noise: float, seed: int) -> LabelledTable:
    """Every number blurred by normal noise of `noise` standard deviations of its column; names stay."""
    features = table.features.copy()
    numbers = features[:, ~table.named]
    spread = np.ma.masked_invalid(numbers).std(axis=0).filled(0.0)
    features[:, ~table.named] += noise * spread * np.random.default_rng(seed).standard_normal(numbers.shape)
    return replace(table, features=features)


def _bundled(data: str) -> Columns:
    """A data set that scikit-learn brings, its class last."""
    bundle = getattr(import_optional("sklearn.datasets", extra="zoo"), f"load_{data}")()
    columns = dict(zip(map(str, bundle.feature_names), bundle.data.T.astype(np.float64), strict=True))
    return {**columns, "class": np.array(bundle.target_names.tolist(), object)[bundle.target]}


def _read_file(path: Path, header: bool | None) -> Columns:
    """The columns of a file, by what its name ends in."""
    if not path.is_file():
        raise InputError(
            f"data is {str(path)!r}, which is no file: correct the path, or name a bundled data set "
            f"({', '.join(BUNDLED)})."
        )
    if path.suffix.lower() in TEXT:
        return _read_text(path, header)
    table, columns = read_table(path), {}
    for name in table.column_names:
        kind = str(table[name].type)
        if not (is_number := kind.startswith(NUMBERS)) and "string" not in kind:
            raise InputError(f"{path} column {name!r} holds {kind}: it must hold numbers or names.")
        values = table[name].cast("float64") if is_number else table[name]
        columns[name] = np.asarray(values.to_numpy(), np.float64 if is_number else object)
    return columns


def _read_text(path: Path, header: bool | None) -> Columns:
    """Text as `files` recognises it, columns set apart by spaces, or ARFF; perhaps names in the first row."""
    content = path.read_bytes()
    text = content.decode(recognise_encoding(content, str(path))).removeprefix("\ufeff")
    if path.suffix.lower() == ".arff":
        return _read_arff(text, path)
    lines = [line for line in text.splitlines() if line.strip()]
    separator, decimal = recognise_marks(text.encode(), RECOGNISED, ",", str(path))
    if separator not in text:
        lines, separator = [",".join(line.split()) for line in lines], ","
    first, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)] or [[]]
    if header is None:  # no column is called by a number, nor by what is found again below
        below = any(cell == name for row in rows for name, cell in zip(first, row, strict=False))
        header = not below and all(_column([name], decimal).dtype == object for name in first if name)
    names, rows = (first, rows) if header else ([*map(str, range(len(first)))], [first, *rows])
    if not first or not rows or len({*names}) < len(names):
        raise InputError(f"{path} has no rows, or two columns of one name: it must hold a table.")
    for number, row in enumerate(rows):
        if len(row) != len(names):
            raise InputError(f"{path} row {number} has {len(row)} values, but there are {len(names)} columns.")
    return {name: _column(cells, decimal) for name, *cells in zip(names, *rows, strict=True)}


def _read_arff(text: str, path: Path) -> Columns:
    """Attributes in braces and strings are names, the others numbers."""
    arff = import_optional("sklearn.externals._arff", extra="zoo")
    try:
        content = arff.loads(text)
        columns = zip(content["attributes"], *content["data"], strict=True)
        return {
            name: np.array(cells, np.float64 if kind in NUMERIC else object) for (name, kind), *cells in columns
        }
    except (arff.ArffException, ValueError) as error:
        raise InputError(f"{path} is no ARFF file of full rows ({error}): save the table as CSV.") from None


def _column(cells: Sequence[str], decimal: str) -> NDArray[Any]:
    """Numbers where all cells are numbers with this decimal sign, or missing; else names."""
    names = np.array([None if cell in MISSING else cell for cell in cells], object)
    try:
        return np.array([np.nan if name is None else float(name.replace(decimal, ".")) for name in names])
    except ValueError:
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


def _numbered(values: NDArray[Any]) -> tuple[FloatArray, NDArray[Any]]:
    """Which of its different values each is, NaN where it is missing; and those values, in order."""
    present = np.array([value is not None and value == value for value in values])
    different, codes = np.unique(values[present], return_inverse=True)
    numbers = np.full(len(values), np.nan)
    numbers[present] = codes
    return numbers, different

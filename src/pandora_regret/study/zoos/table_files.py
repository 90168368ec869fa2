"""Tables with a class to predict: scikit-learn's bundled data sets, and CSV, Parquet and ARFF files."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.optional import import_optional

BUNDLED = ("digits", "wine", "iris", "breast_cancer")
MISSING = ["", "?", " ?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"]
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
        semicolons, tabs or spaces), Parquet or ARFF. Empty cells and question marks are missing values.
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
    if data in BUNDLED:
        return _bundled(data, label, without)
    columns = _read_file(data, header)
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


def _bundled(data: str, label: str | int | None, without: Sequence[str | int]) -> LabelledTable:
    """A data set that scikit-learn brings; its class is known, its columns are all numbers."""
    if label is not None:
        raise InputError(f"label is {label!r}, but the class of the bundled {data!r} is known: leave label out.")
    bundle = getattr(import_optional("sklearn.datasets", extra="zoo"), f"load_{data}")()
    columns = {str(name): bundle.data[:, j].astype(np.float64) for j, name in enumerate(bundle.feature_names)}
    left_out = {_find(columns, column, "without") for column in without}
    truth = bundle.target.astype(np.intp)
    return LabelledTable(*_encode_features(columns, left_out), truth, tuple(str(c) for c in bundle.target_names))


def _read_file(data: str, header: bool | None) -> Columns:
    """The columns of a file, by what its name ends in."""
    path = Path(data)
    readers: dict[str, Callable[[], Any]] = {
        **dict.fromkeys((".csv", ".tsv", ".data", ".txt"), lambda: _read_csv(path, header)),
        **dict.fromkeys(
            (".parquet", ".pq"), lambda: import_optional("pyarrow.parquet", extra="zoo").read_table(path)
        ),
        ".arff": lambda: _read_arff(path),
    }
    if not path.is_file() or path.suffix.lower() not in readers:
        raise InputError(
            f"data is {data!r}, which is no file ending in {', '.join(readers)}: "
            f"correct the path, or name a bundled data set ({', '.join(BUNDLED)})."
        )
    broken = import_optional("pyarrow", extra="zoo").ArrowException
    try:
        return _columns(readers[path.suffix.lower()](), path)
    except (broken, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error


def _read_csv(path: Path, header: bool | None) -> Any:
    """An Arrow table of a CSV file with or without names in its first row."""
    lines = [line for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty: it must hold a table.")
    separator = max(",;\t", key=lines[0].count)
    if separator not in lines[0]:
        separator, lines = ",", [",".join(line.split()) for line in lines]  # columns set apart by spaces
    first = [cell.strip() for cell in next(csv.reader(lines[:1], delimiter=separator))]
    numbered = [str(number) for number in range(len(first))]
    if header is False or (header is None and any(map(_is_value, first))):
        return _parse(lines, numbered, separator)
    table = _parse(lines[1:], first, separator)
    if header is None and _found_below(first, table):
        return _parse(lines, numbered, separator)
    return table


def _is_value(cell: str) -> bool:
    """Whether a cell is a number or stands for a missing one, which no column is called."""
    try:
        float(cell)
    except ValueError:
        return cell == "?"
    return True


def _found_below(first: Sequence[str], table: Any) -> bool:
    """Whether any cell of the first row is found again in its own column: then it is no name."""
    return any(
        name in map(str, set(column.to_pylist())) for name, column in zip(first, table.columns, strict=True)
    )


def _parse(lines: Sequence[str], names: Sequence[str], separator: str, **options: Any) -> Any:
    """Lines of cells as an Arrow table, the kind of each column found from what it holds or as given."""
    arrow = import_optional("pyarrow.csv", extra="zoo")
    if not lines:
        return import_optional("pyarrow", extra="zoo").table([[]] * len(names), names=list(names))
    return arrow.read_csv(
        BytesIO("\n".join(lines).encode()),
        read_options=arrow.ReadOptions(column_names=list(names), use_threads=False),
        parse_options=arrow.ParseOptions(delimiter=separator),
        convert_options=arrow.ConvertOptions(null_values=MISSING, strings_can_be_null=True, **options),
    )


def _read_arff(path: Path) -> Any:
    """An Arrow table of an ARFF file: attributes in braces, strings and dates are names, the others numbers."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    lines = [line for line in lines if line and not line.startswith("%")]
    start = next((row for row, line in enumerate(lines) if line.lower().startswith("@data")), len(lines))
    attributes = [match for line in lines[:start] if (match := ATTRIBUTE.match(line))]
    cells = lines[start + 1 :]
    if not attributes or (cells and cells[0].startswith("{")):
        raise InputError(f"{path} is no ARFF file of full rows below @attribute lines: save the table as CSV.")
    arrow = import_optional("pyarrow", extra="zoo")
    numbers = ("numeric", "real", "integer")
    names = [match[1].strip("'\"") for match in attributes]
    kinds = [arrow.float64() if match[2].lower() in numbers else arrow.string() for match in attributes]
    return _parse(_as_csv(cells), names, ",", column_types=dict(zip(names, kinds, strict=True)))


def _as_csv(lines: Sequence[str]) -> list[str]:
    """Lines of ARFF, which may quote either way and put blanks behind commas, as lines of CSV."""
    text, quote = StringIO(), '"' if any('"' in line for line in lines) else "'"
    csv.writer(text).writerows(csv.reader(lines, quotechar=quote, skipinitialspace=True, escapechar="\\"))
    return text.getvalue().splitlines()


def _columns(table: Any, path: Path) -> Columns:
    """The columns of an Arrow table as numbers, or as names."""
    names = [str(name) for name in table.column_names]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(f"{path} has two columns called {twice[0]!r}: rename one.")
    if not len(table):
        raise InputError(f"{path} has no rows: it must hold a table.")
    columns = dict(zip(names, table.columns, strict=True))
    return {name: _column(values, f"{path} column {name!r}") for name, values in columns.items()}


def _column(values: Any, place: str) -> NDArray[Any]:
    """Numbers in float64, anything else as names."""
    arrow = import_optional("pyarrow", extra="zoo")
    compute = import_optional("pyarrow.compute", extra="zoo")
    kind = values.type
    is_number = (arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_decimal, arrow.types.is_null)
    if any(is_kind(kind) for is_kind in is_number):
        numbers: NDArray[Any] = values.cast(arrow.float64(), safe=False).to_numpy()
        return numbers.astype(np.float64)
    try:
        names: NDArray[Any] = compute.utf8_trim_whitespace(values.cast(arrow.string())).to_numpy().astype(object)
    except (arrow.ArrowNotImplementedError, arrow.ArrowInvalid):
        raise InputError(f"{place} holds {kind}: it must hold numbers or names.") from None
    _check_names(names, place)
    return names


def _check_names(names: NDArray[Any], place: str) -> None:
    """Names that are no names: cells with the character NUL, and numbers with decimal commas."""
    known = [name for name in names if name is not None]
    broken = [row for row, name in enumerate(names) if name is not None and "\0" in name]
    if broken:
        raise InputError(f"{place} row {broken[0]} holds the character NUL: the file is damaged.")
    commas = [name for name in known if "," in name]
    if commas and all(DECIMAL_COMMA.fullmatch(name) for name in known):
        raise InputError(f"{place} holds numbers with decimal commas, {commas[0]!r} for one: write points.")


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

"""Costs in files: a price list of two columns, or observed costs with one column per class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pandora_regret.files.amounts import read_amounts
from pandora_regret.files.arrow import texts_of
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import some
from pandora_regret.files.npz import NpzFile, headers_of
from pandora_regret.files.pairs import named_twice
from pandora_regret.files.prices import PriceList
from pandora_regret.files.source import ROWS_AT_ONCE, Source, check_readable
from pandora_regret.inputs import FloatArray

NAMES, COSTS = ("class", "name", "test", "label"), ("cost", "price", "fee", "minutes")
UNITS = ("currency", "unit")
AS_WRITTEN = Dialect(decimal=".")  # commas stay in texts, where `read_amounts` tells what they mean


def read_price_table(path: str, name_column: str | None = None, cost_column: str | None = None) -> PriceList:
    """The cost of each class, from columns that are named, or called as such columns are."""
    source, *further = open_sources(path, said=AS_WRITTEN).values()
    if further:
        raise FileError(f"holds {len(further) + 1} tables", path=path, fix="write one, of names and costs")
    names_in, costs_in = _column(source, NAMES, name_column), _column(source, COSTS, cost_column)
    others = [name for name in source.kinds if name not in (names_in, costs_in)]
    unit_column = next((name for name in others if name.strip().casefold() in UNITS), None)
    rows = _texts(source, [names_in, costs_in, *([unit_column] if unit_column else [])])
    numbers: dict[str, int] = {}  # of the rows
    for row, (name, *_) in enumerate(rows):
        if not name:
            raise source.error(row, "has no value", names_in, fix="name the class, or drop the row")
        if name in numbers:
            raise named_twice(name, path)
        numbers[name] = row

    def complain(name: str, problem: str, fix: str) -> FileError:
        where, text = f"{source.place(numbers[name])}: the cost of {name!r}", rows[numbers[name]][1]
        return FileError(problem, path=path, where=where, column=costs_in, value=text, fix=fix)

    amounts = read_amounts(
        {row[0]: row[1] for row in rows}, complain, {row[0]: row[2] for row in rows} if unit_column else None
    )
    unit = amounts.unit or ("min" if costs_in.strip().casefold() == "minutes" else "")
    return PriceList(amounts.values, unit, path, done=(*source.done, *amounts.done(path)))


def _column(source: Source, usual: Sequence[str], name: str | None) -> str:
    """The column that is named, else the only one of a usual name, in any case; "class" goes first."""
    if name is not None:
        if name not in source.kinds:
            raise FileError(f"has no column {name!r} among {some(source.kinds)}", path=source.path, column=name)
        return name
    candidates = [column for column in source.kinds if column.strip().casefold() in usual]
    best = [column for column in candidates if column.strip().casefold() == "class"]
    if len(best or candidates) != 1:
        fix = f"name the two columns, {source.path}:CLASS_COLUMN:COST_COLUMN"
        problem = f"has {'the columns' if candidates else 'none of the columns'} {', '.join(candidates or usual)}"
        raise FileError(f"{problem} among {some(source.kinds)}", path=source.path, fix=fix)
    return (best or candidates)[0]


def _texts(source: Source, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """The rows of a table, as text; what is missing is empty."""
    parts = source.read(columns, frozenset(), ROWS_AT_ONCE)
    return [
        tuple((text or "").strip() for text in row)
        for part in parts
        for row in zip(*(texts_of(part.column(column)) for column in columns), strict=True)
    ]


def read_observed_costs(path: str) -> tuple[FloatArray, list[str]]:
    """Observed cost vectors, (n, K), and the classes: every column of numbers is a class."""
    source = _samples(path)
    prefix = f"{source.model}:" if isinstance(source, NpzFile) else ""
    columns = [name for name, kind in source.kinds.items() if kind == "number" and name.startswith(prefix)]
    if len(columns) < 2:
        fix = "write one column of costs for each class"
        raise FileError(f"has {len(columns)} columns of numbers", path=path, fix=fix)
    parts = list(source.read(columns, frozenset(columns), ROWS_AT_ONCE))
    if not sum(map(len, parts)):
        raise FileError("has no rows", path=path, fix="write one observed cost vector per row")
    samples = np.column_stack([_numbers(parts, name, path) for name in columns])
    return samples, [name.removeprefix(prefix) for name in columns]


def _samples(path: str) -> Source:
    """In an NPZ archive, the one table, whatever it is called."""
    if not path.endswith(".npz"):
        return next(iter(open_sources(path).values()))
    check_readable(path)
    headers = headers_of(path)
    tables = [key for key, header in headers.items() if len(header.shape) == 2]
    if len(tables) != 1:
        fix = "save one, of observed costs, shape (samples, classes)"
        raise FileError(f"holds the tables {tables[:8]}", path=path, fix=fix)
    return NpzFile.open(path, tables[0], headers, None)


def _numbers(parts: list[pa.RecordBatch], name: str, path: str) -> FloatArray:
    columns = [part.column(name) for part in parts]
    if any(column.null_count for column in columns):
        fix = "fill them in, or drop the rows"
        raise FileError("has rows without a value", path=path, where=f": column {name!r}", column=name, fix=fix)
    return np.concatenate([np.asarray(column.cast(pa.float64())) for column in columns])

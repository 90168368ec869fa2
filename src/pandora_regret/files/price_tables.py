"""Costs in files: a price list of two columns, or observed costs with one column per class."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pandora_regret.files.arrow import texts_of
from pandora_regret.files.errors import FileError
from pandora_regret.files.formats import open_sources
from pandora_regret.files.layout import some
from pandora_regret.files.npz import NpzFile, headers_of
from pandora_regret.files.pairs import named_twice
from pandora_regret.files.reading import is_number, number_hint
from pandora_regret.files.source import ROWS_AT_ONCE, Source, check_readable
from pandora_regret.inputs import FloatArray


def read_price_table(path: str) -> dict[str, float]:
    """The cost of each class, from the columns ``class`` and ``cost``."""
    [source] = open_sources(path).values()
    if not {"class", "cost"} <= set(source.kinds):
        fix = "a price list needs the columns class and cost"
        raise FileError(f"has the columns {some(source.kinds)}", path=path, fix=fix)
    prices: dict[str, float] = {}
    for records in source.read(["class", "cost"], frozenset(), ROWS_AT_ONCE):
        names, costs = (texts_of(records.column(column)) for column in ("class", "cost"))
        for name, cost in zip(names, costs, strict=True):
            if name in prices:
                raise named_twice(name, path)
            if not cost or not is_number(cost):
                where, fix = f"{source.place(len(prices))}: the cost of {name!r}", number_hint(cost)
                raise FileError(f"is {cost!r}", path=path, where=where, column="cost", value=cost, fix=fix)
            prices[name] = float(cost)
    return prices


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

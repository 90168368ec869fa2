"""Which columns of numbers are classes where no layout says so: those that are priced, or that all files share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
from numpy.typing import NDArray

from pandora_regret.files.arrow import texts_of
from pandora_regret.files.layout import Columns, Layout, find_columns
from pandora_regret.files.source import Records, Source
from pandora_regret.inputs import FloatArray

SAMPLE_ROWS = 1 << 12
ROUGHLY = 1e-2  # how far off 1 a sum may be, and still say which columns are meant
MISSING_TEXTS = frozenset(arrow_csv.ConvertOptions().null_values)  # what pyarrow takes for a missing number


@dataclass(frozen=True)
class ModelTable:
    """A model's table, perhaps in several files, and how it is to be read."""

    name: str
    sources: tuple[Source, ...]
    layout: Layout

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return tuple(source.path for source in self.sources)

    def columns(self) -> Columns:
        """The columns of the first file."""
        source = self.sources[0]
        return find_columns(source.in_layout(self.layout), source.kinds, source.path)


def with_known_classes(tables: Sequence[ModelTable], priced: Collection[str] | None = None) -> list[ModelTable]:
    """The tables, their layouts with the classes, as far as these are known.

    Classes are known from the first of: the layout (names or a prefix), the price list, the columns that all
    tables share. Where the rows themselves speak against that, because they only sum to 1 with a column that
    would be left out, or have it as their label, a table stays as it is, and whoever reads it says what is wrong.
    """
    found = [table.columns() for table in tables]
    shared = _shared(tables, found)
    return [_with_classes(*pair, priced or (), shared) for pair in zip(tables, found, strict=True)]


def _with_classes(table: ModelTable, columns: Columns, priced: Collection[str], shared: set[str]) -> ModelTable:
    """By the first of what may be known that the rows do not speak against.

    A label without a price is a class, too: whoever reads prices says that it has none.
    """
    if columns.certain:
        return table
    narrowed = _narrowed(table, columns, priced) or _narrowed(table, columns, shared)
    if narrowed is None and priced:
        narrowed = _narrowed(table, columns, _labels(table, columns).union(priced))
    return narrowed or table


def _shared(tables: Sequence[ModelTable], found: Sequence[Columns]) -> set[str]:
    """The classes that all tables have; none where nothing confirms that they are classes."""
    if len(tables) < 2:
        return set()
    shared = set(found[0].classes).intersection(*(columns.classes for columns in found[1:]))
    if len(shared) < 2:
        return set()
    said = any(columns.certain for columns in found)
    confirmed = said or any(_sum_to_one(*pair, shared) for pair in zip(tables, found, strict=True))
    return shared if confirmed else set()


def _sum_to_one(table: ModelTable, columns: Columns, known: Collection[str]) -> bool:
    """Whether most rows of probabilities do; logits say nothing."""
    names = [column for column, name in zip(columns.forecasts, columns.classes, strict=True) if name in known]
    records = None if table.layout.logits else _sample(table, columns)
    return records is not None and 2 * rows_that_sum_to_one(records, names) > len(records)


def _narrowed(table: ModelTable, columns: Columns, known: Collection[str]) -> ModelTable | None:
    """The table with only those of its columns of numbers as classes that are known to be, if that can be."""
    kept = tuple(name for name in columns.classes if name in known)
    left_out = set(columns.classes) - set(kept)
    if len(kept) < 2 or (left_out and _speaks_against(table, columns, kept)):
        return None
    return replace(table, layout=replace(table.layout, classes=kept))


def _speaks_against(table: ModelTable, columns: Columns, kept: Sequence[str]) -> bool:
    records = _sample(table, columns)
    if records is None:
        return False
    if _labels(table, columns) & (set(columns.classes) - set(kept)):
        return True
    less, all_of_them = (rows_that_sum_to_one(records, names) for names in (kept, columns.classes))
    return not table.layout.logits and less < all_of_them


def _labels(table: ModelTable, columns: Columns) -> set[str]:
    """Those of the first rows."""
    records = _sample(table, columns) if columns.label else None
    return set() if records is None else set(texts_of(records.column(columns.label)))


def _sample(table: ModelTable, columns: Columns) -> Records | None:
    """Labels and columns of numbers of the first rows, as they are written."""
    wanted = [name for name in dict.fromkeys([columns.label, *columns.forecasts]) if name]
    records = next(table.sources[0].read(wanted, frozenset(), SAMPLE_ROWS), None)
    return None if records is None else records.slice(0, SAMPLE_ROWS)


def rows_that_sum_to_one(records: Records, names: Sequence[str]) -> int:
    """How many rows of these columns sum to about 1."""
    total = np.sum([as_numbers(records.column(name))[0] for name in names], axis=0)
    return int((np.abs(total - 1) < ROUGHLY).sum())


def as_numbers(column: Any) -> tuple[FloatArray, NDArray[np.bool_] | None]:
    """Numbers, nan where they are missing; and where there is something that is no number, if anywhere."""
    try:
        return np.array(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64), None
    except pa.ArrowException:
        read = [_read(text) for text in texts_of(column)]
    bad = np.array([number is None for number in read], dtype=bool)
    return np.array([np.nan if number is None else number for number in read]), bad


def _read(text: Any) -> float | None:
    """The number, nan if it is missing, None if it is no number."""
    if is_missing(text):
        return float("nan")
    try:
        return float(text)
    except ValueError:
        return None


def is_missing(value: Any) -> bool:
    """As pyarrow understands text in a place for numbers, and as Python and NumPy say it."""
    return value is None or value != value or (isinstance(value, str) and value.strip() in MISSING_TEXTS)

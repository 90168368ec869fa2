"""By what cases are broken down: columns such as a site, a sex, an age: categories, bins, and both crossed.

::

    site            every value is a group; a column of many numbers is cut into five bins of about equal size
    age:10          ten bins of about equal size
    age:18|65       bins with these edges; one edge alone is written 65|
    code:each       every value is a group, however many numbers there are
    site*age:18|65  every pair of groups

Small groups are pooled, and cases without a value are a group of their own (`groups.py`). What is asked about
models in groups is said in `pandora_regret.comparison.grouping`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import (
    InputError,
    InputTypeError,
    Names,
    check_shape,
    is_frame,
    matched,
    read_array,
    read_columns,
)

SMALLEST_GROUP = 30  # cases: costs are skewed, and below this size Student's intervals of their means fall short
MOST_BINS = 100
CROSS = "*"

Column: TypeAlias = NDArray[np.generic]  # (N,) values of any kind, one per case
How: TypeAlias = Literal["each"] | int | tuple[float, ...] | None  # every value, so many bins, edges, or as usual


@dataclass(frozen=True)
class Cut:
    """One column of a breakdown, and how it is cut."""

    column: str
    how: How


@dataclass(frozen=True)
class CutValues:
    """One column of a breakdown, how it is cut, and its values, (N,)."""

    cut: Cut
    values: Column


Division: TypeAlias = tuple[CutValues, ...]  # the columns that are crossed


def read_cuts(text: str) -> list[Cut]:
    """One breakdown as it is written, "site*age:10": its columns, and how each is cut."""
    return [_read_cut(part.strip(), text) for part in text.split(CROSS)]


def _read_cut(part: str, breakdown: str) -> Cut:
    """One column of a breakdown as it is written, "age:10"."""
    if not part:
        raise InputError(argument="by", value=breakdown, fix="write a column, such as site, age:10 or site*sex")
    name, _, how = part.rpartition(":")
    if name and how.isdecimal():
        return Cut(name, _read_bins(int(how), breakdown))
    if name and "|" in how:
        return Cut(name, _read_edges(how, breakdown))
    if name and how == "each":
        return Cut(name, "each")
    return Cut(part, None)


def _read_bins(n_bins: int, breakdown: str) -> int:
    """The number of bins, checked."""
    if not 2 <= n_bins <= MOST_BINS:
        fix = f"ask for 2 to {MOST_BINS} bins; a single edge is written such as {n_bins}|"
        raise InputError(argument="by", value=breakdown, fix=fix)
    return n_bins


def _read_edges(text: str, breakdown: str) -> tuple[float, ...]:
    """The edges of bins, "18|65", which must rise."""
    spelled = [number_of(edge) for edge in text.split("|") if edge]
    edges = [edge for edge in spelled if edge is not None]
    if not edges or len(edges) < len(spelled) or edges != sorted(set(edges)):
        raise InputError(
            argument="by", value=breakdown, fix="write rising numbers between bars, such as age:18|65"
        )
    return tuple(edges)


def number_of(text: str) -> float | None:
    """From text to the finite number that it spells; None where it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def columns_of(breakdowns: Iterable[str]) -> Names:
    """The columns of breakdowns as they are written, such as ``site*age:10``, each once."""
    return tuple(dict.fromkeys(cut.column for text in breakdowns for cut in read_cuts(text)))


def values_of(breakdowns: Iterable[str], values: Mapping[str, Column]) -> dict[str, Column | tuple[Column, ...]]:
    """What `compare` takes as `by`, from the columns that files or frames have, (N,) each."""
    names = columns_of(breakdowns)
    columns = {name: values[column] for name, column in matched(names, values).items()}
    for name in names:
        if name not in columns:
            raise _no_such_column(name)
    by: dict[str, Column | tuple[Column, ...]] = {}
    for text in breakdowns:
        crossed = tuple(columns[cut.column] for cut in read_cuts(text))
        by[text] = crossed if len(crossed) > 1 else crossed[0]
    return by


def _no_such_column(name: str) -> InputError:
    """The error about a column that no file has."""
    column, colon, _ = name.rpartition(":")
    fix = "name a column that one of the files has"
    if colon:
        fix = f"write bins such as {column}:10 (ten bins), {column}:18|65 (edges) or {column}:each"
    return InputError(f"names {name!r}, which no file has", argument="by", value=name, fix=fix)


def read_by(by: object, n_rows: int) -> tuple[Division, ...]:
    """What results are broken down by, as a mapping or a frame: of each breakdown its columns, (n_rows,) each."""
    if is_frame(by):
        columns, names = read_columns(by, None, "by")
        by = dict(zip(names, columns, strict=True))
    if by is None:
        return ()
    if not isinstance(by, Mapping):
        fix = "pass a frame, or a mapping such as {'site': site, 'age:10': age, 'site*sex': (site, sex)}"
        raise InputTypeError(f"is a {type(by).__name__}", argument="by", fix=fix)
    return tuple(_read_division(str(name), values, n_rows) for name, values in by.items())


def _read_division(name: str, values: object, n_rows: int) -> Division:
    """One breakdown: a column of values, or a tuple of the columns that are crossed, (n_rows,) each."""
    place = f"by[{name!r}]"
    cuts = read_cuts(name)
    columns = values if len(cuts) > 1 else (values,)
    if not isinstance(columns, tuple | list) or len(columns) != len(cuts):
        raise InputError(f"needs {len(cuts)} columns", argument="by", place=place, fix="pass a tuple of them")
    division = []
    for cut, column in zip(cuts, columns, strict=True):
        values_of_column = read_array(column, place)
        check_shape(values_of_column, place, f"pass one value per case, shape ({n_rows},)", (n_rows,))
        division.append(CutValues(cut, values_of_column))
    return tuple(division)

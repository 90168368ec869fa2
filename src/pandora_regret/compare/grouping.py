"""Which group each case belongs to, by columns such as a site, a sex, an age: categories, bins, and both crossed.

::

    site            every value is a group; a column of many numbers is cut into five bins of about equal size
    age:10          ten bins of about equal size
    age:18|65       bins with these edges; one edge alone is written 65|
    code:each       every value is a group, however many numbers there are
    site*age:18|65  every pair of groups

Small groups are pooled, and cases without a value are a group of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.compare.sample import Sample
from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray
from pandora_regret.inputs.labels import is_missing
from pandora_regret.inputs.numbers import read_array, read_count
from pandora_regret.inputs.tables import is_frame, read_columns

SMALLEST_GROUP = 30  # cases: costs are skewed, and below this size Student's intervals of their means fall short
FEW_VALUES = 12  # a column of no more different numbers is taken as categories
USUAL_BINS, MOST_BINS = 5, 100
MOST_GROUPS = 50  # of a column; what is beyond is pooled, the smallest first
MISSING, OTHER = "missing", "other"
BINS = re.compile(r"(?P<name>.+):(?P<how>each|\d+|[-+.\de]*(\|[-+.\de]*)+)", re.DOTALL)
CROSS = "*"


@dataclass(frozen=True)
class Cut:
    """How one column is divided."""

    column: str
    bins: int | None = None
    edges: tuple[float, ...] = ()
    each: bool = False


@dataclass(frozen=True)
class Grouping:
    """The groups of one breakdown, and which of them each case is in."""

    name: str  # "site", "age", "site*sex"
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]  # of each group, one for each column; (OTHER,) comes last
    codes: IntArray  # (N,) the number of each row's group
    sizes: IntArray  # how many cases each group has
    pooled: int  # so many groups were too small to stand alone

    def is_other(self, group: int) -> bool:
        """Whether a group is what is left over."""
        return self.pooled > 0 and group == len(self.labels) - 1


def read_cuts(text: str) -> tuple[Cut, ...]:
    """One breakdown as it is written, "site*age:10": a cut for each of its columns."""
    return tuple(_cut(part.strip(), text) for part in text.split(CROSS))


def _cut(text: str, whole: str) -> Cut:
    if not text:
        raise InputError(argument="by", value=whole, fix="write a column, such as site, age:10 or site*sex")
    if (match := BINS.fullmatch(text)) is None:
        return Cut(text)
    name, how = match["name"], match["how"]
    if how == "each":
        return Cut(name, each=True)
    if "|" in how:
        return Cut(name, edges=_edges(how, whole))
    if not 2 <= int(how) <= MOST_BINS:
        fix = f"ask for 2 to {MOST_BINS} bins; a single edge is written such as {int(how)}|"
        raise InputError(argument="by", value=whole, fix=fix)
    return Cut(name, bins=int(how))


def _edges(text: str, whole: str) -> tuple[float, ...]:
    try:
        edges = tuple(float(edge) for edge in text.split("|") if edge)
    except ValueError:
        edges = ()
    if not edges or list(edges) != sorted(set(edges)) or not np.isfinite(edges).all():
        raise InputError(argument="by", value=whole, fix="write rising numbers between bars, such as age:18|65")
    return edges


@dataclass(frozen=True)
class By:
    """What results are broken down by."""

    columns: Mapping[str, tuple[NDArray[Any], ...]]  # (N,) each, by how they are cut
    smallest: int


def read_by(by: Any, n_rows: int, smallest_group: Any = SMALLEST_GROUP) -> By:
    """A mapping or a frame, checked."""
    smallest = read_count(smallest_group, "smallest_group", least=2)
    if by is None:
        return By({}, smallest)
    if is_frame(by):
        columns, names = read_columns(by, None, "by")
        by = dict(zip(names, columns, strict=True))
    if not isinstance(by, Mapping):
        fix = "pass a frame, or a mapping such as {'site': site, 'age:10': age, 'site*sex': (site, sex)}"
        raise InputTypeError(f"is a {type(by).__name__}", argument="by", fix=fix)
    return By({str(name): tuple(_columns(str(name), values, n_rows)) for name, values in by.items()}, smallest)


def _columns(name: str, values: Any, n_rows: int) -> Iterator[NDArray[Any]]:
    wanted = len(read_cuts(name))
    parts = values if wanted > 1 else (values,)
    if not isinstance(parts, tuple | list) or len(parts) != wanted:
        raise InputError(
            f"needs {wanted} columns", argument="by", place=f"by[{name!r}]", fix="pass a tuple of them"
        )
    for part in parts:
        column = read_array(part, f"by[{name!r}]")
        if column.shape != (n_rows,):
            fix = f"pass one value per case, shape ({n_rows},)"
            raise InputError(f"has shape {column.shape}", argument="by", place=f"by[{name!r}]", fix=fix)
        yield column


def group(name: str, columns: Sequence[NDArray[Any]], sample: Sample, smallest: int) -> Grouping:
    """The sample's cases in groups; those of fewer than `smallest` cases, or clusters of them, become one."""
    cuts = read_cuts(name)
    codes, labels = np.zeros(sample.n_cases, dtype=np.intp), list[tuple[str, ...]]([()])
    for cut, column in zip(cuts, columns, strict=True):
        more, names = _divide(cut, column[sample.cases].tolist())
        codes = codes * len(names) + more
        labels = [(*label, another) for label in labels for another in names]
    return _pooled(tuple(cut.column for cut in cuts), codes, labels, sample, smallest)


def _pooled(
    columns: tuple[str, ...],
    codes: IntArray,
    labels: Sequence[tuple[str, ...]],
    sample: Sample,
    smallest: int,
) -> Grouping:
    """Small groups of cases, (n_cases,), become one, which comes last; empty ones are gone."""
    sizes, of_rows = np.bincount(codes, minlength=len(labels)), codes[sample.case_of]
    clusters = np.unique(of_rows * len(sample.keys) + sample.cluster_of)  # of each group, each once
    kept = np.bincount(clusters // len(sample.keys), minlength=len(labels)) >= smallest
    kept[np.argsort(-sizes, kind="stable")[MOST_GROUPS:]] = False
    pooled, number = int(((sizes > 0) & ~kept).sum()), np.where(kept, np.cumsum(kept) - 1, kept.sum())
    names = [label for label, keep in zip(labels, kept, strict=True) if keep]
    if pooled:
        without_value = np.array([MISSING in label for label in labels])
        names.append(_name_of_pooled(names, sizes[~kept & without_value].sum(), sizes[~kept].sum()))
    sizes = np.bincount(number[codes], minlength=len(names))
    return Grouping(CROSS.join(columns), columns, tuple(names), number[of_rows], sizes, pooled)


def _name_of_pooled(names: Sequence[tuple[str, ...]], n_missing: int, n_cases: int) -> tuple[str]:
    """What small groups together are called, which says how many of their cases lack a value."""
    if n_missing == n_cases and (MISSING,) not in names:
        return (MISSING,)
    other = OTHER if (OTHER,) not in names else f"{OTHER} (pooled)"
    return (f"{other}, {n_missing} missing" if n_missing else other,)


def _divide(cut: Cut, values: list[Any]) -> tuple[IntArray, list[str]]:
    """Each value's group, (N,), and what groups are called; those that lack a value come last."""
    times = Counter(value for value in values if not (is_missing(value) or str(value).isspace() or value == ""))
    if not times:
        return np.zeros(len(values), dtype=np.intp), [MISSING]
    codes, names = _groups_of(cut, list(times), np.array(list(times.values())))
    group_of = dict(zip(times, codes.tolist(), strict=True))
    groups = np.array([group_of.get(value, len(names)) for value in values], dtype=np.intp)
    return groups, names if len(names) > groups.max() else [*names, MISSING]


def _groups_of(cut: Cut, values: list[Any], times: IntArray) -> tuple[IntArray, list[str]]:
    """The groups of different values, each of which occurs so many times, and what they are called."""
    parsed = [_number(value) for value in values]
    if None in parsed and (cut.bins or cut.edges):
        text, fix = values[parsed.index(None)], "only numbers can be binned: name the column alone"
        raise InputError(f"holds {text!r:.60}", argument="by", place=f"column {cut.column!r}", value=text, fix=fix)
    binned = cut.bins or cut.edges or (len(values) > FEW_VALUES and not cut.each)
    if None in parsed or not binned:
        return _categories(values, times, parsed)
    numbers = np.array(parsed, dtype=np.float64)
    edges = np.array(cut.edges) if cut.edges else _quantiles(np.repeat(numbers, times), cut.bins or USUAL_BINS)
    codes = np.searchsorted(edges, numbers, side="right").astype(np.intp)
    return codes, _between(cut.edges) if cut.edges else _ranges(numbers, codes, len(edges) + 1)


def _number(value: Any) -> float | None:
    """What can be binned; True and False are names."""
    try:
        number = np.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _categories(values: list[Any], times: IntArray, numbers: list[float | None]) -> tuple[IntArray, list[str]]:
    """Numbers in their order, names by falling number of cases; values that read the same are the same."""
    whole = [isinstance(value, float) and value.is_integer() for value in values]
    texts = [str(int(value) if each else value).strip() for value, each in zip(values, whole, strict=True)]
    cases = Counter[str]()
    for text, n in zip(texts, times.tolist(), strict=True):
        cases[text] += n
    names = sorted(cases, key=lambda text: (-cases[text], text))
    if None not in numbers:
        names = list(dict.fromkeys(texts[place] for place in np.argsort(np.array(numbers), kind="stable")))
    return np.array([names.index(text) for text in texts], dtype=np.intp), names


def _quantiles(numbers: FloatArray, bins: int) -> FloatArray:
    """Values at which bins of about equal size begin; equal values stay together."""
    edges = np.unique(np.quantile(numbers, np.arange(1, bins) / bins, method="higher"))
    return np.asarray(edges[edges > numbers.min()])


def _between(edges: Sequence[float]) -> list[str]:
    written = [f"{edge:.10g}" for edge in edges]
    middle = [f"{low} to under {high}" for low, high in pairwise(written)]
    return [f"under {written[0]}", *middle, f"{written[-1]} and over"]


def _ranges(numbers: FloatArray, codes: IntArray, n_bins: int) -> list[str]:
    """Each bin by its lowest and highest value."""
    ends = [(part.min(), part.max()) for part in (numbers[codes == code] for code in range(n_bins))]
    short, exact = (
        [f"{low:.{digits}g}" if low == high else f"{low:.{digits}g} to {high:.{digits}g}" for low, high in ends]
        for digits in (6, 17)
    )
    return short if len(set(short)) == n_bins else exact

"""Which group each case belongs to, by columns such as a site, a sex, an age: categories, bins, and both crossed.

::

    site            every value is a group; a column of many numbers is cut into five bins of about equal size
    age:10          ten bins of about equal size
    age:18|65       bins with these edges; one edge alone is written 65|
    code:each       every value is a group, however many numbers there are
    site*age:18|65  every pair of groups

Small groups are pooled, and cases without a value are a group of their own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.compare.sample import Sample
from pandora_regret.inputs import FloatArray, InputError, InputTypeError, IntArray
from pandora_regret.inputs.labels import is_missing
from pandora_regret.inputs.names import matched
from pandora_regret.inputs.numbers import read_array
from pandora_regret.inputs.tables import is_frame, read_columns

SMALLEST_GROUP = 30  # cases: costs are skewed, and below this size Student's intervals of their means fall short
FEW_VALUES = 12  # a column of no more different numbers is taken as categories
USUAL_BINS, MOST_BINS = 5, 100
MOST_GROUPS = 50  # of a column; what is beyond is pooled, the smallest first
MISSING, OTHER = "missing", "other"
BINS = re.compile(r"(?P<name>.+):(?P<how>each|\d+|[-+.\de]*(\|[-+.\de]*)+)", re.DOTALL)
CROSS = "*"
Columns: TypeAlias = tuple[NDArray[Any], ...]


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
    match, fix = BINS.fullmatch(text), "write a column, such as site, age:10 or site*sex"
    if text and (match is None or match["how"] == "each"):
        return Cut(text) if match is None else Cut(match["name"], each=True)
    if match is not None and "|" in match["how"]:
        fix = "write rising numbers between bars, such as age:18|65"
        with suppress(ValueError):
            edges = tuple(float(edge) for edge in match["how"].split("|") if edge)
            if edges and list(edges) == sorted(set(edges)) and np.isfinite(edges).all():
                return Cut(match["name"], edges=edges)
    elif match is not None:
        bins = int(match["how"])
        fix = f"ask for 2 to {MOST_BINS} bins; a single edge is written such as {bins}|"
        if 2 <= bins <= MOST_BINS:
            return Cut(match["name"], bins=bins)
    raise InputError(argument="by", value=whole, fix=fix)


def columns_of(breakdowns: str | Iterable[str]) -> dict[str, Sequence[str]]:
    """The columns of breakdowns as they are written, such as ``site*age:10``."""
    texts = [breakdowns] if isinstance(breakdowns, str) else breakdowns
    return {text: [cut.column for cut in read_cuts(text)] for text in texts}


def values_of(breakdowns: Mapping[str, Sequence[str]], values: Mapping[str, Any]) -> dict[str, Any]:
    """What `compare` takes as `by`, from the columns that files or frames have."""
    asked = [name for names in breakdowns.values() for name in names]
    columns = {name: values[column] for name, column in matched(asked, values).items()}
    for missing in (name for name in asked if name not in columns):
        fix, (name, colon, _) = "name a column that one of the files has", missing.rpartition(":")
        if colon:
            fix = f"write bins such as {name}:10 (ten bins), {name}:18|65 (edges) or {name}:each"
        raise InputError(f"names {missing!r}, which no file has", argument="by", value=missing, fix=fix)
    return {
        text: columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
        for text, names in breakdowns.items()
    }


def read_by(by: Any, n_rows: int) -> dict[str, Columns]:
    """What results are broken down by, as a mapping or a frame: columns, (N,) each, by how they are cut."""
    columns: dict[str, Columns] = {}
    if is_frame(by):
        listed, names = read_columns(by, None, "by")
        by = dict(zip(names, listed, strict=True))
    if not isinstance(by, Mapping | None):
        fix = "pass a frame, or a mapping such as {'site': site, 'age:10': age, 'site*sex': (site, sex)}"
        raise InputTypeError(f"is a {type(by).__name__}", argument="by", fix=fix)
    for name, values in (by or {}).items():
        place, wanted = f"by[{str(name)!r}]", len(read_cuts(str(name)))
        parts = values if wanted > 1 else (values,)
        if not isinstance(parts, tuple | list) or len(parts) != wanted:
            raise InputError(f"needs {wanted} columns", argument="by", place=place, fix="pass a tuple of them")
        columns[str(name)] = tuple(read_array(part, place) for part in parts)
        for shape in (column.shape for column in columns[str(name)] if column.shape != (n_rows,)):
            fix = f"pass one value per case, shape ({n_rows},)"
            raise InputError(f"has shape {shape}", argument="by", place=place, fix=fix)
    return columns


def group(name: str, columns: Columns, sample: Sample, smallest: int) -> Grouping:
    """The sample's cases in groups; those of fewer than `smallest` cases, or clusters of them, become one.

    That one comes last, and says how many of its cases lack a value; empty groups are gone.
    """
    cuts = read_cuts(name)
    codes, labels = np.zeros(sample.n_cases, dtype=np.intp), list[tuple[str, ...]]([()])
    for cut, column in zip(cuts, columns, strict=True):
        more, names = _divide(cut, column[sample.cases].tolist())
        codes = codes * len(names) + more
        labels = [(*label, another) for label in labels for another in names]
    sizes, of_rows = np.bincount(codes, minlength=len(labels)), codes[sample.case_of]
    clusters = np.unique(of_rows * len(sample.keys) + sample.cluster_of)  # of each group, each once
    kept = np.bincount(clusters // len(sample.keys), minlength=len(labels)) >= smallest
    kept[np.argsort(-sizes, kind="stable")[MOST_GROUPS:]] = False
    pooled, number = int(((sizes > 0) & ~kept).sum()), np.where(kept, np.cumsum(kept) - 1, kept.sum())
    named = [label for label, keep in zip(labels, kept, strict=True) if keep]
    if pooled:
        lacking = sizes[~kept & np.array([MISSING in label for label in labels])].sum()
        other = OTHER if (OTHER,) not in named else f"{OTHER} (pooled)"
        other += f", {lacking} missing" if lacking else ""
        only_missing = lacking == sizes[~kept].sum() and (MISSING,) not in named
        named.append((MISSING if only_missing else other,))
    sizes, divided = np.bincount(number[codes], minlength=len(named)), tuple(cut.column for cut in cuts)
    return Grouping(CROSS.join(divided), divided, tuple(named), number[of_rows], sizes, pooled)


def _divide(cut: Cut, values: list[Any]) -> tuple[IntArray, list[str]]:
    """Each value's group, (N,), and what groups are called; those that lack a value come last."""
    times = Counter(value for value in values if not (is_missing(value) or str(value).isspace() or value == ""))
    numbers = {value: _number(value) for value in times}
    texts = [value for value, number in numbers.items() if number is None]
    if texts and (cut.bins or cut.edges):
        about: dict[str, Any] = {"place": f"column {cut.column!r}", "value": texts[0]}
        fix = "only numbers can be binned: name the column alone"
        raise InputError(f"holds {texts[0]!r:.60}", argument="by", fix=fix, **about)
    if not texts and (cut.bins or cut.edges or (len(times) > FEW_VALUES and not cut.each)):
        distinct = np.array(list(numbers.values()), dtype=np.float64)
        codes, names = _binned(cut, distinct, np.array(list(times.values()), dtype=np.intp))
        group_of = dict(zip(times, codes, strict=True))
    else:  # numbers in their order, names by falling number of cases; values that read the same are the same
        written = {value: _written(value) for value in times}
        cases = Counter(written[value] for value in times.elements())
        names = sorted(cases, key=lambda text: (-cases[text], text))
        if not texts:
            names = list(
                dict.fromkeys(written[value] for value in sorted(times, key=lambda value: numbers[value] or 0))
            )
        group_of = {value: names.index(written[value]) for value in times}
    groups = np.array([group_of.get(value, len(names)) for value in values], dtype=np.intp)
    return groups, names if len(names) > groups.max() else [*names, MISSING]


def _number(value: Any) -> float | None:
    """What can be binned; True and False are names."""
    with suppress(TypeError, ValueError):
        if not isinstance(value, bool) and np.isfinite(float(value)):
            return float(value)
    return None


def _written(value: Any) -> str:
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()


def _binned(cut: Cut, numbers: FloatArray, times: IntArray) -> tuple[list[int], list[str]]:
    """The bins of different numbers, each of which occurs so many times; equal values stay together."""
    if cut.edges:
        written = [f"{edge:.10g}" for edge in cut.edges]
        between = [f"{low} to under {high}" for low, high in pairwise(written)]
        names = [f"under {written[0]}", *between, f"{written[-1]} and over"]
        return np.searchsorted(cut.edges, numbers, side="right").tolist(), names
    every, bins = np.repeat(numbers, times), cut.bins or USUAL_BINS
    edges = np.unique(np.quantile(every, np.arange(1, bins) / bins, method="higher"))
    codes = np.searchsorted(edges[edges > every.min()], numbers, side="right")
    parts = [numbers[codes == code] for code in range(codes.max() + 1)]
    ends = [(part.min(), part.max()) for part in parts]
    short, exact = (
        [f"{low:.{digits}g}" if low == high else f"{low:.{digits}g} to {high:.{digits}g}" for low, high in ends]
        for digits in (6, 17)
    )
    return codes.tolist(), short if len(set(short)) == len(parts) else exact

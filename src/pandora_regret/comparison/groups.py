"""Which group each case is in: by the values of columns, or bins of them; small groups are pooled."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from pandora_regret.comparison.breakdowns import Cut, Division, How, number_of
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray, InputError, IntArray, Names, is_missing

FEW_VALUES = 12  # a column of no more different numbers is taken as categories
USUAL_BINS = 5
MOST_GROUPS = 50  # of a column; what is beyond is pooled, the smallest first
MISSING_GROUP = "missing"
OTHER_GROUP = "other"
SHORT_DIGITS = 6  # of the ends of a bin
EXACT_DIGITS = 17


@dataclass(frozen=True)
class Grouping:
    """The cases in groups: `labels` has each group's name, one part per column, or one part for pooled groups."""

    labels: list[Names]
    group_of: IntArray  # (n_cases,)
    pooled: int  # how many groups were pooled; where there are any, the last group holds their cases


def group(division: Division, sample: Sample, smallest: int) -> Grouping:
    """The group of each case.

    Groups of fewer than `smallest` cases, or clusters of them, become one. That one comes last, and says how many
    of its cases lack a value; empty groups are gone.
    """
    codes, labels = _cross(division, sample)
    sizes = np.bincount(codes, minlength=len(labels))
    is_kept = _clusters_per_group(codes, len(labels), sample) >= smallest
    by_falling_size = np.argsort(-sizes, kind="stable")
    is_kept[by_falling_size[MOST_GROUPS:]] = False
    is_pooled = (sizes > 0) & ~is_kept
    kept_labels = [label for label, keep in zip(labels, is_kept, strict=True) if keep]
    number_of = np.where(is_kept, np.cumsum(is_kept) - 1, is_kept.sum())
    if is_pooled.any():
        lacks_value = np.array([MISSING_GROUP in label for label in labels])
        lacking = int(sizes[is_pooled & lacks_value].sum())
        kept_labels.append(_pooled_label(lacking, int(sizes[is_pooled].sum()), kept_labels))
    return Grouping(kept_labels, number_of[codes], int(is_pooled.sum()))


def _cross(division: Division, sample: Sample) -> tuple[IntArray, list[Names]]:
    """Every case's group before small ones are pooled, (n_cases,), and the name of every pair, triple, ..."""
    codes = np.zeros(sample.n_cases, dtype=np.intp)
    labels: list[Names] = [()]
    for column in division:
        codes_of_column, names = _divide(column.cut, column.values[sample.cases].tolist())
        codes = codes * len(names) + codes_of_column
        labels = [(*label, name) for label in labels for name in names]
    return codes, labels


def _clusters_per_group(codes: IntArray, n_groups: int, sample: Sample) -> IntArray:
    """How many clusters, or cases where there are none, have rows in each group, (n_groups,)."""
    n_clusters = len(sample.keys)
    group_and_cluster = np.unique(codes[sample.case_of] * n_clusters + sample.cluster_of)
    return np.bincount(group_and_cluster // n_clusters, minlength=n_groups)


def _pooled_label(lacking: int, size: int, taken: Sequence[Names]) -> Names:
    """What the pooled group of `size` cases is called, of which some lack a value."""
    label = OTHER_GROUP
    if lacking == size:
        label = MISSING_GROUP
    elif lacking:
        label = f"{OTHER_GROUP}, {lacking} missing"
    return (f"{label} (pooled)",) if (label,) in taken else (label,)


def _divide(cut: Cut, values: Sequence[object]) -> tuple[IntArray, list[str]]:
    """Each value's group, (N,), and what groups are called; those that lack a value come last.

    Numbers come in their order, names by falling number of cases; values that read the same are the same.
    """
    written = cache(_written)
    texts = [written(value) for value in values]
    times = Counter(text for text in texts if text)
    group_of, names = _groups_of_texts(cut, times)
    groups = np.array([group_of.get(text, len(names)) for text in texts], dtype=np.intp)
    if len(names) <= groups.max():
        names = [*names, MISSING_GROUP]
    return groups, names


def _groups_of_texts(cut: Cut, times: Mapping[str, int]) -> tuple[dict[str, int], list[str]]:
    """The group of each different text, which occurs so many times, and what groups are called."""
    numbers: dict[str, float] = {}
    words: list[str] = []
    for text in times:
        number = number_of(text)
        if number is None:
            words.append(text)
        else:
            numbers[text] = number
    is_binned = isinstance(cut.how, int | tuple)
    if words and is_binned:
        problem = f"holds {words[0]!r:.60}"
        fix = "only numbers can be binned: name the column alone"
        raise InputError(problem, argument="by", place=f"column {cut.column!r}", value=words[0], fix=fix)
    has_many_numbers = not words and len(times) > FEW_VALUES
    if times and (is_binned or (has_many_numbers and cut.how is None)):
        codes, names = _binned(cut.how, np.array(list(numbers.values())), list(times.values()))
        return dict(zip(times, codes, strict=True)), names
    if words:
        names = sorted(times, key=lambda text: (-times[text], text))
    else:
        names = sorted(times, key=lambda text: (numbers[text], text))
    return {text: number for number, text in enumerate(names)}, names


def _written(value: object) -> str:
    """A value as people read it; nothing where it is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _binned(how: How, numbers: FloatArray, times: Sequence[int]) -> tuple[list[int], list[str]]:
    """The bins of different numbers, (D,), each of which occurs so many times, and what bins are called."""
    if isinstance(how, tuple):
        return np.searchsorted(how, numbers, side="right").tolist(), _names_between(how)
    n_bins = how if isinstance(how, int) else USUAL_BINS
    return _equal_bins(n_bins, numbers, times)


def _names_between(edges: Sequence[float]) -> list[str]:
    """What bins with these edges are called."""
    written = [f"{edge:.10g}" for edge in edges]
    between = [f"{low} to under {high}" for low, high in pairwise(written)]
    return [f"under {written[0]}", *between, f"{written[-1]} and over"]


def _equal_bins(n_bins: int, numbers: FloatArray, times: Sequence[int]) -> tuple[list[int], list[str]]:
    """Bins of about equally many cases; equal values stay together, so that there may be fewer bins."""
    of_cases = np.repeat(numbers, times)
    edges = np.unique(np.quantile(of_cases, np.arange(1, n_bins) / n_bins, method="higher"))
    codes = np.searchsorted(edges[edges > of_cases.min()], numbers, side="right")
    ends = []
    for code in range(codes.max() + 1):
        in_bin = numbers[codes == code]
        ends.append(sorted({in_bin.min(), in_bin.max()}))
    names = [_names_of_ends(bin_ends, SHORT_DIGITS) for bin_ends in ends]
    if len(set(names)) < len(ends):
        names = [_names_of_ends(bin_ends, EXACT_DIGITS) for bin_ends in ends]
    return codes.tolist(), names


def _names_of_ends(ends: Sequence[float], digits: int) -> str:
    """What a bin from its least value to its largest is called."""
    return " to ".join(f"{end:.{digits}g}" for end in ends)

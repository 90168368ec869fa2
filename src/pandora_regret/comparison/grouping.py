"""Models group by group, by columns such as a site, a sex, an age: categories, bins, and both crossed.

::

    site            every value is a group; a column of many numbers is cut into five bins of about equal size
    age:10          ten bins of about equal size
    age:18|65       bins with these edges; one edge alone is written 65|
    code:each       every value is a group, however many numbers there are
    site*age:18|65  every pair of groups

Small groups are pooled, and cases without a value are a group of their own.

All questions about all groups, of all columns together, are adjusted by Holm's method as one family: whether a
model costs as much as the leader in a group, and whether it costs there what it costs elsewhere. So the chance
that anything is flagged where nothing differs is at most one less the level of the intervals.

A group may cost more because its cases are harder. So a model that costs more there than elsewhere is blamed only
if it does so compared with the other models on the same cases, too; of a single model, compared with what its own
forecasts predict. These questions, about all groups and models, are a second family.

As all models are scored on the same cases, a model that costs more in every group costs more on all cases
(Simpson's paradox cannot happen); but one group may settle the order against most cases: that is flagged.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.comparison.doubts import few_carriers
from pandora_regret.comparison.estimates import COST, NO_PREDICTION, Measured, Measurements, Sample
from pandora_regret.comparison.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.core.inputs import (
    FloatArray,
    InputError,
    InputTypeError,
    IntArray,
    Names,
    check_shape,
    is_frame,
    is_missing,
    matched,
    read_array,
    read_columns,
)
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure, contrast, holm
from pandora_regret.text import count, counted, listed, money

SMALLEST_GROUP = 30  # cases: costs are skewed, and below this size Student's intervals of their means fall short
FEW_VALUES = 12  # a column of no more different numbers is taken as categories
USUAL_BINS = 5
MOST_BINS = 100
MOST_GROUPS = 50  # of a column; what is beyond is pooled, the smallest first
MISSING = "missing"
OTHER = "other"
CROSS = "*"
MOST_CASES = 0.5  # of all weight
MOST_NAMES = 3  # in one sentence
IN_PERCENT = 1.1  # ratios below it are said in percent
SHORT_DIGITS = 6  # of the ends of a bin
EXACT_DIGITS = 17

# The questions that P-values of a model in a group answer, by their place among them:
AGAINST_LEADER = 0  # does it cost what the leader costs?
AGAINST_REST = 1  # does it cost what it costs elsewhere?
BEYOND_OTHERS = 2  # does it cost what it costs elsewhere, compared with the other models?
N_QUESTIONS = 3
FAMILIES = (slice(AGAINST_LEADER, BEYOND_OTHERS), slice(BEYOND_OTHERS, N_QUESTIONS))  # adjusted together

Column: TypeAlias = NDArray[Any]  # (N,) values of any kind, one per case
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


@dataclass(frozen=True)
class Grouping:
    """The cases in groups: `labels` has each group's name, one part per column, or one part for pooled groups."""

    labels: list[Names]
    group_of: IntArray  # (n_cases,)
    pooled: int  # how many groups were pooled; where there are any, the last group holds their cases


# What is written


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
    spelled = [_number(edge) for edge in text.split("|") if edge]
    edges = [edge for edge in spelled if edge is not None]
    if not edges or len(edges) < len(spelled) or edges != sorted(set(edges)):
        raise InputError(
            argument="by", value=breakdown, fix="write rising numbers between bars, such as age:18|65"
        )
    return tuple(edges)


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


def read_by(by: object, n_rows: int) -> list[list[CutValues]]:
    """What results are broken down by, as a mapping or a frame: of each breakdown its columns, (n_rows,) each."""
    if is_frame(by):
        columns, names = read_columns(by, None, "by")
        by = dict(zip(names, columns, strict=True))
    if by is None:
        return []
    if not isinstance(by, Mapping):
        fix = "pass a frame, or a mapping such as {'site': site, 'age:10': age, 'site*sex': (site, sex)}"
        raise InputTypeError(f"is a {type(by).__name__}", argument="by", fix=fix)
    return [_read_breakdown(str(name), values, n_rows) for name, values in by.items()]


def _read_breakdown(name: str, values: object, n_rows: int) -> list[CutValues]:
    """One breakdown: a column of values, or a tuple of the columns that are crossed, (n_rows,) each."""
    place = f"by[{name!r}]"
    cuts = read_cuts(name)
    columns = values if len(cuts) > 1 else (values,)
    if not isinstance(columns, tuple | list) or len(columns) != len(cuts):
        raise InputError(f"needs {len(cuts)} columns", argument="by", place=place, fix="pass a tuple of them")
    breakdown = [CutValues(cut, read_array(column, place)) for cut, column in zip(cuts, columns, strict=True)]
    for column in breakdown:
        check_shape(column.values, place, f"pass one value per case, shape ({n_rows},)", (n_rows,))
    return breakdown


# Which group a case is in


def group(breakdown: Sequence[CutValues], sample: Sample, smallest: int) -> Grouping:
    """The group of each case.

    Groups of fewer than `smallest` cases, or clusters of them, become one. That one comes last, and says how many
    of its cases lack a value; empty groups are gone.
    """
    codes, labels = _cross(breakdown, sample)
    sizes = np.bincount(codes, minlength=len(labels))
    is_kept = _clusters_per_group(codes, len(labels), sample) >= smallest
    by_falling_size = np.argsort(-sizes, kind="stable")
    is_kept[by_falling_size[MOST_GROUPS:]] = False
    is_pooled = (sizes > 0) & ~is_kept
    kept_labels = [label for label, keep in zip(labels, is_kept, strict=True) if keep]
    number_of = np.where(is_kept, np.cumsum(is_kept) - 1, is_kept.sum())
    if is_pooled.any():
        lacks_value = np.array([MISSING in label for label in labels])
        lacking = int(sizes[is_pooled & lacks_value].sum())
        kept_labels.append(_pooled_label(lacking, int(sizes[is_pooled].sum()), kept_labels))
    return Grouping(kept_labels, number_of[codes], int(is_pooled.sum()))


def _cross(breakdown: Sequence[CutValues], sample: Sample) -> tuple[IntArray, list[Names]]:
    """Every case's group before small ones are pooled, (n_cases,), and the name of every pair, triple, ..."""
    codes = np.zeros(sample.n_cases, dtype=np.intp)
    labels: list[Names] = [()]
    for column in breakdown:
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
    label = OTHER
    if lacking == size:
        label = MISSING
    elif lacking:
        label = f"{OTHER}, {lacking} missing"
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
        names = [*names, MISSING]
    return groups, names


def _groups_of_texts(cut: Cut, times: Mapping[str, int]) -> tuple[dict[str, int], list[str]]:
    """The group of each different text, which occurs so many times, and what groups are called."""
    numbers: dict[str, float] = {}
    words: list[str] = []
    for text in times:
        number = _number(text)
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


def _number(text: str) -> float | None:
    """From text to the finite number that it spells; None where it spells none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


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


# Models in groups


def broken_down(
    result: Comparison, measurements: Measurements, breakdowns: Iterable[Sequence[CutValues]], smallest: int
) -> Comparison:
    """The comparison with models group by group, and the verdict with what stands out beyond the margin."""
    splits = [_Split(breakdown, measurements, smallest, result.verdict.margin) for breakdown in breakdowns]
    _adjust([model for split in splits for models in split.groups for model in models])
    order = [model.name for model in result.models]
    parts = tuple(split.breakdown(order) for split in splits)
    flags = [flag for part in parts for flag in part.all_flags]
    sentences = list(result.verdict.sentences)
    if len(flags) == 1:
        sentences.append(flags[0])
    elif flags:
        sentences.append(f"{flags[0]} {counted(len(flags) - 1, 'more finding')} by group.")
    verdict = replace(result.verdict, sentences=tuple(sentences))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *flags))


@dataclass(frozen=True)
class _InGroup:
    """One model on a group's cases, and on all others: its cost, that of the other models, what it predicts."""

    name: str
    is_all: bool  # whether the group holds all cases, so that there is no elsewhere
    cost: Figure
    cost_of_others: Figure  # of a single model: what it predicts
    predicted: Figure
    cost_elsewhere: float
    cost_of_others_elsewhere: float
    leader: Figure  # the leader's cost in this group
    gap: Figure  # to the leader
    more_than_elsewhere: Figure
    beyond_others: Figure  # how much more than elsewhere, compared with the other models
    scale: float  # of costs: differences below it times 1e-12 are rounding
    p_values: FloatArray  # (N_QUESTIONS,); NaN where nothing is asked or known; adjusted in place

    def is_settled(self, question: int, level: float) -> bool:
        """Whether an answer is beyond chance, and not carried by a handful of cases."""
        if not self.p_values[question] < 1 - level:
            return False
        figure = self.gap if question == AGAINST_LEADER else self.cost
        carriers = figure.carriers(self.scale)
        return not carriers.few or carriers.number == 0


def _adjust(models: Sequence[_InGroup]) -> None:
    """Adjust the P-values of models in groups by Holm's method, all of a family together, in place."""
    if not models:
        return
    p_values = np.array([model.p_values for model in models])  # (models, N_QUESTIONS)
    for family in FAMILIES:
        of_family = p_values[:, family]
        is_known = ~np.isnan(of_family)
        of_family[is_known] = holm(of_family[is_known].tolist())
    for model, adjusted in zip(models, p_values, strict=True):
        model.p_values[:] = adjusted


def _in_group(
    name: str, rows: Sequence[FloatArray], sample: Sample, inside: NDArray[np.bool_], leader: Figure | None
) -> _InGroup:
    """A model on the rows that are `inside` a group, (N,), held against the leader's cost there.

    `rows` are the model's cost, that of the other models, and its predicted cost, (N,) each. The leader is None
    where the model is the leader itself.
    """
    is_all = bool(inside.all())  # then all cases stand in for those elsewhere, of which nothing is asked
    elsewhere = ~inside | is_all
    weights_here = sample.weights * inside
    weights_elsewhere = sample.weights * elsewhere
    cost, others_cost, predicted = (Figure.of_mean(values, weights_here, sample.cluster_of) for values in rows)
    cost_away, others_away, _ = (Figure.of_mean(values, weights_elsewhere, sample.cluster_of) for values in rows)
    leader_cost = cost if leader is None else leader
    model = _InGroup(
        name=name,
        is_all=is_all,
        cost=cost,
        cost_of_others=others_cost,
        predicted=predicted,
        cost_elsewhere=cost_away.value,
        cost_of_others_elsewhere=others_away.value,
        leader=leader_cost,
        gap=cost - leader_cost,
        more_than_elsewhere=contrast(cost, cost_away),
        beyond_others=contrast(cost - others_cost, cost_away - others_away),
        scale=max(cost.value, leader_cost.value),
        p_values=np.full(N_QUESTIONS, np.nan),
    )
    model.p_values[AGAINST_LEADER] = np.nan if leader is None else _p_value(model.gap, model.scale)
    if not is_all:
        model.p_values[AGAINST_REST] = _p_value(model.more_than_elsewhere, model.scale)
        model.p_values[BEYOND_OTHERS] = _p_value(model.beyond_others, model.scale)
    return model


def _p_value(figure: Figure, scale: float) -> float:
    """Of the hypothesis that the figure is 0; NaN where it is not known."""
    p_value = figure.p_value(scale)
    return np.nan if p_value is None else p_value


def _rows_of_models(models: Sequence[Measured]) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
    """Of each model the cost, the mean cost of the others, and the predicted cost, (N,) each.

    A single model has no others: what it predicts takes their place.
    """
    costs = np.stack([model.rows[COST] for model in models])
    predicted = np.stack([model.rows["predicted_cost"] for model in models])
    costs_of_others = predicted
    if len(models) > 1:
        costs_of_others = (costs.sum(axis=0) - costs) / (len(models) - 1)
    return list(zip(costs, costs_of_others, predicted, strict=True))


class _Split:
    """The groups of a breakdown, and all models in each."""

    def __init__(
        self, breakdown: Sequence[CutValues], measurements: Measurements, smallest: int, margin: float
    ) -> None:
        sample = measurements.sample
        grouping = group(breakdown, sample, smallest)
        group_of_row = grouping.group_of[sample.case_of]
        self.columns = [column.cut.column for column in breakdown]
        self.measurements = measurements
        self.smallest = smallest
        self.margin = margin
        self.level = measurements.interval.level
        self.currency = measurements.charge.costs.currency
        self.labels = grouping.labels
        self.pooled = grouping.pooled
        self.sizes = np.bincount(grouping.group_of)  # cases
        self.weights = np.bincount(group_of_row, sample.weights)
        rows = _rows_of_models(measurements.models)
        self.groups = [self._models_in(rows, group_of_row == number) for number in range(len(self.labels))]
        if self.pooled:  # of what was pooled nothing is asked
            for model in self.groups[-1]:
                model.p_values[:] = np.nan

    def _models_in(
        self, rows: Sequence[tuple[FloatArray, FloatArray, FloatArray]], inside: NDArray[np.bool_]
    ) -> list[_InGroup]:
        """All models on the rows that are inside a group, (N,), the leader of all cases first."""
        models: list[_InGroup] = []
        for measured, rows_of_model in zip(self.measurements.models, rows, strict=True):
            leader = models[0].cost if models else None
            models.append(_in_group(measured.name, rows_of_model, self.measurements.sample, inside, leader))
        return models

    def breakdown(self, order: Sequence[str]) -> Breakdown:
        """The groups as results, models in this order, with what is to be said of them."""
        column = CROSS.join(self.columns)
        flags = tuple(self._reversals())
        if self.pooled and len(self.labels) == 1:
            flags = (self._all_are_small(column),)
        groups = tuple(self._subgroup(number, order) for number in range(len(self.labels)))
        return Breakdown(column, groups, self.pooled, flags)

    def _all_are_small(self, column: str) -> str:
        """What is said where all groups were pooled."""
        return (
            f"No group by {column} has {count(self.smallest)} {self.measurements.sample.units} "
            f"({count(self.pooled)} smaller ones are pooled): lower --smallest-group (smallest_group), or "
            "cut numbers into fewer bins, such as age:4."
        )

    def _subgroup(self, number: int, order: Sequence[str]) -> Subgroup:
        """One group as a result, models in this order."""
        models = self.groups[number]
        results = {model.name: self._result(model) for model in models}
        cheapest = min(models, key=lambda model: model.cost.value)
        return Subgroup(
            ", ".join(self.labels[number]),
            int(self.sizes[number]),
            float(self.weights[number]),
            tuple(results[name] for name in order),
            cheapest.name,
            tuple(self._flags(number)),
        )

    def _result(self, model: _InGroup) -> GroupModel:
        """A model in a group as a result."""
        measurements = self.measurements
        cost = _not_negative(model.cost.estimate(self.level))
        carriers = model.cost.carriers(model.scale)
        if cost.low is not None and carriers.number > 0:
            cost = replace(cost, warning=few_carriers(carriers, "the spread", measurements.sample.units))
        gap = measurements.gap(model.cost, model.leader)
        if model.leader is model.cost:
            gap = replace(gap, warning=None)
        predicted = _not_negative(model.predicted.estimate(self.level))
        if measurements.models[0].order_only:
            predicted = NO_PREDICTION
        against_rest = None
        if not model.is_all:
            against_rest = model.more_than_elsewhere.estimate(self.level, model.scale)
        p_leader = _or_none(model.p_values[AGAINST_LEADER])
        p_rest = _or_none(model.p_values[AGAINST_REST])
        return GroupModel(model.name, cost, gap, p_leader, predicted, against_rest, p_rest)

    def _against_leader(self, model: _InGroup) -> int:
        """-1 or 1 where a model costs less or more than the leader by the margin and beyond chance, else 0."""
        gap = model.gap.value
        if abs(gap) > self.margin and model.is_settled(AGAINST_LEADER, self.level):
            return 1 if gap > 0 else -1
        return 0

    def _flags(self, number: int) -> Iterator[str]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere, due to the cases or not."""
        pairs = zip(self.columns, self.labels[number], strict=False)  # pooled groups have one label
        where = f"Where {' and '.join(f'{column} is {label}' for column, label in pairs)}"
        models = self.groups[number]
        leader = models[0]
        cheaper = [model for model in models if self._against_leader(model) < 0]
        if cheaper:
            best = min(cheaper, key=lambda model: model.cost.value)
            costs = f"{self._money(best.cost.value)} against {self._money(leader.cost.value)}"
            yield f"{where}, {best.name} is cheaper than {leader.name}: {costs} per case."
        higher = [model for model in models if self._costs_more_here(model)]
        standing_out = [model for model in higher if self._is_beyond_others(model)]
        for model in standing_out:
            yield f"{where}, {self._costs_here(model)}; {self._costs_expected_here(model)}."
        if len(higher) == len(models) > len(standing_out) + 1:
            costs = f"{self._money(leader.cost.value)} against {self._money(leader.cost_elsewhere)}"
            everyone = f"every model costs more than elsewhere ({leader.name} {costs})"
            yield f"{where}, {everyone}: the cases there are more expensive."

    def _costs_more_here(self, model: _InGroup) -> bool:
        """Whether a model costs more in its group than elsewhere, by the margin and beyond chance."""
        return model.more_than_elsewhere.value > self.margin and model.is_settled(AGAINST_REST, self.level)

    def _is_beyond_others(self, model: _InGroup) -> bool:
        """Whether it does so compared with the other models, too, beyond chance."""
        return bool(model.p_values[BEYOND_OTHERS] < 1 - self.level) and model.beyond_others.value > 0

    def _costs_here(self, model: _InGroup) -> str:
        """What a model costs in its group, and how many times that is what it costs elsewhere."""
        ratio = model.cost.value / model.cost_elsewhere
        times = f"{100 * (ratio - 1):.2g} % more than"
        if ratio >= IN_PERCENT:
            times = f"{ratio:.1f} times what it costs"
        elsewhere = f"{times} elsewhere ({self._money(model.cost_elsewhere)})"
        return f"{model.name} costs {self._money(model.cost.value)} per case, {elsewhere}"

    def _costs_expected_here(self, model: _InGroup) -> str:
        """What the other models cost in the group; of a single model, what it predicted."""
        expected = self._money(model.cost_of_others.value)
        if len(self.measurements.models) == 1:
            return f"it predicted {expected}"
        elsewhere = self._money(model.cost_of_others_elsewhere)
        return f"the other models cost {expected} there and {elsewhere} elsewhere"

    def _reversals(self) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        leader = self.groups[0][0].name
        for in_groups in zip(*self.groups, strict=True):  # one model in all groups
            signs = np.array([self._against_leader(model) for model in in_groups])
            share = self.weights[signs < 0].sum() / self.weights.sum()
            if share > MOST_CASES and max(signs) > 0:
                yield (
                    f"{in_groups[0].name} is cheaper than {leader} on {100 * share:.0f} % of cases "
                    f"({self._names_of(signs < 0)}); that {leader} is cheaper on all of them is due to "
                    f"{self._names_of(signs > 0)}."
                )

    def _names_of(self, is_named: NDArray[np.bool_]) -> str:
        """What some of the groups, (groups,), are called, in a sentence."""
        names = [", ".join(self.labels[number]) for number in np.flatnonzero(is_named)]
        return listed(names, MOST_NAMES)

    def _money(self, amount: float) -> str:
        """An amount in the currency of the comparison."""
        return money(amount, self.currency)


def _not_negative(estimate: Estimate) -> Estimate:
    """An estimate of a cost, whose interval cannot reach below 0."""
    return estimate.mapped(lambda end: max(end, 0.0))


def _or_none(p_value: float) -> float | None:
    """A P-value as results hold it: None where it is NaN."""
    return None if np.isnan(p_value) else float(p_value)

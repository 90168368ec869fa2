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
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.compare.doubts import few_carriers
from pandora_regret.compare.estimates import COST, NO_PREDICTION, Measurements, Sample
from pandora_regret.compare.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.core.inputs import (
    Fields,
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
from pandora_regret.inference.joint import Figure, contrast, holm
from pandora_regret.text import count, counted, listed, money

SMALLEST_GROUP = 30  # cases: costs are skewed, and below this size Student's intervals of their means fall short
FEW_VALUES = 12  # a column of no more different numbers is taken as categories
USUAL_BINS, MOST_BINS = 5, 100
MOST_GROUPS = 50  # of a column; what is beyond is pooled, the smallest first
MISSING, OTHER = "missing", "other"
CROSS = "*"
MOST_CASES = 0.5  # of all weight
MOST_NAMES = 3  # in one sentence
IN_PERCENT = 1.1  # ratios below it are said in percent
How: TypeAlias = str | int | list[float] | None  # a column is cut: "each" value, so many bins, edges, or as usual
Cuts: TypeAlias = list[tuple[str, How, NDArray[Any]]]  # of a breakdown: columns, how each is cut, its values (N,)


def read_cuts(text: str) -> list[tuple[str, How]]:
    """One breakdown as it is written, "site*age:10": its columns, and how each is cut."""
    cuts: list[tuple[str, How]] = []
    for part in map(str.strip, text.split(CROSS)):
        name, _, cut = part.rpartition(":")
        how: How = None
        fix = "" if part else "write a column, such as site, age:10 or site*sex"
        if name and cut.isdecimal():
            how = int(cut)
            if not 2 <= how <= MOST_BINS:
                fix = f"ask for 2 to {MOST_BINS} bins; a single edge is written such as {how}|"
        elif name and "|" in cut:
            how = edges = list[Any](_number(edge) for edge in cut.split("|") if edge)
            if not edges or None in edges or edges != sorted({*edges}):
                fix = "write rising numbers between bars, such as age:18|65"
        elif name and cut == "each":
            how = cut
        if fix:
            raise InputError(argument="by", value=text, fix=fix)
        cuts.append((part if how is None else name, how))
    return cuts


def columns_of(breakdowns: Iterable[str]) -> Names:
    """The columns of breakdowns as they are written, such as ``site*age:10``, each once."""
    return tuple(dict.fromkeys(column for text in breakdowns for column, _ in read_cuts(text)))


def values_of(breakdowns: Iterable[str], values: Mapping[str, Any]) -> Fields:
    """What `compare` takes as `by`, from the columns that files or frames have."""
    names = columns_of(breakdowns)
    columns = {name: values[column] for name, column in matched(names, values).items()}
    for missing in (name for name in names if name not in columns):
        fix, (name, colon, _) = "name a column that one of the files has", missing.rpartition(":")
        if colon:
            fix = f"write bins such as {name}:10 (ten bins), {name}:18|65 (edges) or {name}:each"
        raise InputError(f"names {missing!r}, which no file has", argument="by", value=missing, fix=fix)
    parts = {text: tuple(columns[name] for name, _ in read_cuts(text)) for text in breakdowns}
    return {text: of if len(of) > 1 else of[0] for text, of in parts.items()}


def read_by(by: Any, n_rows: int) -> list[Cuts]:
    """What results are broken down by, as a mapping or a frame."""
    breakdowns = list[Cuts]()
    if is_frame(by):
        listed, names = read_columns(by, None, "by")
        by = dict(zip(names, listed, strict=True))
    if not isinstance(by, Mapping | None):
        fix = "pass a frame, or a mapping such as {'site': site, 'age:10': age, 'site*sex': (site, sex)}"
        raise InputTypeError(f"is a {type(by).__name__}", argument="by", fix=fix)
    for name, values in (by or {}).items():
        place, cuts = f"by[{str(name)!r}]", read_cuts(str(name))
        parts = values if len(cuts) > 1 else (values,)
        if not isinstance(parts, tuple | list) or len(parts) != len(cuts):
            raise InputError(f"needs {len(cuts)} columns", argument="by", place=place, fix="pass a tuple of them")
        breakdowns.append([(*cut, read_array(part, place)) for cut, part in zip(cuts, parts, strict=True)])
        for *_, column in breakdowns[-1]:
            check_shape(column, place, f"pass one value per case, shape ({n_rows},)", (n_rows,))
    return breakdowns


def group(cuts: Cuts, sample: Sample, smallest: int) -> tuple[list[Names], IntArray, int]:
    """What groups are called, column by column, the group of each case, (n_cases,), and how many were pooled.

    Groups of fewer than `smallest` cases, or clusters of them, become one. That one comes last, and says how many
    of its cases lack a value; empty groups are gone.
    """
    codes, labels = np.zeros(sample.n_cases, dtype=np.intp), list[Names]([()])
    for column, how, values in cuts:
        more, names = _divide(column, how, values[sample.cases].tolist())
        codes = codes * len(names) + more
        labels = [(*label, another) for label in labels for another in names]
    sizes, of_rows = np.bincount(codes, minlength=len(labels)), codes[sample.case_of]
    clusters = np.unique(of_rows * len(sample.keys) + sample.cluster_of)  # of each group, each once
    kept = np.bincount(clusters // len(sample.keys), minlength=len(labels)) >= smallest
    kept[np.argsort(-sizes, kind="stable")[MOST_GROUPS:]] = False
    pooled, number = int(((sizes > 0) & ~kept).sum()), np.where(kept, np.cumsum(kept) - 1, kept.sum())
    kept_labels = [label for label, keep in zip(labels, kept, strict=True) if keep]
    if pooled:
        lacking = sizes[~kept & np.array([MISSING in label for label in labels])].sum()
        other = f"{OTHER}, {lacking} missing" if lacking else OTHER
        other = MISSING if lacking == sizes[~kept].sum() else other
        kept_labels.append((f"{other} (pooled)" if (other,) in kept_labels else other,))
    return kept_labels, number[codes], pooled


def _divide(column: str, how: How, values: list[Any]) -> tuple[IntArray, list[str]]:
    """Each value's group, (N,), and what groups are called; those that lack a value come last.

    Numbers come in their order, names by falling number of cases; values that read the same are the same.
    """
    texts = [*map(cache(_written), values)]
    times = Counter(filter(None, texts))
    numbers = {text: number for text in times if (number := _number(text)) is not None}
    name, is_binned = next((text for text in times if text not in numbers), None), isinstance(how, int | list)
    if name and is_binned:
        problem, fix = f"holds {name!r:.60}", "only numbers can be binned: name the column alone"
        raise InputError(problem, argument="by", place=f"column {column!r}", value=name, fix=fix)
    if times and (is_binned or (not name and len(times) > FEW_VALUES and not how)):
        codes, names = _binned(how, np.array([*numbers.values()]), [*times.values()])
        group_of = dict(zip(times, codes, strict=True))
    else:
        names = sorted(times, key=lambda text: (-times[text], text) if name else (numbers[text], text))
        group_of = {text: number for number, text in enumerate(names)}
    groups = np.array([group_of.get(text, len(names)) for text in texts], dtype=np.intp)
    return groups, names if len(names) > groups.max() else [*names, MISSING]


def _written(value: Any) -> str:
    """A value as people read it; nothing where it is missing."""
    whole = isinstance(value, float) and value.is_integer()
    return "" if is_missing(value) else str(int(value) if whole else value).strip()


def _number(text: str) -> float | None:
    """From text to the finite number that it spells; None where it spells none."""
    with suppress(ValueError):
        return number if np.isfinite(number := float(text)) else None
    return None


def _binned(how: How, numbers: FloatArray, times: Sequence[int]) -> tuple[list[int], list[str]]:
    """The bins of different numbers, each of which occurs so many times; equal values stay together."""
    if isinstance(how, list):
        written = [f"{edge:.10g}" for edge in how]
        between = [f"{low} to under {high}" for low, high in pairwise(written)]
        names = [f"under {written[0]}", *between, f"{written[-1]} and over"]
        return np.searchsorted(how, numbers, side="right").tolist(), names
    every, bins = np.repeat(numbers, times), how or USUAL_BINS
    edges = np.unique(np.quantile(every, np.arange(1, bins) / bins, method="higher"))
    codes = np.searchsorted(edges[edges > every.min()], numbers, side="right")
    parts = [numbers[codes == code] for code in range(codes.max() + 1)]
    ends = [sorted({part.min(), part.max()}) for part in parts]
    short, exact = ([" to ".join(f"{end:.{n}g}" for end in each) for each in ends] for n in (6, 17))
    return codes.tolist(), short if len({*short}) == len(ends) else exact


def broken_down(
    result: Comparison, measurements: Measurements, breakdowns: Iterable[Cuts], smallest: int
) -> Comparison:
    """The comparison with models group by group, and the verdict with what stands out beyond the margin."""
    splits = [_Split(cuts, measurements, smallest, result.verdict.margin) for cuts in breakdowns]
    every = [each for split in splits for models in split.groups for each in models]
    for family in (slice(0, 2), slice(2, 3)):
        p = np.array([each.p[family] for each in every])
        p[~np.isnan(p)] = holm(p[~np.isnan(p)].tolist())
        for each, adjusted in zip(every, p, strict=True):
            each.p[family] = adjusted
    parts = tuple(split.breakdown(smallest, [model.name for model in result.models]) for split in splits)
    flags = [flag for part in parts for flag in part.all_flags]
    more = f" {counted(len(flags) - 1, 'more finding')} by group." if len(flags) > 1 else ""
    sentences = tuple(f"{flag}{more}" for flag in flags[:1])
    verdict = replace(result.verdict, sentences=(*result.verdict.sentences, *sentences))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *flags))


class _InGroup:
    """One model on the cases of a group: its cost, that of the others, what it predicts; and of all other cases.

    P-values, (3,), are that it costs what the leader does, what it costs elsewhere, and compared with the other
    models still does so; NaN where nothing is asked or known.
    """

    def __init__(
        self,
        name: str,
        rows: Sequence[FloatArray],
        sample: Sample,
        inside: NDArray[np.bool_],
        leader: Figure | None,
    ) -> None:
        self.name, self.is_all = name, bool(inside.all())
        here, rest = (
            [Figure.of_mean(values, sample.weights * where, sample.cluster_of) for values in rows]
            for where in (inside, ~inside | self.is_all)
        )
        self.cost, self.others, self.predicted = here
        self.elsewhere, self.others_elsewhere, _ = (each.value for each in rest)
        self.leader = leader or self.cost
        self.gap, self.away = self.cost - self.leader, contrast(here[0], rest[0])
        self.beyond = contrast(here[0] - here[1], rest[0] - rest[1])
        self.scale = max(self.cost.value, self.leader.value)
        questions = (leader and self.gap, *([None] * 2 if self.is_all else [self.away, self.beyond]))
        self.p = np.array([each and each.p_value(self.scale) for each in questions], dtype=np.float64)

    def is_settled(self, question: int, level: float) -> bool:
        """Whether an answer is beyond chance, and not carried by a handful of cases."""
        carriers = (self.gap, self.cost)[question].carriers(self.scale)
        return bool(self.p[question] < 1 - level) and (not carriers.few or carriers.number == 0)


class _Split:
    """The groups of a breakdown, and all models in each."""

    def __init__(self, cuts: Cuts, measurements: Measurements, smallest: int, margin: float) -> None:
        self.columns, self.measurements, self.margin = [column for column, *_ in cuts], measurements, margin
        self.level, sample, models = measurements.interval.level, measurements.sample, measurements.models
        self.labels, of_cases, self.pooled = group(cuts, sample, smallest)
        self.sizes, of_rows = np.bincount(of_cases), of_cases[sample.case_of]
        costs, predicted = (np.stack([each.rows[key] for each in models]) for key in (COST, "predicted_cost"))
        others = (costs.sum(axis=0) - costs) / (len(models) - 1) if len(models) > 1 else predicted
        self.groups: list[list[_InGroup]] = []
        self.weights = np.bincount(of_rows, sample.weights)
        for number in range(len(self.labels)):
            inside, leader = of_rows == number, None
            self.groups.append([])
            for model, *rows in zip(models, costs, others, predicted, strict=True):
                each = _InGroup(model.name, rows, sample, inside, leader)
                if self.pooled and number == len(self.labels) - 1:
                    each.p[:] = np.nan
                self.groups[-1].append(each)
                leader = leader or each.cost

    def breakdown(self, smallest: int, order: Sequence[str]) -> Breakdown:
        """The groups as results, with what is to be said of them."""
        column, groups, flags = CROSS.join(self.columns), [], tuple(self._reversals())
        if self.pooled and len(self.labels) == 1:
            flags = (
                f"No group by {column} has {count(smallest)} {self.measurements.sample.units} "
                f"({count(self.pooled)} smaller ones are pooled): lower --smallest-group (smallest_group), or "
                "cut numbers into fewer bins, such as age:4.",
            )
        for number, models in enumerate(self.groups):
            results = {each.name: self._result(each) for each in models}
            subgroup = Subgroup(
                ", ".join(self.labels[number]),
                int(self.sizes[number]),
                float(self.weights[number]),
                tuple(results[name] for name in order),
                min(models, key=lambda each: each.cost.value).name,
                tuple(self._flags(number)),
            )
            groups.append(subgroup)
        return Breakdown(column, tuple(groups), self.pooled, flags)

    def _result(self, each: _InGroup) -> GroupModel:
        measurements, figures = self.measurements, (each.cost, each.predicted)
        cost, predicted = (of.estimate(self.level).mapped(lambda end: max(end, 0.0)) for of in figures)
        if cost.low is not None and (carriers := each.cost.carriers(each.scale)).number > 0:
            cost = replace(cost, warning=few_carriers(carriers, "the spread", measurements.sample.units))
        gap, rest = measurements.gap(each.cost, each.leader), each.away.estimate(self.level, each.scale)
        gap = replace(gap, warning=None) if each.leader is each.cost else gap
        predicted = NO_PREDICTION if measurements.models[0].order_only else predicted
        p_holm, p_rest = (None if np.isnan(p) else float(p) for p in each.p[:2])
        return GroupModel(each.name, cost, gap, p_holm, predicted, None if each.is_all else rest, p_rest)

    def _against_leader(self, each: _InGroup) -> int:
        """-1 or 1 where a model costs less or more than the leader by the margin and beyond chance, else 0."""
        gap = each.gap.value
        return int(np.sign(gap)) * (abs(gap) > self.margin and each.is_settled(0, self.level))

    def _flags(self, group: int) -> Iterator[str]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere, due to the cases or not."""
        pairs = zip(self.columns, self.labels[group], strict=False)  # pooled groups have one label
        where = f"Where {' and '.join(f'{column} is {label}' for column, label in pairs)}"
        models = self.groups[group]
        leader, unit = models[0], self.measurements.charge.costs.currency
        cheaper = [each for each in models if self._against_leader(each) < 0]
        if cheaper:
            best = min(cheaper, key=lambda each: each.cost.value)
            costs = f"{money(best.cost.value, unit)} against {money(leader.cost.value, unit)}"
            yield f"{where}, {best.name} is cheaper than {leader.name}: {costs} per case."
        higher = [each for each in models if each.away.value > self.margin and each.is_settled(1, self.level)]
        blamed = [each for each in higher if each.p[2] < 1 - self.level and each.beyond.value > 0]
        for each in blamed:
            ratio, others = each.cost.value / each.elsewhere, money(each.others.value, unit)
            times = f"{ratio:.1f} times what it costs"
            times = times if ratio >= IN_PERCENT else f"{100 * (ratio - 1):.2g} % more than"
            costs = f"{money(each.cost.value, unit)} per case, {times} elsewhere ({money(each.elsewhere, unit)})"
            expected = f"the other models cost {others} there and {money(each.others_elsewhere, unit)} elsewhere"
            expected = expected if len(models) > 1 else f"it predicted {others}"
            yield f"{where}, {each.name} costs {costs}; {expected}."
        if len(higher) == len(models) > len(blamed) + 1:
            costs = f"{leader.name} {money(leader.cost.value, unit)} against {money(leader.elsewhere, unit)}"
            yield f"{where}, every model costs more than elsewhere ({costs}): the cases there are more expensive."

    def _reversals(self) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        leader = self.groups[0][0].name
        for of_groups in zip(*self.groups, strict=True):
            signs = np.array([self._against_leader(each) for each in of_groups])
            share = self.weights[signs < 0].sum() / self.weights.sum()
            if share > MOST_CASES and max(signs) > 0:
                there, due = (
                    listed((", ".join(self.labels[group]) for group in np.flatnonzero(signs == sign)), MOST_NAMES)
                    for sign in (-1, 1)
                )
                yield (
                    f"{of_groups[0].name} is cheaper than {leader} on {100 * share:.0f} % of cases ({there}); "
                    f"that {leader} is cheaper on all of them is due to {due}."
                )

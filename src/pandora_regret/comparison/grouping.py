"""Models group by group: what each costs there, and what stands out beyond chance.

All questions about all groups, of all columns together, are adjusted by Holm's method as one family: whether a
model costs as much as the leader in a group, and whether it costs there what it costs elsewhere. So the chance
that anything is flagged where nothing differs is at most one less the level of the intervals.

A group may cost more because its cases are harder. So a model that costs more there than elsewhere is blamed only
if it does so compared with the other models on the same cases, too; of a single model, compared with what its own
forecasts predict. These questions, about all groups and models, are a second family.

As all models are scored on the same cases, a model that costs more in every group costs more on all cases
(Simpson's paradox cannot happen); but one group may settle the order against most cases: that is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.comparison.breakdowns import CROSS, Division
from pandora_regret.comparison.doubts import Background, FewCarriers, Finding, NoPrediction
from pandora_regret.comparison.estimate import Basis, Contender
from pandora_regret.comparison.groups import group
from pandora_regret.comparison.request import Request
from pandora_regret.comparison.sample import Sample, Unit
from pandora_regret.core.inputs import FloatArray, IntArray, Names
from pandora_regret.inference.joint import Carriers, Figure, contrast, holm

MOST_CASES = 0.5  # of all weight

# The questions that P-values of a model in a group answer, by their place among them:
AGAINST_LEADER = 0  # does it cost what the leader costs?
AGAINST_REST = 1  # does it cost what it costs elsewhere?
BEYOND_OTHERS = 2  # does it cost what it costs elsewhere, compared with the other models?
N_QUESTIONS = 3
FAMILIES = (slice(AGAINST_LEADER, BEYOND_OTHERS), slice(BEYOND_OTHERS, N_QUESTIONS))  # adjusted together


# What stands out


@dataclass(frozen=True)
class CheaperHere:
    """A model is cheaper than the leader in a group."""

    model: str
    cost: float
    leader: str
    cost_of_leader: float
    is_cheapest: bool  # whether no other model costs less in the group
    leads_elsewhere: bool  # whether the leader is the cheapest outside of it, and in no other group another model

    @property
    def flagged(self) -> Names:
        """The models that stand out: this one, and the leader, which costs more."""
        return (self.model, self.leader)


@dataclass(frozen=True)
class DearerHere:
    """A model costs more in a group than elsewhere, and more than can be expected there."""

    model: str
    cost: float
    elsewhere: float
    expected: float  # the mean cost of the other models there; of a single model, what it predicted
    expected_elsewhere: float | None  # the mean cost of the other models elsewhere; None of a single model

    @property
    def flagged(self) -> Names:
        """The model that stands out."""
        return (self.model,)


@dataclass(frozen=True)
class AllDearerHere:
    """Every model costs more in a group than elsewhere: its cases are more expensive."""

    leader: str
    cost: float
    elsewhere: float

    @property
    def flagged(self) -> Names:
        """No model stands out: the cases do."""
        return ()


@dataclass(frozen=True)
class GroupSet:
    """What a case costs in some groups together, by a model and by the leader."""

    labels: tuple[Names, ...]
    cost: float
    cost_of_leader: float


@dataclass(frozen=True)
class Reversal:
    """A model is cheaper than the leader in groups that make up most cases; the leader leads due to others."""

    model: str
    leader: str
    share: float  # of all weight
    cheaper_in: GroupSet
    dearer_in: GroupSet

    @property
    def flagged(self) -> Names:
        """The models that stand out: both of them."""
        return (self.model, self.leader)


@dataclass(frozen=True)
class AllSmall:
    """All groups were too small, and were pooled."""

    smallest: int
    unit: Unit
    pooled: int

    @property
    def flagged(self) -> Names:
        """No model stands out."""
        return ()


FlagOfGroup: TypeAlias = CheaperHere | DearerHere | AllDearerHere
FlagOfAll: TypeAlias = Reversal | AllSmall


# Results


@dataclass(frozen=True)
class GroupModelFindings:
    """One model on the cases of one group."""

    name: str
    cost: Finding
    against_leader: Finding
    p_holm: float | None
    predicted: Finding
    against_rest: Finding | None
    p_rest: float | None


@dataclass(frozen=True)
class GroupFindings:
    """All models on the cases of one group."""

    label: Names  # one part per column; one part for pooled groups
    rows: int
    weight: float
    models: tuple[GroupModelFindings, ...]  # the leader of all cases first
    cheapest: str
    flags: tuple[FlagOfGroup, ...]


@dataclass(frozen=True)
class BreakdownFindings:
    """All cases in groups by some columns."""

    columns: Names
    groups: tuple[GroupFindings, ...]
    pooled: int
    flags: tuple[FlagOfAll, ...]

    @property
    def title(self) -> str:
        """The columns as they are written."""
        return CROSS.join(self.columns)


def break_down(basis: Basis, request: Request) -> tuple[BreakdownFindings, ...]:
    """The models group by group, by all columns that were asked for."""
    tables = [_group_table(division, basis, request) for division in request.divisions]
    return tuple(table.findings() for table in _adjusted(tables))


@dataclass(frozen=True)
class _CostsInGroup:
    """One model on a group's cases, and on all others: a few numbers, as groups and cases may be many."""

    name: str
    cost: Finding
    against_leader: Finding
    predicted: Finding
    against_rest: Finding | None  # None where the group holds all cases, so that there is no elsewhere
    mean: float  # of the cost
    mean_of_leader: float
    elsewhere: float  # the mean cost of all other cases
    expected: float  # the mean cost of the other models; of a single model, what it predicts
    expected_elsewhere: float
    gap: float  # to the leader
    more_than_elsewhere: float
    beyond_others: float  # how much more than elsewhere, compared with what was expected
    is_gap_carried: bool  # by a handful of cases
    is_cost_carried: bool
    p_values: FloatArray  # (N_QUESTIONS,); NaN where nothing is asked or known

    @property
    def is_all(self) -> bool:
        """Whether the group holds all cases."""
        return self.against_rest is None

    def is_settled(self, question: int, level: float) -> bool:
        """Whether an answer is beyond chance, and not carried by a handful of cases."""
        if not self.p_values[question] < 1 - level:
            return False
        is_carried = self.is_gap_carried if question == AGAINST_LEADER else self.is_cost_carried
        return not is_carried


@dataclass(frozen=True)
class _RowsOfModel:
    """A model's values of all rows, (N,) each."""

    name: str
    costs: FloatArray
    expected: FloatArray  # the mean cost of the other models; of a single model, what it predicts
    predicted: FloatArray | None


def _rows_of_models(contenders: Sequence[Contender]) -> list[_RowsOfModel]:
    """Each model's cost, and what that is held against.

    A single model has no others: what it predicts takes their place; or its own cost, where it predicts nothing.
    """
    total = np.sum([contender.costs for contender in contenders], axis=0)
    rows = []
    for contender in contenders:
        prediction = contender.measurement.predicted
        predicted = None if prediction is None else prediction.mean
        if len(contenders) > 1:
            expected = (total - contender.costs) / (len(contenders) - 1)
        else:
            expected = contender.costs if predicted is None else predicted
        rows.append(_RowsOfModel(contender.name, contender.costs, expected, predicted))
    return rows


@dataclass(frozen=True)
class _FiguresInGroup:
    """A model's figures on the cases of a group, and elsewhere: a number for each unit, so that none is kept."""

    cost: Figure
    expected: Figure
    predicted: Figure | None  # None where forecasts are orders
    elsewhere: Figure
    expected_elsewhere: Figure
    is_all: bool  # whether the group holds all cases, which then stand in for those elsewhere

    @classmethod
    def of(cls, model: _RowsOfModel, sample: Sample, inside: NDArray[np.bool_]) -> _FiguresInGroup:
        """The figures of a model on the rows inside a group, (N,), and on the others."""
        is_all = bool(inside.all())
        here = sample.weights * inside
        elsewhere = sample.weights * (~inside | is_all)
        units = sample.cluster_of
        predicted = None if model.predicted is None else Figure.of_mean(model.predicted, here, units)
        return cls(
            cost=Figure.of_mean(model.costs, here, units),
            expected=Figure.of_mean(model.expected, here, units),
            predicted=predicted,
            elsewhere=Figure.of_mean(model.costs, elsewhere, units),
            expected_elsewhere=Figure.of_mean(model.expected, elsewhere, units),
            is_all=is_all,
        )


def _costs_in_group(
    name: str, figures: _FiguresInGroup, leader: Figure | None, is_asked: bool, background: Background
) -> _CostsInGroup:
    """A model in a group.

    Parameters
    ----------
    name
        The model's.
    figures
        Its own.
    leader
        The leader's cost in the group; None where the model is the leader itself.
    is_asked
        Whether anything is asked about the group.
    background
        What estimates are held against.
    """
    cost = figures.cost
    leader_cost = cost if leader is None else leader
    gap = cost - leader_cost
    more_than_elsewhere = contrast(cost, figures.elsewhere)
    beyond_others = contrast(cost - figures.expected, figures.elsewhere - figures.expected_elsewhere)
    scale = max(cost.value, leader_cost.value)  # of costs: differences below it times 1e-12 are rounding
    carriers = cost.carriers(scale)
    against_leader = background.gap(cost, leader_cost)
    p_values = np.full(N_QUESTIONS, np.nan)
    if leader is None:
        against_leader = Finding(against_leader.value, against_leader.low, against_leader.high)
    elif is_asked:
        p_values[AGAINST_LEADER] = _p_value(gap, scale)
    against_rest = None
    if not figures.is_all:
        rest = more_than_elsewhere.estimate(background.level, scale)
        against_rest = Finding(rest.value, rest.low, rest.high)
        if is_asked:
            p_values[AGAINST_REST] = _p_value(more_than_elsewhere, scale)
            p_values[BEYOND_OTHERS] = _p_value(beyond_others, scale)
    predicted = Finding(None, doubt=NoPrediction())
    if figures.predicted is not None:
        predicted = _not_negative(figures.predicted, background.level)
    return _CostsInGroup(
        name=name,
        cost=_cost_with_doubt(cost, carriers, background),
        against_leader=against_leader,
        predicted=predicted,
        against_rest=against_rest,
        mean=cost.value,
        mean_of_leader=leader_cost.value,
        elsewhere=figures.elsewhere.value,
        expected=figures.expected.value,
        expected_elsewhere=figures.expected_elsewhere.value,
        gap=gap.value,
        more_than_elsewhere=more_than_elsewhere.value,
        beyond_others=beyond_others.value,
        is_gap_carried=_is_carried(gap.carriers(scale)),
        is_cost_carried=_is_carried(carriers),
        p_values=p_values,
    )


def _is_carried(carriers: Carriers) -> bool:
    """Whether a handful of units make up a number."""
    return carriers.few and carriers.number > 0


def _cost_with_doubt(cost: Figure, carriers: Carriers, background: Background) -> Finding:
    """A model's cost in a group, with its interval, and a doubt where a handful of cases carry it."""
    finding = _not_negative(cost, background.level)
    if finding.low is None or not _is_carried(carriers):
        return finding
    return Finding(finding.value, finding.low, finding.high, FewCarriers(carriers, "spread", background.unit))


def _p_value(figure: Figure, scale: float) -> float:
    """The p-value of the hypothesis that the figure is 0; NaN where it is not known."""
    p_value = figure.p_value(scale)
    return np.nan if p_value is None else p_value


@dataclass(frozen=True)
class _GroupTable:
    """The groups of a division, and all models in each."""

    columns: Names
    basis: Basis
    smallest: int  # of fewer cases a group is pooled
    level: float
    labels: list[Names]  # of the groups
    pooled: int  # so many groups; where there are any, the last one holds their cases
    sizes: IntArray  # (groups,) cases
    weights: FloatArray  # (groups,)
    models: tuple[tuple[_CostsInGroup, ...], ...]  # of each group, the leader of all cases first

    def findings(self) -> BreakdownFindings:
        """The groups as results, with what is to be said of them."""
        flags: tuple[FlagOfAll, ...] = tuple(self._reversals())
        if self.pooled and len(self.labels) == 1:
            flags = (AllSmall(self.smallest, self.basis.background.unit, self.pooled),)
        groups = tuple(self._group(number) for number in range(len(self.labels)))
        return BreakdownFindings(self.columns, groups, self.pooled, flags)

    def _group(self, number: int) -> GroupFindings:
        """One group as a result."""
        models = self.models[number]
        return GroupFindings(
            label=self.labels[number],
            rows=int(self.sizes[number]),
            weight=float(self.weights[number]),
            models=tuple(self._model(model) for model in models),
            cheapest=min(models, key=lambda model: model.mean).name,
            flags=tuple(self._flags(models)),
        )

    def _model(self, model: _CostsInGroup) -> GroupModelFindings:
        """A model in a group as a result."""
        return GroupModelFindings(
            name=model.name,
            cost=model.cost,
            against_leader=model.against_leader,
            p_holm=_or_none(model.p_values[AGAINST_LEADER]),
            predicted=model.predicted,
            against_rest=model.against_rest,
            p_rest=_or_none(model.p_values[AGAINST_REST]),
        )

    def _against_leader(self, model: _CostsInGroup) -> int:
        """-1 or 1 where a model costs less or more than the leader by the margin and beyond chance, else 0."""
        if abs(model.gap) > self.basis.margin.amount and model.is_settled(AGAINST_LEADER, self.level):
            return 1 if model.gap > 0 else -1
        return 0

    def _cheaper_than_leader(self, models: Sequence[_CostsInGroup]) -> list[_CostsInGroup]:
        """The models of a group that cost less there than the leader, by the margin and beyond chance."""
        return [model for model in models if self._against_leader(model) < 0]

    def _flags(self, models: Sequence[_CostsInGroup]) -> list[FlagOfGroup]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere, due to the cases or not."""
        flags: list[FlagOfGroup] = []
        leader = models[0]
        cheaper = self._cheaper_than_leader(models)
        if cheaper:
            best = min(cheaper, key=lambda model: model.mean)
            flags.append(
                CheaperHere(
                    best.name,
                    best.mean,
                    leader.name,
                    leader.mean,
                    is_cheapest=best.mean == min(model.mean for model in models),
                    leads_elsewhere=self._leads_elsewhere(models),
                )
            )
        dearer = [model for model in models if self._costs_more_here(model)]
        standing_out = [model for model in dearer if self._is_beyond_others(model)]
        for model in standing_out:
            expected_elsewhere = None if len(models) == 1 else model.expected_elsewhere
            flags.append(DearerHere(model.name, model.mean, model.elsewhere, model.expected, expected_elsewhere))
        if len(dearer) == len(models) > len(standing_out) + 1:
            flags.append(AllDearerHere(leader.name, leader.mean, leader.elsewhere))
        return flags

    def _leads_elsewhere(self, models: Sequence[_CostsInGroup]) -> bool:
        """Whether the leader is the cheapest outside of a group, and in no other group a model is cheaper."""
        leader = models[0]
        if leader.is_all or leader.elsewhere > min(model.elsewhere for model in models):
            return False
        groups_of_others = [group for group in self.models if self._cheaper_than_leader(group)]
        return len(groups_of_others) == 1

    def _costs_more_here(self, model: _CostsInGroup) -> bool:
        """Whether a model costs more in its group than elsewhere, by the margin and beyond chance."""
        is_enough = model.more_than_elsewhere > self.basis.margin.amount
        return is_enough and model.is_settled(AGAINST_REST, self.level)

    def _is_beyond_others(self, model: _CostsInGroup) -> bool:
        """Whether a model stands out compared with the other models, too, beyond chance."""
        return bool(model.p_values[BEYOND_OTHERS] < 1 - self.level) and model.beyond_others > 0

    def _reversals(self) -> list[Reversal]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        leader = self.models[0][0].name
        reversals = []
        for in_groups in zip(*self.models, strict=True):  # one model in all groups
            signs = np.array([self._against_leader(model) for model in in_groups])
            share = float(self.weights[signs < 0].sum() / self.weights.sum())
            if share > MOST_CASES and max(signs) > 0:
                cheaper_in = self._together(in_groups, signs < 0)
                dearer_in = self._together(in_groups, signs > 0)
                reversals.append(Reversal(in_groups[0].name, leader, share, cheaper_in, dearer_in))
        return reversals

    def _together(self, in_groups: Sequence[_CostsInGroup], is_named: NDArray[np.bool_]) -> GroupSet:
        """Some of the groups, (groups,), as one: a model in all groups, and the leader."""
        numbers = np.flatnonzero(is_named).tolist()
        weights = self.weights[numbers]
        costs = [in_groups[number].mean for number in numbers]
        costs_of_leader = [in_groups[number].mean_of_leader for number in numbers]
        return GroupSet(
            labels=tuple(self.labels[number] for number in numbers),
            cost=float(np.average(costs, weights=weights)),
            cost_of_leader=float(np.average(costs_of_leader, weights=weights)),
        )


def _group_table(division: Division, basis: Basis, request: Request) -> _GroupTable:
    """The groups of a division; of what was pooled nothing is asked."""
    sample = request.sample
    grouping = group(division, sample, request.smallest_group)
    group_of_row = grouping.group_of[sample.case_of]
    rows = _rows_of_models(basis.contenders)
    models = []
    for number in range(len(grouping.labels)):
        is_pooled = grouping.pooled > 0 and number == len(grouping.labels) - 1
        inside = group_of_row == number
        models.append(_models_in_group(rows, sample, inside, not is_pooled, basis.background))
    return _GroupTable(
        columns=tuple(column.cut.column for column in division),
        basis=basis,
        smallest=request.smallest_group,
        level=request.interval.level,
        labels=grouping.labels,
        pooled=grouping.pooled,
        sizes=np.bincount(grouping.group_of),
        weights=np.bincount(group_of_row, sample.weights).astype(np.float64, copy=False),
        models=tuple(models),
    )


def _models_in_group(
    rows: Sequence[_RowsOfModel],
    sample: Sample,
    inside: NDArray[np.bool_],
    is_asked: bool,
    background: Background,
) -> tuple[_CostsInGroup, ...]:
    """All models on the rows that are inside a group, (N,), the leader of all cases first."""
    leader: Figure | None = None
    models = []
    for model in rows:
        figures = _FiguresInGroup.of(model, sample, inside)
        models.append(_costs_in_group(model.name, figures, leader, is_asked, background))
        if leader is None:
            leader = figures.cost
    return tuple(models)


def _adjusted(tables: Sequence[_GroupTable]) -> list[_GroupTable]:
    """The tables with P-values adjusted by Holm's method, a family together, of whichever table."""
    if not tables:
        return []
    p_values = np.array([model.p_values for table in tables for models in table.models for model in models])
    for family in FAMILIES:
        of_family = p_values[:, family]  # (models, questions)
        is_known = ~np.isnan(of_family)
        of_family[is_known] = holm(of_family[is_known].tolist())
    in_order = iter(p_values)
    adjusted = []
    for table in tables:
        groups = [_with_p_values(models, in_order) for models in table.models]
        adjusted.append(replace(table, models=tuple(groups)))
    return adjusted


def _with_p_values(models: Sequence[_CostsInGroup], p_values: Iterator[FloatArray]) -> tuple[_CostsInGroup, ...]:
    """Models with the next of these P-values, (N_QUESTIONS,) each."""
    return tuple(replace(model, p_values=next(p_values)) for model in models)


def _not_negative(figure: Figure, level: float) -> Finding:
    """A cost with its interval, which cannot reach below 0."""
    estimate = figure.estimate(level).mapped(lambda end: max(end, 0.0))
    return Finding(estimate.value, estimate.low, estimate.high)


def _or_none(p_value: float) -> float | None:
    """A P-value as results hold it: None where it is NaN."""
    return None if np.isnan(p_value) else float(p_value)

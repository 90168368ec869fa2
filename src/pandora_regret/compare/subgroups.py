"""Models group by group: what each costs in a group, who is cheapest there, and what stands out beyond chance.

All questions about all groups, of all columns together, are adjusted by Holm's method as one family: whether a
model costs as much as the leader in a group, and whether it costs there what it costs elsewhere. So the chance
that anything is flagged where nothing differs is at most one less the level of the intervals.

A group may cost more because its cases are harder. So a model that costs more there than elsewhere is blamed only
if it does so compared with the other models on the same cases, too; of a single model, compared with what its own
forecasts predict. These questions, about all groups and models, are a second family.

As all models are scored on the same cases, a model that is dearer in every group is dearer on all cases (Simpson's
paradox cannot happen); but one group may settle the order against most cases: that is flagged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pandora_regret.compare.assemble import NO_PREDICTION, Measurements
from pandora_regret.compare.doubts import few_carriers, same_in_all
from pandora_regret.compare.group_words import all_small, dearer_cases, dearer_model, settled_by, winner
from pandora_regret.compare.grouping import By, Grouping, group
from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Carriers, holm
from pandora_regret.inference.parts import PartMeans, SamplePart, WholeSample
from pandora_regret.inputs import FloatArray
from pandora_regret.text import counted

MOST_CASES = 0.5  # of all weight
MOST_FLAGS = 3  # in the headline
COST, PREDICTED, OVER_LEADER, OVER_OTHERS = range(4)  # kinds of columns of `_table`, one column per model each


def broken_down(result: Comparison, known: Measurements, by: By) -> Comparison:
    """The comparison with its breakdowns, and the verdict with what stands out in them."""
    parts = breakdowns(by, known.models, known.sample, known.interval.level, known.currency)
    flags = [flag for part in parts for flag in part.all_flags]
    further = len(flags) - MOST_FLAGS
    more = [] if further <= 0 else [f"{counted(further, 'more finding')} by group: see there."]
    said = (*flags[:MOST_FLAGS], *more)
    verdict = replace(result.verdict, sentences=(*result.verdict.sentences, *said))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *said))


def breakdowns(
    by: By, models: Sequence[Measured], sample: Sample, level: float, currency: str | None
) -> tuple[Breakdown, ...]:
    """Models, the cheapest first, group by group."""
    groupings = [group(name, columns, sample, by.smallest) for name, columns in by.columns.items()]
    if not groupings:
        return ()
    whole = WholeSample(_table(models), sample.weights, sample.cluster_of)
    groups = [_Group.all_of(one, whole, sample.weights) for one in groupings]
    judged = _Judgement([each for those in groups for each in those if each.tested], level)
    words = _Words(models, judged, currency, "clusters" if sample.clustered else "cases")
    return tuple(words.breakdown(one, those, by.smallest) for one, those in zip(groupings, groups, strict=True))


def _table(models: Sequence[Measured]) -> FloatArray:
    """A row per case; of every model its cost, the predicted one, its cost less the leader's and the others'."""
    costs = np.stack([model.rows["expected_cost"] for model in models], axis=1)
    predicted = np.stack([model.rows["predicted_cost"] for model in models], axis=1)
    predicted = costs if models[0].order_only else predicted  # an order predicts nothing of its own
    n_others = len(models) - 1
    others = (costs.sum(axis=1, keepdims=True) - costs) / n_others if n_others else predicted
    return np.concatenate([costs, predicted, costs - costs[:, :1], costs - others], axis=1)


@dataclass(frozen=True, eq=False)
class _Group:
    """The numbers of one group, whose columns are those of `_table`."""

    grouping: Grouping
    number: int
    rows: int
    weight: float
    part: SamplePart
    rest: PartMeans | None  # what is different here from all other cases

    @classmethod
    def all_of(cls, grouping: Grouping, whole: WholeSample, weights: FloatArray) -> list[_Group]:
        """The groups of a breakdown."""
        order = np.argsort(grouping.codes, kind="stable")
        sizes = np.bincount(grouping.codes, minlength=len(grouping.labels))
        groups = []
        for number, rows in enumerate(np.split(order, np.cumsum(sizes)[:-1])):
            part, weight = whole.part(rows), float(weights[rows].sum())
            is_all = len(rows) == len(weights)
            rest = None if is_all else whole.against_rest(part, weight / float(weights.sum()))
            groups.append(cls(grouping, number, len(rows), weight, part, rest))
        return groups

    @property
    def tested(self) -> bool:
        """Whether anything is asked of it: what is left over is no group that anybody could act on."""
        return not self.grouping.is_other(self.number)

    @property
    def phrase(self) -> str:
        return self.grouping.phrase(self.number)

    @property
    def name(self) -> str:
        return ", ".join(self.grouping.labels[self.number])

    def means(self, kind: int) -> PartMeans:
        """Of one kind of columns, (M,) each."""
        means, columns = self.part.means, _columns(kind, len(self.part.value))
        return PartMeans(means.value[columns], means.error[columns], means.effective[columns])

    def against_rest(self, kind: int) -> PartMeans:
        assert self.rest is not None
        columns = _columns(kind, len(self.rest.value))
        return PartMeans(self.rest.value[columns], self.rest.error[columns], self.rest.effective[columns])

    def carriers(self, kind: int, model: int) -> Carriers:
        """How many cases make up what is found of a model here: none where nothing varies."""
        n_models = len(self.part.value) // 4
        return self.part.carriers(kind * n_models + model, float(self.part.value[model]))

    def is_carried_by_few(self, kind: int, model: int) -> bool:
        """Whether a handful of cases makes up what is found of a model here."""
        carriers = self.carriers(kind, model)
        return carriers.few and carriers.number > 0


def _columns(kind: int, n_columns: int) -> slice:
    return slice(kind * n_columns // 4, (kind + 1) * n_columns // 4)


class _Judgement:
    """Which differences are beyond chance."""

    def __init__(self, groups: Sequence[_Group], level: float) -> None:
        self.level = level
        self._leader = {id(each): each.means(OVER_LEADER).p_values(each.means(COST).value)[1:] for each in groups}
        self._rest = {id(each): _p_rest(each, COST) for each in groups if each.rest is not None}
        _adjust([*self._leader.values(), *self._rest.values()])
        self._own = {id(each): _p_rest(each, OVER_OTHERS) for each in groups if each.rest is not None}
        _adjust(list(self._own.values()))

    def p_leader(self, group: _Group, model: int) -> float | None:
        """That a model costs what the leader does."""
        return None if model == 0 else _known(self._leader.get(id(group)), model - 1)

    def p_rest(self, group: _Group, model: int) -> float | None:
        """That a model costs what it costs elsewhere."""
        return _known(self._rest.get(id(group)), model)

    def beats_leader(self, group: _Group, model: int, sign: int = -1) -> bool:
        """Whether a model is cheaper than the leader, or dearer (+1), beyond chance."""
        p, difference = self.p_leader(group, model), group.means(OVER_LEADER).value[model]
        return (
            self._is_beyond_chance(p) and difference * sign > 0 and not group.is_carried_by_few(OVER_LEADER, model)
        )

    def is_dearer(self, group: _Group, model: int) -> bool:
        """Whether a model costs more than elsewhere."""
        if group.rest is None or group.against_rest(COST).value[model] <= 0:
            return False
        return self._is_beyond_chance(self.p_rest(group, model)) and not group.is_carried_by_few(COST, model)

    def is_to_blame(self, group: _Group, model: int) -> bool:
        """Whether it does so compared with other models, too."""
        if not self.is_dearer(group, model) or group.against_rest(OVER_OTHERS).value[model] <= 0:
            return False
        return self._is_beyond_chance(_known(self._own.get(id(group)), model))

    def _is_beyond_chance(self, p: float | None) -> bool:
        return p is not None and p < 1 - self.level


def _p_rest(group: _Group, kind: int) -> FloatArray:
    return group.against_rest(kind).p_values(group.means(COST).value)


def _known(p_values: FloatArray | None, model: int) -> float | None:
    return None if p_values is None or np.isnan(p_values[model]) else float(p_values[model])


def _adjust(parts: Sequence[FloatArray]) -> None:
    """All p-values as one family, in place; those that are not known ask nothing."""
    every = np.concatenate([*parts, np.empty(0)])
    known = ~np.isnan(every)
    every[known] = holm(every[known].tolist())
    for part, adjusted in zip(parts, np.split(every, np.cumsum([len(part) for part in parts])[:-1]), strict=False):
        part[:] = adjusted


@dataclass(frozen=True)
class _Words:
    """Groups as results, with what is to be said of them."""

    models: Sequence[Measured]
    judged: _Judgement
    currency: str | None
    units: str

    @property
    def names(self) -> list[str]:
        return [model.name for model in self.models]

    def breakdown(self, grouping: Grouping, groups: Sequence[_Group], smallest: int) -> Breakdown:
        shown = tuple(self._subgroup(each) for each in groups)
        if all(not each.tested for each in groups):
            flags: tuple[str, ...] = (all_small(grouping.name, grouping.pooled, smallest, self.units),)
        else:
            flags = tuple(self._reversals(groups))
        return Breakdown(grouping.name, shown, grouping.pooled, flags)

    def _subgroup(self, group: _Group) -> Subgroup:
        models = tuple(self._model(group, index, name) for index, name in enumerate(self.names))
        cheapest = self.names[int(np.argmin(group.means(COST).value))]
        return Subgroup(group.name, group.rows, group.weight, models, cheapest, tuple(self._flags(group)))

    def _model(self, group: _Group, index: int, name: str) -> GroupModel:
        rest = None if group.rest is None else self._estimate(group.against_rest(COST), group, index)
        return GroupModel(
            name=name,
            cost=self._cost(group, index),
            against_leader=self._over_leader(group, index),
            p_holm=self.judged.p_leader(group, index),
            predicted=self._predicted(group, index),
            against_rest=rest,
            p_rest=self.judged.p_rest(group, index),
        )

    def _predicted(self, group: _Group, index: int) -> Estimate:
        if self.models[index].order_only:
            return NO_PREDICTION
        return self._estimate(group.means(PREDICTED), group, index).mapped(lambda part: max(part, 0.0))

    def _over_leader(self, group: _Group, index: int) -> Estimate:
        gap = self._estimate(group.means(OVER_LEADER), group, index)
        carriers = group.carriers(OVER_LEADER, index)
        if not gap.value or gap.low is None or carriers.number > 0:
            return gap
        effective = float(group.part.means.effective[index])
        return replace(gap, warning=same_in_all(gap.value, carriers, self.units, effective))

    def _cost(self, group: _Group, index: int) -> Estimate:
        cost = self._estimate(group.means(COST), group, index).mapped(lambda part: max(part, 0.0))
        carriers = group.carriers(COST, index)
        if cost.low is None or not carriers.few or carriers.number == 0:
            return cost
        return Estimate(cost.value, cost.low, cost.high, few_carriers(carriers, "the spread", self.units))

    def _estimate(self, means: PartMeans, group: _Group, index: int) -> Estimate:
        """A number with its interval; rounding is nothing."""
        scale = ROUNDING * float(group.means(COST).value.max())
        estimate = Estimate(float(means.value[index]), *means.interval(index, self.judged.level))
        return estimate.mapped(lambda part: part if abs(part) > scale else 0.0)

    def _flags(self, group: _Group) -> Iterator[str]:
        if not group.tested:
            return
        costs, models = group.means(COST).value, range(len(self.names))
        cheaper = [model for model in models if model and self.judged.beats_leader(group, model)]
        if cheaper:
            best = min(cheaper, key=lambda model: costs[model])
            pair = (float(costs[best]), float(costs[0]))
            yield winner(group.phrase, self.names[best], self.names[0], pair, self.currency)
        dearer = [model for model in models if self.judged.is_dearer(group, model)]
        to_blame = [model for model in dearer if self.judged.is_to_blame(group, model)]
        for model in to_blame:
            yield self._blame(group, model)
        excused = [model for model in dearer if model not in to_blame]
        if excused:
            names, every = [self.names[model] for model in excused], len(dearer) == len(self.names)
            yield dearer_cases(
                group.phrase, names, _here_and_elsewhere(group, COST, excused[0]), every, self.currency
            )

    def _blame(self, group: _Group, model: int) -> str:
        ours, beyond = (_here_and_elsewhere(group, kind, model) for kind in (COST, OVER_OTHERS))
        theirs = (ours[0] - beyond[0], ours[1] - beyond[1])
        return dearer_model(group.phrase, self.names[model], ours, theirs, len(self.names) == 1, self.currency)

    def _reversals(self, groups: Sequence[_Group]) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        total = sum(each.weight for each in groups)
        for model in range(1, len(self.names)):
            cheaper = [each for each in groups if self.judged.beats_leader(each, model)]
            dearer = [each for each in groups if self.judged.beats_leader(each, model, sign=1)]
            share = sum(each.weight for each in cheaper) / total
            if share > MOST_CASES and dearer:
                where = [[each.name for each in those] for those in (cheaper, dearer)]
                yield settled_by(self.names[0], self.names[model], share, *where)


def _here_and_elsewhere(group: _Group, kind: int, model: int) -> tuple[float, float]:
    here = float(group.means(kind).value[model])
    return here, here - float(group.against_rest(kind).value[model])

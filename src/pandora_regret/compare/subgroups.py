"""Models group by group: what each costs in a group, who is cheapest there, and what stands out beyond chance.

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
from math import inf

import numpy as np

from pandora_regret.compare.estimates import NO_PREDICTION, Measurements
from pandora_regret.compare.grouping import By, Grouping, group
from pandora_regret.compare.measure import Measured
from pandora_regret.compare.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.compare.sample import Sample
from pandora_regret.compare.words import few_carriers, same_in_all
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import holm
from pandora_regret.inference.parts import PartMeans, SamplePart, WholeSample
from pandora_regret.inputs import FloatArray
from pandora_regret.text import count, counted, listed, money

MOST_CASES = 0.5  # of all weight
MOST_FLAGS = 3  # in the headline
MOST_NAMES = 3  # in one sentence
ABOUT_TWICE = (1.95, 2.05)
IN_PERCENT = 1.1  # ratios below it are said in percent
COST, PREDICTED, OVER_LEADER, OVER_OTHERS = range(4)  # the quantities, of every model, that groups are asked about


def broken_down(result: Comparison, known: Measurements, by: By) -> Comparison:
    """The comparison with its breakdowns, and the verdict with what stands out in them."""
    parts = breakdowns(by, known.models, known.sample, known.interval.level, known.currency)
    flags = [flag for part in parts for flag in part.all_flags]
    further = len(flags) - MOST_FLAGS
    more = [] if further <= 0 else [f"{counted(further, 'more finding')} by group: see there."]
    sentences = (*flags[:MOST_FLAGS], *more)
    verdict = replace(result.verdict, sentences=(*result.verdict.sentences, *sentences))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *sentences))


def breakdowns(
    by: By, models: Sequence[Measured], sample: Sample, level: float, currency: str | None
) -> tuple[Breakdown, ...]:
    """Models, the cheapest first, group by group."""
    groupings = [group(name, columns, sample, by.smallest) for name, columns in by.columns.items()]
    if not groupings:
        return ()
    whole = WholeSample(_table(models), sample.weights, sample.cluster_of)
    groups = [each for one in groupings for each in _groups(one, whole, sample.weights, level)]
    words = _Words(models, currency, "clusters" if sample.grouped else "cases")
    judged = _judged(groups)
    return tuple(
        words.breakdown(one, [each for each in judged if each.grouping is one], by.smallest) for one in groupings
    )


def _table(models: Sequence[Measured]) -> FloatArray:
    """(4, models, N): each model's cost, the predicted one, its cost less the leader's and less the others'."""
    costs = np.stack([model.rows["expected_cost"] for model in models])
    predicted = np.stack([model.rows["predicted_cost"] for model in models])
    predicted = costs if models[0].order_only else predicted  # an order predicts nothing of its own
    others = (costs.sum(axis=0) - costs) / (len(models) - 1) if len(models) > 1 else predicted
    return np.stack([costs, predicted, costs - costs[0], costs - others])


@dataclass(frozen=True, eq=False)
class _Group:
    """The numbers of one group: arrays are (4, models), in the order of `_table`; p-values are (models,)."""

    grouping: Grouping
    number: int
    weight: float
    level: float
    part: SamplePart
    rest: PartMeans | None  # what is different here from all other cases; None where there are none
    p_leader: FloatArray  # that a model costs what the leader does; NaN where nothing is asked, or known
    p_rest: FloatArray  # that it costs what it costs elsewhere
    p_others: FloatArray  # that, compared with the other models, it does

    @property
    def is_tested(self) -> bool:
        """Whether anything is asked of it: what is left over is no group that anybody could act on."""
        return not self.grouping.is_other(self.number)

    @property
    def name(self) -> str:
        return ", ".join(self.grouping.labels[self.number])

    @property
    def costs(self) -> FloatArray:
        return np.asarray(self.part.value[COST])

    def is_settled(self, model: int, sign: int) -> bool:
        """Whether a model costs less than the leader, or more (+1), beyond chance."""
        beyond = self._is_beyond_chance(self.p_leader[model], OVER_LEADER, model)
        return beyond and self.part.value[OVER_LEADER, model] * sign > 0

    def costs_more(self, model: int) -> bool:
        """Whether a model costs more than elsewhere."""
        higher = self.rest is not None and self.rest.value[COST, model] > 0
        return higher and self._is_beyond_chance(self.p_rest[model], COST, model)

    def is_to_blame(self, model: int) -> bool:
        """Whether it does so compared with other models, too."""
        higher = self.rest is not None and self.rest.value[OVER_OTHERS, model] > 0
        return higher and bool(self.p_others[model] < 1 - self.level)

    def _is_beyond_chance(self, p: float, quantity: int, model: int) -> bool:
        carriers = self.part.carriers((quantity, model), float(self.costs[model]))
        return bool(p < 1 - self.level) and not (carriers.few and carriers.number > 0)

    def here_and_elsewhere(self, quantity: int, model: int) -> tuple[float, float]:
        assert self.rest is not None
        here = float(self.part.value[quantity, model])
        return here, here - float(self.rest.value[quantity, model])

    def estimate(self, means: PartMeans, quantity: int, model: int) -> Estimate:
        """A number with its interval; rounding is nothing."""
        scale = ROUNDING * float(self.costs.max())
        estimate = means.estimate((quantity, model), self.level)
        return estimate.mapped(lambda part: part if abs(part) > scale else 0.0)


def _groups(grouping: Grouping, whole: WholeSample, weights: FloatArray, level: float) -> Iterator[_Group]:
    """The groups of a breakdown, their p-values not yet adjusted."""
    order = np.argsort(grouping.codes, kind="stable")
    starts = np.cumsum(np.bincount(grouping.codes, minlength=len(grouping.labels)))
    for number, rows in enumerate(np.split(order, starts[:-1])):
        part, weight = whole.part(rows), float(weights[rows].sum())
        costs = part.value[COST]
        p_leader, p_rest, p_others = np.full((3, len(costs)), np.nan)
        rest = None if len(rows) == len(weights) else whole.against_rest(part, weight / float(weights.sum()))
        if not grouping.is_other(number):
            p_leader[1:] = part.means.p_values(costs)[OVER_LEADER, 1:]
            if rest is not None:
                p_rest, p_others = rest.p_values(costs)[[COST, OVER_OTHERS]]
        yield _Group(grouping, number, weight, level, part, rest, p_leader, p_rest, p_others)


def _judged(groups: Sequence[_Group]) -> list[_Group]:
    """The same groups with p-values that are adjusted for all that is asked."""
    first = _adjusted(np.array([[each.p_leader, each.p_rest] for each in groups]))
    second = _adjusted(np.array([each.p_others for each in groups]))
    return [
        replace(each, p_leader=leader, p_rest=rest, p_others=others)
        for each, (leader, rest), others in zip(groups, first, second, strict=True)
    ]


def _adjusted(p_values: FloatArray) -> FloatArray:
    """All of them as one family; those that are not known ask nothing."""
    known = ~np.isnan(p_values)
    p_values[known] = holm(p_values[known].tolist())
    return p_values


@dataclass(frozen=True)
class _Words:
    """Groups as results, with what is to be said of them."""

    models: Sequence[Measured]
    currency: str | None
    units: str

    def breakdown(self, grouping: Grouping, groups: Sequence[_Group], smallest: int) -> Breakdown:
        shown = tuple(self._subgroup(each) for each in groups)
        flags = tuple(self._reversals(groups))
        if not any(each.is_tested for each in groups):
            flags = (
                f"No group by {grouping.name} has {count(smallest)} {self.units} ({count(grouping.pooled)} "
                "smaller ones are pooled): lower --smallest-group (smallest_group), or cut numbers into fewer "
                "bins, such as age:4.",
            )
        return Breakdown(grouping.name, shown, grouping.pooled, flags)

    def _subgroup(self, group: _Group) -> Subgroup:
        models = tuple(self._model(group, index) for index in range(len(self.models)))
        cheapest, flags = self.models[int(np.argmin(group.costs))].name, tuple(self._flags(group))
        cases = int(group.grouping.sizes[group.number])
        return Subgroup(group.name, cases, group.weight, models, cheapest, flags)

    def _model(self, group: _Group, index: int) -> GroupModel:
        means, model = group.part.means, self.models[index]
        predicted = group.estimate(means, PREDICTED, index).mapped(lambda part: max(part, 0.0))
        p_holm, p_rest = (None if np.isnan(p[index]) else float(p[index]) for p in (group.p_leader, group.p_rest))
        return GroupModel(
            name=model.name,
            cost=self._cost(group, index),
            against_leader=self._over_leader(group, index),
            p_holm=p_holm,
            predicted=NO_PREDICTION if model.order_only else predicted,
            against_rest=None if group.rest is None else group.estimate(group.rest, COST, index),
            p_rest=p_rest,
        )

    def _over_leader(self, group: _Group, index: int) -> Estimate:
        gap = group.estimate(group.part.means, OVER_LEADER, index)
        carriers = group.part.carriers((OVER_LEADER, index), float(group.costs[index]))
        if not gap.value or gap.low is None or carriers.number > 0:
            return gap
        effective = float(group.part.means.effective[OVER_LEADER, index])
        return replace(gap, warning=same_in_all(gap.value, carriers, self.units, effective))

    def _cost(self, group: _Group, index: int) -> Estimate:
        cost = group.estimate(group.part.means, COST, index).mapped(lambda part: max(part, 0.0))
        carriers = group.part.carriers((COST, index), float(group.costs[index]))
        if cost.low is None or not carriers.few or carriers.number == 0:
            return cost
        return replace(cost, warning=few_carriers(carriers, "the spread", self.units))

    def _flags(self, group: _Group) -> Iterator[str]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere."""
        if not group.is_tested:
            return
        where, models = f"Where {group.grouping.phrase(group.number)},", range(len(self.models))
        cheaper = [model for model in models if group.is_settled(model, -1)]
        if cheaper:
            best = min(cheaper, key=lambda model: group.costs[model])
            pair = self._against((float(group.costs[best]), float(group.costs[0])))
            yield f"{where} {self.models[best].name} is cheaper than {self.models[0].name}: {pair} per case."
        higher = [model for model in models if group.costs_more(model)]
        to_blame = [model for model in higher if group.is_to_blame(model)]
        for model in to_blame:
            yield f"{where} {self._blame(group, model)}"
        if excused := [model for model in higher if model not in to_blame]:
            yield f"{where} {self._harder_cases(group, excused, len(higher) == len(models))}"

    def _blame(self, group: _Group, model: int) -> str:
        """A model costs more here than elsewhere, not due to the cases."""
        ours, beyond = (group.here_and_elsewhere(quantity, model) for quantity in (COST, OVER_OTHERS))
        theirs = (ours[0] - beyond[0], ours[1] - beyond[1])
        others = f"other models: {self._against(theirs)}"
        expected = f"it predicted {money(theirs[0], self.currency)}" if len(self.models) == 1 else others
        return f"{self.models[model].name} costs {self._more(ours)}; {expected}."

    def _harder_cases(self, group: _Group, models: Sequence[int], every: bool) -> str:
        """Models cost more here than elsewhere, which the cases may explain."""
        names, costs = [self.models[model].name for model in models], group.here_and_elsewhere(COST, models[0])
        explained = "but no more than the cases there may explain."
        if len(names) == 1:
            return f"{names[0]} costs {self._more(costs)}, {explained}"
        example = f"({names[0]} {self._against(costs)})"
        if every:
            return f"every model costs more than elsewhere {example}: the cases there are more expensive."
        return f"{_some(names)} cost more than elsewhere {example}, {explained}"

    def _against(self, costs: tuple[float, float]) -> str:
        return " against ".join(money(cost, self.currency) for cost in costs)

    def _more(self, costs: tuple[float, float]) -> str:
        """How much more something costs here than elsewhere."""
        here, elsewhere = (money(cost, self.currency) for cost in costs)
        return f"{here} per case, {_times(costs[0] / costs[1] if costs[1] > 0 else inf)} elsewhere ({elsewhere})"

    def _reversals(self, groups: Sequence[_Group]) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        total, leader = sum(each.weight for each in groups), self.models[0].name
        for number, model in enumerate(self.models):
            cheaper, decisive = ([each for each in groups if each.is_settled(number, sign)] for sign in (-1, 1))
            share = sum(each.weight for each in cheaper) / total
            if share > MOST_CASES and decisive:
                yield (
                    f"{model.name} is cheaper than {leader} on {100 * share:.0f} % of cases "
                    f"({_some([each.name for each in cheaper])}); that {leader} is cheaper on all of them is due "
                    f"to {_some([each.name for each in decisive])}."
                )


def _times(ratio: float) -> str:
    if ratio < IN_PERCENT:
        return f"{100 * (ratio - 1):.2g} % more than"
    if ratio == inf:
        return "more than"
    times = "twice" if ABOUT_TWICE[0] < ratio < ABOUT_TWICE[1] else f"{ratio:.1f} times"
    return f"{times} what it costs"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return listed(names if more <= 1 else [*names[:MOST_NAMES], f"{count(more)} more"])

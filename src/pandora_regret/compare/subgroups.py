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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from pandora_regret.compare.estimates import COST, NO_PREDICTION, Measurements
from pandora_regret.compare.grouping import MISSING, By, Grouping, group
from pandora_regret.compare.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.compare.words import few_carriers, same_in_all
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Carriers, Partition, PartMeans, holm
from pandora_regret.inputs import FloatArray
from pandora_regret.text import count, counted, listed, money

MOST_CASES = 0.5  # of all weight
MOST_NAMES = 3  # in one sentence
ABOUT_TWICE = (1.95, 2.05)
IN_PERCENT = 1.1  # ratios below it are said in percent
PREPOSITIONS = {
    "At": "site hospital clinic centre center ward practice lab location station school branch store shop",
    "In": "country region city state canton county department year month quarter season league",
}  # before the values of columns that are called so


def broken_down(result: Comparison, measurements: Measurements, by: By) -> Comparison:
    """The comparison with its breakdowns, and the verdict with what stands out in them."""
    order = [model.name for model in result.models]
    parts = tuple(_listed_as(order, part) for part in breakdowns(by, measurements, result.verdict.margin))
    flags = [flag for part in parts for flag in part.all_flags]
    more = f" {counted(len(flags) - 1, 'more finding')} by group." if len(flags) > 1 else ""
    sentences = tuple(f"{flag}{more}" for flag in flags[:1])
    verdict = replace(result.verdict, sentences=(*result.verdict.sentences, *sentences))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *flags))


def breakdowns(by: By, measurements: Measurements, margin: float = 0.0) -> tuple[Breakdown, ...]:
    """Models, the cheapest first, group by group; differences up to the margin are not worth saying."""
    groupings = [group(name, columns, measurements.sample, by.smallest) for name, columns in by.columns.items()]
    splits = [_Split(grouping, measurements, margin) for grouping in groupings]
    for families in (("p_leader", "p_rest"), ("p_others",)):
        _adjust([getattr(split, family) for split in splits for family in families])
    return tuple(split.breakdown(by.smallest) for split in splits)


def _listed_as(order: Sequence[str], part: Breakdown) -> Breakdown:
    """With the models of every group in this order."""
    groups = (
        replace(each, models=tuple(sorted(each.models, key=lambda model: order.index(model.name))))
        for each in part.groups
    )
    return replace(part, groups=tuple(groups))


def _adjust(tables: Sequence[FloatArray]) -> None:
    """All p-values of some tables, in place, as one family; those that are not known ask nothing."""
    asked = [~np.isnan(table) for table in tables]
    adjusted = iter(
        holm([p for table, is_asked in zip(tables, asked, strict=True) for p in table[is_asked].tolist()])
    )
    for table, is_asked in zip(tables, asked, strict=True):
        table[is_asked] = [next(adjusted) for _ in range(is_asked.sum())]


class Quantity(NamedTuple):
    """Something of a model that groups are asked about."""

    here: PartMeans  # of each group
    rest: PartMeans  # what is different there from all other cases
    influence: FloatArray


class _Split:
    """The groups of a breakdown, their p-values not yet adjusted.

    Quantities are listed by model: costs, what is predicted, what a model costs more than the leader, and than the
    other models. P-values are (models, groups), NaN where nothing is asked or known: that a model costs what the
    leader does, what it costs elsewhere, and compared with the other models still does so.
    """

    def __init__(self, grouping: Grouping, measurements: Measurements, margin: float) -> None:
        models, sample, self.margin = measurements.models, measurements.sample, margin
        self.grouping, self.names = grouping, [model.name for model in models]
        self.level, self.currency = measurements.interval.level, measurements.currency
        self.order_only = models[0].order_only
        self.partition = Partition(sample.weights, sample.cluster_of, grouping.codes)
        self.units = "clusters" if sample.grouped else "cases"
        costs = np.stack([model.rows[COST] for model in models])
        predicted = np.stack([model.rows["predicted_cost"] for model in models])
        predicted = costs if self.order_only else predicted  # an order predicts nothing of its own
        others = (costs.sum(axis=0) - costs) / (len(models) - 1) if len(models) > 1 else predicted
        self.cost, self.predicted, self.over_leader, self.over_others = (
            [Quantity(*self.partition.means(rows)) for rows in table]
            for table in (costs, predicted, costs - costs[0], costs - others)
        )
        self.costs = np.array([each.here.value for each in self.cost])  # (models, groups)
        questions = [
            [each.here for each in self.over_leader],
            [each.rest for each in self.cost],
            [each.rest for each in self.over_others],
        ]
        pairs = [zip(means, self.costs, strict=True) for means in questions]
        p = np.array([[of.p_values(scale) for of, scale in each] for each in pairs])
        p[0, 0] = np.nan
        p[:, :, [group for group in range(p.shape[2]) if grouping.is_other(group)]] = np.nan
        p[1:] = np.nan if p.shape[2] == 1 else p[1:]
        self.p_leader, self.p_rest, self.p_others = p

    def breakdown(self, smallest: int) -> Breakdown:
        """The groups as results, with what is to be said of them."""
        grouping, groups = self.grouping, range(len(self.grouping.labels))
        flags = tuple(self._reversals())
        if all(map(grouping.is_other, groups)):
            flags = (
                f"No group by {grouping.name} has {count(smallest)} {self.units} ({count(grouping.pooled)} "
                "smaller ones are pooled): lower --smallest-group (smallest_group), or cut numbers into fewer "
                "bins, such as age:4.",
            )
        return Breakdown(grouping.name, tuple(map(self._subgroup, groups)), grouping.pooled, flags)

    def _subgroup(self, group: int) -> Subgroup:
        costs = self.costs[:, group].tolist()
        return Subgroup(
            self._name(group),
            int(self.grouping.sizes[group]),
            float(self.partition.size[group]),
            tuple(self._model(group, model) for model in range(len(costs))),
            self.names[int(np.argmin(costs))],
            () if self.grouping.is_other(group) else tuple(self._flags(group)),
        )

    def _model(self, group: int, model: int) -> GroupModel:
        cost, predicted, gap = (
            self._estimate(each[model].here, group) for each in (self.cost, self.predicted, self.over_leader)
        )
        cost, predicted = (each.mapped(lambda part: max(part, 0.0)) for each in (cost, predicted))
        carriers = self._carriers(self.cost, group, model)
        if cost.low is not None and carriers.few and carriers.number > 0:
            cost = replace(cost, warning=few_carriers(carriers, "the spread", self.units))
        carriers = self._carriers(self.over_leader, group, model)
        if gap.value and gap.low is not None and carriers.number == 0:
            effective = float(self.over_leader[model].here.effective[group])
            gap = replace(gap, warning=same_in_all(gap.value, carriers, self.units, effective))
        p_holm, p_rest = (
            None if np.isnan(p[model, group]) else float(p[model, group]) for p in (self.p_leader, self.p_rest)
        )
        rest = self._estimate(self.cost[model].rest, group) if len(self.grouping.labels) > 1 else None
        predicted = NO_PREDICTION if self.order_only else predicted
        return GroupModel(self.names[model], cost, gap, p_holm, predicted, rest, p_rest)

    def _name(self, group: int) -> str:
        return ", ".join(self.grouping.labels[group])

    def _estimate(self, means: PartMeans, group: int) -> Estimate:
        """A number with its interval; rounding is nothing."""
        scale = ROUNDING * self.costs[:, group].max()
        estimate = means.estimate(group, self.level)
        return estimate.mapped(lambda part: part if abs(part) > scale else 0.0)

    def _carriers(self, quantity: list[Quantity], group: int, model: int) -> Carriers:
        return self.partition.carriers(quantity[model].influence, group, float(self.costs[model, group]))

    def _is_settled(self, p: FloatArray, quantity: list[Quantity], group: int, model: int) -> bool:
        """Whether something is beyond chance, and not carried by a handful of cases."""
        if not p[model, group] < 1 - self.level:
            return False
        carriers = self._carriers(quantity, group, model)
        return not (carriers.few and carriers.number > 0)

    def _against_leader(self, group: int, model: int) -> int:
        """-1 or 1 where a model costs less or more than the leader by the margin and beyond chance, else 0."""
        gap = self.over_leader[model].here.value[group]
        settled = abs(gap) > self.margin and self._is_settled(self.p_leader, self.over_leader, group, model)
        return settled * int(np.sign(gap))

    def _here_and_elsewhere(self, quantity: Quantity, group: int) -> tuple[float, float]:
        here = float(quantity.here.value[group])
        return here, here - float(quantity.rest.value[group])

    def _flags(self, group: int) -> Iterator[str]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere, due to the cases or not."""
        where = f"{in_group(self.grouping.columns, self.grouping.labels[group])},"
        names, costs, models = self.names, self.costs[:, group].tolist(), range(len(self.cost))
        cheaper = [model for model in models if self._against_leader(group, model) < 0]
        if cheaper:
            best = min(cheaper, key=lambda model: costs[model])
            pair = self._against((costs[best], costs[0]))
            yield f"{where} {names[best]} is cheaper than {names[0]}: {pair} per case."
        higher = [
            model
            for model in models
            if self.cost[model].rest.value[group] > self.margin
            and self._is_settled(self.p_rest, self.cost, group, model)
        ]
        to_blame = [
            model
            for model in higher
            if self.p_others[model, group] < 1 - self.level and self.over_others[model].rest.value[group] > 0
        ]
        for model in to_blame:
            ours, beyond = (self._here_and_elsewhere(each[model], group) for each in (self.cost, self.over_others))
            here, elsewhere = (money(a - b, self.currency) for a, b in zip(ours, beyond, strict=True))
            expected = f"the other models cost {here} there and {elsewhere} elsewhere"
            expected = f"it predicted {here}" if len(models) == 1 else expected
            yield f"{where} {names[model]} costs {self._more(ours)}; {expected}."
        if len(higher) == len(models) > len(to_blame) + 1:
            example = f"{names[0]} {self._against(self._here_and_elsewhere(self.cost[0], group))}"
            yield f"{where} every model costs more than elsewhere ({example}): the cases there are more expensive."

    def _against(self, costs: tuple[float, float]) -> str:
        return " against ".join(money(cost, self.currency) for cost in costs)

    def _more(self, costs: tuple[float, float]) -> str:
        """How much more something costs here than elsewhere."""
        here, elsewhere = (money(cost, self.currency) for cost in costs)
        ratio = costs[0] / costs[1] if costs[1] > 0 else inf
        times = f"{'twice' if ABOUT_TWICE[0] < ratio < ABOUT_TWICE[1] else f'{ratio:.1f} times'} what it costs"
        if ratio < IN_PERCENT or ratio == inf:
            times = "more than" if ratio == inf else f"{100 * (ratio - 1):.2g} % more than"
        return f"{here} per case, {times} elsewhere ({elsewhere})"

    def _reversals(self) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        size, groups, names = self.partition.size, range(len(self.grouping.labels)), self.names
        for model, name in enumerate(names):
            signs = [self._against_leader(group, model) for group in groups]
            cheaper, decisive = ([group for group in groups if signs[group] == sign] for sign in (-1, 1))
            share = size[cheaper].sum() / size.sum()
            if share > MOST_CASES and decisive:
                yield (
                    f"{name} is cheaper than {names[0]} on {100 * share:.0f} % of cases "
                    f"({_some(map(self._name, cheaper))}); that {names[0]} is cheaper on all of them is due "
                    f"to {_some(map(self._name, decisive))}."
                )


def in_group(columns: Sequence[str], labels: Sequence[str]) -> str:
    """A group as people say it.

    Examples
    --------
    >>> in_group(["Site"], ["Sion"]), in_group(["year", "age"], ["2024", "under 18"]), in_group(["a"], ["missing"])
    ('At Sion', 'In 2024 and for age under 18', 'Where a is missing')
    """
    parts = []
    for column, label in zip(columns, labels, strict=True):
        usual = {name: word for word, names in PREPOSITIONS.items() for name in names.split()}.get(column.lower())
        said = f"{usual} {label}" if usual else f"For {column} {label}"
        parts.append(f"Where {column} is missing" if label == MISSING else said)
    return " and ".join([parts[0], *(part[0].lower() + part[1:] for part in parts[1:])])


def _some(names: Iterable[str]) -> str:
    few = list(names)
    more = len(few) - MOST_NAMES
    return listed(few if more <= 1 else [*few[:MOST_NAMES], f"{count(more)} more"])

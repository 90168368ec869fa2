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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from pandora_regret.compare.estimates import COST, NO_PREDICTION, Measurements
from pandora_regret.compare.grouping import MISSING, Columns, Grouping, group
from pandora_regret.compare.result import Breakdown, Comparison, GroupModel, Subgroup
from pandora_regret.compare.verdict import few_carriers, same_in_all
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Carriers, Partition, PartMeans, holm
from pandora_regret.inputs import FloatArray
from pandora_regret.text import count, counted, listed, money

MOST_CASES = 0.5  # of all weight
MOST_NAMES = 3  # in one sentence
IN_PERCENT = 1.1  # ratios below it are said in percent
PREPOSITIONS = {
    "At": "site hospital clinic centre center ward practice lab location station school branch store shop",
    "In": "country region city state canton county department year month quarter season league",
}  # before the values of columns that are called so


def broken_down(
    result: Comparison, measurements: Measurements, columns: Mapping[str, Columns], smallest: int
) -> Comparison:
    """The comparison with its breakdowns, and the verdict with what stands out in them."""
    order = [model.name for model in result.models]
    parts = breakdowns(columns, smallest, measurements, result.verdict.margin, order)
    flags = [flag for part in parts for flag in part.all_flags]
    more = f" {counted(len(flags) - 1, 'more finding')} by group." if len(flags) > 1 else ""
    sentences = tuple(f"{flag}{more}" for flag in flags[:1])
    verdict = replace(result.verdict, sentences=(*result.verdict.sentences, *sentences))
    return replace(result, by=parts, verdict=verdict, headline=(*result.headline, *flags))


def breakdowns(
    columns: Mapping[str, Columns],
    smallest: int,
    measurements: Measurements,
    margin: float = 0.0,
    order: Sequence[str] | None = None,
) -> tuple[Breakdown, ...]:
    """Models, in this order or the cheapest first, group by group; differences up to the margin go unsaid."""
    groupings = [group(name, of_cases, measurements.sample, smallest) for name, of_cases in columns.items()]
    splits = [_Split(grouping, measurements, margin) for grouping in groupings]
    for family in (slice(0, 2), slice(2, 3)):
        tables = [split.p[family].ravel() for split in splits]  # views; NaN asks nothing
        adjusted = iter(holm([p for table in tables for p in table[~np.isnan(table)].tolist()]))
        for table in tables:
            table[:] = [p if np.isnan(p) else next(adjusted) for p in table]
    return tuple(split.breakdown(smallest, order or split.names) for split in splits)


class Quantity(NamedTuple):
    """Something of a model that groups are asked about."""

    here: PartMeans  # of each group
    rest: PartMeans  # what is different there from all other cases
    influence: FloatArray


class _Split:
    """The groups of a breakdown, their p-values not yet adjusted.

    Quantities are listed by model: costs, what is predicted, what a model costs more than the leader, and than the
    other models. P-values are (3, models, groups), NaN where nothing is asked or known: that a model costs what
    the leader does, what it costs elsewhere, and compared with the other models still does so.
    """

    def __init__(self, grouping: Grouping, measurements: Measurements, margin: float) -> None:
        models, sample, self.margin = measurements.models, measurements.sample, margin
        self.grouping, self.names = grouping, [model.name for model in models]
        self.level, self.currency = measurements.interval.level, measurements.currency
        self.order_only = models[0].order_only
        self.partition, self.units = Partition(sample.weights, sample.cluster_of, grouping.codes), sample.units
        costs = np.stack([model.rows[COST] for model in models])
        predicted = np.stack([model.rows["predicted_cost"] for model in models])
        predicted = costs if self.order_only else predicted  # an order predicts nothing of its own
        others = (costs.sum(axis=0) - costs) / (len(models) - 1) if len(models) > 1 else predicted
        self.cost, self.predicted, self.over_leader, self.over_others = (
            [Quantity(*self.partition.means(rows)) for rows in table]
            for table in (costs, predicted, costs - costs[0], costs - others)
        )
        self.costs = np.array([each.here.value for each in self.cost])  # (models, groups)
        rest = [[each.rest for each in quantity] for quantity in (self.cost, self.over_others)]
        asked = [[each.here for each in self.over_leader], *rest]
        self.p = np.array([[of.p_values(self.costs.max(axis=0)) for of in means] for means in asked])
        self.p[0, 0] = np.nan
        self.p[:, :, [number for number in range(self.n_groups) if grouping.is_other(number)]] = np.nan
        self.p[1:] = np.nan if self.n_groups == 1 else self.p[1:]

    @property
    def n_groups(self) -> int:
        """With what is left over."""
        return len(self.grouping.labels)

    def breakdown(self, smallest: int, order: Sequence[str]) -> Breakdown:
        """The groups as results, with what is to be said of them."""
        grouping, groups, flags = self.grouping, [], tuple(self._reversals())
        if all(map(grouping.is_other, range(self.n_groups))):
            flags = (
                f"No group by {grouping.name} has {count(smallest)} {self.units} ({count(grouping.pooled)} "
                "smaller ones are pooled): lower --smallest-group (smallest_group), or cut numbers into fewer "
                "bins, such as age:4.",
            )
        for number, (size, weight) in enumerate(zip(grouping.sizes, self.partition.size, strict=True)):
            models = tuple(self._model(number, self.names.index(name)) for name in order)
            leader = self.names[int(np.argmin(self.costs[:, number]))]
            found = () if grouping.is_other(number) else tuple(self._flags(number))
            groups.append(Subgroup(self._name(number), int(size), float(weight), models, leader, found))
        return Breakdown(grouping.name, tuple(groups), grouping.pooled, flags)

    def _model(self, group: int, model: int) -> GroupModel:
        quantities = (self.cost[model], self.predicted[model], self.over_leader[model])
        cost, predicted, gap = (self._estimate(each.here, group) for each in quantities)
        cost, predicted = (each.mapped(lambda part: max(part, 0.0)) for each in (cost, predicted))
        carriers, between = (self._carriers(each, group) for each in (quantities[0], quantities[2]))
        if cost.low is not None and carriers.few and carriers.number > 0:
            cost = replace(cost, warning=few_carriers(carriers, "the spread", self.units))
        if gap.value and gap.low is not None and between.number == 0:
            effective = float(quantities[2].here.effective[group])
            gap = replace(gap, warning=same_in_all(gap.value, between, self.units, effective))
        p_holm, p_rest = (None if np.isnan(p) else float(p) for p in self.p[:2, model, group])
        rest = self._estimate(quantities[0].rest, group) if self.n_groups > 1 else None
        predicted = NO_PREDICTION if self.order_only else predicted
        return GroupModel(self.names[model], cost, gap, p_holm, predicted, rest, p_rest)

    def _name(self, group: int) -> str:
        return ", ".join(self.grouping.labels[group])

    def _estimate(self, means: PartMeans, group: int) -> Estimate:
        """A number with its interval; rounding is nothing."""
        scale = ROUNDING * self.costs[:, group].max()
        return means.estimate(group, self.level).mapped(lambda part: part if abs(part) > scale else 0.0)

    def _carriers(self, quantity: Quantity, group: int) -> Carriers:
        return self.partition.carriers(quantity.influence, group, float(self.costs[:, group].max()))

    def _is_settled(self, question: int, quantity: Quantity, group: int, model: int) -> bool:
        """Whether something is beyond chance, and not carried by a handful of cases."""
        if not self.p[question, model, group] < 1 - self.level:
            return False
        carriers = self._carriers(quantity, group)
        return not (carriers.few and carriers.number > 0)

    def _against_leader(self, group: int, model: int) -> int:
        """-1 or 1 where a model costs less or more than the leader by the margin and beyond chance, else 0."""
        quantity = self.over_leader[model]
        gap = quantity.here.value[group]
        return int(np.sign(gap)) * (abs(gap) > self.margin and self._is_settled(0, quantity, group, model))

    def _flags(self, group: int) -> Iterator[str]:
        """Who is cheaper than the leader here, and who costs more here than elsewhere, due to the cases or not."""
        where = f"{in_group(self.grouping.columns, self.grouping.labels[group])},"
        names, costs, models = self.names, self.costs[:, group], range(len(self.cost))

        def elsewhere(quantities: list[Quantity]) -> FloatArray:
            return np.array([each.here.value[group] - each.rest.value[group] for each in quantities])

        def against(first: float, second: float, word: str = "against") -> str:
            return f"{money(first, self.currency)} {word} {money(second, self.currency)}"

        cheaper = [model for model in models if self._against_leader(group, model) < 0]
        if cheaper:
            best = min(cheaper, key=lambda model: costs[model])
            yield f"{where} {names[best]} is cheaper than {names[0]}: {against(costs[best], costs[0])} per case."
        higher, blamed, away = 0, 0, elsewhere(self.cost)
        others_away = away - elsewhere(self.over_others)
        for model in models:
            beyond = self.over_others[model]
            is_higher = costs[model] - away[model] > self.margin
            if not (is_higher and self._is_settled(1, self.cost[model], group, model)):
                continue
            higher += 1
            if self.p[2, model, group] < 1 - self.level and beyond.rest.value[group] > 0:
                blamed += 1
                here = costs[model] - beyond.here.value[group]
                expected = f"the other models cost {against(here, others_away[model], 'there and')} elsewhere"
                expected = f"it predicted {money(here, self.currency)}" if len(models) == 1 else expected
                yield f"{where} {names[model]} costs {self._more(costs[model], away[model])}; {expected}."
        if higher == len(models) > blamed + 1:
            example = f"{names[0]} {against(costs[0], away[0])}"
            yield f"{where} every model costs more than elsewhere ({example}): the cases there are more expensive."

    def _more(self, cost: float, elsewhere: float) -> str:
        """How much more something costs here than elsewhere."""
        ratio = cost / elsewhere if elsewhere > 0 else inf
        times = f"{ratio:.1f} times what it costs"
        if ratio < IN_PERCENT or ratio == inf:
            times = "more than" if ratio == inf else f"{100 * (ratio - 1):.2g} % more than"
        return f"{money(cost, self.currency)} per case, {times} elsewhere ({money(elsewhere, self.currency)})"

    def _reversals(self) -> Iterator[str]:
        """Models that are cheaper than the leader, beyond chance, in groups that make up most cases."""
        size, leader = self.partition.size, self.names[0]
        for model, name in enumerate(self.names):
            signs = [self._against_leader(group, model) for group in range(self.n_groups)]
            cheaper, decisive = ([group for group, each in enumerate(signs) if each == sign] for sign in (-1, 1))
            share = size[cheaper].sum() / size.sum()
            if share > MOST_CASES and decisive:
                there, due = (listed(map(self._name, groups), MOST_NAMES) for groups in (cheaper, decisive))
                yield (
                    f"{name} is cheaper than {leader} on {100 * share:.0f} % of cases ({there}); that {leader} is "
                    f"cheaper on all of them is due to {due}."
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

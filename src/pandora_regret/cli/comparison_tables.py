"""A comparison in full (`--full`): the answer first, then every table behind it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pandora_regret.cli.printing import Column, bullets, heading, print_columns, print_done
from pandora_regret.compare.prices import ALIKE, STATED
from pandora_regret.compare.result import Breakdown, Comparison, Difference, MetricInfo, ModelResult
from pandora_regret.compare.words import price_sentences, recalibrating
from pandora_regret.inference.estimate import Estimate
from pandora_regret.metrics import ranks_as_another
from pandora_regret.text import UNDEFINED, Formats, count, percent

if TYPE_CHECKING:
    from rich.console import Console

MODELS_IN_DETAIL = 5  # whose wrong tests are listed; all of them are in the JSON and on the page
BEST = "* "


class Tables:
    """All tables of a comparison, one below the other."""

    def __init__(self, comparison: Comparison, console: Console) -> None:
        self.result, self.console = comparison, console
        self.formats = Formats.for_costs((model.cost for model in comparison.models), comparison.costs.currency)
        self.names = [model.name for model in comparison.models]

    def show(self, *, pairs: bool, by_class: bool) -> None:
        self._headline()
        self._models()
        if len(self.names) > 1:
            self._all_pairs() if pairs else self._differences()
            self._ranks()
        if any(scenario.name not in (STATED, ALIKE) for scenario in self.result.scenarios):
            self._scenarios()
        self._wrong_tests()
        self._steps()
        self._calibration()
        self._recalibrated()
        self._prices()
        self._decompositions()
        for part in self.result.by:
            self._breakdown(part)
        if by_class:
            self._classes()
        self._notes()

    def _headline(self) -> None:
        for sentence in self.result.headline:
            self.console.print(sentence, style="bold" if sentence == self.result.headline[0] else None)
        self.console.print()

    def _models(self) -> None:
        marks = f"best marked {BEST.strip()}" if len(self.names) > 1 else ""
        heading(self.console, "Models", "; ".join(filter(None, [_interval(self.result), marks])))
        self._print([Column(metric.title, self._scores(metric)) for metric in self.result.metrics])

    def _scores(self, metric: MetricInfo) -> list[str]:
        ranks = self.result.ranks[metric.key]
        best = min(ranks) if len(ranks) > 1 else 0.0
        return [
            (BEST if rank == best else "") + self._estimate(metric.unit, model.scores[metric.key])
            for model, rank in zip(self.result.models, ranks, strict=True)
        ]

    def _estimate(self, unit: str, score: Estimate) -> str:
        """A value, and its interval below it, rounded by the interval's width."""
        if score.value is None and score.warning is not None:
            return "infinite" if score.warning.startswith("infinite") else UNDEFINED
        return "\n".join(self.formats.estimate(unit, score.value, score.low, score.high))

    def _differences(self) -> None:
        note = "paired, per case; p is adjusted for all pairs, intervals are not"
        heading(self.console, f"What other models cost more than {self.names[0]}", note)
        gaps = [gap for gap in self.result.differences if gap.model == self.names[0]]
        chances = {model.name: model.probability_best for model in self.result.models}
        cheapest = [chance(chances[gap.against]) for gap in gaps]
        columns = [*self._gap_columns(gaps), Column("Chance to be cheapest", cheapest)]
        self._print(columns, [gap.against for gap in gaps])

    def _all_pairs(self) -> None:
        heading(self.console, "Every pair of models", "paired, per case")
        gaps = self.result.differences
        named = [f"{gap.against} over {gap.model}" for gap in gaps]
        self._print(self._gap_columns(gaps), named, "Dearer over cheaper")

    def _gap_columns(self, gaps: Sequence[Difference]) -> list[Column]:
        per_case, per_1000 = ([self._more(gap, cases) for gap in gaps] for cases in (1, 1000))
        return [
            Column("Costs more", [more for more, _ in per_case]),
            Column("Interval", [limits or UNDEFINED for _, limits in per_case]),
            Column("p (Holm)", [self.formats.p_value(gap.p_holm) for gap in gaps]),
            Column("Per 1,000 cases", [more for more, _ in per_1000]),
        ]

    def _more(self, gap: Difference, cases: int) -> tuple[str, str]:
        """What so many cases cost more with the dearer model, and its limits."""
        more = gap.more.mapped(lambda amount: cases * amount)
        return self.formats.estimate("money", more.value, more.low, more.high)

    def _ranks(self) -> None:
        heading(self.console, "Ranks by each metric")
        shown = [metric for metric in self.result.metrics if not ranks_as_another(metric.key)]
        columns = [Column(each.title, [f"{rank:g}" for rank in self.result.ranks[each.key]]) for each in shown]
        self._print(columns, space=not self.result.disagreements)
        if self.result.disagreements:
            bullets(self.console, self.result.disagreements)
            self.console.print()

    def _scenarios(self) -> None:
        heading(self.console, "Under other costs", "expected search cost; best marked *")
        columns = []
        for index, scenario in enumerate(self.result.scenarios):
            costs = [model.scenarios[index] for model in self.result.models]
            cells = [self._as_precise(model.scenarios[index], model) for model in self.result.models]
            best = [BEST if cost == min(costs) else "" for cost in costs]
            columns.append(Column(scenario.name, [mark + cell for mark, cell in zip(best, cells, strict=True)]))
        self._print(columns)

    def _as_precise(self, cost: float, model: ModelResult) -> str:
        """Another cost of a model, with the digits that its expected cost deserves."""
        known = model.scores["expected_cost"]
        return self.formats.estimate("money", cost, known.low, known.high)[0]

    def _wrong_tests(self) -> None:
        if not self.result.largest_pairs:
            return
        heading(self.console, "Where the money goes", "the dearest wrong tests, per case")
        for number, (name, pairs) in enumerate(groupby(self.result.largest_pairs, lambda pair: pair.model)):
            if number < MODELS_IN_DETAIL:
                self.console.print(name)
                bullets(self.console, (pair.sentence for pair in pairs), mark="  -")
        if len(self.names) > MODELS_IN_DETAIL:
            self.console.print(f"and {len(self.names) - MODELS_IN_DETAIL} more models: see --json or --html.")
        self.console.print()

    def _steps(self) -> None:
        if self.result.workup is None or not self.result.workup.spending:
            return
        spending = self.result.workup.spending
        note = "of which only class frequencies are known"
        heading(self.console, "Where the money goes in a typical case", note)
        columns = [
            Column("Made in", [self.formats.share(step.chance) for step in spending]),
            Column("Costs per case", [self.formats.money(step.cost) for step in spending]),
        ]
        self._print(columns, [step.name for step in spending], "Step")

    def _calibration(self) -> None:
        if not any(model.calibration for model in self.result.models):
            return
        what = "search" if self.result.workup is None else "work-up"
        heading(self.console, "Cost calibration", f"what forecasts predict their own {what} will cost")
        models = self.result.models
        columns = [
            Column("Predicted", [self._estimate("money", model.predicted_cost) for model in models]),
            Column("Found", [self._estimate("money", model.scores["expected_cost"]) for model in models]),
            Column("Found / predicted", [_ratio(model) for model in models]),
        ]
        self._print(columns)

    def _recalibrated(self) -> None:
        """Every model beside its recalibrated self, and at prices exactly as stated."""
        later = [
            (model.name, model.recalibrated) for model in self.result.models if model.recalibrated is not None
        ]
        if not later:
            return
        heading(self.console, "Recalibrated", f"by {later[0][1].method}, cross-fitted, per case")
        columns = [
            Column("Costs then", [self._estimate("money", each.cost) for _, each in later]),
            Column("Saves", [self._estimate("money", each.saved) for _, each in later]),
            Column(
                f"Over {self.names[0]} as it is",
                [self._estimate("money", each.against_leader) for _, each in later],
            ),
        ]
        self._print(columns, [name for name, _ in later])

    def _prices(self) -> None:
        sentences = price_sentences(self.result.break_even, self.names[0], self.result.costs.currency)
        known = [(model.name, stated) for model in self.result.models if (stated := model.at_stated_prices)]
        if self.result.costs.currency is not None and known:
            heading(self.console, "Prices exactly as stated", "what a search then costs, per case")
            costs = [self._estimate("money", stated) for _, stated in known]
            self._print([Column("Costs", costs)], [name for name, _ in known], space=not sentences)
        if sentences:
            bullets(self.console, sentences)
            self.console.print()

    def _decompositions(self) -> None:
        known = {model.name: parts for model in self.result.models if (parts := model.decomposition) is not None}
        if not known:
            return
        note = "cost = uncertainty + miscalibration - discrimination"
        heading(self.console, "What recalibrating would save", note)
        columns = [
            Column(title, [self._estimate("money", parts[title.lower()]) for parts in known.values()])
            for title in ("Miscalibration", "Discrimination", "Uncertainty")
        ]
        self._print(columns, list(known), space=False)
        said = ((model.name, recalibrating(model, self.result.costs.currency)) for model in self.result.models)
        bullets(self.console, (f"{name}: {sentence}" for name, sentence in said if sentence))
        self.console.print()

    def _breakdown(self, part: Breakdown) -> None:
        """What each model costs in each group, beside its own prediction, and how that differs from the best."""
        pooled = f"; {count(part.pooled)} small groups pooled as the last" if part.pooled else ""
        heading(
            self.console, f"By {part.column}", f"found, predicted, over {self.names[0]}; p for all groups{pooled}"
        )
        columns = [Column("Cases", [count(group.rows) for group in part.groups])]
        for index, name in enumerate(self.names):
            models = [group.models[index] for group in part.groups]
            columns.append(Column(name, [self._estimate("money", model.cost) for model in models]))
            columns.append(Column("predicted", [self._estimate("money", model.predicted) for model in models]))
            if index:
                gaps = [self._estimate("money", model.against_leader) for model in models]
                columns.append(Column(f"over {self.names[0]}", gaps))
                columns.append(Column("p (Holm)", [self.formats.p_value(model.p_holm) for model in models]))
        self._print(columns, [group.name for group in part.groups], part.column, space=not part.all_flags)
        if part.all_flags:
            bullets(self.console, part.all_flags)
            self.console.print()

    def _classes(self) -> None:
        for model in self.result.models:
            heading(self.console, f"{model.name}, class by class")
            rows = model.by_class
            columns = [Column("Cases", [count(row.weight) for row in rows])]
            for metric in self.result.metrics:
                if hasattr(rows[0], metric.key):
                    cells = [self.formats.write(metric.unit, getattr(row, metric.key)) for row in rows]
                    columns.append(Column(metric.title, cells))
            self._print(columns, [row.label for row in rows], "Class")

    def _notes(self) -> None:
        self.console.print(setting(self.result), style="dim")
        if self.result.notes:
            bullets(self.console, self.result.notes, mark="!")
        print_done(self.console, self.result.done)

    def _print(
        self, columns: Sequence[Column], names: Sequence[str] = (), title: str = "Model", space: bool = True
    ) -> None:
        """A table with one row per name, those of the models unless said."""
        print_columns(self.console, Column(title, names or self.names, "left"), columns)
        if space:
            self.console.print()


def setting(comparison: Comparison) -> str:
    """What was compared, under which costs."""
    data, costs = comparison.data, comparison.costs
    clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
    return f"{count(data.rows)} cases{clusters}, {len(data.classes)} classes. Costs: {costs.in_words}."


def _interval(comparison: Comparison) -> str:
    how = comparison.interval
    by = f"{count(how.replicates)} bootstrap replicates" if how.method == "bootstrap" else "linearisation"
    return f"{100 * how.level:g} % intervals by {by}"


def chance(probability: float | None) -> str:
    """A probability in a table."""
    if probability is None:
        return UNDEFINED
    return percent(probability).replace("less than", "<").replace("more than", ">")


def _ratio(model: ModelResult) -> str:
    predicted = model.predicted_cost.value
    return f"{model.cost / predicted:.2f}" if predicted else UNDEFINED

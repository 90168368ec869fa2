"""A comparison as people read it in a terminal: the answer first, then the tables behind it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from pandora_regret.cli.console import output
from pandora_regret.cli.printing import Column, bullets, heading, print_columns
from pandora_regret.compare.prices import ALIKE, STATED
from pandora_regret.compare.result import Comparison, Difference, Estimate, MetricInfo, ModelResult
from pandora_regret.compare.words import recalibrating
from pandora_regret.metrics import ranks_as_another
from pandora_regret.text import UNDEFINED, Formats, count, percent

if TYPE_CHECKING:
    from rich.console import Console

MODELS_IN_DETAIL = 5  # whose wrong tests are listed; all of them are in the JSON and on the page
BEST = "* "


def print_comparison(comparison: Comparison, *, pairs: bool = False, by_class: bool = False) -> None:
    """All of it, on standard output."""
    _Page(comparison, output()).show(pairs=pairs, by_class=by_class)


class _Page:
    def __init__(self, comparison: Comparison, console: Console) -> None:
        self.found, self.console = comparison, console
        self.formats = Formats.for_costs((model.cost for model in comparison.models), comparison.costs.currency)
        self.names = [model.name for model in comparison.models]

    def show(self, *, pairs: bool, by_class: bool) -> None:
        self._headline()
        self._models()
        if len(self.names) > 1:
            self._all_pairs() if pairs else self._differences()
            self._ranks()
        if any(scenario.name not in (STATED, ALIKE) for scenario in self.found.scenarios):
            self._scenarios()
        self._wrong_tests()
        self._steps()
        self._calibration()
        self._decompositions()
        if by_class:
            self._classes()
        self._notes()

    def _headline(self) -> None:
        for sentence in self.found.headline:
            self.console.print(sentence, style="bold" if sentence == self.found.headline[0] else None)
        self.console.print()

    def _models(self) -> None:
        marks = f"best marked {BEST.strip()}" if len(self.names) > 1 else ""
        heading(self.console, "Models", "; ".join(filter(None, [_interval(self.found), marks])))
        columns = [Column(metric.title, self._scores(metric)) for metric in self.found.metrics]
        self._print(Column("Model", self.names, "left"), columns)

    def _scores(self, metric: MetricInfo) -> list[str]:
        ranks = self.found.ranks[metric.key]
        best = min(ranks) if len(ranks) > 1 else 0.0
        return [
            (BEST if rank == best else "") + self._estimate(metric.unit, model.scores[metric.key])
            for model, rank in zip(self.found.models, ranks, strict=True)
        ]

    def _estimate(self, unit: str, score: Estimate) -> str:
        """A value, and its interval below it."""
        if score.value is None and score.note is not None:
            return "infinite"
        return f"{self.formats.write(unit, score.value)}\n{self._limits(unit, score.low, score.high)}"

    def _limits(self, unit: str, low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return ""
        between = " to " if low < 0 else UNDEFINED
        return f"{self.formats.bare(unit, low)}{between}{self.formats.bare(unit, high)}"

    def _differences(self) -> None:
        heading(
            self.console,
            f"What other models cost more than {self.names[0]}",
            "paired, a case; p is adjusted for all pairs, intervals are not",
        )
        gaps = [gap for gap in self.found.differences if gap.model == self.names[0]]
        chances = {model.name: model.probability_best for model in self.found.models}
        cheapest = [_chance(chances[gap.against]) for gap in gaps]
        columns = [*self._gap_columns(gaps), Column("Chance to be cheapest", cheapest)]
        self._print(Column("Model", [gap.against for gap in gaps], "left"), columns)

    def _all_pairs(self) -> None:
        heading(self.console, "Every pair of models", "paired, a case")
        gaps = self.found.differences
        named = [f"{gap.against} over {gap.model}" for gap in gaps]
        self._print(Column("Dearer over cheaper", named, "left"), self._gap_columns(gaps))

    def _gap_columns(self, gaps: Sequence[Difference]) -> list[Column]:
        money, p_value = self.formats.money, self.formats.p_value
        limits = [(None, None) if gap.high is None or gap.low is None else (-gap.high, -gap.low) for gap in gaps]
        return [
            Column("Costs more", [money(-gap.difference) for gap in gaps]),
            Column("Interval", [self._limits("money", low, high) or UNDEFINED for low, high in limits]),
            Column("p (Holm)", [p_value(gap.p_holm) for gap in gaps]),
            Column("Per 1,000 cases", [money(gap.savings_per_1000) for gap in gaps]),
        ]

    def _ranks(self) -> None:
        heading(self.console, "Ranks by each metric")
        shown = [metric for metric in self.found.metrics if not ranks_as_another(metric.key)]
        columns = [Column(each.title, [f"{rank:g}" for rank in self.found.ranks[each.key]]) for each in shown]
        self._print(Column("Model", self.names, "left"), columns, space=not self.found.disagreements)
        if self.found.disagreements:
            bullets(self.console, self.found.disagreements)
            self.console.print()

    def _scenarios(self) -> None:
        heading(self.console, "Under other costs", "expected search cost; best marked *")
        columns = []
        for at, scenario in enumerate(self.found.scenarios):
            costs = [model.scenarios[at] for model in self.found.models]
            cells = [(BEST if cost == min(costs) else "") + self.formats.money(cost) for cost in costs]
            columns.append(Column(scenario.name, cells))
        self._print(Column("Model", self.names, "left"), columns)

    def _wrong_tests(self) -> None:
        if not self.found.largest_pairs:
            return
        heading(self.console, "Where the money goes", "the dearest wrong tests, a case")
        for number, (name, pairs) in enumerate(groupby(self.found.largest_pairs, lambda pair: pair.model)):
            if number < MODELS_IN_DETAIL:
                self.console.print(name)
                bullets(self.console, (pair.sentence for pair in pairs), mark="  -")
        if len(self.names) > MODELS_IN_DETAIL:
            self.console.print(f"and {len(self.names) - MODELS_IN_DETAIL} more models: see --json or --html.")
        self.console.print()

    def _steps(self) -> None:
        if self.found.workup is None or not self.found.workup.spending:
            return
        spending = self.found.workup.spending
        heading(
            self.console, "Where the money goes in a typical case", "of which only class frequencies are known"
        )
        columns = [
            Column("Made in", [self.formats.share(step.chance) for step in spending]),
            Column("Costs per case", [self.formats.money(step.cost) for step in spending]),
        ]
        self._print(Column("Step", [step.name for step in spending], "left"), columns)

    def _calibration(self) -> None:
        what = "search" if self.found.workup is None else "work-up"
        heading(self.console, "Cost calibration", f"what forecasts predict their own {what} will cost")
        models = self.found.models
        columns = [
            Column("Predicted", [self._estimate("money", model.predicted_cost) for model in models]),
            Column("Found", [self._estimate("money", model.scores["expected_cost"]) for model in models]),
            Column("Found / predicted", [_ratio(model) for model in models]),
        ]
        self._print(Column("Model", self.names, "left"), columns)

    def _decompositions(self) -> None:
        found = [(model.name, model.decomposition) for model in self.found.models]
        known = [(name, parts) for name, parts in found if parts is not None]
        if not known:
            return
        heading(
            self.console, "What recalibrating would save", "cost = uncertainty + miscalibration - discrimination"
        )
        columns = [
            Column(title, [self._estimate("money", parts[title.lower()]) for _, parts in known])
            for title in ("Miscalibration", "Discrimination", "Uncertainty")
        ]
        self._print(Column("Model", [name for name, _ in known], "left"), columns, space=False)
        level, currency = self.found.interval.level, self.found.costs.currency
        said = ((model.name, recalibrating(model, level, currency)) for model in self.found.models)
        bullets(self.console, (f"{name}: {sentence}" for name, sentence in said if sentence))
        self.console.print()

    def _classes(self) -> None:
        for model in self.found.models:
            heading(self.console, f"{model.name}, class by class")
            rows = model.by_class
            columns = [Column("Cases", [count(row.weight) for row in rows])]
            for metric in self.found.metrics:
                if hasattr(rows[0], metric.key):
                    values = [getattr(row, metric.key) for row in rows]
                    columns.append(
                        Column(metric.title, [self.formats.write(metric.unit, value) for value in values])
                    )
            self._print(Column("Class", [row.label for row in rows], "left"), columns)

    def _notes(self) -> None:
        self.console.print(setting(self.found), style="dim")
        if self.found.notes:
            bullets(self.console, self.found.notes, mark="!")

    def _print(self, names: Column, columns: Sequence[Column], space: bool = True) -> None:
        print_columns(self.console, names, columns)
        if space:
            self.console.print()


def setting(comparison: Comparison) -> str:
    """What was compared, under which costs."""
    data, costs = comparison.data, comparison.costs
    clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
    return (
        f"{count(data.rows)} cases{clusters}, {len(data.classes)} classes. "
        f"Costs: {costs.source or 'all tests cost the same'}; prior {costs.prior}."
    )


def _interval(comparison: Comparison) -> str:
    how = comparison.interval
    by = f"{count(how.replicates)} bootstrap replicates" if how.method == "bootstrap" else "linearisation"
    return f"{100 * how.level:g} % intervals by {by}"


def _chance(probability: float | None) -> str:
    return (
        UNDEFINED
        if probability is None
        else percent(probability).replace("less than", "<").replace("more than", ">")
    )


def _ratio(model: ModelResult) -> str:
    predicted = model.predicted_cost.value
    return f"{model.cost / predicted:.2f}" if predicted else UNDEFINED

"""A comparison for people: on one screen of at most 25 lines, or with `--full` every table behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from pandora_regret.cli.output import bullets, echo, heading, print_done, print_table, say, width
from pandora_regret.compare.grouping import MISSING
from pandora_regret.compare.result import Breakdown, Comparison, MetricInfo, ModelResult
from pandora_regret.compare.sample import ALIKE, STATED
from pandora_regret.compare.words import price_sentences, recalibrating
from pandora_regret.inference.estimate import Estimate
from pandora_regret.metrics import ranks_as_another
from pandora_regret.text import (
    UNDEFINED,
    Cell,
    Content,
    Formats,
    Table,
    cell_width,
    count,
    counted,
    money,
    money_between,
    percent,
    shortened,
    wasted,
    without_controls,
    wrapped,
)

WIDTH, MOST_LINES = 80, 25
MOST_MODELS, MOST_GROUPS = 5, 5  # in a table of the screen
MODELS_IN_DETAIL = 5  # whose wrong tests are listed; all of them are in the JSON and on the page
LONGEST_NAME, LONGEST_GROUP, LONGEST_TITLE = 20, 22, 12  # columns
BEST = "* "
MORE = "More: --full, --html report.html, --json."


def print_comparison(
    comparison: Comparison, *, full: bool = False, pairs: bool = False, by_class: bool = False
) -> None:
    """On standard output; the tables of all pairs and of all classes are part of the full one."""
    if full or pairs or by_class:
        _print_sections(comparison, _Tables(comparison).sections(pairs, by_class))
        return
    first, *others = screen(comparison, min(WIDTH, width()))
    echo(first, bold=True)
    for line in others:
        echo(line)


class _Written:
    """A comparison, and how its numbers are written."""

    def __init__(self, comparison: Comparison) -> None:
        self.result = comparison
        self.unit = comparison.costs.currency
        self.formats = Formats.for_costs((model.cost for model in comparison.models), self.unit)
        self.names = [model.name for model in comparison.models]

    def estimate(self, estimate: Estimate, unit: str = "money") -> tuple[str, str]:
        """A value, and its interval, rounded by the interval's width."""
        if estimate.value is None and (estimate.warning or "").startswith("infinite"):
            return "infinite", ""
        return self.formats.estimate(unit, estimate.value, estimate.low, estimate.high)

    def prices(self) -> Sequence[str]:
        """At which prices another model would be the cheapest."""
        return price_sentences(self.result.break_even, self.names[0], self.unit)

    def scenarios(self) -> list[tuple[int, str]]:
        """Those that were asked about: their numbers and names."""
        numbered = enumerate(scenario.name for scenario in self.result.scenarios)
        return [(number, name) for number, name in numbered if name not in (STATED, ALIKE)]


def screen(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """The lines of the short form.

    The table and what stands below it are always there; the verdict's sentences and the groups have the other
    lines, in that order.
    """
    return _Screen(comparison, width).lines()


class _Screen(_Written):
    def __init__(self, comparison: Comparison, width: int) -> None:
        super().__init__(comparison)
        self.width = width
        self.short = {name: fitted(name, LONGEST_NAME) for name in self.names}

    def lines(self) -> list[str]:
        table, below = self._models(), self._below()
        room = MOST_LINES - len(table) - len(below) - 2
        above = self._verdict(max(min(room, 6 if self.result.by else 8), 1))
        left = room - len(above) - 1
        groups = self._groups(left) if self.result.by and left > 0 else []
        lines = [line for part in (above, table, groups, below) if part for line in ("", *part)][1:]
        return [cut(line, self.width) for line in lines]

    def _wrap(self, text: str, most: int | None = None) -> list[str]:
        """Text as lines, with long names shortened; where there are too many lines, the last ends in dots."""
        for name, short in sorted(self.short.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(name, short)
        lines = wrapped(text, self.width)
        if most is None or len(lines) <= most:
            return lines
        return [*lines[: most - 1], f"{cut(lines[most - 1], self.width - 2)} …"]

    def _verdict(self, most: int) -> list[str]:
        """The first sentence, and those of the others for which there is room."""
        first, *others = self.result.verdict.sentences
        lines = self._wrap(first, most)
        for sentence in others:
            more = self._wrap(sentence)
            lines += more if len(lines) + len(more) <= most else []
        return lines

    def _models(self) -> list[str]:
        """The table that a notebook shows, in one line per model where these fit."""
        n_models = len(self.names)
        n_shown = n_models if n_models <= MOST_MODELS else MOST_MODELS - 1
        whole = self.result.overview(n_shown)
        table = Table(whole.header, [[self.short.get(str(row[0]), row[0]), *row[1:]] for row in whole.rows])
        lines = table.to_text().splitlines()
        if max(map(cell_width, lines)) > self.width:
            lines = table.to_text(self.width).splitlines()
        if n_shown < n_models:
            lines.append(f"{count(n_models - n_shown)} more models: --full")
        return [
            *lines,
            f"Someone who knew the truth would pay {money(self.result.best.unavoidable, self.unit)} per case.",
        ]

    def _groups(self, most: int) -> list[str]:
        """A table for each column for which there is room, and one line about each other."""
        lines: list[str] = []
        for number, part in enumerate(self.result.by, 1):
            table, others = self._breakdown(part), len(self.result.by) - number
            lines += table if len(lines) + len(table) + others <= most else [self._in_short(part)]
        return lines if len(lines) <= most else [*lines[: most - 1], "Results by more columns: --full"]

    def _breakdown(self, part: Breakdown) -> list[str]:
        """The groups that stand out and the first of the others, under the best models and those that do."""
        by_worth = sorted(part.groups, key=lambda group: not group.flags)[:MOST_GROUPS]
        groups = [group for group in part.groups if group in by_worth]
        named = (m for m, name in enumerate(self.names) if any(f" {name} " in flag for flag in part.all_flags))
        models = sorted(list(dict.fromkeys([0, *named, *range(len(self.names))]))[:3])
        rows = [
            (
                fitted(f"  {group.name}", LONGEST_GROUP),
                count(group.rows),
                *(self.estimate(group.models[model].cost)[0] for model in models),
                "<- stands out" if group.flags else "",
            )
            for group in groups
        ]
        titles = (fitted(self.names[model], LONGEST_TITLE) for model in models)
        lines = (
            Table([fitted(f"By {part.column}", LONGEST_GROUP), "Cases", *titles, ""], rows).to_text().splitlines()
        )
        left_out = len(part.groups) - len(groups)
        return [*lines, f"  {left_out} more groups: --full"] if left_out else lines

    def _in_short(self, part: Breakdown) -> str:
        findings = len(part.all_flags)
        verdict = f"{counted(findings, 'finding')}: --full" if findings else "nothing stands out"
        missing = sum(group.rows for group in part.groups if group.name == MISSING)
        missing_cases = f"; {count(missing)} cases have no {part.column}" if missing else ""
        return f"By {part.column} ({len(part.groups)} groups): {verdict}{missing_cases}."

    def _below(self) -> list[str]:
        """Other prices, the first reason not to trust a number, what was done to the files, what was compared."""
        data, notes, lines = self.result.data, self.result.notes, list[str]()
        asked = self.scenarios()
        for number, name in asked[:1]:
            models = sorted(self.result.models, key=lambda model: model.scenarios[number])
            costs = ", ".join(f"{model.name} {money(model.scenarios[number], self.unit)}" for model in models)
            lines += self._wrap(f"Under {name}: {costs}.", 2)
        if len(asked) > 1:
            lines += self._wrap(f"{len(asked) - 1} more scenarios: --full")
        if (sentences := self.prices()) and not self.result.by:
            lines += self._wrap(f"Prices: {sentences[0]}", 3)
        if notes:
            more = f"{len(notes)} warnings (--full), the first: " if len(notes) > 1 else ""
            lines += self._wrap(f"! {more}{notes[0]}", 2)
        if self.result.done:
            lines += self._wrap(f"Done to the files: {'; '.join(each.sentence for each in self.result.done)}.", 3)
        clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
        level = f"{100 * self.result.interval.level:g} % intervals"
        basis = f"{counted(data.rows, 'case')}{clusters}, {len(data.classes)} classes; {level}."
        return [*lines, *self._wrap(basis), *self._wrap(MORE)]


def fitted(name: str, width: int) -> str:
    """A name no wider than that on a terminal, where some letters take two columns: its ends tell it apart."""
    name = without_controls(name)
    lengths = range(len(name), 1, -1)
    return next((short for n in lengths if cell_width(short := shortened(name, n)) <= width), name[:1])


def cut(line: str, width: int) -> str:
    """As much of a line as there is room for."""
    return next(line[:n] for n in range(len(line), -1, -1) if cell_width(line[:n]) <= width).rstrip()


@dataclass(frozen=True)
class _Section:
    """A table of the full form, with a heading above and sentences below."""

    title: str
    note: str = ""
    table: Table | None = None
    sentences: Sequence[str] = ()


def _print_sections(comparison: Comparison, sections: Iterable[_Section]) -> None:
    """The answer first, then the sections, then what to know about all of them."""
    for number, sentence in enumerate(comparison.headline):
        say(sentence, bold=number == 0)
    echo()
    for section in sections:
        _print_section(section)
    data = comparison.data
    clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
    costs = f"Costs: {comparison.costs.in_words}."
    say(f"{count(data.rows)} cases{clusters}, {len(data.classes)} classes. {costs}", dim=True)
    bullets(comparison.notes, mark="!")
    print_done(comparison.done)


def _print_section(section: _Section) -> None:
    heading(section.title, section.note, dim=True)
    if section.table is not None:
        print_table(section.table, BEST)
    bullets(section.sentences)
    echo()


def print_scores(comparison: Comparison) -> None:
    """What one model costs, its scores, and where the money goes if that is known."""
    data, unit, model = comparison.data, comparison.costs.currency, comparison.best
    tables, cost = _Tables(comparison), model.scores["expected_cost"]
    level = f"{100 * comparison.interval.level:g} % intervals"
    heading(model.name, f"{count(data.rows)} cases, {len(data.classes)} classes, {level}", dim=True)
    bill = money_between(model.cost, cost.low, cost.high, unit, per="per case")
    echo(f"{bill}, {wasted(model.cost - model.unavoidable, unit, cost.low, cost.high)}.", bold=True)
    print_table(tables.scores())
    bullets([f"{cost.warning}."] if cost.warning else [], mark="!")
    echo()
    for section in tables.wrong_tests():
        _print_section(section)


class _Tables(_Written):
    """The sections of the full form."""

    def sections(self, pairs: bool, by_class: bool) -> Iterator[_Section]:
        """One after the other."""
        yield self._models()
        if len(self.names) > 1:
            yield self._differences(pairs)
            yield self._ranks()
        if self.scenarios():
            yield self._under_scenarios()
        yield from self.wrong_tests()
        yield from self._steps()
        if any(model.calibration for model in self.result.models):
            yield self._calibration()
        if prices := self.prices():
            yield _Section("Prices", sentences=prices)
        yield from map(self._breakdown, self.result.by)
        if by_class:
            yield from map(self._classes, self.result.models)

    def _cell(self, estimate: Estimate | None, unit: str = "money", best: bool = False) -> Cell:
        return Cell(UNDEFINED) if estimate is None else Cell(*self.estimate(estimate, unit), best=best)

    def _columns(
        self, columns: Mapping[str, Sequence[Content]], names: Sequence[str] = (), title: str = "Model"
    ) -> Table:
        """A table with one row per name, those of the models unless said."""
        return Table([title, *columns], list(zip(names or self.names, *columns.values(), strict=True)))

    def _models(self) -> _Section:
        how = self.result.interval
        by = f"{count(how.replicates)} bootstrap replicates" if how.method == "bootstrap" else "linearisation"
        note = f"{100 * how.level:g} % intervals by {by}"
        if len(self.names) == 1:
            return _Section("Scores", note, self.scores())
        columns = {metric.title: self._scores(metric) for metric in self.result.metrics}
        return _Section("Models", f"{note}; best marked {BEST.strip()}", self._columns(columns))

    def scores(self) -> Table:
        """One model's, one below the other."""
        scores = self.result.best.scores
        rows = [(each.title, *self.estimate(scores[each.key], each.unit)) for each in self.result.metrics]
        return Table(["Metric", "Value", "Interval"], rows)

    def _scores(self, metric: MetricInfo) -> list[Cell]:
        ranks = self.result.ranks[metric.key]
        best = min(ranks) if len(ranks) > 1 else 0.0
        return [
            self._cell(model.scores[metric.key], metric.unit, rank == best)
            for model, rank in zip(self.result.models, ranks, strict=True)
        ]

    def _differences(self, pairs: bool) -> _Section:
        """What other models cost more than the best, or every pair of models."""
        gaps = [gap for gap in self.result.differences if pairs or gap.model == self.names[0]]
        chances = {
            model.name: UNDEFINED if (share := model.probability_best) is None else percent(share, short=True)
            for model in self.result.models
        }
        columns: dict[str, Sequence[Content]] = {
            "Costs more": [self._cell(gap.more) for gap in gaps],
            "p (Holm)": [self.formats.p_value(gap.p_holm) for gap in gaps],
            "Per 1,000 cases": [self._cell(gap.more.mapped(lambda amount: 1000 * amount)) for gap in gaps],
            "Cheapest": [chances[gap.against] for gap in gaps],
        }
        note = "paired, per case; p is adjusted for all pairs, intervals are not"
        if pairs:
            names = [f"{gap.against} over {gap.model}" for gap in gaps]
            return _Section("Every pair of models", note, self._columns(columns, names))
        table = self._columns(columns, [gap.against for gap in gaps])
        return _Section(f"What other models cost more than {self.names[0]}", note, table)

    def _ranks(self) -> _Section:
        metrics = [metric for metric in self.result.metrics if not ranks_as_another(metric.key)]
        columns = {each.title: [f"{rank:g}" for rank in self.result.ranks[each.key]] for each in metrics}
        return _Section("Ranks by each metric", "", self._columns(columns), self.result.disagreements)

    def _under_scenarios(self) -> _Section:
        columns = {}
        for number, scenario in enumerate(self.result.scenarios):
            least = min(model.scenarios[number] for model in self.result.models)
            columns[scenario.name] = [
                self._as_precise(model, model.scenarios[number], least) for model in self.result.models
            ]
        return _Section("Under other costs", "expected search cost; best marked *", self._columns(columns))

    def _as_precise(self, model: ModelResult, cost: float, least: float) -> Cell:
        """Another cost of a model, with the digits that its expected cost deserves."""
        return Cell(self.estimate(replace(model.scores["expected_cost"], value=cost))[0], best=cost == least)

    def wrong_tests(self) -> Iterator[_Section]:
        note = "the most expensive wrong tests, per case"
        grouped = groupby(self.result.largest_pairs, lambda pair: pair.model)
        for number, (name, pairs) in enumerate(grouped):
            if number < MODELS_IN_DETAIL:
                yield _Section(f"Where the money goes: {name}", note, sentences=[pair.sentence for pair in pairs])
        if self.result.largest_pairs and len(self.names) > MODELS_IN_DETAIL:
            yield _Section(f"and {len(self.names) - MODELS_IN_DETAIL} more models", "see --json or --html")

    def _steps(self) -> Iterator[_Section]:
        if self.result.workup is None or not self.result.workup.spending:
            return
        spending = self.result.workup.spending
        columns = {
            "Made in": [self.formats.share(step.chance) for step in spending],
            "Costs per case": [self.formats.money(step.cost) for step in spending],
        }
        table = self._columns(columns, [step.name for step in spending], "Step")
        note = "of which only class frequencies are known"
        yield _Section("Where the money goes in a typical case", note, table)

    def _calibration(self) -> _Section:
        """What forecasts predict of themselves, what recalibrating saves, and what costs are made of."""
        columns: dict[str, list[Estimate | None]] = {
            "Predicted": [model.predicted_cost for model in self.result.models],
            "Found": [model.scores["expected_cost"] for model in self.result.models],
            "If prices are exact": [model.at_stated_prices for model in self.result.models],
        }
        for title, key in (("Recalibrated", "cost"), ("Saves", "saved"), ("Over the best", "against_leader")):
            columns[title] = [getattr(model.recalibrated, key, None) for model in self.result.models]
        for title in ("Miscalibration", "Discrimination", "Uncertainty"):
            columns[title] = [(model.decomposition or {}).get(title.lower()) for model in self.result.models]
        cells = {title: list(map(self._cell, column)) for title, column in columns.items() if any(column)}
        sentences = (recalibrating(model, self.unit) for model in self.result.models)
        named = [f"{name}: {text}" for name, text in zip(self.names, sentences, strict=True) if text]
        note = "what forecasts predict of their own cost, and what recalibrating (cross-fitted) would save"
        return _Section("Cost calibration", note, self._columns(cells), named)

    def _breakdown(self, part: Breakdown) -> _Section:
        """What each model costs in each group, beside its own prediction, and how that differs from the best."""
        header = [part.column, "Cases"]
        rows: list[list[Cell | str]] = [[group.name, count(group.rows)] for group in part.groups]
        for index, name in enumerate(self.names):
            header += [name, "predicted", *([f"over {self.names[0]}", "p (Holm)"] if index else [])]
            for row, group in zip(rows, part.groups, strict=True):
                model = group.models[index]
                row += [self._cell(model.cost), self._cell(model.predicted)]
                row += [self._cell(model.against_leader), self.formats.p_value(model.p_holm)] if index else []
        pooled = f"; {count(part.pooled)} small groups pooled as the last" if part.pooled else ""
        note = f"found, predicted, over {self.names[0]}; p for all groups{pooled}"
        return _Section(f"By {part.column}", note, Table(header, rows), part.all_flags)

    def _classes(self, model: ModelResult) -> _Section:
        rows = model.by_class
        columns = {"Cases": [count(row.weight) for row in rows]} | {
            metric.title: [self.formats.write(metric.unit, getattr(row, metric.key)) for row in rows]
            for metric in self.result.metrics
            if hasattr(rows[0], metric.key)
        }
        table = self._columns(columns, [row.label for row in rows], "Class")
        return _Section(f"{model.name}, class by class", "", table)

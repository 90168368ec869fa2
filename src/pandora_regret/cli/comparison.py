"""A comparison for people: on one screen, of 25 lines unless the verdict is long; or with `--full` all tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TypeAlias

from pandora_regret.cli.output import bullets, echo, heading, print_remarks, say, width
from pandora_regret.comparison.parts import Breakdown, ModelResult, Subgroup
from pandora_regret.comparison.result import TERMS, Comparison, price_heading
from pandora_regret.comparison.words import (
    constant_sentence,
    costs_in_words,
    price_sentences,
    recalibrating,
    scenario_sentence,
)
from pandora_regret.core.inputs import UNLABELLED
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import (
    UNDEFINED,
    Content,
    DisplayCell,
    DisplayTable,
    Formats,
    cell_width,
    count,
    counted,
    listed,
    money,
    percent,
    shortened,
    without_controls,
    wrapped,
)

WIDEST_SCREEN = 80
MOST_LINES = 25  # but a verdict is never cut
MOST_LINES_DONE = 3  # about what was done to the files
MOST_MODELS = 5  # in the table of the screen
MOST_COLUMNS = 3  # models in the table of groups
MOST_GROUPS = 6
LONGEST_NAME = 20
LONGEST_GROUP = 22
LONGEST_TITLE = 12
BEST = "* "
MORE = "More: --full, --html report.html, --json."

ScreenSection: TypeAlias = tuple[
    str, str, DisplayTable | None, Sequence[str]
]  # title, note, table, sentences below


def print_comparison(comparison: Comparison, *, full: bool = False) -> None:
    """Print a comparison on standard output: on one screen, or every table of it."""
    if not full:
        for number, line in enumerate(screen(comparison, min(WIDEST_SCREEN, width()))):
            echo(line, bold=number == 0)
        return
    for number, sentence in enumerate(comparison.headline):
        say(sentence, bold=number == 0)
    echo()
    written = _Writer(comparison)
    for title, note, table, sentences in (*written.about_models(), *written.about_money(), *written.by_group()):
        heading(title, note, dim=True)
        if table is not None:
            echo(table.to_text(width(), BEST))
        bullets(sentences)
        echo()
    say(f"{written.cases}. Costs: {costs_in_words(comparison.costs)}.", dim=True)
    bullets(comparison.notes, mark="!")
    print_remarks(comparison.other_remarks)


def screen(comparison: Comparison, width: int = WIDEST_SCREEN) -> list[str]:
    """The lines of the short form: the whole verdict, and below it as much as there is room for."""
    written = _Writer(comparison, width)
    lines = written.verdict()
    for most_done in (MOST_LINES_DONE, 1):
        parts = [written.models(), written.groups(), written.below(most_done)]
        parts = [part for part in parts if part]
        if len(lines) + sum(len(part) + 1 for part in parts) <= MOST_LINES:
            break  # else what was done is cut before what was found
    for part in parts:
        lines += ["", *part]
    return [line if cell_width(line) <= width else wrapped(line, width)[0] for line in lines]


def fitted(name: str, width: int) -> str:
    """A name no wider than that on a terminal, where some letters take two columns: its ends tell it apart."""
    name = without_controls(name)
    return name if cell_width(name) <= width else shortened(name, width if name.isascii() else width // 2)


class _Writer:
    """A comparison, and how it is written: the lines of the screen, and the sections of the full form."""

    def __init__(self, comparison: Comparison, width: int = WIDEST_SCREEN) -> None:
        self.result = comparison
        self.width = width
        self.unit = comparison.costs.currency
        self.names = [model.name for model in comparison.models]
        self.formats = Formats((model.cost for model in comparison.models), self.unit or "")
        self.short = {name: fitted(name, LONGEST_NAME) for name in self.names}
        self.level = f"{100 * comparison.interval.level:g} % intervals"
        self.cases = comparison.cases_in_words
        lists = comparison.lists
        self.at_a_miss = ""  # at which price of a miss costs are reported, where nobody said one
        if lists is not None and lists.miss is None:
            self.at_a_miss = f"; costs where a miss costs {money(lists.at, self.unit)}"
        self.prices = price_sentences(comparison.break_even, comparison.verdict.leader, self.unit)
        self.scenarios = scenario_sentence(
            comparison.models, comparison.scenarios, comparison.verdict.margin, comparison.costs.currency
        )

    def cell(self, estimate: Estimate | None, unit: str = "money", best: bool = False) -> DisplayCell:
        """A value, and its interval, rounded by the interval's width."""
        if estimate is None:
            return DisplayCell(UNDEFINED)
        if estimate.value is None and (estimate.warning or "").startswith("infinite"):
            return DisplayCell("infinite")
        return DisplayCell(*self.formats.estimate(unit, estimate), best)

    def wrap(self, text: str, most: int | None = None) -> list[str]:
        """Text as lines, with long names shortened; where there are too many lines, the last ends in dots."""
        for name, short in sorted(self.short.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(name, short)
        lines = wrapped(text, self.width)
        if most is None or len(lines) <= most:
            return lines
        return [*lines[: most - 1], f"{wrapped(lines[most - 1], self.width - 2)[0]} …"]

    def verdict(self) -> list[str]:
        """The whole verdict, with what stands out by group."""
        return [line for sentence in self._verdict_sentences() for line in self.wrap(sentence)]

    def _verdict_sentences(self) -> list[str]:
        """The verdict's, and that of the yardstick of one list for every case."""
        sentences = list(self.result.verdict.sentences)
        lists = self.result.lists
        yardstick = None if lists is None else constant_sentence(lists, self.unit)
        return sentences if yardstick is None else [*sentences, yardstick]

    def models(self) -> list[str]:
        """The table that a notebook shows, in one line per model where these fit."""
        n_models = len(self.names)
        n_shown = n_models if n_models <= MOST_MODELS else MOST_MODELS - 1
        whole = self.result.overview(n_shown)
        against = f"Against {self.result.verdict.leader}"
        header = ["Against the best" if title == against else title for title in whole.header]
        table = DisplayTable(header, [[self.short.get(str(row[0]), row[0]), *row[1:]] for row in whole.rows])
        lines = table.to_text().splitlines()
        if max(map(cell_width, lines)) > self.width:
            lines = table.to_text(self.width).splitlines()
        if n_shown < n_models:
            lines.append(f"{count(n_models - n_shown)} more models: --full")
        lists = self.result.lists
        if lists is not None and lists.miss is None:  # it depends on what a miss costs
            return lines
        least = money(self.result.best.unavoidable, self.unit)
        return [*lines, f"Someone who knew the truth would pay {least} per case."]

    def groups(self) -> list[str]:
        """A table for the first column, and one line about all other columns."""
        if not self.result.by:
            return []
        lines = self._breakdown(self.result.by[0])
        further = self.result.by[1:]
        if not further:
            return lines
        columns = listed(f"{part.column} ({len(part.groups)} groups)" for part in further)
        n_flags = sum(len(part.all_flags) for part in further)
        finding = f"{counted(n_flags, 'finding')}: --full" if n_flags else "nothing stands out"
        return lines + self.wrap(f"By {columns}: {finding}.", 1)

    def _breakdown(self, part: Breakdown) -> list[str]:
        """The groups that stand out and the first of the others, under the best models and those that do."""
        flagged_first = sorted(part.groups, key=lambda group: not group.flags)
        shown = flagged_first[:MOST_GROUPS]
        models = self._models_of_breakdown(part)
        rows = [self._row_of_group(group, models) for group in part.groups if group in shown]
        titles = [fitted(self.names[model], LONGEST_TITLE) for model in models]
        lists = self.result.lists
        at = f" at {price_heading(lists.at)}" if lists is not None and lists.miss is None else ""
        header = [fitted(f"By {part.column}{at}", LONGEST_GROUP), "Cases", *titles, ""]
        n_left_out = len(part.groups) - len(rows)
        below = [f"  {n_left_out} more groups: --full"] if n_left_out else []
        return DisplayTable(header, rows, below=below).to_text().splitlines()

    def _models_of_breakdown(self, part: Breakdown) -> list[int]:
        """The places of the models that have a column: the best, those that stand out in a group, and the next."""
        flagged = [place for place, name in enumerate(self.names) if name in part.all_flagged]
        by_importance = list(dict.fromkeys([0, *flagged, *range(len(self.names))]))  # each once
        return sorted(by_importance[:MOST_COLUMNS])

    def _row_of_group(self, group: Subgroup, models: Sequence[int]) -> list[str]:
        """A group's name, its cases, what these models cost in it, and whether it stands out."""
        costs = [self.cell(group.models[model].cost).text for model in models]
        mark = "<- stands out" if group.flags else ""
        return [fitted(f"  {group.name}", LONGEST_GROUP), count(group.rows), *costs, mark]

    def below(self, most_done: int) -> list[str]:
        """Other prices, the first reason not to trust a number, what was done to the files, what was compared.

        What was done takes at most so many lines.
        """
        result = self.result
        lines = []
        if self.scenarios:
            lines += self.wrap(self.scenarios)
        if self.prices and not result.by:
            lines += self.wrap(self.prices[0], 3)
        remarks = result.other_remarks
        n_absent = len(result.remarks) - len(remarks)
        for note in result.notes[:n_absent]:  # which explain what a model costs
            lines += self.wrap(f"! {note}")
        others = result.notes[n_absent:]
        if len(others) > 1:
            lines += self.wrap(f"! {len(others)} warnings (--full), the first: {others[0]}", 2)
        elif others:
            lines += self.wrap(f"! {others[0]}", 2)
        if remarks:
            cases_first = sorted(remarks, key=lambda change: change.what != UNLABELLED)
            sentences = "; ".join(change.sentence for change in cases_first)
            lines += self.wrap(f"Done to the files: {sentences}.", most_done)
        counts = " ".join([f"{self.cases}; {self.level}.", *result.margin_sentence])
        lines += self.wrap(counts.replace(" of the cost)", " of the cost; --worth)"))
        return lines + self.wrap(MORE)

    def by_model(self, columns: Mapping[str, Sequence[Content]]) -> DisplayTable:
        """A table with one row per model, of columns by their titles."""
        return DisplayTable(["Model", *columns], list(zip(self.names, *columns.values(), strict=True)))

    def about_models(self) -> Iterator[ScreenSection]:
        """The sections about models: scores, differences and ranks, and costs under other prices."""
        interval = self.result.interval
        method = "linearisation"
        if interval.method == "bootstrap":
            method = f"{count(interval.replicates)} bootstrap replicates"
        note = f"{self.level} by {method}{self.at_a_miss}"
        if len(self.names) == 1:
            yield "Scores", note, self._scores_of_one(), ()
        else:
            marked = f"{note}; best marked {BEST.strip()}"
            yield "Models", marked, self._scores_of_several(), self.result.disagreements
            title = f"What other models cost more than {self.names[0]}"
            yield title, "paired, per case; p is adjusted for all pairs, intervals are not", self._gaps(), ()
        if self.scenarios:
            yield "Under other costs", "expected search cost; best marked *", self._scenario_costs(), ()

    def _scores_of_one(self) -> DisplayTable:
        """Every metric of the only model."""
        rows = []
        for metric in self.result.metrics:
            cell = self.cell(self.result.best.scores[metric.key], metric.unit)
            rows.append([metric.title, cell.text, cell.interval])
        return DisplayTable(["Metric", "Value", "Interval"], rows)

    def _scores_of_several(self) -> DisplayTable:
        """A column per metric; the best of each is marked."""
        columns = {}
        for metric in self.result.metrics:
            ranks = self.result.ranks[metric.key]
            columns[metric.title] = [
                self.cell(model.scores[metric.key], metric.unit, rank == min(ranks))
                for model, rank in zip(self.result.models, ranks, strict=True)
            ]
        return self.by_model(columns)

    def _gaps(self) -> DisplayTable:
        """What each of the other models costs more than the first."""
        rows: list[list[Content]] = []
        for model in self.result.models[1:]:
            gap = self.result.gaps[model.name]
            chance = UNDEFINED
            if model.probability_best is not None:
                chance = percent(model.probability_best, short=True)
            rows.append([model.name, self.cell(gap.more), self.formats.p_value(gap.p_holm), chance])
        return DisplayTable(["Model", "Costs more", "p (Holm)", "Cheapest"], rows)

    def _scenario_costs(self) -> DisplayTable:
        """A column per scenario, with the digits that the expected cost deserves."""
        models = self.result.models
        columns: dict[str, list[DisplayCell]] = {}
        for number, scenario in enumerate(self.result.scenarios):
            costs = [model.scenarios[number] for model in models]
            columns[scenario.name] = []
            for model, cost in zip(models, costs, strict=True):
                text = self.cell(replace(model.scores["expected_cost"], value=cost)).text
                columns[scenario.name].append(DisplayCell(text, best=cost == min(costs)))
        return self.by_model(columns)

    def about_money(self) -> Iterator[ScreenSection]:
        """Wrong tests, steps of a work-up, calibration, and prices that would change the verdict."""
        note = "the most expensive wrong tests, per case"
        for name, pairs in groupby(self.result.largest_pairs, lambda pair: pair.model):
            yield f"Where the money goes: {name}", note, None, [pair.sentence for pair in pairs]
        workup = self.result.workup
        if workup is not None and workup.spending:
            write = self.formats.write
            rows = [
                [step.name, write("share", step.chance), write("money", step.cost)] for step in workup.spending
            ]
            table = DisplayTable(["Step", "Made in", "Costs per case"], rows)
            yield "Where the money goes in a typical case", "of which only class frequencies are known", table, ()
        if any(model.calibration for model in self.result.models):
            sentences = []
            for model in self.result.models:
                advice = recalibrating(model, self.unit)
                if advice:
                    sentences.append(f"{model.name}: {advice}")
            note = "what forecasts predict of their own cost, and what recalibrating (cross-fitted) would save"
            yield "Cost calibration", note, self._calibrations(), sentences
        if self.prices:
            yield "Prices", "", None, self.prices

    def _calibrations(self) -> DisplayTable:
        """What is known of the models' calibration; a column that is empty for all is left out."""
        by_model = [_calibration(model) for model in self.result.models]
        columns = {}
        for title in by_model[0]:
            estimates = [calibration[title] for calibration in by_model]
            if any(estimates):
                columns[title] = [self.cell(estimate) for estimate in estimates]
        return self.by_model(columns)

    def by_group(self) -> Iterator[ScreenSection]:
        """What each model costs in each group, beside its own prediction, and how that differs from the best."""
        over = f"over {self.names[0]}"
        for part in self.result.by:
            header = [part.column, "Cases", self.names[0], "predicted"]
            for name in self.names[1:]:
                header += [name, "predicted", over, "p (Holm)"]
            rows = []
            for group in part.groups:
                row: list[Content] = [group.name, count(group.rows)]
                for number, model in enumerate(group.models):
                    row += [self.cell(model.cost), self.cell(model.predicted)]
                    if number > 0:
                        row += [self.cell(model.against_leader), self.formats.p_value(model.p_holm)]
                rows.append(row)
            pooled = f"; {count(part.pooled)} small groups pooled as the last" if part.pooled else ""
            note = f"found, predicted, {over}; p for all groups{pooled}{self.at_a_miss}"
            yield f"By {part.column}", note, DisplayTable(header, rows), part.all_flags


def _calibration(model: ModelResult) -> dict[str, Estimate | None]:
    """A model's costs as predicted and found, recalibrated, and the parts that they consist of, by title."""
    again = model.recalibrated
    decomposition = model.decomposition or {}
    return {
        "Predicted": model.predicted_cost,
        "Found": model.scores["expected_cost"],
        "If prices are exact": model.at_stated_prices,
        "Recalibrated": again.cost if again else None,
        "Saves": again.saved if again else None,
        "Over the best": again.against_best if again else None,
        **{term.capitalize(): decomposition.get(term) for term in TERMS},
    }

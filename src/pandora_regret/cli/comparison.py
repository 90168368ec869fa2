"""A comparison for people: on one screen of at most 25 lines, or with `--full` every table behind it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeAlias

from pandora_regret.cli.output import bullets, echo, heading, print_done, say, width
from pandora_regret.compare.result import TERMS, Breakdown, Comparison, ModelResult
from pandora_regret.compare.verdict import price_sentences, recalibrating, scenario_sentence
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import (
    UNDEFINED,
    Cell,
    Content,
    Formats,
    Table,
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

WIDTH, MOST_LINES = 80, 25
MOST_MODELS, MOST_GROUPS = 5, 6  # in a table of the screen; so many groups are always there
LONGEST_NAME, LONGEST_GROUP, LONGEST_TITLE = 20, 22, 12  # columns
BEST = "* "
MORE = "More: --full, --html report.html, --json."

Section: TypeAlias = tuple[str, str, Table | None, Sequence[str]]  # title, note, table, sentences below


def print_comparison(comparison: Comparison, *, full: bool = False) -> None:
    """On standard output."""
    if not full:
        for number, line in enumerate(screen(comparison, min(WIDTH, width()))):
            echo(line, bold=number == 0)
        return
    for number, sentence in enumerate(comparison.headline):
        say(sentence, bold=number == 0)
    echo()
    written = _Written(comparison)
    for title, note, table, sentences in (*written.about_models(), *written.about_money(), *written.by_group()):
        heading(title, note, dim=True)
        if table is not None:
            echo(table.to_text(width(), BEST))
        bullets(sentences)
        echo()
    say(f"{written.cases}. Costs: {comparison.costs.in_words}.", dim=True)
    bullets(comparison.notes, mark="!")
    print_done(comparison.done)


def screen(comparison: Comparison, width: int = WIDTH) -> list[str]:
    """The lines of the short form: two of the verdict's at least, more where there is room."""
    written = _Written(comparison, width)
    parts = [part for part in (written.models(), written.groups(), written.below()) if part]
    room = MOST_LINES - sum(len(part) + 1 for part in parts)
    lines = [*written.verdict(max(room, 2)), *(line for part in parts for line in ("", *part))]
    return [line if cell_width(line) <= width else wrapped(line, width)[0] for line in lines]


def fitted(name: str, width: int) -> str:
    """A name no wider than that on a terminal, where some letters take two columns: its ends tell it apart."""
    name = without_controls(name)
    return name if cell_width(name) <= width else shortened(name, width if name.isascii() else width // 2)


class _Written:
    """A comparison, and how it is written: the lines of the screen, and the sections of the full form."""

    def __init__(self, comparison: Comparison, width: int = WIDTH) -> None:
        data, self.result, self.width = comparison.data, comparison, width
        self.unit, self.names = comparison.costs.currency, [model.name for model in comparison.models]
        self.formats = Formats((model.cost for model in comparison.models), self.unit)
        self.short = {name: fitted(name, LONGEST_NAME) for name in self.names}
        self.level = f"{100 * comparison.interval.level:g} % intervals"
        clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
        self.cases = f"{counted(data.rows, 'case')}{clusters}, {len(data.classes)} classes"
        self.prices = price_sentences(comparison.break_even, comparison.verdict.leader, self.unit)
        self.scenarios = scenario_sentence(comparison)

    def cell(self, estimate: Estimate | None, unit: str = "money", best: bool = False) -> Cell:
        """A value, and its interval, rounded by the interval's width."""
        if estimate is None:
            return Cell(UNDEFINED)
        if estimate.value is None and (estimate.warning or "").startswith("infinite"):
            return Cell("infinite")
        return Cell(*self.formats.estimate(unit, estimate), best)

    def wrap(self, text: str, most: int | None = None) -> list[str]:
        """Text as lines, with long names shortened; where there are too many lines, the last ends in dots."""
        for name, short in sorted(self.short.items(), key=lambda pair: -len(pair[0])):
            text = text.replace(name, short)
        lines = wrapped(text, self.width)
        if most is None or len(lines) <= most:
            return lines
        return [*lines[: most - 1], f"{wrapped(lines[most - 1], self.width - 2)[0]} …"]

    def verdict(self, most: int) -> list[str]:
        """The first sentence, and those of the others for which there is room."""
        first, *others = self.result.verdict.sentences
        lines = self.wrap(first, most)
        for more in map(self.wrap, others):
            lines += more if len(lines) + len(more) <= most else []
        return lines

    def models(self) -> list[str]:
        """The table that a notebook shows, in one line per model where these fit."""
        n_models = len(self.names)
        n_shown = n_models if n_models <= MOST_MODELS else MOST_MODELS - 1
        whole = self.result.overview(n_shown)
        against = f"Against {self.result.verdict.leader}"
        header = ["Against the best" if title == against else title for title in whole.header]
        table = Table(header, [[self.short.get(str(row[0]), row[0]), *row[1:]] for row in whole.rows])
        lines = table.to_text().splitlines()
        if max(map(cell_width, lines)) > self.width:
            lines = table.to_text(self.width).splitlines()
        more = [f"{count(n_models - n_shown)} more models: --full"] if n_shown < n_models else []
        least = money(self.result.best.unavoidable, self.unit)
        return [*lines, *more, f"Someone who knew the truth would pay {least} per case."]

    def groups(self) -> list[str]:
        """A table for the first column, and one line about all others."""
        if not self.result.by:
            return []
        first, *others = self.result.by
        columns = listed(f"{part.column} ({len(part.groups)} groups)" for part in others)
        flags = sum(len(part.all_flags) for part in others)
        verdict = f"{counted(flags, 'finding')}: --full" if flags else "nothing stands out"
        return self._breakdown(first) + (self.wrap(f"By {columns}: {verdict}.", 1) if others else [])

    def _breakdown(self, part: Breakdown) -> list[str]:
        """The groups that stand out and the first of the others, under the best models and those that do."""
        by_worth = sorted(part.groups, key=lambda group: not group.flags)[:MOST_GROUPS]
        named = (m for m, name in enumerate(self.names) if any(f" {name} " in flag for flag in part.all_flags))
        models = sorted(list(dict.fromkeys([0, *named, *range(len(self.names))]))[:3])
        rows = [
            (
                fitted(f"  {group.name}", LONGEST_GROUP),
                count(group.rows),
                *(self.cell(group.models[model].cost).text for model in models),
                "<- stands out" if group.flags else "",
            )
            for group in part.groups
            if group in by_worth
        ]
        titles = (fitted(self.names[model], LONGEST_TITLE) for model in models)
        left_out = len(part.groups) - len(rows)
        below = [f"  {left_out} more groups: --full"] if left_out else []
        header = [fitted(f"By {part.column}", LONGEST_GROUP), "Cases", *titles, ""]
        return Table(header, rows, below=below).to_text().splitlines()

    def below(self) -> list[str]:
        """Other prices, the first reason not to trust a number, what was done to the files, what was compared."""
        result, notes = self.result, self.result.notes
        warnings = f"{len(notes)} warnings (--full), the first: " if len(notes) > 1 else ""
        done = "; ".join(each.sentence for each in result.done)
        counts = " ".join([f"{self.cases}; {self.level}.", *result.margin_sentence])
        texts = (
            (self.scenarios, None),
            (self.prices[0] if self.prices and not result.by else None, 3),
            (f"! {warnings}{notes[0]}" if notes else None, 2),
            (f"Done to the files: {done}." if done else None, 3),
            (counts.replace(" of the cost)", " of the cost; --worth)"), None),
            (MORE, None),
        )
        return [line for text, most in texts if text for line in self.wrap(text, most)]

    def by_model(self, columns: Mapping[str, Sequence[Content]]) -> Table:
        """A table with one row per model, of columns by their titles."""
        return Table(["Model", *columns], list(zip(self.names, *columns.values(), strict=True)))

    def about_models(self) -> Iterator[Section]:
        """Their scores, differences and ranks, and costs under other prices."""
        result, how, models, ranks = self.result, self.result.interval, self.result.models, self.result.ranks
        by = f"{count(how.replicates)} bootstrap replicates" if how.method == "bootstrap" else "linearisation"
        note = f"{self.level} by {by}"
        if len(models) == 1:
            pairs = [(of.title, self.cell(models[0].scores[of.key], of.unit)) for of in result.metrics]
            rows = [(title, cell.text, cell.interval) for title, cell in pairs]
            yield "Scores", note, Table(["Metric", "Value", "Interval"], rows), ()
        else:
            scores = {
                of.title: [
                    self.cell(model.scores[of.key], of.unit, rank == min(ranks[of.key]))
                    for model, rank in zip(models, ranks[of.key], strict=True)
                ]
                for of in result.metrics
            }
            yield "Models", f"{note}; best marked {BEST.strip()}", self.by_model(scores), result.disagreements
            gaps = []
            for model in models[1:]:
                gap, share = result.gaps[model.name], model.probability_best
                chance = UNDEFINED if share is None else percent(share, short=True)
                gaps.append((model.name, self.cell(gap.more), self.formats.p_value(gap.p_holm), chance))
            note = "paired, per case; p is adjusted for all pairs, intervals are not"
            table = Table(["Model", "Costs more", "p (Holm)", "Cheapest"], gaps)
            yield f"What other models cost more than {self.names[0]}", note, table, ()
        if self.scenarios:
            others, costs = {}, zip(*(model.scenarios for model in models), strict=True)
            for scenario, of_models in zip(result.scenarios, costs, strict=True):
                shown = (  # with the digits that the expected cost deserves
                    replace(model.scores["expected_cost"], value=cost)
                    for model, cost in zip(models, of_models, strict=True)
                )
                others[scenario.name] = [Cell(self.cell(of).text, "", of.value == min(of_models)) for of in shown]
            yield "Under other costs", "expected search cost; best marked *", self.by_model(others), ()

    def about_money(self) -> Iterator[Section]:
        """Wrong tests, steps of a work-up, calibration, and prices that would change the verdict."""
        note = "the most expensive wrong tests, per case"
        for name, pairs in groupby(self.result.largest_pairs, lambda pair: pair.model):
            yield f"Where the money goes: {name}", note, None, [pair.sentence for pair in pairs]
        models, workup, write = self.result.models, self.result.workup, self.formats.write
        if workup is not None and workup.spending:
            rows = [(of.name, write("share", of.chance), write("money", of.cost)) for of in workup.spending]
            table = Table(["Step", "Made in", "Costs per case"], rows)
            yield "Where the money goes in a typical case", "of which only class frequencies are known", table, ()
        if any(model.calibration for model in models):
            parts = [self._calibration(model) for model in models]
            columns = {title: [*map(self.cell, of)] for title in parts[0] if any(of := [p[title] for p in parts])}
            sentences = [f"{model.name}: {text}" for model in models if (text := recalibrating(model, self.unit))]
            note = "what forecasts predict of their own cost, and what recalibrating (cross-fitted) would save"
            yield "Cost calibration", note, self.by_model(columns), sentences
        if self.prices:
            yield "Prices", "", None, self.prices

    def _calibration(self, model: ModelResult) -> dict[str, Any]:
        parts = {"Recalibrated": "cost", "Saves": "saved", "Over the best": "against_best"}
        return {
            "Predicted": model.predicted_cost,
            "Found": model.scores["expected_cost"],
            "If prices are exact": model.at_stated_prices,
            **{title: getattr(model.recalibrated, key, None) for title, key in parts.items()},
            **{term.capitalize(): (model.decomposition or {}).get(term) for term in TERMS},
        }

    def by_group(self) -> Iterator[Section]:
        """What each model costs in each group, beside its own prediction, and how that differs from the best."""
        over = f"over {self.names[0]}"
        for part in self.result.by:
            header, rows = [part.column, "Cases"], []
            for index, name in enumerate(self.names):
                header += [name, "predicted", *([over, "p (Holm)"] if index else [])]
            for group in part.groups:
                row: list[Content] = [group.name, count(group.rows)]
                for index, model in enumerate(group.models):
                    row += [self.cell(model.cost), self.cell(model.predicted)]
                    row += [self.cell(model.against_leader), self.formats.p_value(model.p_holm)] if index else []
                rows.append(row)
            pooled = f"; {count(part.pooled)} small groups pooled as the last" if part.pooled else ""
            note = f"found, predicted, {over}; p for all groups{pooled}"
            yield f"By {part.column}", note, Table(header, rows), part.all_flags

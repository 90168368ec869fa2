"""A comparison on one screen: the verdict, one table, results by group, what was done to files, where to go on.

At most 25 lines of 80 columns, whatever was compared; `--full` prints the tables of comparison_tables.py instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from pandora_regret.cli.comparison_tables import Tables, chance
from pandora_regret.cli.console import output
from pandora_regret.cli.printing import aligned, cut, fitted, wrapped
from pandora_regret.compare.grouping import MISSING
from pandora_regret.compare.prices import ALIKE, STATED
from pandora_regret.compare.result import Breakdown, Comparison, ModelResult, Subgroup
from pandora_regret.compare.words import price_sentences
from pandora_regret.inference.estimate import Estimate
from pandora_regret.text import UNDEFINED, Formats, count, counted

WIDTH, MOST_LINES = 80, 25
MOST_MODELS, MOST_GROUPS = 5, 5  # in a table
SHORTEST_TABLE = 3  # lines
VERDICT_LINES, DONE_LINES, NOTE_LINES, PRICE_LINES, SCENARIO_LINES = 8, 3, 2, 3, 2  # at most
GROUP_LINES = 2  # of the verdict's, that it leaves to groups where there are some
LONGEST_NAME, NARROWEST_NAMES, LONGEST_GROUP, LONGEST_TITLE = 26, 10, 22, 12  # columns
STANDS_OUT = "<- stands out"
BUILT_IN = (STATED, ALIKE)  # scenarios that every comparison has
MORE_SCENARIOS = "More scenarios: --full"
MORE = "More: --full, --html report.html, --json."


@dataclass(frozen=True)
class Line:
    """One line, and how it looks where there is colour."""

    text: str = ""
    style: str | None = None


def print_comparison(
    comparison: Comparison, *, full: bool = False, pairs: bool = False, by_class: bool = False
) -> None:
    """On standard output; the tables of all pairs and of all classes are part of the full one."""
    console = output()
    if full or pairs or by_class:
        Tables(comparison, console).show(pairs=pairs, by_class=by_class)
        return
    for line in screen(comparison, min(WIDTH, console.width)):
        console.print(line.text, style=line.style, soft_wrap=True)


def screen(comparison: Comparison, width: int = WIDTH) -> list[Line]:
    """The lines of the short form; where even the shortest table is too wide for a terminal, it is cut off."""
    return [Line(cut(line.text, width), line.style) for line in _Screen(comparison, width).lines()]


class _Screen:
    def __init__(self, comparison: Comparison, width: int) -> None:
        self.result, self.width = comparison, width
        self.formats = Formats.for_costs((model.cost for model in comparison.models), comparison.costs.currency)
        self.table_digits = self._digits_of_gaps()
        self.short = {model.name: fitted(model.name, LONGEST_NAME) for model in comparison.models}

    def lines(self) -> list[Line]:
        """What must be there first, then groups in the lines that are left."""
        table, below = self._table(), self._footer()
        above = self._verdict(min(VERDICT_LINES, MOST_LINES - len(table) - len(below) - 2))
        left = MOST_LINES - len(above) - len(table) - len(below) - 3
        groups = self._groups(left) if self.result.by and left > 0 else []
        parts = [above, table, *([groups] if groups else []), below]
        return [line for number, part in enumerate(parts) for line in ([Line()] if number else []) + part]

    def _wrap(self, text: str, most_lines: int | None = None) -> list[str]:
        """Text as lines; names of models that are longer than a table has room for are shortened."""
        for name in sorted(self.short, key=len, reverse=True):
            text = text.replace(name, self.short[name]) if self.short[name] != name else text
        return wrapped(text, self.width, most_lines)

    def _verdict(self, most_lines: int) -> list[Line]:
        """The verdict itself, then a finding about groups, then as many other sentences as there is room for."""
        first, *others = self.result.verdict.sentences
        flags = [flag for part in self.result.by for flag in part.all_flags]
        by_worth = dict.fromkeys([*flags[:1], *(each for each in others if each not in flags), *others])
        most_lines -= GROUP_LINES * bool(self.result.by)
        said = {first: self._wrap(first, most_lines)}
        room = most_lines - len(said[first])
        for sentence in by_worth:
            lines = self._wrap(sentence)
            if len(lines) <= room:
                said[sentence] = lines
                room -= len(lines)
        ordered = [sentence for sentence in (first, *others) if sentence in said]
        return [Line(text, "bold" if each == first else None) for each in ordered for text in said[each]]

    def _table(self) -> list[Line]:
        models = self.result.models
        shown = models if len(models) <= MOST_MODELS else models[: MOST_MODELS - 1]
        lines = [Line(text) for text in self._fitting([row for model in shown for row in self._rows(model)])]
        lines[0] = Line(lines[0].text, "bold")
        if len(shown) < len(models):
            lines.append(Line(f"{count(len(models) - len(shown))} more models: --full", "dim"))
        least = self._part(models[0], models[0].unavoidable)
        return [*lines, Line(f"Someone who knew the truth would pay {least} per case.", "dim")]

    def _rows(self, model: ModelResult) -> Iterator[_Row]:
        """A model as it is, and recalibrated where the verdict says so."""
        cost = model.scores["expected_cost"]
        avoidable = self._part(model, model.cost - model.unavoidable)
        cheapest = chance(model.probability_best)
        yield _Row(model.name, self._cost(cost), self._gap(model), avoidable, cheapest)
        if model.recalibrated is not None and model.name in self.result.verdict.recalibrate[:1]:
            later = model.recalibrated
            yield _Row("  recalibrated", self._cost(later.cost), self._more(later.against_leader))

    def _fitting(self, rows: Sequence[_Row]) -> list[str]:
        """A table no wider than the screen: letters of names go first, then the last columns."""
        title = "Cost per case"
        if self.formats.unit is None:
            title, rows = "Tests per case", [row.without(self.formats.suffix) for row in rows]
        columns = [
            (title, *_side_by_side([row.cost for row in rows])),
            ("Against the best", *_side_by_side([row.gap for row in rows])),
            ("Avoidable", *(row.avoidable for row in rows)),
            ("Cheapest", *(row.cheapest for row in rows)),
        ]
        columns = columns if len(self.result.models) > 1 else [columns[0], columns[2]]
        for n_columns in range(len(columns), 0, -1):
            cells = list(zip(*columns[:n_columns], strict=True))
            room = self.width - max(map(cell_len, aligned([("", *row) for row in cells])))
            if room >= NARROWEST_NAMES or n_columns == 1:
                names = [
                    fitted(name, min(max(room, 1), LONGEST_NAME)) for name in ("Model", *(r.name for r in rows))
                ]
                return aligned([(name, *row) for name, row in zip(names, cells, strict=True)])
        raise AssertionError("a table has a column")

    def _gap(self, model: ModelResult) -> tuple[str, str]:
        pair = self.result.best.name, model.name
        gap = next((each for each in self.result.differences if (each.model, each.against) == pair), None)
        return (UNDEFINED, "") if gap is None else self._more(gap.more)

    def _more(self, difference: Estimate) -> tuple[str, str]:
        value, interval = self._estimate(difference)
        return f"+{value}" if (difference.value or 0.0) > 0 else value, interval

    def _estimate(self, estimate: Estimate) -> tuple[str, str]:
        """A value, and its interval."""
        return self.formats.estimate("money", estimate.value, estimate.low, estimate.high)

    def _digits_of_gaps(self) -> int | None:
        """What tells models apart: with fewer digits, costs would not differ by what stands beside them."""
        gaps = [gap.more for gap in self.result.differences if gap.model == self.result.best.name]
        shown = (self.formats.digits("money", gap.low, gap.high) for gap in gaps[:MOST_MODELS])
        return max((digits for digits in shown if digits is not None), default=None)

    def _cost(self, cost: Estimate) -> tuple[str, str]:
        return self.formats.estimate("money", cost.value, cost.low, cost.high, self.table_digits)

    def _part(self, model: ModelResult, amount: float) -> str:
        """A part of a model's cost, with as many digits as the cost."""
        return self._cost(replace(model.scores["expected_cost"], value=amount))[0]

    def _groups(self, most_lines: int) -> list[Line]:
        """A table for each column for which there is room, and one line about each other."""
        lines, parts = list[Line](), self.result.by
        for number, part in enumerate(parts):
            room = most_lines - len(lines) - (len(parts) - number - 1)
            enough = SHORTEST_TABLE if part.all_flags else min(len(part.groups), MOST_GROUPS) + 1
            lines += self._breakdown(part, room) if room >= enough else [Line(self._in_short(part))]
        if len(lines) <= most_lines:
            return lines
        return [*lines[: most_lines - 1], Line("Results by more columns: --full", "dim")]

    def _breakdown(self, part: Breakdown, most_lines: int) -> list[Line]:
        groups = self._some_groups(part, most_lines)
        lines = [Line(text) for text in self._costs_by_group(part, groups)]
        lines[0] = Line(lines[0].text, "bold")
        left_out = len(part.groups) - len(groups)
        return [*lines, Line(f"  {left_out} more groups: --full", "dim")] if left_out else lines

    def _some_groups(self, part: Breakdown, most_lines: int) -> list[Subgroup]:
        """All groups, or those that stand out and the first of the others."""
        if len(part.groups) < most_lines:
            return list(part.groups)
        by_worth = sorted(part.groups, key=lambda group: not group.flags)
        kept = by_worth[: most_lines - 2]
        return [group for group in part.groups if group in kept]

    def _costs_by_group(self, part: Breakdown, groups: Sequence[Subgroup]) -> list[str]:
        """Of as many models as there is room for: the best, those that findings name, then the next best."""
        names = [model.name for model in self.result.models]
        named = (m for m, name in enumerate(names) if any(f" {name} " in flag for flag in part.all_flags))
        by_worth = list(dict.fromkeys([0, *named, *range(len(names))]))[:MOST_MODELS]
        for n_models in range(len(by_worth), 0, -1):
            models = sorted(by_worth[:n_models])
            titles = (fitted(names[model], LONGEST_TITLE) for model in models)
            title = (fitted(f"By {part.column}", LONGEST_GROUP), "Cases", *titles, "")
            lines = aligned([title, *(self._group(group, models) for group in groups)])
            if max(map(cell_len, lines)) <= self.width:
                break
        return lines

    def _group(self, group: Subgroup, models: Sequence[int]) -> tuple[str, ...]:
        costs = (self._estimate(group.models[model].cost)[0] for model in models)
        mark = STANDS_OUT if group.flags else ""
        return fitted(f"  {group.name}", LONGEST_GROUP), count(group.rows), *costs, mark

    def _in_short(self, part: Breakdown) -> str:
        findings = len(part.all_flags)
        said = f"{counted(findings, 'finding')}: --full" if findings else "nothing stands out"
        missing = sum(group.rows for group in part.groups if group.name == MISSING)
        missing_cases = f"; {count(missing)} cases have no {part.column}" if missing else ""
        return fitted(f"By {part.column} ({len(part.groups)} groups): {said}{missing_cases}.", self.width)

    def _footer(self) -> list[Line]:
        data, level = self.result.data, 100 * self.result.interval.level
        clusters = "" if data.clusters is None else f" in {count(data.clusters)} clusters"
        cases = "1 case" if data.rows == 1 else f"{count(data.rows)} cases"
        basis = f"{cases}{clusters}, {len(data.classes)} classes; {level:g} % intervals."
        parts = [
            self._scenarios(),
            self._prices(),
            self._notes(),
            self._done(),
            self._wrap(basis),
            self._wrap(MORE),
        ]
        return [Line(text, "dim") for part in parts for text in part]

    def _scenarios(self) -> list[str]:
        """What models cost under other prices that were asked about, the cheapest first."""
        asked = [
            (index, each.name) for index, each in enumerate(self.result.scenarios) if each.name not in BUILT_IN
        ]
        lines = list[str]()
        for index, name in asked:
            models = sorted(self.result.models, key=lambda model: model.scenarios[index])
            costs = ", ".join(f"{model.name} {self._part(model, model.scenarios[index])}" for model in models)
            lines += self._wrap(f"Under {name}: {costs}.", SCENARIO_LINES)
        return lines if len(lines) <= SCENARIO_LINES else [*lines[: SCENARIO_LINES - 1], MORE_SCENARIOS]

    def _prices(self) -> list[str]:
        """The price nearest to the stated one that changes the leader; that there is none gives way to groups."""
        sentences = price_sentences(self.result.break_even, self.result.best.name, self.result.costs.currency)
        if self.result.by and not any(each.below or each.above for each in self.result.break_even):
            return []
        return self._wrap(f"Prices: {sentences[0]}", PRICE_LINES) if sentences else []

    def _notes(self) -> list[str]:
        """The first reason not to trust a number."""
        notes = self.result.notes
        if not notes:
            return []
        more = f"{len(notes)} warnings (--full), the first: " if len(notes) > 1 else ""
        return self._wrap(f"! {more}{notes[0]}", NOTE_LINES)

    def _done(self) -> list[str]:
        """All that was changed or left out, or as much as there is room for and how much more there is."""
        sentences = [each.sentence for each in self.result.done]
        for kept in range(len(sentences), 0, -1):
            more = [f"{len(sentences) - kept} more: --full"] if kept < len(sentences) else []
            said = f"Done to the files: {'; '.join([*sentences[:kept], *more])}."
            if len(self._wrap(said)) <= DONE_LINES or kept == 1:
                return self._wrap(said, DONE_LINES)
        return []


@dataclass(frozen=True)
class _Row:
    """Of the table of models."""

    name: str
    cost: tuple[str, str]  # and its interval
    gap: tuple[str, str]
    avoidable: str = ""
    cheapest: str = ""

    def without(self, unit: str) -> _Row:
        """The same numbers without their unit, where the title says it."""
        cost, gap = ((value.removesuffix(unit), interval) for value, interval in (self.cost, self.gap))
        return replace(self, cost=cost, gap=gap, avoidable=self.avoidable.removesuffix(unit))


def _side_by_side(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Values to the right, intervals beside them to the left."""
    left, right = (max(cell_len(pair[side]) for pair in pairs) for side in (0, 1))
    return [f"{value:>{left}} {interval:<{right}}" if right else value for value, interval in pairs]

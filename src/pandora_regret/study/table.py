"""The paper's Table 1 of any study: |tau| of every metric under every condition; and the regret of choosing.

A table is rows of text and numbers first, and text, Markdown, LaTeX or CSV after that.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pandora_regret.inputs import read_choice

PAPER_METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1")  # the columns of the paper's table
WHAT = {
    "tau": "how well each metric ranks models by what their searches cost, |Kendall's tau-b|",
    "gap": "the same minus that of Pandora's Regret",
    "regret": "what the model a metric picks on a resample costs more per case left out of it than the zoo's best",
}


@dataclass(frozen=True)
class Cell:
    """A number, perhaps with its interval."""

    value: float | None
    low: float | None = None
    high: float | None = None
    best: bool = False
    constant: bool = False
    reversed: bool = False


Row: TypeAlias = tuple[str, str, tuple[Cell, ...]]  # condition, data set, one cell per metric


@dataclass(frozen=True)
class Grid:
    """Conditions x data sets down, metrics across."""

    what: str
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]  # on marks and units
    about: str = ""  # what the figures are, and of how many models and instances
    of_intervals: str = ""

    def below(self, intervals: bool) -> list[str]:
        """What is said below the table; of intervals only where they are shown."""
        return [self.about, *([self.of_intervals] if intervals else []), *self.notes]


def study_grid(results: dict[str, Any], what: str = "tau", metrics: Sequence[str] = PAPER_METRICS) -> Grid:
    """One of a study's tables, of the metrics with these keys, or if none are given of all that are there.

    Parameters
    ----------
    results
        From `run_study` or `read_results`.
    what
        "tau", "gap" or "regret".
    metrics
        Keys of metrics.

    Returns
    -------
    Grid
        Titles, and rows of cells.
    """
    read_choice(what, "what", WHAT)
    agreements = [(data["name"], data["agreement"]) for data in results["data"]]
    keys = _shared_keys([of_data for _, of_data in agreements], metrics)
    titles = {metric["key"]: metric["title"] for metric in agreements[0][1]["metrics"]}
    names = [condition["name"] for condition in agreements[0][1]["conditions"]]
    rows = [
        (condition["title"], name, _cells(condition, keys, what))
        for number in range(len(names))
        for name, of_data in agreements
        for condition in [of_data["conditions"][number]]
    ]
    return Grid(
        what,
        tuple(titles[key] for key in keys),
        tuple(rows),
        tuple(_notes(results, what, rows)),
        about=f"{WHAT[what][0].upper()}{WHAT[what][1:]}. {_sizes(results)}.",
        of_intervals=_interval_note(agreements[0][1]["interval"], what),
    )


def _shared_keys(agreements: Sequence[dict[str, Any]], asked: Sequence[str]) -> list[str]:
    shared = [m["key"] for m in agreements[0]["metrics"] if all(m in other["metrics"] for other in agreements)]
    if not asked or (asked == PAPER_METRICS and not set(asked) <= set(shared)):
        return shared
    choices = dict.fromkeys(shared, "in this study")
    return [read_choice(key, "metric", choices) for key in asked]


def _cells(condition: dict[str, Any], keys: Sequence[str], what: str) -> tuple[Cell, ...]:
    by_key = {cell["key"]: cell for cell in condition["metrics"]}
    figures = [by_key[key][what] for key in keys]
    values = [_number(figure.get("mean", figure["value"])) for figure in figures]
    wrong = [what != "regret" and by_key[key]["reversed"] for key in keys]
    known = [round(v, 2) for v, is_wrong in zip(values, wrong, strict=True) if v is not None and not is_wrong]
    best = (min if what == "regret" else max)(known, default=None)
    return tuple(
        Cell(
            value,
            _number(figure["low"]),
            _number(figure["high"]),
            best=value is not None and round(value, 2) == best and not is_wrong,
            constant=by_key[key]["constant"],
            reversed=is_wrong,
        )
        for key, value, figure, is_wrong in zip(keys, values, figures, wrong, strict=True)
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)  # "inf" included


def _sizes(results: dict[str, Any]) -> str:
    return ", ".join(
        f"{data['name']}: {len(data['agreement']['data']['models'])} models, "
        f"{data['agreement']['data']['rows']} instances{_grouped(data['agreement']['data'])}"
        + (f", {len(data['failures'])} models left out" if data["failures"] else "")
        for data in results["data"]
    )


def _grouped(contest: dict[str, Any]) -> str:
    return f" in {contest['groups']} groups, drawn as a whole" if contest.get("groups") else ""


def _interval_note(interval: dict[str, Any], what: str) -> str:
    drawn = {"instances": "instances", "models": "models", "both": "models and instances"}[interval["resample"]]
    method = "percentiles" if what == "regret" or interval["method"] == "percentile" else interval["method"]
    replicates = f"{interval['replicates']} bootstrap replicates of {drawn}"
    return f"Intervals: {interval['level']:.0%}, {method} of {replicates}."


def _notes(results: dict[str, Any], what: str, rows: Sequence[Row]) -> Iterator[str]:
    if what == "regret":
        yield _unit_note(results)
    every = [cell for _, _, cells in rows for cell in cells]
    if any(cell.constant for cell in every):
        yield "* the same for all models, so that it ranks none: its tau is 0."
    if any(cell.reversed for cell in every):
        yield "† the wrong way round: models that it holds to be better cost more."


def _unit_note(results: dict[str, Any]) -> str:
    """What regrets are counted in, which differs between conditions."""
    currencies = dict.fromkeys(data.get("currency") or "the costs' unit" for data in results["data"])
    conditions = results["data"][0]["agreement"]["conditions"]
    drawn = [condition["title"] for condition in conditions if condition["unit"] == "draws"]
    other = f"; {', '.join(drawn)}: in the unit of the costs drawn" if drawn else ""
    return f"In {', '.join(currencies)}{other}."


def as_text(grid: Grid, intervals: bool = False) -> str:
    """Columns of plain text.

    Parameters
    ----------
    grid
        From `study_grid`.
    intervals
        Whether to write them.

    Returns
    -------
    str
        The table.
    """
    return "\n".join([_aligned(_texts(grid, intervals)), "", *grid.below(intervals)]) + "\n"


def as_markdown(grid: Grid, intervals: bool = False) -> str:
    """A table whose best figures are bold."""
    header, *body = _texts(grid, intervals, bold="**{}**".format)
    lines = [header, ["---"] * 2 + ["---:"] * len(grid.metrics), *body]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    return "\n".join([table, "", *grid.below(intervals)]) + "\n"


def as_latex(grid: Grid, intervals: bool = False) -> str:
    """The paper's layout, for the package booktabs."""
    header, *body = _texts(grid, intervals, bold=r"\textbf{{{}}}".format, escape=_escape_latex)
    lines = [r"\begin{tabular}{ll" + "c" * len(grid.metrics) + "}", r"\toprule", " & ".join(header) + r" \\"]
    previous = None
    for (condition, _, _), line in zip(grid.rows, body, strict=True):
        if condition != previous:
            lines.append(r"\midrule")
        lines.append(" & ".join(["" if condition == previous else line[0], *line[1:]]) + r" \\")
        previous = condition
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in grid.below(intervals))]
    return "\n".join(lines) + "\n"


def as_csv(grid: Grid, intervals: bool = True) -> str:
    """One line per condition, data set and metric, with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    ends = ["low", "high"] if intervals else []
    writer.writerow(["condition", "data", "metric", grid.what, *ends, "constant", "reversed"])
    for condition, data, cells in grid.rows:
        for metric, cell in zip(grid.metrics, cells, strict=True):
            interval = [_exact(cell.low), _exact(cell.high)] if intervals else []
            flags = [int(cell.constant), int(cell.reversed)]
            writer.writerow([condition, data, metric, _exact(cell.value), *interval, *flags])
    return out.getvalue()


FORMATS: dict[str, Callable[[Grid, bool], str]] = {
    "text": as_text,
    "markdown": as_markdown,
    "latex": as_latex,
    "csv": as_csv,
}


def _texts(
    grid: Grid, intervals: bool, bold: Callable[[str], str] = str, escape: Callable[[str], str] = str
) -> list[list[str]]:
    """Header and rows as text."""

    def shown(cell: Cell) -> str:
        text = escape(_shown(cell, intervals))
        return bold(text) if cell.best else text

    header = ["Condition", "Data", *map(escape, grid.metrics)]
    return [header] + [[escape(c), escape(d), *map(shown, cells)] for c, d, cells in grid.rows]


def _shown(cell: Cell, intervals: bool) -> str:
    if cell.value is None:
        return "-"
    text = f"{cell.value:.2f}{'*' if cell.constant else ''}{'†' if cell.reversed else ''}"
    if intervals and cell.low is not None and cell.high is not None:
        text += f" [{cell.low:.2f}, {cell.high:.2f}]"
    return text


def _exact(value: float | None) -> str:
    return "" if value is None else repr(value)


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Text to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    justified = (
        [c.ljust(w) if column < 2 else c.rjust(w) for column, (c, w) in enumerate(zip(line, widths, strict=True))]
        for line in lines
    )
    return "\n".join("  ".join(line).rstrip() for line in justified)


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {mark: f"\\{mark}" for mark in "&%$#_{}"} | {"α": r"$\alpha$", "†": r"$^\dagger$"}
    return "".join(special.get(mark, mark) for mark in text)

"""The paper's Table 1 of any study: |tau| of every metric under every condition; and the regret of choosing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pandora_regret.inference.estimate import Estimate
from pandora_regret.inputs import read_choice
from pandora_regret.study.store import Names, Plain
from pandora_regret.text import capitalised
from pandora_regret.text import table as text_table
from pandora_regret.text.table import Shown, Table

PAPER_METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1")  # the columns of the paper's table
WHAT = {
    "tau": "how well each metric ranks models by what their searches cost, |Kendall's tau-b|",
    "gap": "the same minus that of Pandora's Regret",
    "regret": "what a metric's pick on a resample costs more per case left out of it than one picked by bills",
}
DRAWN = {"instances": "instances", "models": "models", "both": "models and instances"}


@dataclass(frozen=True)
class Cell(Estimate):
    """One metric under one condition: a number, perhaps with its interval."""

    best: bool = False
    constant: bool = False
    reversed: bool = False

    def shown(self, intervals: bool) -> text_table.Cell:
        """As text, with marks that notes explain."""
        if self.value is None:
            return text_table.Cell("-")
        text = f"{self.value:.2f}{'*' if self.constant else ''}{'†' if self.reversed else ''}"
        known = intervals and self.low is not None and self.high is not None
        return text_table.Cell(text, f"{self.low:.2f}, {self.high:.2f}" if known else "", self.best)


Row: TypeAlias = tuple[str, str, tuple[Cell, ...]]  # condition, data set, one cell per metric


@dataclass(frozen=True)
class Grid(Shown):
    """Conditions x data sets down, metrics across."""

    what: str
    metrics: Names
    rows: tuple[Row, ...]
    notes: Names  # on marks and units
    about: str = ""  # what the figures are, and of how many models and instances
    of_intervals: str = ""

    def _table(self, intervals: bool = False) -> Table:
        """Texts, with what is said below them; of intervals only where they are shown."""
        rows: list[list[text_table.Content]] = [
            [title, data, *(cell.shown(intervals) for cell in cells)] for title, data, cells in self.rows
        ]
        below = [self.about, *([self.of_intervals] if intervals else []), *self.notes]
        return Table(["Condition", "Data", *self.metrics], rows, below=below, words=2)

    def render(self, form: str = "text", intervals: bool | None = None) -> str:
        """The table as text, Markdown, LaTeX in the paper's layout, or CSV.

        Parameters
        ----------
        form
            "text", "markdown", "latex" or "csv": one line per condition, data set and metric, with all digits.
        intervals
            Whether to write them; unless said, in CSV only.

        Returns
        -------
        str
            The table, with what is to be known about it below.
        """
        if form == "csv":
            left_out = () if intervals is None or intervals else ("low", "high")
            rows = [{name: value for name, value in row.items() if name not in left_out} for row in self._frame()]
            return Table.of(rows).to_csv()
        table = self._table(bool(intervals))
        if form == "text":
            return replace(table, below=["", *table.below]).to_text() + "\n"
        return (table.to_markdown() if form == "markdown" else table.to_latex()) + "\n"

    def _frame(self) -> list[Mapping[str, Any]]:
        return [
            {
                "condition": condition,
                "data": data,
                "metric": metric,
                self.what: cell.value,
                "low": cell.low,
                "high": cell.high,
                "constant": int(cell.constant),
                "reversed": int(cell.reversed),
            }
            for condition, data, cells in self.rows
            for metric, cell in zip(self.metrics, cells, strict=True)
        ]


def study_grid(results: Plain, what: str = "tau", metrics: Sequence[str] = PAPER_METRICS) -> Grid:
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
    agreements = [data["agreement"] for data in results["data"]]
    shared = [m for m in agreements[0]["metrics"] if all(m in other["metrics"] for other in agreements)]
    titles = {metric["key"]: metric["title"] for metric in shared}
    if not metrics or (metrics == PAPER_METRICS and not set(metrics) <= set(titles)):
        metrics = list(titles)
    keys = [read_choice(key, "metric", dict.fromkeys(titles, "in this study")) for key in metrics]
    rows = [
        (condition["title"], data["name"], _cells(condition, keys, what))
        for of_condition in zip(*(each["conditions"] for each in agreements), strict=True)
        for data, condition in zip(results["data"], of_condition, strict=True)
    ]
    interval = agreements[0]["interval"]
    method = "percentiles" if what == "regret" or interval["method"] == "percentile" else interval["method"]
    drawn = f"{interval['replicates']} bootstrap replicates of {DRAWN[interval['resample']]}"
    sizes = []
    for data in results["data"]:
        contest, failures = data["agreement"]["data"], len(data["failures"])
        groups = f" in {contest['groups']} groups, drawn as a whole" if contest.get("groups") else ""
        left_out = f", {failures} models left out" if failures else ""
        size = f"{len(contest['models'])} models, {contest['rows']} instances{groups}{left_out}"
        sizes.append(f"{data['name']}: {size}")
    return Grid(
        what,
        tuple(titles[key] for key in keys),
        tuple(rows),
        tuple(_notes(results, what, rows)),
        about=f"{capitalised(WHAT[what])}. {', '.join(sizes)}.",
        of_intervals=f"Intervals: {interval['level']:.0%}, {method} of {drawn}.",
    )


def _cells(condition: Plain, keys: Sequence[str], what: str) -> tuple[Cell, ...]:
    by_key, cells = {cell["key"]: cell for cell in condition["metrics"]}, []
    for key in keys:
        figure, is_wrong = by_key[key][what], what != "regret" and by_key[key]["reversed"]
        numbers = figure.get("mean", figure["value"]), figure["low"], figure["high"]
        value, low, high = (None if number is None else float(number) for number in numbers)  # "inf" included
        cells.append(Cell(value, low, high, constant=by_key[key]["constant"], reversed=is_wrong))
    eligible = [round(cell.value, 2) for cell in cells if cell.value is not None and not cell.reversed]
    best = (min if what == "regret" else max)(eligible, default=None)
    is_best = [cell.value is not None and round(cell.value, 2) == best and not cell.reversed for cell in cells]
    return tuple(replace(cell, best=best) for cell, best in zip(cells, is_best, strict=True))


def _notes(results: Plain, what: str, rows: Sequence[Row]) -> Iterator[str]:
    """What regrets are counted in, which differs between conditions, and what marks mean."""
    if what == "regret":
        currencies = dict.fromkeys(data.get("currency") or "the costs' unit" for data in results["data"])
        conditions = results["data"][0]["agreement"]["conditions"]
        drawn = ", ".join(condition["title"] for condition in conditions if condition["unit"] == "draws")
        yield f"In {', '.join(currencies)}{f'; {drawn}: in the unit of the costs drawn' if drawn else ''}."
    every = [cell for _, _, cells in rows for cell in cells]
    if any(cell.constant for cell in every):
        yield "* the same for all models, so that it ranks none: its tau is 0."
    if any(cell.reversed for cell in every):
        yield "† the wrong way round: models that it holds to be better cost more."

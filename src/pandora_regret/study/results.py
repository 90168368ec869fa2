"""What a study found: one figure for every metric under every condition, and the file that a run writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import InputError, Names, read_choice
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.inference.estimate import Estimate
from pandora_regret.study.store import Plain
from pandora_regret.text import Content, DisplayCell, DisplayTable, Shown, capitalised

SCHEMA: Final = "pandora-agreement/1"
STUDY_SCHEMA: Final = "pandora-study/1"
RESULTS = "results.json"

Number: TypeAlias = float | Literal["inf", "-inf"] | None  # as JSON holds it: undefined is null


@dataclass(frozen=True)
class ExtraCost:
    """What a pick costs more per new case, and its interval; see `Agreement`."""

    value: Number
    low: Number
    high: Number


@dataclass(frozen=True)
class MetricResult:
    """One metric under one condition; see `Agreement`."""

    key: str
    constant: bool
    reversed: bool
    tau: Estimate
    gap: Estimate
    extra_cost: ExtraCost
    extra_cost_gap: ExtraCost
    picked: Names


@dataclass(frozen=True)
class ConditionResult:
    """All metrics under one condition."""

    name: str
    title: str
    unit: str
    draws: int
    metrics: tuple[MetricResult, ...]
    reading: str = "mean_of_taus"
    stability: float | None = None  # mean tau of what models cost in replicates with what they cost in the sample

    @property
    def picked(self) -> tuple[Names, ...]:
        """The models that each metric holds to be best."""
        return tuple(result.picked for result in self.metrics)


@dataclass(frozen=True)
class MetricTitle:
    """One metric."""

    key: str
    title: str
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class IntervalMethod:
    """How intervals were found."""

    method: str  # of tau and gaps: "bias, spread and ties"
    level: float
    replicates: int
    resample: Literal["instances", "models", "both"]
    seed: int


@dataclass(frozen=True)
class ContestSize:
    """What was compared on what; `groups` is None where each row counts by itself."""

    models: Names
    classes: Names
    rows: int
    groups: int | None = None


def _of_cells(of: str, kind: type = float) -> Any:
    """A property: one attribute of every cell, "tau.low" or "constant", (C, Q); NaN where it is undefined."""
    read = attrgetter(of)

    def of_condition(condition: ConditionResult) -> list[Any]:
        return list(map(read, condition.metrics))

    return property(lambda self: np.array(list(map(of_condition, self.conditions)), kind))


@dataclass(frozen=True)
class Agreement:
    """How well metrics rank models by the cost of their searches: tables of conditions x metrics, (C, Q).

    Attributes
    ----------
    data, interval
        What was compared on what: models, classes, rows, groups; how intervals were found.
    conditions, metrics
        Each condition with the results of all metrics; each metric's key, title and better.
    tau, tau_low, tau_high
        ``|tau-b|`` between the metric's ranking and the costs', averaged over rankings by cost, and its interval.
    gap, gap_low, gap_high
        The metric's tau minus that of Pandora's Regret, and its interval, both from the same replicates.
    constant
        Whether the metric, or the cost, is the same for all models; tau is then 0.
    reversed
        Whether the metric ranks models the wrong way round: those it holds to be better cost more. The absolute
        value, which the paper reports, hides that.
    picked
        The models that the metric holds to be best; several where they tie.
    extra_cost, extra_cost_low, extra_cost_high
        What the model that a metric picks costs more per new case than the one that bills pick: both are picked on
        the same resample, both are paid on the cases that it left out, and this is the mean over replicates. NaN
        without replicates. It is no distance to the cheapest model, which nobody knows: below zero, the metric's
        picks were cheaper than those of bills. The interval is as wide as single replicates scatter.
    extra_cost_gap, extra_cost_gap_low, extra_cost_gap_high
        The same minus that of Pandora's Regret, replicate by replicate: what choosing by the metric costs more
        than choosing by Pandora's Regret.
    """

    schema: Literal["pandora-agreement/1"]
    library: str
    data: ContestSize
    interval: IntervalMethod
    metrics: tuple[MetricTitle, ...]
    conditions: tuple[ConditionResult, ...]

    tau, tau_low, tau_high = map(_of_cells, ("tau.value", "tau.low", "tau.high"))
    gap, gap_low, gap_high = map(_of_cells, ("gap.value", "gap.low", "gap.high"))
    extra_cost, extra_cost_low, extra_cost_high = map(
        _of_cells, ("extra_cost.value", "extra_cost.low", "extra_cost.high")
    )
    extra_cost_gap, extra_cost_gap_low, extra_cost_gap_high = map(
        _of_cells, ("extra_cost_gap.value", "extra_cost_gap.low", "extra_cost_gap.high")
    )
    constant = _of_cells("constant", bool)
    reversed = _of_cells("reversed", bool)

    @property
    def names_of_conditions(self) -> list[str]:
        """In the order of the rows."""
        return [condition.name for condition in self.conditions]

    @property
    def picked(self) -> tuple[tuple[Names, ...], ...]:
        """The models that each metric holds to be best, by condition and metric."""
        return tuple(condition.picked for condition in self.conditions)

    def to_dict(self) -> Plain:
        """Plain values, ready for JSON; an infinite number becomes "inf", an undefined one null."""
        return dict(to_plain(self))

    @classmethod
    def from_dict(cls, record: Plain) -> Agreement:
        """What `to_dict` gave."""
        return from_plain(cls, record, "agreement")

    def __post_init__(self) -> None:
        keys = [metric.key for metric in self.metrics]
        for condition in self.conditions:
            if not keys or [cell.key for cell in condition.metrics] != keys:
                raise InputError(f"has other metrics in condition {condition.name!r} than {keys}")


def number_of(value: float) -> Any:
    """As JSON holds it, a `Number`."""
    if np.isnan(value):
        return None
    if np.isfinite(value):
        return float(value)
    return "inf" if value > 0 else "-inf"


@dataclass(frozen=True)
class DataSetResult:
    """What a study found on one data set."""

    name: str
    currency: str | None
    failures: dict[str, str]
    agreement: Agreement


@dataclass(frozen=True)
class StudyResults:
    """The content of a results file."""

    schema: Literal["pandora-study/1"]
    library: str
    title: str
    data: tuple[DataSetResult, ...]

    def __post_init__(self) -> None:
        conditions = [part.agreement.names_of_conditions for part in self.data]
        if not conditions or not conditions[0] or any(names != conditions[0] for names in conditions):
            raise InputError(f"has the conditions {conditions}: every data set must have the same")


def read_results(folder: Place) -> Plain:
    """What a study found, as plain values; a file that is not of that form is an `InputError` naming the key.

    Parameters
    ----------
    folder
        The study's output folder.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    path = Path(folder) / RESULTS
    try:
        results = json.loads(path.read_bytes())
    except OSError as error:
        problem = f"{str(folder)!r} has no results ({error.strerror or error})"
        fix = f"pandora study resume {folder}" if Path(folder).is_dir() else "name the folder of a study"
        raise InputError(f"{problem}: {fix}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{str(path)!r} is corrupt: pandora study resume {folder} makes it again.") from None
    from_plain(StudyResults, results, str(path))
    return dict(results)


PAPER_METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1_all")  # the columns of the paper's table
WHAT = {
    "tau": "how well each metric ranks models by what their searches cost, |Kendall's tau-b|",
    "gap": "the same minus that of Pandora's Regret",
    "extra_cost": "how much more the model that a metric picks costs per new case than the one that bills pick",
    "extra_cost_gap": "how much more it costs than the one that Pandora's Regret picks",
}
AGREEMENT = ("tau", "gap")  # of these the highest is best; of amounts, the lowest


@dataclass(frozen=True)
class Cell(Estimate):
    """One metric under one condition: a number, perhaps with its interval."""

    best: bool = False
    constant: bool = False
    reversed: bool = False

    def shown(self, intervals: bool) -> DisplayCell:
        """As text, with marks that notes explain."""
        if self.value is None:
            return DisplayCell("-")
        text = f"{self.value:.2f}{'*' if self.constant else ''}{'†' if self.reversed else ''}"
        is_given = intervals and self.low is not None and self.high is not None
        return DisplayCell(text, f"{self.low:.2f}, {self.high:.2f}" if is_given else "", self.best)


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

    def _table(self, intervals: bool = False) -> DisplayTable:
        """Texts, with what is said below them; of intervals only where they are shown."""
        rows: list[list[Content]] = []
        for title, data, cells in self.rows:
            shown = [cell.shown(intervals) for cell in cells]
            rows.append([title, data, *shown])
        below = [self.about, self.of_intervals, *self.notes] if intervals else [self.about, *self.notes]
        return DisplayTable(["Condition", "Data", *self.metrics], rows, below=below, words=2)

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
            return DisplayTable.of(self._frame(intervals is not False)).to_csv()
        table = self._table(bool(intervals))
        if form == "text":
            return replace(table, below=["", *table.below]).to_text() + "\n"
        return (table.to_markdown() if form == "markdown" else table.to_latex()) + "\n"

    def _frame(self, intervals: bool = True) -> list[Plain]:
        return [
            {
                "condition": condition,
                "data": data,
                "metric": metric,
                self.what: cell.value,
                **({"low": cell.low, "high": cell.high} if intervals else {}),
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
        "tau", "gap", "extra_cost" or "extra_cost_gap".
    metrics
        Keys of metrics.

    Returns
    -------
    Grid
        Titles, and rows of cells.
    """
    read_choice(what, "what", WHAT)
    agreements = [data["agreement"] for data in results["data"]]

    def is_in_all(metric: Plain) -> bool:
        return all(metric in agreement["metrics"] for agreement in agreements)

    titles = {metric["key"]: metric["title"] for metric in agreements[0]["metrics"] if is_in_all(metric)}
    if not metrics or (metrics == PAPER_METRICS and not set(metrics) <= set(titles)):
        metrics = list(titles)
    keys = [read_choice(key, "metric", dict.fromkeys(titles, "in this study")) for key in metrics]
    rows = []
    by_condition = zip(*(agreement["conditions"] for agreement in agreements), strict=True)
    for condition_of_each in by_condition:
        for data, condition in zip(results["data"], condition_of_each, strict=True):
            rows.append((condition["title"], data["name"], _row_cells(condition, keys, what)))
    interval = agreements[0]["interval"]
    method = interval["method"] if what in AGREEMENT else "spread"
    resampled = interval["resample"].replace("both", "models and instances")
    drawn = f"{interval['replicates']} bootstrap replicates of {resampled}"
    sizes = [_size_in_words(data) for data in results["data"]]
    return Grid(
        what,
        tuple(titles[key] for key in keys),
        tuple(rows),
        tuple(_notes(results, what, rows)),
        about=f"{capitalised(WHAT[what])}. {', '.join(sizes)}.",
        of_intervals=f"Intervals: {interval['level']:.0%}, {method} of {drawn}.",
    )


def _row_cells(condition: Plain, keys: Sequence[str], what: str) -> tuple[Cell, ...]:
    """One condition on one data set: a cell for each metric, the best of them marked."""
    by_key = {result["key"]: result for result in condition["metrics"]}
    cells = []
    for key in keys:
        result = by_key[key]
        figure = result[what]
        numbers = [figure["value"], figure.get("low"), figure.get("high")]  # what has no interval may leave it out
        value, low, high = (None if number is None else float(number) for number in numbers)  # "inf" included
        is_wrong = what in AGREEMENT and result["reversed"]
        cells.append(Cell(value, low, high, constant=result["constant"], reversed=is_wrong))
    shown = [None if cell.value is None or cell.reversed else round(cell.value, 2) for cell in cells]
    defined = [value for value in shown if value is not None]
    best = None
    if defined:
        best = max(defined) if what in AGREEMENT else min(defined)
    return tuple(replace(cell, best=value == best) for cell, value in zip(cells, shown, strict=True))


def _size_in_words(data: Plain) -> str:
    """How many models and instances of a data set were compared."""
    contest = data["agreement"]["data"]
    size = f"{data['name']}: {len(contest['models'])} models, {contest['rows']} instances"
    if contest.get("groups"):
        size += f" in {contest['groups']} groups, drawn as a whole"
    if data["failures"]:
        size += f", {len(data['failures'])} models left out"
    return size


def _notes(results: Plain, what: str, rows: Sequence[Row]) -> Iterator[str]:
    """What amounts are counted in, which differs between conditions, and what marks mean."""
    if what not in AGREEMENT:
        currencies = dict.fromkeys(data.get("currency") or "the costs' unit" for data in results["data"])
        conditions = results["data"][0]["agreement"]["conditions"]
        drawn = ", ".join(condition["title"] for condition in conditions if condition["unit"] == "draws")
        yield f"In {', '.join(currencies)}{f'; {drawn}: in the unit of the costs drawn' if drawn else ''}."
    for data in results["data"]:
        for condition in data["agreement"]["conditions"]:
            if what in AGREEMENT and condition["metrics"][0][what].get("warning"):
                yield f"{condition['title']}, {data['name']}: {condition['metrics'][0][what]['warning']}."
    every = [cell for _, _, cells in rows for cell in cells]
    if any(cell.constant for cell in every):
        yield "* the same for all models, so that it ranks none: its tau is 0."
    if any(cell.reversed for cell in every):
        yield "† the wrong way round: models that it ranks higher cost more."

"""What a study found: one figure for every metric under every condition, and the file that a run writes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret._version import __version__
from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import FloatArray, InputError, Names, read_choice
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.inference.estimate import Estimate
from pandora_regret.study.store import Plain
from pandora_regret.study.zoo import RESULTS
from pandora_regret.text import Content, Displayable, DisplayCell, DisplayTable, capitalised, listed

SCHEMA: Final = "pandora-agreement/1"
STUDY_SCHEMA: Final = "pandora-study/1"

Number: TypeAlias = float | Literal["inf", "-inf"] | None  # as JSON holds it: undefined is null


def as_number(value: float) -> Number:
    """A float as JSON holds it: "inf" and "-inf" as text, NaN as null."""
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(value)


def as_float(number: Number) -> float:
    """The float that `as_number` wrote."""
    return math.nan if number is None else float(number)


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
    infinite: int = 0  # models whose value is infinite, so that they tie for the last place


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
    """What a metric is called, and whether lower or higher values are better."""

    key: str
    title: str
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class Resampling:
    """How intervals were found."""

    method: str  # of tau and gaps: "bias, spread and ties"
    level: float
    replicates: int
    resample: Literal["instances", "models", "both"]
    seed: int


@dataclass(frozen=True)
class ModelSetSize:
    """What was compared on what; `groups` is None where each row counts by itself."""

    models: Names
    classes: Names
    rows: int
    groups: int | None = None


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
    data: ModelSetSize
    interval: Resampling
    metrics: tuple[MetricTitle, ...]
    conditions: tuple[ConditionResult, ...]

    @property
    def tau(self) -> FloatArray:
        return self._floats(lambda result: result.tau.value)

    @property
    def tau_low(self) -> FloatArray:
        return self._floats(lambda result: result.tau.low)

    @property
    def tau_high(self) -> FloatArray:
        return self._floats(lambda result: result.tau.high)

    @property
    def gap(self) -> FloatArray:
        return self._floats(lambda result: result.gap.value)

    @property
    def gap_low(self) -> FloatArray:
        return self._floats(lambda result: result.gap.low)

    @property
    def gap_high(self) -> FloatArray:
        return self._floats(lambda result: result.gap.high)

    @property
    def extra_cost(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost.value)

    @property
    def extra_cost_low(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost.low)

    @property
    def extra_cost_high(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost.high)

    @property
    def extra_cost_gap(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost_gap.value)

    @property
    def extra_cost_gap_low(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost_gap.low)

    @property
    def extra_cost_gap_high(self) -> FloatArray:
        return self._floats(lambda result: result.extra_cost_gap.high)

    @property
    def constant(self) -> NDArray[np.bool_]:
        return self._flags(lambda result: result.constant)

    @property
    def reversed(self) -> NDArray[np.bool_]:
        return self._flags(lambda result: result.reversed)

    def _floats(self, number: Callable[[MetricResult], Number]) -> FloatArray:
        """One number of every metric under every condition, (C, Q); NaN where it is undefined."""
        table = np.empty((len(self.conditions), len(self.metrics)))
        for row, condition in zip(table, self.conditions, strict=True):
            row[:] = [as_float(number(result)) for result in condition.metrics]
        return table

    def _flags(self, flag: Callable[[MetricResult], bool]) -> NDArray[np.bool_]:
        """Whether something holds of every metric under every condition, (C, Q)."""
        table = np.empty((len(self.conditions), len(self.metrics)), dtype=bool)
        for row, condition in zip(table, self.conditions, strict=True):
            row[:] = [flag(result) for result in condition.metrics]
        return table

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
        """The agreement that `to_dict` made this record of."""
        return from_plain(cls, record, "agreement")

    def __post_init__(self) -> None:
        keys = [metric.key for metric in self.metrics]
        for condition in self.conditions:
            if not keys or [cell.key for cell in condition.metrics] != keys:
                problem = f"has other metrics in condition {condition.name!r} than {keys}"
                raise InputError(problem, argument="conditions", place="", value=condition.name)


@dataclass(frozen=True)
class DataSetResult:
    """What a study found on one data set."""

    name: str
    currency: str | None
    failures: dict[str, str]
    agreement: Agreement


@dataclass(frozen=True)
class StudyResults:
    """The content of a results file: what a study found on each of its data sets."""

    schema: Literal["pandora-study/1"]
    library: str
    title: str
    data: tuple[DataSetResult, ...]

    def __post_init__(self) -> None:
        conditions = [part.agreement.names_of_conditions for part in self.data]
        if not conditions or not conditions[0] or any(names != conditions[0] for names in conditions):
            problem = f"has the conditions {conditions}"
            fix = "every data set must have the same"
            raise InputError(problem, argument="data", place="", value=conditions, fix=fix)

    @classmethod
    def of(cls, agreements: Mapping[str, Agreement], title: str = "") -> StudyResults:
        """Agreements by the names of their data sets, as the results of a study of which no model failed."""
        data = tuple(DataSetResult(name, None, {}, agreement) for name, agreement in agreements.items())
        return cls(STUDY_SCHEMA, f"pandora-regret {__version__}", title, data)

    def to_dict(self) -> Plain:
        """Plain values, ready for JSON; an infinite number becomes "inf", an undefined one null."""
        return dict(to_plain(self))

    @classmethod
    def from_dict(cls, record: object, place: str = "results") -> StudyResults:
        """What `to_dict` gave; what is not of that form is an `InputError` with the path to it, below `place`."""
        return from_plain(cls, record, place)


def read_results(folder: Place) -> StudyResults:
    """What a study found; a file that is not of that form is an `InputError` naming the key.

    Parameters
    ----------
    folder
        The study's output folder.

    Returns
    -------
    StudyResults
        Of every data set, what was compared, and how well metrics rank.
    """
    path = Path(folder) / RESULTS
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        problem = f"has no results ({error.strerror or error})"
        fix = f"pandora study resume {folder}" if Path(folder).is_dir() else "name the folder of a study"
        place = repr(str(folder))
        raise InputError(problem, argument="folder", place=place, value=str(folder), fix=fix) from None
    except (ValueError, RecursionError):
        fix = f"pandora study resume {folder} makes it again"
        place = repr(str(path))
        raise InputError("is corrupt", argument="folder", place=place, value=str(folder), fix=fix) from None
    return StudyResults.from_dict(record, str(path))


PAPER_METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1_all")  # the columns of the paper's table
QUANTITIES = {
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

    @property
    def is_none(self) -> bool:
        """Whether it is a difference that is 0 in the sample and in every replicate, as that of the baseline."""
        return self.value == 0 and self.low == 0 and self.high == 0

    def shown(self, intervals: bool, decimals: int = 2) -> DisplayCell:
        """As text, with marks that notes explain."""
        if self.value is None:
            return DisplayCell("-")
        if self.is_none:
            return DisplayCell("0", best=self.best)
        text = _rounded_text(self.value, decimals)
        if self.constant:
            text += "*"
        if self.reversed:
            text += "†"
        is_given = intervals and self.low is not None and self.high is not None
        if not is_given:
            return DisplayCell(text, best=self.best)
        low = _rounded_text(self.low or 0.0, decimals)
        high = _rounded_text(self.high or 0.0, decimals)
        return DisplayCell(text, f"{low}, {high}", self.best)


def _rounded_text(number: float, decimals: int) -> str:
    """A number with so many decimals; no minus stands before a number that is rounded to 0.

    Examples
    --------
    >>> _rounded_text(-0.004, 2), _rounded_text(-1234.5, 0)
    ('0.00', '-1234')
    """
    text = f"{number:.{decimals}f}"
    return text if float(text) else f"{0.0:.{decimals}f}"


GridRow: TypeAlias = tuple[str, str, tuple[Cell, ...]]  # condition, data set, one cell per metric


@dataclass(frozen=True)
class Grid(Displayable):
    """Conditions x data sets down, metrics across."""

    quantity: str  # what cells hold: a key of `QUANTITIES`
    metrics: Names
    rows: tuple[GridRow, ...]
    notes: Names  # on marks and units
    caption: str = ""  # what the figures are, and of how many models and instances
    intervals_made: str = ""  # how intervals were found

    def _table(self, intervals: bool = False) -> DisplayTable:
        """Texts, with what is said below them; of intervals only where they are shown."""
        rows: list[list[Content]] = []
        for title, data, cells in self.rows:
            decimals = 2 if self.quantity in AGREEMENT else _decimals_of(cells)
            shown = [cell.shown(intervals, decimals) for cell in cells]
            rows.append([title, data, *shown])
        below = [self.caption, self.intervals_made, *self.notes] if intervals else [self.caption, *self.notes]
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
        if form == "markdown":
            return table.to_markdown() + "\n"
        notes = self.notes if not intervals else (self.intervals_made, *self.notes)
        return replace(table, below=notes).to_latex(self.caption, f"tab:{self.quantity}") + "\n"

    def _frame(self, intervals: bool = True) -> list[Plain]:
        """One entry for each condition, data set and metric, with all digits."""
        entries = []
        for condition, data, cells in self.rows:
            for metric, cell in zip(self.metrics, cells, strict=True):
                entry: Plain = {"condition": condition, "data": data, "metric": metric, self.quantity: cell.value}
                if intervals:
                    entry |= {"low": cell.low, "high": cell.high}
                entries.append(entry | {"constant": int(cell.constant), "reversed": int(cell.reversed)})
        return entries


def study_grid(results: StudyResults, quantity: str = "tau", metrics: Sequence[str] = PAPER_METRICS) -> Grid:
    """One of a study's tables, of the metrics with these keys, or if none are given of all that are there.

    Parameters
    ----------
    results
        From `run_study` or `read_results`.
    quantity
        "tau", "gap", "extra_cost" or "extra_cost_gap".
    metrics
        Keys of metrics.

    Returns
    -------
    Grid
        Titles, and rows of cells.
    """
    read_choice(quantity, "quantity", QUANTITIES)
    titles = _titles_in_all(results)
    keys = _chosen_keys(metrics, titles)
    rows = []
    for number in range(len(results.data[0].agreement.conditions)):
        for data in results.data:
            condition = data.agreement.conditions[number]
            rows.append((condition.title, data.name, _row_cells(condition, keys, quantity)))
    sizes = [_size_in_words(data) for data in results.data]
    return Grid(
        quantity,
        tuple(titles[key] for key in keys),
        tuple(rows),
        tuple(_notes(results, quantity, rows, keys)),
        caption=f"{capitalised(QUANTITIES[quantity])}. {', '.join(sizes)}.",
        intervals_made=_intervals_in_words(results.data[0].agreement.interval, quantity),
    )


def _titles_in_all(results: StudyResults) -> dict[str, str]:
    """The titles by key of the metrics that every data set has."""
    titles = {metric.key: metric.title for metric in results.data[0].agreement.metrics}
    for data in results.data[1:]:
        known = {metric.key: metric.title for metric in data.agreement.metrics}
        titles = {key: title for key, title in titles.items() if known.get(key) == title}
    return titles


def _chosen_keys(metrics: Sequence[str], titles: dict[str, str]) -> list[str]:
    """The keys that were asked for; all where none were, or where the paper's, by default, are not all there."""
    are_default = metrics == PAPER_METRICS
    are_all_there = set(metrics) <= set(titles)
    if not metrics or (are_default and not are_all_there):
        return list(titles)
    choices = dict.fromkeys(titles, "in this study")
    return [read_choice(key, "metric", choices) for key in metrics]


def _intervals_in_words(interval: Resampling, quantity: str) -> str:
    """How the intervals of a table were found."""
    method = interval.method if quantity in AGREEMENT else "spread"
    resampled = interval.resample.replace("both", "models and instances")
    drawn = f"{interval.replicates} bootstrap replicates of {resampled}"
    return f"Intervals: {100 * interval.level:g} %, {method} of {drawn}."


def _decimals_of(cells: Sequence[Cell]) -> int:
    """So many decimals that the largest amount of a row, or limit of one, has two digits that count."""
    amounts = [abs(number) for cell in cells for number in (cell.value, cell.low, cell.high) if number]
    finite = [amount for amount in amounts if math.isfinite(amount)]
    if not finite:
        return 2
    return max(0, 1 - math.floor(math.log10(max(finite))))


def _row_cells(condition: ConditionResult, keys: Sequence[str], quantity: str) -> tuple[Cell, ...]:
    """One condition on one data set: a cell for each metric, the best of them marked."""
    by_key = {result.key: result for result in condition.metrics}
    cells = [_cell(by_key[key], quantity) for key in keys]
    eligible = {}  # what is shown of cells that may be the best, by their places
    for place, cell in enumerate(cells):
        if cell.value is not None and not cell.reversed:
            eligible[place] = round(cell.value, 2)
    if not eligible:
        return tuple(cells)
    best = max(eligible.values()) if quantity in AGREEMENT else min(eligible.values())
    return tuple(replace(cell, best=eligible.get(place) == best) for place, cell in enumerate(cells))


def _cell(result: MetricResult, quantity: str) -> Cell:
    """One metric under one condition; infinite numbers are floats, undefined ones None."""
    figures: dict[str, Estimate | ExtraCost] = {
        "tau": result.tau,
        "gap": result.gap,
        "extra_cost": result.extra_cost,
        "extra_cost_gap": result.extra_cost_gap,
    }
    figure = figures[quantity]
    return Cell(
        value=None if figure.value is None else float(figure.value),
        low=None if figure.low is None else float(figure.low),
        high=None if figure.high is None else float(figure.high),
        constant=result.constant,
        reversed=quantity in AGREEMENT and result.reversed,
    )


def _size_in_words(data: DataSetResult) -> str:
    """How many models and instances of a data set were compared."""
    model_set = data.agreement.data
    size = f"{data.name}: {len(model_set.models)} models, {model_set.rows} instances"
    if model_set.groups:
        size += f" in {model_set.groups} groups, drawn as a whole"
    if data.failures:
        size += f", {len(data.failures)} models left out"
    return size


def _notes(results: StudyResults, quantity: str, rows: Sequence[GridRow], keys: Sequence[str]) -> Iterator[str]:
    """What amounts are counted in, which differs between conditions, and what marks mean."""
    if quantity in AGREEMENT:
        for data in results.data:
            for condition in data.agreement.conditions:
                warning = condition.metrics[0].tau.warning
                if warning:
                    yield f"{condition.title}, {data.name}: {warning}."
    else:
        yield _units_in_words(results)
    yield from _infinite_in_words(results, keys)
    shown = [cell for _, _, cells in rows for cell in cells]
    if any(cell.constant for cell in shown):
        yield "* the same for all models, so that it ranks none: its tau is 0."
    if any(cell.reversed for cell in shown):
        yield "† the wrong way round: models that it ranks higher cost more."


def _infinite_in_words(results: StudyResults, keys: Sequence[str]) -> Iterator[str]:
    """Which of the metrics that are shown are infinite for how many models of each data set, and what follows."""
    titles = _titles_in_all(results)
    for data in results.data:
        n_models = len(data.agreement.data.models)
        for key in keys:
            counts: dict[int, list[str]] = {}
            for condition in data.agreement.conditions:
                infinite = next(metric.infinite for metric in condition.metrics if metric.key == key)
                if infinite:
                    counts.setdefault(infinite, []).append(condition.title)
            for infinite, conditions in counts.items():
                where = data.name
                if len(conditions) < len(data.agreement.conditions):
                    where = f"{data.name}, {listed(conditions)}"
                of_models = f"{titles[key]} is infinite for {infinite} of {n_models} models ({where})"
                yield f"{of_models}: they gave probability 0 to a true class, and tie for the last place."


def _units_in_words(results: StudyResults) -> str:
    """What amounts are counted in."""
    currencies = dict.fromkeys(data.currency or "the costs' unit" for data in results.data)
    conditions = results.data[0].agreement.conditions
    drawn = [condition.title for condition in conditions if condition.unit == "draws"]
    if drawn:
        return f"In {', '.join(currencies)}; {', '.join(drawn)}: in the unit of the costs drawn."
    return f"In {', '.join(currencies)}."

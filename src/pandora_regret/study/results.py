"""What a study found: one figure for every metric under every condition, and the file that a run writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from pandora_regret.atomic import Place
from pandora_regret.inputs import InputError
from pandora_regret.records import from_plain, to_plain
from pandora_regret.study.store import Names, Plain

SCHEMA: Final = "pandora-agreement/1"
STUDY_SCHEMA: Final = "pandora-study/1"
RESULTS = "results.json"

Number: TypeAlias = float | Literal["inf", "-inf"] | None  # as JSON holds it: undefined is null


@dataclass(frozen=True)
class Figure:
    """One figure and its interval."""

    value: Number
    low: Number
    high: Number


@dataclass(frozen=True)
class Regret(Figure):
    """What choosing costs on the sample; mean, low and high: picked on a resample, paid on the cases left out."""

    mean: Number = None


@dataclass(frozen=True)
class MetricResult:
    """One metric under one condition; see `Agreement`."""

    key: str
    constant: bool
    reversed: bool
    tau: Figure
    gap: Figure
    regret: Regret
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


@dataclass(frozen=True)
class MetricTitle:
    """One metric."""

    key: str
    title: str
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class IntervalMethod:
    """How intervals were found."""

    method: str  # of tau and gaps: "bias and spread"; "percentile" in files of version 1
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


def _cells(name: str, end: str = "") -> Any:
    """A table of conditions x metrics, (C, Q)."""

    def table(self: Agreement) -> Any:
        cells = [[getattr(cell, name) for cell in each.metrics] for each in self.conditions]
        if not end:
            return np.array(cells)
        values = [[getattr(figure, end) for figure in row] for row in cells]
        return np.array([[np.nan if value is None else float(value) for value in row] for row in values])

    return property(table)


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
    regret
        What the picked model's search costs more per case than that of the cheapest model of the zoo; the mean of
        the picked ones.
    regret_mean, regret_low, regret_high
        The same, honestly: picked on a resample, paid on the cases that it left out.
    """

    schema: Literal["pandora-agreement/1"]
    library: str
    data: ContestSize
    interval: IntervalMethod
    metrics: tuple[MetricTitle, ...]
    conditions: tuple[ConditionResult, ...]

    tau, tau_low, tau_high = (_cells("tau", end) for end in ("value", "low", "high"))
    gap, gap_low, gap_high = (_cells("gap", end) for end in ("value", "low", "high"))
    regret, regret_low, regret_high = (_cells("regret", end) for end in ("value", "low", "high"))
    regret_mean = _cells("regret", "mean")
    constant, reversed = _cells("constant"), _cells("reversed")

    @property
    def picked(self) -> tuple[tuple[Names, ...], ...]:
        return tuple(tuple(cell.picked for cell in each.metrics) for each in self.conditions)

    def to_dict(self) -> Plain:
        """Plain values, ready for JSON; an infinite number becomes "inf", an undefined one null."""
        plain: Plain = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Agreement:
        """What `to_dict` gave."""
        return from_plain(cls, record, "agreement")

    def __post_init__(self) -> None:
        keys = [metric.key for metric in self.metrics]
        for condition in self.conditions:
            if not keys or [cell.key for cell in condition.metrics] != keys:
                raise InputError(f"has other metrics in condition {condition.name!r} than {keys}")


def number_of(value: float) -> Number:
    """As JSON holds it."""
    if np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else ("inf" if value > 0 else "-inf")


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
        conditions = [[condition.name for condition in part.agreement.conditions] for part in self.data]
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
    except FileNotFoundError:
        raise InputError(f"{str(folder)!r} has no results yet: pandora study resume {folder}.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror or error}).") from None
    except (ValueError, RecursionError):
        raise InputError(f"{str(path)!r} is corrupt: pandora study resume {folder} makes it again.") from None
    from_plain(StudyResults, results, str(path))
    plain: Plain = results
    return plain

"""What an agreement study found, as arrays, and as plain values for a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret._version import __version__
from pandora_regret.inputs import FloatArray, InputError
from pandora_regret.records import from_plain

SCHEMA = "pandora-agreement/1"
METHOD = "bias and spread"  # of the intervals of tau and gaps; files of version 1 have "percentile"
FIGURES = {name: (name, f"{name}_low", f"{name}_high") for name in ("tau", "gap", "regret")}
FLAGS = ("constant", "reversed")

Number: TypeAlias = float | Literal["inf", "-inf"] | None  # as JSON holds it: undefined is null


@dataclass(frozen=True)
class FigureRecord:
    """One figure and its interval."""

    value: Number
    low: Number
    high: Number
    mean: Number = None


@dataclass(frozen=True)
class CellRecord:
    """One metric under one condition."""

    key: str
    constant: bool
    reversed: bool
    tau: FigureRecord
    gap: FigureRecord
    regret: FigureRecord
    picked: tuple[str, ...]


@dataclass(frozen=True)
class ConditionRecord:
    """One condition."""

    name: str
    title: str
    unit: str
    draws: int
    metrics: tuple[CellRecord, ...]
    reading: str = "mean_of_taus"


@dataclass(frozen=True)
class MetricRecord:
    """One metric."""

    key: str
    title: str
    better: Literal["lower", "higher"]


@dataclass(frozen=True)
class IntervalRecord:
    """How intervals were found."""

    method: str
    level: float
    replicates: int
    resample: Literal["instances", "models", "both"]
    seed: int


@dataclass(frozen=True)
class ContestRecord:
    """What was compared on what."""

    models: tuple[str, ...]
    classes: tuple[str, ...]
    rows: int
    groups: int | None = None


@dataclass(frozen=True)
class AgreementRecord:
    """What `Agreement.to_dict` gives."""

    schema: Literal["pandora-agreement/1"]
    library: str
    data: ContestRecord
    interval: IntervalRecord
    metrics: tuple[MetricRecord, ...]
    conditions: tuple[ConditionRecord, ...]


def check_cells(record: AgreementRecord, place: str) -> None:
    """One cell for every metric under every condition."""
    keys = [metric.key for metric in record.metrics]
    for condition in record.conditions:
        if not keys or [cell.key for cell in condition.metrics] != keys:
            raise InputError(f"has other metrics in condition {condition.name!r} than {keys}", place=place)


@dataclass(frozen=True)
class Agreement:
    """How well metrics rank models by the cost of their searches: tables of conditions x metrics, (C, Q).

    Attributes
    ----------
    conditions, metrics
        Plain descriptions: name, title, unit, reading and draws of each condition; key, title and better of each
        metric.
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
    models, classes, rows, groups
        What was compared on what; `groups` is how many groups the rows form, None where each counts by itself.
    resample, replicates, level, seed
        How intervals were found.
    """

    conditions: tuple[dict[str, Any], ...]
    metrics: tuple[dict[str, Any], ...]
    tau: FloatArray
    tau_low: FloatArray
    tau_high: FloatArray
    gap: FloatArray
    gap_low: FloatArray
    gap_high: FloatArray
    constant: NDArray[np.bool_]
    reversed: NDArray[np.bool_]
    picked: tuple[tuple[tuple[str, ...], ...], ...]
    regret: FloatArray
    regret_mean: FloatArray
    regret_low: FloatArray
    regret_high: FloatArray
    models: tuple[str, ...]
    classes: tuple[str, ...]
    rows: int
    resample: str
    replicates: int
    level: float
    seed: int
    groups: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; an infinite number becomes "inf", an undefined one null."""
        sizes = {"rows": self.rows, "groups": self.groups}
        interval = {"method": METHOD, "level": self.level, "replicates": self.replicates}
        return {
            "schema": SCHEMA,
            "library": f"pandora-regret {__version__}",
            "data": {"models": list(self.models), "classes": list(self.classes), **sizes},
            "interval": {**interval, "resample": self.resample, "seed": self.seed},
            "metrics": [dict(metric) for metric in self.metrics],
            "conditions": [
                {**condition, "metrics": [self._cell(c, q) for q in range(len(self.metrics))]}
                for c, condition in enumerate(self.conditions)
            ],
        }

    def _cell(self, c: int, q: int) -> dict[str, Any]:
        cell: dict[str, Any] = {"key": self.metrics[q]["key"]}
        cell |= {name: bool(getattr(self, name)[c, q]) for name in FLAGS}
        for name, parts in FIGURES.items():
            values = [_plain(getattr(self, part)[c, q]) for part in parts]
            cell[name] = dict(zip(("value", "low", "high"), values, strict=True))
        cell["regret"]["mean"] = _plain(self.regret_mean[c, q])
        return {**cell, "picked": list(self.picked[c][q])}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Agreement:
        """What `to_dict` gave, as arrays again."""
        if record.get("schema") != SCHEMA:
            raise InputError(f"schema is {record.get('schema')!r}: this library reads {SCHEMA!r}.")
        check_cells(from_plain(AgreementRecord, record, "agreement"), "agreement")
        cells = [condition["metrics"] for condition in record["conditions"]]
        about = [{key: value for key, value in each.items() if key != "metrics"} for each in record["conditions"]]
        tables = {
            part: _table(cells, name, end)
            for name, parts in FIGURES.items()
            for part, end in zip(parts, ("value", "low", "high"), strict=True)
        }
        read: dict[str, Any] = {
            **tables,
            "regret_mean": _table(cells, "regret", "mean"),
            **{name: np.array([[cell[name] for cell in row] for row in cells]) for name in FLAGS},
            "picked": tuple(tuple(tuple(cell["picked"]) for cell in row) for row in cells),
            "conditions": tuple(about),
            "metrics": tuple(dict(metric) for metric in record["metrics"]),
            **{name: tuple(record["data"][name]) for name in ("models", "classes")},
            "rows": record["data"]["rows"],
            "groups": record["data"].get("groups"),
            **{name: record["interval"][name] for name in ("resample", "replicates", "level", "seed")},
        }
        return cls(**read)


def _plain(value: float) -> float | str | None:
    if np.isnan(value):
        return None
    return float(value) if np.isfinite(value) else ("inf" if value > 0 else "-inf")


def _table(cells: list[list[dict[str, Any]]], name: str, end: str) -> FloatArray:
    values = [[cell[name][end] for cell in row] for row in cells]
    return np.array([[np.nan if value is None else float(value) for value in row] for row in values])

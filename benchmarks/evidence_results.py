"""The stored results of training_evidence.py, docs/evidence/*.csv, and what can be asked of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

STORED = Path(__file__).parents[1] / "docs" / "evidence"
BASE = "log loss"
TARGETS = {"equal": "pandora_regret", "priced": "wasted_cost"}  # what each is judged by
ARMS = {  # heading: the arm's name, with the target it was made for
    "chosen by cost": "{}: log loss, chosen by cost",
    "+ temperature, log loss": "log loss + temperature for log loss",
    "+ temperature, cost": "{}: log loss + temperature for cost",
    "+ vector, log loss": "log loss + vector for log loss",
    "+ vector, cost": "{}: log loss + vector for cost",
    "Pandora α = 0": "{}: Pandora, alpha 0",
    "Pandora α = 1": "{}: Pandora, alpha 1",
}
LAST = "Pandora α = 1"
TOLD = "training on α = 1 with the costs or without?"
HEADS = {  # question: this arm against that one
    "recalibrating for cost or for log loss? (temperature)": ("+ temperature, cost", "+ temperature, log loss"),
    "recalibrating for cost or for log loss? (vector)": ("+ vector, cost", "+ vector, log loss"),
    "training on α = 1, or recalibrating log loss for cost? (vector)": (LAST, "+ vector, cost"),
    "training on α = 0, or recalibrating log loss for cost? (vector)": ("Pandora α = 0", "+ vector, cost"),
    "training on α = 1 or on α = 0?": (LAST, "Pandora α = 0"),
}


class Estimate(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def over(self, unit: float) -> Estimate:
        return Estimate(self.value / unit, *sorted((self.low / unit, self.high / unit)))

    @property
    def verdict(self) -> str:
        """Of a difference, where lower is better."""
        return "better" if self.high < 0 else "worse" if self.low > 0 else "unclear"


def arm_of(heading: str, target: str) -> str:
    return ARMS[heading].format(target)


@dataclass(frozen=True)
class Trial:
    """A learner on one kind of test rows."""

    learner: str
    data: str
    rows: int

    @property
    def title(self) -> str:
        return f"{self.data}, {self.learner}, {self.rows:,} rows"

    @property
    def is_shifted(self) -> bool:
        """Whether new cases differ from those learned from."""
        return self.data.endswith("official test")

    def mean(self, metric: str, arm: str = BASE) -> float:
        return _results()[self, arm, metric][0]

    def difference(self, metric: str, arm: str) -> Estimate:
        """The mean of an arm minus that of log loss alone."""
        return _results()[self, arm, metric][1]

    def change(self, target: str, heading: str) -> Estimate:
        """Of an arm made for a target, judged by what that counts, as a share of what log loss alone has."""
        metric = TARGETS[target]
        return self.difference(metric, arm_of(heading, target)).over(self.mean(metric))


def trials() -> list[Trial]:
    """All of them, in the order in which they are shown."""
    return list(dict.fromkeys(trial for trial, _, _ in _results()))


@cache
def _results() -> dict[tuple[Trial, str, str], tuple[float, Estimate]]:
    """By trial, arm and metric: the mean, and the difference to log loss alone."""
    return {
        (_trial(row), row["arm"], row["metric"]): (float(row["mean"]), _estimate(row)) for row in _read("training")
    }


def head_to_head() -> Iterator[tuple[str, str, list[Estimate]]]:
    """Questions, the costs they were asked at, and the change in every trial."""
    asked: dict[tuple[str, str], list[Estimate]] = {}
    for row in _read("head-to-head"):
        asked.setdefault((row["question"], row["costs"]), []).append(_estimate(row))
    for (question, target), changes in asked.items():
        yield question, target, changes


def choices(learner: str) -> dict[str, dict[str, int]]:
    """By arm: in how many splits each setting was chosen."""
    counts: dict[str, dict[str, int]] = {}
    for row in _read("choices"):
        if row["learner"] == learner:
            of_arm = counts.setdefault(row["arm"], {})
            of_arm[row["setting"]] = of_arm.get(row["setting"], 0) + int(row["splits"])
    return counts


def _read(name: str) -> Iterator[dict[str, str]]:
    with open(STORED / f"{name}.csv", newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _trial(row: dict[str, str]) -> Trial:
    return Trial(row["learner"], row["data"], int(row["rows"]))


def _estimate(row: dict[str, str]) -> Estimate:
    return Estimate(float(row["value"]), float(row["low"]), float(row["high"]))

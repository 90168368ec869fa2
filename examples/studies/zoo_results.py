"""All zoos under all conditions, from the stored results of several studies."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from pandora_regret.study import StudyResults, read_results

STUDIES = Path(__file__).parents[2] / "docs" / "study"
FOLDERS = (
    "medmnist",
    "medmnist-more",
    "tables",
    "dermatology",
    "flusight",
    "vlm",
)  # under docs/study, results.json in each
WORKUPS = STUDIES / "workups.json"
DOLLAR = r"\$"  # two that are not escaped would enclose a formula
ZOOS = {  # in the order of the tables: what people call it, and the sign of its costs
    "Derm": ("DermaMNIST", DOLLAR),
    "OCT": ("OCTMNIST", DOLLAR),
    "dermatology": ("dermatology", DOLLAR),
    "digits": ("digits", ""),
    "steel": ("steel", ""),
    "cardiotocography": ("cardiotocography", ""),
    "soybean": ("soybean", ""),
    "FluSight": ("FluSight", ""),
    "MMBench": ("MMBench", ""),
    "OOD-CV": ("OOD-CV", ""),
}
CONDITIONS = {
    "clinical": "Known costs",
    "well_specified": "Well specified",
    "random_temperature": "Random temperature",
    "random_distractor_temperature": "Random distractors",
    "noisy_costs": "Noisy costs",
    "imperfect_tests": "Imperfect tests",
    "equal_prevalence": "Equal prevalence",
    "shared_steps": "Shared steps",
    "panel": "Panel",
}
METRICS = {  # of the headline: log loss with scikit-learn's floor, macro-F1 as the paper writes it
    "pandora_regret": "Pandora's Regret",
    "clipped_log_loss": "Log loss, clipped",
    "brier": "Brier",
    "accuracy": "Accuracy",
    "macro_f1_all": "Macro-F1, all classes",
}
RIVALS = tuple(METRICS)[1:]
LIMIT = "beta_0"  # of Pandora's family, compared where tests miss
FAMILY = ("beta_0", "beta_0.3", "beta_3", "beta_inf", "cost_weighted", "pairwise_brier")  # of which it is one
OF_EARLIER_RUN = {  # what stands for a metric where a stored result is older than the metric
    "clipped_log_loss": "log_loss",  # the image models exclude nothing
    "macro_f1_all": "macro_f1",  # every class of the images occurs, so the two are the same
}


@dataclass(frozen=True)
class ZooRow:
    """One zoo under one condition: by metric, what a study's results hold of it."""

    zoo: str
    condition: str
    in_draws: bool  # whether costs are counted in those of the draws
    cells: dict[str, dict[str, Any]]
    warning: str | None = None  # why intervals of tau are not to be trusted

    @property
    def no_choice(self) -> bool:
        """Whether all models cost the same."""
        return all(bool(cell["constant"]) for cell in self.cells.values())

    @property
    def is_earlier(self) -> bool:
        """Whether the result is of an earlier run, which did not compare what is picked with the pick of bills."""
        return self.cells["pandora_regret"]["extra_cost"]["value"] is None and "clipped_log_loss" not in self.cells

    def has(self, metric: str) -> bool:
        """Whether the result holds the metric, or what stands for it."""
        return metric in self.cells or OF_EARLIER_RUN.get(metric) in self.cells

    def cell(self, metric: str) -> dict[str, Any]:
        """What the result holds of a metric."""
        return self.cells[metric if metric in self.cells else OF_EARLIER_RUN[metric]]

    def tau(self, metric: str) -> float:
        """Agreement; below zero where the metric ranks models the wrong way round."""
        cell = self.cell(metric)
        return -float(cell["tau"]["value"]) if cell["reversed"] else float(cell["tau"]["value"])

    def gap(self, metric: str) -> tuple[float, float]:
        """The interval of the metric's agreement minus that of Pandora's Regret."""
        gap = self.cell(metric)["gap"]
        return float(gap["low"]), float(gap["high"])

    def extra(self, metric: str) -> float:
        """What its pick costs more per new case than the pick of bills; NaN where that is not known."""
        return _number(self.cell(metric)["extra_cost"]["value"])

    def dearer(self, metric: str) -> float:
        """What its pick costs more per new case than the pick of Pandora's Regret; NaN where that is not known."""
        return _number(self.cell(metric)["extra_cost_gap"]["value"])

    def dearer_interval(self, metric: str) -> tuple[float, float]:
        """The interval of `dearer`; NaN where it is not known."""
        figure = self.cell(metric)["extra_cost_gap"]
        return _number(figure["low"]), _number(figure["high"])

    @property
    def is_priced(self) -> bool:
        """Whether it is known by how much the picks of all metrics of the headline differ, with intervals."""
        return all(isfinite(end) for metric in RIVALS for end in self.dearer_interval(metric))

    @property
    def best_rival(self) -> str:
        """The metric of highest agreement beside Pandora's Regret."""
        return max(RIVALS, key=self.tau)

    @property
    def lead(self) -> float:
        """How far Pandora's Regret is ahead of it."""
        return self.tau("pandora_regret") - self.tau(self.best_rival)

    def surely_cheaper(self, metric: str) -> bool:
        """Whether the interval says that its pick costs less than that of Pandora's Regret."""
        return self.dearer_interval(metric)[1] < 0

    def surely_dearer(self, metric: str) -> bool:
        """Whether the interval says that its pick costs more than that of Pandora's Regret."""
        return self.dearer_interval(metric)[0] > 0


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def stored_keys(results: StudyResults, keys: Iterable[str]) -> tuple[str, ...]:
    """The keys of metrics under which results hold them: those of an earlier run stand for some."""
    held = {metric.key for metric in results.data[0].agreement.metrics}
    return tuple(key if key in held else OF_EARLIER_RUN[key] for key in keys)


def row_of(zoo: str, condition: dict[str, Any]) -> ZooRow:
    """From what a results file holds of one condition of one data set."""
    cells = {cell["key"]: cell for cell in condition["metrics"]}
    warning = condition["metrics"][0]["tau"].get("warning")
    return ZooRow(zoo, condition["name"], condition["unit"] == "draws", cells, warning)


@cache
def all_rows() -> tuple[ZooRow, ...]:
    """In the order of the tables; the same condition of two studies is that of the first."""
    parts = [part for folder in FOLDERS for part in read_results(STUDIES / folder).to_dict()["data"]]
    parts += json.loads(WORKUPS.read_text(encoding="utf-8"))["data"]
    rows: dict[tuple[str, str], ZooRow] = {}
    for part in parts:
        for condition in part["agreement"]["conditions"]:
            row = row_of(part["name"], condition)
            rows.setdefault((row.zoo, row.condition), row)
    return tuple(rows[key] for key in ((zoo, c) for zoo in ZOOS for c in CONDITIONS) if key in rows)


@cache
def ranked_rows() -> tuple[ZooRow, ...]:
    """Those in which models differ in what they cost, each once.

    Where all classes are equally frequent, equal prevalence is known costs again.
    """
    clinical = {
        row.zoo: [row.tau(metric) for metric in METRICS] for row in all_rows() if row.condition == "clinical"
    }
    return tuple(
        row
        for row in all_rows()
        if not row.no_choice
        and (row.condition != "equal_prevalence" or [row.tau(m) for m in METRICS] != clinical[row.zoo])
    )

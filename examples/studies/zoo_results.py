"""All zoos under all conditions, from the stored results of several studies."""

import json
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

    def tau(self, metric: str) -> float:
        """Agreement; below zero where the metric ranks models the wrong way round."""
        cell = self.cells[metric]
        return -float(cell["tau"]["value"]) if cell["reversed"] else float(cell["tau"]["value"])

    def gap(self, metric: str) -> tuple[float, float]:
        """The interval of the metric's agreement minus that of Pandora's Regret."""
        gap = self.cells[metric]["gap"]
        return float(gap["low"]), float(gap["high"])

    def extra(self, metric: str) -> float:
        """What its pick costs more per new case than the pick of bills; NaN where that is not known."""
        return _number(self.cells[metric]["extra_cost"]["value"])

    def dearer(self, metric: str) -> float:
        """What its pick costs more per new case than the pick of Pandora's Regret; NaN where that is not known."""
        return _number(self.cells[metric]["extra_cost_gap"]["value"])

    def dearer_interval(self, metric: str) -> tuple[float, float]:
        """The interval of `dearer`; NaN where it is not known."""
        figure = self.cells[metric]["extra_cost_gap"]
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


def stored_text(results: StudyResults) -> str:
    """Results as they are kept in docs/study: a line for each condition and metric, six digits of each number."""
    text = json.dumps(_rounded(results.to_dict()), separators=(",", ":"))
    for start in ('{"name":', '{"key":', '"metrics":['):
        text = text.replace(start, "\n" + start)
    return text + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


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

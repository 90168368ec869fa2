"""All zoos under all conditions, from the stored results of several studies."""

import json
from dataclasses import dataclass
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

from pandora_regret.study import read_results

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
METRICS = {
    "pandora_regret": "Pandora's Regret",
    "log_loss": "Log loss",
    "brier": "Brier",
    "accuracy": "Accuracy",
    "macro_f1": "Macro-F1",
}
RIVALS = tuple(METRICS)[1:]
LIMIT = "beta_0"  # of Pandora's family, compared where tests miss


@dataclass(frozen=True)
class ZooRow:
    """One zoo under one condition: by metric, what a study's results hold of it."""

    zoo: str
    condition: str
    in_draws: bool  # whether costs are counted in those of the draws
    cells: dict[str, dict[str, Any]]

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

    def price(self, metric: str) -> float:
        """What choosing by the metric costs more per case than the best model; NaN where both may be infinite."""
        mean = self.cells[metric]["regret"]["mean"]
        return float("nan") if mean is None else float(mean)

    @property
    def priced(self) -> bool:
        """Whether choosing by any of the metrics has a finite price."""
        return all(isfinite(self.price(metric)) for metric in METRICS)

    @property
    def best_rival(self) -> str:
        """The metric of highest agreement beside Pandora's Regret."""
        return max(RIVALS, key=self.tau)

    @property
    def lead(self) -> float:
        """How far Pandora's Regret is ahead of it."""
        return self.tau("pandora_regret") - self.tau(self.best_rival)

    def cheaper(self, metric: str) -> bool:
        """Whether choosing by the metric costs less than choosing by Pandora's Regret, to a thousandth."""
        return self.priced and round(self.price(metric), 3) < round(self.price("pandora_regret"), 3)


@cache
def all_rows() -> tuple[ZooRow, ...]:
    """In the order of the tables; the same condition of two studies is that of the first."""
    parts = [part for folder in FOLDERS for part in read_results(STUDIES / folder)["data"]]
    parts += json.loads(WORKUPS.read_text(encoding="utf-8"))["data"]
    rows: dict[tuple[str, str], ZooRow] = {}
    for part in parts:
        for condition in part["agreement"]["conditions"]:
            cells = {cell["key"]: cell for cell in condition["metrics"] if cell["key"] in (*METRICS, LIMIT)}
            row = ZooRow(part["name"], condition["name"], condition["unit"] == "draws", cells)
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

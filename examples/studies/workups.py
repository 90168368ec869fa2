"""Does the simple score still rank models well when the real work-up has shared steps and panels?

python examples/studies/workups.py STUDY_FOLDER    the models of a finished medmnist_variants study
Writes docs/study/workups.json, from which publish.py makes the tables of docs/study/workups.md.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo_results import stored_text

from pandora_regret import __version__
from pandora_regret.metrics import Metric, default_metrics, read_metrics, workup_metrics
from pandora_regret.study import DataSet, Store, Study, StudyResults, agreement_of, read_conditions, reopen
from pandora_regret.study.results import STUDY_SCHEMA, DataSetResult
from pandora_regret.workup import Workup

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "study" / "workups.json"
PATHWAYS = {"Derm": "dermamnist", "OCT": "octmnist"}
CLASSES = {"Derm": 7, "OCT": 4}


def panel(data: str) -> Path:
    return HERE / "workups" / f"{data.lower()}_panel.toml"


def conditions(data: str) -> list[dict[str, Any]]:
    """Every class's pathway paid by itself, shared steps paid once, and panels."""
    return [
        {"name": "clinical"},
        {"name": "shared_steps", "title": "Shared Steps", "workup": PATHWAYS[data]},
        {"name": "panel", "title": "Panel", "workup": str(panel(data))},
    ]


def metrics(data: str) -> tuple[Metric, ...]:
    """All of them, and what the panel work-up costs, which is what the condition of that name pays."""
    cost, *_ = workup_metrics(Workup.load(panel(data)))
    by_panel = replace(cost, key="panel_cost", title="Work-up cost (panel)")
    return read_metrics([*default_metrics(CLASSES[data], priced=True), by_panel])


def part(study: Study, data: DataSet, folder: Path) -> DataSetResult:
    asked = replace(study, conditions=read_conditions(conditions(data.name)), metrics=metrics(data.name))
    return agreement_of(asked, data, Store.open(folder / data.name))


def run(folder: Path) -> None:
    study = reopen(folder)
    parts = tuple(part(study, data, folder) for data in study.data)
    found = StudyResults(STUDY_SCHEMA, f"pandora-regret {__version__}", study.title, parts)
    RESULTS.write_text(stored_text(found), encoding="utf-8")


if __name__ == "__main__":
    run(Path(sys.argv[1]))

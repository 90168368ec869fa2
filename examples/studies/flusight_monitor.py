"""Three flu seasons of real forecasts through the monitor: who paid what they promised, and who was caught when.

python examples/studies/flusight_monitor.py [FOLDER]   where FOLDER holds flusight_rate_change.parquet

Forecasts of the change of flu admissions (five categories) for 53 places, every week, by 43 models: the FluSight
forecast hub, github.com/cdcepi/FluSight-forecast-hub, whose teams share their forecasts under CC BY 4.0 or
CC BY-SA 4.0. Every model and horizon has a monitor of its own, for which all places of one week are one bet
(--dependent reference_date): the shock that a week shares over all places is one observation. Tests of all
categories cost the same. Only derived figures are stored, in docs/study/flusight-monitor.json, of which publish.py
makes a table.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from pandora_regret.monitor import Monitor

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "study" / "flusight-monitor.json"
FILE = "flusight_rate_change.parquet"
CLASSES = ["large_decrease", "decrease", "stable", "increase", "large_increase"]
HORIZONS = range(4)
LEVEL = 0.05
KNOWN = {  # faults that the data's own description names
    "MIGHTE-Nsemble": "2023-24: old baseline",
    "CEPH-Rtrend_fluH": "2023-24: probably the old baseline",
    "UGA_flucast-Copycat": "all seasons: thresholds of the next horizon",
    "UGA_flucast-INFLAenza": "2023-24: thresholds of the next horizon",
    "UVAFluX-Ensemble": "2023-24: thresholds of the next horizon",
    "UGA_flucast-Scenariocast": "2024-25: last season's thresholds of the next horizon",
    "NAU-vulPES": "2025-26: the same forecasts as Copycat",
    "UGuelph-CompositeCurve": "2025-26: broken (4 weeks)",
    "FluSight-equal_cat": "always 20 % each",
    "FluSight-dist_cat": "always the same five numbers",
}


def folder_of_data() -> Path | None:
    """The folder with the forecasts, beside this repository."""
    folders = (parent / "shared" / "data" / "flusight" for parent in ROOT.parents)
    return next((folder for folder in folders if (folder / FILE).exists()), None)


def read_forecasts(folder: Path) -> Any:
    """One row per model, place, week and horizon; forecasts were stored in single precision."""
    import pandas as pd

    table = pd.read_parquet(folder / FILE)
    values = table[CLASSES].to_numpy(np.float64)
    table[CLASSES] = values / values.sum(axis=1, keepdims=True)
    return table.assign(week=table["reference_date"].astype(str), y_true=table["y_true"].astype(str))


def watched(rows: Any, horizon: int) -> dict[str, Any]:
    """What a monitor says in the end of one model at one horizon."""
    monitor = Monitor(labels=CLASSES, costs=np.ones(5), level=LEVEL, dependent=True)
    monitor.update(rows["y_true"].to_numpy(), rows[CLASSES].to_numpy(), time=rows["week"].to_numpy())
    monitor.close()
    summary = monitor.summary()
    assert summary.overpaid is not None
    overpaid = (summary.overpaid.value, summary.overpaid.low, summary.overpaid.high)
    alarm = summary.alarm and {"noticed": summary.alarm.noticed, "stands": summary.alarm.stands}
    return {
        "horizon": horizon,
        "weeks": summary.increments,
        "cases": len(rows),
        "overpaid": [round(each, 4) for each in overpaid if each is not None],
        "since": summary.since or summary.likely,
        "log10_evidence": round(float(np.log10(summary.evidence)), 2),
        "alarm": alarm,
        "note": summary.note and summary.note.noticed,
    }


def all_models(table: Any) -> list[dict[str, Any]]:
    """Every model at every horizon, the strongest evidence at horizon 0 first."""
    models = []
    for name, rows in table.groupby("model", observed=True):
        parts = ((horizon, rows[rows["horizon"] == horizon]) for horizon in HORIZONS)
        found = [watched(part, horizon) for horizon, part in parts if len(part)]
        models.append({"model": str(name), "known": KNOWN.get(str(name)), "horizons": found})
    return sorted(models, key=lambda model: -float(model["horizons"][0]["log10_evidence"]))


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else folder_of_data()
    if folder is None:
        sys.exit(f"{FILE} is not here: name its folder.")
    about = {"level": LEVEL, "source": "FluSight forecast hub, commit 9246969"}
    stored = about | {"models": all_models(read_forecasts(folder))}
    lines = json.dumps(stored["models"]).replace('{"model"', '\n{"model"')  # one model per line
    head = json.dumps(about)[:-1]
    STORED.write_text(f'{head}, "models": {lines}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()

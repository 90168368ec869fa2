"""How the agreement of the image study moves with the spread of temperatures, and with alpha.

python examples/studies/sensitivity.py STUDY_FOLDER   of medmnist_variants.toml: writes docs/study/sensitivity.json
python examples/studies/sensitivity.py                draws what is stored
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

from pandora_regret.metrics import METRICS as KNOWN
from pandora_regret.metrics import read_metrics
from pandora_regret.plots.paper import plot_sensitivity
from pandora_regret.plots.style import save_figure
from pandora_regret.study import (
    PAPER_CONDITIONS,
    Cell,
    DataSet,
    Store,
    Study,
    agreement_of,
    read_conditions,
    reopen,
)
from pandora_regret.study.conditions import CONDITIONS

STUDIES = Path(__file__).parents[2] / "docs" / "study"
STORED = STUDIES / "sensitivity.json"
SIGMAS = (0.25, 0.5, 1.0, 1.5, 2.0)
ALPHAS = ("0", "0.1", "0.3", "0.5", "1", "2", "3", "5", "10", "inf")
TEMPERATURES = {"all": "Random Temperature", "distractors": "Random Distractor Temperature"}
METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1")
REPLICATES = 200
Lines = dict[str, list[list[Any]]]  # by metric or condition: value, low, high and reversed, at each number


def cells_of(study: Study, folder: Path, data: DataSet, conditions: Any, metrics: Iterable[str]) -> Any:
    """What the study says with other conditions and metrics: by condition, then by metric."""
    asked = replace(
        study, replicates=REPLICATES, conditions=read_conditions(conditions), metrics=read_metrics(metrics)
    )
    found = agreement_of(asked, data, Store.open(folder / data.name)).agreement.to_dict()["conditions"]
    return {each["name"]: {cell["key"]: _short(cell) for cell in each["metrics"]} for each in found}


def _short(cell: dict[str, Any]) -> list[Any]:
    return [*(round(cell["tau"][part], 4) for part in ("value", "low", "high")), cell["reversed"]]


def against_sigma(study: Study, folder: Path, data: DataSet) -> dict[str, Lines]:
    """Lines of every metric, by kind of temperature."""
    named = {(kind, sigma): f"{kind} {sigma}" for kind in TEMPERATURES for sigma in SIGMAS}
    conditions = [{"name": name, "temperature": kind, "sigma": sigma} for (kind, sigma), name in named.items()]
    cells = cells_of(study, folder, data, conditions, METRICS)
    return {kind: {m: [cells[named[kind, s]][m] for s in SIGMAS] for m in METRICS} for kind in TEMPERATURES}


def against_alpha(study: Study, folder: Path, data: DataSet) -> Lines:
    """Lines of every condition."""
    keys = ["pandora_regret" if alpha == "1" else f"beta_{alpha}" for alpha in ALPHAS]
    cells = cells_of(study, folder, data, PAPER_CONDITIONS, keys)
    return {condition: [cells[condition][key] for key in keys] for condition in PAPER_CONDITIONS}


def compute(folder: Path) -> None:
    study = reopen(folder)
    found: dict[str, Any] = {
        "replicates": REPLICATES,
        "sigmas": SIGMAS,
        "alphas": ALPHAS,
        "sigma": {},
        "alpha": {},
    }
    for data in study.data:
        found["sigma"][data.name] = against_sigma(study, folder, data)
        found["alpha"][data.name] = against_alpha(study, folder, data)
    STORED.write_text(json.dumps(found) + "\n", encoding="utf-8")


def as_cells(lines: Lines, titles: dict[str, str]) -> dict[str, list[Cell]]:
    return {
        titles[name]: [Cell(value, low, high, reversed=wrong) for value, low, high, wrong in cells]
        for name, cells in lines.items()
    }


def draw() -> None:
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    names = list(stored["sigma"])
    of_metrics = {key: KNOWN[key].title for key in METRICS}
    of_conditions = {key: CONDITIONS[key].title for key in PAPER_CONDITIONS}
    sigma = Figure(figsize=(3.7 * len(names), 6.4), layout="constrained")
    alpha = Figure(figsize=(3.7 * len(names), 3.9), layout="constrained")
    above = sigma.subplots(2, len(names), sharex=True, sharey=True, squeeze=False)
    below = alpha.subplots(1, len(names), sharey=True, squeeze=False)
    for column, data in enumerate(names):
        for row, (kind, title) in enumerate(TEMPERATURES.items()):
            lines = as_cells(stored["sigma"][data][kind], of_metrics)
            axes = plot_sensitivity(stored["sigmas"], lines, above[row, column])
            axes.set(title=fill(f"{data}: {title}", 26), xlabel="σ")
        lines = as_cells(stored["alpha"][data], of_conditions)
        plot_sensitivity(stored["alphas"], lines, below[0, column]).set(title=data, xlabel="α")
    for figure, panels, name in ((sigma, above, "sigma"), (alpha, below, "alpha")):
        for panel in panels[:, 1:].ravel():
            panel.set_ylabel("")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        print(save_figure(figure, STUDIES / f"medmnist-{name}.svg"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compute(Path(sys.argv[1]))
    with rc_context({"font.size": 11, "axes.titlesize": 11}):
        draw()

"""Two figures of a finished study: how agreement moves with the spread of temperatures, and with alpha.

python examples/studies/sensitivity.py STUDY_FOLDER OUT_FOLDER
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import Any

from matplotlib.figure import Figure

from pandora_regret.metrics import read_metrics
from pandora_regret.plots.saving import save_figure
from pandora_regret.plots.sensitivity import plot_sensitivity
from pandora_regret.study import (
    PAPER_CONDITIONS,
    Cell,
    DataSet,
    Store,
    Study,
    agreement_of,
    read_conditions,
    reopen,
    study_grid,
)

SIGMAS = (0.25, 0.5, 1.0, 1.5, 2.0)
ALPHAS = ("0", "0.1", "0.3", "0.5", "1", "2", "3", "5", "10", "inf")
TEMPERATURES = {"all": "Random Temperature", "distractors": "Random Distractor Temperature"}
METRICS = ("pandora_regret", "log_loss", "accuracy", "macro_f1")
REPLICATES = 500


def results_of(study: Study, folder: Path, data: DataSet, conditions: Any, metrics: Any) -> dict[str, Any]:
    """The study's own, with other conditions and metrics."""
    asked = read_conditions(conditions)
    other = replace(study, replicates=REPLICATES, conditions=asked, metrics=read_metrics(metrics))
    return {"data": [agreement_of(other, data, Store.open(folder / data.name))]}


def against_sigma(
    study: Study, folder: Path, data: DataSet
) -> tuple[dict[str, Any], dict[str, dict[str, list[Cell]]]]:
    """Lines of every metric, by kind of temperature."""
    conditions = [
        {"name": f"{kind} {sigma}", "temperature": kind, "sigma": sigma}
        for kind in TEMPERATURES
        for sigma in SIGMAS
    ]
    results = results_of(study, folder, data, conditions, METRICS)
    grid = study_grid(results, "tau", METRICS)
    cells = {title: row for title, _, row in grid.rows}
    return results, {
        shown: {m: [cells[f"{kind} {sigma}"][q] for sigma in SIGMAS] for q, m in enumerate(grid.metrics)}
        for kind, shown in TEMPERATURES.items()
    }


def against_alpha(study: Study, folder: Path, data: DataSet) -> tuple[dict[str, Any], dict[str, list[Cell]]]:
    """Lines of every condition."""
    keys = ["pandora_regret" if alpha == "1" else f"beta_{alpha}" for alpha in ALPHAS]
    results = results_of(study, folder, data, PAPER_CONDITIONS, keys)
    return results, {title: list(cells) for title, _, cells in study_grid(results, "tau", keys).rows}


def draw(folder: Path, out: Path) -> None:
    study = reopen(folder)
    data = study.data
    sigma = Figure(figsize=(3.4 * len(data), 6), layout="constrained")
    alpha = Figure(figsize=(3.4 * len(data), 3.4), layout="constrained")
    found: dict[str, Any] = {"sigma": {}, "alpha": {}}
    sigma_panels = sigma.subplots(2, len(data), sharey=True, squeeze=False)
    alpha_panels = alpha.subplots(1, len(data), sharey=True, squeeze=False)[0]
    for at, one in enumerate(data):
        found["sigma"][one.name], by_kind = against_sigma(study, folder, one)
        for row, (kind, lines) in enumerate(by_kind.items()):
            axes = plot_sensitivity(SIGMAS, lines, sigma_panels[row, at])
            axes.set(title=fill(f"{one.name}: {kind}", 26), xlabel="σ")
        found["alpha"][one.name], by_condition = against_alpha(study, folder, one)
        plot_sensitivity(ALPHAS, by_condition, alpha_panels[at]).set(title=one.name, xlabel="α")
    for figure, panel, name in ((sigma, sigma_panels[0, 0], "sigma"), (alpha, alpha_panels[0], "alpha")):
        handles, labels = panel.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
        print(save_figure(figure, out / f"study-{name}.svg"))
    (out / "sensitivity.json").write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))

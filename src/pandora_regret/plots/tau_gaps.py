"""The paper's interval figure: how far each metric's agreement with search cost is from Pandora's Regret's."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from pandora_regret.metrics import BASELINE, METRICS
from pandora_regret.plots.style import COLOURS, MARKERS, axes_of, sheet
from pandora_regret.study.table import Cell, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tau_gaps(grid: Grid, condition: str, ax: Axes | None = None) -> Axes:
    """The gaps of all metrics under one condition, a colour and a marker for each data set.

    A hollow marker is a metric that ranks models the wrong way round, which |tau| alone does not show.

    Parameters
    ----------
    grid
        From ``study_grid(results, "gap")``.
    condition
        The title of a condition.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    axes = axes_of(ax)
    rows = [(data, cells) for title, data, cells in grid.rows if title == condition]
    others = [index for index, title in enumerate(grid.metrics) if title != METRICS[BASELINE].title]
    for number, (data, cells) in enumerate(rows):
        shift = (number - (len(rows) - 1) / 2) * 0.6 / len(rows)
        style = {"color": COLOURS[number % 6], "marker": MARKERS[number % 6], "label": data}
        _draw_intervals(axes, [cells[at] for at in others], shift, style)
    axes.axvline(0, color="0.4", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(others)), [grid.metrics[at] for at in others])
    axes.set_ylim(len(others) - 0.5, -0.5)
    axes.set_title(condition)
    axes.set_xlabel("|τ| minus that of Pandora's Regret")
    return axes


def _draw_intervals(axes: Axes, cells: list[Cell], shift: float, style: dict[str, Any]) -> None:
    """A marker at each value, a line from low to high; undefined ones are left out."""
    for row, cell in enumerate(cells):
        if cell.low is not None and cell.high is not None:
            ends = [cell.low, cell.high], [row + shift] * 2
            axes.plot(*ends, color=style["color"], linewidth=1.4, solid_capstyle="butt")
    places = [(cell, cell.value, row + shift) for row, cell in enumerate(cells) if cell.value is not None]
    axes.plot([x for _, x, _ in places], [y for _, _, y in places], linestyle="", markersize=4, **style)
    wrong = [(x, y) for cell, x, y in places if cell.reversed]
    hollow = style | {"label": None, "markerfacecolor": "white", "zorder": 3}
    axes.plot([x for x, _ in wrong], [y for _, y in wrong], linestyle="", markersize=4, **hollow)


def draw_tau_gaps(grid: Grid, path: str | os.PathLike[str]) -> Path:
    """All conditions side by side, into a file whose name says its kind: SVG, PDF or PNG."""
    conditions = list(dict.fromkeys(title for title, _, _ in grid.rows))
    size = (2.2 + 2.3 * len(conditions), 1.4 + 0.28 * len(grid.metrics))
    with sheet(path, *size, settings={}) as figure:
        panels = figure.subplots(1, len(conditions), sharey=True, squeeze=False)[0]
        for condition, panel in zip(conditions, panels, strict=True):
            plot_tau_gaps(grid, condition, panel).set(xlabel="", title=fill(condition, 18))
        figure.supxlabel("|τ| minus that of Pandora's Regret", fontsize="medium")
        labels = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
        figure.legend(labels.values(), labels, loc="outside upper right", ncols=len(labels), frameon=False)
    return Path(path)

"""The study in figures: how far metrics' agreement with search cost is from that of Pandora's Regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.atomic import Place
from pandora_regret.inputs import FloatArray
from pandora_regret.metrics import BASELINE, METRICS
from pandora_regret.plots.style import COLOURS, MARKERS, axes_of, sheet
from pandora_regret.study.results import Cell, Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Line = tuple[str, list[Cell | None]]  # its name, and one cell for each row of the figure

MOST_PANELS = 4  # side by side
LEGEND_COLUMNS = 4
TEXT = {"font.size": 11, "axes.titlesize": 11, "axes.labelsize": 11, "svg.fonttype": "none"}  # text stays text


def plot_tau_gaps(grid: Grid, condition: str, ax: Axes | None = None) -> Axes:
    """The gaps of all metrics under one condition: a row for each metric, a colour and a marker for each data set.

    Where there are more data sets than metrics it is the other way round. A hollow marker is a metric that ranks
    models the wrong way round, which |tau| alone does not show.

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
    rows, lines = _rows_and_lines(grid, condition)
    for number, (name, cells) in enumerate(lines):
        shift = (number - (len(lines) - 1) / 2) * 0.7 / len(lines)
        shown = [(cell, row + shift) for row, cell in enumerate(cells) if cell is not None and not cell.constant]
        heights, drawn = np.array([y for _, y in shown]), [cell for cell, _ in shown]
        values, low, high = _numbers(drawn)
        axes.hlines(heights, low, high, color=COLOURS[number % 6], linewidth=1.4)
        _mark(axes, values, heights, drawn, number, name, linestyle="", markersize=4.5)
    axes.axvline(0, color="0.3", linewidth=1, zorder=1)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(ylim=(len(rows) - 0.5, -0.5), title=condition, xlabel="|τ| minus that of Pandora's Regret")
    return axes


def _rows_and_lines(grid: Grid, condition: str) -> tuple[Sequence[str], list[Line]]:
    """The names of the rows, and what is drawn in each colour; None where a data set lacks the condition."""
    data = list(dict.fromkeys(name for _, name, _ in grid.rows))
    others = [index for index, title in enumerate(grid.metrics) if title != METRICS[BASELINE].title]
    metrics = [grid.metrics[index] for index in others]
    by_data = {name: [cells[index] for index in others] for title, name, cells in grid.rows if title == condition}
    table: list[list[Cell | None]] = [list(by_data.get(name, [None] * len(others))) for name in data]
    if len(data) <= len(metrics):
        return metrics, [line for line in zip(data, table, strict=True) if line[0] in by_data]
    return data, [(metric, [cells[index] for cells in table]) for index, metric in enumerate(metrics)]


def _numbers(cells: Sequence[Cell]) -> FloatArray:
    """Values and the ends of intervals, (3, n); NaN where they are undefined."""
    return np.array([(cell.value, cell.low, cell.high) for cell in cells], np.float64).reshape(-1, 3).T


def _mark(
    axes: Axes, x: FloatArray, y: FloatArray, cells: Sequence[Cell], number: int, name: str, **style: Any
) -> None:
    """The markers of one of several lines; hollow where models are ranked the wrong way round."""
    style |= {"color": COLOURS[number % 6], "marker": MARKERS[number % 6]}
    axes.plot(x, y, label=name, **style)
    wrong = np.array([cell.reversed for cell in cells], dtype=bool)
    axes.plot(x[wrong], y[wrong], **style | {"linestyle": "", "markerfacecolor": "white", "zorder": 3})


def draw_tau_gaps(grid: Grid, path: Place) -> Path:
    """All conditions on one scale, into a file whose name says its kind: SVG, PDF or PNG."""
    conditions = list(dict.fromkeys(title for title, _, _ in grid.rows))
    across = min(len(conditions), MOST_PANELS)
    down = -(-len(conditions) // across)
    rows, _ = _rows_and_lines(grid, conditions[0])
    with sheet(path, 1.8 + 2.3 * across, 1.5 + down * (0.9 + 0.3 * len(rows)), TEXT) as figure:
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for condition, panel in zip(conditions, panels, strict=False):
            plot_tau_gaps(grid, condition, panel).set(xlabel="", title=fill(condition, 20))
            panel.grid(axis="x", color="0.9", linewidth=0.6)
            panel.tick_params(labelbottom=True)
            panel.locator_params(axis="x", nbins=5)
        for panel in panels[len(conditions) :]:
            panel.remove()
        figure.supxlabel("|τ| minus that of Pandora's Regret", fontsize="medium")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=LEGEND_COLUMNS, frameon=False)
    return Path(path)


def plot_sensitivity(numbers: Sequence[Any], lines: Mapping[str, Sequence[Cell]], ax: Axes | None = None) -> Axes:
    """|tau| of some metrics, or under some conditions, against a number, with intervals as bands.

    A hollow marker is a metric that ranks models the wrong way round.

    Parameters
    ----------
    numbers
        The values of what is varied, as they are to be written; they stand at equal distances.
    lines
        The cells of a study's table at each of them, by what the legend is to say.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    axes, places = axes_of(ax), np.arange(len(numbers), dtype=np.float64)
    for number, (label, cells) in enumerate(lines.items()):
        values, low, high = _numbers(cells)
        _mark(axes, places, values, cells, number, label, markersize=3.5, linewidth=1.2)
        axes.fill_between(places, low, high, color=COLOURS[number % 6], alpha=0.12, linewidth=0)
    axes.set_xticks(places, [str(number) for number in numbers])
    axes.set(ylim=(0, 1), ylabel="|τ| with search cost")
    return axes

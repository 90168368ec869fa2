"""The study in figures: how far metrics' agreement with search cost is from that of Pandora's Regret."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from pandora_regret.metrics import BASELINE, METRICS
from pandora_regret.plots.style import COLOURS, MARKERS, axes_of, sheet
from pandora_regret.study.table import Cell, Grid

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
        style = {"color": COLOURS[number % 6], "marker": MARKERS[number % 6], "label": name}
        places = [(cell, row + shift) for row, cell in enumerate(cells) if cell is not None and not cell.constant]
        bounded = [(cell, y) for cell, y in places if cell.low is not None]
        axes.hlines(
            [y for _, y in bounded],
            [_value(cell.low) for cell, _ in bounded],
            [_value(cell.high) for cell, _ in bounded],
            color=style["color"],
            linewidth=1.4,
            label="_intervals",
        )
        _draw_points(
            axes,
            [(_value(cell.value), y, cell.reversed) for cell, y in places],
            linestyle="",
            markersize=4.5,
            **style,
        )
    axes.axvline(0, color="0.3", linewidth=1, zorder=1)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(condition)
    axes.set_xlabel("|τ| minus that of Pandora's Regret")
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


def _draw_points(axes: Axes, points: Sequence[tuple[float, float, bool]], **style: Any) -> None:
    """At x and y; hollow where a metric ranks models the wrong way round."""
    axes.plot([x for x, _, _ in points], [y for _, y, _ in points], **style)
    hollow = style | {"label": None, "linestyle": "", "markerfacecolor": "white", "zorder": 3}
    wrong = [(x, y) for x, y, reverse in points if reverse]
    axes.plot([x for x, _ in wrong], [y for _, y in wrong], **hollow)


def draw_tau_gaps(grid: Grid, path: str | os.PathLike[str]) -> Path:
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
    axes = axes_of(ax)
    places = range(len(numbers))
    for number, (label, cells) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": COLOURS[number % 6], "marker": MARKERS[number % 6], "label": label}
        points = [(x, _value(cell.value), cell.reversed) for x, cell in zip(places, cells, strict=True)]
        _draw_points(axes, points, markersize=3.5, linewidth=1.2, **style)
        low, high = ([_value(end) for end in ends] for ends in zip(*((c.low, c.high) for c in cells), strict=True))
        axes.fill_between(places, low, high, color=COLOURS[number % 6], alpha=0.12, linewidth=0)
    axes.set_xticks(places, [str(number) for number in numbers])
    axes.set_ylim(0, 1)
    axes.set_ylabel("|τ| with search cost")
    return axes


def _value(number: float | None) -> float:
    return float("nan") if number is None else number

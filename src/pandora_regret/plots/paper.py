"""The paper's figures into a folder; and those of the pair loss, and of a study: how far metrics' taus differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import FloatArray, read_alpha, read_choice
from pandora_regret.core.priors.beta import beta_loss, beta_loss_slope
from pandora_regret.metrics import BASELINE, METRICS
from pandora_regret.plots.decision_regions import DRAWN_ALPHAS, draw_beta_simplex, draw_decision_regions
from pandora_regret.plots.style import (
    COLOURS,
    DASHES,
    FIGURE_FORMATS,
    MARKERS,
    Style,
    axes_of,
    name_lines,
    open_frame,
    sheet,
)
from pandora_regret.study import Cell, Grid, read_results, study_grid
from pandora_regret.text import alpha_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FURTHEST = 20.0  # odds that are shown, for and against the truth
MEANINGS = {0.0: ": 1 − ln r, then 1/r", 1.0: ": Pandora’s Regret", np.inf: ": ranks alone"}


def plot_pair_loss(alphas: Sequence[float] = DRAWN_ALPHAS, *, ax: Axes | None = None) -> Axes:
    """The pair loss L_alpha(r) at odds ``r = p_i / p_j`` of the truth i against a distractor j.

    Parameters
    ----------
    alphas
        From 0 to inf, both limits included; at inf the loss jumps from 2 over 1 to 0.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_pair_loss([0, 1], ax=Figure().subplots())
    >>> axes.get_xscale(), len(axes.get_legend().get_texts())
    ('log', 2)
    """
    axes = axes_of(ax)
    behind = np.geomspace(1 / FURTHEST, np.nextafter(1, 0), 200)
    odds = np.concatenate([behind, [1.0], 1 / behind[::-1]])  # next to 1, where the limit at inf jumps
    lines = [
        axes.plot(odds, beta_loss(np.log(odds), read_alpha(alpha)), **curve(number, alpha))[0]
        for number, alpha in enumerate(alphas)
    ]
    axes.plot(1, 1, "o", color="black", markersize=3, zorder=4)
    axes.set(xscale="log", xlim=(1 / FURTHEST, FURTHEST), ylim=(0, None))
    axes.set_xticks([0.1, 1, 10], ["1/10", "1", "10"])
    axes.set(xlabel="odds of truth to distractor, r = $p_i / p_j$", ylabel="pair loss $L_α(r)$")
    name_lines(axes, lines, [alpha_name(alpha) + MEANINGS.get(alpha, "") for alpha in alphas], loc="upper right")
    return open_frame(axes)


WIDEST_GAP = 4.0  # gap of logits that is shown, to both sides


def plot_gradient_profile(alphas: Sequence[float] = DRAWN_ALPHAS[:-1], *, ax: Axes | None = None) -> Axes:
    """The gradient of the pair loss in the distractor's logit, against the gap of logits ``z_i - z_j``.

    It is largest, alpha + 1, where truth and distractor tie, and decays at rate alpha where the truth is behind
    and at rate alpha + 1 where it is ahead.

    Parameters
    ----------
    alphas
        From 0 to inf; at inf all of the gradient is at the tie, and a vertical line says so.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_gradient_profile([1.0], ax=Figure().subplots())
    >>> float(max(axes.lines[0].get_ydata()))
    2.0
    """
    axes = axes_of(ax)
    gaps = np.linspace(-WIDEST_GAP, WIDEST_GAP, 401)  # 0 is among them
    lines = []
    for number, alpha in enumerate(map(read_alpha, alphas)):
        if alpha == np.inf:
            lines.append(axes.axvline(0, **curve(number, alpha)))
        else:
            lines += axes.plot(gaps, -beta_loss_slope(gaps, alpha), **curve(number, alpha))
    axes.set(xlim=(-WIDEST_GAP, WIDEST_GAP), ylim=(0, None))
    axes.set(xlabel="truth ahead by, δ = $z_i - z_j$", ylabel=r"gradient $\partial L_α / \partial z_j$")
    name_lines(axes, lines, [alpha_name(alpha) for alpha in alphas], loc="upper left")
    return open_frame(axes)


def curve(number: int, alpha: float) -> Style:
    """How the curve of one of several alphas is drawn: that of Pandora's Regret is solid."""
    return {"color": COLOURS[number % 6], "linestyle": "-" if alpha == 1 else DASHES[number % 6], "linewidth": 1.4}


MOST_ACROSS = 4  # panels side by side, and names in a row of the legend
TEXT_STYLE = {"font.size": 11, "axes.titlesize": 11, "axes.labelsize": 11, "svg.fonttype": "none"}  # stays text


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
    for number, (name, cells) in enumerate(lines.items()):
        heights = np.arange(len(rows)) + (number - (len(lines) - 1) / 2) * 0.7 / len(lines)
        low, high = _mark(axes, cells, number, name, heights, linestyle="", markersize=4.5)
        axes.plot([low, high], [heights] * 2, color=COLOURS[number % 6], linewidth=1.4, solid_capstyle="butt")
    axes.axvline(0, color="0.3", linewidth=1, zorder=1)
    axes.set_yticks(range(len(rows)), rows)
    axes.set(ylim=(len(rows) - 0.5, -0.5), title=condition, xlabel="|τ| minus that of Pandora's Regret")
    return axes


def _rows_and_lines(grid: Grid, condition: str) -> tuple[Sequence[str], Mapping[str, Sequence[Cell]]]:
    """The names of the rows, and the cells in each colour; empty ones where there is no ranking."""
    compared = [index for index, title in enumerate(grid.metrics) if title != METRICS[BASELINE].title]
    table = {name: [Cell(None)] * len(compared) for _, name, _ in grid.rows}
    for title, name, cells in grid.rows:
        if title == condition:
            table[name] = [Cell(None) if cells[index].constant else cells[index] for index in compared]
    metrics = [grid.metrics[index] for index in compared]
    if len(table) <= len(metrics):
        return metrics, table
    return list(table), dict(zip(metrics, zip(*table.values(), strict=True), strict=True))


def _mark(
    axes: Axes,
    cells: Sequence[Cell],
    number: int,
    name: str,
    at: NDArray[np.floating],
    *,
    across: bool = False,
    markersize: float,
    linestyle: str = "-",
    linewidth: float | None = None,
) -> FloatArray:
    """The markers of one of several lines; hollow where models are ranked the wrong way round.

    They are at these heights, or at these places across; the ends of their intervals are (2, n), NaN if undefined.
    """
    values, *ends = np.array([(cell.value, cell.low, cell.high) for cell in cells], np.float64).T
    wrong = np.array([cell.reversed for cell in cells])
    points = np.stack([at, values] if across else [values, at])
    style: Style = {
        "color": COLOURS[number % 6],
        "marker": MARKERS[number % 6],
        "markersize": markersize,
        "linestyle": linestyle,
        "linewidth": linewidth,
    }
    axes.plot(*points, label=name, **style)
    axes.plot(*points[:, wrong], **style | {"linestyle": "", "markerfacecolor": "white", "zorder": 3})
    return np.array(ends)


def draw_tau_gaps(grid: Grid, path: Place) -> Path:
    """All conditions on one scale, into a file whose name says its kind: SVG, PDF or PNG."""
    conditions = list(dict.fromkeys(title for title, _, _ in grid.rows))
    across = min(len(conditions), MOST_ACROSS)
    down = ceil(len(conditions) / across)
    rows, _ = _rows_and_lines(grid, conditions[0])
    with sheet(path, 1.8 + 2.3 * across, 1.5 + down * (0.9 + 0.3 * len(rows)), TEXT_STYLE) as figure:
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
        figure.legend(handles, labels, loc="outside upper center", ncols=MOST_ACROSS, frameon=False)
    return Path(path)


def plot_sensitivity(
    numbers: Sequence[object], lines: Mapping[str, Sequence[Cell]], ax: Axes | None = None
) -> Axes:
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
    places = np.arange(len(numbers), dtype=np.float64)
    for number, (label, cells) in enumerate(lines.items()):
        low, high = _mark(axes, cells, number, label, places, across=True, markersize=3.5, linewidth=1.2)
        axes.fill_between(places, low, high, color=COLOURS[number % 6], alpha=0.12, linewidth=0)
    axes.set_xticks(places, [str(number) for number in numbers])
    axes.set(ylim=(0, 1), ylabel="|τ| with search cost")
    return axes


WIDTHS = {"column": 3.3, "page": 6.8}  # inches
FIGURES: Mapping[str, tuple[float, float, Callable[[Figure, bool], object]]] = {  # heights in a column, on a page
    "decision_regions": (6.3, 5.2, draw_decision_regions),
    "beta_simplex": (3.2, 1.6, draw_beta_simplex),
    "pair_loss": (2.4, 2.4, lambda figure, narrow: plot_pair_loss(ax=figure.subplots())),
    "gradient_profile": (2.4, 2.4, lambda figure, narrow: plot_gradient_profile(ax=figure.subplots())),
}


def draw_paper_figures(
    folder: Place,
    *,
    kind: str = "svg",
    width: str = "column",
    study: Place | None = None,
) -> list[Path]:
    """Draw the paper's figures from its formulas, one file each.

    Parameters
    ----------
    folder
        Where to; made if it is not there. Files of the same names are replaced.
    kind
        "svg", "pdf" or "png".
    width
        "column" or "page".
    study
        The output folder of a study, for the intervals of the gaps of tau, which are left out unless it is given.

    Returns
    -------
    list of Path
        The files that were written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in draw_paper_figures(folder)]
    ['decision_regions.svg', 'beta_simplex.svg', 'pair_loss.svg', 'gradient_profile.svg']
    """
    inches = WIDTHS[read_choice(width, "width", {name: f"{size:g} in" for name, size in WIDTHS.items()})]
    read_choice(kind, "kind", {ending[1:]: meaning for ending, meaning in FIGURE_FORMATS.items()})
    gaps = None if study is None else study_grid(read_results(study), "gap")
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for name, (in_column, on_page, draw) in FIGURES.items():
        paths.append(Path(folder) / f"{name}.{kind}")
        with sheet(paths[-1], inches, in_column if width == "column" else on_page) as figure:
            draw(figure, width == "column")
    return paths if gaps is None else [*paths, draw_tau_gaps(gaps, Path(folder) / f"tau_gaps.{kind}")]

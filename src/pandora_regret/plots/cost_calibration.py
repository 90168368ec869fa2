"""What forecasts say their searches will cost, against what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.plots.style import QUIET, axes_of, distinct_line, model_of, open_frame, spread, with_unit
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

LONGEST_NAME = 24
DIAGONAL, NAME = "calibrated", "name"  # what lines and words are called in an SVG file
LINE_HEIGHT = 0.06  # of a name, as a share of the axes


def plot_cost_calibration(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The search cost that forecasts predict of themselves, in bins, against the cost given the truth.

    A calibrated model lies on the diagonal; above it, searches cost more than the forecasts said. Models drawn
    on the same axes, one call each, differ in colour, marker or dashes, and have their names at the ends of lines.

    Parameters
    ----------
    comparison
        From `compare`, whose level the intervals have.
    model
        Its name; the cheapest unless given.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pandora_regret.compare import compare
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]]}, currency="EUR")
    >>> plot_cost_calibration(comparison, ax=Figure().subplots()).get_xlabel()
    'predicted cost (EUR)'
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    predicted, observed = np.array([(each.predicted, each.observed) for each in shown.calibration]).T
    limits = np.array([(each.low, each.high) for each in shown.calibration], dtype=np.float64)  # undefined: NaN
    limits = np.where(np.isnan(limits), observed[:, None], limits)
    style = distinct_line(comparison.models.index(shown))
    beyond = np.abs(limits - observed[:, None]).T
    axes.errorbar(
        predicted, observed, yerr=beyond, linewidth=1.0, elinewidth=0.6, markersize=4, label=shown.name, **style
    )
    _same_scales(axes, np.concatenate([predicted, *limits]))
    unit = comparison.costs.currency
    axes.set_xlabel(with_unit("predicted cost", unit), parse_math=False)
    axes.set_ylabel(with_unit("cost of the search", unit), parse_math=False)
    _name_lines_at_their_ends(axes)
    return open_frame(axes)


def _name_lines_at_their_ends(axes: Axes) -> None:
    """Beside the axes, level with the line's last point or as near as other names allow."""
    for word in [text for text in axes.texts if text.get_gid() == NAME]:
        word.remove()
    lines = [container[0] for container in axes.containers]  # each with its bars
    ends = [(float(line.get_xdata()[-1]), float(line.get_ydata()[-1])) for line in lines]
    low, high = axes.get_ylim()
    heights = spread([(y - low) / (high - low) for _, y in ends], LINE_HEIGHT)
    for container, line, end, height in zip(axes.containers, lines, ends, heights, strict=True):
        colour = line.get_color()
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "shrinkB": 3}
        leader |= {"relpos": (0, 0.5)}  # from the left of the name
        place: dict[str, Any] = {"xytext": (1.03, height), "textcoords": "axes fraction", "va": "center"}
        words: dict[str, Any] = {"color": colour, "fontsize": "small", "parse_math": False, "gid": NAME}
        name = shortened(str(container.get_label()), LONGEST_NAME)
        axes.annotate(name, end, arrowprops=leader, annotation_clip=False, **place, **words)


def _same_scales(axes: Axes, costs: FloatArray) -> None:
    """Equal scales, wide enough for these costs and what was there, and the diagonal of calibrated forecasts."""
    low, high = costs.min(), costs.max()
    room = 0.05 * (high - low or high or 1)
    ends = [max(0.0, low - room), high + room]
    if any(line.get_gid() == DIAGONAL for line in axes.lines):
        ends = [min(ends[0], axes.get_xlim()[0]), max(ends[1], axes.get_xlim()[1])]
    else:
        axes.axline((0, 0), slope=1, color=QUIET, linewidth=0.8, zorder=0, gid=DIAGONAL)
    axes.set(xlim=ends, ylim=ends)
    axes.set_aspect("equal")

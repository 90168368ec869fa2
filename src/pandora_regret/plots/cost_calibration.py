"""What forecasts say their searches will cost, against what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.plots.style import (
    COLOURS,
    MARKERS,
    QUIET,
    axes_of,
    model_of,
    name_lines,
    open_frame,
    with_unit,
)
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

LONGEST_NAME = 24
DIAGONAL = "calibrated"  # the line's name in an SVG file


def plot_cost_calibration(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The search cost that forecasts predict of themselves, in bins, against the cost given the truth.

    A calibrated model lies on the diagonal; above it, searches cost more than the forecasts said. Models drawn
    on the same axes, one call each, have different colours.

    Parameters
    ----------
    comparison
        From `compare`, whose level the intervals have.
    model
        Its name; the cheapest unless given.
    ax
        Where to draw; the current axes unless given.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pandora_regret.compare import compare
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]]}, currency="EUR")
    >>> plot_cost_calibration(comparison, ax=Figure().subplots()).get_xlabel()
    'predicted cost (EUR)'
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    number = comparison.models.index(shown) % len(COLOURS)
    predicted, observed = np.array([(each.predicted, each.observed) for each in shown.calibration]).T
    limits = np.array([(each.low, each.high) for each in shown.calibration], dtype=np.float64)  # undefined: NaN
    limits = np.where(np.isnan(limits), observed[:, None], limits)
    style: dict[str, Any] = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 4}
    beyond = np.abs(limits - observed[:, None]).T
    axes.errorbar(predicted, observed, yerr=beyond, linewidth=1.0, label=shown.name, **style)
    _same_scales(axes, np.concatenate([predicted, *limits]))
    unit = comparison.costs.currency
    axes.set_xlabel(with_unit("predicted cost", unit), parse_math=False)
    axes.set_ylabel(with_unit("cost of the search", unit), parse_math=False)
    names = [shortened(str(each.get_label()), LONGEST_NAME) for each in axes.containers]
    name_lines(axes, axes.containers, names, loc="lower left", bbox_to_anchor=(0, 1))  # above the points
    return open_frame(axes)


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

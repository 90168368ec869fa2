"""What forecasts say their searches will cost, against what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.plots.style import COLOURS, MARKERS, axes_of, model_of, name_lines, open_frame, with_unit
from pandora_regret.report.formats import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

LONGEST_NAME = 24


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
    >>> found = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]]}, currency="EUR")
    >>> plot_cost_calibration(found, ax=Figure().subplots()).get_xlabel()
    'predicted cost (EUR)'
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    bins, number = shown.calibration, comparison.models.index(shown) % len(COLOURS)
    predicted, observed = np.array([(each.predicted, each.observed) for each in bins]).T
    limits = np.array([(each.low, each.high) for each in bins], dtype=np.float64)  # undefined: NaN
    beyond = np.nan_to_num(np.abs(limits - observed[:, None]).T)
    style = {"color": COLOURS[number], "marker": MARKERS[number], "markersize": 4, "linewidth": 1.0}
    axes.errorbar(predicted, observed, yerr=beyond, elinewidth=1.0, label=shown.name, **style)  # type: ignore[arg-type]
    _same_scales(axes)
    unit = comparison.costs.currency
    axes.set_xlabel(with_unit("predicted cost", unit), parse_math=False)
    axes.set_ylabel(with_unit("cost of the search", unit), parse_math=False)
    handles = axes.containers
    name_lines(axes, handles, [shortened(each.get_label(), LONGEST_NAME) for each in handles], loc="upper left")
    return open_frame(axes)

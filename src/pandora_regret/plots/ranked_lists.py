"""Ranked lists: what they cost by the price of a miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.candidates import Candidates
from pandora_regret.candidates.miss import MissBreakEven, MissPrices
from pandora_regret.candidates.search import Until
from pandora_regret.core.inputs import FloatArray
from pandora_regret.plots.style import COLOURS, QUIET, axes_of, name_lines, open_frame, with_unit
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

N_PRICES = 60  # that are drawn
LONGEST_NAME = 24
CURVE_END = 2.0  # times the largest break-even price is drawn, or this times the cost of looking at a whole list


def plot_miss_curve(
    models: Mapping[str, Candidates],
    *,
    until: Until = "first",
    largest: float | None = None,
    unit: str | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """What each model's lists cost per case, by the price of a miss, with bands and break-even prices.

    A model that misses less rises less steeply. The bar across a mark is the interval of the break-even price.
    Bands are of single models: whether two differ is said by the bar.

    Parameters
    ----------
    models
        Lists by the models' names, all of the same cases in the same order. The first six have a colour each.
    until
        "first" or "all", as in `Candidates.costs`.
    largest
        The highest price of a miss that is drawn; twice the largest break-even price unless given.
    unit
        What prices are in; looks unless given.
    level
        Of the intervals.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> truth = ["a", "b", "a", "c"] * 10
    >>> models = {
    ...     "short": Candidates.from_lists([["a"]] * 40, truth),
    ...     "long": Candidates.from_lists([["c", "b", "a"]] * 40, truth),
    ... }
    >>> [line.get_label() for line in plot_miss_curve(models, ax=Figure().subplots()).lines[:2]]
    ['short', 'long']
    """
    axes = axes_of(ax)
    prices = MissPrices(models, until, level=level)
    crossings = prices.break_evens_in_question()
    end = largest
    if end is None:
        looked = [float(candidates.spending(None, until)[0].mean()) for candidates in models.values()]
        end = CURVE_END * max([crossing.price for crossing in crossings] or [max(looked)])
    handles = _draw_curves(axes, prices, end)
    for crossing in crossings:
        if crossing.price <= end:
            height = float(prices.figure(crossing.model, crossing.price).value)
            _draw_crossing(axes, crossing, height, end)
    unit = unit or "looks"
    axes.set(xlim=(0, end), ylim=(0, None))
    axes.set(xlabel=with_unit("price of a miss", unit), ylabel=with_unit("cost per case", unit))
    names = [shortened(name, LONGEST_NAME) for name in models]
    name_lines(axes, handles[: len(COLOURS)], names[: len(COLOURS)], loc="upper left")
    return open_frame(axes)


def _draw_curves(axes: Axes, prices: MissPrices, end: float) -> list[Line2D]:
    """A line and a band for each model, up to a price; the lines."""
    across = np.linspace(0.0, end, N_PRICES)
    lines = []
    for number, (name, costs) in enumerate(prices.curve(across.tolist()).costs.items()):
        colour = COLOURS[number] if number < len(COLOURS) else QUIET
        values = _drawable([estimate.value for estimate in costs])
        lines += axes.plot(across, values, color=colour, linewidth=1.4, label=name)
        lows = _drawable([estimate.low for estimate in costs])
        highs = _drawable([estimate.high for estimate in costs])
        axes.fill_between(across, lows, highs, color=colour, alpha=0.15, linewidth=0)
    return lines


def _draw_crossing(axes: Axes, crossing: MissBreakEven, height: float, end: float) -> None:
    """A mark where two curves cross, at this height, and a bar across it for the interval."""
    low = 0.0 if crossing.low is None else crossing.low
    high = end if crossing.high is None else min(crossing.high, end)
    axes.plot([low, high], [height, height], color="black", linewidth=1.0)
    axes.plot([crossing.price], [height], marker="o", markersize=4, color="black")


def _drawable(values: Sequence[float | None]) -> FloatArray:
    """Values to draw; what is not known is NaN, and left out."""
    return np.array([np.nan if value is None else value for value in values])

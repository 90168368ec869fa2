"""Who pays for which wrong test, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.plots.style import SHADES, axes_of, model_of, with_unit
from pandora_regret.text import decimals_for, fixed, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

MOST_WRITTEN = 10  # classes whose numbers fit into their cells
LONGEST_NAME, LONGEST_TITLE = 16, 26
DARK = 0.55  # of the largest, from where numbers are white


def plot_pair_costs(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """What a model spends per case, in the mean, on testing a wrong class, by true class.

    Classes are ordered by cost: first the one on which most is spent, as a truth and as a wrong test together.
    The sum of all cells, plus the cost of testing the truth itself, is the expected search cost.

    Parameters
    ----------
    comparison
        From `compare`, of one model or of several.
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
    >>> vague = {"vague": [[0.5, 0.5], [0.5, 0.5]]}
    >>> comparison = compare(["a", "b"], vague, labels=["a", "b"], typical_costs=[60, 30])
    >>> axes = plot_pair_costs(comparison, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['10.0', '2.5']
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    spent, measured = np.array(shown.pair_costs), with_unit("cost per case", comparison.costs.currency)
    order = np.argsort(-(spent.sum(axis=0) + spent.sum(axis=1)), kind="stable")
    costs = spent[np.ix_(order, order)]
    cells = axes.pcolormesh(costs, cmap=SHADES, vmin=0, edgecolors="white", linewidth=0.5)
    title = shortened(shown.name, LONGEST_TITLE)
    if len(costs) <= MOST_WRITTEN:
        _write(axes, costs)
        title += f"\n{measured}"
    else:
        axes.figure.colorbar(cells, ax=axes).set_label(measured, parse_math=False)
    axes.set_title(title, parse_math=False)
    _name_classes(axes, [shortened(comparison.data.classes[k], LONGEST_NAME) for k in order])
    axes.spines[:].set_visible(False)
    return axes


def _name_classes(axes: Axes, names: Sequence[str]) -> None:
    middles, long = np.arange(len(names)) + 0.5, max(map(len, names)) > 3
    oblique: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axes.set_xticks(middles, names, parse_math=False, **oblique)
    axes.set_yticks(middles, names, parse_math=False)
    axes.tick_params(length=0)
    axes.set(xlabel="tested", ylabel="truth", ylim=(len(names), 0))


def _write(axes: Axes, costs: FloatArray) -> None:
    """Three digits of the largest, as many decimals for all; what rounds to nothing stays blank."""
    largest = costs.max()
    decimals = decimals_for(largest)
    size = "small" if len(costs) <= 4 else "x-small" if len(costs) <= 7 else "xx-small"
    for (i, j), cost in np.ndenumerate(costs):
        if round(cost, decimals) > 0:
            colour = "white" if cost > DARK * largest else "black"
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, "color": colour}
            axes.text(j + 0.5, i + 0.5, fixed(cost, decimals), **style)

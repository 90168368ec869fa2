"""Models under every member of the Beta family: who is best depends on how much costs vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.plots.style import COLOURS, axes_of, model_line, name_lines, open_frame
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

TICKS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)
LONGEST_NAME = 18


def plot_alpha_curve(comparison: Comparison, *, relative: bool = False, ax: Axes | None = None) -> Axes:
    """The score S_alpha of every model against alpha, from the logarithmic limit to ranks alone.

    Across, alpha stands at ``alpha / (alpha + 1)``, the mean unit cost, so that both limits have a place. The six
    cheapest models have a colour each, others are grey. An infinite score, of a truth given probability 0 as
    alpha tends to 0, is left out.

    Parameters
    ----------
    comparison
        From `compare`.
    relative
        Whether to divide by the least score at the same alpha, so that the best model is at 1.
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
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]], "vague": [[0.6, 0.4], [0.4, 0.6]]})
    >>> len(plot_alpha_curve(comparison, ax=Figure().subplots()).lines)
    2
    """
    axes = axes_of(ax)
    alphas = np.array([float(alpha) for alpha in comparison.alphas])
    scores = np.array([model.alphas for model in comparison.models], dtype=np.float64)  # undefined: NaN
    if relative:
        scores = scores / np.fmin.reduce(scores, axis=0)
    style = {"markersize": 3, "linewidth": 1.2, "clip_on": False}
    lines = [axes.plot(_place(alphas), row, **model_line(n, **style))[0] for n, row in enumerate(scores)]
    axes.set_xticks(_place(np.array(TICKS)), ["∞" if tick == np.inf else f"{tick:g}" for tick in TICKS])
    axes.set(xlim=(0, 1), xlabel="α", ylabel="score $S_α$ / least" if relative else "score $S_α$")
    coloured, models = lines[: len(COLOURS)], comparison.models[: len(COLOURS)]
    names = [shortened(model.name, LONGEST_NAME) for model in models]
    name_lines(axes, coloured, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return open_frame(axes)


def _place(alphas: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 + 1 / alphas))

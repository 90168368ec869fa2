"""How scores of instances are spread, one ridge per true class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, Labels, Table
from pandora_regret.plots.style import COLOURS, LEAST_SHOWN, QUIET, axes_of, beside, open_frame, scored, tint
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 30
HIGHEST = 0.85  # of a ridge; the next one begins at 1
LONGEST_NAME = 18


def plot_score_histograms(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = 1.0,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """How the scores of instances are spread, by true class: each class's own histogram, and its mean as a line.

    Scores are on a logarithmic scale, since most of them are small; those below 0.001 are in the first bin, which
    is cut off where it is the highest, its share written beside it. Infinite scores, of a truth given
    probability 0 as alpha tends to 0, are said at the right.

    Parameters
    ----------
    y_true, y_proba, alpha, labels, sample_weight, logits, normalise
        As in `pandora_regret`.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> y_proba = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
    >>> axes = plot_score_histograms(["a", "a", "b"], y_proba, labels=["a", "b"], ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['a', 'b']
    """
    axes = axes_of(ax)
    options = {"labels": labels, "sample_weight": sample_weight, "logits": logits, "normalise": normalise}
    forecast, scores, title = scored(y_true, y_proba, alpha, **options)
    highest = max(scores[np.isfinite(scores)], default=0.0)
    edges = np.geomspace(LEAST_SHOWN, max(highest, 10 * LEAST_SHOWN), BINS + 1)
    for k in range(forecast.n_classes):
        _draw_ridge(axes, k, scores[forecast.truth == k], forecast.each_weight[forecast.truth == k], edges)
    names = [shortened(str(label), LONGEST_NAME) for label in forecast.labels]
    axes.set_yticks(np.arange(len(names)) - HIGHEST / 2, names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.set(xscale="log", xlim=(edges[0], edges[-1]), ylim=(len(names) - 0.9, -1))
    powers = [power for power in 10.0 ** np.arange(-3, 4) if power <= edges[-1]]
    axes.set_xticks(powers, [f"≤ {powers[0]:g}", *(f"{power:g}" for power in powers[1:])])
    axes.set_xlabel(f"{title} (line: mean)")
    axes.spines["left"].set_visible(False)
    return open_frame(axes)


def _draw_ridge(axes: Axes, k: int, scores: FloatArray, weights: FloatArray, edges: FloatArray) -> None:
    finite, colour = np.isfinite(scores), COLOURS[k % len(COLOURS)]
    shown = np.clip(scores[finite], edges[0], edges[-1])  # rounding may have moved the last edge
    heights = np.histogram(shown, edges, weights=weights[finite])[0]
    if heights.sum() > 0:
        if heights[0] > heights[1:].max() > 0:  # and is cut off: its share says how high it is
            share = f"{100 * heights[0] / heights.sum():.0f} %"
            place = (2, 0, "left", "top")
            beside(axes, share, (edges[1], k - HIGHEST), place, fontsize="x-small", color="0.4")
        heights = np.minimum(heights * HIGHEST / (heights[1:].max() or heights[0]), HIGHEST)
        axes.stairs(k - heights, edges, baseline=k, fill=True, facecolor=tint(colour), edgecolor=colour)
        mean = max(np.average(scores[finite], weights=weights[finite]), edges[0])
        axes.plot([mean, mean], [k, k - HIGHEST], color="black", linewidth=1.0)
    axes.axhline(k, color=QUIET, linewidth=0.6, zorder=1)
    infinite, total = weights[~finite].sum(), weights.sum()
    if infinite or not total:
        remark = f"{100 * infinite / total:.2g} % infinite" if total else "no cases"
        beside(axes, remark, (edges[-1], k), (0, 1, "right", "bottom"), fontsize="small", color="0.4")

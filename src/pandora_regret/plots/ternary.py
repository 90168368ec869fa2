"""Forecasts of three classes as points of a triangle, shaded by what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, IntArray, Labels, Table, read_labelled
from pandora_regret.kernels.reference import probabilities
from pandora_regret.optional import import_optional
from pandora_regret.plots.simplex import LONGEST_NAME, frame, three_classes, to_plane
from pandora_regret.plots.style import LEAST_SHOWN, MARKERS, QUIET, SHADES_OF_POINTS, axes_of, score_name
from pandora_regret.scores import pandora_regret
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

MOST_DRAWN = 5000  # points as vector graphics; more of them become pixels within the drawing
SIGNS = "●■◆"  # the first three markers, in writing


def plot_ternary(
    y_true: Labels,
    y_proba: Table,
    *,
    alpha: float = 1.0,
    labels: ArrayLike | None = None,
    logits: bool = False,
    normalise: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """A set of forecasts of three classes on the simplex, shaded by their score.

    The marker at a corner's name is that of the forecasts for which this class is the truth. Shades are
    logarithmic, so that good forecasts differ among themselves too: scores below 0.001 have the lightest shade,
    infinite ones the darkest. Thin lines bound the forecasts whose likeliest class is the same.

    Parameters
    ----------
    y_true, y_proba, alpha, labels, logits, normalise
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
    >>> y_proba = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]]
    >>> axes = plot_ternary(["flu", "cold"], y_proba, labels=["flu", "cold", "other"], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['● flu', '■ cold', '◆ other', 'marker: truth']
    """
    axes = axes_of(ax)
    forecast = three_classes(
        read_labelled(y_true, y_proba, labels=labels, logits=logits, normalise=normalise)
    ).check()
    scores = pandora_regret(
        forecast.truth, forecast.values, alpha=alpha, logits=forecast.logits, per_instance=True
    )
    places = to_plane(np.concatenate([probabilities(block) for block in forecast.blocks()]))
    points = _scatter(axes, places, scores, forecast.truth)
    _draw_borders(axes)
    signs = zip(SIGNS, forecast.labels, strict=True)
    frame(axes, [f"{sign} {shortened(str(label), LONGEST_NAME)}" for sign, label in signs])
    axes.text(0, 0.75, "marker: truth", fontsize="x-small", color="0.4", transform=axes.transAxes)
    bar = axes.figure.colorbar(points, ax=axes, label=score_name(alpha), shrink=0.8, extend="min")
    bar.ax.yaxis.set_major_formatter("{x:g}")
    return axes


def _draw_borders(axes: Axes) -> None:
    """From the middle of the triangle to the middle of each side."""
    middle = to_plane(np.full(3, 1 / 3))
    for side in to_plane((1 - np.eye(3)) / 2):
        axes.plot(*np.stack([middle, side]).T, color=QUIET, linewidth=0.6, zorder=0)


def _scatter(axes: Axes, places: FloatArray, scores: FloatArray, truth: IntArray) -> PathCollection:
    """Every class with its marker and all with the same shades; among its points, the most expensive on top."""
    highest = max(max(scores[np.isfinite(scores)], default=0.0), 10 * LEAST_SHOWN)
    scale = import_optional("matplotlib.colors", extra="report").LogNorm(LEAST_SHOWN, highest)
    for k in np.unique(truth):
        rows = np.flatnonzero(truth == k)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        shown = np.clip(scores[rows], LEAST_SHOWN, highest)
        outline: dict[str, Any] = {"edgecolors": "0.3", "linewidths": 0.3, "rasterized": len(truth) > MOST_DRAWN}
        x, y = places[rows].T
        points = axes.scatter(x, y, s=14, c=shown, cmap=SHADES_OF_POINTS, norm=scale, marker=MARKERS[k], **outline)
    return points

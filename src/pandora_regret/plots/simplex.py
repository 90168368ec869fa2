"""Forecasts of three classes as points of a triangle: where they lie, convex parts of it, and scores there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, Forecast, InputError, Labels, Table
from pandora_regret.kernels.reference import probabilities
from pandora_regret.plots.style import LEAST_SHOWN, MARKERS, QUIET, SHADES_OF_POINTS, axes_of, beside, scored
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])  # of a certain class 0, 1, 2
WHOLE = np.eye(3)  # the triangle as a convex polygon: its corners, as forecasts
ROOM = 0.02  # around it
LONGEST_NAME = 14  # of a corner


def three_classes(forecast: Forecast) -> Forecast:
    """The forecast, if a triangle can show it."""
    if forecast.n_classes != 3:
        raise InputError(f"{forecast.name} has {forecast.n_classes} classes: a triangle shows three.")
    return forecast


def to_plane(forecasts: FloatArray) -> FloatArray:
    """Where forecasts (n, 3) lie, (n, 2)."""
    return np.asarray(forecasts @ CORNERS)


def clipped(polygon: FloatArray, side: FloatArray) -> FloatArray:
    """The part of a convex polygon, (n, 3), where ``side @ p >= 0``; empty where there is none."""
    heights, corners = polygon @ side, []
    for index, (height, before) in enumerate(zip(heights, np.roll(heights, 1), strict=True)):
        if (before < 0) != (height < 0):
            corners.append(polygon[index - 1] + (polygon[index] - polygon[index - 1]) * before / (before - height))
        if height >= 0:
            corners.append(polygon[index])
    return np.array(corners).reshape(-1, 3)


def area(polygon: FloatArray) -> float:
    """Of a convex polygon, as a share of the triangle."""
    return float(sum(abs(np.linalg.det([polygon[0], a, b])) for a, b in pairwise(polygon[1:])))


def frame(axes: Axes, names: Sequence[str], colours: Sequence[str] = ("black",) * 3) -> None:
    """The triangle's outline and the names of its corners, on axes without scales."""
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color="black", linewidth=0.8, solid_joinstyle="round", zorder=3)
    below = -3 if len(names[1]) + len(names[2]) <= LONGEST_NAME else -14  # on a line of its own
    places = [(0, 3, "center", "bottom"), (-3, -3, "left", "top"), (3, below, "right", "top")]
    for corner, name, colour, place in zip(CORNERS, names, colours, places, strict=True):
        beside(axes, name, corner, place, color=colour)
    axes.set(xlim=(-ROOM, 1 + ROOM), ylim=(-ROOM, CORNERS[0, 1] + ROOM), aspect="equal")
    axes.set_axis_off()


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
    from matplotlib.colors import LogNorm

    forecast, scores, title = scored(y_true, y_proba, alpha, labels=labels, logits=logits, normalise=normalise)
    places = to_plane(np.concatenate([probabilities(block) for block in three_classes(forecast).blocks()]))
    highest = max(max(scores[np.isfinite(scores)], default=0.0), 10 * LEAST_SHOWN)
    scale = LogNorm(LEAST_SHOWN, highest)
    for k in np.unique(forecast.truth):  # the most expensive on top
        rows = np.flatnonzero(forecast.truth == k)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        shown = np.clip(scores[rows], LEAST_SHOWN, highest)
        x, y = places[rows].T
        points = axes.scatter(
            x,
            y,
            s=14,
            c=shown,
            cmap=SHADES_OF_POINTS,
            norm=scale,
            marker=MARKERS[k],
            edgecolors="0.3",
            linewidths=0.3,
            rasterized=len(scores) > MOST_DRAWN,
        )
    middle = to_plane(np.full(3, 1 / 3))
    for side in to_plane((1 - np.eye(3)) / 2):
        axes.plot(*np.stack([middle, side]).T, color=QUIET, linewidth=0.6, zorder=0)
    signs = zip(SIGNS, forecast.labels, strict=True)
    frame(axes, [f"{sign} {shortened(str(label), LONGEST_NAME)}" for sign, label in signs])
    axes.text(0, 0.75, "marker: truth", fontsize="x-small", color="0.4", transform=axes.transAxes)
    bar = axes.figure.colorbar(points, ax=axes, label=title, shrink=0.8, extend="min")
    bar.ax.yaxis.set_major_formatter("{x:g}")
    return axes

"""Forecasts of three classes as points of a triangle, shaded by what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, IntArray, Labels, Table, read_labelled
from pandora_regret.kernels.reference import probabilities
from pandora_regret.plots.simplex import LONGEST_NAME, frame, three_classes, to_plane
from pandora_regret.plots.style import MARKERS, SHADES_OF_POINTS, axes_of, score_name
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

    The marker at a corner's name is that of the forecasts for which this class is the truth. Infinite scores have
    the darkest shade. Parameters as in `pandora_regret`; `ax` is where to draw, the current axes unless given.

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
    signs = zip(SIGNS, forecast.labels, strict=True)
    frame(axes, [f"{sign} {shortened(str(label), LONGEST_NAME)}" for sign, label in signs])
    axes.text(0, 0.75, "marker: truth", fontsize="x-small", color="0.4", transform=axes.transAxes)
    axes.figure.colorbar(points, ax=axes, label=score_name(alpha), shrink=0.8)
    return axes


def _scatter(axes: Axes, places: FloatArray, scores: FloatArray, truth: IntArray) -> PathCollection:
    """Every class with its marker and all with the same shades; among its points, the dearest on top."""
    highest = max(scores[np.isfinite(scores)], default=0.0) or 1.0
    for k in np.unique(truth):
        rows = np.flatnonzero(truth == k)
        rows = rows[np.argsort(scores[rows], kind="stable")]
        shades: dict[str, Any] = {"c": np.minimum(scores[rows], highest), "cmap": SHADES_OF_POINTS, "vmin": 0}
        outline: dict[str, Any] = {"edgecolors": "0.3", "linewidths": 0.3, "rasterized": len(truth) > MOST_DRAWN}
        x, y = places[rows].T
        points = axes.scatter(x, y, s=14, marker=MARKERS[k], vmax=highest, **shades, **outline)
    return points

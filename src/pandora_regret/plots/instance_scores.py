"""Scores of instances: how they are spread, one ridge per true class, and where they lie on the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, Forecast, Labels, Table, read_labelled
from pandora_regret.kernels.reference import probabilities
from pandora_regret.plots.decision_regions import LONGEST_NAME, frame, three_classes, to_plane
from pandora_regret.plots.style import COLOURS, MARKERS, QUIET, Style, axes_of, beside, open_frame, tint
from pandora_regret.scores import pandora_regret
from pandora_regret.text import alpha_name, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_SHOWN = 1e-3  # of a score on a logarithmic scale, which has no place for 0: lower ones are shown here
BINS = 30
HIGHEST = 0.85  # of a ridge; the next one begins at 1
LONGEST_ROW = 18  # the name of a row


def scored(
    y_true: Labels, y_proba: Table, alpha: float, **options: Any
) -> tuple[Forecast, FloatArray, float, str]:
    """Labelled forecasts, the score of each, the highest that has a place on the scale, and what it is called."""
    forecast = read_labelled(y_true, y_proba, **options).check()
    scores = pandora_regret(
        forecast.truth, forecast.values, alpha=alpha, logits=forecast.logits, per_instance=True
    )
    highest = max(10 * LEAST_SHOWN, *scores[np.isfinite(scores)])
    return forecast, scores, highest, "Pandora’s Regret" if alpha == 1 else f"score $S_α$, {alpha_name(alpha)}"


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
    forecast, scores, highest, title = scored(
        y_true, y_proba, alpha, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    edges = np.geomspace(LEAST_SHOWN, highest, BINS + 1)
    for k in range(forecast.n_classes):
        ours = forecast.truth == k
        _draw_ridge(axes, k, scores[ours], forecast.each_weight[ours], edges)
    names = [shortened(str(label), LONGEST_ROW) for label in forecast.labels]
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
            share, place = f"{100 * heights[0] / heights.sum():.0f} %", (2, 0, "left", "top")
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

    forecast, scores, highest, title = scored(
        y_true, y_proba, alpha, labels=labels, logits=logits, normalise=normalise
    )
    x, y = to_plane(np.concatenate([probabilities(block) for block in three_classes(forecast).blocks()])).T
    style: Style = {"s": 14, "edgecolors": "0.3", "linewidths": 0.3, "rasterized": len(scores) > MOST_DRAWN}
    style |= {"cmap": "cividis_r", "norm": LogNorm(LEAST_SHOWN, highest)}  # all shades seen on white
    order, shown = np.argsort(scores, kind="stable"), np.clip(scores, LEAST_SHOWN, highest)
    for k in np.unique(forecast.truth):
        rows = order[forecast.truth[order] == k]  # the most expensive on top
        points = axes.scatter(x[rows], y[rows], c=shown[rows], marker=MARKERS[k], **style)
    middle = to_plane(np.full(3, 1 / 3))
    for side in to_plane((1 - np.eye(3)) / 2):
        axes.plot(*np.stack([middle, side]).T, color=QUIET, linewidth=0.6, zorder=0)
    signs = zip(SIGNS, forecast.labels, strict=True)
    frame(axes, [f"{sign} {shortened(str(label), LONGEST_NAME)}" for sign, label in signs])
    axes.text(0, 0.75, "marker: truth", fontsize="x-small", color="0.4", transform=axes.transAxes)
    bar = axes.figure.colorbar(points, ax=axes, label=title, shrink=0.8, extend="min")
    bar.ax.yaxis.set_major_formatter("{x:g}")
    return axes

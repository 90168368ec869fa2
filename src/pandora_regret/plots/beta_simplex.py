"""The paper's second figure: the Beta family of scores over the simplex, from magnitudes to ranks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray, read_alpha
from pandora_regret.optional import import_optional
from pandora_regret.plots.decision_rules import read_case
from pandora_regret.plots.simplex import area_and_centre, frame, lattice, to_plane
from pandora_regret.plots.style import COLUMN, MIDDLE, SHADES, axes_of, sheet
from pandora_regret.scores import pandora_regret
from pandora_regret.text import alpha_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

ALPHAS = (0.0, 0.3, 1.0, 3.0, np.inf)
# The same for all alphas, so that shades compare; finer where forecasts are good, which would look alike
LEVELS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
STEPS = 100


def plot_beta_simplex(
    alpha: float = 1.0,
    *,
    labels: Sequence[str] = ("truth", "j", "k"),
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """The score S_alpha of every forecast of three classes, of which the first is the truth.

    Parameters
    ----------
    alpha
        From 0 to inf, as in `pandora_regret`; at inf, shades are constant between the lines of equal rank.
    labels
        Names of the three corners.
    colorbar
        Whether to say beside it what shades mean: they mean the same for every alpha.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> plot_beta_simplex(alpha=1, ax=Figure().subplots()).get_title()
    'α = 1'
    """
    alpha, axes = read_alpha(alpha), axes_of(ax)
    shades = _shades()
    if alpha == np.inf:
        _fill_ranks(axes, shades)
    else:
        _fill_contours(axes, alpha, shades)
    axes.set_title(alpha_name(alpha), pad=14)  # above the name of the corner
    frame(axes, labels)
    if colorbar:
        _explain(axes, shades)
    return axes


def _shades() -> ScalarMappable:
    matplotlib = import_optional("matplotlib", extra="report")
    colours = matplotlib.colormaps[SHADES]
    limits = import_optional("matplotlib.colors", extra="report").BoundaryNorm(LEVELS, colours.N, extend="max")
    mappable: ScalarMappable = import_optional("matplotlib.cm", extra="report").ScalarMappable(limits, colours)
    return mappable


def _scores(forecasts: FloatArray, alpha: float) -> FloatArray:
    return pandora_regret(np.zeros(len(forecasts), np.intp), forecasts, alpha=alpha, per_instance=True)


def _fill_contours(axes: Axes, alpha: float, shades: ScalarMappable) -> None:
    forecasts, triangles = lattice(STEPS)
    mesh = import_optional("matplotlib.tri", extra="report").Triangulation(*to_plane(forecasts).T, triangles)
    scores = np.minimum(_scores(forecasts, alpha), 2 * LEVELS[-1])  # infinite on an edge as alpha tends to 0
    filled = axes.tricontourf(mesh, scores, LEVELS, cmap=shades.cmap, norm=shades.norm, extend="max")
    filled.set(edgecolor="face", linewidth=0.3)  # no white seams in a PDF
    axes.tricontour(mesh, scores, LEVELS, colors="white", linewidths=0.3)


def _fill_ranks(axes: Axes, shades: ScalarMappable) -> None:
    """Exactly: the score knows nothing but how many classes come before the truth."""
    case = read_case("sequential", np.full(3, 1 / 3), np.ones(3), 0, None)
    for region in case.regions():
        centre = area_and_centre(region.corners)[1]
        colour: Any = shades.to_rgba(_scores(centre[None], np.inf))[0]
        axes.fill(*to_plane(region.corners).T, facecolor=colour, edgecolor=colour, linewidth=0.3)


def _explain(axes: Axes | Sequence[Axes], shades: ScalarMappable, **where: Any) -> None:
    figure = axes.figure if hasattr(axes, "figure") else axes[0].figure
    figure.colorbar(shades, ax=axes, label="score $S_α$", ticks=LEVELS, format="%g", **where)


def draw_beta_simplex(path: str | os.PathLike[str], width: float = COLUMN) -> Path:
    """The family from alpha = 0 to inf, into a file: in two rows in a column, in one on a page."""
    narrow = width < MIDDLE
    with sheet(path, width, 3.2 if narrow else 1.6) as figure:
        panels = list(figure.subplots(*((2, 3) if narrow else (1, 5))).flat)
        for alpha, panel in zip(ALPHAS, panels, strict=False):
            plot_beta_simplex(alpha, colorbar=False, ax=panel)
        for panel in panels[len(ALPHAS) :]:
            panel.set_axis_off()
        place = {"location": "bottom", "aspect": 40} if narrow else {"location": "right", "aspect": 15}
        _explain(panels, _shades(), **place)
    return Path(path)

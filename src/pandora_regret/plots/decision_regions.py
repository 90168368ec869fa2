"""The paper's first two figures: what four decision rules test, and the Beta family of scores, on the simplex."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.inputs import FloatArray, read_alpha, read_choice, read_costs, read_probabilities
from pandora_regret.inputs.labels import read_truth
from pandora_regret.optional import import_optional
from pandora_regret.plots.simplex import (
    LONGEST_NAME,
    WHOLE,
    area_and_centre,
    bands,
    clipped,
    frame,
    lattice,
    three_classes,
    to_plane,
    width_at,
)
from pandora_regret.plots.style import COLOURS, COLUMN, MIDDLE, QUIET, SHADES, axes_of, open_frame, sheet, tint
from pandora_regret.scores import pandora_regret
from pandora_regret.text import alpha_name, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

RULES = {
    "simultaneous": "tests every class with p > c",
    "pairwise": "tests the better of the truth and one other class",
    "top1": "tests the class of largest p / c, and no other",
    "sequential": "tests by falling p / c until it finds the truth",
}
COSTS, FORECAST = (0.25, 0.2, 0.35), (0.35, 0.5, 0.15)  # of the paper's figure as it is drawn here
NOTHING = 1e-12  # a part of the simplex so small is rounding


@dataclass(frozen=True)
class Region:
    """Forecasts that make a rule test the same classes."""

    tested: tuple[int, ...]  # in the order of the tests, where there is one
    corners: FloatArray  # (n, 3)


@dataclass(frozen=True)
class Case:
    """A rule, and one instance it is applied to."""

    rule: str
    forecast: FloatArray  # (3,)
    costs: FloatArray  # (3,)
    truth: int
    names: tuple[str, ...]

    @property
    def tested(self) -> tuple[int, ...]:
        """What the rule tests: that of the part of the simplex where the forecast lies deepest."""
        cuts = _CUTS[self.rule](self.costs, self.truth)
        return max(cuts, key=lambda cut: min(side @ self.forecast for side in cut[1]))[0]

    @property
    def rival(self) -> int:
        """The class that the truth is compared with, in a pairwise comparison."""
        return _rival(self.truth)

    def regions(self) -> list[Region]:
        """All parts of the simplex that the rule tells apart; together they are all of it."""
        regions = []
        for tested, sides in _CUTS[self.rule](self.costs, self.truth):
            corners = WHOLE
            for side in sides:
                corners = clipped(corners, side)
            regions.append(Region(tested, corners))
        return [region for region in regions if area_and_centre(region.corners)[0] > NOTHING]


def read_case(rule: str, forecast: Any, costs: Any, truth: Any, labels: ArrayLike | None) -> Case:
    """A rule and an instance of three classes, checked."""
    read_choice(rule, "rule", RULES)
    case = three_classes(read_probabilities([forecast], labels=labels, name="forecast")).check()
    prices = np.broadcast_to(read_costs(costs, case.labels, len(case)), (1, 3))[0]
    number = 0 if truth is None else int(read_truth([truth], case.labels, 1)[0])
    names = (
        ("1", "2", "3") if labels is None else tuple(shortened(str(label), LONGEST_NAME) for label in case.labels)
    )
    return Case(rule, case.values[0].astype(np.float64), prices, number, names)


Cuts: TypeAlias = Iterator[tuple[tuple[int, ...], Sequence[FloatArray]]]  # tested where every ``side @ p >= 0``


def _simultaneous(costs: FloatArray, truth: int) -> Cuts:
    above = np.eye(3) - costs[:, None]  # p_k - c_k, as p adds up to 1
    for signs in product([1.0, -1.0], repeat=3):
        yield tuple(k for k in range(3) if signs[k] > 0), list(np.array(signs)[:, None] * above)


def _pairwise(costs: FloatArray, truth: int) -> Cuts:
    other = _rival(truth)
    yield (truth,), [_before(truth, other, costs)]
    yield (other,), [_before(other, truth, costs)]


def _top1(costs: FloatArray, truth: int) -> Cuts:
    for k in range(3):
        yield (k,), [_before(k, j, costs) for j in range(3) if j != k]


def _sequential(costs: FloatArray, truth: int) -> Cuts:
    others = [k for k in range(3) if k != truth]
    for first in (order for n in range(3) for order in permutations(others, n)):
        tests = (*first, truth)
        pairs = [*pairwise(tests), *((truth, k) for k in others if k not in first)]
        yield tests, [_before(a, b, costs) for a, b in pairs]


def _rival(truth: int) -> int:
    return (truth + 1) % 3


def _before(a: int, b: int, costs: FloatArray) -> FloatArray:
    """``p_a / c_a - p_b / c_b``."""
    side = np.zeros(3)
    side[[a, b]] = 1 / costs[a], -1 / costs[b]
    return side


_CUTS = {"simultaneous": _simultaneous, "pairwise": _pairwise, "top1": _top1, "sequential": _sequential}


TITLES = {
    "simultaneous": "A  Simultaneous",
    "pairwise": "B  Pairwise",
    "top1": "C  Top-1",
    "sequential": "D  Sequential",
}
OTHER: dict[str, Any] = {"linestyle": "", "marker": "o", "markersize": 5}
TRUTH: dict[str, Any] = {"linestyle": "", "marker": "*", "markersize": 8}
ALL_THREE, BEYOND = "0.75", "0.93"
LETTER = 0.06  # the size of a letter, as a part of the triangle's side


def plot_decision_simplex(
    rule: str = "sequential",
    *,
    forecast: ArrayLike = FORECAST,
    costs: ArrayLike = COSTS,
    truth: Any = None,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What a decision rule tests, for every forecast of three classes.

    One colour: one class is tested; stripes: two; grey: all three; white: none.

    Parameters
    ----------
    rule
        "simultaneous" tests every class with p > c, "pairwise" the better of the truth and the next class, "top1"
        the class of largest p / c, and "sequential" by falling p / c until the truth is found.
    forecast
        Three probabilities, which are marked.
    costs
        Of the three tests.
    truth
        The true class, on which it depends what "sequential" tests; the first unless given.
    labels
        Names of the classes.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_decision_simplex("top1", costs=[1, 2, 1], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['1', '2', '3', '1', '2', '3']
    """
    case, axes = read_case(rule, forecast, costs, truth, labels), axes_of(ax)
    for region in case.regions():
        _fill(axes, region)
        _name(axes, region, case)
    if rule == "pairwise":
        _same_probability_of_truth(axes, case)
    axes.plot(*to_plane(case.forecast), "o", color="black", markersize=3, zorder=4)
    frame(axes, case.names, COLOURS[:3])
    return axes


def _fill(axes: Axes, region: Region) -> None:
    colours: list[Any] = [tint(COLOURS[k]) for k in region.tested]
    ground = {0: "white", 3: ALL_THREE}.get(len(colours)) or colours[0]
    axes.fill(*to_plane(region.corners).T, facecolor=ground, edgecolor="black", linewidth=0.5)
    if len(colours) == 2:
        for band in bands(region.corners):
            axes.fill(*to_plane(band).T, facecolor=colours[1], linewidth=0)


def _name(axes: Axes, region: Region, case: Case) -> None:
    """The only class that is tested, beside the mark of the forecast, where there is room for it."""
    if len(region.tested) != 1:
        return
    name, centre = case.names[region.tested[0]], area_and_centre(region.corners)[1]
    for place in (centre, *(centre + region.corners) / 2):
        across, up = np.abs(to_plane(place) - to_plane(case.forecast))
        free = across > LETTER * (len(name) + 1) / 2 or up > LETTER
        if free and width_at(region.corners, place) > LETTER * (len(name) + 1):
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": "small", "parse_math": False}
            x, y = to_plane(place)
            axes.text(x, y, name, **style)
            return


def _same_probability_of_truth(axes: Axes, case: Case) -> None:
    """The forecasts that give the truth as much: they lie on both sides of the comparison."""
    others = [k for k in range(3) if k != case.truth]
    ends = np.zeros((2, 3))
    ends[:, case.truth] = case.forecast[case.truth]
    ends[[0, 1], others] = 1 - case.forecast[case.truth]
    axes.plot(*to_plane(ends).T, color="black", linestyle=(0, (2, 2)), linewidth=0.8)


def plot_decision_plane(
    rule: str = "sequential",
    *,
    forecast: ArrayLike = FORECAST,
    costs: ArrayLike = COSTS,
    truth: Any = None,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """One forecast's classes by probability and cost: filled if a decision rule tests them, else hollow.

    The truth is a star. What the rule compares is the slope of rays from the origin, c / p; the sequential search
    turns from the lower right to the upper left until it meets the truth.

    Parameters
    ----------
    rule, forecast, costs, truth, labels, ax
        As in `plot_decision_simplex`.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> plot_decision_plane("simultaneous", ax=Figure().subplots()).get_xlabel()
    'probability p'
    """
    case, axes = read_case(rule, forecast, costs, truth, labels), axes_of(ax)
    wide, high = 1.3 * case.forecast.max(), 1.3 * case.costs.max()
    axes.set(xlim=(0, wide), ylim=(0, high), xlabel="probability p", ylabel="cost c")
    _draw_rays(axes, case, wide, high)
    for k in range(3):
        _draw_class(axes, case, k)
    return open_frame(axes)


def _draw_rays(axes: Axes, case: Case, wide: float, high: float) -> None:
    """Through the classes that are compared; what lies below the last ray, or below c = p, is shaded."""
    if case.rule == "simultaneous":
        last = _ray(1.0, 1.0, wide, high)
        axes.plot(*last, color="black", linewidth=0.8)
    else:
        for k in (case.truth, case.rival) if case.rule == "pairwise" else case.tested:
            ray = _ray(case.forecast[k], case.costs[k], wide, high)
            axes.plot(*ray, color=COLOURS[k], linewidth=0.8, zorder=1)
        last = _ray(case.forecast[case.tested[-1]], case.costs[case.tested[-1]], wide, high)
    beyond = [[2 * wide, 2 * wide], [2 * high, 0]]
    axes.fill(*np.hstack([last, beyond]), color=BEYOND, linewidth=0, zorder=0)
    if case.rule == "sequential":
        _draw_turn(axes, case, wide, high)


def _ray(p: float, c: float, wide: float, high: float) -> FloatArray:
    """From the origin through a point, twice as far as the axes reach."""
    return np.array([[0, p], [0, c]]) * 2 / max(p / wide, c / high)


def _draw_turn(axes: Axes, case: Case, wide: float, high: float) -> None:
    """An arc from the lower right to the ray of the truth."""
    end = np.arctan2(case.costs[case.truth] / high, case.forecast[case.truth] / wide)
    angles = np.linspace(0.03, end, 60)
    x, y = 0.97 * np.cos(angles), 0.97 * np.sin(angles)
    axes.plot(x[:-1], y[:-1], color="black", linewidth=0.8, transform=axes.transAxes)
    tip: dict[str, Any] = {"arrowstyle": "-|>", "color": "black", "linewidth": 0.8, "mutation_scale": 7}
    tip |= {"shrinkA": 0, "shrinkB": 0}
    within: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "axes fraction"}
    axes.annotate("", (x[-1], y[-1]), (x[-3], y[-3]), arrowprops=tip, **within)


def _draw_class(axes: Axes, case: Case, k: int) -> None:
    idle = case.rule == "pairwise" and k not in (case.truth, case.rival)
    colour = QUIET if idle else COLOURS[k]
    face = colour if k in case.tested else "white"
    style = TRUTH if k == case.truth else OTHER
    colours: dict[str, Any] = {"color": colour, "markerfacecolor": face}
    axes.plot(case.forecast[k], case.costs[k], clip_on=False, zorder=3, **style, **colours)
    side, across = (-4, "right") if len(case.names[k]) > 1 and k == case.forecast.argmax() else (4, "left")
    place: dict[str, Any] = {"xytext": (side, -3), "textcoords": "offset points", "ha": across, "va": "top"}
    point = case.forecast[k], case.costs[k]
    axes.annotate(case.names[k], point, color=colour, parse_math=False, in_layout=False, **place)


def draw_decision_regions(path: str | os.PathLike[str], width: float = COLUMN) -> Path:
    """All four rules, A to D, into a file: below one another in a column, side by side on a page."""
    narrow = width < MIDDLE
    with sheet(path, width, 6.3 if narrow else 3.8) as figure:
        room: dict[str, Any] = {"width_ratios": [1.15, 1]} if narrow else {"height_ratios": [1.15, 1]}
        panels = figure.subplots(*((4, 2) if narrow else (2, 4)), squeeze=False, **room)
        for rule, (simplex, plane) in zip(RULES, panels if narrow else panels.T, strict=True):
            plot_decision_simplex(rule, ax=simplex).set_title(TITLES[rule], loc="left", fontweight="bold", pad=14)
            plot_decision_plane(rule, ax=plane)
            if not narrow:
                plane.label_outer()
            elif rule != "sequential":
                plane.set_xlabel("")
        _explain(figure)
    return Path(path)


def _explain(figure: Figure) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks: dict[str, Any] = {
        "tested": Line2D([], [], color="0.3", **OTHER),
        "not tested": Line2D([], [], color="0.3", markerfacecolor="white", **OTHER),
        "truth": Line2D([], [], color="0.3", **TRUTH),
        "two tested": Patch(facecolor="white", edgecolor="0.5", hatch="/////", linewidth=0),
        "all three tested": Patch(facecolor=ALL_THREE),
    }
    columns = 3 if figure.get_figwidth() < MIDDLE else 5
    figure.legend(marks.values(), marks, loc="outside lower center", ncols=columns, frameon=False)


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
        _explain_shades(axes, shades)
    return axes


def _shades() -> ScalarMappable:
    matplotlib = import_optional("matplotlib", extra="report")
    colours = matplotlib.colormaps[SHADES]
    limits = import_optional("matplotlib.colors", extra="report").BoundaryNorm(LEVELS, colours.N, extend="max")
    mappable: ScalarMappable = import_optional("matplotlib.cm", extra="report").ScalarMappable(limits, colours)
    return mappable


def _scores(forecasts: FloatArray, alpha: float) -> FloatArray:
    truth = np.zeros(len(forecasts), np.intp)
    return np.asarray(pandora_regret(truth, forecasts, alpha=alpha, per_instance=True))


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


def _explain_shades(axes: Axes | Sequence[Axes], shades: ScalarMappable, **where: Any) -> None:
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
        _explain_shades(panels, _shades(), **place)
    return Path(path)

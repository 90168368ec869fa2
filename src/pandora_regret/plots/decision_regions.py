"""The paper's first two figures: what four decision rules test, and the Beta family of scores, on the simplex."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
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

RULES = {
    "simultaneous": "tests every class with p > c",
    "pairwise": "tests the better of the truth and one other class",
    "top1": "tests the class of largest p / c, and no other",
    "sequential": "tests by falling p / c until it finds the truth",
}
COSTS, FORECAST = (0.25, 0.2, 0.35), (0.35, 0.5, 0.15)  # of the paper's figure as it is drawn here
NOTHING = 1e-12  # a part of the simplex so small is rounding


Sides: TypeAlias = Sequence[FloatArray]  # of a part of the simplex: every ``side @ p >= 0``


@dataclass(frozen=True)
class Case:
    """A rule, and one instance it is applied to."""

    rule: str
    forecast: FloatArray  # (3,)
    costs: FloatArray  # (3,)
    truth: int
    names: tuple[str, ...]

    @property
    def compared(self) -> tuple[int, int]:
        """The truth and the next class, in a pairwise comparison."""
        return self.truth, (self.truth + 1) % 3

    @property
    def tested(self) -> tuple[int, ...]:
        """What the rule tests: that of the part of the simplex where the forecast lies deepest."""
        return max(self.parts(), key=lambda part: min(side @ self.forecast for side in part[1]))[0]

    def regions(self) -> Iterator[tuple[tuple[int, ...], FloatArray]]:
        """All parts of the simplex that the rule tells apart: what is tested there, and the corners, (n, 3)."""
        for tested, sides in self.parts():
            corners = reduce(clipped, sides, WHOLE)
            if area_and_centre(corners)[0] > NOTHING:
                yield tested, corners

    def parts(self) -> Iterator[tuple[tuple[int, ...], Sides]]:
        """What is tested, in the order of the tests where there is one, and on which sides of which lines."""
        if self.rule == "simultaneous":
            above = np.eye(3) - self.costs[:, None]  # p_k - c_k, as p adds up to 1
            for signs in product([1.0, -1.0], repeat=3):
                yield tuple(k for k in range(3) if signs[k] > 0), list(np.array(signs)[:, None] * above)
            return
        orders = {
            "pairwise": permutations(self.compared),
            "top1": ((k,) for k in range(3)),
            "sequential": (order[: order.index(self.truth) + 1] for order in permutations(range(3))),
        }[self.rule]
        others = self.compared if self.rule == "pairwise" else range(3)
        for tests in sorted(dict.fromkeys(orders), key=len):
            made = tests[:1] if self.rule == "pairwise" else tests
            pairs = [*pairwise(made), *((made[-1], k) for k in others if k not in made)]
            yield made, [self._before(a, b) for a, b in pairs]

    def _before(self, a: int, b: int) -> FloatArray:
        """``p_a / c_a - p_b / c_b``."""
        side = np.zeros(3)
        side[[a, b]] = 1 / self.costs[a], -1 / self.costs[b]
        return side


def read_case(rule: str, forecast: Any, costs: Any, truth: Any, labels: ArrayLike | None) -> Case:
    """A rule and an instance of three classes, checked."""
    read_choice(rule, "rule", RULES)
    case = three_classes(read_probabilities([forecast], labels=labels, name="forecast")).check()
    prices = np.broadcast_to(read_costs(costs, case.labels, len(case)), (1, 3))[0]
    number = 0 if truth is None else int(read_truth([truth], case.labels, 1)[0])
    names = "123" if labels is None else (shortened(str(label), LONGEST_NAME) for label in case.labels)
    return Case(rule, case.values[0].astype(np.float64), prices, number, tuple(names))


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
    for tested, corners in case.regions():
        colours: list[Any] = [tint(COLOURS[k]) for k in tested]
        ground = {0: "white", 3: ALL_THREE}.get(len(tested)) or colours[0]
        axes.fill(*to_plane(corners).T, facecolor=ground, edgecolor="black", linewidth=0.5)
        for band in bands(corners) if len(tested) == 2 else ():
            axes.fill(*to_plane(band).T, facecolor=colours[1], linewidth=0)
        if len(tested) == 1:
            _name(axes, case.names[tested[0]], corners, case.forecast)
    if rule == "pairwise":  # forecasts that give the truth as much lie on both sides of the comparison
        ends = np.full((2, 3), case.forecast[case.truth])
        for end, k in zip(ends, np.delete(range(3), case.truth), strict=True):
            end[k], end[3 - case.truth - k] = 1 - case.forecast[case.truth], 0
        axes.plot(*to_plane(ends).T, color="black", linestyle=(0, (2, 2)), linewidth=0.8)
    axes.plot(*to_plane(case.forecast), "o", color="black", markersize=3, zorder=4)
    frame(axes, case.names, COLOURS[:3])
    return axes


def _name(axes: Axes, name: str, corners: FloatArray, mark: FloatArray) -> None:
    """The only class that is tested, beside the mark of the forecast, where there is room for it."""
    centre, room = area_and_centre(corners)[1], LETTER * (len(name) + 1)
    for place in (centre, *(centre + corners) / 2):
        across, up = np.abs(to_plane(place) - to_plane(mark))
        if (across > room / 2 or up > LETTER) and width_at(corners, place) > room:
            x, y = to_plane(place)
            axes.text(x, y, name, ha="center", va="center", fontsize="small", parse_math=False)
            return


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
    for k, (p, c, name) in enumerate(zip(case.forecast, case.costs, case.names, strict=True)):
        colour = QUIET if rule == "pairwise" and k not in case.compared else COLOURS[k]
        style = TRUTH if k == case.truth else OTHER
        face = colour if k in case.tested else "white"
        axes.plot(p, c, clip_on=False, zorder=3, color=colour, markerfacecolor=face, **style)
        side, across = (-4, "right") if len(name) > 1 and k == case.forecast.argmax() else (4, "left")
        place: dict[str, Any] = {"xytext": (side, -3), "textcoords": "offset points", "ha": across, "va": "top"}
        axes.annotate(name, (p, c), color=colour, parse_math=False, in_layout=False, **place)
    return open_frame(axes)


def _draw_rays(axes: Axes, case: Case, wide: float, high: float) -> None:
    """Through the classes that are compared; what lies below the last ray, or below c = p, is shaded."""

    def ray(p: float, c: float) -> FloatArray:  # twice as far as the axes reach
        return np.array([[0, p], [0, c]]) * 2 / max(p / wide, c / high)

    rays = {k: ray(case.forecast[k], case.costs[k]) for k in range(3)}
    if case.rule == "simultaneous":
        last = ray(1.0, 1.0)
        axes.plot(*last, color="black", linewidth=0.8)
    else:
        for k in case.compared if case.rule == "pairwise" else case.tested:
            axes.plot(*rays[k], color=COLOURS[k], linewidth=0.8, zorder=1)
        last = rays[case.tested[-1]]
    axes.fill(*np.hstack([last, [[2 * wide, 2 * wide], [2 * high, 0]]]), color=BEYOND, linewidth=0, zorder=0)
    if case.rule == "sequential":  # an arc from the lower right to the ray of the truth
        end = np.arctan2(case.costs[case.truth] / high, case.forecast[case.truth] / wide)
        angles = np.linspace(0.03, end, 60)
        x, y = 0.97 * np.cos(angles), 0.97 * np.sin(angles)
        axes.plot(x[:-1], y[:-1], color="black", linewidth=0.8, transform=axes.transAxes)
        tip = {
            "arrowstyle": "-|>",
            "color": "black",
            "linewidth": 0.8,
            "mutation_scale": 7,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        axes.annotate("", (x[-1], y[-1]), (x[-3], y[-3]), "axes fraction", "axes fraction", arrowprops=tip)


def draw_decision_regions(path: str | os.PathLike[str], width: float = COLUMN) -> Path:
    """All four rules, A to D, into a file: below one another in a column, side by side on a page."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

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
        marks: dict[str, Any] = {
            "tested": Line2D([], [], color="0.3", **OTHER),
            "not tested": Line2D([], [], color="0.3", markerfacecolor="white", **OTHER),
            "truth": Line2D([], [], color="0.3", **TRUTH),
            "two tested": Patch(facecolor="white", edgecolor="0.5", hatch="/////", linewidth=0),
            "all three tested": Patch(facecolor=ALL_THREE),
        }
        columns = 3 if narrow else 5
        figure.legend(marks.values(), marks, loc="outside lower center", ncols=columns, frameon=False)
    return Path(path)


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
    if alpha == np.inf:  # exactly: the score knows nothing but how many classes come before the truth
        for _, corners in read_case("sequential", np.full(3, 1 / 3), np.ones(3), 0, None).regions():
            colour: Any = shades.to_rgba(_scores(area_and_centre(corners)[1][None], alpha))[0]
            axes.fill(*to_plane(corners).T, facecolor=colour, edgecolor=colour, linewidth=0.3)
    else:
        forecasts, triangles = lattice(STEPS)
        mesh = import_optional("matplotlib.tri", extra="report").Triangulation(*to_plane(forecasts).T, triangles)
        scores = np.minimum(_scores(forecasts, alpha), 2 * LEVELS[-1])  # infinite on an edge as alpha tends to 0
        filled = axes.tricontourf(mesh, scores, LEVELS, cmap=shades.cmap, norm=shades.norm, extend="max")
        filled.set(edgecolor="face", linewidth=0.3)  # no white seams in a PDF
        axes.tricontour(mesh, scores, LEVELS, colors="white", linewidths=0.3)
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

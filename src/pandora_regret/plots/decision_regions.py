"""The simplex of three classes: what four decision rules test, and the Beta family; the paper's first figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.core.inputs import (
    ByClass,
    FloatArray,
    Forecast,
    InputError,
    read_alpha,
    read_choice,
    read_costs,
    read_probabilities,
    read_truth,
)
from pandora_regret.core.priors.beta import beta_loss
from pandora_regret.core.scores import beta_score, pandora_regret
from pandora_regret.plots.style import (
    COLOURS,
    QUIET,
    SHADES,
    Style,
    axes_of,
    open_frame,
    tint,
    write_beside,
)
from pandora_regret.text import alpha_name, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

CORNERS = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])  # of a certain class 0, 1, 2
TRIANGLE = np.eye(3)  # the triangle's corners as forecasts, and its edges as sides
EDGE_ROOM = 0.02  # around it
LONGEST_CORNER = 14  # its name


def three_classes(forecast: Forecast) -> Forecast:
    """The forecast, if a triangle can show it."""
    if forecast.n_classes != 3:
        problem = f"has {forecast.n_classes} classes"
        raise InputError(problem, argument=forecast.name, value=forecast.n_classes, fix="a triangle shows three")
    return forecast


def to_plane(forecasts: FloatArray) -> FloatArray:
    """Where forecasts (n, 3) lie, (n, 2)."""
    return np.asarray(forecasts @ CORNERS)


def frame(axes: Axes, names: Sequence[str], colours: Sequence[str] = ("black",) * 3) -> None:
    """The triangle's outline and the names of its corners, on axes without scales."""
    axes.plot(*CORNERS[[0, 1, 2, 0]].T, color="black", linewidth=0.8, solid_joinstyle="round", zorder=3)
    below = -3 if len(names[1]) + len(names[2]) <= LONGEST_CORNER else -14  # on a line of its own
    places = [(0, 3, "center", "bottom"), (-3, -3, "left", "top"), (3, below, "right", "top")]
    for corner, name, colour, place in zip(CORNERS, names, colours, places, strict=True):
        write_beside(axes, name, corner, place, color=colour)
    axes.set(xlim=(-EDGE_ROOM, 1 + EDGE_ROOM), ylim=(-EDGE_ROOM, CORNERS[0, 1] + EDGE_ROOM), aspect="equal")
    axes.set_axis_off()


RULES = {
    "simultaneous": "tests every class with p > c",
    "pairwise": "tests the better of the truth and one other class",
    "top1": "tests the class of largest p / c, and no other",
    "sequential": "tests by falling p / c until it finds the truth",
}
EXAMPLE_COSTS = (0.25, 0.2, 0.35)  # of the paper's figure as it is drawn here
EXAMPLE_FORECAST = (0.35, 0.5, 0.15)
ROUNDING = 1e-9  # what is nearer to 0 differs from it by rounding

Tested: TypeAlias = tuple[int, ...]  # classes, in the order of the tests, where there is one


class Case(NamedTuple):
    """A rule, and what it is applied to."""

    rule: str
    costs: FloatArray  # (3,)
    truth: int = 0

    @property
    def compared(self) -> Tested:
        """The classes that the rule compares: the truth and the next, or all."""
        return (self.truth, (self.truth + 1) % 3) if self.rule == "pairwise" else (0, 1, 2)

    def tested(self, forecast: FloatArray) -> Tested:
        """What the rule tests by a forecast, (3,)."""
        if self.rule == "simultaneous":
            return tuple(k for k in range(3) if forecast[k] > self.costs[k])
        order = sorted(self.compared, key=lambda k: -forecast[k] / self.costs[k])
        n_tested = order.index(self.truth) + 1 if self.rule == "sequential" else 1
        return tuple(order[:n_tested])

    def regions(self) -> Iterator[tuple[Tested, FloatArray]]:
        """What is tested, and the corners, (n, 3), of all convex parts of the simplex that the rule tells apart.

        A comparison turns where ``side @ p = 0``, and two such lines, or edges, cross in their cross product.
        """
        merit = np.eye(3) / self.costs  # p_k / c_k
        sides = np.array([merit[a] - merit[b] for a, b in combinations(self.compared, 2)])
        if self.rule == "simultaneous":
            sides = np.eye(3) - self.costs[:, None]  # p_k - c_k, as p adds up to 1
        points = _crossings([*TRIANGLE, *sides])
        parts: dict[Tested, list[FloatArray]] = {}
        for signs in product([1, -1], repeat=len(sides)):  # which side of each line a part is on
            is_corner = (signs * (points @ sides.T) > -ROUNDING).all(axis=1)
            corners = points[is_corner]
            if len(corners) and np.linalg.matrix_rank(corners, ROUNDING) == 3:  # no mere line or point
                tested = self.tested(corners.mean(axis=0))
                parts.setdefault(tested, []).extend(corners)
        for tested, corners_of_parts in parts.items():
            corners = np.array(corners_of_parts)
            x, y = to_plane(corners - corners.mean(axis=0)).T
            around_centre = np.argsort(np.arctan2(y, x))
            yield tested, corners[around_centre]


def _crossings(sides: Sequence[FloatArray]) -> FloatArray:
    """The points of the simplex, (n, 3), in which two of the lines ``side @ p = 0`` cross."""
    crossings = np.array([np.cross(a, b) for a, b in combinations(sides, 2)])
    totals = crossings.sum(axis=1, keepdims=True)
    is_crossing = np.abs(totals[:, 0]) > ROUNDING  # the others are parallel
    points: FloatArray = crossings[is_crossing] / totals[is_crossing]
    is_within = (points > -ROUNDING).all(axis=1)
    return points[is_within]


def read_ruled_forecast(
    rule: str, forecast: ArrayLike, costs: ByClass, truth: object, labels: ArrayLike | None
) -> tuple[Case, FloatArray, list[str]]:
    """A rule, a forecast (3,), and the names of its classes, checked."""
    read_choice(rule, "rule", RULES)
    table = three_classes(read_probabilities([forecast], labels=labels, name="forecast")).check()
    number = 0 if truth is None else int(read_truth([truth], table.labels, 1)[0])
    names = [shortened(str(name), LONGEST_CORNER) for name in ((1, 2, 3) if labels is None else table.labels)]
    return Case(rule, read_costs(costs, table.labels), number), table.values[0].astype(np.float64), names


PANEL_TITLES = ("A  Simultaneous", "B  Pairwise", "C  Top-1", "D  Sequential")
OTHER_MARK: Style = {"linestyle": "", "marker": "o", "markersize": 5}
TRUTH_MARK: Style = {"linestyle": "", "marker": "*", "markersize": 8}
ALL_THREE = "0.75"
GREY_BEYOND = "0.93"
STRIPES = "/////"


def plot_decision_simplex(
    rule: str = "sequential",
    *,
    forecast: ArrayLike = EXAMPLE_FORECAST,
    costs: ArrayLike = EXAMPLE_COSTS,
    truth: object = None,
    labels: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What a decision rule tests, for every forecast of three classes.

    One colour: one class is tested, that of the corner in this colour; stripes: two; grey: all three; white: none.

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
    ['1', '2', '3']
    """
    case, mark, names = read_ruled_forecast(rule, forecast, costs, truth, labels)
    axes = axes_of(ax)
    for tested, corners in case.regions():
        colours = [tint(COLOURS[k]) for k in tested]
        ground: str | tuple[float, ...] = {0: "white", 3: ALL_THREE}.get(len(tested)) or colours[0]
        if len(tested) == 2:
            axes.fill(*to_plane(corners).T, facecolor=ground, hatch=STRIPES, edgecolor=colours[1], linewidth=0)
            ground = "none"
        axes.fill(*to_plane(corners).T, facecolor=ground, edgecolor="black", linewidth=0.5)
    if rule == "pairwise":  # forecasts that give the truth as much lie on both sides of the comparison
        share = mark[case.truth]
        ends = share * TRIANGLE[case.truth] + (1 - share) * np.delete(TRIANGLE, case.truth, axis=0)
        axes.plot(*to_plane(ends).T, color="black", linestyle=(0, (2, 2)), linewidth=0.8)
    axes.plot(*to_plane(mark), "o", color="black", markersize=3, zorder=4)
    frame(axes, names, COLOURS[:3])
    return axes


def plot_decision_plane(
    rule: str = "sequential",
    *,
    forecast: ArrayLike = EXAMPLE_FORECAST,
    costs: ArrayLike = EXAMPLE_COSTS,
    truth: object = None,
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
    case, chances, names = read_ruled_forecast(rule, forecast, costs, truth, labels)
    axes = axes_of(ax)
    tested = case.tested(chances)
    axes.set(xlim=(0, 1.3 * chances.max()), ylim=(0, 1.3 * case.costs.max()))
    axes.set(xlabel="probability p", ylabel="cost c")
    if rule == "simultaneous":
        last_ray = (1.0, 1.0)
        axes.axline((0, 0), last_ray, color="black", linewidth=0.8, zorder=1)
    else:
        last_ray = (chances[tested[-1]], case.costs[tested[-1]])
        for k in case.compared if rule == "pairwise" else tested:
            axes.axline((0, 0), (chances[k], case.costs[k]), color=COLOURS[k], linewidth=0.8, zorder=1)
    _shade_below(axes, last_ray)
    if rule == "sequential":
        _draw_turning_search(axes, last_ray)
    for k in range(3):
        colour = COLOURS[k] if k in case.compared else QUIET
        marker = TRUTH_MARK if k == case.truth else OTHER_MARK
        face = colour if k in tested else "white"
        point = (chances[k], case.costs[k])
        axes.plot(*point, clip_on=False, zorder=3, **marker | {"color": colour, "markerfacecolor": face})
        is_left = len(names[k]) > 1 and k == chances.argmax()  # a name at the right end would be cut off
        place = (-4, -3, "right", "top") if is_left else (4, -3, "left", "top")
        write_beside(axes, names[k], point, place, color=colour, in_layout=False)
    return open_frame(axes)


def _shade_below(axes: Axes, point: tuple[float, float]) -> None:
    """What lies below the ray from the origin through a point (p, c)."""
    probability, cost = point
    widest = axes.get_xlim()[1]
    axes.fill_between(
        [0, widest], [0, widest * cost / max(probability, ROUNDING)], color=GREY_BEYOND, linewidth=0, zorder=0
    )


def _draw_turning_search(axes: Axes, point: tuple[float, float]) -> None:
    """An arrow, nearly a circle's arc, from the lower right to the ray through the point (p, c) of the truth."""
    probability, cost = point
    end = np.arctan2(cost / axes.get_ylim()[1], probability / axes.get_xlim()[1])
    arrow: Style = {"color": "black", "linewidth": 0.8, "shrinkB": 0, "arrowstyle": "-|>"}
    arrow["connectionstyle"] = f"arc3,rad={np.tan(end / 2) / 2}"
    tip = (0.97 * np.cos(end), 0.97 * np.sin(end))
    axes.annotate("", tip, (0.97, 0), "axes fraction", "axes fraction", arrow)


def draw_decision_regions(figure: Figure, narrow: bool) -> None:
    """All four rules, A to D: what they test, why, and what that costs in expectation over costs."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    room: Style = {"width_ratios" if narrow else "height_ratios": [1.15, 1, 1.15]}
    panels = figure.subplots(*((4, 3) if narrow else (3, 4)), squeeze=False, **room)
    rows = panels if narrow else panels.T
    for rule, title, (simplex, plane, surface) in zip(RULES, PANEL_TITLES, rows, strict=True):
        plot_decision_simplex(rule, ax=simplex).set_title(title, loc="left", fontweight="bold", pad=14)
        plot_decision_plane(rule, ax=plane)
        plot_decision_surface(rule, labels=("1", "2", "3"), ax=surface)
        if narrow and rule != "sequential":
            plane.set_xlabel("")
        if not narrow and rule != "simultaneous":
            plane.set_ylabel("")
            plane.tick_params(labelleft=False)
    marks: Style = {
        "tested": Line2D([], [], color="0.3", **OTHER_MARK),
        "not tested": Line2D([], [], color="0.3", markerfacecolor="white", **OTHER_MARK),
        "truth": Line2D([], [], color="0.3", **TRUTH_MARK),
        "two tested": Patch(facecolor="white", edgecolor="0.5", hatch=STRIPES, linewidth=0),
        "all three tested": Patch(facecolor=ALL_THREE),
    }
    columns = 3 if narrow else 5
    figure.legend(marks.values(), marks, loc="outside lower center", ncols=columns, frameon=False)


DRAWN_ALPHAS = (0.0, 0.3, 1.0, 3.0, np.inf)
# The same for all alphas, so that shades compare; finer where forecasts are good, which would look alike
LEVELS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
STEPS = 100


def plot_beta_simplex(
    alpha: float = 1.0,
    *,
    costs: ArrayLike = (1.0, 1.0, 1.0),
    labels: Sequence[str] = ("truth", "j", "k"),
    colorbar: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """The score S_alpha of every forecast of three classes, of which the first is the truth.

    Parameters
    ----------
    alpha
        From 0 to inf, as in `pandora_regret`; at inf, shades are constant between the lines of equal rank.
    costs
        Of the three tests. The score is the weighted Beta score over three times what the wrong tests cost.
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
    >>> plot_beta_simplex(alpha=1, costs=[1, 2, 1], ax=Figure().subplots()).get_title()
    'α = 1'
    """
    alpha = read_alpha(alpha)
    axes = axes_of(ax)
    prices = read_costs(costs, range(3))

    def scores(forecasts: FloatArray) -> FloatArray:
        truth = np.zeros(len(forecasts), np.intp)
        weighted = beta_score(truth, forecasts, alpha=alpha, max_costs=prices, per_instance=True)
        return np.asarray(weighted / (3 * prices[1:].sum()))

    _shade(axes, scores, Case("sequential", prices) if alpha == np.inf else None)
    axes.set_title(alpha_name(alpha), pad=14)  # above the name of the corner
    frame(axes, labels)
    if colorbar:
        _explain([axes])
    return axes


SURFACES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "simultaneous": lambda p: -np.log(np.maximum(p[:, 0], np.exp(-2))),  # no darker than the darkest shade
    "pairwise": lambda p: beta_loss(np.log(np.maximum(p[:, 0], 1e-9) / np.maximum(p[:, 1], 1e-9)), 1.0) / 3,
    "top1": lambda p: (p.argmax(axis=1) > 0).astype(np.float64),
    "sequential": lambda p: pandora_regret(np.zeros(len(p), np.intp), p, per_instance=True),
}


def plot_decision_surface(
    rule: str = "sequential", *, labels: Sequence[str] = ("truth", "j", "k"), ax: Axes | None = None
) -> Axes:
    """What a decision rule costs in expectation over costs, for every forecast of three classes: a score.

    That of "simultaneous" is the log loss, of "pairwise" the pair loss over 3, of "top1" one minus the accuracy,
    of "sequential" Pandora's Regret. The first class is the truth; shades are those of `plot_beta_simplex`.

    Parameters
    ----------
    rule
        As in `plot_decision_simplex`.
    labels
        Names of the three corners.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = plot_decision_surface("top1", ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['truth', 'j', 'k']
    """
    read_choice(rule, "rule", RULES)
    axes = axes_of(ax)
    _shade(axes, SURFACES[rule], Case(rule, np.ones(3)) if rule == "top1" else None)
    frame(axes, labels)
    return axes


def _shade(axes: Axes, scores: Callable[[FloatArray], FloatArray], flat: Case | None = None) -> None:
    """The triangle by the scores of forecasts, (n, 3); exactly, where these are constant in regions of a case."""
    shades = _shades()
    for _, corners in flat.regions() if flat else ():
        colour = shades.to_rgba(scores(corners.mean(axis=0)[None]))[0]
        axes.fill(*to_plane(corners).T, facecolor=colour, edgecolor=colour, linewidth=0.3)
    if flat is None:
        steps = [(i, j, STEPS - i - j) for i in range(STEPS + 1) for j in range(STEPS + 1 - i)]
        forecasts = np.array(steps) / STEPS
        x, y = to_plane(forecasts).T
        shown = np.minimum(scores(forecasts), 2 * LEVELS[-1])  # infinite on an edge as alpha tends to 0
        filled = axes.tricontourf(x, y, shown, LEVELS, cmap=shades.cmap, norm=shades.norm, extend="max")
        filled.set(edgecolor="face", linewidth=0.3)  # no white seams in a PDF
        axes.tricontour(x, y, shown, LEVELS, colors="white", linewidths=0.3)


def _shades() -> ScalarMappable:
    """The colours of scores."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm

    colours = colormaps[SHADES]
    return ScalarMappable(BoundaryNorm(LEVELS, colours.N, extend="max"), colours)


def _explain(panels: Sequence[Axes], location: str = "right", aspect: float = 20.0) -> None:
    """A colour bar beside the panels, which says what shades mean."""
    panels[0].figure.colorbar(
        _shades(), ax=panels, label="score $S_α$", ticks=LEVELS, format="%g", location=location, aspect=aspect
    )


def draw_beta_simplex(figure: Figure, narrow: bool) -> None:
    """The family from alpha = 0 to inf: in two rows in a column, in one on a page."""
    panels = list(figure.subplots(*((2, 3) if narrow else (1, 5))).flat)
    for alpha, panel in zip(DRAWN_ALPHAS, panels, strict=False):
        plot_beta_simplex(alpha, colorbar=False, ax=panel)
    for panel in panels[len(DRAWN_ALPHAS) :]:
        panel.set_axis_off()
    _explain(panels, location="bottom" if narrow else "right", aspect=40 if narrow else 15)

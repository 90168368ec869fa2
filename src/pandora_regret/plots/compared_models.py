"""A comparison in figures: ranks, the Beta family, cost calibration, and who pays for which wrong test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pandora_regret.inputs import FloatArray, Labels, Table, read_choice
from pandora_regret.metrics import ranks_as_another
from pandora_regret.plots.style import (
    COLOURS,
    QUIET,
    SHADES,
    axes_of,
    distinct_line,
    model_line,
    model_of,
    name_lines,
    open_frame,
    spread,
    with_unit,
)
from pandora_regret.scores import pandora_regret
from pandora_regret.text import decimals_for, fixed, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

LONGEST_NAME = 16
MOST_NAMED = 25  # models whose names have a line each
APART = 0.25  # of names and lines


def plot_ranks(comparison: Comparison, metrics: Sequence[str] | None = None, *, ax: Axes | None = None) -> Axes:
    """The rank of every model by every metric, the best on top; tied models share a place.

    The six cheapest models have a colour each, others are grey.

    Parameters
    ----------
    comparison
        From `compare`.
    metrics
        Their keys, from left to right; expected cost and all scores and shares unless given.
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
    >>> axes = plot_ranks(comparison, ["expected_cost", "accuracy"], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['sharp', 'sharp', 'vague', 'vague']
    """
    axes, titles = axes_of(ax), {metric.key: metric.title for metric in comparison.metrics}
    scores = (each.key for each in comparison.metrics if each.unit in ("score", "share"))
    usual = ["expected_cost", *(key for key in scores if not ranks_as_another(key))]
    keys = usual if metrics is None else metrics
    ranks = [comparison.ranks[read_choice(key, "metric", titles)] for key in keys]
    last = len(ranks) - 1
    first_places, last_places = places(ranks[0]), places(ranks[last])
    for number, model in enumerate(comparison.models):
        style = model_line(number, linewidth=1.6, markersize=4, zorder=3 - number / 10)  # the cheaper on top
        name = shortened(model.name, LONGEST_NAME)
        axes.plot([each[number] for each in ranks], clip_on=False, **style)
        if number < len(COLOURS) or len(comparison.models) <= MOST_NAMED:
            words = {"color": style["color"], "va": "center", "fontsize": "small", "parse_math": False}
            axes.text(-APART, first_places[number], name, ha="right", **words)
            axes.text(last + APART, last_places[number], name, ha="left", **words)
    named = [titles[key] for key in keys]
    axes.set_xticks(range(len(named)), named, rotation=40, ha="left", rotation_mode="anchor")
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylim(len(comparison.models) + 0.5, 0.5)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def places(ranks: Sequence[float | None]) -> list[int]:
    """1, 2, 3, ... so that names of tied models do not lie on each other; unranked ones come last."""
    order = sorted(range(len(ranks)), key=lambda number: (ranks[number] is None, ranks[number] or 0.0))
    return [order.index(number) + 1 for number in range(len(ranks))]


ALPHAS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, np.inf)
TICKS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)
LONGEST_IN_LEGEND = 18


def plot_alpha_curve(
    y_true: Labels, models: Mapping[str, Table], *, relative: bool = False, ax: Axes | None = None
) -> Axes:
    """The score S_alpha of every model against alpha, from the logarithmic limit to ranks alone.

    Across, alpha stands at ``alpha / (alpha + 1)``, the mean unit cost, so that both limits have a place. The
    first six models have a colour each, others are grey. An infinite score, of a truth given probability 0 as
    alpha tends to 0, is left out.

    Parameters
    ----------
    y_true
        True classes, shape (N,), or votes, shape (N, K).
    models
        Forecasts by name, each (N, K), as in `compare`.
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
    >>> models = {"sharp": [[0.8, 0.2], [0.2, 0.8]], "vague": [[0.6, 0.4], [0.4, 0.6]]}
    >>> len(plot_alpha_curve([0, 1], models, ax=Figure().subplots()).lines)
    2
    """
    axes = axes_of(ax)
    tables = models.values()
    scores = np.array([[pandora_regret(y_true, table, alpha=alpha) for alpha in ALPHAS] for table in tables])
    scores[np.isinf(scores)] = np.nan
    if relative:
        scores = scores / np.fmin.reduce(scores, axis=0)
    style = {"markersize": 3, "linewidth": 1.2, "clip_on": False}
    lines = [axes.plot(_place(np.array(ALPHAS)), row, **model_line(n, **style))[0] for n, row in enumerate(scores)]
    axes.set_xticks(_place(np.array(TICKS)), ["∞" if tick == np.inf else f"{tick:g}" for tick in TICKS])
    axes.set(xlim=(0, 1), xlabel="α", ylabel="score $S_α$ / least" if relative else "score $S_α$")
    coloured = lines[: len(COLOURS)]
    names = [shortened(name, LONGEST_IN_LEGEND) for name in list(models)[: len(COLOURS)]]
    name_lines(axes, coloured, names, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return open_frame(axes)


def _place(alphas: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 + 1 / alphas))


LONGEST_AT_END = 24
DIAGONAL, NAME = "calibrated", "name"  # what lines and words are called in an SVG file
LINE_HEIGHT = 0.06  # of a name, as a share of the axes


def plot_cost_calibration(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The search cost that forecasts predict of themselves, in bins, against the cost given the truth.

    A calibrated model lies on the diagonal; above it, searches cost more than the forecasts said. Models drawn
    on the same axes, one call each, differ in colour, marker or dashes, and have their names at the ends of lines.

    Parameters
    ----------
    comparison
        From `compare`, whose level the intervals have.
    model
        Its name; the cheapest unless given.
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
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]]}, currency="EUR")
    >>> plot_cost_calibration(comparison, ax=Figure().subplots()).get_xlabel()
    'predicted cost (EUR)'
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    predicted, observed = np.array([(each.predicted, each.observed) for each in shown.calibration]).T
    limits = np.array([(each.low, each.high) for each in shown.calibration], dtype=np.float64)  # undefined: NaN
    limits = np.where(np.isnan(limits), observed[:, None], limits)
    style = distinct_line(comparison.models.index(shown))
    beyond = np.abs(limits - observed[:, None]).T
    axes.errorbar(
        predicted, observed, yerr=beyond, linewidth=1.0, elinewidth=0.6, markersize=4, label=shown.name, **style
    )
    costs = np.concatenate([predicted, *limits])
    low, high = costs.min(), costs.max()
    room = 0.05 * (high - low or high or 1)
    ends = [max(0.0, low - room), high + room]
    if any(line.get_gid() == DIAGONAL for line in axes.lines):
        ends = [min(ends[0], axes.get_xlim()[0]), max(ends[1], axes.get_xlim()[1])]
    else:
        axes.axline((0, 0), slope=1, color=QUIET, linewidth=0.8, zorder=0, gid=DIAGONAL)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    unit = comparison.costs.currency
    axes.set_xlabel(with_unit("predicted cost", unit), parse_math=False)
    axes.set_ylabel(with_unit("cost of the search", unit), parse_math=False)
    _name_lines_at_their_ends(axes)
    return open_frame(axes)


def _name_lines_at_their_ends(axes: Axes) -> None:
    """Beside the axes, level with the line's last point or as near as other names allow."""
    for word in [text for text in axes.texts if text.get_gid() == NAME]:
        word.remove()
    lines = [container[0] for container in axes.containers]  # each with its bars
    ends = [(float(line.get_xdata()[-1]), float(line.get_ydata()[-1])) for line in lines]
    low, high = axes.get_ylim()
    heights = spread([(y - low) / (high - low) for _, y in ends], LINE_HEIGHT)
    for container, line, end, height in zip(axes.containers, lines, ends, heights, strict=True):
        colour = line.get_color()
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "shrinkB": 3}
        leader["relpos"] = (0, 0.5)  # from the left of the name
        place: dict[str, Any] = {"xytext": (1.03, height), "textcoords": "axes fraction", "va": "center"}
        words: dict[str, Any] = {"color": colour, "fontsize": "small", "parse_math": False, "gid": NAME}
        name = shortened(str(container.get_label()), LONGEST_AT_END)
        axes.annotate(name, end, arrowprops=leader, annotation_clip=False, **place, **words)


MOST_WRITTEN = 10  # classes whose numbers fit into their cells
LONGEST_OF_CLASS, LONGEST_TITLE = 16, 26
DARK = 0.55  # of the largest, from where numbers are white


def plot_pair_costs(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """What a model spends per case on average on testing a wrong class, by true class.

    Classes are ordered by cost: first the one on which most is spent, as a truth and as a wrong test together.
    The sum of all cells, plus the cost of testing the truth itself, is the expected search cost.

    Parameters
    ----------
    comparison
        From `compare`, of one model or of several.
    model
        Its name; the cheapest unless given.
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
    >>> vague = {"vague": [[0.5, 0.5], [0.5, 0.5]]}
    >>> comparison = compare(["a", "b"], vague, labels=["a", "b"], typical_costs=[60, 30])
    >>> axes = plot_pair_costs(comparison, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['10.0', '2.5']
    """
    shown, axes = model_of(comparison, model), axes_of(ax)
    spent, measured = np.array(shown.pair_costs), with_unit("cost per case", comparison.costs.currency)
    order = np.argsort(-(spent.sum(axis=0) + spent.sum(axis=1)), kind="stable")
    costs = spent[np.ix_(order, order)]
    cells = axes.pcolormesh(costs, cmap=SHADES, vmin=0, edgecolors="white", linewidth=0.5)
    title = shortened(shown.name, LONGEST_TITLE)
    if len(costs) <= MOST_WRITTEN:
        decimals = decimals_for(costs.max())  # three digits of the largest, as many decimals for all
        size = "small" if len(costs) <= 4 else "x-small" if len(costs) <= 7 else "xx-small"
        for (i, j), cost in np.ndenumerate(costs):
            if round(cost, decimals) > 0:
                style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
                style["color"] = "white" if cost > DARK * costs.max() else "black"
                axes.text(j + 0.5, i + 0.5, fixed(cost, decimals), **style)
        title += f"\n{measured}"
    else:
        axes.figure.colorbar(cells, ax=axes).set_label(measured, parse_math=False)
    axes.set_title(title, parse_math=False)
    names = [shortened(comparison.data.classes[k], LONGEST_OF_CLASS) for k in order]
    middles, long = np.arange(len(names)) + 0.5, max(map(len, names)) > 3
    oblique: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axes.set_xticks(middles, names, parse_math=False, **oblique)
    axes.set_yticks(middles, names, parse_math=False)
    axes.tick_params(length=0)
    axes.set(xlabel="tested", ylabel="truth", ylim=(len(names), 0))
    axes.spines[:].set_visible(False)
    return axes

"""Models in figures: ranks, the Beta family, calibration, who pays for which wrong test, scores of instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pandora_regret.calibrate.maps import probability_table
from pandora_regret.core.inputs import FloatArray, Forecast, Labels, Table, read_choice, read_labelled
from pandora_regret.core.scores import pandora_regret
from pandora_regret.metrics import METRICS
from pandora_regret.plots.decision_regions import LONGEST_CORNER, frame, three_classes, to_plane
from pandora_regret.plots.style import (
    COLOURS,
    DASHES,
    MARKERS,
    QUIET,
    SHADES,
    Style,
    axes_of,
    name_lines,
    open_frame,
    tint,
    with_unit,
    write_beside,
)
from pandora_regret.text import alpha_name, decimals_for, fixed, shortened, two_digits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

    from pandora_regret.comparison import Comparison
    from pandora_regret.comparison.parts import ModelResult

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
    >>> from pandora_regret import compare
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]], "vague": [[0.6, 0.4], [0.4, 0.6]]})
    >>> axes = plot_ranks(comparison, ["expected_cost", "accuracy"], ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['sharp', 'sharp', 'vague', 'vague']
    """
    axes = axes_of(ax)
    titles = {metric.key: metric.title for metric in comparison.metrics}
    if metrics is None:
        metrics = _usual_keys(comparison)
    ranks = [comparison.ranks[read_choice(key, "metric", titles)] for key in metrics]
    n_models = len(comparison.models)
    rows_at_left = places(ranks[0])
    rows_at_right = places(ranks[-1])
    for number, model in enumerate(comparison.models):
        style = model_line(number, linewidth=1.6, markersize=4, zorder=3 - number / 10)  # the cheaper on top
        axes.plot([by_metric[number] for by_metric in ranks], clip_on=False, **style)
        if number < len(COLOURS) or n_models <= MOST_NAMED:
            words: Style = {"color": style["color"], "va": "center", "fontsize": "small", "parse_math": False}
            name = shortened(model.name, LONGEST_NAME)
            axes.text(-APART, rows_at_left[number], name, ha="right", **words)
            axes.text(len(ranks) - 1 + APART, rows_at_right[number], name, ha="left", **words)
    axes.set_xticks(
        range(len(metrics)), [titles[key] for key in metrics], rotation=40, ha="left", rotation_mode="anchor"
    )
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set(ylim=(n_models + 0.5, 0.5), yticks=[], axisbelow=True)
    axes.spines[:].set_visible(False)
    return axes


def _usual_keys(comparison: Comparison) -> list[str]:
    """Expected cost, and all scores and shares that do not rank models as another one does."""
    repeated = {key for key, metric in METRICS.items() if metric.ranks_as}
    scores = [metric.key for metric in comparison.metrics if metric.unit in ("score", "share")]
    return ["expected_cost", *(key for key in scores if key not in repeated)]


def places(ranks: Sequence[float]) -> list[int]:
    """From ranks to 1, 2, 3, ..., so that names of tied models do not lie on each other."""
    order = np.argsort(ranks, kind="stable")
    return [int(place) for place in 1 + np.argsort(order)]


ALPHAS_ALONG_AXIS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, np.inf)
TICKS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, np.inf)


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

    def curve(table: Table) -> list[float]:
        return [pandora_regret(y_true, table, alpha=alpha) for alpha in ALPHAS_ALONG_AXIS]

    scores = np.array([curve(table) for table in models.values()])
    scores[np.isinf(scores)] = np.nan
    if relative:
        scores = scores / np.fmin.reduce(scores, axis=0)
    with np.errstate(divide="ignore"):
        across = 1 / (1 + 1 / np.array(ALPHAS_ALONG_AXIS))
        ticks = 1 / (1 + 1 / np.array(TICKS))
    style = {"markersize": 3, "linewidth": 1.2, "clip_on": False}
    lines = [axes.plot(across, row, **model_line(n, **style))[0] for n, row in enumerate(scores)]
    axes.set_xticks(ticks, ["∞" if tick == np.inf else f"{tick:g}" for tick in TICKS])
    axes.set(xlim=(0, 1), xlabel="α", ylabel="score $S_α$ / least" if relative else "score $S_α$")
    names = [shortened(name, LONGEST_NAME) for name in list(models)[: len(COLOURS)]]
    name_lines(axes, lines[: len(COLOURS)], names, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return open_frame(axes)


LONGEST_LINE = 24  # of a name beside the axes, or above them


def plot_cost_calibration(comparison: Comparison, model: str | None = None, *, ax: Axes | None = None) -> Axes:
    """The search cost that forecasts predict of themselves, in bins, against the cost given the truth.

    A calibrated model lies on the diagonal; above it, searches cost more than the forecasts said. Models drawn
    on the same axes, one call each, differ in colour, marker or dashes; their names stand beside the axes.

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
    >>> from pandora_regret import compare
    >>> comparison = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]]}, currency="EUR")
    >>> plot_cost_calibration(comparison, ax=Figure().subplots()).get_xlabel()
    'predicted cost (EUR)'
    """
    shown = model_of(comparison, model)
    axes = axes_of(ax)
    if not axes.containers:  # both axes reach as far, so the diagonal is theirs
        axes.plot([0, 1], [0, 1], transform=axes.transAxes, color=QUIET, linewidth=0.8, zorder=0)
    bins = [(part.predicted, part.observed, part.low, part.high) for part in shown.calibration]
    predicted, observed, *limits = np.array(bins, np.float64).T
    bars = np.nan_to_num(np.abs(limits - observed))  # undefined: none
    axes.errorbar(predicted, observed, yerr=bars, **_calibration_line(comparison.models.index(shown), shown.name))
    axes.autoscale()  # to all models on these axes
    reach = [*axes.get_xlim(), *axes.get_ylim()]
    ends = (max(0.0, min(reach)), max(reach))
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    axes.set_xlabel(with_unit("predicted cost", comparison.costs.currency), parse_math=False)
    axes.set_ylabel(with_unit("cost of the search", comparison.costs.currency), parse_math=False)
    names = [shortened(str(drawn.get_label()), LONGEST_LINE) for drawn in axes.containers]
    name_lines(axes, axes.containers, names, loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
    return open_frame(axes)


def _calibration_line(number: int, name: str) -> Style:
    """How one of several models is drawn: after every six colours, markers and dashes change."""
    cycle, colour = divmod(number, len(COLOURS))
    style: Style = {
        "color": COLOURS[colour],
        "marker": MARKERS[(colour + cycle) % len(MARKERS)],
        "markersize": 4,
        "linestyle": ("-", *DASHES)[cycle % 7],
        "linewidth": 1.0,
        "elinewidth": 0.6,
        "label": name,
    }
    if cycle:
        style["markerfacecolor"] = "white"
    return style


MOST_WRITTEN = 10  # classes whose numbers fit into their cells
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
    >>> from pandora_regret import compare
    >>> vague = {"vague": [[0.5, 0.5], [0.5, 0.5]]}
    >>> comparison = compare(["a", "b"], vague, labels=["a", "b"], costs=[60, 30])
    >>> axes = plot_pair_costs(comparison, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['10.0', '2.5']
    """
    shown = model_of(comparison, model)
    axes = axes_of(ax)
    spent = np.array(shown.pair_costs)
    order = np.argsort(-(spent.sum(axis=0) + spent.sum(axis=1)), kind="stable")
    costs = spent[np.ix_(order, order)]
    n = len(order)
    cells = axes.pcolormesh(costs, cmap=SHADES, vmin=0, edgecolors="white", linewidth=0.5)
    title = shortened(shown.name, LONGEST_LINE)
    measured = with_unit("cost per case", comparison.costs.currency)
    if n > MOST_WRITTEN:
        axes.figure.colorbar(cells, ax=axes).set_label(measured, parse_math=False)
    else:
        title += f"\n{measured}"
        _write_costs(axes, costs)
    axes.set_title(title, parse_math=False)
    names = [shortened(comparison.data.classes[k], LONGEST_NAME) for k in order]
    oblique: Style = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 3 else {}
    axes.set_xticks(np.arange(n) + 0.5, names, parse_math=False, **oblique)
    axes.set_yticks(np.arange(n) + 0.5, names, parse_math=False)
    axes.tick_params(length=0)
    axes.set(xlabel="tested", ylabel="truth", ylim=(n, 0))
    axes.spines[:].set_visible(False)
    return axes


def _write_costs(axes: Axes, costs: FloatArray) -> None:
    """Costs in their cells, with as many decimals as show three digits of the largest; 0.0 stays blank."""
    decimals = decimals_for(costs.max())
    size = "xx-small"
    if len(costs) <= 4:
        size = "small"
    elif len(costs) <= 7:
        size = "x-small"
    for (row, column), cost in np.ndenumerate(costs):
        if round(cost, decimals) > 0:
            colour = "white" if cost > DARK * costs.max() else "black"
            text = fixed(float(cost), decimals)
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=size, color=colour)


def model_line(number: int, **emphasis: float) -> Style:
    """How the line of one of several models is drawn, the cheapest first: the seventh and later ones are grey."""
    if number >= len(COLOURS):
        return {"color": QUIET, "linewidth": 0.8, "zorder": 1}
    return {"color": COLOURS[number], "marker": MARKERS[number], **emphasis}


def model_of(comparison: Comparison, name: str | None) -> ModelResult:
    """A model by its name, or else the cheapest."""
    if name is None:
        return comparison.best
    choices = {model.name: f"number {model.rank}" for model in comparison.models}
    return comparison.models[list(choices).index(read_choice(name, "model", choices))]


LEAST_SHOWN = 1e-3  # of a score on a logarithmic scale, which has no place for 0: lower ones are shown here
COST_BINS = 30
HIGHEST = 0.85  # of a ridge; the next one begins at 1
LONGEST_ROW = 18  # the name of a row


class ScoredForecasts(NamedTuple):
    """Labelled forecasts, and their scores."""

    forecast: Forecast
    scores: FloatArray  # (N,)
    highest: float  # that has a place on the scale
    title: str  # of the score


def _score_forecasts(
    y_true: Labels,
    y_proba: Table,
    alpha: float,
    labels: ArrayLike | None,
    logits: bool,
    normalise: bool,
    sample_weight: ArrayLike | None = None,
) -> ScoredForecasts:
    """Labelled forecasts and the score of each."""
    forecast = read_labelled(y_true, y_proba, labels, sample_weight, logits, normalise).check()
    scores = pandora_regret(
        forecast.truth, forecast.values, alpha=alpha, logits=forecast.logits, per_instance=True
    )
    highest = max(10 * LEAST_SHOWN, *scores[np.isfinite(scores)])
    title = "Pandora’s Regret" if alpha == 1 else f"score $S_α$, {alpha_name(alpha)}"
    return ScoredForecasts(forecast, scores, highest, title)


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
    forecast, scores, highest, title = _score_forecasts(
        y_true, y_proba, alpha, labels=labels, sample_weight=sample_weight, logits=logits, normalise=normalise
    )
    edges = np.geomspace(LEAST_SHOWN, highest, COST_BINS + 1)
    for k in range(forecast.n_classes):
        is_truth = forecast.truth == k
        _draw_ridge(axes, k, scores[is_truth], forecast.each_weight[is_truth], edges)
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
    """The histogram of class k, standing on the line at k, its mean, and the share of infinite scores."""
    finite = np.isfinite(scores)
    colour = COLOURS[k % len(COLOURS)]
    shown = np.clip(scores[finite], edges[0], edges[-1])  # rounding may have moved the last edge
    heights = np.histogram(shown, edges, weights=weights[finite])[0]
    if heights.sum() > 0:
        if heights[0] > heights[1:].max() > 0:  # and is cut off: its share says how high it is
            share = f"{100 * heights[0] / heights.sum():.0f} %"
            write_beside(
                axes, share, (edges[1], k - HIGHEST), (2, 0, "left", "top"), fontsize="x-small", color="0.4"
            )
        heights = np.minimum(heights * HIGHEST / (heights[1:].max() or heights[0]), HIGHEST)
        axes.stairs(k - heights, edges, baseline=k, fill=True, facecolor=tint(colour), edgecolor=colour)
        mean = max(np.average(scores[finite], weights=weights[finite]), edges[0])
        axes.plot([mean, mean], [k, k - HIGHEST], color="black", linewidth=1.0)
    axes.axhline(k, color=QUIET, linewidth=0.6, zorder=1)
    infinite = weights[~finite].sum()
    total = weights.sum()
    if infinite or not total:
        remark = f"{two_digits(100 * infinite / total)} % infinite" if total else "no cases"
        write_beside(axes, remark, (edges[-1], k), (0, 1, "right", "bottom"), fontsize="small", color="0.4")


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
    scored = _score_forecasts(y_true, y_proba, alpha, labels=labels, logits=logits, normalise=normalise)
    points = _draw_points(axes, scored)
    _draw_argmax_lines(axes)
    signs = zip(SIGNS, scored.forecast.labels, strict=True)
    frame(axes, [f"{sign} {shortened(str(label), LONGEST_CORNER)}" for sign, label in signs])
    axes.text(0, 0.75, "marker: truth", fontsize="x-small", color="0.4", transform=axes.transAxes)
    bar = axes.figure.colorbar(points, ax=axes, label=scored.title, shrink=0.8, extend="min")
    bar.ax.yaxis.set_major_formatter("{x:g}")
    return axes


def _draw_points(axes: Axes, scored: ScoredForecasts) -> PathCollection:
    """A marker for each forecast, of its truth's kind and its score's shade; the last of the collections."""
    from matplotlib.colors import LogNorm

    forecast = scored.forecast
    x, y = to_plane(probability_table(three_classes(forecast))).T
    style: Style = {
        "s": 14,
        "edgecolors": "0.3",
        "linewidths": 0.3,
        "rasterized": len(scored.scores) > MOST_DRAWN,
        "cmap": "cividis_r",  # all shades seen on white
        "norm": LogNorm(LEAST_SHOWN, scored.highest),
    }
    order = np.argsort(scored.scores, kind="stable")
    shown = np.clip(scored.scores, LEAST_SHOWN, scored.highest)
    for k in np.unique(forecast.truth):
        rows = order[forecast.truth[order] == k]  # the most expensive on top
        points = axes.scatter(x[rows], y[rows], c=shown[rows], marker=MARKERS[k], **style)
    return points


def _draw_argmax_lines(axes: Axes) -> None:
    """From the middle of the triangle to the middle of each side: on both sides another class is the likeliest."""
    middle = to_plane(np.full(3, 1 / 3))
    for side in to_plane((1 - np.eye(3)) / 2):
        axes.plot(*np.stack([middle, side]).T, color=QUIET, linewidth=0.6, zorder=0)

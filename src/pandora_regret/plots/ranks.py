"""Who is first depends on the metric: ranks of models across metrics, as a bump chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pandora_regret.inputs import read_choice
from pandora_regret.metrics import ranks_as_another
from pandora_regret.plots.style import COLOURS, axes_of, model_line
from pandora_regret.text import shortened

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
    keys = _usual_keys(comparison) if metrics is None else metrics
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
    _name_metrics(axes, [titles[key] for key in keys])
    axes.set_ylim(len(comparison.models) + 0.5, 0.5)
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    return axes


def _usual_keys(comparison: Comparison) -> list[str]:
    scores = [each.key for each in comparison.metrics if each.unit in ("score", "share")]
    return ["expected_cost", *(key for key in scores if not ranks_as_another(key))]


def places(ranks: Sequence[float | None]) -> list[int]:
    """1, 2, 3, ... so that names of tied models do not lie on each other; unranked ones come last."""
    order = sorted(range(len(ranks)), key=lambda number: (ranks[number] is None, ranks[number] or 0.0))
    return [order.index(number) + 1 for number in range(len(ranks))]


def _name_metrics(axes: Axes, titles: Sequence[str]) -> None:
    axes.set_xticks(range(len(titles)), titles, rotation=40, ha="left", rotation_mode="anchor")
    axes.tick_params(axis="x", top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.grid(axis="x", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)

"""Who is first depends on the metric: ranks of models across metrics, as a bump chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pandora_regret.inputs import read_choice
from pandora_regret.plots.style import COLOURS, MARKERS, QUIET, axes_of
from pandora_regret.report.formats import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pandora_regret.compare import Comparison

METRICS = ("expected_cost", "pandora_regret", "log_loss", "brier", "accuracy", "macro_f1")
LONGEST_NAME = 16


def plot_ranks(comparison: Comparison, metrics: Sequence[str] = METRICS, *, ax: Axes | None = None) -> Axes:
    """The rank of every model by every metric, the best on top; tied models share a place.

    The six cheapest models have a colour each, others are grey.

    Parameters
    ----------
    comparison
        From `compare`.
    metrics
        Their keys, from left to right.
    ax
        Where to draw; the current axes unless given.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from pandora_regret.compare import compare
    >>> found = compare([0, 1], {"sharp": [[0.8, 0.2], [0.2, 0.8]], "vague": [[0.6, 0.4], [0.4, 0.6]]})
    >>> axes = plot_ranks(found, ax=Figure().subplots())
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['sharp', 'vague']
    """
    axes, titles = axes_of(ax), {metric.key: metric.title for metric in comparison.metrics}
    keys = [read_choice(key, "metric", titles) for key in metrics]
    for number in reversed(range(len(comparison.models))):
        places = [comparison.ranks[key][number] for key in keys]
        axes.plot(range(len(keys)), places, clip_on=False, **_style(number))
    names = [shortened(model.name, LONGEST_NAME) for model in comparison.models]
    _name_models(axes, names, comparison.ranks[keys[0]])
    right = axes.twinx()
    return axes

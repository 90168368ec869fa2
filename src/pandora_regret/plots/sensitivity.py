"""How agreement with search cost moves with a number that the paper leaves open, or fixes at 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pandora_regret.plots.style import COLOURS, MARKERS, axes_of
from pandora_regret.study.table import Cell

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_sensitivity(numbers: Sequence[Any], lines: Mapping[str, Sequence[Cell]], ax: Axes | None = None) -> Axes:
    """|tau| of some metrics, or under some conditions, against a number, with intervals as bands.

    A hollow marker is a metric that ranks models the wrong way round.

    Parameters
    ----------
    numbers
        The values of what is varied, as they are to be written; they stand at equal distances.
    lines
        The cells of a study's table at each of them, by what the legend is to say.
    ax
        Where to draw; the current axes unless given.

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    axes = axes_of(ax)
    places = range(len(numbers))
    for number, (label, cells) in enumerate(lines.items()):
        style: dict[str, Any] = {"color": COLOURS[number % 6], "marker": MARKERS[number % 6], "label": label}
        axes.plot(places, [_value(cell.value) for cell in cells], markersize=3.5, linewidth=1.2, **style)
        wrong = [(x, cell.value) for x, cell in zip(places, cells, strict=True) if cell.reversed]
        hollow: dict[str, Any] = style | {"label": None, "linestyle": "", "markerfacecolor": "white", "zorder": 3}
        axes.plot([x for x, _ in wrong], [_value(y) for _, y in wrong], markersize=3.5, **hollow)
        low, high = ([_value(end) for end in ends] for ends in zip(*((c.low, c.high) for c in cells), strict=True))
        axes.fill_between(places, low, high, color=COLOURS[number % 6], alpha=0.12, linewidth=0)
    axes.set_xticks(places, [str(number) for number in numbers])
    axes.set_ylim(0, 1)
    axes.set_ylabel("|τ| with search cost")
    return axes


def _value(number: float | None) -> float:
    return float("nan") if number is None else number

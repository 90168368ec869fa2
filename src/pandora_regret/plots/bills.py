"""What searches by several forecasts of one case pay until they find the truth: a bar each, a piece a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pandora_regret.compare.words import money
from pandora_regret.inputs import InputError
from pandora_regret.optional import needs
from pandora_regret.plan import Plan, plan_search
from pandora_regret.plots.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIGHT, WRONG = COLOURS[0], COLOURS[4]


def plot_bills(
    forecasts: Mapping[str, Mapping[Any, float]],
    truth: Any,
    costs: Mapping[Any, float],
    *,
    currency: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Bars of what each forecast's search tests, in order and to scale, until it finds the truth.

    Parameters
    ----------
    forecasts
        Probabilities by class, by what the forecast is called.
    truth
        The true class.
    costs
        What the test of each class costs.
    currency
        A code such as "USD", or a symbol.
    ax
        Where to draw; the current axes unless given.
    """
    axes = ax if ax is not None else needs("matplotlib.pyplot", extra="report").gca()
    for row, (name, forecast) in enumerate(forecasts.items()):
        if truth not in forecast:
            raise InputError(
                f"truth is {truth!r}, which forecast {name!r} does not know: name one of {list(forecast)}."
            )
        paid = _draw_bill(axes, row, plan_search(forecast, costs), truth)
        axes.annotate(
            money(paid, currency), (paid, row), (4, 0), textcoords="offset points", va="center", weight="bold"
        )
    axes.set_yticks(range(len(forecasts)), list(forecasts))
    axes.set_ylim(len(forecasts) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"paid until the truth, {truth}, is found")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _draw_bill(axes: Axes, row: int, plan: Plan, truth: Any) -> float:
    """One bar; what it comes to."""
    for step in plan.steps:
        start, found = step.total_cost - step.cost, step.test == truth
        axes.barh(row, step.cost, left=start, height=0.55, color=RIGHT if found else WRONG, edgecolor="white")
        middle = start + step.cost / 2
        axes.text(middle, row, str(step.test), ha="center", va="center", color="white" if found else "black")
        if found:
            return step.total_cost
    raise AssertionError("a search that is never given up finds the truth")

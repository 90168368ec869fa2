"""One case worked through: a plan as a staircase, and what searches by several forecasts pay as bars."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandora_regret.inputs import InputError
from pandora_regret.plots.style import COLOURS, axes_of, open_frame, sheet, with_unit
from pandora_regret.text import money, shortened
from pandora_regret.workup import Plan, plan_search

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR, EXPECTED = COLOURS[:2]
LEAST_STEP = 0.055  # of the chance of being done since the last name, that leaves room for another below
LONGEST_NAME = 24


def plot_search_trace(plan: Plan, ax: Axes | None = None, currency: str | None = "") -> Axes:
    """The total cost of a plan's tests against the chance of having found the truth by then.

    Parameters
    ----------
    plan
        From `plan_search`.
    ax
        Where to draw; the current axes unless given.
    currency
        Of the costs, such as "USD".

    Returns
    -------
    Axes
        The axes that were drawn on.
    """
    axes = axes_of(ax)
    costs = [0.0, *(step.total_cost for step in plan.steps)]
    done = [0.0, *(100 * step.done for step in plan.steps)]
    axes.step(costs, done, where="post", color=COLOUR, linewidth=1.8, clip_on=False)
    axes.plot(costs[1:], done[1:], "o", color=COLOUR, markersize=4)
    said = f"expected total {money(plan.expected_cost, currency)}"
    axes.axvline(plan.expected_cost, color=EXPECTED, linestyle="--", linewidth=1.2, label=said)
    named = 0.0
    behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    style: dict[str, Any] = {"xytext": (5, -4), "textcoords": "offset points", "va": "top", "fontsize": "small"}
    for step in plan.steps:
        if step.done - named >= LEAST_STEP:  # there is room for a name
            named, name = step.done, shortened(str(step.test), LONGEST_NAME)
            axes.annotate(name, (step.total_cost, 100 * named), parse_math=False, bbox=behind, **style)
    axes.set_xlim(0, 1.3 * max(*costs, plan.expected_cost))  # room for the last name
    axes.set_ylim(0, 105)
    axes.set_xlabel(with_unit("spent so far", currency), parse_math=False)
    axes.set_ylabel("found by now (%)")
    axes.legend(loc="lower right", frameon=False)
    return open_frame(axes)


def draw_search_trace(plan: Plan, path: str | os.PathLike[str], currency: str | None = "") -> Path:
    """The staircase by itself, into a file whose name says its kind: SVG, PDF or PNG."""
    with sheet(path, 5.6, 3.6, settings={}) as figure:
        plot_search_trace(plan, figure.subplots(), currency)
    return Path(path)


RIGHT, WRONG = COLOURS[0], COLOURS[4]
LETTER = 0.65  # its width, of the size of print
FEWEST_LETTERS = 3  # of a name that is still worth writing


def plot_bills(
    forecasts: Mapping[str, Mapping[Any, float]],
    truth: Any,
    costs: Mapping[Any, float],
    *,
    currency: str | None = "",
    ax: Axes | None = None,
) -> Axes:
    """Bars of what each forecast's search tests, in order and to scale, until it finds the truth.

    Names are shortened to what their piece has room for.

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

    Returns
    -------
    Axes
        The axes that were drawn on.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> forecast = {"flu": 0.6, "cold": 0.4}
    >>> axes = plot_bills({"mine": forecast}, "flu", {"flu": 30, "cold": 10}, ax=Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['cold', 'flu', '40']
    """
    axes = axes_of(ax)
    bills = []
    for name, forecast in forecasts.items():
        if truth not in forecast:
            problem = f"truth is {truth!r}, which forecast {name!r} does not know"
            raise InputError(f"{problem}: name one of {list(forecast)}.")
        steps = plan_search(forecast, costs).steps
        bills.append(steps[: [step.test for step in steps].index(truth) + 1])
    points = 72 * axes.bbox.width / axes.figure.dpi
    across = points / (LETTER * float(axes.xaxis.label.get_fontsize()))  # letters that fit, about
    longest = max((bill[-1].total_cost for bill in bills), default=0.0)
    for row, bill in enumerate(bills):
        for step in bill:
            start, is_truth = step.total_cost - step.cost, step is bill[-1]
            colour, ink = (RIGHT, "white") if is_truth else (WRONG, "black")
            [piece] = axes.barh(row, step.cost, left=start, height=0.55, color=colour, edgecolor="white")
            room = int(across / longest * step.cost)
            if room >= FEWEST_LETTERS:
                style: dict[str, Any] = {"ha": "center", "va": "center", "color": ink, "parse_math": False}
                text = axes.text(
                    start + step.cost / 2, row, shortened(str(step.test), room), clip_on=True, **style
                )
                text.set_clip_path(piece)  # widths are estimates
        paid = bill[-1].total_cost
        beside: dict[str, Any] = {"xytext": (4, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(money(paid, currency), (paid, row), weight="bold", parse_math=False, **beside)
    axes.set_yticks(range(len(forecasts)), list(forecasts), parse_math=False)
    axes.set_ylim(len(forecasts) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"paid until the truth, {truth}, is found", parse_math=False)
    return open_frame(axes)

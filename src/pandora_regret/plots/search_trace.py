"""One case worked through, as a staircase: what has been spent against the chance of being done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pandora_regret.plan import Plan
from pandora_regret.plots.style import COLOURS, axes_of, open_frame, sheet, with_unit
from pandora_regret.text import money, shortened

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
    _name_tests(axes, plan)
    axes.set_xlim(0, 1.3 * max(*costs, plan.expected_cost))  # room for the last name
    axes.set_ylim(0, 105)
    axes.set_xlabel(with_unit("spent so far", currency), parse_math=False)
    axes.set_ylabel("found by now (%)")
    axes.legend(loc="lower right", frameon=False)
    return open_frame(axes)


def _name_tests(axes: Axes, plan: Plan) -> None:
    """What each step tests for, where there is room; `parse_math` is off, since a class may be "$5 to $10"."""
    named = 0.0
    for step in plan.steps:
        if step.done - named < LEAST_STEP:
            continue
        named = step.done
        place = (step.total_cost, 100 * step.done)
        style = {"xytext": (5, -4), "textcoords": "offset points", "va": "top", "fontsize": "small"}
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
        axes.annotate(shortened(str(step.test), LONGEST_NAME), place, parse_math=False, bbox=behind, **style)  # type: ignore[arg-type]


def draw_search_trace(plan: Plan, path: str | os.PathLike[str], currency: str | None = "") -> Path:
    """The staircase by itself, into a file whose name says its kind: SVG, PDF or PNG."""
    with sheet(path, 5.6, 3.6, settings={}) as figure:
        plot_search_trace(plan, figure.subplots(), currency)
    return Path(path)

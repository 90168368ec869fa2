"""One case worked through: a plan as a staircase, and what searches by several forecasts pay as bars."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pandora_regret.core.atomic import Place
from pandora_regret.core.inputs import InputError
from pandora_regret.plots.style import COLOURS, Style, axes_of, open_frame, sheet, with_unit, write_beside
from pandora_regret.text import TESTS, money, shortened
from pandora_regret.workup import Plan, PlanStep, plan_search

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ClassName = TypeVar("ClassName", bound=Hashable)  # what classes are called

COLOUR = COLOURS[0]
EXPECTED = COLOURS[1]
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
    unit = TESTS if currency is None else currency
    costs = [0.0, *(step.total_cost for step in plan.steps)]
    done = [0.0, *(100 * step.done for step in plan.steps)]
    axes.step(costs, done, where="post", color=COLOUR, linewidth=1.8, clip_on=False)
    axes.plot(costs[1:], done[1:], "o", color=COLOUR, markersize=4)
    total = f"expected total {money(plan.expected_cost, unit)}"
    axes.axvline(plan.expected_cost, color=EXPECTED, linestyle="--", linewidth=1.2, label=total)
    background = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
    done_at_last_name = 0.0
    for step in plan.steps:
        if step.done - done_at_last_name >= LEAST_STEP:
            done_at_last_name = step.done
            name = shortened(str(step.test), LONGEST_NAME)
            point = (step.total_cost, 100 * step.done)
            write_beside(axes, name, point, (5, -4, "left", "top"), fontsize="small", bbox=background)
    axes.set_xlim(0, 1.3 * max(*costs, plan.expected_cost))  # room for the last name
    axes.set(ylim=(0, 105), ylabel="found by now (%)")
    axes.set_xlabel(with_unit("spent so far", unit), parse_math=False)
    axes.legend(loc="lower right", frameon=False)
    return open_frame(axes)


def draw_search_trace(plan: Plan, path: Place, currency: str | None = "") -> Path:
    """The staircase by itself, into a file whose name says its kind: SVG, PDF or PNG."""
    with sheet(path, 5.6, 3.6, settings={}) as figure:
        plot_search_trace(plan, figure.subplots(), currency)
    return Path(path)


RIGHT = COLOURS[0]
WRONG = COLOURS[4]
LETTER = 0.65  # its width, of the size of print
FEWEST_LETTERS = 3  # of a name that is still worth writing


def plot_bills(
    forecasts: Mapping[str, Mapping[ClassName, float]],
    truth: ClassName,
    costs: Mapping[ClassName, float],
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
    bills = [_bill(name, forecast, truth, costs) for name, forecast in forecasts.items()]
    longest = max((bill[-1].total_cost for bill in bills), default=0.0)
    points_across = 72 * axes.bbox.width / axes.figure.dpi
    letters_across = points_across / (LETTER * float(axes.xaxis.label.get_fontsize()))
    for row, bill in enumerate(bills):
        for step in bill:
            room = int(letters_across / longest * step.cost)
            _draw_step(axes, row, step, room, is_truth=step is bill[-1])
        paid = bill[-1].total_cost
        write_beside(axes, money(paid, currency), (paid, row), (4, 0, "left", "center"), weight="bold")
    axes.set_yticks(range(len(forecasts)), list(forecasts), parse_math=False)
    axes.set_ylim(len(forecasts) - 0.4, -0.6)
    axes.margins(x=0.12)
    axes.set_xlabel(f"paid until the truth, {truth}, is found", parse_math=False)
    return open_frame(axes)


def _bill(
    name: str, forecast: Mapping[ClassName, float], truth: ClassName, costs: Mapping[ClassName, float]
) -> Sequence[PlanStep]:
    """The tests that the forecast's search makes, up to that of the truth."""
    if truth not in forecast:
        fix = f"name one of {list(forecast)}"
        raise InputError(f"truth is {truth!r}, which forecast {name!r} does not know: {fix}.")
    steps = plan_search(forecast, costs).steps
    n_tested = [step.test for step in steps].index(truth) + 1
    return steps[:n_tested]


def _draw_step(axes: Axes, row: int, step: PlanStep, room: int, *, is_truth: bool) -> None:
    """One test as a piece of its row's bar, and its name, shortened to the letters that it has room for."""
    colour = RIGHT if is_truth else WRONG
    start = step.total_cost - step.cost
    [piece] = axes.barh(row, step.cost, left=start, height=0.55, color=colour, edgecolor="white")
    if room >= FEWEST_LETTERS:
        name = shortened(str(step.test), room)
        style: Style = {"ha": "center", "va": "center", "color": "white" if is_truth else "black"}
        text = axes.text(start + step.cost / 2, row, name, clip_on=True, parse_math=False, **style)
        text.set_clip_path(piece)  # widths are estimates

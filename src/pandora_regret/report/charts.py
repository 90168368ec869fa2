"""The geometry of the page's charts: where things go. The templates draw them as SVG.

Distances along a responsive axis are percentages, so that text keeps its size on a phone; the others are pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from textwrap import wrap
from typing import Any

import numpy as np

from pandora_regret.comparison.parts import Breakdown, ListsPart, MetricInfo, MissCrossing, ModelResult
from pandora_regret.plots.compared_models import places
from pandora_regret.plots.style import COLOURS, QUIET

TemplateData = Mapping[str, Any]

ROUNDING = 1e-9  # values that differ by less, relatively, differ by rounding
LEAST_DRAWN = 1e-280  # values below it are drawn as zero
MOST_TICKS = 6
MOST_STRIP_TICKS = 3  # of a column as narrow as a cell
MOST_COLUMNS = 4  # models side by side
MOST_PAIRS = 10  # of wrong tests

BUMP_ROW = 26
BUMP_TOP = 56
BUMP_GUTTER = 216
BUMP_COLUMN = 88
TITLE_LETTERS = 13


@dataclass(frozen=True)
class Axis:
    """A linear axis with round ticks.

    Examples
    --------
    >>> axis = Axis.around([1.0, 9.0])
    >>> axis.ticks, axis.percent(5.0)
    ((2.0, 4.0, 6.0, 8.0), 50.0)
    """

    low: float
    high: float
    ticks: tuple[float, ...]  # at most six multiples of 1, 2 or 5 times a power of ten

    @classmethod
    def around(cls, values: Iterable[float | None], padding: float = 0.05) -> Axis:
        """An axis a little wider than the values; undefined ones are left out."""
        shown = [value for value in values if value is not None and isfinite(value)] or [0.0, 1.0]
        least = min(shown)
        most = max(shown)
        largest = max(abs(least), abs(most))
        if largest < LEAST_DRAWN:  # whose parts no floating-point number could tell apart
            least = 0.0
            most = 0.0
            largest = 2.0
        room = padding * (most - least) if most - least > ROUNDING * largest else 0.5 * largest
        low = least - room
        high = most + room
        unit = 10.0 ** floor(log10((high - low) / MOST_TICKS))
        step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= MOST_TICKS)
        numbers = range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)
        return cls(low, high, tuple(float(f"{number * step:.12g}") for number in numbers))

    def percent(self, value: float) -> float:
        """Where a value lies between the ends, 0 to 100."""
        return round(100 * (value - self.low) / (self.high - self.low), 3)


def cost_bars(models: Sequence[ModelResult]) -> list[dict[str, Any]]:
    """One bar per model, from zero: what nobody could save, what recalibrating would, what else is wasted."""
    costs = [model.scores["expected_cost"] for model in models]
    reach = max(end or 0.0 for cost in costs for end in (cost.value, cost.high)) or 1.0

    def place(amount: float | None) -> float | None:
        return None if amount is None else round(100 * amount / reach, 3)

    bars = []
    for model, cost in zip(models, costs, strict=True):
        parts = []
        x = 0.0
        for kind, amount in model.parts_of_cost.items():
            width = 100 * amount / reach
            parts.append({"kind": kind, "amount": amount, "x": round(x, 3), "width": round(width, 3)})
            x += width
        end = round(x, 3)
        bars.append({"cost": cost, "parts": parts, "x": end, "low": place(cost.low), "high": place(cost.high)})
    return bars


def group_strips(breakdown: Breakdown, models: Sequence[ModelResult]) -> TemplateData:
    """Groups as rows of a chart, on one axis: costs under the cheapest models and those that a flag is about."""
    flagged = [m for m, model in enumerate(models) if model.name in breakdown.all_flagged]
    flagged = flagged[: MOST_COLUMNS + 1]
    unflagged = [m for m in range(len(models)) if m not in flagged]
    shown = sorted([*flagged, *unflagged][: max(MOST_COLUMNS, len(flagged))])
    costs = (group.models[m].cost for group in breakdown.groups for m in shown)
    axis = Axis.around(end for cost in costs for end in (cost.low, cost.value, cost.high))
    every = ceil(len(axis.ticks) / MOST_STRIP_TICKS)
    return {"breakdown": breakdown, "shown": shown, "axis": axis, "ticks": axis.ticks[::every]}


def wrong_tests(models: Sequence[ModelResult], classes: Sequence[str]) -> TemplateData:
    """The most expensive wrong tests of the cheapest models; empty where a page saved its numbers without them."""
    models = models[:MOST_COLUMNS]
    if not all(model.pair_costs for model in models):
        return {}
    table = np.array([model.pair_costs for model in models], dtype=np.float64)  # None becomes nan
    spent = np.nan_to_num(table).reshape(len(models), -1)
    costliest = [n for n in np.argsort(-spent.max(axis=0), kind="stable")[:MOST_PAIRS] if spent[:, n].any()]
    pairs = [(classes[n // len(classes)], classes[n % len(classes)], spent[:, n].tolist()) for n in costliest]
    return {
        "pairs": pairs,
        "largest": spent.max(initial=0.0) or 1.0,
        "others": int((spent.any(axis=0)).sum()) - len(costliest),
        "rest": (spent.sum(axis=1) - spent[:, costliest].sum(axis=1)).tolist(),
    }


def bump_chart(models: Sequence[ModelResult], metrics: Sequence[MetricInfo], ranks: TemplateData) -> TemplateData:
    """Ranks among these models by every metric: one column per metric, one line per model."""
    columns = [_ranks_among(ranks[metric.key]) for metric in metrics]
    across = [BUMP_GUTTER + BUMP_COLUMN * k for k in range(len(metrics))]
    titles = [wrap(metric.title, TITLE_LETTERS)[:3] for metric in metrics]
    ends = [places(columns[0]), places(columns[-1])]

    def row(rank: float) -> float:
        return round(BUMP_TOP + BUMP_ROW * (rank - 0.5), 2)

    lines = []
    for number, model in enumerate(models):
        points = [(x, row(column[number])) for x, column in zip(across, columns, strict=True)]
        lines.append({"name": model.name, "points": points, "ends": [row(end[number]) for end in ends]})
    height = BUMP_TOP + BUMP_ROW * len(models)
    return {
        "columns": list(zip(across, titles, strict=True)),
        "lines": lines,
        "height": height,
        "gutter": BUMP_GUTTER,
    }


def _ranks_among(ranks: Sequence[float]) -> list[float]:
    """Ranks 1, 2, ... of the models that are shown, by their ranks among all; ties share the mean rank."""
    column = np.array(ranks)[:, None]
    n_before = (column > column.T).sum(axis=1)
    n_tied = (column == column.T).sum(axis=1)  # itself included
    return list((n_before + (n_tied + 1) / 2).tolist())


@dataclass(frozen=True)
class Plot:
    """Two axes in a frame of pixels."""

    across: Axis
    up: Axis
    width: int
    height: int
    left: int = 68
    below: int = 46
    margin: int = 14  # above
    beside: int = 14  # to the right

    @property
    def right(self) -> int:
        """Where the frame ends, from the left."""
        return self.width - self.beside

    @property
    def bottom(self) -> int:
        """Where it ends, from the top."""
        return self.height - self.below

    def x(self, value: float) -> float:
        """How far to the right a value is."""
        return round(self.left + (self.right - self.left) * self.across.percent(value) / 100, 2)

    def y(self, value: float) -> float:
        """How far down a value is."""
        share = 1 - self.up.percent(value) / 100
        return round(self.margin + (self.bottom - self.margin) * share, 2)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{self.x(x)} {self.y(y)}" for x, y in points)


MISS_WIDTH = 640
MISS_HEIGHT = 300
MISS_LEFT = 66  # room for what is written beside the axes
MISS_BELOW = 48
MISS_RIGHT = 24
MISS_ABOVE = 10


@dataclass(frozen=True)
class _MissScale:
    """Where prices of a miss and costs lie in the chart, in pixels."""

    furthest: float  # the highest price of a miss
    across: Axis
    up: Axis

    def x(self, price: float) -> float:
        """Where a price lies, or the furthest one if that is lower."""
        width = MISS_WIDTH - MISS_LEFT - MISS_RIGHT
        return round(MISS_LEFT + width * min(price / self.furthest, 1.0), 1)

    def y(self, cost: float) -> float:
        """Where a cost lies."""
        height = MISS_HEIGHT - MISS_ABOVE - MISS_BELOW
        return round(MISS_ABOVE + height * (1 - cost / (self.up.high or 1.0)), 1)

    def line(self, prices: Sequence[float], costs: Sequence[float | None]) -> list[str]:
        """The points of a line; costs that are not known are left out."""
        points = []
        for price, cost in zip(prices, costs, strict=True):
            if cost is not None:
                points.append(f"{self.x(price)},{self.y(cost)}")
        return points


def miss_chart(lists: ListsPart) -> TemplateData:
    """The cost of each model by the price of a miss, in pixels: a line and a band each, and break-even prices."""
    furthest = lists.prices[-1] or 1.0
    highs = [estimate.high or estimate.value or 0.0 for costs in lists.curves.values() for estimate in costs]
    scale = _MissScale(furthest, Axis.around([0.0, furthest], 0.0), Axis.around([0.0, max(highs)], 0.0))
    lines = []
    for number, (name, costs) in enumerate(lists.curves.items()):
        lower = scale.line(lists.prices, [cost.low for cost in costs])
        upper = scale.line(lists.prices, [cost.high for cost in costs])
        line = {
            "name": name,
            "colour": COLOURS[number] if number < len(COLOURS) else QUIET,
            "points": " ".join(scale.line(lists.prices, [cost.value for cost in costs])),
            "band": " ".join([*lower, *reversed(upper)]),
        }
        lines.append(line)
    return {
        "width": MISS_WIDTH,
        "height": MISS_HEIGHT,
        "left": MISS_LEFT,
        "right": MISS_WIDTH - MISS_RIGHT,
        "bottom": MISS_HEIGHT - MISS_BELOW,
        "top": MISS_ABOVE,
        "end": furthest,
        "lines": lines,
        "marks": [_miss_mark(crossing, lists, scale) for crossing in lists.crossings],
        "across": [{"x": scale.x(tick), "value": tick} for tick in scale.across.ticks],
        "up": [{"y": scale.y(tick), "value": tick} for tick in scale.up.ticks],
    }


def _miss_mark(crossing: MissCrossing, lists: ListsPart, scale: _MissScale) -> TemplateData:
    """The dot of a break-even price, and the bar of its interval."""
    costs = [estimate.value or 0.0 for estimate in lists.curves[crossing.model]]
    return {
        "x": scale.x(crossing.price),
        "y": scale.y(float(np.interp(crossing.price, lists.prices, costs))),
        "low": scale.x(crossing.low or 0.0),
        "high": scale.x(scale.furthest if crossing.high is None else crossing.high),
    }

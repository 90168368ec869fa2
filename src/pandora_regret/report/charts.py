"""The geometry of the page's charts: where things go. The templates draw them as SVG.

Distances along a responsive axis are percentages, so that text keeps its size on a phone; the others are pixels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from textwrap import wrap
from typing import Any

from pandora_regret.plots.compared_models import places

Facts = Mapping[str, Any]

ALIKE = 1e-9  # values that differ by less, relatively, differ by rounding
SMALLEST = 1e-280  # values below it are drawn as zero

BUMP_ROW, BUMP_TOP, BUMP_GUTTER, BUMP_COLUMN = 26, 56, 216, 88
TITLE_LINE, TITLE_LETTERS = 14, 13


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
    ticks: tuple[float, ...]

    @classmethod
    def around(cls, values: Iterable[float | None], padding: float = 0.05) -> Axis:
        """An axis a little wider than the values; undefined ones are left out."""
        shown = [value for value in values if value is not None and isfinite(value)] or [0.0, 1.0]
        low, high = min(shown), max(shown)
        largest = max(abs(low), abs(high))
        if largest < SMALLEST:  # whose parts no floating-point number could tell apart
            low, high, largest = 0.0, 0.0, 2.0
        room = padding * (high - low) if high - low > ALIKE * largest else 0.5 * largest
        return cls(low - room, high + room, round_ticks(low - room, high + room))

    def percent(self, value: float) -> float:
        """Where a value lies between the ends, 0 to 100."""
        return round(100 * (value - self.low) / (self.high - self.low), 3)


def round_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """At most so many multiples of 1, 2 or 5 times a power of ten, between low and high.

    Examples
    --------
    >>> round_ticks(0.0, 1.0)
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    unit = 10.0 ** floor(log10((high - low) / most))
    step = next(unit * factor for factor in (1, 2, 5, 10) if (high - low) / (unit * factor) <= most)
    return tuple(float(f"{k * step:.12g}") for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1))


def cost_bars(models: Sequence[Facts]) -> list[dict[str, Any]]:
    """One bar per model, from zero: what nobody could save, what recalibrating would, what else is wasted."""
    costs = [model["scores"]["expected_cost"] for model in models]
    reach = max(end for cost in costs for end in (cost["value"], cost["high"] or 0.0)) or 1.0
    return [_bar(model, cost, reach) for model, cost in zip(models, costs, strict=True)]


def _bar(model: Facts, cost: Facts, reach: float) -> dict[str, Any]:
    least = min(model["unavoidable"], cost["value"])
    again = model["recalibrated"] and model["recalibrated"]["saved"]["value"]
    saved = min(max(again or 0.0, 0.0), cost["value"] - least)
    parts, x = [], 0.0
    for kind, amount in (("unavoidable", least), ("recal", saved), ("waste", cost["value"] - least - saved)):
        parts.append({"kind": kind, "amount": amount, "x": round(x, 3), "width": round(100 * amount / reach, 3)})
        x += 100 * amount / reach
    ends = {end: None if cost[end] is None else round(100 * cost[end] / reach, 3) for end in ("low", "high")}
    return {"cost": cost, "parts": parts, "x": round(x, 3), **ends}


def group_strips(breakdown: Facts, shown: Sequence[int]) -> dict[str, Any]:
    """Rows of a small chart: a group's cost under some of the models, all on one axis, with intervals."""
    costs = [group["models"][m]["cost"] for group in breakdown["groups"] for m in shown]
    axis = Axis.around(cost[end] for cost in costs for end in ("low", "value", "high"))
    groups = [
        {**group, "cells": [_placed(axis, group["models"][m], group["flags"]) for m in shown]}
        for group in breakdown["groups"]
    ]
    ticks = [{"value": tick, "x": axis.percent(tick)} for tick in axis.ticks]
    return {**breakdown, "groups": groups, "ticks": ticks, "shown": shown}


def _placed(axis: Axis, model: Facts, flags: Sequence[str]) -> dict[str, Any]:
    cost = model["cost"]
    x = {end: None if cost[end] is None else axis.percent(cost[end]) for end in ("low", "value", "high")}
    return {"cost": cost, "x": x, "flagged": any(model["name"] in flag for flag in flags)}


def bump_chart(models: Sequence[Facts], metrics: Sequence[Facts], ranks: Facts) -> dict[str, Any]:
    """Ranks of every model by every metric: one column per metric, one line per model."""
    columns = [_ranked_again(ranks[metric["key"]]) for metric in metrics]
    first, last = places(columns[0]), places(columns[-1])
    return {
        "width": 2 * BUMP_GUTTER + BUMP_COLUMN * (len(metrics) - 1),
        "height": BUMP_TOP + BUMP_ROW * len(models),
        "columns": [_heading(k, metric["title"]) for k, metric in enumerate(metrics)],
        "lines": [
            {
                "name": model["name"],
                "points": (points := _points(columns, i)),
                "path": _smooth(points),
                "left": _row(first[i]),
                "right": _row(last[i]),
            }
            for i, model in enumerate(models)
        ],
        "left": BUMP_GUTTER - 14,
        "right": BUMP_GUTTER + BUMP_COLUMN * (len(metrics) - 1) + 14,
    }


def _ranked_again(ranks: Sequence[float | None]) -> list[float | None]:
    """Ranks among the models of the chart, where those are only some; ties share the mean of their places."""
    ordered = sorted(rank for rank in ranks if rank is not None)
    places = {rank: (bisect_left(ordered, rank) + bisect_right(ordered, rank) + 1) / 2 for rank in ordered}
    return [None if rank is None else places[rank] for rank in ranks]


def _heading(k: int, title: str) -> dict[str, Any]:
    lines = wrap(title, TITLE_LETTERS)[:3]
    return {"x": _column(k), "y": BUMP_TOP - 16 - TITLE_LINE * (len(lines) - 1), "lines": lines}


def _points(columns: Sequence[Sequence[float | None]], i: int) -> list[tuple[float, float]]:
    return [(_column(k), _row(rank)) for k, column in enumerate(columns) if (rank := column[i]) is not None]


def _column(k: int) -> float:
    return BUMP_GUTTER + BUMP_COLUMN * k


def _row(rank: float) -> float:
    return round(BUMP_TOP + BUMP_ROW * (rank - 0.5), 2)


def _smooth(points: Sequence[tuple[float, float]]) -> str:
    """A path that leaves and reaches every point level."""
    if not points:
        return ""
    path, (x, y) = f"M{points[0][0]} {points[0][1]}", points[0]
    for next_x, next_y in points[1:]:
        middle = (x + next_x) / 2
        path += f"C{middle} {y} {middle} {next_y} {next_x} {next_y}"
        x, y = next_x, next_y
    return path


@dataclass(frozen=True)
class Plot:
    """Two axes in a frame of pixels."""

    across: Axis
    up: Axis
    width: int
    height: int
    left: int = 68
    below: int = 46
    margin: int = 14

    @property
    def frame(self) -> dict[str, Any]:
        """Where the frame is."""
        ends = {"left": self.left, "right": self.width - self.margin, "top": self.margin}
        return {"width": self.width, "height": self.height, "bottom": self.height - self.below, **ends}

    def x(self, value: float) -> float:
        """How far to the right a value is."""
        return round(self.left + (self.width - self.margin - self.left) * self.across.percent(value) / 100, 2)

    def y(self, value: float) -> float:
        """How far down a value is."""
        return round(
            self.margin + (self.height - self.below - self.margin) * (1 - self.up.percent(value) / 100), 2
        )

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        """A line through points."""
        return "M" + "L".join(f"{self.x(x)} {self.y(y)}" for x, y in points)


def calibration_plot(bins: Sequence[Facts]) -> dict[str, Any]:
    """What forecasts said the search would cost, across, against what it cost, upwards, on equal axes."""
    axis = Axis.around(bin_[key] for bin_ in bins for key in ("predicted", "observed", "low", "high"))
    heaviest = max((bin_["weight"] for bin_ in bins), default=1.0) or 1.0
    plot = Plot(axis, axis, 382, 360)
    return {
        **plot.frame,
        "ticks": [{"value": tick, "x": plot.x(tick), "y": plot.y(tick)} for tick in axis.ticks],
        "points": [_point(plot, bin_, heaviest) for bin_ in bins if bin_["observed"] is not None],
    }


def _point(plot: Plot, bin_: Facts, heaviest: float) -> dict[str, float]:
    low, high = (bin_["observed"] if bin_[end] is None else bin_[end] for end in ("low", "high"))
    return {
        "x": plot.x(bin_["predicted"]),
        "y": plot.y(bin_["observed"]),
        "low": plot.y(low),
        "high": plot.y(high),
        "radius": round(3 + 3 * (bin_["weight"] / heaviest) ** 0.5, 2),
    }


def chart_over_time(
    values: Sequence[float],
    *,
    other: Sequence[float] = (),
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    level: float | None = None,
) -> dict[str, Any]:
    """One curve, period by period, with another, a band around it or a level line."""
    low, high = band or ((), ())
    up = Axis.around([*values, *other, *low, *high, *([] if level is None else [level])])
    plot = Plot(Axis.around([0, len(values) - 1], padding=0.015), up, 960, 240, left=84, below=34)
    area = [*enumerate(high), *reversed(list(enumerate(low)))]
    return {
        **plot.frame,
        "ticks": [{"value": tick, "y": plot.y(tick)} for tick in up.ticks],
        "places": [plot.x(number) for number in range(len(values))],
        "curve": plot.path(enumerate(values)),
        "dots": [plot.y(value) for value in values] if len(values) <= 60 else [],
        "other": plot.path(enumerate(other)) if other else None,
        "band": f"{plot.path(area)}Z" if band else None,
        "level": None if level is None else plot.y(level),
    }

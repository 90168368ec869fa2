"""The geometry of the page's charts: where things go. The templates draw them as SVG.

Distances along a responsive axis are percentages, so that text keeps its size on a phone; the others are pixels.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
    bars = []
    for model, cost in zip(models, costs, strict=True):
        least = min(model["unavoidable"], cost["value"])
        again = model["recalibrated"] and model["recalibrated"]["saved"]["value"]
        saved = min(max(again or 0.0, 0.0), cost["value"] - least)
        parts, x = [], 0.0
        for kind, amount in (("unavoidable", least), ("recal", saved), ("waste", cost["value"] - least - saved)):
            width = 100 * amount / reach
            parts.append({"kind": kind, "amount": amount, "x": round(x, 3), "width": round(width, 3)})
            x += width
        ends = {end: None if cost[end] is None else round(100 * cost[end] / reach, 3) for end in ("low", "high")}
        bars.append({"cost": cost, "parts": parts, "x": round(x, 3), **ends})
    return bars


def group_strips(breakdown: Facts, shown: Sequence[int]) -> dict[str, Any]:
    """Rows of a small chart: a group's cost under some of the models, all on one axis, with intervals."""
    ends = ("low", "value", "high")
    costs = [group["models"][m]["cost"] for group in breakdown["groups"] for m in shown]
    axis, groups = Axis.around(cost[end] for cost in costs for end in ends), []
    for group in breakdown["groups"]:
        cells = []
        for model in (group["models"][m] for m in shown):
            cost = model["cost"]
            x = {end: None if cost[end] is None else axis.percent(cost[end]) for end in ends}
            flagged = any(model["name"] in flag for flag in group["flags"])
            cells.append({"cost": cost, "x": x, "flagged": flagged})
        groups.append({**group, "cells": cells})
    ticks = [{"value": tick, "x": axis.percent(tick)} for tick in axis.ticks]
    return {**breakdown, "groups": groups, "ticks": ticks, "shown": shown}


def bump_chart(models: Sequence[Facts], metrics: Sequence[Facts], ranks: Facts) -> dict[str, Any]:
    """Ranks of every model by every metric: one column per metric, one line per model."""
    columns = [_ranked_again(ranks[metric["key"]]) for metric in metrics]
    across = [BUMP_GUTTER + BUMP_COLUMN * k for k in range(len(metrics))]
    titles = [wrap(metric["title"], TITLE_LETTERS)[:3] for metric in metrics]
    left, right = ([_row(place) for place in places(column)] for column in (columns[0], columns[-1]))
    lines = []
    for i, model in enumerate(models):
        ranked = zip(across, columns, strict=True)
        points = [(x, _row(rank)) for x, column in ranked if (rank := column[i]) is not None]
        line = {"name": model["name"], "points": points, "path": _smooth(points)}
        lines.append(line | {"left": left[i], "right": right[i]})
    return {
        "width": across[-1] + BUMP_GUTTER,
        "height": BUMP_TOP + BUMP_ROW * len(models),
        "columns": [
            {"x": x, "y": BUMP_TOP - 16 - TITLE_LINE * (len(lines_of) - 1), "lines": lines_of}
            for x, lines_of in zip(across, titles, strict=True)
        ],
        "lines": lines,
        "left": BUMP_GUTTER - 14,
        "right": across[-1] + 14,
    }


def _ranked_again(ranks: Sequence[float | None]) -> list[float | None]:
    """Ranks among the models of the chart, where those are only some; ties share the mean of their places."""
    ordered = sorted(rank for rank in ranks if rank is not None)
    return [r if r is None else (bisect_left(ordered, r) + bisect_right(ordered, r) + 1) / 2 for r in ranks]


def _row(rank: float) -> float:
    return round(BUMP_TOP + BUMP_ROW * (rank - 0.5), 2)


def _smooth(points: Sequence[tuple[float, float]]) -> str:
    """A path that leaves and reaches every point level."""
    path = "".join(f"M{x} {y}" for x, y in points[:1])
    for (x, y), (next_x, next_y) in pairwise(points):
        middle = (x + next_x) / 2
        path += f"C{middle} {y} {middle} {next_y} {next_x} {next_y}"
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
    points = []
    for bin_ in bins:
        if (observed := bin_["observed"]) is not None:
            low, high = (plot.y(observed if bin_[end] is None else bin_[end]) for end in ("low", "high"))
            radius = round(3 + 3 * (bin_["weight"] / heaviest) ** 0.5, 2)
            place = {"x": plot.x(bin_["predicted"]), "y": plot.y(observed)}
            points.append(place | {"low": low, "high": high, "radius": radius})
    ticks = [{"value": tick, "x": plot.x(tick), "y": plot.y(tick)} for tick in axis.ticks]
    return {**plot.frame, "ticks": ticks, "points": points}


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

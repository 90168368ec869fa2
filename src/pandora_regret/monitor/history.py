"""What was paid and promised over time, in at most a few hundred points, pairs of which are joined as it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.monitor.queue import later, natural_key

MOST_POINTS = 256


@dataclass(frozen=True)
class Point:
    """Some increments in a row: those of one period, or one case; or of a power of two of them.

    Sums are those since the beginning, added up in order: so they have the same digits however rows are cut.
    """

    first: str | None  # the name of the first of their periods
    last: str | None
    units: int  # how many periods or cases
    increments: int
    cases: int
    totals: tuple[float, ...]  # sums of the increments
    after: tuple[float, ...] = ()  # where the monitor stood after the last of them; empty where that is to come


@dataclass
class History:
    """Points of `stride` periods or cases each; the last may not be complete."""

    stride: int = 1
    points: list[Point] = field(default_factory=list)

    def add(
        self,
        names: Sequence[str] | None,
        cases: int | None,
        columns: FloatArray,
        learn: Callable[[slice], None],
        marks: Callable[[], tuple[float, ...]],
    ) -> None:
        """Take increments in, (m, n), of periods with these names, a point at a time; `cases` in all, or one each.

        `learn` is called with each slice of them, and `marks` after the last of a point.
        """
        starts, n = self._starts(names, columns.shape[1]), columns.shape[1]
        units = self.points[-1].units if self.points else 0
        self._join(units + len(starts))
        opens = starts[(units + np.arange(len(starts))) % self.stride == 0].tolist()
        for start, end in pairwise(sorted({0, *opens, n})):
            if start in opens:
                if self.points:
                    self.points[-1] = replace(self.points[-1], after=marks())
                before = self.points[-1] if self.points else Point(None, None, 0, 0, 0, (0.0,) * len(columns))
                name = None if names is None else names[start]
                self.points.append(replace(before, first=name, last=name, after=()))
            rows = slice(start, end)
            learn(rows)
            now = self.points[-1]
            last = now.last and max((now.last, *set((names or ())[rows])), key=natural_key)
            units = now.units + int(np.searchsorted(starts, end) - np.searchsorted(starts, start))
            counts = units, now.increments + end - start, now.cases + (cases or end - start)
            totals = np.cumsum(np.column_stack([now.totals, columns[:, rows]]), axis=1)[:, -1].tolist()
            self.points[-1] = Point(now.first, last, *counts, tuple(totals))

    def _join(self, units: int) -> None:
        """Join pairs of points until there is room for so many periods or cases in all."""
        while (units - 1) // self.stride >= MOST_POINTS:
            self.stride *= 2
            pairs = (self.points[place : place + 2] for place in range(0, len(self.points), 2))
            self.points = [replace(pair[-1], first=pair[0].first) for pair in pairs]

    def _starts(self, names: Sequence[str] | None, n: int) -> Any:
        """The rows with which a later period begins, or each."""
        if names is None:
            return np.arange(n)
        newest = self.points[-1].last if self.points else None
        starts, before = [], None
        for row, name in enumerate(names):
            if name != before and later(name, newest):
                starts.append(row)
                newest = name
            before = name
        return np.array(starts, np.int64)

    def name_of(self, number: int) -> str:
        """The period of an increment, or about where it was, in words."""
        point = next(point for point in self.points if point.increments > number)
        if point.first is None or point.last is None:
            return f"case {number + 1:,}"
        return point.first if point.first == point.last else f"{point.first} to {point.last}"

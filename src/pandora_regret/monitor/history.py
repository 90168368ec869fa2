"""What was paid and promised over time, in at most a few hundred points, pairs of which are joined as it grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.monitor.queue import later, natural_key

MOST_POINTS = 256


@dataclass(frozen=True)
class Point:
    """Some increments in a row: those of one period, or one case; or of a power of two of them."""

    first: str | None  # the name of the first of their periods
    last: str | None
    units: int  # how many periods or cases
    increments: int
    cases: int
    totals: tuple[float, ...]  # sums of the increments
    after: tuple[float, ...]  # where the monitor stood after the last of them


@dataclass
class History:
    """Points of `stride` periods or cases each, and the one that may not be complete."""

    stride: int = 1
    points: list[Point] = field(default_factory=list)
    current: Point | None = field(default=None, metadata={"optional": True})

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
        place, done, final = 0, 0, self._final_stride(len(starts))
        while place < n:
            room = self.stride - (0 if self.current is None else self.current.units)
            ahead = starts[done:]
            end = int(ahead[room]) if len(ahead) > room else n
            if end > place:
                learn(slice(place, end))
                inside = int(np.searchsorted(ahead, end))
                self._extend(names, inside, cases or end - place, place, columns[:, place:end])
                done += inside
            if end < n:
                kept = (len(self.points) + 1) * self.stride % final == 0  # once pairs are joined
                self._complete(marks() if kept else ())
            place = end

    def _final_stride(self, more: int) -> int:
        """The stride after so many more periods or cases."""
        units = len(self.points) * self.stride + (self.current.units if self.current else 0) + more - 1
        stride = self.stride
        while units // stride >= MOST_POINTS:
            stride *= 2
        return stride

    def _starts(self, names: Sequence[str] | None, n: int) -> Any:
        """The rows with which a later period begins, or each."""
        if names is None:
            return np.arange(n)
        newest = None if not self.all else self.all[-1].last
        starts, before = [], None
        for row, name in enumerate(names):
            if name != before and later(name, newest):
                starts.append(row)
                newest = name
            before = name
        return np.array(starts, np.int64)

    def _extend(
        self, names: Sequence[str] | None, units: int, cases: int, place: int, columns: FloatArray
    ) -> None:
        first = None if names is None else names[place]
        start = self.current or Point(first, first, 0, 0, 0, (0.0,) * len(columns), ())
        last = start.last
        if names is not None:
            last = max((start.last or "", *set(names[place : place + columns.shape[1]])), key=natural_key)
        totals, n = tuple(summed(start.totals, columns)), start.increments + columns.shape[1]
        self.current = Point(start.first, last, start.units + units, n, start.cases + cases, totals, ())

    def _complete(self, after: tuple[float, ...]) -> None:
        assert self.current is not None
        self.points.append(Point(**vars(self.current) | {"after": after}))
        self.current = None
        if len(self.points) == MOST_POINTS:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points, self.stride = [_joined(*pair) for pair in pairs], 2 * self.stride

    @property
    def all(self) -> list[Point]:
        """All points in order."""
        return self.points if self.current is None else [*self.points, self.current]

    def name_of(self, number: int) -> str:
        """The period of an increment, or about where it was, in words."""
        before = 0
        for point in self.all:
            if (before := before + point.increments) > number:
                break
        if point.first is None or point.last is None:
            return f"case {number + 1:,}"
        return point.first if point.first == point.last else f"{point.first} to {point.last}"


def _joined(one: Point, other: Point) -> Point:
    totals = tuple(a + b for a, b in zip(one.totals, other.totals, strict=True))
    sums = {name: getattr(one, name) + getattr(other, name) for name in ("units", "increments", "cases")}
    return Point(one.first, other.last, totals=totals, after=other.after, **sums)


def summed(totals: Sequence[float], columns: FloatArray) -> list[float]:
    """Totals, (m,), and the numbers of some rows, (m, n), added in order, however rows are cut."""
    if columns.shape[1] == 1:  # one case at a time must be fast
        return [total + number for total, number in zip(totals, columns[:, 0].tolist(), strict=True)]
    sums: list[float] = np.cumsum(np.column_stack([totals, columns]), axis=1)[:, -1].tolist()
    return sums

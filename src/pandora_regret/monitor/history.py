"""What happened along a stream, in at most a few hundred points: pairs of them are joined as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.records import from_plain, to_plain

MOST_POINTS = 256


@dataclass(frozen=True)
class Point:
    """Some increments in a row: one, or a power of two of them."""

    first: str | None  # the name of the first of their periods
    last: str | None
    increments: int
    cases: float
    totals: tuple[float, ...]  # sums of the increments' means
    after: tuple[float, ...]  # where the stream stood after the last of them

    def joined(self, other: Point) -> Point:
        """One point of this one and the next."""
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        n, cases = self.increments + other.increments, self.cases + other.cases
        return Point(self.first, other.last, n, cases, totals, other.after)


@dataclass(frozen=True)
class _Stored:
    stride: int
    points: tuple[Point, ...]
    current: Point | None = field(default=None, metadata={"optional": True})


class History:
    """Points of `stride` increments each, and the one that is not yet complete."""

    def __init__(self) -> None:
        self.stride, self.points = 1, list[Point]()
        self.current: Point | None = None

    @property
    def room(self) -> int:
        """How many increments complete the current point."""
        return self.stride - (0 if self.current is None else self.current.increments)

    def add(
        self, names: tuple[str | None, str | None], cases: float, means: FloatArray, after: tuple[float, ...]
    ) -> None:
        """Increments, (m, n), at most as many as there is room for, with the first and the last one's names."""
        start = self.current or Point(names[0], names[0], 0, 0.0, (0.0,) * len(means), ())
        if means.shape[1] == 1:  # one case at a time must be fast
            totals = [a + b for a, b in zip(start.totals, means[:, 0].tolist(), strict=True)]
        else:  # in order, however they are cut
            totals = np.cumsum(np.column_stack([start.totals, means]), axis=1)[:, -1].tolist()
        increments, cases = start.increments + means.shape[1], start.cases + cases
        self.current = Point(start.first, names[1], increments, cases, tuple(totals), after)
        if self.current.increments == self.stride:
            self.points.append(self.current)
            self.current = None
        if len(self.points) == MOST_POINTS:
            self.points = [a.joined(b) for a, b in zip(self.points[::2], self.points[1::2], strict=True)]
            self.stride *= 2

    @property
    def all(self) -> list[Point]:
        """All points in order."""
        return self.points if self.current is None else [*self.points, self.current]

    def fits(self, n: int, n_totals: int, n_marks: int) -> bool:
        """Whether this may be the history of n increments, with so many totals and marks at each point."""
        done = all(point.increments == self.stride and len(point.after) == n_marks for point in self.points)
        rest = 0 if self.current is None else self.current.increments
        totals = all(len(point.totals) == n_totals for point in self.all)
        return done and totals and 0 <= rest < self.stride and len(self.points) * self.stride + rest == n

    def name_of(self, number: int) -> str:
        """The period of an increment, or about where it was, in words."""
        point = self.all[number // self.stride]
        if point.first is None or point.last is None:
            return f"case {number + 1:,}"
        return point.first if point.first == point.last else f"{point.first} to {point.last}"

    def state(self) -> dict[str, Any]:
        """Plain data."""
        stored: dict[str, Any] = to_plain(_Stored(self.stride, tuple(self.points), self.current))
        return stored

    def restore(self, state: Mapping[str, Any], place: str) -> Self:
        """The history as it was when `state` was written."""
        stored = from_plain(_Stored, state, place)
        self.stride, self.points, self.current = stored.stride, list(stored.points), stored.current
        return self

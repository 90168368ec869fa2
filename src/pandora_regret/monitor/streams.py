"""The two streams of a monitor: rows are gathered into periods, and the mean of each is one increment.

So what rows of a period share does no harm. A stream bets on its increments, and keeps its history in at most a
few hundred points, pairs of which are joined as it grows. All parts are plain data, as a state stores them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inference.sequential import Bets, MeanSequence, Ranks
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.monitor.possible_costs import overpaid, saved
from pandora_regret.records import from_plain, to_plain

MOST_POINTS = 256
OVERPAID, PROMISED, SAVED = 0, 3, 4  # rows of what `Paid` gathers; its bounds stand after 0 and 4


class Closed(NamedTuple):
    """Periods that are complete, in order; without periods, every row is one."""

    names: Sequence[str] | None  # (T,)
    cases: FloatArray | None  # (T,)
    means: FloatArray  # (m, T) of what was gathered


@dataclass(frozen=True)
class Gathered:
    """One period: its cases, and the means of what was gathered of them."""

    name: str
    cases: int
    means: tuple[float, ...]


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Names in the order that people mean: week 9 before week 10, and ISO dates by date.

    Examples
    --------
    >>> sorted(["week 10", "week 9"], key=natural_key)
    ['week 9', 'week 10']
    """
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


@dataclass
class Periods:
    """Sums of the period that is open.

    A period closes when a later one begins, or when `close` says so. Rows that come after that are late: they are
    only counted, since what they share with their period would make the next increment depend on the last.
    """

    totals: list[float]  # of each number of a row
    by_period: bool | None = None  # None before the first rows
    name: str | None = None  # of the period that is open
    last: str | None = None  # the last that was closed
    cases: int = 0
    late: int = 0  # rows that came after their period was closed, and were left out

    def add(self, columns: FloatArray, period: Sequence[str] | None) -> Closed:
        """Gather m numbers of n rows, (m, n), of one period each, or of none; what is complete now."""
        self.check_mode(period is not None)
        self.by_period = period is not None
        if period is None:
            return Closed(None, None, columns)
        closed = [self._of_period(name, columns[:, index]) for name, index in _by_period(period)]
        return self._joined([each for each in closed if each is not None])

    def close(self) -> Closed:
        """The open period, if there is one."""
        return self._joined([] if self.name is None else [self._close()])

    @property
    def open(self) -> Gathered | None:
        """The period that is open, with its means so far."""
        if self.name is None:
            return None
        return Gathered(self.name, self.cases, tuple(total / self.cases for total in self.totals))

    def check_mode(self, by_period: bool) -> None:
        """Rows have periods always, or never."""
        if self.by_period is not None and by_period != self.by_period:
            had, has = ("", "no ") if self.by_period else ("no ", "")
            problem = f"rows have {has}period, and earlier ones had {had}period"
            raise InputError(problem, argument="period", place="", fix="give it always or never")

    def _of_period(self, name: str, columns: FloatArray) -> Gathered | None:
        """Add rows of one period; the period that this closes."""
        newest, closed = self.name if self.name is not None else self.last, None
        if newest is None or natural_key(name) > natural_key(newest):
            closed = None if self.name is None else self._close()
            self.name = name
        elif name != self.name:
            self.late += columns.shape[1]
            return None
        self.totals = summed(self.totals, columns)
        self.cases += columns.shape[1]
        return closed

    def _close(self) -> Gathered:
        closed = self.open
        assert closed is not None
        self.name, self.last, self.cases, self.totals = None, self.name, 0, [0.0] * len(self.totals)
        return closed

    def _joined(self, closed: Sequence[Gathered]) -> Closed:
        means = np.array([each.means for each in closed]).reshape(len(closed), len(self.totals))
        cases = np.array([each.cases for each in closed], dtype=np.float64)
        return Closed([each.name for each in closed], cases, means.T)

    def fits(self, width: int) -> bool:
        """Whether these may be periods of rows of so many numbers."""
        counted = self.cases >= 0 and (self.cases > 0) == (self.name is not None) and self.late >= 0
        return counted and len(self.totals) == width


def _by_period(names: Sequence[str]) -> list[tuple[str, Any]]:
    """Each period, in order, and the numbers of its rows."""
    distinct, codes = np.unique(np.array(names, dtype=str), return_inverse=True)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    pairs = zip(distinct.tolist(), rows, strict=False)  # of no names there is one part, empty
    return sorted(pairs, key=lambda each: natural_key(each[0]))


def summed(totals: Sequence[float], columns: FloatArray) -> list[float]:
    """Totals, (m,), and the numbers of some rows, (m, n), added in order, however rows are cut."""
    if columns.shape[1] == 1:  # one case at a time must be fast
        return [total + number for total, number in zip(totals, columns[:, 0].tolist(), strict=True)]
    sums: list[float] = np.cumsum(np.column_stack([totals, columns]), axis=1)[:, -1].tolist()
    return sums


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


@dataclass
class History:
    """Points of `stride` increments each, and the one that is not yet complete."""

    stride: int = 1
    points: list[Point] = field(default_factory=list)
    current: Point | None = field(default=None, metadata={"optional": True})

    @property
    def room(self) -> int:
        """How many increments complete the current point."""
        return self.stride - (0 if self.current is None else self.current.increments)

    def add(
        self, names: tuple[str | None, str | None], cases: float, means: FloatArray, after: tuple[float, ...]
    ) -> None:
        """Increments, (m, n), at most as many as there is room for, with the first and the last one's names."""
        start = self.current or Point(names[0], names[0], 0, 0.0, (0.0,) * len(means), ())
        increments, cases = start.increments + means.shape[1], start.cases + cases
        totals = tuple(summed(start.totals, means))
        self.current = Point(start.first, names[1], increments, cases, totals, after)
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


@dataclass(frozen=True)
class StreamSettings:
    """What a stream needs to know beforehand."""

    least: float  # that a search can cost
    most: float
    level: float
    run_length: float
    lag: int
    compares: bool  # with a challenger


class Stream:
    """Increments by period: betting on them, and the history of it."""

    def __init__(self, width: int, bets: Bets) -> None:
        self.width, self.bets = width, bets
        self.periods, self.history = Periods([0.0] * width), History()
        self.last: Gathered | None = None  # the last period that was closed
        self.gathers: dict[str, Any] = {"bets": bets}  # what else a state is made of

    @property
    def newest(self) -> Gathered | None:
        """The period that is open, or else the last one; None without periods."""
        return self.periods.open or self.last

    def close(self) -> None:
        """Count the open period as complete."""
        self._count(self.periods.close())

    def _count(self, closed: Closed) -> None:
        """Take complete periods in, a point of the history at a time."""
        start, n = 0, closed.means.shape[1]
        while start < n:
            part = slice(start, start + min(self.history.room, n - start))
            means = closed.means[:, part]
            size = means.shape[1]
            self._learn(np.ascontiguousarray(means))
            complete = size == self.history.room
            names = (None, None) if closed.names is None else (closed.names[start], closed.names[part][-1])
            cases = float(size if closed.cases is None else closed.cases[part].sum())
            self.history.add(names, cases, means, self.marks() if complete else ())
            start = part.stop
        if n and closed.names is not None and closed.cases is not None:
            self.last = Gathered(closed.names[-1], int(closed.cases[-1]), tuple(closed.means[:, -1].tolist()))

    def _learn(self, means: FloatArray) -> None:
        raise NotImplementedError

    def marks(self) -> tuple[float, ...]:
        """Where the stream stands, for the history: first of all the logarithm of the evidence."""
        return (log10(max(self.bets.value, 1e-300)),)

    @property
    def n(self) -> int:
        """How many increments there were."""
        return self.bets.n

    def state(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: to_plain(getattr(self, name)) for name in ("periods", "history", "last")}
        return plain | {name: part.state() for name, part in self.gathers.items()}

    def restore(self, state: Mapping[str, Any], place: str) -> None:
        """The stream as it was when `state` was written."""
        self.periods = from_plain(Periods, state.get("periods"), f"{place}.periods")
        self.history = from_plain(History, state.get("history"), f"{place}.history")
        last = state.get("last")
        self.last = None if last is None else from_plain(Gathered, last, f"{place}.last")
        for name, part in self.gathers.items():
            part.restore(from_plain(dict[str, Any], state.get(name), f"{place}.{name}"), f"{place}.{name}")
        in_time = all(event is None or event.at < self.n for event in (self.bets.alarm, self.bets.change))
        in_shape = self.periods.fits(self.width) and (self.last is None or len(self.last.means) == self.width)
        if not in_time or not in_shape or not self.history.fits(self.n, self.width, len(self.marks())):
            raise InputError("does not fit the rest", place=f"{place}.history", fix="the state is damaged")


class Paid(Stream):
    """What was paid beyond the promise; and what the challenger saved, where there is one."""

    def __init__(self, settings: StreamSettings) -> None:
        scale, how = settings.most - settings.least, {"level": settings.level, "lag": settings.lag}
        bets = Bets(scale, run_length=settings.run_length, level=settings.level, lag=settings.lag)
        super().__init__(7 if settings.compares else 4, bets)
        self.overpaid = self.gathers["overpaid"] = MeanSequence(scale, **how)  # type: ignore[arg-type]
        self.saved: MeanSequence | None = None
        if settings.compares:
            self.saved = self.gathers["saved"] = MeanSequence(2 * scale, **how)  # type: ignore[arg-type]

    def add(self, models: Sequence[FloatArray], truth: IntArray, period: list[str] | None) -> None:
        """Cases whose labels are known, with the possible costs of each model's forecasts."""
        rows, *challenger = models
        others = [saved(rows, other, truth) for other in challenger]
        columns = np.concatenate([overpaid(rows, truth), rows[:, -1][None], *others])
        self._count(self.periods.add(columns, period))

    def _learn(self, means: FloatArray) -> None:
        self.bets.update(*means[:3])
        self.overpaid.update(*means[:3])
        if self.saved is not None:
            self.saved.update(*means[SAVED:])

    def marks(self) -> tuple[float, ...]:
        """Evidence, and the ends of the confidence sequences."""
        of_challenger = () if self.saved is None else self.saved.interval()
        return (*super().marks(), *self.overpaid.interval(), *of_challenger)


class Promised(Stream):
    """What forecasts promise, which needs no labels: are periods exchangeable with those before."""

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(1, Bets(1.0, level=settings.level, run_length=settings.run_length))
        self.least = settings.least
        self.ranks = self.gathers["ranks"] = Ranks(settings.most - settings.least)

    def add(self, rows: FloatArray, period: list[str] | None) -> None:
        """Cases, whether their labels are known or not."""
        self._count(self.periods.add(rows[:, -1][None], period))

    def _learn(self, means: FloatArray) -> None:
        ranks = self.ranks.update(means[0] - self.least) - 0.5
        half = np.full(len(ranks), 0.5)
        self.bets.update(ranks, -half, half)

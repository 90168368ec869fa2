"""The two streams of a monitor: rows are gathered into periods, and the mean of each is one increment.

So what rows of a period share does no harm. A stream bets on its increments, and keeps its history in at most a
few hundred points, pairs of which are joined as it grows. All parts are plain data, as a state stores them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

import numpy as np

from pandora_regret.inference.sequential import Bets, MeanSequence, Ranks
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.monitor.possible_costs import overpaid, saved
from pandora_regret.records import from_plain, to_plain

MOST_POINTS = 256
OVERPAID, PROMISED, SAVED = 0, 3, 4  # rows of what `Paid` gathers; its bounds stand after 0 and 4


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

    def add(self, columns: FloatArray, names: Sequence[str]) -> list[Gathered]:
        """Gather m numbers of n rows, (m, n), of one period each; the periods that are complete now."""
        distinct, codes = np.unique(np.array(names, dtype=str), return_inverse=True)
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        closed = list[Gathered]()
        pairs = zip(distinct.tolist(), rows, strict=False)  # of no names there is one part, empty
        for name, index in sorted(pairs, key=lambda pair: natural_key(pair[0])):
            newest = self.last if self.name is None else self.name
            if newest is None or natural_key(name) > natural_key(newest):
                closed += self.close()
                self.name = name
            elif name != self.name:
                self.late += len(index)
                continue
            self.totals = summed(self.totals, columns[:, index])
            self.cases += len(index)
        return closed

    def close(self) -> list[Gathered]:
        """The open period, if there is one, as complete."""
        if (closed := self.open) is None:
            return []
        self.name, self.last, self.cases, self.totals = None, self.name, 0, [0.0] * len(self.totals)
        return [closed]

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

    def add(self, more: Sequence[Gathered], means: FloatArray, after: tuple[float, ...]) -> None:
        """Increments, (m, n), at most as many as there is room for, of these periods or of none."""
        names: Sequence[str | None] = [each.name for each in more] or [None]
        n = means.shape[1]
        start = self.current or Point(names[0], None, 0, 0.0, (0.0,) * len(means), ())
        cases = start.cases + float(sum(each.cases for each in more) if more else n)
        totals = tuple(summed(start.totals, means))
        self.current = Point(start.first, names[-1], start.increments + n, cases, totals, after)
        if self.current.increments == self.stride:
            self.points.append(self.current)
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
        point = self.all[number // self.stride]
        if point.first is None or point.last is None:
            return f"case {number + 1:,}"
        return point.first if point.first == point.last else f"{point.first} to {point.last}"


def _joined(one: Point, other: Point) -> Point:
    totals = tuple(a + b for a, b in zip(one.totals, other.totals, strict=True))
    n, cases = one.increments + other.increments, one.cases + other.cases
    return Point(one.first, other.last, n, cases, totals, other.after)


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

    @property
    def n(self) -> int:
        """How many increments there were."""
        return self.bets.n

    def gather(self, columns: FloatArray, names: Sequence[str] | None) -> None:
        """Take in numbers of rows, (m, n), by period; without periods every row is an increment."""
        self.periods.check_mode(names is not None)
        self.periods.by_period = names is not None
        if names is None:
            self._count([], columns)
        else:
            self._close(self.periods.add(columns, names))

    def close(self) -> None:
        """Count the open period as complete."""
        self._close(self.periods.close())

    def _close(self, closed: list[Gathered]) -> None:
        if closed:
            self._count(closed, np.array([each.means for each in closed]).T)
            self.last = closed[-1]

    def _count(self, closed: Sequence[Gathered], means: FloatArray) -> None:
        """Take increments in, a point of the history at a time."""
        start, n = 0, means.shape[1]
        while start < n:
            part = slice(start, start + min(self.history.room, n - start))
            self.learn(np.ascontiguousarray(means[:, part]))
            complete = part.stop - start == self.history.room
            self.history.add(closed[part], means[:, part], self.marks() if complete else ())
            start = part.stop

    def learn(self, means: FloatArray) -> None:
        """Bet on increments."""
        raise NotImplementedError

    def marks(self) -> tuple[float, ...]:
        """Where the stream stands, for the history: first of all the logarithm of the evidence."""
        return (log10(max(self.bets.value, 1e-300)),)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: to_plain(getattr(self, name)) for name in ("periods", "history", "last")}
        return plain | {name: part.state() for name, part in self.gathers.items()}

    def restore(self, state: Mapping[str, Any], place: str) -> None:
        """The stream as it was when `state` was written."""
        for name, kind in (("periods", Periods), ("history", History), ("last", Gathered | None)):
            setattr(self, name, from_plain(kind, state.get(name), f"{place}.{name}"))  # type: ignore[arg-type]
        for name, part in self.gathers.items():
            part.restore(from_plain(dict[str, Any], state.get(name), f"{place}.{name}"), f"{place}.{name}")
        if not all(self._expectations()):
            raise InputError("does not fit the rest", place=f"{place}.history", fix="the state is damaged")

    def _expectations(self) -> Iterator[bool]:
        """What holds of parts that belong together."""
        periods, history = self.periods, self.history
        yield all(event is None or event.at < self.n for event in (self.bets.alarm, self.bets.change))
        yield periods.cases >= 0 and (periods.cases > 0) == (periods.name is not None) and periods.late >= 0
        widths = [
            periods.totals,
            *(point.totals for point in history.all),
            *([self.last.means] if self.last else []),
        ]
        yield all(len(numbers) == self.width for numbers in widths)
        n_marks = len(self.marks())
        yield all(each.increments == history.stride and len(each.after) == n_marks for each in history.points)
        rest = 0 if history.current is None else history.current.increments
        yield 0 <= rest < history.stride and len(history.points) * history.stride + rest == self.n


class Paid(Stream):
    """What was paid beyond the promise; and what the challenger saved, where there is one."""

    def __init__(self, scale: float, level: float, run_length: float, lag: int, compares: bool) -> None:
        super().__init__(7 if compares else 4, Bets(scale, run_length=run_length, level=level, lag=lag))
        self.overpaid = self.gathers["overpaid"] = MeanSequence(scale, level=level, lag=lag)
        self.saved = MeanSequence(2 * scale, level=level, lag=lag) if compares else None
        if self.saved is not None:
            self.gathers["saved"] = self.saved

    def add(self, models: Sequence[FloatArray], truth: IntArray, period: list[str] | None) -> None:
        """Cases whose labels are known, with the possible costs of each model's forecasts."""
        rows, *challenger = models
        others = [saved(rows, other, truth) for other in challenger]
        self.gather(np.concatenate([overpaid(rows, truth), rows[:, -1][None], *others]), period)

    def learn(self, means: FloatArray) -> None:
        """Bet on what was overpaid, and follow both means."""
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

    def __init__(self, least: float, scale: float, level: float, run_length: float) -> None:
        super().__init__(1, Bets(1.0, level=level, run_length=run_length))
        self.least = least
        self.ranks = self.gathers["ranks"] = Ranks(scale)

    def learn(self, means: FloatArray) -> None:
        """Bet on the ranks of promises among those before."""
        ranks = self.ranks.update(means[0] - self.least) - 0.5
        half = np.full(len(ranks), 0.5)
        self.bets.update(ranks, -half, half)

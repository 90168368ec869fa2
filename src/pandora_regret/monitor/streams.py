"""What a monitor bets on: costs beyond the promise, what a challenger saves, and the promises themselves.

Forecasts come as tables (n, K + 1) of possible costs: what a row's search costs if class k is the truth, and in
the last column the mean of that under the forecast itself, which is its promise.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from math import log10

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import Fields, FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.engine import costs_for_every_truth
from pandora_regret.core.kernels.reference import probabilities
from pandora_regret.core.priors import Prior
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.inference.sequential import EProcess, Ranks, Restorable
from pandora_regret.monitor.queue import Cases, later, natural_key
from pandora_regret.workup import Workup
from pandora_regret.workup.scores import WorkupRows

OVERPAID = 0  # of a history's totals
PROMISED = 1
PROMISES = 3  # rows of increments: three of what is overpaid, the promises, three of what a challenger saves
SAVINGS = 4
MOST_POINTS = 256
LEAST_EVIDENCE = 1e-300
LOG_ODDS_OF_AN_END = 3.0  # about twenty to one
MOST_CLASSES = 50  # whose costs are kept apart, in every point of the history
CASES = (32, 1.0)  # after how many of them a change may begin, and how boldly to bet
PERIODS = (1, 4.0)


def possible_costs(forecast: Forecast, prior: Prior, workup: Workup | None = None) -> FloatArray:
    """The possible costs of forecasts, (n, K + 1); they have base costs, (K,), or None, and are checked here."""
    return costs_and_promises(forecast, prior, workup)[0]


def costs_and_promises(
    forecast: Forecast, prior: Prior, workup: Workup | None = None
) -> tuple[FloatArray, FloatArray]:
    """The possible costs of forecasts, (n, K + 1), and what each class was promised, (n, K).

    A class is promised its probability times what is paid if it is the truth: the promises of a row add up to its
    own. Of more than fifty classes they are not kept, (n, 0).
    """
    n_kept = forecast.n_classes if forecast.n_classes <= MOST_CLASSES else 0
    parts = [np.empty((0, forecast.n_classes + 1))]
    promises = [np.empty((0, n_kept))]
    searches = costs_for_every_truth(forecast, prior)
    for block, costs in searches if workup is None else WorkupRows(workup, forecast).costs_for_every_truth():
        p = probabilities(block)
        total = np.einsum("nk->n", p)  # a row may sum to 1 only nearly
        promised = np.einsum("nk,nk->n", p, costs) / total
        parts.append(np.column_stack([costs, promised]))
        promises.append(p[:, :n_kept] * costs[:, :n_kept] / total[:, None])
    return np.concatenate(parts), np.concatenate(promises)


def realised(table: FloatArray, truth: IntArray) -> FloatArray:
    """The entry of each row, (n, K), at its truth, and the smallest and largest, (3, n)."""
    ends = (reduce(smaller, table.T) for smaller in (np.minimum, np.maximum))  # of few classes, fast
    return np.stack([table[np.arange(len(table)), truth], *ends])


def overpaid(rows: FloatArray, truth: IntArray) -> FloatArray:
    """What was paid beyond the promise, and the least and most that it could have been, (3, n)."""
    beyond = realised(rows[:, :-1] - rows[:, -1:], truth)
    np.minimum(beyond[1], 0.0, out=beyond[1])  # rounding may miss 0
    np.maximum(beyond[2], 0.0, out=beyond[2])
    return beyond


def _paid_and_promised(part: Cases) -> FloatArray:
    """What cases paid for each class, and were promised, (2 K, n): both for the first class, then the next."""
    n_kept = part.promised.shape[1]
    paid = np.zeros_like(part.promised)
    if n_kept > 0:
        rows = np.arange(len(part.truth))
        paid[rows, part.truth] = part.possible[rows, part.truth]
    return np.stack([paid, part.promised], axis=2).reshape(len(part.truth), 2 * n_kept).T


@dataclass
class Point:
    """Some increments in a row: those of one period, or one case; or of a power of two of them.

    Sums are those since the beginning, added up in order: so they have the same digits however rows are cut.
    """

    first: str | None  # the name of the first of their periods
    last: str | None
    units: int  # how many periods or cases
    increments: int
    cases: int
    totals: tuple[float, ...]  # sums of the increments; then what was paid for each class, and promised
    after: tuple[float, ...] = ()  # where the monitor stood after the last of them; empty where that is to come


@dataclass
class History:
    """What was paid and promised over time, in points of `stride` periods or cases; the last may go on."""

    stride: int = 1
    points: list[Point] = field(default_factory=list)

    def add(
        self,
        names: Sequence[str] | None,
        cases: int | None,
        columns: FloatArray,
        marks: Callable[[], tuple[float, ...]],
    ) -> Iterator[slice]:
        """Take increments in, (m, n), of periods with these names, a point at a time; `cases` in all, or one each.

        Each slice of them is to be learnt from when it comes; `marks` is called after the last of a point.
        """
        n = columns.shape[1]
        starts = self._starts_of_units(names, n)
        units = self.points[-1].units if self.points else 0
        self._make_room(units + len(starts))
        opens = starts[(units + np.arange(len(starts))) % self.stride == 0].tolist()
        for start, end in pairwise(sorted({0, *opens, n})):
            if start in opens:
                self._open(None if names is None else names[start], len(columns), marks)
            rows = slice(start, end)
            yield rows
            point = self.points[-1]
            if names is not None and point.last is not None:
                point.last = max({point.last, *names[rows]}, key=natural_key)
            point.units += int(np.searchsorted(starts, end) - np.searchsorted(starts, start))
            point.increments += end - start
            point.cases += cases or end - start
            totals = np.cumsum(np.column_stack([point.totals, columns[:, rows]]), axis=1)
            point.totals = tuple(totals[:, -1].tolist())

    def _make_room(self, units: int) -> None:
        """Join neighbouring points until so many periods or cases fit."""
        while (units - 1) // self.stride >= MOST_POINTS:
            self.stride *= 2
            pairs = [self.points[place : place + 2] for place in range(0, len(self.points), 2)]
            self.points = [replace(pair[-1], first=pair[0].first) for pair in pairs]

    def _open(self, name: str | None, n_totals: int, marks: Callable[[], tuple[float, ...]]) -> None:
        """Begin a point with the sums of the one before it, over which the monitor stands where it does now."""
        if self.points:
            before = self.points[-1]
            before.after = marks()
        else:
            before = Point(None, None, 0, 0, 0, (0.0,) * n_totals)
        self.points.append(replace(before, first=name, last=name, after=()))

    def _starts_of_units(self, names: Sequence[str] | None, n: int) -> IntArray:
        """The rows with which a period begins that is later than all before; without periods every row."""
        if names is None:
            return np.arange(n)
        newest = self.points[-1].last if self.points else None
        starts = []
        for row, name in enumerate(names):
            differs = row == 0 or name != names[row - 1]
            if differs and later(name, newest):
                starts.append(row)
                newest = name
        return np.array(starts, np.int64)

    def stretch(self, side: int, noticed: int) -> tuple[int, int | None]:
        """The increments that most likely lay on a side of 0: the first, and the last if they seem to be over.

        Of all stretches of points that begin before it was noticed, the one whose mean is the most standard errors
        away from 0; one that lasts to the present, unless another is a good deal likelier.
        """
        counts = np.array([0, *(point.increments for point in self.points)])
        sums = side * np.array([0.0, *(point.totals[OVERPAID] for point in self.points)])
        noise = np.diff(sums) - np.diff(counts) * sums[-1] / counts[-1]
        variance = (noise**2 / np.diff(counts)).sum() / max(len(noise) - 1, 1)
        starts = counts[:-1] <= noticed
        lengths = np.triu(counts - counts[:-1][starts, None])
        gains = np.triu(sums - sums[:-1][starts, None])
        log_odds = np.maximum(gains, 0.0) ** 2 / np.maximum(lengths, 1) / (2 * variance or 1.0)
        start, end = np.unravel_index(log_odds.argmax(), log_odds.shape)
        lasting = log_odds[:, -1].argmax()
        if log_odds[start, end] < log_odds[lasting, -1] + LOG_ODDS_OF_AN_END:
            return int(counts[lasting]), None
        return int(counts[start]), int(counts[end]) - 1

    def name_of(self, number: int) -> str:
        """The period of an increment, or about where it was, in words."""
        point = next(point for point in self.points if point.increments > number)
        if point.first is None:
            return f"case {number + 1:,}"
        return point.first if point.first == point.last else f"{point.first} to {point.last}"


@dataclass
class Book:
    """What is kept beside the evidence; plain data, as a state stores it."""

    history: History = field(default_factory=History)
    noticed: list[str | None] = field(
        default_factory=lambda: [None, None]
    )  # the newest time at the alarms of both sides, where the cases that raised them had waited
    drift: str | None = None  # when drift was noticed


class Bets:
    """The e-processes of a monitor, each of cases or of the means of periods.

    Parameters
    ----------
    level
        Of each side of what was paid beyond the promise.
    other_level
        Of each side of what was saved, and of drift.
    compares
        Whether there is a challenger.
    dependent
        Whether the mean of a period is one increment.
    scale
        What all tests cost, about: promises are told apart beside it.
    """

    def __init__(self, level: float, other_level: float, compares: bool, dependent: bool, scale: float) -> None:
        every, boldness = PERIODS if dependent else CASES
        self.dependent = dependent
        self.overpaid = EProcess(level, every, boldness)
        self.saved = EProcess(other_level, every, boldness) if compares else None
        self.drift = EProcess(other_level)
        self.ranks = Ranks(scale)
        self.book = Book()

    @property
    def n(self) -> int:
        """How many increments there were."""
        return self.overpaid.n

    @property
    def promised(self) -> float:
        """The sum of promises, of whose mean so far bets are fractions."""
        return self.book.history.points[-1].totals[PROMISED] if self.n else 0.0

    def add(self, part: Cases) -> None:
        """Bet on cases, all with labels, in their order; those of one time are a period, one bet if they depend.

        A bet is a fraction of 1 / the mean promise of the periods before and of the case itself. So the wealth at
        the end of a period does not depend on the order of its cases.
        """
        tables = np.hsplit(part.possible, 1 + (self.saved is not None))
        possible = tables[0]
        costs = possible[:, :-1]
        promises = possible[:, -1]
        parts = [overpaid(possible, part.truth), promises[None]]
        if self.saved is not None:
            parts.append(realised(costs - tables[1][:, :-1], part.truth))
        columns = np.concatenate(parts)
        names = part.times
        cases = None
        if self.dependent:
            columns = columns.mean(axis=1, keepdims=True)
            cases = len(part.truth)
            names = None if names is None else names[:1]
        scale, ends_period = self._scale(columns[PROMISES], names)
        was_quiet = self.overpaid.noticed < 0
        by_class = _paid_and_promised(part)
        if self.dependent:
            by_class = by_class.mean(axis=1, keepdims=True)
        sums = columns[[0, PROMISES, SAVINGS] if self.saved is not None else [0, PROMISES]]
        summed = np.concatenate([sums, by_class])
        for rows in self.book.history.add(names, cases, summed, self.marks):
            self.overpaid.update(columns[:PROMISES, rows], scale[rows], ends_period[rows])
            if self.saved is not None:
                self.saved.update(columns[SAVINGS:, rows], scale[rows], ends_period[rows])
        for side in np.flatnonzero(was_quiet & (self.overpaid.noticed >= 0)):
            self.book.noticed[side] = part.noticed

    def _scale(self, promises: FloatArray, names: Sequence[str] | None) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The mean promise of earlier periods and the increment itself; whether it is its period's last."""
        rows = np.arange(len(promises))
        first = rows  # the first increment of the period of each
        ends_period = np.ones(len(promises), bool)
        if names is not None:
            begins = np.array([not row or name != names[row - 1] for row, name in enumerate(names)])
            first = np.maximum.accumulate(np.where(begins, rows, 0))
            ends_period = np.append(begins[1:], True)
        before = np.cumsum(np.append(self.promised, promises))[first]
        return (before + promises) / (self.n + first + 1), ends_period

    def costs_by_class(self, since: int) -> FloatArray:
        """What was paid for cases of each class, and promised, per increment from this one on: (K, 2).

        Both are means over cases of all classes, so they add up to what was paid and promised in all; the first
        point may hold some earlier increments. Of more than fifty classes they are not known, (0, 2).
        """
        points = self.book.history.points
        first = next(place for place, point in enumerate(points) if point.increments > since)
        sums = np.array(points[-1].totals[self._n_sums :])
        n = points[-1].increments
        if first > 0:
            sums = sums - np.array(points[first - 1].totals[self._n_sums :])
            n -= points[first - 1].increments
        return sums.reshape(-1, 2) / n

    @property
    def _n_sums(self) -> int:
        """How many totals there are before those of classes."""
        return 2 if self.saved is None else 3

    def add_classes(self, n_new: int, n_classes: int) -> None:
        """Go on with so many more classes, `n_classes` in all; of too many none is kept apart."""
        for point in self.book.history.points:
            sums = point.totals[: self._n_sums]
            kept = point.totals[self._n_sums :]
            point.totals = (*sums, *kept, *[0.0] * (2 * n_new)) if n_classes <= MOST_CLASSES else sums

    def promise(self, promises: FloatArray, times: Sequence[str] | None) -> None:
        """Bet on the ranks of promises among those before; they need no labels."""
        if self.dependent:
            promises = promises.mean(keepdims=True)
        first = self.drift.n
        half = np.full(len(promises), 0.5)
        ranks = self.ranks.update(promises) - 0.5
        self.drift.update(np.stack([ranks, -half, half]), half)
        noticed = self.drift.noticed[self.drift.noticed >= 0]
        if self.book.drift is None and len(noticed):
            at = int(noticed.min())
            self.book.drift = f"case {at + 1:,}" if times is None else times[at - first]

    def noticed_in(self, above: bool) -> str | None:
        """When there was evidence enough on a side for the first time: the period, or the case."""
        at = self.overpaid.noticed_at(above)
        if at is None:
            return None
        return self.book.noticed[int(not above)] or self.book.history.name_of(at)

    def marks(self) -> tuple[float, ...]:
        """The logarithm of the evidence, then the mean and the interval that are claimed now, of each process."""
        marks = [log10(max(self.overpaid.evidence[0], LEAST_EVIDENCE))]
        for process in (self.overpaid, self.saved):
            if process is not None:
                claim = process.claim()
                marks += [claim.value, claim.low, claim.high]
        return tuple(marks)

    def copy(self) -> "Bets":
        """A copy, to go on with by itself."""
        return deepcopy(self)

    def state(self) -> Fields:
        """The book and all processes as plain data, for JSON."""
        processes = {name: process.state() for name, process in self._processes().items()}
        return {"book": to_plain(self.book), **processes}

    def restore(self, state: Fields) -> None:
        """Become what this was when `state` was written."""
        self.book = from_plain(Book, state["book"], "state.paid.book")
        for name, process in self._processes().items():
            process.restore(state[name])

    def _processes(self) -> dict[str, Restorable]:
        """By the names that they have in a state."""
        processes: dict[str, Restorable] = {"overpaid": self.overpaid, "drift": self.drift, "ranks": self.ranks}
        if self.saved is not None:
            processes["saved"] = self.saved
        return processes

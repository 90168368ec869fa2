"""Cases that wait for their turn, in the order of their forecasts.

Where cases have times, those of one time are a period. It waits until a later one has begun, or until somebody
says that it is complete, and until its labels are there; then its cases have their turn together, in an order that
neither the files in which they came nor their outcomes tell. Where they have none, a case has its turn when it
stands first and its label is known. A label that has not come in time is given up, so that the cases behind it go
on. The order is that of forecasts, and never that in which labels come.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray

FILES_WAITED = 3  # how many later files a case waits for its label, unless something else is asked for
KEPT = 0.99  # of labels, by the wait that is suggested
OUTSIDE = 2**30  # the truth of a case whose class no column of its forecast has


@lru_cache(maxsize=1 << 16)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Names in the order that people mean: week 9 before week 10, and ISO dates by date.

    Examples
    --------
    >>> sorted(["week 10", "week 9"], key=natural_key)
    ['week 9', 'week 10']
    """
    key = []
    for part in re.split(r"(\d+)", name):
        if part.isdigit():
            key.append((0, int(part), ""))  # numbers by their size, and before words
        elif part:
            key.append((1, 0, part))
    return tuple(key)


def later(name: str, before: str | None) -> bool:
    """Whether a time is after another, or is the first."""
    return before is None or natural_key(name) > natural_key(before)


def key_of(text: bytes) -> int:
    """64 bits that stand for a text; among a million texts, two share them with probability 3e-8."""
    return int.from_bytes(blake2b(text, digest_size=8).digest())


class Cases(NamedTuple):
    """Rows past the door, in the order of their forecasts."""

    possible: FloatArray  # (n, width): possible costs and the promise, of each model
    truth: IntArray  # -1 where it is not known, OUTSIDE where no column has it
    keys: list[int] | None  # of their ids
    times: list[str] | None
    promised: FloatArray  # (n, K): the promise, by class; (n, 0) of too many classes
    noticed: str | None = None  # what they show was known at this time; None: at their own

    def take(self, rows: IntArray) -> Cases:
        """The rows of these numbers, in this order."""
        keys = None if self.keys is None else [self.keys[row] for row in rows]
        times = None if self.times is None else [self.times[row] for row in rows]
        return Cases(self.possible[rows], self.truth[rows], keys, times, self.promised[rows])


@dataclass
class WaitingCase:
    """A case in the queue."""

    possible: tuple[float, ...]
    promised: tuple[float, ...]  # by class
    truth: int  # as in `Cases`
    key: int  # of its id; where it has none, of its forecast
    time: str | None
    came: int  # the number of its period, or its own
    files: int = 0  # how many came while it waited; where there are times, those with a later period
    known: str | None = None  # the newest period when its label came, or was given up; None: with the forecast
    is_ranked: bool = False  # whether its promise was compared with those before
    is_past: bool = False  # whether it came before an alarm was acknowledged: it is evidence of the past

    @property
    def is_bet_on(self) -> bool:
        """Whether it is evidence: its class is known, and was to its forecast, and it is not past."""
        return 0 <= self.truth < OUTSIDE and not self.is_past


@dataclass
class Queue:
    """Cases in the order of their forecasts, until they are bet on; plain data, as a state stores it."""

    cases: list[WaitingCase] = field(default_factory=list)
    given_up: dict[str, int] = field(default_factory=dict)  # by key: when it came
    delays: dict[str, int] = field(default_factory=dict)  # how many labels came after so many periods or cases
    late: int = 0  # labels that came after their case was given up, and rows of periods that were bet on
    count: int = 0  # of periods or cases that came
    newest: str | None = None  # time
    closed: str | None = None  # the last period that is complete
    last: str | None = None  # the last that was bet on, where cases of one are one bet
    turn: str | None = None  # the newest period when the turn came of the last that was bet on, where later
    past: str | None = None  # the newest period when an alarm was acknowledged

    def __post_init__(self) -> None:
        self.unlabelled = {case.key: case for case in self.cases if case.truth < 0}
        self.is_counted = False  # whether cases know already of a file of this run that came while they waited

    def begin_run(self) -> None:
        """Whatever comes from now on, until the next call, counts as one file."""
        self.is_counted = False

    def add(self, cases: Cases, dependent: bool) -> None:
        """New cases, all of which came together, in the order of their times."""
        self._count_file(cases.times)
        n = len(cases.truth)
        times: Sequence[str | None] = cases.times or [None] * n
        keys = cases.keys or _keys_of_forecasts(cases.possible, cases.times)
        columns = (cases.possible.tolist(), cases.promised.tolist(), cases.truth.tolist(), keys, times)
        for possible, promised, truth, key, time in zip(*columns, strict=True):
            if dependent and not later(time or "", self.last):
                self.late += 1
                continue
            if time is None:
                self.count += 1
            elif later(time, self.newest):
                self.newest = time
                self.count += 1
            case = WaitingCase(tuple(possible), tuple(promised), truth, key, time, self.count)
            case.is_past = time is not None and self.past is not None and not later(time, self.past)
            self.cases.append(case)
            if truth < 0:
                self.unlabelled[key] = case
        if cases.times is not None:
            self.cases.sort(key=lambda case: natural_key(case.time or ""))

    def _count_file(self, times: Sequence[str] | None) -> None:
        """Tell waiting cases that another file came, if it has a later period or no times; once in each run."""
        is_later = times is None or later(times[-1], self.newest)
        if not is_later or self.is_counted:
            return
        for case in self.cases:
            case.files += 1
        self.is_counted = True

    def expects(self, key: int) -> bool:
        """Whether a case has no label yet, be it that it waits or was given up."""
        return key in self.unlabelled or str(key) in self.given_up

    def label(self, key: int, truth: int) -> WaitingCase | None:
        """The case of which this is the label, where one waits for it; None where it was given up."""
        case = self.unlabelled.pop(key, None)
        came = self.given_up.pop(str(key)) if case is None else case.came
        delay = str(self.count - came)
        self.delays[delay] = self.delays.get(delay, 0) + 1
        if case is None:
            self.late += 1
            return None
        case.truth = truth
        case.known = self.newest
        return case

    def unranked(self, dependent: bool) -> Iterator[Cases]:
        """Complete periods whose promises were not compared yet with those before, with or without labels."""
        new = list[list[WaitingCase]]()
        for time, group in groupby(self.cases, key=lambda case: case.time):
            if not self._is_complete(time):
                break
            new.append([case for case in _by_key(list(group)) if not case.is_ranked])
        for case in chain.from_iterable(new):
            case.is_ranked = True
        yield from _columns_of_periods([(period, None) for period in new], dependent)

    def ready(self, wait: int | None, dependent: bool) -> Iterator[Cases]:
        """Those whose turn has come, all with labels: period by period, or in a row where there are no times."""
        if self.newest is None:
            yield from self._ready_cases(wait)
        else:
            yield from self._ready_periods(wait, dependent)

    def _ready_cases(self, wait: int | None) -> Iterator[Cases]:
        """The cases before the first that still waits for its label; those that waited for others come apart."""
        held = (place for place, case in enumerate(self.cases) if self._is_waited_for(case, wait))
        n = next(held, len(self.cases))
        part = self.cases[:n]
        del self.cases[:n]
        self._give_up(part)
        labelled = (case for case in part if case.is_bet_on)
        for is_waited, alike in groupby(labelled, key=lambda case: case.files > 0):
            yield as_columns(list(alike), f"case {self.count:,}" if is_waited else None)

    def _ready_periods(self, wait: int | None, dependent: bool) -> Iterator[Cases]:
        """The periods before the first that is not complete, or has a case that still waits for its label."""
        periods = [list(group) for _, group in groupby(self.cases, key=lambda case: case.time)]
        starts = [*(period[0].time or "" for period in periods), self.newest or ""]
        ready = list[tuple[list[WaitingCase], str | None]]()
        gone = 0
        for period, time, next_time in zip(periods, starts[:-1], starts[1:], strict=True):
            is_held = any(self._is_waited_for(case, wait) for case in period)
            if is_held or not self._is_complete(time):
                break
            gone += len(period)
            self._give_up(period)
            if later(time, self.last):
                self.last = time
            turns = [case.known for case in period if case.known is not None]
            if self.turn is not None:
                turns.append(self.turn)
            if dependent and later(time, self.closed):
                turns.append(next_time)  # which showed it to be complete
            turn = max(turns, key=natural_key) if turns else time
            self.turn = turn if later(turn, time) else None
            labelled = _by_key([case for case in period if case.is_bet_on])
            ready.append((labelled, self.turn))
        del self.cases[:gone]
        yield from _columns_of_periods(ready, dependent)

    def _is_waited_for(self, case: WaitingCase, wait: int | None) -> bool:
        """Whether a case has no label, and is not given up yet."""
        if case.truth >= 0:
            return False
        return case.files < FILES_WAITED if wait is None else case.came + wait > self.count

    def _give_up(self, part: Sequence[WaitingCase]) -> None:
        """Wait no more for the labels of those among these cases that have none."""
        for case in part:
            if case.truth < 0:
                case.known = self.newest
                self.given_up[str(case.key)] = case.came
                del self.unlabelled[case.key]

    def open_period(self) -> Cases | None:
        """The newest period as far as it has come, if all before it had their turn and its labels are there."""
        if self.newest is None or not self.cases or self.unlabelled or self.cases[0].time != self.newest:
            return None
        cases = _by_key([case for case in self.cases if case.is_bet_on])
        return as_columns(cases) if cases else None

    def leave_behind(self) -> None:
        """Whatever came until now, and what is to come of its periods, is no evidence any more."""
        self.past = self.newest
        for case in self.cases:
            case.is_past = True

    def add_classes(self, n_models: int, costs: Sequence[float], *, keeps_promises: bool) -> None:
        """Let cases that wait have more classes, and what each costs their forecasts if it is the truth.

        They were promised nothing for these. Unless promises are kept by class, those are dropped.
        """
        for case in self.cases:
            case.promised = (*case.promised, *[0.0] * len(costs)) if keeps_promises else ()
            width = len(case.possible) // n_models
            possible: list[float] = []
            for start in range(0, len(case.possible), width):
                *costs_by_class, promise = case.possible[start : start + width]
                possible += [*costs_by_class, *costs, promise]
            case.possible = tuple(possible)

    def _is_complete(self, time: str | None) -> bool:
        """Whether no cases of a period are to come, since a later one has begun or somebody said so."""
        if time is None:
            return False
        is_closed = self.closed is not None and not later(time, self.closed)
        return is_closed or later(self.newest or "", time)

    def needed_wait(self) -> int | None:
        """The wait that would have kept 99 % of labels, in periods or cases."""
        if not self.delays:
            return None
        delays = np.repeat([int(delay) for delay in self.delays], list(self.delays.values()))
        return int(np.quantile(delays, KEPT, method="inverted_cdf"))


def as_columns(cases: Sequence[WaitingCase], noticed: str | None = None) -> Cases:
    """Cases from the queue as arrays, in their order."""
    possible = np.array([case.possible for case in cases])
    truth = np.array([case.truth for case in cases], np.intp)
    keys = [case.key for case in cases]
    times = None if cases[0].time is None else [case.time or "" for case in cases]
    promised = np.array([case.promised for case in cases])
    return Cases(possible, truth, keys, times, promised, noticed)


def _columns_of_periods(periods: Sequence[tuple[list[WaitingCase], str | None]], apart: bool) -> Iterator[Cases]:
    """The cases of periods, with when it was noticed what these show: each apart, or those noticed alike."""
    filled = [(period, noticed) for period, noticed in periods if period]
    for noticed, alike in groupby(filled, key=lambda pair: pair[1]):
        parts = [period for period, _ in alike]
        if not apart:
            parts = [list(chain.from_iterable(parts))]
        for part in parts:
            yield as_columns(part, noticed)


def _by_key(period: list[WaitingCase]) -> list[WaitingCase]:
    """Cases of one period in an order that neither the files in which they came nor their outcomes tell.

    It is that of their keys. Cases without ids that have the same forecast have the same key, and could not be
    told apart; the second and further ones get keys of their own, so that they do not stand in a row.
    """
    if len(period) == 1:
        return period
    before = Counter[int]()
    places = []
    for case in period:
        copies = before[case.key]
        before[case.key] += 1
        places.append(case.key if copies == 0 else key_of(f"{case.key}/{copies}".encode()))
    order = sorted(range(len(period)), key=places.__getitem__)
    return [period[row] for row in order]


def _keys_of_forecasts(possible: FloatArray, times: Sequence[str] | None) -> Sequence[int]:
    """Keys of cases without ids, which order them within their period: of what they may cost, and of its name."""
    if times is None:
        return range(len(possible))
    return [key_of(row.tobytes() + time.encode()) for row, time in zip(possible, times, strict=True)]

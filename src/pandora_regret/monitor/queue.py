"""Cases that wait for their turn, in the order of their forecasts.

A case is bet on when it stands first and its label is known; one whose label has not come in time is given up,
so that those behind it go on. The order is that of forecasts, and never that in which labels come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray

FILES = 3  # how many later files a case waits for its label, unless something else is asked for
KEPT = 0.99  # of labels, by the wait that is suggested


@lru_cache(maxsize=1 << 16)
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Names in the order that people mean: week 9 before week 10, and ISO dates by date.

    Examples
    --------
    >>> sorted(["week 10", "week 9"], key=natural_key)
    ['week 9', 'week 10']
    """
    parts = re.split(r"(\d+)", name)
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def later(name: str, other: str | None) -> bool:
    """Whether a time is after another, or is the first."""
    return other is None or natural_key(name) > natural_key(other)


class Cases(NamedTuple):
    """Rows past the door, in the order of their forecasts."""

    possible: FloatArray  # (n, width): possible costs and the promise, of each model
    truth: IntArray  # -1 where it is not known
    keys: list[int] | None  # of their ids
    times: list[str] | None
    waited: bool = False  # whether later forecasts came before they were bet on

    def take(self, rows: IntArray) -> Cases:
        """Some of the rows, in this order."""
        keys, times = (None if of is None else [of[row] for row in rows] for of in (self.keys, self.times))
        return Cases(self.possible[rows], self.truth[rows], keys, times)


@dataclass
class Waiting:
    """A case in the queue."""

    possible: tuple[float, ...]
    truth: int
    key: int
    time: str | None
    came: int  # the number of its period, or its own
    files: int = 0  # how many came while it waited


@dataclass
class Queue:
    """Cases in the order of their forecasts, until they are bet on; plain data, as a state stores it."""

    cases: list[Waiting] = field(default_factory=list)
    given_up: dict[str, int] = field(default_factory=dict)  # by key: when it came
    delays: dict[str, int] = field(default_factory=dict)  # how many labels came after so many periods or cases
    late: int = 0  # labels that came after their case was given up, and rows of periods that were bet on
    count: int = 0  # of periods or cases that came
    newest: str | None = None  # time
    closed: str | None = None  # the last period that is complete
    last: str | None = None  # the last that was bet on, where cases of one are one bet

    def __post_init__(self) -> None:
        self.unlabelled = {case.key: case for case in self.cases if case.truth < 0}

    def add(self, cases: Cases, dependent: bool) -> None:
        """New cases, all of which came together."""
        waits = dependent
        for case in self.cases:  # the first ones have their turn, unless their period goes on
            waits |= case.truth < 0
            case.files += waits
        n = len(cases.truth)
        times: Sequence[str | None] = cases.times or [None] * n
        columns = (cases.possible.tolist(), cases.truth.tolist(), cases.keys or range(n), times)
        for possible, truth, key, time in zip(*columns, strict=True):
            if dependent and not later(time or "", self.last):
                self.late += 1
                continue
            if time is None:
                self.count += 1
            elif later(time, self.newest):
                self.newest, self.count = time, self.count + 1
            case = Waiting(tuple(possible), truth, key, time, self.count)
            self.cases.append(case)
            if truth < 0:
                self.unlabelled[key] = case
        if dependent:
            self.cases.sort(key=lambda case: (natural_key(case.time or ""), case.key))

    def expects(self, key: int) -> bool:
        """Whether a case has no label yet, be it that it waits or was given up."""
        return key in self.unlabelled or str(key) in self.given_up

    def label(self, key: int, truth: int) -> Waiting | None:
        """The case of which this is the label, where one waits for it; None where it was given up."""
        case = self.unlabelled.pop(key, None)
        delay = str(self.count - (self.given_up.pop(str(key)) if case is None else case.came))
        self.delays[delay] = self.delays.get(delay, 0) + 1
        if case is None:
            self.late += 1
        else:
            case.truth = truth
        return case

    def ready(self, wait: int | None, dependent: bool) -> Iterator[Cases]:
        """Those whose turn has come, all with labels; where cases of one time are one bet, time by time."""
        taken = list[list[Waiting]]()
        for time, group in groupby(self.cases, key=lambda case: case.time if dependent else None):
            part = list(group)
            early = (case.files < FILES if wait is None else case.came + wait > self.count for case in part)
            waits = (n for n, is_early in enumerate(early) if is_early and part[n].truth < 0)
            end = next(waits, len(part))
            if dependent and (end < len(part) or not self._is_complete(time)):
                break
            taken.append(part[:end])
        del self.cases[: sum(map(len, taken))]
        for part in taken:
            self.last = part[-1].time if dependent and part else self.last
            for case in part:
                if case.truth < 0:
                    self.given_up[str(case.key)] = case.came
                    del self.unlabelled[case.key]
            labelled = (case for case in part if case.truth >= 0)
            for _, alike in groupby(labelled, key=lambda case: dependent or case.files > 0):
                yield as_columns(list(alike))

    def complete(self) -> Iterator[Cases]:
        """Periods to which no cases are to come, with or without labels."""
        for time, part in groupby(self.cases, key=lambda case: case.time):
            if self._is_complete(time):
                yield as_columns(list(part))

    def _is_complete(self, time: str | None) -> bool:
        """Whether no cases of a period are to come, since a later one has begun or somebody said so."""
        complete = (self.closed, self.cases[-1].time)
        return time is not None and (time == self.closed or any(end and later(end, time) for end in complete))

    def needed_wait(self) -> int | None:
        """The wait that would have kept 99 % of labels, in periods or cases."""
        delays = np.repeat([int(delay) for delay in self.delays], list(self.delays.values()))
        return int(np.quantile(delays, KEPT, method="inverted_cdf")) if self.delays else None


def as_columns(cases: list[Waiting]) -> Cases:
    """Cases from the queue as arrays, in their order."""
    times = None if cases[0].time is None else [case.time or "" for case in cases]
    possible, truth, keys = ([getattr(case, name) for case in cases] for name in ("possible", "truth", "key"))
    return Cases(np.array(possible), np.array(truth, np.intp), keys, times, any(case.files for case in cases))

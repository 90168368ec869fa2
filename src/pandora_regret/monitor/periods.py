"""Rows gathered into periods: the mean of each is one increment, so that what its rows share does no harm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from pandora_regret.inference.sequential import read_array, read_int
from pandora_regret.inputs import FloatArray, InputError, InputTypeError
from pandora_regret.records import LARGEST


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

    width: int  # numbers of each row
    by_period: bool | None = None  # None before the first rows
    name: str | None = None  # of the period that is open
    last: str | None = None  # the last that was closed
    cases: int = 0
    late: int = 0  # rows that came after their period was closed, and were left out

    def __post_init__(self) -> None:
        self.totals = np.zeros(self.width)

    def add(self, columns: FloatArray, period: Any) -> Closed:
        """Gather m numbers of n rows, (m, n), of one period or of one each, or of none; what is complete now."""
        self.check_mode(period is not None)
        self.by_period = period is not None
        if period is None:
            return Closed(None, None, columns)
        parts = _by_period(period, columns.shape[1])
        closed = [self._of_period(name, columns[:, index]) for name, index in parts]
        return self._joined([each for each in closed if each is not None])

    def close(self) -> Closed:
        """The open period, if there is one."""
        return self._joined([] if self.name is None else [self._close()])

    @property
    def open(self) -> Gathered | None:
        """The period that is open, with its means so far."""
        means = tuple((self.totals / max(self.cases, 1)).tolist())
        return None if self.name is None else Gathered(self.name, self.cases, means)

    def check_mode(self, by_period: bool) -> None:
        """Rows have periods always, or never."""
        if self.by_period is not None and by_period != self.by_period:
            had, has = ("", "no ") if self.by_period else ("no ", "")
            problem = f"rows have {has}period, and earlier ones had {had}period"
            raise InputError(problem, argument="period", place="", fix="give it always or never")

    def _of_period(self, name: str, columns: FloatArray) -> tuple[str, int, FloatArray] | None:
        newest, closed = self.name if self.name is not None else self.last, None
        if newest is None or natural_key(name) > natural_key(newest):
            closed = None if self.name is None else self._close()
            self.name = name
        elif name != self.name:
            self.late += columns.shape[1]
            return None
        gathered = np.column_stack([self.totals, columns])
        self.totals = np.cumsum(gathered, axis=1)[:, -1]  # in order, however rows are cut
        self.cases += columns.shape[1]
        return closed

    def _close(self) -> tuple[str, int, FloatArray]:
        assert self.name is not None
        closed = (self.name, self.cases, self.totals / self.cases)
        self.name, self.last, self.cases, self.totals = None, self.name, 0, np.zeros(self.width)
        return closed

    def _joined(self, closed: Sequence[tuple[str, int, FloatArray]]) -> Closed:
        names, cases = [each[0] for each in closed], np.array([each[1] for each in closed], dtype=np.float64)
        return Closed(names, cases, np.array([each[2] for each in closed]).reshape(len(closed), self.width).T)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        kept = ("by_period", "name", "last", "cases", "late")
        return {name: getattr(self, name) for name in kept} | {"totals": self.totals.tolist()}

    def restore(self, state: Mapping[str, Any], place: str) -> Self:
        """The periods as they were when `state` was written."""
        self.by_period, self.name, self.last = state.get("by_period"), state.get("name"), state.get("last")
        self.cases, self.late = read_int(state, "cases", place), read_int(state, "late", place)
        self.totals = read_array(state, "totals", place, np.float64)
        texts = all(each is None or isinstance(each, str) for each in (self.name, self.last))
        counted = self.cases >= 0 and (self.cases > 0) == (self.name is not None) and self.late >= 0
        sound = counted and self.totals.shape == (self.width,) and bool((np.abs(self.totals) < LARGEST).all())
        if not sound or not texts or self.by_period not in (None, True, False):
            raise InputError("does not fit the monitor", place=place, fix="the state is damaged")
        return self


def read_periods(period: Any, n: int) -> list[str] | None:
    """The period of each of n rows, from one name or one per row."""
    if period is None:
        return None
    if isinstance(period, (str, bytes)) or np.ndim(period) == 0:
        return [_name(period)] * n
    names = [_name(each) for each in period]
    if len(names) != n:
        fix = "pass one period for all rows, or one per row"
        raise InputError(f"has {len(names)} entries for {n} rows", argument="period", value=len(names), fix=fix)
    return names


def _name(period: Any) -> str:
    text = str(period)
    if period is None or period != period or not text:
        raise InputTypeError(f"is {period!r}, which is no name", argument="period", fix="name every row's period")
    return text


def _by_period(names: Sequence[str], n: int) -> list[tuple[str, Any]]:
    """Each period, in order, and the numbers of its rows."""
    if len(set(names)) <= 1:
        return [(names[0], slice(None))] if n else []
    distinct, codes = np.unique(np.array(names, dtype=object).astype(str), return_inverse=True)
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    return sorted(zip(distinct.tolist(), rows, strict=True), key=lambda each: natural_key(each[0]))

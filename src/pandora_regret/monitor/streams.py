"""The two streams of a monitor: what forecasts cost beyond their promise, and what they promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log10
from typing import Any, Self

import numpy as np

from pandora_regret.inference.sequential import Bets, Event, MeanSequence, Ranks
from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.monitor.history import History
from pandora_regret.monitor.periods import Closed, Gathered, Periods
from pandora_regret.monitor.rows import Rows
from pandora_regret.records import from_plain, to_plain

OVERPAID, PROMISED, SAVED = 0, 3, 4  # rows of what `Paid` gathers; its bounds stand after 0 and 4


@dataclass(frozen=True)
class StreamSettings:
    """What a stream needs to know beforehand."""

    least: float  # that a search can cost
    most: float
    level: float
    run_length: float
    lag: int
    compares: bool  # with a challenger

    @property
    def scale(self) -> float:
        """The widest range of what is paid."""
        return self.most - self.least


class Stream:
    """Increments by period: betting on them, and the history of it."""

    def __init__(self, width: int, bets: Bets) -> None:
        self.periods, self.history, self.bets = Periods(width), History(), bets
        self.last: Gathered | None = None  # the last period that was closed

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
            self._learn(means)
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

    def name_of(self, event: Event) -> str:
        """When it happened."""
        return self.history.name_of(event.at)

    def parts(self) -> dict[str, Any]:
        """What the state is made of."""
        return {"periods": self.periods, "history": self.history, "bets": self.bets}

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {name: part.state() for name, part in self.parts().items()} | {"last": to_plain(self.last)}

    def restore(self, state: Mapping[str, Any], place: str) -> Self:
        """The stream as it was when `state` was written."""
        for name, part in self.parts().items():
            part.restore(from_plain(dict[str, Any], state.get(name), f"{place}.{name}"), f"{place}.{name}")
        last = state.get("last")
        self.last = None if last is None else from_plain(Gathered, last, f"{place}.last")
        in_time = all(event is None or event.at < self.n for event in (self.bets.alarm, self.bets.change))
        in_shape = self.last is None or len(self.last.means) == self.periods.width
        if not in_time or not in_shape or not self.history.fits(self.n, self.periods.width, len(self.marks())):
            raise InputError("does not fit the rest", place=f"{place}.history", fix="the state is damaged")
        return self


class Paid(Stream):
    """What was paid beyond the promise; and what the challenger saved, where there is one."""

    def __init__(self, settings: StreamSettings) -> None:
        how: dict[str, Any] = {"level": settings.level, "lag": settings.lag}
        super().__init__(
            7 if settings.compares else 4, Bets(settings.scale, run_length=settings.run_length, **how)
        )
        self.overpaid = MeanSequence(settings.scale, **how)
        self.saved = MeanSequence(2 * settings.scale, **how) if settings.compares else None

    def add(self, rows: Rows, challenger: Rows | None, truth: IntArray, period: list[str] | None) -> None:
        """Cases whose labels are known."""
        overpaid = rows.overpaid(truth)
        saved = [] if challenger is None else [rows.saved_by(challenger, truth)]
        self._count(self.periods.add(np.concatenate([overpaid, rows.promised[None], *saved]), period))

    def _learn(self, means: FloatArray) -> None:
        columns = np.ascontiguousarray(means)
        self.bets.update(*columns[:3])
        self.overpaid.update(*columns[:3])
        if self.saved is not None:
            self.saved.update(*columns[SAVED:])

    def marks(self) -> tuple[float, ...]:
        """Evidence, and the ends of the confidence sequences."""
        saved = () if self.saved is None else self.saved.interval()
        return (*super().marks(), *self.overpaid.interval(), *saved)

    def parts(self) -> dict[str, Any]:
        """What the state is made of."""
        saved = {} if self.saved is None else {"saved": self.saved}
        return super().parts() | {"overpaid": self.overpaid} | saved


class Promised(Stream):
    """What forecasts promise, which needs no labels: are periods exchangeable with those before."""

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(1, Bets(1.0, level=settings.level, run_length=settings.run_length))
        self.least, self.ranks = settings.least, Ranks(settings.scale)

    def add(self, rows: Rows, period: list[str] | None) -> None:
        """Cases, whether their labels are known or not."""
        self._count(self.periods.add(rows.promised[None], period))

    def _learn(self, means: FloatArray) -> None:
        ranks = self.ranks.update(means[0] - self.least) - 0.5
        half = np.full(len(ranks), 0.5)
        self.bets.update(ranks, -half, half)

    def parts(self) -> dict[str, Any]:
        """What the state is made of."""
        return super().parts() | {"ranks": self.ranks}

"""What a monitor bets on: costs beyond the promise, what a challenger saves, and the promises themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log10
from typing import Any

import numpy as np

from pandora_regret.inference.sequential import EProcess, Ranks
from pandora_regret.inputs import FloatArray
from pandora_regret.monitor.history import History
from pandora_regret.monitor.possible_costs import overpaid, realised
from pandora_regret.monitor.queue import Cases, later, natural_key
from pandora_regret.records import from_plain, to_plain

OVERPAID, PROMISED = 0, 1  # rows of the history's totals
LEAST_EVIDENCE = 1e-300
CASES, PERIODS = (32, 1.0), (1, 4.0)  # after how many of them a change may begin, and how boldly to bet


@dataclass
class Book:
    """What is kept beside the evidence; plain data, as a state stores it."""

    history: History = field(default_factory=History)
    known: str | None = None  # the newest time when a label came after its forecast
    noticed: list[str | None] = field(
        default_factory=lambda: [None, None]
    )  # that time at the alarms of both sides
    last: str | None = None  # the last period whose promises were counted
    drift: str | None = None  # when drift was noticed


class Paid:
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
        how = PERIODS if dependent else CASES
        self.overpaid, self.saved = EProcess(level, *how), EProcess(other_level, *how) if compares else None
        self.drift, self.ranks = EProcess(other_level), Ranks(scale)
        self.dependent, self.book = dependent, Book()
        parts = {"overpaid": self.overpaid, "saved": self.saved, "drift": self.drift, "ranks": self.ranks}
        self.parts: dict[str, Any] = {name: part for name, part in parts.items() if part is not None}

    @property
    def n(self) -> int:
        """How many increments there were."""
        return self.overpaid.n

    @property
    def promised(self) -> float:
        """The sum of promises, of whose mean so far bets are fractions."""
        return self.book.history.points[-1].totals[PROMISED] if self.n else 0.0

    def add(self, part: Cases) -> None:
        """Bet on cases, all with labels, in their order; or on their mean."""
        rows, *challenger = np.hsplit(part.possible, 1 + (self.saved is not None))
        others = [realised(rows[:, :-1] - other[:, :-1], part.truth) for other in challenger]  # what it saves
        columns = np.concatenate([overpaid(rows, part.truth), rows[:, -1][None], *others])
        names, cases, book = part.times, None, self.book
        if self.dependent:
            columns, cases, names = columns.mean(axis=1, keepdims=True), len(part.truth), names and names[:1]
        promises = np.cumsum(np.append(self.promised, columns[3]))[1:]
        scale = promises / np.arange(self.n + 1, self.n + 1 + len(promises))
        book.known, quiet = part.known or book.known, self.overpaid.noticed < 0

        def learn(rows: slice) -> None:
            self.overpaid.update(columns[:3, rows], scale[rows])
            if self.saved is not None:
                self.saved.update(columns[4:, rows], scale[rows])

        book.history.add(names, cases, columns[[0, 3, 4][: 2 + len(others)]], learn, self.marks)
        for side in np.flatnonzero(quiet & (self.overpaid.noticed >= 0)):
            book.noticed[side] = book.known

    def promise(self, promises: FloatArray, times: Sequence[str] | None) -> None:
        """Bet on the ranks of promises among those before; they need no labels."""
        if self.dependent and times:
            if not later(times[0], self.book.last):
                return
            self.book.last, promises = times[0], promises.mean(keepdims=True)
        first, half = self.drift.n, np.full(len(promises), 0.5)
        ranks = self.ranks.update(promises) - 0.5
        self.drift.update(np.stack([ranks, -half, half]), half)
        if self.book.drift is None and len(noticed := self.drift.noticed[self.drift.noticed >= 0]):
            at = int(noticed.min())
            self.book.drift = f"case {at + 1:,}" if times is None else times[at - first]

    def noticed_in(self, above: bool) -> str | None:
        """When there was evidence enough on a side for the first time: the period, or the case."""
        at, known = self.overpaid.noticed_at(above), self.book.noticed[int(not above)]
        if at is None:
            return None
        own = self.book.history.name_of(at)
        return own if known is None else max(own, known, key=natural_key)

    def marks(self) -> tuple[float, ...]:
        """The logarithm of the evidence, then the mean and the interval that are claimed now, of each process."""
        claims = [process.claim() for process in (self.overpaid, self.saved) if process is not None]
        ends = (end for claim in claims for end in (claim.value, claim.low, claim.high))
        return (log10(max(self.overpaid.evidence[0], LEAST_EVIDENCE)), *ends)

    def state(self) -> dict[str, Any]:
        """Plain data."""
        return {"book": to_plain(self.book)} | {name: part.state() for name, part in self.parts.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """The processes as they were when `state` was written."""
        self.book = from_plain(Book, state["book"], "state.paid.book")
        for name, part in self.parts.items():
            part.restore(state[name])

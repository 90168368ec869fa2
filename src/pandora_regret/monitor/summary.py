"""Where a monitor stands, as numbers with names."""

from __future__ import annotations

from dataclasses import dataclass

from pandora_regret.inference.sequential import Event, MeanSequence
from pandora_regret.monitor.streams import OVERPAID, PROMISED, Paid, Promised, Stream


@dataclass(frozen=True)
class Interval:
    """A mean with the ends of its confidence sequence, valid at every moment."""

    mean: float
    low: float
    high: float

    @property
    def settled(self) -> bool:
        """Whether it excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Period:
    """The newest period, or all cases where there are no periods."""

    name: str
    cases: int
    paid: float  # per case
    promised: float
    complete: bool  # False while it is open: it counts for intervals and alarms only when it is closed


@dataclass(frozen=True)
class Alarm:
    """Something that should be looked at."""

    period: str  # when it was found
    above: bool  # whether costs are above what they should be
    began: str | None = None  # when it seems to have begun


@dataclass(frozen=True)
class MonitorSummary:
    """Costs per case, each period counting once; intervals and alarms are valid whenever you look."""

    increments: int  # periods whose labels are known, or cases where there are no periods
    by_period: bool
    first: str | None  # the first period
    last: Period | None  # None before any label is known
    overpaid: Interval | None  # paid beyond the promise
    evidence: float  # against "pays what it promises"; 1 / level is an alarm
    alarm: Alarm | None  # costs more or less than it promises
    change: Alarm | None  # has begun to cost more or less
    saved: Interval | None  # by the challenger
    predicted: float | None  # what the newest forecasts promise, with or without labels
    predicted_in: str | None
    drift: Alarm | None  # promises are higher or lower than they used to be
    waiting: int  # forecasts without labels
    late: int  # labels that came after their period was closed, and were left out

    @property
    def alarmed(self) -> bool:
        """Whether costs are not what was promised: an alarm or a change. Drift is about promises alone."""
        return self.alarm is not None or self.change is not None


def summarise(paid: Paid, promised: Promised, *, waiting: int) -> MonitorSummary:
    """Where both streams stand."""
    return MonitorSummary(
        increments=paid.n,
        by_period=bool(promised.periods.by_period),
        first=paid.history.all[0].first if paid.n else None,
        last=_last(paid),
        overpaid=_interval(paid.overpaid) if paid.n else None,
        evidence=paid.bets.value,
        alarm=_alarm(paid, paid.bets.alarm),
        change=_alarm(paid, paid.bets.change),
        saved=_interval(paid.saved) if paid.saved is not None and paid.n else None,
        predicted=_predicted(promised),
        predicted_in=None if (newest := promised.newest) is None else newest.name,
        drift=_alarm(promised, promised.bets.alarm),
        waiting=waiting,
        late=paid.periods.late,
    )


def _last(paid: Paid) -> Period | None:
    if (newest := paid.newest) is not None:
        overpaid, promise = newest.means[OVERPAID], newest.means[PROMISED]
        complete = paid.periods.name is None
        return Period(newest.name, newest.cases, promise + overpaid, promise, complete)
    if not paid.n:
        return None
    points = paid.history.all
    overpaid, promise = (sum(each.totals[k] for each in points) / paid.n for k in (OVERPAID, PROMISED))
    return Period("all", paid.n, promise + overpaid, promise, True)


def _predicted(promised: Promised) -> float | None:
    """What the newest period promises, or the newest cases where there are no periods."""
    if promised.newest is not None:
        return promised.newest.means[0]
    point = promised.history.all[-1] if promised.n else None
    return None if point is None else point.totals[0] / point.increments


def _interval(sequence: MeanSequence) -> Interval:
    return Interval(sequence.mean, *sequence.interval())


def _alarm(stream: Stream, event: Event | None) -> Alarm | None:
    if event is None:
        return None
    began = None if event.began is None else stream.history.name_of(event.began)
    return Alarm(stream.name_of(event), event.above, began)

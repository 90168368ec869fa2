"""Where a monitor stands, as numbers with names and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.sequential import Event
from pandora_regret.monitor.streams import OVERPAID, PROMISED, Paid, Promised, Stream
from pandora_regret.text import capitalised, counted, money, money_between

ALWAYS = "valid whenever you look"


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
    overpaid: Estimate | None  # paid beyond the promise
    evidence: float  # against "pays what it promises"; 1 / level is an alarm
    alarm: Alarm | None  # costs more or less than it promises
    change: Alarm | None  # has begun to cost more or less
    saved: Estimate | None  # by the challenger
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
    last = None
    if (newest := paid.newest) is not None:
        last = _period(newest.name, newest.cases, newest.means, paid.periods.name is None)
    elif paid.n:
        totals = zip(*(point.totals for point in paid.history.all), strict=True)
        last = _period("all", paid.n, [sum(each) / paid.n for each in totals], True)
    predicted = None if promised.newest is None else promised.newest.means[0]
    if predicted is None and promised.n:  # the newest cases, where there are no periods
        point = promised.history.all[-1]
        predicted = point.totals[0] / point.increments
    sequences = (paid.overpaid, paid.saved)
    overpaid, saved = (
        Estimate(each.mean, *each.interval()) if each is not None and paid.n else None for each in sequences
    )
    return MonitorSummary(
        increments=paid.n,
        by_period=bool(promised.periods.by_period),
        first=paid.history.all[0].first if paid.n else None,
        last=last,
        overpaid=overpaid,
        evidence=paid.bets.value,
        alarm=_alarm(paid, paid.bets.alarm),
        change=_alarm(paid, paid.bets.change),
        saved=saved,
        predicted=predicted,
        predicted_in=None if promised.newest is None else promised.newest.name,
        drift=_alarm(promised, promised.bets.alarm),
        waiting=waiting,
        late=paid.periods.late,
    )


def _period(name: str, cases: int, means: Sequence[float], complete: bool) -> Period:
    return Period(name, cases, means[PROMISED] + means[OVERPAID], means[PROMISED], complete)


def _alarm(stream: Stream, event: Event | None) -> Alarm | None:
    if event is None:
        return None
    began = None if event.began is None else stream.history.name_of(event.began)
    return Alarm(stream.history.name_of(event.at), event.above, began)


def sentences(summary: MonitorSummary, unit: str | None, challenger: str | None = None) -> list[str]:
    """Three lines: the last period, everything so far, and the challenger or else the promises."""
    waiting = f" {counted(summary.waiting, 'forecast')} waiting for labels." if summary.waiting else ""
    drift = "No drift."
    if summary.drift is not None:
        direction = "higher" if summary.drift.above else "lower"
        drift = f"DRIFT found in {_in_words(summary.drift.period)}: promises are {direction} than before."
    first = f"No labels yet.{waiting}"
    if (last := summary.last) is not None:
        cases, so_far = counted(last.cases, "case"), "" if last.complete else " so far"
        head = f"{capitalised(_in_words(last.name))}{so_far}: {cases}," if summary.by_period else f"{cases}:"
        costs = f"{money(last.paid, unit)} per case (promised {money(last.promised, unit)})"
        said_here = summary.drift is not None and summary.saved is not None
        first = f"{head} {costs}.{waiting}{f' {drift}' if said_here else ''}"
    return [first, _so_far(summary, unit), _promises_or_challenger(summary, unit, drift, challenger)]


def _in_words(period: str) -> str:
    """A period in a sentence, where a mere number would be read as a number."""
    return f"period {period}" if period.isdigit() else period


def _so_far(summary: MonitorSummary, unit: str | None) -> str:
    if summary.overpaid is None:
        nothing = "Nothing is known yet about what was paid."
        return nothing if summary.last is None else "No period is complete yet."
    since = "So far" if summary.first is None else f"Since {_in_words(summary.first)}"
    paid = f"{since}: paid {_amount(summary.overpaid, unit, '{} more than promised', '{} less than promised')}."
    alarms = []
    if (alarm := summary.alarm) is not None:
        more = "more" if alarm.above else "less"
        alarms.append(f"ALARM since {_in_words(alarm.period)}: cost {more} than it promised.")
    if (change := summary.change) is not None:
        more = "more" if change.above else "less"
        began = "" if change.began is None else f" since about {_in_words(change.began)}"
        alarms.append(f"CHANGE found in {_in_words(change.period)}: costs {more} than promised{began}.")
    return " ".join([paid, *alarms] if alarms else [paid, "No alarm."])


def _promises_or_challenger(summary: MonitorSummary, unit: str | None, drift: str, challenger: str | None) -> str:
    if (saved := summary.saved) is not None:
        name, verdict = challenger or "the challenger", "Not settled."
        if saved.is_above_zero or saved.is_below_zero:
            verdict = f"Settled: {name} is {'cheaper' if saved.is_above_zero else 'more expensive'}."
        return f"Challenger {name}: {_amount(saved, unit, 'saves {}', 'costs {} more')}. {verdict}"
    if summary.predicted is None:
        return "Nothing is known yet about what was promised."
    newest = "The newest forecasts" if summary.predicted_in is None else f"Forecasts of {summary.predicted_in}"
    return f"{newest} promise {money(summary.predicted, unit)} per case. {drift}"


def _amount(estimate: Estimate, unit: str | None, more: str, less: str) -> str:
    """What is paid or saved, as words for its sign and the interval, valid whenever you look."""
    value = estimate.value or 0.0
    word, shown = (less, estimate.turned) if value < 0 else (more, estimate)
    amount, _, limits = money_between(abs(value), shown.low, shown.high, unit).partition(" (")
    limits = f"{limits.removesuffix(')')}, " if limits else ""
    return f"{word.format(amount)} per case ({limits}{ALWAYS})"

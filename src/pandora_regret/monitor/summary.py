"""Where a monitor stands, as numbers with names and in sentences."""

from __future__ import annotations

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
    return MonitorSummary(
        increments=paid.n,
        by_period=bool(promised.periods.by_period),
        first=paid.history.all[0].first if paid.n else None,
        last=_last(paid),
        overpaid=Estimate(paid.overpaid.mean, *paid.overpaid.interval()) if paid.n else None,
        evidence=paid.bets.value,
        alarm=_alarm(paid, paid.bets.alarm),
        change=_alarm(paid, paid.bets.change),
        saved=Estimate(paid.saved.mean, *paid.saved.interval()) if paid.saved is not None and paid.n else None,
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


def _alarm(stream: Stream, event: Event | None) -> Alarm | None:
    if event is None:
        return None
    began = None if event.began is None else stream.history.name_of(event.began)
    return Alarm(stream.history.name_of(event.at), event.above, began)


def sentences(summary: MonitorSummary, unit: str | None, challenger: str | None = None) -> list[str]:
    """Three lines: the last period, everything so far, and the challenger or else the promises."""
    lines = [_last_period(summary, unit), _so_far(summary, unit)]
    if summary.saved is None:
        return [*lines, _promises(summary, unit)]
    return [*lines, _challenger(summary.saved, unit, challenger or "the challenger")]


def period_name(name: str) -> str:
    """A period in a sentence, where a mere number would be read as a number."""
    return f"period {name}" if name.isdigit() else name


def _last_period(summary: MonitorSummary, unit: str | None) -> str:
    waiting = f" {counted(summary.waiting, 'forecast')} waiting for labels." if summary.waiting else ""
    if (last := summary.last) is None:
        return f"No labels yet.{waiting}"
    drift = f" {_drift(summary.drift)}" if summary.drift is not None and summary.saved is not None else ""
    cases, so_far = counted(last.cases, "case"), "" if last.complete else " so far"
    head = f"{capitalised(period_name(last.name))}{so_far}: {cases}," if summary.by_period else f"{cases}:"
    return f"{head} {money(last.paid, unit)} per case (promised {money(last.promised, unit)}).{waiting}{drift}"


def _so_far(summary: MonitorSummary, unit: str | None) -> str:
    if summary.overpaid is None:
        known = summary.last is not None
        return "No period is complete yet." if known else "Nothing is known yet about what was paid."
    since = "So far" if summary.first is None else f"Since {period_name(summary.first)}"
    said = f"{since}: paid {_amount(summary.overpaid, unit, '{} more than promised', '{} less than promised')}. "
    alarms = []
    if (alarm := summary.alarm) is not None:
        alarms.append(f"ALARM since {period_name(alarm.period)}: cost {_more(alarm)} than it promised.")
    alarms += [_change(summary.change)] if summary.change is not None else []
    return said + (" ".join(alarms) or "No alarm.")


def _amount(estimate: Estimate, unit: str | None, more: str, less: str) -> str:
    """What is paid or saved, as words for its sign and the interval, valid whenever you look."""
    value = estimate.value or 0.0
    word, shown = (less, estimate.turned) if value < 0 else (more, estimate)
    amount, _, limits = money_between(abs(value), shown.low, shown.high, unit).partition(" (")
    limits = f"{limits.removesuffix(')')}, " if limits else ""
    return f"{word.format(amount)} per case ({limits}{ALWAYS})"


def _change(change: Alarm) -> str:
    began = "" if change.began is None else f" since about {period_name(change.began)}"
    return f"CHANGE found in {period_name(change.period)}: costs {_more(change)} than promised{began}."


def _drift(drift: Alarm) -> str:
    direction = "higher" if drift.above else "lower"
    return f"DRIFT found in {period_name(drift.period)}: promises are {direction} than before."


def _more(alarm: Alarm) -> str:
    return "more" if alarm.above else "less"


def _promises(summary: MonitorSummary, unit: str | None) -> str:
    if summary.predicted is None:
        return "Nothing is known yet about what was promised."
    newest = "The newest forecasts" if summary.predicted_in is None else f"Forecasts of {summary.predicted_in}"
    drift = "No drift." if summary.drift is None else _drift(summary.drift)
    return f"{newest} promise {money(summary.predicted, unit)} per case. {drift}"


def _challenger(saved: Estimate, unit: str | None, name: str) -> str:
    verdict = "Not settled."
    if saved.low is not None and saved.high is not None and not saved.low <= 0 <= saved.high:
        verdict = f"Settled: {name} is {'cheaper' if saved.low > 0 else 'more expensive'}."
    return f"Challenger {name}: {_amount(saved, unit, 'saves {}', 'costs {} more')}. {verdict}"

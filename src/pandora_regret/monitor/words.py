"""A monitor's summary in sentences: what was paid and promised, alarms, the challenger."""

from __future__ import annotations

from pandora_regret.monitor.summary import Alarm, Interval, MonitorSummary, Period
from pandora_regret.text import capitalised, counted, money, money_between

ALWAYS = "valid whenever you look"


def sentences(summary: MonitorSummary, unit: str | None, challenger: str | None = None) -> list[str]:
    """Three lines: the last period, everything so far, and the challenger or else the promises."""
    lines = [_last_period(summary, unit), _so_far(summary, unit)]
    if summary.saved is not None:
        lines.append(_challenger(summary.saved, unit, challenger or "the challenger"))
    else:
        lines.append(_promises(summary, unit))
    return lines


def period_name(name: str) -> str:
    """A period in a sentence, where a mere number would be read as a number."""
    return f"period {name}" if name.isdigit() else name


def _last_period(summary: MonitorSummary, unit: str | None) -> str:
    waiting = f" {counted(summary.waiting, 'forecast')} waiting for labels." if summary.waiting else ""
    if summary.last is None:
        return f"No labels yet.{waiting}"
    drift = f" {_drift(summary.drift)}" if summary.drift is not None and summary.saved is not None else ""
    return f"{_cost_of(summary.last, summary.by_period, unit)}{waiting}{drift}"


def _cost_of(last: Period, by_period: bool, unit: str | None) -> str:
    so_far = "" if last.complete else " so far"
    name = f"{capitalised(period_name(last.name))}{so_far}: "
    head = f"{name}{counted(last.cases, 'case')}, " if by_period else f"{counted(last.cases, 'case')}: "
    return f"{head}{money(last.paid, unit)} per case (promised {money(last.promised, unit)})."


def _so_far(summary: MonitorSummary, unit: str | None) -> str:
    if summary.overpaid is None:
        known = summary.last is not None
        return "No period is complete yet." if known else "Nothing is known yet about what was paid."
    since = "So far" if summary.first is None else f"Since {period_name(summary.first)}"
    said = f"{since}: paid {_overpaid(summary.overpaid, unit)}. "
    alarms = [f"{_alarm(summary.alarm)}"] if summary.alarm is not None else []
    alarms += [_change(summary.change)] if summary.change is not None else []
    return said + (" ".join(alarms) or "No alarm.")


def _overpaid(overpaid: Interval, unit: str | None) -> str:
    """$9 more than promised per case (2 to 16, valid whenever you look)."""
    mean, low, high, word = overpaid.mean, overpaid.low, overpaid.high, "more"
    if mean < 0:
        mean, low, high, word = -mean, -high, -low, "less"
    amount, _, limits = money_between(mean, low, high, unit).partition(" (")
    limits = f"{limits.removesuffix(')')}, " if limits else ""
    return f"{amount} {word} than promised per case ({limits}{ALWAYS})"


def _alarm(alarm: Alarm) -> str:
    return f"ALARM since {period_name(alarm.period)}: cost {_more(alarm)} than it promised."


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


def _challenger(saved: Interval, unit: str | None, name: str) -> str:
    mean, low, high, word, more = saved.mean, saved.low, saved.high, "saves", ""
    if mean < 0:
        mean, low, high, word, more = -mean, -high, -low, "costs", " more"
    amount, _, limits = money_between(mean, low, high, unit).partition(" (")
    limits = f"{limits.removesuffix(')')}, " if limits else ""
    verdict = "Not settled."
    if saved.settled:
        verdict = f"Settled: {name} is {'cheaper' if saved.low > 0 else 'dearer'}."
    return f"Challenger {name}: {word} {amount}{more} per case ({limits}{ALWAYS}). {verdict}"

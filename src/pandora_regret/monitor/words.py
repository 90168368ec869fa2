"""Where a monitor stands, in sentences: the headline, the newest period, alarms and notes."""

from pandora_regret.inference.estimate import Estimate
from pandora_regret.monitor.alarms import UnknownClass
from pandora_regret.monitor.summary import MonitorSummary, Period
from pandora_regret.text import capitalised, counted, listed, money, money_between

ALWAYS = "valid whenever you look"


def sentences(summary: MonitorSummary, unit: str | None, challenger: str | None = None) -> list[str]:
    """The headline, the newest period, and whatever else there is to say."""
    alarms, notes = _unknown_classes(summary, unit)
    lines = [*alarms, _headline(summary, unit), _newest(summary, unit), *notes]
    if summary.at_best is not None and not summary.alarmed:
        periods = counted(summary.at_best, "period")
        lines.append(f"Every period is one bet: for the difference so far, an alarm takes {periods} at best.")
    if summary.late:
        late = f"{counted(summary.late, 'label')} ({100 * summary.late_share:.1f} %)"
        wait = counted(summary.needed_wait or 0, "period" if summary.timed else "case")
        kept = f"; a wait of {wait} would have kept 99 %" if summary.needed_wait else ""
        lines.append(f"{late} came too late and were not counted{kept} (--wait, in a new state).")
    if summary.saved is not None:
        lines.append(_saving_sentence(summary.saved, unit, challenger or "the challenger"))
    if summary.drift is not None:
        direction = "more" if summary.drift.above else "less"
        noticed = _at(summary.drift.noticed)
        lines.append(f"DRIFT noticed {noticed}: forecasts promise {direction} than they used to.")
    for earlier in summary.acknowledged:
        about = f" about {listed(earlier.classes)}" if earlier.classes else ""
        noticed = "" if earlier.noticed is None else f" noticed {_at(earlier.noticed)}"
        lines.append(f"Acknowledged {_at(earlier.at)}: the alarm{noticed or about} ({earlier.note}).")
    return lines


def _unknown_classes(summary: MonitorSummary, unit: str | None) -> tuple[list[str], list[str]]:
    """What is said of each class that the model does not know, and still lacks: alarms, and the rest."""
    alarms = []
    notes = []
    newest = summary.last or Period()
    for known in summary.unknown:
        if known.alarms:
            alarms.append(f"ALARM: {_unknown_class(known, newest)}. {_charge_of_unknown(summary, unit)}")
        elif not known.is_known:
            notes.append(f"{_unknown_class(known, newest)}.")
    return alarms, notes


def _unknown_class(known: UnknownClass, newest: Period) -> str:
    """How many of the newest cases were of a class that the model does not know, and of all since the first."""
    cases = newest.unknown.get(known.name, 0)
    since = "" if known.first in (None, newest.name) else f" since {_in_words(str(known.first))}"
    if cases == 0:
        were = "was" if known.cases == 1 else "were"
        of_class = f"{were} of a class that the model does not know: {known.name}"
        return f"{counted(known.cases, 'case')}{since} {of_class}"
    were = "was" if cases == 1 else "were"
    place = f"{newest.cases} cases {_at(newest.name)}" if newest.name else f"the newest {newest.cases} cases"
    in_all = f" ({known.cases}{since})" if since else ""
    return f"{cases} of {place} {were} of a class that the model does not know: {known.name}{in_all}"


def _charge_of_unknown(summary: MonitorSummary, unit: str | None) -> str:
    """What each case of a class that the model does not know is charged."""
    tests = money(summary.all_tests, unit)
    if summary.miss == 0:
        return f"Each is charged all tests, made in vain: {tests} (--miss adds what it takes to find the truth)."
    miss = money(summary.miss, unit)
    whole = money(summary.all_tests + summary.miss, unit)
    return f"Each is charged {whole}: all tests, made in vain, {tests}, and a miss, {miss}."


def _saving_sentence(saved: Estimate, unit: str | None, challenger: str) -> str:
    """What the challenger saves, and whether that is settled."""
    amount = _amount(saved, unit, "saves {} per case", "costs {} per case more")
    if saved.is_above_zero:
        verdict = f"Settled: {challenger} is cheaper."
    elif saved.is_not_zero:
        verdict = f"Settled: {challenger} is more expensive."
    else:
        verdict = "Not settled."
    return f"Challenger {challenger}: {amount}. {verdict}"


def _headline(summary: MonitorSummary, unit: str | None) -> str:
    """Whether there is an alarm, and what is paid beyond the promise, since when."""
    if summary.overpaid is None and summary.acknowledged:
        return "No alarm: nothing has been counted since the last one was acknowledged."
    if summary.overpaid is None:
        return "No alarm: nothing is known yet about what was paid."
    first = _since_first(summary)
    since = since_words(summary)
    alarm = summary.alarm or summary.note
    quiet = "Costs are no alarm" if any(known.alarms for known in summary.unknown) else "No alarm"
    if alarm is None or (summary.alarm is None and not alarm.stands):
        cases = counted(summary.increments, "period" if summary.dependent else "case")
        paid = _amount(summary.overpaid, unit, "{} per case more", "{} per case less", "than promised")
        return f"{quiet}: in {cases} {since}, paid {paid.removesuffix(')')}, {ALWAYS})."
    amount = _amount(summary.overpaid, unit, "{} per case more", "{} per case less", "than it promises")
    costs = f"{since} the model costs {amount}"
    if alarm.stands:
        head = f"{quiet}. {capitalised(costs)}" if summary.alarm is None else f"ALARM: {costs}"
        return f"{head}{_when(summary, first)}. Noticed {_at(alarm.noticed)}."
    past = f"ALARM {_at(alarm.noticed)}: the model cost {'more' if alarm.above else 'less'} than it promised."
    now = capitalised(costs) if summary.overpaid.is_not_zero else f"It is back inside its promise: {costs}"
    return f"{past} {now}."


def _since_first(summary: MonitorSummary) -> str:
    """From the first case on, in words."""
    return "so far" if summary.first is None else f"since {_in_words(summary.first)}"


def since_words(summary: MonitorSummary) -> str:
    """Since when costs are told: "since about week 9"; or from the first case on."""
    return _since_first(summary) if summary.since is None else f"since about {_in_words(summary.since)}"


def _when(summary: MonitorSummary, first: str) -> str:
    """Since when a difference seems to last, where that is not said already, or from when to when it lasted."""
    begin = "" if summary.likely is None else _in_words(summary.likely)
    if summary.until is not None and summary.until == summary.likely:
        return f", most likely {_at(summary.until)} alone"
    if summary.until is not None:
        return f", most likely from about {begin} to {_in_words(summary.until)}"
    return f", most likely from about {begin} on" if summary.since is None and f"since {begin}" != first else ""


def _newest(summary: MonitorSummary, unit: str | None) -> str:
    """What the newest period paid and promised, and what is missing."""
    missing = _missing(summary)
    last = summary.last
    if last is None:
        return f"No labels yet.{missing}"
    cases = counted(last.cases, "case")
    head = f"Newest {cases}:" if last.name is None else f"{capitalised(_in_words(last.name))}: {cases},"
    paid = money(last.paid, unit, beside=last.promised)
    promised = money(last.promised, unit, beside=last.paid)
    return f"{head} {paid} per case (promised {promised}).{missing}"


def _missing(summary: MonitorSummary) -> str:
    """Labels that are not there yet, and labelled cases that wait for them or for the end of their period."""
    held = f"{counted(summary.held, 'labelled case')} not counted yet"
    if not summary.waiting:
        return f" {capitalised(held)}, until their period is complete (--close)." if summary.held else ""
    labels = f" {counted(summary.waiting, 'label')} still missing"
    if not summary.held:
        return f"{labels}."
    reasons = "earlier labels, or others of their period," if summary.timed else "earlier labels"
    return f"{labels}; {held}, because {reasons} are missing."


def _in_words(period: str) -> str:
    """A period in a sentence, where a mere number would be read as a number."""
    return f"period {period}" if period.isdigit() else period


def _at(name: str) -> str:
    """When something was noticed, with the preposition: at a case, on a day, in a period."""
    if name.startswith("case "):
        return f"at {name}"
    is_date = name.count("-") == 2 and name.replace("-", "").isdigit()
    return f"{'on' if is_date else 'in'} {_in_words(name)}"


def _amount(estimate: Estimate, unit: str | None, more: str, less: str, than: str = "") -> str:
    """What is paid or saved, as words for its sign, and the interval."""
    value = estimate.value or 0.0
    word, shown = (less, estimate.turned) if value < 0 else (more, estimate)
    amount, _, limits = money_between(abs(value), shown.low, shown.high, unit).partition(" (")
    return f"{word.format(amount)}{f' {than}' if than else ''} ({limits.removesuffix(')')})"

"""Where a monitor stands, as numbers with names and in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pandora_regret.core.inputs import FloatArray
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.sequential import Claim
from pandora_regret.monitor.alarms import Acknowledgement, UnknownClass
from pandora_regret.monitor.queue import Queue, later, natural_key
from pandora_regret.monitor.streams import Bets
from pandora_regret.text import capitalised, counted, listed, money, money_between

ALWAYS = "valid whenever you look"


@dataclass
class Period:
    """Cases with labels of the newest period; or where there are no times, those whose labels came last."""

    name: str | None = None
    cases: int = 0
    paid: float = 0.0  # per case
    promised: float = 0.0
    unknown: dict[str, int] = field(default_factory=dict)  # cases of classes that no column has, by class
    fresh = True  # whether nothing of this run came in yet: no field, it is not stored

    def add(self, times: Sequence[str] | None, costs: FloatArray, unknown: Sequence[str | None]) -> None:
        """Cases whose labels have come: what was paid and promised, (2, n), and classes that no column has."""
        if not costs.size:
            return
        name = None if times is None else max(times, key=natural_key)
        begins = self.fresh if name is None else later(name, self.name)
        self.fresh = False
        if begins:
            self.name = name
            self.cases = 0
            self.unknown = {}
        if times is not None:
            is_newest = [time == self.name for time in times]
            costs = costs[:, is_newest]
            unknown = [known for known, is_in in zip(unknown, is_newest, strict=True) if is_in]
        for name in unknown:
            if name is not None:
                self.unknown[name] = self.unknown.get(name, 0) + 1
        before = self.cases
        self.cases += costs.shape[1]
        sums = costs.sum(axis=1) + before * np.array([self.paid, self.promised])
        self.paid, self.promised = (sums / max(self.cases, 1)).tolist()


@dataclass(frozen=True)
class Alarm:
    """Something that should be looked at."""

    noticed: str  # when
    above: bool  # whether costs are above what they should be
    stands: bool = True  # False where later cases have brought the interval back to zero


@dataclass(frozen=True)
class ClassCost:
    """What was paid for cases of a class and promised for it, both per case of any class: these add up."""

    name: str
    paid: float
    promised: float

    @property
    def beyond(self) -> float:
        """What was paid beyond the promise."""
        return self.paid - self.promised


@dataclass(frozen=True)
class MonitorSummary:
    """Costs per case; intervals and alarms are valid whenever you look."""

    increments: int  # cases that were bet on, or periods where cases of one depend on each other
    dependent: bool
    timed: bool
    first: str | None  # the first period
    last: Period | None  # None before any label is known
    overpaid: Estimate | None  # paid beyond the promise, since
    by_class: tuple[ClassCost, ...]  # the same by class, the dearest first; empty of more than fifty classes
    since: str | None  # the period or case that it began with, by the best guess; None: from the first on
    likely: str | None  # with which period or case a difference seems to have begun, where there is one
    until: str | None  # and with which it seems to have ended, if it has
    evidence: float  # of costing more than promised; 1 / level is an alarm
    alarm: Alarm | None  # costs more than it promises; or less, where that is an alarm
    note: Alarm | None  # costs less than it promises
    saved: Estimate | None  # by the challenger
    drift: Alarm | None  # promises are higher or lower than they used to be
    waiting: int  # forecasts without labels
    held: int  # cases with labels that wait for labels before them or of their period, or for its end
    late: int  # labels that came too late, and were left out
    late_share: float  # of all labels
    needed_wait: int | None  # for 99 % of labels, in periods or cases
    at_best: int | None  # periods until an alarm, for the difference so far; of dependent cases
    unknown: tuple[UnknownClass, ...]  # classes that no column has, in the order in which they came
    all_tests: float  # what a case of such a class is charged: all tests, in vain
    miss: float  # and beyond them
    acknowledged: tuple[Acknowledgement, ...]  # earlier alarms

    @property
    def alarmed(self) -> bool:
        """Whether there was an alarm that nobody has acknowledged. Drift is about promises alone."""
        return self.alarm is not None or any(known.alarms for known in self.unknown)


def summarise_monitor(
    bets: Bets,
    queue: Queue,
    newest: Period,
    unknown: Sequence[UnknownClass],
    acknowledged: Sequence[Acknowledgement],
    *,
    all_tests: float,
    miss: float,
    labels: Sequence[object],
    two_sided: bool,
) -> MonitorSummary:
    """Where what was paid, and the promises, stand now."""
    claim = bets.overpaid.claim()
    history = bets.book.history
    alarm, note = _alarms(bets, claim.side, two_sided)
    begin = None
    end = None
    noticed = bets.overpaid.noticed_at(claim.side > 0)
    if claim.side and noticed is not None:
        begin, end = history.stretch(claim.side, noticed)
    return MonitorSummary(
        increments=bets.n,
        dependent=bets.dependent,
        timed=queue.newest is not None,
        first=history.points[0].first if bets.n else None,
        last=replace(newest) if newest.cases else None,
        overpaid=_estimate(claim) if bets.n else None,
        by_class=_costs_by_class(bets, labels, claim.began or 0) if bets.n else (),
        since=history.name_of(claim.began) if claim.began else None,
        likely=None if begin is None else history.name_of(begin),
        until=None if end is None else history.name_of(end),
        evidence=bets.overpaid.evidence[0],
        alarm=alarm,
        note=note,
        saved=None if bets.saved is None or not bets.n else _estimate(bets.saved.claim()),
        drift=_drift(bets),
        waiting=len(queue.unlabelled),
        held=_held(bets, queue),
        late=queue.late,
        late_share=queue.late / max(queue.late + (history.points[-1].cases if bets.n else 0), 1),
        needed_wait=queue.needed_wait() if queue.late else None,
        at_best=bets.overpaid.increments_until_alarm(bets.promised / bets.n)
        if bets.dependent and bets.n
        else None,
        unknown=tuple(replace(known) for known in unknown),
        all_tests=all_tests,
        miss=miss,
        acknowledged=tuple(replace(alarm, history=None) for alarm in acknowledged),
    )


def _costs_by_class(bets: Bets, labels: Sequence[object], since: int) -> tuple[ClassCost, ...]:
    """What each class cost and was promised from an increment on; first those that cost most beyond it."""
    costs = [
        ClassCost(str(label), paid, promised)
        for label, (paid, promised) in zip(labels, bets.costs_by_class(since).tolist(), strict=False)
    ]
    return tuple(sorted(costs, key=lambda cost: -cost.beyond))


def _alarms(bets: Bets, side: int, two_sided: bool) -> tuple[Alarm | None, Alarm | None]:
    """The alarm and the note, of either side on which there ever was evidence; those that stand first."""
    alarms = []
    for above in (True, False):
        noticed = bets.noticed_in(above)
        if noticed is not None:
            alarms.append(Alarm(noticed, above, stands=side == (1 if above else -1)))
    alarms.sort(key=lambda alarm: not alarm.stands)
    raised = next((alarm for alarm in alarms if alarm.above or two_sided), None)
    note = next((alarm for alarm in alarms if alarm is not raised), None)
    return raised, note


def _drift(bets: Bets) -> Alarm | None:
    """That promises are higher or lower than they used to be, on the side that was noticed first."""
    if bets.book.drift is None:
        return None
    higher, lower = bets.drift.noticed.tolist()
    return Alarm(bets.book.drift, above=lower < 0 or 0 <= higher < lower)


def _held(bets: Bets, queue: Queue) -> int:
    """How many cases with labels are not counted, not even for now."""
    if not bets.dependent and queue.open_period() is not None:
        return 0
    return len(queue.cases) - len(queue.unlabelled)


def _estimate(claim: Claim) -> Estimate:
    """A mean with the interval that is claimed for it now."""
    return Estimate(claim.value, claim.low, claim.high)


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
    return f"{head} {money(last.paid, unit)} per case (promised {money(last.promised, unit)}).{missing}"


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

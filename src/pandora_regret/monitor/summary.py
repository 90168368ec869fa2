"""Where a monitor stands, as numbers with names; `words.py` puts them into sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pandora_regret.core.inputs import FloatArray
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.sequential import Claim
from pandora_regret.monitor.alarms import Acknowledgement, UnknownClass
from pandora_regret.monitor.queue import Queue, later, natural_key
from pandora_regret.monitor.streams import Bets


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

"""Forecasters over time: what they cost against what they promise, with guarantees at every moment."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Self

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.inputs import (
    FloatArray,
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    Table,
    read_probabilities,
)
from pandora_regret.inputs.errors import renamed
from pandora_regret.inputs.labels import is_missing, read_truth
from pandora_regret.inputs.numbers import read_array, read_count, read_number
from pandora_regret.monitor.possible_costs import bounds, possible_costs
from pandora_regret.monitor.queue import Cases, Queue, as_columns, natural_key
from pandora_regret.monitor.streams import Paid
from pandora_regret.monitor.summary import MonitorSummary, Newest, summarise
from pandora_regret.priors import Prior
from pandora_regret.priors.names import PRIORS, read_prices, spelled_prior
from pandora_regret.records import from_plain, to_plain
from pandora_regret.workup import Workup

SCHEMA = "pandora-monitor/2"
LABELS = 256  # labels of counted cases are told apart up to so many classes
SEEN = np.dtype([("key", "<u8"), ("label", "u1")])


@dataclass(frozen=True)
class Taken:
    """What became of the rows of one update."""

    counted: int = 0  # cases whose labels are known, and were not before; late ones too, though left out
    waiting: int = 0  # new forecasts without labels
    skipped: int = 0  # cases that were seen before
    unknown: int = 0  # labels of ids without a forecast
    differing: int = 0  # skipped cases whose label is not the one that was counted

    def __add__(self, other: Taken) -> Taken:
        return Taken(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@renamed("typical_costs", "costs")
class Monitor:
    """Watch what a model's forecasts cost, in money, with guarantees that survive looking every day.

    Parameters
    ----------
    prior, costs
        What tests cost, as in `expected_search_cost`; the same for all cases.
    level
        The probability with which a false alarm may ever come. Each end of an interval is ever wrong with that
        probability at most, by itself.
    two_sided
        Whether costing less than promised is an alarm, too, and not only a note; both then share the level.
    wait
        For how many later periods (or cases, where there are no times) a label is waited for, while the labelled
        cases behind it wait, too; until the third update after its forecast unless given.
    dependent
        Whether cases of one time depend on each other beyond their forecasts: then their mean is one bet.
    labels
        The columns' labels, in column order.
    workup
        What can be done, and what it costs, instead of a search at `costs`.

    docs/theory/monitoring.md states what is guaranteed, and under which assumptions.

    See Also
    --------
    write_monitor_page : Its history as a page.

    References
    ----------
    Ville (1939), on the inequality behind every alarm [ville39]_.
    Waudby-Smith and Ramdas (2024), on betting on bounded means [waudbysmith24]_.
    Shin et al. (2024), on change [shin24]_.

    Examples
    --------
    >>> monitor = Monitor(costs=[20.0, 35.0, 5.0])
    >>> monitor.update([0, 2], [[0.5, 0.2, 0.3], [0.1, 0.2, 0.7]], time="week 1")
    Taken(counted=2, waiting=0, skipped=0, unknown=0, differing=0)
    >>> summary = monitor.summary()
    >>> summary.last.name, summary.last.cases, summary.alarm
    ('week 1', 2, None)
    """

    def __init__(
        self,
        *,
        prior: Prior | None = None,
        costs: Any = None,
        level: float = 0.05,
        two_sided: bool = False,
        wait: int | None = None,
        dependent: bool = False,
        labels: Any = None,
        workup: Workup | None = None,
    ) -> None:
        number = read_number(level, "level")
        if not 0 < number <= 0.5:
            fix = "it is the probability of a false alarm, such as 0.05, at most 0.5"
            raise InputError(argument="level", value=number, fix=fix)
        self.level, self.two_sided, self.dependent = number, bool(two_sided), bool(dependent)
        self.wait = None if wait is None else int(read_count(wait, "wait"))
        self._asked, self.workup = (prior, costs), workup
        self.labels: Sequence[Any] | None = labels if labels is None else list(labels)
        self.seen: dict[int, int] = {}  # labelled cases: the label of each id's key
        self.queue = Queue()
        self.newest = Newest()
        self.timed: bool | None = None  # whether cases have times; None before the first
        self.paid: Paid | None = None
        self._together = False

    def update(
        self,
        y_true: Labels,
        y_proba: Table,
        *,
        challenger: Table | None = None,
        ids: Any = None,
        time: Any = None,
        logits: bool = False,
    ) -> Taken:
        """Take in forecasts, and the labels of those whose truth is known.

        Parameters
        ----------
        y_true
            True classes, (N,), None where one is not known yet; or None where none is.
        y_proba, challenger
            Forecasts, (N, K), and those of a challenger for the same cases: always, or never.
        ids
            What the cases are called, (N,). Those seen before are skipped, and labels that come later find their
            forecasts by them; without ids, every row is a new case and needs its label.
        time
            When forecasts were made, such as a week: a name for all rows, or one per row. Rows are taken in the
            natural order of these names; without them, in the order in which they come.
        """
        labels = None if isinstance(self.labels, range) else self.labels
        forecast = read_probabilities(y_proba, labels=labels, logits=logits)
        self._check_kind(forecast, challenger is not None, time is not None)
        n, tables = len(forecast), [forecast]
        keys, times = None if ids is None else _keys(ids, n), _read_times(time, n)
        truth = _read_known(y_true, forecast.labels, n)
        if keys is None and (truth < 0).any():
            problem = "has cases without a label, which could never find it"
            raise InputError(problem, argument="y_true", fix="pass ids")
        if challenger is not None:
            other = read_probabilities(challenger, labels=forecast.labels, logits=logits, name="challenger")
            if len(other) != n:
                problem = f"has {len(other)} rows for {n} cases"
                raise InputError(problem, argument="challenger", value=len(other), fix="pass one row per case")
            tables.append(other)
        order = self._order(keys, times, n)
        prior, costs = (
            (self.prior, self.costs) if self.paid is not None else read_prices(*self._asked, forecast.labels)
        )
        whole = keys is None and times is None  # and in order: the usual case must be fast
        rows = ((table if whole else table.rows(order)).with_costs(costs) for table in tables)
        possible = np.hstack([possible_costs(each, prior, self.workup) for each in rows])
        if self.paid is None:
            self._prepare(forecast.labels, prior, costs, challenger is not None)
        differing = self._differing(keys, truth)
        new_keys, new_times = (None if of is None else [of[row] for row in order] for of in (keys, times))
        cases, self.timed = Cases(possible, truth[order], new_keys, new_times), times is not None
        old = sorted(set(range(n)) - set(order.tolist())) if keys is not None and len(order) < n else []
        with self.together():  # nothing can go wrong any more
            waited = self._resolve([(keys[row], int(truth[row])) for row in old]) if keys else 0
            if len(order):
                self._take(cases)
        n_waiting = int((cases.truth < 0).sum())
        return Taken(len(order) - n_waiting + waited, n_waiting, len(old) - waited, differing=differing)

    def label(self, ids: Any, y_true: Labels) -> Taken:
        """Labels of forecasts that waited for them."""
        if self.paid is None or self.labels is None:
            raise InputError("there are no forecasts yet that could wait for labels: update first.")
        keys = _keys(ids)
        truth = read_truth(y_true, self.labels, len(keys)) if keys else np.empty(0, np.intp)
        skipped, differing = sum(key in self.seen for key in keys), self._differing(keys, truth)
        with self.together():
            counted = self._resolve(list(zip(keys, truth.tolist(), strict=True)))
        unknown = len(keys) - counted - skipped
        return Taken(counted, skipped=skipped, unknown=unknown, differing=differing)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Forecasts and labels that come in within count at its end: no label is late before all are in."""
        if self._together:
            yield
            return
        self._together = True
        self.newest.fresh = True
        try:
            yield
        finally:
            self._together = False
            self._bet()

    def close(self) -> None:
        """Count the newest period as complete; otherwise it is when a later one begins. For dependent cases."""
        self.queue.closed = self.queue.newest
        self._bet()

    def summary(self) -> MonitorSummary:
        """Where the monitor stands: costs, intervals, alarms."""
        return summarise(self._begun(), self.queue, self.newest, two_sided=self.two_sided)

    def state(self) -> dict[str, Any]:
        """All of it as plain data, for JSON; `from_state` makes the same monitor of it."""
        costs = None if self.costs is None else self.costs.tolist()
        return {
            "schema": SCHEMA,
            "library": f"pandora-regret {__version__}",
            "classes": [int(c) if isinstance(c, (int, np.integer)) else str(c) for c in self.labels or ()],
            "prior": spelled_prior(self.prior),
            "typical_costs": costs and (self.costs * self.prior.mean).tolist(),  # for people
            "base_costs": costs,
            "workup": None if self.workup is None else self.workup.document,
            **{name: getattr(self, name) for name in SETTINGS},
            "paid": self._begun().state(),
            "queue": to_plain(self.queue),
            "newest": to_plain(self.newest),
            "seen": b64encode(np.array(sorted(self.seen.items()), dtype=SEEN).tobytes()).decode(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, prior: Prior | None = None) -> Self:
        """The monitor that a state was taken of; a prior that has no short name must be given again."""
        given: Any = state
        schema = given.get("schema") if isinstance(given, Mapping) else None
        if schema == "pandora-monitor/1":
            problem = "was written by an earlier version, which bet on periods and left out labels that came late"
            raise InputError(problem, argument="state", fix="begin a new state with the forecasts that you have")
        if schema != SCHEMA:
            problem = f"has the schema {schema!r}, not {SCHEMA!r}"
            raise InputError(problem, argument="state", fix="pass what Monitor.state() returned")
        stored = from_plain(Stored, state, "state")
        prior = _read_prior_name(stored.prior) if prior is None else prior
        if spelled_prior(prior) != stored.prior:
            problem = f"is {prior!r}, but the state was made with {stored.prior}"
            raise InputError(problem, argument="prior", value=prior, fix="begin a new state")
        asked = {name: getattr(stored, name) for name in ("level", "two_sided", "wait", "dependent")}
        workup = None if stored.workup is None else Workup(**stored.workup)
        monitor, n_classes = cls(prior=prior, workup=workup, **asked), len(stored.classes)
        if stored.base_costs is not None and len(stored.base_costs) != n_classes:
            raise InputError("does not fit the rest", place="state.base_costs", fix="the state is damaged")
        base = None if stored.base_costs is None else np.array(stored.base_costs)
        numbered = stored.classes == tuple(range(n_classes))
        monitor._prepare(range(n_classes) if numbered else list(stored.classes), prior, base, stored.compares)
        monitor.timed, monitor.newest = stored.timed, stored.newest
        monitor._begun().restore(stored.paid, "state.paid")
        monitor.queue = stored.queue
        monitor.queue.check((n_classes + 1) * (1 + stored.compares), n_classes, stored.dependent)
        try:
            rows = np.frombuffer(b64decode(stored.seen, validate=True), SEEN)
        except (ValueError, Error):
            raise InputError("is no list of ids", place="state.seen", fix="the state is damaged") from None
        monitor.seen = dict(zip(rows["key"].tolist(), rows["label"].tolist(), strict=True))
        return monitor

    def _begun(self) -> Paid:
        if self.paid is None:
            raise InputError("the monitor has seen no forecasts: update it first.")
        return self.paid

    def _check_kind(self, forecast: Forecast, compares: bool, timed: bool) -> None:
        """That forecasts have the classes, and a challenger and times if earlier ones had."""
        now, before = (list(map(str, labels)) for labels in (forecast.labels, self.labels or forecast.labels))
        if now != before:
            problem = f"has the classes {', '.join(now)}, and earlier forecasts had {', '.join(before)}"
            raise InputError(problem, argument=forecast.name, fix="pass the same classes always")
        if self.dependent and not timed:
            fix = "pass the period of each row: cases of one period are one bet"
            raise InputError("is not given", argument="time", fix=fix)
        for name, had, has in (("time", self.timed, timed), ("challenger", self.compares, compares)):
            if self.paid is not None and had != has:
                problem = "is given now and was not before" if has else "was given before and is not now"
                raise InputError(problem, argument=name, fix="give it always or never")

    compares = False  # whether there is a challenger

    def _prepare(self, labels: Sequence[Any], prior: Prior, costs: Any, compares: bool) -> None:
        """With the first forecasts, classes and prices are known, and the streams begin."""
        self.labels, self.prior, self.costs, self.compares = labels, prior, costs, compares
        ends = bounds(np.ones(len(labels)) if costs is None else costs, prior, self.workup)
        self.paid = Paid(self.level / (1 + self.two_sided), self.level / 2, compares, self.dependent, ends)

    def _order(self, keys: list[int] | None, times: list[str] | None, n: int) -> IntArray:
        """Rows that are new, in the order of their times; within one, in an order that their rows do not tell."""
        rows = list(range(n))
        if keys is not None:
            rows = [row for row in rows if not (keys[row] in self.seen or self.queue.expects(keys[row]))]
        if times is not None:
            ranks = {time: rank for rank, time in enumerate(sorted(set(times), key=natural_key))}
            rows.sort(key=lambda row: (ranks[times[row]], 0 if keys is None else keys[row]))
        return np.array(rows, np.intp)

    def _differing(self, keys: list[int] | None, truth: IntArray) -> int:
        """How many labelled cases come with another label now."""
        pairs = zip(keys, truth.tolist(), strict=True) if keys else ()
        return sum(label >= 0 and self.seen.get(key, label % LABELS) != label % LABELS for key, label in pairs)

    def _take(self, cases: Cases) -> None:
        """New forecasts, in order: all are promises; those with labels need not wait, where none waits before."""
        labelled = np.flatnonzero(cases.truth >= 0)
        self._note(cases if len(labelled) == len(cases.truth) else cases.take(labelled))
        if not self.dependent:
            self._begun().promise(self._promises(cases), cases.times)
            if not self.queue.cases and cases.truth[0] >= 0:
                cases = self._bet_on_first(cases)
        self.queue.add(cases, self.dependent)

    def _bet_on_first(self, cases: Cases) -> Cases:
        """Bet on cases until the first without a label; the others."""
        waits, n = np.flatnonzero(cases.truth < 0), len(cases.truth)
        end = int(waits[0]) if len(waits) else n
        first = cases if end == n else cases.take(np.arange(end))
        self.queue.pass_by(first)
        self._begun().add(first)
        return cases.take(np.arange(end, n))

    def _resolve(self, labelled: Sequence[tuple[int, int]]) -> int:
        """Labels of forecasts that waited, and of some that were given up; how many there were."""
        awaited = [(key, truth) for key, truth in labelled if truth >= 0 and self.queue.expects(key)]
        self.seen.update((key, truth % LABELS) for key, truth in awaited)
        if cases := [case for key, truth in awaited if (case := self.queue.label(key, truth)) is not None]:
            self._note(as_columns(cases))
        return len(awaited)

    def _note(self, cases: Cases) -> None:
        """Cases whose labels have come."""
        if cases.keys is not None:
            self.seen.update(zip(cases.keys, (cases.truth % LABELS).tolist(), strict=True))
        paid = cases.possible[np.arange(len(cases.truth)), cases.truth]
        self.newest.add(cases.times, paid, self._promises(cases))

    def _promises(self, cases: Cases) -> FloatArray:
        return cases.models(1 + self.compares)[0][:, -1]

    def _bet(self) -> None:
        """Bet on the cases whose turn has come."""
        for period in self.queue.complete() if self.dependent else ():
            self._begun().promise(self._promises(period), period.times)
        for part in self.queue.ready(self.wait, self.dependent):
            self._begun().add(part)


def _keys(ids: Any, n: int | None = None) -> list[int]:
    """64 bits of each id, none of them twice; among a million ids, two share them with probability 3e-8."""
    listed, first = list(ids), dict[int, int]()
    if n is not None and len(listed) != n:
        raise InputError(f"has {len(listed)} entries for {n} rows", argument="ids", fix="pass one per row")
    for row, each in enumerate(listed):
        key = int.from_bytes(blake2b(str(each).encode("utf-8", "replace"), digest_size=8).digest())
        if first.setdefault(key, row) != row:
            fix = "each case needs its own id; drop the second row"
            problem = f"is {str(each)!r}, as is row {first[key]}"
            raise InputError(problem, argument="ids", row=row, value=each, fix=fix)
    return list(first)


SETTINGS = ("level", "two_sided", "wait", "dependent", "timed", "compares")


@dataclass(frozen=True)
class Stored:
    """What is read of a state."""

    classes: tuple[str | int, ...]
    prior: str
    base_costs: tuple[float, ...] | None
    level: float
    two_sided: bool
    wait: int | None
    dependent: bool
    timed: bool
    compares: bool
    paid: dict[str, Any]
    queue: Queue
    newest: Newest
    seen: str
    workup: dict[str, Any] | None = None


def _read_prior_name(name: str) -> Prior:
    """The prior of that name."""
    kind, _, number = name.partition(":")
    try:
        return PRIORS[kind].make(*([float(number)] if number else []))
    except (KeyError, TypeError, ValueError):
        fix = "pass the prior that the monitor was begun with"
        raise InputError(f"{name} cannot be made from its name", argument="prior", place="", fix=fix) from None


def _read_known(y_true: Labels, labels: Sequence[Any], n: int) -> IntArray:
    """The column of each true class, -1 where it is not known."""
    truth = np.full(n, -1, dtype=np.intp)
    if y_true is None:
        return truth
    given = read_array(y_true, "y_true")
    if given.dtype.kind in "biu" or given.shape != (n,):
        return read_truth(y_true, labels, n)
    there = np.flatnonzero([not is_missing(label) for label in np.asarray(y_true, dtype=object)])
    labelled = np.asarray(y_true, dtype=object)[there]
    if given.dtype.kind == "f" and not (given[there] % 1).any():  # NaN made floats of whole numbers
        labelled = given[there].astype(int)
    if len(there):
        truth[there] = read_truth(labelled, labels, len(there))
    return truth


def _read_times(time: Any, n: int) -> list[str] | None:
    """The time of each of n rows, from one name or one per row."""
    if time is None:
        return None
    if isinstance(time, (str, bytes)) or np.ndim(time) == 0:
        time = [time] * n
    names = [str(each) for each in time]
    for each, name in zip(time, names, strict=True):
        if each is None or each != each or not name:
            problem, fix = f"is {each!r}, which is no name", "name every row's time"
            raise InputTypeError(problem, argument="time", fix=fix)
    if len(names) != n:
        fix = "pass one time for all rows, or one per row"
        raise InputError(f"has {len(names)} entries for {n} rows", argument="time", value=len(names), fix=fix)
    return names

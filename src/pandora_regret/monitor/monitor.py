"""Forecasters over time: what they cost against what they promise, with guarantees at every moment."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple, Self

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.core.inputs import (
    ByClass,
    Fields,
    FloatArray,
    Forecast,
    InputError,
    IntArray,
    Labels,
    Table,
    read_costs,
    read_count,
    read_number,
    read_probabilities,
)
from pandora_regret.core.inputs.names import matched
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import read_prices, spelled_prior
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.monitor.alarms import Acknowledgement, UnknownClass
from pandora_regret.monitor.queue import OUTSIDE, Cases, Queue, as_columns, later, natural_key
from pandora_regret.monitor.rows import OWN_ID, check_length, read_keys, read_known_labels, read_times
from pandora_regret.monitor.state import SCHEMA, open_state, read_prior_name, read_seen, seal_state, write_seen
from pandora_regret.monitor.streams import MOST_CLASSES, Bets, History, costs_and_promises, possible_costs
from pandora_regret.monitor.summary import MonitorSummary, Period, summarise_monitor
from pandora_regret.workup import Workup

LABELS_TOLD_APART = 255  # labels of counted cases are told apart up to so many classes
UNKNOWN_LABEL = 255  # of cases whose class no column has
USUAL_LEVEL = 0.05  # probability of a false alarm, ever
UPDATES_AT_ONCE = 256  # of cases without ids or times, which are worked off together, or when somebody looks


class UpdateCounts(NamedTuple):
    """What became of the rows of one update."""

    counted: int = 0  # cases whose labels are known, and were not before; late ones too, though left out
    waiting: int = 0  # new forecasts without labels
    skipped: int = 0  # cases that were seen before
    unknown: int = 0  # labels of ids without a forecast
    differing: int = 0  # skipped cases whose label is not the one that was counted


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
        cases behind it wait, too; unless given, until the third later update (with times, of those that bring a
        later period).
    dependent
        Whether cases of one time depend on each other beyond their forecasts: then their mean is one bet.
    labels
        The columns' labels, in column order.
    workup
        What can be done, and what it costs, instead of a search at `costs`.
    miss
        What a case costs whose class no column has, beyond all tests, which are made in vain.

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
    UpdateCounts(counted=2, waiting=0, skipped=0, unknown=0, differing=0)
    >>> summary = monitor.summary()
    >>> summary.last.name, summary.last.cases, summary.alarm
    ('week 1', 2, None)
    """

    def __init__(
        self,
        *,
        prior: Prior | None = None,
        costs: ByClass | None = None,
        level: float = USUAL_LEVEL,
        two_sided: bool = False,
        wait: int | None = None,
        dependent: bool = False,
        labels: Iterable[object] | None = None,
        workup: Workup | None = None,
        miss: float = 0.0,
    ) -> None:
        fix = "it is the probability of a false alarm, such as 0.05, at most 0.5"
        self.level = read_number(level, "level", lambda number: 0 < number <= 0.5, fix)
        self.two_sided = bool(two_sided)
        self.dependent = bool(dependent)
        self.wait = None if wait is None else read_count(wait, "wait")
        self.workup = workup
        self.miss = _read_miss(miss)
        self.costs: FloatArray | None = None  # base costs, once prices are read
        self.labels: Sequence[object] = [] if labels is None else list(labels)  # empty: not known yet
        self.compares = False  # whether there is a challenger
        self._given_prices = (prior, costs)  # which are read when the classes are known
        self.seen: dict[int, int] = {}  # labelled cases: the label of each id's key
        self.queue = Queue()
        self.newest = Period()
        self.unknown: dict[str, UnknownClass] = {}  # by name, in the order in which they came
        self.acknowledged: list[Acknowledgement] = []
        self._bets: Bets | None = None
        self._put_off: list[Forecast] = []
        self._is_in_run = False

    def update(
        self,
        y_true: Labels,
        y_proba: Table,
        *,
        challenger: Table | None = None,
        ids: Iterable[object] | None = None,
        time: object = None,
        logits: bool = False,
    ) -> UpdateCounts:
        """Take in forecasts, and the labels of those whose truth is known.

        Parameters
        ----------
        y_true
            True classes, (N,), None where one is not known yet; or None where none is. A name that no column has
            is a class that the model does not know: it is counted apart, and two such cases are an alarm.
        y_proba, challenger
            Forecasts, (N, K), and those of a challenger for the same cases: always, or never.
        ids
            What the cases are called, (N,). Those seen before are skipped, and labels that come later find their
            forecasts by them; without ids, every row is a new case and needs its label.
        time
            When forecasts were made, such as a week: a name for all rows, or one per row. Periods are taken in the
            natural order of these names, and each as a whole: for good when a later one begins or `close` is
            called, and as far as it has come until then. Without times, rows are taken in the order in which they
            come.
        """
        labels = None if isinstance(self.labels, range) else self.labels or None
        forecast = read_probabilities(y_proba, labels=labels, logits=logits).check()
        rival = None
        if challenger is not None:
            rival = read_probabilities(
                challenger, labels=forecast.labels, logits=logits, name="challenger"
            ).check()
        truth, new_names = read_known_labels(y_true, forecast.labels, len(forecast))
        forecast = replace(forecast, truth=truth)
        return self.take_forecasts(forecast, rival, ids=ids, time=time, outside=new_names)

    def take_forecasts(
        self,
        forecast: Forecast,
        challenger: Forecast | None = None,
        *,
        ids: Iterable[object] | None = None,
        time: object = None,
        outside: Sequence[str] = (),
    ) -> UpdateCounts:
        """Take in forecasts that were read and checked; their truths are column numbers, -1 where not known.

        Parameters
        ----------
        forecast, challenger
            Of the same cases.
        ids, time
            As in `update`.
        outside
            Classes that no column has: a truth of ``OUTSIDE + i`` is the i-th of them.
        """
        n = len(forecast)
        self._check_kind(forecast.labels, challenger is not None, time is not None)
        tables = [forecast] if challenger is None else [forecast, challenger]
        keys = None if ids is None else read_keys(ids)
        times = read_times(time, n)
        check_length("ids", keys, n)
        check_length("time", times, n)
        check_length("challenger", tables[-1], n)
        if ids is not None and keys is not None and times is not None:
            self._check_ids(ids, keys, times)
        truth = self._numbered(forecast.truth, outside)
        if keys is None and (truth < 0).any():
            problem = "has cases without a label, which could never find it"
            raise InputError(problem, argument="y_true", fix="pass ids")
        self._begin(forecast, challenger is not None)
        is_plain = keys is None and times is None and not (truth >= OUTSIDE).any()
        if is_plain and not (self.compares or self._is_in_run or self.queue.cases):
            self._put_off.append(replace(forecast, values=forecast.values.copy(), truth=truth.copy()))
            if len(self._put_off) == UPDATES_AT_ONCE or n >= UPDATES_AT_ONCE:
                self._work_off()
            return UpdateCounts(n)
        return self._take_in(self._cases(tables, truth, keys, times))

    def _take_in(self, cases: Cases) -> UpdateCounts:
        """Count new forecasts and labels: those that are new, and labels of those that waited for them."""
        with self.one_run():
            new = cases.take(self._new_rows(cases))
            labelled, differing = self._resolve(cases.keys or [], cases.truth)
            if len(new.truth):
                self._note_forecasts(new)
                self.queue.add(new, self.dependent)
        waiting = int((new.truth < 0).sum())
        counted = len(new.truth) - waiting + labelled
        skipped = len(cases.truth) - len(new.truth) - labelled
        return UpdateCounts(counted, waiting, skipped, differing=differing)

    def label(self, ids: Iterable[object], y_true: Labels) -> UpdateCounts:
        """Take in labels, (N,), of forecasts that waited for them, by their ids, (N,)."""
        self._check_begun()
        keys = read_keys(ids)
        if not keys:
            return UpdateCounts()
        truth, new_names = read_known_labels(y_true, self.labels, len(keys))
        return self._take_labels(keys, self._numbered(truth, new_names))

    def take_labels(self, ids: Iterable[object], truth: IntArray, outside: Sequence[str] = ()) -> UpdateCounts:
        """Take in labels, (N,), as column numbers, of forecasts that waited for them, by their ids, (N,).

        ``OUTSIDE + i`` is the i-th of the classes `outside`, which no column has.
        """
        self._check_begun()
        return self._take_labels(read_keys(ids), self._numbered(truth, outside))

    def _numbered(self, truth: IntArray, outside: Sequence[str]) -> IntArray:
        """Truths of which those outside all columns have the numbers that this monitor gives to their names."""
        if len(outside) == 0:
            return truth
        for name in outside:
            if name not in matched([name], self.unknown):
                self.unknown[name] = UnknownClass(name)
        names = list(self.unknown)
        meant = matched(outside, names)
        numbers = np.array([OUTSIDE + names.index(meant[name]) for name in outside])
        numbered = truth.copy()
        is_outside = truth >= OUTSIDE
        numbered[is_outside] = numbers[truth[is_outside] - OUTSIDE]
        return numbered

    def _take_labels(self, keys: list[int], truth: IntArray) -> UpdateCounts:
        """Give labels to the cases of these keys; those outside all columns have the numbers of `_numbered`."""
        skipped = sum(key in self.seen for key in keys)
        with self.one_run():
            labelled, differing = self._resolve(keys, truth)
        unknown = len(keys) - labelled - skipped
        return UpdateCounts(labelled, 0, skipped, unknown, differing)

    @contextmanager
    def one_run(self) -> Iterator[None]:
        """Forecasts and labels that come in within count at its end: no label is late before all are in."""
        self._work_off()
        if self._is_in_run:
            yield
            return
        self._is_in_run = True
        self.newest.fresh = True
        self.queue.begin_run()
        try:
            yield
        finally:
            self._is_in_run = False
            self._bet()

    def close(self) -> None:
        """Count the newest period as complete, for good; otherwise it is when a later one begins."""
        self.queue.closed = self.queue.newest
        self._bet()

    def summary(self) -> MonitorSummary:
        """Where the monitor stands: costs, intervals, alarms."""
        self._check_begun()
        bets = self.bets
        assert bets is not None
        unknown = list(self.unknown.values())
        return summarise_monitor(
            bets,
            self.queue,
            self.newest,
            unknown,
            self.acknowledged,
            all_tests=self._all_tests(),
            miss=self.miss,
            labels=self.labels,
            two_sided=self.two_sided,
        )

    def acknowledge(self, note: str) -> None:
        """Say what became of an alarm: it ends, stays in the history, and evidence is gathered anew from now on.

        Cases that came before, and those of their periods, are no evidence any more, also if their labels are
        still to come. More cases of a class that the model does not know are no alarm. The probability of a false
        alarm is at most `level` again, counted from now on.

        Parameters
        ----------
        note
            What was wrong, and what was done.
        """
        summary = self.summary()
        alarming = [known for known in self.unknown.values() if known.alarms]
        if summary.alarm is None and not alarming:
            raise InputError("has nothing to end: there is no alarm", argument="note", value=note)
        if not note.strip():
            raise InputError("is empty", argument="note", value=note, fix="say what was wrong, and what was done")
        at = self.queue.newest or f"case {self.queue.count:,}"
        noticed = None
        history = None
        if summary.alarm is not None:
            noticed = summary.alarm.noticed
            history = self._begin_evidence_anew()
            self.queue.leave_behind()
        above = summary.alarm is None or summary.alarm.above
        names = [known.name for known in alarming]
        for known in alarming:
            known.is_acknowledged = True
        self.acknowledged.append(Acknowledgement(note.strip(), noticed, above, names, at, history))

    def _begin_evidence_anew(self) -> History:
        """Forget what was paid beyond promises; what was forgotten. Challenger and drift go on."""
        before = self._streams
        points = before.book.history.points
        if points:
            points[-1].after = before.marks()
        anew = Bets(before.overpaid.level, before.drift.level, self.compares, self.dependent, before.ranks.scale)
        anew.saved = before.saved
        anew.drift = before.drift
        anew.ranks = before.ranks
        anew.book.drift = before.book.drift
        self._bets = anew
        return before.book.history

    def add_classes(self, labels: Sequence[str], costs: Sequence[float] | FloatArray | None = None) -> None:
        """Watch a model that has more classes from now on; forecasts have their columns after the earlier ones.

        Parameters
        ----------
        labels
            The classes that are new.
        costs
            What their tests cost; unless given, as much as every other where these all cost the same.
        """
        self._check_begun()
        if self.workup is not None:
            raise InputError("cannot grow in a work-up", argument="labels", fix="begin a new state")
        if isinstance(self.labels, range):
            raise InputError("cannot grow where columns have no names", argument="labels", fix="begin a new state")
        twice = {str(label) for label in self.labels} & {*labels}
        if twice or len({*labels}) < len(labels):
            problem = f"has {', '.join(sorted(twice or {*labels}))}, of which there is one already"
            raise InputError(problem, argument="labels", fix="name only classes that are new")
        check_length("costs", costs, len(labels))
        if (costs is None) != (self.costs is None):
            problem = "is given, but the other classes have no prices"
            if costs is None:
                problem = "is not given, but the other classes have prices"
            raise InputError(problem, argument="costs", fix="give every class a price, or none")
        if costs is not None and self.costs is not None:
            base_costs = np.divide(read_costs(costs, labels), self.prior.mean)
            self.costs = np.concatenate([self.costs, base_costs])
        self.labels = [*self.labels, *labels]
        n_classes = len(self.labels)
        costs_of_new = [self._whole_search()] * len(labels)
        self.queue.add_classes(1 + self.compares, costs_of_new, keeps_promises=n_classes <= MOST_CLASSES)
        self._streams.add_classes(len(labels), n_classes)
        for name in matched(labels, self.unknown).values():
            self.unknown[name].is_known = True

    def charge_misses(self, miss: float) -> None:
        """Charge another price of a miss: for cases to come, and for those of the newest period.

        Nothing that was bet on changes: cases of a class that no column has are no bets.

        Parameters
        ----------
        miss
            As in `Monitor`: what such a case costs beyond all tests, which are made in vain.
        """
        price = _read_miss(miss)
        if self.newest.cases:
            unknown = sum(self.newest.unknown.values())
            self.newest.paid += (price - self.miss) * unknown / self.newest.cases
        self.miss = price

    def _whole_search(self) -> float:
        """What a case costs whose class no column has: all tests in vain, and the price of a miss."""
        return self._all_tests() + self.miss

    def _all_tests(self) -> float:
        """What all tests cost together."""
        if self.workup is not None:
            return float(self.workup.costs.sum())
        costs = 1.0 if self.costs is None else self.costs
        return float((np.ones(len(self.labels)) * self.prior.mean * costs).sum())

    def state(self) -> Fields:
        """The monitor as plain data, for JSON; `from_state` makes it again of that."""
        self._check_begun()
        classes = [int(label) if isinstance(label, (int, np.integer)) else str(label) for label in self.labels]
        state = {
            "schema": SCHEMA,
            "library": f"pandora-regret {__version__}",
            "classes": classes,
            "prior": spelled_prior(self.prior),
            "base_costs": None if self.costs is None else self.costs.tolist(),
            "workup": None if self.workup is None else self.workup.document,
            "level": self.level,
            "two_sided": self.two_sided,
            "wait": self.wait,
            "miss": self.miss,
            "dependent": self.dependent,
            "compares": self.compares,
            "paid": self._streams.state(),
            "queue": to_plain(self.queue),
            "newest": to_plain(self.newest),
            "seen": write_seen(self.seen),
            "unknown": [to_plain(known) for known in self.unknown.values()],
            "acknowledged": [to_plain(alarm) for alarm in self.acknowledged],
        }
        return seal_state(state)

    @classmethod
    def from_state(cls, state: object, *, prior: Prior | None = None) -> Self:
        """The monitor that a state was taken of; a prior that has no short name must be given again."""
        stored = open_state(state)
        if prior is None:
            prior = read_prior_name(stored["prior"])
        if spelled_prior(prior) != stored["prior"]:
            problem = f"is {prior!r}, but the state was made with {stored['prior']}"
            raise InputError(problem, argument="prior", value=prior, fix="begin a new state")
        monitor = cls(
            prior=prior,
            level=stored["level"],
            two_sided=stored["two_sided"],
            wait=stored["wait"],
            miss=stored["miss"],
            dependent=stored["dependent"],
            workup=None if stored["workup"] is None else Workup(**stored["workup"]),
        )
        classes = stored["classes"]
        labels = range(len(classes)) if classes == list(range(len(classes))) else classes
        costs = None if stored["base_costs"] is None else np.array(stored["base_costs"])
        monitor._prepare(labels, prior, costs, stored["compares"])
        monitor._streams.restore(stored["paid"])
        monitor.newest = from_plain(Period, stored["newest"], "state.newest")
        monitor.queue = from_plain(Queue, stored["queue"], "state.queue")
        monitor.seen = read_seen(stored["seen"])
        for number, known in enumerate(stored["unknown"]):
            restored = from_plain(UnknownClass, known, f"state.unknown[{number}]")
            monitor.unknown[restored.name] = restored
        monitor.acknowledged = [
            from_plain(Acknowledgement, alarm, f"state.acknowledged[{number}]")
            for number, alarm in enumerate(stored["acknowledged"])
        ]
        return monitor

    @property
    def bets(self) -> Bets | None:
        """What was paid beyond promises, with all that came in; None before any forecast.

        The newest period counts as far as it has come, if its labels are there; but not if its cases depend on
        each other.
        """
        self._work_off()
        open_period = None if self.dependent else self.queue.open_period()
        if self._bets is None or open_period is None:
            return self._bets
        bets = self._bets.copy()
        bets.add(open_period)
        return bets

    @property
    def _streams(self) -> Bets:
        """What was bet on for good: all but the newest period, while that may go on."""
        assert self._bets is not None
        return self._bets

    def _check_begun(self) -> None:
        """That there were forecasts, with all that was put off worked off."""
        self._work_off()
        if self._bets is None:
            raise InputError("the monitor has seen no forecasts: update it first.")

    def _check_kind(self, labels: Sequence[object], compares: bool, timed: bool) -> None:
        """That forecasts have the classes, and a challenger and times if earlier ones had."""
        names = [str(label) for label in labels]
        names_before = [str(label) for label in self.labels] or names
        if names != names_before:
            problem = f"has the classes {', '.join(names)}, and earlier forecasts had {', '.join(names_before)}"
            raise InputError(problem, argument="y_proba", fix="pass the same classes always")
        if self.dependent and not timed:
            fix = "pass the period of each row: cases of one period are one bet"
            raise InputError("is not given", argument="time", fix=fix)
        if self._put_off or self.queue.count:
            _check_constancy("time", self.queue.newest is not None, timed)
            _check_constancy("challenger", self.compares, compares)

    def _check_ids(self, ids: Iterable[object], keys: Sequence[int], times: Sequence[str]) -> None:
        """That no id which was seen before comes again with a time that is later than all so far."""
        if self.queue.newest is None:
            return
        for row, (name, key, time) in enumerate(zip(ids, keys, times, strict=True)):
            if self._is_known(key) and later(time, self.queue.newest):
                problem = f"is {str(name)!r} of {time}, and an earlier case has that id"
                raise InputError(problem, argument="ids", row=row, value=name, fix=OWN_ID)

    def _is_known(self, key: int) -> bool:
        """Whether a case of that key was seen before, with its label or without."""
        return key in self.seen or self.queue.expects(key)

    def _begin(self, forecast: Forecast, compares: bool) -> None:
        """Read the prices with the first forecasts, and check that they fit."""
        if self._bets is not None:
            return
        prior, costs = read_prices(*self._given_prices, forecast.labels)
        possible_costs(forecast.rows(slice(1)).with_costs(costs), prior, self.workup)
        self._prepare(forecast.labels, prior, costs, compares)

    def _prepare(self, labels: Sequence[object], prior: Prior, costs: FloatArray | None, compares: bool) -> None:
        """Begin the streams, where classes and prices are known."""
        self.labels = labels
        self.prior = prior
        self.costs = costs
        self.compares = compares
        scale = self._all_tests()
        self._bets = Bets(self.level / (1 + self.two_sided), self.level / 2, compares, self.dependent, scale)

    def _work_off(self) -> None:
        """Count rows that were put off; those of the last update by themselves, as what came last."""
        tables = self._put_off
        self._put_off = []
        self._count_tables(tables[:-1])
        self._count_tables(tables[-1:])

    def _count_tables(self, tables: Sequence[Forecast]) -> None:
        """Bet on rows with labels, in their order; neighbours of one kind together."""
        if tables:
            self.newest.fresh = True
        for _, alike in groupby(tables, key=lambda table: (table.logits, table.values.dtype)):
            parts = list(alike)
            values = np.concatenate([part.values for part in parts])
            truth = np.concatenate([part.truth for part in parts])
            whole = replace(parts[0], values=values, numbers=range(len(values)))
            cases = self._cases([whole], truth, None, None)
            self._note_forecasts(cases)
            self.queue.count += len(truth)
            self._streams.add(cases)

    def _cases(
        self, tables: Sequence[Forecast], truth: IntArray, keys: list[int] | None, times: list[str] | None
    ) -> Cases:
        """What each row may cost and promises by each table, beside its label, key and time."""
        priced = [table.with_costs(self.costs) for table in tables]
        by_model = [costs_and_promises(table, self.prior, self.workup) for table in priced]
        possible = np.hstack([costs for costs, _ in by_model])
        _, promised = by_model[0]  # of the champion
        return Cases(possible, truth, keys, times, promised)

    def _new_rows(self, cases: Cases) -> IntArray:
        """Rows that were not seen before, in the order of their times."""
        rows = list(range(len(cases.truth)))
        keys = cases.keys
        times = cases.times
        if keys is not None:
            rows = [row for row in rows if not self._is_known(keys[row])]
        if times is not None:
            rows.sort(key=lambda row: natural_key(times[row]))
        return np.array(rows, np.intp)

    def _note_forecasts(self, cases: Cases) -> None:
        """New forecasts, in order: all are promises, and some have labels."""
        self._note_labels(cases.take(np.flatnonzero(cases.truth >= 0)))
        if cases.times is None:
            self._streams.promise(cases.possible[:, len(self.labels)], None)

    def _resolve(self, keys: list[int], truth: IntArray) -> tuple[int, int]:
        """Take labels of forecasts that waited or were given up: how many, and how many are not as counted."""
        labels = [(key, label) for key, label in zip(keys, truth.tolist(), strict=False) if label >= 0]
        differing = sum(self.seen.get(key, _label_byte(label)) != _label_byte(label) for key, label in labels)
        awaited = [(key, label) for key, label in labels if self.queue.expects(key)]
        cases = []
        for key, label in awaited:
            self.seen[key] = _label_byte(label)
            case = self.queue.label(key, label)
            if case is not None:
                cases.append(case)
        if cases:
            self._note_labels(as_columns(cases))
        return len(awaited), differing

    def _note_labels(self, cases: Cases) -> None:
        """Remember the labels of cases that have them now, and count what these paid."""
        if cases.keys is not None:
            self.seen.update(zip(cases.keys, map(_label_byte, cases.truth.tolist()), strict=True))
        n = len(cases.truth)
        is_outside = cases.truth >= OUTSIDE
        paid = cases.possible[np.arange(n), np.where(is_outside, 0, cases.truth)]
        paid[is_outside] = self._whole_search()
        names = list(self.unknown)
        classes = [names[number - OUTSIDE] if number >= OUTSIDE else None for number in cases.truth.tolist()]
        self.newest.add(cases.times, np.stack([paid, cases.possible[:, len(self.labels)]]), classes)
        times: Sequence[str | None] = cases.times or [None] * n
        for name, time in zip(classes, times, strict=True):
            if name is not None:
                known = self.unknown[name]
                known.first = time if known.cases == 0 else known.first
                known.cases += 1

    def _bet(self) -> None:
        """Bet on the cases whose turn has come."""
        for part in self.queue.unranked(self.dependent):
            self._streams.promise(part.possible[:, len(self.labels)], part.times)
        for part in self.queue.ready(self.wait, self.dependent):
            self._streams.add(part)


def _read_miss(miss: float) -> float:
    """The price of a miss, checked."""
    return read_number(miss, "miss", lambda number: number >= 0, "it is a price, 0 or more")


def _label_byte(label: int) -> int:
    """What is kept of a label, in one byte."""
    return UNKNOWN_LABEL if label >= OUTSIDE else label % LABELS_TOLD_APART


def _check_constancy(argument: str, was_given: bool, is_given: bool) -> None:
    """That something is given always or never."""
    if was_given != is_given:
        problem = "is given now and was not before" if is_given else "was given before and is not now"
        raise InputError(problem, argument=argument, fix="give it always or never")

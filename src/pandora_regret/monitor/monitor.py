"""Forecasters over time: what they cost against what they promise, with guarantees at every moment."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple, Self

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.core.inputs import (
    Forecast,
    InputError,
    InputTypeError,
    IntArray,
    Labels,
    Table,
    is_missing,
    read_array,
    read_count,
    read_number,
    read_probabilities,
    read_truth,
    renamed,
)
from pandora_regret.core.priors import Prior
from pandora_regret.core.priors.names import read_prices, spelled_prior
from pandora_regret.core.records import from_plain, to_plain
from pandora_regret.monitor.queue import Cases, Queue, as_columns, key_of, later, natural_key
from pandora_regret.monitor.streams import Paid, possible_costs
from pandora_regret.monitor.summary import MonitorSummary, Period, summarise
from pandora_regret.workup import Workup

SCHEMA = "pandora-monitor/3"
LABELS = 256  # labels of counted cases are told apart up to so many classes
AT_ONCE = 256  # updates of cases without ids or times, which are worked off together, or when somebody looks
OWN_ID = "each case needs an id of its own, in all files (--id)"
ASKED = ("level", "two_sided", "wait", "dependent")
SEEN = np.dtype([("key", "<u8"), ("label", "u1")])


class Taken(NamedTuple):
    """What became of the rows of one update."""

    counted: int = 0  # cases whose labels are known, and were not before; late ones too, though left out
    waiting: int = 0  # new forecasts without labels
    skipped: int = 0  # cases that were seen before
    unknown: int = 0  # labels of ids without a forecast
    differing: int = 0  # skipped cases whose label is not the one that was counted


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
        fix = "it is the probability of a false alarm, such as 0.05, at most 0.5"
        self.level = read_number(level, "level", lambda number: 0 < number <= 0.5, fix)
        self.two_sided, self.dependent = bool(two_sided), bool(dependent)
        self.wait = None if wait is None else read_count(wait, "wait")
        self._asked, self.workup = (prior, costs), workup
        self.labels: Any = labels if labels is None else list(labels)
        self.seen: dict[int, int] = {}  # labelled cases: the label of each id's key
        self.queue = Queue()
        self.newest = Period()
        self._paid: Paid | None = None
        self._put_off: list[Forecast] = []
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
        tables = [read_probabilities(y_proba, labels=labels, logits=logits).check()]
        names, n, compares = tables[0].labels, len(tables[0]), challenger is not None
        self._check_kind(names, compares, time is not None)
        keys, times = None if ids is None else _keys(ids), _read_times(time, n)
        if compares:
            tables.append(read_probabilities(challenger, labels=names, logits=logits, name="challenger").check())
        _check_lengths(n, ids=keys, time=times, challenger=tables[-1])
        if keys is not None and times is not None and self.queue.newest is not None:
            self._check_ids(ids, keys, times)
        truth = _read_known(y_true, names, n)
        if keys is None and (truth < 0).any():
            problem = "has cases without a label, which could never find it"
            raise InputError(problem, argument="y_true", fix="pass ids")
        if self._paid is None:
            prior, costs = read_prices(*self._asked, names)
            possible_costs(tables[0].rows(slice(1)).with_costs(costs), prior, self.workup)  # that they fit
            self._prepare(names, prior, costs, compares)
        if keys is None and times is None and not (compares or self._together or self.queue.cases):
            self._put_off.append(replace(tables[0], values=tables[0].values.copy(), truth=truth.copy()))
            if len(self._put_off) == AT_ONCE or n >= AT_ONCE:
                self._work_off()
            return Taken(n)
        with self.together():
            new = self._cases(tables, truth, keys, times).take(self._order(keys, times, n))
            labelled, differing = self._resolve(keys or [], truth)
            if len(new.truth):
                self._see(new)
                self.queue.add(new, self.dependent)
        waiting, seen = int((new.truth < 0).sum()), n - len(new.truth) - labelled
        return Taken(len(new.truth) - waiting + labelled, waiting, seen, differing=differing)

    def label(self, ids: Any, y_true: Labels) -> Taken:
        """Labels of forecasts that waited for them."""
        self._check_begun()
        keys = _keys(ids)
        truth = read_truth(y_true, self.labels, len(keys)) if keys else np.empty(0, np.intp)
        skipped = sum(key in self.seen for key in keys)
        with self.together():
            labelled, differing = self._resolve(keys, truth)
        return Taken(labelled, 0, skipped, len(keys) - labelled - skipped, differing)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Forecasts and labels that come in within count at its end: no label is late before all are in."""
        self._work_off()
        if self._together:
            yield
            return
        self._together = True
        self.newest.fresh = True
        self.queue.begin_run()
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
        self._check_begun()
        paid = self.paid
        assert paid is not None
        return summarise(paid, self.queue, self.newest, two_sided=self.two_sided)

    def state(self) -> dict[str, Any]:
        """All of it as plain data, for JSON; `from_state` makes the same monitor of it."""
        self._check_begun()
        costs = None if self.costs is None else self.costs.tolist()
        state = {
            "schema": SCHEMA,
            "library": f"pandora-regret {__version__}",
            "classes": [int(c) if isinstance(c, (int, np.integer)) else str(c) for c in self.labels],
            "prior": spelled_prior(self.prior),
            "base_costs": costs,
            "workup": None if self.workup is None else self.workup.document,
            **{name: getattr(self, name) for name in (*ASKED, "compares")},
            "paid": self._streams.state(),
            "queue": to_plain(self.queue),
            "newest": to_plain(self.newest),
            "seen": b64encode(np.array(sorted(self.seen.items()), dtype=SEEN).tobytes()).decode(),
        }
        return seal_state(state)

    @classmethod
    def from_state(cls, state: Any, *, prior: Prior | None = None) -> Self:
        """The monitor that a state was taken of; a prior that has no short name must be given again."""
        stored: Any = state if isinstance(state, Mapping) else {}
        if stored.get("schema") != SCHEMA:
            problem = f"has the schema {stored.get('schema')!r}, not {SCHEMA!r}"
            raise InputError(problem, argument="state", fix="pass what Monitor.state() of this version returned")
        if stored.get("check") != _check_of(stored):
            problem = "is damaged: it is not what was written"
            raise InputError(problem, argument="state", fix="take a copy of it, or begin a new one")
        prior = _read_prior_name(stored["prior"]) if prior is None else prior
        if spelled_prior(prior) != stored["prior"]:
            problem = f"is {prior!r}, but the state was made with {stored['prior']}"
            raise InputError(problem, argument="prior", value=prior, fix="begin a new state")
        classes, base, workup = stored["classes"], stored["base_costs"], stored["workup"]
        monitor = cls(prior=prior, workup=workup and Workup(**workup), **{name: stored[name] for name in ASKED})
        labels = range(len(classes)) if classes == list(range(len(classes))) else classes
        monitor._prepare(labels, prior, base and np.array(base), stored["compares"])
        monitor._streams.restore(stored["paid"])
        monitor.newest = from_plain(Period, stored["newest"], "state.newest")
        monitor.queue = from_plain(Queue, stored["queue"], "state.queue")
        monitor.seen = dict(np.frombuffer(b64decode(stored["seen"]), SEEN).tolist())
        return monitor

    @property
    def paid(self) -> Paid | None:
        """What was paid beyond promises, with all that came in; None before any forecast.

        The newest period counts as far as it has come, if its labels are there; but not if its cases depend on
        each other.
        """
        self._work_off()
        open_period = None if self.dependent else self.queue.open_period()
        if self._paid is None or open_period is None:
            return self._paid
        paid = self._paid.copy()
        paid.add(open_period)
        return paid

    @property
    def _streams(self) -> Paid:
        """What was bet on for good: all but the newest period, while that may go on."""
        assert self._paid is not None
        return self._paid

    def _check_begun(self) -> None:
        self._work_off()
        if self._paid is None:
            raise InputError("the monitor has seen no forecasts: update it first.")

    def _check_kind(self, labels: Sequence[Any], compares: bool, timed: bool) -> None:
        """That forecasts have the classes, and a challenger and times if earlier ones had."""
        now, before = (list(map(str, each)) for each in (labels, self.labels or labels))
        if now != before:
            problem = f"has the classes {', '.join(now)}, and earlier forecasts had {', '.join(before)}"
            raise InputError(problem, argument="y_proba", fix="pass the same classes always")
        if self.dependent and not timed:
            fix = "pass the period of each row: cases of one period are one bet"
            raise InputError("is not given", argument="time", fix=fix)
        kinds = ("time", self.queue.newest is not None, timed), ("challenger", self.compares, compares)
        for name, had, has in kinds:
            if had != has and (self._put_off or self.queue.count):
                problem = "is given now and was not before" if has else "was given before and is not now"
                raise InputError(problem, argument=name, fix="give it always or never")

    def _check_ids(self, ids: Any, keys: Sequence[int], times: Sequence[str]) -> None:
        """That no id which was seen before comes again with a time that is later than all so far."""
        for row, (name, key, time) in enumerate(zip(ids, keys, times, strict=True)):
            if (key in self.seen or self.queue.expects(key)) and later(time, self.queue.newest):
                problem = f"is {str(name)!r} of {time}, and an earlier case has that id"
                raise InputError(problem, argument="ids", row=row, value=name, fix=OWN_ID)

    compares = False  # whether there is a challenger

    def _prepare(self, labels: Sequence[Any], prior: Prior, costs: Any, compares: bool) -> None:
        """With the first forecasts, classes and prices are known, and the streams begin."""
        self.labels, self.prior, self.costs, self.compares = labels, prior, costs, compares
        prices = np.ones(len(labels)) * prior.mean * (1.0 if costs is None else costs)
        scale = float((prices if self.workup is None else self.workup.costs).sum())
        self._paid = Paid(self.level / (1 + self.two_sided), self.level / 2, compares, self.dependent, scale)

    def _work_off(self) -> None:
        """Count rows that were put off; those of the last update by themselves, as what came last."""
        put_off, self._put_off = self._put_off, []
        for part in (put_off[:-1], put_off[-1:]):
            self.newest.fresh |= bool(part)
            for _, alike in groupby(part, key=lambda table: (table.logits, table.values.dtype)):
                tables = list(alike)
                values, truth = (
                    np.concatenate([getattr(each, of) for each in tables]) for of in ("values", "truth")
                )
                whole = replace(tables[0], values=values, numbers=range(len(values)))
                cases = self._cases([whole], truth, None, None)
                self._see(cases)
                self.queue.count += len(truth)
                self._streams.add(cases)

    def _cases(self, tables: Sequence[Forecast], truth: IntArray, keys: Any, times: Any) -> Cases:
        rows = (table.with_costs(self.costs) for table in tables)
        possible = np.hstack([possible_costs(each, self.prior, self.workup) for each in rows])
        return Cases(possible, truth, keys, times)

    def _order(self, keys: list[int] | None, times: list[str] | None, n: int) -> IntArray:
        """Rows that are new, in the order of their times."""
        rows = list(range(n))
        if keys is not None:
            rows = [row for row in rows if not (keys[row] in self.seen or self.queue.expects(keys[row]))]
        if times is not None:
            rows.sort(key=lambda row: natural_key(times[row]))
        return np.array(rows, np.intp)

    def _see(self, cases: Cases) -> None:
        """New forecasts, in order: all are promises, and some have labels."""
        self._note(cases.take(np.flatnonzero(cases.truth >= 0)))
        if cases.times is None:
            self._streams.promise(cases.possible[:, len(self.labels)], None)

    def _resolve(self, keys: list[int], truth: IntArray) -> tuple[int, int]:
        """Take labels of forecasts that waited or were given up: how many, and how many are not as counted."""
        pairs = [(key, label) for key, label in zip(keys, truth.tolist(), strict=False) if label >= 0]
        differing = sum(self.seen.get(key, label % LABELS) != label % LABELS for key, label in pairs)
        awaited = [(key, label) for key, label in pairs if self.queue.expects(key)]
        self.seen.update((key, label % LABELS) for key, label in awaited)
        if cases := [case for key, label in awaited if (case := self.queue.label(key, label)) is not None]:
            self._note(as_columns(cases))
        return len(awaited), differing

    def _note(self, cases: Cases) -> None:
        """Remember the labels of cases that have them now, and count what these paid."""
        if cases.keys is not None:
            self.seen.update(zip(cases.keys, (cases.truth % LABELS).tolist(), strict=True))
        paid = cases.possible[np.arange(len(cases.truth)), cases.truth]
        self.newest.add(cases.times, np.stack([paid, cases.possible[:, len(self.labels)]]))

    def _bet(self) -> None:
        """Bet on the cases whose turn has come."""
        for part in self.queue.unranked(self.dependent):
            self._streams.promise(part.possible[:, len(self.labels)], part.times)
        for part in self.queue.ready(self.wait, self.dependent):
            self._streams.add(part)


def _check_lengths(n: int, **columns: Any) -> None:
    for argument, of in columns.items():
        if of is not None and len(of) != n:
            problem = f"has {len(of)} entries for {n} rows"
            raise InputError(problem, argument=argument, value=len(of), fix="pass one per row")


def _keys(ids: Any) -> list[int]:
    """64 bits of each id, none of them twice; among a million ids, two share them with probability 3e-8."""
    first = dict[int, int]()
    for row, each in enumerate(ids):
        key = key_of(str(each).encode("utf-8", "replace"))
        if first.setdefault(key, row) != row:
            problem = f"is {str(each)!r}, as is row {first[key]}"
            raise InputError(problem, argument="ids", row=row, value=each, fix=OWN_ID)
    return list(first)


def seal_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """A monitor's state, with whatever the caller added to it, under a hash by which damage shows.

    Whoever writes more into a state than `Monitor.state` returned, as the command does with the names of columns,
    seals it again: `Monitor.from_state` refuses a state of which any part is not what was sealed.
    """
    return {**state, "check": _check_of(state)}


def _check_of(state: Mapping[str, Any]) -> str:
    """A hash of all of a state but the hash itself."""
    checked = {name: part for name, part in state.items() if name != "check"}
    return blake2b(json.dumps(checked, sort_keys=True).encode(), digest_size=8).hexdigest()


def _read_prior_name(name: str) -> Prior:
    """The prior that a state names; an error where a name is not enough to make it."""
    from pandora_regret.files.prices import read_prior_argument

    try:
        return read_prior_argument(name)
    except InputError:
        fix = "pass the prior that the monitor was begun with"
        raise InputError(f"{name} cannot be made from its name", argument="prior", place="", fix=fix) from None


def _read_known(y_true: Labels, labels: Sequence[Any], n: int) -> IntArray:
    """The column of each true class, -1 where it is not known."""
    y_true = [None] * n if y_true is None else y_true
    read = read_array(y_true, "y_true")
    if read.dtype.kind in "biu" or read.shape != (n,):
        return read_truth(y_true, labels, n)
    truth, listed = np.full(n, -1), np.asarray(y_true, dtype=object)
    there = np.flatnonzero([not is_missing(label) for label in listed])
    whole = read.dtype.kind == "f" and not (read[there] % 1).any()  # NaN made floats of whole numbers
    if len(there):
        truth[there] = read_truth(read[there].astype(int) if whole else listed[there], labels, len(there))
    return truth


def _read_times(time: Any, n: int) -> list[str] | None:
    """The time of each of n rows, from one name or one per row."""
    if time is None:
        return None
    times = [time] * n if np.ndim(time) == 0 else time
    for each in times:
        if is_missing(each) or not str(each):
            raise InputTypeError(f"is {each!r}, which is no name", argument="time", fix="name every row's time")
    return [str(each) for each in times]

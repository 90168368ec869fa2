"""Forecasters over time: what they cost against what they promise, with guarantees at every moment."""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple, Self, TypeAlias

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
from pandora_regret.inputs.numbers import read_array, read_count, read_number, read_positive
from pandora_regret.monitor.possible_costs import bounds, possible_costs
from pandora_regret.monitor.streams import Paid, Promised
from pandora_regret.monitor.summary import MonitorSummary, summarise
from pandora_regret.priors import Prior
from pandora_regret.priors.names import PRIORS, read_prices, spelled_prior
from pandora_regret.records import from_plain, to_plain

SCHEMA = "pandora-monitor/1"
RUN_LENGTH_IN_PERIODS, RUN_LENGTH_IN_CASES = 10_000.0, 1_000_000.0
MOST_LANES = 1000
LABELS = 256  # labels of counted cases are told apart up to so many classes
SEEN = np.dtype([("key", "<u8"), ("label", "u1")])

Waiting: TypeAlias = tuple[tuple[float, ...], str | None]  # possible costs, of each model, and the period


class _Cases(NamedTuple):
    """Rows past the door."""

    keys: list[int] | None  # of their ids
    truth: IntArray  # -1 where it is not known
    periods: list[str] | None

    def take(self, rows: Any) -> _Cases:
        """Some of them."""
        keys, periods = (None if of is None else [of[row] for row in rows] for of in (self.keys, self.periods))
        return _Cases(keys, self.truth[rows], periods)


@dataclass(frozen=True)
class Taken:
    """What became of the rows of one update."""

    counted: int = 0  # cases whose labels are known, and were not before; late ones too, though left out
    waiting: int = 0  # new forecasts without labels
    skipped: int = 0  # cases that were seen before
    unknown: int = 0  # labels of ids without a forecast
    differing: int = 0  # skipped cases whose label is not the one that was counted

    def __add__(self, other: Taken) -> Taken:
        sums = (a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        return Taken(*sums)


@renamed("typical_costs", "costs")
class Monitor:
    """Watch what a model's forecasts cost, in money, with guarantees that survive looking every day.

    Parameters
    ----------
    prior, costs
        What tests cost, as in `expected_search_cost`; the same for all cases.
    level
        The probability with which a false alarm may ever come, and with which a confidence sequence may ever miss:
        for each of them by itself. Signs of change are bounded by `run_length` instead.
    run_length
        How many periods (or cases, where there are no periods) pass on average, at least, before the detector of
        changes sounds without a change; 10,000 periods or a million cases unless given.
    lag
        After how many periods labels are known: with forecasts made several periods ahead, that many.
    labels
        The columns' labels, in column order.

    docs/monitoring.md states what is guaranteed, and under which assumptions.

    See Also
    --------
    write_monitor_page : Its history as a page.

    References
    ----------
    Ville (1939), on the inequality behind every alarm [ville39]_.
    Waudby-Smith and Ramdas (2024), on betting on bounded means [waudbysmith24]_.
    Choe and Ramdas (2024), on two forecasters [choe24]_.
    Shin et al. (2024), on change [shin24]_.

    Examples
    --------
    >>> monitor = Monitor(costs=[20.0, 35.0, 5.0])
    >>> monitor.update([0, 2], [[0.5, 0.2, 0.3], [0.1, 0.2, 0.7]], period="week 1")
    Taken(counted=2, waiting=0, skipped=0, unknown=0, differing=0)
    >>> monitor.close()
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
        run_length: float | None = None,
        lag: int = 1,
        labels: Any = None,
    ) -> None:
        number = read_number(level, "level")
        if not 0 < number <= 0.5:
            fix = "it is the probability of a false alarm, such as 0.05, at most 0.5"
            raise InputError(argument="level", value=number, fix=fix)
        self.level = number
        self.run_length = None if run_length is None else read_positive(run_length, "run_length")
        if read_count(lag, "lag") > MOST_LANES:
            raise InputError(f"is {lag}", argument="lag", value=lag, fix=f"it must be at most {MOST_LANES}")
        self.lag = int(lag)
        self._asked = (prior, costs)
        self.labels: Sequence[Any] | None = labels if labels is None else list(labels)
        self.waiting: dict[int, Waiting] = {}  # by the id's key
        self.seen: dict[int, int] = {}  # counted cases: the label of each id's key
        self.paid: Paid | None = None
        self.promised: Promised | None = None
        self._held: list[tuple[FloatArray, _Cases]] | None = None

    def update(
        self,
        y_true: Labels,
        y_proba: Table,
        *,
        challenger: Table | None = None,
        ids: Any = None,
        period: Any = None,
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
        period
            A name for all rows, or one per row: the mean of a period is one increment. Rows are taken in the
            natural order of these names. Without it, every case is an increment.
        """
        labels = None if isinstance(self.labels, range) else self.labels
        forecast = read_probabilities(y_proba, labels=labels, logits=logits)
        self._check_kind(forecast, challenger is not None, period is not None)
        n, tables = len(forecast), [forecast]
        keys, names = None if ids is None else _keys(ids, n), _read_periods(period, n)
        cases = _Cases(keys, _read_known(y_true, forecast.labels, n), names)
        if keys is None and (cases.truth < 0).any():
            problem = "has cases without a label, which could never find it"
            raise InputError(problem, argument="y_true", fix="pass ids")
        if challenger is not None:
            other = read_probabilities(challenger, labels=forecast.labels, logits=logits, name="challenger")
            if len(other) != n:
                problem = f"has {len(other)} rows for {n} cases"
                raise InputError(problem, argument="challenger", value=len(other), fix="pass one row per case")
            tables.append(other)
        new, waited = np.arange(n), np.arange(0)
        if keys is not None:
            new = np.flatnonzero([key not in self.waiting and key not in self.seen for key in keys])
            waited = np.flatnonzero([key in self.waiting for key in keys] & (cases.truth >= 0))
        differing = self._differing(cases)
        if self.paid is None:
            prior, costs = read_prices(self._asked[0], self._asked[1], forecast.labels)
        else:
            prior, costs = self.prior, self.costs
        possible = np.hstack([possible_costs(table.rows(new).with_costs(costs), prior) for table in tables])
        if self.paid is None:
            self.run_length = self.run_length or (RUN_LENGTH_IN_CASES if period is None else RUN_LENGTH_IN_PERIODS)
            self._prepare(forecast.labels, prior, costs, challenger is not None)
        with self.together():  # nothing can go wrong any more
            self._resolve(cases.take(waited))
            n_waiting = self._take(possible, cases.take(new))
        counted, skipped = len(new) - n_waiting + len(waited), n - len(new) - len(waited)
        return Taken(counted, n_waiting, skipped, differing=differing)

    def label(self, ids: Any, y_true: Labels, *, period: Any = None) -> Taken:
        """Labels of forecasts that waited for them; counted in `period`, or else in that of their forecasts."""
        if self.promised is None or self.labels is None:
            raise InputError("there are no forecasts yet that could wait for labels: update first.")
        keys = _keys(ids)
        cases = _Cases(keys, read_truth(y_true, self.labels, len(keys)), _read_periods(period, len(keys)))
        waited = np.flatnonzero([key in self.waiting for key in keys])
        skipped, differing = sum(key in self.seen for key in keys), self._differing(cases)
        if cases.periods is not None:
            self.promised.periods.check_mode(True)
        with self.together():
            self._resolve(cases.take(waited))
        unknown = len(keys) - len(waited) - skipped
        return Taken(len(waited), skipped=skipped, unknown=unknown, differing=differing)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Labels that come in within, with forecasts or after them, count at its end, in the order of periods.

        So no period closes before all of its rows are in.
        """
        if self._held is not None:
            yield
            return
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            if held:
                possible, cases = zip(*held, strict=True)
                models = np.split(np.concatenate(possible), 1 + self.compares, axis=1)
                names = [name for part in cases for name in part.periods or ()]
                self._streams()[0].add(models, np.concatenate([part.truth for part in cases]), names or None)

    def close(self) -> None:
        """Count the period that is open as complete; otherwise it is when a later one begins.

        Labels of a closed period that come afterwards are late: they are left out.
        """
        for stream in (self.promised, self.paid):
            if stream is not None:
                stream.close()

    def summary(self) -> MonitorSummary:
        """Where the monitor stands: costs, intervals, alarms."""
        return summarise(*self._streams(), waiting=len(self.waiting))

    def state(self) -> dict[str, Any]:
        """All of it as plain data, for JSON; `from_state` makes the same monitor of it."""
        paid, promised = self._streams()
        costs = None if self.costs is None else self.costs.tolist()
        return {
            "schema": SCHEMA,
            "library": f"pandora-regret {__version__}",
            "classes": [int(c) if isinstance(c, (int, np.integer)) else str(c) for c in self.labels or ()],
            "prior": spelled_prior(self.prior),
            "typical_costs": costs and (self.costs * self.prior.mean).tolist(),  # for people
            "base_costs": costs,
            "level": self.level,
            "run_length": self.run_length,
            "lag": self.lag,
            "compares": self.compares,
            "paid": paid.state(),
            "promised": promised.state(),
            "waiting": {str(key): to_plain(row) for key, row in self.waiting.items()},
            "seen": b64encode(np.array(sorted(self.seen.items()), dtype=SEEN).tobytes()).decode(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, prior: Prior | None = None) -> Self:
        """The monitor that a state was taken of; a prior that has no short name must be given again."""
        given: Any = state
        schema = given.get("schema") if isinstance(given, Mapping) else None
        if schema != SCHEMA:
            problem = f"has the schema {schema!r}, not {SCHEMA!r}"
            raise InputError(problem, argument="state", fix="pass what Monitor.state() returned")
        stored = from_plain(Stored, state, "state")
        prior = _read_prior_name(stored.prior) if prior is None else prior
        if spelled_prior(prior) != stored.prior:
            problem = f"is {prior!r}, but the state was made with {stored.prior}"
            raise InputError(problem, argument="prior", value=prior, fix="begin a new state")
        monitor = cls(prior=prior, level=stored.level, run_length=stored.run_length, lag=stored.lag)
        n_classes = len(stored.classes)
        width, numbered = (n_classes + 1) * (1 + stored.compares), stored.classes == tuple(range(n_classes))
        for place, fits in (
            ("base_costs", stored.base_costs is None or len(stored.base_costs) == n_classes),
            ("waiting", all(key.isdigit() and len(row) == width for key, (row, _) in stored.waiting.items())),
        ):
            if not fits:
                raise InputError("does not fit the rest", place=f"state.{place}", fix="the state is damaged")
        base = None if stored.base_costs is None else np.array(stored.base_costs)
        monitor._prepare(range(n_classes) if numbered else list(stored.classes), prior, base, stored.compares)
        for stream, name in zip(monitor._streams(), ("paid", "promised"), strict=True):
            stream.restore(getattr(stored, name), f"state.{name}")
        monitor.waiting = {int(key): row for key, row in stored.waiting.items()}
        try:
            rows = np.frombuffer(b64decode(stored.seen, validate=True), SEEN)
        except (ValueError, Error):
            raise InputError("is no list of ids", place="state.seen", fix="the state is damaged") from None
        monitor.seen = dict(zip(rows["key"].tolist(), rows["label"].tolist(), strict=True))
        return monitor

    def _streams(self) -> tuple[Paid, Promised]:
        if self.paid is None or self.promised is None:
            raise InputError("the monitor has seen no forecasts: update it first.")
        return self.paid, self.promised

    def _check_kind(self, forecast: Forecast, compares: bool, by_period: bool) -> None:
        """That forecasts have the classes, and a challenger and periods if earlier ones had."""
        now, before = (list(map(str, labels)) for labels in (forecast.labels, self.labels or forecast.labels))
        if now != before:
            problem = f"has the classes {', '.join(now)}, and earlier forecasts had {', '.join(before)}"
            raise InputError(problem, argument=forecast.name, fix="pass the same classes always")
        if self.promised is None:
            return
        self.promised.periods.check_mode(by_period)
        if compares != self.compares:
            problem = "is given now and was not before" if compares else "was given before and is not now"
            raise InputError(problem, argument="challenger", fix="give it always or never")

    def _prepare(self, labels: Sequence[Any], prior: Prior, costs: Any, compares: bool) -> None:
        """With the first forecasts, classes and prices are known, and the streams begin."""
        self.labels, self.prior, self.costs, self.compares = labels, prior, costs, compares
        least, most = bounds(np.ones(len(labels)) if costs is None else costs, prior)
        assert self.run_length is not None
        self.paid = Paid(most - least, self.level, self.run_length, self.lag, compares)
        self.promised = Promised(least, most - least, self.level, self.run_length)

    def _differing(self, cases: _Cases) -> int:
        """How many counted cases come with another label now."""
        pairs = zip(cases.keys, cases.truth.tolist(), strict=True) if cases.keys else ()
        return sum(label >= 0 and self.seen.get(key, label % LABELS) != label % LABELS for key, label in pairs)

    def _take(self, possible: FloatArray, cases: _Cases) -> int:
        """New forecasts: all are promises, those with labels are paid for, and the others wait; how many."""
        if not len(possible):
            return 0
        promised = possible.shape[1] // (1 + self.compares) - 1  # the last column of the first model
        self._streams()[1].gather(possible[:, promised][None], cases.periods)
        labelled, waiting = np.flatnonzero(cases.truth >= 0), np.flatnonzero(cases.truth < 0)
        self._pay(possible[labelled], cases.take(labelled))
        later = cases.take(waiting)
        names: Sequence[str | None] = later.periods or [None] * len(waiting)
        for key, costs, name in zip(later.keys or (), possible[waiting].tolist(), names, strict=False):
            self.waiting[key] = (tuple(costs), name)
        return len(waiting)

    def _resolve(self, cases: _Cases) -> None:
        """Pay for forecasts that waited, in the period that brings the label, or else in their own."""
        waited = [self.waiting.pop(key) for key in cases.keys or ()]
        own = [name for _, name in waited if name is not None]
        self._pay(
            np.array([numbers for numbers, _ in waited]), cases._replace(periods=cases.periods or own or None)
        )

    def _pay(self, possible: FloatArray, cases: _Cases) -> None:
        assert self._held is not None
        if len(possible):
            self._held.append((possible, cases))
            self.seen.update(zip(cases.keys, (cases.truth % LABELS).tolist(), strict=True) if cases.keys else ())


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


@dataclass(frozen=True)
class Stored:
    """What is read of a state."""

    classes: tuple[str | int, ...]
    prior: str
    base_costs: tuple[float, ...] | None
    level: float
    run_length: float
    lag: int
    compares: bool
    paid: dict[str, Any]
    promised: dict[str, Any]
    waiting: dict[str, Waiting]
    seen: str


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


def _read_periods(period: Any, n: int) -> list[str] | None:
    """The period of each of n rows, from one name or one per row."""
    if period is None:
        return None
    if isinstance(period, (str, bytes)) or np.ndim(period) == 0:
        period = [period] * n
    names = []
    for each in period:
        if each is None or each != each or not str(each):
            problem, fix = f"is {each!r}, which is no name", "name every row's period"
            raise InputTypeError(problem, argument="period", fix=fix)
        names.append(str(each))
    if len(names) != n:
        fix = "pass one period for all rows, or one per row"
        raise InputError(f"has {len(names)} entries for {n} rows", argument="period", value=len(names), fix=fix)
    return names

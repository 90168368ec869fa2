"""Forecasters over time: what they cost against what they promise, with guarantees at every moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.inputs import Forecast, InputError, IntArray, Labels, Table, read_probabilities
from pandora_regret.inputs.labels import read_truth
from pandora_regret.inputs.numbers import read_positive
from pandora_regret.monitor.ids import LABELS, Waiting, check_each_once, from_text, hashed, to_text
from pandora_regret.monitor.periods import read_periods
from pandora_regret.monitor.reading import read_challenger, read_error_level, read_known, read_lag, read_new
from pandora_regret.monitor.rows import Rows, bounds, joined
from pandora_regret.monitor.stored import Stored, read_prior_name
from pandora_regret.monitor.streams import Paid, Promised, StreamSettings
from pandora_regret.monitor.summary import MonitorSummary, summarise
from pandora_regret.priors import Prior
from pandora_regret.priors.names import read_prices, spelled_prior

SCHEMA = "pandora-monitor/1"
RUN_LENGTH_IN_PERIODS, RUN_LENGTH_IN_CASES = 10_000.0, 1_000_000.0


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


class Monitor:
    """Watch what a model's forecasts cost, in money, with guarantees that survive looking every day.

    Parameters
    ----------
    prior, typical_costs
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
    >>> monitor = Monitor(typical_costs=[20.0, 35.0, 5.0])
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
        typical_costs: Any = None,
        level: float = 0.05,
        run_length: float | None = None,
        lag: int = 1,
        labels: Any = None,
    ) -> None:
        self.level = read_error_level(level)
        self.run_length = None if run_length is None else read_positive(run_length, "run_length")
        self.lag = read_lag(lag)
        self._asked = (prior, typical_costs)
        self.labels: Sequence[Any] | None = labels if labels is None else list(labels)
        self.waiting, self.seen = Waiting(), dict[int, int]()
        self.paid: Paid | None = None
        self.promised: Promised | None = None
        self._held: list[tuple[list[Rows], IntArray, list[str] | None]] | None = None

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
        self._check_columns(forecast)
        self._check_kind(challenger is not None, period is not None)
        keys, names = self._keys(ids, len(forecast)), read_periods(period, len(forecast))
        truth = read_known(y_true, forecast.labels, len(forecast))
        if keys is None and (truth < 0).any():
            problem = "has cases without a label, which could never find it"
            raise InputError(problem, argument="y_true", fix="pass ids")
        tables = [forecast, *([] if challenger is None else [read_challenger(challenger, forecast, logits)])]
        new, known = self._sort_out(keys, truth)
        differing = self._differing(keys or [], truth)
        prior, costs = self._prices(forecast.labels)
        rows = [read_new(table if keys is None else table.rows(new), prior, costs) for table in tables]
        if self.paid is None:
            self._begin(forecast.labels, prior, costs, challenger is not None, period is not None)
        if keys is None:
            with self.together():
                return self._take(rows, truth, None, names)
        everything = len(new) == len(truth)
        own = (keys, names) if everything else (_some(keys, new), _some(names, new))
        with self.together():  # nothing can go wrong any more
            self._resolve(_some(keys, known), truth[known], _some(names, known))
            taken = self._take(rows, truth[new], *own)
        skipped = len(forecast) - len(new) - len(known)
        return taken + Taken(counted=len(known), skipped=skipped, differing=differing)

    def label(self, ids: Any, y_true: Labels, *, period: Any = None) -> Taken:
        """Labels of forecasts that waited for them; counted in `period`, or else in that of their forecasts."""
        if self.paid is None or self.labels is None:
            raise InputError("there are no forecasts yet that could wait for labels: update first.")
        keys = hashed(listed := list(ids))
        check_each_once(keys, listed)
        truth = read_truth(y_true, self.labels, len(keys))
        known = [row for row, key in enumerate(keys) if key in self.waiting]
        skipped, differing = sum(key in self.seen for key in keys), self._differing(keys, truth)
        names = read_periods(period, len(keys))
        if names is not None and self.promised is not None:
            self.promised.periods.check_mode(True)
        with self.together():
            self._resolve([keys[row] for row in known], truth[known], _some(names, known))
        unknown = len(keys) - len(known) - skipped
        return Taken(counted=len(known), skipped=skipped, unknown=unknown, differing=differing)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Labels that come in within, with forecasts or after them, count at its end, in the order of periods."""
        if self._held is not None:
            yield
            return
        self._held = []
        try:
            yield
        finally:
            held, self._held = self._held, None
            self._count(held)

    def close(self) -> None:
        """Count the period that is open as complete; otherwise it is when a later one begins.

        Labels of a closed period that come afterwards are late: they are left out.
        """
        for stream in (self.promised, self.paid):
            if stream is not None:
                stream.close()

    def summary(self) -> MonitorSummary:
        """Where the monitor stands: costs, intervals, alarms."""
        if self.paid is None or self.promised is None:
            raise InputError("the monitor has seen no forecasts: update it first.")
        return summarise(self.paid, self.promised, waiting=len(self.waiting))

    def state(self) -> dict[str, Any]:
        """All of it as plain data, for JSON; `from_state` makes the same monitor of it."""
        if self.paid is None or self.promised is None:
            raise InputError("the monitor has seen no forecasts: there is no state yet.")
        stored = Stored(
            schema=SCHEMA,
            library=f"pandora-regret {__version__}",
            classes=tuple(_plain_label(label) for label in self.labels or ()),
            prior=spelled_prior(self.prior),
            typical_costs=None if self.costs is None else tuple((self.costs * self.prior.mean).tolist()),
            base_costs=None if self.costs is None else tuple(self.costs.tolist()),
            level=self.level,
            run_length=self.run_length or RUN_LENGTH_IN_PERIODS,
            lag=self.lag,
            compares=self.compares,
            paid=self.paid.state(),
            promised=self.promised.state(),
            waiting=self.waiting.state(),
            seen=to_text(self.seen),
        )
        return stored.to_dict()

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, prior: Prior | None = None) -> Self:
        """The monitor that a state was taken of; a prior that has no short name must be given again."""
        stored = Stored.from_dict(state, SCHEMA)
        prior = read_prior_name(stored.prior) if prior is None else prior
        if spelled_prior(prior) != stored.prior:
            problem = f"is {prior!r}, but the state was made with {stored.prior}"
            raise InputError(problem, argument="prior", value=prior, fix="begin a new state")
        how: dict[str, Any] = {"level": stored.level, "run_length": stored.run_length, "lag": stored.lag}
        monitor = cls(prior=prior, **how)
        base = None if stored.base_costs is None else np.array(stored.base_costs)
        numbered = stored.classes == tuple(range(len(stored.classes)))
        labels = range(len(stored.classes)) if numbered else list(stored.classes)
        monitor._prepare(labels, prior, base, stored.compares)
        assert monitor.paid is not None
        assert monitor.promised is not None
        monitor.paid.restore(stored.paid, "state.paid")
        monitor.promised.restore(stored.promised, "state.promised")
        monitor.waiting.restore(stored.waiting, monitor._width, "state.waiting")
        monitor.seen = from_text(stored.seen, "state.seen")
        return monitor

    @property
    def _width(self) -> int:
        """How many numbers a waiting forecast has: costs and promise of each model."""
        assert self.labels is not None
        return (len(self.labels) + 1) * (1 + self.compares)

    def _prices(self, labels: Sequence[Any]) -> tuple[Prior, Any]:
        if self.paid is not None:
            return self.prior, self.costs
        return read_prices(self._asked[0], None, self._asked[1], labels)

    def _begin(self, labels: Sequence[Any], prior: Prior, costs: Any, compares: bool, by_period: bool) -> None:
        """With the first forecasts, classes and prices are known, and the streams begin."""
        self.run_length = self.run_length or (RUN_LENGTH_IN_PERIODS if by_period else RUN_LENGTH_IN_CASES)
        self._prepare(labels, prior, costs, compares)

    def _check_kind(self, compares: bool, by_period: bool) -> None:
        """That forecasts have a challenger and periods if earlier ones had."""
        if self.promised is None:
            return
        self.promised.periods.check_mode(by_period)
        if compares != self.compares:
            problem = "is given now and was not before" if compares else "was given before and is not now"
            raise InputError(problem, argument="challenger", fix="give it always or never")

    def _prepare(self, labels: Sequence[Any], prior: Prior, costs: Any, compares: bool) -> None:
        self.labels, self.prior, self.costs, self.compares = labels, prior, costs, compares
        least, most = bounds(np.ones(len(labels)) if costs is None else costs, prior)
        assert self.run_length is not None
        settings = StreamSettings(least, most, self.level, self.run_length, self.lag, compares)
        self.paid, self.promised = Paid(settings), Promised(settings)

    def _keys(self, ids: Any, n: int) -> list[int] | None:
        if ids is None:
            return None
        keys = hashed(listed := list(ids))
        if len(keys) != n:
            raise InputError(f"has {len(keys)} entries for {n} rows", argument="ids", fix="pass one per row")
        check_each_once(keys, listed)
        return keys

    def _check_columns(self, forecast: Forecast) -> None:
        if self.labels is not None and len(self.labels) != forecast.n_classes:
            problem = f"has {forecast.n_classes} columns, and earlier forecasts had {len(self.labels)}"
            raise InputError(problem, argument=forecast.name, fix="pass the same classes always")

    def _sort_out(self, keys: list[int] | None, truth: IntArray) -> tuple[IntArray, IntArray]:
        """The rows that are new, and those that bring the label of a forecast that waited; others are skipped."""
        if keys is None:
            return np.arange(0), np.arange(0)  # without ids, all are taken as they are
        new = [row for row, key in enumerate(keys) if key not in self.waiting and key not in self.seen]
        known = [row for row, key in enumerate(keys) if key in self.waiting and truth[row] >= 0]
        return np.array(new, dtype=np.intp), np.array(known, dtype=np.intp)

    def _differing(self, keys: list[int], truth: IntArray) -> int:
        """How many counted cases come with another label now."""
        pairs = zip(keys, truth.tolist(), strict=True) if keys else ()
        return sum(label >= 0 and self.seen.get(key, label % LABELS) != label % LABELS for key, label in pairs)

    def _take(self, rows: list[Rows], truth: IntArray, keys: list[int] | None, names: list[str] | None) -> Taken:
        """New forecasts: all are promises, and those with labels are paid for."""
        assert self.promised is not None
        if not len(truth):
            return Taken()
        self.promised.add(rows[0], names)
        if truth.min() >= 0:
            self._pay(rows, truth, keys, names)
            return Taken(counted=len(truth))
        known, unknown = np.flatnonzero(truth >= 0), np.flatnonzero(truth < 0)
        self._pay([each.take(known) for each in rows], truth[known], _some(keys, known), _some(names, known))
        if len(unknown) and keys is not None:
            numbers = np.hstack([np.column_stack([each.costs, each.promised]) for each in rows])[unknown]
            self.waiting.add(_some(keys, unknown) or [], numbers, _some(names, unknown))
        return Taken(counted=len(known), waiting=len(unknown))

    def _resolve(self, keys: list[int] | None, truth: IntArray, names: list[str] | None) -> None:
        """Pay for forecasts that waited, in the period that brings the label, or else in their own."""
        if not keys:
            return
        numbers, own = self.waiting.take(keys)
        parts = np.split(numbers, 1 + self.compares, axis=1)
        rows = [Rows(np.ascontiguousarray(part[:, :-1]), part[:, -1].copy()) for part in parts]
        fallback = None if None in own else [name for name in own if name is not None]
        self._pay(rows, truth, keys, names or fallback)

    def _pay(self, rows: list[Rows], truth: IntArray, keys: list[int] | None, names: list[str] | None) -> None:
        assert self._held is not None
        if len(truth):
            self._held.append((rows, truth, names))
            self.seen.update(zip(keys, (truth % LABELS).tolist(), strict=True) if keys else ())

    def _count(self, held: list[tuple[list[Rows], IntArray, list[str] | None]]) -> None:
        """Cases whose labels are known, all at once, so that no period closes before all of its rows are in."""
        if not held:
            return
        assert self.paid is not None
        if len(held) == 1:
            parts, truth, own = held[0]
            self.paid.add(parts[0], parts[1] if self.compares else None, truth, own)
            return
        rows, truths, names = zip(*held, strict=True)
        models = [joined(parts) for parts in zip(*rows, strict=True)]
        periods = None if names[0] is None else [name for part in names for name in part or ()]
        self.paid.add(models[0], models[1] if self.compares else None, np.concatenate(truths), periods)


def _some(values: Any, index: Any) -> Any:
    return None if values is None else [values[row] for row in index]


def _plain_label(label: Any) -> str | int:
    return int(label) if isinstance(label, (int, np.integer)) else str(label)

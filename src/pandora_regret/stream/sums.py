"""All that is summed over the rows of one model: every metric of a batch, in one compiled pass where it pays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.inference.intervals import MOST_CLASSES, effective_of_sums
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inference.resampling import Resampled
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.inputs.tables import NOTHING_RESCALED
from pandora_regret.kernels.engine import wasted_pairs, worth_compiling
from pandora_regret.metrics import Metric, comparison_metrics
from pandora_regret.metrics.fused import LANE_OF, confusion, score_columns
from pandora_regret.priors import Beta, Prior
from pandora_regret.tally import Means, Sum

RESAMPLED_ELEMENTS = 1 << 21
MOST_REMEMBERED = 1 << 16  # rows
MOST_KEYS = 1 << 22  # that are kept: 32 MB

MERGED = ("means", "seen", "fourth_powers", "counts", "taken_for", "pairs", "typical", "own", "replicates")

Item = TypeVar("Item")


@dataclass(frozen=True)
class Settings:
    """How rows are scored."""

    prior: Prior
    costs: FloatArray | None = None  # (K,) base costs; None: all 1, or each row's own
    logits: bool = False
    bootstrap: int = 0
    seed: int = 0
    with_pairs: bool = False
    metrics: tuple[Metric, ...] = field(default_factory=comparison_metrics)
    by_workup: bool = False

    @property
    def means(self) -> list[Metric]:
        """The metrics that are means of rows, those that the compiled loop knows first."""
        return sorted((metric for metric in self.metrics if metric.is_mean), key=lambda m: not self.is_fused(m))

    def is_fused(self, metric: Metric) -> bool:
        """Whether the compiled loop knows it; a work-up's cost goes by the key of a search's."""
        return metric.key in LANE_OF and not (self.by_workup and metric.key == "expected_cost")

    def forecast(self, batch: Batch, rows: IntArray | None = None) -> Forecast:
        """All rows of a batch, or some, with their base costs."""
        if batch.costs is None:
            return batch.forecast(self.logits, rows).with_costs(self.costs)
        costs = batch.costs / self.prior.mean
        return batch.forecast(self.logits, rows).with_costs(costs if rows is None else costs[rows])


@dataclass(frozen=True, eq=False)
class Scored:
    """What is known of the rows of a batch."""

    means: Means  # of each of the settings' means
    truth: IntArray  # (n,)
    predicted: NDArray[Any]  # (n,) the likeliest class; ties go to the lower column number
    weights: FloatArray | None  # (n,)
    table: FloatArray  # (means, n); after a compiled pass (means, 0), unless it was asked for
    forecast: Forecast | None = None  # where it was not a compiled pass

    @property
    def squares(self) -> FloatArray | None:
        """What each row adds to the sum of squared weights of cases, at most, (n,)."""
        if self.weights is None or self.forecast is None or self.forecast.shares is None:
            return None if self.weights is None else self.weights**2
        return np.asarray(self.weights**2 / self.forecast.shares)

    def confusion(self, weights: FloatArray | None, n_classes: int) -> FloatArray:
        """The weight of the rows of class i that are taken for class j, (K, K)."""
        if self.forecast is None:
            return confusion(self.truth, self.predicted, weights, n_classes)
        cells = np.bincount(self.truth * n_classes + self.predicted, weights, n_classes**2)
        return cells.reshape(n_classes, n_classes).astype(np.float64)


def score_batch(batch: Batch, settings: Settings, *, before: int = 0, with_table: bool = False) -> Scored:
    """All metrics of a batch's rows; a row that cannot be scored is an error that names it.

    `before` is how many rows were scored before: a small batch that ends a long stream is compiled work too.
    """
    prior, n_elements = settings.prior, (before + len(batch)) * len(batch.classes)
    plain = not settings.logits and batch.dtype.itemsize >= 4
    plain = plain and all(table is None for table in (batch.costs, batch.votes))
    with batch.blamed():
        if plain and isinstance(prior, Beta) and worth_compiling(n_elements, prior.alpha):
            scored = _by_columns(batch, settings, prior, with_table)
            if not np.isnan(scored.means.total.value).any():  # else the definitions tell in which row
                return scored
        return _by_definition(settings.forecast(batch), settings.means, prior)


def _by_columns(batch: Batch, settings: Settings, prior: Beta, with_table: bool) -> Scored:
    """One compiled pass for the metrics that it knows; doubtful rows and other metrics by definition."""
    fused = [metric for metric in settings.means if settings.is_fused(metric)]
    columns = (batch.columns, batch.truth, batch.weights, settings.costs, prior, batch.tolerance)
    scores = score_columns([metric.key for metric in fused], *columns, with_table=with_table)
    means, table, rows = scores.means, scores.table, scores.doubtful
    if len(rows):
        settled = _by_definition(settings.forecast(batch, rows), fused, prior)
        means.merge(settled.means)
        scores.predicted[rows] = settled.predicted
        if with_table:
            table[:, rows] = settled.table
    if len(others := settings.means[len(fused) :]):
        defined = _by_definition(settings.forecast(batch), others, prior)
        means = means.beside(defined.means)
        table = np.concatenate([table, defined.table[:, : table.shape[1]]])
    return Scored(means, batch.truth, scores.predicted, batch.weights, table)


def _by_definition(forecast: Forecast, metrics: list[Metric], prior: Prior) -> Scored:
    """The same as the registry has it, for any prior, costs of each row, and logits."""
    forecast = forecast.check()
    rows = replace(forecast, cluster=None, shares=None)
    table = np.stack([metric.of_rows(rows, prior) for metric in metrics])
    means = Means.of(forecast.per_case(table.T).T, forecast.case_weights)
    predicted = np.asarray(forecast.values.argmax(axis=1))
    return Scored(means, forecast.truth, predicted, forecast.weights, table, forecast)


class SeenIds:
    """Hashes of ids: all of them up to some millions, then those below a bound that falls as they get more.

    So a single id that comes twice among very many may go unnoticed, but a file that comes twice never does.
    """

    def __init__(self) -> None:
        self.parts: list[Keys] = []
        self.bound = np.iinfo(np.uint64).max
        self.repeated = np.empty(0, np.uint64)

    def add(self, keys: Keys) -> None:
        """The ids of further rows."""
        self.parts.append(keys[keys <= self.bound])
        while sum(map(len, self.parts)) > MOST_KEYS:
            self.settle()
            self.bound //= 2
            self.parts = [part[part <= self.bound] for part in self.parts]

    def merge(self, other: SeenIds) -> None:
        """The ids of other rows of the same table."""
        self.bound = min(self.bound, other.bound)
        self.repeated = _distinct(np.sort(np.concatenate([self.repeated, other.repeated])))
        self.parts = [part[part <= self.bound] for part in self.parts]
        for part in other.parts:
            self.add(part)

    def settle(self) -> Keys:
        """The hashes that came more than once."""
        keys = np.sort(np.concatenate([np.empty(0, np.uint64), *self.parts]))
        again = keys[1:] == keys[:-1]
        if again.any():
            self.repeated = _distinct(np.sort(np.concatenate([self.repeated, keys[1:][again]])))
            keys = _distinct(keys)
        self.parts = [keys]
        return self.repeated


def _distinct(keys: Keys) -> Keys:
    """Each once, of sorted ones; `np.unique` takes a hundred times as long."""
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


class StreamSums:
    """Everything summed over the rows of one model; two of them, of different rows, merge into one."""

    def __init__(self, name: str, classes: tuple[str, ...], settings: Settings) -> None:
        k, self.columns = len(classes), {metric.key: at for at, metric in enumerate(settings.means)}
        self.name, self.classes, self.settings = name, classes, settings
        self.cases = 0
        self.means = Means((len(self.columns),))
        self.fourth_powers = Sum()  # of weights
        self.counts = Sum((3, k))  # weight of each class that is true, predicted, and both
        self.taken_for = Sum((k, k)) if k <= MOST_CLASSES else None  # squared weight of i predicted as j
        self.pairs = Sum((k, k)) if settings.with_pairs else None
        self.typical = Sum((k,))  # of rows that have costs of their own
        self.own = Sum()  # what these pay for testing the truth itself
        self.seen = SeenIds()
        self.rescaled = NOTHING_RESCALED
        summed = 1 + len(self.columns) + (3 * k if k <= MOST_CLASSES else 0)
        self.replicates = Resampled(summed, settings.bootstrap, settings.seed) if settings.bootstrap else None
        self.kept: list[FloatArray] | None = []  # (1 + means, n): weights and scores; None: too many, or in groups

    def add(self, batch: Batch) -> None:
        """Add rows."""
        room = self._has_room(len(batch)) and batch.groups is None
        scored = score_batch(
            batch, self.settings, before=self.cases, with_table=room or self.replicates is not None
        )
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        table = scored.table if scored.forecast is None else scored.forecast.per_case(scored.table.T).T
        self._keep([np.concatenate([weights[None], table])] if room else None)
        self.means.merge(scored.means)
        self.fourth_powers.add(len(batch) if batch.weights is None else (batch.weights**4).sum())
        self.cases += len(batch)
        self.rescaled += batch.rescaled
        if batch.id_column is not None:
            from pandora_regret.stream.ids import hashes_of_batch  # which needs pyarrow, as files do

            self.seen.add(hashes_of_batch(batch))
        self._count(scored)
        if self.pairs is not None:
            for _, _, classes, sums in wasted_pairs(self.settings.forecast(batch), self.settings.prior):
                self.pairs.add(sums, index=classes)
        if batch.costs is not None and scored.forecast is not None:
            self._add_costs(batch.costs, scored.forecast)
        if self.replicates is not None:
            self._resample(self.replicates, batch, scored)

    def _has_room(self, n_rows: int) -> bool:
        kept = self.kept
        return kept is not None and sum(part.shape[1] for part in kept) + n_rows <= MOST_REMEMBERED

    def _keep(self, parts: list[FloatArray] | None) -> None:
        """The scores of further rows, as long as they are not too many, to find out whether a handful matters."""
        fits = parts is not None and self._has_room(sum(part.shape[1] for part in parts))
        self.kept = [*(self.kept or []), *(parts or [])] if fits else None

    def _count(self, scored: Scored) -> None:
        """Which class is true, which is predicted, and which is taken for which."""
        truth, predicted, weights, k = scored.truth, scored.predicted, scored.weights, len(self.classes)
        if self.taken_for is None:
            right = (predicted == truth) * (1.0 if weights is None else weights)
            counts = [(truth, weights), (predicted, weights), (truth, right)]
            self.counts.add(np.stack([np.bincount(classes, by, k) for classes, by in counts]))
            return
        cells = scored.confusion(weights, k)
        self.counts.add(np.stack([cells.sum(axis=1), cells.sum(axis=0), np.diag(cells)]))
        self.taken_for.add(cells if weights is None else scored.confusion(scored.squares, k))

    def _add_costs(self, costs: FloatArray, forecast: Forecast) -> None:
        assert forecast.costs is not None
        self.typical.add(costs.sum(axis=0))
        own = (forecast.costs * self.settings.prior.mean)[np.arange(len(forecast)), forecast.truth]
        self.own.add((own if forecast.weights is None else own * forecast.weights).sum())

    def _resample(self, replicates: Resampled, batch: Batch, scored: Scored) -> None:
        """Add a batch to every replicate, some rows at a time: drawn by group, else by id, else by number."""
        names = batch.ids if batch.groups is None else batch.groups
        keys = keys_of(np.arange(batch.first_row, batch.first_row + len(batch)) if names is None else names)
        keys = keys if scored.forecast is None else scored.forecast.per_row(keys)
        step = max(1, RESAMPLED_ELEMENTS // (1 + len(scored.table) + 3 * len(self.classes)))
        for start in range(0, len(keys), step):
            rows = slice(start, start + step)
            replicates.add(keys[rows], self._weighted_columns(scored, rows))

    def _weighted_columns(self, scored: Scored, rows: slice) -> FloatArray:
        """What is summed in each replicate: weight, metrics, and class counts, (n, columns)."""
        table, truth, predicted = scored.table[:, rows], scored.truth[rows], scored.predicted[rows]
        finite = np.where(np.isfinite(table), table, 0.0)  # an infinite mean has no interval
        columns = [np.ones(len(truth)), *finite]
        if self.taken_for is not None:
            occurs, named = (np.arange(len(self.classes))[:, None] == classes for classes in (truth, predicted))
            columns += [*occurs, *named, *(occurs & named)]
        weights = 1.0 if scored.weights is None else scored.weights[rows, None]
        return np.stack(columns, axis=1) * weights

    def merge(self, other: StreamSums) -> None:
        """Add the rows of another of the same model."""
        self.cases += other.cases
        self.rescaled += other.rescaled
        self._keep(other.kept)
        for name in MERGED:
            if (ours := getattr(self, name)) is not None:
                ours.merge(getattr(other, name))

    @property
    def weight(self) -> float:
        """The sum of weights; the number of cases where there are none."""
        return float(self.means.weight.value)

    @property
    def effective(self) -> float:
        """How many cases of equal weight would say as much."""
        second = self.weight**2 / self.means.effective_count
        return effective_of_sums(self.weight, second, float(self.fourth_powers.value))


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, the next one being made while one is at work."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, iterator, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, iterator, None)
            yield item

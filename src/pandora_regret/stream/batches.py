"""Every metric of the rows of a batch: in one compiled pass where there is enough of it, else by definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import worth_compiling
from pandora_regret.metrics import Metric, comparison_metrics
from pandora_regret.metrics.fused import LANE_OF, confusion, score_columns
from pandora_regret.priors import Beta, Prior
from pandora_regret.tally import Means

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
    workup_prior: Prior | None = None  # how costs of a work-up vary, where that is scored

    @property
    def means(self) -> list[Metric]:
        """The metrics that are means of rows, those that the compiled loop knows first."""
        return sorted((metric for metric in self.metrics if metric.is_mean), key=lambda m: m.key not in LANE_OF)

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
    predicted: NDArray[Any]  # (n,) the likeliest class; ties go to the lower column number
    table: FloatArray  # (means, n); after a compiled pass (means, 0), unless it was asked for
    compiled: bool = False

    def confusion(self, truth: IntArray, weights: FloatArray | None, n_classes: int) -> FloatArray:
        """The weight of the rows of class i that are taken for class j, (K, K)."""
        if self.compiled:
            return confusion(truth, self.predicted, weights, n_classes)
        cells = np.bincount(truth * n_classes + self.predicted, weights, n_classes**2)
        return cells.reshape(n_classes, n_classes).astype(np.float64)


def score_batch(batch: Batch, settings: Settings, *, before: int = 0, with_table: bool = False) -> Scored:
    """All metrics of a batch's rows; a row that cannot be scored is an error that names it.

    `before` is how many rows were scored before: a small batch that ends a long stream is compiled work too.
    """
    prior, n_elements = settings.prior, (before + len(batch)) * len(batch.classes)
    with batch.blamed():
        if isinstance(prior, Beta) and _is_plain(batch, settings) and worth_compiling(n_elements, prior.alpha):
            scored = _by_columns(batch, settings, prior, with_table)
            if not np.isnan(scored.means.total.value).any():  # else the definitions tell in which row
                return scored
        return _by_definition(settings.forecast(batch), settings.means, prior)


def _is_plain(batch: Batch, settings: Settings) -> bool:
    """Whether the compiled loop knows how: probabilities that numba can read, one price list for all rows."""
    return (
        not settings.logits
        and batch.dtype.itemsize >= 4
        and all(table is None for table in (batch.costs, batch.votes))
    )


def _by_columns(batch: Batch, settings: Settings, prior: Beta, with_table: bool) -> Scored:
    """One compiled pass for the metrics that it knows; doubtful rows and other metrics by definition."""
    known = [metric for metric in settings.means if metric.key in LANE_OF]
    columns = (batch.columns, batch.truth, batch.weights, settings.costs, prior, batch.tolerance)
    fused = score_columns([metric.key for metric in known], *columns, with_table=with_table)
    means, table, rows = fused.means, fused.table, fused.doubtful
    if len(rows):
        settled = _by_definition(settings.forecast(batch, rows), known, prior)
        means.merge(settled.means)
        fused.predicted[rows] = settled.predicted
        if with_table:
            table[:, rows] = settled.table
    if len(others := settings.means[len(known) :]):
        defined = _by_definition(settings.forecast(batch), others, prior)
        means = means.beside(defined.means)
        table = np.concatenate([table, defined.table[:, : table.shape[1]]])
    return Scored(means, fused.predicted, table, compiled=True)


def _by_definition(forecast: Forecast, metrics: list[Metric], prior: Prior) -> Scored:
    """The same as the registry has it, for any prior, costs of each row, and logits."""
    forecast = forecast.check()
    table = np.stack([metric.of_rows(forecast, prior) for metric in metrics])
    predicted = np.asarray(forecast.by_case().values.argmax(axis=1))
    return Scored(Means.of(table, forecast.case_weights), predicted, table)


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, the next one being made while one is at work."""
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, iterator, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, iterator, None)
            yield item

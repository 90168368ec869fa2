"""Every metric of every row of a batch: by one compiled pass where there is enough of it, else step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import realised_costs, search_costs, total_losses, worth_compiling
from pandora_regret.kernels.reference import BROKEN_BY_INDEX, of_class, probabilities, rank_odds
from pandora_regret.priors import Beta, Prior
from pandora_regret.scores import mean_or_rows
from pandora_regret.tally import Means

MEANS = ("loss", "expected_cost", "realised_cost", "tests", "log_loss", "brier", "accuracy")
BOUNDS = {"tests": (1.0, np.inf), "accuracy": (0.0, 1.0), "macro_f1": (0.0, 1.0)}  # all others: not negative


@dataclass(frozen=True, eq=False)
class RowMetrics:
    """What is known of the rows of a batch; the loss is that of uniform costs, ``sum_j L_1(p_i / p_j)``."""

    means: Means  # of each of MEANS
    predicted: NDArray[Any]  # (n,) the likeliest class; ties go to the lower column number
    table: FloatArray | None = None  # (len(MEANS), n), where it was asked for
    compiled: bool = False

    def confusion(self, truth: IntArray, weights: FloatArray | None, n_classes: int) -> FloatArray:
        """The weight of the rows of class i that are taken for class j, (K, K)."""
        if not self.compiled:
            cells = np.bincount(truth * n_classes + self.predicted, weights, n_classes**2)
            return cells.reshape(n_classes, n_classes).astype(np.float64)
        from pandora_regret.kernels import streamed

        counts = np.zeros((n_classes, n_classes))
        streamed.add_counts(truth, self.predicted, _or_empty(weights), counts)
        return counts


def within_bounds(metric: str, value: float, low: float, high: float) -> tuple[float, float]:
    """An interval that ends where the metric does, and still holds the value."""
    least, most = BOUNDS.get(metric, (0.0, np.inf))
    least, most = min(least, value), max(most, value)
    return float(min(max(low, least), most)), float(min(max(high, least), most))


def macro_f1(found: FloatArray, size: FloatArray) -> FloatArray:
    """Of true positives TP and ``D = 2 TP + FP + FN``, over all K classes, along the last axis.

    It is 0 for a class that neither occurs nor is predicted.
    """
    return np.asarray((2 * found / or_one(size)).mean(axis=-1))


def or_one(size: FloatArray) -> FloatArray:
    """A denominator to divide zero by."""
    return np.where(size > 0, size, 1.0)


def row_metrics(
    batch: Batch,
    logits: bool,
    prior: Prior,
    costs: FloatArray | None,
    *,
    before: int = 0,
    with_table: bool = False,
) -> RowMetrics:
    """All metrics of a batch under a prior and base costs; rows that cannot be scored are an error.

    `before` is how many rows were scored before: a small batch that ends a long stream is compiled work too.
    """
    with batch.blamed():
        n_elements = (before + len(batch)) * len(batch.classes)
        if isinstance(prior, Beta) and _is_plain(batch, logits) and worth_compiling(n_elements, prior.alpha):
            return _by_columns(batch, prior, costs, with_table)
        base = costs if batch.costs is None else batch.costs / prior.mean
        return _step_by_step(batch.forecast(logits).with_costs(base), prior)


def _is_plain(batch: Batch, logits: bool) -> bool:
    """Whether the compiled loop knows how: probabilities that numba can read, one price list for all rows."""
    return not logits and batch.costs is None and batch.dtype.itemsize >= 4


def _by_columns(batch: Batch, prior: Beta, costs: FloatArray | None, with_table: bool) -> RowMetrics:
    """One pass over the columns; doubtful rows go step by step, which explains what is wrong with them."""
    from pandora_regret.kernels import compiled, streamed

    n = len(batch)
    predicted, doubtful = np.empty(n, np.int32), np.empty(n, np.bool_)
    table = np.empty((len(MEANS), n if with_table else 0))
    addresses = np.array([column.__array_interface__["data"][0] for column in batch.columns])
    numbers = (addresses, np.empty(0, batch.dtype), batch.truth, _or_empty(batch.weights), _or_empty(costs))
    given = (*numbers, float(prior.alpha), prior.mean, prior.loss_to_share, batch.tolerance)

    def score(which: slice) -> tuple[FloatArray, FloatArray]:
        sums, of_metrics = np.zeros(3), np.zeros((4, len(MEANS)))
        ends = (which.start, min(which.stop, n))
        streamed.score(*given, *ends, sums, of_metrics, predicted, doubtful, table)
        return sums, of_metrics

    means = _combined(compiled.in_threads(score, n, n * len(batch.classes)))
    if doubtful.any():
        rows = np.flatnonzero(doubtful)
        settled = _step_by_step(batch.forecast(False, rows).with_costs(costs), prior)
        means.merge(settled.means)
        predicted[rows] = settled.predicted
        if with_table:
            table[:, rows] = settled.table
    return RowMetrics(means, predicted, table, compiled=True)


def _or_empty(values: FloatArray | None) -> FloatArray:
    return np.empty(0) if values is None else values


def _combined(parts: list[tuple[FloatArray, FloatArray]]) -> Means:
    """The sums of all threads, moved to one centre."""
    (count, weight, heft), (total, centre, drift, spread) = (
        np.array(of).swapaxes(0, 1) for of in zip(*parts, strict=True)
    )
    middle = centre[0]
    shift, w = centre - middle, heft[:, None]
    moments = np.array(
        [np.broadcast_to(w, drift.shape), drift + shift * w, spread + shift * (2 * drift + shift * w)]
    )
    return Means.of_sums(int(count.sum()), weight.sum(), total.sum(axis=0), middle, moments.sum(axis=1))


def _step_by_step(forecast: Forecast, prior: Prior) -> RowMetrics:
    """The same for any prior, costs of each row, and logits."""
    loss = mean_or_rows(total_losses(forecast.with_costs(None), 1.0), per_instance=True)
    cost = mean_or_rows(search_costs(forecast, prior), per_instance=True)
    table = np.stack([loss, cost, *with_known_costs(forecast, prior), *by_probability(forecast)])
    return RowMetrics(Means.of(table, forecast.weights), np.asarray(forecast.values.argmax(axis=1)), table)


def with_known_costs(forecast: Forecast, prior: Prior) -> tuple[FloatArray, FloatArray]:
    """What the search at the mean costs pays, and how many tests it makes: the truth's place in its order."""
    unit = prior.mean
    if isinstance(unit, np.ndarray):  # one mean for all classes changes no order, several do
        forecast, unit = forecast.with_costs(unit if forecast.costs is None else forecast.costs * unit), 1.0
    spent = mean_or_rows(realised_costs(forecast, BROKEN_BY_INDEX), per_instance=True)
    return unit * np.asarray(spent), np.concatenate([_place_of_truth(block) for block in forecast.blocks()])


def _place_of_truth(block: Forecast) -> FloatArray:
    odds, lower_number = rank_odds(block), np.arange(block.n_classes) < block.truth[:, None]
    return np.asarray(1.0 + np.where(odds == 0, lower_number, odds < 0).sum(axis=1))


def by_probability(forecast: Forecast) -> FloatArray:
    """Log loss, Brier score and whether the likeliest class is right, (3, N)."""
    return np.concatenate([_by_probability_of(block) for block in forecast.blocks()], axis=1)


def _by_probability_of(block: Forecast) -> FloatArray:
    p, truth = probabilities(block), block.truth[:, None]
    off = p.copy()
    np.put_along_axis(off, truth, of_class(p, block.truth) - 1, axis=1)
    right = block.values.argmax(axis=1) == block.truth
    return np.stack([_log_losses(block), (off**2).sum(axis=1), right])


def _log_losses(block: Forecast) -> FloatArray:
    """``-ln p_i``; from logits without their softmax, which may underflow."""
    ours = of_class(block.values, block.truth)[:, 0]
    if block.logits:
        largest = block.values.max(axis=1)
        return np.asarray(np.log(np.exp(block.values - largest[:, None]).sum(axis=1)) + (largest - ours))
    with np.errstate(divide="ignore"):
        return np.asarray(0.0 - np.log(ours))

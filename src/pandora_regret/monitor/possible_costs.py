"""Forecasts as what the monitor needs of them: what each may cost, what it promises, what it did cost.

They are tables (n, K + 1): what a row's search costs if class k is the truth, and in the last column the mean of
that under the forecast itself, which is its promise.
"""

from __future__ import annotations

import numpy as np

from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import has_numba
from pandora_regret.kernels.reference import probabilities, relative_tie
from pandora_regret.priors import Beta, Prior


def overpaid(rows: FloatArray, truth: IntArray) -> FloatArray:
    """What was paid beyond the promise, and the least and most that it could have been, (3, n)."""
    beyond = _realised(rows[:, :-1] - rows[:, -1:], truth)
    np.minimum(beyond[1], 0.0, out=beyond[1])  # rounding may miss 0
    np.maximum(beyond[2], 0.0, out=beyond[2])
    return beyond


def saved(rows: FloatArray, by: FloatArray, truth: IntArray) -> FloatArray:
    """What another model saved, and the least and most that it could have been given both, (3, n)."""
    return _realised(rows[:, :-1] - by[:, :-1], truth)


def _realised(table: FloatArray, truth: IntArray) -> FloatArray:
    """The entry of each row at its truth, and the smallest and largest."""
    return np.stack([table[np.arange(len(table)), truth], table.min(axis=1), table.max(axis=1)])


def possible_costs(forecast: Forecast, prior: Prior) -> FloatArray:
    """Of forecasts with base costs (K,), or None, whose numbers are checked here; (n, K + 1)."""
    if not len(forecast) or forecast.logits or not isinstance(prior, Beta) or not has_numba():
        return _by_reference(forecast, prior)
    rows = _compiled(forecast, prior)
    doubtful = np.flatnonzero(np.isnan(rows[:, -1]))
    if len(doubtful):
        rows[doubtful] = _by_reference(forecast.rows(doubtful), prior)
    return rows


def _by_reference(forecast: Forecast, prior: Prior) -> FloatArray:
    parts = [np.empty((0, forecast.n_classes + 1))]
    for block in forecast.blocks():
        costs, p = costs_for_every_truth(block, prior), probabilities(block)
        promised = (p * costs).sum(axis=1) / p.sum(axis=1)  # a row may sum to 1 only nearly
        parts.append(np.column_stack([costs, promised]))
    return np.concatenate(parts)


def _compiled(forecast: Forecast, prior: Beta) -> FloatArray:
    from pandora_regret.kernels.compiled import in_threads
    from pandora_regret.monitor.possible_costs_loops import row_costs

    base = np.ones(forecast.n_classes) if forecast.costs is None else forecast.costs
    values = np.ascontiguousarray(forecast.values, dtype=np.float64)
    rows = np.empty((len(values), forecast.n_classes + 1))
    settings = (base, prior.mean, prior.loss_to_share, prior.alpha, relative_tie(forecast), forecast.tolerance)

    def fill(part: slice) -> None:
        row_costs(values[part], *settings, rows[part, :-1], rows[part, -1])

    in_threads(fill, len(values), values.size)
    return rows


def bounds(costs: FloatArray, prior: Prior) -> tuple[float, float]:
    """The least and the most that any search costs on average: one test, or all of them; base costs (K,)."""
    means = costs * prior.mean
    return float(means.min()), float(means.sum())

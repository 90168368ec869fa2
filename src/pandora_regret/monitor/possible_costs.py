"""Forecasts as what the monitor needs of them: what each may cost, what it promises, what it did cost.

They are tables (n, K + 1): what a row's search costs if class k is the truth, and in the last column the mean of
that under the forecast itself, which is its promise.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.reference import probabilities
from pandora_regret.priors import Prior
from pandora_regret.workup import Workup
from pandora_regret.workup.scores import WorkupRows


def overpaid(rows: FloatArray, truth: IntArray) -> FloatArray:
    """What was paid beyond the promise, and the least and most that it could have been, (3, n)."""
    beyond = realised(rows[:, :-1] - rows[:, -1:], truth)
    np.minimum(beyond[1], 0.0, out=beyond[1])  # rounding may miss 0
    np.maximum(beyond[2], 0.0, out=beyond[2])
    return beyond


def realised(table: FloatArray, truth: IntArray) -> FloatArray:
    """The entry of each row, (n, K), at its truth, and the smallest and largest, (3, n)."""
    ends = (reduce(smaller, table.T) for smaller in (np.minimum, np.maximum))  # of few classes, fast
    return np.stack([table[np.arange(len(table)), truth], *ends])


def possible_costs(forecast: Forecast, prior: Prior, workup: Workup | None = None) -> FloatArray:
    """Of forecasts with base costs (K,), or None, whose numbers are checked here; (n, K + 1)."""
    parts = [np.empty((0, forecast.n_classes + 1))]
    searches = ((block, costs_for_every_truth(block, prior)) for block in forecast.blocks())
    for block, costs in searches if workup is None else WorkupRows(workup, forecast).costs_for_every_truth():
        p = probabilities(block)
        promised = np.einsum("nk,nk->n", p, costs) / np.einsum("nk->n", p)  # a row may sum to 1 only nearly
        parts.append(np.column_stack([costs, promised]))
    return np.concatenate(parts)

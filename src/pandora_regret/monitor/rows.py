"""Forecasts as what the monitor needs of them: what each may cost, what it promises, what it did cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from pandora_regret.entropy import costs_for_every_truth
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.engine import has_numba
from pandora_regret.kernels.reference import probabilities, relative_tie
from pandora_regret.priors import Beta, Prior


@dataclass(frozen=True)
class Rows:
    """Forecasts of n cases, each with the costs that its search may have."""

    costs: FloatArray  # (n, K) if class k is the truth
    promised: FloatArray  # (n,) their mean under the forecast itself

    def __len__(self) -> int:
        return len(self.promised)

    def take(self, index: Any) -> Rows:
        """Some of the rows."""
        return Rows(self.costs[index], self.promised[index])

    @classmethod
    def empty(cls, n_classes: int) -> Self:
        """No rows."""
        return cls(np.empty((0, n_classes)), np.empty(0))

    def overpaid(self, truth: IntArray) -> FloatArray:
        """What was paid beyond the promise, and the least and most that it could have been, (3, n)."""
        overpaid = _realised(self.costs, truth, self.promised)
        np.minimum(overpaid[1], 0.0, out=overpaid[1])  # rounding may miss 0
        np.maximum(overpaid[2], 0.0, out=overpaid[2])
        return overpaid

    def saved_by(self, other: Rows, truth: IntArray) -> FloatArray:
        """What another model saved, and the least and most that it could have been given both, (3, n)."""
        return _realised(self.costs - other.costs, truth, np.zeros(len(self)))


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Rows(np.concatenate([part.costs for part in parts]), np.concatenate([part.promised for part in parts]))


def _realised(table: FloatArray, truth: IntArray, offset: FloatArray) -> FloatArray:
    """The entry of each row at its truth, and the smallest and largest, all less an offset."""
    if not has_numba():
        entries = table[np.arange(len(table)), truth]
        return np.stack([entries, table.min(axis=1), table.max(axis=1)]) - offset
    from pandora_regret.monitor import loops

    out = np.empty((3, len(table)))
    loops.realised(table, truth, offset, out)
    return out


def read_rows(forecast: Forecast, prior: Prior) -> Rows:
    """Of forecasts with base costs (K,), or None, whose numbers are checked here."""
    if not isinstance(prior, Beta) or forecast.logits or not has_numba():
        return _by_reference(forecast, prior)
    rows = _compiled(forecast, prior)
    doubtful = np.flatnonzero(np.isnan(rows.promised))
    if len(doubtful):
        again = _by_reference(forecast.rows(doubtful), prior)
        rows.costs[doubtful], rows.promised[doubtful] = again.costs, again.promised
    return rows


def _by_reference(forecast: Forecast, prior: Prior) -> Rows:
    return joined([_of_block(block, prior) for block in forecast.blocks()])


def _of_block(block: Forecast, prior: Prior) -> Rows:
    costs, p = costs_for_every_truth(block, prior), probabilities(block)
    return Rows(costs, (p * costs).sum(axis=1) / p.sum(axis=1))  # a row may sum to 1 only nearly


def _compiled(forecast: Forecast, prior: Beta) -> Rows:
    from pandora_regret.kernels.compiled import in_threads
    from pandora_regret.monitor import loops

    base = np.ones(forecast.n_classes) if forecast.costs is None else forecast.costs
    values = np.ascontiguousarray(forecast.values, dtype=np.float64)
    rows = Rows(np.empty(values.shape), np.empty(len(values)))
    settings = (base, prior.mean, prior.loss_to_share, prior.alpha, relative_tie(forecast), forecast.tolerance)

    def fill(part: slice) -> None:
        loops.row_costs(values[part], *settings, rows.costs[part], rows.promised[part])

    in_threads(fill, len(values), values.size)
    return rows


def bounds(costs: FloatArray, prior: Prior) -> tuple[float, float]:
    """The least and the most that any search can cost in the mean: one test, or all of them; base costs (K,)."""
    means = costs * prior.mean
    return float(means.min()), float(means.sum())

"""Mergeable sums behind every mean: add rows, merge two tallies, read the result.

Sums are compensated (Neumaier) and moments are kept about the mean (Chan), so that neither the order of rows
nor how they were batched changes the answer beyond 1e-12 relative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray


class Sum:
    """A sum of arrays of one shape that also carries what rounding lost."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.high, self.low = np.zeros(shape), np.zeros(shape)

    def add(self, term: Any, at: Any = ...) -> None:
        """Add a term, to the entries `at` only."""
        high, total = self.high[at], self.high[at] + term
        with np.errstate(invalid="ignore"):
            lost = np.where(np.abs(high) >= np.abs(term), (high - total) + term, (term - total) + high)
        self.high[at], self.low[at] = total, self.low[at] + np.where(np.isfinite(total), lost, 0.0)

    def merge(self, other: Sum) -> None:
        """Add another sum."""
        self.add(other.high)
        self.add(other.low)

    @property
    def value(self) -> FloatArray:
        """The sum, rounded once."""
        return np.asarray(self.high + self.low)


class Mean:
    """A weighted mean and its standard error, from sums that can be merged."""

    def __init__(self) -> None:
        self.count = 0  # rows of positive weight
        self.weight, self.total = Sum(), Sum()  # sums of w and of w x
        self._centre = 0.0
        self._moments = np.zeros(3)  # sums of w^2, w^2 (x - centre), w^2 (x - centre)^2

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray | None = None) -> Mean:
        """The mean of one batch."""
        batch, w = cls(), np.ones(len(values)) if weights is None else weights
        values, w = values[w > 0], w[w > 0]
        batch.count = len(values)
        if batch.count:
            batch.weight.add(w.sum())
            batch.total.add((w * values).sum())
            batch._centre = batch.mean
            with np.errstate(invalid="ignore"):  # an infinite score has no spread
                gap = values - batch._centre
                batch._moments = np.array([(w**2).sum(), (w**2 * gap).sum(), (w**2 * gap**2).sum()])
        return batch

    def add(self, values: FloatArray, weights: FloatArray | None = None) -> None:
        """Add rows."""
        self.merge(Mean.of(values, weights))

    def merge(self, other: Mean) -> None:
        """Add the rows of another tally."""
        self.count += other.count
        self.weight.merge(other.weight)
        self.total.merge(other.total)
        centre = self.mean if self.count else 0.0
        self._moments = self._moments_about(centre) + other._moments_about(centre)
        self._centre = centre

    def _moments_about(self, centre: float) -> FloatArray:
        w, drift, spread = self._moments
        with np.errstate(invalid="ignore"):
            shift = self._centre - centre if w else 0.0
            return np.array([w, drift + shift * w, spread + 2 * shift * drift + shift**2 * w])

    @property
    def mean(self) -> float:
        """The weighted mean; nan before any row came."""
        return float(self.total.value / self.weight.value) if self.count else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the mean, by linearisation, so that scaling all weights changes nothing; nan for a single row."""
        if self.count < 2:
            return float("nan")
        variance = self._moments[2] * self.count / (self.count - 1)
        return float(np.sqrt(variance) / self.weight.value)


class Tally:
    """All that is summed over instances: expected cost, realised cost, and who pays for which wrong test."""

    def __init__(self, n_classes: int) -> None:
        self.cost, self.realised = Mean(), Mean()
        self._pairs = Sum((n_classes, n_classes))

    def add(
        self,
        truth: IntArray,
        unavoidable: FloatArray,
        wasted: FloatArray,
        realised: FloatArray,
        weights: FloatArray | None = None,
    ) -> None:
        """Add rows: what finding the truth costs (n,), what wrong tests cost (n, K), what was paid (n,)."""
        self.cost.add(unavoidable + wasted.sum(axis=1), weights)
        self.realised.add(realised, weights)
        weighted = wasted if weights is None else wasted * weights[:, None]
        order = np.argsort(truth, kind="stable")
        classes, starts = np.unique(truth[order], return_index=True)
        self._pairs.add(np.add.reduceat(weighted[order], starts, axis=0), at=classes)

    def merge(self, other: Tally) -> None:
        """Add the rows of another tally."""
        self.cost.merge(other.cost)
        self.realised.merge(other.realised)
        self._pairs.merge(other._pairs)

    @property
    def mean(self) -> float:
        """Mean expected search cost."""
        return self.cost.mean

    @property
    def standard_error(self) -> float:
        """Of the mean expected search cost."""
        return self.cost.standard_error

    @property
    def pair_costs(self) -> FloatArray:
        """(K, K): mean spend, an instance, on testing j when the truth is i."""
        return np.asarray(self._pairs.value / self.cost.weight.value)

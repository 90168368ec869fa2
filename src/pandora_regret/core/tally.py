"""Mergeable sums behind every mean: add rows, merge two tallies, read the result.

Sums are compensated (Neumaier) and moments are kept about the mean (Chan), so that neither the order of rows
nor how they were batched changes the answer beyond 1e-12 relative.
"""

from __future__ import annotations

from types import EllipsisType
from typing import Self, TypeAlias

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.text import count

Index: TypeAlias = IntArray | slice | EllipsisType  # of some entries of an array, or of all

ALONE = 1 + 1e-9  # rows, effectively: one says nothing about others


class Sum:
    """A sum of arrays of one shape that also carries what rounding lost."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.high = np.zeros(shape)
        self.low = np.zeros(shape)

    def add(self, term: FloatArray | IntArray | float, index: Index = ...) -> None:
        """Add a term, to some entries only if `index` names them."""
        high = self.high[index]
        total = self.high[index] + term
        with np.errstate(invalid="ignore"):
            lost = np.where(np.abs(high) >= np.abs(term), (high - total) + term, (term - total) + high)
        self.high[index] = total
        self.low[index] = self.low[index] + np.where(np.isfinite(total), lost, 0.0)

    def merge(self, other: Sum) -> None:
        """Add all terms of another sum, of the same shape, to this one."""
        self.add(other.high)
        self.add(other.low)

    @property
    def value(self) -> FloatArray:
        """The sum, rounded once."""
        return self.high + self.low


class Means:
    """Weighted means of several quantities of the same rows and their standard errors, from sums that merge."""

    def __init__(self, shape: tuple[int, ...] = ()) -> None:
        self.count = 0  # rows of positive weight
        self.weight = Sum()  # sums of w and of w x
        self.total = Sum(shape)
        self._centre = np.zeros(shape)
        self._moments = np.zeros((3, *shape))  # sums of w^2, w^2 (x - centre), w^2 (x - centre)^2

    @classmethod
    def of(cls, values: FloatArray, weights: FloatArray | None = None) -> Self:
        """One batch: its rows lie along the last axis."""
        weights = np.ones(values.shape[-1]) if weights is None else weights
        if not weights.all():
            values = values[..., weights > 0]
            weights = weights[weights > 0]
        if not len(weights):
            return cls(values.shape[:-1])
        total = (weights * values).sum(axis=-1)
        weight = weights.sum()
        with np.errstate(invalid="ignore"):  # an infinite score has no spread
            pull = weights * (values - (total / weight)[..., None])
            drift = (weights * pull).sum(axis=-1)  # BLAS would keep cores busy
            spread = (pull * pull).sum(axis=-1)
        second = np.full(drift.shape, (weights**2).sum())
        return cls.of_sums(len(weights), weight, total, total / weight, np.array([second, drift, spread]))

    @classmethod
    def of_sums(
        cls, count: int, weight: float, total: FloatArray, centre: FloatArray, moments: FloatArray
    ) -> Self:
        """From what a compiled loop has summed: w, w x, and ``w^2 (x - centre)^k`` for k = 0, 1, 2."""
        tally = cls(total.shape)
        batch = cls(total.shape)
        batch.count = count
        batch._centre = centre
        batch._moments = moments
        batch.weight.add(weight)
        batch.total.add(total)
        tally.merge(batch)  # which centres it on its mean
        return tally

    def add(self, values: FloatArray, weights: FloatArray | None = None) -> None:
        """Add the values of rows."""
        self.merge(type(self).of(values, weights))

    def merge(self, other: Self) -> None:
        """Add the rows of another tally."""
        before = self._centre
        self.count += other.count
        self.weight.merge(other.weight)
        self.total.merge(other.total)
        self._centre = self.values if self.count else before
        with np.errstate(invalid="ignore"):
            ours = moved(self._moments, before - self._centre)
            self._moments = ours + moved(other._moments, other._centre - self._centre)

    @property
    def values(self) -> FloatArray:
        """The weighted means; nan before any row came."""
        if not self.count:
            return np.full(self._centre.shape, np.nan)
        return self.total.value / self.weight.value

    @property
    def effective_count(self) -> float:
        """How many rows of equal weight would say as much, ``(sum w)^2 / sum w^2`` (Kish); 0 without any row."""
        return float(self.weight.value**2 / self._moments[0].flat[0]) if self.count else 0.0

    @property
    def standard_errors(self) -> FloatArray:
        """By linearisation, so that scaling all weights changes nothing; nan where one row has all the weight."""
        if self.effective_count < ALONE:
            return np.full(self._centre.shape, np.nan)
        variance = self._moments[2] / (1 - 1 / self.effective_count)
        return np.asarray(np.sqrt(variance) / self.weight.value)

    @property
    def mean(self) -> float:
        """The weighted mean of one quantity; nan before any row came."""
        return float(self.values)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean of one quantity; nan for a single row."""
        return float(self.standard_errors)


def moved(moments: FloatArray, shift: FloatArray) -> FloatArray:
    """Sums of w^2, w^2 d and w^2 d^2, of deviations d that are all larger by a shift."""
    w, drift, spread = moments
    return np.array([w, drift + shift * w, spread + 2 * shift * drift + shift**2 * w])


class Tally:
    """All that is summed over instances: expected cost, realised cost, and who pays for which wrong test.

    See Also
    --------
    search_tally : What makes it.
    """

    def __init__(self, n_classes: int) -> None:
        self.cost = Means()
        self.realised = Means()
        self.pairs = Sum((n_classes, n_classes))

    def merge(self, other: Tally) -> Self:
        """Add the rows of another tally; the tally itself, which then holds both."""
        self.cost.merge(other.cost)
        self.realised.merge(other.realised)
        self.pairs.merge(other.pairs)
        return self

    @property
    def mean(self) -> float:
        """Mean expected search cost."""
        return self.cost.mean

    @property
    def standard_error(self) -> float:
        """The standard error of the mean expected search cost."""
        return self.cost.standard_error

    @property
    def pair_costs(self) -> FloatArray:
        """(K, K): mean spend per instance on testing j when the truth is i."""
        return self.pairs.value / self.cost.weight.value

    def __repr__(self) -> str:
        if not self.cost.count:
            return "Tally(no rows)"
        return (
            f"Tally({count(self.cost.count)} rows, mean={self.mean:.6g}, standard_error={self.standard_error:.2g})"
        )

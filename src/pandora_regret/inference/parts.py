"""Means over parts of a sample, such as the cases of one hospital, and how a part differs from all other rows.

Tables are (..., N): any number of quantities, whose rows lie along the last axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import (
    ROUNDING,
    effective_number,
    effective_of_sums,
    student_interval,
    student_p_values,
)
from pandora_regret.inference.joint import Carriers, carriers_of
from pandora_regret.inputs import FloatArray, IntArray


@dataclass(frozen=True)
class PartMeans:
    """Some numbers found on a sample, and how far each may be off, (...) each."""

    value: FloatArray
    error: FloatArray  # NaN where one unit has all the weight
    effective: FloatArray  # so many units of equal weight would say as much

    def estimate(self, index: Any, level: float) -> Estimate:
        """One of them with Student's interval."""
        value, error, effective = (float(part[index]) for part in (self.value, self.error, self.effective))
        return Estimate(value, *student_interval(value, error, effective, level))

    def p_values(self, scale: FloatArray) -> FloatArray:
        """Two-sided, of the hypotheses that each is 0, (...); NaN where that is not known."""
        return student_p_values(self.value, self.error, self.effective, scale)


@dataclass(frozen=True)
class SamplePart:
    """Some rows of a sample: weighted means of a table's quantities, and what each independent unit adds."""

    value: FloatArray  # (...)
    influence: FloatArray  # (..., U)
    shares: FloatArray  # (U,) of the part's weight
    units: IntArray  # (U,) the units' numbers, rising

    @cached_property
    def means(self) -> PartMeans:
        """Of this part."""
        error = np.sqrt((self.influence**2).sum(axis=-1) / _free(float((self.shares**2).sum())))
        return PartMeans(self.value, error, np.full(self.value.shape, effective_number(self.shares)))

    def carriers(self, index: Any, scale: float) -> Carriers:
        """How many units carry a mean."""
        return carriers_of(self.influence[index] / self.shares, self.shares, ROUNDING * scale)


class WholeSample:
    """A sample, to be looked at in parts: a table (..., N), weights (N,), and which rows belong together.

    Rows that share a number of `unit_of`, (N,), which never falls, are one unit.
    """

    def __init__(self, table: FloatArray, weights: FloatArray, unit_of: IntArray) -> None:
        self._table, self._weights, self._unit_of = table, weights, unit_of
        self._all = self.part(np.arange(len(weights)))
        self._squares = (self._all.influence**2).sum(axis=-1)
        self._crossed = self._all.influence @ self._all.shares

    def part(self, rows: IntArray) -> SamplePart:
        """Some rows, at least one, their numbers rising."""
        shares, values = self._weights[rows] / self._weights[rows].sum(), self._table[..., rows]
        mean, units = values @ shares, self._unit_of[rows]
        influence = shares * (values - mean[..., None])
        starts = np.flatnonzero(np.diff(units, prepend=units[0] - 1))
        if len(starts) < len(units):
            influence, shares = np.add.reduceat(influence, starts, axis=-1), np.add.reduceat(shares, starts)
        return SamplePart(mean, influence, shares, units[starts])

    def against_rest(self, part: SamplePart, share: float) -> PartMeans:
        """A part's means less those of all other rows, where the part has this share, below 1, of all weight.

        A unit with rows in both moves both. The degrees of freedom are Welch's. Units of a part that are all alike
        say nothing of how others vary: they are taken to vary as those of the rest do. Sums over the rest are
        those over all units less those over the part's, so that all parts together take one pass.
        """
        every, place = self._all, np.searchsorted(self._all.units, part.units)
        shift = -share * (part.value - every.value) / (1 - share)  # of the rest's mean against that of all
        whole = every.influence[..., place] - shift[..., None] * every.shares[place]
        inside = share * (part.influence + part.shares * (part.value - every.value - shift)[..., None])
        left, left_shares = whole - inside, every.shares[place] - share * part.shares
        squares = self._squares - 2 * shift * self._crossed + shift**2 * (every.shares**2).sum()
        squares += (left**2).sum(axis=-1) - (whole**2).sum(axis=-1)
        second, fourth = (
            float((every.shares**power).sum() - (every.shares[place] ** power).sum() + (left_shares**power).sum())
            / (1 - share) ** power
            for power in (2, 4)
        )
        rest = np.maximum(squares, 0.0) / (1 - share) ** 2 / _free(second)
        alike = part.means.error <= ROUNDING * np.abs(part.value)
        ours = np.where(alike, rest * float((part.shares**2).sum()) / second, part.means.error**2)
        both = (part.influence * left).sum(axis=-1) / (1 - share)
        both /= np.sqrt(_free(float((part.shares**2).sum())) * _free(second))
        error = np.sqrt(np.maximum(ours + rest - 2 * both, 0.0))
        freedom = part.means.effective - 1, effective_of_sums(1.0, second, fourth) - 1
        return PartMeans(part.value - every.value - shift, error, 1 + _welch(ours, rest, *freedom))


def _free(squares: float) -> float:
    """What is left of 1 for the spread, from the sum of squared shares; NaN where one unit has all the weight."""
    return 1 - squares if 1 - squares > ROUNDING else np.nan


def _welch(ours: FloatArray, theirs: FloatArray, our_freedom: FloatArray, their_freedom: float) -> FloatArray:
    """Degrees of freedom of a difference of means with these variances, (...) each; all where neither varies."""
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (ours + theirs) ** 2 / (ours**2 / our_freedom + theirs**2 / their_freedom)
    return np.where(np.isfinite(freedom), freedom, our_freedom + their_freedom)

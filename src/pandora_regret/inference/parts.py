"""Means over parts of a sample, such as the cases of one hospital, and how a part differs from all other rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from pandora_regret.inference.carriers import Carriers, carriers_of
from pandora_regret.inference.intervals import FEWEST, ROUNDING, Limits, effective_number, student_interval
from pandora_regret.inputs import FloatArray, IntArray


@dataclass(frozen=True)
class Means:
    """Some numbers found on a sample, and how far each may be off, (C,) each."""

    value: FloatArray
    error: FloatArray  # NaN where one unit has all the weight
    effective: FloatArray  # so many units of equal weight would say as much

    def interval(self, column: int, level: float) -> Limits:
        """Student's, of one of them."""
        value, error, effective = (float(part[column]) for part in (self.value, self.error, self.effective))
        return student_interval(value, error, effective, level)

    def p_values(self, scale: FloatArray) -> FloatArray:
        """Two-sided, of the hypotheses that each is 0, (C,); NaN where that is not known.

        What is below `scale` times 1e-12 is rounding; a difference without any spread is certain.
        """
        certain = self.error <= ROUNDING * scale
        with np.errstate(invalid="ignore"):
            t = np.abs(self.value) / np.where(certain, 1.0, self.error)
            p = 2 * stdtr(self.effective - 1, -t)
        p = np.where(certain, np.where(np.abs(self.value) <= ROUNDING * scale, 1.0, 0.0), p)
        return np.where(self.effective < FEWEST, np.nan, p)


@dataclass(frozen=True)
class Part:
    """Some rows of a sample: weighted means of the columns of a table, and what each independent unit adds."""

    value: FloatArray  # (C,)
    influence: FloatArray  # (U, C)
    shares: FloatArray  # (U,) of the part's weight
    units: IntArray  # (U,) the units' numbers, rising

    @cached_property
    def variance(self) -> FloatArray:
        """The squared standard errors of the means, (C,)."""
        return np.asarray(np.einsum("uc,uc->c", self.influence, self.influence) / self._free)

    @cached_property
    def effective(self) -> float:
        """So many units of equal weight would say as much."""
        return effective_number(self.shares)

    @property
    def _free(self) -> float:
        free = 1 - float((self.shares**2).sum())
        return free if free > ROUNDING else np.nan

    @property
    def means(self) -> Means:
        """Of this part."""
        return Means(self.value, np.sqrt(self.variance), np.full(len(self.value), self.effective))

    def against(self, rest: Part) -> Means:
        """The part's means less those of other rows; a unit that has rows in both moves both.

        The degrees of freedom are Welch's.
        """
        parts = np.stack([self.variance, rest.variance])
        _, ours, theirs = np.intersect1d(self.units, rest.units, assume_unique=True, return_indices=True)
        shared = np.einsum("uc,uc->c", self.influence[ours], rest.influence[theirs])
        variance = np.maximum(parts.sum(axis=0) - 2 * shared / np.sqrt(self._free * rest._free), 0.0)
        freedom = np.array([[self.effective - 1], [rest.effective - 1]])
        with np.errstate(invalid="ignore", divide="ignore"):
            welch = parts.sum(axis=0) ** 2 / (parts**2 / freedom).sum(axis=0)
        known = np.where(np.isfinite(welch), welch, freedom.sum())
        return Means(self.value - rest.value, np.sqrt(variance), 1 + known)

    def carriers(self, column: int, scale: float) -> Carriers:
        """How many units carry a mean."""
        return carriers_of(self.influence[:, column] / self.shares, self.shares, ROUNDING * scale)


def part_of(table: FloatArray, weights: FloatArray, unit_of: IntArray, rows: NDArray[np.bool_] | IntArray) -> Part:
    """Some rows, at least one, of a table (N, C).

    Rows that share a number of `unit_of`, (N,), which never falls, belong together.
    """
    shares, values = weights[rows] / weights[rows].sum(), table[rows]
    mean = shares @ values
    influence, units = shares[:, None] * (values - mean), unit_of[rows]
    starts = np.flatnonzero(np.diff(units, prepend=units[0] - 1))
    if len(starts) < len(units):
        influence, shares = np.add.reduceat(influence, starts), np.add.reduceat(shares, starts)
    return Part(mean, influence, shares, units[starts])

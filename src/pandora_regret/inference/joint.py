"""Numbers found on the same instances: intervals, paired differences, parts of the sample, and who carries them.

A number comes with its influences, what each independent unit adds to it, and with its bootstrap replicates. The
influences of a difference are the differences of influences, so pairing needs no formula of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.inference.estimate import AnyInterval, Estimate
from pandora_regret.inference.intervals import (
    FEWEST_UNITS,
    ROUNDING,
    Limits,
    corrected_p_value,
    effective_of_sums,
    student_p_value,
    suitable_interval,
)

NORMAL_DRAWS = 20_000  # for the probability of being best: its own error stays under 0.4 %
MANY_UNITS = 1 << 16  # units whose mean is no longer skewed; streams remember no more
FEW_CARRIERS = 10.5  # units that carry an estimate
SMALL_SHARE = 0.25  # of all units; small samples as such are a matter of Student's t


@dataclass(frozen=True)
class Figure:
    """A number, which moves by the sum of its instances' influences, summed within groups first (the sandwich).

    The replicates, if there are any, drew every unit Poisson(1) times.
    """

    value: float
    influence: FloatArray  # (G,)
    shares: FloatArray  # (G,) of all weight
    replicates: FloatArray | None = None  # (R,)

    @classmethod
    def of_mean(
        cls,
        values: FloatArray,
        weights: FloatArray,
        units: IntArray | None = None,
        replicates: FloatArray | None = None,
    ) -> Figure:
        """A weighted mean; rows, (N,), that share a number of `units` are one unit."""
        total = weights.sum()
        mean = (weights * values).sum() / total  # BLAS would keep cores busy
        with np.errstate(invalid="ignore"):  # an infinite mean has no influences
            influence = weights * (values - mean) / total
        return cls(float(mean), within(influence, units), within(weights, units) / total, replicates)

    def __sub__(self, subtracted: Figure) -> Figure:
        replicates = None
        if self.replicates is not None and subtracted.replicates is not None:
            replicates = self.replicates - subtracted.replicates
        influence = self.influence - subtracted.influence
        return Figure(self.value - subtracted.value, influence, self.shares, replicates)

    @property
    def effective(self) -> float:
        """How many units of equal weight would say as much."""
        return effective_number(self.shares)

    @property
    def error(self) -> float:
        """The standard error; NaN where one unit has all the weight."""
        return math.sqrt((self.influence**2).sum() / _free((self.shares**2).sum()))

    @property
    def acceleration(self) -> float:
        """A sixth of the skewness of the influences; 0 where there are so many that it no longer matters."""
        if len(self.influence) > MANY_UNITS:
            return 0.0
        squares = self.influence**2
        second = squares.sum()
        third = (squares * self.influence).sum()
        return float(third / (6 * second**1.5)) if second > 0 else 0.0

    def limits(self, level: float, is_proportion: bool = False, is_mean: bool = True) -> Limits:
        """An interval; None where it is not known. A proportion is a share of instances."""
        return suitable_interval(
            self.value,
            self.error,
            self.effective,
            level,
            replicates=self.replicates,
            acceleration=self.acceleration if is_mean else 0.0,
            is_proportion=is_proportion,
        )

    def estimate(self, level: float, scale: float = 0.0) -> Estimate:
        """The number with its interval; what is below `scale` times 1e-12 is rounding."""
        return without_rounding(Estimate(self.value, *self.limits(level)), scale)

    def p_value(self, scale: float) -> float | None:
        """Two-sided p-value of the hypothesis that the value is 0: the larger of Student's and the replicates'.

        None where it is not known. What is below `scale` times 1e-12 is rounding.
        """
        value = 0.0 if abs(self.value) <= ROUNDING * scale else self.value
        skew = self.acceleration
        student = student_p_value(value, self.error, self.effective, scale, skew)
        if self.replicates is None or student is None:
            return student
        return max(student, corrected_p_value(self.replicates, value, self.effective, skew, ROUNDING * scale))

    def carriers(self, scale: float) -> Carriers:
        """The units that carry the number, of those that have any weight; `scale` times 1e-12 is rounding.

        By ``(E|x|)^2 / E x^2`` of what lies off the median: 0.64 for normal values, m / G where m of G values
        differ from the others by the same amount.
        """
        has_weight = self.shares > 0
        shares = self.shares[has_weight]
        values = self.influence[has_weight] / shares
        units = len(shares)
        order = np.argsort(values)
        median = values[order][np.searchsorted(np.cumsum(shares[order]), 0.5)]
        deviation = np.abs(values - median)
        deviation[deviation <= ROUNDING * scale] = 0.0
        total = float((shares * deviation).sum())
        if total == 0:
            return Carriers(0.0, units, 0.0, 0)
        number = units * total**2 / float((shares * deviation**2).sum())
        largest = max(1, round(number))
        top = np.partition(shares * deviation, -largest)[-largest:]
        return Carriers(number, units, float(top.sum()) / total, largest)


def without_rounding(estimate: AnyInterval, scale: float) -> AnyInterval:
    """The estimate with 0 instead of what is below `scale` times 1e-12, which is rounding."""
    return estimate.mapped(lambda part: part if abs(part) > ROUNDING * scale else 0.0)


def effective_number(shares: FloatArray) -> float:
    """How many units of equal weight say as much as units of these shares of all weight, (G,)."""
    return float(effective_of_sums(1.0, (shares**2).sum(), (shares**4).sum()))


def within(values: FloatArray, units: IntArray | None) -> FloatArray:
    """The sums of the values over each unit, (G,); the values themselves where every row is one."""
    return values if units is None else np.asarray(np.bincount(units, values), dtype=np.float64)


def chances_of_least(figures: Sequence[Figure], seed: int) -> tuple[FloatArray, float] | None:
    """The chance of each number to be the least, and what the first exceeds the least by, on average.

    Over what numbers might as well have been: their replicates, or normal draws, paired likewise. Numbers that
    cannot be told apart share. None where one unit has all the weight.
    """
    if figures[0].effective < FEWEST_UNITS:
        return None
    replicates = [figure.replicates for figure in figures if figure.replicates is not None]
    if replicates:
        draws = np.stack(replicates, axis=1)
    else:
        values = [figure.value for figure in figures]
        influences = np.stack([figure.influence for figure in figures], axis=1)
        covariance = influences.T @ influences / (1 - (figures[0].shares ** 2).sum())
        rng = np.random.default_rng(seed)
        draws = rng.multivariate_normal(values, covariance, NORMAL_DRAWS, check_valid="ignore", method="eigh")
    noise = 1e-6 * draws.std(axis=0).max() + ROUNDING * np.abs(draws).max()  # of the covariance's square root
    lowest = draws.min(axis=1, keepdims=True)
    is_least = draws <= lowest + noise
    chances = (is_least / is_least.sum(axis=1, keepdims=True)).mean(axis=0)
    return chances, float((draws[:, :1] - lowest).mean())


@dataclass(frozen=True)
class Contrast(Figure):
    """The mean of some rows less that of all others, whose degrees of freedom are Welch's.

    Its error and effective number are stored: they do not follow from its influences as those of a `Figure` do,
    whose properties these fields take the place of.
    """

    error: float = math.nan
    effective: float = math.nan  # one more than the degrees of freedom


def contrast(here: Figure, rest: Figure) -> Contrast:
    """One mean less another, of other rows of the same units: a unit with rows in both moves both.

    Units that are all alike say nothing of how others vary: they are taken to vary as those of the rest do.
    """
    squares_here = (here.shares**2).sum()
    squares_rest = (rest.shares**2).sum()
    variance_rest = rest.error**2
    variance_here = here.error**2
    if here.error <= ROUNDING * abs(here.value):
        variance_here = variance_rest * squares_here / squares_rest
    covariance = (here.influence * rest.influence).sum() / math.sqrt(_free(squares_here) * _free(squares_rest))
    error = math.sqrt(max(variance_here + variance_rest - 2 * covariance, 0.0))
    freedom = np.array([here.effective, rest.effective]) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = variance_here**2 / freedom[0] + variance_rest**2 / freedom[1]
        welch = (variance_here + variance_rest) ** 2 / spread
    effective = 1 + float(welch if np.isfinite(welch) else freedom.sum())
    value = here.value - rest.value
    influence = here.influence - rest.influence
    return Contrast(value, influence, here.shares, error=error, effective=effective)


def _free(squares: float) -> float:
    """What is left of 1 for the spread, from the sum of squared shares; NaN where one unit has all the weight."""
    return 1 - squares if 1 - squares > ROUNDING else math.nan


@dataclass(frozen=True)
class Carriers:
    """The units that an estimate hangs on: where a handful does, no interval can be trusted.

    A sample of 60 with three expensive cases has, for all that its mean can tell, a sample size of three; and
    whether the next 60 hold one such case or six, nobody knows.
    """

    number: float  # effectively: m where m units differ equally from the rest
    units: int  # of all
    share: float  # of all deviation from the usual case that the few largest make up
    largest: int  # how many those are

    @property
    def few(self) -> bool:
        """Whether they are so few that an interval cannot be trusted."""
        return self.number < min(FEW_CARRIERS, SMALL_SHARE * self.units)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted for asking m questions at once: the smallest times m, the next times m - 1, and never falling.

    What is not known, None, stays so; it counts as one of the m.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.array(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")  # what is not known comes last
    times = np.arange(len(p), 0, -1)
    never_falling = np.maximum.accumulate(p[order] * times)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(never_falling, 1.0)
    return [None if np.isnan(value) else float(value) for value in adjusted]

"""Many estimates of the same instances: intervals, paired differences, p-values, and what speaks against them.

Tables have one column per estimate, of influences (what each independent unit adds) or of bootstrap replicates. A
difference of estimates is the difference of their columns, so pairing needs no formula of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pandora_regret.inference.intervals import (
    FEWEST,
    ROUNDING,
    Limits,
    acceleration_of,
    corrected_p_value,
    effective_number,
    standard_error,
    student_p_values,
    suitable_interval,
)
from pandora_regret.inputs import FloatArray

Pick: TypeAlias = Callable[[FloatArray], FloatArray]  # of a table (rows, models, columns), what is asked about

NORMAL_DRAWS = 20_000  # for the probability of being best: its own error stays under 0.4 %
FEW = 6.5  # units that carry an estimate
SMALL_SHARE = 0.25  # of all units; small samples as such are a matter of Student's t


@dataclass(frozen=True)
class Joint:
    """An estimate moves by the sum of its instances' influences, summed within groups first (the sandwich).

    The replicates, if there are any, drew every unit Poisson(1) times.
    """

    influence: FloatArray  # (G, models, columns)
    shares: FloatArray  # (G,) of all weight
    level: float
    seed: int
    replicates: FloatArray | None = None  # (R, models, columns)

    @cached_property
    def effective(self) -> float:
        """How many units of equal weight would say as much."""
        return effective_number(self.shares)

    def interval(self, value: float, pick: Pick, is_proportion: bool = False) -> Limits:
        """At the level asked for; None where it is not known. A proportion is a share of instances."""
        influence = pick(self.influence)
        return suitable_interval(
            value,
            standard_error(influence, self.shares),
            self.effective,
            self.level,
            replicates=None if self.replicates is None else pick(self.replicates),
            acceleration=acceleration_of(influence),
            is_proportion=is_proportion,
        )

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Two-sided, of the hypothesis that the value is 0; the larger of Student's and that of the replicates.

        None where it is not known. What is below `scale` times 1e-12 is rounding.
        """
        influence = pick(self.influence)
        error = standard_error(influence, self.shares)
        student = float(student_p_values(value, error, self.effective, scale))
        if self.replicates is None or math.isnan(student):
            return None if math.isnan(student) else student
        drawn, acceleration = pick(self.replicates), acceleration_of(influence)
        return max(student, corrected_p_value(drawn, value, self.effective, acceleration, ROUNDING * scale))

    def probability_best(self, values: FloatArray, pick: Pick) -> list[float | None]:
        """In how many draws each model is the cheapest; models that cannot be told apart share."""
        if len(values) == 1:
            return [1.0]
        if self.effective < FEWEST:
            return [None] * len(values)
        draws = self._normal_draws(values, pick) if self.replicates is None else pick(self.replicates)
        noise = 1e-6 * draws.std(axis=0).max() + ROUNDING * np.abs(draws).max()  # of the covariance's square root
        cheapest = draws <= draws.min(axis=1, keepdims=True) + noise
        shares = (cheapest / cheapest.sum(axis=1, keepdims=True)).mean(axis=0)
        return [float(share) for share in shares]

    def _normal_draws(self, values: FloatArray, pick: Pick) -> FloatArray:
        """What the values might as well have been, (draws, values), with the paired covariance."""
        psi = pick(self.influence)
        covariance = psi.T @ psi / (1 - (self.shares**2).sum())
        rng = np.random.default_rng(self.seed)
        return rng.multivariate_normal(values, covariance, NORMAL_DRAWS, check_valid="ignore", method="eigh")

    def carriers(self, pick: Pick, scale: float) -> Carriers:
        """How many units carry the estimate."""
        return carriers_of(pick(self.influence) / self.shares, self.shares, ROUNDING * scale)


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
        return self.number < min(FEW, SMALL_SHARE * self.units)


def carriers_of(values: FloatArray, shares: FloatArray, rounding: float = 0.0) -> Carriers:
    """Of a weighted mean of values, (G,), whose shares of all weight are (G,).

    By ``(E|x|)^2 / E x^2`` of what lies off the median: 0.64 for normal values, m / G where m of G values differ
    from the others by the same amount.
    """
    order = np.argsort(values, kind="stable")
    median = values[order][np.searchsorted(np.cumsum(shares[order]), 0.5)]
    deviation = np.abs(values - median)
    deviation[deviation <= rounding] = 0.0
    total, units = float((shares * deviation).sum()), len(values)
    if total == 0:
        return Carriers(0.0, units, 0.0, 0)
    number = units * total**2 / float((shares * deviation**2).sum())
    largest = max(1, round(number))
    top = np.sort(shares * deviation)[-largest:]
    return Carriers(number, units, float(top.sum()) / total, largest)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted for asking m questions at once: the smallest times m, the next times m - 1, and never falling.

    What is not known, None, stays so; it counts as one of the m.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    known = [p for p in p_values if p is not None]
    order = np.argsort(known, kind="stable")
    stepped = np.array(known)[order] * (len(p_values) - np.arange(len(known)))
    adjusted = np.empty(len(known))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    remaining = iter(adjusted)
    return [None if p is None else float(next(remaining)) for p in p_values]

"""Many estimates of the same instances: by linearisation, or with bootstrap replicates.

Both keep tables with one column per estimate, of influences (what each independent unit adds) or of replicates. A
difference of estimates is the difference of their columns, so pairing needs no formula of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pandora_regret.inference.carriers import Carriers, carriers_of
from pandora_regret.inference.intervals import (
    NO_LIMITS,
    Limits,
    acceleration_of,
    corrected_interval,
    corrected_p_value,
    effective_number,
    score_interval,
    standard_error,
    student_interval,
    student_p_value,
)
from pandora_regret.inference.multiplicity import ROUNDING
from pandora_regret.inputs import FloatArray
from pandora_regret.tally import ALONE

Pick: TypeAlias = Callable[[FloatArray], FloatArray]  # of a table (rows, models, columns), what is asked about

NORMAL_DRAWS = 20_000  # for the probability of being best: its own error stays under 0.4 %


@dataclass(frozen=True)
class Linearised:
    """An estimate moves by the sum of its instances' influences, summed within groups first (the sandwich)."""

    influence: FloatArray  # (G, models, columns)
    shares: FloatArray  # (G,) of all weight
    level: float
    seed: int

    @cached_property
    def effective(self) -> float:
        """How many units of equal weight would say as much."""
        return effective_number(self.shares)

    @property
    def known(self) -> bool:
        """Whether there is more than one unit: a single one says nothing about others."""
        return self.effective >= ALONE

    def error(self, pick: Pick) -> float:
        """The standard error of an estimate, NaN where it is not known."""
        return standard_error(pick(self.influence), self.effective)

    def interval(self, value: float, pick: Pick) -> Limits:
        """Student's, at the level asked for; None where it is not known."""
        return student_interval(value, self.error(pick), self.effective, self.level)

    def proportion(self, value: float, pick: Pick) -> Limits:
        """The score interval of a share of instances."""
        return score_interval(value, self.error(pick), self.effective, self.level)

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Two-sided, of the hypothesis that the value is 0; what is below `scale` times 1e-12 is rounding."""
        error = self.error(pick)
        if not self.known:
            return None
        if error <= ROUNDING * scale:  # a difference without any spread is certain
            return 1.0 if abs(value) <= ROUNDING * scale else 0.0
        return student_p_value(value, error, self.effective)

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """What the values might as well have been, (draws, values): normal, with the paired covariance."""
        if not self.known:
            return None
        psi = pick(self.influence)
        covariance = psi.T @ psi / (1 - 1 / self.effective)
        rng = np.random.default_rng(self.seed)
        return rng.multivariate_normal(values, covariance, NORMAL_DRAWS, check_valid="ignore", method="eigh")

    def carriers(self, pick: Pick, scale: float) -> Carriers:
        """How many units carry the estimate."""
        return carriers_of(pick(self.influence) / self.shares, self.shares, ROUNDING * scale)


@dataclass(frozen=True)
class Bootstrapped(Linearised):
    """With replicates in which every unit is drawn Poisson(1) times."""

    replicates: FloatArray  # (R, models, columns)

    def interval(self, value: float, pick: Pick) -> Limits:
        """Percentiles of the replicates, corrected for bias, skewness and few units."""
        if not self.known:
            return NO_LIMITS
        acceleration = acceleration_of(pick(self.influence))
        return corrected_interval(pick(self.replicates), value, self.effective, self.level, acceleration)

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """The level at which the interval would just reach 0."""
        if not self.known:
            return None
        acceleration = acceleration_of(pick(self.influence))
        return corrected_p_value(
            pick(self.replicates), value, self.effective, acceleration, rounding=ROUNDING * scale
        )

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """The replicates themselves."""
        return pick(self.replicates) if self.known else None

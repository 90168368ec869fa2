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
    FEWEST,
    ROUNDING,
    Limits,
    acceleration_of,
    corrected_p_value,
    effective_number,
    standard_error,
    student_p_value,
    suitable_interval,
)
from pandora_regret.inputs import FloatArray

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
        return self.effective >= FEWEST

    def error(self, pick: Pick) -> float:
        """The standard error of an estimate, NaN where it is not known."""
        return standard_error(pick(self.influence), self.shares)

    def interval(self, value: float, pick: Pick, is_proportion: bool = False) -> Limits:
        """At the level asked for; None where it is not known. A proportion is a share of instances."""
        error = self.error(pick)
        return suitable_interval(value, error, self.effective, self.level, is_proportion=is_proportion)

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Two-sided, of the hypothesis that the value is 0; what is below `scale` times 1e-12 is rounding.

        None where it is not known: units that are all alike say nothing of how much others vary.
        """
        error = self.error(pick)
        if not self.known:
            return None
        if error <= ROUNDING * scale:
            return 1.0 if abs(value) <= ROUNDING * scale else None
        return student_p_value(value, error, self.effective)

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """What the values might as well have been, (draws, values): normal, with the paired covariance."""
        if not self.known:
            return None
        psi = pick(self.influence)
        covariance = psi.T @ psi / (1 - (self.shares**2).sum())
        rng = np.random.default_rng(self.seed)
        return rng.multivariate_normal(values, covariance, NORMAL_DRAWS, check_valid="ignore", method="eigh")

    def carriers(self, pick: Pick, scale: float) -> Carriers:
        """How many units carry the estimate."""
        return carriers_of(pick(self.influence) / self.shares, self.shares, ROUNDING * scale)


@dataclass(frozen=True)
class Bootstrapped(Linearised):
    """With replicates in which every unit is drawn Poisson(1) times."""

    replicates: FloatArray  # (R, models, columns)

    def interval(self, value: float, pick: Pick, is_proportion: bool = False) -> Limits:
        """Student's, stretched to the replicates' percentiles."""
        return suitable_interval(
            value,
            self.error(pick),
            self.effective,
            self.level,
            replicates=pick(self.replicates),
            acceleration=acceleration_of(pick(self.influence)),
            is_proportion=is_proportion,
        )

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """The larger of Student's and that of the replicates."""
        student = super().p_value(value, pick, scale)
        if student is None:
            return None
        drawn, acceleration = pick(self.replicates), acceleration_of(pick(self.influence))
        return max(student, corrected_p_value(drawn, value, self.effective, acceleration, ROUNDING * scale))

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """The replicates themselves."""
        return pick(self.replicates) if self.known else None

"""How sure an estimate is: standard errors by linearisation, or bootstrap replicates.

Both keep a table with one column an estimate: of influences, cluster by cluster, or of replicates. A difference of
estimates is the difference of their columns, so pairing needs no formula of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import stdtr, stdtrit

from pandora_regret.inputs import FloatArray
from pandora_regret.tally import Mean

Limits: TypeAlias = tuple[float | None, float | None]
Pick: TypeAlias = Callable[[FloatArray], FloatArray]  # of a table (rows, models, columns), what is asked about

NORMAL_DRAWS = 20_000  # for the probability of being best: its own error stays under 0.4 %
ROUNDING = 1e-12  # relative; differences below it are none


class Inference(Protocol):
    """What both ways can answer."""

    def interval(self, value: float, pick: Pick) -> Limits:
        """Limits at the level asked for; None where a single cluster says nothing about others."""

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Two-sided, of the hypothesis that the value is 0; `scale` tells what counts as rounding."""

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """What the values might as well have been, (draws, values)."""


@dataclass(frozen=True)
class Analytic:
    """Linearisation: an estimate moves by the sum of its instances' influences, summed within clusters first.

    The sandwich variance ``G / (G - 1) sum_g psi_g^2``, and Student's t of G - 1 degrees of freedom.
    """

    influence: FloatArray  # (G, models, columns)
    level: float
    seed: int

    def interval(self, value: float, pick: Pick) -> Limits:
        """Value plus or minus t standard errors."""
        error = standard_error(pick(self.influence))
        if error is None:
            return None, None
        margin = float(stdtrit(len(self.influence) - 1, (1 + self.level) / 2)) * error
        return value - margin, value + margin

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Of the t statistic; a difference without any spread is certain."""
        error = standard_error(pick(self.influence))
        if error is None:
            return None
        if error <= ROUNDING * scale:
            return 1.0 if abs(value) <= ROUNDING * scale else 0.0
        return float(2 * stdtr(len(self.influence) - 1, -abs(value) / error))

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """From the normal distribution with the paired covariance."""
        n, psi = len(self.influence), pick(self.influence)
        if n < 2:
            return None
        covariance = psi.T @ psi * (n / (n - 1))
        rng = np.random.default_rng(self.seed)
        return rng.multivariate_normal(values, covariance, NORMAL_DRAWS, check_valid="ignore", method="eigh")


@dataclass(frozen=True)
class Bootstrapped:
    """Percentiles of replicates in which every cluster is drawn Poisson(1) times."""

    replicates: FloatArray  # (R, models, columns)
    level: float
    n_clusters: int

    def interval(self, value: float, pick: Pick) -> Limits:
        """Percentiles."""
        if self.n_clusters < 2:
            return None, None
        low, high = np.quantile(pick(self.replicates), [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    def p_value(self, value: float, pick: Pick, scale: float) -> float | None:
        """Twice the share of replicates on the other side of 0, never less than ``2 / (R + 1)``."""
        if self.n_clusters < 2:
            return None
        drawn = pick(self.replicates)
        drawn = np.where(np.abs(drawn) <= ROUNDING * scale, 0.0, drawn)
        beyond = min((drawn <= 0).sum(), (drawn >= 0).sum())
        return float(min(1.0, 2 * (1 + beyond) / (1 + len(drawn))))

    def draws(self, values: FloatArray, pick: Pick) -> FloatArray | None:
        """The replicates themselves."""
        return pick(self.replicates) if self.n_clusters > 1 else None


def standard_error(influence: FloatArray) -> float | None:
    """Of an estimate, from what each cluster adds to it; None for a single one."""
    return len(influence) * Mean.of(influence).standard_error if len(influence) > 1 else None


def probability_best(draws: FloatArray | None, n_models: int) -> list[float | None]:
    """In how many draws each model is the cheapest; models that cannot be told apart share."""
    if n_models == 1:
        return [1.0]
    if draws is None:
        return [None] * n_models
    noise = 1e-6 * draws.std(axis=0).max() + ROUNDING * np.abs(draws).max()  # of the covariance's square root
    cheapest = draws <= draws.min(axis=1, keepdims=True) + noise
    shares = (cheapest / cheapest.sum(axis=1, keepdims=True)).mean(axis=0)
    return [float(share) for share in shares]


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted for asking m questions at once: the smallest times m, the next times m - 1, and never falling.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    given = [p for p in p_values if p is not None]
    if len(given) < len(p_values) or not given:
        return [None] * len(p_values)
    order = np.argsort(given, kind="stable")
    stepped = np.array(given)[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(p) for p in adjusted]

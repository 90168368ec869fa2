"""What a calibration map is fitted for: log loss, or the search cost under a prior, with closed-form derivatives.

Both are stated here in plain NumPy; `loops.py` holds the compiled twins of the common cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pandora_regret.calibrate.rows import LabelledScores
from pandora_regret.inputs import FloatArray, Forecast, IntArray, read_choice
from pandora_regret.kernels.engine import LARGEST_ALPHA
from pandora_regret.priors import Beta, Prior, Uniform
from pandora_regret.priors.beta import beta_loss, beta_loss_curvature, beta_loss_slope
from pandora_regret.priors.reading import read_base_costs, read_prior

OBJECTIVES = {"search": "the expected search cost", "log_loss": "the logarithmic score"}
DEFAULT_OBJECTIVE = "search"  # on the study's zoos log loss is no better; see docs/how-to/recalibrate.md


class Along(NamedTuple):
    """A mean loss at one inverse temperature, and its first and second derivative there."""

    loss: float
    slope: float
    curvature: float


@dataclass(frozen=True)
class LogLoss:
    """``-ln p_i``."""

    convex = True  # in the scores, so that one start is enough
    stepped = False  # flat between jumps, so that slopes lead nowhere

    def along(self, rows: LabelledScores, inverse_temperature: float) -> Along:
        """The loss of ``scores / T`` and its derivatives in 1 / T; the variance of scores is the curvature."""
        if rows.many:
            from pandora_regret.calibrate import loops

            return Along(*loops.log_loss_along(rows, inverse_temperature))
        gaps = rows.scores - rows.of_truth(rows.scores)
        highest = gaps.max(axis=0)
        odds = np.exp(inverse_temperature * (gaps - highest))
        total = odds.sum(axis=0)
        mean = (odds * gaps).sum(axis=0) / total
        spread = (odds * (gaps - mean) ** 2).sum(axis=0) / total
        return Along(*(rows.mean(term) for term in (np.log(total) + inverse_temperature * highest, mean, spread)))

    def derivatives_by_fold(self, rows: LabelledScores, inverse_temperature: float, fold: IntArray) -> FloatArray:
        """The first three derivatives in 1 / T, summed over the rows of each fold, (F, 3): cumulants of scores."""
        if rows.many:
            from pandora_regret.calibrate import loops

            return loops.log_loss_by_fold(rows, inverse_temperature, fold)
        gaps = rows.scores - rows.of_truth(rows.scores)
        odds = np.exp(inverse_temperature * (gaps - gaps.max(axis=0)))
        odds /= odds.sum(axis=0)
        mean = (odds * gaps).sum(axis=0)
        cumulants = (mean, *((odds * (gaps - mean) ** power).sum(axis=0) for power in (2, 3)))
        return np.stack([np.bincount(fold, rows.weights * each) for each in cumulants], axis=1)

    def gradient(self, rows: LabelledScores, scores: FloatArray) -> tuple[float, FloatArray]:
        """The loss of other scores of the same instances, and its derivative in each, ``p - 1(truth)``, (K, N)."""
        if rows.many:
            from pandora_regret.calibrate import loops

            return loops.log_loss_gradient(rows, scores)
        gaps = scores - scores.max(axis=0)
        slopes = np.exp(gaps)
        total = slopes.sum(axis=0)
        slopes /= total
        if rows.votes is None:
            slopes[rows.truth, np.arange(len(rows))] -= 1
        else:
            slopes -= rows.votes
        return rows.mean(np.log(total) - rows.of_truth(gaps)), slopes * (rows.weights / rows.weights.sum())


@dataclass(frozen=True)
class SearchCost:
    """What is wasted on wrong tests, ``sum_j C_j L(r_ij)``, counted in tests of average cost.

    In the Beta family L_alpha / 3 stands for the share, so that alpha = 0 has a value too.
    """

    prior: Prior

    @property
    def convex(self) -> bool:
        """Only the logarithmic limit is."""
        return isinstance(self.prior, Beta) and self.prior.alpha == 0

    @property
    def stepped(self) -> bool:
        """Costs known exactly, or a sample of them: the loss jumps where the order of tests changes."""
        return not np.any(self._share(np.linspace(-2, 2, 9), 0, 1, derivative=1))

    def along(self, rows: LabelledScores, inverse_temperature: float) -> Along:
        """Every odds ``ln r_ij`` moves in proportion to the gap of the scores."""
        if rows.votes is not None:
            parts = [
                (self._share_of(part, rows), self.along(part, inverse_temperature)) for _, part in rows.by_class()
            ]
            return Along(*(sum(share * along[term] for share, along in parts) for term in range(3)))
        if (alpha := self._compiled_alpha(rows)) is not None:
            from pandora_regret.calibrate import loops

            return Along(*loops.beta_along(rows, inverse_temperature, alpha, self._unit(rows)))
        gaps = rows.of_truth(rows.scores) - rows.scores
        odds, price = inverse_temperature * gaps + _cost_gaps(rows), self._prices(rows)
        i, j = rows.truth[None, :], np.arange(rows.n_classes)[:, None]
        loss, slope, curvature = (self._share(odds, i, j, derivative) for derivative in range(3))
        loss[rows.truth, np.arange(len(rows))] = 0.0  # its own slopes vanish with the gap
        terms = (loss, slope * gaps, curvature * gaps**2)
        return Along(*(rows.mean((price * term).sum(axis=0)) for term in terms))

    def gradient(self, rows: LabelledScores, scores: FloatArray) -> tuple[float, FloatArray]:
        """``C_j L'(r_ij)`` for the truth, minus that for j."""
        if rows.votes is not None:
            return self._gradient_of_votes(rows, scores)
        if (alpha := self._compiled_alpha(rows)) is not None:
            from pandora_regret.calibrate import loops

            return loops.beta_gradient(rows, scores, alpha, self._unit(rows))
        odds, price = rows.of_truth(scores) - scores + _cost_gaps(rows), self._prices(rows)
        i, j = rows.truth[None, :], np.arange(rows.n_classes)[:, None]
        loss, slopes = price * self._share(odds, i, j), -price * self._share(odds, i, j, derivative=1)
        own = rows.truth, np.arange(len(rows))
        loss[own] = slopes[own] = 0.0
        slopes[own] = -slopes.sum(axis=0)
        return rows.mean(loss.sum(axis=0)), slopes * (rows.weights / rows.weights.sum())

    def _gradient_of_votes(self, rows: LabelledScores, scores: FloatArray) -> tuple[float, FloatArray]:
        total, slopes = 0.0, np.zeros_like(scores)
        for instances, part in rows.by_class():
            share = self._share_of(part, rows)
            loss, of_part = self.gradient(part, np.ascontiguousarray(scores[:, instances]))
            total += share * loss
            slopes[:, instances] += share * of_part
        return total, slopes

    def _share_of(self, part: LabelledScores, rows: LabelledScores) -> float:
        """What the mean loss of a part, in its own unit of cost, counts in that of all rows."""
        return float(part.weights.sum() / rows.weights.sum()) * self._unit(part) / self._unit(rows)

    def _share(self, odds: FloatArray, i: Any, j: Any, derivative: int = 0) -> FloatArray:
        """The share at ``ln r``, or its first or second derivative."""
        if isinstance(self.prior, Beta):
            of_loss = (beta_loss, beta_loss_slope, beta_loss_curvature)[derivative]
            return of_loss(odds, self.prior.alpha) / 3
        of_share = (self.prior.share, self.prior.share_slope, self.prior.share_curvature)[derivative]
        return of_share(odds, i, j)

    def _compiled_alpha(self, rows: LabelledScores) -> float | None:
        """An alpha that the compiled loops do to the last digits, if rows are many, with one cost per class."""
        if not (isinstance(self.prior, Beta) and rows.many and rows.costs.shape[1] == 1):
            return None
        return self.prior.alpha if self.prior.alpha <= LARGEST_ALPHA else None

    def _mean_costs(self, rows: LabelledScores) -> FloatArray:
        """``C_k E[u_k]``, (K, 1) or (K, N), up to a factor."""
        mean = np.ones(1) if isinstance(self.prior, Beta) else np.atleast_1d(self.prior.mean)
        return np.asarray(rows.costs * mean[:, None])

    def _unit(self, rows: LabelledScores) -> float:
        return float(self._mean_costs(rows).mean())

    def _prices(self, rows: LabelledScores) -> FloatArray:
        """The mean cost of each test, in tests of average cost."""
        return self._mean_costs(rows) / self._unit(rows)


Objective: TypeAlias = LogLoss | SearchCost


def _cost_gaps(rows: LabelledScores) -> FloatArray:
    """``ln(C_j / C_i)`` of the truth i of each instance against every class j."""
    return np.log(rows.costs) - np.log(rows.of_truth(rows.costs))


def read_objective(
    objective: Any, prior: Any, costs: Any, typical_costs: Any, forecast: Forecast
) -> tuple[Objective, Forecast]:
    """The loss to minimise, and the forecasts with base costs."""
    if read_choice(objective, "objective", OBJECTIVES) == "log_loss":
        return LogLoss(), forecast
    if isinstance(prior, Beta) and prior.alpha == 0:
        mean: Prior = Uniform()  # E[u] is 0 there, but any mean will do: only ratios of costs count
    else:
        prior = mean = read_prior(prior, forecast.labels)
    base_costs = read_base_costs(costs, typical_costs, mean, forecast.labels, len(forecast))
    return SearchCost(prior), forecast.with_costs(base_costs)

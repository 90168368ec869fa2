"""Intervals of many figures at once, of which nothing but bootstrap replicates is known."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from pandora_regret.inputs import FloatArray

BIAS_WEIGHT = 3  # of the squared bias beside the variance: enough to cover models that are hard to tell apart


def interval_around(
    estimate: FloatArray, replicates: FloatArray, items: int, level: float
) -> tuple[FloatArray, FloatArray]:
    """Intervals of figures of `items` things, such as Kendall's tau of models, that contain their estimates.

    Estimates (C, Q) and replicates of them (C, R, Q) give lower and upper ends (C, Q), NaN without replicates.

    Percentiles of replicates would not do. Tau counts which of two models is ahead, and every resampling adds the
    noise of the sample once more, so replicates lie to one side of the estimate as the estimate lies to that side
    of the truth, and somewhat less far: the first noise overturns the closest pairs. So the interval reaches to
    both sides of the estimate, and the bias of the replicates counts `BIAS_WEIGHT` times beside their variance.
    """
    if not replicates.shape[1]:
        return np.full_like(estimate, np.nan), np.full_like(estimate, np.nan)
    bias = replicates.mean(axis=1) - estimate
    reach = student.ppf((1 + level) / 2, items - 1) * np.sqrt(replicates.var(axis=1) + BIAS_WEIGHT * bias**2)
    return estimate - reach, estimate + reach


def percentiles(replicates: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """The interval along axis 1 that leaves out equal tails; its ends are replicates, infinite ones too."""
    last = replicates.shape[1] - 1
    if last < 0:
        nothing = np.full_like(replicates.sum(axis=1), np.nan)
        return nothing, nothing
    ordered, tail = np.sort(replicates, axis=1), (1 - level) / 2
    return ordered[:, int(np.floor(tail * last))], ordered[:, int(np.ceil((1 - tail) * last))]

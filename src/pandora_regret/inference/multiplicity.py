"""Many questions at once: adjusted p-values, and the probability that one of several models is the cheapest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inputs import FloatArray


def probability_best(draws: FloatArray | None, n_models: int) -> list[float | None]:
    """In how many draws, (draws, models), each model is the cheapest; models that cannot be told apart share."""
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

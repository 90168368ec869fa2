"""Class frequencies of a population, found from forecasts of it without labels."""

from __future__ import annotations

import numpy as np

from pandora_regret.inputs import FloatArray

TOLERANCE, MOST_ROUNDS = 1e-8, 1000


def adjusted_frequencies(
    table: FloatArray,
    source: FloatArray,
    weights: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    most_rounds: int = MOST_ROUNDS,
) -> tuple[FloatArray, int]:
    """The frequencies under which forecasts, (N, K), made at other frequencies, (K,), are most likely; and rounds.

    EM (Saerens and others, 2002): adjust the forecasts to the frequencies, take their mean as the frequencies.
    """
    target, rounds, moved = source, 0, np.inf
    while moved > tolerance and rounds < most_rounds:
        mean = np.average(adjusted(table, source, target), axis=0, weights=weights)
        moved, target, rounds = float(np.abs(mean - target).max()), mean, rounds + 1
    return target, rounds


def adjusted(table: FloatArray, source: FloatArray, target: FloatArray) -> FloatArray:
    """Forecasts times the ratio of frequencies, new over old, normalised; impossible rows are left as they are."""
    known = source > 0
    scaled = table * np.divide(target, source, out=np.ones(len(known)), where=known)
    total = scaled.sum(axis=1, keepdims=True)
    return np.asarray(np.where(total > 0, scaled / np.where(total > 0, total, 1.0), table))

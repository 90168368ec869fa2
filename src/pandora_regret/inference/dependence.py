"""Whether two things depend on each other, in tables of counts."""

import numpy as np

from pandora_regret.core.inputs import FloatArray

MOST_EXCESS = 10.0  # standard deviations of chi-squared


def displaced(tables: FloatArray) -> float:
    """What share of the cases is elsewhere in tables, (S, R, C), than if rows and columns were independent.

    0 unless Pearson's statistic exceeds its mean by ten standard deviations, which no chance does.
    """
    rows = tables.sum(axis=2, keepdims=True)
    columns = tables.sum(axis=1, keepdims=True)
    expected = rows * columns / np.maximum(rows.sum(axis=1, keepdims=True), 1)
    apart = tables - expected
    freedom = np.prod([np.maximum((sums > 0).sum(axis=(1, 2)), 1) - 1 for sums in (rows, columns)], axis=0)
    excess = (apart[expected > 0] ** 2 / expected[expected > 0]).sum() - freedom.sum()
    if excess <= MOST_EXCESS * np.sqrt(2 * freedom.sum()):
        return 0.0
    return float(np.abs(apart).sum() / 2 / tables.sum())

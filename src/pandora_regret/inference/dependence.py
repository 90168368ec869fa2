"""Whether two things depend on each other, in tables of counts."""

import numpy as np

from pandora_regret.core.inputs import FloatArray, IntArray

MOST_EXCESS = 10.0  # standard deviations of chi-squared


def displaced(tables: FloatArray) -> float:
    r"""What share of the cases is elsewhere in tables, (S, R, C), than if rows and columns were independent.

    0 unless Pearson's statistic :math:`\sum (n - e)^2 / e` exceeds its mean, the degrees of freedom, by ten
    standard deviations, which no chance does.
    """
    rows = tables.sum(axis=2, keepdims=True)
    columns = tables.sum(axis=1, keepdims=True)
    cases = np.maximum(rows.sum(axis=1, keepdims=True), 1)
    expected = rows * columns / cases
    apart = tables - expected
    is_expected = expected > 0
    statistic = (apart[is_expected] ** 2 / expected[is_expected]).sum()
    freedom = (_free_categories(rows) * _free_categories(columns)).sum()
    if statistic - freedom <= MOST_EXCESS * np.sqrt(2 * freedom):
        return 0.0
    return float(np.abs(apart).sum() / 2 / tables.sum())


def _free_categories(sums: FloatArray) -> IntArray:
    """Of each table, (S,), how many of its rows or columns have cases, less one."""
    n_occurring = (sums > 0).sum(axis=(1, 2))
    return np.asarray(np.maximum(n_occurring, 1) - 1)

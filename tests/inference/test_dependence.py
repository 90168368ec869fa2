"""Tables of counts against scipy's test of independence."""

import numpy as np
import pytest
from scipy import stats

from pandora_regret.inference.dependence import displaced


def test_cases_are_displaced_only_where_pearsons_test_leaves_no_doubt():
    tables = np.random.default_rng(0).integers(20, 200, (2, 3, 4)).astype(float)
    each = [stats.chi2_contingency(table, correction=False) for table in tables]
    assert sum(one.statistic for one in each) > 12 + 10 * 24**0.5
    apart = sum(np.abs(table - one.expected_freq).sum() for table, one in zip(tables, each, strict=True))
    assert displaced(tables) == pytest.approx(apart / 2 / tables.sum())
    for off, is_displaced in ((16, False), (14, True)):  # 8.5 and 13 standard deviations beyond the mean
        table = np.array([[[50.0 - off, off], [off, 50.0 - off]]])
        assert (displaced(table) > 0) == is_displaced
    independent = np.outer([10.0, 20.0, 0.0], [30.0, 40.0])
    assert displaced(np.array([independent + 1, 0 * independent])) == 0

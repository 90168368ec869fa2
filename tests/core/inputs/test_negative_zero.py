"""-0.0 is a zero: every score, order and cost is the one that 0.0 gives."""

import numpy as np
import pytest

import pandora_regret as pr
from pandora_regret.core.imperfect import Tests, expected_expenditure, imperfect_order
from pandora_regret.core.scores import search_tally

Y = np.array([0, 1, 2, 3, 0, 1])
P = np.array(
    [[0.5, 0, 0.5, 0], [0.5, 0, 0.25, 0.25], [0, 0, 0, 1.0], [0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 1.0, 0, 0]]
)
COSTS = np.array([3.0, 1.0, 2.0, 5.0])
TESTS = Tests(cost=COSTS, sensitivity=0.8)


def negative(table):
    return np.where(table == 0, -table, table)


def check_same(score, dtype=np.float64, copies=1):
    y, table = np.tile(Y, copies), np.tile(P, (copies, 1)).astype(dtype)
    assert np.signbit(negative(table)).any()
    expected = np.asarray(score(y, table))
    assert not np.isnan(expected).any()
    np.testing.assert_array_equal(score(y, negative(table)), expected)


@pytest.mark.parametrize("copies", [1, 1000])  # the reference, and compiled loops
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.0, np.inf])
def test_scores(alpha, dtype, copies):
    check_same(lambda y, p: pr.pandora_regret(y, p, alpha=alpha, per_instance=True), dtype, copies)
    check_same(lambda y, p: pr.beta_score(y, p, alpha=alpha, max_costs=COSTS, per_instance=True), dtype, copies)


@pytest.mark.parametrize("search", ["single_pass", "restarts", "adaptive"])
def test_imperfect_searches(search):
    check_same(lambda y, p: imperfect_order(p, TESTS, search=search))
    check_same(lambda y, p: expected_expenditure(y, p, TESTS, search=search, per_instance=True))


def test_orders_and_realised_costs():
    check_same(lambda y, p: pr.search_order(p, costs=COSTS))
    check_same(lambda y, p: pr.search_cost(y, p, COSTS, per_instance=True))
    check_same(lambda y, p: search_tally(y, p, max_costs=COSTS).realised.mean)
    check_same(lambda y, p: pr.simulate_search(y, p, draws=20, seed=0).mean)

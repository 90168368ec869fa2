"""The paper's statements about log loss as a decision, each against an independent computation."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refused
from scipy.integrate import quad

from pandora_regret import pandora_regret
from pandora_regret.core.decisions import (
    fixed_order_costs,
    fixed_order_regrets,
    fixed_order_residuals,
    parallel_costs,
)
from pandora_regret.core.inputs import InputTypeError

P = np.array([0.4, 0.3, 0.25, 0.05])
K = len(P)
ORDERS = list(permutations(range(K)))


def integral(function, *jumps, upper=1.0):
    """Over (0, upper), split where the integrand jumps."""
    edges = [0.0, *sorted(jump for jump in jumps if 0 < jump < upper), upper]
    return sum(quad(function, a, b, epsabs=1e-12)[0] for a, b in pairwise(edges))


def step_loss(h, c, is_truth):
    """The realised loss of one step: act where h >= c at cost c, or pass over the truth at cost 1."""
    return c * (h >= c) + 1.0 * (is_truth and h < c)


def step_regret(h, c, is_truth):
    return step_loss(h, c, is_truth) - c * is_truth


def hazards(order):
    """h_t, from the definition."""
    return [P[order[t]] / P[list(order[t:])].sum() for t in range(K)]


def density(c, cheap=1.0, dear=1.0):
    return cheap / c + dear / (1 - c)


def regrets_by_quadrature(order, truth, **weights):
    m, h = order.index(truth), hazards(order)
    steps = [
        integral(lambda c, t=t: step_regret(h[t], c, t == m) * density(c, **weights), h[t]) for t in range(m + 1)
    ]
    return np.pad(steps, (0, K - 1 - m))


# Log loss as parallel decisions


@pytest.mark.parametrize("truth", range(K))
def test_thm_cost_amnesia_parallel(truth):
    def realised(k, c):
        return c if P[k] / c > 1 else float(k == truth)

    by_quadrature = [integral(lambda c, k=k: realised(k, c) / c, P[k]) for k in range(K)]
    costs = parallel_costs([truth], [P])[0]
    assert_allclose(costs, by_quadrature, rtol=1e-9)
    assert_allclose(costs.sum(), 1 - np.log(P[truth]), rtol=1e-13)


# Log loss as search in a fixed order


@pytest.mark.parametrize("order", ORDERS)
def test_thm_cost_amnesia_every_step_matches_its_integral(order):
    for truth in range(K):
        assert_allclose(
            fixed_order_regrets([truth], [P], order)[0], regrets_by_quadrature(order, truth), rtol=1e-8, atol=1e-12
        )


def test_thm_sequential_logloss_telescopes_to_minus_ln_p_for_every_order():
    rng = np.random.default_rng(1)
    rows, truth = rng.dirichlet(np.ones(7), 200), rng.integers(7, size=200)
    orders = rng.permuted(np.tile(np.arange(7), (200, 1)), axis=1)
    log_loss = -np.log(rows[np.arange(200), truth])
    assert_allclose(fixed_order_regrets(truth, rows, orders).sum(axis=1), log_loss, rtol=1e-12)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 0, 3, 1)])
@pytest.mark.parametrize("epsilon", [1e-2, 1e-4])
def test_remark_raw_cost_formulation(order, epsilon):
    h = hazards(order)
    for truth in range(K):
        m = order.index(truth)
        costs = fixed_order_costs([truth], [P], order, epsilon=epsilon)[0]
        by_quadrature = [
            integral(lambda c, t=t: step_loss(h[t], c, t == m) * density(c), h[t], upper=1 - epsilon)  # noqa: B023
            for t in range(m + 1)
        ]
        assert_allclose(costs[: m + 1], by_quadrature, rtol=1e-9)
        excess = costs.sum() - (np.log(1 - epsilon) - np.log(epsilon))
        assert 0 <= excess + np.log(P[truth]) + 1e-12 <= 1.01 * epsilon + 1e-12  # the limit is -ln p_i
        if m < K - 1:  # then no h_t exceeds 1 - epsilon, and the limit is attained
            assert_allclose(excess, -np.log(P[truth]), rtol=1e-12)


@pytest.mark.parametrize(("cheap", "dear"), [(3.0, 1.0), (0.5, 2.0), (1.0, 1.0)])
def test_rmk_haldane_critical_steps_and_residuals(cheap, dear):
    weights = {"cheap": cheap, "dear": dear}
    for order in ORDERS[::5]:
        for truth in range(K):
            steps = fixed_order_regrets([truth], [P], order, **weights)[0]
            assert_allclose(steps, regrets_by_quadrature(order, truth, **weights), rtol=1e-8, atol=1e-10)
            m, h = order.index(truth), np.array(hazards(order))
            assert_allclose(steps[:m], (cheap - dear) * h[:m] - dear * np.log(1 - h[:m]), rtol=1e-12)
            residual = fixed_order_residuals([truth], [P], order, **weights)[0]
            assert_allclose(residual[:m], (cheap - dear) * h[:m], rtol=1e-12)
            haldane = fixed_order_regrets([truth], [P], order)[0]
            assert_allclose(steps, dear * haldane + residual, rtol=1e-12, atol=1e-14)


def totals(truth, orders, **weights):
    return np.array([fixed_order_regrets([truth], [P], order, **weights).sum() for order in orders])


def test_rmk_haldane_critical_is_the_unique_knife_edge():
    assert np.ptp(totals(3, ORDERS)) < 1e-12
    for weights in ({"cheap": 1.01, "dear": 1.0}, {"cheap": 1.0, "dear": 1.01}):
        assert np.ptp(totals(3, ORDERS, **weights)) > 1e-3


@pytest.mark.parametrize(("cheap", "dear", "best"), [(2.0, 1.0, (0, 1, 2, 3)), (1.0, 2.0, (3, 2, 1, 0))])
def test_rmk_haldane_critical_the_whole_regret_rewards_the_opposite_order(cheap, dear, best):
    """What the remark leaves out: the step at the truth depends on the order too, and outweighs the others."""
    expected = sum(P[truth] * totals(truth, ORDERS, cheap=cheap, dear=dear) for truth in range(K))
    assert ORDERS[int(np.argmin(expected))] == best
    entropy = -(P * np.log(P)).sum()
    conditional = [-sum(P[order[t]] * np.log(hazards(order)[t]) for t in range(K)) for order in ORDERS]
    assert_allclose(expected, dear * entropy + (cheap - dear) * np.array(conditional), rtol=1e-12)


def test_rmk_shannon_caveat_chain_rule_without_a_best_order():
    """A coder at constant cost a question wants likely classes first; log loss is the same in every order."""
    for order in ORDERS:
        for truth in range(K):
            h, m = np.array(hazards(order)), order.index(truth)
            assert_allclose(-np.log(h[m]) - np.log(1 - h[:m]).sum(), -np.log(P[truth]), rtol=1e-12)
    questions = [sum(P[order[t]] * (t + 1) for t in range(K)) for order in ORDERS]
    assert ORDERS[int(np.argmin(questions))] == (0, 1, 2, 3)
    assert np.ptp(questions) > 1


def test_remark_lifting_dc_over_c_recovers_the_pandora_score_and_not_log_loss():
    even, rival = np.array([[0.4, 0.2, 0.2, 0.2]]), np.array([[0.4, 0.58, 0.01, 0.01]])
    assert fixed_order_regrets([0], even, [1, 0, 2, 3]).sum() == pytest.approx(
        fixed_order_regrets([0], rival, [1, 0, 2, 3]).sum()
    )
    assert abs(pandora_regret([0], even, alpha=0) - pandora_regret([0], rival, alpha=0)) > 0.004


def test_an_impossible_truth_costs_infinitely_much_in_every_order():
    for order in permutations(range(3)):
        for weights in ({}, {"cheap": 2.0}, {"dear": 2.0}):
            assert fixed_order_regrets([2], [[0.6, 0.4, 0.0]], order, **weights).sum() == np.inf
        assert fixed_order_costs([2], [[0.6, 0.4, 0.0]], order, epsilon=0.1).sum() == np.inf
    assert parallel_costs([2], [[0.6, 0.4, 0.0]]).sum() == np.inf
    assert_array_equal(fixed_order_residuals([2], [[0.6, 0.4, 0.0]], [0, 1, 2], cheap=1, dear=1), [[0, 0, 0]])


# The door


def test_orders_that_are_no_orders_are_refused():
    with refused(argument="order", row=0, value=[0, 0]):
        fixed_order_regrets([0], [[0.5, 0.5]], [0, 0])
    with refused(argument="order", value=(3,)):
        fixed_order_regrets([0], [[0.5, 0.5]], [0, 1, 2])
    with refused(InputTypeError, argument="order", says="real numbers"):
        fixed_order_regrets([0], [[0.5, 0.5]], ["first", "second"])


def test_weights_and_epsilon_have_domains():
    with refused(argument="cheap", value=0.0):
        fixed_order_regrets([0], [[0.5, 0.5]], [0, 1], cheap=0)
    with refused(argument="dear", value=-1.0):
        fixed_order_residuals([0], [[0.5, 0.5]], [0, 1], cheap=1, dear=-1)
    with refused(argument="epsilon", value=1.0):
        fixed_order_costs([0], [[0.5, 0.5]], [0, 1], epsilon=1)

"""The paper's Beta family, result by result: pair loss, gradient profile, and the three anchors 0, 1 and inf."""

import numpy as np
import pytest
from scipy import integrate, optimize

from pandora_regret import (
    Beta,
    Fixed,
    beta_score,
    excess_search_burden,
    expected_search_cost,
    pandora_regret,
    search_cost,
)
from pandora_regret.core.priors.beta import beta_loss, beta_loss_slope

ALPHAS = [0.05, 0.37, 1.0, 3.0, 50.0]
COSTS = np.array([1.0, 3.0, 0.5, 2.0])
FORECAST = np.array([0.1, 0.4, 0.3, 0.2])

each_alpha = pytest.mark.parametrize("alpha", ALPHAS)


def printed_loss(r, alpha):
    """L_alpha as the paper prints it."""
    with np.errstate(divide="ignore"):
        return np.where(r <= 1, 1 + (1 + 1 / alpha) * (1 - r**alpha), r ** -(alpha + 1))


def scores_of_every_truth(score, forecast=FORECAST, **options):
    classes = np.arange(len(forecast))
    return score(classes, np.tile(forecast, (len(forecast), 1)), per_instance=True, **options)


@each_alpha
@pytest.mark.parametrize("odds", [0.01, 0.3, 0.9, 1.0, 1.2, 5.0])
def test_proposition_beta_pairwise_loss(alpha, odds):
    """E[u_j 1(u_j < u_i / r)], integrated over the quantiles v = u_i^alpha of u_i."""

    def spent_on_j(v):
        limit = min(1.0, v ** (1 / alpha) / odds)
        return alpha / (alpha + 1) * limit ** (alpha + 1)

    corner = min(1.0, odds**alpha)
    integral = sum(
        integrate.quad(spent_on_j, a, b, epsabs=0, epsrel=1e-10)[0] for a, b in [(0, corner), (corner, 1)]
    )
    b_alpha = 1 / ((1 + 1 / alpha) * (2 + 1 / alpha))
    assert Beta(alpha).pair_loss(odds) == pytest.approx(integral, rel=1e-8)
    assert beta_loss(np.log(odds), alpha) == pytest.approx(integral / b_alpha, rel=1e-8)


@each_alpha
def test_pair_loss_is_the_printed_formula(alpha):
    odds = np.concatenate([np.geomspace(1e-3, 1e3, 60), [1.0]])
    assert beta_loss(np.log(odds), alpha) == pytest.approx(printed_loss(odds, alpha), rel=1e-12, abs=0)


@each_alpha
def test_remark_gradient_profile(alpha):
    """With respect to the distractor's logit: (alpha + 1) times e^(alpha d) behind, e^-((alpha + 1) d) ahead."""
    gap, step = np.linspace(-4, 4, 80), 1e-6
    formula = (alpha + 1) * np.where(gap <= 0, np.exp(alpha * gap), np.exp(-(alpha + 1) * gap))
    numeric = (beta_loss(gap - step, alpha) - beta_loss(gap + step, alpha)) / (2 * step)
    assert -beta_loss_slope(gap, alpha) == pytest.approx(formula, rel=1e-12, abs=0)
    assert numeric == pytest.approx(formula, rel=1e-6, abs=1e-8)


@each_alpha
def test_corollary_weighted_beta_score(alpha):
    b_alpha = 1 / ((1 + 1 / alpha) * (2 + 1 / alpha))
    score = scores_of_every_truth(beta_score, alpha=alpha, max_costs=COSTS)
    raw = scores_of_every_truth(expected_search_cost, prior=Beta(alpha), max_costs=COSTS)
    assert raw == pytest.approx(alpha / (alpha + 1) * COSTS + b_alpha * score, rel=1e-13)


@pytest.mark.parametrize("alpha", [0.0, 1e-8, *ALPHAS[:-1]])
def test_corollary_weighted_beta_score_is_strictly_proper(alpha):
    truth = np.array([0.4, 0.3, 0.2, 0.1])

    def risk(free_logits):
        rows = np.tile([0.0, *free_logits], (4, 1))
        return truth @ beta_score(range(4), rows, alpha=alpha, max_costs=COSTS, logits=True, per_instance=True)

    found = optimize.minimize(risk, [0.3, -0.3, 0.2], tol=1e-9).x
    assert found == pytest.approx(np.log(truth[1:] / truth[0]), abs=1e-4)


def test_corollary_uniform_unit_cost_case():
    odds = np.array([0.0, 0.25, 1.0, 2.0, 10.0])
    with np.errstate(divide="ignore"):
        assert beta_loss(np.log(odds), 1.0).tolist() == pytest.approx([3.0, 2.5, 1.0, 0.25, 0.01], rel=1e-15)
    raw = scores_of_every_truth(expected_search_cost, max_costs=COSTS)
    score = scores_of_every_truth(beta_score, alpha=1.0, max_costs=COSTS)
    assert raw == pytest.approx(COSTS / 2 + score / 6, rel=1e-14)


def test_corollary_pandora_regret():
    score = scores_of_every_truth(pandora_regret)
    assert score == pytest.approx(scores_of_every_truth(beta_score, alpha=1.0) / 9, rel=1e-14)
    assert score == pytest.approx(scores_of_every_truth(pandora_regret, alpha=1.0), rel=0)
    raw = scores_of_every_truth(expected_search_cost)
    assert raw == pytest.approx((1 + 3 * score) / 2, rel=1e-14)


def test_excess_search_burden_is_the_excess_over_an_oracle_as_a_fraction():
    """The paper says x / 100 %; the oracle pays 1/2 and the search (1 + x) / 2, so it is 100 x %."""
    raw, oracle = scores_of_every_truth(expected_search_cost), 0.5
    assert scores_of_every_truth(excess_search_burden) == pytest.approx((raw - oracle) / oracle, rel=1e-13)


def test_corollary_lower_endpoint_limit():
    gap = np.linspace(-6, 6, 61)
    limit = np.where(gap <= 0, 1 - gap, np.exp(-np.maximum(gap, 0)))
    assert beta_loss(gap, 0.0) == pytest.approx(limit, rel=1e-14)
    far = [np.abs(beta_loss(gap, alpha) - limit).max() for alpha in (1e-2, 1e-4, 1e-6)]
    assert far == pytest.approx([far[0], 1e-2 * far[0], 1e-4 * far[0]], rel=0.05)  # first order in alpha
    at_zero = scores_of_every_truth(beta_score, alpha=0.0, max_costs=COSTS)
    assert scores_of_every_truth(beta_score, alpha=1e-12, max_costs=COSTS) == pytest.approx(at_zero, rel=1e-10)


def test_corollary_deterministic_rank_limit():
    gap = np.array([-np.inf, -2.0, -1e-9, 0.0, 1e-9, 2.0, np.inf])
    assert beta_loss(gap, np.inf).tolist() == [2, 2, 2, 1, 0, 0, 0]
    assert beta_loss(gap, 1e13) == pytest.approx(beta_loss(gap, np.inf), abs=1e-12)
    merit = FORECAST / COSTS
    beats = (merit > merit[:, None]) + 0.5 * (merit == merit[:, None]) - 0.5 * np.eye(4)
    assert scores_of_every_truth(beta_score, alpha=np.inf, max_costs=COSTS) == pytest.approx(2 * beats @ COSTS)
    raw = scores_of_every_truth(expected_search_cost, prior=Fixed(), max_costs=COSTS)
    assert raw == pytest.approx(COSTS + beats @ COSTS)
    assert raw == pytest.approx(scores_of_every_truth(search_cost, costs=COSTS, ties="average"))

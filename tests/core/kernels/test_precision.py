"""Every digit: scores against a 50-digit evaluation of the printed formulas, to 1e-12 relative."""

import mpmath as mp
import numpy as np
import pytest

from pandora_regret import (
    Beta,
    Gamma,
    LogNormal,
    beta_score,
    search_entropy,
)
from pandora_regret.core.priors.beta import beta_loss, beta_loss_slope

ALPHAS = [0.0, 1e-8, 0.37, 1.0, 3.0, 50.0, np.inf]
UNDERFLOW = 1e-290  # a true value below this may have lost digits, or be zero


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def exact_loss(log_odds, alpha):
    """L_alpha as printed, and its limits, at ln r."""
    if alpha == 0:
        return 1 - log_odds if log_odds <= 0 else mp.exp(-log_odds)
    if alpha == np.inf:
        return 1 - mp.sign(log_odds)
    alpha = mp.mpf(alpha)
    if log_odds <= 0:
        return 1 + (1 + 1 / alpha) * -mp.expm1(alpha * log_odds)
    return mp.exp(-(alpha + 1) * log_odds)


def exact_score(log_merit, costs, truth, alpha):
    """``sum_j C_j L_alpha(q_i / q_j)`` from ``ln q``."""
    others = [j for j in range(len(log_merit)) if j != truth]
    return mp.fsum(mp.mpf(costs[j]) * exact_loss(log_merit[truth] - log_merit[j], alpha) for j in others)


def log_merits(logs, costs):
    return [z - mp.log(mp.mpf(c)) for z, c in zip(logs, costs, strict=True)]


def assert_all_digits(got, expected, relative=1e-12):
    for value, exact in zip(np.atleast_1d(got), expected, strict=True):
        assert abs(mp.mpf(float(value)) - exact) <= relative * abs(exact) + UNDERFLOW, (value, exact)


def logit_tables(seed):
    """Logits in [-1e4, 1e4]: at every scale, clustered far from zero, and with equal entries."""
    rng = np.random.default_rng(seed)
    every_scale = rng.choice([-1, 1], (30, 5)) * 10.0 ** rng.uniform(-9, 4, (30, 5))
    clustered = rng.uniform(-9000, 9000, (20, 1)) + rng.normal(0, 20, (20, 5))
    equal = rng.integers(-2, 3, (10, 5)) * 2500.0
    return np.concatenate([every_scale, rng.uniform(-1e4, 1e4, (20, 5)), clustered, equal])


def costs_apart(seed, n_classes=5):
    """Costs that differ by factors of up to a million."""
    return 10.0 ** np.random.default_rng(seed).uniform(-3, 3, n_classes)


def small_probabilities(seed):
    """Rows with entries down to 1e-300, and near ties."""
    rng = np.random.default_rng(seed)
    small = 10.0 ** rng.uniform(-300, -2, (40, 5))
    small[::2, 1] = small[::2, 2] * (1 + rng.normal(0, 1e-9, 20))
    small[:, 4] = 1 - small[:, :4].sum(axis=1)
    return small


def scores_and_exact(table, truth, alpha, costs, logits):
    got = beta_score(truth, table, alpha=alpha, max_costs=costs, logits=logits, per_instance=True)
    logs = [log_merits([mp.mpf(x) if logits else mp.log(x) for x in row], costs) for row in table.tolist()]
    return got, [exact_score(q, costs, i, alpha) for q, i in zip(logs, truth, strict=True)]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("costs", [np.ones(5), costs_apart(1)], ids=["equal costs", "costs apart"])
@pytest.mark.parametrize("logits", [False, True])
def test_scores_of_logits_and_of_probabilities_down_to_1e_300_keep_every_digit(alpha, costs, logits):
    table = logit_tables(2) if logits else small_probabilities(4)
    assert_all_digits(*scores_and_exact(table, np.arange(len(table)) % 5, alpha, costs, logits))


@pytest.mark.parametrize("alpha", [1e-300, 1e-12, 1e-8, 1e-4])
def test_continuity_near_zero_keeps_every_digit(alpha):
    gaps = np.concatenate([-np.geomspace(1e-12, 1e4, 40), np.geomspace(1e-12, 600, 40), [0.0]])
    assert_all_digits(beta_loss(gaps, alpha), [exact_loss(mp.mpf(gap), alpha) for gap in gaps.tolist()], 4e-13)
    power = [alpha * mp.mpf(gap) if gap <= 0 else -(alpha + mp.mpf(1)) * gap for gap in gaps.tolist()]
    slopes = [-(alpha + mp.mpf(1)) * mp.exp(x) for x in power]
    assert_all_digits(beta_loss_slope(gaps, alpha), slopes, 4e-13)


@pytest.mark.parametrize("alpha", [1e3, 1e6, 1e9, 1e12, 1e15])
def test_huge_alpha_keeps_every_digit_of_near_ties(alpha):
    """Where alpha times the gap is of order one, from probabilities and from logits."""
    gaps = np.linspace(-5, 5, 21) / alpha
    first = 0.3 * (1 + gaps)
    table = np.column_stack([first, np.full(21, 0.3), 0.7 - first])
    assert_all_digits(*scores_and_exact(table, [0] * 21, alpha, np.ones(3), False))
    table = np.column_stack([gaps, np.zeros(21), np.ones(21)])
    assert_all_digits(*scores_and_exact(table, [0] * 21, alpha, np.ones(3), True))


def exact_gamma_share(log_odds, shape):
    """``I_x(k + 1, k)`` at ``x = 1 / (1 + r)``; for r < 1 through 1 - x, which has more digits."""
    k = mp.mpf(shape)
    if log_odds > 0:
        return mp.betainc(k + 1, k, 0, 1 / (1 + mp.exp(log_odds)), regularized=True)
    return 1 - mp.betainc(k, k + 1, 0, 1 / (1 + mp.exp(-log_odds)), regularized=True)


@pytest.mark.parametrize("shape", [0.01, 0.5, 1.0, 2.5, 30.0])
def test_gamma_shares_keep_their_digits(shape):
    gaps = np.array([-5000, -700, -45, -39, -5, -0.3, -1e-6, 0, 1e-6, 0.3, 5, 20, 200])
    exact = [exact_gamma_share(mp.mpf(gap), shape) for gap in gaps.tolist()]
    assert_all_digits(Gamma(shape).share(gaps), exact)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_log_normal_shares_keep_their_digits(sigma):
    gaps = np.concatenate([np.linspace(-1e4, 1e4, 21), np.linspace(-8, 8, 33)])
    spread = mp.mpf(sigma)
    exact = [mp.ncdf((-mp.mpf(gap) - spread**2) / (mp.sqrt(2) * spread)) for gap in gaps.tolist()]
    assert_all_digits(LogNormal(sigma).share(gaps), exact)


def exact_expectation(truth, logs, costs, alpha):
    """The mean search cost of a forecast, given as ln p, when classes have the probabilities `truth`."""
    inverse, q = 1 / mp.mpf(alpha), log_merits(logs, costs)
    b_alpha = 1 / ((1 + inverse) * (2 + inverse))
    return mp.fsum(
        pi * (costs[i] / (1 + inverse) + b_alpha * exact_score(q, costs, i, alpha)) for i, pi in enumerate(truth)
    )


@pytest.mark.parametrize("alpha", ALPHAS[1:])
def test_entropies_keep_every_digit(alpha):
    costs, rng = costs_apart(8), np.random.default_rng(9)
    table = np.concatenate([rng.normal(0, 5, (10, 5)), rng.uniform(-1e4, 1e4, (5, 5))])
    got = search_entropy(table, prior=Beta(alpha), max_costs=costs, logits=True, per_instance=True)
    exact = []
    for row in table.tolist():
        logs = [mp.mpf(z) for z in row]
        total = mp.fsum(map(mp.exp, logs))
        exact.append(exact_expectation([mp.exp(z) / total for z in logs], logs, costs, alpha))
    assert_all_digits(got, exact)

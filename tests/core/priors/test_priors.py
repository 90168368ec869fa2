"""Every prior: its mean, its pair loss against quadrature, its slope against finite differences."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from every_prior import PRIORS, SMOOTH, each_of, every_prior
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    Beta,
    Empirical,
    Exponential,
    Fixed,
    Gamma,
    LogNormal,
    Uniform,
    expected_search_cost,
    search_cost,
)
from pandora_regret.core.priors import empirical


@every_prior
def test_sampled_unit_costs_have_the_stated_mean(prior):
    costs = prior.sample(100_000, 4, np.random.default_rng(1))
    standard_error = costs.std(axis=0) / np.sqrt(len(costs))
    assert costs.shape == (100_000, 4)
    assert (np.abs(costs.mean(axis=0) - prior.mean) <= 4 * standard_error + 1e-12).all()


@pytest.mark.parametrize("prior", [Beta(1e-3), Gamma(1e-3)], ids=str)
def test_sampled_unit_costs_stay_positive_where_draws_underflow(prior):
    rng = np.random.default_rng(2)
    assert (prior.draw(1000, 3, rng) == 0).any()
    assert (prior.sample(1000, 3, rng) > 0).all()


@every_prior
def test_pair_loss_falls_from_the_mean_cost_to_nothing(prior):
    odds = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 401), [np.inf]])
    losses = prior.pair_loss(odds, 0, 1)
    assert losses[0] == pytest.approx(np.broadcast_to(prior.mean, 4)[1], rel=1e-9)
    assert losses[-1] == 0
    assert (np.diff(losses) <= 1e-12).all()


@each_of(SMOOTH)
@pytest.mark.parametrize(("i", "j"), [(0, 1), (2, 0)])
def test_slopes_at_odds_and_at_their_inverse_are_those_of_a_proper_score(prior, i, j):
    odds = np.geomspace(1 / 8, 8, 40)
    assert prior.pair_slope(1 / odds, j, i) == pytest.approx(
        prior.pair_slope(odds, i, j) * odds, rel=1e-6, abs=1e-8
    )


def test_priors_meet_where_one_is_a_case_of_another():
    odds = np.geomspace(1e-3, 1e3, 50)
    assert Gamma(1.0).pair_loss(odds) == pytest.approx(Exponential().pair_loss(odds), rel=1e-12)
    assert LogNormal([0.7, 0.7]).pair_loss(odds) == pytest.approx(LogNormal(0.7).pair_loss(odds), rel=1e-14)
    assert LogNormal(1e-6).pair_loss(odds) == pytest.approx(Fixed().pair_loss(odds), abs=1e-12)
    assert Beta(1.0) == Uniform()
    assert Beta(np.inf) == Fixed()


def test_a_gamma_prior_of_small_shape_keeps_its_digits_where_odds_underflow():
    """Against mpmath's ``1 - I_{r/(1+r)}(k, k+1)`` with 40 digits."""
    share = Gamma(1e-3).share(np.array([-2000.0, -740.0, -300.0]))
    assert share == pytest.approx([0.8646644944704365, 0.5228853008026203, 0.2591805624983639], rel=1e-14)


def test_only_full_support_is_strictly_proper():
    strict = {name: prior.strictly_proper for name, prior in PRIORS.items()}
    assert {name for name, flag in strict.items() if not flag} == {"FromScipy, bounded", "Fixed", "Empirical"}
    assert Beta(0.0).strictly_proper  # of its normalised score


DYADIC_ODDS = [0.25, 0.375, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0]


@given(
    st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=8),
    st.lists(st.sampled_from(DYADIC_ODDS), min_size=1, max_size=4),
    st.sampled_from([(0, 1), (1, 0), (2, 1)]),
)
def test_empirical_pair_loss_is_exact_also_on_ties(samples, odds, pair):
    i, j = pair
    expected = []
    for r in map(Fraction, odds):
        ahead = [c[j] * (Fraction(c[i] > r * c[j]) + Fraction(c[i] == r * c[j]) / 2) for c in samples]
        expected.append(float(sum(ahead) / len(samples)))
    assert Empirical(np.array(samples, float)).pair_loss(odds, i, j) == pytest.approx(expected, rel=1e-14)


def plain_share(samples, log_odds, i, j, width):
    """The share of j's cost in samples where ``c_i / c_j`` exceeds the odds, half of it where they tie."""
    ratios = np.log(samples[:, i]) - np.log(samples[:, j])
    costs = samples[:, j]
    level = np.abs(ratios - log_odds) <= width
    return (costs[(ratios > log_odds) & ~level].sum() + costs[level].sum() / 2) / costs.sum()


@pytest.mark.parametrize("table_bytes", [1, 2_000, empirical.TABLE_BYTES])
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 30))
def test_empirical_shares_are_those_of_the_plain_formula(table_bytes, seed, n_classes, n_samples):
    rng = np.random.default_rng(seed)
    samples = rng.integers(1, 4, (n_samples, n_classes)).astype(float)  # so ratios repeat, and odds meet them
    truth, distractor = rng.integers(n_classes, size=(2, 40, 1))
    odds = np.log(rng.integers(1, 5, (40, 3)) / rng.integers(1, 5, (40, 3)))
    odds[:2, 0] = np.inf, -np.inf
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(empirical, "TABLE_BYTES", table_bytes)
        prior = Empirical(samples)
        shares = [prior.share(odds, truth, distractor), prior.share(odds, truth, distractor, 1e-3)]
    pairs = zip(odds.ravel(), np.repeat(truth, 3), np.repeat(distractor, 3), strict=True)
    expected = np.reshape([plain_share(samples, *entry, 1e-9) for entry in pairs], odds.shape)
    for found in shares:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


def test_sorted_ratios_are_kept_within_their_memory(monkeypatch):
    samples = np.random.default_rng(0).uniform(1, 9, (50, 8))
    i, j = np.divmod(np.arange(64), 8)
    odds = np.linspace(-2, 2, 64)
    large = Empirical(samples)
    shares = large.share(odds, i, j)
    monkeypatch.setattr(empirical, "TABLE_BYTES", 5 * 50 * empirical.BYTES_PER_RATIO)
    small = Empirical(samples)
    assert (small.share(odds, i, j) == shares).all()
    assert len(small._tables.ratios) <= 5 < len(large._tables.ratios)


@given(st.integers(0, 10**6))
def test_empirical_score_is_the_mean_over_the_observed_costs(seed):
    rng = np.random.default_rng(seed)
    samples, base = rng.integers(1, 5, (6, 4)).astype(float), 2.0 ** rng.integers(-2, 3, 4)
    forecasts, truth = rng.multinomial(8, [0.25] * 4, size=5) / 8, rng.integers(0, 4, 5)
    each = [search_cost(truth, forecasts, base * c, ties="average", per_instance=True) for c in samples]
    got = expected_search_cost(truth, forecasts, prior=Empirical(samples), max_costs=base, per_instance=True)
    assert got == pytest.approx(np.mean(each, axis=0), rel=1e-13)


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda prior: pickle.loads(pickle.dumps(prior))])
@every_prior
def test_priors_can_be_copied_and_pickled_also_after_use(prior, clone):
    odds = np.geomspace(0.1, 10, 20)
    before = prior.pair_loss(odds, 1, 2)
    assert (clone(prior).pair_loss(odds, 1, 2) == before).all()

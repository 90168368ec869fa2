"""FromScipy: the tabulated pair loss against closed forms, quadrature, simulation and its own identities."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from refusals import refused
from scipy import integrate, stats

from pandora_regret.core.inputs.numbers import InputError, InputTypeError
from pandora_regret.core.priors import Beta, Exponential, FromScipy, Gamma, LogNormal

LOG_ODDS = np.linspace(-30, 30, 4001)
MEANS = np.array([1.0, 1000.0])  # of a mixture

CLOSED_FORMS = {
    "beta(0.5, 1)": (stats.beta(0.5, 1), Beta(0.5)),
    "beta(1, 1)": (stats.beta(1, 1), Beta(1.0)),
    "beta(3, 1)": (stats.beta(3, 1), Beta(3.0)),
    "expon": (stats.expon(), Exponential()),
    "expon, another unit": (stats.expon(scale=1e-6), Exponential()),
    "gamma(2.5)": (stats.gamma(2.5), Gamma(2.5)),
    "gamma(0.1)": (stats.gamma(0.1), Gamma(0.1)),
    "lognorm(0.7)": (stats.lognorm(s=0.7), LogNormal(0.7)),
    "lognorm(0.001), nearly fixed": (stats.lognorm(s=0.001), LogNormal(0.001)),
    "lognorm(6), tiny at even odds": (stats.lognorm(s=6.0), LogNormal(6.0)),
}
OTHERS = {
    "weibull_min(1.5)": stats.weibull_min(1.5),
    "uniform(1, 3)": stats.uniform(1, 2),
    "pareto(3), heavy tail": stats.pareto(3),
    "pareto(1.06), heavier": stats.pareto(1.06),
    "triang, with a kink": stats.triang(0.3, loc=1, scale=5),
    "beta(0.5, 0.5), infinite density": stats.beta(0.5, 0.5),
}
DISTRIBUTIONS = {name: dist for name, (dist, _) in CLOSED_FORMS.items()} | OTHERS

with_a_closed_form = pytest.mark.parametrize("name", CLOSED_FORMS)
every_distribution = pytest.mark.parametrize("name", DISTRIBUTIONS)


@cache
def prior_of(name):
    return FromScipy(DISTRIBUTIONS[name])


@pytest.mark.slow
@with_a_closed_form
def test_the_share_agrees_with_the_closed_form(name):
    prior, exact = prior_of(name), CLOSED_FORMS[name][1]
    around_even_odds = LOG_ODDS / 30 * max(0.02, 6 * np.log(prior.dist.ppf(0.84) / prior.dist.median()))
    for log_odds in (LOG_ODDS, around_even_odds):
        share = exact.share(log_odds)
        seen = share > 1e-25
        np.testing.assert_allclose(prior.share(log_odds)[seen], share[seen], rtol=1e-8)


@pytest.mark.slow
@every_distribution
def test_pair_loss_satisfies_the_identity_of_proper_pairwise_scores(name):
    log_odds = np.linspace(0.01, 2, 100)
    slope, mirrored = (prior_of(name).pair_slope(np.exp(at)) for at in (log_odds, -log_odds))
    wanted = slope * np.exp(log_odds)
    np.testing.assert_allclose(mirrored, wanted, rtol=1e-5, atol=1e-7 * prior_of(name).mean)


@pytest.mark.parametrize("log_odds", [0.0, 0.3, 0.9, 1.4])
def test_a_kink_of_the_density_is_integrated_to_full_accuracy(log_odds):
    prior = prior_of("triang, with a kink")
    dist, ratio = prior.dist, np.exp(log_odds)
    corners = sorted({1.0, *(y for y in (2.5, 2.5 / ratio) if 1 < y < 6 / ratio), 6 / ratio})
    spent = sum(
        integrate.quad(lambda y: y * dist.pdf(y) * dist.sf(y * ratio), *ends, epsabs=0, epsrel=1e-11)[0]
        for ends in pairwise(corners)
    )
    assert prior.pair_loss(ratio) == pytest.approx(spent, rel=1e-8)


def test_a_density_that_is_infinite_at_both_ends_is_integrated_to_full_accuracy():
    share = prior_of("beta(0.5, 0.5), infinite density").share(np.array(0.0))
    assert share == pytest.approx(0.5 - 2 / np.pi**2, rel=1e-8)  # E[min(u, u')] / (2 E[u])


@pytest.mark.parametrize(("name", "b"), [("pareto(3), heavy tail", 3), ("pareto(1.06), heavier", 1.06)])
def test_heavy_tails_follow_their_power_law_beyond_the_table(name, b):
    log_odds = np.array([0.0, 1.0, 10.0, 50.0, 200.0])
    np.testing.assert_allclose(
        prior_of(name).share(log_odds), (b - 1) / (2 * b - 1) * np.exp(-b * log_odds), rtol=1e-8
    )
    behind = b / (2 * b - 1) * np.exp((b - 1) * -log_odds[:3])
    np.testing.assert_allclose(prior_of(name).share(-log_odds[:3]), 1 - behind, rtol=1e-8)


def test_a_mixture_is_integrated_around_each_of_its_peaks():
    class Mixture(stats.rv_continuous):
        def _pdf(self, x):
            return (np.exp(-x) + np.exp(-x / MEANS[1]) / MEANS[1]) / 2

        def _cdf(self, x):
            return 1 - (np.exp(-x) + np.exp(-x / MEANS[1])) / 2

        def _stats(self):
            return MEANS.mean(), None, None, None

    log_odds = np.linspace(-12, 12, 50)
    ours, theirs = MEANS[:, None, None], MEANS[:, None]
    exact = (ours / (1 + np.exp(log_odds) * ours / theirs) ** 2).mean(axis=(0, 1)) / MEANS.mean()
    np.testing.assert_allclose(FromScipy(Mixture(a=0.0)()).share(log_odds), exact, rtol=1e-8)


def test_a_bounded_support_bounds_the_odds_that_matter():
    prior, end = prior_of("uniform(1, 3)"), np.log(3)
    beyond = np.array([end * (1 + 1e-15), 2.0, 500.0, np.inf])
    assert (prior.share(beyond) == 0).all()
    assert (prior.share(-beyond) == 1).all()
    ratio = np.exp(end - np.geomspace(1e-5, 1, 30))
    top = 3 / ratio
    exact = (1.5 * (top**2 - 1) - ratio * (top**3 - 1) / 3) / 8  # int y (3 - r y) / 4 dy / E[u] from 1 to 3/r
    near = ratio < 2.9
    np.testing.assert_allclose(prior.share(np.log(ratio))[near], exact[near], rtol=1e-8)
    assert (prior.share(np.log(ratio)) > 0).all()


@every_distribution
def test_infinite_odds_empty_arrays_and_shapes(name):
    prior = prior_of(name)
    assert prior.share(np.array([-np.inf, np.inf])).tolist() == [1, 0]
    for shape in [(), (0,), (2, 0), (2, 3, 4)]:
        log_odds = np.zeros(shape)
        assert prior.share(log_odds).shape == shape
    assert prior.share(np.zeros((2, 3), dtype=np.float32)).dtype == np.float64
    assert np.isnan(prior.share(np.array(np.nan)))


@pytest.mark.parametrize(
    ("dist", "strict"),
    [
        (stats.uniform(0, 2), True),
        (stats.expon(loc=1), True),
        (stats.gamma(2.0), True),
        (stats.uniform(1, 2), False),
        (stats.loguniform(0.1, 10), False),
    ],
)
def test_strictly_proper_where_costs_can_be_arbitrarily_small_or_large(dist, strict):
    assert FromScipy(dist).strictly_proper is strict


@pytest.mark.parametrize("dist", [None, 2.0, "gamma", stats.gamma, stats.poisson(3.0), stats.norm.pdf])
def test_refuses_what_is_not_a_frozen_continuous_distribution(dist):
    with refused(InputTypeError, argument="dist", says="frozen"):
        FromScipy(dist)


@pytest.mark.parametrize(
    ("dist", "message"),
    [
        (stats.norm(5, 1), r"norm\(5, 1\), .* -inf "),
        (stats.pareto(1.0), "pareto.* has mean inf"),
        (stats.lognorm(s=40.0), "has mean inf"),
        (stats.gamma(-1.0), "for each parameter"),
        (stats.gamma([1.0, 2.0]), "for each parameter"),
    ],
)
def test_refuses_distributions_that_are_no_costs(dist, message):
    with pytest.raises(InputError, match=message):
        FromScipy(dist)


@pytest.mark.slow
@pytest.mark.parametrize("dist", [stats.beta(1, 0.2), stats.pareto(1.05), stats.uniform(1, 1e-12)])
def test_refuses_to_guess_where_the_accuracy_cannot_be_reached(dist):
    with pytest.raises(InputError, match="tabulated to 1e-8"):
        FromScipy(dist).share(np.array(0.0))

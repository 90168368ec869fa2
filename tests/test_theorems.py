"""The paper, theorem by theorem: what holds for every prior. The Beta family has its own file."""

from itertools import product

import numpy as np
import pytest
from every_prior import COSTS, PRIORS, STEPS, STRICT, each_of
from scipy import optimize

from pandora_regret import (
    expected_search_cost,
    pair_costs,
    pandora_regret,
)

LATTICE = [np.array(parts) / 12 for parts in product(range(1, 10), repeat=4) if sum(parts) == 12]


def scores_of_every_truth(forecast, prior, costs=COSTS):
    """S(p, y = i) in entry i."""
    classes = np.arange(len(forecast))
    table = np.tile(forecast, (len(forecast), 1))
    return expected_search_cost(classes, table, prior=prior, max_costs=costs, per_instance=True)


def risk(forecast, truth, prior):
    """The expected score when classes have the probabilities `truth`."""
    return float(truth @ scores_of_every_truth(forecast, prior))


def searched(forecast, costs, i, rng):
    """What a search pays under each row of costs: test by falling p / c, ties at random, until i is found."""
    order = np.lexsort((rng.random(costs.shape), -forecast / costs), axis=1)
    spent = np.take_along_axis(costs, order, axis=1).cumsum(axis=1)
    return spent[np.arange(len(costs)), (order == i).argmax(axis=1)]


@each_of(PRIORS)
@pytest.mark.parametrize("forecast", [[0.45, 0.3, 0.15, 0.1], [0.125, 0.375, 0.25, 0.25]], ids=["apart", "tied"])
def test_theorem_search_cost_decomposition(prior, forecast):
    rng, forecast = np.random.default_rng(11), np.array(forecast)
    costs = COSTS * prior.sample(100_000, 4, rng)
    expected = scores_of_every_truth(forecast, prior)
    for i in range(4):
        paid = searched(forecast, costs, i, rng)
        assert abs(paid.mean() - expected[i]) <= 4 * paid.std() / np.sqrt(len(paid)) + 1e-12


@each_of(PRIORS)
def test_theorem_search_cost_decomposition_depends_on_pairs_only(prior):
    forecast = np.array([0.45, 0.3, 0.15, 0.1])
    spent = pair_costs(range(4), np.tile(forecast, (4, 1)), prior=prior, max_costs=COSTS, per_instance=True)
    for i in range(4):
        for j in set(range(4)) - {i}:
            odds = (forecast[i] / COSTS[i]) / (forecast[j] / COSTS[j])
            assert spent[i, j] == pytest.approx(COSTS[j] * prior.pair_loss(odds, i, j), rel=1e-10)
    unavoidable = COSTS * prior.mean
    assert spent.sum(axis=1) + unavoidable == pytest.approx(scores_of_every_truth(forecast, prior), rel=1e-12)


@each_of(PRIORS)
def test_theorem_propriety(prior):
    rng = np.random.default_rng(12)
    for truth in rng.dirichlet(np.ones(4), 5):
        best = risk(truth, truth, prior)
        near = np.abs(truth * np.exp(rng.normal(0, 0.05, (20, 4))))
        others = np.concatenate([rng.dirichlet(np.ones(4), 20), near / near.sum(axis=1, keepdims=True)])
        assert all(risk(other, truth, prior) >= best * (1 - 1e-9) for other in others)


@each_of(STRICT)
@pytest.mark.parametrize("truth", [[0.4, 0.3, 0.2, 0.1], [0.05, 0.15, 0.2, 0.6]], ids=["mild", "sharp"])
def test_theorem_strict_propriety(prior, truth):
    """The expected score, minimised over the simplex: on a lattice first, since far off its best it is flat."""
    truth = np.array(truth)
    start = min(LATTICE, key=lambda forecast: risk(forecast, truth, prior))
    found = optimize.minimize(lambda z: risk(softmax(z), truth, prior), np.log(start[1:] / start[0]), tol=1e-9)
    assert softmax(found.x) == pytest.approx(truth, abs=1e-4)
    assert prior.strictly_proper


def softmax(free_logits):
    """A forecast from all logits but the first, which is zero: no two of them give the same forecast."""
    unnormalised = np.exp(np.concatenate([[0.0], free_logits]))
    return unnormalised / unnormalised.sum()


@each_of(STEPS)
def test_remark_finitely_supported_priors_are_flat(prior):
    truth = np.array([0.41, 0.28, 0.2, 0.11])
    nudged = np.array([0.4101, 0.2799, 0.2001, 0.1099])
    assert risk(nudged, truth, prior) == risk(truth, truth, prior)
    assert not prior.strictly_proper


def test_theorem_uniform_cost_form():
    rng = np.random.default_rng(14)
    for n_classes in (2, 3, 10):
        forecasts, truth = rng.dirichlet(np.ones(n_classes), 50), rng.integers(0, n_classes, 50)
        raw = expected_search_cost(truth, forecasts, per_instance=True)
        score = pandora_regret(truth, forecasts, per_instance=True)
        assert raw == pytest.approx((1 + (n_classes - 1) * score) / 2, rel=1e-14)


@each_of(PRIORS)
def test_proposition_known_cost_rescaling(prior):
    """Searching under costs C u is searching p / C under costs u, each test priced at C."""
    forecast = np.array([0.1, 0.4, 0.2, 0.3])
    rescaled = (forecast / COSTS) / (forecast / COSTS).sum()
    in_units = pair_costs(range(4), np.tile(rescaled, (4, 1)), prior=prior, per_instance=True)
    expected = COSTS * np.broadcast_to(prior.mean, 4) + in_units @ COSTS
    assert scores_of_every_truth(forecast, prior) == pytest.approx(expected, rel=1e-9)

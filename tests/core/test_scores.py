"""The scores as users call them: invariances, logits, weights, costs, zeros, sizes and number types."""

from functools import partial

import numpy as np
import pytest
from every_prior import COSTS, PRIORS, every_prior
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    Beta,
    beta_score,
    excess_search_burden,
    expected_search_cost,
    pair_costs,
    pandora_regret,
    search_cost,
)
from pandora_regret.metrics import METRICS

K = 4
SCORES = {
    "regret": pandora_regret,
    "regret, alpha 0": partial(pandora_regret, alpha=0.0),
    "regret, alpha inf": partial(pandora_regret, alpha=np.inf),
    "beta score": partial(beta_score, alpha=0.37, max_costs=COSTS),
    "burden": excess_search_burden,
    "realised": partial(search_cost, costs=COSTS),
    **{f"cost, {name}": partial(expected_search_cost, prior=p, max_costs=COSTS) for name, p in PRIORS.items()},
}

every_score = pytest.mark.parametrize("score", SCORES.values(), ids=SCORES.keys())


def example(n_rows=60, n_classes=K, seed=1):
    """Labels, forecasts without ties or zeros, and weights."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, n_classes, n_rows),
        rng.dirichlet(np.ones(n_classes), n_rows),
        rng.uniform(0.5, 3, n_rows),
    )


@every_score
def test_score_is_the_mean_of_its_instances(score):
    truth, forecasts, weights = example()
    each = score(truth, forecasts, per_instance=True)
    assert each.shape == (60,)
    assert type(score(truth, forecasts)) is float
    assert score(truth, forecasts) == pytest.approx(each.mean(), rel=1e-13)
    assert score(truth, forecasts, sample_weight=weights) == pytest.approx(
        np.average(each, weights=weights), rel=1e-13
    )


@every_score
@pytest.mark.parametrize("shift", [0.0, -700.0, 5000.0])
def test_logits_of_any_offset_score_as_their_probabilities(score, shift):
    truth, forecasts, _ = example()
    logits = np.log(forecasts) + shift
    got = score(truth, logits, logits=True, per_instance=True)
    assert got == pytest.approx(score(truth, forecasts, per_instance=True), rel=1e-9 if shift else 1e-12)


def test_an_infinite_score_of_zero_weight_is_absent():
    table = [[1.0, 0.0], [0.25, 0.75]]
    assert pandora_regret([1, 1], table, alpha=0.0) == np.inf
    assert pandora_regret([1, 1], table, alpha=0.0, sample_weight=[0, 2]) == pandora_regret(
        [1], table[1:], alpha=0.0
    )


@every_prior
def test_costs_of_each_instance(prior):
    truth, forecasts, _ = example()
    costs = np.random.default_rng(3).uniform(1, 9, (60, K))
    got = expected_search_cost(truth, forecasts, prior=prior, max_costs=costs, per_instance=True)
    alone = [expected_search_cost(truth[[n]], forecasts[[n]], prior=prior, max_costs=costs[n]) for n in range(60)]
    assert got == pytest.approx(alone, rel=1e-13)
    repeated = expected_search_cost(truth, forecasts, prior=prior, max_costs=np.tile(COSTS, (60, 1)))
    alike = expected_search_cost(truth, forecasts, prior=prior, max_costs=COSTS)
    assert repeated == pytest.approx(alike, rel=1e-13)


@every_prior
def test_costs_are_mean_costs(prior):
    truth, forecasts, _ = example()
    typical = expected_search_cost(truth, forecasts, prior=prior, costs=COSTS)
    assert typical == pytest.approx(
        expected_search_cost(truth, forecasts, prior=prior, max_costs=COSTS / prior.mean), rel=1e-13
    )
    certain = np.eye(K)
    oracle = expected_search_cost(range(K), certain, prior=prior, costs=COSTS, per_instance=True)
    assert oracle == pytest.approx(COSTS, rel=1e-13)


@every_prior
def test_pair_costs_and_the_unavoidable_add_up_to_the_total(prior):
    truth, forecasts, weights = example()
    options = {"prior": prior, "costs": COSTS, "sample_weight": weights}
    pairs = pair_costs(truth, forecasts, **options)
    unavoidable = np.average(COSTS[truth], weights=weights)
    assert pairs.shape == (K, K)
    assert (np.diag(pairs) == 0).all()
    assert pairs.sum() + unavoidable == pytest.approx(expected_search_cost(truth, forecasts, **options), rel=1e-13)


@pytest.mark.parametrize("alpha", [1e-8, 0.37, 1.0, 3.0, 50.0, np.inf])
def test_zero_probabilities_take_the_limits_of_the_loss(alpha):
    worst = 1 + (1 + 1 / alpha)
    possible, impossible = beta_score([0, 1], [[1.0, 0.0], [1.0, 0.0]], alpha=alpha, per_instance=True)
    assert possible == 0
    assert impossible == pytest.approx(worst, rel=1e-14)


@pytest.mark.parametrize("alpha", [0.37, 1.0, 3.0, np.inf])
def test_two_impossible_classes_are_told_apart_by_cost_alone(alpha):
    table, even = [[1.0, 0.0, 0.0]] * 2, [[0.0, 0.5, 0.5]] * 2
    costs = np.array([1.0, 2.0, 5.0])
    impossible = pair_costs([1, 2], table, prior=Beta(alpha), max_costs=costs, per_instance=True)
    likely = pair_costs([1, 2], even, prior=Beta(alpha), max_costs=costs, per_instance=True)
    assert impossible[:, 1:].tolist() == likely[:, 1:].tolist()
    assert impossible[:, 0] == pytest.approx(costs[0] * Beta(alpha).mean)  # paid in full before either


@every_score
def test_logits_of_minus_infinity_are_zero_probabilities(score):
    table = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.25, 0.75, 0.0], [0.0, 0.0, 0.0, 1.0]]).repeat(4, axis=0)
    truth = np.tile(np.arange(4), 3)
    with np.errstate(divide="ignore"):
        logits = np.log(table)
    got = score(truth, logits, logits=True, per_instance=True)
    assert got == pytest.approx(score(truth, table, per_instance=True), rel=1e-13)


@every_score
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_short_probabilities_score_as_the_same_numbers_in_float64(score, dtype):
    truth, forecasts, _ = example()
    short = forecasts.astype(dtype)
    got = score(truth, short, per_instance=True)
    logits = np.log(short.astype(np.float64))  # widened, half-precision rows would be too far off a sum of one
    assert got.dtype == np.float64
    assert got == pytest.approx(score(truth, logits, logits=True, per_instance=True), rel=1e-12)


@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6), st.floats(1e-3, 5), st.data())
def test_a_likelier_truth_never_scores_worse(logits, gain, data):
    truth, alpha = data.draw(st.integers(0, len(logits) - 1)), data.draw(st.sampled_from([0.0, 0.37, 1.0, 50.0]))
    better = np.array(logits)
    better[truth] += gain
    scores = pandora_regret([truth] * 2, [logits, better], alpha=alpha, logits=True, per_instance=True)
    assert scores[1] <= scores[0] * (1 + 1e-13)


def test_the_figures_that_clinicians_read_are_those_of_the_score():
    scores = [pandora_regret([0], [forecast]) for forecast in ([0.6, 0.2, 0.2], [0.2, 0.4, 0.4])]
    assert scores == pytest.approx([0.037, 0.667], abs=5e-4)
    assert [pandora_regret([0], [forecast]) for forecast in ([1.0, 0.0, 0.0], [0.0, 0.5, 0.5])] == [0.0, 1.0]


def test_the_excess_burden_is_twice_what_is_spent_on_wrong_tests():
    rng = np.random.default_rng(0)
    truth, table = rng.integers(4, size=20), rng.dirichlet(np.ones(4), 20)
    waste = expected_search_cost(truth, table, per_instance=True) - 0.5
    assert METRICS["excess_burden"](truth, table) == pytest.approx(2 * waste.mean(), rel=1e-12)

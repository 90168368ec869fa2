"""Entropies and divergences: the fast sweep against brute force, and what they mean."""

import numpy as np
import pytest
from every_prior import COSTS, every_prior
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    Beta,
    Exponential,
    Fixed,
    expected_search_cost,
    search_divergence,
    search_entropy,
)

ALPHAS = [1e-8, 0.37, 1.0, 3.0, 50.0, np.inf]
each_alpha = pytest.mark.parametrize("alpha", ALPHAS)


def expectation(truth, table, **options):
    """``sum_i pi_i S(p, y = i)`` of each row, from the scores themselves: O(K^2)."""
    n_rows, n_classes = np.shape(table)
    scores = [expected_search_cost([i] * n_rows, table, per_instance=True, **options) for i in range(n_classes)]
    return (truth * np.transpose(scores)).sum(axis=1)


def softmax(logits):
    unnormalised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return unnormalised / unnormalised.sum(axis=1, keepdims=True)


@st.composite
def tied_tables(draw):
    """Three forecasts in eighths, so that ties and zeros are common, and costs in powers of two, or none."""
    n_classes = draw(st.integers(2, 7))
    rows = st.lists(st.integers(0, n_classes - 1), min_size=8, max_size=8)
    table = [np.bincount(draw(rows), minlength=n_classes) / 8 for _ in range(3)]
    exponents = st.lists(st.integers(-3, 3), min_size=n_classes, max_size=n_classes)
    costs = draw(st.none() | exponents.map(lambda e: 2.0 ** np.array(e)))
    return np.array(table), costs


@each_alpha
@given(tied_tables())
def test_sweep_equals_brute_force_on_ties_and_zeros(alpha, case):
    table, costs = case
    got = search_entropy(table, prior=Beta(alpha), costs=costs, per_instance=True)
    assert got == pytest.approx(expectation(table, table, prior=Beta(alpha), costs=costs), rel=1e-13)


@given(
    st.integers(0, 10**6), st.sampled_from([1.0, 30.0, 300.0]), st.sampled_from([0.0, 3.0, 30.0]), st.booleans()
)
def test_exponential_costs_of_every_truth_equal_those_of_one_after_the_other(seed, spread, of_costs, are_logits):
    """Zeros, quotients that underflow and costs that lie far apart are among them."""
    rng = np.random.default_rng(seed)
    table, costs = rng.normal(0, spread, (5, 6)), np.exp(rng.normal(0, of_costs, (5, 6)))
    table[rng.random(table.shape) < 0.3] = -np.inf
    table[:, 0] = 0.0
    table = table if are_logits else softmax(table)
    options = {"prior": Exponential(), "costs": costs, "logits": are_logits, "per_instance": True}
    sure = np.eye(6)
    for truth in range(6):
        honest = np.broadcast_to(sure[truth], table.shape)
        found = search_divergence(honest, table, **options)
        wasted = expected_search_cost([truth] * 5, table, **options) - costs[:, truth]
        assert found == pytest.approx(wasted, rel=1e-11, abs=1e-12 * costs.max())


@each_alpha
@given(st.integers(0, 10**6), st.sampled_from([0.1, 3.0, 500.0]))
def test_sweep_equals_brute_force_on_logits_and_costs_of_each_instance(alpha, seed, spread):
    rng = np.random.default_rng(seed)
    logits, costs = rng.normal(0, spread, (4, 6)), 10.0 ** rng.uniform(-3, 3, (4, 6))
    logits[:2, 1], costs[:2, 1] = logits[:2, 0], costs[:2, 0]  # ties
    logits[1, 3] = -np.inf
    options = {"prior": Beta(alpha), "costs": costs, "logits": True}
    got = search_entropy(logits, per_instance=True, **options)
    assert got == pytest.approx(expectation(softmax(logits), logits, **options), rel=1e-12)


@each_alpha
@given(st.integers(0, 10**6))
def test_sweep_equals_brute_force_for_any_truth(alpha, seed):
    """Also where the forecast holds the truth to be impossible."""
    rng = np.random.default_rng(seed)
    truths, table = rng.multinomial(8, [0.2] * 5, (2, 3)) / 8
    options = {"prior": Beta(alpha), "costs": rng.integers(1, 5, 5).astype(float)}
    excess = expectation(truths, table, **options) - expectation(truths, truths, **options)
    got = search_divergence(truths, table, per_instance=True, **options)
    assert got == pytest.approx(excess, rel=1e-10, abs=1e-13)


@every_prior
def test_entropy_is_the_expected_score_of_a_forecast_that_is_right(prior):
    table = np.random.default_rng(1).dirichlet(np.ones(4), 20)
    got = search_entropy(table, prior=prior, costs=COSTS, per_instance=True)
    assert got == pytest.approx(expectation(table, table, prior=prior, costs=COSTS), rel=1e-12)


def test_entropy_of_no_idea_is_the_cost_of_a_random_order():
    """Under equal known costs a truth in a random place is found after (K + 1) / 2 tests."""
    assert search_entropy([[0.2] * 5], prior=Fixed()) == pytest.approx(3.0, rel=1e-14)
    assert search_entropy([[0.2] * 5]) == pytest.approx(1 / 2 + 4 / 6, rel=1e-14)


@every_prior
def test_means_are_weighted_means_of_the_rows(prior):
    rng = np.random.default_rng(7)
    truths, table = rng.dirichlet(np.ones(4), (2, 30))
    options = {"prior": prior, "costs": rng.uniform(1, 5, (30, 4))}
    weights = rng.integers(0, 3, 30)
    for entropy in (search_entropy, lambda p, **rest: search_divergence(truths, p, **rest)):
        rows = entropy(table, per_instance=True, **options)
        mean = entropy(table, sample_weight=weights, **options)
        assert type(mean) is float
        assert mean == pytest.approx(np.average(rows, weights=weights), rel=1e-13)


def test_one_row_of_a_hundred_thousand_classes():
    n_classes = 100_000
    even = np.full((1, n_classes), 1 / n_classes)
    assert search_entropy(even) == pytest.approx(1 / 2 + (n_classes - 1) / 6, rel=1e-12)
    tilted = np.linspace(0, 1e-3, n_classes)[None]
    assert search_divergence(even, tilted, logits=True) < 1e-3 * search_entropy(even)

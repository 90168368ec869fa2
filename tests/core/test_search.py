"""The search itself: the optimal order, the realised cost and its ties, and the simulation."""

import tracemalloc
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from every_prior import COSTS, every_prior
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    Beta,
    Exponential,
    Fixed,
    Gamma,
    expected_search_cost,
    search_cost,
    search_order,
    simulate_search,
)


@st.composite
def tied_searches(draw, most_classes=5):
    """Probabilities in eighths and small integer costs, so that zeros and exact ties of p / c are common."""
    n_classes = draw(st.integers(2, most_classes))
    eighths = draw(st.lists(st.integers(0, n_classes - 1), min_size=8, max_size=8))
    costs = draw(st.lists(st.integers(1, 6), min_size=n_classes, max_size=n_classes))
    return np.bincount(eighths, minlength=n_classes) / 8, np.array(costs, dtype=float)


def cost_along(order, costs):
    """What is paid until each class is found."""
    paid = np.empty(len(order))
    paid[list(order)] = np.cumsum(costs[list(order)])
    return paid


def merit(p, cost):
    """p / c, exactly; below all that, impossible classes, cheapest first."""
    return Fraction(p) / Fraction(cost) if p else -Fraction(cost)


def searched(forecast, costs, **options):
    """The realised cost for every class that might be the truth."""
    n = len(forecast)
    return search_cost(range(n), np.tile(forecast, (n, 1)), costs, per_instance=True, **options)


def logits_of(forecast):
    with np.errstate(divide="ignore"):
        return np.log(forecast)


@given(tied_searches())
def test_search_order_is_optimal_among_all_orders(search):
    forecast, costs = search
    expected = {order: forecast @ cost_along(order, costs) for order in permutations(range(len(costs)))}
    assert expected[tuple(search_order(forecast, costs))] == pytest.approx(min(expected.values()), rel=1e-14)


@given(tied_searches())
def test_search_order_breaks_ties_by_class_number(search):
    forecast, costs = search
    exact = sorted(range(len(costs)), key=lambda k: (-merit(forecast[k], costs[k]), k))
    assert search_order(forecast, costs).tolist() == exact


@given(tied_searches())
def test_search_cost_by_index_is_the_cost_along_the_search_order(search):
    forecast, costs = search
    assert searched(forecast, costs).tolist() == cost_along(search_order(forecast, costs), costs).tolist()


def test_search_order_of_logits_sees_what_the_largest_logit_would_drown():
    assert search_order([1e4, 0.0, 1e-13], np.ones(3), logits=True).tolist() == [0, 2, 1]
    assert searched(np.array([1e4, 0.0, 1e-13]), np.ones(3), logits=True).tolist() == [1, 3, 2]


def test_search_order_of_tiny_probabilities_under_large_costs():
    forecast, costs = np.array([1.0, 1e-300, 1e-300 * (1 + 1e-15)]), np.full(3, 1e23)
    assert search_order(forecast, costs).tolist() == [0, 2, 1]
    assert searched(forecast, costs) == pytest.approx([1e23, 3e23, 2e23], rel=1e-15)


@given(tied_searches(most_classes=4))
def test_average_ties_are_the_mean_over_all_optimal_orders(search):
    forecast, costs = search
    rank = [merit(p, c) for p, c in zip(forecast, costs, strict=True)]
    falling = [o for o in permutations(range(len(costs))) if all(rank[a] >= rank[b] for a, b in pairwise(o))]
    mean = np.mean([cost_along(order, costs) for order in falling], axis=0)
    assert searched(forecast, costs, ties="average") == pytest.approx(mean, rel=1e-14)


@given(tied_searches())
def test_logits_of_equal_classes_tie_as_their_probabilities_do(search):
    forecast, costs = search[0], np.full(len(search[0]), 3.0)
    for ties in ("index", "average"):
        of_logits = searched(logits_of(forecast), costs, logits=True, ties=ties)
        assert of_logits.tolist() == searched(forecast, costs, ties=ties).tolist()


def test_impossible_classes_come_last_the_cheapest_first():
    forecast, costs = np.array([0.0, 0.01, 0.0, 0.99, 0.0]), [5.0, 1e6, 2.0, 1.0, 2.0]
    assert search_order(forecast, costs).tolist() == [3, 1, 2, 4, 0]
    assert search_order(logits_of(forecast), costs, logits=True).tolist() == [3, 1, 2, 4, 0]


def test_search_order_has_the_shape_of_its_forecasts():
    table, costs = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]]), np.array([10.0, 2.0, 1.0])
    orders = search_order(table, costs)
    assert orders.shape == (2, 3)
    assert search_order(table[0], costs).tolist() == orders[0].tolist()
    per_row = search_order(table, np.stack([costs, costs[::-1]]))
    assert per_row.tolist() == [orders[0].tolist(), search_order(table[1], costs[::-1]).tolist()]


def test_search_cost_takes_costs_of_each_instance():
    table, costs = np.array([[0.6, 0.3, 0.1]] * 2), np.array([[10.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    assert search_cost([0, 2], table, costs, per_instance=True).tolist() == [13.0, 3.0]


TABLE = np.array([[4, 2, 2, 0], [1, 4, 2, 1], [0, 2, 4, 2], [8, 0, 0, 0]]) / 8
TRUTH = [0, 2, 0, 2]


@every_prior
def test_simulated_search_converges_to_the_expected_search_cost(prior):
    found = simulate_search(TRUTH, TABLE, prior=prior, max_costs=COSTS, draws=40_000, seed=1)
    expected = expected_search_cost(TRUTH, TABLE, prior=prior, max_costs=COSTS)
    assert abs(found.mean - expected) <= 4 * found.standard_error + 1e-12
    assert found.standard_error < 0.02 * expected


@given(tied_searches())
def test_simulation_under_fixed_costs_is_the_expected_search_cost(search):
    forecast, costs = search
    truth, table = range(len(costs)), np.tile(forecast, (len(costs), 1))
    for values, logits in [(table, False), (logits_of(table), True)]:
        options = {"prior": Fixed(), "costs": costs, "logits": logits}
        found = simulate_search(truth, values, draws=2, seed=0, **options)
        assert found == (expected_search_cost(truth, values, **options), 0.0)


def test_simulation_takes_costs_of_each_instance_and_the_largest_ones():
    costs = np.random.default_rng(3).uniform(1, 9, TABLE.shape)
    for options in ({"costs": costs}, {"max_costs": costs}, {"costs": COSTS, "prior": Gamma(2.0)}):
        found = simulate_search(TRUTH, TABLE, draws=20_000, seed=4, **options)
        assert abs(found.mean - expected_search_cost(TRUTH, TABLE, **options)) < 4 * found.standard_error


def test_simulation_respects_weights():
    weights = [3.0, 1.0, 0.0, 2.0]
    weighted = simulate_search(TRUTH, TABLE, draws=300, seed=5, sample_weight=weights)
    rows = [0, 0, 0, 1, 3, 3]
    repeated = simulate_search(np.array(TRUTH)[rows], TABLE[rows], draws=300, seed=5)
    assert tuple(weighted) == pytest.approx(tuple(repeated), rel=1e-12)


def test_simulation_does_not_depend_on_how_draws_are_batched(monkeypatch):
    whole = simulate_search(TRUTH, TABLE, prior=Exponential(), draws=300, seed=9)
    monkeypatch.setattr("pandora_regret.core.inputs.tables.BLOCK_ELEMENTS", 50)
    batched = simulate_search(TRUTH, TABLE, prior=Exponential(), draws=300, seed=9)
    assert tuple(batched) == pytest.approx(tuple(whole), rel=1e-12)


def test_memory_of_a_simulation_does_not_grow_with_draws():
    rng = np.random.default_rng(10)
    table, truth = rng.dirichlet(np.ones(20), 50), rng.integers(0, 20, 50)

    def peak(draws):
        tracemalloc.start()
        simulate_search(truth, table, draws=draws, seed=0)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(40_000)  # what is imported, compiled and cached on first use
    assert peak(200_000) < 1.1 * peak(40_000)


@pytest.mark.parametrize("prior", [Beta(0.005), Gamma(0.005)], ids=str)
def test_simulation_survives_costs_that_underflow(prior):
    found = simulate_search(TRUTH, TABLE, prior=prior, max_costs=[0.1, 0.2, 1e-9, 0.3], draws=20_000, seed=11)
    expected = expected_search_cost(TRUTH, TABLE, prior=prior, max_costs=[0.1, 0.2, 1e-9, 0.3])
    assert abs(found.mean - expected) < 4 * found.standard_error


def test_names_of_a_forecast_and_of_costs_are_matched():
    assert search_order({"flu": 0.6, "cold": 0.4}, {"cold": 9.0, "flu": 1.0}).tolist() == [0, 1]
    assert search_order({"flu": 0.6, "cold": 0.4}, {"cold": 1.0, "flu": 9.0}).tolist() == [1, 0]

"""Imperfect tests, after the paper's appendix on robustness: the right order and the right bill."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret import (
    search_cost,
    search_order,
)
from pandora_regret.core.imperfect import (
    Tests,
    expected_expenditure,
    imperfect_order,
    predicted_expenditure,
    simulate_expenditure,
    treatment_payoff,
)

SEARCHES = ["single_pass", "restarts", "adaptive"]
each_search = pytest.mark.parametrize("search", SEARCHES)
each_seed = pytest.mark.parametrize("seed", range(4))


def some_case(seed, n_classes, least=0.5, **options):
    """A forecast and tests of no particular regularity."""
    rng = np.random.default_rng(seed)
    tests = Tests(
        cost=rng.lognormal(0, 1, n_classes),
        sensitivity=rng.uniform(least, 1, n_classes),
        false_positive_rate=rng.uniform(0, 0.6, n_classes),
        confirmatory_cost=rng.lognormal(0, 1, n_classes),
        **options,
    )
    return rng.dirichlet(np.ones(n_classes)), tests


def walk(sequence, p, tests):
    """The exact mean bill of any sequence of tests, and who is still unfound: mass by mass, test by test."""
    unfound, bill = np.array(p, dtype=float), 0.0
    for j in sequence:
        found = tests.sensitivity[j] * unfound[j]
        bill += found * tests.finding_cost[j] + (unfound.sum() - found) * tests.fruitless_cost[j]
        unfound[j] -= found
    return bill, unfound


def repeated(order, times=60):
    return np.tile(order, times)


def long_sequence(p, tests, search):
    """Enough of the search that nobody is left unfound, or all of it."""
    steps = len(p) if search == "single_pass" else 60 * len(p)
    return imperfect_order(p, tests, search=search, steps=steps)


def bills(p, tests, search):
    """Of every class as the truth."""
    table = np.tile(p, (len(p), 1))
    return expected_expenditure(np.arange(len(p)), table, tests, search=search, per_instance=True)


# Imperfect tests


@each_seed
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
def test_imperfect_tests_no_single_pass_is_cheaper_than_by_the_kress_index(seed, n_classes):
    p, tests = some_case(seed, n_classes, least=0.05)
    every = {order: walk(order, p, tests)[0] for order in permutations(range(n_classes))}
    best = tuple(imperfect_order(p, tests, search="single_pass"))
    assert best == min(every, key=every.get)
    assert predicted_expenditure([p], tests, search="single_pass") == pytest.approx(every[best], rel=1e-13)


# False negatives and search restarts


@pytest.mark.slow
@each_seed
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
def test_false_negatives_and_search_restarts_the_best_fixed_order_ignores_sensitivity(seed, n_classes):
    p, tests = some_case(seed, n_classes, least=0.6)
    every = {order: walk(repeated(order, 40), p, tests)[0] for order in permutations(range(n_classes))}
    best = tuple(imperfect_order(p, tests, search="restarts"))
    assert best == min(every, key=every.get)
    assert best == tuple(search_order(p, tests.fruitless_cost))
    assert predicted_expenditure([p], tests, search="restarts") == pytest.approx(every[best], rel=1e-12)


# Adaptive repeats (Blackwell, Matula)


def least_mean_bill(p, tests, depth):
    """Dynamic programming over the numbers of tests made; after `depth` of every class the search gives up."""
    k, e, s = len(p), tests.fruitless_cost, tests.sensitivity
    to_go = np.full((depth + 2,) * k, np.inf)
    for made in sorted(product(range(depth + 1), repeat=k), key=sum, reverse=True):
        unfound = p @ (1 - s) ** np.array(made)
        after = [to_go[tuple(np.add(made, np.eye(k, dtype=int)[j]))] for j in range(k)]
        to_go[made] = 0.0 if min(made) == depth else min(e[j] * unfound + after[j] for j in range(k))
    return to_go[(0,) * k] + p @ (tests.finding_cost - e)


@each_seed
@pytest.mark.parametrize(("n_classes", "depth"), [(2, 45), (3, 18)])
def test_adaptive_repeats_agree_with_dynamic_programming(seed, n_classes, depth):
    p, tests = some_case(seed, n_classes, least=0.5 if n_classes == 2 else 0.8)
    least = least_mean_bill(p, tests, depth)
    assert predicted_expenditure([p], tests, search="adaptive") == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("p", [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.375, 0.5], [0.2, 0.4, 0.4]])
@pytest.mark.parametrize("s", [0.5, [0.5, 0.75, 0.5], [1.0, 0.75, 0.5]])
def test_adaptive_repeats_count_tied_tests_once(p, s):
    """Halving makes exact ties that rounding would break one way for one truth and the other way for another."""
    tests = Tests(cost=1.0, sensitivity=s, labels=range(3))
    sequence = long_sequence(p, tests, "adaptive")
    assert bills(p, tests, "adaptive") == pytest.approx(
        [walk(sequence, row, tests)[0] for row in np.eye(3)], rel=1e-12
    )


def test_adaptive_repeats_never_reach_an_impossible_class_that_perfect_tests_would():
    p = np.array([0.7, 0.3, 0.0])
    assert np.isinf(bills(p, Tests(cost=[1.0, 2.0, 4.0], sensitivity=0.9), "adaptive")).tolist() == [
        False,
        False,
        True,
    ]
    perfect = Tests(cost=[1.0, 2.0, 4.0], sensitivity=[1.0, 1.0, 0.5])
    assert bills(p, perfect, "adaptive") == pytest.approx([1, 3, 1 + 2 + 4 / 0.5], rel=1e-12)
    assert imperfect_order(p, perfect, search="adaptive", steps=5).tolist() == [0, 1, 2, 2, 2]
    logits = [0.0, -np.inf, -3e5]  # all but impossible is possible
    assert imperfect_order(logits, perfect, search="adaptive", steps=4, logits=True).tolist() == [0, 2, 2, 2]
    assert predicted_expenditure([p], Tests(cost=1.0, sensitivity=[0.9] * 3), search="adaptive") < np.inf
    with np.errstate(invalid="ignore"):
        assert (
            simulate_expenditure([2], [p], Tests(cost=1.0, sensitivity=[0.9] * 3), search="adaptive").mean
            == np.inf
        )


# The bill


@each_search
@each_seed
@pytest.mark.parametrize("confirm_truth", [False, True])
def test_the_bill_of_every_truth_is_that_of_walking_the_order(search, seed, confirm_truth):
    p, tests = some_case(seed, 5, confirm_truth=confirm_truth)
    sequence = long_sequence(p, tests, search)
    by_walking = [walk(sequence, truth, tests)[0] for truth in np.eye(5)]
    assert bills(p, tests, search) == pytest.approx(by_walking, rel=1e-12)
    assert predicted_expenditure([p], tests, search=search) == pytest.approx(p @ by_walking, rel=1e-12)


@each_search
def test_the_bill_is_what_simulation_pays(search):
    rng = np.random.default_rng(7)
    _, tests = some_case(7, 4, least=0.3, confirm_truth=True)
    y, p, w = rng.integers(4, size=20), rng.dirichlet(np.ones(4), 20), rng.uniform(0, 2, 20)
    exact = expected_expenditure(y, p, tests, search=search, sample_weight=w)
    drawn = simulate_expenditure(y, p, tests, search=search, sample_weight=w, draws=20_000, seed=1)
    assert abs(drawn.mean - exact) < 4 * drawn.standard_error
    assert drawn.standard_error < 0.01 * exact


def test_the_bill_of_a_truth_held_to_be_all_but_impossible_is_simulated_without_counting():
    tests = Tests(cost=[1.0, 2.0], sensitivity=[0.5, 1.0], false_positive_rate=0.2, confirmatory_cost=1.0)
    exact = expected_expenditure([1], [[0.0, -1e25]], tests, search="adaptive", logits=True)
    drawn = simulate_expenditure([1], [[0.0, -1e25]], tests, search="adaptive", logits=True, draws=3, seed=0)
    assert exact == pytest.approx(1e25 / np.log(2) * 1.2)
    assert drawn.mean == pytest.approx(exact)


@each_search
@given(data=st.data())
def test_perfect_tests_reduce_to_search_cost(search, data):
    k = data.draw(st.integers(2, 6))
    weights = data.draw(st.lists(st.integers(0, 4), min_size=k, max_size=k).filter(any))
    costs = np.array(
        data.draw(st.lists(st.sampled_from([0.1, 0.3, 1, 2, 3, 5]), min_size=k, max_size=k)), dtype=float
    )
    p, tests = np.array(weights) / sum(weights), Tests(cost=costs, confirmatory_cost=7.0)
    with np.errstate(divide="ignore"):
        logits = np.log(p)[None]
    for truth in range(k):
        assert expected_expenditure([truth], [p], tests, search=search) == pytest.approx(
            search_cost([truth], [p], costs), rel=1e-15
        )
        assert expected_expenditure([truth], logits, tests, search=search, logits=True) == pytest.approx(
            search_cost([truth], logits, costs, logits=True), rel=1e-15
        )
    assert imperfect_order(p, tests, search=search).tolist() == search_order(p, costs).tolist()
    drawn = simulate_expenditure([0], [p], tests, search=search, draws=3, seed=0)
    assert drawn == pytest.approx((search_cost([0], [p], costs), 0.0), rel=1e-14)


@pytest.mark.slow
@each_search
def test_logits_rows_and_blocks_change_nothing(search, monkeypatch):
    rng = np.random.default_rng(11)
    _, tests = some_case(11, 4)
    y, p = rng.integers(4, size=50), rng.dirichlet(np.ones(4), 50)
    whole = expected_expenditure(y, p, tests, search=search, per_instance=True)
    orders = imperfect_order(p, tests, search=search)
    assert expected_expenditure(
        y, np.log(p) + 3, tests, search=search, logits=True, per_instance=True
    ) == pytest.approx(whole, rel=1e-12)
    assert whole[17] == pytest.approx(expected_expenditure(y[17:18], p[17:18], tests, search=search), rel=1e-14)
    monkeypatch.setattr("pandora_regret.core.inputs.tables.BLOCK_ELEMENTS", 40)
    assert expected_expenditure(y, p, tests, search=search) == pytest.approx(whole.mean(), rel=1e-12)
    assert (imperfect_order(p, tests, search=search) == orders).all()
    drawn = simulate_expenditure(y, p, tests, search=search, draws=200, seed=0)
    assert abs(drawn.mean - whole.mean()) < 4 * drawn.standard_error


# Treatment and disease costs


def test_treatment_and_disease_costs_add_what_no_order_changes():
    p, tests = some_case(8, 4)
    benefit, harm, untreated = np.array([9.0, 1.0, 5.0, 2.0]), 0.5, np.array([4.0, 0.0, 7.0, 1.0])
    payoff = treatment_payoff(tests, benefit=benefit, harm=harm, untreated_cost=untreated)
    for order in permutations(range(4)):
        unfound = walk(order, p, tests)[1]
        assert p @ payoff == pytest.approx((p - unfound) @ (benefit - harm) - unfound @ untreated)

"""Bound B, priced information: below the optimum at any price, with any reference; highest where these fit."""

import numpy as np
import pytest
from workups import names, noisy_test, random_mixed, random_workup

from pandora_regret.workup import Workup, plan_workup
from pandora_regret.workup.bounds import Bounds
from pandora_regret.workup.states import StateSpace


def at_the_start(workup, p):
    bounds = Bounds(StateSpace(workup))
    start, _ = bounds.space.start()
    return bounds, bounds.outlook(start, p)


def random_shares(bounds, rng):
    """(R,) of the outcomes of every step, each step's summing to 1."""
    parts = rng.uniform(0.02, 1, len(bounds.step_of_row))
    return parts / np.bincount(bounds.step_of_row, parts)[bounds.step_of_row]


@pytest.mark.parametrize("block", range(3))
def test_no_plan_beats_it_at_any_price_and_with_any_reference(block):
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        workup = (random_mixed, random_workup)[seed % 2](rng)
        p = rng.dirichlet(np.ones(len(workup.classes)))
        bounds, outlook = at_the_start(workup, p)
        steps = bounds._informative_steps(outlook.state)
        if len(steps) == 0:
            continue
        optimum = plan_workup(p, workup, method="graph").expected_cost
        prices = rng.uniform(0.1, 5, 5) * bounds.costs.mean()
        for _ in range(5):
            proven = bounds._priced(outlook, steps, random_shares(bounds, rng), prices)
            assert proven[0].max() <= optimum * (1 + 1e-9) + 1e-12, seed
        least, *_ = bounds.least(outlook, 0.0)
        assert least[0] <= optimum * (1 + 1e-9) + 1e-12, seed


def rare_signs(n_classes):
    """Every class has two tests that show it and hardly any other: what they tell of it, they tell once."""
    rng = np.random.default_rng(1)
    classes = names(n_classes)
    steps = {
        f"ask {number}": noisy_test(classes, np.where(np.arange(n_classes) == number % n_classes, 0.9, 0.03))
        for number in range(2 * n_classes)
    }
    steps |= {
        f"half {number}": noisy_test(classes, rng.choice([0.1, 0.9], n_classes)) for number in range(n_classes)
    }
    return Workup(classes, steps, stops={"name": {"wrong": 10.0}})


def test_a_reference_that_is_fitted_says_more_than_the_shares_of_a_state():
    workup = rare_signs(20)
    bounds, outlook = at_the_start(workup, np.full(20, 0.05))
    steps = bounds._informative_steps(outlook.state)
    by_own_shares, price = bounds._by_price(outlook, steps, 0.0)
    least, _, reference = bounds.least(outlook, 0.0)
    assert least[0] > 1.5 * by_own_shares[0]
    assert reference.price > price
    sums = np.bincount(bounds.step_of_row, reference.shares)
    assert sums == pytest.approx(1.0)


def test_the_next_state_begins_with_the_reference_of_the_one_before():
    workup = rare_signs(12)
    bounds, outlook = at_the_start(workup, np.full(12, 1 / 12))
    _, price, reference = bounds.least(outlook, 0.0)
    row, state = next(bounds.space.branches(outlook.state, 0))
    w = np.full(12, 1 / 12) * bounds.rows[row]
    after = bounds.outlook(state, w)
    fitted, _, again = bounds.least(after, price, reference)
    unfitted, _, none = bounds.least(after, price)
    assert none is None
    assert again is not None
    assert fitted[0] >= unfitted[0] - 1e-12
    optimum_of_stopping = w.sum() - w.max()
    assert fitted[0] <= 10 * optimum_of_stopping

"""The pair bound: below the optimum for all shares, and exact where it is the paper's formula."""

from itertools import combinations

import numpy as np
import pytest
from workups import names, noisy_test, random_mixed, random_workup, search_workup

from pandora_regret.workup import Workup, plan_workup, workup_entropy
from pandora_regret.workup.bounds import Bounds
from pandora_regret.workup.pairs import pair_bound
from pandora_regret.workup.planner import Planner
from pandora_regret.workup.states import StateSpace


def bounds_of(workup, p):
    space = StateSpace(workup)
    bounds = Bounds(space)
    start, _ = space.start()
    least, *_ = bounds.least(bounds.outlook(start, p), 0.0)
    return pair_bound(space, start, p, bounds.may_fail), float(least[0])


def optimum(w, fees, tests, losses, made=()):
    """By writing out all plans: weights (K,), fees (T, K) by truth, tests (T, O, K), losses of stops (A, K)."""
    best = min(float(w @ loss) for loss in losses)
    for number in set(range(len(tests))) - set(made):
        rows = [row for row in tests[number] if (w * row).any()]
        after = [optimum(w * row, fees, tests, losses, (*made, number)) for row in rows]
        best = min(best, float(w @ fees[number]) + sum(after))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_pairs_add_up_to_no_more_than_the_optimum_whatever_the_shares(seed):
    """Four classes, three noisy tests, three ways to stop: fees and losses divided at random."""
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.ones(4))
    tests = rng.dirichlet(np.ones(2), (3, 4)).transpose(0, 2, 1)
    fees = np.repeat(rng.uniform(0.2, 2, (3, 1)), 4, axis=1)
    losses = rng.uniform(0, 12, (3, 4))
    whole = optimum(w, fees, tests, losses)

    def shares(n_payments):
        parts = rng.uniform(0, 1, (n_payments, 4, 4)) * (1 - np.eye(4))
        return parts / parts.sum(axis=2, keepdims=True)

    of_fees = shares(3)
    of_losses = shares(3)
    total = 0.0
    for j, k in combinations(range(4), 2):
        pair = [j, k]
        others = [k, j]
        own_fees = fees[:, pair] * of_fees[:, pair, others]
        own_losses = losses[:, pair] * of_losses[:, pair, others]
        total += optimum(w[pair], own_fees, tests[:, :, pair], own_losses)
    assert total <= whole * (1 + 1e-12)
    assert total > 0


def test_it_is_the_formula_of_the_paper_where_tests_are_definitive():
    """Five classes: what truths pay for themselves, and for each pair the cheaper order of the two."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = rng.uniform(1, 5, 5)
        p = rng.dirichlet(np.ones(5))
        workup = search_workup(costs)
        by_pairs, _ = bounds_of(workup, p)
        pairs = sum(min(p[j] * costs[k], p[k] * costs[j]) for j, k in combinations(range(5), 2))
        assert by_pairs == pytest.approx(p @ costs + pairs, rel=1e-8)
        assert by_pairs == pytest.approx(float(workup_entropy([p], workup)), rel=1e-8)


@pytest.mark.parametrize("block", range(4))
def test_it_is_below_the_optimum_of_work_ups_of_every_kind(block):
    for seed in range(60 * block, 60 * block + 60):
        rng = np.random.default_rng(seed)
        workup = (random_mixed, random_workup)[seed % 2](rng)
        if workup.budget is not None:
            continue
        p = rng.dirichlet(np.ones(len(workup.classes)))
        by_pairs, _ = bounds_of(workup, p)
        assert by_pairs <= plan_workup(p, workup, method="graph").expected_cost * (1 + 1e-9), seed


def test_it_says_more_than_the_other_bounds_about_mixed_work_ups():
    rng = np.random.default_rng(5)
    classes = [f"part {k}" for k in range(12)]
    steps = {}
    for test in range(5):
        yes = dict(zip(classes, rng.choice([0.1, 0.2, 0.8, 0.9], 12).tolist(), strict=True))
        steps[f"ask {test}"] = {"cost": 3.0, "outcomes": {"yes": yes, "no": "otherwise"}}
    steps |= {f"look at {k}": {"cost": 10.0 + k, "confirms": name} for k, name in enumerate(classes)}
    workup = Workup(classes, steps, stops={"restart": {"loss": 150.0}})
    p = np.full(12, 1 / 12)
    by_pairs, others = bounds_of(workup, p)
    assert by_pairs > 1.05 * others
    planner = Planner(workup, p, {}, 1e9, limit=200)
    assert by_pairs * (1 - 1e-9) <= planner.root.low <= planner.root.high


def test_forty_noisy_tests_have_too_many_states_to_be_written_out():
    """3 to the power of 40 is more than 64 bits hold: nothing is said, and nothing allocated."""
    rng = np.random.default_rng(0)
    classes = names(12)
    steps = {f"ask {number}": noisy_test(classes, rng.beta(0.5, 0.5, 12)) for number in range(40)}
    proven, least = bounds_of(Workup(classes, steps, stops={"name": {"wrong": 30}}), rng.dirichlet(np.ones(12)))
    assert proven == 0
    assert least > 0

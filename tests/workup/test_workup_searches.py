"""Searches by definitive tests, priced for many beliefs at once, and rules whose cost is exact."""

import numpy as np
import pytest
from workups import forecasts, random_forest, random_mixed

from pandora_regret.workup import plan_workup, workup_entropy
from pandora_regret.workup.bounds import Bounds
from pandora_regret.workup.follow import cost_by_class
from pandora_regret.workup.planner import Planner
from pandora_regret.workup.rollouts import Beliefs, Rollouts, WrittenPlan
from pandora_regret.workup.searches import Searches
from pandora_regret.workup.states import UNUSED, StateSpace


def parts(workup):
    space = StateSpace(workup)
    searches = Searches(space)
    return space, searches, Rollouts(Bounds(space), searches)


def at_the_start(p, outcomes):
    """A batch of one belief, in which every class is possible."""
    return Beliefs(p[None], outcomes[None].astype(np.int16), np.ones((1, len(p)), bool))


@pytest.mark.parametrize("block", range(4))
def test_a_search_by_definitive_tests_alone_costs_what_the_exact_method_says(block):
    """300 forests: shared steps, some needed together, giving up, and classes that nothing finds."""
    for seed in range(75 * block, 75 * block + 75):
        rng = np.random.default_rng(seed)
        workup = random_forest(rng)
        p = forecasts(rng, 4, len(workup.classes))
        _, searches, _ = parts(workup)
        unmade = np.full((4, len(workup.steps)), UNUSED)
        costs = searches.costs_from(p, unmade)
        assert costs == pytest.approx(workup_entropy(p, workup, per_instance=True), rel=1e-9), seed


@pytest.mark.parametrize("block", range(4))
def test_every_ending_and_every_rule_costs_what_it_says_and_no_less_than_the_optimum(block):
    """200 mixed work-ups: the tree of each rule, followed class by class, costs as much as its levels say."""
    for seed in range(50 * block, 50 * block + 50):
        rng = np.random.default_rng(seed)
        workup = random_mixed(rng)
        p = rng.dirichlet(np.ones(len(workup.classes)))
        optimum = plan_workup(p, workup, method="graph").expected_cost
        _, _, rollouts = parts(workup)
        unmade = np.full(len(workup.steps), UNUSED)
        start = at_the_start(p, unmade)
        rules = [rollouts.by_information, rollouts.by_value, rollouts.by_ending, rollouts.by_price(3.0)]
        rules.append(rollouts.by_list(rollouts.battery(start)))
        ending = rollouts.endings(start)[0]
        for number, rule in enumerate(rules):
            levels = rollouts.evaluate(rule, start, 0.0)
            cost = levels[0].values[0]
            assert optimum * (1 - 1e-9) <= cost <= ending * (1 + 1e-9), (seed, number)
            planner = Planner(workup, p, {}, 1e9, limit=1)
            planner.nodes.clear()
            planner.root = planner.reach(planner.start, p)
            planner.adopt(planner.root, WrittenPlan(levels, 0, 0))
            tree = planner.grow(planner.start, planner.likelihood)
            assert tree.expected_cost == pytest.approx(cost, rel=1e-9), (seed, number)
            by_class = cost_by_class(workup, tree)
            followed = sum(p[workup.classes.index(name)] * paid for name, paid in by_class.items())
            assert followed == pytest.approx(cost, rel=1e-9), (seed, number)


@pytest.mark.parametrize("seed", range(20))
def test_no_rule_beats_the_plan(seed):
    """Each rule written out to the end, against a search that opens few states."""
    rng = np.random.default_rng(seed)
    workup = random_mixed(rng)
    p = rng.dirichlet(np.ones(len(workup.classes)))
    plan = plan_workup(p, workup, method="planner", seconds=1e9, limit=60)
    _, _, rollouts = parts(workup)
    start = at_the_start(p, np.full(len(workup.steps), UNUSED))
    rules = [rollouts.by_information, rollouts.by_value, rollouts.by_ending]
    rules.append(rollouts.by_list(rollouts.battery(start)))
    for rule in rules:
        cost = rollouts.evaluate(rule, start, 0.0)[0].values[0]
        assert plan.expected_cost <= cost * (1 + 1e-9)

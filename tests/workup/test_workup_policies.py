"""Each exact method against what it must equal: enumeration, the searches of the package, and the others."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from workups import (
    can_end,
    cost_without_stops,
    every_policy,
    forecasts,
    names,
    noisy_test,
    random_endless,
    random_forest,
    random_hierarchy,
    random_naming,
    random_workup,
    search_workup,
)

from pandora_regret import (
    Exponential,
    Fixed,
    Gamma,
    InputError,
    LogNormal,
    Uniform,
    beta_score,
    expected_search_cost,
)
from pandora_regret.core.imperfect import Tests, expected_expenditure
from pandora_regret.workup import Workup, plan_workup, summarise, workup_cost, workup_entropy, workup_regret
from pandora_regret.workup.graph import compile_graph
from pandora_regret.workup.policies import GraphPolicy, exact_policy
from pandora_regret.workup.states import StateSpace

seeds = st.integers(0, 10**6)


def costs_by_class(policy, p, costs=None):
    """What the policy of each forecast costs if each class is the truth, (n, K)."""
    p = np.atleast_2d(p)
    every = np.broadcast_to(np.arange(p.shape[1]), p.shape)
    return policy.paid(p, every, policy.workup.costs if costs is None else costs)


def both_ways(policy, method, *arguments):
    """What a method of the policy computes by compiled loops, and by the reference."""
    for policy.loops_are_ready in (True, False):
        yield method(*arguments)


@given(seeds)
def test_state_graph_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng, n_classes=int(rng.integers(2, 5)), n_steps=int(rng.integers(1, 4)))
    written_out = every_policy(workup) if _is_small(workup) else None
    assume(written_out is not None)
    for p in rng.dirichlet(np.ones(len(workup.classes)), 3):
        least = (written_out @ p).min()
        assert workup_entropy([p], workup) == pytest.approx(least, rel=1e-11)
        by_class = costs_by_class(GraphPolicy(workup), p)[0]
        assert p @ by_class == pytest.approx(least, rel=1e-11)
        assert np.abs(written_out - by_class).max(axis=1).min() < 1e-9, "no such policy"


def _is_small(workup):
    outcomes = sorted((len(step.outcomes) for step in workup.steps), reverse=True)
    return len(outcomes) < 3 or (outcomes[0] <= 3 and sum(outcomes) <= 6 and not workup.together)


@given(seeds)
def test_state_graph_reduces_to_imperfect_single_pass(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    costs, sensitivity = rng.uniform(1, 5, k), rng.uniform(0.3, 1, k).round(2)
    classes = names(k)
    steps = {
        f"test {i}": {"cost": costs[i], "confirms": classes[i], "sensitivity": sensitivity[i]} for i in range(k)
    }
    workup, p = Workup(classes, steps), rng.dirichlet(np.ones(k), 4)
    assert workup.method == "graph"
    tests = Tests(cost=costs, sensitivity=sensitivity)
    for truth in range(k):
        expected = expected_expenditure(np.full(4, truth), p, tests, search="single_pass", per_instance=True)
        assert workup_cost(np.full(4, truth), p, workup, per_instance=True) == pytest.approx(expected, rel=1e-11)


def cost_of_order(order, p, costs, groups):
    """Of testing groups in this order, group by group: all who are still unfound pay."""
    unfound, total = dict(enumerate(p)), 0.0
    for g in order:
        total += costs[g] * sum(unfound.values())
        unfound = {i: mass for i, mass in unfound.items() if i not in groups[g]}
    return total


@pytest.mark.parametrize("overlap", [False, True])
@given(seed=seeds)
def test_the_multiplexing_abstraction_one_test_answers_for_several_classes(overlap, seed):
    """Against all orders of groups: in closed form where they are disjoint, else by the state graph."""
    rng = np.random.default_rng(seed)
    groups, classes = [set() for _ in range(4)], names(6)
    for i in range(6):
        for g in rng.choice(4, size=rng.integers(1, 4) if overlap else 1, replace=False):
            groups[g].add(i)
    groups = [sorted(group) for group in groups if group]
    costs, p = rng.lognormal(0, 1, len(groups)), rng.dirichlet(np.ones(6))
    steps = {str(g): {"cost": costs[g], "tells_apart": [classes[k] for k in one]} for g, one in enumerate(groups)}
    workup = Workup(classes, steps)
    assert overlap or workup.method == "search"
    best = min(cost_of_order(order, p, costs, groups) for order in permutations(range(len(groups))))
    for policy in (exact_policy(workup), GraphPolicy(workup)):
        assert costs_by_class(policy, p)[0] @ p == pytest.approx(best, rel=1e-12)


@given(seeds)
def test_hierarchy_chain_rule(seed):
    """A search on every level is what the state graph finds; and so are the blocks of a forest."""
    rng = np.random.default_rng(seed)
    workup = (random_hierarchy, random_forest)[seed % 2](rng)
    assume(workup.method in ("hierarchy", "forest"))
    p = forecasts(rng, 3, len(workup.classes))
    by_class = costs_by_class(exact_policy(workup), p)
    assert by_class == pytest.approx(costs_by_class(GraphPolicy(workup), p), rel=1e-11)


@pytest.mark.parametrize("prior", [Uniform(), Exponential(), Gamma(0.5), LogNormal(0.5, correlation=0.3), Fixed()])
def test_one_level_is_the_score_of_the_paper(prior):
    rng = np.random.default_rng(2)
    costs, p, y = rng.uniform(1, 5, 4), rng.dirichlet(np.ones(4), 30), rng.integers(4, size=30)
    ours = workup_cost(y, p, search_workup(costs), prior=prior, per_instance=True)
    assert ours == pytest.approx(expected_search_cost(y, p, prior=prior, costs=costs, per_instance=True))
    if prior == Uniform():  # C E[u] + b L with E[u] = 1/2 and b = 1/6, where C are base costs, twice the means
        beta = beta_score(y, p, max_costs=2 * costs, per_instance=True)
        assert ours == pytest.approx(costs[y] + beta / 6)


def least_cost(workup, p, made=frozenset()):
    """The recursion over sets of steps made, as it is written down."""
    found = {k for step in workup.steps if step.name in made for k in step.settles}
    left = sum(chance for k, chance in enumerate(p) if k not in found)
    ready = [s for s in workup.steps if s.name not in made and {*s.requires} <= made]
    stops = [left * stop.losses[0] for stop in workup.stops]
    steps = [step.cost * left + least_cost(workup, p, made | {step.name}) for step in ready] if left else []
    return min([*stops, *steps], default=0.0)


@pytest.mark.parametrize("block", range(8))
def test_definitive_tests_that_share_steps_and_may_be_given_up(block):
    """Whole blocks of Horn's order, then giving up, are what the recursion over all sets of steps finds."""
    kinds = set()
    for seed in range(300 * block, 300 * block + 300):
        rng = np.random.default_rng(seed)
        workup = random_forest(rng)
        if workup.method == "forest":
            kinds.add((len(workup.structure.parents) > 1, bool(workup.stops)))
            p = forecasts(rng, 1, len(workup.classes))
            assert workup_entropy(p, workup) == pytest.approx(least_cost(workup, p[0]), rel=1e-11), seed
    assert len(kinds) == 4  # with and without: tests that need two steps, giving up


def test_steps_that_cost_nothing_are_made_first():
    workup = search_workup([3, 0, 2], stops={"give up": {"loss": 2.9}})
    assert workup.method == "forest"
    assert costs_by_class(exact_policy(workup), [0.2, 0.3, 0.5])[0] == pytest.approx([4.9, 0.0, 2.0])
    plan = plan_workup([0.2, 0.3, 0.5], workup)
    assert [step.test for step in plan.steps] == ["test 1", "test 2"]


KINDS = {
    "search": lambda rng: search_workup(rng.choice([0.5, 1.0, 2.0, 4.0], rng.integers(2, 9))),
    "hierarchy": random_hierarchy,
    "forest": random_forest,
    "graph": lambda rng: random_workup(rng, n_classes=int(rng.integers(2, 8)), n_steps=int(rng.integers(1, 6))),
    "naming": random_naming,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@given(seed=seeds)
def test_compiled_loops_equal_the_reference(kind, seed):
    """At calm and confident forecasts, zeros and ties, few rows and many; plans expect what the reference does."""
    rng = np.random.default_rng(seed)
    workup = KINDS[kind](rng)
    assume(workup.method == {"naming": "graph"}.get(kind, kind))
    p = forecasts(rng, int(rng.choice([1, 3, 40, 2000], p=[0.3, 0.3, 0.3, 0.1])), len(workup.classes))
    policy, tied = exact_policy(workup), rng.random(len(p)) < 0.3
    p[tied] = np.where(p[tied] > 0, np.ceil(4 * p[tied]), 0.0)
    p /= p.sum(axis=1, keepdims=True)
    compiled, plain = both_ways(policy, costs_by_class, policy, p)
    assert compiled[~tied] == pytest.approx(plain[~tied], rel=1e-11, abs=1e-300)
    expected = (p * plain).sum(axis=1)  # of policies that are as good, either may be taken
    assert (p * compiled).sum(axis=1) == pytest.approx(expected, rel=1e-11, abs=1e-300)
    for predicted in both_ways(policy, partial(workup_entropy, per_instance=True), p, workup):
        assert predicted == pytest.approx(expected, rel=1e-11, abs=1e-300)
    for row in range(min(3, len(p))):
        assert plan_workup(p[row], workup).expected_cost == pytest.approx(expected[row], rel=1e-11, abs=1e-300)


@given(seeds)
def test_knowing_the_truth_is_never_beaten(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng)
    n = len(workup.classes)
    p, y = forecasts(rng, 6, n), rng.integers(n, size=6)
    assert (workup_regret(y, p, workup, per_instance=True) >= -1e-9).all()
    known = np.eye(n)
    assert workup_regret(np.arange(n), known, workup, per_instance=True) == pytest.approx(np.zeros(n), abs=1e-12)


@given(seeds)
def test_plans_by_closed_form_equal_those_by_the_state_graph(seed):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(1, 5, int(rng.integers(2, 5)))
    workup = (random_forest(rng), random_hierarchy(rng), search_workup(costs))[seed % 3]
    assume(workup.method != "graph")
    [p] = forecasts(rng, 1, len(workup.classes))
    by_graph, closed = plan_workup(p, workup, method="graph"), plan_workup(p, workup)
    assert closed.expected_cost == pytest.approx(by_graph.expected_cost, rel=1e-11)
    assert list(closed.cost_by_class.values()) == pytest.approx(list(by_graph.cost_by_class.values()), rel=1e-11)
    ours, theirs = ({one.name: one.expected_cost for one in plan.alternatives} for plan in (closed, by_graph))
    assert ours == pytest.approx(theirs, rel=1e-11)


def test_a_class_that_is_left_over_is_not_confirmed():
    costs = {"confirm": [1.0, 6.0], "left over": [1.0, 1.0]}
    for confirm, expected in zip((True, False), costs.values(), strict=True):
        workup = search_workup([1.0, 5.0], confirm=confirm)
        assert costs_by_class(GraphPolicy(workup), [0.9, 0.1])[0].tolist() == expected


@pytest.mark.parametrize("block", range(4))
def test_without_stops_nothing_is_done_once_no_class_can_be_found(block):
    """Graph, planner and score against a recursion that tries everything that may follow."""
    tried = set()
    for seed in range(150 * block, 150 * block + 150):
        rng = np.random.default_rng(seed)
        workup = random_endless(rng)
        if workup is None:
            continue
        space = StateSpace(workup)
        everything = np.ones(len(workup.classes))
        assert space.can_end(space.start()[0]) == can_end(workup, {}, everything), seed
        if workup.budget is None:
            tried.add(workup.confirm)
            p = rng.dirichlet(everything)
            expected = cost_without_stops(workup, p)
            by_planner = plan_workup(p, workup, method="planner", seconds=1e9)
            assert workup_entropy([p], workup) == pytest.approx(expected, rel=1e-11), seed
            assert plan_workup(p, workup).expected_cost == pytest.approx(expected, rel=1e-11), seed
            assert by_planner.expected_cost == pytest.approx(expected, rel=1e-9), seed
            assert by_planner.is_optimal
    assert tried == {True, False}


def test_tests_that_cannot_find_the_class_any_more_are_not_paid_for():
    """After two negative panels noisy tests are left, which shift the odds but single out nothing."""
    steps = {
        "rules a in": {"cost": 1.0, "outcomes": {"yes": {"a": 0.5}, "no": "otherwise"}, "confirming": []},
        "rules b in": {"cost": 1.0, "outcomes": {"yes": {"b": 0.5}, "no": "otherwise"}, "confirming": []},
        "noisy": noisy_test("ab", [0.8, 0.3], 7),
    }
    workup = Workup(["a", "b"], steps, confirm=False, unresolved=2)
    # the likelier class is looked for first; then the other; then there is nothing to do: 1 + (1 - .35) (1 + ...)
    found_first, found_second = 0.7 * 0.5, 0.3 * 0.5
    expected = 1 + (1 - found_first) * 1 + (1 - found_first - found_second) * 2
    for method in ("auto", "graph", "planner"):
        assert plan_workup([0.7, 0.3], workup, method=method).expected_cost == pytest.approx(expected)
    assert workup_entropy([[0.7, 0.3]], workup) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (
            {
                f"t{i}": {"cost": 1, "positive_for": ["class 0"], "sensitivity": 0.8, "specificity": 0.7}
                for i in range(30)
            },
            "each of 30 steps",
        ),
        (
            {
                f"t{i}": {"cost": 1, "positive_for": [f"class {i}"], "sensitivity": 1, "specificity": 1}
                for i in range(22)
            },
            "22 classes",
        ),
    ],
)
def test_too_many_states_are_refused_before_any_is_built(steps, why, monkeypatch):
    workup = Workup(names(22), steps, stops={"name": {"wrong": 10}})
    monkeypatch.setattr("pandora_regret.workup.states.StateSpace.open_actions", None)
    with pytest.raises(InputError) as error:
        workup_entropy(np.full((1, 22), 1 / 22), workup)
    assert why in str(error.value)
    assert "plan_workup" in str(error.value)


@given(seeds)
def test_the_count_of_states_is_a_bound(seed):
    workup = random_workup(np.random.default_rng(seed), n_steps=4)
    space = StateSpace(workup)
    bound = space.most_states(space.start()[0], 10**6)
    assert bound >= len(compile_graph(workup).states) or (workup.together and workup.budget)
    if not workup.budget and workup.stops and workup.confirm:
        assert bound <= 30 * len(compile_graph(workup).states)


def test_naming_a_class_at_confident_forecasts():
    """Where all but one class are impossible but for rounding, the loss of naming it is what the others leave."""
    rng, classes = np.random.default_rng(0), names(7)
    steps = {f"test {i}": noisy_test(classes, rng.uniform(0.05, 0.95, 7)) for i in range(4)}
    definitive = {"panel": {"cost": 30, "tells_apart": "all"}, "test": steps["test 0"]}
    logits = rng.normal(0, 10, (4000, 7))
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    for some in (steps, definitive):
        policy = GraphPolicy(Workup(classes, some, stops={"name": {"wrong": 50.0}}))
        truths, costs = p.argmax(axis=1)[:, None], policy.workup.costs
        compiled, plain = both_ways(policy, policy.paid, p, truths, costs)
        assert compiled == pytest.approx(plain, rel=1e-11, abs=1e-300)
        first, endless = np.zeros((1, 1), np.intp), np.full_like(costs, 1e200)
        for paid in both_ways(policy, policy.paid, p[:1], first, endless):
            assert paid == pytest.approx(50.0 * (p[0].argmax() != 0))  # it stops at once
        plan = plan_workup([1 - 6e-9, *[1e-9] * 6], policy.workup)
        assert (plan.next, plan.expected_cost) == ("name class 0", pytest.approx(50 * 6e-9))


def test_one_panel_that_may_be_given_up():
    workup = Workup(["a", "b"], {"panel": {"cost": 3, "tells_apart": "all"}}, stops={"give up": {"loss": 5}})
    assert workup.method == "forest"
    assert workup_cost(["a", "b"], [[0.9, 0.1]] * 2, workup, per_instance=True).tolist() == [3.0, 3.0]
    assert summarise(workup).uninformed == 3.0


def test_branches_of_probability_zero_cost_nothing():
    p = np.zeros(20)
    p[:2] = 0.5
    plan = plan_workup(p, search_workup(np.ones(20)))
    assert plan.expected_cost == 1.5
    assert [one.expected_cost for one in plan.alternatives[:3]] == [1.5, 1.5, 2.5]

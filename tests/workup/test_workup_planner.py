"""The planner: its plan costs what it says, no plan beats its bound, and with time enough the two meet."""

import json

import numpy as np
import pytest
from refusals import refused
from workups import names, noisy_test, random_mixed, random_workup

from pandora_regret.workup import PlanNode, Workup, plan_workup, summarise

LIMITS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610)  # states
ENOUGH = 1e9  # seconds: only states are counted, so that no test depends on the machine


def random_tables(rng):
    """Up to 6 classes and 7 tests: noisy ones, certain and impossible outcomes, free and useless ones."""
    classes, steps = names(int(rng.integers(2, 7))), {}
    for number in range(int(rng.integers(1, 8))):
        n = int(rng.choice([2, 2, 3]))
        chances = rng.dirichlet(np.full(n, rng.choice([0.3, 1, 3])), len(classes)).round(3)
        certain = np.eye(n)[rng.integers(n, size=len(classes))]
        chances = np.where(rng.random((len(classes), 1)) < rng.choice([0, 0.3, 1]), certain, chances)
        chances = chances if rng.random() < 0.9 else np.tile(chances[:1], (len(classes), 1))
        rows = {f"o{o}": dict(zip(classes, chances[:, o].tolist(), strict=True)) for o in range(n - 1)}
        step = {
            "cost": float(rng.choice([0, 1, 1, 2, rng.uniform(0.2, 4)])),
            "outcomes": rows | {"rest": "otherwise"},
        }
        step |= {"confirming": []} if rng.random() < 0.7 else {}
        step |= {"requires": f"step {rng.integers(number)}"} if number and rng.random() < 0.15 else {}
        steps[f"step {number}"] = step
    naming = {"name": {"wrong": float(rng.choice([3, 10, 30]))}}
    up = {"give up": {"loss": float(rng.choice([2, 5, 20]))}}
    by_class = {"watch": {"loss": {name: float(rng.choice([0, 3, 15])) for name in classes}}}
    stops = (naming, up, naming | up, by_class)[rng.integers(4)]
    return Workup(classes, steps, stops=stops, confirm=bool(rng.random() < 0.8))


def random_search(rng):
    """No way to stop: a definitive test per class, panels that may err, and a visit before some of them."""
    classes = names(int(rng.integers(2, 7)))
    steps = {f"test {name}": {"cost": float(rng.choice([1, 2, 5])), "confirms": name} for name in classes}
    for number in range(int(rng.integers(1, 4))):
        some = [name for name in classes if rng.random() < 0.5] or classes[:1]
        right = {"sensitivity": float(rng.choice([1, 0.9])), "specificity": float(rng.choice([1, 0.8]))}
        steps[f"panel {number}"] = {"cost": float(rng.uniform(0.3, 3)), "positive_for": some, **right}
    if rng.random() < 0.5:
        steps = {"visit": {"cost": 2.0}} | {
            name: step | ({"requires": "visit"} if rng.random() < 0.5 else {}) for name, step in steps.items()
        }
    return Workup(classes, steps)


def random_case(seed):
    rng = np.random.default_rng(seed)
    workup = (random_tables, random_search, random_workup, random_mixed, random_mixed)[seed % 5](rng)
    p = rng.dirichlet(np.ones(len(workup.classes))) * (rng.random(len(workup.classes)) < 0.9)
    p = np.ones(len(p)) if rng.random() < 0.2 or not p.any() else p  # ties
    return workup, p / p.sum()


@pytest.mark.parametrize("block", range(10))
def test_the_optimum_lies_between_the_bounds_however_early_the_search_ends(block):
    """500 problems, each cut short and solved; the state graph knows the optimum."""
    for seed in range(50 * block, 50 * block + 50):
        workup, p = random_case(seed)
        optimum = plan_workup(p, workup, method="graph").expected_cost
        for limit in (1, 8, None):
            plan = plan_workup(p, workup, method="planner", seconds=ENOUGH, limit=limit)
            assert plan.lower_bound <= optimum * (1 + 1e-9) + 1e-12, (seed, limit)
            assert plan.expected_cost >= optimum * (1 - 1e-9) - 1e-12, (seed, limit)
            paid = sum(p[workup.classes.index(name)] * cost for name, cost in plan.cost_by_class.items())
            assert paid == pytest.approx(plan.expected_cost, rel=1e-9, abs=1e-12)
        assert plan.is_optimal
        assert plan.expected_cost == pytest.approx(optimum, rel=1e-8, abs=1e-12)


@pytest.fixture
def forty_tests():
    rng, classes = np.random.default_rng(0), names(12)
    steps = {f"ask {number}": noisy_test(classes, rng.beta(0.5, 0.5, 12)) for number in range(40)}
    return Workup(classes, steps, stops={"name": {"wrong": 30}})


def test_many_tests_are_planned_within_bounds_that_it_names(forty_tests):
    p = np.random.default_rng(1).dirichlet(np.ones(12))
    plan, again = (plan_workup(p, forty_tests, seconds=ENOUGH, limit=150) for _ in range(2))
    assert plan == again
    assert plan.method == "planner"
    assert 0 < plan.lower_bound < plan.expected_cost < 30 * (1 - p.max())
    assert f"less than {plan.lower_bound:.3g}" in plan.to_text()
    longer = plan_workup(p, forty_tests, seconds=ENOUGH, limit=600)
    assert longer.lower_bound >= plan.lower_bound
    assert longer.expected_cost <= plan.expected_cost
    later = plan_workup(p, forty_tests, {plan.next: "yes"}, seconds=ENOUGH, limit=150)
    assert later.tree.posterior == pytest.approx(plan.tree.branches["yes"].posterior)
    assert summarise(forty_tests).to_text().count("too many states") == 1


@pytest.mark.parametrize("loss", [10, 60])
@pytest.mark.parametrize("seed", range(3))
def test_a_longer_search_never_says_less(loss, seed):
    """Its plan costs no more, and its bound is no lower: it begins as the shorter one does."""
    rng, classes = np.random.default_rng(seed), names(12)
    steps = {f"ask {number}": noisy_test(classes, rng.beta(0.5, 0.5, 12)) for number in range(25)}
    workup = Workup(classes, steps, stops={"name": {"wrong": loss}})
    p = rng.dirichlet(np.ones(12))
    plans = [plan_workup(p, workup, method="planner", seconds=ENOUGH, limit=n) for n in LIMITS]
    bounds = [plan.lower_bound for plan in plans]
    costs = [plan.expected_cost for plan in plans]
    assert bounds == sorted(bounds)
    assert costs == sorted(costs, reverse=True)
    assert bounds[-1] > bounds[0]
    assert costs[-1] < costs[0]


def test_a_time_limit_ends_the_search(forty_tests):
    plan = plan_workup(np.full(12, 1 / 12), forty_tests, seconds=1e-9)
    assert plan.lower_bound <= plan.expected_cost <= 30 * 11 / 12


def test_a_tree_is_a_table_and_a_protocol(forty_tests, tmp_path):
    plan = plan_workup(np.full(12, 1 / 12), forty_tests, seconds=ENOUGH, limit=100)
    assert PlanNode.load(plan.save(tmp_path / "plan.json")) == plan.tree
    lines = plan.save(tmp_path / "plan.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("number,after,outcome,kind,name,cost,chance")
    assert lines[1].split(",")[:5] == ["1", "", "", "step", plan.next]
    assert lines[2].split(",")[1:3] == ["1", "yes"]
    ends = [line.split(",") for line in lines[1:] if ",step," not in line]
    assert sum(float(end[6]) for end in ends) == pytest.approx(1)
    with refused(argument="path", value=str(tmp_path / "plan.doc"), says=".svg, .csv, .json"):
        plan.save(tmp_path / "plan.doc")
    (tmp_path / "other.json").write_text(json.dumps({"schema": "other"}), encoding="utf-8")
    with refused(place=str(tmp_path / "other.json"), says="no protocol"):
        PlanNode.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("options", "argument", "value"),
    [({"method": "greedy"}, "method", "greedy"), ({"seconds": 0}, "seconds", 0)],
)
def test_options_are_checked(forty_tests, options, argument, value):
    with refused(argument=argument, value=value):
        plan_workup(np.full(12, 1 / 12), forty_tests, **options)

"""Plans: the tree costs what the policy says, stays within budgets, and can be read and drawn."""

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused
from workups import random_workup

from pandora_regret.workup import Workup, plan_workup, workup_cost

seeds = st.integers(0, 10**6)
SVG = "{http://www.w3.org/2000/svg}"


def skin(**more):
    return Workup(
        ["melanoma", "nevus", "keratosis"],
        {
            "visit": {"cost": 75},
            "dermoscopy": {
                "cost": 52,
                "requires": "visit",
                "outcomes": {
                    "suspicious": {"melanoma": 0.92, "nevus": 0.2, "keratosis": 0.15},
                    "benign": "otherwise",
                },
            },
            "biopsy": {"cost": 309, "requires": "visit", "tells_apart": "all"},
        },
        stops={"watch": {"loss": {"melanoma": 20000, "others": 30}}},
        currency="USD",
        **more,
    )


FORECAST = {"melanoma": 0.05, "nevus": 0.85, "keratosis": 0.1}


def walk(tree, workup, truth, rng):
    """One case of a class: outcomes are drawn, costs added up; returns the cost and the path's cost of steps."""
    total, steps = 0.0, 0.0
    while tree.kind == "step":
        total, steps = total + tree.cost, steps + tree.cost
        made = [workup.steps[workup.step_index[name]] for name in tree.steps]
        drawn = [
            step.outcomes[rng.choice(len(step.outcomes), p=np.array(step.chances)[:, truth])] for step in made
        ]
        tree = tree.branches[" + ".join(drawn)]
    if tree.kind == "stop":
        [stop] = [stop for stop in workup.stops if stop.name == tree.stop]
        right = tree.named == workup.classes[truth]
        total += 0.0 if right else stop.losses[truth]
    return total, steps


@pytest.mark.parametrize("seed", range(12))
def test_simulated_walks_cost_what_the_policy_says(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng, n_classes=3, n_steps=4)
    p = rng.dirichlet(np.ones(3))
    plan = plan_workup(p, workup)
    for truth, name in enumerate(workup.classes):
        walks = np.array([walk(plan.tree, workup, truth, rng)[0] for _ in range(300)])
        assert abs(walks.mean() - plan.cost_by_class[name]) <= 5 * walks.std() / 300**0.5 + 1e-9
        assert workup_cost([name], [p], workup) == pytest.approx(plan.cost_by_class[name], rel=1e-11)


@given(seeds)
def test_a_plan_agrees_with_itself(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng)
    p = rng.dirichlet(np.ones(len(workup.classes)))
    plan = plan_workup(p, workup)
    assert p @ list(plan.cost_by_class.values()) == pytest.approx(plan.expected_cost, rel=1e-11)
    ours = next(one for one in plan.alternatives if one.name == plan.next)
    assert ours.expected_cost == pytest.approx(plan.expected_cost, rel=1e-11)
    for one in plan.alternatives:
        assert not one.outcomes or sum(outcome.chance for outcome in one.outcomes) == pytest.approx(1)
        assert one.extra >= -1e-9


def test_budget_is_never_exceeded():
    rng = np.random.default_rng(0)
    limited = [workup for workup in (random_workup(rng, n_steps=4) for _ in range(300)) if workup.budget]
    for workup in limited:
        tree = plan_workup(rng.dirichlet(np.ones(len(workup.classes))), workup).tree
        assert _longest_path(tree) <= workup.budget * (1 + 1e-9)
    assert len(limited) > 50


def _longest_path(node):
    below = max((_longest_path(child) for child in node.branches.values()), default=0.0)
    return (node.cost if node.kind == "step" else 0.0) + below


def test_what_was_found_changes_what_comes_next():
    start = plan_workup(FORECAST, skin())
    assert start.next == "visit"
    found = plan_workup(FORECAST, skin(), {"dermoscopy": "suspicious"})  # the visit it requires counts as made
    assert found.next == "biopsy"
    assert found.tree.posterior["melanoma"] == pytest.approx(0.046 / (0.046 + 0.17 + 0.015))
    assert start.tree.branches["done"].branches["suspicious"].expected_cost == pytest.approx(found.expected_cost)
    done = plan_workup(FORECAST, skin(), {"biopsy": "nevus"})
    assert (done.next, done.expected_cost, done.alternatives) == ("done", 0.0, ())


def test_what_a_finding_required_was_made_though_its_outcome_is_not_reported():
    steps = {
        "blood": {"cost": 4, "positive_for": ["a"], "sensitivity": 0.6, "specificity": 0.7},
        "scan": {"cost": 2, "positive_for": ["b"], "sensitivity": 0.7, "specificity": 0.8, "requires": "blood"},
        "biopsy": {"cost": 3, "tells_apart": "all", "requires": "scan"},
    }
    workup = Workup(["a", "b"], steps, stops={"watch": {"loss": {"a": 50, "b": 40}}})
    for method in ("graph", "planner"):
        plan = plan_workup([0.5, 0.5], workup, {"scan": "positive"}, method=method)
        assert (plan.next, plan.expected_cost) == ("biopsy", pytest.approx(3.0))


@pytest.mark.parametrize(
    ("found", "value"),
    [
        ({"biopsie": "nevus"}, "biopsie"),
        ({"dermoscopy": "odd"}, "odd"),
        ({"dermoscopy": "benign", "probe": "nevus"}, "benign"),
        ({"probe": "nevus", "dermoscopy": "benign"}, "benign"),
    ],
)
def test_findings_that_cannot_be_are_refused(found, value):
    probe = {"cost": 9, "requires": "dermoscopy=suspicious", "tells_apart": "all"}
    document = skin().document
    workup = Workup(**document | {"steps": document["steps"] | {"probe": probe}})
    with refused(argument="found", value=value):
        plan_workup(FORECAST, workup, found)


def test_the_picture_is_whole_and_escapes_names(tmp_path):
    classes = ["<a>", "b & c"]
    workup = Workup(classes, {'"look"': {"cost": 1, "confirms": "<a>"}, "probe": {"cost": 2, "confirms": "b & c"}})
    path = plan_workup([0.4, 0.6], workup).save(tmp_path / "tree.svg")
    texts = [element.text for element in ET.fromstring(path.read_text(encoding="utf-8")).iter(f"{SVG}text")]
    assert any("b & c" in text for text in texts)
    assert "href" not in path.read_text(encoding="utf-8")


@given(seeds)
def test_the_picture_is_no_wider_than_a_page_and_nothing_overlaps(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng, n_classes=5, n_steps=5)
    plan = plan_workup(rng.dirichlet(np.ones(5)), workup)
    root = ET.fromstring(plan.draw())
    page, *boxes = [
        {key: float(one.get(key, 0)) for key in ("x", "y", "width", "height")} for one in root.iter(f"{SVG}rect")
    ]
    assert page["width"] <= 720
    for above, below in pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"]
    assert all(box["x"] + box["width"] <= page["width"] for box in boxes)
    assert boxes[-1]["y"] + boxes[-1]["height"] <= page["height"]
    assert not any(float(one.get("x")) + 7 * len(one.text) > page["width"] for one in root.iter(f"{SVG}text"))


def test_rare_branches_are_folded():
    panel = Workup(["a", "b", "c"], {"panel": {"cost": 1, "tells_apart": "all"}})
    picture = plan_workup([0.99, 0.006, 0.004], panel).draw()
    assert "2 outcomes more" in picture
    assert "a (more than 99 %)" in plan_workup([0.9902, 0.0058, 0.004], panel).draw()


def test_rounds_already_made_count_against_the_budget():
    test = {"cost": 2, "positive_for": ["a"], "sensitivity": 0.9, "specificity": 0.8}
    workup = Workup(
        ["a", "b"],
        {"one": test, "two": test, "three": test},
        stops={"name": {"wrong": 1000}},
        budget=10,
        rounds={"fee": 2},
    )
    plan = plan_workup([0.5, 0.5], workup, {"one": "positive"})
    assert 4 + _longest_path(plan.tree) <= 10


def test_nothing_is_paid_for_a_step_that_can_no_longer_be_made_or_a_class_that_none_can_confirm():
    steps = {
        "visit": {"cost": 100},
        "look": {"cost": 1, "positive_for": ["a"], "sensitivity": 0.9, "specificity": 0.8},
        "probe": {"cost": 2, "requires": ["visit", "look=positive"], "tells_apart": "all"},
        "hint": {"cost": 1, "positive_for": ["b"], "sensitivity": 0.9, "specificity": 0.8},
    }
    plan = plan_workup([0.5, 0.5], Workup(["a", "b"], steps, unresolved=7), {"look": "negative"})
    assert (plan.next, plan.expected_cost) == ("unresolved", 7.0)


@pytest.mark.parametrize("loss", [4.0, 30.0], ids=["the plain stop is best", "naming is best"])
def test_a_stop_that_is_called_like_another_with_its_class_is_not_taken_for_it(loss):
    """What a plan costs is what it costs by class, weighted by how likely the classes are."""
    stops = {"call": {"wrong": 20.0}, "call flu": {"loss": {"flu": loss, "others": loss}}}
    for in_order in (stops, dict(reversed(stops.items()))):
        workup = Workup(["flu", "cold"], {"swab": {"cost": 50, "tells_apart": "all"}}, stops=in_order)
        plan = plan_workup({"flu": 0.6, "cold": 0.4}, workup)
        assert plan.next == "call flu"
        assert plan.expected_cost == pytest.approx(min(loss, 0.4 * 20))
        by_class = {"flu": loss, "cold": loss} if loss < 8 else {"flu": 0.0, "cold": 20.0}
        assert plan.cost_by_class == by_class
        assert (plan.tree.stop, plan.tree.named) == (("call flu", None) if loss < 8 else ("call", "flu"))
        assert "call flu" in str(plan).splitlines()[-1]  # the other one, among the alternatives


def test_a_step_and_outcomes_with_a_plus_in_their_names_are_not_taken_for_a_round():
    outcomes = {"A + B": {"flu": 0.9, "cold": 0.2}, "none": "otherwise"}
    steps = {
        "pcr": {"cost": 1, "outcomes": outcomes},
        "culture": {"cost": 1, "outcomes": {"yes": {"flu": 0.8, "cold": 0.1}, "no": "otherwise"}},
        "pcr + culture": {"cost": 3, "tells_apart": "all"},
    }
    rounds = {"fee": 20, "together": ["pcr", "culture"]}
    for cost in (3, 90):
        steps["pcr + culture"]["cost"] = cost
        workup = Workup(["flu", "cold"], steps, stops={"name": {"wrong": 300}}, rounds=rounds)
        plan = plan_workup({"flu": 0.5, "cold": 0.5}, workup)
        assert plan.tree.steps == (("pcr + culture",) if cost == 3 else ("pcr", "culture"))
        assert np.mean(list(plan.cost_by_class.values())) == pytest.approx(plan.expected_cost)
        assert len([option for option in plan.alternatives if option.name == "pcr + culture"]) == 2


@given(seeds)
@example(111)  # whose best step, priced by itself, costs a rounding less than the plan
def test_the_first_alternative_is_the_plan_and_none_costs_less(seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng)
    n_classes = len(workup.classes)
    plan = plan_workup(rng.dirichlet(np.ones(n_classes)), workup)
    if plan.alternatives:
        first = plan.alternatives[0]
        assert (first.name, first.expected_cost, first.extra) == (plan.next, plan.expected_cost, 0.0)
    for option in plan.alternatives:
        assert option.extra >= 0
        assert option.extra == pytest.approx(option.expected_cost - plan.expected_cost, abs=1e-9)

"""Plans: the tree costs what the policy says, stays within budgets, and can be read, drawn and written down."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workups import random_workup, search_workup

from pandora_regret.inputs import InputError
from pandora_regret.workup import Workup, plan_workup, workup_cost

seeds = st.integers(0, 10**6)


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
        made = [workup.steps[workup.step_index[name]] for name in tree.name.split(" + ")]
        drawn = [
            step.outcomes[rng.choice(len(step.outcomes), p=np.array(step.chances)[:, truth])] for step in made
        ]
        tree = tree.branches[" + ".join(drawn)]
    if tree.kind == "stop":
        stop = next(stop for stop in workup.stops if tree.name.startswith(stop.name))
        right = stop.names_class and tree.name.endswith(workup.classes[truth])
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


@pytest.mark.parametrize("method", ["optimal", "greedy", "information"])
@given(seed=seeds)
def test_a_plan_agrees_with_itself(method, seed):
    rng = np.random.default_rng(seed)
    workup = random_workup(rng)
    p = rng.dirichlet(np.ones(len(workup.classes)))
    plan = plan_workup(p, workup, method=method)
    assert p @ list(plan.cost_by_class.values()) == pytest.approx(plan.expected_cost, rel=1e-11)
    ours = next(one for one in plan.alternatives if one.name == plan.next)
    assert ours.expected_cost == pytest.approx(plan.expected_cost, rel=1e-11)
    for one in plan.alternatives:
        assert not one.outcomes or sum(outcome.chance for outcome in one.outcomes) == pytest.approx(1)
        if method == "optimal":
            assert one.extra >= -1e-9
    best = plan_workup(p, workup)
    assert plan.expected_cost >= best.expected_cost * (1 - 1e-12)


@given(seeds)
def test_budget_is_never_exceeded(seed):
    rng = np.random.default_rng(seed)
    open_ended = random_workup(rng, n_steps=4)
    dearest = max(_least_cost(open_ended, step) for step in open_ended.steps)
    document = open_ended.to_dict() | {"budget": float(dearest * rng.uniform(1, 2))}
    workup = Workup.from_dict(document)
    tree = plan_workup(rng.dirichlet(np.ones(len(workup.classes))), workup).tree
    assert _dearest_path(tree) <= workup.budget * (1 + 1e-9)


def _least_cost(workup, step):
    before = {one.step for one in step.requires}
    steps, needed = {other.name: other for other in workup.steps}, {step.name}
    while before - needed:
        needed |= before
        before = {one.step for name in needed for one in steps[name].requires}
    return sum(steps[name].cost + workup.fee for name in needed)


def _dearest_path(node):
    below = max((_dearest_path(child) for child in node.branches.values()), default=0.0)
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


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            {"biopsie": "nevus"},
            "found contains 'biopsie', which is no step: choose from visit, dermoscopy, biopsy.",
        ),
        ({"dermoscopy": "odd"}, "found says dermoscopy=odd, but its outcomes are suspicious, benign."),
    ],
)
def test_findings_that_cannot_be_are_refused(found, said):
    with pytest.raises(InputError) as error:
        plan_workup(FORECAST, skin(), found)
    assert str(error.value) == said


def test_findings_that_the_forecast_excludes_are_refused():
    with pytest.raises(InputError, match="holds this to be impossible"):
        plan_workup([0.0, 1.0], search_workup([1.0, 2.0]), {"test 0": "yes"})


def test_the_text_says_what_to_do_next():
    assert plan_workup(FORECAST, skin()).to_text() == (
        "Next: visit ($75), then dermoscopy ($52).\n"
        "  suspicious (23 %) -> biopsy ($309), then done\n"
        "  benign     (77 %) -> stop: watch (these are 88 % nevus, 11 % keratosis, less than 1 % melanoma)\n"
        "Expected cost from here: $301.\n"
        "Alternatives: watch $1,030 (+$727)."
    )


def test_the_picture_is_whole_and_escapes_names(tmp_path):
    classes = ["<a>", "b & c"]
    workup = Workup(classes, {'"look"': {"cost": 1, "confirms": "<a>"}, "probe": {"cost": 2, "confirms": "b & c"}})
    path = plan_workup([0.4, 0.6], workup).save_svg(tmp_path / "tree.svg")
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any("b & c" in text for text in texts)
    assert "href" not in path.read_text(encoding="utf-8")


def test_the_tree_is_drawn_in_matplotlib():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, axes = pyplot.subplots()
    assert plan_workup(FORECAST, skin()).draw(axes) is axes
    assert any("biopsy" in text.get_text() for text in axes.texts)
    pyplot.close(figure)


def test_a_plan_goes_into_json_and_back_into_a_menu():
    workup, plan = skin(), plan_workup(FORECAST, skin())
    assert json.loads(json.dumps(plan.to_dict()))["next"] == "visit"
    menu = workup.menu({"planned": plan.tree.to_protocol()})
    assert menu.costs_by_class(workup.costs)[0] == pytest.approx(list(plan.cost_by_class.values()))


def test_a_menu_chooses_the_cheapest_of_its_protocols(tmp_path):
    path = tmp_path / "menu.toml"
    path.write_text(
        """
        [protocols."biopsy for all"]
        step = "visit"
        then.done = { step = "biopsy" }

        [protocols."dermoscopy first"]
        step = "visit"
        then.done.step = "dermoscopy"
        then.done.then = { suspicious = { step = "biopsy" }, otherwise = { stop = "watch" } }

        [protocols."never mind"]
        stop = "watch"
        """,
        encoding="utf-8",
    )
    workup = skin()
    menu = workup.menu(path)
    table = menu.costs_by_class(workup.costs)
    p = np.random.default_rng(0).dirichlet([0.3, 1, 1], 200)
    chosen = menu.choice(p)
    assert set(chosen) == {0, 1, 2}
    assert (p @ table.T)[range(200), chosen] == pytest.approx((p @ table.T).min(axis=1))
    y = np.arange(200) % 3
    assert workup_cost(y, p, menu, per_instance=True) == pytest.approx(table[chosen, y])
    assert (
        workup_cost(p, p, menu, per_instance=True) >= workup_cost(p, p, workup, per_instance=True) - 1e-9
    ).all()


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"step": "biopsy"}, "protocols: mine.step is 'biopsy', which requires visit: make that step before."),
        ({"step": "visit"}, "protocols: mine.then says nothing about 'done': add a tree, or 'otherwise'"),
        ({"stop": "wach"}, "protocols: mine.stop is 'wach', no way to stop: did you mean 'watch'?"),
        ({"steps": "visit"}, "protocols: mine.steps is not a key of the format"),
        ({"step": "visit", "then": {"done": {"step": "visit"}}}, "mine.then.done.step is 'visit' a second time"),
    ],
)
def test_protocols_that_cannot_be_followed_are_refused(tree, said):
    with pytest.raises(InputError) as error:
        skin().menu({"mine": tree})
    assert said in str(error.value)

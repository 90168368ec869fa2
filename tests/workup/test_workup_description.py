"""The description: TOML and Python say the same, mistakes are one sentence, pathway files become work-ups."""

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workups import search_workup

from pandora_regret import InputError, search_cost
from pandora_regret.core.costs import available_costs, load_costs
from pandora_regret.core.records import parse_toml
from pandora_regret.workup import Workup, workup_cost

SKIN = """
format_version = 1
title = "A pigmented lesion"
currency = "USD"
source = "a fee schedule"
year = 2026
classes = ["melanoma", "nevus", "seborrheic keratosis"]

[items.first]
name = "first specimen"
amount = 100.10

[items.further]
name = "further specimen"
amount = 50

[steps.visit]
cost = 75

[steps.dermoscopy]
cost = 52.5
requires = "visit"
outcomes.suspicious = { melanoma = 0.9, others = 0.2 }
outcomes.benign = "otherwise"

[steps.biopsy]
items = [{ item = "first" }, { item = "further", probability = 0.5 }]
requires = "dermoscopy=suspicious"
tells_apart = "all"

[steps.blood]
cost = 40
positive_for = ["melanoma"]
sensitivity = 0.8
specificity = 0.9

[stops.watch]
loss = { melanoma = 20000, others = 0 }

[stops.name]
wrong = 900
"""


@pytest.fixture
def load(tmp_path):
    def load_changed(old="", new="", text=SKIN):
        assert old in text
        path = tmp_path / "skin.toml"
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        return Workup.load(path)

    return load_changed


def test_the_file_says_what_it_means(load):
    workup = load()
    visit, dermoscopy, biopsy, blood = workup.steps
    assert (visit.outcomes, visit.cost, workup.currency) == (("done",), 75.0, "USD")
    assert dermoscopy.chances[0] == (0.9, 0.2, 0.2)
    assert dermoscopy.chances[1] == pytest.approx((0.1, 0.8, 0.8))
    assert (biopsy.cost, biopsy.settles) == (125.10, {0, 1, 2})
    assert biopsy.requires == ("dermoscopy=suspicious",)
    assert blood.chances[0] == pytest.approx((0.8, 0.1, 0.1))
    assert workup.stops[0].losses == (20000.0, 0.0, 0.0)
    assert workup.stops[1].names_class
    assert workup.method == "graph"


def test_a_file_and_python_say_the_same(load):
    document = tomllib.loads(SKIN)
    assert Workup(**document) == load()
    steps = document["steps"] | {"blood": document["steps"]["blood"] | {"cost": np.float64(40)}}
    assert Workup(**document | {"classes": np.array(document["classes"]), "steps": steps}) == load()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("others = 0.2 }", "others = 0.2 }\noutcomes.odd = 0.1", None),
        (
            'outcomes.benign = "otherwise"',
            "outcomes.benign = 0.5",
            "steps.dermoscopy.outcomes have the probabilities suspicious 0.9, benign 0.5 if the truth is 'mel",
        ),
        ("melanoma = 0.9", "melanoma = 1.9", "suspicious 1.9, benign -0.9 if the truth is 'melanoma'"),
        (
            "melanoma = 0.9",
            "melanom = 0.9",
            "steps.dermoscopy.outcomes.suspicious.melanom is no class: did you mean",
        ),
        ('requires = "visit"', 'requires = "dermoscopy"', "steps.dermoscopy.requires requires itself"),
        ('requires = "visit"', 'requires = "biopsy"', "requires itself (dermoscopy -> biopsy -> dermoscopy)"),
        (
            'requires = "visit"',
            'requires = "vist"',
            "steps.dermoscopy.requires contains 'vist', which is no step or outcome of one: did you mean 'visit'?",
        ),
        ("=suspicious", "=suspicous", "is no step or outcome of one: did you mean 'dermoscopy=suspicious'"),
        (
            '"dermoscopy=suspicious"',
            '["dermoscopy=suspicious", "dermoscopy=benign"]',
            "steps.biopsy.requires asks for outcomes that no case has at once, or that end the",
        ),
        ("cost = 75", "cost = -75", "steps.visit.cost is -75: it must be a number >= 0"),
        ("cost = 75", "", "steps.visit.cost is missing, and so is items: state one of the two"),
        ("cost = 75", 'cost = "75"', "steps.visit.cost is '75': it must be a number."),
        ("cost = 75", "costs = 75", "steps.visit.costs is not a key of the format: did you mean 'cost' or"),
        ("[stops.watch]", "[stop.watch]", "stop is not a key of the format: did you mean 'stops' or 'steps'?"),
        ("wrong = 900", "wrong = 900\nloss = 3", "stops.name.loss stands beside wrong: state one"),
        ('"nevus", ', '"melanoma", ', "classes must list at least two classes, each once"),
        ("sensitivity = 0.8", "", "steps.blood.sensitivity is missing"),
        ("cost = 40", "cost = 40\nconfirms = 'nevus'", "steps.blood.positive_for stands beside confirms"),
        ("year = 2026", "year = 2026\nbudget = 90", "steps.dermoscopy.cost costs 127.5 with all that it requires"),
        ("format_version = 1", "format_version = 2", "format_version is 2: this release reads version 1 only"),
        (
            '{ item = "first" }',
            '{ item = "frist" }',
            "items[0].item is 'frist', which is not among the items",
        ),
        (
            "specificity = 0.9",
            "specificity = { nevus = 0.9 }",
            "specificity says nothing about 'seborrheic keratosis'",
        ),
        (
            "others = 0 }",
            "nevus = 0 }",
            "watch.loss says nothing about 'seborrheic keratosis': add it, or oth",
        ),
    ],
)
def test_every_mistake_is_one_sentence_with_its_key(load, old, new, said):
    if said is None:
        assert load(old, new).steps[1].outcomes == ("suspicious", "odd", "benign")
        return
    with pytest.raises(InputError) as error:
        load(old, new)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


LOOK = {"cost": 1, "confirms": "a"}
NOISY = {"cost": 1, "positive_for": ["a"], "sensitivity": 0.9, "specificity": 0.8}


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (
            {"hierarchy": {"x": {"cost": 1, "a": 1}, "b": 1}},
            "hierarchy.x is no class, and has less than two",
        ),
        (
            {"hierarchy": {"a": 1, "bb": 1}},
            "less than two below it: did you mean 'b'?",
        ),
        ({"hierarchy": {"a": 1}}, "classes contains 'b', which nothing can ever confirm"),
        ({"steps": {"look": LOOK}}, "classes contains 'b', which nothing can ever confirm: add a step"),
        (
            {"steps": {"ask": NOISY}, "confirm": False},
            "classes contains 'a', which nothing can ever tell from 'b': add a step that tells them apart, or a",
        ),
        (
            {"steps": {"look": LOOK | {"sensitivity": 0.9}}, "confirm": False},
            "classes contains 'b', which nothing can ever tell from 'a'",
        ),
        (
            {"steps": {"look": LOOK, "probe": {"cost": 1, "requires": "look=yes", "confirms": "b"}}},
            "steps.probe.requires asks for outcomes that no case has at once",
        ),
    ],
)
def test_work_ups_that_cannot_be_are_refused(about, said):
    with pytest.raises(InputError) as error:
        Workup(["a", "b"], **about)
    assert said in str(error.value)


def test_steps_may_need_a_thousand_others_and_share_what_they_need():
    """Neither are they followed one call deep each, nor every way from one to another."""
    steps = {"s0": {"cost": 1}, "t0": {"cost": 1}} | {
        f"{name}{n}": {"cost": 1, "requires": [f"s{n - 1}", f"t{n - 1}"]} for n in range(1, 600) for name in "st"
    }
    workup = Workup(["a", "b"], steps, stops={"give up": {"loss": 3}})
    assert [len(workup.before[2 * n]) for n in (0, 1, 599)] == [0, 2, 1198]


def test_methods_are_recognised_from_what_the_file_says():
    assert search_workup([1, 2, 3]).method == "search"
    assert search_workup([1, 2], stops={"give up": {"loss": 3}}).method == "forest"
    assert search_workup([1, 2], stops={"give up": {"loss": {"class 0": 3, "others": 1}}}).method == "graph"
    assert Workup(["a", "b"], {"look": LOOK}, confirm=False).method == "graph"
    assert search_workup([1, 2], budget=10).method == "graph"
    assert search_workup([1, 0]).method == "forest"
    tree = {"ab": {"cost": 1, "a": 2, "b": 3}, "c": 4}
    nested = Workup(["a", "b", "c"], hierarchy=tree)
    assert nested.method == "hierarchy"
    inner = {"cost": 1, "positive_for": ["a", "b"], "sensitivity": 1, "specificity": 1}
    steps = {name: {"cost": 2, "confirms": name, "requires": "ab=positive"} for name in "ab"}
    as_steps = Workup(["a", "b", "c"], {"ab": inner, **steps, "c": {"cost": 4, "confirms": "c"}})
    assert as_steps.method == "hierarchy"
    assert Workup.from_pathways("dermamnist").method == "forest"


@pytest.mark.parametrize("name", available_costs())
def test_pathways_with_shared_steps_never_cost_more(name):
    """Nobody pays twice for a visit; who pays only once pays the same as before."""
    pathways, workup = load_costs(name), Workup.from_pathways(name)
    p = np.random.default_rng(0).dirichlet(np.ones(len(pathways.classes)), 200)
    for k, own in enumerate(pathways.costs.values()):
        shared = workup_cost(np.full(200, k), p, workup, per_instance=True)
        alone = search_cost(np.full(200, k), p, list(pathways.costs.values()), per_instance=True)
        assert shared.min() == pytest.approx(own)
        assert shared.mean() <= alone.mean()


WORDS = ("cost", "requires", "confirm", "outcomes", "items", "steps", "stops", "loss", "wrong", "rounds")
VALUES = (
    "0",
    "-1",
    "1e400",
    "nan",
    '"x"',
    "[]",
    "{}",
    "true",
    '""',
    '"all"',
    "[1]",
    "{ nevus = 1 }",
    "2024-01-01",
)


@given(st.integers(0, 10**6))
def test_mutated_files_are_read_or_refused_in_one_sentence(seed):
    rng = np.random.default_rng(seed)
    lines = SKIN.splitlines()
    for number in rng.integers(len(lines), size=2):
        key = lines[number].partition("=")[0] if "=" in lines[number] else f"{rng.choice(WORDS)} "
        lines[number] = f"{key}= {rng.choice(VALUES)}"
    refused = "Workup: "
    try:
        Workup(**parse_toml("\n".join(lines).encode(), "Workup"))
    except InputError as error:
        refused = str(error)
    assert refused.startswith("Workup: ")
    assert "\n" not in refused

"""The description: TOML and Python say the same, mistakes are one sentence, pathway files become work-ups."""

import tomllib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
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


def test_a_new_outcome_stands_beside_the_others(load):
    workup = load("others = 0.2 }", "others = 0.2 }\noutcomes.odd = 0.1")
    assert workup.steps[1].outcomes == ("suspicious", "odd", "benign")


MISTAKES = [  # what is replaced by what, the key that is named, and what else the sentence must hold
    ('outcomes.benign = "otherwise"', "outcomes.benign = 0.5", "steps.dermoscopy.outcomes", "benign 0.5"),
    ("melanoma = 0.9", "melanoma = 1.9", "steps.dermoscopy.outcomes", "suspicious 1.9, benign -0.9"),
    ("melanoma = 0.9", "melanom = 0.9", "steps.dermoscopy.outcomes.suspicious.melanom", "'melanoma'"),
    ('requires = "visit"', 'requires = "dermoscopy"', "steps.dermoscopy.requires", "dermoscopy -> dermoscopy"),
    ('requires = "visit"', 'requires = "biopsy"', "steps.dermoscopy.requires", "-> biopsy -> dermoscopy"),
    ('requires = "visit"', 'requires = "vist"', "steps.dermoscopy.requires", "'visit'?"),
    ("=suspicious", "=suspicous", "steps.biopsy.requires", "'dermoscopy=suspicious'"),
    (
        '"dermoscopy=suspicious"',
        '["dermoscopy=suspicious", "dermoscopy=benign"]',
        "steps.biopsy.requires",
        "never be made",
    ),
    ("cost = 75", "cost = -75", "steps.visit.cost", "-75"),
    ("cost = 75", "", "steps.visit.cost", "missing"),
    ("cost = 75", 'cost = "75"', "steps.visit.cost", "'75'"),
    ("cost = 75", "costs = 75", "steps.visit.costs", "'cost' or"),
    ("[stops.watch]", "[stop.watch]", "stop", "'stops'"),
    ("wrong = 900", "wrong = 900\nloss = 3", "stops.name.loss", "beside wrong"),
    ('"nevus", ', '"melanoma", ', "classes", "each once"),
    ("sensitivity = 0.8", "", "steps.blood.sensitivity", "missing"),
    ("cost = 40", "cost = 40\nconfirms = 'nevus'", "steps.blood.positive_for", "beside confirms"),
    ("year = 2026", "year = 2026\nbudget = 90", "steps.dermoscopy.cost", "127.5"),
    ("format_version = 1", "format_version = 2", "format_version", "is 2"),
    ('{ item = "first" }', '{ item = "frist" }', "steps.biopsy.items[0].item", "'first'"),
    ("specificity = 0.9", "specificity = { nevus = 0.9 }", "steps.blood.specificity", "'seborrheic keratosis'"),
    ("others = 0 }", "nevus = 0 }", "stops.watch.loss", "'seborrheic keratosis'"),
]


@pytest.mark.parametrize(("old", "new", "key", "words"), MISTAKES)
def test_every_mistake_is_one_sentence_with_its_key(load, tmp_path, old, new, key, words):
    with refused(place=key, contexts=(str(tmp_path / "skin.toml"),), says=words) as error:
        load(old, new)
    assert "\n" not in str(error.value)


LOOK = {"cost": 1, "confirms": "a"}
NOISY = {"cost": 1, "positive_for": ["a"], "sensitivity": 0.9, "specificity": 0.8}


IMPOSSIBLE = [  # what is stated beside the classes a and b, the key that is named, and a word on why
    ({"hierarchy": {"x": {"cost": 1, "a": 1}, "b": 1}}, "hierarchy.x", "less than two"),
    ({"hierarchy": {"a": 1, "bb": 1}}, "hierarchy.bb", "'b'"),
    ({"hierarchy": {"a": 1}}, "classes", "confirm"),
    ({"steps": {"look": LOOK}}, "classes", "confirm"),
    ({"steps": {"ask": NOISY}, "confirm": False}, "classes", "'a'"),
    ({"steps": {"look": LOOK | {"sensitivity": 0.9}}, "confirm": False}, "classes", "'b'"),
    (
        {"steps": {"look": LOOK, "probe": {"cost": 1, "requires": "look=yes", "confirms": "b"}}},
        "steps.probe.requires",
        "never be made",
    ),
]


@pytest.mark.parametrize(("stated", "key", "words"), IMPOSSIBLE)
def test_work_ups_that_cannot_be_are_refused(stated, key, words):
    with refused(place=key, contexts=("Workup",), says=words):
        Workup(["a", "b"], **stated)


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

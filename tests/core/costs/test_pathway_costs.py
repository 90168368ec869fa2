"""Diagnostic pathways as data: the shipped files, the arithmetic, and every complaint about a file."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from pandora_regret import InputError
from pandora_regret.core.costs import available_costs, load_costs

DERMAMNIST_TABLE = {  # Table tab:cost_vector, in MedMNIST's label order
    "actinic keratosis": 75.15,
    "basal cell carcinoma": 240.82,
    "benign keratosis": 106.01,
    "dermatofibroma": 75.15,
    "melanoma": 383.77,
    "melanocytic nevi": 75.15,
    "vascular lesion": 75.15,
}
OCTMNIST_TABLE = {"CNV": 343.91, "DME": 343.91, "drusen": 186.71, "normal": 149.64}
TABLES = [("dermamnist", DERMAMNIST_TABLE), ("octmnist", OCTMNIST_TABLE)]

SMALL = (Path(__file__).parents[2] / "data" / "two_faults.toml").read_text(encoding="utf-8")


# The paper's table


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_every_row_of_the_papers_cost_table_to_the_cent(name, table):
    pathways = load_costs(name)
    assert list(pathways.published.items()) == list(table.items())
    assert pathways.classes == tuple(table) == tuple(pathways.costs)
    for row, printed in table.items():
        assert abs(pathways.costs[row] - printed) <= 0.005 + 1e-12


def test_the_pathway_column_of_the_papers_cost_table():
    """Of the paper, from the items of the files: "visit + bx + path + 50 % IHC panel" and the like."""
    derma, oct_ = load_costs("dermamnist"), load_costs("octmnist")
    assert derma.describe("actinic keratosis") == "visit"
    assert derma.describe("basal cell carcinoma") == "visit + shave biopsy + histopathology"
    biopsy = "punch biopsy (50 %, otherwise excisional biopsy)"
    assert derma.describe("melanoma") == f"visit + {biopsy} + histopathology + antibody panel (50 %)"
    angiography = "oct angiography (5 %, otherwise fluorescein angiography)"
    assert oct_.describe("DME") == oct_.describe("CNV") == f"exam + fundus photography + {angiography}"
    assert load_costs("pump_fault").describe("bearing wear") == "1.5 × analyst + open casing (25 %)"
    with pytest.raises(InputError, match="pass one of"):
        derma.describe("measles")


@pytest.mark.parametrize(
    ("name", "amounts"),
    [
        (
            "dermamnist",
            {
                "99202": "75.15",
                "11102": "95.53",
                "11104": "121.25",
                "11106": "151.31",
                "88305": "70.14",
                "88342": "110.22",
                "88341": "94.19",
            },
        ),
        ("octmnist", {"92004": "149.64", "92250": "37.07", "92235": "162.33", "92137": "59.79"}),
    ],
)
def test_fee_items_are_those_of_the_papers_appendix(name, amounts):
    items = load_costs(name).items.values()
    assert {item.code: str(item.amount) for item in items} == amounts
    assert {item.year for item in items} == {2026}
    assert all("CMS" in item.source for item in items)


# Arithmetic


def test_sums_are_rounded_to_what_a_person_would_write(load):
    tenth = load('{ item = "part", probability = 0.3 }', '{ item = "part", quantity = 3, probability = 0.1 }')
    assert tenth.costs == load().costs
    assert 3 * 0.1 != 0.3
    for name in available_costs():
        pathways = load_costs(name)
        for row in pathways.classes:
            assert sum(pathways.breakdown(row).values()) == pytest.approx(pathways.costs[row], rel=1e-14)
            assert len(repr(pathways.costs[row])) < 10


def test_otherwise_takes_the_place_of_what_does_not_happen(load):
    changed = load(
        '{ item = "part", probability = 0.3 }',
        '{ item = "part", probability = 0.3, otherwise = { pathway = "look", quantity = 2 } }',
    )
    assert changed.costs["broken"] == 153.03 + 0.7 * 2 * 30


def test_pathways_may_be_defined_in_any_order_and_deeply_nested(load):
    deep = (
        "\n".join(f'p{n} = [{{ pathway = "p{n + 1}" }}]' for n in range(2000)) + '\np2000 = [{ item = "part" }]\n'
    )
    text = SMALL.replace("[pathways]\n", "[pathways]\n" + deep).replace('pathway = "look"\n', 'pathway = "p0"\n')
    assert load(text=text).costs["loose"] == 10.1


def test_inflated_takes_each_item_from_its_own_year(load):
    pathways = load("amount = 10.10", "amount = 10.10\nyear = 2021")
    later = pathways.inflated(0.1, to_year=2022)
    assert later.breakdown("broken") == {"labour": 181.5, "part": 3.333}
    assert {item.year for item in later.items.values()} == {2022}
    assert later.inflated(0.1, to_year=2022) == later
    back = later.inflated(0.1, to_year=2020)
    assert back.costs["broken"] == pytest.approx(150 + 3.03 / 1.1, rel=1e-13)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda costs: costs.scaled(0), "factor is 0"),
        (lambda costs: costs.inflated(-1, to_year=2030), "rate is -1.*0.03 means 3 %"),
        (lambda costs: costs.inflated(0.1, to_year=12), "to_year is 12"),
        (lambda costs: costs.inflated(1e300, to_year=2040), "keratosis' is inf"),
        (lambda costs: costs.empirical(0), "draws is 0"),
        (lambda costs: costs.empirical(10), "uncertain: pass trials="),
    ],
)
def test_arguments_are_checked(change, message):
    with pytest.raises(InputError, match=message):
        change(load_costs("dermamnist"))


def test_pathways_are_values():
    pathways = load_costs("pump_fault")
    assert pickle.loads(pickle.dumps(pathways)) == pathways == load_costs("pump_fault")


# Uncertain probabilities


@pytest.mark.parametrize(("name", "trials"), [("dermamnist", 25), ("octmnist", 8), ("pump_fault", None)])
def test_empirical_mean_is_the_point_cost(name, trials):
    pathways = load_costs(name)
    prior = pathways.empirical(20_000, seed=1, trials=trials)
    error = prior.samples.std(axis=0) / np.sqrt(20_000)
    assert (error > 0).any()
    assert np.all(np.abs(prior.mean - list(pathways.costs.values())) <= 5 * error + 1e-9)


def test_trials_are_a_beta_posterior_and_shared_pathways_move_together():
    prior = load_costs("dermamnist").empirical(40_000, seed=2, trials=24)
    melanoma, benign = prior.samples[:, 4], prior.samples[:, 2]
    panel, biopsies = 110.22 + 94.19, 151.31 - 121.25
    variance = 0.25 / 25  # p (1 - p) / (n + 1)
    assert melanoma.std() == pytest.approx(np.sqrt(variance * (panel**2 + biopsies**2)), rel=0.02)
    workup = melanoma - 75.15
    share = (benign - 75.15) / workup  # the work-up that both contain cancels, draw by draw
    assert share.mean() == pytest.approx(0.1, abs=5 * share.std() / np.sqrt(40_000))
    assert share.std() == pytest.approx(np.sqrt(0.1 * 0.9 / 25), rel=0.02)
    assert abs(np.corrcoef(share, workup)[0, 1]) < 5 / np.sqrt(40_000)


def test_the_files_own_trials_outrank_the_assumed_ones(load):
    file = load("probability = 0.3", "probability = 0.3, trials = 99")
    stated, assumed = file.empirical(500, seed=6), file.empirical(500, seed=6, trials=2)
    assert np.array_equal(stated.samples, assumed.samples)
    with pytest.raises(InputError, match="uncertain"):
        load("probability = 0.3", "probability = 1").empirical(10, trials=5)

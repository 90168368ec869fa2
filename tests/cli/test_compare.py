"""`pandora compare` and `pandora report`: the library's numbers, as tables, JSON, CSV and a page."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from asked import compare_with
from cli_files import CLASSES, COSTS, forecasts, refused, run, run_json, wine_file, write_csv
from prediction_files import write_xlsx

from pandora_regret import InputError, compare

TYPICAL = [90.0, 60.0, 30.0]


@pytest.fixture
def files(tmp_path):
    return [wine_file(tmp_path, "tree"), wine_file(tmp_path, "bayes")]


def by_library(**settings):
    truth, chances = forecasts()
    models = {name: chances[name] for name in ("tree", "bayes")}
    return replace(compare_with(truth, models, labels=CLASSES, **settings), files=("tree.csv", "bayes.csv"))


def scores(comparison):
    return {model["name"]: model["scores"] for model in comparison["models"]}


def test_every_option_reaches_the_library(files):
    options = ["--bootstrap", 60, "--level", 0.9, "--seed", 3, "--prior", "gamma:2", "--scenario", f"dear={COSTS}"]
    from pandora_regret import Gamma

    expected = by_library(prior=Gamma(2), bootstrap=60, level=0.9, seed=3, scenarios={"dear": TYPICAL})
    assert run_json("compare", *files, *options) == expected.to_dict()


@pytest.mark.parametrize(("typed", "method"), [("none", None), ("vector", "vector")])
def test_models_are_recalibrated_as_was_asked_or_not_at_all(files, typed, method):
    printed = run_json("compare", *files, "--recalibrate", typed)
    assert printed == by_library(recalibrate=method).to_dict()
    for model in printed["models"]:
        assert (model["recalibrated"] or {"method": None})["method"] == method


def test_csv_is_one_row_a_model(files):
    rows = csv.DictReader(io.StringIO(run("compare", *files, "--csv").stdout))
    for row, wanted in zip(rows, by_library().table(), strict=True):
        assert row == {key: str(value) for key, value in wanted.items()}


def test_the_answer_comes_first_and_everything_has_its_table(files):
    page = run("compare", *files, "--costs", COSTS, "--full", "--scenario", f"dear={COSTS}").stdout
    comparison = by_library(costs=TYPICAL)
    assert page.startswith(comparison.headline[0])
    for heading in ("Models", "What other models cost more", "Where the money goes", "Cost calibration"):
        assert f"\n{heading}" in page
    for model in comparison.models:
        assert f"{model.cost:.1f}" in page  # rounded by an interval some 10 wide
    assert all(pair.sentence in page for pair in comparison.largest_pairs)
    assert "Under other costs" in page
    table = page[page.index("\nModels") :].splitlines()
    assert next(line for line in table if line.startswith(comparison.best.name)).count("*") >= 5


@pytest.mark.parametrize("command", [["compare", "--full"], ["score"]])
def test_infinite_log_loss_is_null_in_json_and_a_word_in_the_table(tmp_path, command):
    rows = [("y_true", "a", "b"), ("a", 1.0, 0.0), ("b", 1.0, 0.0), ("b", 0.3, 0.7)]
    path = write_csv(tmp_path / "sure.csv", rows)
    score = run_json(*command, path)["models"][0]["scores"]["log_loss"]
    assert score["value"] is None
    assert "given probability 0" in score["warning"]
    assert "infinite" in run(*command, path).stdout


def test_models_of_one_name_are_told_apart_by_their_files(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    paths = [
        wine_file(tmp_path / folder, model, name="preds") for folder, model in (("a", "tree"), ("b", "bayes"))
    ]
    assert sorted(scores(run_json("compare", *paths))) == sorted(paths)


def test_each_row_may_have_its_own_costs(tmp_path):
    truth, chances = forecasts()
    costs = np.random.default_rng(1).uniform(10, 50, (178, 3))
    extra = {f"cost_{name}": column for name, column in zip(CLASSES, costs.T, strict=True)}
    path = wine_file(tmp_path, "bayes", **extra)
    printed = run_json("compare", path, "--cost-prefix", "cost_")
    expected = compare(truth, {"bayes": chances["bayes"]}, labels=CLASSES, costs=costs).to_dict()
    assert scores(printed) == scores(expected)
    assert printed["costs"]["typical"] is None
    assert "not both" in refused("compare", path, "--cost-prefix", "cost_", "--costs", COSTS)


def test_a_report_can_be_written_at_once_or_from_saved_json(tmp_path, files):
    saved = tmp_path / "comparison.json"
    at_once, later = tmp_path / "once.html", tmp_path / "later.html"
    result = run("compare", *files, "--json", "--html", at_once, "--title", "Wines")
    assert str(at_once) in result.stderr
    saved.write_text(result.stdout)
    assert run("compare", saved, "--html", later, "--title", "Wines").stderr == f"Report: {later}\n"
    assert at_once.read_bytes() == later.read_bytes()
    assert b"<title>Wines</title>" in later.read_bytes()


def test_a_file_that_is_given_twice_is_refused(files):
    refused("compare", files[0], files[1], files[0], kind=InputError, argument="files", value=str(files[0]))


def test_a_scenario_changes_only_the_prices_that_it_names(files):
    printed = run_json("compare", *files, "--costs", COSTS, "--scenario", "cheap barolo=barolo=10,barbera=31")
    assert printed["scenarios"][-1] == {"name": "cheap barolo", "typical": [10.0, 60.0, 31.0]}
    assert (
        printed
        == by_library(
            costs=TYPICAL, source=COSTS, scenarios={"cheap barolo": {"barbera": 31.0, "barolo": 10.0}}
        ).to_dict()
    )


PRICED = [
    ["test", "fee"],
    ["barolo", "$90.00"],
    ["port", "$1,250.00"],
    ["grignolino", "$60"],
    ["barbera", "$30.00"],
]


@pytest.mark.parametrize("command", ["compare", "score", "next"])
def test_a_price_list_as_people_have_it(tmp_path, files, command):
    path = tmp_path / "prices.xlsx"
    write_xlsx(path, {"2026": PRICED})
    arguments = ["barolo=0.5,grignolino=0.3,barbera=0.2"] if command == "next" else files[:1]
    printed = run_json(command, *arguments, "--costs", path)
    by_hand = run_json(command, *arguments, "--costs", COSTS, "--currency", "USD")
    charged = printed if command == "next" else printed["costs"]
    assert (charged["currency"], charged["source"]) == ("USD", str(path))
    for key in ("models", "expected_cost", "steps"):
        assert printed.get(key) == by_hand.get(key)
    [unused] = [each for each in printed["remarks"] if each["what"] == "prices not used"]
    assert (unused["count"], unused["model"]) == (1, str(path))
    assert "port" in unused["sentence"]
    assert unused["sentence"] in run(command, *arguments, "--costs", path).stdout


SITES = ["north"] * 60 + ["south"] * 60 + [""] * 58


def test_results_are_broken_down_by_columns_of_any_file(tmp_path):
    age = np.arange(178) % 80
    files = [wine_file(tmp_path, "tree", site=SITES), wine_file(tmp_path, "bayes", age=age)]
    printed = run_json("compare", *files, "--costs", COSTS, "--by", "site,age:20|60", "--by", "site*age:2")
    by = {"site": SITES, "age:20|60": age, "site*age:2": (SITES, age)}
    assert printed == by_library(costs=TYPICAL, source=COSTS, by=by).to_dict()
    groups = [[group["name"] for group in part["groups"]] for part in printed["by"]]
    assert groups[0] == ["north", "south", "missing"]
    assert groups[1] == ["under 20", "20 to under 60", "60 and over"]


def test_files_that_disagree_about_a_column_are_refused(tmp_path):
    others = [*SITES[:5], "west", *SITES[6:]]
    files = [wine_file(tmp_path, "tree", site=SITES), wine_file(tmp_path, "bayes", site=others)]
    said = refused("compare", *files, "--by", "site", argument="by", place=f"{files[1]} line 7")
    assert "'west'" in said
    assert f"{files[0]} line 7 has 'north'" in said

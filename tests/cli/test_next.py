"""`pandora next` of a search and of a work-up, and `pandora validate` of a work-up."""

import json

import numpy as np
import pytest
from cli_files import refused, run, run_json, write_csv

from pandora_regret.core.inputs.tests import Tests
from pandora_regret.files import FileError
from pandora_regret.workup import plan_search

CASE, DOLLARS = "melanoma=0.2,nevus=0.7,keratosis=0.1", "melanoma=384,nevus=75,keratosis=75"
CHANCES = {"melanoma": 0.2, "nevus": 0.7, "keratosis": 0.1}
PRICES = {"melanoma": 384.0, "nevus": 75.0, "keratosis": 75.0}
SKIN = """
classes = ["melanoma", "nevus", "keratosis"]
currency = "USD"

[steps.visit]
cost = 75

[steps.dermoscopy]
cost = 52
requires = "visit"
outcomes.suspicious = { melanoma = 0.92, nevus = 0.2, keratosis = 0.15 }
outcomes.benign = "otherwise"

[steps.biopsy]
cost = 309
requires = "visit"
tells_apart = "all"

[stops.watch]
loss = { melanoma = 20000, others = 30 }
"""
FORECAST = "melanoma=0.05,nevus=0.85,keratosis=0.1"


def plan_of(printed):
    assert printed["schema"] == "pandora-order/2"
    return {key: printed[key] for key in ("steps", "expected_cost", "search")}


def as_json(plan):
    plain = json.loads(json.dumps(plan.to_dict()))
    return {"steps": plain["steps"], "expected_cost": plain["expected_cost"], "search": plain["method"]}


def test_sensitivities_and_repeats_reach_the_library():
    options = ["--sensitivity", "melanoma=0.9,nevus=0.8,keratosis=1", "--search", "adaptive", "--steps", 7]
    tests = Tests(cost=PRICES, sensitivity={"melanoma": 0.9, "nevus": 0.8, "keratosis": 1.0})
    expected = plan_search(CHANCES, tests=tests, search="adaptive", steps=7)
    printed = run_json("next", CASE, "--costs", DOLLARS, *options)
    assert plan_of(printed) == as_json(expected)
    assert (printed["currency"], printed["source"]) == ("", DOLLARS)
    assert len(run_json("next", CASE, "--sensitivity", "0.8", "--search", "restarts")["steps"]) == 3


def test_the_table_walks_through_the_steps():
    lines = run("next", CASE, "--costs", DOLLARS).stdout.splitlines()
    steps = [line.split() for line in lines if line.strip()[:1].isdigit()]
    assert [step[:2] for step in steps] == [["1", "nevus"], ["2", "keratosis"], ["3", "melanoma"]]
    assert steps[1] == ["2", "keratosis", "33.3", "%", "75", "150", "80.0", "%"]
    assert "Expected cost: 174." in lines


def test_a_case_by_its_id(tmp_path):
    path = write_csv(tmp_path / "p.csv", [("case", "a", "b", "age"), ("p1", 0.2, 0.8, 40), ("p2", 0.9, 0.1, 50)])
    options = ["--id", "case", "--costs", "a=3,b=5"]
    printed = run_json("next", path, "--case", "p2", *options)
    assert [remark["what"] for remark in printed["remarks"]] == ["columns ignored"]
    written_out = run_json("next", "a=0.9,b=0.1", "--costs", "a=3,b=5")
    assert plan_of(printed) == plan_of(written_out)
    refused("next", path, "--case", "p3", *options, argument="ids", value="p3", place=path)
    assert "--id" in refused("next", path, "--case", "p2", argument="ids", value=None, place=path)
    assert "--row and --case" in refused("next", path, "--case", "p2", "--row", 2, *options)
    write_csv(path, [("case", "a", "b"), ("p1", 0.2, 0.8), ("p1", 0.2, 0.8)])
    twice = refused("next", path, "--case", "p1", *options, argument="ids", value="p1", place=path)
    assert "--row: 1 or 2." in twice


def test_a_row_needs_no_label_and_keeps_its_precision(tmp_path):
    import pyarrow
    from pyarrow import parquet

    p = np.array([[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3]], dtype=np.float32)
    path = tmp_path / "new.parquet"
    parquet.write_table(pyarrow.table({"id": [1, 2]} | dict(zip("abc", p.T, strict=True))), path)
    steps = run_json("next", path, "--row", 1)["steps"]
    assert [step["test"] for step in steps] == ["c", "b", "a"]
    assert steps[0]["done"] == pytest.approx(float(p[0, 2]))
    text = write_csv(tmp_path / "new.csv", [("a", "b", "c"), ("0.3333333", "0.3333333", "0.3333333")])
    assert run_json("next", text, "--row", 1)["expected_cost"] == pytest.approx(2)


def test_a_row_may_bring_its_costs_along(tmp_path):
    path = write_csv(tmp_path / "cases.csv", [("a", "b", "cost_a", "cost_b"), (0.5, 0.5, 9, 3)])
    printed = run_json("next", path, "--row", 1, "--cost-prefix", "cost_")
    assert [(step["test"], step["total_cost"]) for step in printed["steps"]] == [("b", 3.0), ("a", 12.0)]
    assert (printed["currency"], printed["source"]) == ("", "the row's own")


def test_the_plot_is_written_beside_what_is_printed(tmp_path):
    pytest.importorskip("matplotlib")
    plot = tmp_path / "plan.svg"
    result = run("next", CASE, "--costs", DOLLARS, "--tree", plot, "--json")
    assert json.loads(result.stdout)["steps"]
    assert result.stderr == f"Plot: {plot}\n"
    assert plot.read_bytes().startswith(b"<?xml")
    assert run("next", CASE, "--tree", plot).exit_code == 2
    assert run("next", CASE, "--tree", plot, "--force").exit_code == 0
    assert run("next", CASE, "--tree", tmp_path / "plan.doc").exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["plan.svg"]


def test_of_many_steps_ten_are_listed_unless_asked():
    many = ",".join(f"c{number:02}=0.025" for number in range(40))

    def listed(*options):
        return sum(line.strip()[:1].isdigit() for line in run("next", many, *options).stdout.splitlines())

    assert listed() == 10
    assert "30 more steps" in run("next", many).stdout
    assert listed("--full") == 40
    assert listed("--steps", 12) == 12
    assert len(run_json("next", many)["steps"]) == 40


@pytest.fixture
def skin(tmp_path):
    path = tmp_path / "skin.toml"
    path.write_text(SKIN, encoding="utf-8")
    return path


def test_next_says_what_to_do_and_what_else_could_be_done(skin):
    result = run("next", skin, FORECAST)
    assert result.exit_code == 0
    _, second, *_ = result.stdout.splitlines()
    assert second.index("visit ($75)") < second.index("dermoscopy ($52)")
    assert "watch $1,028 (+$727)" in result.stdout
    plain = run_json("next", skin, FORECAST)
    assert (plain["schema"], plain["next"]) == ("pandora-next/2", "visit")
    assert plain["tree"]["branches"]["done"]["name"] == "dermoscopy"


def test_next_takes_findings_and_draws_the_tree(skin, tmp_path):
    tree = tmp_path / "tree.svg"
    result = run("next", skin, FORECAST, "--found", "visit", "--found", "dermoscopy=suspicious", "--tree", tree)
    assert "\nNext: biopsy ($309).\n" in result.stdout
    assert tree.read_text(encoding="utf-8").startswith("<svg")
    assert run("next", skin, FORECAST, "--tree", tree).exit_code == 2  # not without --force


@pytest.mark.parametrize(
    ("arguments", "fields", "words"),
    [
        ((FORECAST, "--found", "dermoscopy=odd"), {"argument": "found", "value": "odd"}, "suspicious, benign"),
        ((FORECAST, "--found", "visit", "--found", "visit"), {"place": "--found"}, "twice"),
        (("melanoma=0.5,nevus=0.4",), {"place": "FORECAST", "value": 0.9}, "'keratosis'"),
        (("melanoma=0.5,naevus=0.5",), {"place": "FORECAST", "value": ["naevus"]}, "'nevus'?"),
        (("melanoma=0.5,nevus=0.6,keratosis=0",), {"argument": "y_proba", "row": 0, "value": 1.1}, "FORECAST"),
    ],
)
def test_next_refuses_in_one_line(skin, arguments, fields, words):
    assert words in refused("next", skin, *arguments, **fields)


def test_check_says_what_was_understood(skin):
    understood = run_json("validate", skin)
    assert understood["method"] == "graph"


def test_a_file_whose_forecasts_are_words_is_refused(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("id,label,flu,cold\n1,flu,high,low\n", encoding="utf-8")
    assert "columns of numbers" in refused("next", path, "--row", "1", kind=FileError, place=str(path))


def test_percentages_that_are_typed_are_shares():
    assert run_json("next", "flu=70%,cold=30 %") == run_json("next", "flu=0.7,cold=0.3")


def test_what_a_forecast_leaves_is_elsewhere_at_the_price_of_a_miss():
    result = run_json("next", "a=0.5,b=0.2", "--costs", "other=3", "--miss", 40)
    assert [step["test"] for step in result["steps"]] == ["a", "b", "elsewhere"]
    assert [step["cost"] for step in result["steps"]] == [3.0, 3.0, 40.0]
    assert result["expected_cost"] == pytest.approx(3 + 0.5 * 3 + 0.3 * 40)
    assert result["looks"] == 2


def test_giving_up_comes_before_what_is_not_worth_a_look():
    result = run_json("next", "a=0.5,b=0.02", "--costs", "other=3", "--miss", 40)
    assert [step["test"] for step in result["steps"]] == ["a", "elsewhere", "b"]
    assert result["looks"] == 1


@pytest.mark.parametrize("forecast", ["a=0.7,b=0.6", "a=0.5,elsewhere=0.2"])
def test_elsewhere_needs_something_left_and_a_name_of_its_own(forecast):
    assert refused("next", forecast, "--miss", 40)


def test_the_list_of_a_case_in_a_file_may_leave_something_for_elsewhere(tmp_path):
    lines = [
        {"id": "p1", "ranking": [{"name": "b", "probability": 0.02}, {"name": "a", "probability": 0.5}]},
        {"id": "p2", "ranking": []},
    ]
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    prices = ("--costs", "other=3", "--miss", 40)
    typed = run_json("next", "a=0.5,b=0.02", *prices)
    for which in (("--case", "p1"), ("--row", 1)):
        assert run_json("next", path, *which, *prices)["steps"] == typed["steps"]
    assert refused("next", path, "--case", "p2", *prices, argument="id")
    assert refused("next", path, "--case", "p3", *prices, argument="id")
    assert refused("next", path, "--row", 3, *prices, argument="row")
    assert refused("next", path, *prices, argument="row")
    path.write_text('{"id": "p1", "ranking": ["a", "b"]}')
    assert refused("next", path, "--case", "p1", *prices)


def test_a_plan_is_written_as_a_runbook_and_as_a_page(skin, tmp_path):
    book, page = tmp_path / "plan.md", tmp_path / "plan.html"
    result = run("next", skin, FORECAST, "--runbook", book, "--html", page)
    assert result.exit_code == 0
    assert "```mermaid" in book.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run("next", skin, FORECAST, "--html", page).exit_code == 2  # not without --force
    assert "--runbook" in refused("next", skin, FORECAST, "--runbook", tmp_path / "plan.doc")
    assert run("next", "a=0.5,b=0.5", "--html", tmp_path / "other.html").exit_code == 2


def test_findings_are_matched_like_all_names_and_outcomes_listed(skin):
    spelled = run_json("next", skin, FORECAST, "--found", "Dermoscopy=SUSPICIOUS")
    assert spelled["found"] == {"dermoscopy": "suspicious"}
    assert "suspicious, benign" in refused("next", skin, FORECAST, "--found", "dermoscopy")

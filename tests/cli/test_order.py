"""`pandora next` without a work-up: the library's plan, as a table, JSON and a plot."""

import json

import numpy as np
import pytest

pytest.importorskip("rich")
pytest.importorskip("pyarrow")
pytest.importorskip("sklearn")

import pyarrow
from cli_files import CLASSES, COSTS, forecasts, run, run_json, wine_file, write_csv

from pandora_regret.inputs.tests import Tests
from pandora_regret.workup import plan_search

SKIN = "melanoma=0.2,nevus=0.7,keratosis=0.1"
SKIN_COSTS = "melanoma=384,nevus=75,keratosis=75"
CHANCES = {"melanoma": 0.2, "nevus": 0.7, "keratosis": 0.1}
PRICES = {"melanoma": 384.0, "nevus": 75.0, "keratosis": 75.0}


def plan_of(printed):
    assert printed["schema"] == "pandora-order/1"
    return {key: printed[key] for key in ("steps", "expected_cost", "search")}


def as_json(plan):
    plain = json.loads(json.dumps(plan.to_dict()))
    return {"steps": plain["steps"], "expected_cost": plain["expected_cost"], "search": plain["method"]}


def test_json_is_the_librarys_plan():
    printed = run_json("next", SKIN, "--costs", SKIN_COSTS)
    assert plan_of(printed) == as_json(plan_search(CHANCES, PRICES))
    assert (printed["currency"], printed["source"]) == ("", SKIN_COSTS)


def test_sensitivities_and_repeats_reach_the_library():
    options = ["--sensitivity", "melanoma=0.9,nevus=0.8,keratosis=1", "--search", "adaptive", "--steps", 7]
    tests = Tests(cost=PRICES, sensitivity={"melanoma": 0.9, "nevus": 0.8, "keratosis": 1.0})
    expected = plan_search(CHANCES, tests=tests, search="adaptive", steps=7)
    assert plan_of(run_json("next", SKIN, "--costs", SKIN_COSTS, *options)) == as_json(expected)
    assert len(run_json("next", SKIN, "--sensitivity", "0.8", "--search", "restarts")["steps"]) == 3


def test_the_table_walks_through_the_steps():
    lines = run("next", SKIN, "--costs", SKIN_COSTS).stdout.splitlines()
    steps = [line.split() for line in lines if line.strip()[:1].isdigit()]
    assert [step[:2] for step in steps] == [["1", "nevus"], ["2", "keratosis"], ["3", "melanoma"]]
    assert steps[1] == ["2", "keratosis", "33.3", "%", "75", "150", "80.0", "%"]
    assert "Expected total: 174." in lines


def test_a_row_of_a_file(tmp_path):
    truth, chances = forecasts()
    path = wine_file(tmp_path, "bayes", remark=truth)
    expected = plan_search(dict(zip(CLASSES, chances["bayes"][11], strict=True)), [90.0, 60.0, 30.0])
    assert plan_of(run_json("next", path, "--row", 12, "--costs", COSTS)) == as_json(expected)


def test_a_case_by_its_id(tmp_path):
    path = write_csv(tmp_path / "p.csv", [("case", "a", "b", "age"), ("p1", 0.2, 0.8, 40), ("p2", 0.9, 0.1, 50)])
    options = ["--id-column", "case", "--costs", "a=3,b=5"]
    printed = run_json("next", path, "--id", "p2", *options)
    assert [done["what"] for done in printed["done"]] == ["columns ignored"]
    written_out = run_json("next", "a=0.9,b=0.1", "--costs", "a=3,b=5")
    assert plan_of(printed) == plan_of(written_out)
    for arguments, words in (
        (["--id", "p3", *options], "has no row whose case is 'p3'"),
        (["--id", "p2"], "--id-column"),
        (["--id", "p2", "--row", 2, *options], "--row and --id were both given"),
    ):
        failed = run("next", path, *arguments)
        assert failed.exit_code == 2
        assert words in failed.stderr


def test_a_case_whose_id_comes_twice_is_no_case(tmp_path):
    path = write_csv(tmp_path / "p.csv", [("id", "a", "b"), ("x", 0.2, 0.8), ("x", 0.9, 0.1)])
    failed = run("next", path, "--id", "x")
    assert "has 2 rows whose id is 'x': say which with --row: 1 or 2." in failed.stderr


def test_a_forecast_that_is_nearly_one_is_rescaled_where_that_is_asked_for():
    assert "--normalise" in run("next", "a=0.899,b=0.1").stderr
    printed = run_json("next", "a=0.899,b=0.1", "--normalise")
    assert printed["steps"][0]["probability"] == pytest.approx(0.899 / 0.999)
    assert printed["done"][0]["sentence"] == "1 row of FORECAST rescaled (sums 0.999)"


def test_a_row_needs_no_label_and_keeps_its_precision(tmp_path):
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
    refused = run("next", path, "--row", 1, "--cost-prefix", "cost_", "--costs", "a=1,b=2")
    assert refused.exit_code == 2
    assert "not both" in refused.stderr


def test_logits_may_be_written_out():
    chances = run_json("next", "a=1.5,b=-0.5", "--logits")["steps"]
    assert chances[0]["probability"] == pytest.approx(1 / (1 + np.exp(-2)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a=0.5,b=0.6"], "1.1"),
        (["a=0.5,b"], "NAME=VALUE"),
        (["a=0.5,b=half"], "'half'"),
        (["a=0.5,a=0.5"], "twice"),
        (["nothing.csv"], "neither a file"),
        (["nothing.csv", "--row", "1"], "No such file"),
        (["a=0.5,b=0.5", "--costs", "a=1,c=2"], "'c'"),
        (["a=0.5,b=0.5", "--costs", "a=1,b=-2"], "-2"),
        (["a=0.5,b=0.5", "--sensitivity", "1.5"], "sensitivity"),
        (["a=0.5,b=0.5", "--sensitivity", "a=0.5"], "'b'"),
        (["a=1"], "two"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(arguments, words):
    result = run("next", *arguments)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert words in result.stderr


def test_rows_that_are_not_there(tmp_path):
    path = wine_file(tmp_path, "bayes")
    assert "--row" in run("next", path).stderr
    assert "has 178 rows" in run("next", path, "--row", 179).stderr
    gap = write_csv(tmp_path / "gap.csv", [("a", "b"), (0.5, 0.5), (0.5, "")])
    assert "line 3, column 'b' has no value" in run("next", gap, "--row", 2).stderr


def test_the_plot_is_written_beside_what_is_printed(tmp_path):
    pytest.importorskip("matplotlib")
    plot = tmp_path / "plan.svg"
    result = run("next", SKIN, "--costs", SKIN_COSTS, "--plot", plot, "--json")
    assert json.loads(result.stdout)["steps"]
    assert result.stderr == f"Plot: {plot}\n"
    assert plot.read_bytes().startswith(b"<?xml")
    assert run("next", SKIN, "--plot", plot).exit_code == 2
    assert run("next", SKIN, "--plot", plot, "--force").exit_code == 0
    assert run("next", SKIN, "--plot", tmp_path / "plan.doc").exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["plan.svg"]


def test_of_many_steps_ten_are_listed_unless_asked():
    many = ",".join(f"c{number:02}=0.025" for number in range(40))

    def listed(*options):
        return sum(line.strip()[:1].isdigit() for line in run("next", many, *options).stdout.splitlines())

    assert listed() == 10
    assert "... and 30 more steps: --full." in run("next", many).stdout
    assert listed("--full") == 40
    assert listed("--steps", 12) == 12
    assert len(run_json("next", many)["steps"]) == 40


def test_the_staircase_rises_by_what_each_test_may_find():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    from pandora_regret.plots.single_case import plot_search_trace

    plan = plan_search({"$5 to $10": 0.25, "b": 0.75}, [30.0, 10.0])
    axes = plot_search_trace(plan, figure.subplots(), currency="USD")
    staircase = axes.lines[0]
    assert list(staircase.get_xdata()) == [0.0, 10.0, 40.0]
    assert list(staircase.get_ydata()) == [0.0, 75.0, 100.0]
    assert [text.get_text() for text in axes.texts] == ["b", "$5 to $10"]
    assert "$17.50" in axes.get_legend().get_texts()[0].get_text()
    figure.canvas.draw()  # a name is no formula

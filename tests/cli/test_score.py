"""`pandora score`: one pass over any number of rows, with the same result wherever and however they are split."""

import csv
import io
import json
import os
import signal
import sys
import time

import pytest
from cli_files import CLASSES, COSTS, forecasts, refused, run, run_json, start, wine_file, wine_rows, write_csv
from cluster import loopback_cluster

from pandora_regret import Comparison, compare, expected_search_cost, pair_costs, pandora_regret
from pandora_regret.text import money

ENDS = ("value", "low", "high")
TYPICAL = [90.0, 60.0, 30.0]
SPLIT = ["--bootstrap", 50, "--costs", COSTS, "--classes", ",".join(CLASSES)]


def numbers(printed):
    """Every number that is printed of the one model, under its name."""
    [model] = printed["models"]
    found = {f"{key} {end}": score[end] for key, score in model["scores"].items() for end in ENDS}
    return found | {"rows": printed["data"]["rows"], "weighted": printed["data"]["weighted"]}


def test_wrong_tests_are_the_librarys(tmp_path):
    printed = run_json("score", wine_file(tmp_path, "bayes"), "--costs", COSTS, "--wrong-tests")
    truth, chances = forecasts()
    expected = compare(truth, {"bayes": chances["bayes"]}, labels=CLASSES, costs=TYPICAL).to_dict()
    for pair, other in zip(printed["largest_pairs"], expected["largest_pairs"], strict=True):
        assert pair["sentence"] == other["sentence"]
    assert Comparison.from_dict(printed).best.name == "bayes"


def test_options_reach_the_library(tmp_path):
    from pandora_regret import LogNormal

    truth, chances = forecasts()
    weights = [1 + at % 3 for at in range(178)]
    path = wine_file(tmp_path, "tree", heft=weights)
    printed = run_json("score", path, "--prior", "lognormal:0.5", "--weight", "heft", "--level", 0.5)
    given = {"labels": CLASSES, "sample_weight": weights}
    cost = expected_search_cost(truth, chances["tree"], prior=LogNormal(0.5), costs=[1, 1, 1], **given)
    assert numbers(printed)["expected_cost value"] == pytest.approx(cost)
    assert numbers(printed)["pandora_regret value"] == pytest.approx(
        pandora_regret(truth, chances["tree"], **given)
    )
    assert numbers(printed)["weighted"]
    assert sum(printed["data"]["class_weights"]) == pytest.approx(len(weights))
    assert printed["interval"]["level"] == 0.5


def test_csv_is_one_row_a_metric(tmp_path):
    path = wine_file(tmp_path, "bayes")
    rows = list(csv.DictReader(io.StringIO(run("score", path, "--csv").stdout)))
    wanted = numbers(run_json("score", path))
    assert {row["metric"]: float(row["value"]) for row in rows} == {
        key.removesuffix(" value"): value for key, value in wanted.items() if key.endswith(" value")
    }


def test_every_model_of_a_file_is_scored(tmp_path):
    together = [*wine_rows("tree", model=["tree"] * 178), *wine_rows("bayes", model=["bayes"] * 178)[1:]]
    printed = run_json("score", write_csv(tmp_path / "together.csv", together))
    alone = run_json("score", wine_file(tmp_path, "bayes"))
    assert [each["models"][0]["name"] for each in printed["comparisons"]] == ["tree", "bayes"]
    assert printed["comparisons"][1]["models"][0]["scores"] == alone["models"][0]["scores"]


def parquet(path):
    """The same wines many times over, in many row groups, so that there are many fragments."""
    import pyarrow
    from pyarrow import parquet

    header, *rows = wine_rows("bayes")
    columns = list(zip(*rows, strict=True))
    table = pyarrow.table(
        {"y_true": columns[0]} | {n: [*map(float, c)] for n, c in zip(header[1:], columns[1:], strict=True)}
    )
    parquet.write_table(pyarrow.concat_tables([table] * 64), path, row_group_size=356)
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_cluster_gives_the_same_answer_though_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    path = parquet(tmp_path / "wines.parquet")
    options = ["score", path, *SPLIT, "--json"]
    alone = json.loads(run(*options).stdout)
    with loopback_cluster() as (address, workers), distributed.Client(address, set_as_default=False) as client:
        process = start(*options, "--cluster", address)
        wait_for_work(client, process)
        os.kill(workers[0].pid, signal.SIGKILL)
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert numbers(json.loads(output)) == pytest.approx(numbers(alone), rel=1e-12)


def wait_for_work(client, process):
    """Until both workers have something to do, and the command waits for it."""
    while process.poll() is None and not all(map(len, client.processing().values())):
        time.sleep(0.01)
    assert process.poll() is None


def test_the_bill_is_said_in_tests_or_in_money(tmp_path):
    truth, chances = forecasts()
    path = wine_file(tmp_path, "tree")
    excess = pair_costs(truth, chances["tree"], labels=CLASSES, costs=[1, 1, 1]).sum()
    assert f"{1 + excess:.3g} typical test prices per" in run("score", path).stdout
    cost = expected_search_cost(truth, chances["tree"], labels=CLASSES, costs=[90, 60, 30])
    assert (
        f"costs {money(cost, 'USD')} per case." in run("score", path, "--costs", COSTS, "--currency", "USD").stdout
    )


def test_costs_of_each_row_can_have_a_unit(tmp_path):
    rows = [("y_true", "a", "b", "cost_a", "cost_b"), ("a", 0.5, 0.5, 9, 3), ("b", 0.25, 0.75, 9, 3)]
    path = write_csv(tmp_path / "cases.csv", rows)
    options = ["--cost-prefix", "cost_"]
    assert run_json("score", path, *options)["costs"]["currency"] == ""
    assert run_json("score", path, *options, "--unit", "minutes")["costs"]["currency"] == "min"
    assert run_json("compare", path, *options, "--currency", "usd")["costs"]["currency"] == "USD"


def test_rows_that_the_truth_lacks_are_left_out_by_commands_that_can(tmp_path):
    write_csv(tmp_path / "p.csv", [["id", "a", "b"], [1, 0.5, 0.5], [2, 0.3, 0.7], [3, 0.2, 0.8]])
    write_csv(tmp_path / "truth.csv", [["id", "label"], [1, "a"], [2, "b"]])
    for command in ("score", "recalibrate", "compare"):
        told = ("--truth", tmp_path / "truth.csv")
        said = refused(command, tmp_path / "p.csv", *told, argument="id", row=2, value=3)
        assert ("--common-rows" in said) == (command == "compare")

"""Tables and the figure of a study, and the commands that print them."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("safetensors")
pytest.importorskip("click")
from click.testing import CliRunner

from pandora_regret import InputError
from pandora_regret.cli.commands import pandora
from pandora_regret.study import (
    Cell,
    Grid,
    Store,
    StudyResults,
    agreement,
    begin,
    read_results,
    read_study,
    run_study,
    study_grid,
    study_plan,
)
from pandora_regret.study.results import DataSetResult, ExtraCost
from pandora_regret.text import DisplayCell

KEYS = ["pandora_regret", "log_loss", "accuracy", "macro_f1_all", "beta_0.5"]


def forecasts(seed, models=6, rows=80):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, rows)
    odds = np.exp(np.linspace(0, 3, models)[:, None, None] * np.eye(3)[truth] + rng.normal(size=(models, rows, 3)))
    return truth, odds / odds.sum(axis=2, keepdims=True)


@pytest.fixture(scope="module")
def results():
    data = []
    for seed, name in enumerate(["Derm", "OCT & co_1"]):
        truth, proba = forecasts(seed)
        result = agreement(
            truth, proba, costs=[1.0, 2.0, 9.0], conditions=["clinical"], metrics=KEYS, replicates=20, seed=seed
        )
        data.append(DataSetResult(name, "USD", {}, result))
    return StudyResults("pandora-study/1", "made up", "t", tuple(data))


def test_the_paper_s_columns_unless_others_are_asked_for(results):
    paper = ("Pandora's Regret", "Log loss", "Accuracy", "Macro-F1, all classes")
    assert study_grid(results).metrics == paper
    assert study_grid(results, metrics=()).metrics == (*paper, "Beta score, α = 0.5")
    assert study_grid(results, metrics=["beta_0.5"]).metrics == ("Beta score, α = 0.5",)
    with pytest.raises(InputError, match="metric is 'unheard'"):
        study_grid(results, metrics=["unheard"])


def grid_of(proba, **options):
    result = agreement(forecasts(0)[0], proba, costs=[1.0, 2.0, 3.0], conditions=["clinical"], **options)
    return result, study_grid(StudyResults.of({"d": result}), metrics=())


def test_a_metric_that_ranks_the_wrong_way_round_is_marked_and_never_best():
    from pandora_regret.metrics import Metric

    contrary = Metric("contrary", "Contrary", "lower", lambda truth, proba: proba[np.arange(len(truth)), truth])
    result, grid = grid_of(forecasts(0)[1], metrics=["accuracy", contrary], replicates=5)
    assert result.reversed.tolist() == [[False, False, True]]
    assert [cell.best for cell in grid.rows[0][2]][2] is False
    assert "†" in grid.render()
    assert "wrong way round" in grid.render()


def test_where_all_metrics_rank_the_wrong_way_round_none_is_best(results):
    part = results.data[0].agreement
    condition = part.conditions[0]
    contrary = tuple(replace(result, reversed=True) for result in condition.metrics)
    changed = replace(part, conditions=(replace(condition, metrics=contrary),))
    [(_, _, cells)] = study_grid(StudyResults.of({"d": changed})).rows
    assert not any(cell.best for cell in cells)


@pytest.fixture
def study_folder(tmp_path):
    truth, proba = forecasts(0)
    store = Store.create(tmp_path / "store", truth, ["a", "b", "c"])
    for number, values in enumerate(proba):
        store.save(f"m{number}", values)
    (tmp_path / "study.toml").write_text(
        'title = "t"\nreplicates = 10\nconditions = ["clinical"]\n[[data]]\nname = "d"\n'
        '[data.zoo]\nkind = "store"\nfolder = "store"\n'
    )
    return tmp_path


def test_the_commands_from_run_to_figure(study_folder):
    def pandora_study(*words):
        done = CliRunner().invoke(pandora, ["study", *map(str, words)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    out = study_folder / "out"
    planned = pandora_study("plan", study_folder / "study.toml").splitlines()[1]
    assert planned.split()[:4] == ["d", "6", "80", "3"]
    printed = pandora_study("run", study_folder / "study.toml", "--out", out)
    assert "Pandora's Regret" in printed
    assert pandora_study("resume", out) == printed == pandora_study("table", out)
    assert "6 of 6 models" in pandora_study("status", out)
    assert pandora_study("table", out, "--format", "latex").startswith(r"\begin{table}")
    assert "Top-2" in pandora_study("table", out, "--all", "--format", "markdown", "--what", "extra_cost")
    assert pandora_study("figure", out, study_folder / "f.svg").strip() == str(study_folder / "f.svg")
    again = CliRunner().invoke(pandora, ["study", "figure", str(out), str(study_folder / "f.svg")])
    assert again.exit_code == 2
    assert "f.svg exists" in again.stderr
    pandora_study("figure", out, study_folder / "f.svg", "--force")


def test_csv_keeps_every_digit(results):
    rows = list(csv.DictReader(io.StringIO(study_grid(results, metrics=()).render("csv"))))
    cells = results.data[1].agreement.conditions[0].metrics
    of_second = [row for row in rows if row["data"] == "OCT & co_1"]
    assert [float(row["tau"]) for row in of_second] == [cell.tau.value for cell in cells]
    assert [float(row["low"]) for row in of_second] == [cell.tau.low for cell in cells]


def test_results_are_read_as_they_were_written(results):
    """Infinite amounts are text in JSON, and undefined ones null: what is handed on is numbers again."""
    [first, *others] = results.data
    conditions = []
    for condition in first.agreement.conditions:
        infinite = replace(condition.metrics[1], extra_cost=ExtraCost("inf", "-inf", None))
        conditions.append(replace(condition, metrics=(condition.metrics[0], infinite, *condition.metrics[2:])))
    odd = replace(first, agreement=replace(first.agreement, conditions=tuple(conditions)))
    written = json.loads(json.dumps(replace(results, data=(odd, *others)).to_dict()))
    again = StudyResults.from_dict(written)
    assert again.to_dict() == written
    assert again.data[0].agreement.extra_cost[0, 1] == np.inf
    cell = study_grid(again, "extra_cost", metrics=()).rows[0][2][1]
    assert (cell.value, cell.low, cell.high) == (np.inf, -np.inf, None)


def test_a_result_without_an_interval_may_leave_its_limits_out(results):
    written = results.to_dict()
    for data in written["data"]:
        del data["agreement"]["conditions"][0]["metrics"][0]["tau"]["low"]
    cell = study_grid(StudyResults.from_dict(written)).rows[0][2][0]
    assert (cell.low, cell.value) == (None, results.data[0].agreement.tau[0, 0])


def test_what_is_no_result_is_refused_with_its_place(tmp_path, results):
    written = results.to_dict()
    written["data"][1]["agreement"]["conditions"][0]["metrics"][2]["tau"]["value"] = "high"
    (tmp_path / "results.json").write_text(json.dumps(written))
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert "data[1].agreement.conditions[0].metrics[2].tau.value" in str(error.value)


def forecasts_in_files(tmp_path, prices, costs, zero=()):
    """A study file of three models in files; those whose numbers are `zero` once exclude the truth."""
    rng = np.random.default_rng(4)
    truth = ["ulcer", *(CLASSES_OF_FILES[k] for k in rng.integers(0, 3, 29))]
    (tmp_path / "runs").mkdir()
    for model in range(3):
        values = rng.dirichlet(np.ones(3), 30)
        if model in zero:
            values[0] = [0.5, 0.5, 0.0]
        rows = [[f"p{row}", truth[row], *numbers] for row, numbers in enumerate(values.tolist())]
        lines = [",".join(map(str, row)) for row in [("id", "y_true", *CLASSES_OF_FILES), *rows]]
        (tmp_path / "runs" / f"m{model}.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "prices.csv").write_text(prices)
    file = tmp_path / "study.toml"
    file.write_text(
        'title = "files"\nreplicates = 20\nconditions = ["clinical"]\n'
        f'[[data]]\nname = "files"\ncosts = "{costs}"\n'
        '[data.zoo]\nkind = "files"\npaths = ["runs/*.csv"]\n'
    )
    return file


CLASSES_OF_FILES = ("gastritis", "gallstones", "ulcer")
PRICE_LIST = "class;fee\nGastritis;300,00 €\ngallstones;180,00 €\nhernia;90,00 €\nulcer;250,00 €\n"


@pytest.mark.parametrize("costs", ["prices.csv", "prices.csv:class:fee"])
def test_costs_of_a_study_are_a_price_list_as_in_every_command(tmp_path, costs):
    study = read_study(forecasts_in_files(tmp_path, PRICE_LIST, costs))
    assert study.data[0].currency == "EUR"
    assert study.data[0].costs_of(CLASSES_OF_FILES).tolist() == [300.0, 180.0, 250.0]


def test_a_class_without_a_price_is_said_before_a_study_runs(tmp_path):
    file = forecasts_in_files(tmp_path, "class,fee\ngastritis,3\nulcer,4\n", "prices.csv")
    with pytest.raises(InputError) as caught:
        study_plan(read_study(file))
    assert caught.value.value == ["gallstones"]


def test_a_plan_of_files_says_that_nothing_is_computed_and_what_cannot_be_read(tmp_path):
    file = forecasts_in_files(tmp_path, PRICE_LIST, "prices.csv")
    (tmp_path / "runs" / "m9.csv").write_text("id,y_true\n")
    plan = study_plan(read_study(file))
    assert plan.header == ["Data", "Models", "Predicted", "Classes", "Predictions"]
    assert any("m9" in line for line in plan.below)


def test_infinite_values_are_counted_and_said(tmp_path):
    file = forecasts_in_files(tmp_path, PRICE_LIST, "prices.csv", zero=(1, 2))
    results = run_study(begin(file, tmp_path / "out"), tmp_path / "out")
    counts = {metric.key: metric.infinite for metric in results.data[0].agreement.conditions[0].metrics}
    assert (counts["log_loss"], counts["pandora_regret"]) == (2, 0)
    assert any("2 of 3" in note for note in study_grid(results).notes)
    assert not any("2 of 3" in note for note in study_grid(results, metrics=["accuracy"]).notes)


def test_amounts_have_two_digits_and_no_minus_before_zero():
    cells = [Cell(-0.004, -33.2, 34.0), Cell(-4.6, -41.0, 31.8), Cell(0.0, 0.0, 0.0)]
    grid = Grid("extra_cost", ("a", "b", "c"), (("Clinical", "wine", tuple(cells)),), ())
    assert "0 [-33, 34]" in grid.render(intervals=True)
    assert "-5 [-41, 32]" in grid.render(intervals=True)
    assert "-0" not in grid.render()
    assert "[0" not in grid.render(intervals=True)
    assert Cell(-0.001, -0.02, 0.01).shown(True) == DisplayCell("0.00", "-0.02, 0.01")

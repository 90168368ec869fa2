"""Files of vendors as they come: compared in one command, without editing any; and what keeps others apart."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")
pytest.importorskip("jinja2")
pytest.importorskip("python_calamine")

from cli_files import refused, run, run_json
from prediction_files import write
from vendors import CLASSES, MODELS, PRICES, meant, write_vendors

from pandora_regret import compare

TOLD = (
    "--id",
    "patient",
    "--label",
    "diagnosis",
    "--ids-as-numbers",
    "--costs",
    "prices.xlsx#Tarifs:Diagnosis:Price",
)
CHANGES = [  # what was done to the files: its kind, how often, and to which
    ("names matched", 2, "cases.csv"),
    ("dialect", 1, "medica.csv"),
    ("names matched", 4, "medica.csv"),
    ("percentages", 1, "medica.csv"),
    ("rest of lists", 240, "triage.jsonl"),
    ("names matched", 5, "triage.jsonl"),
    ("rows rescaled", 74, "Medica"),
    ("classes taken as 0", 1, "DeepGut"),
    ("sheet", 2, "prices.xlsx"),
]


@pytest.fixture
def vendors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_vendors(tmp_path)


def test_three_vendors_a_truth_and_a_price_workbook_in_one_command(vendors, tmp_path):
    """Against arrays: what the files mean, worked out without reading any."""
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    page = tmp_path / "page.html"
    got = run_json("compare", "models.toml", *TOLD, "--by", "site", "--by", "age:18|65", "--html", page)
    truth, site, age, forecasts = meant()
    expected = compare(
        np.array(CLASSES)[truth],
        forecasts,
        labels=list(CLASSES),
        costs=PRICES,
        currency="CHF",
        by={"site": site, "age:18|65": age},
    ).to_dict()
    assert got["costs"]["currency"] == "CHF"
    for ours, theirs in zip(got["models"], expected["models"], strict=True):
        assert ours["name"] == theirs["name"]
        assert ours["scores"]["expected_cost"] == pytest.approx(theirs["scores"]["expected_cost"], rel=1e-4)
        assert ours["scores"]["accuracy"] == pytest.approx(theirs["scores"]["accuracy"], rel=1e-9)
    assert [group["name"] for by in got["by"] for group in by["groups"]] == [
        group["name"] for by in expected["by"] for group in by["groups"]
    ]
    assert [(remark["what"], remark["count"], remark["model"]) for remark in got["remarks"]] == CHANGES
    assert "Medica" in page.read_text(encoding="utf-8")
    page.unlink()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_every_option_that_is_missing_is_named(vendors):
    ids = run("compare", "models.toml", *(word for word in TOLD if word != "--ids-as-numbers"))
    assert ids.stderr.startswith("pandora: deepgut.parquet row 1")
    assert "--ids-as-numbers" in ids.stderr
    Path("other.toml").write_text(MODELS.replace("missing_class_zero = true\n", ""), encoding="utf-8")
    lacking = run("compare", "other.toml", *TOLD)
    assert "'Lithiase biliaire'" in lacking.stderr
    assert "--missing-class-zero" in lacking.stderr
    assert run("compare", "other.toml", *TOLD, "--missing-class-zero").exit_code == 0
    for path, code in (("models.toml", 0), ("other.toml", 2)):
        assert run("validate", path, *TOLD).exit_code == run("compare", path, *TOLD).exit_code == code


def test_logits_that_are_percentages_are_asked_about(vendors):
    told = ("--truth", "cases.csv", "--logits", *TOLD)
    assert "percentages" in refused("compare", "medica.csv", *told, argument="logits", place="medica.csv")


def test_a_class_for_the_rest_of_lists_is_no_class_of_anybody(vendors):
    """646 truths of a class were once counted as outside lists, and the verdict was the wrong way round."""
    files = ("medica.csv", "triage.jsonl")
    said = refused("compare", *files, "--truth", "cases.csv", *TOLD, "--other", "reflux", place="triage.jsonl")
    assert "--other 'Reflux'" in said
    truth, _, _, forecasts = meant()
    with open("more.csv", "w", encoding="utf-8") as file:
        file.write(
            "class,price\n" + "".join(f"{name},{price}\n" for name, price in {**PRICES, "rest": 500}.items())
        )
    told = (*TOLD[:-1], "more.csv")
    got = run_json("compare", "medica.csv", "triage.jsonl", "--truth", "cases.csv", *told, "--other", "rest")
    outside = int((np.argsort(forecasts["TriageAI"], axis=1)[:, 0] == truth).sum())
    [remark] = [each for each in got["remarks"] if each["what"] == "truths to other"]
    assert 0 < remark["count"] == outside


def test_a_list_that_names_nothing_true_is_refused(tmp_path):
    """A file of which all truths became "autre" was once called fine."""
    path = tmp_path / "lists.jsonl"
    rows = [{"id": n, "truth": f"t{n % 2}", "forecast": {"a": 0.5, "b": 0.3}} for n in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in ("score", "validate"):
        result = run(command, path, "--other", "autre")
        assert result.exit_code == 2
        assert "lists 'a', 'b' and 'autre'" in result.output
        assert "'t0' and 't1'" in result.output


def test_the_truth_may_have_more_cases_and_lack_some(vendors):
    lines = Path("cases.csv").read_text(encoding="utf-8").splitlines()
    less = [*lines[:1], *lines[3:], "99999,Reflux,Sion,50"]
    Path("cases.csv").write_text("\n".join(less), encoding="utf-8")
    told = ("medica.csv", "--truth", "cases.csv", *TOLD)
    said = refused("compare", *told, argument="id", row=0, value=1, place="medica.csv line 2")
    assert "cases.csv" in said
    assert "--common-rows" in said
    got = run_json("compare", *told, "--common-rows")
    assert got["data"]["rows"] == 238
    counts = {remark["what"]: remark["count"] for remark in got["remarks"]}
    assert (counts["truths left out"], counts["rows left out"]) == (1, 2)


def test_names_that_are_alike_are_not_guessed_between(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write("one.csv", {"label": ["flu", "cold"] * 4, "flu": [0.75] * 8, "cold": [0.25] * 8})
    assert run("score", path, "--costs", "FLU=1,Cold=2").exit_code == 0
    said = refused("score", path, "--costs", "FLU=1,Flu=3,cold=2", value=["flu"], place="costs")
    assert "'Flu'" in said
    assert run("compare", path, "--costs", "flu=1,cold=2", "--scenario", "dear=FLU=9").exit_code == 0


def test_a_refused_study_leaves_no_folder(vendors, tmp_path):
    study = '[[data]]\nname = "guts"\ncosts = { Reflux = 1 }\n[data.zoo]\nkind = "files"\npaths = "medica.csv"\n'
    told = 'id = "patient"\nlabel = "diagnosis"\ntruth = "cases.csv"\n'
    Path("study.toml").write_text(f'title = "Guts"\n{study}{told}', encoding="utf-8")
    refused(
        *("study", "run", "study.toml", "--out", "results"),
        argument="costs of data set 'guts'",
        value=["Appendicite", "Gastrite", "Lithiase biliaire"],
    )
    assert not Path("results").exists()


@pytest.mark.parametrize("written", [None, json.dumps, str], ids=["parquet", "JSON in cells", "Python in cells"])
def test_classifiers_lists_in_tables_are_those_of_json_lines(vendors, written):
    rows = [json.loads(line) for line in Path("triage.jsonl").read_text(encoding="utf-8").splitlines()]
    frame = pd.DataFrame({"PATIENT": [row["PATIENT"] for row in rows], "top3": [row["top3"] for row in rows]})
    path = "lists.parquet" if written is None else "lists.csv"
    frame.to_parquet(path) if written is None else frame.assign(top3=frame["top3"].map(written)).to_csv(path)
    told = ("--truth", "cases.csv", *TOLD)
    by_lines, by_cells = (run_json("score", name, *told) for name in ("triage.jsonl", path))
    assert by_cells["models"][0]["scores"] == by_lines["models"][0]["scores"]

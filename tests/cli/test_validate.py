"""`pandora validate`: everything that is wrong with a file, and what was understood of it."""

import json

import numpy as np
import pytest
from cli_files import CLASSES, run, wine_file, write_csv

HEADER = ("id", "y_true", "a", "b", "c")
GOOD = [(at, "abc"[at % 3], 0.5, 0.3, 0.2) for at in range(6)]


def validated(path, *options, code):
    result = run("validate", path, *options, "--json")
    assert result.exit_code == code
    printed = json.loads(result.stdout, parse_constant=lambda word: 1 / 0)
    assert printed["schema"] == "pandora-validation/2"
    assert printed["fine"] == (code == 0)
    [table] = printed["tables"]
    return table


def problems(path, *options):
    """By kind."""
    return {each["kind"]: each for each in validated(path, *options, code=2)["problems"]}


def with_rows(tmp_path, *bad):
    return write_csv(tmp_path / "bad.csv", [HEADER, *GOOD, *bad])


def test_a_good_file_is_fine_and_understood(tmp_path):
    path = wine_file(tmp_path, "bayes", id=range(178), weight=[1] * 178, remark=["-"] * 178)
    table = validated(path, code=0)
    assert table["problems"] == []
    assert table["rows"] == 178
    assert table["classes"] == {"barolo": 59, "grignolino": 71, "barbera": 48}
    columns = {
        "label": "y_true",
        "id": "id",
        "weight": "weight",
        "group": None,
        "model": None,
        "votes": [],
        "costs": [],
    }
    assert table["columns"] == columns | {"forecasts": list(CLASSES), "unused": ["remark"]}
    page = run("validate", path).stdout
    assert "fine" in page
    for name, count in table["classes"].items():
        assert f"{name} {count}" in page


@pytest.mark.parametrize(
    ("kind", "row", "words"),
    [
        ("label", (6, "d", 0.5, 0.3, 0.2), "the label 'd'"),
        ("missing", (6, "a", "", 0.3, 0.2), "'a'"),
        ("missing", (6, "a", "nan", 0.3, 0.2), "'a'"),
        ("missing", ("", "a", 0.5, 0.3, 0.2), "'id'"),
        ("number", (6, "a", "much", 0.3, 0.2), "'much'"),
        ("negative", (6, "a", -0.5, 1.3, 0.2), "-0.5"),
        ("large", (6, "a", 1.5, 0.3, 0.2), "1.5"),
        ("percent", (6, "a", 50, 30, 20), "divide by 100"),
        ("sum", (6, "a", 0.5, 0.3, 0.3), "1.1"),
        ("id", (5, "a", 0.5, 0.3, 0.2), "the id 5"),
    ],
)
def test_each_kind_of_problem_is_found_and_placed(tmp_path, kind, row, words):
    found = problems(with_rows(tmp_path, row))
    assert list(found) == [kind]
    assert words in found[kind]["message"]
    assert (found[kind]["count"], found[kind]["rows"], found[kind]["places"]) == (1, [7], ["line 8"])


def test_all_kinds_are_listed_with_the_first_three_rows_of_each(tmp_path):
    off = [(at, "b", 0.5, 0.3, 0.1) for at in range(6, 11)]
    rows = [*off, (11, "d", 0.5, 0.3, 0.2), (11, "a", -1, 1, 1), (12, "c", "x", 0.3, 0.2)]
    path = with_rows(tmp_path, *rows)
    found = problems(path)
    assert sorted(found) == ["id", "label", "negative", "number", "sum"]
    assert (found["sum"]["count"], found["sum"]["rows"]) == (5, [7, 8, 9])
    page = run("validate", path).stdout
    assert "5 problems" in page
    assert "5 rows (lines 8, 9, 10, ...)" in page


def test_weights_and_costs_out_of_range(tmp_path):
    header = ("y_true", "a", "b", "weight", "cost_a", "cost_b")
    rows = [("a", 0.5, 0.5, -1, 1, 1), ("b", 0.5, 0.5, 0, 1, 0)]
    result = validated(write_csv(tmp_path / "w.csv", [header, *rows]), "--cost-prefix", "cost_", code=2)
    assert [problem["kind"] for problem in result["problems"]] == ["value", "value", "weight"]


def test_typed_files_are_looked_through_as_well(tmp_path):
    import pyarrow
    from pyarrow import parquet

    p = np.array([[0.5, 0.5], [np.nan, 0.5], [0.7, 0.2]], dtype=np.float32)
    path = tmp_path / "typed.parquet"
    parquet.write_table(pyarrow.table({"y_true": ["a", "b", "a"], "a": p[:, 0], "b": p[:, 1]}), path)
    found = problems(path)
    assert sorted(found) == ["missing", "sum"]
    assert found["sum"]["places"] == ["row 3"]


def test_every_file_is_reported_and_one_bad_one_is_exit_code_2(tmp_path):
    good, missing = wine_file(tmp_path, "bayes"), tmp_path / "missing.csv"
    result = run("validate", good, missing, tmp_path)
    assert result.exit_code == 2
    assert result.stderr == ""
    assert f"{good}  fine" in result.stdout
    assert f"{missing}  1 problem" in result.stdout
    assert "is a directory" in result.stdout
    assert run("validate", good).exit_code == 0


def test_all_files_are_read_to_their_ends_whatever_is_wrong_with_one(tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("id,y_true,a,b\n1,a,0.6,0.4\n2,b,0.5\n")
    good = tmp_path / "good.csv"
    good.write_text("id,y_true,a,b\n1,a,0.6,0.4\n2,b,0.5,0.5\n")
    lists = tmp_path / "llm.jsonl"
    lists.write_text('{"id": 1, "truth": "a", "forecast": {"a": 0.6, "b": 0.4}}\n{"id": 2, "truth": "b"}\n')
    result = run("validate", short, lists, good, "--json")
    tables = json.loads(result.stdout)["tables"]
    assert result.exit_code == 2
    assert [table["fine"] for table in tables] == [False, False, True]
    assert [len(table["problems"]) for table in tables] == [1, 1, 0]
    assert tables[2]["rows"] == 2


def test_forecasts_are_read_although_the_truths_cannot_be(tmp_path):
    truth = tmp_path / "cases.csv"
    truth.write_text("id,dx\n1,a\n2,b,b\n")
    sums = tmp_path / "sums.csv"
    sums.write_text("id,a,b\n1,0.6,0.4\n2,0.5,0.8\n")
    answers = tmp_path / "answers.csv"
    answers.write_text("id,answer\n1,a\n2,b\n")
    result = run("validate", sums, answers, "--truth", truth, "--label", "dx", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 2
    assert [table["fine"] for table in document["tables"]] == [False, False]
    assert [problem["paths"] for problem in document["shared_problems"]] == [[str(truth)]]
    assert [problem["kind"] for problem in document["tables"][0]["problems"]] == ["sum"]


def test_rows_and_classes_are_compared_whatever_else_is_wrong_with_a_file(tmp_path):
    whole = write_csv(tmp_path / "whole.csv", [HEADER, *GOOD])
    wrong_sums = [(*row[:2], 0.5, 0.4) for row in GOOD[:-1]]
    part = write_csv(tmp_path / "part.csv", [HEADER[:-1], *wrong_sums])
    result = run("validate", whole, part, "--json")
    document = json.loads(result.stdout)
    assert {problem["kind"] for problem in document["tables"][1]["problems"]} == {"label", "sum"}
    assert {problem["kind"] for problem in document["shared_problems"]} == {"ids", "classes"}


def test_a_price_list_that_cannot_be_read_hides_no_other_problem(tmp_path):
    bad = with_rows(tmp_path, (7, "a", 0.9, 0.3, 0.2))
    result = run("validate", bad, "--costs", tmp_path / "missing.csv", "--json")
    document = json.loads(result.stdout)
    assert [problem["kind"] for problem in document["shared_problems"]] == ["prices"]
    assert "missing.csv" in document["shared_problems"][0]["message"]
    assert [problem["kind"] for problem in document["tables"][0]["problems"]] == ["sum"]


def test_labels_of_no_class_are_not_counted_as_blank(tmp_path):
    path = write_csv(tmp_path / "bad.csv", [HEADER, *GOOD, (7, "", 0.5, 0.3, 0.2), (8, "d", 0.5, 0.3, 0.2)])
    assert validated(path, "--classes", "a,b,c", code=2)["unlabelled"] == 1


def test_lists_without_truths_are_not_said_to_have_a_column_of_them(tmp_path):
    path = tmp_path / "lists.jsonl"
    row = {"id": 1, "forecast": {"a": 0.5, "b": 0.5}}
    path.write_text(f"{json.dumps(row)}\n", encoding="utf-8")
    output = run("validate", path).output
    assert "1 of 1 cases" in output
    assert "labels " not in output
    path.write_text(json.dumps(row | {"truth": "a"}), encoding="utf-8")
    assert "labels " in run("validate", path).output

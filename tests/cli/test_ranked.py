"""`pandora compare`, `score` and `validate` of ranked lists."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from cli_files import refused, run, run_json

from pandora_regret.comparison import Comparison

COLUMNS = ["--id", "bug", "--candidate", "method", "--score", "score", "--price", "lines", "--hit", "is_bug"]
GPT4O = Path(__file__).parents[2].parent / "shared" / "data" / "lists" / "gpt4o_lists.tsv.gz"
N_CASES = 80


def long_tables(folder, skills=(1.5, 0.3)):
    """Two models on the same candidates, with ties, several hits and none."""
    rng = np.random.default_rng(5)
    rows = []
    for bug in range(N_CASES):
        n_candidates = rng.integers(1, 9)
        prices = rng.integers(3, 60, n_candidates).tolist()
        hits = (rng.random(n_candidates) < 0.2).astype(int).tolist()
        for number, (price, hit) in enumerate(zip(prices, hits, strict=True)):
            rows.append([f"b{bug}", f"m{number}", price, hit, bug % 2])
    paths = []
    for name, skill in zip("ab", skills, strict=False):
        path = folder / f"{name}.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["bug", "method", "lines", "is_bug", "site", "score"])
            for row in rows:
                table.writerow([*row, round(2 * rng.normal(skill * row[3])) / 2])
        paths.append(str(path))
    return paths


def plain_costs(path, miss):
    """The cost of each case, in ten lines of plain Python: the mean over orders of ties."""
    cases = {}
    for row in csv.DictReader(Path(path).read_text().splitlines()):
        cases.setdefault(row["bug"], []).append((-float(row["score"]), float(row["lines"]), int(row["is_bug"])))
    costs = []
    for rows in cases.values():
        first = min((score for score, _, hit in rows if hit), default=None)
        n_hits = sum(hit for score, _, hit in rows if score == first)
        cost = sum(lines for score, lines, _ in rows if first is None or score < first)
        for score, lines, hit in rows:
            if score == first:
                cost += lines / n_hits if hit else lines / (n_hits + 1)
        costs.append(cost + miss * (first is None))
    return costs


def test_a_comparison_agrees_with_ten_lines_of_plain_python(tmp_path):
    paths = long_tables(tmp_path)
    result = run_json("compare", *paths, *COLUMNS, "--miss", 500)
    expected = {name: np.mean(plain_costs(path, 500)) for name, path in zip("ab", paths, strict=True)}
    found = {model["name"]: model["scores"]["expected_cost"]["value"] for model in result["models"]}
    assert found == pytest.approx(expected, rel=1e-9)
    assert (result["data"]["rows"], result["lists"]["miss"]) == (N_CASES, 500.0)
    assert result["lists"]["several_truths"] > 0
    assert 0 < result["models"][0]["scores"]["found"]["value"] < 1
    assert result["verdict"]["kind"] == "deploy"
    assert result["verdict"]["leader"] == "a"


def test_intervals_of_the_difference_are_those_of_a_mean_of_pairs(tmp_path):
    paths = long_tables(tmp_path)
    (gap,) = run_json("compare", *paths, *COLUMNS, "--miss", 500)["differences"]
    pairs = np.subtract(plain_costs(paths[0], 500), plain_costs(paths[1], 500))
    error = pairs.std(ddof=1) / np.sqrt(N_CASES)
    assert gap["difference"] == pytest.approx(pairs.mean(), rel=1e-9)
    assert gap["low"] <= pairs.mean() - 1.98 * error < pairs.mean() + 1.98 * error <= gap["high"]


def test_a_comparison_of_lists_is_saved_and_read_again(tmp_path):
    paths = long_tables(tmp_path)
    saved = tmp_path / "saved.json"
    saved.write_text(run("compare", *paths, *COLUMNS, "--json").stdout)
    result = Comparison.from_dict(json.loads(saved.read_text()))
    assert result.lists is not None
    assert run_json("compare", saved) == json.loads(saved.read_text())


def test_without_a_price_the_verdict_is_about_ranges(tmp_path):
    rng = np.random.default_rng(1)
    rows = {"short": [], "long": []}
    for case in range(300):
        hit_of_short, hit_of_long = rng.random(2) < [0.6, 0.9]
        rows["short"].append({"id": case, "ranking": ["t"] if hit_of_short else ["x"], "truth": "t"})
        rows["long"].append({"id": case, "ranking": ["x", "y", "t" if hit_of_long else "z"], "truth": "t"})
    paths = []
    for name, lines in rows.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)))
        paths.append(path)
    result = run_json("compare", *paths)
    ranges = result["lists"]["ranges"]
    assert (ranges[0]["leader"], ranges[0]["undecided"]) == ("short", [])
    assert (ranges[-1]["leader"], ranges[-1]["undecided"], ranges[-1]["high"]) == ("long", [], None)
    assert ranges[1]["undecided"]
    (crossing,) = result["lists"]["crossings"]
    assert ranges[1]["low"] == pytest.approx(crossing["low"])
    assert ranges[1]["high"] == pytest.approx(crossing["high"])
    assert result["verdict"]["kind"] == "undecided"
    assert result["lists"]["constant"]["found"] == 1.0  # all truths are alike
    printed = run("compare", *paths).stdout
    assert "Top-1" in printed
    assert len(printed.splitlines()) <= 25


def test_until_all_costs_no_less(tmp_path):
    paths = long_tables(tmp_path)
    first = run_json("compare", *paths, *COLUMNS, "--miss", 500)
    last = run_json("compare", *paths, *COLUMNS, "--miss", 500, "--until", "all")
    cost_until_first = {model["name"]: model["scores"]["expected_cost"]["value"] for model in first["models"]}
    for model in last["models"]:
        assert model["scores"]["expected_cost"]["value"] > cost_until_first[model["name"]]


def test_groups_and_clusters_are_those_of_cases(tmp_path):
    paths = long_tables(tmp_path)
    result = run_json("compare", *paths, *COLUMNS, "--miss", 500, "--by", "site", "--bootstrap", 200)
    (breakdown,) = result["by"]
    assert [group["rows"] for group in breakdown["groups"]] == [N_CASES // 2, N_CASES // 2]
    clustered = run_json("compare", *paths, *COLUMNS, "--miss", 500, "--group", "site")
    assert clustered["data"]["clusters"] == 2


def test_the_order_of_files_and_rows_changes_nothing(tmp_path):
    paths = long_tables(tmp_path)
    header, *rows = Path(paths[0]).read_text().splitlines()
    shuffled = tmp_path / "shuffled"
    shuffled.mkdir()
    np.random.default_rng(0).shuffle(rows)
    (shuffled / "a.csv").write_text("\n".join([header, *rows]))
    result = run_json("compare", *paths, *COLUMNS, "--miss", 500)
    again = run_json("compare", paths[1], shuffled / "a.csv", *COLUMNS, "--miss", 500)
    for model, same in zip(result["models"], again["models"], strict=True):
        for key, score in model["scores"].items():
            assert same["scores"][key]["value"] == pytest.approx(score["value"], rel=1e-12)


def test_score_reports_one_model(tmp_path):
    path, _ = long_tables(tmp_path)
    result = run_json("score", path, *COLUMNS, "--miss", 500)
    (model,) = result["models"]
    assert model["scores"]["expected_cost"]["value"] == pytest.approx(np.mean(plain_costs(path, 500)), rel=1e-9)


def test_prices_by_name_have_a_default_and_a_unit(tmp_path):
    lines = [{"id": 1, "ranking": ["a", "b"], "truth": "b"}, {"id": 2, "ranking": ["c"], "truth": "c"}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    result = run_json("compare", tmp_path / "x.jsonl", "--costs", "a=5,other=20", "--unit", "min", "--miss", 90)
    assert result["models"][0]["scores"]["expected_cost"]["value"] == pytest.approx((25 + 20) / 2)
    assert result["costs"]["currency"] == "min"


def test_lists_know_nothing_of_work_ups_and_scenarios(tmp_path):
    paths = long_tables(tmp_path)
    assert refused("compare", *paths, *COLUMNS, "--scenario", "cheap=a=1")
    assert refused("score", *paths, *COLUMNS)


def test_a_score_of_parts_is_that_of_the_whole_file(tmp_path):
    path = Path(long_tables(tmp_path, skills=(1.5,))[0])
    header, *rows = path.read_text().splitlines()
    is_early = [int(row.split(",")[0][1:]) < 30 for row in rows]
    parts = []
    for name, wanted in (("p1.csv", True), ("p2.csv", False)):
        chosen = [row for row, early in zip(rows, is_early, strict=True) if early is wanted]
        part = tmp_path / name
        part.write_text("\n".join([header, *chosen]) + "\n")
        parts.append(part)
    whole = run_json("score", path, *COLUMNS, "--miss", 500)
    joined = run_json("score", *parts, *COLUMNS, "--miss", 500)
    assert joined["data"]["rows"] == N_CASES
    assert joined["models"][0]["scores"] == whole["models"][0]["scores"]
    assert joined["models"][0]["name"] == "p1"


def test_validate_says_what_lists_hold_and_what_is_wrong(tmp_path):
    paths = long_tables(tmp_path)
    result = run_json("validate", *paths, *COLUMNS)
    assert result["fine"]
    assert [(table["name"], table["cases"]) for table in result["tables"]] == [("a", N_CASES), ("b", N_CASES)]
    bad = tmp_path / "bad.csv"
    bad.write_text(Path(paths[0]).read_text().replace("b0,m0", ",m0", 1))
    outcome = run("validate", bad, *COLUMNS, "--json")
    assert outcome.exit_code == 2
    (problem,) = json.loads(outcome.stdout)["tables"][0]["problems"]
    assert problem["kind"] == "id"


def problems_of(*arguments):
    """Of one file: the kind, count and first places of each problem."""
    outcome = run("validate", *arguments, "--json")
    assert outcome.exit_code == 2
    (table,) = json.loads(outcome.stdout)["tables"]
    return [(problem["kind"], problem["count"], problem["places"]) for problem in table["problems"]]


LONG_TABLE_WITH_PROBLEMS = """bug,method,score,lines,is_bug
b1,f,0.5,10,1
,g,0.5,20,0
b1,h,x,-3,maybe
b2,f,0.1,y,1
,g,0.3,2,0
b2,h,,3,perhaps
b3,f,zz,0,0
"""


def test_all_problems_of_a_long_table_are_told_at_once(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(LONG_TABLE_WITH_PROBLEMS)
    assert problems_of(path, *COLUMNS) == [
        ("id", 2, ["row 2", "row 5"]),
        ("score", 3, ["row 3", "row 6", "row 7"]),
        ("price", 1, ["row 4"]),  # no number
        ("price", 2, ["row 3", "row 7"]),  # not positive
        ("hit", 2, ["row 3", "row 6"]),
    ]
    shown = run("validate", path, *COLUMNS).stdout
    assert "5 problems" in shown
    assert "2 rows (rows 2, 5)" in shown
    assert refused("compare", path, *COLUMNS)


def test_rows_without_ids_are_read_to_their_end_too(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("id,candidate,rank,hit\n,x,1,1\n,y,k,0\n")
    assert problems_of(path, "--rank", "rank") == [("id", 2, ["row 1", "row 2"]), ("rank", 1, ["row 2"])]
    assert refused("compare", path, "--rank", "rank")


def test_a_run_of_blank_lines_is_refused(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("\n \n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    options = ["--format", "trec", "--truth", tmp_path / "qrels.txt"]
    assert [kind for kind, _, _ in problems_of(path, *options)] == ["file"]
    assert refused("compare", path, *options)


def test_rows_of_several_models_are_counted_in_their_file(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text("model,id,candidate,score,hit\na,1,x,0.5,1\nb,1,x,k,1\na,2,y,0.1,0\nb,2,y,0.1,7\n")
    assert problems_of(path, "--model", "model", "--score", "score") == [
        ("score", 1, ["row 2"]),
        ("hit", 1, ["row 4"]),
    ]


def test_all_problems_of_lists_in_json_lines_are_told_at_once(tmp_path):
    lines = [
        {"id": "a", "ranking": [{"name": "x", "score": 1}, 3.5], "truth": {"x": 1}},
        "no object",
        {"id": "b", "ranking": [{"name": "x", "score": "1", "price": -2}], "truth": "x"},
        {"id": "b", "ranking": [{"name": "x", "score": 1}], "truth": "x"},
        {"id": "c", "nothing": 3, "truth": "x"},
        {"id": "d", "ranking": [{"name": "x", "score": 1}]},
        {"id": "e", "ranking": [{"name": "x", "score": 1}]},
    ]
    path = tmp_path / "bad.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert problems_of(path) == [
        ("candidate", 1, ["line 1"]),
        ("truth", 1, ["line 1"]),
        ("lines", 1, ["line 2"]),
        ("score", 1, ["line 3"]),
        ("candidate", 1, ["line 5"]),
        ("id", 1, ["line 4"]),
        ("price", 1, []),  # on some lines only
        ("truth", 2, ["case 'd'", "case 'e'"]),
    ]


def test_all_cases_whose_probabilities_are_none_are_told(tmp_path):
    path = tmp_path / "bad.csv"
    rows = "1,x,0.9,1\n1,y,0.9,0\n2,x,-1,1\n3,x,0.4,1\n4,x,0.7,1\n4,y,0.7,0\n"
    path.write_text(f"id,candidate,probability,hit\n{rows}")
    assert problems_of(path, "--probability", "probability") == [
        ("probability", 3, ["case '2'", "case '1'", "case '4'"])
    ]


def test_all_problems_of_a_run_and_of_its_columns_are_told(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("1 Q0 d1 1 0.5 r\n1 Q0 d2 2 x r\n1 Q0 d3 3\n2 Q0 d3 3 nan r\n")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    options = ["--format", "trec", "--truth", tmp_path / "qrels.txt"]
    assert problems_of(path, *options) == [("score", 2, ["line 2", "line 4"]), ("lines", 1, ["line 3"])]
    table = tmp_path / "bad.csv"
    table.write_text(LONG_TABLE_WITH_PROBLEMS)
    options = ["--id", "bugg", "--candidate", "meth", "--price", "lins", "--hit", "is_bug"]
    assert [kind for kind, _, _ in problems_of(table, *options)] == ["id", "candidate", "price"]


def test_problems_in_a_folder_say_in_which_file(tmp_path):
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "c1.csv").write_text("candidate,score,hit\nx,0.5,1\ny,k,0\n")
    (folder / "c2.csv").write_text("candidate,score,hit\nx,k,1\ny,2,7\n")
    assert problems_of(folder, "--id", "FILE") == [
        ("score", 2, ["row 2 of c1.csv", "row 1 of c2.csv"]),
        ("hit", 1, ["row 2 of c2.csv"]),
    ]


def test_names_without_a_price_are_counted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,candidate,rank,hit\n1,x,1,1\n1,y,2,0\n1,z,3,0\n")
    found = problems_of(path, "--rank", "rank", "--costs", "x=1")
    assert found == [("prices", 2, ["name 'y'", "name 'z'"])]


def test_all_that_keeps_files_from_going_together_is_told(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,hit\n1,x,1,1\n1,y,2,0\n2,x,1,1\n2,y,2,0\n3,x,1,1\n")
    (tmp_path / "b.csv").write_text("id,candidate,rank,hit\n1,x,1,0\n1,y,2,1\n2,x,1,0\n2,y,2,1\n")
    outcome = run("validate", tmp_path / "a.csv", tmp_path / "b.csv", "--rank", "rank", "--json")
    assert outcome.exit_code == 2
    found = json.loads(outcome.stdout)
    assert all(table["fine"] for table in found["tables"])
    shared = [(problem["kind"], problem["count"]) for problem in found["shared_problems"]]
    assert shared == [("truth", 2), ("ids", 1)]


@pytest.mark.skipif(not GPT4O.exists(), reason="the lists of gpt-4o are not on this machine")
def test_one_command_says_how_many_rare_diseases_were_found():
    columns = ["--id", "case", "--candidate", "candidate", "--rank", "rank", "--hit", "is_correct"]
    result = run_json("compare", GPT4O, *columns)
    (model,) = result["models"]
    assert round(100 * model["scores"]["found"]["value"]) == 35
    assert result["data"]["rows"] == 6687
    assert "35" in run("compare", GPT4O, *columns).stdout

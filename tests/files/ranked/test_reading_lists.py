"""Files of ranked lists: long tables, JSON lines, TREC runs, folders, and what is wrong with them."""

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from pandora_regret import InputError
from pandora_regret.files import FileError, Layout, read_models_argument
from pandora_regret.files.ranked.formats import is_lists, names_own_lists, read_list_records, read_qrels
from pandora_regret.files.ranked.layout import ListLayout
from pandora_regret.files.ranked.models import read_ranked
from pandora_regret.files.ranked.reading import read_rows

LONG = """bug,method,score,lines,is_bug,site
b2,f,0.5,10,1,east
b2,g,0.5,20,0,east
b1,f,0.1,1,1,west
b1,g,0.3,2,0,west
b1,h,0.2,3,1,west
b3,f,1.0,5,0,east
"""
COLUMNS = {"id": "bug", "candidate": "method", "score": "score", "price": "lines", "hit": "is_bug"}
LISTS = Path(__file__).parents[3].parent / "shared" / "data" / "lists" / "gpt4o_lists.tsv.gz"


def ranked(*paths, prices=None, **layout):
    return read_ranked(read_models_argument([str(path) for path in paths], Layout()), ListLayout(**layout), prices)


def costs_of(read, name="a", miss=500.0, until="first"):
    costs = read.models[name].costs(miss, until)
    return dict(zip(read.ids, costs.tolist(), strict=True))


EXPECTED = {"b2": 20.0, "b1": 5.0, "b3": 505.0}


def test_a_long_table_is_read_from_every_format(tmp_path):
    text = tmp_path / "a.csv"
    text.write_text(LONG)
    table = pa.csv.read_csv(text)
    pa.parquet.write_table(table, tmp_path / "b.parquet")
    (tmp_path / "c.tsv").write_text(LONG.replace(",", "\t"))
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, table.to_pylist())))
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(LONG.encode()))
    for path in sorted(tmp_path.iterdir()):
        read = ranked(path, **COLUMNS)
        assert costs_of(read, path.name[0]) == EXPECTED


def test_facts_of_cases_come_along(tmp_path):
    (tmp_path / "a.csv").write_text(LONG)
    read = ranked(tmp_path / "a.csv", **COLUMNS, by=("site",), group="bug")
    assert read.facts == {"site": ["east", "west", "east"], "bug": ["b2", "b1", "b3"]}
    assert read.truths == [["f"], ["f", "h"], []]


def test_columns_are_found_by_their_usual_names(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,hit\n1,x,2,1\n1,y,1,0\n")
    assert costs_of(ranked(tmp_path / "a.csv")) == {"1": 2.0}


def test_two_orders_have_to_be_told_apart(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,score,hit\n1,x,2,0.5,1\n1,y,1,0.6,0\n")
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.csv")
    assert caught.value.argument == "rank"
    assert costs_of(ranked(tmp_path / "a.csv", score="score")) == {"1": 2.0}


def test_a_row_without_a_candidate_is_an_empty_list(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,hit\n1,x,1,1\n2,,,\n")
    read = ranked(tmp_path / "a.csv")
    assert costs_of(read) == {"1": 1.0, "2": 500.0}
    assert [(change.what, change.count) for change in read.remarks] == [("empty lists", 1)]


def test_candidates_named_twice_are_counted(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,hit\n1,x,1,0\n1,x,2,0\n1,y,3,1\n")
    read = ranked(tmp_path / "a.csv")
    assert costs_of(read) == {"1": 2.0}
    assert [(change.what, change.count) for change in read.remarks] == [("candidates named twice", 1)]


def test_prices_by_name_have_a_default(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,rank,hit\n1,x,1,0\n1,y,2,1\n")
    assert costs_of(ranked(tmp_path / "a.csv", prices={"x": 3.0, "other": 20.0})) == {"1": 23.0}


def test_a_leaderboard_without_names_of_candidates(tmp_path):
    rows = "algorithm,datapack,rank,hit\nA,p1,1,0\nA,p1,2,1\nB,p1,1,1\nB,p2,1,0\nA,p2,1,0\n"
    (tmp_path / "board.csv").write_text(rows)
    read = ranked(tmp_path / "board.csv", id="datapack", model="algorithm")
    assert costs_of(read, "A", miss=10.0) == {"p1": 2.0, "p2": 11.0}
    assert costs_of(read, "B", miss=10.0) == {"p1": 1.0, "p2": 11.0}


@pytest.mark.parametrize("key", ["forecast", "ranking", "candidates", "predictions", "found_files"])
def test_lists_in_json_lines(tmp_path, key):
    lines = [
        {"id": "a", key: ["x", "y", "z"], "truth": ["z", "Y"], "repo": "one"},
        {"id": "b", key: [], "truth": "x", "repo": "two"},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    read = ranked(tmp_path / "a.jsonl", by=("repo",))
    assert costs_of(read, miss=9.0) == {"a": 2.0, "b": 9.0}
    assert costs_of(read, miss=9.0, until="all") == {"a": 3.0, "b": 9.0}
    assert read.facts == {"repo": ["one", "two"]}
    assert names_own_lists(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("called", ["label", "name", "diagnosis", "candidate"])
@pytest.mark.parametrize(("key", "is_probability"), [("probability", True), ("score", False)])
def test_elements_of_lists_may_be_objects(tmp_path, called, key, is_probability):
    line = {"id": 1, "ranking": [{called: "x", key: 0.2}, {called: "y", key: 0.7}], "truth": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    read = ranked(tmp_path / "a.jsonl")
    assert read.models["a"].has_probabilities == is_probability
    assert costs_of(read, miss=9.0) == {"1": 2.0}


def test_the_truth_in_a_file_of_its_own(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"instance_id": "i1", "found_files": ["a.py", "b.py"]}')
    (tmp_path / "truth.csv").write_text("instance_id,truth,repo\ni1,B.py,r\ni1,c.py,r\ni2,d.py,s\n")
    read = ranked(tmp_path / "a.jsonl", id="instance_id", truth=str(tmp_path / "truth.csv"), by=("repo",))
    assert costs_of(read, miss=7.0) == {"i1": 2.0, "i2": 7.0}
    assert read.truths == [["B.py", "c.py"], ["d.py"]]
    assert read.facts == {"repo": ["r", "s"]}
    assert [change.what for change in read.remarks] == ["cases not listed", "empty lists"]
    (tmp_path / "truth.csv").write_text("id,truth\ni1,B.py\ni1,c.py\ni2,d.py\n")  # not called as in the lists
    read = ranked(tmp_path / "a.jsonl", id="instance_id", truth=str(tmp_path / "truth.csv"))
    assert costs_of(read, miss=7.0) == {"i1": 2.0, "i2": 7.0}
    (tmp_path / "truth.csv").write_text("id,instance_id,truth\n1,i1,b.py\n2,i2,d.py\n")
    read = ranked(tmp_path / "a.jsonl", id="instance_id", truth=str(tmp_path / "truth.csv"))
    assert read.ids == ("i1", "i2")


def test_a_folder_with_a_file_per_case(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "p1.tsv").write_text("rank\tdisease\thit\n1\tx\tfalse\n2\ty\ttrue\n")
    (folder / "p2.tsv").write_text("rank\tdisease\thit\n1\tx\tfalse\n")
    read = ranked(folder, id="FILE", candidate="disease")
    assert costs_of(read, "model", miss=5.0) == {"p1": 2.0, "p2": 6.0}
    with pytest.raises(InputError) as caught:
        ranked(folder, candidate="disease")
    assert caught.value.argument == "id"


@pytest.mark.parametrize("header", ["rank\tdisease\thit", "#rank\tdisease\thit"])
def test_lines_of_comments_are_skipped_and_counted(tmp_path, header):
    (tmp_path / "a.tsv").write_text(f"! LIRICAL\n! sample: x\nid\t{header.lstrip('#')}\nc\t1\ty\t1\n")
    if header.startswith("#"):
        (tmp_path / "a.tsv").write_text("! LIRICAL\n! sample: x\n#id\trank\tdisease\thit\nc\t1\ty\t1\n")
    read = ranked(tmp_path / "a.tsv", candidate="disease")
    assert costs_of(read) == {"c": 1.0}
    assert [(change.what, change.count) for change in read.remarks if change.what == "lines skipped"] == [
        ("lines skipped", 2)
    ]


def test_names_of_columns_behind_comments_may_be_all_of_a_file(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "1.tsv").write_text("! made by a tool\n#candidate\tscore\thit\nx\t0.5\t1\n")
    (folder / "2.tsv").write_text("! made by a tool\n#candidate\tscore\thit\n")
    assert costs_of(ranked(folder, id="FILE"), "results") == {"1": 1.0, "2": 500.0}
    (folder / "3.tsv").write_text("! made by a tool\n")
    with pytest.raises(FileError) as caught:
        ranked(folder, id="FILE")
    assert caught.value.path == str(folder / "3.tsv")


def test_trec_runs_with_qrels(tmp_path):
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 9.5 me\nq1 Q0 d2 2 9.5 me\nq2 Q0 d3 1 1 me\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d2 1\nq1 0 d1 -2\nq2 0 d9 2\nq2 0 d3 0.0\nq3 0 d1 1\n")
    read = ranked(tmp_path / "run.txt", format="trec", truth=str(tmp_path / "qrels.txt"))
    assert costs_of(read, "run", miss=4.0) == {"q1": 1.5, "q2": 5.0, "q3": 4.0}


@pytest.mark.parametrize("name", ["bm25.txt", "bm25.run", "bm25", "bm25.TXT", "bm25.trec.gz"])
def test_runs_are_called_like_their_files_without_the_ending(tmp_path, name):
    line = b"1 Q0 d1 1 0.5 tag\n"
    (tmp_path / name).write_bytes(gzip.compress(line) if name.endswith("gz") else line)
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    read = ranked(tmp_path / name, format="trec", truth=str(tmp_path / "qrels"))
    assert list(read.models) == ["bm25"]


def test_names_of_runs_may_have_dots(tmp_path):
    (tmp_path / "input.k1-1.2").write_text("1 Q0 d1 1 0.5 tag\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n")
    read = ranked(tmp_path / "input.k1-1.2", format="trec", truth=str(tmp_path / "qrels"))
    assert list(read.models) == ["input.k1-1.2"]


@pytest.mark.parametrize("text", ["high", "nan"])
def test_relevance_and_scores_of_trec_are_numbers(tmp_path, text):
    (tmp_path / "run.txt").write_text("q1 Q0 d1 1 9.5 me\n")
    (tmp_path / "qrels.txt").write_text(f"q1 0 d1 {text}\n")
    with pytest.raises(FileError) as caught:
        read_qrels(str(tmp_path / "qrels.txt"))
    assert caught.value.path == str(tmp_path / "qrels.txt")
    (tmp_path / "run.txt").write_text(f"q1 Q0 d1 1 {text} me\n")
    with pytest.raises(FileError):
        ranked(tmp_path / "run.txt", format="trec", truth=str(tmp_path / "qrels.txt"))


def test_models_must_have_the_same_cases(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,hit\n1,x,1\n2,x,1\n")
    (tmp_path / "b.csv").write_text("id,candidate,hit\n2,x,1\n")
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (caught.value.argument, caught.value.value) == ("id", "1")
    read = ranked(tmp_path / "a.csv", tmp_path / "b.csv", common_rows=True)
    assert read.ids == ("2",)
    assert [(change.what, change.count) for change in read.remarks] == [("rows left out", 1)]


def test_files_that_disagree_about_the_truth_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("id,candidate,hit\n1,x,1\n1,y,0\n2,x,0\n")
    (tmp_path / "b.csv").write_text("id,candidate,hit\n2,x,0\n1,y,1\n")
    (tmp_path / "c.csv").write_text("id,candidate,hit\n2,z,1\n1,x,1\n")
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (caught.value.argument, caught.value.value) == ("truth", "1")
    assert ranked(tmp_path / "a.csv", tmp_path / "c.csv").truths == [["x"], ["z"]]
    (tmp_path / "a.jsonl").write_text('{"id": 1, "ranking": ["x"], "truth": ["x", "y"]}')
    (tmp_path / "b.jsonl").write_text('{"id": 1, "ranking": ["x"], "truth": "x"}')
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert (caught.value.argument, caught.value.value) == ("truth", "1")


@pytest.mark.parametrize(
    "ranking",
    [
        [{"name": "x", "score": 0.2}, {"name": "y"}],
        [{"name": "x", "score": 0.2}, {"name": "y", "probability": 0.2}],
        [{"name": "x", "price": 2}, {"name": "y"}],
        [{"name": "x", "price": -2}],
        [None],
        [{"score": 0.2}],
        [{"name": "x", "score": "high"}],
    ],
)
def test_a_list_that_means_two_things_is_refused(tmp_path, ranking):
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": 1, "ranking": ranking, "truth": "x"}))
    with pytest.raises(InputError):
        ranked(tmp_path / "a.jsonl")


def test_scores_of_text_classifiers_are_probabilities_where_that_is_said(tmp_path):
    line = {"id": 1, "ranking": [{"label": "x", "score": 0.2}, {"label": "y", "score": 0.7}], "truth": "x"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    assert not ranked(tmp_path / "a.jsonl").models["a"].has_probabilities
    assert ranked(tmp_path / "a.jsonl", probability="score").models["a"].has_probabilities


def test_prices_may_stand_in_lists(tmp_path):
    line = {"id": 1, "ranking": [{"name": "x", "price": 4}, {"name": "y", "price": 7}], "truth": "y"}
    (tmp_path / "a.jsonl").write_text(json.dumps(line))
    assert costs_of(ranked(tmp_path / "a.jsonl")) == {"1": 11.0}


def test_a_case_has_one_list(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "ranking": ["x"], "truth": "x"}\n' * 2)
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.jsonl")
    assert (caught.value.argument, caught.value.row, caught.value.value) == ("id", 1, "1")


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("id,candidate,score,hit\n1,x,oops,1\n", "score"),
        ("id,candidate,hit\n1,x,maybe\n", "hit"),
        ("id,candidate,hit\n,x,1\n", "id"),
        ("id,candidate,price,hit\n1,x,-3,1\n", "price"),
    ],
)
def test_what_is_wrong_is_named_with_its_row(tmp_path, text, argument):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError) as caught:
        read_rows(str(tmp_path / "a.csv"), ListLayout())
    assert (caught.value.argument, caught.value.row) == (argument, 0)


@pytest.mark.skipif(not LISTS.exists(), reason="the lists of gpt-4o are not on this machine")
def test_rare_diseases_are_read_as_they_are():
    columns = {"id": "case", "candidate": "candidate", "rank": "rank", "hit": "is_correct"}
    read = ranked(LISTS, **columns)
    (candidates,) = read.models.values()
    places = candidates.places()
    assert candidates.n_cases == 6687
    assert places.found.sum() == 2359
    assert round(100 * places.found.mean()) == 35
    assert candidates.n_repeated == 611
    assert int((candidates.n_true > 1).sum()) == 157  # 270 before names that come twice are counted once
    assert np.isfinite(candidates.costs(miss=50.0)).all()


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b'{"id": 1, "truth": "a", "ranking": ["a", "b"]}\n' * 9)[:-9],
        b'{"id": 1, "truth": "a", "ranking": ["a", "b"]}\n' + b'{"ranking": ' * 100_000,
        b'{"id": 1, "truth": "a", "ranking": ["a", "b"]}\n[1, 2]\n',
    ],
    ids=["half an archive", "nested deeply", "no object"],
)
def test_damaged_lists_are_refused_and_do_not_end_the_program(tmp_path, content):
    path = tmp_path / "lists.jsonl"
    path.write_bytes(content)
    is_lists(str(path), None)  # whoever looks at the beginning only says nothing
    with pytest.raises(FileError) as caught:
        read_list_records(str(path), None, None)
    assert caught.value.path == str(path)


def test_files_of_a_folder_may_share_an_ending_that_the_truth_does_not_have(tmp_path):
    folder = tmp_path / "exomiser"
    folder.mkdir()
    (folder / "PMID_1_a-pheval_disease_result.tsv").write_text("rank\tdisease\n1\tx\n2\ty\n")
    (folder / "PMID_2_a-pheval_disease_result.tsv").write_text("rank\tdisease\n1\tx\n")
    (tmp_path / "truth.csv").write_text("id,truth\nPMID_1_a,y\nPMID_2_a,z\n")
    read = ranked(folder, id="FILE", candidate="disease", truth=str(tmp_path / "truth.csv"))
    assert costs_of(read, "exomiser", miss=5.0) == {"PMID_1_a": 2.0, "PMID_2_a": 6.0}
    assert [(change.what, change.count) for change in read.remarks] == [("endings of files", 2)]
    (tmp_path / "truth.csv").write_text("id,truth\nother_1,y\nother_2,z\n")
    with pytest.raises(InputError) as caught:
        ranked(folder, id="FILE", candidate="disease", truth=str(tmp_path / "truth.csv"))
    assert caught.value.argument == "truth"


@pytest.mark.parametrize("numbers", ["98%,1%,50.5%", "98,2,100"])
def test_probabilities_may_be_percentages(tmp_path, numbers):
    first, second, third = numbers.split(",")
    (tmp_path / "a.csv").write_text(
        f"id,candidate,probability,hit\n1,a,{first},1\n1,b,{second},0\n2,a,{third},0\n"
    )
    read = ranked(tmp_path / "a.csv")
    whole = read.models["a"].values * 100
    np.testing.assert_allclose(whole, [float(text.rstrip("%")) for text in (first, second, third)])
    assert "percentages" in [change.what for change in read.remarks]
    lines = [
        {"id": 1, "truth": "a", "forecast": {"a": 98, "b": 2}},
        {"id": 2, "truth": "b", "forecast": {"a": 100}},
    ]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, lines)))
    read = ranked(tmp_path / "b.jsonl")
    assert read.models["b"].values.tolist() == [0.98, 0.02, 1.0]


@pytest.mark.parametrize("numbers", ["50,20,50", "x%,20%,50%"])
def test_probabilities_that_are_neither_shares_nor_percentages_are_refused(tmp_path, numbers):
    first, second, third = numbers.split(",")
    (tmp_path / "a.csv").write_text(
        f"id,candidate,probability,hit\n1,a,{first},1\n1,b,{second},0\n2,a,{third},0\n"
    )
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "a.csv")
    assert caught.value.argument == "probability"


def test_rank_0_is_none_where_other_cases_begin_with_1(tmp_path):
    """As PhEval writes truths that a tool did not find."""
    rows = "id,candidate,rank,hit\n1,a,1,1\n1,b,2,0\n2,c,0,1\n2,b,1,0\n3,d,0,1\n"
    (tmp_path / "a.csv").write_text(rows)
    read = ranked(tmp_path / "a.csv")
    assert costs_of(read, miss=9.0) == {"1": 1.0, "2": 10.0, "3": 9.0}
    assert read.truths == [["a"], ["c"], ["d"]]
    assert [(change.what, change.count) for change in read.remarks] == [("rank 0", 2), ("empty lists", 1)]
    (tmp_path / "b.csv").write_text("id,candidate,rank,hit\n1,a,0,1\n1,b,1,0\n2,c,1,1\n2,b,0,0\n")
    read = ranked(tmp_path / "b.csv")
    assert costs_of(read, "b", miss=9.0) == {"1": 1.0, "2": 2.0}
    assert read.remarks == ()


def test_a_long_file_with_rank_0_is_read_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("pandora_regret.files.ranked.reading.MOST_KEPT", 3)
    monkeypatch.setattr("pandora_regret.files.ranked.reading.ROWS_OF_PART", 2)
    table = pa.table({"id": [1, 2, 2, 3], "candidate": list("acbd"), "rank": [1, 0, 1, 0], "hit": [1, 1, 0, 1]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    read = ranked(tmp_path / "a.parquet")
    assert costs_of(read, miss=9.0) == {"1": 1.0, "2": 10.0, "3": 9.0}


def test_folders_that_are_called_alike_are_told_apart_by_those_above(tmp_path):
    paths = []
    for tool in ("exomiser", "gado"):
        folder = tmp_path / tool / "pheval_disease_results"
        folder.mkdir(parents=True)
        (folder / "p1-disease_result.tsv").write_text("rank\tdisease\thit\n1\tx\ttrue\n")
        paths.append(folder)
    assert list(ranked(*paths, id="FILE", candidate="disease").models) == ["exomiser", "gado"]
    assert list(ranked(paths[0], id="FILE", candidate="disease").models) == ["pheval_disease_results"]
    with pytest.raises(InputError) as caught:
        ranked(tmp_path / "gado", id="FILE", candidate="disease")
    assert "pheval_disease_results" in caught.value.fix


def test_blank_names_in_lists_are_left_out_and_counted(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "ranking": ["", "x", "y ", " "], "truth": "x"}')
    read = ranked(tmp_path / "a.jsonl")
    assert costs_of(read, miss=9.0) == {"1": 1.0}
    assert [(change.what, change.count) for change in read.remarks] == [("blank names", 2)]


def test_a_file_of_truths_may_call_its_ids_as_usual(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"issue": "i1", "found_files": ["a.py", "b.py"]}')
    (tmp_path / "truth.csv").write_text("id,truth\ni1,b.py\n")
    read = ranked(tmp_path / "a.jsonl", id="issue", truth=str(tmp_path / "truth.csv"))
    assert costs_of(read, miss=7.0) == {"i1": 2.0}
    (tmp_path / "truth.csv").write_text("id,issue,truth\n17,i1,a.py\n")  # the name that was said comes first
    read = ranked(tmp_path / "a.jsonl", id="issue", truth=str(tmp_path / "truth.csv"))
    assert costs_of(read, miss=7.0) == {"i1": 1.0}


def test_truths_have_the_ids_of_lists(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"instance_id": "i1", "found_files": ["a.py", "b.py"]}')
    (tmp_path / "truth.jsonl").write_text('{"instance_id": "i1", "truth": ["b.py", "c.py"]}')
    read = ranked(tmp_path / "a.jsonl", truth=str(tmp_path / "truth.jsonl"))
    assert costs_of(read, miss=7.0) == {"i1": 2.0}

"""Cases without a true class: left out of comparisons and scores, counted, and refused where they are most."""

import json

import numpy as np
import pytest
from cli_files import run, write_csv

CLASSES = ("flu", "cold", "gout")
N = 40
BLANK = (3, 7, 20, 33)


def forecasts(seed):
    return np.random.default_rng(seed).dirichlet(np.ones(3), N)


def labels(blank=BLANK):
    return ["" if row in blank else CLASSES[row % 3] for row in range(N)]


def model_file(path, seed, blank=BLANK, ids=True, rows=range(N)):
    """A file of forecasts with labels, some of which are blank."""
    table = [("id", "y_true", *CLASSES)]
    names = labels(blank)
    for row, values in enumerate(forecasts(seed).tolist()):
        if row in rows:
            table.append((f"c{row}", names[row], *values))
    if not ids:
        table = [line[1:] for line in table]
    write_csv(path, table)
    return path


def without(path, out, blank=BLANK):
    """The same file without some of its rows."""
    header, *lines = path.read_text().splitlines()
    kept = [line for row, line in enumerate(lines) if row not in blank]
    out.write_text("\n".join([header, *kept]) + "\n")
    return out


def printed(*arguments, code=0):
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def remarks_of(document, what="unlabelled"):
    return [remark for remark in document["remarks"] if remark["what"] == what]


def costs(document):
    return {model["name"]: model["scores"]["expected_cost"]["value"] for model in document["models"]}


@pytest.mark.parametrize("ids", [True, False])
def test_unlabelled_cases_are_left_out_of_a_comparison_and_counted(tmp_path, ids):
    first = model_file(tmp_path / "a.csv", 1, ids=ids)
    second = model_file(tmp_path / "b.csv", 2, ids=ids)
    (tmp_path / "kept").mkdir()
    kept = [without(path, tmp_path / "kept" / path.name) for path in (first, second)]
    document = printed("compare", first, second)
    assert [remark["count"] for remark in remarks_of(document)] == [len(BLANK)]
    alone = printed("compare", *kept)
    assert remarks_of(alone) == []
    assert costs(document) == costs(alone)
    assert document["data"]["rows"] == N - len(BLANK)


def test_a_label_that_one_file_lacks_is_taken_from_another(tmp_path):
    first = model_file(tmp_path / "a.csv", 1, blank=(1, 2, 5))
    second = model_file(tmp_path / "b.csv", 2, blank=(2, 9))
    document = printed("compare", first, second)
    assert [remark["count"] for remark in remarks_of(document)] == [1]
    assert document["data"]["rows"] == N - 1
    full = [model_file(tmp_path / f"{name}.csv", seed, blank=(2,)) for name, seed in (("c", 1), ("d", 2))]
    assert list(costs(document).values()) == list(costs(printed("compare", *full)).values())


@pytest.mark.parametrize("options", [(), ("--bootstrap", 200)])
def test_unlabelled_cases_are_left_out_of_a_score(tmp_path, options):
    first = model_file(tmp_path / "a.csv", 1)
    document = printed("score", first, *options)
    assert [remark["count"] for remark in remarks_of(document)] == [len(BLANK)]
    (tmp_path / "kept").mkdir()
    alone = printed("score", without(first, tmp_path / "kept" / "a.csv"), *options)
    assert costs(document) == costs(alone)
    assert document["data"]["rows"] == N - len(BLANK)


def test_rows_without_a_label_change_no_draw_of_the_others(tmp_path, monkeypatch):
    """However a file is cut into batches, a case has the number of its row."""
    from pandora_regret.files import Layout, open_predictions
    from pandora_regret.stream import score_stream

    path = model_file(tmp_path / "a.csv", 1, ids=False)
    results = []
    for rows in (4, 11, 40):
        [model] = open_predictions(str(path), Layout(blank_labels=True))
        results.append(score_stream(model, rows=rows, bootstrap=100).best.scores["expected_cost"])
    assert results[0].low == pytest.approx(results[1].low, rel=1e-12)
    assert results[0].low == pytest.approx(results[2].low, rel=1e-12)


def test_rows_that_a_file_lacks_are_told_apart_from_those_without_a_label(tmp_path):
    truth = write_csv(
        tmp_path / "cases.csv", [("id", "dx"), *zip([f"c{row}" for row in range(N)], labels(), strict=True)]
    )
    paths = []
    for name, seed, rows in (("a", 1, range(N)), ("b", 2, range(5, N))):
        table = [("id", *CLASSES)]
        table += [(f"c{row}", *values) for row, values in enumerate(forecasts(seed).tolist()) if row in rows]
        paths.append(write_csv(tmp_path / f"{name}.csv", table))
    document = printed("compare", *paths, "--truth", truth, "--label", "dx", "--common-rows")
    assert [remark["count"] for remark in remarks_of(document, "rows left out")] == [5]
    assert [remark["count"] for remark in remarks_of(document)] == [3]  # row 3 is one of those five
    assert document["data"]["rows"] == N - 5 - 3


@pytest.mark.parametrize(("n_blank", "code"), [(20, 0), (21, 2)])
@pytest.mark.parametrize("command", ["compare", "score", "validate"])
def test_at_most_half_of_the_cases_may_lack_a_label(tmp_path, command, n_blank, code):
    path = model_file(tmp_path / "a.csv", 1, blank=range(n_blank))
    result = run(command, path)
    assert result.exit_code == code
    if code:
        assert "21 of 40" in result.output.replace("\n", " ")


def test_validate_counts_rows_without_a_label(tmp_path):
    [table] = printed("validate", model_file(tmp_path / "a.csv", 1))["tables"]
    assert table["unlabelled"] == len(BLANK)
    assert sum(table["classes"].values()) == N - len(BLANK)


def test_a_file_without_a_column_of_labels_is_still_refused(tmp_path):
    table = [CLASSES, *forecasts(1).tolist()]
    assert run("compare", write_csv(tmp_path / "a.csv", table)).exit_code == 2


def test_frames_may_lack_labels():
    import pandas as pd

    from pandora_regret.comparison import compare_frames

    ids = [f"c{row}" for row in range(N)]
    truth = pd.DataFrame({"id": ids, "label": [label or None for label in labels()]})
    frame = pd.DataFrame(forecasts(1), columns=list(CLASSES)).assign(id=ids)
    result = compare_frames(truth, {"net": frame}, id="id")
    assert result.data.rows == N - len(BLANK)
    assert [(remark.what, remark.count) for remark in result.remarks if remark.what == "unlabelled"] == [
        ("unlabelled", 4)
    ]

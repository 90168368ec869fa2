"""Files whose truth is votes, one column per class: `--votes-prefix`."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")

from cli_files import run_json

from pandora_regret import expected_search_cost
from pandora_regret.compare import compare
from pandora_regret.files import FileError, Layout, open_predictions, read_all
from pandora_regret.metrics import METRICS
from pandora_regret.stream import score_stream

NAMES = ["melanoma", "nevus", "keratosis"]
COSTS = {"melanoma": 380.0, "nevus": 120.0, "keratosis": 90.0}
PRICES = ",".join(f"{name}={cost}" for name, cost in COSTS.items())


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    votes = rng.multinomial(5, [0.2, 0.5, 0.3], size=80)
    tables = {
        name: np.array([rng.dirichlet(1 + bold * v / 5) for v in votes]) for name, bold in (("a", 6), ("b", 2))
    }
    return votes, tables, rng.gamma(2.0, size=80)


def write(folder, name, votes, table, weights, order=(0, 1, 2), suffix="csv"):
    frame = pd.DataFrame({"id": np.arange(len(votes)), "weight": weights, "label": "whoever had most"})
    for k in order:
        frame[f"votes_{NAMES[k]}"], frame[NAMES[k]] = votes[:, k], table[:, k]
    path = folder / f"{name}.{suffix}"
    frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_score_reads_votes(case, suffix, tmp_path):
    votes, tables, weights = case
    path = write(tmp_path, "a", votes, tables["a"], weights, suffix=suffix)
    printed = run_json("score", path, "--votes-prefix", "votes_", "--costs", PRICES, "--wrong-tests")
    [model] = printed["models"]
    arguments = {"sample_weight": weights, "costs": COSTS, "labels": NAMES}
    expected = expected_search_cost(votes, tables["a"], **arguments)
    assert model["scores"]["expected_cost"]["value"] == pytest.approx(expected)
    assert printed["data"]["rows"] == 80
    assert printed["data"]["class_weights"] == pytest.approx(list(weights @ (votes / 5)))
    for key in ("accuracy", "log_loss", "brier", "macro_f1"):
        assert model["scores"][key]["value"] == pytest.approx(
            METRICS[key](votes, tables["a"], sample_weight=weights)
        )


def test_intervals_of_a_stream_are_those_of_a_comparison(case, tmp_path):
    votes, tables, weights = case
    path = write(tmp_path, "a", votes, tables["a"], weights)
    [opened] = open_predictions(path, Layout(votes_prefix="votes_"))
    score = score_stream(opened, rows=7).best.scores
    result = compare(votes, {"a": tables["a"]}, labels=NAMES, sample_weight=weights).models[0].scores
    for key in ("pandora_regret", "expected_cost", "accuracy"):
        assert astuple(score[key])[:3] == pytest.approx(astuple(result[key])[:3], rel=1e-9)
    assert score["macro_f1"].low <= result["macro_f1"].low < result["macro_f1"].high <= score["macro_f1"].high
    drawn = score_stream(opened, bootstrap=200, rows=7).best.scores["macro_f1"]
    assert drawn.value == pytest.approx(result["macro_f1"].value)
    assert drawn.low < result["macro_f1"].value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"votes_nevus": -1}, r"line 3, column 'votes_nevus' is -1: it must be 0, or a positive number"),
        ({f"votes_{name}": 0 for name in NAMES}, r"line 3 has no votes: drop the row"),
        ({"votes_nevus": None}, r"line 3, column 'votes_nevus' has no value"),
    ],
)
def test_votes_that_cannot_be_read_are_located(case, change, message, tmp_path):
    votes, tables, weights = case
    path = write(tmp_path, "a", votes, tables["a"], weights)
    frame = pd.read_csv(path).astype({f"votes_{name}": object for name in NAMES})
    for column, value in change.items():
        frame.loc[1, column] = value
    frame.to_csv(path, index=False)
    [opened] = open_predictions(path, Layout(votes_prefix="votes_"))
    with pytest.raises(FileError, match=message):
        read_all(opened)


def test_votes_of_every_class_are_needed_and_a_label_beside_them_is_not(case, tmp_path):
    votes, tables, weights = case
    path = write(tmp_path, "a", votes, tables["a"], weights)
    with pytest.raises(
        FileError, match=r"is read with votes \('votes_'\) and with the label 'label': say one of them"
    ):
        open_predictions(path, Layout(votes_prefix="votes_", label="label"))
    pd.read_csv(path).drop(columns="votes_nevus").to_csv(path, index=False)
    with pytest.raises(FileError, match=r"has no columns of votes 'votes_nevus': write one for each class"):
        open_predictions(path, Layout(votes_prefix="votes_"))

"""Files whose truth is votes, one column per class: `--votes-prefix`."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")

from cli_files import run_json
from prediction_files import cell_of, opened, refusal, write

from pandora_regret import compare, expected_search_cost
from pandora_regret.metrics import METRICS
from pandora_regret.stream import score_stream

NAMES = ["melanoma", "nevus", "keratosis"]
COSTS = {"melanoma": 380.0, "nevus": 120.0, "keratosis": 90.0}
PRICES = ",".join(f"{name}={cost}" for name, cost in COSTS.items())


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    votes = rng.multinomial(5, [0.2, 0.5, 0.3], size=80)
    return votes, np.array([rng.dirichlet(1 + 6 * v / 5) for v in votes]), rng.gamma(2.0, size=80)


def columns_of(votes, table, weights):
    columns = {"id": np.arange(len(votes)), "weight": weights, "label": ["whoever had most"] * len(votes)}
    columns |= {f"votes_{name}": votes[:, k] for k, name in enumerate(NAMES)}
    return columns | dict(zip(NAMES, table.T, strict=True))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_score_reads_votes(case, suffix, tmp_path):
    votes, table, weights = case
    path = write(tmp_path / f"a.{suffix}", columns_of(*case))
    printed = run_json("score", path, "--votes-prefix", "votes_", "--costs", PRICES, "--wrong-tests")
    [model] = printed["models"]
    arguments = {"sample_weight": weights, "costs": COSTS, "labels": NAMES}
    expected = expected_search_cost(votes, table, **arguments)
    assert model["scores"]["expected_cost"]["value"] == pytest.approx(expected)
    assert printed["data"]["rows"] == 80
    by_class = weights @ (votes / 5)
    assert printed["data"]["class_weights"] == pytest.approx(list(by_class * 80 / by_class.sum()))
    for key in ("accuracy", "log_loss", "brier", "macro_f1"):
        assert model["scores"][key]["value"] == pytest.approx(METRICS[key](votes, table, sample_weight=weights))


def test_intervals_of_a_stream_are_those_of_a_comparison(case, tmp_path):
    votes, table, weights = case
    path = write(tmp_path / "a.csv", columns_of(*case))
    score = score_stream(opened(path, votes_prefix="votes_"), rows=7).best.scores
    result = compare(votes, {"a": table}, labels=NAMES, sample_weight=weights).models[0].scores
    for key in ("pandora_regret", "expected_cost", "accuracy"):
        assert astuple(score[key])[:3] == pytest.approx(astuple(result[key])[:3], rel=1e-9)
    assert score["macro_f1"].low <= result["macro_f1"].low < result["macro_f1"].high <= score["macro_f1"].high


@pytest.mark.parametrize(
    ("change", "layout", "cell", "argument"),
    [
        ({"votes_nevus": -1}, {}, (1, "votes_nevus", -1), None),
        ({f"votes_{name}": 0 for name in NAMES}, {}, (1, None, None), None),
        ({"votes_nevus": ""}, {}, (1, "votes_nevus", None), None),
        ({}, {"label": "label"}, (None, None, None), "label"),
        ({}, {"classes": (*NAMES, "label")}, (None, None, None), "votes_prefix"),
    ],
)
def test_votes_that_cannot_be_read_are_located(case, change, layout, cell, argument, tmp_path):
    columns = {name: list(values) for name, values in columns_of(*case).items()}
    for column, value in change.items():
        columns[column][1] = value
    path = write(tmp_path / "a.csv", columns)
    error = refusal(path, votes_prefix="votes_", **layout)
    assert (cell_of(error), error.argument) == (cell, argument)
    if change:
        assert error.where.partition(",")[0] == " line 3"


def test_votes_of_their_own_file_go_to_their_classes(case, tmp_path):
    """To those that both files have; a class without votes has none, and cases without votes are none."""
    votes, table, _ = case
    votes = votes * [1, 1, 0] + [0, 1, 0]
    forecasts, truth = pd.DataFrame(table, columns=NAMES), pd.DataFrame(votes, columns=[f"v_{of}" for of in NAMES])
    for name, frame in (("a", forecasts), ("b", forecasts[::-1]), ("votes", truth)):
        frame.rename_axis("id").to_csv(tmp_path / f"{name}.csv")
    truth[:50].drop(columns="v_keratosis").rename_axis("id").to_csv(tmp_path / "few.csv")
    truth.assign(v_wart=votes[:, 0]).rename_axis("id").to_csv(tmp_path / "more.csv")

    def cost(*files, of):
        arguments = ("--votes-prefix", "v_", "--costs", PRICES, *files)
        printed = run_json("compare", tmp_path / "a.csv", tmp_path / "b.csv", "--truth", tmp_path / of, *arguments)
        return printed["models"][0]["scores"]["expected_cost"]["value"]

    about = {"costs": COSTS, "labels": NAMES}
    assert cost(of="votes.csv") == pytest.approx(expected_search_cost(votes, table, **about))
    few = expected_search_cost(votes[:50], table[:50], **about)
    assert cost("--common-rows", of="few.csv") == pytest.approx(few)
    error = refusal(tmp_path / "a.csv", truth=str(tmp_path / "more.csv"), votes_prefix="v_")
    assert (error.argument, error.value) == ("proba_prefix", "wart")

"""A metric that is added to the registry in one place shows up wherever models are scored, compared and ranked."""

import csv
import io
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pandora_regret import Comparison, ComparisonOptions, compare
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.report import write_report

N, CLASSES = 80, ("a", "b", "c")


def surprise(truth, proba):
    return 1 - proba[np.arange(len(truth)), truth]


TOY = Metric(
    "surprise",
    "Surprise",
    "lower",
    rows=surprise,
    wording="the surprise",
    unit="share",
    bounds=(0.0, 1.0),
    shown_in=("comparison", "study"),
)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(METRICS, TOY.key, TOY)


@pytest.fixture(scope="module")
def data():
    """True classes, and forecasts of models of different skill."""
    rng = np.random.default_rng(0)
    truth, skill = rng.integers(0, 3, N), np.linspace(0.5, 3, 6)[:, None, None]
    odds = np.exp(skill * np.eye(3)[truth] + rng.normal(size=(6, N, 3)))
    return truth, odds / odds.sum(axis=2, keepdims=True)


@pytest.mark.parametrize("bootstrap", [0, 100])
def test_it_is_in_a_comparison_and_its_json_and_page(data, tmp_path, bootstrap):
    truth, (one, *_, other) = data
    comparison = compare(truth, {"one": one, "other": other}, options=ComparisonOptions(bootstrap=bootstrap))
    written = json.loads(json.dumps(comparison.to_dict()))
    assert {"key": "surprise", "title": "Surprise", "better": "lower", "unit": "share"} in written["metrics"]
    score = comparison.best.scores["surprise"]
    assert_allclose(score.value, surprise(truth, other).mean())
    assert 0 <= score.low < score.value < score.high <= 1
    assert comparison.ranks["surprise"] == (1.0, 2.0)
    assert Comparison.from_dict(written) == comparison
    assert "Surprise" in write_report(comparison, tmp_path / "page.html").read_text()


def test_it_is_in_the_commands_help():
    cli_files = pytest.importorskip("cli_files", reason="click is not installed")
    assert "surprise " in cli_files.run("help", "metrics").stdout


def test_it_is_in_what_score_prints_and_writes(data, tmp_path):
    pytest.importorskip("pyarrow")
    cli_files = pytest.importorskip("cli_files", reason="click is not installed")
    truth, forecasts = data
    rows = [("y_true", *CLASSES), *zip(np.array(CLASSES)[truth], *forecasts[0].T, strict=True)]
    path = cli_files.write_csv(tmp_path / "model.csv", rows)
    written = json.loads(cli_files.run("score", path, "--json").stdout)
    assert "surprise" in [metric["key"] for metric in written["metrics"]]
    assert_allclose(written["models"][0]["scores"]["surprise"]["value"], surprise(truth, forecasts[0]).mean())
    assert "Surprise " in cli_files.run("score", path).stdout
    table = csv.DictReader(io.StringIO(cli_files.run("score", path, "--csv").stdout))
    assert "surprise" in [row["metric"] for row in table]

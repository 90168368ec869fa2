"""MLflow on a local SQLite store: a logged comparison, and scores in `mlflow.models.evaluate`."""

import json

import numpy as np
import pandas as pd
import pytest

from pandora_regret import Comparison, compare, expected_search_cost, pandora_regret

pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow and what it stands on warn of themselves

CLASSES = ["cache", "disk", "no fault"]
PRICES = {"cache": 10.0, "disk": 200.0, "no fault": 30.0}


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: make engines")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/runs.db")
    mlflow.create_experiment("incidents", artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment("incidents")
    return mlflow


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    forecasts = rng.dirichlet(np.ones(3), 120)
    truth = np.array(CLASSES)[[rng.choice(3, p=p) for p in forecasts]]
    return truth, forecasts


def test_a_comparison_is_logged_whole(mlflow, data):
    from pandora_regret.integrations.mlflow import log_comparison

    truth, forecasts = data
    result = compare(
        truth,
        {"net": forecasts, "<vague>": np.full((120, 3), 1 / 3)},
        labels=CLASSES,
        costs=PRICES,
        currency="USD",
    )
    with mlflow.start_run() as run:
        log_comparison(result)
    logged = mlflow.get_run(run.info.run_id)
    for model, name in zip(result.models, ("net", "_vague_"), strict=True):
        cost = model.scores["expected_cost"]
        assert logged.data.metrics[f"{name}/expected_cost"] == pytest.approx(cost.value)
        assert logged.data.metrics[f"{name}/expected_cost_low"] == pytest.approx(cost.low)
        assert logged.data.metrics[f"{name}/expected_cost_high"] == pytest.approx(cost.high)
    assert logged.data.tags["pandora.verdict"] == result.verdict.sentences[0]
    folder = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="pandora")
    with open(f"{folder}/comparison.json") as file:
        assert Comparison.from_dict(json.load(file)) == result
    with open(f"{folder}/report.html") as file:
        assert "&lt;vague&gt;" in file.read()


@pytest.mark.parametrize("as_columns", [True, False])
def test_scores_in_evaluate(mlflow, data, as_columns):
    from pandora_regret.integrations.mlflow import column_mapping, make_metrics

    truth, forecasts = data
    frame = pd.DataFrame({"truth": truth, "answer": np.array(CLASSES)[forecasts.argmax(axis=1)]})
    config = {}
    if as_columns:
        frame[CLASSES] = forecasts
        config = {"col_mapping": column_mapping(CLASSES)}
    else:
        frame["answer"] = list(forecasts)
    with mlflow.start_run():
        result = mlflow.models.evaluate(
            data=frame,
            targets="truth",
            predictions="answer",
            extra_metrics=make_metrics(CLASSES, costs=PRICES),
            evaluators="default",
            evaluator_config=config,
        )
    expected = expected_search_cost(truth, forecasts, labels=CLASSES, costs=PRICES)
    assert result.metrics["expected_search_cost/mean"] == pytest.approx(expected)
    assert result.metrics["expected_search_cost/low"] < expected < result.metrics["expected_search_cost/high"]
    assert result.metrics["pandora_regret/mean"] == pytest.approx(pandora_regret(truth, forecasts, labels=CLASSES))

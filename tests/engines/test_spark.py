"""Spark: no falling back to interpreted plans; full-fidelity scores that survive a killed worker."""

import os
import signal

import numpy as np
import pytest
from prediction_frames import predictions

from pandora_regret import InputError
from pandora_regret.files import Layout, open_predictions
from pandora_regret.integrations.frames import score_frame
from pandora_regret.stream import score_stream


def test_twenty_classes_are_compiled(spark, tmp_path):
    frame, classes = predictions(n_classes=20)
    spark.createDataFrame(frame).write.parquet(str(tmp_path / "rows"))
    rows = spark.read.parquet(str(tmp_path / "rows"))
    prices = np.arange(1.0, 21.0)
    table = score_frame(rows, classes, label="truth", costs=prices, by=["site"])
    assert len(table.collect()) == 3
    assert "codegen" not in spark.log.read_text().lower()
    plan = table._jdf.queryExecution().executedPlan().toString()
    assert "*(1)" in plan


@pytest.fixture
def rows(spark):
    frame, classes = predictions(n_rows=2000)
    layout = Layout(label="truth", classes=tuple(classes), id="row", group="site")
    return frame, spark.createDataFrame(frame).repartition(5, "row"), layout


def _file_score(frame, layout, folder, **options):
    frame.to_parquet(folder / "rows.parquet")
    [opened] = open_predictions(folder / "rows.parquet", layout)
    return score_stream(opened, **options)


@pytest.mark.parametrize("bootstrap", [0, 200])
def test_partitions_give_the_numbers_of_a_file(rows, tmp_path, bootstrap):
    from dataclasses import astuple, replace

    from pandora_regret.integrations.spark import score_spark

    frame, on_spark, layout = rows
    layout = layout if bootstrap else replace(layout, group=None)
    ours = score_spark(on_spark, layout, costs=[1, 2, 3, 4, 5], bootstrap=bootstrap, pairs=True)
    theirs = _file_score(frame, layout, tmp_path, costs=[1, 2, 3, 4, 5], bootstrap=bootstrap, pairs=True)
    assert ours.data == theirs.data
    for metric in ("expected_cost", "pandora_regret", "macro_f1"):
        one, other = (astuple(result.best.scores[metric])[:3] for result in (ours, theirs))
        np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(ours.best.pair_costs, theirs.best.pair_costs, rtol=1e-12)


def test_a_killed_worker_changes_no_digit(rows, tmp_path, monkeypatch):
    from pandora_regret.integrations import spark as module

    _, on_spark, layout = rows
    options = {"costs": [1, 2, 3, 4, 5], "bootstrap": 100}
    undisturbed = module.score_spark(on_spark, layout, **options)
    killed, plain = tmp_path / "killed", module.tally

    def killing(model, settings):
        from pyspark import TaskContext

        if TaskContext.get().partitionId() == 2 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(model, settings)

    monkeypatch.setattr(module, "tally", killing)
    disturbed = module.score_spark(on_spark, layout, **options)
    assert killed.exists()
    assert disturbed == undisturbed


def test_bad_rows_and_layouts_are_named(rows):
    from pandora_regret.integrations.spark import score_spark

    _, on_spark, layout = rows
    with pytest.raises(InputError, match="guessed"):
        score_spark(on_spark, Layout())
    with pytest.raises(InputError, match="column of ids"):
        score_spark(on_spark, Layout(label="truth", classes=layout.classes), bootstrap=100)

"""Macro-F1 is scikit-learn's wherever it is computed, also where classes neither occur nor are predicted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pandora_regret.compare import compare
from pandora_regret.metrics import METRICS

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")

CLASSES = ("a", "b", "c", "d", "e")


def sample(seed, n=30):
    """Labels and forecasts of five classes: one never occurs, one is hardly ever predicted."""
    rng = np.random.default_rng(seed)
    truth, table = rng.integers(0, 4, n), rng.dirichlet([1, 1, 1, 0.05, 0.001], n)
    return truth, table, rng.uniform(0.5, 2, n)


def f1(truth, table, weights=None):
    return metrics.f1_score(truth, table.argmax(axis=1), average="macro", sample_weight=weights, zero_division=0)


def streamed(folder, truth, table, weights, **options):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    from pandora_regret.files import Layout, open_predictions
    from pandora_regret.stream import score_stream

    columns = {"y_true": np.array(CLASSES)[truth], **dict(zip(CLASSES, table.T, strict=True)), "weight": weights}
    pq.write_table(pa.table(columns), folder / "model.parquet")
    [predictions] = open_predictions(folder / "model.parquet", Layout(classes=CLASSES))
    return score_stream(predictions, **options)


@pytest.mark.parametrize("seed", range(6))
def test_macro_f1_is_scikit_learns_in_compare_stream_and_study(tmp_path, seed):
    truth, table, weights = sample(seed)
    expected = f1(truth, table, weights)
    assert_allclose(METRICS["macro_f1"](truth, table, sample_weight=weights), expected, rtol=1e-12)
    comparison = compare(truth, {"model": table}, sample_weight=weights)
    assert_allclose(comparison.best.scores["macro_f1"].value, expected, rtol=1e-12)
    assert_allclose(streamed(tmp_path, truth, table, weights).best.scores["macro_f1"].value, expected, rtol=1e-12)

"""Every format, number type and kind of label: a file scores as its arrays do."""

import json
import os
import random

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")

from cli_files import run
from prediction_files import write

from pandora_regret import pandora_regret

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "npz")
LABELS = {  # kind: the classes' names, and the type in which a typed format holds labels
    "names": (["flu", "cold", "covid", "none"], None),
    "numbers": (["0", "1", "2", "3"], np.int64),
    "narrow": (["0", "1", "2", "3"], np.int8),
    "unsigned": (["0", "1", "2", "3"], np.uint8),
    "signed": (["-100", "-1", "0", "100"], np.int8),
    "text that looks like numbers": (["01", "1", "1.0", "1e0"], None),
    "spaces and commas": (["a b", "a,b", 'a"b', "ä"], None),
}
CASES = 60 * int(os.environ.get("FAULTS", "1"))


def made(seed):
    """Forecasts with zeros, labels in which every class occurs, and weights or none."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    rows, dtype = rng.choice((4, 7, 40)), rng.choice((np.float32, np.float64))
    proba = numbers.dirichlet(np.full(4, rng.choice((0.3, 1, 5))), rows)
    proba[rng.randrange(rows)] = [0.5, 0.5, 0.0, 0.0]
    truth = np.concatenate([np.arange(4), numbers.integers(0, 4, rows - 4)])
    weights = numbers.integers(1, 4, rows).astype(float) if rng.random() < 0.3 else None
    return rng, proba.astype(dtype), truth, weights


@pytest.mark.parametrize("seed", range(CASES))
def test_files_of_every_kind_score_as_their_arrays(seed, tmp_path):
    rng, proba, truth, weights = made(seed)
    ending, kind = FORMATS[seed % len(FORMATS)], rng.choice(list(LABELS))
    names = LABELS[kind][0]
    prefix, typed = "" if ending == "npz" else "p_", LABELS[kind][1]
    columns = {"y_true": np.array([names[i] for i in truth]).astype(typed or str)}
    columns |= {f"{prefix}{name}": proba[:, k] for k, name in enumerate(names)}
    columns |= {} if weights is None else {"weight": weights}
    path = write(tmp_path / f"predictions.{ending}", columns)
    result = run("score", path, "--json", *(() if ending == "npz" else ("--proba-prefix", prefix)))
    assert result.exit_code == 0, (ending, kind, result.stderr)
    [model] = json.loads(result.stdout)["models"]
    expected = pandora_regret(truth, proba, sample_weight=weights)
    assert model["scores"]["pandora_regret"]["value"] == pytest.approx(expected, rel=1e-6, abs=1e-12)

"""Every format, number type and kind of label against an independent formula, written out in plain loops."""

import csv
import json
import os
import random

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
feather, parquet = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")
pytest.importorskip("rich")

from cli_files import run  # noqa: E402

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
    """Forecasts with zeros and ties, labels in which every class occurs, and weights or none."""
    rng = random.Random(seed)
    numbers = np.random.default_rng(seed)
    rows, dtype = rng.choice((4, 7, 40)), rng.choice((np.float32, np.float64))
    proba = numbers.dirichlet(np.full(4, rng.choice((0.3, 1, 5))), rows)
    if rng.random() < 0.5:
        proba = np.round(4 * proba) / 4  # quarters: ties, zeros
        proba[:, 0] += 1 - proba.sum(axis=1)
        proba[(proba < 0).any(axis=1)] = [0.5, 0.5, 0.0, 0.0]
    truth = np.concatenate([np.arange(4), numbers.integers(0, 4, rows - 4)])
    weights = numbers.integers(1, 4, rows).astype(float) if rng.random() < 0.3 else None
    return rng, proba.astype(dtype), truth, weights


def independent_regret(proba, truth, weights):
    """``S = sum_j L(p_i / p_j) / (3 (K - 1))``, L(r) = 3 - 2 r for r <= 1 and 1 / r^2 beyond, pair by pair."""
    total = 0.0
    for p, i, w in zip(
        proba.astype(float), truth, np.ones(len(truth)) if weights is None else weights, strict=True
    ):
        for j, other in enumerate(p):
            if j == i or other == 0 < p[i]:
                continue
            ratio = 1.0 if p[i] == other else p[i] / other
            total += w * (3 - 2 * ratio if ratio <= 1 else ratio**-2)
    return total / (3 * (proba.shape[1] - 1)) / (len(truth) if weights is None else weights.sum())


def write(path, ending, names, kind, proba, truth, weights):
    typed = LABELS[kind][1]
    labels = [names[i] for i in truth]
    columns = {"y_true": labels if typed is None else np.array(labels).astype(typed)}
    columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(names)}
    columns |= {} if weights is None else {"weight": weights}
    if ending == "npz":
        arrays = {"y_true": np.array(columns["y_true"]), "y_proba": proba, "classes": np.array(names)}
        np.savez(path, **arrays, **({} if weights is None else {"weight": weights}))
    elif ending in ("parquet", "arrow"):
        writer = parquet.write_table if ending == "parquet" else feather.write_feather
        writer(pa.table(columns), path)
    else:
        write_text(path, ending, columns)


def write_text(path, ending, columns):
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        if ending == "jsonl":
            file.writelines(json.dumps(row, default=lambda value: value.item()) + "\n" for row in rows)
            return
        writer = csv.writer(file, delimiter="\t" if ending == "tsv" else ",")
        writer.writerow(columns)
        writer.writerows(
            [repr(c.item()) if isinstance(c, np.floating) else c for c in row.values()] for row in rows
        )


@pytest.mark.parametrize("seed", range(CASES))
def test_files_of_every_kind_score_as_the_formula_says(seed, tmp_path):
    rng, proba, truth, weights = made(seed)
    ending, kind = FORMATS[seed % len(FORMATS)], rng.choice(list(LABELS))
    names = LABELS[kind][0]
    path = tmp_path / f"predictions.{ending}"
    write(path, ending, names, kind, proba, truth, weights)
    result = run("score", path, "--json", *(() if ending == "npz" else ("--proba-prefix", "p_")))
    assert result.exit_code == 0, (ending, kind, result.stderr)
    [model] = json.loads(result.stdout)["models"]
    expected = independent_regret(proba, truth, weights)
    assert model["scores"]["pandora_regret"]["value"] == pytest.approx(expected, rel=1e-6, abs=1e-12)

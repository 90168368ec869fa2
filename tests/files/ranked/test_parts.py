"""The lists of one model in several files are those of one file."""

import json
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from pandora_regret import InputError
from pandora_regret.candidates.searched import SearchedOrders
from pandora_regret.files import Layout, ModelFiles
from pandora_regret.files.ranked.layout import ListLayout
from pandora_regret.files.ranked.models import read_ranked

COLUMNS = {"id": "bug", "candidate": "method", "price": "lines", "hit": "is_bug"}
N_CASES = 30
KINDS = ["score", "rank", "probability"]


def read(*paths, **layout):
    return read_ranked([ModelFiles(tuple(map(str, paths)), Layout())], ListLayout(**layout))


def rows_of_case(case, kind, rng):
    """Rows of a long table: empty lists, ties, several hits and none."""
    n_candidates = int(rng.integers(0, 6))
    if n_candidates == 0:
        return [f"b{case},,,,,{case % 2}"]
    values = {
        "score": rng.integers(0, 3, n_candidates),
        "rank": rng.permutation(n_candidates) + 1,
        "probability": np.round(rng.dirichlet(np.ones(n_candidates + 1))[:-1], 4),
    }
    names = rng.choice(9, n_candidates, replace=False)
    hits = (rng.random(n_candidates) < 0.3).astype(int)
    prices = rng.integers(1, 30, n_candidates)
    columns = zip(names, values[kind], prices, hits, strict=True)
    return [f"b{case},m{name},{value},{price},{hit},{case % 2}" for name, value, price, hit in columns]


def long_tables(folder, kind):
    """The whole table, and three parts of it."""
    header = f"bug,method,{kind},lines,is_bug,site"
    rng = np.random.default_rng(3)
    cases = [rows_of_case(case, kind, rng) for case in range(N_CASES)]
    paths = []
    for name, start, stop in [("whole", 0, N_CASES), ("p1", 0, 7), ("p2", 7, 8), ("p3", 8, N_CASES)]:
        path = folder / f"{name}.csv"
        path.write_text("\n".join([header, *chain.from_iterable(cases[start:stop])]) + "\n")
        paths.append(path)
    return paths


def assert_same(whole, joined):
    (expected,) = whole.models.values()
    (found,) = joined.models.values()
    assert joined.ids == whole.ids
    assert joined.truths == whole.truths
    assert joined.facts == whole.facts
    for until in ("first", "all"):
        np.testing.assert_allclose(found.costs(50.0, until), expected.costs(50.0, until), rtol=1e-13)
    np.testing.assert_array_equal(found.is_missed, expected.is_missed)
    assert found.mean_prices(["m1", "m2"]) == pytest.approx(expected.mean_prices(["m1", "m2"]))


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_a_long_table(tmp_path, kind):
    whole, *parts = long_tables(tmp_path, kind)
    options = {**COLUMNS, kind: kind, "by": ("site",)}
    joined = read(*parts, **options)
    assert_same(read(whole, **options), joined)
    assert list(joined.models) == ["p1"]


@pytest.mark.parametrize("most_kept", [0, 20])
def test_parts_that_are_too_long_to_keep(tmp_path, monkeypatch, most_kept):
    paths = []
    for path in long_tables(tmp_path, "score"):
        paths.append(path.with_suffix(".parquet"))  # tells how many rows it has
        pa.parquet.write_table(pa.csv.read_csv(path), paths[-1])
    whole, *parts = paths
    options = {**COLUMNS, "score": "score", "by": ("site",)}
    expected = read(whole, **options)
    monkeypatch.setattr("pandora_regret.files.ranked.reading.MOST_KEPT", most_kept)
    joined = read(*parts, **options)
    assert isinstance(joined.models["p1"], SearchedOrders)
    assert_same(expected, joined)


def test_parts_of_lists_in_json_lines_and_runs(tmp_path):
    rng = np.random.default_rng(5)
    lines = []
    runs = []
    for case in range(N_CASES):
        names = [f"m{name}" for name in rng.permutation(6)[: rng.integers(0, 6)]]
        lines.append(
            json.dumps({"id": f"c{case}", "ranking": names, "truth": ["m1", "m4"], "site": "ab"[case % 2]})
        )
        runs += [f"c{case} Q0 {name} 0 {rng.integers(0, 3)} tag" for name in names]
    (tmp_path / "qrels").write_text("".join(f"c{case} 0 m1 1\n" for case in range(N_CASES)))
    for name, start, stop in [("whole", 0, N_CASES), ("p1", 0, 11), ("p2", 11, N_CASES)]:
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines[start:stop]))
        cases = {f"c{case}" for case in range(start, stop)}
        (tmp_path / f"{name}.run").write_text("\n".join(row for row in runs if row.split()[0] in cases))
    whole, *parts = (tmp_path / f"{name}.jsonl" for name in ("whole", "p1", "p2"))
    assert_same(read(whole, by=("site",)), read(*parts, by=("site",)))
    whole, *parts = (tmp_path / f"{name}.run" for name in ("whole", "p1", "p2"))
    options = {"format": "trec", "truth": str(tmp_path / "qrels")}
    assert_same(read(whole, **options), read(*parts, **options))


def test_parts_of_files_of_several_models(tmp_path):
    header = "model,id,candidate,rank,hit\n"
    (tmp_path / "p1.csv").write_text(header + "a,1,x,1,0\na,1,y,2,1\nb,1,x,2,0\nb,1,y,1,1\n")
    (tmp_path / "p2.csv").write_text(header + "b,2,z,1,1\na,2,x,1,0\na,2,z,2,1\n")
    joined = read(tmp_path / "p1.csv", tmp_path / "p2.csv", model="model")
    costs = {name: lists.costs(9.0).tolist() for name, lists in joined.models.items()}
    assert costs == {"a": [2.0, 2.0], "b": [1.0, 1.0]}


HEADER = "id,candidate,rank,hit\n"


@pytest.mark.parametrize(
    ("argument", "first", "second"),
    [
        ("id", HEADER + "1,x,1,1\n", HEADER + "2,x,1,1\n1,x,1,1\n"),
        ("price", HEADER + "1,x,1,1\n", "id,candidate,rank,hit,price\n2,x,1,1,5\n"),
        ("probability", HEADER + "1,x,1,1\n", "id,candidate,probability,hit\n2,x,0.5,1\n"),
        ("truth", HEADER + "1,x,1,1\n", json.dumps({"id": 2, "ranking": ["x"], "truth": "x"})),
        ("candidate", HEADER + "1,x,1,1\n", "id,rank,hit\n2,1,1\n"),
    ],
)
def test_parts_that_do_not_go_together_are_refused(tmp_path, argument, first, second):
    (tmp_path / "p1.csv").write_text(first)
    (tmp_path / "p2.csv").write_text(second)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "p1.csv", tmp_path / "p2.csv")
    assert caught.value.argument == argument
    assert caught.value.path == str(tmp_path / "p2.csv")

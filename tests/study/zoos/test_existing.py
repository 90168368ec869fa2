"""Predictions in the files that people have: every format makes the same store."""

import re
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from pandora_regret.study import DataSet, FilesZoo, Store, predict_all
from pandora_regret.study.zoos import existing

pytest.importorskip("safetensors")
pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

CLASSES, N = ["cat", "dog", "cow"], 20
TRUTH = np.arange(N) % 3
MODELS = ["net/50", "forest", "naïve"]


def forecasts(name):
    return np.random.default_rng(MODELS.index(name)).dirichlet(np.ones(3), size=N)


def frame(name, **extra):
    columns = dict(zip(CLASSES, forecasts(name).T, strict=True))
    return pd.DataFrame({"label": np.take(CLASSES, TRUTH), **extra, **columns})


def long_table(**extra):
    return pd.concat([frame(name, model=name, **extra) for name in MODELS])


def write_csv_each(folder):
    for name in MODELS[1:]:
        frame(name).to_csv(folder / f"{name}.csv", index=False)
    (folder / "notes.txt").write_text("not predictions")
    (folder / ".hidden.csv").write_text("nor this")
    return folder, MODELS[1:]


def write_shuffled_parquet_each(folder):
    """Rows and columns in another order, which ids and names put right."""
    rng = np.random.default_rng(8)
    frame("forest", id=np.arange(N)).to_parquet(folder / "forest.parquet")
    shuffled = frame("naïve", id=np.arange(N)).iloc[rng.permutation(N)]
    shuffled[["cow", "id", "dog", "label", "cat"]].to_parquet(folder / "naïve.parquet", index=False)
    return [folder / "forest.parquet", folder / "naïve.parquet"], MODELS[1:]


def write_long_csv(folder):
    long_table().to_csv(folder / "zoo.csv", index=False)
    return folder / "zoo.csv", MODELS


def write_long_parquet(folder):
    long_table(id=np.arange(N)).sort_values("id", kind="stable").to_parquet(folder / "zoo.parquet", index=False)
    return folder / "zoo.parquet", MODELS


def stored(paths, folder):
    named = str(paths) if isinstance(paths, Path) else tuple(map(str, paths))
    return predict_all(DataSet("zoo", FilesZoo(named)), folder / "store")


WAYS = [write_csv_each, write_shuffled_parquet_each, write_long_csv, write_long_parquet]


@pytest.mark.parametrize("write", WAYS)
def test_every_format_makes_the_same_store(tmp_path, write):
    (tmp_path / "files").mkdir()
    paths, names = write(tmp_path / "files")
    store = stored(paths, tmp_path)
    assert store.classes == tuple(CLASSES)
    np.testing.assert_array_equal(store.truth, TRUTH)
    assert store.models == tuple(sorted(names))
    np.testing.assert_allclose(store.probabilities(names), [forecasts(name) for name in names], rtol=1e-6)
    assert store.unfinished(names) == []


def test_what_does_not_fit_together_is_said_with_its_file(tmp_path):
    frame("forest").to_csv(tmp_path / "a.csv", index=False)
    frame("forest").iloc[1:].to_csv(tmp_path / "short.csv", index=False)
    frame("forest").assign(label="cat").to_csv(tmp_path / "other.csv", index=False)
    frame("forest").assign(cat=2.0).to_csv(tmp_path / "wrong.csv", index=False)
    (tmp_path / "broken.csv").write_text("label,cat,dog,cow\ncat,0.5\n")
    frame("forest", weight=1.0).to_csv(tmp_path / "weighted.csv", index=False)
    (tmp_path / "again").mkdir()
    frame("naïve").to_csv(tmp_path / "again" / "a.csv", index=False)
    (tmp_path / "empty").mkdir()
    kept = stored([tmp_path / f"{name}.csv" for name in ("a", "short", "other", "wrong", "broken")], tmp_path)
    assert kept.models == ("a",)
    for name, words in {
        "short": r"short.csv has 19 rows but .*a.csv has 20",
        "other": "other.csv",
        "wrong": "wrong.csv line 2 contains 2, which is more than 1",
        "broken": "line 2 has 2 values but the header names 4 columns",
    }.items():
        assert re.search(words, kept.failures[name])
    both = f"{tmp_path / 'a.csv'} and {tmp_path / 'again' / 'a.csv'}"
    for paths, fields in [
        (["weighted.csv"], {"argument": "weight", "column": "weight", "place": str(tmp_path / "weighted.csv")}),
        (["a.csv", "again"], {"argument": "paths", "place": both, "value": "a"}),
        (["empty"], {"argument": "paths", "value": str(tmp_path / "empty")}),
        (["nowhere.csv"], {"argument": "paths", "says": "nowhere.csv cannot be read"}),
        ([], {"argument": "paths", "value": ()}),
    ]:
        with refused(**fields):
            FilesZoo(tuple(str(tmp_path / path) for path in paths)).target()


@pytest.mark.parametrize("write", [write_csv_each, write_long_parquet])
def test_a_zoo_of_files_reads_every_file_once(tmp_path, write, monkeypatch):
    paths, names = write(tmp_path)
    read, batches = [], existing.read_all_models
    monkeypatch.setattr(existing, "read_all_models", lambda models: read.append(len(models)) or batches(models))
    zoo = FilesZoo(str(paths))
    assert sorted(zoo.names()) == sorted(names)
    np.testing.assert_array_equal(zoo.target().truth, TRUTH)
    outcomes = {outcome.name: outcome.prediction for outcome in zoo.predict(zoo.names())}
    assert sum(read) == len(names)
    for name in names:
        np.testing.assert_allclose(outcomes[name].values, forecasts(name), rtol=1e-12)
    assert [outcome.name for outcome in zoo.predict(["forest"])] == ["forest"]  # and again, if asked again


def test_what_is_left_out_is_not_even_opened(tmp_path, monkeypatch):
    _, names = write_csv_each(tmp_path)
    (tmp_path / "secret.csv").write_text("nothing that could be read")
    zoo, opened, open_models = FilesZoo(str(tmp_path / "*.csv"), leave_out=("sec*",)), [], existing.open_models
    monkeypatch.setattr(
        existing, "open_models", lambda files, **options: opened.extend(files) or open_models(files, **options)
    )
    assert sorted(zoo.names()) == sorted([*names, "secret"])
    assert sorted(Path(path).stem for file in opened for path in file.paths) == sorted(names)


def test_rows_that_all_files_have_and_a_truth_of_its_own(tmp_path):
    """Against the same rows cut out by hand."""
    ids, names = [f"{row:03d}" for row in range(N)], MODELS[1:]
    for first, name in enumerate(names):
        frame(name, id=ids).drop(columns="label").iloc[first:].to_csv(tmp_path / f"{name}.csv", index=False)
    frame(names[0], id=ids)[["id", "label"]].to_csv(tmp_path / "truth.txt.csv", index=False)
    paths = tuple(str(tmp_path / f"{name}.csv") for name in names)
    zoo = FilesZoo(paths, truth=str(tmp_path / "truth.txt.csv"), common_rows=True)
    np.testing.assert_array_equal(zoo.target().truth, TRUTH[1:])
    for outcome in zoo.predict(zoo.names()):
        np.testing.assert_allclose(outcome.prediction.values, forecasts(outcome.name)[1:], rtol=1e-12)


def test_groups_of_rows_are_kept_with_the_labels(tmp_path):
    expected = np.arange(N) % 3
    long_table(week=[f"week {group}" for group in expected]).to_parquet(tmp_path / "zoo.parquet", index=False)
    zoo = FilesZoo(str(tmp_path / "zoo.parquet"), group="week")
    store = predict_all(DataSet("flu", zoo), tmp_path / "store")
    for groups in (zoo.target().groups, store.groups, Store.open(tmp_path / "store").groups):
        np.testing.assert_array_equal(groups, expected)
    with refused(argument="groups", row=0, place=str(tmp_path / "store")):
        Store.create(tmp_path / "store", TRUTH, store.classes, groups=np.roll(expected, 1))

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from pandora_regret import pandora_regret
from pandora_regret.study.zoos.tables import (
    TableZoo,
    add_noise,
    all_classifiers,
    read_labelled_table,
    sample_rows,
)
from pandora_regret.work import run_all

CHEAP = ["logistic C=0.01", "naive Bayes", "tree full", "neighbours 10", "SVM C=1"]
REAL = {"uci_steel.csv": 7, "uci_dermatology.csv": 6, "uci_Cardio.csv": 10, "soybean.arff": 19}


def values_of(zoo, name):
    [outcome] = zoo.predict([name])
    assert outcome.failure is None
    return outcome.prediction.values


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


# The zoo


def test_every_model_predicts_a_small_table_and_passes_the_door():
    zoo = TableZoo(data="wine", folds=3, noise=0.5)
    truth = zoo.target().truth
    for outcome in zoo.predict(zoo.names()):
        assert outcome.failure is None, outcome
        assert 0 <= pandora_regret(truth, outcome.prediction.values) <= 1


def test_models_are_chosen_by_name_and_pattern():
    zoo = TableZoo(models=["tree*", "forest 100"])
    assert set(zoo.names()) == {name for name in all_classifiers() if name.startswith("tree")} | {"forest 100"}
    assert TableZoo(models="forest 1*").names() == TableZoo(models=["forest 1*"]).names()
    with refused(argument="models", value="orchid"):
        TableZoo(models=["orchid"]).names()


# Out of fold


def test_a_row_is_prepared_and_forecast_without_the_others_of_its_fold(tmp_path):
    """One absurd number moves the forecasts of the other folds' rows, never those of its own."""
    rng = np.random.default_rng(2)
    cells = rng.normal(size=(60, 2))
    zoos = []
    for name, first in (("plain.csv", cells[0, 0]), ("absurd.csv", 1e6)):
        cells[0, 0] = first
        text = "\n".join(f"{x},{y},{i % 2}" for i, (x, y) in enumerate(cells))
        zoos.append(TableZoo(data=write(tmp_path, text, name), folds=3))
    changed = np.any(values_of(zoos[0], "logistic C=1") != values_of(zoos[1], "logistic C=1"), axis=1)
    assert np.sum(~changed) == 19  # its fold, but for itself
    assert changed[0]


def test_class_that_no_model_was_shown_has_probability_zero(tmp_path):
    rows = [f"{i % 2 + i / 100},{'ab'[i % 2]}" for i in range(30)] + ["9.0,rare"]
    zoo = TableZoo(data=write(tmp_path, "\n".join(rows)), folds=3)
    assert zoo.target().classes == ("a", "b", "rare")
    values = values_of(zoo, "naive Bayes")
    assert values[30, 2] == 0
    np.testing.assert_allclose(values.sum(axis=1), 1)
    assert pandora_regret(zoo.target().truth, values, per_instance=True)[30] > 0


# What is recorded


def test_model_that_raises_or_gives_nan_is_a_failure_and_the_next_one_goes_on(monkeypatch):
    broken = {"class": "svm.SVC", "C": -1.0}
    bayes = {"class": "naive_bayes.GaussianNB", "var_smoothing": 0.0, "temperature": 0.0}
    listed = all_classifiers() | {"broken": broken, "hopeless": bayes}
    monkeypatch.setattr("pandora_regret.study.zoos.tables.all_classifiers", lambda: listed)
    first, second, third = TableZoo(data="iris").predict(["broken", "hopeless", "naive Bayes"])
    assert first.prediction is None
    assert "InvalidParameterError: The 'C' parameter" in first.failure
    assert second.prediction is None
    assert "nan" in second.failure
    assert third.failure is None


# The same again


def test_same_seed_gives_the_same_bits_in_another_process():
    names = ["forest 5", "network 32 two epochs", "gradient descent hinge", "histogram boosting 10"]
    zoo = TableZoo(data="wine", folds=2, noise=0.5)
    for name, [elsewhere] in run_all(lambda name: list(zoo.predict([name])), names, jobs=2):
        np.testing.assert_array_equal(values_of(zoo, name), elsewhere.prediction.values)


def test_file_that_changes_is_read_again(tmp_path):
    path = write(tmp_path, "1,a\n2,b\n3,a\n4,b\n")
    zoo = TableZoo(data=path, folds=2)
    assert len(zoo.target().truth) == 4
    write(tmp_path, "1,a\n2,b\n3,a\n4,b\n5,b\n")
    assert len(zoo.target().truth) == 5


@pytest.mark.parametrize("setting", [{"folds": 1}, {"max_rows": 3}, {"noise": -1.0}, {"seed": -1}])
def test_impossible_setting_is_refused(setting):
    [(argument, value)] = setting.items()
    with refused(argument=argument, value=value):
        TableZoo(**setting)


# Tables as people have them


def test_names_and_missing_values_are_features_like_others(tmp_path):
    """Two kinds told apart by a number and by a colour; some cells are missing, some names occur once."""
    rng = np.random.default_rng(0)
    rows = ["width,colour,kind"]
    for i in range(60):
        width = "?" if i % 11 == 0 else f"{rng.normal(3 * (i % 2)):.3f}"
        colour = f"only{i}" if i % 15 == 0 else "" if i % 7 == 0 else ("red", "blue")[i % 2]
        rows.append(f"{width},{colour},{('rose', 'iris')[i % 2]}")
    zoo = TableZoo(data=write(tmp_path, "\n".join(rows)), folds=3)
    assert zoo.target().classes == ("iris", "rose")
    for name in CHEAP:
        assert np.mean(values_of(zoo, name).argmax(1) == zoo.target().truth) > 0.85


@pytest.mark.parametrize("file", REAL)
def test_real_tables_are_read_and_predicted(file):
    """PANDORA_DATA names a folder of real data; in its folder `tabular` are files of the UCI repository."""
    path = Path(os.environ.get("PANDORA_DATA", "")) / "tabular" / file
    if "PANDORA_DATA" not in os.environ or not path.is_file():
        pytest.skip(f"no tabular/{file} in the folder that PANDORA_DATA names")
    zoo = TableZoo(data=str(path), folds=3, max_rows=600)
    truth, classes = zoo.target().truth, zoo.target().classes
    assert len(classes) == REAL[file]
    values = values_of(zoo, "logistic C=1")
    assert np.mean(values.argmax(1) == truth) > 1.2 * np.bincount(truth).max() / len(truth)


def test_threads_of_one_process_do_not_disturb_each_other():
    """A Dask worker has several unless told otherwise; warnings and BLAS threads are the process's."""
    zoo, names = TableZoo(data="iris", folds=2), ["logistic C=1e+06 unfinished", "naive Bayes", "network 8"] * 3
    before = (warnings.showwarning, list(warnings.filters))
    with ThreadPoolExecutor(6) as threads:
        found = [outcome for [outcome] in threads.map(lambda name: list(zoo.predict([name])), names)]
    assert (warnings.showwarning, list(warnings.filters)) == before
    for outcome in found:
        [alone] = zoo.predict([outcome.name])
        assert outcome.prediction.metadata["notes"] == alone.prediction.metadata["notes"]
        np.testing.assert_array_equal(outcome.prediction.values, alone.prediction.values)


# The tables


@pytest.mark.parametrize("separator", [",", ";", "\t", "  "])
def test_table_without_names_keeps_its_first_row(tmp_path, separator):
    text = "1.5,2,7\n2.5,?,10\n3.5,4,7\n".replace(",", separator)
    table = read_labelled_table(write(tmp_path, text, "uci.data"))
    np.testing.assert_array_equal(table.features, [[1.5, 2], [2.5, np.nan], [3.5, 4]])
    assert table.classes == ("7", "10")  # in the order of numbers
    assert table.truth.tolist() == [0, 1, 0]


def test_first_row_of_names_is_told_from_a_first_row_of_values(tmp_path):
    values = write(tmp_path, "x,red,yes\nz,blue,no\ny,red,yes\n", "values.csv")
    names = write(tmp_path, "shape,colour,edible\nx,red,yes\nz,blue,no\ny,red,yes\n", "names.csv")
    assert len(read_labelled_table(values)) == len(read_labelled_table(names)) == 3


def test_label_is_found_by_name_by_number_or_as_the_last(tmp_path):
    path = write(tmp_path, "kind,size,side\na,1,left\nb,2,right\nc,3,left\n")
    assert read_labelled_table(path).classes == ("left", "right")
    assert read_labelled_table(path, "kind").classes == read_labelled_table(path, 0).classes == ("a", "b", "c")
    assert read_labelled_table(path, -2).classes == ("1", "2", "3")


def test_names_are_told_from_numbers_both_may_be_missing_and_parquet_holds_the_same(tmp_path):
    columns = {"width": [1.0, None, 3.0], "colour": ["red", None, "blue"], "kind": ["rose", "iris", "rose"]}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    text = write(tmp_path, "width,colour,kind\n1,red,rose\n?,,iris\n3,blue,rose\n", "same.csv")
    for path in (text, str(tmp_path / "table.parquet")):
        table = read_labelled_table(path)
        np.testing.assert_array_equal(table.named, [False, True])
        np.testing.assert_array_equal(table.features, [[1, 1], [np.nan, np.nan], [3, 0]])
        assert (table.truth.tolist(), table.classes) == ([1, 0, 1], ("iris", "rose"))


def test_arff_attributes_say_what_is_a_name(tmp_path):
    text = """% a comment
    @RELATION r
    @ATTRIBUTE 'code of place' {1, 2, 3}
    @attribute size\tREAL
    @ATTRIBUTE class {'big one', small}
    @DATA
    3, 1.5, 'big one'
    % another
    1, ?, small
    ?, 2.5, small
    """
    table = read_labelled_table(write(tmp_path, "\n".join(map(str.strip, text.splitlines())), "table.arff"))
    np.testing.assert_array_equal(table.named, [True, False])
    np.testing.assert_array_equal(table.features, [[1, 1.5], [0, np.nan], [np.nan, 2.5]])
    assert table.classes == ("big one", "small")


@pytest.mark.parametrize(
    ("text", "options", "fields"),
    [
        ("1,a\n2,b\n", {"label": 2}, {"argument": "label", "value": 2, "says": "below 2"}),
        ("a\nb\n", {}, {"argument": "data", "says": "nothing to predict"}),
        ("1,a\n2,?\n", {}, {"argument": "label", "row": 1, "column": "1"}),
        ("1,a\n2,a\n", {}, {"argument": "label", "column": "1", "value": "a"}),
        ("1,a\n2,b,c\n", {}, {"argument": "data", "row": 1, "value": 3}),
        ("inf,a\n2,b\n", {}, {"argument": "data", "row": 0, "column": "0", "value": np.inf}),
        ("x,x\n1,2\n", {}, {"argument": "data", "value": ["x", "x"]}),
        ("x,kind\n", {}, {"argument": "data", "value": ["x", "kind"]}),
    ],
)
def test_wrong_table_is_refused_with_the_reason(tmp_path, text, options, fields):
    with refused(**fields):
        read_labelled_table(write(tmp_path, text), **options)


def test_what_is_no_table_is_refused(tmp_path):
    with refused(argument="data", value=str(tmp_path / "nothing.csv"), says="(digits, wine"):
        read_labelled_table(str(tmp_path / "nothing.csv"))
    with refused(argument="data", place=str(tmp_path / "ragged.arff"), says="as CSV"):
        read_labelled_table(write(tmp_path, "@relation r\n@attribute a real\n@data\n1, 2\n", "ragged.arff"))


def test_sampled_rows_keep_the_shares_of_the_classes(tmp_path):
    classes = ["a"] * 80 + ["b"] * 19 + ["rare"]
    table = read_labelled_table(write(tmp_path, "\n".join(f"{i},{c}" for i, c in enumerate(classes))))
    few = sample_rows(table, 20, seed=0)
    assert np.bincount(few.truth).tolist() == [15, 4, 1]
    assert len(np.unique(few.features)) == 20
    np.testing.assert_array_equal(table.truth[few.features[:, 0].astype(int)], few.truth)


def test_noise_is_as_large_as_asked_and_leaves_names_alone(tmp_path):
    rows = [f"{i % 17},{'?' if i == 3 else 'rgb'[i % 3]},{i % 2}" for i in range(200)]
    table = read_labelled_table(write(tmp_path, "\n".join(rows)))
    noisy = add_noise(table, 2.0, seed=0)
    np.testing.assert_array_equal(noisy.features[:, 1], table.features[:, 1])
    moved = np.std(noisy.features[:, 0] - table.features[:, 0]) / np.std(table.features[:, 0])
    assert 1.7 < moved < 2.3


def test_decimals_are_numbers_and_a_column_of_lists_is_refused(tmp_path):
    prices = pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(5, 2))
    columns = {"price": prices, "lists": [[1], [2, 3], []], "y": ["a", "b", "a"]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with refused(argument="data", column="lists", says="holds list"):
        read_labelled_table(str(tmp_path / "t.parquet"))
    pq.write_table(pa.table(columns).drop_columns("lists"), tmp_path / "t.parquet")
    np.testing.assert_array_equal(
        read_labelled_table(str(tmp_path / "t.parquet")).features[:, 0], [1.5, 2.25, np.nan]
    )

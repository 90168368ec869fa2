import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

from pandora_regret import pandora_regret
from pandora_regret.inputs import InputError
from pandora_regret.study.zoos.tables import Classifier, TableZoo, all_classifiers
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


@pytest.fixture
def flowers(tmp_path):
    """Two kinds told apart by a number and by a colour; some cells are missing."""
    rng = np.random.default_rng(0)
    rows = ["width,colour,kind"]
    for i in range(60):
        kind = i % 2
        width = "?" if i % 11 == 0 else f"{rng.normal(3 * kind):.3f}"
        colour = "" if i % 7 == 0 else ("red", "blue")[kind]
        rows.append(f"{width},{colour},{('rose', 'iris')[kind]}")
    return write(tmp_path, "\n".join(rows) + "\n")


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
    with pytest.raises(InputError, match="'orchid', which no model is called"):
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
    broken = Classifier("broken", "test", {"class": "svm.SVC", "C": -1.0})
    bayes = {"class": "naive_bayes.GaussianNB", "var_smoothing": 0.0, "temperature": 0.0}
    known = all_classifiers() | {"broken": broken, "hopeless": Classifier("hopeless", "test", bayes)}
    monkeypatch.setattr("pandora_regret.study.zoos.tables.all_classifiers", lambda: known)
    first, second, third = TableZoo(data="iris").predict(["broken", "hopeless", "naive Bayes"])
    assert first.prediction is None
    assert "InvalidParameterError: The 'C' parameter" in first.failure
    assert second.prediction is None
    assert "nan" in second.failure
    assert third.failure is None


# The same again


def test_same_seed_gives_the_same_bits_in_another_process():
    names = [
        "forest 5",
        "network 32 two epochs",
        "gradient descent hinge",
        "logistic C=1",
        "histogram boosting 10",
    ]
    zoo = TableZoo(data="wine", folds=2, models=names, noise=0.5)
    here = {name: values_of(zoo, name) for name in names}

    def values(name):
        [outcome] = zoo.predict([name])
        return outcome.prediction.values

    for name, elsewhere in run_all(values, names, jobs=2):
        np.testing.assert_array_equal(here[name], elsewhere)


def test_file_that_changes_is_read_again(tmp_path):
    path = write(tmp_path, "1,a\n2,b\n3,a\n4,b\n")
    zoo = TableZoo(data=path, folds=2)
    assert len(zoo.target().truth) == 4
    write(tmp_path, "1,a\n2,b\n3,a\n4,b\n5,b\n")
    assert len(zoo.target().truth) == 5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"folds": 1}, "folds is 1"),
        ({"max_rows": 3}, "max_rows is 3"),
        ({"noise": -1.0}, "noise is -1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_impossible_setting_is_refused(setting, message):
    with pytest.raises(InputError, match=message):
        TableZoo(**setting)


# Tables as people have them


def test_names_and_missing_values_are_features_like_others(flowers):
    zoo = TableZoo(data=flowers, folds=3)
    assert zoo.target().classes == ("iris", "rose")
    for name in CHEAP:
        assert np.mean(values_of(zoo, name).argmax(1) == zoo.target().truth) > 0.85


def test_name_that_was_not_seen_while_fitting_is_no_failure(tmp_path):
    rows = [f"{'only' + str(i) if i % 5 == 0 else 'xy'[i % 2]},{i % 2}" for i in range(40)]
    assert values_of(TableZoo(data=write(tmp_path, "\n".join(rows))), "logistic C=0.01").shape == (40, 2)


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

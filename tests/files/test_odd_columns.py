"""Columns of odd types: labels of narrow integers, labels that may count from 0 or 1, nested and damaged data."""

import datetime

import numpy as np
import pytest
from prediction_files import cell_of, pa, pq, refusal, refused, whole

BASE = {"y_true": ["a", "b"], "a": [0.5, 0.5], "b": [0.5, 0.5]}


def parquet(tmp_path, **columns):
    pq.write_table(pa.table(BASE | columns), tmp_path / "odd.parquet")
    return tmp_path / "odd.parquet"


def npz(tmp_path, **arrays):
    np.savez(tmp_path / "odd.npz", **{"y_true": [0, 1, 2, 0], "y_proba": np.full((4, 3), 1 / 3)} | arrays)
    return tmp_path / "odd.npz"


@pytest.mark.parametrize("labels", [[1, 2, 1, 2], [1.0, 2.0, 2.0, 1.0], ["1", "2", "1", "2"], [1, 1, 1, 1]])
def test_labels_that_may_count_from_0_or_1_are_asked_about(tmp_path, labels):
    path = npz(tmp_path, y_true=np.array(labels))
    error = refusal(path)
    assert (error.argument, error.column) == ("classes", "y_true")
    assert "1 to" in str(error)
    numbers = np.array(labels, dtype=float).astype(int)
    np.testing.assert_array_equal(whole(path, classes=("0", "1", "2")).truth, numbers)
    np.testing.assert_array_equal(whole(path, classes=("1", "2", "3")).truth, numbers - 1)


def test_values_that_are_no_numbers_are_named(tmp_path):
    error = refusal(parquet(tmp_path, a=["0,5", "0,5"]), classes=("a", "b"))
    assert cell_of(error) == (0, "a", "0,5")
    assert "decimal point" in error.fix
    error = refusal(parquet(tmp_path, a=[datetime.date(2020, 1, 1)] * 2), classes=("a", "b"))
    assert cell_of(error) == (0, "a", "2020-01-01")


def test_names_of_models_are_all_there(tmp_path):
    assert cell_of(refusal(parquet(tmp_path, model=["m", ""]))) == (1, "model", None)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"y_true": np.zeros(4, complex)}, "array 'y_true' holds complex128"),
        ({"y_true": np.array([b"\xff"] * 4)}, "array 'y_true' holds bytes"),
        ({"y_true": np.full(4, 0x7FFFFFFF, np.uint32).view("<U1")}, "array 'y_true' holds bytes"),
        ({"classes": np.array("abc")}, "classes holds 'abc'"),
        ({"y_proba": np.ones((4, 1))}, "1 forecast column"),
    ],
)
def test_arrays_of_odd_types_are_refused(tmp_path, arrays, says):
    assert says in refused(npz(tmp_path, **arrays))

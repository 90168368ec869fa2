"""What columns stand for: labels, frames of any kind, and costs by name."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from pandora_regret import beta_score, expected_search_cost, pandora_regret, search_cost
from pandora_regret.core.inputs import InputTypeError

P = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
Y = np.array([0, 2, 1])
NAMES = ["cold", "flu", "hay fever"]
NAMED_Y = ["cold", "hay fever", "flu"]
COSTS = np.array([1.0, 2.0, 5.0])

FRAMES = {
    "pandas": pd.DataFrame,
    "pandas with arrow inside": lambda columns: pd.DataFrame(columns, dtype="float64[pyarrow]"),
    "pandas nullable": lambda columns: pd.DataFrame(columns, dtype="Float64"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
every_frame = pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)


def columns_of(table, names, order=(0, 1, 2)):
    return {names[k]: table[:, k] for k in order}


# --- y_true ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y_true", "row", "value", "says"),
    [
        ([0, 1], None, 2, "3 rows"),
        ([0, 3, 1], 1, 3, "labels="),
        ([0, -1, 1], 1, -1, "column numbers"),
        ([0, 2**70, 1], 1, 2**70, "column numbers"),
        (np.array([0, 2**63, 1], np.uint64), 1, 2**63, "column numbers"),
        (["a", "b", "c"], 0, "a", "labels=[...]"),
        ([0.0, 2.0, 1.0], 0, 0.0, "integers from 0"),
        ([0, None, 1], 1, None, "None"),
        ([0, np.nan, 1], 1, np.nan, "no label"),
        (np.array([0, [1, 2], 1], dtype=object), 1, [1, 2], "no label"),
        ([[0], [1, 2], [1]], None, None, "cannot be read"),
        (Y[:, None], None, (3, 1), "np.ravel(y_true)"),
        (np.zeros((3, 5)), None, (3, 5), "shape (3, 3)"),
        (None, None, (), "got None."),
        (pd.Series([0, pd.NA, 1], dtype="Int64"), 1, np.nan, "no label"),
        (pl.Series([0, None, 1]), 1, np.nan, "no label"),
        (pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02"])), 1, None, "no label"),
    ],
)
def test_labels_that_are_none(y_true, row, value, says):
    with refused(argument="y_true", row=row, value=value, says=says):
        pandora_regret(y_true, P)


@pytest.mark.parametrize(
    ("y_true", "row", "value"),
    [
        (["a", "d", "b"], 1, "d"),
        ([0, 2, 1], 0, 0),
    ],
)
def test_labels_outside_the_named_columns(y_true, row, value):
    with refused(argument="y_true", row=row, value=value, says="'a', 'b' and 'c'"):
        pandora_regret(y_true, P, labels=["a", "b", "c"])


# --- labels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "row", "value", "says"),
    [
        (["a", "b"], None, 2, "3 columns"),
        (["a", "b", "a"], None, "a", "twice"),
        ([0, 1, 1.0], None, 1.0, "1.0 twice"),
        ([0, "1", 1], None, 1, "1 twice"),
        (["a", None, "c"], 1, None, "None"),
        ([0, {}, 2], 1, None, "{}"),
        ([["a", "b", "c"]], None, [["a", "b", "c"]], "flat"),
    ],
)
def test_column_order_that_is_none(labels, row, value, says):
    with refused(argument="labels", row=row, value=value, says=says):
        pandora_regret(Y, P, labels=labels)


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array, tuple])
def test_labels_name_the_columns_in_order(wrap):
    assert pandora_regret(wrap(NAMED_Y), P, labels=wrap(NAMES)) == pandora_regret(Y, P)


@pytest.mark.parametrize("wrap", [list, np.array, pd.Series, pl.Series, pa.array])
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64, object])
def test_whole_numbers_of_any_kind_are_column_numbers(wrap, dtype):
    assert pandora_regret(wrap(Y.astype(dtype)), P) == pandora_regret(Y, P)


def test_true_and_false_are_the_two_columns():
    two = np.array([[0.75, 0.25], [0.5, 0.5]])
    expected = pandora_regret([1, 0], two)
    assert pandora_regret([True, False], two) == expected
    assert pandora_regret(np.array([True, False]), two, labels=[False, True]) == expected
    assert pandora_regret([True, False], pl.DataFrame({"True": two[:, 1], "False": two[:, 0]})) == expected


# --- frames ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", [[1, 0, 0], [0.5, "x", 0.2], [True, False, False]])
def test_a_frames_column_of_another_type_is_named(column):
    frame = pd.DataFrame(P, columns=list("abc")).assign(b=column)
    with refused(InputTypeError, argument="y_proba", column="b", says="dtype"):
        pandora_regret(list("acb"), frame)


@every_frame
def test_a_missing_probability(make):
    with refused(argument="y_proba", row=1, value=np.nan):
        pandora_regret(["a", "b"], make({"a": [0.5, None], "b": [0.5, 1.0]}))


def test_a_lazy_frame_has_no_rows_yet():
    with refused(InputTypeError, argument="y_proba", says="LazyFrame"):
        pandora_regret(["a"], pl.LazyFrame({"a": [0.5], "b": [0.5]}))


@pytest.mark.parametrize(
    ("names", "value", "says"),
    [
        (["cold", "flu", "gout"], ["hay fever"], "unexpected 'gout'"),
        (["cold", "flu"], ["hay fever"], "missing 'hay fever'; "),
        ([*NAMES, "id"], ["id"], ": unexpected 'id'"),
    ],
)
@every_frame
def test_columns_that_do_not_match_the_labels(make, names, value, says):
    with refused(argument="y_proba", value=value, says=says):
        pandora_regret(NAMED_Y, make(dict.fromkeys(names, P[:, 0])), labels=NAMES)


@pytest.mark.parametrize("labels", [None, NAMES])
def test_columns_that_share_a_name(labels):
    names = ["cold", "flu", "flu"]
    for frame in (pd.DataFrame(P, columns=names), pa.table(list(P.T), names=names)):
        with refused(argument="y_proba", says="'flu' 2 times"):
            pandora_regret(NAMED_Y, frame, labels=labels)
    with refused(argument="y_proba", value="1", says="twice"):
        pandora_regret(Y, pd.DataFrame(P, columns=[0, 1, "1"]), labels=labels)


@every_frame
@given(order=st.permutations(range(3)))
def test_columns_are_matched_by_name_never_by_position(make, order):
    frame = make(columns_of(P, NAMES, order))
    expected = pandora_regret(Y, P, per_instance=True)
    for labels in (None, NAMES, NAMES[::-1]):
        scored = pandora_regret(NAMED_Y, frame, labels=labels, per_instance=True)
        np.testing.assert_allclose(scored, expected, rtol=1e-15)


def test_the_coarsest_column_says_how_far_a_row_may_be_off():
    mixed = pd.DataFrame({"a": np.array([0.25], np.float16), "b": [0.751]})
    assert pandora_regret(["a"], mixed) > 0
    with refused(argument="y_proba", row=0, value=1.001, says="within 0.00035"):
        pandora_regret(["a"], mixed.astype(float))


# --- costs by name -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("costs", "row", "column", "value", "says"),
    [
        ({"a": 1, "b": 1}, None, None, ["c"], "missing 'c'"),
        ({"a": 1, "b": 1, "c": 1, "d": 1}, None, None, ["d"], "unexpected 'd'"),
        ({"a": 1, "b": -1, "c": 1}, None, "b", -1.0, "is -1"),
        (pd.Series([1, 2, 3], index=list("aba")), None, None, "a", "twice"),
        (pd.DataFrame({"c": [1.0] * 3, "a": [1, -4, 1], "b": [1] * 3}), 1, "a", -4.0, "is -4"),
        (pd.DataFrame({"a": [1.0] * 3, "b": [1] * 3}), None, None, ["c"], "missing 'c'"),
    ],
)
def test_costs_by_name_that_do_not_fit(costs, row, column, value, says):
    with refused(argument="costs", row=row, column=column, value=value, says=says):
        expected_search_cost(list("acb"), P, costs=costs, labels=list("abc"))


@pytest.mark.parametrize(
    "costs",
    [
        {"flu": 2, "cold": 1, "hay fever": 5.0},
        pd.Series([5, 2, 1], index=NAMES[::-1]),
        np.tile(COSTS, (3, 1)),
        *(make(columns_of(np.tile(COSTS, (3, 1)), NAMES, (1, 0, 2))) for make in FRAMES.values()),
        pl.Series(COSTS),
        (1, 2, 5),
    ],
    ids=lambda costs: type(costs).__name__,
)
def test_costs_by_name_or_in_column_order(costs):
    frame = pl.DataFrame(columns_of(P, NAMES, (2, 0, 1)))
    for score, name in ((beta_score, "max_costs"), (expected_search_cost, "costs"), (search_cost, "costs")):
        expected = score(Y, P, **{name: COSTS})
        assert score(NAMED_Y, P, **{name: costs}, labels=NAMES) == pytest.approx(expected, rel=1e-15)
        assert score(NAMED_Y, frame, **{name: costs}, labels=NAMES) == pytest.approx(expected, rel=1e-14)


# --- the index of pandas objects ---------------------------------------------------------------------------------

CASES = pd.DataFrame(P, index=["x", "y", "z"])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"y_true": pd.Series(Y, index=["z", "x", "y"])}, "y_true"),
        ({"y_true": Y, "sample_weight": pd.Series([1.0, 2.0, 3.0], index=["y", "x", "z"])}, "sample_weight"),
        ({"y_true": pd.DataFrame(np.eye(3)[Y], index=["x", "z", "y"])}, "y_true"),
    ],
)
def test_the_same_rows_in_another_order_are_an_error_that_says_how_to_sort_them(arguments, named):
    with refused(argument=named, says=f"pass {named}.loc[y_proba.index]"):
        pandora_regret(y_proba=CASES, **arguments)
    sorted_again = {k: v.loc[CASES.index] if k == named else v for k, v in arguments.items()}
    assert pandora_regret(y_proba=CASES, **sorted_again) > 0

from decimal import Decimal

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.parquet as pq

from pandora_regret.inputs import InputError
from pandora_regret.study.zoos.tables import add_noise, read_labelled, sample_rows


def write(folder, text, name="table.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_names_are_told_from_numbers_and_both_may_be_missing(tmp_path):
    table = read_labelled(write(tmp_path, "width,colour,kind\n1,red,a\n?,blue,b\n3,,a\n0.5,red,b\n"))
    np.testing.assert_array_equal(table.named, [False, True])
    np.testing.assert_array_equal(table.features, [[1, 1], [np.nan, 0], [3, np.nan], [0.5, 1]])


@pytest.mark.parametrize("separator", [",", ";", "\t", "  "])
def test_table_without_names_keeps_its_first_row(tmp_path, separator):
    text = "1.5,2,7\n2.5,?,10\n3.5,4,7\n".replace(",", separator)
    table = read_labelled(write(tmp_path, text, "uci.data"))
    np.testing.assert_array_equal(table.features, [[1.5, 2], [2.5, np.nan], [3.5, 4]])
    assert table.classes == ("7", "10")  # in the order of numbers
    assert table.truth.tolist() == [0, 1, 0]


def test_first_row_of_names_is_told_from_a_first_row_of_values(tmp_path):
    values = write(tmp_path, "x,red,yes\nz,blue,no\ny,red,yes\n", "values.csv")
    names = write(tmp_path, "shape,colour,edible\nx,red,yes\nz,blue,no\ny,red,yes\n", "names.csv")
    assert len(read_labelled(values)) == len(read_labelled(names)) == 3
    assert len(read_labelled(values, header=True)) == 2
    assert len(read_labelled(names, header=False)) == 4


def test_label_is_found_by_name_by_number_or_as_the_last(tmp_path):
    path = write(tmp_path, "kind,size,side\na,1,left\nb,2,right\nc,3,left\n")
    assert read_labelled(path).classes == ("left", "right")
    assert read_labelled(path, "kind").classes == read_labelled(path, 0).classes == ("a", "b", "c")
    assert read_labelled(path, -2).classes == ("1", "2", "3")
    assert read_labelled(path, without=["kind"]).features.tolist() == [[1], [2], [3]]


def test_parquet_holds_the_same_table_as_csv(tmp_path):
    columns = {"width": [1.0, None, 3.0], "colour": ["red", None, "blue"], "kind": ["rose", "iris", "rose"]}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    other = read_labelled(write(tmp_path, "width,colour,kind\n1,red,rose\n,,iris\n3,blue,rose\n", "same.csv"))
    table = read_labelled(str(tmp_path / "table.parquet"))
    np.testing.assert_array_equal(table.features, other.features)
    assert (table.truth.tolist(), table.classes) == (other.truth.tolist(), other.classes)


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
    table = read_labelled(write(tmp_path, "\n".join(map(str.strip, text.splitlines())), "table.arff"))
    np.testing.assert_array_equal(table.named, [True, False])
    np.testing.assert_array_equal(table.features, [[1, 1.5], [0, np.nan], [np.nan, 2.5]])
    assert table.classes == ("big one", "small")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1,a\n2,b\n", {"label": "kind"}, "label is 'kind'"),
        ("1,a\n2,b\n", {"label": 2}, "label is 2"),
        ("1,a\n2,b\n", {"without": [0]}, "without leaves no column"),
        ("1,a\n2,?\n", {}, "'1' is missing in row 1"),
        ("1,a\n2,a\n", {}, "one class only, 'a'"),
        ("1,a\n2,b,c\n", {}, "row 1 has 3 values, but there are 2 columns"),
        ("inf,a\n2,b\n", {}, "'0' is infinite in row 0"),
        ("x,x\n1,2\n", {}, "two columns of one name"),
        ("x,kind\n", {}, "no rows"),
        ("", {}, "no rows"),
    ],
)
def test_wrong_table_is_refused_with_the_reason(tmp_path, text, options, message):
    with pytest.raises(InputError, match=message):
        read_labelled(write(tmp_path, text), **options)


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no file: correct the path, or name a bundled data set \(digits, wine"):
        read_labelled(str(tmp_path / "nothing.csv"))
    with pytest.raises(InputError, match="does not begin as Parquet does"):
        read_labelled(write(tmp_path, "no parquet", "table.parquet"))
    with pytest.raises(InputError, match="save the table as CSV"):
        read_labelled(write(tmp_path, "@relation r\n@attribute a real\n@data\n1, 2\n", "ragged.arff"))


def test_sampled_rows_keep_the_shares_of_the_classes(tmp_path):
    classes = ["a"] * 80 + ["b"] * 19 + ["rare"]
    table = read_labelled(write(tmp_path, "\n".join(f"{i},{c}" for i, c in enumerate(classes))))
    few = sample_rows(table, 20, seed=0)
    assert np.bincount(few.truth).tolist() == [15, 4, 1]
    assert len(np.unique(few.features)) == 20
    np.testing.assert_array_equal(table.truth[few.features[:, 0].astype(int)], few.truth)


def test_noise_is_as_large_as_asked_and_leaves_names_alone(tmp_path):
    rows = [f"{i % 17},{'?' if i == 3 else 'rgb'[i % 3]},{i % 2}" for i in range(200)]
    table = read_labelled(write(tmp_path, "\n".join(rows)))
    noisy = add_noise(table, 2.0, seed=0)
    np.testing.assert_array_equal(noisy.features[:, 1], table.features[:, 1])
    moved = np.std(noisy.features[:, 0] - table.features[:, 0]) / np.std(table.features[:, 0])
    assert 1.7 < moved < 2.3


def test_decimals_are_numbers_and_a_column_of_lists_is_refused(tmp_path):
    prices = pa.array([Decimal("1.50"), Decimal("2.25"), None], pa.decimal128(5, 2))
    columns = {"price": prices, "lists": [[1], [2, 3], []], "y": ["a", "b", "a"]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"'lists' holds list.*: it must hold numbers or names"):
        read_labelled(str(tmp_path / "t.parquet"))
    pq.write_table(pa.table(columns).drop_columns("lists"), tmp_path / "t.parquet")
    np.testing.assert_array_equal(read_labelled(str(tmp_path / "t.parquet")).features[:, 0], [1.5, 2.25, np.nan])

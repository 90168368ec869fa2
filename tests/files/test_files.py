"""Prediction files: every format and layout gives the same rows."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from prediction_files import FORMATS, opened, pa, pq, refused, table, whole, write

from pandora_regret.files import Layout, open_predictions, read_all, read_row
from pandora_regret.files.writing import write_again


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_batches_and_fragments_are_the_whole_in_order(tmp_path, ending, rows):
    path = write(tmp_path / f"model{ending}", {"id": [f"r{n}" for n in range(20)], **table()})
    predictions = opened(path)
    everything = read_all(predictions)
    for pieces in ([predictions], predictions.fragments()):
        pieces = pickle.loads(pickle.dumps(pieces))
        batches = [batch for piece in pieces for batch in piece.batches(rows)]
        assert all(len(batch) <= rows for batch in batches)
        starts = np.cumsum([0, *map(len, batches)])
        assert [batch.first_row for batch in batches] == starts[:-1].tolist()
        for name in ("truth", "values", "ids"):
            joined = np.concatenate([getattr(batch, name) for batch in batches])
            np.testing.assert_array_equal(joined, getattr(everything, name))
        for batch, start in zip(batches, starts, strict=False):
            assert batch.place(0) == everything.place(start)


def test_a_format_is_told_by_content(tmp_path):
    for ending in (".csv", ".csv.gz", ".parquet", ".npz", ".stream.arrow"):
        os.rename(write(tmp_path / f"a{ending}", table()), tmp_path / "forecasts.txt")
        np.testing.assert_allclose(whole(tmp_path / "forecasts.txt").values[:, 0], table()["cat"])


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".npz"])
@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (("cat", "dog"), ["dog", "cat"]),
        (("cat", "dog"), [1, 0]),
        (("cat", "dog"), ["1", "0"]),
        (("cat", "dog"), [1.0, 0.0]),
        (("7", "3"), [3, 7]),
        (("7", "3"), ["3", "7"]),
        (("1", "0"), [0, 1]),
        (("True", "False"), [False, True]),
        (("-100", "100"), [100, -100]),
        (("01", "1"), ["1", "01"]),
        (("1e0", "1.0"), ["1.0", "1e0"]),
        (("a, b", 'ä"b'), ['ä"b', "a, b"]),
    ],
)
def test_labels_are_names_or_numbers(tmp_path, ending, classes, labels):
    columns = {"label": labels, classes[0]: [0.25, 0.5], classes[1]: [0.75, 0.5]}
    assert whole(write(tmp_path / f"a{ending}", columns)).truth.tolist() == [1, 0]


def test_a_prefix_or_a_list_says_which_columns_are_classes(tmp_path):
    columns = {"age": [50, 60], "target": ["b", "a"], "p_a": [0.2, 0.5], "p_b": [0.3, 0.25], "p_c": [0.5, 0.25]}
    path = write(tmp_path / "a.csv", columns)
    batch = whole(path, proba_prefix="p_")
    assert batch.classes == ("a", "b", "c")  # in file order, one of them without any row
    assert batch.truth.tolist() == [1, 0]
    plain = write(tmp_path / "b.csv", {name.removeprefix("p_"): values for name, values in columns.items()})
    assert whole(plain, classes=("c", "b", "a")).classes == ("a", "b", "c")
    assert "--proba-prefix" in refused(path)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_model_column_gives_several_predictions(tmp_path, ending):
    first, second = table(6, 1), table(6, 2)
    mixed = {name: np.stack([first[name], second[name]], axis=1).ravel() for name in first}
    mixed["model"] = ["one", "two"] * 6
    path = write(tmp_path / f"both{ending}", mixed)
    found = open_predictions(path)
    assert [one.name for one in found] == ["one", "two"]
    for one, columns in zip(found, (first, second), strict=True):
        batch = read_all(one)
        np.testing.assert_array_equal(batch.values[:, 0], columns["cat"])
        pieces = one.fragments()
        assert [piece.first_row for piece in pieces] == np.cumsum([0, *(p.count() for p in pieces)])[:-1].tolist()
        assert sum(piece.count() for piece in pieces) == 6
    lines = {".parquet": "row 3"}.get(ending, "line 4" if ending == ".csv" else "line 3")
    assert read_all(found[0]).place(1) == f"{path} {lines}"


def test_parts_are_read_as_one_file(tmp_path):
    columns = {"id": [f"r{n}" for n in range(20)], **table()}
    one = whole(write(tmp_path / "a.parquet", columns))
    head, tail = ({name: values[cut] for name, values in columns.items()} for cut in (slice(0, 9), slice(9, 20)))
    backwards = dict(reversed(list(tail.items())))  # columns are matched by name
    parts = [write(tmp_path / "part1.csv", head), write(tmp_path / "part2.jsonl", backwards)]
    predictions = opened(parts)
    assert predictions.name == "part1"
    joined = read_all(predictions)
    for name in ("truth", "values", "ids"):
        np.testing.assert_array_equal(getattr(joined, name), getattr(one, name))
    assert joined.place(9) == f"{parts[1]} line 1"
    without = {name: values for name, values in tail.items() if name != "dog"}
    assert "'dog'" in refused([parts[0], write(tmp_path / "c.csv", without)])
    del tail["id"]
    assert "'id'" in refused([parts[0], write(tmp_path / "b.csv", tail)])


def test_rows_are_rescaled_and_counted_where_that_is_asked_for(tmp_path):
    columns = {"id": [1, 2, 3], "a": [0.5, 0.25, 0.5], "b": [0.496, 0.75, 0.504]}
    path = write(tmp_path / "p.csv", columns)
    truth = write(tmp_path / "truth.csv", {"id": [1, 2, 3], "label": ["a", "b", "a"]})
    assert whole(path, truth=truth, normalise=True).changes.rescaled.rows == 2
    for row, count in ((1, [1]), (2, [])):
        assert [
            remark.count for remark in read_row(path, row, Layout(classes=("a", "b"), normalise=True)).remarks
        ] == count


def test_what_a_file_holds_beside_forecasts_is_written_again(tmp_path):
    frame = pd.DataFrame(table()).rename_axis("picture")
    arrow = pa.Table.from_pandas(frame)
    vectors = pa.FixedSizeListArray.from_arrays(np.arange(4.0 * len(frame)), 4)
    pq.write_table(arrow.append_column("vector", vectors), tmp_path / "p.parquet")
    write_again(opened(tmp_path / "p.parquet"), tmp_path / "q.parquet", lambda batch: batch.values)
    again = pd.read_parquet(tmp_path / "q.parquet")
    pd.testing.assert_frame_equal(again[list(frame)], frame)
    assert again["vector"].iloc[1].tolist() == [4.0, 5.0, 6.0, 7.0]


def test_a_byte_order_mark_and_empty_lines_are_fine(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf\r\ny_true,a,b\r\na,0.5,0.5\r\n\r\nb,0.5,0.5\r\n\r\n")
    batch = whole(path)
    assert batch.truth.tolist() == [0, 1]
    assert batch.place(1) == f"{path} line 5"
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"y_true": "a", "a": 0.5, "b": 0.5}\n\n{"y_true": "b", "a": 1, "b": 0}')
    assert whole(path).values.tolist() == [[0.5, 0.5], [1.0, 0.0]]

"""Prediction files that cannot be read: what is wrong is said with its place."""

import numpy as np
import pytest
from prediction_files import cell_of, pa, pq, refusal, refused, text_file, write

from pandora_regret.core.inputs import InputError
from pandora_regret.files import Layout, open_predictions
from pandora_regret.files.opening import read_truth_file


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("y_true,a,b\na,0.5,0.5\nb,,1\n", ["line 3", "'a'", "has no value"]),
        ("y_true,a,b\na,0.5,0.5\n\n,0,1\n", ["line 4", "'y_true'", "no value"]),
        ("y_true,a,b\na,0.5,0.5\nb,half,0.5\n", ["line 3", "'a'", "'half'", "number"]),
        ("y_true,a,b\na,0.5,0.5\nb,0.5\n", ["line 3", "2 values", "3 columns"]),
        ("y_true,a,a\na,0.5,0.5\n", ["'a'", "twice"]),
        ("y_true,a,\na,0.5,0.5\n", ["column 3", "no name"]),
        ("y_true,a,b\n", ["no rows"]),
        ("y_true a b\na 0.5 0.5\n", ["single column", "--separator"]),
        ("truth,a,b\na,0.5,0.5\n", ["no label column", "y_true", "--label", "--truth"]),
        ("y_true,a,b\na,0.5,0.5\nb,0.5,0.5\nc,0.5,0.5\n", ["line 4", "'c'", "choose from a, b"]),
        ("y_true,a\na,1\n", ["1 forecast column "]),
        ("id,y_true,a,b\n1,a,0.5,0.5\n1,b,0.5,0.5\n", ["line 3", "id 1", "line 2"]),
        ("id,y_true,a,b\n,a,0.5,0.5\n1,b,0.5,0.5\n", ["line 2", "'id'", "no value"]),
        ("y_true,a,b\na,0.5,0.5\nb,50,50\n", ["line 3", "percentages"]),
        ("y_true,a,b\na,0.5,0.5\nb,-0.5,1.5\n", ["line 3", "negative"]),
        ("y_true,a,b\na,0.5,0.5\nb,0.5,0.4\n", ["line 3", "sums to 0.9"]),
        ("y_true,weight,a,b\na,-1,0.5,0.5\nb,1,0.5,0.5\n", ["line 2", "'weight'", "-1"]),
        ("y_true,ä,b\nb,0.5,0.5\n\udcff,0.5,0.5\n", ["line 3", "UTF-8", "--encoding"]),
        ("", ["empty (0 bytes)"]),
        ("y_true,age,a,b\na,44,0.5,0.5\nb,55,0.5,0.5\n", ["'age'", "--proba-prefix", "--classes"]),
        (
            '{"y_true": "a", "a": 0.5, "b": 0.5}\n{"y_true": "b", "a": "half", "b": 0.5}\n',
            ["line 2", "'a'", "'half'", "number"],
        ),
        ('{"y_true": "a", "a": 0.5, "b": 0.5}\n{"y_true": "b", "a": \n', ["line 2", "no JSON object"]),
        ('{"y_true": "a", "a": 0.5, "b": 0.5}\n{"y_true": "b", "b": 1}\n', ["line 2", "'a'", "no value"]),
        ('{"y_true": "a", "a": 0.5, "b": 0.5}\n{"y_true": null, "a": 0, "b": 1}\n', ["line 2", "'y_true'"]),
        ("\n\n", ["no rows"]),
        (
            'y_true,a,b,note\na,0.5,0.5,"5" nails\nb,0.5,0.5,\n',
            ["line 2", "expected after", "double quotation marks"],
        ),
        ("y_true,a,b\ra,0.5,0.5\rb,0.5,0.5\r", ["line 1", "new-line character"]),
    ],
)
def test_what_is_wrong_with_a_text_is_said_with_its_place(tmp_path, text, says):
    path = text_file(tmp_path, text, ".jsonl" if text.startswith(("{", "\n")) else ".csv")
    message = refused(path)
    assert message.startswith(path)
    for word in says:
        assert word in message


def test_missing_values_in_typed_files_are_said_with_their_row(tmp_path):
    columns = {"y_true": ["a", "b", "a"], "a": [0.5, None, 0.5], "b": [0.5, 0.5, 0.5]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    error = refusal(tmp_path / "a.parquet")
    assert (cell_of(error), error.where) == ((1, "a", None), " row 2, column 'a'")
    error = refusal(write(tmp_path / "b.arrow", columns | {"a": [0.5, 0.5, float("nan")]}))
    assert (cell_of(error), error.where) == ((2, "a", None), " row 3, column 'a'")


def test_a_long_table_without_labels_is_told_what_reads_it(tmp_path):
    columns = {"bug": [1, 1], "method": ["f", "g"], "score": [0.5, 0.25], "is_bug": [1, 0]}
    assert "--candidate" in refusal(write(tmp_path / "a.csv", columns)).fix
    del columns["method"]
    assert "--candidate" not in refusal(write(tmp_path / "b.csv", columns)).fix


def test_archives_of_objects_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", y_true=np.array(["a", None], dtype=object), y_proba=np.full((2, 2), 0.5))
    assert "Object arrays" in refused(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", y_true=[0, 1, 1], y_proba=np.full((2, 2), 0.5))
    assert refusal(tmp_path / "b.npz").column == "y_true"
    np.savez(tmp_path / "c.npz", y_true=[0, 1], y_proba=np.full((2, 2), 0.5), classes=["a", "b", "c"])
    assert refusal(tmp_path / "c.npz").where == ": classes"
    np.savez(tmp_path / "d.npz", y_proba=np.full((2, 2), 0.5))
    assert refusal(tmp_path / "d.npz").argument == "label"
    np.savez(tmp_path / "e.npz", y_true=[0, 1])
    assert "y_proba" in refusal(tmp_path / "e.npz").fix


def test_columns_that_were_asked_for_must_be_there(tmp_path):
    path = write(tmp_path / "a.csv", {"y_true": ["a", "b"], "a": [0.5, 0.5], "b": [0.5, 0.5]})
    for role in ("label", "id", "weight", "group", "model"):
        assert refusal(path, **{role: "nowhere"}).argument == role
    assert "'c'" in refused(path, classes=("a", "c"))
    assert refusal(path, classes=("a", "c")).argument == "classes"
    assert "twice" in refused(path, classes=("a", "a", "b"))
    assert "'cost_a' and 'cost_b'" in refused(path, cost_prefix="cost_")
    assert refusal(path, proba_prefix="p_").argument == "proba_prefix"
    with pytest.raises(InputError) as caught:
        open_predictions([])
    assert caught.value.argument == "path"
    with pytest.raises(InputError, match="no label column"):
        read_truth_file(Layout(truth=write(tmp_path / "b.csv", {"id": [1], "truth": ["a"]}), unlabelled=True))

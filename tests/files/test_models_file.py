"""Which files hold which model: named on the command line, or described in a TOML file."""

import json
from contextlib import nullcontext

import numpy as np
import pytest
from prediction_files import CLASSES, table, write

from pandora_regret.core.inputs import InputError
from pandora_regret.files import Layout, open_models, read_all_models, read_models_argument


def described(tmp_path, text, **layout):
    path = tmp_path / "models.toml"
    path.write_text(text)
    return read_models_argument([str(path)], Layout(**layout))


def test_one_model_is_named_before_an_equals_sign(tmp_path):
    for column, both in ((["a"] * 20, False), (["a", "b"] * 10, True)):
        files = read_models_argument([f"Net={write(tmp_path / 'n.csv', table() | {'model': column})}"], Layout())
        with pytest.raises(InputError, match="'Net'") if both else nullcontext():
            assert [model.name for model in open_models(files)] == ["Net"]


def test_a_file_describes_models_each_in_its_own_way(tmp_path):
    (tmp_path / "runs").mkdir()
    columns = table()
    write(tmp_path / "runs" / "b.csv", {name: values[10:] for name, values in columns.items()})
    write(tmp_path / "runs" / "a.csv", {name: values[:10] for name, values in columns.items()})
    others = {"truth": columns["y_true"], "case": list(range(20))}
    others |= {f"P({name})": columns[name] for name in CLASSES}
    write(tmp_path / "other.csv", others)
    mapping = ", ".join(f'"{name}" = "P({name})"' for name in CLASSES)
    files = described(
        tmp_path,
        f"""
        [[models]]
        name = "Parts"
        path = "runs/*.csv"
        [[models]]
        name = "Columns"
        path = ["other.csv"]
        label = "truth"
        id = "case"
        columns = {{ {mapping} }}
        """,
    )
    assert [path.rpartition("/")[2] for path in files[0].paths] == ["a.csv", "b.csv"]
    first, second = read_all_models(open_models(files))
    np.testing.assert_array_equal(first.values, second.values)
    np.testing.assert_array_equal(first.truth, second.truth)
    assert second.ids.tolist() == list(range(20))


def test_options_are_defaults_that_a_model_may_change(tmp_path):
    text = '[[models]]\nname = "a"\npath = "a.csv"\n[[models]]\nname = "b"\npath = "b.csv"\nlogits = true\n'
    text += 'separator = "semicolon"\nlabel = "other"\n'
    first, second = described(tmp_path, text, label="truth", proba_prefix="p_", normalise=True)
    assert (first.layout.label, first.layout.logits, first.layout.proba_prefix) == ("truth", False, "p_")
    assert (second.layout.label, second.layout.logits, second.layout.proba_prefix) == ("other", True, "p_")
    assert (first.layout.dialect.separator_mark, second.layout.dialect.separator_mark) == (None, ";")
    assert second.layout.normalise


def model_table(**keys):
    """A table of a model, as it stands in a file: these keys, and else a name and a path."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in ({"name": "a", "path": "a.csv"} | keys).items()]
    return "\n".join(["[[models]]", *lines])


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        (model_table(lable="x"), "x", ["lable", "'label'"]),
        ('[[models]]\npath = "a.csv"', None, ["models[0]", "name"]),
        ('[[models]]\nname = "a"', None, ["models[0]", "path"]),
        (model_table(path=3), 3, ["models[0].path"]),
        (model_table(path="none*.csv"), "none*.csv", ["path", "'a'"]),
        (model_table(path=[]), (), ["path", "'a'"]),
        (model_table(separator="::"), "::", ["models[0].separator"]),
        ("# nothing", None, ["[[models]]"]),
        ('models = "a.csv"', "a.csv", ["models is"]),
        (model_table() + "\n[other]\nx = 1", {"x": 1}, ["other"]),
        ("[[models]\n", None, ["TOML"]),
        ("models = [1]", 1, ["models[0]"]),
    ],
)
def test_what_is_wrong_with_the_file_is_one_sentence(tmp_path, text, value, words):
    with pytest.raises(InputError) as caught:
        described(tmp_path, text)
    assert caught.value.value == value
    for word in words:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_stands_at_the_top_is_of_all_models_and_of_the_truth(tmp_path):
    write(tmp_path / "cases.csv", {"case": ["01", "02"], "dx": ["a", "b"]})
    write(tmp_path / "net.csv", {"case": ["01", "02"], "a": [0.5, 0.5], "b": [0.5, 0.5]})
    write(tmp_path / "vendor.csv", {"no": [2, 1], "a": [0.5, 0.25], "b": [0.5, 0.75]})
    top = 'truth = "cases.csv"\nid = "case"\nlabel = "dx"\n'
    models = '[[models]]\nname = "Vendor"\npath = "vendor.csv"\nid = "no"\nids_as_numbers = true\n'
    models += '[[models]]\nname = "Net"\npath = "net.csv"\n'
    files = described(tmp_path, top + models)
    assert [(model.layout.id, model.layout.label) for model in files] == [("no", "dx"), ("case", "dx")]
    vendor, net = read_all_models(open_models(files))
    assert (vendor.ids.tolist(), net.ids.tolist()) == ([2, 1], [1, 2])
    assert (vendor.truth.tolist(), net.truth.tolist()) == ([1, 0], [0, 1])


def test_an_option_goes_before_what_stands_at_the_top(tmp_path):
    files = described(tmp_path, 'id = "case"\nlabel = "dx"\n' + model_table(), id="patient")
    assert (files[0].layout.id, files[0].layout.label) == ("patient", "dx")


def test_the_truth_is_read_as_all_models_are_not_as_the_first(tmp_path):
    (tmp_path / "cases.csv").write_text("id,dx\n1,a\n2,b\n")
    (tmp_path / "net.csv").write_text("id;a;b\n1;0,5;0,5\n2;0,5;0,5\n")
    text = 'truth = "cases.csv"\nlabel = "dx"\n' + model_table(path="net.csv", separator=";", decimal=",")
    [net] = read_all_models(open_models(described(tmp_path, text)))
    assert net.truth.tolist() == [0, 1]

"""Which files hold which model: named on the command line, or described in a TOML file."""

from contextlib import nullcontext

import numpy as np
import pytest
from prediction_files import CLASSES, table, write

from pandora_regret.core.inputs import InputError
from pandora_regret.files import Layout, open_models, read_models, read_models_argument


def described(tmp_path, text, **layout):
    path = tmp_path / "models.toml"
    path.write_text(text)
    return read_models_argument([str(path)], Layout(**layout))


def test_one_model_is_named_before_an_equals_sign(tmp_path):
    for column, both in ((["a"] * 20, False), (["a", "b"] * 10, True)):
        files = read_models_argument([f"Net={write(tmp_path / 'n.csv', table() | {'model': column})}"], Layout())
        with pytest.raises(InputError, match="without the name 'Net'") if both else nullcontext():
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
    first, second = read_models(open_models(files))
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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[[models]]\nname = "a"\npath = "a.csv"\nlable = "x"',
            r"lable is not a key of the format: did you mean 'label'",
        ),
        ('[[models]]\npath = "a.csv"', r"models\[0\].*name"),
        ('[[models]]\nname = "a"', r"models\[0\].*path"),
        ('[[models]]\nname = "a"\npath = 3', r"models\[0\]\.path is 3"),
        (
            '[[models]]\nname = "a"\npath = "none*.csv"',
            r"path of model 'a' is .*no file is called like",
        ),
        ('[[models]]\nname = "a"\npath = []', r"path of model 'a' is "),
        ('[[models]]\nname = "a"\npath = "a.csv"\nseparator = "::"', r"models\[0\]\.separator is '::'"),
        ("# nothing", r"lists no models: write one \[\[models\]\] table per model"),
        ('models = "a.csv"', r"models is 'a.csv'"),
        ('[[models]]\nname = "a"\npath = "a.csv"\n[other]\nx = 1', r"other is not a key"),
        ("[[models]\n", r"not valid TOML"),
        ("models = [1]", r"models\[0\]"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        described(tmp_path, text)

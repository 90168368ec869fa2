"""Which files hold which model: named on the command line, or described in a TOML file."""

import numpy as np
import pytest
from prediction_files import CLASSES, table, write

from pandora_regret.files import Layout, open_models, read_models, read_models_argument
from pandora_regret.inputs import InputError


def described(tmp_path, text, **layout):
    path = tmp_path / "models.toml"
    path.write_text(text)
    return read_models_argument([str(path)], Layout(**layout))


def test_models_are_named_before_an_equals_sign(tmp_path):
    path = write(tmp_path / "deep.csv", table())
    [model] = open_models(read_models_argument([f"Deep net={path}"], Layout()))
    assert model.name == "Deep net"


def test_a_file_whose_name_has_an_equals_sign_is_a_file(tmp_path):
    path = write(tmp_path / "seed=7.csv", table())
    [model] = open_models(read_models_argument([str(path)], Layout()))
    assert model.name == "seed=7"


def test_a_name_is_for_one_model(tmp_path):
    path = write(tmp_path / "two.csv", table() | {"model": ["a", "b"] * 10})
    with pytest.raises(InputError, match=r"holds the models .*: pass the file without the name 'both'"):
        open_models(read_models_argument([f"both={path}"], Layout()))


def test_two_models_of_one_name_are_an_error():
    with pytest.raises(InputError, match=r"two models are called 'x': give each a name of its own"):
        read_models_argument(["x=a.csv", "y=b.csv", "x=c.csv"], Layout())


def test_a_column_that_is_not_there_is_named_with_its_class(tmp_path):
    write(tmp_path / "a.csv", table())
    mapping = ", ".join(f'"{name}" = "{name}"' for name in CLASSES[1:])
    text = f'[[models]]\nname = "a"\npath = "a.csv"\ncolumns = {{ "{CLASSES[0]}" = "p_x", {mapping} }}'
    with pytest.raises(InputError, match=f"has no column 'p_x' for the class '{CLASSES[0]}'; it has"):
        open_models(described(tmp_path, text))


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
    assert (first.layout.dialect.separator, second.layout.dialect.separator) == (None, ";")
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
            r"models\[0\]\.path is .*no file is called like",
        ),
        ('[[models]]\nname = "a"\npath = []', r"models\[0\]\.path is "),
        ('[[models]]\nname = "a"\npath = "a.csv"\nseparator = "::"', r"models\[0\]\.separator is '::'"),
        ("# nothing", r"lists no models: write one \[\[models\]\] table per model"),
        ('models = "a.csv"', r"models is 'a.csv'"),
        ('[[models]]\nname = "a"\npath = "a.csv"\n[other]\nx = 1', r"other is not a key"),
        ("[[models]\n", r"not valid TOML"),
        ('[[models]]\nname = "a"\npath = "a.csv"\n' * 2, r"two models are called 'a'"),
        ("models = [1]", r"models\[0\]"),
    ],
)
def test_what_is_wrong_with_the_file_is_one_sentence(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        described(tmp_path, text)

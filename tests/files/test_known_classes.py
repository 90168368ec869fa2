"""Which columns of numbers are classes: those of the price list, or those that all files share."""

import numpy as np
import pytest
from prediction_files import CLASSES, table, write

from pandora_regret.files import Layout, ModelFiles, open_models
from pandora_regret.inputs import InputError

EXTRA = {"age": np.arange(20), "confidence": np.linspace(0, 1, 20)}


def models(paths, priced=None, **layout):
    return open_models([ModelFiles((str(path),), Layout(**layout)) for path in paths], priced)


def test_a_price_list_says_which_columns_are_classes(tmp_path):
    path = write(tmp_path / "a.csv", table() | EXTRA)
    [model] = models([path], {*CLASSES, "a class that no file has"})
    assert model.classes == CLASSES
    [done] = model.done
    assert (done.what, done.count, done.sentence) == (
        "columns ignored",
        2,
        "columns age and confidence of a ignored",
    )


def test_what_all_files_share_are_classes(tmp_path):
    one, other = write(tmp_path / "a.csv", table() | EXTRA), write(tmp_path / "b.csv", table(seed=1))
    assert [model.classes for model in models([one, other])] == [CLASSES, CLASSES]


def test_a_shared_class_may_never_be_true(tmp_path):
    columns = table() | {"y_true": ["cat"] * 20}
    paths = [write(tmp_path / name, columns) for name in ("a.csv", "b.csv")]
    assert [model.classes for model in models(paths)] == [CLASSES, CLASSES]
    with pytest.raises(InputError, match="never occur as a label"):
        models(paths[:1])


def test_what_all_files_share_but_is_no_probability_is_no_class(tmp_path):
    paths = [write(tmp_path / name, table() | EXTRA) for name in ("a.csv", "b.csv")]
    with pytest.raises(InputError, match=r"\['age', 'confidence'\] hold numbers .* --proba-prefix|--classes"):
        models(paths)


def test_a_class_without_a_price_is_told_from_an_age(tmp_path):
    path = write(tmp_path / "a.csv", table() | EXTRA)
    [model] = models([path], CLASSES[:-1])
    assert model.classes == CLASSES


def test_logits_need_labels_to_tell_a_class_from_an_age(tmp_path):
    columns = table()
    logits = {name: values if name == "y_true" else np.log(values) for name, values in columns.items()}
    paths = [write(tmp_path / name, logits | EXTRA) for name in ("a.csv", "b.csv")]
    assert models(paths[:1], CLASSES, logits=True)[0].classes == CLASSES
    with pytest.raises(InputError, match="never occur as a label"):
        models(paths, logits=True)


def test_a_prefix_comes_before_prices(tmp_path):
    columns = table()
    prefixed = {"y_true": columns["y_true"], **{f"p_{name}": columns[name] for name in CLASSES}, **EXTRA}
    path = write(tmp_path / "a.csv", prefixed)
    assert models([path], CLASSES[:2], proba_prefix="p_")[0].classes == CLASSES

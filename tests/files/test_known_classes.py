"""Which columns of numbers are classes: those of the price list, or those that all files share."""

import numpy as np
import pytest
from prediction_files import CLASSES, remark_of, table, write

from pandora_regret.files import FileError, Layout, ModelFiles, open_models

EXTRA = {"age": np.arange(20), "confidence": np.linspace(0, 1, 20)}
LOGITS = {name: values if name == "y_true" else np.log(values) for name, values in table().items()}
CATS = table() | {"y_true": ["cat"] * 20}
PREFIXED = {name if name == "y_true" else f"p_{name}": values for name, values in table().items()}


def models(tmp_path, *tables, priced=None, **layout):
    paths = [write(tmp_path / f"{'ab'[at]}.csv", columns) for at, columns in enumerate(tables)]
    return open_models([ModelFiles((path,), Layout(**layout)) for path in paths], priced)


@pytest.mark.parametrize(
    ("tables", "priced", "layout"),
    [
        ([table() | EXTRA], {*CLASSES, "gout"}, {}),
        ([table() | EXTRA], CLASSES[:-1], {}),  # a class without a price is told from an age
        ([table() | EXTRA, table(seed=1)], None, {}),
        ([CATS, CATS], None, {}),  # a shared class may never be true
        ([LOGITS | EXTRA], CLASSES, {"logits": True}),
        ([PREFIXED | EXTRA], CLASSES[:2], {"proba_prefix": "p_"}),  # which comes before prices
    ],
)
def test_prices_prefixes_and_what_files_share_are_classes(tmp_path, tables, priced, layout):
    opened = models(tmp_path, *tables, priced=priced, **layout)
    assert [model.classes for model in opened] == [CLASSES] * len(tables)
    ignored = [remark_of(remark) for remark in opened[0].remarks]
    assert ignored == [("columns ignored", 2, "a")] * ("age" in tables[0])


@pytest.mark.parametrize(
    ("tables", "logits", "unseen"),
    [
        ([CATS], False, CLASSES[1]),
        ([table() | EXTRA] * 2, False, "age"),
        ([LOGITS | EXTRA] * 2, True, "age"),  # which no sum tells from a class
    ],
)
def test_what_may_be_no_class_is_asked_about(tmp_path, tables, logits, unseen):
    with pytest.raises(FileError) as caught:
        models(tmp_path, *tables, logits=logits)
    assert caught.value.argument == "classes"
    assert caught.value.where.startswith(f": columns {unseen!r}")
    assert "--proba-prefix" in caught.value.fix

"""Tables of predictions in files of every format, for whoever tests reading them."""

import csv
import gzip
import json

import numpy as np
import pytest

from pandora_regret.core.inputs import InputError
from pandora_regret.files import Layout, ModelFiles, inspect_models, open_predictions, read_all, read_price_list

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

CLASSES = ("cat", "dog", "<script>alert(1)</script>")
FORMATS = (".csv", ".tsv", ".csv.gz", ".jsonl", ".parquet", ".arrow", ".stream.arrow", ".feather", ".npz")


def table(n=20, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    values = rng.dirichlet(np.ones(len(CLASSES)), n).astype(dtype)
    truth = np.concatenate([np.arange(len(CLASSES)), rng.integers(0, len(CLASSES), n)])[:n]
    return {"y_true": [CLASSES[i] for i in truth], **{name: values[:, k] for k, name in enumerate(CLASSES)}}


def write(path, columns):
    """Columns by name, in the format that the path's ending says."""
    path = str(path)
    columns = {name: np.asarray(values) for name, values in columns.items()}
    rows = list(zip(*(values.tolist() for values in columns.values()), strict=True))
    arrow = pa.table(columns)
    if path.endswith((".csv", ".tsv", ".csv.gz")):
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "wt", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if path.endswith(".tsv") else ",")
            writer.writerows(
                [list(columns), *([repr(x) if isinstance(x, float) else x for x in row] for row in rows)]
            )
    elif path.endswith(".jsonl"):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)
    elif path.endswith(".parquet"):
        pq.write_table(arrow, path, row_group_size=7)
    elif path.endswith(".stream.arrow"):
        with pa.ipc.new_stream(path, arrow.schema) as writer:
            writer.write_table(arrow, max_chunksize=6)
    elif path.endswith((".arrow", ".feather")):
        feather.write_feather(arrow, path, chunksize=5)
    else:
        write_npz(path, columns)
    return path


def write_xlsx(path, sheets):
    """A workbook of these sheets: lists of rows."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return str(path)


def write_npz(path, columns):
    names = {"y_true", "id", "weight", "group", "label", "target"}
    classes = [name for name in columns if name not in names]
    arrays = {name: np.array(values) for name, values in columns.items() if name in names}
    arrays["y_proba"] = np.array([columns[name] for name in classes]).T
    np.savez(path, classes=np.array(classes), **arrays)


def opened(path, **layout):
    [predictions] = open_predictions(path, Layout(**layout))
    return predictions


def whole(path, **layout):
    return read_all(opened(path, **layout))


def refusal(path, **layout):
    """The error that reading a file ends with."""
    with pytest.raises(InputError) as caught:
        list(map(read_all, open_predictions(path, Layout(**layout))))
    assert "\n" not in str(caught.value)
    return caught.value


def refused(path, **layout):
    """The sentence that reading a file ends with."""
    return str(refusal(path, **layout))


def cell_of(error):
    """Where an error stands in a file, counted from 0, and what stands there."""
    return error.row, error.column, error.value


def remark_of(remark):
    """What a remark is about: what was done, how often, and to which file or model."""
    return remark.what, remark.count, remark.model


def text_file(tmp_path, text, ending=".csv"):
    path = tmp_path / f"bad{ending}"
    path.write_bytes(text.encode(errors="surrogateescape") if isinstance(text, str) else text)
    return str(path)


def inspect_file(path, layout):
    return inspect_models([ModelFiles((path,), layout)])[0]


def prices_of(text, classes):
    return read_price_list(text).for_classes(classes)

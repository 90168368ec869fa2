"""Prediction files as other programs leave them: an index of pandas, quoted line ends, few digits, odd labels."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_files import CLASSES, opened, pa, pq, refused, table, text_file, whole

from pandora_regret.files import open_predictions, read_all_models
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.labels import numbers_of
from pandora_regret.stream import score_stream


@pytest.mark.parametrize(
    ("ending", "index"),
    [(".parquet", None), (".parquet", "picture"), (".feather", None), (".feather", "picture"), (".csv", None)],
)
def test_an_index_that_pandas_wrote_is_no_class(tmp_path, ending, index):
    frame = pd.DataFrame(table()).sample(frac=1, random_state=0).rename_axis(index)
    path = tmp_path / f"p{ending}"
    if ending == ".csv":
        frame.to_csv(path)
    elif ending == ".feather":
        pa.feather.write_feather(pa.Table.from_pandas(frame), str(path))
    else:
        frame.to_parquet(path)
    batch = whole(path)
    assert batch.classes == CLASSES
    np.testing.assert_array_equal(batch.values, frame[list(CLASSES)])


def test_values_may_hold_line_ends_within_quotes(tmp_path):
    rows = "".join(f'"first\nline {at}",{"ab"[at % 2]},0.25,0.75\n' for at in range(40))
    path = text_file(tmp_path, f"note,y_true,a,b\n{rows}")
    batch = whole(path)
    assert (len(batch), batch.place(1)) == (40, f"{path} line 4")
    assert opened(path).count() == 40


@given(st.permutations(["1.0", "2.0", "3.0"]))
def test_a_label_is_a_class_before_it_is_a_column_number(names):
    found = [names.index(name) for name in ("1.0", "2.0", "3.0")]
    assert numbers_of(["1", "2", "3.0", "0"], names).tolist() == [*found, -1]


def test_a_file_that_models_share_is_read_once(tmp_path, monkeypatch):
    frame = pd.concat([pd.DataFrame(table(20, seed)).assign(model=f"m{seed}") for seed in range(5)])
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "long.parquet")
    models = open_predictions(tmp_path / "long.parquet")
    read, blocks = type(models[0].sources[0]).read, []
    monkeypatch.setattr(
        type(models[0].sources[0]), "read", lambda *given: (blocks.append(b) or b for b in read(*given))
    )
    assert [len(batch) for batch in read_all_models(models)] == [20] * 5
    assert sum(map(len, blocks)) == 100


def test_a_name_that_is_no_text_is_refused(tmp_path):
    assert "rename the file" in refused(f"{tmp_path}/\udcff.csv")


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_rows_of_a_large_text_are_expected_without_reading_it(tmp_path, ending):
    from pandora_regret.files.formats import open_source

    numbers, rows = np.random.default_rng(0).random(100_000), 100_000
    content = "y_true,a,b\n" + "".join(f"a,{p:.9f},{1 - p:.9f}\n" for p in numbers)
    path = tmp_path / f"large.csv{ending}"
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(content.encode())
    assert 0.5 * rows < open_source(str(path)).expected_rows() < 1.1 * rows


@pytest.mark.parametrize("empty", ["\n", "\r\n"])
def test_a_long_run_of_empty_lines_ends_no_process(tmp_path, empty):
    head = "y_true,a,b\n"
    rows = "a,0.6,0.4\nb,0.3,0.7\n" * 3
    run_of = empty * (900_000 // len(empty))
    program = (
        "import sys; from pandora_regret.files import open_predictions; "
        "from pandora_regret.stream import score_stream; "
        "print([score_stream(open_predictions(path)[0], rows=1).data.rows for path in sys.argv[1:]])"
    )
    texts = {
        "after the header": head + run_of + rows,
        "within": head + rows + run_of + rows,
        "last": head + rows + run_of,
    }
    paths = []
    for name, content in texts.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content.encode())
        paths.append(str(path))
    done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[6, 12, 6]"), done.stderr


@pytest.mark.parametrize("head", ["", "y_true,a,b\n"])
def test_a_file_that_begins_with_nothing_but_empty_lines_is_refused(tmp_path, head):
    path = tmp_path / "empty.csv"
    path.write_text(head + "\n" * 2_000_000 + "y_true,a,b\na,0.6,0.4\n")
    with pytest.raises(FileError) as error:
        open_predictions(path)
    assert error.value.path == str(path)
    assert "empty lines" in str(error.value)


@pytest.mark.parametrize("line", [",,\n", " , ,\n", " \n", '"","",""\n'])
def test_lines_without_values_are_told(tmp_path, line):
    path = tmp_path / "blank.csv"
    path.write_text("y_true,a,b\na,0.6,0.4\nb,0.3,0.7\n" + line * 10_000)
    with pytest.raises(FileError) as error:
        score_stream(open_predictions(path)[0], rows=1)
    assert error.value.row == 2

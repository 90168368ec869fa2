"""Prediction files as other programs leave them: an index of pandas, quoted line ends, few digits, odd labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_files import CLASSES, opened, pa, pq, refused, table, text_file, whole, write

from pandora_regret import pandora_regret
from pandora_regret.files import open_predictions, read_all, read_models
from pandora_regret.files.layout import Classes
from pandora_regret.files.text import DelimitedFile, _open_quote
from pandora_regret.files.written import read_pairs
from pandora_regret.inputs import InputError
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


def test_an_index_that_pandas_wrote_may_be_the_id(tmp_path):
    frame = pd.DataFrame(table()).rename_axis("id").sample(frac=1, random_state=0)
    frame.to_parquet(tmp_path / "p.parquet")
    np.testing.assert_array_equal(whole(tmp_path / "p.parquet").ids, frame.index)


def test_values_may_hold_line_ends_within_quotes(tmp_path):
    rows = "".join(f'"first\nline {at}",{"ab"[at % 2]},0.25,0.75\n' for at in range(40))
    path = text_file(tmp_path, f"note,y_true,a,b\n{rows}")
    batch = whole(path)
    assert (len(batch), batch.place(1)) == (40, f"{path} line 4")
    assert opened(path).count() == 40
    pieces = [read_all(piece) for piece in opened(path).fragments(7)]
    assert [len(pieces), sum(map(len, pieces))] == [7, 40]
    np.testing.assert_array_equal(np.concatenate([piece.truth for piece in pieces]), batch.truth)


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("a,b\n", False),
        ('"a,b"\n', False),
        ('a,"b\n', True),
        ('a,"b,"\n', False),
        ('a,"say ""b\n', True),
        ('a,"say ""b"""\n', False),
        ('5" pipe,b\n', False),
        (',"\n', True),
    ],
)
def test_a_quote_counts_where_a_value_begins(line, goes_on):
    assert DelimitedFile("p.csv", {})._is_open(line.encode()) == goes_on
    assert bool(_open_quote(";").match(line.replace(",", ";").encode())) == goes_on


def test_few_digits_are_as_good_in_a_file_as_in_a_frame(tmp_path):
    exact, rounded = "a,0.5,0.25,0.25\nb,0.25,0.5,0.25\nc,0,0,1\n", "a,0.333333,0.333333,0.333333\n"
    path = text_file(tmp_path, f"y_true,a,b,c\n{exact * 5}{rounded}")
    frame = pd.read_csv(path)
    score = score_stream(opened(path))
    assert score.rows == 16
    assert score.value("pandora_regret") == pytest.approx(pandora_regret(frame.y_true, frame[["a", "b", "c"]]))
    assert "sums to 0.99" in refused(text_file(tmp_path, f"y_true,a,b,c\n{exact}a,0.33,0.33,0.33\n", ".late.csv"))


@given(st.permutations(["1.0", "2.0", "3.0"]))
def test_a_label_is_a_class_before_it_is_a_column_number(names):
    classes = Classes(names)
    assert [classes.number_of(label) for label in (1, "2", 3.0, "0")] == [
        names.index("1.0"),
        names.index("2.0"),
        names.index("3.0"),
        None,
    ]


def test_truth_may_be_written_as_true_or_false():
    assert [Classes(["0", "1"]).number_of(label) for label in ("True", "False", True, False)] == [1, 0, 1, 0]
    assert [Classes(["True", "False"]).number_of(label) for label in (1, "0", True)] == [0, 1, 0]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_models_that_share_a_file_are_read_as_each_by_itself(tmp_path, ending):
    parts = {name: table(15, seed) | {"id": np.arange(15)} for seed, name in enumerate(["net", "tree", "7"])}
    frame = pd.concat([pd.DataFrame(part).assign(model=name) for name, part in parts.items()])
    path = write(tmp_path / f"long{ending}", frame.sample(frac=1, random_state=0).to_dict("list"))
    found = [*open_predictions(path), opened(write(tmp_path / "other.csv", table()))]
    for batch, one in zip(read_models(found), found, strict=True):
        alone = read_all(one)
        np.testing.assert_array_equal(batch.values, alone.values)
        np.testing.assert_array_equal(batch.truth, alone.truth)
        assert (batch.ids is None) == (alone.ids is None) == (one.name == "other")
        assert [batch.place(at) for at in (0, 7)] == [alone.place(at) for at in (0, 7)]


def test_a_file_that_models_share_is_read_once(tmp_path, monkeypatch):
    frame = pd.concat([pd.DataFrame(table(9, seed)).assign(model=f"m{seed}") for seed in range(5)])
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "long.parquet")
    models = open_predictions(tmp_path / "long.parquet")
    read, blocks = type(models[0].sources[0]).read, []
    monkeypatch.setattr(
        type(models[0].sources[0]), "read", lambda *given: (blocks.append(b) or b for b in read(*given))
    )
    assert [len(batch) for batch in read_models(models)] == [9] * 5
    assert sum(map(len, blocks)) == 45


def test_a_bad_row_of_a_shared_file_is_said_with_its_line(tmp_path):
    path = text_file(tmp_path, "model,y_true,a,b\nm,a,.5,.5\nn,b,.5,.6\nm,b,.5,.5\nn,a,.5,.5\n")
    with pytest.raises(InputError, match=r"line 3 sums to 1\.1"):
        list(read_models(open_predictions(path)))


def test_a_name_that_is_no_text_is_refused(tmp_path):
    assert "rename the file" in refused(f"{tmp_path}/\udcff.csv")


def test_pairs_may_stand_on_several_lines():
    assert read_pairs('flu=1,\n "cold, common=2",', "costs") == {"flu": 1.0, "cold, common": 2.0}


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".zst"])
def test_rows_of_a_large_text_are_expected_without_reading_it(tmp_path, ending):
    from pandora_regret.files.formats import open_sources

    numbers, rows = np.random.default_rng(0).random(100_000), 100_000
    content = "y_true,a,b\n" + "".join(f"a,{p:.9f},{1 - p:.9f}\n" for p in numbers)
    path = tmp_path / f"large.csv{ending}"
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(content.encode())
    (source,) = open_sources(str(path), None).values()
    assert 0.98 * rows < source.expected_rows() < 1.02 * rows

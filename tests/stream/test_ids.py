"""Ids of a stream: each once, told apart in bounded memory."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prediction_files import CLASSES, opened, table, write

from pandora_regret.files import ModelFiles, open_models
from pandora_regret.files.layout import Layout
from pandora_regret.files.source import FileError
from pandora_regret.stream import score_stream, sums

TEXTS = st.lists(st.text(max_size=40).filter(lambda text: "\0" not in text), min_size=1, max_size=30)


@given(TEXTS)
def test_equal_ids_have_equal_hashes_whatever_stands_beside_them(texts):
    together = sums.hashes_of(pa.array(texts))
    alone = np.concatenate([sums.hashes_of(pa.array([text])) for text in texts])
    np.testing.assert_array_equal(together, alone)
    distinct = {text.lstrip("0") if text.isascii() and text.isdecimal() else text for text in texts}
    assert len(set(together.tolist())) >= len(distinct) - 1  # "0" and "" may both be left of zeros


@pytest.mark.parametrize("nothing", [pa.chunked_array([], pa.string()), pa.array([], pa.string())], ids=type)
def test_no_ids_have_no_hashes(nothing):
    assert len(sums.hashes_of(nothing)) == 0


def test_long_ids_are_told_apart_by_their_ends():
    names = [f"s3://a-bucket/{'folder/' * 12}image-{n}.png" for n in range(50)]
    assert len(set(sums.hashes_of(pa.array(names)).tolist())) == 50


def test_memory_is_bounded_and_a_file_that_comes_twice_is_still_noticed(monkeypatch):
    keys = sums.hashes_of(pa.array([f"case {n}" for n in range(100)] + ["case 7"]))
    assert sums.thinned(np.array_split(keys, 10)).tolist() == sorted(keys.tolist())
    monkeypatch.setattr(sums, "MOST_KEYS", 64)
    keys = sums.hashes_of(pa.array(np.arange(5000)))
    for times, n_repeated in ((1, 0), (2, 32), (5, 32)):
        seen = []
        for part in np.array_split(np.tile(keys, times), 50):
            seen = [sums.thinned([*seen, part])]
        assert len(seen[0]) == 64
        assert (np.diff(seen[0]) == 0).sum() == n_repeated


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_models_are_no_parts_of_one_table(tmp_path, jobs):
    first = write(tmp_path / "a.csv", {"id": [f"p{n}" for n in range(20)], **table()})
    other = write(tmp_path / "b.parquet", {"id": [f"p{n}" for n in range(20)], **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout())])
    with pytest.raises(
        FileError, match=r"b\.parquet row 1 has the id 'p0', which .*a\.csv.*two models: use compare"
    ):
        score_stream(both, jobs=jobs)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_id_that_comes_twice_is_named_with_both_places(tmp_path, ending):
    names = [f"p{n}" for n in range(19)] + ["p4"]
    with pytest.raises(FileError, match=r"(line 21|row 20) has the id 'p4', which .* before .*(line 6|row 5)"):
        score_stream(opened(write(tmp_path / f"a{ending}", {"id": names, **table()})))


def test_numbers_in_one_part_are_the_texts_of_another(tmp_path):
    first = write(tmp_path / "a.csv", {"id": [*range(20)], **table()})
    other = write(tmp_path / "b.parquet", {"id": np.arange(20, 40), **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout(classes=CLASSES))])
    assert score_stream(both).data.rows == 40
    write(tmp_path / "b.parquet", {"id": np.arange(10, 30), **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout(classes=CLASSES))])
    with pytest.raises(FileError, match="has the id '10', which occurred before"):
        score_stream(both)


def test_a_missing_id_is_said_where_it_is_missing(tmp_path):
    names = [f"p{n}" for n in range(19)] + [""]
    with pytest.raises(FileError, match=r"line 21 has no id"):
        score_stream(opened(write(tmp_path / "a.csv", {"id": names, **table()})))

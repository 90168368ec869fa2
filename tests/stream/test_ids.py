"""Ids of a stream: each once."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from prediction_files import CLASSES, opened, table, write
from refusals import refused

from pandora_regret.files import ModelFiles, open_models
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.layout import Layout
from pandora_regret.stream import ids, score_stream
from pandora_regret.stream.ids import TextBytes


@pytest.mark.parametrize("jobs", [1, 2])
def test_two_models_are_no_parts_of_one_table(tmp_path, jobs):
    first = write(tmp_path / "a.csv", {"id": [f"p{n}" for n in range(20)], **table()})
    other = write(tmp_path / "b.parquet", {"id": [f"p{n}" for n in range(20)], **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout())])
    place = f"{other} row 1"
    with refused(FileError, argument="id", row=0, value="p0", place=place, says=f"({first} line 2)"):
        score_stream(both, jobs=jobs)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_an_id_that_comes_twice_is_named_with_both_places(tmp_path, ending):
    names = [f"p{n}" for n in range(19)] + ["p4"]
    path = write(tmp_path / f"a{ending}", {"id": names, **table()})
    here, before = ("line 21", "line 6") if ending == ".csv" else ("row 20", "row 5")
    with refused(FileError, argument="id", row=19, value="p4", place=f"{path} {here}", says=f"({path} {before})"):
        score_stream(opened(path))


def test_numbers_in_one_part_are_the_texts_of_another(tmp_path):
    first = write(tmp_path / "a.csv", {"id": [*range(20)], **table()})
    other = write(tmp_path / "b.parquet", {"id": np.arange(20, 40), **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout(classes=CLASSES))])
    assert score_stream(both).data.rows == 40
    write(tmp_path / "b.parquet", {"id": np.arange(10, 30), **table(seed=3)})
    [both] = open_models([ModelFiles((str(first), str(other)), Layout(classes=CLASSES))])
    with refused(FileError, argument="id", row=0, value="10"):
        score_stream(both)


def test_a_missing_id_is_said_where_it_is_missing(tmp_path):
    names = [f"p{n}" for n in range(19)] + [""]
    path = write(tmp_path / "a.csv", {"id": names, **table()})
    with refused(FileError, argument="ids", row=19, place=f"{path} line 21"):
        score_stream(opened(path))


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_every_id_is_looked_at_however_far_down(tmp_path, jobs, ending):
    n = 70_000
    columns = {name: np.resize(values, n) for name, values in table().items()}
    names = np.array([f"patient {number}" for number in range(n)], dtype=object)
    names[69_993] = names[66_001]
    path = tmp_path / f"a{ending}"
    frame = pa.table({"id": names, **columns})
    if ending == ".csv":
        arrow_csv.write_csv(frame, path)
    else:
        pq.write_table(frame, path, row_group_size=20_000)
    with pytest.raises(FileError) as error:
        score_stream(opened(path), rows=30_000, jobs=jobs)
    assert (error.value.row, error.value.value) == (69_993, "patient 66001")


@pytest.mark.parametrize("blank", ["", "  ", "\u3000", None])
def test_every_blank_id_is_noticed_however_far_down(tmp_path, blank):
    n = 66_100
    columns = {name: np.resize(values, n) for name, values in table().items()}
    names = [str(number) for number in range(n)]
    names[66_001] = blank
    pq.write_table(pa.table({"id": names, **columns}), tmp_path / "a.parquet")
    with pytest.raises(FileError) as error:
        score_stream(opened(tmp_path / "a.parquet"))
    assert (error.value.row, error.value.argument) == (66_001, "ids")


def test_ids_read_as_numbers_are_compared_as_numbers(tmp_path):
    path = write(tmp_path / "a.csv", {"id": [*range(1, 20), "007"], **table()})
    assert score_stream(opened(path)).data.rows == 20
    with pytest.raises(FileError) as error:
        score_stream(opened(path, ids_as_numbers=True))
    assert (error.value.row, error.value.value) == (19, "7")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_equal_hashes_are_equal_texts(kind):
    texts = ["", "a", "b", "ab", "ab\0", "abcdefgh", "abcdefghi", "abcdefgh" * 40, "abcdefgh" * 41, "ä", "a"]
    column = pa.array(["left out", *texts], pa.string()).cast(kind).slice(1)
    if pa.types.is_dictionary(kind):
        column = column.cast(pa.string())
    hashes = TextBytes.of(column).hashes().tolist()
    assert hashes == TextBytes.of(pa.array(texts)).hashes().tolist()
    assert hashes[1] == hashes[-1]
    assert len(set(hashes)) == len(texts) - 1


def test_texts_whose_hashes_are_equal_by_chance_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(ids, "mixed", lambda state: state & np.uint64(1))
    names = [f"p{n}" for n in range(20)]
    path = write(tmp_path / "a.csv", {"id": names, **table()})
    assert score_stream(opened(path)).data.rows == 20


def test_hashes_that_come_again_are_found_in_any_range():
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, 1000, dtype=np.uint64)
    hashes[-3:] = 0, 2**64 - 1, 2**63
    seen = ids.SeenIds()
    seen.add(hashes)
    assert len(seen.repeated()) == 0
    seen.add(hashes[-3:])
    seen.add(hashes[:2])
    assert seen.repeated().tolist() == sorted([*hashes[-3:].tolist(), *hashes[:2].tolist()])
    assert len(ids.SeenIds().repeated()) == 0


def test_rows_that_cannot_be_read_again_are_counted(tmp_path, monkeypatch):
    path = write(tmp_path / "a.csv", {"id": [*range(17), 3, 4, 5], **table()})
    monkeypatch.setattr("pandora_regret.files.predictions.own_rows", lambda *_: iter(()))
    predictions = opened(path)
    seen = ids.SeenIds()
    seen.add(TextBytes.of(pa.array([str(number) for number in [*range(17), 3, 4, 5]])).hashes())
    with pytest.raises(FileError) as error:
        ids.check_each_once(predictions, seen)
    assert (error.value.argument, error.value.value) == ("id", 3)

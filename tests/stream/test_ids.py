"""Ids of a stream: each once."""

import numpy as np
import pytest
from prediction_files import CLASSES, opened, table, write

from pandora_regret.files import ModelFiles, open_models
from pandora_regret.files.layout import Layout
from pandora_regret.files.source import FileError
from pandora_regret.stream import score, score_stream


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


@pytest.mark.parametrize("jobs", [1, 2])
def test_rows_that_come_again_are_noticed_far_down_in_a_file(tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(score, "MANY", 100)
    monkeypatch.setattr(score, "SPARSE", 10)
    columns = {name: np.tile(values, 20) for name, values in table().items()}
    path = write(tmp_path / "a.csv", {"id": [*range(200)] * 2, **columns})
    with pytest.raises(FileError, match=r"has the id '\d+', which occurred before"):
        score_stream(opened(path), rows=150, jobs=jobs)

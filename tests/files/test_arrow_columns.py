"""Columns of Arrow tables: what their text takes, and the texts of dictionaries that come again."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pandora_regret.files.arrow_columns import FEW_ROWS, coded, most_text_bytes, text_bytes

texts = st.lists(st.none() | st.text(max_size=20), min_size=1, max_size=30)


@given(texts)
def test_text_takes_no_more_than_is_said_without_a_look_at_each_row(values):
    column = pa.array(values, pa.string())
    batch = pa.record_batch({"plain": column, "coded": column.dictionary_encode(), "number": range(len(values))})
    held = 2 * sum(len(value.encode()) for value in values if value is not None)
    assert text_bytes(batch) == held
    assert most_text_bytes(batch) >= held


@pytest.mark.parametrize("second", [["a", "b"], ["b", "a"], ["a", "c"], ["a"], ["a", None], ["a", " "]])
def test_rows_have_the_texts_of_their_own_dictionary_not_of_the_one_before(second):
    rows = FEW_ROWS + 1
    for words in (["a", "b"], second, ["a", "b"]):
        indices = pa.array([number % len(words) for number in range(rows)], pa.int32())
        found, codes = coded(pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string())))
        expected = [None if word is None or word == " " else word for word in words]
        assert [found[code] for code in codes[: len(words)]] == expected
        found.append("changed by the caller")

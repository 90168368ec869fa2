"""Whether any id comes twice in a stream, in bounded memory: by hashes, which are settled by reading again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch, twice
from pandora_regret.files.columns import NO_VALUE, plain_array, texts_of
from pandora_regret.files.problems import FileError
from pandora_regret.inference.keyed import GOLDEN, Keys, keys_of, mixed

if TYPE_CHECKING:
    from pandora_regret.files.predictions import Predictions
    from pandora_regret.files.source import Source
    from pandora_regret.stream.sums import SeenIds

LONGEST_ID = 64  # bytes of text that are hashed as a block; longer ids, and those beyond ASCII, take longer
MOST_DIGITS = 18  # of an id that is a number


def hashes_of_batch(batch: Batch) -> Keys:
    """The hashes of a batch's ids, none of which may be missing."""
    keys = hashes_of(batch.id_column)
    if not keys.all():
        source, row = batch.origin(int(np.argmin(keys)))
        raise source.error(row, "has no id", fix=NO_VALUE["fix"], argument="ids")
    return keys


def hashes_of(column: Any) -> Keys:
    """A 64-bit hash of each id, (n,): the same for the number 17 and the text 17; 0 where there is none."""
    if not len(column):
        return np.empty(0, np.uint64)
    column = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_integer(column.type):
        return np.where(_mask(column.is_valid()), _of_numbers(column.fill_null(0)), np.uint64(0))
    texts = column.cast(pa.string()).fill_null("")
    length = pc.binary_length(texts)
    digits = _mask(pc.and_(pc.ascii_is_decimal(texts), pc.less_equal(length, MOST_DIGITS)))
    plain = _mask(pc.and_(pc.string_is_ascii(texts), pc.less_equal(length, LONGEST_ID))) & ~digits
    keys = np.empty(len(texts), np.uint64)
    for rows, hashed in (
        (digits, _of_numbers),
        (plain, _of_words),
        (~digits & ~plain, lambda odd: keys_of(odd.to_pylist())),
    ):
        if rows.any():
            keys[rows] = hashed(texts if rows.all() else texts.filter(pa.array(rows)))
    return keys


def _mask(answers: Any) -> NDArray[np.bool_]:
    return np.asarray(answers.to_numpy(zero_copy_only=False), dtype=bool)


def _of_numbers(column: Any) -> Keys:
    numbers = column.cast(pa.int64()) if pa.types.is_string(column.type) else column
    return np.asarray(mixed(plain_array(numbers).astype(np.int64).view(np.uint64) + GOLDEN))


def _of_words(texts: Any) -> Keys:
    """Of ASCII text, eight characters at a time."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    n_words = max(1, -(-longest // 8))
    padded = pc.ascii_rpad(texts, 8 * n_words, "\0")
    words = np.frombuffer(padded.buffers()[2], np.uint64, len(texts) * n_words).reshape(len(texts), n_words)
    keys = np.zeros(len(texts), np.uint64)
    for word in words.T:  # beyond the end of a text there is nothing to hash, however long others are
        keys = np.where(word != 0, mixed((keys ^ word) + GOLDEN), keys)
    return keys


def check_each_id_once(predictions: Predictions, seen: SeenIds) -> None:
    """That no id came twice: where hashes did, the ids are read again, and an error says which and where."""
    repeated = seen.settle()
    if not len(repeated):
        return
    first: dict[str, tuple[Source, int]] = {}
    for source, numbers, column in predictions.ids():
        rows = np.flatnonzero(np.isin(hashes_of(column), repeated))
        for row, name in zip(rows.tolist(), texts_of(column.take(rows)).tolist(), strict=True):
            place = (source, int(numbers[row]))
            if (before := first.setdefault(name, place)) != place:
                _fail(predictions, seen, name, before, place)


def _fail(
    predictions: Predictions, seen: SeenIds, name: Any, before: tuple[Source, int], place: tuple[Source, int]
) -> NoReturn:
    (first, row), (source, again) = before, place
    if source.path != first.path and _mostly_repeated(predictions, seen, source):
        fix = "these are two models: use compare; files that are scored together are parts of one table"
        raise FileError(f"has the same ids as {first.path}", path=source.path, argument="ids", fix=fix)
    raise source.error(again, **twice(name, first, row))


def _mostly_repeated(predictions: Predictions, seen: SeenIds, source: Source) -> bool:
    """Whether most ids of a file came before."""
    parts = [hashes_of(column) for one, _, column in predictions.ids() if one is source]
    keys = np.concatenate(parts)
    keys = keys[keys <= seen.bound]
    return 2 * int(np.isin(keys, seen.repeated).sum()) > len(keys)

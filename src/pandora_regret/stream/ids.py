"""Whether an id comes twice in a file of any size: every id is looked at, and kept as a hash of 8 bytes.

Equal hashes are only a suspicion: the ids are then read once more, and their text decides.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inference.keyed import GOLDEN, Keys, mixed
from pandora_regret.text import counted

if TYPE_CHECKING:
    import pyarrow as pa

    from pandora_regret.files import Predictions
    from pandora_regret.files.file_errors import FileError
    from pandora_regret.files.source import Source

RANGES = 16  # of hashes that are sorted one after the other, so that what is sorted stays small
ROWS_AT_ONCE = 1 << 14
LONGEST_BY_WORDS = 256  # bytes; of an id that are taken a word at a time
BEGINS_SPACE = np.isin(np.arange(256), [*range(9, 14), *range(28, 33), 0xC2, 0xE1, 0xE2, 0xE3])  # a byte of UTF-8
OTHER_FILE = "files that are scored together are parts of one table; if these are two models: use compare"


class SeenIds:
    """The hashes of all ids that came so far."""

    def __init__(self) -> None:
        self.parts: list[Keys] = []  # each sorted

    def add(self, hashes: Keys) -> None:
        """Add the hashes of some rows, (n,)."""
        self.parts.append(np.sort(hashes))

    def merge(self, other: SeenIds) -> None:
        """Add the ids of other rows."""
        self.parts += other.parts

    def repeated(self) -> Keys:
        """The hashes that came more than once, sorted; each once."""
        repeated = [np.empty(0, np.uint64)]
        ends = [int(number * 2**64 // RANGES) - 1 for number in range(1, RANGES + 1)]
        starts = [0] * len(self.parts)
        for end in ends:
            stops = [int(np.searchsorted(part, np.uint64(end), side="right")) for part in self.parts]
            slices = [part[a:b] for part, a, b in zip(self.parts, starts, stops, strict=True)]
            if slices:
                in_range = np.sort(np.concatenate(slices))
                repeated.append(np.unique(in_range[1:][in_range[1:] == in_range[:-1]]))
            starts = stops
        return np.concatenate(repeated)


class TextBytes(NamedTuple):
    """The bytes of some texts, one after the other."""

    starts: NDArray[np.int64]  # (n,) where each text begins
    lengths: NDArray[np.int64]  # (n,) of each text, in bytes
    data: NDArray[np.uint8]  # of all of them, and eight zeros

    @classmethod
    def of(cls, column: pa.Array) -> TextBytes:
        """The texts of an Arrow column."""
        n = len(column)
        _, offsets_buffer, data_buffer = column.buffers()
        size = np.int64 if str(column.type).startswith("large") else np.int32
        offsets = np.frombuffer(offsets_buffer, size)[column.offset : column.offset + n + 1].astype(np.int64)
        first = int(offsets[0])
        last = int(offsets[-1])
        data = np.zeros(last - first + 8, np.uint8)
        if data_buffer is not None:
            data[:-8] = np.frombuffer(data_buffer, np.uint8)[first:last]
        starts = offsets[:-1] - first
        return cls(starts, offsets[1:] - offsets[:-1], data)

    def hashes(self) -> Keys:
        """The hash of each text, (n,); some at a time, so that what is computed stays in the processor's cache."""
        hashes = np.empty(len(self.starts), np.uint64)
        for start in range(0, len(hashes), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            hashes[rows] = TextBytes(self.starts[rows], self.lengths[rows], self.data)._hashes_at_once()
        return hashes

    def _hashes_at_once(self) -> Keys:
        """The hash of each text: of its length, then of eight bytes after the other."""
        words = np.ndarray(
            (len(self.data) - 7,), "<u8", buffer=self.data, strides=(1,)
        )  # eight bytes from each on
        state = mixed(self.lengths.astype(np.uint64) + GOLDEN)
        rows = np.flatnonzero(self.lengths > 0)
        place = 0
        while len(rows) and place < LONGEST_BY_WORDS:
            left = self.lengths[rows] - place
            word = words[self.starts[rows] + place].astype(np.uint64, copy=False)
            unused_bits = (8 * np.maximum(8 - left, 0)).astype(np.uint64)  # of the next text
            word = (word << unused_bits) >> unused_bits
            state[rows] = mixed((state[rows] ^ word) + GOLDEN)
            place += 8
            rows = rows[left > 8]
        for row in rows.tolist():
            text = self.data[self.starts[row] : self.starts[row] + self.lengths[row]].tobytes()
            state[row] ^= np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little"))
        return np.asarray(state)

    def first_blank(self, column: pa.Array) -> int | None:
        """The first row of the column that has no text, or nothing but white space."""
        blank = self.lengths == 0
        if column.null_count:
            blank |= np.array([not text.is_valid for text in column])
        may_be_space = BEGINS_SPACE[self.data[self.starts]]
        for row in np.flatnonzero(may_be_space & ~blank).tolist():
            blank[row] = str(column[row]).isspace()
        return int(blank.argmax()) if blank.any() else None


def check_each_once(predictions: Predictions, ids: SeenIds) -> None:
    """An error that names the first row whose id a row before has, if there is one."""
    suspected = ids.repeated()
    if not len(suspected):
        return
    from pandora_regret.files.file_errors import FileError
    from pandora_regret.files.predictions import own_rows
    from pandora_regret.files.rows import read_id_texts

    column = predictions.watched or ""
    first_place: dict[str, tuple[Source, int]] = {}
    can_be_read_again = False
    for model, block in own_rows([predictions], [column]):
        can_be_read_again = True
        texts = read_id_texts(block, column, model.reading)
        hashes = TextBytes.of(texts).hashes()
        found = np.searchsorted(suspected, hashes).clip(max=len(suspected) - 1)
        for index in np.flatnonzero(suspected[found] == hashes).tolist():
            name = str(texts[index])
            row = int(block.numbers[index])
            if name in first_place:
                raise came_before(name, block.source, row, *first_place[name])
            first_place[name] = (block.source, row)
    if not can_be_read_again:  # as rows of a Spark frame, which came once
        problem = f"has {counted(len(suspected), 'id')} in more than one row"
        raise FileError(
            problem, predictions.path, "each row needs its own id", argument="id", value=len(suspected)
        )


def came_before(name: str, source: Source, row: int, earlier: Source, earlier_row: int) -> FileError:
    """The error for a row whose id an earlier row has, perhaps in another file."""
    from pandora_regret.files.batch import complaint_of_repeated_id

    complaint = complaint_of_repeated_id(name, earlier, earlier_row)
    if source.path != earlier.path:
        complaint["fix"] = OTHER_FILE
    return source.error(row, complaint)

"""The tables of sources, a block of rows at a time: Arrow records, with the numbers of their rows in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa

from pandora_regret.core.inputs import IntArray
from pandora_regret.files.source import Records, Source

ROWS = 1 << 19  # half a usual row group of Parquet: whole ones take 80 MB more
ELEMENTS = 12 << 19


@dataclass(frozen=True)
class Block:
    """Some rows of a source."""

    source: Source
    numbers: IntArray  # (n,) of the rows in the file, counted from 0
    records: pa.Table  # (n rows)

    def __len__(self) -> int:
        return len(self.numbers)

    def column(self, name: str) -> pa.Array:
        """A column as one Arrow array."""
        chunks = self.records.column(name).chunks
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

    def row(self, index: int) -> Block:
        """One of these rows."""
        return Block(self.source, self.numbers[index : index + 1], self.records.slice(index, 1))

    def take(self, rows: IntArray) -> Block:
        """The rows of this block at these places, in this order."""
        return Block(self.source, self.numbers[rows], self.records.take(rows))


def blocks_of(
    sources: Sequence[Source], columns: Iterable[str], numbers: Collection[str], rows: int | None = None
) -> Iterator[Block]:
    """The rows of files, one file after the other.

    Parameters
    ----------
    sources
        The files.
    columns
        The columns that are read, where a file has them; they come in the file's order, each once.
    numbers
        Those of them that must hold numbers. Text in them is handed out as text: whoever needs numbers says where
        it stands.
    rows
        How many rows a block has at most; unless said, some tens of megabytes of them.

    Yields
    ------
    Block
        Consecutive rows of one file.
    """
    names = {*columns} - {""}
    rows = rows or min(ROWS, ELEMENTS // (1 + len(names)))
    for source in sources:
        start = source.first
        present = [name for name in source.kinds if name in names]
        as_numbers = frozenset(numbers) - {name for name, kind in source.kinds.items() if kind == "percent"}
        for records in _regrouped(source.read(present, as_numbers, rows), rows):
            yield Block(source, np.arange(start, start + len(records)), records)
            start += len(records)


def _regrouped(batches: Iterable[Records], rows: int) -> Iterator[pa.Table]:
    """Tables of at most so many rows; small batches of one type are put together."""
    tables = (pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch for batch in batches)
    total = 0

    def group(table: pa.Table) -> tuple[pa.Schema, int]:
        nonlocal total
        total += len(table)
        return table.schema, total // rows

    for _, alike in groupby(tables, group):
        whole = pa.concat_tables(alike)
        for start in range(0, len(whole), rows):
            yield whole.slice(start, rows)

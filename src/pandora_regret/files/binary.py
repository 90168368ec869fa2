"""Parquet and Arrow files: typed columns, read a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Self

import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from pandora_regret.files.columns import explained, kinds_of, rows_within
from pandora_regret.files.source import Records, Source, check_names, even_cuts

BYTES_IN_DICTIONARY = 6  # of a row whose text is written as its number in a dictionary, at most
BUFFER_BYTES = 1 << 20  # of each Parquet column: a huge row group is not read at once


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file, or some of its row groups."""

    groups: tuple[int, int] | None = None  # from, and up to but not with
    lengths: tuple[int, ...] = ()  # of the row groups
    repeating: frozenset[str] = frozenset()  # columns of text that is written as numbers in a dictionary

    @classmethod
    def open(cls, path: str) -> Self:
        with explained(path, "Parquet"), pq.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            lengths = tuple(metadata.row_group(index).num_rows for index in range(metadata.num_row_groups))
            repeating = _repeating(metadata) if lengths else frozenset()
        check_names(schema.names, path)
        return cls(path, kinds_of(schema), lengths=lengths, repeating=repeating)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Only the columns' own pages are read; text that repeats comes as a dictionary, as it lies there."""
        options: dict[str, Any] = {
            "read_dictionary": [name for name in columns if name in self.repeating - numbers]
        }
        options |= {"buffer_size": BUFFER_BYTES, "pre_buffer": False}  # a file read ahead would stay in memory
        with explained(self.path, "Parquet"), pq.ParquetFile(self.path, **options) as file:
            groups = range(*self.groups) if self.groups else None
            yield from _valid(file.iter_batches(rows, columns=list(columns), row_groups=groups))

    def pieces(self, n: int) -> list[Source]:
        """Whole row groups."""
        start, stop = self.groups or (0, len(self.lengths))
        ends = list(accumulate(self.lengths[start:stop], initial=0))
        return [
            replace(self.part(ends[low], ends[high]), groups=(start + low, start + high))
            for low, high in even_cuts(stop - start, n)
        ]

    def _count(self) -> int:
        return sum(self.lengths)


def _repeating(metadata: Any) -> frozenset[str]:
    """Columns that take so little room that they are written as a dictionary; ids, each another, are not."""
    group = metadata.row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    return frozenset(
        chunk.path_in_schema
        for chunk in chunks
        if chunk.total_uncompressed_size < BYTES_IN_DICTIONARY * chunk.num_values
    )


@dataclass(frozen=True)
class ArrowFile(Source):
    """An Arrow IPC file (or Feather, which is the same), or a stream of the kind that has no table of contents."""

    @classmethod
    def open(cls, path: str) -> Self:
        with explained(path, "Arrow"), _open_arrow(path) as reader:
            schema = reader.schema
        check_names(schema.names, path)
        return cls(path, kinds_of(schema))

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Record batches as they were written, cut to this source's rows."""
        position = {name: index for index, name in enumerate(self.kinds)}
        options = ipc.IpcReadOptions(included_fields=[position[name] for name in columns])
        with explained(self.path, "Arrow"), _open_arrow(self.path, options=options) as reader:
            yield from rows_within(_valid(_batches(reader)), self.first, self.n_rows)


def _open_arrow(path: str, **options: Any) -> Any:
    with open(path, "rb") as file:
        has_contents = file.read(6) == b"ARROW1"
    return (ipc.open_file if has_contents else ipc.open_stream)(path, **options)


def _batches(reader: Any) -> Iterator[Records]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _valid(batches: Iterator[Records]) -> Iterator[Records]:
    """Batches whose offsets lie within them and whose text is UTF-8, as Arrow believes without looking."""
    for batch in batches:
        batch.validate(full=True)
        yield batch

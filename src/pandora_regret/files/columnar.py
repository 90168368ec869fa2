"""Columnar files, read a batch at a time: Parquet, and Arrow (Feather)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.ipc as ipc

from pandora_regret.files.arrow_columns import (
    kinds_of_schema,
    longest_in_dictionary,
    most_text_bytes,
    text_bytes,
    valid_rows,
)
from pandora_regret.files.arrow_sizes import batch_sizes
from pandora_regret.files.file_errors import explained
from pandora_regret.files.limits import Limit
from pandora_regret.files.source import Records, Source, check_column_names

if TYPE_CHECKING:
    from pyarrow.parquet import RowGroupMetaData

BYTES_IN_DICTIONARY = 6  # of a row whose text is written as its number in a dictionary, at most
BUFFER_BYTES = 1 << 20  # of each Parquet column: a huge row group is not read at once


@dataclass(frozen=True)
class ParquetFile(Source):
    """A Parquet file, or some of its row groups."""

    groups: tuple[tuple[int, int], ...] = ()  # their numbers and lengths
    repeating: frozenset[str] = frozenset()  # columns of text that is written as numbers in a dictionary

    @classmethod
    def open(cls, path: str, limit: Limit) -> Self:
        """The file, whose table of contents is read.

        Columns that take very little room are written as a dictionary; ids, each another, are not.
        """
        import pyarrow.parquet as pq  # with what other systems' files need: no text asks for that

        with explained(path, "Parquet"), pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            metadata = file.metadata
            groups = tuple((index, metadata.row_group(index).num_rows) for index in range(metadata.num_row_groups))
            chunks = [metadata.row_group(0).column(index) for index in range(metadata.num_columns) if groups]
            for number, _rows in groups:
                group = metadata.row_group(number)
                for index in range(group.num_columns):
                    limit.check(group.column(index).total_uncompressed_size)
        check_column_names(schema.names, path)
        repeating = frozenset(
            chunk.path_in_schema
            for chunk in chunks
            if chunk.total_uncompressed_size < BYTES_IN_DICTIONARY * chunk.num_values
        )
        return cls(path, kinds_of_schema(schema), n_rows=metadata.num_rows, groups=groups, repeating=repeating)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Only the columns' own pages are read; text that repeats comes as a dictionary, as it lies there."""
        import pyarrow.parquet as pq

        dictionaries = self.repeating.intersection(columns) - numbers | self._long_dictionaries(columns, rows)
        with (
            explained(self.path, "Parquet"),
            pq.ParquetFile(
                self.path,
                read_dictionary=list(dictionaries),
                buffer_size=BUFFER_BYTES,
                pre_buffer=False,  # a file read ahead would stay in memory
            ) as file,
        ):
            groups = [index for index, _ in self.groups]
            for batch in valid_rows(file.iter_batches(rows, columns=list(columns), row_groups=groups)):
                _check_text(batch, self.limit)
                yield batch

    def _long_dictionaries(self, columns: Sequence[str], rows: int) -> frozenset[str]:
        """Columns with a text in a dictionary so long that so many rows of it might not be held.

        A text is in a file once, however many rows have it: a kilobyte may stand for gigabytes. Such columns come
        as dictionaries, so that what they take is known before it is taken.
        """
        if self.limit is None:
            return frozenset()
        import pyarrow.parquet as pq

        texts = [name for name in columns if self.kinds[name] in ("text", "other")]
        found = set[str]()
        with explained(self.path, "Parquet"), pq.ParquetFile(self.path, read_dictionary=texts) as file:
            for group, n_rows in self.groups:
                longest_held = self.limit.most_bytes / max(1, min(rows, n_rows))
                suspects = _columns_with_dictionaries(file.metadata.row_group(group), longest_held)
                unknown = suspects.intersection(texts) - found
                if unknown:  # one row tells the whole dictionary
                    first = next(file.iter_batches(1, columns=list(unknown), row_groups=[group]))
                    found |= {name for name in unknown if longest_in_dictionary(first.column(name)) > longest_held}
        return frozenset(found)

    def pieces(self) -> list[Source]:
        """The file as one source per row group, which can be read side by side."""
        starts = accumulate((rows for _, rows in self.groups), initial=0)
        pieces: list[Source] = []
        for group, first in zip(self.groups, starts, strict=False):
            pieces.append(replace(self, groups=(group,), first=first, n_rows=group[1]))
        return pieces or [self]


def _check_text(batch: pa.RecordBatch, limit: Limit | None) -> None:
    """Raise a FileError if the text of a batch, each row with its own, takes more than may be held at once."""
    if limit is not None and most_text_bytes(batch) > limit.most_bytes:
        limit.check(text_bytes(batch))


def _columns_with_dictionaries(group: RowGroupMetaData, least: float) -> set[str]:
    """The columns of a row group whose dictionaries may hold a text of more than so many bytes."""
    chunks = [group.column(index) for index in range(group.num_columns)]
    return {
        chunk.path_in_schema
        for chunk in chunks
        if chunk.has_dictionary_page and chunk.total_uncompressed_size > least
    }


@dataclass(frozen=True)
class ArrowFile(Source):
    """An Arrow IPC file (or Feather, which is the same), or a stream of the kind that has no table of contents."""

    is_stream: bool = False

    @classmethod
    def open(cls, path: str, head: bytes, limit: Limit) -> Self:
        """The file, of which the schema is read, and how large its record batches are, which are read whole."""
        file = cls(path, {}, is_stream=not head.startswith(b"ARROW1"))
        for size in batch_sizes(path, file.is_stream):
            limit.check(size)
        with explained(path, "Arrow"), file._reader() as reader:
            schema = reader.schema
        check_column_names(schema.names, path)
        return replace(file, kinds=kinds_of_schema(schema))

    def _reader(
        self, options: ipc.IpcReadOptions | None = None
    ) -> ipc.RecordBatchStreamReader | ipc.RecordBatchFileReader:
        """Arrow's reader of the file."""
        open_arrow = ipc.open_stream if self.is_stream else ipc.open_file
        return open_arrow(self.path, options=options)

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """Record batches as they were written."""
        position = {name: index for index, name in enumerate(self.kinds)}
        options = ipc.IpcReadOptions(included_fields=[position[name] for name in columns])
        with explained(self.path, "Arrow"), self._reader(options=options) as reader:
            batches = reader if self.is_stream else map(reader.get_batch, range(reader.num_record_batches))
            for batch in valid_rows(batches):
                _check_text(batch, self.limit)
                yield batch

"""A table that had to be read whole to be understood, as if it were a file that is read in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pandora_regret.files.source import Records, Source


@dataclass(frozen=True)
class TableInMemory(Source):
    """All rows of a file as an Arrow table."""

    table: Any = field(default=None, compare=False, repr=False)  # pyarrow.Table

    is_text = True

    def read(self, columns: Sequence[str], numbers: frozenset[str], rows: int) -> Iterator[Records]:
        """All at once; text where numbers must be is found by who reads it."""
        yield self.table.select(list(columns)).slice(self.first, self.n_rows)

    def _count(self) -> int:
        return len(self.table)

"""The columns of a long table as checked arrays: cases, candidates, numbers, hits; problems are told by row."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pandora_regret.candidates.reading import Tell, read_hits, read_prices_of_rows, read_values
from pandora_regret.candidates.search import BoolArray
from pandora_regret.core.inputs import FloatArray, InputError, IntArray, Names
from pandora_regret.files.arrow_columns import LOOKED_AT, coded, kind_of_texts, number_in, numbers_in, texts_of
from pandora_regret.files.file_errors import FileError
from pandora_regret.files.problems import NAMED_ROWS, Problems


@dataclass(frozen=True)
class TablePlaces:
    """Where the C rows of a table stand."""

    paths: Names  # of its files
    file: IntArray  # (C,) which of these
    numbers: IntArray  # (C,) which row of it, from 0

    @classmethod
    def of_file(cls, path: str, n_rows: int, start: int = 0) -> TablePlaces:
        """Consecutive rows of one file, from this one on."""
        return cls((path,), np.broadcast_to(np.intp(0), n_rows), np.arange(start, start + n_rows))

    @classmethod
    def of_files(cls, paths: Sequence[str], n_rows: Sequence[int]) -> TablePlaces:
        """All rows of several files, one after the other."""
        lengths = np.array(n_rows, dtype=np.intp)
        file = np.repeat(np.arange(len(paths)), lengths)
        starts = np.cumsum(lengths) - lengths
        return cls(tuple(paths), file, np.arange(len(file)) - starts[file])

    def take(self, rows: IntArray) -> TablePlaces:
        """The places of some of these rows."""
        return TablePlaces(self.paths, self.file[rows], self.numbers[rows])

    def place(self, row: int) -> str:
        """Where a row stands in words; in a folder also in which file."""
        number = f"row {self.numbers[row] + 1}"
        return number if len(self.paths) == 1 else f"{number} of {os.path.basename(self.paths[self.file[row]])}"

    def telling(self, problems: Problems) -> Tell:
        """What tells problems of rows: in which file, and in which row of it, the first of them stands."""

        def tell(error: InputError, rows: IntArray) -> None:
            first = int(rows[0])
            number = int(self.numbers[first])
            named = rows[:NAMED_ROWS].tolist()
            problems.in_places(
                FileError(
                    f"{error.argument} {error.problem}",
                    self.paths[self.file[first]],
                    error.fix,
                    f" row {number + 1}:",
                    argument=error.argument,
                    row=number,
                    value=error.value,
                ),
                [self.place(row) for row in named],
                len(rows),
                self.numbers[named].tolist(),
            )

        return tell


def whole_column(table: pa.Table, column: str) -> pa.Array:
    """A column of a table as one array."""
    chunks = table.column(column)
    return chunks.combine_chunks() if isinstance(chunks, pa.ChunkedArray) else chunks


def read_cases(table: pa.Table, column: str, tell: Tell) -> tuple[list[str], IntArray]:
    """The names of cases, in the order of their first rows, and the number of each row's case, -1 without one."""
    texts, codes = coded(whole_column(table, column))
    unnamed = [code for code, text in enumerate(texts) if text is None]
    if unnamed:
        missing = np.flatnonzero(np.isin(codes, unnamed))
        tell(InputError("is missing", argument="id", row=int(missing[0]), fix="give every row one"), missing)
    first = np.full(len(texts), len(codes), dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal codes the assignment that comes last stays
    by_place = np.argsort(first, kind="stable")
    is_case = first < len(codes)  # some row has it
    is_case[unnamed] = False
    by_place = by_place[is_case[by_place]]
    number = np.full(len(texts), -1, dtype=np.intp)
    number[by_place] = np.arange(len(by_place))
    return [str(texts[place]) for place in by_place], number[codes]


def read_candidates(table: pa.Table, column: str | None) -> tuple[list[str], IntArray]:
    """The names of candidates, and which of them each row has; -1 where it has none.

    Without a column of names each row is a candidate of its own.
    """
    if column is None:
        return [f"row {row + 1}" for row in range(len(table))], np.arange(len(table))
    texts, codes = coded(whole_column(table, column))
    codes = np.asarray(codes, dtype=np.intp)
    if None in texts:
        missing = texts.index(None)
        codes = np.where(codes == missing, -1, codes - (codes > missing))
        texts = [text for text in texts if text is not None]
    return [str(text) for text in texts], codes


def first_of_case(texts: Sequence[str | None], case: IntArray, n_cases: int) -> list[str | None]:
    """The text of the first row of each case."""
    found: list[str | None] = [None] * n_cases
    for number, text in zip(case[::-1].tolist(), texts[::-1], strict=True):
        found[number] = text
    return found


def read_numbers(
    table: pa.Table,
    column: str,
    argument: str,
    codes: IntArray,
    tell: Tell,
    decimal: str = ".",
    otherwise: float = 0.0,
) -> FloatArray:
    """A column of numbers, signs of percent left off; text that is no number is an error that names its row."""
    array = whole_column(table, column)
    if pa.types.is_floating(array.type) or pa.types.is_integer(array.type):
        numbers = array.cast(pa.float64())
        if numbers.null_count:
            numbers = numbers.fill_null(float("nan"))
        return read_values(numbers_in(numbers), argument, codes, tell, otherwise)
    texts = array.to_pylist()
    if not has_percent_signs(table, column, decimal):
        return read_values(np.array(texts, dtype=object), argument, codes, tell, otherwise)
    values: list[object] = []
    for text in texts:
        number = number_in(text, decimal)
        values.append(text if number is None else number)
    return read_values(np.array(values, dtype=object), argument, codes, tell, otherwise)


def has_percent_signs(table: pa.Table, column: str, decimal: str) -> bool:
    """Whether a column holds text such as 12.5%."""
    array = whole_column(table, column)
    return (
        not pa.types.is_floating(array.type) and kind_of_texts(texts_of(array[:LOOKED_AT]), decimal) == "percent"
    )


def read_prices(table: pa.Table, column: str, codes: IntArray, tell: Tell) -> FloatArray:
    """A column of prices."""
    numbers = read_numbers(table, column, "price", codes, tell, otherwise=1.0)
    return read_prices_of_rows(numbers, codes, tell)


def read_hit_column(table: pa.Table, column: str, codes: IntArray, tell: Tell) -> BoolArray:
    """A column that says which candidates are true; each different text is read once."""
    array = whole_column(table, column)
    if pa.types.is_boolean(array.type) and not array.null_count:
        return np.asarray((numbers_in(array.cast(pa.uint8())) == 1) & (codes >= 0))
    texts, numbers = coded(array)
    words = np.array(texts, dtype=object)
    first = np.full(len(texts), -1, dtype=np.intp)  # the first row with each text that names a candidate
    rows = np.flatnonzero(codes >= 0)[::-1]
    first[numbers[rows]] = rows

    def tell_rows(error: InputError, bad_words: IntArray) -> None:
        bad = np.flatnonzero(np.isin(numbers, bad_words) & (codes >= 0))
        row = int(bad[0])
        tell(InputError(argument="hit", row=row, value=texts[numbers[row]], fix=error.fix), bad)

    meanings = read_hits(words, first, tell_rows)
    return np.asarray(meanings[numbers] & (codes >= 0))

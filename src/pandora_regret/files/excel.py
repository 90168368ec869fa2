"""Sheets of Excel workbooks."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import IO, Any, Self

import pyarrow as pa

from pandora_regret.files.arrow import kinds_of
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.in_memory import TableInMemory
from pandora_regret.files.layout import some
from pandora_regret.files.source import check_names, unreadable
from pandora_regret.inputs import Done
from pandora_regret.optional import import_optional

CELL = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
LONGEST_CELL = 15  # bytes of a cell's name in a sheet, nearly
SMALL, SPARSEST = 1 << 24, 100  # places in a sheet; places for each cell
WHOLE = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number


@dataclass(frozen=True)
class ExcelSheet(TableInMemory):
    """One sheet: the names of the columns in its first row that is not empty, and the rows below."""

    sheet_rows: Sequence[int] = field(
        default=(), compare=False, repr=False
    )  # the rows' numbers, as Excel has them

    @classmethod
    def open(cls, path: str, said: Dialect = RECOGNISED) -> Self:
        calamine = import_optional("python_calamine", extra="excel")
        _check_extent(path)
        try:
            with calamine.CalamineWorkbook.from_path(path) as book:
                number = _sheet_number(said.sheet, book.sheet_names, path)
                cells = book.get_sheet_by_index(number).to_python(skip_empty_area=False)
                done = _which_sheet(path, book.sheet_names, number)
        except (calamine.CalamineError, OSError) as error:
            raise unreadable(path, "Excel", error) from None
        return cls._of_cells(path, cells, done)

    @classmethod
    def _of_cells(cls, path: str, cells: Sequence[Sequence[Any]], done: tuple[Done, ...]) -> Self:
        rows = {number: row for number, row in enumerate(cells, 1) if any(cell != "" for cell in row)}
        if not rows:
            raise FileError("has an empty sheet", path=path, fix="name another (--sheet), or fill it")
        header, *body = rows.values()
        width = max(index for row in rows.values() for index, cell in enumerate(row, 1) if cell != "")
        names = [_text(cell) or "" for cell in header[:width]]
        check_names(names, path)
        table = pa.table({name: _column(row[index] for row in body) for index, name in enumerate(names)})
        return cls(path, kinds_of(table.schema), done=done, table=table, sheet_rows=list(rows)[1:])

    def places(self, rows: Iterable[int]) -> dict[int, str]:
        """Rows as Excel numbers them."""
        return {row: f" row {self.sheet_rows[row]}" for row in rows}


def _check_extent(path: str) -> None:
    """No cell far away from all others: a sheet is held whole, from its first cell to its last."""
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                    with archive.open(name) as sheet:
                        _check_extent_of(sheet, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise unreadable(path, "Excel", error) from None


def _check_extent_of(sheet: IO[bytes], path: str) -> None:
    n_cells, rows, columns, rest = 0, 0, 0, b""
    while block := sheet.read(1 << 20):
        cells = CELL.findall(rest + block)
        n_cells, rest = n_cells + len(cells), block[-LONGEST_CELL:]
        rows = max([rows, *(int(row) for _, row in cells)])
        columns = max([columns, *(_column_number(letters) for letters in {letters for letters, _ in cells})])
    if rows * columns > max(SMALL, SPARSEST * n_cells):
        problem = f"has a sheet of {n_cells:,} cells in {rows:,} rows and {columns:,} columns"
        raise FileError(problem, path=path, fix="delete cells that lie far away from the table")


def _column_number(letters: bytes) -> int:
    """A is 1, Z is 26, AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("A") + 1, letters, 0)


def _sheet_number(sheet: str | int | None, names: Sequence[str], path: str) -> int:
    """Which sheet is asked for, by its name or its number from 1, counted from 0."""
    if sheet is None and names:
        return 0
    if sheet in names:
        return names.index(str(sheet))
    if str(sheet).isdecimal() and 1 <= int(str(sheet)) <= len(names):
        return int(str(sheet)) - 1
    problem = f"has the sheets {some(names)}" if sheet is None else f"has no sheet {sheet!r} among {some(names)}"
    raise FileError(problem, path=path, argument="sheet", value=sheet, fix="name one, or its number (--sheet)")


def _which_sheet(path: str, names: Sequence[str], number: int) -> tuple[Done, ...]:
    """Said where there are several."""
    if len(names) < 2:
        return ()
    return (Done("sheet", len(names) - 1, f"{path}: sheet {names[number]!r} read, of {len(names)}", path),)


def _column(cells: Iterable[Any]) -> Any:
    """Whole numbers, numbers, or text; nothing where a cell is empty."""
    values = [None if cell == "" else cell for cell in cells]
    known = [value for value in values if value is not None]
    if not known or any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in known):
        return pa.array([_text(value) for value in values], pa.string())
    whole = all(value == int(value) and abs(value) < WHOLE for value in known)
    return pa.array(values, pa.float64()).cast(pa.int64()) if whole else pa.array(values, pa.float64())


def _text(cell: Any) -> str | None:
    """As people see it: 1, not 1.0."""
    if isinstance(cell, float) and cell == int(cell) and abs(cell) < WHOLE:
        return str(int(cell))
    return None if cell is None else str(cell).strip()

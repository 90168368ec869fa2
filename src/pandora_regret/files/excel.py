"""Sheets of Excel workbooks."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from pandora_regret.files.columns import kinds_of
from pandora_regret.files.layout import some
from pandora_regret.files.problems import FileError
from pandora_regret.files.source import TableInMemory, check_names, unreadable
from pandora_regret.inputs import Done
from pandora_regret.optional import import_optional

CELL = re.compile(rb'\br="([A-Z]{1,3})([0-9]{1,7})"')
SMALL, SPARSEST = 1 << 24, 100  # places in a sheet; places for each cell
WHOLE = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number


def open_sheet(path: str, sheet: str | int | None = None) -> TableInMemory:
    """One sheet: the names of the columns in its first row that is not empty, and the rows below."""
    calamine = import_optional("python_calamine", extra="excel")
    _check_extent(path)
    try:
        with calamine.CalamineWorkbook.from_path(path) as book:
            number, titles = _sheet_number(sheet, book.sheet_names, path), book.sheet_names
            cells = book.get_sheet_by_index(number).to_python(skip_empty_area=False)
    except (calamine.CalamineError, OSError) as error:
        raise unreadable(path, "Excel", error) from None
    rows = {number: row for number, row in enumerate(cells, 1) if any(cell != "" for cell in row)}
    if not rows:
        raise FileError("has an empty sheet", path=path, fix="name another (--sheet), or fill it")
    header, *body = rows.values()
    width = max(index for row in rows.values() for index, cell in enumerate(row, 1) if cell != "")
    names = [_text(cell) or "" for cell in header[:width]]
    check_names(names, path)
    table = pa.table({name: _column(row[index] for row in body) for index, name in enumerate(names)})
    sentence = f"{path}: sheet {titles[number]!r} read, of {len(titles)}"
    done = (Done("sheet", len(titles) - 1, sentence, path),) if len(titles) > 1 else ()
    places = [f" row {number}" for number in list(rows)[1:]]
    return TableInMemory(path, kinds_of(table.schema), done=done, table=table, row_places=places)


def _check_extent(path: str) -> None:
    """No cell far away from all others: a sheet is held whole, from its first cell to its last."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/.*\.xml", name)]
            sheets = [CELL.findall(archive.read(name)) for name in names]
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise unreadable(path, "Excel", error) from None
    for cells in sheets:
        rows = max((int(row) for _, row in cells), default=0)
        columns = max(map(_column_number, {letters for letters, _ in cells}), default=0)
        if rows * columns > max(SMALL, SPARSEST * len(cells)):
            problem = f"has a sheet of {len(cells):,} cells in {rows:,} rows and {columns:,} columns"
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


def _column(cells: Iterable[Any]) -> Any:
    """Whole numbers, numbers, or text; nothing where a cell is empty."""
    values = [None if cell == "" else cell for cell in cells]
    present = [value for value in values if value is not None]
    if not present or any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in present):
        return pa.array([_text(value) for value in values], pa.string())
    whole = all(value == int(value) and abs(value) < WHOLE for value in present)
    return pa.array(values, pa.float64()).cast(pa.int64()) if whole else pa.array(values, pa.float64())


def _text(cell: Any) -> str | None:
    """As people see it: 1, not 1.0."""
    if isinstance(cell, float) and cell == int(cell) and abs(cell) < WHOLE:
        return str(int(cell))
    return None if cell is None else str(cell).strip()

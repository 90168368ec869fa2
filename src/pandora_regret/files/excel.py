"""Sheets of Excel workbooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa

from pandora_regret.files.arrow import kinds_of
from pandora_regret.files.dialect import RECOGNISED, Dialect
from pandora_regret.files.errors import FileError
from pandora_regret.files.in_memory import TableInMemory
from pandora_regret.files.layout import some
from pandora_regret.files.source import check_names, unreadable
from pandora_regret.inputs import Done
from pandora_regret.optional import import_optional

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

"""Sheets of workbooks (Excel) as sources."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from functools import cache, partial, reduce
from itertools import accumulate
from typing import IO, NamedTuple, TypeAlias

from pandora_regret.core.inputs import matched, quoted, remark_on
from pandora_regret.files.archives import BAD_ZIP
from pandora_regret.files.arrow_columns import arrow_table, kinds_of
from pandora_regret.files.dialect import Dialect
from pandora_regret.files.file_errors import FileError, explained
from pandora_regret.files.limits import Limit
from pandora_regret.files.recognise import Remarks
from pandora_regret.files.source import SourceInMemory, check_column_names
from pandora_regret.optional import import_optional
from pandora_regret.text import counted

PART_BYTES = 1 << 20  # of a member of the archive that are read at once
CELL = re.compile(
    rb'\br="([A-Z]{1,3})([0-9]{1,7})"|\bt="s"[^<>]{0,20}><v>([0-9]{1,9})</v>'
)  # a text by its number
TEXTS = "xl/sharedStrings.xml"
SMALL = 1 << 24  # places in a sheet
SPARSEST = 100  # places in a sheet for each of its cells
BYTES_PER_CELL = 250  # of a sheet while it is read, as measured
LONGEST_MATCH = 64  # bytes
WHOLE = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number

SheetValue: TypeAlias = str | int | float | None


def open_sheet(path: str, dialect: Dialect, limit: Limit) -> SourceInMemory:
    """One sheet: the names of the columns in its first row that names them all, and the rows below."""
    _check_extent(path, limit)
    sheet = _read_cells(path, str(dialect.sheet or 1))
    rows = _filled_rows(sheet, path)
    values = list(rows.values())
    n_above = _rows_above_names(values)
    names = ["" if cell is None else str(cell) for cell in values[n_above]]
    check_column_names(names, path)
    table = arrow_table([dict(zip(names, row, strict=True)) for row in values[n_above + 1 :]], names)
    done = _sheet_recognised(path, sheet, n_above)
    places = [f" row {number}" for number in rows]
    return SourceInMemory(path, kinds_of(table), done=done, table=table, row_places=places[n_above + 1 :])


class _Sheet(NamedTuple):
    """A sheet of a workbook."""

    titles: list[str]  # of all sheets
    number: int  # of this one, counted from 0
    cells: list[list[object]]


def _read_cells(path: str, sheet: str) -> _Sheet:
    """A sheet by its name or its number from 1, with all of its cells."""
    calamine = import_optional("python_calamine", extra="excel")
    with explained(path, "Excel", calamine.CalamineError), calamine.CalamineWorkbook.from_path(path) as book:
        number = _sheet_number(sheet, book.sheet_names, path)
        cells = book.get_sheet_by_index(number).to_python(skip_empty_area=False)
        return _Sheet(book.sheet_names, number, cells)


def _filled_rows(sheet: _Sheet, path: str) -> dict[int, list[SheetValue]]:
    """The rows that are not empty, by their numbers from 1, up to the last column that any of them fills."""
    rows = dict[int, list[SheetValue]]()
    for number, row in enumerate(sheet.cells, 1):
        if any(map(str, row)):
            rows[number] = [_value(cell) for cell in row]
    width = max(map(_filled_width, rows.values()), default=0)
    if width == 0:
        title = sheet.titles[sheet.number]
        others = [name for name in sheet.titles if name != title]
        fix = "fill it"
        if others:
            fix = f"name another: {quoted(others)} (--sheet; for prices, {path}#{others[0]})"
        raise FileError(f"has nothing in its sheet {title!r}", path, fix, argument="sheet", value=title)
    return {number: row[:width] for number, row in rows.items()}


def _sheet_recognised(path: str, sheet: _Sheet, n_above: int) -> Remarks:
    """What is to be said of which sheet was read, and what stands above the names of its columns."""
    words = list[str]()
    if len(sheet.titles) > 1:
        words.append(f"sheet {sheet.titles[sheet.number]!r} read, of {len(sheet.titles)}")
    if n_above:
        words.append(f"{counted(n_above, 'row')} above the names of columns left out")
    return remark_on("sheet", len(words), f"{path}: {'; '.join(words)}", path)


def _filled_width(row: Sequence[SheetValue]) -> int:
    """How many columns a row has, up to its last cell that holds something."""
    return max((column for column, cell in enumerate(row, 1) if cell is not None), default=0)


def _rows_above_names(rows: Sequence[list[SheetValue]]) -> int:
    """How many rows, such as titles, stand above the first that names all columns (the first may have no name)."""
    for number, row in enumerate(rows):
        if None not in row[min(1, len(row) - 1) :]:
            return number
    return 0


def _value(cell: object) -> SheetValue:
    """What people see in a cell: nothing, text, or a number, 1 rather than 1.0."""
    if isinstance(cell, bool) or not isinstance(cell, (int, float)):
        return str(cell).strip() or None
    return int(cell) if cell == int(cell) and abs(cell) < WHOLE else cell


def _check_extent(path: str, limit: Limit) -> None:
    """No sheet that takes too much memory, nor a cell far away from all others.

    A sheet is held whole, from its first cell to its last. What the archive says of sizes is not believed: its
    members are read, a part at a time.
    """
    with explained(path, "Excel", *BAD_ZIP), zipfile.ZipFile(path) as archive:
        members = [name for name in archive.namelist() if re.fullmatch(r"xl/.*\.(xml|bin)", name)]
        sheets = [name for name in members if name.startswith("xl/worksheets/")]
        for name in set(members).difference(sheets):
            with archive.open(name) as content:
                for size in accumulate(map(len, iter(partial(content.read, PART_BYTES), b""))):
                    limit.check(size)
        lengths = [len(text) for text in archive.read(TEXTS).split(b"<si")[1:]] if TEXTS in members else []
        for name in sheets:
            with archive.open(name) as content:
                extent = _read_extent(content, lengths, limit)
            places = extent.rows * extent.columns
            if places > max(SMALL, SPARSEST * extent.cells):
                area = f"{extent.rows:,} rows and {extent.columns:,} columns"
                problem = f"has a sheet of {extent.cells:,} cells in {area}"
                raise FileError(problem, path, "delete cells that lie far away from the table")
            limit.check(BYTES_PER_CELL * places + extent.text)


class _Extent(NamedTuple):
    """How large a sheet is."""

    cells: int
    rows: int
    columns: int
    text: int  # bytes in cells that refer to the workbook's list of texts


def _read_extent(content: IO[bytes], lengths: Sequence[int], limit: Limit) -> _Extent:
    """The extent of a sheet, which is read a part at a time; `lengths` are those of the workbook's texts."""
    cells = 0
    rows = 0
    columns = 0
    text = 0
    size = 0
    rest = b""
    while part := content.read(PART_BYTES):
        size += len(part)
        limit.check(size)
        window = rest + part
        end = 0
        for match in CELL.finditer(window):
            end = match.end()
            if match[3] is None:
                cells += 1
                rows = max(rows, int(match[2]))
                columns = max(columns, _column_number(match[1]))
            elif int(match[3]) < len(lengths):
                text += lengths[int(match[3])]
        rest = window[max(end, len(window) - LONGEST_MATCH) :]
    return _Extent(cells, rows, columns, text)


@cache
def _column_number(letters: bytes) -> int:
    """Of a column of a sheet: A is 1, AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("@"), letters, 0)


def _sheet_number(sheet: str, names: Sequence[str], path: str) -> int:
    """Which sheet is asked for, by its name or its number from 1, counted from 0."""
    if meant := matched([sheet], names):
        return names.index(meant[sheet])
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1
    problem = f"has no sheet {sheet!r} among {quoted(names)}"
    raise FileError(problem, path, "name one, or its number (--sheet)", argument="sheet")

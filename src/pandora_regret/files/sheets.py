"""Sheets of workbooks (Excel) as sources."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from functools import cache, reduce
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
PLACE = rb"""\br\s?=\s?["']([A-Za-z]{0,3})([0-9]{1,10})["']"""  # B7 of a cell, 7 of a row
NUMBER_OF_TEXT = rb"""\bt\s?=\s?["']s["'][^<>]{0,20}><(?:\w{1,20}:)?v>([0-9]{1,9})"""
TOKEN = re.compile(  # of a sheet: its data, a row or a cell begins, mostly with its place; a text by its number
    rb"<(?:\w{1,20}:)?(sheetData|row|c)(?=[\s/>])(?:\s" + PLACE + rb")?|" + PLACE + b"|" + NUMBER_OF_TEXT
)
TEXTS = "xl/sharedStrings.xml"
SMALL_SHEET = 1 << 24  # places in a sheet
SPARSEST = 100  # places in a sheet for each of its cells
BYTES_PER_CELL = 250  # of a sheet while it is read, as measured
LONGEST_TOKEN = 100  # bytes
BYTES_OF_TAGS = 100  # of a cell, in the sheet's file; more than that is text
LARGEST_EXACT = 1 << 53  # up to here, a number of a sheet that has no fraction is exactly that number

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
    remarks = _sheet_recognised(path, sheet, n_above)
    places = [f" row {number}" for number in rows]
    return SourceInMemory(path, kinds_of(table), remarks=remarks, table=table, row_places=places[n_above + 1 :])


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
    return int(cell) if cell == int(cell) and abs(cell) < LARGEST_EXACT else cell


def _check_extent(path: str, limit: Limit) -> None:
    """No sheet that takes too much memory, nor a cell far away from all others.

    A sheet is held whole, from its first cell to its last. What the archive says of sizes is not believed: its
    members are read, a part at a time.
    """
    with explained(path, "Excel", *BAD_ZIP), zipfile.ZipFile(path) as archive:
        lengths = _lengths_of_texts(archive, limit)
        for name in archive.namelist():
            if name.lower() == TEXTS.lower():
                continue
            with archive.open(name) as content:
                extent = _read_extent(content, lengths, limit)
            places = extent.rows * extent.columns
            if places > max(SMALL_SHEET, SPARSEST * extent.cells):
                area = f"{extent.rows:,} rows and {extent.columns:,} columns"
                problem = f"has a sheet of {extent.cells:,} cells in {area}"
                raise FileError(problem, path, "delete cells that lie far away from the table")
            limit.check(BYTES_PER_CELL * max(places, extent.cells) + extent.text)


def _lengths_of_texts(archive: zipfile.ZipFile, limit: Limit) -> list[int]:
    """The bytes of each text in the workbook's list, which cells name by number."""
    lengths = list[int]()
    for name in archive.namelist():
        if name.lower() == TEXTS.lower():
            parts = []
            size = 0
            with archive.open(name) as content:
                while part := content.read(PART_BYTES):
                    size += len(part)
                    limit.check(size)
                    parts.append(part)
            lengths += [len(text) for text in b"".join(parts).split(b"<si")[1:]]
    return lengths


class _Extent:
    """How large a sheet is, found while it is read.

    A cell that does not say where it stands is to the right of the one before it, a row below the one before.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        """`lengths` are those of the texts in the workbook's list, in bytes."""
        self.lengths = lengths
        self.cells = 0
        self.rows = 0  # up to the last that has a cell
        self.columns = 0
        self.text = 0  # bytes of texts from the list, wherever a cell names them
        self.has_begun = False  # before its data, and in what is no sheet, there are no cells
        self.row = 0  # where the cell stands that was read last
        self.column = 0

    def add(self, piece: bytes) -> None:
        """Read on by some tags, each of them whole."""
        for tag, letters, row, later_letters, later_row, text in TOKEN.findall(piece):
            if not self.has_begun:
                self.has_begun = tag == b"sheetData"
            elif text:
                self._add_text(int(text))
            elif tag == b"row":
                self.row = int(row) if row else self.row + 1
                self.column = 0
            else:
                self.cells += bool(tag)
                self._add_cell(letters or later_letters, row or later_row)

    def _add_text(self, number: int) -> None:
        """A cell names a text of the list."""
        if number < len(self.lengths):
            self.text += self.lengths[number]

    def _add_cell(self, letters: bytes, row: bytes) -> None:
        """A cell begins, or says after that where it stands; `letters` and `row` are empty if not said here."""
        if letters:
            self.column = _column_number(letters)
        elif not row:
            self.column += 1
        if row:
            self.row = int(row)
        if self.column > 0:
            self.rows = max(self.rows, self.row)
            self.columns = max(self.columns, self.column)


def _read_extent(content: IO[bytes], lengths: Sequence[int], limit: Limit) -> _Extent:
    """The extent of a sheet, which is read a part at a time; `lengths` are those of the workbook's texts."""
    extent = _Extent(lengths)
    size = 0
    rest = b""
    while part := content.read(PART_BYTES):
        size += len(part)
        window = rest + part
        end = max(window.rfind(b"</"), window.rfind(b"/>") + 2)  # of a tag's content, or of a tag
        if end <= 1:
            end = len(window) - LONGEST_TOKEN
        extent.add(window[:end])
        rest = window[end:]
        limit.check(max(size, BYTES_PER_CELL * extent.cells))
    extent.add(rest)
    if extent.has_begun:
        extent.text += max(0, size - BYTES_OF_TAGS * extent.cells)
    return extent


@cache
def _column_number(letters: bytes) -> int:
    """Of a column of a sheet: A is 1, AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("@"), letters.upper(), 0)


def _sheet_number(sheet: str, names: Sequence[str], path: str) -> int:
    """Which sheet is asked for, by its name or its number from 1, counted from 0."""
    if meant := matched([sheet], names):
        return names.index(meant[sheet])
    if sheet.isdecimal() and 1 <= int(sheet) <= len(names):
        return int(sheet) - 1
    problem = f"has no sheet {sheet!r} among {quoted(names)}"
    raise FileError(problem, path, "name one, or its number (--sheet)", argument="sheet")

"""What goes to standard output: JSON and CSV for programs, tables that fit the terminal for people."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

import click

from pandora_regret._version import __version__
from pandora_regret.text import shortened

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from pandora_regret.inputs import Done

NARROWEST_NAMES = 16
UNLIMITED = 10_000
FORMULA_SIGNS = ("=", "+", "-", "@")


def echo(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Print text for people; what files and models are called cannot command their terminal."""
    click.echo(without_controls(text), nl=nl, err=err)


def without_controls(text: str) -> str:
    """The text without characters that command a terminal, which a file's names may hold; ends of lines stay."""
    return "".join(each if each.isprintable() or each in "\n\u00a0" else f"\\x{ord(each):02x}" for each in text)


def print_json(value: Mapping[str, Any], schema: str | None = None) -> None:
    """Strict JSON, in ASCII, which every terminal and every program can read; its schema and maker come first."""
    about = {} if schema is None else {"schema": schema, "library": f"pandora-regret {__version__}"}
    click.echo(json.dumps({**about, **value}, indent=1, allow_nan=False))


def print_csv(rows: Sequence[Mapping[str, Any]], *, keep_formulas: bool = False) -> None:
    """Rows of a flat table, in UTF-8 whatever the terminal's encoding; what is undefined is left empty.

    A spreadsheet runs text that begins with =, +, - or @: such text gets an apostrophe in front unless kept.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value, keep_formulas) for key, value in row.items()} for row in rows)
    click.echo(text.getvalue().encode("utf-8", "surrogateescape"), nl=False)


def _cell(value: Any, keep_formulas: bool) -> Any:
    if not isinstance(value, str):
        return value
    text = without_controls(value)
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not keep_formulas else text


def finite(value: float | None) -> float | None:
    """The number, or None where JSON knows no such number."""
    return value if value is not None and isfinite(value) else None


@dataclass(frozen=True)
class Column:
    """A column of a table for people."""

    title: str
    cells: Sequence[str]
    justify: Literal["left", "right"] = "right"


def heading(console: Console, text: str, note: str = "", style: str = "dim") -> None:
    """What follows, and a note about it."""
    line = console.render_str(text, style="bold")
    console.print(line.append(f"  {note}", style=f"not bold {style}") if note else line)


def bullets(console: Console, sentences: Iterable[str], mark: str = "-") -> None:
    """Sentences one below the other, with a hanging indent."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    for sentence in sentences:
        grid.add_row(mark, sentence)
    console.print(grid)


def wrapped(text: str, width: int, most_lines: int | None = None) -> list[str]:
    """Text as lines no wider than that; where there are more lines than that, the last one ends in dots."""
    from rich.console import Console
    from rich.text import Text

    lines = [line.plain.rstrip() for line in Text(without_controls(text)).wrap(Console(), width)]
    if most_lines is None or len(lines) <= most_lines:
        return lines
    return [*lines[: most_lines - 1], f"{cut(lines[most_lines - 1], width - 2)} …"]


def fitted(name: str, width: int) -> str:
    """A name no wider than that on a terminal, where some letters take two columns: its ends tell it apart."""
    from rich.cells import cell_len

    name = without_controls(name)
    lengths = range(len(name), 1, -1)
    return next((short for n in lengths if cell_len(short := shortened(name, n)) <= width), name[:1])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Cells one below the other, the first column to the left and the others to the right."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first + " " * (widths[0] - cell_len(first))]
        cells += [" " * (width - cell_len(cell)) + cell for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def cut(line: str, width: int) -> str:
    """As much of a line as there is room for."""
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= width else set_cell_size(line, width).rstrip()


def print_done(console: Console, done: Sequence[Done]) -> None:
    """What was changed or left out, one line each."""
    if done:
        console.print("Done to the files:", style="dim")
        bullets(console, (f"{each.sentence}." for each in done))


def print_columns(console: Console, names: Column, columns: Sequence[Column]) -> None:
    """All columns side by side if they fit, else in as few tables as they take, each with the names again."""
    for number, part in enumerate(_parts_that_fit(console, names, columns)):
        if number:
            console.print()
        console.print(_table(console, names, part))


def _parts_that_fit(console: Console, names: Column, columns: Sequence[Column]) -> list[Sequence[Column]]:
    """Of as many columns each as possible, for the same number of tables."""
    for n_parts in range(1, len(columns) + 1):
        ends = [len(columns) * part // n_parts for part in range(n_parts + 1)]
        parts = [columns[start:end] for start, end in pairwise(ends)]
        if all(_width(console, _table(console, names, part)) <= console.width for part in parts):
            return parts
    return [[column] for column in columns]


def _width(console: Console, table: Table) -> int:
    """Of a table that nothing makes narrower."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=UNLIMITED), table).maximum


def _table(console: Console, names: Column, columns: Sequence[Column]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", show_edge=False)
    widest = max(NARROWEST_NAMES, console.width // 4)
    table.add_column(names.title, overflow="fold", max_width=widest, justify=names.justify)
    for column in columns:
        table.add_column(_in_two_lines(column.title), justify=column.justify, overflow="fold", vertical="top")
    for cells in zip(names.cells, *(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _in_two_lines(title: str) -> str:
    """Broken at the space that makes it narrowest."""
    places = [index for index, letter in enumerate(title) if letter == " "]
    if len(title) < 10 or not places:
        return title
    middle = min(places, key=lambda index: max(index, len(title) - index - 1))
    return f"{title[:middle]}\n{title[middle + 1 :]}"

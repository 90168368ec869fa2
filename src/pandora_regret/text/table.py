"""The one table: sentences, cells and notes, which render to a terminal, HTML, Markdown, LaTeX or CSV.

Results are built on it (`Shown`): they print as text, show as HTML in a notebook, and become a frame.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias
from unicodedata import combining, east_asian_width

from pandora_regret.text.names import without_direction_marks

FRAMES = ("pandas", "polars", "pyarrow")  # the libraries that a frame may be of, the likeliest first
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
FORMULA_SIGNS = ("=", "+", "-", "@")
NARROWEST_NAMES = 16
LATEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"} | {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    **{"α": r"$\alpha$", "†": r"$^\dagger$", "–": "--", "−": "$-$"},
}


@dataclass(frozen=True)
class Cell:
    """A text, perhaps with the limits of its interval, perhaps the best of its kind."""

    text: str
    interval: str = ""
    best: bool = False

    def __str__(self) -> str:
        return f"{self.text} [{self.interval}]" if self.interval else self.text


Content: TypeAlias = Cell | str | float | None


@dataclass(frozen=True)
class Table:
    r"""Cells under a header, with sentences above and notes below.

    The first `words` columns hold words, to the left; the others numbers, to the right. None is an empty cell.

    Examples
    --------
    >>> table = Table(["Model", "Cost"], [["a", Cell("$5", "4–6", best=True)], ["b", "$16"]], below=["2 models"])
    >>> print(table.to_text())
    Model      Cost
    a      $5 [4–6]
    b           $16
    2 models
    >>> print(table.to_text(width=80, best="*"))
    Model  Cost
    a       *$5
            4–6
    b       $16
    2 models
    >>> table.to_csv()
    'Model,Cost\na,$5 [4–6]\nb,$16\n'
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Content]]
    above: Sequence[str] = ()
    below: Sequence[str] = ()
    words: int = 1

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> Table:
        """One row per record; the records have the same keys."""
        return cls(list(records[0]), [list(record.values()) for record in records])

    def to_text(self, width: int | None = None, best: str = "") -> str:
        """Lines of text.

        Where a `width` is given, they fit it: intervals stand below their values, long names are folded, and
        columns that do not fit go into further tables with the names again. `best` goes before the best cells.
        """
        if width is None:
            lines = _aligned(self._rendered(without_controls, f"{best}{{}}"), self.words)
            return "\n".join([*self.above, *lines, *self.below])
        parts = "\n\n".join("\n".join(part) for part in self._parts(width, best))
        above, below = (
            [line for text in texts for line in wrapped(text, width)] for texts in (self.above, self.below)
        )
        return "\n".join([*above, parts, *below])

    def _parts(self, width: int, best: str) -> list[list[str]]:
        """As few tables as the columns take, of about as many columns each."""
        names, others = range(self.words), range(self.words, len(self.header))
        parts = [self._columns(range(len(self.header)), width, best, [[title] for title in self.header])]
        if max(map(cell_width, parts[0])) <= width:
            return parts
        titles = [[title] if n < self.words else _in_two_lines(title) for n, title in enumerate(self.header)]
        for n_parts in range(1, max(1, len(others)) + 1):
            ends = [self.words + len(others) * part // n_parts for part in range(n_parts + 1)]
            parts = [self._columns([*names, *range(*part)], width, best, titles) for part in pairwise(ends)]
            if max(cell_width(line) for part in parts for line in part) <= width:
                break
        return parts

    def _columns(
        self, numbers: Sequence[int], width: int, best: str, titles: Sequence[Sequence[str]]
    ) -> list[str]:
        """The lines of some columns."""
        widest = max(NARROWEST_NAMES, width // 4)
        height = max(len(titles[n]) for n in numbers)
        header = [["", *titles[n]][-height:] for n in numbers]
        rows = [
            [_stacked(row[n], widest if n < self.words else width, best) for n in numbers] for row in self.rows
        ]
        lines = [line for row in (header, *rows) for line in zip_longest(*row, fillvalue="")]
        return _aligned(lines, self.words)

    def _rendered(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """Header and rows as escaped text; `bold` is a format for the best cells."""
        return [
            [(bold if _is_best(cell) else "{}").format(escaped(_text(cell))) for cell in row]
            for row in (self.header, *self.rows)
        ]

    def to_html(self) -> str:
        """HTML for notebooks and pages, every text escaped, best cells bold."""
        above, below = ("".join(f"<p>{_safe(line)}</p>" for line in lines) for lines in (self.above, self.below))
        head, *body = self._rendered(_safe, "<strong>{}</strong>")
        rows = "".join(f"<tr>{''.join(self._html_cells(row, 'td'))}</tr>" for row in body)
        header = "".join(self._html_cells(head, "th"))
        table = f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div class="tex2jax_ignore mathjax_ignore">{above}{table}{below}</div>'  # $5 is no formula

    def _html_cells(self, row: Sequence[str], tag: str) -> Iterator[str]:
        for number, text in enumerate(row):
            yield f'<{tag} style="text-align: {"left" if number < self.words else "right"}">{text}</{tag}>'

    def to_markdown(self) -> str:
        """A Markdown table whose best cells are bold, the notes below."""
        rows = self._rendered(lambda text: text.replace("|", "\\|"), "**{}**")
        rows.insert(1, ["---"] * self.words + ["---:"] * (len(self.header) - self.words))
        return "\n".join([*self.above, *(f"| {' | '.join(row)} |" for row in rows), "", *self.below])

    def to_latex(self) -> str:
        """For the package booktabs; best cells are bold.

        Where several columns hold words, rows of the same first word stand together between rules.
        """
        columns = "l" * self.words + "c" * (len(self.header) - self.words)
        header, *rows = self._rendered(_escape_latex, r"\textbf{{{}}}")
        lines = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(header) + r" \\"]
        before = None
        for first, *others in rows:
            repeated = self.words > 1 and first == before
            if before is None or (self.words > 1 and not repeated):
                lines.append(r"\midrule")
            lines.append(" & ".join(["" if repeated else first, *others]) + r" \\")
            before = first
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *(f"% {note}" for note in self.below)])

    def to_csv(self, *, keep_formulas: bool = False) -> str:
        """Header and rows; numbers with all digits.

        A spreadsheet runs text that begins with =, +, - or @: such text gets an apostrophe in front unless kept.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([_for_csv(cell, keep_formulas) for cell in row] for row in (self.header, *self.rows))
        return text.getvalue()


def cell_width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(letter) in "WF" else combining(letter) == 0 for letter in text)


def without_controls(text: str) -> str:
    """The text without characters that command a terminal, which a file's names may hold; ends of lines stay."""
    return "".join(each if each.isprintable() or each in "\n\u00a0" else f"\\x{ord(each):02x}" for each in text)


def wrapped(text: str, width: int) -> list[str]:
    """Text as lines no wider than that, broken between words where it can be.

    Examples
    --------
    >>> wrapped("what a test costs", 9)
    ['what a', 'test', 'costs']
    """
    lines, line = [], ""
    for word in without_controls(text).replace("\n", " ").split(" "):
        while cell_width(word) > width:  # longer than a line
            head = next(n for n in range(len(word), 0, -1) if cell_width(word[:n]) <= width or n == 1)
            lines += [line] if line else []
            line, word = word[:head], word[head:]
        if line and cell_width(line) + 1 + cell_width(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def _aligned(lines: Sequence[Sequence[str]], words: int) -> list[str]:
    widths = [max(map(cell_width, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(_padded(line, widths, words)).rstrip() for line in lines]


def _padded(line: Sequence[str], widths: Sequence[int], words: int) -> Iterator[str]:
    for number, (text, width) in enumerate(zip(line, widths, strict=True)):
        space = " " * (width - cell_width(text))
        yield text + space if number < words else space + text


def _stacked(cell: Content, width: int, best: str) -> list[str]:
    """A cell's lines: the text, folded where it is too long, and its interval."""
    interval = [cell.interval] if isinstance(cell, Cell) and cell.interval else []
    text = cell.text if isinstance(cell, Cell) else _text(cell)
    return [*wrapped(f"{best if _is_best(cell) else ''}{text}", width), *interval]


def _is_best(cell: Content) -> bool:
    return isinstance(cell, Cell) and cell.best


def _text(cell: Content) -> str:
    return "" if cell is None else str(cell)


def _in_two_lines(title: str) -> list[str]:
    """Broken at the space that makes it narrowest."""
    spaces = [index for index, letter in enumerate(title) if letter == " "]
    if len(title) < 10 or not spaces:
        return [title]
    middle = min(spaces, key=lambda index: max(index, len(title) - index - 1))
    return [title[:middle], title[middle + 1 :]]


def _safe(text: str) -> str:
    return escape(CONTROLS.sub("\ufffd", without_direction_marks(text)))


def _escape_latex(text: str) -> str:
    return "".join(LATEX.get(mark, mark) for mark in text)


def _for_csv(cell: Content, keep_formulas: bool) -> Any:
    if cell is None or isinstance(cell, (int, float)):
        return cell
    text = without_controls(str(cell))
    return f"'{text}" if text.startswith(FORMULA_SIGNS) and not keep_formulas else text


class Shown(ABC):
    """A result that prints as a few lines of text, shows as a table in a notebook, and becomes a frame."""

    @abstractmethod
    def _table(self) -> Table:
        """What is shown."""

    @abstractmethod
    def _frame(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the frame, under the names of its columns."""

    def __str__(self) -> str:
        return self._table().to_text()

    def _repr_html_(self) -> str:
        return self._table().to_html()

    def to_frame(self, backend: str | None = None) -> Any:
        """A frame of "pandas", "polars" or "pyarrow": the one that is imported, else installed, unless named."""
        return frame_of(self._frame(), backend)


def frame_of(rows: Sequence[Mapping[str, Any]], backend: str | None = None) -> Any:
    """Rows with the same keys as a frame of a library that is there.

    Examples
    --------
    >>> frame_of([{"model": "a", "cost": 2.0}, {"model": "b", "cost": 3.0}], "polars")["cost"].sum()
    5.0
    """
    import narwhals as nw

    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    library: Any = backend or _library()
    return nw.from_dict(columns, backend=library).to_native()


def _library() -> str:
    """The first library that is in use already, else that is installed."""
    there = [name for name in FRAMES if name in sys.modules] or [name for name in FRAMES if find_spec(name)]
    if not there:
        raise ImportError(f"a frame needs one of {', '.join(FRAMES)}: install one of them.")
    return there[0]

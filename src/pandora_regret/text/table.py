"""The one table: sentences, cells and notes, which render to a terminal, HTML, Markdown, LaTeX or CSV.

Results are built on it (`Displayable`): they print as text, show as HTML in a notebook, and become a frame.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from itertools import pairwise, zip_longest
from typing import Any, TypeAlias

from pandora_regret.text.names import without_direction_marks
from pandora_regret.text.terminal import cell_width, without_controls, wrapped

FRAMES = ("pandas", "polars", "pyarrow")  # the libraries that a frame may be of, the likeliest first
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
FORMULA_SIGNS = ("=", "+", "-", "@")
NARROWEST_NAMES = 16  # of columns, where the width is short
NARROWEST_TITLES = 14
LATEX = str.maketrans(
    {mark: f"\\{mark}" for mark in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"|": "$|$", "<": "$<$", ">": "$>$", "α": r"$\alpha$", "†": r"$^\dagger$", "–": "--", "−": "$-$"}
)


@dataclass(frozen=True)
class DisplayCell:
    """A text, perhaps with the limits of its interval, perhaps the best of its kind."""

    text: str
    interval: str = ""
    best: bool = False

    def __str__(self) -> str:
        return f"{self.text} [{self.interval}]" if self.interval else self.text


Content: TypeAlias = DisplayCell | str | float | None


@dataclass(frozen=True)
class DisplayTable:
    r"""Cells under a header, with sentences above and notes below.

    The first `words` columns hold words, to the left; the others numbers, to the right. None is an empty cell.

    Examples
    --------
    >>> rows = [["a", DisplayCell("$5", "4–6", best=True)], ["b", "$16"]]
    >>> table = DisplayTable(["Model", "Cost"], rows, below=["2 models"])
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
    def of(cls, records: Sequence[Mapping[str, Content]]) -> DisplayTable:
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
        return "\n".join([*_paragraphs(self.above, width), parts, *_paragraphs(self.below, width)])

    def _parts(self, width: int, best: str) -> list[list[str]]:
        """The lines of as few tables as fit the width; titles are broken where that helps."""
        parts = [self._columns(range(len(self.header)), width, best, title_width=width)]
        n_parts = 0
        while max(map(_width_of, parts)) > width and n_parts < len(self.header) - self.words:
            n_parts += 1
            parts = [self._columns(numbers, width, best, NARROWEST_TITLES) for numbers in self._dealt(n_parts)]
        return parts

    def _dealt(self, n_parts: int) -> list[list[int]]:
        """The columns of each of so many tables: all columns of words, and about as many of the others each."""
        n_numbers = len(self.header) - self.words
        ends = [self.words + n_numbers * part // n_parts for part in range(n_parts + 1)]
        words = range(self.words)
        return [[*words, *range(start, stop)] for start, stop in pairwise(ends)]

    def _columns(self, numbers: Sequence[int], width: int, best: str, title_width: int) -> list[str]:
        """The lines of some columns: long names folded, titles between words; intervals below their values."""
        titles = []
        for n in numbers:
            words = self.header[n].split()
            titles.append(wrapped(self.header[n], max([title_width, *map(len, words)])))
        height = max(map(len, titles))
        blocks = [[[""] * (height - len(title)) + title for title in titles]]
        for row in self.rows:
            block = []
            for n in numbers:
                cell = _as_cell(row[n])
                widest = max(NARROWEST_NAMES, width // 4) if n < self.words else width
                text = f"{best}{cell.text}" if cell.best else cell.text
                lines = wrapped(text, widest)
                if cell.interval:
                    lines = [*lines, cell.interval]
                block.append(lines)
            blocks.append(block)
        lines_of_cells: list[tuple[str, ...]] = []
        for block in blocks:
            lines_of_cells.extend(zip_longest(*block, fillvalue=""))
        return _aligned(lines_of_cells, self.words)

    def _rendered(self, escaped: Callable[[str], str], bold: str) -> list[list[str]]:
        """Header and rows as escaped text; `bold` is a format for the best cells."""

        def rendered(content: Content) -> str:
            cell = _as_cell(content)
            text = escaped(str(cell))
            return bold.format(text) if cell.best else text

        return [list(map(rendered, row)) for row in (self.header, *self.rows)]

    def to_html(self) -> str:
        """HTML for notebooks and pages, every text escaped, best cells bold."""

        def safe(text: str) -> str:
            return escape(CONTROLS.sub("\ufffd", without_direction_marks(text)))

        above = "".join(f"<p>{safe(sentence)}</p>" for sentence in self.above)
        below = "".join(f"<p>{safe(note)}</p>" for note in self.below)
        sides = ["left"] * self.words + ["right"] * (len(self.header) - self.words)
        lines = []
        for number, row in enumerate(self._rendered(safe, "<strong>{}</strong>")):
            tag = "td" if number else "th"
            cells = (
                f'<{tag} style="text-align: {side}">{text}</{tag}>' for side, text in zip(sides, row, strict=True)
            )
            lines.append(f"<tr>{''.join(cells)}</tr>")
        table = f"<table><thead>{lines[0]}</thead><tbody>{''.join(lines[1:])}</tbody></table>"
        return f'<div class="tex2jax_ignore mathjax_ignore">{above}{table}{below}</div>'  # $5 is no formula

    def to_markdown(self) -> str:
        """A Markdown table whose best cells are bold, the notes below."""
        rows = self._rendered(lambda text: text.replace("|", "\\|"), "**{}**")
        rows.insert(1, ["---"] * self.words + ["---:"] * (len(self.header) - self.words))
        return "\n".join([*self.above, *(f"| {' | '.join(row)} |" for row in rows), "", *self.below])

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """A LaTeX table for the package booktabs, whose best cells are bold; it floats if it has a caption.

        Where several columns hold words, rows of the same first word stand together, and between rules if any of
        these blocks has several rows.
        """
        columns = "l" * self.words + "c" * (len(self.header) - self.words)
        first_words = [row[0] for row in self.rows]
        has_blocks = self.words > 1 and len(set(first_words)) < len(first_words)
        header, *rows = self._rendered(lambda text: text.translate(LATEX), r"\textbf{{{}}}")
        lines = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(header) + r" \\"]
        word_before: str | None = None
        for word, *rest in rows:
            is_repeated = self.words > 1 and word == word_before
            begins_block = has_blocks and not is_repeated
            if begins_block or word_before is None:
                lines.append(r"\midrule")
            cells = ["" if is_repeated else word, *rest]
            lines.append(" & ".join(cells) + r" \\")
            word_before = word
        notes = [f"% {note}" for note in self.below]
        lines += [r"\bottomrule", r"\end{tabular}"]
        if caption:
            head = [r"\begin{table}", r"\centering", f"\\caption{{{caption.translate(LATEX)}}}"]
            lines = [*head, f"\\label{{{label}}}", *lines, r"\end{table}"]
        return "\n".join([*lines, *notes])

    def to_csv(self) -> str:
        """Header and rows; numbers with all digits.

        A spreadsheet runs text that begins with =, +, - or @: such text gets an apostrophe in front.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        for row in (self.header, *self.rows):
            writer.writerow([_csv_field(content) for content in row])
        return text.getvalue()


def _as_cell(content: Content) -> DisplayCell:
    if isinstance(content, DisplayCell):
        return content
    if content is None:
        return DisplayCell("")
    return DisplayCell(str(content))


def _csv_field(content: Content) -> str | float:
    """A number as it is; text without controls, and with an apostrophe where a spreadsheet would run it."""
    if isinstance(content, (int, float)):
        return content
    text = without_controls(str(_as_cell(content)))
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def _width_of(lines: Sequence[str]) -> int:
    """The columns of a terminal that the widest of some lines takes."""
    return max(map(cell_width, lines))


def _paragraphs(sentences: Sequence[str], width: int) -> list[str]:
    """The lines of sentences, each wrapped by itself."""
    return [line for sentence in sentences for line in wrapped(sentence, width)]


def _aligned(lines: Sequence[Sequence[str]], words: int) -> list[str]:
    """Lines of cells as text, the first `words` columns to the left."""
    columns = []
    for number, column in enumerate(zip(*lines, strict=True)):
        width = max(map(cell_width, column))
        align = str.ljust if number < words else str.rjust
        columns.append([align(text, width + len(text) - cell_width(text)) for text in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


class Displayable(ABC):
    """A result that prints as a few lines of text, shows as a table in a notebook, and becomes a frame."""

    @abstractmethod
    def _table(self) -> DisplayTable:
        """Header, rows and notes, from which text and HTML are made."""

    @abstractmethod
    def _frame(self) -> Sequence[Mapping[str, object]]:
        """The rows of the frame, under the names of its columns."""

    def __str__(self) -> str:
        return self._table().to_text()

    def _repr_html_(self) -> str:
        return self._table().to_html()

    def to_frame(self, backend: str | None = None) -> Any:
        """A frame of "pandas", "polars" or "pyarrow": the one that is imported, else installed, unless named."""
        import narwhals as nw

        installed = sorted(filter(find_spec, FRAMES), key=lambda name: name not in sys.modules)
        if backend is None and not installed:
            raise ImportError(f"a frame needs one of {', '.join(FRAMES)}: install one of them.")
        columns: dict[str, list[object]] = {}
        for row in self._frame():
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        library = backend or installed[0]
        return nw.from_dict(columns, backend=library).to_native()  # type: ignore[arg-type]

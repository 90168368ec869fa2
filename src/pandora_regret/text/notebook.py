"""Results as a notebook shows them: an HTML table, a few lines of text, or a frame."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

from pandora_regret.text.names import without_direction_marks

FRAMES = ("pandas", "polars", "pyarrow")  # the libraries that a frame may be of, the likeliest first
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
NUMBERS = ' style="text-align: right"'
WORDS = ' style="text-align: left"'


@dataclass(frozen=True)
class Overview:
    """What a result says in a few lines: sentences, and one table of texts whose first column names the rows."""

    sentences: Sequence[str]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    more: str = ""  # what is left out of the table

    def as_text(self) -> str:
        """Lines for a terminal; the first column to the left, numbers to the right."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = ["  ".join(_aligned(row, widths)).rstrip() for row in (self.header, *self.rows)]
        return "\n".join([*self.sentences, *lines, *([self.more] if self.more else [])])

    def as_html(self) -> str:
        """The same as HTML, every text escaped."""
        said = "".join(f"<p>{_safe(sentence)}</p>" for sentence in self.sentences)
        head, *body = (
            "".join(_cells(row, tag)) for row, tag in ((self.header, "th"), *((r, "td") for r in self.rows))
        )
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        more = f"<p>{_safe(self.more)}</p>" if self.more else ""
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div class="tex2jax_ignore mathjax_ignore">{said}{table}{more}</div>'  # $5 and $6 are no formula


class Shown(ABC):
    """A result that prints as a few lines of text, shows as a table in a notebook, and becomes a frame."""

    @abstractmethod
    def _overview(self) -> Overview:
        """What is shown."""

    @abstractmethod
    def _frame(self) -> Sequence[Mapping[str, Any]]:
        """The rows of the frame, under the names of its columns."""

    def __str__(self) -> str:
        return self._overview().as_text()

    def _repr_html_(self) -> str:
        return self._overview().as_html()

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


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        f"{text:{width}}" if number == 0 else f"{text:>{width}}"
        for number, (text, width) in enumerate(zip(row, widths, strict=True))
    ]


def _cells(row: Sequence[str], tag: str) -> list[str]:
    return [f"<{tag}{NUMBERS if number else WORDS}>{_safe(text)}</{tag}>" for number, text in enumerate(row)]


def _safe(text: str) -> str:
    return escape(CONTROLS.sub("\ufffd", without_direction_marks(text)))

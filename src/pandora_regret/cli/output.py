"""What is printed: text and tables for people, JSON and CSV for programs, progress on standard error.

Everything goes through `echo`, so that no name of a file, class or model can command a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import click

from pandora_regret._version import __version__
from pandora_regret.text import cell_width, without_controls, wrapped

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from click._termui_impl import ProgressBar

    from pandora_regret.core.inputs import Remark
    from pandora_regret.text import Content

WIDEST = 200  # columns of a table that goes to a file or a pipe, which have no width of their own
SILENT_SECONDS = 1.0  # of work without progress bars
TELLING_SHARE = 0.1  # of the steps: before that, what is left would be guessed from how long starting took


def width() -> int:
    """Columns of the terminal."""
    return get_terminal_size((WIDEST, 24)).columns


def echo(
    text: str = "",
    *,
    nl: bool = True,
    err: bool = False,
    bold: bool = False,
    dim: bool = False,
    colour: str | None = None,
) -> None:
    """Print text as it is; in bold, dim or in a colour only on a terminal that wants it."""
    is_styled = None  # as the stream is: a terminal or not
    if "NO_COLOR" in os.environ:
        is_styled = False
    elif "FORCE_COLOR" in os.environ:
        is_styled = True
    text = without_controls(text)
    if bold or dim or colour:
        text = click.style(text, fg=colour, bold=bold or None, dim=dim or None)
    stream = sys.stderr if err else sys.stdout  # click's own would not fall back to ASCII
    click.echo(text, stream, nl, color=is_styled)


def say(text: str, *, bold: bool = False, dim: bool = False, colour: str | None = None) -> None:
    """Print sentences in lines that fit the terminal."""
    for line in wrapped(text, width()):
        echo(line, bold=bold, dim=dim, colour=colour)


def heading(text: str, note: str = "", *, dim: bool = False, colour: str | None = None) -> None:
    """A title in bold, and a note about it: dim or in a colour."""
    fits = cell_width(without_controls(text)) + 2 + cell_width(note) <= width()
    if note and fits:
        echo(text, nl=False, bold=True)
        echo(f"  {note}", dim=dim, colour=colour)
        return
    say(text, bold=True)
    if note:
        say(note, dim=dim, colour=colour)


def bullets(sentences: Iterable[str], mark: str = "-") -> None:
    """Sentences one below the other, with a hanging indent."""
    for sentence in sentences:
        lines = wrapped(sentence, max(width() - len(mark) - 1, 1))
        echo(f"{mark} {lines[0]}")
        for line in lines[1:]:
            echo(f"{' ' * len(mark)} {line}")


class HasRemarks(Protocol):
    """A file or a model that says what was done to it."""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was changed or left out."""


def all_remarks(parts: Iterable[HasRemarks]) -> tuple[Remark, ...]:
    """What was done to several files or models, each thing once."""
    return tuple(dict.fromkeys(change for part in parts for change in part.remarks))


def print_remarks(remarks: Sequence[Remark]) -> None:
    """What was changed or left out, one line each."""
    if remarks:
        echo("Done to the files:", dim=True)
        bullets(f"{change.sentence}." for change in remarks)


def print_json(value: Mapping[str, object] | DataclassInstance, schema: str | None = None) -> None:
    """Strict JSON, in ASCII, which every terminal and every program can read; its schema and maker come first.

    Dataclasses become objects, wherever they are.
    """
    import json

    from pandora_regret.core.records import to_plain

    maker = {} if schema is None else {"schema": schema, "library": f"pandora-regret {__version__}"}
    click.echo(json.dumps(maker | to_plain(value), indent=1, allow_nan=False))


def print_csv(rows: Sequence[Mapping[str, Content]]) -> None:
    """Rows of a flat table, in UTF-8 whatever the terminal's encoding; what is undefined is left empty."""
    from pandora_regret.text import DisplayTable

    text = DisplayTable.of(rows).to_csv()
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


class Bars:
    """Progress of one task after the other: a bar with the time that is left, and a note such as images a second.

    Bars are there where standard error is a terminal, once the work has lasted longer than a second, and are gone
    when it is done.
    """

    def __init__(self) -> None:
        self._begun = monotonic()
        self._bar: ProgressBar[str] | None = None

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A new bar, of so many steps."""
        self.clear()
        self._bar = click.progressbar(
            None,
            length=total,
            label=without_controls(task),
            show_pos=True,
            hidden=True,
            item_show_func=str,
            file=sys.stderr,
        )
        self._bar.pos = done

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Move the bar on: so many steps of the task that was started last are done."""
        assert self._bar is not None
        seen = sys.stderr is not None and sys.stderr.isatty()
        self._bar.hidden = not seen or monotonic() - self._begun < SILENT_SECONDS
        is_telling = self._bar.pos + steps > TELLING_SHARE * (self._bar.length or 0)
        if not is_telling:
            self._bar.avg = []
        self._bar.show_eta = is_telling and len(self._bar.avg) > 0
        self._bar.update(steps, without_controls(note))

    def say(self, message: str) -> None:
        """A message above the bar."""
        self.clear()
        echo(message, err=True)

    def clear(self) -> None:
        """The bar is gone until the next step."""
        if self._bar is not None and not self._bar.hidden:
            clear_line_and_show_cursor = "\r\x1b[2K\x1b[?25h"
            click.echo(clear_line_and_show_cursor, sys.stderr, nl=False, color=True)


@contextmanager
def bars() -> Iterator[Bars]:
    """Progress on standard error while the work lasts."""
    drawn = Bars()
    try:
        yield drawn
    finally:
        drawn.clear()

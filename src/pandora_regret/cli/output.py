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
from typing import TYPE_CHECKING, Any

import click

from pandora_regret._version import __version__
from pandora_regret.text import cell_width, without_controls, wrapped

if TYPE_CHECKING:
    from pandora_regret.core.inputs import Done

WIDEST = 200  # columns of a table that goes to a file or a pipe, which have no width of their own
SILENT_SECONDS = 1.0  # of work without progress bars


def width() -> int:
    """Columns of the terminal."""
    return get_terminal_size((WIDEST, 24)).columns


def echo(text: str = "", *, nl: bool = True, err: bool = False, **style: Any) -> None:
    """Print text as it is; colour only on a terminal that wants it."""
    colour = None  # as the stream is: a terminal or not
    if "NO_COLOR" in os.environ:
        colour = False
    elif "FORCE_COLOR" in os.environ:
        colour = True
    text = without_controls(text)
    stream = sys.stderr if err else sys.stdout  # click's own would not fall back to ASCII
    click.echo(click.style(text, **style) if any(style.values()) else text, stream, nl, color=colour)


def say(text: str, **style: Any) -> None:
    """Print sentences in lines that fit the terminal."""
    for line in wrapped(text, width()):
        echo(line, **style)


def heading(text: str, note: str = "", **style: Any) -> None:
    """What follows, and a note about it."""
    fits = cell_width(without_controls(text)) + 2 + cell_width(note) <= width()
    if note and fits:
        echo(text, nl=False, bold=True)
        echo(f"  {note}", **style)
        return
    say(text, bold=True)
    if note:
        say(note, **style)


def bullets(sentences: Iterable[str], mark: str = "-") -> None:
    """Sentences one below the other, with a hanging indent."""
    for sentence in sentences:
        lines = wrapped(sentence, max(width() - len(mark) - 1, 1))
        echo(f"{mark} {lines[0]}")
        for line in lines[1:]:
            echo(f"{' ' * len(mark)} {line}")


def all_done(parts: Iterable[Any]) -> tuple[Done, ...]:
    """What was done to several files or models, each thing once."""
    return tuple(dict.fromkeys(change for part in parts for change in part.done))


def print_done(done: Sequence[Done]) -> None:
    """What was changed or left out, one line each."""
    if done:
        echo("Done to the files:", dim=True)
        bullets(f"{change.sentence}." for change in done)


def print_json(value: Any, schema: str | None = None) -> None:
    """Strict JSON, in ASCII, which every terminal and every program can read; its schema and maker come first.

    Dataclasses become objects, wherever they are.
    """
    import json

    from pandora_regret.core.records import to_plain

    maker = {} if schema is None else {"schema": schema, "library": f"pandora-regret {__version__}"}
    click.echo(json.dumps(maker | to_plain(value), indent=1, allow_nan=False))


def print_csv(rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows of a flat table, in UTF-8 whatever the terminal's encoding; what is undefined is left empty."""
    from pandora_regret.text import Table

    text = Table.of(rows).to_csv()
    click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


class Bars:
    """Progress of one task after the other: a bar with the time that is left, and a note such as images a second.

    Bars are there where standard error is a terminal, once the work has lasted longer than a second, and are gone
    when it is done.
    """

    def __init__(self) -> None:
        self._begun = monotonic()
        self._bar: Any = None

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A new bar, of so many steps."""
        self.clear()
        self._bar = click.progressbar(
            length=total,
            label=without_controls(task),
            show_pos=True,
            hidden=True,
            item_show_func=str,
            file=sys.stderr,
        )
        self._bar.pos = done

    def advance(self, steps: int = 1, note: str = "") -> None:
        """So many steps of the task that was started last are done."""
        seen = sys.stderr is not None and sys.stderr.isatty()
        self._bar.hidden = not seen or monotonic() - self._begun < SILENT_SECONDS
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

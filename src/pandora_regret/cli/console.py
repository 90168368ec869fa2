"""Where people read: tables on standard output, progress on standard error. Colour only on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from pandora_regret.cli.printing import without_controls

WIDEST = 200  # columns of a table that goes to a file or a pipe, which have no width of their own
SILENT_SECONDS = 1.0  # of work without progress bars


class PlainConsole(Console):
    """Text is shown as it is: markup, emoji codes and escape sequences in names of files or classes do nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """All strings come by here on their way to the screen."""
        return super().render_str(without_controls(text), **settings)

    def on_broken_pipe(self) -> None:
        """Leave it to whoever runs the command."""
        raise BrokenPipeError


def output() -> Console:
    """Standard output; as wide as its tables where nobody's terminal limits it."""
    console = PlainConsole()
    return console if console.is_terminal or "COLUMNS" in os.environ else PlainConsole(width=WIDEST)


def errors() -> Console:
    """Standard error."""
    return PlainConsole(stderr=True)


class Bars:
    """Progress of named tasks, as bars with the time that is left and a note such as images a second."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def start(self, task: str, total: int, done: int = 0) -> None:
        """A new bar, of so many steps."""
        self._tasks[task] = self._progress.add_task(without_controls(task), total=total, completed=done, note="")

    def advance(self, task: str, steps: int = 1, note: str = "") -> None:
        self._progress.update(self._tasks[task], advance=steps, note=without_controls(note))

    def say(self, message: str) -> None:
        self._progress.console.print(message)


@contextmanager
def bars(*, passing: bool = False) -> Iterator[Bars]:
    """Progress bars on standard error while the work lasts, if it lasts longer than a second.

    Those that are `passing` are gone when it is done, and never there where standard error is no terminal.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    console = errors()
    unseen = passing and not console.is_terminal
    progress = Progress(*columns, console=console, transient=passing, disable=unseen)
    begin = Timer(SILENT_SECONDS, progress.start)
    begin.daemon = True
    begin.start()
    try:
        yield Bars(progress)
    finally:
        begin.cancel()
        begin.join()
        if progress.live.is_started:
            progress.stop()

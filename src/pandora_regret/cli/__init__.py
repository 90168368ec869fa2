"""The `pandora` command: one file per command, thin: parse, call, print.

Nothing heavy is imported before a command needs it, so that ``pandora --help`` answers at once.

    commands.py     the list of commands, and how they fail (one line, and an exit code)
    headings.py     help with options under headings
    options.py      options that several commands share, and what they mean together
    output.py       the door of everything printed: text, tables, JSON, CSV; progress on standard error
    comparison.py   a comparison for people, on one screen or in full
    compare.py, next.py, recalibrate.py, monitor.py, validate.py, study.py, help.py
                    the commands; `pandora score` is a comparison of one
"""

from __future__ import annotations

import signal
import sys
import threading
from typing import NoReturn

from pandora_regret.optional import MissingLibraryError, import_optional


class Terminated(SystemExit):
    """Asked to end, the process ends as by any other error, so that nothing half-written stays behind."""


def main() -> None:
    """Run the command, or say in one line what it lacks."""
    if sys.stdout is None:
        sys.exit("pandora: standard output is closed: send it to a file, or to /dev/null.")
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _end_all_the_same
    try:
        import_optional("click", extra="cli")
        from pandora_regret.cli.commands import pandora, register_ascii_fallback

        register_ascii_fallback()
        pandora(prog_name="pandora")
    except MissingLibraryError as error:
        sys.exit(f"pandora: {error}")
    except KeyboardInterrupt:  # before the command began, or after it ended
        _say_and_exit("interrupted", signal.SIGINT)
    except Terminated:
        _say_and_exit("terminated", signal.SIGTERM)


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated


def _say_and_exit(what: str, number: int) -> NoReturn:
    print(f"pandora: {what}.", file=sys.stderr)
    sys.exit(128 + number)


def _end_all_the_same(unraisable: sys.UnraisableHookArgs) -> None:
    """A signal that came while a destructor ran, where Python cannot raise, is sent again a moment later."""
    number = {KeyboardInterrupt: signal.SIGINT, Terminated: signal.SIGTERM}.get(unraisable.exc_type)
    if number is None:
        sys.__unraisablehook__(unraisable)
    else:
        threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, number)).start()

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

import gc
import signal
import sys
import threading

from pandora_regret.optional import MissingLibraryError, import_optional


def main() -> None:
    """Run the command, or say in one line what it lacks."""
    if sys.stdout is None:
        sys.exit("pandora: standard output is closed: send it to a file, or to /dev/null.")
    # Imports make many objects, a quarter of a million with numba, and hardly any garbage to look for.
    gc.set_threshold(400_000)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: nothing half-written stays behind
    sys.unraisablehook = _interrupt_again
    try:
        import_optional("click", extra="cli")
        from pandora_regret.cli.commands import pandora, register_ascii_fallback

        register_ascii_fallback()
        pandora(prog_name="pandora")
    except MissingLibraryError as error:
        sys.exit(f"pandora: {error}")
    except KeyboardInterrupt:  # before the command began, or after it ended
        print("pandora: interrupted.", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # all that is left goes with the process: Python, as it ends, need not look through it first


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """A signal that came while a destructor ran, where Python cannot raise, is sent again a moment later."""
    if unraisable.exc_type is KeyboardInterrupt:
        main_thread = threading.main_thread().ident  # which a real signal wakes, wherever it waits
        threading.Timer(0.05, signal.pthread_kill, (main_thread, signal.SIGTERM)).start()  # SIGINT may be ignored
    else:
        sys.__unraisablehook__(unraisable)

"""The `pandora` command: one file per command, thin: parse, call, print.

Nothing heavy is imported before a command needs it, so that ``pandora --help`` answers at once.

    commands.py     the list of commands, and how they fail: one line on standard error, and an exit code
    options.py      options that several commands share
    console.py      tables on standard output, progress on standard error
    printing.py     JSON, CSV and tables that fit the terminal
    comparison.py   a comparison, as tables for people
    inspection.py   everything that is wrong with a file, for `pandora validate`
    compare.py, score.py, report.py, order.py, validate.py, figures.py, study.py   the commands
"""

from __future__ import annotations

import sys

from pandora_regret.optional import MissingLibraryError, import_optional


def main() -> None:
    """Run the command, or say in one line what it lacks."""
    try:
        import_optional("click", extra="cli")
    except MissingLibraryError as error:
        sys.exit(f"pandora: {error}")
    from pandora_regret.cli.commands import pandora, register_ascii_fallback

    register_ascii_fallback()
    pandora(prog_name="pandora")

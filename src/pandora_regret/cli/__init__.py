"""The `pandora` command: one file a command, thin: parse, call, print.

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

from pandora_regret.optional import MissingLibraryError, needs


def main() -> None:
    """Run the command, or say in one line what it lacks."""
    try:
        needs("click", extra="cli")
    except MissingLibraryError as error:
        sys.exit(f"pandora: {error}")
    from pandora_regret.cli.commands import pandora, spell_out_what_cannot_be_shown

    spell_out_what_cannot_be_shown()
    pandora(prog_name="pandora")

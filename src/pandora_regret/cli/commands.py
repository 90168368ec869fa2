"""The list of commands, each imported when it is asked for, and how they fail."""

import codecs
import io
import os
import sys
from typing import Any, NoReturn

import click

from pandora_regret._version import __version__
from pandora_regret.cli.headings import Group

COMMANDS = {  # name: what the list of commands says of it
    "compare": "Which of several models to deploy, how sure that is, and what it saves.",
    "score": "What one model's forecasts cost, from a file of any size.",
    "next": "What to test next, for one forecast.",
    "workup": "A work-up learned from records, and what its plan would have cost.",
    "recalibrate": "What recalibrating a model saves, and its forecasts recalibrated.",
    "monitor": "Whether a model in production still costs what it promises.",
    "validate": "What is wrong with a file, if anything.",
    "study": "Which metric picks the model that is cheapest to deploy.",
    "help": "More about files, ranked lists, prices and metrics.",
}
EPILOG = """\b
Exit codes:
  0    done
  1    the work could not be finished: disk full, cluster out of reach, a library missing
  2    a file, value or option is wrong: the message says which, and what to do
  3    done, and there is an alarm (monitor only)
  130  interrupted
"""
CALLED_ALIKE = """by costs sensitivity prior bootstrap level seed jobs cluster steps logits found workup separator
    decimal encoding objective"""  # arguments of the library that options are called by
OPTION_OF = {name: f"--{name}" for name in CALLED_ALIKE.split()} | {
    "y_proba": "forecast",
    "y_true": "label",
    "labels": "--classes",
    "sample_weight": "--weight",
    "ids": "--id",
    "groups": "--group",
    "cost": "--costs",
    "note": "--acknowledge",
}
PLAINER = {"−": "-", "–": "-", "…": "...", "’": "'", "×": "x"} | {
    "€": "EUR ", "£": "GBP ", "¥": "JPY ", "₹": "INR ", "₩": "KRW ", "₪": "ILS "
}  # fmt: skip


class Commands(Group):
    """A group that knows its commands by name, and imports one only to run it or to explain it in full."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was asked for; one that there is not is answered with the nearest."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            from difflib import get_close_matches

            nearest = get_close_matches(name, COMMANDS)
            if nearest:
                ctx.fail(f"No such command {name!r}: did you mean {' or '.join(map(repr, nearest))}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """A reader of our output who has seen enough, as `head` has, is no failure; Ctrl-C takes no extra line."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            raise click.Abort from None
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        return result

    def main(self, *args: Any, **options: Any) -> NoReturn:
        """Errors that a person can act on come without a traceback."""
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
        except (Exception, KeyboardInterrupt) as error:
            from pandora_regret.cli.output import echo

            reason, code = _reason_and_code(error)
            if not reason.startswith("Usage:"):
                reason = f"pandora: {' '.join(reason.split())}"
            echo(reason, err=True)
            raise SystemExit(code) from error
        sys.exit(code if isinstance(code, int) else 0)


def load_command(name: str) -> click.Command | None:
    """The command of that name, whose module is imported now; None if there is none."""
    match name:
        case "compare":
            from pandora_regret.cli.compare import compare as command
        case "score":
            from pandora_regret.cli.compare import score as command
        case "next":
            from pandora_regret.cli.next import next as command
        case "workup":
            from pandora_regret.cli.workup import workup as command
        case "recalibrate":
            from pandora_regret.cli.recalibrate import recalibrate as command
        case "monitor":
            from pandora_regret.cli.monitor import monitor as command
        case "validate":
            from pandora_regret.cli.validate import validate as command
        case "study":
            from pandora_regret.cli.study import study as command
        case "help":
            from pandora_regret.cli.help import help as command
        case _:
            return None
    return command


def _reason_and_code(error: BaseException) -> tuple[str, int]:
    """What is wrong, and the exit code; a defect of the program is raised again."""
    if isinstance(error, click.UsageError):
        message = error.format_message()
        if message.startswith("Usage:"):
            return message, 2
        command_path = error.ctx.command_path if error.ctx else "pandora"
        return f"{message} See {command_path} --help.", 2
    if isinstance(error, click.ClickException):
        return error.format_message(), 2
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted.", 130
    if isinstance(error, MemoryError):
        return "there is not enough memory: `pandora score` needs little, whatever the number of rows.", 1
    from pandora_regret.optional import failed_import

    missing_library = failed_import(error)
    if missing_library is not None:
        return missing_library, 1
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'output'}: {error.strerror}.", 1
    if isinstance(error, ImportError | OSError):
        return str(error), 1
    from pandora_regret.core.inputs import InputError, InputTypeError

    if isinstance(error, InputError | InputTypeError):
        return error.sentence(OPTION_OF), 2
    raise error


def register_ascii_fallback() -> None:
    """On a terminal that cannot show all characters, signs and currencies are spelt out, and others are ``?``."""

    def spelt_out(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        not_encodable = error.object[error.start : error.end]
        return "".join(PLAINER.get(character, "?") for character in not_encodable), error.end

    codecs.register_error("spelt_out", spelt_out)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="spelt_out")


def help_width() -> int:
    """As click has it, without loading the compressors that `shutil` brings along."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (OSError, ValueError):  # no terminal
        columns = 80
    return max(min(columns, 80) - 2, 50)


SETTINGS = {"help_option_names": ["-h", "--help"], "terminal_width": help_width()}


@click.command(cls=Commands, epilog=EPILOG, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="pandora")
def pandora() -> None:
    r"""Score forecasts by what the search they order will cost.

    \b
    Examples:
      pandora next "flu=0.6,cold=0.4" --costs "flu=20,cold=5"
      pandora compare forest.csv network.csv --costs prices.csv
      pandora score predictions.parquet --costs "flu=20,covid=35,cold=5"
      pandora study run study.toml --out results

    Shell completion: eval "$(_PANDORA_COMPLETE=bash_source pandora)", or zsh_source, or fish_source.
    """

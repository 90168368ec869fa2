"""The list of commands, each in a file of its own that is imported when it is asked for; and how they fail."""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import click

from pandora_regret._version import __version__
from pandora_regret.cli.options import Group
from pandora_regret.cli.output import echo
from pandora_regret.text import SYMBOLS

COMMANDS = {  # name: what the list of commands says of it
    "compare": "Which of several models to deploy, how sure that is, and what it saves.",
    "score": "What one model's forecasts cost, from a file of any size.",
    "next": "What to test next, for one forecast.",
    "recalibrate": "What recalibrating a model saves, and its forecasts recalibrated.",
    "monitor": "Whether a model in production still costs what it promises.",
    "validate": "What is wrong with a file, if anything.",
    "study": "Which metric picks the model that is cheapest to deploy.",
    "help": "More about files, prices and metrics.",
}
ALIASES = {  # what commands were called before
    "report": ["compare"],
    "order": ["next"],
    "figures": ["study", "figures"],
}
EPILOG = """\b
Exit codes:
  0    done
  1    the work could not be finished: disk full, cluster out of reach, a library missing
  2    a file, value or option is wrong: the message says which, and what to do
  3    done, and there is an alarm (monitor only)
  130  interrupted
"""
OPTION_OF = {  # what people who type commands call the library's arguments
    "y_proba": "forecast",
    "y_true": "label",
    "labels": "--classes",
    "sample_weight": "--weight",
    "ids": "--id",
    "groups": "--group",
    "by": "--by",
    "costs": "--costs",
    "typical_costs": "--costs",
    "cost": "--costs",
    "sensitivity": "--sensitivity",
    "prior": "--prior",
    "bootstrap": "--bootstrap",
    "level": "--level",
    "seed": "--seed",
    "jobs": "--jobs",
    "cluster": "--cluster",
    "steps": "--steps",
    "logits": "--logits",
    "found": "--found",
    "workup": "--workup",
    "separator": "--separator",
    "decimal": "--decimal",
    "encoding": "--encoding",
}
PLAINER = {"−": "-", "–": "-", "…": "...", "’": "'", "×": "x"} | {
    symbol: f"{code} " for code, symbol in SYMBOLS.items() if len(symbol) == 1 and not symbol.isascii()
}


class Commands(Group):
    """A group that knows its commands by name, and imports one only to run it or to explain it in full."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"pandora_regret.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; under its old name with its old options, too."""
        if args[0] == "report":
            args = ["report", *(re.sub("^--out(?==|$)", "--html", each) for each in args[1:])]
        if args[:2] == ["workup", "check"]:
            args = ["validate", *args[2:]]
        return super().resolve_command(ctx, [*ALIASES.get(args[0], args[:1]), *args[1:]])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        with ignore_broken_pipe():
            return super().invoke(ctx)

    def main(self, *args: Any, **options: Any) -> Any:
        with errors_as_one_line():
            code = super().main(*args, **options | {"standalone_mode": False})
            sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """A reader of our output who has seen enough, as `head` has, is no failure; Ctrl-C takes no extra line."""
    try:
        yield
        sys.stdout.flush()
    except KeyboardInterrupt:
        raise click.Abort from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


@contextmanager
def errors_as_one_line() -> Iterator[None]:
    """Errors that a person can act on come without a traceback."""
    try:
        yield
    except click.UsageError as error:
        _fail_usage(error)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except (KeyboardInterrupt, click.Abort):
        _fail("interrupted.", 130)
    except (ImportError, OSError, MemoryError) as error:
        _fail(_reason(error), 1)
    except (ValueError, TypeError) as error:
        from pandora_regret.inputs import InputError, InputTypeError

        if not isinstance(error, (InputError, InputTypeError)):
            raise
        _fail(error.sentence(OPTION_OF), 2)


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "there is not enough memory: `pandora score` needs little, whatever the number of rows."
    reason = getattr(error, "strerror", None)
    return f"{getattr(error, 'filename', None) or 'output'}: {reason}." if reason else str(error)


def _fail_usage(error: click.UsageError) -> NoReturn:
    """What is wrong, and where the help is; without any argument, the help itself."""
    message = error.format_message()
    if message.startswith("Usage:"):
        echo(message, err=True)
        sys.exit(2)
    _fail(f"{message} See {error.ctx.command_path if error.ctx else 'pandora'} --help.", 2)


def _fail(reason: str, code: int) -> NoReturn:
    echo(f"pandora: {' '.join(reason.split())}", err=True)
    sys.exit(code)


def register_ascii_fallback() -> None:
    """On a terminal that cannot show all characters, signs and currencies are spelt out, and others are ``?``."""
    codecs.register_error("spelt_out", _spelt_out)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="spelt_out")


def _spelt_out(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    cannot = error.object[error.start : error.end]
    return "".join(PLAINER.get(each, "?") for each in cannot), error.end


@click.command(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pandora")
def pandora() -> None:
    r"""Score forecasts by what the search they order will cost.

    \b
    Examples:
      pandora compare forest.csv network.csv --costs dermamnist
      pandora score predictions.parquet --costs "flu=20,covid=35,cold=5"
      pandora next "melanoma=0.2,nevus=0.7,keratosis=0.1" --costs "melanoma=384,nevus=75,keratosis=75"
      pandora study run study.toml --out results

    Shell completion: eval "$(_PANDORA_COMPLETE=bash_source pandora)", or zsh_source, or fish_source.
    """

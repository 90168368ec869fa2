"""Help with options under headings."""

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

import click

from pandora_regret.text import listed

PATH = click.Path(readable=False)  # whether it can be read is found out by reading it
MAIN = "Options"
FILES = "Files"
LISTS = "Ranked lists"
PRICES = "Prices"
INTERVALS = "Intervals"
OUTPUT = "Output"
RARE = "Rarely needed"
SECTIONS = (MAIN, LISTS, FILES, PRICES, INTERVALS, OUTPUT, RARE)
FIRST_OPTIONS = ("costs", "truth", "id", "label", "by", "html")  # of the main options, where a command has them
BESIDE_TRUTH = ("by", "group", "weight")  # what columns in a file of true classes may be for
HELP_PAGES = {FILES: "files", LISTS: "lists"}  # sections whose options are only named, as they have a page
MOST_NAMED = 4  # of these options


class Amount(click.FloatRange):
    """An amount of money or of time, at least 0; one that can be read in two ways, such as 1,250, is refused."""

    name = "amount"

    def __init__(self, is_positive: bool = False) -> None:
        super().__init__(min=0, min_open=is_positive)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that was typed; a usage error if it is none, or may be two."""
        from pandora_regret.core.inputs import two_readings

        readings = two_readings(value.strip()) if isinstance(value, str) else None
        if readings is not None:
            self.fail(f"{value!r} {readings.in_words}: {readings.fix}.", param, ctx)
        return super().convert(value, param, ctx)


class Option(click.Option):
    """An option as the help shows it, "--costs COSTS", under a heading; one that takes no value is a flag.

    "--row N" takes whole numbers from `least`, "--html FILE" and "--out DIR" take paths; "--format [svg|pdf]"
    takes one of these words, the first unless said.
    """

    def __init__(self, spelled: str, help: str, section: str = MAIN, least: int = 1, **settings: Any) -> None:
        words = spelled.split()
        names = [word for word in words if word.startswith("-")]
        metavar = " ".join(words[len(names) :])
        types = {"N": click.IntRange(least), "FILE": PATH, "DIR": PATH, "WORKUP": PATH}
        settings = {"type": types.get(metavar), "metavar": metavar or None} | settings
        if metavar.startswith("["):
            choices = metavar.strip("[]").split("|")
            settings = {"default": choices[0]} | settings | {"type": click.Choice(choices)}
        flag = not metavar and settings["type"] is None
        super().__init__(names, help=help, is_flag=flag, show_default=True, **settings)
        self.section = section


def path_argument(
    name: str, nargs: int = 1, required: bool | None = None, metavar: str | None = None
) -> click.Argument:
    """An argument that is a file or a folder, or with `nargs` -1 several."""
    return click.Argument([name], type=PATH, nargs=nargs, required=required, metavar=metavar)


class Command(click.Command):
    r"""A command whose help has headings; lines below a ``\b`` of its docstring are kept apart."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = cleandoc(self.help or "").replace("\\b\n", "\b\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of each section; those about the layout of files are only named."""
        shown = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        places = {name: place for place, name in enumerate(FIRST_OPTIONS)}
        shown.sort(key=lambda option: places.get(option.name, len(places)))
        for section in SECTIONS:
            options = [option for option in shown if getattr(option, "section", MAIN) == section]
            if not options:
                continue
            with formatter.section(section):
                if section in HELP_PAGES:
                    formatter.write_text(f"{_first_names(options)}: pandora help {HELP_PAGES[section]}")
                else:
                    formatter.write_dl([_option_help(option, shown, ctx) for option in options])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class Group(Command, click.Group):
    """A command that has others below it, with headings, too."""


def _option_help(option: click.Option, options: Sequence[click.Option], ctx: click.Context) -> tuple[str, str]:
    """How an option is written, and what it is for; --truth names the options whose columns it may hold."""
    spelled, words = option.get_help_record(ctx) or ("", "")
    if option.name == "truth":
        beside = [f"--{other.name}" for other in options if other.name in BESIDE_TRUTH]
        columns = f", and columns for {listed(beside)}," if beside else ""
        words = f"True classes by id{columns} in a file of their own."
    return spelled, words


def _first_names(options: Sequence[click.Option]) -> str:
    """The names of the first few options, and how many more there are."""
    names = ", ".join(option.opts[0] for option in options[:MOST_NAMED])
    if len(options) <= MOST_NAMED:
        return names
    return f"{names} and {len(options) - MOST_NAMED} more"

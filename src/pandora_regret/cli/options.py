"""Options as fields of dataclasses, under headings; and the ones that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property, wraps
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.files.roles import BY, COSTS, GROUP, ID, LABEL, MODEL, VOTES, WEIGHT, Role

if TYPE_CHECKING:
    from pandora_regret.files import Layout, Prices
    from pandora_regret.files.prices import PriceList
    from pandora_regret.inputs import Done, FloatArray
    from pandora_regret.priors import Prior
    from pandora_regret.workup import Workup

MOST_JOBS = 1024
MAIN, FILES, PRICES, INTERVALS, OUTPUT = SECTIONS = ("Options", "Files", "Prices", "Intervals", "Output")

INPUT_PATH = click.Path(readable=False)  # whether it can be read is found out by reading it
PATH = click.Path(path_type=Path)
FILE_ARGUMENTS = click.argument("files", nargs=-1, required=True, type=INPUT_PATH)


class Option(click.Option):
    """An option that stands under a heading."""

    def __init__(self, *arguments: Any, section: str = MAIN, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class Command(click.Command):
    r"""A command whose help has headings; lines below a ``\b`` of its docstring are kept apart."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.help = (self.help or "").replace("\\b\n", "\b\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of each section; those about the layout of files are only named."""
        shown = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and not each.hidden]
        for section in SECTIONS:
            options = [each for each in shown if getattr(each, "section", MAIN) == section]
            if not options:
                continue
            with formatter.section(section):
                if section == FILES:
                    names = ", ".join(each.opts[0] for each in options[:4])
                    formatter.write_text(f"{names} and {len(options) - 4} more: pandora help files")
                else:
                    formatter.write_dl([each.get_help_record(ctx) or ("", "") for each in options])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class Group(Command, click.Group):
    """The same for a command that has others below it."""


def option(*names: str, **settings: Any) -> Any:
    """A field of a dataclass of options; it takes click's arguments, but for the name, which is the field's."""
    return field(metadata={"names": names, "settings": settings})


def role_option(role: Role, section: str = FILES) -> Any:
    """The option that says which columns of a file have a role."""
    usual = f"  [default: {' or '.join(role.usual)}]" if role.usual else ""
    metavar = "TEXT" if role.prefix else "COLUMN"
    name = f"--{role.option.replace('_', '-')}"
    return option(name, metavar=metavar, help=f"{role.help}{usual}", section=section)


def choice(*names: str, words: Sequence[str], help: str | None = None) -> Callable[[Callable[..., Any]], Any]:
    """An option of a command that takes one of some words; the first unless said."""
    return click.option(*names, type=click.Choice(words), default=words[0], show_default=True, help=help)


def takes(*groups: type[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A command with the options of these dataclasses, which it gets as instances of them, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def call(**values: Any) -> Any:
            instances = [group(**{each.name: values.pop(each.name) for each in fields(group)}) for group in groups]
            return command(*instances, **values)

        for group in reversed(groups):
            for name in reversed([each.name for each in fields(group)]):
                call = alone(group, name)(call)
        return call

    return decorate


def alone(group: type[Any], name: str) -> Callable[[Any], Any]:
    """One option of a dataclass, for commands that take no other of it."""
    metadata = next(each for each in fields(group) if each.name == name).metadata
    return click.option(*metadata["names"], name, cls=Option, **metadata["settings"])


@dataclass(frozen=True)
class LayoutOptions:
    """Which column of a file is what."""

    normalise: bool = option(
        "--normalise", is_flag=True, help="Rescale forecasts whose sum is off by at most 1 %."
    )
    label: str | None = role_option(LABEL)
    proba_prefix: str | None = option(
        "--proba-prefix", metavar="TEXT", section=FILES, help="What the names of forecast columns begin with."
    )
    classes: str | None = option(
        "--classes", metavar="NAME,...", section=FILES, help="The classes, where columns of numbers do not tell."
    )
    id: str | None = role_option(ID)
    model: str | None = role_option(MODEL)
    votes_prefix: str | None = role_option(VOTES)
    cost_prefix: str | None = role_option(COSTS)
    logits: bool = option("--logits", is_flag=True, section=FILES, help="The forecasts are logits.")
    separator: str | None = option(
        "--separator",
        metavar="MARK",
        section=FILES,
        help="What separates values: , ; | or tab.  [default: recognised]",
    )
    decimal: str | None = option(
        "--decimal",
        metavar="MARK",
        section=FILES,
        help="The decimal sign: point or comma.  [default: recognised]",
    )
    encoding: str | None = option(
        "--encoding",
        metavar="NAME",
        section=FILES,
        help="Of text: utf-8, utf-16, latin-1, ...  [default: recognised]",
    )
    sheet: str | None = option(
        "--sheet", metavar="NAME", section=FILES, help="Of a workbook, or its number.  [default: the first]"
    )
    other: str | None = option(
        "--other",
        metavar="CLASS",
        section=FILES,
        help="Stands for what the candidate list of a row does not name.",
    )
    group: str | None = role_option(GROUP, INTERVALS)
    weight: str | None = role_option(WEIGHT, INTERVALS)

    def read(self) -> Layout:
        """The same as the library says it."""
        from pandora_regret.files import Layout
        from pandora_regret.files.layout import Dialect
        from pandora_regret.files.written import listed

        values = asdict(self)
        dialect = Dialect(**{each.name: values.pop(each.name) for each in fields(Dialect)})
        classes = None if self.classes is None else tuple(listed(self.classes))
        return Layout(**values | {"classes": classes, "dialect": dialect})


@dataclass(frozen=True)
class CaseOptions(LayoutOptions):
    """The same where --id is a case: the column of ids has a longer name."""

    id: str | None = option("--id-column", metavar="COLUMN", section=FILES, help=ID.help)


@dataclass(frozen=True)
class PriceOptions:
    """What tests cost."""

    costs: str | None = option(
        "--costs",
        metavar="COSTS",
        help="What tests cost: NAME=VALUE,..., or a file (pandora help prices).  [default: all the same]",
    )
    currency: str | None = option(
        "--currency", metavar="CODE", section=PRICES, help="Such as USD.  [default: as costs are written]"
    )
    unit: str | None = option("--unit", metavar="NAME", section=PRICES, help="Where it is not money: minutes.")

    def __post_init__(self) -> None:
        if self.currency is not None and self.unit is not None:
            raise click.UsageError("--currency and --unit were both given: costs are in one of them.")

    @property
    def said_unit(self) -> str:
        """What --currency or --unit says, "" where neither does."""
        from pandora_regret.files.written import unit_named

        return unit_named(self.currency or self.unit or "")

    def read_prices(
        self, classes: Sequence[str], own: FloatArray | None = None, source: str = "each row's own"
    ) -> Prices | None:
        """What --costs says, or the costs that the rows of a file have of their own, but not both."""
        from pandora_regret.files import Prices
        from pandora_regret.inputs import InputError

        if own is not None and self.costs is not None:
            raise InputError("the files have cost columns and --costs is given too: use one price list, not both.")
        if own is not None:
            return Prices(own, self.said_unit, source)
        if (prices := self.price_list) is not None:
            return prices.for_classes(classes)
        if self.said_unit:
            raise click.UsageError("--currency and --unit say what --costs are in: add them.")
        return None

    @cached_property
    def price_list(self) -> PriceList | None:
        """What --costs says, whatever the classes are; read once."""
        from pandora_regret.files import read_price_list

        return None if self.costs is None else read_price_list(self.costs, self.said_unit)

    def priced(self) -> Collection[str] | None:
        """The names in the price list, where there is one."""
        return None if self.price_list is None else self.price_list.costs.keys()


@dataclass(frozen=True)
class CostOptions(PriceOptions):
    """What tests cost, and how that varies; or a whole work-up."""

    workup: str | None = option(
        "--workup", metavar="FILE", help="A work-up file: what it costs, instead of a search."
    )
    prior: str | None = option(
        "--prior",
        metavar="PRIOR",
        section=PRICES,
        help="How costs vary (pandora help prices).  [default: uniform]",
    )

    def read_workup(self) -> Workup | None:
        """The work-up that was asked for."""
        if self.workup is None:
            return None
        from pandora_regret.workup import Workup

        if self.costs is not None:
            raise click.UsageError("--costs and --workup were both given: a work-up says what its steps cost.")
        return Workup.load(self.workup)

    def priced(self) -> Collection[str] | None:
        """The classes of the work-up, or else of the price list."""
        workup = self.read_workup()
        return super().priced() if workup is None else workup.classes

    def read_prior(self) -> Prior | None:
        """The prior that was asked for."""
        from pandora_regret.files import read_prior_argument

        return None if self.prior is None else read_prior_argument(self.prior)


def read_level(context: click.Context, parameter: click.Parameter, level: float) -> float:
    """Between 0 and 1; click's own range lets NaN pass."""
    if not 0 < level < 1:
        raise click.BadParameter(f"{level:g} is not between 0 and 1.")
    return level


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are found."""

    bootstrap: int = option(
        "--bootstrap",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        section=INTERVALS,
        help="Intervals by N replicates.",
    )
    level: float = option(
        "--level",
        type=float,
        default=0.95,
        show_default=True,
        callback=read_level,
        section=INTERVALS,
        help="Of the intervals.",
    )
    seed: int = option(
        "--seed",
        type=click.IntRange(0),
        default=0,
        metavar="N",
        section=INTERVALS,
        help="Of the bootstrap.",
    )


@dataclass(frozen=True)
class ComparisonOptions:
    """What else a comparison looks into."""

    common_rows: bool = option("--common-rows", is_flag=True, help="Compare on the rows that all files have.")
    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        metavar="COLUMN,...",
        help=f"{BY.help}: site; age:10 (ten bins), age:18|65 (edges); site*sex (crossed).",
    )
    scenario: tuple[str, ...] = option(
        "--scenario",
        multiple=True,
        metavar="NAME=COSTS",
        section=PRICES,
        help="Other prices to compare under: cheap CT=CT=300,scope=90.",
    )
    smallest_group: int = option(
        "--smallest-group",
        type=click.IntRange(2),
        default=30,
        show_default=True,
        metavar="N",
        section=INTERVALS,
        help="Of --by: groups of fewer cases are pooled.",
    )
    decompose: bool = option(
        "--decompose",
        is_flag=True,
        section=OUTPUT,
        help="Split costs into miscalibration, discrimination, uncertainty.",
    )

    def read_scenarios(
        self, classes: Sequence[str], unit: str
    ) -> tuple[dict[str, dict[str, float]], tuple[Done, ...]]:
        """The prices that each scenario changes, by its name, and what was not used of them."""
        from pandora_regret.files import read_price_list
        from pandora_regret.inputs import InputError

        changes: dict[str, dict[str, float]] = {}
        done: tuple[Done, ...] = ()
        for scenario in self.scenario:
            name, equals, costs = (part.strip() for part in scenario.partition("="))
            if not (name and equals and costs):
                raise InputError(f"--scenario {scenario!r} is not NAME=COSTS: write such as cheap=flu=5,cold=1.")
            if "=" not in costs and not os.path.exists(costs) and costs.replace(".", "", 1).isdigit():
                example = f"cheap={name}={costs}"
                raise InputError(
                    f"--scenario {scenario!r} has no name: write NAME=CLASS=PRICE, such as {example}."
                )
            if name in changes:
                raise InputError(f"--scenario gives {name!r} twice: name each once.")
            changes[name], unused = read_price_list(costs).changes(classes, unit)
            done += unused
        return changes, done


@dataclass(frozen=True)
class WorkOptions:
    """Who does the work."""

    jobs: int = option(
        "--jobs", type=click.IntRange(1, MOST_JOBS), default=1, show_default=True, help="Processes at a time."
    )
    cluster: str | None = option(
        "--cluster", metavar="tcp://HOST:PORT", help="Scheduler of a Dask cluster to work on."
    )


@dataclass(frozen=True)
class FormatOptions:
    """What standard output holds, if not tables for people."""

    as_json: bool = option("--json", is_flag=True, section=OUTPUT, help="Print JSON.")
    as_csv: bool = option("--csv", is_flag=True, section=OUTPUT, help="Print a flat table as CSV.")
    keep_formulas: bool = option(
        "--keep-formulas",
        is_flag=True,
        section=OUTPUT,
        help="Leave names in CSV that a spreadsheet would run.",
    )

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise click.UsageError("--json and --csv were both given: choose one.")


@dataclass(frozen=True)
class PageOptions:
    """How the page is written."""

    html: Path | None = option("--html", type=PATH, metavar="FILE", help="Write the report to this file, too.")
    title: str | None = option("--title", section=OUTPUT, help="The page's heading.")
    show: tuple[str, ...] = option(
        "--show", multiple=True, metavar="MODEL", section=OUTPUT, help="On the page even if there are over 50."
    )
    no_cases: bool = option(
        "--no-cases", is_flag=True, section=OUTPUT, help="A page without single cases and live prices."
    )
    force: bool = option("--force", is_flag=True, section=OUTPUT, help="Replace output files that exist.")


JSON, FORCE = alone(FormatOptions, "as_json"), alone(PageOptions, "force")


def check_output(path: Path | None, force: bool) -> None:
    """An output file that may not be written is an error before any work is done."""
    if path is None:
        return
    from pandora_regret.inputs import InputError

    folder = Path(os.path.realpath(path)).parent
    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file to write.")
    if path.exists() and not S_ISREG(path.stat().st_mode):
        raise InputError(f"{path} is not a regular file: name one, or a new one.")
    if path.exists() and not force:
        raise InputError(f"{path} exists: name another file, or replace it with --force.")
    if not folder.is_dir():
        raise InputError(f"{path}: there is no directory {str(folder)!r}: create it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the directory {str(folder)!r} may not be written to: name another file.")

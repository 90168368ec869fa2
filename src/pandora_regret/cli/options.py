"""Options that several commands share: dataclasses whose fields are options."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING

import click

from pandora_regret.cli.option_groups import RanksByMetrics as RanksByMetrics
from pandora_regret.cli.option_groups import ShowsMetrics as ShowsMetrics
from pandora_regret.cli.option_groups import alone, option, role_option
from pandora_regret.cli.option_groups import choice as choice
from pandora_regret.cli.option_groups import takes as takes
from pandora_regret.files.roles import BY, COSTS, GROUP, ID, LABEL, MODEL, VOTES, WEIGHT

if TYPE_CHECKING:
    from pandora_regret.files import Layout, Prices
    from pandora_regret.files.prices import PriceList
    from pandora_regret.inputs import Done, FloatArray
    from pandora_regret.priors import Prior
    from pandora_regret.workup import Workup

MOST_JOBS = 1024

INPUT_PATH = click.Path(readable=False)  # whether it can be read is found out by reading it
PATH = click.Path(path_type=Path)
FILES = click.argument("files", nargs=-1, required=True, type=INPUT_PATH)


@dataclass(frozen=True)
class LayoutOptions:
    """Which column of a file is what."""

    label: str | None = role_option(LABEL)
    proba_prefix: str | None = option(
        "--proba-prefix", metavar="TEXT", help="What the names of forecast columns begin with."
    )
    classes: str | None = option(
        "--classes", metavar="NAME,...", help="The classes, where columns of numbers do not tell."
    )
    id: str | None = role_option(ID)
    weight: str | None = role_option(WEIGHT)
    group: str | None = role_option(GROUP)
    model: str | None = role_option(MODEL)
    votes_prefix: str | None = role_option(VOTES)
    cost_prefix: str | None = role_option(COSTS)
    logits: bool = option("--logits", is_flag=True, help="The forecasts are logits.")
    normalise: bool = option(
        "--normalise", is_flag=True, help="Divide rows of forecasts that are off by at most 1 % by their sum."
    )
    separator: str | None = option(
        "--separator", metavar="MARK", help="What separates values: , ; | or tab.  [default: recognised]"
    )
    decimal: str | None = option(
        "--decimal", metavar="MARK", help="The decimal sign: point or comma.  [default: recognised]"
    )
    encoding: str | None = option(
        "--encoding", metavar="NAME", help="Of text: utf-8, utf-16, latin-1, ...  [default: recognised]"
    )
    sheet: str | None = option(
        "--sheet", metavar="NAME", help="Of a workbook, or its number.  [default: the first]"
    )
    other: str | None = option(
        "--other", metavar="CLASS", help="Stands for what the candidate list of a row does not name."
    )

    def read(self) -> Layout:
        """The same as the library says it."""
        from pandora_regret.files import Layout
        from pandora_regret.files.dialect import Dialect
        from pandora_regret.files.pairs import listed

        values = asdict(self)
        dialect = Dialect(**{each.name: values.pop(each.name) for each in fields(Dialect)})
        classes = None if self.classes is None else tuple(listed(self.classes))
        return Layout(**values | {"classes": classes, "dialect": dialect})


@dataclass(frozen=True)
class CaseOptions(LayoutOptions):
    """The same where --id is a case: the column of ids has a longer name."""

    id: str | None = option("--id-column", metavar="COLUMN", help=f"{ID.help}  [default: {' or '.join(ID.usual)}]")


class _PriorOption(click.Option):
    """Its help lists the priors there are, which are imported only to show it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from pandora_regret.priors.names import spelled_priors

        self.help = f"How costs vary: {spelled_priors()}.  [default: uniform]"
        return super().get_help_record(ctx)


@dataclass(frozen=True)
class PriceOptions:
    """What tests cost."""

    costs: str | None = option(
        "--costs",
        metavar="COSTS",
        help="Typical costs of tests: NAME=VALUE,..., a table (FILE or FILE:CLASS_COLUMN:COST_COLUMN), a pathway "
        "file (TOML), or a shipped one: dermamnist, octmnist, pump_fault.  [default: all tests cost the same]",
    )
    currency: str | None = option(
        "--currency", metavar="CODE", help="What costs are in, such as USD.  [default: as they are written]"
    )
    unit: str | None = option("--unit", metavar="NAME", help="The same, where it is not money: minutes, ...")

    def __post_init__(self) -> None:
        if self.currency is not None and self.unit is not None:
            raise click.UsageError("--currency and --unit were both given: costs are in one of them.")

    @property
    def said_unit(self) -> str:
        """What --currency or --unit says, "" where neither does."""
        from pandora_regret.files.amounts import unit_named

        return unit_named(self.currency or self.unit or "")

    def read_prices(
        self, classes: Sequence[str], own: FloatArray | None = None, source: str = "each row's own"
    ) -> Prices | None:
        """What --costs says, or the costs that the rows of a file have of their own, but not both."""
        from pandora_regret.files import Prices, read_costs_argument
        from pandora_regret.inputs import InputError

        if own is not None and self.costs is not None:
            raise InputError("the files have cost columns and --costs is given too: use one price list, not both.")
        if own is not None:
            return Prices(own, self.said_unit, source)
        if self.costs is not None:
            return read_costs_argument(self.costs, classes, self.said_unit)
        if self.said_unit:
            raise click.UsageError("--currency and --unit say what --costs are in: add them.")
        return None

    def read_list(self) -> PriceList | None:
        """What --costs says, whatever the classes are."""
        from pandora_regret.files import read_price_list

        return None if self.costs is None else read_price_list(self.costs, self.said_unit)

    def priced(self) -> Collection[str] | None:
        """The names in the price list, where there is one."""
        prices = self.read_list()
        return None if prices is None else prices.costs.keys()

    def read_scenarios(
        self, scenarios: Sequence[str], classes: Sequence[str], unit: str
    ) -> tuple[dict[str, dict[str, float]], tuple[Done, ...]]:
        """The prices that each scenario changes, by its name, and what was not used of them."""
        from pandora_regret.files import read_price_list
        from pandora_regret.inputs import InputError

        changes: dict[str, dict[str, float]] = {}
        done: tuple[Done, ...] = ()
        for scenario in scenarios:
            name, equals, costs = scenario.partition("=")
            if not (name.strip() and equals and costs.strip()):
                raise InputError(f"--scenario {scenario!r} is not NAME=COSTS: write such as cheap=flu=5,cold=1.")
            if _is_number(costs):
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
class CostOptions(PriceOptions):
    """What tests cost, and how that varies; or a whole work-up."""

    prior: str | None = option("--prior", cls=_PriorOption, metavar="PRIOR")
    workup: str | None = option(
        "--workup",
        metavar="FILE",
        help="A work-up file (TOML): what the whole work-up costs, instead of a search.",
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_level(context: click.Context, parameter: click.Parameter, level: float) -> float:
    """Between 0 and 1; click's own range lets NaN pass."""
    if not 0 < level < 1:
        raise click.BadParameter(f"{level:g} is not between 0 and 1.")
    return level


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are found."""

    bootstrap: int = option(
        "--bootstrap", type=click.IntRange(0), default=0, metavar="N", help="Intervals by N replicates."
    )
    level: float = option(
        "--level", type=float, default=0.95, show_default=True, callback=_read_level, help="Of the intervals."
    )
    seed: int = option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap.")


@dataclass(frozen=True)
class ComparisonOptions:
    """What else a comparison looks into."""

    common_rows: bool = option(
        "--common-rows", is_flag=True, help="Compare on the rows whose ids all files have, and count the others."
    )
    scenario: tuple[str, ...] = option(
        "--scenario",
        multiple=True,
        metavar="NAME=CLASS=PRICE,...",
        help="Other costs to compare under, only those that change: cheap CT=CT=300,scope=90; may be repeated.",
    )
    by: tuple[str, ...] = option(
        "--by",
        multiple=True,
        metavar="COLUMN,...",
        help=f"{BY.help}: site; age:10 (ten bins) or age:18|65 (edges); site*sex (crossed). It changes no "
        "interval; --group says which rows belong together.",
    )
    smallest_group: int = option(
        "--smallest-group",
        type=click.IntRange(2),
        default=30,
        show_default=True,
        metavar="N",
        help="Of --by: groups of fewer cases are pooled.",
    )
    decompose: bool = option(
        "--decompose/--no-decompose",
        default=False,
        show_default=True,
        help="Whether to split costs into miscalibration, discrimination and uncertainty; takes seconds.",
    )


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

    as_json: bool = option("--json", is_flag=True, help="Print JSON.")
    as_csv: bool = option("--csv", is_flag=True, help="Print a flat table as CSV.")
    keep_formulas: bool = option(
        "--keep-formulas",
        is_flag=True,
        help="Leave names in CSV that a spreadsheet would run (=, +, -, @) as they are, without a ' in front.",
    )

    def __post_init__(self) -> None:
        if self.as_json and self.as_csv:
            raise click.UsageError("--json and --csv were both given: choose one.")


@dataclass(frozen=True)
class PageOptions:
    """How the page is written."""

    title: str | None = option("--title", help="The page's heading.")
    show: tuple[str, ...] = option(
        "--show", multiple=True, metavar="MODEL", help="A model to show on the page even if there are over 50."
    )
    no_cases: bool = option(
        "--no-cases", is_flag=True, help="Leave single cases out of the page, and with them its live prices."
    )
    force: bool = option("--force", is_flag=True, help="Replace output files that exist.")


JSON, FORCE = alone(FormatOptions, "as_json"), alone(PageOptions, "force")


def check_output(path: Path | None, force: bool) -> None:
    """An output file that may not be written is an error before any work is done."""
    if path is None:
        return
    from pandora_regret.inputs import InputError

    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file to write.")
    if path.exists() and not S_ISREG(path.stat().st_mode):
        raise InputError(f"{path} is not a regular file: name one, or a new one.")
    if path.exists() and not force:
        raise InputError(f"{path} exists: name another file, or replace it with --force.")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InputError(f"{path}: there is no directory {str(folder)!r}: create it first.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{path}: the directory {str(folder)!r} may not be written to: name another file.")

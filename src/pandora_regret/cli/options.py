"""Options that several commands share, and the values that commands get of them.

A command gets all it was asked as one frozen value of a class of its own. Fields of such a class are called as the
options are; those that are themselves such values hold options that several commands share:

    RowOptions        how files are written, and which of their columns is what; `layout` is that for files/
    PriceOptions      what was typed about prices; `read` makes StatedPrices of it
    StatedPrices      a price list, its unit, a prior, a work-up; `for_classes` makes ClassCosts of them
    ClassCosts        what the tests of some classes cost
    IntervalOptions   how intervals are made
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, get_type_hints

import click

from pandora_regret import files, text, workup  # whose names load when they are asked for
from pandora_regret.cli.headings import (
    FILES,
    INTERVALS,
    LISTS,
    MAIN,
    OUTPUT,
    PRICES,
    RARE,
    Amount,
    Command,
    Option,
    path_argument,
)
from pandora_regret.core import inputs, priors
from pandora_regret.files.roles import BY, GROUP, ID, LABEL, ROLES, WEIGHT, Role

if TYPE_CHECKING:
    from pandora_regret.files.ranked.layout import ListLayout

T = TypeVar("T")
Options = TypeVar("Options")

FILE_ARGUMENTS = path_argument("files", nargs=-1, required=True)


def command(
    options: Callable[..., Options], *params: click.Parameter
) -> Callable[[Callable[[Options], int | None]], Command]:
    """Make a command of a function, with these parameters of click; `options` is the class of what it gets.

    What the function returns is the exit code; None is 0.
    """

    def decorate(function: Callable[[Options], int | None]) -> Command:
        def call(**values: object) -> int | None:
            return function(read_options(options, values))

        return Command(function.__name__, params=list(params), help=function.__doc__, callback=call)

    return decorate


def read_options(options: Callable[..., Options], values: Mapping[str, object]) -> Options:
    """An instance of a class of options, from the values of click's parameters by name.

    A field that is a dataclass takes its own fields from the same values. What a command has no option for keeps
    its default.
    """
    chosen: dict[str, object] = {}
    for name, kind in get_type_hints(options).items():
        if is_dataclass(kind) and isinstance(kind, type):
            chosen[name] = read_options(kind, values)
        elif name in values:
            chosen[name] = values[name]
    return options(**chosen)


def role_option(role: Role) -> Option:
    """The option that says which columns of a file have a role."""
    spelled = f"--{role.option.replace('_', '-')} {'TEXT' if role.prefix else 'COLUMN'}"
    usual = f"  [default: {' or '.join(role.usual)}]" if role.usual else ""
    section = FILES
    if role in (GROUP, WEIGHT):
        section = INTERVALS
    elif role in (ID, LABEL):
        section = MAIN
    return Option(spelled, f"{role.help}{usual}", section)


LAYOUT = (
    Option("--normalise", "Rescale forecasts whose sum is off by at most 1 %."),
    Option("--proba-prefix TEXT", "What the names of forecast columns begin with.", FILES),
    Option("--classes NAME,...", "The classes, where columns of numbers do not tell.", FILES),
    *(role_option(role) for role in ROLES if role is not BY),
    Option("--logits", "The forecasts are logits.", FILES),
    Option("--truth FILE", "True classes by id, in a file of their own."),
    Option("--ids-as-numbers", "Read ids as numbers: 007 and 7.0 are 7.", FILES),
    Option("--missing-class-zero", "Take a class for which a file has no forecasts as probability 0.", FILES),
    Option("--separator MARK", "What separates values: , ; | or tab.  [default: recognised]", FILES),
    Option("--decimal MARK", "The decimal sign: point or comma.  [default: recognised]", FILES),
    Option("--encoding NAME", "Of text: utf-8, utf-16, latin-1, ...  [default: recognised]", FILES),
    Option("--sheet NAME", "Of a workbook, or its number.  [default: the first]", FILES),
    Option("--max-memory SIZE", "What a file may take.  [default: 100 x its size, 2GB at least]", FILES),
    Option("--other CLASS", "Stands for what the candidate list of a row does not name.", FILES),
)
LAYOUT_OF_ROWS = tuple(option for option in LAYOUT if option.name not in ("weight", "group"))  # seen one by one
RANKED = (
    Option("--candidate COLUMN", "Names of candidates, a row for each: FILES hold ranked lists.", LISTS),
    Option("--score COLUMN", "Orders a case's candidates, the highest first.", LISTS),
    Option("--probability COLUMN", "Their probabilities: the most probable per price first.", LISTS),
    Option("--rank COLUMN", "Their ranks, the lowest first.", LISTS),
    Option("--price COLUMN", "What it costs to look at a candidate.  [default: --costs, or 1]", LISTS),
    Option("--hit COLUMN", "Which candidates are true: 0 and 1, or false and true.", LISTS),
    Option("--format [table|trec]", "Of FILES: trec are runs, and --truth are qrels.", LISTS),
    Option("--by-price", "Divide scores by prices.", LISTS),
)
MISS = (
    Option(
        "--miss PRICE",
        "What it costs to find what a list does not have.  [default: ranges of prices]",
        LISTS,
        type=Amount(),
    ),
    Option("--until [first|all]", "Which true candidate ends a search.", LISTS),
)
COMMON_ROWS = Option("--common-rows", "Use the rows that all files have.")
COST_OPTIONS = (
    Option(
        "--costs COSTS",
        "What tests cost: NAME=VALUE,..., or a file (pandora help prices).  [default: all the same]",
    ),
    Option("--currency CODE", "Such as USD.  [default: as costs are written]", PRICES),
    Option("--unit NAME", "Where it is not money: minutes.", PRICES),
)
SEARCH = (
    *COST_OPTIONS,
    Option("--prior PRIOR", "How costs vary (pandora help prices).  [default: uniform]", PRICES),
)
WORKUP = Option("--workup FILE", "A work-up file: what it costs, instead of a search.")
LEVEL_OPTION = Option(
    "--level SHARE",
    "Of the intervals.",
    INTERVALS,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
)
RESAMPLING = (
    Option("--bootstrap N", "Intervals by N replicates.", INTERVALS, least=0, default=0),
    LEVEL_OPTION,
    Option("--seed N", "Of the bootstrap.", RARE, least=0, default=0),
)
WORK = (
    Option("--jobs N", "Processes at a time.", type=click.IntRange(1, 1024), default=1),
    Option("--cluster tcp://HOST:PORT", "Scheduler of a Dask cluster to work on."),
)
JSON = Option("--json", "Print JSON.", OUTPUT)
FORMAT = (
    JSON,
    Option("--csv", "Print a flat table as CSV.", OUTPUT),
)
FORCE = Option("--force", "Replace output files that exist.", OUTPUT)


@dataclass(frozen=True)
class RowOptions:
    """How the files are written, which of their columns is what, and which rows are used."""

    normalise: bool = False
    proba_prefix: str | None = None
    classes: str | None = None  # separated by commas
    label: str | None = None
    id: str | None = None
    weight: str | None = None
    group: str | None = None
    model: str | None = None
    votes_prefix: str | None = None
    cost_prefix: str | None = None
    logits: bool = False
    truth: str | None = None
    ids_as_numbers: bool = False
    missing_class_zero: bool = False
    common_rows: bool | None = None  # None: the command takes one model
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    max_memory: str | None = None
    other: str | None = None

    def layout(self, blank_labels: bool = False) -> files.Layout:
        """Which column of a file is what; whether cases without a true class are left out."""
        from pandora_regret.files.written import split_at_commas

        return files.Layout(
            label=self.label,
            proba_prefix=self.proba_prefix,
            id=self.id,
            weight=self.weight,
            group=self.group,
            model=self.model,
            votes_prefix=self.votes_prefix,
            cost_prefix=self.cost_prefix,
            logits=self.logits,
            classes=None if self.classes is None else tuple(split_at_commas(self.classes)),
            dialect=self.dialect(),
            normalise=self.normalise,
            truth=self.truth,
            ids_as_numbers=self.ids_as_numbers,
            missing_class_zero=self.missing_class_zero,
            common_rows=self.common_rows,
            blank_labels=blank_labels,
        )

    def dialect(self) -> files.Dialect:
        """How a file is written."""
        return files.Dialect(
            separator=self.separator,
            decimal=self.decimal,
            encoding=self.encoding,
            sheet=self.sheet,
            other=self.other,
            max_memory=self.max_memory,
        )


@dataclass(frozen=True)
class ListOptions:
    """Whether files hold ranked lists, and how they are read and charged."""

    candidate: str | None = None
    score: str | None = None
    probability: str | None = None
    rank: str | None = None
    price: str | None = None
    hit: str | None = None
    format: Literal["table", "trec"] = "table"
    by_price: bool = False
    miss: float | None = None
    until: Literal["first", "all"] = "first"

    def are_asked(self, arguments: Sequence[str], by_class: bool = False) -> bool:
        """Whether an option says that files hold ranked lists, or the files themselves do.

        Parameters
        ----------
        arguments
            FILE or NAME=FILE, as they were typed.
        by_class
            Whether another option speaks of classes: then files cannot say it by themselves.
        """
        columns = (self.candidate, self.score, self.probability, self.rank, self.price, self.hit)
        if any(columns) or self.format == "trec" or self.miss is not None or self.until == "all":
            return True
        paths = [text if os.path.exists(text) else text.partition("=")[2] for text in arguments]
        if by_class or not all(os.path.exists(path) for path in paths):
            return False
        if any(os.path.isdir(path) for path in paths):
            return True
        lines = [path for path in paths if ".jsonl" in path.lower() or ".ndjson" in path.lower()]
        if not lines:
            return False
        from pandora_regret.files.ranked.formats import names_own_lists

        return any(names_own_lists(path) for path in lines)

    def layout(self, rows: RowOptions, by: Sequence[str] = ()) -> ListLayout:
        """Which column of a file with ranked lists is what."""
        from pandora_regret.files.ranked.layout import ListLayout

        return ListLayout(
            id=rows.id,
            candidate=self.candidate,
            score=self.score,
            probability=self.probability,
            rank=self.rank,
            price=self.price,
            hit=self.hit,
            truth=rows.truth,
            weight=rows.weight,
            group=rows.group,
            model=rows.model,
            by=tuple(by),
            format="trec" if self.format == "trec" else None,
            by_price=self.by_price,
            common_rows=bool(rows.common_rows),
            dialect=rows.dialect(),
        )


@dataclass(frozen=True)
class PriceOptions:
    """What was typed about prices."""

    costs: str | None = None
    currency: str | None = None
    unit: str | None = None
    sheet: str | None = None  # of a workbook with prices
    prior: str | None = None
    workup: str | None = None  # the path of its file

    def read(self) -> StatedPrices:
        """The values that the options name; the files of --costs and --workup are read."""
        not_both("costs are in one of them", currency=self.currency, unit=self.unit)
        not_both("a work-up says what its steps cost", costs=self.costs, workup=self.workup)
        unit = text.unit_named(self.currency or self.unit or "")
        return StatedPrices(
            unit=unit,
            price_list=None if self.costs is None else files.read_price_list(self.costs, unit, self.sheet),
            prior=None if self.prior is None else files.read_prior_argument(self.prior),
            workup=None if self.workup is None else workup.Workup.load(self.workup),
        )


@dataclass(frozen=True)
class StatedPrices:
    """What is said of prices, whatever the classes are."""

    unit: str  # of --currency or --unit; "" where neither is given
    price_list: files.PriceList | None
    prior: priors.Prior | None
    workup: workup.Workup | None

    @property
    def class_names(self) -> Collection[str] | None:
        """The names of the classes that the work-up or the price list tells, where there is one."""
        if self.workup is not None:
            return self.workup.classes
        return None if self.price_list is None else self.price_list.costs.keys()

    def for_classes(
        self, classes: Sequence[str], row_costs: inputs.FloatArray | None = None, source: str = "each row's own"
    ) -> ClassCosts:
        """What the tests of these classes cost: as the price list says, or as each row of a file does."""
        if row_costs is not None:
            if self.price_list is not None:
                fix = "use one price list, not both"
                problem = "the files have cost columns and --costs is given too"
                raise inputs.InputError(problem, argument="costs", place="", fix=fix)
            return ClassCosts(row_costs, self.unit, source)
        if self.price_list is not None:
            prices = self.price_list.for_classes(classes)
            return ClassCosts(prices.costs, prices.currency, prices.source, prices.remarks)
        if self.unit and self.workup is None:
            raise click.UsageError(
                "--currency and --unit say what --costs, or the steps of --workup, are in: add them."
            )
        return ClassCosts(currency=self.unit or None)

    def for_classes_or_ones(
        self, classes: Sequence[str], row_costs: inputs.FloatArray | None = None
    ) -> ClassCosts:
        """What the tests of these classes cost: 1 each, where neither prices, a prior nor a work-up say."""
        stated = self.for_classes(classes, row_costs)
        if self.workup is not None:
            return ClassCosts(currency=self.unit or self.workup.currency, remarks=stated.remarks)
        if stated.costs is not None:
            return stated
        if self.prior is not None and self.prior.n_classes is not None:  # which has costs of its own
            return ClassCosts(currency="")
        import numpy as np  # which takes a while to import

        return ClassCosts(np.ones(len(classes)))


@dataclass(frozen=True, eq=False)
class ClassCosts:
    """What the tests of some classes cost, in their order."""

    costs: inputs.FloatArray | None = None  # (K,), or (N, K) of each row; None: nothing is said
    currency: str | None = None  # or another unit; "" where costs have none, None where nothing is said
    source: str | None = None  # where they come from
    remarks: tuple[inputs.Remark, ...] = ()  # prices that were not used


@dataclass(frozen=True)
class IntervalOptions:
    """How intervals are made."""

    level: float
    bootstrap: int = 0
    seed: int = 0


def not_both(why: str, **options: object) -> None:
    """An error where two options, by name, are given of which one is enough."""
    if all(value not in (None, False) for value in options.values()):
        spelled = [f"--{name.replace('_', '-')}" for name in options]
        raise click.UsageError(f"{' and '.join(spelled)} were both given: {why}.")


def check_output(file: str | os.PathLike[str] | None, force: bool) -> None:
    """An output file that may not be written is an error before any work is done."""
    if file is None:
        return
    from pathlib import Path  # which takes a while to import

    path = Path(file)
    folder = path.resolve().parent
    if path.exists() and not path.is_file():
        raise inputs.InputError("is not a regular file", place=str(path), fix="name one, or a new one")
    if path.exists() and not force:
        fix = "name another file, or replace it with --force"
        raise inputs.InputError("exists", place=str(path), fix=fix)
    if not folder.is_dir():
        problem = f"there is no directory {str(folder)!r}"
        raise inputs.InputError(problem, value=str(folder), fix="create it first").within(str(path))
    if not os.access(folder, os.W_OK):
        problem = f"the directory {str(folder)!r} may not be written to"
        raise inputs.InputError(problem, value=str(folder), fix="name another file").within(str(path))


def read_saved(path: str, make: Callable[[inputs.Fields], T], meant: str) -> T:
    """What `make` makes of the JSON that a command wrote; of another file an error says that it is not `meant`."""
    import json

    from pandora_regret.files.source import check_readable

    check_readable(path)
    try:
        with open(path, "rb") as file:
            return make(json.load(file))
    except inputs.InputError as error:
        raise error.within(path) from None
    except (ValueError, KeyError, TypeError, RecursionError):  # not JSON, other JSON, or nested too deeply
        raise inputs.InputError(f"is not {meant}", place=path, value=path) from None

"""Options that several commands share, and what they ask of the library."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeVar

import click

from pandora_regret import files, text, workup  # whose names load when they are asked for
from pandora_regret.cli.headings import FILES, INTERVALS, OUTPUT, PRICES, Command, Option, path_argument
from pandora_regret.core import inputs, priors
from pandora_regret.files.roles import BY, GROUP, ROLES, WEIGHT, Role

T = TypeVar("T")

FILE_ARGUMENTS = path_argument("files", nargs=-1, required=True)


def command(*params: click.Parameter) -> Callable[[Any], Command]:
    """Make a command of a function, with these options; what was asked comes as one object.

    What the function returns is the exit code; None is 0.
    """

    def decorate(function: Any) -> Command:
        def call(**values: Any) -> Any:
            return function(Asked(**values))

        return Command(function.__name__, params=list(params), help=function.__doc__, callback=call)

    return decorate


def role_option(role: Role) -> Option:
    """The option that says which columns of a file have a role."""
    spelled = f"--{role.option.replace('_', '-')} {'TEXT' if role.prefix else 'COLUMN'}"
    usual = f"  [default: {' or '.join(role.usual)}]" if role.usual else ""
    return Option(spelled, f"{role.help}{usual}", INTERVALS if role in (GROUP, WEIGHT) else FILES)


LAYOUT = (
    Option("--normalise", "Rescale forecasts whose sum is off by at most 1 %."),
    Option("--proba-prefix TEXT", "What the names of forecast columns begin with.", FILES),
    Option("--classes NAME,...", "The classes, where columns of numbers do not tell.", FILES),
    *(role_option(role) for role in ROLES if role is not BY),
    Option("--logits", "The forecasts are logits.", FILES),
    Option(
        "--truth FILE", "True classes by id, and columns for --by, --group and --weight, in a file of their own."
    ),
    Option("--ids-as-numbers", "Read ids as numbers: 007 and 7.0 are 7.", FILES),
    Option("--missing-class-zero", "Take a class for which a file has no forecasts as probability 0.", FILES),
    Option("--separator MARK", "What separates values: , ; | or tab.  [default: recognised]", FILES),
    Option("--decimal MARK", "The decimal sign: point or comma.  [default: recognised]", FILES),
    Option("--encoding NAME", "Of text: utf-8, utf-16, latin-1, ...  [default: recognised]", FILES),
    Option("--sheet NAME", "Of a workbook, or its number.  [default: the first]", FILES),
    Option("--max-memory SIZE", "What a file may take.  [default: 100 x its size, 2GB at least]", FILES),
    Option("--other CLASS", "Stands for what the candidate list of a row does not name.", FILES),
)
COMMON_ROWS = Option("--common-rows", "Use the rows that all files have.")
COSTS = (
    Option(
        "--costs COSTS",
        "What tests cost: NAME=VALUE,..., or a file (pandora help prices).  [default: all the same]",
    ),
    Option("--currency CODE", "Such as USD.  [default: as costs are written]", PRICES),
    Option("--unit NAME", "Where it is not money: minutes.", PRICES),
)
SEARCH = (*COSTS, Option("--prior PRIOR", "How costs vary (pandora help prices).  [default: uniform]", PRICES))
WORKUP = Option("--workup FILE", "A work-up file: what it costs, instead of a search.")
LEVEL = Option(
    "--level SHARE",
    "Of the intervals.",
    INTERVALS,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
)
RESAMPLING = (
    Option("--bootstrap N", "Intervals by N replicates.", INTERVALS, least=0, default=0),
    LEVEL,
    Option("--seed N", "Of the bootstrap.", INTERVALS, least=0, default=0),
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


class Asked(SimpleNamespace):
    """The values of a command's options and arguments, by name; and what several of them mean together."""

    def only(self, *names: str) -> dict[str, Any]:
        """The values of these options, by name, as keywords of a function that calls them alike."""
        return {name: getattr(self, name) for name in names}

    def not_both(self, first: str, second: str, why: str) -> None:
        """Options of which one is enough."""
        if all(getattr(self, name, None) not in (None, False) for name in (first, second)):
            spelled = (f"--{name.replace('_', '-')}" for name in (first, second))
            raise click.UsageError(f"{' and '.join(spelled)} were both given: {why}.")

    def layout(self, **changes: Any) -> files.Layout:
        """Which column of a file is what."""
        from pandora_regret.files.written import listed

        dialect = files.Dialect(**self.only(*(field.name for field in fields(files.Dialect))))
        classes = None if self.classes is None else tuple(listed(self.classes))
        stated = self.only(*(field.name for field in fields(files.Layout) if hasattr(self, field.name)))
        return files.Layout(**stated | {"by": (), "classes": classes, "dialect": dialect} | changes)

    @cached_property
    def price_unit(self) -> str:
        """What --currency or --unit says, "" where neither does."""
        self.not_both("currency", "unit", "costs are in one of them")
        return text.unit_named(self.currency or self.unit or "")

    @cached_property
    def price_list(self) -> files.PriceList | None:
        """What --costs says, whatever the classes are; read once."""
        unit = self.price_unit
        return None if self.costs is None else files.read_price_list(self.costs, unit, self.sheet)

    def charged(
        self, classes: Sequence[str], own: Any = None, source: str = "each row's own"
    ) -> tuple[dict[str, Any], tuple[inputs.Done, ...]]:
        """What --costs says, or each row of a file: as the library takes it, and what was not used."""
        if own is not None:
            if self.costs is not None:
                fix = "use one price list, not both"
                raise inputs.InputError(f"the files have cost columns and --costs is given too: {fix}.")
            return {"costs": own, "currency": self.price_unit, "source": source}, ()
        if self.price_list is not None:
            prices = self.price_list.for_classes(classes)
            return {"costs": prices.costs, "currency": prices.currency, "source": prices.source}, prices.done
        if self.price_unit and self.workup_read is None:
            raise click.UsageError(
                "--currency and --unit say what --costs, or the steps of --workup, are in: add them."
            )
        return {"currency": self.price_unit} if self.price_unit else {}, ()

    def prices(
        self, classes: Sequence[str], own: Any = None
    ) -> tuple[priors.Prior | None, Any, str | None, tuple[inputs.Done, ...]]:
        """The prior, what tests typically cost (1, where nobody says), their unit, and what was not used."""
        prior = self.read_prior()
        charged, unused = self.charged(classes, own)
        if self.workup_read is not None:
            return prior, None, self.price_unit or self.workup_read.currency, unused
        if charged or getattr(prior, "n_classes", None) is not None:
            return prior, charged.get("costs"), charged.get("currency", ""), unused
        return prior, [1.0] * len(classes), None, unused

    @cached_property
    def workup_read(self) -> workup.Workup | None:
        """The work-up that was asked for."""
        self.not_both("costs", "workup", "a work-up says what its steps cost")
        path = getattr(self, "workup", None)
        return None if path is None else workup.Workup.load(path)

    def priced(self) -> Collection[str] | None:
        """The names of the classes that the work-up or the price list tells, where there is one."""
        if self.workup_read is not None:
            return self.workup_read.classes
        return None if self.price_list is None else self.price_list.costs.keys()

    def read_prior(self) -> priors.Prior | None:
        """The prior that was asked for."""
        return None if self.prior is None else files.read_prior_argument(self.prior)


def check_output(file: str | os.PathLike[str] | None, force: bool) -> None:
    """An output file that may not be written is an error before any work is done."""
    if file is None:
        return
    from pathlib import Path  # which takes a while to import

    path = Path(file)
    folder = path.resolve().parent
    for is_so, problem in (
        (path.exists() and not path.is_file(), " is not a regular file: name one, or a new one."),
        (path.exists() and not force, " exists: name another file, or replace it with --force."),
        (not folder.is_dir(), f": there is no directory {str(folder)!r}: create it first."),
        (
            not os.access(folder, os.W_OK),
            f": the directory {str(folder)!r} may not be written to: name another file.",
        ),
    ):
        if is_so:
            raise inputs.InputError(f"{path}{problem}")


def read_saved(path: str, made: Callable[[Any], T], what: str) -> T:
    """What a command wrote as JSON, made into what it was; of another file it is said that it is not `what`."""
    import json

    from pandora_regret.files.source import check_readable

    check_readable(path)
    try:
        with open(path, "rb") as file:
            return made(json.load(file))
    except inputs.InputError as error:
        raise error.within(path) from None
    except (ValueError, KeyError, TypeError, RecursionError):  # not JSON, other JSON, or nested too deeply
        raise inputs.InputError(f"{path} is not {what}.") from None

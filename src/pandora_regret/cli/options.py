"""Options that several commands share, and what they say once they are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

if TYPE_CHECKING:
    from pandora_regret.files import Layout
    from pandora_regret.priors import Prior

Command = TypeVar("Command", bound=Callable[..., Any])
Option: TypeAlias = Callable[[Any], Any]


INPUT_PATH = click.Path(readable=False)  # whether it can be read is found out by reading it
FILES = click.argument("files", nargs=-1, required=True, type=INPUT_PATH)

LAYOUT: tuple[Option, ...] = (
    click.option("--label", metavar="COLUMN", help="True classes.  [default: y_true, label or target]"),
    click.option("--proba-prefix", metavar="TEXT", help="What the names of forecast columns begin with."),
    click.option("--classes", metavar="NAME,...", help="The classes, where columns of numbers do not tell."),
    click.option("--id", metavar="COLUMN", help="Row ids, which match the rows of files.  [default: id]"),
    click.option("--weight", metavar="COLUMN", help="Weights of rows.  [default: weight or sample_weight]"),
    click.option("--group", metavar="COLUMN", help="Rows that belong together, such as patient_id."),
    click.option("--model", metavar="COLUMN", help="Names of models that share a file.  [default: model]"),
    click.option("--cost-prefix", metavar="TEXT", help="What the columns of each row's own costs begin with."),
    click.option("--logits", is_flag=True, help="The forecasts are logits."),
)
COSTS: tuple[Option, ...] = (
    click.option(
        "--costs",
        metavar="COSTS",
        help="Typical costs of tests: NAME=VALUE,..., a CSV file (class, cost), a pathway file (TOML), or the "
        "name of a shipped one: dermamnist, octmnist, pump_fault.  [default: all tests cost the same]",
    ),
    click.option(
        "--prior",
        metavar="PRIOR",
        help="How costs vary: uniform, exponential, fixed, beta:ALPHA, gamma:SHAPE, lognormal:SIGMA or "
        "empirical:FILE.  [default: uniform]",
    ),
)
INTERVALS: tuple[Option, ...] = (
    click.option("--bootstrap", type=click.IntRange(0), default=0, metavar="N", help="Intervals by N replicates."),
    click.option(
        "--level",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.95,
        show_default=True,
        help="Of the intervals.",
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the bootstrap."),
)
SCENARIO = click.option(
    "--scenario", multiple=True, metavar="NAME=COSTS", help="Other costs to compare under; may be repeated."
)
DECOMPOSE = click.option(
    "--decompose/--no-decompose",
    default=True,
    show_default=True,
    help="Whether to find out what recalibrating would save; takes about a second for 10,000 rows and a model.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
CSV = click.option("--csv", "as_csv", is_flag=True, help="Print a flat table as CSV.")
TITLE = click.option("--title", help="The page's heading.")
FORCE = click.option("--force", is_flag=True, help="Replace output files that exist.")
CLUSTER = click.option("--cluster", metavar="tcp://HOST:PORT", help="Scheduler of a Dask cluster to work on.")
JOBS = click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes at a time.")


def add_options(*options: Option) -> Callable[[Command], Command]:
    """A command with these options, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def read_layout(given: Mapping[str, Any]) -> Layout:
    """Which column is what, from the options of `LAYOUT`."""
    from pandora_regret.files import Layout
    from pandora_regret.files.pairs import listed

    said = {each.name: given[each.name] for each in fields(Layout)}
    names = said.pop("classes")
    return Layout(**said, classes=None if names is None else tuple(listed(names)))


def read_prior(given: Mapping[str, Any]) -> Prior | None:
    """The prior that was asked for."""
    from pandora_regret.files import read_prior_argument

    return None if given["prior"] is None else read_prior_argument(given["prior"])


def check_one_of(as_json: bool, as_csv: bool) -> None:
    """Standard output holds one thing."""
    if as_json and as_csv:
        raise click.UsageError("--json and --csv were both given: choose one.")


def check_output(path: Path | None, force: bool) -> None:
    """An output file that may not be written is an error before any work is done."""
    if path is None:
        return
    from pandora_regret.inputs import InputError

    if path.is_dir():
        raise InputError(f"{path} is a directory: name the file to write.")
    if path.exists() and not force:
        raise InputError(f"{path} exists: name another file, or replace it with --force.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no directory {str(path.parent)!r}: create it first.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: the directory {str(path.parent)!r} may not be written to: name another file.")

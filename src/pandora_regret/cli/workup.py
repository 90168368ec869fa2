"""`pandora workup`: work-ups learned from records of past cases, and what their plans would have cost others.

The JSON of a replay (schema "pandora-replay/1")::

    schema, library, promised {value, low, high}, paid {value, low, high}, spent, wrong_share, cases, named, wrong,
    incomplete, largest_weight, dependent [two tests, or none], currency
"""

from __future__ import annotations

from dataclasses import dataclass

from pandora_regret import files
from pandora_regret import workup as workups
from pandora_regret.cli.headings import Amount, Group, Option, path_argument
from pandora_regret.cli.options import (
    COST_OPTIONS,
    FORCE,
    JSON,
    LAYOUT,
    LEVEL_OPTION,
    PriceOptions,
    RowOptions,
    check_output,
    command,
)
from pandora_regret.cli.output import echo, print_json, say
from pandora_regret.core.inputs import InputError
from pandora_regret.text import money

DIALECT = ("separator", "decimal", "encoding", "sheet", "max_memory")
RECORDS = (
    path_argument("records"),
    Option("--label --class COLUMN", "The class of each case.", required=True),
    *(option for option in LAYOUT if option.name in DIALECT),
)
OUT = Option("--out FILE", "The work-up file to write.")


def _save(workup: workups.Workup, path: str | None) -> None:
    """Write a work-up file, where one is asked for, and say what can be done with it."""
    if path is not None:
        echo(f"Written: {workup.save(path)}. Next: pandora next {path}", err=True)


@dataclass(frozen=True)
class LearnOptions:
    """The options of `pandora workup learn`."""

    records: str
    label: str
    rows: RowOptions  # of which only the dialect counts
    prices: PriceOptions
    out: str | None
    wrong: float | None
    bins: int
    cuts: tuple[str, ...]
    combine: tuple[str, ...]
    update: str | None
    force: bool


@command(
    LearnOptions,
    *RECORDS,
    *COST_OPTIONS,
    OUT,
    Option("--wrong LOSS", "What naming a wrong class loses.  [default: ten times all tests]", type=Amount()),
    Option("--bins N", "Ranges that numbers are cut into, at quantiles.", least=2, default=5),
    Option("--cuts COLUMN=NUMBER,...", "Where to cut a column instead; may be repeated.", multiple=True),
    Option("--combine CAUSE,CAUSE", "Causes that may be at work at once; may be repeated.", multiple=True),
    Option("--update WORKUP", "A work-up learned before, to add these records to."),
    FORCE,
)
def learn(options: LearnOptions) -> None:
    r"""Learn what tests show from RECORDS: one row per past case, its class, and the outcomes of its tests.

    Columns with a cost are tests, and blanks are tests that were not made. The file holds counts, to which later
    records can be added.

    \b
    Examples:
      pandora workup learn records.csv --class diagnosis --costs fees.csv --out workup.toml
      pandora workup learn march.csv --class diagnosis --update workup.toml --out workup.toml --force
    """
    from pandora_regret.files.written import read_written_number, split_at_commas
    from pandora_regret.workup.words import learned_in_words

    check_output(options.out, options.force)
    cuts = {}
    for text in options.cuts:
        name, _, numbers = text.partition("=")
        cuts[name] = [read_written_number(number, f"--cuts: {text!r}") for number in split_at_commas(numbers)]
    prices = options.prices.read()
    price_list = prices.price_list
    combine = [split_at_commas(text) for text in options.combine]
    workup = workups.learn_workup(
        files.read_table(options.records, options.rows.dialect()),
        options.label,
        None if price_list is None else price_list.costs,
        cuts=cuts,
        combine=combine,
        unit=(prices.unit if price_list is None else price_list.unit) or None,
        update=None if options.update is None else workups.Workup.load(options.update),
        wrong=options.wrong,
        bins=options.bins,
    )
    for sentence in filter(None, (*learned_in_words(workup), workup.notes)):
        say(sentence)
    _save(workup, options.out)


@dataclass(frozen=True)
class ReplayOptions:
    """The options of `pandora workup replay`."""

    workup: str
    records: str
    label: str
    rows: RowOptions  # of which only the dialect counts
    at_most_wrong: str | None
    out: str | None
    level: float
    json: bool
    force: bool


@command(
    ReplayOptions,
    path_argument("workup"),
    *RECORDS,
    Option("--at-most-wrong SHARE", "Find the stop loss at which at most this share of names is wrong: 5%."),
    OUT,
    LEVEL_OPTION,
    JSON,
    FORCE,
)
def replay(options: ReplayOptions) -> None:
    r"""What the plan of a WORKUP would have cost other cases, those of RECORDS: promised against paid.

    With --at-most-wrong, the smallest loss of naming a wrong class is found (and written with --out) at which no
    more cases than that are named wrongly, with 95 % confidence: it asks for the fewest tests.

    \b
    Examples:
      pandora workup replay workup.toml held_out.csv --class diagnosis
      pandora workup replay workup.toml held_out.csv --class diagnosis --at-most-wrong 5% --out safe.toml
    """
    from pandora_regret.files.written import read_written_number

    check_output(options.out, options.force)
    workup = workups.Workup.load(options.workup)
    records = files.read_table(options.records, options.rows.dialect())
    if options.at_most_wrong is None:
        result = workups.replay_workup(workup, records, options.label, level=options.level)
    else:
        text = options.at_most_wrong
        share = read_written_number(text, "--at-most-wrong")
        chosen = workups.find_stop_loss(workup, records, options.label, share, level=options.level)
        if chosen is None:
            problem = f"no stop loss meets --at-most-wrong {text} on these cases"
            fix = "allow more, or add tests"
            raise InputError(problem, argument="at_most_wrong", place="", value=share, fix=fix)
        workup, result = chosen
        loss = money(max(max(stop.losses) for stop in workup.stops if stop.names_class), workup.currency)
        confidence = f"{100 * options.level:g} %"
        say(f"With {confidence} confidence, at most {100 * share:g} % are named wrongly if that loses {loss}.")
    if options.json:
        print_json(result, "pandora-replay/1")
    else:
        echo(result.to_text())
    _save(workup, options.out)


workup = Group(
    "workup",
    commands=[learn, replay],
    help=r"""A work-up learned from records of past cases, and what its plan would have cost other cases.

    \b
    Examples:
      pandora workup learn records.csv --class diagnosis --costs fees.csv --out workup.toml
      pandora workup replay workup.toml held_out.csv --class diagnosis
    """,
)

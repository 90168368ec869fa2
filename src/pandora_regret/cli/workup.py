"""`pandora workup`: work-ups learned from records of past cases, and what their plans would have cost others.

The JSON of a replay (schema "pandora-replay/1")::

    schema, library, promised {value, low, high}, paid {value, low, high}, spent, cases, named, wrong, left_out,
    dependent [two tests, or none], currency
"""

from __future__ import annotations

from typing import Any

from pandora_regret import files
from pandora_regret import workup as workups
from pandora_regret.cli.headings import Group, Option, path_argument
from pandora_regret.cli.options import (
    COSTS,
    FORCE,
    JSON,
    LAYOUT,
    LEVEL,
    Asked,
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


def _read(asked: Asked) -> Any:
    return files.read_table(asked.records, files.Dialect(**asked.only(*DIALECT)))


def _written(workup: workups.Workup, asked: Asked) -> None:
    if asked.out is not None:
        echo(f"Written: {workup.save(asked.out)}. Next: pandora next {asked.out}", err=True)


@command(
    *RECORDS,
    *COSTS,
    OUT,
    Option("--wrong LOSS", "What naming a wrong class loses.  [default: ten times all tests]", type=float),
    Option("--bins N", "Ranges that numbers are cut into, at quantiles.", least=2, default=5),
    Option("--cuts COLUMN=NUMBER,...", "Where to cut a column instead; may be repeated.", multiple=True),
    Option("--combine CAUSE,CAUSE", "Causes that may be at work at once; may be repeated.", multiple=True),
    Option("--update WORKUP", "A work-up learned before, to add these records to."),
    FORCE,
)
def learn(asked: Asked) -> None:
    r"""Learn what tests show from RECORDS: one row per past case, its class, and the outcomes of its tests.

    Columns with a cost are tests, and blanks are tests that were not made. The file holds counts, to which later
    records can be added.

    \b
    Examples:
      pandora workup learn records.csv --class diagnosis --costs fees.csv --out workup.toml
      pandora workup learn march.csv --class diagnosis --update workup.toml --out workup.toml --force
    """
    from pandora_regret.files.written import listed, read_written_number
    from pandora_regret.workup.words import learned_in_words

    check_output(asked.out, asked.force)
    cuts = {}
    for text in asked.cuts:
        name, _, numbers = text.partition("=")
        cuts[name] = [read_written_number(number, f"--cuts: {text!r}") for number in listed(numbers)]
    prices = asked.price_list
    combine = [listed(text) for text in asked.combine]
    workup = workups.Workup.learn(
        _read(asked),
        asked.label,
        None if prices is None else prices.costs,
        cuts=cuts,
        combine=combine,
        unit=(asked.price_unit if prices is None else prices.unit) or None,
        update=None if asked.update is None else workups.Workup.load(asked.update),
        **asked.only("wrong", "bins"),
    )
    for sentence in filter(None, (*learned_in_words(workup), workup.notes)):
        say(sentence)
    _written(workup, asked)


@command(
    path_argument("workup"),
    *RECORDS,
    Option("--at-most-wrong SHARE", "Find the stop loss at which at most this share of names is wrong: 5%."),
    OUT,
    LEVEL,
    JSON,
    FORCE,
)
def replay(asked: Asked) -> None:
    r"""What the plan of a WORKUP would have cost other cases, those of RECORDS: promised against paid.

    With --at-most-wrong, the smallest loss of naming a wrong class is found (and written with --out) at which no
    more cases than that are named wrongly, with 95 % confidence: it asks for the fewest tests.

    \b
    Examples:
      pandora workup replay workup.toml held_out.csv --class diagnosis
      pandora workup replay workup.toml held_out.csv --class diagnosis --at-most-wrong 5% --out safe.toml
    """
    from pandora_regret.files.written import read_written_number

    check_output(asked.out, asked.force)
    workup = workups.Workup.load(asked.workup)
    records = _read(asked)
    if asked.at_most_wrong is None:
        result = workups.replay_workup(workup, records, asked.label, level=asked.level)
    else:
        text = asked.at_most_wrong
        share = read_written_number(text, "--at-most-wrong")
        chosen = workups.find_stop_loss(workup, records, asked.label, share, level=asked.level)
        if chosen is None:
            raise InputError(
                f"no stop loss meets --at-most-wrong {text} on these cases: allow more, or add tests."
            )
        workup, result = chosen
        loss = money(max(max(stop.losses) for stop in workup.stops if stop.names_class), workup.currency)
        say(f"With {asked.level:.0%} confidence, at most {text} are named wrongly if that loses {loss}.")
    if asked.json:
        print_json(result, "pandora-replay/1")
    else:
        echo(result.to_text())
    _written(workup, asked)


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

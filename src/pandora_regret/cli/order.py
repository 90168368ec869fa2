"""`pandora order`: in which order to test, for one forecast.

The JSON (schema "pandora-order/1")::

    schema, library, currency, source, search, expected_cost,
    steps [{test, probability, cost, total_cost, done}], done [{what, count, sentence, model?}]
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.cli.options import (
    FORCE,
    INPUT_PATH,
    JSON,
    PATH,
    CaseOptions,
    PriceOptions,
    check_output,
    choice,
    takes,
)
from pandora_regret.cli.printing import echo, print_done, print_json
from pandora_regret.records import to_plain

if TYPE_CHECKING:
    from pandora_regret.files import Layout, OneRow
    from pandora_regret.plan import Plan

USUAL_STEPS = 10  # in a table for people

ROW = click.option("--row", type=click.IntRange(1), help="If FORECAST is a file: which of its rows, from 1.")
CASE = click.option("--id", "case_id", metavar="CASE", help="If FORECAST is a file: the row with this id.")


@click.command()
@click.argument("forecast", type=INPUT_PATH)
@ROW
@CASE
@click.option("--sensitivity", help="How often a test finds its class: one number, or NAME=VALUE,...")
@choice(
    "--search",
    words=["single_pass", "restarts", "adaptive"],
    help="What happens if no test finds the truth: nothing, the same pass again, or the best test again.",
)
@click.option("--steps", type=click.IntRange(1), help="How many tests to plan and list; one pass unless given.")
@click.option("--full", is_flag=True, help="List every test, not only the first ten.")
@click.option("--plot", type=PATH, help="Draw the plan into this file (SVG, PDF or PNG), too.")
@FORCE
@JSON
@takes(PriceOptions, CaseOptions)
def order(
    costs: PriceOptions,
    layout: CaseOptions,
    *,
    forecast: str,
    row: int | None,
    case_id: str | None,
    sensitivity: str | None,
    search: str,
    steps: int | None,
    full: bool,
    plot: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    r"""In which order to test, for one FORECAST: NAME=PROBABILITY,... or a row of a file.

    \b
    Examples:
      pandora order "melanoma=0.2,nevus=0.7,keratosis=0.1" --costs "melanoma=384,nevus=75,keratosis=75"
      pandora order predictions.csv --row 12 --costs dermamnist --plot order.png
      pandora order predictions.csv --id patient-17 --costs prices.csv
      pandora order "pump=0.6,valve=0.4" --costs "pump=90,valve=20" --sensitivity 0.8 --search adaptive --steps 6

    The JSON has the schema pandora-order/1.
    """
    from pandora_regret.cli.console import output
    from pandora_regret.inputs.tests import Tests
    from pandora_regret.plan import plan_search

    check_output(plot, force)
    case = read_case(forecast, row, case_id, layout.read(), costs.priced())
    prices = costs.read_prices(case.classes, case.costs, "the row's own")
    currency, source = (None, None) if prices is None else (prices.currency, prices.source)
    cost, unused = (1.0, ()) if prices is None else (prices.costs, prices.done)
    done = (*case.done, *unused)
    tests = Tests(cost=cost, sensitivity=_sensitivity(sensitivity), labels=list(case.classes))
    how: dict[str, Any] = {"search": search, "steps": steps, "logits": layout.logits}
    with case.blamed():
        plan = plan_search(case.forecast, tests=tests, labels=list(case.classes), **how)
    if plot is not None:
        from pandora_regret.plots.search_trace import draw_search_trace

        echo(f"Plot: {draw_search_trace(plan, plot, currency=currency)}", err=True)
    if as_json:
        about = {"currency": currency, "source": source, "done": to_plain(done)}
        print_json(about | plan.to_dict(), "pandora-order/1")
    else:
        _print(plan, currency, source, None if full or steps is not None else USUAL_STEPS)
        print_done(output(), done)


def read_case(
    forecast: str, row: int | None, case: str | None, layout: Layout, priced: Collection[str] | None = None
) -> OneRow:
    """A forecast that is written out, or a row of a file: by its number, or by its id."""
    from pandora_regret.files import find_row, read_row

    if row is not None and case is not None:
        raise click.UsageError("--row and --id were both given: one of them says which row.")
    if os.path.exists(forecast) or row is not None or case is not None:
        number = row if case is None else find_row(forecast, case, layout)
        one = read_row(forecast, number, layout, priced)
    else:
        one = _written_out(forecast)
    return one.normalised() if layout.normalise and not layout.logits else one


def _written_out(forecast: str) -> OneRow:
    import numpy as np

    from pandora_regret.files import OneRow
    from pandora_regret.files.pairs import read_pairs
    from pandora_regret.inputs import InputError

    if "=" not in forecast:
        problem = f"{forecast!r} is neither a file nor NAME=PROBABILITY,..."
        raise InputError(problem, place="FORECAST", value=forecast, fix="write one of them")
    pairs = read_pairs(forecast, "FORECAST")
    return OneRow(tuple(pairs), np.array(list(pairs.values())), "FORECAST")


def _sensitivity(text: str | None) -> Any:
    """One number for all tests, or one per class."""
    if text is None:
        return 1.0
    from pandora_regret.files.pairs import read_pairs

    try:
        return float(text)
    except ValueError:
        return read_pairs(text, "--sensitivity")


def _print(plan: Plan, currency: str | None, source: str | None, listed: int | None) -> None:
    """A table of the first steps, or of all of them."""
    from pandora_regret.cli.console import output
    from pandora_regret.cli.printing import Column, print_columns
    from pandora_regret.text import Formats, count, is_currency, money

    console, steps = output(), plan.steps if listed is None else plan.steps[:listed]
    formats = Formats(currency, max(step.cost for step in steps))
    price = formats.money if is_currency(currency) else partial(_exactly, unit=currency)
    columns = [
        Column("Test for", [str(step.test) for step in steps], "left"),
        Column("Probability now", [formats.share(step.probability) for step in steps]),
        Column("Cost", [price(step.cost) for step in steps]),
        Column("Total so far", [price(step.total_cost) for step in steps]),
        Column("Done by then", [formats.share(step.done) for step in steps]),
    ]
    print_columns(console, Column("Step", [str(number) for number in range(1, len(steps) + 1)]), columns)
    if len(plan.steps) > len(steps):
        further = count(len(plan.steps) - len(steps))
        console.print(f"... and {further} more steps: --full.", style="dim")
    console.print()
    console.print(f"Expected total: {money(plan.expected_cost, currency)}.", style="bold")
    if source is None:
        console.print("Every test costs the same: say what they cost with --costs.", style="dim")


def _exactly(amount: float, unit: str | None) -> str:
    """Minutes or bare numbers, as they were written."""
    from pandora_regret.text import significant

    return f"{significant(amount)} {unit or ''}".rstrip()

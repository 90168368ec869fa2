"""`pandora next`: what to test next, for one forecast: in a search, or in a work-up.

The JSON of a search (schema "pandora-order/1")::

    schema, library, currency, source, search, expected_cost,
    steps [{test, probability, cost, total_cost, done}], done [{what, count, sentence, model?}]

The JSON of a work-up (schema "pandora-next/1")::

    schema, library, next, expected_cost, currency, found, method, cost_by_class,
    alternatives [{name, kind, cost, expected_cost, extra, outcomes [{name, chance, posterior}]}],
    tree {name, kind, cost, chance, expected_cost, posterior, branches}, done [{what, count, sentence, model?}]
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.cli.options import (
    FORCE,
    INPUT_PATH,
    JSON,
    OUTPUT,
    PATH,
    CaseOptions,
    Command,
    PriceOptions,
    check_output,
    option,
    takes,
)
from pandora_regret.cli.output import echo, print_done, print_json, print_table
from pandora_regret.records import to_plain

if TYPE_CHECKING:
    from pandora_regret.files import Layout, OneRow
    from pandora_regret.workup import Plan

USUAL_STEPS = 10  # in a table for people
SEARCHES = ("single_pass", "restarts", "adaptive")


@dataclass(frozen=True)
class PlanOptions:
    """Which case, and what is planned."""

    row: int | None = option("--row", type=click.IntRange(1), help="If FORECAST is a file: which row, from 1.")
    case: str | None = option("--id", metavar="CASE", help="If FORECAST is a file: the row with this id.")
    found: str | None = option(
        "--found", metavar="STEP=OUTCOME,...", help="In a work-up: what steps made so far have shown."
    )
    sensitivity: str | None = option(
        "--sensitivity", help="How often a test finds its class: one number, or NAME=VALUE,..."
    )
    search: str = option(
        "--search",
        type=click.Choice(SEARCHES),
        default=SEARCHES[0],
        show_default=True,
        help="What happens if no test finds the truth: nothing, the same pass again, or the best test again.",
    )
    steps: int | None = option("--steps", type=click.IntRange(1), help="How many tests to plan and list.")
    plot: Path | None = option("--plot", "--tree", type=PATH, help="Draw the plan into this file, too.")
    full: bool = option("--full", is_flag=True, section=OUTPUT, help="List every test, not only the first ten.")


@click.command("next", cls=Command)
@click.argument("workup_and_forecast", nargs=-1, required=True, type=INPUT_PATH, metavar="[WORKUP] FORECAST")
@takes(PriceOptions, PlanOptions, CaseOptions)
@JSON
@FORCE
def next(
    costs: PriceOptions,
    asked: PlanOptions,
    layout: CaseOptions,
    *,
    workup_and_forecast: tuple[str, ...],
    as_json: bool,
    force: bool,
) -> None:
    r"""What to test next, for one FORECAST: NAME=PROBABILITY,... or a row of a file.

    Without a WORKUP file there is one test per class, which costs what --costs says, and the plan is an order.

    \b
    Examples:
      pandora next "flu=0.6,cold=0.4" --costs "flu=20,cold=5"
      pandora next predictions.csv --id patient-17 --costs prices.csv
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1"
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1" \
          --found dermoscopy=suspicious --tree tree.svg
    """
    check_output(asked.plot, force)
    *workup, forecast = workup_and_forecast
    if len(workup) > 1:
        raise click.UsageError("give one WORKUP file at most, and one FORECAST.")
    if workup:
        _plan_workup(workup[0], forecast, costs, asked, layout, as_json)
    else:
        _plan_search(forecast, costs, asked, layout, as_json)


def _plan_workup(
    path: str, forecast: str, costs: PriceOptions, asked: PlanOptions, layout: CaseOptions, as_json: bool
) -> None:
    from pandora_regret.files.written import listed
    from pandora_regret.workup import Workup, plan_workup

    _refuse("WORKUP", costs=costs.costs, sensitivity=asked.sensitivity, steps=asked.steps)
    workup = Workup.load(path)
    case = read_case(forecast, asked, layout.read(), workup.classes)
    parts = [field.partition("=") for field in listed(asked.found or "")]
    findings = {name.strip(): outcome.strip() if equals else None for name, equals, outcome in parts}
    with case.blamed():
        plan = plan_workup(case.forecast, workup, findings, labels=list(case.classes), logits=layout.logits)
    if asked.plot is not None:
        echo(f"Tree: {plan.save_svg(asked.plot)}", err=True)
    if as_json:
        print_json(plan.to_dict() | {"done": to_plain(case.done)}, "pandora-next/1")
    else:
        echo(plan.to_text())
        print_done(case.done)


def _plan_search(
    forecast: str, costs: PriceOptions, asked: PlanOptions, layout: CaseOptions, as_json: bool
) -> None:
    from pandora_regret.inputs.tests import Tests
    from pandora_regret.workup import plan_search

    _refuse("no WORKUP", found=asked.found)
    case = read_case(forecast, asked, layout.read(), costs.priced())
    prices = costs.read_prices(case.classes, case.costs, "the row's own")
    currency, source = (None, None) if prices is None else (prices.currency, prices.source)
    cost, unused = (1.0, ()) if prices is None else (prices.costs, prices.done)
    done, labels = (*case.done, *unused), list(case.classes)
    tests = Tests(cost=cost, sensitivity=_sensitivity(asked.sensitivity), labels=labels)
    how: dict[str, Any] = {"search": asked.search, "steps": asked.steps, "logits": layout.logits}
    with case.blamed():
        plan = plan_search(case.forecast, tests=tests, labels=labels, **how)
    if asked.plot is not None:
        from pandora_regret.plots.single_case import draw_search_trace

        echo(f"Plot: {draw_search_trace(plan, asked.plot, currency=currency)}", err=True)
    if as_json:
        about = {"currency": currency, "source": source, "search": plan.method, "done": to_plain(done)}
        print_json(
            about | {key: to_plain(getattr(plan, key)) for key in ("expected_cost", "steps")}, "pandora-order/1"
        )
    else:
        _print(plan, currency, source, None if asked.full or asked.steps is not None else USUAL_STEPS)
        print_done(done)


def _refuse(beside: str, **options: object) -> None:
    """Options that mean nothing where there is a work-up, or none."""
    for name, value in options.items():
        if value is not None:
            raise click.UsageError(f"--{name} and {beside} do not go together.")


def read_case(forecast: str, asked: PlanOptions, layout: Layout, priced: Collection[str] | None) -> OneRow:
    """A forecast that is written out, or a row of a file: by its number, or by its id."""
    from pandora_regret.files import find_row, read_row

    if asked.row is not None and asked.case is not None:
        raise click.UsageError("--row and --id were both given: one of them says which row.")
    if os.path.exists(forecast) or asked.row is not None or asked.case is not None:
        number = asked.row if asked.case is None else find_row(forecast, asked.case, layout)
        one = read_row(forecast, number, layout, priced)
    else:
        one = _written_out(forecast)
    return one.normalised() if layout.normalise and not layout.logits else one


def _written_out(forecast: str) -> OneRow:
    import numpy as np

    from pandora_regret.files import OneRow
    from pandora_regret.files.written import read_pairs
    from pandora_regret.inputs import InputError

    if "=" not in forecast:
        problem = f"{forecast!r} is neither a file nor NAME=PROBABILITY,..."
        raise InputError(problem, place="FORECAST", value=forecast, fix="write one of them")
    pairs = read_pairs(forecast, "FORECAST")
    return OneRow(tuple(pairs), np.array(list(pairs.values())), "FORECAST")


def _sensitivity(text: str | None) -> Any:
    """One number for all tests, or one per class."""
    from pandora_regret.files.written import read_pairs

    try:
        return float(text or 1)
    except ValueError:
        return read_pairs(str(text), "--sensitivity")


def _print(plan: Plan, currency: str | None, source: str | None, most: int | None) -> None:
    """A table of the first steps, or of all of them."""
    from pandora_regret.text import Formats, Table, count, is_currency, money, significant

    formats = Formats(currency, max(step.cost for step in plan.steps[:most]))

    def price(amount: float) -> str:
        """Minutes or bare numbers stay as they were written."""
        return (
            formats.money(amount) if is_currency(currency) else f"{significant(amount)} {currency or ''}".rstrip()
        )

    rows = [
        (
            str(number),
            str(step.test),
            formats.share(step.probability),
            price(step.cost),
            price(step.total_cost),
            formats.share(step.done),
        )
        for number, step in enumerate(plan.steps[:most], 1)
    ]
    header = ["Step", "Test for", "Probability now", "Cost", "Total so far", "Done by then"]
    more = len(plan.steps) - len(rows)
    print_table(Table(header, rows, below=[f"... and {count(more)} more steps: --full."] if more else [], words=2))
    echo()
    echo(f"Expected total: {money(plan.expected_cost, currency)}.", bold=True)
    if source is None:
        echo("Every test costs the same: say what they cost with --costs.", dim=True)

"""`pandora next`: what to test next, for one forecast: in a search, or in a work-up.

The JSON of a search (schema "pandora-order/2")::

    schema, library, currency, source, search, expected_cost,
    steps [{test, probability, cost, total_cost, done}], remarks [{what, count, sentence, model?}]

With --miss what the forecast leaves is a step "elsewhere", and `looks` says how many tests come before it.

The JSON of a work-up (schema "pandora-next/2")::

    schema, library, next, expected_cost, low, high, lower_bound, currency, found, method, cost_by_class,
    title, steps [{test, probability, cost, total_cost, done}] as far as only one outcome of each goes on,
    alternatives [{name, kind, cost, expected_cost, extra, outcomes [{name, chance, posterior}]}],
    tree {name, kind, cost, chance, expected_cost, posterior, branches}, remarks [{what, count, sentence, model?}]
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import click
import numpy as np

from pandora_regret import files, workup
from pandora_regret.cli.headings import OUTPUT, Amount, Option, path_argument
from pandora_regret.cli.options import (
    COST_OPTIONS,
    FORCE,
    JSON,
    LAYOUT_OF_ROWS,
    ClassCosts,
    PriceOptions,
    RowOptions,
    StatedPrices,
    check_output,
    command,
    not_both,
)
from pandora_regret.cli.output import echo, print_json, print_remarks, width
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, InputError, Remark
from pandora_regret.text import TESTS, listed, money, stated_price

LONGER = 10  # times as long a search is advised where the bounds have not met
USUAL_STEPS = 10  # in a table for people
ELSEWHERE = "elsewhere"  # what a forecast does not name


@dataclass(frozen=True)
class NextOptions:
    """The options of `pandora next`."""

    workup_and_forecast: tuple[str, ...]
    rows: RowOptions
    prices: PriceOptions
    row: int | None
    case: str | None
    found: tuple[str, ...]
    sensitivity: str | None
    search: Literal["single_pass", "restarts", "adaptive"]
    miss: float | None
    steps: int | None
    seconds: float
    tree: str | None
    runbook: str | None
    html: str | None
    full: bool
    json: bool
    force: bool


@command(
    NextOptions,
    path_argument("workup_and_forecast", nargs=-1, required=True, metavar="[WORKUP] FORECAST"),
    *COST_OPTIONS,
    Option("--row N", "If FORECAST is a file: which row, from 1."),
    Option("--case ID", "If FORECAST is a file: the row with this id."),
    Option("--found STEP=OUTCOME,...", "In a work-up: what steps made so far have shown.", multiple=True),
    Option("--sensitivity SHARE", "How often a test finds its class: one number, or NAME=VALUE,..."),
    Option(
        "--search [single_pass|restarts|adaptive]",
        "What happens if no test finds the truth: nothing, the same pass again, or the best test again.",
    ),
    Option(
        "--miss PRICE",
        "What it costs to find what FORECAST does not name: it has the probability that is left.",
        type=Amount(is_positive=True),
    ),
    Option("--steps N", "How many tests to plan and list."),
    Option(
        "--seconds S",
        "In a work-up of many tests: how long to search for a better plan.",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
    ),
    Option("--tree FILE", "Write the plan into this file, too: .svg draws it; a tree also .csv, .json."),
    Option("--runbook FILE", "In a work-up: write the plan as Markdown with a chart, for a wiki."),
    Option("--html FILE", "In a work-up: write the plan as a page to click through, which needs no network."),
    Option("--full", "List every test, not only the first ten.", OUTPUT),
    *LAYOUT_OF_ROWS,
    JSON,
    FORCE,
)
def next(options: NextOptions) -> None:
    r"""What to test next, for one FORECAST: NAME=PROBABILITY,... or a row of a file.

    Without a WORKUP file there is one test per class, which costs what --costs says, and the plan is an order. A
    WORKUP that was learned from records needs no FORECAST: the classes are then as likely as they were there.

    \b
    Examples:
      pandora next "flu=0.6,cold=0.4" --costs "flu=20,cold=5"
      pandora next "a.py=0.5,b.py=0.2" --costs "other=3" --miss 40
      pandora next predictions.csv --case patient-17 --costs prices.csv
      pandora next lists.jsonl --case issue-4 --miss 40
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1"
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1" \
          --found dermoscopy=suspicious --tree tree.svg
      pandora next incident.toml --runbook runbook.md --html runbook.html
    """
    for path in (options.tree, options.runbook, options.html):
        check_output(path, options.force)
    not_both("one of them says which row", row=options.row, case=options.case)
    match options.workup_and_forecast:
        case (path, forecast):
            _plan_workup(path, forecast, options)
        case (path,) if path.endswith(".toml"):
            _plan_workup(path, None, options)
        case (forecast,):
            _plan_search(forecast, options)
        case _:
            raise click.UsageError("give one WORKUP file at most, and one FORECAST.")


def _plan_workup(path: str, forecast: str | None, options: NextOptions) -> None:
    """Print what to do next in a work-up, and write the plan where that was asked for."""
    of_searches = {
        "costs": options.prices.costs,
        "sensitivity": options.sensitivity,
        "steps": options.steps,
        "miss": options.miss,
    }
    _refuse(of_searches, "WORKUP")
    described = workup.Workup.load(path)
    case = files.OneRow((), np.empty(0), "")  # the classes are as likely as among the work-up's cases
    if forecast is not None:
        case = _read_forecast(forecast, options, described.classes, described.classes)
    findings = _read_findings(options.found)
    chances = dict(zip(case.classes, case.forecast.tolist(), strict=True))
    with case.errors_with_its_place():
        plan = workup.plan_workup(
            chances or None,
            described,
            findings,
            seconds=options.seconds,
            logits=options.rows.logits,
            normalise=options.rows.normalise,
        )
    if options.tree is not None:
        echo(f"Tree: {plan.save(options.tree)}", err=True)
    _write_page(plan, "--runbook", options.runbook, ".md")
    _write_page(plan, "--html", options.html, ".html")
    if options.json:
        print_json(plan.to_dict() | {"remarks": case.remarks}, "pandora-next/2")
        return
    echo(plan.to_text())
    if not plan.is_optimal:
        longer = f"--seconds {LONGER * options.seconds:g}"
        echo(f"A longer search may find a better plan, or prove that there is none: {longer}.", dim=True)
    print_remarks(case.remarks)


def _refuse(values: Mapping[str, object], beside: str) -> None:
    """Raise a UsageError if any of these options, named without their dashes, has a value."""
    for name, value in values.items():
        if value:
            raise click.UsageError(f"--{name} and {beside} do not go together.")


def _read_findings(found: Sequence[str]) -> dict[str, str | None]:
    """What each step has shown, from ``STEP=OUTCOME,...``; None for a step without an outcome."""
    from pandora_regret.files.written import split_at_commas

    fields = split_at_commas(",".join(found))
    findings: dict[str, str | None] = {}
    for field in fields:
        name, equals, outcome = field.partition("=")
        findings[name.strip()] = outcome.strip() if equals else None
    if len(findings) < len(fields):
        raise InputError("names a step twice", place="--found", fix="say once what each step has shown")
    return findings


def _write_page(plan: workup.Plan, option: str, path: str | None, ending: str) -> None:
    """Write a plan into a file whose name has this ending, if an option named one."""
    if path is None:
        return
    if not path.lower().endswith(ending):
        raise InputError(f"is {path!r}", place=option, value=path, fix=f"end it in {ending}")
    echo(f"Written: {plan.save(path)}", err=True)


def _plan_search(forecast: str, options: NextOptions) -> None:
    """Print the order of tests of a search, and draw it where that was asked for."""
    from pandora_regret.core.inputs.tests import Tests

    _refuse({"found": options.found, "runbook": options.runbook, "html": options.html}, "no WORKUP")
    prices = options.prices.read()
    if options.miss is None:
        case = _read_forecast(forecast, options, prices.class_names)
        costs = prices.for_classes(case.classes, case.costs, "the row's own")
    else:
        case = _read_list(forecast, options)
        case, costs = _with_elsewhere(case, prices, options.miss)
    labels = list(case.classes)
    cost = 1.0 if costs.costs is None else costs.costs
    tests = Tests(cost=cost, sensitivity=_read_sensitivity(options.sensitivity), labels=labels)
    with case.errors_with_its_place():
        plan = workup.plan_search(
            case.forecast,
            tests=tests,
            labels=labels,
            search=options.search,
            steps=options.steps,
            logits=options.rows.logits,
            normalise=options.rows.normalise,
        )
    if options.tree is not None:
        from pandora_regret.plots.single_case import draw_search_trace

        echo(f"Plot: {draw_search_trace(plan, options.tree, currency=_unit_of(costs))}", err=True)
    remarks = (*case.remarks, *costs.remarks)
    if not options.json:
        _print_search(plan, costs, options)
        print_remarks(remarks)
        return
    results = {
        "currency": costs.currency,
        "source": costs.source,
        "search": plan.method,
        "expected_cost": plan.expected_cost,
        "steps": plan.steps,
        "remarks": remarks,
    }
    if options.miss is not None:
        results["looks"] = _looks_before_elsewhere(plan)
    print_json(results, "pandora-order/2")


def _read_sensitivity(text: str | None) -> float | dict[str, float]:
    """How often tests find their classes: one number for all, or one for each name; 1 unless said."""
    from pandora_regret.files.written import read_pairs

    if not text:
        return 1.0
    try:
        return float(text)
    except ValueError:
        return read_pairs(text, "--sensitivity")


def _unit_of(costs: ClassCosts) -> str:
    """What is paid in: tests, where nobody priced them, as each then costs the same."""
    return TESTS if costs.currency is None else costs.currency


def _print_search(plan: workup.Plan, costs: ClassCosts, options: NextOptions) -> None:
    """Print the first tests of a search, what it costs, and when to give up."""
    most = None if options.full or options.steps is not None else USUAL_STEPS
    table = replace(plan, currency=costs.currency or "").listed(most)
    table = replace(table, above=(), below=[f"{line}: --full." for line in table.below])
    echo(table.to_text(width()))
    echo()
    echo(f"Expected cost: {money(plan.expected_cost, _unit_of(costs))}.", bold=True)
    looks = _looks_before_elsewhere(plan)
    if options.miss is not None and looks is not None:
        last = f"after {plan.steps[looks - 1].test}" if looks else "at once"
        echo(f"Give up {last}: then elsewhere, at {stated_price(options.miss, _unit_of(costs))}.")
    if costs.costs is None:
        echo("Every test costs the same: say what they cost with --costs.", dim=True)


def _with_elsewhere(case: files.OneRow, prices: StatedPrices, miss: float) -> tuple[files.OneRow, ClassCosts]:
    """A forecast with what it leaves as a class of its own, which costs a miss; and what its tests cost."""
    from pandora_regret.candidates.reading import prices_of
    from pandora_regret.core.inputs import TOLERANCE

    if ELSEWHERE in case.classes:
        raise InputError(f"names {ELSEWHERE!r}, which stands for all that it does not name", place="FORECAST")
    total = float(case.forecast.sum())
    if total > 1 + TOLERANCE:
        fix = "probabilities sum to 1 at most; what they leave is elsewhere"
        raise InputError(f"sums to {total:g}", argument="y_proba", place="FORECAST", value=total, fix=fix)
    price_list = prices.price_list
    own = case.costs
    if own is None:
        own = prices_of(case.classes, None if price_list is None else price_list.costs)
    rest = max(1 - total, 0.0)
    with_rest = replace(case, classes=(*case.classes, ELSEWHERE), forecast=np.append(case.forecast, rest))
    source = None if price_list is None else price_list.source
    currency = prices.unit or (price_list.unit if price_list else "")
    return with_rest, ClassCosts(np.append(own, miss), currency, source)


def _looks_before_elsewhere(plan: workup.Plan) -> int | None:
    """How many tests come before elsewhere; None where that is no step."""
    names = [step.test for step in plan.steps]
    return names.index(ELSEWHERE) if ELSEWHERE in names else None


def _read_list(forecast: str, options: NextOptions) -> files.OneRow:
    """A forecast that need not name all that may be true: the list of a case in JSON lines, or any other."""
    from pandora_regret.files.one_row import read_listed_case
    from pandora_regret.files.ranked.formats import is_lists

    if os.path.isfile(forecast) and is_lists(forecast, None):
        return read_listed_case(forecast, options.row, options.case, options.rows.id)
    return _read_forecast(forecast, options, None)


def _read_forecast(
    forecast: str, options: NextOptions, priced: Collection[str] | None, classes: Sequence[str] = ()
) -> files.OneRow:
    """A forecast that is written out, perhaps over these classes, or a row of a file: by its number, or its id."""
    from pandora_regret.core.inputs.names import matched
    from pandora_regret.files.written import read_pairs

    if os.path.exists(forecast) or options.row is not None or options.case is not None:
        return files.read_row(forecast, options.row, options.rows.layout(), priced, options.case)
    if "=" in forecast:
        pairs = read_pairs(forecast, "FORECAST")
        named = matched(classes, pairs)
        zero = [name for name in classes if name not in named]
        words = f"{listed(zero)} not named: taken as probability 0"
        remarks = (Remark(CLASSES_TAKEN_AS_0, len(zero), words),) if zero else ()
        return files.OneRow(tuple(pairs), np.array(list(pairs.values())), "FORECAST", remarks=remarks)
    problem = f"{forecast!r} is neither a file nor NAME=PROBABILITY,..."
    raise InputError(problem, place="FORECAST", value=forecast, fix="write one of them")

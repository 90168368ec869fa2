"""`pandora next`: what to do next in a work-up, for one forecast.

The JSON (schema "pandora-next/1")::

    schema, library, next, expected_cost, currency, found, method, cost_by_class,
    alternatives [{name, kind, cost, expected_cost, extra, outcomes [{name, chance, posterior}]}],
    tree {name, kind, cost, chance, expected_cost, posterior, branches}, done [{what, count, sentence, model?}]
"""

from __future__ import annotations

from pathlib import Path

import click

from pandora_regret.cli.options import (
    FORCE,
    INPUT_PATH,
    JSON,
    PATH,
    CaseOptions,
    check_output,
    choice,
    takes,
)
from pandora_regret.cli.order import CASE, ROW, read_case
from pandora_regret.cli.printing import echo, print_done, print_json
from pandora_regret.records import to_plain


@click.command("next")
@click.argument("workup", type=INPUT_PATH)
@click.argument("forecast", type=INPUT_PATH)
@click.option(
    "--found", metavar="STEP=OUTCOME,...", help="What steps made so far have shown; a visit is just named."
)
@ROW
@CASE
@choice(
    "--method",
    words=["optimal", "greedy", "information"],
    help="The least expected cost, or a rule that looks one step ahead, to compare it with.",
)
@click.option("--tree", type=PATH, help="Draw the whole tree into this SVG file, too.")
@FORCE
@JSON
@takes(CaseOptions)
def next(
    layout: CaseOptions,
    *,
    workup: str,
    forecast: str,
    found: str | None,
    row: int | None,
    case_id: str | None,
    method: str,
    tree: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    r"""What to do next, for a WORKUP file and one FORECAST: NAME=PROBABILITY,... or a row of a file.

    \b
    Examples:
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1"
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1" --found dermoscopy=suspicious
      pandora next skin.toml predictions.csv --id patient-17 --id-column patient --tree tree.svg

    The JSON has the schema pandora-next/1.
    """
    from pandora_regret.cli.console import output
    from pandora_regret.workup import Workup, plan_workup

    check_output(tree, force)
    described, read_layout = Workup.load(workup), layout.read()
    one = read_case(forecast, row, case_id, read_layout, described.classes)
    with one.blamed():
        plan = plan_workup(
            one.forecast,
            described,
            _findings(found or ""),
            method=method,  # type: ignore[arg-type]  # click has checked it
            labels=list(one.classes),
            logits=layout.logits,
        )
    if tree is not None:
        echo(f"Tree: {plan.save_svg(tree)}", err=True)
    if as_json:
        print_json(plan.to_dict() | {"done": to_plain(one.done)}, "pandora-next/1")
    else:
        echo(plan.to_text())
        print_done(output(), one.done)


def _findings(text: str) -> dict[str, str | None]:
    """``dermoscopy=suspicious,visit`` as a mapping."""
    from pandora_regret.files.pairs import listed

    parts = [field.partition("=") for field in listed(text)]
    return {name.strip(): outcome.strip() if equals else None for name, equals, outcome in parts}

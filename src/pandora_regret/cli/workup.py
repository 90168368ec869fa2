"""`pandora workup check`: what a work-up file says, as it was understood."""

from __future__ import annotations

import click

from pandora_regret.cli.options import INPUT_PATH, JSON
from pandora_regret.cli.printing import echo, print_json


@click.group()
def workup() -> None:
    r"""What a work-up file says, and what is wrong with it.

    \b
    Examples:
      pandora workup check skin.toml
      pandora next skin.toml "melanoma=0.2,nevus=0.7,keratosis=0.1"
    """


@workup.command()
@click.argument("file", type=INPUT_PATH)
@JSON
def check(file: str, as_json: bool) -> None:
    """Read FILE and say what was understood: classes, steps, the exact method, states, the range of costs."""
    from pandora_regret.workup import Workup

    summary = Workup.load(file).summary()
    if as_json:
        print_json({"schema": "pandora-workup/1", **summary.to_dict()})
    else:
        echo(summary.to_text())

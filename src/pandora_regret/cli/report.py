"""`pandora report`: a page to look at and pass on, from predictions or from a saved comparison."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pandora_regret.cli.compare import Question, compare_files
from pandora_regret.cli.options import (
    FILES,
    PATH,
    ComparisonOptions,
    CostOptions,
    IntervalOptions,
    LayoutOptions,
    PageOptions,
    check_output,
    takes,
)
from pandora_regret.cli.printing import echo

if TYPE_CHECKING:
    from pandora_regret.compare import Comparison


@click.command()
@FILES
@click.option("--out", type=PATH, required=True, metavar="FILE", help="The HTML file to write.")
@takes(PageOptions, CostOptions, ComparisonOptions, IntervalOptions, LayoutOptions)
def report(
    page: PageOptions,
    costs: CostOptions,
    comparison: ComparisonOptions,
    intervals: IntervalOptions,
    layout: LayoutOptions,
    *,
    files: Sequence[str],
    out: Path,
) -> None:
    r"""A page to look at and pass on, from predictions or from a saved comparison.

    FILES are as in `pandora compare`, or one JSON file that `pandora compare --json` wrote. The page is one HTML
    file that needs no network.

    \b
    Examples:
      pandora report forest.csv network.csv --costs dermamnist --out report.html
      pandora report comparison.json --out report.html --title "Skin lesions, spring"
    """
    from pandora_regret.report import write_report

    check_output(out, page.force)
    saved = len(files) == 1 and files[0].endswith(".json")
    question = Question(costs, comparison, intervals, layout)
    result = _saved_comparison(files[0]) if saved else compare_files(files, question)
    echo(str(write_report(result, out, title=page.title, show=page.show, cases=not page.no_cases)))


def _saved_comparison(path: str) -> Comparison:
    from pandora_regret.compare import Comparison
    from pandora_regret.files.source import check_readable
    from pandora_regret.inputs import InputError

    check_readable(path)
    try:
        return Comparison.from_dict(json.loads(Path(path).read_bytes()))
    except InputError as error:
        raise error.within(str(path)) from None
    except (ValueError, RecursionError):  # not JSON, or nested too deeply
        raise InputError(f"{path} is not a comparison: write it with pandora compare --json.") from None

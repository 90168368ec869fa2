"""`pandora monitor`: whether a model in production still costs what it promises.

The JSON (schema "pandora-monitored/1")::

    schema, library, sentences [...], summary {increments, by_period, first, last {name, cases, paid, promised},
    overpaid {mean, low, high}, evidence, alarm {period, above, began}, change, saved, predicted, predicted_in,
    drift, waiting, late}, taken {counted, waiting, skipped, unknown, differing},
    done [{what, count, sentence}]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.cli.options import (
    INPUT_PATH,
    JSON,
    PATH,
    Command,
    CostOptions,
    LayoutOptions,
    check_output,
    option,
    takes,
)
from pandora_regret.cli.output import echo, print_json
from pandora_regret.records import to_plain

if TYPE_CHECKING:
    from pandora_regret.inputs import Done
    from pandora_regret.monitor import MonitorSummary, Taken

ALARM = 3
NOT_HERE = {"weight": "every case counts once", "group": "--period says what belongs together"} | {
    "cost_prefix": "prices are the same for all cases",
    "votes_prefix": "a case has one label, which may come later",
}


@dataclass(frozen=True)
class WatchOptions:
    """What is watched, and how strictly."""

    state: str = option("--state", type=INPUT_PATH, required=True, metavar="FILE", help="What was seen so far.")
    champion: str | None = option("--champion", metavar="NAME", help="The model in use.  [default: the first]")
    challenger: str | None = option("--challenger", metavar="NAME", help="The model that might replace it.")
    period: str | None = option(
        "--period",
        metavar="COLUMN",
        help="When a row came in, such as its week: cases of one period may depend on each other.",
    )
    labels: str | None = option(
        "--labels", type=INPUT_PATH, metavar="FILE", help="Labels of earlier forecasts: columns id and label."
    )
    level: float | None = option(
        "--level", type=float, help="Probability that a false ALARM ever comes.  [default: 0.05]"
    )
    run_length: float | None = option(
        "--run-length",
        type=float,
        metavar="N",
        help="Periods, or cases without --period, until a false CHANGE comes, on average, at least.  "
        "[default: 10,000 periods or 1,000,000 cases]",
    )
    lag: int | None = option(
        "--lag", type=click.IntRange(1), metavar="N", help="After how many periods labels are known.  [default: 1]"
    )
    drift_alarm: bool = option(
        "--drift-alarm", is_flag=True, help="Exit with 3 on DRIFT too: forecasts promise other costs than before."
    )
    close: bool = option(
        "--close",
        is_flag=True,
        help="The newest period is complete: count it now, not when a later one begins. Rows that come later for "
        "it are left out.",
    )


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=INPUT_PATH)
@takes(WatchOptions, CostOptions, LayoutOptions)
@click.option("--html", type=PATH, metavar="FILE", help="Write a page with the whole history; it is replaced.")
@JSON
def monitor(
    watch: WatchOptions,
    costs: CostOptions,
    layout: LayoutOptions,
    *,
    files: Sequence[str],
    html: Path | None,
    as_json: bool,
) -> None:
    r"""Whether a model in production still costs what it promises.

    FILES hold new forecasts with ids, of one model or of a champion and a challenger (NAME=FILE), and the true
    classes where they are known. The state holds what was seen before: such ids are skipped, so a run that was
    killed is simply run again. It holds the settings, too: later runs need only files and --state.

    \b
    Examples:
      pandora monitor week12.csv --state triage.json --costs prices.csv --period week
      pandora monitor "Deep net=net.csv" Forest=forest.csv --champion "Deep net" --state triage.json
      pandora monitor --labels outcomes.csv --state triage.json --html triage.html

    Exit code 3 says ALARM or CHANGE: it costs more or less than it promises, or has begun to. DRIFT of promises
    alone is only said, unless --drift-alarm is given. --level bounds false ALARMs, --run-length false CHANGEs.
    """
    from pandora_regret.cli.watching import Watch, locked

    _refuse(layout, costs)
    if not files and watch.labels is None:
        raise click.UsageError("there is nothing to read: give files of forecasts, or --labels.")
    for path in (Path(watch.state), html):
        check_output(path, force=True)
    with locked(Path(watch.state)):
        watched = Watch.open(watch, costs, layout)
        taken = watched.read(files)
        watched.save()
    summary, lines = watched.summary(), watched.sentences()
    alarmed = summary.alarmed or (watch.drift_alarm and summary.drift is not None)
    if html is not None:
        watched.write_page(html)
    if as_json:
        print_json(_as_dict(summary, taken, lines, watched.done), "pandora-monitored/1")
    else:
        _print(lines, watched.done)
    click.get_current_context().exit(ALARM if alarmed else 0)


def _refuse(layout: LayoutOptions, costs: CostOptions) -> None:
    """Options of other commands that mean nothing here."""
    for name, reason in NOT_HERE.items():
        if getattr(layout, name) is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with monitor: {reason}.")
    if costs.workup is not None:
        raise click.UsageError("--workup does not go with monitor: it watches the cost of a search.")


def _as_dict(summary: MonitorSummary, taken: Taken, lines: Sequence[str], done: Sequence[Done]) -> dict[str, Any]:
    about = {"sentences": list(lines), "summary": to_plain(summary), "taken": to_plain(taken)}
    return about | {"done": to_plain(list(done))}


def _print(lines: Sequence[str], done: Sequence[Done]) -> None:
    for line in lines:
        echo(line)
    if done:
        echo(f"Done: {'; '.join(each.sentence for each in done)}.")

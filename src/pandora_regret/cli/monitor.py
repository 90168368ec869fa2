"""`pandora monitor`: whether a model in production still costs what it promises.

The JSON (schema "pandora-monitored/2")::

    schema, library, sentences [...], summary {increments, dependent, timed, first, last {name, cases, paid,
    promised}, overpaid {value, low, high}, since, likely, evidence, alarm {noticed, above, stands}, note, saved,
    drift, waiting, held, late, late_share, needed_wait, at_best},
    taken {counted, waiting, skipped, unknown, differing}, done [{what, count, sentence}]
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click
import numpy as np

from pandora_regret import files
from pandora_regret import monitor as watching
from pandora_regret.cli.headings import Option, path_argument
from pandora_regret.cli.options import (
    JSON,
    LAYOUT,
    SEARCH,
    WORKUP,
    Asked,
    check_output,
    command,
    read_saved,
)
from pandora_regret.cli.output import echo, print_done, print_json
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import Done, InputError
from pandora_regret.text import counted

ALARM = 3
NOT_HERE = ("weight", "group", "votes_prefix", "cost_prefix", "truth")  # each case counts once, at the same prices
COLUMNS = {str(option.name): option for option in LAYOUT if option.name not in NOT_HERE}
ROLES, SETTINGS = ("champion", "challenger", "time", "dependent"), ("level", "two_sided", "wait")


@command(
    path_argument("files", nargs=-1),
    Option("--state FILE", "What was seen so far.", required=True),
    Option("--champion NAME", "The model in use.  [default: the first]"),
    Option("--challenger NAME", "The model that might replace it."),
    Option("--time COLUMN", "When forecasts were made, such as their week: sorts cases, and labels periods."),
    Option("--dependent COLUMN", "The same, where cases of one week share shocks: each week is one bet."),
    Option("--labels FILE", "Labels of earlier forecasts: columns id and label."),
    Option(
        "--wait N",
        "For how many later periods, or cases without --time, a label is waited for.  "
        "[default: until three more files have come; with --time, three with later periods]",
    ),
    Option("--level SHARE", "Probability that a false ALARM ever comes.  [default: 0.05]", type=float),
    Option("--two-sided", "ALARM too where it costs less than it promises, not only a note.", default=None),
    Option("--drift-alarm", "Exit with 3 on DRIFT too: forecasts promise other costs than before."),
    Option("--close", "The newest period is complete: count it now, for good."),
    Option("--period COLUMN", "Gone: --time or --dependent.", hidden=True),
    Option("--html FILE", "Write a page with the whole history; it is replaced."),
    *SEARCH,
    WORKUP,
    *COLUMNS.values(),
    JSON,
)
def monitor(asked: Asked) -> int:
    r"""Whether a model in production still costs what it promises.

    FILES hold new forecasts with ids, of one model or of a champion and a challenger (NAME=FILE), and the true
    classes where they are known. The state holds what was seen before: such ids are skipped, so a run that was
    killed is simply run again. It holds the settings, too: later runs need only files and --state, and without
    files they show where it stands.

    \b
    Examples:
      pandora monitor week12.csv --state triage.json --costs prices.csv --time week
      pandora monitor "Deep net=net.csv" Forest=forest.csv --champion "Deep net" --state triage.json
      pandora monitor --labels outcomes.csv --state triage.json --html triage.html

    Exit code 3 says ALARM: it costs more than it promises. DRIFT alone is only reported, unless
    --drift-alarm is given. --dependent takes many more cases to notice anything: use it where a shock, such as an
    epidemic, moves all cases of a week.
    """
    from pandora_regret.monitor.state import seal_state
    from pandora_regret.monitor.summary import sentences

    if asked.period is not None:  # for one release
        instead = "--time orders cases and names them; --dependent makes one bet of each period"
        raise click.UsageError(f"--period is gone: {instead}. Give one of them {asked.period}.")
    asked.not_both("time", "dependent", "--dependent orders and names cases, too")
    for path in (asked.state, asked.html):
        check_output(path, force=True)
    with _locked(os.path.dirname(os.path.realpath(asked.state))):
        watched, taken, done = _updated(asked)
        kept = {"unit": asked.cost_unit, "layout": asked.only(*COLUMNS)} | asked.only(*ROLES)
        state = seal_state(watched.state() | {"command": kept})
        text = json.dumps(state, allow_nan=False, separators=(",", ":"))
        write_atomically(asked.state, text.encode())
        if asked.html is not None:  # while nobody else can write a newer one
            from pandora_regret.report.monitor import write_monitor_page

            write_monitor_page(watched, asked.html, unit=asked.cost_unit, challenger=asked.challenger)
    summary = watched.summary()
    lines = sentences(summary, asked.cost_unit, asked.challenger)
    if asked.json:
        about = {"sentences": lines, "summary": summary, "taken": taken._asdict(), "done": done}
        print_json(about, "pandora-monitored/2")
    else:
        echo("\n".join(lines))
        print_done(done)
    alarmed = summary.alarmed or (asked.drift_alarm and summary.drift is not None)
    return ALARM if alarmed else 0


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Two runs on the same state come one after the other, so that neither loses what the other saw."""
    if os.name != "posix":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _updated(asked: Asked) -> tuple[watching.Monitor, watching.UpdateCounts, tuple[Done, ...]]:
    """The monitor with what the files add, what became of their rows, and what was done to them."""
    from pandora_regret.files.opening import read_truth

    watched, done, new = _restored(asked), tuple[Done, ...](), dict[str, Any]()
    late = 0 if watched is None else watched.queue.late
    if asked.files:
        try:
            watched, new, done = _read_forecasts(asked, watched)
        except files.NoRowsError as nothing:
            done = _nothing_new(watched, nothing)
    if watched is None:
        raise InputError(f"{asked.state} does not exist yet: give files of forecasts first.")
    parts = [watching.UpdateCounts()]
    with watched.together():
        if new:
            parts.append(watched.update(**new))
        if asked.labels is not None:
            try:
                labels = read_truth(asked.layout(truth=asked.labels, unlabelled=True), tuple(watched.labels))
                there = labels.truth >= 0  # the others are not known yet
                names = [watched.labels[k] for k in labels.truth[there]]
                parts.append(watched.label(np.asarray(labels.ids)[there], names))
            except files.NoRowsError as nothing:
                done += _nothing_new(watched, nothing)
    if asked.close:
        watched.close()
    taken = watching.UpdateCounts(*map(sum, zip(*parts, strict=True)))
    left_out = (
        ("labels that came late", watched.queue.late - late, "label", "too late: left out"),
        ("rows seen before", taken.skipped, "row", "seen before skipped"),
        ("labels that changed", taken.differing, "label", "not as counted before: left as counted"),
        ("labels without forecasts", taken.unknown, "label", "of unknown ids left out"),
    )
    done += tuple(Done(what, n, f"{counted(n, thing)} {became}") for what, n, thing, became in left_out if n)
    return watched, taken, done


def _nothing_new(watched: watching.Monitor | None, nothing: files.NoRowsError) -> tuple[Done, ...]:
    """What is said of a file without rows, as that of a week without cases is; the first file must have some."""
    if watched is None:
        raise nothing
    return (Done("files without rows", 1, f"{nothing.place} {nothing.problem}"),)


def _restored(asked: Asked) -> watching.Monitor | None:
    """The monitor of the state, which tells what is not asked for; what is asked for again must be the same."""
    if not os.path.exists(asked.state):
        return None
    prior = asked.read_prior()
    watched, kept = read_saved(
        asked.state,
        lambda state: (
            watching.Monitor.from_state(state, prior=prior),
            state["command"] | state["command"]["layout"],
        ),
        "the state of a monitor that this command began: name the file that --state wrote",
    )
    asked.cost_unit = kept.get("unit")
    settings = {name: kept.get(name) for name in ROLES} | {name: getattr(watched, name) for name in SETTINGS}
    for name, before in settings.items():
        _check_same(asked, name, getattr(asked, name) in (None, before), before)
        setattr(asked, name, before)
    for name in COLUMNS:  # a state tells no other option
        setattr(asked, name, getattr(asked, name) or kept.get(name))
    if asked.costs is not None or asked.price_unit:
        _, costs, unit, _ = asked.prices(watched.labels)
        base = np.array(None if costs is None else np.divide(costs, watched.prior.mean))
        _check_same(
            asked, "costs", np.array_equal(base, watched.costs) and unit == asked.cost_unit, "other prices"
        )
    _check_same(asked, "workup", asked.workup_read in (None, watched.workup), "another")
    return watched


def _check_same(asked: Asked, name: str, is_so: bool, before: Any) -> None:
    """That a state was begun with what is asked for again."""
    if not is_so:
        begun = f"begun with {before}" if before else "begun without it"
        is_now = f"--{name.replace('_', '-')} is {'given' if before is False else getattr(asked, name)}"
        raise InputError(f"{is_now}, but {asked.state} was {begun}: leave the option out, or begin a new state.")


def _read_forecasts(
    asked: Asked, watched: watching.Monitor | None
) -> tuple[watching.Monitor, dict[str, Any], tuple[Done, ...]]:
    """The monitor, begun here if there is none; what `Monitor.update` takes; and what was done to the files."""
    column = asked.dependent or asked.time
    classes = {} if watched is None else {"classes": tuple(watched.labels)}
    layout = asked.layout(group=column, unlabelled=True, **classes)
    opened = files.open_models(files.read_models_argument(asked.files, layout), asked.priced())
    together = files.read_together(opened)
    names, done, order = together.names, together.done, _champion_first(together.names, asked)
    if len({opened[index].logits for index in order}) > 1:
        raise InputError("one model forecasts logits and the other probabilities: give both alike.")
    if (ordered := next((one for one in opened if one.order_only), None)) is not None:
        raise files.FileError("lists options in order only", path=ordered.path, fix="watching needs probabilities")
    first, *others = (together.batches[index] for index in order)
    if first.ids is None:
        fix = "say which column names each case (--id), so that none is counted twice"
        raise InputError(f"{first.path} has no ids: {fix}.")
    if watched is None:
        prior, costs, asked.cost_unit, unused = asked.prices(first.classes)
        asked.champion, asked.challenger = (*(names[index] for index in order), None)[:2]
        settings = {name: value for name, value in asked.only(*SETTINGS).items() if value is not None}
        settings |= {"labels": first.classes, "dependent": asked.dependent is not None}
        watched = watching.Monitor(prior=prior, costs=costs, workup=asked.workup_read, **settings)
        done += unused
    labels = tuple(watched.labels)
    first, *others = (batch.with_classes(labels) for batch in (first, *others))
    update = {
        "y_true": [None if k < 0 else labels[k] for k in first.truth],
        "y_proba": first.values,
        "challenger": others[0].values if others else None,
        "ids": first.ids,
        "logits": opened[order[0]].logits,
    }
    if first.groups is not None:  # as sentences call them: week 9, where the column "week" holds 9
        times = map(str, first.groups.tolist())
        update["time"] = [f"{column} {time}" if time.isdigit() else time for time in times]
    return watched, update, done


def _champion_first(names: Sequence[str], asked: Asked) -> list[int]:
    """Which of the models is the champion, and which the challenger; of two the first is the champion."""
    roles = [asked.champion, asked.challenger]
    if len(names) == 1 and asked.challenger is None:
        return [0]
    others = iter(name for name in names if name not in roles)
    pair = [role or next(others, None) for role in roles]
    is_clear = len(names) == 2 or None not in roles
    if not is_clear or pair[0] == pair[1] or not {*pair} <= {*names}:
        compared = " with ".join(role or "another model" for role in roles)
        models = f"one model, {names[0]}" if len(names) == 1 else ", ".join(names)
        fix = "give the forecasts of both with NAME=FILE, and say which two with --champion and --challenger"
        raise InputError(f"{asked.state} compares {compared}, but the files hold {models}: {fix}.")
    return [names.index(str(name)) for name in pair]

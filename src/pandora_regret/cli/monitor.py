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

import numpy as np
from numpy.typing import NDArray

from pandora_regret import files
from pandora_regret import monitor as monitoring
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
from pandora_regret.core.inputs import Done, Fields, InputError
from pandora_regret.text import counted

ALARM = 3
NOT_HERE = ("weight", "group", "votes_prefix", "cost_prefix", "truth")  # each case counts once, at the same prices
COLUMNS = {str(option.name): option for option in LAYOUT if option.name not in NOT_HERE}
ROLES = ("champion", "challenger", "time", "dependent")
SETTINGS = ("level", "two_sided", "wait")


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

    asked.not_both("time", "dependent", "--dependent orders and names cases, too")
    for path in (asked.state, asked.html):
        check_output(path, force=True)
    with _locked(os.path.dirname(os.path.realpath(asked.state))):
        watched, counts, done = _updated(asked)
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
        results = {"sentences": lines, "summary": summary, "taken": counts._asdict(), "done": done}
        print_json(results, "pandora-monitored/2")
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


def _updated(asked: Asked) -> tuple[monitoring.Monitor, monitoring.UpdateCounts, tuple[Done, ...]]:
    """The monitor with what the files add, what became of their rows, and what was done to them."""
    monitor = _restored(asked)
    late_before = 0 if monitor is None else monitor.queue.late
    forecasts: Fields | None = None
    done: tuple[Done, ...] = ()
    if asked.files:
        try:
            monitor, forecasts, done = _read_forecasts(asked, monitor)
        except files.NoRowsError as no_rows:
            done = _nothing_new(monitor, no_rows)
    if monitor is None:
        raise InputError(f"{asked.state} does not exist yet: give files of forecasts first.")
    parts = [monitoring.UpdateCounts()]
    with monitor.together():
        if forecasts is not None:
            parts.append(monitor.update(**forecasts))
        if asked.labels is not None:
            try:
                ids, labels = _read_labels(asked, monitor)
                parts.append(monitor.label(ids, labels))
            except files.NoRowsError as no_rows:
                done += _nothing_new(monitor, no_rows)
    if asked.close:
        monitor.close()
    counts = monitoring.UpdateCounts(*(sum(column) for column in zip(*parts, strict=True)))
    return monitor, counts, done + _left_out(counts, monitor.queue.late - late_before)


def _read_labels(asked: Asked, monitor: monitoring.Monitor) -> tuple[NDArray[np.object_], list[object]]:
    """Ids and true classes of the file of labels, less those that are not known yet."""
    from pandora_regret.files.opening import read_truth

    read = read_truth(asked.layout(truth=asked.labels, unlabelled=True), tuple(monitor.labels))
    is_known = read.truth >= 0
    labels = [monitor.labels[k] for k in read.truth[is_known]]
    return np.asarray(read.ids)[is_known], labels


def _left_out(counts: monitoring.UpdateCounts, late: int) -> tuple[Done, ...]:
    """What is said of rows and labels that were not counted."""
    reasons = (
        ("labels that came late", late, "label", "too late: left out"),
        ("rows seen before", counts.skipped, "row", "seen before skipped"),
        ("labels that changed", counts.differing, "label", "not as counted before: left as counted"),
        ("labels without forecasts", counts.unknown, "label", "of unknown ids left out"),
    )
    return tuple(Done(what, n, f"{counted(n, thing)} {became}") for what, n, thing, became in reasons if n)


def _nothing_new(monitor: monitoring.Monitor | None, no_rows: files.NoRowsError) -> tuple[Done, ...]:
    """What is said of a file without rows, as that of a week without cases is; the first file must have some."""
    if monitor is None:
        raise no_rows
    return (Done("files without rows", 1, f"{no_rows.place} {no_rows.problem}"),)


def _restored(asked: Asked) -> monitoring.Monitor | None:
    """The monitor of the state, which tells what is not asked for; what is asked for again must be the same."""
    if not os.path.exists(asked.state):
        return None
    prior = asked.read_prior()
    monitor, kept = read_saved(
        asked.state,
        lambda state: (
            monitoring.Monitor.from_state(state, prior=prior),
            state["command"] | state["command"]["layout"],
        ),
        "the state of a monitor that this command began: name the file that --state wrote",
    )
    asked.cost_unit = kept.get("unit")
    stored = {name: kept.get(name) for name in ROLES}
    stored |= {"level": monitor.level, "two_sided": monitor.two_sided, "wait": monitor.wait}
    for name, value in asked.only(*stored).items():
        _check_same(asked, name, value, value in (None, stored[name]), stored[name])
        setattr(asked, name, stored[name])
    for name, value in asked.only(*COLUMNS).items():  # a state tells no other option
        setattr(asked, name, value or kept.get(name))
    if asked.costs is not None or asked.price_unit:
        _check_same(asked, "costs", asked.costs, _are_the_prices(asked, monitor), "other prices")
    _check_same(asked, "workup", asked.workup, asked.workup_read in (None, monitor.workup), "another")
    return monitor


def _are_the_prices(asked: Asked, monitor: monitoring.Monitor) -> bool:
    """Whether prices that are given again, and their unit, are those of the state."""
    _, costs, unit, _ = asked.prices(monitor.labels)
    if costs is None or monitor.costs is None:
        return costs is None and monitor.costs is None and unit == asked.cost_unit
    base_costs = np.divide(costs, monitor.prior.mean)
    return np.array_equal(base_costs, monitor.costs) and unit == asked.cost_unit


def _check_same(asked: Asked, name: str, value: object, is_same: bool, before: object) -> None:
    """That a state was begun with what is asked for again."""
    if is_same:
        return
    begun = f"begun with {before}" if before else "begun without it"
    is_now = f"--{name.replace('_', '-')} is {'given' if before is False else value}"
    raise InputError(f"{is_now}, but {asked.state} was {begun}: leave the option out, or begin a new state.")


def _read_forecasts(
    asked: Asked, monitor: monitoring.Monitor | None
) -> tuple[monitoring.Monitor, Fields, tuple[Done, ...]]:
    """The monitor, begun here if there is none; what `Monitor.update` takes; and what was done to the files."""
    column = asked.dependent or asked.time
    classes = {} if monitor is None else {"classes": tuple(monitor.labels)}
    layout = asked.layout(group=column, unlabelled=True, **classes)
    opened = files.open_models(files.read_models_argument(asked.files, layout), asked.priced())
    read = files.read_together(opened)
    order = _champion_first(read.names, asked)
    _check_alike(opened, order)
    champion = read.batches[order[0]]
    if champion.ids is None:
        fix = "say which column names each case (--id), so that none is counted twice"
        raise InputError(f"{champion.path} has no ids: {fix}.")
    done = read.done
    if monitor is None:
        monitor, unused = _begun(asked, [read.names[index] for index in order], champion.classes)
        done += unused
    labels = tuple(monitor.labels)
    tables = [read.batches[index].with_classes(labels) for index in order]
    forecasts: Fields = {
        "y_true": [None if k < 0 else labels[k] for k in tables[0].truth],
        "y_proba": tables[0].values,
        "challenger": tables[1].values if len(tables) > 1 else None,
        "ids": tables[0].ids,
        "logits": opened[order[0]].logits,
    }
    if tables[0].groups is not None:  # as sentences call them: week 9, where the column "week" holds 9
        times = [str(time) for time in tables[0].groups.tolist()]
        forecasts["time"] = [f"{column} {time}" if time.isdigit() else time for time in times]
    return monitor, forecasts, done


def _check_alike(opened: Sequence[files.Predictions], order: Sequence[int]) -> None:
    """That both models give probabilities, or both logits, and no file lists options in order only."""
    if len({opened[index].logits for index in order}) > 1:
        raise InputError("one model forecasts logits and the other probabilities: give both alike.")
    for model in opened:
        if model.order_only:
            fix = "watching needs probabilities"
            raise files.FileError("lists options in order only", path=model.path, fix=fix)


def _begun(
    asked: Asked, names: Sequence[str], classes: Sequence[str]
) -> tuple[monitoring.Monitor, tuple[Done, ...]]:
    """A new monitor of these models, the champion first, and prices that were not used."""
    prior, costs, asked.cost_unit, unused = asked.prices(classes)
    asked.champion = names[0]
    asked.challenger = names[1] if len(names) > 1 else None
    settings = {name: value for name, value in asked.only(*SETTINGS).items() if value is not None}
    monitor = monitoring.Monitor(
        prior=prior,
        costs=costs,
        workup=asked.workup_read,
        labels=classes,
        dependent=asked.dependent is not None,
        **settings,
    )
    return monitor, unused


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

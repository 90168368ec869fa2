"""`pandora monitor`: whether a model in production still costs what it promises.

The JSON (schema "pandora-monitored/3")::

    schema, library, sentences [...], summary {increments, dependent, timed, first, last {name, cases, paid,
    promised}, overpaid {value, low, high}, by_class [{name, paid, promised}], since, likely, evidence,
    alarm {noticed, above, stands}, note, saved,
    drift, waiting, held, late, late_share, needed_wait, at_best, unknown [{name, cases, first, is_acknowledged,
    is_known}], all_tests, miss, acknowledged [{note, noticed, above, classes, at}]},
    counts {counted, waiting, skipped, unknown, differing}, remarks [{what, count, sentence}]
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

import numpy as np

from pandora_regret import files
from pandora_regret import monitor as monitoring
from pandora_regret.cli.headings import Amount, Option, path_argument
from pandora_regret.cli.options import (
    JSON,
    LAYOUT,
    SEARCH,
    WORKUP,
    PriceOptions,
    RowOptions,
    StatedPrices,
    check_output,
    command,
    not_both,
    read_saved,
)
from pandora_regret.cli.output import echo, print_json, print_remarks
from pandora_regret.core.atomic import write_atomically
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, Fields, InputError, IntArray, Remark
from pandora_regret.core.inputs.names import matched
from pandora_regret.monitor.queue import OUTSIDE
from pandora_regret.text import counted, listed

ALARM = 3
NOT_HERE = ("weight", "group", "votes_prefix", "cost_prefix", "truth")  # each case counts once, at the same prices
COLUMN_OPTIONS = {str(option.name): option for option in LAYOUT if option.name not in NOT_HERE}


@dataclass(frozen=True)
class MonitorOptions:
    """What `pandora monitor` was asked."""

    files: tuple[str, ...]
    state: str
    champion: str | None
    challenger: str | None
    time: str | None
    dependent: str | None
    labels: str | None
    wait: int | None
    level: float | None
    two_sided: bool | None
    drift_alarm: bool
    close: bool
    miss: float | None
    acknowledge: str | None
    html: str | None
    rows: RowOptions
    prices: PriceOptions
    json: bool

    def setup(self) -> Setup:
        """What a state that begins with this run is about, as far as it was said."""
        return Setup(None, self.champion, self.challenger, self.time, self.dependent, self.rows)


@dataclass(frozen=True)
class Setup:
    """What a state knows beside its monitor: later runs go on with it."""

    unit: str | None  # of costs
    champion: str | None  # the name of a model; None before any file was read
    challenger: str | None
    time: str | None  # a column
    dependent: str | None  # a column
    rows: RowOptions

    def to_dict(self) -> Fields:
        """What goes into the state."""
        return {
            "unit": self.unit,
            "champion": self.champion,
            "challenger": self.challenger,
            "time": self.time,
            "dependent": self.dependent,
            "layout": {name: value for name, value in asdict(self.rows).items() if name in COLUMN_OPTIONS},
        }

    @classmethod
    def from_dict(cls, stored: Fields, typed: RowOptions) -> Setup:
        """What `to_dict` put into a state; options about columns that are given again take its place."""
        layout = dict(stored["layout"])
        changes: Fields = {}
        for name, value in asdict(typed).items():
            if name in COLUMN_OPTIONS:
                changes[name] = value or layout.get(name)
        return cls(
            stored["unit"],
            stored["champion"],
            stored["challenger"],
            stored["time"],
            stored["dependent"],
            replace(typed, **changes),
        )


@command(
    MonitorOptions,
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
    Option(
        "--miss PRICE",
        "What a case costs whose class no model knows, beyond all tests in vain.  [default: 0]",
        type=Amount(),
    ),
    Option("--acknowledge NOTE", "End an ALARM that you have looked into, and keep what you say of it."),
    Option("--html FILE", "Write a page with the whole history; it is replaced."),
    *SEARCH,
    WORKUP,
    *COLUMN_OPTIONS.values(),
    JSON,
)
def monitor(options: MonitorOptions) -> int:
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
    from pandora_regret.monitor.words import sentences

    not_both("--dependent orders and names cases, too", time=options.time, dependent=options.dependent)
    for path in (options.state, options.html):
        check_output(path, force=True)
    with _one_at_a_time(os.path.dirname(os.path.realpath(options.state))):
        watched, setup, counts, remarks = _update_monitor(options)
        state = seal_state(watched.state() | {"command": setup.to_dict()})
        text = json.dumps(state, allow_nan=False, separators=(",", ":"))
        write_atomically(options.state, text.encode())
        if options.html is not None:  # while nobody else can write a newer one
            from pandora_regret.report.monitor import write_monitor_page

            write_monitor_page(watched, options.html, unit=setup.unit, challenger=setup.challenger)
    summary = watched.summary()
    lines = sentences(summary, setup.unit, setup.challenger)
    if options.json:
        results = {"sentences": lines, "summary": summary, "counts": counts._asdict(), "remarks": remarks}
        print_json(results, "pandora-monitored/3")
    else:
        echo("\n".join(lines))
        print_remarks(remarks)
    alarmed = summary.alarmed or (options.drift_alarm and summary.drift is not None)
    return ALARM if alarmed else 0


@contextmanager
def _one_at_a_time(folder: str) -> Iterator[None]:
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


def _update_monitor(
    options: MonitorOptions,
) -> tuple[monitoring.Monitor, Setup, monitoring.UpdateCounts, tuple[Remark, ...]]:
    """The monitor with what the files add, its setup, what became of rows, and what was done to the files."""
    prices = options.prices.read()
    monitor = None
    setup = options.setup()
    if os.path.exists(options.state):
        monitor, setup = _restore_monitor(options, prices)
    late_before = 0 if monitor is None else monitor.queue.late
    new, remarks = _read_files(options, setup, monitor, prices)
    if new is not None and monitor is None:
        monitor, setup, unused = _begin_monitor(options, setup, prices, new)
        remarks += unused
    if monitor is None:
        fix = "give files of forecasts first"
        raise InputError("does not exist yet", argument="state", place=options.state, value=options.state, fix=fix)
    parts = [monitoring.UpdateCounts()]
    with monitor.one_run():
        if new is not None:
            _add_classes(new, prices, monitor)
            parts.append(new.add_to(monitor))
        if options.labels is not None:
            try:
                parts.append(_add_labels(options.labels, setup, monitor))
            except files.NoRowsError as no_rows:
                remarks += _nothing_new(no_rows)
    if options.close:
        monitor.close()
    if options.acknowledge is not None:
        monitor.acknowledge(options.acknowledge)
    counts = monitoring.UpdateCounts(*(sum(column) for column in zip(*parts, strict=True)))
    return monitor, setup, counts, remarks + _left_out(counts, monitor.queue.late - late_before)


def _read_files(
    options: MonitorOptions, setup: Setup, monitor: monitoring.Monitor | None, prices: StatedPrices
) -> tuple[NewForecasts | None, tuple[Remark, ...]]:
    """New forecasts, if there are any, and what was done to the files."""
    if not options.files:
        return None, ()
    try:
        new = _read_forecasts(options, setup, monitor, prices)
    except files.NoRowsError as no_rows:  # a week without cases; but the first file must have some
        if monitor is None:
            raise
        return None, _nothing_new(no_rows)
    return new, new.remarks


def _add_classes(new: NewForecasts, prices: StatedPrices, monitor: monitoring.Monitor) -> None:
    """Let the monitor know the classes that forecasts have from now on, at their prices."""
    known = tuple(map(str, monitor.labels))
    added = new.classes[len(known) :]
    if not added:
        return
    costs = None
    if monitor.costs is not None:
        costs = prices.for_classes(new.classes).costs
        if costs is None:
            problem = f"has no price for {listed(added)}, which forecasts have from now on"
            raise InputError(problem, argument="costs", fix="give the prices of all classes (--costs)")
        costs = costs[len(known) :]
    monitor.add_classes(added, costs)


def _add_labels(path: str, setup: Setup, monitor: monitoring.Monitor) -> monitoring.UpdateCounts:
    """Take in the true classes of a file of labels, but for those that are not known yet."""
    from pandora_regret.files.opening import read_truth_file

    classes = tuple(map(str, monitor.labels))
    layout = replace(setup.rows.layout(), truth=path, unlabelled=True, classes=classes)
    read = read_truth_file(layout)
    is_known = read.truth >= 0
    truth, outside = _outside(read.truth[is_known], read.classes, len(classes))
    return monitor.take_labels(np.asarray(read.ids)[is_known], truth, outside)


def _outside(truth: IntArray, classes: Sequence[str], k: int) -> tuple[IntArray, list[str]]:
    """Truths of which those beyond the first k classes are outside all columns, and the names of these."""
    numbered = np.where(truth >= k, OUTSIDE + truth - k, truth)
    return numbered, list(classes[k:])


def _left_out(counts: monitoring.UpdateCounts, late: int) -> tuple[Remark, ...]:
    """What is said of rows and labels that were not counted."""
    reasons = (
        ("labels that came late", late, "label", "too late: left out"),
        ("rows seen before", counts.skipped, "row", "seen before skipped"),
        ("labels that changed", counts.differing, "label", "not as counted before: left as counted"),
        ("labels without forecasts", counts.unknown, "label", "of unknown ids left out"),
    )
    return tuple(Remark(kind, n, f"{counted(n, thing)} {became}") for kind, n, thing, became in reasons if n)


def _nothing_new(no_rows: files.NoRowsError) -> tuple[Remark, ...]:
    """What is said of a file without rows."""
    return (Remark("files without rows", 1, f"{no_rows.place} {no_rows.problem}"),)


def _restore_monitor(options: MonitorOptions, prices: StatedPrices) -> tuple[monitoring.Monitor, Setup]:
    """The monitor of a state and its setup; whatever is asked for again must be as the state was begun."""
    monitor, setup = read_saved(
        options.state,
        lambda state: (
            monitoring.Monitor.from_state(state, prior=prices.prior),
            Setup.from_dict(state["command"], options.rows),
        ),
        "the state of a monitor that this command began: name the file that --state wrote",
    )
    settings: tuple[tuple[str, object, object], ...] = (
        ("champion", options.champion, setup.champion),
        ("challenger", options.challenger, setup.challenger),
        ("time", options.time, setup.time),
        ("dependent", options.dependent, setup.dependent),
        ("level", options.level, monitor.level),
        ("two-sided", options.two_sided, monitor.two_sided),
        ("wait", options.wait, monitor.wait),
    )
    for option, typed, before in settings:
        _check_as_begun(options.state, option, typed, typed in (None, before), before)
    if options.prices.costs is not None or prices.unit:
        are_same = _are_the_prices(prices, monitor, setup.unit)
        _check_as_begun(options.state, "costs", options.prices.costs, are_same, "other prices")
    if options.miss is not None:
        monitor.charge_misses(options.miss)
    is_same = prices.workup in (None, monitor.workup)
    _check_as_begun(options.state, "workup", options.prices.workup, is_same, "another")
    return monitor, setup


def _are_the_prices(prices: StatedPrices, monitor: monitoring.Monitor, unit: str | None) -> bool:
    """Whether prices that are given again are those of the state; the unit need not be said again."""
    costs = prices.for_classes_or_ones(tuple(map(str, monitor.labels)))
    is_same_unit = not costs.currency or costs.currency == unit
    if costs.costs is None or monitor.costs is None:
        return costs.costs is None and monitor.costs is None and is_same_unit
    base_costs = np.divide(costs.costs, monitor.prior.mean)
    return np.array_equal(base_costs, monitor.costs) and is_same_unit


def _check_as_begun(state: str, option: str, typed: object, is_same: bool, before: object) -> None:
    """That a state was begun with what is asked for again."""
    if is_same:
        return
    begun = f"begun with {before}" if before else "begun without it"
    is_now = f"--{option} is {'given' if before is False else typed}"
    problem = f"{is_now}, but {state} was {begun}"
    fix = "leave the option out, or begin a new state"
    raise InputError(problem, argument=option, place="", value=typed, fix=fix)


@dataclass(frozen=True)
class NewForecasts:
    """What the files of one run hold, checked, with classes in the monitor's order."""

    names: list[str]  # of the models, the champion first
    batches: list[files.Batch]  # classes that no file has a column for come last, with probability 0
    classes: tuple[str, ...]  # those that files have
    times: list[str] | None
    remarks: tuple[Remark, ...]

    def add_to(self, monitor: monitoring.Monitor) -> monitoring.UpdateCounts:
        """Let a monitor take the forecasts in."""
        k = len(self.classes)
        truth, outside = _outside(self.batches[0].truth, self.batches[0].classes, k)
        forecasts = []
        for batch in self.batches:
            forecast = batch.forecast()
            values = forecast.values[:, :k]
            forecasts.append(replace(forecast, values=values, labels=self.classes, truth=truth).check())
        challenger = forecasts[1] if len(forecasts) > 1 else None
        ids = self.batches[0].ids
        return monitor.take_forecasts(forecasts[0], challenger, ids=ids, time=self.times, outside=outside)


def _read_forecasts(
    options: MonitorOptions, setup: Setup, monitor: monitoring.Monitor | None, prices: StatedPrices
) -> NewForecasts:
    """What the files hold."""
    column = setup.dependent or setup.time
    layout = replace(setup.rows.layout(), group=column, unlabelled=True)
    if monitor is None:
        opened = files.open_models(files.read_models_argument(options.files, layout), prices.class_names)
        classes = None
    else:
        opened, classes = _open_with_new_classes(options.files, layout, monitor, prices)
    read = files.read_aligned_models(opened)
    order = _champion_first(read.names, options.state, setup)
    _check_alike(opened, order)
    champion = read.batches[order[0]]
    if champion.ids is None:
        fix = "say which column names each case (--id), so that none is counted twice"
        raise InputError("has no ids", argument="ids", place=champion.path, fix=fix)
    if classes is None:
        classes = champion.classes
    outside = tuple(name for name in champion.classes if name not in classes)
    times = None
    if champion.groups is not None:  # as sentences call them: week 9, where the column "week" holds 9
        groups = [str(time) for time in champion.groups.tolist()]
        times = [f"{column} {time}" if time.isdigit() else time for time in groups]
    return NewForecasts(
        [read.names[index] for index in order],
        [read.batches[index].with_classes((*classes, *outside)) for index in order],
        classes,
        times,
        tuple(remark for remark in read.remarks if not outside or remark.what != CLASSES_TAKEN_AS_0),
    )


def _open_with_new_classes(
    paths: Sequence[str], layout: files.Layout, monitor: monitoring.Monitor, prices: StatedPrices
) -> tuple[list[files.Predictions], tuple[str, ...]]:
    """The models, also where labels are of classes that they lack, and their classes: the known ones come first.

    A class is new if it has a column in all files, and a price or a case: in these files, or seen before.
    """
    known = tuple(map(str, monitor.labels))

    def opened_with(classes: Sequence[str], missing_class_zero: bool = True) -> list[files.Predictions]:
        changed = replace(layout, classes=tuple(classes), missing_class_zero=missing_class_zero)
        return files.open_models(files.read_models_argument(paths, changed), prices.class_names)

    opened = opened_with(known)
    spoken_of = [*opened[0].classes, *monitor.unknown, *(prices.class_names or ())]
    added = _with_columns(_unknown_of(spoken_of, known), opened_with, known)
    if added:
        opened = opened_with([*known, *added])
    lacks_a_class = any("" in [model.columns.column_of[name] for name in known] for model in opened)
    if lacks_a_class and not layout.missing_class_zero:
        opened_with(known, missing_class_zero=False)  # which says what is missing, and what to do
    return opened, (*known, *added)


def _unknown_of(names: Sequence[str], known: Sequence[str]) -> list[str]:
    """Those of the names, each once however it is spelled, that are none of the known ones."""
    unknown: list[str] = []
    for name in names:
        if not matched([name], [*known, *unknown]):
            unknown.append(name)
    return unknown


def _with_columns(
    names: Sequence[str], opened_with: Callable[[Sequence[str]], list[files.Predictions]], known: Sequence[str]
) -> tuple[str, ...]:
    """Those of the names that are columns of forecasts in all files."""
    if not names:
        return ()
    opened = opened_with([*known, *names])
    return tuple(name for name in names if all(model.columns.column_of[name] for model in opened))


def _check_alike(opened: Sequence[files.Predictions], order: Sequence[int]) -> None:
    """That both models give probabilities, or both logits, and no file lists options in order only."""
    if len({opened[index].logits for index in order}) > 1:
        problem = "one model forecasts logits and the other probabilities"
        raise InputError(problem, argument="logits", place="", fix="give both alike")
    for model in opened:
        if model.order_only:
            fix = "watching needs probabilities"
            raise files.FileError("lists options in order only", path=model.path, fix=fix)


def _begin_monitor(
    options: MonitorOptions, setup: Setup, prices: StatedPrices, new: NewForecasts
) -> tuple[monitoring.Monitor, Setup, tuple[Remark, ...]]:
    """A new monitor of the models in these files, its setup, and prices that were not used."""
    from pandora_regret.monitor.monitor import USUAL_LEVEL

    classes = new.batches[0].classes
    costs = prices.for_classes_or_ones(classes)
    monitor = monitoring.Monitor(
        prior=prices.prior,
        costs=costs.costs,
        workup=prices.workup,
        labels=classes,
        level=USUAL_LEVEL if options.level is None else options.level,
        two_sided=bool(options.two_sided),
        wait=options.wait,
        miss=options.miss or 0.0,
        dependent=setup.dependent is not None,
    )
    challenger = new.names[1] if len(new.names) > 1 else None
    setup = replace(setup, unit=costs.currency, champion=new.names[0], challenger=challenger)
    return monitor, setup, costs.remarks


def _champion_first(names: Sequence[str], state: str, setup: Setup) -> list[int]:
    """Which of the models is the champion, and which the challenger; of two the first is the champion."""
    roles = [setup.champion, setup.challenger]
    if len(names) == 1 and setup.challenger is None:
        return [0]
    free = iter(name for name in names if name not in roles)
    pair = [role or next(free, None) for role in roles]
    is_clear = len(names) == 2 or None not in roles
    if not is_clear or pair[0] == pair[1] or not {*pair} <= {*names}:
        compared = " with ".join(role or "another model" for role in roles)
        models = f"one model, {names[0]}" if len(names) == 1 else ", ".join(names)
        fix = "give the forecasts of both with NAME=FILE, and say which two with --champion and --challenger"
        problem = f"compares {compared}, but the files hold {models}"
        raise InputError(problem, argument="files", place=state, value=tuple(names), fix=fix)
    return [names.index(str(name)) for name in pair]

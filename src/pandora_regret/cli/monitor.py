"""`pandora monitor`: whether a model in production still costs what it promises.

The JSON (schema "pandora-monitored/1")::

    schema, library, sentences [...], summary {increments, by_period, first, last {name, cases, paid, promised},
    overpaid {value, low, high}, evidence, alarm {period, above, began}, change, saved, predicted, predicted_in,
    drift, waiting, late}, taken {counted, waiting, skipped, unknown, differing},
    done [{what, count, sentence}]
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.atomic import HAS_LOCKS, write_atomically
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
from pandora_regret.text import counted

if TYPE_CHECKING:
    from pandora_regret.files import Batch, Layout
    from pandora_regret.inputs import Done
    from pandora_regret.monitor import Monitor, Taken

ALARM = 3
NOT_HERE = {"weight": "every case counts once", "group": "--period says what belongs together"} | {
    "cost_prefix": "prices are the same for all cases",
    "votes_prefix": "a case has one label, which may come later",
    "workup": "it watches the cost of a search",
}
SETTINGS = ("level", "run_length", "lag")  # of the monitor


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
    html: Path | None = option(
        "--html", type=PATH, metavar="FILE", help="Write a page with the whole history; it is replaced."
    )


@click.command(cls=Command)
@click.argument("files", nargs=-1, type=INPUT_PATH)
@takes(WatchOptions, CostOptions, LayoutOptions)
@JSON
def monitor(
    watch: WatchOptions, costs: CostOptions, layout: LayoutOptions, *, files: Sequence[str], as_json: bool
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
    from pandora_regret.monitor.summary import sentences

    if not files and watch.labels is None:
        raise click.UsageError("there is nothing to read: give files of forecasts, or --labels.")
    _refuse(asdict(layout) | asdict(costs))
    state = Path(watch.state)
    for path in (state, watch.html):
        check_output(path, force=True)
    with _locked(state):
        run = _Run(watch, costs, layout)
        taken = run.read(files)
        run.save(state)
    watched, summary = run.watched(), run.watched().summary()
    lines = sentences(summary, run.kept.unit, run.kept.challenger)
    if watch.html is not None:
        from pandora_regret.report.monitor import write_monitor_page

        write_monitor_page(watched, watch.html, unit=run.kept.unit, challenger=run.kept.challenger)
    if as_json:
        about = {"sentences": lines, "summary": to_plain(summary), "taken": to_plain(taken)}
        print_json(about | {"done": to_plain(run.done)}, "pandora-monitored/1")
    else:
        for line in lines:
            echo(line)
        if run.done:
            echo(f"Done: {'; '.join(each.sentence for each in run.done)}.")
    alarmed = summary.alarmed or (watch.drift_alarm and summary.drift is not None)
    click.get_current_context().exit(ALARM if alarmed else 0)


def _refuse(options: dict[str, Any]) -> None:
    """Options of other commands that mean nothing here."""
    for name, reason in NOT_HERE.items():
        if options[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with monitor: {reason}.")


@contextmanager
def _locked(state: Path) -> Iterator[None]:
    """Two runs on the same state come one after the other, so that neither loses what the other saw."""
    if not HAS_LOCKS:
        yield
        return
    import fcntl

    handle = os.open(os.path.realpath(state.parent), os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@dataclass(frozen=True)
class _Kept:
    """What the command keeps in the state beside the monitor."""

    unit: str | None = None
    champion: str | None = None
    challenger: str | None = None
    period: str | None = None


class _Run:
    """One run: the state as it was, what the files add, and what became of their rows."""

    def __init__(self, options: WatchOptions, costs: CostOptions, layout: LayoutOptions) -> None:
        self.options, self.costs, self.layout = options, costs, layout
        self.kept = _Kept(None, options.champion, options.challenger, options.period)
        self.monitor: Monitor | None = None
        self.done: tuple[Done, ...] = ()
        if Path(options.state).exists():
            self._restore(options.state)

    def watched(self) -> Monitor:
        """The monitor, which the first files begin."""
        from pandora_regret.inputs import InputError

        if self.monitor is None:
            raise InputError(f"{self.options.state} does not exist yet: give files of forecasts first.")
        return self.monitor

    @property
    def _labels(self) -> list[str]:
        return [] if self.monitor is None else [str(label) for label in self.monitor.labels or ()]

    def _restore(self, path: str) -> None:
        """The state as it was; a setting that is given again must be the same."""
        from pandora_regret.inputs import InputError
        from pandora_regret.monitor import Monitor

        state = _read_state(path)
        try:
            self.monitor = Monitor.from_state(state, prior=self.costs.read_prior())
        except InputError as error:
            raise error.within(path) from None
        command = state.get("command")
        command = command if isinstance(command, dict) else {}
        self.kept = _Kept(**{each.name: command.get(each.name) for each in fields(_Kept)})
        settings = asdict(self.kept) | {name: getattr(self.monitor, name) for name in SETTINGS}
        for name in ("champion", "challenger", "period", *SETTINGS):
            given, before = getattr(self.options, name), settings[name]
            if given is not None and given != before:
                begun = f"begun with {before}" if before is not None else "begun without it"
                fix = "leave the option out, or begin a new state"
                raise InputError(f"--{name.replace('_', '-')} is {given}, but {path} was {begun}: {fix}.")
        if self.costs.costs is not None:
            self._check_prices(self.monitor)

    def _check_prices(self, monitor: Monitor) -> None:
        import numpy as np

        from pandora_regret.inputs import InputError

        prices = self.costs.read_prices(self._labels)
        base = None if prices is None else prices.costs / monitor.prior.mean
        if base is None or monitor.costs is None or not np.array_equal(base, monitor.costs):
            fix = "leave --costs out, or begin a new state: costs at different prices cannot be compared"
            raise InputError(f"--costs gives other prices than {self.options.state} was begun with: {fix}.")

    def save(self, path: Path) -> None:
        """The state, whole or not at all."""
        state = self.watched().state() | {"command": asdict(self.kept)}
        text = json.dumps(state, allow_nan=False, separators=(",", ":"))
        write_atomically(path, lambda file: file.write(text.encode()))

    def read(self, files: Sequence[str]) -> Taken:
        """Take in forecasts and labels; the newest period stays open until a later one begins, or `--close`."""
        from pandora_regret.monitor import Taken

        late = self._late()
        new = self._read_forecasts(files) if files else None
        monitor, taken = self.watched(), Taken()
        with monitor.together():
            if new is not None:
                taken += monitor.update(**new)
            if self.options.labels is not None:
                taken += self._read_labels(self.options.labels)
        if self.options.close:
            monitor.close()
        self.done += tuple(_left_out(taken, self._late() - late))
        return taken

    def _late(self) -> int:
        return 0 if self.monitor is None or self.monitor.paid is None else self.monitor.paid.periods.late

    def _read_forecasts(self, files: Sequence[str]) -> dict[str, Any]:
        """What `Monitor.update` takes; the monitor begins here if there is none."""
        from pandora_regret.files import FileError, align, open_models, read_models, read_models_argument
        from pandora_regret.inputs import InputError

        opened = open_models(read_models_argument(files, self._layout()), self.costs.priced())
        names = [one.name for one in opened]
        self.done += tuple(dict.fromkeys(each for one in opened for each in one.done))
        order = _champion_first(names, self.kept, self.options.state)
        if len({opened[index].logits for index in order}) > 1:
            raise InputError("one model forecasts logits and the other probabilities: give both alike.")
        if (ordered := next((one for one in opened if one.order_only), None)) is not None:
            raise FileError("lists options in order only", path=ordered.path, fix="watching needs probabilities")
        aligned = align(list(read_models(opened)), names)
        first, *others = (aligned[index] for index in order)
        if first.ids is None:
            fix = "say which column names each case (--id), so that none is counted twice"
            raise InputError(f"{first.path} has no ids: {fix}.")
        if self.monitor is None:
            self._begin(first, [names[index] for index in order])
        labels = self.watched().labels
        return {
            "y_true": [None if k < 0 else labels[k] for k in first.truth] if labels else None,
            "y_proba": first.values,
            "challenger": others[0].values if others else None,
            "ids": first.ids,
            "period": first.groups,
            "logits": opened[order[0]].logits,
        }

    def _layout(self) -> Layout:
        """As the options say; what the state knows need not be told. Where classes are, labels may be missing."""
        layout = replace(self.layout.read(), group=self.kept.period)
        classes = layout.classes or tuple(self._labels) or None
        unlabelled = any(each is not None for each in (classes, layout.proba_prefix, self.costs.priced()))
        return replace(layout, classes=classes, unlabelled=unlabelled)

    def _begin(self, batch: Batch, names: Sequence[str]) -> None:
        from pandora_regret.compare.sample import are_stated, in_tests
        from pandora_regret.monitor import Monitor

        prices, prior = self.costs.read_prices(batch.classes), self.costs.read_prior()
        alike = None if are_stated(prior, None, None) else in_tests(len(batch.classes))
        given = {name: getattr(self.options, name) for name in SETTINGS}
        self.monitor = Monitor(
            prior=prior,
            typical_costs=alike if prices is None else prices.costs,
            labels=batch.classes,
            **{name: value for name, value in given.items() if value is not None},
        )
        self.done += () if prices is None else prices.done
        unit, challenger = None if prices is None else prices.currency, names[1] if len(names) > 1 else None
        self.kept = replace(self.kept, unit=unit, champion=names[0], challenger=challenger)

    def _read_labels(self, path: str) -> Taken:
        """A table of ids and labels, and perhaps of periods."""
        from pandora_regret.files.cases import read_label_table

        monitor, layout = self.watched(), replace(self.layout.read(), group=self.kept.period)
        assert monitor.labels is not None
        ids, labels, periods = read_label_table(path, self._labels, layout)
        return monitor.label(ids, [monitor.labels[k] for k in labels], period=periods)


def _champion_first(names: Sequence[str], kept: _Kept, state: str) -> list[int]:
    """Which of the models is the champion, and which the challenger; of two the first is the champion."""
    from pandora_regret.inputs import InputError

    roles, models = [kept.champion, kept.challenger], ", ".join(names)
    if len(set(names)) < len(names):
        raise InputError(f"two models have the same name ({models}): tell them apart with NAME=FILE.")
    if len(names) == 1:
        if kept.challenger is not None:
            fix = "give the challenger's forecasts too, or begin a new state"
            raise InputError(f"the files hold one model, but {state} compares with {kept.challenger}: {fix}.")
        return [0]
    if any(role is not None and role not in names for role in roles):
        compared = " with ".join(role or "another model" for role in roles)
        raise InputError(f"{state} compares {compared}, but the models are {models}: name them with NAME=FILE.")
    if len(names) > 2 and None in roles:
        fix = "say which two with --champion and --challenger"
        raise InputError(f"the files hold {len(names)} models, {models}: {fix}.")
    if roles[0] == roles[1] is not None:
        raise InputError(f"--champion and --challenger are both {roles[0]}: name two models.")
    others = iter(name for name in names if name not in roles)
    return [names.index(role or next(others)) for role in roles]


def _read_state(path: str) -> dict[str, Any]:
    from pandora_regret.inputs import InputError

    try:
        state = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise InputError(f"{path} is not the state of a monitor: name the file that --state wrote.")
    return state


def _left_out(taken: Taken, late: int) -> Iterator[Done]:
    """Rows and labels that were left out."""
    from pandora_regret.inputs import Done

    for what, number, thing, became in (
        ("rows of closed periods", late, "row", "of closed periods left out"),
        ("rows seen before", taken.skipped, "row", "seen before skipped"),
        ("labels that changed", taken.differing, "label", "not as counted before: left as counted"),
        ("labels without forecasts", taken.unknown, "label", "of unknown ids left out"),
    ):
        if number:
            yield Done(what, number, f"{counted(number, thing)} {became}")

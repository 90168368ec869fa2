"""One run of `pandora monitor`: the state as it was, what the files add, the state as it is."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pandora_regret.atomic import HAS_LOCKS, write_atomically
from pandora_regret.cli.options import CostOptions, LayoutOptions
from pandora_regret.compare.prices import are_stated, in_tests
from pandora_regret.inputs import Done, InputError
from pandora_regret.monitor import Monitor, MonitorSummary, Taken
from pandora_regret.monitor.words import sentences
from pandora_regret.text import counted

if TYPE_CHECKING:
    from pandora_regret.cli.monitor import WatchOptions
    from pandora_regret.files import Batch, Layout

KEPT = ("unit", "champion", "challenger", "period")  # what the command keeps in the state beside the monitor


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Two runs on the same state come one after the other, so that neither loses what the other saw."""
    handle = os.open(os.path.realpath(state.parent), os.O_RDONLY) if HAS_LOCKS else -1
    try:
        if handle >= 0:
            import fcntl

            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        if handle >= 0:
            os.close(handle)


class Watch:
    """A monitor, what the command knows beside it, and what became of the rows of this run."""

    def __init__(self, options: WatchOptions, costs: CostOptions, layout: LayoutOptions) -> None:
        self.options, self.costs, self.layout = options, costs, layout
        self.monitor: Monitor | None = None
        self.unit: str | None = None
        self.champion, self.challenger, self.period = options.champion, options.challenger, options.period
        self.done: tuple[Done, ...] = ()
        self.logits = False

    @classmethod
    def open(cls, options: WatchOptions, costs: CostOptions, layout: LayoutOptions) -> Watch:
        """With the state as it was, if there is one."""
        watch = cls(options, costs, layout)
        if Path(options.state).exists():
            watch._restore(_read_state(options.state))
        return watch

    def _restore(self, state: dict[str, Any]) -> None:
        try:
            prior = None if self.costs.prior is None else self.costs.read_prior()
            self.monitor = Monitor.from_state(state, prior=prior)
        except InputError as error:
            raise error.within(self.options.state) from None
        kept = state.get("command")
        kept = kept if isinstance(kept, dict) else {}
        self.unit = kept.get("unit")
        for name in ("champion", "challenger", "period"):
            setattr(self, name, self._agreed(name, getattr(self, name), kept.get(name)))
        for name in ("level", "run_length", "lag"):
            self._agreed(name.replace("_", "-"), getattr(self.options, name), getattr(self.monitor, name))
        if self.costs.costs is not None:
            self._check_prices()

    def _agreed(self, name: str, given: Any, kept: Any) -> Any:
        """A setting is what the state says; one that is given again must be the same."""
        if given is not None and given != kept:
            begun = f"begun with {kept}" if kept is not None else "begun without it"
            fix = "leave the option out, or begin a new state"
            raise InputError(f"--{name} is {given}, but {self.options.state} was {begun}: {fix}.")
        return kept

    def _check_prices(self) -> None:
        import numpy as np

        assert self.monitor is not None
        assert self.monitor.labels is not None
        prices = self.costs.read_prices([str(label) for label in self.monitor.labels])
        base = None if prices is None else prices.costs / self.monitor.prior.mean
        if base is None or self.monitor.costs is None or not np.array_equal(base, self.monitor.costs):
            fix = "leave --costs out, or begin a new state: costs at different prices cannot be compared"
            raise InputError(f"--costs gives other prices than {self.options.state} was begun with: {fix}.")

    def read(self, files: Sequence[str]) -> Taken:
        """Take in forecasts and labels; the newest period stays open until a later one begins, or `--close`."""
        late = self._late()
        new = self._read_forecasts(files) if files else None
        monitor, taken = self._monitor(), Taken()
        with monitor.together():
            if new is not None:
                taken += monitor.update(**new)
            if self.options.labels is not None:
                taken += self._read_labels(self.options.labels)
        if self.options.close:
            monitor.close()
        self.done = (*self.done, *_done(taken, self._late() - late))
        return taken

    def _late(self) -> int:
        return 0 if self.monitor is None or self.monitor.paid is None else self.monitor.paid.periods.late

    def save(self) -> None:
        """The state, whole or not at all."""
        state = self._monitor().state() | {"command": {name: getattr(self, name) for name in KEPT}}
        text = json.dumps(state, allow_nan=False, separators=(",", ":"))
        write_atomically(self.options.state, lambda file: file.write(text.encode()))

    def summary(self) -> MonitorSummary:
        """Where the monitor stands."""
        return self._monitor().summary()

    def write_page(self, path: Path) -> None:
        """The whole history, for people."""
        from pandora_regret.report.monitor import write_monitor_page

        write_monitor_page(self._monitor(), path, unit=self.unit, challenger=self.challenger)

    def sentences(self) -> list[str]:
        """The same in words."""
        return sentences(self.summary(), self.unit, self.challenger)

    def _monitor(self) -> Monitor:
        if self.monitor is None:
            raise InputError(f"{self.options.state} does not exist yet: give files of forecasts first.")
        return self.monitor

    def _read_forecasts(self, files: Sequence[str]) -> dict[str, Any]:
        """What `Monitor.update` takes; the monitor begins here if there is none."""
        batches, names = self._batches(files)
        first = batches[0]
        if first.ids is None:
            fix = "say which column names each case (--id), so that none is counted twice"
            raise InputError(f"{first.path} has no ids: {fix}.")
        if self.monitor is None:
            self._begin(first, names)
        assert self.monitor is not None
        truth = [None if k < 0 else self.monitor.labels[k] for k in first.truth] if self.monitor.labels else None
        tables = [batch.values for batch in batches]
        return {"y_true": truth, "y_proba": tables[0], "challenger": tables[1] if len(tables) > 1 else None} | {
            "ids": first.ids,
            "period": first.groups,
            "logits": self.logits,
        }

    def _batches(self, files: Sequence[str]) -> tuple[list[Batch], list[str]]:
        """The champion's rows, and those of the challenger, where there is one."""
        from pandora_regret.files import FileError, align, open_models, read_models, read_models_argument

        opened = open_models(read_models_argument(files, self._layout()), self.costs.priced())
        names = [one.name for one in opened]
        self.done += tuple(dict.fromkeys(each for one in opened for each in one.done))
        order = self._order(names)
        self.logits = opened[order[0]].logits
        if any(opened[index].logits != self.logits for index in order):
            raise InputError("one model forecasts logits and the other probabilities: give both alike.")
        order_only = next((one for one in opened if one.order_only), None)
        if order_only is not None:
            raise FileError(
                "lists options in order only", path=order_only.path, fix="watching needs probabilities"
            )
        batches = align(list(read_models(opened)), names)
        return [batches[index] for index in order], [names[index] for index in order]

    def _layout(self) -> Layout:
        """As the options say; what the state knows need not be told. Where classes are, labels may be missing."""
        layout = replace(self.layout.read(), group=self.period)
        if self.monitor is not None and self.monitor.labels is not None and layout.classes is None:
            layout = replace(layout, classes=tuple(str(label) for label in self.monitor.labels))
        known = (layout.classes, layout.proba_prefix, self.costs.priced())
        return replace(layout, unlabelled=any(each is not None for each in known))

    def _order(self, names: Sequence[str]) -> list[int]:
        """Which model is the champion, and which the challenger."""
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(f"two models are called {twice}: tell them apart with NAME=FILE.")
        if self.monitor is not None and self.challenger is not None:
            return self._kept_order(names)
        if len(names) == 1:
            if self.options.challenger is not None:
                raise InputError(f"--challenger is {self.challenger}, but the files hold one model, {names[0]}.")
            return [0]
        return self._asked_order(names)

    def _kept_order(self, names: Sequence[str]) -> list[int]:
        """As in the state, which compares two models."""
        pair = [str(self.champion), str(self.challenger)]
        if len(names) == 1:
            fix = "give the challenger's forecasts too, or begin a new state"
            raise InputError(f"{self.options.state} compares with {self.challenger}: {fix}.")
        if not set(pair) <= set(names):
            compared, fix = " with ".join(pair), "name the models as before, with NAME=FILE"
            problem = f"{self.options.state} compares {compared}, but the models are {', '.join(names)}"
            raise InputError(f"{problem}: {fix}.")
        return [names.index(name) for name in pair]

    def _asked_order(self, names: Sequence[str]) -> list[int]:
        """As the options say; of two models the first is the champion."""
        roles = [self.options.champion, self.options.challenger]
        for role, option in zip(roles, ("champion", "challenger"), strict=True):
            if role is not None and role not in names:
                raise InputError(f"--{option} is {role}, but the models are {', '.join(names)}.")
        if len(names) > 2 and None in roles:
            fix = "say which two with --champion and --challenger"
            raise InputError(f"the files hold {len(names)} models, {', '.join(names)}: {fix}.")
        first = names.index(roles[0]) if roles[0] is not None else None
        second = names.index(roles[1]) if roles[1] is not None else None
        first = first if first is not None else next(index for index in range(2) if index != second)
        second = second if second is not None else next(index for index in range(2) if index != first)
        if first == second:
            raise InputError(f"--champion and --challenger are both {names[first]}: name two models.")
        return [first, second]

    def _begin(self, batch: Batch, names: Sequence[str]) -> None:
        prices, prior = self.costs.read_prices(batch.classes), self.costs.read_prior()
        alike = None if are_stated(prior, None, None) else in_tests(len(batch.classes))
        self.unit = None if prices is None else prices.currency
        self.done += () if prices is None else prices.done
        options = {name: getattr(self.options, name) for name in ("level", "run_length", "lag")}
        self.monitor = Monitor(
            prior=prior,
            typical_costs=alike if prices is None else prices.costs,
            labels=batch.classes,
            **{name: value for name, value in options.items() if value is not None},
        )
        self.champion = names[0]
        self.challenger = names[1] if len(names) > 1 else None

    def _read_labels(self, path: str) -> Taken:
        """A table of ids and labels, and perhaps of periods."""
        from pandora_regret.files.cases import read_label_table

        monitor = self._monitor()
        assert monitor.labels is not None
        layout = replace(self.layout.read(), group=self.period)
        ids, labels, periods = read_label_table(path, [str(label) for label in monitor.labels], layout)
        return monitor.label(ids, [monitor.labels[k] for k in labels], period=periods)


def _read_state(path: str) -> dict[str, Any]:
    try:
        state = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise InputError(f"{path} is not the state of a monitor: name the file that --state wrote.")
    return state


def _done(taken: Taken, late: int) -> list[Done]:
    """Rows that were left out."""
    done = []
    if late:
        rows = counted(late, "row")
        done.append(Done("rows of closed periods", late, f"{rows} of closed periods left out"))
    if taken.skipped:
        rows = counted(taken.skipped, "row")
        done.append(Done("rows seen before", taken.skipped, f"{rows} seen before skipped"))
    if taken.differing:
        labels = counted(taken.differing, "label")
        done.append(
            Done("labels that changed", taken.differing, f"{labels} not as counted before: left as counted")
        )
    if taken.unknown:
        labels = counted(taken.unknown, "label")
        done.append(Done("labels without forecasts", taken.unknown, f"{labels} of unknown ids left out"))
    return done

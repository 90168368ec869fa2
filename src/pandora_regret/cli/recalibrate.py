"""`pandora recalibrate`: what recalibrating a model saves, and its forecasts recalibrated.

The JSON (schema "pandora-recalibration/1"; null stands for what cannot be told)::

    schema, library, files [...], rows, method, objective, level, unit, judged_on ("out of fold", "new cases"
    or null), cost {value, low, high}, recalibrated {...}, saved {...}, worth_it (true, false or null),
    sentences [...], map {...} (as in its file), written {forecasts, rows, map}, done [{what, count, sentence}]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pandora_regret.cli.options import (
    FILE_ARGUMENTS,
    FORCE,
    INTERVALS,
    JSON,
    Command,
    CostOptions,
    LayoutOptions,
    check_output,
    option,
    read_level,
    takes,
)
from pandora_regret.cli.output import echo, print_done, print_json
from pandora_regret.records import to_plain

if TYPE_CHECKING:
    from pandora_regret.calibrate import Recalibration, RecalibrationMap
    from pandora_regret.files import Batch, Predictions
    from pandora_regret.inputs import Done, FloatArray, Forecast
    from pandora_regret.priors import Prior

HARDLY_ANY = 0.01  # of what there was of a class
METHODS = ("temperature", "vector", "matrix", "prior")


@dataclass(frozen=True)
class MapOptions:
    """How to recalibrate, and what to write."""

    apply: str | None = option("--apply", metavar="FILE", help="Forecasts to recalibrate; they need no labels.")
    out: str | None = option("--out", metavar="FILE", help="Where these are written, recalibrated.")
    map: str | None = option(
        "--map", metavar="FILE", help="Where the map is written (JSON).  [default: new.map.json for --out new.csv]"
    )
    method: str = option(
        "--method",
        type=click.Choice(METHODS),
        default=METHODS[0],
        show_default=True,
        help="One factor; one and a shift per class; a matrix; or, without labels, new class frequencies.",
    )
    objective: str | None = option(
        "--objective",
        type=click.Choice(["log_loss", "search"]),
        help="What the map is fitted for: log loss, or what the search costs (temperature).  [default: log_loss]",
    )
    folds: int = option(
        "--folds", type=click.IntRange(2), default=10, show_default=True, help="To judge the map by."
    )
    level: float = option(
        "--level", type=float, default=0.95, show_default=True, callback=read_level, section=INTERVALS
    )

    def __post_init__(self) -> None:
        if (self.apply is None) != (self.out is None):
            raise click.UsageError(
                "--apply and --out belong together: what to recalibrate, and where to write it."
            )
        if self.method == "prior" and self.apply is None:
            raise click.UsageError(
                "--method prior finds the class frequencies of new cases: add --apply and --out."
            )
        if self.method == "prior" and self.objective is not None:
            raise click.UsageError("--objective says what a map is fitted for; --method prior fits none.")
        if self.method != "temperature" and self.objective == "search":
            raise click.UsageError("--objective search is for --method temperature: others minimise log loss.")

    @property
    def map_path(self) -> Path | None:
        """Where the map is written."""
        if self.map is not None or self.out is None:
            return None if self.map is None else Path(self.map)
        out = Path(self.out)
        return out.with_name(f"{out.name.split('.')[0]}.map.json")


class LabelledFile(NamedTuple):
    """The labelled forecasts, and what tests cost."""

    opened: Predictions
    batch: Batch
    forecast: Forecast
    prior: Prior
    unit: str | None
    done: tuple[Done, ...]


class Outcome(NamedTuple):
    """The map, and what it saves, where that can be told."""

    map: RecalibrationMap
    judged: Recalibration | None
    judged_on: str | None  # "out of fold" or "new cases"
    written: int | None = None  # rows


@click.command(cls=Command)
@FILE_ARGUMENTS
@takes(MapOptions, CostOptions, LayoutOptions)
@FORCE
@JSON
def recalibrate(
    how: MapOptions, costs: CostOptions, layout: LayoutOptions, *, files: Sequence[str], force: bool, as_json: bool
) -> None:
    r"""What recalibrating a model saves, and its forecasts recalibrated.

    FILES hold labelled forecasts of one model; several are parts of one table. A map is fitted to all of them.
    What it saves is found out of fold: each row by a map that other rows fitted. The map is written as JSON
    (pandora_regret.calibrate.load_map reads it) and, with --apply, forecasts are written again with it: the same
    rows and columns, in the format that the name of --out says.

    \b
    Examples:
      pandora recalibrate old.csv --costs prices.csv
      pandora recalibrate old.csv --apply new.csv --out new_recalibrated.csv --costs prices.csv
      pandora recalibrate old.csv --method prior --apply new.csv --out new_recalibrated.csv
    """
    from pandora_regret.files.writing import check_other_file, writer_of

    out = None if how.out is None else Path(how.out)
    for path in filter(None, (out, how.map_path)):
        check_other_file(path, [*files, *filter(None, (how.apply,))])
        check_output(path, force)
    if out is not None:
        writer_of(out)
    labelled = _read(files, costs, layout)
    new = None if how.apply is None else _open_new(how.apply, labelled, layout)
    outcome = _fitted(labelled, how) if new is None or how.method != "prior" else _shifted(labelled, new, how)
    done = labelled.done
    if new is not None:
        outcome = outcome._replace(written=_write(new, how, outcome.map))
        done += tuple(each for source in new.sources for each in source.done)
    if how.map_path is not None:
        outcome.map.save(how.map_path)
    lines, done = _sentences(labelled, how, outcome), tuple(dict.fromkeys(done))
    if as_json:
        about = {"files": list(files), **_as_dict(labelled, how, outcome), "sentences": lines}
        print_json(about | {"done": to_plain(done)}, "pandora-recalibration/1")
        return
    for line in lines:
        echo(line)
    print_done(done)


def _read(files: Sequence[str], costs: CostOptions, layout: LayoutOptions) -> LabelledFile:
    from pandora_regret.compare.sample import are_stated, in_tests
    from pandora_regret.files import ModelFiles, open_models, read_all
    from pandora_regret.scores import priced

    if costs.workup is not None:
        raise click.UsageError("--workup: forecasts are recalibrated for a search; say --costs.")
    opened = _only_model(open_models([ModelFiles(tuple(files), layout.read())], costs.priced()))
    batch, prior = read_all(opened), costs.read_prior()
    prices = costs.read_prices(opened.classes, batch.costs)
    stated = are_stated(prior, None, prices)
    typical = prices.costs if prices is not None else None if stated else in_tests(len(opened.classes))
    known_prior, forecast = priced(batch.forecast(opened.logits).check(), prior, None, typical)
    unit = prices.currency if prices is not None else "" if stated else None
    done = (*opened.done, *batch.rescaled.done(opened.name), *(() if prices is None else prices.done))
    return LabelledFile(opened, batch, forecast, known_prior, unit, done)


def _only_model(opened: Sequence[Predictions]) -> Predictions:
    from pandora_regret.files.json_lines import ListedRows
    from pandora_regret.inputs import InputError

    if len(opened) > 1:
        names = ", ".join(one.name for one in opened[:3])
        problem = f"{opened[0].path} holds {len(opened)} models ({names}, ...)"
        raise InputError(problem, fix="recalibrate one at a time: keep its rows only")
    if any(isinstance(source, ListedRows) for source in opened[0].sources):
        raise InputError(f"{opened[0].path} holds lists of candidates", fix="recalibrating needs probabilities")
    return opened[0]


def _fitted(labelled: LabelledFile, how: MapOptions) -> Outcome:
    """A map of log-probabilities, judged out of fold."""
    from pandora_regret.calibrate.recalibration import recalibrate_forecast
    from pandora_regret.calibrate.rows import read_folds, read_groups

    n = len(labelled.batch)
    groups = read_groups(labelled.batch.groups, n)
    settings = (how.method, how.objective or "log_loss", read_folds(how.folds, n, groups), 0, how.level)
    judged = recalibrate_forecast(labelled.forecast, labelled.prior, *settings, labelled.unit, groups)
    return Outcome(judged.map, judged, "out of fold")


def _shifted(labelled: LabelledFile, opened: Predictions, how: MapOptions) -> Outcome:
    """New class frequencies, judged on the new cases where all of these have labels."""
    from pandora_regret.calibrate.recalibration import judged, shifted_frequencies
    from pandora_regret.calibrate.rows import read_groups
    from pandora_regret.files import read_all

    batch, costs = read_all(opened), labelled.forecast.costs
    new = batch.forecast(opened.logits).check()
    map_ = shifted_frequencies(labelled.forecast, new)
    if batch.truth.min() < 0 or (costs is not None and costs.ndim == 2):
        return Outcome(map_, None, None)
    columns = [map_.classes.index(name) for name in batch.classes]
    priced = new.with_costs(None if costs is None else costs[columns])
    settings = (map_, how.level, labelled.unit, read_groups(batch.groups, len(batch)))
    return Outcome(map_, judged(priced, map_.apply(new)[:, columns], labelled.prior, *settings), "new cases")


def _open_new(path: str, labelled: LabelledFile, layout: LayoutOptions) -> Predictions:
    """The file to recalibrate: of the same classes; what it has besides forecasts is its own."""
    from pandora_regret.files import FileError, open_predictions

    forecasts = replace(
        layout.read(), unlabelled=True, votes_prefix=None, cost_prefix=None, group=None, weight=None
    )
    if forecasts.columns is None:
        forecasts = replace(forecasts, classes=labelled.opened.classes)
    try:
        return _only_model(open_predictions(path, forecasts))
    except FileError as error:
        if error.argument != "label":
            raise
        return _only_model(open_predictions(path, replace(forecasts, label=None)))


def _write(opened: Predictions, how: MapOptions, map_: RecalibrationMap) -> int:
    import numpy as np

    from pandora_regret.files.writing import write_again

    assert how.out is not None
    columns = [map_.classes.index(name) for name in opened.classes]

    def new_forecasts(batch: Batch) -> FloatArray:
        table = map_.apply(batch.forecast(opened.logits).check())[:, columns]
        with np.errstate(divide="ignore"):
            return np.log(table) if opened.logits else table

    return write_again(opened, how.out, new_forecasts)


def _sentences(labelled: LabelledFile, how: MapOptions, outcome: Outcome) -> list[str]:
    """Whether it is worth it, what the map does, and what was written."""
    lines = [_verdict(labelled, how, outcome), *_what_it_does(outcome.map)]
    if outcome.written is not None:
        lines.append(f"Wrote {outcome.written:,} cases to {how.out}.")
    if how.map_path is not None:
        lines.append(f"The map: {how.map_path}; in Python, pandora_regret.calibrate.load_map reads it.")
    return lines


def _verdict(labelled: LabelledFile, how: MapOptions, outcome: Outcome) -> str:
    from pandora_regret.text import money, money_between

    if outcome.judged is None:
        return "What it saves cannot be told: the new cases have no labels."
    worth_it, cost = outcome.judged.worth_it, outcome.judged.cost.value
    saved = outcome.judged.saved.turned if worth_it is False else outcome.judged.saved
    if saved.value is None or saved.low is None or cost is None:
        return "What it saves cannot be told from so few cases."
    cases = f"{len(labelled.batch):,} cases, each by a map that others fitted"
    if outcome.judged_on == "new cases":
        cases = f"the {outcome.written:,} new cases"
    per = "per case" if worth_it is None else ""
    span = money_between(saved.value, saved.low, saved.high, labelled.unit, per=per)
    if worth_it is None:
        return f"Not settled: recalibrating saves {span} on {cases}; that may be nothing."
    of = f"of {money(cost, labelled.unit)} per case ({100 * how.level:g} % interval; {cases})"
    return (
        f"Worth it: recalibrating saves {span} {of}." if worth_it else f"Leave it: it would cost {span} more {of}."
    )


def _what_it_does(map_: RecalibrationMap) -> list[str]:
    from math import exp

    if map_.temperature is not None:
        fault = "overconfident" if map_.temperature > 1 else "underconfident"
        return [f"The forecasts are {fault}: temperature {map_.temperature:.3g}."]
    if map_.method != "prior":
        return []
    most = sorted(zip(map_.classes, map_.shifts, strict=True), key=lambda pair: -abs(pair[1]))[:3]
    ratios = ((name, exp(shift)) for name, shift in most)
    changes = (
        f"{name} {x:.2g} times as common" if x >= HARDLY_ANY else f"hardly any {name}" for name, x in ratios
    )
    return [f"Class frequencies have changed: {', '.join(changes)}."]


def _as_dict(labelled: LabelledFile, how: MapOptions, outcome: Outcome) -> dict[str, Any]:
    judged, map_path = outcome.judged, None if how.map_path is None else str(how.map_path)
    facts = ("cost", "recalibrated", "saved", "worth_it")
    return {
        "rows": len(labelled.batch),
        "method": outcome.map.method,
        "objective": outcome.map.objective,
        "level": how.level,
        "unit": labelled.unit,
        "judged_on": outcome.judged_on,
        **{name: None if judged is None else to_plain(getattr(judged, name)) for name in facts},
        "map": to_plain(outcome.map),
        "written": {"forecasts": how.out, "map": map_path, "rows": outcome.written},
    }

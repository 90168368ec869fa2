"""`pandora recalibrate`: what recalibrating a model saves, and its forecasts recalibrated.

The JSON (schema "pandora-recalibration/2"; null stands for what cannot be told)::

    schema, library, files [...], rows, method, objective, level, unit, judged_on ("out of fold" or null),
    cost {value, low, high}, recalibrated {...}, saved {...}, worth_it (true, false or null),
    sentences [...], map {...} (as in its file), written {forecasts, rows, map}, remarks [{what, count, sentence}]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

import click
import numpy as np

from pandora_regret import calibrate, files
from pandora_regret.cli.headings import Option
from pandora_regret.cli.options import (
    FILE_ARGUMENTS,
    FORCE,
    JSON,
    LAYOUT,
    LEVEL_OPTION,
    SEARCH,
    ClassCosts,
    PriceOptions,
    RowOptions,
    check_output,
    command,
    not_both,
)
from pandora_regret.cli.output import all_remarks, echo, print_json, print_remarks
from pandora_regret.core.inputs import Fields, FloatArray, Forecast, InputError, Labels
from pandora_regret.core.priors import Prior
from pandora_regret.text import listed, money, money_between

HARDLY_ANY = 0.01  # of what there was of a class


@dataclass(frozen=True)
class RecalibrateOptions:
    """The options of `pandora recalibrate`."""

    files: tuple[str, ...]
    rows: RowOptions
    prices: PriceOptions
    apply: str | None
    out: str | None
    map: str | None
    method: str
    objective: str | None
    folds: int
    level: float
    force: bool
    json: bool

    @property
    def map_path(self) -> str | None:
        """Where the map is written: beside --out, unless --map says."""
        if self.map is not None or self.out is None:
            return self.map
        path = Path(self.out)
        return str(path.with_name(f"{path.name.split('.')[0]}.map.json"))


@command(
    RecalibrateOptions,
    FILE_ARGUMENTS,
    Option("--apply FILE", "Forecasts to recalibrate; they need no labels."),
    Option("--out FILE", "Where these are written, recalibrated."),
    Option("--map FILE", "Where the map is written (JSON).  [default: new.map.json for --out new.csv]"),
    Option(
        "--method [temperature|vector|matrix|prior]",
        "One factor; one and a shift per class; a matrix; or, without labels, new class frequencies.",
    ),
    Option(
        "--objective [log_loss|search]",
        "What the map is fitted for: log loss, or what the search costs (temperature).  [default: log_loss]",
        default=None,
    ),
    Option("--folds N", "To judge the map by.", least=2, default=10),
    *SEARCH,
    LEVEL_OPTION,
    *LAYOUT,
    FORCE,
    JSON,
)
def recalibrate(options: RecalibrateOptions) -> None:
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
    _check_outputs(options)
    prices = options.prices.read()
    labelled = files.ModelFiles(options.files, options.rows.layout(blank_labels=True))
    opened = _only_model(files.open_models([labelled], prices.class_names))
    batch = _labelled(files.read_all(opened), opened).with_relative_weights()
    costs = prices.for_classes_or_ones(opened.classes, batch.costs)
    forecast = batch.forecast().check()
    new = None if options.apply is None else _open_new(options.apply, options.rows.layout(), opened.classes)
    result = None
    if new is not None and options.method == "prior":
        map_ = _map_to_new_frequencies(forecast, new)
    else:
        result = _fit(forecast, batch.groups, prices.prior, costs, options)
        map_ = result.map
    remarks = (*opened.remarks, *batch.changes.remarks(opened.name), *costs.remarks)
    lines = [_verdict(result, len(batch)), *_what_it_does(map_)]
    written = None
    if new is not None and options.out is not None:
        written = _write(new, options.out, map_)
        remarks += all_remarks(new.sources)
        lines.append(f"Wrote {written:,} cases to {options.out}.")
    if options.map_path is not None:
        map_.save(options.map_path)
        lines.append(f"The map: {options.map_path}; in Python, pandora_regret.calibrate.load_map reads it.")
    remarks = tuple(dict.fromkeys(remarks))
    if not options.json:
        echo("\n".join(lines))
        print_remarks(remarks)
        return
    results = {
        "files": options.files,
        "rows": len(batch),
        "method": map_.method,
        "objective": map_.objective,
        "level": options.level,
        "unit": costs.currency,
        **_what_it_saves(result),
        "map": map_,
        "written": {"forecasts": options.out, "map": options.map_path, "rows": written},
        "sentences": lines,
        "remarks": remarks,
    }
    print_json(results, "pandora-recalibration/2")


def _what_it_saves(result: calibrate.Recalibration | None) -> Fields:
    """What the JSON says of the saving; null where nothing can be told."""
    if result is None:
        return dict.fromkeys(["judged_on", "cost", "recalibrated", "saved", "worth_it"])
    return {
        "judged_on": "out of fold",
        "cost": result.cost,
        "recalibrated": result.recalibrated,
        "saved": result.saved,
        "worth_it": result.worth_it,
    }


def _labelled(batch: files.Batch, model: files.Predictions) -> files.Batch:
    """The rows that have a true class, at least half of all; votes take its place."""
    if batch.votes is not None:
        return batch
    labelled = batch.labelled()
    files.check_labelled(len(batch) - len(labelled), len(batch), model.path)
    return labelled


def _map_to_new_frequencies(labelled: Forecast, new: files.Predictions) -> calibrate.RecalibrationMap:
    """The map from the class frequencies of labelled rows to those of a file that needs no labels."""
    from pandora_regret.calibrate.recalibration import shifted_frequencies

    new_rows = files.read_all(new).with_relative_weights()
    return shifted_frequencies(labelled, new_rows.forecast().check())


def _fit(
    labelled: Forecast,
    groups: Labels | None,
    prior: Prior | None,
    costs: ClassCosts,
    options: RecalibrateOptions,
) -> calibrate.Recalibration:
    """A map fitted to labelled rows, and what it saves out of fold."""
    return calibrate.recalibrate(
        None,
        labelled,
        groups=groups,
        method=options.method,
        objective=options.objective or "log_loss",
        folds=options.folds,
        level=options.level,
        prior=prior,
        costs=costs.costs,
        currency=costs.currency,
    )


def _check_outputs(options: RecalibrateOptions) -> None:
    """That what is asked for goes together, and that the outputs may be written."""
    from pandora_regret.files.writing import check_other_file, writer_of

    if (options.apply is None) != (options.out is None):
        raise click.UsageError("--apply and --out belong together: what to recalibrate, and where to write it.")
    if options.method == "prior":
        if options.out is None:
            raise click.UsageError(
                "--method prior finds the class frequencies of new cases: add --apply and --out."
            )
        why = "--method prior fits no map that could have one"
        not_both(why, method=options.method, objective=options.objective)
    if options.out is not None:
        writer_of(options.out)
    read = [*options.files, *filter(None, (options.apply,))]
    for path in filter(None, (options.out, options.map_path)):
        check_other_file(path, read)
        check_output(path, options.force)


def _only_model(opened: Sequence[files.Predictions]) -> files.Predictions:
    """The one model that a file holds, which must have probabilities of all classes."""
    if len(opened) > 1:
        names = tuple(model.name for model in opened)
        problem = f"holds several models, {listed(names, 3)}"
        fix = "recalibrate one at a time: keep its rows only"
        raise InputError(problem, argument="files", place=opened[0].path, value=names, fix=fix)
    if opened[0].is_list:
        fix = "recalibrating needs probabilities"
        raise InputError("holds lists of candidates", argument="files", place=opened[0].path, fix=fix)
    return opened[0]


def _open_new(path: str, layout: files.Layout, classes: tuple[str, ...]) -> files.Predictions:
    """The file to recalibrate: of the same classes; what it has besides forecasts is its own."""
    layout = replace(
        layout,
        unlabelled=True,
        classes=classes,
        votes_prefix=None,
        cost_prefix=None,
        group=None,
        weight=None,
        truth=None,
    )
    try:
        return _only_model(files.open_predictions(path, layout))
    except files.FileError as error:
        if error.argument != "label":
            raise
        return _only_model(files.open_predictions(path, replace(layout, label=None)))


def _write(opened: files.Predictions, out: str, map_: calibrate.RecalibrationMap) -> int:
    """The new forecasts, and how many rows they are."""
    from pandora_regret.files.writing import write_again

    columns = [map_.classes.index(name) for name in opened.classes]

    def new_forecasts(batch: files.Batch) -> FloatArray:
        table = map_.apply(batch.forecast().check())[:, columns]
        with np.errstate(divide="ignore"):
            return np.log(table) if opened.logits else table

    return write_again(opened, out, new_forecasts)


def _verdict(result: calibrate.Recalibration | None, rows: int) -> str:
    """Whether recalibrating is worth it, and what it saves, in one sentence."""
    if result is None:
        return "What it saves cannot be told without labels: pandora compare says it of cases that have some."
    cost = result.cost.value
    saved = result.saved.turned if result.worth_it is False else result.saved
    if saved.value is None or saved.low is None or cost is None:
        return "What it saves cannot be told from so few cases."
    cases = f"{rows:,} cases, by maps fitted to other cases"
    if result.worth_it is None:
        amount = money_between(saved.value, saved.low, saved.high, result.unit, per="per case")
        return f"Not settled: recalibrating saves {amount} on {cases}; that may be nothing."
    amount = money_between(saved.value, saved.low, saved.high, result.unit)
    whole = f"of {money(cost, result.unit)} per case ({100 * result.level:g} % interval; {cases})"
    if result.worth_it:
        return f"Worth it: recalibrating saves {amount} {whole}."
    return f"Leave it: it would cost {amount} more {whole}."


def _what_it_does(map_: calibrate.RecalibrationMap) -> Iterator[str]:
    """What was wrong with the forecasts, as the map puts it right."""
    if map_.temperature is not None:
        fault = "overconfident" if map_.temperature > 1 else "underconfident"
        yield f"The forecasts are {fault}: temperature {map_.temperature:.3g}."
    if map_.method == "prior":
        by_size = sorted(zip(map_.classes, map_.shifts, strict=True), key=lambda pair: -abs(pair[1]))
        changes = [_change_of_frequency(name, exp(shift)) for name, shift in by_size[:3]]
        yield f"Class frequencies have changed: {', '.join(changes)}."


def _change_of_frequency(name: str, factor: float) -> str:
    """How much more often a class occurs than before, in words."""
    return f"{name} {factor:.2g} times as common" if factor >= HARDLY_ANY else f"hardly any {name}"

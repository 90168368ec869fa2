"""`pandora compare`: which of several models to deploy, how sure that is, and what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pandora_regret.cli.by import columns_of, values_of
from pandora_regret.cli.options import (
    FILES,
    PATH,
    ComparisonOptions,
    CostOptions,
    FormatOptions,
    IntervalOptions,
    LayoutOptions,
    PageOptions,
    ShowsMetrics,
    check_output,
    takes,
)
from pandora_regret.cli.printing import echo, print_csv, print_json

if TYPE_CHECKING:
    from pandora_regret.compare import Comparison
    from pandora_regret.files import Batch, Predictions
    from pandora_regret.inputs import Done


class Question(NamedTuple):
    """What is asked of the files: the options that `compare` and `report` share."""

    costs: CostOptions
    comparison: ComparisonOptions
    intervals: IntervalOptions
    layout: LayoutOptions


@click.command(cls=ShowsMetrics)
@FILES
@takes(CostOptions, ComparisonOptions, IntervalOptions, LayoutOptions, FormatOptions, PageOptions)
@click.option("--full", is_flag=True, help="Print every table, not only what fits one screen.")
@click.option("--pairs", is_flag=True, help="As --full, with differences between all pairs of models.")
@click.option("--by-class", is_flag=True, help="As --full, with every model class by class.")
@click.option("--html", type=PATH, metavar="FILE", help="Write the report to this file, too.")
def compare(
    costs: CostOptions,
    comparison: ComparisonOptions,
    intervals: IntervalOptions,
    layout: LayoutOptions,
    output: FormatOptions,
    page: PageOptions,
    *,
    files: Sequence[str],
    full: bool,
    pairs: bool,
    by_class: bool,
    html: Path | None,
) -> None:
    r"""Which of several models to deploy, how sure that is, and what it saves.

    FILES hold the predictions of one model each, or of several with a column that names them: a column of true
    classes, and a column of forecasts for every class, as CSV, JSONL, Parquet, Arrow, NPZ or Excel; or samples of
    lm-evaluation-harness; - is standard input. NAME=FILE names a model, and a TOML file describes models that are
    written each in their own way. Rows are matched by id, or by their order if no file has ids.

    \b
    Examples:
      pandora compare forest.csv network.csv --costs dermamnist
      pandora compare "Deep net=deepnet.csv" forest.parquet --costs prices.csv --common-rows --normalise
      pandora compare models.toml --costs prices.csv
      pandora compare models.parquet --model name --proba-prefix p_ --group patient_id --bootstrap 1000
      pandora compare a.csv b.csv --costs prices.csv --scenario "cheap scan=scan=50" --html report.html
      pandora compare a.csv b.csv --costs prices.csv --by site --by "age:18|65,site*sex"
      pandora compare a.csv b.csv --json > comparison.json

    The JSON has the schema pandora-comparison/2; the CSV has one row per model.
    """
    check_output(html, page.force)
    result = compare_files(files, Question(costs, comparison, intervals, layout))
    if output.as_json:
        print_json(result.to_dict())
    elif output.as_csv:
        print_csv(result.table(), keep_formulas=output.keep_formulas)
    else:
        from pandora_regret.cli.comparison import print_comparison

        print_comparison(result, full=full, pairs=pairs, by_class=by_class)
    if html is not None:
        from pandora_regret.report import write_report

        echo(
            f"Report: {write_report(result, html, title=page.title, show=page.show, cases=not page.no_cases)}",
            err=True,
        )


def compare_files(files: Sequence[str], question: Question) -> Comparison:
    """The comparison that files and options ask for, with progress on standard error."""
    from pandora_regret.cli.console import bars
    from pandora_regret.files import align, common_rows, open_models, read_models, read_models_argument

    layout = replace(question.layout.read(), by=columns_of(question.comparison.by))
    with bars(passing=True) as progress:
        opened = open_models(read_models_argument(files, layout), question.costs.priced())
        names = _names(opened)
        progress.start("reading", total=len(opened))
        batches = []
        for batch in read_models(opened):
            batches.append(batch)
            progress.advance("reading")
        progress.start("comparing", total=len(opened) + 1)  # which takes its time when all are measured, too
        advance = partial(progress.advance, "comparing")
        done = tuple(dict.fromkeys(each for one in opened for each in one.done))
        if question.comparison.common_rows:
            batches, left_out = common_rows(batches, names)
            done = (*left_out, *done)
        logits = [one.logits for one in opened]
        return _compared(names, align(batches, names), logits, question, done, advance)


def _names(opened: Sequence[Predictions]) -> list[str]:
    """Each model's own; those that two files share are told apart by their files."""
    from pandora_regret.inputs import InputError

    times = Counter(one.name for one in opened)
    paths = [one.path if one.only is None else f"{one.name} ({one.path})" for one in opened]
    names = [one.name if times[one.name] == 1 else path for one, path in zip(opened, paths, strict=True)]
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
    if twice is not None:
        raise InputError(f"{twice} is given twice: give each file once.")
    return names


def _compared(
    names: Sequence[str],
    batches: Sequence[Batch],
    logits: Sequence[bool],
    question: Question,
    done: tuple[Done, ...],
    progress: Callable[[], None],
) -> Comparison:
    from pandora_regret.compare import compare_forecasts
    from pandora_regret.files.alignment import orders_too, truths_outside

    workup = question.costs.read_workup()
    classes = batches[0].classes
    prices = question.costs.read_prices(classes, _first(batches, "costs"))
    unit = "" if prices is None else prices.currency
    scenarios, unused = question.costs.read_scenarios(question.comparison.scenario, classes, unit)
    weights = _first(batches, "weights")
    read = (batch.forecast(are_logits) for batch, are_logits in zip(batches, logits, strict=True))
    forecasts = (replace(forecast, weights=weights) for forecast in read)
    done = (*orders_too(batches, names), *done)
    done += tuple(each for name, batch in zip(names, batches, strict=True) for each in batch.rescaled.done(name))
    result = compare_forecasts(
        dict(zip(names, forecasts, strict=True)),
        prior=question.costs.read_prior(),
        typical_costs=None if prices is None else prices.costs,
        currency=None if prices is None else prices.currency,
        source=None if prices is None else prices.source,
        groups=_first(batches, "groups"),
        ids=_first(batches, "ids"),
        bootstrap=question.intervals.bootstrap,
        level=question.intervals.level,
        seed=question.intervals.seed,
        scenarios=scenarios or None,
        decompose=question.comparison.decompose and workup is None,
        workup=workup,
        by=values_of(question.comparison.by, batches) or None,
        smallest_group=question.comparison.smallest_group,
        progress=progress,
    )
    costs = replace(result.costs, prior=question.costs.prior or result.costs.prior)  # as it was typed
    done += (*(() if prices is None else prices.done), *unused)
    return replace(result, costs=costs, done=done, notes=(*truths_outside(batches, names), *result.notes))


def _first(batches: Sequence[Batch], what: str) -> Any:
    """What any of the files says of the rows; where several do, they say the same."""
    return next((part for part in (getattr(batch, what) for batch in batches) if part is not None), None)

"""`pandora compare`: which of several models to deploy, how sure that is, and what it saves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from pandora_regret.cli.options import (
    FILE_ARGUMENTS,
    OUTPUT,
    Command,
    ComparisonOptions,
    CostOptions,
    FormatOptions,
    IntervalOptions,
    LayoutOptions,
    Option,
    PageOptions,
    check_output,
    takes,
)
from pandora_regret.cli.output import echo, print_csv, print_json

if TYPE_CHECKING:
    from pandora_regret.compare import Comparison
    from pandora_regret.files import Batch, Predictions
    from pandora_regret.inputs import Done


class Question(NamedTuple):
    """What is asked of the files."""

    costs: CostOptions
    comparison: ComparisonOptions
    intervals: IntervalOptions
    layout: LayoutOptions


@click.command(cls=Command)
@FILE_ARGUMENTS
@takes(CostOptions, ComparisonOptions, PageOptions, IntervalOptions, LayoutOptions, FormatOptions)
@click.option("--full", cls=Option, is_flag=True, section=OUTPUT, help="Print every table.")
@click.option("--pairs", cls=Option, is_flag=True, section=OUTPUT, help="As --full, for all pairs of models.")
@click.option("--by-class", cls=Option, is_flag=True, section=OUTPUT, help="As --full, class by class, too.")
def compare(
    costs: CostOptions,
    comparison: ComparisonOptions,
    page: PageOptions,
    intervals: IntervalOptions,
    layout: LayoutOptions,
    output: FormatOptions,
    *,
    files: Sequence[str],
    full: bool,
    pairs: bool,
    by_class: bool,
) -> None:
    r"""Which of several models to deploy, how sure that is, and what it saves.

    FILES hold the predictions of one model each, or of several; or one JSON file that --json wrote.

    \b
    Examples:
      pandora compare forest.csv network.csv --costs dermamnist
      pandora compare "Deep net=deepnet.csv" forest.parquet --costs prices.csv
      pandora compare models.toml --costs prices.csv --by site --html page.html
      pandora compare a.csv b.csv --json > comparison.json
    """
    check_output(page.html, page.force)
    if len(files) == 1 and files[0].endswith(".json"):
        result = _saved_comparison(files[0])
    else:
        result = compare_files(files, Question(costs, comparison, intervals, layout))
    if output.as_json:
        print_json(result.to_dict())
    elif output.as_csv:
        print_csv(result.table(), keep_formulas=output.keep_formulas)
    else:
        from pandora_regret.cli.comparison import print_comparison

        print_comparison(result, full=full, pairs=pairs, by_class=by_class)
    if page.html is not None:
        from pandora_regret.report import write_report

        write_report(result, page.html, title=page.title, show=page.show, cases=not page.no_cases)
        echo(f"Report: {page.html}", err=True)


def _saved_comparison(path: str) -> Comparison:
    """A comparison that was saved; it has its answers already, so that nothing can be asked anew."""
    from pandora_regret.compare import Comparison
    from pandora_regret.files.source import check_readable
    from pandora_regret.inputs import InputError

    context = click.get_current_context()
    for option in context.command.params:
        section = getattr(option, "section", None)
        is_given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if is_given and section not in (None, OUTPUT) and option.name != "html":
            raise click.UsageError(f"{path} is a saved comparison, to which {option.opts[0]} cannot be applied.")
    check_readable(path)
    try:
        return Comparison.from_dict(json.loads(Path(path).read_bytes()))
    except InputError as error:
        raise error.within(path) from None
    except (ValueError, RecursionError):  # not JSON, or nested too deeply
        raise InputError(f"{path} is not a comparison: write it with pandora compare --json.") from None


def compare_files(files: Sequence[str], question: Question) -> Comparison:
    """The comparison that files and options ask for, with progress on standard error."""
    from pandora_regret.cli.output import bars
    from pandora_regret.files import align, common_rows, open_models, read_models, read_models_argument

    layout = replace(question.layout.read(), by=_columns(_breakdowns(question)))
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
    from pandora_regret.compare import compare
    from pandora_regret.files.alignment import orders_too, truths_outside

    workup = question.costs.read_workup()
    classes = batches[0].classes
    prices = question.costs.read_prices(classes, _first(batches, "costs"))
    unit = "" if prices is None else prices.currency
    scenarios, unused = question.comparison.read_scenarios(classes, unit)
    weights = _first(batches, "weights")
    weighted = (replace(batch, weights=weights) for batch in batches)
    forecasts = (batch.forecast(are_logits) for batch, are_logits in zip(weighted, logits, strict=True))
    done = (*orders_too(batches, names), *done)
    done += tuple(each for name, batch in zip(names, batches, strict=True) for each in batch.rescaled.done(name))
    result = compare(
        None,
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
        by=_values(_breakdowns(question), batches) or None,
        smallest_group=question.comparison.smallest_group,
        progress=progress,
    )
    costs = replace(result.costs, prior=question.costs.prior or result.costs.prior)  # as it was typed
    done += (*(() if prices is None else prices.done), *unused)
    return replace(result, costs=costs, done=done, notes=(*truths_outside(batches, names), *result.notes))


def _first(batches: Sequence[Batch], what: str) -> Any:
    """What any of the files says of the rows; where several do, they say the same."""
    return next((part for part in (getattr(batch, what) for batch in batches) if part is not None), None)


def _breakdowns(question: Question) -> dict[str, list[str]]:
    """What results are broken down by, and the columns that it takes: ``age:10`` and ``site*sex``."""
    from pandora_regret.compare.grouping import read_cuts
    from pandora_regret.files.written import listed

    texts = (text for several in question.comparison.by for text in listed(several))
    return {text: [cut.column for cut in read_cuts(text)] for text in texts}


def _columns(breakdowns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in breakdowns.values() for name in names))


def _values(breakdowns: Mapping[str, Sequence[str]], batches: Sequence[Batch]) -> dict[str, Any]:
    """What `compare` takes as `by`; a column may stand in any of the files."""
    from pandora_regret.inputs import InputError

    columns = {name: values for batch in reversed(batches) for name, values in (batch.by or {}).items()}
    missing = next((name for name in _columns(breakdowns) if name not in columns), None)
    if missing is not None:
        fix, (name, colon, _) = "name a column that one of the files has", missing.rpartition(":")
        if colon:
            fix = f"write bins such as {name}:10 (ten bins), {name}:18|65 (edges) or {name}:each"
        raise InputError(f"names {missing!r}, which no file has", argument="by", value=missing, fix=fix)
    return {
        text: columns[names[0]] if len(names) == 1 else tuple(columns[name] for name in names)
        for text, names in breakdowns.items()
    }

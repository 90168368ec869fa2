"""`pandora compare` and `pandora score`: what models cost, several on the same cases, or one from any file.

The JSON of a score is that of a comparison of one model; of a file that holds several models,
{schema, comparisons [...]}.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click
from click.core import ParameterSource

from pandora_regret import comparison as comparing
from pandora_regret import files
from pandora_regret.cli.headings import INTERVALS, OUTPUT, PRICES, Option
from pandora_regret.cli.options import (
    COMMON_ROWS,
    FILE_ARGUMENTS,
    FORCE,
    FORMAT,
    LAYOUT,
    RESAMPLING,
    SEARCH,
    WORK,
    WORKUP,
    Asked,
    check_output,
    command,
    read_saved,
)
from pandora_regret.cli.output import all_done, bars, echo, print_csv, print_json
from pandora_regret.core import inputs
from pandora_regret.files.roles import BY


@command(
    FILE_ARGUMENTS,
    *SEARCH,
    WORKUP,
    COMMON_ROWS,
    Option(
        "--by COLUMN,...",
        f"{BY.help}: site; age:10 (ten bins), age:18|65 (edges); site*sex (crossed).",
        multiple=True,
    ),
    Option(
        "--scenario NAME=COSTS",
        "Other prices to compare under: cheap CT=CT=300,scope=90.",
        PRICES,
        multiple=True,
    ),
    Option(
        "--smallest-group N",
        "Of --by: groups of fewer cases are pooled.",
        INTERVALS,
        least=2,
        default=30,
    ),
    Option(
        "--worth AMOUNT", "The least difference worth acting on: 2.5, or 1% of the cost.", PRICES, default="1%"
    ),
    Option("--decompose", "Split costs into miscalibration, discrimination, uncertainty.", OUTPUT),
    Option("--html FILE", "Write the report to this file, too."),
    Option("--title TEXT", "The page's heading.", OUTPUT),
    Option("--show MODEL", "On the page even if there are over 50.", OUTPUT, multiple=True),
    Option("--no-cases", "A page without single cases and live prices.", OUTPUT),
    FORCE,
    *RESAMPLING,
    *LAYOUT,
    *FORMAT,
    Option("--full", "Print every table.", OUTPUT),
)
def compare(asked: Asked) -> None:
    r"""Which of several models to deploy, how sure that is, and what it saves.

    FILES hold the predictions of one model each, or of several; or one JSON file that --json wrote.

    \b
    Examples:
      pandora compare forest.csv network.csv --costs dermamnist
      pandora compare "Deep net=deepnet.csv" forest.parquet --costs prices.csv
      pandora compare models.toml --costs prices.csv --by site --html page.html
      pandora compare a.csv b.csv --json > comparison.json
    """
    asked.not_both("json", "csv", "choose one")
    check_output(asked.html, asked.force)
    is_saved = len(asked.files) == 1 and asked.files[0].endswith(".json")
    result = _saved_comparison(asked.files[0]) if is_saved else _compared(asked)
    if asked.json:
        print_json(result.to_dict())
    elif asked.csv:
        print_csv(result.table())
    else:
        from pandora_regret.cli.comparison import print_comparison

        print_comparison(result, full=asked.full)
    if asked.html is not None:
        from pandora_regret.report import write_report

        write_report(result, asked.html, title=asked.title, show=asked.show, cases=not asked.no_cases)
        echo(f"Report: {asked.html}", err=True)


def _saved_comparison(path: str) -> comparing.Comparison:
    """A comparison that was saved; it has its answers already, so that nothing can be asked anew."""
    context = click.get_current_context()
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if is_given and getattr(option, "section", OUTPUT) != OUTPUT and option.name != "html":
            raise click.UsageError(f"{path} is a saved comparison, to which {option.opts[0]} cannot be applied.")
    return read_saved(path, comparing.Comparison.from_dict, "a comparison: write it with pandora compare --json")


def _compared(asked: Asked) -> comparing.Comparison:
    """The comparison that files and options ask for, with progress on standard error."""
    from pandora_regret.comparison.grouping import columns_of, values_of
    from pandora_regret.files.written import listed

    breakdowns = [name for option in asked.by for name in listed(option)]
    layout = asked.layout(by=columns_of(breakdowns))
    with bars() as progress:
        opened = files.open_models(files.read_models_argument(asked.files, layout), asked.priced())
        progress.start("reading", total=len(opened))
        models = files.read_together(opened, asked.common_rows, progress.advance)
        progress.start("comparing", total=len(opened) + 1)  # which takes its time when all are measured, too
        classes = models.batches[0].classes
        charged, unused = asked.charged(classes, models.of_rows("costs"))
        scenarios, unused_by_scenarios = _scenarios(asked.scenario, classes, charged.get("currency", ""))
        result = comparing.compare(
            None,
            models.forecasts(),
            prior=asked.read_prior(),
            **charged,
            groups=models.of_rows("groups"),
            ids=models.of_rows("ids"),
            bootstrap=asked.bootstrap,
            level=asked.level,
            seed=asked.seed,
            smallest_group=asked.smallest_group,
            worth=asked.worth,
            scenarios=scenarios or None,
            decompose=asked.decompose and asked.workup is None,
            workup=asked.workup_read,
            by=values_of(breakdowns, models.by) or None,
            progress=progress.advance,
        )
    return _as_typed(result, asked, (*models.done, *unused, *unused_by_scenarios))


def _scenarios(
    asked: Sequence[str], classes: Sequence[str], unit: str
) -> tuple[dict[str, dict[str, float]], tuple[inputs.Done, ...]]:
    """The prices that each scenario changes, by its name, and what was not used of them."""
    changes: dict[str, dict[str, float]] = {}
    done: tuple[inputs.Done, ...] = ()
    for scenario in asked:
        name, _, costs = (part.strip() for part in scenario.partition("="))
        if not (name and costs) or costs.replace(".", "", 1).isdigit():  # which is the price of a class
            fix = "write such as cheap=flu=5,cold=1"
            raise inputs.InputError(f"--scenario {scenario!r} is not NAME=COSTS", fix=fix)
        if name in changes:
            raise inputs.InputError(f"--scenario gives {name!r} twice", fix="name each once")
        changes[name], unused = files.read_price_list(costs).changes(classes, unit)
        done += unused
    return changes, done


def _as_typed(result: comparing.Comparison, asked: Asked, done: Iterable[inputs.Done]) -> comparing.Comparison:
    """A result with the prior as it was typed, the files' names, and what was done to them."""
    costs = replace(result.costs, prior=asked.prior or result.costs.prior)
    return replace(result, costs=costs, files=tuple(map(os.path.basename, asked.files)), done=tuple(done))


@command(
    FILE_ARGUMENTS,
    *SEARCH,
    WORKUP,
    *RESAMPLING,
    *LAYOUT,
    *WORK,
    *FORMAT,
    Option("--wrong-tests", "Also which wrong tests the money goes to; takes longer."),
)
def score(asked: Asked) -> None:
    r"""What one model's forecasts cost, from a file of any size.

    Several FILES are parts of one table, read one after the other. Rows are streamed: memory does not grow with
    their number, and neither splitting files nor a cluster changes a result.

    \b
    Examples:
      pandora score predictions.parquet --costs "flu=20,covid=35,cold=5"
      pandora score part-1.csv part-2.csv --bootstrap 1000 --json
      pandora score huge.parquet --cluster tcp://scheduler:8786
    """
    asked.not_both("json", "csv", "choose one")
    asked.not_both("wrong_tests", "workup", "wrong tests are those of a search")
    for file, times in Counter(os.path.realpath(file) for file in asked.files).items():
        if times > 1:
            problem = f"{file} is given {times} times"
            raise inputs.InputError(problem, fix="files are parts of one table, give each once")
    results = _scored(asked)
    if asked.json and len(results) == 1:
        print_json(results[0].to_dict())
    elif asked.json:
        comparisons = [result.to_dict() for result in results]
        print_json({"schema": "pandora-comparisons/1", "comparisons": comparisons})
    elif asked.csv:
        print_csv([row for result in results for row in _rows_of_scores(result)])
    else:
        from pandora_regret.cli.comparison import print_comparison

        for result in results:
            print_comparison(result, full=True)


def _rows_of_scores(result: comparing.Comparison) -> Iterator[dict[str, object]]:
    """One row per metric of a comparison of one model, for CSV."""
    for key, score in result.best.scores.items():
        yield {
            "model": result.best.name,
            "rows": result.data.rows,
            "metric": key,
            "value": score.value,
            "low": score.low,
            "high": score.high,
        }


def _scored(asked: Asked) -> list[comparing.Comparison]:
    """A comparison of one for each model of the files."""
    from pandora_regret.stream import score_stream

    opened = files.open_models([files.ModelFiles(tuple(asked.files), asked.layout())], asked.priced())
    unused: tuple[inputs.Done, ...] = ()
    if asked.costs is None and opened[0].columns.costs:  # each row brings its own
        charged: dict[str, Any] = {"currency": asked.price_unit}
    else:
        charged, unused = asked.charged(opened[0].classes)
    done = all_done(opened)
    results = []
    with bars() as progress:
        for model in opened:
            expected_rows = sum(source.expected_rows() for source in model.sources)
            progress.start(model.name, expected_rows // len(opened))
            result = score_stream(
                model,
                prior=asked.read_prior(),
                pairs=asked.wrong_tests,
                workup=asked.workup_read,
                jobs=asked.jobs,
                cluster=asked.cluster,
                bootstrap=asked.bootstrap,
                level=asked.level,
                seed=asked.seed,
                **charged,
                progress=progress.advance,
            )
            results.append(_as_typed(result, asked, (*done, *result.done, *unused)))
    return results

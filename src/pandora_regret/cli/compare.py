"""`pandora compare` and `pandora score`: what models cost, several on the same cases, or one from any file.

The JSON of a score is that of a comparison of one model; of a file that holds several models,
{schema, comparisons [...]}.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from pandora_regret import comparison as comparing
from pandora_regret import files
from pandora_regret.cli.headings import OUTPUT, PRICES, RARE, Option
from pandora_regret.cli.options import (
    COMMON_ROWS,
    FILE_ARGUMENTS,
    FORCE,
    FORMAT,
    LAYOUT,
    MISS,
    RANKED,
    RESAMPLING,
    SEARCH,
    WORK,
    WORKUP,
    ClassCosts,
    IntervalOptions,
    ListOptions,
    PriceOptions,
    RowOptions,
    StatedPrices,
    check_output,
    command,
    not_both,
    read_saved,
)
from pandora_regret.cli.output import all_remarks, bars, echo, print_csv, print_json
from pandora_regret.core import inputs
from pandora_regret.files.roles import BY
from pandora_regret.text import Content

if TYPE_CHECKING:  # what reads and compares is loaded once options are read
    from pandora_regret.comparison.request import Request
    from pandora_regret.files.aligned_models import AlignedModels

RECALIBRATION_METHODS = ("temperature", "vector", "matrix")  # whose own module takes long to import
NOT_AT_ALL = "none"


@dataclass(frozen=True)
class CompareOptions:
    """What `pandora compare` was asked."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions
    intervals: IntervalOptions
    by: tuple[str, ...]
    scenario: tuple[str, ...]
    smallest_group: int
    worth: str
    decompose: bool
    recalibrate: str
    html: str | None
    title: str | None
    show: tuple[str, ...]
    no_cases: bool
    force: bool
    json: bool
    csv: bool
    full: bool


@command(
    CompareOptions,
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
        RARE,
        least=2,
        default=30,
    ),
    Option(
        "--worth AMOUNT", "The least difference worth acting on: 2.5, or 1% of the cost.", PRICES, default="1%"
    ),
    Option("--decompose", "Split costs into miscalibration, discrimination, uncertainty.", RARE),
    Option(
        f"--recalibrate [{'|'.join(RECALIBRATION_METHODS)}|{NOT_AT_ALL}]",
        "How models are recalibrated, to see what that would save.",
        RARE,
    ),
    Option("--html FILE", "Write the report to this file, too."),
    Option("--title TEXT", "The page's heading.", OUTPUT),
    Option("--show MODEL", "On the page even if there are over 50.", RARE, multiple=True),
    Option("--no-cases", "A page without single cases and live prices.", RARE),
    FORCE,
    *MISS,
    *RANKED,
    *RESAMPLING,
    *LAYOUT,
    *FORMAT,
    Option("--full", "Print every table.", OUTPUT),
)
def compare(options: CompareOptions) -> None:
    r"""Which of several models to deploy, how sure that is, and what it saves.

    FILES hold the predictions of one model each, or of several; or one JSON file that --json wrote.

    \b
    Examples:
      pandora compare forest.csv network.csv --costs dermamnist
      pandora compare "Deep net=deepnet.csv" forest.parquet --costs prices.csv
      pandora compare models.toml --costs prices.csv --by site --html page.html
      pandora compare a.csv b.csv --json > comparison.json
    """
    not_both("choose one", json=options.json, csv=options.csv)
    check_output(options.html, options.force)
    is_saved = len(options.files) == 1 and options.files[0].endswith(".json")
    result = _saved_comparison(options.files[0]) if is_saved else _compare_models(options)
    if options.html is not None:  # first: who reads what is printed may end the command, as head does
        from pandora_regret.report import write_report

        write_report(result, options.html, title=options.title, show=options.show, cases=not options.no_cases)
    if options.json:
        print_json(result.to_dict())
    elif options.csv:
        print_csv(result.table())
    else:
        from pandora_regret.cli.comparison import print_comparison

        print_comparison(result, full=options.full)
    if options.html is not None:
        echo(f"Report: {options.html}", err=True)


def _saved_comparison(path: str) -> comparing.Comparison:
    """A comparison that was saved; it has its answers already, so that nothing can be asked anew."""
    context = click.get_current_context()
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if is_given and isinstance(option, Option) and option.section != OUTPUT and option.name != "html":
            raise click.UsageError(f"{path} is a saved comparison, to which {option.opts[0]} cannot be applied.")
    return read_saved(path, comparing.Comparison.from_dict, "a comparison: write it with pandora compare --json")


def _compare_models(options: CompareOptions) -> comparing.Comparison:
    """The comparison that files and options ask for, with progress on standard error."""
    from pandora_regret.comparison.breakdowns import columns_of
    from pandora_regret.comparison.build import compared

    speak_of_classes = (
        options.rows.other,
        options.scenario,
        options.prices.workup,
        options.prices.prior,
        options.decompose,
    )
    if options.lists.are_asked(options.files, by_class=any(speak_of_classes)):
        return _compared_lists(options)
    prices = options.prices.read()
    layout = replace(options.rows.layout(blank_labels=True), by=columns_of(_typed_breakdowns(options)))
    with bars() as progress:
        opened = files.open_models(files.read_models_argument(options.files, layout), prices.class_names)
        progress.start("reading", total=len(opened))
        models = files.read_aligned_models(opened, bool(options.rows.common_rows), progress.advance)
        progress.start("comparing", total=len(opened) + 1)  # which takes its time when all are measured, too
        return compared(_request_of(options, prices, models, progress.advance))


def _typed_breakdowns(options: CompareOptions) -> list[str]:
    """What the result is broken down by, as it was typed: "site", "age:10"."""
    from pandora_regret.files.written import split_at_commas

    return [name for option in options.by for name in split_at_commas(option)]


def _request_of(
    options: CompareOptions, prices: StatedPrices, models: AlignedModels, advance: Callable[[], object]
) -> Request:
    """What the options ask of models that were read; `advance` is called when one is measured."""
    from pandora_regret.comparison import request as requests
    from pandora_regret.comparison.breakdowns import values_of
    from pandora_regret.comparison.charge import Pricing

    classes = models.batches[0].classes
    costs = prices.for_classes(classes, models.costs)
    scenarios, unused_by_scenarios = _read_scenarios(options.scenario, classes, costs.currency or "")
    by = values_of(_typed_breakdowns(options), models.by) or None
    return requests.read_request(
        requests.read_models(None, models.forecasts()),
        Pricing(prices.prior, costs.costs, costs.currency, costs.source, scenarios or None),
        prices.workup,
        requests.CaseColumns(ids=models.ids, groups=models.groups, by=by),
        options.worth,
        requests.ComparisonOptions(
            level=options.intervals.level,
            bootstrap=options.intervals.bootstrap,
            seed=options.intervals.seed,
            recalibrate=None if options.recalibrate == NOT_AT_ALL else options.recalibrate,
            decompose=options.decompose and prices.workup is None,
            smallest_group=options.smallest_group,
            progress=advance,
        ),
        requests.Provenance(
            files=tuple(map(os.path.basename, options.files)),
            remarks=(*models.remarks, *costs.remarks, *unused_by_scenarios),
            prior=options.prices.prior,
        ),
    )


def _compared_lists(options: CompareOptions) -> comparing.Comparison:
    """The comparison of ranked lists that files and options ask for."""
    unfit = {
        "scenario": bool(options.scenario),
        "decompose": options.decompose,
        "recalibrate": options.recalibrate != RECALIBRATION_METHODS[0],
    }
    for name, is_given in unfit.items():
        if is_given:
            raise click.UsageError(f"--{name} and ranked lists do not go together.")
    from pandora_regret.cli.ranked import RankedFiles, compare_ranked
    from pandora_regret.comparison.request import ComparisonOptions

    request = RankedFiles(options.files, options.rows, options.lists, options.prices)
    settings = ComparisonOptions(
        level=options.intervals.level,
        bootstrap=options.intervals.bootstrap,
        seed=options.intervals.seed,
        smallest_group=options.smallest_group,
    )
    return compare_ranked(request, settings, _typed_breakdowns(options), options.worth)


def _read_scenarios(
    typed: Sequence[str], classes: Sequence[str], unit: str
) -> tuple[dict[str, dict[str, float]], tuple[inputs.Remark, ...]]:
    """The prices that each scenario changes, by its name, and what was not used of them."""
    changes: dict[str, dict[str, float]] = {}
    remarks: tuple[inputs.Remark, ...] = ()
    for scenario in typed:
        name, _, costs = (part.strip() for part in scenario.partition("="))
        if not (name and costs) or costs.replace(".", "", 1).isdigit():  # which is the price of a class
            fix = "write such as cheap=flu=5,cold=1"
            place = f"--scenario {scenario!r}"
            raise inputs.InputError("is not NAME=COSTS", argument="scenario", place=place, value=scenario, fix=fix)
        if name in changes:
            raise inputs.InputError(
                f"gives {name!r} twice", argument="scenario", place="--scenario", value=name, fix="name each once"
            )
        changes[name], unused = files.read_price_list(costs).changes(classes, unit)
        remarks += unused
    return changes, remarks


@dataclass(frozen=True)
class ScoreFilesOptions:
    """What `pandora score` was asked."""

    files: tuple[str, ...]
    rows: RowOptions
    lists: ListOptions
    prices: PriceOptions
    intervals: IntervalOptions
    jobs: int
    cluster: str | None
    json: bool
    csv: bool
    wrong_tests: bool


@command(
    ScoreFilesOptions,
    FILE_ARGUMENTS,
    *SEARCH,
    WORKUP,
    *MISS,
    *RANKED,
    *RESAMPLING,
    *LAYOUT,
    *WORK,
    *FORMAT,
    Option("--wrong-tests", "Also which wrong tests the money goes to; takes longer."),
)
def score(options: ScoreFilesOptions) -> None:
    r"""What one model's forecasts cost, from a file of any size.

    Several FILES are parts of one table, read one after the other. Rows are streamed: memory does not grow with
    their number, and neither splitting files nor a cluster changes a result.

    \b
    Examples:
      pandora score predictions.parquet --costs "flu=20,covid=35,cold=5"
      pandora score part-1.csv part-2.csv --bootstrap 1000 --json
      pandora score huge.parquet --cluster tcp://scheduler:8786
    """
    not_both("choose one", json=options.json, csv=options.csv)
    not_both("wrong tests are those of a search", wrong_tests=options.wrong_tests, workup=options.prices.workup)
    for file, times in Counter(os.path.realpath(file) for file in options.files).items():
        if times > 1:
            problem = f"is given {times} times"
            fix = "files are parts of one table, give each once"
            raise inputs.InputError(problem, argument="files", place=file, value=file, fix=fix)
    results = _score_models(options)
    if options.json and len(results) == 1:
        print_json(results[0].to_dict())
    elif options.json:
        comparisons = [result.to_dict() for result in results]
        print_json({"schema": "pandora-comparisons/1", "comparisons": comparisons})
    elif options.csv:
        print_csv([row for result in results for row in _rows_of_scores(result)])
    else:
        from pandora_regret.cli.comparison import print_comparison

        for result in results:
            print_comparison(result, full=True)


def _rows_of_scores(result: comparing.Comparison) -> Iterator[dict[str, Content]]:
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


def _scored_lists(options: ScoreFilesOptions) -> list[comparing.Comparison]:
    """A comparison of one for each model of ranked lists, whose cases several files may hold."""
    from pandora_regret.cli.ranked import RankedFiles, compare_ranked
    from pandora_regret.comparison.request import ComparisonOptions

    not_both("ranked lists have no classes", wrong_tests=options.wrong_tests, lists=True)
    request = RankedFiles(options.files, options.rows, options.lists, options.prices, are_parts=True)
    settings = ComparisonOptions(
        level=options.intervals.level, bootstrap=options.intervals.bootstrap, seed=options.intervals.seed
    )
    return [compare_ranked(request, settings)]


def _score_models(options: ScoreFilesOptions) -> list[comparing.Comparison]:
    """A comparison of one for each model of the files."""
    from pandora_regret.comparison.request import Provenance
    from pandora_regret.stream import score_stream

    of_classes = (options.rows.other, options.prices.workup, options.prices.prior, options.wrong_tests)
    if options.lists.are_asked(options.files, by_class=any(of_classes)):
        return _scored_lists(options)
    prices = options.prices.read()
    asked = files.ModelFiles(options.files, options.rows.layout(blank_labels=True))
    opened = files.open_models([asked], prices.class_names)
    if prices.price_list is None and opened[0].columns.costs:  # each row brings its own
        costs = ClassCosts(currency=prices.unit)
    else:
        costs = prices.for_classes(opened[0].classes)
    provenance = Provenance(
        files=tuple(map(os.path.basename, options.files)),
        remarks=(*all_remarks(opened), *costs.remarks),
        prior=options.prices.prior,
    )
    results = []
    with bars() as progress:
        for model in opened:
            expected_rows = sum(source.expected_rows() for source in model.sources)
            progress.start(model.name, expected_rows // len(opened))
            result = score_stream(
                model,
                prior=prices.prior,
                costs=costs.costs,
                currency=costs.currency,
                source=costs.source,
                pairs=options.wrong_tests,
                workup=prices.workup,
                jobs=options.jobs,
                cluster=options.cluster,
                bootstrap=options.intervals.bootstrap,
                level=options.intervals.level,
                seed=options.intervals.seed,
                progress=progress.advance,
                provenance=provenance,
            )
            results.append(result)
    return results

"""`pandora score`: what one model's forecasts cost, from a file of any size: a comparison of one model.

The JSON is that of `pandora compare`; of a file that holds several models, {schema, comparisons [...]}.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pandora_regret.cli.options import (
    FILE_ARGUMENTS,
    Command,
    CostOptions,
    FormatOptions,
    IntervalOptions,
    LayoutOptions,
    WorkOptions,
    takes,
)
from pandora_regret.cli.output import echo, print_csv, print_done, print_json

if TYPE_CHECKING:
    from pandora_regret.compare import Comparison
    from pandora_regret.files import Predictions


@click.command(cls=Command)
@FILE_ARGUMENTS
@takes(CostOptions, IntervalOptions, LayoutOptions, WorkOptions, FormatOptions)
@click.option("--wrong-tests", is_flag=True, help="Also which wrong tests the money goes to; takes longer.")
def score(
    costs: CostOptions,
    intervals: IntervalOptions,
    layout: LayoutOptions,
    work: WorkOptions,
    output: FormatOptions,
    *,
    files: Sequence[str],
    wrong_tests: bool,
) -> None:
    r"""What one model's forecasts cost, from a file of any size.

    Several FILES are parts of one table, read one after the other. Rows are streamed: memory does not grow with
    their number, and neither splitting files nor a cluster changes a result.

    \b
    Examples:
      pandora score predictions.parquet --costs "flu=20,covid=35,cold=5"
      pandora score part-1.csv part-2.csv --bootstrap 1000 --json
      pandora score huge.parquet --cluster tcp://scheduler:8786
    """
    from pandora_regret.files import ModelFiles, open_models

    _check_each_file_once(files)
    opened = open_models([ModelFiles(tuple(files), layout.read())], costs.priced())
    workup, own_costs = costs.read_workup(), bool(opened[0].columns.costs) and costs.costs is None
    prices = None if own_costs else costs.read_prices(opened[0].classes)
    if workup is not None and wrong_tests:
        raise click.UsageError("--wrong-tests and --workup were both given: it is about the tests of a search.")
    how: dict[str, Any] = {"prior": costs.read_prior(), "pairs": wrong_tests, "workup": workup}
    how |= asdict(work) | {"bootstrap": intervals.bootstrap, "level": intervals.level, "seed": intervals.seed}
    if own_costs:
        how["currency"] = costs.said_unit
    elif prices is not None and workup is None:
        how |= {"typical_costs": prices.costs, "currency": prices.currency, "source": prices.source}
    unused = () if prices is None else prices.done
    files_done = tuple(dict.fromkeys(each for one in opened for each in one.done))
    results = []
    for result in _score_all(opened, how):
        charged = replace(result.costs, prior=costs.prior or result.costs.prior)  # as it was typed
        results.append(replace(result, costs=charged, done=(*files_done, *result.done, *unused)))
    if output.as_json:
        about = [result.to_dict() for result in results]
        print_json(about[0] if len(about) == 1 else {"schema": "pandora-comparisons/1", "comparisons": about})
    elif output.as_csv:
        print_csv([row for result in results for row in _rows(result)], keep_formulas=output.keep_formulas)
    else:
        from pandora_regret.cli.comparison import print_scores

        for result in results:
            print_scores(result)
        echo(f"Costs: {results[0].costs.in_words}.", dim=True)
        print_done(list(dict.fromkeys(each for result in results for each in result.done)))


def _check_each_file_once(files: Sequence[str]) -> None:
    """Files are parts of one table, and a part that came twice would count twice."""
    from pandora_regret.inputs import InputError

    for file, times in Counter(os.path.realpath(file) for file in files).items():
        if times > 1:
            raise InputError(f"{file} is given {times} times: files are parts of one table, give each once.")


def _score_all(opened: Sequence[Predictions], how: Mapping[str, Any]) -> list[Comparison]:
    from pandora_regret.cli.output import bars
    from pandora_regret.stream import score_stream

    results = []
    with bars(passing=True) as progress:
        for one in opened:
            sharing = sum(other.sources == one.sources for other in opened)
            progress.start(one.name, sum(source.expected_rows() for source in one.sources) // sharing)
            results.append(score_stream(one, progress=partial(progress.advance, one.name), **how))
    return results


def _rows(result: Comparison) -> list[dict[str, Any]]:
    """A flat table."""
    about = {"model": result.best.name, "rows": result.data.rows}
    scores = result.best.scores.items()
    return [about | {"metric": key, "value": of.value, "low": of.low, "high": of.high} for key, of in scores]

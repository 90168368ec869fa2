"""`pandora score`: what one model's forecasts cost, from a file of any size.

The JSON (schema "pandora-score/1"; null stands for what is undefined or infinite)::

    schema, library, costs {currency, prior, typical, source}, interval {level, method, replicates, seed},
    metrics [{key, title, better, unit}],
    models [{name, files [...], rows, weight, classes [...], class_weights [...],
             scores {key: {value, low, high, warning?}}, pair_costs (K x K) or null, largest_pairs [{...}]}],
    done [{what, count, sentence, model?}]
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
from pandora_regret.cli.output import (
    bullets,
    echo,
    finite,
    heading,
    print_csv,
    print_done,
    print_json,
    print_table,
)
from pandora_regret.records import to_plain

if TYPE_CHECKING:
    from pandora_regret.compare.result import Costs, LargestPair
    from pandora_regret.files import Predictions, Prices
    from pandora_regret.inference.estimate import Estimate
    from pandora_regret.inputs import FloatArray
    from pandora_regret.metrics import Metric
    from pandora_regret.priors import Prior
    from pandora_regret.stream import StreamScore
    from pandora_regret.text import Formats
    from pandora_regret.workup import Workup


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
    from pandora_regret.inference.resampling import check_enough

    check_enough(intervals.bootstrap, intervals.level)
    _check_each_file_once(files)
    opened = open_models([ModelFiles(tuple(files), layout.read())], costs.priced())
    workup, own_costs = costs.read_workup(), bool(opened[0].columns.costs) and costs.costs is None
    prices = None if own_costs else costs.read_prices(opened[0].classes)
    if workup is not None and wrong_tests:
        raise click.UsageError("--wrong-tests and --workup were both given: it is about the tests of a search.")
    how: dict[str, Any] = {"prior": costs.read_prior(), "pairs": wrong_tests, "workup": workup} | asdict(work)
    scores = _score_all(opened, prices, how | {"bootstrap": intervals.bootstrap, "seed": intervals.seed})
    unused = () if prices is None else prices.done
    rescaled = [each for score in scores for each in score.rescaled.done(score.name)]
    done = (*dict.fromkeys(each for one in opened for each in one.done), *rescaled, *unused)
    charged = _costs(opened[0], scores[0], prices, workup)
    unit = costs.said_unit if own_costs else charged.currency
    charged = replace(charged, currency=unit, prior=costs.prior or charged.prior)  # as it was typed
    if output.as_json:
        about = _as_dict(opened, scores, charged, intervals) | {"done": to_plain(done)}
        print_json(about, "pandora-score/1")
    elif output.as_csv:
        rows = [row for score in scores for row in _rows(score, intervals.level)]
        print_csv(rows, keep_formulas=output.keep_formulas)
    else:
        _print(scores, charged, intervals.level, "expected_cost" if workup is None else "workup_cost")
        print_done(done)


def _check_each_file_once(files: Sequence[str]) -> None:
    """Files are parts of one table, and a part that came twice would count twice."""
    from pandora_regret.inputs import InputError

    for file, times in Counter(os.path.realpath(file) for file in files).items():
        if times > 1:
            raise InputError(f"{file} is given {times} times: files are parts of one table, give each once.")


def _score_all(opened: Sequence[Predictions], prices: Prices | None, how: Mapping[str, Any]) -> list[StreamScore]:
    from pandora_regret.cli.output import bars
    from pandora_regret.stream import score_stream

    scores = []
    with bars(passing=True) as progress:
        for one in opened:
            sharing = sum(other.sources == one.sources for other in opened)
            progress.start(one.name, sum(source.expected_rows() for source in one.sources) // sharing)
            advance = partial(progress.advance, one.name)
            typical_costs = _typical(one, prices, how["prior"]) if how["workup"] is None else None
            scores.append(score_stream(one, typical_costs=typical_costs, progress=advance, **how))
    return scores


def _typical(one: Predictions, prices: Prices | None, prior: Prior | None) -> FloatArray | None:
    """What tests cost, if neither the rows nor the prior say so themselves."""
    from pandora_regret.compare.prices import are_stated, in_tests

    if prices is not None:
        return prices.costs
    return None if one.columns.costs or are_stated(prior, None, None) else in_tests(len(one.classes))


def _as_dict(
    opened: Sequence[Predictions], scores: Sequence[StreamScore], costs: Costs, intervals: IntervalOptions
) -> dict[str, Any]:
    from pandora_regret.compare.result import IntervalMethod

    level, replicates = intervals.level, intervals.bootstrap
    method = "bootstrap" if replicates else "analytic"
    return {
        "costs": asdict(costs),
        "interval": asdict(IntervalMethod(level, method, replicates, intervals.seed)),
        "metrics": [metric.info for metric in _metrics(scores[0])],
        "models": [
            _model_as_dict(one, score, costs.currency, level) for one, score in zip(opened, scores, strict=True)
        ],
    }


def _costs(one: Predictions, score: StreamScore, prices: Prices | None, workup: Workup | None) -> Costs:
    """What tests cost, as a comparison says it."""
    import numpy as np

    from pandora_regret.compare.result import KNOWN_COSTS, Costs
    from pandora_regret.priors.names import spelled_prior

    if workup is not None:
        prior = score.settings.workup_prior
        varying = KNOWN_COSTS if prior is None else spelled_prior(prior)
        return Costs(workup.currency, varying, None, workup.title or "the work-up")
    prior, base = score.settings.prior, score.settings.costs
    if one.columns.costs:
        return Costs("", spelled_prior(prior), None, "each row's own")
    if prices is not None:
        return Costs(prices.currency, spelled_prior(prior), tuple(prices.costs.tolist()), prices.source)
    typical = (np.ones(len(one.classes)) if base is None else base) * prior.mean
    unit = None if prior.n_classes is None else ""
    return Costs(unit, spelled_prior(prior), tuple(typical.tolist()), None)


def _model_as_dict(one: Predictions, score: StreamScore, currency: str | None, level: float) -> dict[str, Any]:
    pairs = score.pair_costs
    return {
        "name": score.name,
        "files": list(one.paths),
        "rows": score.rows,
        "weight": score.weight,
        "classes": list(score.classes),
        "class_weights": score.class_weights.tolist(),
        "scores": to_plain(_estimates(score, level)),
        "pair_costs": None if pairs is None else pairs.tolist(),
        "largest_pairs": to_plain(_largest_pairs(score, currency)),
    }


def _estimates(score: StreamScore, level: float) -> dict[str, Estimate]:
    scores = score.scores(level)
    return {each.key: _doubted(score, each.key, _estimate(**scores[each.key])) for each in _metrics(score)}


def _metrics(score: StreamScore) -> list[Metric]:
    """What is said of a file: the excess burden only where prices and prior make it a mean of rows.

    Otherwise it is a ratio of two means, as `pandora compare` has it; the first line says what is wasted.
    """
    from pandora_regret.priors import Uniform

    settings = score.settings
    is_mean = settings.prior == Uniform() and (settings.costs is None or len(set(settings.costs)) == 1)
    return [metric for metric in settings.metrics if metric.key != "excess_burden" or is_mean]


def _doubted(score: StreamScore, key: str, estimate: Estimate) -> Estimate:
    """The same with a warning where a handful of cases carries it."""
    from pandora_regret.compare.words import few_carriers

    metric = next(metric for metric in score.settings.metrics if metric.key == key)
    carriers = None if metric.is_proportion else score.carriers(key)
    if carriers is None or not carriers.few or carriers.number == 0 or estimate.low is None:
        return estimate
    warning = few_carriers(carriers, "the spread", "cases")
    return replace(estimate, warning=warning)


def _estimate(value: float | None, low: float | None, high: float | None) -> Estimate:
    from pandora_regret.inference.estimate import Estimate

    if finite(value) is None:  # which JSON cannot say
        return Estimate(None, warning="infinite: a true class was given probability 0")
    return Estimate(value, finite(low), finite(high))


def _largest_pairs(score: StreamScore, currency: str | None) -> list[LargestPair]:
    from pandora_regret.compare.words import largest_pairs

    if (pairs := score.pair_costs) is None:
        return []
    return largest_pairs(score.name, score.classes, pairs, score.value("expected_cost"), currency)


def _rows(score: StreamScore, level: float) -> list[dict[str, Any]]:
    """A flat table."""
    about = {"model": score.name, "rows": score.rows}
    estimates = _estimates(score, level).items()
    return [about | {"metric": key, "value": of.value, "low": of.low, "high": of.high} for key, of in estimates]


def _print(scores: Sequence[StreamScore], costs: Costs, level: float, main_metric: str) -> None:
    from pandora_regret.text import Formats, count

    for score in scores:
        note = f"{count(score.rows)} cases, {len(score.classes)} classes, {100 * level:g} % intervals"
        estimates = _estimates(score, level)
        heading(score.name, note, dim=True)
        if costs.typical is not None:
            echo(_bill(score, estimates["expected_cost"], costs.typical, costs.currency), bold=True)
        formats = Formats(costs.currency, score.value(main_metric))
        _print_metrics(formats, _metrics(score), estimates)
        if (doubt := estimates[main_metric].warning) is not None:
            bullets([f"{doubt}."], mark="!")
        if pairs := _largest_pairs(score, costs.currency):
            echo()
            heading("Where the money goes", "the most expensive wrong tests, per case", dim=True)
            bullets(pair.sentence for pair in pairs)
        echo()
    echo(f"Costs: {costs.in_words}.", dim=True)


def _bill(score: StreamScore, cost: Estimate, typical: Sequence[float], unit: str | None) -> str:
    """What a case costs, and what is wasted of it: all but testing the truth itself."""
    from pandora_regret.text import money_between, wasted

    needed = float(score.class_weights @ typical) / score.weight
    total = score.value("expected_cost")
    bill = money_between(total, cost.low, cost.high, unit, per="per case")
    return f"{bill}, {wasted(total - needed, unit, cost.low, cost.high)}."


def _print_metrics(formats: Formats, metrics: Sequence[Metric], estimates: Mapping[str, Estimate]) -> None:
    from pandora_regret.text import Table

    rows = []
    for metric in metrics:
        estimate = estimates[metric.key]
        value, between = formats.estimate(metric.unit, estimate.value, estimate.low, estimate.high)
        rows.append((metric.title, "infinite" if estimate.value is None else value, between))
    print_table(Table(["Metric", "Value", "Interval"], rows))

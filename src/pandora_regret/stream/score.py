"""score_stream: a comparison of one model, made from sums over its rows in one pass over a file of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pandora_regret.compare.conclusion import Background, conclude, costs_of_workup, read_interval
from pandora_regret.compare.result import Comparison, Costs, Data, IntervalMethod, ModelResult
from pandora_regret.compare.sample import are_stated, as_tuple, in_tests
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, suitable_interval
from pandora_regret.inference.joint import Carriers, carriers_of
from pandora_regret.inputs import FloatArray, Forecast, InputError, read_costs
from pandora_regret.metrics import Metric, comparison_metrics, workup_metrics
from pandora_regret.priors import Prior, Uniform
from pandora_regret.priors.names import prior_of_orders, read_prices, spelled_prior
from pandora_regret.stream.sums import Settings, StreamSums, ahead
from pandora_regret.work import run_all

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.workup import Workup

PIECES = 32  # for a cluster: enough that no worker waits long for the last

Progress: TypeAlias = Callable[[int], object]


def score_stream(
    predictions: Predictions,
    *,
    prior: Prior | None = None,
    typical_costs: Any = None,
    currency: str | None = None,
    source: str | None = None,
    bootstrap: int = 0,
    level: float = 0.95,
    seed: int = 0,
    pairs: bool = False,
    rows: int | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    workup: Workup | None = None,
) -> Comparison:
    """Score one model's predictions in one pass; memory does not grow with rows.

    Parameters
    ----------
    predictions
        From `open_predictions`.
    prior, typical_costs, currency, source
        As in `compare`; a file with cost columns brings typical costs of its own.
    bootstrap
        How many replicates to draw; 0 leaves intervals to standard errors. Rows of one group are drawn together.
    level
        Of the intervals.
    seed
        Of the bootstrap. What is drawn depends on it and on rows' groups, ids or numbers alone.
    pairs
        Whether to sum who pays for which wrong test, (K, K), too.
    rows
        How many rows to read at a time; some tens of megabytes of them unless given.
    jobs, cluster
        How many processes, or the address of a Dask scheduler, to tally fragments of the files.
    progress
        Called with the number of rows that were scored since the last call.
    workup
        A work-up to score by, instead of a search, as in `compare`.

    Returns
    -------
    Comparison
        Of one model: every metric with its interval. What takes all rows at once is left out: what forecasts
        predict, recalibration, results by class and by group.

    See Also
    --------
    compare : Several models, in memory.
    search_tally : The sums of one batch, to be merged by hand.

    Examples
    --------
    >>> from pandora_regret.files import open_predictions
    >>> [predictions] = open_predictions("predictions.parquet")  # doctest: +SKIP
    >>> score_stream(predictions, bootstrap=1000).best.scores["expected_cost"]  # doctest: +SKIP
    Estimate(value=1.1667, low=1.161, high=1.1722, warning=None)
    """
    from pandora_regret.stream.ids import check_each_id_once  # which needs pyarrow, as files do

    interval = read_interval(level, bootstrap, seed)
    settings = read_settings(predictions, prior, typical_costs, interval, pairs, workup)
    costs = charged(predictions, settings, prior, typical_costs, currency, source, workup)
    predictions = predictions.watching()
    if not settings.bootstrap or predictions.columns.group is not None:
        predictions = replace(predictions, columns=replace(predictions.columns, id=None))  # nothing asks for ids
    work = partial(tally, settings=settings, rows=rows)
    if jobs == 1 and cluster is None:
        whole = work(predictions, progress=progress)
    else:
        parts = []
        for piece, part in run_all(work, predictions.fragments(PIECES), jobs=jobs, cluster=cluster):
            parts.append((piece.first_row, part))
            if progress is not None:
                progress(part.cases)
        whole = merged(StreamSums(predictions.name, predictions.classes, settings), parts)
    check_something_was_scored(whole, predictions)
    check_each_id_once(predictions, whole.seen)
    return comparison_of_sums(whole, interval, costs, workup, prior)


def read_settings(
    predictions: Predictions,
    prior: Any,
    typical_costs: Any,
    interval: IntervalMethod,
    pairs: bool,
    workup: Workup | None = None,
) -> Settings:
    """The metrics, the prior and the costs, matched to the classes; costs that nobody states are tests."""
    if workup is not None and (typical_costs is not None or pairs):
        raise InputError("costs and pairs are about the tests of a search: leave them out beside a work-up.")
    if workup is not None and predictions.order_only:
        raise InputError(f"{predictions.path} lists options in order only: a work-up needs their probabilities.")
    if typical_costs is not None and predictions.columns.costs:
        problem = f"{predictions.path} has cost columns and typical_costs are given too"
        raise InputError(problem, fix="pass one price list, not both")
    if predictions.columns.group is not None and not interval.replicates:
        raise InputError(
            f"{predictions.path} is read with groups ({predictions.columns.group!r}): intervals of clustered rows "
            "need a bootstrap, such as bootstrap=1000 (--bootstrap 1000)."
        )
    metrics = comparison_metrics(predictions.order_only)
    options = (predictions.logits, interval.replicates, interval.seed, pairs)
    if workup is not None:
        return Settings(Uniform(), None, *options, workup_metrics(workup, prior), by_workup=True)
    if typical_costs is None and not predictions.columns.costs and not are_stated(prior, None, None):
        typical_costs = in_tests(len(predictions.classes))
    prior = prior_of_orders(prior) if predictions.order_only else prior
    prior, base_costs = read_prices(prior, None, typical_costs, predictions.classes)
    return Settings(prior, base_costs, *options, metrics)


def charged(
    predictions: Predictions,
    settings: Settings,
    prior: Prior | None,
    typical_costs: Any,
    currency: str | None = None,
    source: str | None = None,
    workup: Workup | None = None,
) -> Costs:
    """What tests cost, as a comparison says it."""
    if workup is not None:
        return costs_of_workup(workup, prior, currency, source)
    spelled = spelled_prior(settings.prior)
    if predictions.columns.costs:
        return Costs(currency or "", spelled, None, source or "each row's own")
    base = np.ones(len(predictions.classes)) if settings.costs is None else settings.costs
    stated = are_stated(prior, None, typical_costs)
    typical = base * settings.prior.mean
    if typical_costs is not None:  # the very numbers
        typical = read_costs(typical_costs, list(predictions.classes), 1, "typical_costs")
    return Costs(currency or ("" if stated else None), spelled, as_tuple(typical), source)


def tally(
    predictions: Predictions, settings: Settings, rows: int | None = None, progress: Progress | None = None
) -> StreamSums:
    """A file, or one fragment of it wherever that is done."""
    sums = StreamSums(predictions.name, predictions.classes, settings)
    for batch in ahead(predictions.batches(rows)):
        sums.add(batch)
        if progress is not None:
            progress(len(batch))
    return sums


def merged(whole: StreamSums, parts: Iterable[tuple[int, StreamSums]]) -> StreamSums:
    """Numbered parts added in the order of their numbers, so that no digit depends on which was done first."""
    for _, part in sorted(parts, key=itemgetter(0)):
        whole.merge(part)
    return whole


def check_something_was_scored(sums: StreamSums, predictions: Predictions) -> None:
    """Some row, of some weight."""
    if not sums.cases:
        raise predictions.no_rows()
    if not sums.weight:
        raise InputError(f"{predictions.path}: the weight of every row is 0: give at least one a positive weight.")


def comparison_of_sums(
    sums: StreamSums,
    interval: IntervalMethod,
    costs: Costs,
    workup: Workup | None = None,
    prior: Prior | None = None,
) -> Comparison:
    """What the sums say of the model."""
    class_weights = sums.counts.value[0]
    typical, unavoidable = _typical(sums, costs, workup, prior)
    about = (sums.classes, class_weights, typical, costs.currency, "cases", sums.effective, interval.level)
    metrics = [metric for metric in sums.settings.metrics if _is_known(metric, sums.settings)]
    scores = {metric.key: _estimate(sums, metric, Background(*about)) for metric in metrics}
    pairs = () if sums.pairs is None else tuple(map(tuple, (sums.pairs.value / sums.weight).tolist()))
    model = ModelResult(
        name=sums.name,
        scores=scores,
        unavoidable=unavoidable,
        predicted_cost=Estimate(None),
        calibration=(),
        probability_best=1.0,
        rank=1,
        by_class=(),
        pair_costs=pairs,
        scenarios=(),
        at_stated_prices=scores.get("realised_cost"),
    )
    data = Data(sums.means.count, sums.weight, sums.classes, tuple(class_weights.tolist()), None)
    result = conclude((model,), data, costs, interval, metrics, ranks=dict.fromkeys(scores, (1.0,)))
    return replace(result, done=sums.rescaled.done(sums.name))


def _typical(
    sums: StreamSums, costs: Costs, workup: Workup | None, prior: Prior | None
) -> tuple[FloatArray, float]:
    """What testing each class costs, (K,), on average over rows, and what nothing can save of it."""
    from pandora_regret.workup.scores import WorkupRows

    if workup is None and costs.typical is None:
        return sums.typical.value / sums.cases, float(sums.own.value) / sums.weight
    typical = np.array(costs.typical)
    if workup is not None:
        k = len(sums.classes)
        everyone = Forecast(np.eye(k), False, list(sums.classes), np.arange(k), range(k), 0.0, checked=True)
        typical = WorkupRows(workup, everyone, prior).least()
    return typical, float(sums.counts.value[0] @ typical) / sums.weight


def _is_known(metric: Metric, settings: Settings) -> bool:
    """Whether sums over rows tell it: the excess burden only where prices and prior make it a mean of rows.

    Otherwise it is a ratio of two means, as a comparison in memory has it; the first line says what is wasted.
    """
    alike = settings.costs is not None and len(set(settings.costs)) == 1
    return metric.key != "excess_burden" or settings.by_workup or (settings.prior == Uniform() and alike)


def _estimate(sums: StreamSums, metric: Metric, background: Background) -> Estimate:
    """From percentiles of the bootstrap if there was one, else from Student's t."""
    counts, drawn = sums.counts.value, None
    column = sums.columns.get(metric.key)
    value = float(metric.counts(*counts)) if metric.counts else float(sums.means.values[column])
    if not np.isfinite(value):
        return Estimate(None, warning="infinite: a true class was given probability 0")
    error = _error_of_counts(sums, metric) if column is None else float(sums.means.standard_errors[column])
    if sums.replicates is not None:
        drawn = _drawn(sums, metric) if sums.replicates.clusters > 1 else None
        error = float("nan") if drawn is None else float(drawn.std(ddof=1))
    about = (value, error, sums.effective, background.level)
    limits = suitable_interval(*about, replicates=drawn, is_proportion=metric.is_proportion)
    carriers = None if column is None or metric.is_proportion else _carriers(sums, column, ROUNDING * abs(value))
    return background.score(metric, value, limits, (counts[0], counts[1], counts[2]), carriers)


def _error_of_counts(sums: StreamSums, metric: Metric) -> float:
    """Each row's influence depends on its true and its predicted class alone, so these are summed over."""
    free = 1 - 1 / sums.means.effective_count
    if sums.taken_for is None or metric.gradient is None or free <= ROUNDING:
        return float("nan")
    occurs, named, right = metric.gradient(*sums.counts.value)
    influence = occurs[:, None] + named + np.diag(right)
    return float(np.sqrt((sums.taken_for.value * influence**2).sum() / free))


def _drawn(sums: StreamSums, metric: Metric) -> FloatArray | None:
    """The metric in every replicate that drew any row."""
    assert sums.replicates is not None
    totals = sums.replicates.value
    totals = totals[totals[:, 0] > 0]
    if metric.counts is None:
        return np.asarray(totals[:, 1 + sums.columns[metric.key]] / totals[:, 0])
    counts = totals[:, 1 + len(sums.columns) :].reshape(len(totals), 3, -1).swapaxes(0, 1)
    return metric.counts(*counts) if counts.size else None


def _carriers(sums: StreamSums, column: int, rounding: float) -> Carriers | None:
    """How many cases carry a mean; None of more than 65,536 cases, and of rows in groups."""
    if not sums.kept:
        return None
    table = np.concatenate(sums.kept, axis=1)
    table = table[:, table[0] > 0]
    return carriers_of(table[1 + column], table[0] / table[0].sum(), rounding)

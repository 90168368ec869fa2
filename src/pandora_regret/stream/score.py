"""score_stream: a comparison of one model, made from sums over its rows in one pass over a file of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pandora_regret.compare.result import Comparison, Costs, Data, IntervalMethod, ModelResult
from pandora_regret.compare.sample import are_stated, as_tuple, in_tests
from pandora_regret.compare.verdict import Background, conclude, costs_of_workup, read_interval
from pandora_regret.files.batch import twice
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, suitable_interval
from pandora_regret.inference.joint import Figure
from pandora_regret.inference.keyed import Keys
from pandora_regret.inputs import FloatArray, InputError, read_costs, read_probabilities
from pandora_regret.inputs.errors import renamed
from pandora_regret.kernels.engine import worth_compiling
from pandora_regret.metrics import Metric, comparison_metrics, workup_metrics
from pandora_regret.metrics.fused import LANE_OF
from pandora_regret.priors import Beta, Prior, Uniform
from pandora_regret.priors.names import prior_of_orders, read_prior, spelled_prior
from pandora_regret.stream.sums import Settings, StreamSums, hashes_of, thinned

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.files.source import Source
    from pandora_regret.workup import Workup

PIECES = 32  # for a cluster: enough that no worker waits long for the last
OTHER_FILE = "files that are scored together are parts of one table; if these are two models: use compare"

Progress: TypeAlias = Callable[[int], object]


@renamed("typical_costs", "costs")
def score_stream(
    predictions: Predictions,
    *,
    prior: Prior | None = None,
    costs: Any = None,
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
    prior, costs, currency, source
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
    interval = read_interval(level, bootstrap, seed)
    settings = read_settings(predictions, prior, costs, interval, pairs, currency, source, workup)
    predictions = replace(predictions, watched=predictions.columns.id)
    if predictions.truth is None and (predictions.grouped or not interval.replicates):
        predictions = replace(predictions, columns=replace(predictions.columns, id=None))  # nothing asks for ids
    if jobs == 1 and cluster is None:
        return concluded(predictions, settings, [(0, tally(predictions, settings, rows, progress))])
    from pandora_regret.work import run_all

    parts, work = [], partial(tally, settings=settings, rows=rows)
    for piece, part in run_all(work, predictions.fragments(PIECES), jobs=jobs, cluster=cluster):
        parts.append((piece.first_row, part))
        if progress is not None:
            progress(part.cases)
    return concluded(predictions, settings, parts)


def read_settings(
    predictions: Predictions,
    prior: Any,
    costs: Any,
    interval: IntervalMethod,
    pairs: bool,
    currency: str | None = None,
    source: str | None = None,
    workup: Workup | None = None,
) -> Settings:
    """The metrics, the prior and the costs, matched to the classes; costs that nobody states are tests."""
    path, columns, classes = predictions.path, predictions.columns, predictions.classes
    if predictions.grouped and not interval.replicates:
        problem = f"{path} is read with groups: intervals of clustered rows need a bootstrap"
        raise InputError(f"{problem}, such as bootstrap=1000 (--bootstrap 1000).")
    about = (interval, predictions.logits, pairs)
    if workup is not None:
        from pandora_regret.workup.scores import WorkupRows

        if costs is not None or pairs:
            raise InputError("costs and pairs are about the tests of a search: leave them out beside a work-up.")
        if predictions.order_only:
            raise InputError(f"{path} lists options in order only: a work-up needs their probabilities.")
        metrics, everyone = workup_metrics(workup, prior), read_probabilities(np.eye(len(classes)), classes)
        least, charged = (
            WorkupRows(workup, everyone, prior).least(),
            costs_of_workup(workup, prior, currency, source),
        )
        return Settings(predictions.name, classes, metrics, False, Uniform(), least, None, charged, *about)
    own, stated = bool(columns.costs), bool(columns.costs) or are_stated(prior, costs)
    if own and costs is not None:
        problem = f"{path} has cost columns and costs are given too"
        raise InputError(problem, fix="pass one price list, not both")
    prior = read_prior(prior_of_orders(prior) if predictions.order_only else prior, classes)
    usual = in_tests(len(classes)) * (prior.mean if stated else 1.0)
    if costs is not None:
        usual = read_costs(costs, classes)
    typical, base_costs = (None, None) if own else (usual, usual / prior.mean)
    metrics = comparison_metrics(predictions.order_only)
    is_fused = not predictions.logits and all(each.key in LANE_OF for each in metrics if each.is_mean)
    about_costs = (None, source or "each row's own") if own else (as_tuple(usual), source)
    charged = Costs(currency or ("" if stated else None), spelled_prior(prior), *about_costs)
    return Settings(predictions.name, classes, metrics, is_fused, prior, typical, base_costs, charged, *about)


def is_compiled(settings: Settings, rows: int) -> bool:
    """Whether so many rows, at which every metric looks, are worth a compiled loop that knows all metrics."""
    prior, numbers = settings.prior, rows * len(settings.classes) * len(settings.means)
    return settings.is_fused and isinstance(prior, Beta) and worth_compiling(numbers, prior.alpha)


def tally(
    predictions: Predictions, settings: Settings, rows: int | None = None, progress: Progress | None = None
) -> StreamSums:
    """A file, or one fragment of it wherever that is done; a batch is read while the one before is scored."""
    batches, expected = iter(predictions.batches(rows)), sum(each.expected_rows() for each in predictions.sources)
    compiled = is_compiled(settings, expected)
    sums = StreamSums(settings, compiled)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        if compiled:
            from pandora_regret.kernels import jit

            jit.begin()  # which takes a while
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            sums.add(batch)
            if progress is not None:
                progress(len(batch))
    return sums


def concluded(predictions: Predictions, settings: Settings, parts: Iterable[tuple[int, StreamSums]]) -> Comparison:
    """What numbered sums say of the model, merged by their numbers: no digit depends on which was done first."""
    sums = StreamSums(settings)
    for _, part in sorted(parts, key=itemgetter(0)):
        sums.merge(part)
    if not sums.cases:
        raise predictions.no_rows()
    if not sums.weight:
        raise InputError(f"{predictions.path}: the weight of every row is 0: give at least one a positive weight.")
    check_each_id_once(predictions, thinned(sums.seen))
    by_class, typical, interval = sums.sums["counts"].value[0], settings.typical, settings.interval
    if typical is None:
        typical, unavoidable = sums.sums["typical"].value / sums.cases, float(sums.sums["own"].value) / sums.weight
    else:
        unavoidable = float(by_class @ typical) / sums.weight
    about = (
        settings.classes,
        by_class,
        typical,
        settings.charged.currency,
        "cases",
        sums.effective,
        interval.level,
    )
    kept = None
    if sum(part.shape[1] for part in sums.kept) == sums.cases:
        kept = np.concatenate(sums.kept, axis=1)
        kept = kept[:, kept[0] > 0]
    scores = {metric.key: _estimate(sums, metric, Background(*about), kept) for metric in settings.metrics}
    model = ModelResult(
        name=settings.name,
        scores=scores,
        unavoidable=unavoidable,
        predicted_cost=Estimate(None),
        calibration=(),
        probability_best=1.0,
        rank=1,
        by_class=(),
        pair_costs=tuple(map(tuple, (sums.sums["pairs"].value / sums.weight).tolist())),
        scenarios=(),
        at_stated_prices=scores.get("realised_cost"),
    )
    data = Data(sums.means.count, sums.weight, settings.classes, tuple(by_class.tolist()), None)
    ranks = dict.fromkeys(scores, (1.0,))
    result = conclude((model,), data, settings.charged, interval, settings.metrics, ranks=ranks)
    return replace(result, done=sums.changes.done(settings.name))


def _estimate(sums: StreamSums, metric: Metric, background: Background, kept: FloatArray | None) -> Estimate:
    """From percentiles of the bootstrap if there was one, else from Student's t.

    Of few rows, weights and scores were kept, (1 + means, n): they say whether a handful carries the mean, and how
    skewed it is.
    """
    settings, counts = sums.settings, sums.sums["counts"].value
    keys, free = [each.key for each in settings.means], 1 - 1 / sums.means.effective_count
    drawn, carriers, skew = None, None, 0.0
    if metric.counts is None:
        column = keys.index(metric.key)
        value, error = (float(of[column]) for of in (sums.means.values, sums.means.standard_errors))
    else:
        value, error = float(metric.counts(*counts)), np.nan
        if sums.by_class and metric.gradient is not None and free > ROUNDING:
            occurs, named, right = metric.gradient(*counts)
            influence = occurs[:, None] + named + np.diag(right)  # of a row of class i that is taken for class j
            error = float(np.sqrt((sums.sums["taken for"].value * influence**2).sum() / free))
    if not np.isfinite(value):
        return Estimate(None, warning="infinite: a true class was given probability 0")
    if settings.interval.replicates:
        totals = sums.sums["replicates"].value
        totals = totals[totals[:, 0] > 0]
        if metric.counts is None:
            drawn = totals[:, 1 + column] / totals[:, 0]
        elif sums.by_class:
            drawn = metric.counts(*totals[:, 1 + len(keys) :].reshape(len(totals), 3, -1).swapaxes(0, 1))
        drawn = drawn if len(sums.clusters) > 1 else None  # a single cluster shows no spread
        error = np.nan if drawn is None else float(drawn.std(ddof=1))
    if metric.counts is None and not metric.is_proportion and kept is not None:
        figure = Figure.of_mean(kept[1 + column], kept[0])
        carriers, skew = figure.carriers(abs(value)), figure.acceleration
    about = (value, error, sums.effective, background.level)
    limits = suitable_interval(*about, replicates=drawn, acceleration=skew, is_proportion=metric.is_proportion)
    return background.score(metric, value, limits, (counts[0], counts[1], counts[2]), carriers)


def check_each_id_once(predictions: Predictions, seen: Keys) -> None:
    """That no id came twice: where hashes did, the ids are read again, and an error says which and where."""
    if not len(repeated := seen[1:][seen[1:] == seen[:-1]]):
        return
    from pandora_regret.files.columns import texts_of

    first: dict[str, tuple[Source, int]] = {}
    for source, numbers, column in predictions.ids():
        rows = np.flatnonzero(np.isin(hashes_of(column), repeated))
        for row, name in zip(rows.tolist(), texts_of(column.take(rows)).tolist(), strict=True):
            place = source, int(numbers[row])
            if (before := first.setdefault(name, place)) != place:
                about = twice(name, *before)
                if source.path != before[0].path:
                    about["fix"] = OTHER_FILE
                raise source.error(place[1], **about)

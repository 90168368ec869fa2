"""score_stream: a comparison of one model, made from sums over its rows in one pass over a file of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pandora_regret.compare.charge import Charge, charge_for_search, charge_for_workup
from pandora_regret.compare.result import Comparison, Costs, Data, IntervalMethod, ModelResult
from pandora_regret.compare.verdict import Background, conclude, read_interval
from pandora_regret.core.inputs import FloatArray, Forecast, InputError, IntArray, read_probabilities, renamed
from pandora_regret.core.kernels import native
from pandora_regret.core.kernels.engine import wasted_pairs, worth_compiling
from pandora_regret.core.kernels.reference import unavoidable_costs
from pandora_regret.core.priors import Beta, Prior
from pandora_regret.core.tally import Means, Sum
from pandora_regret.files.batch import FILE, NO_CHANGES, Batch, blamed, twice
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, ROUNDING, effective_of_sums, suitable_interval
from pandora_regret.inference.joint import MANY, Figure
from pandora_regret.inference.keyed import keys_of
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.metrics import Metric
from pandora_regret.metrics.fused import LANE_OF, FusedScores, score_columns

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.files.source import Source
    from pandora_regret.workup import Workup

SPARSE = 1000  # of ids far down in a file, one in so many is looked at
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
    for piece, part in run_all(work, predictions.fragments(), jobs=jobs, cluster=cluster):
        parts.append((piece.first_row, part))
        if progress is not None:
            progress(part.cases)
    return concluded(predictions, settings, parts)


@dataclass(frozen=True)
class Settings:
    """How the rows of a model are scored and charged."""

    charge: Charge
    own_costs: bool  # whether each row has costs of its own
    interval: IntervalMethod
    n_classes: int
    logits: bool
    with_pairs: bool

    @property
    def means(self) -> list[Metric]:
        """The metrics that are means of rows."""
        return [metric for metric in self.charge.metrics if metric.is_mean]

    def is_compiled(self, rows: int) -> bool:
        """Whether so many rows, at which every metric looks, are worth a compiled loop that knows all metrics."""
        numbers, prior = rows * self.n_classes * len(self.means), self.charge.prior
        fused = not self.logits and all(metric.key in LANE_OF for metric in self.means)
        return fused and isinstance(prior, Beta) and worth_compiling(numbers, prior.alpha, only_scores=True)

    def forecast(self, batch: Batch, rows: IntArray | None = None) -> Forecast:
        """All rows of a batch with their base costs; or some, where these are those of all rows."""
        costs = self.charge.base if batch.costs is None else batch.costs / self.charge.prior.mean
        return batch.forecast(rows).with_costs(costs)


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
    """What the rows are charged for, matched to the classes."""
    path, own, classes = predictions.path, bool(predictions.columns.costs), predictions.classes
    if predictions.grouped and not interval.replicates:
        problem = f"{path} is read with groups: intervals of clustered rows need a bootstrap"
        raise InputError(f"{problem}, such as bootstrap=1000 (--bootstrap 1000).")
    if workup is not None:
        if costs is not None or pairs:
            raise InputError("costs and pairs are about the tests of a search: leave them out beside a work-up.")
        if predictions.order_only:
            raise InputError(f"{path} lists options in order only: a work-up needs their probabilities.")
        of_each = read_probabilities(np.eye(len(classes)), classes)
        charge = charge_for_workup(workup, of_each, prior, currency, source)
    elif own and costs is not None:
        problem = f"{path} has cost columns and costs are given too"
        raise InputError(problem, fix="pass one price list, not both")
    else:
        by_order = predictions.order_only
        charge = charge_for_search(classes, None, prior, costs, currency, source, by_order=by_order)
        if own:
            charged = Costs(currency or "", charge.costs.prior, None, source or "each row's own")
            charge = replace(charge, costs=charged)
    return Settings(charge, own, interval, len(classes), predictions.logits, pairs)


def tally(
    predictions: Predictions, settings: Settings, rows: int | None = None, progress: Progress | None = None
) -> StreamSums:
    """A file, or one fragment of it wherever that is done; a batch is read while the one before is scored."""
    compiled = settings.is_compiled(sum(each.expected_rows() for each in predictions.sources))
    batches, sums = iter(predictions.batches(rows)), StreamSums(settings, compiled)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        if compiled:
            native.loop()  # which takes a while
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            sums.add(batch)
            if progress is not None:
                progress(len(batch))
    return sums


class StreamSums:
    """Everything summed over the rows of one model; two of them, of different rows, merge into one."""

    def __init__(self, settings: Settings, compiled: bool = False) -> None:
        k, n_means, n_draws = settings.n_classes, len(settings.means), settings.interval.replicates
        self.settings, self.compiled, self.cases, self.changes = settings, compiled, 0, NO_CHANGES
        self.means, self.by_class = Means((n_means,)), k <= MOST_CLASSES
        self.kept: list[FloatArray] = []  # (1 + means, n) each: weights and scores of all rows while they are few
        self.ids: dict[
            str | None, tuple[Source, int]
        ] = {}  # of each file's first rows and some others, and where they stand
        self.clusters: set[int] = set()  # the lowest and highest key of each batch
        shapes: dict[str, tuple[int, ...]] = {
            "fourth powers": (),  # of weights
            "counts": (3, k),  # weight of each class that is true, predicted, and both
            "taken for": (k, k) if self.by_class else (0, 0),  # squared weight of i predicted as j
            "pairs": (k, k) if settings.with_pairs else (0, 0),
            "typical": (k,),  # of rows that have costs of their own
            "own": (),  # what these pay for testing the truth itself
            "replicates": (n_draws, 1 + n_means + 3 * k * self.by_class),
        }
        self.sums = {name: Sum(shape) for name, shape in shapes.items()}

    def add(self, batch: Batch) -> None:
        """Add rows; one that cannot be scored is an error that names it."""
        settings, few = self.settings, batch.groups is None and self.cases + len(batch) <= MANY
        with blamed(batch.place):
            scores, rows = self._score(batch, few or settings.interval.replicates > 0)
        weights = np.broadcast_to(1.0, len(batch)) if batch.weights is None else batch.weights
        if few:
            of_cases = scores.table if rows is None else rows.per_case(scores.table.T).T
            self.kept.append(np.concatenate([weights[None], of_cases]))
        self.cases += len(batch)
        self.changes += batch.changes
        self.means.merge(scores.means)
        self.sums["fourth powers"].add(len(batch) if batch.weights is None else (weights**4).sum())
        if batch.id_column is not None:
            from pandora_regret.files.columns import texts_of

            near = int(np.searchsorted(batch.places % FILE, MANY))
            looked_at = np.append(np.arange(near), np.arange(near, len(batch), SPARSE))
            for index, name in zip(looked_at.tolist(), texts_of(batch.id_column.take(looked_at)), strict=True):
                self._see(name, *batch.origin(index))
        self._count(batch, scores, rows)
        if settings.with_pairs:
            for _, _, classes, sums in wasted_pairs(settings.forecast(batch), settings.charge.prior):
                self.sums["pairs"].add(sums, index=classes)
        if batch.costs is not None and rows is not None:
            self.sums["typical"].add(batch.costs.sum(axis=0))
            self.sums["own"].add((rows.per_case(unavoidable_costs(rows, settings.charge.prior)) * weights).sum())

    def _score(self, batch: Batch, with_table: bool) -> tuple[FusedScores, Forecast | None]:
        """Scores and rows; after a compiled pass no rows, and the metrics of each only if they were asked for."""
        settings, narrow = self.settings, batch.columns[0].dtype.itemsize < 4
        if not self.compiled or batch.costs is not None or batch.votes is not None or narrow:
            return self._by_definition(settings.forecast(batch))
        about = (batch.truth, batch.weights, settings.charge.base, settings.charge.prior, batch.tolerance)
        keys = [metric.key for metric in settings.means]
        scores = score_columns(keys, batch.columns, *about, with_table=with_table)
        if len(doubtful := scores.doubtful):  # rows which the loop does not vouch for
            others, _ = self._by_definition(settings.forecast(batch, doubtful))
            scores.means.merge(others.means)
            scores.predicted[doubtful] = others.predicted
            if with_table:
                scores.table[:, doubtful] = others.table
        return scores, None

    def _by_definition(self, forecast: Forecast) -> tuple[FusedScores, Forecast]:
        """As the registry defines metrics, for any prior, costs of each row, votes and logits."""
        rows = replace(forecast := forecast.check(), cluster=None, shares=None)
        table = np.stack([metric.of_rows(rows, self.settings.charge.prior) for metric in self.settings.means])
        means = Means.of(forecast.per_case(table.T).T, forecast.case_weights)
        return FusedScores(means, forecast.values.argmax(axis=1), table), forecast

    def _see(self, name: str | None, source: Source, row: int) -> None:
        """An id: all of a file's first rows, and some further down, so that rows that come again are noticed."""
        if not name:
            raise source.error(row, "has no id", fix="fill it in, or drop the row", argument="ids")
        if name in self.ids:
            about = twice(name, *self.ids[name])
            about |= {"fix": OTHER_FILE} if source.path != self.ids[name][0].path else {}
            raise source.error(row, **about)
        self.ids[name] = source, row

    def _count(self, batch: Batch, scores: FusedScores, rows: Forecast | None) -> None:
        """Which class is true, which is predicted, and which is taken for which; and all of it in replicates."""
        about: Any = rows or batch  # of cases that were voted on, the votes
        truth, predicted, k, interval = (
            about.truth,
            scores.predicted,
            self.settings.n_classes,
            self.settings.interval,
        )
        if (cells := scores.cells) is not None:  # summed by a loop that keeps no rows, as nothing is drawn
            self.sums["counts"].add(np.stack([cells[0].sum(axis=1), cells[0].sum(axis=0), np.diag(cells[0])]))
            self.sums["taken for"].add(cells[1])
            return
        each = np.broadcast_to(1.0, len(truth)) if about.weights is None else about.weights
        seen = ((truth, each), (predicted, each), (truth, each * (predicted == truth)))
        self.sums["counts"].add(np.stack([np.bincount(column, by, k) for column, by in seen]))
        if self.by_class:
            squared = each**2 if rows is None or rows.shares is None else each**2 / rows.shares
            self.sums["taken for"].add(np.bincount(truth * k + predicted, squared, k * k).reshape(k, k))
        if not interval.replicates:
            return
        finite = np.where(np.isfinite(scores.table), scores.table, 0.0)  # an infinite mean has no interval
        sums = np.stack([each, *(each * finite)], axis=1)
        names = batch.ids if batch.groups is None else batch.groups  # else rows are drawn by their numbers
        keys = keys_of(np.arange(batch.first_row, batch.first_row + len(batch)) if names is None else names)
        keys = keys if rows is None else rows.per_row(keys)
        self.clusters |= {int(keys.min()), int(keys.max())}
        for some, drawn in weights_in_parts(keys, interval.replicates, interval.seed):
            parts = [weighted_sums(drawn, sums)]
            for column, by in seen if self.by_class else ():
                parts.append(np.array([np.bincount(column, by * often, k) for often in drawn]))
            self.sums["replicates"].add(np.hstack(parts), index=some)

    def merge(self, other: StreamSums) -> None:
        """Add the rows of another of the same model."""
        self.cases += other.cases
        self.changes += other.changes
        self.clusters |= other.clusters
        self.kept += other.kept
        self.means.merge(other.means)
        for name, place in other.ids.items():
            self._see(name, *place)
        for key, ours in self.sums.items():
            ours.merge(other.sums[key])

    @property
    def weight(self) -> float:
        """The sum of weights; the number of cases where there are none."""
        return float(self.means.weight.value)

    @property
    def effective(self) -> float:
        """How many cases of equal weight would say as much."""
        second = self.weight**2 / self.means.effective_count
        return float(effective_of_sums(self.weight, second, self.sums["fourth powers"].value))


def concluded(predictions: Predictions, settings: Settings, parts: Iterable[tuple[int, StreamSums]]) -> Comparison:
    """What numbered sums say of the model, merged by their numbers: no digit depends on which was done first."""
    sums = StreamSums(settings)
    for _, part in sorted(parts, key=itemgetter(0)):
        sums.merge(part)
    if not sums.cases:
        raise predictions.no_rows()
    if not sums.weight:
        raise InputError(f"{predictions.path}: the weight of every row is 0: give at least one a positive weight.")
    charge, interval, classes = settings.charge, settings.interval, predictions.classes
    by_class, typical = sums.sums["counts"].value[0], charge.typical
    if settings.own_costs:
        typical, unavoidable = sums.sums["typical"].value / sums.cases, float(sums.sums["own"].value) / sums.weight
    else:
        unavoidable = float(by_class @ typical) / sums.weight
    about = (classes, by_class, typical, charge.costs.currency, "cases", sums.effective, interval.level)
    kept = None
    if sum(part.shape[1] for part in sums.kept) == sums.cases:
        kept = np.concatenate(sums.kept, axis=1)
        kept = kept[:, kept[0] > 0]
    scores = {metric.key: _estimate(sums, metric, Background(*about), kept) for metric in charge.metrics}
    model = ModelResult(
        name=predictions.name,
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
    data = Data(sums.means.count, sums.weight, classes, tuple(by_class.tolist()), None)
    ranks = dict.fromkeys(scores, (1.0,))
    result = conclude((model,), data, charge.costs, interval, charge.metrics, ranks=ranks)
    return replace(result, done=sums.changes.done(predictions.name))


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

"""Scores of predictions that need not fit into memory: one pass over batches, through sums that can be merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pandora_regret.files.batch import Batch
from pandora_regret.inference.intervals import (
    ROUNDING,
    effective_of_sums,
    hull,
    interval_by_classes,
    suitable_interval,
)
from pandora_regret.inference.joint import Carriers
from pandora_regret.inference.resampling import Resampled
from pandora_regret.inputs import FloatArray, InputError, read_count
from pandora_regret.inputs.tables import NOTHING_RESCALED
from pandora_regret.kernels.engine import wasted_pairs
from pandora_regret.metrics import Metric, comparison_metrics, workup_metric
from pandora_regret.priors import Prior
from pandora_regret.priors.names import prior_of_orders, read_prices
from pandora_regret.stream.batches import Scored, Settings, ahead, score_batch
from pandora_regret.stream.rows import MOST_CLASSES, Remembered, SeenIds, resample
from pandora_regret.tally import Means, Sum
from pandora_regret.work import run_all

if TYPE_CHECKING:
    from pandora_regret.files import Predictions
    from pandora_regret.workup import Workup

PIECES = 32  # for a cluster: enough that no worker waits long for the last

Progress: TypeAlias = Callable[[int], object]


class StreamScore:
    """Everything summed over the rows of one model; two of them, of different rows, merge into one.

    Examples
    --------
    >>> score = score_stream(open_predictions("predictions.csv")[0])  # doctest: +SKIP
    >>> score.value("pandora_regret"), score.interval("pandora_regret")  # doctest: +SKIP
    (0.2917, (0.2893, 0.2941))
    """

    def __init__(self, name: str, classes: tuple[str, ...], settings: Settings) -> None:
        k = len(classes)
        self.name, self.classes, self.settings = name, classes, settings
        self.rows = 0
        self.columns = {metric.key: column for column, metric in enumerate(settings.means)}
        self.means = Means((len(self.columns),))
        self.fourth_powers = Sum()  # of weights
        self.classes_counted = Sum((3, k))  # weight of each class that is true, predicted, and both
        self.taken_for = Sum((k, k)) if k <= MOST_CLASSES else None  # squared weight of i predicted as j
        self._pairs = Sum((k, k)) if settings.with_pairs else None
        summed = 1 + len(self.columns) + (3 * k if k <= MOST_CLASSES else 0)
        self.seen = SeenIds()
        self.rescaled = NOTHING_RESCALED
        self.replicates = Resampled(summed, settings.bootstrap, settings.seed) if settings.bootstrap else None
        self.remembered = Remembered()

    def add(self, batch: Batch) -> None:
        """Add rows."""
        with_table = self.replicates is not None or self.remembered.has_room_for(batch)
        scored = score_batch(batch, self.settings, before=self.rows, with_table=with_table)
        self.remembered.add(batch, scored)
        self.means.merge(scored.means)
        self.fourth_powers.add(len(batch) if batch.weights is None else (batch.weights**4).sum())
        self.rows += len(batch)
        self.rescaled += batch.rescaled
        if batch.id_column is not None:
            from pandora_regret.stream.ids import hashes_of_batch

            self.seen.add(hashes_of_batch(batch))
        self._count(batch, scored)
        if self._pairs is not None:
            self._add_pairs(batch)
        if self.replicates is not None:
            resample(self.replicates, batch, scored, len(self.classes))

    def _count(self, batch: Batch, scored: Scored) -> None:
        """Which class is true, which is predicted, and which is taken for which."""
        weights, k = batch.weights, len(self.classes)
        if batch.votes is not None:
            self._count_votes(batch.votes, np.ones(len(batch)) if weights is None else weights, scored.predicted)
            return
        if self.taken_for is None:
            right = (scored.predicted == batch.truth) * (1.0 if weights is None else weights)
            counts = [(batch.truth, weights), (scored.predicted, weights), (batch.truth, right)]
            self.classes_counted.add(np.stack([np.bincount(classes, by, k) for classes, by in counts]))
            return
        confusion = scored.confusion(batch.truth, weights, k)
        self.classes_counted.add(np.stack([confusion.sum(axis=1), confusion.sum(axis=0), np.diag(confusion)]))
        self.taken_for.add(confusion if weights is None else scored.confusion(batch.truth, weights**2, k))

    def _count_votes(self, votes: FloatArray, weights: FloatArray, predicted: NDArray[Any]) -> None:
        """The same of votes; squares of weights times shares bound what a row adds to a variance from above."""
        k, rows, named = len(self.classes), np.arange(len(votes)), np.asarray(predicted, dtype=np.intp)
        right = np.bincount(named, weights * votes[rows, named], k)
        self.classes_counted.add(np.stack([weights @ votes, np.bincount(named, weights, k), right]))
        if self.taken_for is not None:
            row, truth = np.nonzero(votes)
            squares = weights[row] ** 2 * votes[row, truth]
            self.taken_for.add(np.bincount(truth * k + named[row], squares, k * k).reshape(k, k))

    def _add_pairs(self, batch: Batch) -> None:
        assert self._pairs is not None
        for _, _, classes, sums in wasted_pairs(self.settings.forecast(batch), self.settings.prior):
            self._pairs.add(sums, index=classes)

    def merge(self, other: StreamScore) -> None:
        """Add the rows of another score of the same model."""
        self.rows += other.rows
        self.means.merge(other.means)
        self.seen.merge(other.seen)
        self.rescaled += other.rescaled
        for name in ("fourth_powers", "classes_counted", "taken_for", "_pairs", "replicates", "remembered"):
            if (ours := getattr(self, name)) is not None:
                ours.merge(getattr(other, name))

    def carriers(self, metric: str) -> Carriers | None:
        """How many rows carry a mean; None of more than 65,536 rows, of rows in groups, and of what is no mean."""
        if metric not in self.columns:
            return None
        return self.remembered.carriers(self.columns[metric], ROUNDING * abs(self.value(metric)))

    @property
    def weight(self) -> float:
        """The sum of weights; the number of rows where there are none."""
        return float(self.means.weight.value)

    @property
    def effective(self) -> float:
        """How many rows of equal weight would say as much."""
        second = self.weight**2 / self.means.effective_count
        return effective_of_sums(self.weight, second, float(self.fourth_powers.value))

    @property
    def class_weights(self) -> FloatArray:
        """The weight of each true class, (K,)."""
        return np.asarray(self.classes_counted.value[0])

    @property
    def pair_costs(self) -> FloatArray | None:
        """Mean spend per instance on testing j when the truth is i, (K, K); None unless it was asked for."""
        return None if self._pairs is None else np.asarray(self._pairs.value / self.weight)

    def value(self, metric: str) -> float:
        """One of the settings' metrics, by its key."""
        formula = self._metric(metric).counts
        if formula is not None:
            return float(formula(*self.classes_counted.value))
        return float(self.means.values[self.columns[metric]])

    def standard_error(self, metric: str) -> float:
        """Of the metric, by linearisation; nan where a single row, or too many classes, say nothing."""
        gradient = self._metric(metric).gradient
        if gradient is not None:
            return self._error_of_counts(*gradient(*self.classes_counted.value))
        return float(self.means.standard_errors[self.columns[metric]])

    def interval(self, metric: str, level: float = 0.95) -> tuple[float, float] | None:
        """Percentiles of the bootstrap if there was one, else Student's t; None where spread cannot be told.

        An interval ends where the metric does: accuracy is at most 1.
        """
        value, drawn, defined = self.value(metric), None, self._metric(metric)
        error = self.standard_error(metric)
        if self.replicates is not None:
            drawn = self._drawn(metric) if self.replicates.clusters > 1 else None
            error = float("nan") if drawn is None else float(drawn.std(ddof=1))
        low, high = suitable_interval(
            value, error, self.effective, level, replicates=drawn, is_proportion=defined.is_proportion
        )
        if defined.counts is not None and self.taken_for is not None:
            occurs, named, right = self.classes_counted.value
            by_classes = interval_by_classes(defined.counts, occurs, named, right, self.effective, level)
            low, high = hull((low, high), by_classes)
        return None if low is None or high is None else defined.within_bounds(value, low, high)

    def scores(self, level: float = 0.95) -> dict[str, dict[str, float | None]]:
        """Every metric with its interval, as in a comparison's JSON."""
        scores = {}
        for metric in self.settings.metrics:
            low, high = self.interval(metric.key, level) or (None, None)
            scores[metric.key] = {"value": self.value(metric.key), "low": low, "high": high}
        return scores

    def _metric(self, key: str) -> Metric:
        by_key = {metric.key: metric for metric in self.settings.metrics}
        if key not in by_key:
            raise InputError(f"metric is {key!r}: it must be one of {', '.join(by_key)}.")
        return by_key[key]

    def _error_of_counts(self, occurs: FloatArray, named: FloatArray, right: FloatArray) -> float:
        """Each row's influence depends on its true and its predicted class alone, so these are summed over."""
        n = self.means.count
        if self.taken_for is None or n < 2:
            return float("nan")
        influence = occurs[:, None] + named + np.diag(right)
        return float(np.sqrt(n / (n - 1) * (self.taken_for.value * influence**2).sum()))

    def _drawn(self, metric: str) -> FloatArray | None:
        """The metric in every replicate that drew any row."""
        assert self.replicates is not None
        sums = self.replicates.value
        sums = sums[sums[:, 0] > 0]
        formula = self._metric(metric).counts
        if formula is not None:
            counts = sums[:, 1 + len(self.columns) :].reshape(len(sums), 3, -1).swapaxes(0, 1)
            return formula(*counts) if counts.size else None
        if not np.isfinite(self.value(metric)):
            return None
        return np.asarray(sums[:, 1 + self.columns[metric]] / sums[:, 0])


def score_stream(
    predictions: Predictions,
    *,
    prior: Prior | None = None,
    typical_costs: Any = None,
    bootstrap: int = 0,
    seed: int = 0,
    pairs: bool = False,
    rows: int | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    workup: Workup | None = None,
) -> StreamScore:
    """Score one model's predictions in one pass; memory does not grow with rows.

    Parameters
    ----------
    predictions
        From `open_predictions`.
    prior, typical_costs
        As in `expected_search_cost`; a file with cost columns brings typical costs of its own.
    bootstrap
        How many replicates to draw; 0 leaves intervals to standard errors. Rows of one group are drawn together.
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
        A work-up to score by, instead of a search: the metric "workup_cost" takes the place of those about costs
        of tests. `prior` then says how its costs vary; they are known unless it is given.

    Returns
    -------
    StreamScore
        Every metric with its standard error and interval, and the tally behind it.

    See Also
    --------
    search_tally : The sums of one batch, to be merged by hand.

    Examples
    --------
    >>> from pandora_regret.files import open_predictions
    >>> [predictions] = open_predictions("predictions.parquet")  # doctest: +SKIP
    >>> score_stream(predictions, bootstrap=1000).interval("expected_cost")  # doctest: +SKIP
    (0.5805, 0.5861)
    """
    from pandora_regret.stream.ids import check_each_id_once  # which needs pyarrow, as files do

    if workup is not None and predictions.order_only:
        raise InputError(f"{predictions.path} lists options in order only: a work-up needs their probabilities.")
    settings = read_settings(predictions, None if workup else prior, typical_costs, bootstrap, seed, pairs)
    if workup is not None:
        settings = _by_workup(settings, workup, prior, typical_costs)
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
                progress(part.rows)
        whole = merged(StreamScore(predictions.name, predictions.classes, settings), parts)
    check_something_was_scored(whole, predictions)
    check_each_id_once(predictions, whole.seen)
    return whole


def read_settings(
    predictions: Predictions, prior: Any, typical_costs: Any, bootstrap: int, seed: int, pairs: bool
) -> Settings:
    """The prior and the costs, matched to the classes."""
    if typical_costs is not None and predictions.columns.costs:
        problem = f"{predictions.path} has cost columns and typical_costs are given too"
        raise InputError(problem, fix="pass one price list, not both")
    prior = prior_of_orders(prior) if predictions.order_only else prior
    prior, base_costs = read_prices(prior, None, typical_costs, predictions.classes)
    replicates = read_count(bootstrap, "bootstrap", least=0)
    if predictions.columns.group is not None and not replicates:
        raise InputError(
            f"{predictions.path} is read with groups ({predictions.columns.group!r}): intervals of clustered rows "
            "need a bootstrap, such as bootstrap=1000 (--bootstrap 1000)."
        )
    metrics = comparison_metrics(predictions.order_only)
    return Settings(prior, base_costs, predictions.logits, replicates, seed, pairs, metrics)


def _by_workup(settings: Settings, workup: Workup, prior: Prior | None, typical_costs: Any) -> Settings:
    if typical_costs is not None or settings.with_pairs:
        raise InputError("costs and pairs are about the tests of a search: leave them out beside a work-up.")
    others = tuple(metric for metric in settings.metrics if not metric.priced)
    return replace(settings, metrics=(workup_metric(workup, prior), *others), workup_prior=prior)


def tally(
    predictions: Predictions, settings: Settings, rows: int | None = None, progress: Progress | None = None
) -> StreamScore:
    """A file, or one fragment of it wherever that is done."""
    score = StreamScore(predictions.name, predictions.classes, settings)
    for batch in ahead(predictions.batches(rows)):
        score.add(batch)
        if progress is not None:
            progress(len(batch))
    return score


def merged(whole: StreamScore, parts: Iterable[tuple[int, StreamScore]]) -> StreamScore:
    """Numbered parts added in the order of their numbers, so that no digit depends on which was done first."""
    for _, part in sorted(parts, key=itemgetter(0)):
        whole.merge(part)
    return whole


def check_something_was_scored(score: StreamScore, predictions: Predictions) -> None:
    """Some row, of some weight."""
    if not score.rows:
        raise predictions.no_rows()
    if not score.weight:
        raise InputError(f"{predictions.path}: the weight of every row is 0: give at least one a positive weight.")

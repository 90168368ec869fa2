"""Everything that is summed over the rows of one model."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from pandora_regret.core.inputs import FloatArray, Forecast, IntArray
from pandora_regret.core.kernels.engine import wasted_pairs
from pandora_regret.core.kernels.reference import unavoidable_costs
from pandora_regret.core.priors import Beta
from pandora_regret.core.tally import Means, Sum
from pandora_regret.files.batch import NO_CHANGES, Batch, errors_with_places
from pandora_regret.files.file_errors import Complaint
from pandora_regret.inference.joint import MANY_UNITS
from pandora_regret.inference.keyed import Keys, keys_of
from pandora_regret.inference.resampling import weighted_sums, weights_in_parts
from pandora_regret.metrics import rows_of_metrics
from pandora_regret.metrics.fused import FusedScores, fused_scores
from pandora_regret.stream.clusters import ClusterSums
from pandora_regret.stream.ids import SeenIds, TextBytes
from pandora_regret.stream.settings import Settings

CountParts: TypeAlias = list[tuple[IntArray, FloatArray]]  # a class and a weight of each row


class ScoredRows(NamedTuple):
    """Rows of a batch: one for each case, or for each class that has votes in a case."""

    truth: IntArray  # (n,)
    predicted: IntArray  # (n,) the likeliest class
    weights: FloatArray  # (n,)
    squared_weights: FloatArray  # (n,) which add up to the squared weights of cases

    @property
    def class_counts(self) -> CountParts:
        """A class and a weight of each row: the true class, the predicted one, the rightly predicted one."""
        right = self.weights * (self.predicted == self.truth)
        return [(self.truth, self.weights), (self.predicted, self.weights), (self.truth, right)]


class StreamSums:
    """Everything summed over the rows of one model; two of them, of different rows, merge into one."""

    def __init__(self, settings: Settings, compiled: bool = False) -> None:
        k = settings.n_classes
        n_means = len(settings.means)
        counted = k if settings.counts_classes else 0
        self.settings = settings
        self.compiled = compiled
        self.cases = 0
        self.changes = NO_CHANGES
        self.means = Means((n_means,))
        self.ids = SeenIds()
        self.kept: list[FloatArray] = []  # (1 + means, n) each: weights and scores of all cases while they are few
        self.clusters = ClusterSums(n_means, counted) if settings.grouped else None
        self.outer_keys: set[int] = set()  # the lowest and highest key of each batch that was drawn from
        shapes: dict[str, tuple[int, ...]] = {
            "fourth powers": (),  # of weights
            "counts": (3, k),  # weight of each class that is true, predicted, and both
            "taken for": (counted, counted),  # squared weight of i predicted as j
            "pairs": (k, k) if settings.with_pairs else (0, 0),
            "typical": (k,),  # of rows that have costs of their own
            "own": (),  # what these pay for testing the truth itself
            "replicates": (settings.interval.replicates, 1 + n_means + 3 * counted),
        }
        self.sums = {name: Sum(shape) for name, shape in shapes.items()}

    def add(self, batch: Batch) -> None:
        """Add rows, but for those without a label; one that cannot be scored is an error that names it."""
        labelled = batch.labelled()
        self.changes += labelled.changes
        if len(labelled):
            self._add_labelled(labelled)
        self._add_ids(batch)

    def _add_labelled(self, batch: Batch) -> None:
        """Add rows that all have a label."""
        settings = self.settings
        are_few = not settings.grouped and self.cases + len(batch) <= MANY_UNITS
        with errors_with_places(batch.place):
            scores, forecast = self._score(batch, are_few or settings.needs_rows)
        if are_few:
            table = scores.table if forecast is None else forecast.per_case(scores.table.T).T
            self.kept.append(np.concatenate([case_weights(batch)[None], table]))
        self.cases += len(batch)
        self.means.merge(scores.means)
        self.sums["fourth powers"].add(len(batch) if batch.weights is None else (batch.weights**4).sum())
        self._add_classes(batch, scores, forecast)
        if settings.with_pairs:
            for _, _, classes, sums in wasted_pairs(settings.forecast(batch), settings.charge.prior):
                self.sums["pairs"].add(sums, index=classes)
        if batch.costs is not None and forecast is not None:
            unavoidable = forecast.per_case(unavoidable_costs(forecast, settings.charge.prior))
            self.sums["typical"].add(batch.costs.sum(axis=0))
            self.sums["own"].add((unavoidable * case_weights(batch)).sum())

    def _score(self, batch: Batch, with_table: bool) -> tuple[FusedScores, Forecast | None]:
        """The scores of a batch, and its rows; after a compiled pass None, as nobody needs them."""
        settings = self.settings
        is_narrow = batch.columns[0].dtype.itemsize < 4
        if not self.compiled or batch.costs is not None or batch.votes is not None or is_narrow:
            return self._by_definition(settings.forecast(batch))
        prior = settings.charge.prior
        assert isinstance(prior, Beta)  # else nothing is compiled
        scores = fused_scores(
            [metric.key for metric in settings.means],
            batch.columns,
            batch.truth,
            batch.weights,
            settings.charge.base,
            prior,
            batch.tolerance,
            with_table=with_table,
        )
        doubtful = scores.doubtful  # rows which the loop does not vouch for
        if len(doubtful):
            rest, _ = self._by_definition(settings.forecast(batch, doubtful))
            scores.means.merge(rest.means)
            scores.predicted[doubtful] = rest.predicted
            if with_table:
                scores.table[:, doubtful] = rest.table
        return scores, None

    def _by_definition(self, forecast: Forecast) -> tuple[FusedScores, Forecast]:
        """As the registry defines metrics, for any prior, costs of each row, votes and logits."""
        forecast = forecast.check()
        table = scores_of_rows(forecast, self.settings)
        means = Means.of(forecast.per_case(table.T).T, forecast.case_weights)
        return FusedScores(means, forecast.values.argmax(axis=1), table), forecast

    def _add_ids(self, batch: Batch) -> None:
        """Remember the ids, if there are any; a row without one is an error that names it."""
        if batch.id_texts is None:
            return
        texts = TextBytes.of(batch.id_texts)
        blank = texts.first_blank(batch.id_texts)
        if blank is not None:
            source, row = batch.origin(blank)
            complaint: Complaint = {
                "problem": "has no id",
                "fix": "fill it in, or drop the row",
                "argument": "ids",
            }
            raise source.error(row, complaint)
        self.ids.add(texts.hashes())

    def _add_classes(self, batch: Batch, scores: FusedScores, forecast: Forecast | None) -> None:
        """Which class is true, which is predicted, which is taken for which: in all, by cluster, in replicates."""
        if scores.cells is not None:  # summed by the compiled loop
            weight, squared = scores.cells
            self.sums["counts"].add(np.stack([weight.sum(axis=1), weight.sum(axis=0), np.diag(weight)]))
            self.sums["taken for"].add(squared)
            if not self.settings.needs_rows:
                return
        rows = scored_rows(batch, scores, forecast)
        if scores.cells is None:
            self._count(rows)
        if self.settings.needs_rows:
            keys = drawing_keys(batch)
            if forecast is not None:
                keys = forecast.per_row(keys)
            finite = np.where(np.isfinite(scores.table), scores.table, 0.0)  # an infinite mean has no interval
            if self.clusters is not None:
                self.clusters.add(keys, rows.weights, finite, rows.truth, rows.predicted)
            if self.settings.interval.replicates:
                self._draw(keys, rows, finite)

    def _count(self, rows: ScoredRows) -> None:
        """Add rows to the counts of classes."""
        k = self.settings.n_classes
        self.sums["counts"].add(np.stack([np.bincount(*column, k) for column in rows.class_counts]))
        if self.settings.counts_classes:
            cells = np.bincount(rows.truth * k + rows.predicted, rows.squared_weights, k * k)
            self.sums["taken for"].add(cells.reshape(k, k))

    def _draw(self, keys: Keys, rows: ScoredRows, table: FloatArray) -> None:
        """Add rows, with their values of each mean, (means, n), to every replicate that draws them."""
        interval = self.settings.interval
        self.outer_keys |= {int(keys.min()), int(keys.max())}
        sums = np.stack([rows.weights, *(rows.weights * table)], axis=1)
        class_counts = rows.class_counts if self.settings.counts_classes else []
        for numbers, drawn in weights_in_parts(keys, interval.replicates, interval.seed):
            parts = [weighted_sums(drawn, sums)]
            for classes, weights in class_counts:
                counts = [np.bincount(classes, weights * often, self.settings.n_classes) for often in drawn]
                parts.append(np.array(counts))
            self.sums["replicates"].add(np.hstack(parts), index=numbers)

    def merge(self, other: StreamSums) -> None:
        """Add the rows of another of the same model."""
        self.cases += other.cases
        self.changes += other.changes
        self.kept += other.kept
        self.means.merge(other.means)
        self.ids.merge(other.ids)
        self.outer_keys |= other.outer_keys
        if self.clusters is not None and other.clusters is not None:
            self.clusters.merge(other.clusters)
        for name, total in self.sums.items():
            total.merge(other.sums[name])

    @property
    def weight(self) -> float:
        """The sum of weights; the number of cases where there are none."""
        return float(self.means.weight.value)


def scores_of_rows(forecast: Forecast, settings: Settings) -> FloatArray:
    """Every mean's value of every row by the registry's definition, (means, n)."""
    alone = replace(forecast, cluster=None, shares=None)  # each row stands for itself
    by_metric = rows_of_metrics(settings.means, alone, settings.charge.prior)
    return np.stack([by_metric[metric.key] for metric in settings.means])


def scored_rows(batch: Batch, scores: FusedScores, forecast: Forecast | None) -> ScoredRows:
    """The rows of a batch; of cases that were voted on, one for each class that has votes."""
    if forecast is None:
        weights = case_weights(batch)
        return ScoredRows(batch.truth, scores.predicted, weights, weights**2)
    weights = forecast.each_weight
    squared = weights**2 if forecast.shares is None else weights**2 / forecast.shares
    return ScoredRows(forecast.truth, scores.predicted, weights, squared)


def case_weights(batch: Batch) -> FloatArray:
    """The weight of each case, (n,): 1 unless there are others."""
    return np.ones(len(batch)) if batch.weights is None else batch.weights


def drawing_keys(batch: Batch) -> Keys:
    """What tells cases apart when they are drawn, (n,): their clusters, or else ids, or else numbers."""
    if batch.groups is not None:
        return keys_of(batch.groups)
    if batch.ids is not None:
        return keys_of(batch.ids)
    places = np.arange(len(batch)) if batch.kept is None else batch.kept
    return keys_of(batch.first_row + places)

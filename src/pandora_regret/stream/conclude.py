"""From sums to a comparison of one model: every metric with its interval, made as `compare` makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.comparison.conclude import Numbers, conclude
from pandora_regret.comparison.doubts import Background, Finding, Impossible
from pandora_regret.comparison.estimate import ModelFindings
from pandora_regret.comparison.judge import Contest, Evidence
from pandora_regret.comparison.parts import Data
from pandora_regret.comparison.request import DEFAULT_WORTH, Provenance
from pandora_regret.comparison.result import Comparison
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.files.batch import check_labelled
from pandora_regret.inference.intervals import ROUNDING, effective_of_sums, suitable_interval
from pandora_regret.inference.joint import Carriers, Figure, effective_number
from pandora_regret.metrics import Metric
from pandora_regret.stream.ids import check_each_once
from pandora_regret.stream.settings import Settings
from pandora_regret.stream.sums import StreamSums

if TYPE_CHECKING:
    from pandora_regret.files import Predictions


def concluded(
    predictions: Predictions,
    settings: Settings,
    parts: Iterable[tuple[int, StreamSums]],
    provenance: Provenance | None = None,
) -> Comparison:
    """What numbered sums say of the model, merged by their numbers: no digit depends on which was done first.

    `provenance` says where predictions come from; what was changed as rows were read is added to it.
    """
    sums = StreamSums(settings)
    for _, part in sorted(parts, key=itemgetter(0)):
        sums.merge(part)
    n_unlabelled = sums.changes.unlabelled
    check_labelled(n_unlabelled, sums.cases + n_unlabelled, predictions.path)
    if not sums.cases:
        raise predictions.no_rows()
    check_each_once(predictions, sums.ids)
    if not sums.weight:
        problem = "the weight of every row is 0"
        fix = "give at least one a positive weight"
        unweighted = InputError(problem, argument="sample_weight", place="", value=0.0, fix=fix)
        raise unweighted.within(predictions.path)
    known = provenance or Provenance()
    provenance = replace(known, remarks=(*known.remarks, *sums.changes.remarks(predictions.name)))
    return conclude(_numbers(predictions, sums, provenance))


def _numbers(predictions: Predictions, sums: StreamSums, provenance: Provenance) -> Numbers:
    """All that the sums say of the model, as `conclude` takes it."""
    settings = sums.settings
    charge = settings.charge
    model = _model_findings(predictions, sums)
    data = _data(predictions, sums)
    cost = model.cost.value or 0.0
    contest = Contest(
        leader=model.name,
        cost=cost,
        gaps={},
        evidence=Evidence(data.rows, data.clusters, settings.interval.level),
        margin=DEFAULT_WORTH.margin(cost),
    )
    return Numbers(
        models=(model,),
        contest=contest,
        ranks=dict.fromkeys(model.scores, (1.0,)),
        data=data,
        costs=replace(charge.costs, prior=provenance.prior or charge.costs.prior),
        interval=settings.interval,
        metrics=charge.metrics,
        provenance=provenance,
    )


def _model_findings(predictions: Predictions, sums: StreamSums) -> ModelFindings:
    """The model's numbers with their intervals."""
    settings = sums.settings
    class_weights = sums.sums["counts"].value[0]
    typical = settings.charge.typical
    unavoidable = float(class_weights @ typical) / sums.weight
    if settings.own_costs:
        typical = sums.sums["typical"].value / sums.cases
        unavoidable = float(sums.sums["own"].value) / sums.weight
    spread = Spread.of(sums)
    background = Background(
        classes=predictions.classes,
        class_weights=class_weights,
        typical=typical,
        unit="cases" if sums.clusters is None else "clusters",
        effective=spread.effective,
        level=settings.interval.level,
    )
    return ModelFindings(
        name=predictions.name,
        scores={metric.key: estimate_metric(spread, metric, background) for metric in settings.charge.metrics},
        unavoidable=unavoidable,
        predicted=Finding(None),
        pairs=sums.sums["pairs"].value / sums.weight,
    )


def _data(predictions: Predictions, sums: StreamSums) -> Data:
    """The rows that the sums are of."""
    count = sums.means.count
    effective = sums.means.effective_count  # the same number where all weights are equal
    class_weights = sums.sums["counts"].value[0]
    class_weights = class_weights * (count / sums.weight)  # as if their mean were 1, which no batch could know
    return Data(
        rows=count,
        weighted=count - effective > ROUNDING * count,
        classes=predictions.classes,
        class_weights=tuple(class_weights.tolist()),
        clusters=None if sums.clusters is None else len(sums.clusters.weights_apart),
    )


@dataclass(frozen=True)
class Spread:
    """What all rows of a model add up to, and how the parts that are independent of each other vary."""

    sums: StreamSums
    counts: FloatArray  # (3, K) weight of each class that is true, predicted, and both
    effective: float  # how many units of equal weight would say as much
    kept: FloatArray | None  # (1 + means, n) weights and scores of cases, where they are few and independent
    cluster_shares: FloatArray | None  # (G,) of all weight, of the rows of `ClusterSums.table`

    @classmethod
    def of(cls, sums: StreamSums) -> Spread:
        """What complete sums say of how far means are off."""
        counts = sums.sums["counts"].value
        if sums.clusters is not None:
            shares = sums.clusters.weights / sums.clusters.weights.sum()
            apart = sums.clusters.weights_apart
            return cls(sums, counts, effective_number(apart / apart.sum()), None, shares)
        second = sums.weight**2 / sums.means.effective_count
        effective = effective_of_sums(sums.weight, second, float(sums.sums["fourth powers"].value))
        kept = None
        if sum(part.shape[1] for part in sums.kept) == sums.cases:
            kept = np.concatenate(sums.kept, axis=1)
            kept = kept[:, kept[0] > 0]
        return cls(sums, counts, effective, kept, None)

    def value(self, metric: Metric) -> float:
        """The metric of all rows."""
        if metric.counts is not None:
            return float(metric.counts(*self.counts))
        return float(self.sums.means.values[self._number(metric)])

    def figure(self, metric: Metric) -> Figure | None:
        """The metric with what each unit adds to it; None where units were not kept."""
        value = self.value(metric)
        clusters = self.sums.clusters
        if clusters is None or self.cluster_shares is None:
            if self.kept is None or metric.counts is not None:
                return None
            return Figure.of_mean(self.kept[1 + self._number(metric)], self.kept[0])
        if metric.counts is None:
            totals = clusters.totals[:, self._number(metric)]
            return Figure(
                value, totals / clusters.weights.sum() - value * self.cluster_shares, self.cluster_shares
            )
        if metric.gradient is None or not clusters.n_classes:
            return None
        slopes = metric.gradient(*self.counts)  # (3, K) in the weight of each class
        influence = (clusters.counts * slopes).sum(axis=(1, 2))
        return Figure(value, influence, self.cluster_shares)

    def error(self, metric: Metric, figure: Figure | None) -> float:
        """The standard error; NaN where it is not known."""
        if self.sums.clusters is not None:
            return np.nan if figure is None else figure.error
        if metric.counts is None:
            return float(self.sums.means.standard_errors[self._number(metric)])
        free = 1 - 1 / self.sums.means.effective_count
        if not self.sums.settings.counts_classes or metric.gradient is None or free <= ROUNDING:
            return np.nan
        occurs, named, right = metric.gradient(*self.counts)
        influence = occurs[:, None] + named + np.diag(right)  # of a row of class i that is taken for class j
        return float(np.sqrt((self.sums.sums["taken for"].value * influence**2).sum() / free))

    def replicates(self, metric: Metric) -> FloatArray | None:
        """The metric in every replicate that drew anything, (R,); None where there was no bootstrap of it."""
        settings = self.sums.settings
        if not settings.interval.replicates or len(self.sums.outer_keys) < 2:  # a single unit shows no spread
            return None
        totals = self.sums.sums["replicates"].value
        totals = totals[totals[:, 0] > 0]
        if metric.counts is None:
            return np.asarray(totals[:, 1 + self._number(metric)] / totals[:, 0])
        if not settings.counts_classes:
            return None
        counts = totals[:, 1 + len(settings.means) :].reshape(len(totals), 3, settings.n_classes)
        return metric.counts(*counts.swapaxes(0, 1))

    def _number(self, metric: Metric) -> int:
        """The place of a metric among those that are means of rows."""
        return [mean.key for mean in self.sums.settings.means].index(metric.key)


def estimate_metric(spread: Spread, metric: Metric, background: Background) -> Finding:
    """A metric with its interval, and what speaks against trusting that."""
    value = spread.value(metric)
    if not np.isfinite(value):
        return Finding(None, doubt=Impossible(None, spread.sums.cases))
    figure = spread.figure(metric)
    acceleration = 0.0
    carriers: Carriers | None = None
    if figure is not None and metric.is_mean:
        acceleration = figure.acceleration
        carriers = None if metric.is_proportion else figure.carriers(abs(value))
    limits = suitable_interval(
        value,
        spread.error(metric, figure),
        spread.effective,
        background.level,
        replicates=spread.replicates(metric),
        acceleration=acceleration,
        is_proportion=metric.is_proportion,
    )
    occurs, named, right = spread.counts
    return background.score(metric, value, limits, (occurs, named, right), carriers)

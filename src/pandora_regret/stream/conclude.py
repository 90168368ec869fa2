"""From sums to a comparison of one model: every metric with its interval, made as `compare` makes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.comparison.conclude import conclude
from pandora_regret.comparison.doubts import Background
from pandora_regret.comparison.result import Comparison, Data, ModelResult
from pandora_regret.core.inputs import FloatArray, InputError
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, effective_of_sums, suitable_interval
from pandora_regret.inference.joint import Carriers, Figure, effective_number
from pandora_regret.metrics import Metric
from pandora_regret.stream.ids import check_each_once
from pandora_regret.stream.settings import Settings
from pandora_regret.stream.sums import StreamSums

if TYPE_CHECKING:
    from pandora_regret.files import Predictions

INFINITE = "infinite: a true class was given probability 0"


def concluded(predictions: Predictions, settings: Settings, parts: Iterable[tuple[int, StreamSums]]) -> Comparison:
    """What numbered sums say of the model, merged by their numbers: no digit depends on which was done first."""
    sums = StreamSums(settings)
    for _, part in sorted(parts, key=itemgetter(0)):
        sums.merge(part)
    if not sums.cases:
        raise predictions.no_rows()
    check_each_once(predictions, sums.ids)
    if not sums.weight:
        raise InputError(f"{predictions.path}: the weight of every row is 0: give at least one a positive weight.")
    class_weights = sums.sums["counts"].value[0]
    typical = settings.charge.typical
    if settings.own_costs:
        typical = sums.sums["typical"].value / sums.cases
        unavoidable = float(sums.sums["own"].value) / sums.weight
    else:
        unavoidable = float(class_weights @ typical) / sums.weight
    spread = Spread.of(sums)
    background = Background(
        predictions.classes,
        class_weights,
        typical,
        settings.charge.costs.currency,
        "cases" if sums.clusters is None else "clusters",
        spread.effective,
        settings.interval.level,
    )
    scores = {metric.key: estimate(spread, metric, background) for metric in settings.charge.metrics}
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
    count = sums.means.count
    effective = sums.means.effective_count  # the same number where all weights are equal
    class_weights = class_weights * (count / sums.weight)  # as if their mean were 1, which no batch could know
    data = Data(
        count,
        count - effective > ROUNDING * count,
        predictions.classes,
        tuple(class_weights.tolist()),
        None if sums.clusters is None else len(sums.clusters.weights_apart),
    )
    ranks = dict.fromkeys(scores, (1.0,))
    charge = settings.charge
    result = conclude((model,), data, charge.costs, settings.interval, charge.metrics, ranks=ranks)
    return replace(result, done=sums.changes.done(predictions.name))


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
        """Of sums that are complete."""
        counts = sums.sums["counts"].value
        if sums.clusters is not None:
            shares = sums.clusters.weights / sums.clusters.weights.sum()
            apart = sums.clusters.weights_apart
            return cls(sums, counts, effective_number(apart / apart.sum()), None, shares)
        second = sums.weight**2 / sums.means.effective_count
        effective = effective_of_sums(sums.weight, second, sums.sums["fourth powers"].value)
        kept = None
        if sum(part.shape[1] for part in sums.kept) == sums.cases:
            kept = np.concatenate(sums.kept, axis=1)
            kept = kept[:, kept[0] > 0]
        return cls(sums, counts, float(effective), kept, None)

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


def estimate(spread: Spread, metric: Metric, background: Background) -> Estimate:
    """A metric with its interval, and what speaks against trusting that."""
    value = spread.value(metric)
    if not np.isfinite(value):
        return Estimate(None, warning=INFINITE)
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

"""From the numbers of one or more models, made from rows or from sums, to a Comparison: doubts and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pandora_regret._version import __version__
from pandora_regret.compare import words
from pandora_regret.compare.result import (
    KNOWN_COSTS,
    BreakEven,
    Comparison,
    Costs,
    Data,
    Difference,
    IntervalMethod,
    MetricInfo,
    ModelResult,
    Scenario,
    WorkupPart,
)
from pandora_regret.compare.verdict import Evidence, verdict
from pandora_regret.compare.words import few_carriers, rare_classes, unseen_class
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Carriers
from pandora_regret.inputs import FloatArray, InputError, read_count
from pandora_regret.inputs.numbers import read_level
from pandora_regret.metrics import Metric
from pandora_regret.priors import Prior
from pandora_regret.priors.names import spelled_prior

if TYPE_CHECKING:
    from pandora_regret.workup import Workup


@dataclass(frozen=True)
class Background:
    """What an estimate is judged by, whether rows are at hand or were summed as they came."""

    classes: tuple[str, ...]
    class_weights: FloatArray  # (K,) of the true class
    typical: FloatArray  # (K,) what testing each class costs, on average over instances
    currency: str | None
    units: str  # "cases" or "groups"
    effective: float  # so many units of equal weight would say as much
    level: float

    def score(
        self, metric: Metric, value: float, limits: Limits, counts: Sequence[FloatArray], carriers: Carriers | None
    ) -> Estimate:
        """A metric with its interval, which ends where the metric does, and reasons not to trust it.

        Where the metric is made of class counts, (3, K), weights of those that are true, named and both, they
        widen the interval. Not to be trusted: a handful of cases carries it, or a class was hardly seen.
        """
        if metric.counts is not None and len(self.classes) <= MOST_CLASSES:
            limits = hull(limits, interval_by_classes(metric.counts, counts, self.effective, self.level))
        if limits[0] is None or limits[1] is None:
            return Estimate(value)
        low, high = metric.within_bounds(value, limits[0], limits[1])
        doubt = None
        if metric.counts is not None:
            doubt = rare_classes(self.classes, self.class_weights, self.effective)
        elif carriers is not None and carriers.few and carriers.number > 0:
            doubt = few_carriers(carriers, "the spread", self.units)
        elif metric.unit == "money":
            about = (self.classes, self.class_weights, self.typical)
            doubt = unseen_class(*about, value, high - value, self.effective, self.currency)
        return Estimate(value, low, high, doubt)


def conclude(
    models: tuple[ModelResult, ...],
    data: Data,
    costs: Costs,
    interval: IntervalMethod,
    metrics: Sequence[Metric],
    *,
    ranks: Mapping[str, tuple[float, ...]],
    differences: tuple[Difference, ...] = (),
    both_recalibrated: Mapping[str, Estimate] = MappingProxyType({}),
    scenarios: tuple[Scenario, ...] = (),
    workup: WorkupPart | None = None,
    break_even: tuple[BreakEven, ...] = (),
) -> Comparison:
    """What the numbers of one or more models, the cheapest first, say."""
    what, unit = "search" if workup is None else "work-up", costs.currency
    about = (data.rows, data.clusters, interval.level, unit, what)
    judged = verdict(Evidence(models, differences, both_recalibrated, *about))
    by_workup = workup is not None
    pairs = tuple(pair for model in models for pair in words.largest_pairs(model, data.classes, unit))
    beyond = words.beyond_the_verdict(models, differences, ranks, pairs, unit, by_workup)
    return Comparison(
        library=f"pandora-regret {__version__}",
        data=data,
        costs=costs,
        interval=interval,
        metrics=tuple(MetricInfo(**metric.info) for metric in metrics),
        models=models,
        differences=differences,
        ranks=dict(ranks),
        disagreements=words.disagreements(models, ranks, unit, by_workup),
        largest_pairs=pairs,
        scenarios=scenarios,
        verdict=judged,
        headline=(*judged.sentences, *beyond),
        notes=words.notes(models, differences, data.clusters),
        workup=workup,
        break_even=break_even,
    )


def costs_of_workup(workup: Workup, prior: Prior | None, unit: str | None, source: str | None) -> Costs:
    """What a work-up says of costs, unless somebody says otherwise."""
    from pandora_regret.workup.scores import check_workup

    described = check_workup(workup)
    varying = KNOWN_COSTS if prior is None else spelled_prior(prior)
    source = source or described.source or described.title or "the work-up"
    return Costs(unit or described.currency or "", varying, None, source)


def read_interval(level: Any, bootstrap: Any, seed: Any) -> IntervalMethod:
    """How intervals are made, checked."""
    share, replicates = read_level(level), read_count(bootstrap, "bootstrap", least=0)
    least = math.ceil(2 / (1 - share))  # so that the ends of an interval are not the ends of the sample
    if 0 < replicates < least:
        raise InputError(
            f"bootstrap is {replicates}: that is too few for an interval of {100 * share:g} %, ask for {least} at "
            "least, better 1000, or for 0."
        )
    method = "bootstrap" if replicates else "analytic"
    return IntervalMethod(share, method, replicates, read_count(seed, "seed", least=0))

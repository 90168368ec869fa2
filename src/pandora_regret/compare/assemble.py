"""From numbers to a Comparison: estimates with intervals, differences, ranks, breakdowns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.compare import words
from pandora_regret.compare.calibration import calibration_bins
from pandora_regret.compare.estimates import bootstrapped, class_counts, columns, linearised, values
from pandora_regret.compare.measure import ALPHAS, Measured
from pandora_regret.compare.result import (
    BreakEven,
    ClassResult,
    Comparison,
    Costs,
    Data,
    Difference,
    IntervalMethod,
    LargestPair,
    MetricInfo,
    ModelResult,
    Recalibrated,
    Scenario,
    WorkupPart,
)
from pandora_regret.compare.sample import Sample
from pandora_regret.compare.verdict import Evidence, verdict
from pandora_regret.compare.words import few_carriers, rare_classes, same_in_all, unseen_class
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, ROUNDING, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Joint, holm
from pandora_regret.inputs import FloatArray
from pandora_regret.metrics import METRICS, Metric

NO_PREDICTION = Estimate(None, warning="an order without probabilities predicts no cost")
PAID, RECALIBRATED = "realised_cost", "recalibrated_cost"  # keys of estimates


class Measurements(NamedTuple):
    """All models on one sample, the cheapest first."""

    models: list[Measured]
    sample: Sample
    certainty: Joint
    metrics: tuple[Metric, ...]
    values: FloatArray  # (models, columns)
    classes: tuple[str, ...]
    interval: IntervalMethod
    typical: FloatArray  # (K,) what testing each class costs, in the mean over instances
    currency: str | None
    recalibration: str | None  # the method

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    @property
    def class_weights(self) -> FloatArray:
        """The weight of the instances of each class, (K,)."""
        return self.sample.class_weights(self.n_classes)

    @property
    def units(self) -> str:
        """What is independent of each other, in words."""
        return "groups" if self.sample.clustered else "cases"

    def column(self, key: str) -> int:
        """Where an estimate stands in the tables."""
        return columns(self.models, self.metrics)[key]


def measurements_of(
    models: list[Measured],
    sample: Sample,
    metrics: tuple[Metric, ...],
    classes: tuple[str, ...],
    interval: IntervalMethod,
    typical: FloatArray,
    currency: str | None,
    recalibration: str | None,
) -> Measurements:
    """All estimates, and how sure they are; `typical` is what testing each class costs, (K,) or (N, K)."""
    order, k = sorted(models, key=lambda model: sample.mean(model.rows["expected_cost"])), len(classes)
    certainty = (bootstrapped if interval.replicates else linearised)(order, sample, metrics, k, interval)
    table = values(order, sample, metrics, k)
    in_mean = typical if typical.ndim == 1 else typical.mean(axis=0)
    return Measurements(
        order, sample, certainty, metrics, table, classes, interval, in_mean, currency, recalibration
    )


def comparison(
    known: Measurements,
    costs: Costs,
    scenarios: tuple[Scenario, ...],
    parts: Mapping[str, dict[str, Estimate] | None],
    workup: WorkupPart | None = None,
    break_even: tuple[BreakEven, ...] = (),
) -> Comparison:
    """All that is said of the models; `parts` are their decompositions, where those were asked for."""
    column = known.column("expected_cost")
    chances = known.certainty.probability_best(known.values[:, column], lambda table: table[:, :, column])
    without = (_model(known, index, chance) for index, chance in enumerate(chances))
    models = tuple(replace(model, decomposition=parts[model.name]) for model in without)
    differences, ranks = _differences(known), _ranks(known)
    pairs = tuple(pair for index, model in enumerate(models) for pair in _largest_pairs(known, index, model.cost))
    clusters = len(known.sample.keys) if known.sample.clustered else None
    level, rows = known.interval.level, len(known.sample.truth)
    what = "search" if workup is None else "work-up"
    evidence = Evidence(
        models, differences, _both_recalibrated(known), rows, clusters, level, costs.currency, what
    )
    judged = verdict(evidence)
    more = words.beyond_the_verdict(models, differences, ranks, pairs, costs.currency, workup)
    return Comparison(
        library=f"pandora-regret {__version__}",
        data=_data(known, clusters),
        costs=costs,
        interval=known.interval,
        metrics=tuple(MetricInfo(**metric.info) for metric in known.metrics),
        models=models,
        differences=differences,
        ranks=ranks,
        disagreements=words.disagreements(models, ranks, costs.currency, workup),
        largest_pairs=pairs,
        alphas=tuple(alpha if alpha < np.inf else "inf" for alpha in ALPHAS[: len(known.models[0].alphas)]),
        scenarios=scenarios,
        verdict=judged,
        headline=(*judged.sentences, *more),
        notes=words.notes(models, differences, clusters),
        workup=workup,
        break_even=break_even,
    )


def _data(known: Measurements, clusters: int | None) -> Data:
    weight, by_class = float(known.sample.weights.sum()), _floats(known.class_weights)
    return Data(len(known.sample.truth), weight, known.classes, by_class, clusters)


def _model(known: Measurements, index: int, chance: float | None) -> ModelResult:
    model = known.models[index]
    costs = known.values[:, known.column("expected_cost")]
    return ModelResult(
        name=model.name,
        scores={metric.key: _score(known, index, metric.key) for metric in known.metrics},
        unavoidable=model.unavoidable,
        predicted_cost=NO_PREDICTION if model.order_only else _score(known, index, "predicted_cost"),
        calibration=() if model.order_only else calibration_bins(model, known.sample, known.interval.level),
        probability_best=chance,
        rank=1 + int((costs < costs[index] * (1 - ROUNDING)).sum()),
        by_class=_by_class(model, known),
        pair_costs=tuple(map(tuple, model.pairs.tolist())),
        alphas=tuple(alpha if np.isfinite(alpha) else None for alpha in model.alphas),
        scenarios=model.scenarios,
        recalibrated=_recalibrated(known, index) if RECALIBRATED in model.rows else None,
        at_stated_prices=_score(known, index, PAID) if PAID in model.rows else None,
    )


def _recalibrated(known: Measurements, index: int) -> Recalibrated:
    assert known.recalibration is not None
    own, later = (index, "expected_cost"), (index, RECALIBRATED)
    saved, against_leader = _gap(known, own, later), _gap(known, later, (0, "expected_cost"))
    return Recalibrated(known.recalibration, _score(known, index, RECALIBRATED), saved, against_leader)


def _both_recalibrated(known: Measurements) -> dict[str, Estimate]:
    """What each model costs more than the leader if both are recalibrated."""
    if RECALIBRATED not in known.models[0].rows:
        return {}
    return {
        model.name: _gap(known, (index, RECALIBRATED), (0, RECALIBRATED))
        for index, model in enumerate(known.models)
    }


def _score(known: Measurements, index: int, key: str) -> Estimate:
    """A metric with its interval, which ends where the metric does."""
    value = float(known.values[index, known.column(key)])
    if not np.isfinite(value):
        return Estimate(None, warning=_why_infinite(known.models[index].rows[key]))
    metric = METRICS["expected_cost" if key in ("predicted_cost", RECALIBRATED) else key]
    low, high = _limits(known, index, key, metric)
    if low is None or high is None:
        return Estimate(value)
    return _doubted(known, Estimate(value, *metric.within_bounds(value, low, high)), index, key, metric)


def _limits(known: Measurements, index: int, key: str, metric: Metric) -> Limits:
    """By class counts, too, where the metric is made of them; a share of instances is a proportion."""
    column, certainty = known.column(key), known.certainty
    value = float(known.values[index, column])
    limits = certainty.interval(value, lambda table: table[:, index, column], metric.is_proportion)
    if metric.counts is None or known.n_classes > MOST_CLASSES:
        return limits
    counts = class_counts(known.models[index].predicted, known.sample, known.n_classes)
    return hull(limits, interval_by_classes(metric.counts, *counts, certainty.effective, certainty.level))


def _doubted(known: Measurements, score: Estimate, index: int, key: str, metric: Metric) -> Estimate:
    """The same with a warning, where a handful of cases carries it, or a class was hardly seen."""
    certainty, column = known.certainty, known.column(key)
    if metric.counts is not None:
        return replace(score, warning=rare_classes(known.classes, known.class_weights, certainty.effective))
    if metric.is_proportion:
        return score
    carriers = certainty.carriers(lambda table: table[:, index, column], scale=abs(score.value or 0.0))
    if carriers.few and carriers.number > 0:
        return replace(score, warning=few_carriers(carriers, "the spread", known.units))
    return replace(score, warning=_unseen(known, score)) if metric.unit == "money" else score


def _unseen(known: Measurements, cost: Estimate) -> str | None:
    assert cost.value is not None
    assert cost.high is not None
    return unseen_class(
        known.classes,
        known.class_weights,
        known.typical,
        cost.value,
        cost.high - cost.value,
        known.certainty.effective,
        known.currency,
    )


def _why_infinite(values: FloatArray) -> str:
    return f"infinite: {int(np.isinf(values).sum())} of {len(values)} true classes were given probability 0"


def _by_class(model: Measured, known: Measurements) -> tuple[ClassResult, ...]:
    sample, keys = known.sample, ("pandora_regret", "expected_cost", "realised_cost", "tests", "accuracy")
    weight, totals = known.class_weights, list[FloatArray | None]()
    for key in keys:
        if sample.votes is not None:
            totals.append(model.by_class.get(key))
        else:
            rows = model.rows.get(key)
            totals.append(None if rows is None else sample.by_class(sample.truth, rows, known.n_classes))
    return tuple(
        ClassResult(
            label,
            float(weight[k]),
            *(None if total is None or not weight[k] else float(total[k] / weight[k]) for total in totals),
        )
        for k, label in enumerate(known.classes)
    )


def _differences(known: Measurements) -> tuple[Difference, ...]:
    """Between all pairs, the cheaper first."""
    pairs = [_difference(known, a, b) for a, b in combinations(range(len(known.models)), 2)]
    adjusted = holm([each.p_value for each in pairs])
    return tuple(replace(each, p_holm=p) for each, p in zip(pairs, adjusted, strict=True))


def _difference(known: Measurements, a: int, b: int) -> Difference:
    column = known.column("expected_cost")
    scale = float(known.values[[a, b], column].max())
    paid = PAID if PAID in known.models[a].rows else "expected_cost"
    gap, realised = (_gap(known, (a, key), (b, key)) for key in ("expected_cost", paid))
    difference = gap.value or 0.0
    p_value = known.certainty.p_value(difference, lambda table: table[:, a, column] - table[:, b, column], scale)
    saved = 1000 * max(-difference, 0.0)
    first, second = known.models[a].name, known.models[b].name
    return Difference(first, second, difference, gap.low, gap.high, p_value, None, saved, realised, gap.warning)


def _gap(known: Measurements, first: tuple[int, str], second: tuple[int, str]) -> Estimate:
    """One estimate less another, each of a model's number and a key, paired; rounding is no difference."""
    (a, one), (b, other) = ((index, known.column(key)) for index, key in (first, second))
    ours, theirs = float(known.values[a, one]), float(known.values[b, other])
    scale, certainty = max(ours, theirs), known.certainty

    def difference(table: FloatArray) -> FloatArray:
        return np.asarray(table[:, a, one] - table[:, b, other])

    limits = certainty.interval(ours - theirs, difference)
    gap = Estimate(ours - theirs, *limits).mapped(lambda part: part if abs(part) > ROUNDING * scale else 0.0)
    carriers = certainty.carriers(difference, scale)
    if not carriers.few or gap.low is None:
        return gap
    if carriers.number == 0 and gap.value:
        all_tests = float(known.typical.sum())
        warning = same_in_all(gap.value, carriers, known.units, certainty.effective, all_tests)
        return replace(gap, warning=warning)
    return replace(gap, warning=few_carriers(carriers, "the difference", known.units))


def _ranks(known: Measurements) -> dict[str, tuple[float, ...]]:
    """Each model's place by each metric; equal models share the mean of their places, infinite ones the last."""
    ranks = {}
    for metric in known.metrics:
        values = known.values[:, known.column(metric.key)] * (1 if metric.better == "lower" else -1)
        same = np.isclose(values[:, None], values, rtol=ROUNDING, atol=0)
        ahead = (values < values[:, None]) & ~same
        ranks[metric.key] = _floats(1 + ahead.sum(axis=1) + (same.sum(axis=1) - 1) / 2)
    return ranks


def _largest_pairs(known: Measurements, index: int, cost: float) -> list[LargestPair]:
    model = known.models[index]
    if not model.pairs.size:
        return []
    return words.largest_pairs(model.name, known.classes, model.pairs, cost, known.currency)


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)

"""From figures to estimates: every number of every model with its interval, differences, ranks, classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pandora_regret.comparison.bins import calibration_bins
from pandora_regret.comparison.doubts import Background, Finding, Impossible, NoPrediction
from pandora_regret.comparison.figures import PREDICTED, RECALIBRATED, ModelFigures, figures_of
from pandora_regret.comparison.measure import COST, Measurement
from pandora_regret.comparison.parts import Bin, ClassResult, Data
from pandora_regret.comparison.request import Margin, Request
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import ROUNDING, hull
from pandora_regret.inference.joint import Figure, chances_of_least, holm, without_rounding
from pandora_regret.metrics import METRICS, Metric

PAID = "realised_cost"


@dataclass(frozen=True)
class RecalibratedFindings:
    """A model as its recalibrated self."""

    method: str
    cost: Finding
    saved: Finding  # the model's own cost less this one, paired
    against_best: Finding  # this cost less the least of all recalibrated costs, paired


@dataclass(frozen=True)
class ModelFindings:
    """All that is reported of a model, before a word is said."""

    name: str
    scores: Mapping[str, Finding]  # by the metrics' keys
    unavoidable: float
    predicted: Finding
    rank: int = 1
    probability_best: float | None = 1.0
    calibration: tuple[Bin, ...] = ()
    by_class: tuple[ClassResult, ...] = ()
    pairs: FloatArray | None = None  # (K, K)
    scenarios: tuple[float, ...] = ()
    decomposition: Mapping[str, Estimate] | None = None
    recalibrated: RecalibratedFindings | None = None

    @property
    def cost(self) -> Finding:
        """Mean expected cost."""
        return self.scores[COST]


@dataclass(frozen=True)
class PairFindings:
    """Two models on the same instances."""

    model: str  # the cheaper
    against: str
    more: Finding  # what the other costs more
    p_value: float | None
    p_holm: float | None
    realised: Finding  # the realised cost of the cheaper less that of the other


@dataclass(frozen=True)
class Contender:
    """A model as the verdict judges it: as it is, or recalibrated."""

    measurement: Measurement
    costs: FloatArray  # (N,)
    cost: Figure  # their mean
    more: Finding  # than the first

    @property
    def name(self) -> str:
        """The model's name."""
        return self.measurement.name


@dataclass(frozen=True)
class Basis:
    """What the verdict is about: all models as they are, or all of them recalibrated; the cheapest first."""

    contenders: tuple[Contender, ...]
    is_recalibrated: bool
    chance: float | None  # that the first is the cheapest
    stake: float | None  # what it costs more than the cheapest on average, as far as the data can tell
    margin: Margin
    background: Background


@dataclass(frozen=True)
class Estimates:
    """Every number of a comparison; models by rising cost as they are."""

    models: tuple[ModelFindings, ...]
    pairs: tuple[PairFindings, ...]
    ranks: Mapping[str, tuple[float, ...]]
    data: Data
    basis: Basis


@dataclass(frozen=True)
class Chances:
    """What may be true of models, the cheapest first, as far as the data can tell."""

    of_models: Sequence[float | None]  # that each is the cheapest
    stake: float | None  # what the first costs more than the cheapest on average


def estimate(measurements: Sequence[Measurement], request: Request) -> Estimates:
    """All that was measured, with intervals; the models are the cheapest first."""
    sample = request.sample
    figures = figures_of(measurements, request)
    background = _background(figures, request)
    margin = request.worth.margin(figures[0].cost.value)
    chances = chances_of([model.cost for model in figures], request.interval.seed)
    pairs = _compare_pairs(figures, background)
    basis = _recalibrated_basis(figures, margin, background, request.interval.seed)
    return Estimates(
        models=_model_findings(figures, chances, background, request),
        pairs=pairs,
        ranks=_ranks(figures, request.charge.metrics),
        data=Data(
            rows=sample.n_cases,
            weighted=sample.weighted,
            classes=request.classes,
            class_weights=tuple(background.class_weights.tolist())[: len(request.classes)],
            clusters=len(sample.keys) if sample.grouped else None,
        ),
        basis=basis or _basis_as_is(figures, pairs, chances, margin, background),
    )


def _background(figures: Sequence[ModelFigures], request: Request) -> Background:
    """What every estimate is held against."""
    return Background(
        classes=request.classes,
        class_weights=figures[0].counts[0],
        typical=np.atleast_2d(request.charge.typical).mean(axis=0),
        unit=request.sample.unit,
        effective=figures[0].cost.effective,
        level=request.interval.level,
    )


def chances_of(costs: Sequence[Figure], seed: int) -> Chances:
    """What the first model's being the cheapest rests on; None where one unit has all the weight."""
    least = chances_of_least(costs, seed)
    if least is not None:
        return Chances(least[0].tolist(), least[1])
    if len(costs) == 1:
        return Chances([1.0], None)
    return Chances([None] * len(costs), None)


# Models


def _model_findings(
    figures: Sequence[ModelFigures], chances: Chances, background: Background, request: Request
) -> tuple[ModelFindings, ...]:
    """All that is reported of each model."""
    sample = request.sample
    recalibrated = _recalibrated_findings(figures, background, request)
    findings = []
    for model, chance in zip(figures, chances.of_models, strict=True):
        measurement = model.measurement
        scores = {
            metric.key: _score_with_interval(model, metric.key, metric, background, sample)
            for metric in request.charge.metrics
        }
        predicted = Finding(None, doubt=NoPrediction())
        bins: tuple[Bin, ...] = ()
        if measurement.predicted is not None:
            predicted = _score_with_interval(model, PREDICTED, METRICS[COST], background, sample)
            bins = calibration_bins(measurement.cost, measurement.predicted, sample, background.level)
        findings.append(
            ModelFindings(
                name=model.name,
                scores=scores,
                unavoidable=measurement.unavoidable,
                predicted=predicted,
                rank=1 + sum(other.cost.value < model.cost.value * (1 - ROUNDING) for other in figures),
                probability_best=chance,
                calibration=bins,
                by_class=_results_by_class(measurement, sample, background),
                pairs=measurement.pairs,
                scenarios=measurement.scenarios,
                decomposition=measurement.decomposition,
                recalibrated=recalibrated.get(model.name),
            )
        )
    return tuple(findings)


def _score_with_interval(
    model: ModelFigures, key: str, metric: Metric, background: Background, sample: Sample
) -> Finding:
    """One of a model's numbers, with its interval; `metric` says what kind of number it is."""
    figure = model.by_key[key]
    if not np.isfinite(figure.value):
        infinite = np.isinf(model.measurement.rows[key])
        return Finding(None, doubt=Impossible(len(np.unique(sample.case_of[infinite])), sample.n_cases))
    limits = figure.limits(background.level, metric.is_proportion, metric.is_mean)
    is_plain = metric.is_proportion or metric.counts is not None
    carriers = None if is_plain else figure.carriers(abs(figure.value))
    return background.score(metric, figure.value, limits, tuple(model.counts), carriers)


def _recalibrated_findings(
    figures: Sequence[ModelFigures], background: Background, request: Request
) -> dict[str, RecalibratedFindings]:
    """What recalibration does for each model, by name; nothing where models were not recalibrated."""
    costs = {model.name: model.recalibrated for model in figures if model.recalibrated is not None}
    if request.recalibration is None or not costs:
        return {}
    least = min(costs.values(), key=lambda figure: figure.value)
    findings = {}
    for model in figures:
        cost = costs[model.name]
        findings[model.name] = RecalibratedFindings(
            method=request.recalibration,
            cost=_score_with_interval(model, RECALIBRATED, METRICS[COST], background, request.sample),
            saved=_saved(model, cost, background),
            against_best=background.gap(cost, least),
        )
    return findings


def _saved(model: ModelFigures, recalibrated: Figure, background: Background) -> Finding:
    """What recalibrating saves a model, on new cases and by a map from another sample of the size."""
    saved = background.gap(model.cost, recalibrated)
    if saved.low is None or model.measurement.recalibrated is None:
        return saved
    low, high = hull((saved.low, saved.high), model.measurement.recalibrated.saved)
    return without_rounding(replace(saved, low=low, high=high), max(model.cost.value, recalibrated.value))


def _results_by_class(measurement: Measurement, sample: Sample, background: Background) -> tuple[ClassResult, ...]:
    """Means over the rows of each class; None where there are no such rows, or no such metric."""
    regret = _means_by_class(measurement, "pandora_regret", sample, background)
    expected = _means_by_class(measurement, COST, sample, background)
    realised = _means_by_class(measurement, PAID, sample, background)
    tests = _means_by_class(measurement, "tests", sample, background)
    accuracy = _means_by_class(measurement, "accuracy", sample, background)
    weights = background.class_weights.tolist()
    results = []
    for k, label in enumerate(background.classes):
        results.append(
            ClassResult(
                label=label,
                weight=weights[k],
                pandora_regret=regret[k],
                expected_cost=expected[k],
                realised_cost=realised[k],
                tests=tests[k],
                accuracy=accuracy[k],
            )
        )
    return tuple(results)


def _means_by_class(
    measurement: Measurement, key: str, sample: Sample, background: Background
) -> list[float | None]:
    """One metric's mean over the rows of each class, [K]; None where there are no rows, or no such metric."""
    weights = background.class_weights
    if key not in measurement.rows:
        return [None] * len(weights)
    totals = np.bincount(sample.truth, sample.weights * measurement.rows[key], len(weights))
    means = totals / np.where(weights > 0, weights, np.nan)
    return [None if np.isnan(mean) else mean for mean in means.tolist()]


# Models against each other


def _compare_pairs(figures: Sequence[ModelFigures], background: Background) -> tuple[PairFindings, ...]:
    """All pairs of models, the cheaper first."""
    pairs = [_compare_pair(cheaper, dearer, background) for cheaper, dearer in combinations(figures, 2)]
    adjusted = holm([pair.p_value for pair in pairs])
    return tuple(replace(pair, p_holm=p) for pair, p in zip(pairs, adjusted, strict=True))


def _compare_pair(cheaper: ModelFigures, dearer: ModelFigures, background: Background) -> PairFindings:
    """Two models; the p-value is not adjusted yet."""
    cost = cheaper.cost
    dearer_cost = dearer.cost
    paid = PAID if PAID in cheaper.by_key else COST
    return PairFindings(
        model=cheaper.name,
        against=dearer.name,
        more=background.gap(dearer_cost, cost),
        p_value=(cost - dearer_cost).p_value(max(cost.value, dearer_cost.value)),
        p_holm=None,
        realised=background.gap(cheaper.by_key[paid], dearer.by_key[paid]),
    )


def _ranks(figures: Sequence[ModelFigures], metrics: Sequence[Metric]) -> dict[str, tuple[float, ...]]:
    """Each model's place by each metric; equal models share the mean place, infinite ones the last."""
    ranks = {}
    for metric in metrics:
        values = np.array([model.by_key[metric.key].value for model in figures])
        values *= 1 if metric.better == "lower" else -1
        same = np.isclose(values[:, None], values, rtol=ROUNDING, atol=0)
        ahead = (values < values[:, None]) & ~same
        ranks[metric.key] = tuple((1 + ahead.sum(axis=1) + (same.sum(axis=1) - 1) / 2).tolist())
    return ranks


# What the verdict is about


def _basis_as_is(
    figures: Sequence[ModelFigures],
    pairs: Sequence[PairFindings],
    chances: Chances,
    margin: Margin,
    background: Background,
) -> Basis:
    """Models as they are."""
    first = figures[0].name
    more = {pair.against: pair.more for pair in pairs if pair.model == first}
    contenders = tuple(
        Contender(model.measurement, model.measurement.cost, model.cost, more.get(model.name, Finding(0.0)))
        for model in figures
    )
    return Basis(contenders, False, chances.of_models[0], chances.stake, margin, background)


def _recalibrated_basis(
    figures: Sequence[ModelFigures], margin: Margin, background: Background, seed: int
) -> Basis | None:
    """All models recalibrated, where that changes who is the cheapest.

    It does by more than the margin, beyond doubt: another model is then cheaper than the leader, as that is and
    recalibrated, too.
    """
    contenders = []
    for model in figures:
        again = model.measurement.recalibrated
        if model.recalibrated is not None and again is not None:
            contenders.append(Contender(model.measurement, again.costs, model.recalibrated, Finding(0.0)))
    if not contenders:
        return None
    leader_again = contenders[0].cost
    contenders.sort(key=lambda contender: contender.cost.value)
    least = contenders[0].cost
    gaps = [background.gap(leader, least) for leader in (figures[0].cost, leader_again)]
    if not all(gap.exceeds(margin.amount) for gap in gaps):
        return None
    contenders = [replace(contender, more=background.gap(contender.cost, least)) for contender in contenders]
    chances = chances_of([contender.cost for contender in contenders], seed)
    return Basis(tuple(contenders), True, chances.of_models[0], chances.stake, margin, background)

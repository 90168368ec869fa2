"""From the numbers of models, made of rows or of sums, to a Comparison: judged, put into words, and built once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pandora_regret._version import __version__
from pandora_regret.comparison.embedded import EmbeddedSample, NoSample
from pandora_regret.comparison.estimate import ModelFindings, PairFindings
from pandora_regret.comparison.grouping import (
    BreakdownFindings,
    FlagOfAll,
    FlagOfGroup,
    GroupFindings,
    GroupModelFindings,
)
from pandora_regret.comparison.judge import Contest, Judgement, judge
from pandora_regret.comparison.parts import (
    Breakdown,
    BreakEven,
    Costs,
    Data,
    Decision,
    Difference,
    GroupModel,
    IntervalMethod,
    LargestPair,
    ListsPart,
    MetricInfo,
    ModelResult,
    RecalibratedModel,
    Scenario,
    Subgroup,
    WorkupPart,
)
from pandora_regret.comparison.request import Provenance
from pandora_regret.comparison.result import Comparison
from pandora_regret.comparison.words import (
    Results,
    flag_of_all,
    flag_of_group,
    in_words,
    largest_pairs,
    name_of_group,
    put_into_words,
)
from pandora_regret.core.inputs import CLASSES_TAKEN_AS_0, Names
from pandora_regret.metrics import Metric

NOWHERE = Provenance()


@dataclass(frozen=True)
class Numbers:
    """All that was found, before anything is decided or said; models are the cheapest first."""

    models: tuple[ModelFindings, ...]
    contest: Contest
    ranks: Mapping[str, tuple[float, ...]]
    data: Data
    costs: Costs
    interval: IntervalMethod
    metrics: Sequence[Metric]
    pairs: tuple[PairFindings, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    workup: WorkupPart | None = None
    break_even: tuple[BreakEven, ...] = ()
    breakdowns: tuple[BreakdownFindings, ...] = ()
    sample: EmbeddedSample | NoSample | None = None
    lists: ListsPart | None = None  # what the price of a miss does to ranked lists
    provenance: Provenance = NOWHERE


def conclude(numbers: Numbers) -> Comparison:
    """The comparison: what the numbers decide, and what that is in words."""
    judgement = judge(numbers.contest)
    results = _results(numbers)
    breakdowns = tuple(_breakdown(breakdown, results) for breakdown in numbers.breakdowns)
    flags = [flag for breakdown in breakdowns for flag in breakdown.all_flags]
    statements = put_into_words(judgement, results, flags, _classes_taken_as_0(numbers.provenance))
    sample = numbers.sample
    return Comparison(
        library=f"pandora-regret {__version__}",
        data=numbers.data,
        costs=numbers.costs,
        interval=numbers.interval,
        metrics=tuple(map(_metric_info, numbers.metrics)),
        models=results.models,
        differences=results.differences,
        ranks=dict(numbers.ranks),
        disagreements=tuple(statements.disagreements),
        largest_pairs=results.largest_pairs,
        scenarios=numbers.scenarios,
        verdict=_decision(judgement, statements.verdict),
        headline=tuple(statements.headline),
        notes=statements.notes,
        files=numbers.provenance.files,
        remarks=numbers.provenance.remarks,
        workup=numbers.workup,
        break_even=numbers.break_even,
        by=breakdowns,
        sample=sample if isinstance(sample, EmbeddedSample) else None,
        not_sampled=sample.reason if isinstance(sample, NoSample) else None,
        lists=numbers.lists,
    )


def _metric_info(metric: Metric) -> MetricInfo:
    """What a comparison says of a metric."""
    return MetricInfo(metric.key, metric.title, metric.better, metric.unit)


def _results(numbers: Numbers) -> Results:
    """What is known of the models, as results, whose doubts are warnings."""
    unit = numbers.costs.currency
    models = tuple(_model_result(model, unit) for model in numbers.models)
    pairs: list[LargestPair] = []
    for model, findings in zip(models, numbers.models, strict=True):
        pairs += largest_pairs(model.name, model.cost, findings.pairs, numbers.data.classes, unit)
    return Results(
        models=models,
        differences=tuple(_difference(pair, unit) for pair in numbers.pairs),
        ranks=numbers.ranks,
        data=numbers.data,
        unit=unit,
        is_workup=numbers.workup is not None,
        largest_pairs=tuple(pairs),
        lists=numbers.lists,
    )


def _classes_taken_as_0(provenance: Provenance) -> list[str]:
    """Which classes models lack, a sentence each: that explains what these models cost."""
    return [remark.sentence for remark in provenance.remarks if remark.what == CLASSES_TAKEN_AS_0]


def _decision(judgement: Judgement, sentences: Sequence[str]) -> Decision:
    """The verdict as a result."""
    contest = judgement.contest
    return Decision(
        kind=judgement.kind,
        leader=contest.leader,
        undecided=judgement.by_standing["open"],
        level=judgement.by_standing["level"],
        cases_needed=judgement.cases_needed,
        cases_for_gap=judgement.cases_for_gap,
        stake=None if contest.ranges else contest.stake,
        margin=contest.margin.amount,
        share=contest.margin.share,
        recalibrated=contest.recalibrated,
        sentences=tuple(sentences),
    )


def _model_result(model: ModelFindings, unit: str | None) -> ModelResult:
    """A model as a result."""
    scores = {key: in_words(score, unit) for key, score in model.scores.items()}
    recalibrated = None
    if model.recalibrated is not None:
        recalibrated = RecalibratedModel(
            method=model.recalibrated.method,
            cost=in_words(model.recalibrated.cost, unit),
            saved=in_words(model.recalibrated.saved, unit),
            against_best=in_words(model.recalibrated.against_best, unit),
        )
    return ModelResult(
        name=model.name,
        scores=scores,
        unavoidable=model.unavoidable,
        predicted_cost=in_words(model.predicted, unit),
        calibration=model.calibration,
        probability_best=model.probability_best,
        rank=model.rank,
        by_class=model.by_class,
        pair_costs=() if model.pairs is None else tuple(map(tuple, model.pairs.tolist())),
        scenarios=model.scenarios,
        decomposition=None if model.decomposition is None else dict(model.decomposition),
        recalibrated=recalibrated,
        at_stated_prices=scores.get("realised_cost"),
    )


def _difference(pair: PairFindings, unit: str | None) -> Difference:
    """Two models on the same instances, as a result."""
    less = in_words(pair.more.turned, unit)
    value = less.value or 0.0
    return Difference(
        model=pair.model,
        against=pair.against,
        difference=value,
        low=less.low,
        high=less.high,
        p_value=pair.p_value,
        p_holm=pair.p_holm,
        savings_per_1000=1000 * max(-value, 0.0),
        realised=in_words(pair.realised, unit),
        warning=less.warning,
    )


def _breakdown(breakdown: BreakdownFindings, results: Results) -> Breakdown:
    """Models group by group, as a result, in the order of all models."""
    unit = results.unit
    return Breakdown(
        column=breakdown.title,
        groups=tuple(_group(group, breakdown, results.names, unit) for group in breakdown.groups),
        pooled=breakdown.pooled,
        flags=tuple(flag_of_all(flag, breakdown, unit) for flag in breakdown.flags),
        flagged=_flagged(breakdown.flags, results.names),
    )


def _group(group: GroupFindings, breakdown: BreakdownFindings, order: Sequence[str], unit: str | None) -> Subgroup:
    """One group as a result."""
    models = {model.name: _model_in_group(model, unit) for model in group.models}
    return Subgroup(
        name=name_of_group(group.label),
        rows=group.rows,
        weight=group.weight,
        models=tuple(models[name] for name in order),
        leader=group.cheapest,
        flags=tuple(flag_of_group(flag, group, breakdown, unit) for flag in group.flags),
        flagged=_flagged(group.flags, order),
    )


def _flagged(flags: Sequence[FlagOfGroup | FlagOfAll], order: Sequence[str]) -> Names:
    """The models that stand out by some flags, in this order."""
    flagged = {name for flag in flags for name in flag.flagged}
    return tuple(name for name in order if name in flagged)


def _model_in_group(model: GroupModelFindings, unit: str | None) -> GroupModel:
    """A model in a group, as a result."""
    return GroupModel(
        name=model.name,
        cost=in_words(model.cost, unit),
        against_leader=in_words(model.against_leader, unit),
        p_holm=model.p_holm,
        predicted=in_words(model.predicted, unit),
        against_rest=None if model.against_rest is None else in_words(model.against_rest, unit),
        p_rest=model.p_rest,
    )

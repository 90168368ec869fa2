"""From the numbers of models, made of rows or of sums, to a Comparison: judged, then put into words."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pandora_regret._version import __version__
from pandora_regret.comparison.judge import Evidence, judge
from pandora_regret.comparison.request import DEFAULT_WORTH, Worth
from pandora_regret.comparison.result import (
    Comparison,
    Costs,
    Data,
    Decision,
    Difference,
    IntervalMethod,
    MetricInfo,
    ModelResult,
    WorkupPart,
    standings_of,
)
from pandora_regret.comparison.words import (
    Findings,
    against_others,
    largest_pairs,
    no_verdict,
    notes,
    verdict_sentences,
    where_money_goes,
)
from pandora_regret.metrics import Metric


def conclude(
    models: tuple[ModelResult, ...],
    data: Data,
    costs: Costs,
    interval: IntervalMethod,
    metrics: Sequence[Metric],
    *,
    ranks: Mapping[str, tuple[float, ...]],
    differences: tuple[Difference, ...] = (),
    workup: WorkupPart | None = None,
    chance: float | None = 1.0,
    stake: float | None = 0.0,
    recalibrated: bool = False,
    worth: Worth = DEFAULT_WORTH,
    **parts: Any,
) -> Comparison:
    """The comparison of models, the cheapest first; `parts` are those of its fields that nothing here changes."""
    findings = Findings(models, differences, ranks, data, costs.currency, workup is not None)
    standings = standings_of(models, differences, recalibrated)
    leader = next(iter(standings))
    judgement = judge(
        leader,
        standings[leader].cost.value or 0.0,
        {name: standing.more for name, standing in standings.items() if name != leader},
        Evidence(data.rows, data.clusters, interval.level),
        worth.margin(models[0].cost),
        chance=chance,
        stake=stake,
        recalibrated=recalibrated,
    )
    sentences = tuple(verdict_sentences(judgement, findings))
    decision = Decision(
        kind=judgement.kind,
        leader=judgement.leader,
        undecided=judgement.by_standing["open"],
        level=judgement.by_standing["level"],
        cases_needed=judgement.cases_needed,
        stake=judgement.stake,
        margin=judgement.margin.amount,
        share=judgement.margin.share,
        recalibrated=judgement.recalibrated,
        sentences=sentences,
    )
    pairs = tuple(pair for model in models for pair in largest_pairs(model, data.classes, costs.currency))
    runner_up, choices = against_others(findings)
    headline = sentences
    if not recalibrated:  # the rest is about models as they are
        headline = (*sentences, *runner_up, *choices, where_money_goes(findings, pairs))
    return Comparison(
        library=f"pandora-regret {__version__}",
        data=data,
        costs=costs,
        interval=interval,
        metrics=tuple(MetricInfo(metric.key, metric.title, metric.better, metric.unit) for metric in metrics),
        models=models,
        differences=differences,
        ranks=dict(ranks),
        disagreements=tuple(choices),
        largest_pairs=pairs,
        verdict=decision,
        headline=headline,
        notes=notes(findings, judgement.by_standing["level"]),
        workup=workup,
        **{"scenarios": ()} | parts,
    )


def without_verdict(result: Comparison, apart: Sequence[str]) -> Comparison:
    """A comparison of models of which some were scored against another truth: nothing can be said of who leads."""
    sentence = no_verdict(apart)
    decision = Decision(
        kind="undecided",
        leader=result.verdict.leader,
        undecided=tuple(model.name for model in result.models[1:]),
        level=(),
        cases_needed=None,
        stake=None,
        margin=result.verdict.margin,
        share=result.verdict.share,
        recalibrated=False,
        sentences=(sentence,),
    )
    return replace(result, verdict=decision, headline=(sentence,), break_even=())

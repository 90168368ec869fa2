"""What the numbers of one or more models, made from rows or from sums, say: doubts, and what to do about it.

Deploy, recalibrate first, or gather so many more cases, as far as the data settle it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.compare.result import (
    KNOWN_COSTS,
    BreakEven,
    Comparison,
    Costs,
    Data,
    Decision,
    Difference,
    IntervalMethod,
    MetricInfo,
    ModelResult,
    Recalibrated,
    Scenario,
    WorkupPart,
)
from pandora_regret.compare.words import (
    DO_NOT_TRUST,
    beyond_the_verdict,
    disagreements,
    few_carriers,
    largest_pairs,
    notes,
    per_case,
    rare_classes,
    unseen_class,
)
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Carriers
from pandora_regret.inference.student import NORMAL, student_quantile
from pandora_regret.inputs import FloatArray, InputError, read_count
from pandora_regret.inputs.numbers import read_level, read_number
from pandora_regret.metrics import Metric
from pandora_regret.priors import Prior
from pandora_regret.priors.names import spelled_prior
from pandora_regret.text import listed, money, percent

if TYPE_CHECKING:
    from pandora_regret.workup import Workup

POWER = 0.8
MOST_CASES = 1e12  # beyond it nobody would count
MOST_NAMES = 4  # in one sentence
NOTHING = 1e-3  # of the cost: a saving that no reader would notice


def cases_needed(
    result: Comparison, power: float = POWER, *, against: str | None = None, difference: float | None = None
) -> int | None:
    """How many more cases would settle which of two models is cheaper.

    A difference of the size that was found, between cases as varied as these, would then lie outside zero's
    interval, at the comparison's level, with the probability `power`. That holds for this difference, not jointly
    for several; and as models that lead by luck seem further ahead than they are, the number of a difference that
    was found is an optimistic one: pass the `difference` that matters to you where you plan a study.

    Parameters
    ----------
    result
        What `compare` returned.
    power
        The probability that so many cases settle it.
    against
        The model that the cheapest one is told apart from; the runner-up unless given.
    difference
        Of the mean cost per case, instead of the one that was found: the least that would matter to you.

    Returns
    -------
    0 where these cases are enough; None where no number is, as for a difference of zero.

    Examples
    --------
    >>> import numpy as np
    >>> from pandora_regret.compare import compare
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 200)
    >>> models = {name: rng.dirichlet([1.0, 1.0, 1.0], 200) for name in ("one", "other")}
    >>> cases_needed(compare(truth, models)) > 200
    True
    """
    if not 0 < (power := read_number(power, "power")) < 1:
        raise InputError(f"is {power:g}", argument="power", fix="it must lie between 0 and 1, such as 0.8")
    gaps = {gap.against: gap for gap in result.differences if gap.model == result.best.name}
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    data = result.data
    return more_cases(gaps[name], data.rows, data.clusters, result.interval.level, power, difference)


def more_cases(
    gap: Difference, cases: int, clusters: int | None, level: float, power: float, size: float | None = None
) -> int | None:
    """Beside so many cases; the standard error behind the interval shrinks with the root of their number."""
    if size is None and gap.is_settled:
        return 0
    fewest, size = (0, abs(size)) if size is not None else (1, abs(gap.difference))
    if gap.low is None or gap.high is None or size == 0:
        return None
    units, tail = clusters or cases, (1 + level) / 2
    shorter = min(gap.high - gap.difference, gap.difference - gap.low)  # the other may have been stretched
    error = shorter / student_quantile(units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantile falls, as the standard error does, while cases come in."""
        share = 1 + more / cases
        return (student_quantile(units * share - 1, tail) + NORMAL.inv_cdf(power)) * error / math.sqrt(
            share
        ) <= size

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_CASES:
            return None
    return bisect_left(range(enough), True, lo=fewest, key=is_enough)


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on; the cheapest model comes first."""

    models: Sequence[ModelResult]
    differences: Sequence[Difference]
    both_recalibrated: Mapping[str, Estimate]  # each model's recalibrated cost less the leader's recalibrated cost
    cases: int
    clusters: int | None  # None where every case is one of its own
    level: float
    unit: str | None  # of the costs; None where nobody said what tests cost
    what: str = "search"

    @property
    def leader(self) -> ModelResult:
        """The model of least cost."""
        return self.models[0]

    @cached_property
    def gaps(self) -> dict[str, Difference]:
        """The leader against each other model."""
        return {gap.against: gap for gap in self.differences if gap.model == self.leader.name}

    @cached_property
    def undecided(self) -> tuple[str, ...]:
        """The models that the data do not tell apart from the leader.

        Zero inside its own paired interval is what counts, however many models there are: that the one which came
        out first is told apart from all others by chance is likeliest if there are two (Gutmann and Maymin, Is the
        selected population the best?, 1987).
        """
        return tuple(name for name, gap in self.gaps.items() if not gap.is_settled)

    @cached_property
    def worth_recalibrating(self) -> dict[str, Recalibrated]:
        """The models that recalibrating makes cheaper beyond doubt, the cheapest then first."""
        later = {model.name: model.recalibrated for model in self.models if model.recalibrated is not None}
        saves = [(name, each) for name, each in later.items() if each.saved.is_above_zero]
        return dict(sorted(saves, key=lambda named: named[1].cost.value or 0.0))

    @cached_property
    def lifted(self) -> list[str]:
        """The models that recalibrating lifts to the leader, or past it, the cheapest then first.

        Recalibrating must save them something beyond doubt. Where they were told apart from the leader, they then
        cost no more than it does, as it is and recalibrated too, or so little that no reader would notice it;
        where they were not, they come out ahead.
        """

        def is_no_more(gap: Estimate) -> bool:
            ends = (np.inf, np.inf) if gap.low is None or gap.high is None else (-gap.low, gap.high)
            return max(ends) <= NOTHING * self.leader.cost or (gap.is_trusted and (gap.value or 0.0) <= 0)

        others = [name for name in self.worth_recalibrating if name != self.leader.name]
        return [
            name
            for name in others
            if all(
                gap.is_below_zero if name in self.undecided else is_no_more(gap)
                for gap in self.recalibrated_gaps(name)
            )
        ]

    def recalibrated_gaps(self, name: str) -> tuple[Estimate, Estimate]:
        """What a model costs more than the leader, recalibrated itself, or both."""
        return self.worth_recalibrating[name].against_leader, self.both_recalibrated[name]

    @cached_property
    def cases_needed(self) -> int | None:
        """So many more would settle every difference that is not; None where that cannot be said."""
        about = (self.cases, self.clusters, self.level, POWER)
        needed = [more_cases(self.gaps[name], *about) for name in self.undecided]
        settling = [more for more in needed if more is not None]
        return max(settling, default=None) if len(settling) == len(needed) else None

    def per_case(self, estimate: Estimate, more: str = "") -> str:
        """An amount and its interval."""
        return per_case(estimate, self.unit, more)

    def recalibrated_cost(self, name: str) -> str:
        """What a model costs then."""
        return money(self.worth_recalibrating[name].cost.value or 0.0, self.unit)


def verdict(evidence: Evidence) -> Decision:
    """Deploy the cheapest model if the data tell it apart from every other and recalibrating changes nothing."""
    leader = evidence.leader
    cost = evidence.per_case(leader.scores["expected_cost"])
    kind: Literal["deploy", "undecided", "recalibrate", "single"]
    if len(evidence.models) == 1:
        kind, sentences = "single", [f"A {evidence.what} by {leader.name} costs {cost}.", *_own_saving(evidence)]
    elif evidence.lifted:
        kind, sentences = "recalibrate", _recalibrate(evidence)
    elif evidence.undecided:
        kind, sentences = "undecided", _undecided(evidence)
    else:
        best = f"its {evidence.what} costs {cost}, the least of {len(evidence.models)} models"
        kind, sentences = (
            "deploy",
            [f"Deploy {leader.name}: {best}.", _runner_up(evidence), *_own_saving(evidence)],
        )
    if kind in ("deploy", "undecided"):
        sentences += _caught_up(evidence)
    about = (leader.name, evidence.undecided, evidence.cases_needed, tuple(evidence.lifted))
    return Decision(kind, *about, (*sentences, *_at_stated_prices(evidence)))


def _undecided(evidence: Evidence) -> list[str]:
    """Who is not told apart, how many cases would do so, and who costs more all the same."""
    leader, sentences = evidence.leader.name, _not_told_apart(evidence, evidence.undecided)
    if settled := [name for name in evidence.gaps if name not in evidence.undecided]:
        sentences.append(f"{_named(settled)} cost{'s' * (len(settled) == 1)} more than {leader}.")
    sentences.append(_runner_up(evidence))
    open_ = [name for name in evidence.worth_recalibrating if name == leader or name in evidence.undecided]
    for name in open_[:1]:
        saved, then = evidence.per_case(evidence.worth_recalibrating[name].saved), evidence.recalibrated_cost(name)
        sentences.append(f"Recalibrate {name} in any case: that saves {saved}, and it then costs {then}.")
    return sentences


def _not_told_apart(evidence: Evidence, names: Sequence[str]) -> list[str]:
    gaps = [evidence.gaps[name] for name in evidence.undecided]
    if not names:
        return []
    why = "their costs are too close"
    if all(gap.difference == 0 for gap in gaps):
        why = "they cost the same"
    elif doubts := [gap.warning for gap in gaps if gap.warning is not None]:
        why = doubts[0].removesuffix(f": {DO_NOT_TRUST}")
    elif any(gap.low is None for gap in gaps):
        why = "it takes more than one independent case"
    elif (cases := evidence.cases_needed) is not None:
        size = 10 ** max(0, len(str(cases)) - 2)  # to two digits, upwards
        settle = f"would settle a difference of this size ({100 * POWER:.0f} % power)"
        why = f"about {-(-cases // size) * size:,} more cases {settle}"
    return [f"{_named((evidence.leader.name, *names))} cannot be told apart yet: {why}."]


def _recalibrate(evidence: Evidence) -> list[str]:
    leader, (name, *others) = evidence.leader.name, evidence.lifted
    gap = evidence.worth_recalibrating[name].against_leader
    level = "no more than" if (gap.value or 0.0) <= 0 else "about as much as"
    amounts = f"{evidence.recalibrated_cost(name)} against {money(evidence.leader.cost, evidence.unit)} per case"
    costs = f"{level} {leader} ({amounts})"
    if gap.is_below_zero:
        costs = evidence.per_case(gap.turned, f" less than {leader}")
    as_it_is = f"As they are, {leader} and {name} cannot be told apart."
    if name not in evidence.undecided:
        as_it_is = f"As it is, {name} costs {evidence.per_case(evidence.gaps[name].more, f' more than {leader}')}."
    return [
        f"Recalibrate {name} first: it then costs {costs}.",
        *_not_told_apart(evidence, [other for other in evidence.undecided if other != name]),
        *([f"The same goes for {_named(others)}."] if others else []),
        as_it_is,
    ]


def _caught_up(evidence: Evidence) -> list[str]:
    """Worse models that recalibrated still cost more than the leader, but no longer beyond doubt.

    That may be for want of cases, so it is no reason to recalibrate them first.
    """
    settled = [name for name in evidence.worth_recalibrating if name in set(evidence.gaps) - {*evidence.undecided}]
    behind = [name for name in settled if not any(gap.is_above_zero for gap in evidence.recalibrated_gaps(name))]
    if not behind:
        return []
    also = f"; nor could {_named(behind[1:])}" if behind[1:] else ""
    apart = f"could not be told apart from {evidence.leader.name}{also}"
    return [f"Recalibrated, {behind[0]} costs {evidence.recalibrated_cost(behind[0])} per case and {apart}."]


def _own_saving(evidence: Evidence) -> list[str]:
    """What recalibrating the leader itself would save, where that is beyond doubt."""
    later = evidence.worth_recalibrating.get(evidence.leader.name)
    if later is None or (later.saved.value or 0.0) < NOTHING * evidence.leader.cost:
        return []
    return [f"Recalibrate it, too: that saves {evidence.per_case(later.saved)}."]


def _runner_up(evidence: Evidence) -> str:
    second, leader = evidence.models[1].name, evidence.leader
    gap = evidence.gaps[second]
    if gap.low is None or leader.probability_best is None:
        return "How sure that is cannot be said: it takes more than one independent case."
    sure = f"{leader.name} is the cheapest with probability {percent(leader.probability_best)}"
    more = "the same" if gap.difference == 0 else evidence.per_case(gap.more, " more")
    return f"The runner-up, {second}, costs {more}; {sure}."


def _at_stated_prices(evidence: Evidence) -> list[str]:
    """One sentence, if another model is the cheapest where prices are exactly as stated."""
    costs = {model.name: model.at_stated_prices.value for model in evidence.models if model.at_stated_prices}
    if evidence.unit is None or len(costs) < 2:
        return []
    first = min(costs, key=lambda name: costs[name] or 0.0)
    if first == evidence.leader.name or not (gap := evidence.gaps[first].realised).value:
        return []
    doubt = "" if gap.is_above_zero else ", which these data do not settle"
    less = evidence.per_case(gap, f" less than {evidence.leader.name}")
    return [f"If prices are exactly as stated, {first} is the cheapest: {less}{doubt}."]


def _named(names: Sequence[str]) -> str:
    """All of a few names, or the first and how many more there are."""
    if len(names) <= MOST_NAMES:
        return listed(names)
    return listed([*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"])


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
    pairs = tuple(pair for model in models for pair in largest_pairs(model, data.classes, unit))
    beyond = beyond_the_verdict(models, differences, ranks, pairs, unit, by_workup)
    return Comparison(
        library=f"pandora-regret {__version__}",
        data=data,
        costs=costs,
        interval=interval,
        metrics=tuple(MetricInfo(each.key, each.title, each.better, each.unit) for each in metrics),
        models=models,
        differences=differences,
        ranks=dict(ranks),
        disagreements=disagreements(models, ranks, unit, by_workup),
        largest_pairs=pairs,
        scenarios=scenarios,
        verdict=judged,
        headline=(*judged.sentences, *beyond),
        notes=notes(models, differences, data.clusters),
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

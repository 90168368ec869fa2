"""What the numbers of one or more models, made from rows or from sums, say: doubts, and what to do about it.

A difference is held against what would be worth acting on, the margin: deploy the cheapest model, choose on other
grounds because models are level, or gather so many more cases.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

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
    Kind,
    MetricInfo,
    ModelResult,
    Scenario,
    WorkupPart,
    margin_in_words,
)
from pandora_regret.compare.words import (
    DO_NOT_TRUST,
    FEW_CLUSTERS,
    KINDS,
    UNSEEN,
    VERDICT,
    beyond_the_verdict,
    disagreements,
    few_carriers,
    largest_pairs,
    named,
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
from pandora_regret.text import capitalised, money, percent

if TYPE_CHECKING:
    from pandora_regret.workup import Workup

MOST_CASES = 1e12  # beyond it nobody would count
DEFAULT_WORTH = "1%"
LITTLE = 0.1  # of the margin: so small a risk is worth saying


def cases_needed(
    result: Comparison, power: float | None = None, *, against: str | None = None, difference: float | None = None
) -> int | None:
    """How many more cases would settle whether two models differ by as much as is worth acting on.

    The interval of their difference, between cases as varied as these, is then no wider than that: models that
    differ by so much are told apart, and models that cost the same come out as level, each with the probability
    `power`. That holds for this difference, not jointly for several.

    Parameters
    ----------
    result
        What `compare` returned.
    power
        The probability; unless given, that with which an end of an interval holds (97.5 % at a level of 95 %),
        after which the verdict cannot be "undecided".
    against
        The model that the cheapest one is told apart from; the runner-up unless given.
    difference
        Of the mean cost per case; the comparison's margin (`worth`) unless given.

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
    if power is not None and not 0 < (power := read_number(power, "power")) < 1:
        raise InputError(f"is {power:g}", argument="power", fix="it must lie between 0 and 1, such as 0.8")
    gaps = {gap.against: gap.more for gap in result.differences if gap.model == result.best.name}
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    data, size = result.data, result.verdict.margin if difference is None else abs(difference)
    return more_cases(gaps[name], data.rows, data.clusters, result.interval.level, size, power)


def more_cases(
    gap: Estimate, cases: int, clusters: int | None, level: float, size: float, power: float | None = None
) -> int | None:
    """Beside so many cases; the standard error behind the interval shrinks with the root of their number."""
    if gap.value is None or gap.low is None or gap.high is None or size == 0:
        return None
    units, tail = clusters or cases, (1 + level) / 2
    shorter = min(gap.high - gap.value, gap.value - gap.low)  # the other may have been stretched
    error = shorter / student_quantile(units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantiles fall, as the standard error does, while cases come in."""
        share = 1 + more / cases
        reach = student_quantile(units * share - 1, tail)
        return (reach + (NORMAL.inv_cdf(power) if power else reach)) * error / math.sqrt(share) <= size

    enough = 1
    while not is_enough(enough):
        enough *= 2
        if enough > MOST_CASES:
            return None
    return bisect_left(range(enough), True, key=is_enough)


class Worth:
    """From how much on a difference in cost is worth acting on: an amount, or a share of the lowest cost."""

    def __init__(self, worth: Any) -> None:
        text = str(worth).strip()
        number = text.removesuffix("%").strip().replace(",", ".") if isinstance(worth, str) else worth
        try:
            amount = read_number(float(number), "worth")
        except (TypeError, ValueError):
            amount = -1.0
        if not 0 <= amount < math.inf:
            fix = "write an amount in the unit of costs, such as 2.5, or a share of the lowest cost, such as 1%"
            raise InputError(argument="worth", value=worth, fix=fix)
        self.share = amount / 100 if text.endswith("%") else None
        self.amount = amount

    def margin(self, cost: float) -> float:
        """The amount, where the cheapest model costs so much."""
        return self.amount if self.share is None else self.share * cost


Status = Literal["level", "more", "open"]


@dataclass(frozen=True)
class Standing:
    """Models by rising cost, as they are or all recalibrated: what a verdict rests on."""

    costs: Mapping[str, float]
    gaps: Mapping[str, Estimate]  # what each other model costs more than the first
    chance: float | None  # that the first is the cheapest
    stake: float | None  # what it costs more than the cheapest on average, as far as the data can tell
    recalibrated: bool = False

    @property
    def leader(self) -> str:
        """The model of least cost."""
        return next(iter(self.costs))


@dataclass(frozen=True)
class Question:
    """What a verdict is asked about: how many cases, at which level, and what is worth acting on."""

    cases: int
    clusters: int | None  # None where every case is one of its own
    level: float
    unit: str | None  # of the costs; None where nobody said what tests cost
    margin: float
    share: float | None  # of the lowest cost, where the margin is one
    what: str = "search"

    def status(self, gap: Estimate, cost: float) -> Status:
        """How a model stands to the first one, which costs so much: level with it, costs more, or not settled.

        An interval that is not to be trusted, or of few cases, is held to be wider by what may have gone unseen:
        in n cases, 3 that cost as much again.
        """
        if gap.low is None or gap.high is None:
            return "open"
        units = self.clusters or self.cases
        unseen = 0.0 if gap.is_trusted and units >= FEW_CLUSTERS else UNSEEN / units * cost
        if max(-gap.low, gap.high) + unseen <= self.margin:
            return "level"
        return "more" if gap.is_above_zero else "open"


class Verdict:
    """How a standing is put into words."""

    def __init__(
        self, models: Sequence[ModelResult], differences: Sequence[Difference], standing: Standing
    ) -> None:
        self.models, self.standing = {model.name: model for model in models}, standing
        self.first, self.differences = models[0], differences

    def decide(self, asked: Question) -> Decision:
        """Which kind it is, of whom, and what to say."""
        standing, self.asked = self.standing, asked
        cost = standing.costs[standing.leader]
        self.status = {name: asked.status(gap, cost) for name, gap in standing.gaps.items()}
        kinds = (kind for status, kind in KINDS.items() if status in self.status.values())
        kind: Kind = next(kinds, "single")
        sentences = [
            *{"deploy": self.deploy, "level": self.level, "undecided": self.undecided, "single": self.single}[
                kind
            ](),
            *(self.as_they_are() if standing.recalibrated else [*self.own_saving(), *self.at_stated_prices()]),
        ]
        needed = self.cases_needed if kind == "undecided" else None
        about = (standing.leader, self.named("open"), self.named("level"), needed)
        share = (asked.margin, asked.share)
        return Decision(kind, *about, standing.stake, *share, standing.recalibrated, tuple(sentences))

    def named(self, status: Status) -> tuple[str, ...]:
        """The models that stand so."""
        return tuple(name for name, each in self.status.items() if each == status)

    def say(self, what: str, **words: Any) -> str:
        """A sentence of the table, filled in."""
        leader, n_models = self.standing.leader, len(self.models)
        cost = money(self.standing.costs[leader], self.asked.unit)
        return VERDICT[what].format(leader=leader, cost=cost, n=n_models, what=self.asked.what, **words)

    def single(self) -> list[str]:
        """What the model costs."""
        return [self.say("single")]

    def deploy(self) -> list[str]:
        """The cheapest; who is level with it; what the next costs more."""
        level, (other, *_) = self.named("level"), self.named("more")
        first = self.say("recalibrated" if self.standing.recalibrated else "deploy")
        gap = self.per_case(self.standing.gaps[other], " more")
        if level:
            is_level = self.say("beside", names=named(level), are="is" if len(level) == 1 else "are")
            return [first, is_level, self.say("next", other=other, gap=gap)]
        return [first, self.say("runner_up", other=other, gap=gap, sure=self.sure())]

    def level(self) -> list[str]:
        """All of them, and what even the last costs more."""
        *_, last = self.standing.gaps
        gap = self.standing.gaps[last]
        first = self.say("level", names=named([*self.standing.costs]))
        return [
            first,
            self.say("same") if not gap.value else self.say("spread", last=last, gap=self.per_case(gap, " more")),
        ]

    def undecided(self) -> list[str]:
        """Who is not told apart and by how much, what is at stake, how many cases would do, and who costs more."""
        open_, more, stake, asked = self.named("open"), self.named("more"), self.standing.stake, self.asked
        gap, leader = self.standing.gaps[open_[0]], self.standing.leader
        first = "recalibrated_open" if self.standing.recalibrated else "undecided"
        sentences = [self.say(first, names=named([leader, *open_]))]
        doubts = [each.warning for each in map(self.standing.gaps.get, open_) if each and each.warning]
        if gap.low is None or stake is None:
            return [*sentences, self.say("unsure")]
        if doubts:
            sentences.append(f"{capitalised(doubts[0].removesuffix(f': {DO_NOT_TRUST}'))}.")
        else:
            by = self.per_case(gap)
            sentences.append(self.say("ahead", other=open_[0], gap=by, sure=self.sure()))
            little = "little" if stake <= LITTLE * asked.margin else "stake"
            sentences.append(self.say(little, stake=money(stake, asked.unit)))
        if (cases := self.cases_needed) and not doubts:
            size = 10 ** max(0, len(str(cases)) - 2)  # to two digits, upwards
            margin = margin_in_words(asked.margin, asked.share, asked.unit)
            sentences.append(self.say("needed", cases=f"{-(-cases // size) * size:,}", margin=margin))
        if more:
            sentences.append(self.say("others", names=named(more), s="s" * (len(more) == 1)))
        return sentences

    @cached_property
    def cases_needed(self) -> int | None:
        """So many more would settle every difference that is not; None where that cannot be said."""
        asked = self.asked
        about = (asked.cases, asked.clusters, asked.level, asked.margin)
        needed = [more_cases(self.standing.gaps[name], *about) for name in self.named("open")]
        settling = [more for more in needed if more is not None]
        return max(settling) or None if settling and len(settling) == len(needed) else None

    def sure(self) -> str:
        """How likely the leader is the cheapest."""
        chance = self.standing.chance
        return "" if chance is None else self.say("sure", chance=percent(chance))

    def own_saving(self) -> list[str]:
        """What recalibrating the leader itself would save, where that is beyond doubt and worth it."""
        saved = getattr(self.first.recalibrated, "saved", None)
        if saved is None or not saved.is_above_zero or saved.value < self.asked.margin:
            return []
        return [self.say("saves", saved=self.per_case(saved))]

    def as_they_are(self) -> list[str]:
        """That models are compared recalibrated, and who is the cheapest otherwise."""
        ours, theirs = (
            money(self.models[name].cost, self.asked.unit) for name in (self.first.name, self.standing.leader)
        )
        return [self.say("as_is", first=self.first.name, ours=ours, theirs=theirs)]

    def at_stated_prices(self) -> list[str]:
        """One sentence, if another model is the cheapest by the margin where prices are exactly as stated."""
        realised = {
            gap.against: gap.realised
            for gap in self.differences
            if gap.model == self.first.name and gap.realised.value
        }
        worth = {
            name: gap
            for name, gap in realised.items()
            if gap.is_above_zero and (gap.value or 0.0) > self.asked.margin
        }
        if self.asked.unit is None or not worth:
            return []
        cheapest = max(worth, key=lambda name: worth[name].value or 0.0)
        less = self.per_case(worth[cheapest], f" less than {self.first.name}")
        return [f"If prices are exactly as stated, {cheapest} is the cheapest: {less}."]

    def per_case(self, estimate: Estimate, more: str = "") -> str:
        """An amount and its interval."""
        return per_case(estimate, self.asked.unit, more)


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
    standing: Standing | None = None,
    worth: Worth | None = None,
    scenarios: tuple[Scenario, ...] = (),
    workup: WorkupPart | None = None,
    break_even: tuple[BreakEven, ...] = (),
) -> Comparison:
    """What the numbers of one or more models, the cheapest first, say."""
    what, unit = "search" if workup is None else "work-up", costs.currency
    worth, by_workup = worth or Worth(DEFAULT_WORTH), workup is not None
    margin = (worth.margin(models[0].cost), worth.share)
    standing = standing or Standing({models[0].name: models[0].cost}, {}, 1.0, 0.0)
    asked = Question(data.rows, data.clusters, interval.level, unit, *margin, what)
    judged = Verdict(models, differences, standing).decide(asked)
    pairs = tuple(pair for model in models for pair in largest_pairs(model, data.classes, unit))
    beyond = beyond_the_verdict(models, differences, ranks, pairs, unit, by_workup)
    beyond = () if standing.recalibrated else beyond  # which is about models as they are
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
        notes=notes(models, differences, data.clusters, judged.level),
        workup=workup,
        break_even=break_even,
    )


def without_verdict(result: Comparison, apart: Sequence[str]) -> Comparison:
    """A comparison of models of which some were scored against another truth: nothing can be said of who leads."""
    why = f"No verdict: the truth is not the same for {named(apart)} as for the other models."
    others = tuple(model.name for model in result.models[1:])
    none = replace(
        result.verdict,
        kind="undecided",
        undecided=others,
        level=(),
        cases_needed=None,
        stake=None,
        recalibrated=False,
        sentences=(why,),
    )
    return replace(result, verdict=none, headline=(why,), break_even=())


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

"""What the numbers of one or more models, made from rows or from sums, say: doubts, and what to do about it.

A difference is held against what would be worth acting on, the margin: deploy the cheapest model, choose on other
grounds because models are level, or gather so many more cases.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from pandora_regret._version import __version__
from pandora_regret.compare.result import (
    ALIKE,
    STATED,
    BreakEven,
    Comparison,
    Costs,
    Crossing,
    Data,
    Decision,
    IntervalMethod,
    Kind,
    LargestPair,
    MetricInfo,
    ModelResult,
    margin_in_words,
)
from pandora_regret.core.inputs import FloatArray, InputError, Names, read_count, read_level, read_number
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.intervals import MOST_CLASSES, Limits, hull, interval_by_classes
from pandora_regret.inference.joint import Carriers
from pandora_regret.inference.student import NORMAL, student_quantile
from pandora_regret.metrics import METRICS, Metric
from pandora_regret.text import (
    capitalised,
    class_name,
    counted,
    listed,
    money,
    money_between,
    percent,
    ruling_out,
)

MOST_CASES = 10**12  # beyond it nobody would count
FEW_CLUSTERS = 30
PAIRS_NAMED = 3  # per model
NOTHING = 1e-4  # of the cost: a saving that no reader would notice
MOST_DOUBTS = 4  # spelt out
UNSEEN = 3.0  # cases: what never happened in n cases may yet happen in 3 of n, at 95 % confidence
FEW_OF_A_CLASS = 5  # cases
TOO_MANY_RARE = 0.1  # of the classes
DO_NOT_TRUST = "do not trust this interval"
NOT_SETTLED = "not settled"
DEFAULT_WORTH = "1%"
LITTLE = 0.1  # of the margin: so small a risk is worth saying
MOST_NAMES = 4  # in one sentence

# A verdict's kind, by the first of these that another model's standing to the cheapest is; of one model: "single".
KINDS: dict[str, Kind] = {
    "open": "undecided",
    "more": "deploy",
    "level": "level",
}

# What a verdict says. The page fills in the same sentences, with its own figures, when a reader moves a price.
VERDICT = {
    "single": "A {what} by {leader} costs {cost} per case.",
    "deploy": "Deploy {leader}: its {what} costs {cost} per case, the least of {n} models.",
    "recalibrated": "Recalibrated, {leader} is the cheapest of {n} models: its {what} then costs {cost} per case.",
    "level": "{names} cost the same for practical purposes: choose on other grounds.",
    "undecided": "Not settled: {names} cannot be told apart yet.",
    "recalibrated_open": "Not settled: recalibrated, {names} cannot be told apart yet.",
    "runner_up": "The runner-up, {other}, costs {gap}{sure}.",
    "sure": "; {leader} is the cheapest with probability {chance}",
    "unsure": "One independent case cannot tell models apart.",
    "beside": "{names} {are} level with it for practical purposes.",
    "next": "The next, {other}, costs {gap}.",
    "same": "They cost the same: {cost} per case.",
    "spread": "{leader} is the cheapest, but even {other} costs only {gap}, of {cost}.",
    "ahead": "{leader} is ahead of {other} by {gap}{sure}.",
    "stake": "Deploying {leader} now, the chance of being wrong costs {stake} per case on average.",
    "little": "Little is at stake: the chance of being wrong about {leader} costs {stake} per case on average.",
    "needed": "About {cases} more cases would settle a difference of {margin}.",
    "others": "{names} cost{s} more.",
    "saves": "Recalibrating {leader} saves {saved}.",
    "as_is": "All models are compared recalibrated: as they are, {first} is ahead ({ours} against {theirs}).",
}


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
    gaps = result.gaps
    if not gaps:
        raise InputError("has one model", argument="result", fix="compare it with another")
    name = result.models[1].name if against is None else against
    if name not in gaps:
        raise InputError(f"is {against!r}", argument="against", fix=f"pass one of {', '.join(map(repr, gaps))}")
    return more_cases(
        result, gaps[name].more, result.verdict.margin if difference is None else abs(difference), power
    )


def more_cases(result: Comparison, gap: Estimate, size: float, power: float | None = None) -> int | None:
    """Beside those of the comparison; the error behind the interval shrinks with the root of their number."""
    if gap.value is None or gap.low is None or gap.high is None or size == 0:
        return None
    cases, tail = result.data.rows, (1 + result.interval.level) / 2
    units = result.data.clusters or cases
    shorter = min(gap.high - gap.value, gap.value - gap.low)  # the other may have been stretched
    error = shorter / student_quantile(units - 1, tail)

    def is_enough(more: int) -> bool:
        """Student's quantiles fall, as the standard error does, while cases come in."""
        share = 1 + more / cases
        reach = student_quantile(units * share - 1, tail)
        return (reach + (NORMAL.inv_cdf(power) if power else reach)) * error / math.sqrt(share) <= size

    if not is_enough(MOST_CASES):
        return None
    return bisect_left(range(MOST_CASES), True, key=is_enough)


Worth: TypeAlias = Callable[[float], tuple[float, float | None]]


def read_worth(worth: Any) -> Worth:
    """From how much on a difference in cost is worth acting on: an amount, or a share of the lowest cost.

    As a function of that cost: the amount, and the share where that is how it was said.
    """
    text = str(worth).strip()
    number = text.removesuffix("%").strip().replace(",", ".") if isinstance(worth, str) else worth
    try:
        amount = read_number(float(number), "worth")
    except (TypeError, ValueError):
        amount = -1.0
    if not 0 <= amount < math.inf:
        fix = "write an amount in the unit of costs, such as 2.5, or a share of the lowest cost, such as 1%"
        raise InputError(argument="worth", value=worth, fix=fix)
    share = amount / 100
    return lambda cost: (share * cost, share) if text.endswith("%") else (amount, None)


@dataclass(frozen=True)
class Verdict:
    """How models stand, as they are or all recalibrated, judged by what is worth acting on and put into words."""

    result: Comparison  # all of it but the words
    leader: str  # the model of least cost
    cost: float  # of the leader
    gaps: Mapping[str, Estimate]  # what each other model costs more than it, by rising cost
    chance: float | None  # that the leader is the cheapest
    stake: float | None  # what it costs more than the cheapest on average, as far as the data can tell
    recalibrated: bool  # whether all of them are
    margin: float
    share: float | None

    @property
    def unit(self) -> str | None:
        """The unit of costs."""
        return self.result.costs.currency

    @cached_property
    def by_status(self) -> dict[str, list[str]]:
        """How other models stand to the first one, by what they cost more: level, more, or open (not settled).

        An interval that is not to be trusted, or of few cases, is held to be wider by what may have gone unseen:
        in n cases, 3 that cost as much again.
        """
        by_status: dict[str, list[str]] = {status: [] for status in KINDS}
        data = self.result.data
        units = data.clusters or data.rows
        for name, gap in self.gaps.items():
            unseen = 0.0 if gap.is_trusted and units >= FEW_CLUSTERS else UNSEEN / units * self.cost
            status = "more" if gap.is_above_zero else "open"
            if gap.low is not None and gap.high is not None and max(-gap.low, gap.high) + unseen <= self.margin:
                status = "level"
            by_status[status].append(name)
        return by_status

    def decide(self) -> Decision:
        """Which kind it is, of whom, and what to say."""
        status = self.by_status
        kind: Kind = next((KINDS[each] for each in KINDS if status[each]), "single")
        sentences: list[str] = getattr(self, kind)()
        sentences += self.as_they_are() if self.recalibrated else self.at_other_terms()
        return Decision(
            kind,
            self.leader,
            tuple(status["open"]),
            tuple(status["level"]),
            self.cases_needed if kind == "undecided" else None,
            self.stake,
            self.margin,
            self.share,
            self.recalibrated,
            tuple(sentences),
        )

    def say(self, what: str, names: Sequence[str] = (), **words: Any) -> str:
        """A sentence of the table, filled in."""
        one, chance = len(names) == 1, self.chance
        sure = "" if chance is None else VERDICT["sure"].format(leader=self.leader, chance=percent(chance))
        words |= {"leader": self.leader, "cost": money(self.cost, self.unit), "sure": sure}
        words |= {"names": listed(names, MOST_NAMES - 1), "are": "is" if one else "are", "s": "s" * one}
        return VERDICT[what].format(n=len(self.result.models), what=self.result.what, **words)

    def than_leader(self, name: str) -> dict[str, str]:
        """Another model, and what it costs more than the first."""
        return {"other": name, "gap": per_case(self.gaps[name], self.unit, " more")}

    def single(self) -> list[str]:
        """What the only model costs."""
        return [self.say("single")]

    def deploy(self) -> list[str]:
        """The cheapest; who is level with it; what the next costs more."""
        level, other = self.by_status["level"], self.by_status["more"][0]
        first = self.say("recalibrated" if self.recalibrated else "deploy")
        if level:
            return [first, self.say("beside", level), self.say("next", **self.than_leader(other))]
        return [first, self.say("runner_up", **self.than_leader(other))]

    def level(self) -> list[str]:
        """All of them, and what even the last costs more."""
        *_, last = names = [self.leader, *self.gaps]
        spread = "spread" if self.gaps[last].value else "same"
        return [self.say("level", names), self.say(spread, **self.than_leader(last))]

    def undecided(self) -> list[str]:
        """Who is not told apart and by how much, what is at stake, how many cases would do, and who costs more."""
        first, *others = self.by_status["open"]
        gap, stake = self.gaps[first], self.stake
        kind = "recalibrated_open" if self.recalibrated else "undecided"
        sentences = [self.say(kind, (self.leader, first, *others))]
        doubts = [doubt for name in (first, *others) if (doubt := self.gaps[name].warning)]
        if gap.low is None or stake is None:
            return [*sentences, self.say("unsure")]
        if doubts:
            sentences.append(f"{capitalised(doubts[0].removesuffix(f': {DO_NOT_TRUST}'))}.")
        else:
            little = "little" if stake <= LITTLE * self.margin else "stake"
            sentences.append(self.say("ahead", other=first, gap=per_case(gap, self.unit)))
            sentences.append(self.say(little, stake=money(stake, self.unit)))
            if cases := self.cases_needed:
                size = 10 ** max(0, len(str(cases)) - 2)  # to two digits, upwards
                margin = margin_in_words(self.margin, self.share, self.unit)
                sentences.append(self.say("needed", cases=f"{-(-cases // size) * size:,}", margin=margin))
        return [*sentences, self.say("others", more)] if (more := self.by_status["more"]) else sentences

    @cached_property
    def cases_needed(self) -> int | None:
        """So many more would settle every difference that is not; None where that cannot be said."""
        gaps = (self.gaps[name] for name in self.by_status["open"])
        needed = [more_cases(self.result, gap, self.margin) for gap in gaps]
        return None if None in needed else max(number or 0 for number in needed) or None

    def as_they_are(self) -> list[str]:
        """That models are compared recalibrated, and who is the cheapest otherwise."""
        costs = {model.name: money(model.cost, self.unit) for model in self.result.models}
        first = self.result.best.name
        return [self.say("as_is", first=first, ours=costs[first], theirs=costs[self.leader])]

    def at_other_terms(self) -> list[str]:
        """What recalibrating the leader itself would save, and who is the cheapest if prices are as stated.

        Each where that is beyond doubt, and more than the margin.
        """
        best, sentences = self.result.best, list[str]()
        if best.recalibrated is not None and best.recalibrated.saved.exceeds(self.margin):
            sentences.append(self.say("saves", saved=per_case(best.recalibrated.saved, self.unit)))
        realised = [gap for gap in self.result.gaps.values() if gap.realised.exceeds(self.margin)]
        if realised and self.unit is not None:
            most = max(realised, key=lambda gap: gap.realised.value or 0.0)
            cheapest, less = most.against, per_case(most.realised, self.unit, f" less than {best.name}")
            sentences.append(f"If prices are exactly as stated, {cheapest} is the cheapest: {less}.")
        return sentences


def largest_pairs(model: ModelResult, classes: Sequence[str], currency: str | None) -> list[LargestPair]:
    """The most expensive wrong tests of a model, each as a sentence; at most three."""
    costs, whole, pairs = np.ravel(model.pair_costs), money(model.cost, currency), list[LargestPair]()
    for place in np.argsort(-costs, kind="stable")[:PAIRS_NAMED].tolist():
        if (cost := float(costs[place])) > 0:
            truth, tested = (classes[number] for number in divmod(place, len(classes)))
            sentence = f"{ruling_out(truth, tested)}: {money(cost, currency or '')} of every {whole}"
            pairs.append(LargestPair(model.name, truth, tested, cost, cost / model.cost, sentence))
    return pairs


def against_others(result: Comparison) -> tuple[list[str], list[str]]:
    """What the cheapest model saves: against the runner-up, and against those that other metrics would choose."""
    models, best, unit = result.models, result.best.name, result.costs.currency
    chosen: dict[str, list[str]] = {}  # by the model that a metric puts first: of several, the cheapest
    for key in (key for key in result.ranks if METRICS[key].ranks_as is None):
        if any(model.scores[key].value is not None for model in models):
            chosen.setdefault(models[int(np.argmin(result.ranks[key]))].name, []).append(METRICS[key].wording)
    runner_up, choices = list[str](), list[str]()
    for name, gap in result.gaps.items():
        if gap.savings_per_1000 > 0 and (name in chosen or name == models[1].name):
            by = f", which {listed(chosen[name])} would choose" if name in chosen else ""
            more = gap.more.mapped(lambda amount: 1000 * amount)
            saved = money_between(gap.savings_per_1000, more.low, more.high, unit)
            (choices if by else runner_up).append(f"Against {name}{by}, {best} saves {saved} per 1,000 cases.")
    if result.gaps and list(chosen) == [best]:
        runner_up.append(f"Every other metric would choose {best} too.")
    return runner_up, choices


def where_money_goes(result: Comparison, pairs: Sequence[LargestPair]) -> str:
    """What nobody could save of the cheapest model's cost, and which wrong tests take the most of the rest."""
    best, unit = result.best, result.costs.currency
    if result.workup is not None:
        return f"Someone who knew the truth would pay {money(best.unavoidable, unit)} per case."
    named = [f"{ruling_out(p.truth, p.tested)} ({money(p.cost, unit)})" for p in pairs if p.model == best.name]
    wasted = ", and nothing is wasted" if best.pair_costs else ""
    if named:
        wasted = f"; the most expensive wrong test{'s are' if len(named) > 1 else ' is'} {listed(named)}"
    own = f"Of every {money(best.cost, unit)}, testing the truth itself takes {money(best.unavoidable, unit)}"
    return f"{own}{wasted}."


def per_case(estimate: Estimate, unit: str | None, more: str = "") -> str:
    """An amount per case and its interval.

    Examples
    --------
    >>> per_case(Estimate(21.6, 4.2, 49.1), "USD", " more")
    '$22 per case more (4 to 49)'
    """
    return money_between(estimate.value or 0.0, estimate.low, estimate.high, unit, per=f"per case{more}")


def price_sentences(break_even: Sequence[BreakEven], leader: str, unit: str | None) -> Names:
    """At which prices another model would be cheaper by the margin, the nearest to the stated price first."""
    sides = ((each, side, at) for each in break_even for side, at in (("less", each.below), ("more", each.above)))
    crossings, sentences = [(each, side, at) for each, side, at in sides if at], []
    for each, side, at in crossings:
        if (price := price_between(at, each.stated, unit)) != NOT_SETTLED:
            unless = f"{leader} stays the best choice unless {class_name(each.test)} costs {side} than {price}"
            sentence = f"{unless}; now {money(each.stated, unit)}; then it is {at.leader}."
            sentences.append((abs(np.log(at.price / each.stated)), sentence))
    if sentences or not break_even:
        return tuple(sentence for _, sentence in sorted(sentences))
    if crossings:
        return ("Whether another price of a single test would change the choice is not settled.",)
    whatever = "No single price, from a tenth to ten times the stated one, makes another model"
    return (f"{whatever} a better choice than {leader}.",)


def price_between(crossing: Crossing, stated: float, unit: str | None) -> str:
    """A break-even price and its interval; or that the data do not settle the order at the stated price.

    Examples
    --------
    >>> price_between(Crossing(5.4, 4.9, 6.1, "Forest"), 3.0, "USD")
    '$5.40 (4.90 to 6.10)'
    >>> price_between(Crossing(5380.0, 2300.0, None, "Forest"), 640.0, "USD")
    '$5,380 ($2,300 or more)'
    >>> price_between(Crossing(5380.0, 547.0, None, "Forest"), 640.0, "USD")
    'not settled'
    """
    low, high = crossing.low, crossing.high
    if (low or 0.0) <= stated <= (high or np.inf):
        return NOT_SETTLED
    price = money_between(crossing.price, low, high, unit)
    if low is None and high is not None:
        price += f" ({money(high, unit)} or less)"
    return f"{price} ({money(low, unit)} or more)" if high is None and low is not None else price


def scenario_sentence(result: Comparison) -> str | None:
    """Under which other prices that the user named another model is cheaper than the first by the margin."""
    first, names, changed = result.best, list[str](), list[str]()
    for number, scenario in enumerate(result.scenarios):
        if scenario.name in (STATED, ALIKE):
            continue
        names.append(scenario.name)
        best = min(result.models, key=lambda model: model.scenarios[number])
        if first.scenarios[number] - best.scenarios[number] > result.verdict.margin:
            ours, theirs = (money(model.scenarios[number], result.costs.currency) for model in (best, first))
            choice = f"Under {scenario.name}, {best.name} is the best choice"
            changed.append(f"{choice}: {ours} per case against {theirs}.")
    if not changed:
        return f"{first.name} stays the best choice under {listed(names)}." if names else None
    also = f" The choice changes in {len(changed)} of {len(names)} scenarios." if len(names) > 1 else ""
    return changed[0] + also


def recalibrating(model: ModelResult, unit: str | None) -> str | None:
    """What recalibrating a model would save, as far as the data can tell; None where that is not known."""
    if model.recalibrated is None or (saved := model.recalibrated.saved).value is None:
        return None
    if saved.value < NOTHING * model.cost:
        return "Recalibrating would save nothing that could be measured."
    if saved.low is not None and saved.low <= 0:
        return f"Recalibrating might save {per_case(saved, unit)}, but these data do not settle whether it would."
    return f"Recalibrating saves {per_case(saved, unit)}."


def notes(result: Comparison, level: Sequence[str]) -> Names:
    """What a reader should know before trusting the numbers: the first few intervals that cannot be, and why.

    That of models which are level is wide enough as it is.
    """
    models, clusters = result.models, result.data.clusters
    costs = ((model.name, model.scores["expected_cost"].warning) for model in models)
    gaps = (
        (f"{name} against {result.best.name}", gap.warning)
        for name, gap in result.gaps.items()
        if name not in level
    )
    sentences = [f"{what}: {warning}." for what, warning in (*costs, *gaps) if warning is not None]
    if (more := len(sentences) - MOST_DOUBTS) > 0:
        sentences[MOST_DOUBTS:] = [f"{more} more intervals cannot be trusted: see the JSON."]
    sentences += [
        f"{model.name}: {key.replace('_', ' ')} is {score.warning}."
        for model in models
        for key, score in model.scores.items()
        if score.value is None and score.warning is not None
    ]
    if clusters is not None and clusters < FEW_CLUSTERS:
        few = f"There {'is' if clusters == 1 else 'are'} only {counted(clusters, 'cluster')}"
        sentences.append(f"{few}: with fewer than {FEW_CLUSTERS}, intervals tend to be too narrow.")
    return tuple(sentences)


def few_carriers(carriers: Carriers, what: str, units: str) -> str | None:
    """A warning if a handful of units, "cases" or "clusters", makes up most of `what`."""
    if not carriers.few:
        return None
    if carriers.number == 0:
        return f"{what} is zero in all {carriers.units} {units}, which says little about others: {DO_NOT_TRUST}"
    some = f"{carriers.largest} of {carriers.units} {units} make{'s' * (carriers.largest == 1)} up"
    return f"{some} {100 * carriers.share:.0f} % of {what}: {DO_NOT_TRUST}"


@dataclass(frozen=True)
class Background:
    """What an estimate is judged by, whether rows are at hand or were summed as they came."""

    classes: Names
    class_weights: FloatArray  # (K,) of the true class
    typical: FloatArray  # (K,) what testing each class costs, on average over instances
    currency: str | None
    units: str  # "cases" or "clusters"
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
            doubt = self._rare_classes()
        elif carriers is not None and carriers.few and carriers.number > 0:
            doubt = few_carriers(carriers, "the spread", self.units)
        elif metric.unit == "money":
            doubt = self._unseen_class(value, high - value)
        return Estimate(value, low, high, doubt)

    def _unseen_class(self, mean: float, margin: float) -> str | None:
        """A warning if a few cases of a class that never occurs would lift a mean past its limit.

        A search for that class costs no less than testing it.
        """
        share = min(1.0, UNSEEN / self.effective)
        added = (self.typical - mean) * share * (self.class_weights == 0)
        worst = int(added.argmax())
        if added[worst] <= margin:
            return None
        name = f"{class_name(self.classes[worst])} ({money(self.typical[worst], self.currency)})"
        return (
            f"{name} never occurs here; if it were {100 * share:.2g} % of cases, as these data allow, a case "
            f"would cost {money(added[worst], self.currency)} more: {DO_NOT_TRUST}"
        )

    def _rare_classes(self) -> str | None:
        """A warning if a class counts as much as the others in a metric, and has hardly any cases."""
        cases = self.class_weights * self.effective / self.class_weights.sum()
        rare = [class_name(name) for name, n in zip(self.classes, cases, strict=True) if n < FEW_OF_A_CLASS]
        if len(rare) < TOO_MANY_RARE * len(self.classes) or not rare:
            return None
        has = f"{listed(rare, 2)} {'has' if len(rare) == 1 else 'have'}"
        return f"{has} fewer than {FEW_OF_A_CLASS} cases: {DO_NOT_TRUST}"


def conclude(
    models: tuple[ModelResult, ...],
    data: Data,
    costs: Costs,
    interval: IntervalMethod,
    metrics: Sequence[Metric],
    chance: float | None = 1.0,
    stake: float | None = 0.0,
    recalibrated: bool = False,
    worth: Worth | None = None,
    **others: Any,
) -> Comparison:
    """What the numbers of one or more models, the cheapest first, say; `others` are parts of the comparison."""
    infos = tuple(MetricInfo(each.key, each.title, each.better, each.unit) for each in metrics)
    empty: dict[str, Any] = dict.fromkeys(
        ("differences", "disagreements", "largest_pairs", "scenarios", "headline"), ()
    )
    parts = empty | {"verdict": None} | others
    draft = Comparison(f"pandora-regret {__version__}", data, costs, interval, infos, models, **parts)
    standings = draft.standings(recalibrated)
    leader, (cost, _) = next(iter(standings.items()))
    gaps = {name: gap for name, (_, gap) in standings.items() if name != leader}
    leading = (leader, cost.value or 0.0, gaps, chance, stake, recalibrated)
    margin = (worth or read_worth(DEFAULT_WORTH))(models[0].cost)
    judged = Verdict(draft, *leading, *margin).decide()
    pairs = tuple(pair for model in models for pair in largest_pairs(model, data.classes, costs.currency))
    runner_up, choices = against_others(draft)
    beyond = [*runner_up, *choices, where_money_goes(draft, pairs)]
    return replace(
        draft,
        disagreements=tuple(choices),
        largest_pairs=pairs,
        verdict=judged,
        headline=(*judged.sentences, *([] if recalibrated else beyond)),  # which is about models as they are
        notes=notes(draft, judged.level),
    )


def without_verdict(result: Comparison, apart: Sequence[str]) -> Comparison:
    """A comparison of models of which some were scored against another truth: nothing can be said of who leads."""
    why = (f"No verdict: the truth is not the same for {listed(apart, MOST_NAMES - 1)} as for the other models.",)
    others, old = tuple(model.name for model in result.models[1:]), result.verdict
    none = Decision("undecided", old.leader, others, (), None, None, old.margin, old.share, False, why)
    return replace(result, verdict=none, headline=why, break_even=())


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

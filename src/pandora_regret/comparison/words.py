"""What a comparison says, in sentences: the verdict, doubts, savings, what stands out in groups, and prices.

All English of the room is here, but for the headings of the table that `result.py` lays out. Numbers come from the
steps before; none of them knows of this module.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pandora_regret.comparison.doubts import (
    FEW_OF_A_CLASS,
    AllAlike,
    Doubt,
    FewCarriers,
    Finding,
    Impossible,
    NoPrediction,
    RareClasses,
    UnseenClass,
)
from pandora_regret.comparison.grouping import (
    AllDearerHere,
    AllSmall,
    BreakdownFindings,
    CheaperHere,
    DearerHere,
    FlagOfAll,
    FlagOfGroup,
    GroupFindings,
    GroupSet,
    Reversal,
)
from pandora_regret.comparison.judge import FEW_CLUSTERS, Judgement
from pandora_regret.comparison.parts import (
    ALIKE,
    KNOWN_COSTS,
    STATED,
    BreakEven,
    Costs,
    Crossing,
    Data,
    Decision,
    Difference,
    LargestPair,
    ListsPart,
    ModelResult,
    PricesOfMiss,
    Scenario,
    gaps_to,
)
from pandora_regret.core.inputs import FloatArray, Names
from pandora_regret.inference.estimate import Estimate, Interval
from pandora_regret.inference.joint import Carriers
from pandora_regret.metrics import LIST_METRICS, REPORTED
from pandora_regret.text import (
    TESTS,
    capitalised,
    class_name,
    count,
    counted,
    is_currency,
    listed,
    money,
    money_between,
    percent,
    ruling_out,
    stated_price,
    two_digits,
)

PAIRS_NAMED = 3  # per model
LEAST_POSITIVE = float(np.finfo(np.float64).smallest_subnormal)  # what is more than nothing
UNNOTICED = 1e-4  # of the cost: a saving that no reader would notice
MOST_DOUBTS = 4  # spelt out
NOT_SETTLED = "not settled"
LITTLE = 0.1  # of the margin: so small a risk is worth saying
MOST_NAMES = 4  # in one sentence
MOST_GROUPS_NAMED = 3  # in one sentence
FINDINGS_IN_VERDICT = 2  # of what stands out by group
IN_PERCENT = 1.1  # ratios below it are said in percent
DO_NOT_TRUST = "do not trust this interval"
PICKED_BY = ("top_1", "top_3", "mrr", "exam")  # what people choose ranked lists by

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
    "needed": "About {cases} would settle a difference of {margin}.",
    "needed_for_both": "About {fewer} would settle the {seen} seen, {cases} a difference of {margin}.",
    "others": "{names} cost{s} more.",
    "saves": "Recalibrating {leader} saves {saved}.",
    "tests": "Nobody priced the tests: costs are in typical test prices. {leader} makes {tests} per case.",
    "as_is": "All models are compared recalibrated: as they are, {first} is ahead ({ours} against {theirs}).",
}


@dataclass(frozen=True)
class Results:
    """What is known of the models, the cheapest first, before anything is said about them."""

    models: tuple[ModelResult, ...]
    differences: tuple[Difference, ...]
    ranks: Mapping[str, Sequence[float]]
    data: Data
    unit: str | None  # of costs
    is_workup: bool
    largest_pairs: tuple[LargestPair, ...]  # of each model
    lists: ListsPart | None = None  # what the price of a miss does, where forecasts are ranked lists

    @property
    def best(self) -> ModelResult:
        """The model of least expected cost, as models are."""
        return self.models[0]

    @property
    def names(self) -> list[str]:
        """The models' names."""
        return [model.name for model in self.models]

    @property
    def at_a_miss(self) -> str:
        """At which price of a miss costs are reported, where lists miss truths and nobody said what that costs."""
        if self.lists is None or not self.lists.ranges_to_judge:
            return ""
        return f" where a miss costs {money(self.lists.at, self.unit)}"

    @property
    def gaps(self) -> dict[str, Difference]:
        """How the best model differs from each other one."""
        return gaps_to(self.best.name, self.differences)


@dataclass(frozen=True)
class Statements:
    """All that is said of a comparison as a whole."""

    verdict: list[str]
    headline: list[str]
    disagreements: list[str]
    notes: Names


def put_into_words(
    judgement: Judgement, results: Results, flags: Sequence[str], absent: Sequence[str] = ()
) -> Statements:
    """A judgement, and what the results say beside it.

    Flags are what stands out by group; `absent` are classes that models lack, which explain what these cost.
    """
    contest = judgement.contest
    runner_up, choices = against_others(results)
    if contest.apart:
        verdict = [no_verdict(contest.apart)]
        headline = verdict
    elif contest.ranges and results.lists is not None:
        verdict = [*miss_sentences(results.lists, results.names, results.unit), *picks_sentences(results)]
        headline = verdict
    else:
        sentences = verdict_sentences(judgement, results)
        verdict = [*sentences, *group_sentences(flags), *picks_sentences(results)]
        headline = [*sentences, *flags]
        if not contest.recalibrated:  # the rest is about models as they are
            headline = [*sentences, *runner_up, *choices, where_money_goes(results), *flags]
    yardstick = None if results.lists is None else constant_sentence(results.lists, results.unit)
    if yardstick is not None:
        headline = [*headline, yardstick]
    warnings = [f"{sentence}." for sentence in absent] + list(notes(results, judgement.by_standing["level"]))
    return Statements(verdict, headline, choices, tuple(warnings))


def verdict_sentences(judgement: Judgement, results: Results) -> list[str]:
    """The verdict itself, and what belongs to it."""
    speaker = _Speaker(judgement, results)
    match judgement.kind:
        case "single":
            sentences = [speaker.say("single")]
        case "deploy":
            sentences = speaker.deploy()
        case "level":
            sentences = speaker.level()
        case "undecided":
            sentences = speaker.undecided()
    if judgement.contest.recalibrated:
        return [*sentences, speaker.as_they_are()]
    return [*sentences, *speaker.tests_made(), *speaker.at_other_terms()]


@dataclass(frozen=True)
class _Speaker:
    """A judgement in the words of `VERDICT`."""

    judgement: Judgement
    results: Results

    @property
    def unit(self) -> str | None:
        """The unit of costs."""
        return self.results.unit

    def say(self, key: str, names: Sequence[str] = (), **words: str) -> str:
        """A sentence of the table, filled in."""
        contest = self.judgement.contest
        sure = ""
        if contest.chance is not None:
            sure = VERDICT["sure"].format(leader=contest.leader, chance=percent(contest.chance))
        is_one = len(names) == 1
        usual = {
            "leader": contest.leader,
            "cost": money(contest.cost, self.unit),
            "sure": sure,
            "names": listed(names, MOST_NAMES - 1),
            "are": "is" if is_one else "are",
            "s": "s" if is_one else "",
            "n": str(len(self.results.models)),
            "what": kind_of_cost(self.results.is_workup),
        }
        return VERDICT[key].format(**usual | words)

    def than_leader(self, name: str) -> dict[str, str]:
        """Another model, and what it costs more than the first."""
        return {"other": name, "gap": per_case(self.judgement.contest.gaps[name], self.unit, " more")}

    def deploy(self) -> list[str]:
        """The cheapest; who is level with it; what the next costs more."""
        level = self.judgement.by_standing["level"]
        next_name = self.judgement.by_standing["more"][0]
        first = self.say("recalibrated" if self.judgement.contest.recalibrated else "deploy")
        if level:
            return [first, self.say("beside", level), self.say("next", **self.than_leader(next_name))]
        return [first, self.say("runner_up", **self.than_leader(next_name))]

    def level(self) -> list[str]:
        """The models that are level, and what even the last of them costs more."""
        contest = self.judgement.contest
        names = [contest.leader, *contest.gaps]
        spread = "spread" if contest.gaps[names[-1]].value else "same"
        return [self.say("level", names), self.say(spread, **self.than_leader(names[-1]))]

    def undecided(self) -> list[str]:
        """Who is not told apart and by how much, what is at stake, how many cases would do, and who costs more."""
        judgement = self.judgement
        contest = judgement.contest
        still_open = judgement.by_standing["open"]
        nearest = contest.gaps[still_open[0]]
        kind = "recalibrated_open" if contest.recalibrated else "undecided"
        sentences = [self.say(kind, (contest.leader, *still_open))]
        if nearest.low is None or contest.stake is None:
            return [*sentences, self.say("unsure")]
        doubts = [contest.gaps[name].doubt for name in still_open]
        reasons = [doubt for doubt in doubts if doubt is not None]
        if reasons:
            sentences.append(_sentence_of(reasons[0], self.unit))
        else:
            is_little = contest.stake <= LITTLE * contest.margin.amount
            stake = _roughly(contest.stake, self.unit)
            sentences.append(self.say("ahead", other=still_open[0], gap=per_case(nearest, self.unit)))
            sentences.append(self.say("little" if is_little else "stake", stake=stake))
            sentences += self.cases_needed(nearest)
        dearer = judgement.by_standing["more"]
        if dearer:
            sentences.append(self.say("others", dearer))
        return sentences

    def cases_needed(self, nearest: Interval) -> list[str]:
        """How many more cases would settle the margin, and the difference to the nearest model, if larger."""
        judgement = self.judgement
        if not judgement.cases_needed:
            return []
        margin = margin_in_words(judgement.contest.margin.amount, judgement.contest.margin.share, self.unit)
        if not judgement.cases_for_gap:
            cases = counted(_rounded_up(judgement.cases_needed), "more case")
            return [self.say("needed", cases=cases, margin=margin)]
        fewer = counted(_rounded_up(judgement.cases_for_gap), "more case")
        cases = f"{_rounded_up(judgement.cases_needed):,}"
        return [
            self.say("needed_for_both", fewer=fewer, seen=_seen(nearest, self.unit), cases=cases, margin=margin)
        ]

    def as_they_are(self) -> str:
        """That models are compared recalibrated, and who is the cheapest otherwise."""
        costs = {model.name: money(model.cost, self.unit) for model in self.results.models}
        first = self.results.best.name
        return self.say("as_is", first=first, ours=costs[first], theirs=costs[self.judgement.contest.leader])

    def tests_made(self) -> list[str]:
        """How many tests the leader makes, where costs are in typical test prices, which are not tests."""
        tests = self.results.best.scores.get("tests")
        if self.unit is not None or tests is None or tests.value is None:
            return []
        return [self.say("tests", tests=money(tests.value, TESTS))]

    def at_other_terms(self) -> list[str]:
        """What recalibrating the leader itself would save, and who is the cheapest if prices are as stated.

        Each where that is beyond doubt, and more than the margin.
        """
        sentences = []
        best = self.results.best
        margin = self.judgement.contest.margin.amount
        if best.recalibrated is not None and best.recalibrated.saved.exceeds(margin):
            sentences.append(self.say("saves", saved=per_case(best.recalibrated.saved, self.unit)))
        realised = [gap for gap in self.results.gaps.values() if gap.realised.exceeds(margin)]
        if realised and self.unit is not None:
            largest = max(realised, key=lambda gap: gap.realised.value or 0.0)
            less = per_case(largest.realised, self.unit, f" less than {best.name}")
            sentences.append(f"If prices are exactly as stated, {largest.against} is the cheapest: {less}.")
        return sentences


def _rounded_up(cases: int) -> int:
    """To two digits, upwards."""
    size: int = 10 ** max(0, len(str(cases)) - 2)
    return -(-cases // size) * size


def _seen(difference: Interval, unit: str | None) -> str:
    """A difference with the digits that it has beside its interval; with its own where those are all 0."""
    value = difference.value or 0.0
    amount, _, _ = money_between(value, difference.low, difference.high, unit).partition(" (")
    nothing, _, _ = money_between(0.0, difference.low, difference.high, unit).partition(" (")
    return _roughly(value, unit) if amount == nothing else amount


def _roughly(amount: float, unit: str | None) -> str:
    """An amount that is known to two digits; of money, to a cent."""
    return money(amount if is_currency(unit) else float(two_digits(amount)), unit)


def largest_pairs(
    name: str, cost: float, pairs: FloatArray | None, classes: Sequence[str], currency: str | None
) -> list[LargestPair]:
    """The most expensive wrong tests of a model, each as a sentence; at most three.

    Parameters
    ----------
    name, cost
        The model's, and what a case costs it.
    pairs
        What goes to testing one class in cases of another, (K, K); None where nobody summed that.
    classes, currency
        The K classes, and the unit of costs.
    """
    if pairs is None or not pairs.size:
        return []
    costs = np.ravel(pairs)
    named = min(PAIRS_NAMED, len(costs))
    least = np.partition(costs, -named)[-named]
    places = np.flatnonzero(costs >= max(least, LEAST_POSITIVE))
    whole = money(cost, currency)
    largest: list[LargestPair] = []
    for place in places[np.argsort(-costs[places], kind="stable")][:named].tolist():
        amount = float(costs[place])
        truth = classes[place // len(classes)]
        tested = classes[place % len(classes)]
        sentence = f"{ruling_out(truth, tested)}: {money(amount, currency or '')} of every {whole}"
        largest.append(LargestPair(name, truth, tested, amount, amount / cost, sentence))
    return largest


def against_others(results: Results) -> tuple[list[str], list[str]]:
    """What the cheapest model saves: against the runner-up, and against those that other metrics would choose."""
    best = results.best.name
    choosers = _choosers(results)
    runner_up: list[str] = []
    choices: list[str] = []
    for name, gap in results.gaps.items():
        is_runner_up = name == results.models[1].name
        if gap.savings_per_1000 <= 0 or not (name in choosers or is_runner_up):
            continue
        more = gap.more.mapped(lambda amount: 1000 * amount)
        saved = money_between(gap.savings_per_1000, more.low, more.high, results.unit)
        if name in choosers:
            chosen_by = f", which {listed(choosers[name])} would choose"
            choices.append(f"Against {name}{chosen_by}, {best} saves {saved} per 1,000 cases{results.at_a_miss}.")
        else:
            runner_up.append(f"Against {name}, {best} saves {saved} per 1,000 cases{results.at_a_miss}.")
    if results.gaps and list(choosers) == [best]:
        runner_up.append(f"Every other metric would choose {best} too.")
    return runner_up, choices


def _choosers(results: Results) -> dict[str, list[str]]:
    """The metrics, in words, that put a model first, by its name: of several, they choose the cheapest."""
    described = REPORTED if results.lists is None else LIST_METRICS
    choosers: dict[str, list[str]] = {}
    for key, ranks in results.ranks.items():
        is_defined = any(model.scores[key].value is not None for model in results.models)
        if described[key].ranks_as is None and is_defined:
            chosen = results.models[int(np.argmin(ranks))]
            choosers.setdefault(chosen.name, []).append(described[key].in_sentence)
    return choosers


def where_money_goes(results: Results) -> str:
    """What nobody could save of the cheapest model's cost, and which wrong tests take the most of the rest."""
    best = results.best
    unavoidable = money(best.unavoidable, results.unit)
    if results.is_workup or results.lists is not None:
        return f"Someone who knew the truth would pay {unavoidable} per case{results.at_a_miss}."
    sentence = f"Of every {money(best.cost, results.unit)}, testing the truth itself takes {unavoidable}"
    named = [
        f"{ruling_out(pair.truth, pair.tested)} ({money(pair.cost, results.unit)})"
        for pair in results.largest_pairs
        if pair.model == best.name
    ]
    if named:
        tests_are = "test is" if len(named) == 1 else "tests are"
        return f"{sentence}; the most expensive wrong {tests_are} {listed(named)}."
    if best.pair_costs:
        return f"{sentence}, and nothing is wasted."
    return f"{sentence}."


def per_case(estimate: Interval, unit: str | None, more: str = "") -> str:
    """An amount per case and its interval.

    Examples
    --------
    >>> per_case(Estimate(21.6, 4.2, 49.1), "USD", " more")
    '$22 per case more (4 to 49)'
    """
    return money_between(estimate.value or 0.0, estimate.low, estimate.high, unit, per=f"per case{more}")


def price_sentences(break_even: Sequence[BreakEven], leader: str, unit: str | None) -> Names:
    """At which prices another model would be cheaper by the margin, the nearest to the stated price first."""
    sentences: list[tuple[float, str]] = []
    crosses = False
    for test in break_even:
        for side, crossing in (("less", test.below), ("more", test.above)):
            if crossing is None:
                continue
            crosses = True
            price = price_between(crossing, test.stated, unit)
            if price != NOT_SETTLED:
                unless = f"{leader} stays the best choice unless {class_name(test.test)} costs {side} than {price}"
                sentence = f"{unless}; now {stated_price(test.stated, unit)}; then it is {crossing.leader}."
                distance = abs(np.log(crossing.price / test.stated))
                sentences.append((distance, sentence))
    if sentences or not break_even:
        return tuple(sentence for _, sentence in sorted(sentences))
    if crosses:
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
    '$5,380 (could be as low as $2,300)'
    >>> price_between(Crossing(5380.0, 547.0, None, "Forest"), 640.0, "USD")
    'not settled'
    """
    low = crossing.low
    high = crossing.high
    if (low or 0.0) <= stated <= (high or np.inf):
        return NOT_SETTLED
    price = money_between(crossing.price, low, high, unit)
    if low is None and high is not None:
        return f"{price} (could be as high as {money(high, unit)})"
    if high is None and low is not None:
        return f"{price} (could be as low as {money(low, unit)})"
    return price


def scenario_sentence(
    models: Sequence[ModelResult], scenarios: Sequence[Scenario], margin: float, unit: str | None
) -> str | None:
    """Under which other prices that the user named another model is cheaper than the first by the margin."""
    first = models[0]
    names: list[str] = []
    changed: list[str] = []
    for number, scenario in enumerate(scenarios):
        if scenario.name in (STATED, ALIKE):
            continue
        names.append(scenario.name)
        cheapest = min(models, key=lambda model: model.scenarios[number])
        if first.scenarios[number] - cheapest.scenarios[number] > margin:
            cost = money(cheapest.scenarios[number], unit)
            cost_of_first = money(first.scenarios[number], unit)
            choice = f"Under {scenario.name}, {cheapest.name} is the best choice"
            changed.append(f"{choice}: {cost} per case against {cost_of_first}.")
    if not names:
        return None
    if not changed:
        return f"{first.name} stays the best choice under {listed(names)}."
    if len(names) == 1:
        return changed[0]
    return f"{changed[0]} The choice changes in {len(changed)} of {len(names)} scenarios."


def recalibrating(model: ModelResult, unit: str | None) -> str | None:
    """What recalibrating a model would save, as far as the data can tell; None where that is not known."""
    if model.recalibrated is None or model.recalibrated.saved.value is None:
        return None
    saved = model.recalibrated.saved
    if model.recalibrated.saved.value < UNNOTICED * model.cost:
        return "Recalibrating would save nothing that could be measured."
    if saved.low is not None and saved.low <= 0:
        return f"Recalibrating might save {per_case(saved, unit)}, but these data do not settle whether it would."
    return f"Recalibrating saves {per_case(saved, unit)}."


def notes(results: Results, level: Sequence[str]) -> Names:
    """What a reader should know before trusting the numbers: the first few intervals that cannot be, and why.

    That of models which are level is wide enough as it is.
    """
    warnings = [(model.name, model.scores["expected_cost"].warning) for model in results.models]
    for name, gap in results.gaps.items():
        if name not in level:
            warnings.append((f"{name} against {results.best.name}", gap.warning))
    sentences = [f"{subject}: {warning}." for subject, warning in warnings if warning is not None]
    if len(sentences) > MOST_DOUBTS:
        more = f"{len(sentences) - MOST_DOUBTS} more intervals cannot be trusted: see the JSON."
        sentences = [*sentences[:MOST_DOUBTS], more]
    for model in results.models:
        for key, score in model.scores.items():
            if score.value is None and score.warning is not None:
                sentences.append(f"{model.name}: {key.replace('_', ' ')} is {score.warning}.")
    clusters = results.data.clusters
    if clusters is not None and clusters < FEW_CLUSTERS:
        few = f"There {'is' if clusters == 1 else 'are'} only {counted(clusters, 'cluster')}"
        sentences.append(f"{few}: with fewer than {FEW_CLUSTERS}, intervals tend to be too narrow.")
    return tuple(sentences)


def no_verdict(apart: Sequence[str]) -> str:
    """That nothing can be said of who leads, as some models were scored against another truth."""
    return f"No verdict: the truth is not the same for {listed(apart, MOST_NAMES - 1)} as for the other models."


def margin_in_words(margin: float, share: float | None, unit: str | None) -> str:
    """The difference that is worth acting on.

    Examples
    --------
    >>> margin_in_words(2.3, 0.01, "USD"), margin_in_words(2.5, None, "min")
    ('$2.30 (1 % of the cost)', '2.5 min')
    """
    amount = money(margin, unit)
    return amount if share is None else f"{amount} ({100 * share:g} % of the cost)"


def margin_sentence(decision: Decision, unit: str | None) -> str:
    """From how much on a difference counts."""
    return f"A difference counts from {margin_in_words(decision.margin, decision.share, unit)}."


def standing_in_words(decision: Decision, name: str) -> str:
    """How a model stands to the leader, where that is not that it costs more."""
    if name in decision.level:
        return "level"
    return NOT_SETTLED if name in decision.undecided else ""


def kind_of_cost(is_workup: bool) -> str:
    """What costs are of."""
    return "work-up" if is_workup else "search"


def costs_in_words(costs: Costs) -> str:
    """Where costs come from, and how they vary.

    Examples
    --------
    >>> costs_in_words(Costs("USD", "uniform", (20.0, 5.0), "prices.csv"))
    'prices.csv; prior uniform'
    """
    varying = "known" if costs.prior == KNOWN_COSTS else f"prior {costs.prior}"
    return f"{costs.source or ALIKE}; {varying}"


def cases_in_words(data: Data, lists: ListsPart | None) -> str:
    """How many cases there are, in how many clusters, and how many classes or candidates."""
    cases = counted(data.rows, "case")
    if data.clusters is not None:
        cases += f" in {counted(data.clusters, 'cluster')}"
    if lists is None:
        return f"{cases}, {len(data.classes)} classes"
    words = f"{cases}, {counted(lists.candidates, 'candidate')}"
    if lists.several_truths:
        words += f", {counted(lists.several_truths, 'case')} with several truths"
    return words


# Doubts


def in_words(finding: Finding, unit: str | None) -> Estimate:
    """A finding as an estimate, whose doubt is a warning."""
    warning = None if finding.doubt is None else _warning(finding.doubt, unit)
    return Estimate(finding.value, finding.low, finding.high, warning)


def _warning(doubt: Doubt, unit: str | None) -> str:
    """Why not to trust a number, and that one should not where there is an interval."""
    reason = reason_of(doubt, unit)
    return reason if isinstance(doubt, Impossible | NoPrediction) else f"{reason}: {DO_NOT_TRUST}"


def _sentence_of(doubt: Doubt, unit: str | None) -> str:
    """Why not to trust a number, as a sentence; names stay as they are spelled."""
    reason = reason_of(doubt, unit)
    begins_with_name = isinstance(doubt, UnseenClass | RareClasses)
    return f"{reason if begins_with_name else capitalised(reason)}."


def reason_of(doubt: Doubt, unit: str | None) -> str:
    """Why not to trust a number, in a clause; amounts are in the unit of costs."""
    match doubt:
        case FewCarriers(carriers, quantity, kind):
            return _few(carriers, f"the {quantity}", kind)
        case AllAlike(units, kind):
            return f"{_all_of(units, kind)} differ by the same amount, which says little about others"
        case UnseenClass(name, price, share, added):
            test = f"{class_name(name)} ({stated_price(price, unit)})"
            allowed = f"if it were {two_digits(100 * share)} % of cases, as these data allow"
            return f"{test} never occurs here; {allowed}, a case would cost {money(added, unit)} more"
        case RareClasses(names, kind):
            rare = listed([class_name(name) for name in names], 2)
            if kind == "clusters":
                weighs = "weighs" if len(names) == 1 else "each weigh"
                return f"{rare} {weighs} less than {FEW_OF_A_CLASS} whole clusters"
            has = "has" if len(names) == 1 else "have"
            return f"{rare} {has} fewer than {FEW_OF_A_CLASS} cases"
        case Impossible(rows, cases):
            if rows is None:
                return "infinite: a true class was given probability 0"
            return f"infinite: {rows:,} of {cases:,} true classes were given probability 0"
        case NoPrediction():
            return "an order without probabilities predicts no cost"


def _all_of(number: int, kind: str) -> str:
    """All of so many units, "cases" or "clusters"."""
    return f"both {kind}" if number == 2 else f"all {number} {kind}"


def _few(carriers: Carriers, quantity: str, kind: str) -> str:
    """That a handful of units, "cases" or "clusters", makes up most of a quantity."""
    if carriers.number == 0:
        return f"{quantity} is zero in {_all_of(carriers.units, kind)}, which says little about others"
    make_up = "makes up" if carriers.largest == 1 else "make up"
    few = f"{carriers.largest} of {carriers.units} {kind}"
    return f"{few} {make_up} {100 * carriers.share:.0f} % of {quantity}"


# Groups


def group_sentences(flags: Sequence[str]) -> list[str]:
    """What a verdict says of all that stands out by group: the first findings, and how many more there are."""
    if len(flags) <= FINDINGS_IN_VERDICT:
        return list(flags)
    more = counted(len(flags) - FINDINGS_IN_VERDICT, "more finding")
    return [*flags[: FINDINGS_IN_VERDICT - 1], f"{flags[FINDINGS_IN_VERDICT - 1]} {more} by group."]


def name_of_group(label: Sequence[str]) -> str:
    """What a group is called."""
    return ", ".join(label)


def flag_of_all(flag: FlagOfAll, breakdown: BreakdownFindings, unit: str | None) -> str:
    """What stands out of all groups together."""
    match flag:
        case AllSmall(smallest, kind, pooled):
            return (
                f"No group by {breakdown.title} has {count(smallest)} {kind} "
                f"({count(pooled)} smaller ones are pooled): lower --smallest-group (smallest_group), or "
                "cut numbers into fewer bins, such as age:4."
            )
        case Reversal(model, leader, share, cheaper_in, dearer_in):
            on_most = f"{model} is cheaper than {leader} on {100 * share:.0f} % of cases"
            most = f"{_group_names(cheaper_in)}: {_costs_of(cheaper_in, unit, ' per case')}"
            others = f"{_group_names(dearer_in)} ({_costs_of(dearer_in, unit)})"
            return f"{on_most} ({most}); {leader} is ahead overall because of {others}."


def _group_names(groups: GroupSet) -> str:
    """What some groups are called."""
    return listed([name_of_group(label) for label in groups.labels], MOST_GROUPS_NAMED)


def _costs_of(groups: GroupSet, unit: str | None, per: str = "") -> str:
    """What a case costs in some groups by a model, and by the leader."""
    return f"{money(groups.cost, unit)}{per} against {money(groups.cost_of_leader, unit)}"


def flag_of_group(flag: FlagOfGroup, group: GroupFindings, breakdown: BreakdownFindings, unit: str | None) -> str:
    """What stands out in a group."""
    pairs = zip(breakdown.columns, group.label, strict=False)  # pooled groups have one label
    where = f"Where {' and '.join(f'{column} is {label}' for column, label in pairs)}"
    match flag:
        case CheaperHere():
            return f"{where}, {_cheaper_here(flag, unit)}."
        case DearerHere():
            return f"{where}, {_dearer_here(flag, unit)}."
        case AllDearerHere(leader, cost, elsewhere):
            costs = f"{money(cost, unit)} against {money(elsewhere, unit)}"
            everyone = f"every model costs more than elsewhere ({leader} {costs})"
            return f"{where}, {everyone}: the cases there are more expensive."


def _cheaper_here(flag: CheaperHere, unit: str | None) -> str:
    """Who is the choice in a group, what that costs against the leader of all cases, and who leads elsewhere."""
    costs = f"{money(flag.cost, unit)} per case against {money(flag.cost_of_leader, unit)}"
    if not flag.is_cheapest:
        return f"{flag.model} is cheaper than {flag.leader}: {costs}"
    where = "elsewhere" if flag.leads_elsewhere else "over all cases"
    return f"{flag.model} is the cheapest ({costs}); {where}, {flag.leader} is"


def _dearer_here(flag: DearerHere, unit: str | None) -> str:
    """What a model costs in a group, how many times that is what it costs elsewhere, and what it should."""
    ratio = flag.cost / flag.elsewhere
    times = f"{100 * (ratio - 1):.2g} % more than"
    if ratio >= IN_PERCENT:
        times = f"{ratio:.1f} times what it costs"
    here = (
        f"{flag.model} costs {money(flag.cost, unit)} per case, {times} elsewhere ({money(flag.elsewhere, unit)})"
    )
    expected = money(flag.expected, unit)
    if flag.expected_elsewhere is None:
        return f"{here}; it predicted {expected}"
    return f"{here}; the other models cost {expected} there and {money(flag.expected_elsewhere, unit)} elsewhere"


# The price of a miss


def miss_sentences(lists: ListsPart, names: Sequence[str], unit: str | None) -> list[str]:
    """Who is the cheapest up to which price of a miss, range by range.

    Examples
    --------
    >>> range_sentence(PricesOfMiss(0.0, 5.2, "short", (), saves=0.45, saves_at=5.2), "files")
    'Up to 5.2 files, short costs less (0.45 less at 5.2).'
    >>> range_sentence(PricesOfMiss(5.2, None, "short", ("long",)), "files")
    'From 5.2 files on, it is not settled between short and long.'
    """
    if len(names) == 1:
        estimates = zip(lists.shown_at, lists.shown[names[0]], strict=True)
        costs = [f"{money(estimate.value or 0.0, unit)} at {money(price, '')}" for price, estimate in estimates]
        return [f"What a search by {names[0]} costs depends on what a miss costs: {listed(costs)}."]
    if len(lists.ranges) == 1:
        only = lists.ranges[0]
        if only.undecided:
            return [f"Not settled, whatever a miss costs: {listed((only.leader, *only.undecided), MOST_NAMES)}."]
        return [f"Deploy {only.leader}: it costs the least, whatever a miss costs."]
    sentences = ["Which model is the cheapest depends on what a miss costs."]
    sentences += [range_sentence(part, unit) for part in lists.ranges]
    leaders = {name for part in lists.ranges for name in (part.leader, *part.undecided)}
    never = [name for name in names if name not in leaders]
    if never:
        sentences.append(f"{listed(never, MOST_NAMES)} {'is' if len(never) == 1 else 'are'} never the cheapest.")
    sentences.append("Say what a miss costs: --miss.")
    return sentences


def range_sentence(part: PricesOfMiss, unit: str | None) -> str:
    """Who is the cheapest over a range of prices of a miss."""
    if part.high is None:
        where = f"From {money(part.low, unit)} on"
    elif part.low == 0:
        where = f"Up to {money(part.high, unit)}"
    else:
        where = f"From {money(part.low, unit)} to {money(part.high, unit)}"
    if part.undecided:
        names = listed((part.leader, *part.undecided), MOST_NAMES)
        return f"{where}, it is not settled between {names}."
    if part.saves is None or part.saves_at is None:
        return f"{where}, {part.leader} costs less."
    return f"{where}, {part.leader} costs less ({money(part.saves, '')} less at {money(part.saves_at, '')})."


def picks_sentences(results: Results) -> list[str]:
    """Which models the usual numbers of ranked lists would pick, where that is not the cheapest.

    Where nobody says what a miss costs, that is a model that is the cheapest at every price of a miss.
    """
    if results.lists is None or len(results.models) == 1:
        return []
    leaders = {results.best.name}
    always = ""
    if results.lists.ranges_to_judge:
        leaders = {name for part in results.lists.ranges for name in (part.leader, *part.undecided)}
        always = ", whatever a miss costs"
    by_pick: dict[str, list[str]] = {}
    for key, ranks in results.ranks.items():
        first = min(ranks)
        if key in PICKED_BY and list(ranks).count(first) == 1:
            chosen = results.models[list(ranks).index(first)].name
            by_pick.setdefault(chosen, []).append(LIST_METRICS[key].title)
    parts = [f"{listed(titles)} would pick {name}" for name, titles in by_pick.items() if leaders != {name}]
    return [f"{'; '.join(parts)}{always}."] if parts else []


def constant_sentence(lists: ListsPart, unit: str | None) -> str | None:
    """What a list that is the same for every case costs; None where there is none."""
    constant = lists.constant
    if constant is None:
        return None
    cost = money(constant.cost, unit)
    where = "" if lists.miss is not None else f" where a miss costs {money(lists.at, unit)}"
    names = counted(constant.length, "most frequent truth")
    of_others = f"the {names} of the other cases"
    found = f"{100 * constant.found:.0f} %"
    if constant.unnamed:
        costs = f"costs {cost} per case at most{where}, and finds {found} at least"
        unknown = (
            f"{counted(constant.unnamed, 'case')} {'has' if constant.unnamed == 1 else 'have'} no named truth"
        )
        return f"A list that is the same for every case, {of_others}, {costs} ({unknown})."
    costs = f"costs {cost} per case{where}, and finds {found}"
    return f"A list that is the same for every case, {of_others}, {costs}."

"""The comparison in sentences: which model, how sure, what it saves, and where the money goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pandora_regret.compare.result import (
    BreakEven,
    Crossing,
    Difference,
    Kind,
    LargestPair,
    ModelResult,
)
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Carriers
from pandora_regret.inputs import FloatArray
from pandora_regret.metrics import BASELINE, METRICS
from pandora_regret.text import (
    capitalised,
    class_name,
    counted,
    listed,
    money,
    money_between,
    ruling_out,
)

FEW_CLUSTERS = 30
PAIRS_NAMED = 3  # per model
A_LEAP = 2  # places
NOTHING = 1e-4  # of the cost: a saving that no reader would notice
MOST_DOUBTS = 4  # spelt out
UNSEEN = 3.0  # cases: what never happened in n cases may yet happen in 3 of n, at 95 % confidence
FEW_OF_A_CLASS = 5  # cases
TOO_MANY_RARE = 0.1  # of the classes
DO_NOT_TRUST = "do not trust this interval"
MOST_NAMES = 4  # in one sentence
NOT_SETTLED = "not settled"

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
    "spread": "{leader} is the cheapest, but even {last} costs only {gap}, of {cost}.",
    "ahead": "{leader} is ahead of {other} by {gap}{sure}.",
    "stake": "Deploying {leader} now, the chance of being wrong costs {stake} per case on average.",
    "little": "Little is at stake: the chance of being wrong about {leader} costs {stake} per case on average.",
    "needed": "About {cases} more cases would settle a difference of {margin}.",
    "others": "{names} cost{s} more.",
    "saves": "Recalibrating {leader} saves {saved}.",
    "as_is": "All models are compared recalibrated: as they are, {first} is ahead ({ours} against {theirs}).",
}


def largest_pairs(model: ModelResult, classes: Sequence[str], currency: str | None) -> list[LargestPair]:
    """The most expensive wrong tests of a model, each as a sentence; at most three."""
    costs = np.array(model.pair_costs)
    least = np.partition(costs, -PAIRS_NAMED, axis=None)[-PAIRS_NAMED] if costs.size else 0.0
    places = np.flatnonzero((costs >= least) & (costs > 0))
    pairs = []
    for place in places[np.argsort(-costs.flat[places], kind="stable")][:PAIRS_NAMED].tolist():
        cost, (i, j) = float(costs.flat[place]), divmod(place, len(classes))
        of_every = f"{money(cost, currency or '')} of every {money(model.cost, currency)}"
        sentence = f"{ruling_out(classes[i], classes[j])}: {of_every}"
        pairs.append(LargestPair(model.name, classes[i], classes[j], cost, cost / model.cost, sentence))
    return pairs


def beyond_the_verdict(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    ranks: Mapping[str, Sequence[float]],
    pairs: Sequence[LargestPair],
    unit: str | None,
    by_workup: bool,
) -> tuple[str, ...]:
    """What the cheapest model saves against the runner-up, and against what log loss and accuracy would choose.

    And which wrong tests the money goes to.
    """
    best, gaps = models[0], {gap.against: gap for gap in differences if gap.model == models[0].name}
    chosen = _choices(models, {key: ranks[key] for key in ("log_loss", "accuracy") if key in ranks})
    sentences = []
    for name in dict.fromkeys([model.name for model in models[1:2]] + [*chosen]):
        if name in gaps and gaps[name].savings_per_1000 > 0:
            by = f", which {listed(chosen[name])} would choose" if name in chosen else ""
            more = gaps[name].more.mapped(lambda amount: 1000 * amount)
            saved = money_between(gaps[name].savings_per_1000, more.low, more.high, unit)
            sentences.append(f"Against {name}{by}, {best.name} saves {saved} per 1,000 cases.")
    if gaps and list(chosen) == [best.name]:
        sentences.append(f"{capitalised(listed(chosen[best.name]))} would choose {best.name} too.")
    if by_workup:
        return (*sentences, f"Someone who knew the truth would pay {money(best.unavoidable, unit)} per case.")
    named = [f"{ruling_out(p.truth, p.tested)} ({money(p.cost, unit)})" for p in pairs if p.model == best.name]
    wasted = ", and nothing is wasted" if best.pair_costs else ""
    if named:
        wasted = f"; the most expensive wrong test{'s are' if len(named) > 1 else ' is'} {listed(named)}"
    own = f"Of every {money(best.cost, unit)}, testing the truth itself takes {money(best.unavoidable, unit)}"
    return (*sentences, f"{own}{wasted}.")


def per_case(estimate: Estimate, unit: str | None, more: str = "") -> str:
    """An amount per case and its interval.

    Examples
    --------
    >>> per_case(Estimate(21.6, 4.2, 49.1), "USD", " more")
    '$22 per case more (4 to 49)'
    """
    assert estimate.value is not None
    amount, space, interval = money_between(estimate.value, estimate.low, estimate.high, unit).rpartition(" (")
    return f"{amount} per case{more}{space}{interval}" if space else f"{interval} per case{more}"


def named(names: Sequence[str]) -> str:
    """All of a few names, or the first and how many more there are."""
    few = len(names) <= MOST_NAMES
    return listed(names if few else [*names[: MOST_NAMES - 1], f"{len(names) - MOST_NAMES + 1} others"])


def price_sentences(break_even: Sequence[BreakEven], leader: str, unit: str | None) -> tuple[str, ...]:
    """At which prices another model would be cheaper by the margin, the nearest to the stated price first."""
    sentences, is_open = [], False
    for each in break_even:
        for crossing, side in ((each.below, "less"), (each.above, "more")):
            if crossing is not None and (price := price_between(crossing, each.stated, unit)) != NOT_SETTLED:
                unless = f"{leader} stays the best choice unless {class_name(each.test)} costs {side} than {price}"
                distance = abs(np.log(crossing.price / each.stated))
                then = f"now {money(each.stated, unit)}; then it is {crossing.leader}"
                sentences.append((distance, f"{unless}; {then}."))
            is_open |= crossing is not None
    if sentences or not break_even:
        return tuple(sentence for _, sentence in sorted(sentences))
    if is_open:
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


def scenario_sentence(
    models: Sequence[ModelResult], scenarios: Sequence[str], margin: float, unit: str | None
) -> str | None:
    """Under which other prices, the names of scenarios, another model is cheaper than the first by the margin.

    A scenario without a name is not asked about; None where none is.
    """
    first, asked = models[0], [(number, name) for number, name in enumerate(scenarios) if name]
    changed = []
    for number, name in asked:
        best = min(models, key=lambda model: model.scenarios[number])
        if first.scenarios[number] - best.scenarios[number] > margin:
            costs = (
                f"{money(best.scenarios[number], unit)} per case against {money(first.scenarios[number], unit)}"
            )
            changed.append(f"Under {name}, {best.name} is the best choice: {costs}")
    if not changed:
        return f"{first.name} stays the best choice under {listed(name for _, name in asked)}." if asked else None
    stays = len(asked) - len(changed)
    also = f" {first.name} stays it in {stays} of {len(asked)} scenarios." if stays else ""
    also = also or (f" The choice changes in all {len(asked)} scenarios." if len(asked) > 1 else "")
    return f"{changed[0]}.{also}"


def recalibrating(model: ModelResult, unit: str | None) -> str | None:
    """What recalibrating a model would save, as far as the data can tell; None where that is not known."""
    if model.recalibrated is None or (saved := model.recalibrated.saved).value is None:
        return None
    if saved.value < NOTHING * model.cost:
        return "Recalibrating would save nothing that could be measured."
    amount = per_case(saved, unit)
    if saved.low is not None and saved.low <= 0:
        return f"Recalibrating might save {amount}, but these data do not settle whether it would."
    return f"Recalibrating saves {amount}."


def disagreements(
    models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]], currency: str | None, by_workup: bool
) -> tuple[str, ...]:
    """Where another metric would choose another model.

    And the models that move furthest between expected cost and a metric that knows no costs, if they move far.
    """
    cost = "the cost of the work-up" if by_workup else METRICS["expected_cost"].wording
    apart, places = {key: ranks[key] for key in ranks if METRICS[key].ranks_as is None}, ranks["expected_cost"]
    named, sentences = {model.name: model for model in models}, []
    for name, wordings in _choices(models, apart).items():
        if named[name].rank > 1:
            more = f"{money(named[name].cost - models[0].cost, currency)} per case more than {models[0].name}"
            chosen = f"{capitalised(listed(wordings))} would choose {name}"
            sentences.append(f"{chosen}, number {named[name].rank} by {cost}: {more}.")
    leaps: dict[tuple[int, float], list[str]] = {}
    for key, by_key in apart.items():
        furthest = max(range(len(models)), key=lambda m: abs(places[m] - by_key[m]))
        is_far = abs(places[furthest] - by_key[furthest]) >= A_LEAP
        if is_far and not METRICS[key].priced and key != BASELINE:
            leaps.setdefault((furthest, by_key[furthest]), []).append(METRICS[key].wording)
    for (index, place), wordings in leaps.items():
        name = f"{models[index].name} is number {place:g} of {len(models)} by {listed(wordings)}"
        sentences.append(f"{name}, but number {places[index]:g} by {cost}.")
    return tuple(sentences)


def _choices(models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """The models that metrics put first, and which metrics they are; of several, the cheapest to search by."""
    chosen: dict[str, list[str]] = {}
    for key, places in ranks.items():
        if any(model.scores[key].value is not None for model in models):
            first = models[int(np.argmin(places))].name
            chosen.setdefault(first, []).append(METRICS[key].wording)
    return chosen


def notes(
    models: Sequence[ModelResult], differences: Sequence[Difference], clusters: int | None, level: Sequence[str]
) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers: the first few intervals that cannot be, and why.

    That of models which are level is wide enough as it is.
    """
    best, costs = models[0].name, ((model.name, model.scores["expected_cost"].warning) for model in models)
    gaps = (
        (f"{gap.against} against {best}", gap.warning)
        for gap in differences
        if gap.model == best and gap.against not in level
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
    """A warning if a handful of units, "cases" or "groups", makes up most of `what`."""
    if not carriers.few:
        return None
    if carriers.number == 0:
        return f"{what} is zero in all {carriers.units} {units}, which says little about others: {DO_NOT_TRUST}"
    make = "makes" if carriers.largest == 1 else "make"
    share = f"{100 * carriers.share:.0f} % of {what}"
    return f"{carriers.largest} of {carriers.units} {units} {make} up {share}: {DO_NOT_TRUST}"


def same_in_all(
    difference: float, carriers: Carriers, units: str, effective: float, largest: float = math.inf
) -> str | None:
    """A warning if all units differ equally, and the few that may be otherwise could make up for it.

    `largest` is the largest difference that a case can make, where that is known.
    """
    if abs(difference) > UNSEEN / effective * (largest + abs(difference)):
        return None
    return (
        f"all {carriers.units} {units} differ by the same amount, which says little about others: {DO_NOT_TRUST}"
    )


def unseen_class(
    classes: Sequence[str],
    class_weights: FloatArray,
    typical: FloatArray,
    mean: float,
    margin: float,
    effective: float,
    currency: str | None,
) -> str | None:
    """A warning if a few cases of a class that never occurs would lift a mean past its limit, being so expensive.

    `typical` is what testing each class costs on average, (K,): a search for that class costs no less.
    """
    added = (typical - mean) * min(1.0, UNSEEN / effective) * (class_weights == 0)
    worst = int(added.argmax())
    if added[worst] <= margin:
        return None
    price, share = money(float(typical[worst]), currency), 100 * min(1.0, UNSEEN / effective)
    return (
        f"{class_name(classes[worst])} ({price}) never occurs here; if it were {share:.2g} % of cases, as these "
        f"data allow, a case would cost {money(float(added[worst]), currency)} more: {DO_NOT_TRUST}"
    )


def rare_classes(classes: Sequence[str], class_weights: FloatArray, effective: float) -> str | None:
    """A warning if a class counts as much as the others in a metric, and has hardly any cases."""
    cases = class_weights * effective / class_weights.sum()
    rare = [name for name, n in zip(classes, cases, strict=True) if n < FEW_OF_A_CLASS]
    if len(rare) < TOO_MANY_RARE * len(classes) or not rare:
        return None
    more = [f"{len(rare) - 2} more"] if len(rare) > 2 else []
    names = listed([*(class_name(name) for name in rare[:2]), *more])
    return f"{names} {'has' if len(rare) == 1 else 'have'} fewer than {FEW_OF_A_CLASS} cases: {DO_NOT_TRUST}"

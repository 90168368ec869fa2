"""The comparison in sentences: which model, how sure, what it saves, and where the money goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pandora_regret.compare.result import (
    FURTHEST_PRICE,
    BreakEven,
    Crossing,
    Difference,
    LargestPair,
    ModelResult,
    WorkupPart,
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


def largest_pairs(model: ModelResult, classes: Sequence[str], currency: str | None) -> list[LargestPair]:
    """The most expensive wrong tests of a model, each as a sentence; at most three."""
    if not model.pair_costs:
        return []
    pair_costs, total = np.array(model.pair_costs), model.cost
    least = np.partition(pair_costs, -PAIRS_NAMED, axis=None)[-PAIRS_NAMED]
    places = np.flatnonzero(pair_costs >= least)
    largest = places[np.argsort(-pair_costs.flat[places], kind="stable")][:PAIRS_NAMED]
    pairs = []
    for i, j in (divmod(int(place), len(classes)) for place in largest):
        if (cost := float(pair_costs[i, j])) > 0:
            wrong = ruling_out(classes[i], classes[j])
            sentence = f"{wrong}: {money(cost, currency or '')} of every {money(total, currency)}"
            pairs.append(LargestPair(model.name, classes[i], classes[j], cost, cost / total, sentence))
    return pairs


def beyond_the_verdict(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    ranks: Mapping[str, Sequence[float]],
    pairs: Sequence[LargestPair],
    unit: str | None,
    workup: WorkupPart | None = None,
) -> tuple[str, ...]:
    """What the cheapest model saves, and which wrong tests the money goes to."""
    best = models[0]
    spending = _spending(best, [pair for pair in pairs if pair.model == best.name], unit)
    if workup is not None:
        spending = f"Someone who knew the truth would pay {money(best.unavoidable, unit)} per case."
    savings = _savings(models, differences, ranks, unit) if len(models) > 1 else []
    return (*savings, spending)


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


def price_sentences(break_even: Sequence[BreakEven], leader: str, unit: str | None) -> tuple[str, ...]:
    """At which prices another model would be the cheapest, the nearest to the stated price first."""
    said = [
        (abs(np.log(crossing.price / each.stated)), _crossing(each, crossing, side, leader, unit))
        for each in break_even
        for crossing, side in ((each.below, "less"), (each.above, "more"))
        if crossing is not None
    ]
    if break_even and not said:
        return (
            f"No single price, from a tenth to ten times the stated one, makes another model than {leader} the "
            "cheapest.",
        )
    return tuple(sentence for _, sentence in sorted(said))


def price_between(crossing: Crossing, stated: float, unit: str | None) -> str:
    """A break-even price and its interval, and whether that leaves the order at the stated price open.

    Examples
    --------
    >>> price_between(Crossing(5.4, 4.9, 6.1, "Forest"), 3.0, "USD")
    '$5.40 (4.90 to 6.10)'
    >>> price_between(Crossing(5380.0, 547.0, None, "Forest"), 640.0, "USD")
    '$5,380 ($547 to more than $6,400, which includes the stated price: not settled)'
    >>> price_between(Crossing(954.0, None, None, "Forest"), 1250.0, "USD")
    '$954 (not settled at any price tried)'
    """
    low, high = crossing.low, crossing.high
    if low is None and high is None:
        return f"{money(crossing.price, unit)} (not settled at any price tried)"
    said = money_between(crossing.price, low, high, unit)
    if low is None or high is None:
        lower = f"less than {money(stated / FURTHEST_PRICE, unit)}" if low is None else money(low, unit)
        upper = f"more than {money(stated * FURTHEST_PRICE, unit)}" if high is None else money(high, unit)
        said += f" ({lower} to {upper})"
    if (low or 0.0) <= stated <= (high or np.inf):
        return f"{said.removesuffix(')')}, which includes the stated price: not settled)"
    return said


def _crossing(each: BreakEven, crossing: Crossing, side: str, leader: str, unit: str | None) -> str:
    price = price_between(crossing, each.stated, unit)
    stated, then = money(each.stated, unit), f"then it is {crossing.leader}"
    return (
        f"{leader} stays cheapest unless {class_name(each.test)} costs {side} than {price}; now {stated}; {then}."
    )


def _savings(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    ranks: Mapping[str, Sequence[float]],
    unit: str | None,
) -> list[str]:
    """Against the runner-up, and against whatever log loss and accuracy would have picked."""
    best, gaps = models[0].name, {gap.against: gap for gap in differences if gap.model == models[0].name}
    chosen = _choices(models, {key: ranks[key] for key in ("log_loss", "accuracy") if key in ranks})
    said = []
    for name in dict.fromkeys([models[1].name, *chosen]):
        if name != best and gaps[name].savings_per_1000 > 0:
            by = f", which {listed(chosen[name])} would choose" if name in chosen else ""
            more = gaps[name].more.mapped(lambda amount: 1000 * amount)
            saved = money_between(gaps[name].savings_per_1000, more.low, more.high, unit)
            said.append(f"Against {name}{by}, {best} saves {saved} per 1,000 cases.")
    if list(chosen) == [best]:
        said.append(f"{capitalised(listed(chosen[best]))} would choose {best} too.")
    return said


def _spending(best: ModelResult, pairs: Sequence[LargestPair], currency: str | None) -> str:
    total, least = money(best.cost, currency), money(best.unavoidable, currency)
    own = f"Of every {total}, testing the truth itself takes {least}"
    if not pairs:
        return f"{own}, and nothing is wasted." if best.pair_costs else f"{own}."
    parts = [f"{ruling_out(pair.truth, pair.tested)} ({money(pair.cost, currency)})" for pair in pairs]
    return f"{own}; the most expensive wrong test{'s are' if len(parts) > 1 else ' is'} {listed(parts)}."


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
    models: Sequence[ModelResult],
    ranks: Mapping[str, Sequence[float]],
    currency: str | None,
    workup: WorkupPart | None = None,
) -> tuple[str, ...]:
    """Where another metric would choose another model, or ranks one of the models very differently."""
    best, apart = models[0], {key: ranks[key] for key in ranks if METRICS[key].ranks_as is None}
    choices = _choices(models, apart)
    by_cost = METRICS["expected_cost"].wording if workup is None else "the cost of the work-up"
    cost = {model.name: model.cost for model in models}
    place = {model.name: model.rank for model in models}
    said = [
        f"{capitalised(listed(keys))} would choose {name}, number {place[name]} by {by_cost}: "
        f"{money(cost[name] - best.cost, currency)} per case more than {best.name}."
        for name, keys in choices.items()
        if place[name] > 1
    ]
    return tuple(said + _leaps(models, ranks, by_cost))


def _choices(models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """The models that metrics put first, and which metrics they are; of several, the cheapest to search by."""
    chosen: dict[str, list[str]] = {}
    for key, places in ranks.items():
        if any(model.scores[key].value is not None for model in models):
            first = models[min(range(len(models)), key=lambda index: places[index])].name
            chosen.setdefault(first, []).append(METRICS[key].wording)
    return chosen


def _leaps(models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]], measure: str) -> list[str]:
    """The models that move furthest between expected cost and a metric that knows no costs, if they move far."""
    by_cost, leaps = ranks["expected_cost"], dict[tuple[int, float], list[str]]()
    for key, by_key in ranks.items():
        if METRICS[key].priced or METRICS[key].ranks_as is not None or key == BASELINE:
            continue
        furthest = max(range(len(models)), key=lambda m: abs(by_cost[m] - by_key[m]))
        if abs(by_cost[furthest] - by_key[furthest]) >= A_LEAP:
            leaps.setdefault((furthest, by_key[furthest]), []).append(METRICS[key].wording)
    return [
        f"{models[index].name} is number {place:g} of {len(models)} by {listed(keys)}, "
        f"but number {by_cost[index]:g} by {measure}."
        for (index, place), keys in leaps.items()
    ]


def notes(
    models: Sequence[ModelResult], differences: Sequence[Difference], clusters: int | None
) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers."""
    said = [*_doubts(models, differences)]
    said += [
        f"{model.name}: {key.replace('_', ' ')} is {score.warning}."
        for model in models
        for key, score in model.scores.items()
        if score.value is None and score.warning is not None
    ]
    if clusters is not None and clusters < FEW_CLUSTERS:
        said.append(
            f"There {'is' if clusters == 1 else 'are'} only {counted(clusters, 'cluster')}: "
            f"with fewer than {FEW_CLUSTERS}, intervals tend to be too narrow."
        )
    return tuple(said)


def _doubts(models: Sequence[ModelResult], differences: Sequence[Difference]) -> list[str]:
    """The first few intervals of costs, and of differences to the best model, that cannot be trusted."""
    best, costs = models[0].name, ((model.name, model.scores["expected_cost"].warning) for model in models)
    gaps = ((f"{gap.against} against {best}", gap.warning) for gap in differences if gap.model == best)
    said = [f"{what}: {warning}." for what, warning in (*costs, *gaps) if warning is not None]
    more = len(said) - MOST_DOUBTS
    return said if more <= 0 else [*said[:MOST_DOUBTS], f"{more} more intervals cannot be trusted: see the JSON."]


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

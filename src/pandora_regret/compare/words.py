"""The comparison in sentences: which model, how sure, what it saves, and where the money goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10

from pandora_regret.compare.result import Difference, LargestPair, ModelResult

SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "KRW": "₩", "ILS": "₪"} | {
    "AUD": "A$", "CAD": "C$", "NZD": "NZ$", "BRL": "R$"
}  # fmt: skip
IN_A_SENTENCE = {  # excess burden is left out: it ranks as Pandora's Regret does
    "pandora_regret": "Pandora's Regret",
    "realised_cost": "realised cost",
    "tests": "the number of tests",
    "log_loss": "log loss",
    "brier": "the Brier score",
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
}
FEW_CLUSTERS = 30
A_LEAP = 2  # places


def money(amount: float, currency: str | None = None) -> str:
    """An amount in words, to three digits at most.

    Examples
    --------
    >>> money(180.2, "USD"), money(4.1, "EUR"), money(-41234.0, "$"), money(2.5e6, "CHF"), money(0.5833)
    ('$180', '€4.10', '-$41,200', '2.5 million CHF', '0.583 units')
    """
    number = _digits(float(f"{abs(amount):.3g}"), in_cents=currency is not None)
    sign = "-" if amount < 0 and number != "0" else ""
    if currency is None:
        return f"{sign}{number} units"
    symbol = SYMBOLS.get(currency.upper(), currency)
    return f"{sign}{number} {symbol}" if symbol.isalpha() else f"{sign}{symbol}{number}"


def _digits(size: float, in_cents: bool) -> str:
    for unit, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if size >= unit:
            return f"{size / unit:,.15g} {word}"
    if in_cents and 0.1 <= size < 100 and not size.is_integer():
        return f"{size:.2f}"
    places = 0 if size == 0 else max(0, 2 - floor(log10(size)))
    return f"{size:,.{min(places, 12)}f}".rstrip("0").rstrip(".") if places else f"{size:,.0f}"


def percent(share: float) -> str:
    """A probability, of which draws can never show that it is 0 or 1.

    Examples
    --------
    >>> percent(0.973), percent(0.9996), percent(0.0)
    ('97 %', 'more than 99 %', 'less than 1 %')
    """
    if share < 0.01:
        return "less than 1 %"
    return "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def listed(words: Iterable[str]) -> str:
    """One, two and three."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def class_name(label: str) -> str:
    """A class in a sentence, where a mere number would be read as a number."""
    return f"class {label}" if label.lstrip("-").replace(".", "", 1).isdigit() else label


def ruling_out(truth: str, tested: str) -> str:
    """A wrong test."""
    return f"ruling out {class_name(tested)} when it is {class_name(truth)}"


def pair_sentence(truth: str, tested: str, cost: float, total: float, currency: str | None) -> str:
    """What one wrong test costs, of everything."""
    return f"{ruling_out(truth, tested)}: {money(cost, currency)} of every {money(total, currency)}"


def headline(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    ranks: Mapping[str, Sequence[float]],
    pairs: Sequence[LargestPair],
    level: float,
    currency: str | None,
) -> tuple[str, ...]:
    """Which model to deploy, how sure that is, what it saves, which wrong tests the money goes to."""
    best = models[0]
    spending = _spending(best, [pair for pair in pairs if pair.model == best.name], currency)
    if len(models) == 1:
        return f"A search by {best.name} {_costs(best, level, currency)}.", spending
    return (
        f"Deploy {best.name}: its search {_costs(best, level, currency)}, the least of {len(models)} models.",
        _how_sure(best, differences[0], level, currency),
        *_savings(models, differences, ranks, level, currency),
        spending,
    )


def _costs(model: ModelResult, level: float, currency: str | None) -> str:
    score = model.scores["expected_cost"]
    return f"costs {money(model.cost, currency)} per case{_between(score.low, score.high, level, currency)}"


def _between(low: float | None, high: float | None, level: float, currency: str | None, says: str = "") -> str:
    if low is None or high is None:
        return ""
    return f" ({100 * level:g} % interval {money(low, currency)} to {money(high, currency)}{says})"


def _how_sure(best: ModelResult, gap: Difference, level: float, currency: str | None) -> str:
    if gap.low is None or gap.high is None or best.probability_best is None:
        return "How sure that is cannot be said: it takes more than one independent instance."
    sure = f"{best.name} is the cheapest with probability {percent(best.probability_best)}"
    if gap.difference == 0:
        return f"The runner-up, {gap.against}, costs the same; {sure}."
    settled = gap.high < 0
    limits = _between(-gap.high, -gap.low, level, currency, ", zero excluded" if settled else ", zero included")
    doubt = "" if settled else ", so these data do not settle which of the two is cheaper"
    more = f"costs {money(-gap.difference, currency)} per case more{limits}"
    return f"The runner-up, {gap.against}, {more}{doubt}; {sure}."


def _savings(
    models: Sequence[ModelResult],
    differences: Sequence[Difference],
    ranks: Mapping[str, Sequence[float]],
    level: float,
    currency: str | None,
) -> list[str]:
    """Against the runner-up, and against whatever log loss and accuracy would have picked."""
    best, gaps = models[0].name, {gap.against: gap for gap in differences if gap.model == models[0].name}
    chosen = _choices(models, {key: ranks[key] for key in ("log_loss", "accuracy")})
    said = []
    for name in dict.fromkeys([models[1].name, *chosen]):
        if name != best and gaps[name].savings_per_1000 > 0:
            by = f", which {listed(chosen[name])} would choose" if name in chosen else ""
            said.append(f"Against {name}{by}, {best} saves {_per_1000(gaps[name], level, currency)}.")
    if list(chosen) == [best]:
        said.append(f"{_capital(listed(chosen[best]))} would choose {best} too.")
    return said


def _per_1000(gap: Difference, level: float, currency: str | None) -> str:
    low, high = (None if limit is None else -1000 * limit for limit in (gap.high, gap.low))
    return f"{money(gap.savings_per_1000, currency)} per 1,000 cases{_between(low, high, level, currency)}"


def _spending(best: ModelResult, pairs: Sequence[LargestPair], currency: str | None) -> str:
    total, least = money(best.cost, currency), money(best.unavoidable, currency)
    own = f"Of every {total}, testing the truth itself takes {least}"
    if not pairs:
        return f"{own}, and nothing is wasted."
    parts = [f"{ruling_out(pair.truth, pair.tested)} ({money(pair.cost, currency)})" for pair in pairs]
    return f"{own}; the dearest wrong test{'s are' if len(parts) > 1 else ' is'} {listed(parts)}."


def disagreements(
    models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]], currency: str | None
) -> tuple[str, ...]:
    """Where another metric would choose another model, or ranks one of the models very differently."""
    best, choices = models[0], _choices(models, {key: ranks[key] for key in IN_A_SENTENCE})
    cost = {model.name: model.cost for model in models}
    place = {model.name: model.rank for model in models}
    said = [
        f"{_capital(listed(keys))} would choose {name}, number {place[name]} by expected search cost: "
        f"{money(cost[name] - best.cost, currency)} per case more than {best.name}."
        for name, keys in choices.items()
        if place[name] > 1
    ]
    return tuple(said + _leaps(models, ranks))


def _choices(models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """The models that metrics put first, and which metrics they are; of several, the cheapest to search by."""
    chosen: dict[str, list[str]] = {}
    for key, places in ranks.items():
        if any(model.scores[key].value is not None for model in models):
            first = models[min(range(len(models)), key=lambda at: places[at])].name
            chosen.setdefault(first, []).append(IN_A_SENTENCE[key])
    return chosen


def _leaps(models: Sequence[ModelResult], ranks: Mapping[str, Sequence[float]]) -> list[str]:
    """The models that move furthest between expected cost and each common metric, if they move far."""
    by_cost, leaps = ranks["expected_cost"], dict[tuple[int, float], list[str]]()
    for key in ("log_loss", "brier", "accuracy", "macro_f1"):
        by_key = ranks[key]
        furthest = max(range(len(models)), key=lambda m: abs(by_cost[m] - by_key[m]))
        if abs(by_cost[furthest] - by_key[furthest]) >= A_LEAP:
            leaps.setdefault((furthest, by_key[furthest]), []).append(IN_A_SENTENCE[key])
    return [
        f"{models[at].name} is number {place:g} of {len(models)} by {listed(keys)}, "
        f"but number {by_cost[at]:g} by expected search cost."
        for (at, place), keys in leaps.items()
    ]


def notes(models: Sequence[ModelResult], clusters: int | None) -> tuple[str, ...]:
    """What a reader should know before trusting the numbers."""
    said = [
        f"{model.name}: {key.replace('_', ' ')} is {score.note}."
        for model in models
        for key, score in model.scores.items()
        if score.note is not None
    ]
    if clusters is not None and clusters < FEW_CLUSTERS:
        said.append(
            f"There {'is' if clusters == 1 else 'are'} only {clusters} cluster{'s' * (clusters != 1)}: "
            f"with fewer than {FEW_CLUSTERS}, intervals tend to be too narrow."
        )
    return tuple(said)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

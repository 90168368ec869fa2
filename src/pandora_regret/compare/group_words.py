"""What stands out in a group of cases, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import TypeAlias

from pandora_regret.text import count, listed, money

Pair: TypeAlias = tuple[float, float]  # what something costs in a group, and elsewhere

ABOUT_TWICE = (1.95, 2.05)
IN_PERCENT = 1.1  # ratios below it are said in percent
MOST_NAMES = 3


def winner(phrase: str, rival: str, leader: str, costs: tuple[float, float], currency: str | None) -> str:
    """Another model than the leader is the cheapest in a group; costs are those of both there."""
    ours, theirs = (money(cost, currency) for cost in costs)
    return f"Where {phrase}, {rival} is cheaper than {leader}: {ours} against {theirs} per case."


def dearer_model(phrase: str, name: str, costs: Pair, others: Pair, single: bool, currency: str | None) -> str:
    """A model costs more in a group than elsewhere, not due to its cases; `others` is what it is held against."""
    start = f"Where {phrase}, {name} costs {_more(costs, currency)}"
    here, elsewhere = (money(cost, currency) for cost in others)
    return f"{start}; {f'it predicted {here}' if single else f'other models: {here} against {elsewhere}'}."


def dearer_cases(phrase: str, names: Sequence[str], costs: Pair, all_models: bool, currency: str | None) -> str:
    """Models cost more in a group than elsewhere, which its cases may explain; costs are those of the first."""
    explained = "but no more than the cases there may explain."
    if len(names) == 1:
        return f"Where {phrase}, {names[0]} costs {_more(costs, currency)}, {explained}"
    here, elsewhere = (money(cost, currency) for cost in costs)
    start, example = f"Where {phrase},", f"({names[0]} {here} against {elsewhere})"
    if all_models:
        return f"{start} every model costs more than elsewhere {example}: the cases there are dearer."
    return f"{start} {_some(names)} cost more than elsewhere {example}, {explained}"


def settled_by(leader: str, rival: str, share: float, against: Sequence[str], decisive: Sequence[str]) -> str:
    """The order of two models on all cases is not that on most of them."""
    return (
        f"{rival} is cheaper than {leader} on {100 * share:.0f} % of cases ({_some(against)}); "
        f"that {leader} is cheaper on all of them is due to {_some(decisive)}."
    )


def all_small(column: str, pooled: int, smallest: int, units: str) -> str:
    """There is nothing to tell apart."""
    return (
        f"No group by {column} has {count(smallest)} {units} ({count(pooled)} smaller ones are pooled): "
        "lower --smallest-group (smallest_group), or cut numbers into fewer bins, such as age:4."
    )


def _more(costs: Pair, currency: str | None) -> str:
    """How much more something costs here than elsewhere."""
    here, elsewhere = (money(cost, currency) for cost in costs)
    return f"{here} per case, {_times(costs[0] / costs[1] if costs[1] > 0 else inf)} elsewhere ({elsewhere})"


def _times(ratio: float) -> str:
    if ratio < IN_PERCENT:
        return f"{100 * (ratio - 1):.2g} % more than"
    if ratio == inf:
        return "more than"
    times = "twice" if ABOUT_TWICE[0] < ratio < ABOUT_TWICE[1] else f"{ratio:.1f} times"
    return f"{times} what it costs"


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return listed(names if more <= 1 else [*names[:MOST_NAMES], f"{count(more)} more"])

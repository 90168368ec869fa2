"""The price of a miss, which changes who is the cheapest: curves, break-even prices, and ranges that are settled.

The cost of an order of candidates is a line in the price M of a miss, ``a + b M``: a is what is looked at, b the
share of misses. The difference of two models is a line, too, and so is every case's, so that at each M the
interval of the difference is that of a mean of paired differences. A break-even price is where the difference
is 0, and its interval is where the interval of the difference holds 0 (Fieller). With probabilities the cost
has steps, as elsewhere moves along the list; then prices are tried on a grid, and what changes between two is
found by halving.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TypeVar

import numpy as np

from pandora_regret.candidates.lists import Candidates
from pandora_regret.candidates.search import Until
from pandora_regret.candidates.searched import CaseLists
from pandora_regret.core.inputs import FloatArray, InputError, IntArray, Names, read_level
from pandora_regret.inference.estimate import Estimate
from pandora_regret.inference.joint import Figure

T = TypeVar("T", bound=Hashable)

TRIED_PER_DECADE = 12  # prices of a miss
LEAST_TRIED = 1e-3  # times the mean cost of looking
MOST_TRIED = 1e6
HALVINGS = 60
SAME_PRICE = 1e-9  # relative: prices found by halving are the same up to this


@dataclass(frozen=True)
class MissRange:
    """Prices of a miss over which the data say the same of who is the cheapest."""

    low: float
    high: float  # infinite in the last range
    leader: str  # the cheapest on these cases, at the lowest price of the range
    undecided: Names  # models of which the data do not settle that they cost more; none where all is settled


@dataclass(frozen=True)
class MissBreakEven:
    """The price of a miss at which two models cost the same; ends are None where nothing tells them."""

    model: str  # cheaper below it
    against: str  # cheaper above it
    price: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class MissCurve:
    """What models cost per case, by the price of a miss."""

    prices: tuple[float, ...]
    costs: dict[str, tuple[Estimate, ...]]  # of each model, one per price


class MissPrices:
    """Models' lists on the same cases, at any price of a miss.

    Parameters
    ----------
    models
        Lists by the models' names, all of the same cases in the same order.
    until
        "first" or "all", as in `Candidates.costs`.
    weights
        Of the cases, (N,).
    groups
        The number of each case's group, (N,), where cases of one group belong together.
    level
        Of the intervals.
    """

    def __init__(
        self,
        models: Mapping[str, CaseLists],
        until: Until = "first",
        weights: FloatArray | None = None,
        groups: IntArray | None = None,
        level: float = 0.95,
    ) -> None:
        self.models = dict(models)
        self.until = until
        self.groups = groups
        self.level = read_level(level)
        first = next(iter(self.models.values()))
        for name, candidates in self.models.items():
            if candidates.ids != first.ids:
                fix = "put them into one order with `of_cases`"
                raise InputError("has other cases than the first", argument="models", column=name, fix=fix)
        self.weights = np.ones(first.n_cases) if weights is None else weights
        self._lines = {
            name: candidates.spending(None, until)
            for name, candidates in self.models.items()
            if not candidates.has_probabilities
        }

    def rows(self, name: str, miss: float) -> FloatArray:
        """What the search of each case costs, (N,)."""
        if name in self._lines:
            looked, missed = self._lines[name]
            return looked + missed * miss
        return self.models[name].costs(miss, self.until)

    def figure(self, name: str, miss: float) -> Figure:
        """The mean cost per case of one model."""
        return Figure.of_mean(self.rows(name, miss), self.weights, self.groups)

    def difference(self, name: str, against: str, miss: float) -> Estimate:
        """What one model costs more than another per case."""
        rows = self.rows(name, miss)
        rows_against = self.rows(against, miss)
        figure = Figure.of_mean(rows - rows_against, self.weights, self.groups)
        return figure.estimate(self.level, scale=float(np.abs(rows).mean() + np.abs(rows_against).mean()))

    def tried(self) -> list[float]:
        """The prices of a miss that are tried: 0, and a grid around the mean cost of looking at what is listed."""
        totals = [float(candidates.whole_costs.mean()) for candidates in self.models.values()]
        unit = max(max(totals), 1e-12)
        decades = math.log10(MOST_TRIED / LEAST_TRIED)
        grid = np.geomspace(LEAST_TRIED * unit, MOST_TRIED * unit, round(TRIED_PER_DECADE * decades) + 1)
        return [0.0, *grid.tolist()]

    def standing(self, miss: float) -> tuple[str, Names]:
        """The cheapest model, and those that the data do not settle to cost more."""
        means = {name: self.figure(name, miss).value for name in self.models}
        leader = min(means, key=lambda name: means[name])
        undecided = [
            name
            for name in self.models
            if name != leader and not self.difference(name, leader, miss).is_above_zero
        ]
        return leader, tuple(undecided)

    def ranges(self) -> tuple[MissRange, ...]:
        """The prices of a miss from 0 on, in ranges over which the data say the same.

        Where nothing is settled between some models, it does not matter which of them happens to lead.
        """

        def ranking_at(miss: float) -> tuple[str, frozenset[str]]:
            """Who leads, or those between whom nothing is settled."""
            leader, undecided = self.standing(miss)
            return ("", frozenset({leader, *undecided})) if undecided else (leader, frozenset())

        starts = changes(ranking_at, self.tried())
        ends = [*starts[1:], math.inf]
        found = []
        for low, high in zip(starts, ends, strict=True):
            leader, undecided = self.standing(low)
            found.append(MissRange(low, high, leader, undecided))
        return tuple(found)

    def break_evens(self, name: str, against: str) -> tuple[MissBreakEven, ...]:
        """Where two models cost the same, with intervals: the prices at which nothing is settled between them."""

        def cheaper(miss: float) -> str:
            return name if (self.difference(name, against, miss).value or 0.0) < 0 else against

        def is_settled(miss: float) -> bool:
            return self.difference(name, against, miss).is_not_zero

        prices = self.tried()
        settled_from = changes(is_settled, prices)
        found = []
        for price in self._crossings(name, against, cheaper, prices):
            number = bisect_left(settled_from, price)  # the range that holds it begins before
            low: float | None = settled_from[number - 1] if number > 1 else None
            high: float | None = settled_from[number] if number < len(settled_from) else None
            below = cheaper(price * (1 - 1e-6))
            above = against if below == name else name
            if is_settled(price):  # as where the cost jumps
                low = price
                high = price
            found.append(MissBreakEven(below, above, price, low, high))
        return tuple(found)

    def break_evens_in_question(self, ranges: Sequence[MissRange] | None = None) -> tuple[MissBreakEven, ...]:
        """The break-even prices of all pairs of models, where both are the cheapest at that price, or may be.

        Where two models cost the same that both cost more than a third one, nobody has to choose between them.

        Parameters
        ----------
        ranges
            What `ranges` returns, where that is known.
        """
        known = self.ranges() if ranges is None else ranges
        found: list[MissBreakEven] = []
        for name, against in combinations(self.models, 2):
            pair = {name, against}
            if not pair <= {model for part in known for model in (part.leader, *part.undecided)}:
                continue
            for crossing in self.break_evens(name, against):
                in_question: set[str] = set()
                for part in known:  # two of them, where the price is the end of one
                    if part.low * (1 - SAME_PRICE) <= crossing.price <= part.high * (1 + SAME_PRICE):
                        in_question.update((part.leader, *part.undecided))
                if pair <= in_question:
                    found.append(crossing)
        return tuple(found)

    def _crossings(
        self, name: str, against: str, cheaper: Callable[[float], str], prices: Sequence[float]
    ) -> list[float]:
        """The prices at which the cheaper one of two models changes: of two lines one, in closed form."""
        if name in self._lines and against in self._lines:
            looked, missed = self._lines[name]
            looked_against, missed_against = self._lines[against]
            at_zero = float((self.weights * (looked - looked_against)).sum())
            slope = float((self.weights * (missed - missed_against)).sum())
            if slope == 0 or not 0 < -at_zero / slope < math.inf:
                return []
            return [-at_zero / slope]
        return changes(cheaper, prices)[1:]

    def curve(self, prices: Sequence[float] | None = None) -> MissCurve:
        """What each model costs per case, with intervals, at some prices of a miss; those tried unless given."""
        at = self.tried() if prices is None else list(prices)
        costs = {}
        for name in self.models:
            costs[name] = tuple(self.figure(name, miss).estimate(self.level) for miss in at)
        return MissCurve(tuple(at), costs)


def changes(answer_at: Callable[[float], T], prices: Sequence[float]) -> list[float]:
    """The first price, and those at which the answer changes, to within the precision of numbers.

    Parameters
    ----------
    answer_at
        The answer at a price.
    prices
        Prices that are tried, rising; between two of them at most one change is found.
    """
    starts = [prices[0]]
    before = answer_at(prices[0])
    for low, high in pairwise(prices):
        now = answer_at(high)
        if now == before:
            continue
        lower = low
        upper = high
        for _ in range(HALVINGS):
            middle = (lower + upper) / 2
            if middle in (lower, upper):
                break
            if answer_at(middle) == before:
                lower = middle
            else:
                upper = middle
        if answer_at(upper) != now and upper < high:  # a third thing in between: look at what is left
            starts += changes(answer_at, [upper, high])
        else:
            starts.append(upper)
        before = now
    return starts


def miss_ranges(
    models: Mapping[str, Candidates],
    *,
    until: Until = "first",
    level: float = 0.95,
) -> tuple[MissRange, ...]:
    """Who is cheapest, by the price of a miss: the ranges over which the data say the same.

    Parameters
    ----------
    models
        Lists by the models' names, all of the same cases in the same order.
    until
        "first" or "all", as in `Candidates.costs`.
    level
        Of the intervals.

    Returns
    -------
    tuple of MissRange
        From a price of 0 on; the last one has no end.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> is_hit = rng.random(400) < 0.5
    >>> short = Candidates.from_lists([["a"]] * 400, ["a" if hit else "b" for hit in is_hit])
    >>> long = Candidates.from_lists([["c", "d", "a", "b"]] * 400, ["a" if hit else "b" for hit in is_hit])
    >>> [(round(part.low, 1), part.leader, part.undecided) for part in miss_ranges({"short": short, "long": long})]
    [(0.0, 'short', ()), (4.4, 'short', ('long',)), (5.1, 'long', ())]
    """
    return MissPrices(models, until, level=level).ranges()

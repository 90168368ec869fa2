"""Break-even prices: how much one test must cost before another model is the cheapest.

If one test's price changes, a row of another true class spends more or less on that one test, and only rows of the
tested class are searched in another order. So to try a price takes about two numbers per row, not one per row and
class. Where prices are known, costs are linear in the price between those at which some row's order changes, and
the first crossing is exact; under a prior it is sought between prices that are tried.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pandora_regret.compare.estimates import COST, Measurements, Sample
from pandora_regret.compare.result import FURTHEST_PRICE, BreakEven, Crossing
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Figure
from pandora_regret.inputs import FloatArray, Forecast
from pandora_regret.kernels.reference import costs_of, log_ratio, tie_widths
from pandora_regret.priors import Beta, Fixed, Prior

FEWEST_STEPS, MOST_STEPS = 9, 27  # to the furthest price, between which a crossing is sought
ROWS_TRIED = 100_000  # the more rows, the smoother are their mean costs, and the fewer steps are tried
MOST_TESTS = 20  # that are looked at; where there are more, those on which the most is spent
CLOSE_ENOUGH, MOST_TRIES = 1e-9, 100  # of a price, relatively
LEAST_ALPHA, MOST_ALPHA = 0.01, 50.0  # between which powers of r and of a factor neither cancel nor overflow


class PriceCurve:
    """What each row's search costs a model, as a function of one test's price; `costs` are those as stated."""

    def __init__(self, rows: Forecast, costs: FloatArray, prior: Prior, test: int, shares: FloatArray) -> None:
        is_own, others = rows.truth == test, np.delete(np.arange(rows.n_classes), test)
        own, elsewhere = np.flatnonzero(is_own), np.flatnonzero(~is_own)  # whatever that price may change:
        self.rows = np.concatenate([elsewhere, np.repeat(own, len(others))])
        self.tested = np.concatenate([np.full(len(elsewhere), test), np.tile(others, len(own))])
        self.truth, self.rises = rows.truth[self.rows], self.tested == test
        self.prior: Any = prior
        entries, base = ((self.rows, self.truth), (self.rows, self.tested)), costs_of(rows)
        ours, theirs = (rows.values[each].astype(np.float64) for each in entries)
        self.odds = log_ratio(ours, theirs, *(base[each] for each in entries), logits=rows.logits)
        self.width, self.price = tie_widths(ours, theirs, rows), base[entries[1]] * prior.mean_of(self.tested)
        self.own = np.where(is_own, base[:, test] * prior.mean_of(test), 0.0)
        self.rest = costs - self._moving(1.0)
        self.shares, self.paid, self.n_rising = shares, shares[self.rows] * self.price, len(elsewhere)
        self.mean_rest, self.mean_own = (shares * self.rest).sum(), (shares * self.own).sum()

    def _moving(self, factor: float) -> FloatArray:
        """What each row spends on the test itself, or on others before it, (N,)."""
        odds = self.odds + np.where(self.rises, 1.0, -1.0) * np.log(factor)
        share = self.prior.share_with_ties(odds, self.truth, self.tested, self.width)
        spent = np.where(self.rises, factor, 1.0) * self.price * share
        return np.asarray(factor * self.own + np.bincount(self.rows, spent, len(self.own)))

    def costs(self, factor: float) -> FloatArray:
        """Of every row, (N,), where the test costs so many times what was stated."""
        return self.rest + self._moving(factor)

    @cached_property
    def _sums(self) -> list[tuple[FloatArray, ...]]:
        """Rows by rising r, those on whose truth the test goes to waste, then the others.

        Their log odds; sums of what is paid, and of that times ``r^alpha``, up to each row; times
        ``r^-(alpha + 1)``, from each on. At another price the powers are these times a power of the factor: it
        takes no pass over the rows.
        """
        sums, alpha = list[tuple[FloatArray, ...]](), self.prior.alpha
        for part in (slice(self.n_rising), slice(self.n_rising, None)):
            order = np.argsort(self.odds[part])
            odds, paid = self.odds[part][order], self.paid[part][order]
            with np.errstate(over="ignore", invalid="ignore"):  # at the far ends, which no price reaches
                parts = paid, paid * np.exp(alpha * odds), (paid * np.exp((-alpha - 1) * odds))[::-1]
                paid, below, above = (np.concatenate([[0.0], np.cumsum(each)]) for each in parts)
            sums.append((odds, paid, below, above[::-1]))
        return sums

    def mean(self, factor: float) -> float:
        """The mean of `costs`."""
        alpha = self.prior.alpha if isinstance(self.prior, Beta) else 0.0
        if not LEAST_ALPHA <= alpha <= MOST_ALPHA:
            return float((self.shares * self.costs(factor)).sum())
        total, most = self.mean_rest + factor * self.mean_own, 2 + 1 / alpha
        changes = (factor, factor), (1 / factor, 1.0)  # of r, and of the price
        for (odds, paid, below, above), (change, price) in zip(self._sums, changes, strict=True):
            at = np.searchsorted(odds, -np.log(change), side="right")
            losses = most * paid[at] - (most - 1) * change**alpha * below[at] + change ** (-alpha - 1) * above[at]
            total += price * self.prior.loss_to_share * losses
        return float(total)

    def jumps(self) -> FloatArray:
        """At known prices: factors, and by how much a constant and a slope of the mean cost change there, (3, J).

        A row of another truth pays for the test until its factor is so high that it comes after the truth; a row
        of the tested class pays for it always, and for another one from the factor on at which that comes first.
        """
        at = np.exp(np.where(self.rises, -self.odds, self.odds))
        constant, slope = np.where(self.rises, 0.0, self.paid), np.where(self.rises, -self.paid, 0.0)
        start = [0.0, self.mean_rest, self.mean_own - slope.sum()]
        return np.column_stack([start, np.stack([at, constant, slope])])


class PriceRace:
    """The leader and another model as a test's price changes; factors are prices in units of the stated one."""

    def __init__(self, leader: PriceCurve, other: PriceCurve, sample: Sample, level: float) -> None:
        self.leader, self.other, self.sample, self.level = leader, other, sample, level
        self.rounding = ROUNDING * leader.mean(1.0)

    def gap(self, factor: float) -> float:
        """By how much the leader costs more."""
        return self.leader.mean(factor) - self.other.mean(factor)

    def exact_crossing(self, upwards: bool) -> float | None:
        """At known prices, the first factor, from 1, beyond which the other model is cheaper than the leader."""
        ours, theirs = (curve.jumps() for curve in (self.leader, self.other))
        jumps = np.concatenate([ours, theirs * np.array([[1.0], [-1.0], [-1.0]])], axis=1)
        jumps = jumps[:, np.argsort(jumps[0], kind="stable")]
        near, far = (1.0, FURTHEST_PRICE) if upwards else (1 / FURTHEST_PRICE, 1.0)
        edges = np.unique(np.concatenate([[near, far], np.clip(jumps[0], near, far)]))
        line = np.cumsum(jumps[1:], axis=1)[:, np.searchsorted(jumps[0], edges[:-1], side="right") - 1]
        parts = np.vstack(
            [line, edges[:-1], edges[1:]] if upwards else [line[:, ::-1], edges[:0:-1], edges[-2::-1]]
        )
        constant, slope, start, end = parts
        at_start, at_end = constant + slope * start, constant + slope * end
        rounding = self.rounding * max(1.0, jumps.shape[1] / 1000)  # of the sums
        for first in np.flatnonzero(np.maximum(at_start, at_end) > rounding)[:1]:
            return float(start[first] if at_start[first] > rounding else -constant[first] / slope[first])
        return None

    def interval(self, factor: float) -> list[float | None]:
        """The factors around a crossing at which the data do not settle which of the two is cheaper."""

        def excess(x: float) -> float:
            gap = self.leader.costs(x) - self.other.costs(x)
            estimate = Figure.of_mean(gap, self.sample.weights, self.sample.unit_of).estimate(self.level)
            return -np.inf if estimate.low is None else max(estimate.low, -(estimate.high or 0.0))

        tried = np.geomspace(1 / FURTHEST_PRICE, FURTHEST_PRICE, 1 + 2 * FEWEST_STEPS)
        edges: list[float | None] = []
        for beyond in (tried[tried < factor][::-1], tried[tried > factor]):
            steps = pairwise([factor, *beyond.tolist()])
            edges.append(next((_root(excess, a, b) for a, b in steps if excess(b) > 0), None))
        return edges


def _root(function: Callable[[float], float], before: float, after: float) -> float:
    """Where a function of the factor changes its sign between two; the first, if it does so by rounding.

    By regula falsi, in which an end that stays counts half (the Illinois method), on the scale of logarithms.
    """
    (a, b), at_a, at_b = np.log([before, after]), function(before), function(after)
    if at_a * at_b >= 0:
        return before
    for _ in range(MOST_TRIES):
        if abs(b - a) <= CLOSE_ENOUGH or at_b == 0:
            break
        middle = b - at_b * (b - a) / (at_b - at_a) if np.isfinite(at_a - at_b) else (a + b) / 2
        value = function(float(np.exp(middle)))
        a, at_a = (b, at_b) if value * at_b < 0 else (a, at_a / 2)
        b, at_b = middle, value
    return float(np.exp(b))


def first_crossing(races: Sequence[PriceRace], upwards: bool) -> tuple[float, int] | None:
    """The first factor, from 1, beyond which one of the models is cheaper than the leader, and which one is."""
    leader = races[0].leader
    if leader.prior == Fixed():
        exact = ((race.exact_crossing(upwards), number) for number, race in enumerate(races))
        return _nearest([(at, number) for at, number in exact if at is not None])
    steps = int(np.clip(ROWS_TRIED // len(leader.shares), FEWEST_STEPS, MOST_STEPS))
    for before, after in pairwise(np.geomspace(1.0, FURTHEST_PRICE if upwards else 1 / FURTHEST_PRICE, 1 + steps)):
        cost = leader.mean(after)
        ahead = [n for n, race in enumerate(races) if cost - race.other.mean(after) > race.rounding]
        if ahead:
            return _nearest([(_root(races[number].gap, before, after), number) for number in ahead])
    return None


def _nearest(crossings: Sequence[tuple[float, int]]) -> tuple[float, int] | None:
    return min(crossings, key=lambda each: (abs(np.log(each[0])), *each), default=None)


def break_even(
    measurements: Measurements, rows: Mapping[str, Forecast], prior: Prior, margin: float = 0.0
) -> tuple[BreakEven, ...]:
    """For each test, the prices nearest to the stated one at which another model is cheaper by the margin.

    So every other model is charged the margin, too. Of many tests, those on which the most is spent are looked at;
    orders have no prices of their own.
    """
    models, stated = measurements.models, measurements.typical
    if len(models) == 1 or models[0].order_only:
        return ()
    own = measurements.class_weights / measurements.class_weights.sum() * stated
    spent = own + np.mean([model.pairs.sum(axis=0) for model in models], axis=0)
    results = []
    shares = measurements.sample.weights / measurements.sample.weights.sum()
    for test in sorted(np.argsort(-spent, kind="stable")[:MOST_TESTS].tolist()):
        handicap = [0.0] + [margin] * (len(models) - 1)
        leader, *others = [
            PriceCurve(rows[model.name], model.rows[COST] + extra, prior, test, shares)
            for model, extra in zip(models, handicap, strict=True)
        ]
        races = [PriceRace(leader, other, measurements.sample, measurements.interval.level) for other in others]
        price, sides = float(stated[test]), list[Crossing | None]()
        for upwards in (False, True):
            sides.append(None)
            if (crossing := first_crossing(races, upwards)) is not None:
                factor, number = crossing
                low, high = (None if edge is None else price * edge for edge in races[number].interval(factor))
                sides[-1] = Crossing(price * factor, low, high, models[1 + number].name)
        results.append(BreakEven(measurements.classes[test], price, *sides))
    return tuple(results)

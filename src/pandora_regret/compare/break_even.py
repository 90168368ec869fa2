"""Break-even prices: how much one test must cost before another model is the cheapest.

If one test's price changes, a row of another true class spends more or less on that one test, and only rows of the
tested class are searched in another order. So to try a price takes about two numbers per row, not one per row and
class; and where the share of a test is made of powers of the odds, as at known prices and in the Beta family, sums
of these over rows in the order of their odds give the mean cost at any price at once. Where prices are known,
costs are linear in the price between those at which some row's order changes, and the first crossing is exact;
under a prior it is sought between prices that are tried.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from pandora_regret.compare.estimates import COST, Measurements, Sample
from pandora_regret.compare.result import FURTHEST_PRICE, BreakEven, Crossing
from pandora_regret.core.inputs import FloatArray, Forecast
from pandora_regret.core.kernels.reference import costs_of, log_ratio, tie_widths
from pandora_regret.core.priors import Beta, Fixed, Prior
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Figure

FEWEST_STEPS, MOST_STEPS = 9, 27  # to the furthest price, between which a crossing is sought
ROWS_TRIED = 100_000  # the more rows, the smoother are their mean costs, and the fewer steps are tried
MOST_TESTS = 20  # that are looked at; where there are more, those on which the most is spent
CLOSE_ENOUGH, MOST_TRIES = 1e-9, 100  # of a price, relatively
LEAST_ALPHA, MOST_ALPHA = 0.01, 50.0  # between which powers of r and of a factor neither cancel nor overflow


class PriceCurve:
    """What each row's search costs a model, as a function of one test's price; `costs` are those as stated.

    Factors are prices in units of the stated one.
    """

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
        self.rest, self.shares = costs - self._moving(1.0), shares
        self.mean_rest, self.mean_own = (shares * self.rest).sum(), (shares * self.own).sum()
        self.sums = self._sums()

    def _moving(self, factor: float) -> FloatArray:
        """What each row spends on the test itself, or on others before it, (N,)."""
        odds = self.odds + np.where(self.rises, 1.0, -1.0) * np.log(factor)
        share = self.prior.share_with_ties(odds, self.truth, self.tested, self.width)
        spent = np.where(self.rises, factor, 1.0) * self.price * share
        return factor * self.own + np.bincount(self.rows, spent, len(self.own))

    def costs(self, factor: float) -> FloatArray:
        """Of every row, (N,), where the test costs so many times what was stated."""
        return self.rest + self._moving(factor)

    def _sums(self) -> list[Any]:
        """Of entries that rise and that fall with the price: odds in their order, and sums of powers of them.

        A share is a sum of powers of r, others where the truth is behind (up to even odds) and ahead.
        """
        alpha, sums = getattr(self.prior, "alpha", -1.0), list[Any]()
        behind, ahead = [(1.0, 0.0)], list[tuple[float, float]]()
        if LEAST_ALPHA <= alpha <= MOST_ALPHA and isinstance(self.prior, Beta):
            most, scale = 2 + 1 / alpha, self.prior.loss_to_share
            behind, ahead = [(scale * most, 0.0), (scale * (1 - most), alpha)], [(scale, -alpha - 1)]
        elif self.prior != Fixed():
            return sums
        paid = self.shares[self.rows] * self.price
        for sign, part in ((1.0, self.rises), (-1.0, ~self.rises)):
            order = np.argsort(self.odds[part])
            odds, amounts, terms = self.odds[part][order], paid[part][order], []
            for powers, way in ((behind, slice(None)), (ahead, slice(None, None, -1))):
                for times, power in powers:
                    with np.errstate(over="ignore", invalid="ignore"):  # of odds that are on the other side
                        each = times * amounts * (np.exp(power * odds) if power else 1.0)
                        terms.append((power, np.append(0.0, np.cumsum(each[way]))[way]))
            sums.append((sign, odds, terms))
        return sums

    def mean(self, factors: FloatArray) -> FloatArray:
        """The means of `costs` at some factors, (F,); at known prices beside those at which an order changes."""
        if not self.sums:
            return np.array([(self.shares * self.costs(factor)).sum() for factor in factors.tolist()])
        moved, total = np.log(factors), self.mean_rest + factors * self.mean_own
        for sign, odds, terms in self.sums:
            behind = np.searchsorted(odds, -sign * moved)
            spent = sum(np.exp(sign * power * moved) * sums[behind] for power, sums in terms)
            total = total + np.where(sign > 0, factors, 1.0) * spent
        return np.asarray(total)


def first_crossing(leader: PriceCurve, other: PriceCurve, upwards: bool) -> float | None:
    """The first factor, from 1, beyond which another model is cheaper than the leader."""

    def gap(factors: Any) -> Any:
        return leader.mean(np.atleast_1d(factors)) - other.mean(np.atleast_1d(factors))

    furthest = FURTHEST_PRICE if upwards else 1 / FURTHEST_PRICE
    steps = int(np.clip(ROWS_TRIED // len(leader.shares), FEWEST_STEPS, MOST_STEPS))
    tried = np.geomspace(1.0, furthest, 1 + steps)
    if leader.prior == Fixed():  # to both sides of every price at which an order changes
        changes = np.concatenate([np.exp(-sign * odds) for each in (leader, other) for sign, odds, _ in each.sums])
        near = np.multiply.outer([1 - ROUNDING, 1 + ROUNDING], changes).ravel()
        tried = np.unique(np.clip([1.0, furthest, *near], min(1.0, furthest), max(1.0, furthest)))
        tried = tried if upwards else tried[::-1]
    ahead = np.flatnonzero(gap(tried) > ROUNDING * leader.mean(np.ones(1)) * max(1.0, len(leader.rows) / 500))
    if not len(ahead):
        return None
    before = tried[max(ahead[0] - 1, 0)]
    return _root(lambda factor: float(gap(factor)[0]), float(before), float(tried[ahead[0]]))


def interval(
    leader: PriceCurve, other: PriceCurve, factor: float, sample: Sample, level: float
) -> list[float | None]:
    """The factors around a crossing at which the data do not settle which of the two is cheaper."""

    def excess(x: float) -> float:
        gap = Figure.of_mean(leader.costs(x) - other.costs(x), sample.weights, sample.cluster_of).estimate(level)
        return -np.inf if gap.low is None else max(gap.low, -(gap.high or 0.0))

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


def break_even(
    measurements: Measurements, rows: Mapping[str, Forecast], prior: Prior, margin: float = 0.0
) -> tuple[BreakEven, ...]:
    """For each test, the prices nearest to the stated one at which another model is cheaper by the margin.

    So every other model is charged the margin, too. Of many tests, those on which the most is spent are looked at;
    orders have no prices of their own.
    """
    models, stated, sample = measurements.models, measurements.typical, measurements.sample
    if len(models) == 1 or models[0].order_only:
        return ()
    own = measurements.class_weights / measurements.class_weights.sum() * stated
    spent = own + np.mean([model.pairs.sum(axis=0) for model in models], axis=0)
    results, shares = [], sample.weights / sample.weights.sum()
    for test in sorted(np.argsort(-spent, kind="stable")[:MOST_TESTS].tolist()):
        leader, *others = [
            PriceCurve(rows[model.name], model.rows[COST] + margin * (number > 0), prior, test, shares)
            for number, model in enumerate(models)
        ]
        price, sides = float(stated[test]), list[Crossing | None]()
        for upwards in (False, True):
            factors = [first_crossing(leader, other, upwards) for other in others]
            crossings = [(abs(np.log(at)), number, at) for number, at in enumerate(factors) if at is not None]
            sides.append(None)
            if crossings:
                _, number, at = min(crossings)
                edges = interval(leader, others[number], at, sample, measurements.interval.level)
                low, high = (None if edge is None else price * edge for edge in edges)
                sides[-1] = Crossing(price * at, low, high, models[1 + number].name)
        results.append(BreakEven(measurements.classes[test], price, *sides))
    return tuple(results)

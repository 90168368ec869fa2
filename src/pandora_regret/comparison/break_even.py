"""Break-even prices: how much one test must cost before another model is the cheapest.

If one test's price changes, a row of another true class spends more or less on that one test, and only rows of the
tested class are searched in another order. So to try a price takes about two numbers per row, not one per row and
class; and where the share of a test is made of powers of the odds, as at known prices and in the Beta family, sums
of these over rows in the order of their odds give the mean cost at any price at once. Where prices are known,
costs are linear in the price between those at which some row's order changes, and the first crossing is exact;
under a prior it is sought between prices that are tried.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pandora_regret.comparison.estimate import Basis, Contender
from pandora_regret.comparison.measure import recalibrate_again
from pandora_regret.comparison.parts import FURTHEST_PRICE, STATED, BreakEven, Crossing
from pandora_regret.comparison.request import Request
from pandora_regret.comparison.sample import Sample
from pandora_regret.core.inputs import FloatArray, Forecast
from pandora_regret.core.kernels.reference import costs_of, log_ratio, tie_widths
from pandora_regret.core.priors import Beta, Fixed, Prior
from pandora_regret.inference.intervals import ROUNDING
from pandora_regret.inference.joint import Figure

FEWEST_STEPS = 9  # to the furthest price, between which a crossing is sought
MOST_STEPS = 27
ROWS_TRIED = 100_000  # the more rows, the smoother are their mean costs, and the fewer steps are tried
MOST_TESTS = 20  # that are looked at; where there are more, those on which the most is spent
CLOSE_ENOUGH = 1e-9  # of a price, relatively
MOST_TRIES = 100
LEAST_ALPHA = 0.01  # to the highest, powers of r and of a factor neither cancel nor overflow
MOST_ALPHA = 50.0


@dataclass(frozen=True)
class PowerTerm:
    """A power of r, summed over entries: E of them in the order of their odds."""

    power: float
    sums: FloatArray  # (1 + E,) where so many entries are behind, what all entries on this term's side add to it


@dataclass(frozen=True)
class PowerSums:
    """What entries that move the same way with the price add up to, at any price."""

    sign: float  # 1 where the odds rise with the price, -1 where they fall
    odds: FloatArray  # (E,) ascending
    terms: list[PowerTerm]

    def spent(self, log_factors: FloatArray) -> FloatArray:
        """The weighted mean of price times share where the price is so many times the stated one, (F,)."""
        n_behind = np.searchsorted(self.odds, -self.sign * log_factors)
        spent = np.zeros(len(log_factors))
        for term in self.terms:
            spent += np.exp(self.sign * term.power * log_factors) * term.sums[n_behind]
        return spent


class PriceCurve:
    """What each row's search costs a model, as a function of one test's price.

    Factors are prices in units of the stated one. What a price may change is listed as E entries, each a row and a
    class that may be tested before the row's truth: the test itself in rows of other classes, and all others in
    rows of the tested class.

    Parameters
    ----------
    rows
        The model's forecasts of N rows.
    costs
        What each row costs at the prices as stated, (N,).
    prior
        How costs vary about the typical ones.
    test
        The number of the class whose test's price changes.
    shares
        Of all weight, (N,).
    """

    def __init__(self, rows: Forecast, costs: FloatArray, prior: Prior, test: int, shares: FloatArray) -> None:
        is_own = rows.truth == test
        own_rows = np.flatnonzero(is_own)
        other_rows = np.flatnonzero(~is_own)
        other_classes = np.delete(np.arange(rows.n_classes), test)
        self.rows = np.concatenate([other_rows, np.repeat(own_rows, len(other_classes))])  # (E,)
        self.tested = np.concatenate(
            [np.full(len(other_rows), test), np.tile(other_classes, len(own_rows))]
        )  # (E,)
        self.truth = rows.truth[self.rows]  # (E,)
        self.rises = self.tested == test  # (E,) whether the odds rise with the price
        self.prior = prior
        base = costs_of(rows)  # (N, K)
        p_truth = rows.values[self.rows, self.truth].astype(np.float64)
        p_tested = rows.values[self.rows, self.tested].astype(np.float64)
        cost_truth = base[self.rows, self.truth]
        cost_tested = base[self.rows, self.tested]
        self.odds = log_ratio(p_truth, p_tested, cost_truth, cost_tested, logits=rows.logits)  # (E,)
        self.width = tie_widths(p_truth, p_tested, rows)
        self.price = cost_tested * prior.mean_of(self.tested)  # (E,) as stated
        self.own = np.where(is_own, base[:, test] * prior.mean_of(test), 0.0)  # (N,) for testing the truth itself
        self.rest = costs - self._moving(1.0)  # (N,) what no price of this test changes
        self.shares = shares
        self.mean_rest = (shares * self.rest).sum()
        self.mean_own = (shares * self.own).sum()

    def _moving(self, factor: float) -> FloatArray:
        """What each row spends on the test itself, or on others before it, (N,)."""
        odds = self.odds + np.where(self.rises, 1.0, -1.0) * np.log(factor)
        share = self.prior.share_with_ties(odds, self.truth, self.tested, self.width)
        spent = np.where(self.rises, factor, 1.0) * self.price * share
        return factor * self.own + np.bincount(self.rows, spent, len(self.own))

    def costs(self, factor: float) -> FloatArray:
        """The cost of every row, (N,), where the test costs so many times what was stated."""
        return self.rest + self._moving(factor)

    @cached_property
    def sums(self) -> list[PowerSums]:
        """The sums of entries that rise and that fall with the price; none where shares are not powers of r."""
        powers = _powers_of_share(self.prior)
        if powers is None:
            return []
        paid = self.shares[self.rows] * self.price
        sums = []
        for sign, is_part in ((1.0, self.rises), (-1.0, ~self.rises)):
            order = np.argsort(self.odds[is_part])
            odds = self.odds[is_part][order]
            amounts = paid[is_part][order]
            terms = [_behind(times, power, odds, amounts) for times, power in powers.behind]
            terms += [_ahead(times, power, odds, amounts) for times, power in powers.ahead]
            sums.append(PowerSums(sign, odds, terms))
        return sums

    def mean(self, factors: FloatArray) -> FloatArray:
        """The means of `costs` at some factors, (F,); at known prices beside those at which an order changes."""
        if not self.sums:
            return np.array([(self.shares * self.costs(factor)).sum() for factor in factors.tolist()])
        log_factors = np.log(factors)
        total = self.mean_rest + factors * self.mean_own
        for part in self.sums:
            price = factors if part.sign > 0 else 1.0
            total = total + price * part.spent(log_factors)
        return np.asarray(total)

    def least_mean(self, factors: FloatArray) -> FloatArray:
        """What the means of `costs` at some factors cannot fall below, (F,): without what searches waste."""
        return np.asarray(self.mean_rest + factors * self.mean_own)

    def changes(self) -> FloatArray:
        """The factors at which the order of some row's tests changes at known prices, (E,)."""
        return np.concatenate([np.exp(-part.sign * part.odds) for part in self.sums])


@dataclass(frozen=True)
class SharePowers:
    """A prior's share as sums of ``times * r ** power``, which differ by the side of even odds that r is on."""

    behind: list[tuple[float, float]]  # (times, power) where the truth is behind, up to even odds
    ahead: list[tuple[float, float]]  # where it is ahead


def _powers_of_share(prior: Prior) -> SharePowers | None:
    """At known prices, and in the Beta family where its powers can be summed; else None."""
    if isinstance(prior, Beta) and LEAST_ALPHA <= prior.alpha <= MOST_ALPHA:
        scale = prior.loss_to_share
        most = 2 + 1 / prior.alpha
        behind = [(scale * most, 0.0), (scale * (1 - most), prior.alpha)]
        return SharePowers(behind, ahead=[(scale, -prior.alpha - 1)])
    if prior == Fixed():
        return SharePowers(behind=[(1.0, 0.0)], ahead=[])
    return None


def _behind(times: float, power: float, odds: FloatArray, amounts: FloatArray) -> PowerTerm:
    """The sums over entries from the lowest odds up, of amounts, (E,), in the order of their odds, (E,)."""
    with np.errstate(over="ignore", invalid="ignore"):  # of odds that are on the other side
        summed = np.cumsum(_times_power(times, power, odds, amounts))
    return PowerTerm(power, np.append(0.0, summed))


def _ahead(times: float, power: float, odds: FloatArray, amounts: FloatArray) -> PowerTerm:
    """The sums over entries from the highest odds down, of amounts, (E,), in the order of their odds, (E,)."""
    with np.errstate(over="ignore", invalid="ignore"):  # of odds that are on the other side
        summed = np.cumsum(_times_power(times, power, odds, amounts)[::-1])
    return PowerTerm(power, np.append(0.0, summed)[::-1])


def _times_power(times: float, power: float, odds: FloatArray, amounts: FloatArray) -> FloatArray:
    """Amounts times ``times * r ** power``, (E,)."""
    return times * amounts * (np.exp(power * odds) if power else 1.0)


def first_crossings(leader: PriceCurve, others: Sequence[PriceCurve], upwards: bool) -> list[float | None]:
    """For each other model the first factor, from 1, beyond which it is cheaper than the leader."""
    rounding = float(ROUNDING * leader.mean(np.ones(1))[0] * max(1.0, len(leader.rows) / 500))
    is_known = leader.prior == Fixed()
    if is_known:
        tried = _factors_beside_changes([leader], upwards)
    else:
        tried = _spaced_factors(len(leader.shares), upwards)
    of_leader = leader.mean(tried)
    crossings: list[float | None] = []
    for other in others:
        if (of_leader - other.least_mean(tried) <= rounding).all():
            crossings.append(None)  # as of most models, where there are many: not even without waste
            continue
        factors = tried
        costs_of_leader = of_leader
        if is_known:  # beside changes of the other's orders, too
            factors = _factors_beside_changes([leader, other], upwards)
            costs_of_leader = leader.mean(factors)
        ahead = np.flatnonzero(costs_of_leader - other.mean(factors) > rounding)
        crossings.append(_crossing_in(leader, other, factors, int(ahead[0])) if len(ahead) else None)
    return crossings


def _crossing_in(leader: PriceCurve, other: PriceCurve, tried: FloatArray, place: int) -> float:
    """Where another model becomes cheaper than the leader, up to the factor at that place of those tried."""

    def gap(factor: float) -> float:
        factors = np.array([factor])
        return float((leader.mean(factors) - other.mean(factors))[0])

    return _root(gap, float(tried[max(place - 1, 0)]), float(tried[place]))


def _factors_beside_changes(curves: Sequence[PriceCurve], upwards: bool) -> FloatArray:
    """At known prices: the factors to both sides of each at which some order changes, (F,), from 1 on."""
    furthest = FURTHEST_PRICE if upwards else 1 / FURTHEST_PRICE
    changes = np.concatenate([curve.changes() for curve in curves])
    near = np.multiply.outer([1 - ROUNDING, 1 + ROUNDING], changes).ravel()
    within_reach = np.clip([1.0, furthest, *near], min(1.0, furthest), max(1.0, furthest))
    rising = np.unique(within_reach)
    return rising if upwards else rising[::-1]


def _spaced_factors(n_rows: int, upwards: bool) -> FloatArray:
    """Under a prior: the factors between which a crossing is sought, (F,), from 1 to the furthest."""
    furthest = FURTHEST_PRICE if upwards else 1 / FURTHEST_PRICE
    steps = int(np.clip(ROWS_TRIED // n_rows, FEWEST_STEPS, MOST_STEPS))
    return np.geomspace(1.0, furthest, 1 + steps)


def interval(
    leader: PriceCurve, other: PriceCurve, factor: float, sample: Sample, level: float
) -> list[float | None]:
    """The factors around a crossing at which the data do not settle which of the two is cheaper."""

    def excess(x: float) -> float:
        gap = Figure.of_mean(leader.costs(x) - other.costs(x), sample.weights, sample.cluster_of).estimate(level)
        return -np.inf if gap.low is None else max(gap.low, -(gap.high or 0.0))

    tried = np.geomspace(1 / FURTHEST_PRICE, FURTHEST_PRICE, 1 + 2 * FEWEST_STEPS)
    below = tried[tried < factor][::-1]
    above = tried[tried > factor]
    return [_first_rise(excess, factor, below), _first_rise(excess, factor, above)]


def _first_rise(function: Callable[[float], float], start: float, further: FloatArray) -> float | None:
    """Where a function first rises above 0 on the way from a factor to further ones; None where it never does."""
    before = start
    for after in further.tolist():
        if function(after) > 0:
            return _root(function, before, after)
        before = after
    return None


def _root(function: Callable[[float], float], before: float, after: float) -> float:
    """Where a function of the factor changes its sign between two; the first, if it does so by rounding.

    By regula falsi, in which an end that stays counts half (the Illinois method), on the scale of logarithms.
    """
    a, b = np.log([before, after])
    at_a = function(before)
    at_b = function(after)
    if at_a * at_b >= 0:
        return before
    for _ in range(MOST_TRIES):
        if abs(b - a) <= CLOSE_ENOUGH or at_b == 0:
            break
        middle = (a + b) / 2
        if np.isfinite(at_a - at_b):
            middle = b - at_b * (b - a) / (at_b - at_a)
        value = function(float(np.exp(middle)))
        if value * at_b < 0:  # the sign changes between the last two
            a = b
            at_a = at_b
        else:
            at_a /= 2
        b = middle
        at_b = value
    return float(np.exp(b))


def break_even(basis: Basis, request: Request) -> tuple[BreakEven, ...]:
    """For each test, the prices nearest to the stated one at which another model is cheaper by the margin.

    Parameters
    ----------
    basis
        The models, the cheapest first. Every model but the first is charged the margin, too.
    request
        What was asked.

    Returns
    -------
    tuple of BreakEven
        In the order of classes. Of many tests, those on which the most is spent are looked at; tests that nobody
        priced and orders have no prices of their own, and one model has nothing to be compared with.
    """
    contenders = basis.contenders
    is_priced = STATED in request.charge.scenarios
    if not is_priced or len(contenders) == 1 or contenders[0].measurement.predicted is None:
        return ()
    sample = request.sample
    shares = sample.weights / sample.weights.sum()
    rows = [_judged_forecast(contender, basis, request) for contender in contenders]
    results = []
    for test in _tests_looked_at(basis):
        curves = []
        for contender, forecast in zip(contenders, rows, strict=True):
            charged = 0.0 if contender is contenders[0] else basis.margin.amount
            curves.append(PriceCurve(forecast, contender.costs + charged, request.charge.prior, test, shares))
        results.append(_break_even_of_test(basis, sample, curves, test))
    return tuple(results)


def _judged_forecast(contender: Contender, basis: Basis, request: Request) -> Forecast:
    """The forecasts of the sample that a contender is judged by."""
    forecast = request.forecasts[contender.name]
    recalibrated = contender.measurement.recalibrated
    if not basis.is_recalibrated or recalibrated is None:
        return request.sample.of(forecast)
    return recalibrate_again(forecast, recalibrated.maps, request)


def _tests_looked_at(basis: Basis) -> list[int]:
    """The numbers of the tests on which the most is spent, rising."""
    background = basis.background
    on_truths = background.class_weights / background.class_weights.sum() * background.typical
    pairs = [contender.measurement.pairs for contender in basis.contenders]
    on_others = np.mean([spent.sum(axis=0) for spent in pairs if spent is not None], axis=0)
    spent = on_truths + on_others
    return sorted(np.argsort(-spent, kind="stable")[:MOST_TESTS].tolist())


def _break_even_of_test(basis: Basis, sample: Sample, curves: Sequence[PriceCurve], test: int) -> BreakEven:
    """The nearest crossings of one test's price, below and above; the curves are those of the models in order."""
    below = _nearest_crossing(basis, sample, curves, test, upwards=False)
    above = _nearest_crossing(basis, sample, curves, test, upwards=True)
    return BreakEven(basis.background.classes[test], float(basis.background.typical[test]), below, above)


def _nearest_crossing(
    basis: Basis, sample: Sample, curves: Sequence[PriceCurve], test: int, upwards: bool
) -> Crossing | None:
    """Where the first model ceases to be the cheapest as a price falls or rises; None where it stays so."""
    leader = curves[0]
    crossings = []
    for number, factor in enumerate(first_crossings(leader, curves[1:], upwards), start=1):
        if factor is not None:
            crossings.append((abs(np.log(factor)), number, factor))
    if not crossings:
        return None
    _, number, factor = min(crossings)
    price = float(basis.background.typical[test])
    edges = interval(leader, curves[number], factor, sample, basis.background.level)
    low, high = [None if edge is None else price * edge for edge in edges]
    return Crossing(price * factor, low, high, basis.contenders[number].name)

"""Break-even prices: how much one test must cost before another model is the cheapest.

If one test's price changes, a row of another true class spends more or less on that one test, and only rows of the
tested class are searched in another order. So to try a price takes about two numbers per row, not one per row and
class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from pandora_regret.compare.result import FURTHEST_PRICE, BreakEven, Crossing
from pandora_regret.compare.sample import Sample
from pandora_regret.inference.intervals import (
    ROUNDING,
    effective_number,
    influence_of_mean,
    standard_error,
    student_interval,
)
from pandora_regret.inputs import FloatArray, Forecast, IntArray
from pandora_regret.kernels.reference import costs_of, log_odds, tie_widths
from pandora_regret.priors import Prior

STEPS = np.geomspace(1.0, FURTHEST_PRICE, 10)  # tried first; a crossing is sought between two of them
MOST_TESTS = 20  # that are looked at; where there are more, those on which the most is spent
CLOSE_ENOUGH = 1e-9  # of a price, relatively


class Priced(NamedTuple):
    """One model, at the prices as stated."""

    name: str
    forecast: Forecast
    costs: FloatArray  # of the search of each row


class PriceCurve:
    """What each row's search costs a model, as a function of one test's price."""

    def __init__(self, model: Priced, prior: Prior, test: int) -> None:
        self.model, self.prior, self.test = model, prior, test
        self.forecast = model.forecast
        truth = self.forecast.truth
        self.others, self.own = np.flatnonzero(truth != test), np.flatnonzero(truth == test)

    def costs(self, factor: float) -> FloatArray:
        """Of every row, (N,), where the test costs so many times what was stated."""
        costs, shift = self.model.costs.copy(), float(np.log(factor))
        if len(self.others):
            costs[self.others] += self._spent_on_test(shift) - self._spent_as_stated
        if len(self.own):
            costs[self.own] = self._own_searches(shift)
        return costs

    @cached_property
    def _spent_as_stated(self) -> FloatArray:
        return self._spent_on_test(0.0)

    def _spent_on_test(self, shift: float) -> FloatArray:
        """What rows of another truth spend on the test, if its price is ``exp(shift)`` times the stated one."""
        odds, truth, price, width = self._pairs
        share = self.prior.share_with_ties(odds + shift, truth, self.test, width)
        return np.asarray(np.exp(shift) * price * share)

    @cached_property
    def _pairs(self) -> tuple[FloatArray, IntArray, FloatArray, FloatArray | float]:
        """``ln r`` of each row's truth against the test, the truth, the stated price, the width of a tie."""
        forecast, rows = self.forecast, self.others
        truth, none = forecast.truth[rows], np.zeros(len(rows), dtype=np.intp)
        values, costs = (
            np.stack([table[rows, truth], table[rows, self.test]], axis=1).astype(np.float64)
            for table in (forecast.values, costs_of(forecast))
        )
        read_as = forecast.read_as or forecast.values.dtype
        pair = replace(forecast, values=values, costs=costs, truth=none, weights=None, read_as=read_as)
        width = tie_widths(pair)
        width = width[:, 1] if isinstance(width, np.ndarray) else width
        return log_odds(pair)[:, 1], truth, costs[:, 1] * self.prior.mean_of(self.test), width

    def _own_searches(self, shift: float) -> FloatArray:
        """What rows whose truth is the test's class cost: the test itself, and all that comes before it."""
        odds, prices, width = self._orders
        share = self.prior.share_with_ties(odds - shift, self.test, np.arange(prices.shape[1]), width)
        wasted = prices * share
        wasted[:, self.test] = np.exp(shift) * prices[:, self.test]
        return np.asarray(wasted.sum(axis=1))

    @cached_property
    def _orders(self) -> tuple[FloatArray, FloatArray, FloatArray | float]:
        """``ln r`` of the tested class against every class, their stated prices, (n, K), the width of ties."""
        rows = self.forecast.rows(self.own)
        return log_odds(rows), costs_of(rows) * self.prior.mean, tie_widths(rows)


class PriceRace:
    """All models as one test's price changes; factors are prices in units of the stated one."""

    def __init__(self, models: Sequence[Priced], prior: Prior, sample: Sample, level: float, test: int) -> None:
        self.names = [model.name for model in models]
        self.curves = [PriceCurve(model, prior, test) for model in models]
        self.sample, self.level, self.effective = sample, level, effective_number(sample.shares)
        self.rounding = ROUNDING * self._mean(self.curves[0].costs(1.0))

    def crossing(self, factors: FloatArray) -> tuple[float, int] | None:
        """The first factor beyond which another model than the leader, 0, is cheapest, and that model."""
        for before, after in pairwise(factors.tolist()):
            means = [self._mean(curve.costs(after)) for curve in self.curves]
            cheaper = [m for m in range(1, len(means)) if means[m] < means[0] - self.rounding]
            if cheaper:
                roots = [(self._equal(m, before, after), m) for m in cheaper]
                return min(roots, key=lambda root: abs(np.log(root[0] / before)))
        return None

    def _equal(self, model: int, before: float, after: float) -> float:
        """The factor at which another model costs as much as the leader."""
        return self._root(lambda factor: self._gap(factor, model)[0], before, after)

    def interval(self, factor: float, model: int) -> tuple[float | None, float | None]:
        """The factors around a crossing at which the data do not settle which of the two is cheaper."""
        return self._edge(factor, model, 1 / FURTHEST_PRICE), self._edge(factor, model, FURTHEST_PRICE)

    def _edge(self, factor: float, model: int, furthest: float) -> float | None:
        """Where, on the way from a crossing to the furthest price, zero leaves the interval of the difference."""

        def excess(x: float) -> float:
            gap, margin = self._gap(x, model)
            return abs(gap) - margin

        tried = np.concatenate([1 / STEPS[:0:-1], STEPS])
        tried = tried[tried > factor] if furthest > 1 else tried[tried < factor][::-1]
        for before, after in pairwise([factor, *tried.tolist()]):
            if excess(after) > 0:
                return self._root(excess, before, after)
        return None

    def _gap(self, factor: float, model: int) -> tuple[float, float]:
        """By how much the leader costs more than another model, and how far that may be off."""
        gap, sample = self.curves[0].costs(factor) - self.curves[model].costs(factor), self.sample
        mean = self._mean(gap)
        influence = sample.within_clusters(influence_of_mean(gap, sample.weights, mean))
        error = standard_error(influence, sample.shares)
        low, high = student_interval(mean, error, self.effective, self.level)
        return mean, np.inf if low is None or high is None else (high - low) / 2

    def _mean(self, costs: FloatArray) -> float:
        return float((self.sample.weights * costs).sum() / self.sample.weights.sum())  # BLAS would keep cores busy

    @staticmethod
    def _root(function: Callable[[float], float], before: float, after: float) -> float:
        """Where a function of the factor changes its sign between two; the first, if it does so by rounding."""
        from scipy.optimize import brentq

        if function(before) * function(after) >= 0:
            return before
        ends = np.log(before), np.log(after)
        return float(np.exp(brentq(lambda x: function(float(np.exp(x))), *ends, xtol=CLOSE_ENOUGH)))


def break_even(
    models: Sequence[Priced],
    prior: Prior,
    sample: Sample,
    level: float,
    tests: Sequence[str],
    stated: FloatArray,
    spent: FloatArray,
) -> tuple[BreakEven, ...]:
    """For each test, the prices nearest to the stated one, (K,), at which the first model is no longer cheapest.

    `spent` is what goes to each test, (K,): of many tests, those on which the most is spent are looked at.
    """
    looked_at = np.sort(np.argsort(-spent, kind="stable")[:MOST_TESTS]) if len(models) > 1 else np.arange(0)
    results = []
    for test in looked_at.tolist():
        race, price = PriceRace(models, prior, sample, level, test), float(stated[test])
        below, above = (_crossing(race, price, factors) for factors in (1 / STEPS, STEPS))
        results.append(BreakEven(tests[test], price, below, above))
    return tuple(results)


def _crossing(race: PriceRace, price: float, factors: FloatArray) -> Crossing | None:
    if (crossed := race.crossing(factors)) is None:
        return None
    factor, model = crossed
    low, high = (None if edge is None else price * edge for edge in race.interval(factor, model))
    return Crossing(price * factor, low, high, race.names[model])

"""Three searches with imperfect tests: in which order each of them tests, and how often in vain.

"single_pass"
    Every class once, by falling ``s p / (c + f C)``; a miss pays the rest of the pass.
"restarts"
    Every class in a fixed order, by falling ``p / (c + f C)``, and again until the truth is found: sensitivity
    decides how many passes are made, not their order.
"adaptive"
    Always the largest ``p (1 - s)^n s / (c + f C)``, n the tests of the class so far (Blackwell, Matula). Equal
    indices are tested in the order of the first pass.

All that chance decides about a search is how often the test of the truth misses it. Given that number, the tests
made in vain can be counted class by class; a test that misses the truth counts among them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray, read_choice
from pandora_regret.inputs.tables import BLOCK_ELEMENTS
from pandora_regret.inputs.tests import SearchName, Tests, check_repeatable
from pandora_regret.kernels.reference import log_ratio, rank_odds
from pandora_regret.kernels.reference import search_order as order_of

SEARCHES = {
    "single_pass": "every class once",
    "restarts": "the same pass again until the truth is found",
    "adaptive": "repeats where they are worth most",
}
TIE = 1e-10  # two tests whose indices agree to this are equally good: rounding must not make both the first
LARGEST_TAIL = 1e-13  # what is left of the series, as a share of the expenditure, when summing stops


def indexed(search: SearchName, block: Forecast, tests: Tests) -> Forecast:
    """Forecasts with the costs that make ``p / c`` the index which the first pass follows."""
    if read_choice(search, "search", SEARCHES) == "adaptive":
        check_repeatable(tests)
    return block.with_costs(tests.fruitless_cost if search == "restarts" else tests.effective_cost)


@dataclass(frozen=True)
class Race:
    """How every class stands against the truth of its row when a search begins."""

    search: SearchName
    lead: FloatArray  # (n, K) logarithm of the class's index over the truth's
    before: NDArray[np.bool_]  # (n, K) whether the class is tested first; ties by class number
    truth: IntArray  # (n,)
    tests: Tests

    @classmethod
    def of(cls, search: SearchName, block: Forecast, tests: Tests) -> Race:
        """Every class against the truth of its row."""
        lead = -rank_odds(indexed(search, block, tests))
        before = (lead > 0) | ((lead == 0) & (np.arange(block.n_classes) < block.truth[:, None]))
        return cls(search, lead, before, block.truth, tests)

    @property
    def sensitivity(self) -> FloatArray:
        """Of the truth's test, (n,)."""
        return np.asarray(self.tests.sensitivity[self.truth])

    def mean_misses(self) -> FloatArray:
        """How often the truth is missed on average, (n,): once at most, or it takes ``1 / s`` tests to find it."""
        return 1 - self.sensitivity if self.search == "single_pass" else 1 / self.sensitivity - 1

    def draw_misses(self, n_draws: int, rng: Generator) -> FloatArray:
        """How often the truth is missed in each draw, (n_draws, n)."""
        s, shape = self.sensitivity, (n_draws, len(self.truth))
        misses = rng.random(shape) >= s if self.search == "single_pass" else rng.geometric(s, shape) - 1
        return misses.astype(np.float64)

    def found(self, misses: FloatArray) -> FloatArray:
        """Whether, or how likely, the search ends with the truth."""
        return 1 - misses if self.search == "single_pass" else np.ones_like(misses)

    def fruitless_tests(self, misses: FloatArray) -> FloatArray:
        """How often each class is tested in vain, (..., n, K), if the truth is missed so often, (..., n).

        Those before the truth, and after a miss the rest of the pass, or all of it again; or tests whose index
        exceeds the index of the truth's test after the given misses.
        """
        if self.search != "adaptive":
            again = ~self.before if self.search == "single_pass" else np.ones_like(self.before)
            return np.asarray(self.before + misses[..., None] * again)
        fading = self.tests.fading
        with np.errstate(invalid="ignore"):  # a perfect test, -ln(1 - s) = inf, that was never made: 0 * inf
            lead = self.lead + np.where(misses > 0, misses * fading[self.truth], 0.0)[..., None]
            sure = np.maximum(np.nan_to_num(np.floor(lead / fading), nan=0.0, posinf=np.inf), 0)
            total = sure
            for made in (sure, sure + 1):  # one more, where its index is still ahead
                left = np.where(made > 0, lead - made * fading, lead)
                total = total + ((left > TIE) | ((np.abs(left) <= TIE) & self.before))
        return np.asarray(total)

    def mean_fruitless_tests(self) -> FloatArray:
        """How often each class is tested in vain on average, (n, K).

        Of adaptive repeats ``sum_m s (1 - s)^m N(m)``, a series over the number m of misses, which is summed until
        a bound on its tail is negligible.
        """
        if self.search != "adaptive":
            return self.fruitless_tests(self.mean_misses())  # linear in the misses
        total, done = np.zeros_like(self.lead), 0
        width, widest = 1, max(1, BLOCK_ELEMENTS // self.lead.size)  # terms at a time, doubling from the first
        rows = np.arange(len(self.lead))
        while len(rows):
            part = replace(self, lead=self.lead[rows], before=self.before[rows], truth=self.truth[rows])
            misses = np.arange(done, done + width, dtype=np.float64)[:, None] + np.zeros(len(rows))
            chance = (part.sensitivity * (1 - part.sensitivity) ** misses)[..., None]
            total[rows] += (chance * np.where(chance > 0, part.fruitless_tests(misses), 0.0)).sum(axis=0)
            done, width = done + width, min(2 * width, widest)
            rows = rows[part._tail_matters(done, total[rows])]
        return total

    def _tail_matters(self, done: int, total: FloatArray) -> NDArray[np.bool_]:
        """Whether terms from `done` misses on may add more than `LARGEST_TAIL`, for each row.

        A class is tested at most ``x = (lead + m g_i) / g_j + 1`` times before the m-th repeat of the truth's
        test, with g = -ln(1 - s), which rises by ``g_i / g_j`` a miss. So the tail is at most
        ``(1 - s_i)^m sum_j (c_j + f_j C_j) (x_j + g_i / g_j (1 - s_i) / s_i)``.
        """
        s, fading, price = self.sensitivity[:, None], self.tests.fading, self.tests.fruitless_cost
        own, repeated = fading[self.truth][:, None], np.isfinite(fading)
        with np.errstate(invalid="ignore"):  # NaN where the truth's test is perfect: no term is left
            reach = np.where(repeated, (self.lead + done * own) / fading, 0.0)
            most = np.maximum(reach + 1, 0) + np.where(repeated, own / fading, 0.0) * (1 - s) / s
            tail = (1 - s[:, 0]) ** done * (most * price).sum(axis=1)
            return np.asarray(tail > LARGEST_TAIL * (self.tests.cost[self.truth] + (total * price).sum(axis=1)))


def order_of_tests(search: SearchName, block: Forecast, tests: Tests, steps: int) -> IntArray:
    """The first tests, (n, steps): a pass, and then the same again, or whatever is best by then."""
    k, block = tests.n_classes, indexed(search, block, tests)
    if steps > k and search == "single_pass":
        limit = f"a single pass ends after {k} tests; use"
        raise InputError(
            argument="steps",
            value=steps,
            fix=f"{limit} search='restarts' or search='adaptive' to go on",
            command_fix=f"{limit} --search restarts or --search adaptive to go on",
        )
    if steps > k and search == "adaptive" and np.all(tests.sensitivity == 1):
        fix = f"perfect tests find the truth within {k}"
        raise InputError(argument="steps", value=steps, fix=fix)
    first = order_of(block)
    if search != "adaptive":
        return np.take(first, np.arange(steps) % k, axis=1)
    values = np.take_along_axis(block.values, first, axis=1)
    costs = np.take_along_axis(np.broadcast_to(np.asarray(block.costs), values.shape), first, axis=1)
    possible = values > (-np.inf if block.logits else 0.0)
    ratio = log_ratio(values, values[:, :1], costs, costs[:, :1], logits=block.logits)
    index = np.where(possible, ratio, -np.log(costs))  # impossible classes relative to each other
    chosen, taken = np.empty((len(index), steps), dtype=np.intp), np.zeros_like(index)
    for step in range(steps):  # by falling index, each falling when taken
        with np.errstate(invalid="ignore"):
            now = np.where(taken > 0, index - taken * tests.fading[first], index)
        rest = ~np.any(possible & (now > -np.inf), axis=1, keepdims=True)  # impossible classes are left alone
        now = np.where(possible ^ rest, now, -np.inf)
        chosen[:, step] = np.argmax(now >= now.max(axis=1, keepdims=True) - TIE, axis=1)
        taken[np.arange(len(index)), chosen[:, step]] += 1
    return np.take_along_axis(first, chosen, axis=1)


def searched(p: FloatArray, order: IntArray, tests: Tests) -> FloatArray:
    """What each test of an order meets, (steps, 4): the chance of its class by then, its cost, and both in all.

    By Bayes' rule: a test that found nothing makes its class less likely, and others more.
    """
    missed, before = p.copy(), np.empty(len(order))
    for step, k in enumerate(order):
        before[step] = missed[k]
        missed[k] *= 1 - tests.sensitivity[k]
    caught, costs = before * tests.sensitivity[order], tests.fruitless_cost[order]
    left = np.append(caught, missed.sum())[::-1].cumsum()[::-1]  # that no step before did: added from the end,
    # where the terms are small, since what is left of 1 after many subtractions is rounding
    now = before / np.where(left[:-1] > 0, left[:-1], 1.0)
    return np.stack([now, costs, costs.cumsum(), np.clip(1 - left[1:], 0.0, None)], axis=1)

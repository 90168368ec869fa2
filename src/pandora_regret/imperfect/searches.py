"""Three searches with imperfect tests: in which order each of them tests, and how often in vain.

All that chance decides about a search is how often the test of the truth misses it. Given that number, the tests
made in vain can be counted class by class; a test that misses the truth counts among them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandora_regret.inputs import FloatArray, Forecast, InputError, IntArray
from pandora_regret.inputs.tables import BLOCK_ELEMENTS
from pandora_regret.inputs.tests import SearchName, Tests, check_repeatable
from pandora_regret.kernels.reference import log_ratio, rank_odds
from pandora_regret.kernels.reference import search_order as order_of

TIE = 1e-10  # two tests whose indices agree to this are equally good: rounding must not make both the first
LARGEST_TAIL = 1e-13  # what is left of the series, as a share of the expenditure, when summing stops


@dataclass(frozen=True)
class Race:
    """How every class stands against the truth of its row when the search begins."""

    lead: FloatArray  # (n, K) logarithm of the class's index over the truth's
    before: NDArray[np.bool_]  # (n, K) whether the class is tested first; ties by class number
    truth: IntArray  # (n,)
    tests: Tests

    @property
    def sensitivity(self) -> FloatArray:
        """Of the truth's test, (n,)."""
        return np.asarray(self.tests.sensitivity[self.truth])


class Search(ABC):
    """One way to go on when a test finds nothing."""

    def index_costs(self, tests: Tests) -> FloatArray:
        """What probabilities are divided by to give the index that the first pass follows: ``(c + f C) / s``."""
        return tests.effective_cost

    @abstractmethod
    def fruitless_tests(self, race: Race, misses: FloatArray) -> FloatArray:
        """How often each class is tested in vain, (..., n, K), if the truth is missed so often, (..., n)."""

    def mean_misses(self, sensitivity: FloatArray) -> FloatArray:
        """How often the truth is missed on average: it takes ``1 / s`` tests to find it."""
        return 1 / sensitivity - 1

    def draw_misses(self, sensitivity: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """How often the truth is missed in each draw, (n_draws, n)."""
        return np.asarray(rng.geometric(sensitivity, (n_draws, len(sensitivity))) - 1.0)

    def found(self, misses: FloatArray) -> FloatArray:
        """Whether, or how likely, the search ends with the truth."""
        return np.ones_like(misses)

    def mean_fruitless_tests(self, race: Race) -> FloatArray:
        """How often each class is tested in vain on average, (n, K)."""
        return self.fruitless_tests(race, self.mean_misses(race.sensitivity))  # linear in the misses

    def order(self, block: Forecast, tests: Tests, steps: int) -> IntArray:
        """The first tests, (n, steps): a pass, and then the same again."""
        passes = order_of(block.with_costs(self.index_costs(tests)))
        return np.take(passes, np.arange(steps) % tests.n_classes, axis=1)

    def race(self, block: Forecast, tests: Tests) -> Race:
        """Every class against the truth of its row."""
        lead = -rank_odds(block.with_costs(self.index_costs(tests)))
        before = (lead > 0) | ((lead == 0) & (np.arange(block.n_classes) < block.truth[:, None]))
        return Race(lead, before, block.truth, tests)


class SinglePass(Search):
    """Every class once, by falling ``s p / (c + f C)``; a miss pays the rest of the pass."""

    def fruitless_tests(self, race: Race, misses: FloatArray) -> FloatArray:
        """Classes before the truth, and after a miss all others and the truth itself."""
        return np.asarray(race.before + misses[..., None] * ~race.before)

    def mean_misses(self, sensitivity: FloatArray) -> FloatArray:
        """The chance of the one miss there can be."""
        return 1 - sensitivity

    def draw_misses(self, sensitivity: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """One or none."""
        return np.asarray(rng.random((n_draws, len(sensitivity))) >= sensitivity, dtype=np.float64)

    def found(self, misses: FloatArray) -> FloatArray:
        """Unless it was missed."""
        return 1 - misses

    def order(self, block: Forecast, tests: Tests, steps: int) -> IntArray:
        """The first tests of the pass."""
        if steps > tests.n_classes:
            limit = f"a single pass ends after {tests.n_classes} tests; use"
            raise InputError(
                argument="steps",
                value=steps,
                fix=f"{limit} search='restarts' or search='adaptive' to go on",
                command_fix=f"{limit} --search restarts or --search adaptive to go on",
            )
        return super().order(block, tests, steps)


class Restarts(Search):
    """Every class in a fixed order, by falling ``p / (c + f C)``, and again until the truth is found."""

    def index_costs(self, tests: Tests) -> FloatArray:
        """``c + f C``: sensitivity drops out, since it decides how many passes are made, not their order."""
        return tests.fruitless_cost

    def fruitless_tests(self, race: Race, misses: FloatArray) -> FloatArray:
        """A whole pass for each miss, and in the last pass the classes before the truth."""
        return np.asarray(race.before + misses[..., None])


class Adaptive(Search):
    """Always the largest ``p (1 - s)^n s / (c + f C)``, n the tests of the class so far (Blackwell, Matula).

    Equal indices are tested in the order of the first pass.
    """

    def index_costs(self, tests: Tests) -> FloatArray:
        """``(c + f C) / s``."""
        check_repeatable(tests)
        return tests.effective_cost

    def fruitless_tests(self, race: Race, misses: FloatArray) -> FloatArray:
        """Tests whose index exceeds the index of the truth's test after the given misses."""
        fading = race.tests.fading
        with np.errstate(invalid="ignore"):  # a perfect test, -ln(1 - s) = inf, that was never made: 0 * inf
            faded = np.where(misses > 0, misses * fading[race.truth], 0.0)
            lead = race.lead + faded[..., None]
            made = np.maximum(np.nan_to_num(np.floor(lead / fading), nan=0.0, posinf=np.inf), 0)
            sure = made.copy()
            for more in range(2):  # whether a class that was tested so often is tested once more before the truth
                earlier = sure + more
                left = np.where(earlier > 0, lead - earlier * fading, lead)
                made += (left > TIE) | ((np.abs(left) <= TIE) & race.before)
        return np.asarray(made)

    def mean_fruitless_tests(self, race: Race) -> FloatArray:
        """``sum_m s (1 - s)^m N(m)`` over the numbers m of misses, until a bound on the tail is negligible.

        A class is tested at most ``x = (lead + m g_i) / g_j + 1`` times before the truth's m-th repeat, with
        g = -ln(1 - s), which rises by ``g_i / g_j`` a miss. So the tail is at most
        ``(1 - s_i)^m sum_j (c_j + f_j C_j) (x_j + g_i / g_j (1 - s_i) / s_i)``.
        """
        total, done, rows = np.zeros_like(race.lead), 0, np.arange(len(race.lead))
        width, widest = 1, max(1, BLOCK_ELEMENTS // race.lead.size)  # terms at a time, doubling from the first
        fading, price = race.tests.fading, race.tests.fruitless_cost
        repeated = np.isfinite(fading)
        while len(rows):
            part = Race(race.lead[rows], race.before[rows], race.truth[rows], race.tests)
            s, own = part.sensitivity, fading[part.truth][:, None]
            misses = np.broadcast_to(np.arange(float(done), done + width)[:, None], (width, len(rows)))
            chance = (s * (1 - s) ** misses)[..., None]
            counts = self.fruitless_tests(part, misses)
            total[rows] += (chance * np.where(chance > 0, counts, 0.0)).sum(axis=0)
            done, width = done + width, min(2 * width, widest)
            with np.errstate(invalid="ignore"):  # NaN where the truth's test is perfect: no term is left
                reach = np.where(repeated, (part.lead + done * own) / fading, 0.0)
                rise = np.where(repeated, own / fading, 0.0) * ((1 - s) / s)[:, None]
                tail = (1 - s) ** done * ((np.maximum(reach + 1, 0) + rise) * price).sum(axis=1)
                spent = race.tests.cost[part.truth] + (total[rows] * price).sum(axis=1)
                rows = rows[tail > LARGEST_TAIL * spent]
        return total

    def order(self, block: Forecast, tests: Tests, steps: int) -> IntArray:
        """Always the largest index, which falls when it is taken; impossible classes once no other is left."""
        if steps > tests.n_classes and np.all(tests.sensitivity == 1):
            fix = f"perfect tests find the truth within {tests.n_classes}"
            raise InputError(argument="steps", value=steps, fix=fix)
        block = block.with_costs(self.index_costs(tests))
        first = order_of(block)
        values = np.take_along_axis(block.values, first, axis=1)
        costs = np.take_along_axis(np.broadcast_to(np.asarray(block.costs), values.shape), first, axis=1)
        possible = values > (-np.inf if block.logits else 0.0)
        ratio = log_ratio(values, values[:, :1], costs, costs[:, :1], logits=block.logits)  # to the best class's
        index, fading = np.where(possible, ratio, -np.log(costs)), tests.fading[first]
        chosen, taken = np.empty((len(index), steps), dtype=np.intp), np.zeros_like(index)
        for step in range(steps):
            with np.errstate(invalid="ignore"):
                now = np.where(taken > 0, index - taken * fading, index)
            rest = ~np.any(possible & (now > -np.inf), axis=1, keepdims=True)
            now = np.where(possible ^ rest, now, -np.inf)
            chosen[:, step] = np.argmax(now >= now.max(axis=1, keepdims=True) - TIE, axis=1)
            taken[np.arange(len(index)), chosen[:, step]] += 1
        return np.take_along_axis(first, chosen, axis=1)


SEARCHES: dict[SearchName, Search] = {"single_pass": SinglePass(), "restarts": Restarts(), "adaptive": Adaptive()}


def read_search(search: SearchName) -> Search:
    """The search of that name."""
    if search not in tuple(SEARCHES):
        fix = (
            "pass 'single_pass' (every class once), 'restarts' (the same pass again until the truth is found) "
            "or 'adaptive' (repeats where they are worth most)"
        )
        raise InputError(argument="search", value=search, fix=fix)
    return SEARCHES[search]

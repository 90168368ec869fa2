r"""The pair bound: what no plan can beat, as a sum over pairs of classes.

If class k is the truth, every payment (the fee of a step, the loss of a stop) is divided among the other classes:
shares $s_{kj} \ge 0$ that sum to 1 over j. The pair {j, k} is a work-up of two classes, in which truth k pays its
share with j and truth j its share with k. Every plan of the whole work-up is a plan of each pair, and what the
pairs pay adds up to what it pays: so the optima of all pairs add up to no more than the optimum
(docs/theory/workups.md).

A pair is solved exactly over the outcomes of its noisy tests, each made at most once. A share is the larger, the
more the test tells about this pair: what tells nothing in a pair is never paid there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.workup.states import UNUSED, State, StateSpace, bits_of

MOST_NUMBERS = 2_500_000  # of pairs times states: with more, nothing is said
WEIGHT_POWER = 0.6  # power of a class's weight in the shares that it takes over
ROUNDING = 1e-9


@dataclass(frozen=True)
class Payments:
    """What truth k pays into the pairs, each with another class j: shape (K, K), by k and j."""

    shares: FloatArray

    @classmethod
    def divided(cls, weights: FloatArray, importance: FloatArray) -> Payments:
        """Shares in proportion to a power of the other class's weight, and to how important a pair is, (K, K)."""
        parts = weights[None, :] ** WEIGHT_POWER * importance * (1 - np.eye(len(weights)))
        sums = parts.sum(axis=1, keepdims=True)
        alike = (1 - np.eye(len(weights))) / (len(weights) - 1)
        return cls(np.where(sums > 0, parts / np.where(sums > 0, sums, 1.0), alike))


def pair_bound(space: StateSpace, state: State, w: FloatArray, may_fail: bool) -> float:
    """What must be paid at least from a state on, times its weight.

    It is 0 where the pairs have too many states, or where nothing need be confirmed.

    Parameters
    ----------
    space
        The work-up's states.
    state
        Where a case is.
    w
        Weights of the classes there, shape (K,).
    may_fail
        Whether a case may end without a confirmed class.
    """
    workup = space.workup
    present = np.array([k for k in bits_of(state.possible) if w[k] > 0], np.intp)
    if not workup.confirm or len(present) < 2:
        return 0.0
    problem = _ClassPairs(space, state, w, present, may_fail)
    if problem.n_numbers > MOST_NUMBERS:
        return 0.0
    return float(problem.values().sum()) * (1 - ROUNDING)


@dataclass(frozen=True)
class NoisyTest:
    """A test that may show the same of several classes; O is the number of its outcomes."""

    chances: FloatArray  # (O, K)
    payments: Payments
    cost: float
    confirms: list[bool]  # (O,) whether an outcome confirms a class, and so ends the work-up


@dataclass(frozen=True)
class Separator:
    """A test whose outcome the truth alone decides: it tells the classes of some pairs apart."""

    shown: IntArray  # (K,) the outcome of each class
    payments: Payments
    cost: float
    is_confirmed: NDArray[np.bool_]  # (K,) whether it confirms a class that is the truth


class _ClassPairs:
    """All pairs of the classes that are present; K is their number, P = K (K - 1) / 2.

    A state of a pair says what each of the T noisy tests has shown: 0 where it was not made, else 1 plus the
    number of the outcome. These are the digits of the state's number, the first test's being the highest.
    """

    def __init__(self, space: StateSpace, state: State, w: FloatArray, present: IntArray, may_fail: bool) -> None:
        self.workup = space.workup
        self.present = present
        self.w = w[present]
        n_classes = len(present)
        self.first, self.second = np.triu_indices(n_classes, 1)  # (P,) the two classes of each pair
        self.unmade = [step for step, outcome in enumerate(state.outcomes) if outcome == UNUSED]
        self.costs = self.workup.costs + (0.0 if self.workup.together else self.workup.fee)  # (M,)
        self.even = Payments.divided(self.w, np.ones((n_classes, n_classes)))
        # what confirms truth k, in the pair with j: at first, nothing does
        self.alone: FloatArray = np.full((n_classes, n_classes), np.inf)
        self.noisy: list[NoisyTest] = []
        self.separators: list[Separator] = []
        for step in self.unmade:
            if len(self.workup.steps[step].outcomes) > 1:  # else it is a visit
                self._add_test(step)
        endings = self.workup.endings if may_fail else ()
        self.names_class = [end.names_class for end in endings]
        # what each way to stop loses for truth k in the pair with j, unless it names the truth
        self.stops = [np.array(end.losses)[present, None] * self.even.shares for end in endings]
        for losses, names_class in zip(self.stops, self.names_class, strict=True):
            self.alone = np.minimum(self.alone, 0.0 if names_class else losses)
        self.sizes = [len(test.chances) + 1 for test in self.noisy]  # (T,) what each may have shown, or not made
        self.n_numbers = len(self.first) * math.prod(self.sizes)  # an integer of Python: it has no largest value

    def _add_test(self, step: int) -> None:
        """Add a step of several outcomes to the separators or the noisy tests, and what it confirms to `alone`."""
        described = self.workup.steps[step]
        chances = np.array(described.chances)[:, self.present]  # (O, K)
        cost = float(self.costs[step])
        if described.is_certain:
            shown = chances.argmax(axis=0)
            payments = Payments.divided(self.w, (shown[:, None] != shown).astype(np.float64))
            is_confirmed = np.isin(self.present, list(described.settles))
            self.separators.append(Separator(shown, payments, cost, is_confirmed))
        else:
            payments = Payments.divided(self.w, divergence(chances))
            confirms = [k is not None for k in described.confirmed]
            self.noisy.append(NoisyTest(chances, payments, cost, confirms))
        fee = cost * payments.shares
        for earlier, _ in self.workup.before[step]:
            is_unmade_visit = earlier in self.unmade and len(self.workup.steps[earlier].outcomes) == 1
            if is_unmade_visit:
                fee = fee + self.costs[earlier] * self.even.shares
        for row, k in zip(chances, described.confirmed, strict=True):
            if k is None or not row.any():
                continue
            place = int(np.flatnonzero(self.present == k)[0])
            self.alone[place] = np.minimum(self.alone[place], fee[place])

    def values(self) -> FloatArray:
        """The optimum of each pair, (P,), times its weight.

        From states in which all tests are made back to the one in which none is: the work-up ends, or one more
        test is made.
        """
        weight_j = self._weights(self.first)
        weight_k = self._weights(self.second)
        value = np.where(self._has_ended(), 0.0, self._ending_costs(weight_j, weight_k))
        if not self.noisy:
            return value[:, 0]
        value = np.ascontiguousarray(value.T)  # (states, P): a state is a row from here on
        weight_j = np.ascontiguousarray(weight_j.T)
        weight_k = np.ascontiguousarray(weight_k.T)
        digits = np.array(np.unravel_index(np.arange(len(value)), self.sizes))  # (T, states), 0 where not made
        strides = np.cumprod([1, *self.sizes[:0:-1]])[::-1]  # (T,) from a state to that of the next outcome
        n_unmade = (digits == 0).sum(axis=0)
        for number in range(1, len(self.sizes) + 1):
            states = np.flatnonzero(n_unmade == number)
            for place, test in enumerate(self.noisy):
                before = states[digits[place, states] == 0]
                total = weight_j[before] * (test.cost * test.payments.shares[self.first, self.second])
                total += weight_k[before] * (test.cost * test.payments.shares[self.second, self.first])
                for outcome in range(1, len(test.chances) + 1):
                    total += value[before + outcome * strides[place]]
                value[before] = np.minimum(value[before], total)
        values: FloatArray = value[0]
        return values

    def _weights(self, classes: IntArray) -> FloatArray:
        """What a class of each pair, (P,), weighs in each state: its weight times the chance of what was shown."""
        weights = self.w[classes][:, None]
        for test in self.noisy:
            factors = np.hstack([np.ones((len(classes), 1)), test.chances[:, classes].T])
            weights = (weights[:, :, None] * factors[:, None, :]).reshape(len(classes), -1)
        return weights

    def _has_ended(self) -> NDArray[np.bool_]:
        """(1, states): whether some outcome has confirmed a class."""
        ended = np.zeros((1, 1), bool)
        for test in self.noisy:
            ended = (ended[:, :, None] | np.array([False, *test.confirms])).reshape(1, -1)
        return ended

    def _ending_costs(self, weight_j: FloatArray, weight_k: FloatArray) -> FloatArray:
        """What the cheapest end costs in each pair and state, (P, states): stopping, or telling them apart."""
        j = self.first
        k = self.second
        least = np.full(weight_j.shape, np.inf)
        for losses, names_class in zip(self.stops, self.names_class, strict=True):
            lost_j = weight_j * losses[j, k][:, None]
            lost_k = weight_k * losses[k, j][:, None]
            lost = np.minimum(lost_j, lost_k) if names_class else lost_j + lost_k
            least = np.minimum(least, lost)
        for test in self.separators:
            told_apart = np.flatnonzero(test.shown[j] != test.shown[k])
            paid_j = self._paid_by_separating(test, j, k)
            paid_k = self._paid_by_separating(test, k, j)
            told = weight_j[told_apart] * paid_j[told_apart, None]
            told += weight_k[told_apart] * paid_k[told_apart, None]
            least[told_apart] = np.minimum(least[told_apart], told)
        return least

    def _paid_by_separating(self, test: Separator, truth: IntArray, other: IntArray) -> FloatArray:
        """What truth k of each pair pays, (P,), if the test tells it from the other, and something confirms it."""
        fee = (test.cost * test.payments.shares)[truth, other]
        alone = self.alone[truth, other]
        return np.where(test.is_confirmed[truth], np.maximum(fee, alone), fee + alone)


def divergence(chances: FloatArray) -> FloatArray:
    """How much a test tells about each pair of classes, (K, K), from its chances, (O, K): Jeffreys' divergence."""
    logs = np.log(np.maximum(chances, 1e-9))
    differences = chances[:, :, None] - chances[:, None, :]
    return np.asarray((differences * (logs[:, :, None] - logs[:, None, :])).sum(axis=0))

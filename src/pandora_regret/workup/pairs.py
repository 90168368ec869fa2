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

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.workup.states import UNUSED, State, StateSpace, bits_of

MOST_NUMBERS = 2_500_000  # of pairs times states: with more, nothing is said
WEIGHT = 0.6  # power of a class's weight in the shares that it takes over
ROUNDING = 1e-9


@dataclass(frozen=True)
class Payments:
    """What truth k pays into the pairs, each with another class j: shape (K, K), by k and j."""

    shares: FloatArray

    @classmethod
    def divided(cls, weights: FloatArray, importance: FloatArray) -> Payments:
        """Shares in proportion to a power of the other class's weight, and to how important a pair is, (K, K)."""
        parts = weights[None, :] ** WEIGHT * importance * (1 - np.eye(len(weights)))
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


class _ClassPairs:
    """All pairs of the classes that are present; K is their number, P = K (K - 1) / 2."""

    def __init__(self, space: StateSpace, state: State, w: FloatArray, present: IntArray, may_fail: bool) -> None:
        workup = space.workup
        self.w = w[present]
        n_classes = len(present)
        self.first, self.second = np.triu_indices(n_classes, 1)  # (P,) the two classes of each pair
        unmade = [step for step, outcome in enumerate(state.outcomes) if outcome == UNUSED]
        costs = workup.costs + (0.0 if workup.together else workup.fee)
        self.even = Payments.divided(self.w, np.ones((n_classes, n_classes)))
        self.noisy = list[tuple[FloatArray, Payments, float, list[bool]]]()
        separators = list[tuple[IntArray, Payments, float]]()
        self.alone: FloatArray = np.full(
            (n_classes, n_classes), np.inf
        )  # what confirms truth k, in the pair with j
        for step in unmade:
            described = workup.steps[step]
            chances = np.array(described.chances)[:, present]  # (O, K)
            if len(chances) == 1:
                continue  # a visit
            if described.is_certain:
                shown = chances.argmax(axis=0)
                payments = Payments.divided(self.w, (shown[:, None] != shown).astype(np.float64))
                separators.append((shown, payments, float(costs[step])))
            else:
                payments = Payments.divided(self.w, divergence(chances))
                ends = [k is not None for k in described.confirmed]
                self.noisy.append((chances, payments, float(costs[step]), ends))
            fee = costs[step] * payments.shares
            for earlier, _ in workup.before[step]:
                if earlier in unmade and len(workup.steps[earlier].outcomes) == 1:
                    fee = fee + costs[earlier] * self.even.shares
            for row, k in zip(chances, described.confirmed, strict=True):
                if k is None or not row.any():
                    continue
                place = int(np.flatnonzero(present == k)[0])
                self.alone[place] = np.minimum(self.alone[place], fee[place])
        endings = workup.endings if may_fail else ()
        self.names_class = [end.names_class for end in endings]
        # what each way to stop loses for truth k in the pair with j, unless it names the truth
        self.stops = [np.array(end.losses)[present, None] * self.even.shares for end in endings]
        for losses, names_class in zip(self.stops, self.names_class, strict=True):
            self.alone = np.minimum(self.alone, 0.0 if names_class else losses)
        self.separators = separators
        self.confirmed = self._confirmed(space, unmade, present)
        states = [len(chances) + 1 for chances, _, _, _ in self.noisy]
        self.n_numbers = len(self.first) * math.prod(states)  # an integer of Python: it has no largest value

    def _confirmed(self, space: StateSpace, unmade: list[int], present: IntArray) -> list[list[bool]]:
        """For each separating step whether it confirms each class, if that is the truth."""
        confirmed = list[list[bool]]()
        for step in unmade:
            described = space.workup.steps[step]
            if len(described.outcomes) > 1 and described.is_certain:
                confirmed.append([k in described.settles for k in present.tolist()])
        return confirmed

    def values(self) -> FloatArray:
        """The optimum of each pair, (P,), times its weight."""
        j = self.first
        k = self.second
        n_pairs = len(j)
        weight_j = self.w[j][:, None]
        weight_k = self.w[k][:, None]
        ended = np.zeros((n_pairs, 1), bool)
        for chances, _, _, ends in self.noisy:
            ones = np.ones((n_pairs, 1))
            factors_j = np.hstack([ones, chances[:, j].T])
            factors_k = np.hstack([ones, chances[:, k].T])
            weight_j = (weight_j[:, :, None] * factors_j[:, None, :]).reshape(n_pairs, -1)
            weight_k = (weight_k[:, :, None] * factors_k[:, None, :]).reshape(n_pairs, -1)
            ended = (ended[:, :, None] | np.array([False, *ends])).reshape(n_pairs, -1)
        value = np.where(ended, 0.0, self._ended(weight_j, weight_k))
        sizes = [len(chances) + 1 for chances, _, _, _ in self.noisy]
        if not sizes:
            return value[:, 0]
        value = np.ascontiguousarray(value.T)  # (states, P): a state is a row from here on
        weight_j = np.ascontiguousarray(weight_j.T)
        weight_k = np.ascontiguousarray(weight_k.T)
        digits = np.array(np.unravel_index(np.arange(len(value)), sizes))  # (T, states), 0 where not made
        strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
        n_unmade = (digits == 0).sum(axis=0)
        for number in range(1, len(sizes) + 1):
            states = np.flatnonzero(n_unmade == number)
            for test, (chances, payments, cost, _) in enumerate(self.noisy):
                before = states[digits[test, states] == 0]
                total = weight_j[before] * (cost * payments.shares[j, k])
                total += weight_k[before] * (cost * payments.shares[k, j])
                for outcome in range(1, len(chances) + 1):
                    total += value[before + outcome * strides[test]]
                value[before] = np.minimum(value[before], total)
        values: FloatArray = value[0]
        return values

    def _ended(self, weight_j: FloatArray, weight_k: FloatArray) -> FloatArray:
        """What the cheapest end costs in each pair and state, (P, states): stopping, or telling them apart."""
        j = self.first
        k = self.second
        least = np.full(weight_j.shape, np.inf)
        for stop, losses in enumerate(self.stops):
            lost_j = weight_j * losses[j, k][:, None]
            lost_k = weight_k * losses[k, j][:, None]
            lost = np.minimum(lost_j, lost_k) if self.names_class[stop] else lost_j + lost_k
            least = np.minimum(least, lost)
        for (shown, payments, cost), confirms in zip(self.separators, self.confirmed, strict=True):
            is_confirmed = np.array(confirms)
            then = np.where(is_confirmed[:, None], 0.0, self.alone)
            paid_j = (cost * payments.shares + then)[j, k]
            paid_k = (cost * payments.shares + then)[k, j]
            paid_j = np.where(is_confirmed[j], np.maximum(paid_j, self.alone[j, k]), paid_j)
            paid_k = np.where(is_confirmed[k], np.maximum(paid_k, self.alone[k, j]), paid_k)
            told_apart = np.flatnonzero(shown[j] != shown[k])
            told = weight_j[told_apart] * paid_j[told_apart, None]
            told += weight_k[told_apart] * paid_k[told_apart, None]
            least[told_apart] = np.minimum(least[told_apart], told)
        return least


def divergence(chances: FloatArray) -> FloatArray:
    """How much a test tells about each pair of classes, (K, K), from its chances, (O, K): Jeffreys' divergence."""
    logs = np.log(np.maximum(chances, 1e-9))
    differences = chances[:, :, None] - chances[:, None, :]
    return np.asarray((differences * (logs[:, :, None] - logs[:, None, :])).sum(axis=0))

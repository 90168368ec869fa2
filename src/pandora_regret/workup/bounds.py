r"""What no plan of a work-up can beat: lower bounds for a state and for all that an action may lead to.

Here w are the classes' weights in a state, unnormalised, shape (K,), and |w| their sum; the entropy of w is that
of its shares, in nats, times |w|. Tables have one row per result: row 0 for the state as it is, then those of
every action (see `StateSpace`). What must be paid after a result is at least

$$\min(\text{stop now},\ \max(A, B, C)),$$

where A are splits, B is priced information, and C what someone who knew the truth would pay. All three are proved
in docs/theory/workups.md, and rounded outwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.workup.data import WorkupData
from pandora_regret.workup.states import UNUSED, State, StateSpace

PRICE_STEPS = np.array([0.7, 1.0, 1.4])  # of a nat, tried in each state, times the best one of the state before
FIRST_TRIED = np.geomspace(0.02, 50, 15)  # tried in the first state, times the least price of information
ROUNDING = 1e-12


@dataclass(frozen=True)
class Outlook:
    """What is believed in a state, and after every result that an action may have there."""

    state: State
    w: FloatArray  # (K,) weights of the classes in the state
    masses: FloatArray  # (rows,) of all classes together
    tops: FloatArray  # (rows,) of the likeliest class
    entropies: FloatArray  # (rows,) times the mass
    spared: FloatArray  # (rows,) what someone who knew the truth would pay
    ended: NDArray[np.bool_]  # (rows,) whether the work-up ends there
    stops: FloatArray  # (rows,) what the cheapest way to stop loses


class Bounds:
    """Lower bounds for the states of one work-up."""

    def __init__(self, space: StateSpace) -> None:
        workup = space.workup
        self.space = space
        self.rows = space.rows  # (rows, K) how likely each result is under each class
        self.columns = np.ascontiguousarray(self.rows.T)
        self.possible = (self.rows > 0).astype(np.float64)
        self.logs = n_log_n(self.rows)
        self.costs = space.action_costs  # (A,)
        self.confirms = np.array(space.confirms) & workup.confirm
        # what bounds know of steps is by themselves: several at once tell no more, and save at most a fee
        self.step_costs = workup.costs + (0.0 if workup.together else workup.fee)
        n_results = np.diff(space.first)
        self.bits = np.maximum(np.ceil(np.log2(n_results)), 1)  # (A,) of splits in two that an action stands for
        self.losses = space.losses
        self.names = space.names_class
        # without ways to stop, a case may be left unresolved, unless every class is sure to be confirmed
        is_sure = workup.confirm and workup.budget is None and confirms_every_class(workup)
        self.may_fail = bool(workup.stops) or not is_sure
        least_loss = np.where(self.names[:, None], 0.0, self.losses).min(axis=0)
        confirming = confirming_costs(workup)
        self.spared = np.minimum(confirming, least_loss) if self.may_fail else confirming  # (K,)
        self.smallest_loss = float(np.min(self.losses, where=self.losses > 0, initial=inf))

    def outlook(self, state: State, w: FloatArray) -> Outlook:
        """What is believed in a state with these weights, and after every result."""
        weights = self.columns * w[:, None]  # (K, rows)
        masses = weights.sum(axis=0)
        entropies = n_log_n(masses) - self.rows @ n_log_n(w) - self.logs @ w
        if self.space.workup.confirm:
            ended = self.confirms
        else:  # the only class left is enough
            still_possible = [state.possible >> k & 1 for k in range(len(w))]
            ended = self.possible @ still_possible == 1
        return Outlook(
            state=state,
            w=w,
            masses=masses,
            tops=weights.max(axis=0),
            entropies=np.maximum(entropies, 0.0),
            spared=self.rows @ (w * self.spared),
            ended=ended,
            stops=self.stops(weights).min(axis=0),
        )

    def stops(self, weights: FloatArray) -> FloatArray:
        """What ways to stop lose, (stops, R), at some weights of classes, (K, R)."""
        terms = self.losses[..., None] * weights
        spared = np.where(self.names[:, None], terms.max(axis=1), 0.0)
        return np.asarray(np.clip(terms.sum(axis=1) - spared, 0.0, None))

    def per_action(self, values: FloatArray) -> FloatArray:
        """Sums over the results of each action, (A, ...), of values by row, (rows, ...)."""
        return np.asarray(np.add.reduceat(values, self.space.first[:-1]))

    def least(self, outlook: Outlook, price: float) -> tuple[FloatArray, float]:
        """What must be paid after every result, (rows,); and the price of a nat that is best for bound B.

        The price to begin with is the one that suited the state before, or 0 where there was none.
        """
        steps = self._informative_steps(outlook.state)
        least = outlook.spared * (1 - ROUNDING)
        if len(steps):
            by_price, price = self._by_price(outlook, steps, price)
            by_splits = self._by_splits(outlook, steps)
            proven = np.maximum(by_price, by_splits) * (1 - ROUNDING)
            least = np.maximum(least, proven - ROUNDING * (1 + price) * outlook.masses[0])
        if self.may_fail:
            least = np.minimum(least, outlook.stops)
        nothing_to_pay = outlook.ended | (outlook.masses <= 0)
        return np.where(nothing_to_pay, 0.0, least), price

    def _informative_steps(self, state: State) -> IntArray:
        """The numbers of the steps that have not been made and still tell anything."""
        left = np.flatnonzero(np.array(state.outcomes) == UNUSED)
        tells = np.array(self.space.informative(state.possible))
        return np.asarray(left[tells[left]])

    def _by_price(self, outlook: Outlook, steps: IntArray, price: float) -> tuple[FloatArray, float]:
        r"""Bound B, priced information: what entropy is worth, less what tests tell beyond their costs.

        $\lambda H(w) - \sum_k w_k \sum_t (\lambda\, \mathrm{KL}(q_{tk} \| z_t) - c_t)_+ - \text{room}\, |w|$ at
        any price $\lambda$ of a nat, with the results' shares in this state as the reference z.
        """
        shares = np.where(outlook.masses > 0, outlook.masses / outlook.masses[0], 1.0)
        divergences = self.per_action(self.logs - np.log(shares)[:, None] * self.rows)  # (A, K), in nats
        told_by_step = divergences[steps]
        costs = self.step_costs[steps]
        if price:
            prices = price * PRICE_STEPS
        else:
            mean_told = told_by_step @ outlook.w / outlook.masses[0]
            prices = FIRST_TRIED * np.min(costs / np.maximum(mean_told, ROUNDING))
        prices = np.maximum(prices, ROUNDING)
        gains = np.array(  # (prices, K)
            [np.maximum(trial * told_by_step, costs[:, None]).sum(axis=0) - costs.sum() for trial in prices]
        )
        bounds = prices * outlook.entropies[:, None] - self.rows @ (outlook.w * gains).T
        bounds -= self._room(outlook.w, prices) * outlook.masses[:, None]
        return bounds.max(axis=1), float(prices[bounds[0].argmax()])

    def _room(self, w: FloatArray, prices: FloatArray) -> FloatArray:
        """The most that uncertainty left on stopping can save, at each price of a nat, (rows, prices)."""
        room = np.zeros((len(self.rows), len(prices)))
        if not self.may_fail:
            return room
        for losses, names_class in zip(self.losses, self.names, strict=True):
            kept = np.exp(-losses / prices[:, None])
            sums = self.possible @ ((w > 0) * kept).T
            if names_class:
                sums = sums + (1 - kept.min(axis=1))
            room = np.maximum(room, prices * np.log(np.maximum(sums, 1.0)))
        return room

    def _by_splits(self, outlook: Outlook, steps: IntArray) -> FloatArray:
        r"""Bound A, splits: Kraft's inequality, if any split of the classes cost the least that a test asks.

        The likeliest class, of share $p_1$, is named after a whole number j of splits, or not at all; at the price
        $c_0$ of a split, $c_0 |w| (\min_j \{p_1 j - (1 - p_1) \log_2(\text{room} - 2^{-j})\} + \sum_{k>1} p_k
        \log_2((1 - p_1) / p_k))$. One class alone is confirmed without any.
        """
        trivial = self.per_action(self.columns[outlook.w > 0].min(axis=0))
        splits = (np.maximum(1 - trivial, 0.0) + ROUNDING) * self.bits
        unit = float(np.min(self.step_costs[steps] / splits[steps]))
        if unit <= 0:
            return np.zeros(len(outlook.masses))
        room = np.exp2(self._room(outlook.w, np.array([unit / log(2)]))[:, 0] / unit)
        top = np.clip(outlook.tops / np.where(outlook.masses > 0, outlook.masses, 1.0), ROUNDING, 1.0)
        rest = np.where(top < 1, 1 - top, 1e-300)
        fewest = np.maximum(np.floor(-np.log2(top * room)), 1.0)
        ways = [top * n - rest * np.log2(room - 2**-n) for n in (fewest, fewest + 1)]
        if self.may_fail:
            ways.append(top * (1 + self.smallest_loss / unit) - rest * np.log2(room))
        top_or_rest = -top * np.log2(top) - rest * np.log2(rest)  # entropy of that, in bits
        bound = unit * (outlook.masses * (np.min(ways, axis=0) - top_or_rest) + outlook.entropies / log(2))
        several_classes = self.possible @ (outlook.w > 0) > 1
        return np.where(several_classes, bound, 0.0)


def confirms_every_class(workup: WorkupData) -> bool:
    """Whether for every class a step is certain to confirm it, and can be made whatever comes before."""
    sure = set[int]()
    for step, before in zip(workup.steps, workup.before, strict=True):
        always_ready = np.flatnonzero(workup.likelihood(before) == 1).tolist()
        sure |= step.settles & set(always_ready)
    return len(sure) == len(workup.classes)


def confirming_costs(workup: WorkupData) -> FloatArray:
    """The cost of the cheapest step that confirms each class, (K,); 0 where no class need be confirmed."""
    if not workup.confirm:
        return np.zeros(len(workup.classes))
    costs = np.full(len(workup.classes), inf)
    for step in workup.steps:
        for k in step.confirmed:
            if k is not None:
                costs[k] = min(costs[k], step.cost)
    return costs


def n_log_n(values: FloatArray) -> FloatArray:
    """The product of each value with its logarithm; 0 at 0."""
    return np.asarray(values * np.log(np.where(values > 0, values, 1.0)))

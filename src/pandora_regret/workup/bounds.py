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
FITTED_STEPS = np.array([0.85, 1.0, 1.18])  # as PRICE_STEPS, where references are fitted
FIRST_FITTED = np.geomspace(0.7, 8, 12)  # fitted in the first state, times the price best without fitting
FITS = 6  # improvements of a reference that was fitted in the state before
FIRST_FITS = 15  # of the first one
ROUNDING = 1e-12


@dataclass(frozen=True)
class Reference:
    """What outcomes are compared with by bound B, fitted to a state and a price of a nat."""

    price: float
    shares: FloatArray  # (R,) of the outcomes of every step: each step's sum to 1 over those that are possible


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
        n_steps = len(workup.steps)
        self.of_steps = slice(1, space.first[n_steps])  # the R rows of results of single steps
        self.first_of_step = np.array(space.first[:n_steps]) - 1  # (M,) among these
        self.step_of_row: IntArray = np.repeat(np.arange(n_steps), np.diff(space.first[: n_steps + 1]))
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

    def least(
        self, outlook: Outlook, price: float, reference: Reference | None = None
    ) -> tuple[FloatArray, float, Reference | None]:
        """What must be paid after every result, (rows,), and what suited bound B best.

        Parameters
        ----------
        outlook
            What is believed.
        price
            Of a nat: the one that suited the state before; 0 where there was none.
        reference
            The one that suited the state before. None in the first state, and where the other bounds say more.

        Returns
        -------
        tuple
            The bounds; the price that is best with the state's own shares as a reference; and the reference that
            is best, which has a price of its own, or None.
        """
        steps = self._informative_steps(outlook.state)
        least = outlook.spared * (1 - ROUNDING)
        if len(steps):
            is_first = price == 0
            by_price, price = self._by_price(outlook, steps, price)
            proven = np.maximum(by_price, self._by_splits(outlook, steps))
            highest_price = price
            if is_first or reference is not None:
                reference = self._fitted_reference(outlook, steps, price, reference)
                by_reference = self._priced(outlook, steps, reference.shares, np.array([reference.price]))[:, 0]
                highest_price = max(price, reference.price)
                if by_reference[0] < max(proven[0], least[0]):
                    reference = None
                proven = np.maximum(proven, by_reference)
            proven *= 1 - ROUNDING
            least = np.maximum(least, proven - ROUNDING * (1 + highest_price) * outlook.masses[0])
        if self.may_fail:
            least = np.minimum(least, outlook.stops)
        nothing_to_pay = outlook.ended | (outlook.masses <= 0)
        return np.where(nothing_to_pay, 0.0, least), price, reference

    def _informative_steps(self, state: State) -> IntArray:
        """The numbers of the steps that have not been made and still tell anything."""
        left = np.flatnonzero(np.array(state.outcomes) == UNUSED)
        tells = np.array(self.space.informative(state.possible))
        return np.asarray(left[tells[left]])

    def _by_price(self, outlook: Outlook, steps: IntArray, price: float) -> tuple[FloatArray, float]:
        """Bound B after every result, (rows,), with the results' shares in this state as the reference.

        It is the best of several prices, which comes second.
        """
        shares = self._own_shares(outlook)
        if price:
            prices = price * PRICE_STEPS
        else:
            mean_told = self._divergences(shares)[steps] @ outlook.w / outlook.masses[0]
            prices = FIRST_TRIED * np.min(self.step_costs[steps] / np.maximum(mean_told, ROUNDING))
        prices = np.maximum(prices, ROUNDING)
        bounds = self._priced(outlook, steps, shares, prices)
        return bounds.max(axis=1), float(prices[bounds[0].argmax()])

    def _priced(self, outlook: Outlook, steps: IntArray, shares: FloatArray, prices: FloatArray) -> FloatArray:
        r"""Bound B, priced information, at some prices, (rows, prices): entropy's worth, less what tests tell.

        $\lambda H(w) - \sum_k w_k \sum_t (\lambda\, \mathrm{KL}(q_{tk} \| z_t) - c_t)_+ - \text{room}\, |w|$ at
        any price $\lambda$ of a nat, and with any reference z, here `shares`, (R,).
        """
        told_by_step = self._divergences(shares)[steps]  # (steps, K), in nats
        costs = self.step_costs[steps]
        gains = np.array(  # (prices, K)
            [np.maximum(trial * told_by_step, costs[:, None]).sum(axis=0) - costs.sum() for trial in prices]
        )
        bounds = prices * outlook.entropies[:, None] - self.rows @ (outlook.w * gains).T
        return np.asarray(bounds - self._room(outlook.w, prices) * outlook.masses[:, None])

    def _own_shares(self, outlook: Outlook) -> FloatArray:
        """How likely each outcome of every step is in a state, (R,); 1 for those that are impossible."""
        masses = outlook.masses[self.of_steps]
        return np.where(masses > 0, masses / outlook.masses[0], 1.0)

    def _divergences(self, shares: FloatArray) -> FloatArray:
        """What each step's outcomes tell of each class, (M, K): KL divergences from some shares, in nats."""
        terms = self.logs[self.of_steps] - np.log(shares)[:, None] * self.rows[self.of_steps]
        return np.asarray(np.add.reduceat(terms, self.first_of_step))

    def _fitted_reference(
        self, outlook: Outlook, steps: IntArray, price: float, before: Reference | None
    ) -> Reference:
        """The reference, with its price, at which bound B says most about a state.

        Where there was none in the state before, the shares of this state are fitted at several prices, in
        multiples of the one that suits them as they are. Otherwise the one before is fitted further, at its price.
        """
        if before is None:
            shares = self._own_shares(outlook)
            trials = [
                Reference(trial, self._fit(outlook.w, trial, shares, FIRST_FITS)) for trial in price * FIRST_FITTED
            ]
            proven = [
                self._priced(outlook, steps, trial.shares, np.array([trial.price]))[0, 0] for trial in trials
            ]
            return trials[int(np.argmax(proven))]
        shares = self._fit(outlook.w, before.price, before.shares, FITS)
        prices = before.price * FITTED_STEPS
        bounds = self._priced(outlook, steps, shares, prices)
        return Reference(float(prices[bounds[0].argmax()]), shares)

    def _fit(self, w: FloatArray, price: float, shares: FloatArray, n_times: int) -> FloatArray:
        r"""Shares of outcomes, (R,), at which tests are worth less beyond their costs, on average over classes.

        What is minimised, for each test by itself, is $\sum_k w_k (\lambda\, \mathrm{KL}(q_k \| z) - c)_+$,
        which is convex in z. Were the positive parts always of the same classes, it would be least where z is
        their mean: z goes towards the mean of those that have one now, in steps of 1/2, 1/3, 1/4, ... of the way,
        and the best z on the way is kept, test by test.
        """
        rows = self.rows[self.of_steps]
        best = shares
        least = np.full(len(self.step_costs), inf)
        for number in range(n_times):
            excess = price * self._divergences(shares) - self.step_costs[:, None]  # (M, K)
            worth = np.maximum(excess, 0.0) @ w
            is_better = worth < least
            least = np.where(is_better, worth, least)
            best = np.where(is_better[self.step_of_row], shares, best)
            weights = np.where(excess > 0, w, 0.0)
            masses = weights.sum(axis=1)
            if not masses.any():
                break
            sums = (rows * weights[self.step_of_row]).sum(axis=1)
            masses = masses[self.step_of_row]
            means = np.where(masses > 0, sums / np.where(masses > 0, masses, 1.0), shares)
            shares = shares + (means - shares) / (number + 2)
        return best

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

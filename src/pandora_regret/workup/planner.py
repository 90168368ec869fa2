"""One case, however many tests: a plan of known cost, and a proof of what no plan can beat.

States are opened one by one (AO*; a state is what was found, in whatever order). Each has a lower bound, and the
cost of a concrete plan; both get better as states behind it are opened. Where they meet, the plan is optimal.

In docstrings w are the classes' weights in a state, unnormalised, and |w| their sum; the entropy of w is that of
its shares, in nats, times |w|. Tables have a row for w as it is, and then one per outcome of every action. Bounds
are proved in docs/theory/workups.md, and rounded outwards.
"""

from __future__ import annotations

from math import inf, log
from time import perf_counter
from typing import Any

import numpy as np

from pandora_regret.core.inputs import FloatArray
from pandora_regret.core.kernels.horn import BETTER
from pandora_regret.workup.solver import Solver
from pandora_regret.workup.states import UNUSED, State, StateSpace

RULES = (1.0, 6.0, 12.0, 24.0)  # prices of a nat by which the first plans are made, times the one that bounds best
LIKELY = 0.02  # states less likely than this are not planned for at first
FINER = 0.5  # times as likely are those that are planned for next
PROOF = 0.25  # of the states that are opened: the share that is opened by the proof before there are finer plans
CLOSED = 1e-12  # so near, bounds have met
ROOM = 6e7  # numbers that may be kept, about seven per row and state
PRICES = np.array([0.7, 1.0, 1.4])  # tried in each state, times the best one of the state before
FIRST_PRICES = np.geomspace(0.02, 50, 15)  # likewise, in the first state
ROUNDING = 1e-12
PROVED = 1e-9  # bounds that are nearer to the cost have met


class Planner(Solver):
    """By a search for the best plan that may be cut short."""

    name = "planner"

    def prepare(self) -> None:
        """Search for so long, or until so many states have been opened, or the plan is proved optimal."""
        self.bounds, self.nodes = Bounds(self.space), dict[State, Node]()
        self.n_opened, self.round, self.started = 0, 0, perf_counter()
        self.most = min(self.limit or inf, ROOM / (7 * len(self.bounds.rows)))
        self.root = self._reach(self.start, self.p * self.likelihood)
        self._prove(self.root)
        self.run()

    def run(self) -> None:
        """First plans by a rule at several prices; then better ones and the proof in turn, while there is time.

        What is done next depends on what has been done, never on how much time there is: a longer search begins
        as a shorter one does and goes on from there, so that its plan costs no more and its bound is no lower.
        """
        prices = [self.root.price * rule for rule in RULES]
        costs = [self._plan(price, LIKELY) for price in prices]
        price = prices[int(np.argmin(costs))]
        likely = LIKELY
        opened_by_proof = 0
        while self._spent() < 1 and not self._closed(self.root):
            opened_before = self.n_opened
            plans_are_due = self.n_opened * PROOF < opened_by_proof
            if plans_are_due and likely > CLOSED:
                likely *= FINER
                self._plan(price, likely)
            else:
                self._improve(price)
                opened_by_proof += max(self.n_opened - opened_before, 1)

    def option(self, state: State, likelihood: FloatArray) -> int:
        """Of the best plan that was found."""
        return self.nodes[state].option

    def value(self, state: State, likelihood: FloatArray) -> float:
        """Of the best plan that was found."""
        return self._reach(state, self.p * likelihood).high

    def least(self, cost: float) -> float:
        """As far as it was proved, rounded down."""
        low = self.root.low / self.root.mass * (1 - PROVED)
        return low if low < cost * (1 - 2 * PROVED) else cost

    def _spent(self) -> float:
        """Which share of the time or of the states has been used."""
        return max((perf_counter() - self.started) / self.seconds, self.n_opened / self.most)

    def _closed(self, node: Node) -> bool:
        return node.high - node.low <= CLOSED * min(self.root.high, 1e200)

    def _reach(self, state: State, weights: FloatArray, price: float = 0.0) -> Node:
        """The node of a state, made where it is new."""
        if state not in self.nodes:
            self.nodes[state] = Node(state, weights, price, self.bounds)
        return self.nodes[state]

    def _open(self, node: Node) -> None:
        if not node.is_open:
            self.n_opened += 1
            node.open(self.bounds)
            if not node.actions:
                node.low = node.high = node.stop = node.lost

    def _prove(self, node: Node) -> None:
        """Bound what must be paid from a state on, by every action."""
        self._open(node)
        node.leaves, node.price = self.bounds.least(node)
        costs = self.bounds.costs * node.mass + self.bounds.per_action(node.leaves)
        node.least[node.actions] = np.maximum(node.least, costs)[node.actions]
        node.low = max(node.low, min(float(node.leaves[0]), node.high))
        self._tighten(node)

    def _tighten(self, node: Node) -> None:
        node.low = max(node.low, min(float(node.least.min()), node.stop))

    def _behind(self, node: Node, action: int) -> list[tuple[int, Node]]:
        """The states that an action leads to, but for those that are impossible or end the work-up."""
        if action not in node.children:
            node.children[action] = []
            for row, state in self.space.branches(node.state, action):
                weights = node.w * self.bounds.rows[row]
                if state is not None and weights.any():
                    node.children[action].append((row, self._reach(state, weights, node.price)))
        return node.children[action]

    def _take(self, node: Node, action: int) -> None:
        """Learn from the states behind an action."""
        low = high = self.bounds.costs[action] * node.mass
        for row, child in self._behind(node, action):
            child.low = child.low if node.leaves is None else max(child.low, float(node.leaves[row]))
            low, high = low + child.low, high + child.high
        if high < node.high * BETTER:
            node.high, node.option = high, action
        node.least[action] = max(node.least[action], low)
        self._tighten(node)

    def _plan(self, price: float, likely: float) -> float:
        """Make a plan by the rule, as far as states are likely; what that one costs."""
        self.round += 1
        return self._follow(self.root, price, likely * self.root.mass)

    def _follow(self, node: Node, price: float, likely: float) -> float:
        if node.planned == self.round or self._closed(node):
            return node.high
        node.planned, rare = self.round, node.mass < likely
        if node.high < inf and (rare or self._spent() >= 1):
            return node.high
        self._open(node)
        if not node.actions:
            return node.high
        action = self._rule(node, price, rare)
        cost = float(self.bounds.costs[action]) * node.mass
        for _, child in self._behind(node, action):
            cost += self._follow(child, price, likely)
        self._take(node, action)
        return min(cost, node.stop)

    def _rule(self, node: Node, price: float, rare: bool) -> int:
        """The action that costs least if the entropy that it leaves has a price; what it requires comes first.

        In a rare state that cannot be left, the one that confirms most per cost: there is no end to asking.
        """
        space, bounds, state = self.space, self.bounds, node.state
        costs, usable = bounds.costs.copy(), np.isfinite(node.least)
        told = space.informative(state.possible)
        for step in range(len(space.before)):
            if not usable[step] and told[step] and space.can_be_made(state, step):
                usable[step] = True
                costs[step] += bounds.costs[space.missing(state, step)].sum()
        left = price * node.entropies + node.spared
        left = np.where(node.ended, 0.0, np.minimum(left, node.stops) if space.workup.stops else left)
        totals = costs * node.mass + bounds.per_action(left)
        confirmed = bounds.per_action(np.where(node.ended, node.masses, 0.0))
        if rare and (usable & (confirmed > 0)).any():
            totals = costs / np.maximum(confirmed, 1e-200)
        best = int(np.where(usable, totals, inf).argmin())
        ready = [best] if np.isfinite(node.least[best]) else space.missing(state, best)
        return next(step for step in ready if np.isfinite(node.least[step]))

    def _improve(self, price: float) -> None:
        """Look where the lower bound is decided: by the action that may cost least, to the state of widest gap."""
        path, node = list[tuple[Node, int]](), self.root
        while node.leaves is not None and not self._closed(node):
            action = int(node.least.argmin())
            self._take(node, action)
            if int(node.least.argmin()) != action:
                continue  # another one may cost less by now
            states = [child for _, child in self._behind(node, action) if not self._closed(child)]
            if not states:
                node.low = node.high  # but for rounding
                break
            path.append((node, action))
            node = max(states, key=lambda child: child.high - child.low)
        if node.leaves is None:
            self._prove(node)
            self.round += 1
            self._follow(node, price, inf)  # where it cannot be left, to some end
        for before, action in reversed(path):
            self._take(before, action)


class Node:
    """A state that has been reached: the bounds of its cost, times the chance of coming there."""

    def __init__(self, state: State, w: FloatArray, price: float, bounds: Bounds) -> None:
        self.state, self.w, self.mass, self.price = state, w, float(w.sum()), price
        lost = bounds.stops(w[:, None])[:, 0]
        self.lost = float(lost.min())  # if nothing is left to do; where there are ways to stop, at any time
        self.low, self.high = 0.0, self.lost if bounds.space.workup.stops else inf
        self.stop = self.high
        self.option = -1 - int(lost.argmin())  # of the best plan so far: an action, or a way to stop from -1 down
        self.is_open = False
        self.leaves: FloatArray | None = None  # (rows,) what must be paid after each outcome, once that is proved
        self.children: dict[int, list[tuple[int, Node]]] = {}  # of each action: rows, and the states there
        self.planned = 0  # in which round

    def open(self, bounds: Bounds) -> None:
        """See what can be done, and what is known after every outcome of every action, (rows,)."""
        self.is_open, weights, w = True, bounds.columns * self.w[:, None], self.w
        self.masses, self.tops = weights.sum(axis=0), weights.max(axis=0)  # of all classes, of the likeliest one
        self.entropies = np.maximum(_n_log_n(self.masses) - bounds.rows @ _n_log_n(w) - bounds.logs @ w, 0.0)
        self.spared = bounds.rows @ (w * bounds.spared)  # what someone who knew the truth would pay
        self.ended, self.stops = bounds.confirms, bounds.stops(weights).min(axis=0)
        if not bounds.space.workup.confirm:  # the only class left is enough
            self.ended = bounds.possible @ [self.state.possible >> k & 1 for k in range(len(w))] == 1
        self.actions = bounds.space.open_actions(self.state)
        self.least = np.full(len(bounds.costs), inf)  # (A,) by each action
        self.least[self.actions] = bounds.costs[self.actions] * self.mass


class Bounds:
    """Lower bounds for the states of one work-up."""

    def __init__(self, space: StateSpace) -> None:
        self.space, self.rows, self.costs, workup = space, space.rows, space.action_costs, space.workup
        self.confirms = np.array(space.confirms) & workup.confirm
        self.columns, self.possible = np.ascontiguousarray(self.rows.T), (self.rows > 0).astype(np.float64)
        self.logs = _n_log_n(self.rows)
        # what bounds know of steps is by themselves: several at once tell no more, and save at most a fee
        self.step_costs = workup.costs + (0.0 if workup.together else workup.fee)
        self.bits = np.maximum(np.ceil(np.log2(np.diff(space.first))), 1)
        # without ways to stop, a case may be left unresolved, unless every class is sure to be confirmed
        self.losses, self.names = space.losses, space.names_class
        sure, alone = set[int](), np.full(self.rows.shape[1], inf if workup.confirm else 0.0)
        for step, before in zip(workup.steps, workup.before, strict=True):
            sure |= step.settles & {*np.flatnonzero(workup.likelihood(before) == 1).tolist()}
            for k in {*step.confirmed} - {None}:
                alone[k] = min(alone[k], step.cost)
        settled = workup.confirm and workup.budget is None and len(sure) == len(alone)
        self.may_fail = bool(workup.stops) or not settled
        lost = np.where(self.names[:, None], 0.0, self.losses).min(axis=0)
        self.spared = np.minimum(alone, lost) if self.may_fail else alone
        self.smallest_loss = float(np.min(self.losses, where=self.losses > 0, initial=inf))

    def stops(self, weights: FloatArray) -> Any:
        """What ways to stop lose, (stops, R), at some weights of classes, (K, R)."""
        terms = self.losses[..., None] * weights
        spared = np.where(self.names[:, None], terms.max(axis=1), 0.0)
        return np.clip(terms.sum(axis=1) - spared, 0.0, None)

    def per_action(self, values: FloatArray) -> Any:
        """Sums over the outcomes of each action, (A, ...)."""
        return np.add.reduceat(values, self.space.first[:-1])

    def least(self, node: Node) -> tuple[FloatArray, float]:
        """What must be paid after every outcome, (rows,): min(stop, max(A, B, C)); and the price best for B.

        A are splits, B is priced information, and C what someone who knew the truth would pay. The price to begin
        with, the node's, is the one that suited the state before, or 0.
        """
        left = np.flatnonzero(np.array(node.state.outcomes) == UNUSED)
        left = left[np.array(self.space.informative(node.state.possible))[left]]
        least, price = node.spared * (1 - ROUNDING), node.price
        if len(left):
            by_price, price = self._by_price(node, left)
            proven = np.maximum(by_price, self._by_splits(node, left)) * (1 - ROUNDING)
            least = np.maximum(least, proven - ROUNDING * (1 + price) * node.masses[0])
        least = np.minimum(least, node.stops) if self.may_fail else least
        return np.where(node.ended | (node.masses <= 0), 0.0, least), price

    def _by_price(self, node: Node, left: Any) -> tuple[FloatArray, float]:
        """Bound B, priced information: what entropy is worth, less what tests tell beyond their costs.

        ``lambda H(w) - sum_k w_k sum_t (lambda KL(q_tk || z_t) - c_t)_+ - room |w|`` at any price lambda of a nat.
        """
        shares = np.where(node.masses > 0, node.masses / node.masses[0], 1.0)
        told = self.per_action(self.logs - np.log(shares)[:, None] * self.rows)[left]  # by each class, in nats
        costs, mean = self.step_costs[left], told @ node.w / node.masses[0]
        prices = node.price * PRICES if node.price else FIRST_PRICES * np.min(costs / np.maximum(mean, ROUNDING))
        prices = np.maximum(prices, ROUNDING)
        gains = np.array([np.maximum(one * told, costs[:, None]).sum(axis=0) - costs.sum() for one in prices])
        bounds = prices * node.entropies[:, None] - self.rows @ (node.w * gains).T
        bounds -= self._room(node, prices) * node.masses[:, None]
        return bounds.max(axis=1), float(prices[bounds[0].argmax()])

    def _room(self, node: Node, prices: FloatArray) -> FloatArray:
        """The most that uncertainty left on stopping can save, at each price of a nat, (rows, prices)."""
        best = np.zeros((len(self.rows), len(prices)))
        for losses, names in zip(self.losses, self.names, strict=True) if self.may_fail else ():
            kept = np.exp(-losses / prices[:, None])
            sums = self.possible @ ((node.w > 0) * kept).T + ((1 - kept.min(axis=1)) if names else 0.0)
            best = np.maximum(best, prices * np.log(np.maximum(sums, 1.0)))
        return best

    def _by_splits(self, node: Node, left: Any) -> FloatArray:
        """Bound A, splits: Kraft's inequality, if any split of the classes cost the least that a test asks.

        The likeliest class, p1, is named after a whole number j of splits, or not at all; at the price c0 of one,
        ``c0 (min_j {p1 j - (1 - p1) log2(room - 2^-j)} + sum_{k>1} p_k log2((1 - p1) / p_k)) |w|``.
        One class alone is confirmed without any.
        """
        trivial = self.per_action(self.columns[node.w > 0].min(axis=0))
        splits = ((np.maximum(1 - trivial, 0.0) + ROUNDING) * self.bits)[left]
        unit = float(np.min(self.step_costs[left] / splits))
        if unit <= 0:
            return np.zeros(len(node.masses))
        room = np.exp2(self._room(node, np.array([unit / log(2)]))[:, 0] / unit)
        top = np.clip(node.tops / np.where(node.masses > 0, node.masses, 1.0), ROUNDING, 1.0)
        rest = np.where(top < 1, 1 - top, 1e-300)
        first = np.maximum(np.floor(-np.log2(top * room)), 1.0)
        ways = [top * n - rest * np.log2(room - 2**-n) for n in (first, first + 1)]
        if self.may_fail:
            ways.append(top * (1 + self.smallest_loss / unit) - rest * np.log2(room))
        two = -top * np.log2(top) - rest * np.log2(rest)
        bound = unit * (node.masses * (np.min(ways, axis=0) - two) + node.entropies / log(2))
        return np.where(self.possible @ (node.w > 0) > 1, bound, 0.0)


def _n_log_n(values: FloatArray) -> FloatArray:
    return values * np.log(np.where(values > 0, values, 1.0))

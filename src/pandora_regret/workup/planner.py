"""One case, however many tests: a plan of known cost, and a proof of what no plan can beat.

States are opened one by one (AO*; a state is what was found, in whatever order). Each has a lower bound, and the
cost of a concrete plan; both get better as states behind it are opened. Where they meet, the plan is optimal.
"""

from __future__ import annotations

from math import inf
from time import perf_counter

import numpy as np

from pandora_regret.inputs import FloatArray
from pandora_regret.workup.bounds import Bounds, Node
from pandora_regret.workup.graph import BETTER
from pandora_regret.workup.states import State, StateSpace

RULES = (1.0, 6.0, 12.0, 24.0)  # prices of a nat by which the first plans are made, times the one that bounds best
LIKELY, FINER = 0.02, 0.25  # states less likely are not planned for at first, and how fast that changes
SHARE, LATEST = 0.6, 0.8  # of the time: until when first plans are begun, and ended; the rest is for the search
CLOSED = 1e-12  # so near, bounds have met
ROOM = 6e7  # numbers that may be kept, about seven per row and state


class Planner:
    """The search for the best plan of one case, from a state with these weights of classes."""

    def __init__(self, space: StateSpace, state: State, w: FloatArray, seconds: float, limit: float = inf) -> None:
        self.space, self.bounds, self.nodes = space, Bounds(space), dict[State, Node]()
        self.dependent = [step for step, before in enumerate(space.before) if before]
        self.n_opened, self.round = 0, 0
        self.started, self.seconds = perf_counter(), seconds
        self.limit = min(limit, ROOM / (7 * len(self.bounds.rows)))
        self.root = self.reach(state, w)
        self._prove(self.root)

    def run(self) -> None:
        """Search for so long, or until so many states have been opened, or the plan is proved optimal."""
        prices = [self.root.price * rule for rule in RULES]
        costs = [self._plan(price, LIKELY) for price in prices]
        price, likely = prices[int(np.argmin(costs))], LIKELY
        while self._spent() < SHARE and not self._closed(self.root) and likely > CLOSED:
            likely *= FINER
            self._plan(price, likely)
        while self._spent() < 1 and not self._closed(self.root):
            self._improve(price)

    def _spent(self) -> float:
        """Which share of the time or of the states has been used."""
        return max((perf_counter() - self.started) / self.seconds, self.n_opened / self.limit)

    def _closed(self, node: Node) -> bool:
        return node.high - node.low <= CLOSED * min(self.root.high, 1e200)

    def reach(self, state: State, weights: FloatArray, price: float = 0.0) -> Node:
        """The node of a state, made where it is new."""
        if state not in self.nodes:
            self.nodes[state] = Node(state, weights, price)
            if self.space.workup.stops:
                self._stop(self.nodes[state])
        return self.nodes[state]

    def _stop(self, node: Node) -> None:
        lost = self.bounds.stops(node.w[:, None])[:, 0]
        node.high, node.option = float(lost.min()), -1 - int(lost.argmin())
        node.stop = node.high

    def _open(self, node: Node) -> None:
        if not node.is_open:
            self.n_opened += 1
            node.open(self.bounds)
            if not node.actions:  # nothing is left but to stop
                self._stop(node)
                node.low = node.stop

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
                    node.children[action].append((row, self.reach(state, weights, node.price)))
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
        if node.high < inf and (rare or self._spent() >= LATEST):
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
        for step in self.dependent:
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

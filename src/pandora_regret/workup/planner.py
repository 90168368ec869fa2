"""One case, however many tests: a plan of known cost, and a proof of what no plan can beat.

States are opened one by one (AO*; a state is what was found, in whatever order). Each has a lower bound, and the
cost of a concrete plan; both get better as states behind it are opened. Where they meet, the plan is optimal.
"""

from __future__ import annotations

from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray
from pandora_regret.core.kernels.horn import BETTER
from pandora_regret.workup.bounds import Bounds, Outlook
from pandora_regret.workup.solver import Solver
from pandora_regret.workup.states import State

RULES = (1.0, 6.0, 12.0, 24.0)  # prices of a nat by which the first plans are made, times the one that bounds best
LIKELY = 0.02  # states less likely than this are not planned for at first
FINER = 0.5  # times as likely are those that are planned for next
PROOF = 0.25  # of the states that are opened: the share that is opened by the proof before there are finer plans
CLOSED = 1e-12  # so near, bounds have met
ROOM = 6e7  # numbers that may be kept, about seven per row and state
PROVED = 1e-9  # bounds that are nearer to the cost have met


class Node:
    """A state that has been reached: the bounds of its cost, times the chance of coming there."""

    def __init__(self, state: State, w: FloatArray, price: float, bounds: Bounds) -> None:
        lost = bounds.stops(w[:, None])[:, 0]
        self.state = state
        self.w = w  # (K,) how likely it is that a class is the truth and the case comes here
        self.mass = float(w.sum())
        self.price = price  # of a nat: the one that suits bounds here, or in the state before
        self.lost = float(lost.min())  # if nothing is left to do; where there are ways to stop, at any time
        self.stop = self.lost if bounds.space.workup.stops else inf  # what stopping now loses
        self.low = 0.0
        self.high = self.stop  # the cost of the best plan so far
        self.option = -1 - int(lost.argmin())  # of that plan: an action, or a way to stop from -1 down
        self.outlook: Outlook | None = None  # once the state is opened
        self.actions: list[int] = []  # that can be taken
        self.least = np.full(len(bounds.costs), inf)  # (A,) a lower bound by each action
        self.leaves: FloatArray | None = None  # (rows,) what must be paid after each result, once that is proved
        self.children: dict[int, list[tuple[int, Node]]] = {}  # of each action: rows, and the states there
        self.planned = 0  # in which round

    @property
    def gap(self) -> float:
        """How far its bounds are apart."""
        return self.high - self.low


class Planner(Solver):
    """By a search for the best plan that may be cut short."""

    name = "planner"

    def prepare(self) -> None:
        """Search for so long, or until so many states have been opened, or the plan is proved optimal."""
        self.bounds = Bounds(self.space)
        self.nodes: dict[State, Node] = {}
        self.n_opened = 0
        self.round = 0
        self.started = perf_counter()
        self.most = min(self.limit or inf, ROOM / (7 * len(self.bounds.rows)))
        self.root = self.reach(self.start, self.p * self.likelihood)
        self.prove(self.root)
        self.run()

    def run(self) -> None:
        """First plans by a rule at several prices; then better ones and the proof in turn, while there is time.

        What is done next depends on what has been done, never on how much time there is: a longer search begins
        as a shorter one does and goes on from there, so that its plan costs no more and its bound is no lower.
        """
        prices = [self.root.price * rule for rule in RULES]
        costs = [self.plan_by_rule(price, LIKELY) for price in prices]
        price = prices[int(np.argmin(costs))]
        likely = LIKELY
        opened_by_proof = 0
        while self.spent() < 1 and not self.is_closed(self.root):
            opened_before = self.n_opened
            plans_are_due = self.n_opened * PROOF < opened_by_proof
            if plans_are_due and likely > CLOSED:
                likely *= FINER
                self.plan_by_rule(price, likely)
            else:
                self.improve(price)
                opened_by_proof += max(self.n_opened - opened_before, 1)

    def option(self, state: State, likelihood: FloatArray) -> int:
        """Of the best plan that was found."""
        return self.nodes[state].option

    def value(self, state: State, likelihood: FloatArray) -> float:
        """Of the best plan that was found."""
        return self.reach(state, self.p * likelihood).high

    def least(self, cost: float) -> float:
        """As far as it was proved, rounded down."""
        low = self.root.low / self.root.mass * (1 - PROVED)
        return low if low < cost * (1 - 2 * PROVED) else cost

    def spent(self) -> float:
        """Which share of the time or of the states has been used."""
        time_share = (perf_counter() - self.started) / self.seconds
        return max(time_share, self.n_opened / self.most)

    def is_closed(self, node: Node) -> bool:
        """Whether the bounds of a state have met, as far as that matters at the start."""
        return node.gap <= CLOSED * min(self.root.high, 1e200)

    # States

    def reach(self, state: State, weights: FloatArray, price: float = 0.0) -> Node:
        """The node of a state, made where it is new."""
        if state not in self.nodes:
            self.nodes[state] = Node(state, weights, price, self.bounds)
        return self.nodes[state]

    def open(self, node: Node) -> Outlook:
        """See what can be done in a state, and what is believed after every result of every action."""
        if node.outlook is None:
            self.n_opened += 1
            node.outlook = self.bounds.outlook(node.state, node.w)
            node.actions = self.space.open_actions(node.state)
            node.least[node.actions] = self.bounds.costs[node.actions] * node.mass
            if not node.actions:
                node.low = node.high = node.stop = node.lost
        return node.outlook

    def prove(self, node: Node) -> None:
        """Bound what must be paid from a state on, by every action."""
        outlook = self.open(node)
        node.leaves, node.price = self.bounds.least(outlook, node.price)
        costs = self.bounds.costs * node.mass + self.bounds.per_action(node.leaves)
        node.least[node.actions] = np.maximum(node.least, costs)[node.actions]
        node.low = max(node.low, min(float(node.leaves[0]), node.high))
        self.tighten(node)

    def tighten(self, node: Node) -> None:
        """Raise the lower bound of a state to that of the action that may cost least, or of stopping."""
        node.low = max(node.low, min(float(node.least.min()), node.stop))

    def behind(self, node: Node, action: int) -> list[tuple[int, Node]]:
        """The states that an action leads to, but for those that are impossible or end the work-up."""
        if action not in node.children:
            node.children[action] = []
            for row, state in self.space.branches(node.state, action):
                weights = node.w * self.bounds.rows[row]
                if state is not None and weights.any():
                    node.children[action].append((row, self.reach(state, weights, node.price)))
        return node.children[action]

    def take(self, node: Node, action: int) -> None:
        """Learn from the states behind an action: what it costs at least, and by the best plans there."""
        low = self.bounds.costs[action] * node.mass
        high = low
        for row, child in self.behind(node, action):
            if node.leaves is not None:
                child.low = max(child.low, float(node.leaves[row]))
            low += child.low
            high += child.high
        if high < node.high * BETTER:
            node.high = high
            node.option = action
        node.least[action] = max(node.least[action], low)
        self.tighten(node)

    # Plans by a rule

    def plan_by_rule(self, price: float, likely: float) -> float:
        """Make a plan by the rule at a price of a nat, as far as states are likely; what that one costs."""
        self.round += 1
        return self.follow_rule(self.root, price, likely * self.root.mass)

    def follow_rule(self, node: Node, price: float, likely: float) -> float:
        """What the rule costs from a state on, where less likely states keep the plan that they have."""
        if node.planned == self.round or self.is_closed(node):
            return node.high
        node.planned = self.round
        is_rare = node.mass < likely
        if node.high < inf and (is_rare or self.spent() >= 1):
            return node.high
        outlook = self.open(node)
        if not node.actions:
            return node.high
        action = self.rule(node, outlook, price, is_rare)
        cost = float(self.bounds.costs[action]) * node.mass
        for _, child in self.behind(node, action):
            cost += self.follow_rule(child, price, likely)
        self.take(node, action)
        return min(cost, node.stop)

    def rule(self, node: Node, outlook: Outlook, price: float, is_rare: bool) -> int:
        """The action that costs least if the entropy that it leaves has a price; what it requires comes first.

        In a rare state that cannot be left, the one that confirms most per cost: there is no end to asking.
        """
        can_be_taken = np.isfinite(node.least)
        usable, costs = self.usable_actions(node, can_be_taken)
        left = price * outlook.entropies + outlook.spared
        if self.space.workup.stops:
            left = np.minimum(left, outlook.stops)
        left = np.where(outlook.ended, 0.0, left)
        totals = costs * node.mass + self.bounds.per_action(left)
        confirmed = self.bounds.per_action(np.where(outlook.ended, outlook.masses, 0.0))
        if is_rare and (usable & (confirmed > 0)).any():
            totals = costs / np.maximum(confirmed, 1e-200)
        best = int(np.where(usable, totals, inf).argmin())
        if can_be_taken[best]:
            return best
        return next(step for step in self.space.missing(node.state, best) if can_be_taken[step])

    def usable_actions(self, node: Node, can_be_taken: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], FloatArray]:
        """Which actions can be taken, now or after what they require, (A,); and what they cost with that, (A,)."""
        usable = can_be_taken.copy()
        costs = self.bounds.costs.copy()
        tells = self.space.informative(node.state.possible)
        for step in range(len(self.space.before)):
            if not can_be_taken[step] and tells[step] and self.space.can_be_made(node.state, step):
                usable[step] = True
                costs[step] += self.bounds.costs[self.space.missing(node.state, step)].sum()
        return usable, costs

    # The proof

    def improve(self, price: float) -> None:
        """Look where the lower bound is decided: by the action that may cost least, to the state of widest gap."""
        path = list[tuple[Node, int]]()
        node = self.root
        while node.leaves is not None and not self.is_closed(node):
            action = int(node.least.argmin())
            self.take(node, action)
            if int(node.least.argmin()) != action:
                continue  # another one may cost less by now
            children = [child for _, child in self.behind(node, action) if not self.is_closed(child)]
            if not children:
                node.low = node.high  # but for rounding
                break
            path.append((node, action))
            node = max(children, key=lambda child: child.gap)
        if node.leaves is None:
            self.prove(node)
            self.round += 1
            self.follow_rule(node, price, inf)  # where it cannot be left, to some end
        for before, action in reversed(path):
            self.take(before, action)

"""One case, however many tests: a plan of known cost, and a proof of what no plan can beat.

Plans come from rules of thumb, whose cost is exact (see `Rollouts`), and from trying other first steps before
them, at the start and wherever cases come often: the plan is the cheapest of all. The proof opens states one
by one (AO*; a state is what was found, in whatever order). Each state has a lower bound, and the cost of a
concrete plan; both get better as states behind it are opened. Where they meet, the plan is optimal.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from math import inf
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.core.kernels.horn import CLEARLY_LESS
from pandora_regret.workup.bounds import Bounds, Outlook, Reference
from pandora_regret.workup.pairs import pair_bound
from pandora_regret.workup.rollouts import ENDS, Beliefs, Level, Rollouts, Rule, WrittenPlan
from pandora_regret.workup.searches import Search, Searches
from pandora_regret.workup.solver import Solver
from pandora_regret.workup.states import State, bits_of

PRICE_MULTIPLES = (1.0, 6.0, 12.0, 24.0)  # of a nat, at which rules plan, times the price that bounds best
COARSE_CHANCE = 0.02  # states less likely than this are not planned for at first
FINE_CHANCE = 1e-4  # with states as likely as this, a rule is nearly written out
TRIED_CHANCE = 1e-3  # with these, other first steps are tried
FINE = 1e-5  # and with these, one that is better so far than the others
FINEST = 1e-7
SMALL_FORECASTS = 1_000  # rows times classes: with no more, all rules are nearly written out at first
FINER = 0.5  # times as likely are those that are planned for next, where rules are followed state by state
PROOF = 0.1  # of the states that are opened: the share that is opened by the proof before there are finer plans
CLOSED = 1e-12  # so near, bounds have met
MOST_NUMBERS_KEPT = 6e7  # numbers that may be kept, about eight per row and state
PROVED = 1e-9  # bounds that are nearer to the cost have met
BELIEFS_PER_STATE = 16  # about as much work: a belief in a batch, and a state that is opened by itself
MOST_TRIED = 16  # steps that are tried first in a state
TRIED_TOGETHER = 8  # states in which other steps are tried


class Node:
    """A state that has been reached: the bounds of its cost, times the chance of coming there."""

    def __init__(self, state: State, w: FloatArray, price: float, bounds: Bounds, searched: float) -> None:
        lost = bounds.stops(w[:, None])[:, 0]
        self.state = state
        self.w = w  # (K,) how likely it is that a class is the truth and the case comes here
        self.mass = float(w.sum())
        self.price = price  # of a nat: the one that suits bounds here, or in the state before
        self.reference: Reference | None = None  # as the price: what bound B compares outcomes with
        self.lost = float(lost.min())  # if nothing is left to do; where there are ways to stop, at any time
        self.stop = self.lost if bounds.space.workup.stops else inf  # what stopping now loses
        self.low = 0.0
        self.high = self.stop  # the cost of the best plan so far
        self.option = -1 - int(lost.argmin())  # of that plan: an action, or a way to end from -1 down
        if searched < self.stop * CLEARLY_LESS:
            self.high = searched
            self.option = -1 - len(lost)  # the search by definitive tests
        self.outlook: Outlook | None = None  # once the state is opened
        self.searched: FloatArray | None = None  # (rows,) what the best search costs after each result, then
        self.actions: list[int] = []  # that can be taken
        self.least = np.full(len(bounds.costs), inf)  # (A,) a lower bound by each action
        self.leaves: FloatArray | None = None  # (rows,) what must be paid after each result, once that is proved
        self.children: dict[int, list[tuple[int, Node]]] = {}  # of each action: rows, and the states there
        self.planned = 0  # in which round
        self.written: WrittenPlan | None = None  # the plan, where its states have not been reached one by one
        self.is_tried = False  # whether other first steps were

    @property
    def gap(self) -> float:
        """How far its bounds are apart."""
        return self.high - self.low


class FollowedRule(NamedTuple):
    """A rule, and what it costs as far as it was followed."""

    cost: float
    number: int  # of the rule
    rule: Rule


class Planner(Solver):
    """By a search for the best plan that may be cut short."""

    name = "planner"

    def prepare(self) -> None:
        """Search for so long, or until so many states have been opened, or the plan is proved optimal."""
        self.started = perf_counter()
        self.bounds = Bounds(self.space)
        self.searches = Searches(self.space)
        self.rollouts = Rollouts(self.bounds, self.searches)
        self.search_option = -1 - len(self.workup.endings)
        self.nodes: dict[State, Node] = {}
        self.n_opened = 0
        self.round = 0
        self.most = min(self.limit or inf, MOST_NUMBERS_KEPT / (8 * len(self.bounds.rows)))
        self.root = self.reach(self.start, self.p * self.likelihood)
        self.prove(self.root)
        self.run()

    def by_pairs(self) -> float:
        """The pair bound at the start, where the work-up is not known to end at once."""
        if self.workup.budget is not None or not self.root.actions:
            return 0.0
        proven = pair_bound(self.space, self.start, self.root.w, self.bounds.may_fail)
        return min(proven, self.root.high)

    def run(self) -> None:
        """First plans by rules; then better ones and the proof in turn, while there is time.

        What is done next depends on what has been done, never on how much time there is: a longer search begins
        as a shorter one does and goes on from there, so that its plan costs no more and its bound is no lower.
        """
        can_roll_out = self.workup.budget is None and self.root.high < inf
        if can_roll_out:
            self.run_rollouts()
        else:
            self.run_state_by_state()

    def run_rollouts(self) -> None:
        """Rules for many beliefs at once, from coarse to fine; other first steps before them; and the proof."""
        if not self.root.actions:
            return
        plans = self.plans()
        next(plans)
        if self.may_go_on():
            self.root.low = max(self.root.low, self.by_pairs())
        work_of_proof = 0.0
        while self.may_go_on() and not self.is_closed(self.root):
            work_before = self.work()
            plans_are_due = work_before * PROOF <= work_of_proof
            if not plans_are_due or not next(plans, False):
                self.improve(self.root.price)
                work_of_proof += max(self.work() - work_before, 1)

    def plans(self) -> Iterator[bool]:
        """Look for better plans: piece by piece, as long as there is anything to be tried."""
        first_rule, *other_rules = self.rules()
        others = list(enumerate(other_rules, 1))
        best = self.follow(0, first_rule, FINE_CHANCE)
        is_small = self.bounds.rows.size <= SMALL_FORECASTS
        if is_small:
            best = min(best, *(self.follow(number, rule, FINE_CHANCE) for number, rule in others))
        yield True
        self.try_other_steps(best.rule)  # at the start: so that alternatives are known, too
        yield True
        self.try_other_steps(best.rule)
        yield True
        self.follow(best.number, best.rule, FINE)
        yield True
        coarse = [] if is_small else sorted(self.follow(number, rule, COARSE_CHANCE) for number, rule in others)
        yield True
        likely = FINE
        n_tries = 1
        while True:
            if likely > FINEST:
                likely *= 0.1
                self.follow(best.number, best.rule, likely)
                yield True
            for promising in coarse[:2]:
                followed = self.follow(promising.number, promising.rule, FINE_CHANCE)
                if followed < best:
                    best = followed
                    self.follow(best.number, best.rule, likely)
                yield True
            coarse = coarse[2:]
            n_tried = 0
            while n_tried < n_tries and self.try_other_steps(best.rule):
                n_tried += 1
                yield True
            if n_tried == 0 and not coarse and likely <= FINEST:
                return
            n_tries *= 2

    def run_state_by_state(self) -> None:
        """As `run`, by one rule at several prices that is followed from state to state."""
        prices = [self.root.price * price for price in PRICE_MULTIPLES]
        costs = [self.plan_by_rule(price, COARSE_CHANCE) for price in prices]
        price = prices[int(np.argmin(costs))]
        likely = COARSE_CHANCE
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
        """What the best plan that was found does in a state: an action, or a way to end, from -1 down."""
        node = self.nodes[state]
        if node.option >= 0:
            self.behind(node, node.option)
        return node.option

    def search(self, state: State, likelihood: FloatArray) -> Search | None:
        """The search by definitive tests, where the best plan ends in it."""
        node = self.nodes[state]
        if node.option != self.search_option:
            return None
        return self.searches.search_from(node.w, np.array(state.outcomes))

    def value(self, state: State, likelihood: FloatArray) -> float:
        """What the best plan that was found costs from a state on, times the chance of coming there."""
        return self.reach(state, self.p * likelihood).high

    def least(self, cost: float) -> float:
        """What the best plan costs at least, as far as it was proved, rounded down."""
        low = self.root.low / self.root.mass * (1 - PROVED)
        return low if low < cost * (1 - 2 * PROVED) else cost

    def work(self) -> float:
        """What has been done, in states that were opened."""
        return self.n_opened + self.rollouts.n_evaluated / BELIEFS_PER_STATE

    def spent(self) -> float:
        """Which share of the time or of the states has been used."""
        time_share = (perf_counter() - self.started) / self.seconds
        return max(time_share, self.work() / self.most)

    def is_closed(self, node: Node) -> bool:
        """Whether the bounds of a state have met, as far as that matters at the start."""
        return node.gap <= CLOSED * min(self.root.high, 1e200)

    # States

    def reach(self, state: State, weights: FloatArray, price: float = 0.0, searched: float | None = None) -> Node:
        """The node of a state, made where it is new; `searched` is what the best search costs there, if known."""
        if state not in self.nodes:
            if searched is None:
                outcomes = np.array(state.outcomes)
                searched = float(self.searches.costs_from(weights[None], outcomes[None])[0])
            self.nodes[state] = Node(state, weights, price, self.bounds, searched)
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
            elif self.searches.can_search:
                node.searched = self.searched_after(node)
        return node.outlook

    def searched_after(self, node: Node) -> FloatArray:
        """What the best search costs after every result of what can be done in a state, (rows,)."""
        first = self.space.first
        rows = [row for action in node.actions for row in range(first[action], first[action + 1])]
        outcomes = np.tile(np.array(node.state.outcomes), (len(rows), 1))
        for place, row in enumerate(rows):
            for step, outcome in self.space.results[row]:
                outcomes[place, step] = outcome
        searched = np.full(len(self.bounds.rows), inf)
        searched[rows] = self.searches.costs_from(node.w * self.bounds.rows[rows], outcomes)
        return searched

    def prove(self, node: Node) -> None:
        """Bound what must be paid from a state on, by every action."""
        outlook = self.open(node)
        node.leaves, node.price, node.reference = self.bounds.least(outlook, node.price, node.reference)
        costs = self.bounds.costs * node.mass + self.bounds.per_action(node.leaves)
        node.least[node.actions] = np.maximum(node.least, costs)[node.actions]
        node.low = max(node.low, min(float(node.leaves[0]), node.high))
        self.tighten(node)

    def tighten(self, node: Node) -> None:
        """Raise the lower bound of a state to that of the action that may cost least, or of stopping."""
        if node.outlook is None:
            return  # no action has been bounded
        node.low = max(node.low, min(float(node.least.min()), node.stop))

    def behind(self, node: Node, action: int) -> list[tuple[int, Node]]:
        """The states that an action leads to, but for those that are impossible or end the work-up."""
        if action not in node.children:
            written = {} if node.written is None or node.option != action else node.written.following()
            node.children[action] = []
            for row, state in self.space.branches(node.state, action):
                weights = node.w * self.bounds.rows[row]
                if state is not None and weights.any():
                    searched = None if node.searched is None else float(node.searched[row])
                    child = self.reach(state, weights, node.price, searched)
                    if child.reference is None:
                        child.reference = node.reference
                    node.children[action].append((row, child))
                    if row in written:
                        self.adopt(child, written[row])
        return node.children[action]

    def adopt(self, node: Node, written: WrittenPlan) -> None:
        """Plan as it was written out elsewhere, where that costs less than the best plan so far."""
        if written.action == ENDS or written.value >= node.high * CLEARLY_LESS:
            return
        node.high = written.value
        node.option = written.action
        node.written = written
        if written.action in node.children:  # they have been reached
            following = written.following()
            for row, child in node.children[written.action]:
                if row in following:
                    self.adopt(child, following[row])

    def take(self, node: Node, action: int) -> None:
        """Learn from the states behind an action: what it costs at least, and by the best plans there."""
        low = self.bounds.costs[action] * node.mass
        high = low
        for row, child in self.behind(node, action):
            if node.leaves is not None:
                child.low = max(child.low, float(node.leaves[row]))
            low += child.low
            high += child.high
        if high < node.high * CLEARLY_LESS:
            node.high = high
            node.option = action
        node.least[action] = max(node.least[action], low)
        self.tighten(node)

    # Plans by rules, for many beliefs at once

    def rules(self) -> list[Rule]:
        """The rules of thumb that are tried, the cheap ones first."""
        rules = self.rollouts
        prices = [self.root.price * price for price in PRICE_MULTIPLES]
        chosen = [rules.by_information, rules.by_value, *map(rules.by_price, prices), rules.by_ending]
        battery = rules.battery(self.beliefs(self.root)) if self.searches.can_search else []
        return [*chosen, rules.by_list(battery)] if battery else chosen

    def beliefs(self, *nodes: Node) -> Beliefs:
        """What is believed in some states."""
        n_classes = len(self.p)
        possible = np.zeros((len(nodes), n_classes), bool)
        for place, node in enumerate(nodes):
            possible[place, bits_of(node.state.possible)] = True
        outcomes = np.array([node.state.outcomes for node in nodes], np.int16)
        return Beliefs(np.array([node.w for node in nodes]), outcomes, possible)

    def may_go_on(self) -> bool:
        """Whether there is time."""
        return self.spent() < 1

    def follow(self, number: int, rule: Rule, likely: float) -> FollowedRule:
        """What a rule costs, as far as states are likely; where that is cheapest, it is the plan."""
        levels = self.rollouts.evaluate(rule, self.beliefs(self.root), likely * self.root.mass, self.may_go_on)
        written = WrittenPlan(levels, 0, 0)
        self.adopt(self.root, written)
        return FollowedRule(written.value, number, rule)

    def try_other_steps(self, rule: Rule) -> bool:
        """Try other steps before a rule, in the likeliest states of the plan in which none were tried.

        All are tried coarsely, so that they are compared as far as they were followed alike; then the best.

        Returns
        -------
        bool
            Whether there was such a state.
        """
        paths = self.untried_paths()
        nodes = [path[-1][0] for path in paths]
        if not nodes:
            return False
        better = self.better_steps(rule, nodes)
        if better:
            self.adopt_better(rule, nodes, better)
        for path in sorted(paths, key=len, reverse=True):
            for before, action in reversed(path[:-1]):
                self.take(before, action)
        return True

    def better_steps(self, rule: Rule, nodes: list[Node]) -> list[tuple[int, int]]:
        """Roll out all promising steps of some states; the places of states, and the steps that seem better there.

        What the steps of the start cost is kept: they are the alternatives.
        """
        beliefs = self.beliefs(*nodes)
        singles = [beliefs.at(np.array([place])) for place in range(len(nodes))]
        steps = [self.rollouts.candidates(single, MOST_TRIED) for single in singles]
        places = np.repeat(np.arange(len(nodes)), list(map(len, steps)))
        levels = self.roll_out(rule, beliefs.at(places), np.concatenate(steps), TRIED_CHANCE)
        better = list[tuple[int, int]]()
        for place, node in enumerate(nodes):
            node.is_tried = True
            option_before = node.option
            rolled_out = np.flatnonzero(places == place)
            if node is self.root:
                self.adopt_alternatives(levels, rolled_out)
            if len(rolled_out):
                best = rolled_out[levels[0].values[rolled_out].argmin()]
                step = int(levels[0].actions[best])
                if step != option_before:
                    better.append((place, step))
        return better

    def roll_out(self, rule: Rule, beliefs: Beliefs, steps: IntArray, likely: float) -> list[Level]:
        """What it costs to take some steps first, one in each belief, and then to follow a rule."""
        return self.rollouts.evaluate(rule, beliefs, likely * self.root.mass, self.may_go_on, first=steps)

    def adopt_alternatives(self, levels: list[Level], places: IntArray) -> None:
        """What the steps cost that were tried at the start."""
        for place in places.tolist():
            written = WrittenPlan(levels, 0, place)
            following = written.following()
            for row, child in self.behind(self.root, written.action):
                if row in following:
                    self.adopt(child, following[row])
            self.take(self.root, written.action)

    def adopt_better(self, rule: Rule, nodes: list[Node], better: list[tuple[int, int]]) -> None:
        """Follow the steps that seem better in some states further, and adopt those that are."""
        places, steps = zip(*better, strict=True)
        chosen = [nodes[place] for place in places]
        levels = self.roll_out(rule, self.beliefs(*chosen), np.array(steps), FINE)
        for number, node in enumerate(chosen):
            self.adopt(node, WrittenPlan(levels, 0, number))

    def untried_paths(self) -> list[list[tuple[Node, int]]]:
        """The likeliest states of the plan in which no other steps were tried, each with those that lead there."""
        start = (-self.root.mass, 0, [(self.root, self.root.option)])
        queue = [start]
        paths = list[list[tuple[Node, int]]]()
        n_queued = 1
        while queue and len(paths) < TRIED_TOGETHER:
            chance, _, path = heappop(queue)
            node, option = path[-1]
            if not node.is_tried and not self.is_closed(node):
                paths.append(path)
                if node is self.root:
                    break
            if -chance < FINE_CHANCE * self.root.mass or option < 0:
                continue
            for _, child in self.behind(node, option):
                heappush(queue, (-child.mass, n_queued, [*path, (child, child.option)]))
                n_queued += 1
        return paths

    # Plans by a rule, state by state

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

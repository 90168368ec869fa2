r"""The state graph: all states that can be reached, each with what can be done in it; one for all forecasts.

States are numbered so that each comes after those it leads to, and the start is the last: one sweep gives every
state its value. With $q_k = p_k \, \mathrm{lik}_k(s)$ it is

$$V(s) = \min\Big( \min_a \sum_k q_k L(a, k),\; \min_t\; c_t \sum_k q_k + \sum_o V(s, o) \Big).$$

Options are numbered: edges from 0 up, ways to stop from -1 down. Ways to stop come first, and the first option is
taken that costs no more than the best but for rounding. Where a forecast holds a state to be impossible, it acts
there as if all classes still possible were alike. The sweep in plain NumPy is the specification of the compiled
loops.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pandora_regret.core.inputs import FloatArray, IntArray
from pandora_regret.core.kernels.horn import CLEARLY_LESS
from pandora_regret.workup.description import Workup
from pandora_regret.workup.states import Findings, State, StateSpace

MOST_STATES = 200_000  # unless another limit is asked for


class GraphArrays(NamedTuple):
    """States S and edges E, as the sweeps read them.

    Branches that end the work-up cost nothing more and are left out; every edge has as many children as the one
    that has most, at least two, padded by a last state of value zero.
    """

    likelihood: FloatArray  # (S, K)
    may_stop: IntArray  # (S,) whether the ways to stop are open
    edges: IntArray  # (S + 1,) where the edges of each state begin
    children: NDArray[np.uint32]  # (E, C), unsigned: numba would else look for negative indices in every loop
    losses: FloatArray  # (stops, K)
    names_class: IntArray  # (stops,)


class Graph(NamedTuple):
    """All states that can be reached, each after those it leads to."""

    space: StateSpace
    states: dict[State, int]  # numbered
    actions: IntArray  # (E,)
    arrays: GraphArrays

    def edge_costs(self, step_costs: FloatArray) -> FloatArray:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        action_costs = self.space.uses @ step_costs + self.space.workup.fee
        return np.asarray(action_costs[self.actions])


def compile_graph(workup: Workup, found: Findings | None = None, limit: int = MOST_STATES) -> Graph:
    """The graph of all states that can be reached from a start; an error if they are more than a limit."""
    space = StateSpace(workup)
    start, likelihood = space.start(found)
    if space.most_states(start, limit) > limit:
        raise space.too_many(limit)
    builder = _GraphBuilder(space, limit)
    try:
        builder.add(start, likelihood)
    except RecursionError:  # hundreds of steps in a row
        raise space.too_many(limit) from None
    return builder.graph()


class _GraphBuilder:
    """A graph to which states are added, each after all that it leads to."""

    def __init__(self, space: StateSpace, limit: int) -> None:
        self.space = space
        self.limit = limit
        self.states: dict[State, int] = {}
        self.likelihoods: list[FloatArray] = []  # of each state
        self.edges = [0]  # where the edges of each state begin, and where they end
        self.actions: list[int] = []  # of each edge
        self.children: list[list[int]] = []  # of each edge

    def add(self, state: State, likelihood: FloatArray) -> int:
        """The number of a state, which is added with all behind it where it is new."""
        if state in self.states:
            return self.states[state]
        actions = self.space.open_actions(state)
        children = [self._add_behind(state, likelihood, action) for action in actions]
        if len(self.states) == self.limit:  # only where rounds count beside steps
            raise self.space.too_many(self.limit)
        number = len(self.states)
        self.states[state] = number
        self.likelihoods.append(likelihood)
        self.actions += actions
        self.children += children
        self.edges.append(len(self.actions))
        return number

    def _add_behind(self, state: State, likelihood: FloatArray, action: int) -> list[int]:
        """The numbers of the states that an action leads to, but for those where the work-up ends."""
        numbers = list[int]()
        for row, after in self.space.branches(state, action):
            if after is not None:
                numbers.append(self.add(after, likelihood * self.space.rows[row]))
        return numbers

    def graph(self) -> Graph:
        """The graph of all states that were added."""
        nothing_more = len(self.states)
        width = max([2, *map(len, self.children)])
        padded = [[*children, *[nothing_more] * (width - len(children))] for children in self.children]
        if self.space.workup.stops:
            may_stop = np.ones(len(self.states), np.intp)
        else:  # where nothing is left to do
            may_stop = np.asarray(np.diff(self.edges) == 0, np.intp)
        arrays = GraphArrays(
            likelihood=np.array(self.likelihoods),
            may_stop=may_stop,
            edges=np.array(self.edges, np.intp),
            children=np.array(padded, np.uint32).reshape(len(self.actions), width),
            losses=self.space.losses,
            names_class=self.space.names_class,
        )
        return Graph(self.space, self.states, np.array(self.actions, np.intp), arrays)


class _Choice(NamedTuple):
    """Something that can be done in a state, with what it costs from there on."""

    number: int
    expected: FloatArray  # (n + 1,) by each forecast, times the probability of the state
    paid: FloatArray  # (n, T) under each of a forecast's truths, times the probability of the state


def sweep(
    p: FloatArray, truths: IntArray, graph: GraphArrays, edge_costs: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """What the best policy of each forecast costs from every state on.

    Parameters
    ----------
    p
        Forecasts, shape (n, K).
    truths
        For each forecast the classes under which it pays, shape (n, T).
    graph
        S states and E edges.
    edge_costs
        What every edge costs, shape (E,).

    Returns
    -------
    value
        The least expected cost times the probability of the state, shape (S + 1, n + 1). The last state costs
        nothing; the last forecast holds all classes to be alike.
    choice
        The number of the option that has it, shape (S, n + 1).
    paid
        What is paid under each truth times the probability of the state, shape (S + 1, n, T).
    """
    p = np.vstack([p, np.ones(p.shape[1])])  # the last one decides what others hold to be impossible
    n_states = len(graph.likelihood)
    masses = p @ graph.likelihood.T
    value = np.zeros((n_states + 1, len(p)))
    paid = np.zeros((n_states + 1, *truths.shape))
    choice = np.zeros((n_states, len(p)), np.intp)
    for state in range(n_states):
        mass = masses[:, state]
        is_possible = mass > 0
        options = [
            *_stop_options(p, truths, graph, state, is_possible),
            *_edge_options(truths, graph, state, mass, edge_costs, (value, paid)),
        ]
        numbers = np.array([option.number for option in options])
        totals = np.array([option.expected for option in options])
        spent = np.array([option.paid for option in options])
        least = totals.min(axis=0)
        first_good = (totals * CLEARLY_LESS <= least).argmax(axis=0)
        first_good = np.where(is_possible, first_good, first_good[-1])
        value[state] = np.where(is_possible, least, 0.0)
        choice[state] = numbers[first_good]
        paid[state] = spent[first_good[:-1], np.arange(len(truths))]
    return value, choice, paid


def _stop_options(
    p: FloatArray, truths: IntArray, graph: GraphArrays, state: int, is_possible: NDArray[np.bool_]
) -> Iterator[_Choice]:
    """The ways to stop that are open in a state."""
    if not graph.may_stop[state]:
        return
    likelihood = graph.likelihood[state]
    weights = np.where(is_possible[:, None], p, 1.0) * likelihood
    for stop, names_class in enumerate(graph.names_class):
        losses = graph.losses[stop]
        terms = weights * losses
        paid = likelihood[truths] * losses[truths]
        if names_class:  # the loss of the class that is named, where most would be lost, is spared
            named = terms.argmax(axis=1)
            terms = np.where(np.arange(p.shape[1]) == named[:, None], 0.0, terms)
            paid = paid * (named[:-1, None] != truths)
        yield _Choice(-1 - stop, terms.sum(axis=1), paid)


def _edge_options(
    truths: IntArray,
    graph: GraphArrays,
    state: int,
    mass: FloatArray,
    edge_costs: FloatArray,
    behind: tuple[FloatArray, FloatArray],
) -> Iterator[_Choice]:
    """The steps that can be made in a state; behind are the values, and what is paid, of states swept before."""
    value, paid = behind
    chance = graph.likelihood[state, truths]
    for edge in range(graph.edges[state], graph.edges[state + 1]):
        children = graph.children[edge]
        expected = edge_costs[edge] * mass + value[children].sum(axis=0)
        spent = edge_costs[edge] * chance + paid[children].sum(axis=0)
        yield _Choice(edge, expected, spent)

"""The state graph as arrays, and its sweep in plain NumPy: the specification of the compiled loops.

The graph holds all states that can be reached (states.py), children after their parents, so that one sweep from
the end gives every state its value. With ``q_k = p_k lik_k(s)`` it is

    V(s) = min( min_a sum_k q_k L(a, k),  min_t  c_t sum_k q_k + sum_o V(s, o) ).

Options are numbered: edges of a state from 0 up, ways to stop from -1 down. Ways to stop come first, and a later
option is taken only if it is better by more than rounding. What to do in a state is decided once.
Where a forecast holds a state to be impossible, it acts there as if all classes still possible were alike: as
`fallback` says, the choices for weights of 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.engine import worth_compiling
from pandora_regret.workup.description import Workup
from pandora_regret.workup.states import UNUSED, State, StateSpace

MOST_STATES = 200_000  # unless another limit is asked for
BETTER = 1 - 1e-13  # what costs less than this times the best so far is better by more than rounding
NOWHERE = 2**32 - 1
ROUNDING = 1e-9


class GraphArrays(NamedTuple):
    """States S and edges E, as the sweeps read them.

    Branches that end the work-up cost nothing more and are left out; of the others the first two of every edge
    stand in `children` (padded by a last state of value zero), further ones in `more`. `behind` says why a state
    is as likely as it is: two states behind it, and a class that ends there with the weight `ended`. Summing over
    all classes takes longer, and is left to states with no such edge; their first entry is `NOWHERE`. Unsigned,
    for numba would else look for negative indices in every loop.
    """

    likelihood: FloatArray  # (S, K)
    may_stop: IntArray  # (S,) whether the ways to stop are open
    edges: IntArray  # (S + 1,) where the edges of each state begin
    more_edges: IntArray  # (E + 1,) where the further children of each edge begin
    children: Any  # (E, 2)
    more: Any
    behind: Any  # (S, 3)
    ended: FloatArray  # (S,)
    losses: FloatArray  # (stops, K)
    weighted_losses: FloatArray  # (stops S, K): times the likelihood, one stop after the other
    names_class: IntArray  # (stops,)
    constant: IntArray  # (stops,) whether the loss is the same whatever the truth is


@dataclass(frozen=True, eq=False)
class Graph:
    """All states that can be reached, each before those it leads to."""

    space: StateSpace
    states: tuple[State, ...]
    actions: IntArray  # (E,)
    arrays: GraphArrays

    def edge_costs(self, step_costs: FloatArray) -> FloatArray:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        costs = self.space.uses @ step_costs + self.space.workup.fee
        return np.asarray(costs[self.actions])

    def solve(self, p: FloatArray) -> tuple[FloatArray, IntArray]:
        """The value of every state for one forecast, (K,), and the option that it takes there."""
        edge_costs = self.edge_costs(self.space.workup.costs)
        if worth_compiling(16 * len(self.actions)):
            from pandora_regret.workup import loops

            values, choices = loops.solve(p, self.arrays, edge_costs)
            return values, choices
        nothing = np.empty(0, np.intp)
        table, options, _ = sweep(p[None], nothing, nothing, self.arrays, edge_costs)
        return table[:, 0], options[:, 0]


def compile_graph(
    workup: Workup, found: Mapping[str, str | None] | None = None, limit: int = MOST_STATES
) -> Graph:
    """The graph of all states that can be reached from a start."""
    space = StateSpace(workup)
    state, likelihood = space.start(found)
    if space.most_states(state, limit) > limit:
        raise space.too_many(limit)
    rows, moves = {state: likelihood}, {}
    queue = [state]
    for state in queue:  # grows as new states are found
        moves[state] = list(space.moves(state))
        for action, branches in moves[state]:
            for branch in branches:
                if branch.state is not None and branch.state not in rows:
                    rows[branch.state] = rows[state] * space.chance(action, branch)
                    queue.append(branch.state)
        if len(queue) > limit:  # only where rounds count beside steps
            raise space.too_many(limit)
    # more steps made, or fewer classes possible: this grows along every edge
    queue.sort(key=lambda s: (sum(o != UNUSED for o in s.outcomes), -s.possible.bit_count()))
    return _as_arrays(space, queue, np.array([rows[state] for state in queue]), moves)


def _as_arrays(space: StateSpace, states: list[State], likelihood: FloatArray, moves: dict[State, Any]) -> Graph:
    number, workup = {state: index for index, state in enumerate(states)}, space.workup
    edges, actions, children, more_edges, more = [0], [], [], [0], []
    for state in states:
        for action, branches in moves[state]:
            after = [number[branch.state] for branch in branches if branch.state is not None]
            actions.append(action)
            children.append([*after[:2], len(states), len(states)][:2])
            more += after[2:]
            more_edges.append(len(more))
        edges.append(len(actions))
    stops = [(stop.losses, stop.names_class) for stop in workup.stops] or [(workup.unresolved, False)]
    losses = np.array([values for values, _ in stops])
    may_stop = np.ones(len(states)) if workup.stops else np.diff(edges) == 0
    pairs = np.array(children, dtype=np.uint32).reshape(-1, 2)
    behind, ended = _masses(likelihood, edges, pairs, more_edges)
    arrays = GraphArrays(
        likelihood,
        np.asarray(may_stop, dtype=np.intp),
        np.array(edges, dtype=np.intp),
        np.array(more_edges, dtype=np.intp),
        pairs,
        np.array(more, dtype=np.uint32),
        behind,
        ended,
        losses,
        (losses[:, None, :] * likelihood).reshape(-1, likelihood.shape[1]),
        np.array([names for _, names in stops], dtype=np.intp),
        np.array([not names and len(set(values)) == 1 for values, names in stops], dtype=np.intp),
    )
    return Graph(space, tuple(states), np.array(actions, dtype=np.intp), arrays)


def _masses(
    likelihood: FloatArray, edges: list[int], children: Any, more_edges: list[int]
) -> tuple[Any, FloatArray]:
    """`behind` and `ended` of `GraphArrays`."""
    behind, ended = np.full((len(likelihood), 3), NOWHERE, np.uint32), np.zeros(len(likelihood))
    rows = np.vstack([likelihood, np.zeros(likelihood.shape[1])])
    for state in range(len(likelihood)):
        for edge in range(edges[state], edges[state + 1]):
            rest = rows[state] - rows[children[edge]].sum(axis=0)
            classes = np.flatnonzero(rest > ROUNDING * rows[state])
            if len(classes) <= 1 and more_edges[edge] == more_edges[edge + 1]:
                k = classes[0] if len(classes) else 0
                behind[state], ended[state] = (*children[edge], k), rest[k] if len(classes) else 0.0
                break
    return behind, ended


def sweep(
    p: FloatArray,
    rows: IntArray,
    truths: IntArray,
    graph: GraphArrays,
    edge_costs: FloatArray,
    fallback: Any = None,
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Of each state and row of p the least expected cost, (S + 1, n), and the option that has it, (S, n).

    With them, of each state what is paid from there on in some `rows` if `truths` are true, times the probability
    of coming there, (S + 1, P).
    """
    n_states, every = len(graph.likelihood), np.arange(p.shape[1])
    value, paid = np.zeros((n_states + 1, len(p))), np.zeros((n_states + 1, len(rows)))
    choice, masses = np.zeros((n_states, len(p)), np.intp), p @ graph.likelihood.T
    for state in reversed(range(n_states)):
        mass, chance = masses[:, state], graph.likelihood[state, truths]
        believed, options = np.where(mass[:, None] > 0, p, 1.0), []
        for stop, names in enumerate(graph.names_class if graph.may_stop[state] else ()):
            terms = believed * graph.weighted_losses[stop * n_states + state]
            named = terms.argmax(axis=1) if names else np.full(len(p), -1)  # its loss is spared
            lost = np.where(every == named[:, None], 0.0, terms).sum(axis=1)
            options.append((-1 - stop, lost, chance * graph.losses[stop, truths] * (named[rows] != truths)))
        for number, edge in enumerate(range(*graph.edges[state : state + 2])):
            more = graph.more[slice(*graph.more_edges[edge : edge + 2])]
            children, cost = np.concatenate([graph.children[edge], more]), edge_costs[edge]
            after, spent = value[children].sum(axis=0), paid[children].sum(axis=0)
            options.append((number, cost * mass + after, cost * chance + spent))
        best = np.full(len(p), np.inf)
        for option, total, _ in options:
            better = total < best * BETTER
            best[better], choice[state, better] = total[better], option
        if fallback is not None:
            choice[state] = np.where(mass > 0, choice[state], fallback[state])
        value[state] = np.where(mass > 0, best, 0.0)
        for option, _, spent in options:
            paid[state] = np.where(choice[state, rows] == option, spent, paid[state])
    return value, choice, paid


def graph_costs(
    p: FloatArray, rows: IntArray, truths: IntArray, graph: GraphArrays, edge_costs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Each row's predicted cost, (n,), and what the policy of each of `rows` costs if `truths` are true."""
    ones, nothing = np.ones((1, p.shape[1])), np.empty(0, np.intp)
    fallback = sweep(ones, nothing, nothing, graph, edge_costs)[1]
    value, _, paid = sweep(p, rows, truths, graph, edge_costs, fallback)
    return value[0], paid[0]

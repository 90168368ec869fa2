"""The state graph as arrays, and its sweep in plain NumPy: the specification of the compiled loops.

The graph holds all states that can be reached (states.py), each after those it leads to and the start last: one
sweep gives every state its value. With ``q_k = p_k lik_k(s)`` it is

    V(s) = min( min_a sum_k q_k L(a, k),  min_t  c_t sum_k q_k + sum_o V(s, o) ).

Options are numbered: edges from 0 up, ways to stop from -1 down. Ways to stop come first, and the first
option is taken that costs no more than the best but for rounding.
Where a forecast holds a state to be impossible, it acts there as if all classes still possible were alike.
"""

from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray
from pandora_regret.kernels.horn import BETTER
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
    children: Any  # (E, C), unsigned, for numba would else look for negative indices in every loop
    losses: FloatArray  # (stops, K)
    names_class: IntArray  # (stops,)


class Graph(NamedTuple):
    """All states that can be reached, each after those it leads to."""

    space: StateSpace
    states: dict[State, int]  # numbered
    actions: IntArray  # (E,)
    arrays: GraphArrays

    def edge_costs(self, step_costs: FloatArray) -> Any:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        return (self.space.uses @ step_costs + self.space.workup.fee)[self.actions]


def compile_graph(workup: Workup, found: Findings | None = None, limit: int = MOST_STATES) -> Graph:
    """The graph of all states that can be reached from a start."""
    space = StateSpace(workup)
    start, likely = space.start(found)
    if space.most_states(start, limit) > limit:
        raise space.too_many(limit)
    states, rows, edges, actions, children = dict[State, int](), list[Any](), [0], list[int](), list[Any]()

    def numbered(state: State, likelihood: FloatArray) -> int:
        """The number of a state: it comes after all that it leads to."""
        if state not in states:
            moves = {action: space.branches(state, action) for action in space.open_actions(state)}
            behind = [
                [numbered(after, likelihood * space.rows[row]) for row, after in branches if after is not None]
                for branches in moves.values()
            ]
            if len(states) == limit:  # only where rounds count beside steps
                raise space.too_many(limit)
            states[state] = len(states)
            rows.append(likelihood)
            actions.extend(moves)
            children.extend(behind)
            edges.append(len(actions))
        return states[state]

    try:
        numbered(start, likely)
    except RecursionError:  # hundreds of steps in a row
        raise space.too_many(limit) from None
    most = max([2, *map(len, children)])
    padded = [[*after, *[len(states)] * (most - len(after))] for after in children]
    arrays = GraphArrays(
        np.array(rows),
        np.ones(len(states), np.intp) if workup.stops else np.asarray(np.diff(edges) == 0, np.intp),
        np.array(edges, np.intp),
        np.array(padded, np.uint32).reshape(len(actions), most),
        space.losses,
        space.names_class,
    )
    return Graph(space, states, np.array(actions, np.intp), arrays)


def sweep(
    p: FloatArray, truths: IntArray, graph: GraphArrays, edge_costs: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Of each state and row of p the least expected cost, (S + 1, n + 1), and the option that has it, (S, n + 1).

    With them, of each state what each row pays from there on under each of its truths, (n, T), times the
    probability of coming there, (S + 1, n, T).
    """
    p = np.vstack([p, np.ones(p.shape[1])])  # the last one decides what others hold to be impossible
    n_states, every = len(graph.likelihood), np.arange(p.shape[1])
    value, paid = np.zeros((n_states + 1, len(p))), np.zeros((n_states + 1, *truths.shape))
    choice, masses = np.zeros((n_states, len(p)), np.intp), p @ graph.likelihood.T
    for state in range(n_states):
        mass, chance, options = masses[:, state], graph.likelihood[state, truths], list[Any]()
        likely = mass > 0
        for stop, names in enumerate(graph.names_class if graph.may_stop[state] else ()):
            terms = np.where(likely[:, None], p, 1.0) * graph.likelihood[state] * graph.losses[stop]
            named = terms.argmax(axis=1) if names else np.full(len(p), -1)  # its loss is spared
            lost = np.where(every == named[:, None], 0.0, terms).sum(axis=1)
            options.append((-1 - stop, lost, chance * graph.losses[stop, truths] * (named[:-1, None] != truths)))
        for edge in range(*graph.edges[state : state + 2]):
            after, spent = (table[graph.children[edge]].sum(axis=0) for table in (value, paid))
            options.append((edge, edge_costs[edge] * mass + after, edge_costs[edge] * chance + spent))
        numbers, totals, spent = map(np.array, zip(*options, strict=True))
        best = totals.min(axis=0)
        first = (totals * BETTER <= best).argmax(axis=0)
        first = np.where(likely, first, first[-1])
        value[state], choice[state] = np.where(likely, best, 0.0), numbers[first]
        paid[state] = spent[first[:-1], np.arange(len(truths))]
    return value, choice, paid

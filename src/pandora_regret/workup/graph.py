"""The state graph compiled: states and edges as arrays, and the policy that sweeps them for all forecasts.

A state is what a case is known to be by now (states.py); the graph holds all that can be reached, children after
their parents, so that one sweep from the end gives every state its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pandora_regret.inputs import FloatArray, InputError, IntArray
from pandora_regret.inputs.tables import row_slices
from pandora_regret.workup import reference
from pandora_regret.workup.description import MOST_STATES, Workup
from pandora_regret.workup.policies import Pairs, Policy
from pandora_regret.workup.states import ROUNDING, UNUSED, State, StateSpace

NOWHERE = 2**32 - 1


class GraphArrays(NamedTuple):
    """A graph as the compiled loops read it; see `Graph`."""

    likelihood: FloatArray
    may_stop: IntArray
    edges: IntArray
    more_edges: IntArray
    children: Any
    more: Any
    behind: Any
    ended: FloatArray
    losses: FloatArray
    weighted_losses: FloatArray  # (stops S, K): of one stop after the other
    names_class: IntArray
    constant: IntArray


@dataclass(frozen=True, eq=False)
class Graph:
    """All states that can be reached, each before those it leads to, as arrays.

    Branches that end the work-up cost nothing more and are left out; of the others the first two of every edge
    stand in `children` (padded by a last state of value zero), further ones in `more`.
    """

    space: StateSpace
    states: tuple[State, ...]
    likelihood: FloatArray  # (S, K)
    may_stop: IntArray  # (S,) whether the ways to stop are open
    edges: IntArray  # (S + 1,) where the edges of each state begin
    actions: IntArray  # (E,)
    children: IntArray  # (E, 2)
    more_edges: IntArray  # (E + 1,) where the further children of each edge begin
    more: IntArray
    losses: FloatArray  # (stops, K)
    names_class: IntArray  # (stops,)
    constant: IntArray  # (stops,) whether the loss is the same whatever the truth is

    @cached_property
    def arrays(self) -> GraphArrays:
        """What the compiled loops read."""
        masses, ended = self._masses()
        children, more, behind = (
            np.ascontiguousarray(one, np.uint32) for one in (self.children, self.more, masses)
        )
        weighted = (self.losses[:, None, :] * self.likelihood).reshape(-1, self.likelihood.shape[1])
        shape = (self.likelihood, self.may_stop, self.edges, self.more_edges, children, more, behind, ended)
        return GraphArrays(*shape, self.losses, weighted, self.names_class, self.constant)

    def _masses(self) -> tuple[IntArray, FloatArray]:
        """Why a state is as likely as it is: two states behind it, (S, 3), and a class that ends there, (S,).

        Summing over all classes is dearer, and left to states with no edge that has at most two children and at
        most one class that ends; their first entry is `NOWHERE`. Unsigned, for numba would else look for negative
        indices in every loop.
        """
        behind, ended = np.full((len(self), 3), NOWHERE), np.zeros(len(self))
        rows = np.vstack([self.likelihood, np.zeros(self.likelihood.shape[1])])
        for state in range(len(self)):
            for edge in range(*self.edges[state : state + 2]):
                rest = rows[state] - rows[self.children[edge]].sum(axis=0)
                classes = np.flatnonzero(rest > ROUNDING * rows[state])
                if len(classes) <= 1 and self.more_edges[edge] == self.more_edges[edge + 1]:
                    k = classes[0] if len(classes) else 0
                    behind[state], ended[state] = (*self.children[edge], k), rest[k] if len(classes) else 0.0
                    break
        return behind, ended

    def edge_costs(self, step_costs: FloatArray) -> FloatArray:
        """What every edge costs, (E,), where steps cost so much, (M,)."""
        costs = self.space.uses @ step_costs + self.space.workup.fee
        return np.asarray(costs[self.actions])

    def __len__(self) -> int:
        return len(self.states)


def compile_graph(
    workup: Workup, found: Mapping[str, str | None] | None = None, limit: int = MOST_STATES
) -> Graph:
    """The graph of all states that can be reached from a start."""
    space = StateSpace(workup)
    state, likelihood = space.start(found)
    rows, moves = {state: likelihood}, {}
    queue = [state]
    for state in queue:  # grows as new states are found
        moves[state] = list(space.moves(state))
        for action, branches in moves[state]:
            for branch in branches:
                if branch.state is not None and branch.state not in rows:
                    rows[branch.state] = rows[state] * space.chance(action, branch)
                    queue.append(branch.state)
        if len(queue) > limit:
            raise InputError(
                f"the work-up has more than {limit:,} states (perhaps {space.most_states():.3g}): use fewer noisy "
                "steps or outcomes, a hierarchy, or Workup.menu with protocols that people follow."
            )
    queue.sort(key=lambda state: _depth(state, space.n_classes))
    return _as_arrays(space, queue, rows, moves)


def _depth(state: State, n_classes: int) -> int:
    """Grows along every edge: more steps made, or fewer classes possible."""
    made = sum(outcome != UNUSED for outcome in state.outcomes)
    return made * (n_classes + 1) + n_classes - state.possible.bit_count()


def _as_arrays(
    space: StateSpace, states: list[State], rows: dict[State, FloatArray], moves: dict[State, Any]
) -> Graph:
    number, workup = {state: index for index, state in enumerate(states)}, space.workup
    edges, actions, children, more_edges, more = [0], [], [], [0], []
    for state in states:
        for action, branches in moves[state]:
            after = [number[branch.state] for branch in branches if branch.state is not None]
            first = [*after[:2], len(states), len(states)][:2]
            actions.append(action)
            children.append(first)
            more += after[2:]
            more_edges.append(len(more))
        edges.append(len(actions))
    stops = [(stop.losses, stop.names_class) for stop in workup.stops] or [(workup.unresolved, False)]
    can_go_on = np.diff(edges) > 0
    return Graph(
        space,
        tuple(states),
        np.array([rows[state] for state in states]),
        np.asarray(np.ones(len(states)) if workup.stops else ~can_go_on, dtype=np.intp),
        np.array(edges, dtype=np.intp),
        np.array(actions, dtype=np.intp),
        np.array(children, dtype=np.intp).reshape(-1, 2),
        np.array(more_edges, dtype=np.intp),
        np.array(more, dtype=np.intp),
        np.array([losses for losses, _ in stops]),
        np.array([names for _, names in stops], dtype=np.intp),
        np.array([len(set(losses)) == 1 and not names for losses, names in stops], dtype=np.intp),
    )


class GraphPolicy(Policy):
    """Everything else, by the state graph: compiled once, swept for all forecasts."""

    method, title = "graph", "the state graph"

    @cached_property
    def graph(self) -> Graph:
        """All states that can be reached."""
        return compile_graph(self.workup)

    @property
    def work_per_row(self) -> int:
        """Every edge is looked at once, by NumPy many rows at a time."""
        return max(1, len(self.graph.actions) // 4)

    def paid(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> FloatArray:
        """By walking the chosen policy along the outcomes that a class can give."""
        return self._costs(p, pairs, costs)[1]

    def predicted(self, p: FloatArray, costs: FloatArray) -> FloatArray:
        """The value of the start."""
        return self._costs(p, Pairs.of_table(np.zeros_like(p)), costs)[0]

    def _costs(self, p: FloatArray, pairs: Pairs, costs: FloatArray) -> tuple[FloatArray, FloatArray]:
        graph, edge_costs = self.graph, self.graph.edge_costs(costs)
        self.prepare(len(p))
        if self.loops_are_ready:
            return _compiled_costs(graph, p, pairs, edge_costs)
        fallback = reference.sweep(graph, np.ones((1, p.shape[1])), edge_costs)[1][:, 0]
        parts = []
        for rows in row_slices(len(p), len(graph) + 1):
            some = slice(*pairs.starts[[rows.start, rows.stop]])
            given = (p[rows], pairs.rows[some] - rows.start, pairs.truths[some])
            parts.append(reference.graph_costs(*given, graph, edge_costs, fallback))
        return np.concatenate([values for values, _ in parts]), np.concatenate([paid for _, paid in parts])


def _compiled_costs(
    graph: Graph, p: FloatArray, pairs: Pairs, edge_costs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    from pandora_regret.kernels.compiled import in_threads
    from pandora_regret.workup import loops

    arrays = graph.arrays
    fallback = loops.solve(np.ones(p.shape[1]), arrays, edge_costs)[1]
    values, paid = np.empty(len(p)), np.empty(len(pairs.rows))
    p = np.ascontiguousarray(p)

    def search(rows: slice) -> None:
        first, last = pairs.starts[[rows.start, rows.stop]]
        starts = pairs.starts[rows.start : rows.stop + 1] - first
        given = (p[rows], starts, pairs.truths[first:last], arrays, edge_costs, fallback)
        loops.graph_costs(*given, values[rows], paid[first:last])

    in_threads(search, len(p), len(p) * len(graph.actions))
    return values, paid

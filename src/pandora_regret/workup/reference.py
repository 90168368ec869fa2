"""Work-ups in plain NumPy and Python: the specification of the compiled loops.

The state graph, many rows at once. With ``q_k = p_k lik_k(s)`` the value of a state is

    V(s) = min( min_a sum_k q_k L(a, k),  min_t  c_t sum_k q_k + sum_o V(s, o) ).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pandora_regret.inputs import FloatArray, IntArray

if TYPE_CHECKING:
    from pandora_regret.workup.graph import Graph

AS_GOOD = 1 + 1e-13  # options that rounding cannot tell apart are equally good: the one listed first is taken
TIE = 1e-13  # the same of two blocks of steps
IMPOSSIBLE = np.iinfo(np.intp).min


def sweep(graph: Graph, p: FloatArray, edge_costs: FloatArray) -> tuple[FloatArray, IntArray]:
    """The least expected cost from each state on, (S + 1, n), and the option that has it, (S, n).

    Options are numbered: edges of a state from 0 up, ways to stop from -1 down. Where all of them cost nothing,
    because the forecast holds the state to be impossible, the number is `IMPOSSIBLE`.
    """
    value, choice = np.zeros((len(graph) + 1, len(p))), np.zeros((len(graph), len(p)), np.intp)
    for state in reversed(range(len(graph))):
        terms = p * graph.likelihood[state]
        mass, stops = terms.sum(axis=1), _stop_losses(graph, state, terms)
        edges = range(*graph.edges[state : state + 2])
        behind = [edge_costs[edge] * mass + value[children(graph, edge)].sum(axis=0) for edge in edges]
        numbers, options = (
            np.array([*range(-1, -1 - len(stops), -1), *range(len(edges))]),
            np.array([*stops, *behind]),
        )
        value[state] = options.min(axis=0)
        first = np.argmax(options <= value[state] * AS_GOOD, axis=0)
        choice[state] = np.where(mass > 0, numbers[first], IMPOSSIBLE)
    return value, choice


def children(graph: Graph, edge: int) -> IntArray:
    """The states that an edge leads to; among them perhaps the last, of value zero."""
    return np.concatenate([graph.children[edge], graph.more[slice(*graph.more_edges[edge : edge + 2])]])


def _stop_losses(graph: Graph, state: int, terms: FloatArray) -> list[FloatArray]:
    if not graph.may_stop[state]:
        return []
    weighted = [terms * losses for losses in graph.losses]
    pairs = zip(weighted, graph.names_class, strict=True)
    return [table.sum(axis=1) - (table.max(axis=1) if names else 0.0) for table, names in pairs]


def graph_costs(
    p: FloatArray, rows: IntArray, truths: IntArray, graph: Graph, edge_costs: FloatArray, fallback: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Each row's predicted cost, (n,), and what the policy of each of `rows` costs if `truths` are true."""
    value, choice = sweep(graph, p, edge_costs)
    reached, paid = np.zeros((len(graph) + 1, len(rows)), dtype=bool), np.zeros(len(rows))
    reached[0] = True
    for state in range(len(graph)):
        here = np.flatnonzero(reached[state])
        unlikely = choice[state, rows[here]] == IMPOSSIBLE
        options = np.where(unlikely, fallback[state], choice[state, rows[here]])
        chance = graph.likelihood[state, truths[here]]
        for option in np.unique(options):
            some = options == option
            pairs = here[some]
            if option < 0:
                believed = np.where(unlikely[some, None], 1.0, p[rows[pairs]]) * graph.likelihood[state]
                paid[pairs] += chance[some] * _lost(graph, -1 - option, believed, truths[pairs])
                continue
            edge = graph.edges[state] + option
            paid[pairs] += chance[some] * edge_costs[edge]
            for child in children(graph, edge):
                if child < len(graph):
                    reached[child, pairs] |= graph.likelihood[child, truths[pairs]] > 0
    return value[0], paid


def _lost(graph: Graph, stop: int, believed: FloatArray, truths: IntArray) -> FloatArray:
    """What stopping loses if these classes are true."""
    losses = graph.losses[stop]
    named = np.argmax(believed * losses, axis=1) if graph.names_class[stop] else np.full(len(truths), -1)
    return np.where(named == truths, 0.0, losses[truths])


def forest_order(masses: FloatArray, counts: FloatArray, parents: Sequence[int], costs: FloatArray) -> list[int]:
    """Horn's algorithm (1972): the best order of one row's steps, where each may need one other before it.

    Blocks of steps stick together. The block with the most probability per cost comes first: if the step it
    needs has not been made, it joins the block of that step, for nothing better can stand between the two;
    otherwise it is next. Blocks that cannot end the work-up go by the number of classes that they settle.
    """
    blocks, order = {step: [step] for step in range(len(costs))}, []
    while blocks:
        best, *others = blocks
        for other in others:
            best = other if _comes_before(blocks[other], blocks[best], masses, counts, costs) else best
        steps = blocks.pop(best)
        parent = parents[steps[0]]
        if parent >= 0 and parent not in order:
            next(block for block in blocks.values() if parent in block).extend(steps)
        else:
            order += steps
    return order


def _comes_before(
    block: list[int], other: list[int], masses: FloatArray, counts: FloatArray, costs: FloatArray
) -> bool:
    impossible = masses[block].sum() == 0 and masses[other].sum() == 0
    merit = counts if impossible else masses
    ours, theirs = merit[block].sum() * costs[other].sum(), merit[other].sum() * costs[block].sum()
    return bool(ours > theirs * (1 + TIE))

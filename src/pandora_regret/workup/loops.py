"""The hot loops of work-ups, compiled by numba.

The state graph is swept for 32 forecasts at once, each in its own lane: every inner loop runs over the lanes
without a branch, so it becomes vector code, and what it touches stays in the cache. Four edges at a time share
the loads and stores of a lane. Only values are swept; what a class costs is then found by walking from the start
along the outcomes that the class can give, and what to do is decided in the states met on the way, once.

Rows of lanes are addressed by two indices throughout: a view of a row would be counted as a reference each time.
"""

import numpy as np

from pandora_regret.kernels.jit import FAST, njit
from pandora_regret.workup.graph import BETTER, NOWHERE

LANES = 32
NO_CHOICE = 2**31  # where no option has a finite cost
INLINE = {**FAST, "forceinline": True}
IN_LANES = {
    **INLINE,
    "fastmath": {*FAST["fastmath"], "nnan"},
}  # nothing there is NaN: a minimum is one instruction


@njit(**FAST)
def graph_costs(p, starts, truths, graph, edge_costs, fallback, values, paid):
    """Each row's predicted cost into `values`, and what each of its truths costs into `paid`.

    `truths` holds the classes that are asked about, those of row n from ``starts[n]`` on; `fallback` what to do
    in states that a forecast holds to be impossible, from `solve`.
    """
    n_states, n_classes = graph.likelihood.shape
    value, mass = np.zeros((n_states + 1, LANES)), np.zeros((n_states + 1, LANES))
    lanes, stack = np.empty((n_classes, LANES)), np.empty(n_states + 1, np.intp)
    for first in range(0, len(p), LANES):
        used = min(LANES, len(p) - first)
        for lane in range(LANES):
            for k in range(n_classes):
                lanes[k, lane] = p[first + min(lane, used - 1), k]
        _sweep(lanes, graph, edge_costs, value, mass)
        for lane in range(used):
            row = first + lane
            values[row] = value[0, lane]
            for pair in range(starts[row], starts[row + 1]):
                paid[pair] = _walk(p[row], truths[pair], lane, value, mass, graph, edge_costs, fallback, stack)


@njit(**FAST)
def solve(p, graph, edge_costs):
    """Of every state its value for one forecast and its option, likely or not: as `sweep` of one row."""
    n_states, n_classes = graph.likelihood.shape
    value, mass = np.zeros((n_states + 1, LANES)), np.zeros((n_states + 1, LANES))
    lanes, choice = np.empty((n_classes, LANES)), np.empty(n_states, np.intp)
    for k in range(n_classes):
        lanes[k, :] = p[k]
    _sweep(lanes, graph, edge_costs, value, mass)
    for state in range(n_states):
        choice[state] = _option(p, state, 0, value, mass, graph, edge_costs)
    return value[:, 0].copy(), choice


@njit(**FAST)
def _sweep(p, graph, edge_costs, value, mass):
    """The least expected cost from every state on, and the probability of each state, (S + 1, lanes)."""
    likelihood, may_stop, edges, more_edges, children, more, behind, ended, losses, weighted, names, flat = graph
    best, total, largest = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    for state in range(len(likelihood) - 1, -1, -1):
        if behind[state, 0] == NOWHERE:
            _sum(p, likelihood, mass, state)
        else:
            _add_up(p, behind[state, 0], behind[state, 1], behind[state, 2], ended[state], mass, state)
        for lane in range(LANES):
            best[lane] = np.inf
        for stop in range(len(losses) if may_stop[state] else 0):
            if flat[stop]:
                _constant_loss(losses[stop, 0], mass, state, best)
                continue
            _weigh(p, weighted, stop * len(likelihood) + state, total, largest)
            for lane in range(LANES):
                best[lane] = min(best[lane], total[lane] + (0.0 if names[stop] else largest[lane]))
        _best_edge(state, edges, edge_costs, children, more_edges, more, mass, value, total, best)
        for lane in range(LANES):
            value[state, lane] = best[lane]


@njit(**INLINE)
def _constant_loss(loss, mass, state, best):
    for lane in range(LANES):
        best[lane] = min(best[lane], loss * mass[state, lane])


@njit(**INLINE)
def _sum(p, likelihood, mass, state):
    """The probability of a state over all classes."""
    for lane in range(LANES):
        mass[state, lane] = 0.0
    for k in range(len(p)):
        for lane in range(LANES):
            mass[state, lane] += likelihood[state, k] * p[k, lane]


@njit(**INLINE)
def _add_up(p, one, two, k, weight, mass, state):
    """The probability of a state from those of two states behind it and a class that ends there."""
    for lane in range(LANES):
        mass[state, lane] = mass[one, lane] + mass[two, lane] + weight * p[k, lane]


@njit(**IN_LANES)
def _weigh(p, weights, state, others, largest):
    """The largest of ``weights[state, k] p_k`` over classes, and the sum of the others."""
    for lane in range(LANES):
        others[lane], largest[lane] = 0.0, weights[state, 0] * p[0, lane]
    for k in range(1, len(p)):
        weight = weights[state, k]
        for lane in range(LANES):
            term = weight * p[k, lane]
            others[lane] += min(term, largest[lane])
            largest[lane] = max(term, largest[lane])


@njit(**INLINE)
def _best_edge(state, edges, costs, children, more_edges, more, mass, value, total, best):
    """The edges of a state, where they are better; four at a time where they have two children each."""
    last = edges[state + 1] - 1
    for edge in range(edges[state], last + 1, 4):
        if more_edges[edge] == more_edges[min(edge + 3, last) + 1]:
            _four_edges(edge, last, costs, children, mass, state, value, best)
            continue
        for one in range(edge, min(edge + 3, last) + 1):
            first, second, cost = children[one, 0], children[one, 1], costs[one]
            for lane in range(LANES):
                total[lane] = cost * mass[state, lane] + value[first, lane] + value[second, lane]
            for index in range(more_edges[one], more_edges[one + 1]):
                child = more[index]
                for lane in range(LANES):
                    total[lane] += value[child, lane]
            for lane in range(LANES):
                best[lane] = min(best[lane], total[lane])


@njit(**IN_LANES)
def _four_edges(edge, last, costs, children, mass, state, value, best):
    """Up to four edges; the last one is repeated where there are fewer."""
    f, g, h = min(edge + 1, last), min(edge + 2, last), min(edge + 3, last)
    e0, f0, g0, h0 = children[edge, 0], children[f, 0], children[g, 0], children[h, 0]
    e1, f1, g1, h1 = children[edge, 1], children[f, 1], children[g, 1], children[h, 1]
    of_e, of_f, of_g, of_h = costs[edge], costs[f], costs[g], costs[h]
    for lane in range(LANES):
        weight = mass[state, lane]
        a = of_e * weight + value[e0, lane] + value[e1, lane]
        b = of_f * weight + value[f0, lane] + value[f1, lane]
        c = of_g * weight + value[g0, lane] + value[g1, lane]
        d = of_h * weight + value[h0, lane] + value[h1, lane]
        best[lane] = min(best[lane], min(min(a, b), min(c, d)))


@njit(**FAST)
def _option(p, state, lane, value, mass, graph, edge_costs):
    """What the forecast in a lane does in a state: -1 less the number of a stop, or the number of an edge."""
    likelihood, may_stop, edges, more_edges, children, more, _, _, losses, weighted, names, _ = graph
    best, option = np.inf, NO_CHOICE
    for stop in range(len(losses) if may_stop[state] else 0):
        others, largest = 0.0, 0.0
        for k in range(len(p)):
            term = p[k] * weighted[stop * len(likelihood) + state, k]
            others += min(term, largest)
            largest = max(term, largest)
        total = others + (0.0 if names[stop] else largest)
        if total < best * BETTER:
            best, option = total, -1 - stop
    for edge in range(edges[state], edges[state + 1]):
        if value[state, lane] >= best * BETTER:  # no other is better
            break
        total = edge_costs[edge] * mass[state, lane]
        total += value[children[edge, 0], lane] + value[children[edge, 1], lane]
        for index in range(more_edges[edge], more_edges[edge + 1]):
            total += value[more[index], lane]
        if total < best * BETTER:
            best, option = total, edge - edges[state]
    return option


@njit(**FAST)
def _walk(p, k, lane, value, mass, graph, edge_costs, fallback, stack):
    """What the policy of the forecast in a lane costs if class k is the truth; NaN if it knows no way to end."""
    likelihood, _, edges, more_edges, children, more, _, _, losses, weighted, names, _ = graph
    stack[0], size, paid = 0, 1, 0.0
    while size:
        size -= 1
        state = stack[size]
        likely, chance = mass[state, lane] > 0, likelihood[state, k]
        option = _option(p, state, lane, value, mass, graph, edge_costs) if likely else fallback[state]
        if option < 0:
            stop = -1 - option
            right = names[stop] and k == _named(p, weighted, stop * len(likelihood) + state, likely)
            paid += 0.0 if right else chance * losses[stop, k]
            continue
        if option == NO_CHOICE:
            return np.nan
        edge = edges[state] + option
        paid += chance * edge_costs[edge]
        for index in range(2 + more_edges[edge + 1] - more_edges[edge]):
            child = children[edge, index] if index < 2 else more[more_edges[edge] + index - 2]
            if child < len(likelihood) and likelihood[child, k] > 0:
                stack[size] = child
                size += 1
    return paid


@njit(**FAST)
def _named(p, weighted, row, likely):
    """The class whose loss is avoided by naming it; where nothing is likely, as if all classes were alike."""
    named, largest = 0, -1.0
    for k in range(len(p)):
        term = weighted[row, k] * (p[k] if likely else 1.0)
        if term > largest:
            named, largest = k, term
    return named

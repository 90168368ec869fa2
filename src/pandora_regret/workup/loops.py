"""The hot loops of work-ups, compiled by numba.

The state graph is swept for many forecasts at once, each in its own lane: every inner loop runs over the lanes
without a branch, so it becomes vector code, and what it touches stays in the cache. Only values are swept; what a
class costs is then found by walking from the start along the outcomes that the class can give, and what to do is
decided in the states met on the way. The last lane holds all classes to be alike: it decides where a forecast
holds a state to be impossible.

Rows of lanes are addressed by two indices throughout: a view of a row would be counted as a reference each time.
"""

import numpy as np

from pandora_regret.core.kernels.horn import BETTER
from pandora_regret.core.kernels.numba_cache import FAST, njit

ALIKE = 31  # the last lane
LANES = ALIKE + 1
TOGETHER = 128  # states whose masses are one product of matrices: too small for threads, which are ours
IN_LANES = {**FAST, "forceinline": True, "fastmath": {*FAST["fastmath"], "nnan"}}  # a minimum is one instruction


@njit(**FAST)
def graph_costs(p, truths, graph, edge_costs, paid):
    """What the policy of each row of p, (n, K), costs under each of its truths, (n, T), into `paid`, (n, T)."""
    n_states, n_classes = graph.likelihood.shape
    value, lanes = np.zeros((n_states + 3, LANES)), np.ones((n_classes, LANES))
    stack = np.empty(n_states + 1, np.intp)
    for first in range(0, len(p), ALIKE):
        used = min(ALIKE, len(p) - first)
        lanes[:, :used] = p[first : first + used].T
        _sweep(lanes, graph, edge_costs, value)
        for lane in range(used):
            row = first + lane
            for place in range(truths.shape[1]):
                paid[row, place] = _walk(lanes, truths[row, place], lane, value, graph, edge_costs, stack)


@njit(**FAST)
def _sweep(p, graph, edge_costs, value):
    """The least expected cost from every state on; behind these, rows for a state of no cost and for two sums."""
    likelihood, may_stop, edges, children, losses, names = graph
    total, largest, n_states = np.empty(LANES), np.empty(LANES), len(likelihood)
    sum_of_one, sum_of_other = np.uint32(n_states + 1), np.uint32(n_states + 2)
    for start in range(0, n_states, TOGETHER):
        masses = np.dot(likelihood[start : start + TOGETHER], p)
        for state in range(start, min(start + TOGETHER, n_states)):
            for lane in range(LANES):
                value[state, lane] = np.inf
            for stop in range(len(losses) if may_stop[state] else 0):
                _stop(p, likelihood, state, losses, stop, names[stop], total, largest, value)
            for one in range(edges[state], edges[state + 1], 2):
                other = min(one + 1, edges[state + 1] - 1)
                rest, other_rest = children[one, 1], children[other, 1]
                if children.shape[1] > 2:
                    rest, other_rest = sum_of_one, sum_of_other
                    _add_up(children, one, value, rest)
                    _add_up(children, other, value, other_rest)
                _two_edges(masses, state - start, edge_costs, children, one, other, rest, other_rest, value, state)


@njit(**IN_LANES)
def _stop(p, likelihood, state, losses, stop, names_class, total, largest, value):
    """The expected loss of a way to stop, without the largest term where that class is named."""
    for lane in range(LANES):
        total[lane], largest[lane] = 0.0, 0.0
    for k in range(len(p)):
        weight = likelihood[state, k] * losses[stop, k]
        for lane in range(LANES):
            term = weight * p[k, lane]
            total[lane] += min(term, largest[lane])
            largest[lane] = max(term, largest[lane])
    for lane in range(LANES):
        value[state, lane] = min(value[state, lane], total[lane] + (0.0 if names_class else largest[lane]))


@njit(**FAST)
def _add_up(children, edge, value, row):
    """The sum of the values of all children of an edge but the first."""
    second, third = children[edge, 1], children[edge, 2]
    for lane in range(LANES):
        value[row, lane] = value[second, lane] + value[third, lane]
    for index in range(3, children.shape[1]):
        child = children[edge, index]
        for lane in range(LANES):
            value[row, lane] += value[child, lane]


@njit(**IN_LANES)
def _two_edges(masses, place, costs, children, one, other, rest, other_rest, value, state):
    """Two edges share loads and stores; where there is only one, it is taken twice."""
    cost, other_cost, first, other_first = costs[one], costs[other], children[one, 0], children[other, 0]
    for lane in range(LANES):
        mass = masses[place, lane]
        total = cost * mass + value[first, lane] + value[rest, lane]
        other_total = other_cost * mass + value[other_first, lane] + value[other_rest, lane]
        value[state, lane] = min(value[state, lane], min(total, other_total))


@njit(**FAST)
def _walk(p, k, lane, value, graph, edge_costs, stack):
    """What the policy of the forecast in a lane costs if class k is the truth."""
    likelihood, _, _, children, losses, _ = graph
    stack[0], size, paid = len(likelihood) - 1, 1, 0.0
    while size:
        size -= 1
        state = stack[size]
        option, named = _option(p, lane, state, value, graph, edge_costs)
        if option < 0:
            paid += 0.0 if named == k else likelihood[state, k] * losses[-1 - option, k]
            continue
        paid += likelihood[state, k] * edge_costs[option]
        for index in range(children.shape[1]):
            child = children[option, index]
            if child < len(likelihood) and likelihood[child, k] > 0:
                stack[size] = child
                size += 1
    return paid


@njit(**FAST)
def _option(p, lane, state, value, graph, edge_costs):
    """The first option that costs no more than the best, but for rounding, and the class that it names, or -1."""
    likelihood, may_stop, edges, children, losses, names = graph
    mass = _weigh(p, lane, likelihood[state])[0]
    if mass == 0:
        lane, mass = ALIKE, np.sum(likelihood[state])
    for stop in range(len(losses) if may_stop[state] else 0):
        total, others, named = _weigh(p, lane, likelihood[state] * losses[stop])
        if (others if names[stop] else total) * BETTER <= value[state, lane]:
            return -1 - stop, named if names[stop] else -1
    option = edges[state]
    while option < edges[state + 1] - 1:
        total = edge_costs[option] * mass
        for child in children[option]:
            total += value[child, lane]
        if total * BETTER <= value[state, lane]:
            break
        option += 1
    return option, -1


@njit(**FAST)
def _weigh(p, lane, weights):
    """The weighted sum of probabilities in a lane, the same without its largest term, and the class of that."""
    others, largest, named = 0.0, 0.0, 0
    for k in range(len(p)):
        term = weights[k] * p[k, lane]
        others += min(term, largest)
        if term > largest:
            largest, named = term, k
    return others + largest, others, named

"""The hot loops of work-ups, compiled by numba.

The state graph is swept for many forecasts at once, each in its own lane: every inner loop runs over the lanes
without a branch, so it becomes vector code, and what it touches stays in the cache. Only values are swept; what a
class costs is then found by walking from the start along the outcomes that the class can give, and what to do is
decided in the states met on the way. The last lane holds all classes to be alike: it decides where a forecast
holds a state to be impossible.

Rows of lanes are addressed by two indices throughout: a view of a row would be counted as a reference each time.
"""

import numpy as np

from pandora_regret.core.kernels.horn import CLEARLY_LESS
from pandora_regret.core.kernels.numba_cache import FAST, njit

EVEN_LANE = 31  # the last lane
LANES = EVEN_LANE + 1
STATES_TOGETHER = 128  # states whose masses are one product of matrices: too small for threads, which are ours
IN_LANES = {**FAST, "forceinline": True, "fastmath": {*FAST["fastmath"], "nnan"}}  # a minimum is one instruction


@njit(**FAST)
def graph_costs(p, truths, graph, edge_costs, paid):
    """What the policy of each row of p, (n, K), costs under each of its truths, (n, T), into `paid`, (n, T)."""
    n_states, n_classes = graph.likelihood.shape
    value = np.zeros((n_states + 3, LANES))
    lanes = np.ones((n_classes, LANES))
    stack = np.empty(n_states + 1, np.intp)
    for first in range(0, len(p), EVEN_LANE):
        used = min(EVEN_LANE, len(p) - first)
        lanes[:, :used] = p[first : first + used].T
        _sweep(lanes, graph, edge_costs, value)
        for lane in range(used):
            row = first + lane
            for place in range(truths.shape[1]):
                paid[row, place] = _walk_policy(lanes, truths[row, place], lane, value, graph, edge_costs, stack)


@njit(**FAST)
def _sweep(p, graph, edge_costs, value):
    """The least expected cost from every state on; behind these, rows for a state of no cost and for two sums."""
    n_states = len(graph.likelihood)
    total = np.empty(LANES)
    largest = np.empty(LANES)
    for start in range(0, n_states, STATES_TOGETHER):
        masses = np.dot(graph.likelihood[start : start + STATES_TOGETHER], p)
        for state in range(start, min(start + STATES_TOGETHER, n_states)):
            for lane in range(LANES):
                value[state, lane] = np.inf
            if graph.may_stop[state]:
                for stop in range(len(graph.losses)):
                    _stop(p, graph, state, stop, total, largest, value)
            for edge in range(graph.edges[state], graph.edges[state + 1], 2):
                next_edge = min(edge + 1, graph.edges[state + 1] - 1)
                _two_edges(masses, state - start, edge_costs, graph.children, edge, next_edge, value, state)


@njit(**IN_LANES)
def _stop(p, graph, state, stop, total, largest, value):
    """The expected loss of a way to stop, without the largest term where that class is named."""
    for lane in range(LANES):
        total[lane] = 0.0
        largest[lane] = 0.0
    for k in range(len(p)):
        weight = graph.likelihood[state, k] * graph.losses[stop, k]
        for lane in range(LANES):
            term = weight * p[k, lane]
            total[lane] += min(term, largest[lane])
            largest[lane] = max(term, largest[lane])
    names_class = graph.names_class[stop]
    for lane in range(LANES):
        value[state, lane] = min(value[state, lane], total[lane] + (0.0 if names_class else largest[lane]))


@njit(**IN_LANES)
def _two_edges(masses, place, costs, children, first, second, value, state):
    """Two edges share loads and stores; where there is only one, it is taken twice.

    An edge leads to its first child and to the rest: the second, or a row in which the others are added up.
    """
    first_rest = children[first, 1]
    second_rest = children[second, 1]
    if children.shape[1] > 2:
        first_rest = np.uint32(len(value) - 2)
        second_rest = np.uint32(len(value) - 1)
        _add_up_children(children, first, value, first_rest)
        _add_up_children(children, second, value, second_rest)
    first_cost = costs[first]
    second_cost = costs[second]
    first_child = children[first, 0]
    second_child = children[second, 0]
    for lane in range(LANES):
        mass = masses[place, lane]
        first_total = first_cost * mass + value[first_child, lane] + value[first_rest, lane]
        second_total = second_cost * mass + value[second_child, lane] + value[second_rest, lane]
        value[state, lane] = min(value[state, lane], min(first_total, second_total))


@njit(**FAST)
def _add_up_children(children, edge, value, row):
    """The sum of the values of all children of an edge but the first, into a row of values."""
    second = children[edge, 1]
    third = children[edge, 2]
    for lane in range(LANES):
        value[row, lane] = value[second, lane] + value[third, lane]
    for index in range(3, children.shape[1]):
        child = children[edge, index]
        for lane in range(LANES):
            value[row, lane] += value[child, lane]


@njit(**FAST)
def _walk_policy(p, k, lane, value, graph, edge_costs, stack):
    """What the policy of the forecast in a lane costs if class k is the truth."""
    start = len(graph.likelihood) - 1
    stack[0] = start
    size = 1
    paid = 0.0
    while size:
        size -= 1
        state = stack[size]
        option, named = _option(p, lane, state, value, graph, edge_costs)
        if option < 0:
            if named != k:
                paid += graph.likelihood[state, k] * graph.losses[-1 - option, k]
            continue
        paid += graph.likelihood[state, k] * edge_costs[option]
        for index in range(graph.children.shape[1]):
            child = graph.children[option, index]
            if child <= start and graph.likelihood[child, k] > 0:
                stack[size] = child
                size += 1
    return paid


@njit(**FAST)
def _option(p, lane, state, value, graph, edge_costs):
    """The first option that costs no more than the best, but for rounding, and the class that it names, or -1."""
    mass = _weigh(p, lane, graph.likelihood[state])[0]
    if mass == 0:  # the forecast holds the state to be impossible
        lane = EVEN_LANE
        mass = np.sum(graph.likelihood[state])
    if graph.may_stop[state]:
        for stop in range(len(graph.losses)):
            total, but_largest, named = _weigh(p, lane, graph.likelihood[state] * graph.losses[stop])
            names_class = graph.names_class[stop]
            lost = but_largest if names_class else total
            if lost * CLEARLY_LESS <= value[state, lane]:
                return -1 - stop, named if names_class else -1
    option = graph.edges[state]
    while option < graph.edges[state + 1] - 1:
        total = edge_costs[option] * mass
        for child in graph.children[option]:
            total += value[child, lane]
        if total * CLEARLY_LESS <= value[state, lane]:
            break
        option += 1
    return option, -1


@njit(**FAST)
def _weigh(p, lane, weights):
    """The weighted sum of probabilities in a lane, the same without its largest term, and the class of that."""
    but_largest = 0.0
    largest = 0.0
    largest_class = 0
    for k in range(len(p)):
        term = weights[k] * p[k, lane]
        but_largest += min(term, largest)
        if term > largest:
            largest = term
            largest_class = k
    return but_largest + largest, but_largest, largest_class

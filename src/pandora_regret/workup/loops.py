"""The hot loops of work-ups, compiled by numba.

The state graph is swept for 32 forecasts at once, each in its own lane: every inner loop runs over the lanes
without a branch, so it becomes vector code, and what it touches stays in the cache. Only values and choices are
swept; what a class costs is then found by walking from the start along the outcomes that the class can give.

Rows of lanes are addressed by two indices throughout: a view of a row would be counted as a reference each time.
"""

import numpy as np

from pandora_regret.kernels.horn import BETTER
from pandora_regret.kernels.jit import FAST, njit

LANES = 32
TINY = 1e-100  # as long as no probability is smaller, no state is impossible
IN_LANES = {**FAST, "forceinline": True, "fastmath": {*FAST["fastmath"], "nnan"}}  # a minimum is one instruction


@njit(**FAST)
def graph_costs(p, starts, truths, graph, edge_costs, values, paid):
    """Each row's predicted cost into `values`, and what each of its truths costs into `paid`.

    `truths` holds the classes that are asked about, those of row n from ``starts[n]`` on.
    """
    n_states, n_classes = graph.likelihood.shape
    value, choice = np.zeros((n_states + 1, LANES)), np.zeros((n_states, LANES), np.int16)
    lanes, stack = np.ones((n_classes, LANES)), np.empty(n_states + 1, np.intp)
    if np.min(p) < TINY:
        _sweep(lanes, graph, edge_costs, value, choice)
    fallback = choice[:, 0].copy()  # what to do in states that a forecast holds to be impossible
    for first in range(0, len(p), LANES):
        used = min(LANES, len(p) - first)
        for lane in range(LANES):
            for k in range(n_classes):
                lanes[k, lane] = p[first + min(lane, used - 1), k]
        mass = _sweep(lanes, graph, edge_costs, value, choice)
        for lane in range(used):
            row = first + lane
            values[row] = value[0, lane]
            for pair in range(starts[row], starts[row + 1]):
                paid[pair] = _walk(p[row], truths[pair], lane, mass, choice, graph, edge_costs, fallback, stack)


@njit(**FAST)
def _sweep(p, graph, edge_costs, value, choice):
    """The least expected cost from every state on, the option that has it, and the probability of each state."""
    likelihood, may_stop, edges, children, losses, weighted, names = graph
    best, taken, total, largest = np.empty(LANES), np.empty(LANES, np.intp), np.zeros(LANES), np.empty(LANES)
    mass, nowhere = np.dot(likelihood, p), len(likelihood)
    for state in range(nowhere - 1, -1, -1):
        best[:], taken[:] = np.inf, 0
        for stop in range(len(losses) if may_stop[state] else 0):
            _weigh(p, weighted, stop * nowhere + state, names[stop], total, largest)
            _take(total, 0.0, mass, state, value, nowhere, nowhere, -1 - stop, best, taken)
        total[:] = 0.0
        for edge in range(edges[state], edges[state + 1]):
            for index in range(2, children.shape[1]):
                _add(value, children[edge, index], total, index > 2)
            one, two = children[edge, 0], children[edge, 1]
            _take(total, edge_costs[edge], mass, state, value, one, two, edge - edges[state], best, taken)
        for lane in range(LANES):
            value[state, lane], choice[state, lane] = best[lane], taken[lane]
    return mass


@njit(**IN_LANES)
def _add(value, child, total, more):
    for lane in range(LANES):
        total[lane] = value[child, lane] + (total[lane] if more else 0.0)


@njit(**IN_LANES)
def _weigh(p, weights, row, names_class, total, largest):
    """The sum of ``weights[row, k] p_k`` over classes, without the largest where that class is named."""
    for lane in range(LANES):
        total[lane], largest[lane] = 0.0, 0.0
    for k in range(len(p)):
        for lane in range(LANES):
            term = weights[row, k] * p[k, lane]
            total[lane] += min(term, largest[lane])
            largest[lane] = max(term, largest[lane])
    for lane in range(LANES):
        total[lane] += 0.0 if names_class else largest[lane]


@njit(**IN_LANES)
def _take(rest, cost, mass, state, value, one, two, option, best, taken):
    """An option where it is better: what it costs in a state, the values of two children, and the rest."""
    for lane in range(LANES):
        total = cost * mass[state, lane] + value[one, lane] + value[two, lane] + rest[lane]
        better = total < best[lane] * BETTER
        best[lane] = total if better else best[lane]
        taken[lane] = option if better else taken[lane]


@njit(**FAST)
def _walk(p, k, lane, mass, choice, graph, edge_costs, fallback, stack):
    """What the policy of the forecast in a lane costs if class k is the truth."""
    likelihood, _, edges, children, losses, weighted, names = graph
    stack[0], size, paid = 0, 1, 0.0
    while size:
        size -= 1
        state = stack[size]
        likely, chance = mass[state, lane] > 0, likelihood[state, k]
        option = choice[state, lane] if likely else fallback[state]
        if option < 0:
            terms = weighted[(-1 - option) * len(likelihood) + state]
            named = np.argmax(terms * p if likely else terms) if names[-1 - option] else -1
            paid += 0.0 if named == k else chance * losses[-1 - option, k]
            continue
        edge = edges[state] + option
        paid += chance * edge_costs[edge]
        for index in range(children.shape[1]):
            child = children[edge, index]
            if child < len(likelihood) and likelihood[child, k] > 0:
                stack[size] = child
                size += 1
    return paid

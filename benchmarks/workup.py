"""What work-ups cost, public calls with all their checks, against yardsticks of the same run.

Run with ``python benchmarks/workup.py`` on a quiet machine.
"""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import numpy as np
from numba import njit
from yardstick import best, claim, finish, record

import pandora_regret as pr
from pandora_regret.kernels import engine
from pandora_regret.kernels.engine import in_threads
from pandora_regret.workup.policies import exact_policy

ROWS = 10_000


def forecasts(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, k, n), rng.dirichlet(np.ones(k), n)


def classes(k: int) -> list[str]:
    return [f"class {i}" for i in range(k)]


def panels(k: int, n_panels: int) -> pr.Workup:
    """A definitive test per class, and tests that say in which half of the classes the truth lies."""
    rng, names = np.random.default_rng(1), classes(k)
    steps: dict[str, Any] = {f"test {i}": {"cost": rng.uniform(1, 3), "confirms": names[i]} for i in range(k)}
    for i in range(n_panels):
        half = [names[j] for j in sorted(rng.choice(k, k // 2, replace=False))]
        steps[f"panel {i}"] = {"cost": rng.uniform(1, 2), "positive_for": half, "sensitivity": 1, "specificity": 1}
    return pr.Workup(names, steps)


def noisy(k: int, n_tests: int) -> pr.Workup:
    """Binary tests that shift the odds, and a loss for naming the wrong class."""
    rng, names = np.random.default_rng(2), classes(k)
    rows = rng.uniform(0.02, 0.98, (n_tests, k))
    steps = {
        f"test {i}": {
            "cost": rng.uniform(1, 3),
            "outcomes": {"yes": dict(zip(names, row.tolist(), strict=True)), "no": "otherwise"},
        }
        for i, row in enumerate(rows)
    }
    return pr.Workup(names, steps, stops={"name": {"wrong": 30}})


PLAIN = {"nogil": True, "error_model": "numpy"}


@njit(**PLAIN)
def plain_recursion(p, truth, graph, stops, edge_costs, out):
    """The recursion as it is written down: one row at a time, V and J of every state."""
    likelihood, may_stop, edges, children, more_edges, more = graph
    losses, names_class = stops
    n_states, n_classes = likelihood.shape
    value, paid = np.zeros(n_states + 1), np.zeros((n_states + 1, n_classes))
    for row in range(len(p)):
        for state in range(n_states - 1, -1, -1):
            least, option, named = np.inf, 0, -1
            if may_stop[state]:
                least, option, named = best_stop(p, row, likelihood, state, losses, names_class)
            mass = 0.0
            for k in range(n_classes):
                mass += p[row, k] * likelihood[state, k]
            for edge in range(edges[state], edges[state + 1]):
                total = edge_costs[edge] * mass + value[children[edge, 0]] + value[children[edge, 1]]
                for index in range(more_edges[edge], more_edges[edge + 1]):
                    total += value[more[index]]
                if total < least:
                    least, option = total, edge
            value[state] = least
            pay(state, option, named, likelihood, children, more_edges, more, losses, edge_costs, paid)
        out[row] = paid[0, truth[row]]


@njit(**PLAIN, forceinline=True)
def best_stop(p, row, likelihood, state, losses, names_class):
    least, option, named = np.inf, 0, -1
    for stop in range(len(losses)):
        for name in range(likelihood.shape[1] if names_class[stop] else 1):
            total = 0.0
            for k in range(likelihood.shape[1]):
                if not (names_class[stop] and k == name):
                    total += p[row, k] * likelihood[state, k] * losses[stop, k]
            if total < least:
                least, option, named = total, -1 - stop, name if names_class[stop] else -1
    return least, option, named


@njit(**PLAIN, forceinline=True)
def pay(state, option, named, likelihood, children, more_edges, more, losses, edge_costs, paid):
    for k in range(paid.shape[1]):
        if option < 0:
            paid[state, k] = 0.0 if k == named else likelihood[state, k] * losses[-1 - option, k]
            continue
        total = edge_costs[option] * likelihood[state, k]
        total += paid[children[option, 0], k] + paid[children[option, 1], k]
        for index in range(more_edges[option], more_edges[option + 1]):
            total += paid[more[index], k]
        paid[state, k] = total


def state_graph(what: str, workup: pr.Workup, rows: int) -> None:
    truth, p = forecasts(rows, len(workup.classes))
    compiled_graph = exact_policy(workup).graph
    edge_costs, graph, out = compiled_graph.edge_costs(workup.costs), compiled_graph.arrays, np.empty(rows)
    arrays = (graph.likelihood, graph.may_stop, graph.edges, graph.children, graph.more_edges, graph.more)
    stops = (graph.losses, graph.names_class)

    def one_by_one() -> None:
        def some(part: slice) -> None:
            plain_recursion(p[part], truth[part], arrays, stops, edge_costs, out[part])

        in_threads(some, rows, rows * len(edge_costs))

    seconds = best(lambda: pr.workup_cost(truth, p, workup))
    unit = best(one_by_one, repeats=2)
    assert np.allclose(out, pr.workup_cost(truth, p, workup, per_instance=True), rtol=1e-10)
    per_row = f", {1e6 * seconds / rows:.1f} us per forecast"
    claim(f"{what}, {len(graph.likelihood):,} states{per_row}", seconds, "the plain recursion", unit, 1 / 10)


def hierarchy() -> None:
    names = [f"{group}{leaf}" for group in "abcd" for leaf in range(3)]
    tree = {group: {"cost": 3, **{f"{group}{leaf}": 1 + leaf for leaf in range(3)}} for group in "abcd"}
    workup = pr.Workup(names, hierarchy=tree)
    truth, p = forecasts(200_000, len(names))
    costs = np.linspace(1, 3, len(names))
    unit = best(lambda: pr.search_cost(truth, p, costs))
    claim("hierarchy, 200,000 x 12", best(lambda: pr.workup_cost(truth, p, workup)), "search_cost", unit, 5)


def forest() -> None:
    names = classes(10)
    steps: dict[str, Any] = {"visit": {"cost": 2}, "admission": {"cost": 5, "requires": "visit"}}
    for k, name in enumerate(names):
        steps[f"test {k}"] = {"cost": 1 + k / 3, "requires": ["visit", "admission"][k % 2], "tells_apart": [name]}
    workup = pr.Workup(names, steps)
    truth, p = forecasts(100_000, 10)
    unit = best(lambda: pr.search_order(p, np.linspace(1, 4, 10)))
    claim("forest, 100,000 x 10", best(lambda: pr.workup_cost(truth, p, workup)), "search_order", unit, 5)


@njit(**PLAIN)
def burn(n):
    total = 0.0
    for i in range(n):
        total += np.sin(1e-3 * i)
    return total


def threads() -> None:
    """Of work-ups, and of a loop that shares nothing: where that gains nothing, the cores are taken by others."""
    workup, (truth, p) = panels(10, 5), forecasts(4 * ROWS, 10)
    cores = engine._n_threads()

    def gain(work: Any) -> float:
        every = best(work)
        engine._n_threads = lambda: 1
        one = best(work)
        engine._n_threads = lambda: cores
        return one / every

    ours = gain(lambda: pr.workup_cost(truth, p, workup))
    alone = gain(lambda: in_threads(lambda part: burn(part.stop - part.start), 10**7, 10**9))
    holds = ours >= 1.6 if cores > 1 and alone >= 1.6 else None
    against = f"{cores} threads against one, at least 1.6; a loop that shares nothing gains {alone:.2f} x"
    record("state graph, 40,000 x 10", f"{ours:.2f} x", against, holds)


def memory() -> None:
    """Peak allocation beyond the arguments: as much for ten times as many rows, but for one number per row."""
    workup, peaks = noisy(10, 8), []
    for rows in (30_000, 300_000):
        truth, p = forecasts(rows, 10)
        pr.workup_cost(truth[:20_000], p[:20_000], workup)
        tracemalloc.start()
        pr.workup_cost(truth, p, workup)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    small, large = (f"{peak / 1e6:.1f} MB" for peak in peaks)
    holds = peaks[1] <= peaks[0] + 16 * 300_000
    record("memory, 6,561 states", f"{small} at 30,000, {large} at 300,000 rows", "no N x states", holds)


if __name__ == "__main__":
    state_graph("10 classes, 15 deterministic tests", panels(10, 5), ROWS)
    state_graph("10 classes, 8 noisy tests", noisy(10, 8), ROWS // 4)
    hierarchy()
    forest()
    threads()
    memory()
    sys.exit(finish())

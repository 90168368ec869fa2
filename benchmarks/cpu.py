"""What scoring costs on the CPU, public calls with all their checks, against yardsticks of the same run.

Run with ``python benchmarks/cpu.py`` on a quiet machine.
"""

from __future__ import annotations

import os
import platform
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from sklearn.metrics import log_loss
from yardstick import best, claim, finish, record

import pandora_regret as pr
from pandora_regret.inputs import read_probabilities
from pandora_regret.kernels import every_truth

SHAPES = [(1_000_000, 7), (200_000, 100), (20_000, 1000)]


def forecasts(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    table = rng.exponential(size=(n, k))
    return rng.integers(0, k, n), table / table.sum(axis=1, keepdims=True)


def scores(n: int, k: int) -> None:
    truth, table = forecasts(n, k)
    single, logits, labels = table.astype(np.float32), np.log(table), np.arange(k)
    shape, unit = f"{n:,} x {k}", best(lambda: table.sum(axis=1))

    def of_logits(alpha: float) -> float:
        return best(lambda: pr.pandora_regret(truth, logits, alpha=alpha, logits=True))

    probabilities = best(lambda: pr.pandora_regret(truth, table))
    claim(f"probabilities, {shape}", probabilities, "P.sum(axis=1)", unit, 1.5)
    claim(f"float32, {shape}", best(lambda: pr.pandora_regret(truth, single)), "P.sum(axis=1)", unit, 1.5)
    for alpha in (1.0, 0.37):
        claim(f"logits, alpha {alpha}, {shape}", of_logits(alpha), "P.sum(axis=1)", unit, 4.0)
    sklearn = best(lambda: log_loss(truth, table, labels=labels))
    claim(f"probabilities, {shape}", probabilities, "sklearn log_loss", sklearn, 1 / 15)


def argsort_simulator(truth: np.ndarray, table: np.ndarray, draws: int) -> float:
    """The search as most would write it: sort, accumulate, look up."""
    rng, total = np.random.default_rng(0), 0.0
    for _ in range(draws):
        costs = rng.random(table.shape[1])
        order = np.argsort(-table / costs, axis=1)
        spent = np.cumsum(costs[order], axis=1)
        total += spent[order == truth[:, None]].mean()
    return total / draws


def simulation() -> None:
    truth, table = forecasts(2005, 7)
    seconds = best(lambda: pr.simulate_search(truth, table, draws=1000, seed=0))
    unit = best(lambda: argsort_simulator(truth, table, 1000))
    claim("simulate_search, 2,005 x 7, 1,000 draws", seconds, "argsort simulator", unit, 1 / 30)


def entropy() -> None:
    _, table = forecasts(1000, 10_000)
    seconds = best(lambda: pr.search_entropy(table), repeats=3)
    [block] = read_probabilities(table[:10]).blocks()
    quadratic = best(lambda: [every_truth._if_true(block, i, pr.Uniform()) for i in range(200)], repeats=1)
    unit = quadratic / 200 * 10_000 / 10 * 1000  # of 200 truths and 10 rows, scaled to all of both
    claim("search_entropy, 1,000 x 10,000", seconds, "O(K^2), scaled", unit, 1 / 100)


def memory() -> None:
    """Peak allocation of one call beyond its arguments, against 5 % of them and 32 MB."""
    rng = np.random.default_rng(0)
    short, long = np.full((5_000_000, 7), 1 / 7, np.float32), np.full((300_000, 300), 1 / 300, np.float32)
    costs = rng.uniform(1, 2, (500_000, 20))
    table = np.full((500_000, 20), 0.05)
    _memory("probabilities, 5,000,000 x 7 float32", lambda: pr.pandora_regret(truth(short), short), short)
    _memory("logits, 300,000 x 300 float32", lambda: pr.pandora_regret(truth(long), long, logits=True), long)
    fortran, half = np.asfortranarray(long), long.astype(np.float16)
    _memory("column-major, 300,000 x 300 float32", lambda: pr.pandora_regret(truth(long), fortran), fortran)
    _memory("float16 logits, 300,000 x 300", lambda: pr.pandora_regret(truth(long), half, logits=True), half)
    _memory("pair_costs, 5,000,000 x 7 float32", lambda: pr.pair_costs(truth(short), short), short)
    _memory("search_tally, 300,000 x 300 float32", lambda: pr.search_tally(truth(long), long), long)
    _memory("costs of each instance, 500,000 x 20", lambda: pr.beta_score(truth(table), table, costs=costs), table)
    gamma = pr.Gamma(2.0)
    _memory("Gamma prior, 500,000 x 20", lambda: pr.expected_search_cost(truth(table), table, prior=gamma), table)


def truth(table: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.intp(0), len(table))


def _memory(what: str, work: Callable[[], Any], table: np.ndarray) -> None:
    work()  # loops compiled
    tracemalloc.start()
    work()
    extra, allowed = tracemalloc.get_traced_memory()[1], 0.05 * table.nbytes + 32e6
    tracemalloc.stop()
    record(
        f"memory, {what}",
        f"{extra / 1e6:.1f} MB",
        f"at most {allowed / 1e6:.0f} of {table.nbytes / 1e6:.0f} MB",
        extra <= allowed,
    )


def threads() -> None:
    truth, table = forecasts(200_000, 100)
    logits = np.log(table)
    from pandora_regret.kernels import compiled

    every = best(lambda: pr.pandora_regret(truth, logits, alpha=0.37, logits=True))
    cores, compiled._n_threads = compiled._n_threads(), lambda: 1
    one = best(lambda: pr.pandora_regret(truth, logits, alpha=0.37, logits=True))
    record("logits, alpha 0.37, 200,000 x 100", f"{one / every:.2f} x", f"{cores} threads against one", None)


if __name__ == "__main__":
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    print(f"{os.cpu_count()} cores, {versions}\n")
    for shape in SHAPES:
        scores(*shape)
    simulation()
    entropy()
    threads()
    memory()
    sys.exit(finish())

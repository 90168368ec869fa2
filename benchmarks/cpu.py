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
from yardstick import best, claim, finish, in_turn, processor_seconds, record

import pandora_regret as pr
from pandora_regret.core.inputs import read_probabilities
from pandora_regret.core.kernels import reference
from pandora_regret.core.scores import search_tally

SHAPES = {  # and how many sums of each row a score may take at most, of probabilities and of logits
    (1_000_000, 7): (1.0, 4.0),
    (200_000, 100): (1.5, 2.5),
    (20_000, 1000): (1.6, 3.0),
}
FEW_CLASSES = (3, 7, 10, 20)  # of a million rows: at most one sum of each row
FLAT, BY_ROW = "P.sum()", "P.sum(axis=1)"


def forecasts(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    table = rng.exponential(size=(n, k))
    return rng.integers(0, k, n), table / table.sum(axis=1, keepdims=True)


def few_classes() -> None:
    """Against the sums of the same table's rows, in its own precision, and against scikit-learn's log loss."""
    for k in FEW_CLASSES:
        truth, table = forecasts(1_000_000, k)
        shape = f"1,000,000 x {k}"
        single = table.astype(np.float32)
        _against_both(f"float32, {shape}", truth, single, BY_ROW, 1.0, repeats=20)
        seconds = _against_both(f"float64, {shape}", truth, table, BY_ROW, 1.0, repeats=20)
        _against_log_loss(shape, truth, table, seconds)


def scores(n: int, k: int, at_most: float, at_most_logits: float) -> None:
    truth, table = forecasts(n, k)
    single, logits = table.astype(np.float32), np.log(table)
    shape = f"{n:,} x {k}"
    probabilities = _against_both(f"float64, {shape}", truth, table, BY_ROW, at_most)
    _against_both(f"float32, {shape}", truth, single, BY_ROW, at_most)
    for alpha in (1.0, 0.37):
        what = f"logits, alpha {alpha}, {shape}"
        _against_both(what, truth, logits, BY_ROW, at_most_logits, alpha=alpha, logits=True)
    _against_log_loss(shape, truth, table, probabilities)


def _against_log_loss(shape: str, truth: np.ndarray, table: np.ndarray, seconds: float) -> None:
    """A row for a score that takes so long: scikit-learn's log loss of the same table takes 15 times that."""
    labels = np.arange(table.shape[1])
    sklearn = best(lambda: log_loss(truth, table, labels=labels), repeats=3)
    claim(f"float64, {shape}", seconds, "sklearn log_loss", sklearn, 1 / 15)


def _against_both(
    what: str,
    truth: np.ndarray,
    table: np.ndarray,
    promised: str,
    at_most: float,
    repeats: int = 7,
    **options: Any,
) -> float:
    """Seconds of a score; a row with its ratios to both sums of the table, one of which was promised."""
    works = {
        "score": lambda: pr.pandora_regret(truth, table, **options),
        FLAT: lambda: table.sum(),
        BY_ROW: lambda: table.sum(axis=1),
    }
    seconds = in_turn(works, repeats)
    ratios = {yardstick: seconds["score"] / seconds[yardstick] for yardstick in (FLAT, BY_ROW)}
    said = ", ".join(f"{ratio:.2f} x {name}" for name, ratio in ratios.items())
    times = " / ".join(f"{1e3 * seconds[name]:.2f}" for name in works)
    used = {name: min(processor_seconds(work) for _ in range(repeats)) for name, work in works.items()}
    processor = " / ".join(f"{1e3 * used[name]:.2f}" for name in works)
    record(
        what,
        f"{said} ({times} ms; processor {processor} ms)",
        f"at most {at_most:g} x {promised}",
        ratios[promised] <= at_most,
    )
    return seconds["score"]


def observed_costs() -> None:
    """Costs as they were observed, with and without tables that are sorted already, against a closed form."""
    truth, table = forecasts(5_000, 100)
    samples = np.random.default_rng(1).lognormal(size=(200, 100))
    prior = pr.Empirical(samples)
    unit = best(lambda: pr.expected_search_cost(truth, table, prior=pr.LogNormal(1.0)))
    sorting = best(lambda: pr.expected_search_cost(truth, table, prior=pr.Empirical(samples)))
    claim("Empirical, 5,000 x 100, at first", sorting, "LogNormal", unit, 15)
    again = best(lambda: pr.expected_search_cost(truth, table, prior=prior))
    claim("Empirical, 5,000 x 100", again, "LogNormal", unit, 10)


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
    blocks = list(read_probabilities(table[:10]).blocks())
    with_truth = [reference.if_true(block, i) for block in blocks for i in range(200)]
    quadratic = best(lambda: [reference.mean_waste(rows, pr.Uniform()) for rows in with_truth], repeats=1)
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
    _memory("search_tally, 300,000 x 300 float32", lambda: search_tally(truth(long), long), long)
    _memory(
        "costs of each instance, 500,000 x 20", lambda: pr.beta_score(truth(table), table, max_costs=costs), table
    )
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
    from pandora_regret.core.kernels import engine

    every = best(lambda: pr.pandora_regret(truth, logits, alpha=0.37, logits=True))
    cores, engine._n_threads = engine._n_threads(), lambda: 1
    one = best(lambda: pr.pandora_regret(truth, logits, alpha=0.37, logits=True))
    record("logits, alpha 0.37, 200,000 x 100", f"{one / every:.2f} x", f"{cores} threads against one", None)


if __name__ == "__main__":
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, numba {numba.__version__}"
    print(f"{os.cpu_count()} cores, {versions}\n")
    few_classes()
    for shape, promises in SHAPES.items():
        scores(*shape, *promises)
    observed_costs()
    simulation()
    entropy()
    threads()
    memory()
    sys.exit(finish())

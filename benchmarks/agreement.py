"""What an agreement study costs: the size of the paper's, and Kendall's tau against a loop of scipy's.

Run with ``python benchmarks/agreement.py`` on a quiet machine; the study takes about a minute and 1.2 GB.
"""

from __future__ import annotations

import os
import platform
import resource
import sys
import time

import numba
import numpy as np
import scipy
from scipy.stats import kendalltau
from yardstick import best, claim, finish, record

from pandora_regret.metrics import default_metrics
from pandora_regret.study import CONDITIONS, agreement
from pandora_regret.study.ranking_agreement import replicate_taus

MODELS, ROWS, CLASSES, REPLICATES, DRAWS = 600, 2000, 7, 1000, 100
FREQUENCY = [0.03, 0.05, 0.11, 0.01, 0.11, 0.67, 0.02]  # of DermaMNIST's classes, about
COSTS = [383.77, 240.82, 75.15, 75.15, 383.77, 75.15, 100.0]
SCIPY = "scipy.stats.kendalltau in a loop, scaled from 200 calls"
LEFT_OUT = {"beta_3", "top_2", "top_3"}  # of the metrics, to leave 15


def zoo(n_models: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.choice(CLASSES, ROWS, p=FREQUENCY)
    skill = rng.uniform(0.2, 4, (n_models, 1, 1))
    logits = skill * np.eye(CLASSES)[truth] + rng.normal(size=(ROWS, CLASSES))
    odds = np.exp(logits + rng.normal(size=(n_models, ROWS, CLASSES)))
    return truth, odds / odds.sum(axis=2, keepdims=True)


def study() -> None:
    """The whole of it, in one run: wall time, time of all cores, peak memory."""
    metrics = [m.key for m in default_metrics(CLASSES, priced=True) if m.key not in LEFT_OUT]
    asked = {"costs": COSTS, "conditions": list(CONDITIONS), "metrics": metrics}
    agreement(*zoo(60), **asked, replicates=20)  # loops compiled
    truth, forecasts = zoo(MODELS)
    start, busy = time.perf_counter(), time.process_time()
    agreement(truth, forecasts, **asked, replicates=REPLICATES)
    wall, cores = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    size = f"{MODELS} models x {ROWS} x {CLASSES} x {len(CONDITIONS)} conditions x {len(metrics)} metrics"
    what = f"{size} x {REPLICATES} replicates"
    record(what, f"{wall:.0f} s, {cores:.0f} s of all cores", "at most 120 s on 2 cores", wall <= 120)
    record("memory of the same", f"{peak:.2f} GB", "at most 2 GB", peak <= 2)


def taus() -> None:
    """Each condition's taus, all metrics at once; scipy's loop is timed on 200 calls and scaled to as many."""
    rng = np.random.default_rng(0)
    n_metrics, n_replicates = 15, 20
    metrics, counts = rng.random((n_metrics, MODELS, n_replicates)), np.ones((n_replicates, MODELS))
    x, y = rng.random((2, 200, MODELS))
    one = best(lambda: [kendalltau(a, b) for a, b in zip(x, y, strict=True)], repeats=3) / len(x)
    all_seconds = all_scipy = 0.0
    for draws in (1, DRAWS):
        costs = rng.random((MODELS, n_replicates, draws))
        seconds = best(lambda costs=costs: replicate_taus(metrics, costs, counts), repeats=3)
        loop = one * n_metrics * draws * n_replicates
        record(f"tau, {draws} cost vectors", f"{loop / seconds:.0f} times as fast", SCIPY, None)
        conditions = sum((1 if c.prior is None else c.draws) == draws for c in CONDITIONS.values())
        all_seconds, all_scipy = all_seconds + conditions * seconds, all_scipy + conditions * loop
    what = f"tau, {MODELS} models, {n_metrics} metrics, {len(CONDITIONS)} conditions, {n_replicates} replicates"
    claim(what, all_seconds, SCIPY, all_scipy, 1 / 20)


if __name__ == "__main__":
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}\n")
    taus()
    study()
    sys.exit(finish())

"""What the monitor promises: false alarms when looking after every case, delays, and updates per second.

Run with ``python benchmarks/monitor.py``; ``--quick`` simulates a tenth of the streams, ``--out
docs/evidence/monitor.json`` stores what docs/monitoring.md shows. There are three classes of
prices 100, 300 and 40; forecasts are drawn from a Dirichlet distribution and truths from the forecasts, until
something breaks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from yardstick import best, finish, record

from pandora_regret import search_entropy
from pandora_regret.inference.sequential import Bets, MeanSequence
from pandora_regret.inputs import read_probabilities
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.possible_costs import bounds, overpaid, possible_costs
from pandora_regret.priors import Uniform

COSTS = np.array([100.0, 300.0, 40.0])
LEVEL, STREAMS, CASES, LONGEST = 0.05, 2000, 1000, 40_000
QUIET = 2000  # cases before a change
RUN_LENGTH = 1_000_000.0
EXTRA = 0.10
FIRST_LOOK = 30  # of a fixed-sample interval
Z = 1.959964
PRIOR = Uniform()
BASE = COSTS / PRIOR.mean
SCALE = float(np.subtract(*reversed(bounds(BASE, PRIOR))))


def drawn(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    return (rng.random((len(table), 1)) > table.cumsum(axis=1)).sum(axis=1).clip(max=2)


def rows_of(table: np.ndarray) -> np.ndarray:
    return possible_costs(read_probabilities(table).with_costs(BASE), PRIOR)


def calibrated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    table = rng.dirichlet(np.ones(3), n)
    return rows_of(table), drawn(rng, table)


def overconfident(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits twice as large as they should be."""
    table = rng.dirichlet(np.ones(3), n)
    sharp = table**2
    return rows_of(sharp / sharp.sum(axis=1, keepdims=True)), drawn(rng, table)


def more_expensive(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Truths are sometimes anything at all, so that it costs 10 % more than it promises."""
    table = rng.dirichlet(np.ones(3), n)
    rows = rows_of(table)
    wild = EXTRA * rows[:, -1].mean() / (rows[:, :-1].mean(axis=1) - rows[:, -1]).mean()
    return rows, drawn(rng, (1 - wild) * table + wild / 3)


# False alarms


def looked_at_after_every_case(seed: int) -> tuple[bool, bool, bool]:
    """Whether a calibrated model ever alarms: by evidence, by the confidence sequence, by a 95 % interval."""
    rows, truth = calibrated(np.random.default_rng([1, seed]), CASES)
    x, low, high = overpaid(rows, truth)
    bets, sequence, outside = (
        Bets(SCALE, level=LEVEL, run_length=RUN_LENGTH),
        MeanSequence(SCALE, level=LEVEL),
        False,
    )
    bets.update(x, low, high)
    for t in range(CASES):
        sequence.update(x[t : t + 1], low[t : t + 1], high[t : t + 1])
        start, end = sequence.interval()
        outside = outside or not start <= 0 <= end
    return bets.alarm is not None, outside, bool(peeked(x))


def peeked(x: np.ndarray) -> bool:
    """Whether mean +- 1.96 standard errors excludes 0 at some moment."""
    n = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / n
    error = np.sqrt(np.maximum(np.cumsum(x**2) / n - mean**2, 0) / n)
    return bool((np.abs(mean) > Z * error)[FIRST_LOOK - 1 :].any())


def weekly(seed: int) -> bool:
    """Whether a calibrated model whose weeks share a shock ever alarms, in periods of 20 cases."""
    rng = np.random.default_rng([2, seed])
    table = np.repeat(rng.dirichlet(np.ones(3), CASES // 20), 20, axis=0)  # a week's cases are forecast alike,
    truth = np.repeat(drawn(rng, table[::20]), 20)  # and all turn out alike
    monitor = Monitor(costs=COSTS, level=LEVEL)
    monitor.update(truth, table, period=np.repeat(np.arange(CASES // 20), 20))
    return monitor.summary().alarm is not None


def trickling(seed: int) -> bool:
    """The same, with labels that come in over four runs, five cases of a week in each."""
    rng, weeks = np.random.default_rng([7, seed]), CASES // 20
    table = rng.dirichlet(np.ones(3), weeks)
    truth = drawn(rng, table)
    monitor = Monitor(costs=COSTS, level=LEVEL)
    for week in range(weeks):
        ids = [20 * week + case for case in range(20)]
        monitor.update(None, np.repeat(table[week : week + 1], 20, axis=0), ids=ids, period=week)
        with monitor.together():
            for before in range(min(4, week + 1)):
                known = [20 * (week - before) + 5 * before + case for case in range(5)]
                monitor.label(known, np.repeat(truth[week - before], 5))
    return monitor.summary().alarm is not None


# Delays


def delay(broken: Callable[..., tuple[np.ndarray, np.ndarray]], seed: int) -> int:
    """Cases until the alarm, of a model that is broken from the start."""
    rows, truth = broken(np.random.default_rng([3, seed]), LONGEST)
    bets = Bets(SCALE, level=LEVEL, run_length=RUN_LENGTH)
    bets.update(*overpaid(rows, truth))
    return LONGEST if bets.alarm is None else bets.alarm.at + 1


def delay_after_change(broken: Callable[..., tuple[np.ndarray, np.ndarray]], seed: int) -> tuple[int, int]:
    """Cases from a change until the detector sounds, and how far off the date is that it gives."""
    rng = np.random.default_rng([4, seed])
    parts = [calibrated(rng, QUIET), broken(rng, LONGEST)]
    increments = [overpaid(rows, truth) for rows, truth in parts]
    bets = Bets(SCALE, level=LEVEL, run_length=RUN_LENGTH)
    bets.update(*(np.concatenate(each) for each in zip(*increments, strict=True)))
    change = bets.change
    if change is None or change.at < QUIET or change.began is None:
        return LONGEST, LONGEST
    return change.at + 1 - QUIET, abs(change.began - QUIET)


def fixed_sample(broken: Callable[..., tuple[np.ndarray, np.ndarray]], level: float = LEVEL) -> float:
    """Cases at which a two-sided test of the same mean, planned for that number, has power one half."""
    from scipy.stats import norm

    rows, truth = broken(np.random.default_rng(5), 400_000)
    x = overpaid(rows, truth)[0]
    return float((norm.ppf(1 - level / 2) * x.std() / x.mean()) ** 2)


# Speed


def speed() -> None:
    rng, n = np.random.default_rng(6), 1_000_000
    table = rng.dirichlet(np.ones(5), n)
    truth = (rng.random((n, 1)) > table.cumsum(axis=1)).sum(axis=1).clip(max=4)

    def batched() -> None:
        Monitor().update(truth, table)

    seconds = best(batched, 3)
    yardstick = best(partial(search_entropy, table), 3)
    against = f"{seconds / yardstick:.2f} x search_entropy of the same rows"
    record(
        "a million cases of 5 classes in one batch", f"{n / seconds:,.0f} per second", against, n / seconds >= 1e6
    )
    monitor, times = Monitor(), []
    for start in range(0, 12_000, 2000):
        before = time.perf_counter()
        for i in range(start, start + 2000):
            monitor.update(truth[i : i + 1], table[i : i + 1])
        times.append(time.perf_counter() - before)
    rate = 2000 / min(times)
    record("one case at a time", f"{rate:,.0f} per second", "at least 10,000", rate >= 1e4)


def false_alarms(pool: ProcessPoolExecutor, streams: int) -> dict[str, float]:
    """The share of calibrated streams that ever alarm, by kind of stream."""
    shares = np.mean(list(pool.map(looked_at_after_every_case, range(streams), chunksize=20)), axis=0)
    ever = dict(zip(("evidence", "sequence", "peeking"), map(float, shares), strict=True))
    for name, stream in (("weekly", weekly), ("trickling", trickling)):
        ever[name] = float(np.mean(list(pool.map(stream, range(streams), chunksize=20))))
    beside = f"{ever['peeking']:.1%} by a 95 % interval under the same peeking"
    for name in ("evidence", "sequence", "weekly", "trickling"):
        what = f"false alarms, {streams:,} streams of {CASES:,} cases: {name}"
        record(what, f"{ever[name]:.1%}", beside, ever[name] <= LEVEL)
    return ever


def delays(pool: ProcessPoolExecutor, streams: int, name: str, broken: Callable[..., Any]) -> dict[str, float]:
    """Median cases until a broken model is noticed, from the start and after a change."""
    alarms = list(pool.map(partial(delay, broken), range(streams), chunksize=10))
    changes = list(pool.map(partial(delay_after_change, broken), range(streams), chunksize=10))
    waits, errors = zip(*changes, strict=True)
    planned = fixed_sample(broken)
    beside = f"{planned:,.0f} by a test planned for that number"
    record(f"{name}: median cases until the alarm", f"{median(alarms):,.0f}", beside, None)
    beside = f"date off by {median(errors):,.0f} in the median; run length at least {RUN_LENGTH:,.0f}"
    record(f"{name} after {QUIET:,} good cases: median wait", f"{median(waits):,.0f}", beside, None)
    found = {"alarm": median(alarms), "planned_test": planned}
    return found | {"after_change": median(waits), "date_off": median(errors)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the streams")
    parser.add_argument("--speed", action="store_true", help="only updates per second")
    parser.add_argument("--out", type=Path, help="a JSON file for what was measured")
    options = parser.parse_args()
    streams = STREAMS // 10 if options.quick else STREAMS
    print("| what | measured | beside | |\n|---|---|---|---|")
    speed()
    if options.speed:
        return finish()
    measured: dict[str, Any] = {"streams": streams, "broken_streams": streams // 4, "cases": CASES}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        measured["false_alarms"] = false_alarms(pool, streams)
        for name, broken in (("doubled logits", overconfident), ("10 % more expensive", more_expensive)):
            measured[name] = delays(pool, streams // 4, name, broken)
    if options.out:
        options.out.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return finish()


if __name__ == "__main__":
    sys.exit(main())

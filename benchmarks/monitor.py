"""What the monitor promises: false alarms when looking after every case, delays, and updates per second.

Run with ``python benchmarks/monitor.py``; ``--quick`` simulates a tenth of the streams, ``--out
docs/evidence/monitor.json`` stores what docs/theory/monitoring.md shows. There are three classes of very different
prices, and five of prices that are alike or heavy-tailed.
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
from statistics import NormalDist, median
from typing import Any

import numpy as np
from yardstick import finish, record

from pandora_regret import expected_search_cost, search_entropy
from pandora_regret.core.inputs import read_probabilities
from pandora_regret.core.priors import Uniform
from pandora_regret.inference.sequential import EProcess
from pandora_regret.monitor import Monitor
from pandora_regret.monitor.streams import History, overpaid, possible_costs

PRICES = {
    "3 classes": np.array([100.0, 300.0, 40.0]),
    "5 classes": np.array([20.0, 35.0, 5.0, 60.0, 12.0]),
    "5 classes, one price": np.ones(5),
}
LEVEL, STREAMS, CASES, LONGEST = 0.05, 2000, 1000, 4000
GOOD_CASES = (500, 2000, 10_000)  # before a change
MANY_CASES = 12_000  # of a calibrated stream, for false alarms in the long run
SINGLE = 2000  # cases that come one by one
EXTRA = 0.10
PRICE_OF_LOOKING = 1.6  # times the cases of a planned test
FIRST_LOOK = 30  # of a fixed-sample interval
PRIOR = Uniform()


def drawn(rng: np.random.Generator, table: np.ndarray) -> np.ndarray:
    return (rng.random((len(table), 1)) > table.cumsum(axis=1)).sum(axis=1).clip(max=table.shape[1] - 1)


def rows_of(table: np.ndarray, costs: np.ndarray) -> np.ndarray:
    return possible_costs(read_probabilities(table).with_costs(costs / PRIOR.mean), PRIOR)


def calibrated(rng: np.random.Generator, n: int, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table = rng.dirichlet(np.ones(len(costs)), n)
    return rows_of(table, costs), drawn(rng, table)


def overconfident(rng: np.random.Generator, n: int, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logits twice as large as they should be."""
    table = rng.dirichlet(np.ones(len(costs)), n)
    sharp = table**2
    return rows_of(sharp / sharp.sum(axis=1, keepdims=True), costs), drawn(rng, table)


def more_expensive(rng: np.random.Generator, n: int, costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Truths are sometimes anything at all, so that it costs 10 % more than it promises."""
    table = rng.dirichlet(np.ones(len(costs)), n)
    rows = rows_of(table, costs)
    wild = EXTRA * rows[:, -1].mean() / (rows[:, :-1].mean(axis=1) - rows[:, -1]).mean()
    return rows, drawn(rng, (1 - wild) * table + wild / len(costs))


def changing(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated, with heavy-tailed prices, and class mixes and sharpness that change all the time."""
    costs = 10 * (1 + rng.pareto(1.2, 5))
    phases = [rng.dirichlet(np.ones(5)) * rng.choice([0.5, 2.0, 10.0]) + 0.02 for _ in range(n // 50)]
    table = np.concatenate([rng.dirichlet(phase, 50) for phase in phases])
    return rows_of(table, costs), drawn(rng, table)


def bet_on(rows: np.ndarray, truth: np.ndarray) -> EProcess:
    """The e-process after these cases, as `Monitor` makes it."""
    bets = EProcess(LEVEL)
    bets.update(overpaid(rows, truth), np.cumsum(rows[:, -1]) / np.arange(1, len(rows) + 1))
    return bets


# False alarms


def looked_at_after_every_case(seed: int) -> tuple[bool, bool, bool, bool]:
    """Whether a calibrated model ever alarms, gets a note, has a wrong interval, or a 95 % interval without 0."""
    rows, truth = calibrated(np.random.default_rng([1, seed]), CASES, PRICES["3 classes"])
    x = overpaid(rows, truth)
    scale = np.cumsum(rows[:, -1]) / np.arange(1, CASES + 1)
    bets, outside = EProcess(LEVEL), False
    for part in np.array_split(np.arange(CASES), 50):
        bets.update(x[:, part], scale[part])
        outside = outside or bets.claim().side != 0
    return bets.noticed_at(above=True) is not None, bets.noticed_at(above=False) is not None, outside, peeked(x[0])


def peeked(x: np.ndarray) -> bool:
    """Whether mean +- 1.96 standard errors excludes 0 at some moment."""
    n = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / n
    error = np.sqrt(np.maximum(np.cumsum(x**2) / n - mean**2, 0) / n)
    return bool((np.abs(mean) > NormalDist().inv_cdf(0.975) * error)[FIRST_LOOK - 1 :].any())


def in_the_long_run(seed: int) -> bool:
    """Whether a calibrated model ever alarms in many cases."""
    rows, truth = calibrated(np.random.default_rng([9, seed]), MANY_CASES, PRICES["3 classes"])
    return bet_on(rows, truth).noticed_at(above=True) is not None


def changing_mixes(seed: int) -> bool:
    return bet_on(*changing(np.random.default_rng([2, seed]), CASES)).noticed_at(above=True) is not None


def late(in_order: bool, seed: int) -> bool:
    """Labels of expensive cases come with the forecasts, of cheap ones a week or two later; weeks of 100 cases.

    Bets are made in the order of forecasts; or to compare, in the order in which labels come.
    """
    rng, costs, weeks = np.random.default_rng([3, seed]), PRICES["3 classes"], CASES // 100
    table = rng.dirichlet(np.ones(3), CASES)
    truth = drawn(rng, table)
    paid = expected_search_cost(truth, table, costs=costs, per_instance=True)
    came = np.arange(CASES) // 100 + np.where(paid > np.median(paid), 0, rng.integers(1, 3, CASES))
    monitor = Monitor(costs=costs, level=LEVEL)
    for week in range(weeks + 2):
        rows, now = np.arange(100 * week, min(100 * week + 100, CASES)), np.flatnonzero(came == week)
        with monitor.one_run():
            if not in_order:
                monitor.update(truth[now], table[now], ids=now)
                continue
            if len(rows):
                monitor.update(None, table[rows], ids=rows)
            monitor.label(now, truth[now])
    return monitor.summary().alarm is not None


def dependent(seed: int) -> bool:
    """Whether a calibrated model alarms whose weeks of 20 cases all turn out alike, a week being one bet."""
    rng = np.random.default_rng([4, seed])
    table = rng.dirichlet(np.ones(3), CASES // 20)
    truth = np.repeat(drawn(rng, table), 20)
    monitor = Monitor(costs=PRICES["3 classes"], level=LEVEL, dependent=True)
    monitor.update(truth, np.repeat(table, 20, axis=0), time=np.repeat(np.arange(CASES // 20), 20))
    return monitor.summary().alarm is not None


# Delays


def delay(broken: Callable[..., Any], costs: np.ndarray, seed: int) -> int:
    """Cases until the alarm, of a model that is broken from the start."""
    at = bet_on(*broken(np.random.default_rng([5, seed]), LONGEST, costs)).noticed_at(above=True)
    return LONGEST if at is None else at + 1


def delay_after_change(
    broken: Callable[..., Any], costs: np.ndarray, good_cases: int, seed: int
) -> tuple[int, int] | None:
    """Cases from a change until the alarm, and how far off its date is; None if the alarm was before."""
    rng = np.random.default_rng([6, seed])
    rows, truth = (
        np.concatenate(each)
        for each in zip(calibrated(rng, good_cases, costs), broken(rng, LONGEST, costs), strict=True)
    )
    at = bet_on(rows, truth).noticed_at(above=True)
    if at is None:
        return LONGEST, LONGEST
    if at < good_cases:
        return None
    history = History()
    for _ in history.add(None, None, overpaid(rows[: at + 200], truth[: at + 200])[:1], lambda: ()):
        pass
    return at + 1 - good_cases, abs(history.stretch(1, at)[0] - good_cases)


def planned_test(broken: Callable[..., Any], costs: np.ndarray) -> float:
    """Cases at which a two-sided z-test of the same mean, planned for that number, has power one half."""
    rows, truth = broken(np.random.default_rng(7), 1_000_000, costs)
    x = overpaid(rows, truth)[0]
    return float((NormalDist().inv_cdf(1 - LEVEL / 2) * x.std() / x.mean()) ** 2)


# Speed, in seconds of the processor: other programs may be running


def speed() -> dict[str, float]:
    rng, n = np.random.default_rng(8), 1_000_000
    table = rng.dirichlet(np.ones(5), n)
    truth = drawn(rng, table)

    def batched() -> None:
        Monitor().update(truth, table)

    def seconds(work: Callable[[], Any]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    def single(looks: int = SINGLE) -> None:
        monitor = Monitor()
        for i in range(SINGLE):
            monitor.update(truth[i : i + 1], table[i : i + 1])
            if (i + 1) % looks == 0:
                monitor.summary()

    def loop() -> None:
        total = 0
        for i in range(10**6):
            total += i

    works = (batched, partial(search_entropy, table), single, partial(single, 1), loop)
    batch, yardstick, one, looked, plain = (min(seconds(work) for _ in range(4)) for work in works)
    measured = {
        "batched": n / batch,
        "single": SINGLE / one,
        "looked_at": SINGLE / looked,
        "search_entropy": n / yardstick,
        "additions": 1e6 / plain,
    }
    against = f"{batch / yardstick:.2f} x search_entropy of the same rows; at least 1,500,000"
    record("cases of 5 classes in one batch", f"{n / batch:,.0f} per second", against, n / batch >= 1.5e6)
    against = f"one in {one / SINGLE / plain * 1e6:,.0f} additions of a Python loop; at least 10,000"
    record("one case at a time", f"{SINGLE / one:,.0f} per second", against, SINGLE / one >= 1e4)
    record("one case at a time, a summary after each", f"{SINGLE / looked:,.0f} per second", "", None)
    return measured


def false_alarms(pool: ProcessPoolExecutor, streams: int) -> dict[str, float]:
    """The share of calibrated streams that ever alarm, by kind of stream."""
    shares = np.mean(list(pool.map(looked_at_after_every_case, range(streams), chunksize=20)), axis=0)
    ever = dict(zip(("alarm", "note", "interval", "peeking"), map(float, shares), strict=True))
    kinds = {
        "long": in_the_long_run,
        "changing": changing_mixes,
        "late": partial(late, True),
        "dependent": dependent,
    }
    for name, stream in kinds.items():
        ever[name] = float(np.mean(list(pool.map(stream, range(streams), chunksize=20))))
    ever["by arrival"] = float(np.mean(list(pool.map(partial(late, False), range(streams // 10)))))
    besides = {"late": f"{ever['by arrival']:.1%} betting in the order of labels"}
    for name in ("alarm", "note", "interval", "long", "changing", "late", "dependent"):
        cases = MANY_CASES if name == "long" else CASES
        what = f"false alarms, {streams:,} streams of {cases:,} cases: {name}"
        beside = besides.get(name, f"{ever['peeking']:.1%} by a 95 % interval, looked at as often")
        record(what, f"{ever[name]:.1%}", beside, ever[name] <= LEVEL * (2 if name == "interval" else 1))
    return ever


def delays(pool: ProcessPoolExecutor, streams: int, prices: str, fault: str) -> dict[str, Any]:
    """Median cases until a broken model is noticed, from the start and after a change."""
    broken, costs = FAULTS[fault], PRICES[prices]
    alarms = list(pool.map(partial(delay, broken, costs), range(streams), chunksize=10))
    changes = {}
    for good_cases in GOOD_CASES:
        after = pool.map(partial(delay_after_change, broken, costs, good_cases), range(streams // 10), chunksize=5)
        noticed = [pair for pair in after if pair is not None]
        changes[good_cases] = {
            "alarm": median(wait for wait, _ in noticed),
            "date_off": median(error for _, error in noticed),
        }
    planned = planned_test(broken, costs)
    ratio = median(alarms) / planned
    beside = f"{ratio:.2f} x the {planned:,.0f} of a planned test; at most {PRICE_OF_LOOKING}"
    record(
        f"{fault}, {prices}: median cases until the alarm",
        f"{median(alarms):,.0f}",
        beside,
        ratio <= PRICE_OF_LOOKING,
    )
    for good_cases, change in changes.items():
        beside = f"date off by {change['date_off']:,.0f} in the median"
        what = f"{fault}, {prices}, after {good_cases:,} good cases: median wait"
        record(what, f"{change['alarm']:,.0f}", beside, None)
    figures = {"alarm": median(alarms), "planned_test": planned, "after_good_cases": changes}
    return {"fault": fault, "prices": prices} | figures


FAULTS = {"doubled logits": overconfident, "10 % more expensive": more_expensive}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the streams")
    parser.add_argument("--speed", action="store_true", help="only updates per second")
    parser.add_argument("--out", type=Path, help="a JSON file for what was measured")
    options = parser.parse_args()
    streams = STREAMS // 10 if options.quick else STREAMS
    print("| what | measured | beside | |\n|---|---|---|---|")
    measured: dict[str, Any] = {
        "streams": streams,
        "broken_streams": streams,
        "cases": CASES,
        "many_cases": MANY_CASES,
        "speed": speed(),
    }
    if options.speed:
        return finish()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        measured["false_alarms"] = false_alarms(pool, streams)
        measured["delays"] = [delays(pool, streams, prices, fault) for prices in PRICES for fault in FAULTS]
    if options.out:
        options.out.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    return finish()


if __name__ == "__main__":
    sys.exit(main())

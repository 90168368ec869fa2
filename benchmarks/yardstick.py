"""How every claim is measured: best of several runs, as a ratio to a yardstick timed in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

REPEATS = 7


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The shortest of several runs in seconds, after one that compiles and warms caches."""
    work()
    return min(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def row(what: str, seconds: float, yardstick: str, unit: float, at_most: float) -> str:
    """A line of the table: the ratio, what it may be at most, and whether it is."""
    ratio = seconds / unit
    verdict = "ok" if ratio <= at_most else "MISSED"
    return (
        f"{what:52} {1e3 * seconds:10.2f} ms  {ratio:9.4f} x {yardstick:22} {1e3 * unit:10.2f} ms  "
        f"at most {at_most:7.4f}  {verdict}"
    )

"""How every claim is measured: best of several runs, as a ratio to a yardstick timed in the same run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any

REPEATS = 7
BYTECODE = TemporaryDirectory(ignore_cleanup_errors=True)  # kept between processes, as an installation keeps it
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["PYTHONPYCACHEPREFIX"] = BYTECODE.name


def best(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """The shortest of several runs in seconds, after one that compiles and warms caches."""
    work()
    return min(_seconds(work) for _ in range(repeats))


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


OURS, CHILDREN = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def processor_seconds(work: Callable[[], Any], whose: Sequence[int] = (OURS, CHILDREN)) -> float:
    """Of all threads, and of child processes that ended: what other work on the machine disturbs less."""

    def used() -> float:
        return sum(each.ru_utime + each.ru_stime for each in map(resource.getrusage, whose))

    start = used()
    work()
    return used() - start


def process_seconds(
    arguments: Sequence[str], environment: Mapping[str, str] = ENVIRONMENT, *, repeats: int
) -> float:
    """Processor seconds of a process of Python from start to end, the least of some."""
    run = partial(
        subprocess.run, [sys.executable, *arguments], stdout=subprocess.DEVNULL, env=environment, check=True
    )
    return min(processor_seconds(run, [CHILDREN]) for _ in range(repeats))


def in_turn(
    works: dict[str, Callable[[], Any]], repeats: int, clock: Callable[[Callable[[], Any]], float] = _seconds
) -> dict[str, float]:
    """The shortest of several runs of each, taken in turn so that a busy moment harms all alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats + 1):  # the first compiles and warms caches
        for name, work in works.items():
            times[name].append(clock(work))
    return {name: min(listed[1:]) for name, listed in times.items()}


_missed: list[str] = []


def claim(what: str, seconds: float, yardstick: str, unit: float, at_most: float) -> None:
    """A row of the table: the ratio to the yardstick, and whether it is what was promised."""
    ratio = seconds / unit
    record(
        what,
        f"{ratio:.4f} x {yardstick} = {1e3 * seconds:.2f} / {1e3 * unit:.2f} ms",
        f"at most {at_most:.4f}",
        ratio <= at_most,
    )


def record(what: str, measured: str, against: str, holds: bool | None) -> None:
    """A row of any other kind."""
    verdict = "" if holds is None else "ok" if holds else "MISSED"
    print(f"| {what} | {measured} | {against} | {verdict} |", flush=True)
    if verdict == "MISSED":  # holds may be a Boolean of NumPy, which is not False
        _missed.append(what)


def finish() -> int:
    """The exit code: 0 if every claim held; those that did not are listed once more."""
    print("\n".join(["", *(f"MISSED: {what}" for what in _missed)]) if _missed else "\nAll promises held.")
    return len(_missed) > 0

"""Work shared by several child processes, one item at a time each, so that a death is always of a known item."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from pandora_regret.inputs import InputError, read_count
from pandora_regret.work.child import Child, DiedError

MOST_PER_CORE = 16  # processes; more would only fill the memory


class WorkError(OSError):
    """Whoever was to do the work is not there: no scheduler, no workers, or a worker that was killed."""


@dataclass(frozen=True)
class Death:
    """Instead of a result: the process that worked on an item is gone, for this reason."""

    reason: str


class _Done:
    """Instead of a result: there are no more of this item."""


@dataclass(frozen=True)
class _Raised:
    """Instead of a result: an exception that ends the work."""

    error: BaseException


def read_jobs(jobs: int) -> int:
    """How many processes; -1 is one for each core."""
    cores = os.cpu_count() or 1
    if jobs == -1:
        return cores
    most = MOST_PER_CORE * cores
    if read_count(jobs, "jobs") > most:
        raise InputError(f"jobs is {jobs}: this machine has {cores} cores, ask for {most} at most.")
    return jobs


def in_processes(
    do: Callable[[Any], Any], items: list[Any], jobs: int, timeout: float | None = None
) -> Iterator[tuple[Any, Any]]:
    """Every item with every result of it, as soon as it is there; a `Death` is the last one of its item."""
    with _Crew(do, items, min(jobs, len(items)), timeout) as crew:
        left = len(items)
        while left:
            item, result = crew.results.get()
            if isinstance(result, _Raised):
                raise result.error
            if isinstance(result, _Done):
                left -= 1
            else:
                yield item, result


def reports(child: Child, do: Callable[[Any], Any], item: Any, timeout: float | None) -> Iterator[Any]:
    """The results of an item; if the child dies of it, a `Death` comes last and the child is closed."""
    try:
        yield from child.results(do, item, timeout)
    except DiedError as died:
        child.close()
        yield Death(str(died))


class _Crew:
    """Threads that each let a child of their own do items, until there are none left or they are dismissed."""

    def __init__(self, do: Callable[[Any], Any], items: list[Any], jobs: int, timeout: float | None) -> None:
        self.results: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
        self._do, self._timeout, self._waiting = do, timeout, deque(items)
        self._threads_each = max(1, (os.cpu_count() or 1) // max(1, jobs))
        self._lock, self._children, self._dismissed = Lock(), set[Child](), False
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(jobs)]

    def __enter__(self) -> _Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._dismissed = True
            self._waiting.clear()
            for child in self._children:
                child.kill()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        child: Child | None = None
        try:
            while (item := self._next()) is not None:
                child = child or self._hired()
                if self._report(child, item[0]):
                    self._discharged(child)
                    child = None
        except BaseException as error:  # it belongs to whoever waits for the results
            self.results.put((None, _Raised(error)))
        finally:
            if child is not None:
                self._discharged(child)

    def _report(self, child: Child, item: Any) -> bool:
        """Pass on the results of an item; whether the child died of it."""
        result = None
        for result in reports(child, self._do, item, self._timeout):
            self.results.put((item, result))
        self.results.put((item, _Done()))
        return isinstance(result, Death)

    def _next(self) -> tuple[Any] | None:
        with self._lock:
            return (self._waiting.popleft(),) if self._waiting else None

    def _hired(self) -> Child:
        with self._lock:
            child = Child(self._threads_each)
            self._children.add(child)
            if self._dismissed:  # meanwhile
                child.kill()
            return child

    def _discharged(self, child: Child) -> None:
        with self._lock:
            self._children.discard(child)
        child.close()

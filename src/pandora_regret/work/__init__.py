"""Independent pieces of work: done here, by processes of their own, or by the machines of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from pandora_regret.work.cluster import in_own_process, on_cluster
from pandora_regret.work.processes import Death, WorkError, in_processes, read_jobs

__all__ = ["Death", "WorkError", "run_all", "run_apart"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def run_all(
    do: Callable[[Item], Result], items: Iterable[Item], *, jobs: int = 1, cluster: str | None = None
) -> Iterator[tuple[Item, Result]]:
    """Do every item, and give each with its result as soon as it is done, in any order.

    An exception in `do` ends the work and comes out here. When the iteration ends early, by that, by Ctrl-C or by
    leaving the loop, what has not begun is cancelled. Worker processes end with this one, however it ends.

    Parameters
    ----------
    do
        What to do with an item: a function that can be imported wherever the work is done, or a partial of one.
    items
        They travel to whoever does the work, so they should be small.
    jobs
        How many processes; 1 is this process, -1 one for each core.
    cluster
        The address of a Dask scheduler, ``"tcp://host:port"``, instead of processes here. An item whose worker
        dies is done again by another. A worker does as many items at once as it has threads: start it with
        ``--nthreads 1`` where one item fills a machine.

    Returns
    -------
    iterator of tuple
        Each item with its result.

    Examples
    --------
    >>> sorted(run_all(abs, [-2, 1]))
    [(-2, 2), (1, 1)]
    """
    if cluster is not None:
        return on_cluster(do, list(items), cluster)
    if read_jobs(jobs) == 1:
        return ((item, do(item)) for item in items)
    return _or_work_error(in_processes(do, list(items), read_jobs(jobs)))


def run_apart(
    do: Callable[[Item], Any],
    items: Iterable[Item],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    timeout: float | None = None,
) -> Iterator[tuple[Item, Any]]:
    """Like `run_all`, but an item may crash, or never end, and the others go on.

    Every item is done in a process of its own kind, one job included. Where `do` returns an iterator, its elements
    come one by one (on a cluster, all at the end). If the process ends, or takes longer than `timeout` seconds for
    one result, the last result of the item is a `Death`, which says why.

    Parameters
    ----------
    do, items, jobs, cluster
        As in `run_all`.
    timeout
        Seconds that one result may take.

    Returns
    -------
    iterator of tuple
        Each item with a result of its own, or with a `Death`.
    """
    if cluster is None:
        return in_processes(do, list(items), read_jobs(jobs), timeout)
    listed = on_cluster(partial(in_own_process, do, timeout), list(items), cluster)
    return ((item, result) for item, results in listed for result in results)


def _or_work_error(results: Iterator[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    for item, result in results:
        if isinstance(result, Death):
            raise WorkError(f"a worker did not finish: {result.reason}; resume with fewer jobs, which need less.")
        yield item, result

"""Independent pieces of work: done here, by several processes, or by the machines of a Dask cluster."""

from __future__ import annotations

import queue
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

from pandora_regret.inputs import read_count
from pandora_regret.optional import import_optional

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS = 10.0  # for a scheduler to answer
PATIENCE_SECONDS = 60.0  # with a cluster that has no workers at all
LOOK_SECONDS = 1.0  # between looks at whether there are any


class WorkError(OSError):
    """Whoever was to do the work is not there: no scheduler, no workers, or a worker that was killed."""


def run_all(
    do: Callable[[Item], Result], items: Iterable[Item], *, jobs: int = 1, cluster: str | None = None
) -> Iterator[tuple[Item, Result]]:
    """Do every item, and give each with its result as soon as it is done, in any order.

    An exception in `do` ends the work and comes out here. When the iteration ends early, by that, by Ctrl-C or by
    leaving the loop, what has not begun is cancelled.

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

    Examples
    --------
    >>> sorted(run_all(abs, [-2, 1]))
    [(-2, 2), (1, 1)]
    """
    if cluster is not None:
        return _on_cluster(do, list(items), cluster)
    if jobs != -1 and read_count(jobs, "jobs") == 1:
        return ((item, do(item)) for item in items)
    return _in_processes(do, items, jobs)


def _in_processes(do: Callable[[Any], Any], items: Iterable[Any], jobs: int) -> Iterator[tuple[Any, Any]]:
    joblib, loky = import_optional("joblib", extra="zoo"), import_optional("joblib.externals.loky", extra="zoo")
    parallel = joblib.Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
    results = parallel(joblib.delayed(_with_item)(do, item) for item in items)
    try:
        for done in results:  # noqa: UP028  yield from would end the work itself, and let the warning through
            yield done
    except loky.process_executor.TerminatedWorkerError:
        raise WorkError(
            "a worker process was killed, perhaps for want of memory: resume with fewer jobs, which need less."
        ) from None
    except BaseException:
        _abandon(results)
        loky.get_reusable_executor().shutdown(kill_workers=True)
        raise


def _abandon(results: Any) -> None:
    """End the work without joblib's warning that there was more of it: that is what was asked for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results.close()


def _with_item(do: Callable[[Any], Any], item: Any) -> tuple[Any, Any]:
    return item, do(item)


def _on_cluster(do: Callable[[Any], Any], items: list[Any], address: str) -> Iterator[tuple[Any, Any]]:
    distributed = import_optional("distributed", extra="cluster")
    with _connected(distributed, address) as client:
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = {client.submit(do, item, pure=False): item for item in items}
        for future in waiting:
            future.add_done_callback(done.put)
        try:
            while waiting:
                future = _patiently(client, partial(_first, done))
                result = _patiently(client, partial(_fetched, future))
                future.release()  # the cluster may forget it
                yield waiting.pop(future), result
        except distributed.KilledWorker as error:
            raise WorkError(f"workers died of an item, one after another: {_in_one_line(error)}") from None
        except distributed.CancelledError:
            raise WorkError(f"the Dask scheduler at {address} is gone: start it again, and resume.") from None
        finally:
            if client.status == "running":
                client.cancel(list(waiting), force=True)


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise WorkError(
            f"cluster: no Dask scheduler answers at {address!r} ({_in_one_line(error)}): "
            "pass the address that dask scheduler prints, such as tcp://host:8786."
        ) from None


class _NotYetError(Exception):
    pass


def _first(done: queue.SimpleQueue[Any]) -> Any:
    try:
        return done.get(timeout=LOOK_SECONDS)
    except queue.Empty:
        raise _NotYetError from None


def _fetched(future: Any) -> Any:
    """A result; it may have been lost with its worker, and is being worked out again then."""
    try:
        return future.result(timeout=PATIENCE_SECONDS)
    except TimeoutError:
        if future.status == "error":  # raised by the work itself
            raise
        raise _NotYetError from None


def _patiently(client: Any, attempt: Callable[[], Result]) -> Result:
    """Try as long as there are workers, or have been lately."""
    seen = time.monotonic()
    while True:
        try:
            return attempt()
        except _NotYetError:
            seen = time.monotonic() if _has_workers(client) else seen
            if time.monotonic() - seen > PATIENCE_SECONDS:
                raise WorkError(
                    f"the cluster has had no worker for {PATIENCE_SECONDS:g} seconds: start one with "
                    f"dask worker {client.scheduler.address}, and resume."
                ) from None


def _has_workers(client: Any) -> bool:
    try:
        return client.status == "running" and bool(client.nthreads())
    except OSError:  # the connection broke just now
        return False


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())

"""Work on the machines of a Dask cluster: patient with workers that come and go, and clear when there are none."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import local
from typing import Any

from pandora_regret.optional import import_optional
from pandora_regret.work.processes import Child, WorkError

CONNECT_SECONDS = 10.0  # for a scheduler to answer
PATIENCE_SECONDS = 60.0  # with a cluster that has no workers at all
LOOK_SECONDS = 1.0  # between looks at whether there are any


class _Own(local):
    """Each thread of a Dask worker has a child process."""

    def __init__(self) -> None:
        self.child = Child()


_own = _Own()


def on_cluster(do: Callable[[Any], Any], items: list[Any], address: str) -> Iterator[tuple[Any, Any]]:
    """Every item with what `do` returns for it, in any order."""
    distributed = import_optional("distributed", extra="cluster")
    with _connected(distributed, address) as client:
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting = {client.submit(do, item, pure=False): item for item in items}
        for future in waiting:
            future.add_done_callback(done.put)
        try:
            while waiting:
                future, result = _next_result(client, done)
                future.release()  # the cluster may forget it
                yield waiting.pop(future), result
        except distributed.KilledWorker as error:
            raise WorkError(f"workers died of an item, one after another: {_in_one_line(error)}") from None
        except distributed.CancelledError:
            raise WorkError(f"the Dask scheduler at {address} is gone: start it again, and resume.") from None
        finally:
            if client.status == "running":
                client.cancel(list(waiting), force=True)


def in_own_process(do: Callable[[Any], Any], timeout: float | None, item: Any) -> list[Any]:
    """What a Dask worker does with an item that may crash: let a child process do it, which the thread keeps."""
    return list(_own.child.results(do, item, timeout))


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise WorkError(
            f"cluster: no Dask scheduler answers at {address!r} ({_in_one_line(error)}): "
            "pass the address that dask scheduler prints, such as tcp://host:8786."
        ) from None


def _next_result(client: Any, done: queue.SimpleQueue[Any]) -> tuple[Any, Any]:
    """A future and its result, waited for as long as there are workers, or have been lately."""
    seen = time.monotonic()
    while True:
        with suppress(queue.Empty):
            return _fetched(done)
        seen = time.monotonic() if _has_workers(client) else seen
        if time.monotonic() - seen > PATIENCE_SECONDS:
            raise WorkError(
                f"the cluster has had no worker for {PATIENCE_SECONDS:g} seconds: start one with "
                f"dask worker {client.scheduler.address}, and resume."
            )


def _fetched(done: queue.SimpleQueue[Any]) -> tuple[Any, Any]:
    """The first that is done; a result may have been lost with its worker, and is being worked out again then."""
    future = done.get(timeout=LOOK_SECONDS)
    try:
        return future, future.result(timeout=PATIENCE_SECONDS)
    except TimeoutError:
        if future.status == "error":  # raised by the work itself
            raise
        future.add_done_callback(done.put)
        raise queue.Empty from None


def _has_workers(client: Any) -> bool:
    try:
        return client.status == "running" and bool(client.nthreads())
    except OSError:  # the connection broke just now
        return False


def _in_one_line(error: BaseException) -> str:
    return " ".join(str(error).split())

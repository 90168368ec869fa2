"""Independent items of work: done here, in child processes that may crash or hang, or on a Dask cluster.

Children are those of pebble, which says whose item crashed or took too long. They are started afresh, not forked,
so a script that asks for them needs the usual ``if __name__ == "__main__":``.
"""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import current_process, get_context, parent_process
from threading import Thread, get_ident
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, overload

from pandora_regret.core.inputs import read_count
from pandora_regret.optional import import_optional

if TYPE_CHECKING:
    from distributed import Client

WorkItem = TypeVar("WorkItem")
Result = TypeVar("Result")

CONNECT_SECONDS = 10.0  # for a Dask scheduler to answer
PATIENCE_SECONDS = 60.0  # with a cluster that has no workers at all
THREADED = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR")  # libraries with as many threads as cores
_own_pools: dict[int, ChildPool] = {}  # of each thread of a Dask worker


class ChildPool(Protocol):
    """What is used of a `ProcessPool` of pebble."""

    def schedule(
        self, function: Callable[[bytes], bytes], args: tuple[bytes], *, timeout: float | None
    ) -> Future[bytes]:
        """Let a child call a function."""

    def stop(self) -> None:
        """End all children at once, whatever they are doing."""

    def join(self) -> None:
        """Wait until they have ended."""


class WorkError(OSError):
    """Whoever was to do the work is not there: no scheduler, no workers, or a worker that was killed."""


@dataclass(frozen=True)
class Death:
    """Instead of a result: the process that worked on an item is gone, for this reason."""

    reason: str


Timeout: TypeAlias = Callable[[WorkItem], float | None]  # how many seconds an item may take


@overload
def run_all(
    do: Callable[[WorkItem], Result],
    items: Iterable[WorkItem],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    apart: Literal[False] = False,
    timeout: Timeout[WorkItem] | None = None,
) -> Iterator[tuple[WorkItem, Result]]: ...
@overload
def run_all(
    do: Callable[[WorkItem], Result],
    items: Iterable[WorkItem],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    apart: Literal[True],
    timeout: Timeout[WorkItem] | None = None,
) -> Iterator[tuple[WorkItem, Result | Death]]: ...
def run_all(
    do: Callable[[WorkItem], Result],
    items: Iterable[WorkItem],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    apart: bool = False,
    timeout: Timeout[WorkItem] | None = None,
) -> Iterator[tuple[WorkItem, Result | Death]]:
    """Do every item, and give each with its result as soon as it is done, in any order.

    An exception in `do` ends the work and comes out here. When the iteration ends early, by that, by Ctrl-C or by
    leaving the loop, what has not begun is cancelled. Worker processes end with this one, however it ends.

    Parameters
    ----------
    do
        What to do with an item.
    items
        They travel to whoever does the work, so they should be small.
    jobs
        How many processes; 1 is this process, -1 one for each core.
    cluster
        The address of a Dask scheduler, ``"tcp://host:port"``, instead of processes here. An item whose worker
        dies is done again by another. A worker does as many items at once as it has threads: start it with
        ``--nthreads 1`` where one item fills a machine.
    apart
        Whether an item may crash, or never end, and the others go on: every item is then done in a child process,
        one job included, and the result of one that ended its process is a `Death`, which says why.
    timeout
        Says how many seconds an item may take in its child process; longer is a `Death`.

    Returns
    -------
    iterator of tuple
        Each item with its result.

    Examples
    --------
    >>> sorted(run_all(abs, [-2, 1]))
    [(-2, 2), (1, 1)]
    """
    jobs = (os.cpu_count() or 1) if jobs == -1 else read_count(jobs, "jobs")
    if cluster is not None:
        if apart:
            return _on_cluster(partial(_in_own_child, do, timeout), list(items), cluster)
        return _on_cluster(do, list(items), cluster)
    if jobs == 1 and not apart:
        return ((item, do(item)) for item in items)
    return _in_children(do, list(items), jobs, timeout, apart)


def _in_children(
    do: Callable[[WorkItem], Result],
    items: list[WorkItem],
    jobs: int,
    timeout: Timeout[WorkItem] | None,
    apart: bool,
) -> Iterator[tuple[WorkItem, Result | Death]]:
    """Every item with its result, from child processes; unless items are kept apart, a death is an error."""
    pool = _start_pool(max(1, min(jobs, len(items))), do)
    try:
        futures = {_schedule(pool, do, item, timeout): item for item in items}
        for future in as_completed(futures):
            result: Result | Death = _result_of(future)
            if isinstance(result, Death) and not apart:
                problem = f"a worker did not finish: {result.reason}"
                raise WorkError(f"{problem}; resume with fewer jobs, which need less.")
            yield futures.pop(future), result
    finally:
        pool.stop()
        pool.join()


def _start_pool(jobs: int, do: Callable[[WorkItem], Result]) -> ChildPool:
    """Child processes that share the machine's cores."""
    threads = max(1, (os.cpu_count() or 1) // jobs)
    limits = {f"{library}_NUM_THREADS": str(threads) for library in THREADED}
    pool: ChildPool = import_optional("pebble", extra="zoo").ProcessPool(
        jobs, initializer=_start_child, initargs=(limits, _pickle(do)), context=get_context("spawn")
    )
    return pool


def _pickle(value: object) -> bytes:
    """By value where it was defined in a script or a notebook, which no other process can import."""
    message: bytes = import_optional("cloudpickle", extra="zoo").dumps(value)
    return message


def _start_child(limits: dict[str, str], do: bytes) -> None:
    """What a child does first: few threads, no standard output of ours, an end with its parent, and imports."""

    def end_with_parent() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(0)

    os.environ.update({name: value for name, value in limits.items() if name not in os.environ})
    os.dup2(2, 1)
    Thread(target=end_with_parent, daemon=True).start()
    with suppress(Exception):  # the first item will raise it
        pickle.loads(do)  # importing takes a while, which is no item's fault


def _schedule(
    pool: ChildPool, do: Callable[[WorkItem], Result], item: WorkItem, timeout: Timeout[WorkItem] | None
) -> Future[bytes]:
    """Let a child do an item."""
    seconds = None if timeout is None else timeout(item)
    return pool.schedule(_do_item, (_pickle((do, item)),), timeout=seconds)


def _do_item(message: bytes) -> bytes:
    """In a child: what the work returned, and what it raised, as a message."""
    try:
        do, item = pickle.loads(message)
        return _pickle((do(item), None))
    except Exception as error:
        error.add_note("".join(traceback.format_exception(error)))
        return _pickle_error(error)
    except BaseException as error:  # SystemExit and KeyboardInterrupt that the work itself raised
        return _pickle((Death(f"it raised {type(error).__name__}({error})"), None))


def _pickle_error(error: Exception) -> bytes:
    """The message of an error; of one that cannot travel, another that says the same."""
    try:
        answer = _pickle((None, error))
        pickle.loads(answer)
    except Exception:
        answer = _pickle((None, RuntimeError(f"{type(error).__name__}: {error}")))
    return answer


def _result_of(future: Future[bytes]) -> Any:
    """What a child returned, or its death; what it raised is raised here."""
    try:
        result, error = pickle.loads(future.result())
    except TimeoutError as late:
        return Death(f"it took longer than {late.args[1]:g} seconds, its timeout")
    except import_optional("pebble", extra="zoo").ProcessExpired as ended:
        if ended.exitcode >= 0:
            return Death(f"its process ended ({ended.exitcode})")
        name = signal.Signals(-ended.exitcode).name
        killed = "was killed, perhaps for want of memory"
        return Death(f"its process {killed if name == 'SIGKILL' else f'crashed ({name})'}")
    except BrokenProcessPool:
        raise WorkError(
            "no worker process could be started: a script needs if __name__ == '__main__' before it begins."
        ) from None
    if error is not None:
        raise error
    return result


def _in_own_child(
    do: Callable[[WorkItem], Result], timeout: Timeout[WorkItem] | None, item: WorkItem
) -> Result | Death:
    """What a Dask worker does with an item that may crash: let the child process of this thread do it."""
    current_process().daemon = False  # Dask's nanny says that its workers may have no children
    thread = get_ident()
    if thread not in _own_pools:
        _own_pools[thread] = _start_pool(1, do)
    result: Result | Death = _result_of(_schedule(_own_pools[thread], do, item, timeout))
    return result


def _on_cluster(
    do: Callable[[WorkItem], Result], items: list[WorkItem], address: str
) -> Iterator[tuple[WorkItem, Result]]:
    """Every item with what `do` returns for it."""
    distributed = import_optional("distributed", extra="cluster")
    try:
        client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError, AssertionError) as error:  # it asserts that no loop is closing
        raise WorkError(
            f"cluster: no Dask scheduler answers at {address!r} ({' '.join(str(error).split())}): "
            "pass the address that dask scheduler prints, such as tcp://host:8786."
        ) from None
    with client:
        executor = client.get_executor(pure=False)
        futures = {executor.submit(do, item): item for item in items}
        try:
            while futures:
                finished, _ = wait(futures, PATIENCE_SECONDS, FIRST_COMPLETED)
                if not finished:
                    _await_worker(client, address)
                yield from ((futures.pop(future), future.result()) for future in finished)
        except distributed.KilledWorker as error:
            problem = f"workers died of an item, one after another: {' '.join(str(error).split())}"
            raise WorkError(problem) from None
        except CancelledError:
            raise WorkError(f"the Dask scheduler at {address} is gone: start it again, and resume.") from None
        finally:
            if client.status == "running":
                executor.shutdown(wait=False)


def _await_worker(client: Client, address: str) -> None:
    """An error unless some worker is there, or comes within a while."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except OSError:  # TimeoutError is one
        problem = f"the cluster has had no worker for {PATIENCE_SECONDS:g} seconds"
        raise WorkError(f"{problem}: start one with dask worker {address}, and resume.") from None

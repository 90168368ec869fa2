"""Python processes that do one item at a time each: they may crash or hang, and whoever asked lives on.

Requests and replies are pickles on two pipes, each with its length in front. A child moves these pipes away from
standard input and output first, so that what the work prints or reads cannot be taken for either. It ends with its
parent, however that ends: on Linux the kernel sees to it, elsewhere a thread that waits on the pipe.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from subprocess import PIPE, Popen
from threading import Event, Lock, Thread, Timer
from typing import Any, BinaryIO

from pandora_regret.inputs import InputError, read_count
from pandora_regret.optional import import_optional

MOST_PER_CORE = 16  # processes; more would only fill the memory
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from pandora_regret.work.processes import serve; serve()"
)
THREAD_SETTINGS = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"))
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, of prctl
DONE = object()  # instead of a result: there are no more of this item


class WorkError(OSError):
    """Whoever was to do the work is not there: no scheduler, no workers, or a worker that was killed."""


@dataclass(frozen=True)
class Death:
    """Instead of a result: the process that worked on an item is gone, for this reason."""

    reason: str


@dataclass(frozen=True)
class _Raised:
    """Instead of a result: an exception that ends the work."""

    error: BaseException


class _DiedError(Exception):
    pass


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
    waiting, left = deque(items), len(items)
    results: SimpleQueue[tuple[Any, Any]] = SimpleQueue()
    jobs = max(1, min(jobs, left))
    children = [Child(max(1, (os.cpu_count() or 1) // jobs)) for _ in range(jobs)]
    threads = [Thread(target=_work, args=(c, do, waiting, timeout, results), daemon=True) for c in children]
    for thread in threads:
        thread.start()
    try:
        while left:
            item, result = results.get()
            if isinstance(result, _Raised):
                raise result.error
            if result is DONE:
                left -= 1
            else:
                yield item, result
    finally:
        waiting.clear()
        for child, thread in zip(children, threads, strict=True):
            child.kill()
            thread.join()


def _work(
    child: Child,
    do: Callable[[Any], Any],
    waiting: deque[Any],
    timeout: float | None,
    results: SimpleQueue[tuple[Any, Any]],
) -> None:
    """Let a child do what is waiting, until there is nothing left."""
    with child, suppress(IndexError):
        while True:
            item = waiting.popleft()
            try:
                for result in child.results(do, item, timeout):
                    results.put((item, result))
                results.put((item, DONE))
            except BaseException as error:  # it belongs to whoever waits for the results
                results.put((item, _Raised(error)))


class Child:
    """A process that does one thing at a time for us; `threads` limits what the libraries in it start.

    It starts with its first item, and again with the next one after it has died.

    Examples
    --------
    >>> with Child() as child:
    ...     list(child.results(abs, -2)), list(child.results(iter, "ab"))
    ([2], ['a', 'b'])
    """

    def __init__(self, threads: int | None = None) -> None:
        self._limits = {} if threads is None else dict.fromkeys(THREAD_SETTINGS, str(threads))
        self._process: Popen[bytes] | None = None
        self._lock, self._wanted = Lock(), True

    def results(self, do: Callable[[Any], Any], item: Any, timeout: float | None = None) -> Iterator[Any]:
        """What `do(item)` returns, or each element where that is an iterator, as soon as it is there.

        What `do` raises is raised here. If the process ends, or takes longer than `timeout` seconds for one
        result, a `Death` comes last.
        """
        process = self._started()
        try:
            with suppress(BrokenPipeError):  # it is gone, as the missing reply will say
                _send(process.stdin, (do, item))
            kind, value = _reply(process, None)  # that it has begun: starting and importing is nobody's fault
            while kind != "done":
                if kind == "raised":
                    raise value
                if kind == "result":
                    yield value
                kind, value = _reply(process, timeout)
        except _DiedError as died:
            self._end()
            yield Death(str(died))

    def kill(self) -> None:
        """End it at once and for good; whoever waits for a reply is told that it died."""
        with self._lock:
            self._wanted = False
            if self._process is not None:
                self._process.kill()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()

    def _started(self) -> Popen[bytes]:
        with self._lock:
            if self._process is None:
                command = [sys.executable, "-c", START, json.dumps(sys.path)]
                self._process = Popen(command, stdin=PIPE, stdout=PIPE, env=self._limits | os.environ)
            if not self._wanted:  # any more
                self._process.kill()
            return self._process

    def _end(self) -> None:
        """Leave nothing of the process behind."""
        if self._process is not None:
            with suppress(BrokenPipeError), self._process as process:  # of what was not sent yet
                process.kill()
            self._process = None


def _reply(process: Popen[bytes], timeout: float | None) -> tuple[str, Any]:
    late = Event()

    def stop() -> None:
        late.set()
        process.kill()

    timer = Timer(timeout or 0, stop)
    if timeout is not None:
        timer.start()
    reply = _receive(process.stdout)
    timer.cancel()
    if late.is_set():
        raise _DiedError(f"it took longer than {timeout:g} seconds, its timeout")
    kind, value = ("quit", _ending(process.wait())) if reply is None else pickle.loads(reply)
    if kind == "quit":
        raise _DiedError(value)
    return kind, value


def _ending(code: int) -> str:
    """How a process ended, in words."""
    if code == -getattr(signal, "SIGKILL", 9):
        return "its process was killed, perhaps for want of memory"
    return f"its process crashed ({signal.Signals(-code).name})" if code < 0 else f"its process ended ({code})"


def serve() -> None:
    """What a child does: answer requests until its parent is gone."""
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends its children
    replies, requests = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    waiting: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    while True:
        _answer(waiting.get(), replies)


def _listen(requests: BinaryIO, waiting: SimpleQueue[bytes]) -> None:
    """Pass requests on; where the pipe ends, so has the parent, and so does this process, whatever it is doing."""
    while (request := _receive(requests)) is not None:
        waiting.put(request)
    os._exit(0)


def _answer(request: bytes, replies: BinaryIO) -> None:
    try:
        do, item = pickle.loads(request)
        _send(replies, ("begun", None))
        result = do(item)
        for value in result if isinstance(result, Iterator) else (result,):
            _send(replies, ("result", value))
        _send(replies, ("done", None))
    except Exception as error:
        _send(replies, ("raised", _portable(error)))
    except BaseException as error:  # SystemExit and KeyboardInterrupt that the work itself raised
        _send(replies, ("quit", f"it raised {type(error).__name__}({error})"))


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note; one that cannot travel as another that says the same."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(_pickled(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _send(pipe: Any, message: Any) -> None:
    content = _pickled(message)  # before anything is written: what cannot be pickled leaves the pipe as it was
    pipe.write(len(content).to_bytes(8, "little") + content)
    pipe.flush()


def _receive(pipe: Any) -> bytes | None:
    """The next message, or None where the pipe ends."""
    size = int.from_bytes(pipe.read(8), "little")
    content = pipe.read(size)
    return content if content and len(content) == size else None


def _pickled(message: Any) -> bytes:
    """By value where it was defined in a script or a notebook, which no other process can import."""
    content: bytes = import_optional("cloudpickle", extra="zoo").dumps(message)
    return content


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)

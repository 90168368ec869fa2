"""A Python process of its own that does one thing at a time: it may crash or hang, and whoever asked lives on.

Requests and replies are pickles on two pipes, each with its length in front. The child moves these pipes away from
standard input and output first, so that what the work prints or reads cannot be taken for either. It ends with its
parent, however that ends: on Linux the kernel sees to it, elsewhere a thread that waits on the pipe.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread, Timer
from typing import Any, BinaryIO

from pandora_regret.optional import import_optional

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pandora_regret.work.child import serve; serve()"
)
THREAD_SETTINGS = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"))
PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, of prctl


class DiedError(Exception):
    """The process that did the work is gone: it crashed, was killed, or was stopped for taking too long."""


class Child:
    """A process that does one thing at a time for us; `threads` limits what the libraries in it start.

    Examples
    --------
    >>> with Child() as child:
    ...     list(child.results(abs, -2)), list(child.results(iter, "ab"))
    ([2], ['a', 'b'])
    """

    def __init__(self, threads: int | None = None) -> None:
        limits = {} if threads is None else dict.fromkeys(THREAD_SETTINGS, str(threads))
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=limits | os.environ,
        )

    def results(self, do: Callable[[Any], Any], item: Any, timeout: float | None = None) -> Iterator[Any]:
        """What `do(item)` returns, or each element where that is an iterator, as soon as it is there.

        What `do` raises is raised here. If the process ends, or takes longer than `timeout` seconds for one
        result, it is a `DiedError`, and this child is of no more use.
        """
        try:
            _send(self._to_child, (do, item))
        except BrokenPipeError:
            raise DiedError(self._ending()) from None
        kind, value = self._reply(None)  # that it has begun: starting Python and importing is nobody's fault
        while kind != "done":
            if kind == "raised":
                raise value
            if kind == "quit":
                raise DiedError(value)
            if kind == "result":
                yield value
            kind, value = self._reply(timeout)

    def kill(self) -> None:
        """End it at once; whoever waits for a reply is told that it died."""
        self._process.kill()

    def close(self) -> None:
        """End it, and leave nothing behind."""
        self.kill()
        self._process.wait()
        for pipe in (self._to_child, self._from_child):
            with suppress(BrokenPipeError):  # what was not sent yet
                pipe.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_process") and self._process.returncode is None:
            self.close()

    @property
    def _to_child(self) -> Any:
        return self._process.stdin

    @property
    def _from_child(self) -> Any:
        return self._process.stdout

    def _reply(self, timeout: float | None) -> tuple[str, Any]:
        late = Event()

        def stop() -> None:
            late.set()
            self.kill()

        timer = Timer(timeout or 0, stop)
        if timeout is not None:
            timer.start()
        reply = _receive(self._from_child)
        timer.cancel()
        if late.is_set():
            raise DiedError(f"it took longer than {timeout:g} seconds, its timeout")
        if reply is None:
            raise DiedError(self._ending())
        kind, value = pickle.loads(reply)
        return kind, value

    def _ending(self) -> str:
        """How the process ended, in words."""
        code = self._process.wait()
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


def _send(pipe: BinaryIO, message: Any) -> None:
    content = _pickled(message)  # before anything is written: what cannot be pickled leaves the pipe as it was
    pipe.write(len(content).to_bytes(8, "little") + content)
    pipe.flush()


def _receive(pipe: BinaryIO) -> bytes | None:
    """The next message, or None where the pipe ends."""
    size = int.from_bytes(header, "little") if len(header := pipe.read(8)) == 8 else None
    content = b"" if size is None else pipe.read(size)
    return content if len(content) == size else None


def _pickled(message: Any) -> bytes:
    """By value where it was defined in a script or a notebook, which no other process can import."""
    content: bytes = import_optional("cloudpickle", extra="zoo").dumps(message)
    return content


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)

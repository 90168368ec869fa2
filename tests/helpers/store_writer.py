"""A writer of a store that is killed 20 times: ``python store_writer.py clock|line FOLDER``.

It forks, since a fresh interpreter would take longer to start than to write; prints how many kills hit the writer.
"""

import os
import shutil
import signal
import sys
import time
import zlib

import numpy as np

from pandora_regret.study import Store

KILLS = 20
TRUTH, CLASSES = np.arange(40) % 3, ["a", "b", "c"]
NAMES = [f"zoo/model {number}" for number in range(24)]
WATCHED = ("store.py", "atomic.py")


def logits_of(name):
    return np.random.default_rng(zlib.crc32(name.encode())).normal(size=(len(TRUTH), len(CLASSES)))


def write_all(folder):
    store = Store.create(folder, TRUTH, CLASSES, about={"zoo": "test"})
    for name in store.unfinished(NAMES):
        if name.endswith("7"):
            store.record_failure(name, "a seven")
        else:
            store.save(name, logits_of(name), logits=True, metadata={"seed": 42})


def check_valid(folder):
    """Whatever is there is whole, and right."""
    if Store.exists(folder):
        store = Store.open(folder)
        for name in store.models:
            np.testing.assert_array_equal(store.load(name).values, logits_of(name).astype(np.float32))
        assert all(reason == "a seven" for reason in store.failures.values())


def in_child(work, *arguments):
    """A process that does some work; what its exit code means is `was_killed`'s."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work(*arguments)
            status = 0
        finally:
            os._exit(status)
    return child


def was_killed(child):
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), f"the writer ended with status {status}"
    return status == signal.SIGKILL


def kill_by_clock(folder, moment):
    child = in_child(write_all, folder)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    return was_killed(child)


def kill_at_line(folder, number):
    return was_killed(in_child(write_counted, folder, 1 + int(number)))


def write_counted(folder, last=None):
    """Write, and die at a certain line; the count of lines where there is none."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if os.path.basename(frame.f_code.co_filename) not in WATCHED:
            return None
        count += event == "line"
        if count == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    write_all(folder)
    sys.settrace(None)
    return count


def seconds_of(folder):
    began = time.monotonic()
    assert not was_killed(in_child(write_all, folder))
    return time.monotonic() - began


def main(mode, folder):
    rng = np.random.default_rng(5)
    measure, kill = {"clock": (seconds_of, kill_by_clock), "line": (write_counted, kill_at_line)}[mode]
    whole = measure(f"{folder}.measured")
    hits = 0
    while hits < KILLS:
        hit = kill(folder, rng.uniform(0, whole / 8))
        hits += hit
        check_valid(folder)
        if not hit and hits < KILLS:
            shutil.rmtree(folder)  # done before it could be killed: once more
    write_all(folder)
    print(hits)


if __name__ == "__main__":
    main(*sys.argv[1:])

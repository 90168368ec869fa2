"""Work for tests, in a module that worker processes can import."""

import os
import signal
import sys
import time
from pathlib import Path


def square(number):
    return number * number


def slow_square(number, seconds=0.1):
    time.sleep(seconds)
    return number * number


def fail_at_three(number):
    if number == 3:
        raise ZeroDivisionError("three is not allowed")
    return number


def time_out(number):
    raise TimeoutError(f"{number} took too long")


def die(number):
    os.kill(os.getpid(), signal.SIGKILL)


def mark_and_wait(folder, number):
    """Says which process does what, then takes its time."""
    (Path(folder) / f"{number}-{os.getpid()}").touch()
    time.sleep(0.1)
    return os.getpid()


def misbehave(item):
    """Do what the item says; anything else is given back."""
    endings = {
        "exit": lambda: os._exit(3),
        "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
        "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "leave": lambda: sys.exit("enough"),
        "interrupt": _interrupt,
        "hang": lambda: time.sleep(600),
    }
    endings.get(item, lambda: None)()
    return item


def _interrupt():
    raise KeyboardInterrupt


def print_and_read(number):
    """What would break a protocol on standard input and output."""
    print("x" * 1000, flush=True)
    os.write(1, b"y" * 1000)
    return number, sys.stdin.read()


def tell_processes(folder, number):
    """Say which process works on an item, for ever."""
    (Path(folder) / str(os.getpid())).touch()
    while True:
        pass
